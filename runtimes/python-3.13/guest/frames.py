"""pandas' values across the border: frames, series, indices, their extension arrays and scalars (marshal.py's tables),
and numpy's masked arrays.

Each crosses as tuples of plain values and bytes, and is made again there by pandas' own constructors, which check it: what
the tests compare are frames of their own interpreter. A frame or series that the candidate changes in place is changed in
the tests, too."""

import functools
import sys

import _proofbox_marshal as marshal
import _proofbox_side as side

# Kinds of numpy types that a frame can hold.
_KINDS = frozenset("biufc")
_UNITS = frozenset({"s", "ms", "us", "ns"})


def prepare():
    """Once, when an image with pandas is made."""
    if "pandas" not in sys.modules:
        return
    global numpy, pandas, arrays, sparse, timezones
    import numpy
    import pandas
    from pandas import arrays
    from pandas._libs import sparse
    from pandas._libs.tslibs import timezones

    for kind, reduce in {
        pandas.DataFrame: lambda v: ("+frame", _frame(v)),
        pandas.Series: lambda v: ("+series", _series(v)),
        pandas.Timestamp: lambda v: ("timestamp", (v._value, v.unit, _zone(v.tz), v.fold)),
        pandas.Timedelta: lambda v: ("pandas_timedelta", (v._value, v.unit)),
        pandas.Period: lambda v: ("period", (v.ordinal, v.freqstr)),
        pandas.Interval: lambda v: ("interval", (v.left, v.right, v.closed)),
        type(pandas.NaT): lambda v: ("not_a_time", ()),
        type(pandas.NA): lambda v: ("not_available", ()),
    }.items():
        marshal.REDUCERS[kind] = reduce
    marshal.REDUCERS[numpy.ma.MaskedArray] = lambda v: ("masked_array", (v.data, numpy.ma.getmaskarray(v), v.fill_value))
    for kind in (
        pandas.Index, pandas.RangeIndex, pandas.MultiIndex, pandas.DatetimeIndex, pandas.TimedeltaIndex, pandas.PeriodIndex,
        pandas.CategoricalIndex, pandas.IntervalIndex,
    ):  # fmt: skip
        marshal.REDUCERS[kind] = lambda v: ("pandas_index", _index(v))
    _packers.update(_make_packers())
    for kind in _packers.keys() - {numpy.ndarray}:
        marshal.REDUCERS[kind] = lambda v: ("pandas_array", _array(v))
    for kind in (pandas.CategoricalDtype, pandas.DatetimeTZDtype, pandas.PeriodDtype, pandas.IntervalDtype, pandas.StringDtype, *_masked_types()):
        marshal.REDUCERS[kind] = lambda v: ("pandas_type", _array(pandas.array([], dtype=v)))
    marshal.PAYLOADS |= {
        "+frame": (tuple, tuple, tuple, dict),
        "+series": (tuple, tuple, object, dict),
        "pandas_index": tuple,
        "pandas_array": tuple,
        "pandas_type": tuple,
        "timestamp": (int, str, frozenset({str, type(None)}), int),
        "pandas_timedelta": (int, str),
        "period": (int, str),
        "interval": (object, object, str),
        "not_a_time": (),
        "not_available": (),
        "masked_array": (numpy.ndarray, numpy.ndarray, object),
    }
    marshal.RESTORERS |= {
        name: _checked(restore)
        for name, restore in {
            "pandas_index": _make_index,
            "pandas_array": _make_array,
            "pandas_type": lambda p: _make_array(p).dtype,
            "timestamp": _make_timestamp,
            "pandas_timedelta": lambda p: pandas.Timedelta(numpy.timedelta64(p[0], _unit(p[1]))),
            "period": lambda p: pandas.Period(ordinal=p[0], freq=p[1]),
            "interval": lambda p: pandas.Interval(*p),
            "not_a_time": lambda p: pandas.NaT,
            "not_available": lambda p: pandas.NA,
            "masked_array": _make_masked,
        }.items()
    }
    for name, kind, pack, make in (
        ("+frame", pandas.DataFrame, _frame, _make_frame),
        ("+series", pandas.Series, _series, _make_series),
    ):
        make = _checked(make)
        marshal.FILLABLE[name] = (lambda kind=kind: kind(dtype=object)), lambda payload, made, make=make: _fill(made, make(payload))
        marshal.CONTENT[kind] = lambda v, pack=pack: (pack(v),)
        marshal.SAME[kind] = _same
        marshal.APPLIERS[kind] = lambda target, content, may_unlock, name=name, make=make: _alter(target, content, name, make)
    masked = numpy.ma.MaskedArray
    marshal.CONTENT[masked] = lambda v: ((v.data.tobytes(), numpy.ma.getmaskarray(v).tobytes()),) if v.dtype.kind in _KINDS else ()
    marshal.SAME[masked], marshal.APPLIERS[masked] = _same, _checked_alteration(_alter_masked)
    for kind in (pandas.Series, pandas.DataFrame):
        _note_alignment(kind)
    marshal.ALTERABLE.update((pandas.Series, pandas.DataFrame, masked))


