//! Verdicts on what a session has made.

use serde_json::{Value, json};

use super::Session;
use crate::harness::{Server, assert_shows};

async fn grade(session: &Session<'_>, request: Value) -> (u16, Value) {
    session.post("/grade", request).await
}

#[tokio::test]
async fn a_file_is_graded_beside_the_others_and_the_session_stays_as_it_is() {
    let files = json!({"calc.py": "from helper import plus\ndef add(a, b): return plus(a, b)\n",
        "helper.py": "def plus(a, b): return a - b\n", "tests/test_own.py": "def test_nothing(): assert False\n"});
    let session = Session::open_on(Server::shared(), json!({"files": files})).await;
    let tests = json!({"kind": "pytest", "source": "from calc import add\ndef test_add(): assert add(2, 3) == 5\n"});
    let request = json!({"path": "calc.py", "tests": tests, "labels": {"step": "1"}});
    let (status, answer) = grade(&session, request.clone()).await;
    assert_eq!(status, 200, "{answer}");
    let failed = json!({"status": "failed", "tests_passed": 0, "tests_total": 1, "integrity": {"level": "isolated"}});
    assert_shows(&answer, failed);
    assert_shows(&answer, json!({"labels": {"step": "1"}}));
    session.call("open('helper.py', 'w').write('def plus(a, b): return a + b')").await;
    let (_, answer) = grade(&session, request).await;
    assert_shows(&answer, json!({"status": "passed", "tests_passed": 1}));
    // What tests and candidate do to their files, they do to copies.
    let vandal = json!({"kind": "asserts", "asserts": ["open('calc.py', 'w').write('')", "add(1, 1) == 2"]});
    let (_, answer) = grade(&session, json!({"path": "/home/user/calc.py", "tests": vandal})).await;
    assert_shows(&answer, json!({"tests_total": 2}));
    assert_eq!(session.value("'plus' in open('calc.py').read()").await, true);
}

#[tokio::test]
async fn hidden_grading_tells_no_test() {
    let session = Session::open_on(Server::shared(), json!({"files": {"solution.py": "def f(): return 1"}})).await;
    let tests = json!({"kind": "asserts", "asserts": ["assert f() == 2, 'the secret is 2'"]});
    let (_, answer) = grade(&session, json!({"tests": tests, "visibility": "hidden", "policy": "eval"})).await;
    assert_shows(&answer, json!({"status": "failed", "tests_passed": 0, "policy": {"name": "eval"}}));
    assert!(!answer.to_string().contains("the secret is"), "{answer}");
}

#[tokio::test]
async fn what_is_wrong_with_a_grading_is_said_with_the_field() {
    let session = Session::open_on(Server::shared(), json!({"files": {"odd.py": {"base64": "/w=="}}})).await;
    let tests = json!({"kind": "asserts", "asserts": ["1"]});
    for (request, status, field) in [
        (json!({"tests": tests}), 422, "path"),
        (json!({"tests": tests, "path": "odd.py"}), 422, "path"),
        (json!({"path": "odd.py"}), 400, "tests"),
        (json!({"tests": {"kind": "odd"}}), 400, "tests"),
        (json!({"tests": tests, "code": "1"}), 400, "code"),
    ] {
        let (seen, answer) = grade(&session, request.clone()).await;
        assert_eq!(seen, status, "{request} {answer}");
        assert!(answer["error"]["field"].as_str().is_some_and(|found| found.starts_with(field)), "{request} {answer}");
    }
    let (status, _) = Server::shared().post("/v1/sessions/none/grade", &json!({"tests": tests})).await;
    assert_eq!(status, 404);
}
