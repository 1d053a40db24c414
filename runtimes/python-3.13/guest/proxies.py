"""Objects of the other interpreter: numbers on the wire, handles here.

A handle's class mirrors its object's: name, bases, the special methods it has. Exceptions derive from the builtin class
that theirs derives from, so that `except` and `assertRaises` see what they expect. An instance of a subclass of a builtin
value or container carries its content, taken by the builtin's own means: operators that the subclass overrides do not
count, and C code that looks past them (`set(handle)`, `json.dumps(handle)`) sees what is there.

In the tests' interpreter what a handle *does* is the candidate's word. Which of it is taken says border.py; here is how.
Comparing a handle with plain data is decided here (it is not equal, and has no order); operators between one and plain
data are passed on only for classes that the tests themselves name, and must give an object again; `in` looks at the items
here, unless the class is so named."""

import collections
import dataclasses
import functools
import gc
import importlib
import inspect
import itertools
import sys
import types

import _proofbox_border as border
import _proofbox_marshal as marshal
import _proofbox_packages as packages
import _proofbox_report as report
import _proofbox_sharing as sharing


class State:
    """What one side knows of the other. Made anew at the start, so that a run writes to little of the image."""

    __slots__ = (
        "grader", "objects", "numbers", "proxies", "proxy_types", "homes", "described", "generation", "signals", "named", "paths",
        "ask", "perform", "on_protocol_error", "refresh", "check_may_leave", "inexpressible", "candidate", "streams", "noted", "namespace",
        "runner", "altered", "finished", "tracked", "pending", "dirty", "violation", "before_reply", "values", "handles", "failed",
        "on_mocks", "measured", "changes", "copies", "copied", "shared", "link", "open", "unequal", "read", "calls", "theirs", "make_handles",
    )  # fmt: skip

    def __init__(self):
        self.grader = False  # whether this is the tests' side
        self.signals = {}  # what was seen that an honest candidate does not need (grader only)
        self.named = {}  # proxy types that the tests name
        self.paths = {}  # by which name proxy types were found
        self.altered = []  # arguments that the other side has changed
        self.generation = 0  # of which interpreter of the candidate: each fresh one begins with no objects
        self.violation = None  # what the open case can't pass for, whatever its test makes of it
        self.values = self.handles = 0  # results that crossed as values; requests that the candidate's objects answered
        self.theirs = None
        self.make_handles = dict
        self.namespace = self.runner = self.candidate = self.refresh = self.check_may_leave = self.inexpressible = None
        self.before_reply = self.finished = None
        self.failed = None  # an assertion that failed in a call by the candidate, which has not told yet what it makes of it
        self.copies = 0  # deep copies that this side has begun
        self.open = None  # the containers of the request that is being carried out, and what they were (candidate's side)
        self.copied = None  # of the other's last one: its number, and what is copied already
        self.calls = None  # requests of the other side that are being carried out, where there are threads
        self.unequal = []  # objects of the candidate and what the open case has found them to differ from
        self.changes = 0  # requests that may have changed an object of the candidate's
        self.on_mocks = {}  # ids of handles that the candidate has set on mocks
        self.clear()

    def clear(self):
        self.objects = []  # this side's objects that the other knows, by number
        self.numbers = {}  # and the numbers, by id
        self.proxies = self.make_handles()  # the other side's objects, by number
        self.proxy_types = {}  # and those of its classes
        self.homes = {}  # number of each proxy type
        self.described = {}  # classes of this side that the other has had described
        self.tracked = {}  # containers of this side that the other has a copy of: number -> (container, content)
        self.shared = sharing.Shared()  # containers that both sides have
        self.pending = []  # contents that go with the next message
        # What codec.c needs for each message.
        self.link = self.pending, self.shared, self.shared.numbers, self.shared.next
        self.dirty = {}  # handles of containers whose content this side has changed, by number
        self.read = {}  # plain attributes of objects of the other side, and the changes until they were read
        self.measured = {}  # how many items an object of the other side has said to have or has given, and the changes until then

    def reset(self):
        """A fresh interpreter on the other side: nothing that it knew of is there."""
        self.generation += 1
        if self.calls:
            self.calls.clear()
        self.clear()


state = None

VALUE_TYPES = (int, float, complex, str, bytes, tuple, frozenset)
# Containers whose subclasses carry their content: how it is read and set past what a subclass overrides. Derived ones first.
def _dict_content(value):
    return dict(dict.items(value))


def _fill_dict(handle, content):
    dict.clear(handle)
    dict.update(handle, content)


def _fill_ordered(handle, content):
    collections.OrderedDict.clear(handle)
    for key, value in content.items():
        collections.OrderedDict.__setitem__(handle, key, value)


def _fill_set(handle, content):
    set.clear(handle)
    set.update(handle, content)


def _fill_deque(handle, content):
    collections.deque.clear(handle)
    collections.deque.extend(handle, content)


CONTAINERS = {
    collections.Counter: (dict, _dict_content, _fill_dict),
    collections.OrderedDict: (dict, lambda value: dict(collections.OrderedDict.items(value)), _fill_ordered),
    collections.defaultdict: (dict, _dict_content, _fill_dict),
    collections.deque: (list, lambda value: list(collections.deque.__iter__(value)), _fill_deque),
    list: (list, lambda value: list(list.__iter__(value)), lambda handle, content: list.__setitem__(handle, slice(None), content)),
    dict: (dict, _dict_content, _fill_dict),
    set: (set, lambda value: set(set.__iter__(value)), _fill_set),
    bytearray: (bytes, lambda value: bytes(bytearray.__iter__(value)), lambda handle, content: bytearray.__setitem__(handle, slice(None), content)),
}
MUTATORS = frozenset(
    "append appendleft extend extendleft insert remove pop popleft clear sort reverse rotate add discard update subtract setdefault "
    "popitem move_to_end intersection_update difference_update symmetric_difference_update "
    "__setitem__ __delitem__ __iadd__ __imul__ __ior__ __iand__ __isub__ __ixor__".split()
)
# Those that take out what they are given: by that a class would hear what the tests expect to be there.
REMOVERS = frozenset(
    "remove pop popleft discard subtract popitem intersection_update difference_update symmetric_difference_update "
    "__delitem__ __iand__ __isub__ __ixor__".split()
)
KEPT_BASES = {*VALUE_TYPES, *CONTAINERS, object}
SPECIALS = tuple(border.SPECIALS)
ARITHMETIC = tuple(
    name for name, (decides, _) in border.SPECIALS.items() if decides == "named" and name != "__contains__"
)
# What an instance of a builtin's subclass may say for itself, if its class overrides it: nothing that is compared.
OWN_OF_VALUES = ("__str__", "__repr__", "__format__", "__call__", "__enter__", "__exit__", "__aenter__", "__aexit__")
OWN_OF_CONTAINERS = (*OWN_OF_VALUES, "__getitem__", "__missing__")
# What the library's own classes give a user's class without its doing.
_BY_DEFAULT = {name: getattr(object, name) for name in SPECIALS if hasattr(object, name)}


def signal(name):
    state.signals[name] = True


class Refused(TypeError):
    """Something that is in no table of border.py."""


def refuse(name, message):
    """Refuses something, so that the open case has not passed, whatever its test makes of the exception."""
    signal(name)
    if state.violation is None:
        state.violation = Refused(f"{message} (grading: isolated)")
    raise TypeError(f"{message} (grading: isolated)")