def _make_masked(payload):
    data, mask, fill_value = payload
    _need(mask.dtype == bool and mask.shape == data.shape)
    if mask.any():
        # As a number that is none, what is masked differs from nothing where `numpy.testing` compares.
        marshal.note_not_finite(True, False)
    return numpy.ma.MaskedArray(data, mask, fill_value=fill_value)


def _checked_alteration(alter):
    return lambda target, content, may_unlock: _checked(lambda content: alter(target, content))(content)


def _alter_masked(target, content):
    """Sets data and mask of a masked array to what the other side has made of its copy."""
    _need(marshal.fits((bytes, bytes), content) and target.dtype.kind in _KINDS)
    data, mask = content
    octets = numpy.frombuffer(data, "u1")
    data = octets != 0 if target.dtype == bool else octets.copy().view(target.dtype)
    data, mask = data.reshape(target.shape), (numpy.frombuffer(mask, "u1") != 0).reshape(target.shape)
    target.data[...] = data
    target.mask = mask


def _note_alignment(kind):
    """Signals computations with frames or series of other labels: the result is mostly missing, and differs from
    nothing."""
    align = kind._align_for_op

    @functools.wraps(align)
    def _align_for_op(self, other, *args, **kwargs):
        if side.state is not None and side.state.grader and isinstance(other, kind):
            if not all(own.equals(others) for own, others in zip(self.axes, other.axes)):
                side.signal("broadcast_comparison")
        return align(self, other, *args, **kwargs)

    kind._align_for_op = _align_for_op


def _checked(make):
    """Whatever the constructors say of a payload, it is none."""

    def checked(payload):
        try:
            return make(payload)
        except marshal.CannotCross:
            raise
        except Exception as error:
            raise marshal.CannotCross(f"no value of pandas: {error}") from None

    return checked


def _need(condition):
    if not condition:
        raise marshal.CannotCross("no value of pandas")


# ---------------------------------------------------------------- arrays


def _masked_types():
    return (
        pandas.Int8Dtype, pandas.Int16Dtype, pandas.Int32Dtype, pandas.Int64Dtype, pandas.UInt8Dtype, pandas.UInt16Dtype,
        pandas.UInt32Dtype, pandas.UInt64Dtype, pandas.Float32Dtype, pandas.Float64Dtype, pandas.BooleanDtype,
    )  # fmt: skip


