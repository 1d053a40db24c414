"""Handles: objects of the other interpreter as this one sees them. Attributes, calls, generators, coroutines, copies, signatures.

In the tests' interpreter what a handle *does* is the candidate's word. Which of it is taken says border.py; how, this module and
operators.py."""

import contextlib
import dataclasses
import inspect
import operator
import re
import sys
import types
import typing

import _proofbox
import _proofbox_attributes as attributes
import _proofbox_border as border
import _proofbox_faces as faces
import _proofbox_operators as operators
import _proofbox_side as side
import _proofbox_theirs as theirs
import _proofbox_threads as threads


def remote_id(proxy):
    """The number of a handle's object; one that lived in an interpreter that is gone is found again by its name."""
    state = side.state
    if type(proxy) is ProxyType:
        number = state.homes.get(proxy)
        return state.refresh(proxy) if number is None else number
    if proxy._proofbox_generation != state.generation:
        return state.refresh(proxy)
    number = proxy._proofbox_number
    if state.dirty and number in state.dirty:
        # What this side has changed in its copy goes with the request that needs it.
        del state.dirty[number]
        state.pending.append(("yours", number, side.CONTAINERS[type(proxy)._proofbox_container][1](proxy)))
    return number


def name_of(handle):
    """The name by which the tests have found a handle in the candidate's module, or None."""
    if type(handle) is ProxyType:
        path = side.state.paths.get(handle)
    else:
        try:
            path = object.__getattribute__(handle, "_proofbox_path")
        except AttributeError:
            path = None
    return path[1] if path else None


def _subclasses_of_class(cls):
    """Returns all subclasses that the candidate has: the tests know handles of some."""
    if side.state.grader and border.asked_by(1) == "tests":
        return side.state.ask("get", remote_id(cls), "__subclasses__")()
    return type.__subclasses__(cls)


class _Missing(AttributeError, TypeError):
    """AttributeError of an attribute that is not there; `len` or `iter` of a class says that by a TypeError."""


_Missing.__name__ = _Missing.__qualname__ = "TypeError"
_Missing.__module__ = "builtins"
_MISSING = {"__len__": "object of type 'type' has no len()", "__contains__": "argument of type 'type' is not iterable"}


class _OfClass:
    """A special method of classes that a class of the candidate has only if its own does."""

    def __init__(self, method):
        self.method = method

    def __get__(self, cls, kind=None):
        name = self.method.__name__
        if cls is not None and side.state.grader and name not in cls._proofbox_of_class:
            raise _Missing(_MISSING.get(name) or f"type object {cls.__name__!r} has no attribute {name!r}")
        return self.method.__get__(cls, kind)


class ForCopies:
    """A method by which `copy` copies every handle; for others an object has it only if its class does."""

    def __init__(self, name, method):
        self.name, self.method = name, method

    def __get__(self, handle, kind=None):
        if side.state.grader and sys._getframe(1).f_globals.get("__name__") != "copy":
            return side.state.ask("get", remote_id(kind if handle is None else handle), self.name)
        return self.method.__get__(handle, kind)


class OfTests:
    """A method that every object has. Where code of the tests reads it, it is the candidate's."""

    def __init__(self, name):
        self.name = name

    def __get__(self, handle, kind=None):
        if side.state.grader and border.asked_by(1) == "tests":
            return side.state.ask("get", remote_id(kind if handle is None else handle), self.name)
        return getattr(object, self.name) if handle is None else getattr(object, self.name).__get__(handle)


class Initialiser:
    """`__init__` of a class or an instance: the candidate's. Handles are made without it."""

    def __get__(self, handle, kind=None):
        if not side.state.grader:
            if handle is None and border.asked_by(1) == "tests":
                with contextlib.suppress(AttributeError):
                    return side.state.ask("get", remote_id(kind), "__init__")
            return object.__init__ if handle is None else object.__init__.__get__(handle, kind)
        return side.state.ask("get", remote_id(kind if handle is None else handle), "__init__")


_own_namespace, _own_mro = (type.__dict__[name].__get__ for name in ("__dict__", "__mro__"))


