//! Webhooks of lifecycle events: a receiver that checks signatures, one that fails, and addresses that nobody allows.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::access::create;
use crate::control_plane::Client;
use crate::harness::{Server, assert_shows, http};
use crate::process::{eventually_async, signal};
use crate::receiver::{Received, receiver, secret_file};

const SECRET: &str = "a secret of the receiver";

/// Labels of the events that have come.
fn labels(received: &Received) -> Vec<String> {
    let label = |body: &[u8]| -> String {
        let event: Value = serde_json::from_slice(body).expect("JSON");
        event["event_label"].as_str().expect("text").to_owned()
    };
    received.all().iter().map(|(_, body)| label(body)).collect()
}

fn start(data: &Path, host: &str, arguments: &[&str]) -> Server {
    let secret = secret_file(data, [7; 32]);
    Server::start_with(&[], |command| {
        command.args(arguments).env("PROOFBOX_DATA_DIR", data).env("PROOFBOX_CALLBACK_HOSTS", host);
        command.env("PROOFBOX_CALLBACK_SECRET_FILE", &secret);
    })
}

impl Client {
    /// Registers a webhook and gives its id.
    async fn webhook(&self, url: &str, events: &[&str]) -> String {
        let events: Vec<String> = events.iter().map(|event| format!("sandbox.lifecycle.{event}")).collect();
        let request = json!({"name": "n", "url": url, "enabled": true, "events": events, "signatureSecret": SECRET});
        let (status, made) = self.call(Method::POST, "/events/webhooks", request).await;
        assert_eq!(status, 201, "{made}");
        made["id"].as_str().expect("an id").to_owned()
    }

    async fn sandbox_id(&self) -> String {
        let (status, made) = self.sandbox(json!({})).await;
        assert_eq!(status, 201, "{made}");
        made["sandboxID"].as_str().expect("an id").to_owned()
    }

    async fn kill(&self, sandbox: &str) {
        assert_eq!(self.call(Method::DELETE, &format!("/sandboxes/{sandbox}"), Value::Null).await.0, 204);
    }
}

#[tokio::test]
async fn a_receiver_is_told_what_it_wants_signed() {
    let data = tempfile::tempdir().expect("a directory");
    let (host, received) = receiver(0).await;
    let server = start(data.path(), &host, &[]);
    let client = Client::new(&server);
    let url = format!("http://{host}/take");
    let id = client.webhook(&url, &["created", "paused", "killed"]).await;
    let sandbox = client.sandbox_id().await;
    for path in ["pause", "resume"] {
        let status = client.call(Method::POST, &format!("/sandboxes/{sandbox}/{path}"), json!({})).await.0;
        assert!((200..300).contains(&status), "{path} {status}");
    }
    client.kill(&sandbox).await;
    eventually_async("all are told", async || (received.all().len() == 3).then_some(())).await;
    assert_eq!(labels(&received), ["create", "pause", "kill"]);
    for (headers, body) in received.all() {
        let text = |name: &str| headers[name].to_str().expect("text").to_owned();
        // As receivers of E2B check it.
        let expected = STANDARD_NO_PAD.encode(Sha256::digest([SECRET.as_bytes(), &body].concat()));
        assert_eq!((text("e2b-signature"), text("e2b-signature-version")), (expected, "v1".to_owned()));
        assert_eq!((text("e2b-webhook-id"), text("content-type")), (id.clone(), "application/json".to_owned()));
        let event: Value = serde_json::from_slice(&body).expect("JSON");
        assert_shows(&event, json!({"version": "v2", "sandbox_id": sandbox, "sandbox_template_id": "base"}));
    }
    // One that is disabled is told nothing, and hears what comes after.
    let path = format!("/events/webhooks/{id}");
    let (status, changed) = client.call(Method::PATCH, &path, json!({"enabled": false})).await;
    assert_eq!((status, &changed["enabled"], &changed["url"]), (200, &json!(false), &json!(url)));
    client.kill(&client.sandbox_id().await).await;
    let events = json!({"enabled": true, "events": ["sandbox.lifecycle.killed"]});
    assert_eq!(client.call(Method::PATCH, &path, events).await.0, 200);
    client.kill(&client.sandbox_id().await).await;
    eventually_async("it is told again", async || (received.all().len() == 4).then_some(())).await;
    assert_eq!(client.call(Method::DELETE, &path, Value::Null).await.0, 200);
    client.kill(&client.sandbox_id().await).await;
    tokio::time::sleep(std::time::Duration::from_millis(1200)).await;
    assert_eq!(labels(&received)[3..], ["kill"]);
    assert_eq!(server.metric("proofbox_webhook_deliveries_total{outcome=\"delivered\"}").await, 4.0);
}

