"""numpy's own tests, in the sandbox and natively with the same version: what passes here of what passes there.

    python3 tests/numpy/run.py --server http://127.0.0.1:8000 --python NATIVE_PYTHON [--sources numpy-X.tar.gz] [--only FILE ...]

NATIVE_PYTHON has numpy of the image's version, pytest and hypothesis. Each file of tests runs in a fresh sandbox. Says what
fails here and passes natively; differences.toml says why, and what it does not say is unexpected: exit code 1. `--report`
writes the table of docs/explanation/numpy.md."""

import argparse
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import urllib.request

HERE = pathlib.Path(__file__).parent
DRIVER = (HERE / "driver.py").read_text()
FOLDERS = ("_core", "fft", "lib", "linalg", "ma", "matrixlib", "polynomial", "random")
# What is not run: it tests building, typing and C interfaces of numpy, which are not in a sandbox.
LEFT_OUT = {
    "numpy/_core/tests/test_cython.py": "compiles extension modules",
    "numpy/_core/tests/test_limited_api.py": "compiles extension modules",
    "numpy/_core/tests/test_mem_policy.py": "compiles extension modules",
    "numpy/random/tests/test_extending.py": "compiles extension modules",
    "numpy/_core/tests/test_argparse.py": "starts threads",
    "numpy/_core/tests/test_multithreading.py": "starts threads",
    "numpy/_core/tests/test_simd.py": "tests numpy's _simd module, which has no WebAssembly",
    "numpy/_core/tests/test_simd_module.py": "tests numpy's _simd module, which has no WebAssembly",
    "numpy/_core/tests/test_cpu_features.py": "starts processes",
    "numpy/_core/tests/test_cpu_dispatcher.py": "there is one target of code",
}
# Tests that use something of another file of tests.
USED = {
    "numpy/_core/tests/test_deprecations.py": "numpy/lib/tests/test_io.py",
    "numpy/matrixlib/tests/test_matrix_linalg.py": "numpy/linalg/tests/test_linalg.py",
}
SERVER_LIMITS = {
    "fuel": 10_000_000_000_000, "wall_seconds": 600, "memory_bytes": 2_147_483_648, "output_bytes": 16_777_216,
    "files_bytes": 268_435_456,
}  # fmt: skip


def files_of(archive):
    """Everything below a `tests` directory, and conftest.py, by its path in the sandbox."""
    files = {}
    with tarfile.open(archive) as source:
        for member in source:
            path = pathlib.PurePosixPath(*pathlib.PurePosixPath(member.name).parts[1:])
            if member.isfile() and path.parts[:1] == ("numpy",) and ("tests" in path.parts or str(path) == "numpy/conftest.py"):
                files[str(path)] = source.extractfile(member).read()
    return files


def events_in_sandbox(server, files, test, left_out):
    import base64

    folder = str(pathlib.PurePosixPath(test).parent)
    wanted = {
        path: {"base64": base64.b64encode(content).decode()}
        for path, content in files.items()
        if path == "numpy/conftest.py" or not pathlib.PurePosixPath(path).name.startswith("test_") and path.endswith(".py")
        or path.startswith(f"{folder}/data/") or path in (test, USED.get(test))
    }
    body = {
        "code": DRIVER, "args": ["/home/user", test, "--", *left_out], "files": wanted, "policy": "permissive", "limits": SERVER_LIMITS,
    }  # fmt: skip
    request = urllib.request.Request(f"{server}/v1/execute", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=900) as answer:
        told = json.load(answer)
    return told["stdout"], told["error"] and f"{told['error']['class']}: {told['error']['message']}"


def events_natively(python, root, test, left_out):
    command = [python, HERE / "driver.py", root, test, "--", *left_out]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    return done.stdout, None if done.returncode == 0 else f"exit code {done.returncode}"


def outcomes(run, test):
    """Outcome and reason by node; a test that ends the interpreter is left out of the next try."""
    found, left_out = {}, []
    for _ in range(12):
        text, error = run(test, left_out)
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
        left_out = [*(node for node in found)]
    return found


def explained(node, why, differences):
    for entry in differences:
        if any(fnmatch.fnmatchcase(node, pattern.replace("[", "[[]")) for pattern in entry["tests"]):
            return entry["because"]
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--sources", type=pathlib.Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--kept", type=pathlib.Path, help="directory where native outcomes are kept, as they don't change")
    parser.add_argument("--report", type=pathlib.Path)
    arguments = parser.parse_args()
    cache = pathlib.Path(os.environ.get("PROOFBOX_CACHE_DIR", "~/.cache/proofbox")).expanduser()
    archive = arguments.sources or next((cache / "build/sources").glob("numpy-*.tar.gz"))
    files = files_of(archive)
    tests = sorted(
        path for path in files
        if pathlib.PurePosixPath(path).match("test_*.py") and path.split("/")[1] in FOLDERS and "/src/" not in path and path not in LEFT_OUT
    )  # fmt: skip
    if arguments.only:
        tests = [test for test in tests if any(word in test for word in arguments.only)]
    differences = tomllib.loads((HERE / "differences.toml").read_text())["difference"]
    rows, unexpected, totals = [], [], [0, 0, 0, 0]
    with tempfile.TemporaryDirectory() as root:
        for path, content in files.items():
            target = pathlib.Path(root, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        for test in tests:
            native = natively(arguments, root, test)
            here = outcomes(lambda test, left_out: events_in_sandbox(arguments.server, files, test, left_out), test)
            expected = [node for node, (outcome, _) in native.items() if outcome == "passed"]
            passed = [node for node in expected if here.get(node, ("absent",))[0] == "passed"]
            skipped = [node for node in expected if here.get(node, ("absent",))[0] in ("skipped", "xfailed")]
            failed = [node for node in expected if node not in set(passed) | set(skipped)]
            rows.append((test, len(expected), len(passed), len(skipped), len(failed)))
            totals = [total + number for total, number in zip(totals, rows[-1][1:])]
            print(f"{test}: {len(passed)} of {len(expected)} pass, {len(skipped)} skipped", flush=True)
            for node in failed + skipped:
                outcome, why = here.get(node, ("absent", "not collected"))
                because = explained(node, why, differences)
                if because is None:
                    unexpected.append(node)
                print(f"  {outcome} {node}: {because or 'UNEXPECTED ' + why[-300:].strip()}", flush=True)
    share = totals[1] / max(totals[0], 1)
    print(f"{totals[1]} of {totals[0]} that pass natively pass here ({share:.2%}); {totals[2]} are skipped, {totals[3]} fail")
    if arguments.report:
        lines = ["| file | pass natively | pass here | skipped here | fail here |", "| --- | ---: | ---: | ---: | ---: |"]
        lines += [f"| {test.removeprefix('numpy/')} | {a} | {b} | {c} | {d} |" for test, a, b, c, d in rows]
        lines.append(f"| all | {totals[0]} | {totals[1]} | {totals[2]} | {totals[3]} |")
        arguments.report.write_text("\n".join(lines) + "\n")
    sys.exit(1 if unexpected or share < 0.98 else 0)


def natively(arguments, root, test):
    kept = arguments.kept and arguments.kept / (test.replace("/", "-") + ".json")
    if kept and kept.is_file():
        return json.loads(kept.read_text())
    found = outcomes(lambda test, left_out: events_natively(arguments.python, root, test, left_out), test)
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(found))
    return found


if __name__ == "__main__":
    main()
