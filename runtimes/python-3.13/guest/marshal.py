"""Values that cross between two guests: plain builtin types (codec.c) and, by the tables here, the library's value
types. A table entry has three parts: `reduce(value)` gives `(name, payload)`, PAYLOADS says what a payload must be,
`restore(name, payload)` makes the value again, of exactly the same type. All else is an object, and crosses as its
number (proxies.py)."""

import array
import collections
import collections.abc
import datetime
import decimal
import fractions
import functools
import ipaddress
import itertools
import math
import operator
import pathlib
import re
import sys
import time
import types
import typing
import uuid
import zoneinfo

import _proofbox

# As they are now: tests may replace classes in these modules.
datetime, decimal, fractions, pathlib, uuid, zoneinfo = (
    types.SimpleNamespace(**vars(each)) for each in (datetime, decimal, fractions, pathlib, uuid, zoneinfo)
)


class CannotCross(BaseException):
    """A value that can't leave its interpreter: too large, or nested too deep; or one that came and is none. No test
    expects it, and no `except Exception` holds it."""


def _zone(value):
    """A time zone as plain data; what a class of the user computes becomes a fixed offset with its name, and of a moment also
    the part of that which is summer time."""
    zone = value.tzinfo
    if zone is None:
        return None
    if type(zone) is zoneinfo.ZoneInfo and zone.key:
        return zone.key
    if type(zone) is datetime.timezone:
        offset, *name = zone.__getinitargs__()
    else:
        moment = value if type(value) is datetime.datetime else None
        offset, *name = zone.utcoffset(moment), zone.tzname(moment)
        if offset is not None and moment is not None and type(saved := zone.dst(moment)) is datetime.timedelta:
            return _parts(offset), name[0] if type(name[0]) is str else None, _parts(saved)
    return None if offset is None else (*_parts(offset), *(each for each in name if type(each) is str))


def _parts(duration):
    return duration.days, duration.seconds, duration.microseconds


class Zone(datetime.tzinfo):
    """What a class of the user has computed for one moment: it says the same of any."""

    def __init__(self, offset, name, saved):
        self._said = offset, name, saved

    def utcoffset(self, moment):
        return self._said[0]

    def tzname(self, moment):
        return self._said[1]

    def dst(self, moment):
        return self._said[2]

    def fromutc(self, moment):
        return moment + self._said[0]

    def __getinitargs__(self):
        return self._said

    def __repr__(self):
        return f"<{self._said[1] or self._said[0]}>"


def _make_zone(payload):
    if payload is None:
        return None
    if type(payload) is str:
        return zoneinfo.ZoneInfo(payload)
    if not fits((int, int, int), payload[:3]):
        if not fits(COMPUTED_ZONE, payload):
            raise CannotCross("no time zone")
        offset, name, saved = payload
        # Its bounds are those of any offset.
        return Zone(datetime.timezone(datetime.timedelta(*offset)).utcoffset(None), name, datetime.timezone(datetime.timedelta(*saved)).utcoffset(None))
    return datetime.timezone(datetime.timedelta(*payload[:3]), *payload[3:])


def _make_moment(cls, payload):
    text, zone, fold = payload
    return cls.fromisoformat(text).replace(tzinfo=_make_zone(zone), fold=fold)


def _moment(name):
    return lambda v: (name, (v.replace(tzinfo=None).isoformat(), _zone(v), v.fold))


def _viewed(view, copy):
    """Returns what a view is of, if it is to be a view on the other side, too; else a copy of what it gives."""
    viewed = viewed_by(view)
    return copy(view) if viewed is None else viewed


def _is_type(value):
    """Returns whether the other side can make annotations of a value: a class, `list[int]`, a form of typing, None."""
    kind = type(value)
    if kind is types.GenericAlias or kind is _CALLABLE:
        return isinstance(value.__origin__, type)
    return isinstance(value, type) or value is None or kind.__module__ == "typing" and kind in REDUCERS


def _reduce_alias(value):
    """`typing.List[int]`, `Optional[str]`, `Callable[[int], str]`, by their names in the module; `Stack[int]` of a class of the
    user's."""
    origin = value.__origin__
    if type(value) is _OF_CLASS and isinstance(origin, type) and value._name not in _FORMS and all(map(_is_type, value.__args__)):
        return "generic", (origin, value.__args__)
    name = value._name if type(origin) is type else origin._name if origin in (typing.Union, typing.Literal) else None
    name = name or getattr(value, "_name", None)
    if type(name) is not str or name not in _FORMS or name != "Literal" and not all(each is ... or _is_type(each) for each in value.__args__):
        return reduce_object(value)
    if name == "Callable":
        *parameters, result = value.__args__
        return "typing", (name, (parameters[0] if parameters == [...] else parameters, result))
    return "typing", (name, value.__args__)


