//! Sessions: state between calls, files, checkpoints and forks, room, ends.

mod calls;
mod checkpoints;
mod commands;
mod files;
mod grade;
mod keeping;
mod packages;
mod permissions;
mod testing;

use serde_json::{Value, json};

use crate::harness::{Server, http};

/// A session on a server.
pub(crate) struct Session<'a> {
    pub server: &'a Server,
    pub id: String,
}

impl Session<'static> {
    /// On the shared server.
    pub(crate) async fn open() -> Self {
        Self::open_on(Server::shared(), json!({})).await
    }
}

impl<'a> Session<'a> {
    pub(crate) async fn open_on(server: &'a Server, request: Value) -> Self {
        let (status, answer) = server.post("/v1/sessions", &request).await;
        assert_eq!(status, 201, "{answer}");
        Self { server, id: answer["id"].as_str().expect("an id").to_owned() }
    }

    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/v1/sessions/{}{rest}", self.id)
    }

    /// Status code and answer of a call.
    pub(crate) async fn try_call(&self, request: Value) -> (u16, Value) {
        self.server.post(&self.path("/execute"), &request).await
    }

    pub(crate) async fn call(&self, code: &str) -> Value {
        self.call_with(json!({"code": code})).await
    }

    pub(crate) async fn call_with(&self, request: Value) -> Value {
        let (status, answer) = self.try_call(request).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// The value of the last expression.
    pub(crate) async fn value(&self, code: &str) -> Value {
        let answer = self.call(code).await;
        assert_eq!(answer["status"], "ok", "{answer}");
        answer["result"].clone()
    }

    pub(crate) async fn post(&self, rest: &str, request: Value) -> (u16, Value) {
        self.server.post(&self.path(rest), &request).await
    }

    pub(crate) async fn info(&self) -> Value {
        let (status, text) = self.server.get(&self.path("")).await;
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(&text).expect("JSON")
    }

    /// Status code and body of any request.
    pub(crate) async fn request(&self, method: &str, rest: &str, body: impl Into<reqwest::Body>) -> (u16, Vec<u8>) {
        let method = method.parse().expect("a method");
        let request = http().request(method, format!("{}{}", self.server.url, self.path(rest))).body(body);
        let response = request.send().await.expect("the server answers");
        (response.status().as_u16(), response.bytes().await.expect("the answer is whole").to_vec())
    }

    pub(crate) async fn end(self) {
        let (status, _) = self.request("DELETE", "", "").await;
        assert_eq!(status, 204);
    }
}
