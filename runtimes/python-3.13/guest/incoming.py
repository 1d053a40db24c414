"""Objects that come from the other side: each payload is checked, then it becomes a handle, an exception or a class."""

import enum
import functools
import types

import _proofbox_border as border
import _proofbox_class_checks as class_checks
import _proofbox_marshal as marshal
import _proofbox_origins as origins
import _proofbox_outgoing as outgoing
import _proofbox_proxies as proxies
import _proofbox_proxy_types as proxy_types
import _proofbox_sharing as sharing
import _proofbox_side as side
import _proofbox_theirs as theirs


def take_contents(contents, handed=()):
    """Sets the contents of handles, of shared containers, and of own ones on the candidate's side, as the other side has
    told. `handed`: the containers of the request that it is carrying out or has carried out, if they may become shared."""
    for entry in contents:
        whose, number, content = entry
        if whose == "error" and side.state.grader:
            outgoing.alter_exception(number, content)
            continue
        if whose == "printed" and side.state.grader:
            side.state.candidate.outputs.take(number, content)
            continue
        if whose == "derived" and side.state.grader:
            side.state.inexpressible("a class of the candidate derives from one of the tests")
            continue
        if whose == "stale":
            if side.state.grader:
                side.signal("stale_keys")
                side.state.violation = side.state.violation or side.Refused("a set or dict has keys whose hash has changed (grading: isolated)")
            continue
        if whose in sharing.ENTRIES:
            side.state.shared.take(side.state, whose, number, content, handed)
            continue
        if whose == "yours" and not side.state.grader:
            target = side.state.objects[number]
            base = next(base for base in side.CONTAINERS if isinstance(target, base))
            side.CONTAINERS[base][2](target, content)
            if number in side.state.tracked:
                side.state.tracked[number] = target, side.CONTAINERS[base][1], content
            continue
        if whose == "yours":
            _alter_container(number, content)
            continue
        target = side.state.proxies.get(number) if whose == "mine" and type(number) is int else None
        base = type(target)._proofbox_container if target is not None else None
        if base is None or type(content) is not side.CONTAINERS[base][0]:
            raise marshal.CannotCross("the content of what is no container")
        if number not in side.state.dirty:
            side.CONTAINERS[base][2](target, content)
        if side.state.grader:
            side.note_empty(content)
        else:
            outgoing.track_handle(number, target, base)


def _alter_container(number, content):
    """Alters a container of the tests as code in C has altered the candidate's copy of it (`list.sort(x)`, `heapq`)."""
    known = side.state.tracked.get(number) if border.is_number(number) else None
    base = outgoing.base_of(type(known[0])) if known else None
    if base not in side.CONTAINERS or type(content) is not side.CONTAINERS[base][0]:
        raise marshal.CannotCross("the content of what is no container of the tests")
    target, read, _ = known
    side.CONTAINERS[base][2](target, content)
    side.state.tracked[number] = target, read, read(target)
    side.state.note_altered(target)


def _restore_yours(number):
    if not border.is_number(number):
        raise marshal.CannotCross("no number of an object")
    return side.state.objects[number]


def _restore_mine(number):
    return side.state.proxy_types[number]


def _restore_library(payload):
    module, name = payload
    if type(name) is not str:
        raise marshal.CannotCross("no class of the library")
    if module == "builtins" and name in origins.NAMELESS:
        found = origins.NAMELESS[name]
        return theirs.stand_for_class(found, payload) if side.state.grader else found
    found = origins.restore_module(module)
    if (module, name) in origins.replaced:
        found = origins.replaced[module, name]
    else:
        for part in name.split("."):
            found = vars(found).get(part) if isinstance(found, (type, types.ModuleType)) else None
    if not isinstance(found, type) or not origins.is_shared(module) and not origins.is_class_of_package(found):
        raise marshal.CannotCross(f"no class of the library: {module}.{name}")
    return theirs.stand_for_class(found, payload) if side.state.grader else found


