//! Requests of the service on a sandbox's files: by path, relative to the working directory, never through a
//! descriptor. Fetching by pattern is in `patterns`, open files are in `open_file`.

use super::error::{Fault, FilesError};
use super::inodes::{NodeId, ROOT};
use super::path::{HostPath, MAX_DEPTH, is_within};
use super::permissions::{Permission, User};
use super::tree::{FileKind, Tree};
use super::walk::{LastLink, Reached};
use bytes::Bytes;

/// A file or directory as the service shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Absolute path of the entry.
    pub path: String,
    /// Last part of the path; empty for the root.
    pub name: String,
    /// Kind of the entry; links are shown, not followed.
    pub kind: FileKind,
    /// Inode number: the same for each name of a file.
    pub inode: u64,
    /// Number of names of a file; of a directory, with those that lead to it from within.
    pub links: u64,
    /// Size in bytes, as `stat` shows it.
    pub size: u64,
    /// Time of the last read, in nanoseconds since 1970; moved as seldom as on Linux.
    pub accessed: u64,
    /// Time of the last change of the content, in nanoseconds since 1970.
    pub modified: u64,
    /// Time of the last change of content, names or times, in nanoseconds since 1970.
    pub changed: u64,
    /// Target of a symbolic link, as it was written.
    pub link_target: Option<String>,
    /// Permission bits.
    pub mode: u16,
    /// Owner of the entry.
    pub owner: User,
    /// True when the entry lies in a read-only layer.
    pub read_only: bool,
}

impl Tree {
    /// Writes a whole file, replacing its content; directories on the way are made. `now`: nanoseconds since 1970.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, a directory in its place, a read-only layer, or a quota that would be passed;
    /// then nothing changed.
    pub fn write_file(&mut self, path: &str, bytes: &[u8], now: u64) -> Result<(), FilesError> {
        let path = HostPath::parse("write", path)?;
        let written = self.make_file_at(&path, bytes.len() as u64, now).and_then(|node_id| {
            self.write(node_id, 0, bytes, now)?;
            Ok(())
        });
        written.map_err(|fault| refused("write", &path, fault))
    }

    /// Makes a file of zeros as [`Tree::write_file`] makes one of bytes, at no cost but that of its entry.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Tree::write_file`].
    pub fn reserve_file(&mut self, path: &str, length: u64, now: u64) -> Result<(), FilesError> {
        let path = HostPath::parse("write", path)?;
        let reserved = self.make_file_at(&path, length, now).and_then(|node_id| self.resize(node_id, length, now));
        reserved.map_err(|fault| refused("write", &path, fault))
    }

    /// Makes an empty file, or empties the one at `path`, if it may then be `length` bytes long.
    fn make_file_at(&mut self, path: &HostPath, length: u64, now: u64) -> Result<NodeId, Fault> {
        let existing = match self.reach(path, LastLink::Follow) {
            Ok(Reached::Entry { node_id, .. } | Reached::Itself { node_id }) => Some(node_id),
            Ok(Reached::Missing { .. }) | Err(Fault::NotFound) => None,
            Err(fault) => return Err(fault),
        };
        let old = match existing {
            Some(node_id) if self.is_directory(node_id) => return Err(Fault::IsADirectory),
            Some(node_id) => {
                self.check(node_id, Permission::Write)?;
                self.length(node_id)
            }
            None => 0,
        };
        self.check_bytes(length.saturating_sub(old))?;
        let node_id = match existing {
            Some(node_id) => node_id,
            None => {
                self.make_parents(path, 1, now)?;
                let name = self.free_name(&self.reach(path, LastLink::Follow)?)?;
                let node_id = self.make_file(name, now)?;
                // As E2B has it: what its server makes, it then gives to the user.
                let owner = self.credentials.user;
                self.set_owner_at(node_id, owner, now)?;
                node_id
            }
        };
        self.resize(node_id, 0, now)?;
        Ok(node_id)
    }

