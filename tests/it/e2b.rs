//! The E2B dialect where its SDKs do not go: other ways to name a sandbox, who may, what is refused and how.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::control_plane::KEY;
use crate::harness::{Server, assert_shows, http};

/// A sandbox, ended by its own time.
struct Sandbox {
    server: &'static Server,
    http: reqwest::Client,
    id: String,
    token: String,
}

async fn answer(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.expect("the server answers");
    let status = response.status().as_u16();
    let text = response.text().await.expect("the answer is whole");
    (status, serde_json::from_str(&text).unwrap_or_else(|_| json!(text)))
}

/// A request of the control plane.
fn control(http: &reqwest::Client, method: Method, path: &str) -> RequestBuilder {
    http.request(method, format!("{}{path}", Server::shared().url)).header("x-api-key", KEY)
}

async fn sandbox_of(request: Value) -> Sandbox {
    let (server, http) = (Server::shared(), http());
    let (status, made) = answer(control(&http, Method::POST, "/v2/sandboxes").json(&request)).await;
    assert_eq!(status, 201, "{made}");
    let text = |field: &str| made[field].as_str().expect("it is there").to_owned();
    Sandbox { id: text("sandboxID"), token: text("envdAccessToken"), server, http }
}

async fn sandbox() -> Sandbox {
    sandbox_of(json!({"templateID": "base", "timeout": 120})).await
}

impl Sandbox {
    /// A request that says nothing of the sandbox.
    fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.server.url))
    }

    /// A request as SDKs make it.
    fn own(&self, method: Method, path: &str) -> RequestBuilder {
        self.bare(method, path).header("e2b-sandbox-id", &self.id).header("x-access-token", &self.token)
    }

    async fn upload(&self, path: &str, content: impl Into<reqwest::Body>) -> (u16, Value) {
        let request = self.own(Method::POST, &format!("/files?path={path}"));
        answer(request.header("content-type", "application/octet-stream").body(content)).await
    }

    async fn call(&self, method: &str, message: Value) -> (u16, Value) {
        answer(self.own(Method::POST, &format!("/filesystem.Filesystem/{method}")).json(&message)).await
    }

    fn signature(&self, path: &str, operation: &str) -> String {
        let text = format!("{path}:{operation}::{}", self.token);
        STANDARD_NO_PAD.encode(Sha256::digest(text.as_bytes())).replace('+', "%2B").replace('/', "%2F")
    }
}

#[tokio::test]
async fn a_sandbox_is_named_by_header_host_token_or_signature() {
    let sandbox = sandbox().await;
    assert_eq!(sandbox.upload("a.txt", "hello").await.0, 200);
    let health = |host: String| answer(sandbox.bare(Method::GET, "/health").header("host", host));
    assert_eq!(health(format!("49983-{}.example.org", sandbox.id)).await.0, 204);
    assert_eq!(health(format!("49999-{}.example.org", sandbox.id)).await, (200, json!("OK")));
    let (status, closed) = health(format!("3000-{}.example.org", sandbox.id)).await;
    assert_eq!((status, &closed["port"]), (502, &json!(3000)));
    let (status, dead) = health("49983-abc.example.org".to_owned()).await;
    assert_eq!((status, dead), (502, json!({"sandboxId": "abc", "message": "The sandbox was not found", "code": 502})));

    let by_token = sandbox.bare(Method::GET, "/files?path=a.txt").header("x-access-token", &sandbox.token);
    assert_eq!(answer(by_token).await, (200, json!("hello")));
    let signed = format!("/files?path=a.txt&signature=v1_{}", sandbox.signature("a.txt", "read"));
    assert_eq!(answer(sandbox.bare(Method::GET, &signed)).await, (200, json!("hello")));
    // It is for this path, and for reading.
    for other in [signed.replace("path=a.txt", "path=b.txt"), format!("{signed}&signature_expiration=9999999999")] {
        assert_eq!(answer(sandbox.bare(Method::GET, &other)).await.0, 401, "{other}");
    }
    let write = sandbox.bare(Method::POST, &signed).header("content-type", "application/octet-stream").body("x");
    assert_eq!(answer(write).await.0, 401);
}

