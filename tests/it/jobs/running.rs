//! Accepting, following, cancelling; whose they are.

use futures_util::StreamExt;
use reqwest::Method;
use serde_json::{Value, json};

use super::{asking, assert_each_once, key, start, suite};
use crate::harness::{Server, assert_shows};
use crate::process::eventually_async;

#[tokio::test]
async fn a_suite_in_the_background_is_followed_to_its_end() {
    let client = asking(Server::shared());
    let response = client.send(Method::POST, "/v1/suites?async=true", &[], suite(60).to_string()).await;
    assert_eq!(response.status(), 202);
    let location = response.headers()["location"].to_str().expect("text").to_owned();
    let job: Value = serde_json::from_str(&response.text().await.expect("a body")).expect("JSON");
    let id = job["id"].as_str().expect("an id");
    assert_eq!(location, format!("/v1/jobs/{id}"));
    assert_shows(&job, json!({"kind": "suite", "items": 60, "reason": null, "callback": null}));
    let lines = client.results(id, "?follow=true").await;
    assert_each_once(&lines, 60);
    let job = client.job(id).await;
    assert_shows(&job, json!({"state": "finished", "done": 60, "by_status": {"passed": 30, "failed": 30}}));
    assert!(job["ended_at"].is_string() && job["expires_at"].as_str() > job["ended_at"].as_str(), "{job}");
    // Once more, from where another client stopped.
    assert_eq!(client.results(id, "?after=45").await, lines[45..]);
    assert_eq!(client.results(id, "?after=60&follow=true").await, [Value::Null; 0]);
}

#[tokio::test]
async fn what_is_told_of_a_job_is_what_a_suite_tells() {
    let server = Server::shared();
    let client = asking(server);
    let response = client.send(Method::POST, "/v1/suites", &[], suite(10).to_string()).await;
    let text = response.text().await.expect("the answer is whole");
    let mut now: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let report = now.pop().expect("a report")["report"].take();
    let id = client.accepted("/v1/suites?async=true", &suite(10)).await;
    client.ended(&id).await;
    let mut later = client.results(&id, "").await;
    for lines in [&mut now, &mut later] {
        lines.sort_by_key(|line| line["id"].as_str().expect("an id").to_owned());
    }
    for (now, later) in now.iter().zip(&later) {
        let names = |line: &Value| line.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(now), names(later));
        for field in ["id", "task", "status", "stdout", "tests_passed", "stderr_class", "labels", "limits", "error"] {
            assert_eq!(now[field], later[field], "{field}");
        }
        let cases = |line: &Value| {
            let cases = line["cases"].as_array().expect("a list").iter();
            cases.map(|case| (case["name"].clone(), case["status"].clone())).collect::<Vec<_>>()
        };
        assert_eq!(cases(now), cases(later));
    }
    let told = client.get(&format!("/v1/jobs/{id}/report")).await;
    assert_shows(&told, json!({"id": id, "state": "finished", "items": 10, "done": 10}));
    for field in ["items", "passed", "failed", "pass_rate", "pass_at_k", "by_label", "by_class", "tasks"] {
        assert_eq!(told["report"][field], report[field], "{field}");
    }
}

#[tokio::test]
async fn one_submission_in_the_background() {
    let client = asking(Server::shared());
    let id = client.accepted("/v1/jobs", &json!({"code": "print(6 * 7)", "labels": {"a": "b"}})).await;
    assert_shows(&client.ended(&id).await, json!({"kind": "execute", "items": 1, "by_status": {"ok": 1}}));
    let lines = client.results(&id, "").await;
    assert_eq!(lines.len(), 1);
    assert_shows(&lines[0], json!({"id": id, "status": "ok", "stdout": "42\n", "labels": {"a": "b"}}));
    let named = client.accepted("/v1/jobs", &json!({"code": "1", "id": "mine", "task": "t"})).await;
    client.ended(&named).await;
    assert_shows(&client.results(&named, "").await[0], json!({"id": "mine", "task": "t"}));
}