def evaluates_annotations(frame):
    """Returns whether code of the library looks for what annotations that are text may name."""
    name = frame.f_globals.get("__name__")
    return name == "typing" or name == "inspect" and frame.f_code.co_name == "get_annotations"


def names_of_annotations(namespace, frame):
    """Of a namespace of the candidate, what text of its annotations may name in this interpreter: classes and forms of `typing`.

    A module would lead to all that is here. So would attributes of the candidate's classes: `inspect` takes whatever they are."""
    takes_proxies = frame.f_globals.get("__name__") == "typing"
    names = {}
    for name, value in namespace.items():
        if side.state.has_stand_ins:
            value = theirs.as_named(value)
        if type(type(value)) is ProxyType:
            if type(value)._proofbox_real is typing._SpecialForm and name in typing.__all__:
                # `Optional`, which is an object of each side.
                names[name] = getattr(typing, name)
        elif takes_proxies if type(value) is ProxyType else issubclass(type(value), type) or type(value) in _FORMS:
            names[name] = value
    return names


_FORMS = frozenset(map(type, (
    list[int], int | None, typing.List, typing.Union, typing.Tuple, typing.Callable, typing.List[int], typing.Optional[int],
)))  # fmt: skip


def _namespace_of_class(cls):
    """Returns the candidate's own attributes of a class where the tests ask."""
    frame = sys._getframe(1)
    if not side.state.grader:
        asks = border.asked_by(1) == "tests" or frame.f_globals.get("__name__") in ("typing", "inspect")
        return side.state.ask("get", remote_id(cls), "__dict__") if asks else _own_namespace(cls)
    if border.asked_by(1) != "tests" and frame.f_globals.get("__name__") not in ("typing", "inspect"):
        return _own_namespace(cls)
    namespace = side.state.ask("get", remote_id(cls), "__dict__")
    if not evaluates_annotations(frame):
        return namespace
    names = names_of_annotations(namespace, frame)
    if "__annotations__" in namespace:
        names["__annotations__"] = theirs.as_named(namespace["__annotations__"])
    return names


def _annotations_of_class(cls):
    return side.state.ask("get", remote_id(cls), "__annotations__")


def _told_of_class(name):
    """Shows the tests a class's place among others as the candidate has it; the library works with the handles' own."""
    own = type.__dict__[name].__get__

    def told(cls):
        if not side.state.grader or border.asked_by(1) != "tests":
            return own(cls)
        return side.state.ask("get", remote_id(cls), name)

    return property(told)


