//! Keys: who is served, with what, and how much of it.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Server, http, proofbox};
use crate::process::eventually_async;

/// A server that serves nobody without a key, and its data directory.
fn guarded(arguments: &[&str]) -> (Server, TempDir) {
    let data = tempfile::tempdir().expect("a temporary directory");
    let server = Server::start_with(arguments, |command| {
        command.args(["--keyless", "never"]).env("PROOFBOX_DATA_DIR", data.path());
    });
    (server, data)
}

/// Makes a key with the command, and gives what it shows.
pub(crate) fn create(data: &Path, arguments: &[&str]) -> String {
    let mut command = proofbox(&["keys", "create"]);
    let output = command.args(arguments).env("PROOFBOX_DATA_DIR", data).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

fn revoke(data: &Path, name: &str) {
    let status = proofbox(&["keys", "revoke", name]).env("PROOFBOX_DATA_DIR", data).status().expect("it runs");
    assert!(status.success());
}

/// Sends a request with these headers; status, `Retry-After`, body.
pub(crate) async fn send(
    server: &Server,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Value,
) -> (u16, Option<u64>, Value) {
    let method = method.parse().expect("a method");
    let mut request = http().request(method, format!("{}{path}", server.url));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if !body.is_null() {
        request = request.header("content-type", "application/json").body(body.to_string());
    }
    let response = request.send().await.expect("the server answers");
    let status = response.status().as_u16();
    let after =
        response.headers().get("retry-after").map(|value| value.to_str().expect("digits").parse().expect("a number"));
    let text = response.text().await.expect("whole");
    (status, after, serde_json::from_str(&text).unwrap_or(json!(text)))
}

async fn run_with(server: &Server, key: &str, request: Value) -> (u16, Option<u64>, Value) {
    send(server, "POST", "/v1/execute", &[("x-api-key", key)], request).await
}

/// A key that was made a moment ago is known soon.
pub(crate) async fn known(server: &Server, key: &str) {
    let known = async || {
        let (status, ..) = send(server, "GET", "/v1/runtime", &[("x-api-key", key)], Value::Null).await;
        (status == 200).then_some(())
    };
    eventually_async("the key is known", known).await;
}

#[tokio::test]
async fn who_shows_no_key_in_force_is_not_served() {
    let (server, data) = guarded(&["--workers", "1"]);
    let hello = json!({"code": "print('hello')"});
    let code = |answer: &Value| answer["error"]["code"].as_str().unwrap_or("").to_owned();
    for path in ["/v1/execute", "/v1/suites", "/v1/sessions", "/v1/scan"] {
        let (status, _, answer) = send(&server, "POST", path, &[], hello.clone()).await;
        assert_eq!((status, code(&answer)), (401, "no_key".to_owned()), "{path}");
    }
    for path in ["/v1/runtime", "/v1/policies", "/v1/sessions", "/v1/checkpoints"] {
        assert_eq!(send(&server, "GET", path, &[], Value::Null).await.0, 401, "{path}");
    }
    // Operation is for whoever reaches it; metrics for this machine.
    for path in ["/healthz", "/readyz", "/metrics", "/openapi.json"] {
        assert_eq!(send(&server, "GET", path, &[], Value::Null).await.0, 200, "{path}");
    }
    let key = create(data.path(), &["ci"]);
    assert!(key.starts_with("proofbox_") && key.len() == 49, "its form");
    known(&server, &key).await;
    let (status, _, answer) = run_with(&server, &key, hello.clone()).await;
    assert_eq!((status, &answer["stdout"]), (200, &json!("hello\n")));
    let bearer = format!("Bearer {key}");
    assert_eq!(send(&server, "POST", "/v1/execute", &[("authorization", &bearer)], hello.clone()).await.0, 200);
    for wrong in [format!("{}0", &key[..48]), key[..48].to_owned(), "x".to_owned(), "é".to_owned()] {
        // One in sixteen keys ends so.
        if wrong != key {
            let (status, _, answer) = run_with(&server, &wrong, hello.clone()).await;
            assert_eq!(status, 401, "{answer}");
        }
    }
    revoke(data.path(), "ci");
    let refused = async || {
        let (status, _, answer) = run_with(&server, &key, hello.clone()).await;
        (status == 401).then_some(answer)
    };
    assert_eq!(code(&eventually_async("the key is refused", refused).await), "key_revoked");
}

/// A server that asks for keys and lets these read its metrics, its data directory and a key that is known.
async fn with_metrics_for(who: &str, listen: &str) -> (Server, TempDir, String) {
    let data = tempfile::tempdir().expect("a temporary directory");
    let server = Server::start_with(&["--workers", "1"], |command| {
        command.args(["--keyless", "never", "--metrics-access", who, "--listen", listen]);
        command.env("PROOFBOX_DATA_DIR", data.path());
    });
    let key = create(data.path(), &["ci"]);
    (server, data, key)
}

#[tokio::test]
async fn metrics_are_for_keys_where_the_operator_says_so() {
    let (server, data, key) = with_metrics_for("key", "127.0.0.1:0").await;
    known(&server, &key).await;
    let metrics = async |headers: &[(&str, &str)]| {
        let (status, _, answer) = send(&server, "GET", "/metrics", headers, Value::Null).await;
        (status, answer["error"]["code"].as_str().unwrap_or("").to_owned())
    };
    assert_eq!(metrics(&[]).await, (401, "no_key".to_owned()));
    let unknown = format!("proofbox_{}", "0".repeat(40));
    assert_eq!(metrics(&[("x-api-key", &unknown)]).await, (401, "unknown_key".to_owned()));
    assert_eq!(metrics(&[("x-api-key", &key)]).await.0, 200);
    // Probes need none.
    for path in ["/healthz", "/readyz"] {
        assert_eq!(send(&server, "GET", path, &[], Value::Null).await.0, 200, "{path}");
    }
    revoke(data.path(), "ci");
    let refused = async || (metrics(&[("x-api-key", &key)]).await == (401, "key_revoked".to_owned())).then_some(());
    eventually_async("the key is refused", refused).await;
}

/// An address of this machine that is not a loopback one, if it has any.
fn own_address() -> Option<std::net::IpAddr> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    // Nothing is sent: it only finds the way.
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_loopback())
}

