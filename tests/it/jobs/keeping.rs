//! What survives: crashes, restarts, damage; and what goes.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::{Asking, asking, assert_each_once, key, kill, start, start_with, suite};
use crate::harness::{assert_shows, proofbox};
use crate::process::{self, eventually_async};

/// Results that are read again after a crash are those that were read before it.
#[tokio::test]
async fn killed_at_any_moment_every_item_has_one_result() {
    const ITEMS: usize = 300;
    let data = tempfile::tempdir().expect("a directory");
    let mut server = start(data.path(), &[]);
    let id = asking(&server).accepted("/v1/suites?async=true", &suite(ITEMS)).await;
    let mut before: Vec<Value> = Vec::new();
    for round in 1..6 {
        let enough = async || (asking(&server).job(&id).await["done"].as_u64() >= Some(round * 40)).then_some(());
        eventually_async("some are done", enough).await;
        let seen = asking(&server).results(&id, "").await;
        assert_eq!(seen[..before.len()], before, "nothing that was told is taken back");
        before = seen;
        kill(server).await;
        server = start(data.path(), &[]);
    }
    let client = asking(&server);
    assert_shows(&client.ended(&id).await, json!({"state": "finished", "done": ITEMS}));
    let lines = client.results(&id, "").await;
    assert_eq!(lines[..before.len()], before);
    assert_each_once(&lines, ITEMS);
    assert_shows(
        &client.get(&format!("/v1/jobs/{id}/report")).await,
        json!({"report": {"items": ITEMS, "passed": 150}}),
    );
    let stats = client.get("/v1/stats").await;
    assert_shows(&stats["groups"][0], json!({"submissions": ITEMS, "passed": 150, "graded": ITEMS}));
}

#[tokio::test]
async fn an_accepted_job_is_there_after_a_crash_at_once() {
    let data = tempfile::tempdir().expect("a directory");
    for round in 0..3 {
        let server = start(data.path(), &[]);
        let header = [("idempotency-key", format!("round {round}"))];
        let header = [(header[0].0, header[0].1.as_str())];
        let body = suite(20).to_string();
        let (status, job) = asking(&server).json(Method::POST, "/v1/suites?async=true", &header, body.clone()).await;
        assert_eq!(status, 202);
        kill(server).await;
        let server = start(data.path(), &[]);
        let client = asking(&server);
        let id = job["id"].as_str().expect("an id");
        // Its client does not know whether it was heard, and asks again.
        let (_, again) = client.json(Method::POST, "/v1/suites?async=true", &header, body).await;
        assert_eq!(again["id"], id);
        client.ended(id).await;
        assert_each_once(&client.results(id, "").await, 20);
        kill(server).await;
    }
}

#[tokio::test]
async fn a_service_that_is_told_to_stop_finishes_what_runs_and_leaves_the_rest() {
    let data = tempfile::tempdir().expect("a directory");
    let server = start(data.path(), &[]);
    let slow: Vec<Value> = (0..40)
        .map(|number| json!({"id": format!("{number}"), "code": "import time\ntime.sleep(0.5)\nprint('whole')"}))
        .collect();
    let id = asking(&server).accepted("/v1/suites?async=true", &json!({"items": slow})).await;
    let begun = async || (asking(&server).job(&id).await["done"].as_u64() > Some(0)).then_some(());
    eventually_async("items run", begun).await;
    let follow = async {
        let client = asking(&server);
        client.results(&id, "?follow=true").await
    };
    let stop = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        process::signal(server.pid(), libc::SIGTERM);
    };
    // Who follows hears of what was finished, and that the stream is at its end.
    let (followed, ()) = tokio::join!(follow, stop);
    assert!(server.ended().await.success());
    drop(server);
    let server = start(data.path(), &[]);
    let client = asking(&server);
    let kept = client.results(&id, "").await;
    assert!(!kept.is_empty() && kept.len() < 40, "{}", kept.len());
    assert_eq!(kept[..followed.len()], followed);
    client.ended(&id).await;
    let lines = client.results(&id, "").await;
    let mut ids: Vec<&str> = lines.iter().map(|line| line["id"].as_str().expect("an id")).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((lines.len(), ids.len()), (40, 40));
    assert!(lines.iter().all(|line| line["status"] == "ok" && line["stdout"] == "whole\n"));
}

