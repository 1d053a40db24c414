//! Errors of the store.

use proofbox_types::session::FileTrouble;
use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// Error of the store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store is open in another process, or its lock is held for too long.
    #[error("the store {} is in use by another process", path.display())]
    Locked {
        /// Path of the store.
        path: PathBuf,
    },
    /// A later version of proofbox has written it.
    #[error("the store {} has version {found}, and this proofbox knows versions up to {known}", path.display())]
    Newer {
        /// Path of the store.
        path: PathBuf,
        /// Version of the file's tables.
        found: i64,
        /// The last one known here.
        known: i64,
    },
    /// The file is something else.
    #[error("{} is no store of proofbox", path.display())]
    NotAStore {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file or the directory it is in cannot be made or opened.
    #[error("could not open the store {}: {reason}", path.display())]
    Open {
        /// Path of the store.
        path: PathBuf,
        /// Error message of the system.
        reason: String,
    },
    /// Data that was read is not what was written.
    #[error("{what} in the store is damaged")]
    Damaged {
        /// Description of the damaged thing: "checkpoint …".
        what: String,
    },
    /// A checkpoint with this id exists.
    #[error("there is a checkpoint {id} already")]
    Exists {
        /// Id of the checkpoint.
        id: Uuid,
    },
    /// A checkpoint that is to be tagged is not there, or is somebody else's.
    #[error("there is no checkpoint {id} of this owner")]
    NoCheckpoint {
        /// Id of the checkpoint.
        id: Uuid,
    },
    /// The owner may not have more tags.
    #[error("its owner would have more than {allowed} tags")]
    TooManyTags {
        /// Number of tags that the owner may have.
        allowed: usize,
    },
    /// A volume that is not there.
    #[error("there is no volume {id}")]
    NoVolume {
        /// Id of the volume.
        id: Uuid,
    },
    /// The owner has a volume of this name.
    #[error("there is a volume `{name}` already")]
    VolumeNameTaken {
        /// Name of the volume.
        name: String,
    },
    /// The owner may not have more volumes.
    #[error("its owner would have more than {allowed} volumes")]
    TooManyVolumes {
        /// Number of volumes that the owner may have.
        allowed: usize,
    },
    /// The volume would hold more than it may.
    #[error("a volume holds at most {allowed_bytes} bytes in {allowed_entries} entries")]
    VolumeFull {
        /// Bytes that a volume may hold.
        allowed_bytes: u64,
        /// Number of entries that a volume may hold.
        allowed_entries: u64,
    },
    /// More entries than one listing may have.
    #[error("a listing takes at most {allowed_bytes} bytes: list one directory after the other")]
    VolumeListing {
        /// Size that a listing may have, in bytes.
        allowed_bytes: usize,
    },
    /// Path in a volume that something can't be done with.
    #[error("{path:?} in the volume: {}", trouble.as_str())]
    VolumePath {
        /// Path in the volume.
        path: String,
        /// Reason for the refusal.
        trouble: FileTrouble,
    },
    /// The owner may not have more webhooks.
    #[error("its owner would have more than {allowed} webhooks")]
    TooManyWebhooks {
        /// Number of webhooks that the owner may have.
        allowed: usize,
    },
    /// A key has this name.
    #[error("there is a key `{name}` already")]
    NameTaken {
        /// Name of the key.
        name: String,
    },
    /// The disk is full, or what is left of it is its reserve.
    #[error("no room is left on the disk of the store")]
    Full,
    /// The store is full, and nobody holds more than the owner for whom something is to be written.
    #[error("no room is left in the store, and its owner holds the most of it")]
    NoRoom,
    /// The owner may not hold so much.
    #[error("its owner would hold {asked} bytes in the store, and may hold {allowed}")]
    OverQuota {
        /// Bytes that it would hold.
        asked: u64,
        /// Bytes that it may hold.
        allowed: u64,
    },
    /// The store has been closed.
    #[error("the store is closed")]
    Closed,
    /// Failure of SQLite of any other kind.
    #[error("the store failed: {reason}")]
    Engine {
        /// Error message of SQLite.
        reason: String,
    },
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let reason = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged { what: "a page".to_owned() },
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(_) | None => Self::Engine { reason },
        }
    }
}

impl StoreError {
    /// Returns whether the write failed for want of room only: on the disk, in the store, or in its owner's quota.
    #[must_use]
    pub fn is_want_of_room(&self) -> bool {
        match self {
            Self::Full | Self::NoRoom | Self::OverQuota { .. } | Self::VolumeFull { .. } => true,
            Self::Locked { .. }
            | Self::Newer { .. }
            | Self::NotAStore { .. }
            | Self::Open { .. }
            | Self::Damaged { .. }
            | Self::Exists { .. }
            | Self::NameTaken { .. }
            | Self::Closed
            | Self::NoCheckpoint { .. }
            | Self::TooManyTags { .. }
            | Self::NoVolume { .. }
            | Self::VolumeNameTaken { .. }
            | Self::VolumeListing { .. }
            | Self::TooManyVolumes { .. }
            | Self::VolumePath { .. }
            | Self::TooManyWebhooks { .. }
            | Self::Engine { .. } => false,
        }
    }

    /// An error while the file at `path` was being opened.
    pub(super) fn opening(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotAStore { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { what: "the file's outline".to_owned() },
            Some(_) | None => Self::Open { path, reason: error.to_string() },
        }
    }

    pub(super) fn damaged(what: &str, id: Uuid) -> Self {
        Self::Damaged { what: format!("{what} {id}") }
    }
}