    /// Makes the directories above `path` that are missing, if they and `more` entries fit into the quota.
    pub(super) fn make_parents(&mut self, path: &HostPath, more: u64, now: u64) -> Result<(), Fault> {
        let Some((above, _)) = path.relative_to_root().rsplit_once('/') else {
            return Ok(());
        };
        let ends = || above.match_indices('/').map(|(end, _)| end).chain([above.len()]);
        let mut missing = 0;
        let mut depth = 0;
        for end in ends() {
            match self.walk(ROOT, &above[..end], LastLink::Follow) {
                Ok(Reached::Missing { parent, .. }) => {
                    missing += 1;
                    depth = self.depth_of(parent);
                }
                Ok(Reached::Entry { node_id, .. } | Reached::Itself { node_id }) => {
                    if !self.is_directory(node_id) {
                        return Err(Fault::NotADirectory);
                    }
                }
                Err(stuck) if stuck.fault == Fault::NotFound => missing += 1,
                Err(stuck) => return Err(stuck.fault),
            }
        }
        if missing == 0 {
            return Ok(());
        }
        self.check_entries(missing + more)?;
        if depth as u64 + missing > MAX_DEPTH as u64 {
            return Err(Fault::TooDeep);
        }
        for end in ends() {
            let reached = self.walk(ROOT, &above[..end], LastLink::Follow).map_err(|stuck| stuck.fault)?;
            match reached {
                Reached::Missing { .. } => {
                    let name = self.free_name(&reached)?;
                    self.make_directory_at(name, now)?;
                }
                Reached::Entry { .. } | Reached::Itself { .. } => {}
            }
        }
        Ok(())
    }

    /// The whole content of a file. A file of a layer is not copied.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, a missing entry, or a directory.
    pub fn read_file(&self, path: &str) -> Result<Bytes, FilesError> {
        self.read_range(path, 0, u64::MAX)
    }

    /// Up to `length` bytes of a file from `offset` on; fewer where it ends. Copies no more than that.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Tree::read_file`].
    pub fn read_range(&self, path: &str, offset: u64, length: u64) -> Result<Bytes, FilesError> {
        let path = HostPath::parse("read", path)?;
        self.find(&path, LastLink::Follow)
            .and_then(|node_id| self.content_of(node_id, offset, length))
            .map_err(|fault| refused("read", &path, fault))
    }

    pub(super) fn content_of(&self, node_id: NodeId, offset: u64, length: u64) -> Result<Bytes, Fault> {
        if self.is_directory(node_id) {
            return Err(Fault::IsADirectory);
        }
        self.check(node_id, Permission::Read)?;
        let size = self.length(node_id);
        let start = offset.min(size);
        let taken = (size - start).min(length) as usize;
        match node_id {
            NodeId::Layer { mount, node } => {
                let (start, bytes) = (start as usize, self.layer_bytes(mount, node)?);
                Ok(bytes.slice(start.min(bytes.len())..(start + taken).min(bytes.len())))
            }
            NodeId::Own(_) => {
                let mut bytes = vec![0; taken];
                self.read(node_id, start, &mut bytes)?;
                Ok(Bytes::from(bytes))
            }
        }
    }

    /// Bytes of a file; links are followed.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Tree::read_file`].
    pub fn file_length(&self, path: &str) -> Result<u64, FilesError> {
        let path = HostPath::parse("read", path)?;
        let node_id = self.find(&path, LastLink::Follow).map_err(|fault| refused("read", &path, fault))?;
        Ok(self.length(node_id))
    }

    /// Returns the entry at a path. Symbolic links are not followed at its end.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, or a missing entry.
    pub fn stat(&self, path: &str) -> Result<FileEntry, FilesError> {
        let path = HostPath::parse("look at", path)?;
        self.find(&path, LastLink::Keep)
            .and_then(|node_id| self.entry(path.as_str().to_owned(), node_id))
            .map_err(|fault| refused("look at", &path, fault))
    }

    /// Returns the entries of a directory, down to `depth` levels (1: its own entries), in the order of their paths.
    /// Links to directories are not entered.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, a missing entry, or an entry that is no directory.
    pub fn list(&self, path: &str, depth: usize) -> Result<Vec<FileEntry>, FilesError> {
        let path = HostPath::parse("list", path)?;
        self.list_at(&path, depth).map_err(|fault| refused("list", &path, fault))
    }

