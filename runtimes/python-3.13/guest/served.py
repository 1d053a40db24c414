"""Requests of the candidate on objects of the tests that it was given, one by one (`SERVED` of border.py)."""

import asyncio
import builtins
import copy
import io
import itertools
import logging
import os
import pickle
import random
import re
import sys
import types
import warnings
import weakref
from unittest import mock

import _proofbox
import _proofbox_attributes as attributes
import _proofbox_border as border
import _proofbox_bridge as bridge
import _proofbox_faces as faces
import _proofbox_foreign_files as foreign_files
import _proofbox_grader as grader
import _proofbox_grading as grading
import _proofbox_marshal as marshal
import _proofbox_operators as operators
import _proofbox_origins as origins
import _proofbox_proxies as proxies
import _proofbox_report as report
import _proofbox_settings as settings
import _proofbox_side as side
import _proofbox_states as states
import _proofbox_theirs as theirs
import _proofbox_threads as threads

_CALLABLES = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType, types.WrapperDescriptorType,
    types.MethodDescriptorType, types.ClassMethodDescriptorType,
)  # fmt: skip


def check_may_leave(value):
    if not border.may_leave(value):
        kind = value if issubclass(type(value), type) else type(value)
        side.refuse("unsendable_argument", f"{kind.__name__} of the tests can't be passed to the candidate")


def _is_of_a_runner(target, name):
    """Returns whether an attribute of a test case is not the tests' own, but what a runner of tests gave it."""
    kinds = type(target).__mro__
    if not border.derives_from_staying(type(target)):
        return False
    definer = next((kind for kind in kinds if name in vars(kind)), None)
    return definer is not None and border.stays(definer)


def _object(number):
    if not border.is_number(number) or number >= len(side.state.objects):
        side.refuse("protocol_violation", "an object that the candidate was not given")
    return side.state.objects[number]


def _is_made_when_asked(target, name):
    """Returns whether an attribute of a mock is one that it makes for whoever asks, as `turtle.Turtle._screen`, and
    none of its own."""
    return name[:2] != "__" and not name.startswith(("_mock", "_spec")) and not hasattr(type(target), name) and name not in vars(target) and vars(target).get("_mock_wraps") is None


def _is_made_by_namedtuple(kind, name):
    """Returns whether a class of the tests' has the attribute from `namedtuple`, and not of its own."""
    definer = next((base for base in kind.__mro__ if name in vars(base)), None)
    return definer is not None and definer.__bases__ == (tuple,) and type(vars(definer).get("_fields")) is tuple


def _visible(target, name):
    if type(name) is not str:
        side.refuse("protocol_violation", "an attribute has a name")
    if name in border.METADATA or name[:1] == "_" and attributes.is_own(target, name):
        return
    if name in border.OF_NAMED_TUPLES and _is_made_by_namedtuple(target if isinstance(target, type) else type(target), name):
        return
    if name[:1] == "_" and isinstance(target, mock.NonCallableMock) and _is_made_when_asked(target, name):
        return
    if name.startswith("_") or name.startswith(border.INNARDS) or name == "mro" or _is_held(target, name) or isinstance(target, _CALLABLES):
        side.signal("looked_into_the_tests")
        raise AttributeError(f"{type(target).__name__!r} object of the tests has no attribute {name!r} here")
    if isinstance(target, border.TELLING):
        side.signal("looked_into_the_tests")
        raise AttributeError("what a failed assertion says does not leave the tests")
    if isinstance(target, mock.NonCallableMock) and name.startswith(border.MOCK_RECORDS) or _is_of_a_runner(target, name):
        side.signal("looked_into_the_tests")
        raise AttributeError(f"{name!r} is between the tests and their {type(target).__name__}")
    if type(target).__module__ == "functools":
        raise AttributeError(f"{type(target).__name__!r} object of the tests can only be called")


