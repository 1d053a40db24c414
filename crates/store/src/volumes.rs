//! Volumes: trees of files that outlive the sessions that use them. A row for each entry, and the content in chunks.

use std::collections::BTreeMap;

use bytes::Bytes;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Row, params};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::checkpoints::MAX_LISTED;
use super::disk::Disk;
use super::error::StoreError;
use super::prune::{self, Displaced};
use super::room::Quota;
use super::seal::Seal;
use proofbox_types::session::{FileTrouble, TreeEntry, TreeNode};
use proofbox_types::user::User;

/// Bytes of one chunk of a file.
const CHUNK: usize = 1 << 20;
/// Bytes that a change without content needs on the disk.
const ROW_BYTES: u64 = 4 << 10;

/// A volume as it is put into the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeRow {
    /// Id of the volume.
    pub id: Uuid,
    /// Owner: a key's id, or a word.
    pub owner: String,
    /// Name of the volume; its owner has no other of this name.
    pub name: String,
    /// Secret that gives access to its content.
    pub token: String,
    /// Creation time, in milliseconds since 1970.
    pub created_at: i64,
}

/// A volume as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredVolume {
    /// Row as it was written.
    pub row: VolumeRow,
    /// Size of all its entries, as [`TreeEntry::cost`] counts them.
    pub bytes: u64,
    /// Number of its entries.
    pub entries: u64,
}

/// Bounds on the volumes of one owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeBounds {
    /// Maximum number of volumes.
    pub volumes: usize,
    /// Maximum number of entries of one volume.
    pub entries: u64,
    /// Maximum size of one volume, in bytes, as [`TreeEntry::cost`] counts them.
    pub bytes: u64,
}

/// Entry of a volume: a file, directory or link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeEntry {
    /// Path relative to the top of the volume, without `.` and `..`; the top itself is empty.
    pub path: String,
    /// Type of the entry.
    pub node: VolumeNode,
    /// Permission bits.
    pub mode: u16,
    /// Number of the owner.
    pub uid: u32,
    /// Number of the group.
    pub gid: u32,
    /// Time of the last change of its content, in nanoseconds since 1970.
    pub modified_at: i64,
    /// Time of the last change, in nanoseconds since 1970.
    pub changed_at: i64,
}

/// Type of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VolumeNode {
    /// Regular file.
    File {
        /// Length of its content, in bytes.
        size: u64,
        /// SHA-256 of its content.
        sha256: [u8; 32],
    },
    /// Directory of other entries.
    Directory,
    /// Symbolic link.
    Link {
        /// Text of the link.
        target: String,
    },
}

impl VolumeNode {
    fn number(&self) -> i64 {
        match self {
            VolumeNode::File { .. } => 0,
            VolumeNode::Directory => 1,
            VolumeNode::Link { .. } => 2,
        }
    }

    /// Returns the length of a file's content, or of a link's text.
    #[must_use]
    pub fn size(&self) -> u64 {
        match self {
            VolumeNode::File { size, .. } => *size,
            VolumeNode::Directory => 0,
            VolumeNode::Link { target } => target.len() as u64,
        }
    }
}

impl VolumeEntry {
    fn bytes(&self) -> u64 {
        TreeEntry::cost(self.path.len(), self.node.size())
    }

    fn is_directory(&self) -> bool {
        self.node == VolumeNode::Directory
    }

    /// The user of a session that an entry belongs to.
    fn user(&self) -> User {
        if self.uid == User::Root.id() { User::Root } else { User::User }
    }
}

/// Attributes that a client sets; those that are absent stay, or have their default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VolumeAttributes {
    /// Permission bits.
    pub mode: Option<u16>,
    /// Number of the owner.
    pub uid: Option<u32>,
    /// Number of the group.
    pub gid: Option<u32>,
}

/// Treatment of what is in the way of a new entry, or missing above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeConflict {
    /// The change is refused.
    Refuse,
    /// A file is overwritten; an existing directory is taken as it is, and those above it are made.
    Resolve,
}

/// Change of one entry of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VolumeChange {
    /// Writes a whole file.
    Write {
        /// Content of the file.
        content: Bytes,
        /// Attributes of the file.
        attributes: VolumeAttributes,
        /// Treatment of a file that is there.
        conflict: VolumeConflict,
    },
    /// Makes a directory.
    MakeDirectory {
        /// Attributes of the directory.
        attributes: VolumeAttributes,
        /// Treatment of a directory that is there, and of missing ones above it.
        conflict: VolumeConflict,
    },
    /// Sets attributes of an entry.
    SetAttributes(VolumeAttributes),
    /// Removes an entry with all that is below it.
    Remove,
}

/// Part of a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumePiece {
    /// Bytes that were asked for, fewer where the file ends.
    pub bytes: Bytes,
    /// Length of the whole file, in bytes.
    pub size: u64,
    /// SHA-256 of the whole content.
    pub sha256: [u8; 32],
}

/// Circumstances of a change.
pub(super) struct Writing<'a> {
    pub(super) disk: &'a Disk,
    pub(super) bounds: VolumeBounds,
    pub(super) quota: Quota,
    /// Time of the change, in nanoseconds since 1970.
    pub(super) now: i64,
}

const COLUMNS: &str = "key, id, owner, name, token, created_at, bytes, entries, row_sha256";
const ENTRY_COLUMNS: &str =
    "key, path, kind, mode, uid, gid, modified_at, changed_at, size, target, content_sha256, row_sha256";

