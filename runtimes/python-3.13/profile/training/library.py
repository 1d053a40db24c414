"""A little of much of the library: copies, pickles, hashes, encodings, templates, paths, logs, parsing of arguments."""

import argparse
import base64
import calendar
import copy
import difflib
import hashlib
import html
import inspect
import io
import logging
import operator
import pathlib
import pickle
import pprint
import queue
import shlex
import string
import struct
import textwrap
import types
import typing
import urllib.parse
import weakref
import zlib

PROSE = "The quick brown fox jumps over the lazy dog, then naps in the afternoon sun until the evening comes. " * 5


class Tracked:
    def __init__(self, value):
        self.value = value
        self.others = []


def annotated(a: int, b: "str" = "x", *rest: float, key: typing.Optional[list[int]] = None) -> dict[str, int]:
    """Adds things up."""
    return {b: a}


def parser():
    made = argparse.ArgumentParser(prog="tool")
    made.add_argument("paths", nargs="+")
    made.add_argument("--level", type=int, default=1)
    made.add_argument("-v", "--verbose", action="store_true")
    return made


for repetition in range(6):
    nested = {"a": [Tracked(i) for i in range(20)], "b": {i: (i, str(i)) for i in range(60)}}
    twin = copy.deepcopy(nested)
    assert twin["a"][3] is not nested["a"][3] and copy.copy(nested)["b"] is nested["b"]
    again = pickle.loads(pickle.dumps([twin["b"], list(range(300)), "x" * 60, 1.5, None, {1, 2}]))
    assert again[0] == twin["b"]
    for i in range(60):
        data = f"message {i}".encode() * 8
        assert hashlib.sha256(data).hexdigest() != hashlib.md5(data).hexdigest()
        assert base64.b64decode(base64.b64encode(data)) == data
        assert zlib.crc32(data) and struct.unpack("<IhB", struct.pack("<IhB", i, -i, i)) == (i, -i, i)
        assert urllib.parse.parse_qs(urllib.parse.urlencode({"q": f"a b&{i}", "n": i}))["n"] == [str(i)]
        assert html.unescape(html.escape(f"<a href='{i}'>&</a>")) == f"<a href='{i}'>&</a>"
        path = pathlib.PurePosixPath("/home/user") / f"file{i}.tar.gz"
        assert path.suffix == ".gz" and path.parent.name == "user" and path.with_suffix(".txt").stem
        assert string.Template("$who likes ${what}").substitute(who="x", what=i)
    assert zlib.decompress(zlib.compress(PROSE.encode())).decode() == PROSE
    assert textwrap.fill(PROSE, 60, initial_indent="  ").count("\n") > 4 and textwrap.dedent("  a\n    b\n") == "a\n  b\n"
    assert difflib.SequenceMatcher(None, PROSE[:150], PROSE[20:170]).ratio() > 0.5
    assert difflib.get_close_matches("appel", ["ape", "apple", "peach", "puppy"])
    assert list(difflib.unified_diff(PROSE.split()[:40], PROSE.split()[3:45]))
    assert pprint.pformat(twin["b"], width=60) and calendar.month(2024, 2)
    assert shlex.split("run --name 'two words' \"a b\" c\\ d") and parser().parse_args(["a", "b", "--level", "3", "-v"]).level == 3
    assert inspect.signature(annotated).parameters["key"].default is None and typing.get_type_hints(annotated)["b"] is str
    assert inspect.getdoc(annotated) == "Adds things up." and callable(annotated)
    stream = io.StringIO()
    logger = logging.getLogger(f"training{repetition}")
    logger.addHandler(handler := logging.StreamHandler(stream))
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logger.setLevel(logging.INFO)
    logger.propagate = False
    for i in range(60):
        logger.info("step %d of %s", i, "many")
        logger.debug("not shown %r", nested)
    assert stream.getvalue().count("\n") == 60
    waiting = queue.PriorityQueue()
    for i in range(80):
        waiting.put((i * 37 % 101, i))
    assert [waiting.get()[0] for _ in range(80)] == sorted(i * 37 % 101 for i in range(80))
    alive = weakref.WeakValueDictionary()
    for tracked in nested["a"]:
        tracked.others.append(tracked)
        alive[tracked.value] = tracked
    assert len(alive) == 20 and types.SimpleNamespace(a=1).a == 1 and operator.itemgetter(1, 2)([1, 2, 3]) == (2, 3)
    buffer = io.BytesIO()
    for i in range(150):
        buffer.write(struct.pack(">Hf", i, i / 3))
    view = memoryview(buffer.getvalue())
    assert sum(struct.unpack_from(">H", view, i * 6)[0] for i in range(150)) == 11175
    text = io.StringIO("".join(f"line {i}\n" for i in range(300)))
    assert sum(len(line.rstrip("\n").split()) for line in text) == 600
