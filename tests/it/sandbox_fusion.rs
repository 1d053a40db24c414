//! SandboxFusion's clients as people have them, unmodified; and what they are told when the service is busy.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::access::create;
use crate::clients::{TURN, python};
use crate::harness::{Server, http};
use crate::process::eventually_async;
use crate::tools::succeed;

fn program(name: &str, server: &Server, arguments: &[&str]) -> String {
    succeed(name, python("sandbox_fusion", name, server).args(arguments))
}

#[test]
fn sandbox_fusions_clients_work() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let said = program("clients.py", &Server::start(&[]), &[]);
    assert!(said.contains(" passed, 0 failed"), "{said}");
}

#[test]
fn verls_rewards_do_not_depend_on_load() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Server::start_with(&[], |command| {
        command.args(["--workers", "2", "--slots", "4"]);
    });
    let said = program("rewards.py", &server, &["--samples", "60", "--slots", "8", "--overload", "5"]);
    assert!(said.contains(" rewards, 0 differ"), "{said}");
}

/// Fills the two slots of a server for so many seconds.
async fn occupy(server: &Server, seconds: u32) -> Vec<tokio::task::JoinHandle<serde_json::Value>> {
    let sleeps = json!({"code": format!("import time; time.sleep({seconds})"), "run_timeout": seconds + 5});
    let runs = (0..2).map(|_| {
        let request = http().post(format!("{}/sandbox-fusion/run_code", server.url)).json(&sleeps).send();
        tokio::spawn(async { request.await.expect("the server answers").json().await.expect("JSON") })
    });
    let runs = runs.collect();
    eventually_async("both slots are taken", || async {
        (server.metric("proofbox_instances_live").await >= 2.0).then_some(())
    })
    .await;
    runs
}

fn two_slots() -> Server {
    Server::start_with(&[], |command| {
        command.args(["--workers", "1", "--slots", "2"]);
    })
}

#[tokio::test]
async fn white_space_bridges_a_wait_that_is_longer_than_clients_are_patient() {
    let server = two_slots();
    let occupied = occupy(&server, 12).await;
    // Longest silence that this client bears; the wait is longer.
    let client = reqwest::Client::builder().read_timeout(Duration::from_secs(5)).build().expect("a client");
    let request = json!({"code": "print(6 * 7)", "compile_timeout": 0, "run_timeout": 1, "stdin": null});
    let sent = client.post(format!("{}/sandbox-fusion/run_code", server.url)).json(&request).send();
    let answer = sent.await.expect("the server answers");
    assert_eq!(answer.status(), 200);
    let text = answer.text().await.expect("the answer is whole");
    assert!(text.starts_with('\n'), "{text}");
    let answer: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(answer["run_result"]["stdout"], "42\n", "{answer}");
    assert!(answer["proofbox"]["queue_seconds"].as_f64().is_some_and(|waited| waited > 5.0), "{answer}");
    for run in occupied {
        assert_eq!(run.await.expect("it ends")["status"], "Success");
    }
}

#[tokio::test]
async fn a_client_that_stops_waiting_and_asks_again_keeps_its_place() {
    let server = two_slots();
    let occupied = occupy(&server, 10).await;
    let request = json!({"code": "print(6 * 7)", "run_timeout": 1});
    let send = || http().post(format!("{}/sandbox-fusion/run_code", server.url)).json(&request).send();
    let hasty = async { send().await.expect("the server answers").text().await };
    assert!(tokio::time::timeout(Duration::from_secs(4), hasty).await.is_err());
    let ended = "proofbox_http_request_seconds_count{route=\"/sandbox-fusion/run_code\"}";
    eventually_async("the server has noticed", async || (server.metric(ended).await == 1.0).then_some(())).await;
    let began = Instant::now();
    let answer: serde_json::Value = send().await.expect("the server answers").json().await.expect("JSON");
    let waited = began.elapsed().as_secs_f64();
    assert_eq!(answer["run_result"]["stdout"], "42\n", "{answer}");
    // The time of the attempt before is in it.
    let queued = answer["proofbox"]["queue_seconds"].as_f64().expect("a number");
    assert!(queued > waited, "{queued} {waited}");
    occupied.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn a_key_may_be_the_password_of_the_url() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let key = create(data.path(), &["trainer"]);
    let server = Server::start_with(&[], |command| {
        command.args(["--keyless", "never"]).env("PROOFBOX_DATA_DIR", data.path());
    });
    let post = |url: String| http().post(url).json(&json!({"code": "print(1)"})).send();
    let path = "/sandbox-fusion/run_code";
    let refused = post(format!("{}{path}", server.url)).await.expect("the server answers");
    assert_eq!(refused.status(), 401);
    let with_key = server.url.replacen("http://", &format!("http://trainer:{key}@"), 1);
    let served = post(format!("{with_key}{path}")).await.expect("the server answers");
    assert_eq!(served.status(), 200);
}
