#!/usr/bin/env python3
"""Runs CPython's own tests natively and in the sandbox, and compares them test by test. docs/reference/cpython-differences.md has the results.

The base is what passes natively. What does not pass in the sandbox has a reason in differences.toml, or is reported. Exits with
0 when there is nothing else, with 1 on a difference that is not listed, and with 2 when it can't run."""

import argparse
import base64
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
DRIVER = HERE / "driver.py"
MARK = "@@test "
LIMITS = {
    "fuel": 10_000_000_000_000, "wall_seconds": 600, "memory_bytes": 1 << 30, "output_bytes": 16_777_216,
    "files_bytes": 268_435_456, "files_count": 65_536,
}  # fmt: skip
NATIVE_SECONDS = 900
REQUEST_SECONDS = 1800
# Tests that end the interpreter are left out of the next attempt.
MAX_ATTEMPTS = 8
BUSY_SECONDS = 2
SANDBOX_ROOT = "/home/user"
KINDS = {
    "wasi": "what WASI does not have, or does otherwise",
    "32-bit": "sizes and pointers have 32 bits",
    "meant": "proofbox does otherwise on purpose",
    "defect": "open defects",
}
LACKING = ("threads", "processes", "sockets")
# Directories below Lib/test that tests look for without opening anything in them.
SOUGHT = {"test_asyncio": ["certdata"], "test_contextlib": ["archivetestdata", "data"]}
# What a lifted skip needs beside what the tests open themselves.
LIFT_FILES = {"test_tools": ["Tools/i18n/pygettext.py"]}


class CannotRun(Exception):
    """States why nothing can be compared."""


