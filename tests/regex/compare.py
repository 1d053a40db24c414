#!/usr/bin/env python3
"""Compares what regular expressions find in the sandbox with what they find in CPython itself. Patterns and texts are made
at random, and so that the search has much to pass over: patterns that begin with assertions, groups, sets, repetitions and
letters of either case, and texts of few different characters, some of them beyond ASCII.

    python3 tests/regex/compare.py --server http://127.0.0.1:8080 --python ~/.cache/proofbox/build/native/python

`--python` is an interpreter of the sandbox's version in which the search is CPython's own, as it is in the recipe's native one.
The patterns are the same on each run. It exits with 1 if one of them finds something else."""

import argparse
import json
import subprocess
import sys
import urllib.request

# Run by both: a line for each batch of patterns, or for each pattern.
PROGRAM = '''
import hashlib, random, re, warnings
warnings.simplefilter("ignore")
SEED, FIRST, COUNT, SINGLY = %r
LETTERS = ["abAB01_ .-", "ab\\n ", "aAkKsSiI\\u017f\\u212a\\u0131\\u00e9\\u00c9", "\\u03b1\\u0391\\u4e2d\\u0663 a1", "\\U0001f600\\U00010428\\U00010400a "]
SETS = ["[ab]", "[^a]", "[a-c_]", "\\\\d", "\\\\D", "\\\\w", "\\\\W", "\\\\s", "\\\\S", "[\\\\w.]", "[^\\\\s]", ".", "[\\u00e0-\\u00ff]", "[\\u4e00-\\u9fff\\U00010400-\\U00010450]"]
ASSERTIONS = ["\\\\b", "\\\\B", "^", "$", "\\\\A", "\\\\Z"]
FLAGS = [0, 0, re.I, re.M, re.S, re.A, re.I | re.A, re.M | re.I]

def item(r, depth):
    kind = r.randrange(12)
    if kind < 4:
        return re.escape(r.choice(r.choice(LETTERS)))
    if kind < 7:
        return r.choice(SETS)
    if kind == 7:
        return r.choice(ASSERTIONS)
    if depth == 0:
        return "a"
    inner = sequence(r, depth - 1)
    if kind == 8:
        return "(" + inner + ")"
    if kind == 9:
        return r.choice(["(?:", "(?=", "(?!", "(?>", "(?i:", "(?-i:", "(?a:"]) + inner + ")"
    if kind == 10:
        return "(?:" + inner + "|" + sequence(r, depth - 1) + ")"
    return r.choice(["(?<=a)", "(?<![\\\\w])", "(a)?(?(1)b|c)", "(.)\\\\1"])

def sequence(r, depth):
    parts = []
    for _ in range(r.randrange(1, 4)):
        part = item(r, depth)
        if r.randrange(3) == 0:
            part = part + r.choice(["*", "+", "?", "{2}", "{1,3}", "{0,2}", "+?", "*?", "{2,}?", "++", "{1,2}+", "??"])
        parts.append(part)
    return "".join(parts)

def found(pattern, text):
    yield [(m.span(), m.groups(), m.lastindex) for m in pattern.finditer(text)]
    yield pattern.findall(text), pattern.split(text), pattern.sub(text[:2].replace(*BACKSLASHES[type(text)]), text)
    yield [m.span() for m in pattern.finditer(text, 1, len(text) - 2)]
    first = pattern.search(text, 2, max(2, len(text) - 1))
    yield first and first.regs, bool(pattern.match(text)), bool(pattern.fullmatch(text))

BACKSLASHES = {str: ("\\\\", ""), bytes: (b"\\\\", b"")}

def of(number):
    r = random.Random(SEED * 1_000_003 + number)
    source, flags, letters = sequence(r, 2), r.choice(FLAGS), r.choice(LETTERS)
    text = "".join(r.choice(letters) for _ in range(r.randrange(16)))
    if r.randrange(6) == 0:
        source, text = source.encode("latin-1", "ignore"), text.encode("latin-1", "ignore")
    try:
        result = repr(list(found(re.compile(source, flags), text)))
    except (re.error, ValueError) as error:
        result = type(error).__name__
    return source, int(flags), text, result

digest, errors = hashlib.sha1(), 0
for number in range(FIRST, FIRST + COUNT):
    line = ascii(of(number))
    errors += line.endswith("rror')")
    if SINGLY:
        print(line)
    digest.update(line.encode())
    if number %% 50 == 0:
        re.purge()
print(digest.hexdigest(), errors)
'''
BATCH = 2000
SEED = 5


def in_sandbox(server, program):
    body = {"code": program, "limits": {"fuel": 100_000_000_000, "wall_seconds": 120, "output_bytes": 4 << 20}}
    request = urllib.request.Request(server + "/v1/execute", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as response:
        answer = json.load(response)
    if answer["status"] != "ok":
        raise SystemExit(f"the sandbox: {answer['stderr_class']}: {answer['stderr'][-500:]}")
    return answer["stdout"].splitlines()


def natively(python, program):
    done = subprocess.run([python, "-I", "-S", "-c", program], capture_output=True, text=True, check=True, encoding="utf-8")
    return done.stdout.splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="http://127.0.0.1:8080", help="address of a running service")
    parser.add_argument("--python", required=True, help="native interpreter of the sandbox's version")
    parser.add_argument("--patterns", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=SEED, help="other patterns")
    arguments = parser.parse_args()
    compared = errors = different = 0
    while compared < arguments.patterns:
        asked = (arguments.seed, compared, min(BATCH, arguments.patterns - compared))
        ours, native = (run(where, PROGRAM % ((*asked, False),)) for run, where in ((in_sandbox, arguments.server), (natively, arguments.python)))
        errors += int(native[0].split()[1])
        compared += asked[2]
        if ours != native:
            singly = PROGRAM % ((*asked, True),)
            pairs = zip(in_sandbox(arguments.server, singly)[:-1], natively(arguments.python, singly)[:-1], strict=True)
            unlike = [(one, other) for one, other in pairs if one != other]
            for one, other in unlike:
                print(f"sandbox: {one}\nnative:  {other}")
            # If it was another time that they differed, that is a difference, too.
            different += max(1, len(unlike))
    print(f"{compared} patterns, {errors} with errors, {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
