//! Errors in the three forms that E2B's clients read: JSON with `code` and `message`, plain text, and Connect's. Status
//! codes of this API flavour are chosen only here.

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::http::body::BodyError;
use crate::http::error::Denied;
use crate::sandbox::RequestError;
use crate::service::{ExecuteError, OverQuota, SessionError, VolumeError};
use proofbox_policy::Refusal;
use proofbox_types::session::FileTrouble;

/// Kind of error, which determines the status code and Connect's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The request is wrong.
    Bad,
    /// Request without valid credentials.
    Unauthenticated,
    /// Action that nobody may take.
    Forbidden,
    /// Object that does not exist.
    NotFound,
    /// Object that exists already.
    Exists,
    /// Action that the current state does not permit.
    Conflict,
    /// Body or value that is too large.
    TooLarge,
    /// Media type that is not supported here.
    NotThatType,
    /// Range outside the file.
    NoRange,
    /// Too many requests at present.
    Busy,
    /// Events that were lost, because the client fetched them too slowly.
    Missed,
    /// The files' quota is used up.
    NoSpace,
    /// Feature of E2B that this service does not have.
    Unimplemented,
    /// The method is for another path.
    Method,
    /// The service can't now.
    Unavailable,
    /// The time of the call is over.
    Deadline,
    /// Internal failure of the service.
    Internal,
}

impl Kind {
    fn status(self) -> StatusCode {
        match self {
            Self::Bad => StatusCode::BAD_REQUEST,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Exists | Self::Conflict | Self::Missed => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotThatType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::NoRange => StatusCode::RANGE_NOT_SATISFIABLE,
            Self::Busy => StatusCode::TOO_MANY_REQUESTS,
            Self::NoSpace => StatusCode::INSUFFICIENT_STORAGE,
            Self::Unimplemented => StatusCode::NOT_IMPLEMENTED,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Deadline => StatusCode::GATEWAY_TIMEOUT,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Connect's code, and the status that goes with it.
    fn connect(self) -> (&'static str, StatusCode) {
        match self {
            Self::Bad | Self::NoRange => ("invalid_argument", StatusCode::BAD_REQUEST),
            Self::Unauthenticated => ("unauthenticated", StatusCode::UNAUTHORIZED),
            Self::Forbidden => ("permission_denied", StatusCode::FORBIDDEN),
            Self::NotFound => ("not_found", StatusCode::NOT_FOUND),
            Self::Exists => ("already_exists", StatusCode::CONFLICT),
            // Not `resource_exhausted`: clients take that for a rate limit, and try again.
            Self::Conflict | Self::NoSpace => ("failed_precondition", StatusCode::BAD_REQUEST),
            Self::TooLarge | Self::Busy => ("resource_exhausted", StatusCode::TOO_MANY_REQUESTS),
            // Of all codes one that clients take for nothing else.
            Self::Missed => ("aborted", StatusCode::CONFLICT),
            // As Connect has it: this status, and no body that clients must read.
            Self::NotThatType => ("invalid_argument", StatusCode::UNSUPPORTED_MEDIA_TYPE),
            Self::Unimplemented | Self::Method => ("unimplemented", StatusCode::NOT_IMPLEMENTED),
            Self::Unavailable => ("unavailable", StatusCode::SERVICE_UNAVAILABLE),
            Self::Deadline => ("deadline_exceeded", StatusCode::GATEWAY_TIMEOUT),
            Self::Internal => ("internal", StatusCode::INTERNAL_SERVER_ERROR),
        }
    }
}

/// An error as E2B's clients read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum E2bError {
    /// Error of the request itself.
    Plain {
        /// Kind of the error.
        kind: Kind,
        /// Message, written for people.
        message: String,
        /// Time after which to try again, if that may help.
        retry_after: Option<Duration>,
    },
    /// Sandbox that does not exist: every path of a sandbox's own gives the same answer.
    Dead {
        /// Name of the sandbox.
        sandbox: String,
    },
    /// The sandbox has nothing at this port.
    Closed {
        /// Name of the sandbox.
        sandbox: String,
        /// Port that nothing listens on.
        port: u16,
    },
}

impl E2bError {
    /// An error of this kind.
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        let mut message = message.into();
        const MAX_LENGTH: usize = 500;
        if message.len() > MAX_LENGTH {
            message.truncate(message.floor_char_boundary(MAX_LENGTH));
            message.push('…');
        }
        Self::Plain { kind, message, retry_after: None }
    }

    /// Error for a sandbox that does not exist.
    pub(crate) fn dead(sandbox: &str) -> Self {
        Self::Dead { sandbox: sandbox.chars().take(100).collect() }
    }

