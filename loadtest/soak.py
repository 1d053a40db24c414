#!/usr/bin/env python3
"""Keeps hundreds of sessions busy on a running service, at random, and checks every answer.

    python3 loadtest/soak.py --server http://127.0.0.1:8080 --sessions 500 --minutes 10

Sessions are opened, used, forked, checkpointed, restored, left to expire, moved to disk and ended; clients vanish in the
midst of calls. Each session counts its own calls and keeps a generator, an open file and a list, so that a call that is
lost, done twice or done in another session shows. In the end all sessions are ended, and what the service holds must be
what it held at the start. Exits with 1 when anything was wrong. Give the service a small --session-memory-bytes, so that
it has to move sessions to disk."""

import argparse
import http.client
import json
import os
import random
import socket
import sys
import threading
import time
import urllib.parse

START = """\
import random
number = {number}
calls = 0
seen = []
squares = (n * n for n in range(10**9))
log = open('log.txt', 'w+')
def call(value):
    global calls
    calls += 1
    seen.append(value)
    log.write(str(value)); log.flush()
    return number, calls, next(squares), seen[-1], log.tell()
"""


class Service:
    def __init__(self, url):
        self.host, self.port = urllib.parse.urlsplit(url).hostname, urllib.parse.urlsplit(url).port
        self.local = threading.local()

    def request(self, method, path, body=None, timeout=120):
        for attempt in range(50):
            connection = getattr(self.local, "connection", None) or http.client.HTTPConnection(self.host, self.port, timeout=timeout)
            self.local.connection = connection
            try:
                connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
                response = connection.getresponse()
                text = response.read()
            except (OSError, http.client.HTTPException):
                connection.close()
                self.local.connection = None
                raise
            if response.status == 429:
                time.sleep(0.1 * (attempt + 1))
                continue
            return response.status, json.loads(text) if text[:1] == b"{" else text
        raise AssertionError(f"busy for ever: {method} {path}")

    def vanish(self, path, body, after):
        """Sends a request and goes away before the answer."""
        data = json.dumps(body).encode()
        with socket.create_connection((self.host, self.port)) as connection:
            connection.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (path.encode(), len(data), data))
            time.sleep(after)

    def metric(self, name):
        _, text = self.request("GET", "/metrics")
        return next((float(line.split()[1]) for line in text.decode().splitlines() if line.startswith(name + " ")), 0.0)


class Session:
    """Session under test, with the state that it must answer with."""

    def __init__(self, id, number, calls=0, length=0):
        self.id, self.number, self.calls, self.length = id, number, calls, length
        self.checkpoint = None
        self.lock = threading.Lock()

    def copy(self, id):
        return Session(id, self.number, self.calls, self.length)


class Soak:
    def __init__(self, service, count, seed):
        self.service, self.count, self.random = service, count, random.Random(seed)
        self.sessions, self.lock = {}, threading.Lock()
        self.wrong, self.done = [], {}
        self.number = 0

    def note(self, what):
        with self.lock:
            self.done[what] = self.done.get(what, 0) + 1

    def fail(self, what):
        with self.lock:
            self.wrong.append(what)
        print("WRONG", what, flush=True)

    def expect(self, session, status, answer, wanted=200):
        if status != wanted:
            self.fail(f"{session.id}: {status} {str(answer)[:300]}")
            return False
        return True

    def open(self):
        with self.lock:
            self.number += 1
            number = self.number
        status, answer = self.service.request("POST", "/v1/sessions", {"ttl_seconds": 7200})
        session = Session(answer.get("id") if status == 201 else None, number)
        if not self.expect(session, status, answer, 201):
            return
        status, answer = self.service.request("POST", f"/v1/sessions/{session.id}/execute", {"code": START.format(number=number)})
        if self.expect(session, status, answer) and answer["status"] != "ok":
            self.fail(f"{session.id}: {answer['error']}")
        with self.lock:
            self.sessions[session.id] = session
        self.note("opened")

    def use(self, session):
        value = self.random.randrange(10**6)
        status, answer = self.service.request("POST", f"/v1/sessions/{session.id}/execute", {"code": f"call({value})"})
        if not self.expect(session, status, answer):
            return
        session.length += len(str(value))
        wanted = [session.number, session.calls + 1, session.calls**2, value, session.length]
        session.calls += 1
        got = answer["result"] and answer["result"].get("items")
        if got != wanted:
            self.fail(f"{session.id}: {got} instead of {wanted}: {answer['error']}")
        self.note("used")

    def fork(self, session):
        status, answer = self.service.request("POST", f"/v1/sessions/{session.id}/fork", {"count": 2})
        if self.expect(session, status, answer, 201):
            with self.lock:
                for fork in answer["sessions"]:
                    self.sessions[fork["id"]] = session.copy(fork["id"])
        self.note("forked")

    def save(self, session):
        status, answer = self.service.request("POST", f"/v1/sessions/{session.id}/checkpoints", {})
        if self.expect(session, status, answer, 201):
            if session.checkpoint:
                self.service.request("DELETE", f"/v1/checkpoints/{session.checkpoint[0]}")
            session.checkpoint = (answer["id"], session.calls, session.length)
        self.note("saved")

    def restore(self, session):
        if not session.checkpoint:
            return self.save(session)
        id, calls, length = session.checkpoint
        status, answer = self.service.request("POST", f"/v1/sessions/{session.id}/restore", {"checkpoint": id})
        if self.expect(session, status, answer):
            session.calls, session.length = calls, length
        self.note("restored")

    def vanish(self, session):
        code = self.random.choice(["while True: pass", "import time\ntime.sleep(100)", "for i in range(10**9): i * i"])
        self.service.vanish(f"/v1/sessions/{session.id}/execute", {"code": code}, self.random.uniform(0, 0.3))
        self.note("left")

    def expire(self, session):
        status, answer = self.service.request("PATCH", f"/v1/sessions/{session.id}", {"ttl_seconds": 0.01})
        self.expect(session, status, answer)
        self.forget(session)
        time.sleep(1.5)
        status, answer = self.service.request("GET", f"/v1/sessions/{session.id}")
        self.expect(session, status, answer, 404)
        self.note("expired")

    def end(self, session):
        status, answer = self.service.request("DELETE", f"/v1/sessions/{session.id}")
        self.expect(session, status, answer, 204)
        self.forget(session)
        self.note("ended")

    def forget(self, session):
        with self.lock:
            self.sessions.pop(session.id, None)
        if session.checkpoint:
            self.service.request("DELETE", f"/v1/checkpoints/{session.checkpoint[0]}")

    def work(self, until):
        steps = [self.use] * 30 + [self.fork, self.save, self.restore, self.vanish, self.vanish, self.expire, self.end, self.end]
        while time.monotonic() < until:
            try:
                with self.lock:
                    few = len(self.sessions) < self.count
                    session = None if few or not self.sessions else self.random.choice(list(self.sessions.values()))
                if few:
                    self.open()
                elif session.lock.acquire(blocking=False):
                    try:
                        if session.id in self.sessions:
                            self.random.choice(steps)(session)
                    finally:
                        session.lock.release()
            except Exception as error:
                self.fail(repr(error))


