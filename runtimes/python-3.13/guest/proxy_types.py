"""Classes of handles. Each mirrors its object's: name, bases, the special methods it has.

Exceptions derive from the builtin class that theirs derives from, so that `except` and `assertRaises` see what they expect. An
instance of a subclass of a builtin value or container carries its content, taken by the builtin's own means: operators that the
subclass overrides do not count, and C code that looks past them (`set(handle)`, `json.dumps(handle)`) sees what is there."""

import collections
import functools
import inspect
import types

import _proofbox_border as border
import _proofbox_operators as operators
import _proofbox_proxies as proxies
import _proofbox_side as side

KEPT_BASES = {*side.VALUE_TYPES, *side.CONTAINERS, object}
ARITHMETIC = tuple(
    name for name, (decides, _) in border.SPECIALS.items() if decides == "named" and name != "__contains__"
)
ARITHMETIC_NAMES = frozenset(ARITHMETIC)
# What an instance of a builtin's subclass may say for itself, if its class overrides it: nothing that is compared.
OWN_OF_VALUES = ("__str__", "__repr__", "__format__", "__call__", "__enter__", "__exit__", "__aenter__", "__aexit__")
OWN_OF_CONTAINERS = (*OWN_OF_VALUES, "__getitem__", "__missing__")
# What it says for itself if the tests name its class: no more than the builtin says of its content, if that says anything.
OF_NAMED_VALUES = frozenset(
    "__abs__ __neg__ __pos__ __invert__ __round__ __trunc__ __floor__ __ceil__ __int__ __index__ __float__ __complex__ __bytes__ "
    "__bool__ __len__ __length_hint__ __contains__ __iter__ __reversed__ __getitem__".split()
)
# What an exception says for itself; its text has crossed with it.
OWN_OF_EXCEPTIONS = frozenset(
    "__repr__ __format__ __lt__ __le__ __gt__ __ge__ __len__ __iter__ __getitem__ __contains__ __hash__ __int__ __index__ "
    "__float__ __call__".split()
)


_METHODS = {name: operators.asked(name) for name in border.SPECIALS}
_METHODS |= {name: operators.arithmetic(name) for name in ARITHMETIC}
_METHODS |= {name: operators.converted(name) for name in ("__int__", "__index__", "__float__", "__complex__", "__bytes__")}
_METHODS |= {name: operators.ordering(name) for name in ("__lt__", "__le__", "__gt__", "__ge__")}
_METHODS |= {name: operators.text(name) for name in ("__str__", "__repr__", "__format__")}
for _name in ("__hash__", "__next__", "__aenter__", "__anext__", "__aiter__", "__reversed__",
              "__getitem__", "__setitem__", "__delitem__", "__missing__", *border.DESCRIPTORS):  # fmt: skip
    _METHODS[_name] = operators.forwarded(_name)
_METHODS |= {
    "__round__": operators.rounded, "__call__": proxies.call_object, "__eq__": operators.is_equal, "__contains__": operators.contains_item, "__await__": proxies.await_result, "__enter__": proxies.enter_context, "__exit__": proxies.exit_context, "__aexit__": proxies.exit_async_context,
    "__iter__": operators.items_of, "__len__": operators.length_of_object, "__array__": operators.array_of, "__anext__": proxies.next_async_item, "__next__": proxies.next_item, "__bool__": operators.truth_of,
}  # fmt: skip
for _name, _method in _METHODS.items():
    _method.__name__ = _name

# What is noted of a handle, until it is.
_STATE = {"_proofbox_stands": None, "_proofbox_spec": None, "_proofbox_tainted": False, "_proofbox_made": False, "_proofbox_ends_loop": False, "_proofbox_given": False, "_proofbox_counted": None, "_proofbox_thrown": None, "_proofbox_prints": None}
_COMMON = _STATE | {
    "__getattr__": proxies.get_attribute, "__setattr__": proxies.set_attribute, "__delattr__": proxies.delete_attribute, "__dir__": proxies.names_of_attributes,
    "__class__": property(proxies.class_of),
    "__copy__": proxies.ForCopies("__copy__", lambda self: proxies.as_copy(self, side.state.ask("copy", proxies.remote_id(self), None))),
    "__deepcopy__": proxies.ForCopies(
        "__deepcopy__", lambda self, memo: proxies.as_copy(self, side.state.ask("copy", proxies.remote_id(self), proxies.copy_number(memo)))
    ),
    "__reduce_ex__": proxies.pickled,
    **{name: proxies.OfTests(name) for name in ("__getstate__", "__reduce__", "__sizeof__")},
}  # fmt: skip


_INITIALISER = proxies.Initialiser()


def _branches(bases):
    """The builtin exceptions that a class derives from, each by what it is just below Exception."""
    found = set()
    for base in bases:
        mro = [cls for cls in base.__mro__ if type(cls) is not proxies.ProxyType and cls not in (object, Exception, BaseException)]
        found.update(cls for cls in mro if isinstance(cls, type) and issubclass(cls, BaseException) and cls.__base__ in (Exception, BaseException))
    return found - {BaseExceptionGroup}


