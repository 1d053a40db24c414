//! The calls of preview 1 that work on the content of an open file: reading, writing, seeking, cutting.

use super::descriptors::{Call, Descriptors, Open, What};
use super::errno::Errno;
use super::guest_memory::{Buffers, GuestMemory};
use super::inodes::NodeId;
use super::records::Rights;
use super::tree::{Tree, lock};

/// Offsets are signed in the guest's C library.
const MAX_OFFSET: u64 = i64::MAX as u64;

/// The file a descriptor reads or writes, and its position.
fn file(open: &mut Open) -> Result<(NodeId, &mut u64), Errno> {
    match &mut open.what {
        What::File { node_id, offset } => Ok((*node_id, offset)),
        What::Stdin | What::Output(_) => Err(Errno::SPipe),
        What::Directory { .. } | What::Preopen => Err(Errno::BadF),
    }
}

/// Checks that a descriptor was opened for reading.
fn need_reading(open: &Open) -> Result<(), Errno> {
    match open.what {
        What::Directory { .. } | What::Preopen => Err(Errno::IsDir),
        What::Stdin | What::Output(_) | What::File { .. } => open.need(Rights::READ).map_err(|_| Errno::BadF),
    }
}

/// Checks that a descriptor was opened for writing.
fn need_writing(open: &Open) -> Result<(), Errno> {
    open.need(Rights::WRITE).map_err(|_| Errno::BadF)
}

fn checked_offset(offset: u64) -> Result<u64, Errno> {
    match offset {
        0..=MAX_OFFSET => Ok(offset),
        _ => Err(Errno::Inval),
    }
}

impl Descriptors {
    /// `fd_advise`: takes notice of nothing, as everything is in memory.
    ///
    /// # Errors
    ///
    /// Returns `EINVAL` for unknown advice, `EBADF`, `ESPIPE`.
    pub fn fd_advise(&mut self, fd: u32, offset: u64, length: u64, advice: u32) -> Result<(), Errno> {
        let (open, _) = self.get_mut(fd)?;
        file(open)?;
        open.need(Rights::ADVISE)?;
        checked_offset(offset)?;
        checked_offset(length)?;
        match advice {
            0..=5 => Ok(()),
            _ => Err(Errno::Inval),
        }
    }

    /// `fd_allocate`: makes a file at least `offset + length` bytes long.
    ///
    /// # Errors
    ///
    /// Returns `ENOSPC` past the quota, `EINVAL` for nothing, `EFBIG`, `EBADF`, `ESPIPE`.
    pub fn fd_allocate(&mut self, call: &mut Call<'_>, fd: u32, offset: u64, length: u64) -> Result<(), Errno> {
        let (open, tree) = self.get_mut(fd)?;
        let (node_id, _) = file(open)?;
        need_writing(open)?;
        open.need(Rights::ALLOCATE)?;
        if length == 0 {
            return Err(Errno::Inval);
        }
        let end = offset.checked_add(length).ok_or(Errno::FBig)?;
        let mut tree = lock(tree);
        if end > tree.length(node_id) {
            tree.resize(node_id, end, call.now)?;
        }
        Ok(())
    }

    /// `fd_datasync`: nothing to do.
    ///
    /// # Errors
    ///
    /// Returns `EBADF`.
    pub fn fd_datasync(&self, fd: u32) -> Result<(), Errno> {
        self.get(fd).map(|_| ())
    }

    /// `fd_sync`: nothing to do.
    ///
    /// # Errors
    ///
    /// Returns `EBADF`.
    pub fn fd_sync(&self, fd: u32) -> Result<(), Errno> {
        self.get(fd).map(|_| ())
    }

    /// `fd_filestat_set_size`: cuts a file or lengthens it with zeros.
    ///
    /// # Errors
    ///
    /// Returns `ENOSPC` past the quota, `EINVAL` for a file not open for writing or standard input and output, `EBADF`.
    pub fn fd_filestat_set_size(&mut self, call: &mut Call<'_>, fd: u32, size: u64) -> Result<(), Errno> {
        let (open, tree) = self.get_mut(fd)?;
        let (node_id, _) = file(open).map_err(|errno| match errno {
            Errno::SPipe => Errno::Inval,
            other => other,
        })?;
        if !open.rights.contains(Rights::WRITE.with(Rights::SET_SIZE)) {
            return Err(Errno::Inval);
        }
        lock(tree).resize(node_id, size, call.now)?;
        Ok(())
    }

