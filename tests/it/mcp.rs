//! The Model Context Protocol: its clients as people have them, unmodified; and what they do not do.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio as Pipe};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::access::{create, known, send};
use crate::clients::{TURN, node_packages};
use crate::harness::{Server, assert_shows, http, proofbox};
use crate::process::eventually_async;
use crate::tools::{installed, packages, root, succeed};

const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");

/// Points a client at a server, and at the binary that it may start.
fn ways(command: &mut Command, server: &Server) {
    command.env("PROOFBOX_URL", &server.url).env("PROOFBOX_BINARY", env!("CARGO_BIN_EXE_proofbox"));
}

/// Runs a program of pytest in `tests/mcp`.
fn passes(name: &str) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let suites = root().join("tests/mcp");
    let site = packages("mcp", "python3", &suites.join("requirements.txt"), &[]);
    let server = Server::start(&[]);
    let mut command = Command::new("python3");
    command.arg("-B").arg(suites.join(name)).env("PYTHONPATH", site);
    ways(&mut command, &server);
    let said = succeed(name, &mut command);
    assert!(said.contains(" passed"), "{said}");
}

#[test]
fn agents_of_the_python_sdk_and_fastmcp_solve_their_tasks() {
    passes("agent_suite.py");
}

#[test]
fn clients_of_the_python_sdk_and_fastmcp_take_long_calls_as_tasks() {
    passes("task_suite.py");
}

#[test]
fn agents_of_the_typescript_sdk_solve_their_tasks() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let source = root().join("tests/mcp");
    let files = ["package.json", "package-lock.json"];
    let content: Vec<u8> =
        files.iter().flat_map(|file| std::fs::read(source.join(file)).expect("it is there")).collect();
    let place = installed("mcp-js", &content, |place| {
        for file in files {
            std::fs::copy(source.join(file), place.join(file)).expect("the cache directory can be written");
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]).current_dir(place);
        succeed("installing MCP's TypeScript SDK (needs Node.js 20 and npm)", &mut npm);
    });
    std::fs::copy(source.join("agent.mjs"), place.join("agent.mjs")).expect("the cache directory can be written");
    let server = Server::start(&[]);
    let mut command = Command::new("node");
    command.arg(place.join("agent.mjs"));
    ways(&mut command, &server);
    let said = succeed("the agent in JavaScript", &mut command);
    assert!(said.contains("all passed"), "{said}");
}

#[test]
fn the_official_conformance_suite_passes_where_the_reference_says_so() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Server::start(&[]);
    let mut command = Command::new("python3");
    command.arg("-B").arg(root().join("tests/mcp/conformance.py"));
    command.env("NODE_PACKAGES", node_packages("node22", &root().join("tests/node22")));
    command.env("PROOFBOX_URL", &server.url);
    let said = succeed("MCP's conformance suite", &mut command);
    assert!(said.contains(" passed, 0 failed"), "{said}");
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn tool(id: u64, name: &str, arguments: Value) -> Value {
    request(id, "tools/call", json!({"name": name, "arguments": arguments}))
}

