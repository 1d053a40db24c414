"""Runs one module of CPython's tests and prints a line of JSON for each test. run.py starts it, natively and in the sandbox.

    python driver.py '{"lib": FOLDER, "cwd": FOLDER, "module": NAME, "lift": [SKIP, ...], "leave_out": [ID, ...]}'

The package `test` is in the folder `lib`. The last lines tell which files the tests have opened, and that the run is complete."""

import importlib
import importlib.machinery
import json
import os
import random
import signal
import sys
import traceback
import unittest

# The runner ignores other lines: tests print, too.
MARK = "@@test "
MAX_REASON = 1000
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
# Stand-ins of unittest's for modules that a package could not load.
STAND_INS = ("unittest.loader.ModuleSkipped.", "unittest.loader._FailedTest.")

# A stream of its own: tests replace sys.stdout, and some close it.
output = open(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
opened, listed = set(), set()


def emit(**event):
    output.write("\n" + MARK + json.dumps(event) + "\n")
    output.flush()


def shorten(text):
    return text if len(text) <= MAX_REASON else "…" + text[-MAX_REASON:]


class Ids:
    """Tells tests of one id apart: the second has `#2` behind it."""

    def __init__(self):
        self.counts = {}

    def assign(self, test):
        count = self.counts[test.id()] = self.counts.get(test.id(), 0) + 1
        return test.id() if count == 1 else f"{test.id()}#{count}"


class Result(unittest.TestResult):
    """Reports each test once, with the first thing that went wrong in it."""

    def __init__(self):
        super().__init__()
        self.ids = Ids()
        self.current = self.outcome = None

    def startTest(self, test):
        super().startTest(test)
        self.current, self.outcome = test, (PASSED, "")
        self.key = self.ids.assign(test)
        emit(begins=self.key)

    def stopTest(self, test):
        super().stopTest(test)
        outcome, reason = self.outcome
        for prefix in STAND_INS:
            if self.key.startswith(prefix):
                emit(holder=self.key.removeprefix(prefix), outcome=outcome, reason=shorten(reason))
                break
        else:
            emit(id=self.key, outcome=outcome, reason=shorten(reason))
        self.current = None

    def record(self, test, outcome, reason):
        if self.current is None:
            # setUpClass or setUpModule, whose id is "setUpClass (test.test_x.Class)".
            emit(holder=test.id().partition("(")[2].rstrip(")"), outcome=outcome, reason=shorten(reason))
        elif self.outcome[0] != FAILED:
            self.outcome = outcome, reason

    def addFailure(self, test, error):
        self.record(test, FAILED, self._exc_info_to_string(error, test))

    addError = addFailure

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.record(test, FAILED, f"{subtest}: {self._exc_info_to_string(error, test)}")

    def addSkip(self, test, reason):
        # A test with a skipped subtest is not skipped itself.
        if self.current is None or test is self.current:
            self.record(test, SKIPPED, reason)

    def addExpectedFailure(self, test, error):
        self.record(test, "expected_failure", "")

    def addUnexpectedSuccess(self, test):
        self.record(test, FAILED, "unexpected success")


def lift_skips(names):
    """Takes off skips of whole modules. differences.toml has the reason for each."""
    from test import support

    if "requires_working_socket" in names:
        require = support.requires_working_socket
        support.requires_working_socket = lambda *, module=False: None if module else require()
    if "process_pools" in names and sys.platform == "wasi":
        from concurrent.futures import process

        process._check_system_limits = refuse_processes
    if "test_extensions" in names:
        sys.meta_path.append(StandIns)
    if "test_tools" in names:
        # Its front page wants subprocess. Of what it offers, only a check for a directory is used.
        had, support.has_subprocess_support = support.has_subprocess_support, True
        importlib.import_module("test.test_tools")
        support.has_subprocess_support = had


def refuse_processes():
    raise NotImplementedError("there are no processes")


class StandIns:
    """Finds empty modules for CPython's test extensions, which the recipe's native build leaves out, and the sandbox too.

    A test that calls something of theirs skips, on both sides; without them, whole modules of tests skip."""

    ANSWERS = {"get_config": lambda: {"code_debug_ranges": 1}, "suppress_immortalization": lambda suppress: None, "get_immortalize_deferred": bool}
    # test.support does without these.
    REFUSED = ("Py_C_RECURSION_LIMIT", "get_recursion_depth", "get_optimizer", "set_optimizer")
    NAMES = ("_testcapi", "_testinternalcapi", "_testlimitedcapi", "_testsinglephase", "_testmultiphase")

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, cls, origin="stand-in") if name in cls.NAMES else None

    @staticmethod
    def create_module(spec):
        return None

    @classmethod
    def exec_module(cls, module):
        def skip(*arguments, **named):
            raise unittest.SkipTest(f"requires {module.__name__}")

        def find_attribute(name):
            if name.startswith("__"):
                raise AttributeError(name)
            if name.isupper() or name in cls.REFUSED:
                raise ImportError(f"requires {module.__name__}")
            return cls.ANSWERS.get(name, skip)

        module.__getattr__ = find_attribute


def leave_out(suite, keys, ids):
    """Returns the suite without the tests of these ids."""
    kept = unittest.TestSuite()
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            kept.addTest(leave_out(test, keys, ids))
        elif ids.assign(test) not in keys:
            kept.addTest(test)
    return kept


def is_importing(frame):
    return frame.f_code.co_filename.startswith("<frozen importlib")


def record_opened(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        opened.add(os.path.abspath(arguments[0]))
    elif event in ("os.listdir", "os.scandir") and isinstance(arguments[0], str) and not is_importing(sys._getframe(1)):
        listed.add(os.path.abspath(arguments[0]))


def run_module(options):
    from test import support
    from test.support import threading_helper

    # CPython's tests take WASI to have no threads. proofbox has them, all on one stack.
    threading_helper.can_start_thread = True
    # As `python -m test` without -u: tests that want the network, much time or much of the disk skip themselves.
    support.use_resources = []
    support.verbose = False
    random.seed(1)
    lift_skips(options["lift"])
    name = "test." + options["module"]
    try:
        importlib.import_module(name)
        suite = unittest.defaultTestLoader.loadTestsFromName(name)
    except unittest.SkipTest as skip:
        emit(holder=name, outcome=SKIPPED, reason=str(skip))
    except Exception:
        emit(holder=name, outcome=FAILED, reason=shorten(traceback.format_exc()))
    else:
        if options["leave_out"]:
            suite = leave_out(suite, set(options["leave_out"]), Ids())
        suite.run(Result())


def main():
    options = json.loads(sys.argv.pop())
    # Who starts this in the background may have it ignored, and tests send it to themselves.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.makedirs(options["cwd"], exist_ok=True)
    os.chdir(options["cwd"])
    sys.path.insert(0, options["lib"])
    sys.addaudithook(record_opened)
    run_module(options)
    emit(opened=sorted(opened), listed=sorted(listed))
    emit(done=True)


if __name__ == "__main__":
    main()