    /// `fd_read`: reads at the descriptor's position and moves it.
    ///
    /// # Errors
    ///
    /// Returns `EBADF` unless open for reading, `EISDIR`, `EFAULT`, `EINVAL` for too many buffers; from
    /// [`Stdio`](super::Stdio).
    pub fn fd_read(&mut self, call: &mut Call<'_>, fd: u32, buffers: u32, count: u32, read: u32) -> Result<(), Errno> {
        let (open, tree) = self.get_mut(fd)?;
        need_reading(open)?;
        let mut memory = GuestMemory::new(call.memory);
        memory.check(read, 4)?;
        let buffers = memory.buffers(buffers, count)?.part(call.part);
        let done = match &mut open.what {
            What::Stdin => memory.scatter(buffers, |buffer, _| call.stdio.read(buffer))?,
            What::File { node_id, offset } => {
                let mut tree = lock(tree);
                let (node_id, start) = (*node_id, *offset);
                let done = memory
                    .scatter(buffers, |buffer, done| Ok(tree.read(node_id, start.saturating_add(done), buffer)?))?;
                *offset = start.saturating_add(u64::from(done));
                tree.mark_read(node_id, call.now);
                done
            }
            What::Output(_) => return Err(Errno::BadF),
            What::Directory { .. } | What::Preopen => return Err(Errno::IsDir),
        };
        memory.write_u32(read, done)
    }

    /// `fd_pread`: reads at `offset` and leaves the descriptor's position alone.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Descriptors::fd_read`]; `ESPIPE` for standard input and output.
    pub fn fd_pread(
        &mut self,
        call: &mut Call<'_>,
        fd: u32,
        buffers: u32,
        count: u32,
        offset: u64,
        read: u32,
    ) -> Result<(), Errno> {
        let (open, tree) = self.get_mut(fd)?;
        need_reading(open)?;
        let (node_id, _) = file(open)?;
        let mut memory = GuestMemory::new(call.memory);
        memory.check(read, 4)?;
        let buffers = memory.buffers(buffers, count)?.part(call.part);
        let offset = checked_offset(offset)?;
        let mut tree = lock(tree);
        let done =
            memory.scatter(buffers, |buffer, done| Ok(tree.read(node_id, offset.saturating_add(done), buffer)?))?;
        tree.mark_read(node_id, call.now);
        memory.write_u32(read, done)
    }

    /// `fd_write`: writes at the descriptor's position, or at the file's end if it appends, and moves the position.
    ///
    /// # Errors
    ///
    /// Returns `EBADF` unless open for writing, `ENOSPC` if not one byte fits the quota, `EFAULT`, `EINVAL` for too
    /// many buffers; from [`Stdio`](super::Stdio).
    pub fn fd_write(
        &mut self,
        call: &mut Call<'_>,
        fd: u32,
        buffers: u32,
        count: u32,
        written: u32,
    ) -> Result<(), Errno> {
        let (open, tree) = self.get_mut(fd)?;
        need_writing(open)?;
        let mut memory = GuestMemory::new(call.memory);
        memory.check(written, 4)?;
        let buffers = memory.buffers(buffers, count)?.part(call.part);
        let appends = open.flags.append();
        let done = match &mut open.what {
            What::Output(output) => memory.gather(buffers, |bytes, _| call.stdio.write(*output, bytes))?,
            What::File { node_id, offset } => {
                let mut tree = lock(tree);
                let start = if appends { tree.length(*node_id) } else { *offset };
                let done = gather_into(&mut tree, *node_id, start, &memory, buffers, call.now)?;
                *offset = start.saturating_add(u64::from(done));
                done
            }
            What::Stdin | What::Directory { .. } | What::Preopen => return Err(Errno::BadF),
        };
        memory.write_u32(written, done)
    }

