//! Changes in the lives of sessions.

use std::time::Duration;

use proofbox_types::wire_enum;

/// Change in the life of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LifecycleChange {
    /// The session was made: new, from a checkpoint, or as a fork.
    Created,
    /// The end of the session was set anew, this long from then.
    Updated(Duration),
    /// The session was paused.
    Paused,
    /// The session goes on after a pause.
    Resumed,
    /// The session has ended, whatever the reason.
    Ended,
}

wire_enum! {
    /// Kind of a change in the life of a session.
    LifecycleKind {
        /// New session.
        Created = "created",
        /// New end of the session.
        Updated = "updated",
        /// Pause of the session.
        Paused = "paused",
        /// End of a pause.
        Resumed = "resumed",
        /// End of the session.
        Ended = "ended",
    }
}

impl LifecycleKind {
    /// Returns the bit of the kind in a set of kinds, as it is stored.
    pub fn bit(self) -> u32 {
        match self {
            Self::Created => 1,
            Self::Updated => 2,
            Self::Paused => 4,
            Self::Resumed => 8,
            Self::Ended => 16,
        }
    }
}

impl LifecycleChange {
    /// Returns the kind of the change.
    pub fn kind(self) -> LifecycleKind {
        match self {
            Self::Created => LifecycleKind::Created,
            Self::Updated(_) => LifecycleKind::Updated,
            Self::Paused => LifecycleKind::Paused,
            Self::Resumed => LifecycleKind::Resumed,
            Self::Ended => LifecycleKind::Ended,
        }
    }
}