/// First message of clients of 2025-11-25.
fn hello() -> Value {
    let client = json!({"name": "a", "version": "1"});
    request(1, "initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}))
}

/// Sends a message as clients of 2025-11-25 do; status, and the answer if there is one.
async fn post(server: &Server, headers: &[(&str, &str)], message: Value) -> (u16, Value) {
    let mut all = vec![ACCEPT, ("mcp-protocol-version", "2025-11-25")];
    all.extend_from_slice(headers);
    let (status, _, body) = send(server, "POST", "/mcp", &all, message).await;
    let answer = body.as_str().and_then(|events| {
        let data = events.lines().filter_map(|line| line.strip_prefix("data:"));
        data.filter_map(|data| serde_json::from_str(data.trim()).ok()).next_back()
    });
    (status, answer.unwrap_or(body))
}

/// A service that two keys may use, its data directory, and the keys as headers.
async fn with_two_keys() -> (tempfile::TempDir, Server, [String; 2]) {
    let data = tempfile::tempdir().expect("a temporary directory");
    let server = Server::start_with(&["--workers", "1"], |command| {
        command.args(["--keyless", "never"]).env("PROOFBOX_DATA_DIR", data.path());
    });
    let (one, other) = (create(data.path(), &["one"]), create(data.path(), &["other"]));
    known(&server, &other).await;
    (data, server, [one, other].map(|key| format!("Bearer {key}")))
}

#[tokio::test]
async fn what_a_key_opens_is_its_own() {
    let (_data, server, [one, other]) = with_two_keys().await;
    assert_eq!(post(&server, &[], tool(1, "open_session", json!({}))).await.0, 401);
    let (_, opened) = post(&server, &[("authorization", &one)], tool(1, "open_session", json!({}))).await;
    let session = opened["result"]["structuredContent"]["session"].as_str().expect("it is open").to_owned();
    for (name, arguments) in [
        ("run_python", json!({"session": session, "code": "1"})),
        ("run_command", json!({"session": session, "command": "ls"})),
        ("run_tests", json!({"session": session, "tests": "def test(): pass"})),
        ("fork_session", json!({"session": session})),
        ("checkpoint_session", json!({"session": session})),
        ("close_session", json!({"session": session})),
        ("list_files", json!({"session": session})),
        ("read_file", json!({"session": session, "path": "a"})),
        ("write_file", json!({"session": session, "path": "a", "text": ""})),
    ] {
        let (status, answer) = post(&server, &[("authorization", &other)], tool(2, name, arguments)).await;
        assert_eq!((status, &answer["result"]["isError"]), (200, &json!(true)), "{name}: {answer}");
        let said = answer["result"]["content"][0]["text"].as_str().expect("a sentence");
        assert!(said.starts_with("there is no such session"), "{name}: {said}");
    }
    let uri = json!({"uri": format!("proofbox://sessions/{session}/files/a")});
    let (_, read) = post(&server, &[("authorization", &other)], request(3, "resources/read", uri)).await;
    assert!(read["error"]["message"].as_str().expect("an error").starts_with("there is no such session"), "{read}");
    let (_, ran) =
        post(&server, &[("authorization", &one)], tool(4, "run_python", json!({"session": session, "code": "1 + 1"})))
            .await;
    assert_shows(&ran, json!({"result": {"structuredContent": {"result": "2"}}}));
}

#[tokio::test]
async fn pages_of_other_sites_are_refused() {
    let server = Server::shared();
    let list = || request(1, "tools/list", json!({}));
    for headers in [[("origin", "https://example.com")], [("host", "evil.example")]] {
        let (status, error) = post(server, &headers, list()).await;
        assert_eq!((status, &error["error"]["code"]), (403, &json!("other_site")), "{headers:?}");
    }
    for headers in [[("origin", "http://localhost:3000")], [("host", "localhost")]] {
        assert_eq!(post(server, &headers, list()).await.0, 200, "{headers:?}");
    }
}

#[tokio::test]
async fn messages_that_are_none_are_refused_and_bounded() {
    let server = Server::shared();
    for method in ["GET", "DELETE", "PUT"] {
        assert_eq!(send(server, method, "/mcp", &[ACCEPT], Value::Null).await.0, 405, "{method}");
    }
    for wrong in [json!(7), json!([]), json!({}), json!({"jsonrpc": "2.0", "id": 1, "method": 3})] {
        let (status, _) = post(server, &[], wrong.clone()).await;
        assert!((400..=422).contains(&status), "{wrong}: {status}");
    }
    let (status, answer) = post(server, &[], tool(1, "format_disk", json!({}))).await;
    assert_eq!((status, &answer["error"]["code"]), (200, &json!(-32602)), "{answer}");
    let large = json!({"code": "x".repeat(33 << 20)});
    assert_eq!(post(server, &[], tool(1, "run_python", large)).await.0, 413);
    let many = json!({"code": "1", "more": vec![0; 2_000_000]});
    assert_eq!(post(server, &[], tool(1, "run_python", many)).await.0, 413);
    // Parsed apart, and answered as one that is small.
    let long = json!({"code": format!("{}\n6 * 7", "# x".repeat(100_000))});
    let (_, answer) = post(server, &[], tool(1, "run_python", long)).await;
    assert_shows(&answer, json!({"result": {"structuredContent": {"result": "42"}}}));
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"x","arguments":{{"a":{deep}}}}}}}"#
    );
    let request = http().post(format!("{}/mcp", server.url)).header(ACCEPT.0, ACCEPT.1);
    let response = request.header("content-type", "application/json").body(deep).send().await.expect("an answer");
    assert!(response.status().is_client_error(), "{}", response.status());
}

