//! Work that nobody waits for any more: it ends, and its key pays for what it has used.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::access::{create, known, send};
use crate::harness::{Server, http};
use crate::process::eventually_async;

/// Code that runs until it is stopped.
const ENDLESS: &str = "while True: pass";

/// A key that has used up its fuel as soon as it has used any, and a session of it.
struct Frugal {
    server: Server,
    key: String,
    session: String,
    _data: TempDir,
}

impl Frugal {
    async fn new() -> Self {
        let data = tempfile::tempdir().expect("a temporary directory");
        let server = Server::start_with(&["--workers", "1"], |command| {
            command.args(["--keyless", "never"]).env("PROOFBOX_DATA_DIR", data.path());
        });
        let key = create(data.path(), &["ci", "--fuel-per-day", "1"]);
        known(&server, &key).await;
        let (status, _, session) = send(&server, "POST", "/v1/sessions", &[("x-api-key", &key)], json!({})).await;
        assert_eq!(status, 201, "{session}");
        let session = format!("/v1/sessions/{}", session["id"].as_str().expect("an id"));
        Self { server, key, session, _data: data }
    }

    async fn ask(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let (status, _, answer) = send(&self.server, method, path, &[("x-api-key", &self.key)], body).await;
        (status, answer)
    }

    /// Asks for something that has no end, and leaves.
    async fn leave(&self, path: &str, body: Value) {
        let request = http().request(Method::POST, format!("{}{path}", self.server.url)).header("x-api-key", &self.key);
        let left = request.json(&body).timeout(Duration::from_millis(1500)).send().await;
        assert!(left.is_err_and(|error| error.is_timeout()), "it was answered");
    }

    /// Waits until all fuel is used up: a program of the shell uses none, but is refused then.
    async fn pays(&self) {
        let commands = format!("{}/commands", self.session);
        eventually_async("the key has paid", async || {
            let (status, answer) = self.ask("POST", &commands, json!({"command": "true"})).await;
            (status == 429 && answer["error"]["code"] == "fuel_budget_used").then_some(())
        })
        .await;
        assert!(self.server.metric("proofbox_fuel_total").await > 1e6);
    }
}

#[tokio::test]
async fn a_run_that_its_client_leaves_is_paid_for() {
    let tests = json!({"kind": "asserts", "asserts": ["f()"]});
    for body in [
        json!({"code": ENDLESS}),
        json!({"code": format!("def f():\n    {ENDLESS}"), "tests": tests, "grading": "isolated"}),
        json!({"code": format!("import subprocess, sys\nsubprocess.run([sys.executable, '-c', {ENDLESS:?}])")}),
    ] {
        let frugal = Frugal::new().await;
        frugal.leave("/v1/execute", body).await;
        frugal.pays().await;
    }
}

#[tokio::test]
async fn a_call_that_its_client_leaves_is_paid_for() {
    let frugal = Frugal::new().await;
    frugal.leave(&format!("{}/execute", frugal.session), json!({"code": ENDLESS})).await;
    frugal.pays().await;
}

#[tokio::test]
async fn a_command_that_is_killed_is_paid_for() {
    let frugal = Frugal::new().await;
    let commands = format!("{}/commands", frugal.session);
    let endless = json!({"command": format!("python3 -c '{ENDLESS}'"), "background": true});
    let (status, command) = frugal.ask("POST", &commands, endless).await;
    assert_eq!(status, 201, "{command}");
    // It has begun.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let command = format!("{commands}/{}", command["id"].as_str().expect("an id"));
    assert_eq!(frugal.ask("DELETE", &command, Value::Null).await.0, 204);
    frugal.pays().await;
}

#[tokio::test]
async fn jobs_of_a_session_that_is_closed_are_paid_for() {
    let frugal = Frugal::new().await;
    let (status, other) = frugal.ask("POST", "/v1/sessions", json!({})).await;
    assert_eq!(status, 201, "{other}");
    let other = format!("/v1/sessions/{}", other["id"].as_str().expect("an id"));
    let endless = json!({"command": format!("python3 -c '{ENDLESS}' & sleep 600"), "background": true});
    assert_eq!(frugal.ask("POST", &format!("{other}/commands"), endless).await.0, 201);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(frugal.ask("DELETE", &other, Value::Null).await.0, 204);
    frugal.pays().await;
}

#[tokio::test]
async fn what_a_call_made_counts_when_its_client_has_left() {
    let frugal = Frugal::new().await;
    let code = format!("held = bytearray(b'x') * (64 << 20)\n{ENDLESS}");
    frugal.leave(&format!("{}/execute", frugal.session), json!({"code": code})).await;
    eventually_async("what it holds is counted", async || {
        (frugal.server.metric("proofbox_sessions_memory_bytes").await > f64::from(64 << 20)).then_some(())
    })
    .await;
}
