#!/usr/bin/env python3
"""Rewards of verl's own function over a thousand mixed samples: first from an idle service, a few requests at a time,
then while a load generator offers the service five times its measured capacity. No reward may differ.

    python3.11 -m venv VENV
    VENV/bin/pip install --no-deps --require-hashes -r tests/sandbox_fusion/requirements.txt    # verl==0.9.1, requests
    proofbox serve --listen 127.0.0.1:18192 --workers 1 --slots 16 &
    VENV/bin/python loadtest/rewards.py --url http://127.0.0.1:18192

Samples are programs of ../shared/data/cases with their own tests (standard input and output, assert statements, check
functions), right and wrong; the same with a computation before them that takes a fifth to four fifths of the time limit,
or a sleep that does; endless ones; and programs that cheat: the hostile cases, and some that know how verl grades. The
list is the same on each run.

The load is `loadtest http`: a closed loop measures the capacity, then an open loop sends `--overload` times as much for
as long as the second pass takes. verl's own requests, up to `--concurrent` at once, come on top of that.

A sample's result is its score and verl's status of each of its cases. The program exits with 1 if any result is not the
same in both passes, if a score of the idle service is not what the sample must get, or if the load was not the overload
that was asked for."""

import argparse
import ast
import json
import logging
import pathlib
import random
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tests/sandbox_fusion"), str(ROOT / "tests/harnesses")]
from mutants import mutant  # noqa: E402
from parts import module_of  # noqa: E402

compute_score = module_of("verl", "verl.utils.reward_score.sandbox_fusion").compute_score
logging.disable(logging.CRITICAL)

SEED = 19
# verl's limit for each case, in seconds.
TIMEOUT = 2
# Steps of `j = i * i` in a loop that use a second of a program's time: 15 G of fuel, as docs/reference/limits.md has it.
STEPS_PER_SECOND = 7_000_000
# Most cases of one sample: verl sends all of them at once.
MAX_CASES = 3
# Largest input of a case, in bytes; each is sent as often as its sample is graded.
MAX_INPUT = 100_000
# Cases that take longer in a plain interpreter are among the slow ones or none, in milliseconds.
MAX_NATIVE_MS = 700
# Parts of a list of 1000 samples.
PARTS = {"right": 330, "wrong": 370, "slow": 70, "sleeping": 30, "endless": 40, "cheating": 160}


