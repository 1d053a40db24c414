"""Grades real problems in one suite of the service, isolated, and the way in which published harnesses do it: a native
process for each problem, forked from one that has imported much, or started afresh.

    python3 loadtest/graders.py [--url URL] [--cases DIR] [--sets humaneval,mbpp] [--rounds 3] [--without ID,…]

Each round has a run of each, so that what else the machine does falls on all. All have as many processes as there are
cores; all answers are checked. The native ways run candidate and tests in one interpreter: they isolate nothing."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import urllib.request

CASES = pathlib.Path(__file__).resolve().parents[2] / "shared/data/cases"
CORES = os.cpu_count()
SECONDS = 60


def program(case):
    """Code and tests in one text, as human-eval and the MBPP harness put them together."""
    if case["kind"] == "check_function":
        return f"{case['code']}\n{case['tests']}\ncheck({case['entry_point']})\n"
    return "\n".join([case["code"], case.get("setup") or "", *case["tests"]]) + "\n"


def item(case):
    if case["kind"] == "check_function":
        tests = {"kind": "check_function", "source": case["tests"], "entry_point": case["entry_point"]}
    else:
        tests = {"kind": "asserts", "asserts": case["tests"], "setup": case.get("setup") or ""}
    return {"id": case["id"], "code": case["code"], "tests": tests}


def by_suite(url, body):
    request = urllib.request.Request(f"{url}/v1/suites", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        *lines, report = [json.loads(line) for line in answer]
    for line in lines:
        if line["status"] != "passed" or line["integrity"]["level"] != "isolated":
            sys.exit(f"{line['id']}: {line['status']}, {line['integrity']['level']}")
    return len(lines)


def by_forks(cases):
    running, passed, rest = set(), 0, list(reversed(cases))
    while rest or running:
        while rest and len(running) < CORES:
            case = rest.pop()
            child = os.fork()
            if child == 0:
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, 1)
                try:
                    exec(compile(program(case), case["id"], "exec"), {"__name__": "__main__"})
                    os._exit(0)
                except BaseException:
                    os._exit(1)
            running.add(child)
        child, status = os.wait()
        running.discard(child)
        passed += status == 0
    return passed


def by_processes(cases):
    def run(case):
        done = subprocess.run([sys.executable, "-I", "-c", program(case)], stdout=subprocess.DEVNULL, timeout=SECONDS)
        return done.returncode == 0

    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        return sum(pool.map(run, cases))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--cases", type=pathlib.Path, default=CASES)
    parser.add_argument("--sets", default="humaneval,mbpp")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without", default="", help="ids to leave out: one endless problem says nothing of a harness")
    arguments = parser.parse_args()
    cases = []
    for name in arguments.sets.split(","):
        with open(arguments.cases / f"{name}.jsonl") as file:
            cases += [json.loads(line) for line in file]
    cases = [case for case in cases if case["id"] not in arguments.without.split(",")]
    body = json.dumps({"items": [item(case) for case in cases]}).encode()
    ways = {
        "one suite, isolated": lambda: by_suite(arguments.url, body),
        "a fork each": lambda: by_forks(cases),
        "a process each": lambda: by_processes(cases),
    }
    seconds = {name: [] for name in ways}
    for _ in range(arguments.rounds):
        for name, way in ways.items():
            began = time.perf_counter()
            passed = way()
            seconds[name].append(time.perf_counter() - began)
            if passed != len(cases):
                sys.exit(f"{name}: {passed} of {len(cases)} passed")
    print(f"{len(cases)} problems, {CORES} cores, {arguments.rounds} rounds in turn")
    for name, times in seconds.items():
        print(f"{name:22} median {statistics.median(times):7.3f} s, fastest {min(times):7.3f} s")


main()