def _own(cls):
    """In a description, a class of the library is this side's."""
    return cls._proofbox_real if type(cls) is proxies.ProxyType and cls._proofbox_stands else cls


def _restore_member(payload):
    """A member of an enumeration of the library: this side's own."""
    cls, key = _own(payload[0]), payload[1]
    if not isinstance(cls, enum.EnumType) or origins.library_name(cls) is None:
        raise marshal.CannotCross("no enumeration of the library")
    if type(key) is int and issubclass(cls, enum.Flag):
        return cls(key)
    if type(key) is not str or key not in cls.__members__:
        raise marshal.CannotCross("no member of an enumeration")
    return cls.__members__[key]


def _restore_object(payload):
    number, cls, plain = payload
    if not border.is_number(number):
        raise marshal.CannotCross("no number of an object")
    proxy = side.state.proxies.get(number)
    if proxy is not None:
        return proxy
    if type(cls) is not proxies.ProxyType or cls._proofbox_stands:
        cls = _own(cls)
        if not isinstance(cls, type):
            raise marshal.CannotCross("an object without a class")
        if cls in marshal.REDUCERS and cls.__module__ not in ("types", "typing"):
            raise marshal.CannotCross("an object that should be a value")
        cls = library_proxy_type(cls)
    elif issubclass(cls, BaseException):
        raise marshal.CannotCross("an exception that is none")
    base = cls._proofbox_value_base
    if base is not None:
        # The proxy type of a subclass of a builtin is one too, and what came must be such a value.
        if type(plain) is not base:
            raise marshal.CannotCross("a value that is not of its type")
        if side.state.grader:
            side.note_plain(plain)
            if "__eq__" in cls._proofbox_own:
                side.signal("overridden_equality")
        proxy = side.OF_LIBRARY[base][0](cls, plain) if base in side.OF_LIBRARY else base.__new__(cls, plain)
    else:
        base = cls._proofbox_container
        proxy = cls.__new__(cls) if base is None else base.__new__(cls)
        if plain is not None and not side.state.grader and isinstance(plain, type):
            object.__setattr__(proxy, "_proofbox_spec", plain)
    _attach(proxy, number)
    return proxy


def _attach(proxy, number):
    set_ = object.__setattr__ if not isinstance(proxy, BaseException) else BaseException.__setattr__
    set_(proxy, "_proofbox_number", number)
    set_(proxy, "_proofbox_generation", side.state.generation)
    side.state.proxies[number] = proxy


def _restore_exception(payload):
    from _proofbox_unsupported import MARKS

    number, cls, args, text, attributes, frames, cause, context, suppress = payload
    if not (
        isinstance(cls, type) and issubclass(cls, BaseException) and type(args) is tuple and type(text) is str
        and type(attributes) is dict and all(each is None or isinstance(each, BaseException) for each in (cause, context))
        and (number is None or border.is_number(number))
    ):  # fmt: skip
        raise marshal.CannotCross("no exception")
    if side.state.grader and border.stays(cls):
        raise marshal.CannotCross("an exception of the tests' library")
    if side.state.grader and type(cls) is not proxies.ProxyType and len(cls.__bases__) > 1:
        proxy_types.note_branches(cls)
    if side.state.grader:
        for each in args:
            if type(each) in side.SIZED:
                side.note_empty(each)
    error = side.state.proxies.get(number) if number is not None else None
    if type(error) is not cls:
        # Not one that is known already.
        error = cls.__new__(cls, *args) if not issubclass(cls, UnicodeError) else _unicode_error(cls, args)
    BaseException.__setattr__(error, "args", args)
    is_of_library = type(cls) is not proxies.ProxyType
    for name, value in attributes.items():
        # Objects never in the place of what exceptions have, which the library calls.
        public = type(name) is str and name[:1] != "_" and (type(value) in side.PLAIN_TYPES or is_of_library and not hasattr(cls, name))
        if public or type(name) is str and (name == "__notes__" or name in MARKS or name in outgoing.ATTRIBUTE_NAMES):
            try:
                BaseException.__setattr__(error, name, value)
            except (AttributeError, TypeError):
                pass
    BaseException.__setattr__(error, "_proofbox_text", text)
    BaseException.__setattr__(error, "_proofbox_frames", frames)
    if cause is not None:
        error.__cause__ = cause
    if context is not None:
        error.__context__ = context
    error.__suppress_context__ = bool(suppress)
    if number is not None:
        _attach(error, number)
        if not side.state.grader:
            outgoing.track_exception(number, error)
    return error


