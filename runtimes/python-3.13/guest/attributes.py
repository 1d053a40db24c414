"""Attributes that the candidate keeps on instances of the tests' own classes: a descriptor of its own has no other place.

Where neither the instance nor its class has a name, nor uses it in a method, the candidate may set it, private or not;
what it has set so is its own, to read, set and delete. `__dict__` of such an instance shows that, and what is public."""

import opcode
import sys
import types
from collections import abc

import _proofbox_border as border
import _proofbox_origins as origins
import _proofbox_side as side


def is_own(target, name):
    """Returns whether the candidate has set the attribute, where there was none."""
    entry = side.state.candidate.own_attributes.get(id(target))
    return entry is not None and name in entry[1]


def can_be_own(target, name):
    """Returns whether the candidate may set a private attribute: nothing in the tests' classes speaks of it."""
    if name.startswith("__") or isinstance(target, type) or origins.is_of_library(type(target)):
        return False
    if is_own(target, name):
        return True
    kinds = type(target).__mro__
    return name not in getattr(target, "__dict__", ()) and not any(name in vars(kind) or name in _names_in(kind) for kind in kinds)


def is_markable(function, name):
    """Returns whether a function of the tests may have an attribute of the candidate's: none by which a runner knows what it runs."""
    if type(name) is not str or name[:2] == "__" or name in border.RUNNER_NAMES or name.startswith((*border.MARKS_OF_RUNNERS, *border.INNARDS)):
        return False
    return not function.__name__.startswith("test") and border.is_of_tests(function.__module__)


def can_be_marked(function, name):
    """Returns whether the candidate may set an attribute of a function of the tests: where there is none but its own."""
    return is_markable(function, name) and (name not in vars(function) or is_own(function, name))


def is_shown(function, name):
    """Returns whether the candidate sees an attribute of a function of the tests."""
    return is_markable(function, name) and name in vars(function) and (name[:1] != "_" or is_own(function, name))


def _names_in(kind):
    """Names and texts in the code of a class of the tests: methods, properties, and what is defined in them."""
    found = set()
    codes = [function.__code__ for value in vars(kind).values() for function in _functions_of(value)]
    while codes:
        code = codes.pop()
        found.update(code.co_names)
        for constant in code.co_consts:
            if type(constant) is types.CodeType:
                codes.append(constant)
            elif type(constant) is str:
                found.add(constant)
    return found


def _functions_of(value):
    parts = (value, *(getattr(value, part, None) for part in ("fget", "fset", "fdel", "func", "__func__", "__wrapped__")))
    return (part for part in parts if type(part) is types.FunctionType)


def note_set(target, name):
    """The candidate has set an attribute: a private one is its own from now on."""
    if name[:1] == "_" or type(target) is types.FunctionType:
        side.state.candidate.own_attributes.setdefault(id(target), (target, set()))[1].add(name)


def is_decorated_now(cls):
    """Returns whether the tests have just called a function of the candidate as a decorator of a class of theirs (`@of_candidate`)."""
    if origins.is_of_library(cls) or cls.__name__.startswith("Test") or border.derives_from_staying(cls):
        return False
    frame = sys._getframe(1)
    while frame is not None and frame.f_code not in calls:
        frame = frame.f_back
    if frame is None or frame.f_back is None or len(args := frame.f_locals["args"]) != 1 or args[0] is not cls:
        return False
    frame = frame.f_back
    code, at = frame.f_code.co_code, frame.f_lasti
    # Python calls a decorator as if its argument were its object.
    return code[at] == _CALL and code[at + 1] == 0 and border.is_of_tests(frame.f_globals.get("__name__"))


_CALL = opcode.opmap["CALL"]
calls = frozenset()  # the code by which the tests call an object of the candidate; set by proxies.py


def can_be_decorated(name):
    """Returns whether a decorator of the candidate may set that attribute of a class of the tests."""
    if type(name) is not str or name.startswith(("test", *border.MARKS_OF_RUNNERS, *border.INNARDS)):
        return False
    return name in border.OF_DECORATED or name[:1] != "_" and name != "mro"


def for_decorated(cls, name, value):
    """What such a class gets: between its instances and anything else there is no order of the candidate's."""
    if name not in border.ORDER or not callable(value):
        return value

    def compare(self, other):
        return value(self, other) if issubclass(type(other), cls) else NotImplemented

    compare.__name__ = name
    return compare


def note_deleted(target, name):
    """The candidate has deleted an attribute: whoever sets it next, owns it."""
    entry = side.state.candidate.own_attributes.get(id(target))
    if entry is not None:
        entry[1].discard(name)


class Attributes(abc.MutableMapping):
    """`__dict__` of an instance or function of the tests, as the candidate sees it."""

    __slots__ = ("_check_delete", "_check_set", "_target")
    __module__ = "tests"

    def __init__(self, target, check_set, check_delete):
        self._target, self._check_set, self._check_delete = target, check_set, check_delete

    def _names(self):
        target = self._target
        if type(target) is types.FunctionType:
            return [name for name in vars(target) if is_shown(target, name)]
        return [name for name in vars(target) if type(name) is str and (name[:1] != "_" or is_own(target, name))]

    def __getitem__(self, name):
        if name not in self._names():
            raise KeyError(name)
        return vars(self._target)[name]

    def __setitem__(self, name, value):
        self._check_set(self._target, name, value)
        vars(self._target)[name] = value
        note_set(self._target, name)

    def __delitem__(self, name):
        if name not in self._names():
            raise KeyError(name)
        self._check_delete(self._target, name)
        del vars(self._target)[name]
        note_deleted(self._target, name)

    def __iter__(self):
        return iter(self._names())

    def __len__(self):
        return len(self._names())
