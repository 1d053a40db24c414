//! Saving, branching, going back.

use serde_json::{Value, json};

use super::Session;
use crate::harness::{Server, assert_shows};

/// Objects, imports, an open generator, random state, an open file, a class, a closure.
const STATE: &str = "\
import collections, random
random.seed(7)
first = [random.random() for _ in range(3)]
counts = collections.Counter('abracadabra')
squares = (n * n for n in range(10))
next(squares), next(squares)
class Point:
    def __init__(self, x): self.x = x
    def __eq__(self, other): return self.x == other.x
def adder(n):
    return lambda m: n + m
add = adder(5)
cycle = []; cycle.append(cycle)
log = open('log.txt', 'w+')
log.write('abc'); log.flush()
";

/// Goes on with all of it; the same wherever it is done.
const GO_ON: &str = "\
log.write('d'); log.seek(0)
repr((next(squares), random.random(), counts.most_common(1), Point(1) == Point(1), add(2), cycle[0] is cycle, log.read()))
";

async fn checkpoint(session: &Session<'_>) -> Value {
    let (status, answer) = session.post("/checkpoints", json!({"name": "here"})).await;
    assert_eq!(status, 201, "{answer}");
    answer
}

#[tokio::test]
async fn a_session_goes_on_from_its_checkpoint_exactly() {
    let session = Session::open().await;
    session.call(STATE).await;
    let made = checkpoint(&session).await;
    assert_shows(&made, json!({"name": "here", "session_id": session.id}));
    let expected = session.value(GO_ON).await;
    let from = json!({"from_checkpoint": made["id"]});
    for _ in 0..2 {
        let resumed = Session::open_on(session.server, from.clone()).await;
        assert_eq!(resumed.info().await["execution_count"], 1);
        assert_eq!(resumed.value(GO_ON).await, expected);
    }
    session.call("counts = None").await;
    let (status, _) = session.post("/restore", json!({"checkpoint": made["id"]})).await;
    assert_eq!(status, 200);
    assert_eq!(session.value(GO_ON).await, expected);
    let (status, list) = session.server.get("/v1/checkpoints").await;
    assert!(status == 200 && list.contains(made["id"].as_str().expect("an id")), "{list}");
}

#[tokio::test]
async fn forks_are_independent_and_all_in_the_same_state() {
    let session = Session::open().await;
    session.call(STATE).await;
    let (status, answer) = session.post("/fork", json!({"count": 3})).await;
    assert_eq!(status, 201, "{answer}");
    let forks: Vec<Session> = answer["sessions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|fork| Session { server: session.server, id: fork["id"].as_str().expect("an id").to_owned() })
        .collect();
    assert_eq!(forks.len(), 3);
    let expected = session.value(GO_ON).await;
    for fork in &forks {
        assert_eq!(fork.value(GO_ON).await, expected);
    }
    forks[0].call("counts = 'mine'; open('only', 'w').close()").await;
    assert_shows(&forks[1].call("open('only')").await, json!({"error": {"type": "FileNotFoundError"}}));
    assert_eq!(session.value("type(counts).__name__").await, "Counter");
    for (count, status) in [(0, 422), (65, 422)] {
        assert_eq!(session.post("/fork", json!({"count": count})).await.0, status);
    }
}

#[tokio::test]
async fn another_process_with_the_same_image_takes_up_the_checkpoint() {
    let data = tempfile::tempdir().expect("a directory");
    let data_dir = data.path().to_str().expect("UTF-8");
    let arguments = ["--workers", "1", "--data-dir", data_dir];
    let (made, expected) = {
        let server = Server::start(&arguments);
        let session = Session::open_on(&server, json!({})).await;
        session.call(STATE).await;
        let made = checkpoint(&session).await;
        (made, session.value(GO_ON).await)
    };
    let server = Server::start(&arguments);
    let resumed = Session::open_on(&server, json!({"from_checkpoint": made["id"]})).await;
    assert_eq!(resumed.value(GO_ON).await, expected);
}

#[tokio::test]
async fn a_damaged_or_foreign_checkpoint_is_refused() {
    let data = tempfile::tempdir().expect("a directory");
    let data_dir = data.path().to_str().expect("UTF-8").to_owned();
    let arguments = ["--workers", "1", "--data-dir", &data_dir];
    let made = {
        let server = Server::start(&arguments);
        let session = Session::open_on(&server, json!({})).await;
        session.call(STATE).await;
        [checkpoint(&session).await, checkpoint(&session).await]
    };
    let store = rusqlite::Connection::open(data.path().join("store.sqlite3")).expect("a database");
    let id = |made: &Value| uuid::Uuid::parse_str(made["id"].as_str().expect("an id")).expect("a UUID");
    let changed = store
        .execute("UPDATE chunks SET data = zeroblob(length(data)) WHERE checkpoint = (SELECT key FROM checkpoints WHERE id = ?1)", [id(&made[0]).as_bytes()]);
    assert_eq!(changed.expect("it is written"), 1);
    drop(store);
    let server = Server::start(&arguments);
    let (status, answer) = server.post("/v1/sessions", &json!({"from_checkpoint": made[0]["id"]})).await;
    assert_shows(&json!([status, answer]), json!([409, {"error": {"code": "checkpoint_unusable"}}]));
    Session::open_on(&server, json!({"from_checkpoint": made[1]["id"]})).await;
    for (id, status, code) in
        [(uuid::Uuid::now_v7().to_string(), 404, "checkpoint_not_found"), ("x".to_owned(), 422, "unprocessable")]
    {
        let (found, answer) = server.post("/v1/sessions", &json!({"from_checkpoint": id})).await;
        assert_shows(&json!([found, answer]), json!([status, {"error": {"code": code}}]));
    }
}

#[tokio::test]
async fn a_small_session_is_a_small_checkpoint() {
    let session = Session::open().await;
    session.call("import json\nx = {'a': [1, 2, 3]}\ndef f(n):\n    return n + 1\n").await;
    let made = checkpoint(&session).await;
    assert!(made["bytes"].as_u64().is_some_and(|bytes| bytes <= 32 << 10), "{made}");
}
