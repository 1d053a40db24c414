//! Changing names in the tree: making, linking, removing, renaming. Every change keeps counts and quota exact.

use super::content::Content;
use super::error::Fault;
use super::inodes::{Directory, Inode, Kind, NodeId, Times, later};
use super::path::{MAX_DEPTH, MAX_PATH};
use super::permissions::{Credentials, DIRECTORY_MODE, FILE_MODE, LINK_MODE, Permission};
use super::tree::Tree;
use super::walk::Reached;
use super::watches::ChangeKind;
use std::sync::Arc;

/// A name in a directory of the tree's own: where an entry may be made or removed.
#[derive(Debug, Clone)]
pub(super) struct Name {
    parent: u32,
    name: Arc<str>,
}

/// An entry that may be removed or renamed.
#[derive(Debug, Clone)]
pub(super) struct Named {
    at: Name,
    index: u32,
}

impl Tree {
    /// The free name a path leads to.
    pub(super) fn free_name(&self, reached: &Reached<'_>) -> Result<Name, Fault> {
        match reached {
            Reached::Missing { parent, name, .. } => self.own_name(*parent, name),
            Reached::Entry { .. } | Reached::Itself { .. } => Err(Fault::Exists),
        }
    }

    /// The existing entry a path leads to, if the program may take it away.
    pub(super) fn taken_name(&self, reached: &Reached<'_>) -> Result<Named, Fault> {
        let (parent, name, node_id) = match reached {
            Reached::Entry { parent, name, node_id } => (*parent, *name, *node_id),
            Reached::Missing { .. } => return Err(Fault::NotFound),
            Reached::Itself { .. } => return Err(Fault::NoName),
        };
        let at = self.own_name(parent, name)?;
        self.check_sticky(parent, node_id)?;
        match node_id {
            NodeId::Own(index) => Ok(Named { at, index }),
            NodeId::Layer { .. } => Err(self.layer_fault()),
        }
    }

    fn own_name(&self, parent: NodeId, name: &str) -> Result<Name, Fault> {
        // What is made there would be the tests' own to those who see it.
        if self.hides(parent, name) {
            return Err(Fault::Protected);
        }
        let index = match parent {
            NodeId::Own(index) => index,
            NodeId::Layer { .. } => return Err(self.layer_fault()),
        };
        let alive = self.inodes.get(index).is_some_and(|inode| inode.names > 0);
        if !alive {
            return Err(Fault::NotFound);
        }
        self.check_entries_writable(parent)?;
        Ok(Name { parent: index, name: Arc::from(name) })
    }

    pub(super) fn make_file(&mut self, at: Name, now: u64) -> Result<NodeId, Fault> {
        self.take_entry()?;
        Ok(self.attach_new(at, Kind::File(Content::default()), now))
    }

    pub(super) fn make_directory_at(&mut self, at: Name, now: u64) -> Result<NodeId, Fault> {
        if self.depth(at.parent) >= MAX_DEPTH {
            return Err(Fault::TooDeep);
        }
        self.take_entry()?;
        let directory = Directory::new(at.parent, Arc::clone(&at.name));
        Ok(self.attach_new(at, Kind::Directory(directory), now))
    }

    pub(super) fn make_link(&mut self, at: Name, text: &str, now: u64) -> Result<NodeId, Fault> {
        if text.is_empty() {
            return Err(Fault::NotFound);
        }
        if text.len() > MAX_PATH {
            return Err(Fault::NameTooLong);
        }
        self.check_entries(1)?;
        self.take_bytes(text.len() as u64)?;
        self.take_entry()?;
        Ok(self.attach_new(at, Kind::Link(Arc::from(text)), now))
    }

    pub(super) fn make_pipe(&mut self, at: Name, now: u64) -> Result<NodeId, Fault> {
        self.take_entry()?;
        Ok(self.attach_new(at, Kind::NamedPipe, now))
    }

