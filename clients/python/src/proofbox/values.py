"""Python values as tagged JSON, without pickle: `encode` and `decode`.

The format is that of `result` in the service's answers (docs/reference/execute.md). Decoding builds data and never
code, so what comes from a sandbox may be hostile. This file needs the standard library alone: the smolagents executor
also puts it into the sandbox, where it does the other half.
"""

from __future__ import annotations

import base64
import collections
import dataclasses
import datetime
import decimal
import fractions
import json
import math
import pathlib
import sys
import zoneinfo
from typing import Any

__all__ = ["DecodeError", "EncodeError", "Opaque", "decode", "dumps", "encode", "loads"]

# The service's own bound.
MAX_DEPTH = 200

# CPython converts no longer ints to and from decimal.
_MAX_DECIMAL_BITS = 12_900

# Beyond this a JSON reader may take an int for a float.
_LARGEST_PLAIN_INT = 1 << 53


class EncodeError(TypeError):
    """A value that has no safe encoding. `path` says where it is, `what` why not."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"{path}: {what}" if path else what)
        self.path = path
        self.what = what


class DecodeError(ValueError):
    """JSON that is not a tagged value."""


@dataclasses.dataclass(frozen=True)
class Opaque:
    """A value that stayed in the sandbox: its type's name and its `repr`."""

    type: str
    text: str

    def __repr__(self) -> str:
        return self.text


