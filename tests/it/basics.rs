//! The first things a user tries.

use serde_json::json;

use crate::harness::{Server, run};

#[tokio::test]
async fn a_snippet_prints() {
    let answer = run("print(1 + 1)").await;
    assert_eq!((&answer["status"], &answer["stdout"], &answer["exit_code"]), (&json!("ok"), &json!("2\n"), &json!(0)));
    assert!(answer["fuel_used"].as_u64() > Some(0));
}

#[tokio::test]
async fn asserts_are_counted_each() {
    let answer = Server::shared()
        .execute(json!({
            "code": "def add(a, b):\n    return a + b\n",
            "tests": {"kind": "asserts", "asserts": ["assert add(1, 2) == 3", "assert add(1, 1) == 3"]},
            "grading": "in_process",
        }))
        .await;
    assert_eq!(
        (&answer["status"], &answer["tests_passed"], &answer["tests_total"]),
        (&json!("failed"), &json!(1), &json!(2))
    );
    assert_eq!(answer["stderr_class"], "assertion_failure");
    assert_eq!(answer["integrity"]["level"], "in_process");
}