    /// Gives an existing file one more name.
    pub(super) fn add_name(&mut self, at: Name, node_id: NodeId, now: u64) -> Result<(), Fault> {
        let index = match node_id {
            NodeId::Own(index) => index,
            NodeId::Layer { .. } => return Err(Fault::CrossLayer),
        };
        let inode = self.inodes.get(index).ok_or(Fault::NotFound)?;
        match inode.kind {
            Kind::Directory(_) => return Err(Fault::DirectoryLink),
            Kind::Null => return Err(Fault::Protected),
            Kind::File(_) | Kind::Link(_) | Kind::NamedPipe => {}
        }
        self.take_entry()?;
        if let Some(inode) = self.table().get_mut(index) {
            inode.names += 1;
            inode.times.changed = now;
        }
        self.attach(at, index, now);
        Ok(())
    }

    /// Removes a name that leads to anything but a directory.
    pub(super) fn remove_file(&mut self, named: &Named, now: u64) -> Result<(), Fault> {
        if self.is_directory(NodeId::Own(named.index)) {
            return Err(Fault::IsADirectory);
        }
        self.check_unfixed(named.index)?;
        self.detach(named, ChangeKind::Remove, now);
        self.drop_name(named.index, now);
        Ok(())
    }

    /// Removes an empty directory.
    pub(super) fn remove_directory_at(&mut self, named: &Named, now: u64) -> Result<(), Fault> {
        let directory = self.inodes.directory(named.index).ok_or(Fault::NotADirectory)?;
        if !directory.is_empty() {
            return Err(Fault::NotEmpty);
        }
        self.check_unfixed(named.index)?;
        self.detach(named, ChangeKind::Remove, now);
        self.drop_name(named.index, now);
        Ok(())
    }

    /// Removes anything, a directory with all it holds.
    pub(super) fn remove_all(&mut self, named: &Named, now: u64) -> Result<(), Fault> {
        // Whatever holds something of the sandbox's own is its own too, so this one check covers all below.
        self.check_unfixed(named.index)?;
        self.check_removable(named.index)?;
        self.tell_removal_below(named.index);
        self.detach(named, ChangeKind::Remove, now);
        let mut doomed = vec![named.index];
        while let Some(index) = doomed.pop() {
            if let Some(directory) = self.table().directory_mut(index) {
                doomed.extend(directory.clear().into_iter().filter_map(|node_id| match node_id {
                    NodeId::Own(index) => Some(index),
                    NodeId::Layer { .. } => None,
                }));
            }
            self.drop_name(index, now);
        }
        Ok(())
    }

    /// Checks that the process may empty a directory and all below it.
    fn check_removable(&self, index: u32) -> Result<(), Fault> {
        if self.credentials.is_privileged() {
            return Ok(());
        }
        let mut open = vec![index];
        while let Some(index) = open.pop() {
            let Some(directory) = self.inodes.directory(index) else { continue };
            if directory.is_empty() {
                continue;
            }
            let here = NodeId::Own(index);
            self.check(here, Permission::Read)?;
            self.check_entries_writable(here)?;
            for node_id in directory.node_ids() {
                self.check_sticky(here, node_id)?;
                if let NodeId::Own(index) = node_id {
                    open.push(index);
                }
            }
        }
        Ok(())
    }

    /// Returns the destination of a renamed entry.
    pub(super) fn destination(&self, reached: &Reached<'_>) -> Result<Destination, Fault> {
        match reached {
            Reached::Entry { .. } => Ok(Destination::Taken(self.taken_name(reached)?)),
            Reached::Missing { slash, .. } => {
                Ok(Destination::Free { at: self.free_name(reached)?, for_directory: *slash })
            }
            Reached::Itself { .. } => Err(Fault::NoName),
        }
    }

