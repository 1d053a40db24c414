//! The calls of preview 1 that work on a descriptor itself: what it is, its rights, and reading a directory.

use super::descriptors::{Call, Descriptors, Open, PREOPEN_NAME, What};
use super::errno::Errno;
use super::guest_memory::GuestMemory;
use super::inodes::{NodeId, ROOT};
use super::path_calls::mode_bits;
use super::records::{self, DescriptorFlags, Rights};
use super::tree::lock;

/// Returns the node behind a descriptor; none for standard input and output.
fn node_id(open: &Open) -> Option<NodeId> {
    match open.what {
        What::File { node_id, .. } | What::Directory { node_id } => Some(node_id),
        What::Preopen => Some(ROOT),
        What::Stdin | What::Output(_) => None,
    }
}

impl Descriptors {
    /// `fd_fdstat_get`: a descriptor's type, flags and rights. Standard input and output are no terminal.
    ///
    /// # Errors
    ///
    /// Returns `EBADF`, `EFAULT`.
    pub fn fd_fdstat_get(&self, call: &mut Call<'_>, fd: u32, fdstat: u32) -> Result<(), Errno> {
        let open = self.get(fd)?;
        let file_type = open.file_type(&lock(&self.tree));
        let mut memory = GuestMemory::new(call.memory);
        records::write_fdstat(&mut memory, fdstat, file_type, open.flags, open.rights, open.inheriting)
    }