#[tokio::test]
async fn metrics_for_this_machine_are_refused_to_others() {
    let (server, _data, key) = with_metrics_for("loopback", "0.0.0.0:0").await;
    let port = server.url.rsplit_once(':').expect("a port").1.to_owned();
    let near = format!("http://127.0.0.1:{port}/metrics");
    assert_eq!(http().get(&near).send().await.expect("it answers").status(), 200);
    let Some(address) = own_address() else {
        eprintln!("not tested: this machine has no other address");
        return;
    };
    let far = format!("http://{address}:{port}/metrics");
    assert_eq!(http().get(&far).send().await.expect("it answers").status(), 401);
    let known = async || {
        let status = http().get(&far).header("x-api-key", &key).send().await.expect("it answers").status();
        (status == 200).then_some(())
    };
    eventually_async("the key is known", known).await;
}

#[tokio::test]
async fn a_key_is_kept_as_its_digest_only_and_is_not_logged() {
    let (server, data) = guarded(&["--workers", "1"]);
    let key = create(data.path(), &["ci"]);
    known(&server, &key).await;
    let digits = &key["proofbox_".len()..];
    let bytes: Vec<u8> =
        (0..20).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("digits")).collect();
    for entry in std::fs::read_dir(data.path()).expect("a directory") {
        let path = entry.expect("an entry").path();
        let content = std::fs::read(&path).expect("a file");
        for needle in [digits.as_bytes(), &bytes] {
            assert!(!content.windows(needle.len()).any(|window| window == needle), "{}", path.display());
        }
    }
    let listed = proofbox(&["keys", "list", "--json"]).env("PROOFBOX_DATA_DIR", data.path()).output().expect("it runs");
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("a line of JSON");
    assert_eq!((&listed["name"], &listed["hint"]), (&json!("ci"), &json!(digits[36..])));
}

