//! Mounts: the read-only layers of a tree, and the directories that show them.

use super::layer::Layer;
use std::sync::Arc;

/// A layer and where it is seen.
pub(super) struct Mount {
    pub(super) layer: Arc<Layer>,
    /// Absolute path of the mount.
    pub(super) path: String,
    /// The directory that shows the layer's root as an entry.
    pub(super) parent: u32,
    pub(super) purpose: Purpose,
}

impl Mount {
    /// Returns the same mount for another base.
    pub(super) fn share(&self) -> Self {
        Self { layer: Arc::clone(&self.layer), path: self.path.clone(), ..*self }
    }
}

/// Purpose of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Packages and programs: every program looks around there.
    Software,
    /// Files of the system, such as `/etc/passwd`: whoever reads them is curious about the machine.
    System,
}
