"""Classes, functions and modules of the library by name: those that one side hands to the other are the other's own.

What the tests hand to the candidate (`open`, `getattr`, `json.loads`) so works on its files and objects, where it may do
whatever it likes. What the candidate names (`submit(io.FileIO, path)`) is a handle of what it has itself: code of the tests that
calls it has the candidate do it, whether it came in a request, in a reply, or in a list that was filled later. Values, classes
that do nothing by themselves and functions that only compute are the tests' own."""

import collections
import functools
import itertools
import operator
import re
import types
import typing

import _proofbox_border as border
import _proofbox_marshal as marshal
import _proofbox_origins as origins
import _proofbox_side as side

MODULES = set()  # the class of the candidate's modules, set by candidate_module.py


def name_of(function):
    """Module and name by which a function of the library crosses. The candidate's, if the tests have handed it over."""
    state = side.state
    if not state.grader:
        entry = state.lent.get(id(function))
        if entry is None and (
            type(function) is types.BuiltinFunctionType and function.__module__ in _COMPUTE
            or type(function) is types.FunctionType and f"{function.__module__}.{function.__qualname__}" in border.COMPUTING_IN_PYTHON
        ):
            name = origins.function_name(function)
            return name if name is not None and _only_computes(name) else None
        return entry and entry[0]
    if state.candidate is None:
        return None
    name = origins.function_name(function)
    if name is not None:
        state.lent[name] = function
    return name


def restore_function(payload):
    state = side.state
    if not state.grader:
        found = origins.restore_function(payload)
        state.lent[id(found)] = payload, found
        return found
    if payload not in state.lent and _only_computes(payload):
        state.lent[payload] = origins.restore_function(payload)
    if payload not in state.lent:
        raise marshal.CannotCross("a function that was not handed over")
    return _stand_for_function(payload)


# ---------------------------------------------------------------- what the candidate names
# In the tests' interpreter that is a stand-in, in whichever message it comes: a handle whose number is asked for when
# somebody uses it, since nothing can be asked while a message is taken in.


_VALUES = frozenset({type(None), type(NotImplemented), type(...)})
_NOT_MADE = 1 << 7  # Py_TPFLAGS_DISALLOW_INSTANTIATION


def _is_value(cls):
    """Returns whether a class of the library only makes values, or nothing."""
    if issubclass(cls, type):
        return False
    module = cls.__module__
    name = f"{module}.{cls.__qualname__}"
    if name in border.PLAIN_CLASSES or name in border.SAME_CLASSES or cls in _VALUES or issubclass(cls, BaseException):
        return True
    return cls.__flags__ & _NOT_MADE or module in border.ABSTRACT_MODULES or cls in marshal.REDUCERS and module not in _FORMS


_FORMS = ("types", "typing")  # their classes can be called with what they are forms of


def stand_for_class(cls, place):
    """Returns the stand-in for a class of the library that the candidate names."""
    stand_in = _classes.get(cls)
    if stand_in is None:
        stand_in = _classes[cls] = cls if _is_value(cls) else _make_class(cls, place)
    if stand_in is not cls:
        side.state.has_stand_ins = True
    return stand_in


_classes = {}


def _hash_of_class(cls):
    """Returns the hash of a class of handles: that of the library's class, where it stands for one."""
    return type.__hash__(cls._proofbox_real if cls._proofbox_stands else cls)


def _make_class(cls, place):
    import _proofbox_proxies as proxies
    import _proofbox_proxy_types as proxy_types

    # Registered with no abstract class: what derives from it would seem to be so, too.
    # Set with the first of them: of all other classes the hash is what it was, and costs less so.
    proxies.ProxyType.__hash__ = _hash_of_class
    made = proxy_types.make_proxy_type(cls.__qualname__, cls.__module__, (), (), (), ())
    type.__setattr__(made, "_proofbox_real", cls)
    type.__setattr__(made, "_proofbox_stands", place)
    return made


def stand_for_module(name):
    """Returns the stand-in for a module of the library that the candidate names."""
    found = origins.restore_module(name)
    if not side.state.grader:
        return found
    state = side.state
    made = state.stand_ins.get(name)
    if made is None:
        made = state.stand_ins[name] = Module(name)
        object.__setattr__(made, "_proofbox_stands", found)
    state.has_stand_ins = True
    return made


Module = None  # set by candidate_module.py


