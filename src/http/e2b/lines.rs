//! Lines of an answer that tells of a cell as it runs.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use serde_json::{Value as Json, json};

use super::time;

/// A stream that is silent for so long says that it is alive.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// Answers with lines as they come.
pub(super) fn streamed(lines: impl Stream<Item = Result<Bytes, std::io::Error>> + Send + 'static) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(lines)).into_response()
}

/// A line with output; `kind` is its stream.
pub(super) fn output(kind: &str, text: &str) -> Json {
    json!({"type": kind, "text": text, "timestamp": time(jiff::Timestamp::now())})
}

/// A line with an exception, or with what else ended the cell.
pub(super) fn told(name: &str, value: &str, traceback: &str) -> Json {
    json!({"type": "error", "name": name, "value": value, "traceback": traceback})
}
