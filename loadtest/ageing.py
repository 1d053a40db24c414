#!/usr/bin/env python3
"""Compares a service that has had many mixed runs with a fresh one.

Starts both on loopback ports of their own and ages one with programs of the cases, graded in isolation and in process. Then
it measures prints and graded functions a second, interleaved: each round has a new fresh service and both scenarios on
both. Prints medians, their ratio, and the private memory of the processes.
"""

import argparse
import concurrent.futures
import http.client
import json
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SETS = ("humaneval", "humaneval_plus", "mbpp", "mbpp_sanitized", "exercism", "stdin_gcj", "doctest")
SCENARIOS = ("print", "function")
# The few programs that run for seconds would be nearly all of the time.
MAX_SECONDS = 0.25


class Service:
    """Process of `proofbox serve` on a port that the system chose."""

    def __init__(self, binary):
        self.data = tempfile.TemporaryDirectory()
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--data-dir", self.data.name]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"})
        for line in self.process.stderr:
            if match := re.search(r"address=127\.0\.0\.1:(\d+)", line):
                self.port = int(match[1])
                break
        else:
            sys.exit("the service did not start: run `proofbox runtime build` first")
        # Its pipe must not fill.
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.data.cleanup()

    def private_bytes(self):
        """Memory that its processes share with nothing."""
        own = self.process.pid
        children = pathlib.Path(f"/proc/{own}/task/{own}/children").read_text().split()
        total = 0
        for process in (own, *children):
            for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
                if line.startswith(("RssAnon:", "RssShmem:")):
                    total += int(line.split()[1]) << 10
        return total


def read_requests(cases, sets):
    """Submissions of the given sets, each isolated and in process."""
    requests = []
    for name in sets:
        path = cases / f"{name}.jsonl"
        if not path.exists():
            continue
        for line in path.read_text().splitlines():
            row = json.loads(line)
            if row.get("kind") == "check_function":
                tests = {"kind": "check_function", "source": row["tests"], "entry_point": row["entry_point"]}
            elif row.get("kind") == "asserts":
                tests = {"kind": "asserts", "asserts": row["tests"], "setup": row.get("setup") or ""}
            else:
                continue
            for grading in ("isolated", "in_process"):
                requests.append({"code": row["code"], "tests": tests, "grading": grading})
    if not requests:
        sys.exit(f"no cases in {cases}")
    return requests


def age(service, requests, runs, seed):
    """Sends so many of the requests, in a pseudo-random order, without those that took longer than MAX_SECONDS."""
    local = threading.local()

    def send(request):
        if not hasattr(local, "connection"):
            local.connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=300)
        local.connection.request("POST", "/v1/execute", json.dumps(request), {"content-type": "application/json"})
        return json.loads(local.connection.getresponse().read())["status"]

    def is_short(request):
        start = time.monotonic()
        send(request)
        return time.monotonic() - start <= MAX_SECONDS

    short = [request for request in requests if is_short(request)]
    print(f"{len(short)} of {len(requests)} programs take at most {MAX_SECONDS} s", file=sys.stderr)
    requests = short
    order = random.Random(seed)
    counts = {}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for done, status in enumerate(pool.map(send, (order.choice(requests) for _ in range(runs))), 1):
            counts[status] = counts.get(status, 0) + 1
            if done % 500 == 0:
                print(f"{done} of {runs} runs", file=sys.stderr)
    return counts


def rate(service, loadtest, scenario, seconds):
    """Right answers a second."""
    command = [
        loadtest, "http", "--url", f"http://127.0.0.1:{service.port}", "--scenario", scenario,
        "--connections", "8", "--duration", str(seconds), "--warmup", "1", "--json",
    ]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return answer["requests_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=str(ROOT / "target/release/proofbox"), help="the service")
    parser.add_argument("--loadtest", default=str(ROOT / "target/release/loadtest"), help="the load generator")
    parser.add_argument("--cases", type=pathlib.Path, default=ROOT.parent / "shared/data/cases", help="directory of cases")
    parser.add_argument("--runs", type=int, default=3000, help="mixed runs before the comparison (default: 3000)")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds (default: 5)")
    parser.add_argument("--seconds", type=int, default=4, help="seconds a measurement (default: 4)")
    parser.add_argument("--seed", type=int, default=1, help="of the order of runs (default: 1)")
    parser.add_argument("--require", type=float, default=0, help="fail when a ratio is below this")
    arguments = parser.parse_args()

    requests = read_requests(arguments.cases, SETS)
    aged = Service(arguments.binary)
    rates = {scenario: {"fresh": [], "aged": []} for scenario in SCENARIOS}
    try:
        print("statuses while ageing:", age(aged, requests, arguments.runs, arguments.seed))
        print(f"private memory after {arguments.runs} runs: {aged.private_bytes() >> 20} MiB")
        for number in range(arguments.rounds):
            fresh = Service(arguments.binary)
            try:
                for scenario in SCENARIOS:
                    for name, service in (("fresh", fresh), ("aged", aged)):
                        rates[scenario][name].append(rate(service, arguments.loadtest, scenario, arguments.seconds))
            finally:
                fresh.end()
            print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
        print(f"private memory in the end: {aged.private_bytes() >> 20} MiB")
    finally:
        aged.end()
    worst = 1.0
    for scenario, figures in rates.items():
        fresh, old = statistics.median(figures["fresh"]), statistics.median(figures["aged"])
        worst = min(worst, old / fresh)
        print(f"{scenario}: fresh {fresh:.0f}, aged {old:.0f} a second, ratio {old / fresh:.2f}")
    sys.exit(worst < arguments.require)


if __name__ == "__main__":
    main()
