//! Many submissions in one request.

use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::harness::{Server, assert_shows, http};
use crate::process;

async fn send(server: &Server, content_type: &str, body: String) -> (u16, Vec<Value>) {
    send_to(server, "/v1/suites", content_type, body).await
}

/// Status code and the lines of the answer.
async fn send_to(server: &Server, path: &str, content_type: &str, body: String) -> (u16, Vec<Value>) {
    let request = http().post(format!("{}{path}", server.url)).header("content-type", content_type).body(body);
    let response = request.send().await.expect("the server answers");
    let status = response.status().as_u16();
    let text = response.text().await.expect("the answer is whole");
    (status, text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect())
}

/// The lines by id and the report.
fn split(mut lines: Vec<Value>) -> (Vec<Value>, Value) {
    let report = lines.pop().expect("the report")["report"].take();
    lines.sort_by_key(|line| line["id"].as_str().expect("an id").to_owned());
    (lines, report)
}

fn graded(id: &str, code: &str) -> Value {
    json!({"id": id, "code": code})
}

fn defaults() -> Value {
    json!({
        "grading": "in_process", "tests": {"kind": "asserts", "asserts": ["assert f() == 1", "assert f() > 0"]},
        "labels": {"model": "m"}, "limits": {"fuel": 1_000_000_000, "wall_seconds": 5},
    })
}

fn items() -> Vec<Value> {
    let mut other = graded("b#0", "def f(): return 2");
    other["labels"] = json!({"model": "n"});
    other["limits"] = json!({"fuel": 2_000_000_000});
    vec![
        graded("a#0", "def f(): return 1"),
        graded("a#1", "def f(): return 0"),
        other,
        graded("c", "def f():\n    while True: pass"),
    ]
}

fn assert_is_right(lines: Vec<Value>) {
    let (lines, report) = split(lines);
    let ids: Vec<&str> = lines.iter().filter_map(|line| line["id"].as_str()).collect();
    assert_eq!(ids, ["a#0", "a#1", "b#0", "c"]);
    assert_shows(&lines[0], json!({"task": "a", "status": "passed", "limits": {"fuel": 1_000_000_000}}));
    assert_shows(
        &lines[2],
        json!({"task": "b", "status": "failed", "tests_passed": 1, "labels": {"model": "n"},
                                   "limits": {"fuel": 2_000_000_000, "wall_seconds": 5.0}}),
    );
    assert_shows(&lines[3], json!({"status": "failed", "stderr_class": "fuel_exhausted"}));
    assert!(lines.iter().all(|line| line["execution_id"].is_string()));
    assert_shows(
        &report,
        json!({
            "items": 4, "passed": 1, "failed": 3, "errors": 0, "infrastructure_errors": 0, "graded": 4,
            "pass_rate": 0.25, "tests_passed": 3, "tests_total": 8, "tasks": 3,
            "pass_at_k": {"1": 0.5 / 3.0, "2": null},
            "by_label": {"model": {"m": {"items": 3, "passed": 1}, "n": {"items": 1, "passed": 0}}},
            "by_class": {"none": 1, "assertion_failure": 2, "fuel_exhausted": 1}, "flaky": [], "lint": null,
        }),
    );
    assert!(report["fuel_used"]["p99"].as_f64() >= Some(1e9), "{report}");
}

#[tokio::test]
async fn every_item_has_a_line_and_the_report_comes_last() {
    let body = json!({"defaults": defaults(), "items": items(), "k": [1, 2]});
    let (status, lines) = send(Server::shared(), "application/json", body.to_string()).await;
    assert_eq!(status, 200, "{lines:?}");
    assert_is_right(lines);
}

#[tokio::test]
async fn a_suite_may_come_as_lines() {
    let mut body = format!("{}\n\n", json!({"defaults": defaults(), "k": [1, 2]}));
    for item in items() {
        body.push_str(&format!("{item}\n"));
    }
    let (status, lines) = send(Server::shared(), "application/x-ndjson", body).await;
    assert_eq!(status, 200, "{lines:?}");
    assert_is_right(lines);
}

#[tokio::test]
async fn what_is_wrong_is_named_before_anything_runs() {
    let server = Server::start(&["--workers", "1"]);
    let suite = |item: Value| json!({"items": [{"id": "a", "code": "1"}, item]}).to_string();
    let json = "application/json";
    let refused = [
        (json, suite(json!({"id": "b", "code": "1", "limits": {"fuel": "x"}})), 400, "items[1].limits.fuel"),
        (json, suite(json!({"id": "b", "code": "1", "limits": {"fuel": 0}})), 400, "items[1].limits.fuel"),
        (json, suite(json!({"id": "b", "code": "1", "policy": "none"})), 422, "items[1].policy"),
        (json, suite(json!({"id": "b", "code": "1", "cod": 1})), 400, "items[1].cod"),
        (json, suite(json!({"id": "b"})), 400, "items[1].code"),
        (json, suite(json!({"code": "1"})), 400, "items[1].id"),
        (json, suite(json!({"id": 1, "code": "1"})), 400, "items[1].id"),
        (json, suite(json!({"id": "a", "code": "1"})), 422, "items[1].id"),
        (json, suite(json!({"id": "b", "code": "1", "tests": {"kind": "x"}})), 400, "items[1].tests.kind"),
        (json, suite(json!([])), 400, "items[1]"),
        (json, json!({"items": []}).to_string(), 422, "items"),
        (json, json!({"items": [{"id": "a", "code": "1"}], "k": [0]}).to_string(), 422, "k"),
        (json, json!({"items": [{"id": "a", "code": "1"}], "x": 1}).to_string(), 400, "x"),
        (
            json,
            json!({"defaults": {"limits": {"fule": 1}}, "items": [{"id": "a", "code": "1"}]}).to_string(),
            400,
            "defaults.limits.fule",
        ),
        (json, json!({"defaults": {"id": "a"}, "items": [{"code": "1"}]}).to_string(), 400, "defaults.id"),
        ("application/x-ndjson", "{\"id\": \"a\", \"code\": \"1\"}\n{\"id\"".to_owned(), 400, "items[1]"),
    ];
    for (content_type, body, status, field) in refused {
        let (seen, lines) = send(&server, content_type, body.clone()).await;
        assert_eq!((seen, lines[0]["error"]["field"].as_str()), (status, Some(field)), "{body}\n{}", lines[0]);
    }
    assert_eq!(server.metric("proofbox_fuel_total").await, 0.0);
}

