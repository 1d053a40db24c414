"""Pickles in the tests' interpreter: those of the candidate give plain values, those of the tests what they were made of."""

import builtins
import functools
import importlib
import io
import pickle
import types

import _proofbox_border as border
import _proofbox_foreign_code as foreign_code
import _proofbox_foreign_text as foreign_text
import _proofbox_proxies as proxies
import _proofbox_side as side

# Pickles of the tests' own that are remembered: how many, and how large each.
_REMEMBERED, _LARGEST = 256, 1 << 20
_own = {}
_trusted = 0  # how many unpicklers run on pickles of the tests, or check what they find themselves


def guard(texts):
    """Replaces the unpickler by one that looks at all that it makes, if the tests speak of it."""
    if any(word in text for text in texts for word in ("pickle", "shelve")):
        pickle.Unpickler, pickle.load, pickle.loads = Unpickler, load, loads
        pickle.dumps = _noted(pickle.dumps)


def _noted(dumps):
    @functools.wraps(dumps)
    def noted(*arguments, **options):
        data = dumps(*arguments, **options)
        if len(data) <= _LARGEST:
            _own[data] = True
            if len(_own) > _REMEMBERED:
                del _own[next(iter(_own))]
        return data

    return noted


class Unpickler(pickle._Unpickler):
    """Makes plain values only."""

    dispatch = dict(pickle._Unpickler.dispatch)

    def load(self):
        global _trusted
        _trusted += 1
        try:
            return super().load()
        finally:
            _trusted -= 1

    def find_class(self, module, name):
        return find(module, name)

    def load_build(self):
        # The state of a class or a function would be what all its users see.
        target = self.stack[-2]
        if isinstance(target, (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)) or proxies.is_remote(target):
            _refuse("what is no instance")
        super().load_build()

    dispatch[pickle.BUILD[0]] = load_build


def load(file, **options):
    return Unpickler(file, **options).load()


def loads(data, /, **options):
    global _trusted
    if type(data) is bytes and data in _own:
        _trusted += 1
        try:
            return _loads(data, **options)
        finally:
            _trusted -= 1
    return Unpickler(io.BytesIO(data), **options).load()


_loads = pickle.loads


def found(module, name):
    """An unpickler asks for a class: another than ours could alter it, unless it is one that nobody can."""
    if not _trusted:
        value = find(module, name)
        if not (isinstance(value, type) and not value.__flags__ & _HEAP or isinstance(value, types.BuiltinFunctionType)):
            _refuse(f"{module}.{name}")


_HEAP = 1 << 9


def find(module, name):
    """The class or function of plain values by this name; all else is refused."""
    module, name = _OLD_NAMES.get((module, name), (_OLD_MODULES.get(module, module), name))
    path = f"{module}.{name}"
    if path in border.PLAIN_CLASSES or path in border.PICKLE_MAKERS or _is_exception(module, name):
        value = importlib.import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
        if not isinstance(value, type) or foreign_text.is_plain_class(value):
            return value
    if type(module) is str and module.partition(".")[0] in side.state.candidate.roots:
        foreign_code.refuse("an object of the candidate in a pickle")
    _refuse(path)


def _is_exception(module, name):
    value = vars(builtins).get(name) if module == "builtins" else None
    return isinstance(value, type) and issubclass(value, BaseException)


# Names of Python 2, which protocols up to 2 use.
_OLD_MODULES = {"__builtin__": "builtins", "copy_reg": "copyreg", "exceptions": "builtins"}
_OLD_NAMES = {("__builtin__", "xrange"): ("builtins", "range")}


def _refuse(what):
    side.refuse("text_of_the_candidate", f"a pickle that the tests have not made holds {what}")
