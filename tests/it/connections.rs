//! What a client may do with a connection: how slow it may be, and how many there may be.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::Server;
use crate::process::eventually_async;

/// Longer than a client may take of these servers, and shorter than anybody waits for nothing.
const LATE: Duration = Duration::from_secs(20);

fn impatient() -> Server {
    Server::start_with(&["--workers", "1"], |command| {
        command.args(["--client-seconds", "1"]);
    })
}

async fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(server.url.trim_start_matches("http://")).await.expect("the server listens")
}

fn request(head: &str, body: &str) -> String {
    format!(
        "POST /v1/execute HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{head}\r\n{body}",
        body.len()
    )
}

/// All that comes until the server closes.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(LATE, stream.read_to_end(&mut bytes)).await;
    // Reset is closed, too.
    let _ = read.expect("the server closes");
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn a_client_that_does_not_finish_its_request_is_given_up() {
    let server = impatient();
    let whole = request("", r#"{"code": "print(1)"}"#);
    let head_ends = whole.find("\r\n\r\n").expect("a head");
    for sent in [0, 10, head_ends, head_ends + 4, whole.len() - 1] {
        let mut stream = connect(&server).await;
        stream.write_all(&whole.as_bytes()[..sent]).await.expect("sent");
        let began = Instant::now();
        let said = rest(&mut stream).await;
        assert!(began.elapsed() >= Duration::from_millis(900), "{sent} bytes: {:?}", began.elapsed());
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 4"), "{sent} bytes: {said}");
    }
    assert_eq!(server.execute(json!({"code": "print(2)"})).await["stdout"], "2\n");
}

#[tokio::test]
async fn a_client_that_is_slow_but_not_silent_is_served() {
    let server = impatient();
    let mut stream = connect(&server).await;
    let whole = request("connection: close\r\n", r#"{"code": "print(12345)"}"#);
    let (head, body) = whole.split_at(whole.find("\r\n\r\n").expect("a head") + 4);
    stream.write_all(head.as_bytes()).await.expect("sent");
    for piece in body.as_bytes().chunks(6) {
        tokio::time::sleep(Duration::from_millis(400)).await;
        stream.write_all(piece).await.expect("sent");
    }
    assert!(rest(&mut stream).await.contains(r#""stdout":"12345\n""#));
}

#[tokio::test]
async fn a_client_that_does_not_take_its_answer_is_given_up() {
    let server = impatient();
    let (_, session) = server.post("/v1/sessions", &json!({})).await;
    let path = format!("/v1/sessions/{}/files/large", session["id"].as_str().expect("an id"));
    // More than the kernel holds for it.
    let url = format!("{}{path}", server.url);
    let written = crate::harness::http().put(url).body(vec![b'x'; 24 << 20]).send().await.expect("it answers");
    assert_eq!(written.status(), 201);
    let mut stream = connect(&server).await;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).await.expect("sent");
    let open = async |count: f64| (server.metric("proofbox_connections").await == count).then_some(());
    // Its own, and the one that asks for the metric.
    eventually_async("it is given up", || open(1.0)).await;
    drop(stream);
}

#[tokio::test]
async fn more_connections_than_there_may_be_wait() {
    let server = Server::start_with(&["--workers", "1"], |command| {
        command.args(["--connections", "2"]);
    });
    let (mut first, second) = (connect(&server).await, connect(&server).await);
    let whole = request("connection: close\r\n", r#"{"code": "print(1)"}"#);
    first.write_all(&whole.as_bytes()[..20]).await.expect("sent");
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut third = connect(&server).await;
    third.write_all(whole.as_bytes()).await.expect("sent");
    let mut byte = [0];
    let early = tokio::time::timeout(Duration::from_millis(500), third.read(&mut byte)).await;
    assert!(early.is_err(), "it was served beside the two");
    drop(second);
    assert!(rest(&mut third).await.contains(r#""stdout":"1\n""#));
    drop(first);
}

#[tokio::test]
async fn a_head_is_bounded() {
    let server = impatient();
    let mut stream = connect(&server).await;
    let long = format!("x-long: {}\r\n", "y".repeat(1_000_000));
    let sent = stream.write_all(request(&long, "{}").as_bytes()).await;
    let said = rest(&mut stream).await;
    assert!(sent.is_err() || said.starts_with("HTTP/1.1 431"), "{said}");
    let _: Value = server.execute(json!({"code": "1"})).await;
}