def _make_alias(payload):
    name, arguments = payload
    if name not in _FORMS:
        raise CannotCross("no form of typing")
    form = getattr(typing, name)
    return form if arguments is None else form[arguments if len(arguments) != 1 else arguments[0]]


def _make_union(members):
    if len(members) < 2 or not all(isinstance(each, (type, types.GenericAlias)) or each is None for each in members):
        raise CannotCross("no types")
    return functools.reduce(operator.or_, members)


def _make_annotated(payload):
    kind, metadata = payload
    if not metadata or not _is_type(kind):
        raise CannotCross("no annotation")
    return typing.Annotated[kind, *metadata]


def _make_forward(text):
    """A name of a class within an annotation (`Optional["Node"]`): looked up as annotations that are text are."""
    try:
        return typing.ForwardRef(text)
    except SyntaxError:
        raise CannotCross("no annotation") from None


def _make_generic(payload):
    origin, arguments = payload
    if not isinstance(origin, type):
        raise CannotCross("no generic type")
    if origin is collections.abc.Callable:
        if not arguments:
            raise CannotCross("no generic type")
        *parameters, result = arguments
        return origin[parameters[0] if parameters == [...] else parameters, result]
    return types.GenericAlias(origin, arguments)


# Forms of typing that annotations are made of.
_FORMS = frozenset(
    "List Dict Set FrozenSet Tuple Type Deque DefaultDict OrderedDict Counter Iterable Iterator Sequence MutableSequence Mapping "
    "MutableMapping Collection Container Generator Awaitable Coroutine AsyncIterable AsyncIterator Callable Union Literal".split()
)
_PATTERN = type(re.compile(""))
_CALLABLE = GENERIC_CALLABLE = type(collections.abc.Callable[[int], int])
_OF_CLASS = type(typing.List[int])
_ANNOTATED = type(typing.Annotated[int, 0])

# Values that their text says all of.
_BY_TEXT = {
    "ipv4_network": ipaddress.IPv4Network, "ipv6_network": ipaddress.IPv6Network, "ipv4_interface": ipaddress.IPv4Interface,
    "ipv6_interface": ipaddress.IPv6Interface, "windows_path": pathlib.PureWindowsPath,
}  # fmt: skip


def _reduce_memory(view):
    """Reduces a view to what is viewed, if it is all seen; else to a copy. Somebody else may hold that object, and
    alter it."""
    viewed = view.obj
    if type(viewed) in _VIEWED_WHOLE and view.c_contiguous and view.nbytes == len(viewed) * getattr(viewed, "itemsize", 1):
        return "memoryview", (viewed, view.format, view.shape, view.readonly)
    # References: the view's, the variable, and the argument.
    if not view.readonly and sys.getrefcount(viewed) > 3 or len(view.format) != 1:
        note_lost()
    is_known = len(view.format) == 1
    return "memoryview", (view.tobytes(), view.format if is_known else "B", view.shape if is_known else (view.nbytes,), view.readonly)


_VIEWED_WHOLE = frozenset({bytes, bytearray, array.array})


def _make_memory(payload):
    viewed, kind, shape, is_read_only = payload
    made = memoryview(bytearray(viewed) if type(viewed) is bytes and not is_read_only else viewed)
    if made.format != kind or made.shape != shape:
        made = made.cast("B")
        if kind != "B" or len(shape) != 1:
            made = made.cast(kind, list(shape)) if len(shape) != 1 else made.cast(kind)
    if made.shape != shape:
        raise CannotCross("a view of another shape")
    return made.toreadonly() if is_read_only else made



