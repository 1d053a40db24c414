//! Calls: state, limits, interrupts, streams.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use serde_json::{Value, json};

use super::Session;
use crate::harness::{Server, assert_shows, http};
use crate::process::eventually_async;

#[tokio::test]
async fn names_live_from_call_to_call_and_a_session_has_its_own() {
    let (one, other) = (Session::open().await, Session::open().await);
    one.call("x = 41\ndef f(): return x + 1").await;
    assert_eq!(one.value("f()").await, 42);
    assert_shows(&other.call("x").await, json!({"status": "error", "error": {"type": "NameError"}}));
    assert_shows(&one.info().await, json!({"state": "idle", "execution_count": 2, "policy": "default"}));
    one.end().await;
    let (status, answer) =
        other.server.post(&format!("/v1/sessions/{}/execute", uuid::Uuid::now_v7()), &json!({"code": "1"})).await;
    assert_shows(&json!([status, answer]), json!([404, {"error": {"code": "session_not_found"}}]));
}

#[tokio::test]
async fn pipes_and_permission_bits_live_from_call_to_call() {
    let session = Session::open().await;
    session.call("import os\nr, w = os.pipe()\nos.write(w, b'kept')").await;
    session.call("open('f', 'w').close()\nos.chmod('f', 0o400)").await;
    assert_eq!(session.value("os.read(r, 10).decode()").await, "kept");
    assert_eq!(session.value("oct(os.stat('f').st_mode)").await, "0o100400");
}

#[tokio::test]
async fn a_module_of_the_image_runs_as_a_program_without_a_warning() {
    let session = Session::open().await;
    let answer = session.call("!echo '[1]' | python3 -m json.tool --compact").await;
    assert_shows(&answer, json!({"stdout": "[1]\n", "stderr": ""}));
}

