"""Values as tagged JSON: what goes in comes out, and hostile JSON stays data."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import json
import math
import pathlib
import zoneinfo
from typing import Any

import pytest

import proofbox
from proofbox import DecodeError, EncodeError, Opaque, decode, encode
from proofbox.values import dumps, loads

UTC = datetime.timezone.utc
INDIA = datetime.timezone(datetime.timedelta(hours=5, minutes=30))

# Each with the expression that makes it in the sandbox.
VALUES: list[tuple[str, Any]] = [
    ("None", None),
    ("True", True),
    ("0", 0),
    ("-(2**53)", -(2**53)),
    ("2**53 + 1", 2**53 + 1),
    ("-(2**200)", -(2**200)),
    ("7**6000", 7**6000),
    ("-(7**6000)", -(7**6000)),
    ("1.0", 1.0),
    ("-0.0", -0.0),
    ("1e300", 1e300),
    ("0.1 + 0.2", 0.1 + 0.2),
    ("float('inf')", math.inf),
    ("-float('inf')", -math.inf),
    ("complex(1.5, -float('inf'))", complex(1.5, -math.inf)),
    ("''", ""),
    ("'é 😀 \\x00 \\x85 \\u2028 \\n'", "é 😀 \x00 \x85 \u2028 \n"),
    ("'a\\ud800b'", "a\ud800b"),
    ("b'\\x00\\xff'", b"\x00\xff"),
    ("bytearray(b'ab')", bytearray(b"ab")),
    ("[1, [2, []]]", [1, [2, []]]),
    ("()", ()),
    ("(1, (2,), [3])", (1, (2,), [3])),
    ("{1, 'a', (2, 3)}", {1, "a", (2, 3)}),
    ("frozenset({frozenset({1})})", frozenset({frozenset({1})})),
    ("{}", {}),
    ("{'z': 1, 'a': {'b': None}}", {"z": 1, "a": {"b": None}}),
    ("{1: 'a', (2, 3): {'x'}, None: 4}", {1: "a", (2, 3): {"x"}, None: 4}),
    ("{'$type': 'set', 'items': []}", {"$type": "set", "items": []}),
    ("{'type': 'C', 'repr': 'x'}", {"type": "C", "repr": "x"}),
    ("{'type': 'C', 'repr': 'x', 'more': 1}", {"type": "C", "repr": "x", "more": 1}),
    ("range(3, 10, 2)", range(3, 10, 2)),
    ("slice(None, 5)", slice(None, 5)),
    ("...", ...),
    ("NotImplemented", NotImplemented),
    ("__import__('decimal').Decimal('1.10')", decimal.Decimal("1.10")),
    ("__import__('decimal').Decimal('Infinity')", decimal.Decimal("Infinity")),
    ("__import__('fractions').Fraction(1, 3)", fractions.Fraction(1, 3)),
    ("__import__('datetime').date(2026, 1, 2)", datetime.date(2026, 1, 2)),
    ("__import__('datetime').time(3, 4, 5, 6)", datetime.time(3, 4, 5, 6)),
    ("__import__('datetime').datetime(2026, 1, 2, 3)", datetime.datetime(2026, 1, 2, 3)),
    (
        "__import__('datetime').datetime(2026, 1, 2, tzinfo=__import__('datetime').timezone.utc)",
        datetime.datetime(2026, 1, 2, tzinfo=UTC),
    ),
    (
        "(lambda d: d.datetime(2026, 1, 2, tzinfo=d.timezone(d.timedelta(minutes=330))))(__import__('datetime'))",
        datetime.datetime(2026, 1, 2, tzinfo=INDIA),
    ),
    ("__import__('datetime').timedelta(-1, 2, 3)", datetime.timedelta(-1, 2, 3)),
    ("__import__('collections').deque([1, 2], 3)", collections.deque([1, 2], 3)),
    ("__import__('collections').Counter('aab')", collections.Counter("aab")),
    ("__import__('collections').OrderedDict([('b', 1), ('a', 2)])", collections.OrderedDict([("b", 1), ("a", 2)])),
    ("__import__('collections').defaultdict(list, {'a': [1]})", collections.defaultdict(list, {"a": [1]})),
]

NAMES = [expression[:40] for expression, _ in VALUES]


def same(left: Any, right: Any) -> bool:
    """Equal, of the same type, and in the same order."""
    return type(left) is type(right) and left == right and (not isinstance(left, dict) or list(left) == list(right))


@pytest.mark.parametrize(("expression", "value"), VALUES, ids=NAMES)
def test_a_value_comes_back_as_it_was(expression: str, value: Any) -> None:
    assert same(loads(dumps(value)), value)


@pytest.mark.parametrize(("expression", "value"), VALUES, ids=NAMES)
def test_the_service_sends_the_values_that_python_makes(client: proofbox.Client, expression: str, value: Any) -> None:
    result = client.execute(expression, result="last_expression").check().result
    assert same(result, value)


@pytest.mark.parametrize(("expression", "value"), VALUES, ids=NAMES)
def test_our_encoding_is_the_service_s(client: proofbox.Client, expression: str, value: Any) -> None:
    answered = client.execute(expression, result="last_expression").check().raw["result"]
    if isinstance(value, (set, frozenset)):
        assert sorted(map(str, answered["items"])) == sorted(map(str, encode(value)["items"]))
    else:
        assert answered == json.loads(dumps(value))


def test_all_values_go_into_a_session_and_come_back(session: proofbox.Session) -> None:
    sent = {f"value_{number}": value for number, (_, value) in enumerate(VALUES)}
    session.set(**sent)
    for number, (expression, value) in enumerate(VALUES):
        done = session.run(f"_ok = value_{number} == {expression} and type(value_{number}) is type({expression})\n_ok")
        assert done.check().result is True, expression
        assert same(session.get(f"value_{number}"), value), expression


def test_nan_stays_nan() -> None:
    assert math.isnan(loads(dumps(math.nan)))


def test_a_named_zone_keeps_its_name() -> None:
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    value = datetime.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=berlin)
    back = loads(dumps(value))
    assert (back, back.fold, back.tzinfo.key) == (value, 1, "Europe/Berlin")


def test_shared_and_cyclic_containers_stay_so() -> None:
    shared: list[Any] = [1]
    outer: dict[str, Any] = {"z": shared, "a": [2], "m": shared, "d": decimal.Decimal(1)}
    outer["self"] = outer
    outer["again"] = shared
    back = loads(dumps(outer))
    assert back["m"] is back["z"] is back["again"]
    assert back["self"] is back


def test_the_service_s_references_are_ours(client: proofbox.Client) -> None:
    code = "s = [1]\nd = {'z': s, 'r': range(3), 'a': [2], 'm': s, 't': (s, {1: s})}\nd['self'] = d\nd"
    back = client.execute(code, result="last_expression").check().result
    assert back["m"] is back["z"] is back["t"][0] is back["t"][1][1]
    assert back["self"] is back


class Color(enum.IntEnum):
    RED = 1


Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Parcel:
    weight: float
    tags: list[str]


def test_subclasses_become_what_they_are_made_of() -> None:
    assert same(loads(dumps(Color.RED)), 1)
    assert same(loads(dumps(Point(1, 2))), (1, 2))


def test_paths_and_dataclasses() -> None:
    assert loads(dumps(pathlib.PurePosixPath("a/b"))) == pathlib.PurePosixPath("a/b")
    back = loads(dumps(Parcel(1.5, ["a"])))
    assert back == {"__dataclass__": "Parcel", "__module__": __name__, "weight": 1.5, "tags": ["a"]}


def test_images_cross_as_png() -> None:
    image_module = pytest.importorskip("PIL.Image", reason="smolagents requires Pillow")
    image = image_module.new("RGB", (3, 2), (255, 0, 0))
    back = loads(dumps([image]))[0]
    assert (back.size, back.getpixel((2, 1))) == ((3, 2), (255, 0, 0))


@pytest.mark.parametrize(
    ("value", "path", "words"),
    [
        (lambda: 1, "", "function"),
        ({"a": [1, open]}, "['a'][1]", "can't be sent"),
        ([object()], "[0]", "object"),
        ({(1, int): 2}, "[(1, <class 'int'>)][1]", "type"),
        (Parcel(1, [math]), ".tags[0]", "module"),  # type: ignore[list-item]
        (iter([1]), "", "list_iterator"),
    ],
    ids=["function", "in a list", "object", "key", "field", "iterator"],
)
def test_what_is_no_data_is_refused_with_its_place(value: Any, path: str, words: str) -> None:
    with pytest.raises(EncodeError) as refused:
        encode(value)
    assert refused.value.path == path
    assert words in str(refused.value)


def test_too_deep_is_refused() -> None:
    value: list[Any] = []
    for _ in range(300):
        value = [value]
    with pytest.raises(EncodeError, match="deeper than 200"):
        encode(value)


HOSTILE = [
    '{"$type": "os.system", "value": "true"}',
    '{"$type": "pickle", "value": "gASV"}',
    '{"$type": ["set"], "items": []}',
    '{"$type": {}, "items": []}',
    '{"$type": "int", "value": "1_0x"}',
    '{"$type": "int"}',
    '{"$type": "int", "value": 5}',
    '{"$type": "float", "value": "1e5"}',
    '{"$type": "bytes", "base64": "*"}',
    '{"$type": "str", "surrogatepass_base64": "/w=="}',
    '{"$type": "set", "items": [[1]]}',
    '{"$type": "set", "items": 3}',
    '{"$type": "dict", "items": [[1]]}',
    '{"$type": "dict", "items": [[{}, 1]]}',
    '{"$type": "reference", "container": 0}',
    '{"$type": "reference", "container": -1}',
    '{"$type": "reference", "container": true}',
    '{"$type": "range", "value": [1, 2, 0]}',
    '{"$type": "range", "value": "abc"}',
    '{"$type": "fraction", "value": [1, 0]}',
    '{"$type": "decimal", "value": "x"}',
    '{"$type": "date", "value": "2026-13-01"}',
    '{"$type": "datetime", "value": ["2026-01-01T00:00:00", "../../etc/passwd", 0]}',
    '{"$type": "datetime", "value": ["2026-01-01T00:00:00", 1e9, 0]}',
    '{"$type": "timedelta", "value": [1e400, 0, 0]}',
    '{"$type": "deque", "value": [[1], -5]}',
    '{"$type": "counter", "value": 3}',
    '{"$type": "default_dict", "value": [3]}',
    '{"$type": "dataclass", "name": "x", "module": "y", "fields": 5}',
    '{"$type": "ndarray", "dtype": "O", "shape": [1], "base64": "AAAAAAAAAAA="}',
    "[" * 5000 + "]" * 5000,
    "[" * 100_000,
    "nonsense",
    "",
]


@pytest.mark.parametrize("text", HOSTILE, ids=[text[:50] for text in HOSTILE])
def test_malformed_json_is_refused_and_nothing_else(text: str) -> None:
    try:
        value = loads(text)
    except DecodeError:
        return
    # Only where a part is understood otherwise: without numpy an array can't be made.
    assert isinstance(value, Opaque), value


def test_a_tuple_inside_itself_is_cut() -> None:
    text = '{"$type": "tuple", "items": [[{"$type": "reference", "container": 0}]]}'
    assert repr(loads(text)) == "([(...)],)"


def test_what_can_t_leave_is_told_by_its_repr(client: proofbox.Client) -> None:
    result = client.execute("[1, len]", result="last_expression").check().result
    assert result[0] == 1
    assert result[1] == Opaque("builtin_function_or_method", "<built-in function len>")
    assert str(result) == "[1, <built-in function len>]"


def test_decode_takes_parsed_json() -> None:
    assert decode({"$type": "tuple", "items": [1]}) == (1,)