def resident(pids):
    def of(pid):
        with open(f"/proc/{pid}/smaps_rollup") as lines:
            return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("Private_", "Pss_Anon")) and "Clean" not in line and "Pss" not in line)
    return sum(map(of, pids))


def processes(pid):
    """The service and its workers."""
    children = []
    for each in os.listdir("/proc"):
        if each.isdigit():
            try:
                with open(f"/proc/{each}/stat") as stat:
                    if int(stat.read().rsplit(")", 1)[1].split()[1]) == pid:
                        children.append(int(each))
            except OSError:
                pass
    return [pid, *children]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--server", default="http://127.0.0.1:8080")
    arguments.add_argument("--sessions", type=int, default=500)
    arguments.add_argument("--minutes", type=float, default=10)
    arguments.add_argument("--clients", type=int, default=12)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--pid", type=int, help="process of the service, to watch its memory")
    arguments = arguments.parse_args()
    service = Service(arguments.server)
    soak = Soak(service, arguments.sessions, arguments.seed)
    until = time.monotonic() + arguments.minutes * 60
    threads = [threading.Thread(target=soak.work, args=(until,)) for _ in range(arguments.clients)]
    for thread in threads:
        thread.start()
    memory = []
    while any(thread.is_alive() for thread in threads):
        time.sleep(15)
        held = f", {resident(processes(arguments.pid)) >> 20} MiB private" if arguments.pid else ""
        memory.append(service.metric("proofbox_sessions_memory_bytes"))
        print(f"{len(soak.sessions)} sessions, {int(memory[-1]) >> 20} MiB of sessions in workers{held}, {dict(sorted(soak.done.items()))}", flush=True)
    # What is there is still what it must be; then all of it goes.
    for session in list(soak.sessions.values()):
        soak.use(session)
        soak.end(session)
    time.sleep(5)
    left = service.metric("proofbox_sessions_memory_bytes"), service.metric("proofbox_instances_live")
    print(f"after the end: {left[0]:.0f} bytes of sessions, {left[1]:.0f} interpreters; "
          f"evicted {service.metric('proofbox_sessions_evicted_total'):.0f}, restored {service.metric('proofbox_sessions_restored_total'):.0f}, "
          f"at most {max(memory, default=0) / 2**20:.0f} MiB in workers")
    if arguments.pid:
        print(f"{resident(processes(arguments.pid)) >> 20} MiB private")
    # A pristine interpreter in each worker is kept to compare with.
    if left[0] != 0 or left[1] > len(processes(arguments.pid)) if arguments.pid else left[0] != 0:
        soak.fail("something is left")
    print(f"{sum(soak.done.values())} steps, {len(soak.wrong)} wrong")
    sys.exit(1 if soak.wrong else 0)


if __name__ == "__main__":
    main()