    /// `fd_pwrite`: writes at `offset`, also in a file that appends, and leaves the descriptor's position alone.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Descriptors::fd_write`]; `ESPIPE` for standard input and output.
    pub fn fd_pwrite(
        &mut self,
        call: &mut Call<'_>,
        fd: u32,
        buffers: u32,
        count: u32,
        offset: u64,
        written: u32,
    ) -> Result<(), Errno> {
        let (open, tree) = self.get_mut(fd)?;
        need_writing(open)?;
        let (node_id, _) = file(open)?;
        let mut memory = GuestMemory::new(call.memory);
        memory.check(written, 4)?;
        let buffers = memory.buffers(buffers, count)?.part(call.part);
        let offset = checked_offset(offset)?;
        let mut tree = lock(tree);
        let done = gather_into(&mut tree, node_id, offset, &memory, buffers, call.now)?;
        memory.write_u32(written, done)
    }

    /// `fd_seek`: moves the descriptor's position from the start (0), from where it is (1) or from the end (2). It may
    /// go past the end.
    ///
    /// # Errors
    ///
    /// Returns `ESPIPE` for standard input and output, `EINVAL` for a position below zero or an unknown origin,
    /// `EBADF`.
    pub fn fd_seek(
        &mut self,
        call: &mut Call<'_>,
        fd: u32,
        offset: i64,
        whence: u32,
        position: u32,
    ) -> Result<(), Errno> {
        let (open, tree) = self.get_mut(fd)?;
        let rights = open.rights;
        let (node_id, current) = file(open)?;
        if !rights.contains(Rights::SEEK) {
            return Err(Errno::NotCapable);
        }
        let mut memory = GuestMemory::new(call.memory);
        memory.check(position, 8)?;
        let origin = match whence {
            0 => 0,
            1 => *current,
            2 => lock(tree).length(node_id),
            _ => return Err(Errno::Inval),
        };
        let moved = origin.checked_add_signed(offset).ok_or(Errno::Inval)?;
        *current = checked_offset(moved)?;
        memory.write_u64(position, moved)
    }

    /// `fd_tell`: the descriptor's position.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Descriptors::fd_seek`].
    pub fn fd_tell(&mut self, call: &mut Call<'_>, fd: u32, position: u32) -> Result<(), Errno> {
        let (open, _) = self.get_mut(fd)?;
        let rights = open.rights;
        let (_, current) = file(open)?;
        if !rights.contains(Rights::TELL) && !rights.contains(Rights::SEEK) {
            return Err(Errno::NotCapable);
        }
        GuestMemory::new(call.memory).write_u64(position, *current)
    }
}

fn gather_into(
    tree: &mut Tree,
    node_id: NodeId,
    start: u64,
    memory: &GuestMemory<'_>,
    buffers: Buffers,
    now: u64,
) -> Result<u32, Errno> {
    memory.gather(buffers, |bytes, done| Ok(tree.write(node_id, start.saturating_add(done), bytes, now)?))
}

#[cfg(test)]
mod tests {
    use super::super::test_guest::{Guest, QUOTA};
    use super::super::{Errno, Output};

    #[test]
    fn reads_and_writes_move_the_position_and_positioned_ones_do_not() {
        let mut guest = Guest::new();
        let fd = guest.open("tmp/f", "w+").expect("created");
        assert_eq!(guest.write(fd, b"hello world"), Ok(11));
        assert_eq!(guest.pwrite(fd, b"HE", 0), Ok(2));
        assert_eq!(guest.pread(fd, 5, 6), Ok(b"world".to_vec()));
        assert_eq!(guest.seek(fd, -5, 1), Ok(6));
        assert_eq!(guest.read(fd, 100), Ok(b"world".to_vec()));
        assert_eq!(guest.read(fd, 100), Ok(vec![]));
        assert_eq!(guest.pread(fd, 5, 0), Ok(b"HEllo".to_vec()));
    }

    #[test]
    fn an_appending_descriptor_writes_at_the_end_wherever_it_stands() {
        let mut guest = Guest::new();
        let first = guest.open("tmp/log", "a").expect("created");
        let second = guest.open("tmp/log", "a").expect("opened");
        guest.write(first, b"one").expect("room");
        guest.seek(second, 0, 0).expect("a file");
        guest.write(second, b"two").expect("room");
        guest.write(first, b"three").expect("room");
        assert_eq!(guest.seek(first, 0, 1), Ok(11));
        let reader = guest.open("tmp/log", "r").expect("there");
        assert_eq!(guest.read(reader, 100), Ok(b"onetwothree".to_vec()));
    }

