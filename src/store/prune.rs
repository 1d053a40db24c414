//! How much is kept, and what goes when it is too much.

use super::checkpoints::CheckpointKind;
use super::error::StoreError;
use rusqlite::{Connection, params};
use std::time::Duration;

/// What the store may keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// All blobs together, bytes. Evicted sessions count, but only those that clients know make room: named checkpoints
    /// first, then paused sessions, the oldest first.
    pub total_bytes: u64,
    /// Age at which a named checkpoint goes, whatever its expiry.
    pub named_age: Duration,
}

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pruned {
    /// Checkpoints past their time.
    pub expired: u64,
    /// Checkpoints that there was no room for.
    pub for_room: u64,
    /// Sessions past their time.
    pub sessions: u64,
    /// Bytes of all blobs removed.
    pub bytes: u64,
}

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreUsage {
    /// Checkpoints that clients made.
    pub named: u64,
    /// Sessions out of memory.
    pub evicted: u64,
    /// Sessions put to sleep.
    pub paused: u64,
    /// Rows of stored sessions.
    pub sessions: u64,
    /// Bytes of all blobs.
    pub bytes: u64,
}

pub(super) fn prune(connection: &Connection, now: i64, bounds: Bounds) -> Result<Pruned, StoreError> {
    let mut pruned = Pruned::default();
    let before = total(connection)?;
    // A session's state goes with it, unless a client has named it.
    let states = "DELETE FROM checkpoints WHERE kind <> ?2
                  AND id IN (SELECT checkpoint FROM sessions WHERE expires_at <= ?1)";
    let states = connection.prepare_cached(states)?.execute(params![now, CheckpointKind::Named.number()])?;
    let sessions = "DELETE FROM sessions WHERE expires_at <= ?";
    pruned.sessions = connection.prepare_cached(sessions)?.execute([now])? as u64;
    let age = i64::try_from(bounds.named_age.as_millis()).unwrap_or(i64::MAX);
    let expired = "DELETE FROM checkpoints WHERE expires_at <= ?1 OR (kind = ?2 AND created_at <= ?3)";
    let expired = connection.prepare_cached(expired)?.execute(params![
        now,
        CheckpointKind::Named.number(),
        now.saturating_sub(age)
    ])?;
    pruned.expired = (states + expired) as u64;
    for kind in [CheckpointKind::Named, CheckpointKind::Paused] {
        pruned.for_room += make_room(connection, kind, bounds.total_bytes)?;
    }
    pruned.bytes = before.saturating_sub(total(connection)?);
    Ok(pruned)
}

/// Removes the oldest of a kind until all fits; returns how many.
fn make_room(connection: &Connection, kind: CheckpointKind, allowed: u64) -> Result<u64, StoreError> {
    let mut excess = total(connection)?.saturating_sub(allowed);
    let mut doomed: Vec<i64> = Vec::new();
    let mut oldest =
        connection.prepare_cached("SELECT key, bytes FROM checkpoints WHERE kind = ? ORDER BY created_at, id")?;
    let mut rows = oldest.query([kind.number()])?;
    while excess > 0
        && let Some(row) = rows.next()?
    {
        doomed.push(row.get(0)?);
        excess = excess.saturating_sub(u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default());
    }
    drop(rows);
    let mut delete = connection.prepare_cached("DELETE FROM checkpoints WHERE key = ?")?;
    for key in &doomed {
        delete.execute([key])?;
    }
    Ok(doomed.len() as u64)
}

fn total(connection: &Connection) -> Result<u64, StoreError> {
    let sum = "SELECT coalesce(sum(bytes), 0) FROM checkpoints";
    let total: i64 = connection.prepare_cached(sum)?.query_row([], |row| row.get(0))?;
    Ok(u64::try_from(total).unwrap_or_default())
}

pub(super) fn usage(connection: &Connection) -> Result<StoreUsage, StoreError> {
    let mut usage = StoreUsage::default();
    let mut kinds = connection.prepare_cached("SELECT kind, count(*), sum(bytes) FROM checkpoints GROUP BY kind")?;
    let mut rows = kinds.query([])?;
    while let Some(row) = rows.next()? {
        let count = u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default();
        usage.bytes += u64::try_from(row.get::<_, i64>(2)?).unwrap_or_default();
        match CheckpointKind::from_number(row.get(0)?) {
            Some(CheckpointKind::Named) => usage.named = count,
            Some(CheckpointKind::Evicted) => usage.evicted = count,
            Some(CheckpointKind::Paused) => usage.paused = count,
            // Damaged: it counts with its bytes only.
            None => {}
        }
    }
    let sessions: i64 = connection.prepare_cached("SELECT count(*) FROM sessions")?.query_row([], |row| row.get(0))?;
    usage.sessions = u64::try_from(sessions).unwrap_or_default();
    Ok(usage)
}