def _refuse_or_raise(name, message):
    """As `refuse` on the tests' side; the candidate only hears of it."""
    if state.grader:
        refuse(name, message)
    raise TypeError(f"{message} (grading: isolated)")


def _tells(error):
    """Whether an exception says that a test has failed."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(_tells, error.exceptions))
    return isinstance(error, border.TELLING)


def note_failed_assertion(error):
    """An assertion of the tests has failed in a function that the candidate called, and goes to it."""
    if _tells(error):
        state.failed = error


def note_swallowed(succeeded):
    """The request has an answer in which such an assertion failed: it should be an exception."""
    if succeeded:
        signal("suppressed_assertion")
    state.failed = None


# What a loop passes over if it is empty.
SIZED = frozenset({
    list, tuple, dict, set, frozenset, bytearray, range, memoryview, collections.deque, collections.Counter, collections.OrderedDict,
    collections.defaultdict, types.MappingProxyType, type({}.keys()), type({}.values()), type({}.items()),
})  # fmt: skip
TEXTS = frozenset({str, bytes})
# How deep, and how many items of each container, are looked at.
_EMPTY_DEPTH, _EMPTY_ITEMS = 2, 64


def note_empty(value, depth=_EMPTY_DEPTH):
    """An empty container, or one that holds such: a loop over it checks nothing."""
    if not value:
        signal("empty_result")
    elif depth and type(value) in (list, tuple, dict):
        items = value.values() if type(value) is dict else value
        for item in itertools.islice(items, _EMPTY_ITEMS):
            if type(item) in SIZED:
                note_empty(item, depth - 1)


def note_reuse(request, sent):
    """An argument that one call has changed and the next one gets: few tests mean that."""
    if request[0] == "call":
        # Shared ones cross by their numbers.
        sent = [*sent, *request[2], *request[3].values()]
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
    if type(kind) is ProxyType or kind is ProxyType:
        return "yours", remote_id(value)
    if isinstance(value, type):
        return _reduce_class(value)
    if isinstance(value, BaseException):
        return _reduce_exception(value)
    if kind is types.ModuleType and _is_library_module(value):
        return "module", value.__name__
    if state.check_may_leave:
        state.check_may_leave(value)
    mro = kind.__mro__
    plain = None
    for base in VALUE_TYPES:
        if base in mro:
            plain = _plain(base, value)
            break
    else:
        for base in CONTAINERS:
            if base in mro:
                _track(number_of(value), value, base)
                break
    return "object", (number_of(value), kind, plain)


def _track(number, value, base):
    """From now on the other side is told of the content."""
    if number not in state.tracked:
        read = CONTAINERS[base][1]
        content = read(value)
        state.tracked[number] = value, read, content
        state.pending.append(("mine", number, content))


def note_contents():
    """Puts what has changed since the last message into the next one."""
    for number, (value, read, known) in state.tracked.items():
        content = read(value)
        if not _same(content, known):
            state.tracked[number] = value, read, content
            state.pending.append(("mine", number, content))


def _same(a, b):
    """Whether two contents hold the same objects in the same order."""
    if len(a) != len(b):
        return False
    if type(a) is dict:
        return all(k is l and v is w for (k, v), (l, w) in zip(a.items(), b.items()))
    if type(a) is set:
        return {id(each) for each in a} == {id(each) for each in b}
    return a == b if type(a) is bytes else all(v is w for v, w in zip(a, b))


def take_contents(contents, handed=()):
    """Sets the contents of handles, of shared containers, and of own ones on the candidate's side, as the other side has
    told. `handed`: the containers of the request that it is carrying out or has carried out, if they may become shared."""
    for entry in contents:
        whose, number, content = entry
        if whose in sharing.ENTRIES:
            state.shared.take(state, whose, number, content, handed)
            continue
        if whose == "yours" and not state.grader:
            target = state.objects[number]
            base = next(base for base in CONTAINERS if isinstance(target, base))
            CONTAINERS[base][2](target, content)
            if number in state.tracked:
                state.tracked[number] = target, CONTAINERS[base][1], content
            continue
        target = state.proxies.get(number) if whose == "mine" and type(number) is int else None
        base = type(target)._proofbox_container if target is not None else None
        if base is None or type(content) is not CONTAINERS[base][0]:
            raise marshal.CannotCross("the content of what is no container")
        if number not in state.dirty:
            CONTAINERS[base][2](target, content)
        if not content:
            signal("empty_result")


def viewed_by(view):
    """The dict behind a view of the candidate's, if its changes are to be seen in the tests' view. Theirs is copied: there is
    more in the dict than the view shows."""
    found = gc.get_referents(view) if not state.grader else ()
    return found[0] if len(found) == 1 and type(found[0]) is dict and len(found[0]) <= sharing.MAX_ITEMS else None


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
    return root in sys.stdlib_module_names and root not in border.NOT_SHARED and root not in border.NOT_IMPORTED


def _library_name(cls):
    module, name = cls.__module__, cls.__qualname__
    if _NAMELESS.get(name) is cls:
        return "builtins", name
    if type(module) is str and (_is_shared(module) or _is_class_of_package(cls)):
        found = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is cls:
            return module, name
    return None


def _is_class_of_package(cls):
    """Whether a class of a package is known by name on both sides. An instance of a builtin's subclass would lose its
    content so, unless it crosses as a value."""
    root = cls.__module__.partition(".")[0]
    mro = cls.__mro__
    if not packages.is_known(root) or root in border.NOT_NAMED and BaseException not in mro:
        return False
    if cls not in marshal.REDUCERS and any(base in mro for base in (*VALUE_TYPES, *CONTAINERS)):
        return False
    found = sys.modules.get(cls.__module__)
    return type(found) is types.ModuleType and _is_package(found)


def _is_library_module(module):
    """Whether both sides have it: each its own."""
    name = module.__name__
    return type(name) is str and (_is_shared(name) or _is_package(module)) and sys.modules.get(name) is module


def _is_package(module):
    """Whether a module is one of the image's packages, as everybody knows them."""
    file, name = getattr(module, "__file__", None), module.__name__
    if type(file) is str and not file.startswith("/lib/python3.13/") or name.startswith(border.STAYS):
        return False
    if type(file) is not str and name not in sys.builtin_module_names:
        return False
    return packages.is_known(name.partition(".")[0])


def _restore_module(name):
    """A module of the library, or of a package that the image has."""
    if type(name) is not str:
        raise marshal.CannotCross("no module of the library")
    if not _is_shared(name):
        # A package: of the image, and not what the tests or the candidate have under its name.
        found = importlib.import_module(name) if packages.is_known(name.partition(".")[0]) else None
        if found is None or not _is_package(found):
            raise marshal.CannotCross("no module of the library")
        return found
    return importlib.import_module(name)


def is_of_library(cls):
    """Whether a class is one that the tests have not defined themselves."""
    module = sys.modules.get(cls.__module__)
    return _is_shared(cls.__module__) or str(getattr(module, "__file__", "")).startswith(report.NOT_THE_USERS)


