//! What the log says, and what it never does.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Server, http, proofbox};
use crate::process;
use crate::sessions::Session;

/// In everything of a client that no line may have in it.
const SECRET: &str = "zq4711";

fn json_server(prepare: impl FnOnce(&mut std::process::Command)) -> Server {
    Server::start_with(&["--workers", "1"], |command| {
        command.env("PROOFBOX_LOG_FORMAT", "json");
        prepare(command);
    })
}

/// The lines of a server as JSON, once there are `count` of access.
async fn lines(server: &Server, count: usize) -> Vec<Value> {
    let parsed = || -> Vec<Value> {
        let parse = |line: &String| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        server.log().iter().map(parse).collect()
    };
    process::eventually("every request has its line", || {
        let lines = parsed();
        (access(&lines).len() >= count).then_some(lines)
    })
    .await
}

fn access(lines: &[Value]) -> Vec<&Value> {
    lines.iter().filter(|line| line["target"] == "proofbox::access").collect()
}

#[tokio::test]
async fn a_request_has_a_name_and_a_line() {
    let server = json_server(|_| {});
    let send = async |id: Option<&str>, path: &str| {
        let mut request = http().post(format!("{}{path}", server.url)).header("content-type", "application/json");
        if let Some(id) = id {
            request = request.header("x-request-id", id);
        }
        let body = json!({"code": "import os", "policy": "strict"}).to_string();
        let response = request.body(body).send().await.expect("the server answers");
        let name = response.headers()["x-request-id"].to_str().expect("ASCII").to_owned();
        let bytes = response.bytes().await.expect("the answer is whole").len();
        (name, bytes)
    };
    let (kept, bytes) = send(Some("order-17"), "/v1/execute").await;
    assert_eq!(kept, "order-17");
    let (made, _) = send(None, "/v1/execute").await;
    assert_eq!(made.len(), 36, "{made}");
    let (other, _) = send(Some("two words"), "/no/such/path").await;
    assert_eq!(other.len(), 36, "{other}");

    let lines = lines(&server, 3).await;
    let of = |name: &str| -> Vec<&Value> { lines.iter().filter(|line| line["span"]["request_id"] == name).collect() };
    let blocked = of("order-17");
    assert_eq!(blocked.len(), 2, "what was blocked, and the line of access: {blocked:?}");
    let line = access(&lines)[0];
    assert_eq!(
        (&line["method"], &line["route"], &line["status"], &line["bytes"], &line["key"]),
        (&json!("POST"), &json!("/v1/execute"), &json!(200), &json!(bytes), &json!("keyless"))
    );
    assert!(line["duration_seconds"].as_f64().is_some_and(|seconds| seconds > 0.0 && seconds < 60.0), "{line}");
    let unknown = of(&other);
    assert_eq!((&unknown[0]["route"], &unknown[0]["status"]), (&json!("unknown"), &json!(404)));
}

#[tokio::test]
async fn the_line_of_access_can_be_had_alone_or_left_out() {
    for (filter, expected) in [("info,proofbox::access=off", 0), ("error,proofbox::access=info,proofbox::cli=info", 1)]
    {
        let server = json_server(|command| {
            command.env("PROOFBOX_LOG", filter);
        });
        server.execute(json!({"code": "import os", "policy": "strict"})).await;
        process::signal(server.pid(), libc::SIGTERM);
        server.ended().await;
        let lines = lines(&server, expected).await;
        assert_eq!(access(&lines).len(), expected, "{filter}: {lines:?}");
        if let Some(line) = access(&lines).first() {
            // The name is there, whatever the filter lets through.
            assert!(line["span"]["request_id"].is_string(), "{line}");
        }
    }
}

#[tokio::test]
async fn who_does_not_wait_for_the_answer_is_told_of() {
    let server = json_server(|_| {});
    let request = server.execute(json!({"code": "import time\ntime.sleep(20)"}));
    assert!(tokio::time::timeout(Duration::from_millis(500), request).await.is_err());
    let lines = lines(&server, 1).await;
    assert_eq!(access(&lines)[0]["status"], 499, "{lines:?}");
}

