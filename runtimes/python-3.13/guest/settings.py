"""Settings of the interpreter and entries in registries of the library: what either side alters is altered on both, as it would
be in one interpreter.

Which of them count at all, the texts of snippet and tests say. Settings are compared before each message. Filters of warnings
are the tests' alone: those that the candidate adds are added there, and taken back when it leaves the block that it has added
them in. What the candidate registers is told as it is registered, from the start on."""

import abc
import functools
import os
import re
import sys

import _proofbox_border as border
import _proofbox_bridge as bridge
import _proofbox_origins as origins
import _proofbox_proxies as proxies
import _proofbox_side as side
import _proofbox_threads as threads

set_recursion_limit, _change_directory = sys.setrecursionlimit, os.chdir


def _module(name):
    __import__(name)
    return sys.modules[name]


# ---------------------------------------------------------------- settings


def _decimal():
    context = _module("decimal").getcontext()
    traps = tuple(trap.__name__ for trap, is_set in context.traps.items() if is_set)
    return context.prec, context.rounding, context.Emin, context.Emax, context.capitals, context.clamp, traps


def _set_decimal(value):
    context = _module("decimal").getcontext()
    *values, traps = value
    for name, each in zip(("prec", "rounding", "Emin", "Emax", "capitals", "clamp"), values, strict=True):
        setattr(context, name, each)
    for trap in context.traps:
        context.traps[trap] = trap.__name__ in traps


def _printing():
    options = _module("numpy").get_printoptions()
    return {name: value for name, value in options.items() if type(value) in side.SCALARS and name != "override_repr"}


def _mask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


# Above that, a higher limit changes nothing for code that keeps to the usual one.
_USUAL_LIMIT = 1_000


def _limit():
    return min(sys.getrecursionlimit(), _USUAL_LIMIT)


def _set_limit(value):
    if value != _limit():
        set_recursion_limit(value)


def _set_directory(value):
    if value == border.TESTS_FOLDER or value.startswith(border.TESTS_FOLDER + "/"):
        raise ValueError("a folder of the tests")
    _change_directory(value)


# By name: how it is read and set, of what type it is, and the words by which a text alters it.
SETTINGS = {
    "decimal": (_decimal, _set_decimal, tuple, ("localcontext", "getcontext", "setcontext", "DefaultContext")),
    "numpy errors": (lambda: _module("numpy").geterr(), lambda value: _module("numpy").seterr(**value), dict, ("errstate", "seterr")),
    "numpy printing": (_printing, lambda value: _module("numpy").set_printoptions(**value), dict, ("printoptions",)),
    "umask": (_mask, lambda value: os.umask(value), int, ("umask(",)),
    "first weekday": (lambda: int(_module("calendar").firstweekday()), lambda value: _module("calendar").setfirstweekday(value), int, ("setfirstweekday(",)),
    "field size": (lambda: _module("csv").field_size_limit(), lambda value: _module("csv").field_size_limit(value), int, ("field_size_limit(",)),
    "default timeout": (lambda: _module("socket").getdefaulttimeout(), lambda value: _module("socket").setdefaulttimeout(value), float, ("setdefaulttimeout(",)),
    "switch interval": (sys.getswitchinterval, sys.setswitchinterval, float, ("setswitchinterval(",)),
    "digits of int": (sys.get_int_max_str_digits, sys.set_int_max_str_digits, int, ("int_max_str_digits",)),
}
# Those that only the candidate tells; the tests' own are carried otherwise (carried.py, grader.py).
OF_CANDIDATE = {
    "recursion limit": (_limit, _set_limit, int, ("recursionlimit",)),
    "directory": (os.getcwd, _set_directory, str, ("chdir(",)),
}
ALL = SETTINGS | OF_CANDIDATE
# A text without these has none of those words.
_HINTS = ("ontext", "err", "options", "umask", "weekday", "limit", "timeout(", "interval(", "digits", "chdir")
assert all(any(map(word.__contains__, _HINTS)) for *_, words in ALL.values() for word in words)


def named(text, code):
    """Returns the names of the settings that the tests' text or the snippet alters."""
    if not any(map(code.__contains__, _HINTS)) and not any(map(text.__contains__, _HINTS)):
        return ()
    return [
        name for name, (_, _, _, words) in ALL.items()
        if any(map(code.__contains__, words)) or name in SETTINGS and any(map(text.__contains__, words))
    ]  # fmt: skip


def _is_value(value, type_):
    """Returns whether that can be a setting's value: a function among numpy's options would be called by the tests' prints."""
    if type(value) is dict is type_:
        return all(type(name) is str and type(each) in side.SCALARS for name, each in value.items())
    return type(value) is type_ or value is None