#[tokio::test]
async fn bodies_that_are_no_messages_are_told_apart() {
    let server = Server::shared();
    let post = async |content_type: &str, accept: &str, body: &'static str| {
        let request = http().post(format!("{}/mcp", server.url)).header("accept", accept);
        let response = request.header("content-type", content_type).body(body).send().await.expect("an answer");
        let status = response.status().as_u16();
        let body = response.text().await.expect("whole");
        (status, serde_json::from_str::<Value>(&body).unwrap_or_default())
    };
    for (body, code) in [
        ("{\"jsonrpc\": \"2.0\", \"id\": 1", -32700),
        ("", -32700),
        ("\u{feff}{}", -32700),
        ("\"LOUD", -32700),
        ("7", -32600),
        ("[]", -32600),
        ("{\"jsonrpc\": \"1.0\", \"id\": 1, \"method\": \"ping\"}", -32600),
    ] {
        for content_type in ["application/json", "Application/JSON; charset=utf-8"] {
            let (status, answer) = post(content_type, ACCEPT.1, body).await;
            assert_eq!(status, 400, "{body}: {answer}");
            assert_shows(&answer, json!({"jsonrpc": "2.0", "id": null, "error": {"code": code}}));
            assert!(!answer.to_string().contains("LOUD"), "{answer}");
        }
    }
    assert_eq!(post("text/plain", ACCEPT.1, "{").await.0, 415);
    assert_eq!(post("application/json", "text/html", "{").await.0, 406);
}

#[tokio::test]
async fn files_of_own_sessions_are_listed_page_by_page() {
    let (_data, server, [one, other]) = with_two_keys().await;
    let ask =
        async |key: &str, message: Value| post(&server, &[("authorization", key)], message).await.1["result"].clone();
    let open = async || {
        let opened = ask(&one, tool(1, "open_session", json!({}))).await;
        opened["structuredContent"]["session"].as_str().expect("it is open").to_owned()
    };
    let sessions = [open().await, open().await, open().await];
    let make = "import os\nos.makedirs('d/e')\nfor n in range(130):\n    open(f'd/{n:03} ?.txt', 'w').write('x' * n)";
    ask(&one, tool(2, "run_python", json!({"session": sessions[0], "code": make}))).await;
    ask(&one, tool(3, "write_file", json!({"session": sessions[2], "path": "ü", "text": "last"}))).await;
    let (mut listed, mut pages, mut cursor) = (Vec::new(), Vec::new(), json!({}));
    loop {
        let page = ask(&one, request(4, "resources/list", cursor)).await;
        let resources = page["resources"].as_array().expect("a list").clone();
        pages.push(resources.len());
        listed.extend(resources);
        match page.get("nextCursor") {
            Some(next) => cursor = json!({"cursor": next}),
            None => break,
        }
    }
    assert_eq!((pages, listed.len()), (vec![100, 31], 131));
    let uri = |session: &str, path: &str| format!("proofbox://sessions/{session}/files/{path}");
    assert_shows(&listed[7], json!({"uri": uri(&sessions[0], "d/007%20%3F.txt"), "name": "d/007 ?.txt", "size": 7}));
    assert_eq!(listed[130]["uri"], json!(uri(&sessions[2], "%C3%BC")));
    let read = ask(&one, request(5, "resources/read", json!({"uri": listed[130]["uri"]}))).await;
    assert_eq!(read["contents"][0]["text"], json!("last"));
    assert_eq!(ask(&other, request(6, "resources/list", json!({}))).await["resources"], json!([]));
    // The cursor of another's page leads to nothing of theirs.
    let first = ask(&one, request(7, "resources/list", json!({}))).await;
    let next = json!({"cursor": first["nextCursor"]});
    assert_eq!(ask(&other, request(8, "resources/list", next)).await["resources"], json!([]));
    let (_, wrong) =
        post(&server, &[("authorization", &one)], request(9, "resources/list", json!({"cursor": "x"}))).await;
    assert_eq!(wrong["error"]["code"], json!(-32602));
    let templates = ask(&one, request(10, "resources/templates/list", json!({}))).await;
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], json!("proofbox://sessions/{session}/files/{+path}"));
}

