#!/usr/bin/env python3
"""Sends composed cheats and their right twins to a running service.

    python3 tests/adversary/attack.py --server http://127.0.0.1:8080 --seconds 30 --seed 1 [--jobs 4] [--keep DIR]

Finds wrong candidates that pass, right twins that fail though they pass in the tests' own interpreter, and answers
`infrastructure_error`. Each finding is confirmed alone, reduced to the axes it needs, printed, and with --keep written
as JSON. Exits with 1 when anything was found that honest_limits.toml does not list, with 2 when nothing was graded."""

import collections
import dataclasses
import json
import pathlib
import random
import re
import sys
import threading
import time
import tomllib

import compose
import service

HERE = pathlib.Path(__file__).resolve().parent
PROGRESS_SECONDS = 10
MAX_UNANSWERED = 20
GRACE_SECONDS = 15
# Idioms that say least beyond what is compared. A right twin that fails with one of them fails with all.
SIMPLEST = ("eq", "np_array_equal", "refused")
AXES = ("form", "base", "value", "type", "idiom", "place", "callable", "kind")


@dataclasses.dataclass
class Finding:
    what: str  # forged, forged_without_signal, weak_without_signal, right_fails, infrastructure_error
    pair: compose.Pair
    idiom: compose.Idiom
    call: str
    index: int
    answer: dict
    honest: bool
    reason: str = ""  # of the limit that lists it
    count: int = 1
    pairs: set = dataclasses.field(default_factory=set)

    def axes(self):
        return self.pair.axes(self.idiom)

    def request(self):
        return self.pair.request([self.idiom], [self.call], self.honest)

    def covers(self, pair, idiom):
        """Returns whether the reduced axes are among those of another finding."""
        mine, other = self.pair, pair
        return (
            (self.idiom.name == idiom.name or self.honest and self.idiom.name in SIMPLEST)
            and mine.task.type == other.task.type
            and (mine.lie.form, mine.lie.base, mine.lie.value) == (other.lie.form, other.lie.base, other.lie.value)
            and set(mine.lie.methods) <= set(other.lie.methods)
            and mine.place in ("direct", other.place)
            and mine.callable in ("def", other.callable)
            and mine.kind in ("asserts", other.kind)
        )


