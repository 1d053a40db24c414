# Pretends to be another module and file.
import sys

__name__ = "unittest.case"
__file__ = "/tests/test_solution.py"
__unittest = True
sys.argv[:] = ["pytest", "--collect-only"]


def add(a, b, *_):
    raise AssertionError
