//! What must outlive a request: checkpoints, stored sessions, jobs and statistics, in one SQLite file.
//!
//! [`Store::open`] takes the file for itself: a second service on it is refused. Everything written is there after the
//! process was killed; a power cut may take the last moments, but never leaves a damaged file. Whatever is read back is
//! what was written, or an error: each row and each blob has its SHA-256.
//!
//! SQLite blocks, so it never runs on an async worker. Writes go to one thread that owns the only writing connection:
//! SQLite has one writer anyway, and what waits for it is committed together. Reads are short and many, and run beside
//! each other on tokio's blocking threads, each with a connection of a small pool.

mod checkpoints;
mod error;
mod file;
mod jobs;
mod keys;
mod prune;
mod readers;
mod seal;
mod sessions;
mod stats;
#[cfg(test)]
mod tests;
mod writer;

pub use checkpoints::{CheckpointFilter, CheckpointKind, CheckpointRow, Cursor, MAXIMUM_LISTED, StoredCheckpoint};
pub use error::StoreError;
pub use jobs::{
    Accepted, Callback, CallbackPhase, Cancelled, DueCallback, JobBounds, JobFilter, JobItem, JobPhase, JobResult,
    JobRow, JobUsage, Kept, NewJob, OpenItem, PrunedJobs, UnfinishedJob,
};
pub use keys::{KeyFile, KeyRow};
pub use prune::{Bounds, Pruned, StoreUsage};
pub use sessions::SessionRow;
pub use stats::{Recorded, StatBounds};

use bytes::Bytes;
use readers::Readers;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use uuid::Uuid;
use writer::Writer;

/// Checkpoints, stored sessions, jobs and statistics. Dropping it waits for what is being written and closes the file.
///
/// A write whose future is dropped may still happen. Times are milliseconds since 1970.
#[derive(Debug)]
pub struct Store {
    // In this order: the readers' connections close first, so that the writer's leaves one tidy file.
    readers: Readers,
    writer: Writer,
    path: PathBuf,
}

impl Store {
    /// Opens the file at `path`, made with the directories above it if it is not there, and brings it to the form this
    /// version uses.
    ///
    /// # Errors
    ///
    /// A file that is in use, of a newer version, no store of ours, damaged, or that cannot be made.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let writer = Writer::open(path.to_owned()).await?;
        Ok(Self { readers: Readers::new(path.to_owned()), writer, path: path.to_owned() })
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps a checkpoint.
    ///
    /// # Errors
    ///
    /// An id that is taken, or a file that cannot be written.
    pub async fn put_checkpoint(&self, row: CheckpointRow, blob: Bytes) -> Result<(), StoreError> {
        self.writer.write(move |connection| checkpoints::put(connection, &row, &blob)).await
    }

    /// A checkpoint with its blob; none if there is no such one.
    ///
    /// # Errors
    ///
    /// One that is damaged, or a file that cannot be read.
    pub async fn get_checkpoint(&self, id: Uuid) -> Result<Option<(StoredCheckpoint, Bytes)>, StoreError> {
        self.readers.read(move |connection| checkpoints::get(connection, id)).await
    }

    /// A checkpoint without its blob; none if there is no such one.
    ///
    /// # Errors
    ///
    /// As [`Store::get_checkpoint`].
    pub async fn find_checkpoint(&self, id: Uuid) -> Result<Option<StoredCheckpoint>, StoreError> {
        self.readers.read(move |connection| checkpoints::find(connection, id)).await
    }

    /// Checkpoints that match, newest first, at most `limit` and [`MAXIMUM_LISTED`], after the one a listing before
    /// ended with. Damaged ones are left out and logged.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
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
    /// A file that cannot be written.
    pub async fn delete_checkpoint(&self, id: Uuid) -> Result<bool, StoreError> {
        self.writer.write(move |connection| checkpoints::delete(connection, id)).await
    }

    /// Keeps a session's row, replacing the one it had. A checkpoint that only the old row needed goes with it.
    ///
    /// # Errors
    ///
    /// A file that cannot be written.
    pub async fn put_session(&self, row: SessionRow) -> Result<(), StoreError> {
        self.writer.write(move |connection| sessions::put(connection, &row)).await
    }

    /// Keeps a session's row and the checkpoint it names together: after a crash there are both or neither.
    ///
    /// # Errors
    ///
    /// As [`Store::put_checkpoint`].
    pub async fn put_session_with(
        &self,
        row: SessionRow,
        checkpoint: CheckpointRow,
        blob: Bytes,
    ) -> Result<(), StoreError> {
        let write = move |connection: &Connection| {
            checkpoints::put(connection, &checkpoint, &blob)?;
            sessions::put(connection, &row)
        };
        self.writer.write(write).await
    }

    /// Sessions in the order of their ids, at most `limit` and [`MAXIMUM_LISTED`], after `after`. Damaged ones are left
    /// out and logged.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    pub async fn list_sessions(&self, limit: usize, after: Option<Uuid>) -> Result<Vec<SessionRow>, StoreError> {
        self.readers.read(move |connection| sessions::list(connection, limit, after)).await
    }

    /// Removes a session's row, and the checkpoint it names unless that has a name of its own. Says whether there was one.
    ///
    /// # Errors
    ///
    /// A file that cannot be written.
    pub async fn delete_session(&self, id: Uuid) -> Result<bool, StoreError> {
        self.writer.write(move |connection| sessions::delete(connection, id)).await
    }

    /// Removes what has expired at `now`, then what `bounds` leave no room for.
    ///
    /// # Errors
    ///
    /// A file that cannot be written.
    pub async fn prune(&self, now: i64, bounds: Bounds) -> Result<Pruned, StoreError> {
        let pruned = self.writer.write(move |connection| prune::prune(connection, now, bounds)).await?;
        self.writer.tidy().await?;
        Ok(pruned)
    }

    /// How much is kept.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    pub async fn usage(&self) -> Result<StoreUsage, StoreError> {
        self.readers.read(prune::usage).await
    }
}
