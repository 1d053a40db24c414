//! Templates of the E2B flavour where its SDKs do not go: whose they are, how long they stay, what is refused.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::access::create;
use crate::control_plane::KEY;
use crate::harness::{Server, http};

struct Client<'a> {
    server: &'a Server,
    key: String,
}

impl Client<'_> {
    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        http().request(method, format!("{}{path}", self.server.url)).header("x-api-key", &self.key)
    }

    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let request = self.request(method, path);
        answer(match body {
            Some(body) => request.json(&body),
            None => request,
        })
        .await
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.send(Method::GET, path, None).await
    }

    /// Announces and starts a build; returns its id.
    async fn start(&self, name: &str, plan: Value) -> String {
        let (status, build) = self.send(Method::POST, "/v3/templates", Some(json!({"name": name}))).await;
        assert_eq!(status, 202, "{build}");
        let id = build["buildID"].as_str().expect("text").to_owned();
        let template = build["templateID"].as_str().expect("text");
        let path = format!("/v2/templates/{template}/builds/{id}");
        let (status, said) = self.send(Method::POST, &path, Some(plan)).await;
        assert_eq!(status, 202, "{said}");
        id
    }

    /// Waits until a build has ended; returns what is known of it then.
    async fn ended(&self, template: &str, build: &str) -> Value {
        for _ in 0..600 {
            let (status, known) = self.get(&format!("/templates/{template}/builds/{build}/status")).await;
            assert_eq!(status, 200, "{known}");
            if known["status"] != "building" {
                return known;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("the build does not end");
    }

    async fn build(&self, name: &str, plan: Value) -> Value {
        let build = self.start(name, plan).await;
        self.ended(name.split(':').next().unwrap_or_default(), &build).await
    }

    async fn sandbox(&self, template: &str) -> (u16, Value) {
        self.send(Method::POST, "/v2/sandboxes", Some(json!({"templateID": template, "timeout": 60}))).await
    }

    async fn file(&self, sandbox: &Value, path: &str) -> (u16, Value) {
        let request = http().get(format!("{}/files?path={path}", self.server.url));
        let text = |field: &str| sandbox[field].as_str().expect("text").to_owned();
        answer(request.header("e2b-sandbox-id", text("sandboxID")).header("x-access-token", text("envdAccessToken")))
            .await
    }
}

async fn answer(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.expect("the server answers");
    let status = response.status().as_u16();
    let text = response.text().await.expect("the answer is whole");
    (status, serde_json::from_str(&text).unwrap_or_else(|_| json!(text)))
}

fn keyless(server: &Server) -> Client<'_> {
    Client { server, key: KEY.to_owned() }
}

fn run(script: &str) -> Value {
    json!({"steps": [{"type": "RUN", "args": [script]}]})
}

#[tokio::test]
async fn a_template_outlives_the_service() {
    let data = tempfile::tempdir().expect("a directory");
    let start = || {
        Server::start_with(&[], |command| {
            command.env("PROOFBOX_DATA_DIR", data.path());
        })
    };
    let build = {
        let server = start();
        let client = keyless(&server);
        let build = client.start("lasting:v1", run("echo kept > kept")).await;
        assert_eq!(client.ended("lasting", &build).await["status"], "ready");
        build
    };
    let server = start();
    let client = keyless(&server);
    let known = client.ended("lasting", &build).await;
    assert_eq!((&known["status"], &known["logEntries"]), (&json!("ready"), &json!([])), "{known}");
    let (status, sandbox) = client.sandbox("lasting:v1").await;
    assert_eq!(status, 201, "{sandbox}");
    assert_eq!(client.file(&sandbox, "kept").await, (200, json!("kept\n")));
    // Without a tag another one is meant.
    assert_eq!(client.sandbox("lasting").await.0, 404);
}

#[tokio::test]
async fn a_template_is_its_keys_own() {
    let data = tempfile::tempdir().expect("a directory");
    let keys = ["one", "other"].map(|name| create(data.path(), &[name]));
    let server = Server::start_with(&[], |command| {
        command.args(["--keyless", "never"]).env("PROOFBOX_DATA_DIR", data.path());
    });
    let [one, other] = keys.map(|key| Client { server: &server, key: key.replace("proofbox_", "e2b_") });
    let build = one.start("mine", run("true")).await;
    assert_eq!(one.ended("mine", &build).await["status"], "ready");
    assert_eq!(one.sandbox("mine").await.0, 201);
    assert_eq!(other.sandbox("mine").await.0, 404);
    assert_eq!(other.sandbox(&build).await.0, 404);
    assert_eq!(other.get("/templates/aliases/mine").await.0, 404);
    assert_eq!(other.get(&format!("/templates/mine/builds/{build}/status")).await.0, 404);
    assert_eq!(other.get(&format!("/templates/mine/builds/{build}/logs")).await.0, 404);
    assert_eq!(other.get("/templates/mine/tags").await.0, 404);
    assert_eq!(other.send(Method::DELETE, "/templates/mine", None).await.0, 404);
    let removal = json!({"name": "mine", "tags": ["default"]});
    assert_eq!(other.send(Method::DELETE, "/templates/tags", Some(removal.clone())).await.0, 404);
    assert_eq!(other.get("/templates").await, (200, json!([])));
    // A template of the same name is another one.
    assert_eq!(other.build("mine", run("echo other > who")).await["status"], "ready");
    assert_eq!(one.get("/templates/mine/tags").await.1[0]["buildID"], build);
    assert_eq!(one.send(Method::DELETE, "/templates/tags", Some(removal)).await.0, 204);
    assert_eq!(one.sandbox("mine").await.0, 404);
    assert_eq!(other.sandbox("mine").await.0, 201);
}

