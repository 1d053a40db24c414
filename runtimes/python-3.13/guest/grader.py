"""The tests' side of the bridge: the candidate as a module of proxies, and what it may do with objects of the tests."""

import builtins
import importlib.machinery
import random
import sys
import types
from unittest import mock

import _proofbox
import _proofbox_bridge as bridge
import _proofbox_kind_pytest  # noqa: F401: it imports pytest as it must be imported here
import _proofbox_proxies as proxies
import _proofbox_randomness as randomness
from _pytest.monkeypatch import MonkeyPatch

# What the candidate may do with an object of the tests that it was handed.
_SPECIALS = frozenset(proxies.SPECIALS)
_METADATA = frozenset({"__name__", "__qualname__", "__doc__"})
# Attributes without an underscore that lead to code, frames and what they hold.
_INNARDS = ("gi_", "cr_", "ag_", "tb_", "f_", "co_", "func_")
_CALLABLES = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType, types.WrapperDescriptorType,
    types.MethodDescriptorType, types.ClassMethodDescriptorType,
)  # fmt: skip
_MACHINERY = (types.ModuleType, types.FrameType, types.TracebackType, types.CodeType, types.CellType)


class Refused(AttributeError):
    """The candidate asked for something of the tests that it must not have."""


def _check_may_leave(value):
    if isinstance(value, _MACHINERY) or type(value).__module__.startswith(("unittest.case", "unittest.result", "_pytest", "_proofbox")):
        raise TypeError(f"{type(value).__name__} of the tests can't be passed to the candidate (grading: isolated)")


def _visible(target, name):
    if type(name) is not str:
        raise Refused("an attribute has a name")
    if name in _METADATA:
        return
    if name.startswith("_") or name.startswith(_INNARDS) or name == "mro" or isinstance(target, _CALLABLES):
        proxies.signal("looked_into_the_tests")
        raise Refused(f"{type(target).__name__!r} object of the tests has no attribute {name!r} here")
    if type(target).__module__ == "functools":
        raise Refused(f"{type(target).__name__!r} object of the tests can only be called")


def _get(number, name):
    target = proxies.state.objects[number]
    _visible(target, name)
    value = getattr(target, name)
    if isinstance(value, _MACHINERY):
        raise Refused(f"{name!r} does not leave the tests")
    return value


def _set(number, name, value):
    target = proxies.state.objects[number]
    _visible(target, name)
    setattr(target, name, value)


def _delete(number, name):
    target = proxies.state.objects[number]
    _visible(target, name)
    delattr(target, name)


def _special(number, name, arguments):
    if name not in _SPECIALS:
        raise Refused(f"{name!r} is not passed on")
    target = proxies.state.objects[number]
    return getattr(type(target), name)(target, *arguments)


_OPERATIONS = {
    "call": lambda number, arguments, keywords: proxies.state.objects[number](*arguments, **keywords),
    "get": _get,
    "set": _set,
    "del": _delete,
    "dir": lambda number: [name for name in dir(proxies.state.objects[number]) if not name.startswith("_")],
    "index": lambda number, key: proxies.state.objects[number][key],
    "special": _special,
    "signature": lambda number: proxies.signature_of(proxies.state.objects[number]),
}


def _perform(operation, *arguments):
    return _OPERATIONS[operation](*arguments)


def _nonsense():
    """The candidate does not keep to the protocol: it has patched its own side of the bridge."""
    proxies.signal("protocol_violation")
    _proofbox.renew()
    proxies.state.candidate.lose(bridge.CandidateGone("exception", "ProtocolError", "the candidate's interpreter gave an answer that makes no sense"))


class Names(dict):
    """All names of the snippet, each looked up when it is used."""

    def __init__(self, candidate):
        self.candidate = candidate

    def __missing__(self, name):
        try:
            return self.candidate.fetch(name)
        except AttributeError:
            raise KeyError(name) from None


BUILTINS = frozenset(vars(builtins))
NAMESPACE = {"__name__": "__main__", "__builtins__": __builtins__}


