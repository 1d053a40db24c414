//! Ruff beside the run.

use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::{Server, assert_shows};

async fn linted(code: &str) -> Value {
    Server::shared().execute(json!({"code": code, "lint": true})).await
}

#[tokio::test]
async fn findings_stand_beside_the_verdict() {
    let answer = linted("import os\n\nprint(1)\n").await;
    let finding = json!({"code": "F401", "message": "`os` imported but unused", "line": 1, "column": 8, "end_line": 1,
                         "end_column": 10, "fixable": true});
    assert_shows(&answer, json!({"status": "ok", "lint": {"clean": false, "diagnostics": [finding], "error": null}}));
    assert_shows(&linted("print(1)\n").await, json!({"lint": {"clean": true, "diagnostics": []}}));
    assert_eq!(Server::shared().execute(json!({"code": "import os"})).await["lint"], Value::Null);
}

#[tokio::test]
async fn what_does_not_parse_is_linted_all_the_same() {
    let answer = linted("def f(:\n").await;
    assert_shows(&answer, json!({"status": "error", "stderr_class": "syntax_error", "lint": {"clean": false}}));
    assert_eq!(answer["lint"]["diagnostics"][0]["code"], "invalid-syntax");
}

#[tokio::test]
async fn the_code_of_a_completion_is_linted() {
    let request = json!({"completion": "Sure:\n```python\nimport os\n```\n", "lint": true});
    assert_shows(
        &Server::shared().execute(request).await,
        json!({"lint": {"diagnostics": [{"code": "F401", "line": 1}]}}),
    );
}

#[tokio::test]
async fn hostile_snippets_do_not_end_the_service() {
    let server = Server::start(&["--workers", "1"]);
    let process = server.pid();
    for character in ["(", "[", "-", "~", "{", "f'{", "a.", "a+", "not ", "lambda:", "\t", "\\\n", "@"] {
        for length in [200_000, 400_000] {
            let code = format!("x = {}", character.repeat(length / character.len()));
            let answer = server.execute(json!({"code": code, "lint": true, "limits": {"fuel": 1_000_000_000}})).await;
            assert!(answer["lint"].is_object(), "{character}: {answer}");
            assert_eq!(
                length > 1 << 18,
                answer["lint"]["error"] == "the linter takes at most 262144 bytes",
                "{character}"
            );
        }
    }
    assert_eq!(server.pid(), process);
    assert_shows(&server.execute(json!({"code": "import os", "lint": true})).await, json!({"lint": {"clean": false}}));
}

#[tokio::test]
async fn a_refusal_does_not_wait_for_the_linter() {
    let code = "x = [1, 2, 3].index(4) + y\n".repeat(8000);
    let began = Instant::now();
    let request = json!({"code": code, "lint": true, "files": {"../../../x": ""}});
    let (status, _) = Server::shared().post("/v1/execute", &request).await;
    assert_eq!(status, 422);
    let refused = began.elapsed();
    linted(&code).await;
    assert!(refused < began.elapsed() / 2, "{refused:?}");
}

#[tokio::test]
async fn a_suite_reports_what_is_clean() {
    let items = json!([{"id": "a", "code": "import os"}, {"id": "b", "code": "1"}, {"id": "c", "code": "print(1)"}]);
    let body = json!({"defaults": {"lint": true}, "items": items}).to_string();
    let request = crate::harness::http().post(format!("{}/v1/suites", Server::shared().url)).body(body);
    let text = request.send().await.expect("the server answers").text().await.expect("the answer is whole");
    let report: Value = serde_json::from_str(text.lines().last().expect("a report")).expect("JSON");
    assert_shows(&report["report"]["lint"], json!({"linted": 3}));
    assert!(report["report"]["lint"]["clean"].as_u64().is_some_and(|clean| (1..3).contains(&clean)), "{report}");
}
