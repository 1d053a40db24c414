//! Room on disk between keys: who fills it loses its own, and what does not fit is refused.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::access::{create, known, send};
use crate::harness::{Server, assert_shows};
use crate::process::eventually_async;

/// A server for keys only, with these arguments before `serve` and after it.
fn start(arguments: &[&str], settings: &[&str]) -> (Server, TempDir) {
    let data = tempfile::tempdir().expect("a temporary directory");
    let mut all = vec!["--workers", "1"];
    all.extend(arguments);
    let server = Server::start_with(&all, |command| {
        command.args(["--keyless", "never"]).args(settings).env("PROOFBOX_DATA_DIR", data.path());
    });
    (server, data)
}

/// A key, and what it sends.
struct Client<'a> {
    server: &'a Server,
    key: String,
}

impl<'a> Client<'a> {
    /// With a new key of these limits.
    async fn new(server: &'a Server, data: &Path, arguments: &[&str]) -> Self {
        let key = create(data, arguments);
        known(server, &key).await;
        Self { server, key }
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let (status, _, answer) = send(self.server, method, path, &[("x-api-key", &self.key)], body).await;
        (status, answer)
    }

    async fn get(&self, path: &str) -> Value {
        let (status, answer) = self.send("GET", path, Value::Null).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// The id of a new session.
    async fn session(&self) -> String {
        let (status, answer) = self.send("POST", "/v1/sessions", json!({})).await;
        assert_eq!(status, 201, "{answer}");
        answer["id"].as_str().expect("an id").to_owned()
    }

    async fn call(&self, session: &str, code: &str) -> (u16, Value) {
        self.send("POST", &format!("/v1/sessions/{session}/execute"), json!({"code": code})).await
    }

    /// Has a session hold so many bytes that can't be made smaller.
    async fn fill(&self, session: &str, bytes: u32) -> (u16, Value) {
        self.call(session, &format!("import os\nkept = os.urandom({bytes})\nlen(kept)")).await
    }

    async fn checkpoint(&self, session: &str) -> (u16, Value) {
        self.send("POST", &format!("/v1/sessions/{session}/checkpoints"), json!({})).await
    }

    /// Ids of its checkpoints.
    async fn checkpoints(&self) -> Vec<Value> {
        ids(&self.get("/v1/checkpoints").await["checkpoints"])
    }

    /// Ids of its sessions.
    async fn sessions(&self) -> Vec<Value> {
        ids(&self.get("/v1/sessions?limit=1000").await["sessions"])
    }

    /// A job with so many bytes that can't be made much smaller.
    async fn job(&self, seed: u64, bytes: usize) -> (u16, Value) {
        self.send("POST", "/v1/jobs", json!({"code": format!("# {}", noise(seed, bytes))})).await
    }

    /// The id of a job that has ended, accepted just now.
    async fn ended_job(&self, seed: u64, bytes: usize) -> String {
        let (status, job) = self.job(seed, bytes).await;
        assert_eq!(status, 202, "{job}");
        let id = job["id"].as_str().expect("an id").to_owned();
        let ended = async || (self.get(&format!("/v1/jobs/{id}")).await["state"] == "finished").then_some(());
        eventually_async("the job ends", ended).await;
        id
    }
}

fn ids(list: &Value) -> Vec<Value> {
    list.as_array().expect("a list").iter().map(|one| one["id"].clone()).collect()
}

/// Text that no compression makes much smaller.
fn noise(seed: u64, length: usize) -> String {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + ((state >> 33) % 26) as u8)
    };
    std::iter::repeat_with(&mut next).take(length).collect()
}

#[track_caller]
fn assert_refused((status, answer): &(u16, Value), code: &str) {
    assert_eq!((*status, &answer["error"]["code"]), (507, &json!(code)), "{answer}");
}

