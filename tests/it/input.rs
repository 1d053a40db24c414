//! Whatever is sent is answered: with a 4xx that names the field, or with Python's own error. Never 500, never silence.

use serde_json::{Value, json};

use crate::harness::{Server, assert_shows, http};

/// Status and `error` of a refusal; checks what holds for every one.
async fn refusal(body: Vec<u8>) -> (u16, Value) {
    let shown = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
    let (status, answer) = Server::shared().post_bytes("/v1/execute", body).await;
    assert!((400..500).contains(&status), "{shown}: {status} {answer}");
    let error = &answer["error"];
    let message = error["message"].as_str().unwrap_or_default();
    assert!(error["code"].is_string() && !message.is_empty(), "{shown}: {answer}");
    // Names of our own types say nothing to a client.
    assert!(!message.contains("struct "), "{shown}: {message}");
    (status, error.clone())
}

/// Each request is refused with this status and code, and names this field (or none).
async fn all_refused(status: u16, code: &str, requests: &[(Value, &str)]) {
    let mut differences = Vec::new();
    for (request, field) in requests {
        let (seen, error) = refusal(request.to_string().into_bytes()).await;
        let (seen_code, seen_field) = (error["code"].as_str().unwrap_or(""), error["field"].as_str().unwrap_or(""));
        if (seen, seen_code, seen_field) != (status, code, *field) {
            let request: String = request.to_string().chars().take(150).collect();
            differences.push(format!(
                "{request}\n  expected {status} {code} {field:?}\n  saw      {seen} {seen_code} {seen_field:?}"
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn with(field: &str, value: Value) -> Value {
    json!({"code": "1", field: value})
}

fn tests(tests: Value) -> Value {
    json!({"code": "1", "grading": "in_process", "tests": tests})
}

#[tokio::test]
async fn what_is_not_json_is_refused() {
    let bodies: [&[u8]; 13] = [
        b"",
        b"{",
        b"{\"code\": \"1\",}",
        b"{\"code\": \"1\"",
        b"{\"code\": \"1\"} x",
        b"{\"code\": \"1\"}{\"code\": \"1\"}",
        b"{code: 1}",
        b"{'code': '1'}",
        b"code=1",
        b"{\"code\": \"a\nb\"}",
        b"\xff\xfe{\0",
        b"\x1f\x8b\x08\0\0",
        b"{\"code\": \"\xff\"}",
    ];
    for body in bodies {
        let (status, error) = refusal(body.to_vec()).await;
        assert_eq!((status, &error["code"]), (400, &json!("malformed_request")));
        assert!(error["field"].is_null() || error["field"] == "code", "{}: {error}", String::from_utf8_lossy(body));
    }
}

#[tokio::test]
async fn a_body_that_is_no_object_is_refused() {
    let in_order =
        json!(["print(1)", null, "", [], {}, {}, [], null, null, "full", "default", {}, null, 1, false, null, {}]);
    for body in [json!(null), json!([]), json!("code"), json!(1), in_order] {
        assert_eq!(refusal(body.to_string().into_bytes()).await.0, 400);
    }
    all_refused(400, "malformed_request", &[(with("limits", json!([1, 1, 1, 1, 1, 1])), "limits")]).await;
}

#[tokio::test]
async fn a_message_does_not_repeat_what_it_was_given_at_any_length() {
    let long = "x".repeat(100_000);
    let requests = [
        with(&long, json!(1)),
        with("files", json!({&long: ""})),
        with("fetch_files", json!([format!("[{long}")])),
        with("limits", json!({"fuel": long})),
        with("policy", json!(long)),
        with("grading", json!(long)),
        with("env", json!({format!("={long}"): ""})),
        tests(json!({"kind": long})),
    ];
    for request in requests {
        let (_, error) = refusal(request.to_string().into_bytes()).await;
        let length = error.to_string().len();
        let start: String = error["message"].as_str().expect("text").chars().take(40).collect();
        assert!(length < 10_000, "{length} bytes: {start}");
    }
}

#[tokio::test]
async fn a_field_that_does_not_exist_is_named_with_its_place() {
    let case = json!({"expected_stdout": "", "stdout": ""});
    all_refused(
        400,
        "malformed_request",
        &[
            (json!({"cod": "1"}), "cod"),
            (with("timeout", json!(1)), "timeout"),
            (with("limits", json!({"fule": 1})), "limits.fule"),
            (with("deterministic", json!({"sed": 1})), "deterministic.sed"),
            (tests(json!({"kind": "asserts", "asserts": ["1"], "assert": []})), "tests.assert"),
            (tests(json!({"kind": "stdin_stdout", "cases": [case]})), "tests.cases[0].stdout"),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_value_of_the_wrong_type_is_named_with_its_place() {
    all_refused(
        400,
        "malformed_request",
        &[
            (json!({"code": 1}), "code"),
            (json!({"code": ["1"]}), "code"),
            (with("stdin", json!(1)), "stdin"),
            (with("args", json!("x")), "args"),
            (with("args", json!(["x", 1])), "args[1]"),
            (with("env", json!({"A": 1})), "env.A"),
            (with("files", json!({"a": 1})), "files.a"),
            (with("files", json!({"a": {"base65": ""}})), "files.a"),
            (with("fetch_files", json!("x")), "fetch_files"),
            (with("limits", json!({"fuel": "x"})), "limits.fuel"),
            (with("limits", json!({"fuel": 1.5})), "limits.fuel"),
            (with("limits", json!({"fuel": -1})), "limits.fuel"),
            (with("deterministic", json!(true)), "deterministic"),
            (with("deterministic", json!({"seed": -1})), "deterministic.seed"),
            (with("labels", json!({"a": 1})), "labels.a"),
            (with("result", json!("first")), "result"),
            (with("result", json!({"variable": 1})), "result"),
            (with("policy", json!(1)), "policy"),
            (with("grading", json!("both")), "grading"),
            (with("tests", json!([])), "tests"),
            (tests(json!({"kind": "asserts", "asserts": [1]})), "tests.asserts[0]"),
        ],
    )
    .await;
    let huge = br#"{"code": "1", "limits": {"wall_seconds": 1e999}}"#;
    assert_eq!(refusal(huge.to_vec()).await.1["field"], "limits.wall_seconds");
}

#[tokio::test]
async fn a_field_that_is_missing_is_named() {
    all_refused(
        400,
        "malformed_request",
        &[
            (json!({}), "code"),
            (json!({"code": null}), "code"),
            (json!({"stdin": ""}), "code"),
            (tests(json!({})), "tests.kind"),
            (tests(json!({"kind": "asserts"})), "tests.asserts"),
            (tests(json!({"kind": "check_function", "source": ""})), "tests.entry_point"),
            (tests(json!({"kind": "stdin_stdout", "cases": [{"stdin": ""}]})), "tests.cases[0].expected_stdout"),
        ],
    )
    .await;
}

#[tokio::test]
async fn words_that_do_not_exist_are_named() {
    let compare = json!({"kind": "stdin_stdout", "cases": [{"expected_stdout": ""}], "compare": "fuzzy"});
    all_refused(
        400,
        "malformed_request",
        &[(tests(json!({"kind": "vibes"})), "tests.kind"), (tests(compare), "tests.compare")],
    )
    .await;
    all_refused(422, "unknown_policy", &[(with("policy", json!("nope")), "policy")]).await;
}

#[tokio::test]
async fn what_has_no_meaning_is_refused() {
    let close = json!({"kind": "stdin_stdout", "cases": [{"expected_stdout": ""}], "compare": {"close": {"rtol": -1}}});
    let check = |entry_point: &str| tests(json!({"kind": "check_function", "source": "", "entry_point": entry_point}));
    let call = |case: Value| tests(json!({"kind": "function_cases", "entry_point": "f", "cases": [case]}));
    let unittest = |fields: Value| {
        let mut all = json!({"kind": "unittest"});
        all.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
        tests(all)
    };
    let sizes = |sizes: Value| with("complexity", json!({"generator": "", "entry_point": "f", "sizes": sizes}));
    all_refused(
        422,
        "unprocessable",
        &[
            (json!({"code": "1", "completion": "2"}), "completion"),
            (call(json!({"args": []})), "tests.cases[0].expected"),
            (call(json!({"expected": 1, "raises": "E"})), "tests.cases[0].expected"),
            (call(json!({"args": [{"$type": "decimal", "value": "1"}], "expected": 1})), "tests.cases[0].args[0]"),
            (
                tests(json!({"kind": "function_cases", "entry_point": "f()[0]", "cases": [{"expected": 1}]})),
                "tests.entry_point",
            ),
            (tests(json!({"kind": "function_cases", "entry_point": "f", "cases": []})), "tests.cases"),
            (unittest(json!({})), "tests.source"),
            (unittest(json!({"files": {"../x.py": ""}})), "tests.files.../x.py"),
            (unittest(json!({"files": {"/x.py": ""}})), "tests.files./x.py"),
            (with("files", json!({"/tests/unittest.py": ""})), "files./tests/unittest.py"),
            (with("files", json!({"../../tests/x": ""})), "files.../../tests/x"),
            (unittest(json!({"source": "", "module": "a b"})), "tests.module"),
            (unittest(json!({"files": {"a.py": ""}, "test_module": "a-b"})), "tests.test_module"),
            (tests(json!({"kind": "evaluator"})), "tests.source"),
            (tests(json!({"kind": "evaluator", "preset": "nope"})), "tests.preset"),
            (tests(json!({"kind": "evaluator", "source": "", "interface": "v9"})), "tests.interface"),
            (sizes(json!([])), "complexity.sizes"),
            (sizes(json!([4, 2])), "complexity.sizes"),
            (sizes(json!([0])), "complexity.sizes"),
            (with("repeat", json!(0)), "repeat"),
            (tests(json!({"kind": "asserts", "asserts": []})), "tests.asserts"),
            (tests(json!({"kind": "stdin_stdout", "cases": []})), "tests.cases"),
            (tests(close), "tests.compare.close"),
            (check(""), "tests.entry_point"),
            (check("a b"), "tests.entry_point"),
            (check("1a"), "tests.entry_point"),
            (with("repeat", json!(101)), "repeat"),
            (with("env", json!({"": "x"})), "env."),
            (with("env", json!({"A=B": "x"})), "env.A=B"),
            (with("env", json!({"A": "x\0"})), "env.A"),
            (with("env", json!({"A\0": "x"})), "env.A\0"),
            (with("deterministic", json!({"start_time": "1960-01-01T00:00:00Z"})), "deterministic.start_time"),
        ],
    )
    .await;
    let time = with("deterministic", json!({"start_time": "yesterday"}));
    all_refused(400, "malformed_request", &[(time, "deterministic.start_time")]).await;
}

#[tokio::test]
async fn lone_surrogates_are_refused_by_field() {
    let bodies = [
        (r#"{"code": "print('\ud800')"}"#, "code"),
        (r#"{"code": "1", "stdin": "\udc00"}"#, "stdin"),
        (r#"{"code": "1", "args": ["\ud800x"]}"#, "args[0]"),
        (r#"{"code": "1", "labels": {"a": "\udfff\ud800"}}"#, "labels.a"),
    ];
    for (body, field) in bodies {
        let (status, error) = refusal(body.as_bytes().to_vec()).await;
        assert_eq!((status, &error["field"]), (400, &json!(field)), "{error}");
    }
    let pair = Server::shared().post_bytes("/v1/execute", br#"{"code": "print('\ud83d\ude00')"}"#.to_vec()).await;
    assert_eq!(pair.1["stdout"], "😀\n");
}

#[tokio::test]
async fn sources_over_the_limit_are_refused_with_the_limit() {
    let long = "#".repeat((1 << 20) + 1);
    let many = vec!["assert 1"; 10_001];
    all_refused(
        413,
        "too_large",
        &[
            (json!({"code": long}), "code"),
            (json!({"completion": format!("```python\nx = 1\n{long}\n```")}), "completion"),
            (tests(json!({"kind": "script", "source": long})), "tests"),
            (tests(json!({"kind": "asserts", "asserts": many})), "tests.asserts"),
        ],
    )
    .await;
    let (_, error) = refusal(json!({"code": long}).to_string().into_bytes()).await;
    assert_shows(&error, json!({"asked": (1 << 20) + 1, "allowed": 1 << 20}));
    let longest = Server::shared().execute(json!({"code": "#".repeat(1 << 20)})).await;
    assert_shows(&longest, json!({"status": "ok"}));
}

#[tokio::test]
async fn a_nul_in_the_source_is_pythons_own_error() {
    for code in ["print(1)\0", "'\0'", "# \0\nprint(1)"] {
        let answer = Server::shared().execute(json!({"code": code})).await;
        assert_shows(&answer, json!({"stderr_class": "syntax_error", "stdout": "", "error": {"type": "SyntaxError"}}));
        assert!(answer["error"]["message"].as_str().expect("text").contains("null bytes"), "{answer}");
    }
}

#[tokio::test]
async fn paths_that_lead_nowhere_are_refused() {
    let name = "a".repeat(256);
    let paths = [
        "../../../x",
        "/..",
        "a/../../../../x",
        "",
        "a\0b",
        ".",
        "/",
        "/tmp",
        &name,
        &format!("{}x", "d/".repeat(2048)),
    ];
    let mut requests: Vec<_> = paths.iter().map(|path| (with("files", json!({*path: "x"})), "files")).collect();
    requests.push((with("files", json!({"a": "", "a/b": ""})), "files"));
    all_refused(422, "bad_file", &requests).await;
    let globs = ["[", "", "../../../*", "a\0", "{a"].map(|glob| (with("fetch_files", json!([glob])), "fetch_files"));
    all_refused(422, "bad_file", &globs).await;
    all_refused(400, "malformed_request", &[(with("files", json!({"a": {"base64": "!!"}})), "files.a.base64")]).await;
}

#[tokio::test]
async fn an_absolute_path_lies_in_the_sandbox() {
    let request = json!({"code": "print(open('/etc/passwd').read())", "files": {"/etc/passwd": "ours"}});
    assert_shows(&Server::shared().execute(request).await, json!({"stdout": "ours\n"}));
}

#[tokio::test]
async fn a_thousand_files_are_there_and_more_than_the_limit_are_refused() {
    let files = |count: usize| {
        (0..count).map(|index| (format!("d{}/{index}", index % 7), json!("x"))).collect::<serde_json::Map<_, _>>()
    };
    let code = "import os\nprint(sum(len(files) for _, _, files in os.walk('.')))";
    let answer = Server::shared().execute(json!({"code": code, "files": files(1000)})).await;
    assert_shows(&answer, json!({"status": "ok", "stdout": "1001\n"}));
    all_refused(422, "bad_file", &[(json!({"code": code, "files": files(4100)}), "files")]).await;
    let large = json!({"code": code, "files": {"a": "x".repeat(1001)}, "limits": {"files_bytes": 1000}});
    all_refused(422, "bad_file", &[(large, "files")]).await;
}

#[tokio::test]
async fn json_nested_without_end_is_refused() {
    for depth in [129, 100_000] {
        let nested = |open: &str, close: &str| format!("{}{}", open.repeat(depth), close.repeat(depth));
        let bodies = [
            nested("[", "]"),
            nested("{\"a\":", "}").replace(":}", ":1}"),
            format!("{{\"code\": \"1\", \"labels\": {}}}", nested("[", "]")),
            format!("{{\"code\": \"1\", \"files\": {{\"a\": {}}}}}", nested("[", "]")),
            format!("{{\"code\": \"1\", \"tests\": {}}}", nested("[", "]")),
            format!("{{\"code\": \"1\", \"tests\": {{\"x\": {}}}}}", nested("[", "]")),
        ];
        for body in bodies {
            assert_eq!(refusal(body.into_bytes()).await.0, 400);
        }
    }
}

#[tokio::test]
async fn routes_tell_what_they_do_not_take() {
    let server = Server::shared();
    let send = async |method: reqwest::Method, path: &str, kind: &str| {
        let request = http().request(method, format!("{}{path}", server.url)).header("content-type", kind);
        let response = request.body(r#"{"code": "1"}"#).send().await.expect("the server answers");
        let status = response.status().as_u16();
        let answer: Value = serde_json::from_str(&response.text().await.expect("a body")).expect("JSON");
        (status, answer["error"]["code"].as_str().unwrap_or("none").to_owned())
    };
    use reqwest::Method;
    let json = "application/json";
    let requests = [
        (Method::POST, "/v1/execute", "text/plain", (415, "not_json")),
        (Method::POST, "/v1/execute", "multipart/form-data", (415, "not_json")),
        (Method::POST, "/v1/execute", "application/json; charset=utf-8", (200, "none")),
        (Method::GET, "/v1/execute", json, (405, "method_not_allowed")),
        (Method::DELETE, "/v1/execute", json, (405, "method_not_allowed")),
        (Method::POST, "/metrics", json, (405, "method_not_allowed")),
        (Method::POST, "/v1/nothing", json, (404, "not_found")),
        (Method::POST, "/v1/execute/", json, (404, "not_found")),
        (Method::GET, "/", json, (404, "not_found")),
        (Method::GET, "/..%2f..%2fetc%2fpasswd", json, (404, "not_found")),
        (Method::GET, "/%ff%00", json, (404, "not_found")),
    ];
    for (method, path, kind, expected) in requests {
        let (status, code) = send(method.clone(), path, kind).await;
        assert_eq!((status, code.as_str()), expected, "{method} {path} {kind}");
    }
}