def _only_computes(place):
    module, name = place
    owner, _, method = name.rpartition(".")
    if owner:
        return module == "builtins" and f"builtins.{owner}" in border.PLAIN_CLASSES and owner != "object" and method not in border.FORMATTING and method[:2] != "__"
    return module in border.PURE_MODULES or f"{module}.{name}" in border.COMPUTING or f"{module}.{name}" in border.COMPUTING_IN_PYTHON


# Modules with functions that do.
_COMPUTE = frozenset({*border.PURE_MODULES, *(name.partition(".")[0] for name in border.COMPUTING)})


def _stand_for_function(place):
    """Returns what stands for a function that the tests have handed over, and that the candidate names: the tests' own
    if it only computes."""
    import _proofbox_incoming as incoming

    state = side.state
    function = state.lent[place]
    if _only_computes(place):
        return function
    state.has_stand_ins = True
    made = state.stand_ins.get(place)
    if made is None:
        kind = incoming.library_proxy_type(type(function))
        made = state.stand_ins[place] = kind.__new__(kind)
        for name, value in (("number", 0), ("generation", -1), ("stands", place)):
            object.__setattr__(made, f"_proofbox_{name}", value)
    return made


def place_of(handle):
    """Returns where the library has what a handle stands for, or None."""
    try:
        return handle._proofbox_stands
    except AttributeError:
        return None


def number_of(place):
    """The candidate's own of that name: classes without a name in `builtins` are in `types`."""
    module, name = place
    if module == "builtins" and name in origins.NAMELESS:
        module, name = "types", next(each for each, value in vars(types).items() if value is origins.NAMELESS[name])
    return side.state.ask("own", module, name)


def as_own(value):
    """Returns what a module of the candidate has of the library under a name: the tests name it."""
    return value if type(value) in (list, tuple, dict) or not side.state.has_stand_ins else as_named(value)


def as_named(value):
    """A value with the tests' own classes, functions and modules in the place of stand-ins: for what only is looked at."""
    import _proofbox_proxies as proxies

    kind = type(value)
    if kind is proxies.ProxyType:
        return value._proofbox_real if value._proofbox_stands else value
    if kind is Module:
        return value._proofbox_stands
    if type(kind) is proxies.ProxyType:
        return side.state.lent.get(place_of(value), value) if kind._proofbox_real in origins.FUNCTIONS else value
    if kind in (list, tuple):
        named = kind(map(as_named, value))
        return value if all(map(operator.is_, named, value)) else named
    if kind is dict:
        named = {key: as_named(each) for key, each in value.items()}
        return value if all(each is value[key] for key, each in named.items()) else named
    if kind is types.UnionType:
        return functools.reduce(operator.or_, map(as_named, value.__args__))
    if kind in (types.GenericAlias, marshal.GENERIC_CALLABLE):
        return marshal.RESTORERS["generic"]((as_named(value.__origin__), as_named(value.__args__)))
    if isinstance(value, typing._GenericAlias):
        made = value.copy_with(as_named(value.__args__))
        made.__origin__ = as_named(value.__origin__)
        return made
    return value


# ---------------------------------------------------------------- names that lead to code


def leads_to_code(value, depth=0):
    """Returns whether a text names an attribute that leads from an object of the tests to its code."""
    # Not by isinstance: `__class__` of a handle is what its object is of.
    kind = type(value)
    if kind in _SCALARS:
        return False
    if issubclass(kind, str):
        text = str.__str__(value)
        return "_" in text and len(text) < _MAX_NAME and not border.LEADING.isdisjoint(_SEPARATOR.split(text))
    base = next((base for base in _HOLDING if issubclass(kind, base)), None)
    if base is None or depth >= _MAX_DEPTH:
        return False
    items = itertools.islice(base.__iter__(value), _MAX_NAME)
    return any(leads_to_code(item, depth + 1) or base is dict and leads_to_code(dict.__getitem__(value, item), depth + 1) for item in items)


_SCALARS = frozenset({int, float, complex, bool, bytes, type(None)})
_HOLDING = (list, tuple, dict, set, frozenset, collections.deque)
_SEPARATOR = re.compile(r"[^\w]+")
_MAX_NAME, _MAX_DEPTH = 1_000, 6


# ---------------------------------------------------------------- names of the tests


def without_test_names(text):
    """A text of the tests for the candidate: the names of functions in which something is defined may tell what is expected."""
    cut = _WITHIN.sub("", text)
    if cut != text and len(side.state.cut_names) < _MAX_NAME:
        side.state.cut_names[cut] = text
    return cut


_WITHIN = re.compile(r"[\w.<>]*<locals>\.")
