//! The descriptor table of one interpreter, and how a sandbox is copied with its open files.

use super::boundary::Attempts;
use super::errno::Errno;
use super::guest_memory::Part;
use super::inodes::{NodeId, ROOT};
use super::permissions::Credentials;
use super::records::{DescriptorFlags, FileType, Rights};
use super::stdio::{Output, Stdio};
use super::tree::{SharedTree, Tree, lock};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Descriptors one interpreter may have, numbers 0 to 255: far more than programs need, few enough to hold in memory.
pub const MAX_DESCRIPTORS: usize = 256;
/// The one directory open from the start.
pub(super) const PREOPEN_NAME: &str = "/";

/// Context of a preview-1 call, besides its arguments.
pub struct Call<'a> {
    /// The guest's linear memory.
    pub memory: &'a mut [u8],
    /// The caller's end of descriptors 0, 1 and 2.
    pub stdio: &'a mut dyn Stdio,
    /// Record of attempts on paths.
    pub attempts: &'a mut Attempts,
    /// The guest's real time, nanoseconds since 1970.
    pub now: u64,
    /// The part of a read's or write's bytes that is moved.
    pub part: Part,
}

/// The descriptors of one interpreter over the tree of its sandbox: 0, 1 and 2 are the caller's, 3 is `/`, the rest are
/// opened by the guest. Dropping it closes them all.
///
/// Its methods are the file calls of preview 1, named and ordered as there: addresses and lengths are the guest's and
/// checked, flags are taken as the numbers the guest passes. Results are written to the address given last.
#[derive(Debug)]
pub struct Descriptors {
    pub(super) tree: SharedTree,
    table: Vec<Option<Open>>,
}

#[derive(Debug, Clone)]
pub(super) struct Open {
    pub(super) what: What,
    pub(super) flags: DescriptorFlags,
    pub(super) rights: Rights,
    /// The most that descriptors opened through this one may have.
    pub(super) inheriting: Rights,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum What {
    Stdin,
    Output(Output),
    /// A file or device, and where its next read or write is.
    File {
        node_id: NodeId,
        offset: u64,
    },
    Directory {
        node_id: NodeId,
    },
    /// `/` as descriptor 3. The guest's C library finds every path through it, so it stays where it is.
    Preopen,
}

impl Open {
    fn stdio(what: What, rights: Rights) -> Self {
        Self {
            what,
            flags: DescriptorFlags::NONE,
            rights: rights.with(Rights::STAT).with(Rights::POLL),
            inheriting: Rights::NONE,
        }
    }

    /// Returns the node the tree must keep while this is open.
    pub(super) fn held(&self) -> Option<NodeId> {
        match self.what {
            What::File { node_id, .. } | What::Directory { node_id } => Some(node_id),
            What::Stdin | What::Output(_) | What::Preopen => None,
        }
    }

    /// Fails unless all of `rights` are held.
    pub(super) fn need(&self, rights: Rights) -> Result<(), Errno> {
        match self.rights.contains(rights) {
            true => Ok(()),
            false => Err(Errno::NotCapable),
        }
    }

    pub(super) fn file_type(&self, tree: &Tree) -> FileType {
        match self.what {
            What::Stdin | What::Output(_) => FileType::Unknown,
            What::File { node_id, .. } => tree.kind(node_id).into(),
            What::Directory { .. } | What::Preopen => FileType::Directory,
        }
    }
}

impl Descriptors {
    /// A fresh interpreter's table: standard input and output, and `/`. `credentials` are those of its process.
    #[must_use]
    pub fn new(tree: &SharedTree, credentials: Credentials) -> Self {
        let preopen = Open {
            what: What::Preopen,
            flags: DescriptorFlags::NONE,
            rights: Rights::DIRECTORY,
            inheriting: Rights::ALL,
        };
        let table = vec![
            Some(Open::stdio(What::Stdin, Rights::READ)),
            Some(Open::stdio(What::Output(Output::Stdout), Rights::WRITE)),
            Some(Open::stdio(What::Output(Output::Stderr), Rights::WRITE)),
            Some(preopen),
        ];
        Self { tree: tree.with_credentials(credentials), table }
    }

    /// A table put together again; the tree must have noted already what is open in it.
    pub(super) fn restored(tree: SharedTree, table: Vec<Option<Open>>) -> Self {
        Self { tree, table }
    }

    /// Returns the table of open descriptors, by number.
    pub(super) fn table(&self) -> &[Option<Open>] {
        &self.table
    }

    /// The tree these descriptors are open in.
    #[must_use]
    pub fn tree(&self) -> &SharedTree {
        &self.tree
    }

    /// Returns the number of open descriptors, the first four included.
    #[must_use]
    pub fn open_count(&self) -> usize {
        self.table.iter().flatten().count()
    }

    /// Returns whether a read from this number reads standard input.
    #[must_use]
    pub fn is_stdin(&self, fd: u32) -> bool {
        self.get(fd).is_ok_and(|open| matches!(open.what, What::Stdin))
    }

