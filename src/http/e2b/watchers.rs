//! Directories that clients watch: as a stream, or as a list that is fetched now and then.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::Request;
use axum::response::Response;
use futures_util::{Stream, StreamExt, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::E2b;
use super::connect::{self, Messages};
use super::entries::PathBase;
use super::error::{E2bError, Kind};

use crate::service::{Watch, WatchEvent};
use proofbox_types::ids::SessionId;
use proofbox_types::session::{Change, ChangeKind, Entry, EntryKind, FileAnswer, FileAsk};
use proofbox_vfs::WatchDepth;

/// Watches of one sandbox that are fetched.
const MAX_WATCHES: usize = 64;
/// Changes of a watch that wait here until they are fetched. Further ones wait in the sandbox, which bounds them.
const MAX_CHANGES: usize = 512;
/// Bytes of names in these changes.
const MAX_CHANGES_BYTES: usize = 64 << 10;

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
pub(super) struct Watches(Mutex<HashMap<String, Watcher>>);

struct Watcher {
    waiting: Arc<Waiting>,
    /// Task that fills the watch, ended on drop.
    _task: AbortOnDrop,
}

/// Changes that a client has not fetched yet.
#[derive(Default)]
struct Waiting {
    changes: Mutex<Changes>,
    fetched: Notify,
}

#[derive(Default)]
struct Changes {
    events: Vec<WatchedChange>,
    bytes: usize,
    /// True when changes were lost, because there were too many.
    overflowed: bool,
}

impl Waiting {
    fn changes(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an event, and waits where that is enough for now.
    async fn keep(&self, event: WatchedEvent) {
        {
            let mut changes = self.changes();
            match event {
                WatchedEvent::Change(change) => {
                    changes.bytes += change.size();
                    changes.events.push(change);
                }
                WatchedEvent::Missed => changes.overflowed = true,
            }
        }
        while self.is_full() {
            self.fetched.notified().await;
        }
    }

    fn is_full(&self) -> bool {
        let changes = self.changes();
        changes.overflowed || changes.events.len() >= MAX_CHANGES || changes.bytes >= MAX_CHANGES_BYTES
    }

    fn fetch(&self) -> Changes {
        let fetched = std::mem::take(&mut *self.changes());
        self.fetched.notify_one();
        fetched
    }
}

/// A change, and the entry as it was found then.
struct WatchedChange {
    change: Change,
    entry: Option<Entry>,
}

impl WatchedChange {
    fn size(&self) -> usize {
        let entry =
            |entry: &Entry| entry.path.len() + entry.name.len() + entry.link_target.as_ref().map_or(0, String::len);
        self.change.path.len() + self.entry.as_ref().map_or(0, entry)
    }

    /// Renders the event as clients read it.
    fn to_json(&self, e2b: &E2b, sandbox: SessionId) -> Value {
        let word = match self.change.kind {
            ChangeKind::Create => "EVENT_TYPE_CREATE",
            ChangeKind::Write => "EVENT_TYPE_WRITE",
            ChangeKind::Remove => "EVENT_TYPE_REMOVE",
            ChangeKind::Rename => "EVENT_TYPE_RENAME",
            ChangeKind::Attributes => "EVENT_TYPE_CHMOD",
        };
        let mut event = json!({"name": self.change.path, "type": word});
        if let Some(entry) = &self.entry {
            event["entry"] = e2b.entry_json(sandbox, entry);
        }
        event
    }
}

/// Event of a watch.
enum WatchedEvent {
    Change(WatchedChange),
    /// Loss of changes, because there were too many.
    Missed,
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Watches {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Watcher>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Watch of a directory, with the content of its events.
struct Watching {
    e2b: E2b,
    sandbox: SessionId,
    /// Absolute path of the directory.
    directory: String,
    include_entry: bool,
    watch: Watch,
}

impl Watching {
    async fn begin(e2b: &E2b, sandbox: SessionId, base: &PathBase, request: WatchRequest) -> Result<Self, E2bError> {
        let path = base.resolve(&request.path);
        let FileAnswer::Entry(there, _) = e2b.files(sandbox, FileAsk::Stat { path: path.clone() }).await? else {
            return Err(E2bError::internal());
        };
        if !matches!(there.kind, EntryKind::Directory | EntryKind::Link) {
            return Err(E2bError::new(Kind::Bad, format!("{} is not a directory", there.path)));
        }
        let depth = if request.recursive { WatchDepth::All } else { WatchDepth::Entries };
        let watch = e2b.shared.service.sessions.watch(sandbox, path, depth).await;
        let watch = watch.map_err(|error| E2bError::of_sandbox(&sandbox.simple(), error))?;
        let include_entry = request.include_entry;
        Ok(Self { e2b: e2b.clone(), sandbox, directory: there.path, include_entry, watch })
    }

    /// Waits for the next event; none at the end.
    async fn next(&mut self) -> Option<WatchedEvent> {
        let change = match self.watch.next().await? {
            WatchEvent::Change(change) => change,
            WatchEvent::Overflow => return Some(WatchedEvent::Missed),
        };
        let entry = if self.include_entry && !matches!(change.kind, ChangeKind::Remove | ChangeKind::Rename) {
            // It may be gone by now.
            self.entry(&change.path).await
        } else {
            None
        };
        Some(WatchedEvent::Change(WatchedChange { change, entry }))
    }

    async fn entry(&self, path: &str) -> Option<Entry> {
        let path = format!("{}/{path}", self.directory.trim_end_matches('/'));
        match self.e2b.files(self.sandbox, FileAsk::Stat { path }).await {
            Ok(FileAnswer::Entry(entry, _)) => Some(entry),
            _ => None,
        }
    }
}

/// Answers `WatchDir` by streaming changes as they happen.
pub(super) async fn watch(
    e2b: E2b,
    sandbox: SessionId,
    base: &PathBase,
    request: Request,
) -> Result<Response, E2bError> {
    let keep_alive = connect::keep_alive(request.headers());
    let deadline = connect::deadline(request.headers())?.filter(|deadline| !deadline.is_zero());
    let request = Messages::of(request)?.only().await?;
    let watching = Watching::begin(&e2b, sandbox, base, request).await?;
    Ok(connect::stream(event_stream(watching, keep_alive, deadline).map(Ok)))
}

fn event_stream(
    watching: Watching,
    keep_alive: Duration,
    deadline: Option<Duration>,
) -> impl Stream<Item = Bytes> + Send {
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
                Some(WatchedEvent::Change(change)) => {
                    let event = change.to_json(&watching.e2b, watching.sandbox);
                    Some((connect::part(&json!({"filesystem": event})), Some(watching)))
                }
                Some(WatchedEvent::Missed) => Some((connect::end(Some(&missed())), None)),
                None => Some((connect::end(None), None)),
            },
            () = tokio::time::sleep(keep_alive) => Some((connect::part(&json!({"keepalive": {}})), Some(watching))),
            () = over => Some((connect::end(Some(&connect::over())), None)),
        }
    });
    first.chain(rest)
}

