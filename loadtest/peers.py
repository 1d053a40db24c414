#!/usr/bin/env python3
"""Times the CPU-bound programs of loadtest/programs in proofbox and in other sandboxes, in turn, beside native CPython.

  python3 -m venv peers && peers/bin/pip install pydantic-monty==1.4.0 pyeryx==0.11.0
  npm install --prefix peers pyodide@314.0.7
  peers/bin/python loadtest/peers.py --server http://127.0.0.1:8080 --native PATH --pyodide peers --rounds 9

Each program measures itself by `time.perf_counter`; where a sandbox has none (Monty), the whole run is measured, in a
worker that is there already. Prints a table of medians in milliseconds and of their ratios to native, as Markdown. A
program that a sandbox can't run has a dash. PATH is a CPython of the version that the service has.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time
import urllib.request

PROGRAMS = pathlib.Path(__file__).parent / "programs"
TIMING = ("import time", "_began", "print(time")

NODE = """
import { loadPyodide } from "pyodide";
import { createInterface } from "node:readline";
let printed = "";
const pyodide = await loadPyodide({ stdout: (line) => { printed += line + "\\n"; } });
for await (const line of createInterface({ input: process.stdin })) {
  printed = "";
  let error = null;
  try {
    pyodide.runPython(JSON.parse(line), { globals: pyodide.toPy({ __name__: "__main__" }) });
  } catch (raised) {
    error = String(raised).slice(-200);
  }
  console.log(JSON.stringify({ printed, error }));
}
"""


class Failed(Exception):
    """The sandbox can't run the program."""


def native(python):
    def run(source):
        done = subprocess.run([python, "-I", "-c", source], capture_output=True, text=True)
        if done.returncode:
            raise Failed(done.stderr)
        return float(done.stdout)

    return run


def proofbox(server):
    def run(source):
        body = json.dumps({"code": source, "limits": {"fuel": 10**12, "wall_seconds": 60}}).encode()
        request = urllib.request.Request(server + "/v1/execute", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            verdict = json.load(answer)
        if verdict["status"] != "ok":
            raise Failed(verdict["stderr"])
        return float(verdict["stdout"])

    return run


def monty():
    import pydantic_monty

    pool = pydantic_monty.Monty().__enter__()

    def run(source):
        source = "\n".join(line for line in source.splitlines() if not line.startswith(TIMING))
        with pool.checkout() as session:
            session.feed_run("0")
            began = time.perf_counter()
            try:
                session.feed_run(source)
            except pydantic_monty.MontyError as error:
                raise Failed(str(error)) from None
            return time.perf_counter() - began

    return run


def eryx_sandbox():
    import eryx

    def run(source):
        try:
            return float(eryx.Sandbox().execute(source).stdout)
        except eryx.EryxError as error:
            raise Failed(str(error)) from None

    return run


def pyodide(directory):
    node = subprocess.Popen(
        ["node", "--input-type=module", "-e", NODE], cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def run(source):
        print(json.dumps(source), file=node.stdin, flush=True)
        answer = json.loads(node.stdout.readline())
        if answer["error"]:
            raise Failed(answer["error"])
        return float(answer["printed"])

    run.end = node.kill
    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="http://127.0.0.1:8080")
    parser.add_argument("--native", required=True, help="CPython of the version that the service has")
    parser.add_argument("--pyodide", help="directory in which pyodide was installed by npm")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    arms = {"native CPython": native(options.native), "proofbox": proofbox(options.server)}
    for name, make in (("Monty", monty), ("eryx", eryx_sandbox)):
        try:
            arms[name] = make()
        except ImportError:
            print(f"{name} is not installed", file=sys.stderr)
    if options.pyodide:
        arms["Pyodide in Node.js"] = pyodide(options.pyodide)
    programs = {path.stem: path.read_text() for path in sorted(PROGRAMS.glob("*.py"))}
    times = {(program, arm): [] for program in programs for arm in arms}
    failed = {}
    for _ in range(options.rounds):
        for program, source in programs.items():
            for arm, run in arms.items():
                if (program, arm) in failed:
                    continue
                try:
                    times[program, arm].append(run(source))
                except Failed as error:
                    failed[program, arm] = str(error).strip().splitlines()[-1:]
    for run in arms.values():
        getattr(run, "end", lambda: None)()
    names = list(arms)
    print("| program | " + " | ".join(names) + " |")
    print("| --- |" + " ---: |" * len(names))
    ratios = {arm: [] for arm in arms}
    for program in programs:
        base = statistics.median(times[program, names[0]])
        cells = []
        for arm in names:
            if (program, arm) in failed:
                cells.append("—")
                continue
            median = statistics.median(times[program, arm])
            ratios[arm].append(median / base)
            cells.append(f"{median * 1000:.1f} ({median / base:.2f})")
        print(f"| {program} | " + " | ".join(cells) + " |")
    means = [
        f"{math.exp(statistics.mean(map(math.log, ratios[arm]))):.2f}" + ("" if len(ratios[arm]) == len(programs) else f" of {len(ratios[arm])}")
        if ratios[arm] else "—"
        for arm in names
    ]
    print("| geometric mean | " + " | ".join(means) + " |")
    for (program, arm), error in failed.items():
        print(f"{arm} can't run {program}: {' '.join(error)}", file=sys.stderr)


if __name__ == "__main__":
    main()