#[tokio::test]
async fn every_exception_is_told_and_survived() {
    let session = Session::open().await;
    session.call("kept = 'k'").await;
    for (code, name) in [
        ("1 / 0", "ZeroDivisionError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("class Mine(BaseException): pass\nraise Mine('m')", "Mine"),
        ("def r(): return r()\nr()", "RecursionError"),
        ("'a' * 10**10", "MemoryError"),
        ("def broken(:", "SyntaxError"),
    ] {
        let answer = session.call(code).await;
        assert_shows(&answer, json!({"status": "error", "restarted": false, "error": {"type": name}}));
        let traceback = answer["error"]["traceback_text"].as_str().expect("a text");
        assert!(traceback.contains(name), "{traceback}");
        assert_eq!(session.value("kept").await, "k", "after {name}");
    }
}

#[tokio::test]
async fn an_interpreter_that_ends_itself_is_replaced_and_the_files_stay() {
    let session = Session::open().await;
    session.call("x = 1; open('f', 'w').write('kept')").await;
    assert_shows(&session.call("import os; os._exit(3)").await, json!({"restarted": true, "exit_code": 3}));
    assert_shows(&session.call("x").await, json!({"error": {"type": "NameError"}, "restarted": false}));
    assert_eq!(session.value("open('f').read()").await, "kept");
}

#[tokio::test]
async fn a_limit_ends_the_call_and_not_the_session() {
    let session = Session::open().await;
    session.call("x = 5").await;
    for (limits, code, class) in [
        (json!({"fuel": 500_000_000}), "while True: pass", "fuel_exhausted"),
        (json!({"wall_seconds": 0.3}), "while True: pass", "timeout"),
        (json!({"wall_seconds": 0.3}), "import time; time.sleep(60)", "timeout"),
        (json!({"wall_seconds": 0.3}), "import asyncio; await asyncio.sleep(60)", "timeout"),
        (json!({"wall_seconds": 0.5}), "!python3 -c 'while True: pass'", "timeout"),
        (json!({"wall_seconds": 0.3}), "!sleep 60", "timeout"),
        (json!({"output_bytes": 1024}), "while True: print('x' * 100)", "output_limit"),
    ] {
        let answer = session.call_with(json!({"code": code, "limits": limits})).await;
        assert_shows(&answer, json!({"status": "error", "stderr_class": class}));
        if class == "output_limit" {
            // A flood is no guest's to go on from.
            assert_eq!(answer["restarted"], true);
            session.call("x = 5").await;
        }
        assert_eq!(session.value("x").await, 5, "after {code}");
    }
    let (status, answer) = session.try_call(json!({"code": "1", "limits": {"memory_bytes": 100_000_000}})).await;
    assert_shows(&json!([status, answer]), json!([422, {"error": {"field": "limits.memory_bytes"}}]));
    let (status, answer) = session.try_call(json!({"code": "1", "limits": {"wall_seconds": 1e9}})).await;
    assert_shows(&json!([status, answer]), json!([400, {"error": {"code": "limit_above_ceiling"}}]));
}

async fn interrupted_after(session: &Session<'_>, code: &str) -> (Value, Duration) {
    let interrupt = async {
        eventually_async("the call runs", async || (session.info().await["state"] == "busy").then_some(())).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        let (status, answer) = session.post("/interrupt", json!({})).await;
        assert_eq!((status, &answer["interrupted"]), (200, &json!(true)));
        Instant::now()
    };
    let (answer, asked) = tokio::join!(session.call(code), interrupt);
    (answer, asked.elapsed())
}

#[tokio::test]
async fn an_interrupt_ends_the_call_and_keeps_the_namespace() {
    let session = Session::open().await;
    session.call("x = 5").await;
    for code in [
        "while True: pass",
        "import time; time.sleep(60)",
        "import re; re.match('(a+)+$', 'a' * 40 + 'b')",
        "!sleep 60",
    ] {
        let (answer, _) = interrupted_after(&session, code).await;
        assert_shows(&answer, json!({"interrupted": true, "restarted": false}));
        assert_eq!(session.value("x").await, 5, "after {code}");
    }
    let code = "try:\n    while True: pass\nexcept KeyboardInterrupt:\n    print('cleaned up')";
    let (answer, _) = interrupted_after(&session, code).await;
    assert_shows(&answer, json!({"status": "ok", "stdout": "cleaned up\n", "interrupted": false}));
    let (_, answer) = session.post("/interrupt", json!({})).await;
    assert_eq!(answer["interrupted"], false, "nothing runs");
    assert_eq!(session.value("x").await, 5);
}

#[tokio::test]
async fn a_call_that_does_not_heed_the_interrupt_is_stopped_for_good() {
    let session = Session::open().await;
    session.call("x = 5").await;
    let deaf = "while True:\n    try:\n        while True: pass\n    except KeyboardInterrupt: pass";
    let (answer, _) = interrupted_after(&session, deaf).await;
    assert_shows(&answer, json!({"interrupted": true, "restarted": true}));
    assert_shows(&session.call("x").await, json!({"error": {"type": "NameError"}}));
}

#[tokio::test]
async fn calls_of_one_session_are_served_in_order() {
    let session = Session::open().await;
    session.call("import time\nseen = []").await;
    let calls = (0..6).map(|number| {
        let (client, path) = (session.server.client(), session.path("/execute"));
        async move {
            // One after the other on their way in.
            tokio::time::sleep(Duration::from_millis(60 * number)).await;
            let code = format!("time.sleep(0.15)\nseen.append({number})");
            client.post_bytes(&path, json!({"code": code}).to_string().into_bytes()).await
        }
    });
    futures_util::future::join_all(calls).await;
    assert_eq!(session.value("seen").await, json!([0, 1, 2, 3, 4, 5]));
}

#[tokio::test]
async fn a_client_that_goes_away_takes_its_call_with_it() {
    let session = Session::open().await;
    session.call("x = 5").await;
    let gone = http().post(format!("{}{}", session.server.url, session.path("/execute")));
    let gone = gone.json(&json!({"code": "import time\ntime.sleep(600)"})).timeout(Duration::from_millis(500));
    assert!(gone.send().await.is_err(), "it has given up");
    let began = Instant::now();
    assert_eq!(session.value("x").await, 5);
    assert!(began.elapsed() < Duration::from_secs(20), "the next call does not wait for it");
}

/// The events of a streamed call, each with when it came.
async fn events(session: &Session<'_>, code: &str, accept: &str) -> Vec<(Duration, String)> {
    let request = http().post(format!("{}{}", session.server.url, session.path("/execute")));
    let request = request.header("accept", accept).json(&json!({"code": code}));
    let began = Instant::now();
    let response = request.send().await.expect("the server answers");
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], accept);
    let (mut text, mut lines) = (String::new(), Vec::new());
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        text.push_str(std::str::from_utf8(&chunk.expect("whole")).expect("whole characters"));
        while let Some((line, rest)) = text.split_once('\n') {
            lines.push((began.elapsed(), line.to_owned()));
            text = rest.to_owned();
        }
    }
    assert_eq!(text, "");
    lines
}