    /// Gives an entry another name, replacing what had it.
    pub(super) fn rename_entry(&mut self, from: &Named, to: Destination, now: u64) -> Result<(), Fault> {
        self.check_unfixed(from.index)?;
        let moves_directory = self.is_directory(NodeId::Own(from.index));
        let at = match &to {
            Destination::Taken(taken) if taken.index == from.index => return Ok(()),
            Destination::Taken(taken) => {
                self.check_replaceable(from.index, taken.index)?;
                &taken.at
            }
            Destination::Free { for_directory: true, .. } if !moves_directory => {
                return Err(Fault::NotADirectory);
            }
            Destination::Free { at, .. } => at,
        };
        if moves_directory {
            self.check_nesting(from.index, at.parent)?;
        }
        match &to {
            Destination::Taken(taken) => {
                // Who watches is told of what takes its place.
                self.detach_quietly(taken, now);
                self.drop_name(taken.index, now);
            }
            Destination::Free { .. } => {}
        }
        self.detach(from, ChangeKind::Rename, now);
        if let Some(inode) = self.table().get_mut(from.index) {
            inode.times.changed = now;
            match &mut inode.kind {
                Kind::Directory(directory) => {
                    directory.parent = at.parent;
                    directory.name = Arc::clone(&at.name);
                }
                Kind::File(_) | Kind::Link(_) | Kind::Null | Kind::NamedPipe => {}
            }
        }
        self.attach(at.clone(), from.index, now);
        Ok(())
    }

    /// Checks that the entry at `replaced` may be replaced by another.
    fn check_replaceable(&self, by: u32, replaced: u32) -> Result<(), Fault> {
        match (self.is_directory(NodeId::Own(by)), self.inodes.directory(replaced)) {
            (true, None) => return Err(Fault::NotADirectory),
            (false, Some(_)) => return Err(Fault::IsADirectory),
            (true, Some(directory)) if !directory.is_empty() => return Err(Fault::NotEmpty),
            (true, Some(_)) | (false, None) => {}
        }
        self.check_unfixed(replaced)
    }

    /// Checks that a directory may move into `parent`: not into itself, and not so deep that its contents would be too
    /// deep.
    fn check_nesting(&self, directory: u32, parent: u32) -> Result<(), Fault> {
        let mut here = parent;
        for _ in 0..=MAX_DEPTH {
            if here == directory {
                return Err(Fault::IntoItself);
            }
            match self.inodes.directory(here) {
                Some(above) if above.parent != here => here = above.parent,
                Some(_) | None => break,
            }
        }
        if self.depth(parent) + self.height(directory) > MAX_DEPTH {
            return Err(Fault::TooDeep);
        }
        Ok(())
    }

    /// Directories from the root down to this one, the root not counted.
    pub(super) fn depth_of(&self, directory: NodeId) -> usize {
        match directory {
            NodeId::Own(index) => self.depth(index),
            NodeId::Layer { .. } => 0,
        }
    }

    pub(super) fn depth(&self, directory: u32) -> usize {
        let mut here = directory;
        for depth in 0..=MAX_DEPTH {
            match self.inodes.directory(here) {
                Some(above) if above.parent != here => here = above.parent,
                Some(_) | None => return depth,
            }
        }
        MAX_DEPTH + 1
    }

    /// Directories inside each other from this one down, itself counted.
    fn height(&self, directory: u32) -> usize {
        let mut level = vec![directory];
        let mut height = 0;
        while !level.is_empty() && height <= MAX_DEPTH {
            height += 1;
            level = level
                .into_iter()
                .filter_map(|index| self.inodes.directory(index))
                .filter(|directory| directory.subdirectories > 0)
                .flat_map(Directory::node_ids)
                .filter_map(|node_id| match node_id {
                    NodeId::Own(index) => self.inodes.directory(index).map(|_| index),
                    NodeId::Layer { .. } => None,
                })
                .collect();
        }
        height
    }

    fn check_unfixed(&self, index: u32) -> Result<(), Fault> {
        match self.inodes.get(index) {
            Some(inode) if inode.fixed => Err(Fault::Protected),
            Some(_) => Ok(()),
            None => Err(Fault::NotFound),
        }
    }

