//! The calls of preview 1 that work on a path relative to a directory descriptor; opening is in `open_call`. Each notes
//! what it tried to reach.

use super::boundary::{Act, Area, Attempts};
use super::descriptors::{Call, Descriptors};
use super::errno::Errno;
use super::error::Fault;
use super::guest_memory::GuestMemory;
use super::inodes::NodeId;
use super::mount::Purpose;
use super::names::Name;
use super::permissions::{MODE_BITS, User};
use super::records::{self, Rights};
use super::tree::{Tree, lock};
use super::walk::{LastLink, Reached};

/// A path in guest memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathAt {
    /// The directory descriptor it is relative to.
    pub fd: u32,
    /// Address of the path in guest memory.
    pub address: u32,
    /// Length of the path, in bytes.
    pub length: u32,
}

pub(super) fn last_link(lookup_flags: u32) -> Result<LastLink, Errno> {
    match lookup_flags {
        0 => Ok(LastLink::Keep),
        1 => Ok(LastLink::Follow),
        _ => Err(Errno::Inval),
    }
}

/// Follows a path and says what to do there; with the absolute path, for the record.
pub(super) fn plan<T>(
    tree: &Tree,
    base: NodeId,
    path: &str,
    last: LastLink,
    decide: impl FnOnce(&Reached<'_>) -> Result<T, Fault>,
) -> (String, Result<T, Fault>) {
    match tree.walk(base, path, last) {
        Ok(reached) => (tree.reached_path(&reached), decide(&reached)),
        Err(stuck) => (stuck.target, Err(stuck.fault)),
    }
}

/// Mode bits among those that a guest gives.
pub(super) fn mode_bits(mode: u32) -> u16 {
    // The mask leaves no more than fit.
    (mode & u32::from(MODE_BITS)) as u16
}

/// Notes what came of an operation, and hands it on.
pub(super) fn note<T>(
    attempts: &mut Attempts,
    tree: &Tree,
    act: Act,
    target: &str,
    result: Result<T, Fault>,
) -> Result<T, Errno> {
    let result = result.map_err(Errno::from);
    let layers = tree.mounts.iter().filter(|mount| mount.purpose == Purpose::Software).map(|mount| &*mount.path);
    let outcome = result.as_ref().map(|_| ()).map_err(|errno| *errno);
    attempts.record_file(Area::of(target, layers), act, target, outcome);
    result
}

impl Descriptors {
    /// `path_create_directory`.
    ///
    /// # Errors
    ///
    /// Returns `EEXIST`, `ENOENT`, `ENOTDIR`, `EROFS`, `EDQUOT`, `ENAMETOOLONG`, and those every path call has:
    /// `EBADF`, `EFAULT`, `EILSEQ`, `EINVAL`, `ELOOP`, `ENOTCAPABLE` for a path that leaves its directory.
    pub fn path_create_directory(&mut self, call: &mut Call<'_>, at: PathAt) -> Result<(), Errno> {
        let base = self.directory(at.fd, Rights::CREATE_DIRECTORY)?;
        let memory = GuestMemory::new(call.memory);
        let path = memory.path(at.address, at.length)?;
        let tree = &mut *lock(&self.tree);
        let (target, planned) = plan(tree, base, path, LastLink::Never, |reached| tree.free_name(reached));
        let made = planned.and_then(|name| tree.make_directory_at(name, call.now));
        note(call.attempts, tree, Act::MakeDirectory, &target, made)?;
        Ok(())
    }

    /// `path_filestat_get`: the attributes of what is at a path.
    ///
    /// # Errors
    ///
    /// Returns `ENOENT`, `ENOTDIR`, and those every path call has.
    pub fn path_filestat_get(
        &self,
        call: &mut Call<'_>,
        at: PathAt,
        lookup_flags: u32,
        filestat: u32,
    ) -> Result<(), Errno> {
        let base = self.directory(at.fd, Rights::PATH_STAT)?;
        let last = last_link(lookup_flags)?;
        let mut memory = GuestMemory::new(call.memory);
        memory.check(filestat, records::FILESTAT)?;
        let path = memory.path(at.address, at.length)?;
        let tree = &*lock(&self.tree);
        let (target, fault) = match tree.walk(base, path, last) {
            // A look that finds something is never recorded, so its path is not even put together.
            Ok(Reached::Entry { node_id, .. } | Reached::Itself { node_id }) => {
                let attributes = tree.attributes(node_id)?;
                return records::write_filestat(&mut memory, filestat, &attributes);
            }
            Ok(reached @ Reached::Missing { .. }) => (tree.reached_path(&reached), Fault::NotFound),
            Err(stuck) => (stuck.target, stuck.fault),
        };
        note(call.attempts, tree, Act::Stat, &target, Err(fault))
    }

    /// `path_filestat_set_times`; times in nanoseconds since 1970.
    ///
    /// # Errors
    ///
    /// Returns `EINVAL` for contradicting flags, `ENOENT`, `EROFS`, and those every path call has.
    pub fn path_filestat_set_times(
        &mut self,
        call: &mut Call<'_>,
        at: PathAt,
        lookup_flags: u32,
        (accessed, modified): (u64, u64),
        time_flags: u32,
    ) -> Result<(), Errno> {
        let base = self.directory(at.fd, Rights::PATH_SET_TIMES)?;
        let last = last_link(lookup_flags)?;
        let (accessed, modified) = records::times_to_set(accessed, modified, time_flags, call.now)?;
        let memory = GuestMemory::new(call.memory);
        let path = memory.path(at.address, at.length)?;
        let tree = &mut *lock(&self.tree);
        let (target, planned) = plan(tree, base, path, last, |reached| reached.node_id());
        let set = planned.and_then(|node_id| tree.set_times(node_id, accessed, modified, call.now));
        note(call.attempts, tree, Act::SetTimes, &target, set)
    }

    /// `proofbox.path_set_mode`: sets the permission bits of what is at a path. Preview 1 has no such call.
    ///
    /// # Errors
    ///
    /// Returns `EPERM` for an entry of another user, `ENOENT`, and those every path call has.
    pub fn path_set_mode(
        &mut self,
        call: &mut Call<'_>,
        at: PathAt,
        lookup_flags: u32,
        mode: u32,
    ) -> Result<(), Errno> {
        let base = self.directory(at.fd, Rights::PATH_SET_TIMES)?;
        let last = last_link(lookup_flags)?;
        let memory = GuestMemory::new(call.memory);
        let path = memory.path(at.address, at.length)?;
        let tree = &mut *lock(&self.tree);
        let (target, planned) = plan(tree, base, path, last, |reached| reached.node_id());
        let set = planned.and_then(|node_id| tree.set_mode_at(node_id, mode_bits(mode), call.now));
        note(call.attempts, tree, Act::SetMode, &target, set)
    }

    /// `proofbox.path_set_owner`: gives what is at a path to a user. Preview 1 has no such call.
    ///
    /// # Errors
    ///
    /// Returns `EINVAL` for a number of no user, `EPERM` without privileges, `ENOENT`, and those every path call has.
    pub fn path_set_owner(
        &mut self,
        call: &mut Call<'_>,
        at: PathAt,
        lookup_flags: u32,
        owner: u32,
    ) -> Result<(), Errno> {
        let base = self.directory(at.fd, Rights::PATH_SET_TIMES)?;
        let last = last_link(lookup_flags)?;
        let owner = User::ALL.into_iter().find(|user| user.id() == owner).ok_or(Errno::Inval)?;
        let memory = GuestMemory::new(call.memory);
        let path = memory.path(at.address, at.length)?;
        let tree = &mut *lock(&self.tree);
        let (target, planned) = plan(tree, base, path, last, |reached| reached.node_id());
        let set = planned.and_then(|node_id| tree.set_owner_at(node_id, owner, call.now));
        note(call.attempts, tree, Act::SetOwner, &target, set)
    }

    /// `path_link`: one more name for a file.
    ///
    /// # Errors
    ///
    /// Returns `EPERM` for a directory, `EXDEV` for a file of a layer, `EEXIST`, `ENOENT`, `EROFS`, `EDQUOT`, and those
    /// every path call has.
    pub fn path_link(
        &mut self,
        call: &mut Call<'_>,
        old: PathAt,
        old_lookup_flags: u32,
        new: PathAt,
    ) -> Result<(), Errno> {
        let old_base = self.directory(old.fd, Rights::LINK_SOURCE)?;
        let new_base = self.directory(new.fd, Rights::LINK_TARGET)?;
        let last = last_link(old_lookup_flags)?;
        let memory = GuestMemory::new(call.memory);
        let old_path = memory.path(old.address, old.length)?;
        let new_path = memory.path(new.address, new.length)?;
        let tree = &mut *lock(&self.tree);
        let (old_target, source) = plan(tree, old_base, old_path, last, |reached| reached.node_id());
        let (new_target, name) = plan(tree, new_base, new_path, LastLink::Never, |reached| file_name(tree, reached));
        let linked = source.and_then(|node_id| tree.add_name(name?, node_id, call.now));
        let noted = note(call.attempts, tree, Act::Link, &old_target, linked);
        noted.and(note(call.attempts, tree, Act::Link, &new_target, linked))
    }

    /// `path_readlink`: the text of a symbolic link, as much as fits.
    ///
    /// # Errors
    ///
    /// Returns `EINVAL` for anything but a link, `ENOENT`, and those every path call has.
    pub fn path_readlink(
        &self,
        call: &mut Call<'_>,
        at: PathAt,
        buffer: u32,
        length: u32,
        used: u32,
    ) -> Result<(), Errno> {
        let base = self.directory(at.fd, Rights::READ_LINK)?;
        let mut memory = GuestMemory::new(call.memory);
        memory.check(used, 4)?;
        memory.check(buffer, length)?;
        let path = memory.path(at.address, at.length)?;
        let tree = &*lock(&self.tree);
        let (target, text) = plan(tree, base, path, LastLink::Keep, |reached| {
            let node_id = reached.node_id()?;
            tree.link_text(node_id).ok_or(Fault::WrongKind)
        });
        // That something is there, only no link, is what every program resolving a path wants to know.
        let looked = match text {
            Ok(_) | Err(Fault::WrongKind) => Ok(()),
            Err(fault) => Err(fault),
        };
        note(call.attempts, tree, Act::ReadLink, &target, looked)?;
        let text = text?.as_bytes();
        let taken = text.len().min(length as usize);
        memory.write(buffer, &text[..taken])?;
        // At most `length`, so it fits.
        memory.write_u32(used, taken as u32)
    }

    /// `path_remove_directory`.
    ///
    /// # Errors
    ///
    /// Returns `ENOTEMPTY`, `ENOTDIR`, `EBUSY` for `.`, `EACCES` for a directory of the sandbox's own, `EROFS`,
    /// `ENOENT`, and those every path call has.
    pub fn path_remove_directory(&mut self, call: &mut Call<'_>, at: PathAt) -> Result<(), Errno> {
        let base = self.directory(at.fd, Rights::REMOVE_DIRECTORY)?;
        let memory = GuestMemory::new(call.memory);
        let path = memory.path(at.address, at.length)?;
        let tree = &mut *lock(&self.tree);
        let (target, planned) = plan(tree, base, path, LastLink::Never, |reached| tree.taken_name(reached));
        let removed = planned.and_then(|named| tree.remove_directory_at(&named, call.now));
        note(call.attempts, tree, Act::RemoveDirectory, &target, removed)
    }

    /// `path_rename`: moves a file or directory, replacing a file or an empty directory.
    ///
    /// # Errors
    ///
    /// Returns `EINVAL` for a directory into itself, `EISDIR`, `ENOTDIR`, `ENOTEMPTY`, `EACCES` for a directory of the
    /// sandbox's own, `EBUSY` for `.` and `..`, `EROFS`, `ENOENT`, and those every path call has.
    pub fn path_rename(&mut self, call: &mut Call<'_>, old: PathAt, new: PathAt) -> Result<(), Errno> {
        let old_base = self.directory(old.fd, Rights::RENAME_SOURCE)?;
        let new_base = self.directory(new.fd, Rights::RENAME_TARGET)?;
        let memory = GuestMemory::new(call.memory);
        let old_path = memory.path(old.address, old.length)?;
        let new_path = memory.path(new.address, new.length)?;
        let tree = &mut *lock(&self.tree);
        let (old_target, source) = plan(tree, old_base, old_path, LastLink::Never, |reached| tree.taken_name(reached));
        let (new_target, node_id) =
            plan(tree, new_base, new_path, LastLink::Never, |reached| tree.destination(reached));
        let renamed = source.and_then(|named| tree.rename_entry(&named, node_id?, call.now));
        let noted = note(call.attempts, tree, Act::Rename, &old_target, renamed);
        noted.and(note(call.attempts, tree, Act::Rename, &new_target, renamed))
    }

    /// `path_symlink`: makes a symbolic link. Its text may be any path, also one that leads nowhere.
    ///
    /// # Errors
    ///
    /// Returns `EEXIST`, `ENOENT`, `ENOSPC`, `EDQUOT`, `EROFS`, and those every path call has.
    pub fn path_symlink(&mut self, call: &mut Call<'_>, text: u32, text_length: u32, new: PathAt) -> Result<(), Errno> {
        let base = self.directory(new.fd, Rights::SYMLINK)?;
        let memory = GuestMemory::new(call.memory);
        let text = memory.text(text, text_length)?;
        let path = memory.path(new.address, new.length)?;
        let tree = &mut *lock(&self.tree);
        let (target, planned) = plan(tree, base, path, LastLink::Never, |reached| file_name(tree, reached));
        let made = planned.and_then(|name| tree.make_link(name, text, call.now));
        note(call.attempts, tree, Act::Symlink, &target, made)?;
        Ok(())
    }

    /// `path_unlink_file`: removes a name of a file or link. What is open stays readable until it is closed.
    ///
    /// # Errors
    ///
    /// Returns `EISDIR` for a directory, `EACCES` for `/dev/null`, `EROFS`, `ENOENT`, and those every path call has.
    pub fn path_unlink_file(&mut self, call: &mut Call<'_>, at: PathAt) -> Result<(), Errno> {
        let base = self.directory(at.fd, Rights::UNLINK_FILE)?;
        let memory = GuestMemory::new(call.memory);
        let path = memory.path(at.address, at.length)?;
        let tree = &mut *lock(&self.tree);
        let (target, planned) = plan(tree, base, path, LastLink::Never, |reached| match reached {
            Reached::Itself { .. } => Err(Fault::IsADirectory),
            Reached::Entry { .. } | Reached::Missing { .. } => tree.taken_name(reached),
        });
        let removed = planned.and_then(|named| tree.remove_file(&named, call.now));
        note(call.attempts, tree, Act::Delete, &target, removed)
    }
}

/// A free name for anything but a directory: one followed by a slash is none.
fn file_name(tree: &Tree, reached: &Reached<'_>) -> Result<Name, Fault> {
    match reached {
        Reached::Missing { slash: true, .. } => Err(Fault::NotFound),
        Reached::Missing { slash: false, .. } | Reached::Entry { .. } | Reached::Itself { .. } => {
            tree.free_name(reached)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_guest::{Guest, QUOTA};
    use super::super::{Base, Errno, FilesQuota, Layer};
    use bytes::Bytes;

    fn recorded(guest: &Guest) -> Vec<(&str, &str, bool)> {
        guest.attempts.list().iter().map(|attempt| (&*attempt.operation, &*attempt.target, attempt.allowed)).collect()
    }

    fn with_layer() -> Guest {
        let files = [("pkg/mod.py", Bytes::from_static(b"x = 1"))];
        let layer = Layer::new(files, 7).expect("paths agree");
        let base = Base::with_layers([("/usr/lib/site".to_owned(), layer)]).expect("free");
        Guest::on(&base, QUOTA)
    }

    #[test]
    fn a_link_is_read_as_written_and_cut_to_the_buffer() {
        let mut guest = Guest::new();
        guest.symlink("/etc/../x", "tmp/l").expect("free");
        guest.open("tmp/f", "w").expect("created");
        assert_eq!(guest.readlink("tmp/l", 100), Ok("/etc/../x".to_owned()));
        assert_eq!(guest.readlink("tmp/l", 3), Ok("/et".to_owned()));
        assert_eq!(guest.readlink("tmp/f", 100), Err(Errno::Inval));
        assert_eq!(guest.readlink("tmp/none", 100), Err(Errno::NoEnt));
        assert_eq!(guest.stat_with("tmp/l", 0).map(|stat| stat.size), Ok(9));
    }

    #[test]
    fn times_are_set_as_asked() {
        let mut guest = Guest::new();
        guest.open("tmp/f", "w").expect("created");
        guest.now = 500;
        guest.utime("tmp/f", (1, 2), 0b0101).expect("there");
        let stat = guest.stat("tmp/f").expect("there");
        assert_eq!((stat.accessed, stat.modified, stat.changed), (1, 2, 500));
        guest.utime("tmp/f", (0, 0), 0b1010).expect("there");
        let stat = guest.stat("tmp/f").expect("there");
        assert_eq!((stat.accessed, stat.modified), (500, 500));
        assert_eq!(guest.utime("tmp/f", (0, 0), 0b0011), Err(Errno::Inval));
        guest.utime("tmp", (u64::MAX, u64::MAX), 0b0101).expect("there");
        assert_eq!(guest.stat("tmp").map(|stat| stat.modified), Ok(u64::MAX - 1));
    }

    #[test]
    fn a_layer_can_be_read_and_not_changed() {
        let mut guest = with_layer();
        let fd = guest.open("usr/lib/site/pkg/mod.py", "r").expect("in the layer");
        assert_eq!(guest.read(fd, 100), Ok(b"x = 1".to_vec()));
        assert_eq!(guest.stat("usr/lib/site/pkg/mod.py").map(|s| (s.size, s.modified)), Ok((5, 7)));
        assert_eq!(guest.names("usr/lib/site"), Ok([".", "..", "pkg"].map(String::from).to_vec()));
        guest.open("tmp/f", "w").expect("created");
        let refused = [
            guest.open("usr/lib/site/pkg/mod.py", "w").map(|_| ()),
            guest.open("usr/lib/site/new.py", "w").map(|_| ()),
            guest.mkdir("usr/lib/site/pkg/__pycache__"),
            guest.unlink("usr/lib/site/pkg/mod.py"),
            guest.rmdir("usr/lib/site/pkg"),
            guest.rmdir("usr/lib/site"),
            guest.rename("usr/lib/site/pkg", "tmp/pkg"),
            guest.rename("tmp/f", "usr/lib/site/f"),
            guest.rename("tmp/f", "usr/lib/site/pkg/mod.py"),
            guest.utime("usr/lib/site/pkg/mod.py", (0, 0), 0b0101),
        ];
        assert_eq!(refused, [Err(Errno::Acces); 10]);
        assert_eq!(guest.link("usr/lib/site/pkg/mod.py", "tmp/g"), Err(Errno::XDev));
        assert_eq!(guest.rmdir("usr/lib"), Err(Errno::Acces));
        assert_eq!(guest.stat("usr/lib/site/pkg/../../..").map(|s| s.file_type), Ok(3));
        assert_eq!(guest.usage(), (0, 1));
    }

    #[test]
    fn reaching_outside_is_recorded_by_where_it_really_leads() {
        let mut guest = Guest::new();
        guest.symlink("/etc/passwd", "home/user/innocent").expect("free");
        guest.open("home/user/../../../etc/passwd", "r").expect_err("no such file");
        guest.open("home/user/innocent", "r").expect_err("no such file");
        guest.stat("proc/self/environ").expect_err("no such file");
        guest.readlink("proc/self/exe", 9).expect_err("no such file");
        guest.open("home/user/none/../../../etc/shadow", "r").expect_err("no such file");
        guest.rename("etc/passwd", "home/user/x").expect_err("no such file");
        let expected = [
            ("symlink", "/home/user/innocent", true),
            ("open", "/etc/passwd", false),
            ("stat", "/proc/self/environ", false),
            ("readlink", "/proc/self/exe", false),
            ("open", "/etc/shadow", false),
            ("rename", "/etc/passwd", false),
        ];
        assert_eq!(recorded(&guest), expected);
        assert_eq!(guest.attempts.list()[1].count, 2);
    }

    #[test]
    fn what_imports_do_leaves_no_record_and_what_programs_do_does() {
        let mut guest = with_layer();
        for path in ["home/user", "usr/lib/site", "usr/lib/site/pkg"] {
            guest.stat(path).expect("there");
            guest.names(path).expect("a directory");
        }
        guest.stat("home/user/numpy.py").expect_err("no such file");
        guest.stat("usr/lib/site/numpy").expect_err("no such file");
        guest.open("usr/lib/site/pkg/mod.py", "r").expect("in the layer");
        assert_eq!(recorded(&guest), []);
        let fd = guest.open("home/user/out.txt", "w").expect("creatable");
        guest.write(fd, b"x").expect("room");
        guest.open("home/user/out.txt", "r").expect("there");
        guest.mkdir("tmp/d").expect("free");
        guest.rename("home/user/out.txt", "tmp/d/out").expect("free");
        guest.unlink("tmp/d/out").expect("there");
        guest.mkdir("opt").expect("free");
        guest.unlink("usr/lib/site/pkg/mod.py").expect_err("read-only");
        guest.open("usr/lib/site/pkg/mod.py", "r+").expect_err("read-only");
        let expected = [
            ("create", "/home/user/out.txt", true),
            ("open", "/home/user/out.txt", true),
            ("mkdir", "/tmp/d", true),
            ("rename", "/home/user/out.txt", true),
            ("rename", "/tmp/d/out", true),
            ("delete", "/tmp/d/out", true),
            ("mkdir", "/opt", true),
            ("delete", "/usr/lib/site/pkg/mod.py", false),
            ("open", "/usr/lib/site/pkg/mod.py", false),
        ];
        assert_eq!(recorded(&guest), expected);
    }

    #[test]
    fn a_way_out_that_fails_is_recorded_by_where_it_leads() {
        let mut guest = Guest::new();
        guest.open("tmp/f", "w").expect("free");
        guest.rename("tmp/f", "etc/cron.d/f").expect_err("there is no such directory");
        guest.link("tmp/f", "etc/cron.d/f").expect_err("there is no such directory");
        let expected =
            [("create", "/tmp/f", true), ("rename", "/etc/cron.d/f", false), ("link", "/etc/cron.d/f", false)];
        assert_eq!(recorded(&guest), expected);
    }

    #[test]
    fn a_quota_that_is_full_is_no_attempt_on_the_boundary() {
        let mut guest = Guest::with_quota(FilesQuota { count: 0, ..QUOTA });
        guest.open("tmp/f", "w").expect_err("no entry left");
        assert_eq!(recorded(&guest), []);
    }
}
