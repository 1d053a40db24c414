"""Objects of the other interpreter: numbers on the wire, proxies here.

A proxy's class mirrors its object's: name, bases, the special methods it has. Exceptions derive from the builtin class
that theirs derives from, so that `except` and `assertRaises` see what they expect. An instance of a subclass of an
immutable builtin (int, str, tuple …) carries its plain value, taken by the builtin's own means: operators that the
subclass overrides do not count.

In the grader's interpreter what a proxy *does* is the candidate's word. So comparing one with plain data is decided
here (it is not equal, and has no order); operators between one and plain data are passed on only for classes that the
tests themselves name, and must give an object again; `in` looks at the items here, unless the class is so named."""

import dataclasses
import importlib
import inspect
import sys
import types

import _proofbox_crossing as crossing
import _proofbox_report as report


class State:
    """What one side knows of the other. Made anew at the start, so that a run writes to little of the image."""

    __slots__ = (
        "grader", "objects", "numbers", "proxies", "mirrors", "homes", "described", "generation", "signals", "named", "paths",
        "ask", "perform", "nonsense", "refresh", "check_may_leave", "inexpressible", "candidate", "streams", "noted", "namespace",
        "runner", "altered",
    )  # fmt: skip

    def __init__(self):
        self.grader = False  # whether this is the tests' side
        self.signals = {}  # what was seen that an honest candidate does not need (grader only)
        self.named = {}  # mirrors that the tests name
        self.paths = {}  # by which name mirrors were found
        self.altered = []  # arguments that the other side has changed
        self.generation = 0  # of which interpreter of the candidate: each fresh one begins with no objects
        self.namespace = self.runner = self.candidate = self.refresh = self.check_may_leave = self.inexpressible = None
        self.clear()

    def clear(self):
        self.objects = []  # this side's objects that the other knows, by number
        self.numbers = {}  # and the numbers, by id
        self.proxies = {}  # the other side's objects, by number
        self.mirrors = {}  # and their classes
        self.homes = {}  # number of each mirror
        self.described = {}  # classes of this side that the other has had described

    def reset(self):
        """A fresh interpreter on the other side: nothing that it knew of is there."""
        self.generation += 1
        self.clear()


state = None

VALUE_TYPES = (int, float, complex, str, bytes, tuple, frozenset)
MUTABLE_TYPES = (list, dict, set, bytearray)
MUTATORS = frozenset(
    "append extend insert remove pop clear sort reverse add discard update setdefault popitem intersection_update "
    "difference_update symmetric_difference_update".split()
)
KEPT_BASES = {*VALUE_TYPES, *MUTABLE_TYPES, object}
# Classes of the library are known on both sides by name, but for those by which tests are told of their outcome.
NOT_SHARED = frozenset({"unittest", "doctest", "bdb", "__main__"})

COMPARISONS = ("__lt__", "__le__", "__gt__", "__ge__")
ARITHMETIC = tuple(
    f"__{prefix}{name}__"
    for name in "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or".split()
    for prefix in ("", "r", "i")
    if (prefix, name) != ("i", "divmod")
)
NUMERIC = ("__abs__", "__neg__", "__pos__", "__invert__", "__int__", "__float__", "__complex__", "__index__", "__round__",
           "__trunc__", "__floor__", "__ceil__", "__bool__", "__len__")  # fmt: skip
OTHERS = ("__iter__", "__next__", "__reversed__", "__getitem__", "__setitem__", "__delitem__", "__missing__", "__enter__",
          "__exit__", "__aiter__", "__anext__", "__aenter__", "__aexit__", "__await__", "__str__", "__repr__", "__format__",
          "__bytes__", "__length_hint__", "__call__", "__contains__", "__eq__", "__hash__")  # fmt: skip
SPECIALS = (*COMPARISONS, *ARITHMETIC, *NUMERIC, *OTHERS)
# What the library's own classes give a user's class without its doing.
_BY_DEFAULT = {name: getattr(object, name) for name in SPECIALS if hasattr(object, name)}


def signal(name):
    state.signals[name] = True


def note_reuse(sent):
    """An argument that one call has changed and the next one gets: few tests mean that."""
    if state.grader and any(each is known for each in sent for known in state.altered):
        signal("changed_argument_reused")
        state.altered.clear()


# ---------------------------------------------------------------- out


