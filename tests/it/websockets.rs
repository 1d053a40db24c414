//! WebSockets of OpenEnv and Piston: clients that go, quotas, and a service that goes down.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::TcpStream;

use crate::access::create;
use crate::harness::{Server, http};
use crate::process::{self, eventually_async};

const OPENENV: &str = "/openenv/ws";
const PISTON: &str = "/piston/api/v2/connect";

/// A client's end of a WebSocket (RFC 6455), as far as these tests need it.
struct Client(BufStream<TcpStream>);

/// Message of the service, or the code of its close frame.
#[derive(Debug, PartialEq)]
enum Heard {
    Message(Value),
    Close(u16),
    /// End of the connection without a close frame.
    End,
}

impl Client {
    async fn connect(server: &Server, path: &str, key: Option<&str>) -> Self {
        let host = server.url.strip_prefix("http://").expect("a URL");
        let mut stream = BufStream::new(TcpStream::connect(host).await.expect("it listens"));
        let key = key.map_or_else(String::new, |key| format!("X-API-Key: {key}\r\n"));
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{key}\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.expect("it reads");
        stream.flush().await.expect("it reads");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("an answer"));
        }
        assert!(head.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&head));
        Self(stream)
    }

    async fn say(&mut self, message: &Value) {
        let text = message.to_string();
        let length = u16::try_from(text.len()).expect("short");
        // A masked frame of text, whose mask changes nothing.
        let mut frame = vec![0x81];
        match length {
            0..126 => frame.push(0x80 | length.to_le_bytes()[0]),
            _ => frame.extend([&[0xfe], &length.to_be_bytes()[..]].concat()),
        }
        frame.extend([0; 4]);
        frame.extend(text.as_bytes());
        self.0.write_all(&frame).await.expect("it reads");
        self.0.flush().await.expect("it reads");
    }

    async fn frame(&mut self) -> std::io::Result<(u8, Vec<u8>)> {
        let (first, second) = (self.0.read_u8().await?, self.0.read_u8().await?);
        let length = match second {
            126 => usize::from(self.0.read_u16().await?),
            127 => usize::try_from(self.0.read_u64().await?).expect("short"),
            short => usize::from(short),
        };
        let mut content = vec![0; length];
        self.0.read_exact(&mut content).await?;
        Ok((first & 0xf, content))
    }

    async fn hear(&mut self) -> Heard {
        let heard = tokio::time::timeout(Duration::from_secs(30), async {
            loop {
                match self.frame().await {
                    Ok((1, text)) => return Heard::Message(serde_json::from_slice(&text).expect("JSON")),
                    Ok((8, content)) => return Heard::Close(u16::from_be_bytes([content[0], content[1]])),
                    Ok(_) => {}
                    Err(_) => return Heard::End,
                }
            }
        });
        heard.await.expect("it says something")
    }

    async fn ask(&mut self, message: &Value) -> Value {
        self.say(message).await;
        match self.hear().await {
            Heard::Message(message) => message,
            other => panic!("no message: {other:?}"),
        }
    }
}

fn step(code: &str) -> Value {
    json!({"type": "step", "data": {"code": code}})
}

fn program(code: &str) -> Value {
    json!({"type": "init", "language": "python", "version": "*", "files": [{"content": code}], "run_timeout": 20_000})
}

async fn sessions(server: &Server) -> usize {
    let (_, list) = server.get("/v1/sessions").await;
    let list: Value = serde_json::from_str(&list).expect("JSON");
    list["sessions"].as_array().expect("a list").len()
}

#[tokio::test]
async fn no_session_is_left_of_clients_that_go_while_it_is_opened() {
    let server = Server::start(&["--workers", "1"]);
    for _ in 0..10 {
        let mut client = Client::connect(&server, OPENENV, None).await;
        client.say(&step("import time; time.sleep(60)")).await;
        drop(client);
        let mut client = Client::connect(&server, PISTON, None).await;
        client.say(&program("import time; time.sleep(60)")).await;
        drop(client);
    }
    for milliseconds in 1..30 {
        let script = json!({"generated_code": "sleep 60", "language": "shell", "timeout": 100});
        let request = http().post(format!("{}/nemo-skills/execute", server.url)).json(&script);
        let gone = request.timeout(Duration::from_millis(milliseconds)).send().await;
        assert!(gone.is_err(), "it runs for longer");
        // A session with a name is for whoever knows it; one that nobody could know is none.
        let cell = json!({"generated_code": "1", "language": "ipython", "timeout": 100});
        let request = http().post(format!("{}/nemo-skills/execute", server.url)).json(&cell);
        let request = request.header("X-Session-ID", milliseconds.to_string());
        drop(request.timeout(Duration::from_millis(milliseconds)).send().await);
    }
    let names = async || {
        let (_, list) = server.get("/nemo-skills/sessions").await;
        let list: Value = serde_json::from_str(&list).expect("JSON");
        list["sessions"].as_object().expect("an object").len()
    };
    tokio::time::sleep(Duration::from_secs(2)).await;
    eventually_async("the sessions end", async || (sessions(&server).await == names().await).then_some(())).await;
    assert!(server.metric("proofbox_sessions_opened_total").await > 10.0);
}

