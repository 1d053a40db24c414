"""Operators on handles: comparisons, order, arithmetic, truth, sizes, iteration, membership, changes to containers.

Comparing a handle with plain data is decided here (it is not equal, and has no order); operators between one and plain data are
passed on only for classes that the tests themselves name, and must give an object again; `in` looks at the items here, unless
the class is so named."""

import argparse
import collections
import fractions
import functools
import itertools
import numbers
import operator
import sys
import types
from collections import abc

import _proofbox_border as border
import _proofbox_marshal as marshal
import _proofbox_origins as origins
import _proofbox_proxies as proxies
import _proofbox_side as side

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


def forwarded(name):
    def method(self, *args):
        return proxies.special(self, name, *args)

    return method


def text(name):
    """A text that tests ask for, if only for a message: what it raises may be what they expect, or hide that they have failed."""

    def method(self, *args):
        try:
            shown = proxies.special(self, name, *args)
            if side.state.grader and name != "__repr__" and not proxies.is_named(self) and border.asked_by(1) != "package":
                side.signal("text_by_candidate")
            return shown
        except Exception:
            if side.state.grader:
                side.signal("text_raises")
                if side.state.violation is None and not proxies.is_named(self):
                    side.state.violation = side.Refused(f"{name} of an object of the candidate raises an exception (grading: isolated)")
            raise

    return method


def _tainted(value):
    return type(type(value)) is proxies.ProxyType and value._proofbox_tainted


def _mark_tainted(result, name):
    """The tests' own value has gone into the result of an operator: it must be an object, or it could be anything that
    the tests want; of `divmod`, a pair of such."""
    if name in ("__divmod__", "__rdivmod__") and type(result) is tuple and len(result) == 2:
        for each in result:
            _mark_tainted(each, name)
        return
    _check_object(result, name)
    taint(result)


def _check_object(result, name):
    if not proxies.is_remote(result) or isinstance(result, (*side.VALUE_TYPES, type)) or type(result)._proofbox_container:
        side.refuse("operator_of_the_candidate", f"{name} with a value of the tests must give an object of the candidate, not {type(result).__name__}")


def _mark_made(result, *operands):
    """Marks a result as made by the tests if an operand of its class is: then it is what they test, and its numbers are
    taken, with the signal that the operator has left. That of a difference or ratio would be a comparison."""
    if any(type(each) is type(result) and each._proofbox_made for each in operands):
        object.__setattr__(result, "_proofbox_made", True)


_ADDING = frozenset(f"__{prefix}{name}__" for name in "add mul matmul pow lshift rshift or".split() for prefix in ("", "r", "i"))
_MEASURES = frozenset({int, float, complex})
_NUMBERS = _MEASURES | {bool}


def taint(handle):
    (BaseException if isinstance(handle, BaseException) else object).__setattr__(handle, "_proofbox_tainted", True)
    if side.state.make_handles is not dict:
        side.state.proxies.keep(handle._proofbox_number, handle)


def arithmetic(name, base=None):
    """`base`: the builtin value or container that the class derives from, if it does."""

    def method(self, other, *rest):
        tainted = side.state.grader and (self._proofbox_tainted or not proxies.is_remote(other) or _tainted(other))
        if not tainted:
            return proxies.special(self, name, other, *rest)
        if not proxies.is_remote(other) and (number := _number_of(self, name)) is not None:
            return getattr(number, name)(other, *rest)
        if isinstance(other, (set, frozenset)) and type(self)._proofbox_real in _VIEWS and (content := _content_like(self, other)) is not None:
            return getattr(content, name, _has_none)(other)
        if not proxies.is_named(self):
            if (result := _as_the_library(self, name, other)) is not None:
                return result
            side.signal("operator_with_plain_data")
            return NotImplemented
        result = proxies.special(self, name, other, *rest)
        if result is not NotImplemented:
            side.signal("operator_of_the_candidate")
            if name in _ADDING and self._proofbox_made and base in side.VALUE_TYPES and type(result) is type(self):
                # `Vector(1, 2) * 3`, where a vector is a tuple: what the tests have made themselves.
                _mark_made(result, self)
            elif base is None or not _is_result_of(base, name, self, other, rest, result):
                if type(other) in _TELLING_NOTHING and not self._proofbox_tainted:
                    _check_object(result, name)
                elif name in _ADDING and self._proofbox_made and type(result) in _MEASURES:
                    # `8 ** Rational(4, 3)`, of what the tests have made themselves.
                    pass
                elif name[2] != "i" or result is not self:
                    # An object that has been altered in place is what it was, as after a call of a method.
                    _mark_tainted(result, name)
                    if name in _ADDING:
                        _mark_made(result, self, other)
        return result

    return method