def _unicode_error(cls, args):
    base = next(base for base in cls.__mro__ if type(base) is not proxies.ProxyType)
    error = cls.__new__(cls, *args)
    try:
        # Unlike others, these say nothing until they are initialised.
        base.__init__(error, *args)
    except TypeError:
        return UnicodeError()
    return error


def _restore_class(payload):
    number, qualname, module, bases, specials, own, overridden = payload
    if not (
        border.is_number(number) and number not in side.state.proxy_types and type(qualname) is str and type(module) is str
        and type(bases) is tuple and all(isinstance(base, type) for base in bases)
        and all(type(names) is tuple and all(type(name) is str for name in names) for names in (specials, own, overridden))
        and _SPECIALS_AND_MARK.issuperset(specials) and frozenset(specials).issuperset(own)
    ):  # fmt: skip
        raise marshal.CannotCross("no description of a class")
    bases = tuple(map(_own, bases))
    same = (side.state.grader, qualname, module, bases, specials, own, overridden)
    proxy_type = known_types.get(same)
    if proxy_type is None or proxy_type in side.state.homes:
        real = origins.class_of_package(module, qualname)
        proxy_type = known_types[same] = proxy_types.make_proxy_type(qualname, module, bases, specials, own, overridden, real)
    if side.state.grader:
        class_checks.note_class(proxy_type)
    side.state.homes[proxy_type] = number
    side.state.proxy_types[number] = proxy_type
    return proxy_type


# Marks beside the special methods: no hash, no weak references; its metaclass says what is an instance (abc.ABCMeta), or
# how the class is shown.
_SPECIALS_AND_MARK = frozenset({*border.SPECIALS, *border.MARKS, *border.MARKS_OF_METACLASSES, "unhashable", "unreferable", "checks", "shown", "awaited"})
# Proxy types by what they were described as: a class keeps its proxy type when its interpreter is replaced by a fresh one.
known_types = {}


# Classes of the library whose instances a class of the tests may have as descriptors.
_DESCRIPTORS = frozenset({property, functools.cached_property, functools.partialmethod, functools.singledispatchmethod})


def library_proxy_type(cls):
    """For an object of a class that both sides have, and that did not come with a description."""
    key = (side.state.grader, "library", cls)
    proxy_type = known_types.get(key)
    if proxy_type is None:
        names = outgoing.names_of_instances(cls)
        specials = [
            special for special in border.SPECIALS if names.get(special) is not None and names[special] is not outgoing.BY_DEFAULT.get(special)
            and (special not in border.DESCRIPTORS or cls in _DESCRIPTORS)
        ]
        if names["__hash__"] is None:
            specials.append("unhashable")
        bases = (cls,) if cls in proxy_types.KEPT_BASES else (tuple,) if issubclass(cls, tuple) else ()
        proxy_type = known_types[key] = proxy_types.make_proxy_type(cls.__qualname__, cls.__module__, bases, tuple(specials), (), (), cls)
    return proxy_type


marshal.RESTORERS |= {
    "yours": _restore_yours, "mine": _restore_mine, "library": _restore_library, "object": _restore_object,
    "exception": _restore_exception, "class": _restore_class, "module": theirs.stand_for_module, "member": _restore_member,
    "function": theirs.restore_function, "loop": outgoing.restore_loop,
}  # fmt: skip
