//! The calls of preview 1 that work on a path relative to a directory descriptor. Each notes what it tried to reach.

use super::boundary::{Act, Area, Attempts};
use super::descriptors::{Call, Descriptors, Open, What};
use super::errno::Errno;
use super::error::Fault;
use super::guest_memory::GuestMemory;
use super::inodes::Place;
use super::records::{self, DescriptorFlags, OpenFlags, Rights};
use super::tree::{FileKind, Tree, lock};
use super::walk::{LastLink, Reached};

/// What `path_open` is given besides descriptor and path; the numbers as the guest passes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenHow {
    /// `dirflags`: bit 0 follows a symbolic link at the end of the path.
    pub lookup_flags: u32,
    /// `oflags`: create, directory, exclusive, truncate.
    pub open_flags: u32,
    /// `fs_rights_base`.
    pub rights: u64,
    /// `fs_rights_inheriting`.
    pub inheriting: u64,
    /// `fdflags`: append and others.
    pub descriptor_flags: u32,
}

/// A path in guest memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathAt {
    /// The directory descriptor it is relative to.
    pub fd: u32,
    /// Its address.
    pub address: u32,
    /// Its length, bytes.
    pub length: u32,
}

fn last_link(lookup_flags: u32) -> Result<LastLink, Errno> {
    match lookup_flags {
        0 => Ok(LastLink::Keep),
        1 => Ok(LastLink::Follow),
        _ => Err(Errno::Inval),
    }
}