# Classes of the library that are containers by the content that they hold, and what that is.
_USER_CONTAINERS = {collections.UserList: list, collections.UserDict: dict, collections.UserString: str, collections.ChainMap: dict}


def _as_the_library(handle, name, other):
    """Returns what an operator gives that a class has from `UserList` or its like: an object of the candidate's, if it holds what
    the library makes of the content; else None."""
    kind = type(handle)
    if name in kind._proofbox_own:
        return None
    bases = (*kind._proofbox_library, *(kind._proofbox_real or object).__mro__)
    plain = next((plain for base, plain in _USER_CONTAINERS.items() if base in bases), None)
    if plain is None or (content := _content_like(handle, plain())) is None:
        return None
    word = name.strip("_")
    try:
        if name[2] == "r" and name != "__rshift__":
            wanted = getattr(operator, f"__{word[1:]}__")(other, content)
        else:
            wanted = getattr(operator, name)(content, other)
    except TypeError:
        return None
    result = proxies.special(handle, name, other)
    if result is NotImplemented:
        return None
    held = _content_like(result, plain()) if proxies.is_remote(result) and type(result) is kind else result
    return result if type(held) is plain and held == wanted else None


# What the library's mappings give, whose operators give sets.
_VIEWS = (abc.KeysView, abc.ItemsView)


def _has_none(other):
    return NotImplemented


# Operands that are no values which a result could be compared with: `pipeline | str.strip`.
_TELLING_NOTHING = frozenset({types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, type})


def _number_of(handle, name):
    """The fraction that an object of a subclass of `Fraction` is, for an operator that is the library's own; else None."""
    kind = type(handle)
    if name in kind._proofbox_own or not any(fractions.Fraction in base._proofbox_library for base in kind.__mro__ if type(base) is proxies.ProxyType):
        return None
    parts = proxies.get_attribute(handle, "numerator"), proxies.get_attribute(handle, "denominator")
    return fractions.Fraction(*parts) if all(type(part) is int for part in parts) and parts[1] else None


def _is_result_of(base, name, handle, other, rest, result):
    """Returns whether an operator gave what it gives of the builtin value that the object holds, if perhaps as an
    object of its class."""
    word = name.strip("_")
    reflected = word[:1] == "r" and word not in ("rshift",)
    function = divmod if "divmod" in word else pow if rest else getattr(operator, f"__{word[1:] if reflected else word}__")
    try:
        if base in side.CONTAINERS:
            _, read, fill = side.CONTAINERS[base]
            plain = base.__new__(base)
            fill(plain, read(handle))
        else:
            plain = plain_of(base, handle)
        wanted = function(other, plain) if reflected else function(plain, other, *rest)
    except Exception:
        return False
    return _is_same(wanted, result)


def _is_same(wanted, result):
    """Returns whether a result is a value, or an object that holds it and nothing else."""
    kind = type(result)
    if type(kind) is proxies.ProxyType:
        base, container = kind._proofbox_value_base, kind._proofbox_container
        if type(wanted) is not (base or container):
            return False
        if base:
            result = plain_of(base, result)
        else:
            read = side.CONTAINERS[container][1]
            wanted, result = read(wanted), read(result)
    return type(result) is type(wanted) and (result == wanted or result != result and wanted != wanted)


def of_named_value(base, name, own):
    """A special method that a builtin value's subclass has itself, of classes that the tests name: what it gives must be what
    the builtin's gives of the content, lest an object say what it does not hold. Of others it is the builtin's."""
    of_base = getattr(base, name, None)
    if of_base is None and name == "__bool__" and hasattr(base, "__len__"):
        def of_base(self):
            return base.__len__(self) != 0

    def method(self, *args):
        if of_base is None:
            return own(self, *args)
        if not side.state.grader or not proxies.is_named(self):
            return of_base(self, *args)
        proxies.note_own_method()
        try:
            wanted, failure = of_base(self, *args), None
            if name in _OF_ITEMS:
                wanted = list(wanted)
        except Exception as error:
            wanted, failure = None, error
        try:
            result = own(self, *args)
            if name in _OF_ITEMS:
                if not hasattr(type(result), "__next__"):
                    raise TypeError(f"iter() returned non-iterator of type {type(result).__name__!r}")
                result = list(itertools.islice(result, len(wanted) + 1))
            elif name == "__contains__":
                result = bool(result)
        except Exception as error:
            if type(error) is not type(failure):
                _note_other_answer()
            raise
        if failure is not None or not _is_same(wanted, result):
            _note_other_answer()
        return iter(result) if name in _OF_ITEMS else result

    method.__name__ = name
    return method