def _is_held(target, name):
    """Returns whether an object of the library keeps that for the tests alone."""
    return any(name in border.HELD.get(f"{kind.__module__}.{kind.__qualname__}", ()) for kind in type(target).__mro__)


def _get(number, name):
    target = _object(number)
    if name == "queue" and type(target).__module__ == "sched":
        # When its events are due; not what they will do.
        return [event._replace(action=None, argument=(), kwargs={}) for event in target.queue]
    if type(target) in faces.KINDS and (found := faces.get(target, name)) is not faces.NOTHING:
        return found
    if name == "__dict__" and _has_attributes(function := faces.function_of(target)):
        return faces.namespace_of(function, _check_set, _check_alterable)
    if issubclass(type(target), type) and type(name) is str and name[:2] == "__" and (found := faces.of_class(target, name)) is not faces.NOTHING:
        return found
    _visible(target, name)
    value = getattr(target, name)
    if isinstance(value, border.MACHINERY):
        raise AttributeError(f"{name!r} does not leave the tests")
    return _given(target, value)


def _given(target, value):
    """Returns what an object of the tests gives the candidate: of a test case, nothing that can be altered there."""
    if type(value) in marshal.HOLDING or type(value) in marshal.CHANGEABLE:
        if border.derives_from_staying(target if isinstance(target, type) else type(target)):
            return _apart(value)
    return value


def _apart(value):
    """A copy of a container and those in it."""
    kind = type(value)
    if kind in (list, tuple):
        return kind(map(_apart, value))
    if kind is dict:
        return {key: _apart(each) for key, each in value.items()}
    return copy.copy(value) if kind in marshal.CHANGEABLE else value


def _has_attributes(target):
    """Returns whether an object is an instance of a class of the tests' own, or one that only holds attributes."""
    kind = type(target)
    if kind is types.FunctionType:
        return True
    own = not origins.is_of_library(kind) and not isinstance(target, (type, mock.NonCallableMock)) and not border.derives_from_staying(kind)
    return (own or (kind.__module__, kind.__qualname__) in _NAMESPACES) and type(getattr(target, "__dict__", None)) is dict


_NAMESPACES = frozenset({("argparse", "Namespace"), ("types", "SimpleNamespace")})


def _check_alterable(target, name):
    """Only attributes of instances, and not what tests assert on."""
    if type(name) is str and name[:1] == "_" and not border.derives_from_staying(type(target)) and attributes.can_be_own(target, name):
        return
    if type(target) is types.FunctionType and attributes.can_be_marked(target, name):
        return
    if isinstance(target, type) and attributes.can_be_decorated(name) and attributes.is_decorated_now(target):
        side.signal("decorated_by_candidate")
        return
    if type(name) is not str or name.startswith("_") or name in border.METADATA or name.startswith(border.INNARDS):
        side.refuse("altered_the_tests", "a hidden attribute of the tests can't be set")
    if isinstance(target, (type, *_CALLABLES, *border.MACHINERY)):
        side.refuse("altered_the_tests", f"an attribute of a {type(target).__name__} of the tests can't be set")
    if isinstance(target, mock.NonCallableMock) and name.startswith(border.MOCK_RECORDS):
        side.refuse("altered_the_tests", "what a mock has recorded can't be set")
    if border.derives_from_staying(type(target)):
        side.refuse("altered_the_tests", "an attribute of a test case can't be set")
    definer = next((kind for kind in type(target).__mro__ if name in vars(kind)), None)
    if definer is not None and callable(vars(definer)[name]) and origins.is_of_library(definer):
        side.refuse("altered_the_tests", "a method of the library can't be set")


def _note_alteration(target, name, value):
    """Signals changes to what the tests' own objects record, and to places of mocks, which are rarely a candidate's to
    set."""
    is_mock = isinstance(target, mock.NonCallableMock)
    if is_mock or isinstance(getattr(target, "__dict__", {}).get(name), mock.NonCallableMock):
        if proxies.is_remote(value):
            side.state.on_mocks[id(value)] = value
        elif isinstance(value, mock.NonCallableMock):
            side.signal("set_attribute_of_the_tests")
    elif any(name in names for names in map(_kept_by, type(target).__mro__)):
        side.signal("set_attribute_of_the_tests")


