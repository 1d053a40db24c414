"""Tests of the standard library's unittest: a case is a test method.

The semantics are those of `python -m unittest`, but that a class's or module's fixture counts for cases: what fails in
its set-up fails each case that needed it, and what fails in its tear-down the last one."""

import importlib
import random
import sys
import types
import unittest

import _proofbox_grading as grading
import _proofbox_threads as threads

class UnitTests:
    def __init__(self, request):
        self.source = request.get("source")
        self.files = request.get("files")
        self.module = request.get("module") or "solution"
        self.entry_point = request.get("entry_point")
        self.test_module = request.get("test_module")
        self.shuffle = request.get("shuffle")
        self.fresh_per_case = request.get("fresh_per_case")
        self.names = None

    def run(self, candidate, cases):
        if threads.may_start("\n".join((self.source or "", *map(grading.text, (self.files or {}).values())))):
            grading.guard_test_methods()
        with grading.Imports(self.module, self.files) as imports:
            return self._run(candidate, cases, imports)

    def _run(self, candidate, cases, imports):
        try:
            tests = self._load(candidate, imports)
            if not tests:
                raise grading.NoTests(f"there is no test method in {self.test_module or 'the tests'}")
        except unittest.SkipTest as skip:
            self.names = [self.test_module or "tests"]
            cases.plan(self.names)
            cases.begin(0)
            cases.skip(str(skip))
            return 0
        except BaseException as error:
            self.names = [self.test_module or "tests"]
            return grading.failed_to_load(candidate, cases, self.names[0], error)
        order = list(range(len(tests)))
        if self.shuffle is not None:
            order = _shuffled(tests, self.shuffle)
        ids = [_case_name(test, self.test_module or "tests") for test in tests]
        self.names = grading.unique(ids[at] for at in order)
        cases.plan(self.names)

        suite, outcome, failures, stale = Suite(), Outcome(), 0, False
        for index, at in enumerate(order):
            cases.begin(index)
            outcome.begin()
            try:
                if stale or (self.fresh_per_case and index):
                    stale = True  # until there are tests that know the fresh one
                    candidate.fresh()
                    tests = self._load(candidate, imports)
                    suite.forget(outcome)
                    stale = False
                last = self.fresh_per_case or index + 1 == len(order)
                suite.run_one(tests[at], None if last else tests[order[index + 1]], outcome)
            except BaseException as error:
                outcome.fail(error)
            stale = stale or candidate.gone() is not None
            if outcome.skip is not None and outcome.error is None and not stale:
                cases.skip(outcome.skip)
            elif cases.end(outcome.verdict()):
                failures += 1
        return 1 if failures else 0

    def _load(self, candidate, imports):
        """The tests in the order of unittest, which is the same each time they are loaded."""
        imports.provide(candidate)
        main, unittest.main = unittest.main, lambda *args, **kwargs: None  # tests that run themselves are only loaded
        try:
            if self.source is not None:
                module = self._module_of_source(candidate)
                suite = unittest.defaultTestLoader.loadTestsFromModule(module)
            else:
                names = [self.test_module] if self.test_module else imports.test_modules()
                suite = [_load_by_name(name, imports) for name in names]
        finally:
            unittest.main = main
        tests = list(_flat(suite))
        for test in tests:
            if type(test) is unittest.loader._FailedTest:
                raise test._exception
        if self.source is None:
            tests = [test for test in tests if not grading.is_candidates(candidate, type(test).__name__, type(test))]
        return tests

    def _module_of_source(self, candidate):
        """A module with what the source has bound: a test class of the snippet's own is not the grader's."""
        source = grading.text(self.source)
        namespace = grading.namespace_of(candidate, self.entry_point)
        sys.modules["tests"] = grading.NamespaceModule("tests", namespace)
        module = types.ModuleType("tests")
        bound = grading.execute(source, namespace, "tests")
        candidate.lend(bound)
        module.__dict__.update(bound)
        return grading.without_candidates_runners(module)


def _load_by_name(name, imports):
    """The loader alone would turn the exception that ends an import into text."""
    if name in imports.modules:
        module = grading.without_candidates_runners(importlib.import_module(name))
        return unittest.defaultTestLoader.loadTestsFromModule(module)
    return unittest.defaultTestLoader.loadTestsFromName(name)


