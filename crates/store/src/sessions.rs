//! Sessions that are stored: what of them must survive a restart of the service.

use super::checkpoints::{CheckpointKind, MAX_LISTED};
use super::error::StoreError;
use super::seal::Seal;
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

/// Session whose state is in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Id of the session.
    pub id: Uuid,
    /// Metadata of the session, encoded by the caller.
    pub meta: Vec<u8>,
    /// Expiry, in milliseconds since 1970.
    pub expires_at: i64,
    /// The checkpoint that is its state.
    pub checkpoint: Option<Uuid>,
}

const COLUMNS: &str = "id, meta, expires_at, checkpoint, row_sha256";

pub(super) fn put(connection: &Connection, row: &SessionRow) -> Result<(), StoreError> {
    drop_state(connection, row.id, row.checkpoint)?;
    let mut upsert = connection.prepare_cached(
        "INSERT INTO sessions (id, meta, expires_at, checkpoint, row_sha256) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET meta = excluded.meta, expires_at = excluded.expires_at,
             checkpoint = excluded.checkpoint, row_sha256 = excluded.row_sha256",
    )?;
    upsert.execute(params![
        row.id.as_bytes(),
        row.meta,
        row.expires_at,
        row.checkpoint.as_ref().map(|checkpoint| checkpoint.as_bytes()),
        seal(row),
    ])?;
    Ok(())
}

/// Removes the checkpoint a session's row names, unless it is `kept` or a client has named it.
fn drop_state(connection: &Connection, session: Uuid, kept: Option<Uuid>) -> Result<(), StoreError> {
    let mut delete = connection.prepare_cached(
        "DELETE FROM checkpoints WHERE id = (SELECT checkpoint FROM sessions WHERE id = ?1)
         AND id IS NOT ?2 AND kind <> ?3",
    )?;
    let kept = kept.as_ref().map(|kept| kept.as_bytes());
    delete.execute(params![session.as_bytes(), kept, CheckpointKind::Named.number()])?;
    Ok(())
}

pub(super) fn list(connection: &Connection, limit: usize, after: Option<Uuid>) -> Result<Vec<SessionRow>, StoreError> {
    let mut select = connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM sessions WHERE ?1 IS NULL OR id > ?1 ORDER BY id LIMIT ?2"))?;
    let after = after.as_ref().map(|after| after.as_bytes());
    let mut rows = select.query(params![after, limit.min(MAX_LISTED) as i64])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        match read(row) {
            Some(session) => found.push(session),
            None => tracing::warn!("a damaged session in the store is left out of a listing"),
        }
    }
    Ok(found)
}

pub(super) fn delete(connection: &Connection, id: Uuid) -> Result<bool, StoreError> {
    drop_state(connection, id, None)?;
    let mut delete = connection.prepare_cached("DELETE FROM sessions WHERE id = ?")?;
    Ok(delete.execute([id.as_bytes()])? > 0)
}

/// A row, if it is as it was written.
fn read(row: &Row<'_>) -> Option<SessionRow> {
    let parse = || -> rusqlite::Result<(SessionRow, [u8; 32])> {
        let session = SessionRow {
            id: Uuid::from_bytes(row.get(0)?),
            meta: row.get(1)?,
            expires_at: row.get(2)?,
            checkpoint: row.get::<_, Option<[u8; 16]>>(3)?.map(Uuid::from_bytes),
        };
        Ok((session, row.get(4)?))
    };
    let (session, sealed) = parse().ok()?;
    (sealed == seal(&session)).then_some(session)
}

fn seal(row: &SessionRow) -> [u8; 32] {
    Seal::of("session")
        .id(row.id)
        .field(&row.meta)
        .number(row.expires_at)
        .optional(row.checkpoint.as_ref().map(|checkpoint| &checkpoint.as_bytes()[..]))
        .finish()
}
