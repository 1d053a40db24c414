"""Changes of the tests to their own interpreter, made to the candidate's, too: what they replace in the library, the
environment, the working directory, the seed. What can't be is noted, and the case has not passed (grader.py)."""

import builtins
import contextvars
import functools
import importlib
import os
import random
import sys
import types
from unittest import mock

import _proofbox_border as border
import _proofbox_grader as grader
import _proofbox_grading as grading
import _proofbox_origins as origins
import _proofbox_packages as packages
import _proofbox_proxies as proxies
import _proofbox_randomness as randomness
import _proofbox_side as side
from _pytest.monkeypatch import MonkeyPatch

# Of sys, what grader.ask carries itself, whoever replaces it.
_FOLLOWED = ("stdout", "stderr", "stdin", "argv")


def _grading():
    """Returns whether there is a candidate to be told."""
    state = side.state
    return state is not None and state.grader and not state.candidate.lost


def _place(target):
    """Module and path of a module or class of the library, or None where the candidate has nothing of that name."""
    if type(target) is grading.NamespaceModule:
        return None
    if isinstance(target, types.ModuleType):
        return (target.__name__, ()) if origins.is_library_module(target) else None
    if isinstance(target, type) and type(target) is not proxies.ProxyType and origins.is_of_library(target):
        return target.__module__, tuple(target.__qualname__.split("."))
    return None


def _is_of_snippet(target, name):
    """Returns whether tests that use the snippet's names without importing them replace one: as if both were one
    file."""
    return _grading() and type(target) is grading.NamespaceModule and name in side.state.candidate.names


def _carry(target, name, original, what):
    """Replaces the attribute, which was `original`, in the candidate's interpreter; returns what `_take_back` wants."""
    place = _place(target)
    if not _grading() or (target is sys and name in _FOLLOWED):
        return None
    if _is_of_snippet(target, name):
        side.state.ask("patch", None, (), name, getattr(target, name))
        side.state.candidate.keeps("patch", None, (), name, getattr(target, name))
        return None, (), name
    if place is None:
        of_tests = isinstance(target, (type, types.ModuleType, mock.NonCallableMock)) or proxies.is_remote(target)
        if not of_tests and origins.is_shared(type(target).__module__):
            # A logger, for one: the candidate has its own.
            grader.note_inexpressible(f"{what} of an object of {type(target).__module__}")
        return None
    if target is builtins:
        side.state.candidate.carried.add(name)
    origins.note_replaced(*place, name, original, True)
    try:
        side.state.ask("patch", *place, name, vars(target)[name])
    except Exception as error:
        grader.note_not_carried(error, f"{what} of {target.__name__}.{name}")
        return None
    side.state.candidate.keeps("patch", *place, name, vars(target)[name])
    return *place, name


def _take_back(carried, original):
    if carried and side.state.grader:
        if carried[0] is not None:
            origins.note_replaced(*carried, original, False)
        side.state.candidate.is_over("patch", carried)
    if carried and _grading():
        side.state.ask("unpatch", *carried)
        if carried[0] == "builtins":
            side.state.candidate.carried.discard(carried[-1])


def _note_change(what):
    """The candidate is told with the next request."""
    if _grading():
        side.state.candidate.changed.add(what)


def _prepare_surroundings():
    """Whoever changes the environment and the working directory: tests, mock or monkeypatch."""
    kind, chdir_ = type(os.environ), os.chdir
    set_, delete = kind.__setitem__, kind.__delitem__

    def __setitem__(self, key, value):
        set_(self, key, value)
        if self is os.environ and not key.startswith(border.PRIVATE_VARIABLES):
            _note_change("environ")

    def __delitem__(self, key):
        delete(self, key)
        if self is os.environ and not key.startswith(border.PRIVATE_VARIABLES):
            _note_change("environ")

    def chdir(path):
        chdir_(path)
        _note_change("chdir")

    kind.__setitem__, kind.__delitem__ = __setitem__, __delitem__
    chdir.__module__, chdir.__doc__ = chdir_.__module__, chdir_.__doc__
    os.chdir = sys.modules["posix"].chdir = chdir


