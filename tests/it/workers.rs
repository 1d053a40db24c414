//! The process wall: what becomes of runs, clients and the service when workers die or the service is told to stop.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::Server;
use crate::process;

const BUSY: &str = "import time\nend = time.monotonic() + 1.5\nwhile time.monotonic() < end: pass\nprint('done')";

fn kill(process: u32, signal: i32) {
    // SAFETY: kill(2) takes plain numbers; the process is a child of the server that this test started.
    let sent = unsafe { libc::kill(process.cast_signed(), signal) };
    assert_eq!(sent, 0, "{}", std::io::Error::last_os_error());
}

async fn until<F: Future<Output = bool>>(mut holds: impl FnMut() -> F, what: &str) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_killed_worker_takes_only_its_own_runs_with_it() {
    let server = Server::start(&["--workers", "2"]);
    let before = server.workers();
    assert_eq!(before.len(), 2);
    // Spread evenly: two of the four are in each worker.
    let runs = (0..4).map(|_| server.execute(json!({"code": BUSY})));
    let murder = async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        kill(before[0], libc::SIGKILL);
        // Until the front process notices, it may send a run after the others; that one is lost too, and says so.
        tokio::time::sleep(Duration::from_millis(100)).await;
        // While the others go on, a new request is served at once.
        server.execute(json!({"code": "print(1)"})).await
    };
    let (answers, meanwhile) = tokio::join!(futures_util::future::join_all(runs), murder);
    let count = |class: &str| answers.iter().filter(|answer| answer["stderr_class"] == class).count();
    assert_eq!((count("infrastructure_error"), count("none")), (2, 2), "{answers:?}");
    let lost = answers.iter().find(|answer| answer["stderr_class"] == "infrastructure_error").expect("counted above");
    assert_eq!((&lost["status"], &lost["tests_passed"]), (&json!("infrastructure_error"), &json!(0)));
    assert_eq!(meanwhile["stdout"], "1\n");
    until(|| async { server.workers().len() == 2 }, "the worker is replaced").await;
    assert!(!server.workers().contains(&before[0]));
}

#[tokio::test]
async fn requests_wait_for_workers_that_are_being_replaced() {
    let server = Server::start(&["--workers", "2"]);
    for worker in server.workers() {
        kill(worker, libc::SIGKILL);
    }
    // The front process may take a moment to notice; a run that it still sends to a dead worker is lost, and says so.
    let mut answer = server.execute(json!({"code": "print(2)"})).await;
    while answer["status"] == "infrastructure_error" {
        answer = server.execute(json!({"code": "print(2)"})).await;
    }
    assert_eq!(answer["stdout"], "2\n");
    assert_eq!(server.get("/readyz").await.0, 200);
}

#[tokio::test]
async fn a_client_that_leaves_stops_its_guest() {
    let server = Server::start(&["--workers", "1"]);
    let client = server.client();
    let endless = tokio::spawn(async move { client.execute(json!({"code": "while True: pass"})).await });
    // Workers tell how many are alive every two seconds.
    until(|| async { server.metric("proofbox_instances_live").await == 1.0 }, "it runs").await;
    endless.abort();
    until(|| async { server.metric("proofbox_instances_live").await == 0.0 }, "it is stopped").await;
}

#[tokio::test]
async fn running_work_finishes_when_the_service_is_told_to_stop() {
    let server = Server::start(&["--workers", "1"]);
    let workers = server.workers();
    let (pid, run) = (server.pid(), server.execute(json!({"code": BUSY})));
    let stop = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        kill(pid, libc::SIGTERM);
    };
    let (answer, ()): (Value, ()) = tokio::join!(run, stop);
    assert_eq!(answer["stdout"], "done\n");
    assert!(server.ended().await.success());
    for worker in workers {
        until(|| async { !process::lives(worker) }, "no worker is left behind").await;
    }
}