fn parsed(lines: &[(Duration, String)]) -> Vec<Value> {
    lines.iter().map(|(_, line)| serde_json::from_str(line).expect("JSON")).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["type"].as_str()).collect()
}

#[tokio::test]
async fn output_comes_while_the_call_runs() {
    let session = Session::open().await;
    let code = "import sys, time\nprint('one')\nprint('two', file=sys.stderr)\ndisplay('shown')\ntime.sleep(0.6)\nprint('é\\u2028')\n6 * 7";
    let lines = events(&session, code, "application/x-ndjson").await;
    let parsed = parsed(&lines);
    assert_eq!(kinds(&parsed), ["begin", "stdout", "stderr", "display", "stdout", "display", "end"]);
    assert!(lines[4].0 - lines[1].0 > Duration::from_millis(300), "the first did not wait for the second");
    assert_eq!(parsed[1]["text"], "one\n");
    assert_eq!(parsed[4]["text"], "é\u{2028}\n");
    assert_shows(&parsed[5], json!({"data": {"text/plain": "42"}, "is_main_result": true}));
    let end = json!({"answer": {"status": "ok", "result": 42, "stdout": "one\né\u{2028}\n", "stderr": "two\n", "execution_count": 1}});
    assert_shows(&parsed[6], end);

    let lines = events(&session, "print(1)\n1 / 0", "text/event-stream").await;
    let text: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
    assert_eq!([text[0], text[3], text[6], text[9]], ["event: begin", "event: stdout", "event: error", "event: end"]);
    let error: Value = serde_json::from_str(text[7].strip_prefix("data: ").expect("data")).expect("JSON");
    assert_shows(&error, json!({"error": {"type": "ZeroDivisionError", "class": "exception"}}));
}

/// Large ones are made apart from those that are small.
#[tokio::test]
async fn large_displays_come_whole_and_in_their_places() {
    let session = Session::open().await;
    let code = "print('before')\ndisplay('x' * 300_000)\nprint('after')\n'y' * 200_000";
    let parsed = parsed(&events(&session, code, "application/x-ndjson").await);
    assert_eq!(kinds(&parsed), ["begin", "stdout", "display", "stdout", "display", "end"]);
    assert_eq!(parsed[2]["data"]["text/plain"], format!("'{}'", "x".repeat(300_000)));
    let streamed = &parsed[5]["answer"];
    let whole = session.call(code).await;
    for answer in [streamed, &whole] {
        assert_eq!(answer["displays"][0]["data"], parsed[2]["data"]);
        assert_eq!(answer["result"], "y".repeat(200_000));
    }
}