    fn list_at(&self, path: &HostPath, depth: usize) -> Result<Vec<FileEntry>, Fault> {
        let top = self.find(path, LastLink::Follow)?;
        if !self.is_directory(top) {
            return Err(Fault::NotADirectory);
        }
        self.check(top, Permission::Read)?;
        let mut found = Vec::new();
        let mut open = vec![(path.as_str().to_owned(), top, 1)];
        while let Some((above, directory, level)) = open.pop() {
            if level > depth {
                continue;
            }
            for (path, node_id) in self.children_of(&above, directory) {
                if self.is_directory(node_id) && self.permits(node_id, Permission::Read) {
                    open.push((path.clone(), node_id, level + 1));
                }
                found.push(self.entry(path, node_id)?);
            }
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }

    /// Returns whether the process that uses the tree may use what a path leads to so.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, or a missing entry.
    pub fn may(&self, path: &str, permission: Permission) -> Result<bool, FilesError> {
        let path = HostPath::parse("look at", path)?;
        let node_id = self.find(&path, LastLink::Follow).map_err(|fault| refused("look at", &path, fault))?;
        let read_only = matches!(node_id, NodeId::Layer { .. }) && permission == Permission::Write;
        Ok(!read_only && self.permits(node_id, permission))
    }

    /// Sets the permission bits of what a path leads to.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, a missing entry, a read-only layer, or an entry of another user.
    pub fn set_mode(&mut self, path: &str, mode: u16, now: u64) -> Result<(), FilesError> {
        let path = HostPath::parse("change mode of", path)?;
        self.find(&path, LastLink::Follow)
            .and_then(|node_id| self.set_mode_at(node_id, mode, now))
            .map_err(|fault| refused("change mode of", &path, fault))
    }

    /// Gives the entry at a path to a user; a link itself if `last` keeps it.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, a missing entry, a read-only layer, or without privileges.
    pub fn set_owner(&mut self, path: &str, owner: User, now: u64) -> Result<(), FilesError> {
        let path = HostPath::parse("change owner of", path)?;
        self.find(&path, LastLink::Keep)
            .and_then(|node_id| self.set_owner_at(node_id, owner, now))
            .map_err(|fault| refused("change owner of", &path, fault))
    }

    /// Removes a file, or a directory with all it holds. A symbolic link is removed itself.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, a missing entry, a read-only layer, or a directory of the sandbox's own.
    pub fn remove(&mut self, path: &str, now: u64) -> Result<(), FilesError> {
        let path = HostPath::parse("remove", path)?;
        self.reach(&path, LastLink::Never)
            .and_then(|reached| self.taken_name(&reached))
            .and_then(|named| self.remove_all(&named, now))
            .map_err(|fault| refused("remove", &path, fault))
    }

    /// Moves a file or directory, replacing a file or an empty directory; directories on the way are made.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, a missing entry, a full directory or one of the sandbox's own in its place, a
    /// read-only layer, a directory into itself.
    pub fn rename(&mut self, from: &str, to: &str, now: u64) -> Result<(), FilesError> {
        let from = HostPath::parse("move", from)?;
        let to = HostPath::parse("move to", to)?;
        let named = self
            .reach(&from, LastLink::Never)
            .and_then(|reached| self.taken_name(&reached))
            .map_err(|fault| refused("move", &from, fault))?;
        if to != from && is_within(to.as_str(), from.as_str()) {
            return Err(refused("move to", &to, Fault::IntoItself));
        }
        self.make_parents(&to, 0, now)
            .and_then(|()| self.destination(&self.reach(&to, LastLink::Never)?))
            .and_then(|destination| self.rename_entry(&named, destination, now))
            .map_err(|fault| refused("move to", &to, fault))
    }

    /// Makes a directory, and those above it that are missing.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, an existing entry, a file on the way, a read-only layer, or the quota.
    pub fn make_directory(&mut self, path: &str, now: u64) -> Result<(), FilesError> {
        let path = HostPath::parse("make directory", path)?;
        self.make_parents(&path, 1, now)
            .and_then(|()| self.free_name(&self.reach(&path, LastLink::Never)?))
            .and_then(|name| self.make_directory_at(name, now))
            .map_err(|fault| refused("make directory", &path, fault))?;
        Ok(())
    }

    pub(super) fn children_of<'a>(
        &'a self,
        above: &str,
        directory: NodeId,
    ) -> impl Iterator<Item = (String, NodeId)> + use<'a> {
        let prefix = if above == "/" { "/".to_owned() } else { format!("{above}/") };
        self.listed_after(directory, super::inodes::PARENT_POSITION)
            .map(move |listed| (format!("{prefix}{}", listed.name), listed.node_id))
    }

    pub(super) fn entry(&self, path: String, node_id: NodeId) -> Result<FileEntry, Fault> {
        let stat = self.attributes(node_id)?;
        Ok(FileEntry {
            name: path.rsplit('/').next().unwrap_or_default().to_owned(),
            path,
            kind: stat.kind,
            inode: stat.number,
            links: stat.links,
            size: stat.size,
            accessed: stat.times.accessed,
            modified: stat.times.modified,
            changed: stat.times.changed,
            mode: stat.mode,
            owner: stat.owner,
            link_target: self.link_text(node_id).map(|text| text.to_string()),
            read_only: match node_id {
                NodeId::Own(_) => false,
                NodeId::Layer { .. } => true,
            },
        })
    }

    pub(super) fn reach<'a>(&'a self, path: &'a HostPath, last: LastLink) -> Result<Reached<'a>, Fault> {
        self.walk(ROOT, path.relative_to_root(), last).map_err(|stuck| stuck.fault)
    }

    pub(super) fn find(&self, path: &HostPath, last: LastLink) -> Result<NodeId, Fault> {
        self.reach(path, last)?.node_id()
    }
}

