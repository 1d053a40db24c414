//! The Connect protocol with JSON, as far as E2B's SDKs speak it: calls with one answer, and streams of envelopes.
//! <https://connectrpc.com/docs/protocol>

use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use bytes::{Buf, BufMut, BytesMut};
use futures_util::{Stream, StreamExt};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::body;
use super::error::{E2bError, Kind};
use crate::http::body::BodyReader;

/// Media type without parameters: clients refuse others.
const STREAM: &str = "application/connect+json";
/// Longest message in a stream of requests.
const MAX_MESSAGE: usize = 8 << 20;
/// Silence after which a stream sends a keep-alive message, where the client sets none.
const KEEP_ALIVE: Duration = Duration::from_secs(90);

const LAST: u8 = 2;
const COMPRESSED: u8 = 1;

/// Returns the time that a call may take, or none for no limit.
pub(crate) fn deadline(headers: &HeaderMap) -> Result<Option<Duration>, E2bError> {
    let Some(value) = headers.get("connect-timeout-ms") else { return Ok(None) };
    let text = value.to_str().unwrap_or("");
    // The protocol has at most ten digits.
    let is_number = (1..=10).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(milliseconds) if is_number => Ok(Some(Duration::from_millis(milliseconds))),
        _ => Err(E2bError::new(Kind::Bad, "Connect-Timeout-Ms is a number of milliseconds")),
    }
}

/// Returns how long a stream may be silent: 1 s to 600 s, as the client asks, else the default.
pub(crate) fn keep_alive(headers: &HeaderMap) -> Duration {
    let asked =
        headers.get("keepalive-ping-interval").and_then(|value| value.to_str().ok()?.trim().parse::<u64>().ok());
    asked.map_or(KEEP_ALIVE, |seconds| Duration::from_secs(seconds.clamp(1, 600)))
}

fn is_of_type(headers: &HeaderMap, wanted: &str) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    kind.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case(wanted)
}

fn check_type(headers: &HeaderMap, wanted: &str) -> Result<(), E2bError> {
    if is_of_type(headers, wanted) {
        return Ok(());
    }
    Err(E2bError::new(Kind::NotThatType, format!("this takes Content-Type: {wanted}")))
}

/// The message of a call with one answer.
pub(crate) async fn message<T: DeserializeOwned + Send + 'static>(request: Request) -> Result<T, E2bError> {
    check_type(request.headers(), "application/json")?;
    body::json(request).await
}

/// Answers a call with one answer, in its time.
pub(crate) async fn answer(
    deadline: Option<Duration>,
    answer: impl Future<Output = Result<Value, E2bError>>,
) -> Result<Response, E2bError> {
    let answered = match deadline {
        None => answer.await,
        Some(deadline) => tokio::time::timeout(deadline, answer).await.unwrap_or_else(|_| Err(over())),
    };
    Ok(Json(answered?).into_response())
}

/// Error for a call whose time is over.
pub(crate) fn over() -> E2bError {
    E2bError::new(Kind::Deadline, "the time of the call is over")
}

fn envelope(flags: u8, content: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(5 + content.len());
    bytes.put_u8(flags);
    bytes.put_u32(u32::try_from(content.len()).unwrap_or(u32::MAX));
    bytes.put_slice(content);
    bytes.freeze()
}

/// Encodes one message of a stream in its envelope.
pub(crate) fn part(message: &Value) -> Bytes {
    envelope(0, message.to_string().as_bytes())
}

/// The end of a stream, which says whether all went well.
pub(crate) fn end(error: Option<&E2bError>) -> Bytes {
    let content = match error {
        None => "{}".to_owned(),
        Some(error) => serde_json::json!({"error": error.connect_json()}).to_string(),
    };
    envelope(LAST, content.as_bytes())
}

