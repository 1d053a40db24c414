#!/usr/bin/env python3
"""Times programs in proofbox and in other sandboxes, in turn, beside native CPython and forks of it.

  python3 -m venv peers && peers/bin/pip install pydantic-monty==1.4.0 pyeryx==0.11.0
  npm install --prefix peers pyodide@314.0.7
  peers/bin/python loadtest/peers.py --server http://127.0.0.1:8080 --native PATH --pyodide peers --rounds 9

Two tables of medians in milliseconds, and of their ratios to native, as Markdown:

- the CPU-bound programs of loadtest/programs. Each measures itself by `time.perf_counter`; where a sandbox has none
  (Monty), the whole run is measured, in a worker that is there already;
- short programs, each run in a fresh interpreter, from the request to its answer: the process of native CPython from its
  start to its end, proofbox over HTTP.

A fork per run is a fork of a native interpreter that has imported modules, without isolation (src/fork_server.py); its time
is from before the fork to after the wait, without the request. Native processes have `-I -S`. A program that a sandbox can't
run has a dash. PATH is a CPython of the version that the service has.
"""
import argparse
import http.client
import json
import pathlib
import statistics
import subprocess
import sys
import time
import urllib.parse

PROGRAMS = pathlib.Path(__file__).parent / "programs"
TIMING = ("import time", "_began", "print(time")

FORK_SERVER = pathlib.Path(__file__).parent / "src" / "fork_server.py"
# Has the modules that the service's interpreters have imported.
WARMUP = pathlib.Path(__file__).parent.parent / "runtimes" / "python-3.13" / "guest" / "stubs" / "_proofbox_warmup.py"

SHORT = {
    "print(1 + 1)": "print(1 + 1)",
    "function with ten asserts": """def is_prime(n):
    if n < 2:
        return False
    for i in range(2, int(n ** 0.5) + 1):
        if n % i == 0:
            return False
    return True
"""
    + "".join(
        f"assert is_prime({n}) == {prime}\n"
        for n, prime in [
            (1, False), (2, True), (3, True), (4, False), (17, True),
            (18, False), (97, True), (100, False), (7919, True), (7920, False),
        ]
    )
    + "print(1)\n",
}

NODE = """
import { loadPyodide } from "pyodide";
import { createInterface } from "node:readline";
let printed = "";
const load = () => loadPyodide({ stdout: (line) => { printed += line + "\\n"; } });
const kept = await load();
for await (const line of createInterface({ input: process.stdin })) {
  const { source, fresh } = JSON.parse(line);
  printed = "";
  let error = null;
  try {
    const pyodide = fresh ? await load() : kept;
    pyodide.runPython(source, { globals: pyodide.toPy({ __name__: "__main__" }) });
  } catch (raised) {
    error = String(raised).slice(-200);
  }
  console.log(JSON.stringify({ printed, error }));
}
"""


class Failed(Exception):
    """The sandbox can't run the program."""


class Native:
    """A process of native CPython."""

    def __init__(self, python):
        self.python = python

    def output(self, source):
        done = subprocess.run([self.python, "-I", "-S", "-c", source], capture_output=True, text=True)
        if done.returncode:
            raise Failed(done.stderr)
        return done.stdout

    def seconds(self, source):
        """Returns how long a program has taken, by its own account."""
        return float(self.output(source))

    def fresh(self, source):
        """Returns how long a run in a fresh interpreter has taken."""
        began = time.perf_counter()
        self.output(source)
        return time.perf_counter() - began

    def end(self):
        """Stops what was started."""


class Fork(Native):
    """Forks of a process of native CPython, one process for each program."""

    def __init__(self, python):
        super().__init__(python)
        self.servers = {}
        self.imports = "\n".join(line for line in WARMUP.read_text().splitlines() if line.startswith("import "))

    def answer(self, source):
        if source not in self.servers:
            command = [self.python, "-I", "-S", "-c", FORK_SERVER.read_text(), self.imports, source]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self.servers[source] = subprocess.Popen(command, **pipes)
            self.servers[source].stdout.readline()
        server = self.servers[source]
        print(file=server.stdin, flush=True)
        answer = json.loads(server.stdout.readline())
        if answer["exit_code"]:
            raise Failed(f"exit code {answer['exit_code']}")
        return answer

    def output(self, source):
        return self.answer(source)["output"]

    def fresh(self, source):
        return self.answer(source)["nanoseconds"] / 1e9

    def end(self):
        for server in self.servers.values():
            server.stdin.close()
            server.wait()


class Proofbox(Native):
    """The service, over one connection."""

    def __init__(self, server):
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(server).netloc)

    def output(self, source):
        body = json.dumps({"code": source, "limits": {"fuel": 10**12, "wall_seconds": 60}})
        self.connection.request("POST", "/v1/execute", body, {"Content-Type": "application/json"})
        verdict = json.loads(self.connection.getresponse().read())
        if verdict["status"] != "ok":
            raise Failed(verdict["stderr"])
        return verdict["stdout"]


