//! WebSockets of flavours whose clients talk with a program while it runs.

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::http::request::Parts;
use axum::response::Response;
use serde::Serialize;

use crate::http::connections::OpenConnection;

/// Maximum size of a message, in bytes.
const MAX_MESSAGE: usize = 1 << 20;
/// Code and reason of the end of a connection to a service that is going down (RFC 6455).
pub(crate) const GOING_AWAY: (u16, &str) = (1001, "the service is going down");

/// WebSocket of a client, which counts as a connection until it is closed: a service that is going down waits for it.
pub(crate) struct Socket {
    socket: WebSocket,
    _connection: Option<OpenConnection>,
}

/// Sign that the client has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

impl Socket {
    /// Answers a request with a WebSocket, for `work` to use.
    pub(crate) fn open<F>(
        upgrade: WebSocketUpgrade,
        parts: &Parts,
        work: impl FnOnce(Self) -> F + Send + 'static,
    ) -> Response
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let connection = parts.extensions.get::<OpenConnection>().cloned();
        let upgrade = upgrade.max_message_size(MAX_MESSAGE).max_frame_size(MAX_MESSAGE);
        upgrade.on_upgrade(|socket| work(Self { socket, _connection: connection }))
    }

    /// Waits for the next message. Dropping the future loses none.
    pub(crate) async fn next(&mut self) -> Result<Utf8Bytes, Gone> {
        loop {
            match self.socket.recv().await {
                Some(Ok(Message::Text(text))) => return Ok(text),
                Some(Ok(Message::Binary(bytes))) => return Utf8Bytes::try_from(bytes).map_err(|_| Gone),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(Gone),
            }
        }
    }

    /// Sends a message as JSON.
    pub(crate) async fn send(&mut self, message: &impl Serialize) -> Result<(), Gone> {
        let text = serde_json::to_string(message).map_err(|_| Gone)?;
        self.socket.send(Message::Text(text.into())).await.map_err(|_| Gone)
    }

    /// Closes it, with a code and its reason.
    pub(crate) async fn close(mut self, code: u16, reason: &'static str) {
        let frame = CloseFrame { code, reason: Utf8Bytes::from_static(reason) };
        // Who has gone needs no goodbye.
        let _ = self.socket.send(Message::Close(Some(frame))).await;
    }
}