#[tokio::test]
async fn files_are_uploaded_to_an_address_that_is_a_secret() {
    let client = keyless(Server::shared());
    let (status, link) = client.get("/templates/any/files/0123abcd").await;
    assert_eq!((status, &link["present"]), (201, &json!(false)), "{link}");
    let url = link["url"].as_str().expect("text").to_owned();
    let put = |url: &str| answer(http().put(url).body("no archive"));
    let (address, token) = url.rsplit_once('/').expect("a path");
    assert_eq!(put(&format!("{address}/{}", token.replace(['0', '1', '2', '3'], "4"))).await.0, 403);
    assert_eq!(put(&url).await.0, 200);
    assert_eq!(client.get("/templates/any/files/0123abcd").await.1["present"], true);
    assert_eq!(client.get("/templates/any/files/a.b").await.0, 400);
    let copy = json!({"type": "COPY", "args": ["a", "b"], "filesHash": "0123abcd"});
    let failed = client.build("uploaded", json!({"steps": [run("true")["steps"][0], copy]})).await;
    assert_eq!((&failed["status"], &failed["reason"]["step"]), (&json!("error"), &json!("2")), "{failed}");
    let missing = json!({"type": "COPY", "args": ["a", "b"], "filesHash": "none"});
    let failed = client.build("uploaded", json!({"steps": [missing]})).await;
    assert!(failed["reason"]["message"].as_str().expect("text").contains("upload them again"), "{failed}");
}

#[tokio::test]
async fn a_build_that_fails_leaves_no_template_and_no_sandbox() {
    let client = keyless(Server::shared());
    for (name, plan, step, words) in [
        ("failing-a", run("echo out; echo 'why not' >&2; exit 3"), "1", "exit status 3: why not"),
        ("failing-b", json!({"fromImage": "node:24"}), "base", "cannot be had"),
        ("failing-c", json!({"fromTemplate": "no-such"}), "base", "there is no template 'no-such'"),
        (
            "failing-d",
            json!({"fromImage": "ubuntu", "fromImageRegistry": {"type": "registry", "username": "a", "password": "b"}}),
            "base",
            "wants a login",
        ),
        ("failing-e", json!({"startCmd": "exit 4", "readyCmd": "sleep 20"}), "finalize", "exit status 4"),
        ("failing-f", json!({"steps": [{"type": "USER", "args": ["; exit 1"]}]}), "1", "invalid username"),
        ("failing-g", json!({"steps": [{"type": "WORKDIR", "args": ["/etc/passwd/x"]}]}), "1", "directory"),
    ] {
        let failed = client.build(name, plan).await;
        let message = failed["reason"]["message"].as_str().unwrap_or_default();
        assert_eq!((&failed["status"], &failed["reason"]["step"]), (&json!("error"), &json!(step)), "{name}: {failed}");
        assert!(message.contains(words), "{name}: {failed}");
        assert_eq!(client.get(&format!("/templates/aliases/{name}")).await.0, 404, "{name}");
    }
    let (_, sandboxes) = client.get("/v2/sandboxes?template=failing-a").await;
    assert_eq!(sandboxes, json!([]));
}

#[tokio::test]
async fn a_build_is_started_once_and_names_of_this_service_stay_its_own() {
    let client = keyless(Server::shared());
    let build = client.start("once", run("sleep 1")).await;
    let again = client.send(Method::POST, &format!("/v2/templates/once/builds/{build}"), Some(run("true"))).await;
    assert_eq!(again.0, 400, "{}", again.1);
    // The session that it is carried out in is no sandbox of the client's.
    let (_, sandboxes) = client.get("/v2/sandboxes?template=once").await;
    assert_eq!(sandboxes, json!([]));
    assert_eq!(client.ended("once", &build).await["status"], "ready");
    for name in ["base", "code-interpreter-v1", "default", &build] {
        let (status, said) = client.send(Method::POST, "/v3/templates", Some(json!({"name": name}))).await;
        assert_eq!(status, 403, "{name}: {said}");
    }
    for name in ["", "a b", "a:", "../a"] {
        let (status, said) = client.send(Method::POST, "/v3/templates", Some(json!({"name": name}))).await;
        assert_eq!(status, 400, "{name}: {said}");
    }
}

#[tokio::test]
async fn a_template_is_listed_with_its_builds_and_no_snapshot() {
    let client = keyless(Server::shared());
    for _ in 0..2 {
        assert_eq!(client.build("listed", run("true")).await["status"], "ready");
    }
    let (_, templates) = client.get("/v2/templates?limit=100").await;
    let listed: Vec<&Value> =
        templates.as_array().expect("a list").iter().filter(|one| one["templateID"] == "listed").collect();
    assert_eq!(listed.len(), 1, "{templates}");
    // The first build has lost its only tag, and is gone.
    assert_eq!(listed[0]["buildCount"], 1);
    let (_, shown) = client.get("/templates/listed").await;
    assert_eq!(shown["builds"].as_array().map(Vec::len), Some(1), "{shown}");
    assert_eq!(shown["builds"][0]["buildID"], listed[0]["buildID"]);
    let (_, snapshots) = client.get("/snapshots?name=listed").await;
    assert_eq!(snapshots, json!([]));
    assert_eq!(client.send(Method::DELETE, "/templates/listed", None).await.0, 204);
    assert_eq!(client.get("/templates/listed").await.0, 404);
}
