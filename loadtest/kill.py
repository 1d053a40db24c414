#!/usr/bin/env python3
"""Kills a service of its own at random while it works through a suite, and sees that no result is lost, wrong or given twice.

    python3 loadtest/kill.py --proofbox target/release/proofbox --items 2000 --kills 100 --seed 1

The suite goes in as a job (POST /v1/suites?async=true) with an Idempotency-Key; the service dies while it is being
accepted, too, and whoever got no answer sends it again. Then `kill -9`, of the service or now and then of one worker, at
random moments from the start of the process on; after each the service is started again on the same directory. What
was once given as a result must be given unchanged ever after. In the end each item must have exactly one result, the
one that its case has, and there must be one job. Exits with 1 when anything is not so. What follows `--` is given to
the service."""

import argparse
import concurrent.futures
import hashlib
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SETS = ["humaneval", "humaneval_plus", "mbpp", "mbpp_plus", "wrong_mutants"]
# Slower ones say more about themselves.
MOST_NATIVE_MS = 1000
# A service that does not come up in this time is down.
START_SECONDS = 60
UNFINISHED = ("queued", "running")
IDEMPOTENCY_KEY = "kill-trial"


def cases(directory, sets, wanted):
    """Items of a suite, and passed and total of each."""
    rows = []
    for name in sets:
        with open(os.path.join(directory, name + ".jsonl"), encoding="utf-8") as file:
            rows += [json.loads(line) for line in file]
    rows = [row for row in rows if row["kind"] in ("asserts", "check_function") and not row.get("slow")
            and row["native"]["ms"] <= MOST_NATIVE_MS and row["native"].get("complete", True)]
    items, expected = [], {}
    for number in range(wanted):
        row = rows[number % len(rows)]
        if row["kind"] == "asserts":
            tests = {"kind": "asserts", "asserts": row["tests"], "setup": row.get("setup") or ""}
        else:
            tests = {"kind": "check_function", "source": row["tests"], "entry_point": row["entry_point"]}
        id = f"{row['id']}#{number}"
        items.append({"id": id, "code": row["code"], "tests": tests})
        expected[id] = (row["expect"]["passed"], row["expect"]["total"])
    return items, expected


class Down(Exception):
    """The service is not there, or went while it was asked."""


class Service:
    """The process, and how it is asked."""

    def __init__(self, binary, directory, port, arguments):
        self.command = [binary, "serve", "--listen", f"127.0.0.1:{port}", "--data-dir", directory, *arguments]
        self.port, self.log = port, open(os.path.join(directory, "service.log"), "ab")
        self.process = None

    def start(self):
        # A group of its own: whatever happens, no worker of it is left.
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)

    def workers(self):
        found = []
        for task in glob_tasks(self.process.pid):
            try:
                with open(task + "/children") as file:
                    found += [int(word) for word in file.read().split()]
            except OSError:
                pass
        return sorted(set(found))

    def kill(self):
        """Kills it, and sees that its workers go, too: those that do not."""
        workers = self.workers()
        self.process.kill()
        self.process.wait()
        deadline = time.monotonic() + 10
        while workers and time.monotonic() < deadline:
            workers = [worker for worker in workers if alive(worker)]
            time.sleep(0.005)
        return workers

    def wait_ready(self):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise SystemExit(f"the service ended by itself with {self.process.returncode}: see {self.log.name}")
            try:
                if self.ask("GET", "/readyz", timeout=5)[0] == 200:
                    return
            except Down:
                pass
            time.sleep(0.01)
        raise SystemExit(f"the service is not ready after {START_SECONDS} s: see {self.log.name}")

    def ask(self, method, path, body=None, headers=None, timeout=60):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise Down(str(error)) from error
        finally:
            connection.close()


def glob_tasks(process):
    try:
        return [f"/proc/{process}/task/{task}" for task in os.listdir(f"/proc/{process}/task")]
    except OSError:
        return []