def _kinds(bases):
    """The exceptions of the library that a class derives from and of which none derives from another."""
    found = {cls for base in bases for cls in base.__mro__ if type(cls) is not proxies.ProxyType and isinstance(cls, type) and issubclass(cls, BaseException)}
    return {cls for cls in found if not any(cls is not other and issubclass(other, cls) for other in found)}


def note_branches(cls):
    """An exception of the library that is one of two unrelated builtin ones matches either (`io.UnsupportedOperation`)."""
    if len(_branches((cls,))) > 1:
        side.signal("raises_by_two_bases")


def value_type_of(base):
    """The builtin value that a class of the library derives from, or None."""
    return next((cls for cls in base.__mro__ if cls in side.VALUE_TYPES), None)


def make_proxy_type(qualname, module, bases, specials, own, overridden, real=None):
    qualname = qualname[:200]
    proxied = []
    value_base = container = None
    exception = False
    for base in bases:
        if type(base) is proxies.ProxyType:
            proxied.append(base)
            value_base = value_base or base._proofbox_value_base
            container = container or base._proofbox_container
            exception = exception or issubclass(base, BaseException)
        elif issubclass(base, BaseException):
            proxied.append(base)
            exception = True
        elif base in side.VALUE_TYPES:
            proxied.append(base)
            value_base = base
        elif base in side.CONTAINERS:
            proxied.append(base)
            container = base
        elif (builtin := value_type_of(base)) is not None:
            # `IntEnum`, `StrEnum`
            proxied.append(builtin)
            value_base = builtin
    if exception and side.state.grader and (
        len(_branches(proxied)) > border.MAX_EXCEPTION_BRANCHES or len(_kinds(proxied)) > border.MAX_EXCEPTION_KINDS
    ):
        # It would match whatever is expected.
        side.signal("raises_by_multiple_bases")
        proxied = [Exception]
    elif exception and side.state.grader and (len(_branches(proxied)) > 1 or len(_kinds(proxied)) > 1):
        side.signal("raises_by_two_bases")
    proxied = tuple(proxied) or (object,)
    namespace = {
        "__module__": module, "__qualname__": qualname, "_proofbox_value_base": value_base, "_proofbox_container": container,
        "_proofbox_own": frozenset(own), "_proofbox_specials": frozenset(specials),
        "_proofbox_of_class": frozenset(mark[6:] for mark in border.MARKS_OF_METACLASSES.intersection(specials)), "_proofbox_real": real,
        "_proofbox_arithmetic": not ARITHMETIC_NAMES.isdisjoint(specials),
        "_proofbox_library": frozenset(base for given in bases for base in given.__mro__ if type(base) is not proxies.ProxyType and base is not object),
    }  # fmt: skip
    if exception:
        namespace |= {"__getattr__": proxies.get_attribute, "__setattr__": proxies.set_exception_attribute, "__str__": proxies.text_of_exception} | _STATE
        namespace |= {name: _METHODS[name] for name in own if name in OWN_OF_EXCEPTIONS}
        if "__bool__" in own or "__len__" in own:
            namespace["__bool__"] = operators.truth_of_exception
        if "__eq__" in own:
            namespace["__eq__"] = operators.is_equal
            namespace.setdefault("__ne__", operators.is_not_equal)
        if "unhashable" in specials:
            namespace["__hash__"] = None
    else:
        namespace |= _COMMON
        if value_base is None and container is None:
            namespace["__init__"] = _INITIALISER
        namespace["__doc__"] = property(lambda self: side.state.ask("get", proxies.remote_id(self), "__doc__"))
        namespace["__dict__"] = property(lambda self: proxies.get_attribute(self, "__dict__"))
    if value_base is not None:
        if real is not None:
            namespace["__class__"] = property(proxies.class_of)
        # Text of it, and what the user's class adds; the value itself is plain.
        namespace |= {name: _METHODS[name] for name in own if name in OWN_OF_VALUES}
        namespace |= {name: operators.text_of_value(value_base, name, _METHODS[name]) for name in own if name in ("__str__", "__repr__", "__format__")}
        namespace |= {name: _of_value(value_base, name) for name in own if name in ARITHMETIC}
        namespace |= {name: operators.of_named_value(value_base, name, _METHODS[name]) for name in own if name in OF_NAMED_VALUES}
        namespace |= _overridden(value_base, overridden)
        namespace |= operators.value_equal(value_base)
        namespace |= {name: operators.of_named_pair(value_base, name) for name in own if name in operators.COMPARISONS}
        if "__hash__" in own or "unhashable" in specials:
            namespace["__hash__"] = operators.hash_of_value(value_base, "unhashable" in specials)
    elif container is not None:
        namespace |= _container_methods(container, specials, own, overridden)
    elif not exception:
        namespace |= border.NEVER
        namespace |= {name: _METHODS[name] for name in specials if name in _METHODS}
        if "__getitem__" in specials and (side.state.grader or "__len__" in specials):
            namespace["__iter__"] = operators.items_of
        namespace["__eq__"], namespace["__ne__"], namespace["__bool__"] = operators.is_equal, operators.is_not_equal, operators.truth_of
        namespace.setdefault("__hash__", operators.hash_by_identity)
        if "unhashable" in specials:
            namespace["__hash__"] = None
        if not border.MARKS.isdisjoint(specials):
            for mark in border.MARKS.intersection(specials):
                what, name = mark.split()
                namespace[name] = None if what == "no" else _another(_METHODS[name])
        if "awaited" in specials and not side.state.grader:
            namespace["__call__"] = proxies.call_awaited
        if "unreferable" in specials:
            namespace["__slots__"] = () if any(type(base) is proxies.ProxyType for base in proxied) else ("__dict__",)
        if real is not None and module == "builtins" and qualname in ("coroutine", "async_generator_asend", "async_generator_athrow", "anext_awaitable"):
            namespace |= {"send": proxies.send_value, "throw": proxies.throw_exception, "close": proxies.close_generator}
        elif real is types.FunctionType:
            namespace["__get__"], namespace["__module__"] = proxies.bound_method, proxies.ModuleOfFunction(module)
        elif real is functools._lru_cache_wrapper:
            namespace["__get__"] = proxies.bound_method
        elif real in (types.GeneratorType, types.AsyncGeneratorType):
            namespace |= {name: proxies.of_generator(name) for name in border.GENERATOR_METHODS if hasattr(real, name)}
    try:
        proxy_type = type.__new__(proxies.ProxyType, qualname.rpartition(".")[2], proxied, namespace)
    except TypeError:
        # Bases that do not go together here: the first alone then.
        proxy_type = type.__new__(proxies.ProxyType, qualname.rpartition(".")[2], proxied[:1], namespace)
    if not exception and value_base is None and container is None:
        derived = [base for base in (*bases, real) if base is not None and base is not object]
        for abstract in border.ABSTRACT:
            if any(issubclass(base, abstract) for base in derived):
                abstract.register(proxy_type)
    return proxy_type


