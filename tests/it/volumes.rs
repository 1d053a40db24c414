//! Volumes where E2B's SDK does not go: who may, what is refused, and what a restart of the service leaves.

use std::path::Path;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::access::create;
use crate::control_plane::{Client, KEY, answer};
use crate::harness::{Server, assert_shows};
use crate::process;

impl Client {
    async fn volume(&self, name: &str) -> Volume<'_> {
        let (status, made) = self.call(Method::POST, "/volumes", json!({"name": name})).await;
        assert_eq!(status, 201, "{made}");
        let text = |field: &str| made[field].as_str().expect("it is there").to_owned();
        Volume { client: self, id: text("volumeID"), name: name.to_owned(), token: text("token") }
    }

    async fn mounting(&self, volume: &Volume<'_>) -> Sandbox<'_> {
        self.mounting_with(volume, json!({})).await
    }

    async fn mounting_with(&self, volume: &Volume<'_>, mut options: Value) -> Sandbox<'_> {
        options["volumeMounts"] = json!([{"name": volume.name, "path": "/mnt/data"}]);
        let (status, made) = self.sandbox(options).await;
        assert_eq!(status, 201, "{made}");
        let text = |field: &str| made[field].as_str().expect("it is there").to_owned();
        Sandbox { client: self, id: text("sandboxID"), token: text("envdAccessToken") }
    }
}

struct Volume<'a> {
    client: &'a Client,
    id: String,
    name: String,
    token: String,
}

impl Volume<'_> {
    fn request(&self, method: Method, part: &str, query: &str) -> RequestBuilder {
        let url = format!("{}/volumecontent/{}/{part}?{query}", self.client.url, self.id);
        self.client.http.request(method, url).bearer_auth(&self.token)
    }

    async fn write(&self, path: &str, content: impl Into<reqwest::Body>) -> (u16, Value) {
        let request = self.request(Method::PUT, "file", &format!("path={path}&force=true"));
        answer(request.header("content-type", "application/octet-stream").body(content)).await
    }

    async fn read(&self, path: &str) -> (u16, Value) {
        answer(self.request(Method::GET, "file", &format!("path={path}"))).await
    }
}

struct Sandbox<'a> {
    client: &'a Client,
    id: String,
    token: String,
}

impl Sandbox<'_> {
    fn own(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.http.request(method, format!("{}{path}", self.client.url));
        request.header("e2b-sandbox-id", &self.id).header("x-access-token", &self.token)
    }

    async fn write(&self, path: &str, content: impl Into<reqwest::Body>) {
        let request = self.own(Method::POST, &format!("/files?path={path}"));
        let (status, said) = answer(request.header("content-type", "application/octet-stream").body(content)).await;
        assert_eq!(status, 200, "{said}");
    }

    async fn read(&self, path: &str) -> (u16, Value) {
        answer(self.own(Method::GET, &format!("/files?path={path}"))).await
    }

    /// Runs Python in the sandbox.
    async fn run(&self, code: &str) -> String {
        let (status, said) = answer(self.own(Method::POST, "/execute").json(&json!({"code": code}))).await;
        assert_eq!(status, 200, "{said}");
        said.as_str().map_or_else(|| said.to_string(), str::to_owned)
    }

    async fn kill(&self) {
        let (status, said) = self.client.call(Method::DELETE, &format!("/sandboxes/{}", self.id), Value::Null).await;
        assert_eq!(status, 204, "{said}");
    }
}

fn start(data: &Path, arguments: &[&str]) -> Server {
    Server::start_with(&[], |command| {
        command.args(arguments).env("PROOFBOX_DATA_DIR", data);
    })
}

#[tokio::test]
async fn a_volume_opens_to_its_own_token_only() {
    let client = Client::new(Server::shared());
    let (volume, other) = (client.volume("token-one").await, client.volume("token-other").await);
    assert_eq!(volume.write("/f", "secret").await.0, 201);
    for (method, part) in [
        (Method::GET, "file"),
        (Method::PUT, "file"),
        (Method::GET, "dir"),
        (Method::POST, "dir"),
        (Method::GET, "path"),
        (Method::PATCH, "path"),
        (Method::DELETE, "path"),
    ] {
        let url = format!("{}/volumecontent/{}/{part}?path=/f", client.url, volume.id);
        let bare = || client.http.request(method.clone(), &url);
        assert_eq!(answer(bare()).await.0, 401, "{method} {part}");
        assert_eq!(answer(bare().header("x-api-key", KEY)).await.0, 401, "{method} {part}");
        assert_eq!(answer(bare().bearer_auth(&other.token)).await.0, 401, "{method} {part}");
        assert_eq!(answer(bare().bearer_auth(&volume.token[1..])).await.0, 401, "{method} {part}");
    }
    assert_eq!(volume.read("/f").await, (200, json!("secret")));
    // Control plane: a key, and the volume's own.
    for (method, path) in [
        (Method::POST, "/volumes".to_owned()),
        (Method::GET, "/volumes".to_owned()),
        (Method::GET, format!("/volumes/{}", volume.id)),
        (Method::DELETE, format!("/volumes/{}", volume.id)),
    ] {
        let bare = client.http.request(method.clone(), format!("{}{path}", client.url));
        assert_eq!(answer(bare.bearer_auth(&volume.token)).await.0, 401, "{method} {path}");
    }
    let (_, listed) = client.call(Method::GET, "/volumes", Value::Null).await;
    assert!(!listed.to_string().contains(&volume.token), "tokens are in no list");
}