REDUCERS = {
    range: lambda v: ("range", (v.start, v.stop, v.step)),
    slice: lambda v: ("slice", (v.start, v.stop, v.step)),
    type(...): lambda v: ("ellipsis", ()),
    type(NotImplemented): lambda v: ("not_implemented", ()),
    decimal.Decimal: lambda v: ("decimal", str(v)),
    fractions.Fraction: lambda v: ("fraction", (v.numerator, v.denominator)),
    datetime.date: lambda v: ("date", (v.year, v.month, v.day)),
    datetime.time: _moment("time"),
    datetime.datetime: _moment("datetime"),
    datetime.timedelta: lambda v: ("timedelta", (v.days, v.seconds, v.microseconds)),
    datetime.timezone: lambda v: ("timezone", _zone(datetime.time(tzinfo=v))),
    zoneinfo.ZoneInfo: lambda v: ("timezone", _zone(datetime.time(tzinfo=v))),
    Zone: lambda v: ("timezone", (_parts(v.utcoffset(None)), v.tzname(None), _parts(v.dst(None)))),
    # A bound can't be set later, so a bounded deque is made whole (and can't hold itself).
    collections.deque: lambda v: ("+deque", (list(v),)) if v.maxlen is None else ("deque", (list(v), v.maxlen)),
    collections.Counter: lambda v: ("+counter", dict(v)),
    collections.OrderedDict: lambda v: ("+ordered_dict", dict(v)),
    collections.defaultdict: lambda v: ("+default_dict", (v.default_factory, dict(v))),
    type({}.keys()): lambda v: ("dict_keys", _viewed(v, list)),
    type({}.values()): lambda v: ("dict_values", _viewed(v, list)),
    type({}.items()): lambda v: ("dict_items", _viewed(v, list)),
    types.MappingProxyType: lambda v: ("mappingproxy", _viewed(v, dict)),
    pathlib.PosixPath: lambda v: ("path", str(v)),
    pathlib.PurePosixPath: lambda v: ("pure_path", str(v)),
    uuid.UUID: lambda v: ("uuid", v.int),
    ipaddress.IPv4Address: lambda v: ("ipv4", int(v)),
    ipaddress.IPv6Address: lambda v: ("ipv6", (int(v), v.scope_id)),
    **{kind: lambda v, name=name: (name, str(v)) for name, kind in _BY_TEXT.items()},
    array.array: lambda v: ("array", (v.typecode, v.tobytes())),
    _PATTERN: lambda v: ("pattern", (v.pattern, v.flags)),
    memoryview: _reduce_memory,
    time.struct_time: lambda v: ("struct_time", tuple(v)),
    types.GenericAlias: lambda v: ("generic", (v.__origin__, v.__args__)) if _is_type(v) else reduce_object(v),
    _CALLABLE: lambda v: ("generic", (v.__origin__, v.__args__)) if _is_type(v) else reduce_object(v),
    _ANNOTATED: lambda v: ("annotated", (v.__origin__, v.__metadata__)) if _is_type(v.__origin__) else reduce_object(v),
    typing.ForwardRef: lambda v: ("forward", v.__forward_arg__) if v.__forward_module__ is None else reduce_object(v),
    types.UnionType: lambda v: ("union", v.__args__) if all(map(_is_type, v.__args__)) else reduce_object(v),
    type(typing.List): lambda v: ("typing", (v._name, None)) if v._name in _FORMS else reduce_object(v),
    type(typing.Callable): lambda v: ("typing", ("Callable", None)),
    **dict.fromkeys(map(type, (typing.List[int], typing.Optional[int], typing.Callable[[int], int], typing.Literal[1])), _reduce_alias),
}


# What each payload must be, before anything is made of it: a type, a tuple of such, or a set of types.
ZONE = frozenset({str, tuple, type(None)})
COMPUTED_ZONE = ((int, int, int), frozenset({str, type(None)}), (int, int, int))
VIEWED = frozenset({list, dict})
MOMENT = (str, ZONE, int)
PAYLOADS = {
    "range": (int, int, int),
    "slice": (object, object, object),
    "ellipsis": (),
    "not_implemented": (),
    "nan": int,
    "decimal": str,
    "fraction": (int, int),
    "date": (int, int, int),
    "time": MOMENT,
    "datetime": MOMENT,
    "timedelta": (int, int, int),
    "timezone": frozenset({str, tuple}),
    "deque": (list, int),
    "dict_keys": VIEWED,
    "dict_values": VIEWED,
    "dict_items": VIEWED,
    "mappingproxy": dict,
    "path": str,
    "pure_path": str,
    "uuid": int,
    "ipv4": int,
    "ipv6": (int, frozenset({str, type(None)})),
    **dict.fromkeys(_BY_TEXT, str),
    "array": (str, bytes),
    "pattern": (frozenset({str, bytes}), int),
    "memoryview": (_VIEWED_WHOLE, str, tuple, bool),
    "struct_time": tuple,
    "generic": (object, tuple),
    "union": tuple,
    "forward": str,
    "annotated": (object, tuple),
    "typing": (str, frozenset({tuple, type(None)})),
    "+deque": (list,),
    "+counter": dict,
    "+ordered_dict": dict,
    "+default_dict": (object, dict),
    "object_array": (tuple, list),
    "+ndarray": (frozenset({str, list}), tuple, bytes, int),
    "array_view": (object, frozenset({str, list}), tuple, int, tuple, bool),
    "numpy_number": (str, bytes),
    "numpy_type": frozenset({str, list}),
    # Of proxies.py, which looks at what is in them.
    "yours": int,
    "mine": int,
    "library": (str, str),
    "module": str,
    "function": (str, str),
    "member": (object, frozenset({str, int})),
    "loop": (),
    "object": (int, object, object),
    "class": (int, str, str, tuple, tuple, tuple, tuple),
    "exception": (object, object, tuple, str, dict, object, object, object, bool),
}


