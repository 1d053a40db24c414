"""The own tests of the packages of the interpreter `data`, in part: what passes in the sandbox of what passes natively.

    python3 tests/packages/own_tests.py --server http://127.0.0.1:8000 --python NATIVE_PYTHON [--only WORD ...] [--kept DIR]

NATIVE_PYTHON has the packages in the image's versions, pytest and hypothesis. The tests are those of the pinned source archives, as
the build keeps them (`--sources`, else the cache's). Each file of tests runs in a fresh sandbox, with what its folder has beside
it. `own_tests.toml` says which files, and why tests fail here that pass natively; what it does not say is unexpected: exit
code 1, as below 98 % of a suite. `--report` writes the table of docs/reference/packages.md."""

import argparse
import base64
import collections
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).parent
DRIVER = HERE / "own_tests_driver.py"
LIMITS = {
    "fuel": 10_000_000_000_000, "wall_seconds": 600, "memory_bytes": 2_147_483_648, "output_bytes": 16_777_216,
    "files_bytes": 268_435_456,
}  # fmt: skip
# Data beside tests that is larger than this is not sent (pandas has files of Stata and SAS for its readers).
MAX_DATA_BYTES = 20_000_000
# Interpreters that end before their tests do are tried again without what ended them, at most so often.
TRIES = 64


class Suite:
    """Files of tests of one package."""

    def __init__(self, entry, sources):
        self.name, self.prefix = entry["name"], entry.get("prefix", "")
        (archive,) = sources.glob(entry["archive"])
        self.files = {}
        with tarfile.open(archive) as source:
            for member in source:
                path = str(pathlib.PurePosixPath(*pathlib.PurePosixPath(member.name).parts[1:]))
                if not member.isfile() or not path.startswith(self.prefix):
                    continue
                path = path.removeprefix(self.prefix)
                parts = pathlib.PurePosixPath(path).parts
                if parts[:1] == (self.name,) and ("tests" in parts or parts[-1] == "conftest.py"):
                    self.files[path] = source.extractfile(member).read()
        wanted = [re.compile(fnmatch.translate(pattern)) for pattern in entry["files"]]
        left_out = entry.get("left_out", {})
        self.tests = sorted(
            path for path in self.files
            if any(pattern.match(path) for pattern in wanted) and pathlib.PurePosixPath(path).match("test_*.py") and path not in left_out
        )  # fmt: skip
        self.data = entry.get("data", [])

    def sent_with(self, test):
        """Returns the files that a file of tests needs beside it: the package's conftest files, its folder's modules,
        and data."""
        folder = f"{pathlib.PurePosixPath(test).parent}/"
        text = self.files[test].decode(errors="replace")
        imported = {f"{folder}{name}.py" for name in re.findall(r"^from \.(\w+) import", text, re.MULTILINE)}
        tests = test.split("/tests/")[0] + "/tests/"
        found, size = {}, 0
        for path, content in self.files.items():
            name = pathlib.PurePosixPath(path).name
            is_test = name.startswith("test_") and path.endswith(".py")
            helper = path.endswith(".py") and not is_test and path.startswith((tests, f"{self.name}/tests/", f"{self.name}/conftest.py"))
            helper |= path == f"{self.name}/testing/conftest.py"
            data = path.startswith(folder) and not path.endswith(".py") or any(fnmatch.fnmatchcase(path, pattern) for pattern in self.data)
            if path == test or path in imported or helper or data and size + len(content) < MAX_DATA_BYTES:
                size += len(content)
                found[path] = content
        return found


def in_sandbox(server, files, test, left_out):
    body = {
        "code": DRIVER.read_text(), "args": ["/home/user", test, "--", *left_out], "policy": "permissive", "limits": LIMITS, "image": "data",
        "files": {path: {"base64": base64.b64encode(content).decode()} for path, content in files.items()},
    }  # fmt: skip
    request = urllib.request.Request(f"{server}/v1/execute", json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=900) as answer:
            told = json.load(answer)
    except urllib.error.HTTPError as error:
        return "", f"HTTP {error.code}: {error.read()[:300].decode(errors='replace')}"
    return told["stdout"], told["error"] and f"{told['error']['class']}: {told['error']['message']}"


def in_process(python, files, test, left_out):
    with tempfile.TemporaryDirectory() as root:
        for path, content in files.items():
            target = pathlib.Path(root, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        command = [python, DRIVER, root, test, "--", *left_out]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=1800, cwd=root)
        return done.stdout, None if done.returncode == 0 else f"exit code {done.returncode}: {done.stderr[-300:]}"


