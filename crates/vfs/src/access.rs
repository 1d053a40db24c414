//! Checks of what a process may do with a tree, and changes of who may.

use super::error::Fault;
use super::inodes::{Kind, NodeId};
use super::permissions::{MODE_BITS, Permission, User};
use super::tree::Tree;
use super::watches::ChangeKind;

/// Bit of a directory in which only owners remove entries.
const STICKY: u16 = 0o1000;

impl Tree {
    /// Returns the mode bits and the owner of a node.
    pub(super) fn mode_and_owner(&self, node_id: NodeId) -> (u16, User) {
        match node_id {
            NodeId::Own(index) => self.inodes.get(index).map_or((0, User::Root), |inode| (inode.mode, inode.owner)),
            NodeId::Layer { mount, node } => {
                (self.layer(mount).map_or(0, |mounted| mounted.layer.mode(node)), User::Root)
            }
        }
    }

    /// Returns whether the process may use a node so. Root may execute what anybody may.
    pub(super) fn permits(&self, node_id: NodeId, permission: Permission) -> bool {
        if self.credentials.is_privileged() && permission != Permission::Execute {
            return true;
        }
        let (mode, owner) = self.mode_and_owner(node_id);
        if self.credentials.is_privileged() {
            return mode & 0o111 != 0 || self.is_directory(node_id);
        }
        // A user's group is the user's alone, so the bits of the group decide about nobody.
        let shift = if owner == self.credentials.user { 6 } else { 0 };
        mode >> shift & permission.bit() != 0
    }

    pub(super) fn check(&self, node_id: NodeId, permission: Permission) -> Result<(), Fault> {
        match self.permits(node_id, permission) {
            true => Ok(()),
            false => Err(Fault::Denied),
        }
    }

    /// Checks that entries of a directory can be found.
    pub(super) fn check_search(&self, directory: NodeId) -> Result<(), Fault> {
        match self.credentials.is_privileged() || self.permits(directory, Permission::Execute) {
            true => Ok(()),
            false => Err(Fault::Denied),
        }
    }

    /// Checks that entries of a directory can be made or removed.
    pub(super) fn check_entries_writable(&self, directory: NodeId) -> Result<(), Fault> {
        self.check(directory, Permission::Write)?;
        self.check_search(directory)
    }

    /// Checks that the process may remove or rename an entry of a directory whose entries it may change.
    pub(super) fn check_sticky(&self, directory: NodeId, entry: NodeId) -> Result<(), Fault> {
        let (mode, owner) = self.mode_and_owner(directory);
        let is_own = |owner| owner == self.credentials.user;
        match mode & STICKY == 0
            || self.credentials.is_privileged()
            || is_own(owner)
            || is_own(self.mode_and_owner(entry).1)
        {
            true => Ok(()),
            false => Err(Fault::NotOwner),
        }
    }

    /// Checks that the process may change attributes of a node, and returns the node's index.
    pub(super) fn check_owner(&self, node_id: NodeId) -> Result<u32, Fault> {
        let (_, owner) = self.mode_and_owner(node_id);
        match node_id {
            _ if !self.credentials.is_privileged() && owner != self.credentials.user => Err(Fault::NotOwner),
            NodeId::Own(index) => Ok(index),
            NodeId::Layer { .. } => Err(Fault::ReadOnly),
        }
    }

    /// Returns the fault of a change in a read-only layer, which belongs to root.
    pub(super) fn layer_fault(&self) -> Fault {
        match self.credentials.is_privileged() {
            true => Fault::ReadOnly,
            false => Fault::Denied,
        }
    }

    /// Sets the permission bits of a node.
    pub(super) fn set_mode_at(&mut self, node_id: NodeId, mode: u16, now: u64) -> Result<(), Fault> {
        let index = self.check_owner(node_id)?;
        let inode = self.table().get_mut(index).ok_or(Fault::NotFound)?;
        if !matches!(inode.kind, Kind::Link(_)) {
            inode.mode = mode & MODE_BITS;
            inode.times.changed = now;
            self.tell_of(ChangeKind::Attributes, index);
        }
        Ok(())
    }

