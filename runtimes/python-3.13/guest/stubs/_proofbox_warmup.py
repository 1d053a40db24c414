"""Walks through what programs do most, so that the image holds what is built on first use: compiled regular
expressions, caches, and the byte code of the library in its specialised form.

What a program could notice of it (counters, flags, the event loop's policy) is avoided here, or put back."""

import argparse
import ast
import asyncio
import base64
import bisect
import builtins
import calendar
import collections
import configparser
import contextlib
import copy
import csv
import dataclasses
import datetime
import decimal
import difflib
import doctest
import enum
import fractions
import functools
import hashlib
import heapq
import html
import inspect
import io
import ipaddress
import itertools
import json
import linecache
import logging
import math
import mimetypes
import operator
import pathlib
import pickle
import pprint
import queue
import re
import shlex
import statistics
import string
import textwrap
import time
import traceback
import types
import typing
import unittest
import unittest.mock
import urllib.parse
import warnings
import xml.etree.ElementTree

__all__ = ["walk"]

# An instruction specialises when it is run for the second time.
ROUNDS = 3


def walk():
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for _ in range(ROUNDS):
            for errand in (_text, _numbers, _arrays, _containers, _data_formats, _time, _classes, _code, _tests, _event_loop, _errors):
                errand()
    decimal.getcontext().clear_flags()
    linecache.clearcache()
    logging.Logger.manager.loggerDict.pop("_proofbox", None)
    vars(builtins).pop("_", None)  # doctest shows values as the interactive prompt does


def _text():
    for pattern in (r"\d+", r"\w+", r"\s+", r"[a-z]+", r"[A-Z]", r"[^a-zA-Z0-9]", r"\b\w+\b", r"^\s*$", r"(\d+)-(\d+)"):
        re.findall(pattern, "one 2 Three-4 5-6")
        re.sub(pattern, "", "one 2 Three-4")
    re.split(r"[,;]\s*", "a, b;c")
    re.match(r"(?P<name>\w+)", "ab").groupdict()
    textwrap.dedent(textwrap.indent(textwrap.fill("word " * 40, 60), "  "))
    string.Template("$a ${b}").substitute(a=1, b=2)
    string.capwords("a b")
    shlex.split("a 'b c' \"d\"")
    html.unescape(html.escape("<a href='x'>&amp;</a>"))
    list(difflib.unified_diff(["a", "b"], ["a", "c"]))
    difflib.get_close_matches("appel", ["ape", "apple", "peach"])
    urllib.parse.urlencode(dict(urllib.parse.parse_qsl(urllib.parse.urlparse("http://h:1/p?q=1&r=a+b#f").query)))
    urllib.parse.unquote(urllib.parse.quote("a b/ü"))
    "{:>10.2f} {!r:<5} {:,}".format(1.5, "a", 10**6)
    f"{1.5:08.3f}{'a':^9}{255:#x}{1234567:_}"
    hashlib.sha256(b"a").hexdigest(), hashlib.md5(b"a").hexdigest(), hashlib.sha1(b"a").hexdigest()
    base64.b64decode(base64.b64encode(b"abc"))
    "ü".encode("utf-8").decode("utf-8"), b"\xff".decode("latin-1")


def _numbers():
    decimal.Decimal("1.10") + decimal.Decimal(2) / decimal.Decimal(3)
    decimal.Decimal("2.675").quantize(decimal.Decimal("0.01"), decimal.ROUND_HALF_UP)
    fractions.Fraction("3/4") + fractions.Fraction(1, 3) * 2
    fractions.Fraction(0.25).limit_denominator(10)
    data = [1, 2, 2, 3.5]
    statistics.mean(data), statistics.median(data), statistics.mode(data), statistics.stdev(data), statistics.quantiles(data)
    math.isclose(math.fsum([0.1] * 10), 1.0), math.gcd(12, 18), math.comb(5, 2), math.prod(data)
    int("ff", 16), float("1e3"), complex("1+2j"), round(2.5), divmod(7, 3), pow(3, -1, 7)
    ipaddress.ip_address("10.0.0.1") in ipaddress.ip_network("10.0.0.0/8")


