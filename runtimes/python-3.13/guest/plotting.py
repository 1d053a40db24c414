"""Figures are drawn in the candidate's interpreter, and pyplot's state is there: what the tests call of it
(`plt.gcf`, `plt.subplots`, `plt.close`) is called there."""

import functools
import importlib
import sys
import types

import _proofbox_border as border
import _proofbox_side as side


def prepare():
    """Once, when an image with matplotlib is made: else the first figure would alter `plt.show`, which may be a mock then."""
    if border.DRAWING in sys.modules:
        sys.modules[border.DRAWING].switch_backend("agg")


def watch(text):
    """Has the tests draw with the candidate's pyplot, if they speak of it and the image has it."""
    if "pyplot" not in text or border.DRAWING not in sys.modules:
        return
    here = importlib.import_module(border.DRAWING)
    there = _Theirs()
    for name, value in list(vars(here).items()):
        if type(value) is types.FunctionType and name[:1] != "_" and value.__module__ == border.DRAWING:
            setattr(here, name, _drawn(there, name, value))


class _Theirs:
    """Functions of the candidate's pyplot, looked up once in each of its interpreters."""

    def __init__(self):
        self.generation = None
        self.functions = {}

    def __getitem__(self, name):
        state = side.state
        if self.generation != state.generation:
            self.generation = state.generation
            self.functions.clear()
            self.module = state.ask("import", border.DRAWING)
        if name not in self.functions:
            self.functions[name] = state.ask("get", self.module, name)
        return self.functions[name]


def _drawn(there, name, here):
    @functools.wraps(here)
    def function(*args, **kwargs):
        # pandas and seaborn in the tests' interpreter draw there.
        if side.state.candidate.lost or border.asked_by(1) != "tests":
            return here(*args, **kwargs)
        return there[name](*args, **kwargs)

    return function