def number_of(value):
    number = state.numbers.get(id(value))
    if number is None:
        number = state.numbers[id(value)] = len(state.objects)
        state.objects.append(value)
    return number


def reduce_object(value):
    kind = type(value)
    if type(kind) is Mirror or kind is Mirror:
        return "yours", number_at_home(value)
    if isinstance(value, type):
        return _reduce_class(value)
    if isinstance(value, BaseException):
        return _reduce_exception(value)
    if kind is types.ModuleType and _is_library_module(value):
        return "module", value.__name__
    if state.check_may_leave:
        state.check_may_leave(value)
    plain = None
    for base in VALUE_TYPES:
        if base in kind.__mro__:
            plain = _plain(base, value)
            break
    return "object", (number_of(value), kind, plain)


def _plain(base, value):
    """The builtin value that an instance of a subclass holds, whatever the subclass overrides."""
    if base is tuple:
        return tuple(tuple.__iter__(value))
    if base is frozenset:
        return frozenset(frozenset.__iter__(value))
    if base is str:
        return str.__str__(value) if type(str.__str__(value)) is str else "".join(str.__iter__(value))
    if base is bytes:
        return bytes(bytes.__iter__(value))
    if base is complex:
        return complex(*(part.__get__(value) for part in (complex.real, complex.imag)))
    return int.__int__(value) if base is int else float.__float__(value)


def _is_shared(module):
    root = module.partition(".")[0]
    return root in sys.stdlib_module_names and root not in NOT_SHARED


def _library_name(cls):
    module, name = cls.__module__, cls.__qualname__
    if _NAMELESS.get(name) is cls:
        return "builtins", name
    if type(module) is str and _is_shared(module):
        found = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is cls:
            return module, name
    return None


def _is_library_module(module):
    """Whether both sides have it: each its own."""
    name = module.__name__
    return type(name) is str and _is_shared(name) and sys.modules.get(name) is module


def _restore_module(name):
    if type(name) is not str or not _is_shared(name):
        raise crossing.CannotCross("no module of the library")
    return importlib.import_module(name)


def is_of_library(cls):
    """Whether a class is one that the tests have not defined themselves."""
    module = sys.modules.get(cls.__module__)
    return _is_shared(cls.__module__) or str(getattr(module, "__file__", "")).startswith(report.NOT_THE_USERS)


def _reduce_class(cls):
    name = _library_name(cls)
    if name:
        return "library", name
    number = number_of(cls)
    if number in state.described:
        return "mine", number
    state.described[number] = True
    specials = []
    for special in SPECIALS:
        found = getattr(cls, special, None)
        if special == "__hash__" and found is None:
            specials.append("unhashable")
        elif found is not None and found is not _BY_DEFAULT.get(special):
            specials.append(special)
    value_base = next((base for base in (*VALUE_TYPES, *MUTABLE_TYPES) if base in cls.__mro__), None)
    overridden = []
    if value_base:
        for name_, _ in inspect.getmembers_static(value_base):
            if not name_.startswith("__") and inspect.getattr_static(cls, name_) is not inspect.getattr_static(value_base, name_):
                overridden.append(name_)
    qualname = cls.__qualname__ if type(cls.__qualname__) is str else "object"
    own = tuple(special for special in specials if _defined_by_user(cls, special))
    return "class", (number, qualname, str(cls.__module__), cls.__bases__, tuple(specials), own, tuple(overridden))


def _defined_by_user(cls, special):
    """Whether the special method comes from a class that the library does not have."""
    for base in cls.__mro__:
        if special in base.__dict__:
            return _library_name(base) is None
    return False


ATTRIBUTES = {
    OSError: ("errno", "strerror", "filename", "filename2"),
    ImportError: ("name", "path"),
    StopIteration: ("value",),
    SystemExit: ("code",),
    AttributeError: ("name",),
    NameError: ("name",),
    SyntaxError: ("msg", "filename", "lineno", "offset", "text"),
}


