//! The tree of one sandbox: what is in it, how much of its quota it uses, reading and writing what is known by node.
//!
//! Finding a node by path is in `walk`, changing names in `names`, the service's requests in `requests`.

use super::content::Content;
use super::error::Fault;
use super::inodes::{Inode, Inodes, Kind, NodeId, ROOT, Times, UNSET};
use super::layer::LAYER_ROOT;
use super::mount::Mount;
use super::path::MAX_DEPTH;
use super::permissions::{Credentials, Permission, User};
use super::watches::{ChangeKind, Watches};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Limits on the files of one sandbox, all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesQuota {
    /// Lengths of all files and texts of all symbolic links, bytes. A hole in a file counts as if it were written.
    pub bytes: u64,
    /// Names of files, directories and links, plus removed files that are still open. The sandbox's own directories
    /// and read-only layers do not count.
    pub count: u64,
}

/// Usage of the files of one sandbox; the same measures as [`FilesQuota`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FilesUsage {
    /// Bytes, counted as in [`FilesQuota::bytes`].
    pub bytes: u64,
    /// Entries, counted as in [`FilesQuota::count`].
    pub count: u64,
}

/// A tree used by all processes of one sandbox, as one of them sees it and may use it. Take it with [`lock`].
#[derive(Debug, Clone)]
pub struct SharedTree {
    tree: Arc<Mutex<Tree>>,
    view: View,
    credentials: Credentials,
}

impl SharedTree {
    /// Shares a tree, seen as a whole and used by the service.
    pub fn new(tree: Tree) -> Self {
        Self { tree: Arc::new(Mutex::new(tree)), view: View::Whole, credentials: Credentials::SERVICE }
    }

    /// Returns the same tree as another interpreter sees it.
    #[must_use]
    pub fn with_view(&self, view: View) -> Self {
        Self { view, ..self.clone() }
    }

    /// Returns the same tree as a process with these credentials uses it.
    #[must_use]
    pub fn with_credentials(&self, credentials: Credentials) -> Self {
        Self { credentials, ..self.clone() }
    }

    /// Returns the credentials under which the tree is used.
    pub fn credentials(&self) -> Credentials {
        self.credentials
    }

    /// Returns the part of the tree that is seen.
    pub fn view(&self) -> View {
        self.view
    }
}

/// Takes the tree for one operation. A panic elsewhere does not spoil it: no operation leaves it half done.
pub fn lock(tree: &SharedTree) -> MutexGuard<'_, Tree> {
    let mut locked = tree.tree.lock().unwrap_or_else(PoisonError::into_inner);
    (locked.view, locked.credentials) = (tree.view, tree.credentials);
    locked
}

/// Kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// Regular file in the tree.
    File,
    /// Directory in the tree.
    Directory,
    /// Symbolic link in the tree.
    Link,
    /// A character device: `/dev/null`.
    Device,
    /// A named pipe, which only the shell and its programs can open.
    NamedPipe,
}

/// Attributes of a file or directory besides its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attributes {
    pub(super) number: u64,
    pub(super) kind: FileKind,
    pub(super) links: u64,
    pub(super) size: u64,
    pub(super) times: Times,
    pub(super) mode: u16,
    pub(super) owner: User,
}

/// Size a directory shows, as on most Linux file systems.
const DIRECTORY_SIZE: u64 = 4096;
/// Inode numbers of layer `n` start at `n + 1` times this, far above those of the tree's own.
const LAYER_NUMBERS: u64 = 1 << 40;

/// The files of one sandbox. Made by [`Base::tree`](super::base::Base::tree); copied by [`Tree::fork`].
pub struct Tree {
    pub(super) inodes: Arc<Inodes>,
    pub(super) mounts: Arc<[Mount]>,
    /// Inodes that descriptors have open, with how many. Those without a name left live only as long as they are here.
    opens: BTreeMap<u32, u32>,
    quota: FilesQuota,
    usage: FilesUsage,
    born: u64,
    /// View of the process that uses the tree now.
    pub(super) view: View,
    /// Credentials of the process that uses the tree now.
    pub(super) credentials: Credentials,
    pub(super) watches: Watches,
}