#[tokio::test]
async fn contexts_open_to_the_tokens_of_a_sandbox_and_to_keys() {
    let (sandbox, other) = (sandbox().await, sandbox().await);
    let traffic = async |id: &str| {
        let request = json!({"timeout": 120});
        let connected = control(&sandbox.http, Method::POST, &format!("/sandboxes/{id}/connect")).json(&request);
        let (_, connected) = answer(connected).await;
        connected["trafficAccessToken"].as_str().expect("every sandbox has one").to_owned()
    };
    let (own, others) = (traffic(&sandbox.id).await, traffic(&other.id).await);
    assert!(own != sandbox.token && own != others);
    let list = |name: &str, value: &str| {
        let request = sandbox.bare(Method::GET, "/contexts").header("e2b-sandbox-id", &sandbox.id);
        answer(request.header(name, value))
    };
    for (name, value) in
        [("e2b-traffic-access-token", own.as_str()), ("x-access-token", &sandbox.token), ("x-api-key", KEY)]
    {
        assert_eq!(list(name, value).await.0, 200, "{name}");
    }
    assert_eq!(list("e2b-traffic-access-token", &others).await.0, 401);
    assert_eq!(list("e2b-traffic-access-token", &sandbox.token).await.0, 401);
    assert_eq!(list("x-access-token", &own).await.0, 401);
}

#[tokio::test]
async fn nothing_of_a_sandbox_opens_without_its_own_secret() {
    let (sandbox, other) = (sandbox().await, sandbox().await);
    let paths = [
        (Method::GET, "/files?path=x"),
        (Method::POST, "/files?path=x"),
        (Method::POST, "/execute"),
        (Method::POST, "/process.Process/Start"),
        (Method::POST, "/process.Process/List"),
        (Method::POST, "/filesystem.Filesystem/Stat"),
        (Method::POST, "/filesystem.Filesystem/WatchDir"),
        (Method::GET, "/contexts"),
        (Method::POST, "/contexts"),
        (Method::DELETE, "/contexts/00000001-0000-4000-8000-000000000000"),
        (Method::POST, "/contexts/00000000-0000-4000-8000-000000000000/restart"),
    ];
    for (method, path) in paths {
        let named = || sandbox.bare(method.clone(), path).header("e2b-sandbox-id", &sandbox.id);
        assert_eq!(answer(named()).await.0, 401, "{path}");
        assert_eq!(answer(named().header("x-access-token", &other.token)).await.0, 401, "{path}");
    }
    let id = &sandbox.id;
    let paths = [
        (Method::POST, "/v2/sandboxes".to_owned()),
        (Method::GET, "/v2/sandboxes".to_owned()),
        (Method::GET, "/sandboxes".to_owned()),
        (Method::GET, format!("/sandboxes/{id}")),
        (Method::DELETE, format!("/sandboxes/{id}")),
        (Method::POST, format!("/sandboxes/{id}/timeout")),
        (Method::POST, format!("/sandboxes/{id}/refreshes")),
        (Method::POST, format!("/sandboxes/{id}/pause")),
        (Method::POST, format!("/sandboxes/{id}/resume")),
        (Method::POST, format!("/sandboxes/{id}/connect")),
        (Method::POST, format!("/v2/sandboxes/{id}/connect")),
        (Method::GET, format!("/sandboxes/{id}/metrics")),
        (Method::GET, format!("/sandboxes/metrics?sandbox_ids={id}")),
        (Method::PUT, format!("/sandboxes/{id}/network")),
        (Method::POST, format!("/sandboxes/{id}/snapshots")),
        (Method::POST, format!("/sandboxes/{id}/fork")),
        (Method::GET, "/snapshots".to_owned()),
        (Method::DELETE, "/templates/x".to_owned()),
    ];
    for (method, path) in paths {
        let (status, error) = answer(sandbox.bare(method.clone(), &path)).await;
        assert_eq!((status, &error["code"]), (401, &json!(401)), "{method} {path}");
        let with_token = sandbox.bare(method.clone(), &path).header("x-access-token", &sandbox.token);
        assert_eq!(answer(with_token).await.0, 401, "{method} {path}");
    }
}

