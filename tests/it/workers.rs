//! The process wall: what becomes of runs, clients and the service when workers die or the service is told to stop.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Server, assert_shows, http};
use crate::process::{self, cpu_ticks, eventually, eventually_async};

/// What never ends, under these limits, before the test has lost its patience.
fn endless(code: &str) -> Value {
    json!({"code": code, "limits": {"fuel": 10_000_000_000_000u64, "wall_seconds": 600}})
}

/// A second and a half of work.
const BUSY: &str = "import time\nend = time.monotonic() + 1.5\nwhile time.monotonic() < end: pass\nprint('done')";

/// Sends the request until it is not lost: the front process may take a moment to notice that a worker is gone.
async fn run_again(server: &Server, code: &str) -> Value {
    eventually_async("a run succeeds", async || {
        let answer = server.execute(json!({"code": code})).await;
        (answer["status"] != "infrastructure_error").then_some(answer)
    })
    .await
}

/// Waits until each worker takes its share: the service is ready as soon as the first one is.
async fn all_take_part(server: &Server) {
    let workers = server.workers();
    let ticks = || workers.iter().map(|worker| cpu_ticks(*worker)).collect::<Vec<_>>();
    let all_worked = async || {
        let before = ticks();
        let work = || server.execute(json!({"code": "for i in range(4_000_000): pass"}));
        futures_util::future::join_all(workers.iter().map(|_| work())).await;
        ticks().iter().zip(before).all(|(after, before)| *after > before + 1).then_some(())
    };
    eventually_async("all workers take part", all_worked).await;
}

/// Sleeps, so that it is never its turn for long.
const ASLEEP: &str = "import time\ntime.sleep(1.5)\nprint('slept')";

#[tokio::test]
async fn a_killed_worker_takes_only_the_run_at_its_turn_with_it() {
    let server = Server::start(&["--workers", "2"]);
    all_take_part(&server).await;
    let before = server.workers();
    // Spread evenly: two of the four are in each worker.
    let runs = (0..4).map(|_| server.execute(json!({"code": BUSY, "limits": {"wall_seconds": 20}})));
    let murder = async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        process::signal(before[0], libc::SIGKILL);
        // While the others go on, a new request is served at once.
        run_again(&server, "print(1)").await
    };
    let (answers, meanwhile) = tokio::join!(futures_util::future::join_all(runs), murder);
    let (lost, done): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer["stderr_class"] == "infrastructure_error");
    // At most one has its turn at any moment; who waited for it is run again in the other worker.
    assert!(lost.len() <= 1, "{lost:?}");
    for answer in &lost {
        let error = json!({"type": "InfrastructureError"});
        assert_shows(
            answer,
            json!({"status": "infrastructure_error", "exit_code": 1, "tests_passed": 0, "error": error}),
        );
    }
    for answer in &done {
        assert_shows(answer, json!({"status": "ok", "stdout": "done\n"}));
    }
    assert!(server.metric("proofbox_runs_repeated_total").await >= (2 - lost.len()) as f64);
    assert_eq!(meanwhile["stdout"], "1\n");
    eventually("the worker is replaced", || (server.workers().len() == 2).then_some(())).await;
    assert!(!server.workers().contains(&before[0]) && server.workers().contains(&before[1]));
    assert_eq!(server.metric("proofbox_worker_restarts_total").await, 1.0);
}

#[tokio::test]
async fn a_run_at_whose_turn_the_worker_dies_is_not_run_again_and_never_graded() {
    let server = Server::start(&["--workers", "1"]);
    let tests = json!({"kind": "asserts", "asserts": ["assert True", BUSY, "assert True"]});
    let cases = json!({"kind": "stdin_stdout", "cases": [{"expected_stdout": "done"}, {"expected_stdout": "done"}]});
    let requests =
        [json!({"code": "", "tests": tests, "grading": "in_process"}), json!({"code": BUSY, "tests": cases})];
    for request in requests {
        // The signal may come between two of its turns; then it is run again, and passes.
        let lost = eventually_async("it is at its turn", async || {
            let worker = server.workers().into_iter().find(|worker| process::lives(*worker))?;
            let murder = async {
                tokio::time::sleep(Duration::from_millis(400)).await;
                // It may be the one before, on its way out.
                if process::lives(worker) {
                    process::signal(worker, libc::SIGKILL);
                }
            };
            let (answer, ()) = tokio::join!(server.execute(request.clone()), murder);
            (answer["status"] != "passed").then_some(answer)
        });
        assert_shows(
            &lost.await,
            json!({"status": "infrastructure_error", "stderr_class": "infrastructure_error", "tests_passed": 0, "cases": []}),
        );
    }
}

#[tokio::test]
async fn a_run_that_keeps_its_worker_from_answering_meets_its_limit_and_the_others_are_run_again() {
    let server = Server::start(&["--workers", "1"]);
    let worker = server.workers()[0];
    let busy = server.execute(json!({"code": "while True: pass", "limits": {"wall_seconds": 5, "fuel": 1e13 as u64}}));
    let stop = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        process::signal(worker, libc::SIGSTOP);
    };
    let (busy, asleep, ()) = tokio::join!(busy, server.execute(json!({"code": ASLEEP})), stop);
    assert_shows(&asleep, json!({"status": "ok", "stdout": "slept\n"}));
    assert_shows(&busy, json!({"status": "error", "stderr_class": "timeout"}));
    assert!(!process::lives(worker));
}