/// Part of a tree that an interpreter sees, where several share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum View {
    /// The whole tree, tests included.
    #[default]
    Whole,
    /// The tree without [`TESTS_DIRECTORY`](proofbox_types::program::TESTS_DIRECTORY): to the candidate it does not
    /// exist.
    WithoutTests,
}

/// Names and content are the guest's, and must not get into a log by accident.
impl std::fmt::Debug for Tree {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tree").field("quota", &self.quota).field("usage", &self.usage).finish_non_exhaustive()
    }
}

impl Tree {
    pub(super) fn start(inodes: Arc<Inodes>, mounts: Arc<[Mount]>, quota: FilesQuota, now: u64) -> Self {
        Self {
            inodes,
            mounts,
            opens: BTreeMap::new(),
            quota,
            usage: FilesUsage::default(),
            born: now,
            view: View::Whole,
            credentials: Credentials::SERVICE,
            watches: Watches::default(),
        }
    }

    /// A tree put together again, in which `opens` are open; the caller has checked that all of it fits together.
    pub(super) fn restored(mut fresh: Self, inodes: Inodes, usage: FilesUsage, opens: BTreeMap<u32, u32>) -> Self {
        (fresh.inodes, fresh.usage, fresh.opens) = (Arc::new(inodes), usage, opens);
        fresh
    }

    /// Returns the time at which the tree was made.
    /// Counts the life of the sandbox from now on: `/proc` shows another boot.
    pub fn reboot(&mut self, now: u64) {
        self.born = now;
    }

    pub(super) fn born(&self) -> u64 {
        self.born
    }

    /// An independent copy that shares all content until it is written. Nothing is open in it: a file already removed
    /// and only open in the original is not in the copy. To copy descriptors too, see
    /// [`fork_sandbox`](super::descriptors::fork_sandbox).
    #[must_use]
    pub fn fork(&self) -> Self {
        self.fork_with(BTreeMap::new())
    }

    /// A copy in which `opens` are open and nothing else: inodes with how many descriptors have each.
    pub(super) fn fork_with(&self, opens: BTreeMap<u32, u32>) -> Self {
        let mut copy = Self {
            inodes: Arc::clone(&self.inodes),
            mounts: Arc::clone(&self.mounts),
            opens,
            quota: self.quota,
            usage: self.usage,
            born: self.born,
            view: View::Whole,
            credentials: Credentials::SERVICE,
            watches: Watches::default(),
        };
        for index in self.opens.keys() {
            copy.free_if_unused(*index);
        }
        copy
    }

    /// Returns the limits on the files.
    #[must_use]
    pub fn quota(&self) -> FilesQuota {
        self.quota
    }

    /// Returns the present usage of the files.
    #[must_use]
    pub fn usage(&self) -> FilesUsage {
        self.usage
    }

    /// Notes that a descriptor holds `node_id`.
    pub(super) fn opened(&mut self, node_id: NodeId) {
        match node_id {
            NodeId::Own(index) => *self.opens.entry(index).or_insert(0) += 1,
            NodeId::Layer { .. } => {}
        }
    }