/// A stream as an answer. An error ends the connection without the stream's end.
pub(crate) fn stream(parts: impl Stream<Item = std::io::Result<Bytes>> + Send + 'static) -> Response {
    let body = Body::from_stream(parts);
    ([(header::CONTENT_TYPE, STREAM)], body).into_response()
}

/// A stream that is nothing but its end.
pub(crate) fn failed(error: &E2bError) -> Response {
    match error {
        // Clients look at the status first, and it says more.
        E2bError::Dead { .. } | E2bError::Closed { .. } => error.clone().into_response(),
        E2bError::Plain { kind: Kind::Unauthenticated | Kind::NotThatType, .. } => error.clone().into_connect(),
        E2bError::Plain { .. } => ([(header::CONTENT_TYPE, STREAM)], end(Some(error))).into_response(),
    }
}

/// Returns whether a request's media type is that of a stream.
pub(crate) fn is_stream(headers: &HeaderMap) -> bool {
    is_of_type(headers, STREAM)
}

/// The messages of a request that is a stream, as they come.
pub(crate) struct Messages {
    body: axum::body::BodyDataStream,
    buffer: BytesMut,
    reader: BodyReader,
}

impl Messages {
    /// Starts reading the messages of a request.
    pub(crate) fn of(request: Request) -> Result<Self, E2bError> {
        check_type(request.headers(), STREAM)?;
        let reader = BodyReader::of(request.extensions())?;
        Ok(Self { body: request.into_body().into_data_stream(), buffer: BytesMut::new(), reader })
    }

    /// The next message; none at the end.
    pub(crate) async fn next<T: DeserializeOwned + Send + 'static>(&mut self) -> Result<Option<T>, E2bError> {
        loop {
            if let Some((flags, content)) = take(&mut self.buffer)? {
                return match flags {
                    0 => self.reader.parse(content, body::parse).await.map(Some),
                    LAST => Ok(None),
                    COMPRESSED => Err(E2bError::new(Kind::Unimplemented, "compressed messages are not read")),
                    _ => Err(E2bError::new(Kind::Bad, "an envelope has flags that have no meaning")),
                };
            }
            match self.body.next().await {
                Some(Ok(bytes)) => {
                    self.reader.hold(self.buffer.len() + bytes.len()).await?;
                    self.buffer.extend_from_slice(&bytes);
                }
                Some(Err(_)) => return Err(E2bError::new(Kind::Bad, "the request body could not be read")),
                None if self.buffer.is_empty() => return Ok(None),
                None => return Err(E2bError::new(Kind::Bad, "the request body ends in the middle of an envelope")),
            }
        }
    }

    /// The only message of a request that asks for a stream.
    pub(crate) async fn only<T: DeserializeOwned + Send + 'static>(mut self) -> Result<T, E2bError> {
        let first = self.next().await?.ok_or_else(|| E2bError::new(Kind::Bad, "the request has no message"))?;
        // Read to its end: a connection with something unread is reset, and the answer with it.
        match self.next::<IgnoredAny>().await? {
            None => Ok(first),
            Some(_) => Err(E2bError::new(Kind::Bad, "the request has more than one message")),
        }
    }
}

