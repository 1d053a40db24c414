//! Jobs: what was asked, item by item, and what became of each.
//!
//! `rows` reads and writes the job's own row, `items` what is to be run, `results` what became of it, `callbacks` whom
//! to tell at the end, `retention` what goes when it is old or too much.
//!
//! A result is written once, in one transaction with the job's tally; with the last one the job is finished. So after
//! a crash there is no result that is not counted, and none twice.

mod callbacks;
mod items;
mod phase;
mod results;
mod retention;
mod rows;
#[cfg(test)]
mod tests;

pub use callbacks::{Callback, CallbackPhase, DueCallback};
pub use items::{JobItem, OpenItem};
pub use phase::JobPhase;
pub use results::{JobResult, NewResult, ResultEffect};
pub use retention::{JobBounds, JobUsage, PrunedJobs};
pub use rows::{Accepted, Cancelled, JobFilter, JobRow, NewJob, UnfinishedJob};

use super::Store;
use super::error::StoreError;
use super::stats;
use std::sync::Arc;
use uuid::Uuid;

/// Level of compression: half the time of the default, and nearly as small.
const LEVEL: i32 = 1;

fn failed(error: std::io::Error) -> StoreError {
    StoreError::Engine { reason: error.to_string() }
}

/// Makes a compressor for many payloads: making one takes longer than compressing an item.
fn compressor() -> Result<zstd::bulk::Compressor<'static>, StoreError> {
    zstd::bulk::Compressor::new(LEVEL).map_err(failed)
}

fn compressed(bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
    compressor()?.compress(bytes).map_err(failed)
}

/// Decompresses what [`compressed`] made; none if `bytes` is anything else. The caller has checked the row's seal.
fn decompressed(bytes: &[u8]) -> Option<Vec<u8>> {
    zstd::stream::decode_all(bytes).ok()
}

impl Store {
    /// Keeps a job with its items, unless there is one with its idempotency key or no room. Jobs that have ended make
    /// room, of the owner who holds most.
    ///
    /// # Errors
    ///
    /// Returns an error for a disk that is full, or a file that cannot be written.
    pub async fn accept_job(&self, job: NewJob, bounds: JobBounds) -> Result<Accepted, StoreError> {
        let pack = move || rows::pack(job);
        let packed = tokio::task::spawn_blocking(pack).await.map_err(|_| StoreError::Closed)??;
        let disk = Arc::clone(&self.disk);
        self.writer.write(move |connection| rows::accept(connection, &disk, &packed, bounds)).await
    }

    /// A job; none if there is no such one.
    ///
    /// # Errors
    ///
    /// Returns an error for a damaged job, or a file that cannot be read.
    pub async fn find_job(&self, id: Uuid) -> Result<Option<JobRow>, StoreError> {
        self.readers.read(move |connection| rows::find(connection, id)).await
    }

    /// Returns the head that all items of a job share; none if there is no such job.
    ///
    /// # Errors
    ///
    /// Returns an error for a damaged job, or a file that cannot be read.
    pub async fn job_head(&self, id: Uuid) -> Result<Option<Vec<u8>>, StoreError> {
        self.readers.read(move |connection| rows::head(connection, id)).await
    }

    /// Jobs of one owner, the newest first. Damaged ones are left out and logged.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read.
    pub async fn list_jobs(&self, filter: JobFilter, limit: usize) -> Result<Vec<JobRow>, StoreError> {
        self.readers.read(move |connection| rows::list(connection, &filter, limit)).await
    }

    /// Jobs that have items to run, the oldest first.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read.
    pub async fn unfinished_jobs(&self) -> Result<Vec<UnfinishedJob>, StoreError> {
        self.readers.read(rows::unfinished).await
    }

    /// Notes that a job's items are being run, if it waits for that.
    ///
    /// # Errors
    ///
    /// Returns an error for a job that is damaged or gone, or a file that cannot be written.
    pub async fn start_job(&self, id: Uuid, now: i64) -> Result<(), StoreError> {
        self.writer.write(move |connection| rows::start(connection, id, now)).await
    }

