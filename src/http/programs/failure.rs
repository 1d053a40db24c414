//! Failures of requests that run whole programs. Each flavour says them in the words and the status codes of its own
//! protocol.

use axum::http::StatusCode;

use crate::http::body::BodyError;
use crate::http::error::Denied;
use crate::sandbox::RequestError;
use crate::service::{ExecuteError, OverQuota, SessionError, UnansweredError};

/// Failure of a request, by what its client can do about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
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

impl Failure {
    /// Makes the failure of a request to a service that is going down.
    pub(crate) fn draining() -> Self {
        Self::Late("the service is going down; send it again".to_owned())
    }

    /// Returns the status code of an answer; `invalid` and `late` are a protocol's own for these two.
    pub(crate) fn status(&self, invalid: StatusCode, late: StatusCode) -> StatusCode {
        match self {
            Self::Invalid(_) => invalid,
            Self::Unsupported(_) => StatusCode::BAD_REQUEST,
            Self::Refused(_) => StatusCode::FORBIDDEN,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
            Self::Late(_) => late,
        }
    }

    /// Returns what is said to the client.
    pub(crate) fn message(&self) -> &str {
        let (Self::Invalid(message)
        | Self::Unsupported(message)
        | Self::Refused(message)
        | Self::TooLarge(message)
        | Self::Unauthenticated(message)
        | Self::Late(message)) = self;
        message
    }
}

impl From<BodyError> for Failure {
    fn from(error: BodyError) -> Self {
        let message = error.to_string();
        match error {
            BodyError::TooLarge | BodyError::TooManyValues(_) => Self::TooLarge(message),
            BodyError::Broken => Self::Invalid(message),
            BodyError::TooSlow | BodyError::Full(_) | BodyError::Internal => Self::Late(message),
        }
    }
}

impl From<Denied> for Failure {
    fn from(denied: Denied) -> Self {
        let message = denied.to_string();
        match denied {
            Denied::NoKey | Denied::UnknownKey | Denied::RevokedKey => Self::Unauthenticated(message),
            Denied::OtherSite => Self::Refused(message),
            Denied::OverQuota(OverQuota::Rate { .. } | OverQuota::Fuel { .. }) => Self::Late(message),
        }
    }
}

impl From<ExecuteError> for Failure {
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

impl From<UnansweredError> for Failure {
    fn from(error: UnansweredError) -> Self {
        match error {
            UnansweredError::Refused(refused) => refused.into(),
            UnansweredError::Late | UnansweredError::Failed => Self::Late(error.to_string()),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Execute(error) => error.into(),
            SessionError::Refused(RequestError::File(_)) => Self::Invalid(error.to_string()),
            _ => {
                tracing::warn!(%error, "a session of a program could not be used");
                Self::Late("the service can't run this now; send it again".to_owned())
            }
        }
    }
}