class _Replaced:
    """Place where the candidate has put one mock of the tests for another: read there, it has no record.

    (Each mock has a class of its own.)"""

    def __init__(self, target, name, value):
        self.name, self.read_at = name, None
        setattr(type(target), name, self)
        kind, get = type(value), type(value).__getattribute__

        def __getattribute__(value, name):
            if name.startswith(border.MOCK_RECORDS) and self.read_at and self.read_at == _place_of(sys._getframe(1)):
                side.refuse("altered_the_tests", f"{name} of a mock that the candidate has put in the place of another")
            return get(value, name)

        kind.__getattribute__ = __getattribute__

    def __get__(self, target, kind=None):
        if target is None:
            raise AttributeError(self.name)
        self.read_at = _place_of(sys._getframe(1))
        return vars(target)[self.name]

    def __set__(self, target, value):
        self.__delete__(target)
        vars(target)[self.name] = value

    def __delete__(self, target):
        delattr(type(target), self.name)
        del vars(target)[self.name]


def _place_of(frame):
    return id(frame), frame.f_lineno


def _kept_by(kind):
    """Names of a class of the tests' own that are methods, or that its methods other than special ones use."""
    names = set()
    for name, value in vars(kind).items():
        if isinstance(value, types.FunctionType) and not (name.startswith("__") and name.endswith("__")):
            names.update((name, *value.__code__.co_names))
    return names


def _check_set(target, name, value):
    _check_alterable(target, name)
    _note_alteration(target, name, value)


def _set(number, name, value):
    target = _object(number)
    _check_set(target, name, value)
    side.note_empty(value)
    if name in getattr(target, "__dict__", ()) and not attributes.is_own(target, name):
        side.state.note_touched()
    if origins.is_of_library(type(target)) and type(target) is not types.FunctionType and not isinstance(target, mock.NonCallableMock):
        side.state.note_touched()
    setattr(target, name, attributes.for_decorated(target, name, value) if isinstance(target, type) else value)
    if isinstance(target, mock.NonCallableMock) and isinstance(value, mock.NonCallableMock):
        _Replaced(target, name, value)
    attributes.note_set(target, name)


def _delete(number, name):
    target = _object(number)
    _check_alterable(target, name)
    delattr(target, name)
    attributes.note_deleted(target, name)


def _index(number, key):
    target = _object(number)
    if not isinstance(target, type):
        side.refuse("protocol_violation", "only a class is indexed so")
    return target[key]


def _special(number, name, arguments):
    target = _object(number)
    if isinstance(target, border.TELLING):
        side.refuse("looked_into_the_tests", "what a failed assertion says does not leave the tests")
    if name in _TEXTS and (isinstance(target, _CALLABLES) or type(target).__module__ == "functools"):
        # Python's own would show what a method or a partial object holds.
        return f"<{type(target).__name__} of the tests>"
    known = border.GENERATOR_METHODS if isinstance(target, (types.GeneratorType, types.AsyncGeneratorType)) else ()
    if type(name) is not str or name not in border.SPECIALS and name not in known or type(arguments) is not tuple:
        side.refuse("protocol_violation", f"{name!r} is not passed on")
    is_mock = isinstance(target, mock.NonCallableMock)
    method = next((vars(kind)[name] for kind in type(target).__mro__ if name in vars(kind)), None) if is_mock else None
    if name in border.DESCRIPTORS and method is None and origins.is_of_library(type(target)):
        side.refuse("protocol_violation", f"{name} of a {type(target).__name__} of the tests")
    if method is not None:
        # Its special methods are mocks of its own, which are not given the object.
        return method.__get__(target, type(target))(*arguments) if hasattr(type(method), "__get__") else method(*arguments)
    if name in _ALTERING:
        side.state.note_touched()
    return _given(target, getattr(type(target), name)(target, *arguments))