def prepare():
    """Once, when the image is made."""
    _prepare_surroundings()
    _prepare_mock()
    _prepare_monkeypatch()
    _prepare_tracing()
    randomness.after_first_use(random, _seed_both)
    randomness.after_first_use(sys.modules["numpy.random"], _seed_both_numpy)


def watch(text):
    """Configures the candidate's Django as the tests configure theirs, and follows them into contexts."""
    if "copy_context" in text:
        _watch_contexts()
    if "dialect" in text:
        _watch_dialects()
    if "settings.configure" not in text or not packages.is_known("django"):
        return
    conf = importlib.import_module("django.conf")
    configure_here = conf.LazySettings.configure

    @functools.wraps(configure_here)
    def configure(self, *args, **options):
        configure_here(self, *args, **options)
        if self is conf.settings and _grading() and border.asked_by(1) == "tests":
            state = side.state
            theirs = state.ask("get", state.ask("import", "django.conf"), "settings")
            if not theirs.configured:
                theirs.configure(*args, **options)

    conf.LazySettings.configure = configure


def _is_copy(given):
    """Returns whether a dict is one of the candidate's that does not change there when it does here."""
    return id(given) not in side.state.shared.numbers and any(given is each for each in side.state.candidate.copies)


def _prepare_mock():
    enter, exit_ = mock._patch.__enter__, mock._patch.__exit__
    patch_dict = mock._patch_dict._patch_dict

    def __enter__(self):
        replaced = enter(self)
        self._proofbox_carried = _carry(self.target, self.attribute, self.temp_original, "mock.patch")
        return replaced

    def __exit__(self, *exc_info):
        carried, self._proofbox_carried = getattr(self, "_proofbox_carried", None), None
        _take_back(carried, getattr(self, "temp_original", None))
        return exit_(self, *exc_info)

    def _patch_dict(self):
        patch_dict(self)
        if self.in_dict is sys.modules:
            grader.note_inexpressible("mock.patch.dict")
        elif _grading() and _is_copy(self.in_dict):
            # How many items it has is the candidate's to choose: that brings about no other grading.
            side.signal("aliasing_lost")
            grader.fail_case("mock.patch.dict of what is too large to be shared")

    mock._patch.__enter__, mock._patch.__exit__ = __enter__, __exit__
    mock._patch_dict._patch_dict = _patch_dict


def _prepare_monkeypatch():
    setattr_, delattr_, setitem, delitem = MonkeyPatch.setattr, MonkeyPatch.delattr, MonkeyPatch.setitem, MonkeyPatch.delitem
    syspath_prepend, undo = MonkeyPatch.syspath_prepend, MonkeyPatch.undo

    def patched_setattr(self, *arguments, **options):
        setattr_(self, *arguments, **options)
        target, name, original = self._setattr[-1]
        carried = _carry(target, name, original, "monkeypatch.setattr")
        if carried:
            self.__dict__.setdefault("_proofbox_carried", []).append((carried, original))

    def patched_delattr(self, *arguments, **options):
        delattr_(self, *arguments, **options)
        if self._setattr and _place(self._setattr[-1][0]):
            grader.note_inexpressible("monkeypatch.delattr of the library")

    def patched_setitem(self, dic, name, value):
        setitem(self, dic, name, value)
        if dic is sys.modules:
            grader.note_inexpressible("monkeypatch.setitem of sys.modules")

    def patched_delitem(self, dic, name, raising=True):
        delitem(self, dic, name, raising)
        if dic is sys.modules and _grading() and name not in side.state.candidate.roots:
            grader.note_inexpressible("monkeypatch.delitem of sys.modules")

    def patched_syspath_prepend(self, path):
        grader.note_inexpressible("monkeypatch.syspath_prepend")
        return syspath_prepend(self, path)

    def patched_undo(self):
        for carried in reversed(self.__dict__.pop("_proofbox_carried", ())):
            _take_back(*carried)
        undo(self)

    MonkeyPatch.setattr, MonkeyPatch.delattr, MonkeyPatch.setitem = patched_setattr, patched_delattr, patched_setitem
    MonkeyPatch.delitem = patched_delitem
    MonkeyPatch.syspath_prepend, MonkeyPatch.undo = patched_syspath_prepend, patched_undo