#[tokio::test]
async fn a_call_is_cancelled_by_its_client_alone() {
    let server = Server::shared();
    let greet = async || {
        let greeting = http().post(format!("{}/mcp", server.url)).header(ACCEPT.0, ACCEPT.1).json(&hello());
        let greeting = greeting.send().await.expect("it answers");
        greeting.headers()["mcp-session-id"].to_str().expect("text").to_owned()
    };
    let (own, other) = (greet().await, greet().await);
    let endless = tool(7, "run_python", json!({"code": "while True: pass", "timeout": 60}));
    let running = tokio::spawn({
        let own = own.clone();
        async move { post(Server::shared(), &[("mcp-session-id", &own)], endless).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(post(server, &[("mcp-session-id", &other)], cancel.clone()).await.0, 202);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!running.is_finished());
    assert_eq!(post(server, &[("mcp-session-id", &own)], cancel).await.0, 202);
    let (_, answer) = tokio::time::timeout(Duration::from_secs(5), running).await.expect("it ends").expect("no panic");
    assert_shows(&answer, json!({"result": {"isError": true, "content": [{"text": "the call was cancelled"}]}}));
}

/// Sends messages about tasks as a client of 2025-11-25 with this key does.
async fn about(server: &Server, key: &str, method: &str, params: Value) -> Value {
    let (status, answer) = post(server, &[("authorization", key)], request(9, method, params)).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["id"], json!(9), "{answer}");
    answer
}

#[tokio::test]
async fn tasks_belong_to_the_key_that_began_them_and_are_bounded() {
    let (_data, server, [one, other]) = with_two_keys().await;
    let call = |code: &str, ttl: u64| json!({"name": "run_python", "arguments": {"code": code}, "task": {"ttl": ttl}});
    let begun = about(&server, &one, "tools/call", call("import time; time.sleep(2); 'SECRET' + 'MARK'", 60_000)).await;
    assert_shows(&begun, json!({"result": {"task": {"status": "working", "ttl": 60_000, "pollInterval": 500}}}));
    let id = json!({"taskId": begun["result"]["task"]["taskId"]});
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let refused = about(&server, &other, method, id.clone()).await;
        assert_eq!(refused["error"]["code"], json!(-32602), "{method}: {refused}");
        assert!(!refused.to_string().contains("SECRETMARK"), "{refused}");
    }
    assert_eq!(about(&server, &other, "tasks/list", json!({})).await["result"], json!({"tasks": []}));
    // It waits for the end.
    let result = about(&server, &one, "tasks/result", id.clone()).await;
    assert_shows(&result, json!({"result": {"structuredContent": {"result": "'SECRETMARK'"}, "isError": false}}));
    assert!(result["result"].get("resultType").is_none(), "{result}");
    assert_shows(&about(&server, &one, "tasks/get", id).await, json!({"result": {"status": "completed"}}));
    // Its time ends what still runs, and its session with it.
    let short = about(&server, &one, "tools/call", call("while True: pass", 2_000)).await;
    let id = json!({"taskId": short["result"]["task"]["taskId"]});
    eventually_async("the task is over", async || {
        (about(&server, &one, "tasks/get", id.clone()).await["error"]["code"] == json!(-32602)).then_some(())
    })
    .await;
    eventually_async("its session has ended", async || {
        let (_, _, list) = send(&server, "GET", "/v1/sessions", &[("authorization", &one)], Value::Null).await;
        list["sessions"].as_array().is_some_and(Vec::is_empty).then_some(())
    })
    .await;
    // At most 128 of one key, and others have theirs.
    let mut last = Value::Null;
    let brief = json!({"name": "run_python", "arguments": {"session": "none", "code": "1"}, "task": {}});
    for number in 0..128 {
        let begun = about(&server, &one, "tools/call", brief.clone()).await;
        assert_eq!(begun.get("error").is_some(), number == 127, "{number}: {begun}");
        last = begun;
    }
    assert!(last["error"]["message"].as_str().expect("a sentence").starts_with("there are too many tasks"), "{last}");
    let (mut pages, mut cursor) = (Vec::new(), json!({}));
    loop {
        let page = about(&server, &one, "tasks/list", cursor).await;
        pages.push(page["result"]["tasks"].as_array().map_or(0, Vec::len));
        match page["result"].get("nextCursor") {
            Some(next) => cursor = json!({"cursor": next}),
            None => break,
        }
    }
    assert_eq!(pages, [50, 50, 28]);
    assert!(about(&server, &other, "tools/call", call("1", 30_000)).await.get("result").is_some());
}