def _flat(suite):
    for test in suite:
        if isinstance(test, unittest.BaseTestSuite):
            yield from _flat(test)
        else:
            yield test


def _case_name(test, module):
    return test.id().removeprefix(module + ".")


def _shuffled(tests, seed):
    """Indices with the classes in random order, and the tests within each: no fixture is set up more than once."""
    generator = random.Random(seed if type(seed) is int else None)
    groups = {}
    for at, test in enumerate(tests):
        groups.setdefault(type(test), []).append(at)
    groups = list(groups.values())
    generator.shuffle(groups)
    for group in groups:
        generator.shuffle(group)
    return [at for group in groups for at in group]


class Outcome(unittest.TestResult):
    """Result of the open case. Of several errors the first one counts."""

    def __init__(self):
        super().__init__()
        self.begin()

    def begin(self):
        self.error = self.skip = None
        self.passed = False
        self.subtests_failed = 0

    def fail(self, error):
        if self.error is None:
            self.error = error

    def verdict(self):
        """Returns None if the case has passed, else why not."""
        if self.error is not None:
            if self.subtests_failed > 1:
                _add_note(self.error, f"({self.subtests_failed} subtests failed)")
            return self.error
        return None if self.passed else AssertionError("the test told of no outcome")

    # What unittest tells. The base class would make texts of tracebacks, which nobody asks for.

    def addSuccess(self, test):
        self.passed = True

    def addError(self, test, err):
        self.fail(err[1])

    addFailure = addError

    def addSkip(self, test, reason):
        if self.skip is None:
            self.skip = str(reason)

    def addExpectedFailure(self, test, err):
        # To end the interpreter is no failure that anybody expects.
        if isinstance(err[1], Exception):
            self.passed = True
        else:
            self.fail(err[1])

    def addUnexpectedSuccess(self, test):
        self.fail(AssertionError("unexpected success: the test is marked with expectedFailure"))

    def addSubTest(self, test, subtest, err):
        if err is None:
            return
        self.subtests_failed += 1
        if self.error is None:
            _add_note(err[1], f"subtest {subtest._subDescription()}")
            self.fail(err[1])

    def addDuration(self, test, elapsed):
        pass


def _add_note(error, note):
    try:
        BaseException.add_note(error, note)
    except TypeError:  # its __notes__ are no list
        pass


class Suite(unittest.TestSuite):
    """Sets classes and modules up and down around one test at a time."""

    def forget(self, outcome):
        """The classes were loaded anew: nothing is set up."""
        outcome._previousTestClass = None
        outcome._moduleSetUpFailed = False

    def run_one(self, test, following, outcome):
        """Runs the test, after the set-up that it is the first to need and before the tear-down that `following` is
        the first not to need."""
        if type(test) is not outcome._previousTestClass:
            self._set_up(test, outcome)
        if self.problem is None:
            try:
                test(outcome)
            except BaseException as error:  # KeyboardInterrupt, which ends the run of unittest
                outcome.fail(error)
        else:
            outcome.error, outcome.skip = self.problem
        if type(following) is not type(test):
            self._tear_down(test, following, outcome)

    def _set_up(self, test, outcome):
        if not outcome._moduleSetUpFailed:
            self.problem = None
            phase = self._handleModuleFixture
            try:
                phase(test, outcome)
                phase = self._handleClassSetUp
                phase(test, outcome)
            except BaseException as error:  # unittest catches Exception only
                outcome.fail(error)
                outcome._moduleSetUpFailed = phase == self._handleModuleFixture
            if outcome.error is not None or outcome.skip is not None:
                # Why no test of this class, or of the whole module, can be run.
                self.problem = outcome.error, outcome.skip
        outcome._previousTestClass = type(test)

    def _tear_down(self, test, following, outcome):
        try:
            if self.problem is None:
                self._tearDownPreviousClass(following, outcome)
            if type(following).__module__ != type(test).__module__:
                self._handleModuleTearDown(outcome)
                self.forget(outcome)
        except BaseException as error:
            outcome.fail(error)