def alive(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Trial:
    def __init__(self, service, items, expected, seed):
        self.service, self.items, self.expected = service, items, expected
        self.random = random.Random(seed)
        self.body = json.dumps({"items": items}).encode()
        self.job, self.results = None, {}
        self.faults = []
        self.counts = {"kills of the service": 0, "of these while it started": 0, "of these while the job was sent": 0,
                       "kills of a worker": 0, "the job was sent": 0}

    def fault(self, what):
        self.faults.append(what)
        print("WRONG:", what, flush=True)

    def kill(self, moment=None):
        left = self.service.kill()
        if left:
            self.fault(f"workers {left} outlived the service")
        self.counts["kills of the service"] += 1
        if moment:
            self.counts[moment] += 1
        self.service.start()

    def submit(self):
        """Sends the job; its id, or nothing when the service went before it answered."""
        self.counts["the job was sent"] += 1
        try:
            status, body = self.service.ask("POST", "/v1/suites?async=true", self.body, {"Idempotency-Key": IDEMPOTENCY_KEY})
        except Down:
            return None
        if status not in (200, 202):
            raise SystemExit(f"the job was answered {status}: {body[:300]}")
        id = json.loads(body)["id"]
        if self.job not in (None, id):
            self.fault(f"the same Idempotency-Key gave the jobs {self.job} and {id}")
        self.job = id
        return id

    def accept(self, kills):
        """The job goes in while the service is killed."""
        self.service.wait_ready()
        began = time.monotonic()
        status, _ = self.service.ask("POST", "/v1/scan", b'{"code": "1"}')
        span = max(0.02, (time.monotonic() - began) * 2) + len(self.body) / 20e6
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            for _ in range(kills):
                sent = pool.submit(self.submit)
                time.sleep(self.random.uniform(0, 2 * span))
                self.kill("of these while the job was sent")
                sent.result()
                self.service.wait_ready()
        self.submit()
        self.submit()

    def state(self):
        status, body = self.service.ask("GET", f"/v1/jobs/{self.job}")
        if status != 200:
            self.fault(f"the job is answered {status}: {body[:200]}")
            raise SystemExit(1)
        return json.loads(body)["state"]

    def look(self):
        """Reads the results so far, and compares them with those of before."""
        status, body = self.service.ask("GET", f"/v1/jobs/{self.job}/results")
        if status != 200:
            self.fault(f"the results are answered {status}: {body[:200]}")
            return
        now = {}
        for line in body.splitlines():
            row = json.loads(line)
            if "id" not in row:
                continue
            if row["id"] in now:
                self.fault(f"{row['id']} has two results")
            now[row["id"]] = (hashlib.sha256(line).digest(), row)
        for id, (digest, _) in self.results.items():
            if id not in now:
                self.fault(f"{id} had a result and has none any more")
            elif now[id][0] != digest:
                self.fault(f"{id} has another result than before")
        self.results = now

    def run(self, kills, worker_share, pace):
        """Kills until all kills are done; slower or faster, so that the suite is not done much before."""
        done = 0
        while done < kills:
            delay = self.random.uniform(0, pace)
            began = time.monotonic()
            if self.random.random() < worker_share:
                self.service.wait_ready()
                time.sleep(delay)
                workers = self.service.workers()
                if workers:
                    os.kill(self.random.choice(workers), signal.SIGKILL)
                    self.counts["kills of a worker"] += 1
                    done += 1
                continue
            ready = False
            while time.monotonic() - began < delay:
                left = max(0.005, delay - (time.monotonic() - began))
                try:
                    ready = ready or self.service.ask("GET", "/readyz", timeout=left)[0] == 200
                except Down:
                    pass
                time.sleep(0.005)
            self.kill(None if ready else "of these while it started")
            done += 1
            if done % 10 == 0:
                self.service.wait_ready()
                self.look()
                state = self.state()
                # How fast the machine is shows now.
                pace *= 0.6 if len(self.results) / len(self.items) > done / kills else 1.25
                print(f"{done} kills, {len(self.results)} of {len(self.items)} items have results, the job is {state}", flush=True)
                if state not in UNFINISHED:
                    return done
        return done

    def finish(self, seconds):
        self.service.wait_ready()
        deadline = time.monotonic() + seconds
        while (state := self.state()) in UNFINISHED:
            if time.monotonic() > deadline:
                self.fault(f"the job is {state} after {seconds} s without a kill")
                break
            time.sleep(0.2)
        self.look()
        self.submit()
        status, body = self.service.ask("GET", "/v1/jobs")
        listed = json.loads(body) if status == 200 else {}
        jobs = listed.get("jobs", []) if isinstance(listed, dict) else listed
        if [job["id"] for job in jobs] != [self.job]:
            self.fault(f"the jobs are {[job.get('id') for job in jobs]}, not one")
        wrong = 0
        for id, (passed, total) in self.expected.items():
            row = self.results.get(id, (None, None))[1]
            if row is None:
                self.fault(f"{id} has no result")
                continue
            seen = (row.get("tests_passed"), row.get("tests_total"))
            if seen != (passed, total) or (row.get("status") == "passed") != (passed == total):
                wrong += 1
                self.fault(f"{id} is {row.get('status')} with {seen}, not {(passed, total)}")
        for id in self.results.keys() - self.expected.keys():
            self.fault(f"{id} is no item")
        return state, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--proofbox", required=True, help="the binary")
    parser.add_argument("--port", type=int, default=0, help="to listen on [default: a free one]")
    parser.add_argument("--cases", default=os.path.join(here, "../../shared/data/cases"), help="directory with the case files")
    parser.add_argument("--sets", default=",".join(SETS), help="files of it, without .jsonl")
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=100, help="of the service and of workers, while the job runs")
    parser.add_argument("--kills-before", type=int, default=10, help="of the service, while the job is sent")
    parser.add_argument("--worker-share", type=float, default=0.2, help="of the kills that are of one worker only")
    parser.add_argument("--pace", type=float, default=0.15, help="seconds from a start to a kill, at most, in the beginning; then less when the suite is ahead of the kills, and more when it is behind")
    parser.add_argument("--finish", type=float, default=600, help="seconds for what is left after the last kill")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="keep the data directory")
    parser.add_argument("arguments", nargs="*", metavar="-- ARGUMENT", help="for `proofbox serve`")
    options = parser.parse_args()

    port = options.port
    if not port:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
    items, expected = cases(options.cases, options.sets.split(","), options.items)
    directory = tempfile.mkdtemp(prefix="proofbox-kill-")
    service = Service(options.proofbox, directory, port, options.arguments)
    trial = Trial(service, items, expected, options.seed)
    began = time.monotonic()
    service.start()
    try:
        trial.accept(options.kills_before)
        during = trial.run(options.kills, options.worker_share, options.pace)
        with_results = len(trial.results)
        state, wrong = trial.finish(options.finish)
    finally:
        service.kill()
        if not options.keep and not trial.faults:
            shutil.rmtree(directory)
        else:
            print("data directory:", directory)
    rows = {
        "seed": options.seed,
        **trial.counts,
        "kills while the job ran": during,
        "results after the last kill, before the rest was done": with_results,
        "the job is": state,
        "items": len(items),
        "items with exactly one result": len(trial.results.keys() & expected.keys()),
        "items with a wrong result": wrong,
        "faults of any kind": len(trial.faults),
        "seconds": round(time.monotonic() - began, 1),
    }
    print("\n| what | |\n| --- | --- |")
    for name, value in rows.items():
        print(f"| {name} | {value} |")
    if during < options.kills:
        print(f"the suite was done after {during} kills: give more items or a smaller --pace")
    sys.exit(1 if trial.faults or during < options.kills else 0)


if __name__ == "__main__":
    main()
