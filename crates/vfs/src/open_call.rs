//! The call of preview 1 that opens files: `path_open`.

use super::boundary::Act;
use super::descriptors::{Call, Descriptors, Open, What};
use super::errno::Errno;
use super::error::Fault;
use super::guest_memory::GuestMemory;
use super::inodes::NodeId;
use super::names::Name;
use super::path_calls::{PathAt, last_link, note, plan};
use super::permissions::Permission;
use super::records::{DescriptorFlags, OpenFlags, Rights};
use super::tree::{FileKind, Tree, lock};
use super::walk::{LastLink, Reached};

/// Arguments of `path_open` besides descriptor and path; the numbers as the guest passes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenHow {
    /// `dirflags`: bit 0 follows a symbolic link at the end of the path.
    pub lookup_flags: u32,
    /// `oflags`: create, directory, exclusive, truncate.
    pub open_flags: u32,
    /// Rights of the descriptor (`fs_rights_base`).
    pub rights: u64,
    /// Rights that it passes on (`fs_rights_inheriting`).
    pub inheriting: u64,
    /// `fdflags`: append and others.
    pub descriptor_flags: u32,
}

/// Mode in which a file is to be opened, parsed.
struct How {
    last: LastLink,
    flags: OpenFlags,
    descriptor_flags: DescriptorFlags,
    rights: Rights,
    inheriting: Rights,
}

/// Plan for opening a file.
enum Opening {
    Existing(NodeId),
    Emptied(NodeId),
    Created(Name),
}

impl How {
    fn writes(&self) -> bool {
        self.rights.contains(Rights::WRITE) || self.flags.truncate
    }

    fn reads(&self) -> bool {
        !Rights::READ.with(Rights::READ_DIRECTORY).only(self.rights).is_none()
    }

    fn decide(&self, tree: &Tree, reached: &Reached<'_>) -> Result<Opening, Fault> {
        match reached {
            Reached::Entry { node_id, .. } | Reached::Itself { node_id } => self.decide_existing(tree, *node_id),
            Reached::Missing { .. } if !self.flags.create => Err(Fault::NotFound),
            Reached::Missing { slash: true, .. } => Err(Fault::IsADirectory),
            Reached::Missing { slash: false, .. } => Ok(Opening::Created(tree.free_name(reached)?)),
        }
    }

    fn decide_existing(&self, tree: &Tree, node_id: NodeId) -> Result<Opening, Fault> {
        let writes = self.writes();
        if self.flags.create && self.flags.exclusive {
            return Err(Fault::Exists);
        }
        match tree.kind(node_id) {
            FileKind::Link if self.flags.directory => Err(Fault::NotADirectory),
            FileKind::Link => Err(Fault::LinkLoop),
            FileKind::NamedPipe if self.flags.directory => Err(Fault::NotADirectory),
            FileKind::NamedPipe => Err(Fault::NamedPipe),
            FileKind::Directory if writes || self.flags.create => Err(Fault::IsADirectory),
            FileKind::File | FileKind::Device if self.flags.directory => Err(Fault::NotADirectory),
            FileKind::File if writes && matches!(node_id, NodeId::Layer { .. }) => Err(tree.layer_fault()),
            FileKind::Directory | FileKind::File | FileKind::Device => {
                if self.reads() {
                    tree.check(node_id, Permission::Read)?;
                }
                if writes {
                    tree.check(node_id, Permission::Write)?;
                }
                Ok(if self.flags.truncate { Opening::Emptied(node_id) } else { Opening::Existing(node_id) })
            }
        }
    }

    fn carry_out(&self, tree: &mut Tree, opening: Opening, now: u64) -> Result<NodeId, Fault> {
        match opening {
            Opening::Existing(node_id) => Ok(node_id),
            Opening::Emptied(node_id) => tree.resize(node_id, 0, now).map(|()| node_id),
            Opening::Created(name) => tree.make_file(name, now),
        }
    }
}

impl Descriptors {
    /// `path_open`: opens a file or directory under the lowest free number.
    ///
    /// # Errors
    ///
    /// Returns `EMFILE`, `ENOENT`, `EEXIST`, `EISDIR` for a directory to write to, `ENOTDIR`, `ELOOP` for a link that
    /// may not be followed, `EROFS`, `EDQUOT`, `ENOTCAPABLE` for rights the directory does not pass on, and those every
    /// path call has.
    pub fn path_open(&mut self, call: &mut Call<'_>, at: PathAt, how: OpenHow, opened: u32) -> Result<(), Errno> {
        let base = self.directory(at.fd, Rights::OPEN)?;
        let how = self.parse_how(at.fd, how)?;
        let fd = self.free_number()?;
        let mut memory = GuestMemory::new(call.memory);
        memory.check(opened, 4)?;
        let path = memory.path(at.address, at.length)?;
        let found = {
            let tree = &mut *lock(&self.tree);
            let mut act = match how.writes() {
                true => Act::OpenToWrite,
                false => Act::Open,
            };
            let (target, planned) = plan(tree, base, path, how.last, |reached| {
                if how.flags.create && matches!(reached, Reached::Missing { .. }) {
                    act = Act::Create;
                }
                how.decide(tree, reached)
            });
            let found = planned.and_then(|planned| how.carry_out(tree, planned, call.now));
            if found.is_ok_and(|node_id| tree.is_directory(node_id)) {
                act = Act::OpenDirectory;
            }
            let node_id = note(call.attempts, tree, act, &target, found)?;
            // Noted while the tree is still held: another interpreter may remove the file right after.
            tree.opened(node_id);
            (node_id, tree.is_directory(node_id))
        };
        let (what, mask) = match found {
            (node_id, true) => (What::Directory { node_id }, Rights::DIRECTORY),
            (node_id, false) => (What::File { node_id, offset: 0 }, Rights::FILE),
        };
        self.install(
            fd,
            Open { what, flags: how.descriptor_flags, rights: how.rights.only(mask), inheriting: how.inheriting },
        );
        memory.write_u32(opened, fd)
    }

