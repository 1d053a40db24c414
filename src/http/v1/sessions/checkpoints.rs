//! `/v1/sessions/{id}/checkpoints`, `fork`, `restore`; `/v1/checkpoints`

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::answer::ErrorBody;
use super::{SessionAnswer, checkpoint_id, duration, own_session, session_answer, time};
use crate::http::AppState;
use crate::http::error::ApiError;
use crate::http::extract::JsonBody;
use crate::service::CheckpointInfo;
use proofbox_types::caller::Caller;

/// Longest name of a checkpoint, in bytes.
const MAX_NAME: usize = 200;

/// Body of a request for a checkpoint.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckpointRequest {
    /// Name, written for people.
    name: Option<String>,
}

/// The state of a session at one moment.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CheckpointAnswer {
    id: String,
    /// The session that it was made of.
    session_id: Option<String>,
    name: Option<String>,
    #[schema(format = DateTime)]
    created_at: String,
    /// Size on disk, in bytes.
    bytes: u64,
    /// The image that it belongs to: no other can load it.
    image_hash: String,
}

impl From<CheckpointInfo> for CheckpointAnswer {
    fn from(info: CheckpointInfo) -> Self {
        Self {
            id: info.id.to_string(),
            session_id: info.session.map(|id| id.to_string()),
            name: info.name,
            created_at: time(info.created),
            bytes: info.bytes,
            image_hash: info.image_hash,
        }
    }
}

/// List of the caller's checkpoints.
#[derive(Serialize, ToSchema)]
pub(crate) struct CheckpointList {
    /// Checkpoints, the newest first.
    checkpoints: Vec<CheckpointAnswer>,
}

/// Number and lifetime of the forks.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkRequest {
    /// Number of sessions to make.
    #[serde(default = "one")]
    count: usize,
    /// Lifetime from now, in seconds; if absent, that of the original.
    ttl_seconds: Option<f64>,
}

fn one() -> usize {
    1
}

/// Sessions that were forked.
#[derive(Serialize, ToSchema)]
pub(crate) struct ForkAnswer {
    /// Forks, as many as were asked for.
    sessions: Vec<SessionAnswer>,
}

/// Checkpoint to go back to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RestoreRequest {
    /// Id of a checkpoint.
    checkpoint: String,
}

/// Stores the state of a session as a checkpoint.
#[utoipa::path(post, path = "/v1/sessions/{id}/checkpoints", request_body = CheckpointRequest, responses(
    (status = 201, body = CheckpointAnswer),
    (status = 404, description = "There is no such session", body = ErrorBody),
))]
pub(crate) async fn make(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    JsonBody(request): JsonBody<CheckpointRequest>,
) -> Result<(StatusCode, Json<CheckpointAnswer>), ApiError> {
    if request.name.as_ref().is_some_and(|name| name.len() > MAX_NAME) {
        return Err(ApiError::meaningless("name", format!("it may have {MAX_NAME} bytes")));
    }
    let made = shared.service.sessions.checkpoint(own_session(&shared, &caller, &id)?, request.name).await?;
    Ok((StatusCode::CREATED, Json(made.into())))
}

/// Lists the caller's checkpoints.
#[utoipa::path(get, path = "/v1/checkpoints", responses((status = 200, body = CheckpointList)))]
pub(crate) async fn list(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<CheckpointList>, ApiError> {
    let checkpoints = shared.service.sessions.checkpoints(&caller).await?.into_iter().map(Into::into).collect();
    Ok(Json(CheckpointList { checkpoints }))
}

/// Removes a checkpoint with its files.
#[utoipa::path(delete, path = "/v1/checkpoints/{id}", responses(
    (status = 204, description = "It is gone"),
    (status = 404, description = "There is none of this name", body = ErrorBody),
))]
pub(crate) async fn remove(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    let id = proofbox_types::ids::CheckpointId::parse(&id).ok_or_else(ApiError::no_checkpoint)?;
    shared.service.sessions.delete_checkpoint(&caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes sessions that continue from the state of this one.
#[utoipa::path(post, path = "/v1/sessions/{id}/fork", request_body = ForkRequest, responses(
    (status = 201, body = ForkAnswer),
    (status = 404, description = "There is no such session", body = ErrorBody),
))]
pub(crate) async fn fork(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    JsonBody(request): JsonBody<ForkRequest>,
) -> Result<(StatusCode, Json<ForkAnswer>), ApiError> {
    let ttl = request.ttl_seconds.map(|seconds| duration("ttl_seconds", seconds)).transpose()?;
    let forks = shared.service.sessions.fork(own_session(&shared, &caller, &id)?, request.count, ttl).await?;
    let sessions = forks.into_iter().map(|info| session_answer(info, &shared.service.images)).collect();
    Ok((StatusCode::CREATED, Json(ForkAnswer { sessions })))
}

/// Restores a session to the state of a checkpoint.
#[utoipa::path(post, path = "/v1/sessions/{id}/restore", request_body = RestoreRequest, responses(
    (status = 200, body = SessionAnswer),
    (status = 404, description = "There is no such session or checkpoint", body = ErrorBody),
    (status = 409, description = "The checkpoint belongs to another image", body = ErrorBody),
))]
pub(crate) async fn restore(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    JsonBody(request): JsonBody<RestoreRequest>,
) -> Result<Json<SessionAnswer>, ApiError> {
    let checkpoint = checkpoint_id("checkpoint", &request.checkpoint)?;
    let info = shared.service.sessions.restore(&caller, own_session(&shared, &caller, &id)?, checkpoint).await?;
    Ok(Json(session_answer(info, &shared.service.images)))
}
