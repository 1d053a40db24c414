//! Errors of this API flavour. Its clients know one status that means "not now": 504. verl takes every other for a
//! program that fails, so whatever is not the request's own fault is a 504.

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::http::programs::Failure;

/// Time after which a client is told to try again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// An error as SandboxFusion's clients read it.
#[derive(Debug)]
pub struct FusionError(Failure);

impl<E: Into<Failure>> From<E> for FusionError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl FusionError {
    /// Returns what is said to the client.
    pub fn message(&self) -> &str {
        self.0.message()
    }

    /// Renders the body of the answer.
    pub fn to_json(&self) -> Value {
        json!({"detail": self.message()})
    }
}

impl IntoResponse for FusionError {
    fn into_response(self) -> Response {
        let status = match self.0 {
            Failure::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Failure::Unsupported(_) => StatusCode::BAD_REQUEST,
            Failure::Refused(_) => StatusCode::FORBIDDEN,
            Failure::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Failure::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
            Failure::Late(_) => StatusCode::GATEWAY_TIMEOUT,
        };
        let mut response = (status, Json(self.to_json())).into_response();
        if status == StatusCode::GATEWAY_TIMEOUT {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER.as_secs()));
        }
        response
    }
}
