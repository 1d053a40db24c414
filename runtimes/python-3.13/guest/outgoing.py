"""Objects on their way to the other side: numbers, descriptions of classes, exceptions, contents of containers."""

import asyncio
import enum
import gc
import inspect
import operator
import sys
import types
import weakref
from unittest import mock

import _proofbox_border as border
import _proofbox_loop as loops
import _proofbox_marshal as marshal
import _proofbox_operators as operators
import _proofbox_origins as origins
import _proofbox_proxies as proxies
import _proofbox_report as report
import _proofbox_sharing as sharing
import _proofbox_side as side
import _proofbox_theirs as theirs

# A class's place among others, as the language has it.
PLACES = {name: type.__dict__[name].__get__ for name in ("__mro__", "__bases__", "__base__")}
_own_names = type.__dict__["__dict__"].__get__
# What the library's own classes give a user's class without its doing.
BY_DEFAULT = {name: getattr(object, name) for name in border.SPECIALS if hasattr(object, name)}


def number_of(value):
    number = side.state.numbers.get(id(value))
    if number is None:
        number = side.state.numbers[id(value)] = len(side.state.objects)
        side.state.objects.append(value)
    return number


def reduce_object(value):
    kind = type(value)
    if type(kind) is proxies.ProxyType or kind is proxies.ProxyType:
        if (place := value._proofbox_stands) is not None:
            return "library" if kind is proxies.ProxyType else "function", place
        return "yours", proxies.remote_id(value)
    # Not by isinstance: `__class__` of a lazy object may be code of the user's.
    if issubclass(kind, type):
        return _reduce_class(value)
    if issubclass(kind, BaseException):
        known = _instance_dict(value).get("_proofbox_number")
        if known is not None and side.state.proxies.get(known) is value:
            return "yours", known
        return _reduce_exception(value)
    if kind is types.ModuleType and origins.is_library_module(value):
        return "module", value.__name__
    if type(kind) is not type and isinstance(kind, enum.EnumType) and origins.library_name(kind):
        return "member", (kind, value._value_ if issubclass(kind, enum.Flag) else value._name_)
    if kind in origins.FUNCTIONS and (name := theirs.name_of(value)):
        return "function", name
    if kind is theirs.Module:
        return "module", value.__name__
    if kind in theirs.MODULES:
        return "yours", value._proofbox_number
    if kind is loops.SandboxEventLoop and _is_passed(value):
        return _reduce_loop(value)
    if side.state.check_may_leave:
        side.state.check_may_leave(value)
    plain, base = None, base_of(kind)
    if base in side.CONTAINERS:
        _track(number_of(value), value, base)
    elif base is not None:
        plain = operators.plain_of(base, value)
    elif side.state.grader and issubclass(kind, mock.NonCallableMock):
        # Of what class `isinstance` takes it for (`Mock(spec=Engine)`).
        plain = _class_of_mock(value)
    return "object", (number_of(value), kind, plain)


def _class_of_mock(value):
    """Returns the class that a mock stands for, if it does and can leave the tests."""
    spec = vars(value).get("_spec_class")
    if not isinstance(spec, type) or type(spec) is proxies.ProxyType and spec not in side.state.homes or border.derives_from_staying(spec):
        return None
    return spec


# The tests' event loop that was passed to the candidate last.
_passed = None


def _is_passed(loop):
    """Returns whether the other side's loop stands for a loop: for any of the tests', and of the candidate's for the
    one that takes turns."""
    state = side.state
    if state.grader:
        return not state.candidate.looks_at_loops
    return state.runner is not None and loop is state.runner.loop


def _reduce_loop(loop):
    """Passes an event loop for the other side to put its own in the place of. The tests' loop has its turns with it."""
    global _passed
    if side.state.grader:
        _passed = weakref.ref(loop)
    return "loop", ()


def restore_loop(payload):
    if not side.state.grader:
        return candidate_loop()
    loop = asyncio._get_running_loop() or (_passed and _passed())
    if loop is None:
        raise marshal.CannotCross("an event loop that nobody has passed")
    return loop


candidate_loop = None  # set by candidate.py


def base_of(kind):
    """The builtin value or container that a class derives from, or None."""
    for base in PLACES["__mro__"](kind):
        if base in side.BASES:
            return base
    return None


def _track(number, value, base):
    """From now on the other side is told of the content."""
    if number not in side.state.tracked:
        read = side.CONTAINERS[base][1]
        content = read(value)
        side.state.tracked[number] = value, read, content
        side.state.pending.append(("mine", number, content))


def note_contents():
    """Puts what has changed since the last message into the next one."""
    for number, (value, read, known) in side.state.tracked.items():
        content = read(value)
        if not _same(content, known):
            side.state.tracked[number] = value, read, content
            if type(number) is tuple:
                side.state.pending.append(("yours", number[0], content))
            else:
                side.state.pending.append(("mine", number, content) if number >= 0 else ("error", -1 - number, _told_of_exception(value, known)))


