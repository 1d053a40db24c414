"""Kills the service again and again in the middle of a job, and counts what it has lost: nothing, or this fails.

    python3 loadtest/kills.py target/release/proofbox --kills 100 --items 2000

Every item prints what only it can print, and half of them are wrong on purpose. After each kill with SIGKILL, at a
random moment, the service is started again on the same directory. In the end every item must have exactly one result,
the right one, and no result that was told before a kill may have changed. Needs nothing but the standard library.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

# Work that takes some tens of milliseconds: most kills hit items that run.
WORK = "total = 0\nfor i in range({work}):\n    total += i * i % 7\n"


def call(url: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> bytes:
    request = urllib.request.Request(url + path, data=body, headers=headers or {})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


class Service:
    def __init__(self, binary: str, data: str, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        began = time.monotonic()
        with open(os.path.join(data, "log"), "ab") as log:
            command = [binary, "--data-dir", data, "serve", "--listen", f"127.0.0.1:{port}"]
            self.process = subprocess.Popen(command, stderr=log)
        while True:
            try:
                call(self.url, "/healthz")
                break
            except (urllib.error.URLError, OSError):
                if self.process.poll() is not None:
                    sys.exit(f"the service has ended with {self.process.returncode}; see {data}/log")
                time.sleep(0.01)
        self.start_seconds = time.monotonic() - began

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--work", type=int, default=150_000, help="rounds of each item's loop")
    parser.add_argument("--longest", type=float, default=1.0, help="seconds that the service lives at most")
    parser.add_argument("--port", type=int, default=18110)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    chance = random.Random(asked.seed)
    work = WORK.format(work=asked.work)
    items = [{"id": f"item#{n}", "code": f"{work}n = {n}\nprint(n, n * n + 7)"} for n in range(asked.items)]
    suite = {"defaults": {"tests": {"kind": "asserts", "asserts": ["assert n % 2 == 0"]}}, "items": items}
    with tempfile.TemporaryDirectory(prefix="proofbox-kills-", ignore_cleanup_errors=True) as data:
        service = Service(asked.binary, data, asked.port)
        began = time.monotonic()
        headers = {"content-type": "application/json", "idempotency-key": "kills"}
        job = json.loads(call(service.url, "/v1/suites?async=true", json.dumps(suite).encode(), headers))["id"]
        told: list[bytes] = []
        starts, kills, in_the_middle = [], 0, 0
        while kills < asked.kills:
            time.sleep(chance.uniform(0, asked.longest))
            lines = call(service.url, f"/v1/jobs/{job}/results").splitlines()
            if lines[: len(told)] != told:
                sys.exit(f"after {kills} kills: a result that was told has changed")
            told = lines
            in_the_middle += len(lines) < asked.items
            service.kill()
            kills += 1
            service = Service(asked.binary, data, asked.port)
            starts.append(service.start_seconds)
        while json.loads(call(service.url, f"/v1/jobs/{job}"))["state"] not in ("finished", "cancelled"):
            time.sleep(0.2)
        took = time.monotonic() - began
        lines = call(service.url, f"/v1/jobs/{job}/results").splitlines()
        shown = json.loads(call(service.url, f"/v1/jobs/{job}"))
        stats = json.loads(call(service.url, "/v1/stats"))["groups"][0]
        service.process.send_signal(signal.SIGTERM)
        service.process.wait()
    results: dict[str, int] = {}
    wrong = 0
    for line in map(json.loads, lines):
        n = int(line["id"].partition("#")[2])
        results[line["id"]] = results.get(line["id"], 0) + 1
        wrong += line["stdout"] != f"{n} {n * n + 7}\n" or line["status"] != ("failed" if n % 2 else "passed")
    twice = sum(count > 1 for count in results.values())
    print(
        json.dumps(
            {
                "kills": kills,
                "kills_before_the_end": in_the_middle,
                "items": asked.items,
                "results": len(lines),
                "missing": asked.items - len(results),
                "twice": twice,
                "wrong": wrong,
                "changed": lines[: len(told)] != told,
                "counted_in_stats": stats["submissions"],
                "by_status": shown["by_status"],
                "seconds": round(took, 1),
                "start_seconds_median": round(statistics.median(starts), 3),
            },
            indent=2,
        )
    )
    failed = asked.items != len(lines) or twice or wrong or lines[: len(told)] != told
    sys.exit(1 if failed or stats["submissions"] != asked.items else 0)


if __name__ == "__main__":
    main()
