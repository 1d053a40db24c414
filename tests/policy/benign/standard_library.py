"""Modules and functions that are near to something dangerous, or look it, and are used for what they are for."""

#: time_sleep
import time
time.sleep(1)

#: time_measured
import time
began = time.perf_counter()
total = sum(range(1000))
print(total, time.perf_counter() - began >= 0)

#: platform_system
import platform
print(platform.system(), platform.python_version())

#: os_path
import os.path
print(os.path.join("a", "b"), os.path.splitext("c.tar.gz"))

#: os_getcwd
import os
print(os.path.basename(os.getcwd()), os.sep, os.linesep == "\n")

#: os_cpu_count
import os
print((os.cpu_count() or 1) > 0)

#: pure_paths
from pathlib import PurePosixPath
print(PurePosixPath("/a/b/../c").parts)

#: literal_eval_of_data
import ast
print(ast.literal_eval("{'a': [1, 2, (3, None)]}"))

#: ast_counts_nodes
import ast
tree = ast.parse("x = 1 + 2")
print(sum(isinstance(node, ast.BinOp) for node in ast.walk(tree)))

#: json_both_ways
import json
print(json.loads(json.dumps({"system": [1, 2], "exec": None})))

#: base64_both_ways
import base64
text = base64.b64encode(b"hello, world").decode()
print(text, base64.b64decode(text))

#: base64_of_a_picture
import base64
dot = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
print(dot[:6])

#: hashes
import hashlib
print(hashlib.sha256(b"hello").hexdigest() == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")

#: hmac_compare
import hmac
print(hmac.compare_digest(hmac.digest(b"key", b"m", "sha256"), hmac.digest(b"key", b"m", "sha256")))

#: compression_of_text
import zlib
print(len(zlib.compress(b"a" * 1000)), zlib.crc32(b"hello"))

#: caesar_cipher
def caesar(text, by):
    return "".join(chr((ord(c) - 97 + by) % 26 + 97) if c.isalpha() else c for c in text)
print(caesar("hello", 13), caesar(caesar("hello", 13), 13))

#: hex_and_bytes
print(bytes.fromhex("cafe").hex(), (258).to_bytes(2, "big"), int.from_bytes(b"\x01\x02", "big"))

#: struct_header
import struct
print(struct.unpack(">HB", struct.pack(">HB", 513, 7)))

#: decimal_context
from decimal import Decimal, getcontext, localcontext
getcontext().prec = 30
with localcontext() as context:
    context.prec = 5
    print(Decimal(1) / Decimal(7))

#: typing_imports
from __future__ import annotations
from typing import TYPE_CHECKING, Any, Callable, Generic, TypeVar
if TYPE_CHECKING:
    from collections.abc import Iterable
T = TypeVar("T")
def first(items: Iterable[T]) -> T:
    return next(iter(items))
print(first([1]))

#: type_hints_quoted
def parent(of: "Node | None") -> "Node": ...
class Node:
    next: "Node | None" = None

#: dataclasses_plain
from dataclasses import asdict, dataclass, field
@dataclass(order=True, frozen=True)
class Point:
    x: int = 0
    tags: list[str] = field(default_factory=list, compare=False)
print(asdict(Point(1, ["a"])))

#: operator_and_functools
import functools, operator
print(functools.reduce(operator.mul, [1, 2, 3], 1), sorted([(2, 1), (1, 2)], key=operator.itemgetter(1)))

#: attrgetter_sort
from operator import attrgetter
from types import SimpleNamespace as N
print([n.age for n in sorted([N(age=3), N(age=1)], key=attrgetter("age"))])

#: partial_and_cache
from functools import cache, partial
double = partial(lambda a, b: a * b, 2)
@cache
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(double(4), fib(50))

#: urllib_parse_only
from urllib.parse import parse_qs, quote, urlencode, urlparse
print(urlparse("https://example.com/a?b=1").netloc, quote("a b"), parse_qs("a=1"), urlencode({"q": "x"}))

#: html_escape
import html
print(html.escape("<b>"), html.unescape("&lt;b&gt;"))

#: http_status_words
from http import HTTPStatus
print(HTTPStatus.NOT_FOUND.phrase)

#: ip_addresses
import ipaddress
print(ipaddress.ip_address("192.168.0.1").is_private, ipaddress.ip_network("10.0.0.0/8").num_addresses)

#: sqlite_in_memory
import sqlite3
db = sqlite3.connect(":memory:")
db.execute("CREATE TABLE t (x INTEGER)")
db.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])
print(db.execute("SELECT SUM(x) FROM t WHERE x > ?", (0,)).fetchone())

#: threads_for_sums
import threading
results = []
threads = [threading.Thread(target=results.append, args=(n,)) for n in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

#: thread_pool_of_squares
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(2) as pool:
    print(list(pool.map(lambda n: n * n, range(4))))

#: asyncio_gather
import asyncio
async def wait(n):
    await asyncio.sleep(0)
    return n
async def main():
    print(await asyncio.gather(wait(1), wait(2)))
asyncio.run(main())

#: logging_to_stderr
import logging
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
logging.getLogger(__name__).info("started")

#: argparse_flags
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--exec", dest="execute", action="store_true")
print(parser.parse_args([]).execute)

#: shlex_split
import shlex
print(shlex.split("grep -r 'a b' ."), shlex.quote("a; b"))

#: random_seeded
import random
random.seed(1)
print(random.randint(1, 6) in range(1, 7))

#: secrets_and_uuid
import secrets, uuid
print(len(secrets.token_hex(8)), uuid.uuid5(uuid.NAMESPACE_URL, "https://example.com/"))

#: traceback_printed
import traceback
try:
    1 / 0
except ZeroDivisionError:
    print(traceback.format_exc().splitlines()[-1])

#: inspect_signature
import inspect
print(inspect.signature(lambda a, b=1: a), inspect.isfunction(print))

#: weak_references
import weakref
class Node: ...
node = Node()
print(weakref.ref(node)() is node)

#: copy_deep
import copy
grid = [[0] * 3 for _ in range(3)]
other = copy.deepcopy(grid)
other[0][0] = 1
print(grid[0][0])

#: collections_of_all_kinds
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
Pair = namedtuple("Pair", ["left", "right"])
print(Counter("aab").most_common(1), deque([1], maxlen=2), Pair(1, 2)._asdict(), Pair._fields)

#: heap_and_bisect
import bisect, heapq
print(heapq.nsmallest(2, [3, 1, 2]), bisect.insort([1, 3], 2))

#: string_template
from string import Template, ascii_lowercase
print(Template("$name has $$5").substitute(name="ada"), ascii_lowercase[::-1])

#: unicode_normalised
import unicodedata
print(unicodedata.normalize("NFC", "e\u0301") == "\u00e9", unicodedata.name("π"))

#: pprint_of_locals
import pprint
def f(a, b):
    pprint.pprint(locals())
f(1, 2)
