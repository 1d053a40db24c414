//! A value of the snippet as the answer's `result`: tagged JSON.

use serde_json::{Value, json};

use crate::harness::{Server, assert_shows};

async fn last_expression(code: &str) -> Value {
    Server::shared().execute(json!({"code": code, "result": "last_expression"})).await
}

fn tuple(items: Value) -> Value {
    json!({"$type": "tuple", "items": items})
}

#[tokio::test]
async fn what_json_has_is_plain_and_the_rest_is_tagged() {
    let values = [
        ("None", Value::Null),
        ("True", json!(true)),
        ("-1.5", json!(-1.5)),
        ("'a\\n€\\0'", json!("a\n€\u{0}")),
        ("[1, [2]]", json!([1, [2]])),
        ("{'a': {'b': None}}", json!({"a": {"b": null}})),
        ("2 ** 53", json!(9_007_199_254_740_992u64)),
        ("-2 ** 53 - 1", json!({"$type": "int", "value": "-9007199254740993"})),
        ("2 ** 100", json!({"$type": "int", "value": "1267650600228229401496703205376"})),
        ("float('nan')", json!({"$type": "float", "value": "nan"})),
        ("-float('inf')", json!({"$type": "float", "value": "-inf"})),
        ("1 + 2j", json!({"$type": "complex", "real": 1.0, "imag": 2.0})),
        ("'\\ud800'", json!({"$type": "str", "surrogatepass_base64": "7aCA"})),
        ("b'\\x00\\xff'", json!({"$type": "bytes", "base64": "AP8="})),
        ("bytearray(b'a')", json!({"$type": "bytearray", "base64": "YQ=="})),
        ("(1, (2,))", tuple(json!([1, tuple(json!([2]))]))),
        ("{7}", json!({"$type": "set", "items": [7]})),
        ("frozenset({7})", json!({"$type": "frozenset", "items": [7]})),
        ("{1: 'a', (2, 3): 'b'}", json!({"$type": "dict", "items": [[1, "a"], [tuple(json!([2, 3])), "b"]]})),
        ("range(3)", json!({"$type": "range", "value": tuple(json!([0, 3, 1]))})),
        ("...", json!({"$type": "ellipsis", "value": tuple(json!([]))})),
    ];
    for (code, expected) in values {
        let answer = last_expression(code).await;
        assert_eq!((&answer["status"], &answer["result"]), (&json!("ok"), &expected), "{code}");
    }
}

#[tokio::test]
async fn values_of_the_library_keep_what_they_mean() {
    let values = [
        ("import decimal\ndecimal.Decimal('1.10')", json!({"$type": "decimal", "value": "1.10"})),
        ("import fractions\nfractions.Fraction(1, 3)", json!({"$type": "fraction", "value": tuple(json!([1, 3]))})),
        ("import datetime\ndatetime.date(2026, 1, 2)", json!({"$type": "date", "value": "2026-01-02"})),
        (
            "import datetime\ndatetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.UTC)",
            json!({"$type": "datetime", "value": tuple(json!(["2026-01-02T03:04:05.000006", 0.0, 0]))}),
        ),
        ("import datetime\ndatetime.timedelta(1, 2)", json!({"$type": "timedelta", "value": tuple(json!([1, 2, 0]))})),
        ("import collections\ncollections.Counter('aab')", json!({"$type": "counter", "value": {"a": 2, "b": 1}})),
        ("import collections\ncollections.deque([1], 3)", json!({"$type": "deque", "value": tuple(json!([[1], 3]))})),
    ];
    for (code, expected) in values {
        assert_eq!(last_expression(code).await["result"], expected, "{code}");
    }
}

#[tokio::test]
async fn a_dict_is_never_mistaken_for_a_tag() {
    let values = [
        ("{'$type': 'int', 'value': '1'}", json!({"$type": "dict", "items": [["$type", "int"], ["value", "1"]]})),
        ("{'type': 'A', 'repr': 'b'}", json!({"$type": "dict", "items": [["type", "A"], ["repr", "b"]]})),
    ];
    for (code, expected) in values {
        assert_eq!(last_expression(code).await["result"], expected, "{code}");
    }
}

