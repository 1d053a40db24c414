#!/usr/bin/env python3
"""Runs the test suites of E2B's SDKs, out of their repositories, against a service. docs/reference/e2b.md has the results.

A test is live if it fails where nothing listens. A live test that fails has its cause in causes.toml, or is reported. Exits with 0
when there is nothing else, with 1 on a failure that is not listed or a listed test that passes, and with 2 when it can't run.

  python3 tests/e2b_suites/run.py --server http://127.0.0.1:8080 [--sources DIR]
"""

import argparse
import collections
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import xml.etree.ElementTree
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
KEY = "e2b_0123456789abcdef0123456789abcdef01234567"
# Nothing listens there.
NOWHERE = "http://127.0.0.1:9"
SUITE_SECONDS = 1800
KINDS = {
    "impossible": "not possible in a sandbox without network, processes and kernel",
    "missing": "not there",
    "defect": "open defects",
    "suite": "not of the service: the test replaces E2B's address, and fails because it is set",
}


class CannotRun(Exception):
    """States why nothing can be measured."""


@dataclass(frozen=True)
class Suite:
    """A test suite: the folder of a repository at a commit, with the SHA-256 of its files."""

    name: str
    repository: str
    tag: str
    commit: str
    folder: str
    sha256: str

    @property
    def is_python(self):
        return self.name.endswith("python")


SUITES = [
    Suite(
        "e2b-python", "E2B", "@e2b/python-sdk@2.45.1", "e139fc38e0395907b645ab66732c2a649bc2167e", "packages/python-sdk",
        "80eec675f32cd44c11e40161cc368d0d82282d1a33a813f01e93e9dad9cc929a",
    ),
    Suite(
        "e2b-js", "E2B", "e2b@2.45.0", "f6014f17ce12609e00304311d75e550dba1bfe7a", "packages/js-sdk",
        "e820c477f83021df53a6fc11be0a801f62f6d7eb01229eaa50bd3abd34ab00ee",
    ),
    Suite(
        "ci-python", "code-interpreter", "@e2b/code-interpreter-python@2.9.1", "f615cb7b968eb20a98107570b8b642e3fbf5724f", "python",
        "2689881472f78fbaf3fe55a7c02b1d844479fa31148aea461dac13605bf4fcbb",
    ),
    Suite(
        "ci-js", "code-interpreter", "@e2b/code-interpreter@2.7.1", "f615cb7b968eb20a98107570b8b642e3fbf5724f", "js",
        "469d593f13e4ed5eb6ef1e9fbc75eb163e61e1d5a984a1572b2af00f6b5d99f4",
    ),
]  # fmt: skip


def run(command, **options):
    """Runs a program that is not the subject of a test."""
    try:
        return subprocess.run(command, check=True, capture_output=True, **options)
    except FileNotFoundError as error:
        raise CannotRun(f"{command[0]} is missing") from error
    except subprocess.CalledProcessError as error:
        raise CannotRun(f"{' '.join(map(str, command))}: {error.stderr.decode(errors='replace').strip()[-2000:]}") from error


def find_repository(suite, sources, work):
    """Returns a git directory that has the suite's commit."""
    if sources:
        repository = sources / suite.repository
        if not repository.exists():
            raise CannotRun(f"{repository} is missing: --sources is a folder with git repositories of e2b-dev/E2B and e2b-dev/code-interpreter")
        return repository
    repository = work / f"{suite.repository}.git"
    if not repository.exists():
        run(["git", "init", "--quiet", "--bare", repository])
    try:
        if subprocess.run(["git", "-C", repository, "cat-file", "-e", suite.commit], capture_output=True).returncode:
            url = f"https://github.com/e2b-dev/{suite.repository}"
            run(["git", "-C", repository, "fetch", "--quiet", "--depth", "1", url, suite.commit])
    except CannotRun as error:
        raise CannotRun(
            f"{error}\nThe sources of {suite.name} could not be fetched. Give --sources DIR, with git repositories DIR/E2B and "
            f"DIR/code-interpreter (clones of github.com/e2b-dev/…, bare or not) that have the commit {suite.commit} ({suite.tag})."
        ) from error
    return repository