def _reduce_exception(error, depth=0):
    from _proofbox_unsupported import marks_of

    kind = type(error)
    attributes = {}
    for base, names in ATTRIBUTES.items():
        if isinstance(error, base):
            for name in names:
                value = getattr(error, name, None)
                if type(value) in (int, str, bytes) or name == "value":
                    attributes[name] = value
    notes = getattr(error, "__notes__", None)
    if type(notes) is list:
        attributes["__notes__"] = [note for note in notes if type(note) is str]
    attributes.update(marks_of(error))
    cause = error.__cause__
    user = _library_name(kind) is None
    frames = [] if state.grader else report.frames_as_data(error)
    return "exception", (
        number_of(error) if user else None,
        kind,
        error.args,
        report.text_of(error),
        attributes,
        frames,
        cause if isinstance(cause, BaseException) and cause is not error else None,
        error.__suppress_context__,
    )


# ---------------------------------------------------------------- in


def _restore_yours(number):
    return state.objects[number]


def _restore_mine(number):
    return state.mirrors[number]


def _restore_library(payload):
    module, name = payload
    if type(module) is not str or type(name) is not str or not _is_shared(module):
        raise crossing.CannotCross(f"no class of the library: {module}.{name}")
    if module == "builtins" and name in _NAMELESS:
        return _NAMELESS[name]
    found = importlib.import_module(module)
    for part in name.split("."):
        found = found.__dict__[part] if isinstance(found, types.ModuleType) else getattr(found, part)
    if not isinstance(found, type):
        raise crossing.CannotCross(f"no class of the library: {module}.{name}")
    return found


def _restore_object(payload):
    number, cls, plain = payload
    proxy = state.proxies.get(number)
    if proxy is not None:
        return proxy
    if type(cls) is not Mirror:
        cls = _mirror_of_library(cls)
    base = cls._proofbox_value_base
    if base is not None:
        # The mirror of a subclass of a builtin is one too, and what came must be such a value.
        if type(plain) is not base:
            raise crossing.CannotCross("a value that is not of its type")
        if state.grader and "__eq__" in cls._proofbox_own:
            signal("overridden_equality")
        proxy = base.__new__(cls, plain)
    else:
        proxy = cls.__new__(cls)
    _attach(proxy, number)
    return proxy


def _attach(proxy, number):
    set_ = object.__setattr__ if not isinstance(proxy, BaseException) else BaseException.__setattr__
    set_(proxy, "_proofbox_number", number)
    set_(proxy, "_proofbox_generation", state.generation)
    state.proxies[number] = proxy


def _restore_exception(payload):
    from _proofbox_unsupported import MARKS

    number, cls, args, text, attributes, frames, cause, suppress = payload
    if not (isinstance(cls, type) and issubclass(cls, BaseException) and type(args) is tuple and type(text) is str):
        raise crossing.CannotCross("no exception")
    error = cls.__new__(cls, *args) if not issubclass(cls, UnicodeError) else _unicode_error(cls, args)
    BaseException.__setattr__(error, "args", args)
    for name, value in attributes.items():
        if name == "__notes__" or name in MARKS or any(name in names for names in ATTRIBUTES.values()):
            try:
                BaseException.__setattr__(error, name, value)
            except (AttributeError, TypeError):
                pass
    BaseException.__setattr__(error, "_proofbox_text", text)
    BaseException.__setattr__(error, "_proofbox_frames", frames)
    if cause is not None:
        error.__cause__ = cause
    error.__suppress_context__ = bool(suppress)
    if type(cls) is Mirror and number is not None:
        _attach(error, number)
    return error


def _unicode_error(cls, args):
    try:
        return cls(*args)
    except TypeError:
        return UnicodeError()


def _restore_class(payload):
    number, qualname, module, bases, specials, own, overridden = payload
    same = (qualname, module, bases, specials, own, overridden)
    mirror = _known.get(same)
    if mirror is None or mirror in state.homes:
        mirror = _known[same] = _make_mirror(qualname, module, bases, specials, own, overridden)
    state.homes[mirror] = number
    state.mirrors[number] = mirror
    return mirror


# Builtin types that have no name in `builtins`.
_NAMELESS = {value.__qualname__: value for value in vars(types).values() if isinstance(value, type) and value.__module__ == "builtins"}
# Mirrors by what they were described as: a class keeps its mirror when its interpreter is replaced by a fresh one.
_known = {}