#[tokio::test]
async fn a_key_may_do_what_it_was_made_for() {
    let (server, data) = guarded(&["--workers", "1"]);
    let key = create(data.path(), &["ci", "--policy", "eval", "--sessions-at-once", "1", "--fuel-per-day", "1"]);
    known(&server, &key).await;
    let (status, _, answer) = run_with(&server, &key, json!({"code": "1", "policy": "default"})).await;
    assert_eq!((status, &answer["error"]["code"]), (403, &json!("policy_not_allowed")));
    let headers = [("x-api-key", key.as_str())];
    let open = || send(&server, "POST", "/v1/sessions", &headers, json!({"policy": "eval"}));
    assert_eq!(open().await.0, 201);
    let (status, after, answer) = open().await;
    assert_eq!((status, &answer["error"]["code"]), (429, &json!("too_many_sessions")));
    assert!(after.is_some());
    // The first run uses more than all the fuel of the day.
    assert_eq!(run_with(&server, &key, json!({"code": "1", "policy": "eval"})).await.0, 200);
    let (status, after, answer) = run_with(&server, &key, json!({"code": "1", "policy": "eval"})).await;
    assert_eq!((status, &answer["error"]["code"]), (429, &json!("fuel_budget_used")));
    assert!(after.is_some_and(|after| (1..=86_400).contains(&after)), "{after:?}");
}

#[tokio::test]
async fn a_key_sends_as_many_requests_as_it_may() {
    let (server, data) = guarded(&["--workers", "1"]);
    let key = create(data.path(), &["ci", "--requests-per-minute", "30"]);
    known(&server, &key).await;
    let mut refused = None;
    for _ in 0..40 {
        let (status, after, answer) = run_with(&server, &key, json!({"code": "1"})).await;
        if status == 429 {
            refused = Some((after, answer));
            break;
        }
        assert_eq!(status, 200);
    }
    let (after, answer) = refused.expect("40 are more than 30");
    assert_eq!(
        (after.is_some_and(|after| (1..=2).contains(&after)), &answer["error"]["code"]),
        (true, &json!("rate_limited"))
    );
    assert!(server.metric("proofbox_refused_total{reason=\"rate\"}").await >= 1.0);
}

#[tokio::test]
async fn what_belongs_to_one_key_is_not_there_for_another() {
    let (server, data) = guarded(&["--workers", "1"]);
    let (mine, theirs) = (create(data.path(), &["mine"]), create(data.path(), &["theirs"]));
    known(&server, &theirs).await;
    let (mine, theirs) = ([("x-api-key", mine.as_str())], [("x-api-key", theirs.as_str())]);
    let (status, _, session) = send(&server, "POST", "/v1/sessions", &mine, json!({})).await;
    assert_eq!(status, 201);
    let session = session["id"].as_str().expect("an id").to_owned();
    let path = format!("/v1/sessions/{session}");
    let (_, _, checkpoint) = send(&server, "POST", &format!("{path}/checkpoints"), &mine, json!({})).await;
    let checkpoint = checkpoint["id"].as_str().expect("an id").to_owned();
    let calls = [
        ("GET", path.clone(), Value::Null),
        ("PATCH", path.clone(), json!({"ttl_seconds": 60})),
        ("POST", format!("{path}/execute"), json!({"code": "1"})),
        ("POST", format!("{path}/interrupt"), Value::Null),
        ("POST", format!("{path}/restart"), Value::Null),
        ("POST", format!("{path}/fork"), json!({"count": 1})),
        ("POST", format!("{path}/restore"), json!({"checkpoint": checkpoint})),
        ("POST", format!("{path}/checkpoints"), json!({})),
        ("GET", format!("{path}/files?list"), Value::Null),
        ("PUT", format!("{path}/files/a.txt"), json!("a")),
        ("POST", format!("{path}/files"), json!({"make_directory": "d"})),
        ("POST", "/v1/sessions".to_owned(), json!({"from_checkpoint": checkpoint})),
        ("DELETE", format!("/v1/checkpoints/{checkpoint}"), Value::Null),
        ("DELETE", path.clone(), Value::Null),
    ];
    for (method, path, body) in &calls {
        let (status, _, answer) = send(&server, method, path, &theirs, body.clone()).await;
        assert_eq!(status, 404, "{method} {path}: {answer}");
    }
    let (_, _, list) = send(&server, "GET", "/v1/sessions", &theirs, Value::Null).await;
    assert_eq!(list["sessions"], json!([]));
    let (_, _, list) = send(&server, "GET", "/v1/checkpoints", &theirs, Value::Null).await;
    assert_eq!(list["checkpoints"], json!([]));
    // Nothing of it was done, and the owner may do all of it.
    for (method, path, body) in &calls {
        let (status, _, answer) = send(&server, method, path, &mine, body.clone()).await;
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
    }
}