# Special methods that alter their object.
_ALTERING = frozenset("__setitem__ __delitem__ __iadd__ __imul__ __ior__ __iand__ __isub__ __ixor__".split())


def _copy(number, copy):
    """A copy of what the candidate could alter."""
    target = _object(number)
    if copy is not None and not border.is_number(copy):
        side.refuse("protocol_violation", "a copy that has no number")
    _check_copyable(target, "copied")
    return proxies.copy_of(target, copy)


def _check_copyable(target, done):
    if isinstance(target, (type, mock.NonCallableMock, *_CALLABLES, *border.MACHINERY)) or border.derives_from_staying(type(target)):
        raise TypeError(f"a {type(target).__name__} of the tests can't be {done} (grading: isolated)")


# Pickles of objects of the tests that the candidate has made, by number: how many are kept.
_MAX_PICKLES = 10_000
_pickles = {}
_numbers_of_pickles = itertools.count()
_dumps = pickle.dumps


class _Unpickler(pickle._Unpickler):
    """Reads what the tests have pickled. It trusts nobody else meanwhile: objects of the candidate in it are read there."""

    def find_class(self, module, name):
        found = sys.modules[module]
        for part in name.split("."):
            found = getattr(found, part)
        return found


def _pickle(number, protocol):
    """Pickles what the candidate could copy; returns the number of the pickle, which does not leave the tests."""
    target = _object(number)
    if not border.is_number(protocol):
        side.refuse("protocol_violation", "a protocol of pickles that has no number")
    _check_copyable(target, "pickled")
    made = next(_numbers_of_pickles)
    # By the names that modules have now, whatever the protocol: it is read by them.
    _pickles[made] = _dumps(target, protocol, fix_imports=False)
    if len(_pickles) > _MAX_PICKLES:
        del _pickles[next(iter(_pickles))]
    return made


def _unpickle(number):
    if not border.is_number(number) or number not in _pickles:
        side.refuse("protocol_violation", "a pickle that the candidate has not made")
    return _Unpickler(io.BytesIO(_pickles[number])).load()


def _weakly(number):
    target = _object(number)
    if type(target) is not types.MethodType:
        side.refuse("protocol_violation", "only a method is referred to so")
    return weakref.WeakMethod(target)


_TEXTS = frozenset({"__str__", "__repr__", "__format__"})


def _call(number, arguments, keywords):
    if type(arguments) is not tuple or type(keywords) is not dict:
        side.refuse("protocol_violation", "arguments that are none")
    target = _object(number)
    if isinstance(getattr(target, "__self__", None), asyncio.Future):
        # A task that is cancelled asserts nothing any more.
        steers = any(isinstance(each, border.STEERING) or isinstance(each, type) and issubclass(each, border.STEERING) for each in arguments)
        if target.__name__ == "cancel" or steers:
            side.signal("cancelled_a_task_of_the_tests")
    owner = getattr(target, "__self__", None)
    is_function = owner is None or isinstance(owner, types.ModuleType)
    if not is_function and getattr(target, "__name__", None) in _ALTERING_METHODS and not isinstance(owner, (type, mock.NonCallableMock)):
        side.state.note_touched()
    side.state.calls_served += 1
    if side.state.candidate.parses:
        grader.note_texts(side.state.candidate.parses, (*arguments, *keywords.values()))
    classes = [each for each in (*arguments, *keywords.values()) if issubclass(type(each), type) and type(each) is not proxies.ProxyType]
    result = _call_watched(target, arguments, keywords, classes) if classes else target(*arguments, **keywords)
    return result if is_function else _given(owner, result)


def _call_watched(target, arguments, keywords, classes):
    """Calls what is given classes, which it does not alter for the candidate."""
    before = [dict(vars(each)) for each in classes]
    try:
        return target(*arguments, **keywords)
    finally:
        for each, known in zip(classes, before):
            _check_unaltered(each, known)