    /// Internal failure of the service.
    pub(crate) fn internal() -> Self {
        Self::new(Kind::Internal, "the service failed; the request may be sent again")
    }

    /// Translates an error of the sandbox `sandbox`, on a path of its own.
    pub(crate) fn of_sandbox(sandbox: &str, error: SessionError) -> Self {
        match error {
            SessionError::NotFound | SessionError::Lost | SessionError::Paused => Self::dead(sandbox),
            error => error.into(),
        }
    }

    /// Returns the kind of the error.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Plain { kind, .. } => *kind,
            Self::Dead { .. } | Self::Closed { .. } => Kind::Unavailable,
        }
    }

    /// Returns the message for people.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Plain { message, .. } => message.clone(),
            // Clients look for these words.
            Self::Dead { .. } => "The sandbox was not found".to_owned(),
            Self::Closed { .. } => "The sandbox is running but port is not open".to_owned(),
        }
    }

    /// Returns the error with another kind.
    pub(crate) fn with_kind(self, kind: Kind) -> Self {
        Self::new(kind, self.message())
    }

    /// Renders the error as plain text.
    pub(crate) fn into_text(self) -> Response {
        match self {
            Self::Plain { kind, message, retry_after } => {
                finished((kind.status(), message).into_response(), retry_after)
            }
            other => other.into_response(),
        }
    }

    /// Renders the error as the answer to a unary Connect call.
    pub(crate) fn into_connect(self) -> Response {
        match self {
            Self::Plain { kind, retry_after, .. } => {
                let (_, status) = kind.connect();
                finished((status, Json(self.connect_json())).into_response(), retry_after)
            }
            other => other.into_response(),
        }
    }

    /// Renders the error as it stands in the last envelope of a stream, or in the answer to a call.
    pub(crate) fn connect_json(&self) -> Value {
        json!({"code": self.kind().connect().0, "message": self.message()})
    }
}

/// Marker of an answer that is in the form of this API flavour already.
#[derive(Clone, Copy, Debug)]
pub(super) struct Translated;

fn finished(mut response: Response, retry_after: Option<Duration>) -> Response {
    response.extensions_mut().insert(Translated);
    if let Some(after) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(after.as_secs().max(1)));
    }
    response
}

impl IntoResponse for E2bError {
    fn into_response(self) -> Response {
        let message = self.message();
        match self {
            Self::Plain { kind, retry_after, .. } => {
                let status = kind.status();
                let body = Json(json!({"code": status.as_u16(), "message": message}));
                finished((status, body).into_response(), retry_after)
            }
            Self::Dead { sandbox } => {
                let body = Json(json!({"sandboxId": sandbox, "message": message, "code": 502}));
                finished((StatusCode::BAD_GATEWAY, body).into_response(), None)
            }
            Self::Closed { sandbox, port } => {
                let body = Json(json!({"sandboxId": sandbox, "message": message, "port": port, "code": 502}));
                finished((StatusCode::BAD_GATEWAY, body).into_response(), None)
            }
        }
    }
}

