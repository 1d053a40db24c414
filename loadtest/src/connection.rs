//! One keep-alive connection to the service, opened when it is needed.

use std::fmt;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::target::Target;

/// Far more than an answer has; a service that goes on for ever is cut off here.
const MAX_REPLY_BYTES: usize = 64 << 20;

/// Response of the service, of any status.
pub(crate) struct Reply {
    pub status: StatusCode,
    /// Seconds, where the service says when to try again.
    pub retry_after: Option<u64>,
    pub body: Bytes,
}

/// Reason for which no response came.
#[derive(Debug)]
pub(crate) enum ConnectionError {
    /// No connection could be opened.
    Connect(String),
    /// The connection broke before the whole answer was there.
    Broken(String),
    /// The answer was not there in time.
    TimedOut(Duration),
}

impl ConnectionError {
    /// The word under which it is counted.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Connect(_) => "connect",
            Self::Broken(_) => "broken",
            Self::TimedOut(_) => "timed_out",
        }
    }
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(cause) => write!(formatter, "connecting: {cause}"),
            Self::Broken(cause) => write!(formatter, "the connection broke: {cause}"),
            Self::TimedOut(allowed) => write!(formatter, "no answer within {} s", allowed.as_secs_f64()),
        }
    }
}

impl std::error::Error for ConnectionError {}

/// With what is behind it.
fn told(error: impl Into<anyhow::Error>) -> String {
    format!("{:#}", error.into())
}

/// A client of the service with one request under way at a time.
pub(crate) struct Connection {
    target: Target,
    timeout: Duration,
    key: Option<HeaderValue>,
    open: Option<OpenConnection>,
}

impl Connection {
    /// Nothing is opened before the first request. Each request ends within `timeout`.
    pub(crate) fn new(target: Target, timeout: Duration) -> Self {
        Self { target, timeout, key: None, open: None }
    }

    /// Says with each request who asks.
    pub(crate) fn with_key(self, key: Option<HeaderValue>) -> Self {
        Self { key, ..self }
    }

    /// # Errors
    /// When there is no whole answer in time; the connection is then closed, and the next request opens another.
    pub(crate) async fn get(&mut self, path: &str) -> Result<Reply, ConnectionError> {
        self.exchange(Request::get(path), Bytes::new()).await
    }

    /// # Errors
    /// As `get`.
    pub(crate) async fn post(&mut self, path: &str, json: Bytes) -> Result<Reply, ConnectionError> {
        self.exchange(Request::post(path).header(CONTENT_TYPE, "application/json"), json).await
    }

    /// Any other call; `json` may be empty.
    ///
    /// # Errors
    /// As `get`.
    pub(crate) async fn call(&mut self, method: Method, path: &str, json: Bytes) -> Result<Reply, ConnectionError> {
        let head = Request::builder().method(method).uri(path).header(CONTENT_TYPE, "application/json");
        self.exchange(head, json).await
    }

    async fn exchange(&mut self, head: hyper::http::request::Builder, body: Bytes) -> Result<Reply, ConnectionError> {
        let request = self.request(head, body)?;
        let (allowed, target, kept) = (self.timeout, self.target, self.open.take());
        let exchange = async {
            let mut connection = OpenConnection::reopen(kept, target).await?;
            let reply = connection.exchange(request).await?;
            Ok((connection, reply))
        };
        let (connection, reply) =
            timeout(allowed, exchange).await.map_err(|_| ConnectionError::TimedOut(allowed))??;
        self.open = Some(connection);
        Ok(reply)
    }

    /// As `post`, but gives each piece of the answer as it arrives; the connection is closed afterwards.
    ///
    /// # Errors
    /// As `get`.
    pub(crate) async fn post_streamed(
        &mut self,
        path: &str,
        json: Bytes,
        mut piece: impl FnMut(&[u8]),
    ) -> Result<StatusCode, ConnectionError> {
        let request = self.request(Request::post(path).header(CONTENT_TYPE, "application/json"), json)?;
        let (allowed, target, kept) = (self.timeout, self.target, self.open.take());
        let exchange = async {
            let mut connection = OpenConnection::reopen(kept, target).await?;
            let response =
                connection.sender.send_request(request).await.map_err(|error| ConnectionError::Broken(told(error)))?;
            let status = response.status();
            let mut body = Limited::new(response.into_body(), MAX_REPLY_BYTES);
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| ConnectionError::Broken(format!("reading the answer: {error}")))?;
                if let Some(data) = frame.data_ref() {
                    piece(data);
                }
            }
            Ok(status)
        };
        timeout(allowed, exchange).await.map_err(|_| ConnectionError::TimedOut(allowed))?
    }

    /// Asks for a stream of lines on a connection of its own, and reads no further than the head of the answer.
    ///
    /// # Errors
    /// As `get`.
    pub(crate) async fn open_stream(
        &self,
        method: Method,
        path: &str,
        json: Bytes,
    ) -> Result<UnreadStream, ConnectionError> {
        let head = Request::builder().method(method).uri(path);
        let head = head.header(CONTENT_TYPE, "application/json").header(ACCEPT, "application/x-ndjson");
        let request = self.request(head, json)?;
        let exchange = async {
            let mut connection = OpenConnection::open(self.target).await?;
            let response =
                connection.sender.send_request(request).await.map_err(|error| ConnectionError::Broken(told(error)))?;
            Ok(UnreadStream { status: response.status(), _body: response.into_body(), _connection: connection })
        };
        timeout(self.timeout, exchange).await.map_err(|_| ConnectionError::TimedOut(self.timeout))?
    }

    fn request(
        &self,
        head: hyper::http::request::Builder,
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, ConnectionError> {
        let head = head.header(HOST, self.target.address().to_string());
        let head = match &self.key {
            Some(key) => head.header(AUTHORIZATION, key),
            None => head,
        };
        head.body(Full::new(body)).map_err(|error| ConnectionError::Broken(told(error)))
    }
}

/// An answer whose body nobody reads: what the service sends stays in the buffers between. Dropping it closes the
/// connection.
pub(crate) struct UnreadStream {
    pub status: StatusCode,
    _body: Incoming,
    _connection: OpenConnection,
}

/// Owns the task that moves the bytes.
struct OpenConnection {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

impl OpenConnection {
    /// The one that was kept, if the service has kept it too; else another.
    async fn reopen(kept: Option<Self>, target: Target) -> Result<Self, ConnectionError> {
        if let Some(mut connection) = kept
            && connection.sender.ready().await.is_ok()
        {
            return Ok(connection);
        }
        Self::open(target).await
    }

    async fn open(target: Target) -> Result<Self, ConnectionError> {
        let stream =
            TcpStream::connect(target.address()).await.map_err(|error| ConnectionError::Connect(told(error)))?;
        stream.set_nodelay(true).map_err(|error| ConnectionError::Connect(told(error)))?;
        let (sender, connection) =
            handshake(TokioIo::new(stream)).await.map_err(|error| ConnectionError::Connect(told(error)))?;
        let driver = tokio::spawn(async move {
            // An error is told to whoever waits for the answer.
            let _ = connection.await;
        });
        Ok(Self { sender, driver })
    }

    async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Result<Reply, ConnectionError> {
        let response = self.sender.send_request(request).await.map_err(|error| ConnectionError::Broken(told(error)))?;
        let status = response.status();
        let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let body = Limited::new(response.into_body(), MAX_REPLY_BYTES)
            .collect()
            .await
            .map_err(|error| ConnectionError::Broken(format!("reading the answer: {error}")))?;
        Ok(Reply { status, retry_after, body: body.to_bytes() })
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