#[tokio::test]
async fn tasks_are_offered_to_those_who_know_them() {
    let server = Server::shared();
    let ask = async |revision: &str, message: Value| {
        let headers = [ACCEPT, ("mcp-protocol-version", revision)];
        let (status, _, body) = send(server, "POST", "/mcp", &headers, message).await;
        assert_eq!(status, 200, "{revision}: {body}");
        let data =
            body.as_str().and_then(|events| events.lines().filter_map(|line| line.strip_prefix("data:")).next_back());
        data.map_or(body.clone(), |data| serde_json::from_str(data.trim()).expect("JSON"))
    };
    let greeting = |revision: &str| {
        let mut greeting = hello();
        greeting["params"]["protocolVersion"] = revision.into();
        greeting
    };
    let support = |tools: &Value, name: &str| {
        let tools = tools["result"]["tools"].as_array().expect("a list");
        tools.iter().find(|tool| tool["name"] == name).expect("it is there")["execution"].clone()
    };
    let (own, earlier) = ("2025-11-25", "2025-06-18");
    assert_shows(
        &ask(own, greeting(own)).await,
        json!({"result": {"capabilities": {"tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}}}),
    );
    assert!(ask(earlier, greeting(earlier)).await["result"]["capabilities"].get("tasks").is_none());
    let list = request(1, "tools/list", json!({}));
    let (now, before) = (ask(own, list.clone()).await, ask(earlier, list).await);
    assert_eq!(support(&now, "run_tests"), json!({"taskSupport": "optional"}));
    assert_eq!((support(&now, "scan_code"), support(&before, "run_tests")), (Value::Null, Value::Null));
    // A revision without tasks has calls that wait.
    let call = request(2, "tools/call", json!({"name": "run_python", "arguments": {"code": "6 * 7"}, "task": {}}));
    assert_shows(&ask(earlier, call).await, json!({"result": {"structuredContent": {"result": "42"}}}));
    let refused = request(3, "tools/call", json!({"name": "scan_code", "arguments": {"code": "1"}, "task": {}}));
    assert_eq!(ask(own, refused).await["error"]["code"], json!(-32601));
}

#[tokio::test]
async fn a_run_ends_with_its_connection_and_leaves_no_session() {
    let server = Server::start(&["--workers", "1"]);
    let endless = tool(7, "run_python", json!({"code": "while True: pass", "timeout": 60}));
    let request = http().post(format!("{}/mcp", server.url)).header(ACCEPT.0, ACCEPT.1).json(&endless);
    let gone =
        tokio::time::timeout(Duration::from_secs(2), async { request.send().await.expect("begun").text().await });
    let sessions = async || {
        let (_, list) = server.get("/v1/sessions").await;
        let list: Value = serde_json::from_str(&list).expect("JSON");
        list["sessions"].as_array().expect("a list").len()
    };
    let (gone, during) = tokio::join!(gone, async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        sessions().await
    });
    assert!(gone.is_err() && during == 1, "it runs");
    eventually_async("the session ends", async || (sessions().await == 0).then_some(())).await;
    let began = Instant::now();
    server.execute(json!({"code": "1"})).await;
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn no_log_has_what_clients_send_or_hear() {
    let server = Server::start_with(&["--workers", "1"], |command| {
        command.env("PROOFBOX_LOG", "trace");
    });
    let code = json!({"code": "print('LOUD' + 'MARK')"});
    let (_, ran) = post(&server, &[], tool(1, "run_python", code.clone())).await;
    assert_shows(&ran, json!({"result": {"structuredContent": {"stdout": "LOUDMARK\n"}}}));
    post(&server, &[], tool(2, "LOUD", code)).await;
    post(&server, &[("mcp-method", "LOUD")], json!({"jsonrpc": "2.0", "id": 3, "method": "LOUD", "params": {}})).await;
    let log = server.log();
    assert!(log.len() > 3 && !log.iter().any(|line| line.contains("LOUD")), "{log:?}");
}

/// A process of `proofbox mcp`, and the messages on its standard output.
struct Stdio {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Stdio {
    fn start(arguments: &[&str]) -> Self {
        let mut command = proofbox(arguments);
        command.args(["--workers", "1", "mcp"]).env("PROOFBOX_LOG", "info");
        command.stdin(Pipe::piped()).stdout(Pipe::piped()).stderr(Pipe::null());
        let mut child = command.spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self { stdin: child.stdin.take(), child, lines }
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().expect("open"), "{message}").expect("it reads");
    }

    fn ask(&mut self, message: &Value) -> Value {
        self.say(message);
        let line = self.lines.next().expect("an answer").expect("text");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no message: {line}"))
    }

    /// Begins as clients of a revision with a handshake do; the answer.
    fn greet(&mut self) -> Value {
        let answer = self.ask(&hello());
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    fn end(mut self) {
        self.stdin = None;
        let began = Instant::now();
        assert!(self.child.wait().expect("it is ours").success());
        assert!(began.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn standard_output_has_messages_only_and_the_end_of_input_ends_the_process() {
    let mut stdio = Stdio::start(&[]);
    assert_shows(&stdio.greet(), json!({"id": 1, "result": {"serverInfo": {"name": "proofbox"}}}));
    let ran =
        stdio.ask(&tool(2, "run_python", json!({"code": "print('out')\nimport sys; print('err', file=sys.stderr)"})));
    assert_shows(&ran, json!({"id": 2, "result": {"structuredContent": {"stdout": "out\n", "stderr": "err\n"}}}));
    stdio.end();
}

#[test]
fn a_service_that_cannot_start_says_why_to_the_model() {
    let mut stdio = Stdio::start(&["--image", "/nowhere/image.wasm"]);
    stdio.greet();
    let tools = stdio.ask(&request(2, "tools/list", json!({})));
    assert_eq!(tools["result"]["tools"].as_array().map(Vec::len), Some(11));
    let ran = stdio.ask(&tool(3, "run_python", json!({"code": "1"})));
    assert_eq!(ran["result"]["isError"], json!(true));
    let said = ran["result"]["content"][0]["text"].as_str().expect("a sentence");
    assert!(said.starts_with("proofbox could not start: ") && said.contains("/nowhere/image.wasm"), "{said}");
    stdio.end();
}