#[tokio::test]
async fn errors_are_in_the_words_of_who_asks() {
    let sandbox = sandbox().await;
    let (status, error) = answer(control(&sandbox.http, Method::GET, "/no/such/route")).await;
    assert_eq!((status, &error["code"]), (404, &json!(404)));
    let (status, error) = answer(sandbox.bare(Method::GET, "/no/such/route")).await;
    assert_eq!((status, &error["error"]["code"]), (404, &json!("not_found")));
    let (status, error) = answer(control(&sandbox.http, Method::GET, "/v1/no/such/route")).await;
    assert_eq!((status, &error["error"]["code"]), (404, &json!("not_found")));
    let (status, error) = answer(sandbox.own(Method::PUT, "/files")).await;
    assert_eq!((status, &error["code"]), (405, &json!(405)));
    let (status, error) = sandbox.upload("big", vec![0; 33 << 20]).await;
    assert_eq!((status, &error["code"]), (413, &json!(413)));
    for wrong in ["", "[]", "{\"templateID\": 1}", "{}", "{\"templateID\":\"base\",\"timeout\":-1}"] {
        let request = control(&sandbox.http, Method::POST, "/v2/sandboxes").body(wrong);
        let (status, error) = answer(request).await;
        assert_eq!((status, &error["code"]), (400, &json!(400)), "{wrong}");
    }
    let bad_envelope = sandbox.own(Method::POST, "/process.Process/Start");
    let bad_envelope = bad_envelope.header("content-type", "application/connect+json").body("\0\0\0\0\x02[]");
    let response = bad_envelope.send().await.expect("the server answers");
    assert_eq!(
        (response.status().as_u16(), &response.headers()["content-type"]),
        (200, &"application/connect+json".parse().expect("a value"))
    );
    let bytes = response.bytes().await.expect("the answer is whole");
    let end: Value = serde_json::from_slice(&bytes[5..]).expect("JSON");
    assert_eq!((bytes[0], &end["error"]["code"]), (2, &json!("invalid_argument")));
    assert_eq!(sandbox.call("None", json!({})).await.0, 501);
    assert_shows(&sandbox.call("Stat", json!({"path": "none"})).await.1, json!({"code": "not_found"}));
}