    fn attach_new(&mut self, at: Name, kind: Kind, now: u64) -> NodeId {
        let Credentials { user: owner, mask, .. } = self.credentials;
        let mode = match kind {
            Kind::Directory(_) => DIRECTORY_MODE & !mask,
            Kind::File(_) | Kind::Null | Kind::NamedPipe => FILE_MODE & !mask,
            Kind::Link(_) => LINK_MODE,
        };
        let times = Times::all(now);
        let index = self.table().add(Inode { number: 0, names: 1, fixed: false, times, mode, owner, kind });
        self.attach(at, index, now);
        NodeId::Own(index)
    }

    /// Makes the entry, and tells who watches.
    fn attach(&mut self, at: Name, index: u32, now: u64) {
        self.note_name(index, at.parent, &at.name);
        self.tell(ChangeKind::Create, at.parent, &at.name);
        let is_directory = self.is_directory(NodeId::Own(index));
        if let Some(parent) = self.changed_directory(at.parent, now) {
            parent.insert(at.name, NodeId::Own(index));
            parent.subdirectories += u32::from(is_directory);
        }
    }

    /// Takes the entry out, and tells who watches why.
    fn detach(&mut self, named: &Named, why: ChangeKind, now: u64) {
        self.tell(why, named.at.parent, &named.at.name);
        self.detach_quietly(named, now);
    }

    fn detach_quietly(&mut self, named: &Named, now: u64) {
        let at = &named.at;
        self.note_lost_name(named.index, at.parent, &at.name);
        let Some(parent) = self.changed_directory(at.parent, now) else {
            return;
        };
        let removed = parent.remove(&at.name);
        if removed.is_some_and(|node_id| self.is_directory(node_id))
            && let Some(parent) = self.table().directory_mut(at.parent)
        {
            parent.subdirectories = parent.subdirectories.saturating_sub(1);
        }
    }

    fn changed_directory(&mut self, index: u32, now: u64) -> Option<&mut Directory> {
        let before = self.attributes(NodeId::Own(index)).ok()?.times.modified;
        let inode = self.table().get_mut(index)?;
        inode.times.modified = later(before, now);
        inode.times.changed = now;
        match &mut inode.kind {
            Kind::Directory(directory) => Some(directory),
            Kind::File(_) | Kind::Link(_) | Kind::Null | Kind::NamedPipe => None,
        }
    }

    /// Takes one name from an inode, already out of its directory; frees it if that was the last and nothing has it
    /// open.
    fn drop_name(&mut self, index: u32, now: u64) {
        let Some(inode) = self.table().get_mut(index) else {
            return;
        };
        inode.names = inode.names.saturating_sub(1);
        inode.times.changed = now;
        if inode.names == 0 {
            self.end_watches(index);
            // The last name's entry in the quota goes with the inode, which may still be open.
            self.free_if_unused(index);
        } else {
            self.release_entry();
        }
    }
}

/// Destination of a renamed entry.
#[derive(Debug, Clone)]
pub(super) enum Destination {
    Free {
        at: Name,
        /// The path ends in a slash: only a directory may go there.
        for_directory: bool,
    },
    /// The entry that has the name now makes way.
    Taken(Named),
}

#[cfg(test)]
mod tests {
    use super::super::test_guest::{Guest, QUOTA};
    use super::super::{Errno, FilesQuota, MAX_DEPTH};

    fn content(guest: &mut Guest, path: &str) -> Result<Vec<u8>, Errno> {
        let fd = guest.open(path, "r")?;
        let bytes = guest.read(fd, 100);
        guest.close(fd)?;
        bytes
    }

    fn write(guest: &mut Guest, path: &str, bytes: &[u8]) {
        let fd = guest.open(path, "w").expect("creatable");
        guest.write(fd, bytes).expect("room");
        guest.close(fd).expect("open");
    }