def _check_unaltered(cls, known):
    """Refuses a run in which a function of the tests has set an attribute of a class to an object of the
    candidate's."""
    for name, value in vars(cls).items():
        if known.get(name) is not value and proxies.is_remote(value):
            side.refuse("altered_the_tests", f"an attribute of class {cls.__name__} of the tests can't be set")


def _is(number, what, value):
    """Asks a class of the tests as `isinstance` and `issubclass` do."""
    cls = _object(number)
    if not isinstance(cls, type) or what not in ("instance", "subclass") or what == "subclass" and not isinstance(value, type):
        side.refuse("protocol_violation", "no question that is asked of a class")
    return isinstance(value, cls) if what == "instance" else issubclass(value, cls)


# Methods by which containers, files and trees are altered.
_ALTERING_METHODS = operators.MUTATORS | {"write", "writelines", "truncate", "set"}


def _spawn(number, whole, place, kept):
    """Starts an awaitable of the tests that the candidate awaits; `whole`: it can't wait for our loop. `place`, `kept`: the context of
    who awaits it, as `Theirs.awaiting` tells it."""
    state, target = side.state, _object(number)
    if not border.is_number(place) or type(kept) is not int or kept > 0:
        side.refuse("protocol_violation", "a place that is none")
    if whole is not True:
        coroutine = _awaited(target)
        try:
            task = state.candidate.places.start(coroutine, place, kept)
        except RuntimeError:
            coroutine.close()
        else:
            task.add_done_callback(lambda task: _settled(number, task))
            state.candidate.started = {**state.candidate.started, number: task}
            return number, False, True, None
    if asyncio._get_running_loop() is None:
        runner = asyncio.Runner()
        state.candidate.runners.append(runner)
        return number, True, True, runner.run(_awaited(target))
    coroutine = _awaited(target)
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return number, True, True, stop.value
    coroutine.close()
    raise RuntimeError("a coroutine of the tests can't wait within a function that is not one (grading: isolated)")


def _cancel(number):
    """Cancels an awaitable of the tests whose awaiter in C is cancelled, or has run out of time."""
    target = _object(number)
    task = side.state.candidate.started.get(number)
    if task is None:
        return
    if isinstance(target, asyncio.Future):
        side.signal("cancelled_a_task_of_the_tests")
    task.cancel()


async def _awaited(awaitable):
    return await awaitable


def _settled(number, task):
    candidate = side.state.candidate
    candidate.started = {key: each for key, each in candidate.started.items() if each is not task}
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if error is not None:
        side.note_failed_assertion(error)
    candidate.settled.append((number, error is None, task.result() if error is None else error))
    candidate.wake(candidate.waiting)
    if not candidate.waiting:
        candidate.places.stirred()


def _warned(message, category, filename, lineno):
    """A warning of the candidate's, given here as if it were the tests' own: they may catch it, or have made it an error."""
    if not (isinstance(message, Warning) and type(filename) is str and type(lineno) is int):
        side.refuse("protocol_violation", "a warning that is none")
    frame = None
    if filename == _OF_THE_BRIDGE:
        # By its `stacklevel` it is about who has called the candidate.
        frame = sys._getframe()
        while frame is not None and not border.is_of_tests(frame.f_globals.get("__name__")):
            frame = frame.f_back
    if frame is not None:
        filename, lineno, module = frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__") or "tests"
    elif filename == report.SNIPPET:
        module = side.state.candidate.module.__name__
    else:
        module = filename.rpartition("/")[2].removesuffix(".py")
    warnings.warn_explicit(message, type(message), filename, lineno, module, _registries.setdefault(filename, {}))


# The file of the frames that call the candidate in its interpreter.
_OF_THE_BRIDGE = "<proofbox>"
# By file, which warnings have been shown, as modules have it.
_registries = {}