    #[test]
    fn a_write_of_which_a_part_fits_writes_that_part_and_the_next_fails() {
        let mut guest = Guest::new();
        let fd = guest.open("tmp/f", "w+").expect("created");
        guest.truncate(fd, QUOTA.bytes - 3).expect("fits");
        guest.seek(fd, 0, 2).expect("a file");
        assert_eq!(guest.write(fd, b"abcdef"), Ok(3));
        assert_eq!(guest.write(fd, b"def"), Err(Errno::NoSpc));
        assert_eq!(guest.usage(), (QUOTA.bytes, 1));
        assert_eq!(guest.pread(fd, 9, QUOTA.bytes - 3), Ok(b"abc".to_vec()));
    }

    #[test]
    fn one_byte_far_beyond_the_quota_is_refused_and_takes_nothing() {
        let mut guest = Guest::new();
        let fd = guest.open("tmp/f", "w+").expect("created");
        assert_eq!(guest.seek(fd, 1 << 40, 0), Ok(1 << 40));
        assert_eq!(guest.write(fd, b"x"), Err(Errno::NoSpc));
        assert_eq!(guest.pwrite(fd, b"x", i64::MAX as u64), Err(Errno::NoSpc));
        assert_eq!(guest.pwrite(fd, b"x", u64::MAX), Err(Errno::Inval));
        assert_eq!(guest.truncate(fd, 1 << 40), Err(Errno::NoSpc));
        assert_eq!(guest.truncate(fd, u64::MAX), Err(Errno::NoSpc));
        let allocated = guest.call(|fds, call| fds.fd_allocate(call, fd, 1 << 40, 1));
        assert_eq!(allocated, Err(Errno::NoSpc));
        assert_eq!(guest.usage(), (0, 1));
    }

    #[test]
    fn holes_count_as_written_and_read_as_zeros() {
        let mut guest = Guest::new();
        let fd = guest.open("tmp/f", "w+").expect("created");
        guest.seek(fd, 1000, 0).expect("a file");
        assert_eq!(guest.write(fd, b"x"), Ok(1));
        assert_eq!(guest.usage(), (1001, 1));
        assert_eq!(guest.pread(fd, 3, 998), Ok(vec![0, 0, b'x']));
        guest.truncate(fd, 10).expect("shrinks");
        assert_eq!(guest.usage(), (10, 1));
    }

    #[test]
    fn allocating_lengthens_a_file_and_never_shortens_it() {
        let mut guest = Guest::new();
        let fd = guest.open("tmp/f", "w+").expect("created");
        let allocate =
            |guest: &mut Guest, offset, length| guest.call(|fds, call| fds.fd_allocate(call, fd, offset, length));
        assert_eq!(allocate(&mut guest, 10, 10), Ok(()));
        assert_eq!(allocate(&mut guest, 0, 5), Ok(()));
        assert_eq!(allocate(&mut guest, 0, 0), Err(Errno::Inval));
        assert_eq!(allocate(&mut guest, u64::MAX, 2), Err(Errno::FBig));
        assert_eq!(guest.usage(), (20, 1));
    }

    #[test]
    fn a_descriptor_does_only_what_it_was_opened_for() {
        let mut guest = Guest::new();
        let writer = guest.open("tmp/f", "w").expect("created");
        let reader = guest.open("tmp/f", "r").expect("there");
        assert_eq!(guest.read(writer, 1), Err(Errno::BadF));
        assert_eq!(guest.write(reader, b"x"), Err(Errno::BadF));
        assert_eq!(guest.truncate(reader, 0), Err(Errno::Inval));
        assert_eq!(guest.read(3, 1), Err(Errno::IsDir));
        assert_eq!(guest.write(3, b"x"), Err(Errno::BadF));
        assert_eq!(guest.seek(3, 0, 0), Err(Errno::BadF));
        assert_eq!(guest.read(99, 1), Err(Errno::BadF));
    }

