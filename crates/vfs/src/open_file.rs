//! Files that the service itself holds open, and what it asks by path beyond [`requests`](super::requests): for a
//! shell, which works on a tree without a guest's descriptors.

use super::error::{Fault, FilesError};
use super::inodes::{NodeId, ROOT};
use super::path::HostPath;
use super::permissions::Permission;
use super::requests::FileEntry;
use super::tree::{FileKind, SharedTree, Tree, lock};
use super::walk::{LastLink, Reached};

/// Mode in which a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileUse {
    /// Reads an existing file.
    Read,
    /// Creates the file if missing, and empties it.
    Replace,
    /// Creates the file if missing, and keeps its content.
    Extend,
}

/// An open file of a tree: it stays readable when its name is removed. Dropping it closes it.
#[derive(Debug)]
pub struct OpenFile {
    tree: SharedTree,
    node_id: NodeId,
}

impl OpenFile {
    /// Opens a file by path.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, a directory, a missing file to read, or a refusal of the tree to make or empty
    /// the file.
    pub fn open(tree: &SharedTree, path: &str, how: FileUse, now: u64) -> Result<Self, FilesError> {
        let path = HostPath::parse("open", path)?;
        let mut held = lock(tree);
        let node_id = held.open_at(&path, how, now).map_err(|fault| refused("open", &path, fault))?;
        held.opened(node_id);
        drop(held);
        Ok(Self { tree: SharedTree::clone(tree), node_id })
    }

    /// Returns the number of the inode, if it is a named pipe: one for the shell to open, which has no content.
    #[must_use]
    pub fn named_pipe(&self) -> Option<u64> {
        let tree = lock(&self.tree);
        (tree.kind(self.node_id) == FileKind::NamedPipe).then(|| tree.number(self.node_id))
    }

    /// Copies bytes from `offset` on into `out`; returns how many there were.
    ///
    /// # Errors
    ///
    /// Returns an error when the tree refuses.
    pub fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<usize, Fault> {
        lock(&self.tree).read(self.node_id, offset, out)
    }

    /// Writes bytes at `offset`; returns how many fitted.
    ///
    /// # Errors
    ///
    /// Returns an error when not one byte fits, or the file lies in a read-only layer.
    pub fn write_at(&self, offset: u64, bytes: &[u8], now: u64) -> Result<usize, Fault> {
        lock(&self.tree).write(self.node_id, offset, bytes, now)
    }

    /// Writes bytes at the end of the file; returns how many fitted.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`OpenFile::write_at`].
    pub fn append(&self, bytes: &[u8], now: u64) -> Result<usize, Fault> {
        let mut tree = lock(&self.tree);
        let end = tree.length(self.node_id);
        tree.write(self.node_id, end, bytes, now)
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        lock(&self.tree).closed(self.node_id);
    }
}

impl Tree {
    fn open_at(&mut self, path: &HostPath, how: FileUse, now: u64) -> Result<NodeId, Fault> {
        let reached = self.walk(ROOT, path.relative_to_root(), LastLink::Follow).map_err(|stuck| stuck.fault)?;
        let node_id = match (reached, how) {
            (Reached::Entry { node_id, .. } | Reached::Itself { node_id }, how) => {
                let permission = match how {
                    FileUse::Read => Permission::Read,
                    FileUse::Replace | FileUse::Extend => Permission::Write,
                };
                if !self.is_directory(node_id) {
                    self.check(node_id, permission)?;
                }
                node_id
            }
            (Reached::Missing { .. }, FileUse::Read) => return Err(Fault::NotFound),
            (Reached::Missing { .. }, FileUse::Replace | FileUse::Extend) => {
                let name = self.free_name(&reached)?;
                self.make_file(name, now)?
            }
        };
        if self.is_directory(node_id) {
            return Err(Fault::IsADirectory);
        }
        if self.kind(node_id) == FileKind::NamedPipe {
            return Ok(node_id);
        }
        match (node_id, how) {
            (_, FileUse::Read) | (NodeId::Own(_), FileUse::Extend) => {}
            (NodeId::Own(_), FileUse::Replace) => self.resize(node_id, 0, now)?,
            (NodeId::Layer { .. }, FileUse::Replace | FileUse::Extend) => return Err(self.layer_fault()),
        }
        Ok(node_id)
    }