def hash_files(folder):
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def unpack(suite, sources, work):
    """Unpacks a suite, and returns its folder."""
    whole = work / "sources" / suite.name
    shutil.rmtree(whole, ignore_errors=True)
    repository = find_repository(suite, sources, work)
    archive = run(["git", "-C", repository, "archive", "--format=tar", suite.commit, suite.folder]).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(whole, filter="data")
    folder = whole / suite.folder
    found = hash_files(folder)
    if found != suite.sha256:
        raise CannotRun(f"the files of {suite.name} have the SHA-256 {found}, not {suite.sha256}")
    if suite.is_python:
        # The SDK under test is the published package.
        for package in ("e2b", "e2b_code_interpreter"):
            shutil.rmtree(folder / package, ignore_errors=True)
    return folder


def install(work):
    """Installs what the suites need, pinned; returns the Python that has the packages."""
    pinned = b"".join((HERE / name).read_bytes() for name in ("requirements.txt", "package-lock.json"))
    mark, wanted = work / "installed", hashlib.sha256(pinned).hexdigest()
    python = work / "venv/bin/python"
    if mark.exists() and mark.read_text() == wanted:
        return python
    venv.create(work / "venv", clear=True, with_pip=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "--no-deps"]
    run([*pip, "-r", HERE / "requirements.txt"])
    for name in ("package.json", "package-lock.json"):
        shutil.copy2(HERE / name, work / name)
    run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=work)
    mark.write_text(wanted)
    return python


def read_junit(path):
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        ends = {child.tag for child in case}
        failed, skipped = ends & {"failure", "error"}, "skipped" in ends
        yield f"{case.get('classname')}::{case.get('name')}", "failed" if failed else "skipped" if skipped else "passed"


def read_vitest(path, folder):
    for file in json.loads(path.read_text())["testResults"]:
        name = pathlib.Path(file["name"]).relative_to(folder)
        if not file["assertionResults"]:
            yield f"{name}", "failed"
        for test in file["assertionResults"]:
            status = test["status"] if test["status"] in ("passed", "failed") else "skipped"
            yield f"{name} > {test['fullName']}", status


