//! Bodies too large and HTTP that is none, over plain sockets.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{Server, assert_shows};

/// What the server answers to these bytes within a few seconds, until it closes or says no more.
async fn answer_to(server: &Server, bytes: &[u8]) -> String {
    let address = server.url.strip_prefix("http://").expect("a URL");
    let mut socket = TcpStream::connect(address).await.expect("it listens");
    // The server may have seen enough before it has read all.
    let _ = socket.write_all(bytes).await;
    let mut answer = Vec::new();
    let read = async {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = socket.read(&mut buffer).await {
            answer.extend_from_slice(&buffer[..length]);
            // Our answers are short: once there is a whole one nothing more is waited for.
            if answer.ends_with(b"}") {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(5), read).await;
    String::from_utf8_lossy(&answer).into_owned()
}

fn post(headers: &str, body: &str) -> Vec<u8> {
    format!("POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}\r\n{body}")
        .into_bytes()
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused() {
    let server = Server::start_with(&["--workers", "1"], |command| {
        command.args(["--body-bytes", "10000"]);
    });
    let body = |length: usize| format!("{{\"code\": \"{}\"}}", "#".repeat(length - 12));
    let (status, answer) = server.post_bytes("/v1/execute", body(10_001).into_bytes()).await;
    assert_shows(&answer, json!({"error": {"code": "body_too_large"}}));
    assert_eq!((status, server.post_bytes("/v1/execute", body(10_000).into_bytes()).await.0), (413, 200));
    let chunks = format!("{:x}\r\n{}\r\n0\r\n\r\n", 20_000, body(20_000));
    let chunked = answer_to(&server, &post("Transfer-Encoding: chunked\r\n", &chunks)).await;
    assert!(chunked.starts_with("HTTP/1.1 413"), "{chunked}");
}

#[tokio::test]
async fn a_body_that_says_it_is_too_large_is_not_waited_for() {
    let answer = answer_to(Server::shared(), &post("Content-Length: 10000000000\r\n", "{\"code\": \"")).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer:?}");
}

#[tokio::test]
async fn a_client_that_sends_far_too_much_hears_why() {
    let body = format!("{{\"code\": \"{}\"}}", "#".repeat(64 << 20));
    let (status, answer) = Server::shared().post_bytes("/v1/execute", body.into_bytes()).await;
    assert_eq!((status, &answer["error"]["code"]), (413, &json!("body_too_large")));
}

#[tokio::test]
async fn what_is_not_http_is_refused_and_harms_nobody() {
    let long = "a".repeat(1 << 20);
    let requests: Vec<Vec<u8>> = vec![
        b"nonsense\r\n\r\n".to_vec(),
        b"\0\0\0\0\0\0\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 TLS".to_vec(),
        b"GET / HTTP/9.9\r\n\r\n".to_vec(),
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n").into_bytes(),
        format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n").into_bytes(),
        format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(10_000)).into_bytes(),
        b"GET / HTTP/1.1\r\nHost: localhost\r\nBad Header\r\n\r\n".to_vec(),
        post("Content-Length: -5\r\n", "{}"),
        post("Content-Length: 5\r\nContent-Length: 6\r\n", "{}    "),
        post("Transfer-Encoding: chunked\r\n", "zz\r\n{}\r\n0\r\n\r\n"),
        post("Transfer-Encoding: chunked\r\n", "ffffffffffffffffff\r\n{}"),
    ];
    for bytes in requests {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
        let answer = answer_to(Server::shared(), &bytes).await;
        let refused = answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.0 4");
        // Nothing at all is what a client gets that does not speak HTTP.
        assert!(refused || answer.is_empty(), "{shown:?}: {answer}");
    }
    let after = Server::shared().execute(json!({"code": "print(1)"})).await;
    assert_shows(&after, json!({"stdout": "1\n"}));
}

#[tokio::test]
async fn a_connection_takes_one_request_after_the_other() {
    let body = json!({"code": "print(1)"}).to_string();
    let one = post(&format!("Content-Length: {}\r\n", body.len()), &body);
    let address = Server::shared().url.strip_prefix("http://").expect("a URL");
    let mut socket = TcpStream::connect(address).await.expect("it listens");
    // Both at once: the second is not lost while the first runs.
    socket.write_all(&[one.clone(), one].concat()).await.expect("it reads");
    let mut answers = String::new();
    while answers.matches("\"stdout\":\"1\\n\"").count() < 2 {
        let mut buffer = [0; 4096];
        let length = tokio::time::timeout(Duration::from_secs(30), socket.read(&mut buffer))
            .await
            .expect("in time")
            .expect("it answers");
        assert_ne!(length, 0, "closed after {answers}");
        answers.push_str(&String::from_utf8_lossy(&buffer[..length]));
    }
    let _: Value = serde_json::from_str(answers.rsplit("\r\n\r\n").next().expect("a body")).expect("JSON");
}
