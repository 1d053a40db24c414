//! Errors of this API flavour. Its client takes each of them for the reward 0, and sends no request again but those that
//! found no connection: so requests wait in the queue as long as it takes.

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::http::body::BodyError;
use crate::http::programs::Failure;

/// Time after which a client is told to try again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// An error as open-instruct's own service reports it.
#[derive(Debug)]
pub struct OpenInstructError(Failure);

impl From<Failure> for OpenInstructError {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl From<BodyError> for OpenInstructError {
    fn from(error: BodyError) -> Self {
        Self(error.into())
    }
}

impl OpenInstructError {
    /// Renders the body of the answer.
    pub fn to_json(&self) -> Value {
        json!({"detail": self.0.message()})
    }
}

impl IntoResponse for OpenInstructError {
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
