#!/usr/bin/env python3
"""Fuzzes the bridge between the interpreters of isolated grading, from the candidate's side.

    python3 tests/adversary/protocol.py --server http://127.0.0.1:8080 --seconds 30 --seed 1 [--jobs 4] [--keep DIR]

Each program is `protocol_candidate.py` with a plan in front: it takes over its side of the bridge and sends malformed
replies, forged descriptions of classes, changes to arguments, raw bytes in the codec's format, and requests for objects
of the tests. No case may pass, nor may the interpreter of the tests or the service break down. Exits with 1 when one of
these happens, with 2 when nothing was graded."""

import collections
import dataclasses
import json
import pathlib
import random
import sys
import threading
import time

import compose
import service

HERE = pathlib.Path(__file__).resolve().parent
PROGRESS_SECONDS = 10
MAX_UNANSWERED = 20
LIMITS_MET = {"timeout", "fuel_exhausted", "memory_limit", "output_limit"}
# Exit code of a candidate whose interpreter broke down: what breaks the tests' own leaves another.
ABORTED = 134
# Of the composed idioms, those that only the expected value passes, whatever methods the object has.
TASKS = [task for task in compose.TASKS if task.type not in ("bool", "raises")]
PLAIN_VALUES = [value for name, value in compose.VALUES.items() if not name.endswith("*") and value not in ("math",)]

# Tests that hand objects of their own to the candidate, so that it knows some by number. Each assert is false of any
# candidate that can't tell the secret.
HANDED = """
class Box:
    limit = 5
    def __init__(self): self.value, self.secret = 1, [SECRET, "s"]
    def method(self, *args): return 7
    def __len__(self): return 3
    def __getitem__(self, key): return key
    def __eq__(self, other): return isinstance(other, Box) and other.secret == self.secret
    __hash__ = None
class Fault(Exception):
    pass
box, calls, table, row = Box(), [], {"a": [1, 2], "b": {}}, [3, 1, 2]
expected = {"answer": SECRET, "items": [SECRET, SECRET + 1]}
def callback(*args):
    calls.append(args)
    return 3
def generate():
    got = yield 1
    yield got
def fail(*args):
    raise Fault("fault")
async def wait(*args):
    return 4
"""
HANDED_CASES = (
    "assert solve(callback) == expected['answer']",
    "assert solve(box) == expected",
    "assert solve(box.method, callback) == expected['items']",
    "assert solve(Box) == Box().secret",
    "assert solve(row, table) == expected and row == [3, 1, 2]",
    "copy = list(row)\nsolve(copy, copy)\nassert copy == [SECRET]",
    "copy = {'k': row}\nsolve(copy)\nassert copy == expected",
    "value = solve(generate(), callback)\nassert value['answer'] == SECRET and len(value) == 2",
    "assert [solve(each) for each in (callback, box, fail)] == [SECRET, SECRET, SECRET]",
    "try:\n    got = solve(fail)\nexcept Fault as error:\n    got = error.args\nassert got == (SECRET,)",
    "import numpy as np\narray = np.array([1, 2, 3])\nsolve(array)\nassert array.tolist() == [SECRET]",
    "import numpy as np\narray = np.array([1, 2.5, 'x'], dtype=object)\nsolve(array)\nassert array.tolist() == [SECRET]",
    "import collections\nmade = collections.OrderedDict(a=1), collections.Counter('ab'), collections.deque([1])\nsolve(*made)\nassert made[0] == {'a': SECRET} and made[1] == {'b': SECRET}",
    "made = bytearray(b'abc'), {1, 2}\nsolve(*made)\nassert made == (SECRET, {SECRET})",
    "from unittest import mock\ndouble = mock.Mock(return_value=3)\nsolve(double)\ndouble.assert_called_once_with(SECRET)",
    "with solve(callback) as value:\n    assert value == SECRET",
    "import asyncio\nassert asyncio.run(solve(wait)) == SECRET",
    "total = 0\nfor each in solve(callback): total += each\nassert total == SECRET",
    "got = solve(box)\nassert got.value == SECRET and got.method() == expected",
    "value = solve(box)\nassert isinstance(value, Box) and value.secret == [SECRET, 's'] and value is not box",
    "value = solve(expected['items'].append)\nassert expected['items'] == [SECRET, SECRET + 1] and value == expected['items']",
    "assert solve(box) - 1 == SECRET",
    "assert solve(solve) == SECRET and solve(solve(callback)) == SECRET",
    "assert sorted(solve(row)) == [SECRET - 1, SECRET]",
)


