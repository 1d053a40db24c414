//! The calls of preview 1 that work on the content of an open file: reading, writing, seeking, cutting.

use super::descriptors::{Call, Descriptors, Open, What};
use super::errno::Errno;
use super::guest_memory::{Buffers, GuestMemory};
use super::inodes::Place;
use super::records::Rights;
use super::tree::{Tree, lock};

/// Offsets are signed in the guest's C library.
const MAXIMUM_OFFSET: u64 = i64::MAX as u64;

/// The file a descriptor reads or writes, and its position.
fn file(open: &mut Open) -> Result<(Place, &mut u64), Errno> {
    match &mut open.what {
        What::File { place, offset } => Ok((*place, offset)),
        What::Stdin | What::Output(_) => Err(Errno::SPipe),
        What::Directory { .. } | What::Preopen => Err(Errno::BadF),
    }
}

/// Whether a descriptor was opened for reading.
fn need_reading(open: &Open) -> Result<(), Errno> {
    match open.what {
        What::Directory { .. } | What::Preopen => Err(Errno::IsDir),
        What::Stdin | What::Output(_) | What::File { .. } => {
            open.need(Rights::READ).map_err(|_| Errno::BadF)
        }
    }
}

/// Whether a descriptor was opened for writing.
fn need_writing(open: &Open) -> Result<(), Errno> {
    open.need(Rights::WRITE).map_err(|_| Errno::BadF)
}

fn checked_offset(offset: u64) -> Result<u64, Errno> {
    match offset {
        0..=MAXIMUM_OFFSET => Ok(offset),
        _ => Err(Errno::Inval),
    }
}

