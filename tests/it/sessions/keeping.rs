//! How long sessions live, and where they wait.

use std::time::Duration;

use serde_json::json;

use super::Session;
use crate::harness::{Server, assert_shows, http};
use crate::leaks::DEEP;
use crate::process::{eventually_async, resident_bytes};

#[tokio::test]
async fn a_session_ends_when_its_time_is_over() {
    let session = Session::open_on(Server::shared(), json!({"ttl_seconds": 0.5})).await;
    eventually_async("it is gone", async || (session.try_call(json!({"code": "1"})).await.0 == 404).then_some(()))
        .await;
    let idle = Session::open_on(Server::shared(), json!({"idle_seconds": 1.5})).await;
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(idle.value("1").await, 1, "it is used");
    }
    eventually_async("it is gone", async || (idle.server.get(&idle.path("")).await.0 == 404).then_some(())).await;
}

#[tokio::test]
async fn the_end_of_a_session_can_be_moved() {
    let session = Session::open_on(Server::shared(), json!({"ttl_seconds": 2})).await;
    let (status, _) = session.request("PATCH", "", r#"{"ttl_seconds": 600}"#).await;
    assert_eq!(status, 200);
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(session.value("1").await, 1);
    for (body, status) in [(r#"{"ttl_seconds": 1e12}"#, 400), (r#"{"ttl_seconds": -1}"#, 422), ("{}", 400)] {
        assert_eq!(session.request("PATCH", "", body).await.0, status, "{body}");
    }
}

#[tokio::test]
async fn sessions_are_listed_by_page_and_counted() {
    let server = Server::start(&["--workers", "1", "--sessions", "5"]);
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(Session::open_on(&server, json!({})).await.id);
    }
    let (status, answer) = server.post("/v1/sessions", &json!({})).await;
    assert_shows(&json!([status, answer]), json!([429, {"error": {"code": "too_many_sessions", "allowed": 5}}]));
    let (mut seen, mut next) = (Vec::new(), String::new());
    loop {
        let (_, text) = server.get(&format!("/v1/sessions?limit=2{next}")).await;
        let page: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        seen.extend(
            page["sessions"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|session| session["id"].as_str().expect("an id").to_owned()),
        );
        match page["next"].as_str() {
            Some(token) => next = format!("&next={token}"),
            None => break,
        }
    }
    assert_eq!(seen, ids);
    assert_eq!(server.get("/v1/sessions?limit=0").await.0, 422);
}

#[tokio::test]
async fn sessions_beyond_the_budget_wait_on_disk_and_nobody_notices() {
    let data = tempfile::tempdir().expect("a directory");
    let budget = (3 << 20).to_string();
    let server = Server::start(&[
        "--workers",
        "1",
        "--session-memory-bytes",
        &budget,
        "--data-dir",
        data.path().to_str().expect("UTF-8"),
    ]);
    let mut sessions = Vec::new();
    for number in 0..40 {
        let session = Session::open_on(&server, json!({})).await;
        session.call(&format!("x = {number}\ng = iter(range({number}, 1000))\nopen('f', 'w').write('{number}')")).await;
        sessions.push(session);
    }
    eventually_async("they fit the budget", async || {
        (server.metric("proofbox_sessions_memory_bytes").await <= f64::from(3 << 20)).then_some(())
    })
    .await;
    assert!(server.metric("proofbox_sessions_evicted_total").await >= 20.0);
    for (number, session) in sessions.iter().enumerate() {
        assert_eq!(
            session.value("x, next(g), open('f').read()").await,
            json!({"$type": "tuple", "items": [number, number, number.to_string()]})
        );
    }
    assert!(server.metric("proofbox_sessions_restored_total").await >= 20.0);
}

#[tokio::test]
async fn a_session_holds_only_pages_that_it_has_changed() {
    let server = Server::start(&["--workers", "1", "--slots", "2"]);
    // Slots keep pages between runs.
    for grading in ["in_process", "isolated"] {
        let tests = json!({"kind": "asserts", "asserts": ["assert f(1) == 2"]});
        let run = json!({"code": "def f(x):\n    return x + 1", "tests": tests, "grading": grading});
        assert_shows(&server.execute(run).await, json!({"status": "passed"}));
    }
    let session = Session::open_on(&server, json!({})).await;
    for number in 0..3 {
        session.call(&format!("x{number} = {number}")).await;
        let memory = session.info().await["memory_bytes"].as_u64().expect("a number");
        assert!(memory <= 448 << 10, "{memory} bytes after call {number}");
    }
    session.call("filled = [bytes([each]) * 8192 for each in range(100)]").await;
    assert_eq!(
        session.value("x0 + x1 + x2, sum(map(len, filled)), filled[7][5000]").await["items"],
        json!([3, 819200, 7])
    );
    // What was written to and put back is the image's again, and reads as that.
    assert_eq!(session.value("filled.clear() or [x2, eval('6 * 7')]").await, json!([2, 42]));
}

#[tokio::test]
async fn sessions_beyond_the_slots_wait_on_disk() {
    let data = tempfile::tempdir().expect("a directory");
    let server =
        Server::start(&["--workers", "1", "--session-slots", "4", "--data-dir", data.path().to_str().expect("UTF-8")]);
    let mut sessions = Vec::new();
    for number in 0..12 {
        let session = Session::open_on(&server, json!({})).await;
        session.call(&format!("x = {number}")).await;
        sessions.push(session);
    }
    for (number, session) in sessions.iter().enumerate() {
        assert_eq!(session.value("x").await, number);
    }
    let (status, answer) = sessions[0].post("/fork", json!({"count": 2})).await;
    assert_eq!(status, 201, "{answer}");
}

/// A request that can't be served moves no session to disk whose place would not help.
#[tokio::test]
async fn a_call_without_a_slot_moves_only_sessions_that_hold_one() {
    let data = tempfile::tempdir().expect("a directory");
    let server =
        Server::start(&["--workers", "1", "--session-slots", "3", "--data-dir", data.path().to_str().expect("UTF-8")]);
    let mut sessions = Vec::new();
    for _ in 0..20 {
        sessions.push(Session::open_on(&server, json!({})).await);
    }
    let moved = async || server.metric("proofbox_sessions_evicted_total").await;
    // Two that have a slot each and rest: both go, and that is not enough for four.
    for session in &sessions[..2] {
        session.call("x = 1").await;
    }
    let (status, answer) = sessions[0].post("/fork", json!({"count": 4})).await;
    assert_eq!(status, 429, "{answer}");
    assert!(moved().await <= 2.0, "{}", moved().await);
    let before = moved().await;
    // All slots are in use.
    let busy = async |session: &Session| session.call("import time\ntime.sleep(5)").await;
    let interpreters = async || server.metric("proofbox_instances_live").await;
    let at_rest = interpreters().await;
    let refused = async {
        eventually_async("three run", async || (interpreters().await >= at_rest + 3.0).then_some(())).await;
        let answer = sessions[10].try_call(json!({"code": "1"})).await;
        (answer.0, moved().await)
    };
    let (_, _, _, (status, after)) = tokio::join!(busy(&sessions[3]), busy(&sessions[4]), busy(&sessions[5]), refused);
    assert_eq!(status, 429);
    assert!(after <= before + 1.0, "{before}, then {after}");
}

#[tokio::test]
async fn ended_sessions_give_everything_back() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(&["--workers", "1", "--data-dir", data.path().to_str().expect("UTF-8")]);
    let round = async || {
        for _ in 0..40 {
            let session = Session::open_on(&server, json!({"files": {"f": "x".repeat(100_000)}})).await;
            session.call("x = 'y' * 3_000_000").await;
            session.end().await;
        }
    };
    round().await;
    let before = server.resident_bytes();
    for _ in 0..5 {
        round().await;
    }
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < 24 << 20, "{grown} bytes more after 200 sessions");
    eventually_async("no interpreter is alive", async || {
        (server.metric("proofbox_instances_live").await <= 1.0).then_some(())
    })
    .await;
    assert_eq!(server.metric("proofbox_sessions_memory_bytes").await, 0.0);
}

