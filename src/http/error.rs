//! Errors of `/v1`, and their status codes: no other module chooses any.

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::sandbox::RequestError;
use crate::service::{Busy, ExecuteError, GradeError, JobError, OverQuota, SessionError, StatsError};
use proofbox_memory::{Full, TooManyValues};
use proofbox_policy::Refusal;
use proofbox_types::session::FileTrouble;

/// An error of the service itself, as the client sees it: a stable code, a sentence, and the field it is about.
#[derive(Debug)]
pub(super) struct ApiError(Box<Fields>);

#[derive(Debug)]
struct Fields {
    status: StatusCode,
    code: &'static str,
    message: String,
    field: Option<String>,
    /// Value that was asked for, and the nearest that would be allowed.
    range: Option<(Value, Value)>,
    retry_after: Option<Duration>,
}

impl ApiError {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        let message = shortened(message.into());
        Self(Box::new(Fields { status, code, message, field: None, range: None, retry_after: None }))
    }

    fn field(mut self, field: impl Into<String>) -> Self {
        self.0.field = Some(shortened(field.into()));
        self
    }

    fn range(mut self, asked: impl Into<Value>, allowed: impl Into<Value>) -> Self {
        self.0.range = Some((asked.into(), allowed.into()));
        self
    }

    fn retry_after(mut self, after: Duration) -> Self {
        self.0.retry_after = Some(after);
        self
    }

    /// 400: the request is not what the contract says; `field` where it is known.
    pub(super) fn malformed(field: Option<String>, message: impl Into<String>) -> Self {
        let error = Self::new(StatusCode::BAD_REQUEST, "malformed_request", message);
        match field {
            Some(field) => error.field(field),
            None => error,
        }
    }

    /// 422: well formed, and without meaning.
    pub(super) fn meaningless(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable", message).field(field)
    }

    /// Puts the error's field `below` this one, for an error in a part of a request.
    pub(super) fn under(mut self, below: &str) -> Self {
        let field = match self.0.field.take() {
            Some(field) => format!("{below}.{field}"),
            None => below.to_owned(),
        };
        self.field(field)
    }

    /// 413: a part of the body.
    pub(super) fn too_large(field: &str, message: impl Into<String>, asked: usize, allowed: usize) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message).field(field).range(asked, allowed)
    }

    /// 413: the body as a whole.
    pub(super) fn body_too_large() -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "body_too_large",
            "the request body is larger than this service accepts",
        )
    }

    /// 413: more JSON values than there is memory for.
    pub(super) fn too_many_values(error: &TooManyValues) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_many_values", error.to_string())
    }

    /// 503: requests hold all the memory that they may.
    pub(super) fn memory_full(error: &Full) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "memory_full", error.to_string()).retry_after(Duration::from_secs(1))
    }

    /// 415: the body is not JSON.
    pub(super) fn not_json() -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", "send JSON with Content-Type: application/json")
    }

    /// 415: the body is neither JSON nor lines of JSON.
    pub(super) fn neither_json_nor_lines() -> Self {
        let message =
            "send JSON with Content-Type: application/json, or a line for each item with application/x-ndjson";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", message)
    }

    /// 404: no route at this path.
    pub(super) fn not_found() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not_found",
            "there is nothing at this path; /openapi.json lists what there is",
        )
    }

    /// 404: the session does not exist.
    pub(super) fn no_session() -> Self {
        SessionError::NotFound.into()
    }

    /// 404: the job does not exist.
    pub(super) fn no_job() -> Self {
        JobError::NotFound.into()
    }

    /// 404: the session has no command of this name.
    pub(super) fn no_command(name: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "command_not_found", format!("there is no command {name}"))
    }

    /// 404: the checkpoint does not exist.
    pub(super) fn no_checkpoint() -> Self {
        SessionError::NoCheckpoint.into()
    }

    /// 405: the path does not take this method.
    pub(super) fn method_not_allowed() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this path does not take this method")
    }

    /// 429: the queue is full.
    pub(super) fn busy(busy: &Busy) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "busy", busy.to_string()).retry_after(busy.retry_after)
    }

    /// 503: going down, or not up.
    pub(super) fn draining() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "draining",
            "the service is going down; send this to another instance",
        )
        .retry_after(Duration::from_secs(1))
    }

    /// 503: the self-test fails. The cause is in the log.
    pub(super) fn not_ready() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", "the service cannot run snippets now")
    }

    /// 500: the cause is in the log.
    pub(super) fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal_error",
            "the service failed; the request may be sent again",
        )
    }
}

