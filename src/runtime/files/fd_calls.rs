//! The calls of preview 1 that work on a descriptor itself: what it is, its rights, and reading a directory.

use super::descriptors::{Call, Descriptors, Open, PREOPEN_NAME, What};
use super::errno::Errno;
use super::guest_memory::GuestMemory;
use super::inodes::{Place, ROOT};
use super::records::{self, DescriptorFlags, Rights};
use super::tree::lock;

/// The place behind a descriptor; none for standard input and output.
fn place(open: &Open) -> Option<Place> {
    match open.what {
        What::File { place, .. } | What::Directory { place } => Some(place),
        What::Preopen => Some(ROOT),
        What::Stdin | What::Output(_) => None,
    }
}

impl Descriptors {
    /// `fd_fdstat_get`: a descriptor's type, flags and rights. Standard input and output are no terminal.
    ///
    /// # Errors
    ///
    /// `EBADF`, `EFAULT`.
    pub fn fd_fdstat_get(&self, call: &mut Call<'_>, fd: u32, fdstat: u32) -> Result<(), Errno> {
        let open = self.get(fd)?;
        let file_type = open.file_type(&lock(&self.tree));
        let mut memory = GuestMemory::new(call.memory);
        records::write_fdstat(
            &mut memory,
            fdstat,
            file_type,
            open.flags,
            open.rights,
            open.inheriting,
        )
    }

    /// `fd_fdstat_set_flags`: whether writes append; the other flags are kept and change nothing.
    ///
    /// # Errors
    ///
    /// `EINVAL` for unknown flags, `EBADF`, `ENOTCAPABLE`.
    pub fn fd_fdstat_set_flags(&mut self, fd: u32, flags: u32) -> Result<(), Errno> {
        let (open, _) = self.get_mut(fd)?;
        let flags = DescriptorFlags::parse(flags)?;
        match open.what {
            What::Stdin | What::Output(_) => {}
            What::File { .. } | What::Directory { .. } | What::Preopen => {
                open.need(Rights::SET_FLAGS)?;
            }
        }
        open.flags = flags;
        Ok(())
    }

    /// `fd_fdstat_set_rights`: gives rights up.
    ///
    /// # Errors
    ///
    /// `ENOTCAPABLE` for rights it does not have, `EBADF`; `ENOTSUP` for descriptor 3, which every path needs.
    pub fn fd_fdstat_set_rights(
        &mut self,
        fd: u32,
        rights: u64,
        inheriting: u64,
    ) -> Result<(), Errno> {
        let (open, _) = self.get_mut(fd)?;
        let (rights, inheriting) = (Rights(rights), Rights(inheriting));
        if !open.rights.contains(rights) || !open.inheriting.contains(inheriting) {
            return Err(Errno::NotCapable);
        }
        match open.what {
            What::Preopen => return Err(Errno::NotSup),
            What::Stdin | What::Output(_) | What::File { .. } | What::Directory { .. } => {}
        }
        (open.rights, open.inheriting) = (rights, inheriting);
        Ok(())
    }

    /// `fd_filestat_get`: an open file's attributes.
    ///
    /// # Errors
    ///
    /// `EBADF`, `EFAULT`, `ENOTCAPABLE`.
    pub fn fd_filestat_get(
        &self,
        call: &mut Call<'_>,
        fd: u32,
        filestat: u32,
    ) -> Result<(), Errno> {
        let open = self.get(fd)?;
        open.need(Rights::STAT)?;
        let mut memory = GuestMemory::new(call.memory);
        match place(open) {
            Some(place) => {
                let attributes = lock(&self.tree).attributes(place)?;
                records::write_filestat(&mut memory, filestat, &attributes)
            }
            None => records::write_stdio_filestat(&mut memory, filestat),
        }
    }

    /// `fd_filestat_set_times`: sets an open file's access and modification times.
    ///
    /// # Errors
    ///
    /// `EINVAL` for contradicting flags, `EROFS` in a layer, `EBADF`, `ENOTCAPABLE`.
    pub fn fd_filestat_set_times(
        &mut self,
        call: &mut Call<'_>,
        fd: u32,
        accessed: u64,
        modified: u64,
        flags: u32,
    ) -> Result<(), Errno> {
        let open = self.get(fd)?;
        let place = place(open).ok_or(Errno::Inval)?;
        open.need(Rights::SET_TIMES)?;
        let (accessed, modified) = records::times_to_set(accessed, modified, flags, call.now)?;
        lock(&self.tree).set_times(place, accessed, modified, call.now)?;
        Ok(())
    }

    /// `fd_prestat_get`: that descriptor 3 is a directory open from the start, and how long its name is.
    ///
    /// # Errors
    ///
    /// `EBADF` for every other number, which ends the C library's search for such directories.
    pub fn fd_prestat_get(&self, call: &mut Call<'_>, fd: u32, prestat: u32) -> Result<(), Errno> {
        self.need_preopen(fd)?;
        records::write_prestat(&mut GuestMemory::new(call.memory), prestat, PREOPEN_NAME)
    }

    /// `fd_prestat_dir_name`: the name of descriptor 3, without a NUL.
    ///
    /// # Errors
    ///
    /// `ENAMETOOLONG` if `length` is too short for it, `EBADF` for every other number, `EFAULT`.
    pub fn fd_prestat_dir_name(
        &self,
        call: &mut Call<'_>,
        fd: u32,
        name: u32,
        length: u32,
    ) -> Result<(), Errno> {
        self.need_preopen(fd)?;
        if (length as usize) < PREOPEN_NAME.len() {
            return Err(Errno::NameTooLong);
        }
        GuestMemory::new(call.memory).write(name, PREOPEN_NAME.as_bytes())
    }

    fn need_preopen(&self, fd: u32) -> Result<(), Errno> {
        match self.get(fd)?.what {
            What::Preopen => Ok(()),
            What::Stdin | What::Output(_) | What::File { .. } | What::Directory { .. } => {
                Err(Errno::BadF)
            }
        }
    }

    /// `fd_readdir`: entries after the position `cookie`, `.` and `..` first, as many as fit; the last may be cut. Fewer
    /// bytes than `length` mean the end. Entries made or removed meanwhile neither repeat nor hide others.
    ///
    /// # Errors
    ///
    /// `ENOTDIR`, `EBADF`, `EFAULT`, `ENOTCAPABLE`.
    pub fn fd_readdir(
        &self,
        call: &mut Call<'_>,
        fd: u32,
        buffer: u32,
        length: u32,
        cookie: u64,
        used: u32,
    ) -> Result<(), Errno> {
        let directory = self.directory(fd, Rights::READ_DIRECTORY)?;
        let mut memory = GuestMemory::new(call.memory);
        memory.check(used, 4)?;
        let mut room = memory.bytes_mut(buffer, length)?;
        let tree = lock(&self.tree);
        for entry in tree.listed_after(directory, cookie) {
            let record = records::dirent(entry.position, entry.number, entry.name, entry.kind);
            for part in [&record[..], entry.name.as_bytes()] {
                let taken = part.len().min(room.len());
                let (here, rest) = room.split_at_mut(taken);
                here.copy_from_slice(&part[..taken]);
                room = rest;
            }
            if room.is_empty() {
                break;
            }
        }
        // At most `length`, so it fits.
        let left = room.len() as u32;
        memory.write_u32(used, length - left)
    }
}