    #[test]
    fn a_removed_file_lives_and_counts_until_its_last_descriptor_closes() {
        let mut guest = Guest::new();
        let fd = guest.open("tmp/f", "w+").expect("created");
        guest.write(fd, b"still here").expect("room");
        let second = guest.open("tmp/f", "r").expect("there");
        guest.unlink("tmp/f").expect("there");
        assert_eq!(guest.stat("tmp/f"), Err(Errno::NoEnt));
        assert_eq!(guest.fstat(fd).map(|stat| stat.links), Ok(0));
        guest.close(fd).expect("open");
        assert_eq!(guest.read(second, 100), Ok(b"still here".to_vec()));
        assert_eq!(guest.usage(), (10, 1));
        guest.close(second).expect("open");
        assert_eq!(guest.usage(), (0, 0));
    }

    #[test]
    fn names_of_one_file_share_its_content_and_count_each_its_bytes_once() {
        let mut guest = Guest::new();
        write(&mut guest, "tmp/a", b"12345");
        guest.link("tmp/a", "tmp/b").expect("free");
        assert_eq!(guest.usage(), (5, 2));
        assert_eq!(guest.stat("tmp/b").map(|stat| stat.links), Ok(2));
        guest.unlink("tmp/a").expect("there");
        assert_eq!((content(&mut guest, "tmp/b"), guest.usage()), (Ok(b"12345".to_vec()), (5, 1)));
        guest.unlink("tmp/b").expect("there");
        assert_eq!(guest.usage(), (0, 0));
    }

    #[test]
    fn directories_get_no_second_name_and_a_taken_name_no_second_file() {
        let mut guest = Guest::new();
        guest.mkdir("tmp/d").expect("free");
        write(&mut guest, "tmp/f", b"");
        assert_eq!(guest.link("tmp/d", "tmp/e"), Err(Errno::Perm));
        assert_eq!(guest.link("tmp/f", "tmp/d"), Err(Errno::Exist));
        assert_eq!(guest.link("tmp/f", "tmp/g/"), Err(Errno::NoEnt));
        assert_eq!(guest.link("tmp/none", "tmp/g"), Err(Errno::NoEnt));
        assert_eq!(guest.link("dev/null", "tmp/g"), Err(Errno::Acces));
        assert_eq!(guest.mkdir("tmp/f"), Err(Errno::Exist));
        assert_eq!(guest.symlink("x", "tmp/d/"), Err(Errno::Exist));
        assert_eq!(guest.symlink("x", "tmp/f/"), Err(Errno::NotDir));
        assert_eq!(guest.symlink("x", "tmp/new/"), Err(Errno::NoEnt));
    }

    #[test]
    fn a_renamed_file_replaces_another_whose_open_descriptor_keeps_the_old_bytes() {
        let mut guest = Guest::new();
        write(&mut guest, "tmp/old", b"old");
        write(&mut guest, "tmp/new", b"newer");
        let fd = guest.open("tmp/old", "r").expect("there");
        guest.rename("tmp/new", "tmp/old").expect("a file onto a file");
        assert_eq!(content(&mut guest, "tmp/old"), Ok(b"newer".to_vec()));
        assert_eq!(guest.read(fd, 9), Ok(b"old".to_vec()));
        assert_eq!(guest.usage(), (8, 2));
        guest.close(fd).expect("open");
        assert_eq!(guest.usage(), (5, 1));
    }