class ProxyType(type):
    """The class of proxy types."""

    __subclasses__ = _subclasses_of_class
    __dict__ = property(_namespace_of_class)
    __annotations__ = property(_annotations_of_class)
    __mro__, __bases__, __base__ = map(_told_of_class, ("__mro__", "__bases__", "__base__"))

    _proofbox_real = None
    _proofbox_stands = None  # where the class of the library is that it stands for, since the candidate has named it (theirs.py)
    _proofbox_value_base = None
    _proofbox_container = None
    _proofbox_arithmetic = False  # whether it has operators between two operands
    _proofbox_own = _proofbox_specials = _proofbox_of_class = _proofbox_library = frozenset()

    def __new__(mcls, name, bases, namespace, **kwargs):
        if side.state.inexpressible:
            side.state.inexpressible("a class of the tests derives from one of the candidate")
        else:
            side.state.pending.append(("derived", 0, None))
        raise TypeError("a class can't derive from one of another interpreter (grading: isolated)")

    def __call__(cls, *args, **kwargs):
        if not side.state.grader:
            args, kwargs = faces.without_defaults(cls, args, kwargs)
        made = side.state.ask("call", remote_id(cls), args, kwargs)
        if cls._proofbox_arithmetic and type(made) is cls and cls in side.state.named and (name_of(cls) or "_") < "_":
            object.__setattr__(made, "_proofbox_made", True)
        return made

    def __getattr__(cls, name):
        if name == "__signature__":
            return faces.signature(cls)
        _check_readable(name)
        _check_no_record(cls, name)
        if cls._proofbox_real is not None and cls._proofbox_stands is None and cls not in side.state.homes:
            # A class that both sides have, of which only an object has come.
            return getattr(cls._proofbox_real, name)
        value = side.state.ask("get", remote_id(cls), name)
        if name == "__dataclass_fields__":
            # `dataclasses` knows fields by marks that are objects of its own.
            if not side.state.grader:
                return {name: faces.make_field(name, told) for name, told in value.items()}
            return {name: _field(name, value[name] if type(value) is dict else None) for name in value}
        if name in border.METHODS_OF_VALUES and side.state.grader and is_remote(value) and not is_named(cls):
            side.signal("method_of_an_object")
        return value

    def __setattr__(cls, name, value):
        side.state.ask("set", remote_id(cls), name, value)
        if not side.state.grader and name in border.OF_DECORATED and name in border.SPECIALS:
            # It is read here, too, and is what instances do here.
            _proofbox.mirrors_set_own(cls, name, value)

    def __delattr__(cls, name):
        side.state.ask("del", remote_id(cls), name)

    @_OfClass
    def __iter__(cls):
        items = side.state.ask("special", remote_id(cls), "__iter__", ())
        return operators.count_items(cls, items) if side.state.grader else items

    @_OfClass
    def __len__(cls):
        return operators.length_of(cls)

    @_OfClass
    def __reversed__(cls):
        return operators.count_items(cls, side.state.ask("special", remote_id(cls), "__reversed__", ()))

    def __repr__(cls):
        # Its metaclass says so.
        return operators.text("__repr__")(cls) if side.state.grader and "shown" in cls._proofbox_specials else type.__repr__(cls)

    def __bool__(cls):
        operators.note_truth()
        return True

    @_OfClass
    def __contains__(cls, item):
        if not side.state.grader or is_remote(item):
            return bool(_checked("__bool__", side.state.ask("special", remote_id(cls), "__contains__", (item,))))
        # The class's own word, about a value of the tests: its members are looked at instead, of an Enum their values, too.
        if any(item is member or item == member for member in cls):
            return True
        members = getattr(cls, "__members__", None)
        return type(members) in (dict, types.MappingProxyType) and any(item == member.value for member in members.values())

    def __dir__(cls):
        return side.state.ask("dir", remote_id(cls))

    def __eq__(cls, other):
        # What stands for a class of the library is that class.
        return cls is other or (cls._proofbox_stands is not None and cls._proofbox_real is other) or NotImplemented

    __hash__ = type.__hash__

    def __instancecheck__(cls, instance):
        return type.__instancecheck__(cls, instance) or cls._proofbox_stands and (isinstance(instance, cls._proofbox_real) or _derives(type(instance), cls)) or _is_checked(cls, "instance", instance)

    def __subclasscheck__(cls, subclass):
        if type.__subclasscheck__(cls, subclass) or cls._proofbox_stands and (issubclass(subclass, cls._proofbox_real) or _derives(subclass, cls)):
            return True
        return isinstance(subclass, type) and _is_checked(cls, "subclass", subclass)


def watch(text):
    """Has special methods that the tests read off a class be the candidate's, if they may do so. G's own are for the interpreter."""
    if not _READS_SPECIALS.search(text):
        return

    def __getattribute__(cls, name):
        if name[:2] == "__" and name in _READ_OFF_CLASSES and side.state.grader and border.asked_by(1) == "tests":
            return _special_of_class(cls, name)
        return type.__getattribute__(cls, name)

    type.__setattr__(ProxyType, "__getattribute__", __getattribute__)


def _special_of_class(cls, name):
    specials = cls._proofbox_specials
    if name == "__hash__" and "unhashable" in specials or f"no {name}" in specials:
        return None
    if cls._proofbox_value_base is None and cls._proofbox_container is None and name in border.SPECIALS and name not in specials and hasattr(object, name):
        return getattr(object, name)
    return side.state.ask("get", remote_id(cls), name)


_READ_OFF_CLASSES = frozenset({*border.SPECIALS, "__new__"}) - {"__call__"}
_READS_SPECIALS = re.compile(r"\w\.__new__|\.__(?:%s)__(?!\()" % "|".join(sorted(name.strip("_") for name in _READ_OFF_CLASSES)))