def track_handle(number, handle, base):
    """From now on the tests are told of what code in C, which looks past methods, alters in a container of theirs."""
    read = side.CONTAINERS[base][1]
    side.state.tracked[(number,)] = handle, read, read(handle)


def _same(a, b):
    """Returns whether two contents hold the same objects in the same order."""
    if len(a) != len(b):
        return False
    if type(a) is dict:
        return all(k is l and v is w for (k, v), (l, w) in zip(a.items(), b.items()))
    if type(a) is set:
        return {id(each) for each in a} == {id(each) for each in b}
    return a == b if type(a) is bytes else all(v is w for v, w in zip(a, b))


def viewed_by(view):
    """The dict behind a view of the candidate's, if its changes are to be seen in the tests' view. Theirs is copied: there is
    more in the dict than the view shows."""
    found = gc.get_referents(view) if not side.state.grader else ()
    return found[0] if len(found) == 1 and type(found[0]) is dict and len(found[0]) <= sharing.MAX_ITEMS else None


def _reduce_class(cls):
    if side.state.grader and issubclass(cls, BaseException) and border.stays(cls):
        # The candidate has no such class, and must not tell it from others.
        return "library", ("builtins", "Exception" if issubclass(cls, Exception) else "BaseException")
    name = origins.library_name(cls)
    if name:
        return "library", name
    if side.state.check_may_leave:
        side.state.check_may_leave(cls)
        bases = tuple(base if not border.stays(base) else object for base in PLACES["__bases__"](cls))
    else:
        bases = PLACES["__bases__"](cls)
    number = number_of(cls)
    if number in side.state.described:
        return "mine", number
    side.state.described[number] = True
    names, specials = names_of_instances(cls), []
    for special in border.SPECIALS:
        found = names.get(special, _MISSING)
        if found is None:
            specials.append("unhashable" if special == "__hash__" else f"no {special}")
        elif found is not _MISSING and found is not BY_DEFAULT.get(special):
            specials.append(special)
    if bases != (object,):
        # By these Python calls a subclass first.
        specials += [f"own {special}" for special in border.REFLECTED.intersection(cls.__dict__) if special in specials]
    value_base = base_of(cls)
    if not cls.__weakrefoffset__ and value_base is None:
        specials.append("unreferable")
    if type(cls) is not type and type(cls).__instancecheck__ is not type.__instancecheck__:
        specials.append("checks")
    if side.state.grader and inspect.iscoroutinefunction(names.get("__call__")):
        specials.append("awaited")
    if type(cls) is not type and type(cls).__repr__ is not type.__repr__:
        specials.append("shown")
    if type(cls) is not type:
        of_class = names_of_instances(type(cls))
        specials += [f"class {name}" for name in border.OF_METACLASSES if (found := of_class.get(name)) is not None and found is not _OF_TYPE.get(name)]
    overridden = []
    if value_base:
        for name_, _ in inspect.getmembers_static(value_base):
            if not name_.startswith("_") and inspect.getattr_static(cls, name_) is not inspect.getattr_static(value_base, name_):
                overridden.append(name_)
    qualname = cls.__qualname__ if type(cls.__qualname__) is str else "object"
    if side.state.grader and "<locals>" in qualname:
        qualname = theirs.without_test_names(qualname)
    own = tuple(special for special in specials if special[:1] == "_" and origins.defined_by_user(cls, special))
    if value_base in side.VALUE_TYPES:
        # Its text is also the class's own where the library's has another (`IntEnum`).
        own += tuple(name for name in _TEXTS if name not in own and getattr(cls, name) is not getattr(value_base, name))
        # So is what the value does not have at all, and the library's class does (`IntFlag`).
        own += tuple(name for name in specials if name[:1] == "_" and name not in own and not hasattr(value_base, name))
    return "class", (number, qualname, str(cls.__module__), bases, tuple(specials), own, tuple(overridden))


_MISSING = object()


def names_of_instances(cls):
    """Returns what the instances of a class have by it. A name of its metaclass (`type.__call__`) is the class's own alone."""
    names = {}
    for base in reversed(PLACES["__mro__"](cls)):
        names |= _own_names(base)
    return names


_OF_TYPE = names_of_instances(type)


_TEXTS = ("__str__", "__repr__", "__format__")
ATTRIBUTES = {
    OSError: ("errno", "strerror", "filename", "filename2"),
    ImportError: ("name", "path"),
    StopIteration: ("value",),
    SystemExit: ("code",),
    AttributeError: ("name",),
    NameError: ("name",),
    SyntaxError: ("msg", "filename", "lineno", "offset", "text"),
}
ATTRIBUTE_NAMES = frozenset(name for names in ATTRIBUTES.values() for name in names)
_instance_dict = BaseException.__dict__["__dict__"].__get__


