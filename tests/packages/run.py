"""Programs that use packages: what passes in the sandbox of what passes natively, by way of grading.

    python3 tests/packages/run.py --server http://127.0.0.1:8000 --python NATIVE_PYTHON CASES.jsonl ...

NATIVE_PYTHON has the packages of packages.toml and of the interpreter `data`, in the image's versions. CASES has a JSON object
a line, with `code`, `tests` (unittest) and `needs`, the packages' names. `--native FILE` keeps what passes natively for the next
time; `--out FILE` writes the answer to each program."""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

# What each program's own tests are run with, natively.
NATIVE = "import sys, unittest; unittest.main(module='program', argv=['program'], exit=True)"
# At least this share of what passes natively passes here.
REQUIRED = {"auto": 0.95, "isolated": 0.9, "in_process": 0.95}


def passes_natively(python, case):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "program.py").write_text(f"{case['code']}\n\n{case['tests']}\n")
        try:
            done = subprocess.run(
                [python, "-c", NATIVE], cwd=folder, capture_output=True, text=True, timeout=120, errors="replace",
                env={**os.environ, "MPLBACKEND": "agg"}, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "timeout"
        return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["failed"])[-1][:200] + reason(done.stderr)


def reason(text):
    """The first exception of a run of unittest."""
    for line in text.splitlines():
        if "Error" in line and ":" in line and not line.startswith((" ", "ERROR:")):
            return f" | {line[:200]}"
    return ""


def natively(python, cases, kept):
    """Returns each program's failure natively, by id; nothing where it passes."""
    found = json.loads(kept.read_text()) if kept and kept.is_file() else {}
    missing = [case for case in cases if case["id"] not in found]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found.update(zip([case["id"] for case in missing], pool.map(lambda case: passes_natively(python, case), missing)))
    if kept:
        kept.write_text(json.dumps(found, indent=1))
    return found


def ask(server, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)


def graded(arguments, case):
    tests = {"kind": "unittest", "source": case["tests"]}
    body = {"code": case["code"], "tests": tests, "grading": arguments.grading, "image": arguments.image}
    return ask(arguments.server, "/v1/execute", body)


def said(answer):
    """Returns why a program did not pass, in at most 300 characters."""
    failed = [f"{each['name']}: {each['message']}" for each in answer["cases"] if each["status"] != "passed"]
    return f"[{answer['stderr_class']}, {answer['integrity']['level']}, {answer['runtime']['image']}] {(failed or [answer['error'] or ''])[0]}"[:300]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--grading", default="auto", choices=REQUIRED)
    parser.add_argument("--image", default="auto")
    parser.add_argument("--native", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("cases", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    python = pathlib.Path(arguments.python).absolute()
    cases = [json.loads(line) for path in arguments.cases for line in path.read_text().splitlines()]
    native = natively(python, cases, arguments.native)
    for case in cases:
        if native[case["id"]]:
            print(f"  fails natively: {case['id']} {case['needs']}: {native[case['id']]}")
    expected = [case for case in cases if not native[case["id"]]]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda case: graded(arguments, case), expected))
    passed, needed, causes = collections.Counter(), collections.Counter(), collections.Counter()
    for case, answer in zip(expected, answers):
        good = answer["status"] == "passed"
        needed.update(case["needs"] or ["standard library alone"])
        passed.update((case["needs"] or ["standard library alone"]) if good else [])
        if not good:
            causes[answer["stderr_class"]] += 1
            print(f"  fails here: {case['id']} {case['needs']}: {said(answer)}")
    for name in sorted(needed, key=lambda name: (-needed[name], name)):
        print(f"| {name} | {needed[name]} | {passed[name]} |")
    here = sum(answer["status"] == "passed" for answer in answers)
    print(f"{here} of {len(expected)} that pass natively pass here, of {len(cases)} ({arguments.grading}, image {arguments.image}); {dict(causes)}")
    if arguments.out:
        arguments.out.write_text("".join(f"{json.dumps({'id': case['id'], 'answer': answer})}\n" for case, answer in zip(expected, answers)))
    sys.exit(0 if here >= REQUIRED[arguments.grading] * len(expected) else 1)


if __name__ == "__main__":
    main()
