//! Telling others of a job's end: a receiver that is down twice, and one that sends elsewhere.

use axum::body::Bytes;
use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, Mac};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::Sha256;

use super::{asking, kill, start_with};
use crate::harness::{Server, assert_shows};
use crate::process::eventually_async;
use crate::receiver::{receiver, secret_file};

const KEY: [u8; 32] = [7; 32];

fn start(data: &std::path::Path, host: &str) -> Server {
    let secret = secret_file(data, KEY);
    start_with(data, &[("PROOFBOX_CALLBACK_HOSTS", host), ("PROOFBOX_CALLBACK_SECRET_FILE", &secret)])
}

/// As a receiver does it that knows nothing of us.
fn assert_is_signed(headers: &HeaderMap, body: &Bytes) {
    let text = |name: &str| headers[name].to_str().expect("text").to_owned();
    let mut mac = Hmac::<Sha256>::new_from_slice(&KEY).expect("a key");
    mac.update(format!("{}.{}.", text("webhook-id"), text("webhook-timestamp")).as_bytes());
    mac.update(body);
    let expected = format!("v1,{}", BASE64.encode(mac.finalize().into_bytes()));
    assert_eq!(text("webhook-signature"), expected);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs();
    let sent: u64 = text("webhook-timestamp").parse().expect("seconds");
    assert!(now.abs_diff(sent) < 60, "{now} {sent}");
    assert_eq!(text("content-type"), "application/json");
}

#[tokio::test]
async fn a_receiver_that_fails_twice_is_told_again_even_by_the_next_process() {
    let data = tempfile::tempdir().expect("a directory");
    let (host, received) = receiver(2).await;
    let server = start(data.path(), &host);
    let body = json!({"code": "print(1)", "callback_url": format!("http://{host}/take")});
    let id = asking(&server).accepted("/v1/jobs", &body).await;
    eventually_async("it is tried twice", async || (received.all().len() == 2).then_some(())).await;
    let noted = async || {
        let job = asking(&server).job(&id).await;
        (job["callback"]["attempts"] == 2).then_some(job)
    };
    let job = eventually_async("that is noted", noted).await;
    assert_shows(&job["callback"], json!({"state": "waiting", "error": "it answered 503"}));
    kill(server).await;
    let server = start(data.path(), &host);
    eventually_async("it is tried a third time", async || (received.all().len() == 3).then_some(())).await;
    let delivered = async || (asking(&server).job(&id).await["callback"]["state"] == "delivered").then_some(());
    eventually_async("it is delivered", delivered).await;
    let all = received.all();
    for (headers, body) in &all {
        assert_is_signed(headers, body);
        assert_eq!(headers["webhook-id"], all[0].0["webhook-id"], "the receiver can tell that it is the same");
        let job: Value = serde_json::from_slice(body).expect("JSON");
        assert_shows(&job, json!({"id": id, "state": "finished", "by_status": {"ok": 1}}));
    }
    assert_eq!(received.all().len(), 3);
}

#[tokio::test]
async fn only_allowed_hosts_are_told_and_redirects_are_not_followed() {
    let data = tempfile::tempdir().expect("a directory");
    let (host, received) = receiver(2).await;
    let server = start(data.path(), &host);
    let client = asking(&server);
    for url in ["http://127.0.0.1:1/take", "http://localhost/take", "ftp://x/", "", "http://user:p@127.0.0.1/"] {
        let body = json!({"code": "1", "callback_url": url}).to_string();
        let (status, answer) = client.json(Method::POST, "/v1/jobs", &[], body).await;
        assert_shows(&json!([status, answer]), json!([422, {"error": {"field": "callback_url"}}]));
    }
    let items = json!([{"id": "a", "code": "1"}]);
    let url = format!("http://{host}/elsewhere");
    let id = client.accepted("/v1/suites?async=true", &json!({"items": items, "callback_url": url})).await;
    let tried = async || {
        let callback = client.job(&id).await["callback"].take();
        (callback["attempts"] == 1).then_some(callback)
    };
    let callback = eventually_async("it is tried", tried).await;
    assert_shows(&callback, json!({"state": "waiting", "url": url, "error": "it answered 307"}));
    assert!(received.all().iter().all(|(headers, _)| headers.is_empty()), "nobody was told at /take");
    // Nothing more is wanted there.
    let body = json!({"code": "1", "callback_url": format!("http://{host}/gone")});
    let id = client.accepted("/v1/jobs", &body).await;
    let given_up = async || (client.job(&id).await["callback"]["state"] == "given_up").then_some(());
    eventually_async("it is given up", given_up).await;
}

#[tokio::test]
async fn without_hosts_nobody_is_told() {
    let body = json!({"code": "1", "callback_url": "https://example.com/"}).to_string();
    let (status, answer) = asking(Server::shared()).json(Method::POST, "/v1/jobs", &[], body).await;
    assert_shows(&json!([status, answer]), json!([422, {"error": {"field": "callback_url"}}]));
    assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("PROOFBOX_CALLBACK_HOSTS")));
}
