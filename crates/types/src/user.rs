//! Users of a sandbox.

use serde::{Deserialize, Serialize};

/// User of a sandbox. Each is the only member of the group of the same name and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum User {
    /// The user that programs run as.
    #[default]
    User,
    /// The superuser.
    Root,
}

impl User {
    /// All users, in the order of `/etc/passwd`.
    pub const ALL: [Self; 2] = [Self::Root, Self::User];

    /// Returns the user of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|user| user.name() == name)
    }

    /// Returns the name of the user and of the user's group.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Root => "root",
        }
    }

    /// Returns the number of the user and of the user's group.
    #[must_use]
    pub fn id(self) -> u32 {
        match self {
            Self::User => 1000,
            Self::Root => 0,
        }
    }

    /// Returns the user's home directory.
    #[must_use]
    pub fn home(self) -> &'static str {
        match self {
            Self::User => "/home/user",
            Self::Root => "/root",
        }
    }
}
