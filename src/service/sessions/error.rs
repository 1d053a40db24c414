//! Errors of sessions, as clients see them.

use std::time::Duration;

use crate::sandbox::{RequestError, SessionCallError};
use crate::service::{Busy, ExecuteError, VolumeError};
use proofbox_policy::Refusal;
use proofbox_store::StoreError;
use proofbox_types::grant::LimitRefused;

/// Reason why a request about a session fails.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Session that never was, has ended, or has expired.
    #[error("there is no such session: it has ended, or never was")]
    NotFound,
    /// The worker that it lived in is gone.
    #[error("the session is lost: the process that it lived in ended")]
    Lost,
    /// Session that is paused.
    #[error("the session is paused: resume it first")]
    Paused,
    /// Session beyond the maximum number.
    #[error("there are {allowed} sessions already, as many as there may be")]
    TooMany {
        /// Maximum number of sessions.
        allowed: usize,
    },
    /// A time that is too long.
    #[error("{field} is {} s; at most {} s are possible", asked.as_secs(), allowed.as_secs())]
    TtlTooLong {
        /// The field of the request.
        field: &'static str,
        /// Time that was asked for.
        asked: Duration,
        /// Maximum time that is possible.
        allowed: Duration,
    },
    /// Number of forks that one call can't make.
    #[error("{asked} forks in one call are not possible: from 1 to {allowed} are")]
    Forks {
        /// Number that was asked for.
        asked: usize,
        /// Maximum number of forks.
        allowed: usize,
    },
    /// Packages that `pip` could not install.
    #[error("the packages can't be installed: {message}")]
    Packages {
        /// Messages of `pip`.
        message: String,
    },
    /// Working directory of a command that does not exist.
    #[error("cwd '{path}' does not exist")]
    NoDirectory {
        /// Path of the directory.
        path: String,
    },
    /// Time for a command that the policy does not grant.
    #[error("timeout_seconds is {}; this policy allows {} {}", .0.asked, if .0.above { "at most" } else { "at least" }, .0.allowed)]
    CommandTimeout(LimitRefused),
    /// Input for a command that was started without.
    #[error("this command takes no input: it was started without stdin")]
    NoInput,
    /// Signal or input for a command that has ended.
    #[error("the command has ended")]
    CommandEnded,
    /// Checkpoint that does not exist.
    #[error("there is no such checkpoint")]
    NoCheckpoint,
    /// The checkpoint was made with another image: its memory means nothing to this one.
    #[error("the checkpoint was made with the image {theirs}; this service has {ours}")]
    OtherImage {
        /// Hash of the checkpoint's image.
        theirs: String,
        /// Hash of the image in use.
        ours: String,
    },
    /// Tags that are too many.
    #[error("a key may have {allowed} tags of checkpoints")]
    TooManyTags {
        /// Maximum number of tags.
        allowed: usize,
    },
    /// The service keeps nothing on disk.
    #[error("this service has no store: set PROOFBOX_DATA_DIR")]
    NoStore,
    /// The disk of the store is full.
    #[error("no room is left on the disk of the store")]
    StoreFull,
    /// The store is full, and its owner holds most of it.
    #[error("no room is left in the store: delete checkpoints, or end sessions, of this key")]
    NoStoreRoom,
    /// Owner whose quota on disk is used up.
    #[error("this key would keep {asked} bytes on disk, and may keep {allowed}: delete checkpoints, sessions or jobs")]
    DiskQuota {
        /// Bytes that it would keep.
        asked: u64,
        /// Bytes that it may keep.
        allowed: u64,
    },
    /// The store failed; the cause is in the log.
    #[error("the store failed; the request may be sent again")]
    Store,
    /// The kernel has no random bytes.
    #[error("the service has no randomness")]
    NoRandomness,
    /// The key that it belongs to is not in force any more.
    #[error("the key that this session belongs to is revoked")]
    KeyRevoked,
    /// Volume that can't be mounted, or not be brought back to the store.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// Refusal by the session.
    #[error(transparent)]
    Refused(RequestError),
    /// Refusal by policy or for lack of capacity.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// Internal failure of the service.
    #[error("the sandbox failed: {0}")]
    Failed(String),
}

impl From<SessionCallError> for SessionError {
    fn from(error: SessionCallError) -> Self {
        match error {
            SessionCallError::Refused(refused) => Self::Refused(refused),
            SessionCallError::Lost => Self::Lost,
            SessionCallError::Failed(error) => Self::Failed(error.to_string()),
        }
    }
}

impl From<Refusal> for SessionError {
    fn from(refusal: Refusal) -> Self {
        Self::Execute(refusal.into())
    }
}

impl From<Busy> for SessionError {
    fn from(busy: Busy) -> Self {
        Self::Execute(busy.into())
    }
}

/// Translates an error of the store.
pub(super) fn store_failed(error: StoreError) -> SessionError {
    match error {
        StoreError::Damaged { what } => {
            SessionError::Refused(RequestError::Checkpoint(format!("{what} is damaged, and can't be used any more")))
        }
        StoreError::Full => SessionError::StoreFull,
        StoreError::NoRoom => SessionError::NoStoreRoom,
        StoreError::NoCheckpoint { .. } => SessionError::NoCheckpoint,
        StoreError::TooManyTags { allowed } => SessionError::TooManyTags { allowed },
        StoreError::OverQuota { asked, allowed } => SessionError::DiskQuota { asked, allowed },
        error => {
            tracing::error!(%error, "the store failed");
            SessionError::Store
        }
    }
}