def _reduce_class(cls):
    name = _library_name(cls)
    if name:
        return "library", name
    if state.check_may_leave:
        state.check_may_leave(cls)
        bases = tuple(base if not str(base.__module__).startswith(border.STAYS) else object for base in cls.__bases__)
    else:
        bases = cls.__bases__
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
    value_base = next((base for base in (*VALUE_TYPES, *CONTAINERS) if base in cls.__mro__), None)
    if not cls.__weakrefoffset__ and value_base is None:
        specials.append("unreferable")
    if type(cls) is not type and type(cls).__instancecheck__ is not type.__instancecheck__:
        specials.append("checks")
    overridden = []
    if value_base:
        for name_, _ in inspect.getmembers_static(value_base):
            if not name_.startswith("_") and inspect.getattr_static(cls, name_) is not inspect.getattr_static(value_base, name_):
                overridden.append(name_)
    qualname = cls.__qualname__ if type(cls.__qualname__) is str else "object"
    own = tuple(special for special in specials if _defined_by_user(cls, special))
    return "class", (number, qualname, str(cls.__module__), bases, tuple(specials), own, tuple(overridden))


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
_ATTRIBUTE_NAMES = frozenset(name for names in ATTRIBUTES.values() for name in names)
# Of attributes that the library's exceptions have of their own (`JSONDecodeError.pos`).
PLAIN_TYPES = frozenset({*VALUE_TYPES, list, dict, set, bytearray, bool, type(None)})
_instance_dict = BaseException.__dict__["__dict__"].__get__


# How long a chain of contexts is told of; of a longer one (in a recursion), nothing.
_MAX_CONTEXTS = 8


def _context_of(error):
    """What was being handled when a candidate's exception was raised."""
    context, length = error.__context__, 0
    seen = {id(error)}
    while context is not None and id(context) not in seen and length < _MAX_CONTEXTS:
        seen.add(id(context))
        context, length = context.__context__, length + 1
    return None if state.grader or context is not None else error.__context__


def _reduce_exception(error):
    from _proofbox_unsupported import marks_of

    kind = type(error)
    user = _library_name(kind) is None
    if state.grader and isinstance(error, border.TELLING):
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
    if not user and not _is_shared(kind.__module__):
        # Of a package: `HTTPError.response` is an object.
        attributes.update({name: value for name, value in own.items() if name[:1] != "_"})
    elif not user:
        attributes.update({name: value for name, value in own.items() if name[:1] != "_" and type(value) in PLAIN_TYPES})
    notes = own.get("__notes__")
    if type(notes) is list:
        attributes["__notes__"] = [note for note in notes if type(note) is str]
    attributes.update(marks_of(error))
    cause = error.__cause__
    frames = [] if state.grader else report.frames_as_data(error)
    return "exception", (
        number_of(error) if user else None,
        kind,
        error.args,
        report.text_of(error),
        attributes,
        frames,
        cause if isinstance(cause, BaseException) and cause is not error else None,
        _context_of(error),
        error.__suppress_context__,
    )


# ---------------------------------------------------------------- in


def _restore_yours(number):
    if not border.is_number(number):
        raise marshal.CannotCross("no number of an object")
    return state.objects[number]


def _restore_mine(number):
    return state.proxy_types[number]


def _restore_library(payload):
    module, name = payload
    if type(name) is not str:
        raise marshal.CannotCross("no class of the library")
    if module == "builtins" and name in _NAMELESS:
        return _NAMELESS[name]
    found = _restore_module(module)
    for part in name.split("."):
        found = vars(found).get(part) if isinstance(found, (type, types.ModuleType)) else None
    if not isinstance(found, type) or not _is_shared(module) and not _is_class_of_package(found):
        raise marshal.CannotCross(f"no class of the library: {module}.{name}")
    return found


def _restore_object(payload):
    number, cls, plain = payload
    if not border.is_number(number):
        raise marshal.CannotCross("no number of an object")
    proxy = state.proxies.get(number)
    if proxy is not None:
        return proxy
    if type(cls) is not ProxyType:
        if not isinstance(cls, type):
            raise marshal.CannotCross("an object without a class")
        if cls in marshal.REDUCERS and cls.__module__ not in ("types", "typing"):
            raise marshal.CannotCross("an object that should be a value")
        cls = _library_proxy_type(cls)
    elif issubclass(cls, BaseException):
        raise marshal.CannotCross("an exception that is none")
    base = cls._proofbox_value_base
    if base is not None:
        # The proxy type of a subclass of a builtin is one too, and what came must be such a value.
        if type(plain) is not base:
            raise marshal.CannotCross("a value that is not of its type")
        if state.grader and "__eq__" in cls._proofbox_own:
            signal("overridden_equality")
        proxy = base.__new__(cls, plain)
    else:
        base = cls._proofbox_container
        proxy = cls.__new__(cls) if base is None else base.__new__(cls)
    _attach(proxy, number)
    return proxy


def _attach(proxy, number):
    set_ = object.__setattr__ if not isinstance(proxy, BaseException) else BaseException.__setattr__
    set_(proxy, "_proofbox_number", number)
    set_(proxy, "_proofbox_generation", state.generation)
    state.proxies[number] = proxy


def _restore_exception(payload):
    from _proofbox_unsupported import MARKS

    number, cls, args, text, attributes, frames, cause, context, suppress = payload
    if not (
        isinstance(cls, type) and issubclass(cls, BaseException) and type(args) is tuple and type(text) is str
        and type(attributes) is dict and all(each is None or isinstance(each, BaseException) for each in (cause, context))
        and (number is None or border.is_number(number))
    ):  # fmt: skip
        raise marshal.CannotCross("no exception")
    if state.grader and cls.__module__.startswith(border.STAYS):
        raise marshal.CannotCross("an exception of the tests' library")
    error = cls.__new__(cls, *args) if not issubclass(cls, UnicodeError) else _unicode_error(cls, args)
    BaseException.__setattr__(error, "args", args)
    of_package = type(cls) is not ProxyType and not _is_shared(cls.__module__)
    for name, value in attributes.items():
        public = type(name) is str and name[:1] != "_" and (of_package or type(value) in PLAIN_TYPES)
        if public or type(name) is str and (name == "__notes__" or name in MARKS or name in _ATTRIBUTE_NAMES):
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
    if type(cls) is ProxyType and number is not None:
        _attach(error, number)
    return error


def _unicode_error(cls, args):
    base = next(base for base in cls.__mro__ if type(base) is not ProxyType)
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
        border.is_number(number) and number not in state.proxy_types and type(qualname) is str and type(module) is str
        and type(bases) is tuple and all(isinstance(base, type) for base in bases)
        and all(type(names) is tuple and all(type(name) is str for name in names) for names in (specials, own, overridden))
        and _SPECIALS_AND_MARK.issuperset(specials) and frozenset(specials).issuperset(own)
    ):  # fmt: skip
        raise marshal.CannotCross("no description of a class")
    same = (state.grader, qualname, module, bases, specials, own, overridden)
    proxy_type = _known.get(same)
    if proxy_type is None or proxy_type in state.homes:
        real = _class_of_package(module, qualname)
        proxy_type = _known[same] = _make_proxy_type(qualname, module, bases, specials, own, overridden, real)
    state.homes[proxy_type] = number
    state.proxy_types[number] = proxy_type
    return proxy_type


def _class_of_package(module, qualname):
    """The class of that name of a package, which derives from a builtin: `BarContainer`, a tuple with names."""
    root = module.partition(".")[0]
    if not packages.is_known(root) or root in border.NOT_NAMED or type(sys.modules.get(module)) is not types.ModuleType:
        return None
    found = vars(sys.modules[module]).get(qualname)
    return found if isinstance(found, type) and _is_package(sys.modules[module]) else None


