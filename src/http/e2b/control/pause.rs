//! Pausing and resuming sandboxes.

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::Value;

use super::super::error::{E2bError, Kind};
use super::super::{E2b, body};
use super::{domain, lifetime, sandbox_json};
use crate::service::{SavedState, SessionError};
use proofbox_types::caller::Caller;

#[derive(Deserialize)]
struct PauseRequest {
    /// False: its files only.
    #[serde(default)]
    memory: Option<bool>,
}

/// Pauses a sandbox, with its memory or with its files only.
pub(crate) async fn pause(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request,
) -> Result<StatusCode, E2bError> {
    let id = e2b.own(&caller, &id)?;
    let PauseRequest { memory } = body::json(request).await?;
    let saved = if memory.unwrap_or(true) { SavedState::Whole } else { SavedState::Files };
    e2b.shared.service.sessions.pause(id, saved).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
struct ConnectRequest {
    #[serde(default)]
    timeout: Option<u64>,
    /// False: with fresh interpreters.
    #[serde(default)]
    memory: Option<bool>,
}

/// Finds a sandbox, and resumes it if it is paused. A running one lives at least as long as is asked.
pub(crate) async fn connect(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request,
) -> Result<(StatusCode, Json<Value>), E2bError> {
    go_on(&e2b, &caller, &id, request, WhenRunning::Extend).await
}

/// Resumes a paused sandbox.
pub(crate) async fn resume(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request,
) -> Result<(StatusCode, Json<Value>), E2bError> {
    go_on(&e2b, &caller, &id, request, WhenRunning::Refuse).await
}

/// Treatment of a sandbox that is not paused.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WhenRunning {
    /// Its lifetime is extended.
    Extend,
    /// The request is refused.
    Refuse,
}

async fn go_on(
    e2b: &E2b,
    caller: &Caller,
    id: &str,
    request: Request,
    when_running: WhenRunning,
) -> Result<(StatusCode, Json<Value>), E2bError> {
    let domain = domain(e2b.shared.scheme, request.headers(), request.uri());
    let id = e2b.own(caller, id)?;
    let ConnectRequest { timeout, memory } = body::json(request).await?;
    let timeout = timeout.map(lifetime).transpose()?;
    let service = &e2b.shared.service;
    let resumed = service.sessions.resume(id).await?;
    if !resumed && when_running == WhenRunning::Refuse {
        return Err(E2bError::new(Kind::Conflict, "the sandbox is running already"));
    }
    let info = match timeout {
        Some(timeout) if resumed => service.sessions.keep(id, timeout).await?,
        Some(timeout) => service.sessions.extend(id, timeout).await?,
        None => service.sessions.info(id)?,
    };
    if resumed && memory == Some(false) {
        for (context, _) in service.sessions.contexts(id).await? {
            match service.sessions.restart_context(id, context).await {
                // It went meanwhile: so did what was in it.
                Ok(()) | Err(SessionError::Refused(crate::sandbox::RequestError::NoContext(_))) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    let status = if resumed { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(sandbox_json(&info, &domain))))
}