def _arrays():
    import numpy as np

    a = np.arange(12.0).reshape(3, 4)
    b = np.array([[1, 2], [3, 4]])
    a.sum(), a.mean(axis=0), a.std(), a.max(), a.argmax(), a.T, a[a > 3], a[1:, ::2], a[[0, 2]], a.astype(int), a.tolist(), a.copy()
    np.zeros(3), np.ones((2, 2)), np.eye(2), np.full(2, 7), np.linspace(0, 1, 5), np.array([1, 2.5]), np.array(["a"]), np.empty(0)
    np.mean(a), np.median(a), np.std(a), np.var(a), np.sum(a, axis=1), np.cumsum(a), np.diff(a), np.percentile(a, 50), np.clip(a, 1, 5)
    np.sort(a), np.argsort(a), np.unique(b), np.where(a > 3, a, 0), np.any(a), np.all(a), np.concatenate([a, a]), np.vstack([a, a])
    np.hstack([a, a]), np.stack([a, a]), np.split(np.arange(6), 3), np.dot(a, a.T), a @ a.T, np.round(a, 1), np.sqrt(a), np.exp(-a), np.abs(b)
    np.linalg.norm(a), np.linalg.inv(b), np.linalg.solve(b, [1, 2]), np.linalg.det(b), np.linalg.eig(b), np.histogram(a), np.corrcoef(a)
    np.allclose(a, a), np.array_equal(a, a), np.isnan(a).any(), np.polyfit([0, 1, 2], [1, 3, 7], 1), np.interp(1.5, [1, 2], [3, 4])
    np.testing.assert_allclose(a, a), np.testing.assert_array_equal(b, b)
    repr(a), str(b), repr(np.float64(1.5)), str(np.int64(3)), float(np.float64(2)), np.float64(1) + 2, np.int64(3) * 2
    np.random.default_rng(0).normal(size=3), np.random.default_rng(0).integers(0, 5, 3)
    with np.errstate(divide="ignore"):
        np.array([1.0]) / 0


def _containers():
    counts = collections.Counter("abracadabra")
    counts.most_common(2), counts + counts, counts.total()
    groups = collections.defaultdict(list)
    groups["a"].append(1)
    ordered = collections.OrderedDict(a=1, b=2)
    ordered.move_to_end("a")
    collections.ChainMap({"a": 1}, {"b": 2})["b"]
    collections.namedtuple("Point", "x y")(1, 2)._replace(x=3)
    collections.deque([1, 2, 3], maxlen=2).rotate(1)
    heap = []
    for item in (3, 1, 2):
        heapq.heappush(heap, item)
    heapq.heappop(heap), heapq.nlargest(2, [1, 3, 2]), heapq.nsmallest(2, [1, 3, 2], key=operator.neg)
    bisect.insort([1, 3], 2)
    list(itertools.chain(itertools.combinations("abc", 2), itertools.permutations("ab"), itertools.product("ab", "cd")))
    [list(group) for _, group in itertools.groupby("aabb")]
    functools.reduce(operator.add, [1, 2]), functools.partial(int, base=2)("1")
    copy.deepcopy({"a": [1, {2}, (3, [4])]}), copy.copy([1])
    sorted([(1, "b"), (0, "a")], key=operator.itemgetter(1), reverse=True)
    pprint.pformat({"a": [1] * 30, "b": {"c": (1, 2)}})
    line = queue.PriorityQueue()
    line.put((1, "a"))
    line.get()


def _data_formats():
    json.loads(json.dumps({"a": [1, 2.5, None, True, "ü\n"], "b": {"c": {}}}, indent=2, sort_keys=True))
    json.dumps([1, {"a": "b"}])
    with contextlib.suppress(json.JSONDecodeError):
        json.loads("{bad")
    file = io.StringIO()
    writer = csv.DictWriter(file, ["a", "b"])
    writer.writeheader()
    writer.writerow({"a": 1, "b": "x,y"})
    list(csv.DictReader(io.StringIO(file.getvalue()))), list(csv.reader(["a,b"]))
    pickle.loads(pickle.dumps({"a": [1, (2, 3)], "b": {4}}))
    xml.etree.ElementTree.tostring(xml.etree.ElementTree.fromstring("<a b='c'><d>e</d></a>"))
    configuration = configparser.ConfigParser()
    configuration.read_string("[a]\nb = 1\nc = %(b)s\n")
    configuration["a"].getint("c")
    parser = argparse.ArgumentParser(prog="program")
    parser.add_argument("name")
    parser.add_argument("--count", type=int, default=1)
    parser.parse_args(["x", "--count", "3"])
    mimetypes.guess_type("a.png")  # looks for eight files, once
    path = pathlib.PurePosixPath("/a/b.tar.gz")
    path.name, path.stem, path.suffixes, path.parent, path.with_suffix(".x"), path / "c", path.relative_to("/a").parts


def _time():
    moment = datetime.datetime.strptime("2024-02-29 12:30:00", "%Y-%m-%d %H:%M:%S")
    datetime.datetime.strptime("29/02/24", "%d/%m/%y"), datetime.datetime.strptime("12:30", "%H:%M")
    moment.strftime("%A, %d %B %Y"), moment.isoformat(), datetime.datetime.fromisoformat("2024-02-29T12:30:00+02:00")
    (moment + datetime.timedelta(days=1, hours=2) - moment).total_seconds(), moment.astimezone(datetime.timezone.utc)
    datetime.date(2024, 2, 29).isocalendar(), datetime.datetime.now(datetime.timezone.utc)
    calendar.month(2024, 2), calendar.monthrange(2024, 2), calendar.isleap(2024)
    time.strftime("%Y-%m-%d", time.gmtime(0)), time.localtime(0)