#[tokio::test]
async fn what_cannot_cross_is_given_by_type_and_repr() {
    let values = [
        ("class A:\n    def __repr__(self): return 'an A'\n[1, A()]", json!([1, {"type": "A", "repr": "an A"}])),
        ("class A(int): pass\nA(3)", json!({"type": "A", "repr": "3"})),
        (
            "import uuid\nuuid.UUID(int=5)",
            json!({"type": "uuid.UUID", "repr": "UUID('00000000-0000-0000-0000-000000000005')"}),
        ),
        (
            "class A:\n    def __repr__(self): raise ValueError\nA()",
            json!({"type": "A", "repr": "<A whose repr raised ValueError>"}),
        ),
        (
            "class A:\n    __class__ = int\n    def __repr__(self): return 7\nA()",
            json!({"type": "A", "repr": "<A whose repr raised TypeError>"}),
        ),
        ("len", json!({"type": "builtin_function_or_method", "repr": "<built-in function len>"})),
    ];
    for (code, expected) in values {
        let answer = last_expression(&format!("print('out')\n{code}")).await;
        assert_eq!(
            (&answer["status"], &answer["stdout"], &answer["result"]),
            (&json!("ok"), &json!("out\n"), &expected),
            "{code}"
        );
    }
}

#[tokio::test]
async fn a_repr_is_bounded() {
    let answer = last_expression("class A:\n    def __repr__(self): return 'x' * 10 ** 7\nA()").await;
    let repr = answer["result"]["repr"].as_str().expect("text");
    assert!((1000..=10_100).contains(&repr.chars().count()), "{}", repr.len());
}

#[tokio::test]
async fn a_value_too_large_to_cross_spoils_nothing() {
    // Beyond what one run may report, in one piece and in many.
    for code in
        ["'x' * 20_000_000", "b'x' * 20_000_000", "list(range(5_000_000))", "[object() for _ in range(1_500_000)]"]
    {
        let request = json!({"code": format!("print('out')\n{code}"), "result": "last_expression", "limits": {"memory_bytes": 1 << 30}});
        let answer = Server::shared().execute(request).await;
        assert_shows(
            &answer,
            json!({"status": "ok", "exit_code": 0, "stderr_class": "none", "stdout": "out\n", "error": null}),
        );
        let kind = if code.starts_with('[') || code.starts_with("list") {
            "list"
        } else if code.starts_with('b') {
            "bytes"
        } else {
            "str"
        };
        assert_eq!(answer["result"]["type"], kind, "{code}");
        assert!(answer["result"]["repr"].as_str().is_some_and(|repr| repr.len() < 50_000), "{code}");
    }
}

#[tokio::test]
async fn a_value_too_large_to_cross_is_no_failed_test() {
    let request = json!({
        "code": "x = 'x' * 20_000_000",
        "result": {"variable": "x"},
        "tests": {"kind": "asserts", "asserts": ["assert len(x) == 20_000_000"]},
        "grading": "in_process",
    });
    let answer = Server::shared().execute(request).await;
    assert_shows(&answer, json!({"status": "passed", "tests_passed": 1, "tests_total": 1, "result": {"type": "str"}}));
}

#[tokio::test]
async fn deep_and_cyclic_values_come_to_an_end() {
    let nested = |depth: usize| format!("x = []\nfor _ in range({depth}): x = [x]\nx");
    assert!(last_expression(&nested(100)).await["result"][0][0].is_array());
    assert_shows(&last_expression(&nested(300)).await, json!({"status": "ok", "result": {"type": "list"}}));
    assert_shows(&last_expression(&nested(100_000)).await, json!({"status": "ok", "result": {"type": "list"}}));
}

#[tokio::test]
async fn a_container_met_again_is_told_by_its_number() {
    let reference = |container: u32| json!({"$type": "reference", "container": container});
    assert_eq!(last_expression("x = []\nx.append(x)\nx").await["result"], json!([reference(0)]));
    assert_eq!(last_expression("a = [1]\n[a, a]").await["result"], json!([[1], reference(1)]));
}

#[tokio::test]
async fn only_an_expression_at_the_end_has_a_value() {
    for code in ["x = 1", "5\nx = 1", "if True:\n    5", "", "# nothing"] {
        assert_shows(&last_expression(code).await, json!({"status": "ok", "result": null}));
    }
    assert_shows(&last_expression("x = 2\nx + 1  # three\n\n").await, json!({"status": "ok", "result": 3}));
    assert_shows(&last_expression("x = 2; x * 5").await, json!({"status": "ok", "result": 10, "stdout": ""}));
    assert_shows(&last_expression("1 / 0").await, json!({"status": "error", "result": null, "error": {"line": 1}}));
}

#[tokio::test]
async fn a_variable_is_given_by_its_name() {
    let variable =
        async |code: &str| Server::shared().execute(json!({"code": code, "result": {"variable": "answer"}})).await;
    assert_shows(&variable("answer = {'a': 1}").await, json!({"status": "ok", "result": {"a": 1}}));
    let missing = variable("other = 1").await;
    assert_shows(
        &missing,
        json!({"status": "error", "stderr_class": "serialization_error", "result": null, "error": {"type": "NameError"}}),
    );
    assert_shows(
        &variable("1 / 0").await,
        json!({"stderr_class": "exception", "error": {"type": "ZeroDivisionError"}}),
    );
}
