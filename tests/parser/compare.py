#!/usr/bin/env python3
"""Compares what the sandbox's parser makes of sources with what CPython's own makes of them: the tree with all positions,
or the error with its text and place. Sources are the standard library's files, and stretches of their lines of which some
tokens were deleted, inserted, replaced or exchanged; most of these are no Python.

    python3 tests/parser/compare.py --server http://127.0.0.1:8080 --python ~/.cache/proofbox/build/native/python

`--python` is an interpreter of the sandbox's version that was built without parser_patches.py, as the recipe's native one
is. The mutants are the same on each run. It exits with 1 if one source is not the same in both."""

import argparse
import io
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import tokenize
import urllib.request

# Run by both: a line for each source of a list.
DIGEST = '''
import ast, hashlib, json, warnings
warnings.simplefilter("ignore")
with open("sources.json", encoding="utf-8") as file:
    sources = json.load(file)
for mode, source in sources:
    try:
        tree = compile(source, "x", mode, ast.PyCF_ONLY_AST, dont_inherit=True)
        print(hashlib.sha1(ast.dump(tree, include_attributes=True).encode()).hexdigest())
    except SyntaxError as e:
        print(repr((type(e).__name__, e.msg, e.lineno, e.offset, e.end_lineno, e.end_offset, e.text)))
    except ValueError as e:
        print(repr((type(e).__name__, str(e))))
'''
PIECES = (
    "( ) [ ] { } , : = == := . ; + - * ** // % @ | & ^ << >> ~ < > != and or not in is if else for lambda await async yield "
    "return del assert raise from import pass break continue global nonlocal type match case while with as try except class "
    "def x 1 1.5j 's' f'{x}' b'' None True ... -> _ print ! $ += \\\n #c ' \"\"\" \n"
).split(" ") + ["\n    ", "0x"]
BATCH_BYTES = 200_000
SEED = 3


def mutant(lines, rng):
    """Returns a stretch of lines with some tokens changed, or None."""
    at = rng.randrange(len(lines))
    some = lines[at : at + rng.choice([1, 1, 1, 2, 6])]
    if not some[0].strip():
        return None
    indent = len(some[0]) - len(some[0].lstrip())
    source = "\n".join(line[indent:] if not line[:indent].strip() else line for line in some) + "\n"
    try:
        tokens = [token.string for token in tokenize.generate_tokens(io.StringIO(source).readline)]
    except (tokenize.TokenError, SyntaxError):
        tokens = source.replace("(", " ( ").replace(")", " ) ").split(" ")
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        if not tokens:
            return None
        index, change = rng.randrange(len(tokens)), rng.randrange(4)
        if change == 0:
            del tokens[index]
        elif change == 1:
            tokens.insert(index, rng.choice(PIECES))
        elif change == 2:
            tokens[index] = rng.choice(PIECES)
        else:
            other = rng.randrange(len(tokens))
            tokens[index], tokens[other] = tokens[other], tokens[index]
    changed = ""
    for token in tokens:
        changed += token if changed[-1:] in ("", "\n") else " " + token
    return rng.choice(["exec", "exec", "exec", "eval", "single"]), changed


def sources_of(library, files, mutants):
    """Returns pairs of mode and source: `files` whole files, and so many mutants."""
    rng = random.Random(SEED)
    paths = sorted(library.rglob("*.py"))
    rng.shuffle(paths)
    texts = []
    for path in paths:
        try:
            texts.append(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue
    whole = [("exec", text) for text in texts if len(text) < BATCH_BYTES][:files]
    changed = []
    lines = [text.split("\n") for text in texts if text]
    while len(changed) < mutants:
        changed.extend(filter(None, [mutant(rng.choice(lines), rng)]))
    return whole + changed


def batches(sources):
    batch, size = [], 0
    for source in sources:
        if batch and size + len(source[1]) > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(source)
        size += len(source[1])
    yield batch


def in_sandbox(server, batch):
    body = {
        "code": DIGEST,
        "files": {"sources.json": json.dumps(batch)},
        "limits": {"fuel": 100_000_000_000, "wall_seconds": 120, "output_bytes": 4 << 20},
    }
    request = urllib.request.Request(server + "/v1/execute", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as response:
        answer = json.load(response)
    if answer["status"] != "ok":
        raise SystemExit(f"the sandbox: {answer['stderr_class']}: {answer['stderr'][-500:]}")
    return answer["stdout"].splitlines()


def natively(python, batch):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "sources.json").write_text(json.dumps(batch), encoding="utf-8")
        done = subprocess.run([python, "-I", "-S", "-c", DIGEST], cwd=folder, capture_output=True, text=True, check=True, encoding="utf-8")
    return done.stdout.splitlines()


def library_of(python):
    code = "import os; print(os.path.dirname(os.__file__))"
    return pathlib.Path(subprocess.run([python, "-I", "-S", "-c", code], capture_output=True, text=True, check=True).stdout.strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="http://127.0.0.1:8080", help="address of a running service")
    parser.add_argument("--python", required=True, help="native interpreter of the sandbox's version")
    parser.add_argument("--files", type=int, default=10_000, help="whole files of the standard library, at most")
    parser.add_argument("--mutants", type=int, default=100_000)
    arguments = parser.parse_args()
    compared = errors = different = 0
    for batch in batches(sources_of(library_of(arguments.python), arguments.files, arguments.mutants)):
        ours, native = in_sandbox(arguments.server, batch), natively(arguments.python, batch)
        if not len(ours) == len(native) == len(batch):
            raise SystemExit(f"{len(batch)} sources, {len(ours)} and {len(native)} answers")
        for (mode, source), one, other in zip(batch, ours, native):
            compared += 1
            errors += other.startswith("(")
            if one != other:
                different += 1
                print(f"{mode}: {source[:300]!r}\n  sandbox: {one[:300]}\n  native:  {other[:300]}")
    print(f"{compared} sources, {errors} with errors, {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