#[tokio::test]
async fn a_receiver_that_fails_is_told_again_even_by_the_next_process() {
    let data = tempfile::tempdir().expect("a directory");
    let (host, received) = receiver(1).await;
    let server = start(data.path(), &host, &[]);
    let client = Client::new(&server);
    let id = client.webhook(&format!("http://{host}/take"), &["created"]).await;
    client.sandbox_id().await;
    eventually_async("it is tried", async || (received.all().len() == 1).then_some(())).await;
    let failed =
        async || (server.metric("proofbox_webhook_deliveries_total{outcome=\"failed\"}").await == 1.0).then_some(());
    eventually_async("that is noted", failed).await;
    signal(server.pid(), libc::SIGKILL);
    drop(server);
    let server = start(data.path(), &host, &[]);
    eventually_async("it is tried again", async || (received.all().len() == 2).then_some(())).await;
    let all = received.all();
    assert_eq!(all[0].1, all[1].1, "the same event");
    assert_ne!(all[0].0["e2b-delivery-id"], all[1].0["e2b-delivery-id"], "another attempt");
    let client = Client::new(&server);
    assert_eq!(client.call(Method::GET, &format!("/events/webhooks/{id}"), Value::Null).await.0, 200);
    client.sandbox_id().await;
    eventually_async("the webhook is known", async || (received.all().len() == 3).then_some(())).await;
}

#[tokio::test]
async fn only_allowed_hosts_are_told_and_redirects_are_not_followed() {
    let data = tempfile::tempdir().expect("a directory");
    let (host, received) = receiver(0).await;
    let server = start(data.path(), &host, &[]);
    let client = Client::new(&server);
    let events = ["sandbox.lifecycle.created"];
    let register = async |url: &str| {
        let request = json!({"url": url, "events": events, "signatureSecret": SECRET});
        client.call(Method::POST, "/events/webhooks", request).await.0
    };
    for url in ["http://127.0.0.1:1/take", "http://localhost/take", "http://169.254.169.254/", "file:///etc/passwd", ""]
    {
        assert_eq!(register(url).await, 400, "{url}");
    }
    let id = client.webhook(&format!("http://{host}/elsewhere"), &["created"]).await;
    let patched =
        client.call(Method::PATCH, &format!("/events/webhooks/{id}"), json!({"url": "http://127.0.0.1:1/"})).await;
    assert_eq!(patched.0, 400);
    client.sandbox_id().await;
    eventually_async("it is told", async || (!received.all().is_empty()).then_some(())).await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert!(received.all().iter().all(|(headers, _)| headers.is_empty()), "the redirect is not followed");
    for wrong in [
        json!({"url": format!("http://{host}/take"), "events": events}),
        json!({"url": format!("http://{host}/take"), "signatureSecret": SECRET}),
        json!({"url": format!("http://{host}/take"), "events": [], "signatureSecret": SECRET}),
        json!({"url": format!("http://{host}/take"), "events": ["exploded"], "signatureSecret": SECRET}),
        json!({"url": format!("http://{host}/take"), "events": events, "signatureSecret": ""}),
        json!({"events": events, "signatureSecret": SECRET}),
    ] {
        assert_eq!(client.call(Method::POST, "/events/webhooks", wrong.clone()).await.0, 400, "{wrong}");
    }
    // Where the operator names no hosts nothing can be registered.
    let other = Client::new(Server::shared());
    let request = json!({"url": format!("http://{host}/take"), "events": events, "signatureSecret": SECRET});
    let (status, refused) = other.call(Method::POST, "/events/webhooks", request).await;
    assert_eq!(status, 400);
    assert!(
        refused["message"].as_str().is_some_and(|message| message.contains("PROOFBOX_CALLBACK_HOSTS")),
        "{refused}"
    );
}

#[tokio::test]
async fn webhooks_belong_to_their_key_and_are_bounded() {
    let data = tempfile::tempdir().expect("a directory");
    let (host, received) = receiver(0).await;
    let key = |name: &str| create(data.path(), &[name]).replace("proofbox_", "e2b_");
    let (one, two) = (key("one"), key("two"));
    let server = start(data.path(), &host, &["--keyless", "never"]);
    let (one, two) = (Client { key: one, ..Client::new(&server) }, Client { key: two, ..Client::new(&server) });
    let url = format!("http://{host}/take");
    let id = one.webhook(&url, &["created"]).await;
    for (method, request) in [(Method::GET, Value::Null), (Method::PATCH, json!({})), (Method::DELETE, Value::Null)] {
        assert_eq!(two.call(method, &format!("/events/webhooks/{id}"), request).await.0, 404);
    }
    assert_eq!(two.call(Method::GET, "/events/webhooks", Value::Null).await, (200, json!([])));
    let (_, listed) = one.call(Method::GET, "/events/webhooks", Value::Null).await;
    assert_shows(&listed[0], json!({"id": id, "url": url, "enabled": true, "events": ["sandbox.lifecycle.created"]}));
    assert!(!listed.to_string().contains(SECRET), "secrets are never shown");
    two.sandbox_id().await;
    one.sandbox_id().await;
    eventually_async("its own is told", async || (received.all().len() == 1).then_some(())).await;
    for _ in 1..20 {
        one.webhook(&url, &["created"]).await;
    }
    let request = json!({"url": url, "events": ["sandbox.lifecycle.created"], "signatureSecret": SECRET});
    assert_eq!(one.call(Method::POST, "/events/webhooks", request).await.0, 507);
    let bare = http().get(format!("{}/events/webhooks", server.url)).send().await.expect("the server answers");
    assert_eq!(bare.status(), 401);
}
