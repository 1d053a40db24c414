//! Errors of files: a [`Fault`] inside the tree, a [`FilesError`] for the service, an [`Errno`] for the guest.

use super::errno::Errno;

/// Reason for which the tree refused an operation. A fault does not name the path; [`FilesError`] adds that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A name on the path does not exist.
    #[error("no such file or directory")]
    NotFound,
    /// A name on the path, or the thing itself, is no directory.
    #[error("not a directory")]
    NotADirectory,
    /// A file was needed and a directory is there.
    #[error("is a directory")]
    IsADirectory,
    /// The name is taken.
    #[error("already exists")]
    Exists,
    /// The directory has entries.
    #[error("directory not empty")]
    NotEmpty,
    /// The path lies in a read-only layer.
    #[error("read-only")]
    ReadOnly,
    /// The sandbox's own directories cannot be removed, replaced or renamed.
    #[error("belongs to the sandbox and cannot be removed or replaced")]
    Protected,
    /// A permission bit that the operation needs is off.
    #[error("permission denied")]
    Denied,
    /// Only the owner, or root, may do this.
    #[error("operation not permitted")]
    NotOwner,
    /// The bytes of all files together would pass the quota.
    #[error("the quota of {allowed} bytes for files is used up")]
    NoSpace {
        /// Quota for files, in bytes.
        allowed: u64,
    },
    /// The number of entries would pass the quota.
    #[error("the quota of {allowed} files and directories is used up")]
    TooManyEntries {
        /// Quota for files, in entries.
        allowed: u64,
    },
    /// Symbolic links lead in a circle, or through too many others.
    #[error("too many levels of symbolic links")]
    LinkLoop,
    /// A name is longer than 255 bytes, or a link's text longer than a path may be.
    #[error("name too long")]
    NameTooLong,
    /// Directories would be nested deeper than [`MAX_DEPTH`](super::path::MAX_DEPTH).
    #[error("directories are nested too deeply")]
    TooDeep,
    /// A directory cannot be moved into itself.
    #[error("a directory cannot be moved into itself")]
    IntoItself,
    /// The path leaves the directory it was given relative to.
    #[error("the path leaves the directory it is relative to")]
    Escapes,
    /// `.` or `..` names no entry that could be removed or renamed.
    #[error("`.` and `..` cannot be removed or renamed")]
    NoName,
    /// A symbolic link where none may be followed, or a link read that is none.
    #[error("not the kind of file this works on")]
    WrongKind,
    /// A named pipe where a file's content is needed: it has none, and only the shell opens it.
    #[error("a named pipe has no content and can be opened by the shell and its programs only")]
    NamedPipe,
    /// Directories have one name only.
    #[error("a directory cannot have a second name")]
    DirectoryLink,
    /// A file in a read-only layer cannot get a name outside it.
    #[error("a link cannot lead into another layer")]
    CrossLayer,
}

impl Fault {
    /// The number the guest sees for this fault.
    #[must_use]
    pub fn errno(self) -> Errno {
        match self {
            Fault::NotFound => Errno::NoEnt,
            Fault::NotADirectory => Errno::NotDir,
            Fault::IsADirectory => Errno::IsDir,
            Fault::Exists => Errno::Exist,
            Fault::NotEmpty => Errno::NotEmpty,
            Fault::ReadOnly => Errno::RoFs,
            Fault::Protected | Fault::Denied => Errno::Acces,
            Fault::NoSpace { .. } => Errno::NoSpc,
            Fault::TooManyEntries { .. } => Errno::DQuot,
            Fault::LinkLoop => Errno::Loop,
            Fault::NameTooLong | Fault::TooDeep => Errno::NameTooLong,
            Fault::IntoItself | Fault::WrongKind => Errno::Inval,
            Fault::NamedPipe => Errno::NotSup,
            Fault::Escapes => Errno::NotCapable,
            Fault::NoName => Errno::Busy,
            Fault::DirectoryLink | Fault::NotOwner => Errno::Perm,
            Fault::CrossLayer => Errno::XDev,
        }
    }
}

impl From<Fault> for Errno {
    fn from(fault: Fault) -> Self {
        fault.errno()
    }
}

/// Fault of a path that is found before the tree is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    /// The path is empty.
    #[error("the path is empty")]
    Empty,
    /// The path holds a NUL byte.
    #[error("the path holds a NUL byte")]
    Nul,
    /// `..` leads above the root.
    #[error("the path climbs above the root")]
    AboveRoot,
    /// The path is longer than [`MAX_PATH`](super::path::MAX_PATH).
    #[error("the path is longer than 4096 bytes")]
    TooLong,
    /// A name in the path is longer than [`MAX_NAME`](super::path::MAX_NAME).
    #[error("a name in the path is longer than 255 bytes")]
    NameTooLong,
}

/// A file request of the service that could not be met. Paths are shown escaped: they come from clients and guests.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilesError {
    /// The path itself cannot be used, whatever the tree holds.
    #[error("could not {attempted} {path:?}: {reason}")]
    BadPath {
        /// Operation that was attempted, as a verb: "write", "list".
        attempted: &'static str,
        /// The path as it was given.
        path: String,
        /// Fault of the path.
        reason: PathFault,
    },
    /// The tree refused the operation.
    #[error("could not {attempted} {path:?}: {fault}")]
    Refused {
        /// Operation that was attempted, as a verb: "write", "list".
        attempted: &'static str,
        /// The absolute path it was attempted on.
        path: String,
        /// Reason for the refusal.
        fault: Fault,
    },
    /// A pattern that cannot be matched against.
    #[error("could not look for files matching {pattern:?}: {reason}")]
    BadPattern {
        /// The pattern as it was given.
        pattern: String,
        /// Error in the pattern.
        reason: String,
    },
    /// The sandbox has as many watches as it may have.
    #[error("could not watch {path:?}: there are {allowed} watches already")]
    TooManyWatches {
        /// Path that was to be watched.
        path: String,
        /// Maximum number of watches.
        allowed: usize,
    },
    /// The files that match are together larger than the caller wants to hold.
    #[error("could not fetch {path:?}: the files asked for are together larger than {allowed} bytes")]
    TooLarge {
        /// The file that passed the limit.
        path: String,
        /// Maximum size of all files together, in bytes.
        allowed: u64,
    },
}
