//! Store of everything that must outlive a request: checkpoints, stored sessions, volumes, jobs, webhooks and
//! statistics, in one SQLite file.
//!
//! [`Store::open`] takes the file for itself: a second service on it is refused. Everything written is there after the
//! process was killed; a power cut may take the last moments, but never leaves a damaged file. Whatever is read back is
//! what was written, or an error: each row and each blob has its SHA-256.
//!
//! SQLite blocks, so it never runs on an async worker. Writes go to one thread that owns the only writing connection:
//! SQLite has one writer anyway, and what waits for it is committed together. Reads are short and many, and run beside
//! each other on tokio's blocking threads, each with a connection of a small pool.

mod checkpoints;
mod disk;
mod error;
mod file;
mod jobs;
mod keys;
mod prune;
mod readers;
mod room;
mod seal;
mod sessions;
mod stats;
mod tags;
#[cfg(test)]
mod tests;
mod volumes;
mod webhooks;
mod writer;

pub use checkpoints::{CheckpointFilter, CheckpointKind, CheckpointRow, Cursor, MAX_LISTED, StoredCheckpoint};
pub use disk::{DiskReserve, DiskSpace};
pub use error::StoreError;
pub use jobs::{
    Accepted, Callback, CallbackPhase, Cancelled, DueCallback, JobBounds, JobFilter, JobItem, JobPhase, JobResult,
    JobRow, JobUsage, NewJob, NewResult, OpenItem, PrunedJobs, ResultEffect, UnfinishedJob,
};
pub use keys::{KeyFile, KeyRow};
pub use prune::{Bounds, Displaced, Pruned, StoreUsage};
pub use room::Quota;
pub use sessions::SessionRow;
pub use stats::{Recorded, StatBounds};
pub use tags::TagRow;
pub use volumes::{
    StoredVolume, VolumeAttributes, VolumeBounds, VolumeChange, VolumeConflict, VolumeEntry, VolumeNode, VolumePiece,
    VolumeRow,
};
pub use webhooks::{Delivery, Due, DueDelivery, WebhookRow};

use bytes::Bytes;
use disk::Disk;
use proofbox_types::session::{TreeEntry, TreeNode};
use readers::Readers;
use rusqlite::Connection;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use uuid::Uuid;
use writer::Writer;

/// Checkpoints, stored sessions, volumes, jobs, webhooks and statistics. Dropping it waits for what is being written and closes the file.
///
/// A write whose future is dropped may still happen. Times are milliseconds since 1970.
#[derive(Debug)]
pub struct Store {
    // In this order: the readers' connections close first, so that the writer's leaves one tidy file.
    readers: Readers,
    writer: Writer,
    path: PathBuf,
    disk: Arc<Disk>,
}