/// Follows a path and says what to do there; with the absolute path, for the record.
fn plan<T>(
    tree: &Tree,
    base: Place,
    path: &str,
    last: LastLink,
    decide: impl FnOnce(&Reached<'_>) -> Result<T, Fault>,
) -> (String, Result<T, Fault>) {
    match tree.walk(base, path, last) {
        Ok(reached) => (tree.reached_path(&reached), decide(&reached)),
        Err(stuck) => (stuck.target, Err(stuck.fault)),
    }
}

/// Notes what came of an operation, and hands it on.
fn note<T>(
    attempts: &mut Attempts,
    tree: &Tree,
    act: Act,
    target: &str,
    result: Result<T, Fault>,
) -> Result<T, Errno> {
    let result = result.map_err(Errno::from);
    let layers = tree.mounts.iter().map(|mount| &*mount.path);
    let outcome = result.as_ref().map(|_| ()).map_err(|errno| *errno);
    attempts.record_file(Area::of(target, layers), act, target, outcome);
    result
}

/// The place of something that exists.
fn existing(reached: &Reached<'_>) -> Result<Place, Fault> {
    match reached {
        Reached::Entry { place, .. } | Reached::Itself { place } => Ok(*place),
        Reached::Missing { .. } => Err(Fault::NotFound),
    }
}

impl Descriptors {
    /// `path_create_directory`.
    ///
    /// # Errors
    ///
    /// `EEXIST`, `ENOENT`, `ENOTDIR`, `EROFS`, `EDQUOT`, `ENAMETOOLONG`, and those every path call has: `EBADF`,
    /// `EFAULT`, `EILSEQ`, `EINVAL`, `ELOOP`, `ENOTCAPABLE` for a path that leaves its directory.
    pub fn path_create_directory(&mut self, call: &mut Call<'_>, at: PathAt) -> Result<(), Errno> {
        let base = self.directory(at.fd, Rights::CREATE_DIRECTORY)?;
        let memory = GuestMemory::new(call.memory);
        let path = memory.path(at.address, at.length)?;
        let tree = &mut *lock(&self.tree);
        let (target, planned) = plan(tree, base, path, LastLink::Never, |reached| {
            tree.free_name(reached)
        });
        let made = planned.and_then(|name| tree.make_directory_at(name, call.now));
        note(call.attempts, tree, Act::MakeDirectory, &target, made)?;
        Ok(())
    }

    /// `path_filestat_get`: the attributes of what is at a path.
    ///
    /// # Errors
    ///
    /// `ENOENT`, `ENOTDIR`, and those every path call has.
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
            Ok(Reached::Entry { place, .. } | Reached::Itself { place }) => {
                let attributes = tree.attributes(place)?;
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
    /// `EINVAL` for contradicting flags, `ENOENT`, `EROFS`, and those every path call has.
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
        let (target, planned) = plan(tree, base, path, last, existing);
        let set = planned.and_then(|place| tree.set_times(place, accessed, modified, call.now));
        note(call.attempts, tree, Act::SetTimes, &target, set)
    }

    /// `path_link`: one more name for a file.
    ///
    /// # Errors
    ///
    /// `EPERM` for a directory, `EXDEV` for a file of a layer, `EEXIST`, `ENOENT`, `EROFS`, `EDQUOT`, and those every
    /// path call has.
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
        let (old_target, source) = plan(tree, old_base, old_path, last, existing);
        let (new_target, name) = plan(tree, new_base, new_path, LastLink::Never, |reached| {
            file_name(tree, reached)
        });
        let linked = source.and_then(|place| tree.add_name(name?, place, call.now));
        note(call.attempts, tree, Act::Link, &old_target, linked)?;
        note(call.attempts, tree, Act::Link, &new_target, linked)
    }

    /// `path_open`: opens a file or directory under the lowest free number.
    ///
    /// # Errors
    ///
    /// `EMFILE`, `ENOENT`, `EEXIST`, `EISDIR` for a directory to write to, `ENOTDIR`, `ELOOP` for a link that may not be
    /// followed, `EROFS`, `EDQUOT`, `ENOTCAPABLE` for rights the directory does not pass on, and those every path call
    /// has.
    pub fn path_open(
        &mut self,
        call: &mut Call<'_>,
        at: PathAt,
        how: OpenHow,
        opened: u32,
    ) -> Result<(), Errno> {
        let base = self.directory(at.fd, Rights::OPEN)?;
        let how = self.parse_how(at.fd, how)?;
        let fd = self.free_number()?;
        let mut memory = GuestMemory::new(call.memory);
        memory.check(opened, 4)?;
        let path = memory.path(at.address, at.length)?;
        let found = {
            let tree = &mut *lock(&self.tree);
            let mut act = Act::Open;
            let (target, planned) = plan(tree, base, path, how.last, |reached| {
                if how.flags.create && matches!(reached, Reached::Missing { .. }) {
                    act = Act::Create;
                }
                how.decide(tree, reached)
            });
            let found = planned.and_then(|planned| how.carry_out(tree, planned, call.now));
            if found.is_ok_and(|place| tree.is_directory(place)) {
                act = Act::OpenDirectory;
            }
            let place = note(call.attempts, tree, act, &target, found)?;
            // Noted while the tree is still held: another interpreter may remove the file right after.
            tree.opened(place);
            (place, tree.is_directory(place))
        };
        let (what, mask) = match found {
            (place, true) => (What::Directory { place }, Rights::DIRECTORY),
            (place, false) => (What::File { place, offset: 0 }, Rights::FILE),
        };
        self.install(
            fd,
            Open {
                what,
                flags: how.descriptor_flags,
                rights: how.rights.only(mask),
                inheriting: how.inheriting,
            },
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
        Ok(How {
            last,
            flags,
            descriptor_flags,
            rights,
            inheriting,
        })
    }

    /// `path_readlink`: the text of a symbolic link, as much as fits.
    ///
    /// # Errors
    ///
    /// `EINVAL` for anything but a link, `ENOENT`, and those every path call has.
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
            let place = existing(reached)?;
            tree.link_text(place).ok_or(Fault::WrongKind)
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
    /// `ENOTEMPTY`, `ENOTDIR`, `EBUSY` for `.`, `EACCES` for a directory of the sandbox's own, `EROFS`, `ENOENT`, and
    /// those every path call has.
    pub fn path_remove_directory(&mut self, call: &mut Call<'_>, at: PathAt) -> Result<(), Errno> {
        let base = self.directory(at.fd, Rights::REMOVE_DIRECTORY)?;
        let memory = GuestMemory::new(call.memory);
        let path = memory.path(at.address, at.length)?;
        let tree = &mut *lock(&self.tree);
        let (target, planned) = plan(tree, base, path, LastLink::Never, |reached| {
            tree.taken_name(reached)
        });
        let removed = planned.and_then(|named| tree.remove_directory_at(&named, call.now));
        note(call.attempts, tree, Act::RemoveDirectory, &target, removed)
    }

    /// `path_rename`: moves a file or directory, replacing a file or an empty directory.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a directory into itself, `EISDIR`, `ENOTDIR`, `ENOTEMPTY`, `EACCES` for a directory of the
    /// sandbox's own, `EBUSY` for `.` and `..`, `EROFS`, `ENOENT`, and those every path call has.
    pub fn path_rename(
        &mut self,
        call: &mut Call<'_>,
        old: PathAt,
        new: PathAt,
    ) -> Result<(), Errno> {
        let old_base = self.directory(old.fd, Rights::RENAME_SOURCE)?;
        let new_base = self.directory(new.fd, Rights::RENAME_TARGET)?;
        let memory = GuestMemory::new(call.memory);
        let old_path = memory.path(old.address, old.length)?;
        let new_path = memory.path(new.address, new.length)?;
        let tree = &mut *lock(&self.tree);
        let (old_target, source) = plan(tree, old_base, old_path, LastLink::Never, |reached| {
            tree.taken_name(reached)
        });
        let (new_target, place) = plan(tree, new_base, new_path, LastLink::Never, |reached| {
            tree.destination(reached)
        });
        let renamed = source.and_then(|named| tree.rename_entry(&named, place?, call.now));
        note(call.attempts, tree, Act::Rename, &old_target, renamed)?;
        note(call.attempts, tree, Act::Rename, &new_target, renamed)
    }

    /// `path_symlink`: makes a symbolic link. Its text may be any path, also one that leads nowhere.
    ///
    /// # Errors
    ///
    /// `EEXIST`, `ENOENT`, `ENOSPC`, `EDQUOT`, `EROFS`, and those every path call has.
    pub fn path_symlink(
        &mut self,
        call: &mut Call<'_>,
        text: u32,
        text_length: u32,
        new: PathAt,
    ) -> Result<(), Errno> {
        let base = self.directory(new.fd, Rights::SYMLINK)?;
        let memory = GuestMemory::new(call.memory);
        let text = memory.text(text, text_length)?;
        let path = memory.path(new.address, new.length)?;
        let tree = &mut *lock(&self.tree);
        let (target, planned) = plan(tree, base, path, LastLink::Never, |reached| {
            file_name(tree, reached)
        });
        let made = planned.and_then(|name| tree.make_link(name, text, call.now));
        note(call.attempts, tree, Act::Symlink, &target, made)?;
        Ok(())
    }

    /// `path_unlink_file`: removes a name of a file or link. What is open stays readable until it is closed.
    ///
    /// # Errors
    ///
    /// `EISDIR` for a directory, `EACCES` for `/dev/null`, `EROFS`, `ENOENT`, and those every path call has.
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
fn file_name(tree: &Tree, reached: &Reached<'_>) -> Result<super::names::Name, Fault> {
    match reached {
        Reached::Missing { slash: true, .. } => Err(Fault::NotFound),
        Reached::Missing { slash: false, .. } | Reached::Entry { .. } | Reached::Itself { .. } => {
            tree.free_name(reached)
        }
    }
}

/// How a file is to be opened, parsed.
struct How {
    last: LastLink,
    flags: OpenFlags,
    descriptor_flags: DescriptorFlags,
    rights: Rights,
    inheriting: Rights,
}

/// What opening comes to.
enum Opening {
    Existing(Place),
    Emptied(Place),
    Created(super::names::Name),
}

impl How {
    fn decide(&self, tree: &Tree, reached: &Reached<'_>) -> Result<Opening, Fault> {
        match reached {
            Reached::Entry { place, .. } | Reached::Itself { place } => {
                self.decide_existing(tree, *place)
            }
            Reached::Missing { .. } if !self.flags.create => Err(Fault::NotFound),
            Reached::Missing { slash: true, .. } => Err(Fault::IsADirectory),
            Reached::Missing { slash: false, .. } => Ok(Opening::Created(tree.free_name(reached)?)),
        }
    }

    fn decide_existing(&self, tree: &Tree, place: Place) -> Result<Opening, Fault> {
        let writes = self.rights.contains(Rights::WRITE) || self.flags.truncate;
        if self.flags.create && self.flags.exclusive {
            return Err(Fault::Exists);
        }
        match tree.kind(place) {
            FileKind::Link if self.flags.directory => Err(Fault::NotADirectory),
            FileKind::Link => Err(Fault::LinkLoop),
            FileKind::Directory if writes || self.flags.create => Err(Fault::IsADirectory),
            FileKind::File | FileKind::Device if self.flags.directory => Err(Fault::NotADirectory),
            FileKind::File if writes && matches!(place, Place::Layer { .. }) => {
                Err(Fault::ReadOnly)
            }
            FileKind::File if self.flags.truncate => Ok(Opening::Emptied(place)),
            FileKind::Directory | FileKind::File | FileKind::Device => Ok(Opening::Existing(place)),
        }
    }

    fn carry_out(&self, tree: &mut Tree, opening: Opening, now: u64) -> Result<Place, Fault> {
        match opening {
            Opening::Existing(place) => Ok(place),
            Opening::Emptied(place) => tree.resize(place, 0, now).map(|()| place),
            Opening::Created(name) => tree.make_file(name, now),
        }
    }
}