#[tokio::test]
async fn defaults_are_not_copied_without_bound() {
    let items: Vec<Value> = (0..3000).map(|index| json!({"id": index.to_string()})).collect();
    let body = json!({"defaults": {"code": "#".repeat(100_000)}, "items": items});
    let (status, lines) = send(Server::shared(), "application/json", body.to_string()).await;
    assert_eq!(status, 413);
    assert_shows(&lines[0], json!({"error": {"code": "too_large", "field": "defaults"}}));
}

#[tokio::test]
async fn an_item_refused_at_its_turn_is_a_line_with_an_error() {
    let items = json!([
        {"id": "a", "code": "1"},
        {"id": "b", "code": "1", "files": {"../../../x": ""}},
        {"id": "c", "code": "#".repeat((1 << 20) + 1)},
    ]);
    let (status, lines) = send(Server::shared(), "application/json", json!({"items": items}).to_string()).await;
    assert_eq!(status, 200);
    let (lines, report) = split(lines);
    assert_shows(&lines[1], json!({"status": "refused", "error": {"code": "bad_file", "field": "files"}}));
    assert_shows(&lines[2], json!({"status": "refused", "error": {"code": "too_large", "field": "code"}}));
    assert_shows(&report, json!({"items": 3, "ok": 1, "refused": 2}));
}

#[tokio::test]
async fn parameters_and_kinds_of_bodies_are_checked() {
    let body = json!({"items": [{"id": "a", "code": "1"}]}).to_string();
    let (status, lines) = send_to(Server::shared(), "/v1/suites?asynk=1", "application/json", body.clone()).await;
    assert_eq!((status, lines[0]["error"]["field"].as_str()), (400, Some("asynk")));
    let (status, _) = send_to(Server::shared(), "/v1/suites?async=false", "application/json", body.clone()).await;
    assert_eq!(status, 200);
    assert_eq!(send(Server::shared(), "text/csv", body).await.0, 415);
}

#[tokio::test]
async fn items_wait_for_a_place_instead_of_being_refused() {
    let server = Server::start(&["--workers", "1", "--slots", "2", "--queue", "0"]);
    let items: Vec<Value> =
        (0..6).map(|n| json!({"id": n.to_string(), "code": "import time\ntime.sleep(0.02)"})).collect();
    let body = json!({"items": items}).to_string();
    let (first, second) =
        tokio::join!(send(&server, "application/json", body.clone()), send(&server, "application/json", body));
    for (status, lines) in [first, second] {
        assert_eq!(status, 200);
        assert_shows(&split(lines).1, json!({"items": 6, "ok": 6}));
    }
}

#[tokio::test]
async fn a_suite_does_not_fill_the_queue() {
    let server = Server::start(&["--workers", "1", "--slots", "2", "--queue", "1"]);
    let items: Vec<Value> =
        (0..20).map(|n| json!({"id": n.to_string(), "code": "import time\ntime.sleep(0.05)"})).collect();
    let suite = send(&server, "application/json", json!({"items": items}).to_string());
    let others = async {
        let begun = async || (server.metric("proofbox_runs_total{stderr_class=\"none\"}").await > 0.0).then_some(());
        process::eventually_async("the suite runs", begun).await;
        for _ in 0..5 {
            assert_shows(&server.execute(json!({"code": "print(1)"})).await, json!({"status": "ok"}));
        }
    };
    let ((status, lines), ()) = tokio::join!(suite, others);
    assert_eq!(status, 200);
    assert_shows(&split(lines).1, json!({"items": 20, "ok": 20}));
}

#[tokio::test]
async fn a_client_that_goes_away_ends_what_runs() {
    let server = Server::start(&["--workers", "1"]);
    let mut items = vec![json!({"id": "first", "code": "1"})];
    items.extend((0..20).map(|n| json!({"id": n.to_string(), "code": "while True: pass"})));
    let body = json!({"defaults": {"limits": {"wall_seconds": 600, "fuel": 10_000_000_000_000_u64}}, "items": items});
    let response = http().post(format!("{}/v1/suites", server.url)).body(body.to_string()).send().await;
    let mut stream = response.expect("the server answers").bytes_stream();
    let first = stream.next().await.expect("a line").expect("it comes");
    assert!(first.starts_with(b"{\"id\":\"first\""), "{first:?}");
    // Workers tell it every now and then.
    let busy = async || (server.metric("proofbox_instances_live").await > 0.0).then_some(());
    process::eventually_async("endless loops run", busy).await;
    drop(stream);
    let idle = async || (server.metric("proofbox_instances_live").await == 0.0).then_some(());
    process::eventually_async("nothing runs any more", idle).await;
}
