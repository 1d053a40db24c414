//! Errors of this API flavour: a status code, and a message.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::http::programs::Failure;

/// An error as Piston's clients read it.
#[derive(Debug)]
pub(super) struct PistonError {
    status: StatusCode,
    message: String,
}

impl PistonError {
    /// 400: the request is not what the contract says.
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, message: message.into() }
    }

    /// 415: the body is not JSON.
    pub(super) fn not_json() -> Self {
        let message = "requests must be of type application/json".to_owned();
        Self { status: StatusCode::UNSUPPORTED_MEDIA_TYPE, message }
    }

    /// Returns what is said to the client.
    pub(super) fn message(&self) -> &str {
        &self.message
    }
}

impl<E: Into<Failure>> From<E> for PistonError {
    fn from(error: E) -> Self {
        let failure = error.into();
        let status = failure.status(StatusCode::BAD_REQUEST, StatusCode::SERVICE_UNAVAILABLE);
        Self { status, message: failure.message().to_owned() }
    }
}

impl IntoResponse for PistonError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(json!({"message": self.message}))).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(1));
        }
        response
    }
}