/// Answers `CreateWatcher` by starting a watch, whose changes are buffered until they are fetched.
pub(super) async fn create(
    e2b: &E2b,
    sandbox: SessionId,
    base: &PathBase,
    request: Request,
) -> Result<Value, E2bError> {
    let request: WatchRequest = connect::message(request).await?;
    let watches = e2b.state.watches(sandbox);
    if watches.all().len() >= MAX_WATCHES {
        let message = format!("a sandbox has at most {MAX_WATCHES} watchers");
        return Err(E2bError::new(Kind::Conflict, message));
    }
    let mut watching = Watching::begin(e2b, sandbox, base, request).await?;
    let waiting: Arc<Waiting> = Arc::default();
    let kept = Arc::clone(&waiting);
    let task = tokio::spawn(async move {
        while let Some(event) = watching.next().await {
            kept.keep(event).await;
        }
    });
    let id = uuid::Uuid::now_v7().simple().to_string();
    watches.all().insert(id.clone(), Watcher { waiting, _task: AbortOnDrop(task) });
    Ok(json!({"watcherId": id}))
}

/// Answers `GetWatcherEvents` with the changes since the last call.
pub(super) async fn events(e2b: &E2b, sandbox: SessionId, request: Request) -> Result<Value, E2bError> {
    let WatcherRequest { watcher_id } = connect::message(request).await?;
    let watches = e2b.state.watches(sandbox);
    let watches = watches.all();
    let kept = watches.get(&watcher_id).ok_or_else(unknown)?;
    let Changes { events, overflowed, .. } = kept.waiting.fetch();
    // Reported once: from now on all is reported again.
    if overflowed {
        return Err(missed());
    }
    let events: Vec<Value> = events.iter().map(|change| change.to_json(e2b, sandbox)).collect();
    Ok(json!({"events": events}))
}

/// Answers `RemoveWatcher` by ending a watch.
pub(super) async fn remove(e2b: &E2b, sandbox: SessionId, request: Request) -> Result<Value, E2bError> {
    let WatcherRequest { watcher_id } = connect::message(request).await?;
    let removed = e2b.state.watches(sandbox).all().remove(&watcher_id);
    removed.map(|_| json!({})).ok_or_else(unknown)
}

/// Error for lost changes: to clients of E2B's own service, inotify's overflow is an error, too.
fn missed() -> E2bError {
    E2bError::new(Kind::Missed, "changes are left out here: they were too many, or read too slowly; look anew")
}

fn unknown() -> E2bError {
    E2bError::new(Kind::NotFound, "there is no such watcher")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: &str) -> WatchedEvent {
        WatchedEvent::Change(WatchedChange {
            change: Change { kind: ChangeKind::Create, path: name.to_owned() },
            entry: None,
        })
    }

    /// Keeps as many events as are taken without waiting.
    fn keep_all(waiting: &Waiting, event: impl Fn() -> WatchedEvent) -> usize {
        (0..2 * MAX_CHANGES)
            .take_while(|_| futures_util::FutureExt::now_or_never(waiting.keep(event())).is_some())
            .count()
    }

    #[test]
    fn changes_that_nobody_fetches_are_bounded_and_go_on_when_they_are() {
        let waiting = Waiting::default();
        assert_eq!(keep_all(&waiting, || change("x")), MAX_CHANGES - 1);
        assert_eq!(waiting.fetch().events.len(), MAX_CHANGES);
        let long = "x".repeat(MAX_CHANGES_BYTES / 4);
        assert_eq!(keep_all(&waiting, || change(&long)), 3);
        assert_eq!(waiting.fetch().events.len(), 4);
        assert_eq!(keep_all(&waiting, || WatchedEvent::Missed), 0);
        assert!(waiting.fetch().overflowed && !waiting.fetch().overflowed);
    }
}