def _make_packers():
    return {
        numpy.ndarray: _plain,
        arrays.NumpyExtensionArray: lambda v: _plain(v.to_numpy()),
        arrays.DatetimeArray: lambda v: ("moments", v.asi8.tobytes(), v.unit, _zone(v.tz)),
        arrays.TimedeltaArray: lambda v: ("durations", v.asi8.tobytes(), v.unit),
        arrays.PeriodArray: lambda v: ("periods", v.asi8.tobytes(), v.freqstr),
        arrays.IntervalArray: lambda v: ("intervals", _index(v.left), _index(v.right), v.closed),
        arrays.SparseArray: lambda v: ("sparse", _plain(v.sp_values), v.sp_index.indices.tobytes(), len(v), v.fill_value),
        arrays.StringArray: lambda v: ("strings", tuple(v.to_numpy(object).tolist())),
        arrays.IntegerArray: lambda v: ("masked", _plain(v._data), _plain(v._mask)),
        arrays.FloatingArray: lambda v: ("masked", _plain(v._data), _plain(v._mask)),
        arrays.BooleanArray: lambda v: ("masked", _plain(v._data), _plain(v._mask)),
        pandas.Categorical: lambda v: ("categories", v.codes.astype("<i4").tobytes(), _index(v.categories), bool(v.ordered)),
    }


def _array(values):
    """A one-dimensional array as tuples."""
    packer = _packers.get(type(values))
    if packer is None:
        raise marshal.CannotCross(f"a {type(values).__name__} does not cross (grading: isolated)")
    return packer(values)


# By type of array; filled by `prepare`.
_packers = {}


def _plain(values):
    if values.dtype.kind in "mM":
        return _array(pandas.array(values))
    if values.dtype.kind in _KINDS:
        return "numbers", values.dtype.str, values.tobytes()
    return "objects", tuple(values.tolist())


def _make_array(packed):
    _need(type(packed) is tuple and packed and type(packed[0]) is str)
    kind, *parts = packed
    return _MAKERS[kind](*parts)


def _numbers(name, content):
    _need(type(name) is str and type(content) is bytes)
    kind = numpy.dtype(name)
    _need(kind.kind in _KINDS)
    values = numpy.frombuffer(content, "u1").copy()
    if kind == bool:
        values[:] = values != 0
    return values.view(kind)


def _objects(items):
    _need(type(items) is tuple)
    made = numpy.empty(len(items), object)
    for index, item in enumerate(items):
        made[index] = item
    return made


def _integers(content, name="<i8"):
    _need(type(content) is bytes)
    return numpy.frombuffer(content, name).copy()


def _unit(name):
    _need(type(name) is str and name in _UNITS)
    return name


def _moments(content, unit, zone):
    _need(zone is None or type(zone) is str)
    values = _integers(content).view(f"M8[{_unit(unit)}]")
    if zone is None:
        return pandas.array(values)
    return pandas.DatetimeIndex(values).tz_localize("UTC").tz_convert(zone)._data


def _masked(data, mask):
    data, mask = _make_array(data), _make_array(mask)
    _need(data.dtype.kind in "biuf" and mask.dtype == bool and len(mask) == len(data))
    kind = {"b": arrays.BooleanArray, "f": arrays.FloatingArray}.get(data.dtype.kind, arrays.IntegerArray)
    return kind(data, mask)


def _sparse(values, indices, length, fill):
    _need(type(length) is int and isinstance(fill, (int, float, complex, numpy.generic)))
    return arrays.SparseArray(
        _make_array(values), sparse_index=sparse.IntIndex(length, _integers(indices, "<i4")), fill_value=fill
    )


def _strings(items):
    _need(type(items) is tuple and all(type(item) is str or item is pandas.NA for item in items))
    return arrays.StringArray(_objects(items))


_MAKERS = {
    "numbers": _numbers,
    "objects": _objects,
    "moments": _moments,
    "durations": lambda content, unit: pandas.array(_integers(content).view(f"m8[{_unit(unit)}]")),
    "periods": lambda content, freq: arrays.PeriodArray(_integers(content), dtype=pandas.PeriodDtype(freq)),
    "intervals": lambda left, right, closed: arrays.IntervalArray.from_arrays(_make_index(left), _make_index(right), closed),
    "sparse": _sparse,
    "strings": _strings,
    "masked": _masked,
    "categories": lambda codes, categories, ordered: pandas.Categorical.from_codes(
        _integers(codes, "<i4"), _make_index(categories), ordered=ordered is True
    ),
}