def _mirror_of_library(cls):
    """For an object of a class that both sides have, and that did not come with a description."""
    key = ("library", cls)
    mirror = _known.get(key)
    if mirror is None:
        specials = [
            special for special in SPECIALS if getattr(cls, special, None) is not None and getattr(cls, special) is not _BY_DEFAULT.get(special)
        ]
        if getattr(cls, "__hash__", None) is None:
            specials.append("unhashable")
        bases = (cls,) if cls in KEPT_BASES else ()
        mirror = _known[key] = _make_mirror(cls.__qualname__, cls.__module__, bases, tuple(specials), (), (), cls)
    return mirror


# ---------------------------------------------------------------- proxies


def number_at_home(proxy):
    """The number of a proxy's object; one that lived in an interpreter that is gone is found again by its name."""
    if type(proxy) is Mirror:
        number = state.homes.get(proxy)
        return state.refresh(proxy) if number is None else number
    if proxy._proofbox_generation != state.generation:
        return state.refresh(proxy)
    return proxy._proofbox_number


class Mirror(type):
    """The class of mirrors."""

    _proofbox_real = None
    _proofbox_value_base = None
    _proofbox_mutable_base = None
    _proofbox_own = frozenset()

    def __new__(mcls, name, bases, namespace, **kwargs):
        if state.inexpressible:
            state.inexpressible("a class of the tests derives from one of the candidate")
        raise TypeError("a class can't derive from one of another interpreter (grading: isolated)")

    def __call__(cls, *args, **kwargs):
        return state.ask("call", number_at_home(cls), args, kwargs)

    def __getattr__(cls, name):
        value = state.ask("get", number_at_home(cls), name)
        if name == "__dataclass_fields__":
            # `dataclasses` knows fields by marks that are objects of its own.
            return {name: _field(name) for name in value}
        return value

    def __setattr__(cls, name, value):
        state.ask("set", number_at_home(cls), name, value)

    def __delattr__(cls, name):
        state.ask("del", number_at_home(cls), name)

    def __iter__(cls):
        return state.ask("special", number_at_home(cls), "__iter__", ())

    def __len__(cls):
        return state.ask("special", number_at_home(cls), "__len__", ())

    def __bool__(cls):
        return True

    def __getitem__(cls, key):
        return state.ask("index", number_at_home(cls), key)

    def __contains__(cls, item):
        return state.ask("special", number_at_home(cls), "__contains__", (item,))

    def __dir__(cls):
        return state.ask("dir", number_at_home(cls))



def _field(name):
    field = dataclasses.field()
    field.name, field._field_type = name, dataclasses._FIELD
    return field


def special(proxy, name, *args):
    return state.ask("special", number_at_home(proxy), name, args)


def _forwarded(name):
    def method(self, *args):
        return special(self, name, *args)

    return method


def _is_remote(value):
    return type(type(value)) is Mirror or type(value) is Mirror


def _named(value):
    return any(cls in state.named for cls in type(value).__mro__)


def _tainted(value):
    return type(type(value)) is Mirror and value._proofbox_tainted


def _taint(result, name):
    """The tests' own value has gone into the result of an operator: it must be an object, or it could be anything that
    the tests want."""
    if not _is_remote(result) or isinstance(result, (*VALUE_TYPES, type)):
        raise TypeError(
            f"{name} with a value of the tests must give an object of the candidate, not {type(result).__name__} (grading: isolated)"
        )
    object.__setattr__(result, "_proofbox_tainted", True)


def _arithmetic(name):
    def method(self, other, *rest):
        tainted = state.grader and (self._proofbox_tainted or not _is_remote(other) or _tainted(other))
        if not tainted:
            return special(self, name, other, *rest)
        if not _named(self):
            signal("operator_with_plain_data")
            return NotImplemented
        result = special(self, name, other, *rest)
        if result is not NotImplemented:
            signal("operator_of_the_candidate")
            _taint(result, name)
        return result

    return method


def _numeric(name):
    def method(self, *args):
        result = special(self, name, *args)
        if state.grader and self._proofbox_tainted:
            _taint(result, name)
        return result

    return method


def _ordering(name):
    def method(self, other):
        if not state.grader or _is_remote(other):
            return special(self, name, other)
        signal("comparison_with_plain_data")
        return NotImplemented

    return method


def _call(self, *args, **kwargs):
    try:
        return state.ask("call", number_at_home(self), args, kwargs)
    except StopIteration as stop:
        if type(self)._proofbox_real is not types.FunctionType:
            raise
        # From a function it would end the loop of the tests that called it (PEP 479 has the same reason).
        raise RuntimeError("the candidate's function raised StopIteration") from stop