#[tokio::test]
async fn what_does_not_end_in_time_is_run_again_after_the_restart() {
    let data = tempfile::tempdir().expect("a directory");
    let server = start_with(data.path(), &[("PROOFBOX_DRAIN_SECONDS", "0")]);
    let code = "import time\ntime.sleep(3)\nprint('whole')";
    let id = asking(&server).accepted("/v1/jobs", &json!({"code": code})).await;
    let busy = async || (server.metric("proofbox_instances_live").await > 0.0).then_some(());
    eventually_async("it runs", busy).await;
    process::signal(server.pid(), libc::SIGTERM);
    assert!(server.ended().await.success());
    drop(server);
    let server = start(data.path(), &[]);
    asking(&server).ended(&id).await;
    let lines = asking(&server).results(&id, "").await;
    assert_shows(&json!(lines), json!([{"status": "ok", "stdout": "whole\n"}]));
}

#[tokio::test]
async fn a_worker_that_dies_costs_no_item() {
    let data = tempfile::tempdir().expect("a directory");
    let server = start(data.path(), &[]);
    let client = asking(&server);
    let id = client.accepted("/v1/suites?async=true", &suite(150)).await;
    for round in 1..3 {
        let enough = async || (client.job(&id).await["done"].as_u64() >= Some(round * 30)).then_some(());
        eventually_async("some are done", enough).await;
        server.workers().into_iter().for_each(|worker| process::signal(worker, libc::SIGKILL));
    }
    client.ended(&id).await;
    assert_each_once(&client.results(&id, "").await, 150);
}

#[tokio::test]
async fn an_item_at_whose_turn_two_workers_die_has_that_as_its_result() {
    let data = tempfile::tempdir().expect("a directory");
    let server = start(data.path(), &[]);
    let client = asking(&server);
    let limits = json!({"wall_seconds": 60, "fuel": 1_000_000_000_000u64});
    let id = client.accepted("/v1/jobs", &json!({"code": "while True: pass", "limits": limits})).await;
    let quarantined = async || {
        // The signal may come between two of its turns; then it is run again, as if nothing had been.
        if server.metric("proofbox_instances_live").await > 0.0 {
            server.workers().into_iter().filter(|worker| process::lives(*worker)).for_each(|worker| {
                process::signal(worker, libc::SIGKILL);
            });
        }
        (server.metric("proofbox_job_items_quarantined_total").await > 0.0).then_some(())
    };
    eventually_async("it is quarantined", quarantined).await;
    client.ended(&id).await;
    let lines = client.results(&id, "").await;
    assert_shows(&json!(lines), json!([{"status": "infrastructure_error"}]));
    let message = lines[0]["error"]["message"].as_str().expect("a reason");
    assert!(message.starts_with("quarantined"), "{message}");
}

#[tokio::test]
async fn jobs_go_when_they_are_old() {
    let data = tempfile::tempdir().expect("a directory");
    // Two seconds.
    let server = start_with(data.path(), &[("PROOFBOX_JOBS_DAYS", "0.000023")]);
    let id = asking(&server).accepted("/v1/jobs", &json!({"code": "1"})).await;
    asking(&server).ended(&id).await;
    kill(server).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let server = start_with(data.path(), &[("PROOFBOX_JOBS_DAYS", "0.000023")]);
    let gone = async || (asking(&server).get("/v1/jobs").await["jobs"] == json!([])).then_some(());
    eventually_async("it is removed", gone).await;
    assert_eq!(asking(&server).json(Method::GET, &format!("/v1/jobs/{id}"), &[], String::new()).await.0, 404);
}