def outcomes(run, files, test):
    """Outcome and reason by node; a test that ends the interpreter is left out of the next try."""
    found, left_out = {}, []
    for _ in range(TRIES):
        text, error = run(files, test, left_out)
        begun, done = None, False
        for line in text.splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if not isinstance(event, dict):
                continue
            begun = event.get("begins", begun)
            done |= "done" in event
            if "id" in event and (event["id"] not in found or event["outcome"] != "passed"):
                found[event["id"]] = event["outcome"], event["why"]
        if done or begun is None:
            if not done:
                found[test] = "failed", f"nothing ran: {error}"
            return found
        found[begun] = "failed", f"ended the interpreter: {error}"
        left_out = list(found)
    return found


def kept(folder, test, make):
    """Returns the stored result of a test, or makes and stores it."""
    path = folder and folder / (test.replace("/", "-") + ".json")
    if path and path.is_file():
        return json.loads(path.read_text())
    made = make()
    if path:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(made))
    return made


def explained(node, why, differences):
    for entry in differences:
        by_node = any(fnmatch.fnmatchcase(node, pattern.replace("[", "[[]")) for pattern in entry.get("tests", ()))
        if by_node or any(re.search(pattern, why) for pattern in entry.get("why", ())):
            return entry["because"]
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--sources", type=pathlib.Path)
    parser.add_argument("--only", nargs="*", default=[], help="words of the paths of files")
    parser.add_argument("--kept", type=pathlib.Path, help="directory where native outcomes are kept, as they don't change")
    parser.add_argument("--native-only", action="store_true", help="only fill --kept")
    parser.add_argument("--report", type=pathlib.Path)
    arguments = parser.parse_args()
    cache = pathlib.Path(os.environ.get("PROOFBOX_CACHE_DIR", "~/.cache/proofbox")).expanduser()
    description = tomllib.loads((HERE / "own_tests.toml").read_text())
    totals, unexpected, causes = {}, [], collections.Counter()
    python = pathlib.Path(arguments.python).absolute()
    for entry in description["suite"]:
        suite = Suite(entry, arguments.sources or cache / "build/sources")
        tests = [test for test in suite.tests if not arguments.only or any(word in test for word in arguments.only)]
        for test in tests:
            files = suite.sent_with(test)
            native = kept(arguments.kept, test, lambda: outcomes(lambda *parts: in_process(python, *parts), files, test))
            expected = [node for node, (outcome, _) in native.items() if outcome == "passed"]
            if arguments.native_only:
                print(f"{test}: {len(expected)} pass natively", flush=True)
                continue
            here = outcomes(lambda *parts: in_sandbox(arguments.server, *parts), files, test)
            passed = {node for node in expected if here.get(node, ("absent",))[0] == "passed"}
            skipped = {node for node in expected if here.get(node, ("absent",))[0] in ("skipped", "xfailed")}
            key = group_of(entry, test)
            total = totals.setdefault(key, [0, 0, 0, 0])
            for index, number in enumerate((len(expected), len(passed), len(skipped), len(expected) - len(passed) - len(skipped))):
                total[index] += number
            print(f"{test}: {len(passed)} of {len(expected)} pass, {len(skipped)} skipped", flush=True)
            for node in expected:
                if node in passed:
                    continue
                outcome, why = here.get(node, here.get(test, ("absent", "not collected")))
                because = explained(node, why, description.get("difference", ()))
                causes[because or "unexpected"] += 1
                if because is None:
                    unexpected.append(node)
                print(f"  {outcome} {node}: {because or 'UNEXPECTED ' + ' / '.join(why[-300:].strip().splitlines()[-2:])}", flush=True)
    lines = ["| tests | pass natively | pass here | skipped here | fail here | share |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    lines += [f"| {key} | {a} | {b} | {c} | {d} | {b / max(1, a):.1%} |" for key, (a, b, c, d) in totals.items()]
    print("\n".join(lines))
    for because, count in causes.most_common():
        print(f"{count}: {because}")
    if arguments.report:
        arguments.report.write_text("\n".join(lines) + "\n")
    sys.exit(1 if unexpected or any(row[1] < 0.98 * row[0] for row in totals.values()) else 0)


def group_of(entry, test):
    """The part of a package that a file tests."""
    parts = pathlib.PurePosixPath(test).parts
    if entry.get("group") == "below tests":
        return f"{parts[0]}, {parts[2].removesuffix('.py')}"
    return f"{parts[0]}, {parts[1].removesuffix('.py')}" if parts[1] != "tests" else f"{parts[0]}, {parts[-1].removesuffix('.py')}"


if __name__ == "__main__":
    main()
