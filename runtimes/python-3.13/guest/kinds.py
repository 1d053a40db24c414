"""The kinds of tests that need more than the snippet's namespace, by their names on the wire."""

from _proofbox_kind_doctest import Doctests
from _proofbox_kind_evaluator import Evaluator
from _proofbox_kind_pytest import PyTests
from _proofbox_kind_unittest import UnitTests

KINDS = {"unittest": UnitTests, "pytest": PyTests, "doctest": Doctests, "evaluator": Evaluator}