# How long a chain of contexts is told of; of a longer one (in a recursion), nothing, with a signal.
_MAX_CONTEXTS = 32


def _context_of(error):
    """Returns the exception that was being handled when a candidate's exception was raised, or None."""
    context, length = error.__context__, 0
    seen = {id(error)}
    while context is not None and id(context) not in seen and length < _MAX_CONTEXTS:
        seen.add(id(context))
        context, length = context.__context__, length + 1
    if side.state.grader or context is None:
        return None if side.state.grader else error.__context__
    _note_lost()
    return None


def _note_kept(error):
    """A container among the arguments that somebody holds is a copy on the other side. Variables of the frames that the
    exception has passed do not count."""
    args = error.args
    for item in args:
        if type(item) not in marshal.CHANGEABLE:
            continue
        # References: that of the arguments, the variable, and the argument.
        others = sys.getrefcount(item) - 3
        traceback = error.__traceback__
        while others > 0 and traceback is not None:
            others -= sum(value is item for value in traceback.tb_frame.f_locals.values())
            traceback = traceback.tb_next
        if others > 0:
            _note_lost()


# References to an exception that nothing but the message holds: that of the message, the variables of four functions, and the
# argument.
_OF_THE_MESSAGE = 6


def _number_of_exception(error, is_user):
    """The number by which an exception is known again: of one that somebody holds beside the message. Variables of the frames
    that it has passed do not count."""
    if is_user or id(error) in side.state.numbers:
        return number_of(error)
    others = sys.getrefcount(error) - _OF_THE_MESSAGE
    if others <= 0 or isinstance(error, (*border.STEERING, *border.STEERING_IN_THREADS)):
        return None
    traceback = error.__traceback__
    while others > 0 and traceback is not None:
        frame = traceback.tb_frame
        if (variables := frame.f_locals) is not frame.f_globals:
            # Variables of a function around it are somebody's.
            others -= sum(value is error and name not in frame.f_code.co_freevars for name, value in variables.items())
        traceback = traceback.tb_next
    return number_of(error) if others > 0 else None


# How many exceptions of the tests are looked at for what the candidate has altered.
_MAX_EXCEPTIONS = 64


def track_exception(number, error):
    """From now on the tests are told of what the candidate alters in its copy of an exception of theirs."""
    tracked = side.state.tracked
    if -1 - number not in tracked and sum(type(each) is int and each < 0 for each in tracked) < _MAX_EXCEPTIONS:
        tracked[-1 - number] = error, _parts_of_exception, _parts_of_exception(error)


# What instances of builtin exceptions have beside their arguments and own attributes, and what all have.
_FIELDS = {
    **ATTRIBUTES,
    ImportError: ("msg", "name", "path"),
    SyntaxError: ("msg", "filename", "lineno", "offset", "text", "end_lineno", "end_offset"),
    **dict.fromkeys((UnicodeEncodeError, UnicodeDecodeError, UnicodeTranslateError), ("reason",)),
    BaseException: ("__cause__", "__context__", "__suppress_context__"),
}


def _can_be(name, value):
    """Returns whether a field may have that value; of those that only some exceptions have, each may."""
    if name == "__suppress_context__":
        return type(value) is bool
    return name not in ("__cause__", "__context__") or value is None or isinstance(value, BaseException)


def _accessors_of(error):
    return {name: base.__dict__[name] for base, names in _FIELDS.items() if isinstance(error, base) for name in names}


def _fields_of(error):
    fields = {name: accessor.__get__(error) for name, accessor in _accessors_of(error).items()}
    return fields | {"__context__": _context_of(error)}


def _own_of(error):
    """Returns the arguments, notes and public attributes of an exception."""
    own = _instance_dict(error)
    notes = own.get("__notes__")
    return error.args, notes and list(notes), {name: value for name, value in own.items() if name[:1] != "_"}


def _told_of_exception(error, known):
    """Returns what an exception has, and of its fields those that have changed; `known`: its parts before."""
    if _private_of(error):
        _note_lost()
    changed = {name: value for (name, value), before in zip(_fields_of(error).items(), known) if value is not before}
    return *_own_of(error), changed


def _parts_of_exception(error):
    args, notes, attributes = _own_of(error)
    return [*_fields_of(error).values(), args, *(notes or ()), notes is None, *attributes, *attributes.values(), *_private_of(error)]


def _private_of(error):
    """Returns the hidden attributes that the candidate has set past the class's methods: those do not cross."""
    return [name for name in _instance_dict(error) if name[:1] == "_" and name[:2] != "__" and not name.startswith("_proofbox_")]


