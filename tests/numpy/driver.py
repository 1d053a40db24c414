"""Runs test files of numpy's with pytest, and prints what became of each test: one JSON object a line.

Runs in the sandbox and natively alike: `driver.py ROOT FILE... [-- NODE...]`, nodes to leave out last."""

import json
import os
import sys
import tempfile
import types

PACKAGES = ("_core", "fft", "lib", "linalg", "ma", "matrixlib", "polynomial", "random", "testing")


def say(**what):
    # On a line of its own, after pytest's dots.
    sys.__stdout__.write(f"\n{json.dumps(what)}\n")
    sys.__stdout__.flush()


class Recorder:
    def __init__(self, left_out):
        self.left_out = left_out

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.nodeid not in self.left_out]
        say(collected=len(items))

    def pytest_collectreport(self, report):
        if report.failed:
            say(id=report.nodeid, outcome="failed", why=f"collection: {report.longreprtext[-600:]}")

    def pytest_runtest_logstart(self, nodeid):
        say(begins=nodeid)

    def pytest_runtest_logreport(self, report):
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xfailed" if report.skipped else "xpassed"
        if report.when == "call" or outcome != "passed":
            why = ""
            if outcome != "passed":
                why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext[-500:]
            say(id=report.nodeid, outcome=outcome, why=why)


class Absent(types.ModuleType):
    """Stands for a module that a sandbox has not, so that files of tests that import it can be loaded."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def main():
    root, *files = sys.argv[1:]
    left_out = files[files.index("--") + 1 :] if "--" in files else []
    files = files[: files.index("--")] if "--" in files else files
    os.chdir(root)
    import numpy
    import pytest

    # numpy takes a machine of this name for one without floating-point errors, which is not so here.
    numpy.testing.IS_WASM = False
    for name in ("ctypes", "mmap"):
        try:
            __import__(name)
        except ImportError:
            sys.modules[name] = Absent(name)
    # Tests import from each other by the names that they have where numpy is installed.
    for package in PACKAGES:
        folder, name = os.path.join(root, "numpy", package, "tests"), f"numpy.{package}.tests"
        module = sys.modules.get(name) or types.ModuleType(name)
        module.__path__ = [folder, *getattr(module, "__path__", ())]
        sys.modules[name] = module
        setattr(sys.modules[f"numpy.{package}"] if f"numpy.{package}" in sys.modules else __import__(f"numpy.{package}", fromlist=["tests"]), "tests", module)
    say(version=numpy.__version__)
    options = ["-q", "--basetemp", tempfile.mkdtemp(), "-p", "no:cacheprovider", "-p", "no:faulthandler", "--capture=sys", "--tb=short", "--rootdir", root, "-m", "not slow"]
    pytest.main([*options, *files], plugins=[Recorder(set(left_out))])
    say(done=True)


main()