impl From<ExecuteError> for ApiError {
    fn from(error: ExecuteError) -> Self {
        let message = error.to_string();
        match error {
            ExecuteError::Refused(Refusal::UnknownPolicy { .. }) => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown_policy", message).field("policy")
            }
            ExecuteError::Refused(Refusal::Limit(refused)) => {
                let code = if refused.above { "limit_above_ceiling" } else { "limit_below_floor" };
                let field = format!("limits.{}", refused.field);
                Self::new(StatusCode::BAD_REQUEST, code, message)
                    .field(field)
                    .range(number(refused.asked), number(refused.allowed))
            }
            ExecuteError::Refused(Refusal::NotForThis { .. }) => {
                Self::new(StatusCode::FORBIDDEN, "policy_not_allowed", message).field("policy")
            }
            ExecuteError::Refused(Refusal::File { field, .. }) => {
                Self::new(StatusCode::FORBIDDEN, "file_not_allowed", message).field(field)
            }
            ExecuteError::UnknownImage { .. } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown_image", message).field("image")
            }
            ExecuteError::Gate => Self::internal(),
            ExecuteError::TooLarge { field, asked, allowed, .. } => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message).field(field).range(asked, allowed)
            }
            ExecuteError::Files { field, .. } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_file", message).field(field)
            }
            ExecuteError::NoKey(error) => {
                tracing::error!(%error, "a receipt can't be signed");
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "no_receipt_key", message).field("receipt")
            }
            ExecuteError::Busy(busy) => Self::busy(&busy),
            ExecuteError::OverQuota(over) => over.into(),
        }
    }
}

impl From<OverQuota> for ApiError {
    fn from(over: OverQuota) -> Self {
        let message = over.to_string();
        let (code, retry_after) = match over {
            OverQuota::Rate { retry_after, .. } => ("rate_limited", retry_after),
            OverQuota::Fuel { retry_after, .. } => ("fuel_budget_used", retry_after),
        };
        Self::new(StatusCode::TOO_MANY_REQUESTS, code, message).retry_after(retry_after)
    }
}

/// Reason why a request is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Denied {
    /// Request without a key, where a key is required.
    #[error("show a key: `Authorization: Bearer KEY` or `X-API-Key: KEY`; `proofbox keys create` makes one")]
    NoKey,
    /// Key that was never issued by this service.
    #[error("this key is not known here")]
    UnknownKey,
    /// Key that has been revoked.
    #[error("this key is revoked")]
    RevokedKey,
    /// Request of another site's page, through a user's browser, or of a page whose own name resolves to this machine.
    #[error("pages of other sites may not use this service without a key")]
    OtherSite,
    /// Key that has used its quota of requests.
    #[error(transparent)]
    OverQuota(#[from] OverQuota),
}

impl From<Denied> for ApiError {
    fn from(denied: Denied) -> Self {
        let message = denied.to_string();
        match denied {
            Denied::NoKey => Self::new(StatusCode::UNAUTHORIZED, "no_key", message),
            Denied::UnknownKey => Self::new(StatusCode::UNAUTHORIZED, "unknown_key", message),
            Denied::RevokedKey => Self::new(StatusCode::UNAUTHORIZED, "key_revoked", message),
            Denied::OtherSite => Self::new(StatusCode::FORBIDDEN, "other_site", message),
            Denied::OverQuota(over) => over.into(),
        }
    }
}