impl Descriptors {
    /// `fd_advise`: takes notice of nothing, as everything is in memory.
    ///
    /// # Errors
    ///
    /// `EINVAL` for unknown advice, `EBADF`, `ESPIPE`.
    pub fn fd_advise(
        &mut self,
        fd: u32,
        offset: u64,
        length: u64,
        advice: u32,
    ) -> Result<(), Errno> {
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
    /// `ENOSPC` past the quota, `EINVAL` for nothing, `EFBIG`, `EBADF`, `ESPIPE`.
    pub fn fd_allocate(
        &mut self,
        call: &mut Call<'_>,
        fd: u32,
        offset: u64,
        length: u64,
    ) -> Result<(), Errno> {
        let (open, tree) = self.get_mut(fd)?;
        let (place, _) = file(open)?;
        need_writing(open)?;
        open.need(Rights::ALLOCATE)?;
        if length == 0 {
            return Err(Errno::Inval);
        }
        let end = offset.checked_add(length).ok_or(Errno::FBig)?;
        let mut tree = lock(tree);
        if end > tree.length(place) {
            tree.resize(place, end, call.now)?;
        }
        Ok(())
    }

    /// `fd_datasync`: nothing to do.
    ///
    /// # Errors
    ///
    /// `EBADF`.
    pub fn fd_datasync(&self, fd: u32) -> Result<(), Errno> {
        self.get(fd).map(|_| ())
    }

    /// `fd_sync`: nothing to do.
    ///
    /// # Errors
    ///
    /// `EBADF`.
    pub fn fd_sync(&self, fd: u32) -> Result<(), Errno> {
        self.get(fd).map(|_| ())
    }

    /// `fd_filestat_set_size`: cuts a file or lengthens it with zeros.
    ///
    /// # Errors
    ///
    /// `ENOSPC` past the quota, `EINVAL` for a file not open for writing or standard input and output, `EBADF`.
    pub fn fd_filestat_set_size(
        &mut self,
        call: &mut Call<'_>,
        fd: u32,
        size: u64,
    ) -> Result<(), Errno> {
        let (open, tree) = self.get_mut(fd)?;
        let (place, _) = file(open).map_err(|errno| match errno {
            Errno::SPipe => Errno::Inval,
            other => other,
        })?;
        if !open.rights.contains(Rights::WRITE.with(Rights::SET_SIZE)) {
            return Err(Errno::Inval);
        }
        lock(tree).resize(place, size, call.now)?;
        Ok(())
    }

    /// `fd_read`: reads at the descriptor's position and moves it.
    ///
    /// # Errors
    ///
    /// `EBADF` unless open for reading, `EISDIR`, `EFAULT`, `EINVAL` for too many buffers; from [`Stdio`](super::Stdio).
    pub fn fd_read(
        &mut self,
        call: &mut Call<'_>,
        fd: u32,
        buffers: u32,
        count: u32,
        read: u32,
    ) -> Result<(), Errno> {
        let (open, tree) = self.get_mut(fd)?;
        need_reading(open)?;
        let mut memory = GuestMemory::new(call.memory);
        memory.check(read, 4)?;
        let buffers = memory.buffers(buffers, count)?;
        let done = match &mut open.what {
            What::Stdin => memory.scatter(buffers, |buffer, _| call.stdio.read(buffer))?,
            What::File { place, offset } => {
                let mut tree = lock(tree);
                let (place, start) = (*place, *offset);
                let done = memory.scatter(buffers, |buffer, done| {
                    Ok(tree.read(place, start.saturating_add(done), buffer)?)
                })?;
                *offset = start.saturating_add(u64::from(done));
                tree.mark_read(place, call.now);
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
    /// As [`Descriptors::fd_read`]; `ESPIPE` for standard input and output.
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
        let (place, _) = file(open)?;
        let mut memory = GuestMemory::new(call.memory);
        memory.check(read, 4)?;
        let buffers = memory.buffers(buffers, count)?;
        let offset = checked_offset(offset)?;
        let mut tree = lock(tree);
        let done = memory.scatter(buffers, |buffer, done| {
            Ok(tree.read(place, offset.saturating_add(done), buffer)?)
        })?;
        tree.mark_read(place, call.now);
        memory.write_u32(read, done)
    }

    /// `fd_write`: writes at the descriptor's position, or at the file's end if it appends, and moves the position.
    ///
    /// # Errors
    ///
    /// `EBADF` unless open for writing, `ENOSPC` if not one byte fits the quota, `EFAULT`, `EINVAL` for too many
    /// buffers; from [`Stdio`](super::Stdio).
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
        let buffers = memory.buffers(buffers, count)?;
        let appends = open.flags.append();
        let done = match &mut open.what {
            What::Output(output) => {
                memory.gather(buffers, |bytes, _| call.stdio.write(*output, bytes))?
            }
            What::File { place, offset } => {
                let mut tree = lock(tree);
                let start = if appends {
                    tree.length(*place)
                } else {
                    *offset
                };
                let done = gather_into(&mut tree, *place, start, &memory, buffers, call.now)?;
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
    /// As [`Descriptors::fd_write`]; `ESPIPE` for standard input and output.
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
        let (place, _) = file(open)?;
        let mut memory = GuestMemory::new(call.memory);
        memory.check(written, 4)?;
        let buffers = memory.buffers(buffers, count)?;
        let offset = checked_offset(offset)?;
        let mut tree = lock(tree);
        let done = gather_into(&mut tree, place, offset, &memory, buffers, call.now)?;
        memory.write_u32(written, done)
    }

    /// `fd_seek`: moves the descriptor's position from the start (0), from where it is (1) or from the end (2). It may
    /// go past the end.
    ///
    /// # Errors
    ///
    /// `ESPIPE` for standard input and output, `EINVAL` for a position below zero or an unknown origin, `EBADF`.
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
        let (place, current) = file(open)?;
        if !rights.contains(Rights::SEEK) {
            return Err(Errno::NotCapable);
        }
        let mut memory = GuestMemory::new(call.memory);
        memory.check(position, 8)?;
        let origin = match whence {
            0 => 0,
            1 => *current,
            2 => lock(tree).length(place),
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
    /// As [`Descriptors::fd_seek`].
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
    place: Place,
    start: u64,
    memory: &GuestMemory<'_>,
    buffers: Buffers,
    now: u64,
) -> Result<u32, Errno> {
    memory.gather(buffers, |bytes, done| {
        Ok(tree.write(place, start.saturating_add(done), bytes, now)?)
    })
}