#[tokio::test]
async fn a_part_of_a_file_is_given() {
    let sandbox = sandbox().await;
    let content: Vec<u8> = (0..3_000_000_u32).map(|index| (index % 251) as u8).collect();
    assert_eq!(sandbox.upload("f", content.clone()).await.0, 200);
    let get = async |range: &str| {
        let request = sandbox.own(Method::GET, "/files?path=f").header("range", range);
        let response = request.send().await.expect("the server answers");
        let span = response.headers().get("content-range").map(|span| span.to_str().expect("ASCII").to_owned());
        (response.status().as_u16(), span, response.bytes().await.expect("the answer is whole").to_vec())
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(get("bytes=1-3").await, (206, some("bytes 1-3/3000000"), content[1..4].to_vec()));
    assert_eq!(
        get("bytes=1000000-").await,
        (206, some("bytes 1000000-2999999/3000000"), content[1_000_000..].to_vec())
    );
    assert_eq!(get("bytes=-5").await, (206, some("bytes 2999995-2999999/3000000"), content[2_999_995..].to_vec()));
    let (status, span, _) = get("bytes=3000000-").await;
    assert_eq!((status, span), (416, some("bytes */3000000")));
    assert_eq!(get("lines=1-3").await, (200, None, content));
}

#[tokio::test]
async fn one_key_makes_one_sandbox_however_often_it_is_asked_for_at_once() {
    let http = http();
    let key = format!("once-{}", std::process::id());
    let create = || {
        let request = control(&http, Method::POST, "/v2/sandboxes").header("idempotency-key", &key);
        answer(request.json(&json!({"templateID": "base", "timeout": 60})))
    };
    let answers = futures_util::future::join_all((0..8).map(|_| create())).await;
    let first = answers[0].1["sandboxID"].clone();
    assert!(first.is_string(), "{answers:?}");
    assert!(answers.iter().all(|(status, made)| *status == 201 && made["sandboxID"] == first), "{answers:?}");
    // What was made for it has ended: the next is another.
    let path = format!("/sandboxes/{}", first.as_str().expect("a string"));
    assert_eq!(answer(control(&http, Method::DELETE, &path)).await.0, 204);
    assert_ne!(create().await.1["sandboxID"], first);
    for wrong in ["UPPER", "a_b", &"x".repeat(256)] {
        let request = control(&http, Method::POST, "/v2/sandboxes").header("idempotency-key", wrong);
        assert_eq!(answer(request.json(&json!({"templateID": "base"}))).await.0, 400, "{wrong}");
    }
}

#[tokio::test]
async fn a_paused_sandbox_has_all_its_time_until_it_goes_on() {
    let sandbox = sandbox_of(json!({"templateID": "base", "timeout": 1})).await;
    let path = |what: &str| format!("/sandboxes/{}{what}", sandbox.id);
    let post = |what: &str, body: Value| answer(control(&sandbox.http, Method::POST, &path(what)).json(&body));
    assert_eq!(post("/resume", json!({"timeout": 60})).await.0, 409, "it runs");
    assert_eq!(post("/pause", json!({})).await.0, 204);
    tokio::time::sleep(std::time::Duration::from_millis(1800)).await;
    let (_, info) = answer(control(&sandbox.http, Method::GET, &path(""))).await;
    assert_eq!(info["state"], "paused", "{info}");
    assert_eq!(answer(sandbox.own(Method::GET, "/health")).await.0, 502);
    for (what, body) in [
        ("/fork", json!({})),
        ("/snapshots", json!({})),
        ("/timeout", json!({"timeout": 60})),
        ("/refreshes", json!({"duration": 60})),
    ] {
        assert_eq!(post(what, body).await.0, 409, "{what} needs one that runs");
    }
    let (_, info) = answer(control(&sandbox.http, Method::GET, &path(""))).await;
    assert_eq!(info["state"], "paused", "nobody has woken it: {info}");
    assert_eq!(post("/resume", json!({"timeout": 60})).await.0, 201);
    assert_eq!(answer(sandbox.own(Method::GET, "/health")).await.0, 204);
    let (_, before) = answer(control(&sandbox.http, Method::GET, &path(""))).await;
    assert_eq!(post("/connect", json!({"timeout": 1})).await.0, 200);
    let (_, after) = answer(control(&sandbox.http, Method::GET, &path(""))).await;
    assert_eq!(before["endAt"], after["endAt"], "who connects shortens nothing");
}

#[tokio::test]
async fn files_beyond_the_quota_have_the_status_that_clients_know() {
    let sandbox = sandbox().await;
    let piece = vec![7; 30 << 20];
    let mut statuses = Vec::new();
    for number in 0..9 {
        statuses.push(sandbox.upload(&format!("f{number}"), piece.clone()).await.0);
    }
    assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 200, 200, 507], "256 MiB are possible");
    assert_eq!(sandbox.call("Remove", json!({"path": "f0"})).await, (200, json!({})));
    assert_eq!(sandbox.upload("f8", piece).await.0, 200);
    let (_, metrics) = answer(control(&sandbox.http, Method::GET, &format!("/sandboxes/{}/metrics", sandbox.id))).await;
    assert_shows(&metrics[0], json!({"diskUsed": 8 * (30 << 20), "diskTotal": 256 << 20}));
}

#[tokio::test]
async fn paths_lie_at_the_home_of_a_user_that_there_is() {
    let sandbox = sandbox().await;
    let as_user = async |name: &str, method: &str, message: Value| {
        let basic = format!("Basic {}", STANDARD.encode(format!("{name}:")));
        let request = sandbox.own(Method::POST, &format!("/filesystem.Filesystem/{method}"));
        answer(request.header("authorization", basic).json(&message)).await
    };
    let (status, made) = as_user("root", "MakeDir", json!({"path": "d"})).await;
    assert_eq!((status, &made["entry"]["path"]), (200, &json!("/root/d")), "{made}");
    let (status, refused) = as_user("nobody123", "Stat", json!({"path": "/tmp"})).await;
    assert_eq!((status, &refused["message"]), (401, &json!("invalid username: 'nobody123'")));
    let (status, refused) = answer(sandbox.own(Method::GET, "/files?path=x&username=nobody123")).await;
    assert_eq!((status, &refused["message"]), (401, &json!("invalid username: 'nobody123'")));
    let write =
        sandbox.own(Method::POST, "/files?path=f&username=root").header("content-type", "application/octet-stream");
    let (status, written) = answer(write.body("x")).await;
    assert_eq!((status, &written[0]["path"]), (200, &json!("/root/f")), "{written}");
}