pub(super) fn put(connection: &Connection, row: &VolumeRow, most: usize) -> Result<(), StoreError> {
    let count = "SELECT count(*) FROM volumes WHERE owner = ?";
    let count: i64 = connection.prepare_cached(count)?.query_row([&row.owner], |found| found.get(0))?;
    if usize::try_from(count).unwrap_or(usize::MAX) >= most {
        return Err(StoreError::TooManyVolumes { allowed: most });
    }
    let insert = "INSERT INTO volumes (id, owner, name, token, created_at, row_sha256) VALUES (?, ?, ?, ?, ?, ?)";
    let inserted = connection.prepare_cached(insert)?.execute(params![
        row.id.as_bytes(),
        row.owner,
        row.name,
        row.token,
        row.created_at,
        seal(row)
    ]);
    match inserted {
        Ok(_) => Ok(()),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            Err(StoreError::VolumeNameTaken { name: row.name.clone() })
        }
        Err(error) => Err(error.into()),
    }
}

pub(super) fn find(connection: &Connection, id: Uuid) -> Result<Option<StoredVolume>, StoreError> {
    Ok(find_with_key(connection, id)?.map(|(volume, _)| volume))
}

fn find_with_key(connection: &Connection, id: Uuid) -> Result<Option<(StoredVolume, i64)>, StoreError> {
    let mut select = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM volumes WHERE id = ?"))?;
    match select.query_row([id.as_bytes()], |row| Ok(read(row))).optional()? {
        None => Ok(None),
        Some(Some(found)) => Ok(Some(found)),
        Some(None) => Err(StoreError::damaged("volume", id)),
    }
}

fn get(connection: &Connection, id: Uuid) -> Result<(StoredVolume, i64), StoreError> {
    find_with_key(connection, id)?.ok_or(StoreError::NoVolume { id })
}

/// Volumes of an owner by name, or the one of this name; at most [`MAX_LISTED`].
pub(super) fn list(connection: &Connection, owner: &str, name: Option<&str>) -> Result<Vec<StoredVolume>, StoreError> {
    let select =
        format!("SELECT {COLUMNS} FROM volumes WHERE owner = ?1 AND (?2 IS NULL OR name = ?2) ORDER BY name LIMIT ?3");
    let mut select = connection.prepare_cached(&select)?;
    let mut rows = select.query(params![owner, name, MAX_LISTED as i64])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        match read(row) {
            Some((volume, _)) => found.push(volume),
            None => tracing::warn!("a damaged volume in the store is left out of a listing"),
        }
    }
    Ok(found)
}

pub(super) fn delete(connection: &Connection, id: Uuid) -> Result<bool, StoreError> {
    Ok(connection.prepare_cached("DELETE FROM volumes WHERE id = ?")?.execute([id.as_bytes()])? > 0)
}

/// Describes an entry of a volume; the empty path is the volume itself.
pub(super) fn entry(connection: &Connection, id: Uuid, path: &str) -> Result<VolumeEntry, StoreError> {
    let (volume, key) = get(connection, id)?;
    if path.is_empty() {
        return Ok(top(&volume));
    }
    find_entry(connection, key, path)?.map(|(entry, _)| entry).ok_or_else(|| trouble(path, FileTrouble::NotFound))
}

/// The directory that a volume is.
fn top(volume: &StoredVolume) -> VolumeEntry {
    let created = volume.row.created_at.saturating_mul(1_000_000);
    VolumeEntry { path: String::new(), ..new_entry("", VolumeNode::Directory, VolumeAttributes::default(), created) }
}

