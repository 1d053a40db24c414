//! A sandbox's files as plain data, to be kept and loaded again: see `load` for the way back.

use super::content::Content;
use super::descriptors::{Descriptors, Open, What, count_opens};
use super::inodes::{Directory, Inode, Inodes, Kind, NodeId, Times};
use super::permissions::User;
use super::tree::{FilesQuota, SharedTree, View, lock};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A sandbox's files, with the open descriptors of its interpreters: all a guest could tell apart. The read-only layers
/// are not in it, only how many there were.
///
/// Its pages are those of the sandbox, shared until one side writes: making it copies no file's content.
#[derive(Clone, Serialize, Deserialize)]
pub struct SandboxFiles {
    pub(super) mounts: u16,
    pub(super) quota: FilesQuota,
    pub(super) born: u64,
    pub(super) next_number: u64,
    /// Inodes by index, as descriptors and entries refer to them.
    pub(super) inodes: Vec<Option<Box<SavedInode>>>,
    pub(super) tables: Vec<SavedTable>,
}

/// An inode. How many names it has is counted when it is loaded.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SavedInode {
    pub(super) number: u64,
    pub(super) times: Times,
    pub(super) mode: u16,
    pub(super) owner: User,
    pub(super) kind: SavedKind,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) enum SavedKind {
    /// A directory with a name; the entry that leads to it tells parent and name.
    Directory {
        next_position: u64,
        entries: Vec<SavedEntry>,
    },
    /// A directory without a name left, which is empty but still open.
    RemovedDirectory {
        parent: u32,
        name: Arc<str>,
    },
    File {
        length: u64,
        pages: Vec<(u32, Page)>,
    },
    Link(Arc<str>),
    Null,
    NamedPipe,
}

/// An entry of a directory, in the order of their positions.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SavedEntry {
    pub(super) position: u64,
    pub(super) name: Arc<str>,
    pub(super) node_id: NodeId,
}

/// The descriptors of one interpreter.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SavedTable {
    pub(super) view: View,
    /// Creation mask of the interpreter, which is a process of the user.
    pub(super) mask: u16,
    pub(super) open: Vec<Option<SavedOpen>>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SavedOpen {
    pub(super) what: What,
    pub(super) flags: u16,
    pub(super) rights: u64,
    pub(super) inheriting: u64,
}

/// A page of a file, kept as one run of bytes.
#[derive(Clone)]
pub(super) struct Page(pub(super) Arc<Vec<u8>>);

impl Serialize for Page {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Page {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = serde_bytes::ByteBuf::deserialize(deserializer)?;
        Ok(Self(Arc::new(bytes.into_vec())))
    }
}

/// Names and content are the guest's, and must not get into a log by accident.
impl std::fmt::Debug for SandboxFiles {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let inodes = self.inodes.iter().flatten().count();
        formatter
            .debug_struct("SandboxFiles")
            .field("inodes", &inodes)
            .field("quota", &self.quota)
            .finish_non_exhaustive()
    }
}

/// The files of a sandbox and the descriptors of its interpreters as plain data; all of `tables` must be open in
/// `tree`. As in [`fork_sandbox`](super::fork_sandbox), a removed file is kept if one of them has it open.
#[must_use]
pub fn save_sandbox(tree: &SharedTree, tables: &[&Descriptors]) -> SandboxFiles {
    let opens = count_opens(tables.iter().flat_map(|table| table.held()));
    let tree = lock(tree);
    let mut inodes: Vec<Option<Box<SavedInode>>> =
        (0..tree.inodes.len()).map(|index| saved_inode(&tree.inodes, &opens, index as u32)).collect();
    let used = inodes.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    inodes.truncate(used);
    SandboxFiles {
        // As many as `Base::with_layers` takes at most.
        mounts: tree.mounts.len() as u16,
        quota: tree.quota(),
        born: tree.born(),
        next_number: tree.inodes.next_number(),
        inodes,
        tables: tables.iter().map(|table| saved_table(table)).collect(),
    }
}

fn saved_inode(inodes: &Inodes, opens: &BTreeMap<u32, u32>, index: u32) -> Option<Box<SavedInode>> {
    let inode = inodes.get(index).filter(|inode| is_kept(inode, opens, index))?;
    let kind = match &inode.kind {
        Kind::Directory(directory) if inode.names == 0 => {
            let above = inodes.get(directory.parent).filter(|above| is_kept(above, opens, directory.parent));
            let still_there = above.is_some_and(|above| matches!(above.kind, Kind::Directory(_)));
            let parent = if still_there { directory.parent } else { 0 };
            SavedKind::RemovedDirectory { parent, name: Arc::clone(&directory.name) }
        }
        Kind::Directory(directory) => {
            SavedKind::Directory { next_position: directory.next_position(), entries: saved_entries(directory) }
        }
        Kind::File(content) => SavedKind::File { length: content.length(), pages: saved_pages(content) },
        Kind::Link(text) => SavedKind::Link(Arc::clone(text)),
        Kind::Null => SavedKind::Null,
        Kind::NamedPipe => SavedKind::NamedPipe,
    };
    let Inode { number, times, mode, owner, .. } = *inode;
    Some(Box::new(SavedInode { number, times, mode, owner, kind }))
}

fn is_kept(inode: &Inode, opens: &BTreeMap<u32, u32>, index: u32) -> bool {
    inode.names > 0 || opens.contains_key(&index)
}

fn saved_entries(directory: &Directory) -> Vec<SavedEntry> {
    let saved = |(position, name, node_id)| SavedEntry { position, name, node_id };
    directory.entries().map(saved).collect()
}

fn saved_pages(content: &Content) -> Vec<(u32, Page)> {
    content.pages().map(|(number, page)| (number, Page(Arc::clone(page)))).collect()
}

fn saved_table(table: &Descriptors) -> SavedTable {
    let saved = |open: &Open| SavedOpen {
        what: open.what.clone(),
        flags: open.flags.bits(),
        rights: open.rights.0,
        inheriting: open.inheriting.0,
    };
    SavedTable {
        view: table.tree().view(),
        mask: table.tree().credentials().mask,
        open: table.table().iter().map(|open| open.as_ref().map(saved)).collect(),
    }
}
