"""Classes, functions and modules of the library by name: those that one side hands to the other are the other's own.

What the tests hand to the candidate (`open`, `getattr`, `json.loads`) so works on its files and objects, where it may do
whatever it likes. What the candidate names in a request (`submit(io.FileIO, path)`) is a handle of what it has itself: code of
the tests that calls it has the candidate do it. Values and classes that do nothing by themselves are the tests' own."""

import collections
import itertools
import re
import sys
import types

import _proofbox_border as border
import _proofbox_origins as origins
import _proofbox_side as side

MODULES = set()  # the class of the candidate's modules, set by candidate_module.py


def name_of(function):
    """Module and name by which a function of the library crosses. The candidate's, if the tests have handed it over."""
    state = side.state
    if not state.grader:
        entry = state.lent.get(id(function))
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
    if payload not in state.lent:
        raise origins.marshal.CannotCross("a function that was not handed over")
    return state.lent[payload]


# ---------------------------------------------------------------- what the candidate names in a request


_VALUES = frozenset({type(None), type(NotImplemented), type(...)})


def _is_value(cls):
    """Whether a class of the library only makes values, or nothing."""
    name = f"{cls.__module__}.{cls.__qualname__}"
    return name in border.PLAIN_CLASSES or name in border.SAME_CLASSES or cls in _VALUES or issubclass(cls, BaseException) or cls.__module__ in border.ABSTRACT_MODULES


def _number_of(module, name):
    return side.state.ask("own", module, name)


def _class_of(cls):
    import _proofbox_incoming as incoming
    import _proofbox_proxies as proxies
    import _proofbox_proxy_types as proxy_types

    state = side.state
    if type(cls) is proxies.ProxyType or _is_value(cls) or (name := origins.library_name(cls)) is None:
        return cls
    key = (state.grader, "own", cls)
    proxy_type = incoming.known_types.get(key)
    if proxy_type is None:
        proxy_type = incoming.known_types[key] = proxy_types.make_proxy_type(cls.__qualname__, cls.__module__, (), (), (), (), cls)
        type.__setattr__(proxy_type, "_proofbox_stands", True)
    if proxy_type not in state.homes:
        state.homes[proxy_type] = _number_of(*_place_of(cls, name))
    return proxy_type


def _place_of(cls, name):
    """Where a class is found: those without a name in `builtins` are in `types`."""
    if name[0] != "builtins" or name[1] not in origins.NAMELESS:
        return name
    return "types", next(each for each, value in vars(types).items() if value is cls)


def _function_of(function):
    import _proofbox_incoming as incoming

    name = origins.function_name(function)
    if name is None or side.state.lent.get(name) is not function:
        return function
    return incoming._restore_object((_number_of(*name), type(function), None))


def _module_of(module):
    (kind,) = MODULES
    made = kind(module.__name__)
    object.__setattr__(made, "_proofbox_number", _number_of(module.__name__, ""))
    return made


def leads_to_code(value, depth=0):
    """Whether a text names an attribute that leads from an object of the tests to its code."""
    # Not by isinstance: `__class__` of a handle is what its object is of.
    kind = type(value)
    if issubclass(kind, str):
        text = str.__str__(value)
        return "_" in text and len(text) < _MAX_NAME and not border.LEADING.isdisjoint(_SEPARATOR.split(text))
    if issubclass(kind, (list, tuple)) and depth < 3:
        items = (list if issubclass(kind, list) else tuple).__iter__(value)
        return any(leads_to_code(item, depth + 1) for item in itertools.islice(items, _MAX_NAME))
    if kind is dict:
        return any(leads_to_code(item, depth + 1) for item in value.values())
    return False


_SEPARATOR = re.compile(r"[^\w]+")
_MAX_NAME = 1_000
_PLAIN = side.SCALARS | {bytearray, range}


def as_own(value, seen=None):
    """What the candidate has handed over, with its own classes, functions and modules in the place of the tests'. Containers of
    the tests keep what is in them."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if issubclass(kind, type):
        return _class_of(value)
    if kind in origins.FUNCTIONS:
        return _function_of(value)
    if kind is types.ModuleType:
        return _module_of(value) if sys.modules.get(value.__name__) is value and origins.is_library_module(value) else value
    if kind is types.GenericAlias:
        origin = as_own(value.__origin__)
        return value if origin is value.__origin__ else types.GenericAlias(origin, value.__args__)
    if kind is tuple:
        if _PLAIN.issuperset(map(type, value)):
            return value
        items = [as_own(item, seen) for item in value]
        return value if all(map(_is, items, value)) else tuple(items)
    if kind in _CONTAINERS:
        if seen is None:
            seen = set()
        if id(value) in seen or side.state.shared.numbers.get(id(value)) in side.state.shared.handed:
            return value
        seen.add(id(value))
        return _CONTAINERS[kind](value, seen)
    if (base := getattr(kind, "_proofbox_container", None)) is not None and base in _CONTAINERS:
        # A subclass of the candidate's, with its content.
        _, read, fill = side.CONTAINERS[base]
        content = read(value)
        own = as_own(type(content)(content), seen)
        if list(map(id, own)) != list(map(id, content)) or type(own) is dict and any(own[key] is not content[key] for key in own):
            fill(value, own)
        return value
    if kind.__name__ == "ndarray" and value.dtype.hasobject:
        flat = value.reshape(-1)
        for index, item in enumerate(flat):
            flat[index] = as_own(item, seen)
    return value


def _is(a, b):
    return a is b


def _in_list(value, seen):
    if not _PLAIN.issuperset(map(type, value)):
        for index, item in enumerate(value):
            own = as_own(item, seen)
            if own is not item:
                value[index] = own
    return value


def _in_set(value, seen):
    if _PLAIN.issuperset(map(type, value)):
        return value
    items = [as_own(item, seen) for item in value]
    if all(map(_is, items, value)):
        return value
    if type(value) is frozenset:
        return frozenset(items)
    value.clear()
    value.update(items)
    return value


def _in_dict(value, seen):
    if type(value) is collections.defaultdict:
        value.default_factory = as_own(value.default_factory, seen)
    if not _PLAIN.issuperset(map(type, value)):
        pairs = [(as_own(key, seen), item) for key, item in value.items()]
        if not all(key is own for key, (own, _) in zip(value, pairs)):
            value.clear()
            value.update(pairs)
    if not _PLAIN.issuperset(map(type, value.values())):
        for key, item in value.items():
            own = as_own(item, seen)
            if own is not item:
                value[key] = own
    return value


_CONTAINERS = {
    list: _in_list, collections.deque: _in_list, set: _in_set, frozenset: _in_set, dict: _in_dict, collections.OrderedDict: _in_dict,
    collections.defaultdict: _in_dict, collections.Counter: _in_dict,
}  # fmt: skip
