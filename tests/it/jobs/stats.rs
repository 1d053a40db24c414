//! What all that was run says together.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Asking, asking, key, start, suite};
use crate::harness::assert_shows;

#[tokio::test]
async fn submissions_are_counted_by_label_and_time() {
    let data = tempfile::tempdir().expect("a directory");
    let server = start(data.path(), &[]);
    let client = asking(&server);
    let graded = |code: &str, model: &str, kind: &str| {
        json!({"code": code, "tests": {"kind": "asserts", "asserts": ["assert x == 1"]},
               "labels": {"model": model, "task_type": kind}})
    };
    for (code, model, kind) in
        [("x = 1", "a", "easy"), ("x = 2", "a", "hard"), ("x = 1", "b", "easy"), ("raise ValueError", "b", "hard")]
    {
        server.execute(graded(code, model, kind)).await;
    }
    server.execute(json!({"code": "print(1)"})).await;
    let id = client.accepted("/v1/suites?async=true", &suite(10)).await;
    client.ended(&id).await;
    // Not run, and so not counted.
    server.post("/v1/execute", &json!({"code": "1", "policy": "none"})).await;
    let all = client.get("/v1/stats").await;
    assert_shows(
        &all,
        json!({"interval": null, "with_other_labels": 0, "groups": [{
            "labels": {}, "submissions": 15, "graded": 14, "passed": 7, "pass_rate": 0.5,
            "by_status": {"passed": 7, "failed": 7, "ok": 1},
            "by_class": {"none": 8, "assertion_failure": 6, "exception": 1},
        }]}),
    );
    let fuel = &all["groups"][0]["fuel_used"];
    assert!(fuel["p50"].as_f64() > Some(0.0) && fuel["p50"].as_f64() <= fuel["p99"].as_f64(), "{fuel}");
    assert!(fuel["p99"].as_f64() <= fuel["max"].as_f64() && fuel["mean"].as_f64() <= fuel["max"].as_f64(), "{fuel}");
    assert!(all["groups"][0]["execution_seconds"]["p90"].as_f64() > Some(0.0));
    let by_model = client.get("/v1/stats?group_by=model").await;
    assert_shows(
        &by_model["groups"],
        json!([
            {"labels": {"model": null}, "submissions": 1, "graded": 0, "pass_rate": null},
            {"labels": {"model": "a"}, "submissions": 2, "pass_rate": 0.5},
            {"labels": {"model": "b"}, "submissions": 2, "pass_rate": 0.5},
            {"labels": {"model": "m"}, "submissions": 10, "pass_rate": 0.5},
        ]),
    );
    let filtered = client.get("/v1/stats?group_by=model,task_type&label.task_type=easy&interval=hour").await;
    assert_shows(
        &filtered["groups"],
        json!([
            {"labels": {"model": "a", "task_type": "easy"}, "pass_rate": 1.0},
            {"labels": {"model": "b", "task_type": "easy"}, "pass_rate": 1.0},
        ]),
    );
    assert!(filtered["groups"][0]["start"].as_str().is_some_and(|start| start.ends_with(":00:00Z")), "{filtered}");
    assert_eq!(client.get("/v1/stats?until=2020-01-01T00:00:00Z").await["groups"], json!([]));
    for (query, status, field) in [
        ("since=yesterday", 400, "since"),
        ("since=2999-01-01T00:00:00Z", 422, "since"),
        ("interval=week", 422, "interval"),
        ("group_by=a,b,c,d,e,f,g,h,i", 422, "group_by"),
        ("model=a", 400, "model"),
    ] {
        let (seen, answer) = client.json(Method::GET, &format!("/v1/stats?{query}"), &[], String::new()).await;
        assert_eq!((seen, answer["error"]["field"].as_str()), (status, Some(field)), "{query}");
    }
}

#[tokio::test]
async fn statistics_are_their_owners_only_and_outlive_the_service() {
    let data = tempfile::tempdir().expect("a directory");
    let secret = key(data.path(), "one");
    let server = start(data.path(), &[]);
    let mine = Asking { server: &server, key: Some(&secret) };
    let (status, _) = mine.json(Method::POST, "/v1/execute", &[], json!({"code": "1"}).to_string()).await;
    assert_eq!(status, 200);
    assert_eq!(mine.get("/v1/stats").await["groups"][0]["submissions"], 1);
    assert_eq!(asking(&server).get("/v1/stats").await["groups"], json!([]));
    crate::process::signal(server.pid(), libc::SIGTERM);
    assert!(server.ended().await.success());
    drop(server);
    let server = start(data.path(), &[]);
    let mine = Asking { server: &server, key: Some(&secret) };
    assert_eq!(mine.get("/v1/stats").await["groups"][0]["submissions"], 1);
}

#[tokio::test]
async fn a_label_with_too_many_values_is_told_as_other() {
    let data = tempfile::tempdir().expect("a directory");
    let server = start(data.path(), &[]);
    let client = asking(&server);
    let items: Vec<Value> = (0..250)
        .map(|number| json!({"id": number.to_string(), "code": "1", "labels": {"task": number.to_string(), "model": "m"}}))
        .collect();
    let id = client.accepted("/v1/suites?async=true", &json!({"items": items})).await;
    client.ended(&id).await;
    let by_task = client.get("/v1/stats?group_by=task").await;
    assert_eq!((by_task["groups"].as_array().map(Vec::len), &by_task["with_other_labels"]), (Some(201), &json!(50)));
    let by_model = client.get("/v1/stats?group_by=model").await;
    assert_shows(&by_model["groups"], json!([{"labels": {"model": "m"}, "submissions": 250}]));
}
