"""Runs test files of a package with pytest, and prints what became of each test: one JSON object a line.

Runs in the sandbox and natively alike: `own_tests_driver.py ROOT FILE... [-- NODE...]`, nodes to leave out last. Below ROOT lie the
files of tests by their paths in the package."""

import importlib
import importlib.util
import json
import multiprocessing
import os
import sys
import tempfile
import types


def say(**what):
    # On a line of its own, after pytest's dots.
    sys.__stdout__.write(f"\n{json.dumps(what)}\n")
    sys.__stdout__.flush()


# SciPy's mark of tests that failed on a machine of its own whose addresses have 32 bits: they run here.
EXPECTED_ON_32_BITS = "xfail_on_32bit"


class Recorder:
    def __init__(self, left_out):
        self.left_out = left_out

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.nodeid not in self.left_out]
        for node in {node for item in items for node in item.listchain()}:
            node.own_markers[:] = [mark for mark in node.own_markers if mark.name != EXPECTED_ON_32_BITS]
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


def name_tests(root):
    """Tests import from each other by the names that they have where the package is installed."""
    for folder, folders, _ in os.walk(root):
        if os.path.basename(folder) != "tests":
            continue
        name = os.path.relpath(folder, root).replace(os.sep, ".")
        module = types.ModuleType(name)
        module.__path__ = [folder]
        sys.modules[name] = module
        setattr(importlib.import_module(name.rpartition(".")[0]), "tests", module)
        folders.clear()


def load_support(root, package):
    """Loads the modules that only conftest.py files import from the package: the image leaves them out."""
    name = f"{package}.testing.conftest"
    path = os.path.join(root, *name.split(".")) + ".py"
    if os.path.isfile(path):
        importlib.import_module(f"{package}.testing")
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])


# Root mean square of the differences between two images of the same figure, of 255, which text of another version of FreeType makes.
IMAGE_TOLERANCE = 20


def allow_other_glyphs():
    """matplotlib's reference images have text of the FreeType that it is tested with."""
    from matplotlib.testing import decorators

    make = decorators._ImageComparisonBase.__init__

    def make_tolerant(self, func, tol, **rest):
        make(self, func, max(tol, IMAGE_TOLERANCE), **rest)

    decorators._ImageComparisonBase.__init__ = make_tolerant


def main():
    root, *files = sys.argv[1:]
    left_out = files[files.index("--") + 1 :] if "--" in files else []
    files = files[: files.index("--")] if "--" in files else files
    os.chdir(root)
    import pytest

    name_tests(root)
    package = importlib.import_module(files[0].split("/")[0])
    if package.__name__ == "matplotlib":
        allow_other_glyphs()
    load_support(root, package.__name__)
    # SciPy's chooses one that only Unix has; where there are no processes, none is started.
    multiprocessing.set_start_method = lambda method, force=False: None
    say(version=package.__version__)
    options = [
        "-q", "--basetemp", tempfile.mkdtemp(), "-p", "no:cacheprovider", "-p", "no:faulthandler", "--capture=sys", "--tb=short",
        "--rootdir", root, "--import-mode=importlib", "-W", "ignore", "-m", "not slow and not network and not db and not clipboard and not single_cpu",
    ]  # fmt: skip
    pytest.main([*options, *files], plugins=[Recorder(set(left_out))])
    say(done=True)


main()
