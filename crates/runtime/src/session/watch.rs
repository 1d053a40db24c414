//! Telling of changes below a directory of a session.

use std::sync::Arc;

use tokio::sync::Notify;

use super::{Session, SessionError};
use proofbox_types::session::{Change, ChangeKind};
use proofbox_vfs::{FilesError, SharedTree, WatchDepth, WatchId, lock};

/// Watch on a directory; dropping it ends the watch.
pub struct Watch {
    tree: SharedTree,
    id: WatchId,
    wake: Arc<Notify>,
}

impl Session {
    /// Watches a directory from now on, to this depth.
    ///
    /// # Errors
    /// Returns an error when there is no such directory, or too many watch already.
    pub fn watch(&self, path: &str, depth: WatchDepth) -> Result<Watch, SessionError> {
        let wake = Arc::new(Notify::new());
        let id =
            lock(&self.session_context.tree).watch(path, depth, Arc::clone(&wake)).map_err(|error| match error {
                FilesError::TooManyWatches { .. } => SessionError::TooMany(error.to_string()),
                error => error.into(),
            })?;
        Ok(Watch { tree: self.session_context.tree.clone(), id, wake })
    }
}

/// Changes that a watcher has not received yet.
#[derive(Debug, PartialEq, Eq)]
pub struct Noticed {
    /// Changes in the order in which they happened.
    pub changes: Vec<Change>,
    /// True when more changes happened after these than could be held.
    pub overflowed: bool,
}

impl Watch {
    /// Waits for changes since the last call; none when the directory is gone, and all was reported. Changes that
    /// nobody asks for wait in the tree, which holds no more than its bounds allow.
    pub async fn next(&mut self) -> Option<Noticed> {
        loop {
            let woken = self.wake.notified();
            let changes = lock(&self.tree).drain(self.id)?;
            if !changes.changes.is_empty() || changes.overflowed {
                let overflowed = changes.overflowed;
                return Some(Noticed { changes: changes.changes.into_iter().map(change_of).collect(), overflowed });
            }
            if changes.ended {
                return None;
            }
            woken.await;
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        lock(&self.tree).unwatch(self.id);
    }
}

fn change_of(change: proofbox_vfs::Change) -> Change {
    let kind = match change.kind {
        proofbox_vfs::ChangeKind::Create => ChangeKind::Create,
        proofbox_vfs::ChangeKind::Write => ChangeKind::Write,
        proofbox_vfs::ChangeKind::Remove => ChangeKind::Remove,
        proofbox_vfs::ChangeKind::Rename => ChangeKind::Rename,
        proofbox_vfs::ChangeKind::Attributes => ChangeKind::Attributes,
    };
    Change { kind, path: change.path }
}
