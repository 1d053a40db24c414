//! Rows of volumes, their entries and the chunks of their content.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use uuid::Uuid;

use super::super::error::StoreError;
use super::super::seal::Seal;
use super::{CHUNK, ENTRY_COLUMNS, StoredVolume, VolumeEntry, VolumeNode, VolumeRow};
use proofbox_types::session::FileTrouble;

pub(super) fn insert(
    connection: &Connection,
    volume: i64,
    entry: &VolumeEntry,
    content: &[u8],
) -> Result<(), StoreError> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO volume_entries (volume, path, kind, mode, uid, gid, modified_at, changed_at, size, target,
         content_sha256, bytes, row_sha256) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    let (target, sha256) = parts(&entry.node);
    let key = insert.insert(params![
        volume,
        entry.path,
        entry.node.number(),
        entry.mode,
        entry.uid,
        entry.gid,
        entry.modified_at,
        entry.changed_at,
        entry.node.size() as i64,
        target,
        sha256,
        entry.bytes() as i64,
        seal_entry(volume, entry),
    ])?;
    insert_content(connection, key, content)
}

pub(super) fn update(connection: &Connection, volume: i64, key: i64, entry: &VolumeEntry) -> Result<(), StoreError> {
    let mut update = connection.prepare_cached(
        "UPDATE volume_entries SET kind = ?, mode = ?, uid = ?, gid = ?, modified_at = ?, changed_at = ?, size = ?,
         target = ?, content_sha256 = ?, bytes = ?, row_sha256 = ? WHERE key = ?",
    )?;
    let (target, sha256) = parts(&entry.node);
    update.execute(params![
        entry.node.number(),
        entry.mode,
        entry.uid,
        entry.gid,
        entry.modified_at,
        entry.changed_at,
        entry.node.size() as i64,
        target,
        sha256,
        entry.bytes() as i64,
        seal_entry(volume, entry),
        key,
    ])?;
    Ok(())
}

pub(super) fn replace_content(connection: &Connection, key: i64, content: &[u8]) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM volume_chunks WHERE entry = ?")?.execute([key])?;
    insert_content(connection, key, content)
}

pub(super) fn insert_content(connection: &Connection, key: i64, content: &[u8]) -> Result<(), StoreError> {
    let insert = "INSERT INTO volume_chunks (entry, number, data, sha256) VALUES (?, ?, ?, ?)";
    let mut insert = connection.prepare_cached(insert)?;
    for (number, chunk) in (0_i64..).zip(content.chunks(CHUNK)) {
        insert.execute(params![key, number, chunk, chunk_sha256(number, chunk)])?;
    }
    Ok(())
}

/// Removes an entry with all that is below it.
pub(super) fn remove(connection: &Connection, volume: i64, entry: &VolumeEntry, key: i64) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM volume_entries WHERE key = ?")?.execute([key])?;
    let (first, end) = below(&entry.path);
    let delete = "DELETE FROM volume_entries WHERE volume = ? AND path >= ? AND path < ?";
    connection.prepare_cached(delete)?.execute(params![volume, first, end])?;
    Ok(())
}

/// Paths below a directory lie between these two: `0` is the character behind `/`.
pub(super) fn below(directory: &str) -> (String, String) {
    (format!("{directory}/"), format!("{directory}0"))
}

pub(super) fn find_entry(
    connection: &Connection,
    volume: i64,
    path: &str,
) -> Result<Option<(VolumeEntry, i64)>, StoreError> {
    let select = format!("SELECT {ENTRY_COLUMNS} FROM volume_entries WHERE volume = ? AND path = ?");
    let mut select = connection.prepare_cached(&select)?;
    match select.query_row(params![volume, path], |row| Ok(read_entry(row, volume))).optional()? {
        None => Ok(None),
        Some(Some(found)) => Ok(Some(found)),
        Some(None) => Err(damaged_entry()),
    }
}