    pub(super) fn get(&self, fd: u32) -> Result<&Open, Errno> {
        match self.table.get(fd as usize) {
            Some(Some(open)) => Ok(open),
            Some(None) | None => Err(Errno::BadF),
        }
    }

    /// A descriptor to change, beside the tree.
    pub(super) fn get_mut(&mut self, fd: u32) -> Result<(&mut Open, &SharedTree), Errno> {
        match self.table.get_mut(fd as usize) {
            Some(Some(open)) => Ok((open, &self.tree)),
            Some(None) | None => Err(Errno::BadF),
        }
    }

    /// Returns the node of a directory descriptor that holds `rights`.
    pub(super) fn directory(&self, fd: u32, rights: Rights) -> Result<NodeId, Errno> {
        let open = self.get(fd)?;
        let node_id = match open.what {
            What::Directory { node_id } => node_id,
            What::Preopen => ROOT,
            What::Stdin | What::Output(_) | What::File { .. } => return Err(Errno::NotDir),
        };
        open.need(rights)?;
        Ok(node_id)
    }

    /// The number the next descriptor gets: the lowest free one.
    pub(super) fn free_number(&self) -> Result<u32, Errno> {
        let number = self.table.iter().position(Option::is_none).unwrap_or(self.table.len());
        match u32::try_from(number) {
            Ok(fd) if number < MAX_DESCRIPTORS => Ok(fd),
            Ok(_) | Err(_) => Err(Errno::MFile),
        }
    }

    /// Puts what was opened under a free number. The tree must have noted already that it is open.
    pub(super) fn install(&mut self, fd: u32, open: Open) {
        let number = fd as usize;
        if number >= self.table.len() {
            self.table.resize_with(number + 1, || None);
        }
        self.table[number] = Some(open);
    }

    /// `fd_close`: closes a descriptor. Descriptor 3 stays open (`ENOTSUP`): without it the guest finds no path again.
    ///
    /// # Errors
    ///
    /// Returns `EBADF` for a number that is not open.
    pub fn fd_close(&mut self, fd: u32) -> Result<(), Errno> {
        self.refuse_preopen(fd)?;
        self.take(fd)?;
        Ok(())
    }

    /// `fd_renumber`: moves a descriptor to the number of another, which is closed.
    ///
    /// # Errors
    ///
    /// Returns `EBADF` unless both are open, `ENOTSUP` if one is descriptor 3.
    pub fn fd_renumber(&mut self, from: u32, to: u32) -> Result<(), Errno> {
        self.refuse_preopen(from)?;
        self.refuse_preopen(to)?;
        if from == to {
            return Ok(());
        }
        self.take(to)?;
        let moved = self.table[from as usize].take();
        self.table[to as usize] = moved;
        Ok(())
    }

    fn refuse_preopen(&self, fd: u32) -> Result<(), Errno> {
        match self.get(fd)?.what {
            What::Preopen => Err(Errno::NotSup),
            What::Stdin | What::Output(_) | What::File { .. } | What::Directory { .. } => Ok(()),
        }
    }

    fn take(&mut self, fd: u32) -> Result<(), Errno> {
        let open = self.table.get_mut(fd as usize).and_then(Option::take).ok_or(Errno::BadF)?;
        if let Some(node_id) = open.held() {
            lock(&self.tree).closed(node_id);
        }
        Ok(())
    }

    pub(super) fn held(&self) -> impl Iterator<Item = NodeId> {
        self.table.iter().flatten().filter_map(Open::held)
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        if self.held().next().is_some() {
            let mut tree = lock(&self.tree);
            for node_id in self.held() {
                tree.closed(node_id);
            }
        }
    }
}

/// The tree's own inodes among `node_ids`, with how often each occurs.
pub(super) fn count_opens(node_ids: impl Iterator<Item = NodeId>) -> BTreeMap<u32, u32> {
    let mut opens = BTreeMap::new();
    for node_id in node_ids {
        match node_id {
            NodeId::Own(index) => *opens.entry(index).or_insert(0) += 1,
            NodeId::Layer { .. } => {}
        }
    }
    opens
}

/// An independent copy of a sandbox's files with the descriptors of its interpreters, in the order given; all of them
/// must be open in `tree`. Files that were removed but are open in one of them are in the copy too.
#[must_use]
pub fn fork_sandbox(tree: &SharedTree, tables: &[&Descriptors]) -> (SharedTree, Vec<Descriptors>) {
    let opens = count_opens(tables.iter().flat_map(|table| table.held()));
    let copy = SharedTree::new(lock(tree).fork_with(opens));
    let tables = tables
        .iter()
        .map(|table| {
            let tree = copy.with_view(table.tree.view()).with_credentials(table.tree.credentials());
            Descriptors { tree, table: table.table.clone() }
        })
        .collect();
    (copy, tables)
}

#[cfg(test)]
mod tests {
    use super::super::test_guest::{Guest, QUOTA, USER};
    use super::super::{Errno, Output, Tree, lock};
    use super::*;