/// Entries below a directory, down to `depth` levels, in the order of their paths.
pub(super) fn entries(
    connection: &Connection,
    id: Uuid,
    directory: &str,
    depth: usize,
) -> Result<Vec<VolumeEntry>, StoreError> {
    if !entry(connection, id, directory)?.is_directory() {
        return Err(trouble(directory, FileTrouble::NotADirectory));
    }
    let (_, key) = get(connection, id)?;
    let levels = |path: &str| path.bytes().filter(|byte| *byte == b'/').count() + 1;
    let above = if directory.is_empty() { 0 } else { levels(directory) };
    let mut found = Vec::new();
    for_each_below(connection, key, directory, |_, entry| {
        if levels(&entry.path) - above <= depth {
            found.push(entry);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Bytes of a file from `offset` on.
pub(super) fn read_file(
    connection: &Connection,
    id: Uuid,
    path: &str,
    offset: u64,
    length: u64,
) -> Result<VolumePiece, StoreError> {
    let (_, volume) = get(connection, id)?;
    let found = match find_entry(connection, volume, path)? {
        None if path.is_empty() => return Err(trouble(path, FileTrouble::IsADirectory)),
        None => return Err(trouble(path, FileTrouble::NotFound)),
        Some(found) => found,
    };
    match found {
        (VolumeEntry { node: VolumeNode::File { size, sha256 }, .. }, key) => {
            let end = size.min(offset.saturating_add(length));
            let bytes = if offset >= end { Bytes::new() } else { content(connection, key, path, offset, end)? };
            Ok(VolumePiece { bytes, size, sha256 })
        }
        (VolumeEntry { node: VolumeNode::Directory, .. }, _) => Err(trouble(path, FileTrouble::IsADirectory)),
        (VolumeEntry { node: VolumeNode::Link { .. }, .. }, _) => Err(trouble(path, FileTrouble::Other)),
    }
}

/// The content of a file from byte `start` to before `end`, which lie within it.
fn content(connection: &Connection, key: i64, path: &str, start: u64, end: u64) -> Result<Bytes, StoreError> {
    let damaged = || StoreError::Damaged { what: format!("the file {path:?} of a volume") };
    let first = start / CHUNK as u64;
    let mut select = connection.prepare_cached(
        "SELECT number, data, sha256 FROM volume_chunks WHERE entry = ?1 AND number BETWEEN ?2 AND ?3 ORDER BY number",
    )?;
    let mut rows = select.query(params![key, first as i64, ((end - 1) / CHUNK as u64) as i64])?;
    let (mut bytes, mut next) = (Vec::with_capacity((end - start) as usize + CHUNK), first as i64);
    while let Some(row) = rows.next()? {
        let (number, sha256): (i64, [u8; 32]) = (row.get(0)?, row.get(2)?);
        let data = row.get_ref(1)?.as_blob().map_err(|_| damaged())?;
        if number != next || sha256 != chunk_sha256(number, data) {
            return Err(damaged());
        }
        next += 1;
        bytes.extend_from_slice(data);
    }
    let from = (start - first * CHUNK as u64) as usize;
    let wanted = (end - start) as usize;
    if bytes.len() < from + wanted {
        return Err(damaged());
    }
    Ok(Bytes::from(bytes).slice(from..from + wanted))
}

/// Returns every entry with its content, in the order of their paths.
pub(super) fn tree(connection: &Connection, id: Uuid) -> Result<Vec<TreeEntry>, StoreError> {
    let (_, key) = get(connection, id)?;
    let mut tree = Vec::new();
    for_each_below(connection, key, "", |entry_key, entry| {
        let owner = entry.user();
        let node = match entry.node {
            VolumeNode::Directory => TreeNode::Directory,
            VolumeNode::Link { target } => TreeNode::Link(target),
            VolumeNode::File { size: 0, .. } => TreeNode::File(Vec::new()),
            VolumeNode::File { size, sha256 } => {
                let bytes = content(connection, entry_key, &entry.path, 0, size)?;
                if <[u8; 32]>::from(Sha256::digest(&bytes)) != sha256 {
                    return Err(StoreError::Damaged { what: format!("the file {:?} of a volume", entry.path) });
                }
                TreeNode::File(bytes.into())
            }
        };
        let modified = u64::try_from(entry.modified_at).unwrap_or_default();
        tree.push(TreeEntry { path: entry.path, node, mode: entry.mode, owner, modified });
        Ok(())
    })?;
    Ok(tree)
}

/// Carries out a change; returns the entry as it is then, and what made room for it.
pub(super) fn change(
    connection: &Connection,
    writing: &Writing<'_>,
    id: Uuid,
    path: &str,
    change: &VolumeChange,
) -> Result<(Option<VolumeEntry>, Displaced), StoreError> {
    let (volume, key) = get(connection, id)?;
    let there = find_entry(connection, key, path)?;
    match change {
        VolumeChange::Remove => {
            let (entry, entry_key) = there.ok_or_else(|| trouble(path, FileTrouble::NotFound))?;
            remove(connection, key, &entry, entry_key)?;
            Ok((None, Displaced::default()))
        }
        VolumeChange::SetAttributes(VolumeAttributes { mode, uid, gid }) => {
            let (mut entry, entry_key) = there.ok_or_else(|| trouble(path, FileTrouble::NotFound))?;
            entry.mode = mode.unwrap_or(entry.mode);
            entry.uid = uid.unwrap_or(entry.uid);
            entry.gid = gid.unwrap_or(entry.gid);
            entry.changed_at = writing.now;
            update(connection, key, entry_key, &entry)?;
            Ok((Some(entry), Displaced::default()))
        }
        VolumeChange::Write { content, attributes, conflict } => {
            if path.is_empty() || there.as_ref().is_some_and(|(entry, _)| entry.is_directory()) {
                return Err(trouble(path, FileTrouble::IsADirectory));
            }
            if there.is_some() && *conflict == VolumeConflict::Refuse {
                return Err(trouble(path, FileTrouble::Exists));
            }
            check_parent(connection, key, path)?;
            let node = VolumeNode::File { size: content.len() as u64, sha256: Sha256::digest(content).into() };
            let mut entry = new_entry(path, node, *attributes, writing.now);
            let old = there.as_ref().map_or(0, |(old, _)| old.bytes());
            let growth = entry.bytes().saturating_sub(old);
            let displaced =
                make_room(connection, writing, &volume, growth, u64::from(there.is_none()), content.len() as u64)?;
            match there {
                None => insert(connection, key, &entry, content)?,
                Some((old, entry_key)) => {
                    // What a client does not name stays.
                    entry.mode = attributes.mode.unwrap_or(old.mode);
                    entry.uid = attributes.uid.unwrap_or(old.uid);
                    entry.gid = attributes.gid.unwrap_or(old.gid);
                    update(connection, key, entry_key, &entry)?;
                    replace_content(connection, entry_key, content)?;
                }
            }
            Ok((Some(entry), displaced))
        }
        VolumeChange::MakeDirectory { attributes, conflict } => {
            match &there {
                Some((entry, _)) if entry.is_directory() && *conflict == VolumeConflict::Resolve => {
                    return Ok((Some(entry.clone()), Displaced::default()));
                }
                None if path.is_empty() && *conflict == VolumeConflict::Resolve => {
                    return Ok((Some(top(&volume)), Displaced::default()));
                }
                None if !path.is_empty() => {}
                Some(_) | None => return Err(trouble(path, FileTrouble::Exists)),
            }
            let mut missing = vec![new_entry(path, VolumeNode::Directory, *attributes, writing.now)];
            let mut above = path;
            while let Some((parent, _)) = above.rsplit_once('/') {
                match (find_entry(connection, key, parent)?, conflict) {
                    (Some((entry, _)), _) if entry.is_directory() => break,
                    (Some(_), _) => return Err(trouble(parent, FileTrouble::NotADirectory)),
                    (None, VolumeConflict::Refuse) => return Err(trouble(parent, FileTrouble::NotFound)),
                    (None, VolumeConflict::Resolve) => {
                        missing.push(new_entry(parent, VolumeNode::Directory, *attributes, writing.now));
                    }
                }
                above = parent;
            }
            let growth = missing.iter().map(VolumeEntry::bytes).sum();
            let displaced = make_room(connection, writing, &volume, growth, missing.len() as u64, 0)?;
            for entry in missing.iter().rev() {
                insert(connection, key, entry, &[])?;
            }
            Ok((Some(missing.swap_remove(0)), displaced))
        }
    }
}

/// Gives a volume this content, and nothing else. What has not changed is not written again, and keeps its owner's
/// numbers.
pub(super) fn replace(
    connection: &Connection,
    writing: &Writing<'_>,
    id: Uuid,
    tree: &[(TreeEntry, Option<[u8; 32]>)],
) -> Result<Displaced, StoreError> {
    let (volume, key) = get(connection, id)?;
    let mut before = BTreeMap::new();
    for_each_below(connection, key, "", |entry_key, entry| {
        before.insert(entry.path.clone(), (entry, entry_key));
        Ok(())
    })?;
    let mut changed = Vec::new();
    let (mut total, mut content_bytes) = (0_u64, 0_u64);
    for (new, sha256) in tree {
        let node = match &new.node {
            TreeNode::Directory => VolumeNode::Directory,
            TreeNode::Link(target) => VolumeNode::Link { target: target.clone() },
            TreeNode::File(bytes) => VolumeNode::File { size: bytes.len() as u64, sha256: sha256.unwrap_or_default() },
        };
        let attributes = VolumeAttributes { mode: Some(new.mode), ..VolumeAttributes::default() };
        let mut entry = new_entry(&new.path, node, attributes, writing.now);
        entry.modified_at = i64::try_from(new.modified).unwrap_or(i64::MAX);
        (entry.uid, entry.gid) = (new.owner.id(), new.owner.id());
        total = total.saturating_add(entry.bytes());
        let old = before.remove(&new.path);
        if let Some((old, _)) = &old
            && old.user() == new.owner
        {
            (entry.uid, entry.gid) = (old.uid, old.gid);
        }
        let is_same_content = old.as_ref().is_some_and(|(old, _)| old.node == entry.node);
        if let Some((old, _)) = &old
            && is_same_content
        {
            entry.changed_at = old.changed_at;
            if entry == *old {
                continue;
            }
            entry.changed_at = writing.now;
        }
        if !is_same_content {
            content_bytes = content_bytes.saturating_add(entry.node.size());
        }
        changed.push((entry, &new.node, old, is_same_content));
    }
    if tree.len() as u64 > writing.bounds.entries || total > writing.bounds.bytes {
        return Err(full(writing.bounds));
    }
    let growth = total.saturating_sub(volume.bytes);
    let displaced = if changed.is_empty() {
        Displaced::default()
    } else {
        let rows = ROW_BYTES.saturating_mul(changed.len() as u64);
        writing.disk.check(connection, content_bytes.saturating_add(rows))?;
        prune::make_room_for_volume(connection, &volume.row.owner, growth, writing.quota)?
    };
    let mut delete = connection.prepare_cached("DELETE FROM volume_entries WHERE key = ?")?;
    for (_, entry_key) in before.values() {
        delete.execute([entry_key])?;
    }
    for (entry, node, old, is_same_content) in changed {
        let bytes: &[u8] = if let TreeNode::File(bytes) = node { bytes } else { &[] };
        match old {
            None => insert(connection, key, &entry, bytes)?,
            Some((_, entry_key)) => {
                update(connection, key, entry_key, &entry)?;
                if !is_same_content {
                    replace_content(connection, entry_key, bytes)?;
                }
            }
        }
    }
    Ok(displaced)
}

fn full(bounds: VolumeBounds) -> StoreError {
    StoreError::VolumeFull { allowed_bytes: bounds.bytes, allowed_entries: bounds.entries }
}

/// Checks that a volume may grow by so much, and makes room for it.
fn make_room(
    connection: &Connection,
    Writing { disk, bounds, quota, .. }: &Writing<'_>,
    volume: &StoredVolume,
    growth: u64,
    new_entries: u64,
    content_bytes: u64,
) -> Result<Displaced, StoreError> {
    let is_too_large = volume.bytes.saturating_add(growth) > bounds.bytes;
    if is_too_large || volume.entries.saturating_add(new_entries) > bounds.entries {
        return Err(full(*bounds));
    }
    disk.check(connection, content_bytes.saturating_add(ROW_BYTES))?;
    prune::make_room_for_volume(connection, &volume.row.owner, growth, *quota)
}

fn check_parent(connection: &Connection, volume: i64, path: &str) -> Result<(), StoreError> {
    let Some((parent, _)) = path.rsplit_once('/') else { return Ok(()) };
    match find_entry(connection, volume, parent)? {
        Some((entry, _)) if entry.is_directory() => Ok(()),
        Some(_) => Err(trouble(parent, FileTrouble::NotADirectory)),
        None => Err(trouble(parent, FileTrouble::NotFound)),
    }
}

fn new_entry(path: &str, node: VolumeNode, attributes: VolumeAttributes, now: i64) -> VolumeEntry {
    let mode = match node {
        VolumeNode::File { .. } => 0o644,
        VolumeNode::Directory => 0o755,
        VolumeNode::Link { .. } => 0o777,
    };
    VolumeEntry {
        path: path.to_owned(),
        node,
        mode: attributes.mode.unwrap_or(mode),
        // The user that a sandbox's programs run as.
        uid: attributes.uid.unwrap_or(User::User.id()),
        gid: attributes.gid.unwrap_or(User::User.id()),
        modified_at: now,
        changed_at: now,
    }
}

fn insert(connection: &Connection, volume: i64, entry: &VolumeEntry, content: &[u8]) -> Result<(), StoreError> {
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

fn update(connection: &Connection, volume: i64, key: i64, entry: &VolumeEntry) -> Result<(), StoreError> {
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

fn replace_content(connection: &Connection, key: i64, content: &[u8]) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM volume_chunks WHERE entry = ?")?.execute([key])?;
    insert_content(connection, key, content)
}

fn insert_content(connection: &Connection, key: i64, content: &[u8]) -> Result<(), StoreError> {
    let insert = "INSERT INTO volume_chunks (entry, number, data, sha256) VALUES (?, ?, ?, ?)";
    let mut insert = connection.prepare_cached(insert)?;
    for (number, chunk) in (0_i64..).zip(content.chunks(CHUNK)) {
        insert.execute(params![key, number, chunk, chunk_sha256(number, chunk)])?;
    }
    Ok(())
}

/// Removes an entry with all that is below it.
fn remove(connection: &Connection, volume: i64, entry: &VolumeEntry, key: i64) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM volume_entries WHERE key = ?")?.execute([key])?;
    let (first, end) = below(&entry.path);
    let delete = "DELETE FROM volume_entries WHERE volume = ? AND path >= ? AND path < ?";
    connection.prepare_cached(delete)?.execute(params![volume, first, end])?;
    Ok(())
}

/// Paths below a directory lie between these two: `0` is the character behind `/`.
fn below(directory: &str) -> (String, String) {
    (format!("{directory}/"), format!("{directory}0"))
}

fn find_entry(connection: &Connection, volume: i64, path: &str) -> Result<Option<(VolumeEntry, i64)>, StoreError> {
    let select = format!("SELECT {ENTRY_COLUMNS} FROM volume_entries WHERE volume = ? AND path = ?");
    let mut select = connection.prepare_cached(&select)?;
    match select.query_row(params![volume, path], |row| Ok(read_entry(row, volume))).optional()? {
        None => Ok(None),
        Some(Some(found)) => Ok(Some(found)),
        Some(None) => Err(damaged_entry()),
    }
}

/// Calls `take` with the key and each entry below a directory, in the order of their paths.
fn for_each_below(
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

fn damaged_entry() -> StoreError {
    StoreError::Damaged { what: "an entry of a volume".to_owned() }
}

fn trouble(path: &str, trouble: FileTrouble) -> StoreError {
    StoreError::VolumePath { path: format!("/{path}"), trouble }
}

/// A row and its key, if it is as it was written.
fn read(row: &Row<'_>) -> Option<(StoredVolume, i64)> {
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

fn seal(row: &VolumeRow) -> [u8; 32] {
    Seal::of("volume")
        .id(row.id)
        .field(row.owner.as_bytes())
        .field(row.name.as_bytes())
        .field(row.token.as_bytes())
        .number(row.created_at)
        .finish()
}

fn parts(node: &VolumeNode) -> (Option<&str>, Option<&[u8; 32]>) {
    match node {
        VolumeNode::File { sha256, .. } => (None, Some(sha256)),
        VolumeNode::Directory => (None, None),
        VolumeNode::Link { target } => (Some(target), None),
    }
}

/// An entry and its key, if it is as it was written.
fn read_entry(row: &Row<'_>, volume: i64) -> Option<(VolumeEntry, i64)> {
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

fn seal_entry(volume: i64, entry: &VolumeEntry) -> [u8; 32] {
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

fn chunk_sha256(number: i64, data: &[u8]) -> [u8; 32] {
    Seal::of("volume chunk").number(number).field(data).finish()
}

#[cfg(test)]
mod tests {
    use super::super::{CheckpointFilter, CheckpointKind, CheckpointRow, DiskReserve, Quota, Store, StoreUsage};
    use super::*;

    const BOUNDS: VolumeBounds = VolumeBounds { volumes: 2, entries: 6, bytes: 4 << 20 };
    const PLENTY: Quota = Quota { total_bytes: u64::MAX, owner_bytes: None };
    const RESOLVE: VolumeConflict = VolumeConflict::Resolve;
    const REFUSE: VolumeConflict = VolumeConflict::Refuse;

    struct Opened {
        store: Store,
        directory: tempfile::TempDir,
    }

    impl Opened {
        async fn new(reserve: DiskReserve) -> Self {
            let directory = tempfile::tempdir().expect("a directory for tests");
            let store = Store::open(&directory.path().join("store"), reserve).await.expect("a store");
            Self { store, directory }
        }

        /// A store with a volume.
        async fn with_volume() -> (Self, Uuid) {
            let opened = Self::new(DiskReserve::Bytes(0)).await;
            let row = volume(1, "one");
            opened.store.put_volume(row.clone(), BOUNDS.volumes).await.expect("room");
            (opened, row.id)
        }

        async fn again(self) -> Self {
            let Self { store, directory } = self;
            drop(store);
            let store = Store::open(&directory.path().join("store"), DiskReserve::Bytes(0)).await.expect("a store");
            Self { store, directory }
        }

        async fn change(&self, id: Uuid, path: &str, change: VolumeChange) -> Result<Option<VolumeEntry>, StoreError> {
            let changed = self.store.change_volume(id, path.to_owned(), change, 7, BOUNDS, PLENTY).await;
            changed.map(|(entry, _)| entry)
        }

        async fn write(&self, id: Uuid, path: &str, content: &[u8]) -> Result<VolumeEntry, StoreError> {
            Ok(self.change(id, path, write(content, RESOLVE)).await?.expect("it is written"))
        }

        async fn paths(&self, id: Uuid) -> Vec<String> {
            let entries = self.store.volume_entries(id, String::new(), usize::MAX).await.expect("a volume");
            entries.into_iter().map(|entry| entry.path).collect()
        }
    }

    fn volume(number: u128, name: &str) -> VolumeRow {
        let token = format!("secret {number}");
        VolumeRow { id: Uuid::from_u128(number), owner: "me".to_owned(), name: name.to_owned(), token, created_at: 5 }
    }

    fn write(content: &[u8], conflict: VolumeConflict) -> VolumeChange {
        let attributes = VolumeAttributes::default();
        VolumeChange::Write { content: Bytes::copy_from_slice(content), attributes, conflict }
    }

    fn directory(conflict: VolumeConflict) -> VolumeChange {
        VolumeChange::MakeDirectory { attributes: VolumeAttributes::default(), conflict }
    }

    fn fault<T: std::fmt::Debug>(result: Result<T, StoreError>) -> FileTrouble {
        match result {
            Err(StoreError::VolumePath { trouble, .. }) => trouble,
            other => panic!("not refused: {other:?}"),
        }
    }

    fn file(path: &str, content: &[u8]) -> TreeEntry {
        let node = TreeNode::File(content.to_vec());
        TreeEntry { path: path.to_owned(), node, mode: 0o644, owner: User::User, modified: 9 }
    }

    fn checkpoint(number: u128, owner: &str) -> CheckpointRow {
        CheckpointRow {
            id: Uuid::from_u128(number),
            session: None,
            name: "n".to_owned(),
            kind: CheckpointKind::Named,
            created_at: 1,
            expires_at: None,
            image_hash: "h".to_owned(),
            owner: Some(owner.to_owned()),
            meta: Vec::new(),
        }
    }

    #[tokio::test]
    async fn what_is_written_into_a_volume_is_there_after_a_restart() {
        let (opened, id) = Opened::with_volume().await;
        let large: Vec<u8> = (0..(2 << 20) + 17_u32).map(|index| (index % 251) as u8).collect();
        opened.change(id, "a/b", directory(RESOLVE)).await.expect("free");
        let attributes = VolumeAttributes { mode: Some(0o600), uid: Some(0), gid: Some(7) };
        let content = Bytes::from(large.clone());
        let written = opened.change(id, "a/b/f", VolumeChange::Write { content, attributes, conflict: REFUSE }).await;
        let entry = written.expect("free").expect("written");
        assert_eq!((entry.mode, entry.uid, entry.gid, entry.node.size()), (0o600, 0, 7, large.len() as u64));
        let opened = opened.again().await;
        assert_eq!(opened.paths(id).await, ["a", "a/b", "a/b/f"]);
        assert_eq!(opened.store.volume_entry(id, "a/b/f".to_owned()).await, Ok(entry));
        let whole = opened.store.read_volume_file(id, "a/b/f".to_owned(), 0, u64::MAX).await.expect("there");
        assert!(whole.bytes == large && whole.size == large.len() as u64);
        let piece = opened.store.read_volume_file(id, "a/b/f".to_owned(), (1 << 20) - 1, 3).await.expect("there");
        assert_eq!(piece.bytes, large[(1 << 20) - 1..(1 << 20) + 2]);
        let beyond = opened.store.read_volume_file(id, "a/b/f".to_owned(), 3 << 20, 1).await.expect("there");
        assert!(beyond.bytes.is_empty());
        let tree = opened.store.volume_tree(id).await.expect("sound");
        assert_eq!((tree.len(), tree[2].owner, tree[2].mode), (3, User::Root, 0o600));
        assert!(tree[2].node == TreeNode::File(large));
    }

    #[tokio::test]
    async fn what_is_in_the_way_is_refused_or_resolved() {
        let (opened, id) = Opened::with_volume().await;
        opened.write(id, "f", b"1").await.expect("free");
        assert_eq!(fault(opened.change(id, "f", write(b"2", REFUSE)).await), FileTrouble::Exists);
        opened.write(id, "f", b"22").await.expect("overwritten");
        assert_eq!(fault(opened.write(id, "d/f", b"").await), FileTrouble::NotFound);
        assert_eq!(fault(opened.write(id, "f/g", b"").await), FileTrouble::NotADirectory);
        assert_eq!(fault(opened.change(id, "d/e", directory(REFUSE)).await), FileTrouble::NotFound);
        opened.change(id, "d/e", directory(RESOLVE)).await.expect("free");
        opened.change(id, "d/e", directory(RESOLVE)).await.expect("there");
        assert_eq!(fault(opened.change(id, "d/e", directory(REFUSE)).await), FileTrouble::Exists);
        assert_eq!(fault(opened.change(id, "f", directory(RESOLVE)).await), FileTrouble::Exists);
        assert_eq!(fault(opened.change(id, "f/x", directory(RESOLVE)).await), FileTrouble::NotADirectory);
        assert_eq!(fault(opened.write(id, "d", b"").await), FileTrouble::IsADirectory);
        assert_eq!(fault(opened.write(id, "", b"").await), FileTrouble::IsADirectory);
        assert_eq!(fault(opened.store.read_volume_file(id, "d".to_owned(), 0, 1).await), FileTrouble::IsADirectory);
        assert_eq!(fault(opened.store.volume_entries(id, "f".to_owned(), 1).await), FileTrouble::NotADirectory);
        let missing = Uuid::from_u128(9);
        assert_eq!(opened.write(missing, "f", b"").await, Err(StoreError::NoVolume { id: missing }));
        // What only begins like it stays.
        opened.write(id, "d.txt", b"").await.expect("free");
        assert_eq!(opened.change(id, "d", VolumeChange::Remove).await, Ok(None));
        assert_eq!(opened.paths(id).await, ["d.txt", "f"]);
        assert_eq!(fault(opened.change(id, "d", VolumeChange::Remove).await), FileTrouble::NotFound);
        assert_eq!(fault(opened.change(id, "", VolumeChange::Remove).await), FileTrouble::NotFound);
    }

    #[tokio::test]
    async fn a_listing_goes_as_deep_as_asked() {
        let (opened, id) = Opened::with_volume().await;
        opened.change(id, "a/b", directory(RESOLVE)).await.expect("free");
        for path in ["a/b/f", "a/g", "h"] {
            opened.write(id, path, b"").await.expect("free");
        }
        let listed = async |path: &str, depth| -> Vec<String> {
            let entries = opened.store.volume_entries(id, path.to_owned(), depth).await.expect("a directory");
            entries.into_iter().map(|entry| entry.path).collect()
        };
        assert_eq!(listed("", 1).await, ["a", "h"]);
        assert_eq!(listed("", 2).await, ["a", "a/b", "a/g", "h"]);
        assert_eq!(listed("a", 1).await, ["a/b", "a/g"]);
        assert_eq!(listed("a", 2).await, ["a/b", "a/b/f", "a/g"]);
    }

    #[tokio::test]
    async fn volumes_have_names_of_their_own_and_are_bounded() {
        let (opened, id) = Opened::with_volume().await;
        let put = async |row: VolumeRow| opened.store.put_volume(row, BOUNDS.volumes).await;
        assert_eq!(put(volume(2, "one")).await, Err(StoreError::VolumeNameTaken { name: "one".to_owned() }));
        put(volume(2, "two")).await.expect("room");
        assert_eq!(put(volume(3, "three")).await, Err(StoreError::TooManyVolumes { allowed: 2 }));
        let other = VolumeRow { owner: "other".to_owned(), ..volume(3, "one") };
        put(other.clone()).await.expect("another owner's");
        let names = async |name: Option<&str>| -> Vec<String> {
            let found = opened.store.list_volumes("me".to_owned(), name.map(str::to_owned)).await.expect("a list");
            found.into_iter().map(|volume| volume.row.name).collect()
        };
        assert_eq!((names(None).await.len(), names(Some("two")).await.len(), names(Some("x")).await.len()), (2, 1, 0));
        assert_eq!(opened.store.delete_volume(id).await, Ok(true));
        assert_eq!(opened.store.delete_volume(id).await, Ok(false));
        assert_eq!(opened.store.find_volume(id).await, Ok(None));
        let found = opened.store.find_volume(other.id).await.expect("sound");
        assert_eq!(found, Some(StoredVolume { row: other, bytes: 0, entries: 0 }));
    }

    #[tokio::test]
    async fn a_volume_is_bounded_in_entries_and_bytes() {
        let (opened, id) = Opened::with_volume().await;
        let full = Err(StoreError::VolumeFull { allowed_bytes: BOUNDS.bytes, allowed_entries: BOUNDS.entries });
        let most = (BOUNDS.bytes - TreeEntry::cost(1, 0)) as usize;
        assert_eq!(opened.write(id, "f", &vec![0; most + 1]).await, full);
        opened.write(id, "f", &vec![0; most]).await.expect("it fits");
        assert_eq!(opened.write(id, "g", b"").await, full);
        opened.write(id, "f", b"").await.expect("smaller");
        for name in ["1", "2", "3", "4", "5"] {
            opened.write(id, name, b"").await.expect("room");
        }
        assert_eq!(opened.write(id, "6", b"").await, full);
        assert_eq!(opened.change(id, "a/b", directory(RESOLVE)).await.map(drop), full.clone().map(|_: VolumeEntry| ()));
        let many = (0..7).map(|number| file(&number.to_string(), b"")).collect();
        assert_eq!(opened.store.replace_volume(id, many, 8, BOUNDS, PLENTY).await.map(drop), full.clone().map(drop));
        let large = vec![file("f", &vec![0; most + 1])];
        assert_eq!(opened.store.replace_volume(id, large, 8, BOUNDS, PLENTY).await.map(drop), full.map(drop));
        assert_eq!(opened.paths(id).await.len(), 6, "nothing changed");
    }

    #[tokio::test]
    async fn a_tree_replaces_what_differs_from_it_and_leaves_the_rest() {
        let (opened, id) = Opened::with_volume().await;
        let attributes = VolumeAttributes { uid: Some(1001), gid: Some(1002), mode: None };
        let content = Bytes::from_static(b"same");
        opened.change(id, "same", VolumeChange::Write { content, attributes, conflict: REFUSE }).await.expect("free");
        opened.write(id, "changes", b"before").await.expect("free");
        opened.write(id, "goes", b"").await.expect("free");
        opened.write(id, "turns", b"into a directory").await.expect("free");
        let directory = TreeEntry { node: TreeNode::Directory, mode: 0o755, ..file("turns", b"") };
        let link = TreeEntry { node: TreeNode::Link("/x".to_owned()), mode: 0o777, ..file("turns/link", b"") };
        let tree = vec![file("changes", b"after"), file("same", b"same"), directory, link];
        opened.store.replace_volume(id, tree.clone(), 8, BOUNDS, PLENTY).await.expect("room");
        assert_eq!(opened.store.volume_tree(id).await, Ok(tree.clone()));
        let same = opened.store.volume_entry(id, "same".to_owned()).await.expect("there");
        assert_eq!((same.uid, same.gid, same.modified_at), (1001, 1002, 9));
        // Again: nothing is written.
        let before = opened.store.volume_entries(id, String::new(), 9).await.expect("there");
        opened.store.replace_volume(id, tree, 9, BOUNDS, PLENTY).await.expect("room");
        assert_eq!(opened.store.volume_entries(id, String::new(), 9).await.expect("there"), before);
        // Whoever it was given to in a session has it now.
        let given = vec![TreeEntry { owner: User::Root, ..file("same", b"same") }];
        opened.store.replace_volume(id, given, 10, BOUNDS, PLENTY).await.expect("room");
        let same = opened.store.volume_entry(id, "same".to_owned()).await.expect("there");
        assert_eq!((same.uid, same.changed_at), (0, 10));
        assert_eq!(opened.paths(id).await, ["same"]);
    }

    #[tokio::test]
    async fn volumes_count_in_their_owners_quota_and_nothing_of_it_goes_for_them() {
        let (opened, id) = Opened::with_volume().await;
        let put = async |number, owner, bytes: usize, quota| {
            opened.store.put_checkpoint(checkpoint(number, owner), vec![1; bytes].into(), quota).await
        };
        put(1, "me", 1000, PLENTY).await.expect("room");
        let write_within = async |content: usize, quota| {
            let change = write(&vec![2; content], RESOLVE);
            opened.store.change_volume(id, "f".to_owned(), change, 7, BOUNDS, quota).await.map(drop)
        };
        let quota = Quota { total_bytes: u64::MAX, owner_bytes: Some(3000) };
        let asked = 1000 + TreeEntry::cost(1, 2000);
        assert_eq!(write_within(2000, quota).await, Err(StoreError::OverQuota { asked, allowed: 3000 }));
        write_within(1000, quota).await.expect("it fits");
        // So do checkpoints beside them.
        assert!(matches!(put(2, "me", 1000, quota).await, Err(StoreError::OverQuota { .. })));
        let small = Quota { total_bytes: 4000, owner_bytes: None };
        assert_eq!(write_within(4000, small).await, Err(StoreError::NoRoom));
        let tree = vec![file("f", &[3; 4000])];
        assert_eq!(opened.store.replace_volume(id, tree, 8, BOUNDS, small).await.map(drop), Err(StoreError::NoRoom));
        let kept = opened.store.list_checkpoints(CheckpointFilter::default(), 9, None).await.expect("a list");
        assert_eq!(kept.len(), 1, "the owner's own checkpoint stays");
        // Of a neighbour who holds more, it goes.
        put(3, "neighbour", 3000, PLENTY).await.expect("room");
        write_within(1500, small).await.expect("the neighbour makes room");
        let kept = opened.store.list_checkpoints(CheckpointFilter::default(), 9, None).await.expect("a list");
        assert_eq!(kept.len(), 1);
        let bytes = 1000 + TreeEntry::cost(1, 1500);
        let usage = StoreUsage { named: 1, volumes: 1, bytes, ..StoreUsage::default() };
        assert_eq!(opened.store.usage().await, Ok(usage));
        // Counted anew it is the same, and a volume that is removed counts no more.
        let opened = opened.again().await;
        let quota = Quota { total_bytes: u64::MAX, owner_bytes: Some(bytes + 10) };
        let beyond = opened.store.put_checkpoint(checkpoint(4, "me"), vec![1; 11].into(), quota).await;
        assert_eq!(beyond, Err(StoreError::OverQuota { asked: bytes + 11, allowed: bytes + 10 }));
        opened.store.delete_volume(id).await.expect("removed");
        let after = opened.store.put_checkpoint(checkpoint(4, "me"), vec![1; 11].into(), quota).await;
        assert!(after.is_ok());
    }

    #[tokio::test]
    async fn nothing_is_written_into_the_disks_reserve() {
        let opened = Opened::new(DiskReserve::Bytes(u64::MAX)).await;
        assert_eq!(opened.store.put_volume(volume(1, "one"), 2).await, Err(StoreError::Full));
        let (opened, id) = Opened::with_volume().await;
        opened.write(id, "f", b"1").await.expect("room");
        let path = opened.directory.path().join("store");
        drop(opened.store);
        let store = Store::open(&path, DiskReserve::Bytes(u64::MAX)).await.expect("a store");
        let changed = store.change_volume(id, "f".to_owned(), write(b"2", RESOLVE), 7, BOUNDS, PLENTY).await;
        assert_eq!(changed.map(drop), Err(StoreError::Full));
        let replaced = store.replace_volume(id, vec![file("f", b"2")], 7, BOUNDS, PLENTY).await;
        assert_eq!(replaced.map(drop), Err(StoreError::Full));
        // Nothing to write, and removals, need no room.
        store
            .replace_volume(id, vec![TreeEntry { modified: 7, ..file("f", b"1") }], 7, BOUNDS, PLENTY)
            .await
            .expect("same");
        store.change_volume(id, "f".to_owned(), VolumeChange::Remove, 7, BOUNDS, PLENTY).await.expect("removed");
    }

    #[tokio::test]
    async fn damage_is_told_and_never_read() {
        let (opened, id) = Opened::with_volume().await;
        opened.write(id, "f", b"content").await.expect("room");
        opened.write(id, "g", b"content").await.expect("room");
        let path = opened.directory.path().join("store");
        let spoil = |statement: &str| {
            let connection = rusqlite::Connection::open(&path).expect("a database");
            assert_eq!(connection.execute(statement, []).expect("writable"), 1);
        };
        spoil("UPDATE volume_chunks SET data = x'00' WHERE entry = 1");
        let read = opened.store.read_volume_file(id, "f".to_owned(), 0, 9).await;
        assert!(matches!(read, Err(StoreError::Damaged { .. })));
        assert!(matches!(opened.store.volume_tree(id).await, Err(StoreError::Damaged { .. })));
        spoil("UPDATE volume_entries SET mode = 4095 WHERE path = 'g'");
        assert!(matches!(opened.store.volume_entry(id, "g".to_owned()).await, Err(StoreError::Damaged { .. })));
        spoil("UPDATE volumes SET token = 'known'");
        assert!(matches!(opened.store.find_volume(id).await, Err(StoreError::Damaged { .. })));
    }
}
