"""Programs that use packages: what passes in the sandbox, graded with `auto`, of what passes natively.

    python3 tests/packages/run.py --server http://127.0.0.1:8000 --python NATIVE_PYTHON CASES.jsonl

NATIVE_PYTHON has the packages of packages.toml, and numpy, in the image's versions. CASES has a JSON object a line, with
`code`, `tests` (unittest) and `needs`, the packages' names; a program is run when the image has all of them."""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

# What each program's own tests are run with, natively.
NATIVE = "import sys, unittest; unittest.main(module='program', argv=['program'], exit=True)"


def passes_natively(python, case):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "program.py").write_text(f"{case['code']}\n\n{case['tests']}\n")
        try:
            done = subprocess.run([python, "-c", NATIVE], cwd=folder, capture_output=True, timeout=120)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


def ask(server, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)


def importable(server):
    """Names of modules, which is how cases name packages."""
    code = "import pkgutil\nfrom _proofbox_packages import available\navailable()"
    answer = ask(server, "/v1/execute", {"code": code, "result": "last_expression"})
    return set(answer["result"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("cases", type=pathlib.Path)
    arguments = parser.parse_args()
    python = pathlib.Path(arguments.python).absolute()
    there = importable(arguments.server)
    cases = [json.loads(line) for line in arguments.cases.read_text().splitlines()]
    covered = [case for case in cases if set(case["needs"]) <= there]
    print(f"{len(covered)} of {len(cases)} programs need only what is there")
    passed, expected, missing = collections.Counter(), collections.Counter(), collections.Counter()
    for case in cases:
        missing.update(set(case["needs"]) - there)
    natively = here = 0
    for case in covered:
        if not passes_natively(python, case):
            print(f"  fails natively: {case['id']}")
            continue
        body = {
            "code": case["code"], "grading": "auto",
            "tests": {"kind": "unittest", "source": case["tests"]},
        }  # fmt: skip
        answer = ask(arguments.server, "/v1/execute", body)
        good = answer["status"] == "passed"
        natively += 1
        here += good
        for name in case["needs"]:
            expected[name] += 1
            passed[name] += good
        if not good:
            failed = [f"{each['name']}: {each['message']}" for each in answer["cases"] if each["status"] != "passed"]
            print(f"  fails here: {case['id']} {case['needs']}: {(failed or [answer['error']])[0]}")
    print(f"{here} of {natively} that pass natively pass here")
    for name in sorted(expected, key=expected.get, reverse=True):
        print(f"| {name} | {expected[name]} | {passed[name]} |")
    print("missing:", ", ".join(f"{name} {count}" for name, count in missing.most_common()))
    sys.exit(0 if here >= 0.93 * natively else 1)


if __name__ == "__main__":
    main()