# Marks beside the special methods: no hash, no weak references; its metaclass says what is an instance (abc.ABCMeta).
_SPECIALS_AND_MARK = frozenset({*SPECIALS, "unhashable", "unreferable", "checks"})
# Builtin types that have no name in `builtins`.
_NAMELESS = {value.__qualname__: value for value in vars(types).values() if isinstance(value, type) and value.__module__ == "builtins"}
# Proxy types by what they were described as: a class keeps its proxy type when its interpreter is replaced by a fresh one.
_known = {}


# Classes of the library whose instances a class of the tests may have as descriptors.
_DESCRIPTORS = frozenset({property, functools.cached_property, functools.partialmethod, functools.singledispatchmethod})


def _library_proxy_type(cls):
    """For an object of a class that both sides have, and that did not come with a description."""
    key = (state.grader, "library", cls)
    proxy_type = _known.get(key)
    if proxy_type is None:
        specials = [
            special for special in SPECIALS if getattr(cls, special, None) is not None and getattr(cls, special) is not _BY_DEFAULT.get(special)
            and (special not in border.DESCRIPTORS or cls in _DESCRIPTORS)
        ]
        if getattr(cls, "__hash__", None) is None:
            specials.append("unhashable")
        bases = (cls,) if cls in KEPT_BASES else ()
        proxy_type = _known[key] = _make_proxy_type(cls.__qualname__, cls.__module__, bases, tuple(specials), (), (), cls)
    return proxy_type


# ---------------------------------------------------------------- handles


def remote_id(proxy):
    """The number of a handle's object; one that lived in an interpreter that is gone is found again by its name."""
    if type(proxy) is ProxyType:
        number = state.homes.get(proxy)
        return state.refresh(proxy) if number is None else number
    if proxy._proofbox_generation != state.generation:
        return state.refresh(proxy)
    number = proxy._proofbox_number
    if number in state.dirty:
        # What this side has changed in its copy goes with the request that needs it.
        del state.dirty[number]
        state.pending.append(("yours", number, CONTAINERS[type(proxy)._proofbox_container][1](proxy)))
    return number


def name_of(handle):
    """The name by which the tests have found a handle in the candidate's module, or None."""
    if type(handle) is ProxyType:
        path = state.paths.get(handle)
    else:
        try:
            path = object.__getattribute__(handle, "_proofbox_path")
        except AttributeError:
            path = None
    return path[1] if path else None


class ProxyType(type):
    """The class of proxy types."""

    _proofbox_real = None
    _proofbox_value_base = None
    _proofbox_container = None
    _proofbox_own = _proofbox_specials = _proofbox_library = frozenset()

    def __new__(mcls, name, bases, namespace, **kwargs):
        if state.inexpressible:
            state.inexpressible("a class of the tests derives from one of the candidate")
        raise TypeError("a class can't derive from one of another interpreter (grading: isolated)")

    def __call__(cls, *args, **kwargs):
        return state.ask("call", remote_id(cls), args, kwargs)

    def __getattr__(cls, name):
        if name == "__signature__":
            return _signature(cls)
        _check_readable(name)
        _check_no_record(cls, name)
        value = state.ask("get", remote_id(cls), name)
        if name == "__dataclass_fields__":
            # `dataclasses` knows fields by marks that are objects of its own.
            return {name: _field(name) for name in value}
        return value

    def __setattr__(cls, name, value):
        state.ask("set", remote_id(cls), name, value)

    def __delattr__(cls, name):
        state.ask("del", remote_id(cls), name)

    def __iter__(cls):
        items = state.ask("special", remote_id(cls), "__iter__", ())
        return _counted(cls, items) if state.grader else items

    def __len__(cls):
        return _length(cls)

    def __bool__(cls):
        _note_truth()
        return True

    def __getitem__(cls, key):
        return state.ask("index", remote_id(cls), key)

    def __contains__(cls, item):
        if not state.grader or _is_remote(item):
            return bool(_checked("__bool__", state.ask("special", remote_id(cls), "__contains__", (item,))))
        # The class's own word, about a value of the tests: its members are looked at instead, of an Enum their values, too.
        if any(item is member or item == member for member in cls):
            return True
        members = getattr(cls, "__members__", None)
        return type(members) in (dict, types.MappingProxyType) and any(item == member.value for member in members.values())

    def __dir__(cls):
        return state.ask("dir", remote_id(cls))

    def __instancecheck__(cls, instance):
        return type.__instancecheck__(cls, instance) or _is_checked(cls, "instance", instance)

    def __subclasscheck__(cls, subclass):
        return type.__subclasscheck__(cls, subclass) or isinstance(subclass, type) and _is_checked(cls, "subclass", subclass)


def _is_checked(cls, what, value):
    """What the metaclass of a candidate's class says is an instance or subclass of it (`abc.ABC.register`, a protocol)."""
    if not state.grader or "checks" not in cls._proofbox_specials:
        return False
    if border.asked_by(2) != "tests":
        # `assertIsInstance` asks for the tests; nothing of theirs crosses so.
        if not _is_remote(value) or sys._getframe(2).f_globals.get("__name__") != "unittest.case":
            return False
    if not _is_remote(value):
        signal("instance_by_candidate")
    return state.ask("is", remote_id(cls), what, value)


def _check_readable(name):
    """Raises AttributeError for what a handle does not answer."""
    if not state.grader:
        # What a decorator of the candidate's copies from a function of the tests, if it can be had.
        if name in border.READABLE and name not in border.METADATA and name not in border.NAMES_ONLY and name != "__dict__":
            raise AttributeError(name)
        return
    if name in border.MOCK_ASSERTIONS:
        refuse("altered_the_tests", f"{name} of an object that is no mock of the tests")
    if name[:1] == "_":
        if name[:2] == "__":
            if name not in border.READABLE:
                raise AttributeError(name)
        elif border.asked_by(2) != "tests":
            raise AttributeError(name)
    elif border.asked_by(2) == "package":
        # numpy and its like would ask the object for what they compare it by.
        raise AttributeError(name)


def _check_no_record(handle, name):
    """An object that the candidate has put where a mock was does not say how it was called."""
    if state.on_mocks and id(handle) in state.on_mocks and name.startswith(border.MOCK_RECORDS):
        refuse("altered_the_tests", f"{name} of an object that the candidate has put in the place of a mock")


def _field(name):
    field = dataclasses.field()
    field.name, field._field_type = name, dataclasses._FIELD
    return field


def _checked(name, result):
    """The answer of a special method, of the type that the table says."""
    wanted = border.SPECIALS[name][1]
    if wanted is not border.ANY and type(result) is not wanted and state.grader:
        raise TypeError(f"{name} of the candidate must give {wanted.__name__}, not {type(result).__name__}")
    return result


def special(proxy, name, *args):
    state.handles += 1
    return _checked(name, state.ask("special", remote_id(proxy), name, args))


def _forwarded(name):
    def method(self, *args):
        return special(self, name, *args)

    return method


def _is_remote(value):
    return type(type(value)) is ProxyType or type(value) is ProxyType


def _named(handle):
    cls = handle if type(handle) is ProxyType else type(handle)
    return any(base in state.named for base in cls.__mro__)


def _tainted(value):
    return type(type(value)) is ProxyType and value._proofbox_tainted


