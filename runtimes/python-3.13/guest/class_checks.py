"""Answers of the library on classes of the candidate: protocols, abstract classes, enumerations.

The library looks such things up in the class's own dict and bases, of which a handle's class has none."""

import _collections_abc
import abc
import builtins
import enum
import functools
import inspect
import re
import sys
import typing

import _proofbox_border as border
import _proofbox_grading as grading
import _proofbox_proxies as proxies
import _proofbox_side as side


def _grading():
    return side.state is not None and side.state.grader


def _is_handles_class(value):
    return type(value) is proxies.ProxyType and _grading()


def _prepare_protocols():
    """A runtime-checkable protocol of either side's, and an object of the other: its members are asked for by name, as
    `hasattr` would."""
    look_up, hook = typing._lazy_load_getattr_static, typing._proto_hook.__func__

    def load():
        static = look_up()

        def getattr_static(value, name, *default):
            if side.state is not None and proxies.is_remote(value) and not name.startswith("_"):
                return getattr(value, name, *default)
            return static(value, name, *default)

        return getattr_static

    def _proto_hook(cls, other):
        if type(other) is proxies.ProxyType and side.state is not None and cls.__dict__.get("_is_protocol", False):
            members = cls.__protocol_attrs__
            return True if all(name in border.SPECIALS and name in other._proofbox_specials or hasattr(other, name) for name in members) else NotImplemented
        return hook(cls, other)

    typing._lazy_load_getattr_static, typing._proto_hook = load, classmethod(_proto_hook)


def _prepare_isabstract():
    isabstract = inspect.isabstract

    @functools.wraps(isabstract)
    def of_handles_too(object):
        return bool(getattr(object, "__abstractmethods__", ())) if _is_handles_class(object) else isabstract(object)

    inspect.isabstract = of_handles_too


def _prepare_iterable():
    """Takes what has its items by index alone as not `Iterable`, though its handles can be iterated."""
    check_methods = _collections_abc._check_methods

    def _check_methods(cls, *methods):
        if "__iter__" in methods and _is_handles_class(cls) and "__iter__" not in cls._proofbox_specials:
            return NotImplemented
        return check_methods(cls, *methods)

    _collections_abc._check_methods = _check_methods


def prepare():
    """Once, when the image is made."""
    _prepare_iterable()
    _prepare_protocols()
    _prepare_isabstract()


def note_class(proxy_type):
    """Lets `issubclass` and `isinstance` of the tests see classes of the library that a class of the candidate derives from,
    where its handles' class does not: from now on, as few candidates have such classes."""
    bases = [base for base in proxy_type._proofbox_library if base not in proxy_type.__mro__ and base not in _ANSWERED]
    if bases and builtins.issubclass is _issubclass:
        _answer_for_classes()


def _answer_for_classes():
    known = side.state.candidate.builtins
    for names in (*grading.all_builtins, *([known] if known is not None else ())):
        names.update(issubclass=_issubclass_too, isinstance=_isinstance_too)


_issubclass, _isinstance = issubclass, isinstance
# An object or class that is only fetched as the argument of the question.
_ASKS_WHILE_FETCHING = re.compile(r"\bis(?:subclass|instance)\(\s*\w+\s*(?:[.(]|,[^()\n]{1,80}\))")


@functools.wraps(issubclass)
def _issubclass_too(cls, class_or_tuple, /):
    return _issubclass(cls, class_or_tuple) or _is_handles_class(cls) and _asked_by_tests() and _derives_from(cls, class_or_tuple)


@functools.wraps(isinstance)
def _isinstance_too(obj, class_or_tuple, /):
    return _isinstance(obj, class_or_tuple) or _is_handles_class(type(obj)) and _asked_by_tests() and _derives_from(type(obj), class_or_tuple)


def _asked_by_tests():
    return border.asked_by(2) == "tests" or sys._getframe(2).f_globals.get("__name__") == "unittest.case"


def _derives_from(proxy_type, wanted):
    """Exceptions apart: a handle's class derives from those that it may match."""
    if _isinstance(wanted, tuple):
        return any(_derives_from(proxy_type, each) for each in wanted)
    if _issubclass(proxy_type, BaseException):
        return False
    return any(wanted in base._proofbox_library for base in proxy_type.__mro__ if type(base) is proxies.ProxyType)


def watch(text):
    """Lets `issubclass(Color, Enum)` hold for classes of the candidate, if the tests may ask."""
    if ("issubclass(" in text or "isinstance(" in text) and _ASKS_WHILE_FETCHING.search(text) and builtins.issubclass is _issubclass:
        # Python looks up the function first.
        _answer_for_classes()
    if "Enum" not in text and "Flag" not in text:
        return

    def __subclasscheck__(cls, subclass):
        return type.__subclasscheck__(cls, subclass) or _is_handles_class(subclass) and _derives(subclass, cls)

    def __instancecheck__(cls, instance):
        return type.__instancecheck__(cls, instance) or type(type(instance)) is proxies.ProxyType and _derives(type(instance), cls)

    type.__setattr__(enum.EnumType, "__subclasscheck__", __subclasscheck__)
    type.__setattr__(enum.EnumType, "__instancecheck__", __instancecheck__)


def _derives(proxy_type, cls):
    """Returns whether one of the classes that a handle's class stands for derives from a class of the library."""
    return cls in LIBRARY and any(cls in base._proofbox_library for base in proxy_type.__mro__ if type(base) is proxies.ProxyType)


# Classes of the library that handles' classes are told to derive from.
LIBRARY = (enum.Enum, enum.IntEnum, enum.StrEnum, enum.Flag, enum.IntFlag)
# Those, and others that few tests ask about.
_ANSWERED = frozenset({*LIBRARY, enum.ReprEnum, abc.ABC, typing.Generic, typing.Protocol})