class Native:
    """The recipe's Python for this machine, and the source tree that it was built from."""

    def __init__(self, python, tree):
        self.python, self.tree = python, tree
        for path, option in ((python, "--python"), (tree / "Lib/test/support/__init__.py", "--tree")):
            if not path.exists():
                raise CannotRun(
                    f"{path} is missing. `proofbox runtime build` makes the native Python and unpacks CPython's sources below the "
                    "cache directory (delete the image from it first); a prebuilt image brings neither. "
                    f"{option} names another place."
                )
        code = "import sys; print(*sys.version_info[:3], sep='.')"
        self.version = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True).stdout.strip()

    @contextlib.contextmanager
    def copy(self):
        """Copies both for as long as they are needed: tests, and the processes that they start, write beside the sources."""
        with tempfile.TemporaryDirectory(prefix="cpython-tests-") as folder:
            folder = pathlib.Path(folder)
            tree, python = folder / "trees/python", self.python
            shutil.copytree(self.tree / "Lib", tree / "Lib")
            for path in self.tree.iterdir():
                if path.name != "Lib":
                    (tree / path.name).symlink_to(path)
            if (self.python.parent / "pybuilddir.txt").exists():
                # It was not installed, and finds its library by its own place.
                python = folder / "native" / self.python.name
                shutil.copytree(self.python.parent / "build", python.parent / "build")
                for name in (self.python.name, "pybuilddir.txt"):
                    shutil.copy2(self.python.parent / name, python.parent / name)
            yield Native(python, tree)

    def hash_contents(self):
        """Returns a hash of everything that decides on native results."""
        digest = hashlib.sha256(DRIVER.read_bytes())
        digest.update(self.python.read_bytes())
        for path in sorted(self.tree.glob("Lib/**/*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"\0{path.relative_to(self.tree)}\0".encode())
                digest.update(path.read_bytes())
        return digest.hexdigest()[:16]


class Outcomes:
    """Outcome and reason of each test of a module, on one side."""

    def __init__(self, tests=None, holders=None, opened=(), listed=()):
        self.tests, self.holders = tests or {}, holders or {}
        self.opened, self.listed = list(opened), list(listed)

    def to_json(self):
        return {"tests": self.tests, "holders": self.holders, "opened": self.opened, "listed": self.listed}

    def find(self, module, test):
        """Returns outcome and reason of a test; a class or module that was not run speaks for its tests."""
        if test in self.tests:
            return self.tests[test]
        best = max(
            (name for name in self.holders if test.startswith(name + ".") or name == f"test.{module}"), key=len, default=None
        )
        return self.holders[best] if best else ("absent", "not among the tests of the module")


def read_events(text):
    for line in text.split("\n"):
        if line.startswith(MARK):
            try:
                yield json.loads(line.removeprefix(MARK))
            except ValueError:
                continue  # cut off where the interpreter ended


def collect(module, attempt):
    """Runs `attempt(leave_out)` until all tests but those that end the interpreter were run."""
    found = Outcomes()
    for _ in range(MAX_ATTEMPTS):
        begun, done = None, False
        text, end = attempt(list(found.tests))
        for event in read_events(text):
            if "begins" in event:
                begun = event["begins"]
            elif "id" in event:
                found.tests[event["id"]] = event["outcome"], event["reason"]
                begun = None
            elif "holder" in event:
                found.holders.setdefault(event["holder"], (event["outcome"], event["reason"]))
            elif "opened" in event:
                found.opened += event["opened"]
                found.listed += event["listed"]
            done |= "done" in event
        if done:
            return found
        if begun is None:
            break
        found.tests[begun] = "failed", f"ended the interpreter: {end}"
    found.holders[f"test.{module}"] = "failed", f"the module did not run to its end: {end}"
    return found


def run_natively(native, module, lift):
    """Runs a module with a copy of the native Python. Paths in the outcomes are relative to the tree."""
    with tempfile.TemporaryDirectory(prefix="cpython-tests-") as folder:
        environment = {"HOME": folder, "TMPDIR": folder, "PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"}

        def attempt(leave_out):
            options = {"lib": str(native.tree / "Lib"), "cwd": f"{folder}/work", "module": module, "lift": lift, "leave_out": leave_out}
            command = [native.python, "-B", DRIVER, json.dumps(options)]
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, start_new_session=True
            )
            try:
                text, end = process.communicate(timeout=NATIVE_SECONDS)[0], f"exit code {process.returncode}"
            except subprocess.TimeoutExpired as timeout:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                raise CannotRun(f"{module}: no end natively within {NATIVE_SECONDS} s") from timeout
            return text.decode(errors="replace"), end

        outcomes = collect(module, attempt)
    return Outcomes(outcomes.tests, outcomes.holders, *(make_relative(paths, native.tree) for paths in (outcomes.opened, outcomes.listed)))


def make_relative(paths, tree):
    """Returns those of the paths that are in the tree, each once."""
    paths = {pathlib.Path(path) for path in paths}
    return sorted(str(path.relative_to(tree)) for path in paths if path.is_relative_to(tree))


def find_natively(copy, cache, module, lift):
    """Returns native outcomes, from the cache if they are there. `copy()` returns the copy of the native Python to run."""
    path = cache / f"{module}{''.join('+' + name for name in lift)}.json"
    if path.is_file():
        return Outcomes(**json.loads(path.read_text()))
    outcomes = run_natively(copy(), module, lift)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps(outcomes.to_json()))
    partial.rename(path)
    return outcomes


def list_files(native, module, lift, outcomes):
    """Returns the files to send: what the tests have opened natively, below Lib/test or outside of the library.

    The library's own sources are not sent: the sandbox has none."""
    tree, tests = native.tree, native.tree / "Lib/test"
    found = {tests / "__init__.py", *tests.glob("support/**/*.py"), *(tree / path for name in lift for path in LIFT_FILES.get(name, []))}
    for folder in SOUGHT.get(module.partition(".")[0], []):
        found.update((tests / folder).glob("*"))
    for path in (tree / path for path in outcomes.opened):
        if path.parent.name == "__pycache__":
            path = path.parent.parent / (path.name.partition(".")[0] + ".py")
        if path.is_relative_to(tests):
            if path.parent == tests:
                found.add(path)
            else:
                # Data beside it may be asked for in the sandbox only.
                found.update((tests / path.relative_to(tests).parts[0]).rglob("*"))
        elif path.is_relative_to(tree) and not path.is_relative_to(tree / "Lib"):
            found.add(path)
    for path in (tree / path for path in outcomes.listed):
        if path.is_relative_to(tests):
            found.update(path.glob("*"))
    return sorted(path for path in found if path.is_file() and "__pycache__" not in path.parts)


