//! promptfoo's assertion `webhook`: what it sends and reads, what is a verdict and what an error.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::access::{create, send};
use crate::harness::Server;

async fn webhook(query: &str, output: Value, vars: Value) -> (u16, Value) {
    let request = json!({"output": output, "context": {"prompt": "Write add.", "vars": vars}});
    Server::shared().post(&format!("/v1/promptfoo/webhook{query}"), &request).await
}

fn tests() -> Value {
    json!({"kind": "asserts", "asserts": ["assert add(1, 0) == 1", "assert add(1, 2) == 3"]})
}

#[tokio::test]
async fn an_output_gets_the_verdict_of_its_rows_tests() {
    let right = "Here it is:\n```python\ndef add(a, b):\n    return a + b\n```\n";
    let expected = json!({"pass": true, "score": 1.0, "reason": "2 of 2 tests passed"});
    assert_eq!(webhook("", json!(right), json!({"tests": tests()})).await, (200, expected.clone()));
    assert_eq!(webhook("", json!(right), json!({"tests": tests().to_string(), "other": [1]})).await, (200, expected));
    let (status, wrong) = webhook("", json!("def add(a, b): return a - b"), json!({"tests": tests()})).await;
    assert_eq!((status, &wrong["pass"], &wrong["score"]), (200, &json!(false), &json!(0.5)));
    let reason = wrong["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("assertion_failure: 1 of 2 tests passed; assert add(1, 2) == 3"), "{reason}");
}

#[tokio::test]
async fn what_the_output_does_wrong_is_a_verdict() {
    for (output, query, class) in [
        (json!("I can't do that."), "", "no_code"),
        (json!("def add(a, b: return a"), "", "syntax_error"),
        (json!("def add(a, b):\n    while True: pass"), "", "fuel_exhausted"),
        (json!("import socket\ndef add(a, b): return a + b"), "?policy=strict", "policy_blocked"),
        (json!({"answer": 3}), "", "no_code"),
    ] {
        let vars = json!({"tests": tests(), "proofbox": {"limits": {"fuel": 1_000_000_000}}});
        let (status, answer) = webhook(query, output.clone(), vars).await;
        assert_eq!(
            (status, &answer["pass"], &answer["score"]),
            (200, &json!(false), &json!(0.0)),
            "{output}: {answer}"
        );
        assert!(answer["reason"].as_str().is_some_and(|reason| reason.starts_with(class)), "{output}: {answer}");
    }
}

#[tokio::test]
async fn what_the_row_or_the_service_does_wrong_is_an_error() {
    let right = json!("def add(a, b): return a + b");
    for (query, vars, status, field) in [
        ("", json!({}), 400, "context.vars.tests"),
        ("", json!({"test": tests()}), 400, "context.vars.tests"),
        ("", json!({"tests": {"kind": "asserts", "asserts": []}}), 422, "tests.asserts"),
        ("?policy=none-such", json!({"tests": tests()}), 422, "policy"),
        ("?kid=asserts", json!({"tests": tests()}), 400, "kid"),
    ] {
        let (answered, said) = webhook(query, right.clone(), vars).await;
        assert_eq!((answered, &said["error"]["field"]), (status, &json!(field)), "{said}");
        assert!(said.get("pass").is_none());
    }
    let (status, _) = Server::shared().post("/v1/promptfoo/webhook", &json!({"context": {}})).await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn hidden_tests_stay_hidden() {
    let (_, answer) =
        webhook("?visibility=hidden", json!("def add(a, b): return a - b"), json!({"tests": tests()})).await;
    let reason = answer["reason"].as_str().expect("a reason");
    assert!(answer["pass"] == false && !reason.contains("add(") && !reason.contains("-1"), "{answer}");
}

#[tokio::test]
async fn an_evaluator_scores_the_output_itself() {
    let source = "def get_assert(output, context):\n    return {'score': 0.4, 'pass': context['vars']['topic'] in output, 'reason': 'on topic'}";
    let vars = |topic: &str| json!({"topic": topic, "tests": {"source": source}});
    let query = "?kind=evaluator&interface=get_assert";
    let (_, answer) = webhook(query, json!("All about bees."), vars("bees")).await;
    assert_eq!(answer, json!({"pass": true, "score": 0.4, "reason": "1 of 1 tests passed"}));
    let (_, answer) = webhook(query, json!("All about bees."), vars("ants")).await;
    assert_eq!((&answer["pass"], &answer["score"]), (&json!(false), &json!(0.4)));
    assert!(answer["reason"].as_str().is_some_and(|reason| reason.contains("on topic")), "{answer}");
}

#[tokio::test]
async fn a_preset_needs_nothing_but_the_url() {
    for (query, output, passes) in [
        ("preset=regex&app_params.pattern=%5E%5B0-9%5D%2B%24", "42", true),
        ("preset=regex&app_params.pattern=%5E%5B0-9%5D%2B%24", "forty-two", false),
        ("preset=exact_match&correct_answer=42", " 42 ", true),
        ("preset=contains&app_params.substring=bees", "All about ants.", false),
    ] {
        let (status, answer) = webhook(&format!("?kind=evaluator&{query}"), json!(output), json!({})).await;
        assert_eq!((status, &answer["pass"]), (200, &json!(passes)), "{query} {output}: {answer}");
    }
}

#[tokio::test]
async fn the_key_may_be_in_the_url() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let key = create(data.path(), &["bot"]);
    let server = Server::start_with(&["--workers", "1"], |command| {
        command.args(["--keyless", "never"]).env("PROOFBOX_DATA_DIR", data.path());
    });
    let request =
        json!({"output": "x = 1", "context": {"vars": {"tests": {"kind": "asserts", "asserts": ["assert x"]}}}});
    let basic = |key: &str| format!("Basic {}", STANDARD.encode(format!("bot:{key}")));
    let post = async |authorization: &str| {
        send(&server, "POST", "/v1/promptfoo/webhook", &[("authorization", authorization)], request.clone()).await
    };
    assert_eq!(post(&basic(&key)).await.0, 200);
    assert_eq!(post(&format!("Bearer {key}")).await.0, 200);
    assert_eq!(post(&basic("other")).await.0, 401);
    assert_eq!(post("").await.0, 401);
}