    /// Notes that a descriptor let go of `node_id`.
    pub(super) fn closed(&mut self, node_id: NodeId) {
        let index = match node_id {
            NodeId::Own(index) => index,
            NodeId::Layer { .. } => return,
        };
        match self.opens.get_mut(&index) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) => {
                self.opens.remove(&index);
                self.free_if_unused(index);
            }
            None => {}
        }
    }

    /// Frees an inode without names that nothing has open, and what it used of the quota.
    pub(super) fn free_if_unused(&mut self, index: u32) {
        let unused = self.inodes.get(index).is_some_and(|inode| inode.names == 0) && !self.opens.contains_key(&index);
        if unused && let Some(inode) = self.table().free(index) {
            self.usage.bytes = self.usage.bytes.saturating_sub(inode.kind.bytes());
            self.release_entry();
        }
    }

    /// Takes one entry out of the quota.
    pub(super) fn take_entry(&mut self) -> Result<(), Fault> {
        self.check_entries(1)?;
        self.usage.count += 1;
        Ok(())
    }

    pub(super) fn release_entry(&mut self) {
        self.usage.count = self.usage.count.saturating_sub(1);
    }

    /// Checks that `count` more entries fit.
    pub(super) fn check_entries(&self, count: u64) -> Result<(), Fault> {
        // Inode indexes are 32 bits wide.
        let allowed = self.quota.count.min(u64::from(u32::MAX / 2));
        if self.usage.count.saturating_add(count) > allowed {
            return Err(Fault::TooManyEntries { allowed });
        }
        Ok(())
    }

    /// Takes bytes out of the quota.
    pub(super) fn take_bytes(&mut self, bytes: u64) -> Result<(), Fault> {
        self.check_bytes(bytes)?;
        self.usage.bytes += bytes;
        Ok(())
    }

    /// Checks that `bytes` more fit.
    pub(super) fn check_bytes(&self, bytes: u64) -> Result<(), Fault> {
        let allowed = self.quota.bytes;
        match self.usage.bytes.checked_add(bytes) {
            Some(used) if used <= allowed => Ok(()),
            Some(_) | None => Err(Fault::NoSpace { allowed }),
        }
    }

    pub(super) fn release_bytes(&mut self, bytes: u64) {
        self.usage.bytes = self.usage.bytes.saturating_sub(bytes);
    }

    /// The inode table, for changing; copied first if a fork or the base still shares it.
    pub(super) fn table(&mut self) -> &mut Inodes {
        Arc::make_mut(&mut self.inodes)
    }

    pub(super) fn layer(&self, mount: u16) -> Option<&Mount> {
        self.mounts.get(usize::from(mount))
    }

    pub(super) fn kind(&self, node_id: NodeId) -> FileKind {
        match node_id {
            NodeId::Own(index) => match self.inodes.get(index).map(|inode| &inode.kind) {
                Some(Kind::Directory(_)) => FileKind::Directory,
                Some(Kind::File(_)) | None => FileKind::File,
                Some(Kind::Link(_)) => FileKind::Link,
                Some(Kind::Null) => FileKind::Device,
                Some(Kind::NamedPipe) => FileKind::NamedPipe,
            },
            NodeId::Layer { mount, node } => match self.layer(mount) {
                Some(mount) if mount.layer.is_directory(node) => FileKind::Directory,
                Some(_) | None => FileKind::File,
            },
        }
    }

    pub(super) fn is_directory(&self, node_id: NodeId) -> bool {
        self.kind(node_id) == FileKind::Directory
    }

    /// The text of a symbolic link; none for anything else.
    pub(super) fn link_text(&self, node_id: NodeId) -> Option<&Arc<str>> {
        match node_id {
            NodeId::Own(index) => match &self.inodes.get(index)?.kind {
                Kind::Link(text) => Some(text),
                Kind::Directory(_) | Kind::File(_) | Kind::Null | Kind::NamedPipe => None,
            },
            NodeId::Layer { .. } => None,
        }
    }

    pub(super) fn attributes(&self, node_id: NodeId) -> Result<Attributes, Fault> {
        match node_id {
            NodeId::Own(index) => {
                let inode = self.inodes.get(index).ok_or(Fault::NotFound)?;
                let born = |time| if time == UNSET { self.born } else { time };
                Ok(Attributes {
                    number: inode.number,
                    kind: self.kind(node_id),
                    links: links(inode),
                    size: match &inode.kind {
                        Kind::Directory(_) => DIRECTORY_SIZE,
                        Kind::File(_) | Kind::Link(_) | Kind::Null | Kind::NamedPipe => inode.kind.bytes(),
                    },
                    times: Times {
                        accessed: born(inode.times.accessed),
                        modified: born(inode.times.modified),
                        changed: born(inode.times.changed),
                    },
                    mode: inode.mode,
                    owner: inode.owner,
                })
            }
            NodeId::Layer { mount, node } => {
                let layer = &self.layer(mount).ok_or(Fault::NotFound)?.layer;
                let (links, size) = match layer.size(node) {
                    Some(size) => (1, size),
                    None => (2 + layer.subdirectories(node), DIRECTORY_SIZE),
                };
                Ok(Attributes {
                    number: self.number(node_id),
                    kind: self.kind(node_id),
                    links,
                    size,
                    times: Times::all(layer.modified()),
                    mode: layer.mode(node),
                    owner: User::Root,
                })
            }
        }
    }

    /// The inode number programs see.
    pub(super) fn number(&self, node_id: NodeId) -> u64 {
        match node_id {
            NodeId::Own(index) => self.inodes.get(index).map_or(0, |inode| inode.number),
            NodeId::Layer { mount, node } => (u64::from(mount) + 1) * LAYER_NUMBERS + u64::from(node) + 1,
        }
    }

    /// The directory above a directory; the root is its own.
    pub(super) fn parent(&self, directory: NodeId) -> NodeId {
        match directory {
            NodeId::Own(index) => match self.inodes.directory(index) {
                Some(directory) => NodeId::Own(directory.parent),
                None => ROOT,
            },
            NodeId::Layer { mount, node } => match self.layer(mount) {
                Some(mounted) if node == LAYER_ROOT => NodeId::Own(mounted.parent),
                Some(mounted) => NodeId::Layer { mount, node: mounted.layer.parent(node) },
                None => ROOT,
            },
        }
    }

    /// The absolute path of a directory. A removed one has the name it last had, at the root.
    pub(super) fn path_of(&self, directory: NodeId) -> String {
        let mut names: Vec<&str> = Vec::new();
        let mut prefix = "";
        let mut here = directory;
        // Longer than any chain of directories can be, in case a restored tree is damaged.
        for _ in 0..2 * MAX_DEPTH {
            match here {
                ROOT => break,
                NodeId::Own(index) => match self.inodes.directory(index) {
                    Some(directory) => names.push(&directory.name),
                    None => break,
                },
                NodeId::Layer { mount, node } => match self.layer(mount) {
                    Some(mounted) if node == LAYER_ROOT => {
                        prefix = &mounted.path;
                        break;
                    }
                    Some(mounted) => names.push(mounted.layer.name(node)),
                    None => break,
                },
            }
            here = self.parent(here);
        }
        let mut path = prefix.to_owned();
        for name in names.into_iter().rev() {
            path.push('/');
            path.push_str(name);
        }
        if path.is_empty() {
            path.push('/');
        }
        path
    }

    /// Copies bytes of a file from `offset` on into `out`; returns how many there were.
    pub(super) fn read(&self, node_id: NodeId, offset: u64, out: &mut [u8]) -> Result<usize, Fault> {
        match node_id {
            NodeId::Own(index) => match &self.inodes.get(index).ok_or(Fault::NotFound)?.kind {
                Kind::File(content) => Ok(content.read(offset, out)),
                Kind::Null => Ok(0),
                Kind::Directory(_) => Err(Fault::IsADirectory),
                Kind::Link(_) => Err(Fault::WrongKind),
                Kind::NamedPipe => Err(Fault::NamedPipe),
            },
            NodeId::Layer { mount, node } => {
                let bytes = self.layer_bytes(mount, node)?;
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                let taken = out.len().min(bytes.len() - start);
                out[..taken].copy_from_slice(&bytes[start..start + taken]);
                Ok(taken)
            }
        }
    }

    pub(super) fn layer_bytes(&self, mount: u16, node: u32) -> Result<Bytes, Fault> {
        let layer = &self.layer(mount).ok_or(Fault::NotFound)?.layer;
        layer.bytes(node, self.born).ok_or(Fault::IsADirectory)
    }

    /// Moves a file's access time to `now` the way Linux does by default: only if it was not read since it last
    /// changed.
    pub(super) fn mark_read(&mut self, node_id: NodeId, now: u64) {
        let index = match node_id {
            NodeId::Own(index) => index,
            NodeId::Layer { .. } => return,
        };
        let stale = self.inodes.get(index).is_some_and(|inode| {
            let times = inode.times;
            times.accessed != UNSET
                && (times.accessed <= times.modified || times.accessed <= times.changed)
                && times.accessed < now
        });
        if stale && let Some(inode) = self.table().get_mut(index) {
            inode.times.accessed = now;
        }
    }

    /// Writes to a file; returns how many bytes fitted into the quota.
    ///
    /// # Errors
    ///
    /// Returns `NoSpace` if not one byte fits: also for an offset so far out that the hole before it does not fit.
    pub(super) fn write(&mut self, node_id: NodeId, offset: u64, bytes: &[u8], now: u64) -> Result<usize, Fault> {
        let (index, length) = match self.writable(node_id)? {
            Writable::File(index, length) => (index, length),
            Writable::Null => return Ok(bytes.len()),
        };
        if bytes.is_empty() {
            return Ok(0);
        }
        let allowed = self.quota.bytes;
        let longest = length.saturating_add(allowed.saturating_sub(self.usage.bytes));
        let fits = longest.saturating_sub(offset).min(bytes.len() as u64);
        if fits == 0 {
            return Err(Fault::NoSpace { allowed });
        }
        self.take_bytes((offset + fits).saturating_sub(length))?;
        if let Some((content, times)) = self.content_mut(index) {
            content.write(offset, &bytes[..fits as usize]);
            (times.modified, times.changed) = (now, now);
        }
        self.tell_of(ChangeKind::Write, index);
        Ok(fits as usize)
    }

    /// Cuts a file or lengthens it with zeros.
    pub(super) fn resize(&mut self, node_id: NodeId, length: u64, now: u64) -> Result<(), Fault> {
        let (index, old) = match self.writable(node_id)? {
            Writable::File(index, length) => (index, length),
            Writable::Null => return Ok(()),
        };
        self.take_bytes(length.saturating_sub(old))?;
        self.release_bytes(old.saturating_sub(length));
        if let Some((content, times)) = self.content_mut(index) {
            content.resize(length);
            (times.modified, times.changed) = (now, now);
        }
        if length != old {
            self.tell_of(ChangeKind::Write, index);
        }
        Ok(())
    }

    fn content_mut(&mut self, index: u32) -> Option<(&mut Content, &mut Times)> {
        let inode = self.table().get_mut(index)?;
        match &mut inode.kind {
            Kind::File(content) => Some((content, &mut inode.times)),
            Kind::Directory(_) | Kind::Link(_) | Kind::Null | Kind::NamedPipe => None,
        }
    }

    /// A file's length; zero for a device.
    pub(super) fn length(&self, node_id: NodeId) -> u64 {
        match node_id {
            NodeId::Own(index) => self.inodes.get(index).map_or(0, |inode| inode.kind.bytes()),
            NodeId::Layer { mount, node } => self.layer_bytes(mount, node).map_or(0, |bytes| bytes.len() as u64),
        }
    }

    fn writable(&self, node_id: NodeId) -> Result<Writable, Fault> {
        match node_id {
            NodeId::Own(index) => match &self.inodes.get(index).ok_or(Fault::NotFound)?.kind {
                Kind::File(content) => Ok(Writable::File(index, content.length())),
                Kind::Null => Ok(Writable::Null),
                Kind::Directory(_) => Err(Fault::IsADirectory),
                Kind::Link(_) => Err(Fault::WrongKind),
                Kind::NamedPipe => Err(Fault::NamedPipe),
            },
            NodeId::Layer { .. } => Err(self.layer_fault()),
        }
    }

    /// Sets the access and modification times that are given; nanoseconds since 1970.
    pub(super) fn set_times(
        &mut self,
        node_id: NodeId,
        accessed: Option<u64>,
        modified: Option<u64>,
        now: u64,
    ) -> Result<(), Fault> {
        if self.check_owner(node_id).is_err() {
            self.check(node_id, Permission::Write)?;
        }
        let index = match node_id {
            NodeId::Own(index) => index,
            NodeId::Layer { .. } => return Err(Fault::ReadOnly),
        };
        let inode = self.table().get_mut(index).ok_or(Fault::NotFound)?;
        let times = &mut inode.times;
        times.accessed = accessed.map_or(times.accessed, |time| time.min(UNSET - 1));
        times.modified = modified.map_or(times.modified, |time| time.min(UNSET - 1));
        times.changed = now;
        self.tell_of(ChangeKind::Attributes, index);
        Ok(())
    }
}

enum Writable {
    /// Inode index and length of a file.
    File(u32, u64),
    Null,
}

fn links(inode: &Inode) -> u64 {
    match &inode.kind {
        Kind::Directory(directory) if inode.names > 0 => 2 + u64::from(directory.subdirectories),
        Kind::Directory(_) | Kind::File(_) | Kind::Link(_) | Kind::Null | Kind::NamedPipe => u64::from(inode.names),
    }
}
