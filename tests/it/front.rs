//! Memory of the front process: neither large bodies nor answers that nobody reads take more than there is for them,
//! and the neighbours notice nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::control_plane::KEY;
use crate::harness::{Server, assert_shows, http};
use crate::process::{eventually_async, peak_bytes, resident_bytes};
use crate::sessions::Session;

/// Longest silence of `/healthz`. Parsed where everybody is served, one of the bodies below stopped it for 10 seconds.
const SILENCE: Duration = Duration::from_secs(3);

/// JSON with so many values, and a few more.
fn many_values(count: usize) -> Vec<u8> {
    let cases = format!(r#"{{"args":[{}1],"expected":1}}"#, "1,".repeat(count - 1));
    let tests = format!(r#"{{"kind":"function_cases","entry_point":"f","cases":[{cases}]}}"#);
    format!(r#"{{"code":"1","tests":{tests}}}"#).into_bytes()
}

/// Does something, and returns the longest silence of `/healthz` meanwhile.
async fn longest_silence<T>(server: &Server, work: impl Future<Output = T>) -> (T, Duration) {
    let over = AtomicBool::new(false);
    let look = async {
        let client = http();
        let mut longest = Duration::ZERO;
        while !over.load(Ordering::Relaxed) {
            let asked = Instant::now();
            let answer = client.get(format!("{}/healthz", server.url)).send().await.expect("the server answers");
            assert_eq!(answer.status(), 200);
            longest = longest.max(asked.elapsed());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        longest
    };
    let work = async {
        let done = work.await;
        over.store(true, Ordering::Relaxed);
        done
    };
    tokio::join!(work, look)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_with_too_many_values_costs_little_and_keeps_nobody_waiting() {
    let server = Server::start(&["--workers", "2"]);
    let session = Session::open_on(&server, json!({})).await;
    session.call("x = 41").await;
    let before = peak_bytes(server.pid());
    let send = || server.post_bytes("/v1/execute", many_values(15_000_000));
    let three = async { tokio::join!(send(), send(), send()) };
    let ((one, two, three), silence) = longest_silence(&server, three).await;
    for (status, answer) in [one, two, three] {
        assert_eq!((status, &answer["error"]["code"]), (413, &json!("too_many_values")), "{answer}");
    }
    assert!(silence < SILENCE, "{silence:?}");
    let grown = peak_bytes(server.pid()).saturating_sub(before);
    // Two and three quarter gigabytes when they were parsed.
    assert!(grown < 512 << 20, "{} MiB", grown >> 20);
    assert_eq!(server.metric("proofbox_worker_restarts_total").await, 0.0);
    assert_eq!(session.value("x").await, 41);
    assert_shows(&server.execute(json!({"code": "print(1)"})).await, json!({"stdout": "1\n"}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_values_as_there_may_be_keep_nobody_waiting() {
    let server = Server::start(&["--workers", "1"]);
    let before = peak_bytes(server.pid());
    // The last thing that is looked at: all of it was parsed then.
    let body = String::from_utf8(many_values(999_900)).expect("ASCII").replace("\"code\":\"1\",", "");
    let send = || server.post_bytes("/v1/execute", body.clone().into_bytes());
    let all = futures_util::future::join_all((0..3).map(|_| send()));
    let (answers, silence) = longest_silence(&server, all).await;
    for (status, answer) in answers {
        assert_shows(&json!([status, answer]), json!([400, {"error": {"code": "malformed_request", "field": "code"}}]));
    }
    assert!(silence < SILENCE, "{silence:?}");
    let grown = peak_bytes(server.pid()).saturating_sub(before);
    assert!(grown < 640 << 20, "{} MiB", grown >> 20);
}

#[tokio::test]
async fn no_route_parses_too_many_values() {
    let server = Server::shared();
    let list = format!("[{}1]", "1,".repeat(1_000_000));
    let object = format!("{{\"x\":{list}}}");
    let items = format!("{{\"items\":[{{\"id\":\"a\",\"code\":\"1\",\"x\":{list}}}]}}");
    for (path, body) in [
        ("/v1/execute", &object),
        ("/v1/scan", &object),
        ("/v1/suites", &items),
        ("/v1/suites?async=true", &items),
        ("/v1/jobs", &object),
        ("/v1/sessions", &object),
    ] {
        let (status, answer) = server.post_bytes(path, body.clone().into_bytes()).await;
        assert_eq!((status, &answer["error"]["code"]), (413, &json!("too_many_values")), "{path}: {answer}");
    }
    let send = async |path: &str, kind: &str, key: Option<&str>, body: String| {
        let mut request = http().post(format!("{}{path}", server.url)).header("content-type", kind);
        if let Some(key) = key {
            request = request.header("x-api-key", key);
        }
        request.body(body).send().await.expect("the server answers").status().as_u16()
    };
    // Spread over lines that have few each.
    let line = format!("{{\"id\":\"a\",\"code\":\"1\",\"x\":[{}1]}}\n", "1,".repeat(999));
    assert_eq!(send("/v1/suites", "application/x-ndjson", None, line.repeat(1000)).await, 413);
    let key = Some(KEY);
    assert_eq!(send("/v2/sandboxes", "application/json", key, object).await, 413);
}

#[tokio::test]
async fn defaults_are_copied_only_so_often() {
    let items: Vec<Value> = (0..100).map(|number| json!({"id": number.to_string(), "code": "1"})).collect();
    let tests =
        json!({"kind": "function_cases", "entry_point": "f", "cases": [{"args": vec![1; 30_000], "expected": 1}]});
    let request = json!({"defaults": {"tests": tests}, "items": items});
    let (status, answer) = Server::shared().post("/v1/suites", &request).await;
    assert_shows(
        &json!([status, answer]),
        json!([413, {"error": {"code": "too_large", "field": "defaults", "allowed": 2_000_000}}]),
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_wait_hold_only_so_much() {
    let server = Server::start(&["--workers", "1", "--slots", "2", "--queue", "64", "--queue-seconds", "60"]);
    let before = peak_bytes(server.pid());
    let slow = json!({"code": "import time\ntime.sleep(9)", "limits": {"wall_seconds": 30}});
    let slow = || server.execute(slow.clone());
    let content = "x".repeat(28 << 20);
    let body = Bytes::from(json!({"code": "print(1)", "files": {"large": content}}).to_string());
    let large = async || {
        let client = http();
        let request = client.post(format!("{}/v1/execute", server.url)).header("content-type", "application/json");
        let response = request.body(body.clone()).send().await.expect("the server answers");
        let retry = response.headers().contains_key("retry-after");
        (response.status().as_u16(), retry, response.json::<Value>().await.expect("JSON"))
    };
    let larges = async {
        // All places are taken: whatever is taken on waits.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let all = futures_util::future::join_all((0..24).map(|_| large()));
        longest_silence(&server, all).await
    };
    let (_, _, (answers, silence)) = tokio::join!(slow(), slow(), larges);
    let (mut served, mut refused) = (0, 0);
    for (status, retry, answer) in answers {
        match status {
            200 => served += 1,
            // The queue may be too long, too.
            429 => {}
            _ => {
                assert_shows(&json!([status, retry, answer]), json!([503, true, {"error": {"code": "memory_full"}}]));
                refused += 1;
            }
        }
    }
    assert!(served > 0 && refused > 0, "{served} served, {refused} refused");
    assert!(silence < SILENCE, "{silence:?}");
    let grown = peak_bytes(server.pid()).saturating_sub(before);
    assert!(grown < 768 << 20, "{} MiB", grown >> 20);
    // All was given back.
    assert_eq!(large().await.0, 200);
}

/// Renames a file as fast as it can, for some seconds.
fn renames(seconds: u32) -> Value {
    let code = format!(
        "import os, time\nos.makedirs('seen', exist_ok=True)\nopen('seen/a', 'w').close()\nend = time.time() + {seconds}\n\
        while time.time() < end:\n    for _ in range(1000):\n        os.rename('seen/a', 'seen/b')\n        os.rename('seen/b', 'seen/a')"
    );
    json!({"code": code, "limits": {"wall_seconds": 60, "fuel": 5_000_000_000_000_u64}})
}

/// A stream that is open, and not read.
async fn unread(server: &Server, request: String) -> TcpStream {
    let mut socket = TcpStream::connect(server.url.trim_start_matches("http://")).await.expect("it listens");
    socket.write_all(request.as_bytes()).await.expect("it reads");
    let mut head = vec![0; 12];
    socket.read_exact(&mut head).await.expect("it answers");
    assert_eq!(head, b"HTTP/1.1 200");
    socket
}

/// Reads until this has come.
async fn read_until(socket: &mut TcpStream, wanted: &str) -> String {
    let mut text = String::new();
    let read = async {
        let mut buffer = vec![0; 64 << 10];
        let mut looked_at = 0;
        while !text[text.floor_char_boundary(looked_at)..].contains(wanted) {
            looked_at = text.len().saturating_sub(wanted.len());
            let length = socket.read(&mut buffer).await.expect("it goes on");
            assert_ne!(length, 0, "it ended without {wanted}: {}", &text[text.floor_char_boundary(looked_at)..]);
            text.push_str(&String::from_utf8_lossy(&buffer[..length]));
        }
    };
    tokio::time::timeout(Duration::from_secs(60), read).await.expect("in time");
    text
}

#[tokio::test]
async fn a_watch_that_is_not_read_does_not_grow_and_its_reader_hears_of_that() {
    let server = Server::start(&["--workers", "1"]);
    let session = Session::open_on(&server, json!({})).await;
    session.post("/files", json!({"make_directory": "seen"})).await;
    let path = session.path("/files?watch&path=seen");
    let mut watch = unread(&server, format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).await;
    let neighbour = Session::open_on(&server, json!({})).await;
    neighbour.call("1").await;
    // What the connection takes, and a first batch.
    session.call_with(renames(1)).await;
    let before = server.resident_bytes();
    let (answer, ()) = tokio::join!(session.call_with(renames(6)), async {
        for _ in 0..5 {
            assert_eq!(neighbour.value("40 + 2").await, 42);
        }
    });
    assert_eq!(answer["stderr_class"], "none", "{answer}");
    // 60 MiB a second, when all of it was kept.
    let after = server.resident_bytes();
    assert!(after < before + (48 << 20), "{} MiB before, {} MiB after", before >> 20, after >> 20);
    let told = read_until(&mut watch, r#""type":"overflow""#).await;
    assert!(told.contains(r#"{"type":"rename","path":"a"}"#), "what came before is told");
    // Until all of it is told, there is no room for more.
    read_until(&mut watch, r#""type":"keepalive""#).await;
    session.request("PUT", "/files/seen/later", "x").await;
    read_until(&mut watch, r#""path":"later""#).await;
}

#[tokio::test]
async fn a_watch_that_is_read_misses_nothing() {
    let session = Session::open().await;
    session.post("/files", json!({"make_directory": "seen"})).await;
    let path = session.path("/files?watch&path=seen");
    let mut watch = unread(session.server, format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).await;
    // More than goes in one piece, less than the tree keeps.
    session.call("for number in range(1000): open(f'seen/{number}', 'w').close()").await;
    let told = read_until(&mut watch, r#""path":"999""#).await;
    for number in 0..1000 {
        assert!(told.contains(&format!(r#"{{"type":"create","path":"{number}"}}"#)), "{number}");
    }
    assert!(!told.contains("overflow"));
}

#[tokio::test]
async fn downloads_that_are_not_read_take_little_memory_and_come_whole_when_they_are() {
    const MIB: usize = 30;
    let server = Server::start(&["--workers", "1"]);
    let session = Session::open_on(&server, json!({})).await;
    session
        .call(&format!(
            "with open('large', 'wb') as file:\n    for n in range({MIB}): file.write(bytes([n]) * (1 << 20))"
        ))
        .await;
    let request =
        format!("GET {} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n", session.path("/files/large"));
    let before = peak_bytes(server.pid());
    let mut downloads = Vec::new();
    for _ in 0..8 {
        downloads.push(unread(&server, request.clone()).await);
    }
    assert_eq!(session.value("40 + 2").await, 42);
    let grown = peak_bytes(server.pid()).saturating_sub(before);
    assert!(grown < 64 << 20, "{} MiB", grown >> 20);
    let mut answer = Vec::new();
    downloads[0].read_to_end(&mut answer).await.expect("it goes on");
    let body = answer.len() - (MIB << 20);
    assert!(answer[..body].ends_with(b"\r\n\r\n"));
    assert!(answer[body..].chunks(1 << 20).zip(0..).all(|(chunk, n)| chunk.iter().all(|byte| *byte == n)));
}

#[tokio::test]
async fn another_file_or_a_shorter_one_breaks_a_download_off_and_a_longer_one_does_not() {
    let session = Session::open().await;
    for (change, is_whole) in [
        ("open('large', 'wb').write(b'short')", false),
        ("import os; open('new', 'wb').write(bytes(20 << 20)); os.replace('new', 'large')", false),
        ("import os; os.remove('large')", false),
        ("open('large', 'ab').write(b'more')", true),
    ] {
        session.call("open('large', 'wb').write(bytes(20 << 20))").await;
        let request =
            format!("GET {} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n", session.path("/files/large"));
        let mut download = unread(session.server, request).await;
        session.call(change).await;
        let mut answer = Vec::new();
        // The connection ends before what was announced has come, with an error or without.
        let _ = download.read_to_end(&mut answer).await;
        assert_eq!(answer.len() > 20 << 20, is_whole, "{} bytes after {change}", answer.len());
    }
}

#[tokio::test]
async fn output_that_is_not_read_is_left_out_beyond_what_there_is_memory_for() {
    let server = Server::start(&["--workers", "1"]);
    let session = Session::open_on(&server, json!({})).await;
    let before = resident_bytes(server.pid());
    // Pieces that can't be joined: each takes a hundred times its length.
    let code = "import sys\nfor _ in range(700_000):\n    print('o')\n    print('e', file=sys.stderr)";
    let limits = json!({"wall_seconds": 60, "fuel": 5_000_000_000_000_u64, "output_bytes": 4 << 20});
    let body = json!({"code": code, "limits": limits}).to_string();
    let request = format!(
        "POST {} HTTP/1.1\r\nhost: localhost\r\naccept: application/x-ndjson\r\ncontent-type: application/json\r\n\
        content-length: {}\r\n\r\n{body}",
        session.path("/execute"),
        body.len()
    );
    let mut stream = unread(&server, request).await;
    // Shorter than a client may be silent.
    tokio::time::sleep(Duration::from_secs(15)).await;
    let grown = resident_bytes(server.pid()).saturating_sub(before);
    assert!(grown < 384 << 20, "{} MiB", grown >> 20);
    let told = read_until(&mut stream, r#""type":"end""#).await;
    // On a machine that is slow enough all of it is told: as it came, and once more in the end.
    let all_of_it = told.matches(r"o\n").count() >= 2 * 700_000;
    assert!(told.contains(r#""type":"overflow""#) || all_of_it, "something is missing, and nobody says so");
}

/// A sandbox of E2B's flavour, and a request of its own.
async fn sandbox(server: &Server) -> (String, String) {
    let request = http().post(format!("{}/v2/sandboxes", server.url));
    let request = request.header("x-api-key", KEY);
    let made = request.json(&json!({"templateID": "base", "timeout": 120})).send().await.expect("the server answers");
    let made: Value = made.json().await.expect("JSON");
    let text = |field: &str| made[field].as_str().expect("it is there").to_owned();
    (text("sandboxID"), text("envdAccessToken"))
}

#[tokio::test]
async fn watches_of_the_e2b_flavour_fail_where_something_was_missed() {
    let server = Server::start(&["--workers", "1"]);
    let (id, token) = sandbox(&server).await;
    let own = |path: &str| {
        let request = http().request(Method::POST, format!("{}{path}", server.url));
        request.header("e2b-sandbox-id", &id).header("x-access-token", &token)
    };
    let call = async |method: &str, message: Value| {
        let request = own(&format!("/filesystem.Filesystem/{method}")).json(&message);
        let response = request.send().await.expect("the server answers");
        (response.status().as_u16(), response.json::<Value>().await.expect("JSON"))
    };
    call("MakeDir", json!({"path": "seen"})).await;
    let (status, watcher) = call("CreateWatcher", json!({"path": "seen"})).await;
    assert_eq!(status, 200, "{watcher}");
    let message = json!({"path": "seen"}).to_string();
    let length = (message.len() as u32).to_be_bytes();
    let mut body = vec![0];
    body.extend_from_slice(&length);
    body.extend_from_slice(message.as_bytes());
    let stream = own("/filesystem.Filesystem/WatchDir").header("content-type", "application/connect+json").body(body);
    let stream = stream.send().await.expect("the server answers");
    let before = resident_bytes(server.pid());
    let rename = renames(3)["code"].as_str().expect("code").to_owned();
    let ran = own("/execute").json(&json!({"code": rename})).send().await.expect("the server answers");
    let ran = ran.text().await.expect("whole");
    assert!(ran.contains("end_of_execution") && !ran.contains("\"error\""), "{ran}");
    let grown = resident_bytes(server.pid()).saturating_sub(before);
    assert!(grown < 64 << 20, "{} MiB", grown >> 20);

    // The reader of the stream catches up, and its end says what is wrong.
    let told = stream.bytes().await.expect("it ends");
    let told = String::from_utf8_lossy(&told);
    assert!(told.ends_with(r#""}}"#) && told.contains(r#"{"error":{"code":"aborted""#), "it ends otherwise");

    // Who fetches hears it once that the events before it are fetched, and then of what is new.
    eventually_async("the watcher says that it has missed something", async || {
        let (status, answer) = call("GetWatcherEvents", watcher.clone()).await;
        (status == 409).then(|| assert_eq!(answer["code"], "aborted", "{answer}"))
    })
    .await;
    call("MakeDir", json!({"path": "seen/later"})).await;
    eventually_async("what is new is told", async || {
        let (status, answer) = call("GetWatcherEvents", watcher.clone()).await;
        let events = answer["events"].as_array().cloned().unwrap_or_default();
        (status == 200 && events.iter().any(|event| event["name"] == "later")).then_some(())
    })
    .await;
}