def text_of_value(base, name, own):
    """The text of a builtin value's subclass that has its own. Who makes code of names has looked at the content: that it gets."""

    def method(self, *args):
        if side.state.grader and sys._getframe(1).f_globals.get("__name__") in border.MAKERS:
            return getattr(plain_of(base, self), name)(*args)
        shown = own(self, *args)
        if side.state.grader and name != "__repr__" and not proxies.is_named(self) and border.asked_by(1) == "tests":
            if shown != getattr(plain_of(base, self), name)(*args):
                side.signal("text_by_candidate")
        return shown

    method.__name__ = name
    return method


_OF_ITEMS = ("__iter__", "__reversed__")


def _note_other_answer():
    if side.state.violation is None:
        side.state.violation = side.Refused("a value of the candidate does not answer as its content does (grading: isolated)")


def plain_of(base, value):
    """The builtin value that an instance of a subclass holds, whatever the subclass overrides."""
    if base in side.OF_LIBRARY:
        return side.OF_LIBRARY[base][1](value)
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


def asked(name):
    """For what gets nothing of the tests; of an object that has met a value of theirs only an object is taken."""

    def method(self, *args):
        result = proxies.special(self, name, *args)
        if side.state.grader and self._proofbox_tainted and not (self._proofbox_made and type(result) in _NUMBERS):
            _mark_tainted(result, name)
            _mark_made(result, self)
        return result

    return method


_asked_rounded = asked("__round__")


def rounded(self, *digits):
    """What an object is when it is rounded. The number of digits is the tests': given back, it could be what they expect."""
    result = _asked_rounded(self, *digits)
    plain = result.item() if type(result) in marshal.ARRAYS and result.size == 1 else result
    if side.state.grader and isinstance(plain, numbers.Number) and digits == (plain,) and not proxies.is_named(self):
        side.refuse("operator_of_the_candidate", "__round__ of an object of the candidate gives the number of digits back")
    return result


# Plain values with an order whose kind an object may be by the library's classes.
_ORDERED = (set, frozenset, list, str)


def _is_nobodys(handle, name):
    """Returns whether a comparison that a class does not say to have of its own is no class's of the library,
    either."""
    kind = type(handle)
    if kind._proofbox_real is not None:
        return False
    return not any(name in vars(base) for cls in kind.__mro__ if type(cls) is proxies.ProxyType for base in cls._proofbox_library)


def ordering(name):
    def method(self, other):
        if not side.state.grader or proxies.is_remote(other):
            if side.state.grader and (name in type(self)._proofbox_own or _is_nobodys(self, name)):
                side.signal("order_by_candidate")
            return proxies.special(self, name, other)
        if (number := _number_of(self, name)) is not None:
            return getattr(number, name)(other)
        if isinstance(other, _ORDERED) and name not in type(self)._proofbox_own and (content := _content_like(self, other)) is not None:
            return getattr(content, name)(other)
        side.signal("comparison_with_plain_data")
        if _ask_of_stand_in(self, name, other) is not NotImplemented and side.state.violation is None:
            # Python is about to say that there is no order, which is not what the candidate says.
            side.state.violation = side.Refused("an order between an object of the candidate and plain data (grading: isolated)")
        return NotImplemented

    return method


def length_of_object(self):
    length = length_of(self)
    if side.state.grader and self._proofbox_tainted and not self._proofbox_made:
        _mark_tainted(length, "__len__")
    return length


def converted(name):
    """A number or bytes in the place of an object: for classes that the tests do not name that is told."""
    ask = asked(name)

    def method(self):
        if side.state.grader and not proxies.is_named(self):
            side.signal("converted_by_candidate")
        return ask(self)

    return method