def encode_file(path):
    content = path.read_bytes()
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def post(server, key, body):
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    request = urllib.request.Request(server.rstrip("/") + "/v1/execute", json.dumps(body).encode(), headers)
    while True:
        try:
            with urllib.request.urlopen(request, timeout=REQUEST_SECONDS) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code != 429:
                raise CannotRun(f"{server}: {error.code}: {error.read().decode(errors='replace')[:500]}") from error
            time.sleep(BUSY_SECONDS)
        except (OSError, ValueError) as error:
            raise CannotRun(f"{server}: {error!r}") from error


def run_in_sandbox(options, native, module, lift, natively):
    files = {f"{SANDBOX_ROOT}/{path.relative_to(native.tree)}": encode_file(path) for path in list_files(native, module, lift, natively)}
    code = DRIVER.read_text()

    def attempt(leave_out):
        driver = {"lib": f"{SANDBOX_ROOT}/Lib", "cwd": "/tmp/work", "module": module, "lift": lift, "leave_out": leave_out}
        body = {
            "code": code, "args": [json.dumps(driver)], "env": {"HOME": SANDBOX_ROOT, "TMPDIR": "/tmp", "PATH": "/bin", "LANG": "C.UTF-8"},
            "files": files, "policy": "permissive", "limits": LIMITS,
        }  # fmt: skip
        answer = post(options.server, options.key, body)
        if answer["status"] == "infrastructure_error":
            raise CannotRun(f"{module}: {answer['error']}")
        if answer["runtime"]["python"] != native.version:
            raise CannotRun(f"the sandbox has Python {answer['runtime']['python']}, the native one is {native.version}")
        error = answer["error"] or {}
        return answer["stdout"], f"{answer['stderr_class']}: {error.get('message', '')}"

    return collect(module, attempt)


def is_named(test, line):
    """Tells whether a line of differences.toml is the test's id, or that of its class, module or package."""
    return test == line or test.startswith(line + ".")


class Difference:
    """An entry of differences.toml: tests by their ids or prefixes, or by the reason that they skip or fail with."""

    KEYS = {"kind", "reason", "tests", "skips", "fails", "lacks", "sometimes"}

    def __init__(self, entry):
        unknown = set(entry) - self.KEYS
        if unknown or entry.get("kind") not in KINDS or not entry.get("reason") or not {"tests", "skips", "fails"} & set(entry):
            raise CannotRun(f"differences.toml: {entry}: kind ({', '.join(KINDS)}), reason, and tests, skips or fails are expected")
        if entry.get("lacks", LACKING[0]) not in LACKING:
            raise CannotRun(f"differences.toml: lacks is one of {', '.join(LACKING)}")
        self.kind, self.reason, self.lacks = entry["kind"], entry["reason"], entry.get("lacks")
        self.sometimes = entry.get("sometimes", False)
        self.tests = entry.get("tests", [])
        self.patterns = {
            outcome: [re.compile(pattern) for pattern in entry.get(key, [])] for outcome, key in (("skipped", "skips"), ("failed", "fails"))
        }

    def match_test(self, test):
        return any(is_named(test, line) for line in self.tests)

    def match_reason(self, outcome, reason):
        """Searches the reason to skip, or the last line of a failure."""
        text = reason.strip().rpartition("\n")[2]
        return any(pattern.search(text) for pattern in self.patterns.get(outcome, []))


class Known:
    """Known differences, as differences.toml lists them."""

    def __init__(self, path=HERE / "differences.toml"):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        self.differences = [Difference(entry) for entry in content["difference"]]
        self.lifted = content["lifted_skip"]

    def lift(self, module):
        return [entry["skip"] for entry in self.lifted if module in entry["modules"]]

    def explain(self, test, outcome, reason):
        """Returns the first entry that names the test, or else the first that matches the reason."""
        by_name = next((each for each in self.differences if each.match_test(test)), None)
        return by_name or next((each for each in self.differences if each.match_reason(outcome, reason)), None)


