//! Errors of this API flavour. Its client takes what it is answered for a result, but for status 502, which it takes
//! for a request that took too long: so whatever is not the request's own fault is a 502.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::http::body::BodyError;
use crate::http::programs::Failure;

/// An error as NeMo-Skills' client reads it.
#[derive(Debug)]
pub(super) struct NemoSkillsError {
    status: StatusCode,
    message: String,
}

impl NemoSkillsError {
    /// 400: a cell without a session.
    pub(super) fn no_name() -> Self {
        let message = "X-Session-ID header required for ipython sessions".to_owned();
        Self { status: StatusCode::BAD_REQUEST, message }
    }

    /// 404: the session does not exist.
    pub(super) fn no_session(name: &str) -> Self {
        let shown: String = name.chars().take(100).collect();
        Self { status: StatusCode::NOT_FOUND, message: format!("IPython session {shown} not found") }
    }

    /// Renders the body of the answer: a result, as clients read no other.
    pub(super) fn to_json(&self) -> Value {
        let status = if self.status == StatusCode::BAD_GATEWAY { "timeout" } else { "error" };
        json!({
            "process_status": status,
            "stdout": "",
            "stderr": format!("{}\n", self.message),
            "error": self.message,
        })
    }
}

impl From<Failure> for NemoSkillsError {
    fn from(failure: Failure) -> Self {
        let status = failure.status(StatusCode::UNPROCESSABLE_ENTITY, StatusCode::BAD_GATEWAY);
        Self { status, message: failure.message().to_owned() }
    }
}

impl From<BodyError> for NemoSkillsError {
    fn from(error: BodyError) -> Self {
        Failure::from(error).into()
    }
}

impl IntoResponse for NemoSkillsError {
    fn into_response(self) -> Response {
        (self.status, Json(self.to_json())).into_response()
    }
}