class Candidate:
    """The candidate as the tests see it, in whichever interpreter it lives now."""

    def __init__(self, module, modules):
        self.names = None
        self.given = {}  # by name, what the tests were given
        self.lost = None
        self.module = ProxyModule(module)
        self.roots = {module, *modules}
        sys.modules[module] = self.module
        sys.meta_path.insert(0, self)

    def lose(self, error):
        self.lost = error
        raise error

    def gone(self):
        return self.lost

    def load(self):
        """Imports the snippet. It may fail; then nothing can be asked."""
        try:
            self.names = set(ask("load"))
        except bridge.CandidateGone:
            self.names = self.names or set()

    def fresh(self):
        """A fresh interpreter for the candidate, if there is one to be had."""
        if _proofbox.renew():
            self.lost = None
            proxies.state.reset()
            self.load()

    def fetch(self, name):
        """What the snippet calls by that name."""
        try:
            value = ask("global", name)
        except KeyError:
            raise AttributeError(f"module {self.module.__name__!r} has no attribute {name!r}") from None
        return found(value, (None, name))

    def namespace(self, code=None, entry_point=None):
        """The snippet's names, for tests to be executed in: those that `code` mentions, or all, looked up when used."""
        if code is None:
            return Names(self)
        namespace = dict(NAMESPACE)
        self.bind(namespace, code, entry_point)
        return namespace

    def mentioned(self, code, entry_point):
        """The snippet's names among those that `code` uses. A builtin's name is the builtin, lest the snippet decide
        what the tests compare, but for the entry point: where none is given, the one name of the snippet that is used."""
        names = names_of(code) & self.names
        shadowing = names & BUILTINS
        if shadowing:
            names -= shadowing
            if entry_point is None and not names and len(shadowing) == 1:
                return shadowing
            if entry_point in shadowing:
                names.add(entry_point)
            proxies.signal("shadowed_builtin")
        return names

    def bind(self, namespace, code, entry_point=None):
        """Brings up to date what `code` mentions."""
        for name in self.mentioned(code, entry_point):
            known = namespace.get(name, self)
            # What the tests have bound themselves is theirs; functions and classes stay what they are.
            if known is self or known is self.given.get(name) and not proxies._is_remote(known):
                namespace[name] = self.given[name] = self.fetch(name)

    def ignore(self, *arguments):
        """Passes them to the candidate, which does nothing with them."""
        ask("ignore", arguments)

    # A finder of modules.

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.roots:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = ProxyModule(spec.name)
        if proxies.state.candidate.lost:
            return module
        object.__setattr__(module, "_proofbox_number", ask("import", spec.name))
        return module

    def exec_module(self, module):
        pass


def names_of(code):
    names = set(code.co_names)
    for constant in code.co_consts:
        if type(constant) is types.CodeType:
            names |= names_of(constant)
    return names


def found(value, path):
    """Notes by which name an object was found, so that it can be found again in a fresh interpreter."""
    if type(value) is proxies.Mirror:
        proxies.state.named[value] = True
        proxies.state.paths[value] = path
    elif type(type(value)) is proxies.Mirror and not isinstance(value, BaseException):
        object.__setattr__(value, "_proofbox_path", path)
    return value


def _refresh(proxy):
    """The number of an object in the present interpreter of the candidate: found again by its name there."""
    state = proxies.state
    try:
        module, name = state.paths[proxy] if type(proxy) is proxies.Mirror else object.__getattribute__(proxy, "_proofbox_path")
    except (AttributeError, KeyError):
        raise bridge.CandidateGone("exception", "StaleObject", "the object lived in an interpreter of the candidate that has ended") from None
    now = state.candidate.fetch(name) if module is None else getattr(sys.modules[module], name)
    number = proxies.number_at_home(now)
    if type(proxy) is proxies.Mirror:
        state.homes[proxy] = number
    else:
        object.__setattr__(proxy, "_proofbox_number", number)
        object.__setattr__(proxy, "_proofbox_generation", state.generation)
    return number


class Lost:
    """What stands for any name of a candidate that could not be imported, so that its tests can be loaded and counted."""

    def __init__(self, error):
        self.error = error

    def __call__(self, *args, **kwargs):
        raise self.error

    def __mro_entries__(self, bases):
        return ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self


class ProxyModule(types.ModuleType):
    """A module of the candidate's."""

    _proofbox_number = None

    def __getattr__(self, name):
        if name == "__all__":
            return self.__dir__()
        if name == "__file__" or name == "__path__" and self._proofbox_number is None:
            raise AttributeError(name)
        if proxies.state.candidate.lost:
            return Lost(proxies.state.candidate.lost)
        if self._proofbox_number is None:
            return proxies.state.candidate.fetch(name)
        return found(ask("get", self._proofbox_number, name), (self.__name__, name))

    def __setattr__(self, name, value):
        # A module of a package is set on it by the import system.
        if name.startswith("__") or isinstance(value, ProxyModule):
            types.ModuleType.__setattr__(self, name, value)
        elif self._proofbox_number is None:
            ask("set_global", name, value)
        else:
            ask("set", self._proofbox_number, name, value)

    def __delattr__(self, name):
        if self._proofbox_number is None:
            ask("delete_global", name)
        else:
            ask("del", self._proofbox_number, name)

    def __dir__(self):
        if self._proofbox_number is None:
            return sorted(name for name in proxies.state.candidate.names if not name.startswith("_"))
        return ask("module_names", self._proofbox_number)