_RECORD = {"name": str, "levelno": int, "levelname": str, "msg": str, "pathname": str, "filename": str, "module": str, "lineno": int, "funcName": str, "args": tuple}
# Fields of a template that would make a long text of a short one.
_WIDE = re.compile(r"%[^a-zA-Z%]*(?:\*|\d{4})")


def _are_extra(attributes):
    """Returns whether a log record may have these attributes beside its own."""
    own = vars(logging.makeLogRecord({})).keys()
    return all(
        type(name) is str and name[:1] != "_" and name not in own and type(value) in side.PLAIN_TYPES for name, value in attributes.items()
    )


def _loggers(told):
    """Sets the tests' loggers as the candidate has set its own."""
    candidate = side.state.candidate
    if candidate.loggers is None or not states.are_loggers(told):
        side.refuse("protocol_violation", "loggers that are none")
    candidate.tell_loggers()
    states.set_loggers(told, proxies.is_remote)
    candidate.loggers = states.loggers(proxies.is_remote)


def _handlers_of(logger):
    """The tests' own handlers that get its records. The candidate's have had them."""
    while logger is not None:
        yield from [each for each in logger.handlers if not proxies.is_remote(each)]
        logger = logger.parent if logger.propagate else None


def _logged(told, error, trace):
    """A log record of the candidate's; whether anybody here took it."""
    extra = told.pop("extra", None) if type(told) is dict else None
    if type(extra) is not dict or {name: type(value) for name, value in told.items()} != _RECORD or not _are_extra(extra):
        side.refuse("protocol_violation", "a log record that is none")
    told.update(extra)
    logger = logging.getLogger(told["name"])
    arguments = told["args"]
    if not all(type(each) in side.SCALARS for each in arguments) or arguments and _WIDE.search(told["msg"]):
        side.refuse("protocol_violation", "a log record that is none")
    told["args"] = arguments or None
    if isinstance(error, BaseException):
        told["exc_info"] = type(error), error, None
        # Its traceback, as the candidate's interpreter has it.
        told["exc_text"] = trace if type(trace) is str else None
    record = logging.makeLogRecord(told)
    handlers = list(_handlers_of(logger))
    passed = logger.filter(record) if handlers and not logger.disabled else False
    if passed:
        for handler in handlers:
            if record.levelno >= handler.level:
                handler.handle(passed if isinstance(passed, logging.LogRecord) else record)
    return bool(handlers)


def _altered(what):
    """The candidate has altered what the tests look at here: they can't see it."""
    if type(what) is not str or what not in side.state.candidate.looked_at:
        side.refuse("protocol_violation", "a change that nobody has asked for")
    word = side.state.candidate.looked_at[what]
    # That it has altered it is the candidate's to decide, and brings about no other grading.
    side.signal("altered_interpreter")
    if word is None:
        # The tests do not look at it, but may feel it.
        return
    grader.fail_case(f"the candidate has altered what {word} shows in its interpreter")


def _state(name, told):
    """Takes what the candidate has altered of the state that the tests look at."""
    followed = side.state.candidate.followed
    if type(name) is not str or followed is None or not followed.take(name, told):
        side.refuse("protocol_violation", "a state that nobody looks at")


def _settings(told):
    """Takes settings that the candidate has altered."""
    shared = side.state.candidate.settings
    if shared is None or not shared.take(told):
        side.refuse("protocol_violation", "settings that are none")


def _filters(level, told):
    """Takes filters of warnings that the candidate has added."""
    filters = side.state.candidate.filters
    if filters is None or not filters.take(level, told):
        side.refuse("protocol_violation", "filters that are none")


def _registered(what, args):
    """Registers what the candidate has registered with the library."""
    if "registries" not in side.state.candidate.watched or not settings.take_registered(what, args):
        side.refuse("protocol_violation", "an entry of a registry that is none")


