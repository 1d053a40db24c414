//! How much the jobs are, and which go when it is too much.

use super::super::error::StoreError;
use super::rows::JobPhase;
use rusqlite::{Connection, params};
use std::time::Duration;
use uuid::Uuid;

/// Jobs removed in one transaction: other writes wait meanwhile.
const REMOVED_AT_ONCE: usize = 200;

/// What of jobs may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobBounds {
    /// Age at which one that has ended goes, counted from its end.
    pub age: Duration,
    /// All of them together, bytes. Only those that have ended make room.
    pub bytes: u64,
    /// Jobs of one owner that have not ended.
    pub unfinished: u64,
}

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PrunedJobs {
    /// Jobs past their time.
    pub expired: u64,
    /// Jobs that there was no room for.
    pub for_room: u64,
}

/// How much the jobs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobUsage {
    /// Those that have not ended.
    pub unfinished: u64,
    /// Those that have.
    pub ended: u64,
    /// Bytes of all.
    pub bytes: u64,
}

pub(super) fn prune(connection: &Connection, now: i64, bounds: JobBounds) -> Result<PrunedJobs, StoreError> {
    let age = i64::try_from(bounds.age.as_millis()).unwrap_or(i64::MAX);
    let mut excess = usage(connection)?.bytes.saturating_sub(bounds.bytes);
    let mut pruned = PrunedJobs::default();
    let mut doomed = Vec::new();
    let mut oldest = connection
        .prepare_cached("SELECT key, ended_at, bytes FROM jobs WHERE phase IN (2, 3) ORDER BY ended_at, key LIMIT ?")?;
    let mut rows = oldest.query([REMOVED_AT_ONCE as i64])?;
    while let Some(row) = rows.next()? {
        let is_old = row.get::<_, Option<i64>>(1)?.is_none_or(|ended| ended <= now.saturating_sub(age));
        if !is_old && excess == 0 {
            break;
        }
        *if is_old { &mut pruned.expired } else { &mut pruned.for_room } += 1;
        excess = excess.saturating_sub(u64::try_from(row.get::<_, i64>(2)?).unwrap_or_default());
        doomed.push(row.get::<_, i64>(0)?);
    }
    drop(rows);
    let mut delete = connection.prepare_cached("DELETE FROM jobs WHERE key = ?")?;
    for key in doomed {
        delete.execute([key])?;
    }
    Ok(pruned)
}

pub(super) fn usage(connection: &Connection) -> Result<JobUsage, StoreError> {
    let mut usage = JobUsage::default();
    let mut phases = connection.prepare_cached("SELECT phase, count(*), sum(bytes) FROM jobs GROUP BY phase")?;
    let mut rows = phases.query([])?;
    while let Some(row) = rows.next()? {
        let count = u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default();
        usage.bytes += u64::try_from(row.get::<_, i64>(2)?).unwrap_or_default();
        let unfinished = [JobPhase::Queued.number(), JobPhase::Running.number()].contains(&row.get(0)?);
        *if unfinished { &mut usage.unfinished } else { &mut usage.ended } += count;
    }
    Ok(usage)
}

pub(super) fn unfinished_of(connection: &Connection, owner: Option<Uuid>) -> Result<u64, StoreError> {
    let select = "SELECT count(*) FROM jobs WHERE phase IN (0, 1) AND owner IS ?";
    let owner = owner.as_ref().map(|owner| owner.as_bytes());
    let count: i64 = connection.prepare_cached(select)?.query_row(params![owner], |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or_default())
}

pub(super) fn unfinished_bytes(connection: &Connection) -> Result<u64, StoreError> {
    let select = "SELECT coalesce(sum(bytes), 0) FROM jobs WHERE phase IN (0, 1)";
    let bytes: i64 = connection.prepare_cached(select)?.query_row([], |row| row.get(0))?;
    Ok(u64::try_from(bytes).unwrap_or_default())
}
