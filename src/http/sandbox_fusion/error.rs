//! Errors of this API flavour. Its clients know one status that means "not now": 504. verl takes every other for a
//! program that fails, so whatever is not the request's own fault is a 504.

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::http::body::BodyError;
use crate::http::error::Denied;
use crate::service::{ExecuteError, OverQuota, SessionError, UnansweredError};

/// Time after which a client is told to try again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// An error as SandboxFusion's clients read it.
#[derive(Debug, PartialEq, Eq)]
pub enum FusionError {
    /// Request that is not what the contract says.
    Invalid(String),
    /// Request for data or a feature that is not here.
    Unsupported(String),
    /// Request that the policy refuses.
    Refused(String),
    /// Request that is larger than the service accepts.
    TooLarge(String),
    /// Request without a key in force.
    Unauthenticated(String),
    /// Request that has no answer now, and may have one when it is sent again.
    Late(String),
}

impl IntoResponse for FusionError {
    fn into_response(self) -> Response {
        let (status, message) = match self {
            Self::Invalid(message) => (StatusCode::UNPROCESSABLE_ENTITY, message),
            Self::Unsupported(message) => (StatusCode::BAD_REQUEST, message),
            Self::Refused(message) => (StatusCode::FORBIDDEN, message),
            Self::TooLarge(message) => (StatusCode::PAYLOAD_TOO_LARGE, message),
            Self::Unauthenticated(message) => (StatusCode::UNAUTHORIZED, message),
            Self::Late(message) => (StatusCode::GATEWAY_TIMEOUT, message),
        };
        let mut response = (status, Json(json!({"detail": message}))).into_response();
        if status == StatusCode::GATEWAY_TIMEOUT {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER.as_secs()));
        }
        response
    }
}

impl From<BodyError> for FusionError {
    fn from(error: BodyError) -> Self {
        let message = error.to_string();
        match error {
            BodyError::TooLarge | BodyError::TooManyValues(_) => Self::TooLarge(message),
            BodyError::Broken => Self::Invalid(message),
            BodyError::TooSlow | BodyError::Full(_) | BodyError::Internal => Self::Late(message),
        }
    }
}

impl From<Denied> for FusionError {
    fn from(denied: Denied) -> Self {
        let message = denied.to_string();
        match denied {
            Denied::NoKey | Denied::UnknownKey | Denied::RevokedKey => Self::Unauthenticated(message),
            Denied::OtherSite => Self::Refused(message),
            Denied::OverQuota(OverQuota::Rate { .. } | OverQuota::Fuel { .. }) => Self::Late(message),
        }
    }
}

impl From<ExecuteError> for FusionError {
    fn from(error: ExecuteError) -> Self {
        let message = error.to_string();
        match error {
            ExecuteError::Refused(_) => Self::Refused(message),
            ExecuteError::UnknownImage { .. } | ExecuteError::Files { .. } => Self::Invalid(message),
            ExecuteError::TooLarge { .. } => Self::TooLarge(message),
            ExecuteError::Gate | ExecuteError::NoKey(_) | ExecuteError::Busy(_) | ExecuteError::OverQuota(_) => {
                Self::Late(message)
            }
        }
    }
}

impl From<UnansweredError> for FusionError {
    fn from(error: UnansweredError) -> Self {
        match error {
            UnansweredError::Refused(refused) => refused.into(),
            UnansweredError::Late | UnansweredError::Failed => Self::Late(error.to_string()),
        }
    }
}

impl From<SessionError> for FusionError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Execute(error) => error.into(),
            SessionError::Refused(ref refused) if is_of_the_request(refused) => Self::Invalid(error.to_string()),
            _ => {
                tracing::warn!(%error, "a notebook could not be run");
                Self::Late("the service can't run this now; send it again".to_owned())
            }
        }
    }
}

fn is_of_the_request(refused: &crate::sandbox::RequestError) -> bool {
    matches!(refused, crate::sandbox::RequestError::File(_))
}