#[tokio::test]
async fn odd_requests_are_refused_with_the_field() {
    let server = Server::shared();
    for (body, status, field) in [
        (json!({"ttl_seconds": 0}), 422, "ttl_seconds"),
        (json!({"ttl_seconds": 1e10}), 400, "ttl_seconds"),
        (json!({"idle_seconds": -3}), 422, "idle_seconds"),
        (json!({"policy": "none"}), 422, "policy"),
        (json!({"limits": {"memory_bytes": 1}}), 400, "limits.memory_bytes"),
        (json!({"env": {"A=B": "c"}}), 422, "env.A=B"),
        (json!({"unknown": 1}), 400, "unknown"),
        (json!({"files": {"/dev/null/x": "y"}}), 422, "path"),
    ] {
        let (found, answer) = server.post("/v1/sessions", &body).await;
        assert_eq!((found, answer["error"]["field"].as_str()), (status, Some(field)), "{body}: {answer}");
    }
    for path in ["/v1/sessions/nonsense", "/v1/sessions/01a1fed6-8dfd-735a-b65c-f5260b9dcc8d"] {
        let response = http().get(format!("{}{path}", server.url)).send().await.expect("the server answers");
        assert_eq!(response.status(), 404);
    }
}

#[tokio::test]
async fn sessions_on_disk_survive_the_service() {
    let data = tempfile::tempdir().expect("a directory");
    let data_dir = data.path().to_str().expect("UTF-8");
    let arguments = ["--workers", "1", "--session-slots", "3", "--data-dir", data_dir];
    let server = Server::start(&arguments);
    let mut ids = Vec::new();
    for number in 0..6 {
        let session = Session::open_on(&server, json!({"labels": {"n": number.to_string()}})).await;
        session.call(&format!("x = {number}")).await;
        ids.push(session.id);
    }
    // SAFETY: the server is our own child; the signal takes no memory of ours.
    unsafe { libc::kill(server.pid().cast_signed(), libc::SIGTERM) };
    server.ended().await;
    // All are saved when the service ends; those that were on disk already are there even when it is killed.
    let killed = Server::start(&arguments);
    for (number, id) in ids.iter().enumerate() {
        let session = Session { server: &killed, id: id.clone() };
        assert_shows(
            &session.info().await,
            json!({"state": "stored", "execution_count": 1, "labels": {"n": number.to_string()}}),
        );
        assert_eq!(session.value("x").await, number);
    }
    let on_disk = killed.metric("proofbox_sessions_evicted_total").await;
    assert!(on_disk >= 3.0, "three have made room: {on_disk}");
    drop(killed);
    let server = Server::start(&arguments);
    let mut survived = 0;
    for (number, id) in ids.iter().enumerate() {
        let session = Session { server: &server, id: id.clone() };
        let (status, answer) = session.try_call(json!({"code": "x"})).await;
        assert!(status == 404 || (status, &answer["result"]) == (200, &json!(number)), "{status} {answer}");
        survived += usize::from(status == 200);
    }
    assert!((3..6).contains(&survived), "{survived} of 6: those on disk, and not those in memory");
}