#[tokio::test]
async fn what_is_wrong_with_a_job_is_named() {
    let client = asking(Server::shared());
    let one = |field: &str, value: Value| json!({"code": "1", field: value}).to_string();
    let long = "k".repeat(256);
    type Headers<'a> = &'a [(&'a str, &'a str)];
    let refused: [(&str, String, Headers<'_>, u16, &str); 10] = [
        ("/v1/jobs", one("cod", json!(1)), &[], 400, "cod"),
        ("/v1/jobs", one("limits", json!({"fuel": "x"})), &[], 400, "limits.fuel"),
        ("/v1/jobs", one("policy", json!("none")), &[], 422, "policy"),
        ("/v1/jobs", one("id", json!("")), &[], 422, "id"),
        ("/v1/jobs", one("callback_url", json!(7)), &[], 400, "callback_url"),
        ("/v1/jobs", one("callback_url", json!("http://localhost/")), &[], 422, "callback_url"),
        ("/v1/jobs", one("stdin", json!("")), &[("idempotency-key", &long)], 400, "Idempotency-Key"),
        ("/v1/jobs", json!([]).to_string(), &[], 400, ""),
        ("/v1/suites?async=perhaps", suite(1).to_string(), &[], 422, "async"),
        ("/v1/suites?async=true", json!({"items": [{"id": "a"}]}).to_string(), &[], 400, "items[0].code"),
    ];
    for (path, body, headers, status, field) in refused {
        let (seen, answer) = client.json(Method::POST, path, headers, body.clone()).await;
        let told = answer["error"]["field"].as_str().unwrap_or("");
        assert_eq!((seen, told), (status, field), "{path} {body}\n{answer}");
    }
    let (status, answer) = client
        .json(
            Method::POST,
            "/v1/suites",
            &[],
            json!({"items": [{"id": "a", "code": "1"}], "callback_url": "x"}).to_string(),
        )
        .await;
    assert_shows(&json!([status, answer]), json!([422, {"error": {"field": "callback_url"}}]));
    for (path, status, field) in [
        ("/v1/jobs?state=odd", 422, "state"),
        ("/v1/jobs?limit=0", 422, "limit"),
        ("/v1/jobs?next=x", 422, "next"),
        ("/v1/jobs?x=1", 400, "x"),
    ] {
        let (seen, answer) = client.json(Method::GET, path, &[], String::new()).await;
        assert_eq!((seen, answer["error"]["field"].as_str()), (status, Some(field)), "{path}");
    }
    for path in ["/v1/jobs/x", "/v1/jobs/0190d3a1-0000-7000-8000-000000000000/results"] {
        let (seen, answer) = client.json(Method::GET, path, &[], String::new()).await;
        assert_shows(&json!([seen, answer]), json!([404, {"error": {"code": "job_not_found"}}]));
    }
}

#[tokio::test]
async fn cancelling_stops_what_runs_and_keeps_what_is_done() {
    let data = tempfile::tempdir().expect("a directory");
    let server = start(data.path(), &[]);
    let client = asking(&server);
    let mut items = vec![json!({"id": "first", "code": "print('done')"})];
    items.extend((0..30).map(|number| json!({"id": number.to_string(), "code": "while True: pass"})));
    let limits = json!({"wall_seconds": 600, "fuel": 10_000_000_000_000_u64});
    let id = client.accepted("/v1/suites?async=1", &json!({"defaults": {"limits": limits}, "items": items})).await;
    let begun = async || (client.job(&id).await["done"] == 1).then_some(());
    eventually_async("the first is done", begun).await;
    let busy = async || (server.metric("proofbox_instances_live").await > 0.0).then_some(());
    eventually_async("endless loops run", busy).await;
    assert_shows(&client.job(&id).await, json!({"state": "running", "done": 1}));
    assert_shows(&client.get(&format!("/v1/jobs/{id}/report")).await, json!({"done": 1, "report": {"ok": 1}}));
    let (status, job) = client.json(Method::DELETE, &format!("/v1/jobs/{id}"), &[], String::new()).await;
    assert_shows(&json!([status, job]), json!([200, {"state": "cancelled", "done": 1, "items": 31}]));
    assert!(job["reason"].is_string(), "{job}");
    let idle = async || (server.metric("proofbox_instances_live").await == 0.0).then_some(());
    eventually_async("nothing runs any more", idle).await;
    let lines = client.results(&id, "?follow=true").await;
    assert_eq!(lines.len(), 1);
    assert_shows(&lines[0], json!({"id": "first", "stdout": "done\n"}));
    // It has ended: nothing changes any more.
    let (status, again) = client.json(Method::DELETE, &format!("/v1/jobs/{id}"), &[], String::new()).await;
    assert_eq!((status, &again), (200, &job));
    let listed = client.get("/v1/jobs?state=cancelled").await;
    assert_eq!(listed["jobs"], json!([job]));
    let purge = client.json(Method::DELETE, &format!("/v1/jobs/{id}?purge=true"), &[], String::new()).await;
    assert_eq!(purge.0, 204);
    assert_eq!(client.json(Method::GET, &format!("/v1/jobs/{id}"), &[], String::new()).await.0, 404);
}

#[tokio::test]
async fn a_follower_hears_of_each_result_as_it_comes() {
    let client = asking(Server::shared());
    let items = json!([
        {"id": "quick", "code": "print(1)"},
        {"id": "slow", "code": "import time\ntime.sleep(1.5)"},
    ]);
    let id = client.accepted("/v1/suites?async=true", &json!({"items": items})).await;
    let response = client.send(Method::GET, &format!("/v1/jobs/{id}/results?follow=true"), &[], String::new()).await;
    let mut stream = response.bytes_stream();
    let first = stream.next().await.expect("a line").expect("it comes");
    assert!(first.starts_with(b"{\"id\":\"quick\""), "{first:?}");
    assert_eq!(client.job(&id).await["state"], "running");
    let second = stream.next().await.expect("a line").expect("it comes");
    assert!(second.starts_with(b"{\"id\":\"slow\""), "{second:?}");
    assert!(stream.next().await.is_none(), "the stream ends with the job");
}

#[tokio::test]
async fn the_same_key_and_body_is_the_same_job() {
    let client = asking(Server::shared());
    let send = async |path: &str, key: &str, body: Value| {
        let response = client.send(Method::POST, path, &[("idempotency-key", key)], body.to_string()).await;
        let replayed = response.headers().contains_key("idempotent-replayed");
        let status = response.status().as_u16();
        let answer: Value = serde_json::from_str(&response.text().await.expect("a body")).expect("JSON");
        (status, replayed, answer)
    };
    let body = json!({"code": "print('once')"});
    let (status, replayed, job) = send("/v1/jobs", "\"8e03978e-40d5\"", body.clone()).await;
    assert_eq!((status, replayed), (202, false));
    let together = (0..8).map(|_| send("/v1/jobs", "8e03978e-40d5", body.clone()));
    for (status, replayed, again) in futures_util::future::join_all(together).await {
        assert_eq!((status, replayed, &again["id"]), (202, true, &job["id"]));
    }
    let (status, _, answer) = send("/v1/jobs", "8e03978e-40d5", json!({"code": "print('twice')"})).await;
    assert_shows(&json!([status, answer]), json!([422, {"error": {"code": "idempotency_key_reused"}}]));
    // Sent together for the first time, it is one job still.
    let together = (0..8).map(|_| send("/v1/suites?async=true", "another", suite(3)));
    let jobs = futures_util::future::join_all(together).await;
    assert_eq!(jobs.iter().filter(|(_, replayed, _)| !replayed).count(), 1);
    assert!(jobs.iter().all(|(status, _, job)| *status == 202 && job["id"] == jobs[0].2["id"]));
}

#[tokio::test]
async fn jobs_are_their_owners_only() {
    let data = tempfile::tempdir().expect("a directory");
    let (one, other) = (key(data.path(), "one"), key(data.path(), "other"));
    let server = start(data.path(), &[]);
    let (mine, theirs, nobodys) = (
        super::Asking { server: &server, key: Some(&one) },
        super::Asking { server: &server, key: Some(&other) },
        asking(&server),
    );
    let id = mine.accepted("/v1/suites?async=true", &suite(4)).await;
    mine.ended(&id).await;
    for stranger in [&theirs, &nobodys] {
        for path in ["", "/results", "/report"] {
            let path = format!("/v1/jobs/{id}{path}");
            assert_eq!(stranger.json(Method::GET, &path, &[], String::new()).await.0, 404, "{path}");
        }
        assert_eq!(stranger.json(Method::DELETE, &format!("/v1/jobs/{id}"), &[], String::new()).await.0, 404);
        assert_eq!(stranger.get("/v1/jobs").await["jobs"], json!([]));
    }
    assert_eq!(mine.get("/v1/jobs").await["jobs"][0]["id"], id);
    // The same name means another thing to another.
    let header = [("idempotency-key", "k")];
    let (_, first) = mine.json(Method::POST, "/v1/jobs", &header, json!({"code": "1"}).to_string()).await;
    let (status, second) = theirs.json(Method::POST, "/v1/jobs", &header, json!({"code": "2"}).to_string()).await;
    assert_eq!(status, 202);
    assert_ne!(first["id"], second["id"]);
}

#[tokio::test]
async fn jobs_are_listed_by_page_the_newest_first() {
    let data = tempfile::tempdir().expect("a directory");
    let server = start(data.path(), &[]);
    let client = asking(&server);
    let mut ids = Vec::new();
    for number in 0..7 {
        ids.push(client.accepted("/v1/jobs", &json!({"code": number.to_string()})).await);
    }
    let (mut seen, mut next) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("/v1/jobs?limit=3{next}")).await;
        let jobs = page["jobs"].as_array().expect("a list");
        seen.extend(jobs.iter().map(|job| job["id"].as_str().expect("an id").to_owned()));
        match page["next"].as_str() {
            Some(token) => next = format!("&next={token}"),
            None => break,
        }
    }
    ids.reverse();
    assert_eq!(seen, ids);
}