pub(super) fn refused(attempted: &'static str, path: &HostPath, fault: Fault) -> FilesError {
    FilesError::Refused { attempted, path: path.as_str().to_owned(), fault }
}

#[cfg(test)]
mod tests {
    use super::super::test_guest::fault;
    use super::super::{Base, FilesQuota, FilesUsage, Layer, PathFault};
    use super::*;

    const QUOTA: FilesQuota = FilesQuota { bytes: 1000, count: 10 };

    #[test]
    fn a_file_written_is_read_back_relative_to_home() {
        let mut tree = Tree::new(QUOTA, 1);
        tree.write_file("data/in.csv", b"a,b\n", 5).expect("room");
        tree.write_file("/home/user/data/in.csv", b"1,2\n3", 6).expect("room");
        assert_eq!(tree.read_file("data/./in.csv").as_deref(), Ok(&b"1,2\n3"[..]));
        assert_eq!(tree.read_range("data/in.csv", 4, 9).as_deref(), Ok(&b"3"[..]));
        assert_eq!(tree.read_range("data/in.csv", 99, 9).as_deref(), Ok(&b""[..]));
        assert_eq!(tree.usage(), FilesUsage { bytes: 5, count: 2 });
        let entry = tree.stat("data/in.csv").expect("there");
        assert_eq!(
            (&*entry.path, &*entry.name, entry.kind, entry.size, entry.modified),
            ("/home/user/data/in.csv", "in.csv", FileKind::File, 5, 6)
        );
    }

    #[test]
    fn a_write_past_the_quota_changes_nothing() {
        let mut tree = Tree::new(QUOTA, 1);
        tree.write_file("f", &[1; 600], 2).expect("room");
        let refused = tree.write_file("d/g", &[2; 401], 3).map_err(|e| e.to_string());
        assert_eq!(
            refused,
            Err("could not write \"/home/user/d/g\": the quota of 1000 bytes for files is used up".to_owned())
        );
        assert_eq!(fault(tree.write_file("1/2/3/4/5/6/7/8/9/f", b"", 3)), Fault::TooManyEntries { allowed: 10 });
        let deep = "d/".repeat(200);
        assert_eq!(fault(tree.write_file(&format!("{deep}f"), b"", 3)), Fault::TooManyEntries { allowed: 10 });
        assert_eq!(tree.usage(), FilesUsage { bytes: 600, count: 1 });
        tree.write_file("f", &[3; 1000], 3).expect("its old bytes are free again");
    }

    #[test]
    fn paths_that_climb_out_or_cannot_be_are_refused_before_the_tree_is_touched() {
        let mut tree = Tree::new(QUOTA, 1);
        let reasons = ["../../../x", "a\0b", "", &"x/".repeat(2100)].map(|path| match tree.write_file(path, b"", 1) {
            Err(FilesError::BadPath { reason, .. }) => reason,
            other => panic!("not refused: {other:?}"),
        });
        let expected = [PathFault::AboveRoot, PathFault::Nul, PathFault::Empty, PathFault::TooLong];
        assert_eq!(reasons, expected);
        assert_eq!(fault(tree.write_file("../user", b"", 1)), Fault::IsADirectory);
        assert_eq!(fault(tree.read_file("none")), Fault::NotFound);
        assert_eq!(fault(tree.read_file(".")), Fault::IsADirectory);
        tree.write_file("f", b"", 1).expect("room");
        assert_eq!(fault(tree.write_file("f/g", b"", 1)), Fault::NotADirectory);
        assert_eq!(fault(tree.list("f", 1)), Fault::NotADirectory);
    }