def _derives(cls, stand_in):
    """Returns whether a class of the candidate derives from the class of the library that a stand-in is."""
    return type(cls) is ProxyType and any(stand_in._proofbox_real in base._proofbox_library for base in _own_mro(cls) if type(base) is ProxyType)


def _indexed(cls):
    """Returns what `Class[item]` calls, for the tests if the class has such a thing."""
    if side.state.grader and "__getitem__" not in cls._proofbox_of_class:
        side.state.ask("get", remote_id(cls), "__class_getitem__")
    return lambda key: side.state.ask("index", remote_id(cls), key)


def _of_metaclass(name):
    """An operator of classes, where their metaclass has it."""
    of_type = getattr(type, name, None)

    def method(cls, other):
        if name not in cls._proofbox_of_class:
            return NotImplemented if of_type is None else of_type(cls, other)
        if side.state.grader and not is_remote(other):
            side.signal("comparison_with_plain_data" if name in border.ORDER else "operator_with_plain_data")
            return NotImplemented
        if side.state.grader and name in border.ORDER:
            side.signal("order_by_candidate")
        return side.state.ask("special", remote_id(cls), name, (other,))

    method.__name__ = name
    return method


for _name in border.OPERATORS_OF_METACLASSES:
    setattr(ProxyType, _name, _of_metaclass(_name))
# Not in its body: there they would say that the class itself has slots, and be a method and the text of this class.
ProxyType.__name__ = ProxyType.__qualname__ = "type"
ProxyType.__doc__ = property(lambda cls: side.state.ask("get", remote_id(cls), "__doc__"))
ProxyType.__class_getitem__ = property(_indexed)
_proofbox.mirrors_prepare(ProxyType)
ProxyType.__slots__ = property(lambda cls: side.state.ask("get", remote_id(cls), "__slots__"))


def _is_checked(cls, what, value):
    """Returns what the metaclass of a candidate's class says is an instance or subclass of it (`abc.ABC.register`, a
    protocol)."""
    if not side.state.grader:
        # An abstract class of the tests knows what it has registered; what it gets by its bases shows here.
        return "checks" in cls._proofbox_specials and border.asked_by(2) == "tests" and side.state.ask("is", remote_id(cls), what, value)
    asker = 2
    if sys._getframe(2).f_globals.get("__name__") == "_proofbox_class_checks":
        # What stands for `isinstance`.
        asker = 3
    if type(value) is ProxyType and what == "instance" and type in cls._proofbox_library and border.asked_by(asker) != "package":
        # Whether a class has that metaclass.
        if "checks" in cls._proofbox_specials:
            side.signal("instance_by_candidate")
        return side.state.ask("is", remote_id(cls), what, value)
    if "checks" not in cls._proofbox_specials:
        return False
    if border.asked_by(asker) != "tests":
        # `assertIsInstance` asks for the tests; nothing of theirs crosses so.
        if not is_remote(value) or sys._getframe(asker).f_globals.get("__name__") != "unittest.case":
            return False
    answer = side.state.ask("is", remote_id(cls), what, value)
    if answer or not is_remote(value):
        side.signal("instance_by_candidate")
    return answer


def _check_readable(name, kind=None):
    """Raises AttributeError for what a handle of an object of that class does not answer."""
    if not side.state.grader:
        # What a decorator of the candidate's copies from a function of the tests, if it can be had.
        if name in border.READABLE and name not in border.METADATA and name not in border.OF_CLASSES:
            raise AttributeError(name)
        return
    if name in border.MOCK_ASSERTIONS:
        side.refuse("altered_the_tests", f"{name} of an object that is no mock of the tests")
    if name[:1] == "_":
        if name[:2] == "__":
            if name not in border.READABLE:
                raise AttributeError(name)
        elif border.asked_by(2) != "tests":
            raise AttributeError(name)
    elif border.asked_by(2) == "package" and kind is not types.CodeType:
        # numpy and its like would ask the object for what they compare it by.
        raise AttributeError(name)


def _check_no_record(handle, name):
    """An object that the candidate has put where a mock was does not say how it was called."""
    if side.state.on_mocks and id(handle) in side.state.on_mocks and name.startswith(border.MOCK_RECORDS):
        side.refuse("altered_the_tests", f"{name} of an object that the candidate has put in the place of a mock")