#[tokio::test]
async fn a_silent_stream_says_that_it_is_alive() {
    let session = Session::open().await;
    let lines = events(&session, "import time; time.sleep(6)", "application/x-ndjson").await;
    assert!(lines.iter().any(|(_, line)| line.contains("keepalive")), "{lines:?}");
}

#[tokio::test]
async fn the_gate_looks_at_each_call() {
    let session = Session::open_on(Server::shared(), json!({"policy": "strict"})).await;
    let answer = session.call("import subprocess\nsubprocess.run(['ls'])").await;
    assert_shows(&answer, json!({"status": "blocked", "exit_code": 126, "policy": {"decision": "block"}}));
    assert_eq!(session.value("1 + 1").await, 2);
    assert_shows(&session.call("!echo the shell is the sandbox's own").await, json!({"status": "ok"}));
}

#[tokio::test]
async fn values_of_any_size_come_whole_and_nonsense_never_spoils_the_answer() {
    let session = Session::open().await;
    assert_eq!(session.value("'x' * 5_000_000").await.as_str().map(str::len), Some(5_000_000));
    let answer = session.call("class Odd:\n    def __repr__(self): raise ValueError('no')\nOdd()").await;
    assert_shows(&answer, json!({"restarted": false}));
    assert_eq!(
        session.value("(1, {2})").await,
        json!({"$type": "tuple", "items": [1, {"$type": "set", "items": [2]}]})
    );
    let answer = session.call_with(json!({"code": "40 + 2", "result": null})).await;
    assert_shows(&answer, json!({"result": null, "displays": [{"data": {"text/plain": "42"}}]}));
}

#[tokio::test]
async fn a_worker_that_dies_takes_its_sessions_with_it_and_says_so() {
    let server = Server::start(&["--workers", "1"]);
    let session = Session::open_on(&server, json!({})).await;
    session.call("x = 1").await;
    let worker = server.workers()[0];
    // SAFETY: the worker is the server's own child; the signal takes no memory of ours.
    unsafe { libc::kill(worker.cast_signed(), libc::SIGKILL) };
    let answer = eventually_async("the loss is told", async || {
        let (status, answer) = session.try_call(json!({"code": "x"})).await;
        (status != 200).then_some(json!([status, answer["error"]["code"]]))
    })
    .await;
    assert!(answer == json!([410, "session_lost"]) || answer == json!([404, "session_not_found"]), "{answer}");
    assert_eq!(Session::open_on(&server, json!({})).await.value("2").await, 2);
}

#[tokio::test]
async fn commands_of_one_session_keep_no_run_waiting() {
    let server = Server::start(&["--workers", "1", "--slots", "4"]);
    let session = Session::open_on(&server, json!({})).await;
    // A dozen interpreters, four at a time. There are as many places for runs.
    let script = r#"!for i in {1..12}; do python3 -c "import time; time.sleep(2)" & done; wait; echo all"#;
    let commands = session.call(script);
    let run = async {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        server.execute(json!({"code": "print(1)"})).await
    };
    tokio::pin!(commands);
    tokio::select! {
        answer = run => assert_eq!(answer["stdout"], "1\n", "{answer}"),
        answer = &mut commands => panic!("the run waited for all commands: {answer}"),
    }
    assert_eq!(commands.await["stdout"], "all\n");
}

#[tokio::test]
async fn interpreters_of_commands_cost_fuel_and_share_a_limit() {
    let session = Session::open().await;
    let work = r#"python3 -c "for _ in range(1_000_000): pass""#;
    let little = session.call("1").await["fuel_used"].as_u64().expect("a number");
    let much = session.call(&format!("!{work}")).await["fuel_used"].as_u64().expect("a number");
    assert!(much > little + 10_000_000, "{little}, then {much}");
    // The second has what the first left.
    let code = format!("!{work} && {work}; echo $?");
    let answer = session.call_with(json!({"code": code, "limits": {"fuel": much + much / 2}})).await;
    assert_eq!(answer["stdout"].as_str().map(str::trim), Some("124"), "{answer}");
}
