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
import _proofbox_marshal as marshal
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
        if not is_made_by_state(target):
            return super().load_build()
        # Others may hold the target already, and never see it change.
        made = made_by_state(target, self.stack.pop())
        self.stack[-1] = made
        for key, value in self.memo.items():
            if value is target:
                self.memo[key] = made

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
        if value in _MAKERS.values() or _is_type(value):  # of which the state is set then
            _refuse(f"{module}.{name}")
        if not (isinstance(value, type) and not value.__flags__ & _HEAP or isinstance(value, types.BuiltinFunctionType)):
            _refuse(f"{module}.{name}")


_HEAP = 1 << 9


def find(module, name):
    """The class or function of plain values by this name; all else is refused."""
    module, name = _OLD_NAMES.get((module, name), (_OLD_MODULES.get(module, module), name))
    path = f"{module}.{name}"
    if path in _MAKERS:
        return _MAKERS[path]
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


# ---------------------------------------------------------------- numpy's values
# numpy believes what a state says: that a type has no references, so that bytes become addresses, or that a list is as long
# as the array. Types and arrays are made of it as of what crosses the border (marshal.py), and no object's state is set.


def is_made_by_state(target):
    return type(target).__module__ in ("numpy", "numpy.dtypes") and (_is_type(type(target)) or hasattr(target, "__setstate__"))


def _is_type(kind):
    return isinstance(kind, type) and any(base.__module__ == "numpy" and base.__qualname__ == "dtype" for base in kind.__mro__)


def made_by_state(target, state):
    """The type or array that a state says, where `target` is what it would be set of."""
    try:
        return _made_type(target, state) if _is_type(type(target)) else _made_array(target, state)
    except (marshal.CannotCross, TypeError, ValueError, IndexError):
        _refuse("a state that is none")


def _made_type(kind, state):
    import numpy

    if not (type(state) is tuple and len(state) >= 8 and state[0] in (3, 4) and state[1] in ("<", ">", "|", "=")):
        raise TypeError("no state of a type")
    order, within, names, fields, size, align, flags = state[1], *state[2:7], state[7]
    if within is not None:
        base, shape = within
        return numpy.dtype((_checked_type(base), shape))
    if names is not None:
        parts = [fields[name] for name in names]
        content = {"names": list(names), "formats": [_checked_type(part[0]) for part in parts], "offsets": [part[1] for part in parts]}
        return numpy.dtype({**content, "itemsize": size}, align=bool(flags & _ALIGNED))
    if kind.kind in "mM" and len(state) > 8:
        unit, count, divisor = state[8][1][:3]
        if type(unit) is not bytes or type(count) is not int or divisor != 1:
            raise TypeError("no unit of time")
        return numpy.dtype(f"{order if order != '|' else '='}{kind.kind}8[{count if count != 1 else ''}{unit.decode()}]")
    return kind if order == "|" else kind.newbyteorder(order)


_ALIGNED = 0x80


def _made_array(array, state):
    version, shape, kind, is_fortran, content = state
    if not hasattr(array, "shape") or array.size or version != 1 or type(shape) is not tuple:
        raise TypeError("no state of an array")
    made = _make_array(content, _checked_type(kind), shape, is_fortran)
    return made if kind.isnative or kind.hasobject else made.astype(kind.newbyteorder("="))


def _make_array(content, kind, shape, is_fortran):
    import numpy

    if is_fortran:
        return _make_array(content, kind, shape[::-1], False).T
    if kind.hasobject:
        # Bytes must never become references.
        if type(content) is not list:
            raise TypeError("an array of references")
        made = numpy.empty(len(content), kind)
        for index, item in enumerate(content):
            made[index] = item
        return made.reshape(shape)
    if type(content) not in (bytes, bytearray):
        raise TypeError("an array of what is no bytes")
    if not kind.itemsize:
        return numpy.empty(shape, kind)
    made = numpy.empty(0, "u1")
    marshal.FILLABLE["+ndarray"][1]((kind, shape, bytes(content), 0), made)
    return made


def _checked_type(kind):
    if not _is_type(type(kind)):
        raise TypeError("no type of numpy's")
    return kind


def _reconstruct(kind, shape, code):
    import numpy

    if kind is not numpy.ndarray or shape != (0,):
        _refuse("an array without content")
    return numpy.empty(shape, "b")


def _scalar(kind, content=b""):
    _checked_type(kind)
    if not kind.itemsize and kind.kind in "SU":
        return kind.type()
    try:
        return marshal.RESTORERS["numpy_number"]((kind, content))
    except marshal.CannotCross:
        _refuse("a number that is none")


def _frombuffer(content, kind, shape, order, axis_order=None):
    try:
        made = _make_array(content, _checked_type(kind), shape, order == "F")
    except marshal.CannotCross:
        _refuse("an array that is none")
    return made if axis_order is None else made.transpose(axis_order)


_MAKERS = {
    f"numpy.{core}.{name}": maker
    for core in ("_core", "core")
    for name, maker in {"multiarray._reconstruct": _reconstruct, "multiarray.scalar": _scalar, "numeric._frombuffer": _frombuffer}.items()
}


def _refuse(what):
    side.refuse("text_of_the_candidate", f"a pickle that the tests have not made holds {what}")