class _Field(dataclasses.Field):
    """A field of a dataclass of the other side, which says what it is when it is asked."""

    __slots__ = ("_proofbox_theirs",)


def _told_by_field(attribute):
    def told(self):
        value = side.state.ask("get", remote_id(self._proofbox_theirs), attribute)
        return dataclasses.MISSING if is_remote(value) and getattr(type(value), "_proofbox_real", None) is dataclasses._MISSING_TYPE else value

    return property(told)


def _kind_of_field(field):
    """By its name, this side's mark of fields, of class variables, or of what is given to `__init__` only."""
    name = side.state.ask("get", remote_id(side.state.ask("get", remote_id(field._proofbox_theirs), "_field_type")), "name")
    return _KINDS_OF_FIELDS.get(name, dataclasses._FIELD) if type(name) is str else dataclasses._FIELD


_KINDS_OF_FIELDS = {kind.name: kind for kind in (dataclasses._FIELD, dataclasses._FIELD_CLASSVAR, dataclasses._FIELD_INITVAR)}
_Field._field_type = property(_kind_of_field)
for _name in ("type", "default", "default_factory", "init", "repr", "hash", "compare", "metadata", "kw_only"):
    setattr(_Field, _name, _told_by_field(_name))


def _field(name, theirs=None):
    if not is_remote(theirs):
        field = dataclasses.field()
        field._field_type = dataclasses._FIELD
    else:
        field = _Field.__new__(_Field)
        field._proofbox_theirs = theirs
    field.name = name
    return field


def _checked(name, result):
    """The answer of a special method, of the type that the table says."""
    wanted = border.SPECIALS[name][1]
    if wanted is border.ANY or type(result) is wanted or not side.state.grader:
        return result
    # As Python does: of a subclass the content, and for a length what can be an index.
    kind = type(result)
    if wanted is not bool and issubclass(kind, wanted):
        return operators.plain_of(wanted, result)
    if name == "__len__" and kind.__module__ == "numpy" and hasattr(kind, "__index__"):
        return kind.__index__(result)
    raise TypeError(f"{name} of the candidate must give {wanted.__name__}, not {kind.__name__}")


def special(proxy, name, *args):
    side.state.handles += 1
    return _checked(name, side.state.ask("special", remote_id(proxy), name, args))


def is_remote(value):
    return type(type(value)) is ProxyType or type(value) is ProxyType


def is_named(handle):
    cls = handle if type(handle) is ProxyType else type(handle)
    return any(base in side.state.named for base in _own_mro(cls))


def note_own_method():
    """A subclass of a builtin value or container that the tests name answers by a method of its own, whatever its content."""
    if side.state.grader:
        side.signal("overridden_by_candidate")


def call_object(self, *args, **kwargs):
    if not side.state.grader:
        args, kwargs = faces.without_defaults(self, args, kwargs)
    return side.state.ask("call", remote_id(self), args, kwargs)


async def call_awaited(self, *args, **kwargs):
    return await call_object(self, *args, **kwargs)


def _patient(method):
    """A method by which a thread of the candidate waits for a queue or lock of the tests: it tries again when something has
    happened that may have released it. (As a function: others can go on only where no call from C is in the way.)"""

    def wait(*args, **kwargs):
        state = side.state
        while True:
            state.changes += 1
            try:
                # While it is asked, a call from C keeps the others from answering out of turn.
                return operator.call(state.ask, "call", remote_id(method), args, kwargs)
            except RuntimeError as error:
                if str(error) != threads.NOT_YET or threads.is_main():
                    raise
            if not hasattr(state.perform, "counts"):
                state.perform = _counted(state.perform)
            known = state.changes
            threads.wait(lambda: state.changes != known, None, "what the tests have")

    return wait


def _counted(perform):
    def counted(*request):
        side.state.changes += 1
        return perform(*request)

    counted.counts = True
    return counted


_PATIENT = frozenset({"get", "put", "wait", "acquire", "join"})
_SYNCHRONISING = frozenset({"queue", "_queue", "threading", "_thread"})