    /// `fd_fdstat_set_flags`: whether writes append; the other flags are kept and change nothing.
    ///
    /// # Errors
    ///
    /// Returns `EINVAL` for unknown flags, `EBADF`, `ENOTCAPABLE`.
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
    /// Returns `ENOTCAPABLE` for rights it does not have, `EBADF`; `ENOTSUP` for descriptor 3, which every path needs.
    pub fn fd_fdstat_set_rights(&mut self, fd: u32, rights: u64, inheriting: u64) -> Result<(), Errno> {
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
    /// Returns `EBADF`, `EFAULT`, `ENOTCAPABLE`.
    pub fn fd_filestat_get(&self, call: &mut Call<'_>, fd: u32, filestat: u32) -> Result<(), Errno> {
        let open = self.get(fd)?;
        open.need(Rights::STAT)?;
        let mut memory = GuestMemory::new(call.memory);
        match node_id(open) {
            Some(node_id) => {
                let attributes = lock(&self.tree).attributes(node_id)?;
                records::write_filestat(&mut memory, filestat, &attributes)
            }
            None => records::write_stdio_filestat(&mut memory, filestat),
        }
    }

    /// `fd_filestat_set_times`: sets an open file's access and modification times.
    ///
    /// # Errors
    ///
    /// Returns `EINVAL` for contradicting flags, `EROFS` in a layer, `EBADF`, `ENOTCAPABLE`.
    pub fn fd_filestat_set_times(
        &mut self,
        call: &mut Call<'_>,
        fd: u32,
        accessed: u64,
        modified: u64,
        flags: u32,
    ) -> Result<(), Errno> {
        let open = self.get(fd)?;
        let node_id = node_id(open).ok_or(Errno::Inval)?;
        open.need(Rights::SET_TIMES)?;
        let (accessed, modified) = records::times_to_set(accessed, modified, flags, call.now)?;
        lock(&self.tree).set_times(node_id, accessed, modified, call.now)?;
        Ok(())
    }

    /// `proofbox.fd_set_mode`: sets an open file's permission bits. Preview 1 has no such call.
    ///
    /// # Errors
    ///
    /// Returns `EPERM` for a file of another user, `EINVAL` for standard input and output, `EBADF`.
    pub fn fd_set_mode(&mut self, call: &mut Call<'_>, fd: u32, mode: u32) -> Result<(), Errno> {
        let node_id = node_id(self.get(fd)?).ok_or(Errno::Inval)?;
        lock(&self.tree).set_mode_at(node_id, mode_bits(mode), call.now)?;
        Ok(())
    }

    /// `proofbox.set_mask`: sets the creation mask of the interpreter and returns the old one.
    pub fn set_mask(&mut self, mask: u32) -> u32 {
        let before = self.tree.credentials();
        self.tree = self.tree.with_credentials(before.with_mask(mode_bits(mask)));
        u32::from(before.mask)
    }

    /// `proofbox.user`: the number of the user that the interpreter runs as.
    #[must_use]
    pub fn user(&self) -> u32 {
        self.tree.credentials().user.id()
    }

    /// `fd_prestat_get`: that descriptor 3 is a directory open from the start, and how long its name is.
    ///
    /// # Errors
    ///
    /// Returns `EBADF` for every other number, which ends the C library's search for such directories.
    pub fn fd_prestat_get(&self, call: &mut Call<'_>, fd: u32, prestat: u32) -> Result<(), Errno> {
        self.need_preopen(fd)?;
        records::write_prestat(&mut GuestMemory::new(call.memory), prestat, PREOPEN_NAME)
    }

    /// `fd_prestat_dir_name`: the name of descriptor 3, without a NUL.
    ///
    /// # Errors
    ///
    /// Returns `ENAMETOOLONG` if `length` is too short for it, `EBADF` for every other number, `EFAULT`.
    pub fn fd_prestat_dir_name(&self, call: &mut Call<'_>, fd: u32, name: u32, length: u32) -> Result<(), Errno> {
        self.need_preopen(fd)?;
        if (length as usize) < PREOPEN_NAME.len() {
            return Err(Errno::NameTooLong);
        }
        GuestMemory::new(call.memory).write(name, PREOPEN_NAME.as_bytes())
    }

    fn need_preopen(&self, fd: u32) -> Result<(), Errno> {
        match self.get(fd)?.what {
            What::Preopen => Ok(()),
            What::Stdin | What::Output(_) | What::File { .. } | What::Directory { .. } => Err(Errno::BadF),
        }
    }

    /// `fd_readdir`: entries after the position `cookie`, `.` and `..` first, as many as fit; the last may be cut.
    /// Fewer bytes than `length` mean the end. Entries made or removed meanwhile neither repeat nor hide others.
    ///
    /// # Errors
    ///
    /// Returns `ENOTDIR`, `EBADF`, `EFAULT`, `ENOTCAPABLE`.
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

#[cfg(test)]
mod tests {
    use super::super::Errno;
    use super::super::test_guest::{Guest, parse_dirents};

    fn fdstat(guest: &mut Guest, fd: u32) -> Result<(u8, u8, u64, u64), Errno> {
        guest.call(|fds, call| fds.fd_fdstat_get(call, fd, 0))?;
        Ok((guest.memory[0], guest.memory[2], guest.u64_at(8), guest.u64_at(16)))
    }

    #[test]
    fn no_standard_stream_is_a_terminal() {
        let mut guest = Guest::new();
        for fd in 0..3 {
            let (file_type, _, rights, _) = fdstat(&mut guest, fd).expect("open");
            let seeks = rights & (1 << 2 | 1 << 5);
            assert_eq!((file_type, seeks), (0, 0));
        }
        let null = guest.open("dev/null", "r").expect("there");
        let (file_type, _, rights, _) = fdstat(&mut guest, null).expect("open");
        assert!(file_type == 2 && rights & (1 << 2) != 0);
    }

    #[test]
    fn the_root_passes_on_all_the_c_library_asks_for() {
        let mut guest = Guest::new();
        let (file_type, _, _, inheriting) = fdstat(&mut guest, 3).expect("open");
        let (read, write, list) = (1 << 1, 1 << 6, 1 << 14);
        assert_eq!(file_type, 3);
        assert_eq!(inheriting & (read | write | list), read | write | list);
    }

    #[test]
    fn only_descriptor_three_is_open_from_the_start_and_it_is_the_root() {
        let mut guest = Guest::new();
        guest.call(|fds, call| fds.fd_prestat_get(call, 3, 0)).expect("the root");
        assert_eq!(guest.u64_at(0), 1 << 32);
        guest.call(|fds, call| fds.fd_prestat_dir_name(call, 3, 16, 1)).expect("fits");
        assert_eq!(guest.memory[16], b'/');
        let short = guest.call(|fds, call| fds.fd_prestat_dir_name(call, 3, 16, 0));
        assert_eq!(short, Err(Errno::NameTooLong));
        for fd in [0, 4, u32::MAX] {
            let other = guest.call(|fds, call| fds.fd_prestat_get(call, fd, 0));
            assert_eq!(other, Err(Errno::BadF));
        }
    }

    #[test]
    fn rights_can_be_given_up_and_not_taken_back() {
        let mut guest = Guest::new();
        let fd = guest.open("tmp/f", "w+").expect("created");
        let (_, _, all, inheriting) = fdstat(&mut guest, fd).expect("open");
        let without_write = all & !(1 << 6);
        assert_eq!(guest.descriptors.fd_fdstat_set_rights(fd, without_write, inheriting), Ok(()));
        assert_eq!(guest.write(fd, b"x"), Err(Errno::BadF));
        let back = guest.descriptors.fd_fdstat_set_rights(fd, all, inheriting);
        assert_eq!(back, Err(Errno::NotCapable));
        assert_eq!(guest.descriptors.fd_fdstat_set_rights(3, 0, 0), Err(Errno::NotSup));
    }

    #[test]
    fn appending_can_be_switched_and_unknown_flags_cannot() {
        let mut guest = Guest::new();
        let fd = guest.open("tmp/f", "w+").expect("created");
        guest.write(fd, b"abc").expect("room");
        assert_eq!(guest.descriptors.fd_fdstat_set_flags(fd, 1), Ok(()));
        guest.seek(fd, 0, 0).expect("a file");
        guest.write(fd, b"d").expect("room");
        assert_eq!(guest.pread(fd, 9, 0), Ok(b"abcd".to_vec()));
        assert_eq!(guest.descriptors.fd_fdstat_set_flags(fd, 32), Err(Errno::Inval));
        assert_eq!(fdstat(&mut guest, fd).map(|stat| stat.1), Ok(1));
    }

    #[test]
    fn a_directory_reads_the_same_through_buffers_of_any_size() {
        let mut guest = Guest::new();
        for name in ["one", "a much longer name", "\u{0414}\u{0435}\u{0439}"] {
            let fd = guest.open(&format!("tmp/{name}"), "w").expect("created");
            guest.close(fd).expect("open");
        }
        guest.mkdir("tmp/dir").expect("free");
        let fd = guest.open("tmp", "d").expect("there");
        let whole = guest.list(fd, 4096).expect("a directory");
        let shown: Vec<(&str, u8)> = whole.iter().map(|entry| (&*entry.name, entry.file_type)).collect();
        let expected =
            [(".", 3), ("..", 3), ("one", 4), ("a much longer name", 4), ("\u{0414}\u{0435}\u{0439}", 4), ("dir", 3)];
        assert_eq!(shown, expected);
        for length in 1..200 {
            assert_eq!(guest.list(fd, length).as_ref(), Ok(&whole), "{length}");
        }
    }

    #[test]
    fn listed_inode_numbers_are_those_of_stat() {
        let mut guest = Guest::new();
        guest.mkdir("tmp/d").expect("free");
        guest.mkdir("tmp/d/e").expect("free");
        let fd = guest.open("tmp/d", "d").expect("there");
        for entry in guest.list(fd, 4096).expect("a directory") {
            let stat = guest.stat(&format!("tmp/d/{}", entry.name)).expect("listed");
            assert_eq!((entry.number, entry.file_type), (stat.number, stat.file_type));
            assert_ne!(entry.number, 0);
        }
    }

    #[test]
    fn removing_what_was_read_while_reading_on_hides_nothing() {
        let mut guest = Guest::new();
        for number in 0..30 {
            guest.mkdir(&format!("tmp/{number}")).expect("free");
        }
        let fd = guest.open("tmp", "d").expect("there");
        let mut removed = 0;
        let mut cookie = 0;
        loop {
            let bytes = guest.readdir(fd, 100, cookie).expect("a directory");
            for entry in parse_dirents(&bytes) {
                cookie = entry.next;
                if !entry.name.starts_with('.') {
                    guest.rmdir(&format!("tmp/{}", entry.name)).expect("empty");
                    removed += 1;
                }
            }
            if bytes.len() < 100 {
                break;
            }
        }
        assert_eq!(removed, 30);
    }

    #[test]
    fn only_directories_can_be_listed_and_a_bad_buffer_is_a_fault() {
        let mut guest = Guest::new();
        let file = guest.open("tmp/f", "w+").expect("created");
        assert_eq!(guest.readdir(file, 100, 0), Err(Errno::NotDir));
        assert_eq!(guest.readdir(1, 100, 0), Err(Errno::NotDir));
        assert_eq!(guest.readdir(3, u32::MAX, 0), Err(Errno::Fault));
        assert_eq!(guest.readdir(3, 100, u64::MAX), Ok(vec![]));
        assert_eq!(guest.readdir(3, 0, 0), Ok(vec![]));
    }
}
