//! Volumes: trees of files that outlive the sessions that use them. A row for each entry, and the content in chunks.

mod rows;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use bytes::Bytes;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::checkpoints::MAX_LISTED;
use super::disk::Disk;
use super::error::StoreError;
use super::prune::{self, Displaced};
use super::room::Quota;
use proofbox_types::session::{FileTrouble, TreeEntry, TreeNode};
use proofbox_types::user::User;
use rows::{chunk_sha256, find_entry, for_each_below, insert, read, remove, replace_content, seal, trouble, update};

/// Bytes of one chunk of a file.
const CHUNK: usize = 1 << 20;
/// Maximum size of a listing, in bytes of paths and of what links say, each entry with [`LISTED_BYTES`] more.
const MAX_LISTING: usize = 32 << 20;
/// Bytes that a listed entry takes beside its texts.
const LISTED_BYTES: usize = 256;
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
    let (mut found, mut size) = (Vec::new(), 0);
    for_each_below(connection, key, directory, |_, entry| {
        if levels(&entry.path) - above <= depth {
            let target = if let VolumeNode::Link { target } = &entry.node { target.len() } else { 0 };
            size += LISTED_BYTES + entry.path.len() + target;
            if size > MAX_LISTING {
                return Err(StoreError::VolumeListing { allowed_bytes: MAX_LISTING });
            }
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
        (VolumeEntry { node: VolumeNode::File { size, .. }, .. }, key) => {
            let end = size.min(offset.saturating_add(length));
            let bytes = if offset >= end { Bytes::new() } else { content(connection, key, path, offset, end)? };
            Ok(VolumePiece { bytes, size })
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
                    // What a client does not name stays, but for the mode of a link.
                    if matches!(old.node, VolumeNode::File { .. }) {
                        entry.mode = attributes.mode.unwrap_or(old.mode);
                    }
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
