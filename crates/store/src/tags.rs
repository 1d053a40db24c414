//! Tags: names by which an owner finds a checkpoint again, until the name is given to another one.

use super::checkpoints::MAX_LISTED;
use super::error::StoreError;
use super::seal::Seal;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use uuid::Uuid;

/// Tag of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagRow {
    /// Owner of the checkpoint, as in its row.
    pub owner: String,
    /// Name that several tags share.
    pub name: String,
    /// Tag below the name.
    pub tag: String,
    /// Id of the checkpoint.
    pub checkpoint: Uuid,
    /// Time at which the tag was given, in milliseconds since 1970.
    pub created_at: i64,
}

const SELECT: &str = "SELECT tags.owner, tags.name, tags.tag, checkpoints.id, tags.created_at, tags.row_sha256
    FROM tags JOIN checkpoints ON checkpoints.key = tags.checkpoint WHERE tags.owner = ?1";

/// Gives a checkpoint its tags. Those that other checkpoints had are theirs no more; a checkpoint that loses its last
/// tag so is removed.
pub(super) fn put(connection: &Connection, rows: &[TagRow], most: usize) -> Result<(), StoreError> {
    let mut find = connection.prepare_cached("SELECT key FROM checkpoints WHERE id = ? AND owner = ?")?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO tags (owner, name, tag, checkpoint, created_at, row_sha256) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT (owner, name, tag) DO UPDATE SET checkpoint = excluded.checkpoint,
             created_at = excluded.created_at, row_sha256 = excluded.row_sha256",
    )?;
    let mut before = Vec::new();
    for row in rows {
        let key = find.query_row(params![row.checkpoint.as_bytes(), row.owner], |found| found.get::<_, i64>(0));
        let key = key.optional()?.ok_or(StoreError::NoCheckpoint { id: row.checkpoint })?;
        before.extend(holder(connection, &row.owner, &row.name, &row.tag)?);
        insert.execute(params![row.owner, row.name, row.tag, key, row.created_at, seal(row)])?;
    }
    remove_untagged(connection, &before)?;
    if let Some(row) = rows.first() {
        let count = "SELECT count(*) FROM tags WHERE owner = ?";
        let count: i64 = connection.prepare_cached(count)?.query_row([&row.owner], |found| found.get(0))?;
        if usize::try_from(count).unwrap_or(usize::MAX) > most {
            return Err(StoreError::TooManyTags { allowed: most });
        }
    }
    Ok(())
}

/// Takes tags away; returns how many there were. A checkpoint that loses its last tag so is removed.
pub(super) fn delete(connection: &Connection, owner: &str, name: &str, tags: &[String]) -> Result<usize, StoreError> {
    let mut delete = connection.prepare_cached("DELETE FROM tags WHERE owner = ? AND name = ? AND tag = ?")?;
    let (mut before, mut deleted) = (Vec::new(), 0);
    for tag in tags {
        before.extend(holder(connection, owner, name, tag)?);
        deleted += delete.execute(params![owner, name, tag])?;
    }
    remove_untagged(connection, &before)?;
    Ok(deleted)
}

/// Returns the key of the checkpoint that has the tag.
fn holder(connection: &Connection, owner: &str, name: &str, tag: &str) -> Result<Option<i64>, StoreError> {
    let select = "SELECT checkpoint FROM tags WHERE owner = ? AND name = ? AND tag = ?";
    let key = connection.prepare_cached(select)?.query_row(params![owner, name, tag], |found| found.get(0));
    Ok(key.optional()?)
}

fn remove_untagged(connection: &Connection, keys: &[i64]) -> Result<(), StoreError> {
    let delete = "DELETE FROM checkpoints WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM tags WHERE checkpoint = ?1)";
    let mut delete = connection.prepare_cached(delete)?;
    for key in keys {
        delete.execute([key])?;
    }
    Ok(())
}

pub(super) fn list(connection: &Connection, owner: &str, name: Option<&str>) -> Result<Vec<TagRow>, StoreError> {
    let select = format!("{SELECT} AND (?2 IS NULL OR tags.name = ?2) ORDER BY tags.name, tags.tag LIMIT ?3");
    let mut select = connection.prepare_cached(&select)?;
    let mut rows = select.query(params![owner, name, MAX_LISTED as i64])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        match read(row) {
            Some(tag) => found.push(tag),
            None => tracing::warn!("a damaged tag in the store is left out of a listing"),
        }
    }
    Ok(found)
}

/// A row, if it is as it was written.
fn read(row: &Row<'_>) -> Option<TagRow> {
    let parse = || -> rusqlite::Result<(TagRow, [u8; 32])> {
        let tag = TagRow {
            owner: row.get(0)?,
            name: row.get(1)?,
            tag: row.get(2)?,
            checkpoint: Uuid::from_bytes(row.get(3)?),
            created_at: row.get(4)?,
        };
        Ok((tag, row.get(5)?))
    };
    let (tag, sealed) = parse().ok()?;
    (sealed == seal(&tag)).then_some(tag)
}

fn seal(row: &TagRow) -> [u8; 32] {
    Seal::of("tag")
        .field(row.owner.as_bytes())
        .field(row.name.as_bytes())
        .field(row.tag.as_bytes())
        .id(row.checkpoint)
        .number(row.created_at)
        .finish()
}