def _may_forgive(error):
    """Returns whether `__exit__` of the candidate may swallow an exception of the tests."""
    if isinstance(error, BaseExceptionGroup):
        return isinstance(error, Exception) and all(map(_may_forgive, error.exceptions))
    return isinstance(error, Exception) and not isinstance(error, border.TELLING)


def _exited(suppressed, error):
    if not side.state.grader or not suppressed or error is None:
        return suppressed
    if not _may_forgive(error):
        side.signal("suppressed_assertion")
        return False
    side.signal("suppressed_exception")
    return True


def not_replaced(error, by):
    """Raises what the tests have asserted inside a `with`, if the candidate has put another exception in its place."""
    if side.state.grader and error is not None and not _may_forgive(error):
        if not side.tells_of_failure(by):
            side.signal("suppressed_assertion")
        raise error


class _Printed:
    """`sys.stdout` of the tests while what they print goes where the candidate's does: `with redirect_stdout(...)` of its own."""

    def __init__(self, target, own):
        self._target, self._own = target, own

    def write(self, text):
        side.signal("prints_to_candidate")
        self._target.write(text)
        return len(text)

    def flush(self):
        pass

    def __getattr__(self, name):
        return getattr(self._own, name)


def under(stream):
    """The stream of the tests' own."""
    while type(stream) is _Printed:
        stream = stream._own
    return stream


def print_there():
    """Has what the tests print go to the candidate's output, if it has put one in the place of its own; returns what
    `print_here` ends that by."""
    target = side.state.printing
    if target is None or type(sys.stdout) is _Printed and sys.stdout._target is target:
        return None
    sys.stdout = begun = _Printed(target, sys.stdout)
    return begun


def print_here(begun):
    if begun is not None and sys.stdout is begun:
        sys.stdout = begun._own


def enter_context(self):
    entered = special(self, "__enter__")
    if side.state.printing is not None and (begun := print_there()) is not None:
        object.__setattr__(self, "_proofbox_prints", begun)
    return entered


def exit_context(self, kind, error, traceback):
    """Leaves a context of the candidate: what the tests assert inside a `with` is not the candidate's to forgive."""
    if self._proofbox_prints is not None:
        print_here(self._proofbox_prints)
        object.__setattr__(self, "_proofbox_prints", None)
    try:
        suppressed = special(self, "__exit__", kind, error, None)
    except BaseException as other:
        not_replaced(error, other)
        raise
    return _exited(suppressed, error)


async def exit_async_context(self, kind, error, traceback):
    try:
        suppressed = await special(self, "__aexit__", kind, error, None)
    except BaseException as other:
        not_replaced(error, other)
        raise
    return _exited(suppressed, error)


def next_item(self):
    counted = self._proofbox_counted
    try:
        item = special(self, "__next__")
    except StopIteration:
        if side.state.grader and not self._proofbox_given:
            side.signal("empty_result")
        if counted:
            operators.note_count(*counted)
        raise
    if counted:
        counted[1] += 1
    if not self._proofbox_given:
        object.__setattr__(self, "_proofbox_given", True)
    return item


def next_async_item(self):
    item = special(self, "__anext__")
    if is_remote(item):
        object.__setattr__(item, "_proofbox_ends_loop", (self,))
    return item


def note_item(handle, given):
    """Notes whether the awaitable of an asynchronous iterator gave an item: an iterator that gives none at all checks
    nothing."""
    (source,) = handle._proofbox_ends_loop
    if given:
        object.__setattr__(source, "_proofbox_given", True)
    elif not source._proofbox_given:
        side.signal("empty_result")


def await_result(self):
    # `anext` with a default asks for it at each step.
    return _driver(self) if self._proofbox_ends_loop else side.state.finished(self)


def _driver(self):
    """Returns the driver of a coroutine of the other side, for a loop that knows it as one."""
    try:
        driver = object.__getattribute__(self, "_proofbox_driver")
    except AttributeError:
        driver = None
    if driver is None or self._proofbox_ends_loop and driver.gi_frame is None:
        driver = side.state.finished(self)
        object.__setattr__(self, "_proofbox_driver", driver)
    return driver


