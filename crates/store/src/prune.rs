//! Usage of the store by checkpoints and sessions, and their removal when it exceeds the bounds.

use super::checkpoints::CheckpointKind;
use super::error::StoreError;
use super::room::{self, Area, PAGE, Page, Position, Quota, Removable};
use rusqlite::{Connection, params};
use std::time::Duration;
use uuid::Uuid;

/// Bounds on stored checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Maximum size of all blobs together, in bytes. Evicted sessions count, but only what clients know of makes room:
    /// named checkpoints first, then paused sessions, the oldest first, of the owner who holds most.
    pub total_bytes: u64,
    /// Age at which a named checkpoint goes, whatever its expiry.
    pub named_age: Duration,
}

/// Things that had to go for something else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Displaced {
    /// Checkpoints that clients made.
    pub checkpoints: u64,
    /// Sessions whose state is gone, each with the checkpoint that was its state.
    pub sessions: Vec<(Uuid, Uuid)>,
}

/// Numbers of things that were removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pruned {
    /// Checkpoints past their time.
    pub expired: u64,
    /// Checkpoints that there was no room for.
    pub for_room: u64,
    /// Sessions past their time.
    pub sessions: u64,
    /// Sessions among what there was no room for, each with the checkpoint that was its state.
    pub displaced: Vec<(Uuid, Uuid)>,
    /// Bytes of all blobs removed.
    pub bytes: u64,
}

/// Number and size of the stored checkpoints, sessions and volumes.
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
    /// Number of volumes of all owners.
    pub volumes: u64,
    /// Bytes of all blobs and volumes.
    pub bytes: u64,
}

pub(super) fn prune(connection: &Connection, now: i64, bounds: Bounds) -> Result<Pruned, StoreError> {
    let mut pruned = Pruned::default();
    let before = room::total(connection, Area::Checkpoints)?;
    // A session's state goes with it, unless a client has named it.
    let states = "DELETE FROM checkpoints WHERE kind <> ?2
                  AND id IN (SELECT checkpoint FROM sessions WHERE expires_at <= ?1)";
    let states = connection.prepare_cached(states)?.execute(params![now, CheckpointKind::Named.number()])?;
    let sessions = "DELETE FROM sessions WHERE expires_at <= ?";
    pruned.sessions = connection.prepare_cached(sessions)?.execute([now])? as u64;
    let age = i64::try_from(bounds.named_age.as_millis()).unwrap_or(i64::MAX);
    // One with a tag stays until there is no room for it.
    let expired = "DELETE FROM checkpoints WHERE expires_at <= ?1 OR (kind = ?2 AND created_at <= ?3
                   AND NOT EXISTS (SELECT 1 FROM tags WHERE checkpoint = key))";
    let expired = connection.prepare_cached(expired)?.execute(params![
        now,
        CheckpointKind::Named.number(),
        now.saturating_sub(age)
    ])?;
    pruned.expired = (states + expired) as u64;
    let kinds = [CheckpointKind::Named, CheckpointKind::Paused];
    let known = |owner: &String, next| removable(connection, owner, &kinds, next);
    let doomed = room::plan_to_fit(connection, bounds.total_bytes, known)?;
    pruned.for_room = doomed.len() as u64;
    pruned.displaced = remove(connection, &doomed)?.sessions;
    pruned.bytes = before.saturating_sub(room::total(connection, Area::Checkpoints)?);
    Ok(pruned)
}

/// Makes room for `wanted` bytes of a checkpoint of this kind.
///
/// Its owner's named checkpoints go, and for a session out of memory, which nobody has asked to put away, its paused
/// sessions too. Of another owner, who holds more, all goes, the sessions out of memory last.
///
/// # Errors
///
/// Returns [`StoreError::OverQuota`] or [`StoreError::NoRoom`]: then nothing is removed.
pub(super) fn make_room(
    connection: &Connection,
    owner: Option<&str>,
    kind: CheckpointKind,
    wanted: u64,
    quota: Quota,
) -> Result<Displaced, StoreError> {
    let owner = owner.unwrap_or_default().to_owned();
    let may_go = |holder: &String, next| {
        let own: &[CheckpointKind] = match kind {
            CheckpointKind::Named | CheckpointKind::Paused => &[CheckpointKind::Named],
            CheckpointKind::Evicted => &[CheckpointKind::Named, CheckpointKind::Paused],
        };
        let others = &[CheckpointKind::Named, CheckpointKind::Paused, CheckpointKind::Evicted];
        removable(connection, holder, if *holder == owner { own } else { others }, next)
    };
    let doomed = room::plan_for(connection, &owner, wanted, quota, may_go)?;
    remove(connection, &doomed)
}