#[tokio::test]
async fn clients_that_vanish_while_sessions_come_and_go_leave_nothing_behind() {
    let server = Server::start(&["--workers", "1", "--session-slots", "3"]);
    let mut ids = Vec::new();
    for number in 0..8 {
        let session = Session::open_on(&server, json!({})).await;
        session.call(&format!("x = {number}")).await;
        ids.push(session.id);
    }
    // Each is on its way back from disk, is forked, restored or ended when its client goes away.
    for round in 0..60_u64 {
        let id = &ids[round as usize % ids.len()];
        let (path, body) = match round % 3 {
            0 => (format!("/v1/sessions/{id}/execute"), json!({"code": "x"})),
            1 => (format!("/v1/sessions/{id}/fork"), json!({"count": 1, "ttl_seconds": 60})),
            _ => ("/v1/sessions".to_owned(), json!({"ttl_seconds": 60})),
        };
        let request = http().post(format!("{}{path}", server.url)).json(&body);
        let _ = request.timeout(Duration::from_micros(200 + 97 * round)).send().await;
    }
    for (number, id) in ids.iter().enumerate() {
        assert_eq!(Session { server: &server, id: id.clone() }.value("x").await, number);
    }
    // What a vanished client asked for may be made only now, and may expire meanwhile.
    // The session that checkpoints are compared with is not counted: it is never run.
    eventually_async("no session and no interpreter is left", async || {
        let (_, text) = server.get("/v1/sessions?limit=1000").await;
        let list: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let all = list["sessions"].as_array().expect("a list");
        for session in all {
            let session = Session { server: &server, id: session["id"].as_str().expect("an id").to_owned() };
            let (status, _) = session.request("DELETE", "", "").await;
            assert!(matches!(status, 204 | 404), "{status}");
        }
        let instances = server.metric("proofbox_instances_live").await;
        let memory = server.metric("proofbox_sessions_memory_bytes").await;
        (all.is_empty() && instances == 0.0 && memory == 0.0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_stack_of_a_call_is_given_back() {
    // It has allocated 1 MiB, and its stack was a third of one.
    const MOST: f64 = 1.25 * 1024.0 * 1024.0;
    let server = Server::start(&["--workers", "1", "--slots", "2"]);
    let session = Session::open_on(&server, json!({})).await;
    // From Python to C and back.
    let deep = "import sys\nsys.setrecursionlimit(4000)\nclass A:\n    def __eq__(self, other): return [self] == [other]\n\
                try: A() == A()\nexcept RecursionError: x = 7\nx";
    assert_eq!(session.value(deep).await, 7);
    let bytes = server.metric("proofbox_sessions_memory_bytes").await;
    assert!(bytes < MOST, "{bytes} bytes");
    assert_eq!(session.value("x").await, 7);
}

/// The stack of native code is counted nowhere.
#[tokio::test]
async fn the_native_stack_of_a_call_is_given_back() {
    let server = Server::start(&["--workers", "1"]);
    let [worker] = server.workers()[..] else { panic!("there is one worker") };
    let session = Session::open_on(&server, json!({})).await;
    session.call("1").await;
    let before = resident_bytes(worker);
    session.call(DEEP).await;
    let after = resident_bytes(worker);
    assert!(after < before + (768 << 10), "{} KiB before, {} KiB after", before >> 10, after >> 10);
}