def _another(method):
    """The same function as another object: that a class overrides a method, Python sees by that."""
    return types.FunctionType(method.__code__, method.__globals__, method.__name__, method.__defaults__, method.__closure__)


def _overridden(base, names):
    """Public methods of the base, and nothing else, that the class has itself."""
    return {name: proxies.Forward(base, name) for name in names if name[:1] != "_" and hasattr(base, name)}


def _container_methods(base, specials, own, overridden):
    if not side.state.grader:
        # The candidate's view of a container of the tests: what it does there, it does to theirs.
        namespace = {name: _METHODS[name] for name in specials if name in _METHODS}
        namespace |= {name: proxies.Forward(base, name) for name, _ in inspect.getmembers_static(base) if not name.startswith("_")}
        namespace["__eq__"], namespace["__ne__"] = operators.is_equal, operators.is_not_equal
        return namespace
    namespace = {name: _of_named(base, name) for name in own if name != "__array__" and name not in OWN_OF_CONTAINERS}
    namespace |= {name: _METHODS[name] for name in own if name in OWN_OF_CONTAINERS}
    if "__getitem__" in own:
        namespace["__getitem__"] = operators.item_of(base)
    if "__contains__" in own and issubclass(base, dict):
        namespace["__contains__"] = operators.contains_key(base)
    if "__bool__" in own:
        namespace["__bool__"] = operators.truth_of_content(base)
    namespace |= _overridden(base, overridden)
    namespace |= {name: operators.changed_here(base, name, name in own or name in overridden) for name in operators.MUTATORS if hasattr(base, name)}
    if base is collections.deque:
        namespace["maxlen"] = property(operators.bound_of)
    if base is collections.defaultdict:
        namespace["__missing__"] = _METHODS["__missing__"]
    namespace["__eq__"], namespace["__ne__"] = operators.content_equal(base), operators.is_not_equal
    namespace["__hash__"] = operators.hash_of_value(base, False) if "__hash__" in own else None
    return namespace


def _of_value(base, name):
    """An operator that a builtin value's subclass has itself: with plain data it is the base's own, unless the tests name
    the class."""
    of_base = getattr(base, name, None)
    own = operators.arithmetic(name, base)

    def method(self, other, *rest):
        if of_base is None or not side.state.grader or proxies.is_remote(other) or proxies.is_named(self):
            return own(self, other, *rest)
        return of_base(self, other, *rest)

    method.__name__ = name
    return method


def _of_named(base, name):
    """A special method that the class has itself: the candidate's for classes that the tests name, else the base's own."""
    of_base = getattr(base, name, None)
    own = operators.arithmetic(name, base) if name in ARITHMETIC else _METHODS[name]

    def method(self, *args):
        if of_base is None:
            return own(self, *args)
        if proxies.is_named(self):
            proxies.note_own_method()
            return own(self, *args)
        return of_base(self, *args)

    method.__name__ = name
    return method