def fits(shape, payload):
    """Returns whether a payload is of a shape: exact types only."""
    if type(shape) is tuple:
        return type(payload) is tuple and len(payload) == len(shape) and all(map(fits, shape, payload))
    return shape is object or (type(payload) in shape if type(shape) is frozenset else type(payload) is shape)


def _array(payload):
    value = array.array(payload[0])
    value.frombytes(payload[1])
    if value.typecode in "fd" and not all(map(math.isfinite, value)):
        note_not_finite(any(map(math.isnan, value)), any(map(math.isinf, value)))
    return value


def _decimal(text):
    value = decimal.Decimal(text)
    if not value.is_finite():
        note_not_finite(value.is_nan(), value.is_infinite())
    return value


def _fill_array(target, content, may_unlock):
    if type(content) is not bytes or len(content) % target.itemsize:
        raise CannotCross("a change to what can't be changed")
    made = array.array(target.typecode)
    made.frombytes(content)
    target[:] = made


RESTORERS = {
    "range": lambda p: range(*p),
    "slice": lambda p: slice(*p),
    "ellipsis": lambda p: ...,
    "not_implemented": lambda p: NotImplemented,
    "decimal": _decimal,
    "fraction": lambda p: fractions.Fraction(*p),
    "date": lambda p: datetime.date(*p),
    "time": lambda p: _make_moment(datetime.time, p),
    "datetime": lambda p: _make_moment(datetime.datetime, p),
    "timedelta": lambda p: datetime.timedelta(*p),
    "timezone": _make_zone,
    "deque": lambda p: collections.deque(p[0], p[1]),
    "dict_keys": lambda p: (p if type(p) is dict else dict.fromkeys(p)).keys(),
    "dict_values": lambda p: (p if type(p) is dict else dict(enumerate(p))).values(),
    "dict_items": lambda p: (p if type(p) is dict else dict(p)).items(),
    "mappingproxy": lambda p: types.MappingProxyType(p),
    "path": pathlib.PosixPath,
    "pure_path": pathlib.PurePosixPath,
    "uuid": lambda p: uuid.UUID(int=p),
    "ipv4": ipaddress.IPv4Address,
    "ipv6": lambda p: ipaddress.IPv6Address(p[0] if p[1] is None else f"{ipaddress.IPv6Address(p[0])}%{p[1]}"),
    **_BY_TEXT,
    "array": _array,
    "pattern": lambda p: re.compile(*p),
    "memoryview": _make_memory,
    "struct_time": time.struct_time,
    "generic": _make_generic,
    "union": _make_union,
    "forward": _make_forward,
    "annotated": _make_annotated,
    "typing": _make_alias,
}


def _fill_default_dict(payload, made):
    made.default_factory, items = payload
    made.update(items)
    return made


# Containers that can hold themselves: made empty first, filled when their content is there.
FILLABLE = {
    "+deque": (collections.deque, lambda p, made: made.extend(p[0])),
    "+counter": (collections.Counter, lambda p, made: dict.update(made, p)),
    "+ordered_dict": (collections.OrderedDict, lambda p, made: made.update(p)),
    "+default_dict": (collections.defaultdict, _fill_default_dict),
}
CONTENT = {
    collections.deque: tuple,
    collections.Counter: lambda v: tuple(dict.items(v)),
    collections.OrderedDict: lambda v: tuple(v.items()),
    collections.defaultdict: lambda v: (v.default_factory, *v.items()),
    array.array: lambda v: (v.tobytes(),),
}


def reduce(value):
    reducer = REDUCERS.get(type(value))
    return reducer(value) if reducer else reduce_object(value)