def send_value(self, value):
    return _driver(self).send(value)


def throw_exception(self, *error):
    return _driver(self).throw(*error)


def close_generator(self):
    _driver(self).close()


def _thrown(args):
    """The exception that is thrown into a generator."""
    error = next((each for each in args if isinstance(each, BaseException)), None)
    if error is None and args and isinstance(args[0], type) and issubclass(args[0], BaseException):
        error = args[0](*args[1:2])
    return error


def forgive(error):
    """A generator of the candidate's has caught what the tests threw into it, as `contextlib.contextmanager` does."""
    if error is None or isinstance(error, border.STEERING):
        return
    if side.tells_of_failure(error) or isinstance(error, SystemExit):
        side.signal("suppressed_assertion")
        raise error
    side.signal("suppressed_exception")


def of_generator(name):
    def method(self, *args):
        side.state.handles += 1
        thrown = _thrown(args) if name in ("throw", "athrow") and side.state.grader else None
        try:
            result = side.state.ask("special", remote_id(self), name, args)
        except StopIteration:
            forgive(thrown)
            raise
        except BaseException as other:
            not_replaced(thrown, other)
            raise
        if name in ("asend", "athrow") and is_remote(result):
            object.__setattr__(result, "_proofbox_ends_loop", (self,))
            object.__setattr__(result, "_proofbox_thrown", thrown)
        else:
            forgive(thrown)
        return result

    method.__name__ = name
    return method


def get_attribute(self, name):
    if name == "__signature__":
        return faces.signature(self)
    if name == "__dataclass_fields__":
        return getattr(type(self), name)
    if not side.state.grader and name[:1] == "_" and type(self)._proofbox_real in faces.KINDS:
        return faces.attribute(self, name)
    if name == "_is_coroutine_marker" and type(self)._proofbox_real in faces.KINDS and sys._getframe(1).f_globals.get("__name__") == "inspect":
        # Each side has a mark of its own.
        side.state.ask("get", remote_id(self), name)
        return inspect._is_coroutine_mark
    _check_readable(name, type(self)._proofbox_real)
    _check_no_record(self, name)
    if name == "__dict__" and not side.state.grader:
        return faces.Namespace(*side.state.ask("get", remote_id(self), name))
    value = side.state.ask("get", remote_id(self), name)
    if side.state.grader:
        if type(value) in _PLAIN_VALUES:
            _note_attribute(remote_id(self), name, value)
        elif name in border.METHODS_OF_VALUES and is_remote(value) and not _is_its_method(self, name):
            # In the place of a plain value it says of itself whatever it is asked.
            side.signal("method_of_an_object")
    elif name in _PATIENT and threads.started and (real := type(self)._proofbox_real) is not None and real.__module__ in _SYNCHRONISING:
        return _patient(value)
    return value


def _is_its_method(handle, name):
    """Returns whether a method that plain values have is one that the tests can expect of the object: of a class of the
    library that has it, of a class that they name, of a module that they name. A class with the name of a function is
    called as one."""
    kind = type(handle)
    real = kind._proofbox_real
    if real is not None:
        return hasattr(real, name) or real is types.ModuleType and name_of(handle) is not None
    return any(base in side.state.named and not (name_of(base) or "")[:1].islower() for base in kind.__mro__)


_PLAIN_VALUES = frozenset(side.VALUE_TYPES)
# How many attributes are remembered.
_MAX_READ = 256


def _note_attribute(number, name, value):
    """Signals that an attribute has another value than before, though nothing has been asked since that could change
    it."""
    known = side.state.read.get((number, name))
    if known and known[1] == side.state.changes and known[0] != value and known[0] == known[0]:
        side.signal("changing_attribute")
    if len(side.state.read) >= _MAX_READ:
        side.state.read.clear()
    side.state.read[number, name] = value, side.state.changes


def set_attribute(self, name, value):
    side.state.ask("set", remote_id(self), name, value)


