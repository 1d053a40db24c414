//! Errors of the flavours whose services say `{"detail": message}`.
//!
//! Their clients know one status that means "not now": 504. They take every other for a program that fails, so whatever
//! is not the request's own fault is a 504.

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Failure;

/// Time after which a client is told to try again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// An error as clients of SandboxFusion, open-instruct and open-r1 read it.
#[derive(Debug)]
pub(crate) struct DetailError(Failure);

impl<E: Into<Failure>> From<E> for DetailError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl DetailError {
    /// Returns what is said to the client.
    pub(crate) fn message(&self) -> &str {
        self.0.message()
    }

    /// Renders the body of the answer.
    pub(crate) fn to_json(&self) -> Value {
        json!({"detail": self.message()})
    }
}

impl IntoResponse for DetailError {
    fn into_response(self) -> Response {
        let status = self.0.status(StatusCode::UNPROCESSABLE_ENTITY, StatusCode::GATEWAY_TIMEOUT);
        let mut response = (status, Json(self.to_json())).into_response();
        if status == StatusCode::GATEWAY_TIMEOUT {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER.as_secs()));
        }
        response
    }
}