#[tokio::test]
async fn names_paths_and_attributes_that_can_not_be_are_refused() {
    let client = Client::new(Server::shared());
    let volume = client.volume("refusals").await;
    for name in ["", "a b", "a/b", &"x".repeat(129)] {
        assert_eq!(client.call(Method::POST, "/volumes", json!({"name": name})).await.0, 400, "{name}");
    }
    assert_eq!(client.call(Method::POST, "/volumes", json!({"name": "refusals"})).await.0, 409);
    assert_eq!(volume.write("/../../etc/passwd", "x").await.0, 400);
    assert_eq!(volume.write("/%00", "x").await.0, 400);
    assert_eq!(volume.write(&format!("/{}", "x".repeat(256)), "x").await.0, 400);
    assert_eq!(volume.write("/", "x").await.0, 409);
    for query in ["path=/f&mode=99999", "path=/f&uid=-1", "path=/f&force=maybe"] {
        let request = volume.request(Method::PUT, "file", query).body("x");
        assert_eq!(answer(request).await.0, 400, "{query}");
    }
    let patch = volume.request(Method::PATCH, "path", "path=/f").json(&json!({"mode": 99999}));
    assert_eq!(answer(patch).await.0, 400);
    assert_eq!(answer(volume.request(Method::DELETE, "path", "path=/")).await.0, 404);
    let mounts = |mounts: Value| client.sandbox(json!({"volumeMounts": mounts}));
    for (wrong, status) in [
        (json!([{"name": "refusals", "path": "mnt"}]), 400),
        (json!([{"name": "refusals", "path": "/mnt/../.."}]), 400),
        (json!([{"name": "refusals", "path": "/a"}, {"name": "refusals", "path": "/b"}]), 400),
        (json!([{"name": "no-such", "path": "/a"}]), 404),
        (json!([{"path": "/a"}]), 400),
        (json!(vec![json!({"name": "refusals", "path": "/a"}); 9]), 400),
    ] {
        assert_eq!(mounts(wrong.clone()).await.0, status, "{wrong}");
    }
    client.mounting(&volume).await.kill().await;
}

#[tokio::test]
async fn a_volume_belongs_to_its_key_and_counts_in_its_quota() {
    let data = tempfile::tempdir().expect("a directory");
    let key = |arguments: &[&str]| create(data.path(), arguments).replace("proofbox_", "e2b_");
    let (one, two) = (key(&["one", "--disk-bytes", "1048576"]), key(&["two"]));
    let server = start(data.path(), &["--keyless", "never"]);
    let one = Client { key: one, ..Client::new(&server) };
    let two = Client { key: two, ..Client::new(&server) };
    let volume = one.volume("shared-name").await;
    two.volume("shared-name").await;
    for method in [Method::GET, Method::DELETE] {
        assert_eq!(two.call(method, &format!("/volumes/{}", volume.id), Value::Null).await.0, 404);
    }
    let (_, listed) = two.call(Method::GET, "/volumes", Value::Null).await;
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    let stranger = one.volume("only-one").await;
    let mounts = json!({"volumeMounts": [{"name": stranger.name, "path": "/mnt"}]});
    assert_eq!(two.sandbox(mounts).await.0, 404);
    assert_eq!(volume.write("/f", vec![0; 900 << 10]).await.0, 201);
    let (status, error) = volume.write("/g", vec![0; 200 << 10]).await;
    assert_eq!((status, &error["code"]), (507, &json!(507)), "{error}");
    // What a sandbox leaves is refused as well: a pause says so, and the volume stays as it was.
    let sandbox = one.mounting(&volume).await;
    sandbox.write("/mnt/data/g", vec![0; 200 << 10]).await;
    let paused = one.call(Method::POST, &format!("/sandboxes/{}/pause", sandbox.id), json!({})).await;
    assert_eq!(paused.0, 507, "{paused:?}");
    sandbox.kill().await;
    assert_eq!(volume.read("/g").await.0, 404);
    let (status, removed) = answer(volume.request(Method::DELETE, "path", "path=/f")).await;
    assert_eq!(status, 204, "{removed}");
    assert_eq!(volume.write("/g", vec![0; 200 << 10]).await.0, 201);
}

