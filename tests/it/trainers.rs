//! Clients of trainers and of their environments, unmodified; and what they are told when the service is busy.

use std::process::Command;
use std::sync::PoisonError;
use std::time::Duration;

use serde_json::{Value, json};

use crate::access::create;
use crate::clients::{TURN, python};
use crate::harness::{Server, http};
use crate::process::eventually_async;
use crate::tools::succeed;

/// Runs a program of `tests/trainers`. The clients are files of repositories: without access to GitHub,
/// `PROOFBOX_CLIENT_SOURCES` is a folder that has them; without either it says that nothing was checked.
fn passes(name: &str) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Server::start(&[]);
    let mut command: Command = python("trainers", name, &server);
    let said = succeed(name, &mut command);
    if let Some(reason) = said.lines().find(|line| line.starts_with("NOT CHECKED: ")) {
        eprintln!("{name}: {reason}");
        return;
    }
    assert!(said.contains(" passed, 0 failed"), "{said}");
}

#[test]
fn open_instructs_verifiers_work() {
    passes("open_instruct_clients.py");
}

#[test]
fn open_r1s_routed_clients_work() {
    passes("open_r1_clients.py");
}

#[test]
fn nemo_skills_local_sandbox_works() {
    passes("nemo_skills_clients.py");
}

#[test]
fn openenvs_coding_environment_works() {
    passes("openenv_clients.py");
}

/// Fills the two slots of a server for so many seconds.
async fn occupy(server: &Server, seconds: u32) -> Vec<tokio::task::JoinHandle<()>> {
    let sleeps = json!({"code": format!("import time; time.sleep({seconds})"), "run_timeout": seconds + 5});
    let runs = (0..2).map(|_| {
        let request = http().post(format!("{}/sandbox-fusion/run_code", server.url)).json(&sleeps).send();
        tokio::spawn(async { drop(request.await.expect("the server answers").text().await) })
    });
    let runs = runs.collect();
    eventually_async("both slots are taken", || async {
        (server.metric("proofbox_instances_live").await >= 2.0).then_some(())
    })
    .await;
    runs
}

#[tokio::test]
async fn results_wait_for_a_busy_service_as_long_as_it_takes() {
    let server = Server::start_with(&[], |command| {
        command.args(["--workers", "1", "--slots", "2"]);
    });
    let occupied = occupy(&server, 8).await;
    // Longest silence that this client bears; the wait is longer.
    let client = reqwest::Client::builder().read_timeout(Duration::from_secs(5)).build().expect("a client");
    let post = |path: &str, body: Value| {
        let request = client.post(format!("{}{path}", server.url)).header("X-Session-ID", "one").json(&body);
        async move {
            let answer = request.send().await.expect("the server answers");
            assert_eq!(answer.status(), 200);
            let text = answer.text().await.expect("the answer is whole");
            assert!(text.starts_with('\n'), "{text}");
            serde_json::from_str::<Value>(&text).expect("JSON")
        }
    };
    let program = "def add(a, b): return a + b";
    let (tested, compared, batch, program_ran) = tokio::join!(
        post("/open-instruct/test_program", json!({"program": program, "tests": ["assert add(1, 2) == 3"]})),
        post(
            "/open-instruct/test_program_stdio",
            json!({"program": "print(input())", "tests": [{"input": "a", "output": "a"}]})
        ),
        post("/open-r1/execute_batch", json!({"scripts": ["1 + 1"], "languages": ["python"], "timeout": 5})),
        post("/nemo-skills/execute", json!({"generated_code": "print(3)", "language": "python", "timeout": 5})),
    );
    assert_eq!((&tested["results"], &compared["results"]), (&json!([1]), &json!([1])));
    assert_eq!(batch[0]["text"], "2", "{batch}");
    assert_eq!(program_ran["stdout"], "3\n", "{program_ran}");
    for run in occupied {
        run.await.expect("it ends");
    }
}

#[tokio::test]
async fn a_key_may_be_the_password_of_the_url() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let key = create(data.path(), &["trainer"]);
    let server = Server::start_with(&[], |command| {
        command.args(["--keyless", "never"]).env("PROOFBOX_DATA_DIR", data.path());
    });
    let with_key = server.url.replacen("http://", &format!("http://trainer:{key}@"), 1);
    for (path, body) in [
        ("/open-instruct/test_program", json!({"program": "1", "tests": []})),
        ("/open-r1/execute_batch", json!({"scripts": [], "languages": []})),
        ("/nemo-skills/execute", json!({"generated_code": "1", "language": "python"})),
    ] {
        let post = |url: &str| http().post(format!("{url}{path}")).json(&body).send();
        assert_eq!(post(&server.url).await.expect("the server answers").status(), 401, "{path}");
        assert_eq!(post(&with_key).await.expect("the server answers").status(), 200, "{path}");
    }
    for path in ["/openenv/ws", "/piston/api/v2/connect"] {
        let upgrade = |url: &str| {
            let headers = [
                ("Connection", "Upgrade"),
                ("Upgrade", "websocket"),
                ("Sec-WebSocket-Version", "13"),
                ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ];
            headers
                .into_iter()
                .fold(http().get(format!("{url}{path}")), |get, (name, value)| get.header(name, value))
                .send()
        };
        assert_eq!(upgrade(&server.url).await.expect("the server answers").status(), 401, "{path}");
        assert_eq!(upgrade(&with_key).await.expect("the server answers").status(), 101, "{path}");
    }
}

#[tokio::test]
async fn a_bare_execute_is_still_the_interpreter_of_e2b() {
    let server = Server::shared();
    // It knows no sandbox of this name, and says so in its own words.
    let answer = http().post(format!("{}/execute", server.url)).json(&json!({"code": "1"})).send().await;
    let answer = answer.expect("the server answers");
    assert_ne!(answer.status(), 404);
    let text = answer.text().await.expect("the answer is whole");
    assert!(!text.contains("process_status"), "{text}");
}