    #[test]
    fn renaming_keeps_kinds_apart_and_full_directories_in_place() {
        let mut guest = Guest::new();
        guest.mkdir("tmp/empty").expect("free");
        guest.mkdir("tmp/full").expect("free");
        write(&mut guest, "tmp/full/f", b"x");
        write(&mut guest, "tmp/file", b"y");
        assert_eq!(guest.rename("tmp/empty", "tmp/full"), Err(Errno::NotEmpty));
        assert_eq!(guest.rename("tmp/empty", "tmp/file"), Err(Errno::NotDir));
        assert_eq!(guest.rename("tmp/file", "tmp/empty"), Err(Errno::IsDir));
        assert_eq!(guest.rename("tmp/file", "tmp/new/"), Err(Errno::NotDir));
        assert_eq!(guest.rename("tmp/none", "tmp/new"), Err(Errno::NoEnt));
        assert_eq!(guest.rename("tmp/file", "tmp/none/new"), Err(Errno::NoEnt));
        assert_eq!(guest.rename("tmp/.", "tmp/new"), Err(Errno::Busy));
        assert_eq!(guest.rename("tmp/full", "tmp/empty/"), Ok(()));
        assert_eq!(content(&mut guest, "tmp/empty/f"), Ok(b"x".to_vec()));
        assert_eq!(guest.usage(), (2, 3));
    }

    #[test]
    fn a_directory_cannot_move_into_itself_or_what_it_holds() {
        let mut guest = Guest::new();
        guest.mkdir("tmp/a").expect("free");
        guest.mkdir("tmp/a/b").expect("free");
        guest.symlink("a/b", "tmp/l").expect("free");
        for target in ["tmp/a/x", "tmp/a/b/x", "tmp/l/x"] {
            assert_eq!(guest.rename("tmp/a", target), Err(Errno::Inval), "{target}");
        }
        assert_eq!(guest.rename("tmp/a/b", "tmp/a"), Err(Errno::NotEmpty));
        assert_eq!(guest.rename("tmp/a", "tmp/a"), Ok(()));
        assert_eq!(guest.rename("tmp/a/b", "tmp/c"), Ok(()));
        assert_eq!(guest.stat("tmp/a").map(|stat| stat.links), Ok(2));
        assert_eq!(guest.stat("tmp").map(|stat| stat.links), Ok(4));
        assert_eq!(guest.names("tmp/c/.."), Ok([".", "..", "a", "l", "c"].map(String::from).to_vec()));
    }

    #[test]
    fn two_names_of_one_file_stay_when_one_is_renamed_to_the_other() {
        let mut guest = Guest::new();
        write(&mut guest, "tmp/a", b"x");
        guest.link("tmp/a", "tmp/b").expect("free");
        assert_eq!(guest.rename("tmp/a", "tmp/b"), Ok(()));
        assert_eq!(guest.usage(), (1, 2));
    }

    #[test]
    fn every_change_of_a_directory_shows_even_where_the_clock_stands_still() {
        let mut guest = Guest::new();
        let mut seen = Vec::new();
        for path in ["tmp/a", "tmp/b", "tmp/c"] {
            guest.mkdir(path).expect("free");
            seen.push(guest.stat("tmp").expect("there").modified);
        }
        guest.utime("tmp", (0, 1 << 60), 0b0101).expect("there");
        guest.mkdir("tmp/d").expect("free");
        seen.push(guest.stat("tmp").expect("there").modified);
        assert_eq!(seen, [100, 1_100, 2_100, 100]);
    }

    #[test]
    fn the_sandboxs_own_directories_stay_where_they_are() {
        let mut guest = Guest::new();
        guest.mkdir("tmp/d").expect("free");
        for path in ["home/user", "tmp/../tmp", "home", "dev"] {
            let renamed = guest.rename(path, "tmp/moved");
            assert_eq!(renamed, Err(Errno::Acces), "{path}");
        }
        assert_eq!(guest.rmdir("home/user"), Err(Errno::Acces));
        assert_eq!(guest.rmdir("home"), Err(Errno::NotEmpty));
        assert_eq!(guest.unlink("dev/null"), Err(Errno::Acces));
        assert_eq!(guest.rename("tmp/d", "home/user"), Err(Errno::Acces));
        assert_eq!(guest.rmdir("."), Err(Errno::Busy));
    }