def _exit(self, kind, error, traceback):
    """What the tests assert inside a `with` is not the candidate's to forgive."""
    suppressed = special(self, "__exit__", kind, error, None)
    if state.grader and suppressed and isinstance(error, AssertionError):
        signal("suppressed_assertion")
        return False
    return suppressed


def _equal(self, other):
    if self is other:
        return True
    if _is_remote(other):
        if number_at_home(self) == number_at_home(other):
            return True
        if not state.grader:
            return special(self, "__eq__", other)
        if "__eq__" not in type(self)._proofbox_own:
            return special(self, "__eq__", other) if type(self)._proofbox_real else NotImplemented
        signal("equality_by_candidate")
        return special(self, "__eq__", other)
    if not state.grader:
        return special(self, "__eq__", other)
    if type(self)._proofbox_mutable_base is not None and not isinstance(other, VALUE_TYPES):
        return state.ask("plain", number_at_home(self)) == other
    if "__eq__" in type(self)._proofbox_own and type(other) in PLAIN_TYPES:
        signal("equality_with_plain_data")
    return NotImplemented


PLAIN_TYPES = {*VALUE_TYPES, *MUTABLE_TYPES, bool, type(None)}


def _not_equal(self, other):
    result = self.__eq__(other)
    return result if result is NotImplemented else not result


def _value_equal(base):
    return {
        "__eq__": base.__eq__, "__ne__": base.__ne__, "__lt__": getattr(base, "__lt__"), "__le__": getattr(base, "__le__"),
        "__gt__": getattr(base, "__gt__"), "__ge__": getattr(base, "__ge__"), "__hash__": base.__hash__,
    }  # fmt: skip


def _hash(self):
    return special(self, "__hash__")


def _hash_by_identity(self):
    return hash(("_proofbox", number_at_home(self)))


def _contains(self, item):
    if not state.grader or _is_remote(item):
        return special(self, "__contains__", item)
    if _named(self) and "__contains__" in type(self)._proofbox_own:
        signal("membership_by_candidate")
        return special(self, "__contains__", item)
    return any(item is member or item == member for member in self)


def _await(self):
    return state.ask("run", number_at_home(self))
    yield


def _send(self, value):
    raise StopIteration(state.ask("run", number_at_home(self)))


def _throw(self, error, *rest):
    raise error


def _close(self):
    pass


def _getattr(self, name):
    if name == "__signature__":
        return _signature(self)
    if name == "__dataclass_fields__":
        return getattr(type(self), name)
    return state.ask("get", number_at_home(self), name)


def _setattr(self, name, value):
    state.ask("set", number_at_home(self), name, value)


def _set_exception_attribute(self, name, value):
    if name.startswith("__"):
        BaseException.__setattr__(self, name, value)
    else:
        state.ask("set", number_at_home(self), name, value)


def _delattr(self, name):
    state.ask("del", number_at_home(self), name)


def _dir(self):
    return state.ask("dir", number_at_home(self))


def _class(self):
    return type(self)._proofbox_real or type(self)


def _text(self):
    return self._proofbox_text


def signature_of(target):
    """The parameters of a callable as plain data, or None."""
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return None
    # Defaults of the tests' own functions are no business of the candidate's.
    return [
        (p.name, int(p.kind), p.default is not p.empty, None if p.default is p.empty or state.grader else p.default)
        for p in parameters
    ]


def _signature(self):
    parameters = state.ask("signature", number_at_home(self))
    if parameters is None:
        raise AttributeError("__signature__")
    made = []
    for name, kind, has_default, default in parameters:
        made.append(inspect.Parameter(name, kind, default=default if has_default else inspect.Parameter.empty))
    return inspect.Signature(made)


class _Forward:
    """A method of the builtin base that the object has itself: the candidate's word, which counts for classes that the
    tests name. Of others it is the builtin's own, on their plain content, but for what alters the object."""

    def __init__(self, base, name):
        self.base, self.name = base, name

    def __get__(self, proxy, cls=None):
        if proxy is None:
            return self
        if not state.grader or self.name in MUTATORS or _named(proxy):
            return state.ask("get", number_at_home(proxy), self.name)
        if self.base in MUTABLE_TYPES:
            return getattr(state.ask("plain", number_at_home(proxy)), self.name)
        return getattr(self.base, self.name).__get__(proxy, type(proxy))