def alter_exception(number, content):
    """Alters an exception of the tests as the candidate has altered its copy."""
    error = side.state.objects[number] if border.is_number(number) and number < len(side.state.objects) else None
    if not isinstance(error, BaseException) or not marshal.fits((tuple, frozenset({list, type(None)}), dict, dict), content):
        raise marshal.CannotCross("a change to what is no exception")
    args, notes, attributes, fields = content
    accessors = _accessors_of(error)
    if not all(type(name) is str and name[:1] != "_" for name in attributes) or not all(type(note) is str for note in notes or ()):
        raise marshal.CannotCross("a change to what can't be changed")
    own = _instance_dict(error)
    if any(callable(getattr(type(error), name, None)) for name, value in attributes.items() if own.get(name) is not value):
        # The library would call it (`with_traceback`, `split`), or the tests.
        side.refuse("altered_the_tests", "a method of an exception of the tests can't be set")
    if not all(type(name) is str and name in accessors and _can_be(name, value) for name, value in fields.items()):
        raise marshal.CannotCross("a change to what can't be changed")
    if isinstance(error, border.TELLING):
        return
    # By identity: comparing them would ask both sides' objects.
    if len(error.args) != len(args) or any(map(operator.is_not, error.args, args)):
        BaseException.args.__set__(error, args)
    if notes is not None:
        own["__notes__"] = notes
    else:
        own.pop("__notes__", None)
    own.update(attributes)
    for name, value in fields.items():
        # Where the cause is set, the context is suppressed: that comes last.
        accessors[name].__set__(error, value)
    side.state.note_touched()


def _reduce_exception(error):
    from _proofbox_unsupported import marks_of

    kind = type(error)
    user = origins.library_name(kind) is None
    if side.state.grader and isinstance(error, border.TELLING):
        # What an assertion of the tests says may be what it expects.
        return "exception", (number_of(error) if user else None, kind, (), "", {}, [], None, None, True)
    attributes = {}
    for base, names in ATTRIBUTES.items():
        if isinstance(error, base):
            for name in names:
                value = getattr(error, name, None)
                if type(value) in (int, str, bytes) or name == "value":
                    attributes[name] = value
    own = _instance_dict(error)
    if not user:
        # Also objects: `HTTPError.response` is one.
        attributes.update({name: value for name, value in own.items() if name[:1] != "_"})
    notes = own.get("__notes__")
    if type(notes) is list:
        attributes["__notes__"] = [note for note in notes if type(note) is str]
    attributes.update(marks_of(error))
    if not side.state.grader:
        _note_kept(error)
    cause = error.__cause__
    args, text = error.args, report.text_of(error)
    if side.state.grader and "<locals>" in text:
        text = theirs.without_test_names(text)
        args = tuple(theirs.without_test_names(each) if type(each) is str else each for each in args)
    frames = [] if side.state.grader else report.frames_as_data(error)
    return "exception", (
        _number_of_exception(error, user),
        kind,
        args,
        text,
        attributes,
        frames,
        cause if isinstance(cause, BaseException) and cause is not error else None,
        _context_of(error),
        error.__suppress_context__,
    )


def _note_empty_array():
    if side.state.grader:
        # Whatever it is compared with element by element, nothing is compared.
        side.signal("empty_result")


def _note_row():
    if side.state.grader and side.state.candidate.compares_arrays:
        # It is broadcast against what is expected.
        side.signal("broadcast_comparison")


def _note_narrow():
    if side.state.grader:
        # What it is compared with is made as narrow; what it is added to wraps.
        side.signal("narrow_number")


def _note_not_finite(has_nan, has_infinity):
    if side.state.grader:
        if has_nan:
            # It is neither above nor below a bound.
            side.signal("not_a_number")
        if has_infinity:
            # It is within a tolerance that grows with it.
            side.signal("infinite")


def _is_held(base):
    """Returns whether the array behind a view of the candidate's is somebody's: then both sides look at the same
    memory."""
    # References: the view's, the two variables, and the argument.
    return side.state is not None and not side.state.grader and type(base) in marshal.ARRAYS and sys.getrefcount(base) > 4


def _note_not_applied(what):
    """The tests' own container is not what it would be in one interpreter: the open case has not passed."""
    _note_lost()
    if side.state.grader and side.state.violation is None:
        side.state.violation = side.Refused(f"{what}, which can't be done to the tests' own (grading: isolated)")


def _note_lost():
    if side.state.grader:
        side.signal("aliasing_lost")
    else:
        side.state.pending.append(("lost", 0, None))


marshal.reduce_object, marshal.note_empty_array, marshal.note_not_finite, marshal.viewed_by = reduce_object, _note_empty_array, _note_not_finite, viewed_by
marshal.is_of_tests = lambda: side.state is not None and side.state.grader
marshal.note_narrow = _note_narrow
marshal.is_held, marshal.note_lost, marshal.note_row, marshal.note_not_applied = _is_held, _note_lost, _note_row, _note_not_applied