#[tokio::test]
async fn who_fills_the_store_does_not_remove_a_neighbours_checkpoint() {
    const STORE: u32 = 4_000_000;
    let (server, data) = start(&["--store-bytes", &STORE.to_string()], &[]);
    let neighbour = Client::new(&server, data.path(), &["neighbour"]).await;
    let hog = Client::new(&server, data.path(), &["hog"]).await;
    let own = neighbour.session().await;
    neighbour.call(&own, "x = 'here'").await;
    let (status, kept) = neighbour.checkpoint(&own).await;
    assert_eq!(status, 201, "{kept}");
    let session = hog.session().await;
    assert_eq!(hog.fill(&session, 1_000_000).await.0, 200);
    let mut made = Vec::new();
    for _ in 0..8 {
        let (status, checkpoint) = hog.checkpoint(&session).await;
        assert_eq!(status, 201, "its own oldest make room: {checkpoint}");
        made.push(checkpoint["id"].clone());
        let bytes = server.metric("proofbox_store_bytes").await;
        assert!(bytes <= f64::from(STORE), "at once, not a minute later: {bytes}");
    }
    let left = hog.checkpoints().await;
    assert!((1..=3).contains(&left.len()) && left.contains(&made[7]), "{left:?} of {made:?}");
    assert_eq!(neighbour.checkpoints().await, [kept["id"].clone()]);
    // What can never fit is refused, and removes nothing.
    assert_eq!(hog.fill(&session, 5_000_000).await.0, 200);
    assert_refused(&hog.checkpoint(&session).await, "store_full");
    assert_eq!(server.metric("proofbox_refused_total{reason=\"storage\"}").await, 1.0);
    assert_eq!(hog.checkpoints().await, left);
    // The neighbour finds its share, and its session goes on from what it kept.
    assert_eq!(neighbour.fill(&own, 500_000).await.0, 200);
    assert_eq!(neighbour.checkpoint(&own).await.0, 201);
    let (status, again) = neighbour.send("POST", "/v1/sessions", json!({"from_checkpoint": kept["id"]})).await;
    assert_eq!(status, 201, "{again}");
    let (_, answer) = neighbour.call(again["id"].as_str().expect("an id"), "x").await;
    assert_eq!(answer["result"], "here", "{answer}");
}

#[tokio::test]
async fn sessions_on_disk_count_and_make_room_for_neighbours_only() {
    const STORE: u32 = 3_000_000;
    let (server, data) = start(&["--store-bytes", &STORE.to_string(), "--session-slots", "4"], &[]);
    let hog = Client::new(&server, data.path(), &["hog"]).await;
    let neighbour = Client::new(&server, data.path(), &["neighbour"]).await;
    let mut refused = 0;
    for _ in 0..12 {
        let session = hog.session().await;
        let (status, answer) = hog.fill(&session, 500_000).await;
        if status == 429 {
            assert_eq!(answer["error"]["code"], "busy", "{answer}");
            refused += 1;
        } else {
            assert_eq!(status, 200, "{answer}");
        }
        let bytes = server.metric("proofbox_store_bytes").await;
        assert!(bytes <= f64::from(STORE), "sessions on disk count: {bytes}");
    }
    assert!(refused >= 1, "there is room for five on disk and four in the worker");
    assert!(server.metric("proofbox_sessions_evicted_total").await >= 2.0);
    assert_eq!(server.metric("proofbox_sessions_displaced_total").await, 0.0);
    assert_eq!(hog.sessions().await.len(), 12, "its own sessions are not closed for one more of its own");
    // A neighbour finds a place: one of the hog's, which can't go to disk, is closed.
    let own = neighbour.session().await;
    let (status, answer) = neighbour.call(&own, "x = 5\nx").await;
    assert_eq!((status, &answer["result"]), (200, &json!(5)), "{answer}");
    let closed = server.metric("proofbox_sessions_displaced_total").await;
    assert_eq!((closed, hog.sessions().await.len()), (1.0, 11));
    // And room on disk, within its share.
    assert_eq!(neighbour.fill(&own, 500_000).await.0, 200);
    let (status, answer) = neighbour.checkpoint(&own).await;
    assert_eq!(status, 201, "{answer}");
    let ended = async || {
        let closed = server.metric("proofbox_sessions_displaced_total").await;
        (closed > 1.0 && hog.sessions().await.len() as f64 == 12.0 - closed).then_some(())
    };
    eventually_async("the hog's oldest sessions on disk are ended", ended).await;
    assert!(server.metric("proofbox_store_bytes").await <= f64::from(STORE));
    assert_eq!(neighbour.call(&own, "x").await.1["result"], 5);
}

#[tokio::test]
async fn memory_keeps_its_bound_where_the_disk_is_full_and_neighbours_lose_nothing() {
    let budget = 6 << 20;
    let arguments = ["--store-bytes", "1000000", "--session-memory-bytes", &budget.to_string()];
    let (server, data) = start(&arguments, &[]);
    let neighbour = Client::new(&server, data.path(), &["neighbour"]).await;
    let hog = Client::new(&server, data.path(), &["hog"]).await;
    let own = neighbour.session().await;
    assert_eq!(neighbour.call(&own, "x = 5").await.0, 200);
    for _ in 0..20 {
        let session = hog.session().await;
        // It may be closed as soon as it is idle.
        hog.fill(&session, 700_000).await;
    }
    let fits = async || (server.metric("proofbox_sessions_memory_bytes").await <= f64::from(budget)).then_some(());
    eventually_async("sessions fit the budget", fits).await;
    assert!(server.metric("proofbox_sessions_displaced_total").await >= 5.0);
    assert!(server.metric("proofbox_store_bytes").await <= 1e6);
    let (status, answer) = neighbour.call(&own, "x").await;
    assert_eq!((status, &answer["result"]), (200, &json!(5)), "{answer}");
}

