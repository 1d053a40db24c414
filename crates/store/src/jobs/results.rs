//! The results of a job's items.

use super::super::disk::Disk;
use super::super::error::StoreError;
use super::super::seal::Seal;
use super::super::stats::Recorded;
use super::items::{PAGE_BYTES, key_of};
use super::phase::JobPhase;
use super::rows::{self, JobRow, ROW_BYTES};
use super::{JobBounds, callbacks, decompressed, retention};
use proofbox_types::histogram::OUTCOME_COUNT;
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

/// Result of an item, as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobResult {
    /// The how manyth result of the job it is, from 1.
    pub sequence: u32,
    /// Index of the item in its job.
    pub item: u32,
    /// Line as it was written; none where it is damaged.
    pub line: Option<Vec<u8>>,
}

/// Result of an item, as it is put into the store.
#[derive(Debug, Clone)]
pub struct NewResult {
    /// Id of the job.
    pub job: Uuid,
    /// Index of the item in its job.
    pub item: u32,
    /// Line that reports the result, encoded by the caller.
    pub line: Vec<u8>,
    /// Outcome: an index into [`proofbox_types::histogram::OUTCOMES`].
    pub outcome: usize,
    /// Statistics that the result adds.
    pub recorded: Vec<Recorded>,
}

/// Effect of putting a result into the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultEffect {
    /// The result is stored; the job's row after that.
    Written(Box<JobRow>),
    /// The item has one: this one is not needed.
    Duplicate,
    /// The job has ended, or is gone: it is not wanted any more.
    NotWanted,
    /// The store has no room for the result, and its owner holds most: the job has been ended, and its stored results
    /// stay.
    NoRoom,
}

/// Reason given for a job that is ended because there is no room for its results.
const NO_ROOM: &str = "its results take more room than there is for jobs of its owner";

pub(super) fn put_result(
    connection: &Connection,
    disk: &Disk,
    result: &NewResult,
    bounds: JobBounds,
    now: i64,
) -> Result<ResultEffect, StoreError> {
    let NewResult { job, item, line, outcome, .. } = result;
    let (job, item, outcome) = (*job, *item, *outcome);
    let Some(mut stored) = rows::find_stored(connection, job)? else { return Ok(ResultEffect::NotWanted) };
    if stored.row.phase != JobPhase::Running {
        return Ok(ResultEffect::NotWanted);
    }
    let bytes = line.len() as u64 + ROW_BYTES;
    disk.check(connection, bytes)?;
    match retention::make_room(connection, stored.row.owner, bytes, bounds) {
        Ok(()) => {}
        Err(StoreError::NoRoom | StoreError::OverQuota { .. }) => {
            rows::cancel(connection, job, NO_ROOM, now)?;
            return Ok(ResultEffect::NoRoom);
        }
        Err(error) => return Err(error),
    }
    let sequence = stored.row.done() + 1;
    let mut insert = connection.prepare_cached(
        "INSERT INTO job_results (job, sequence, item, line, row_sha256) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (job, item) DO NOTHING",
    )?;
    let sealed = result_seal(job, sequence, item, line);
    if insert.execute(params![stored.key, sequence, item, line, sealed])? == 0 {
        return Ok(ResultEffect::Duplicate);
    }
    let row = &mut stored.row;
    row.tally[outcome.min(OUTCOME_COUNT - 1)] += 1;
    row.bytes += bytes;
    let is_last = row.done() >= row.items;
    if is_last {
        row.phase = JobPhase::Finished;
        row.ended_at = Some(now);
    }
    rows::update(connection, &stored)?;
    if is_last {
        callbacks::wake(connection, stored.key, job, now)?;
    }
    Ok(ResultEffect::Written(Box::new(stored.row)))
}

pub(super) fn results(
    connection: &Connection,
    id: Uuid,
    after: u32,
    limit: usize,
) -> Result<Vec<JobResult>, StoreError> {
    let Some(key) = key_of(connection, id)? else { return Ok(Vec::new()) };
    let mut select = connection.prepare_cached(
        "SELECT sequence, item, line, row_sha256 FROM job_results WHERE job = ? AND sequence > ?
         ORDER BY sequence LIMIT ?",
    )?;
    let mut rows = select.query(params![key, after, limit as i64])?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    while bytes < PAGE_BYTES
        && let Some(row) = rows.next()?
    {
        let (sequence, item) = (row.get(0)?, row.get(1)?);
        let line = read_line(row, id, sequence, item);
        bytes += line.as_ref().map_or(0, Vec::len);
        found.push(JobResult { sequence, item, line });
    }
    Ok(found)
}

fn read_line(row: &Row<'_>, id: Uuid, sequence: u32, item: u32) -> Option<Vec<u8>> {
    let line = row.get_ref(2).ok()?.as_blob().ok()?;
    let sealed: [u8; 32] = row.get(3).ok()?;
    if sealed != result_seal(id, sequence, item, line) {
        tracing::error!(job = %id, item, "a result of a job is damaged in the store");
        return None;
    }
    decompressed(line)
}

fn result_seal(job: Uuid, sequence: u32, item: u32, line: &[u8]) -> [u8; 32] {
    Seal::of("job result").id(job).number(sequence.into()).number(item.into()).field(line).finish()
}
