//! Entry points to everything that parses bytes of clients, one function each, for loadtest's `fuzz`.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{Request, header};
use futures_util::stream;
use serde_json::{Map, Value};

use super::body::{BodyBudgets, RequestMemory};
use super::e2b::{connect, unpacked};
use super::extract::{parse, text_of};
use super::open_instruct;
use super::v1::{Format, execute_request, suite_request};

/// The body of `POST /v1/execute`; whether it is one.
pub fn execute(body: &[u8]) -> bool {
    text_of(body).and_then(parse).is_ok_and(|request| execute_request(request).is_ok())
}

/// The body of `POST /v1/suites`, as JSON; whether it is one.
pub fn suite(body: &[u8]) -> bool {
    suite_request(body, Format::Json).is_ok()
}

/// The body of `POST /v1/suites`, as lines; whether it is one.
pub fn suite_lines(body: &[u8]) -> bool {
    suite_request(body, Format::Lines).is_ok()
}

/// A stream of envelopes that comes in pieces of this length; how many messages there were.
pub async fn envelopes(body: &[u8], piece: usize) -> usize {
    let pieces: Vec<_> =
        body.chunks(piece.max(1)).map(|piece| Ok::<_, axum::Error>(Bytes::copy_from_slice(piece))).collect();
    let request = Request::builder().header(header::CONTENT_TYPE, "application/connect+json");
    let mut request = request.body(Body::from_stream(stream::iter(pieces))).expect("a request");
    request.extensions_mut().insert(RequestMemory::new(Arc::new(BodyBudgets::new(32 << 20))));
    let Ok(mut messages) = connect::Messages::of(request) else { return 0 };
    let mut count = 0;
    while let Ok(Some(_)) = messages.next::<Map<String, Value>>().await {
        count += 1;
    }
    count
}

/// Tests that are pickled; whether they are data.
pub fn pickled(body: &[u8]) -> bool {
    open_instruct::is_data(body)
}

/// A compressed body; how long it is.
pub fn compressed(body: &[u8]) -> Option<usize> {
    unpacked(body).ok().map(|content| content.len())
}