    #[test]
    fn removing_tells_files_from_directories() {
        let mut guest = Guest::new();
        guest.mkdir("tmp/d").expect("free");
        write(&mut guest, "tmp/f", b"");
        guest.symlink("d", "tmp/l").expect("free");
        assert_eq!(guest.unlink("tmp/d"), Err(Errno::IsDir));
        assert_eq!(guest.unlink("tmp/d/"), Err(Errno::IsDir));
        assert_eq!(guest.unlink("tmp/d/."), Err(Errno::IsDir));
        assert_eq!(guest.rmdir("tmp/f"), Err(Errno::NotDir));
        assert_eq!(guest.unlink("tmp/f/"), Err(Errno::NotDir));
        assert_eq!(guest.rmdir("tmp/l/"), Err(Errno::NotDir));
        assert_eq!(guest.unlink("tmp/l"), Ok(()));
        assert_eq!(guest.stat("tmp/d").map(|stat| stat.file_type), Ok(3));
    }

    #[test]
    fn in_a_removed_directory_nothing_can_be_made() {
        let mut guest = Guest::new();
        guest.mkdir("tmp/d").expect("free");
        let fd = guest.open("tmp/d", "d").expect("there");
        guest.rmdir("tmp/d").expect("empty");
        assert_eq!(guest.open_in(fd, "f", "w"), Err(Errno::NoEnt));
        assert_eq!(guest.usage(), (0, 1));
        guest.close(fd).expect("open");
        assert_eq!(guest.usage(), (0, 0));
    }

    #[test]
    fn the_entries_quota_counts_files_directories_and_links_alike() {
        let mut guest = Guest::with_quota(FilesQuota { count: 3, ..QUOTA });
        guest.mkdir("tmp/d").expect("free");
        guest.symlink("abc", "tmp/l").expect("free");
        write(&mut guest, "tmp/f", b"");
        assert_eq!(guest.mkdir("tmp/e"), Err(Errno::DQuot));
        assert_eq!(guest.open("tmp/g", "w"), Err(Errno::DQuot));
        assert_eq!(guest.link("tmp/f", "tmp/g"), Err(Errno::DQuot));
        assert_eq!(guest.symlink("x", "tmp/g"), Err(Errno::DQuot));
        assert_eq!(guest.usage(), (3, 3));
        guest.rename("tmp/f", "tmp/d/g").expect("no new entry");
        guest.unlink("tmp/l").expect("there");
        assert_eq!((guest.mkdir("tmp/e"), guest.usage()), (Ok(()), (0, 3)));
    }

    #[test]
    fn the_text_of_a_link_counts_against_the_bytes() {
        let mut guest = Guest::with_quota(FilesQuota { bytes: 10, ..QUOTA });
        assert_eq!(guest.symlink("12345678901", "tmp/l"), Err(Errno::NoSpc));
        assert_eq!(guest.symlink("1234567890", "tmp/l"), Ok(()));
        assert_eq!(guest.usage(), (10, 1));
    }

    #[test]
    fn directories_are_nested_no_deeper_than_the_bound_however_they_got_there() {
        let mut guest = Guest::with_quota(FilesQuota { count: 1000, ..QUOTA });
        let mut path = "tmp".to_owned();
        for _ in 1..MAX_DEPTH {
            path.push_str("/d");
            guest.mkdir(&path).expect("not too deep");
        }
        assert_eq!(guest.mkdir(&format!("{path}/d")), Err(Errno::NameTooLong));
        guest.mkdir("tmp/e").expect("free");
        guest.mkdir("tmp/e/e").expect("free");
        let parent = &path[..path.len() - 2];
        assert_eq!(guest.rename("tmp/e", &format!("{parent}/e")), Err(Errno::NameTooLong));
        assert_eq!(guest.rename("tmp/e/e", &format!("{parent}/e")), Ok(()));
        assert_eq!(guest.rename("tmp/d", "tmp/e/d"), Err(Errno::NameTooLong));
    }
}
