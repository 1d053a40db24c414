//! SandboxFusion's clients as people have them, unmodified; and what they are told when the service is busy.

use std::process::Command;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::access::create;
use crate::clients::TURN;
use crate::harness::{Server, http};
use crate::tools::{packages, root, succeed};

fn program(name: &str, server: &Server, arguments: &[&str]) -> String {
    let folder = root().join("tests/sandbox_fusion");
    let site = packages("sandbox-fusion", "python3", &folder.join("requirements.txt"), &[]);
    let mut command = Command::new("python3");
    command.arg("-B").arg(folder.join(name)).args(arguments);
    command.env("PYTHONPATH", site).env("PROOFBOX_URL", &server.url);
    succeed(name, &mut command)
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

#[tokio::test]
async fn a_busy_service_answers_504_in_time_and_the_next_attempt_gets_the_result() {
    let server = Server::start_with(&[], |command| {
        command.args(["--workers", "1", "--slots", "2"]);
    });
    let url = format!("{}/sandbox-fusion/run_code", server.url);
    let client = http();
    // Longer than a client waits: compile_timeout + run_timeout + 10 s.
    let loops = json!({"code": "while True: pass", "run_timeout": 40});
    let occupied: Vec<_> = (0..4)
        .map(|_| {
            let (client, url, loops) = (client.clone(), url.clone(), loops.clone());
            tokio::spawn(async move { client.post(url).json(&loops).send().await })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let request = json!({"code": "print(6 * 7)", "compile_timeout": 0, "run_timeout": 1, "stdin": null});
    let began = Instant::now();
    let late = client.post(&url).json(&request).send().await.expect("the server answers");
    let waited = began.elapsed();
    assert_eq!(late.status(), 504);
    assert!((Duration::from_secs(8)..Duration::from_secs(11)).contains(&waited), "{waited:?}");
    occupied.iter().for_each(tokio::task::JoinHandle::abort);
    let answer = client.post(&url).json(&request).send().await.expect("the server answers");
    assert_eq!(answer.status(), 200);
    let answer: serde_json::Value = answer.json().await.expect("JSON");
    assert_eq!(answer["run_result"]["stdout"], "42\n", "{answer}");
    // It had its place in the queue all the while.
    assert!(answer["proofbox"]["queue_seconds"].as_f64().is_some_and(|waited| waited > 8.0), "{answer}");
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
