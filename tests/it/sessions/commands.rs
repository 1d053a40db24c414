//! Commands: streams, exit codes, input, signals, ends, bounds.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Session;
use crate::access::{create, known, send};
use crate::harness::{Server, assert_shows, http};
use crate::process::eventually_async;

impl Session<'_> {
    /// The answer to a command that ends.
    async fn command(&self, request: Value) -> Value {
        let (status, answer) = self.post("/commands", request).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// The path of a command that is started in the background.
    async fn background(&self, script: &str) -> String {
        let request = json!({"command": script, "background": true, "timeout_seconds": 60});
        let (status, answer) = self.post("/commands", request).await;
        assert_shows(&json!([status, answer]), json!([201, {"state": "running", "command": script}]));
        format!("/commands/{}", answer["id"].as_str().expect("an id"))
    }

    async fn get(&self, rest: &str) -> (u16, Value) {
        let (status, text) = self.server.get(&self.path(rest)).await;
        (status, serde_json::from_str(&text).expect("JSON"))
    }

    /// The answer of a command in the background, at its end.
    async fn ended(&self, command: &str) -> Value {
        let (status, answer) = self.get(&format!("{command}/output")).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    async fn listed(&self) -> usize {
        self.get("/commands").await.1["commands"].as_array().expect("a list").len()
    }
}

/// The events of a command, each as its type and its object.
async fn events(request: reqwest::RequestBuilder) -> Vec<(String, Value)> {
    let response = request.header("accept", "application/x-ndjson").send().await.expect("the server answers");
    assert_eq!(response.headers()["content-type"], "application/x-ndjson");
    let text = response.text().await.expect("whole");
    let parsed = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    parsed.map(|event| (event["type"].as_str().expect("a type").to_owned(), event)).collect()
}

fn text_of(events: &[(String, Value)], kind: &str) -> String {
    let texts = events.iter().filter(|(found, _)| found == kind).filter_map(|(_, event)| event["text"].as_str());
    texts.collect()
}

#[tokio::test]
async fn a_command_has_streams_and_an_exit_code() {
    let session = Session::open_on(Server::shared(), json!({"env": {"A": "session"}})).await;
    let answer = session.command(json!({"command": "echo out; echo err >&2; exit 3"})).await;
    assert_shows(
        &answer,
        json!({
            "session_id": session.id, "state": "exited", "exit_code": 3, "stdout": "out\n", "stderr": "err\n",
            "stdout_bytes": 4, "stderr_bytes": 4, "stdout_truncated": false, "stderr_truncated": false,
            "stderr_class": "nonzero_exit", "timed_out": false, "signal": null, "error": null, "fuel_used": 0,
        }),
    );
    let answer = session.command(json!({"argv": ["python3", "-c", "import sys; print(sys.argv)", "$A", "it's"]})).await;
    assert_shows(&answer, json!({"stdout": "['-c', '$A', \"it's\"]\n", "exit_code": 0, "stderr_class": "none"}));
    assert!(answer["fuel_used"].as_u64() > Some(100_000), "{answer}");
    session.call("import os; os.mkdir('d')").await;
    let request = json!({"command": "pwd; echo $A $B; cat", "cwd": "d", "env": {"B": "b"}, "stdin": "é\n"});
    assert_shows(&session.command(request).await, json!({"stdout": "/home/user/d\nsession b\né\n"}));
    assert_eq!(session.listed().await, 0, "who waited has the answer");
}

#[tokio::test]
async fn exit_codes_are_those_of_a_shell() {
    let session = Session::open().await;
    for (command, code) in [("true", 0), ("false", 1), ("if", 2), ("/tmp", 126), ("nosuchprogram", 127)] {
        assert_eq!(session.command(json!({"command": command})).await["exit_code"], code, "{command}");
    }
    for command in ["sleep 60", "python3 -c 'while True: pass'"] {
        let answer = session.command(json!({"command": command, "timeout_seconds": 0.5})).await;
        assert_shows(&answer, json!({"exit_code": 124, "stderr_class": "timeout", "timed_out": true}));
        assert!(answer["duration_seconds"].as_f64() < Some(5.0), "{answer}");
    }
    assert_shows(&session.command(json!({"command": "exit 124"})).await, json!({"stderr_class": "nonzero_exit"}));
    let poor = Session::open_on(Server::shared(), json!({"limits": {"fuel": 1_000_000_000}})).await;
    let answer = poor.command(json!({"command": "python3 -c 'while True: pass'"})).await;
    assert_shows(&answer, json!({"stderr_class": "fuel_exhausted", "timed_out": false}));
}

#[tokio::test]
async fn output_comes_while_a_command_runs() {
    let session = Session::open().await;
    let url = format!("{}{}", session.server.url, session.path("/commands"));
    let script = "printf '\\303'; sleep 0.3; printf '\\251'; echo; echo err >&2; printf '\\303'";
    let events = events(http().post(&url).json(&json!({"command": script}))).await;
    assert_eq!(
        (text_of(&events, "stdout"), text_of(&events, "stderr")),
        ("é\n\u{fffd}".to_owned(), "err\n".to_owned())
    );
    let (first, last) = (&events[0], &events[events.len() - 1]);
    assert_eq!((first.0.as_str(), last.0.as_str()), ("begin", "end"));
    assert_shows(&last.1["answer"], json!({"exit_code": 0, "stderr": "err\n", "id": first.1["id"]}));
    let request = http().post(url).header("accept", "text/event-stream").json(&json!({"command": "echo hi"}));
    let text = request.send().await.expect("the server answers").text().await.expect("whole");
    assert!(text.contains("event: stdout\ndata: {\"text\":\"hi\\n\",\"type\":\"stdout\"}\n\n"), "{text}");
}

#[tokio::test]
async fn a_command_in_the_background_takes_input_and_can_be_followed() {
    let session = Session::open().await;
    let command = session.background("read name; echo hello $name; cat; echo end >&2").await;
    assert_shows(&session.get("/commands").await.1, json!({"commands": [{"state": "running", "exit_code": null}]}));
    let input = async |request: Value| session.post(&format!("{command}/input"), request).await.0;
    assert_eq!(input(json!({"data": "you\n"})).await, 204);
    eventually_async("it has answered", async || {
        (session.get(&command).await.1["stdout"] == "hello you\n").then_some(())
    })
    .await;
    let follow = events(http().get(format!("{}{}", session.server.url, session.path(&format!("{command}/output")))));
    let (events, status) = tokio::join!(follow, input(json!({"data": "more", "close": true})));
    assert_eq!(status, 204);
    assert_eq!(text_of(&events, "stdout"), "hello you\nmore", "from the start");
    let shown = json!({"state": "exited", "exit_code": 0, "stdout": "hello you\nmore", "stderr": "end\n"});
    assert_shows(&events[events.len() - 1].1["answer"], shown.clone());
    assert_shows(&session.get(&command).await.1, shown.clone());
    assert_shows(&session.ended(&command).await, shown);
    assert_shows(&session.get("/commands").await.1, json!({"commands": [{"state": "exited", "exit_code": 0}]}));
    for (rest, request) in [("input", json!({"data": "x"})), ("signal", json!({"signal": "SIGKILL"}))] {
        let (status, answer) = session.post(&format!("{command}/{rest}"), request).await;
        assert_shows(&json!([status, answer]), json!([409, {"error": {"code": "command_ended"}}]));
    }
    assert_eq!(session.request("DELETE", &command, "").await.0, 204);
    assert_eq!(session.get(&command).await.0, 404);
    assert_eq!(session.listed().await, 0);
}

#[tokio::test]
async fn every_signal_ends_a_command() {
    let session = Session::open().await;
    for (signal, code) in [("SIGINT", 130), ("SIGTERM", 143), ("SIGKILL", 137)] {
        let command = session.background("echo begun; python3 -c 'while True: pass'; echo never").await;
        eventually_async("it runs", async || (session.get(&command).await.1["stdout"] == "begun\n").then_some(()))
            .await;
        assert_eq!(session.post(&format!("{command}/signal"), json!({"signal": signal})).await.0, 204);
        let shown = json!({"state": "killed", "exit_code": code, "signal": signal, "stdout": "begun\n"});
        assert_shows(&session.ended(&command).await, shown);
    }
    let command = session.background("sleep 60").await;
    let url = format!("{}{}", session.server.url, session.path(&format!("{command}/output")));
    // Who has its headers follows it.
    let follow = http().get(url).header("accept", "application/x-ndjson").send().await.expect("the server answers");
    assert_eq!(session.request("DELETE", &command, "").await.0, 204);
    let told = follow.text().await.expect("whole");
    let last: Value = serde_json::from_str(told.lines().last().expect("an event")).expect("JSON");
    assert_shows(&last, json!({"type": "end", "answer": {"state": "killed", "signal": "SIGKILL"}}));
    assert_eq!(session.get(&command).await.0, 404);
}

#[tokio::test]
async fn a_session_that_is_deleted_ends_its_commands_at_once() {
    let session = Session::open().await;
    let command = session.background("echo begun; sleep 60").await;
    let began = Instant::now();
    let end = async {
        eventually_async("both run", async || (session.listed().await == 2).then_some(())).await;
        assert_eq!(session.request("DELETE", "", "").await.0, 204);
    };
    let foreground = session.post("/commands", json!({"command": "sleep 60", "timeout_seconds": 60}));
    let (background, foreground, ()) = tokio::join!(session.ended(&command), foreground, end);
    let shown = json!({"state": "session_ended", "exit_code": 137, "signal": "SIGKILL"});
    assert_shows(&background, shown.clone());
    assert_shows(&json!(foreground), json!([200, shown]));
    assert!(began.elapsed() < Duration::from_secs(20), "at once");
    assert_eq!(session.get(&command).await.0, 404);
}

#[tokio::test]
async fn a_client_that_goes_away_takes_its_command_with_it() {
    let session = Session::open().await;
    let url = format!("{}{}", session.server.url, session.path("/commands"));
    for accept in ["application/json", "application/x-ndjson"] {
        let request = http().post(&url).header("accept", accept).timeout(Duration::from_millis(500));
        let gone = request.json(&json!({"command": "sleep 60", "timeout_seconds": 60})).send().await;
        let is_gone = match gone {
            Ok(response) => response.text().await.is_err(),
            Err(_) => true,
        };
        assert!(is_gone, "it has given up");
        eventually_async("it is killed", async || (session.listed().await == 0).then_some(())).await;
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_command_is_said_with_the_field() {
    let session = Session::open().await;
    for (request, status, code, field) in [
        (json!({}), 400, "malformed_request", "command"),
        (json!({"command": "true", "argv": ["true"]}), 422, "unprocessable", "argv"),
        (json!({"argv": []}), 422, "unprocessable", "argv"),
        (json!({"argv": [""]}), 422, "unprocessable", "argv"),
        (json!({"command": "a\0"}), 422, "unprocessable", "command"),
        (json!({"argv": ["a\0"]}), 422, "unprocessable", "argv"),
        (json!({"command": "true", "env": {"A=": "x"}}), 422, "unprocessable", "env.A="),
        (json!({"command": "true", "cwd": "no/such"}), 422, "unprocessable", "cwd"),
        (json!({"command": "true", "cwd": "/dev/null"}), 422, "unprocessable", "cwd"),
        (json!({"command": "true", "timeout_seconds": 1e9}), 400, "limit_above_ceiling", "timeout_seconds"),
        (json!({"command": "true", "timeout_seconds": 0}), 400, "limit_below_floor", "timeout_seconds"),
        (json!({"command": "true", "shell": "zsh"}), 400, "malformed_request", "shell"),
        (json!({"command": "x".repeat((2 << 20) + 1)}), 413, "too_large", "command"),
        (json!({"command": "true", "stdin": "x".repeat((1 << 20) + 1)}), 413, "too_large", "stdin"),
    ] {
        let (found, answer) = session.post("/commands", request.clone()).await;
        let request: String = request.to_string().chars().take(100).collect();
        assert_eq!(found, status, "{request} {answer}");
        assert_shows(&answer, json!({"error": {"code": code, "field": field}}));
    }
    for name in ["1", "x", "-1", "99999999999"] {
        let (status, answer) = session.get(&format!("/commands/{name}")).await;
        assert_shows(&json!([status, answer]), json!([404, {"error": {"code": "command_not_found"}}]));
    }
    let command = session.background("sleep 60").await;
    assert_eq!(session.post(&format!("{command}/signal"), json!({"signal": "SIGHUP"})).await.0, 400);
    let request = json!({"command": "sleep 60", "background": true, "stdin": ""});
    let closed = session.post("/commands", request).await.1;
    let input = format!("/commands/{}/input", closed["id"].as_str().expect("an id"));
    let (status, answer) = session.post(&input, json!({"data": "x"})).await;
    assert_shows(&json!([status, answer]), json!([409, {"error": {"code": "command_takes_no_input"}}]));
    session.end().await;
}

#[tokio::test]
async fn a_session_runs_and_keeps_so_many_commands() {
    let session = Session::open().await;
    let mut commands = Vec::new();
    for _ in 0..32 {
        commands.push(session.background("sleep 60").await);
    }
    let (status, answer) = session.post("/commands", json!({"command": "true"})).await;
    assert_shows(&json!([status, answer]), json!([409, {"error": {"code": "too_many"}}]));
    for command in &commands {
        assert_eq!(session.post(&format!("{command}/signal"), json!({"signal": "SIGTERM"})).await.0, 204);
        session.ended(command).await;
    }
    assert_eq!(session.listed().await, 16, "the last that have ended");
    assert_eq!((session.get(&commands[15]).await.0, session.get(&commands[16]).await.0), (404, 200));
    assert_eq!(session.command(json!({"command": "true"})).await["exit_code"], 0);
}

#[tokio::test]
async fn input_that_nobody_reads_is_bounded() {
    let session = Session::open().await;
    let command = session.background("sleep 60").await;
    let input = format!("{command}/input");
    let (status, answer) = session.post(&input, json!({"data": "x".repeat((1 << 20) + 1)})).await;
    assert_shows(&json!([status, answer]), json!([413, {"error": {"code": "too_large", "field": "data"}}]));
    let piece = json!({"data": "x".repeat(1 << 20)});
    let waiting = futures_util::future::join_all((0..4).map(|_| session.post(&input, piece.clone())));
    let beyond = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (status, answer) = session.post(&input, json!({"data": "x"})).await;
        assert_shows(&json!([status, answer]), json!([409, {"error": {"code": "too_many"}}]));
        session.post(&format!("{command}/signal"), json!({"signal": "SIGKILL"})).await;
    };
    tokio::join!(waiting, beyond);
    assert_eq!(session.ended(&command).await["state"], "killed");
}

#[tokio::test]
async fn output_is_kept_to_its_limit_and_counted_beyond() {
    let session = Session::open_on(Server::shared(), json!({"limits": {"output_bytes": 1000}})).await;
    let script = "python3 -c 'print(\"x\" * 5000, end=\"\")'; printf abc >&2";
    let shown = json!({
        "exit_code": 0, "stdout_bytes": 5000, "stdout_truncated": true, "stderr": "abc", "stderr_bytes": 3,
        "stderr_truncated": false, "stdout": format!("{}\n[... 4000 bytes cut ...]\n", "x".repeat(1000)),
    });
    assert_shows(&session.command(json!({"command": script})).await, shown.clone());
    let command = session.background(script).await;
    assert_shows(&session.ended(&command).await, shown);
    let output = http().get(format!("{}{}", session.server.url, session.path(&format!("{command}/output"))));
    let events = events(output).await;
    assert_eq!(text_of(&events, "stdout"), "x".repeat(1000));
    assert!(events.iter().any(|(kind, event)| kind == "overflow" && event["bytes"] == 4000), "{events:?}");
}

#[tokio::test]
async fn a_fork_bomb_in_the_background_is_bounded() {
    let session = Session::open().await;
    let command = session.background("bomb() { bomb | bomb & }; bomb; wait").await;
    let began = Instant::now();
    assert_eq!(session.value("6 * 7").await, 42, "meanwhile the session serves calls");
    let answer = session.ended(&command).await;
    assert_eq!(answer["state"], "exited", "{answer}");
    assert!(began.elapsed() < Duration::from_secs(60), "{answer}");
    assert_eq!(session.command(json!({"command": "echo fine"})).await["stdout"], "fine\n");
}

#[tokio::test]
async fn commands_belong_to_the_key_of_their_session_and_count_to_its_fuel() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let server = Server::start_with(&["--workers", "1"], |command| {
        command.args(["--keyless", "never"]).env("PROOFBOX_DATA_DIR", data.path());
    });
    let (own, other) = (create(data.path(), &["a", "--fuel-per-day", "1"]), create(data.path(), &["b"]));
    for key in [&own, &other] {
        known(&server, key).await;
    }
    let with = async |key: &str, method: &str, path: &str, body: Value| {
        let (status, _, answer) = send(&server, method, path, &[("x-api-key", key)], body).await;
        (status, answer)
    };
    let (_, session) = with(&own, "POST", "/v1/sessions", json!({})).await;
    let commands = format!("/v1/sessions/{}/commands", session["id"].as_str().expect("an id"));
    let request = json!({"command": "cat; echo s3cr3t-output", "background": true});
    let (status, command) = with(&own, "POST", &commands, request).await;
    assert_eq!(status, 201, "{command}");
    let command = format!("{commands}/{}", command["id"].as_str().expect("an id"));
    for (method, path, body) in [
        ("POST", commands.clone(), json!({"command": "true"})),
        ("GET", commands.clone(), Value::Null),
        ("GET", command.clone(), Value::Null),
        ("GET", format!("{command}/output"), Value::Null),
        ("POST", format!("{command}/input"), json!({"close": true})),
        ("POST", format!("{command}/signal"), json!({"signal": "SIGKILL"})),
        ("DELETE", command.clone(), Value::Null),
    ] {
        let (status, answer) = with(&other, method, &path, body).await;
        assert_shows(&json!([status, answer]), json!([404, {"error": {"code": "session_not_found"}}]));
    }
    assert_eq!(
        with(&own, "POST", &format!("{command}/input"), json!({"data": "s3cr3t-input\n", "close": true})).await.0,
        204
    );
    let (_, answer) = with(&own, "GET", &format!("{command}/output"), Value::Null).await;
    assert_shows(&answer, json!({"state": "exited", "stdout": "s3cr3t-input\ns3cr3t-output\n"}));
    let (status, answer) = with(&own, "POST", &commands, json!({"command": "python3 -c 'print(1)'"})).await;
    assert_shows(&json!([status, answer]), json!([200, {"stdout": "1\n"}]));
    let (status, answer) = with(&own, "POST", &commands, json!({"command": "true"})).await;
    assert_shows(&json!([status, answer]), json!([429, {"error": {"code": "fuel_budget_used"}}]));
    assert!(!server.log().iter().any(|line| line.contains("s3cr3t")), "nothing of it is in the log");
}

#[tokio::test]
async fn a_command_ends_while_its_jobs_go_on() {
    let session = Session::open().await;
    let began = Instant::now();
    let answer =
        session.command(json!({"command": "(sleep 3; echo x > f) >/dev/null 2>&1 & echo started; exit 3"})).await;
    assert_shows(&answer, json!({"state": "exited", "exit_code": 3, "stdout": "started\n", "timed_out": false}));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_shows(&session.get("/commands").await.1, json!({"commands": [{"state": "exited", "id": answer["id"]}]}));
    assert_eq!(session.request("GET", "/files/f", "").await.0, 404, "not yet");
    eventually_async("the job has ended", async || (session.listed().await == 0).then_some(())).await;
    assert_eq!(session.request("GET", "/files/f", "").await, (200, b"x\n".to_vec()));
    let began = Instant::now();
    assert_shows(&session.command(json!({"command": "sleep 1 & echo hi"})).await, json!({"stdout": "hi\n"}));
    assert!(began.elapsed() >= Duration::from_secs(1), "the job has its output");
    // The time of a command is that of its jobs, too.
    let request = json!({"command": "(sleep 60; echo y > f) >/dev/null 2>&1 &", "timeout_seconds": 1});
    assert_shows(&session.command(request).await, json!({"exit_code": 0, "timed_out": false}));
    assert_eq!(session.listed().await, 1);
    eventually_async("it is ended", async || (session.listed().await == 0).then_some(())).await;
    assert_eq!(session.request("GET", "/files/f", "").await, (200, b"x\n".to_vec()));
}

#[tokio::test]
async fn jobs_count_as_commands_of_their_session_and_end_with_it() {
    let session = Session::open().await;
    let mut commands = Vec::new();
    for _ in 0..32 {
        let request = json!({"command": "(while :; do echo x > f; sleep 0.1; done) >/dev/null 2>&1 &"});
        commands.push(session.command(request).await["id"].as_str().expect("an id").to_owned());
    }
    let (status, answer) = session.post("/commands", json!({"command": "true"})).await;
    assert_shows(&json!([status, answer]), json!([409, {"error": {"code": "too_many"}}]));
    let command = format!("/commands/{}", commands[0]);
    assert_eq!(session.post(&format!("{command}/signal"), json!({"signal": "SIGKILL"})).await.0, 409, "it has ended");
    assert_eq!(session.request("DELETE", &command, "").await.0, 204);
    assert_eq!(session.command(json!({"command": "pgrep -c ."})).await["stdout"], "31\n");
    let began = Instant::now();
    assert_eq!(session.request("DELETE", "", "").await.0, 204);
    assert!(began.elapsed() < Duration::from_secs(5), "at once");
    assert_eq!(session.get("/commands").await.0, 404);
}

#[tokio::test]
async fn processes_of_one_command_are_known_to_the_next() {
    let (session, other) = (Session::open().await, Session::open().await);
    let answer = session.command(json!({"command": "echo $$; sleep 60 >/dev/null 2>&1 & echo $!"})).await;
    let mut numbers = answer["stdout"].as_str().expect("text").lines();
    assert_eq!(numbers.next(), answer["id"].as_str(), "the number of a command is its process's");
    let job = numbers.next().expect("a number");
    let look = format!("kill -0 {job} && ps -o args= -p {job}");
    assert_shows(&session.command(json!({"command": look})).await, json!({"exit_code": 0, "stdout": "sleep 60\n"}));
    assert_eq!(other.command(json!({"command": format!("{look} || kill {job}")})).await["exit_code"], 1);
    let kill = format!("kill {job}; sleep 0.1; kill -0 {job}");
    assert_shows(&session.command(json!({"command": kill})).await, json!({"exit_code": 1}));
    let command = session.background("trap 'echo caught; exit 7' TERM; while :; do sleep 0.1; done").await;
    let kill = format!("kill -TERM {}", command.rsplit('/').next().expect("a number"));
    eventually_async("it is caught", async || {
        session.command(json!({"command": kill})).await;
        (session.get(&command).await.1["exit_code"] == 7).then_some(())
    })
    .await;
    assert_shows(&session.get(&command).await.1, json!({"state": "exited", "stdout": "caught\n"}));
    // A call sees them, too, and leaves some.
    let began = Instant::now();
    session.call("!sleep 60 >/dev/null 2>&1 & echo $! > job").await;
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let code = "import subprocess; subprocess.run('kill -0 $(cat job) && kill $(cat job)', shell=True).returncode";
    assert_eq!(session.value(code).await, 0);
    assert_eq!(session.value(code).await, 1);
}

#[tokio::test]
async fn a_session_whose_calls_have_left_jobs_stays_in_its_worker() {
    let server = Server::start(&["--workers", "1", "--session-memory-bytes", "1000000"]);
    let session = Session::open_on(&server, json!({})).await;
    session.call("!(sleep 3; echo x > f) >/dev/null 2>&1 &").await;
    for _ in 0..4 {
        Session::open_on(&server, json!({})).await.call("x = list(range(100_000))").await;
    }
    eventually_async("the job has ended", async || {
        (session.request("GET", "/files/f", "").await.0 == 200).then_some(())
    })
    .await;
    let shown = async || {
        Session::open_on(&server, json!({})).await.call("x = list(range(100_000))").await;
        (session.info().await["state"] == "stored").then_some(())
    };
    eventually_async("it is moved to disk", shown).await;
    assert_eq!(session.value("open('f').read()").await, "x\n");
}

#[tokio::test]
async fn commands_of_two_mebibytes_run() {
    let session = Session::open().await;
    let words = vec!["x".repeat(1 << 16); 31];
    let argv: Vec<_> = ["printf".to_owned(), "%s".to_owned()].into_iter().chain(words).collect();
    assert_shows(&session.command(json!({"argv": argv})).await, json!({"exit_code": 0, "stdout_bytes": 31 << 16}));
}

/// Scripts that leave as many jobs as they can, which never rest.
const BOMBS: [&str; 3] = [
    "f() { f | f & }; f",
    "while :; do (while :; do :; done) >/dev/null 2>&1 & done",
    "for i in {1..100}; do setsid sh -c 'trap \"\" TERM; while :; do :; done' >/dev/null 2>&1 & done",
];

#[tokio::test]
async fn fork_bombs_end_with_their_time_and_neighbours_notice_nothing() {
    let server = Server::start(&["--workers", "1"]);
    let (session, neighbour) = (Session::open_on(&server, json!({})).await, Session::open_on(&server, json!({})).await);
    neighbour.call("x = 41").await;
    for bomb in BOMBS {
        let mut commands = Vec::new();
        for _ in 0..8 {
            let request = json!({"command": bomb, "background": true, "timeout_seconds": 4});
            commands.push(session.post("/commands", request).await.1["id"].as_str().expect("an id").to_owned());
        }
        let (mut longest, mut runs, began) = (Duration::ZERO, 0, Instant::now());
        while began.elapsed() < Duration::from_secs(3) {
            let began = Instant::now();
            assert_eq!(neighbour.value("x").await, 41);
            longest = longest.max(began.elapsed());
            runs += 1;
        }
        eprintln!("{bomb}: {runs} calls beside it, the longest {longest:?}");
        assert!(longest < Duration::from_secs(1), "{bomb}: {longest:?}");
        // While there are as many processes as there may be, none can be started.
        eventually_async("all have ended", async || {
            let answer = session.command(json!({"command": "pgrep -c .; echo on"})).await;
            (answer["stdout"] == "0\non\n").then_some(())
        })
        .await;
    }
    assert_eq!(server.metric("proofbox_worker_restarts_total").await, 0.0);
}