#[tokio::test]
async fn messages_to_an_environment_are_requests_of_its_key() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let key = create(data.path(), &["trainer", "--requests-per-minute", "4"]);
    let server = Server::start_with(&["--workers", "1"], |command| {
        command.args(["--keyless", "never"]).env("PROOFBOX_DATA_DIR", data.path());
    });
    let mut client = Client::connect(&server, OPENENV, Some(&key)).await;
    for message in [json!({"type": "reset", "data": {}}), step("6 * 7"), json!({"type": "state"})] {
        let answer = client.ask(&message).await;
        assert_ne!(answer["type"], "error", "{answer}");
    }
    let refused = client.ask(&step("6 * 7")).await;
    assert_eq!(
        (&refused["type"], &refused["data"]["code"]),
        (&json!("error"), &json!("CAPACITY_REACHED")),
        "{refused}"
    );
    assert_eq!(server.metric("proofbox_executions_total").await, 0.0);
    client.say(&json!({"type": "close"})).await;
    assert_eq!(client.hear().await, Heard::Close(1000));
}

#[tokio::test]
async fn a_service_that_goes_down_lets_a_step_end_and_says_goodbye() {
    let server = Server::start_with(&["--workers", "1"], |command| {
        command.args(["--drain-seconds", "20"]);
    });
    let mut idle = Client::connect(&server, OPENENV, None).await;
    assert_eq!(idle.ask(&step("1")).await["type"], "observation");
    let (mut busy, mut piston) =
        (Client::connect(&server, OPENENV, None).await, Client::connect(&server, PISTON, None).await);
    busy.say(&step("import time; time.sleep(4); print('done')")).await;
    piston.say(&program("import time; print('begun', flush=True); time.sleep(4); print('done')")).await;
    let mut told = Vec::new();
    while !told.iter().any(|message: &Value| message["data"] == "begun\n") {
        match piston.hear().await {
            Heard::Message(message) => told.push(message),
            other => panic!("no message: {other:?}"),
        }
    }
    let began = Instant::now();
    process::signal(server.pid(), libc::SIGTERM);
    assert_eq!(idle.hear().await, Heard::Close(1001));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    match busy.hear().await {
        Heard::Message(answer) => assert_eq!(answer["data"]["observation"]["stdout"], "done\n", "{answer}"),
        other => panic!("no message: {other:?}"),
    }
    assert_eq!(busy.hear().await, Heard::Close(1001));
    let mut rest = Vec::new();
    let end = loop {
        match piston.hear().await {
            Heard::Message(message) => rest.push(message),
            end => break end,
        }
    };
    assert!(rest.iter().any(|message| message["data"] == "done\n"), "{rest:?}");
    assert_eq!(end, Heard::Close(4999));
    assert!(server.ended().await.success());
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[tokio::test]
async fn what_does_not_end_in_the_drain_time_is_told_so() {
    let server = Server::start_with(&["--workers", "1"], |command| {
        command.args(["--drain-seconds", "3"]);
    });
    let (mut environment, mut piston) =
        (Client::connect(&server, OPENENV, None).await, Client::connect(&server, PISTON, None).await);
    environment.say(&step("while True: pass")).await;
    piston.say(&program("print('begun', flush=True)\nwhile True: pass")).await;
    loop {
        match piston.hear().await {
            Heard::Message(message) if message["data"] == "begun\n" => break,
            Heard::Message(_) => {}
            other => panic!("no message: {other:?}"),
        }
    }
    let began = Instant::now();
    process::signal(server.pid(), libc::SIGTERM);
    assert_eq!(environment.hear().await, Heard::Close(1001));
    assert!(began.elapsed() >= Duration::from_secs(1), "it may end meanwhile: {:?}", began.elapsed());
    assert_eq!(piston.hear().await, Heard::Close(1001));
    assert!(server.ended().await.success());
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}