    #[test]
    fn numbers_are_given_lowest_first_and_end_at_the_bound() {
        let mut guest = Guest::new();
        guest.open("tmp/f", "w").expect("created");
        for expected in 5..MAX_DESCRIPTORS as u32 {
            assert_eq!(guest.open("tmp/f", "r"), Ok(expected));
        }
        assert_eq!(guest.open("tmp/f", "r"), Err(Errno::MFile));
        assert_eq!(guest.open("tmp/new", "w"), Err(Errno::MFile));
        assert_eq!(guest.stat("tmp/new"), Err(Errno::NoEnt));
        guest.close(77).expect("open");
        assert_eq!(guest.open("tmp/f", "r"), Ok(77));
    }

    #[test]
    fn closing_twice_or_what_never_was_open_is_ebadf_and_the_root_stays() {
        let mut guest = Guest::new();
        let fd = guest.open("tmp/f", "w").expect("created");
        assert_eq!(guest.close(fd), Ok(()));
        for fd in [fd, 200, u32::MAX] {
            assert_eq!(guest.close(fd), Err(Errno::BadF));
        }
        assert_eq!(guest.close(3), Err(Errno::NotSup));
        assert_eq!(guest.descriptors.open_count(), 4);
    }

    #[test]
    fn renumbering_closes_the_target_and_can_redirect_output() {
        let mut guest = Guest::new();
        let file = guest.open("tmp/out", "w+").expect("created");
        let other = guest.open("tmp/gone", "w").expect("created");
        guest.unlink("tmp/gone").expect("there");
        assert_eq!(guest.descriptors.fd_renumber(1, other), Ok(()));
        assert_eq!(guest.usage(), (0, 1));
        guest.write(other, b"to stdout").expect("an output");
        assert_eq!(guest.pipes.written, [(Output::Stdout, b"to stdout".to_vec())]);
        assert_eq!(guest.descriptors.fd_renumber(file, 1), Err(Errno::BadF));
        assert_eq!(guest.descriptors.fd_renumber(file, 2), Ok(()));
        guest.write(2, b"to the file").expect("a file");
        assert_eq!(guest.stat("tmp/out").map(|stat| stat.size), Ok(11));
        assert_eq!(guest.descriptors.fd_renumber(2, 3), Err(Errno::NotSup));
        assert_eq!(guest.descriptors.fd_renumber(0, 0), Ok(()));
        assert_eq!(guest.descriptors.fd_renumber(9, 9), Err(Errno::BadF));
    }

    #[test]
    fn interpreters_of_one_sandbox_share_files_and_not_descriptors() {
        let mut one = Guest::new();
        let mut two = Guest::with_descriptors(Descriptors::new(&one.tree(), USER));
        let fd = one.open("tmp/f", "w").expect("created");
        one.write(fd, b"shared").expect("room");
        assert_eq!(two.read(fd, 9), Err(Errno::BadF));
        let reader = two.open("tmp/f", "r").expect("there");
        assert_eq!(two.read(reader, 9), Ok(b"shared".to_vec()));
        one.unlink("tmp/f").expect("there");
        one.close(fd).expect("open");
        assert_eq!(one.usage(), (6, 1));
        drop(two);
        assert_eq!(one.usage(), (0, 0));
    }

    #[test]
    fn a_dropped_table_closes_everything() {
        let mut guest = Guest::new();
        let tree = guest.tree();
        for name in ["tmp/a", "tmp/b"] {
            let fd = guest.open(name, "w").expect("created");
            guest.write(fd, b"xyz").expect("room");
            guest.unlink(name).expect("there");
        }
        drop(guest);
        assert_eq!(lock(&tree).usage(), Tree::new(QUOTA, 0).usage());
    }

    #[test]
    fn a_forked_sandbox_goes_on_independently_with_its_open_files() {
        let mut guest = Guest::new();
        let fd = guest.open("tmp/removed", "w+").expect("created");
        guest.write(fd, b"before").expect("room");
        guest.unlink("tmp/removed").expect("there");
        let (_, mut copies) = fork_sandbox(&guest.tree(), &[&guest.descriptors]);
        let mut copy = Guest::with_descriptors(copies.remove(0));
        copy.write(fd, b" and after").expect("room");
        copy.open("tmp/new", "w").expect("created");
        assert_eq!(copy.pread(fd, 99, 0), Ok(b"before and after".to_vec()));
        assert_eq!(guest.pread(fd, 99, 0), Ok(b"before".to_vec()));
        assert_eq!(guest.stat("tmp/new"), Err(Errno::NoEnt));
        assert_eq!((guest.usage(), copy.usage()), ((6, 1), (16, 2)));
        copy.close(fd).expect("open");
        assert_eq!((guest.usage(), copy.usage()), ((6, 1), (0, 1)));
    }

    #[test]
    fn a_fork_without_descriptors_leaves_removed_files_behind() {
        let mut guest = Guest::new();
        let fd = guest.open("tmp/removed", "w").expect("created");
        guest.write(fd, b"before").expect("room");
        guest.unlink("tmp/removed").expect("there");
        let fork = lock(&guest.tree()).fork();
        assert_eq!(fork.usage(), Tree::new(QUOTA, 0).usage());
        assert_eq!(guest.usage(), (6, 1));
    }
}
