//! `/v1/sessions`: interpreters that keep their state.
//!
//! - here: making, showing and ending them;
//! - `execute`: code for them, answered at once or as it happens;
//! - `commands`: scripts for their shell;
//! - `files`: their files;
//! - `grade`: verdicts on their files;
//! - `checkpoints`: saving, branching, going back;
//! - `stream`: forms of answers.

pub(crate) mod checkpoints;
pub(crate) mod commands;
pub(crate) mod execute;
pub(crate) mod files;
pub(crate) mod grade;
mod stream;

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::routing::{delete, get, post};
use axum::{Extension, Json, Router};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::answer::{ErrorBody, LimitsInForce, RuntimeAnswer};
use super::files::{FileContent, candidates_file};
use super::request::{LimitsRequest, checked_env};
use crate::http::AppState;
use crate::http::error::ApiError;
use crate::http::extract::{JsonBody, Object, read_json};
use crate::service::{MAX_PACKAGES, MAX_REQUIREMENT_BYTES, SessionAsked, SessionInfo, SessionState};
use proofbox_runtime::images::Images;
use proofbox_types::caller::Caller;
use proofbox_types::ids::{CheckpointId, SessionId};
use proofbox_types::session::DEFAULT_CONTEXT;

/// The routes of sessions.
pub(crate) fn routes() -> Router<AppState> {
    let file = get(files::file).head(files::file).put(files::write).delete(files::remove);
    Router::new()
        .route("/v1/sessions", post(open).get(list))
        .route("/v1/sessions/{id}", get(show).patch(change).delete(end))
        .route("/v1/sessions/{id}/execute", post(execute::execute))
        .route("/v1/sessions/{id}/commands", post(commands::start).get(commands::list))
        .route("/v1/sessions/{id}/commands/{command_id}", get(commands::show).delete(commands::remove))
        .route("/v1/sessions/{id}/commands/{command_id}/output", get(commands::output))
        .route("/v1/sessions/{id}/commands/{command_id}/input", post(commands::input))
        .route("/v1/sessions/{id}/commands/{command_id}/signal", post(commands::signal))
        .route("/v1/sessions/{id}/grade", post(grade::grade))
        .route("/v1/sessions/{id}/interrupt", post(interrupt))
        .route("/v1/sessions/{id}/restart", post(restart))
        .route("/v1/sessions/{id}/files", get(files::list).post(files::change))
        .route("/v1/sessions/{id}/files/{*path}", file)
        .route("/v1/sessions/{id}/checkpoints", post(checkpoints::make))
        .route("/v1/sessions/{id}/fork", post(checkpoints::fork))
        .route("/v1/sessions/{id}/restore", post(checkpoints::restore))
        .route("/v1/checkpoints", get(checkpoints::list))
        .route("/v1/checkpoints/{id}", delete(checkpoints::remove))
}

/// Sessions on one page of the list, where the client does not say; and at most.
const PAGE: usize = 100;
const LARGEST_PAGE: usize = 1000;

/// Body of `POST /v1/sessions`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionRequest {
    /// Name of a policy pack; `default`, or that of the checkpoint.
    policy: Option<String>,
    /// Name or hash of an image; `GET /v1/runtime` lists them. A checkpoint has its own. If absent, `default`.
    image: Option<String>,
    /// Limits of each call; those of memory and files are of the whole session.
    #[serde(default)]
    #[schema(value_type = LimitsRequest)]
    limits: Object<LimitsRequest>,
    /// The whole environment: it is empty but for these. With `from_checkpoint`, they are added to the checkpoint's.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Files of the working directory, by relative path.
    #[serde(default)]
    files: BTreeMap<String, FileContent>,
    /// Packages that are installed before the session is answered, as requirements of `pip`: from the wheels that the
    /// operator approves, and `files`.
    #[serde(default)]
    packages: Vec<String>,
    /// Lifetime from now, in seconds [default: 3600]
    ttl_seconds: Option<f64>,
    /// Lifetime without being used, in seconds; if absent, `ttl_seconds` alone counts.
    idle_seconds: Option<f64>,
    /// Labels, returned with the session.
    #[serde(default)]
    labels: BTreeMap<String, String>,
    /// Id of the checkpoint that it goes on from.
    from_checkpoint: Option<String>,
}

/// `PATCH /v1/sessions/{id}`
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionChange {
    /// Lifetime from now, in seconds.
    ttl_seconds: f64,
}