/// Calls `take` with the key and each entry below a directory, in the order of their paths.
pub(super) fn for_each_below(
    connection: &Connection,
    volume: i64,
    directory: &str,
    mut take: impl FnMut(i64, VolumeEntry) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let select = format!(
        "SELECT {ENTRY_COLUMNS} FROM volume_entries WHERE volume = ?1 AND (?2 = '/' OR (path >= ?2 AND path < ?3))
         ORDER BY path"
    );
    let mut select = connection.prepare_cached(&select)?;
    let (first, end) = below(directory);
    let mut rows = select.query(params![volume, first, end])?;
    while let Some(row) = rows.next()? {
        let (entry, key) = read_entry(row, volume).ok_or_else(damaged_entry)?;
        take(key, entry)?;
    }
    Ok(())
}

pub(super) fn damaged_entry() -> StoreError {
    StoreError::Damaged { what: "an entry of a volume".to_owned() }
}

pub(super) fn trouble(path: &str, trouble: FileTrouble) -> StoreError {
    StoreError::VolumePath { path: format!("/{path}"), trouble }
}

/// A row and its key, if it is as it was written.
pub(super) fn read(row: &Row<'_>) -> Option<(StoredVolume, i64)> {
    let parse = || -> rusqlite::Result<(StoredVolume, i64, [u8; 32])> {
        let volume = StoredVolume {
            row: VolumeRow {
                id: Uuid::from_bytes(row.get(1)?),
                owner: row.get(2)?,
                name: row.get(3)?,
                token: row.get(4)?,
                created_at: row.get(5)?,
            },
            bytes: u64::try_from(row.get::<_, i64>(6)?).unwrap_or_default(),
            entries: u64::try_from(row.get::<_, i64>(7)?).unwrap_or_default(),
        };
        Ok((volume, row.get(0)?, row.get(8)?))
    };
    let (volume, key, sealed) = parse().ok()?;
    (sealed == seal(&volume.row)).then_some((volume, key))
}

pub(super) fn seal(row: &VolumeRow) -> [u8; 32] {
    Seal::of("volume")
        .id(row.id)
        .field(row.owner.as_bytes())
        .field(row.name.as_bytes())
        .field(row.token.as_bytes())
        .number(row.created_at)
        .finish()
}

pub(super) fn parts(node: &VolumeNode) -> (Option<&str>, Option<&[u8; 32]>) {
    match node {
        VolumeNode::File { sha256, .. } => (None, Some(sha256)),
        VolumeNode::Directory => (None, None),
        VolumeNode::Link { target } => (Some(target), None),
    }
}

/// An entry and its key, if it is as it was written.
pub(super) fn read_entry(row: &Row<'_>, volume: i64) -> Option<(VolumeEntry, i64)> {
    let parse = || -> rusqlite::Result<Option<(VolumeEntry, i64, [u8; 32])>> {
        let size = u64::try_from(row.get::<_, i64>(8)?).unwrap_or_default();
        let node = match (row.get::<_, i64>(2)?, row.get(9)?, row.get(10)?) {
            (0, None, Some(sha256)) => VolumeNode::File { size, sha256 },
            (1, None, None) => VolumeNode::Directory,
            (2, Some(target), None) => VolumeNode::Link { target },
            _ => return Ok(None),
        };
        let entry = VolumeEntry {
            path: row.get(1)?,
            node,
            mode: row.get(3)?,
            uid: row.get(4)?,
            gid: row.get(5)?,
            modified_at: row.get(6)?,
            changed_at: row.get(7)?,
        };
        Ok(Some((entry, row.get(0)?, row.get(11)?)))
    };
    let (entry, key, sealed) = parse().ok()??;
    (sealed == seal_entry(volume, &entry)).then_some((entry, key))
}

pub(super) fn seal_entry(volume: i64, entry: &VolumeEntry) -> [u8; 32] {
    let (target, sha256) = parts(&entry.node);
    Seal::of("volume entry")
        .number(volume)
        .field(entry.path.as_bytes())
        .number(entry.node.number())
        .number(entry.mode.into())
        .number(entry.uid.into())
        .number(entry.gid.into())
        .number(entry.modified_at)
        .number(entry.changed_at)
        .number(entry.node.size() as i64)
        .optional(target.map(str::as_bytes))
        .optional(sha256.map(|sha256| &sha256[..]))
        .finish()
}

pub(super) fn chunk_sha256(number: i64, data: &[u8]) -> [u8; 32] {
    Seal::of("volume chunk").number(number).field(data).finish()
}
