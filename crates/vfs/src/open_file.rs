//! Files that the service itself holds open, and what it asks by path beyond [`requests`](super::requests): for a
//! shell, which works on a tree without a guest's descriptors.

use super::error::{Fault, FilesError};
use super::inodes::{Place, ROOT};
use super::path::HostPath;
use super::requests::FileEntry;
use super::tree::{SharedTree, Tree, lock};
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
    place: Place,
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
        let place = held.open_at(&path, how, now).map_err(|fault| refused("open", &path, fault))?;
        held.opened(place);
        drop(held);
        Ok(Self { tree: SharedTree::clone(tree), place })
    }

    /// Copies bytes from `offset` on into `out`; returns how many there were.
    ///
    /// # Errors
    ///
    /// Returns an error when the tree refuses.
    pub fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<usize, Fault> {
        lock(&self.tree).read(self.place, offset, out)
    }

    /// Writes bytes at `offset`; returns how many fitted.
    ///
    /// # Errors
    ///
    /// Returns an error when not one byte fits, or the file lies in a read-only layer.
    pub fn write_at(&self, offset: u64, bytes: &[u8], now: u64) -> Result<usize, Fault> {
        lock(&self.tree).write(self.place, offset, bytes, now)
    }

    /// Writes bytes at the end of the file; returns how many fitted.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`OpenFile::write_at`].
    pub fn append(&self, bytes: &[u8], now: u64) -> Result<usize, Fault> {
        let mut tree = lock(&self.tree);
        let end = tree.length(self.place);
        tree.write(self.place, end, bytes, now)
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        lock(&self.tree).closed(self.place);
    }
}

impl Tree {
    fn open_at(&mut self, path: &HostPath, how: FileUse, now: u64) -> Result<Place, Fault> {
        let reached = self.walk(ROOT, path.relative_to_root(), LastLink::Follow).map_err(|stuck| stuck.fault)?;
        let place = match (reached, how) {
            (Reached::Entry { place, .. } | Reached::Itself { place }, _) => place,
            (Reached::Missing { .. }, FileUse::Read) => return Err(Fault::NotFound),
            (Reached::Missing { .. }, FileUse::Replace | FileUse::Extend) => {
                let name = self.free_name(&reached)?;
                self.make_file(name, now)?
            }
        };
        if self.is_directory(place) {
            return Err(Fault::IsADirectory);
        }
        match (place, how) {
            (_, FileUse::Read) | (Place::Own(_), FileUse::Extend) => {}
            (Place::Own(_), FileUse::Replace) => self.resize(place, 0, now)?,
            (Place::Layer { .. }, FileUse::Replace | FileUse::Extend) => return Err(Fault::ReadOnly),
        }
        Ok(place)
    }

    fn followed(&self, path: &HostPath) -> Result<Place, Fault> {
        match self.walk(ROOT, path.relative_to_root(), LastLink::Follow).map_err(|stuck| stuck.fault)? {
            Reached::Entry { place, .. } | Reached::Itself { place } => Ok(place),
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
        let place = self.followed(&path).map_err(|fault| refused("look at", &path, fault))?;
        self.entry(path.as_str().to_owned(), place).map_err(|fault| refused("look at", &path, fault))
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
            Ok(Reached::Entry { place, .. }) if self.is_directory(place) => Ok(self.path_of(place)),
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

    /// Gives a file one more name.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, a missing file, a directory, an existing entry, a read-only layer, or the
    /// quota.
    pub fn make_hard_link(&mut self, path: &str, existing: &str, now: u64) -> Result<(), FilesError> {
        let existing = HostPath::parse("link", existing)?;
        let path = HostPath::parse("make link", path)?;
        let place = self.followed(&existing).map_err(|fault| refused("link", &existing, fault))?;
        let reached = self.walk(ROOT, path.relative_to_root(), LastLink::Never).map_err(|stuck| stuck.fault);
        reached
            .and_then(|reached| self.free_name(&reached))
            .and_then(|name| self.add_name(name, place, now))
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
            .and_then(|place| self.set_times(place, accessed, modified, now))
            .map_err(|fault| refused("touch", &path, fault))
    }
}

fn refused(attempted: &'static str, path: &HostPath, fault: Fault) -> FilesError {
    FilesError::Refused { attempted, path: path.as_str().to_owned(), fault }
}