#[tokio::test]
async fn commands_run_as_the_user_that_a_client_names() {
    let sandbox = sandbox().await;
    let start = async |user: &str| {
        let message =
            json!({"process": {"cmd": "/bin/bash", "args": ["-l", "-c", "whoami; pwd; echo $HOME"]}}).to_string();
        let mut body = vec![0];
        body.extend(u32::try_from(message.len()).expect("short").to_be_bytes());
        body.extend(message.as_bytes());
        let request =
            sandbox.own(Method::POST, "/process.Process/Start").header("content-type", "application/connect+json");
        let request = request.header("authorization", format!("Basic {}", STANDARD.encode(format!("{user}:"))));
        request.body(body).send().await.expect("an answer").text().await.expect("text")
    };
    assert!(start("root").await.contains(&STANDARD.encode("root\n/root\n/root\n")));
    assert!(start("user").await.contains(&STANDARD.encode("user\n/home/user\n/home/user\n")));
    assert!(start("nobody123").await.contains("invalid username"));
}

#[tokio::test]
async fn entries_tell_modes_owners_and_where_links_lead() {
    let sandbox = sandbox().await;
    assert_eq!(sandbox.upload("d/f", "12345").await.0, 200);
    let code = "import os; os.chdir('d'); os.chmod('f', 0o640); os.mkdir('sub'); os.symlink('f', 'l'); os.symlink('sub', 'ls'); os.symlink('nowhere', 'broken')";
    assert_eq!(
        sandbox.own(Method::POST, "/execute").json(&json!({"code": code})).send().await.expect("an answer").status(),
        200
    );
    let told = async |path: &str| {
        let (status, found) = sandbox.call("Stat", json!({"path": path})).await;
        assert_eq!(status, 200, "{found}");
        let entry = &found["entry"];
        let text = |field: &str| entry[field].as_str().unwrap_or("-").to_owned();
        format!(
            "{} {:o} {} {} {}",
            text("type"),
            entry["mode"].as_u64().expect("a number"),
            text("permissions"),
            text("owner"),
            text("symlinkTarget")
        )
    };
    assert_eq!(told("d/f").await, "FILE_TYPE_FILE 640 -rw-r----- user -");
    assert_eq!(told("d/l").await, "FILE_TYPE_FILE 640 Lrwxrwxrwx user /home/user/d/f");
    assert_eq!(told("d/ls").await, "FILE_TYPE_DIRECTORY 755 Lrwxrwxrwx user /home/user/d/sub");
    assert_eq!(told("d/broken").await, "FILE_TYPE_SYMLINK 777 Lrwxrwxrwx user /home/user/d/broken");
    assert_eq!(told("/tmp").await, "FILE_TYPE_DIRECTORY 777 dtrwxrwxrwx root -");
    assert_eq!(told("/etc/passwd").await, "FILE_TYPE_FILE 644 -rw-r--r-- root -");
}

#[tokio::test]
async fn an_upload_is_watched_as_create_chmod_and_write() {
    let sandbox = sandbox().await;
    let (status, made) = sandbox.call("CreateWatcher", json!({"path": "/home/user"})).await;
    assert_eq!(status, 200, "{made}");
    assert_eq!(sandbox.upload("new", "x").await.0, 200);
    let (_, events) = sandbox.call("GetWatcherEvents", json!({"watcherId": made["watcherId"]})).await;
    let kinds: Vec<&str> =
        events["events"].as_array().expect("a list").iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(kinds, ["EVENT_TYPE_CREATE", "EVENT_TYPE_CHMOD", "EVENT_TYPE_WRITE"]);
}

/// Bytes of a message in the envelope that streams have.
fn envelope(message: &Value) -> Vec<u8> {
    let text = message.to_string().into_bytes();
    let length = u32::try_from(text.len()).expect("short").to_be_bytes();
    [&[0], &length[..], &text].concat()
}

impl Sandbox {
    /// Starts a command, and leaves it to itself.
    async fn start(&self, script: &str) {
        let process = json!({"process": {"cmd": "/bin/bash", "args": ["-l", "-c", script]}});
        let request = self.own(Method::POST, "/process.Process/Start").body(envelope(&process));
        let response = request.header("content-type", "application/connect+json").send().await;
        let mut response = response.expect("the server answers");
        let first = response.chunk().await.expect("it has begun").expect("an event");
        assert!(String::from_utf8_lossy(&first).contains("start"), "{first:?}");
    }

    async fn running(&self) -> usize {
        let list = self.own(Method::POST, "/process.Process/List").json(&json!({}));
        answer(list).await.1["processes"].as_array().map_or(0, Vec::len)
    }

    async fn state(&self) -> Value {
        let (_, info) = answer(control(&self.http, Method::GET, &format!("/sandboxes/{}", self.id))).await;
        info["state"].clone()
    }
}

