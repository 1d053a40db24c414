//! Errors of submissions, as clients see them.

use super::super::{Busy, KeyError, OverQuota};
use crate::sandbox::FilesError;
use proofbox_policy::Refusal;

/// A submission that was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// Policy does not admit it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Name or hash of an image that does not exist.
    #[error("there is no image `{asked}`; there are: {known}")]
    UnknownImage {
        /// Name or hash that the request gives, shortened.
        asked: String,
        /// Names of the images that exist.
        known: String,
    },
    /// Field that is longer than the policy allows.
    #[error("{field} has {asked} {unit}; this policy allows at most {allowed}")]
    TooLarge {
        /// The field of the request.
        field: &'static str,
        /// Size of the field, in `unit`.
        asked: usize,
        /// Maximum size, in `unit`.
        allowed: usize,
        /// Unit of the sizes, such as `bytes`.
        unit: &'static str,
    },
    /// A file of the request can't be put into the sandbox.
    #[error("{error}")]
    Files {
        /// The field of the request.
        field: &'static str,
        /// Reason why the file is refused.
        error: FilesError,
    },
    /// The gate panicked: our own failure.
    #[error("the policy gate failed; the request may be sent again")]
    Gate,
    /// A receipt is wanted, and can't be signed.
    #[error("receipts can't be signed now: the service has no key")]
    NoKey(#[from] KeyError),
    /// No free permit, and no room in the queue.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// Key that has used its quota.
    #[error(transparent)]
    OverQuota(#[from] OverQuota),
}
