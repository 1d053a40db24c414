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
}