#[tokio::test]
async fn a_session_goes_with_its_key() {
    let (server, data) = guarded(&["--workers", "1"]);
    let key = create(data.path(), &["ci"]);
    known(&server, &key).await;
    let e2b = format!("e2b_{}", &key["proofbox_".len()..]);
    let headers = [("x-api-key", e2b.as_str())];
    let (status, _, sandbox) = send(&server, "POST", "/sandboxes", &headers, json!({"templateID": "base"})).await;
    assert_eq!(status, 201, "{sandbox}");
    let (id, token) =
        (sandbox["sandboxID"].as_str().expect("an id"), sandbox["envdAccessToken"].as_str().expect("one"));
    let own = [("e2b-sandbox-id", id), ("x-access-token", token)];
    assert_eq!(send(&server, "POST", "/execute", &own, json!({"code": "1"})).await.0, 200);
    revoke(data.path(), "ci");
    let refused = async || {
        let (status, _, answer) = send(&server, "POST", "/execute", &own, json!({"code": "1"})).await;
        (status != 200 || answer.to_string().contains("revoked")).then_some(())
    };
    eventually_async("the session is refused", refused).await;
    assert_eq!(send(&server, "POST", "/sandboxes", &headers, json!({"templateID": "base"})).await.0, 401);
}

#[tokio::test]
async fn pages_of_other_sites_need_a_key() {
    let server = Server::shared();
    let code = json!({"code": "1"});
    for (origin, status) in [("https://example.com", 403), ("null", 403), ("http://localhost:3000", 200)] {
        assert_eq!(
            send(server, "POST", "/v1/execute", &[("origin", origin)], code.clone()).await.0,
            status,
            "{origin}"
        );
    }
}

#[tokio::test]
async fn a_page_whose_name_was_made_to_lead_here_reads_nothing() {
    let server = Server::shared();
    let get = async |name: &str, value: &str| {
        let request = http().get(format!("{}/v1/sessions", server.url)).header(name, value);
        request.send().await.expect("the server answers").status().as_u16()
    };
    for (name, value, status) in [
        ("host", "evil.example", 403),
        ("host", "localhost.evil.example:8080", 403),
        ("host", "localhost:8080", 200),
        ("host", "[::1]:8080", 200),
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "same-origin", 200),
    ] {
        assert_eq!(get(name, value).await, status, "{name}: {value}");
    }
}

#[tokio::test]
async fn an_address_that_others_reach_is_for_keys_only() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let server = Server::start_with(&["--workers", "1"], |command| {
        command.args(["--listen", "0.0.0.0:0"]).env("PROOFBOX_DATA_DIR", data.path());
    });
    let port = server.url.rsplit_once(':').expect("a port").1.to_owned();
    let url = format!("http://127.0.0.1:{port}/v1/runtime");
    assert_eq!(http().get(&url).send().await.expect("it answers").status(), 401);
    let key = create(data.path(), &["ci"]);
    let known = async || {
        let status = http().get(&url).header("x-api-key", &key).send().await.expect("it answers").status();
        (status == 200).then_some(())
    };
    eventually_async("the key is known", known).await;
}

#[tokio::test]
async fn one_key_does_not_starve_another() {
    let (server, data) = guarded(&["--workers", "1", "--slots", "16"]);
    let (greedy, modest) = (create(data.path(), &["greedy"]), create(data.path(), &["modest"]));
    known(&server, &modest).await;
    // Far more than there are places for, each of them endless.
    let endless = json!({"code": "while True: pass", "limits": {"fuel": 30_000_000_000_u64}});
    let url = format!("{}/v1/execute", server.url);
    let busy: Vec<_> = (0..60)
        .map(|_| {
            let request = http().post(&url).header("x-api-key", &greedy).header("content-type", "application/json");
            tokio::spawn(request.body(endless.to_string()).send())
        })
        .collect();
    let full = async || (server.metric("proofbox_queue_length").await >= 10.0).then_some(());
    eventually_async("the queue is long", full).await;
    for _ in 0..20 {
        let asked = run_with(&server, &modest, json!({"code": "print(1)"}));
        let (status, _, answer) = tokio::time::timeout(Duration::from_secs(20), asked).await.expect("its turn comes");
        assert_eq!((status, &answer["stdout"]), (200, &json!("1\n")));
    }
    for task in busy {
        task.abort();
    }
}
