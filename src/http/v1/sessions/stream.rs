//! Forms of an answer that may come as it happens: whole, in lines of JSON, or as server-sent events.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use serde_json::{Value as Json, json};

/// Silence after which a stream sends a keep-alive message.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// Form of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// JSON document, sent at the end.
    Whole,
    /// JSON lines (`application/x-ndjson`).
    Lines,
    /// Server-sent events (`text/event-stream`).
    Events,
}

impl Form {
    /// Returns the form that the `Accept` of a request asks for.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("");
        let mut kinds = accept.split(',').map(|kind| kind.split(';').next().unwrap_or("").trim());
        kinds
            .find_map(|kind| match kind {
                "application/json" | "*/*" => Some(Self::Whole),
                "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Some(Self::Lines),
                "text/event-stream" => Some(Self::Events),
                _ => None,
            })
            .unwrap_or(Self::Whole)
    }

    /// Returns the media type of the form.
    pub(super) fn mime(self) -> &'static str {
        match self {
            Self::Whole => "application/json",
            Self::Lines => "application/x-ndjson",
            Self::Events => "text/event-stream",
        }
    }

    /// Renders an event of this kind.
    pub(super) fn piece(self, kind: &str, mut object: Json) -> Bytes {
        object["type"] = json!(kind);
        match self {
            Self::Events => format!("event: {kind}\ndata: {object}\n\n").into(),
            _ => format!("{object}\n").into(),
        }
    }
}