#[tokio::test]
async fn commands_go_on_while_their_sandbox_is_paused() {
    let sandbox = sandbox().await;
    let post = |what: &str, body: Value| {
        answer(control(&sandbox.http, Method::POST, &format!("/sandboxes/{}{what}", sandbox.id)).json(&body))
    };
    sandbox.start("sleep 2; echo done > f").await;
    assert_eq!(post("/pause", json!({})).await.0, 204);
    assert_eq!(sandbox.state().await, "paused");
    assert_eq!(answer(sandbox.own(Method::GET, "/health")).await.0, 502);
    assert_eq!(post("/pause", json!({})).await.0, 409);
    assert_eq!(post("/connect", json!({"timeout": 60})).await.0, 201);
    assert_eq!(sandbox.running().await, 1, "it goes on");
    let written = async || {
        let found = answer(sandbox.own(Method::GET, "/files?path=f")).await;
        (found == (200, json!("done\n"))).then_some(())
    };
    crate::process::eventually_async("it has done its work", written).await;
    // Its job is no command that clients see, and goes on as well; then the sandbox goes to disk.
    sandbox.start("(sleep 1; echo more >> f) >/dev/null 2>&1 &").await;
    assert_eq!(post("/pause", json!({})).await.0, 204);
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(sandbox.state().await, "paused");
    assert_eq!(post("/resume", json!({"timeout": 60})).await.0, 201);
    assert_eq!(answer(sandbox.own(Method::GET, "/files?path=f")).await, (200, json!("done\nmore\n")));
    // Without its memory nothing goes on.
    sandbox.start("sleep 60").await;
    assert_eq!(post("/pause", json!({"memory": false})).await.0, 204);
    assert_eq!(post("/resume", json!({"timeout": 60})).await.0, 201);
    assert_eq!(sandbox.running().await, 0);
}

#[tokio::test]
async fn a_sandbox_whose_time_is_over_is_paused_with_its_commands() {
    let sandbox = sandbox_of(json!({"templateID": "base", "timeout": 1, "autoPause": true})).await;
    sandbox.start("sleep 3; echo done > f").await;
    let paused = async || (sandbox.state().await == "paused").then_some(());
    crate::process::eventually_async("it is paused", paused).await;
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    let path = format!("/sandboxes/{}/connect", sandbox.id);
    assert_eq!(answer(control(&sandbox.http, Method::POST, &path).json(&json!({"timeout": 60}))).await.0, 201);
    assert_eq!(answer(sandbox.own(Method::GET, "/files?path=f")).await, (200, json!("done\n")));
}

#[tokio::test]
async fn a_snapshot_has_its_last_name() {
    let sandbox = sandbox().await;
    let name = format!("named-{}", sandbox.id);
    let snapshots = format!("/sandboxes/{}/snapshots", sandbox.id);
    let template = |id: &str| format!("/templates/{id}");
    for content in ["one", "two"] {
        assert_eq!(sandbox.upload("f", content).await.0, 200);
        let made = answer(control(&sandbox.http, Method::POST, &snapshots).json(&json!({"name": name}))).await;
        assert_eq!(made.0, 201, "{}", made.1);
    }
    let (_, listed) = answer(control(&sandbox.http, Method::GET, &format!("/snapshots?name={name}"))).await;
    assert_eq!(listed.as_array().expect("a list").len(), 1, "{listed}");
    let alias = |name: &str| answer(control(&sandbox.http, Method::GET, &format!("/templates/aliases/{name}")));
    assert_eq!((alias(&name).await.0, alias("base").await.0, alias("none").await.0), (200, 200, 404));
    let copy = sandbox_of(json!({"templateID": name})).await;
    assert_eq!(answer(copy.own(Method::GET, "/files?path=f")).await.1, "two");
    for status in [204, 204, 404] {
        assert_eq!(answer(control(&sandbox.http, Method::DELETE, &template(&name))).await.0, status);
    }
}