class Row:
    """The comparison of one module."""

    def __init__(self, module, natively, sandboxed, known):
        self.module = module
        self.base = [test for test, (outcome, _) in natively.tests.items() if outcome == "passed"]
        if not self.base:
            reasons = "; ".join(reason.strip().splitlines()[-1] for _, reason in natively.holders.values())
            raise CannotRun(f"{module}: nothing passes natively: {reasons or 'there are no tests, or all skip'}")
        self.passed, self.skipped, self.failed, self.unlisted, self.explained = [], [], [], [], []
        for test in self.base:
            outcome, reason = sandboxed.find(module, test)
            if outcome == "passed":
                self.passed.append(test)
                continue
            (self.skipped if outcome == "skipped" else self.failed).append(test)
            difference = known.explain(test, outcome, reason)
            if difference:
                self.explained.append((test, difference))
            else:
                self.unlisted.append((test, outcome, reason))

    def count_lacking(self):
        return sum(difference.lacks is not None for _, difference in self.explained)

    def show_ratio(self):
        return f"{len(self.passed) / len(self.base):.1%}"


def read_modules():
    """Returns the names in modules.txt, and which of them are marked as the sample."""
    words = [line.split() for line in (HERE / "modules.txt").read_text().splitlines() if line and not line.startswith("#")]
    return [line[0] for line in words], [line[0] for line in words if line[1:] == ["sample"]]


def compare_all(options, native, known, modules):
    """Returns a row for each module, in their order; those not begun within the bound are left out."""
    cache = options.cache / native.hash_contents()
    begin, done, counting = time.monotonic(), 0, threading.Lock()
    copied, copying = [], threading.Lock()

    def copy():
        with copying:
            if not copied:
                copied.append(stack.enter_context(native.copy()))
            return copied[0]

    def compare(module):
        nonlocal done
        if options.bounded and time.monotonic() - begin > options.bounded:
            return None
        lift = known.lift(module)
        natively = find_natively(copy, cache, module, lift)
        if options.native_only:
            sandboxed = natively
        else:
            sandboxed = run_in_sandbox(options, native, module, lift, natively)
        row = Row(module, natively, sandboxed, known)
        with counting:
            done += 1
            print(
                f"[{done}/{len(modules)}, {time.monotonic() - begin:.0f} s] {module}: {len(row.passed)} of {len(row.base)} pass, "
                f"{len(row.skipped)} skip, {len(row.failed)} fail, {len(row.unlisted)} of these not listed",
                file=sys.stderr, flush=True,
            )  # fmt: skip
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{module}.json").write_text(json.dumps(sandboxed.to_json(), indent=1))
        return row

    with contextlib.ExitStack() as stack, ThreadPoolExecutor(options.jobs) as pool:
        rows = pool.map(compare, modules)
        return [row for row in rows if row]


def find_stale(known, rows):
    """Returns lines of differences.toml that name tests that all pass now."""
    passed = {test for row in rows for test in row.passed}
    differing = {test for row in rows for test, _ in row.explained}
    stale = []
    for difference in known.differences:
        if difference.sometimes:
            continue
        for line in difference.tests:
            if any(is_named(test, line) for test in passed) and not any(is_named(test, line) for test in differing):
                stale.append(line)
    return stale


def count_totals(rows):
    names = ("base", "passed", "skipped", "failed", "unlisted")
    totals = {name: sum(len(getattr(row, name)) for row in rows) for name in names}
    totals["lacking"] = sum(row.count_lacking() for row in rows)
    return totals


def count_causes(rows):
    """Returns entries of differences.toml with the number of tests, most first."""
    counts = {}
    for row in rows:
        for _, difference in row.explained:
            counts[difference] = counts.get(difference, 0) + 1
    return sorted(counts.items(), key=lambda item: -item[1])


def divide(part, whole):
    return f"{part / whole:.2%}" if whole else "-"