# ---------------------------------------------------------------- indices, frames, series


def _index(index):
    if type(index) is pandas.RangeIndex:
        return "range", index.start, index.stop, index.step, index.name
    if type(index) is pandas.MultiIndex:
        levels = tuple(map(_index, index.levels))
        return "levels", levels, tuple(code.astype("<i4").tobytes() for code in index.codes), tuple(index.names)
    return "index", _array(index._data), index.name, getattr(index, "freqstr", None)


def _make_index(packed):
    _need(type(packed) is tuple and packed and type(packed[0]) is str)
    kind, *parts = packed
    if kind == "range":
        _need(len(parts) == 4 and all(type(each) is int for each in parts[:3]))
        return pandas.RangeIndex(*parts[:3], name=parts[3])
    if kind == "levels":
        levels, codes, names = parts
        _need(all(type(each) is tuple for each in parts))
        return pandas.MultiIndex([_make_index(level) for level in levels], [_integers(code, "<i4") for code in codes], names=names)
    values, name, frequency = parts
    _need(kind == "index" and (frequency is None or type(frequency) is str))
    values = _make_array(values)
    made = pandas.Index(values, dtype=values.dtype, name=name)
    if frequency is not None and type(made) in (pandas.DatetimeIndex, pandas.TimedeltaIndex):
        made = type(made)(made, freq=frequency)
    return made


def _frame(frame):
    manager = frame._mgr
    columns = tuple(_array(manager.iget_values(at)) for at in range(frame.shape[1]))
    return columns, _index(frame.index), _index(frame.columns), dict(frame.attrs)


def _make_frame(payload):
    columns, index, names, attributes = payload
    index, names = _make_index(index), _make_index(names)
    columns = [_make_array(column) for column in columns]
    _need(len(columns) == len(names) and all(len(column) == len(index) for column in columns))
    made = pandas.DataFrame._from_arrays(columns, names, index, verify_integrity=False)
    made.attrs.update(attributes)
    return made


def _series(series):
    return _array(series._mgr.internal_values()), _index(series.index), series.name, dict(series.attrs)


def _make_series(payload):
    values, index, name, attributes = payload
    values, index = _make_array(values), _make_index(index)
    _need(len(values) == len(index))
    made = pandas.Series(values, index, dtype=values.dtype, name=name)
    made.attrs.update(attributes)
    return made


def _fill(made, content):
    made._update_inplace(content)
    if type(content) is pandas.Series:
        made.name = content.name
    made.attrs.update(content.attrs)
    if not content.size:
        marshal.note_empty_array()
    elif content.isna().to_numpy().any():
        marshal.note_not_finite(True, False)


def _alter(target, content, name, make):
    """Sets a frame or series to what the other side has made of its copy."""
    if not marshal.fits(marshal.PAYLOADS[name], content):
        raise marshal.CannotCross(f"no payload of {name}")
    _fill(target, make(content))


def _same(now, before):
    """Returns whether two payloads are of the same content: objects are the same, all else is equal."""
    if type(now) is not type(before):
        return False
    if type(now) is tuple:
        return len(now) == len(before) and all(map(_same, now, before))
    if type(now) is dict:
        return _same(tuple(now.items()), tuple(before.items()))
    return now is before or type(now) in (int, str, bytes, bool, float) and now == before


# ---------------------------------------------------------------- scalars


def _zone(zone):
    """Returns the text of which pandas makes the same time zone, or None."""
    return None if zone is None else str(timezones.get_timezone(zone))


def _make_timestamp(payload):
    value, unit, zone, fold = payload
    made = pandas.Timestamp(numpy.datetime64(value, _unit(unit))).as_unit(unit)
    if zone is not None:
        made = made.tz_localize("UTC").tz_convert(zone)
    return made.replace(fold=fold) if fold else made
