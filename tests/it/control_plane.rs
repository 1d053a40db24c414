//! A client of the control plane of E2B's flavour.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::harness::{Server, http};

/// Key in the form that E2B's SDKs ask for; services without keys take any.
pub(crate) const KEY: &str = "e2b_0123456789abcdef0123456789abcdef01234567";

/// Status code and answer of a request; text that is no JSON as a string.
pub(crate) async fn answer(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.expect("the server answers");
    let status = response.status().as_u16();
    let text = response.text().await.expect("the answer is whole");
    (status, serde_json::from_str(&text).unwrap_or_else(|_| json!(text)))
}

/// A client with a key.
pub(crate) struct Client {
    pub http: reqwest::Client,
    pub url: String,
    pub key: String,
}

impl Client {
    pub(crate) fn new(server: &Server) -> Self {
        Self { http: http(), url: server.url.clone(), key: KEY.to_owned() }
    }

    pub(crate) async fn call(&self, method: Method, path: &str, request: Value) -> (u16, Value) {
        let call = self.http.request(method, format!("{}{path}", self.url)).header("x-api-key", &self.key);
        answer(if request.is_null() { call } else { call.json(&request) }).await
    }

    /// Opens a sandbox; `options` come on top of a template and a timeout.
    pub(crate) async fn sandbox(&self, options: Value) -> (u16, Value) {
        let mut request = json!({"templateID": "base", "timeout": 120});
        request.as_object_mut().expect("an object").extend(options.as_object().expect("an object").clone());
        self.call(Method::POST, "/v2/sandboxes", request).await
    }
}
