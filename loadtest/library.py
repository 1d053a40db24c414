"""Speed of the language and its standard library in the sandbox against a native Python of the same version, as a table.

    python3 loadtest/library.py --server http://127.0.0.1:8080 --python NATIVE_PYTHON

Each line is the best of several, the slowest line in times native first. `bench cpu` has whole programs."""

import argparse
import statistics

import beside_native

PROGRAM = r'''
import array, ast, asyncio, base64, binascii, bisect, bz2, collections, contextlib, copy, csv, dataclasses, datetime, decimal, difflib
import fractions, functools, hashlib, heapq, hmac, html, io, itertools, json, lzma, math, operator, os, pickle, random, re, shutil
import statistics, string, struct, tempfile, textwrap, time, tokenize, types, typing, unicodedata, urllib.parse, uuid, zlib
import xml.etree.ElementTree as ET

r = random.Random(0)
ints = [r.randrange(10**6) for _ in range(20000)]
floats = [r.random() for _ in range(20000)]
words = ["".join(r.choices(string.ascii_lowercase, k=r.randrange(3, 9))) for _ in range(20000)]
text = " ".join(words)
data = text.encode()
big = r.getrandbits(4000)
huge = r.getrandbits(200000)
digits = str(r.getrandbits(13000))
table = {w: i for i, w in enumerate(words)}
nested = {"a": [{"b": i, "c": str(i), "d": [i, i + 1.5, None]} for i in range(1000)]}
dumped = json.dumps(nested)
pickled = pickle.dumps(nested)
packed = zlib.compress(data)
xml = "<r>" + "".join(f"<i n='{i}'>t{i}</i>" for i in range(3000)) + "</r>"
rows = "\n".join(f"{i},{w},{i * 2}" for i, w in enumerate(words[:5000]))
source = "\n".join(f"def f{i}(a, b=1, *c):\n    x = [i for i in a if i > b]\n    return {{'k': x, 'v': a}}" for i in range(300))
tree = ast.parse(source)
graph = {i: [r.randrange(3000) for _ in range(5)] for i in range(3000)}
folder = tempfile.mkdtemp()

class Point:
    __slots__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
    def __add__(self, o): return Point(self.x + o.x, self.y + o.y)
    def __eq__(self, o): return self.x == o.x
    def __lt__(self, o): return self.x < o.x
    def __hash__(self): return hash(self.x)
    def norm(self): return self.x * self.x + self.y * self.y
    @property
    def both(self): return self.x + self.y
class Plain:
    def __init__(self, x): self.x = x
    def get(self): return self.x
class Child(Plain):
    def __init__(self, x): super().__init__(x); self.y = x
    def get(self): return super().get() + self.y
@dataclasses.dataclass(order=True, frozen=True)
class Data:
    a: int
    b: str
class Named(typing.NamedTuple):
    a: int
    b: str
class Dynamic:
    def __getattr__(self, name): return 1
points = [Point(a, b) for a, b in zip(ints, ints)]
plains = [Plain(i) for i in ints]
def fails(i):
    if i % 2: raise ValueError(i)
    return i
def generate(n):
    for i in range(n): yield i
def delegate(n): yield from generate(n)
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps
def sieve(n):
    marks = bytearray([1]) * (n + 1)
    for i in range(2, int(n ** 0.5) + 1):
        if marks[i]: marks[i * i::i] = bytes(len(marks[i * i::i]))
    return sum(marks)
def lcs(a, b):
    t = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            t[i + 1][j + 1] = t[i][j] + 1 if x == y else max(t[i][j + 1], t[i + 1][j])
    return t[-1][-1]
def queens(n, row=0, cols=0, d1=0, d2=0):
    if row == n: return 1
    free, found = ~(cols | d1 | d2) & ((1 << n) - 1), 0
    while free:
        bit = free & -free
        free ^= bit
        found += queens(n, row + 1, cols | bit, (d1 | bit) << 1, (d2 | bit) >> 1)
    return found
def dijkstra():
    far, heap = {0: 0}, [(0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > far[u]: continue
        for v in graph[u]:
            if d + v % 17 < far.get(v, 1 << 30): far[v] = d + v % 17; heapq.heappush(heap, (far[v], v))
    return len(far)
def matrix(n):
    a = [[float(i * j % 7) for j in range(n)] for i in range(n)]
    return [[sum(x * y for x, y in zip(row, col)) for col in zip(*a)] for row in a]
def bfs():
    seen, queue = {0}, collections.deque([0])
    while queue:
        for v in graph[queue.popleft()]:
            if v not in seen: seen.add(v); queue.append(v)
    return len(seen)
def catches():
    n = 0
    for i in range(20000):
        try: fails(i)
        except ValueError as e: n += 1
    return n
def closures():
    def make(k): return lambda x: x + k
    return sum(make(i)(i) for i in range(20000))
def matches():
    n = 0
    for item in nested["a"] * 10:
        match item:
            case {"b": 5}: n += 5
            case {"b": int(b), "d": [x, *_]}: n += b + x
    return n
@functools.lru_cache(None)
def cached(n): return n if n < 2 else cached(n - 1) + cached(n - 2)
@contextlib.contextmanager
def managed(): yield 1
def manages():
    for _ in range(5000):
        with managed() as x: pass
async def tick(n):
    for _ in range(n): await asyncio.sleep(0)
async def ticks(): await asyncio.gather(*(tick(100) for _ in range(20)))
def lines():
    path = folder + "/lines"
    with open(path, "w") as f:
        for w in words: f.write(w + "\n")
    with open(path) as f: return sum(len(line) for line in f)
class Node:
    def __init__(self, v): self.v, self.l, self.r = v, None, None
def insert():
    root = Node(500000)
    for i in ints[:4000]:
        n = root
        while True:
            if i < n.v:
                if n.l is None: n.l = Node(i); break
                n = n.l
            else:
                if n.r is None: n.r = Node(i); break
                n = n.r

def loop_while():
    i = 0
    while i < 300000: i += 1
def loop_for():
    n = 0
    for i in range(300000): n += i & 3
def loop_float():
    x = 0.0
    for i in range(200000): x = x * 0.5 + i
def concat():
    s = ""
    for w in words: s += w
def swap():
    a = ints[:3000]
    for i in range(len(a)):
        for j in range(0, 60): a[j], a[j + 1] = a[j + 1], a[j]
def formats(): return [f"{i:>10,d}|{f:.3f}|{w!r}" for i, f, w in zip(ints, floats, words)]

WORK = {
    "loop: while": loop_while, "loop: for": loop_for, "loop: floats": loop_float,
    "swap items": swap, "collatz": lambda: [collatz(i) for i in range(1, 2000)], "sieve of 1e6": lambda: sieve(10**6),
    "longest common subsequence": lambda: lcs(words[0] * 40, words[1] * 40), "queens 8": lambda: queens(8),
    "dijkstra": dijkstra, "breadth first search": bfs, "matrix product": lambda: matrix(60), "binary tree": insert,
    "generator": lambda: sum(generate(100000)), "yield from": lambda: sum(delegate(100000)),
    "generator expression": lambda: sum(i * i for i in range(100000)), "list comprehension": lambda: [i * 2 for i in range(200000)],
    "dict comprehension": lambda: {i: w for i, w in enumerate(words)}, "set comprehension": lambda: {w[:4] for w in words},
    "exceptions": catches, "closures": closures, "match": matches, "lru_cache": lambda: (cached.cache_clear(), cached(400)),
    "with": manages, "asyncio": lambda: asyncio.run(ticks()),
    "make objects": lambda: [Point(i, i) for i in ints], "methods": lambda: sum(p.norm() for p in points),
    "operators of classes": lambda: functools.reduce(operator.add, points), "super": lambda: [Child(i).get() for i in ints],
    "property": lambda: [p.both for p in points], "__getattr__": lambda: [Dynamic().a for _ in ints],
    "sort objects by __lt__": lambda: sorted(points[:5000]), "set of objects": lambda: set(points),
    "dataclasses": lambda: sorted(Data(i, w) for i, w in zip(ints[:3000], words)), "NamedTuple": lambda: [Named(i, w) for i, w in zip(ints, words)],
    "deepcopy": lambda: copy.deepcopy(nested), "isinstance": lambda: [isinstance(p, Plain) for p in points + plains],
    "dict get and set": lambda: [table.get(w, 0) for w in words], "Counter of words": lambda: collections.Counter(words),
    "defaultdict": lambda: [d[w[:2]].append(w) for d in [collections.defaultdict(list)] for w in words],
    "set operations": lambda: set(ints) & set(ints[:10000]) | set(ints[5000:]), "deque": lambda: collections.deque(ints, 100).rotate(5),
    "sort integers": lambda: sorted(ints), "sort words": lambda: sorted(words), "sort by key": lambda: sorted(words, key=len),
    "heapq": lambda: [heapq.heappop(h) for h in [ints[:]] if not heapq.heapify(h) for _ in range(5000)], "bisect": lambda: [bisect.bisect(s, i) for s in [sorted(ints)] for i in ints],
    "permutations": lambda: sum(1 for _ in itertools.permutations(range(8))), "combinations": lambda: sum(map(len, itertools.combinations(range(20), 4))),
    "zip, map, filter": lambda: list(filter(None, map(operator.mul, ints, ints))), "sum, min, max": lambda: (sum(ints), min(ints), max(floats), sum(floats)),
    "slices": lambda: [ints[i:i + 20] for i in range(0, 20000, 2)], "reversed, enumerate": lambda: [i for i, x in enumerate(reversed(ints))],
    "str: concatenate": concat, "str: split and join": lambda: " ".join(text.split()), "str: replace": lambda: text.replace("a", "bb"),
    "str: find and count": lambda: (text.find("zzzzz"), text.count("ab")), "str: upper, strip": lambda: [w.upper().strip() for w in words],
    "str: iterate": lambda: [c for c in text], "str: reverse": lambda: text[::-1], "str: format": formats, "str: % and format": lambda: ["%d %s %.2f" % (i, w, f) + "{} {}".format(i, w) for i, w, f in zip(ints, words, floats)],
    "str: encode and decode": lambda: ("é" + text).encode().decode(), "str: isalpha, ord": lambda: [ord(c) for c in text if c.isalpha()],
    "str(int)": lambda: [str(i) for i in ints], "int(str)": lambda: [int(s) for s in map(str, ints)], "str(float)": lambda: [str(f) for f in floats], "float(str)": lambda: [float(s) for s in map(str, floats)],
    "bytes: find": lambda: data.find(b"zzzzz"), "bytearray": lambda: [b ^ 5 for b in bytearray(data)],
    "int: add, 4000 bits": lambda: [big + i for i in range(20000)], "int: multiply, 4000 bits": lambda: [big * big for _ in range(200)], "int: multiply, 200000 bits": lambda: huge * huge,
    "int: divide, 4000 bits": lambda: [big * big // (big + i) for i in range(100)], "int: pow mod, 1000 bits": lambda: [pow(3, big >> 3000, (big >> 3000) | 1) for _ in range(3)],
    "int: to decimal": lambda: str(big << 9000), "int: from decimal": lambda: int(digits[:3900]), "int: factorial": lambda: math.factorial(2000), "int: gcd": lambda: [math.gcd(a, b) for a, b in zip(ints, ints[1:])],
    "int: // and %": lambda: [a // 7 + a % 13 for a in ints], "int: shifts": lambda: [(a << 3 ^ a >> 2) & 0xFFFF for a in ints], "float: // and %": lambda: [a // 0.3 + a % 0.07 for a in floats],
    "float: **": lambda: [a ** 0.5 + a ** 3 for a in floats], "math: sqrt, sin, exp, log": lambda: [math.sqrt(a) + math.sin(a) + math.exp(a) + math.log(a + 1) for a in floats],
    "round": lambda: [round(a, 2) for a in floats], "complex": lambda: [complex(a, 1) * 2j for a in floats], "Fraction": lambda: sum(fractions.Fraction(1, i) for i in range(1, 300)),
    "Decimal": lambda: [decimal.Decimal(i) / 7 for i in ints], "Decimal, 1000 digits": lambda: [decimal.Context(prec=1000).sqrt(decimal.Decimal(i)) for i in range(2, 22)],
    "statistics": lambda: (statistics.fmean(floats), statistics.stdev(floats[:5000])), "random": lambda: [r.random() for _ in range(50000)], "randrange, shuffle": lambda: (r.shuffle(ints[:]), [r.randrange(100) for _ in range(10000)]),
    "re: findall": lambda: re.findall(r"\b[a-m]\w+", text), "re: sub": lambda: re.sub(r"(a)(\w)", r"\2\1", text), "re: backtracking": lambda: re.search(r"(a|aa)+$", "a" * 24 + "b"), "re: compile": lambda: (re.purge(), re.compile(r"(?P<a>\d+)-(?:x|y|z)*[^abc]{2,5}$")),
    "json: dumps": lambda: json.dumps(nested), "json: loads": lambda: json.loads(dumped), "pickle: dumps": lambda: pickle.dumps(nested), "pickle: loads": lambda: pickle.loads(pickled),
    "csv": lambda: list(csv.reader(io.StringIO(rows))), "xml": lambda: ET.fromstring(xml), "struct": lambda: [struct.unpack("<IHd", struct.pack("<IHd", i, 5, 1.5)) for i in ints],
    "array": lambda: sum(array.array("d", floats)), "sha256": lambda: hashlib.sha256(data * 5).digest(), "md5": lambda: hashlib.md5(data * 5).digest(), "sha1": lambda: hashlib.sha1(data * 5).digest(), "sha512": lambda: hashlib.sha512(data * 5).digest(), "blake2b": lambda: hashlib.blake2b(data * 5).digest(), "sha3_256": lambda: hashlib.sha3_256(data).digest(),
    "hmac, pbkdf2": lambda: hashlib.pbkdf2_hmac("sha256", b"x", b"y", 2000), "crc32": lambda: zlib.crc32(data * 20), "zlib: compress": lambda: zlib.compress(data), "zlib: decompress": lambda: zlib.decompress(packed),
    "bz2": lambda: bz2.decompress(bz2.compress(data[:60000])), "lzma": lambda: lzma.decompress(lzma.compress(data[:40000])), "base64": lambda: base64.b64decode(base64.b64encode(data)),
    "datetime": lambda: [datetime.datetime(2024, 1, 1) + datetime.timedelta(seconds=i) for i in ints], "strptime": lambda: [datetime.datetime.strptime("2024-03-05 10:11:12", "%Y-%m-%d %H:%M:%S") for _ in range(500)], "isoformat": lambda: [datetime.datetime.fromisoformat("2024-03-05T10:11:12").isoformat() for _ in range(5000)],
    "difflib": lambda: difflib.SequenceMatcher(None, words[:150], words[50:200]).ratio(), "textwrap": lambda: textwrap.wrap(text[:20000]), "urllib.parse": lambda: [urllib.parse.urlsplit("http://a.b/c?d=" + w).query for w in words[:3000]],
    "uuid5": lambda: [uuid.uuid5(uuid.NAMESPACE_DNS, w) for w in words[:2000]], "unicodedata": lambda: unicodedata.normalize("NFD", "é" * 20000), "html": lambda: html.unescape(html.escape("<a&b>" * 5000)),
    "compile": lambda: compile(source, "x", "exec"), "ast.parse": lambda: ast.parse(source), "ast.unparse": lambda: ast.unparse(tree), "tokenize": lambda: list(tokenize.generate_tokens(io.StringIO(source).readline)),
    "exec a class": lambda: [exec("class A:\n  def f(self): pass") for _ in range(200)], "eval": lambda: [eval("1 + 2") for _ in range(2000)], "namedtuple()": lambda: [collections.namedtuple("A", "a b c") for _ in range(30)],
    "files: lines": lines, "StringIO": lambda: [s.write(w) for s in [io.StringIO()] for w in words], "print": lambda: [print(w, file=s) for s in [io.StringIO()] for w in words],
}

def best(function):
    function()
    began = time.perf_counter()
    function()
    once = time.perf_counter() - began
    # What is short is done several times in a row: a clock has its own cost.
    repeats, times = max(1, int(2e-3 / once)), []
    for _ in range(max(3, min(9, int(0.1 / once)))):
        began = time.perf_counter()
        for _ in range(repeats): function()
        times.append(time.perf_counter() - began)
    return min(times) * 1e3 / repeats
told = {}
for name, function in WORK.items():
    try: told[name] = best(function)
    except Exception as error: told[name] = repr(error)
shutil.rmtree(folder)
print(json.dumps(told))
'''


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="URL of the service")
    parser.add_argument("--python", required=True, help="native Python")
    arguments = parser.parse_args()
    limits = {"wall_seconds": 300, "fuel": 10**13}
    pieces = beside_native.compare(arguments.server, arguments.python, PROGRAM, limits=limits)
    slowest_first = sorted(pieces.items(), key=lambda piece: piece[1][0] / piece[1][1])
    ratios = beside_native.print_table(dict(slowest_first), 2)
    shares = ", ".join(f"{sum(ratio <= bound for ratio in ratios)} at most {bound}" for bound in (1.5, 2, 2.5, 3))
    print(f"\nGeometric mean of {len(ratios)}: {statistics.geometric_mean(ratios):.2f}; {shares}")


if __name__ == "__main__":
    main()
