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
import _proofbox_outgoing as outgoing
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
            return True if all(_has(other, name) for name in cls.__protocol_attrs__) else NotImplemented
        return hook(cls, other)

    hook_of_class = typing._proto_hook
    typing._lazy_load_getattr_static, typing._proto_hook = load, classmethod(_proto_hook)
    for protocol in vars(typing).values():
        if isinstance(protocol, type) and vars(protocol).get("__subclasshook__") is hook_of_class:
            protocol.__subclasshook__ = typing._proto_hook
    is_protocol, is_typeddict = typing.is_protocol, typing.is_typeddict

    @functools.wraps(is_protocol)
    def is_protocol_too(tp, /):
        return _asked(tp, "_is_protocol") is True if _is_handles_class(tp) else is_protocol(tp)

    @functools.wraps(is_typeddict)
    def is_typeddict_too(tp):
        if not _is_handles_class(tp):
            return is_typeddict(tp)
        metaclass = _asked(tp, "__class__")
        return (metaclass._proofbox_real if type(metaclass) is proxies.ProxyType else metaclass) is typing._TypedDictMeta

    typing.is_protocol, typing.is_typeddict = is_protocol_too, is_typeddict_too


def _asked(proxy_type, name):
    """Returns an attribute of a class of the other side, or None."""
    if proxy_type._proofbox_real is not None:
        return getattr(proxy_type._proofbox_real, name, None)
    try:
        return side.state.ask("get", proxies.remote_id(proxy_type), name)
    except AttributeError:
        return None


def _has(proxy_type, name):
    """Returns whether a class of the other side has a member, which is another than None."""
    if name in border.SPECIALS:
        specials = proxy_type._proofbox_specials
        is_none = f"no {name}" in specials or name == "__hash__" and "unhashable" in specials
        return not is_none and (name in specials or hasattr(object, name))
    return _asked(proxy_type, name) is not None


def _prepare_isabstract():
    isabstract = inspect.isabstract

    @functools.wraps(isabstract)
    def of_handles_too(object):
        return bool(getattr(object, "__abstractmethods__", ())) if _is_handles_class(object) else isabstract(object)

    inspect.isabstract = of_handles_too


def _prepare_iterable():
    """Takes what has its items by index alone as not `Iterable`, though its handles can be iterated. Of methods that are none
    of those that handles have, the class itself is asked (`send` of a `Generator`)."""
    check_methods = _collections_abc._check_methods

    def _check_methods(cls, *methods):
        if not _is_handles_class(cls):
            return check_methods(cls, *methods)
        if "__iter__" in methods and "__iter__" not in cls._proofbox_specials:
            return NotImplemented
        own = [name for name in methods if name in border.SPECIALS or name in outgoing.names_of_instances(cls)]
        if check_methods(cls, *own) is NotImplemented or not all(_has(cls, name) for name in methods if name not in own):
            return NotImplemented
        return True

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


def note_registered(proxy_type, abstract):
    """Lets a class of the candidate be one of an abstract class of the library that it is registered with, where the tests ask."""
    type.__setattr__(proxy_type, "_proofbox_library", proxy_type._proofbox_library | {base for base in abstract.__mro__ if base is not object})
    if builtins.issubclass is _issubclass:
        _answer_for_classes()


def _answer_for_classes():
    _replace_builtins(issubclass=_issubclass_too, isinstance=_isinstance_too)


def _replace_builtins(**functions):
    known = side.state.candidate.builtins
    for names in (*grading.all_builtins, *([known] if known is not None else ())):
        names.update(functions)


_issubclass, _isinstance, _hasattr = issubclass, isinstance, hasattr
# An object or class that is only fetched as the argument of the question.
_ASKS_WHILE_FETCHING = re.compile(r"\bis(?:subclass|instance)\(\s*\w+\s*(?:[.(]|,[^()\n]{1,80}\))")


@functools.wraps(issubclass)
def _issubclass_too(cls, class_or_tuple, /):
    return _issubclass(cls, class_or_tuple) or _is_handles_class(cls) and _asked_by_tests() and _derives_from(cls, class_or_tuple)


@functools.wraps(isinstance)
def _isinstance_too(obj, class_or_tuple, /):
    if _isinstance(obj, class_or_tuple):
        return True
    if _is_handles_class(obj):
        return _asked_by_tests() and _has_metaclass(obj, class_or_tuple)
    return _is_handles_class(type(obj)) and _asked_by_tests() and _derives_from(type(obj), class_or_tuple)


def _has_metaclass(proxy_type, wanted):
    """The metaclass of a class derives from those of its bases."""
    if _isinstance(wanted, tuple):
        return any(_has_metaclass(proxy_type, each) for each in wanted)
    return any(_isinstance(base, wanted) for base in _library_of(proxy_type))


@functools.wraps(hasattr)
def _hasattr_too(obj, name, /):
    """Handles have more special methods than their objects: that they are asked for their truth is noted, and what has its items
    by index alone is iterated so."""
    kind = type(obj)
    if type(name) is str and name in _OF_HANDLES and _is_handles_class(kind) and border.asked_by(1) == "tests" and not (
        kind._proofbox_value_base or kind._proofbox_container or _issubclass(kind, BaseException)
    ):
        return _has(kind, name)
    return _hasattr(obj, name)


_OF_HANDLES = ("__bool__", "__iter__", "__getattr__")


def _asked_by_tests():
    return border.asked_by(2) == "tests" or sys._getframe(2).f_globals.get("__name__") == "unittest.case"


def _derives_from(proxy_type, wanted):
    """Exceptions apart: a handle's class derives from those that it may match."""
    if _isinstance(wanted, tuple):
        return any(_derives_from(proxy_type, each) for each in wanted)
    if _issubclass(proxy_type, BaseException):
        return False
    return wanted in _library_of(proxy_type)


def _library_of(proxy_type):
    """Returns the classes of the library that a class of the candidate derives from."""
    return frozenset().union(*(base._proofbox_library for base in proxy_type.__mro__ if type(base) is proxies.ProxyType))


def watch(text):
    """Lets `issubclass(Color, Enum)` hold for classes of the candidate, if the tests may ask."""
    if ("issubclass(" in text or "isinstance(" in text) and _ASKS_WHILE_FETCHING.search(text) and builtins.issubclass is _issubclass:
        # Python looks up the function first.
        _answer_for_classes()
    if "hasattr(" in text and any(map(text.__contains__, _OF_HANDLES)):
        _replace_builtins(hasattr=_hasattr_too)
    if "Meta" in text or "EnumType" in text:
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
    return cls in LIBRARY and cls in _library_of(proxy_type)


# Classes of the library that handles' classes are told to derive from.
LIBRARY = (enum.Enum, enum.IntEnum, enum.StrEnum, enum.Flag, enum.IntFlag)
# Those, and others that few tests ask about.
_ANSWERED = frozenset({*LIBRARY, enum.ReprEnum, abc.ABC, typing.Generic, typing.Protocol})