    /// Gives a node to a user, which only privileged processes may.
    pub(super) fn set_owner_at(&mut self, node_id: NodeId, owner: User, now: u64) -> Result<(), Fault> {
        let index = self.check_owner(node_id)?;
        let (_, before) = self.mode_and_owner(node_id);
        if before != owner && !self.credentials.is_privileged() {
            return Err(Fault::NotOwner);
        }
        let inode = self.table().get_mut(index).ok_or(Fault::NotFound)?;
        inode.owner = owner;
        inode.times.changed = now;
        self.tell_of(ChangeKind::Attributes, index);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::permissions::Credentials;
    use super::super::test_guest::{Guest, QUOTA, fault};
    use super::super::{Errno, FileUse, OpenFile, SharedTree, lock, save_sandbox};
    use super::*;

    fn write(guest: &mut Guest, path: &str) {
        let fd = guest.open(path, "w").expect("creatable");
        guest.write(fd, b"x").expect("room");
        guest.close(fd).expect("open");
    }

    fn set_mode(guest: &Guest, path: &str, mode: u16) {
        lock(&guest.tree()).set_mode(path, mode, 200).expect("the user's own");
    }

    fn mode(guest: &Guest, path: &str) -> u16 {
        lock(&SharedTree::with_credentials(&guest.tree(), Credentials::SERVICE)).stat(path).expect("there").mode
    }

    #[test]
    fn new_files_directories_and_links_have_their_modes_without_the_mask() {
        let mut guest = Guest::new();
        write(&mut guest, "tmp/f");
        guest.mkdir("tmp/d").expect("free");
        guest.symlink("f", "tmp/l").expect("free");
        assert_eq!(["/tmp/f", "/tmp/d", "/tmp/l"].map(|path| mode(&guest, path)), [0o644, 0o755, 0o777]);
        assert_eq!(guest.descriptors.set_mask(0o177_077), 0o022);
        write(&mut guest, "tmp/g");
        guest.mkdir("tmp/e").expect("free");
        assert_eq!(["/tmp/g", "/tmp/e"].map(|path| mode(&guest, path)), [0o600, 0o700]);
        assert_eq!(guest.descriptors.set_mask(0), 0o077);
    }

    #[test]
    fn bits_that_are_off_keep_the_owner_from_reading_and_writing() {
        let mut guest = Guest::new();
        write(&mut guest, "tmp/f");
        set_mode(&guest, "/tmp/f", 0o444);
        assert_eq!(guest.open("tmp/f", "w"), Err(Errno::Acces));
        assert_eq!(guest.open("tmp/f", "r+"), Err(Errno::Acces));
        assert_eq!(guest.open("tmp/f", "r").map(|_| ()), Ok(()));
        set_mode(&guest, "/tmp/f", 0o200);
        assert_eq!(guest.open("tmp/f", "r"), Err(Errno::Acces));
        assert_eq!(guest.open("tmp/f", "a").map(|_| ()), Ok(()));
        let tree = guest.tree();
        set_mode(&guest, "/tmp/f", 0);
        assert_eq!(fault(lock(&tree).read_file("/tmp/f")), Fault::Denied);
        assert_eq!(fault(lock(&tree).write_file("/tmp/f", b"", 300)), Fault::Denied);
        for how in [FileUse::Read, FileUse::Replace, FileUse::Extend] {
            assert_eq!(fault(OpenFile::open(&tree, "/tmp/f", how, 300)), Fault::Denied, "{how:?}");
        }
        assert_eq!(guest.unlink("tmp/f"), Ok(()));
    }

    #[test]
    fn a_directory_needs_bits_to_be_listed_searched_and_changed() {
        let mut guest = Guest::new();
        guest.mkdir("tmp/d").expect("free");
        write(&mut guest, "tmp/d/f");
        let tree = guest.tree();
        set_mode(&guest, "/tmp/d", 0o300);
        assert_eq!(guest.open("tmp/d", "d"), Err(Errno::Acces));
        assert_eq!(fault(lock(&tree).list("/tmp/d", 1)), Fault::Denied);
        let listed = lock(&tree).list("/tmp", 9).expect("this one may be").len();
        assert_eq!((listed, guest.open("tmp/d/f", "r").map(|_| ())), (1, Ok(())));
        set_mode(&guest, "/tmp/d", 0o600);
        assert_eq!(guest.stat("tmp/d/f"), Err(Errno::Acces));
        assert_eq!(guest.open("tmp/d/g", "w"), Err(Errno::Acces));
        set_mode(&guest, "/tmp/d", 0o500);
        assert_eq!(guest.open("tmp/d/g", "w"), Err(Errno::Acces));
        assert_eq!(guest.unlink("tmp/d/f"), Err(Errno::Acces));
        assert_eq!(guest.rename("tmp/d/f", "tmp/f"), Err(Errno::Acces));
        assert_eq!(fault(lock(&tree).remove("/tmp/d", 300)), Fault::Denied);
        set_mode(&guest, "/tmp/d", 0o300);
        assert_eq!(fault(lock(&tree).remove("/tmp/d", 300)), Fault::Denied);
        set_mode(&guest, "/tmp/d", 0o700);
        lock(&tree).remove("/tmp/d", 300).expect("now it may");
    }

    #[test]
    fn the_service_and_root_are_not_bound_by_bits() {
        let mut guest = Guest::new();
        write(&mut guest, "tmp/f");
        set_mode(&guest, "/tmp/f", 0);
        for credentials in [Credentials::SERVICE, Credentials::of(User::Root)] {
            let tree = guest.tree().with_credentials(credentials);
            assert_eq!(lock(&tree).read_file("/tmp/f").as_deref(), Ok(&b"x"[..]));
            lock(&tree).write_file("/tmp/f", b"x", 300).expect("allowed");
            assert_eq!(lock(&tree).may("/tmp/f", Permission::Execute), Ok(false));
            lock(&tree).set_mode("/tmp/f", 0o100, 300).expect("allowed");
            assert_eq!(lock(&tree).may("/tmp/f", Permission::Execute), Ok(true));
            lock(&tree).set_mode("/tmp/f", 0, 300).expect("allowed");
        }
    }

    #[test]
    fn what_root_makes_is_roots_and_not_the_users_to_change() {
        let mut guest = Guest::new();
        let root = guest.tree().with_credentials(Credentials::of(User::Root));
        lock(&root).write_file("/tmp/f", b"x", 200).expect("room");
        lock(&root).make_directory("/tmp/d", 200).expect("free");
        lock(&root).write_file("/tmp/d/g", b"x", 200).expect("room");
        let user = guest.tree();
        assert_eq!(lock(&user).stat("/tmp/f").map(|entry| entry.owner), Ok(User::Root));
        assert_eq!(guest.open("tmp/f", "r").map(|_| ()), Ok(()));
        assert_eq!(guest.open("tmp/f", "w"), Err(Errno::Acces));
        // The sticky bit of /tmp.
        assert_eq!(guest.unlink("tmp/f"), Err(Errno::Perm));
        assert_eq!(fault(lock(&user).remove("/tmp/d", 300)), Fault::NotOwner);
        assert_eq!(fault(lock(&user).set_mode("/tmp/f", 0o777, 300)), Fault::NotOwner);
        assert_eq!(fault(lock(&user).set_owner("/tmp/f", User::User, 300)), Fault::NotOwner);
        assert_eq!(fault(lock(&user).set_file_times("/tmp/f", Some(1), None, 300)), Fault::Denied);
        lock(&root).set_owner("/tmp/f", User::User, 300).expect("root may");
        assert_eq!(guest.unlink("tmp/f"), Ok(()));
        write(&mut guest, "tmp/own");
        assert_eq!(
            [0, 1000, 33].map(|owner| guest.set_owner("tmp/own", owner)),
            [Err(Errno::Perm), Ok(()), Err(Errno::Inval)]
        );
        assert_eq!(fault(lock(&user).set_owner("/tmp/own", User::Root, 300)), Fault::NotOwner);
    }

    #[test]
    fn a_mode_is_set_by_path_and_by_descriptor_and_told_by_stat() {
        let mut guest = Guest::new();
        let fd = guest.open("tmp/f", "w").expect("creatable");
        assert_eq!(guest.set_mode("tmp/f", 0o17_4755), Ok(()));
        assert_eq!(guest.stat("tmp/f").map(|stat| (stat.mode, stat.owner)), Ok((0o4755, 1000)));
        assert_eq!(guest.set_descriptor_mode(fd, 0o600), Ok(()));
        assert_eq!(guest.fstat(fd).map(|stat| stat.mode), Ok(0o600));
        assert_eq!(guest.set_mode("tmp", 0o777), Err(Errno::Perm));
        assert_eq!(guest.set_mode("tmp/none", 0), Err(Errno::NoEnt));
        assert_eq!(guest.set_descriptor_mode(0, 0), Err(Errno::Inval));
    }

    #[test]
    fn modes_owners_and_the_mask_are_saved() {
        let mut guest = Guest::new();
        write(&mut guest, "tmp/f");
        set_mode(&guest, "/tmp/f", 0o750);
        guest.descriptors.set_mask(0o077);
        let root = guest.tree().with_credentials(Credentials::of(User::Root));
        lock(&root).write_file("/tmp/r", b"", 200).expect("room");
        let saved = save_sandbox(&guest.tree(), &[&guest.descriptors]);
        let (tree, mut tables) = saved.load(&super::super::Base::bare()).expect("just saved");
        let told = |path: &str| lock(&tree).stat(path).map(|entry| (entry.mode, entry.owner));
        assert_eq!([told("/tmp/f"), told("/tmp/r")], [Ok((0o750, User::User)), Ok((0o644, User::Root))]);
        let mut loaded = Guest::with_descriptors(tables.remove(0));
        assert_eq!(loaded.open("tmp/r", "w"), Err(Errno::Acces));
        assert_eq!(loaded.descriptors.set_mask(0), 0o077);
        assert_eq!(loaded.usage(), guest.usage());
        assert_eq!(QUOTA.count, 64);
    }
}