def write_report(path, known, rows, left_out):
    """Writes tables in Markdown: totals, causes, modules."""
    totals = count_totals(rows)
    rest = totals["base"] - totals["lacking"]
    ran = totals["passed"] + totals["failed"]
    lines = [
        "| | tests |", "| --- | ---: |",
        f"| modules | {len(rows)} |",
        f"| pass natively | {totals['base']} |",
        f"| of those, pass in the sandbox | {totals['passed']} |",
        f"| fail in the sandbox | {totals['failed']} |",
        f"| skip in the sandbox | {totals['skipped']} |",
        f"| skip or fail for want of threads, processes or sockets | {totals['lacking']} |",
        f"| pass, of those that pass natively | {divide(totals['passed'], totals['base'])} |",
        f"| pass, without those that want threads, processes or sockets | {divide(totals['passed'], rest)} |",
        f"| pass, of those that ran | {divide(totals['passed'], ran)} |",
        "", "| kind | cause | tests |", "| --- | --- | ---: |",
    ]  # fmt: skip
    lines += [f"| {difference.kind} | {difference.reason} | {count} |" for difference, count in count_causes(rows)]
    lines += [f"| not listed | | {totals['unlisted']} |"] if totals["unlisted"] else []
    compared = {row.module for row in rows}
    lines += ["", "Skips of whole modules that were taken off:", ""]
    for entry in known.lifted:
        names = [module for module in entry["modules"] if module in compared]
        if names:
            lines.append(f"- `{entry['skip']}`: {entry['reason']} ({', '.join(names)})")
    lines += ["", "| module | pass natively | pass in the sandbox | fail | skip | ratio |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for row in rows:
        lines.append(f"| {row.module} | {len(row.base)} | {len(row.passed)} | {len(row.failed)} | {len(row.skipped)} | {row.show_ratio()} |")
    if left_out:
        lines += ["", f"Not begun within the bound: {', '.join(left_out)}"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def parse_options():
    base = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "proofbox"
    build = pathlib.Path(os.environ.get("PROOFBOX_CACHE_DIR") or base) / "build"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", metavar="URL", help="the service; needed unless --native-only is given")
    parser.add_argument("--key", help="API key, if the service asks for one")
    parser.add_argument("--modules", nargs="+", metavar="NAME", help="only these, such as test_json or test_asyncio.test_tasks; need not be in modules.txt")
    parser.add_argument("--sample", action="store_true", help="only the modules that modules.txt marks: a part for CI")
    parser.add_argument("--bounded", type=float, metavar="SECONDS", help="begin no further module after this time")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="modules at once, default 2")
    parser.add_argument("--report", type=pathlib.Path, metavar="FILE", help="write tables in Markdown")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="write each module's outcomes in the sandbox as JSON")
    parser.add_argument("--native-only", action="store_true", help="only fill the cache of native results")
    parser.add_argument("--python", type=pathlib.Path, default=build / "native/python", help="the native Python, default %(default)s")
    parser.add_argument("--tree", type=pathlib.Path, default=build / "trees/python", help="CPython's source tree, default %(default)s")
    parser.add_argument("--cache", type=pathlib.Path, default=base / "cpython-tests", help="where native results are kept, default %(default)s")
    options = parser.parse_args()
    if not options.server and not options.native_only:
        parser.error("--server or --native-only is needed")
    return options


def main():
    options = parse_options()
    all_modules, sample = read_modules()
    modules = options.modules or (sample if options.sample else all_modules)
    known = Known()
    rows = compare_all(options, Native(options.python, options.tree), known, modules)
    left_out = sorted(set(modules) - {row.module for row in rows})
    if options.report:
        write_report(options.report, known, rows, left_out)
    for row in rows:
        for test, outcome, reason in row.unlisted:
            print(f"not listed: {outcome} {test}\n    {reason.strip()}".replace("\n", "\n    "))
    for line in find_stale(known, rows):
        print(f"unexpected pass: delete the line in differences.toml: {line}")
    if not left_out and modules == all_modules:
        used = dict(count_causes(rows))
        for difference in known.differences:
            if difference not in used and not difference.sometimes:
                print(f"nothing matches: delete the entry in differences.toml: {difference.reason}")
    if left_out:
        print(f"not begun within {options.bounded:.0f} s: {', '.join(left_out)}")
    totals = count_totals(rows)
    listed = totals["skipped"] + totals["failed"] - totals["unlisted"]
    print(
        f"{totals['passed']} of {totals['base']} tests that pass natively pass in the sandbox ({divide(totals['passed'], totals['base'])}), "
        f"{listed} differ as listed, {totals['unlisted']} not listed"
    )
    return 1 if totals["unlisted"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotRun as error:
        print(f"run.py: {error}", file=sys.stderr)
        sys.exit(2)
