//! Entries of a volume that no session has mounted, in the store.

use super::{VOLUME_BOUNDS, VolumeError, VolumeInfo, VolumeManager, VolumePath, now};
use proofbox_store::{Displaced, VolumeChange, VolumeEntry, VolumeNode, VolumePiece};
use proofbox_types::session::EntryKind;

/// Operation on the content of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VolumeAsk {
    /// Describes the entry at the path.
    Stat,
    /// Lists the entries of the directory at the path.
    List {
        /// Number of levels: 1 for the directory's own entries.
        depth: u32,
    },
    /// Bytes of the file at the path.
    Read {
        /// Offset of the first byte.
        offset: u64,
        /// Maximum number of bytes.
        length: u64,
    },
    /// Changes the entry at the path.
    Change(VolumeChange),
}

impl VolumeAsk {
    /// Returns whether it changes the content.
    pub fn is_change(&self) -> bool {
        matches!(self, Self::Change(_))
    }
}

/// Result of a [`VolumeAsk`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VolumeAnswer {
    /// Entry that was asked for, made or changed.
    Entry(VolumeStat),
    /// Entries of a directory.
    Entries(Vec<VolumeStat>),
    /// Part of a file, and the length of the whole.
    Bytes(bytes::Bytes, u64),
    /// Confirmation that the entry was removed.
    Removed,
}

/// Entry of a volume as clients see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeStat {
    /// Path in the volume, with a slash at its beginning.
    pub path: String,
    /// Type of the entry.
    pub kind: EntryKind,
    /// Size of the content, in bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u16,
    /// Number of the owner.
    pub uid: u32,
    /// Number of the group.
    pub gid: u32,
    /// Time of the last change of its content, in nanoseconds since 1970.
    pub modified: i64,
    /// Time of the last change, in nanoseconds since 1970.
    pub changed: i64,
    /// Text of a symbolic link.
    pub target: Option<String>,
}

impl From<VolumeEntry> for VolumeStat {
    fn from(entry: VolumeEntry) -> Self {
        let size = entry.node.size();
        let (kind, target) = match entry.node {
            VolumeNode::File { .. } => (EntryKind::File, None),
            VolumeNode::Directory => (EntryKind::Directory, None),
            VolumeNode::Link { target } => (EntryKind::Link, Some(target)),
        };
        let VolumeEntry { path, mode, uid, gid, modified_at, changed_at, .. } = entry;
        Self {
            path: format!("/{path}"),
            kind,
            size,
            mode,
            uid,
            gid,
            modified: modified_at,
            changed: changed_at,
            target,
        }
    }
}

impl VolumeManager {
    /// Looks at the content of a volume as it is in the store: what a session that has mounted it does shows there when
    /// it is brought back.
    ///
    /// # Errors
    /// Returns an error for a missing volume or entry, and for a change.
    pub(in crate::service) async fn look(
        &self,
        volume: &VolumeInfo,
        path: &VolumePath,
        ask: &VolumeAsk,
    ) -> Result<VolumeAnswer, VolumeError> {
        let (store, id, path) = (self.store()?, volume.id.uuid(), path.as_str().to_owned());
        match ask {
            VolumeAsk::Stat => Ok(VolumeAnswer::Entry(store.volume_entry(id, path).await?.into())),
            VolumeAsk::List { depth } => {
                let found = store.volume_entries(id, path, *depth as usize).await?;
                Ok(VolumeAnswer::Entries(found.into_iter().map(Into::into).collect()))
            }
            VolumeAsk::Read { offset, length } => {
                let VolumePiece { bytes, size } = store.read_volume_file(id, path, *offset, *length).await?;
                Ok(VolumeAnswer::Bytes(bytes, size))
            }
            VolumeAsk::Change(_) => Err(VolumeError::Store),
        }
    }

    /// Carries out an operation on a volume in the store, with what made room for it; none where a session has mounted
    /// the volume.
    ///
    /// # Errors
    /// Returns an error for a missing volume or entry, or want of room.
    pub(in crate::service) async fn carry_out(
        &self,
        volume: &VolumeInfo,
        path: &VolumePath,
        ask: &VolumeAsk,
        owner_bytes: Option<u64>,
    ) -> Result<Option<(VolumeAnswer, Displaced)>, VolumeError> {
        let Some(_gate) = self.hold_unmounted(volume.id).await else { return Ok(None) };
        let VolumeAsk::Change(change) = ask else {
            return Ok(Some((self.look(volume, path, ask).await?, Displaced::default())));
        };
        let (id, path) = (volume.id.uuid(), path.as_str().to_owned());
        let quota = self.quota(owner_bytes);
        let (entry, displaced) =
            self.store()?.change_volume(id, path, change.clone(), now(), VOLUME_BOUNDS, quota).await?;
        Ok(Some((entry.map_or(VolumeAnswer::Removed, |entry| VolumeAnswer::Entry(entry.into())), displaced)))
    }
}