#[tokio::test]
async fn who_fills_the_jobs_does_not_remove_a_neighbours() {
    const JOBS: u64 = 100_000;
    let (server, data) = start(&[], &["--jobs-bytes", &JOBS.to_string()]);
    let neighbour = Client::new(&server, data.path(), &["neighbour"]).await;
    let hog = Client::new(&server, data.path(), &["hog"]).await;
    let kept = neighbour.ended_job(1, 100).await;
    for round in 0..12 {
        hog.ended_job(100 + round, 20_000).await;
        let jobs = hog.get("/v1/jobs").await["jobs"].clone();
        let bytes: u64 = jobs.as_array().expect("a list").iter().filter_map(|job| job["bytes"].as_u64()).sum();
        assert!(bytes <= JOBS, "at once, not a minute later: {bytes}");
    }
    assert!(hog.get("/v1/jobs").await["jobs"].as_array().is_some_and(|jobs| jobs.len() < 12), "its own make room");
    assert_shows(&neighbour.get(&format!("/v1/jobs/{kept}")).await, json!({"state": "finished", "done": 1}));
    let results = neighbour.send("GET", &format!("/v1/jobs/{kept}/results"), Value::Null).await;
    assert_eq!(results.0, 200, "{}", results.1);
    assert_refused(&hog.job(7, 400_000).await, "store_full");
    assert_eq!(server.metric("proofbox_refused_total{reason=\"storage\"}").await, 1.0);
    neighbour.ended_job(8, 20_000).await;
}

#[tokio::test]
async fn a_key_keeps_no_more_on_disk_than_it_may() {
    const ALLOWED: u64 = 1_000_000;
    let (server, data) = start(&[], &[]);
    let key = Client::new(&server, data.path(), &["small", "--disk-bytes", &ALLOWED.to_string()]).await;
    let other = Client::new(&server, data.path(), &["other"]).await;
    let session = key.session().await;
    assert_eq!(key.fill(&session, 150_000).await.0, 200);
    let (mut made, mut held) = (Vec::new(), 0);
    let refused = loop {
        let (status, answer) = key.checkpoint(&session).await;
        if status != 201 {
            break (status, answer);
        }
        held += answer["bytes"].as_u64().expect("a number");
        made.push(answer["id"].as_str().expect("an id").to_owned());
    };
    assert_refused(&refused, "disk_quota_exceeded");
    assert_shows(&refused.1["error"], json!({"allowed": ALLOWED}));
    assert!(refused.1["error"]["asked"].as_u64() > Some(ALLOWED), "{}", refused.1);
    assert!(made.len() >= 2 && held <= ALLOWED, "{held} bytes of {}", made.len());
    // Jobs count to the same limit.
    assert_refused(&key.job(1, 900_000).await, "disk_quota_exceeded");
    // Nothing was removed, and others are not concerned.
    assert_eq!(key.checkpoints().await.len(), made.len());
    let theirs = other.session().await;
    assert_eq!(other.fill(&theirs, 500_000).await.0, 200);
    assert_eq!(other.checkpoint(&theirs).await.0, 201);
    let path = format!("/v1/checkpoints/{}", made[0]);
    assert_eq!(key.send("DELETE", &path, Value::Null).await.0, 204);
    assert_eq!(key.checkpoint(&session).await.0, 201);
}

#[tokio::test]
async fn the_reserve_of_the_disk_is_left_free() {
    let (server, data) = start(&["--disk-reserve-bytes", "4611686018427387904"], &[]);
    assert!(
        server.log().iter().any(|line| line.contains("the disk of the store is full")),
        "an operator is told at once"
    );
    let key = Client::new(&server, data.path(), &["ci"]).await;
    let session = key.session().await;
    assert_eq!(key.call(&session, "x = 5").await.0, 200);
    assert_refused(&key.checkpoint(&session).await, "store_full");
    assert_refused(&key.job(1, 100).await, "store_full");
    let (free, reserve) = ("proofbox_disk_free_bytes", "proofbox_disk_reserve_bytes");
    assert_eq!(server.metric(reserve).await, 4_611_686_018_427_387_904.0);
    assert!(server.metric(free).await > 0.0);
    // What needs no disk goes on.
    assert_eq!(key.call(&session, "x").await.1["result"], 5);
    assert_eq!(key.send("POST", "/v1/execute", json!({"code": "1"})).await.0, 200);
}