class Fuzz:
    def __init__(self, arguments):
        self.arguments = arguments
        self.server = service.Service(arguments.server, arguments.key)
        self.candidate = (HERE / "protocol_candidate.py").read_text()
        self.lock = threading.Lock()
        self.next = arguments.first
        self.counts = collections.Counter()
        self.signals = collections.Counter()
        self.classes = collections.Counter()
        self.findings = []
        self.end = time.monotonic() + arguments.seconds
        self.broken = None
        self.weak = {}

    def request(self, index, seed):
        """The request of a program, and what is known of its cases: (name, pair, idiom, call) or (source,)."""
        rng = random.Random(f"{self.arguments.seed}:{index}")
        plan = {
            "seed": seed,
            "raw": rng.random() < 0.15,
            "at_import": rng.choice(("", "", "", "", "", "patch", "operations")),
            "then": rng.choice(("serve", "serve", "patch", "mutate", "value")),
            "from_call": rng.choice((1, 1, 1, 2, 3)),
            "noise": rng.choice((0.02, 0.05, 0.15, 0.4)),
            "asking": rng.choice((0.0, 0.2, 0.8)),
            "patched": rng.choice((0.1, 0.5, 1.0)),
            "note_arguments": rng.random() < 0.5,
        }
        code = f"PLAN = {plan!r}\n{self.candidate}"
        if rng.random() < 0.5:
            secret = rng.randrange(10**6, 10**9)
            cases = rng.sample(HANDED_CASES, 8)
            kind = rng.choice(("asserts", "asserts", "asserts", "pytest"))
            known = [(case,) for case in cases]
            if kind == "asserts":
                tests = {"kind": kind, "setup": HANDED.replace("SECRET", str(secret)), "asserts": [case.replace("SECRET", str(secret)) for case in cases]}
            else:
                body = "".join(f"def test_{number:02}():\n{compose._indent(case)}" for number, case in enumerate(cases))
                tests = {"kind": kind, "source": f"from solution import solve\n{HANDED}{body}".replace("SECRET", str(secret))}
        else:
            task = rng.choice(TASKS)
            kinds = ("asserts", "asserts", "asserts", "check_function", "check_function", "pytest", "unittest", *(("function_cases",) if task.type not in ("array", "farray") else ()))
            pair = compose.Pair(task, compose.Lie("object"), kind=rng.choice(kinds))
            idioms = [idiom for idiom in compose.idioms_of(pair.task, pair.kind) if "weak" not in idiom.name and not idiom.asked_names]
            idioms = rng.sample(idioms, min(8, len(idioms)))
            calls = [rng.choice(pair.task.calls) for _ in idioms]
            tests = pair.tests(idioms, calls)
            known = [(pair, idiom, call) for idiom, call in zip(idioms, calls)]
        return {"code": code, "tests": tests, "grading": "isolated", "limits": compose.LIMITS | {"fuel": 1_500_000_000, "wall_seconds": 4}}, known, plan

    def is_weak(self, pair, idiom, call):
        """Returns whether some plain wrong value, an empty array among them, passes in the tests' own interpreter."""
        key = pair.task.name, idiom.name, call
        if key not in self.weak:
            self.weak[key] = any(
                self.server.execute(request)["tests_passed"]
                for value in ("", *PLAIN_VALUES)
                for request in compose.probe_requests(
                    dataclasses.replace(pair, lie=compose.Lie("value", value=next(name for name, each in compose.VALUES.items() if each == value)) if value else compose.Lie("object")), idiom, call
                )
            )
        return self.weak[key]

    def try_program(self, index):
        request, known, plan = self.request(index, self.arguments.seed * 1_000_003 + index)
        answer = self.server.execute(request)
        signals = answer["integrity"]["signals"]
        with self.lock:
            self.counts["programs"] += 1
            self.counts["cases"] += len(known)
            self.counts[f"then {plan['then']}"] += 1
            self.signals.update(signals)
            self.classes[answer["stderr_class"]] += 1
        if service.is_infrastructure_error(answer):
            self.report("infrastructure_error", index, request, answer, plan, "")
        # A candidate that breaks down ends its case, and the cases after it are reported as well.
        # Not so where a limit has ended all of them, or where a fresh candidate broke down while it was imported.
        limited = any(case["stderr_class"] in LIMITS_MET for case in answer["cases"])
        # Then each case that was begun is reported: had the tests' own interpreter broken down, the open one would not be.
        begun = sum(case["status"] != "not_run" for case in answer["cases"])
        not_imported = (
            answer["exit_code"] == ABORTED
            and answer["grader"]["candidates"] > 1
            and begun == answer["integrity"]["reported"]
        )
        if answer["integrity"]["reported"] < answer["integrity"]["planned"] and not limited and not not_imported and "InterpreterCrash" in json.dumps(answer["error"]):
            self.report("grader_crash", index, request, answer, plan, "")
        for case, about in zip(answer["cases"], known):
            if case["status"] != "passed":
                continue
            if len(about) == 3 and self.is_weak(*about):
                if signals:
                    self.counts["weak idiom, with a signal"] += 1
                    continue
                self.report("weak_without_signal", index, request, answer, plan, about[1].code)
                continue
            self.report("forged", index, request, answer, plan, about[1].code if len(about) == 3 else about[0])

    def report(self, what, index, request, answer, plan, case):
        case = " / ".join(case.splitlines())
        with self.lock:
            self.findings.append((what, case))
            number = len(self.findings)
        print(f"{what}: program {self.arguments.seed}:{index}: {' '.join(f'{name}={value}' for name, value in plan.items() if value)}")
        if case:
            print(f"    {case}")
        print(f"    class {answer['stderr_class']}, signals {answer['integrity']['signals']}, error {json.dumps(answer['error'])[:200]}", flush=True)
        if self.arguments.keep:
            directory = pathlib.Path(self.arguments.keep)
            directory.mkdir(parents=True, exist_ok=True)
            content = {"what": what, "case": case, "seed": self.arguments.seed, "program": index, "request": request, "answer": answer}
            (directory / f"{what}-{number:04}.json").write_text(json.dumps(content, indent=1) + "\n")

    def work(self):
        while time.monotonic() < self.end and not self.broken:
            with self.lock:
                index, self.next = self.next, self.next + 1
            if self.arguments.programs and index >= self.arguments.first + self.arguments.programs:
                return
            try:
                self.try_program(index)
            except service.ServiceError as error:
                print(f"program {self.arguments.seed}:{index}: {error}", flush=True)
                with self.lock:
                    self.findings.append(("no_verdict", str(error)))
                    self.counts["no verdict"] += 1
                self.pause(error)
            except Exception as error:
                self.broken = error
                raise

    def pause(self, error):
        """After a request without a verdict. Too many of these end the run."""
        time.sleep(0.5)
        if self.counts["no verdict"] > MAX_UNANSWERED:
            self.broken = error

    def run(self):
        begun = last = time.monotonic()
        threads = [threading.Thread(target=self.work, daemon=True) for _ in range(self.arguments.jobs)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.2)
            if time.monotonic() - last >= PROGRESS_SECONDS:
                last = time.monotonic()
                print(self.progress(last - begun), flush=True)
        print()
        print(self.progress(time.monotonic() - begun))
        print("  classes: " + ", ".join(f"{name} {count}" for name, count in self.classes.most_common()))
        print("  signals: " + ", ".join(f"{name} {count}" for name, count in self.signals.most_common(20)))
        for (what, case), count in collections.Counter(self.findings).most_common(60):
            print(f"  {what}: {count}: {case[:160]}")
        failed = len(self.findings) + bool(self.broken)
        return service.exit_code(self.counts["programs"], len(self.findings), failed, self.broken)

    def progress(self, seconds):
        found = collections.Counter(what for what, _ in self.findings)
        rate = self.counts["programs"] / max(seconds, 0.001)
        return f"{seconds:6.0f} s: {self.counts['programs']} programs, {self.counts['cases']} cases, {rate:.0f} programs/s; " + (
            ", ".join(f"{count} {what}" for what, count in sorted(found.items())) or "nothing found"
        )


def main():
    parser = service.parser_of(__doc__, jobs=4, item="program", finding="finding")
    return Fuzz(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