impl Store {
    /// Opens the file at `path`, made with the directories above it if it is not there, and brings it to the form this
    /// version uses. Nothing is written into the disk's reserve, but for what is short.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that is in use, of a newer version, not a store of proofbox, damaged, or that cannot
    /// be made.
    pub async fn open(path: &Path, reserve: DiskReserve) -> Result<Self, StoreError> {
        let writer = Writer::open(path.to_owned()).await?;
        let disk = Arc::new(Disk::new(path, reserve));
        Ok(Self { readers: Readers::new(path.to_owned()), writer, path: path.to_owned(), disk })
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps a checkpoint. Tells what made room for it.
    ///
    /// # Errors
    ///
    /// Returns an error for want of room, an id that is taken, or a file that cannot be written.
    pub async fn put_checkpoint(&self, row: CheckpointRow, blob: Bytes, quota: Quota) -> Result<Displaced, StoreError> {
        let disk = Arc::clone(&self.disk);
        self.writer.write(move |connection| put_within(connection, &disk, &row, &blob, quota)).await
    }

    /// Keeps a checkpoint with its tags, each of which another one loses that has it. A checkpoint that loses its last
    /// tag is removed. Tells what made room for it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Store::put_checkpoint`] and [`Store::put_tags`]; nothing is kept then.
    pub async fn put_tagged_checkpoint(
        &self,
        row: CheckpointRow,
        blob: Bytes,
        quota: Quota,
        tags: Vec<TagRow>,
        most: usize,
    ) -> Result<Displaced, StoreError> {
        let disk = Arc::clone(&self.disk);
        let write = move |connection: &Connection| {
            let displaced = put_within(connection, &disk, &row, &blob, quota)?;
            tags::put(connection, &tags, most)?;
            Ok(displaced)
        };
        self.writer.write(write).await
    }

    /// Gives a checkpoint more tags, each of which another one loses that has it. A checkpoint that loses its last tag
    /// is removed. All rows have one owner.
    ///
    /// # Errors
    ///
    /// Returns an error when there is no such checkpoint, the owner would have more than `most` tags, or the file
    /// cannot be written.
    pub async fn put_tags(&self, rows: Vec<TagRow>, most: usize) -> Result<(), StoreError> {
        self.writer.write(move |connection| tags::put(connection, &rows, most)).await
    }

    /// Takes tags below a name away; returns how many there were. A checkpoint that loses its last tag is removed.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be written.
    pub async fn delete_tags(&self, owner: String, name: String, tags: Vec<String>) -> Result<usize, StoreError> {
        self.writer.write(move |connection| tags::delete(connection, &owner, &name, &tags)).await
    }

    /// Tags of an owner, or of one name of the owner's, in order; at most [`MAX_LISTED`]. Damaged ones are left out and
    /// logged.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read.
    pub async fn list_tags(&self, owner: String, name: Option<String>) -> Result<Vec<TagRow>, StoreError> {
        self.readers.read(move |connection| tags::list(connection, &owner, name.as_deref())).await
    }

    /// A checkpoint with its blob; none if there is no such one.
    ///
    /// # Errors
    ///
    /// Returns an error for a damaged checkpoint, or a file that cannot be read.
    pub async fn get_checkpoint(&self, id: Uuid) -> Result<Option<(StoredCheckpoint, Bytes)>, StoreError> {
        self.readers.read(move |connection| checkpoints::get(connection, id)).await
    }

    /// A checkpoint without its blob; none if there is no such one.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Store::get_checkpoint`].
    pub async fn find_checkpoint(&self, id: Uuid) -> Result<Option<StoredCheckpoint>, StoreError> {
        self.readers.read(move |connection| checkpoints::find(connection, id)).await
    }

    /// Checkpoints that match, newest first, at most `limit` and [`MAX_LISTED`], after the one a listing before
    /// ended with. Damaged ones are left out and logged.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read.
    pub async fn list_checkpoints(
        &self,
        filter: CheckpointFilter,
        limit: usize,
        after: Option<Cursor>,
    ) -> Result<Vec<StoredCheckpoint>, StoreError> {
        self.readers.read(move |connection| checkpoints::list(connection, &filter, limit, after)).await
    }

    /// Removes a checkpoint; says whether there was one.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be written.
    pub async fn delete_checkpoint(&self, id: Uuid) -> Result<bool, StoreError> {
        self.writer.write(move |connection| checkpoints::delete(connection, id)).await
    }

    /// Keeps a session's row, replacing the one it had. A checkpoint that only the old row needed goes with it.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be written.
    pub async fn put_session(&self, row: SessionRow) -> Result<(), StoreError> {
        self.writer.write(move |connection| sessions::put(connection, &row)).await
    }

    /// Keeps a session's row and the checkpoint it names together: after a crash there are both or neither. Tells what
    /// made room for them.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Store::put_checkpoint`].
    pub async fn put_session_with(
        &self,
        row: SessionRow,
        checkpoint: CheckpointRow,
        blob: Bytes,
        quota: Quota,
    ) -> Result<Displaced, StoreError> {
        let disk = Arc::clone(&self.disk);
        let write = move |connection: &Connection| {
            // The older state goes first: it takes no room from the new one.
            sessions::put(connection, &row)?;
            put_within(connection, &disk, &checkpoint, &blob, quota)
        };
        self.writer.write(write).await
    }

    /// Sessions in the order of their ids, at most `limit` and [`MAX_LISTED`], after `after`. Damaged ones are left
    /// out and logged.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read.
    pub async fn list_sessions(&self, limit: usize, after: Option<Uuid>) -> Result<Vec<SessionRow>, StoreError> {
        self.readers.read(move |connection| sessions::list(connection, limit, after)).await
    }

    /// Removes a session's row, and the checkpoint it names unless that has a name of its own. Says whether there was
    /// one.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be written.
    pub async fn delete_session(&self, id: Uuid) -> Result<bool, StoreError> {
        self.writer.write(move |connection| sessions::delete(connection, id)).await
    }

    /// Keeps a new, empty volume.
    ///
    /// # Errors
    ///
    /// Returns an error when its owner has one of this name or `most` volumes, or the file cannot be written.
    pub async fn put_volume(&self, row: VolumeRow, most: usize) -> Result<(), StoreError> {
        let disk = Arc::clone(&self.disk);
        let write = move |connection: &Connection| {
            disk.check(connection, 0)?;
            volumes::put(connection, &row, most)
        };
        self.writer.write(write).await
    }

    /// A volume; none if there is no such one.
    ///
    /// # Errors
    ///
    /// Returns an error for a damaged volume, or a file that cannot be read.
    pub async fn find_volume(&self, id: Uuid) -> Result<Option<StoredVolume>, StoreError> {
        self.readers.read(move |connection| volumes::find(connection, id)).await
    }

    /// Volumes of an owner in the order of their names, or the one of this name; at most [`MAX_LISTED`]. Damaged ones
    /// are left out and logged.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read.
    pub async fn list_volumes(&self, owner: String, name: Option<String>) -> Result<Vec<StoredVolume>, StoreError> {
        self.readers.read(move |connection| volumes::list(connection, &owner, name.as_deref())).await
    }

    /// Removes a volume with its content; says whether there was one.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be written.
    pub async fn delete_volume(&self, id: Uuid) -> Result<bool, StoreError> {
        self.writer.write(move |connection| volumes::delete(connection, id)).await
    }

    /// Describes an entry of a volume; the empty path is its top.
    ///
    /// # Errors
    ///
    /// Returns an error for a missing volume or entry, or a file that cannot be read.
    pub async fn volume_entry(&self, id: Uuid, path: String) -> Result<VolumeEntry, StoreError> {
        self.readers.read(move |connection| volumes::entry(connection, id, &path)).await
    }

    /// Entries below a directory of a volume, down to `depth` levels, in the order of their paths.
    ///
    /// # Errors
    ///
    /// Returns an error for a missing volume or directory, or a file that cannot be read.
    pub async fn volume_entries(
        &self,
        id: Uuid,
        directory: String,
        depth: usize,
    ) -> Result<Vec<VolumeEntry>, StoreError> {
        self.readers.read(move |connection| volumes::entries(connection, id, &directory, depth)).await
    }

    /// Up to `length` bytes of a file of a volume from `offset` on.
    ///
    /// # Errors
    ///
    /// Returns an error for a missing volume or file, anything else at the path, or damaged content.
    pub async fn read_volume_file(
        &self,
        id: Uuid,
        path: String,
        offset: u64,
        length: u64,
    ) -> Result<VolumePiece, StoreError> {
        self.readers.read(move |connection| volumes::read_file(connection, id, &path, offset, length)).await
    }

    /// Tree of a volume: every entry with its content, in the order of their paths.
    ///
    /// # Errors
    ///
    /// Returns an error for a missing volume, or damaged content.
    pub async fn volume_tree(&self, id: Uuid) -> Result<Vec<TreeEntry>, StoreError> {
        self.readers.read(move |connection| volumes::tree(connection, id)).await
    }

    /// Changes one entry of a volume at `now`, in nanoseconds since 1970. Returns the entry as it is then; none where it
    /// was removed. Tells what made room for it: never anything of the volume's owner.
    ///
    /// # Errors
    ///
    /// Returns an error for a missing volume, a path that the change can't be made at, or want of room; then nothing
    /// changed.
    pub async fn change_volume(
        &self,
        id: Uuid,
        path: String,
        change: VolumeChange,
        now: i64,
        bounds: VolumeBounds,
        quota: Quota,
    ) -> Result<(Option<VolumeEntry>, Displaced), StoreError> {
        let disk = Arc::clone(&self.disk);
        let write = move |connection: &Connection| {
            let writing = volumes::Writing { disk: &disk, bounds, quota, now };
            volumes::change(connection, &writing, id, &path, &change)
        };
        self.writer.write(write).await
    }

    /// Gives a volume this content and nothing else, at `now`, in nanoseconds since 1970. Entries that are as they were
    /// are not written again. Tells what made room for it: never anything of the volume's owner.
    ///
    /// # Errors
    ///
    /// Returns an error for a missing volume or want of room; then nothing changed.
    pub async fn replace_volume(
        &self,
        id: Uuid,
        tree: Vec<TreeEntry>,
        now: i64,
        bounds: VolumeBounds,
        quota: Quota,
    ) -> Result<Displaced, StoreError> {
        let disk = Arc::clone(&self.disk);
        // Not on the thread that all who write wait for.
        let hash = move || -> Vec<(TreeEntry, Option<[u8; 32]>)> {
            let digest = |entry: &TreeEntry| match &entry.node {
                TreeNode::File(bytes) => Some(Sha256::digest(bytes).into()),
                TreeNode::Directory | TreeNode::Link(_) => None,
            };
            tree.into_iter().map(|entry| (digest(&entry), entry)).map(|(sha256, entry)| (entry, sha256)).collect()
        };
        let tree = tokio::task::spawn_blocking(hash).await.map_err(|_| StoreError::Closed)?;
        let write = move |connection: &Connection| {
            let writing = volumes::Writing { disk: &disk, bounds, quota, now };
            volumes::replace(connection, &writing, id, &tree)
        };
        self.writer.write(write).await
    }

    /// Keeps a webhook, which replaces the one of the same id.
    ///
    /// # Errors
    ///
    /// Returns an error when its owner has `most` others, or the file cannot be written.
    pub async fn put_webhook(&self, row: WebhookRow, most: usize) -> Result<(), StoreError> {
        let disk = Arc::clone(&self.disk);
        self.writer.write(move |connection| webhooks::put(connection, &disk, &row, most)).await
    }

    /// Webhooks in the order of their ids, at most [`MAX_LISTED`], after `after`: those of an owner, or all. Damaged ones
    /// are left out and logged.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read.
    pub async fn list_webhooks(
        &self,
        owner: Option<String>,
        after: Option<Uuid>,
    ) -> Result<Vec<WebhookRow>, StoreError> {
        self.readers.read(move |connection| webhooks::list(connection, owner.as_deref(), after)).await
    }

    /// Removes a webhook with what waits for it; says whether there was one.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be written.
    pub async fn delete_webhook(&self, id: Uuid) -> Result<bool, StoreError> {
        self.writer.write(move |connection| webhooks::delete(connection, id)).await
    }

    /// Queues a delivery to a webhook, if it is there; returns how many older ones had to go so that no more than `most`
    /// wait for it.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be written.
    pub async fn queue_delivery(&self, webhook: Uuid, delivery: Delivery, most: usize) -> Result<usize, StoreError> {
        let disk = Arc::clone(&self.disk);
        self.writer.write(move |connection| webhooks::queue(connection, &disk, webhook, &delivery, most)).await
    }

    /// The first delivery to each webhook whose time has come at `now`, the first due first, at most `limit`.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read.
    pub async fn due_deliveries(&self, now: i64, limit: usize) -> Result<Due, StoreError> {
        self.readers.read(move |connection| webhooks::due(connection, now, limit)).await
    }

    /// Notes an attempt at a delivery that failed.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be written.
    pub async fn postpone_delivery(&self, delivery: Delivery) -> Result<(), StoreError> {
        self.writer.write(move |connection| webhooks::postpone(connection, &delivery)).await
    }

    /// Removes a delivery that was made, or is given up.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be written.
    pub async fn forget_delivery(&self, id: Uuid) -> Result<(), StoreError> {
        self.writer.write(move |connection| webhooks::forget(connection, id)).await
    }

    /// Removes what has expired at `now`, then what `bounds` leave no room for.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be written.
    pub async fn prune(&self, now: i64, bounds: Bounds) -> Result<Pruned, StoreError> {
        let pruned = self.writer.write(move |connection| prune::prune(connection, now, bounds)).await?;
        self.writer.tidy().await?;
        Ok(pruned)
    }

    /// Returns the number and size of the stored things.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read.
    pub async fn usage(&self) -> Result<StoreUsage, StoreError> {
        self.readers.read(prune::usage).await
    }

    /// Returns what the disk has free.
    ///
    /// # Errors
    ///
    /// Returns an error for a disk that tells nothing of itself.
    pub fn disk_space(&self) -> Result<DiskSpace, StoreError> {
        self.disk.space()
    }
}

/// Makes room for a checkpoint and keeps it; if there is none, nothing is changed.
fn put_within(
    connection: &Connection,
    disk: &Disk,
    row: &CheckpointRow,
    blob: &Bytes,
    quota: Quota,
) -> Result<Displaced, StoreError> {
    let bytes = blob.len() as u64;
    disk.check(connection, bytes)?;
    let displaced = prune::make_room(connection, row.owner.as_deref(), row.kind, bytes, quota)?;
    checkpoints::put(connection, row, blob)?;
    Ok(displaced)
}