    /// Ends a job that has not ended; what is done stays.
    ///
    /// # Errors
    ///
    /// Returns an error for a job that is damaged, or a file that cannot be written.
    pub async fn cancel_job(&self, id: Uuid, reason: String, now: i64) -> Result<Cancelled, StoreError> {
        self.writer.write(move |connection| rows::cancel(connection, id, &reason, now)).await
    }

    /// Removes a job with all that belongs to it; says whether there was one.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be written.
    pub async fn delete_job(&self, id: Uuid) -> Result<bool, StoreError> {
        self.writer.write(move |connection| rows::delete(connection, id)).await
    }

    /// Items of a job that have no result, in their order, after the item `after`.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read.
    pub async fn open_items(&self, job: Uuid, after: Option<u32>, limit: usize) -> Result<Vec<OpenItem>, StoreError> {
        self.readers.read(move |connection| items::open(connection, job, after, limit)).await
    }

    /// Items of a job by their numbers, done or not.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read.
    pub async fn job_items(&self, job: Uuid, numbers: Vec<u32>) -> Result<Vec<OpenItem>, StoreError> {
        self.readers.read(move |connection| items::of_numbers(connection, job, &numbers)).await
    }

    /// Keeps an item's result, if the job runs and the item has none, and what the statistics say of it with it. The
    /// last one finishes the job. Where there is no room for it and its owner holds most, the job ends.
    ///
    /// # Errors
    ///
    /// Returns an error for a job that is damaged, a disk that is full, or a file that cannot be written.
    pub async fn put_result(&self, result: NewResult, bounds: JobBounds, now: i64) -> Result<ResultEffect, StoreError> {
        let pack = move || Ok::<_, StoreError>(NewResult { line: compressed(&result.line)?, ..result });
        let result = tokio::task::spawn_blocking(pack).await.map_err(|_| StoreError::Closed)??;
        let disk = Arc::clone(&self.disk);
        let write = move |connection: &rusqlite::Connection| {
            let kept = results::put_result(connection, &disk, &result, bounds, now)?;
            if matches!(kept, ResultEffect::Written(_)) {
                stats::record(connection, &result.recorded)?;
            }
            Ok(kept)
        };
        self.writer.write(write).await
    }

    /// Results of a job in the order in which they came, after the `after`th: `limit` of them, or fewer where they are
    /// large.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read.
    pub async fn job_results(&self, job: Uuid, after: u32, limit: usize) -> Result<Vec<JobResult>, StoreError> {
        self.readers.read(move |connection| results::results(connection, job, after, limit)).await
    }

    /// Callbacks whose time has come, the first first.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read.
    pub async fn due_callbacks(&self, now: i64, limit: usize) -> Result<Vec<DueCallback>, StoreError> {
        self.readers.read(move |connection| callbacks::due(connection, now, limit)).await
    }

    /// Notes how it stands with a job's callback.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be written.
    pub async fn put_callback(&self, job: Uuid, callback: Callback) -> Result<(), StoreError> {
        self.writer.write(move |connection| callbacks::put(connection, job, &callback)).await
    }

    /// Removes jobs that have ended and are too old, then until all fit the oldest of the owner who holds most.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be written.
    pub async fn prune_jobs(&self, now: i64, bounds: JobBounds) -> Result<PrunedJobs, StoreError> {
        let pruned = self.writer.write(move |connection| retention::prune(connection, now, bounds)).await?;
        if pruned != PrunedJobs::default() {
            self.writer.tidy().await?;
        }
        Ok(pruned)
    }

    /// Returns the number and size of the stored jobs.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read.
    pub async fn job_usage(&self) -> Result<JobUsage, StoreError> {
        self.readers.read(retention::usage).await
    }
}