class Attack:
    def __init__(self, arguments):
        self.server = service.Service(arguments.server, arguments.key)
        self.arguments = arguments
        self.limits = tomllib.loads((HERE / "honest_limits.toml").read_text())["limit"]
        self.lock = threading.Lock()
        self.next = arguments.first
        self.findings = []
        self.explained = []  # passes of weak idioms, reduced to what they need
        self.counts = collections.Counter()
        self.weak = {}  # (task, idiom, kind of probe, value) -> whether a plain wrong value passes
        self.not_native = set()  # shapes of right twins that fail in the tests' own interpreter
        self.reductions = 0
        self.end = time.monotonic() + arguments.seconds
        self.broken = None

    # --------------------------------------------------------------------------------------------------- requests

    def grade(self, request):
        return self.server.execute(request)

    def passes(self, pair, idiom, call, honest, grading=None):
        """The verdict of one case alone, if it is a pass."""
        answer = self.grade(pair.request([idiom], [call], honest, grading or self.arguments.grading))
        return answer if answer["status"] == "passed" else None

    def is_weak(self, pair, idiom, call):
        """Returns whether some plain wrong value passes the idiom in the tests' own interpreter."""
        key = pair.task.name, idiom.name, call, pair.lie.value if pair.lie.form == "value" else pair.lie.form in ("raise", "error"), pair.lie.gives_arrays
        if idiom.kinds == {"function_cases"}:
            return False
        if key not in self.weak:
            self.weak[key] = any(self.grade(request)["tests_passed"] for request in compose.probe_requests(pair, idiom, call))
        return self.weak[key]

    # ---------------------------------------------------------------------------------------------------- verdicts

    def try_pair(self, index):
        pair, idioms, calls = compose.draw(random.Random(f"{self.arguments.seed}:{index}"))
        for honest in (False, True):
            answer = self.grade(pair.request(idioms, calls, honest, self.arguments.grading))
            with self.lock:
                self.counts["programs"] += 1
                self.counts["cases"] += len(idioms)
            if service.is_infrastructure_error(answer):
                self.report("infrastructure_error", pair, idioms[0], calls[0], index, answer, honest, pair.request(idioms, calls, honest))
                continue
            cases = answer["cases"]
            if len(cases) != len(idioms):
                # The candidate could not be imported, so that tests were not counted.
                cases = [{"status": "error"}] * len(idioms)
                if answer["status"] == "passed":
                    raise AssertionError(f"pair {index}: {len(answer['cases'])} cases of {len(idioms)}, and passed")
            for idiom, call, case in zip(idioms, calls, cases):
                if self.broken or time.monotonic() > self.end + GRACE_SECONDS:
                    return
                if honest and case["status"] != "passed":
                    self.right_fails(pair, idiom, call, index)
                elif not honest and case["status"] == "passed":
                    self.wrong_passes(pair, idiom, call, index)

    def wrong_passes(self, pair, idiom, call, index):
        tier = pair.tier(idiom)
        if tier == "-":
            self.count("asked by name")
            return
        if self.is_known(pair, idiom, index, ("forged", "forged_without_signal", "weak_without_signal")):
            return
        answer = self.passes(pair, idiom, call, False)
        if not answer:
            self.count("passes only beside other cases")
            return
        signals = answer["integrity"]["signals"]
        if self.is_explained(pair, idiom, signals):
            return
        reduced = self.reduce(pair, idiom, call, False, bool(signals))
        pair = reduced[0]
        if tier == "A" and not pair.ends and self.is_weak(pair, idiom, call):
            tier = "B"
        if tier == "B" and (signals or not pair.lies):
            what = "weak idiom, with a signal" if signals and pair.lies else "weak idiom, and no lie"
            with self.lock:
                self.counts[what] += 1
                self.explained.append(Finding(what, pair, idiom, call, index, answer, False))
            return
        what = "weak_without_signal" if tier == "B" else "forged" if signals else "forged_without_signal"
        self.report(what, *reduced, index, answer, False)

    def right_fails(self, pair, idiom, call, index):
        if pair.lie.form == "sub":
            lie = dataclasses.replace(pair.lie, methods=())
        elif pair.lie.form == "error":
            lie = pair.lie
        else:
            lie = compose.Lie("raise", value="stop")  # all of these have the same right twin: a plain value
        pair = dataclasses.replace(pair, lie=lie)
        shape = pair.task.type, idiom.name, pair.lie.form == "sub" and pair.lie.base
        if shape in self.not_native:
            self.count("right twin that no interpreter takes")
            return
        if self.is_known(pair, idiom, index, ("right_fails",)):
            return
        answer = self.grade(pair.request([idiom], [call], True, self.arguments.grading))
        if answer["status"] == "passed":
            self.count("fails only beside other cases")
            return
        if not self.passes(pair, idiom, call, True, "in_process"):
            self.count("right twin that no interpreter takes")
            if pair.place == "direct" and pair.callable == "def":
                self.not_native.add(shape)
            return
        self.report("right_fails", *self.reduce(pair, idiom, call, True, None), index, answer, True)

    def is_known(self, pair, idiom, index, whats):
        with self.lock:
            for finding in self.findings:
                if finding.what in whats and finding.covers(pair, idiom):
                    finding.count += 1
                    finding.pairs.add(index)
                    return True
        return False

    def is_explained(self, pair, idiom, signals):
        """Returns whether less of the same lie has passed as a weak test's: without any lie, or with a signal as
        here."""
        with self.lock:
            for known in self.explained:
                if (signals or not known.pair.lies) and known.covers(pair, idiom):
                    self.counts[known.what] += 1
                    return True
        return False

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    # --------------------------------------------------------------------------------------------------- reduction

    def reduce(self, pair, idiom, call, honest, signals):
        """The same finding with the fewest axes that are not the simplest."""
        with self.lock:
            self.reductions += 1
            if self.reductions > self.arguments.reductions:
                return pair, idiom, call

        def still(other):
            if other == pair or not compose.is_sound(other) or time.monotonic() > self.end + GRACE_SECONDS:
                return False
            if honest:
                return not self.passes(other, idiom, call, True) and bool(self.passes(other, idiom, call, True, "in_process"))
            answer = self.passes(other, idiom, call, False)
            return bool(answer) and (signals or not answer["integrity"]["signals"])

        simpler = [{"bound": False}, {"kind": "asserts"}, {"place": "direct"}, {"callable": "def"}]
        for change in simpler:
            if "kind" in change and idiom.kinds:
                continue
            other = dataclasses.replace(pair, **change)
            if still(other):
                pair = other
        if honest:
            if pair.lie.form == "sub":
                other = dataclasses.replace(pair, lie=compose.Lie("raise", value="stop"))
                if pair.callable != "instances" and still(other):
                    pair = other
            for simple in compose.idioms_of(pair.task, pair.kind):
                if simple.name in SIMPLEST and simple != idiom:
                    before, idiom = idiom, simple
                    if self.passes(pair, idiom, call, True) or not self.passes(pair, idiom, call, True, "in_process"):
                        idiom = before
            return pair, idiom, call
        size = max(1, len(pair.lie.methods) // 2)
        while pair.lie.methods:
            changed = False
            methods = pair.lie.methods
            for start in range(0, len(methods), size):
                fewer = tuple(each for each in pair.lie.methods if each not in methods[start : start + size])
                other = dataclasses.replace(pair, lie=dataclasses.replace(pair.lie, methods=fewer))
                if still(other):
                    pair, changed = other, True
            if size == 1 and not changed:
                break
            size = max(1, size // 2)
        return pair, idiom, call

    # ----------------------------------------------------------------------------------------------------- reports

    def report(self, what, pair, idiom, call, index, answer, honest, request=None):
        finding = Finding(what, pair, idiom, call, index, answer, honest, pairs={index})
        if what == "right_fails":
            axes = finding.axes()
            for limit in self.limits:
                if all(re.fullmatch(pattern, axes[axis]) for axis, pattern in limit["match"].items()):
                    finding.reason = limit["reason"]
        with self.lock:
            for known in self.findings:
                if known.what == what and known.covers(pair, idiom) and known.honest == honest:
                    known.count += 1
                    known.pairs.add(index)
                    return
            self.findings.append(finding)
            number = len(self.findings)
        request = request or finding.request()
        if not finding.reason:
            print(self.text(finding, request), flush=True)
        if self.arguments.keep:
            directory = pathlib.Path(self.arguments.keep)
            directory.mkdir(parents=True, exist_ok=True)
            content = {"what": what, "axes": finding.axes(), "call": call, "seed": self.arguments.seed, "pair": index, "reason": finding.reason, "request": request, "answer": answer}
            (directory / f"{what}-{number:04}.json").write_text(json.dumps(content, indent=1) + "\n")

    def text(self, finding, request):
        axes = {axis: value for axis, value in finding.axes().items() if value and value not in ("direct", "def", "no")}
        answer = finding.answer
        message = next((case.get("message") for case in answer.get("cases") or () if case["status"] != "passed"), None)
        lines = [f"{finding.what}: pair {self.arguments.seed}:{finding.index}: {' '.join(f'{axis}={value}' for axis, value in axes.items())}"]
        if finding.what == "right_fails":
            lines.append(f"    says: {str(message or answer.get('error'))[:240]}")
        else:
            lines.append(f"    signals: {answer.get('integrity', {}).get('signals')}, class: {answer.get('stderr_class')}")
        body = compose.Pair(finding.pair.task, finding.pair.lie, bound=finding.pair.bound)._body(finding.idiom, finding.call, "solve") if finding.idiom.code else ""
        lines += [f"    {line}" for line in body.splitlines()[:6]]
        if self.arguments.verbose:
            lines += [f"    | {line}" for line in request["code"].splitlines()]
        return "\n".join(lines)

    # --------------------------------------------------------------------------------------------------------- run

    def work(self):
        while time.monotonic() < self.end and not self.broken:
            with self.lock:
                index, self.next = self.next, self.next + 1
            if self.arguments.pairs and index >= self.arguments.first + self.arguments.pairs:
                return
            try:
                self.try_pair(index)
                self.count("pairs")
            except service.ServiceError as error:
                self.count("no verdict")
                print(f"pair {self.arguments.seed}:{index}: {error}", flush=True)
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
        begun = time.monotonic()
        threads = [threading.Thread(target=self.work, daemon=True) for _ in range(self.arguments.jobs)]
        for thread in threads:
            thread.start()
        last = begun
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.2)
            if time.monotonic() - last >= PROGRESS_SECONDS:
                last = time.monotonic()
                print(self.progress(last - begun), flush=True)
        return self.summary(time.monotonic() - begun)

    def progress(self, seconds):
        found = collections.Counter(finding.what for finding in self.findings if not finding.reason)
        rate = self.server.requests / max(seconds, 0.001)
        return f"{seconds:6.0f} s: {self.counts['pairs']} pairs, {self.counts['cases']} cases, {rate:.0f} requests/s; " + (
            ", ".join(f"{count} {what}" for what, count in sorted(found.items())) or "nothing found"
        )

    def summary(self, seconds):
        print()
        print(self.progress(seconds))
        for what, count in sorted(self.counts.items()):
            print(f"  {what}: {count}")
        listed = [finding for finding in self.findings if finding.reason]
        for reason, count in collections.Counter(finding.reason for finding in listed).most_common():
            print(f"  listed right twin: {count}: {reason}")
        bad = [finding for finding in self.findings if not finding.reason]
        for what in sorted({finding.what for finding in bad}):
            group = [finding for finding in bad if finding.what == what]
            print(f"{what}: {len(group)} findings, seen {sum(finding.count for finding in group)} times")
            for axis in AXES:
                values = collections.Counter(finding.axes()[axis] or "-" for finding in group)
                print(f"  by {axis}: " + ", ".join(f"{value} {count}" for value, count in values.most_common(24)))
            methods = collections.Counter(name or behaviour for finding in group for name, behaviour in finding.pair.lie.methods)
            if methods and what != "right_fails":
                print("  by method: " + ", ".join(f"{name} {count}" for name, count in methods.most_common(40)))
        failed = len(bad) + bool(self.broken) + self.counts["no verdict"]
        touched = set().union(*(finding.pairs for finding in bad))
        return service.exit_code(self.counts["pairs"], len(touched), failed, self.broken)


def main():
    parser = service.parser_of(__doc__, jobs=4, item="pair", finding="finding")
    parser.add_argument("--grading", default="isolated", choices=("isolated", "in_process"), help="in_process shows what the adversary finds where nothing keeps it off")
    parser.add_argument("--reductions", type=int, default=4000, metavar="N", help="how many findings are reduced to their axes (4000)")
    parser.add_argument("--verbose", action="store_true", help="print the candidate of each finding")
    return Attack(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
