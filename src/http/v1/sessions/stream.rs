//! Forms of an answer that may come as it happens: whole, in lines of JSON, or as server-sent events.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use serde_json::{Value as Json, json};

use proofbox_types::outcome::without_partial_end;

/// Silence after which a stream sends a keep-alive message.
pub const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// Form of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// JSON document, sent at the end.
    Whole,
    /// JSON lines (`application/x-ndjson`).
    Lines,
    /// Server-sent events (`text/event-stream`).
    Events,
}

impl Form {
    /// Returns the form that the `Accept` of a request asks for.
    pub fn of(headers: &HeaderMap) -> Self {
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
    pub fn mime(self) -> &'static str {
        match self {
            Self::Whole => "application/json",
            Self::Lines => "application/x-ndjson",
            Self::Events => "text/event-stream",
        }
    }

    /// Renders an event of this kind.
    pub fn piece(self, kind: &str, mut object: Json) -> Bytes {
        object["type"] = json!(kind);
        match self {
            Self::Events => format!("event: {kind}\ndata: {object}\n\n").into(),
            _ => format!("{object}\n").into(),
        }
    }
}

/// Text of a stream of bytes that comes in pieces: a character that is cut between two of them comes with the second.
#[derive(Default)]
pub struct TextPieces {
    /// Beginning of a character.
    rest: Vec<u8>,
}

impl TextPieces {
    /// Returns the text that is whole after this piece, with replacement characters for what is not UTF-8.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        self.rest = all.split_off(without_partial_end(&all).len());
        String::from_utf8_lossy(&all).into_owned()
    }

    /// Returns the text of what is left at the end of the stream.
    pub fn end(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_never_cut_between_two_pieces() {
        let text = "aé✓😀z";
        for at in 0..=text.len() {
            let mut pieces = TextPieces::default();
            let (first, second) = text.as_bytes().split_at(at);
            let joined = [pieces.push(first), pieces.push(second), pieces.end()].concat();
            assert_eq!(joined, text, "cut at {at}");
        }
        let mut pieces = TextPieces::default();
        assert_eq!([pieces.push(b"\xffa\xc3"), pieces.end()], ["\u{fffd}a", "\u{fffd}"]);
    }
}