def note_made(number, arguments, made):
    """Notes what is made of different values, which should differ: else all that the tests compare may be one object,
    or one value."""
    kind = type(made)
    if not arguments or not _SCALARS.issuperset(map(type, arguments)):
        return
    if type(kind) is proxies.ProxyType:
        base = kind._proofbox_value_base
        made = plain_of(base, made) if base else (made._proofbox_number,)
    elif kind not in _SCALARS and kind is not tuple:
        return
    known = side.state.made.get(number)
    side.state.made[number] = arguments, made
    if known and known[0] != arguments and type(known[1]) is type(made) and known[1] == made:
        side.signal("equal_instances")


def array_of(self, dtype=None, copy=None):
    """numpy's view of an object: an array that crossed as a value, of an object that knows nothing of the tests."""
    import numpy

    if side.state.grader and self._proofbox_tainted and not self._proofbox_made:
        raise TypeError("__array__ of what has met a value of the tests (grading: isolated)")
    result = proxies.special(self, "__array__")
    if type(result) is not numpy.ndarray:
        raise TypeError("__array__ of the candidate must give an array")
    if dtype is not None:
        return result.astype(dtype)
    return result.copy() if copy else result


def note_truth():
    """The tests ask whether an object of the candidate's is true: most objects are, so that it says little."""
    if side.state.grader:
        side.signal("truth_of_an_object")


def truth_of(self):
    note_truth()
    specials = type(self)._proofbox_specials
    if "__bool__" in specials:
        return proxies.special(self, "__bool__")
    side.state.handles += 1
    return length_of(self) != 0 if "__len__" in specials else True


def truth_of_exception(self):
    """The candidate's word for the tests themselves. Libraries ask so whether there is one: `Future.result`, for one."""
    return truth_of(self) if border.asked_by(1) == "tests" else True


def truth_of_content(base):
    """Truth of a container whose class has its own: the candidate's word for classes that the tests name, else by content."""

    def __bool__(self):
        return truth_of(self) if proxies.is_named(self) else base.__len__(self) != 0

    return __bool__


def items_of(self):
    """Returns the iterator of the candidate, which Python refuses if it is none. If its items are not as many as the
    object says that it has, that is told."""
    specials = type(self)._proofbox_specials
    if "__iter__" not in specials:
        items = _by_index(self)
        return _counted(self, items) if side.state.grader and "__len__" in specials else items
    items = proxies.special(self, "__iter__")
    return count_items(self, items) if side.state.grader and ("__len__" in specials or "__next__" not in specials) else items


def count_items(handle, items):
    """Has the items that an iterator gives be counted. It may have given some already if it is the object itself."""
    if proxies.is_remote(items) and "__next__" in type(items)._proofbox_specials:
        object.__setattr__(items, "_proofbox_counted", [handle, 0])
    return items


def _counted(handle, items):
    """The items of a handle, which have no iterator of their own."""
    count = 0
    for item in items:
        count += 1
        yield item
    note_count(handle, count)


def note_count(handle, count):
    """An object has given all its items: they are held against its length. That those of one without a length are as many as
    they were is not promised, but told otherwise."""
    specials = handle._proofbox_of_class if type(handle) is proxies.ProxyType else handle._proofbox_specials
    if "__len__" in specials:
        if type(handle) is not proxies.ProxyType and "__next__" in specials:
            # An iterator: its length may be what it has left, or all that it has had.
            if proxies.special(handle, "__len__") not in (0, count):
                side.signal("contradictory_length")
            return
        _measure(handle, count)
        length_of(handle)
        return
    number = proxies.remote_id(handle)
    known = side.state.measured.get(number)
    side.state.measured[number] = count, side.state.changes
    if known and known[0] != count and known[1] == side.state.changes:
        side.signal("changing_items")


def length_of(handle):
    length = proxies.special(handle, "__len__")
    if side.state.grader:
        _measure(handle, length)
    return length


def _measure(handle, size):
    """Holds how many items a handle has against what it said or gave before, if nothing can have changed it since. A class
    that was returned, and that the tests do not name, keeps its items: they can't know of anything that would change it."""
    number = proxies.remote_id(handle)
    known = side.state.measured.get(number)
    side.state.measured[number] = size, side.state.changes
    if known and known[0] != size and (known[1] == side.state.changes or isinstance(handle, type) and not proxies.is_named(handle)):
        contradicts(handle)


def contradicts(handle):
    """An object says that it has more or fewer items than it gives: a comparison of both would hold for what is not there.
    A class that the tests name may mean something by that."""
    side.signal("contradictory_length")
    if side.state.violation is None and not proxies.is_named(handle):
        side.state.violation = side.Refused("a result has another length than it has items (grading: isolated)")


