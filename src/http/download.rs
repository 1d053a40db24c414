//! A session's file as an answer: all of it or a range, read in pieces, and no faster than the client takes them.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};

use super::range::ByteRange;
use crate::service::{SessionError, SessionManager};
use proofbox_types::ids::SessionId;
use proofbox_types::session::FilePart;

/// Bytes of a piece: what a client who does not read holds in memory, twice or three times.
const PIECE: u64 = 256 << 10;

/// A file that is asked for.
pub(super) struct Download {
    pub sessions: Arc<SessionManager>,
    pub session: SessionId,
    pub path: String,
}

impl Download {
    /// Answers a `GET` or `HEAD` with these headers. Where `Range` lies outside the file, the answer is 416, without a
    /// body.
    ///
    /// # Errors
    /// Returns an error when the file can't be read.
    pub(super) async fn response(self, method: &Method, headers: &HeaderMap) -> Result<Response, SessionError> {
        let range = headers.get(header::RANGE).and_then(|value| value.to_str().ok()).and_then(ByteRange::parse);
        let is_head = method == Method::HEAD;
        let first = self.piece(0, if is_head || range.is_some() { 0 } else { PIECE }).await?;
        let whole = first.whole;
        let (status, start, end) = match range.map(|range| range.within(whole)) {
            None => (StatusCode::OK, 0, whole),
            Some(Some((first, last))) => (StatusCode::PARTIAL_CONTENT, first, last + 1),
            Some(None) => {
                let headers = [(header::CONTENT_RANGE, format!("bytes */{whole}"))];
                return Ok((StatusCode::RANGE_NOT_SATISFIABLE, headers).into_response());
            }
        };
        let body = if is_head { Body::empty() } else { Body::from_stream(self.pieces(first, start, end)) };
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(end - start));
        // What a guest wrote is shown by no browser as a page of ours.
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if status == StatusCode::PARTIAL_CONTENT
            && let Ok(value) = HeaderValue::from_str(&format!("bytes {start}-{}/{whole}", end - 1))
        {
            headers.insert(header::CONTENT_RANGE, value);
        }
        Ok(response)
    }

    async fn piece(&self, offset: u64, length: u64) -> Result<FilePart, SessionError> {
        self.sessions.read_file(self.session, self.path.clone(), offset, length).await
    }

    /// Reads the file from `start` to `end`, each piece as it is at that time; `first` is what it begins with. A file
    /// that became shorter, or another one in its place, breaks the answer off.
    fn pieces(self, first: FilePart, start: u64, end: u64) -> impl Stream<Item = std::io::Result<Bytes>> {
        let inode = first.inode;
        stream::unfold((self, Bytes::from(first.bytes), start), move |(download, first, at)| async move {
            if at >= end {
                return None;
            }
            let piece = if first.is_empty() {
                match download.piece(at, PIECE.min(end - at)).await {
                    Ok(piece) if piece.inode != inode => Err(std::io::Error::other("there is another file")),
                    Ok(piece) if piece.bytes.is_empty() => Err(std::io::Error::other("the file became shorter")),
                    Ok(piece) => Ok(piece.bytes.into()),
                    Err(error) => Err(std::io::Error::other(error)),
                }
            } else {
                Ok(first)
            };
            let next = piece.as_ref().map_or(end, |bytes| at + bytes.len() as u64);
            Some((piece, (download, Bytes::new(), next)))
        })
    }
}
