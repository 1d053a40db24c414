//! Usage of the store by jobs, and their removal when it exceeds the bounds.

use super::super::error::StoreError;
use super::super::room::{self, PAGE, Page, Position, Quota, Removable};
use super::phase::JobPhase;
use rusqlite::{Connection, params};
use std::time::Duration;
use uuid::Uuid;

/// Jobs removed in one transaction: other writes wait meanwhile.
const REMOVED_AT_ONCE: usize = 200;

/// Bounds on stored jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobBounds {
    /// Age at which one that has ended goes, counted from its end.
    pub age: Duration,
    /// Maximum size of all jobs together, in bytes. Only jobs that have ended make room, of the owner who holds most.
    pub bytes: u64,
    /// Maximum size of what the writing owner holds, checkpoints and sessions included, in bytes; none: no limit.
    pub owner_bytes: Option<u64>,
    /// Jobs of one owner that have not ended.
    pub unfinished: u64,
}

/// Numbers of jobs that were removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PrunedJobs {
    /// Jobs past their time.
    pub expired: u64,
    /// Jobs that there was no room for.
    pub for_room: u64,
}

/// Number and size of the stored jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobUsage {
    /// Jobs that have not ended.
    pub unfinished: u64,
    /// Jobs that have ended.
    pub ended: u64,
    /// Size of all jobs, in bytes.
    pub bytes: u64,
}

pub(super) fn prune(connection: &Connection, now: i64, bounds: JobBounds) -> Result<PrunedJobs, StoreError> {
    let age = i64::try_from(bounds.age.as_millis()).unwrap_or(i64::MAX);
    let mut pruned = PrunedJobs::default();
    let old = "SELECT key FROM jobs WHERE phase IN (2, 3) AND ifnull(ended_at, 0) <= ? ORDER BY ended_at, key LIMIT ?";
    let mut old = connection.prepare_cached(old)?;
    let keys = old.query_map(params![now.saturating_sub(age), REMOVED_AT_ONCE as i64], |row| row.get(0))?;
    let keys: Vec<i64> = keys.collect::<Result<_, _>>()?;
    remove(connection, &keys)?;
    pruned.expired = keys.len() as u64;
    let ended = |owner: &Vec<u8>, next| ended_of(connection, owner, next);
    let mut surplus = room::plan_to_fit(connection, bounds.bytes, ended)?;
    surplus.truncate(REMOVED_AT_ONCE);
    remove(connection, &surplus)?;
    pruned.for_room = surplus.len() as u64;
    Ok(pruned)
}

/// Makes room for `wanted` bytes of an owner's jobs: jobs go that have ended, of the owner who holds most.
///
/// # Errors
///
/// Returns [`StoreError::OverQuota`] or [`StoreError::NoRoom`]: then nothing is removed.
pub(super) fn make_room(
    connection: &Connection,
    owner: Option<Uuid>,
    wanted: u64,
    bounds: JobBounds,
) -> Result<(), StoreError> {
    let owner = owner.map_or_else(Vec::new, |owner| owner.as_bytes().to_vec());
    let quota = Quota { total_bytes: bounds.bytes, owner_bytes: bounds.owner_bytes };
    let ended = |owner: &Vec<u8>, next| ended_of(connection, owner, next);
    let doomed = room::plan_for(connection, &owner, wanted, quota, ended)?;
    remove(connection, &doomed)
}

/// Jobs of an owner that have ended, by their keys, the first to end first.
fn ended_of(connection: &Connection, owner: &[u8], next: Position) -> Result<Page<i64>, StoreError> {
    if next.kind > 0 {
        return Ok(None);
    }
    let mut select = connection.prepare_cached(
        "SELECT key, bytes FROM jobs WHERE owner IS ? AND phase IN (2, 3) ORDER BY ended_at, key LIMIT ? OFFSET ?",
    )?;
    let owner = Some(owner).filter(|owner| !owner.is_empty());
    let rows = select.query_map(params![owner, PAGE as i64, next.after as i64], |row| {
        Ok(Removable { bytes: u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default(), what: row.get(0)? })
    })?;
    Ok(Some(rows.collect::<Result<_, _>>()?))
}

fn remove(connection: &Connection, keys: &[i64]) -> Result<(), StoreError> {
    let mut delete = connection.prepare_cached("DELETE FROM jobs WHERE key = ?")?;
    for key in keys {
        delete.execute([key])?;
    }
    Ok(())
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