def dumps(value: Any) -> str:
    """The value as a JSON text."""
    return json.dumps(encode(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def loads(text: str | bytes) -> Any:
    """The value that `dumps` made this text of."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"not JSON: {error}") from None
    return decode(parsed)


def encode(value: Any) -> Any:
    """The value as tagged JSON. Raises `EncodeError` for what has no safe encoding."""
    return _Encoder().value(value, "", 0)


def decode(tagged: Any, *, strict: bool = False) -> Any:
    """The value that this tagged JSON stands for. Raises `DecodeError`.

    What is understood but can't be made here (an image without Pillow, a repr of something) becomes `Opaque`, or with
    `strict` an error.
    """
    return _Decoder(strict).value(tagged, 0)


def _pair(name: str, value: Any) -> dict[str, Any]:
    return {"$type": name, "value": value}


def _tuple(*items: Any) -> dict[str, Any]:
    return {"$type": "tuple", "items": list(items)}


def _base64(data: Any) -> str:
    return base64.b64encode(data).decode("ascii")


def _module(name: str) -> Any:
    """A module if the program has imported it: its types can't occur otherwise."""
    return sys.modules.get(name)


class _Encoder:
    def __init__(self) -> None:
        # Containers by identity, in the order in which they begin. Holding them keeps their identities taken.
        self.seen: dict[int, tuple[int, Any]] = {}
        self.begun = 0

    def begin(self, value: Any) -> None:
        self.seen[id(value)] = (self.begun, value)
        self.begun += 1

    def payload(self, name: str, payload: dict[str, Any]) -> dict[str, Any]:
        """A rich type's payload is a tuple of scalars: a container more."""
        self.begun += 1
        return _pair(name, payload)

    def value(self, value: Any, path: str, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise EncodeError(path, f"nests deeper than {MAX_DEPTH}")
        if value is None or value is True or value is False:
            return value
        if isinstance(value, str):
            return _string(value)
        if isinstance(value, int):
            return _integer(int(value))
        if isinstance(value, float):
            return _floating(float(value))
        if isinstance(value, complex):
            return {"$type": "complex", "real": _floating(value.real), "imag": _floating(value.imag)}
        if isinstance(value, bytes):
            return {"$type": "bytes", "base64": _base64(value)}
        if id(value) in self.seen:
            return {"$type": "reference", "container": self.seen[id(value)][0]}
        return self.container(value, path, depth)

    def container(self, value: Any, path: str, depth: int) -> Any:
        if isinstance(value, bytearray):
            self.begin(value)
            return {"$type": "bytearray", "base64": _base64(value)}
        if isinstance(value, list):
            self.begin(value)
            return self.items(value, path, depth)
        if isinstance(value, (tuple, set, frozenset)):
            self.begin(value)
            name = "tuple" if isinstance(value, tuple) else "set" if isinstance(value, set) else "frozenset"
            return {"$type": name, "items": self.items(value, path, depth)}
        if isinstance(value, collections.Counter):
            self.begin(value)
            return self.nested("counter", dict(value), path, depth)
        if isinstance(value, collections.OrderedDict):
            self.begin(value)
            return self.nested("ordered_dict", dict(value), path, depth)
        if isinstance(value, collections.defaultdict):
            # Its factory is code, and code does not cross.
            self.begin(value)
            return self.nested("default_dict", dict(value), path, depth)
        if isinstance(value, dict):
            self.begin(value)
            return self.dict(value, path, depth)
        if isinstance(value, collections.deque):
            self.begin(value)
            return self.nested("deque", (list(value), value.maxlen), path, depth)
        return self.rich(value, path, depth)

    def nested(self, name: str, payload: Any, path: str, depth: int) -> dict[str, Any]:
        return _pair(name, self.value(payload, path, depth + 1))

    def items(self, values: Any, path: str, depth: int) -> list[Any]:
        return [self.value(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(values)]

    def dict(self, value: dict[Any, Any], path: str, depth: int) -> dict[str, Any]:
        plain = all(type(key) is str and not key.startswith("$") and _encodable(key) for key in value)
        if plain and value.keys() != {"type", "repr"}:
            return {key: self.value(item, f"{path}[{key!r}]", depth + 1) for key, item in value.items()}
        pairs = []
        for key, item in value.items():
            where = f"{path}[{_short(key)}]"
            pairs.append([self.value(key, where, depth + 1), self.value(item, where, depth + 1)])
        return {"$type": "dict", "items": pairs}

    def rich(self, value: Any, path: str, depth: int) -> Any:
        if value is ...:
            self.begin(value)
            return self.payload("ellipsis", _tuple())
        if value is NotImplemented:
            self.begin(value)
            return self.payload("not_implemented", _tuple())
        if isinstance(value, (range, slice)):
            self.begin(value)
            name = "range" if isinstance(value, range) else "slice"
            return self.nested(name, (value.start, value.stop, value.step), path, depth)
        if isinstance(value, decimal.Decimal):
            self.begin(value)
            return _pair("decimal", str(value))
        if isinstance(value, fractions.Fraction):
            self.begin(value)
            return self.nested("fraction", (value.numerator, value.denominator), path, depth)
        if isinstance(value, datetime.datetime):
            self.begin(value)
            return self.payload("datetime", _clock(value, path))
        if isinstance(value, datetime.date):
            self.begin(value)
            return _pair("date", value.isoformat())
        if isinstance(value, datetime.time):
            self.begin(value)
            return self.payload("time", _clock(value, path))
        if isinstance(value, datetime.timedelta):
            self.begin(value)
            return self.payload("timedelta", _tuple(value.days, value.seconds, value.microseconds))
        if isinstance(value, pathlib.PurePath):
            self.begin(value)
            return _pair("path", value.as_posix())
        return self.foreign(value, path, depth)

    def foreign(self, value: Any, path: str, depth: int) -> Any:
        """Types of well-known packages, and dataclasses."""
        numpy = _module("numpy")
        if numpy is not None and isinstance(value, numpy.generic):
            return self.value(value.item(), path, depth)
        if numpy is not None and isinstance(value, numpy.ndarray):
            if value.dtype.hasobject:
                raise EncodeError(path, "a numpy array of objects can't be sent; use .tolist()")
            self.begin(value)
            shape = {"$type": "tuple", "items": list(value.shape)}
            return {"$type": "ndarray", "dtype": value.dtype.str, "shape": shape, "base64": _base64(value.tobytes())}
        image = _module("PIL.Image")
        if image is not None and isinstance(value, image.Image):
            import io

            self.begin(value)
            buffer = io.BytesIO()
            value.save(buffer, format="PNG")
            return {"$type": "image", "format": "png", "base64": _base64(buffer.getvalue())}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            self.begin(value)
            fields = {
                field.name: self.value(getattr(value, field.name), f"{path}.{field.name}", depth + 1)
                for field in dataclasses.fields(value)
            }
            kind = type(value)
            return {"$type": "dataclass", "name": kind.__qualname__, "module": kind.__module__, "fields": fields}
        raise EncodeError(path, f"a value of type {_type_name(value)} can't be sent: only data can")


def _type_name(value: Any) -> str:
    kind = type(value)
    return (
        kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    )


def _short(key: Any) -> str:
    try:
        text = repr(key)
    except Exception:
        return "?"
    return text if len(text) <= 60 else text[:60] + "…"


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _string(value: str) -> Any:
    if _encodable(value):
        return str(value)
    return {"$type": "str", "surrogatepass_base64": _base64(value.encode("utf-8", "surrogatepass"))}


def _integer(value: int) -> Any:
    if -_LARGEST_PLAIN_INT <= value <= _LARGEST_PLAIN_INT:
        return value
    return {"$type": "int", "value": str(value) if value.bit_length() <= _MAX_DECIMAL_BITS else hex(value)}


def _floating(value: float) -> Any:
    return value if math.isfinite(value) else {"$type": "float", "value": repr(value)}


def _clock(value: Any, path: str) -> dict[str, Any]:
    zone = value.tzinfo
    if zone is None:
        where: Any = None
    elif type(zone) is zoneinfo.ZoneInfo and zone.key is not None:
        where = zone.key
    else:
        offset = value.utcoffset()
        if offset is None:
            raise EncodeError(path, f"its time zone {_short(zone)} has no fixed offset")
        where = offset.total_seconds()
    return _tuple(value.replace(tzinfo=None).isoformat(), where, value.fold)


class _Unfinished:
    """Stands for a container that is being decoded and can't contain itself."""


class _Decoder:
    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.containers: list[Any] = []

    def opaque(self, kind: str, text: str) -> Opaque:
        if self.strict:
            raise DecodeError(text)
        return Opaque(kind, text)

    def begin(self, value: Any) -> int:
        self.containers.append(value)
        return len(self.containers) - 1

    def value(self, tagged: Any, depth: int) -> Any:
        # One more for each rich type: their payloads are deeper than what they stand for.
        if depth > 2 * MAX_DEPTH:
            raise DecodeError(f"a value nests deeper than {2 * MAX_DEPTH}")
        if isinstance(tagged, list):
            items: list[Any] = []
            self.begin(items)
            items.extend([self.value(item, depth + 1) for item in tagged])
            return items
        if not isinstance(tagged, dict):
            return tagged
        if "$type" in tagged:
            return self.tagged(tagged["$type"], tagged, depth)
        if tagged.keys() == {"type", "repr"}:
            return self.opaque(str(tagged["type"]), str(tagged["repr"]))
        members: dict[Any, Any] = {}
        self.begin(members)
        for key, item in tagged.items():
            members[key] = self.value(item, depth + 1)
        return members

    def tagged(self, name: Any, tagged: dict[str, Any], depth: int) -> Any:
        scalar = _SCALARS.get(name) if isinstance(name, str) else None
        try:
            if scalar is not None:
                return scalar(tagged)
            if name == "reference":
                return self.reference(tagged["container"])
            return self.built(name, tagged, depth)
        except DecodeError:
            raise
        except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            raise DecodeError(
                f"a value of {{'$type': {name!r}}} is malformed: {type(error).__name__}: {error}"
            ) from None

    def reference(self, number: Any) -> Any:
        if type(number) is not int or not 0 <= number < len(self.containers):
            raise DecodeError(f"a reference to container {_short(number)}, which did not come before")
        found = self.containers[number]
        return self.opaque("reference", "(...)") if isinstance(found, _Unfinished) else found

    def built(self, name: Any, tagged: dict[str, Any], depth: int) -> Any:
        if name == "set":
            items: set[Any] = set()
            self.begin(items)
            items.update(self.hashable(item, depth) for item in tagged["items"])
            return items
        if name == "dict":
            members: dict[Any, Any] = {}
            self.begin(members)
            for key, item in tagged["items"]:
                decoded = self.hashable(key, depth)
                members[decoded] = self.value(item, depth + 1)
            return members
        number = self.begin(_Unfinished())
        self.containers[number] = made = self.immutable(name, tagged, depth)
        return made

    def immutable(self, name: Any, tagged: dict[str, Any], depth: int) -> Any:
        if name == "tuple":
            return tuple([self.value(item, depth + 1) for item in tagged["items"]])
        if name == "frozenset":
            return frozenset([self.hashable(item, depth) for item in tagged["items"]])
        if name == "bytearray":
            return bytearray(_bytes(tagged))
        if name == "dataclass":
            fields = {key: self.value(item, depth + 1) for key, item in tagged["fields"].items()}
            return {"__dataclass__": tagged["name"], "__module__": tagged["module"], **fields}
        if name == "image":
            return self.image(_bytes(tagged))
        if name == "ndarray":
            return self.array(tagged["dtype"], self.value(tagged["shape"], depth + 1), _bytes(tagged))
        make = _RICH.get(name) if isinstance(name, str) else None
        if make is None:
            raise DecodeError(f"there is no {{'$type': {_short(name)}}}")
        return make(self.value(tagged["value"], depth + 1))

    def image(self, data: bytes) -> Any:
        try:
            import io

            import PIL.Image
        except ImportError:
            return self.opaque("PIL.Image.Image", f"an image needs Pillow, and it is not here ({len(data)} bytes)")
        return PIL.Image.open(io.BytesIO(data))

    def array(self, dtype: str, shape: tuple[int, ...], data: bytes) -> Any:
        try:
            import numpy
        except ImportError:
            return self.opaque("numpy.ndarray", "an array needs numpy, and it is not here; send array.tolist()")
        return numpy.frombuffer(data, dtype=numpy.dtype(dtype)).reshape(shape).copy()

    def hashable(self, tagged: Any, depth: int) -> Any:
        value = self.value(tagged, depth + 1)
        try:
            hash(value)
        except TypeError:
            raise DecodeError(f"a {type(value).__name__} can't be an item of a set or a key") from None
        return value


def _bytes(tagged: dict[str, Any]) -> bytes:
    return base64.b64decode(tagged["base64"], validate=True)


def _integer_of(tagged: dict[str, Any]) -> int:
    text = tagged["value"]
    return int(text, 16) if text.lstrip("-").startswith("0x") else int(text)


def _float_of(tagged: Any) -> float:
    if isinstance(tagged, dict):
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[tagged["value"]]
    return float(tagged)


_SCALARS: dict[str, Any] = {
    "int": _integer_of,
    "float": _float_of,
    "complex": lambda tagged: complex(_float_of(tagged["real"]), _float_of(tagged["imag"])),
    "str": lambda tagged: base64.b64decode(tagged["surrogatepass_base64"]).decode("utf-8", "surrogatepass"),
    "bytes": _bytes,
}


def _in_zone(parts: tuple[str, Any, int], kind: Any) -> Any:
    text, zone, fold = parts
    value = kind.fromisoformat(text).replace(fold=fold)
    if zone is None:
        return value
    if isinstance(zone, str):
        try:
            return value.replace(tzinfo=zoneinfo.ZoneInfo(zone))
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            raise DecodeError(f"there is no time zone {_short(zone)} here") from None
    if zone == 0:
        return value.replace(tzinfo=datetime.timezone.utc)
    return value.replace(tzinfo=datetime.timezone(datetime.timedelta(seconds=zone)))


def _default_dict(items: dict[Any, Any]) -> Any:
    return collections.defaultdict(None, items)


_RICH: dict[str, Any] = {
    "range": lambda parts: range(*parts),
    "slice": lambda parts: slice(*parts),
    "ellipsis": lambda _: ...,
    "not_implemented": lambda _: NotImplemented,
    "decimal": decimal.Decimal,
    "fraction": lambda parts: fractions.Fraction(*parts),
    "date": datetime.date.fromisoformat,
    "time": lambda parts: _in_zone(parts, datetime.time),
    "datetime": lambda parts: _in_zone(parts, datetime.datetime),
    "timedelta": lambda parts: datetime.timedelta(*parts),
    "deque": lambda parts: collections.deque(*parts),
    "counter": collections.Counter,
    "ordered_dict": collections.OrderedDict,
    "default_dict": _default_dict,
    "path": pathlib.PurePosixPath,
}
