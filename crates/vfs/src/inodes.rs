//! The inode table: what every tree is made of, and the directories and files in it.

use super::content::Content;
use super::permissions::{LINK_MODE, User};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// `/`, in every tree.
pub(super) const ROOT: NodeId = NodeId::Own(0);

/// Readdir positions of `.` and `..`; entries have those above.
pub(super) const SELF_POSITION: u64 = 1;
pub(super) const PARENT_POSITION: u64 = 2;

/// A time not set yet: shown as the time the tree was made, so that a table can be shared by runs that start at
/// different times.
pub(super) const UNSET: u64 = u64::MAX;

/// Location of a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) enum NodeId {
    /// An inode of the tree itself.
    Own(u32),
    /// A node of the layer mounted as number `mount`.
    Layer { mount: u16, node: u32 },
}

/// Times in nanoseconds since 1970, or [`UNSET`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Times {
    pub(super) accessed: u64,
    pub(super) modified: u64,
    pub(super) changed: u64,
}

impl Times {
    pub(super) fn all(time: u64) -> Self {
        Self { accessed: time, modified: time, changed: time }
    }
}

/// Returns the time of a directory's change at `now`, distinct from the last one even where the clock stands still:
/// Python looks for a module just written only if its directory shows another time. A microsecond is what a float of
/// seconds can tell; a time a second or more ahead was set on purpose and counts for nothing.
pub(super) fn later(before: u64, now: u64) -> u64 {
    const STEP: u64 = 1_000;
    const AHEAD: u64 = 1_000_000_000;
    match before.checked_sub(now) {
        Some(0..AHEAD) => before.saturating_add(STEP).min(UNSET - 1),
        Some(AHEAD..) | None => now,
    }
}

#[derive(Clone)]
pub(super) struct Inode {
    /// The number programs see; never used twice in one tree.
    pub(super) number: u64,
    /// Names that lead here. None: removed, kept only while open.
    pub(super) names: u32,
    /// Made by the sandbox: cannot be removed, replaced or renamed, and does not count against the quota.
    pub(super) fixed: bool,
    pub(super) times: Times,
    /// Permission bits.
    pub(super) mode: u16,
    pub(super) owner: User,
    pub(super) kind: Kind,
}

#[derive(Clone)]
pub(super) enum Kind {
    Directory(Directory),
    File(Content),
    /// A symbolic link with its text.
    Link(Arc<str>),
    /// The character device `/dev/null`.
    Null,
    /// A named pipe. What is written to it is never here: the shell has that.
    NamedPipe,
}

impl Kind {
    /// Bytes that count against the quota: a file's length, a link's text.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Kind::File(content) => content.length(),
            Kind::Link(text) => text.len() as u64,
            Kind::Directory(_) | Kind::Null | Kind::NamedPipe => 0,
        }
    }
}

/// A directory's entries, by name and by the order they were made in.
#[derive(Clone)]
pub(super) struct Directory {
    pub(super) parent: u32,
    pub(super) name: Arc<str>,
    names: BTreeMap<Arc<str>, Entry>,
    /// Reading a directory goes on after the last position seen, so entries that come and go meanwhile disturb nothing.
    order: BTreeMap<u64, Arc<str>>,
    next_position: u64,
    /// Entries that are directories.
    pub(super) subdirectories: u32,
}

#[derive(Clone, Copy)]
struct Entry {
    position: u64,
    node_id: NodeId,
}

impl Directory {
    pub(super) fn new(parent: u32, name: Arc<str>) -> Self {
        Self {
            parent,
            name,
            names: BTreeMap::new(),
            order: BTreeMap::new(),
            next_position: PARENT_POSITION + 1,
            subdirectories: 0,
        }
    }

    /// A directory put together again; none if a name or position occurs twice or a position is out of range.
    pub(super) fn from_entries(
        parent: u32,
        name: Arc<str>,
        next_position: u64,
        entries: impl IntoIterator<Item = (u64, Arc<str>, NodeId)>,
    ) -> Option<Self> {
        let mut directory = Self { next_position, ..Self::new(parent, name) };
        for (position, name, node_id) in entries {
            let known = PARENT_POSITION < position && position < next_position;
            let again = directory.order.insert(position, Arc::clone(&name)).is_some()
                || directory.names.insert(name, Entry { position, node_id }).is_some();
            if !known || again {
                return None;
            }
        }
        Some(directory)
    }

    pub(super) fn get(&self, name: &str) -> Option<NodeId> {
        Some(self.names.get(name)?.node_id)
    }