impl From<JobError> for ApiError {
    fn from(error: JobError) -> Self {
        let new = |status, code| Self::new(status, code, error.to_string());
        match error {
            JobError::NotFound => new(StatusCode::NOT_FOUND, "job_not_found"),
            JobError::NoStore => new(StatusCode::SERVICE_UNAVAILABLE, "no_store"),
            JobError::TooMany { allowed } => new(StatusCode::TOO_MANY_REQUESTS, "too_many_jobs")
                .range(allowed + 1, allowed)
                .retry_after(Duration::from_secs(10)),
            JobError::NoRoom | JobError::DiskFull => new(StatusCode::INSUFFICIENT_STORAGE, "store_full"),
            JobError::OverQuota { asked, allowed } => {
                new(StatusCode::INSUFFICIENT_STORAGE, "disk_quota_exceeded").range(asked, allowed)
            }
            JobError::OtherRequest => {
                new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused").field("Idempotency-Key")
            }
            JobError::Damaged => new(StatusCode::INTERNAL_SERVER_ERROR, "job_damaged"),
            JobError::Store => Self::internal(),
        }
    }
}

impl From<StatsError> for ApiError {
    fn from(error: StatsError) -> Self {
        let message = error.to_string();
        match error {
            StatsError::NoStore => Self::new(StatusCode::SERVICE_UNAVAILABLE, "no_store", message),
            StatsError::TooMany { .. } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "too_many_groups", message).field("group_by")
            }
            StatsError::Store => Self::internal(),
        }
    }
}

