//! Permission bits of files, and which user may do what.

pub use proofbox_types::user::User;

/// Permission bits of a mode, with those for set-user-ID, set-group-ID and the sticky bit.
pub const MODE_BITS: u16 = 0o7777;
/// Mode of a new file, of which the creation mask takes bits.
pub(super) const FILE_MODE: u16 = 0o666;
/// Mode of a new directory, of which the creation mask takes bits.
pub(super) const DIRECTORY_MODE: u16 = 0o777;
/// Mode of every symbolic link.
pub(super) const LINK_MODE: u16 = 0o777;
/// Creation mask of a new process (`umask`).
pub const DEFAULT_MASK: u16 = 0o022;

/// Identity and creation mask of a process that works on a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credentials {
    /// Owner of what the process makes.
    pub user: User,
    /// Creation mask: permission bits that new files and directories lack.
    pub mask: u16,
    privilege: Privilege,
}

/// Relation of a process to permission bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Privilege {
    /// Bound by permission bits.
    Bound,
    /// Free of permission bits.
    Free,
}

impl Credentials {
    /// The service itself: it may do everything, and what it makes is the user's.
    pub const SERVICE: Self = Self { user: User::User, mask: DEFAULT_MASK, privilege: Privilege::Free };

    /// A process of a user.
    #[must_use]
    pub const fn of(user: User) -> Self {
        let privilege = match user {
            User::User => Privilege::Bound,
            User::Root => Privilege::Free,
        };
        Self { user, mask: DEFAULT_MASK, privilege }
    }

    /// The same process with another creation mask.
    #[must_use]
    pub fn with_mask(self, mask: u16) -> Self {
        Self { mask: mask & 0o777, ..self }
    }

    /// Returns whether permission bits do not bind the process.
    pub(super) fn is_privileged(self) -> bool {
        self.privilege == Privilege::Free
    }
}

/// Use of a file or directory that a permission bit grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Reads a file, or lists a directory.
    Read,
    /// Changes a file, or the entries of a directory.
    Write,
    /// Executes a file, or finds entries of a directory.
    Execute,
}

impl Permission {
    pub(super) fn bit(self) -> u16 {
        match self {
            Self::Read => 4,
            Self::Write => 2,
            Self::Execute => 1,
        }
    }
}