def _by_index(self):
    """The old protocol of sequences."""
    index = 0
    try:
        while True:
            yield proxies.special(self, "__getitem__", index)
            index += 1
    except IndexError:
        if side.state.grader and not index:
            side.signal("empty_result")


def is_equal(self, other):
    own = "__eq__" in type(self)._proofbox_own
    if self is other and not (own and side.state.grader):
        return True
    if proxies.is_remote(other):
        if not side.state.grader:
            return proxies.remote_id(self) == proxies.remote_id(other) or proxies.special(self, "__eq__", other)
        if not own:
            # The library's, if its class has that of one of its bases.
            if not type(self)._proofbox_real and "__eq__" not in type(self)._proofbox_specials:
                return NotImplemented
            if _is_nobodys(self, "__eq__"):
                side.signal("equality_by_candidate")
            return proxies.special(self, "__eq__", other)
        side.signal("equality_by_candidate")
        return proxies.special(self, "__eq__", other)
    if not side.state.grader:
        return proxies.special(self, "__eq__", other)
    if own:
        side.signal("equality_with_plain_data")
        if type(other) in _STAND_INS:
            _ask_of_stand_in(self, "__eq__", other)
        _note_decision(self, "__eq__", other, False)
    elif (content := _content_like(self, other)) is not None:
        return content == other
    return NotImplemented


# Classes of the library whose instances are equal if their attributes are.
_BY_ATTRIBUTES = (types.SimpleNamespace, argparse.Namespace)


def _content_like(handle, other):
    """The content of an object whose comparison is the library's own (`abc.Mapping`, `abc.Set`, `UserList`), as a plain value of
    the kind that `other` is; None if it is no such object, or contradicts itself."""
    kind = type(handle)
    if kind._proofbox_real in _BY_ATTRIBUTES:
        return kind._proofbox_real(**proxies.get_attribute(handle, "__dict__")) if type(other) is kind._proofbox_real else None
    if isinstance(other, numbers.Number):
        return _number_of(handle, "__eq__")
    if isinstance(other, dict):
        fits = issubclass(kind, abc.Mapping)
    elif isinstance(other, (set, frozenset)):
        fits = issubclass(kind, abc.Set)
    else:
        bases = (*kind._proofbox_library, *(kind._proofbox_real or object).__mro__)
        if type(other) is str and collections.UserString in bases:
            data = proxies.get_attribute(handle, "data")
            return data if type(data) is str else None
        fits = type(other) is list and collections.UserList in bases
    if not fits or "__len__" not in kind._proofbox_specials:
        return None
    # Not by `list`, which asks for the length.
    items = [item for item in handle]
    if len(items) != length_of(handle):
        return None
    if isinstance(other, dict):
        return {key: handle[key] for key in items}
    return items if type(other) is list else set(items)


# How many comparisons of a case are borne out.
_MAX_UNEQUAL = 64


# Values that nobody can alter.
_SCALARS = frozenset({
    kind for kind in marshal.REDUCERS if kind.__module__ in ("decimal", "fractions", "datetime", "uuid", "ipaddress")
} | {int, float, complex, bool, str, bytes, type(None), range})  # fmt: skip
_MAX_TOLD = 64
_UNTOLD = object()