impl From<SessionError> for ApiError {
    fn from(error: SessionError) -> Self {
        let message = error.to_string();
        let new = |status, code| Self::new(status, code, message.clone());
        match error {
            SessionError::NotFound => new(StatusCode::NOT_FOUND, "session_not_found"),
            SessionError::NoCheckpoint => new(StatusCode::NOT_FOUND, "checkpoint_not_found"),
            SessionError::Lost => new(StatusCode::GONE, "session_lost"),
            SessionError::Paused => new(StatusCode::CONFLICT, "session_paused"),
            SessionError::TooMany { allowed } => new(StatusCode::TOO_MANY_REQUESTS, "too_many_sessions")
                .range(allowed + 1, allowed)
                .retry_after(Duration::from_secs(10)),
            SessionError::TtlTooLong { field, asked, allowed } => new(StatusCode::BAD_REQUEST, "ttl_above_ceiling")
                .field(field)
                .range(number(asked.as_secs_f64()), number(allowed.as_secs_f64())),
            SessionError::Forks { asked, allowed } => {
                new(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable").field("count").range(asked, allowed)
            }
            SessionError::Packages { .. } => {
                new(StatusCode::UNPROCESSABLE_ENTITY, "packages_not_installed").field("packages")
            }
            SessionError::NoDirectory { .. } => new(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable").field("cwd"),
            SessionError::CommandTimeout(refused) => {
                let code = if refused.above { "limit_above_ceiling" } else { "limit_below_floor" };
                new(StatusCode::BAD_REQUEST, code)
                    .field("timeout_seconds")
                    .range(number(refused.asked), number(refused.allowed))
            }
            SessionError::NoInput => new(StatusCode::CONFLICT, "command_takes_no_input"),
            SessionError::CommandEnded => new(StatusCode::CONFLICT, "command_ended"),
            SessionError::OtherImage { .. } => new(StatusCode::CONFLICT, "checkpoint_of_another_image"),
            SessionError::StoreFull | SessionError::NoStoreRoom => new(StatusCode::INSUFFICIENT_STORAGE, "store_full"),
            SessionError::DiskQuota { asked, allowed } => {
                new(StatusCode::INSUFFICIENT_STORAGE, "disk_quota_exceeded").range(asked, allowed)
            }
            SessionError::TooManyTags { allowed } => {
                new(StatusCode::INSUFFICIENT_STORAGE, "too_many_tags").range(allowed + 1, allowed)
            }
            SessionError::KeyRevoked => new(StatusCode::UNAUTHORIZED, "key_revoked"),
            SessionError::NoStore => new(StatusCode::SERVICE_UNAVAILABLE, "no_store"),
            SessionError::Store | SessionError::NoRandomness => Self::internal(),
            SessionError::Volume(error) if error.is_want_of_room() => {
                new(StatusCode::INSUFFICIENT_STORAGE, "volume_full")
            }
            // Sessions of this API have no volumes of their own: it moves and ends those of another.
            SessionError::Volume(error) => {
                tracing::error!(%error, "a volume failed");
                Self::internal()
            }
            SessionError::Execute(error) => error.into(),
            SessionError::Refused(RequestError::File(refused)) => {
                let status = match refused.trouble {
                    FileTrouble::NotFound => StatusCode::NOT_FOUND,
                    FileTrouble::Exists | FileTrouble::NotEmpty => StatusCode::CONFLICT,
                    FileTrouble::NoSpace => StatusCode::INSUFFICIENT_STORAGE,
                    FileTrouble::ReadOnly => StatusCode::FORBIDDEN,
                    FileTrouble::IsADirectory
                    | FileTrouble::NotADirectory
                    | FileTrouble::BadPath
                    | FileTrouble::Other => StatusCode::UNPROCESSABLE_ENTITY,
                };
                new(status, refused.trouble.as_str()).field("path")
            }
            SessionError::Refused(RequestError::Checkpoint(_)) => {
                new(StatusCode::CONFLICT, "checkpoint_unusable").field("checkpoint")
            }
            SessionError::Refused(RequestError::NoContext(_)) => new(StatusCode::NOT_FOUND, "context_not_found"),
            SessionError::Refused(RequestError::NoCommand(_)) => new(StatusCode::NOT_FOUND, "command_not_found"),
            SessionError::Refused(RequestError::TooMany(_)) => new(StatusCode::CONFLICT, "too_many"),
            SessionError::Refused(RequestError::NoRoom(_)) => {
                new(StatusCode::TOO_MANY_REQUESTS, "busy").retry_after(Duration::from_secs(1))
            }
            // Commands that run keep the session where it is: no client is refused for them.
            SessionError::Refused(
                RequestError::Cancelled | RequestError::CommandsRun | RequestError::Failed(_) | RequestError::NoSession,
            )
            | SessionError::Failed(_) => {
                tracing::error!(error = message, "a session failed");
                Self::internal()
            }
        }
    }
}

impl From<GradeError> for ApiError {
    fn from(error: GradeError) -> Self {
        match error {
            GradeError::NoFile(_) | GradeError::NotText(_) => Self::meaningless("path", error.to_string()),
            GradeError::Session(error) => error.into(),
            GradeError::Execute(error) => error.into(),
        }
    }
}

/// Cuts a message that quotes what a client sent to 500 bytes.
fn shortened(mut text: String) -> String {
    const MAX_LENGTH: usize = 500;
    if text.len() > MAX_LENGTH {
        text.truncate(text.floor_char_boundary(MAX_LENGTH));
        text.push('…');
    }
    text
}

/// Renders a number, whole ones without a fraction.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

impl ApiError {
    /// Renders the value of `error` in the answer.
    pub(super) fn to_json(&self) -> Value {
        let fields = &self.0;
        let mut error = json!({"code": fields.code, "message": fields.message});
        if let Some(field) = &fields.field {
            error["field"] = json!(field);
        }
        if let Some((asked, allowed)) = &fields.range {
            error["asked"] = asked.clone();
            error["allowed"] = allowed.clone();
        }
        error
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.0.status, Json(json!({"error": self.to_json()}))).into_response();
        if self.0.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(after) = self.0.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(after.as_secs().max(1)));
        }
        response
    }
}