def _mark_tainted(result, name):
    """The tests' own value has gone into the result of an operator: it must be an object, or it could be anything that
    the tests want."""
    if not _is_remote(result) or isinstance(result, (*VALUE_TYPES, type)) or type(result)._proofbox_container:
        refuse("operator_of_the_candidate", f"{name} with a value of the tests must give an object of the candidate, not {type(result).__name__}")
    _taint(result)


def _taint(handle):
    object.__setattr__(handle, "_proofbox_tainted", True)
    if state.make_handles is not dict:
        state.proxies.keep(handle._proofbox_number, handle)


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
            _mark_tainted(result, name)
        return result

    return method


def _asked(name):
    """For what gets nothing of the tests; of an object that has met a value of theirs only an object is taken."""

    def method(self, *args):
        result = special(self, name, *args)
        if state.grader and self._proofbox_tainted:
            _mark_tainted(result, name)
        return result

    return method


def _ordering(name):
    def method(self, other):
        if not state.grader or _is_remote(other):
            return special(self, name, other)
        signal("comparison_with_plain_data")
        if _ask_of_stand_in(self, name, other) is not NotImplemented and state.violation is None:
            # Python is about to say that there is no order, which is not what the candidate says.
            state.violation = Refused("an order between an object of the candidate and plain data (grading: isolated)")
        return NotImplemented

    return method


def _length_of_object(self):
    length = _length(self)
    if state.grader and self._proofbox_tainted:
        _mark_tainted(length, "__len__")
    return length


def _converted(name):
    """A number or bytes in the place of an object: for classes that the tests do not name that is told."""
    ask = _asked(name)

    def method(self):
        if state.grader and not _named(self):
            signal("converted_by_candidate")
        return ask(self)

    return method


def _call(self, *args, **kwargs):
    return state.ask("call", remote_id(self), args, kwargs)


def _array(self, dtype=None, copy=None):
    """numpy's view of an object: an array that crossed as a value, of an object that knows nothing of the tests."""
    import numpy

    if state.grader and self._proofbox_tainted:
        raise TypeError("__array__ of what has met a value of the tests (grading: isolated)")
    result = special(self, "__array__")
    if type(result) is not numpy.ndarray:
        raise TypeError("__array__ of the candidate must give an array")
    return result if dtype is None else result.astype(dtype)


def _note_truth():
    """The tests ask whether an object of the candidate's is true: most objects are, so that it says little."""
    if state.grader:
        signal("truth_of_an_object")


def _truth(self):
    _note_truth()
    specials = type(self)._proofbox_specials
    if "__bool__" in specials:
        return special(self, "__bool__")
    state.handles += 1
    return _length(self) != 0 if "__len__" in specials else True


def _truth_of_content(base):
    """Truth of a container whose class has its own: the candidate's word for classes that the tests name, else by content."""

    def __bool__(self):
        return _truth(self) if _named(self) else base.__len__(self) != 0

    return __bool__


def _iterated(self):
    """The items; if they are not as many as the object says that it has, that is told."""
    items = special(self, "__iter__") if "__iter__" in type(self)._proofbox_specials else _by_index(self)
    return items if not state.grader or "__len__" not in type(self)._proofbox_specials else _counted(self, items)


def _counted(handle, items):
    """The items of a handle; at their end they are held against its length. A class may have items and no length."""
    count = 0
    for item in items:
        count += 1
        yield item
    _measure(handle, count)
    try:
        _length(handle)
    except TypeError:
        if type(handle) is not ProxyType:
            raise


def _length(handle):
    length = special(handle, "__len__")
    if state.grader:
        _measure(handle, length)
    return length


def _measure(handle, size):
    """Holds how many items a handle has against what it said or gave before, if nothing can have changed it since. A class
    that was returned, and that the tests do not name, keeps its items: they can't know of anything that would change it."""
    number = remote_id(handle)
    known = state.measured.get(number)
    state.measured[number] = size, state.changes
    if known and known[0] != size and (known[1] == state.changes or isinstance(handle, type) and not _named(handle)):
        contradicts(handle)


def contradicts(handle):
    """An object says that it has more or fewer items than it gives: a comparison of both would hold for what is not there.
    A class that the tests name may mean something by that."""
    signal("contradictory_length")
    if state.violation is None and not _named(handle):
        state.violation = Refused("a result has another length than it has items (grading: isolated)")


def _by_index(self):
    """The old protocol of sequences."""
    index = 0
    try:
        while True:
            yield special(self, "__getitem__", index)
            index += 1
    except IndexError:
        if state.grader and not index:
            signal("empty_result")


def _may_forgive(error):
    """Whether `__exit__` of the candidate may swallow an exception of the tests."""
    if isinstance(error, BaseExceptionGroup):
        return isinstance(error, Exception) and all(map(_may_forgive, error.exceptions))
    return isinstance(error, Exception) and not isinstance(error, border.TELLING)


def _exited(suppressed, error):
    if not state.grader or not suppressed or error is None:
        return suppressed
    if not _may_forgive(error):
        signal("suppressed_assertion")
        return False
    signal("suppressed_exception")
    return True


def _exit(self, kind, error, traceback):
    """What the tests assert inside a `with` is not the candidate's to forgive."""
    return _exited(special(self, "__exit__", kind, error, None), error)


async def _aexit(self, kind, error, traceback):
    return _exited(await special(self, "__aexit__", kind, error, None), error)


def _equal(self, other):
    own = "__eq__" in type(self)._proofbox_own
    if self is other and not (own and state.grader):
        return True
    if _is_remote(other):
        if not state.grader:
            return remote_id(self) == remote_id(other) or special(self, "__eq__", other)
        if not own:
            return special(self, "__eq__", other) if type(self)._proofbox_real else NotImplemented
        signal("equality_by_candidate")
        return special(self, "__eq__", other)
    if not state.grader:
        return special(self, "__eq__", other)
    if own:
        signal("equality_with_plain_data")
        if type(other) in _STAND_INS:
            _ask_of_stand_in(self, "__eq__", other)
        if len(state.unequal) < _MAX_UNEQUAL and (told := _to_be_told(other)) is not _UNTOLD:
            state.unequal.append((self, told))
    return NotImplemented


# How many comparisons of a case are borne out.
_MAX_UNEQUAL = 64


# Values that nobody can alter.
_SCALARS = frozenset({
    kind for kind in marshal.REDUCERS if kind.__module__ in ("decimal", "fractions", "datetime", "uuid", "ipaddress")
} | {int, float, complex, bool, str, bytes, type(None), range})  # fmt: skip
_MAX_TOLD = 64
_UNTOLD = object()