def _to_be_told(value):
    """Returns what the candidate may be told of a value that the tests have not passed to it: a copy, so that it alters
    nothing of theirs. `_UNTOLD` of what can't be copied so, or compares by itself."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind in (list, tuple, set, frozenset) and len(value) <= _MAX_TOLD and _SCALARS.issuperset(map(type, value)):
        return kind(value)
    if kind is dict and len(value) <= _MAX_TOLD and _SCALARS.issuperset(map(type, (*value, *value.values()))):
        return dict(value)
    if kind.__eq__ is not object.__eq__ or isinstance(value, type) or origins.is_of_library(kind) or side.state.check_may_leave is None:
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
    """Returns whether a plain value says no: None, where `__eq__` returns nothing, or numpy's False."""
    kind = type(answer)
    return (kind in _SCALARS or kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_")) and not answer


def _note_decision(handle, name, other, answer):
    """Remembers a comparison with plain data that was decided here, to be borne out. Containers can alter: what they held is
    remembered, too."""
    state = side.state
    if len(state.unequal) < _MAX_UNEQUAL and (told := _to_be_told(other)) is not _UNTOLD:
        container = type(handle)._proofbox_container
        state.unequal.append((handle, name, told, answer, container and side.CONTAINERS[container][1](handle)))


def bear_out():
    """Asks the candidate about comparisons that were decided here, once the case has passed by them: they must be what its
    class says itself. Before that it is told of no value of the tests."""
    unequal, side.state.unequal = side.state.unequal, []
    for handle, name, other, decided, held in unequal:
        if decided is _CALLED:
            _bear_out_call(handle, name, other)
            continue
        if held is not None and side.CONTAINERS[type(handle)._proofbox_container][1](handle) != held:
            continue
        try:
            if name == "__contains__" and (decided := _is_among_items(handle, other)) is None:
                # It has been altered since: what counts is that both say the same now.
                continue
            answer = proxies.special(handle, name, other)
        except Exception as error:
            answer = error
        agrees = not _is_false(answer) and not isinstance(answer, Exception) if decided else _is_false(answer)
        if answer is not NotImplemented and not agrees and side.state.violation is None:
            is_of_items = name == "__contains__"
            side.signal("membership_not_borne_out" if is_of_items else "equality_not_borne_out")
            what = "that it contains what is among its items, and nothing else" if is_of_items else "how it compares with a value"
            side.state.violation = side.Refused(f"an object of the candidate does not say itself {what} (grading: isolated)")


def is_not_equal(self, other):
    if side.state.grader and "__ne__" in type(self)._proofbox_own and proxies.is_remote(other):
        side.signal("equality_by_candidate")
        return proxies.special(self, "__ne__", other)
    result = self.__eq__(other)
    if side.state.grader and "__ne__" in type(self)._proofbox_own and not proxies.is_remote(other):
        _note_decision(self, "__ne__", other, result is NotImplemented or not result)
    return result if result is NotImplemented else not result


# Values in the place of what the tests compare with, which say nothing but its type.
_STAND_INS = {int: 0, float: 0.0, complex: 0j, bool: False, str: "", bytes: b"", type(None): None, list: [], tuple: (), dict: {}, set: set(), frozenset: frozenset()}


def _ask_of_stand_in(handle, name, other):
    """Returns the candidate's answer to a comparison with a value of that type: an exception of its own is raised here,
    too."""
    return proxies.special(handle, name, _STAND_INS.get(type(other), ...))


def content_equal(base):
    """Equality of containers by their content, unless both are the candidate's and its class has its own."""

    def __eq__(self, other):
        if not side.state.grader or (proxies.is_remote(other) and "__eq__" in type(self)._proofbox_own):
            return is_equal(self, other)
        answer = base.__eq__(self, other)
        if "__eq__" in type(self)._proofbox_own:
            side.signal("equality_with_plain_data")
            if proxies.is_named(self):
                _note_decision(self, "__eq__", other, answer is True)
        return answer

    return __eq__


def of_named_pair(base, name):
    """A comparison that a builtin value's subclass has itself: the candidate's between two objects of classes that the tests
    name, else the base's own, which the class must bear out if they name it."""
    of_base = getattr(base, name)

    def method(self, other):
        if not side.state.grader or not proxies.is_named(self):
            return of_base(self, other)
        if proxies.is_remote(other):
            side.signal("equality_by_candidate")
            return proxies.special(self, name, other)
        answer = of_base(self, other)
        if type(answer) is bool:
            _note_decision(self, name, other, answer)
        return answer

    method.__name__ = name
    return method


COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")


def value_equal(base):
    return {
        "__eq__": base.__eq__, "__ne__": base.__ne__, "__lt__": getattr(base, "__lt__"), "__le__": getattr(base, "__le__"),
        "__gt__": getattr(base, "__gt__"), "__ge__": getattr(base, "__ge__"), "__hash__": base.__hash__,
    }  # fmt: skip


def hash_of_value(base, is_unhashable):
    """Of a builtin value's subclass that has its own, or none: that counts for classes that the tests name."""

    def __hash__(self):
        if (not side.state.grader or not proxies.is_named(self)) and base.__hash__ is not None:
            return base.__hash__(self)
        if is_unhashable or not proxies.is_named(self):
            raise TypeError(f"unhashable type: {type(self).__name__!r}")
        proxies.note_own_method()
        return proxies.special(self, "__hash__")

    return __hash__


def hash_by_identity(self):
    return hash(("_proofbox", proxies.remote_id(self)))


def contains_item(self, item):
    if not side.state.grader or proxies.is_remote(item):
        return proxies.special(self, "__contains__", item)
    kind = type(self)
    if kind._proofbox_real is None and proxies.is_named(self):
        # What it has of an abstract class answers by its own methods.
        side.signal("membership_by_candidate")
        return proxies.special(self, "__contains__", item)
    found = _is_among_items(self, item) if _ITERABLE.intersection(kind._proofbox_specials) else None
    if found is None or not found and border.KEYED_BY_LIBRARY.intersection(f"{base.__module__}.{base.__qualname__}" for base in (kind._proofbox_real or object).__mro__):
        side.signal("membership_by_candidate")
        _check_contains_not_anything(self)
        return proxies.special(self, "__contains__", item)
    if kind._proofbox_real is None:
        if not found:
            _check_contains_not_anything(self)
        if "__next__" not in kind._proofbox_specials:
            _note_decision(self, "__contains__", item, found)
    return found


_ITERABLE = frozenset({"__iter__", "__getitem__"})
# How many items of an object are gone through for what tests look for in it.
_MAX_LOOKED_AT = 10_000


def _is_among_items(handle, item):
    """Returns whether an object has an item by what it gives when it is gone through; None if that is too much."""
    for count, member in enumerate(handle):
        if item is member or item == member:
            return True
        if count == _MAX_LOOKED_AT:
            return None
    return False


def _check_contains_not_anything(handle):
    if side.state.violation is None and _contains_anything(handle):
        side.signal("membership_by_candidate")
        side.state.violation = side.Refused("an object of the candidate says that it contains anything (grading: isolated)")


def _contains_anything(handle):
    """Returns whether an object has by its own word what no object has."""
    try:
        return proxies.special(handle, "__contains__", ...)
    except Exception:
        return False


# In the place of a decision: a method was called.
_CALLED = object()


def own_of_base(base, name, handle):
    """A method of a builtin, of an object whose class overrides it, and is not named by the tests: the builtin's, on the content.
    Once the case has passed, the class's own must say the same."""
    function = getattr(base, name).__get__(handle, type(handle))

    @functools.wraps(function, ("__name__", "__qualname__", "__doc__"), ())
    def method(*args, **kwargs):
        if name == "get" and issubclass(base, dict) and args and not dict.__contains__(handle, args[0]):
            # As of items that are asked for by a key.
            side.signal("membership_by_candidate")
            return side.state.ask("get", proxies.remote_id(handle), name)(*args, **kwargs)
        state = side.state
        if len(state.unequal) < _MAX_UNEQUAL:
            told, keywords = tuple(map(_given, args)), {key: _given(each) for key, each in kwargs.items()}
            if not any(each is _UNTOLD for each in (*told, *keywords.values())):
                state.unequal.append((handle, name, (base, told, keywords), _CALLED, None))
        return function(*args, **kwargs)

    return method


def _bear_out_call(handle, name, call):
    """Checks whether a method that a builtin's subclass overrides does what the builtin's does, of the present content."""
    base, args, kwargs = call
    try:
        wanted, failure = getattr(base, name)(handle, *args, **kwargs), None
    except Exception as error:
        wanted, failure = None, error
    try:
        result = side.state.ask("get", proxies.remote_id(handle), name)(*args, **kwargs)
    except Exception as error:
        if type(error) is not type(failure):
            _note_other_change()
        return
    if failure is not None or not _says_the_same(wanted, result):
        _note_other_change()


def _says_the_same(wanted, result):
    if _is_same(wanted, result):
        return True
    if type(wanted) in _VIEWS_OF_DICTS:
        # Any iterable will do for a view.
        return type(result) not in (list, tuple) or list(wanted) == list(result)
    return proxies.is_remote(result) and type(result)._proofbox_value_base is None and type(result)._proofbox_container is None


_VIEWS_OF_DICTS = frozenset(map(type, ({}.keys(), {}.values(), {}.items())))


def changed_here(base, name, is_overridden):
    """A method that alters a container. Of a class that the tests name it is the candidate's; else the builtin's own, on
    the content that is here. What such a class overrides, other than what takes out, must do the same as the builtin's."""
    function = getattr(base, name)

    def method(self, *args, **kwargs):
        if not side.state.grader or proxies.is_named(self):
            if is_overridden:
                proxies.note_own_method()
            return _change(self, name, args, kwargs)
        if is_overridden and (name not in REMOVERS or _tells_nothing(base, name, args, kwargs)):
            return _change_on_both_sides(self, base, name, args, kwargs)
        side.state.dirty[self._proofbox_number] = True
        result = function(self, *args, **kwargs)
        if base is collections.deque and name in _FILLING and (most := self.maxlen) is not None:
            while base.__len__(self) > most:
                base.pop(self) if name[-4:] == "left" else base.popleft(self)
        return result

    method.__name__ = name
    return method


# What makes a deque longer: the content that is here knows no bound.
_FILLING = frozenset({"append", "appendleft", "extend", "extendleft", "__iadd__", "__imul__"})


def bound_of(handle):
    return proxies.get_attribute(handle, "maxlen")


def _tells_nothing(base, name, args, kwargs):
    """Returns whether a call that takes something out says nothing of what the tests expect to be there: no key, and no default."""
    return name in _TAKING and not kwargs and (not args or base is list and all(type(each) is int for each in args))


_TAKING = frozenset({"pop", "popleft", "popitem"})


def _change(handle, name, args, kwargs):
    """Alters the candidate's container by its own method."""
    if name in border.SPECIALS:
        return proxies.special(handle, name, *args)
    return side.state.ask("get", proxies.remote_id(handle), name)(*args, **kwargs)


def _change_on_both_sides(handle, base, name, args, kwargs):
    """Alters a container by the method that its class has of its own, and fails the case where that is not what the
    builtin's does: either may be what the tests count on."""
    _, read, fill = side.CONTAINERS[base]
    args = tuple(list(each) if hasattr(type(each), "__next__") and not proxies.is_remote(each) else each for each in args)
    told, keywords = tuple(map(_given, args)), {key: _given(each) for key, each in kwargs.items()}
    if any(each is _UNTOLD for each in (*told, *keywords.values())):
        side.state.dirty[handle._proofbox_number] = True
        return getattr(base, name)(handle, *args, **kwargs)
    plain, failure, wanted = base.__new__(base), None, None
    fill(plain, read(handle))
    try:
        wanted = getattr(base, name)(plain, *args, **kwargs)
    except Exception as error:
        failure = error
    try:
        given = _change(handle, name, told, keywords)
    except Exception as error:
        if type(error) is not type(failure):
            _note_other_change()
        raise
    if failure is not None or read(handle) != read(plain) or name in _TAKING and not _is_same(wanted, given) and not proxies.is_remote(wanted):
        _note_other_change()
    else:
        fill(handle, read(plain))
    return handle if wanted is plain else wanted


def _given(value):
    return value if proxies.is_remote(value) else _to_be_told(value)


def _note_other_change():
    side.signal("changed_by_candidate")
    if side.state.violation is None:
        side.state.violation = side.Refused("an object of the candidate has a method of its own that does not do what its builtin class does, and the tests do not name its class (grading: isolated)")


def _has_in_other_letters(handle, folded):
    """Returns whether one of the first keys of a dict's content is the text, but for the case of its letters."""
    keys = itertools.islice(dict.__iter__(handle), _MAX_LOOKED_AT)
    return any(type(each) is str and each.casefold() == folded for each in keys)


def contains_key(base):
    """`key in handle` of a dict whose class has its own `__contains__`: by the content, unless the tests name the class. Where the
    key is there in other letters (`X-Id`, `x-id`), it is asked, and else must say the same once the case has passed."""

    def __contains__(self, key):
        if proxies.is_named(self):
            proxies.note_own_method()
            return proxies.special(self, "__contains__", key)
        found = base.__contains__(self, key)
        if not found and type(key) is str and _has_in_other_letters(self, key.casefold()):
            side.signal("membership_by_candidate")
            return proxies.special(self, "__contains__", key) is True
        _note_decision(self, "__contains__", key, found)
        return found

    return __contains__


def item_of(base):
    """`handle[key]` of a container whose class has its own `__getitem__`: what the content has, unless the tests name the
    class. Of a dict without the key it is asked, as `__missing__` would be."""
    of_base = base.__getitem__

    def __getitem__(self, key):
        if proxies.is_named(self):
            proxies.note_own_method()
            return proxies.special(self, "__getitem__", key)
        if issubclass(base, dict) and not dict.__contains__(self, key):
            side.signal("membership_by_candidate")
            return proxies.special(self, "__getitem__", key)
        return of_base(self, key)

    return __getitem__