def _watch_contexts():
    """Copies of contexts that the tests make have one of the candidate's beside them."""
    copy = contextvars.copy_context
    side.state.candidate.places.are_contexts_told = True

    def copy_context():
        if _grading() and border.asked_by(1) == "tests":
            return side.state.candidate.places.copy_context(copy)
        return copy()

    copy_context.__module__, copy_context.__doc__ = copy.__module__, copy.__doc__
    contextvars.copy_context = copy_context


def _watch_dialects():
    """Dialects of csv that the tests register are the candidate's, too."""
    import csv

    register, unregister = csv.register_dialect, csv.unregister_dialect

    @functools.wraps(register)
    def register_dialect(name, *dialect, **settings):
        register(name, *dialect, **settings)
        _tell(name, tuple(getattr(csv.get_dialect(name), each) for each in border.DIALECT))

    @functools.wraps(unregister)
    def unregister_dialect(name):
        unregister(name)
        _tell(name, None)

    def _tell(name, settings):
        if _grading():
            candidate = side.state.candidate
            candidate.dialects.discard(name)
            candidate.told_dialects[name] = settings
            side.state.ask("dialect", name, settings)

    csv.register_dialect, csv.unregister_dialect = register_dialect, unregister_dialect


def _prepare_tracing():
    """Memory is traced in the tests' own interpreter, by whatever name they start that."""
    import _tracemalloc

    start = _tracemalloc.start

    def noted(nframe=1, /):
        if _grading():
            grader.note_inexpressible("tracemalloc in the tests' own interpreter")
        start(nframe)

    noted.__name__, noted.__module__, noted.__doc__ = start.__name__, start.__module__, start.__doc__
    _tracemalloc.start = noted
    if "tracemalloc" in sys.modules:
        sys.modules["tracemalloc"].start = noted


def _telling(seed_here, which, state):
    """`seed` of the candidate's interpreter, of which the tests are told if they speak of such."""

    @functools.wraps(seed_here)
    def seed(a=None, *rest, **options):
        seed_here(a, *rest, **options)
        if state.watch is not None:
            state.watch.note_seeded({"random": "random", "numpy": "numpy.random"}[which])
        if state.tells_seeds and not rest and not options and type(a) in side.SCALARS and a is not None:
            if state.ask("seeded", which, a) and state.watch is not None:
                state.watch.settle({"random": "random", "numpy": "numpy.random"}[which])

    return seed


def _seed_both():
    """`random.seed` of the tests is the candidate's, too."""
    state, seed_here = side.state, random.seed
    if not state:
        return
    if not state.grader:
        random.seed = _telling(seed_here, "random", state)
        return

    def seed(a=None, version=2):
        seed_here(a, version)
        if a is not None:
            state.candidate.replaces("seed", (a, version))
            if not state.candidate.lost:
                state.ask("seed", a, version)
                if state.candidate.followed is not None:
                    state.candidate.followed.settle("random")

    random.seed = seed


def _seed_both_numpy():
    """`numpy.random.seed` likewise."""
    state, module = side.state, sys.modules["numpy.random"]
    seed_here = module.seed
    if not state:
        return
    if not state.grader:
        module.seed = _telling(seed_here, "numpy", state)
        return

    def seed(seed=None):
        seed_here(seed)
        if seed is not None:
            state.candidate.replaces("seed_numpy", (seed,))
            if not state.candidate.lost:
                state.ask("seed_numpy", seed)
                if state.candidate.followed is not None:
                    state.candidate.followed.settle("numpy.random")

    module.seed = seed
