//! `filesystem.Filesystem`: listing and changing the tree of files.

use axum::extract::{Path, Request, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::{E2bError, Kind};
use super::{E2b, HOME, connect, time, watches};
use crate::sandbox::AskError;
use crate::service::SessionError;
use proofbox_types::ids::SessionId;
use proofbox_types::session::{Entry, EntryKind, FileAnswer, FileAsk, FileTrouble};

/// Deepest listing of a directory.
const DEEPEST: u32 = 256;
/// Owner of all files, as clients see it.
const OWNER: &str = "user";

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

/// A path as the session takes it: relative ones and `~` lie at home.
pub fn place(path: &str) -> String {
    let path = match path.strip_prefix('~') {
        Some("") => HOME.to_owned(),
        Some(rest) if rest.starts_with('/') => format!("{HOME}{rest}"),
        _ => path.to_owned(),
    };
    if path.is_empty() { HOME.to_owned() } else { path }
}

impl E2b {
    /// Performs an operation on a sandbox's files.
    pub(super) async fn files(&self, id: SessionId, ask: FileAsk) -> Result<FileAnswer, E2bError> {
        let answer = self.shared.service.session_files(id, ask).await;
        answer.map_err(|error| E2bError::of_sandbox(&id.simple(), error))
    }

    async fn entry(&self, id: SessionId, ask: FileAsk) -> Result<Entry, E2bError> {
        match self.files(id, ask).await? {
            FileAnswer::Entry(entry, _) => Ok(entry),
            _ => Err(E2bError::internal()),
        }
    }

    /// Renders an `EntryInfo` of the API.
    pub(super) fn entry_json(&self, id: SessionId, entry: &Entry) -> Value {
        let (kind, letter, mode) = match entry.kind {
            EntryKind::File => ("FILE_TYPE_FILE", '-', 0o644),
            EntryKind::Directory => ("FILE_TYPE_DIRECTORY", 'd', 0o755),
            EntryKind::Link => ("FILE_TYPE_SYMLINK", 'l', 0o777),
            EntryKind::Device => ("FILE_TYPE_FILE", 'c', 0o666),
        };
        let modified = jiff::Timestamp::from_nanosecond(i128::from(entry.modified)).unwrap_or_default();
        let mut info = json!({
            "name": entry.name,
            "type": kind,
            "path": entry.path,
            // As proto3's JSON has 64 bits.
            "size": entry.size.to_string(),
            "mode": mode,
            "permissions": permissions(letter, mode),
            "owner": OWNER,
            "group": OWNER,
            "modifiedTime": time(modified),
        });
        if let Some(target) = &entry.link_target {
            info["symlinkTarget"] = json!(target);
        }
        if let Some(metadata) = self.memory.metadata(id, &entry.path) {
            info["metadata"] = json!(metadata);
        }
        info
    }
}

/// Renders permissions as `-rw-r--r--`.
fn permissions(letter: char, mode: u32) -> String {
    let bit = |position: u32| if mode >> position & 1 == 1 { ['x', 'w', 'r'][position as usize % 3] } else { '-' };
    std::iter::once(letter).chain((0..9).rev().map(bit)).collect()
}

/// Serves a call of the `Filesystem` service.
pub async fn call(State(e2b): State<E2b>, Path(method): Path<String>, request: Request) -> Response {
    let is_stream = connect::is_stream(request.headers());
    match answered(e2b, &method, request).await {
        Ok(response) => response,
        Err(error) if is_stream => connect::failed(&error),
        Err(error) => error.into_connect(),
    }
}

async fn answered(e2b: E2b, method: &str, request: Request) -> Result<Response, E2bError> {
    let id = e2b.own_sandbox(request.headers(), request.uri())?.id;
    if method == "WatchDir" {
        return watches::watch(e2b, id, request).await;
    }
    let deadline = connect::deadline(request.headers())?;
    let answer = async {
        match method {
            "Stat" => stat(&e2b, id, request).await,
            "ListDir" => list(&e2b, id, request).await,
            "MakeDir" => make_directory(&e2b, id, request).await,
            "Move" => move_(&e2b, id, request).await,
            "Remove" => remove(&e2b, id, request).await,
            "CreateWatcher" => watches::create(&e2b, id, request).await,
            "GetWatcherEvents" => watches::events(&e2b, id, request).await,
            "RemoveWatcher" => watches::remove(&e2b, id, request).await,
            _ => Err(E2bError::new(Kind::Unimplemented, "filesystem.Filesystem has no such method")),
        }
    };
    connect::answer(deadline, answer).await
}

async fn stat(e2b: &E2b, id: SessionId, request: Request) -> Result<Value, E2bError> {
    let PathRequest { path, .. } = connect::message(request).await?;
    let entry = e2b.entry(id, FileAsk::Stat { path: place(&path) }).await?;
    Ok(json!({"entry": e2b.entry_json(id, &entry)}))
}

async fn list(e2b: &E2b, id: SessionId, request: Request) -> Result<Value, E2bError> {
    let PathRequest { path, depth } = connect::message(request).await?;
    let ask = FileAsk::List { path: place(&path), depth: depth.clamp(1, DEEPEST) };
    let FileAnswer::Entries(entries) = e2b.files(id, ask).await? else { return Err(E2bError::internal()) };
    Ok(json!({"entries": entries.iter().map(|entry| e2b.entry_json(id, entry)).collect::<Vec<_>>()}))
}

async fn make_directory(e2b: &E2b, id: SessionId, request: Request) -> Result<Value, E2bError> {
    let PathRequest { path, .. } = connect::message(request).await?;
    let path = place(&path);
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

async fn move_(e2b: &E2b, id: SessionId, request: Request) -> Result<Value, E2bError> {
    let MoveRequest { source, destination } = connect::message(request).await?;
    let (from, to) = (place(&source), place(&destination));
    let old = e2b.entry(id, FileAsk::Stat { path: from.clone() }).await?;
    let entry = e2b.entry(id, FileAsk::Move { from, to }).await?;
    e2b.memory.moved(id, &old.path, Some(&entry.path));
    Ok(json!({"entry": e2b.entry_json(id, &entry)}))
}

async fn remove(e2b: &E2b, id: SessionId, request: Request) -> Result<Value, E2bError> {
    let PathRequest { path, .. } = connect::message(request).await?;
    let path = place(&path);
    let service = &e2b.shared.service;
    let there = match service.session_files(id, FileAsk::Stat { path: path.clone() }).await {
        Ok(FileAnswer::Entry(entry, _)) => entry,
        Ok(_) => return Err(E2bError::internal()),
        // There is nothing to remove, and that is what was wanted.
        Err(SessionError::Refused(AskError::File(refused)))
            if matches!(refused.trouble, FileTrouble::NotFound | FileTrouble::NotADirectory) =>
        {
            return Ok(json!({}));
        }
        Err(error) => return Err(E2bError::of_sandbox(&id.simple(), error)),
    };
    e2b.files(id, FileAsk::Remove { path, recursive: true }).await?;
    e2b.memory.moved(id, &there.path, None);
    Ok(json!({}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lie_at_home_unless_they_say_otherwise() {
        for (path, expected) in
            [("", HOME), ("~", HOME), ("~/a", "/home/user/a"), ("a/b", "a/b"), ("/tmp", "/tmp"), ("~x", "~x")]
        {
            assert_eq!(place(path), expected);
        }
    }

    #[test]
    fn permissions_read_as_ls_shows_them() {
        assert_eq!(permissions('-', 0o644), "-rw-r--r--");
        assert_eq!(permissions('d', 0o755), "drwxr-xr-x");
        assert_eq!(permissions('l', 0o777), "lrwxrwxrwx");
    }
}
