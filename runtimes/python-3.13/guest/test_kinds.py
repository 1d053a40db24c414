"""The kinds of tests that need more than the snippet's namespace, by their names on the wire."""

import linecache
import shutil
import sys
import types

import _proofbox_grading as grading
import _proofbox_kind_pytest as kind_pytest
from _proofbox_kind_doctest import Doctests
from _proofbox_kind_evaluator import Evaluator
from _proofbox_kind_pytest import PyTests
from _proofbox_kind_unittest import UnitTests

KINDS = {"unittest": UnitTests, "pytest": PyTests, "doctest": Doctests, "evaluator": Evaluator}

WARM_UP = '''
def add(a, b):
    """
    >>> add(1, 2)
    3
    >>> add(1, None)
    Traceback (most recent call last):
    TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'
    >>> add(1, 1)
    3
    """
    return a + b
'''
WARM_UP_UNITTEST = """
import unittest
from solution import add
class Test(unittest.TestCase):
    def setUp(self):
        self.two = 2
    def test_equal(self):
        self.assertEqual(add(1, self.two), 3)
    def test_unequal(self):
        self.assertEqual(add(1, 1), 3)
    def test_raises(self):
        with self.assertRaises(TypeError):
            add(1, None)
    def test_subtests(self):
        for i in range(2):
            with self.subTest(i=i):
                self.assertTrue(add(i, i) == 2 * i)
"""
WARM_UP_PYTEST = """
import pytest
from solution import add
@pytest.fixture
def two():
    yield 2
def test_equal(two):
    assert add(1, two) == 3
def test_unequal():
    assert add(1, 1) == 3
@pytest.mark.parametrize("a, b", [(1, 2), (3, 4)])
def test_many(a, b):
    assert [add(a, b)] == [a + b], "no"
class TestRaises:
    def test_raises(self, capsys, tmp_path):
        with pytest.raises(TypeError, match="operand"):
            add(1, None)
"""
REQUESTS = (
    {"kind": "unittest", "source": WARM_UP_UNITTEST},
    {"kind": "pytest", "source": WARM_UP_PYTEST},
    {"kind": "doctest", "code": WARM_UP},
    {"kind": "evaluator", "source": "def evaluate(inputs, outputs, trace):\n    return {'score': 0.7, 'reason': 'ok'}\n"},
)
# More often than the interpreter hesitates before it specialises byte code.
ROUNDS = 12


def prepare():
    """Once, when the image is made: what each run of these kinds would build or specialise is in it."""
    grading.FOLDER, folder = "/tmp/tests", grading.FOLDER
    try:
        for _ in range(ROUNDS):
            for request in REQUESTS:
                KINDS[request["kind"]](request).run(_Candidate(), _Nobody())
    finally:
        grading.FOLDER = folder
        for path in ("/tmp/tests", kind_pytest.TEMPORARY):
            shutil.rmtree(path, ignore_errors=True)
    linecache.clearcache()
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        vars(sys).pop(name, None)
    kind_pytest.prepare()


class _Candidate:
    def __init__(self):
        self.module = types.ModuleType("solution")
        exec(WARM_UP, self.module.__dict__)

    def namespace(self):
        return self.module.__dict__

    def gone(self):
        return None

    def lend(self, namespace):
        pass


class _Nobody:
    """Hears of the cases of a warm-up."""

    def plan(self, names):
        pass

    begin = skip = plan

    def end(self, error):
        return error is not None