    #[test]
    fn listing_goes_as_deep_as_asked() {
        let mut tree = Tree::new(QUOTA, 1);
        tree.write_file("b/c/d", b"1", 2).expect("room");
        tree.write_file("a", b"2", 3).expect("room");
        let paths = |depth| -> Vec<String> {
            let entries = tree.list(".", depth).expect("a directory");
            entries.into_iter().map(|entry| entry.path).collect()
        };
        assert_eq!(paths(1), ["/home/user/a", "/home/user/b"]);
        assert_eq!(paths(2), ["/home/user/a", "/home/user/b", "/home/user/b/c"]);
        assert_eq!(paths(9).len(), 4);
        let root: Vec<String> = tree.list("/", 1).expect("a directory").into_iter().map(|e| e.path).collect();
        assert_eq!(root, ["/dev", "/home", "/tmp"]);
    }

    #[test]
    fn removing_takes_all_below_and_gives_the_quota_back() {
        let mut tree = Tree::new(QUOTA, 1);
        for path in ["d/e/f", "d/e/g", "d/h"] {
            tree.write_file(path, b"123", 2).expect("room");
        }
        tree.remove("d", 3).expect("there");
        assert_eq!(tree.usage(), FilesUsage::default());
        assert_eq!(fault(tree.remove("d", 3)), Fault::NotFound);
        assert_eq!(fault(tree.remove("/home/user", 3)), Fault::Protected);
        assert_eq!(fault(tree.remove("/home", 3)), Fault::Protected);
        assert_eq!(fault(tree.remove("/", 3)), Fault::NoName);
    }

    #[test]
    fn moving_makes_the_directories_on_the_way() {
        let mut tree = Tree::new(QUOTA, 1);
        tree.write_file("a/f", b"x", 2).expect("room");
        tree.rename("a/f", "b/c/g", 3).expect("free");
        assert_eq!(tree.read_file("b/c/g").as_deref(), Ok(&b"x"[..]));
        assert_eq!(fault(tree.rename("b", "b/c/d/e", 3)), Fault::IntoItself);
        assert_eq!(fault(tree.rename("a/f", "x", 3)), Fault::NotFound);
        assert_eq!(fault(tree.rename("b", "a/../../user", 3)), Fault::NotEmpty);
        assert_eq!(tree.usage(), FilesUsage { bytes: 1, count: 4 });
    }

    #[test]
    fn a_directory_is_made_with_those_above_it_and_only_once() {
        let mut tree = Tree::new(QUOTA, 1);
        tree.make_directory("a/b", 2).expect("free");
        assert_eq!(fault(tree.make_directory("a/b", 2)), Fault::Exists);
        assert_eq!(fault(tree.make_directory("/", 2)), Fault::Exists);
        assert_eq!(tree.stat("a/b").map(|entry| entry.kind), Ok(FileKind::Directory));
    }

    #[test]
    fn files_of_a_layer_are_shown_read_only_and_left_out_of_patterns() {
        let files = [("m.py", Bytes::from_static(b"x = 1"))];
        let layer = Layer::new(files, 7).expect("paths agree");
        let base = Base::with_layers([("/home/user/lib".to_owned(), layer)]).expect("free");
        let mut tree = base.tree(QUOTA, 1);
        let entry = tree.stat("lib/m.py").expect("there");
        assert!(entry.read_only && entry.size == 5 && entry.modified == 7);
        assert_eq!(tree.read_file("lib/m.py").as_deref(), Ok(&b"x = 1"[..]));
        assert_eq!(tree.glob(&["**"], 99), Ok(vec![]));
        assert_eq!(fault(tree.write_file("lib/m.py", b"", 2)), Fault::ReadOnly);
        assert_eq!(fault(tree.write_file("lib/d/new", b"", 2)), Fault::ReadOnly);
        assert_eq!(fault(tree.remove("lib", 2)), Fault::ReadOnly);
        assert_eq!(tree.usage(), FilesUsage::default());
    }
}