#[tokio::test]
async fn volumes_and_mounts_outlive_the_service() {
    let data = tempfile::tempdir().expect("a directory");
    let server = start(data.path(), &[]);
    let client = Client::new(&server);
    let (kept, paused) = (client.volume("kept").await, client.volume("paused").await);
    let running = client.mounting(&kept).await;
    running.write("/mnt/data/a", "running").await;
    let asleep = client.mounting(&paused).await;
    asleep.write("/mnt/data/a", "asleep").await;
    let path = format!("/sandboxes/{}/pause", asleep.id);
    assert_eq!(client.call(Method::POST, &path, json!({})).await.0, 204);
    process::signal(server.pid(), libc::SIGTERM);
    server.ended().await;
    drop(server);

    let again = start(data.path(), &[]);
    let client = Client::new(&again);
    let [kept, paused] =
        [kept, paused].map(|Volume { id, name, token, .. }| Volume { client: &client, id, name, token });
    // The sandboxes have them still.
    assert_eq!(client.sandbox(json!({"volumeMounts": [{"name": "kept", "path": "/m"}]})).await.0, 409);
    assert_eq!(client.call(Method::DELETE, &format!("/volumes/{}", paused.id), Value::Null).await.0, 409);
    assert_eq!((kept.read("/a").await, paused.read("/a").await), ((200, json!("running")), (200, json!("asleep"))));
    assert_eq!(paused.write("/b", "x").await.0, 409);
    let [running, asleep] = [running, asleep].map(|Sandbox { id, token, .. }| Sandbox { client: &client, id, token });
    running.write("/mnt/data/b", "after the restart").await;
    assert_eq!(kept.read("/b").await, (200, json!("after the restart")));
    running.kill().await;
    assert_eq!(kept.read("/b").await, (200, json!("after the restart")));
    asleep.kill().await;
    assert_eq!(paused.write("/b", "free").await.0, 201);
}

#[tokio::test]
async fn a_sandbox_that_was_moved_to_disk_still_has_its_volume() {
    // No session may stay in memory: the least recently used one goes when the next one runs.
    let server = Server::start(&["--session-memory-bytes", "1048576"]);
    let client = Client::new(&server);
    let volume = client.volume("evicted").await;
    let sandbox = client.mounting(&volume).await;
    sandbox.run("open('/mnt/data/a', 'w').write('1')").await;
    let other = client.volume("other").await;
    client.mounting(&other).await.run("x = bytearray(b'x') * (4 << 20)").await;
    let evicted = async || server.metric("proofbox_sessions_evicted_total").await;
    process::eventually_async("the sandbox is on disk", async || (evicted().await >= 1.0).then_some(())).await;
    assert_eq!(client.sandbox(json!({"volumeMounts": [{"name": "evicted", "path": "/m"}]})).await.0, 409);
    assert_eq!(volume.write("/b", "from outside").await.0, 201);
    assert_eq!(sandbox.read("/mnt/data/b").await, (200, json!("from outside")));
    sandbox.kill().await;
    assert_eq!((volume.read("/a").await.1, volume.read("/b").await.1), (json!(1), json!("from outside")));
}

#[tokio::test]
async fn what_a_guest_makes_of_its_volume_is_bounded() {
    let client = Client::new(Server::shared());
    let volume = client.volume("bounded").await;
    assert_eq!(volume.write("/a", "before").await.0, 201);
    let sandbox = client.mounting(&volume).await;
    // A file with many names is copied for each: more than a volume may hold, and less than the sandbox may.
    let code = "open('/mnt/data/big', 'wb').write(b'x' * (100 << 20))\nimport os\n\
        for n in range(5): os.link('/mnt/data/big', f'/mnt/data/{n}')\nopen('/mnt/data/a', 'w').write('after')\nprint('made')";
    assert!(sandbox.run(code).await.contains("made"));
    let paused = client.call(Method::POST, &format!("/sandboxes/{}/pause", sandbox.id), json!({})).await;
    assert_eq!(paused.0, 507, "{paused:?}");
    sandbox.run("import os\nfor n in range(5): os.remove(f'/mnt/data/{n}')\nos.remove('/mnt/data/big')").await;
    sandbox.kill().await;
    assert_eq!(volume.read("/a").await, (200, json!("after")));
    // One that takes the directory itself away changes nothing.
    let sandbox = client.mounting(&volume).await;
    sandbox.run("import os; os.rename('/mnt/data', '/home/user/moved'); os.symlink('/etc', '/mnt/data')").await;
    sandbox.kill().await;
    let (status, listed) = answer(volume.request(Method::GET, "dir", "path=/&depth=9")).await;
    assert_eq!(status, 200);
    assert_shows(&listed, json!([{"path": "/a", "size": 5}]));
}