def _classes():
    @dataclasses.dataclass(order=True, frozen=True)
    class Item:
        name: str
        price: float = 0.0
        tags: list[str] = dataclasses.field(default_factory=list)

    dataclasses.asdict(dataclasses.replace(Item("a"), price=1.0)), repr(Item("a")), Item("a") < Item("b")

    class Colour(enum.Enum):
        RED = 1
        GREEN = enum.auto()

    class Flags(enum.IntFlag):
        A = 1
        B = 2

    Colour(1), Colour["RED"].name, list(Colour), Flags.A | Flags.B

    class Shape(typing.NamedTuple):
        sides: int
        name: typing.Optional[str] = None

    T = typing.TypeVar("T")

    class Box(typing.Generic[T]):
        value: typing.Union[T, list[T], None]

    class Sized(typing.Protocol):
        def size(self) -> int: ...

    class Movie(typing.TypedDict, total=False):
        title: str

    Shape(3), Box[int](), Movie(title="a"), typing.get_type_hints(Shape)
    typing.Dict[str, typing.List[int]], typing.Callable[[int], str], typing.Tuple[int, ...], typing.Any
    typing.Iterable[int], typing.Iterator[int], typing.Sequence[str], typing.Set[int], typing.Mapping[str, int]
    typing.Literal["a"], typing.Optional[typing.List[str]], typing.Generator[int, None, None]

    @functools.lru_cache(maxsize=None)
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    @functools.wraps(fibonacci)
    def wrapped(*args):
        return fibonacci(*args)

    @functools.singledispatch
    def shown(value):
        return value

    shown.register(int, str)
    wrapped(5), shown(1), inspect.signature(wrapped), inspect.getdoc(Item), inspect.getmembers(Item)

    @contextlib.contextmanager
    def managed():
        yield 1

    with managed(), contextlib.ExitStack() as stack:
        stack.callback(print)
    types.SimpleNamespace(a=1)
    unittest.mock.Mock(return_value=1)(), unittest.mock.MagicMock().method.assert_not_called()


def _code():
    source = "def f(a, *b, c=1):\n    '''d'''\n    return [a for a in b if a > c]\nprint(f(1, 2, 3))\n"
    tree = ast.parse(source)
    ast.unparse(tree), ast.dump(tree), ast.literal_eval("{'a': [1, -2.5]}"), list(ast.walk(tree))
    exec(compile(source, "<warm-up>", "exec", dont_inherit=True), {"__name__": "warm-up"})
    eval("1 + 1", {})


def _tests():
    class Case(unittest.TestCase):
        def setUp(self):
            self.value = 1

        def test_passing(self):
            self.assertEqual(self.value, 1)
            self.assertTrue(True)
            self.assertIn(1, [1])
            self.assertAlmostEqual(0.1 + 0.2, 0.3)
            self.assertIsInstance(1, int)
            with self.assertRaises(ValueError):
                int("x")

        def test_failing(self):
            self.assertEqual([1, {"a": 2}], [1, {"a": 3}])

        def test_broken(self):
            raise KeyError("a")

    unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(Case))
    session = ">>> 1 + 1\n2\n>>> 1 / 0\nTraceback (most recent call last):\nZeroDivisionError: x\n"
    example = doctest.DocTestParser().get_doctest(session, {}, "a", None, 0)
    doctest.DocTestRunner(verbose=False).run(example, out=io.StringIO().write)


def _event_loop():
    """Not through asyncio.run, which tells the policy, nor with unnamed tasks, which count."""

    async def work(queue):
        async with asyncio.Lock(), asyncio.timeout(5):
            await queue.put(await asyncio.sleep(0, 1))

    async def main():
        queue = asyncio.Queue()
        async with asyncio.TaskGroup() as group:
            group.create_task(work(queue), name="a")
            group.create_task(work(queue), name="b")
        tasks = [asyncio.get_running_loop().create_task(work(queue), name="c")]
        await asyncio.gather(*tasks)
        await asyncio.wait_for(queue.get(), 5)
        event = asyncio.Event()
        event.set()
        await event.wait()

    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(loop.create_task(main(), name="main"))
        loop.run_until_complete(loop.create_task(loop.shutdown_asyncgens(), name="end"))
    finally:
        loop.close()


def _errors():
    def caught(function):
        try:
            function()
        except BaseException as error:
            traceback.format_exception(error)
            return error

    def chained():
        try:
            {}["a"]
        except KeyError as error:
            raise ValueError("b") from error

    def recursing():
        recursing()

    for function in (
        chained, recursing, lambda: 1 / 0, lambda: [][1], lambda: undefined, lambda: "a" + 1, lambda: "a".nothing,
        lambda: int("x"), lambda: compile("def f(:\n", "<warm-up>", "exec"), lambda: compile("if x:\npass", "<warm-up>", "exec"),
        lambda: __import__("nothing_of_this_name"),
    ):  # fmt: skip
        caught(function)
    caught(lambda: exec("raise ExceptionGroup('a', [ValueError(1)])"))
    with warnings.catch_warnings(record=True):
        warnings.warn("a", DeprecationWarning)
    logger = logging.getLogger("_proofbox")
    handler = logging.StreamHandler(io.StringIO())
    logger.addHandler(handler)
    logger.propagate = False
    logger.warning("a %s", 1)
    logger.removeHandler(handler)
