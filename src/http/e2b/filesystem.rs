//! `filesystem.Filesystem`: listing and changing the tree of files.

use axum::extract::{Path, Request, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::entries::PathBase;
use super::error::{E2bError, Kind};
use super::users::user_of;
use super::{E2b, connect, watchers};
use crate::sandbox::RequestError;
use crate::service::SessionError;
use proofbox_types::ids::SessionId;
use proofbox_types::session::{EntryKind, FileAnswer, FileAsk, FileTrouble};

/// Deepest listing of a directory.
const DEEPEST: u32 = 256;
#[derive(Deserialize)]
struct PathRequest {
    #[serde(default)]
    path: String,
    #[serde(default)]
    depth: u32,
}

#[derive(Deserialize)]
struct MoveRequest {
    #[serde(default)]
    source: String,
    #[serde(default)]
    destination: String,
}

/// Serves a call of the `Filesystem` service.
pub(super) async fn call(State(e2b): State<E2b>, Path(method): Path<String>, request: Request) -> Response {
    let is_stream = connect::is_stream(request.headers());
    match answered(e2b, &method, request).await {
        Ok(response) => response,
        Err(error) if is_stream => connect::failed(&error),
        Err(error) => error.into_connect(),
    }
}

async fn answered(e2b: E2b, method: &str, request: Request) -> Result<Response, E2bError> {
    let info = e2b.own_sandbox(request.headers(), request.uri())?;
    let (id, base) = (info.id, PathBase::of(&info, user_of(request.headers())?));
    if method == "WatchDir" {
        return watchers::watch(e2b, id, &base, request).await;
    }
    let deadline = connect::deadline(request.headers())?;
    let answer = async {
        match method {
            "Stat" => stat(&e2b, id, &base, request).await,
            "ListDir" => list(&e2b, id, &base, request).await,
            "MakeDir" => make_directory(&e2b, id, &base, request).await,
            "Move" => move_(&e2b, id, &base, request).await,
            "Remove" => remove(&e2b, id, &base, request).await,
            "CreateWatcher" => watchers::create(&e2b, id, &base, request).await,
            "GetWatcherEvents" => watchers::events(&e2b, id, request).await,
            "RemoveWatcher" => watchers::remove(&e2b, id, request).await,
            _ => Err(E2bError::new(Kind::Unimplemented, "filesystem.Filesystem has no such method")),
        }
    };
    connect::answer(deadline, answer).await
}

async fn stat(e2b: &E2b, id: SessionId, base: &PathBase, request: Request) -> Result<Value, E2bError> {
    let PathRequest { path, .. } = connect::message(request).await?;
    let entry = e2b.entry(id, FileAsk::Stat { path: base.resolve(&path) }).await?;
    Ok(json!({"entry": e2b.entry_json(id, &entry)}))
}

async fn list(e2b: &E2b, id: SessionId, base: &PathBase, request: Request) -> Result<Value, E2bError> {
    let PathRequest { path, depth } = connect::message(request).await?;
    let ask = FileAsk::List { path: base.resolve(&path), depth: depth.clamp(1, DEEPEST) };
    let FileAnswer::Entries(entries) = e2b.files(id, ask).await? else { return Err(E2bError::internal()) };
    Ok(json!({"entries": entries.iter().map(|entry| e2b.entry_json(id, entry)).collect::<Vec<_>>()}))
}

async fn make_directory(e2b: &E2b, id: SessionId, base: &PathBase, request: Request) -> Result<Value, E2bError> {
    let PathRequest { path, .. } = connect::message(request).await?;
    let path = base.resolve(&path);
    match e2b.entry(id, FileAsk::MakeDirectory { path: path.clone() }).await {
        Ok(entry) => Ok(json!({"entry": e2b.entry_json(id, &entry)})),
        // What is there decides whether that is an error to the client.
        Err(error) if error.kind() == Kind::Exists => {
            let there = e2b.entry(id, FileAsk::Stat { path }).await?;
            Err(if there.kind == EntryKind::Directory { error } else { error.with_kind(Kind::Bad) })
        }
        Err(error) => Err(error),
    }
}

async fn move_(e2b: &E2b, id: SessionId, base: &PathBase, request: Request) -> Result<Value, E2bError> {
    let MoveRequest { source, destination } = connect::message(request).await?;
    let (from, to) = (base.resolve(&source), base.resolve(&destination));
    let old = e2b.entry(id, FileAsk::Stat { path: from.clone() }).await?;
    let entry = e2b.entry(id, FileAsk::Move { from, to }).await?;
    e2b.state.moved(id, &old.path, Some(&entry.path));
    Ok(json!({"entry": e2b.entry_json(id, &entry)}))
}

async fn remove(e2b: &E2b, id: SessionId, base: &PathBase, request: Request) -> Result<Value, E2bError> {
    let PathRequest { path, .. } = connect::message(request).await?;
    let path = base.resolve(&path);
    let service = &e2b.shared.service;
    let there = match service.sessions.files(id, FileAsk::Stat { path: path.clone() }).await {
        Ok(FileAnswer::Entry(entry, _)) => entry,
        Ok(_) => return Err(E2bError::internal()),
        // There is nothing to remove, and that is what was wanted.
        Err(SessionError::Refused(RequestError::File(refused)))
            if matches!(refused.trouble, FileTrouble::NotFound | FileTrouble::NotADirectory) =>
        {
            return Ok(json!({}));
        }
        Err(error) => return Err(E2bError::of_sandbox(&id.simple(), error)),
    };
    e2b.files(id, FileAsk::Remove { path, recursive: true }).await?;
    e2b.state.moved(id, &there.path, None);
    Ok(json!({}))
}