#[tokio::test]
async fn a_killed_worker_is_replaced() {
    let server = Server::start(&["--workers", "1"]);
    let worker = server.workers()[0];
    process::signal(worker, libc::SIGKILL);
    assert_shows(&run_again(&server, "print(2)").await, json!({"status": "ok", "stdout": "2\n"}));
    assert_ne!(server.workers(), [worker]);
    assert_eq!(server.get("/readyz").await.0, 200);
}

#[tokio::test]
async fn requests_wait_for_workers_that_are_being_replaced() {
    let server = Server::start(&["--workers", "2"]);
    let before = server.workers();
    for worker in &before {
        process::signal(*worker, libc::SIGKILL);
    }
    eventually("the front process has noticed", || {
        server.workers().iter().all(|worker| !before.contains(worker)).then_some(())
    })
    .await;
    let answers = futures_util::future::join_all((0..20).map(|_| server.execute(json!({"code": "print(2)"})))).await;
    for answer in answers {
        assert_shows(&answer, json!({"status": "ok", "stdout": "2\n"}));
    }
    assert_eq!(server.get("/readyz").await.0, 200);
}

#[tokio::test]
async fn a_worker_that_hangs_is_replaced() {
    let server = Server::start(&["--workers", "1"]);
    let worker = server.workers()[0];
    process::signal(worker, libc::SIGSTOP);
    // Nothing had its turn there, so what was given to it is run in the next one.
    assert_shows(&server.execute(json!({"code": "print(1)"})).await, json!({"status": "ok", "stdout": "1\n"}));
    assert_eq!(server.metric("proofbox_runs_repeated_total").await, 1.0);
    assert!(!process::lives(worker));
}

#[tokio::test]
async fn a_client_that_leaves_stops_its_guest() {
    let server = Server::start(&["--workers", "1"]);
    let worker = server.workers()[0];
    for code in ["while True: pass", "import time\nwhile True: time.sleep(0.001)"] {
        let run = server.execute(endless(code));
        assert!(tokio::time::timeout(Duration::from_millis(300), run).await.is_err());
        eventually_async("it no longer takes CPU time", async || {
            let before = cpu_ticks(worker);
            tokio::time::sleep(Duration::from_millis(300)).await;
            (cpu_ticks(worker) - before <= 1).then_some(())
        })
        .await;
        let live = async || (server.metric("proofbox_instances_live").await == 0.0).then_some(());
        eventually_async("no interpreter is alive", live).await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_the_queue_is_not_run() {
    let server = Server::start(&["--workers", "1", "--slots", "2"]);
    let first = async { tokio::join!(server.execute(json!({"code": BUSY})), server.execute(json!({"code": BUSY}))).0 };
    let second = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let waiting = server.execute(endless("while True: pass"));
        assert!(tokio::time::timeout(Duration::from_millis(300), waiting).await.is_err());
    };
    let (first, ()) = tokio::join!(first, second);
    assert_shows(&first, json!({"stdout": "done\n"}));
    assert_shows(&server.execute(json!({"code": "print(3)"})).await, json!({"stdout": "3\n"}));
    assert_eq!(server.metric("proofbox_queue_length").await, 0.0);
}

async fn none_is_left(workers: Vec<u32>) {
    for worker in workers {
        eventually("no worker is left behind", || (!process::lives(worker)).then_some(())).await;
    }
}

#[tokio::test]
async fn running_work_finishes_when_the_service_is_told_to_stop() {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let server = Server::start(&["--workers", "1"]);
        let workers = server.workers();
        let stop = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            process::signal(server.pid(), signal);
            // Nothing new is taken while it goes down.
            tokio::time::sleep(Duration::from_millis(300)).await;
            let late = http().post(format!("{}/v1/execute", server.url)).body(r#"{"code": "1"}"#).send().await;
            assert_eq!(late.expect("it says so").status(), 503);
            assert_eq!(server.get("/readyz").await.0, 503);
            assert_eq!(server.get("/healthz").await.0, 200);
        };
        let (answer, ()) = tokio::join!(server.execute(json!({"code": BUSY})), stop);
        assert_shows(&answer, json!({"status": "ok", "stdout": "done\n"}));
        assert_eq!(server.ended().await.code(), Some(0));
        none_is_left(workers).await;
    }
}

#[tokio::test]
async fn work_that_does_not_finish_is_cut_off_at_the_end_of_the_drain_time() {
    let server = Server::start_with(&["--workers", "1"], |command| {
        command.args(["--drain-seconds", "1"]);
    });
    let workers = server.workers();
    let client = server.client();
    let run = tokio::spawn(async move { client.try_execute(endless("while True: pass")).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let told = Instant::now();
    process::signal(server.pid(), libc::SIGTERM);
    assert_eq!(server.ended().await.code(), Some(0));
    assert!((1..10).contains(&told.elapsed().as_secs()), "{:?}", told.elapsed());
    assert!(run.await.expect("it does not panic").is_err());
    none_is_left(workers).await;
}

#[tokio::test]
async fn workers_do_not_outlive_a_front_process_that_is_killed() {
    let server = Server::start(&["--workers", "2"]);
    let workers = server.workers();
    let client = server.client();
    let run = tokio::spawn(async move { client.try_execute(endless("while True: pass")).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    process::signal(server.pid(), libc::SIGKILL);
    none_is_left(workers).await;
    assert!(run.await.expect("it does not panic").is_err());
}
