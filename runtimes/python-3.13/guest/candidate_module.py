"""The candidate's module as tests see it: names that are asked for when they are used."""

import builtins
import opcode
import sys
import types
from collections import abc
from unittest import mock

import _proofbox_border as border
import _proofbox_bridge as bridge
import _proofbox_grader as grader
import _proofbox_proxies as proxies
import _proofbox_report as report
import _proofbox_side as side
import _proofbox_theirs as theirs


class Names(dict):
    """Namespace of all names of the snippet, each looked up when it is used."""

    def __init__(self, candidate):
        self.candidate = candidate
        self.asked = set()

    def __missing__(self, name):
        try:
            value = self.candidate.fetch(name)
        except AttributeError:
            raise KeyError(name) from None
        self.asked.add(name)
        if len(self.asked) > 1:
            # One of them may decide about the other.
            side.signal("several_names")
        return value


class Rebound(dict):
    """Namespace of the snippet's names that its functions bind, each looked up when it is used."""

    def __init__(self, candidate):
        self.candidate = candidate

    def __missing__(self, name):
        if name not in self.candidate.rebound or name not in self.candidate.names:
            raise KeyError(name)
        try:
            return self.candidate.fetch(name)
        except AttributeError:
            raise KeyError(name) from None


BUILTINS = frozenset(vars(builtins))
NAMESPACE = {"__name__": "__main__", "__builtins__": __builtins__}


def as_found(value, path):
    """Notes by which name an object was found, so that it can be found again in a fresh interpreter."""
    if type(value) is proxies.ProxyType:
        side.state.named[value] = True
        side.state.paths[value] = path
        side.state.makers.add(proxies.remote_id(value))
    elif type(type(value)) is proxies.ProxyType and not isinstance(value, BaseException):
        object.__setattr__(value, "_proofbox_path", path)
        if path[1] < "_":
            # It begins with a capital letter: it is called as a class is.
            side.state.makers.add(proxies.remote_id(value))
    return value


def refresh(proxy):
    """The number of an object in the present interpreter of the candidate: found again by its name there."""
    state = side.state
    if (place := proxy._proofbox_stands) is not None:
        return _set_number(proxy, theirs.number_of(place))
    try:
        module, name = state.paths[proxy] if type(proxy) is proxies.ProxyType else object.__getattribute__(proxy, "_proofbox_path")
    except (AttributeError, KeyError):
        raise bridge.CandidateGone("exception", "StaleObject", "the object lived in an interpreter of the candidate that has ended") from None
    now = state.candidate.fetch(name) if module is None else getattr(sys.modules[module], name)
    return _set_number(proxy, proxies.remote_id(now))


def _set_number(proxy, number):
    state = side.state
    if type(proxy) is proxies.ProxyType:
        state.homes[proxy] = number
    else:
        object.__setattr__(proxy, "_proofbox_number", number)
        object.__setattr__(proxy, "_proofbox_generation", state.generation)
    return number


class Lost:
    """Stand-in for any name of a candidate that could not be imported, so that its tests can be loaded and counted."""

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


def _doc(module):
    if side.state.candidate.lost:
        return None
    return grader.ask("global", "__doc__") if module._proofbox_number is None else grader.ask("get", module._proofbox_number, "__doc__")


class Globals(dict):
    """Result of `vars(module)` of the candidate's: its names with their values, taken when it was asked for."""

    def __init__(self, module):
        self.module = module
        own = OWN_NAMESPACE.__get__(module)
        super().__init__({name: value for name, value in own.items() if not name.startswith("_proofbox")})
        if module._proofbox_number is None:
            names = side.state.candidate.names
        else:
            names = grader.ask("module_names", module._proofbox_number, True)
        for name in names:
            try:
                super().__setitem__(name, getattr(module, name))
            except AttributeError:
                pass

    def __setitem__(self, name, value):
        if name[:2] != "__":
            setattr(self.module, name, value)
        super().__setitem__(name, value)

    def __delitem__(self, name):
        if name[:2] != "__":
            delattr(self.module, name)
        super().__delitem__(name)

    # As everything else that changes it, by these two.
    update, pop, popitem = abc.MutableMapping.update, abc.MutableMapping.pop, abc.MutableMapping.popitem
    setdefault, clear = abc.MutableMapping.setdefault, abc.MutableMapping.clear

    def __ior__(self, other):
        self.update(other)
        return self


