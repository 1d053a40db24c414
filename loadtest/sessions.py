#!/usr/bin/env python3
"""Times sessions of a running service over HTTP, with one connection that is kept alive; and how much many of them take.

    python3 loadtest/sessions.py --server http://127.0.0.1:8080                     new session and first call, next call, fork, checkpoint
    python3 loadtest/sessions.py --server … --pid PID --idle 2000                   memory of idle sessions; the service's process id
    python3 loadtest/sessions.py --server … --pid PID --idle 22000                  with --sessions 25000: most of them wait on disk
    python3 loadtest/sessions.py --server … --sdk --rounds 200                      run_code("1+1") through E2B's SDK, beside a local Jupyter kernel

`--sdk` needs what tests/e2b/requirements.txt and tests/sessions/requirements.txt pin."""

import argparse
import http.client
import json
import os
import random
import statistics
import sys
import time
import urllib.parse


class Service:
    def __init__(self, url):
        address = urllib.parse.urlsplit(url)
        self.url, self.connection = url, http.client.HTTPConnection(address.hostname, address.port, timeout=300)

    def request(self, method, path, body=None, expected=(200, 201, 204)):
        self.connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        text = response.read()
        assert response.status in expected, (method, path, response.status, text[:300])
        return json.loads(text) if text[:1] == b"{" else text

    def open(self):
        return self.request("POST", "/v1/sessions", {"ttl_seconds": 7200})["id"]

    def run(self, id, code):
        answer = self.request("POST", f"/v1/sessions/{id}/execute", {"code": code})
        assert answer["status"] == "ok", answer
        return answer["result"]

    def metric(self, name):
        text = self.request("GET", "/metrics").decode()
        return next((float(line.split()[1]) for line in text.splitlines() if line.startswith(name + " ")), 0.0)


def timed(times, what, work):
    began = time.perf_counter()
    result = work()
    times.setdefault(what, []).append(time.perf_counter() - began)
    return result


def report(times):
    for what, all in times.items():
        all.sort()
        print(f"{what:<28} p50 {statistics.median(all) * 1e3:7.3f} ms   p90 {all[int(len(all) * 0.9)] * 1e3:7.3f} ms   ({len(all)})")


def speed(service, rounds):
    times = {}

    def first():
        id = service.open()
        service.run(id, "x = 1")
        return id

    for _ in range(rounds):
        id = timed(times, "new session and first call", first)
        for _ in range(5):
            timed(times, "next call", lambda: service.run(id, "x + 1"))
        fork = timed(times, "fork", lambda: service.request("POST", f"/v1/sessions/{id}/fork", {"count": 1}))["sessions"][0]["id"]
        checkpoint = timed(times, "checkpoint", lambda: service.request("POST", f"/v1/sessions/{id}/checkpoints", {}))
        timed(times, "restore", lambda: service.request("POST", f"/v1/sessions/{id}/restore", {"checkpoint": checkpoint["id"]}))
        assert service.run(id, "x") == service.run(fork, "x") == 1
        service.request("DELETE", f"/v1/checkpoints/{checkpoint['id']}")
        for each in (id, fork):
            service.request("DELETE", f"/v1/sessions/{each}")
    report(times)
    print(f"checkpoint: {checkpoint['bytes']} bytes")


def resident(pid):
    """Memory of the service and its workers that is theirs alone, in bytes."""
    total = 0
    for each in [pid, *children(pid)]:
        with open(f"/proc/{each}/smaps_rollup") as lines:
            total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Private_"))
    return total


def children(pid):
    found = []
    for each in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{each}/stat") as stat:
                if int(stat.read().rsplit(")", 1)[1].split()[1]) == pid:
                    found.append(int(each))
        except OSError:
            pass
    return found


def idle(service, count, pid):
    before, began = resident(pid), time.monotonic()
    sessions = []
    for number in range(count):
        id = service.open()
        service.run(id, f"import json\nnumber = {number}\ndef f(n): return n + number\nf(1)")
        sessions.append((id, number))
        if len(sessions) % 1000 == 0:
            print(f"{len(sessions)}: {(resident(pid) - before) / 2**20:.0f} MiB, {len(sessions) / (time.monotonic() - began):.0f} a second", flush=True)
    time.sleep(3)
    print(f"{count} idle sessions: {(resident(pid) - before) / 2**20:.0f} MiB more than before; "
          f"{service.metric('proofbox_sessions_evicted_total'):.0f} were moved to disk, {service.metric('proofbox_sessions_restored_total'):.0f} came back")
    times = {}
    for id, number in random.Random(1).sample(sessions, min(200, count)):
        assert timed(times, "call after that", lambda: service.run(id, "f(2)")) == number + 2
    report(times)
    for id, _ in sessions:
        service.request("DELETE", f"/v1/sessions/{id}")


def sdk(service, rounds):
    from e2b_code_interpreter import Sandbox
    from jupyter_client.manager import start_new_kernel

    os.environ.update(E2B_API_URL=service.url, E2B_SANDBOX_URL=service.url)
    os.environ.setdefault("E2B_API_KEY", "e2b_" + "0" * 40)
    times = {}
    manager, kernel = timed(times, "Jupyter kernel: start", lambda: start_new_kernel(kernel_name="python3"))
    sandbox = timed(times, "E2B SDK: Sandbox.create()", Sandbox.create)

    def by_kernel():
        results = []
        reply = kernel.execute_interactive("1+1", output_hook=lambda message: results.append(message["content"].get("data")))
        assert reply["content"]["status"] == "ok" and {"text/plain": "2"} in results, results

    def by_sdk():
        assert sandbox.run_code("1+1").text == "2"

    for _ in range(rounds):
        timed(times, 'E2B SDK: run_code("1+1")', by_sdk)
        timed(times, 'Jupyter kernel: "1+1"', by_kernel)
    sandbox.kill()
    manager.shutdown_kernel(now=True)
    report(times)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--server", default="http://127.0.0.1:8080")
    arguments.add_argument("--rounds", type=int, default=200)
    arguments.add_argument("--idle", type=int, help="make so many sessions and let them be")
    arguments.add_argument("--pid", type=int, help="process of the service, to see its memory")
    arguments.add_argument("--sdk", action="store_true", help="through E2B's SDK, beside a local Jupyter kernel")
    arguments = arguments.parse_args()
    service = Service(arguments.server)
    if arguments.sdk:
        sdk(service, arguments.rounds)
    elif arguments.idle:
        if not arguments.pid:
            sys.exit("--idle needs --pid")
        idle(service, arguments.idle, arguments.pid)
    else:
        speed(service, arguments.rounds)


if __name__ == "__main__":
    main()
