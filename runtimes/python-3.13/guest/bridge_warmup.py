"""Plays both sides of the bridge in one interpreter, when the image is made: what every graded run does is specialised
then (PEP 659), and the proxy types of common classes are there."""

import sys

import _proofbox
import _proofbox_bridge as bridge
import _proofbox_candidate as candidate
import _proofbox_commands as commands
import _proofbox_incoming as incoming
import _proofbox_side as side
import _proofbox_threads as threads

SNIPPET = """
def add(a, b):
    return a + b
def order(items):
    items.sort()
    return items
def count(n):
    yield from range(n)
KEPT = []
def keep(item):
    KEPT.append(item)
    return KEPT
def each(function, items):
    return [function(item) for item in items]
def fail():
    raise ValueError("no")
class Point:
    def __init__(self, x):
        self.x = x
    def __eq__(self, other):
        return self.x == other.x
NUMBER = 3
"""
ASSERTS = [
    "assert add(1, 2) == 3",
    "assert add([1], [(2, 'a')]) == [1, (2, 'a')]",
    "items = [2, 1]; assert order(items) is items and items == [1, 2]",
    "assert list(count(3)) == [0, 1, 2]",
    "assert each(lambda item: item + 1, [1, 2]) == [2, 3]",
    "assert Point(1) == Point(1) and Point(2).x == 2",
    "assert NUMBER == 3",
    "kept = keep(1); keep(2); assert keep(3) is kept and kept == [1, 2, 3]",
    "try: fail()\nexcept ValueError as error: assert str(error) == 'no'",
]
CHECK = """
def check(candidate):
    assert candidate(1, 2) == 3
    assert candidate("a", "b") == "ab"
    for i in range(2):
        assert candidate(i, i) == 2 * i
"""
TESTS = (
    {"kind": "asserts", "setup": "", "asserts": ASSERTS},
    {"kind": "check_function", "source": CHECK, "entry_point": "add"},
)


def play(run, main):
    """Plays one round, by the runner's own `run`."""
    exchange, post, path, modules = _proofbox.exchange, _proofbox.post, sys.meta_path[:], set(sys.modules)
    search, arguments = sys.path[:], sys.argv[:]
    serve, candidate.serve = candidate.serve, candidate.begin
    _proofbox.exchange = _exchange
    errors = []
    _proofbox.post = lambda message, reduce=None: errors.append(message[3]) if message[0] == "case_end" and message[3] else None
    code = SNIPPET.encode()
    for tests in TESTS:
        request = {"code": code, "args": [], "env": {}, "result": None, "seed": None, "module": None, "modules": []}
        run(request | {"tests": None, "role": "candidate"})
        _sides[0] = side.state
        run(request | {"tests": tests, "role": "grader"})
    _proofbox.exchange, _proofbox.post, candidate.serve = exchange, post, serve
    sys.meta_path[:], sys.path[:], sys.argv[:] = path, search, arguments
    for name in set(sys.modules) - modules:
        del sys.modules[name]
    for key in [key for key in incoming.known_types if "__main__" in key]:
        del incoming.known_types[key]
    side.state = threads.rest = commands.environment_of = None
    _sides.clear()
    if errors:
        raise RuntimeError(f"the warm-up of the bridge failed: {errors}")


# What the candidate's side knows, while the other is at it.
_sides = {}
# Requests that wait for their replies, each with its containers; and replies.
_asked = []
_replies = []


def _exchange(kind, message, changes, sent, given, asked, reduce, restore, link):
    """Carries out a request at once, on the other side. A reply is what that gives."""
    data = _proofbox.encode(kind, message, changes, sent, given, reduce, link)
    if kind == bridge.REPLY:
        _replies.append(data)
        return None
    own, there = side.state, _sides[0]
    side.state, _sides[0] = there, own
    request, received, contents = _proofbox.decode(data, None, restore, there.link)
    if there.shared:
        there.shared.crossed()
    waiting = _asked[-1] if _asked else (None, None)
    _asked.append((sent, message))
    bridge.answer(request, received, contents, *waiting)
    _asked.pop()
    side.state, _sides[0] = own, there
    return bridge.REPLY, *_proofbox.decode(_replies.pop(), asked, restore, link)