    fn parse_how(&self, fd: u32, how: OpenHow) -> Result<How, Errno> {
        let directory = self.get(fd)?;
        let flags = OpenFlags::parse(how.open_flags)?;
        let descriptor_flags = DescriptorFlags::parse(how.descriptor_flags)?;
        let (rights, inheriting) = (Rights(how.rights), Rights(how.inheriting));
        if !directory.inheriting.contains(rights.with(inheriting)) {
            return Err(Errno::NotCapable);
        }
        if flags.create {
            directory.need(Rights::CREATE_FILE)?;
        }
        if flags.truncate {
            directory.need(Rights::PATH_SET_SIZE)?;
        }
        if flags.create && flags.directory {
            return Err(Errno::Inval);
        }
        let last = match last_link(how.lookup_flags)? {
            LastLink::Follow if !(flags.create && flags.exclusive) => LastLink::Follow,
            LastLink::Follow | LastLink::Keep | LastLink::Never => LastLink::Keep,
        };
        Ok(How { last, flags, descriptor_flags, rights, inheriting })
    }
}

#[cfg(test)]
mod tests {
    use super::super::records::Rights;
    use super::super::test_guest::Guest;
    use super::super::{Errno, OpenHow};

    #[test]
    fn what_open_does_to_what_is_there_follows_its_flags() {
        let mut guest = Guest::new();
        assert_eq!(guest.open("tmp/f", "r"), Err(Errno::NoEnt));
        assert_eq!(guest.open("tmp/f", "x").map(|_| ()), Ok(()));
        assert_eq!(guest.open("tmp/f", "x"), Err(Errno::Exist));
        let fd = guest.open("tmp/f", "r+").expect("there");
        guest.write(fd, b"abc").expect("room");
        guest.open("tmp/f", "a").expect("there");
        assert_eq!(guest.usage(), (3, 1));
        guest.open("tmp/f", "w").expect("there");
        assert_eq!(guest.usage(), (0, 1));
        assert_eq!(guest.open("tmp", "w"), Err(Errno::IsDir));
        assert_eq!(guest.open("tmp", "r+"), Err(Errno::IsDir));
        assert_eq!(guest.open("tmp/f", "d"), Err(Errno::NotDir));
        assert_eq!(guest.open("tmp/f/g", "w"), Err(Errno::NotDir));
        assert_eq!(guest.open("tmp/none/g", "w"), Err(Errno::NoEnt));
    }

    #[test]
    fn open_follows_a_link_only_where_it_may() {
        let mut guest = Guest::new();
        guest.symlink("target", "tmp/l").expect("free");
        let how =
            OpenHow { lookup_flags: 0, open_flags: 0, rights: Rights::READ.0, inheriting: 0, descriptor_flags: 0 };
        assert_eq!(guest.open_how(3, "tmp/l", how), Err(Errno::Loop));
        let directory = OpenHow { open_flags: 2, ..how };
        assert_eq!(guest.open_how(3, "tmp/l", directory), Err(Errno::NotDir));
        assert_eq!(guest.open("tmp/l", "x"), Err(Errno::Exist));
        guest.open("tmp/l", "w").expect("makes what the link leads to");
        assert_eq!(guest.stat_with("tmp/target", 0).map(|stat| stat.file_type), Ok(4));
    }

    #[test]
    fn unknown_flags_and_rights_not_passed_on_are_refused() {
        let mut guest = Guest::new();
        let how = OpenHow { lookup_flags: 0, open_flags: 0, rights: 0, inheriting: 0, descriptor_flags: 0 };
        let refused = [
            (OpenHow { lookup_flags: 2, ..how }, Errno::Inval),
            (OpenHow { open_flags: 16, ..how }, Errno::Inval),
            (OpenHow { open_flags: 3, ..how }, Errno::Inval),
            (OpenHow { descriptor_flags: 32, ..how }, Errno::Inval),
            (OpenHow { rights: 1 << 40, ..how }, Errno::NotCapable),
        ];
        for (how, errno) in refused {
            assert_eq!(guest.open_how(3, "tmp", how), Err(errno), "{how:?}");
        }
        let fd = guest.open_how(3, "tmp", how).expect("no rights needed");
        assert_eq!(guest.open_how(fd, ".", how), Err(Errno::NotCapable));
    }
}