def restore(name, payload, made=None):
    restorer = RESTORERS.get(name)
    if restorer is None:
        make, fill = FILLABLE[name]
        if payload is None:
            return make()
    if not fits(PAYLOADS[name], payload):
        raise CannotCross(f"no payload of {name}")
    if restorer:
        return restorer(payload)
    fill(payload, made)
    return made


# ---------------------------------------------------------------- numpy's values


# How many bytes a view may seem to have: it may show the same ones again and again.
MAX_VIEW = 8 << 20
# Of larger arrays a view crosses as a copy: as many doubles as a list that is shared may have items (sharing.py).
MAX_VIEWED = 16_000
# By type: how a change of a rich value is carried out, and how it is seen where `_contents_differ` does not see it.
APPLIERS, SAME = {array.array: _fill_array}, {}
# ... and what is told of it, if that is more than what is compared.
WHOLE = {}


# Of an array: its items lie column by column; it can't be written to.
_BY_COLUMNS, _READ_ONLY = 1, 2
_LAYOUTS = range(4)
# Kinds of numpy's types that have values that are no numbers, or no moments.
_INEXACT = "fcmM"
# Above this, the square of a number is infinite (as in codec.c).
LARGEST = 1e150


def know_numpy():
    """Arrays, their types and single numbers of numpy's cross by value, too. Once, when the image is made."""
    import numpy

    def reduce_array(array):
        base = array.base
        if base is not None and not is_of_tests() and is_elsewhere(base):
            note_lost()
        if base is not None and is_held(base):
            if base.nbytes <= MAX_VIEWED and base.flags.c_contiguous and is_view_of(array.dtype, base.dtype):
                offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
                return "array_view", (base, _name_of_type(array.dtype), array.shape, offset, array.strides, array.flags.writeable)
            note_lost()
        if array.dtype.hasobject:
            return "object_array", (array.shape, array.ravel().tolist())
        # References: the message's, the variables of two functions, and the argument. What is held is shared.
        if base is not None and not array.flags.forc and (strided := strided_copy(array)) is not None and (is_of_tests() or sys.getrefcount(array) <= 4):
            return "array_view", strided
        return "+ndarray", whole_array(array)

    def is_elsewhere(base):
        """Returns whether what an array looks at is somebody's, too, and nothing that it could look at on the other side."""
        # References: the view's, the variables, and the argument.
        if type(base) is memoryview:
            viewed = base.obj
            return not base.readonly and sys.getrefcount(viewed) > 3
        if type(base) is bytearray or type(base) is array.array:
            return sys.getrefcount(base) > 4
        # Of `sliding_window_view`, and of classes that derive from arrays.
        behind = getattr(base, "base", None)
        if type(base) is not numpy.ndarray and (sys.getrefcount(base) > 4 or behind is not None and is_held(behind)):
            return True
        return behind is not None and is_elsewhere(behind)

    def strided_copy(array):
        """An array whose items do not lie side by side, as a view of memory with nothing else in it; None if that is too much."""
        size = array.itemsize
        low, high = numpy.lib.array_utils.byte_bounds(array)
        if high - low > 8 * MAX_VIEWED or array.nbytes > MAX_VIEW or (high - low) % size or any(stride % size for stride in array.strides):
            return None
        memory = numpy.zeros((high - low) // size, array.dtype)
        offset = array.__array_interface__["data"][0] - low
        numpy.ndarray(array.shape, array.dtype, memory, offset, array.strides)[...] = array
        return memory, _name_of_type(array.dtype), array.shape, offset, array.strides, array.flags.writeable

    def whole_array(array):
        flags = array.flags
        by_columns = flags.f_contiguous and not flags.c_contiguous
        layout = _BY_COLUMNS * by_columns | _READ_ONLY * (not flags.writeable)
        return _name_of_type(array.dtype), array.shape, array.tobytes("F" if by_columns else "C"), layout

    def fill_array(payload, made):
        name, shape, content, layout = payload
        kind = make_type(name)
        check_shape(shape, len(content), kind.itemsize)
        if layout not in _LAYOUTS:
            raise CannotCross("an array of another layout")
        made.resize(len(content), refcheck=False)
        made[:] = numpy.frombuffer(content, "u1")
        normalise(made, kind)
        made.dtype = kind
        made.shape = shape
        if 1 in shape:
            note_row()
        if layout & _BY_COLUMNS and content:
            made.strides = tuple(itertools.accumulate(shape[:-1], operator.mul, initial=kind.itemsize))
        if layout & _READ_ONLY:
            made.flags.writeable = False
        if not content:
            note_empty_array()
        elif kind.kind in _INEXACT and not are_of_use(made, kind):
            note_numbers(made)
        note_if_narrow(kind)

    def note_if_narrow(kind):
        if kind.kind == "f" and kind.itemsize < 4:
            note_narrow()

    def are_of_use(array, kind):
        """Returns whether numbers are ones, and not so large that their square is none."""
        if kind.kind in "fc" and kind.itemsize >= 8 * (1 + (kind.kind == "c")):
            # Part by part: the absolute value of a complex number may be too large for one, which warns.
            parts = (array.real, array.imag) if kind.kind == "c" else (array,)
            return all(bool((numpy.abs(part) <= LARGEST).all()) for part in parts)
        return bool(numpy.isfinite(array).all())

    def note_numbers(array):
        is_nan = numpy.isnan(array)
        note_not_finite(is_nan.any(), not is_nan.all() and not are_of_use(array[~is_nan], array.dtype))

    def is_view_of(kind, of):
        """Returns whether an array of one type may look at the memory of one of the other: at what is there, as it is
        meant."""
        return not of.hasobject and (kind == of or of.names is not None and kind.names is None and kind.kind not in "bO")

    def make_view(payload):
        base, name, shape, offset, strides, writeable = payload
        kind = make_type(name)
        if type(base) is not numpy.ndarray or not is_view_of(kind, base.dtype):
            raise CannotCross("a view of what can't be looked at")
        if not all(type(each) is int for each in (*shape, *strides)) or min(shape, default=0) < 0 or math.prod(shape) * kind.itemsize > MAX_VIEW:
            raise CannotCross("an array of another shape")
        if not base.flags.c_contiguous:
            # The other side's copy of it is: there, the memory is another.
            note_lost()
            base = base.copy()
        made = numpy.ndarray(shape, kind, base, offset, strides)
        if not writeable:
            made.flags.writeable = False
        if not made.size:
            note_empty_array()
        note_if_narrow(kind)
        return made

    def normalise(octets, kind):
        """A truth value is 0 or 1: others would be equal to both."""
        if kind == bool:
            octets[:] = octets != 0
        elif kind.names is not None and "?" in str(kind.descr):
            raise CannotCross("truth values within records")

    def check_shape(shape, items, size=1):
        if not all(type(each) is int and each >= 0 for each in shape) or math.prod(shape) * size != items:
            raise CannotCross("an array of another shape")

    def make_objects(payload):
        shape, items = payload
        check_shape(shape, len(items))
        made = numpy.empty(len(items), object)
        for index, item in enumerate(items):
            made[index] = item
        if not items:
            note_empty_array()
        return made.reshape(shape)

    def make_type(name):
        kind = numpy.dtype([tuple(field) for field in name] if type(name) is list else name)
        # Bytes from the other side must never become references.
        if kind.hasobject or kind.itemsize == 0 and kind.kind not in "SU":
            raise CannotCross("an array of references")
        return kind

    def reduce_type(kind):
        name = "O" if kind == object else _name_of_type(kind)
        if not kind.hasobject and make_type(name) == kind and not kind.metadata or name == "O":
            return "numpy_type", name
        return reduce_object(kind)

    def make_number(payload):
        kind = make_type(payload[0])
        check_shape((), len(payload[1]), kind.itemsize)
        octets = numpy.frombuffer(payload[1], "u1").copy()
        normalise(octets, kind)
        number = octets.view(kind)[0]
        if kind.itemsize < 8 and kind.kind in "iuf" or kind.itemsize < 16 and kind.kind == "c":
            note_narrow()
        if kind.kind in _INEXACT and not are_of_use(number, kind):
            note_numbers(numpy.asarray(number))
        return number

    def array_content(array):
        if not array.dtype.hasobject:
            return array.tobytes(), array.dtype, array.shape, array.flags.num
        return (tuple(array.ravel().tolist()), array.shape) if array.dtype == object else ()

    def is_same_array(now, before):
        if now and type(now[0]) is tuple:
            return len(now) == len(before) and now[1] == before[1] and all(map(operator.is_, now[0], before[0]))
        return now == before

    def told_of_array(array, known):
        """Of an array of objects, those that are others now: its own must stay what they are."""
        if not array.dtype.hasobject:
            return whole_array(array)
        items, shape = array_content(array)
        before = known[0] if known and known[1] == shape else ()
        return "O", shape, [(index, item) for index, (item, old) in enumerate(itertools.zip_longest(items, before, fillvalue=missing)) if item is not old]

    def set_objects(target, content):
        if target.dtype != object or not target.flags.writeable:
            raise CannotCross("a change to what can't be changed")
        _, shape, items = content
        if not all(type(each) is int for each in shape):
            raise CannotCross("an array of another shape")
        if shape != target.shape or not shape:
            note_not_applied("an array of objects got another shape in the candidate's interpreter")
            return
        for each in items:
            if not fits((int, object), each) or not 0 <= each[0] < target.size:
                raise CannotCross("a change to what is not in an array")
            target[numpy.unravel_index(each[0], shape)] = each[1]

    def apply_array(target, content, may_unlock):
        """Sets an array's content to what the other side has made of its copy."""
        if fits((str, tuple, list), content):
            set_objects(target, content)
            return
        if target.dtype.hasobject or not fits(PAYLOADS["+ndarray"], content):
            raise CannotCross("a change to what can't be changed")
        known = whole_array(target)
        if content == known:
            return
        name, shape, items, layout = content
        kind = make_type(name)
        check_shape(shape, len(items), kind.itemsize)
        if layout not in _LAYOUTS:
            raise CannotCross("an array of another layout")
        if items != known[2]:
            # One that its owner writes to now and then is read-only for others.
            if not target.flags.writeable and not (may_unlock and target.base is None):
                raise CannotCross("a change to what is read-only")
            if len(items) != len(known[2]):
                note_not_applied("an array got another size in the candidate's interpreter")
                return
        if (name, shape, layout & _BY_COLUMNS) != (known[0], known[1], known[3] & _BY_COLUMNS):
            try:
                reshape(target, kind, shape, layout & _BY_COLUMNS)
            except (AttributeError, TypeError, ValueError):
                note_not_applied("an array got another shape or type in the candidate's interpreter")
                return
        if items != known[2]:
            octets = numpy.frombuffer(items, "u1").copy()
            normalise(octets, kind)
            is_locked = not target.flags.writeable
            if is_locked:
                target.flags.writeable = True
            target[...] = numpy.ndarray(shape, kind, octets, order="F" if layout & _BY_COLUMNS else "C")
            if is_locked:
                target.flags.writeable = False
        if layout & _READ_ONLY:
            target.flags.writeable = False
        elif not target.flags.writeable:
            if may_unlock and target.base is None:
                target.flags.writeable = True
            else:
                note_not_applied("an array that is read-only can be written to in the candidate's interpreter")
        note_if_narrow(kind)
        if kind.kind in _INEXACT and not are_of_use(target, kind):
            note_numbers(target)

    def reshape(target, kind, shape, by_columns):
        """Looks at the same memory as another type, in another shape."""
        if kind != target.dtype:
            target.shape = (target.size,)
            target.dtype = kind
        target.shape = shape
        if by_columns:
            target.strides = tuple(itertools.accumulate(shape[:-1], operator.mul, initial=kind.itemsize))

    def make_nan(index):
        note_not_finite(True, False)
        return nans[index == 1]

    nans, missing = (math.nan, numpy.nan), object()
    _proofbox.know_constants(*nans)
    _proofbox.know_arrays(numpy.ndarray)
    CHANGEABLE.add(numpy.ndarray)
    ALTERABLE.add(numpy.ndarray)
    ARRAYS.add(numpy.ndarray)
    # Of floats only these come here (codec.c).
    REDUCERS[float] = lambda v: ("nan", int(v is numpy.nan))
    RESTORERS["nan"] = make_nan
    REDUCERS[numpy.ndarray] = reduce_array
    RESTORERS["object_array"] = make_objects
    FILLABLE["+ndarray"] = (lambda: numpy.empty(0, "u1"), fill_array)
    CONTENT[numpy.ndarray] = array_content
    SAME[numpy.ndarray] = is_same_array
    WHOLE[numpy.ndarray] = told_of_array
    RESTORERS["array_view"] = make_view
    RESTORERS["numpy_number"] = make_number
    APPLIERS[numpy.ndarray] = apply_array
    RESTORERS["numpy_type"] = lambda name: numpy.dtype(object) if name == "O" else make_type(name)
    REDUCERS[type(numpy.dtype(object))] = REDUCERS[type(numpy.dtype("V1"))] = reduce_type
    for kind in {numpy.dtype(code).type for code in numpy.typecodes["All"] if code not in "OV"}:
        REDUCERS[kind] = lambda v: ("numpy_number", (v.dtype.str, v.tobytes()))
        REDUCERS[type(numpy.dtype(kind))] = lambda v: ("numpy_type", v.str)


def _name_of_type(kind):
    """Returns plain data of which numpy.dtype makes the same type."""
    return kind.str if kind.names is None else kind.descr


# Set by outgoing.py.
reduce_object = is_of_tests = note_not_applied = note_empty_array = note_row = note_not_finite = viewed_by = is_held = note_lost = note_narrow = None


# ---------------------------------------------------------------- what was changed in place


# Containers that can be changed in place, and those that hold others. numpy's arrays are added when numpy is known.
CHANGEABLE = {
    list, dict, set, bytearray, collections.deque, collections.Counter, collections.OrderedDict, collections.defaultdict, array.array,
}  # fmt: skip
# And what else can be changed, and is not shared: added by frames.py.
ALTERABLE = set(CHANGEABLE)
ARRAYS = set()
HOLDING = frozenset(CHANGEABLE - {bytearray, array.array} | {tuple, frozenset})


def snapshot(value):
    """Takes a snapshot of one container, as `snapshots` does."""
    content = CONTENT.get(type(value))
    return content(value) if content else _proofbox.snapshots([value])[0][0]


def snapshots(received):
    """Takes what is needed to find out later which containers of a request were changed."""
    copies, others = _proofbox.snapshots(received)
    rich = None
    for index in others or ():
        content = CONTENT.get(type(received[index]))
        if content:
            rich = rich or {}
            rich[index] = content(received[index])
    return copies, rich


def changes(received, before):
    """`[(index, content)]` of the containers that were changed, or None."""
    copies, rich = before
    changed = _proofbox.changed(received, copies)
    changed = [(index, content_of(received[index])) for index in changed] if changed else []
    if rich:
        for index, content in rich.items():
            if is_changed(received[index], content):
                changed.append((index, told_of(received[index], content)))
    return changed or None


def is_rich(value):
    """Returns whether `_proofbox.changed` can't tell of a container that it has changed."""
    return type(value) in CONTENT


def is_changed(value, before):
    """Returns whether a rich value holds something else than before."""
    now, same = content_of(value), SAME.get(type(value))
    return not same(now, before) if same else _contents_differ(now, before)


def _contents_differ(now, before):
    """Returns whether two contents hold other objects; pairs are made anew each time they are looked at."""
    return len(now) != len(before) or any(map(_differ, now, before))


def _differ(a, b):
    if type(a) is bytes and type(b) is bytes:
        return a != b
    if type(a) is tuple and type(b) is tuple and len(a) == len(b) == 2:
        return a[0] is not b[0] or a[1] is not b[1]
    return a is not b


def told_of(value, known=()):
    """Returns the content of which `alter` makes the same container; `known`: what the other side knows of a rich one."""
    whole = WHOLE.get(type(value))
    return whole(value, known) if whole else content_of(value)


def content_of(value):
    """Returns what a container holds, to be compared with what it held before."""
    content = CONTENT.get(type(value))
    if content:
        return content(value)
    if type(value) is dict:
        return tuple(value.items())
    return bytes(value) if type(value) is bytearray else tuple(value)


def apply(changes, sent):
    """Alters the containers that were sent as the other side altered its copies of them."""
    if type(changes) is not list:
        raise CannotCross("changes that are none")
    for index, content in changes:
        if type(index) is not int or not 0 <= index < len(sent):
            raise CannotCross("a change to what was not sent")
        alter(sent[index], content)


def alter(target, content, may_unlock=False):
    """`may_unlock`: whether the other side's array is its own, so that it may write to one that is read-only."""
    kind = type(target)
    if kind in APPLIERS and (kind in WHOLE or type(content) is tuple and len(content) == 1):
        APPLIERS[kind](target, content if kind in WHOLE else content[0], may_unlock)
    elif kind is bytearray and type(content) is bytes:
        target[:] = content
    elif type(content) is not tuple:
        raise CannotCross("a change to what can't be changed")
    elif kind is list:
        target[:] = content
    elif kind in (dict, collections.OrderedDict, collections.defaultdict, collections.Counter):
        if kind is collections.defaultdict:
            target.default_factory, *content = content
        # Who goes through it goes on, if it has the keys that it had.
        if len(target) != len(content) or not all(key is pair[0] for key, pair in zip(target, content)):
            dict.clear(target) if kind is not collections.OrderedDict else target.clear()
        for key, value in content:
            target[key] = value
    elif kind is set:
        target.clear()
        target.update(content)
    elif kind is collections.deque:
        if len(target) == len(content):
            for index, value in enumerate(content):
                target[index] = value
        else:
            target.clear()
            target.extend(content)
    else:
        raise CannotCross("a change to what can't be changed")
