#!/usr/bin/env python3
"""Makes src/link/functions.txt anew: the functions that requests run through, those of most kinds first, and of these those used most.

    cargo build --release && python3 loadtest/functions.py --proofbox target/release/proofbox
    python3 loadtest/functions.py --proofbox target/release/proofbox --check      how many of the list the program has

Needs `perf`, and the right to sample the service's processes. Prints, functions graded in process and in isolation, calls of
sessions and forks are asked for, one kind after the other, by one client. A function counts once it was seen twice. The names are
those of one compiler and one Cargo.lock: where the program lacks more than a few, make them anew."""

import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import ageing
import sessions

ORDER = pathlib.Path(__file__).resolve().parent.parent / "src/link/functions.txt"
FUNCTION = "def add(a, b):\n    return a + b\n"
ASSERTS = [f"assert add({number}, {number}) == {number * 2}" for number in range(10)]
GRADED = {"code": FUNCTION, "tests": {"kind": "asserts", "asserts": ASSERTS}}
MIN_SAMPLES = 2


def execute(client, body):
    answer = client.request("POST", "/v1/execute", body)
    if answer["status"] not in ("ok", "passed"):
        sys.exit(f"{body} was not run: {answer}")


def use_session(client):
    id = client.open()
    for call in range(5):
        client.run(id, f"x = {call}\nx + 1")
    fork = client.request("POST", f"/v1/sessions/{id}/fork", {"count": 1})["sessions"][0]["id"]
    for each in (id, fork):
        client.request("DELETE", f"/v1/sessions/{each}")


def sampled(client, pids, program, folder, seconds):
    """Yields, for each kind of request, the counts of samples while it was asked for."""
    kinds = {
        "prints": lambda: execute(client, {"code": "print(1 + 1)"}),
        "graded in process": lambda: execute(client, GRADED | {"grading": "in_process"}),
        "graded in isolation": lambda: execute(client, GRADED),
        "sessions": lambda: use_session(client),
    }
    for name, ask in kinds.items():
        print(f"{name} for {seconds} s", file=sys.stderr)
        data = f"{folder}/perf.data"
        perf = subprocess.Popen(["perf", "record", "--quiet", "--freq", "15000", "--output", data, "--pid", pids], stderr=subprocess.DEVNULL)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ask()
        perf.terminate()
        perf.wait()
        yield samples(data, program)


def samples(data, program):
    """Counts of samples for each function of the program, by its name for the linker."""
    command = ["perf", "report", "-i", data, "--stdio", "--no-demangle", "--dsos", program.name, "--sort", "symbol", "-F", "sample,sym"]
    report = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    counts = collections.Counter()
    for count, name in re.findall(r"^\s*(\d+)\s+\[\.\] (\S+)", report, re.MULTILINE):
        counts[name] += int(count)
    return counts


def check(program, order):
    listed = order.read_text().split()
    symbols = subprocess.run(["nm", "--format=just-symbols", program], capture_output=True, text=True, check=True).stdout.split()
    found = len(set(listed) & set(symbols))
    print(f"{found} of {len(listed)} functions")
    return 1 if found < 0.9 * len(listed) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--proofbox", type=pathlib.Path, required=True, help="the program, with its symbols")
    parser.add_argument("--seconds", type=float, default=20, help="for each kind of request (default: 20)")
    parser.add_argument("--out", type=pathlib.Path, default=ORDER, help="default: src/link/functions.txt")
    parser.add_argument("--check", action="store_true", help="make nothing; needs `nm`, and exits with 1 if the program lacks a tenth of them")
    given = parser.parse_args()
    program = given.proofbox.resolve()
    if given.check:
        return check(program, given.out)
    if not shutil.which("perf"):
        sys.exit("perf is not installed")
    service = ageing.Service(program)
    try:
        client = sessions.Service(f"http://127.0.0.1:{service.port}")
        pids = ",".join(map(str, (service.process.pid, *sessions.children(service.process.pid))))
        with tempfile.TemporaryDirectory() as folder:
            counts = list(sampled(client, pids, program, folder, given.seconds))
    finally:
        service.end()
    total = sum(counts, collections.Counter())
    kinds = {name: sum(name in count for count in counts) for name in total}
    names = [name for name in sorted(total, key=lambda name: (-kinds[name], -total[name], name)) if total[name] >= MIN_SAMPLES]
    if not names:
        sys.exit("no function was seen: has the program its symbols, and may perf sample it?")
    given.out.write_text("".join(f"{name}\n" for name in names))
    print(f"{len(names)} functions of {total.total()} samples", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