#[tokio::test]
async fn a_sandbox_that_is_paused_without_memory_starts_anew() {
    let request = json!({"templateID": "base", "timeout": 1, "autoPause": true, "autoPauseMemory": false});
    let sandbox = sandbox_of(request).await;
    let execute = |code: &str| answer(sandbox.own(Method::POST, "/execute").json(&json!({"code": code})));
    let boot = || answer(sandbox.own(Method::GET, "/files?path=/proc/sys/kernel/random/boot_id"));
    execute("kept = 1; open('f', 'w').write('x')").await;
    let (_, before) = boot().await;
    tokio::time::sleep(std::time::Duration::from_millis(2500)).await;
    let connect = format!("/sandboxes/{}/connect", sandbox.id);
    let (status, _) = answer(control(&sandbox.http, Method::POST, &connect).json(&json!({"timeout": 60}))).await;
    assert_eq!(status, 201);
    let (_, said) = execute("print(open('f').read(), 'kept' in globals())").await;
    assert!(said.to_string().contains("x False"), "{said}");
    assert_ne!(boot().await.1, before);
}

#[tokio::test]
async fn networks_can_be_denied_and_not_allowed() {
    let sandbox = sandbox().await;
    // With the name of the client behind it, as older SDKs keep ids.
    let path = format!("/sandboxes/{}-proofbox/network", sandbox.id);
    for (request, status) in [
        (json!({}), 204),
        (json!({"denyOut": ["8.8.8.8"]}), 204),
        (json!({"allowOut": ["8.8.8.8"]}), 501),
        (json!({"denyOut": ["nowhere"]}), 400),
    ] {
        let (found, body) = answer(control(&sandbox.http, Method::PUT, &path).json(&request)).await;
        assert_eq!(found, status, "{request}: {body}");
    }
}

