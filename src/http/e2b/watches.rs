//! Directories that clients watch: as a stream, or as a list that is fetched now and then.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::Request;
use axum::response::Response;
use futures_util::{Stream, stream};
use serde::Deserialize;
use serde_json::{Value, json};

use super::E2b;
use super::connect::{self, Messages};
use super::error::{E2bError, Kind};
use super::filesystem::place;

use crate::domain::ids::SessionId;
use crate::domain::session::{Change, ChangeKind, Entry, EntryKind, FileAnswer, FileAsk};
use crate::service::Watch;

/// Watches of one sandbox that are fetched.
const MOST_WATCHES: usize = 64;
/// Changes of one of them that are kept until they are fetched; the oldest go first.
const MOST_CHANGES: usize = 8192;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WatchRequest {
    #[serde(default)]
    path: String,
    #[serde(default)]
    recursive: bool,
    #[serde(default)]
    include_entry: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WatcherRequest {
    #[serde(default)]
    watcher_id: String,
}

/// The watches of one sandbox that are fetched.
#[derive(Default)]
pub struct Watches(Mutex<HashMap<String, Kept>>);

struct Kept {
    changes: Arc<Mutex<VecDeque<Value>>>,
    /// Ends with this.
    _task: AbortOnDrop,
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Watches {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A watch, and what is told of each change.
struct Watching {
    e2b: E2b,
    sandbox: SessionId,
    /// Absolute.
    directory: String,
    include_entry: bool,
    watch: Watch,
}

impl Watching {
    async fn begin(e2b: &E2b, sandbox: SessionId, request: WatchRequest) -> Result<Self, E2bError> {
        let path = place(&request.path);
        let FileAnswer::Entry(there, _) = e2b.files(sandbox, FileAsk::Stat { path: path.clone() }).await? else {
            return Err(E2bError::internal());
        };
        if !matches!(there.kind, EntryKind::Directory | EntryKind::Link) {
            return Err(E2bError::new(Kind::Bad, format!("{} is not a directory", there.path)));
        }
        let watch = e2b.shared.service.watch_files(sandbox, path, request.recursive).await;
        let watch = watch.map_err(|error| E2bError::of_sandbox(&sandbox.simple(), error))?;
        let include_entry = request.include_entry;
        Ok(Self { e2b: e2b.clone(), sandbox, directory: there.path, include_entry, watch })
    }

    /// The next change as clients read it; none at the end.
    async fn next(&mut self) -> Option<Value> {
        let Change { kind, path } = self.watch.next().await?;
        let word = match kind {
            ChangeKind::Create => "EVENT_TYPE_CREATE",
            ChangeKind::Write => "EVENT_TYPE_WRITE",
            ChangeKind::Remove => "EVENT_TYPE_REMOVE",
            ChangeKind::Rename => "EVENT_TYPE_RENAME",
            ChangeKind::Attributes => "EVENT_TYPE_CHMOD",
        };
        let mut event = json!({"name": path, "type": word});
        if self.include_entry && !matches!(kind, ChangeKind::Remove | ChangeKind::Rename) {
            // It may be gone by now.
            if let Some(entry) = self.entry(&path).await {
                event["entry"] = self.e2b.entry_json(self.sandbox, &entry);
            }
        }
        Some(event)
    }

    async fn entry(&self, path: &str) -> Option<Entry> {
        let path = format!("{}/{path}", self.directory.trim_end_matches('/'));
        match self.e2b.files(self.sandbox, FileAsk::Stat { path }).await {
            Ok(FileAnswer::Entry(entry, _)) => Some(entry),
            _ => None,
        }
    }
}

/// `WatchDir`: changes as they happen.
pub async fn watch(e2b: E2b, sandbox: SessionId, request: Request) -> Result<Response, E2bError> {
    let keep_alive = connect::keep_alive(request.headers());
    let deadline = connect::deadline(request.headers())?.filter(|deadline| !deadline.is_zero());
    let request = Messages::of(request)?.only().await?;
    let watching = Watching::begin(&e2b, sandbox, request).await?;
    Ok(connect::stream(told(watching, keep_alive, deadline)))
}

fn told(watching: Watching, keep_alive: Duration, deadline: Option<Duration>) -> impl Stream<Item = Bytes> + Send {
    let end = deadline.map(|deadline| tokio::time::Instant::now() + deadline);
    let first = stream::once(async { connect::part(&json!({"start": {}})) });
    let rest = stream::unfold(Some(watching), move |watching| async move {
        let mut watching = watching?;
        let over = async {
            match end {
                Some(end) => tokio::time::sleep_until(end).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            event = watching.next() => match event {
                Some(event) => Some((connect::part(&json!({"filesystem": event})), Some(watching))),
                None => Some((connect::end(None), None)),
            },
            () = tokio::time::sleep(keep_alive) => Some((connect::part(&json!({"keepalive": {}})), Some(watching))),
            () = over => Some((connect::end(Some(&connect::over())), None)),
        }
    });
    futures_util::StreamExt::chain(first, rest)
}

/// `CreateWatcher`: changes are kept until they are fetched.
pub async fn create(e2b: &E2b, sandbox: SessionId, request: Request) -> Result<Value, E2bError> {
    let request: WatchRequest = connect::message(request).await?;
    let watches = e2b.memory.watches(sandbox);
    if watches.all().len() >= MOST_WATCHES {
        let message = format!("a sandbox has at most {MOST_WATCHES} watchers");
        return Err(E2bError::new(Kind::Conflict, message));
    }
    let mut watching = Watching::begin(e2b, sandbox, request).await?;
    let changes: Arc<Mutex<VecDeque<Value>>> = Arc::default();
    let kept = Arc::clone(&changes);
    let task = tokio::spawn(async move {
        while let Some(change) = watching.next().await {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() == MOST_CHANGES {
                kept.pop_front();
            }
            kept.push_back(change);
        }
    });
    let id = uuid::Uuid::now_v7().simple().to_string();
    watches.all().insert(id.clone(), Kept { changes, _task: AbortOnDrop(task) });
    Ok(json!({"watcherId": id}))
}

/// `GetWatcherEvents`
pub async fn events(e2b: &E2b, sandbox: SessionId, request: Request) -> Result<Value, E2bError> {
    let WatcherRequest { watcher_id } = connect::message(request).await?;
    let watches = e2b.memory.watches(sandbox);
    let watches = watches.all();
    let kept = watches.get(&watcher_id).ok_or_else(unknown)?;
    let events = std::mem::take(&mut *kept.changes.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(json!({"events": events}))
}

/// `RemoveWatcher`
pub async fn remove(e2b: &E2b, sandbox: SessionId, request: Request) -> Result<Value, E2bError> {
    let WatcherRequest { watcher_id } = connect::message(request).await?;
    let removed = e2b.memory.watches(sandbox).all().remove(&watcher_id);
    removed.map(|_| json!({})).ok_or_else(unknown)
}

fn unknown() -> E2bError {
    E2bError::new(Kind::NotFound, "there is no such watcher")
}