impl From<SessionError> for E2bError {
    fn from(error: SessionError) -> Self {
        let message = error.to_string();
        let kind = match error {
            SessionError::NotFound | SessionError::NoCheckpoint => Kind::NotFound,
            SessionError::KeyRevoked => Kind::Unauthenticated,
            SessionError::Lost => return Self::new(Kind::NotFound, message),
            SessionError::Paused | SessionError::OtherImage { .. } => Kind::Conflict,
            SessionError::TooMany { .. } => return busy(message, Duration::from_secs(10)),
            SessionError::TtlTooLong { .. }
            | SessionError::Forks { .. }
            | SessionError::Packages { .. }
            | SessionError::NoDirectory { .. }
            | SessionError::CommandTimeout(_) => Kind::Bad,
            SessionError::NoInput => Kind::Conflict,
            SessionError::CommandEnded => Kind::NotFound,
            SessionError::StoreFull
            | SessionError::NoStoreRoom
            | SessionError::DiskQuota { .. }
            | SessionError::TooManyTags { .. } => Kind::NoSpace,
            SessionError::NoStore => Kind::Unavailable,
            SessionError::Store | SessionError::NoRandomness => return Self::internal(),
            SessionError::Volume(error) => return error.into(),
            SessionError::Execute(error) => match error {
                ExecuteError::Refused(Refusal::NotForThis { .. } | Refusal::File { .. }) => Kind::Forbidden,
                ExecuteError::UnknownImage { .. } => Kind::NotFound,
                ExecuteError::Refused(Refusal::UnknownPolicy { .. } | Refusal::Limit(_)) => Kind::Bad,
                ExecuteError::TooLarge { .. } => Kind::TooLarge,
                ExecuteError::Files { .. } => Kind::Bad,
                ExecuteError::NoKey(_) => Kind::Unavailable,
                ExecuteError::Gate => return Self::internal(),
                ExecuteError::Busy(refused) => return busy(message, refused.retry_after),
                ExecuteError::OverQuota(over) => return over.into(),
            },
            SessionError::Refused(RequestError::File(refused)) => match refused.trouble {
                FileTrouble::NotFound => Kind::NotFound,
                FileTrouble::Exists => Kind::Exists,
                FileTrouble::NoSpace => Kind::NoSpace,
                FileTrouble::ReadOnly => Kind::Forbidden,
                FileTrouble::NotEmpty
                | FileTrouble::IsADirectory
                | FileTrouble::NotADirectory
                | FileTrouble::BadPath
                | FileTrouble::Other => Kind::Bad,
            },
            SessionError::Refused(RequestError::Checkpoint(_) | RequestError::TooMany(_)) => Kind::Conflict,
            SessionError::Refused(RequestError::NoContext(_) | RequestError::NoCommand(_)) => Kind::NotFound,
            SessionError::Refused(RequestError::NoRoom(_)) => return busy(message, Duration::from_secs(1)),
            // Commands that run keep the session where it is: no client is refused for them.
            SessionError::Refused(
                RequestError::Cancelled | RequestError::CommandsRun | RequestError::Failed(_) | RequestError::NoSession,
            )
            | SessionError::Failed(_) => {
                tracing::error!(error = message, "a session failed");
                return Self::internal();
            }
        };
        Self::new(kind, message)
    }
}

impl From<VolumeError> for E2bError {
    fn from(error: VolumeError) -> Self {
        let kind = match &error {
            VolumeError::NotFound | VolumeError::Unknown { .. } => Kind::NotFound,
            VolumeError::BadName { .. } | VolumeError::BadMount { .. } | VolumeError::Malformed => Kind::Bad,
            VolumeError::NameTaken { .. } | VolumeError::InUse { .. } | VolumeError::Damaged { .. } => Kind::Conflict,
            VolumeError::Listing { .. } => Kind::TooLarge,
            VolumeError::TooMany { .. }
            | VolumeError::Full { .. }
            | VolumeError::DiskFull
            | VolumeError::NoRoom
            | VolumeError::OverQuota { .. } => Kind::NoSpace,
            VolumeError::Path { trouble, .. } => match trouble {
                FileTrouble::NotFound => Kind::NotFound,
                FileTrouble::Exists | FileTrouble::IsADirectory | FileTrouble::NotADirectory => Kind::Conflict,
                FileTrouble::NoSpace => Kind::NoSpace,
                FileTrouble::ReadOnly => Kind::Forbidden,
                FileTrouble::NotEmpty | FileTrouble::BadPath | FileTrouble::Other => Kind::Bad,
            },
            VolumeError::NoStore => Kind::Unavailable,
            VolumeError::NoRandomness | VolumeError::Store => return Self::internal(),
        };
        Self::new(kind, error.to_string())
    }
}

impl From<BodyError> for E2bError {
    fn from(error: BodyError) -> Self {
        let message = error.to_string();
        match error {
            BodyError::TooLarge | BodyError::TooManyValues(_) => Self::new(Kind::TooLarge, message),
            BodyError::Broken | BodyError::TooSlow => Self::new(Kind::Bad, message),
            BodyError::Full(_) => {
                Self::Plain { kind: Kind::Unavailable, message, retry_after: Some(Duration::from_secs(1)) }
            }
            BodyError::Internal => Self::internal(),
        }
    }
}

impl From<OverQuota> for E2bError {
    fn from(over: OverQuota) -> Self {
        let (OverQuota::Rate { retry_after, .. } | OverQuota::Fuel { retry_after, .. }) = over;
        busy(over.to_string(), retry_after)
    }
}

impl From<Denied> for E2bError {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::NoKey | Denied::UnknownKey | Denied::RevokedKey => {
                Self::new(Kind::Unauthenticated, denied.to_string())
            }
            Denied::OtherSite => Self::new(Kind::Forbidden, denied.to_string()),
            Denied::OverQuota(over) => over.into(),
        }
    }
}

fn busy(message: String, after: Duration) -> E2bError {
    E2bError::Plain { kind: Kind::Busy, message, retry_after: Some(after) }
}