#[tokio::test]
async fn cells_in_bash_run_in_the_shell() {
    let sandbox = sandbox().await;
    let execute = |language: &str| {
        let request = json!({"code": "echo $A; false", "language": language, "env_vars": {"A": "b"}});
        answer(sandbox.own(Method::POST, "/execute").json(&request))
    };
    let (status, said) = execute("bash").await;
    let said = said.as_str().expect("lines").to_owned();
    assert!(status == 200 && said.contains(r#""text":"b\n""#) && said.contains(r#""value":"1""#), "{said}");
    assert_eq!(execute("cobol").await.0, 404);
}

#[tokio::test]
async fn what_becomes_of_a_sandbox_is_told_as_events() {
    let sandbox = sandbox().await;
    let (http, id) = (&sandbox.http, &sandbox.id);
    let post = async |action: &str, body: Value| {
        answer(control(http, Method::POST, &format!("/sandboxes/{id}/{action}")).json(&body)).await.0
    };
    assert_eq!(post("pause", json!({})).await, 204);
    assert_eq!(post("connect", json!({"timeout": 120})).await, 201);
    assert_eq!(post("timeout", json!({"timeout": 60})).await, 204);
    assert_eq!(answer(control(http, Method::DELETE, &format!("/sandboxes/{id}"))).await.0, 204);
    let events = async |query: &str| {
        let (status, events) = answer(control(http, Method::GET, &format!("/events/sandboxes/{id}?{query}"))).await;
        assert_eq!(status, 200, "{events}");
        events.as_array().expect("a list").clone()
    };
    let types = |events: &[Value]| -> Vec<String> {
        let type_of = |event: &Value| event["type"].as_str().expect("a type").replace("sandbox.lifecycle.", "");
        events.iter().map(type_of).collect()
    };
    let all = events("orderAsc=true").await;
    assert_eq!(types(&all), ["created", "paused", "resumed", "updated", "updated", "killed"]);
    for event in &all {
        assert_eq!((&event["sandboxId"], &event["sandboxTemplateId"]), (&json!(id), &json!("base")));
        assert!(event["timestamp"].as_str().is_some_and(|time| time.ends_with('Z')) && event["id"].is_string());
    }
    assert!(all[4]["eventData"]["set_timeout"].is_string());
    assert_eq!(types(&events("limit=2").await), ["killed", "updated"]);
    assert_eq!(types(&events("offset=1&limit=1&orderAsc=true").await), ["paused"]);
    let two = "types=sandbox.lifecycle.created&types=sandbox.lifecycle.killed&orderAsc=true";
    assert_eq!(types(&events(two).await), ["created", "killed"]);
    let of_all = answer(control(http, Method::GET, "/events/sandboxes?limit=100")).await.1;
    assert!(of_all.as_array().expect("a list").iter().any(|event| event["id"] == all[5]["id"]));
    for wrong in ["limit=101", "types=sandbox.exploded", "orderAsc=maybe"] {
        assert_eq!(answer(control(http, Method::GET, &format!("/events/sandboxes?{wrong}"))).await.0, 400, "{wrong}");
    }
    // One whose time is over has ended, too.
    let short = sandbox_of(json!({"templateID": "base", "timeout": 1})).await;
    let ended = async || {
        let path = format!("/events/sandboxes/{}?limit=1", short.id);
        let (_, events) = answer(control(http, Method::GET, &path)).await;
        (events[0]["type"] == "sandbox.lifecycle.killed").then_some(())
    };
    crate::process::eventually_async("its end is told", ended).await;
}

#[tokio::test]
async fn the_team_of_a_caller_is_its_key() {
    let (status, teams) = answer(control(&http(), Method::GET, "/teams")).await;
    let team = json!({"teamID": "keyless", "name": "keyless", "apiKey": KEY, "isDefault": true});
    assert_eq!((status, teams), (200, json!([team])));
    assert_eq!(answer(http().get(format!("{}/teams", Server::shared().url))).await.0, 401);
}

#[tokio::test]
async fn the_log_of_a_sandbox_tells_what_was_done_with_it_and_not_what_ran() {
    let sandbox = sandbox().await;
    let (http, id) = (&sandbox.http, &sandbox.id);
    let run =
        sandbox.own(Method::POST, "/execute").json(&json!({"code": "hidden_name = 'hidden'\nprint(hidden_name)\n1/0"}));
    // Read to its end: a client that leaves earlier interrupts the code.
    let run = run.send().await.expect("the server answers");
    assert!(run.text().await.expect("its lines").contains("ZeroDivisionError"));
    let mut envelope = vec![0];
    let start = json!({"process": {"cmd": "/bin/bash", "args": ["-l", "-c", "echo hidden; exit 3"]}}).to_string();
    envelope.extend_from_slice(&u32::try_from(start.len()).expect("short").to_be_bytes());
    envelope.extend_from_slice(start.as_bytes());
    let run = sandbox.own(Method::POST, "/process.Process/Start").header("content-type", "application/connect+json");
    assert!(run.body(envelope).send().await.expect("the server answers").bytes().await.is_ok());
    let log = async |path: &str| answer(control(http, Method::GET, path)).await;
    let second = format!("/v2/sandboxes/{id}/logs");
    let ended = async || {
        let (_, found) = log(&second).await;
        found.to_string().contains("exit code").then_some(())
    };
    crate::process::eventually_async("the command's end is told", ended).await;
    assert_eq!(answer(control(http, Method::DELETE, &format!("/sandboxes/{id}"))).await.0, 204);

    let (status, found) = log(&second).await;
    assert_eq!(status, 200, "{found}");
    let entries = found["logs"].as_array().expect("a list");
    let messages: Vec<&str> = entries.iter().map(|entry| entry["message"].as_str().expect("text")).collect();
    assert_eq!(
        messages,
        [
            "sandbox created",
            "run_code 1 ended with exception",
            "command 1000 started",
            "command 1000 ended with exit code 3",
            "sandbox ended"
        ]
    );
    assert_shows(&entries[3], json!({"level": "info", "fields": {"exit_code": "3", "pid": "1000", "sandboxID": id}}));
    let (_, first) = log(&format!("/sandboxes/{id}/logs")).await;
    assert_eq!(first["logEntries"], found["logs"]);
    let line: Value = serde_json::from_str(first["logs"][3]["line"].as_str().expect("text")).expect("JSON");
    assert_shows(&line, json!({"level": "info", "logger": "sandbox", "exit_code": "3", "message": messages[3]}));
    assert!(!first.to_string().contains("hidden"), "{first}");
    let (_, newest) = log(&format!("{second}?direction=backward&limit=1")).await;
    assert_eq!(newest["logs"][0]["message"], "sandbox ended");
    let (_, later) = log(&format!("/sandboxes/{id}/logs?start=99999999999999")).await;
    assert_eq!(later, json!({"logs": [], "logEntries": []}));
    for wrong in ["limit=1001", "level=loud", "direction=up"] {
        assert_eq!(log(&format!("{second}?{wrong}")).await.0, 400, "{wrong}");
    }
    assert_eq!(log("/sandboxes/00000000000000000000000000000000/logs").await.0, 404);
    assert_eq!(log("/v2/sandboxes/none/logs").await.0, 404);
    assert_eq!(answer(sandbox.bare(Method::GET, &second)).await.0, 401);
}