/// State of a session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionAnswer {
    id: String,
    /// `idle`, `busy`, `stored` (on disk, the next call brings it back), `paused`.
    #[schema(example = "idle")]
    state: &'static str,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    expires_at: String,
    #[schema(format = DateTime)]
    last_used_at: String,
    ttl_seconds: f64,
    idle_seconds: Option<f64>,
    policy: String,
    limits: LimitsInForce,
    /// Calls that it has served.
    execution_count: u64,
    /// Memory that it has for itself: what it shares with all others is not counted.
    memory_bytes: u64,
    files_bytes: u64,
    runtime: RuntimeAnswer,
    labels: BTreeMap<String, String>,
}

/// A page of sessions.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionList {
    /// Sessions, the oldest first.
    sessions: Vec<SessionAnswer>,
    /// Cursor of the next page, if there is one.
    next: Option<String>,
}

/// Page of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    /// Maximum number of sessions on the page.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// `next` of the page before.
    next: Option<String>,
}

/// The session on the wire.
pub(crate) fn session_answer(info: SessionInfo, images: &Images) -> SessionAnswer {
    SessionAnswer {
        id: info.id.to_string(),
        state: match info.state {
            SessionState::Busy => "busy",
            SessionState::Idle => "idle",
            SessionState::Stored => "stored",
            SessionState::Paused => "paused",
        },
        created_at: time(info.spec.created),
        expires_at: time(info.expires),
        last_used_at: time(info.last_used),
        ttl_seconds: info.ttl.as_secs_f64(),
        idle_seconds: info.idle.map(|idle| idle.as_secs_f64()),
        policy: info.spec.policy.clone(),
        limits: info.spec.grant.limits().into(),
        execution_count: info.calls,
        memory_bytes: info.footprint.memory_bytes,
        files_bytes: info.footprint.files_bytes,
        runtime: RuntimeAnswer::of(&info.spec.image, images.name_of(&info.spec.image).to_owned(), None),
        labels: info.spec.labels.clone(),
    }
}

fn time(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Returns the session that a path names, if it is the caller's own; sessions of others are reported as not found.
fn own_session(shared: &AppState, caller: &Caller, text: &str) -> Result<SessionId, ApiError> {
    let id = SessionId::parse(text).ok_or_else(ApiError::no_session)?;
    if shared.service.sessions.is_own(caller, id) { Ok(id) } else { Err(ApiError::no_session()) }
}

fn checkpoint_id(field: &str, text: &str) -> Result<CheckpointId, ApiError> {
    CheckpointId::parse(text).ok_or_else(|| ApiError::meaningless(field, "this is no id of a checkpoint"))
}

/// A time to live: what comes as a number may be none.
fn duration(field: &str, seconds: f64) -> Result<Duration, ApiError> {
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if duration >= Duration::from_millis(1) => Ok(duration),
        _ => Err(ApiError::meaningless(field, "it must be a number of seconds above 0")),
    }
}

