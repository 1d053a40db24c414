//! Checkpoints: a row each, and a blob in chunks.

use super::error::StoreError;
use super::seal::Seal;
use bytes::Bytes;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Row, params};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// Bytes of one chunk of a blob: what SQLite holds of it at once.
const CHUNK: usize = 1 << 20;
/// Rows one listing returns at most.
pub const MAX_LISTED: usize = 1000;

/// Reason for which a checkpoint is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CheckpointKind {
    /// A client made it.
    Named,
    /// State of a session while there is no room for it in memory. Its client does not know, so it is never removed to
    /// make room.
    Evicted,
    /// A session that its client has put to sleep.
    Paused,
}

impl CheckpointKind {
    pub(super) fn number(self) -> i64 {
        match self {
            CheckpointKind::Named => 0,
            CheckpointKind::Evicted => 1,
            CheckpointKind::Paused => 2,
        }
    }

    pub(super) fn from_number(number: i64) -> Option<Self> {
        match number {
            0 => Some(CheckpointKind::Named),
            1 => Some(CheckpointKind::Evicted),
            2 => Some(CheckpointKind::Paused),
            _ => None,
        }
    }
}

/// A checkpoint as it is put into the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointRow {
    /// Id of the checkpoint.
    pub id: Uuid,
    /// The session it was made of.
    pub session: Option<Uuid>,
    /// Name given by the client; may be empty.
    pub name: String,
    /// Reason for which the checkpoint is kept.
    pub kind: CheckpointKind,
    /// Creation time, in milliseconds since 1970.
    pub created_at: i64,
    /// Expiry, in milliseconds since 1970; none: the checkpoint stays until the store needs the room.
    pub expires_at: Option<i64>,
    /// The runtime image it belongs to.
    pub image_hash: String,
    /// Owner: a key's id, or a word; none for nobody.
    pub owner: Option<String>,
    /// Metadata that can be read without the blob, encoded by the caller.
    pub meta: Vec<u8>,
}

/// A checkpoint as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCheckpoint {
    /// Row as it was written.
    pub row: CheckpointRow,
    /// Length of its blob.
    pub bytes: u64,
    /// SHA-256 of its blob.
    pub sha256: [u8; 32],
}

impl StoredCheckpoint {
    /// Returns the cursor from which a listing that ended with this checkpoint continues.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        Cursor { created_at: self.row.created_at, id: self.row.id }
    }
}

/// Filter of a listing: checkpoints that match every given field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckpointFilter {
    /// Session the checkpoint was made of.
    pub session: Option<Uuid>,
    /// Kept for this reason.
    pub kind: Option<CheckpointKind>,
    /// Owner of the checkpoint.
    pub owner: Option<String>,
    /// Name of the checkpoint.
    pub name: Option<String>,
}

/// The last checkpoint a listing returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// Creation time, in milliseconds since 1970.
    pub created_at: i64,
    /// Id of the checkpoint.
    pub id: Uuid,
}

const COLUMNS: &str =
    "id, session, name, kind, created_at, expires_at, image_hash, owner, meta, bytes, blob_sha256, row_sha256, key";

pub(super) fn put(connection: &Connection, row: &CheckpointRow, blob: &Bytes) -> Result<(), StoreError> {
    let stored = StoredCheckpoint { row: row.clone(), bytes: blob.len() as u64, sha256: Sha256::digest(blob).into() };
    let mut insert = connection.prepare_cached(
        "INSERT INTO checkpoints (id, session, name, kind, created_at, expires_at, image_hash, owner, meta, bytes,
         blob_sha256, row_sha256) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    let key = insert
        .insert(params![
            row.id.as_bytes(),
            row.session.as_ref().map(|session| session.as_bytes()),
            row.name,
            row.kind.number(),
            row.created_at,
            row.expires_at,
            row.image_hash,
            row.owner,
            row.meta,
            blob.len() as i64,
            stored.sha256,
            seal(&stored),
        ])
        .map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => StoreError::Exists { id: row.id },
            Some(_) | None => error.into(),
        })?;
    let mut insert = connection.prepare_cached("INSERT INTO chunks (checkpoint, number, data) VALUES (?, ?, ?)")?;
    for (number, chunk) in blob.chunks(CHUNK).enumerate() {
        insert.execute(params![key, number as i64, chunk])?;
    }
    Ok(())
}

pub(super) fn find(connection: &Connection, id: Uuid) -> Result<Option<StoredCheckpoint>, StoreError> {
    Ok(find_with_key(connection, id)?.map(|(stored, _)| stored))
}