class Shared:
    """The settings that both sides have, on either side."""

    def __init__(self, names):
        self.names = names
        self.first = {}  # as an interpreter has them where nothing is altered
        self.known = {}

    def begin(self):
        self.first = {name: ALL[name][0]() for name in self.names}
        self.forget()

    def forget(self):
        """The other side's interpreter is a fresh one."""
        self.known = dict(self.first)

    def changed(self):
        found = {}
        for name in self.names:
            present = ALL[name][0]()
            if self.known[name] != present:
                found[name] = self.known[name] = present
        return found

    def set(self, values):
        for name, value in values.items():
            ALL[name][1](value)
            self.known[name] = ALL[name][0]()

    # The tests' side.

    def tell(self):
        if changed := self.changed():
            bridge.converse(("settings", changed))

    def take(self, told):
        """Takes what the candidate has altered. Returns whether it can be meant."""
        if type(told) is not dict or not all(name in self.names and _is_value(value, ALL[name][2]) for name, value in told.items()):
            return False
        side.signal("settings_by_candidate")
        try:
            self.set(told)
        except (TypeError, ValueError, OSError, RecursionError, OverflowError, AttributeError):
            # Not by what the tests' interpreter can be told.
            return "directory" in told or "recursion limit" in told
        if "directory" in told:
            side.state.candidate.changed.discard("chdir")
        return True


# ---------------------------------------------------------------- filters of warnings

_ACTIONS = frozenset({"default", "error", "ignore", "always", "all", "module", "once"})


class Filters:
    """The filters that the candidate has added to those of the tests, by the blocks that it is in."""

    def __init__(self):
        self.levels = []

    def take(self, level, told):
        """Takes the filters that are new in a block, and back those of blocks within it. Returns whether that can be meant."""
        import warnings

        if not border.is_number(level) or level > len(self.levels) or type(told) is not list or not all(map(_is_filter, told)):
            return False
        while len(self.levels) > level + 1:
            for added in self.levels.pop():
                warnings.filters[:] = [each for each in warnings.filters if each is not added]
        made = [(action, _compiled(message, re.I), category, _compiled(module), line) for action, message, category, module, line in told]
        if level == len(self.levels):
            self.levels.append([])
        self.levels[level] += made
        warnings.filters[:0] = made
        warnings._filters_mutated()
        if made:
            side.signal("settings_by_candidate")
        return True


def _is_filter(told):
    return (
        type(told) is tuple and len(told) == 5 and type(told[0]) is str and told[0] in _ACTIONS and isinstance(told[2], type) and issubclass(told[2], Warning)
        and type(told[4]) is int and all(type(each) in (str, type(None)) for each in (told[1], told[3]))
    )  # fmt: skip


def _compiled(pattern, flags=0):
    return pattern if pattern is None else re.compile(pattern, flags)


def watch_filters():
    """Tells of filters, and takes them out here: what is warned is told, and filtered there."""
    import warnings

    state = side.state
    lists, base = [warnings.filters], warnings.filters[:1] + _FILTERS
    before = state.before_message

    def before_message():
        if before:
            before()
        present = warnings.filters
        level = next((at for at, each in enumerate(lists) if each is present), None)
        added = [each for each in present if each not in base]
        is_left = level is not None and level + 1 < len(lists)
        if not added and not is_left:
            return
        if level is None:
            level = len(lists)
            lists.append(present)
        del lists[level + 1 :]
        present[:] = base
        warnings._filters_mutated()
        state.ask("filters", level, [_told_of_filter(each) for each in added])

    state.before_message = before_message


def _told_of_filter(each):
    action, message, category, module, line = each
    return action, _pattern(message), category, _pattern(module), line


def _pattern(pattern):
    return getattr(pattern, "pattern", pattern)


_FILTERS = [*_module("warnings").filters]

# ---------------------------------------------------------------- registries

# Words of a snippet that registers something, the module and the function that does it.
_REGISTERING = {
    "add_type": ("mimetypes", "add_type"),
    "codecs.register": ("codecs", "register"),
    "register_error": ("codecs", "register_error"),
    "register_adapter": ("sqlite3", "register_adapter"),
    "register_converter": ("sqlite3", "register_converter"),
    "addLevelName": ("logging", "addLevelName"),
    "register_namespace": ("xml.etree.ElementTree", "register_namespace"),
    "copyreg": ("copyreg", "pickle"),
}
_recorded = []