/// Opens a session, empty or from a checkpoint.
#[utoipa::path(
    post,
    path = "/v1/sessions",
    request_body = SessionRequest,
    responses(
        (status = 201, description = "It is there", body = SessionAnswer),
        (status = 400, description = "Malformed, or a limit outside the policy's range", body = ErrorBody),
        (status = 409, description = "The checkpoint belongs to another image", body = ErrorBody),
        (status = 422, description = "Well formed, but meaningless", body = ErrorBody),
        (status = 429, description = "There are too many", body = ErrorBody),
    )
)]
pub(crate) async fn open(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<(StatusCode, Json<SessionAnswer>), ApiError> {
    let asked = read_json(request, |request| asked_of(request, caller)).await?;
    let info = shared.service.sessions.open(asked).await?;
    Ok((StatusCode::CREATED, Json(session_answer(info, &shared.service.images))))
}

fn asked_of(request: SessionRequest, caller: Caller) -> Result<SessionAsked, ApiError> {
    checked_env(&request.env)?;
    let from_checkpoint =
        request.from_checkpoint.as_deref().map(|id| checkpoint_id("from_checkpoint", id)).transpose()?;
    if from_checkpoint.is_some() && !request.files.is_empty() {
        return Err(ApiError::meaningless("from_checkpoint", "a checkpoint has its own `files`"));
    }
    checked_packages(&request.packages)?;
    let Object(limits) = request.limits;
    Ok(SessionAsked {
        policy: request.policy,
        image: request.image,
        limits: limits.into(),
        env: request.env.into_iter().collect(),
        files: request.files.into_iter().map(candidates_file).collect::<Result<_, _>>()?,
        packages: request.packages,
        ttl: request.ttl_seconds.map(|seconds| duration("ttl_seconds", seconds)).transpose()?,
        idle: request.idle_seconds.map(|seconds| duration("idle_seconds", seconds)).transpose()?,
        labels: Some(request.labels).filter(|labels| !labels.is_empty()),
        from_checkpoint,
        caller,
        ..SessionAsked::default()
    })
}

fn checked_packages(packages: &[String]) -> Result<(), ApiError> {
    if packages.len() > MAX_PACKAGES {
        return Err(ApiError::meaningless("packages", format!("there may be {MAX_PACKAGES} packages")));
    }
    let is_bad = |each: &&String| each.trim().is_empty() || each.len() > MAX_REQUIREMENT_BYTES || each.starts_with('-');
    match packages.iter().find(is_bad) {
        Some(_) => Err(ApiError::meaningless(
            "packages",
            format!("a package is a requirement of 1 to {MAX_REQUIREMENT_BYTES} bytes, and no option"),
        )),
        None => Ok(()),
    }
}

/// Lists the caller's sessions, page by page.
#[utoipa::path(get, path = "/v1/sessions", params(Page), responses((status = 200, body = SessionList)))]
pub(crate) async fn list(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    page: Result<Query<Page>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<SessionList>, ApiError> {
    let Query(page) = page.map_err(|error| ApiError::malformed(None, error.body_text()))?;
    let limit = page.limit.unwrap_or(PAGE);
    if !(1..=LARGEST_PAGE).contains(&limit) {
        return Err(ApiError::meaningless("limit", format!("it must be from 1 to {LARGEST_PAGE}")));
    }
    let after = page
        .next
        .as_deref()
        .map(|next| SessionId::parse(next).ok_or_else(|| ApiError::meaningless("next", "this is no `next` of a page")));
    let after = after.transpose()?;
    let mut infos = shared.service.sessions.list(&caller, after, limit + 1);
    let next = (infos.len() > limit).then(|| infos[limit - 1].id.to_string());
    infos.truncate(limit);
    let sessions = infos.into_iter().map(|info| session_answer(info, &shared.service.images)).collect();
    Ok(Json(SessionList { sessions, next }))
}

/// Shows a session's state.
#[utoipa::path(get, path = "/v1/sessions/{id}", responses(
    (status = 200, body = SessionAnswer),
    (status = 404, description = "There is none of this name", body = ErrorBody),
))]
pub(crate) async fn show(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<SessionAnswer>, ApiError> {
    let info = shared.service.sessions.info(own_session(&shared, &caller, &id)?)?;
    Ok(Json(session_answer(info, &shared.service.images)))
}

/// Sets a session's lifetime, from now.
#[utoipa::path(patch, path = "/v1/sessions/{id}", request_body = SessionChange, responses(
    (status = 200, body = SessionAnswer),
    (status = 404, description = "There is none of this name", body = ErrorBody),
))]
pub(crate) async fn change(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    JsonBody(request): JsonBody<SessionChange>,
) -> Result<Json<SessionAnswer>, ApiError> {
    let ttl = duration("ttl_seconds", request.ttl_seconds)?;
    let info = shared.service.sessions.keep(own_session(&shared, &caller, &id)?, ttl).await?;
    Ok(Json(session_answer(info, &shared.service.images)))
}

/// Ends a session, and removes its files.
#[utoipa::path(delete, path = "/v1/sessions/{id}", responses(
    (status = 204, description = "It is gone"),
    (status = 404, description = "There is none of this name", body = ErrorBody),
))]
pub(crate) async fn end(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    shared.service.sessions.end(own_session(&shared, &caller, &id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Answer to an interruption.
#[derive(Serialize, ToSchema)]
pub(crate) struct InterruptAnswer {
    /// True when there was a call to interrupt.
    interrupted: bool,
}

/// Interrupts the call that a session serves.
#[utoipa::path(post, path = "/v1/sessions/{id}/interrupt", responses(
    (status = 200, body = InterruptAnswer),
    (status = 404, description = "There is none of this name", body = ErrorBody),
))]
pub(crate) async fn interrupt(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<InterruptAnswer>, ApiError> {
    let interrupted = shared.service.sessions.interrupt(own_session(&shared, &caller, &id)?, DEFAULT_CONTEXT).await?;
    Ok(Json(InterruptAnswer { interrupted }))
}

/// Gives a session a fresh interpreter; its files stay.
#[utoipa::path(post, path = "/v1/sessions/{id}/restart", responses(
    (status = 200, body = SessionAnswer),
    (status = 404, description = "There is none of this name", body = ErrorBody),
))]
pub(crate) async fn restart(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<SessionAnswer>, ApiError> {
    let id = own_session(&shared, &caller, &id)?;
    shared.service.sessions.restart_context(id, DEFAULT_CONTEXT).await?;
    Ok(Json(session_answer(shared.service.sessions.info(id)?, &shared.service.images)))
}