/// Makes room for `wanted` bytes of a volume: nothing of its owner's goes for it, and of another owner, who holds more,
/// what goes for a checkpoint.
///
/// # Errors
///
/// Returns [`StoreError::OverQuota`] or [`StoreError::NoRoom`]: then nothing is removed.
pub(super) fn make_room_for_volume(
    connection: &Connection,
    owner: &str,
    wanted: u64,
    quota: Quota,
) -> Result<Displaced, StoreError> {
    if wanted == 0 {
        return Ok(Displaced::default());
    }
    let owner = owner.to_owned();
    let may_go = |holder: &String, next| {
        let others = &[CheckpointKind::Named, CheckpointKind::Paused, CheckpointKind::Evicted];
        let kinds: &[CheckpointKind] = if *holder == owner { &[] } else { others };
        removable(connection, holder, kinds, next)
    };
    let doomed = room::plan_for(connection, &owner, wanted, quota, may_go)?;
    remove(connection, &doomed)
}

/// A checkpoint that is to go.
struct Doomed {
    key: i64,
    id: Option<Uuid>,
    session: Option<Uuid>,
    kind: CheckpointKind,
}

/// Checkpoints of an owner that may go: by kind, and of each kind the oldest first.
fn removable(
    connection: &Connection,
    owner: &str,
    kinds: &[CheckpointKind],
    next: Position,
) -> Result<Page<Doomed>, StoreError> {
    let Some(kind) = kinds.get(next.kind).copied() else { return Ok(None) };
    let uuid = |bytes: Option<Vec<u8>>| bytes.and_then(|bytes| Uuid::from_slice(&bytes).ok());
    let mut oldest = connection.prepare_cached(
        "SELECT key, id, session, bytes FROM checkpoints WHERE owner IS ? AND kind = ?
         ORDER BY created_at, id LIMIT ? OFFSET ?",
    )?;
    let owner = Some(owner).filter(|owner| !owner.is_empty());
    let rows = oldest.query_map(params![owner, kind.number(), PAGE as i64, next.after as i64], |row| {
        let what = Doomed { key: row.get(0)?, id: uuid(row.get(1)?), session: uuid(row.get(2)?), kind };
        Ok(Removable { bytes: u64::try_from(row.get::<_, i64>(3)?).unwrap_or_default(), what })
    })?;
    Ok(Some(rows.collect::<Result<_, _>>()?))
}

/// Removes checkpoints, and with a session's state the session.
fn remove(connection: &Connection, doomed: &[Doomed]) -> Result<Displaced, StoreError> {
    let mut displaced = Displaced::default();
    let mut delete = connection.prepare_cached("DELETE FROM checkpoints WHERE key = ?")?;
    let mut end = connection.prepare_cached("DELETE FROM sessions WHERE id = ? AND checkpoint = ?")?;
    for Doomed { key, id, session, kind } in doomed {
        delete.execute([key])?;
        match kind {
            CheckpointKind::Named => displaced.checkpoints += 1,
            CheckpointKind::Evicted | CheckpointKind::Paused => {
                if let (Some(id), Some(session)) = (id, session) {
                    end.execute(params![session.as_bytes(), id.as_bytes()])?;
                    displaced.sessions.push((*session, *id));
                }
            }
        }
    }
    Ok(displaced)
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
    let volumes = "SELECT count(*), coalesce(sum(bytes), 0) FROM volumes";
    let (volumes, bytes): (i64, i64) =
        connection.prepare_cached(volumes)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    usage.volumes = u64::try_from(volumes).unwrap_or_default();
    usage.bytes += u64::try_from(bytes).unwrap_or_default();
    Ok(usage)
}