/// The first envelope, if all of it is there.
fn take(buffer: &mut BytesMut) -> Result<Option<(u8, Bytes)>, E2bError> {
    if buffer.len() < 5 {
        return Ok(None);
    }
    let flags = buffer[0];
    let length = u32::from_be_bytes([buffer[1], buffer[2], buffer[3], buffer[4]]) as usize;
    if length > MAX_MESSAGE {
        return Err(E2bError::new(Kind::TooLarge, format!("a message has {length} bytes; at most {MAX_MESSAGE}")));
    }
    if buffer.len() < 5 + length {
        return Ok(None);
    }
    buffer.advance(5);
    Ok(Some((flags, buffer.split_to(length).freeze())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use std::convert::Infallible;

    use super::*;

    #[test]
    fn an_envelope_is_flags_length_and_content() {
        assert_eq!(
            &part(&json!({"event": {"start": {"pid": 7}}}))[..],
            b"\0\0\0\0\x1d{\"event\":{\"start\":{\"pid\":7}}}"
        );
        assert_eq!(&end(None)[..], b"\x02\0\0\0\x02{}");
        let error = E2bError::new(Kind::NotFound, "no");
        assert_eq!(&end(Some(&error))[5..], br#"{"error":{"code":"not_found","message":"no"}}"#);
    }

    fn request(kind: &str, pieces: &[&[u8]]) -> Request {
        let pieces: Vec<_> = pieces.iter().map(|piece| Ok::<_, Infallible>(Bytes::copy_from_slice(piece))).collect();
        Request::builder()
            .header(header::CONTENT_TYPE, kind)
            .body(Body::from_stream(futures_util::stream::iter(pieces)))
            .expect("a request")
    }

    async fn read(pieces: &[&[u8]]) -> Result<Vec<Value>, Kind> {
        let mut messages = Messages::of(request(STREAM, pieces)).map_err(|error| error.kind())?;
        let mut read = Vec::new();
        while let Some(message) = messages.next::<serde_json::Map<_, _>>().await.map_err(|error| error.kind())? {
            read.push(Value::Object(message));
        }
        Ok(read)
    }

    #[tokio::test]
    async fn messages_come_in_whatever_pieces() {
        let bytes = [part(&json!({"a": 1})), part(&json!({"b": 2}))].concat();
        let expected = Ok(vec![json!({"a": 1}), json!({"b": 2})]);
        assert_eq!(read(&[&bytes]).await, expected);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(&single).await, expected);
        assert_eq!(read(&[&bytes, &end(None), b"junk"]).await, expected);
        assert_eq!(read(&[]).await, Ok(Vec::new()));
    }

    #[tokio::test]
    async fn what_is_no_envelope_is_refused() {
        assert_eq!(read(&[b"\0\0\0\0\x05{}"]).await, Err(Kind::Bad));
        assert_eq!(read(&[b"\x01\0\0\0\x02{}"]).await, Err(Kind::Unimplemented));
        assert_eq!(read(&[b"\x09\0\0\0\x02{}"]).await, Err(Kind::Bad));
        assert_eq!(read(&[b"\0\xff\xff\xff\xff"]).await, Err(Kind::TooLarge));
        assert_eq!(read(&[b"\0\0\0\0\x02[]"]).await, Err(Kind::Bad));
        assert_eq!(
            Messages::of(request("application/json", &[])).err().map(|error| error.kind()),
            Some(Kind::NotThatType)
        );
    }

    #[tokio::test]
    async fn a_request_for_a_stream_has_one_message() {
        let one = part(&json!({"a": 1}));
        let only = async |pieces: &[&[u8]]| {
            let messages = Messages::of(request(STREAM, pieces)).map_err(|error| error.kind())?;
            messages.only::<serde_json::Map<_, _>>().await.map(Value::Object).map_err(|error| error.kind())
        };
        assert_eq!(only(&[&one]).await, Ok(json!({"a": 1})));
        assert_eq!(only(&[&one, &end(None)]).await, Ok(json!({"a": 1})));
        assert_eq!(only(&[&one, &one]).await, Err(Kind::Bad));
        assert_eq!(only(&[]).await, Err(Kind::Bad));
    }

    #[test]
    fn times_are_read_from_headers() {
        let headers = |value: &str| {
            HeaderMap::from_iter([(
                header::HeaderName::from_static("connect-timeout-ms"),
                value.parse().expect("a value"),
            )])
        };
        assert_eq!(deadline(&HeaderMap::new()), Ok(None));
        assert_eq!(deadline(&headers("1500")), Ok(Some(Duration::from_millis(1500))));
        for wrong in ["", "-1", "+1", "1.5", "12345678901"] {
            assert!(deadline(&headers(wrong)).is_err(), "{wrong}");
        }
    }
}