def rows(folder, name):
    with open(folder / f"{name}.jsonl", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_cases(row, most=MAX_CASES):
    """Tests of a row in the form in which verl's data sets have them."""
    tests = row["tests"]
    if row["kind"] == "stdin_stdout":
        tests = [test for test in tests if len(test["stdin"]) <= MAX_INPUT][:most]
        return {"inputs": [test["stdin"] for test in tests], "outputs": [test["expected_stdout"] for test in tests]}
    if row["kind"] == "check_function":
        return {"assert_case": [f"{tests}\ncheck({row['entry_point']})"]}
    setup = row.get("setup") or ""
    return {"assert_case": [f"{setup}\n{test}" for test in tests[:most]]}


# Programs that know how verl grades, with the score that they get: the protocol compares standard output, or trusts the
# exit code where tests stand in the program itself.
STDIN_CHEATS = [
    ("import os, sys\nprint({known!r}, flush=True)\nos._exit(0)", None),
    ("import os\nos._exit(0)", 0.0),
    ("print({known!r}, end='')\nraise SystemExit", None),
    ("import sys\nsys.stdout.write({known!r})\nsys.stdout = None", None),
    ("for name in ('expected', '/proc/self/environ', 'tests'):\n"
     "    try: print(open(name).read())\n    except OSError: pass", 0.0),
    ("import atexit, os\natexit.register(lambda: os.write(1, {known!r}.encode()))", None),
    ("import os, signal\nprint({known!r}, flush=True)\nwhile True: pass", 0.0),
]
ASSERT_CHEATS = [
    ("import os\nos._exit(0)", 1.0),
    ("raise SystemExit(0)", 1.0),
    ("import sys\nsys.exit()", 1.0),
    ("class Any:\n    def __eq__(self, other): return True\n    def __call__(self, *_, **__): return self\n"
     "    def __getattr__(self, name): return self\n{name} = Any()", None),
    ("import builtins\nbuiltins.AssertionError = SystemExit", None),
    ("import sys\nsys.excepthook = lambda *_: None", 0.0),
    # The exception has decided by then, other than in a process of its own.
    ("import sys, os\nsys.excepthook = lambda *_: os._exit(0)", 0.0),
    ("import atexit, os\natexit.register(lambda: os._exit(0))", 0.0),
]
ENDLESS = [
    "while True: pass",
    "import itertools\nfor i in itertools.count(): i * i",
    "def again(n):\n    while n: n += 1\nagain(1)",
    "import time\nwhile True: time.sleep(0.01)",
    "import time\ntime.sleep(1000)",
    "x = 3\nwhile True: x = x * x % 1000003",
    "try:\n    while True: pass\nexcept BaseException: pass\nwhile True: pass",
    "import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
]


def samples(folder, count):
    """Kind, completion, cases and the score that the sample must get, where that is known."""
    chance = random.Random(SEED)
    stdin = [row for row in rows(folder, "stdin_gcj") if row["native"]["ms"] < MAX_NATIVE_MS and test_cases(row)["inputs"]]
    functions = [row for row in rows(folder, "mbpp") + rows(folder, "humaneval") if row["native"]["ms"] < MAX_NATIVE_MS]
    failing = rows(folder, "wrong_mutants") + rows(folder, "wrong_llm_humaneval")
    # Where the tests after the first few are the only ones that fail, the score is another.
    failing = [row for row in failing if row["kind"] == "check_function" or len(row["tests"]) <= MAX_CASES]
    hostile = [row for row in rows(folder, "hostile") if row["kind"] == "asserts" and "code" in row]
    short = [row for row in functions if row["kind"] == "asserts"]
    for pool in (functions, failing, short):
        chance.shuffle(pool)

    def part(name, candidates):
        wanted = round(PARTS[name] * count / sum(PARTS.values()))
        many = candidates * -(-wanted // len(candidates))
        return [(name, *candidate) for candidate in many[:wanted]]

    def same(row, score, most=MAX_CASES):
        return row["code"], test_cases(row, most), score

    def after(row, before, score):
        # Each case takes seconds.
        return f"{before}\n{row['code']}", test_cases(row, 1), score

    every = part("right", [same(row, None) for row in stdin] + [same(row, 1.0) for row in functions])
    wrong = [(mutant(row["code"], chance), test_cases(row), None) for row in stdin]
    # A check function is one case of verl's; of assert statements some may hold. A few of the models' programs are right.
    right = {row["id"]: float(row["expect"]["passed"] == row["expect"]["total"]) for row in failing}
    wrong += [same(row, right[row["id"]] if row["kind"] == "check_function" else None) for row in failing]
    every += part("wrong", wrong)
    steps = [int(STEPS_PER_SECOND * TIMEOUT * share) for share in (0.2, 0.5, 0.8)]
    slow = [after(row, f"for _i in range({steps[at % 3]}): _j = _i * _i", 1.0) for at, row in enumerate(short)]
    every += part("slow", slow)
    naps = [TIMEOUT * share for share in (0.2, 0.5, 0.8)]
    every += part("sleeping", [after(row, f"import time\ntime.sleep({naps[at % 3]})", 1.0) for at, row in enumerate(short)])
    endless = [(ENDLESS[at % len(ENDLESS)], {"inputs": [""], "outputs": ["1"]}, 0.0) for at in range(len(ENDLESS) * 5)]
    every += part("endless", endless)
    # The hostile cases have their own oracles elsewhere; here they must only end alike.
    cheats = [same(row, None, 1) for row in hostile]
    for at in range(PARTS["cheating"]):
        if at % 2:
            row = stdin[at % len(stdin)]
            cases = test_cases(row)
            code, score = STDIN_CHEATS[at // 2 % len(STDIN_CHEATS)]
            cheats.append((code.replace("{known!r}", repr(cases["outputs"][0])), cases, score))
        else:
            row = short[at % len(short)]
            code, score = ASSERT_CHEATS[at // 2 % len(ASSERT_CHEATS)]
            name = next(node.name for node in ast.parse(row["code"]).body if isinstance(node, ast.FunctionDef))
            cheats.append((code.replace("{name}", name), test_cases(row), score))
    every += part("cheating", cheats)
    chance.shuffle(every)
    return every


def graded(url, sample, places):
    """The result of a sample, and the longest time that one of its cases has waited in the service."""
    kind, code, cases, _ = sample
    # verl writes into the cases that it is given.
    score, facts = compute_score(f"{url}/sandbox-fusion/run_code", places, 1024, f"```python\n{code}\n```",
                                 json.loads(json.dumps(cases)), timeout=TIMEOUT)
    waits = [((fact.get("api_response") or {}).get("proofbox") or {}).get("queue_seconds", 0.0) for fact in facts]
    return (score, tuple(fact.get("status") for fact in facts)), max(waits, default=0.0)


def graded_all(url, every, concurrent, seconds):
    """Results of all samples in their order; none of one that would have begun after `seconds`."""
    places, began = threading.Semaphore(concurrent), time.monotonic()

    def one(sample):
        return graded(url, sample, places) if time.monotonic() - began < seconds else None

    # As many samples as there are requests at once: each has at least one.
    with ThreadPoolExecutor(concurrent) as threads:
        return list(threads.map(one, every)), time.monotonic() - began


class Load(threading.Thread):
    """An open loop of `loadtest http`, in pieces of five minutes, until it is stopped."""

    def __init__(self, command, rate, connections):
        super().__init__(daemon=True)
        self.command = [*command, "--rate", f"{rate:.0f}", "--connections", str(connections), "--duration", "300",
                        "--warmup", "0", "--timeout", "8", "--json"]
        self.pieces, self.process, self.is_over = [], None, False

    def run(self):
        while not self.is_over:
            self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
            said = self.process.communicate()[0]
            if said.strip():
                self.pieces.append(json.loads(said))

    def stop(self):
        self.is_over = True
        self.process.terminate()
        self.join()


def measured(command, seconds, clients):
    said = subprocess.run([*command, "--connections", str(clients), "--duration", str(seconds), "--json"],
                          capture_output=True, text=True, check=False).stdout
    return json.loads(said)["requests_per_second"]


def metric(url, start):
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(start))


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:18192")
    parser.add_argument("--cases", type=pathlib.Path, default=ROOT.parent / "shared/data/cases")
    parser.add_argument("--loadtest", default=str(ROOT / "target/release/loadtest"), help="the built load generator")
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--overload", type=float, default=5, help="times the measured capacity")
    parser.add_argument("--sets", default="humaneval,mbpp", help="case files that the load is made of")
    parser.add_argument("--clients", type=int, default=16, help="connections of the closed loop that measures the capacity")
    parser.add_argument("--connections", type=int, default=1500, help="connections of the overload")
    parser.add_argument("--concurrent", type=int, default=64, help="verl's requests at once during the overload")
    parser.add_argument("--idle", type=int, default=2, help="verl's requests at once before")
    parser.add_argument("--seconds", type=float, default=3000, help="of the second pass; no sample is begun after them")
    parser.add_argument("--json", type=pathlib.Path, help="write every result")
    arguments = parser.parse_args()
    every = samples(arguments.cases, arguments.samples)
    print(f"{len(every)} samples, {sum(len(case.get('inputs') or case['assert_case']) for _, _, case, _ in every)} cases")

    idle, took = graded_all(arguments.url, every, arguments.idle, float("inf"))
    print(f"idle: {took:.0f} s, {arguments.idle} requests at once, longest wait {max(wait for _, wait in idle):.2f} s",
          flush=True)
    command = [arguments.loadtest, "http", "--url", arguments.url, "--scenario", "cases", "--sets", arguments.sets,
               "--cases", str(arguments.cases)]
    capacity = measured(command, 15, arguments.clients)
    rate = capacity * arguments.overload
    print(f"capacity: {capacity:.0f} requests/s of {arguments.sets}; offered from now on: {rate:.0f} requests/s",
          flush=True)
    load = Load(command, rate, arguments.connections)
    load.start()
    # The queue fills.
    time.sleep(15)
    refused = metric(arguments.url, "proofbox_refused_total")
    busy, took = graded_all(arguments.url, every, arguments.concurrent, arguments.seconds)
    refused = metric(arguments.url, "proofbox_refused_total") - refused
    load.stop()
    print(f"overloaded: {took:.0f} s, {arguments.concurrent} requests at once, longest wait "
          f"{max((done[1] for done in busy if done), default=0.0):.2f} s; {refused / took:.0f} requests/s of the load "
          f"were refused")
    for piece in load.pieces[:3]:
        print(f"  load: {piece['sent'] / piece['duration_seconds']:.0f}/s sent, {piece['right']} right, "
              f"{piece['wrong']} wrong, {piece['refused']} refused, {piece['unsent']} unsent, errors {piece['errors']}")

    table, unexpected, differing = defaultdict(Counter), 0, []
    for at, (sample, (before, _), after) in enumerate(zip(every, idle, busy)):
        kind, score = sample[0], sample[3]
        row = table[kind]
        row["samples"] += 1
        row["points"] += before[0]
        if score is not None and before[0] != score:
            unexpected += 1
            print(f"UNEXPECTED {at} {kind}: {before}, must be {score}\n{sample[1][:300]}\n")
        if after is None:
            continue
        row["compared"] += 1
        if after[0] != before:
            row["score differs"] += after[0][0] != before[0]
            row["status differs"] += 1
            differing.append((at, kind, before, after))
    for at, kind, before, after in differing[:40]:
        print(f"DIFFERS {at} {kind}: idle {before}, overloaded {after[0]}, waited {after[1]:.1f} s")
        print("    " + every[at][1][:400].replace("\n", "\n    "))
    print("| samples | number | mean reward when idle | compared | reward differs | verl's statuses differ |")
    print("| --- | --- | --- | --- | --- | --- |")
    total = Counter()
    for row in table.values():
        total.update(row)
    for kind, row in [*((kind, table[kind]) for kind in PARTS), ("all", total)]:
        mean = row["points"] / row["samples"] if row["samples"] else 0.0
        print(f"| {kind} | {row['samples']} | {mean:.3f} | {row['compared']} | {row['score differs']} | "
              f"{row['status differs']} |")
    if arguments.json:
        results = [{"kind": sample[0], "idle": before, "overloaded": after} for sample, before, after in zip(every, idle, busy)]
        arguments.json.write_text(json.dumps(results, indent=1))
    missing = total["samples"] - total["compared"]
    # What the capacity is exceeded by is refused, but for what is lost between two pieces of the load.
    is_overloaded = refused / took > 0.9 * (arguments.overload - 1) * capacity
    if not is_overloaded:
        print("the service was not overloaded as much as asked for")
    print(f"{total['compared']} rewards compared, {total['score differs']} differ; {unexpected} unexpected, "
          f"{missing} not compared")
    raise SystemExit(bool(differing or unexpected or missing or not is_overloaded))


if __name__ == "__main__":
    main()