    /// The position the next entry gets.
    pub(super) fn next_position(&self) -> u64 {
        self.next_position
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Adds an entry; the caller has made sure the name is free.
    pub(super) fn insert(&mut self, name: Arc<str>, node_id: NodeId) {
        let position = self.next_position;
        self.next_position += 1;
        self.order.insert(position, Arc::clone(&name));
        self.names.insert(name, Entry { position, node_id });
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<NodeId> {
        let entry = self.names.remove(name)?;
        self.order.remove(&entry.position);
        Some(entry.node_id)
    }

    /// Takes every entry out.
    pub(super) fn clear(&mut self) -> Vec<NodeId> {
        self.order.clear();
        self.subdirectories = 0;
        std::mem::take(&mut self.names).into_values().map(|entry| entry.node_id).collect()
    }

    /// Entries made after `position`, oldest first, each with its own position.
    pub(super) fn after(&self, position: u64) -> impl Iterator<Item = (u64, &str, NodeId)> {
        use std::ops::Bound::{Excluded, Unbounded};
        self.order
            .range((Excluded(position), Unbounded))
            .filter_map(|(position, name)| Some((*position, &**name, self.get(name)?)))
    }

    /// Every entry with its position, in the order they were made in.
    pub(super) fn entries(&self) -> impl Iterator<Item = (u64, Arc<str>, NodeId)> {
        self.order.iter().filter_map(|(position, name)| Some((*position, Arc::clone(name), self.get(name)?)))
    }

    pub(super) fn node_ids(&self) -> impl Iterator<Item = NodeId> {
        self.names.values().map(|entry| entry.node_id)
    }
}

/// The table. A clone shares every inode; one is copied when it changes.
#[derive(Clone, Default)]
pub(super) struct Inodes {
    slots: Vec<Option<Arc<Inode>>>,
    free: Vec<u32>,
    next_number: u64,
}

impl Inodes {
    /// The table every sandbox starts from: `/`, `/home/user`, `/tmp` and `/dev/null`.
    pub(super) fn initial() -> Self {
        let mut table = Self { next_number: 1, ..Self::default() };
        let (root, home) = (0, 1);
        // The root is the user's: models and tests write to places such as `/app`.
        table.add_fixed_directory(root, "", (0o755, User::User));
        table.add_fixed_directory(root, "home", (0o755, User::Root));
        table.add_fixed_directory(home, "user", (0o755, User::User));
        table.add_fixed_directory(root, "tmp", (0o1777, User::Root));
        let dev = table.add_fixed_directory(root, "dev", (0o755, User::Root));
        table.add_fixed(dev, "null", (0o666, User::Root), Kind::Null);
        table
    }

    /// Adds a directory of the sandbox's own; an empty name adds no entry.
    pub(super) fn add_fixed_directory(&mut self, parent: u32, name: &str, (mode, owner): (u16, User)) -> u32 {
        self.add_fixed(parent, name, (mode, owner), Kind::Directory(Directory::new(parent, Arc::from(name))))
    }

    /// Adds a symbolic link of the sandbox's own.
    pub(super) fn add_fixed_link(&mut self, parent: u32, name: &str, text: &str) {
        self.add_fixed(parent, name, (LINK_MODE, User::Root), Kind::Link(Arc::from(text)));
    }

    /// Adds an inode of the sandbox's own; an empty name adds no entry.
    fn add_fixed(&mut self, parent: u32, name: &str, (mode, owner): (u16, User), kind: Kind) -> u32 {
        let directory = matches!(kind, Kind::Directory(_));
        let index = self.add(Inode { number: 0, names: 1, fixed: true, times: Times::all(UNSET), mode, owner, kind });
        if !name.is_empty()
            && let Some(parent) = self.directory_mut(parent)
        {
            parent.insert(Arc::from(name), NodeId::Own(index));
            parent.subdirectories += u32::from(directory);
        }
        index
    }

    /// A table put together again; the caller has checked what is in it.
    pub(super) fn from_slots(slots: Vec<Option<Arc<Inode>>>, next_number: u64) -> Self {
        // The caller has at most half of all numbers.
        let free = (0..slots.len() as u32).rev().filter(|index| slots[*index as usize].is_none()).collect();
        Self { slots, free, next_number }
    }

    /// Returns the number of indexes that are or were in use.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The number the next inode gets.
    pub(super) fn next_number(&self) -> u64 {
        self.next_number
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Inode> {
        self.slots.iter().flatten().map(|inode| &**inode)
    }

    pub(super) fn get(&self, index: u32) -> Option<&Inode> {
        self.slots.get(index as usize)?.as_deref()
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut Inode> {
        self.slots.get_mut(index as usize)?.as_mut().map(Arc::make_mut)
    }

    pub(super) fn directory(&self, index: u32) -> Option<&Directory> {
        match &self.get(index)?.kind {
            Kind::Directory(directory) => Some(directory),
            Kind::File(_) | Kind::Link(_) | Kind::Null | Kind::NamedPipe => None,
        }
    }

    pub(super) fn directory_mut(&mut self, index: u32) -> Option<&mut Directory> {
        match &mut self.get_mut(index)?.kind {
            Kind::Directory(directory) => Some(directory),
            Kind::File(_) | Kind::Link(_) | Kind::Null | Kind::NamedPipe => None,
        }
    }

    /// Adds an inode under a number of its own and returns its index.
    pub(super) fn add(&mut self, mut inode: Inode) -> u32 {
        inode.number = self.next_number;
        self.next_number += 1;
        let inode = Some(Arc::new(inode));
        match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = inode;
                index
            }
            None => {
                self.slots.push(inode);
                u32::try_from(self.slots.len() - 1).expect("the entries quota is far below the number of indexes")
            }
        }
    }

    pub(super) fn free(&mut self, index: u32) -> Option<Arc<Inode>> {
        let inode = self.slots.get_mut(index as usize)?.take()?;
        self.free.push(index);
        Some(inode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_never_used_twice() {
        let mut table = Inodes::initial();
        let add = |table: &mut Inodes| table.add_fixed(0, "", (0o666, User::Root), Kind::Null);
        let first = add(&mut table);
        let number = table.free(first).map(|inode| inode.number);
        let second = add(&mut table);
        assert_eq!(first, second);
        assert_ne!(number, table.get(second).map(|inode| inode.number));
    }

    #[test]
    fn reading_on_after_a_position_is_not_disturbed_by_removals_and_additions() {
        let mut directory = Directory::new(0, Arc::from("d"));
        for name in ["a", "b", "c"] {
            directory.insert(Arc::from(name), ROOT);
        }
        let (position, _, _) = directory.after(0).next().expect("three entries");
        directory.remove("a");
        directory.remove("b");
        directory.insert(Arc::from("d"), ROOT);
        let rest: Vec<&str> = directory.after(position).map(|(_, name, _)| name).collect();
        assert_eq!(rest, ["c", "d"]);
        assert_eq!(directory.after(u64::MAX).count(), 0);
    }
}
