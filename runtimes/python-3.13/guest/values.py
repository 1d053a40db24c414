"""Reduction of values that are not of a plain builtin type, for the codec (codec.c).

`reduce(value)` gives `(name, payload)` for the types that cross whole, with a payload of plain values, and
`(None, (type, repr))` for everything else. The host's half is crates/types/src/value.rs."""

import collections
import datetime
import decimal
import fractions
import types
import zoneinfo

import _proofbox

# As they are now: tests may replace classes in these modules.
datetime, decimal, fractions, zoneinfo = (
    types.SimpleNamespace(**vars(each)) for each in (datetime, decimal, fractions, zoneinfo)
)

# A repr is for a person to read; what is longer helps nobody and may be an attack.
REPR_LIMIT = 10_000


def _zone(value):
    zone = value.tzinfo
    if zone is None:
        return None
    if type(zone) is zoneinfo.ZoneInfo:
        return zone.key
    offset = zone.utcoffset(value if type(value) is datetime.datetime else None)
    return None if offset is None else offset.total_seconds()


REDUCERS = {
    range: lambda v: ("range", (v.start, v.stop, v.step)),
    slice: lambda v: ("slice", (v.start, v.stop, v.step)),
    type(...): lambda v: ("ellipsis", ()),
    type(NotImplemented): lambda v: ("not_implemented", ()),
    decimal.Decimal: lambda v: ("decimal", str(v)),
    fractions.Fraction: lambda v: ("fraction", (v.numerator, v.denominator)),
    datetime.date: lambda v: ("date", v.isoformat()),
    datetime.time: lambda v: ("time", (v.replace(tzinfo=None).isoformat(), _zone(v), v.fold)),
    datetime.datetime: lambda v: ("datetime", (v.replace(tzinfo=None).isoformat(), _zone(v), v.fold)),
    datetime.timedelta: lambda v: ("timedelta", (v.days, v.seconds, v.microseconds)),
    collections.deque: lambda v: ("deque", (list(v), v.maxlen)),
    collections.Counter: lambda v: ("counter", dict(v)),
    collections.OrderedDict: lambda v: ("ordered_dict", dict(v)),
    # The factory is code, and code does not cross.
    collections.defaultdict: lambda v: ("default_dict", dict(v)),
}


def type_name(value):
    kind = type(value)
    module = kind.__module__
    return kind.__qualname__ if module in ("builtins", "__main__") else f"{module}.{kind.__qualname__}"


def opaque(value):
    try:
        name = str(type_name(value))[:200]
    except BaseException:
        name = "object"
    try:
        text = repr(value)
        text = str(text) if len(text) <= REPR_LIMIT else text[:REPR_LIMIT] + "…"
    except BaseException as error:
        text = f"<{name} whose repr raised {type(error).__name__}>"
    return None, (name, text)


def reduce(value):
    reducer = REDUCERS.get(type(value))
    return reducer(value) if reducer else opaque(value)


def post(value):
    """Tells the host a result."""
    try:
        _proofbox.post(("result", value), reduce)
    except KeyboardInterrupt:
        raise
    except BaseException:
        # Too large, too deep, or changed while it was read: what it is can still be said.
        _proofbox.post(("result", None if value is None else _Opaque(value)), lambda o: opaque(o.value))


class _Opaque:
    def __init__(self, value):
        self.value = value