    #[test]
    fn standard_input_and_output_go_to_the_caller_and_cannot_seek() {
        let mut guest = Guest::new();
        guest.pipes.input = b"typed".to_vec();
        assert_eq!(guest.read(0, 100), Ok(b"typed".to_vec()));
        assert_eq!(guest.read(0, 100), Ok(vec![]));
        assert_eq!(guest.write(1, b"out"), Ok(3));
        assert_eq!(guest.write(2, b"err"), Ok(3));
        let expected = [(Output::Stdout, b"out".to_vec()), (Output::Stderr, b"err".to_vec())];
        assert_eq!(guest.pipes.written, expected);
        assert_eq!(guest.seek(1, 0, 1), Err(Errno::SPipe));
        assert_eq!(guest.pread(0, 1, 0), Err(Errno::SPipe));
        assert_eq!(guest.write(0, b"x"), Err(Errno::BadF));
        assert_eq!(guest.read(1, 1), Err(Errno::BadF));
    }

    #[test]
    fn a_position_below_zero_or_an_unknown_origin_is_refused() {
        let mut guest = Guest::new();
        let fd = guest.open("tmp/f", "w+").expect("created");
        assert_eq!(guest.seek(fd, -1, 0), Err(Errno::Inval));
        assert_eq!(guest.seek(fd, i64::MIN, 2), Err(Errno::Inval));
        assert_eq!(guest.seek(fd, 0, 3), Err(Errno::Inval));
        assert_eq!(guest.seek(fd, i64::MAX, 0), Ok(i64::MAX as u64));
        assert_eq!(guest.seek(fd, 1, 1), Err(Errno::Inval));
    }

    #[test]
    fn dev_null_swallows_everything_and_holds_nothing() {
        let mut guest = Guest::new();
        let fd = guest.open("dev/null", "w+").expect("there");
        assert_eq!(guest.write(fd, b"gone"), Ok(4));
        assert_eq!(guest.pread(fd, 4, 0), Ok(vec![]));
        assert_eq!(guest.usage(), (0, 0));
    }

    #[test]
    fn a_scattered_write_and_read_go_through_all_buffers_in_order() {
        let mut guest = Guest::new();
        let fd = guest.open("tmp/f", "w+").expect("created");
        guest.memory[100..106].copy_from_slice(b"abcdef");
        let record = |guest: &mut Guest, at: usize, address: u32, length: u32| {
            guest.memory[at..at + 4].copy_from_slice(&address.to_le_bytes());
            guest.memory[at + 4..at + 8].copy_from_slice(&length.to_le_bytes());
        };
        record(&mut guest, 0, 103, 3);
        record(&mut guest, 8, 0, 0);
        record(&mut guest, 16, 100, 3);
        guest.call(|fds, call| fds.fd_write(call, fd, 0, 3, 64)).expect("room");
        guest.call(|fds, call| fds.fd_pread(call, fd, 0, 3, 1, 64)).expect("readable");
        assert_eq!(&guest.memory[100..106], b"bccefa");
    }

    #[test]
    fn a_result_address_outside_memory_fails_before_anything_happens() {
        let mut guest = Guest::new();
        let fd = guest.open("tmp/f", "w+").expect("created");
        let end = guest.memory.len() as u32;
        guest.memory[0..8].copy_from_slice(&[0, 1, 0, 0, 4, 0, 0, 0]);
        let written = guest.call(|fds, call| fds.fd_write(call, fd, 0, 1, end - 3));
        assert_eq!(written, Err(Errno::Fault));
        assert_eq!(guest.usage(), (0, 1));
        let buffers = guest.call(|fds, call| fds.fd_write(call, fd, end - 7, 1, 64));
        assert_eq!(buffers, Err(Errno::Fault));
    }

    #[test]
    fn a_read_moves_the_access_time_once_after_each_change() {
        let mut guest = Guest::new();
        let fd = guest.open("tmp/f", "w+").expect("created");
        guest.write(fd, b"x").expect("room");
        let mut times = Vec::new();
        for now in [200, 300] {
            guest.now = now;
            guest.pread(fd, 1, 0).expect("readable");
            times.push(guest.fstat(fd).expect("open").accessed);
        }
        guest.now = 400;
        guest.pwrite(fd, b"y", 0).expect("room");
        guest.now = 500;
        guest.pread(fd, 1, 0).expect("readable");
        let stat = guest.fstat(fd).expect("open");
        assert_eq!(times, [200, 200]);
        assert_eq!((stat.accessed, stat.modified, stat.changed), (500, 400, 400));
    }
}
