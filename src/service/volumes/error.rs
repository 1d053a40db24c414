//! Errors of volumes, as clients see them.

use proofbox_store::StoreError;
use proofbox_types::ids::SessionId;
use proofbox_types::session::FileTrouble;

/// Reason why a request about a volume fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VolumeError {
    /// Volume that does not exist, or belongs to another key.
    #[error("there is no such volume")]
    NotFound,
    /// Name that no volume of the caller has.
    #[error("there is no volume '{name}'")]
    Unknown {
        /// Name that was asked for.
        name: String,
    },
    /// Name that can't be.
    #[error("the name of a volume has 1 to {most} letters, digits, '-', '_' and '.'")]
    BadName {
        /// Maximum length of a name.
        most: usize,
    },
    /// Name that another volume has.
    #[error("there is a volume '{name}' already")]
    NameTaken {
        /// Name of the volume.
        name: String,
    },
    /// Volume beyond the maximum number.
    #[error("a key may have {allowed} volumes")]
    TooMany {
        /// Maximum number of volumes.
        allowed: usize,
    },
    /// Mount that can't be.
    #[error("{message}")]
    BadMount {
        /// Reason for the refusal.
        message: String,
    },
    /// Volume that a session has mounted.
    #[error(
        "the volume is mounted by the sandbox {}: a volume has one writer. Kill that sandbox first; one that is paused has it, too",
        session.simple()
    )]
    InUse {
        /// Session that has mounted the volume.
        session: SessionId,
    },
    /// Content that would be more than a volume may hold.
    #[error("a volume holds at most {allowed_bytes} bytes in {allowed_entries} entries")]
    Full {
        /// Bytes that a volume may hold.
        allowed_bytes: u64,
        /// Number of entries that a volume may hold.
        allowed_entries: u64,
    },
    /// More entries than one listing may have.
    #[error("a listing takes at most {allowed_bytes} bytes: list one directory after the other")]
    Listing {
        /// Size that a listing may have, in bytes.
        allowed_bytes: usize,
    },
    /// Path that the operation can't be done at.
    #[error("{message}")]
    Path {
        /// Reason for the refusal, for programs.
        trouble: FileTrouble,
        /// Reason for the refusal, for people.
        message: String,
    },
    /// Tree of a worker that is none.
    #[error("the files of the sandbox are no tree that a volume can hold")]
    Malformed,
    /// Service without a store.
    #[error("this service has no store, and so no volumes: set PROOFBOX_DATA_DIR")]
    NoStore,
    /// Disk of the store that is full.
    #[error("no room is left on the disk of the store")]
    DiskFull,
    /// Store that is full, and whose owner holds most of it.
    #[error("no room is left in the store: delete volumes or checkpoints, or end sandboxes, of this key")]
    NoRoom,
    /// Owner whose quota on disk is used up.
    #[error("this key would keep {asked} bytes on disk, and may keep {allowed}")]
    OverQuota {
        /// Bytes that the owner would hold.
        asked: u64,
        /// Bytes that the owner may hold.
        allowed: u64,
    },
    /// Content that is damaged in the store.
    #[error("{what} is damaged, and can't be used any more")]
    Damaged {
        /// Description of the damaged thing.
        what: String,
    },
    /// The kernel has no random bytes.
    #[error("the service has no randomness")]
    NoRandomness,
    /// The store failed; the cause is in the log.
    #[error("the store failed; the request may be sent again")]
    Store,
}

impl VolumeError {
    /// Makes the error of an operation that can't be done at a path.
    pub(in crate::service) fn at(path: &str, trouble: FileTrouble) -> Self {
        Self::Path { trouble, message: message_of(path, trouble) }
    }

    /// Returns whether only room is missing: on the disk, in the store, in the volume, or in its owner's quota.
    pub fn is_want_of_room(&self) -> bool {
        matches!(self, Self::Full { .. } | Self::DiskFull | Self::NoRoom | Self::OverQuota { .. })
    }
}

impl From<StoreError> for VolumeError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoVolume { .. } => Self::NotFound,
            StoreError::VolumeNameTaken { name } => Self::NameTaken { name },
            StoreError::TooManyVolumes { allowed } => Self::TooMany { allowed },
            StoreError::VolumeFull { allowed_bytes, allowed_entries } => Self::Full { allowed_bytes, allowed_entries },
            StoreError::VolumeListing { allowed_bytes } => Self::Listing { allowed_bytes },
            StoreError::VolumePath { path, trouble } => Self::Path { trouble, message: message_of(&path, trouble) },
            StoreError::Full => Self::DiskFull,
            StoreError::NoRoom => Self::NoRoom,
            StoreError::OverQuota { asked, allowed } => Self::OverQuota { asked, allowed },
            StoreError::Damaged { what } => Self::Damaged { what },
            error => {
                tracing::error!(%error, "the store failed at a volume");
                Self::Store
            }
        }
    }
}

/// Returns the sentence about a path that something can't be done at.
fn message_of(path: &str, trouble: FileTrouble) -> String {
    let shown: String = path.chars().take(200).collect();
    match trouble {
        FileTrouble::NotFound => format!("Path {shown:?} not found"),
        FileTrouble::Exists => format!("Path {shown:?} already exists"),
        FileTrouble::IsADirectory => format!("Path {shown:?} is a directory"),
        FileTrouble::NotADirectory => format!("Path {shown:?} is not a directory"),
        FileTrouble::Other => format!("Path {shown:?} is no regular file"),
        FileTrouble::NotEmpty | FileTrouble::NoSpace | FileTrouble::BadPath | FileTrouble::ReadOnly => {
            format!("Path {shown:?}: {}", trouble.as_str())
        }
    }
}
