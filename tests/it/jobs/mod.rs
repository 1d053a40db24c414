//! Submissions that are run in the background, on real servers that are killed and started again.

mod callbacks;
mod keeping;
mod running;
mod stats;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::harness::{Server, http, proofbox};
use crate::process::{self, eventually_async};

/// A server of its own on this directory.
fn start(data: &Path, arguments: &[&str]) -> Server {
    let mut all = vec!["--workers", "1"];
    all.extend(arguments);
    Server::start_with(&all, |command: &mut Command| {
        command.env("PROOFBOX_DATA_DIR", data);
    })
}

/// The same, with settings of `serve`.
fn start_with(data: &Path, settings: &[(&str, &str)]) -> Server {
    Server::start_with(&["--workers", "1"], |command: &mut Command| {
        command.env("PROOFBOX_DATA_DIR", data);
        command.envs(settings.iter().copied());
    })
}

/// As with `kill -9`; returns when nothing of it is left.
async fn kill(server: Server) {
    let workers = server.workers();
    process::signal(server.pid(), libc::SIGKILL);
    server.ended().await;
    process::eventually("its workers end", || workers.iter().all(|worker| !process::lives(*worker)).then_some(()))
        .await;
}

struct Asking<'a> {
    server: &'a Server,
    key: Option<&'a str>,
}

impl Asking<'_> {
    async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)], body: String) -> Response {
        let mut request = http().request(method, format!("{}{path}", self.server.url)).body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(key) = self.key {
            request = request.header("x-api-key", key);
        }
        request.send().await.expect("the server answers")
    }

    async fn json(&self, method: Method, path: &str, headers: &[(&str, &str)], body: String) -> (u16, Value) {
        let response = self.send(method, path, headers, body).await;
        let status = response.status().as_u16();
        let text = response.text().await.expect("the answer is whole");
        (status, serde_json::from_str(&text).unwrap_or_else(|_| json!(text)))
    }

    async fn get(&self, path: &str) -> Value {
        let (status, answer) = self.json(Method::GET, path, &[], String::new()).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// The id of a new job.
    async fn accepted(&self, path: &str, body: &Value) -> String {
        let (status, job) = self.json(Method::POST, path, &[], body.to_string()).await;
        assert_eq!(status, 202, "{job}");
        job["id"].as_str().expect("an id").to_owned()
    }

    async fn job(&self, id: &str) -> Value {
        self.get(&format!("/v1/jobs/{id}")).await
    }

    /// Once it has ended.
    async fn ended(&self, id: &str) -> Value {
        eventually_async("the job ends", async || {
            let job = self.job(id).await;
            matches!(job["state"].as_str(), Some("finished" | "cancelled")).then_some(job)
        })
        .await
    }

    async fn results(&self, id: &str, query: &str) -> Vec<Value> {
        let response = self.send(Method::GET, &format!("/v1/jobs/{id}/results{query}"), &[], String::new()).await;
        assert_eq!(response.status(), 200);
        let text = response.text().await.expect("the answer is whole");
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }
}

fn asking(server: &Server) -> Asking<'_> {
    Asking { server, key: None }
}

/// So many items, each of which prints its number, and fails if it is odd.
fn suite(items: usize) -> Value {
    let items: Vec<Value> = (0..items)
        .map(|number| json!({"id": format!("item#{number}"), "code": format!("n = {number}\nprint(n)")}))
        .collect();
    json!({
        "defaults": {"tests": {"kind": "asserts", "asserts": ["assert n % 2 == 0"]}, "grading": "in_process",
                     "labels": {"model": "m"}},
        "items": items, "k": [1, 2],
    })
}

/// Asserts that each item has one result, and that it is right.
fn assert_each_once(lines: &[Value], items: usize) {
    let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
    for line in lines {
        let number: usize = line["stdout"].as_str().and_then(|text| text.trim().parse().ok()).expect("its number");
        assert_eq!(line["id"], format!("item#{number}"));
        assert_eq!(line["status"], if number.is_multiple_of(2) { "passed" } else { "failed" }, "{line}");
        *seen.entry(number).or_default() += 1;
    }
    assert!(seen.values().all(|count| *count == 1), "{seen:?}");
    assert_eq!(seen.len(), items);
}

/// A new key in this directory.
fn key(data: &Path, name: &str) -> String {
    let data = data.to_str().expect("UTF-8");
    let output = proofbox(&["--data-dir", data, "keys", "create", name]).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let key = text.split_whitespace().find(|word| word.starts_with("proofbox_"));
    key.unwrap_or_else(|| panic!("no key in {text}")).to_owned()
}