def _surroundings(environment, directory, limit):
    """The environment, the working directory and the recursion limit that the candidate has made for itself."""
    texts = type(environment) is dict and all(type(each) is str for pair in environment.items() for each in pair)
    if not texts or type(directory) is not str or type(limit) is not int:
        side.refuse("protocol_violation", "surroundings that are none")
    candidate = side.state.candidate
    if "surroundings" not in candidate.watched:
        side.refuse("protocol_violation", "surroundings that nobody has asked for")
    own = {name: value for name, value in os.environ.items() if name.startswith(border.PRIVATE_VARIABLES)}
    told = {name: value for name, value in environment.items() if not name.startswith(border.PRIVATE_VARIABLES)}
    os.environ.clear()
    os.environ.update(own | told)
    os.chdir(directory)
    grader.set_recursion_limit(limit)
    candidate.changed.clear()


def _seeded(which, seed):
    """The candidate has set a seed: the tests' own generator has it too if they have asked for that, by a function's name.

    Else the candidate would choose what the tests try it with."""
    if type(which) is not str or which not in _GENERATORS or type(seed) not in side.SCALARS or seed is None:
        side.refuse("protocol_violation", "a seed that is none")
    frame, asks = sys._getframe(1), proxies.call_object.__code__
    while frame is not None and frame.f_code is not asks:
        frame = frame.f_back
    name = proxies.name_of(frame.f_locals["self"]) if frame is not None else None
    if type(name) is str and "seed" in name.lower():
        side.signal("seeded_by_candidate")
        _GENERATORS[which](seed)
        if (followed := side.state.candidate.followed) is not None:
            followed.settle(_FOLLOWED_AS[which])
        return True
    return False


def _seed_numpy(seed):
    import numpy

    numpy.random.mtrand._rand.seed(seed)


_FOLLOWED_AS = {"random": "random", "numpy": "numpy.random"}
_GENERATORS = {"random": lambda seed: random._inst.seed(seed), "numpy": _seed_numpy}


def _dialects(told):
    """Dialects of csv that the candidate has. What the tests or the library call one by a name stays what it is."""
    import _csv

    if type(told) is not dict or "dialects" not in side.state.candidate.watched:
        side.refuse("protocol_violation", "dialects that are none")
    for name, settings in told.items():
        if type(name) is not str or type(settings) is not tuple or len(settings) != len(border.DIALECT) or not all(
            type(each) in kinds for each, kinds in zip(settings, border.DIALECT.values())
        ):
            side.refuse("protocol_violation", "a dialect that is none")
    known, own = side.state.candidate.dialects, _csv.list_dialects()
    for name in known.difference(told).intersection(own):
        _csv.unregister_dialect(name)
    known.intersection_update(told)
    for name, settings in told.items():
        if name in known or name not in own:
            known.add(name)
            _csv.register_dialect(name, **dict(zip(border.DIALECT, settings)))


def _printing(target):
    """Sets the object that the candidate has put in the place of its `sys.stdout`, or None when that is its own
    again."""
    if "printing" not in side.state.candidate.watched or isinstance(target, (*side.VALUE_TYPES, *side.CONTAINERS)):
        side.refuse("protocol_violation", "an output that is none")
    side.state.printing = target


def _rest_here(seconds):
    """Lets threads of the tests go on while the candidate's main thread waits."""
    if type(seconds) not in (int, float) or not 0 <= seconds:
        side.refuse("protocol_violation", "a time that is none")
    return side.state.candidate.places.rest(seconds)


_OPERATIONS = {
    "call": _call,
    "get": _get,
    "set": _set,
    "del": _delete,
    "dir": lambda number: [name for name in dir(_object(number)) if not name.startswith("_")],
    "index": _index,
    "special": _special,
    "copy": _copy,
    "pickle": _pickle,
    "unpickle": _unpickle,
    "weakly": _weakly,
    "is": _is,
    "signature": lambda number: faces.signature_of(_object(number)),
    "spawn": _spawn,
    "cancel": _cancel,
    "warned": _warned,
    "logged": _logged,
    "loggers": _loggers,
    "altered": _altered,
    "stirred": lambda: side.state.candidate.places.stirred(),
    "rest": _rest_here,
    "settings": _settings,
    "filters": _filters,
    "registered": _registered,
    "state": _state,
    "surroundings": _surroundings,
    "seeded": _seeded,
    "dialects": _dialects,
    "printing": _printing,
}