def _to_be_told(value):
    """What the candidate may be told of a value that the tests have not passed to it: a copy, so that it alters nothing of
    theirs. `_UNTOLD` of what can't be copied so, or compares by itself."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind in (list, tuple, set, frozenset) and len(value) <= _MAX_TOLD and _SCALARS.issuperset(map(type, value)):
        return kind(value)
    if kind is dict and len(value) <= _MAX_TOLD and _SCALARS.issuperset(map(type, (*value, *value.values()))):
        return dict(value)
    if kind.__eq__ is not object.__eq__ or isinstance(value, type) or is_of_library(kind) or state.check_may_leave is None:
        return _UNTOLD
    attributes = getattr(value, "__dict__", None)
    if type(attributes) is not dict or not _SCALARS.issuperset(map(type, attributes.values())):
        return _UNTOLD
    try:
        copied = object.__new__(kind)
    except TypeError:
        return _UNTOLD
    copied.__dict__.update(attributes)
    return copied


def _is_false(answer):
    """Whether a plain value says no: None, where `__eq__` returns nothing, or numpy's False."""
    kind = type(answer)
    return (kind in _SCALARS or kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_")) and not answer


def bear_out():
    """Asks the candidate about comparisons that were decided here, once the case has passed by them: that an object
    differs from a value must be what it says itself. Before that it is told of no value of the tests."""
    unequal, state.unequal = state.unequal, []
    for handle, other in unequal:
        try:
            answer = special(handle, "__eq__", other)
        except Exception as error:
            answer = error
        if answer is not NotImplemented and not _is_false(answer) and state.violation is None:
            signal("equality_not_borne_out")
            state.violation = Refused("an object of the candidate does not say itself that it differs from a value (grading: isolated)")


def _not_equal(self, other):
    if state.grader and "__ne__" in type(self)._proofbox_own and _is_remote(other):
        signal("equality_by_candidate")
        return special(self, "__ne__", other)
    result = self.__eq__(other)
    return result if result is NotImplemented else not result


# Values in the place of what the tests compare with, which say nothing but its type.
_STAND_INS = {int: 0, float: 0.0, complex: 0j, bool: False, str: "", bytes: b"", type(None): None, list: [], tuple: (), dict: {}, set: set(), frozenset: frozenset()}


def _ask_of_stand_in(handle, name, other):
    """What the candidate's comparison with a value of that type answers: an exception of its own is raised here, too."""
    return special(handle, name, _STAND_INS.get(type(other), ...))


def _content_equal(base):
    """Equality of containers by their content, unless both are the candidate's and its class has its own."""

    def __eq__(self, other):
        if not state.grader or (_is_remote(other) and "__eq__" in type(self)._proofbox_own):
            return _equal(self, other)
        if "__eq__" in type(self)._proofbox_own:
            signal("equality_with_plain_data")
        return base.__eq__(self, other)

    return __eq__


def _of_named_pair(base, name):
    """A comparison that a builtin value's subclass has itself: the candidate's between two objects of classes that the tests
    name, else the base's own."""
    of_base = getattr(base, name)

    def method(self, other):
        if state.grader and _is_remote(other) and _named(self):
            signal("equality_by_candidate")
            return special(self, name, other)
        return of_base(self, other)

    method.__name__ = name
    return method


_COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")


def _value_equal(base):
    return {
        "__eq__": base.__eq__, "__ne__": base.__ne__, "__lt__": getattr(base, "__lt__"), "__le__": getattr(base, "__le__"),
        "__gt__": getattr(base, "__gt__"), "__ge__": getattr(base, "__ge__"), "__hash__": base.__hash__,
    }  # fmt: skip


def _hash_by_identity(self):
    return hash(("_proofbox", remote_id(self)))


def _contains(self, item):
    if not state.grader or _is_remote(item):
        return special(self, "__contains__", item)
    if _named(self) and "__contains__" in type(self)._proofbox_own:
        signal("membership_by_candidate")
        return special(self, "__contains__", item)
    if any(item is member or item == member for member in self):
        return True
    if "__contains__" in type(self)._proofbox_own and _contains_anything(self) and state.violation is None:
        signal("membership_by_candidate")
        state.violation = Refused("an object of the candidate says that it contains anything (grading: isolated)")
    return False


def _contains_anything(handle):
    """Whether an object has by its own word what no object has."""
    try:
        return special(handle, "__contains__", ...)
    except Exception:
        return False


def _changed_here(base, name, is_overridden):
    """A method that alters a container. Of a class that the tests name it is the candidate's; else the builtin's own, on
    the content that is here. What such a class overrides, other than what takes out, must do the same as the builtin's."""
    function = getattr(base, name)

    def method(self, *args, **kwargs):
        if not state.grader or _named(self):
            return _change(self, name, args, kwargs)
        if is_overridden:
            return _change_on_both_sides(self, base, name, args, kwargs)
        state.dirty[self._proofbox_number] = True
        return function(self, *args, **kwargs)

    method.__name__ = name
    return method


def _change(handle, name, args, kwargs):
    """Alters the candidate's container by its own method."""
    if name in border.SPECIALS:
        return special(handle, name, *args)
    return state.ask("get", remote_id(handle), name)(*args, **kwargs)


def _change_on_both_sides(handle, base, name, args, kwargs):
    """Alters a container by the method that its class has of its own, and fails the case where that is not what the
    builtin's does: either may be what the tests count on."""
    _, read, fill = CONTAINERS[base]
    args = tuple(list(each) if hasattr(type(each), "__next__") and not _is_remote(each) else each for each in args)
    told, keywords = tuple(map(_given, args)), {key: _given(each) for key, each in kwargs.items()}
    if any(each is _UNTOLD for each in (*told, *keywords.values())):
        state.dirty[handle._proofbox_number] = True
        return getattr(base, name)(handle, *args, **kwargs)
    plain, failure, wanted = base.__new__(base), None, None
    fill(plain, read(handle))
    try:
        wanted = getattr(base, name)(plain, *args, **kwargs)
    except Exception as error:
        failure = error
    try:
        _change(handle, name, told, keywords)
    except Exception as error:
        if type(error) is not type(failure):
            _note_other_change()
        raise
    if failure is not None or read(handle) != read(plain):
        _note_other_change()
    else:
        fill(handle, read(plain))
    return handle if wanted is plain else wanted


def _given(value):
    return value if _is_remote(value) else _to_be_told(value)


def _note_other_change():
    signal("changed_by_candidate")
    if state.violation is None:
        state.violation = Refused("a container of the candidate is not altered as its builtin class is, and the tests do not name its class (grading: isolated)")


def _next(self):
    try:
        item = special(self, "__next__")
    except StopIteration:
        if state.grader and not self._proofbox_given:
            signal("empty_result")
        raise
    if not self._proofbox_given:
        object.__setattr__(self, "_proofbox_given", True)
    return item


def _anext(self):
    item = special(self, "__anext__")
    if _is_remote(item):
        object.__setattr__(item, "_proofbox_ends_loop", (self,))
    return item


def note_item(handle, given):
    """What became of the awaitable of an asynchronous iterator's item: one that gives none at all checks nothing."""
    (source,) = handle._proofbox_ends_loop
    if given:
        object.__setattr__(source, "_proofbox_given", True)
    elif not source._proofbox_given:
        signal("empty_result")


def _await(self):
    return (yield from state.finished(self))


def _driver(self):
    """What drives a coroutine of the other side, for a loop that knows it as one."""
    try:
        return object.__getattribute__(self, "_proofbox_driver")
    except AttributeError:
        driver = state.finished(self)
        object.__setattr__(self, "_proofbox_driver", driver)
        return driver


def _send(self, value):
    return _driver(self).send(value)


def _throw(self, *error):
    return _driver(self).throw(*error)


def _close(self):
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
    if _tells(error) or isinstance(error, SystemExit):
        signal("suppressed_assertion")
        raise error
    signal("suppressed_exception")


def _of_generator(name):
    def method(self, *args):
        state.handles += 1
        thrown = _thrown(args) if name in ("throw", "athrow") and state.grader else None
        try:
            result = state.ask("special", remote_id(self), name, args)
        except StopIteration:
            forgive(thrown)
            raise
        if name in ("asend", "athrow") and _is_remote(result):
            object.__setattr__(result, "_proofbox_ends_loop", (self,))
            object.__setattr__(result, "_proofbox_thrown", thrown)
        else:
            forgive(thrown)
        return result

    method.__name__ = name
    return method


def _getattr(self, name):
    if name == "__signature__":
        return _signature(self)
    if name == "__dataclass_fields__":
        return getattr(type(self), name)
    _check_readable(name)
    _check_no_record(self, name)
    value = state.ask("get", remote_id(self), name)
    if state.grader and type(value) in _PLAIN_VALUES:
        _note_attribute(remote_id(self), name, value)
    return value


_PLAIN_VALUES = frozenset(VALUE_TYPES)
# How many attributes are remembered.
_MAX_READ = 256


def _note_attribute(number, name, value):
    """Whether an attribute has another value than before, though nothing has been asked since that could change it."""
    known = state.read.get((number, name))
    if known and known[1] == state.changes and known[0] != value and known[0] == known[0]:
        signal("changing_attribute")
    if len(state.read) >= _MAX_READ:
        state.read.clear()
    state.read[number, name] = value, state.changes


def _setattr(self, name, value):
    state.ask("set", remote_id(self), name, value)


def _set_exception_attribute(self, name, value):
    if name.startswith("__"):
        BaseException.__setattr__(self, name, value)
    else:
        state.ask("set", remote_id(self), name, value)


def _delattr(self, name):
    state.ask("del", remote_id(self), name)


def _dir(self):
    return state.ask("dir", remote_id(self))


def _class(self):
    return type(self)._proofbox_real or type(self)


def _text(self):
    return self._proofbox_text


def signature_of(target):
    """The parameters of a callable as plain data, or None."""
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return None
    # Defaults and annotations of the tests' own functions are no business of the candidate's.
    told = [
        (p.name, int(p.kind), p.default is not p.empty, None if p.default is p.empty or state.grader else p.default, _told(p.annotation))
        for p in signature.parameters.values()
    ]
    return [*told, ("return", _RETURN, False, None, _told(signature.return_annotation))]


_RETURN = -1


def _told(annotation):
    return () if annotation is inspect.Signature.empty or state.grader else (annotation,)


def _signature(self):
    if state.grader and type(self)._proofbox_real is types.FunctionType:
        wrapped = getattr(self, "__wrapped__", None)
        if isinstance(wrapped, types.FunctionType):
            # A function of the tests that the candidate has decorated: the candidate is not told all of its signature.
            return inspect.signature(wrapped)
    parameters = state.ask("signature", remote_id(self))
    if parameters is None:
        raise AttributeError("__signature__")
    made, returned = [], ()
    for name, kind, has_default, default, annotation in parameters:
        if kind == _RETURN:
            returned = annotation
            continue
        default = default if has_default else inspect.Parameter.empty
        made.append(inspect.Parameter(name, kind, default=default, annotation=annotation[0] if annotation else inspect.Parameter.empty))
    return inspect.Signature(made, return_annotation=returned[0] if returned else inspect.Signature.empty)


def _bound(self, instance, owner=None):
    """A function of the other side as an attribute of a class of this one is a method, as any function."""
    return self if instance is None else types.MethodType(self, instance)


class _Forward:
    """A method of the builtin base that the object has itself: the candidate's word, which counts for classes that the
    tests name. Of others it is the builtin's own, on their plain content."""

    def __init__(self, base, name):
        self.base, self.name = base, name

    def __get__(self, proxy, cls=None):
        if proxy is None:
            return self
        if not state.grader or _named(proxy):
            return state.ask("get", remote_id(proxy), self.name)
        return getattr(self.base, self.name).__get__(proxy, type(proxy))


_METHODS = {name: _asked(name) for name in SPECIALS}
_METHODS |= {name: _arithmetic(name) for name in ARITHMETIC}
_METHODS |= {name: _converted(name) for name in ("__int__", "__index__", "__float__", "__complex__", "__bytes__")}
_METHODS |= {name: _ordering(name) for name in ("__lt__", "__le__", "__gt__", "__ge__")}
for _name in ("__str__", "__repr__", "__format__", "__hash__", "__next__", "__enter__", "__aenter__", "__anext__", "__aiter__", "__reversed__",
              "__getitem__", "__setitem__", "__delitem__", "__missing__", *border.DESCRIPTORS):  # fmt: skip
    _METHODS[_name] = _forwarded(_name)
_METHODS |= {
    "__call__": _call, "__eq__": _equal, "__contains__": _contains, "__await__": _await, "__exit__": _exit, "__aexit__": _aexit,
    "__iter__": _iterated, "__len__": _length_of_object, "__array__": _array, "__anext__": _anext, "__next__": _next, "__bool__": _truth,
}  # fmt: skip
for _name, _method in _METHODS.items():
    _method.__name__ = _name

_COMMON = {
    "__getattr__": _getattr, "__setattr__": _setattr, "__delattr__": _delattr, "__dir__": _dir,
    "__class__": property(_class), "_proofbox_tainted": False, "_proofbox_ends_loop": False, "_proofbox_given": False,
    "_proofbox_thrown": None,
    "__copy__": lambda self: _as_copy(self, state.ask("copy", remote_id(self), None)),
    "__deepcopy__": lambda self, memo: _as_copy(self, state.ask("copy", remote_id(self), _copy_number(memo))),
    "__reduce_ex__": lambda self, protocol: _refuse_pickling(),
}  # fmt: skip


def _refuse_pickling():
    _refuse_or_raise("pickled_object", "an object of another interpreter can't be pickled")


def _copy_number(memo):
    """One number for all requests of one `copy.deepcopy`, so that its copies share what their objects share."""
    if _COPY_NUMBER not in memo:
        state.copies += 1
        memo[_COPY_NUMBER] = state.copies
    return memo[_COPY_NUMBER]


# In the memo of `copy.deepcopy`, whose other keys are ids.
_COPY_NUMBER = "proofbox"


def _as_copy(handle, copied):
    """A copy that the candidate made is an object of the same class, and has met what its original has met."""
    if state.grader:
        if type(copied) is not type(handle):
            refuse("copy_of_another_class", "a copy of an object of the candidate must be of its class")
        if handle._proofbox_tainted:
            _taint(copied)
    return copied


def copy_of(target, number):
    """Carries out the request: a shallow copy without `number`, else a deep one that belongs to the other side's `number`."""
    import copy

    if number is None:
        return copy.copy(target)
    if state.copied is None or state.copied[0] != number:
        state.copied = number, {}
    return copy.deepcopy(target, state.copied[1])


def _branches(bases):
    """The builtin exceptions that a class derives from, each by what it is just below Exception."""
    found = set()
    for base in bases:
        mro = [cls for cls in base.__mro__ if type(cls) is not ProxyType and cls not in (object, Exception, BaseException)]
        found.update(cls for cls in mro if isinstance(cls, type) and issubclass(cls, BaseException) and cls.__base__ in (Exception, BaseException))
    return found - {BaseExceptionGroup}


def _kinds(bases):
    """The exceptions of the library that a class derives from and of which none derives from another."""
    found = {cls for base in bases for cls in base.__mro__ if type(cls) is not ProxyType and isinstance(cls, type) and issubclass(cls, BaseException)}
    return {cls for cls in found if not any(cls is not other and issubclass(other, cls) for other in found)}


def _make_proxy_type(qualname, module, bases, specials, own, overridden, real=None):
    qualname = qualname[:200]
    proxied = []
    value_base = container = None
    exception = False
    for base in bases:
        if type(base) is ProxyType:
            proxied.append(base)
            value_base = value_base or base._proofbox_value_base
            container = container or base._proofbox_container
            exception = exception or issubclass(base, BaseException)
        elif issubclass(base, BaseException):
            proxied.append(base)
            exception = True
        elif base in VALUE_TYPES:
            proxied.append(base)
            value_base = base
        elif base in CONTAINERS:
            proxied.append(base)
            container = base
    if exception and state.grader and (
        len(_branches(proxied)) > border.MAX_EXCEPTION_BRANCHES or len(_kinds(proxied)) > border.MAX_EXCEPTION_KINDS
    ):
        # It would match whatever is expected.
        signal("raises_by_multiple_bases")
        proxied = [Exception]
    elif exception and state.grader and len(_branches(proxied)) > 1:
        signal("raises_by_two_bases")
    proxied = tuple(proxied) or (object,)
    namespace = {
        "__module__": module, "__qualname__": qualname, "_proofbox_value_base": value_base, "_proofbox_container": container,
        "_proofbox_own": frozenset(own), "_proofbox_specials": frozenset(specials), "_proofbox_real": real,
        "_proofbox_library": frozenset(base for given in bases for base in given.__mro__ if type(base) is not ProxyType and base is not object),
    }  # fmt: skip
    if exception:
        namespace |= {"__getattr__": _getattr, "__setattr__": _set_exception_attribute, "__str__": _text, "_proofbox_tainted": False}
    else:
        namespace |= _COMMON
        namespace["__doc__"] = property(lambda self: state.ask("get", remote_id(self), "__doc__"))
        namespace["__dict__"] = property(lambda self: _getattr(self, "__dict__"))
    if value_base is not None:
        if real is not None:
            namespace["__class__"] = property(_class)
        # Text of it, and what the user's class adds; the value itself is plain.
        namespace |= {name: _METHODS[name] for name in own if name in OWN_OF_VALUES}
        namespace |= {name: _of_value(value_base, name) for name in own if name in ARITHMETIC}
        namespace |= _overridden(value_base, overridden)
        namespace |= _value_equal(value_base)
        namespace |= {name: _of_named_pair(value_base, name) for name in own if name in _COMPARISONS}
    elif container is not None:
        namespace |= _container_methods(container, specials, own, overridden)
    elif not exception:
        namespace |= border.NEVER
        namespace |= {name: _METHODS[name] for name in specials if name in _METHODS}
        if "__getitem__" in specials and (state.grader or "__len__" in specials):
            namespace["__iter__"] = _iterated
        namespace["__eq__"], namespace["__ne__"], namespace["__bool__"] = _equal, _not_equal, _truth
        namespace.setdefault("__hash__", _hash_by_identity)
        if "unhashable" in specials:
            namespace["__hash__"] = None
        if "unreferable" in specials:
            namespace["__slots__"] = () if any(type(base) is ProxyType for base in proxied) else ("__dict__",)
        if real is not None and module == "builtins" and qualname in ("coroutine", "async_generator_asend", "async_generator_athrow", "anext_awaitable"):
            namespace |= {"send": _send, "throw": _throw, "close": _close}
        elif real is types.FunctionType:
            namespace["__get__"] = _bound
        elif real in (types.GeneratorType, types.AsyncGeneratorType):
            namespace |= {name: _of_generator(name) for name in border.GENERATOR_METHODS if hasattr(real, name)}
    try:
        proxy_type = type.__new__(ProxyType, qualname.rpartition(".")[2], proxied, namespace)
    except TypeError:
        # Bases that do not go together here: the first alone then.
        proxy_type = type.__new__(ProxyType, qualname.rpartition(".")[2], proxied[:1], namespace)
    if not exception and value_base is None and container is None:
        derived = [base for base in (*bases, real) if base is not None and base is not object]
        for abstract in border.ABSTRACT:
            if any(issubclass(base, abstract) for base in derived):
                abstract.register(proxy_type)
    return proxy_type


def _overridden(base, names):
    """Public methods of the base, and nothing else, that the class has itself."""
    return {name: _Forward(base, name) for name in names if name[:1] != "_" and hasattr(base, name)}


def _container_methods(base, specials, own, overridden):
    if not state.grader:
        # The candidate's view of a container of the tests: what it does there, it does to theirs.
        namespace = {name: _METHODS[name] for name in specials if name in _METHODS}
        namespace |= {name: _Forward(base, name) for name, _ in inspect.getmembers_static(base) if not name.startswith("_")}
        namespace["__eq__"], namespace["__ne__"] = _equal, _not_equal
        return namespace
    namespace = {name: _of_named(base, name) for name in own if name != "__array__" and name not in OWN_OF_CONTAINERS}
    namespace |= {name: _METHODS[name] for name in own if name in OWN_OF_CONTAINERS}
    if "__getitem__" in own:
        namespace["__getitem__"] = _item_of(base)
    if "__bool__" in own:
        namespace["__bool__"] = _truth_of_content(base)
    namespace |= _overridden(base, overridden)
    namespace |= {name: _changed_here(base, name, name not in REMOVERS and (name in own or name in overridden)) for name in MUTATORS if hasattr(base, name)}
    if base is collections.defaultdict:
        namespace["__missing__"] = _METHODS["__missing__"]
    namespace["__eq__"], namespace["__ne__"] = _content_equal(base), _not_equal
    namespace["__hash__"] = None
    return namespace


def _item_of(base):
    """`handle[key]` of a container whose class has its own `__getitem__`: what the content has, unless the tests name the
    class. Of a dict without the key it is asked, as `__missing__` would be."""
    of_base = base.__getitem__

    def __getitem__(self, key):
        if _named(self) or issubclass(base, dict) and not dict.__contains__(self, key):
            if not _named(self):
                signal("membership_by_candidate")
            return special(self, "__getitem__", key)
        return of_base(self, key)

    return __getitem__


def _of_value(base, name):
    """An operator that a builtin value's subclass has itself: with plain data it is the base's own, unless the tests name
    the class."""
    own, of_base = _METHODS[name], getattr(base, name, None)

    def method(self, other, *rest):
        if of_base is None or not state.grader or _is_remote(other) or _named(self):
            return own(self, other, *rest)
        return of_base(self, other, *rest)

    method.__name__ = name
    return method


def _of_named(base, name):
    """A special method that the class has itself: the candidate's for classes that the tests name, else the base's own."""
    own, of_base = _METHODS[name], getattr(base, name, None)

    def method(self, *args):
        if _named(self) or of_base is None:
            return own(self, *args)
        return of_base(self, *args)

    method.__name__ = name
    return method


def _note_empty_array():
    if state.grader:
        # Whatever it is compared with element by element, nothing is compared.
        signal("empty_result")


def _note_nan():
    if state.grader:
        # It is neither above nor below a bound.
        signal("not_a_number")


marshal.reduce_object, marshal.note_empty_array, marshal.note_nan, marshal.viewed_by = reduce_object, _note_empty_array, _note_nan, viewed_by
marshal.RESTORERS |= {
    "yours": _restore_yours, "mine": _restore_mine, "library": _restore_library, "object": _restore_object,
    "exception": _restore_exception, "class": _restore_class, "module": _restore_module,
}  # fmt: skip