def record(code):
    """Begins to record what the snippet registers, before it runs."""
    for word, (module, name) in _REGISTERING.items():
        if word in code:
            _record(_module(module), name)
    if ".register" in code:
        own = abc.ABCMeta.register

        @functools.wraps(own)
        def register(cls, subclass):
            registered = own(cls, subclass)
            if cls.__module__ in border.ABSTRACT_MODULES and not origins.is_of_library(subclass):
                _recorded.append(("abc.register", (cls, subclass)))
            return registered

        abc.ABCMeta.register = register


def _record(module, name):
    own = getattr(module, name)

    @functools.wraps(own)
    def recorded(*args, **kwargs):
        result = own(*args, **kwargs)
        if not kwargs and (name != "pickle" or _is_class(args[0])):
            _recorded.append((f"{module.__name__}.{name}", args))
        return result

    setattr(module, name, recorded)


def registers(code):
    """Returns whether a snippet may register something."""
    return "regist" in code or "add_type" in code or "addLevelName" in code or "copyreg" in code


def watch_registries():
    """Tells of what has been registered."""
    state = side.state
    before = state.before_message

    def before_message():
        if before:
            before()
        while _recorded:
            state.ask("registered", *_recorded.pop(0))

    state.before_message = before_message


def _register_codec(search):
    import codecs

    def found(name):
        info = search(name)
        if not isinstance(info, tuple) or len(info) != 4:
            return None
        encode, decode, reader, writer = tuple.__iter__(info)
        return codecs.CodecInfo(encode, decode, reader, writer, name=name)

    codecs.register(found)


def _register_handler(name, handler):
    import codecs

    try:
        codecs.lookup_error(name)
    except LookupError:
        codecs.register_error(name, handler)


def _register_abstract(abstract, cls):
    import _proofbox_class_checks as class_checks

    class_checks.note_registered(cls, abstract)


def _is_class(value):
    return type(value) is proxies.ProxyType


def _is_abstract(value):
    return isinstance(value, abc.ABCMeta) and value.__module__ in border.ABSTRACT_MODULES


def _is_class_of_tests(value):
    return isinstance(value, type) and not _is_class(value) and not origins.is_of_library(value) and not border.derives_from_staying(value)


def _is_text(value):
    return type(value) is str


def _is_whole(value):
    return type(value) is int


# By what the candidate has called: how it is registered with the tests, and what is checked of the arguments.
REGISTERED = {
    "mimetypes.add_type": (lambda *args: _module("mimetypes").add_type(*args), (_is_text, _is_text)),
    "codecs.register": (_register_codec, (proxies.is_remote,)),
    "codecs.register_error": (_register_handler, (_is_text, proxies.is_remote)),
    "sqlite3.register_adapter": (lambda cls, adapter: _module("sqlite3").register_adapter(cls, adapter), (_is_class, proxies.is_remote)),
    "sqlite3.register_converter": (lambda name, converter: _module("sqlite3").register_converter(name, converter), (_is_text, proxies.is_remote)),
    "logging.addLevelName": (lambda level, name: _module("logging").addLevelName(level, name), (_is_whole, _is_text)),
    "xml.etree.ElementTree.register_namespace": (lambda prefix, uri: _module("xml.etree.ElementTree").register_namespace(prefix, uri), (_is_text, _is_text)),
    "abc.register": (_register_abstract, (_is_abstract, _is_class)),
    "copyreg.pickle": (lambda cls, reducer: _module("copyreg").pickle(cls, reducer), (_is_class_of_tests, proxies.is_remote)),
}


def take_registered(what, args):
    """Registers what the candidate has registered. Returns whether that can be meant."""
    if type(what) is not str or what not in REGISTERED or type(args) is not tuple:
        return False
    register, checks = REGISTERED[what]
    if len(args) != len(checks) or not all(check(each) for check, each in zip(checks, args)):
        # Something that the tests' interpreter can't have; what uses it there fails.
        side.signal("registered_by_candidate")
        return True
    side.signal("registered_by_candidate" if register is not _register_abstract else "instance_by_candidate")
    register(*args)
    return True


# ---------------------------------------------------------------- the candidate's side


def take(values, begins):
    """Sets what the tests have set; `begins`: what differs from that was altered while the snippet was loaded."""
    state = side.state
    if not begins:
        state.settings.set(values)
        return
    shared = state.settings = Shared(list(values))
    shared.known = dict(values)
    before = state.before_message

    def before_message():
        if before:
            before()
        # Threads and tasks have contexts of their own.
        if threads.is_main() and _running_loop() is None and (changed := shared.changed()):
            state.ask("settings", changed)

    state.before_message = before_message


_running_loop = _module("asyncio")._get_running_loop