    fn followed(&self, path: &HostPath) -> Result<NodeId, Fault> {
        match self.walk(ROOT, path.relative_to_root(), LastLink::Follow).map_err(|stuck| stuck.fault)? {
            Reached::Entry { node_id, .. } | Reached::Itself { node_id } => Ok(node_id),
            Reached::Missing { .. } => Err(Fault::NotFound),
        }
    }

    /// Returns the entry that a path leads to, symbolic links followed.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, or a missing entry.
    pub fn stat_followed(&self, path: &str) -> Result<FileEntry, FilesError> {
        let path = HostPath::parse("look at", path)?;
        let node_id = self.followed(&path).map_err(|fault| refused("look at", &path, fault))?;
        self.entry(path.as_str().to_owned(), node_id).map_err(|fault| refused("look at", &path, fault))
    }

    /// Returns the entry that a path leads to, symbolic links followed, under its path without links.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, or a missing entry.
    pub fn real_entry(&self, path: &str) -> Result<FileEntry, FilesError> {
        let path = HostPath::parse("look at", path)?;
        let reached = self.walk(ROOT, path.relative_to_root(), LastLink::Follow).map_err(|stuck| stuck.fault);
        reached
            .and_then(|reached| self.entry(self.reached_path(&reached), reached.node_id()?))
            .map_err(|fault| refused("look at", &path, fault))
    }

    /// The path without symbolic links of what is there.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, or a missing entry.
    pub fn real_path(&self, path: &str) -> Result<String, FilesError> {
        let path = HostPath::parse("look at", path)?;
        match self.walk(ROOT, path.relative_to_root(), LastLink::Follow) {
            Ok(Reached::Missing { .. }) => Err(refused("look at", &path, Fault::NotFound)),
            Ok(Reached::Entry { node_id, .. }) if self.is_directory(node_id) => Ok(self.path_of(node_id)),
            Ok(reached) => Ok(self.reached_path(&reached)),
            Err(stuck) => Err(refused("look at", &path, stuck.fault)),
        }
    }

    /// Makes a symbolic link that leads to `text`.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, an existing entry, a read-only layer, or the quota.
    pub fn make_symbolic_link(&mut self, path: &str, text: &str, now: u64) -> Result<(), FilesError> {
        let path = HostPath::parse("make link", path)?;
        let reached = self.walk(ROOT, path.relative_to_root(), LastLink::Never).map_err(|stuck| stuck.fault);
        reached
            .and_then(|reached| self.free_name(&reached))
            .and_then(|name| self.make_link(name, text, now))
            .map_err(|fault| refused("make link", &path, fault))?;
        Ok(())
    }

    /// Makes a named pipe.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, an existing entry, a read-only layer, or the quota.
    pub fn make_named_pipe(&mut self, path: &str, now: u64) -> Result<(), FilesError> {
        let path = HostPath::parse("make named pipe", path)?;
        let reached = self.walk(ROOT, path.relative_to_root(), LastLink::Never).map_err(|stuck| stuck.fault);
        reached
            .and_then(|reached| self.free_name(&reached))
            .and_then(|name| self.make_pipe(name, now))
            .map_err(|fault| refused("make named pipe", &path, fault))?;
        Ok(())
    }

    /// Gives a file one more name.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, a missing file, a directory, an existing entry, a read-only layer, or the
    /// quota.
    pub fn make_hard_link(&mut self, path: &str, existing: &str, now: u64) -> Result<(), FilesError> {
        let existing = HostPath::parse("link", existing)?;
        let path = HostPath::parse("make link", path)?;
        let node_id = self.followed(&existing).map_err(|fault| refused("link", &existing, fault))?;
        let reached = self.walk(ROOT, path.relative_to_root(), LastLink::Never).map_err(|stuck| stuck.fault);
        reached
            .and_then(|reached| self.free_name(&reached))
            .and_then(|name| self.add_name(name, node_id, now))
            .map_err(|fault| refused("make link", &path, fault))
    }

    /// Sets when something was last read and changed; nanoseconds since 1970.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, a missing entry, or a read-only layer.
    pub fn set_file_times(
        &mut self,
        path: &str,
        accessed: Option<u64>,
        modified: Option<u64>,
        now: u64,
    ) -> Result<(), FilesError> {
        let path = HostPath::parse("touch", path)?;
        self.followed(&path)
            .and_then(|node_id| self.set_times(node_id, accessed, modified, now))
            .map_err(|fault| refused("touch", &path, fault))
    }
}

fn refused(attempted: &'static str, path: &HostPath, fault: Fault) -> FilesError {
    FilesError::Refused { attempted, path: path.as_str().to_owned(), fault }
}