#[tokio::test]
async fn jobs_go_for_room_and_never_those_that_run() {
    let data = tempfile::tempdir().expect("a directory");
    let server = start(data.path(), &[]);
    let client = asking(&server);
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(client.accepted("/v1/suites?async=true", &suite(40)).await);
        client.ended(ids.last().expect("one")).await;
    }
    let bytes: u64 = client.job(&ids[0]).await["bytes"].as_u64().expect("a number");
    let endless = json!({"code": "while True: pass", "limits": {"wall_seconds": 600, "fuel": 10_000_000_000_000_u64}});
    let running = client.accepted("/v1/jobs", &endless).await;
    kill(server).await;
    let server = start_with(data.path(), &[("PROOFBOX_JOBS_BYTES", &(bytes * 3 / 2).to_string())]);
    let client = asking(&server);
    let left = async || {
        let list = client.get("/v1/jobs").await;
        let left: Vec<Value> = list["jobs"].as_array().expect("a list").iter().map(|job| job["id"].clone()).collect();
        (left == [json!(running), json!(ids[2])]).then_some(())
    };
    eventually_async("the two oldest are removed", left).await;
    // What waits and runs is never removed: more than there is room for is refused.
    let large = json!({"code": format!("# {}", noise(200_000))}).to_string();
    let (status, answer) = client.json(Method::POST, "/v1/jobs", &[], large).await;
    assert_shows(&json!([status, answer]), json!([507, {"error": {"code": "store_full"}}]));
}

/// Text that no compression makes small.
fn noise(length: usize) -> String {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + ((state >> 33) % 26) as u8)
    };
    std::iter::repeat_with(&mut next).take(length).collect()
}

#[tokio::test]
async fn what_the_store_has_lost_is_told_as_lost() {
    let data = tempfile::tempdir().expect("a directory");
    let server = start(data.path(), &[]);
    let client = asking(&server);
    let done = client.accepted("/v1/suites?async=true", &suite(6)).await;
    client.ended(&done).await;
    let endless = json!({"code": "while True: pass", "limits": {"wall_seconds": 600, "fuel": 10_000_000_000_000_u64}});
    let mut items: Vec<Value> = vec![endless.clone(), endless];
    items.iter_mut().enumerate().for_each(|(number, item)| item["id"] = json!(format!("loop{number}")));
    let open = client.accepted("/v1/suites?async=true", &json!({"items": items})).await;
    kill(server).await;
    let store = rusqlite::Connection::open(data.path().join("store.sqlite3")).expect("a database");
    let flip = "UPDATE job_results SET line = zeroblob(length(line)) WHERE sequence = 3";
    assert_eq!(store.execute(flip, []).expect("written"), 1);
    let flip = "UPDATE job_items SET request = x'00' WHERE name LIKE 'loop%'";
    assert_eq!(store.execute(flip, []).expect("written"), 2);
    drop(store);
    let server = start(data.path(), &[]);
    let client = asking(&server);
    let lines = client.results(&done, "").await;
    assert_eq!(lines.len(), 6);
    assert_shows(&lines[2], json!({"status": "infrastructure_error", "error": {"code": "internal_error"}}));
    assert!(lines.iter().enumerate().all(|(at, line)| at == 2 || line["stdout"].is_string()));
    client.ended(&open).await;
    for line in client.results(&open, "").await {
        assert_shows(&line, json!({"status": "infrastructure_error"}));
    }
}

#[tokio::test]
async fn a_job_ends_with_its_key() {
    let data = tempfile::tempdir().expect("a directory");
    let secret = key(data.path(), "short-lived");
    let server = start(data.path(), &[]);
    let client = Asking { server: &server, key: Some(&secret) };
    let endless = json!({"code": "while True: pass", "limits": {"wall_seconds": 600, "fuel": 10_000_000_000_000_u64}});
    let id = client.accepted("/v1/jobs", &endless).await;
    kill(server).await;
    let path = data.path().to_str().expect("UTF-8");
    assert!(proofbox(&["--data-dir", path, "keys", "revoke", "short-lived"]).status().expect("it runs").success());
    let server = start(data.path(), &[]);
    let ended = async || (server.metric("proofbox_jobs_total{event=\"cancelled\"}").await == 1.0).then_some(());
    eventually_async("it is cancelled", ended).await;
    drop(server);
    let store = rusqlite::Connection::open(data.path().join("store.sqlite3")).expect("a database");
    let reason = "SELECT reason FROM jobs WHERE id = ?";
    let uuid = uuid::Uuid::parse_str(&id).expect("an id");
    let reason: String = store.query_row(reason, [uuid.as_bytes()], |row| row.get(0)).expect("a reason");
    assert!(reason.contains("revoked"), "{reason}");
}
