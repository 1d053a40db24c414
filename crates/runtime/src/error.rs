//! Failures of proofbox itself, as opposed to those of programs.

use proofbox_vfs::FilesError;

/// Failure of proofbox itself, not of the program.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A file of the request can't be put into the sandbox.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The program names an image that this process does not have.
    #[error("there is no image {hash}")]
    NoImage {
        /// Hash of the image.
        hash: String,
    },
    /// All slots for persistent interpreters are taken.
    #[error("all slots are taken")]
    NoSlot,
    /// Failure reported by wasmtime.
    #[error("{what}: {reason}")]
    Engine {
        /// Operation that was attempted.
        what: &'static str,
        /// Error message of wasmtime.
        reason: String,
    },
}

pub(super) fn by_engine(what: &'static str) -> impl FnOnce(wasmtime::Error) -> RunError {
    move |error| RunError::Engine { what, reason: format!("{error:#}") }
}
