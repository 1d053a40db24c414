//! Snapshots, which are checkpoints, and forks.

use std::collections::HashSet;

use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::body::parameter;
use super::super::error::{E2bError, Kind};
use super::super::{E2b, body};
use super::list::{page_of, with_next};
use super::{check_running, domain, lifetime, sandbox_json};
use crate::service::CheckpointInfo;
use proofbox_types::caller::Caller;
use proofbox_types::ids::{CheckpointId, SessionId};

/// Longest name of a snapshot, in bytes.
const MAX_NAME: usize = 200;

#[derive(Deserialize)]
struct SnapshotRequest {
    #[serde(default)]
    name: Option<String>,
}

fn snapshot_json(info: &CheckpointInfo) -> Value {
    json!({"snapshotID": info.id.simple(), "names": info.name.iter().collect::<Vec<_>>()})
}

/// Stores the state of a sandbox as a snapshot.
pub(crate) async fn make(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request,
) -> Result<(StatusCode, Json<Value>), E2bError> {
    let id = e2b.own(&caller, &id)?;
    let SnapshotRequest { name } = body::json(request).await?;
    let name = name.filter(|name| !name.is_empty());
    if name.as_ref().is_some_and(|name| name.len() > MAX_NAME) {
        return Err(E2bError::new(Kind::Bad, format!("a name has at most {MAX_NAME} bytes")));
    }
    check_running(&e2b, id)?;
    let made = e2b.shared.service.sessions.checkpoint(id, name).await?;
    Ok((StatusCode::CREATED, Json(snapshot_json(&made))))
}

/// Returns the caller's snapshots: checkpoints that are no templates.
async fn snapshots_of(e2b: &E2b, caller: &Caller) -> Result<Vec<CheckpointInfo>, E2bError> {
    let service = &e2b.shared.service;
    let mut all = service.sessions.checkpoints(caller).await?;
    let templates: HashSet<CheckpointId> =
        service.sessions.tags(caller, None).await?.into_iter().map(|tag| tag.checkpoint).collect();
    all.retain(|info| !templates.contains(&info.id));
    Ok(all)
}

/// Lists snapshots, the newest first.
pub(crate) async fn list(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
) -> Result<Response, E2bError> {
    let sandbox = parameter(&uri, "sandboxID").filter(|text| !text.is_empty());
    let name = parameter(&uri, "name").filter(|text| !text.is_empty());
    let mut all = snapshots_of(&e2b, &caller).await?;
    if let Some(sandbox) = sandbox {
        let sandbox = SessionId::parse(&sandbox);
        all.retain(|info| sandbox.is_some() && info.session == sandbox);
    }
    all.sort_by_key(|info| std::cmp::Reverse(info.id));
    if let Some(name) = name {
        all.retain(|info| info.name.as_ref() == Some(&name) || info.id.simple() == name);
        // A name means the last snapshot that was given it.
        all.truncate(1);
    }
    let (page, next) = page_of(&uri, &all, |info| info.id.simple())?;
    Ok(with_next(Json(page.iter().map(snapshot_json).collect::<Vec<_>>()).into_response(), next))
}

/// Returns the caller's last snapshot of this name.
pub(crate) async fn find_named(e2b: &E2b, caller: &Caller, name: &str) -> Result<Option<CheckpointId>, E2bError> {
    if name.is_empty() || name.len() > MAX_NAME {
        return Ok(None);
    }
    let all = snapshots_of(e2b, caller).await?;
    Ok(all.into_iter().filter(|info| info.name.as_deref() == Some(name)).map(|info| info.id).max())
}

/// Removes a snapshot, by its id or name.
pub(crate) async fn remove(e2b: &E2b, caller: &Caller, name: &str) -> Result<StatusCode, E2bError> {
    let id = match CheckpointId::parse(name) {
        Some(id) => Some(id),
        None => find_named(e2b, caller, name).await?,
    };
    let id = id.ok_or_else(|| E2bError::new(Kind::NotFound, "there is no such template or snapshot"))?;
    e2b.shared.service.sessions.delete_checkpoint(caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
struct ForkRequest {
    #[serde(default)]
    timeout: Option<u64>,
    #[serde(default)]
    count: Option<usize>,
}

/// Sandboxes that go on from where this one is: all, or none.
pub(crate) async fn fork(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request,
) -> Result<(StatusCode, Json<Value>), E2bError> {
    let domain = domain(e2b.shared.scheme, request.headers(), request.uri());
    let id = e2b.own(&caller, &id)?;
    let ForkRequest { timeout, count } = body::json(request).await?;
    let timeout = timeout.map(lifetime).transpose()?;
    check_running(&e2b, id)?;
    let forks = e2b.shared.service.sessions.fork(id, count.unwrap_or(1), timeout).await?;
    let forks: Vec<Value> = forks.iter().map(|info| json!({"sandbox": sandbox_json(info, &domain)})).collect();
    Ok((StatusCode::CREATED, Json(json!(forks))))
}