OWN_NAMESPACE = types.ModuleType.__dict__["__dict__"]
# Modules of the library that look for a module's content in its namespace.
_LOOKING = frozenset({"doctest", "inspect", "typing"})


def _namespace(module):
    asks = sys._getframe(1).f_globals.get("__name__")
    if side.state.candidate.lost or asks not in _LOOKING and border.asked_by(1) != "tests":
        return OWN_NAMESPACE.__get__(module)
    frame = sys._getframe(1)
    return proxies.names_of_annotations(Globals(module), frame) if proxies.evaluates_annotations(frame) else Globals(module)


class ProxyModule(types.ModuleType):
    """A module of the candidate's."""

    _proofbox_number = _proofbox_stands = None
    __doc__ = property(_doc)
    __dict__ = property(_namespace)

    def __getattr__(self, name):
        if name == "__all__" and _imports_all(importer := sys._getframe(1)):
            # `import *` brings nothing that decides what the tests compare, or which tests there are.
            bound = importer.f_locals
            return [each for each in self.__dir__() if each not in BUILTINS and each not in bound and not _is_runners(each)]
        if name == "__file__" and self._proofbox_number is None:
            return report.SNIPPET
        if name == "__file__" or name == "__path__" and self._proofbox_number is None:
            raise AttributeError(name)
        if side.state.candidate.lost:
            return Lost(side.state.candidate.lost)
        if self._proofbox_number is None:
            try:
                return side.state.candidate.fetch(name)
            except AttributeError:
                frame = sys._getframe(1)
                if frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM:
                    # Tests that catch it take something else in its place.
                    side.signal("import_failed")
                raise
        if name[:2] == "__" and name not in border.READABLE:
            raise AttributeError(name)
        return as_found(theirs.as_own(grader.ask("get", self._proofbox_number, name)), (self.__name__, name))

    def __setattr__(self, name, value):
        # A module of a package is set on it by the import system.
        if name.startswith("__") or isinstance(value, ProxyModule):
            types.ModuleType.__setattr__(self, name, value)
        elif self._proofbox_number is None:
            side.state.candidate.replaces_global(name, "set_global", value)
            grader.ask("set_global", name, value)
            if isinstance(value, mock.NonCallableMock):
                side.state.candidate.mocks[name] = value
        else:
            grader.ask("set", self._proofbox_number, name, value)

    def __delattr__(self, name):
        if self._proofbox_number is None:
            side.state.candidate.replaces_global(name, "delete_global")
            grader.ask("delete_global", name)
        else:
            grader.ask("del", self._proofbox_number, name)

    def __dir__(self):
        if self._proofbox_number is None:
            return sorted(name for name in side.state.candidate.names if not name.startswith("_"))
        return grader.ask("module_names", self._proofbox_number)


class LibraryModule(ProxyModule):
    """A module of the library that the candidate has named: its own."""

    @property
    def _proofbox_number(self):
        own, state = OWN_NAMESPACE.__get__(self), side.state
        known = own.get("_proofbox_known")
        if known is None or known[0] != state.generation:
            known = own["_proofbox_known"] = state.generation, theirs.number_of((self.__name__, ""))
        return known[1]


theirs.MODULES.add(ProxyModule)
_IMPORT_FROM = opcode.opmap["IMPORT_FROM"]
theirs.Module = LibraryModule
_IMPORT_STAR = (opcode.opmap["CALL_INTRINSIC_1"], 2)


def _imports_all(frame):
    """Returns whether the frame is at an `import *`."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return tuple(code[at : at + 2]) == _IMPORT_STAR


def _is_runners(name):
    return name in border.RUNNER_NAMES or name.startswith("pytest_")