def set_exception_attribute(self, name, value):
    if name.startswith("__"):
        BaseException.__setattr__(self, name, value)
        return
    side.state.ask("set", remote_id(self), name, value)
    if name == "args":
        BaseException.__setattr__(self, name, value)
    if side.state.grader:
        # What it says may be made of that.
        with contextlib.suppress(Exception):
            BaseException.__setattr__(self, "_proofbox_text", special(self, "__str__"))


def delete_attribute(self, name):
    side.state.ask("del", remote_id(self), name)


def names_of_attributes(self):
    return side.state.ask("dir", remote_id(self))


def class_of(self):
    # A mock of the tests is of the class that it stands for.
    return self._proofbox_spec or type(self)._proofbox_real or type(self)


def text_of_exception(self):
    return self._proofbox_text


attributes.calls = frozenset({call_object.__code__, ProxyType.__call__.__code__})


class ModuleOfFunction(str):
    """The module of the class of functions; of a function it is the function's own."""

    def __get__(self, function, kind=None):
        return str(self) if function is None else side.state.ask("get", remote_id(function), "__module__")


def bound_method(self, instance, owner=None):
    """A function of the other side as an attribute of a class of this one is a method, as any function."""
    return self if instance is None else types.MethodType(self, instance)


class Forward:
    """A method of the builtin base that the object has itself: the candidate's word, which counts for classes that the
    tests name. Of others it is the builtin's own, on their plain content."""

    def __init__(self, base, name):
        self.base, self.name = base, name

    def __get__(self, proxy, cls=None):
        if proxy is None:
            # Of the class: `date.today` of one that derives from date.
            asked = not side.state.grader or is_named(cls)
            return side.state.ask("get", remote_id(cls), self.name) if asked else getattr(self.base, self.name)
        if not side.state.grader or is_named(proxy):
            note_own_method()
            return side.state.ask("get", remote_id(proxy), self.name)
        return operators.own_of_base(self.base, self.name, proxy)


def pickled(handle, protocol):
    """Returns the bytes that stand in the tests' pickle for an object of the candidate's: a pickle that the candidate
    makes, and reads. For an object of the tests it is a number: they keep their pickle."""
    if not side.state.grader:
        return unpickled, (side.state.ask("pickle", remote_id(handle), protocol),)
    data = side.state.ask("pickle", remote_id(handle), protocol)
    if handle._proofbox_tainted:
        side.refuse("pickled_object", "an object of the candidate that has met a value of the tests can't be pickled")
    side.state.pickled[data] = type(handle)
    if len(side.state.pickled) > _MAX_PICKLED:
        del side.state.pickled[next(iter(side.state.pickled))]
    return unpickled, (data,)


def unpickled(data):
    """Returns another object of the class, as the candidate reads it of its own pickle."""
    if not side.state.grader:
        return side.state.ask("unpickle", data)
    kind = side.state.pickled.get(data)
    if kind is None:
        side.refuse("pickled_object", "a pickle of an object that the tests have not pickled")
    made = side.state.ask("unpickle", data)
    if type(made) is not kind:
        side.refuse("copy_of_another_class", "an object of the candidate that was pickled must come back as one of its class")
    return made


# How many pickles of objects of the candidate are remembered.
_MAX_PICKLED = 256


def copy_number(memo):
    """Returns one number for all requests of one `copy.deepcopy`, so that its copies share what their objects share."""
    if _COPY_NUMBER not in memo:
        side.state.copies += 1
        memo[_COPY_NUMBER] = side.state.copies
    return memo[_COPY_NUMBER]


# In the memo of `copy.deepcopy`, whose other keys are ids.
_COPY_NUMBER = "proofbox"


def as_copy(handle, copied):
    """A copy that the candidate made is an object of the same class, and has met what its original has met."""
    if side.state.grader:
        if type(copied) is not type(handle):
            side.refuse("copy_of_another_class", "a copy of an object of the candidate must be of its class")
        if handle._proofbox_tainted:
            operators.taint(copied)
    return copied


def copy_of(target, number):
    """Carries out the request: a shallow copy without `number`, else a deep one that belongs to the other side's `number`."""
    import copy

    if number is None:
        return copy.copy(target)
    if side.state.copied is None or side.state.copied[0] != number:
        side.state.copied = number, {}
    return copy.deepcopy(target, side.state.copied[1])