def ask(*request):
    """As `bridge.ask`; what the candidate prints meanwhile is shown where the tests have it shown."""
    state = proxies.state
    if state.candidate.lost:
        raise state.candidate.lost
    try:
        return bridge.ask(*request)
    except NameError as error:
        # In one interpreter the snippet would find what the tests have imported.
        if type(error.name) is str and hasattr(sys.modules.get("tests"), error.name):
            note_inexpressible(f"the snippet uses {error.name!r}, a name of the tests")
        raise
    except bridge.CandidateGone as error:
        state.candidate.lost = error
        raise
    finally:
        for number, name, own in state.streams:
            stream = getattr(sys, name)
            if stream is not own:
                text = _proofbox.printed(number)
                if text:
                    stream.write(text.decode("utf-8", "replace"))


def connect(module, modules):
    """Makes the candidate known to the tests as `module`."""
    proxies.state = state = proxies.State()
    state.grader = True
    state.ask, state.perform, state.nonsense = ask, _perform, _nonsense
    state.refresh, state.check_may_leave, state.inexpressible = _refresh, _check_may_leave, note_inexpressible
    state.streams = (1, "stdout", sys.stdout), (2, "stderr", sys.stderr)
    state.noted = []
    state.candidate = Candidate(module, modules)
    return state.candidate


def prepare():
    """Once, when the image is made: what tests do to the state of the interpreter, which they do not share with the
    candidate, is done to the candidate's too where that is simple, and noted where it is not."""
    enter = mock._patch.__enter__
    enter_dict = mock._patch_dict.__enter__
    setattr_, setenv, chdir = MonkeyPatch.setattr, MonkeyPatch.setenv, MonkeyPatch.chdir

    def __enter__(self):
        target = self.getter()
        if type(target) is types.ModuleType and (target is not sys or self.attribute not in ("stdout", "stderr")):
            note_inexpressible(f"mock.patch of {target.__name__}.{self.attribute}")
        elif isinstance(target, type) and type(target) is not proxies.Mirror and proxies.is_of_library(target):
            note_inexpressible(f"mock.patch of {target.__module__}.{target.__qualname__}.{self.attribute}")
        return enter(self)

    def enter_patch_dict(self):
        note_inexpressible("mock.patch.dict")
        return enter_dict(self)

    def patched_setattr(self, target, *rest, **options):
        if isinstance(target, (str, types.ModuleType)) and not isinstance(target, ProxyModule):
            note_inexpressible("monkeypatch.setattr of a module")
        return setattr_(self, target, *rest, **options)

    def patched_setenv(self, *arguments, **options):
        note_inexpressible("monkeypatch.setenv")
        return setenv(self, *arguments, **options)

    def patched_chdir(self, path):
        note_inexpressible("monkeypatch.chdir")
        return chdir(self, path)

    mock._patch.__enter__, mock._patch_dict.__enter__ = __enter__, enter_patch_dict
    MonkeyPatch.setattr, MonkeyPatch.setenv, MonkeyPatch.chdir = patched_setattr, patched_setenv, patched_chdir
    randomness.after_first_use(random, _seed_both)
    randomness.after_first_use(sys.modules["numpy.random"], _seed_both_numpy)


def _seed_both():
    """`random.seed` of the tests is the candidate's, too."""
    state, seed_here = proxies.state, random.seed
    if not state or not state.grader:
        return

    def seed(a=None, version=2):
        seed_here(a, version)
        if not state.candidate.lost and a is not None:
            state.ask("seed", a, version)

    random.seed = seed


def _seed_both_numpy():
    """`numpy.random.seed` likewise."""
    state, module = proxies.state, sys.modules["numpy.random"]
    seed_here = module.seed
    if not state or not state.grader:
        return

    def seed(seed=None):
        seed_here(seed)
        if not state.candidate.lost and seed is not None:
            state.ask("seed_numpy", seed)

    module.seed = seed


def note_inexpressible(what):
    """Something that can't be said when the tests run apart from the candidate."""
    state = proxies.state
    if state and state.grader and what not in state.noted:
        state.noted.append(what)
        _proofbox.post(("inexpressible", what))