fn find_with_key(connection: &Connection, id: Uuid) -> Result<Option<(StoredCheckpoint, i64)>, StoreError> {
    let mut select = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM checkpoints WHERE id = ?"))?;
    let found = select.query_row([id.as_bytes()], |row| Ok(read(row))).optional()?;
    found.map(|read| read.map_err(|_| StoreError::damaged("checkpoint", id))).transpose()
}

pub(super) fn get(connection: &Connection, id: Uuid) -> Result<Option<(StoredCheckpoint, Bytes)>, StoreError> {
    let Some((stored, key)) = find_with_key(connection, id)? else { return Ok(None) };
    let damaged = || StoreError::damaged("checkpoint", id);
    // The row is as it was written, so this is no more than once fitted into memory.
    let mut blob = Vec::with_capacity(stored.bytes as usize);
    let mut select = connection.prepare_cached("SELECT data FROM chunks WHERE checkpoint = ? ORDER BY number")?;
    let mut chunks = select.query([key])?;
    while let Some(chunk) = chunks.next()? {
        let data = chunk.get_ref(0)?.as_blob().map_err(|_| damaged())?;
        if blob.len() + data.len() > stored.bytes as usize {
            return Err(damaged());
        }
        blob.extend_from_slice(data);
    }
    let digest: [u8; 32] = Sha256::digest(&blob).into();
    match blob.len() as u64 == stored.bytes && digest == stored.sha256 {
        true => Ok(Some((stored, Bytes::from(blob)))),
        false => Err(damaged()),
    }
}

pub(super) fn list(
    connection: &Connection,
    filter: &CheckpointFilter,
    limit: usize,
    after: Option<Cursor>,
) -> Result<Vec<StoredCheckpoint>, StoreError> {
    // Every parameter is used whatever is given, so there is one statement.
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM checkpoints
         WHERE (?1 IS NULL OR session = ?1) AND (?2 IS NULL OR kind = ?2)
           AND (?3 IS NULL OR owner = ?3) AND (?4 IS NULL OR name = ?4)
           AND (?5 IS NULL OR (created_at, id) < (?5, ?6))
         ORDER BY created_at DESC, id DESC LIMIT ?7"
    ))?;
    let mut rows = select.query(params![
        filter.session.as_ref().map(|session| session.as_bytes()),
        filter.kind.map(CheckpointKind::number),
        filter.owner,
        filter.name,
        after.map(|cursor| cursor.created_at),
        after.as_ref().map(|cursor| cursor.id.as_bytes()),
        limit.min(MAX_LISTED) as i64,
    ])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        match read(row) {
            Ok((stored, _)) => found.push(stored),
            Err(_) => tracing::warn!("a damaged checkpoint in the store is left out of a listing"),
        }
    }
    Ok(found)
}

pub(super) fn delete(connection: &Connection, id: Uuid) -> Result<bool, StoreError> {
    let mut delete = connection.prepare_cached("DELETE FROM checkpoints WHERE id = ?")?;
    Ok(delete.execute([id.as_bytes()])? > 0)
}

/// A row that is not what was written.
struct Spoilt;

impl From<rusqlite::Error> for Spoilt {
    fn from(_: rusqlite::Error) -> Self {
        Self
    }
}

/// A row and its key, if it is as it was written.
fn read(row: &Row<'_>) -> Result<(StoredCheckpoint, i64), Spoilt> {
    let stored = StoredCheckpoint {
        row: CheckpointRow {
            id: Uuid::from_bytes(row.get(0)?),
            session: row.get::<_, Option<[u8; 16]>>(1)?.map(Uuid::from_bytes),
            name: row.get(2)?,
            kind: CheckpointKind::from_number(row.get(3)?).ok_or(Spoilt)?,
            created_at: row.get(4)?,
            expires_at: row.get(5)?,
            image_hash: row.get(6)?,
            owner: row.get(7)?,
            meta: row.get(8)?,
        },
        bytes: u64::try_from(row.get::<_, i64>(9)?).map_err(|_| Spoilt)?,
        sha256: row.get(10)?,
    };
    let sealed: [u8; 32] = row.get(11)?;
    match sealed == seal(&stored) {
        true => Ok((stored, row.get(12)?)),
        false => Err(Spoilt),
    }
}

fn seal(stored: &StoredCheckpoint) -> [u8; 32] {
    let row = &stored.row;
    Seal::of("checkpoint")
        .id(row.id)
        .optional(row.session.as_ref().map(|session| &session.as_bytes()[..]))
        .field(row.name.as_bytes())
        .number(row.kind.number())
        .number(row.created_at)
        .optional(row.expires_at.map(i64::to_le_bytes).as_ref().map(|bytes| &bytes[..]))
        .field(row.image_hash.as_bytes())
        .optional(row.owner.as_deref().map(str::as_bytes))
        .field(&row.meta)
        .number(stored.bytes as i64)
        .field(&stored.sha256)
        .finish()
}