def run_suite(suite, folder, server, python, work, options, only=()):
    """Runs a suite against a server, and returns the outcome of each test by its name."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("E2B_")}
    environment |= {"E2B_API_URL": server, "E2B_SANDBOX_URL": server, "E2B_API_KEY": KEY, "SUITE_JOBS": str(options.jobs)}
    if server == NOWHERE:
        environment["E2B_CONNECTION_RETRIES"] = "0"
    report = work / f"{suite.name}.report"
    report.unlink(missing_ok=True)
    if suite.is_python:
        command = [python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(options.jobs), f"--junitxml={report}", *only]
    else:
        vitest = [work / "node_modules/.bin/vitest", "run", "--root", folder, "--config", HERE / "vitest.config.mjs"]
        # Modules are looked for from there.
        config = work / "vitest.config.mjs"
        shutil.copy2(HERE / "vitest.config.mjs", config)
        vitest[-1] = config
        command = [*vitest, "--reporter=json", f"--outputFile={report}", *only]
    log = work / f"{suite.name}{'.nowhere' if server == NOWHERE else ''}.log"
    with log.open("wb") as output:
        subprocess.run(command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT, timeout=SUITE_SECONDS)
    if not report.exists():
        raise CannotRun(f"{suite.name} did not run: see {log}")
    outcomes = {}
    for name, outcome in read_junit(report) if suite.is_python else read_vitest(report, folder):
        # Tests of the same name count as one, which fails if any of them does.
        if outcomes.get(name) != "failed":
            outcomes[name] = outcome
    return outcomes


def find_live(suite, folder, python, work, options):
    """Returns the names of the tests that fail where nothing listens."""
    known = work / f"{suite.name}-{suite.sha256[:16]}.live.json"
    if not known.exists():
        outcomes = run_suite(suite, folder, NOWHERE, python, work, options)
        known.write_text(json.dumps([name for name, outcome in outcomes.items() if outcome == "failed"]))
    return set(json.loads(known.read_text()))


@dataclass
class Cause:
    """A reason why tests fail, and the tests: a regular expression for each suite."""

    name: str
    kind: str
    sometimes: bool
    tests: dict

    def matches(self, suite, test):
        return suite.name in self.tests and self.tests[suite.name].search(test) is not None


def read_causes():
    causes = []
    for entry in tomllib.loads((HERE / "causes.toml").read_text())["cause"]:
        tests = {suite: re.compile("|".join(patterns)) for suite, patterns in entry["tests"].items()}
        causes.append(Cause(entry["name"], entry["kind"], entry.get("sometimes", False), tests))
    unknown = [cause.kind for cause in causes if cause.kind not in KINDS]
    if unknown:
        raise CannotRun(f"causes.toml: unknown kinds {', '.join(unknown)}")
    return causes


def measure(suite, options, python, work, causes):
    """Returns the live tests of a suite: its outcomes, and the causes of those that failed."""
    folder = unpack(suite, options.sources, work)
    live = find_live(suite, folder, python, work, options)
    outcomes = run_suite(suite, folder, options.server.rstrip("/"), python, work, options, options.only)
    rows = {}
    for test, outcome in outcomes.items():
        cause = next((cause for cause in causes if cause.matches(suite, test)), None)
        if test in live and not (cause and cause.kind == "suite"):
            rows[test] = outcome, cause
        elif outcome == "failed" and not cause:
            rows[test] = outcome, None
    return rows


def write_report(path, measured, causes):
    """Writes the tables of docs/reference/e2b.md."""
    lines = ["| suite | live tests | passed | failed |", "| --- | ---: | ---: | ---: |"]
    counts = [(suite, len(rows), sum(outcome == "passed" for outcome, _ in rows.values())) for suite, rows in measured.items()]
    counts.append((None, sum(row[1] for row in counts), sum(row[2] for row in counts)))
    for suite, total, passed in counts:
        name = f"{suite.tag}" if suite else "all"
        lines.append(f"| {name} | {total} | {passed} | {total - passed} |")
    for kind, meaning in KINDS.items():
        found = [(cause, count_cause(measured, cause)) for cause in causes if cause.kind == kind and kind != "suite"]
        found = [(cause, count) for cause, count in found if any(count.values())]
        if found:
            lines += ["", f"{meaning}:", "", f"| cause | {' | '.join(suite.name for suite in measured)} |", "| --- |" + " ---: |" * len(measured)]
            lines += [f"| {cause.name} | {' | '.join(str(count[suite] or '') for suite in measured)} |" for cause, count in found]
    path.write_text("\n".join(lines) + "\n")


def count_cause(measured, cause):
    return collections.Counter({
        suite: sum(outcome != "passed" and of is cause for outcome, of in rows.values()) for suite, rows in measured.items()
    })  # fmt: skip


def parse_options():
    base = pathlib.Path(os.environ.get("PROOFBOX_CACHE_DIR") or pathlib.Path.home() / ".cache/proofbox")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", help="files or options for pytest or vitest: then only --suite is useful")
    parser.add_argument("--server", required=True, help="the service, such as http://127.0.0.1:8080; it serves without a key")
    parser.add_argument("--suite", action="append", choices=[suite.name for suite in SUITES], help="only this one; may be repeated")
    parser.add_argument("--sources", type=pathlib.Path, metavar="DIR", help="git repositories E2B and code-interpreter, instead of GitHub's")
    parser.add_argument("--work", type=pathlib.Path, metavar="DIR", default=base / "e2b-suites", help="what is installed and unpacked, default %(default)s")
    parser.add_argument("--jobs", type=int, default=3, metavar="N", help="tests at once, default 3")
    parser.add_argument("--report", type=pathlib.Path, metavar="FILE", help="write tables in Markdown")
    return parser.parse_args()


def main():
    options = parse_options()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    causes = read_causes()
    python = install(work)
    suites = [suite for suite in SUITES if not options.suite or suite.name in options.suite]
    measured = {suite: measure(suite, options, python, work, causes) for suite in suites}
    if options.report:
        write_report(options.report, measured, causes)
    wrong = 0
    for suite, rows in measured.items():
        for test, (outcome, cause) in rows.items():
            if outcome != "passed" and cause is None:
                print(f"not listed: {suite.name}: {test}")
                wrong += 1
            elif outcome == "passed" and cause is not None and not cause.sometimes:
                print(f"unexpected pass: {suite.name}: {test} ({cause.name})")
                wrong += 1
    for cause in causes:
        failed = sum(count_cause(measured, cause).values())
        if failed:
            print(f"{failed:4} {cause.kind}: {cause.name}")
    for suite, rows in measured.items():
        print(f"{suite.name}: {sum(outcome == 'passed' for outcome, _ in rows.values())} of {len(rows)} live tests passed")
    total, passed = sum(map(len, measured.values())), sum(outcome == "passed" for rows in measured.values() for outcome, _ in rows.values())
    print(f"{passed} of {total} live tests passed, {wrong} not as listed")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotRun as error:
        print(f"run.py: {error}", file=sys.stderr)
        sys.exit(2)