def perform(operation, *arguments):
    served = _OPERATIONS.get(operation) if type(operation) is str else None
    if served is None:
        side.refuse("protocol_violation", "a request that there is not")
    grader.show_printed(side.state)
    serving = foreign_files.serving.set(True)
    try:
        if operation in border.HANDING_OVER:
            if theirs.leads_to_code(arguments[1:]):
                side.refuse("looked_into_the_tests", "a name that leads to code of the tests")
        if side.state.candidate.reads_by_name:
            _guard_reads()
        watched = foreign_files.are_watched()
        if watched:
            foreign_files.note_texts(arguments)
        begun = proxies.print_there() if side.state.printing is not None and operation in _PRINTING else None
        try:
            result = served(*arguments)
        except RuntimeError as error:
            if str(error).startswith(threads.DEADLOCK):
                # In one interpreter its thread would wait on.
                side.signal("waits_in_the_tests")
                if operation in _WAITING and _waits_only(_object(arguments[0])):
                    raise RuntimeError(threads.NOT_YET) from None
            raise
        finally:
            proxies.print_here(begun)
            told = side.state.candidate.outputs
            if sys.stdout is not told.stdout or sys.stderr is not told.stderr:
                told.tell()
        if watched:
            foreign_files.note_told(result)
        return theirs.without_test_names(result) if type(result) is str and "<locals>" in result else result
    finally:
        foreign_files.serving.reset(serving)


def _guard_reads():
    """From now on no code of the tests reads on behalf of the candidate what leads to their code, wherever it has the name from."""
    side.state.candidate.reads_by_name = False
    # As a function of the tests: handles look at who asks.
    names = {"__name__": "tests", "__builtins__": builtins, "read": getattr, "check": _check_read}
    guarded = types.FunctionType(_read.__code__, names, "getattr")
    guarded.__module__, guarded.__qualname__, guarded.__doc__ = "builtins", "getattr", getattr.__doc__
    for module in list(sys.modules.values()):
        if type(module) is types.ModuleType and border.is_of_tests(module.__name__):
            vars(module).setdefault("getattr", guarded)
    for own in grading.all_builtins[1:]:
        if own.get("getattr") is getattr:
            own["getattr"] = guarded


def _read(object, name, *default):
    check(object, name)  # noqa: F821: of its own globals
    return read(object, name, *default)  # noqa: F821


def _check_read(target, name):
    word = name if type(name) is str else str.__str__(name) if isinstance(name, str) else ""
    if word in border.LEADING and foreign_files.serving.get() and not proxies.is_remote(target):
        side.refuse("looked_into_the_tests", "a name that leads to code of the tests")


# Requests that may wait.
_WAITING = frozenset({"call", "special"})


def _waits_only(target):
    """Returns whether it is a queue, lock or the like of the library, or a method of one: who has waited for it in vain has changed
    nothing."""
    owner = getattr(target, "__self__", None) if isinstance(target, _CALLABLES) else target
    return type(owner).__module__ in ("queue", "_queue", "threading", "_thread")


# Requests that may print.
_PRINTING = frozenset({"call", "get", "special"})


def on_protocol_error():
    """The candidate does not keep to the protocol: it has patched its own side of the bridge."""
    side.signal("protocol_violation")
    _proofbox.renew()
    side.state.candidate.lose(bridge.CandidateGone("exception", "ProtocolError", "the candidate's interpreter gave an answer that makes no sense"))


assert _OPERATIONS.keys() == border.SERVED.keys()
