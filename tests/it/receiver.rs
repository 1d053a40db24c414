//! A receiver of what the service tells others: it keeps what comes, and fails at first if it is asked to.

use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio::net::TcpListener;

/// Requests that have come.
#[derive(Clone)]
pub(crate) struct Received {
    requests: Arc<Mutex<Vec<(HeaderMap, Bytes)>>>,
    /// Number of requests that fail before one is taken.
    failures: usize,
}

impl Received {
    pub(crate) fn all(&self) -> Vec<(HeaderMap, Bytes)> {
        self.requests.lock().expect("no holder panics").clone()
    }
}

async fn take(State(received): State<Received>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let mut all = received.requests.lock().expect("no holder panics");
    all.push((headers, body));
    if all.len() <= received.failures { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::NO_CONTENT }
}

async fn elsewhere(State(received): State<Received>) -> Response {
    received.requests.lock().expect("no holder panics").push(Default::default());
    (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, "/take")]).into_response()
}

async fn gone() -> StatusCode {
    StatusCode::GONE
}

/// Address that it listens on, and what comes to `/take`, `/elsewhere` and `/gone`.
pub(crate) async fn receiver(failures: usize) -> (String, Received) {
    let received = Received { requests: Arc::default(), failures };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let host = listener.local_addr().expect("an address").to_string();
    let router = Router::new()
        .route("/take", post(take))
        .route("/elsewhere", post(elsewhere))
        .route("/gone", post(gone))
        .with_state(received.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (host, received)
}

/// Writes the secret that the service signs with, and returns its file.
pub(crate) fn secret_file(data: &Path, key: [u8; 32]) -> String {
    let secret = data.join("secret");
    std::fs::write(&secret, format!("whsec_{}\n", BASE64.encode(key))).expect("written");
    secret.to_str().expect("UTF-8").to_owned()
}