class Monty(Native):
    """A pool of processes of Monty's."""

    def __init__(self):
        import pydantic_monty

        self.error = pydantic_monty.MontyError
        self.monty = pydantic_monty.Monty()
        self.pool = self.monty.__enter__()

    def run(self, source, session):
        try:
            session.feed_run(source, print_callback=lambda *_: None)
        except self.error as error:
            raise Failed(str(error)) from None

    def seconds(self, source):
        source = "\n".join(line for line in source.splitlines() if not line.startswith(TIMING))
        with self.pool.checkout() as session:
            session.feed_run("0")
            began = time.perf_counter()
            self.run(source, session)
            return time.perf_counter() - began

    def fresh(self, source):
        began = time.perf_counter()
        with self.pool.checkout() as session:
            self.run(source, session)
        return time.perf_counter() - began

    def end(self):
        self.monty.__exit__(None, None, None)


class Eryx(Native):
    """A sandbox of eryx for each run."""

    def __init__(self):
        import eryx

        self.eryx = eryx

    def output(self, source):
        try:
            return self.eryx.Sandbox().execute(source).stdout
        except self.eryx.EryxError as error:
            raise Failed(str(error)) from None


class Pyodide(Native):
    """Pyodide in one process of Node.js; a fresh interpreter is loaded there."""

    def __init__(self, directory):
        command = ["node", "--input-type=module", "-e", NODE]
        self.node = subprocess.Popen(
            command, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def answer(self, source, fresh):
        print(json.dumps({"source": source, "fresh": fresh}), file=self.node.stdin, flush=True)
        answer = json.loads(self.node.stdout.readline())
        if answer["error"]:
            raise Failed(answer["error"])
        return answer["printed"]

    def output(self, source):
        return self.answer(source, False)

    def fresh(self, source):
        began = time.perf_counter()
        self.answer(source, True)
        return time.perf_counter() - began

    def end(self):
        self.node.kill()
        self.node.wait()


def measured(arms, programs, rounds, method):
    """Returns the times of each program in each sandbox, in turn, and what the others have said."""
    times = {(program, arm): [] for program in programs for arm in arms}
    failed = {}
    for _ in range(rounds):
        for program, source in programs.items():
            for name, arm in arms.items():
                if (program, name) in failed:
                    continue
                try:
                    times[program, name].append(getattr(arm, method)(source))
                except Failed as error:
                    failed[program, name] = " ".join(str(error).strip().splitlines()[-1:])
    return times, failed


def print_table(programs, names, times, failed, has_mean):
    """Prints medians in milliseconds, with their ratios to the first column."""
    print("| program | " + " | ".join(names) + " |")
    print("| --- |" + " ---: |" * len(names))
    ratios = {name: [] for name in names}
    for program in programs:
        base = statistics.median(times[program, names[0]])
        cells = []
        for name in names:
            if (program, name) in failed:
                cells.append("—")
                continue
            median = statistics.median(times[program, name])
            ratios[name].append(median / base)
            digits = 1 if median > 0.01 else 2
            cells.append(f"{median * 1000:.{digits}f} ({median / base:.2f})")
        print(f"| {program} | " + " | ".join(cells) + " |")
    if has_mean:
        means = [f"{statistics.geometric_mean(ratios[name]):.2f}" if ratios[name] else "—" for name in names]
        counts = ["" if len(ratios[name]) == len(programs) else f" of {len(ratios[name])}" for name in names]
        print("| geometric mean | " + " | ".join(map("".join, zip(means, counts))) + " |")
    print(flush=True)
    for (program, name), error in failed.items():
        print(f"{name} can't run {program}: {error}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="http://127.0.0.1:8080")
    parser.add_argument("--native", required=True, help="CPython of the version that the service has")
    parser.add_argument("--pyodide", help="directory in which pyodide was installed by npm")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    arms = {}
    try:
        arms["native CPython"] = Native(options.native)
        arms["fork per run"] = Fork(options.native)
        arms["proofbox"] = Proofbox(options.server)
        for name, make in (("Monty", Monty), ("eryx", Eryx)):
            try:
                arms[name] = make()
            except ImportError:
                print(f"{name} is not installed", file=sys.stderr)
        if options.pyodide:
            arms["Pyodide in Node.js"] = Pyodide(options.pyodide)
        programs = {path.stem: path.read_text() for path in sorted(PROGRAMS.glob("*.py"))}
        print_table(programs, list(arms), *measured(arms, programs, options.rounds, "seconds"), has_mean=True)
        # Once for what is slow the first time.
        measured(arms, SHORT, 1, "fresh")
        print_table(SHORT, list(arms), *measured(arms, SHORT, 3 * options.rounds, "fresh"), has_mean=False)
    finally:
        for arm in arms.values():
            arm.end()


if __name__ == "__main__":
    main()
