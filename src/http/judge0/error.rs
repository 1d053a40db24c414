//! Errors of this API flavour: a sentence, or sentences by field.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use crate::http::programs::Failure;

/// An error as Judge0's clients read it.
#[derive(Debug)]
pub(super) struct Judge0Error {
    status: StatusCode,
    body: Value,
}

impl Judge0Error {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, body: json!({"error": message.into()}) }
    }

    /// 400: the request is not what the contract says.
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// 422: fields of a submission are wrong.
    pub(super) fn invalid(errors: Map<String, Value>) -> Self {
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, body: Value::Object(errors) }
    }

    /// 404: there is no such submission or language.
    pub(super) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not found")
    }

    /// 503: too many submissions have not ended.
    pub(super) fn queue_full() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "queue is full")
    }

    /// Returns the body of the answer.
    pub(super) fn into_body(self) -> Value {
        self.body
    }
}

impl<E: Into<Failure>> From<E> for Judge0Error {
    fn from(error: E) -> Self {
        let failure = error.into();
        let status = failure.status(StatusCode::BAD_REQUEST, StatusCode::SERVICE_UNAVAILABLE);
        Self::new(status, failure.message())
    }
}

impl IntoResponse for Judge0Error {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body)).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(1));
        }
        response
    }
}