#[tokio::test]
async fn a_key_is_named_and_never_shown() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let made =
        proofbox(&["keys", "create", "eval-team"]).env("PROOFBOX_DATA_DIR", data.path()).output().expect("it runs");
    let key = String::from_utf8(made.stdout).expect("text").trim().to_owned();
    let server = json_server(|command| {
        command.args(["--keyless", "never"]).env("PROOFBOX_DATA_DIR", data.path()).env("PROOFBOX_LOG", "trace");
    });
    let send = async |key: &str| {
        let request = http().get(format!("{}/v1/runtime", server.url)).header("x-api-key", key);
        request.send().await.expect("the server answers").status().as_u16()
    };
    assert_eq!((send(&key).await, send("wrong-zq4711").await), (200, 401));
    let lines = lines(&server, 2).await;
    assert_eq!(access(&lines)[0]["key"], "eval-team");
    assert_eq!(access(&lines)[1]["key"], Value::Null);
    let log = server.log().concat();
    assert!(!log.contains(&key) && !log.contains("zq4711"), "{log}");
}

/// Sends all kinds of requests with something in each part that no line may have.
async fn everything(server: &Server) -> usize {
    let code = format!(
        "import sys\n# {SECRET}\nprint('{SECRET}', input())\nprint('{SECRET}', file=sys.stderr)\nopen('/etc/{SECRET}')\n"
    );
    let post = async |path: &str, body: String| {
        let request = http()
            .post(format!("{}{path}", server.url))
            .header("content-type", "application/json")
            .header("cookie", SECRET)
            .header("x-custom", SECRET)
            .header("user-agent", SECRET)
            .body(body);
        request.send().await.expect("the server answers").text().await.expect("the answer is whole")
    };
    let tests = json!({"kind": "asserts", "asserts": [format!("assert False, '{SECRET}'")]});
    let whole = json!({
        "code": code, "stdin": SECRET, "args": [SECRET], "env": {"A": SECRET}, "labels": {"model": SECRET},
        "files": [{"path": format!("{SECRET}.txt"), "content": SECRET}], "tests": tests,
    });
    let bodies = [
        whole.to_string(),
        json!({"code": format!("raise ValueError('{SECRET}')")}).to_string(),
        json!({"code": format!("import os\nos.system('{SECRET}')"), "policy": "strict"}).to_string(),
        json!({"code": format!("os.abort() # {SECRET}")}).to_string(),
        json!({"code": "1", "policy": SECRET}).to_string(),
        json!({"code": "1", SECRET: 1}).to_string(),
        format!("{{\"code\": {SECRET}"),
        json!({"code": format!("def f(:\n  {SECRET}")}).to_string(),
    ];
    for body in &bodies {
        post("/v1/execute", body.clone()).await;
    }
    post(&format!("/v1/execute?key={SECRET}"), bodies[1].clone()).await;
    post(&format!("/{SECRET}"), String::new()).await;
    let items = json!({"items": [{"id": "a", "code": format!("print('{SECRET}')")}, {"id": "b", "code": SECRET}]});
    post("/v1/suites", items.to_string()).await;
    post("/v1/scan", json!({"code": format!("eval('{SECRET}')")}).to_string()).await;
    let session = Session::open_on(server, json!({"env": {"A": SECRET}})).await;
    session.call(&format!("x = '{SECRET}'\nprint(x)\nraise KeyError(x)")).await;
    let request = http()
        .post(format!("{}{}", server.url, session.path("/execute")))
        .header("accept", "text/event-stream")
        .header("content-type", "application/json")
        .body(json!({"code": format!("print('{SECRET}')\n1/0")}).to_string());
    request.send().await.expect("the server answers").text().await.expect("the answer is whole");
    let put = http().put(format!("{}{}", server.url, session.path(&format!("/files/{SECRET}.txt")))).body(SECRET);
    put.send().await.expect("the server answers");
    bodies.len() + 4 + 4
}

#[tokio::test]
async fn no_line_has_anything_of_a_program_in_it() {
    for (format, filter) in [("json", "trace"), ("text", "debug,proofbox=trace")] {
        let server = Server::start_with(&["--workers", "1"], |command| {
            command.env("PROOFBOX_LOG_FORMAT", format).env("PROOFBOX_LOG", filter);
        });
        let sent = everything(&server).await;
        process::signal(server.pid(), libc::SIGTERM);
        server.ended().await;
        let log = process::eventually("every request has its line", || {
            let log = server.log();
            (log.iter().filter(|line| line.contains("proofbox::access")).count() >= sent).then_some(log)
        })
        .await;
        for line in log {
            assert!(!line.contains(SECRET), "{line}");
        }
    }
}
