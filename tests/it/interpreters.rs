//! Interpreters that commands start: they count to the concurrency of their key.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::access::{create, known, send};
use crate::harness::Server;
use crate::process::eventually_async;

/// A server with one key.
struct Keyed {
    server: Server,
    key: String,
    _data: TempDir,
}

impl Keyed {
    /// The key has so many places; a run waits a second for one.
    async fn with_places(places: &str) -> Self {
        let data = tempfile::tempdir().expect("a temporary directory");
        let server = Server::start_with(&["--workers", "1", "--queue-seconds", "1"], |command| {
            command.args(["--keyless", "never"]).env("PROOFBOX_DATA_DIR", data.path());
        });
        let key = create(data.path(), &["ci", "--concurrency", places]);
        known(&server, &key).await;
        Self { server, key, _data: data }
    }

    async fn ask(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let (status, _, answer) = send(&self.server, method, path, &[("x-api-key", &self.key)], body).await;
        (status, answer)
    }

    async fn run(&self, code: &str) -> Value {
        let (status, answer) = self.ask("POST", "/v1/execute", json!({"code": code})).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// Waits until a run is answered with this status.
    async fn answers(&self, status: u16) {
        eventually_async("a run is answered so", async || {
            let (found, _) = self.ask("POST", "/v1/execute", json!({"code": "1"})).await;
            (found == status).then_some(())
        })
        .await;
    }

    /// Opens a session, and returns its path.
    async fn session(&self) -> String {
        let (status, answer) = self.ask("POST", "/v1/sessions", json!({})).await;
        assert_eq!(status, 201, "{answer}");
        format!("/v1/sessions/{}", answer["id"].as_str().expect("an id"))
    }
}

#[tokio::test]
async fn a_command_of_a_session_takes_a_place_of_its_key() {
    let keyed = Keyed::with_places("1").await;
    let session = keyed.session().await;
    keyed.answers(200).await;
    let request = json!({"command": "python3 -c 'import time; time.sleep(600)'", "background": true});
    let (status, command) = keyed.ask("POST", &format!("{session}/commands"), request).await;
    assert_eq!(status, 201, "{command}");
    keyed.answers(429).await;
    let (status, answer) = keyed
        .ask("DELETE", &format!("{session}/commands/{}", command["id"].as_str().expect("an id")), json!(null))
        .await;
    assert_eq!(status, 204, "{answer}");
    keyed.answers(200).await;
    // Programs of the shell take none.
    let request = json!({"command": "sleep 600", "background": true});
    assert_eq!(keyed.ask("POST", &format!("{session}/commands"), request).await.0, 201);
    keyed.answers(200).await;
}

#[tokio::test]
async fn programs_that_are_waited_for_need_no_further_place() {
    let keyed = Keyed::with_places("1").await;
    let inner = "import subprocess, sys; print(1, flush=True); subprocess.run([sys.executable, '-c', 'print(2)'])";
    let outer = format!("import subprocess, sys\nfor _ in range(2): subprocess.run([sys.executable, '-c', {inner:?}])");
    assert_eq!(keyed.run(&outer).await["stdout"], "1\n2\n1\n2\n");
    let session = keyed.session().await;
    let (status, answer) = keyed
        .ask("POST", &format!("{session}/execute"), json!({"code": format!("{outer}\n!python3 -c 'print(3)'")}))
        .await;
    assert_eq!((status, &answer["stdout"]), (200, &json!("1\n2\n1\n2\n3\n")), "{answer}");
}

#[tokio::test]
async fn programs_at_once_need_a_place_each() {
    let pipeline = r#"
import subprocess
first = "python3 -c 'import time; print(1, flush=True); time.sleep(4)'"
print(subprocess.run(first + " | python3 -c 'print(input())'", shell=True, capture_output=True, text=True))
"#;
    let began = Instant::now();
    let refused = Keyed::with_places("1").await.run(pipeline).await;
    let shown = refused["stdout"].as_str().expect("text");
    assert!(shown.contains("Resource temporarily unavailable") && shown.contains("stdout=''"), "{refused}");
    assert!(began.elapsed() < Duration::from_secs(60), "it does not wait for itself");
    let served = Keyed::with_places("2").await.run(pipeline).await;
    assert!(served["stdout"].as_str().expect("text").contains("stdout='1\\n', stderr=''"), "{served}");
}

#[tokio::test]
async fn a_job_needs_a_place_of_its_own_when_the_program_that_started_it_goes_on() {
    let keyed = Keyed::with_places("1").await;
    let start = r#"
import subprocess, time
job = "python3 -c 'import time; open(\"up\", \"w\"); time.sleep(600)' > /dev/null 2> said &"
subprocess.run(job + " until [ -e up ]; do sleep 0.1; done", shell=True)
"#;
    // The call has the place: there is none for the job.
    let waits = format!("{start}while not open('said').read(): time.sleep(0.1)\nprint(open('said').read())");
    assert_eq!(keyed.run(&waits).await["stdout"], "python3: stopped: no permit of the key is free\n\n");
    // One that the script had not begun yet has no place either.
    let late = start.replace(" until [ -e up ]; do sleep 0.1; done", "");
    let waits = format!("{late}while not open('said').read(): time.sleep(0.1)\nprint(open('said').read())");
    let said = keyed.run(&waits).await["stdout"].as_str().expect("text").to_owned();
    assert!(said.contains("Resource temporarily unavailable") || said.contains("no permit of the key"), "{said}");
    keyed.answers(200).await;
    // The call ends in time, and the job has its place.
    let session = keyed.session().await;
    let (status, answer) = keyed.ask("POST", &format!("{session}/execute"), json!({"code": start})).await;
    assert_eq!((status, &answer["status"]), (200, &json!("ok")), "{answer}");
    keyed.answers(429).await;
    assert_eq!(keyed.ask("DELETE", &session, json!(null)).await.0, 204);
    keyed.answers(200).await;
}