_METHODS = {}
for _name in SPECIALS:
    _METHODS[_name] = _forwarded(_name)
for _name in ARITHMETIC:
    _METHODS[_name] = _arithmetic(_name)
for _name in NUMERIC:
    _METHODS[_name] = _numeric(_name)
for _name in COMPARISONS:
    _METHODS[_name] = _ordering(_name)
_METHODS.update({"__call__": _call, "__eq__": _equal, "__hash__": _hash, "__contains__": _contains, "__await__": _await, "__exit__": _exit})
for _name, _method in _METHODS.items():
    _method.__name__ = _name

_COMMON = {
    "__getattr__": _getattr, "__setattr__": _setattr, "__delattr__": _delattr, "__dir__": _dir,
    "__class__": property(_class), "_proofbox_tainted": False,
    "__reduce_ex__": lambda self, protocol: _refuse_copy(),
}  # fmt: skip


def _refuse_copy():
    raise TypeError("an object of the candidate can't be copied from where the tests are (grading: isolated)")


def _make_mirror(qualname, module, bases, specials, own, overridden, real=None):
    qualname = qualname[:200]
    mirrored = []
    value_base = mutable_base = None
    exception = False
    for base in bases:
        if type(base) is Mirror:
            mirrored.append(base)
            value_base = value_base or base._proofbox_value_base
            mutable_base = mutable_base or base._proofbox_mutable_base
            exception = exception or issubclass(base, BaseException)
        elif isinstance(base, type) and issubclass(base, BaseException):
            mirrored.append(base)
            exception = True
        elif base in VALUE_TYPES:
            mirrored.append(base)
            value_base = base
        elif base in MUTABLE_TYPES:
            mirrored.append(base)
            mutable_base = base
    mirrored = tuple(mirrored) or (object,)
    namespace = {
        "__module__": module, "__qualname__": qualname, "_proofbox_value_base": value_base, "_proofbox_mutable_base": mutable_base,
        "_proofbox_own": frozenset(own), "_proofbox_real": real,
    }  # fmt: skip
    if exception:
        namespace |= {"__getattr__": _getattr, "__setattr__": _set_exception_attribute, "__str__": _text}
    else:
        namespace |= _COMMON
        namespace["__doc__"] = property(lambda self: state.ask("get", number_at_home(self), "__doc__"))
        namespace["__dict__"] = property(lambda self: state.ask("get", number_at_home(self), "__dict__"))
    if value_base is not None:
        for name in specials:
            # Text of it, and what the user's class adds; the value itself is plain.
            if name in own and name in ("__str__", "__repr__", "__format__", "__call__", "__enter__", "__exit__"):
                namespace[name] = _METHODS[name]
            elif name in own and name in ARITHMETIC:
                namespace[name] = _METHODS[name]
        namespace |= {name: function for name, function in _value_equal(value_base).items()}
        namespace |= {name: _Forward(value_base, name) for name in overridden}
    elif not exception:
        namespace |= {name: _METHODS[name] for name in specials if name in _METHODS}
        namespace["__eq__"], namespace["__ne__"] = _equal, _not_equal
        namespace.setdefault("__hash__", _hash_by_identity)
        if "unhashable" in specials:
            namespace["__hash__"] = None
        if mutable_base is not None:
            for name, _ in inspect.getmembers_static(mutable_base):
                if not name.startswith("__"):
                    namespace[name] = _Forward(mutable_base, name)
        if module == "builtins" and qualname in ("coroutine", "async_generator_asend", "async_generator_athrow", "anext_awaitable"):
            namespace |= {"send": _send, "throw": _throw, "close": _close}
    try:
        return type.__new__(Mirror, qualname.rpartition(".")[2], mirrored, namespace)
    except TypeError:
        # Bases that do not go together here: the first alone then.
        return type.__new__(Mirror, qualname.rpartition(".")[2], mirrored[:1], namespace)


crossing.reduce_object = reduce_object
crossing.RESTORERS |= {
    "yours": _restore_yours, "mine": _restore_mine, "library": _restore_library, "object": _restore_object,
    "exception": _restore_exception, "class": _restore_class, "module": _restore_module,
}  # fmt: skip
