//! Watches of a tree, and the changes that wait for their watchers.

use super::inodes::{Inodes, NodeId};
use super::path::MAX_DEPTH;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::Notify;

/// Watches one sandbox may have.
pub const MAX_WATCHES: usize = 64;
/// Changes that wait for one watcher.
pub const MAX_CHANGES: usize = 4096;
/// Bytes of all their paths.
const MAX_CHANGES_BYTES: usize = 1 << 20;

/// Id of a watch in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId(pub(super) u64);

/// Depth to which a watch reports changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchDepth {
    /// The directory's own entries.
    Entries,
    /// Entries at any depth below the directory, also in directories made later.
    All,
}

/// Kind of a change to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// The entry is new, or something was moved to it.
    Create,
    /// The entry's content changed.
    Write,
    /// The entry was removed.
    Remove,
    /// The entry was moved away; its new name is reported as a [`ChangeKind::Create`] if the watch covers that too.
    Rename,
    /// The entry's times, mode or owner were set.
    Attributes,
}

/// A change in a watched directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Kind of the change.
    pub kind: ChangeKind,
    /// Path of the entry, relative to the watched directory; empty for the directory itself.
    pub path: String,
}

/// Changes since the last time a watcher asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// Changes in the order they happened; several writes in a row to one file are one.
    pub changes: Vec<Change>,
    /// True when more changes happened after these than could be held.
    pub overflowed: bool,
    /// The watched directory has been removed: nothing more will come.
    pub ended: bool,
}

/// The watches of a tree.
#[derive(Default)]
pub(super) struct Watches {
    pub(super) by_id: BTreeMap<WatchId, Watch>,
    pub(super) next: u64,
    /// Names under which files are found: inode, directory, name. Held only while somebody watches.
    pub(super) names: BTreeSet<(u32, u32, Arc<str>)>,
}

pub(super) struct Watch {
    pub(super) directory: NodeId,
    pub(super) depth: WatchDepth,
    pub(super) waiting: Changes,
    pub(super) waiting_bytes: usize,
    pub(super) wake: Arc<Notify>,
}

impl Watch {
    pub(super) fn tell(&mut self, kind: ChangeKind, path: String) {
        let first = self.waiting == Changes::default();
        let change = Change { kind, path };
        if kind == ChangeKind::Write && self.waiting.changes.last() == Some(&change) {
            return;
        }
        self.waiting_bytes += change.path.len();
        if self.is_full() {
            self.waiting.overflowed = true;
        } else {
            self.waiting.changes.push(change);
        }
        if first {
            self.wake.notify_one();
        }
    }

    fn is_full(&self) -> bool {
        self.waiting.overflowed || self.waiting.changes.len() >= MAX_CHANGES || self.waiting_bytes > MAX_CHANGES_BYTES
    }

    /// The path of an entry as this watch names it, if it sees it.
    pub(super) fn path(&self, inodes: &Inodes, parent: u32, name: &str) -> Option<String> {
        let mut names = vec![name];
        let mut here = parent;
        for _ in 0..=MAX_DEPTH {
            if self.directory == NodeId::Own(here) {
                names.reverse();
                return Some(names.join("/"));
            }
            let directory = inodes.directory(here)?;
            if self.depth == WatchDepth::Entries || directory.parent == here {
                return None;
            }
            names.push(&directory.name);
            here = directory.parent;
        }
        None
    }
}