#[tokio::test]
async fn a_report_is_a_page_where_that_is_wanted() {
    let client = asking(Server::shared());
    let hostile = "</script><script>alert(1)</script>";
    let body = json!({"items": [{"id": hostile, "code": format!("print('''{hostile}''')"), "labels": {"m": hostile}}]});
    let id = client.accepted("/v1/suites?async=true", &body).await;
    client.ended(&id).await;
    let path = format!("/v1/jobs/{id}/report");
    let browser = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
    for (path, headers, html) in [
        (path.clone(), &browser[..], true),
        (format!("{path}?format=html"), &[], true),
        (format!("{path}?format=json"), &browser[..], false),
        (path.clone(), &[], false),
    ] {
        let response = client.send(Method::GET, &path, headers, String::new()).await;
        let kind = response.headers()["content-type"].to_str().expect("text").to_owned();
        let text = response.text().await.expect("a body");
        assert_eq!(kind.starts_with("text/html"), html, "{path} {kind}");
        assert_eq!(text.starts_with("<!doctype html>"), html);
        if html {
            assert_eq!(text.matches("<script").count(), 2);
            assert!(text.contains("alert(1)") && text.contains(&id), "what was asked and what came of it is there");
        }
    }
    assert_eq!(client.json(Method::GET, &format!("{path}?format=pdf"), &[], String::new()).await.0, 422);
}
