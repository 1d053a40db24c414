//! A guest for tests: puts arguments into memory the way a C library does, and reads the results back.

use super::inodes::NodeId;
use super::records::Rights;
use super::{
    Attempts, Base, Call, Credentials, Descriptors, Errno, Fault, FilesError, FilesQuota, OpenHow, Output, Part,
    PathAt, SharedTree, Stdio, User, lock,
};

pub(super) const QUOTA: FilesQuota = FilesQuota { bytes: 1 << 20, count: 64 };

/// Credentials of a program.
pub(super) const USER: Credentials = Credentials::of(User::User);

/// Lookup flag `SYMLINK_FOLLOW` of preview 1.
pub(super) const FOLLOW: u32 = 1;

const RESULT: u32 = 64;
const PATH: u32 = 1024;
const SECOND_PATH: u32 = 8192;
const DATA: u32 = 16384;
const MEMORY: usize = 1 << 18;

/// Rights that the C library leaves out for a file not opened for reading.
const READING: u64 = Rights::READ.with(Rights::READ_DIRECTORY).0;
/// Rights that the C library leaves out for a file not opened for writing.
const WRITING: u64 = Rights::DATASYNC.with(Rights::WRITE).with(Rights::ALLOCATE).with(Rights::SET_SIZE).0;

#[derive(Debug, Default)]
pub(super) struct Pipes {
    pub(super) input: Vec<u8>,
    pub(super) written: Vec<(Output, Vec<u8>)>,
}

impl Stdio for Pipes {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Errno> {
        let taken = buffer.len().min(self.input.len());
        buffer[..taken].copy_from_slice(&self.input[..taken]);
        self.input.drain(..taken);
        Ok(taken)
    }

    fn write(&mut self, output: Output, bytes: &[u8]) -> Result<usize, Errno> {
        self.written.push((output, bytes.to_vec()));
        Ok(bytes.len())
    }
}

#[derive(Debug)]
pub(super) struct Guest {
    pub(super) descriptors: Descriptors,
    pub(super) memory: Vec<u8>,
    pub(super) pipes: Pipes,
    pub(super) attempts: Attempts,
    pub(super) now: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Filestat {
    pub(super) number: u64,
    pub(super) file_type: u8,
    pub(super) links: u64,
    pub(super) size: u64,
    pub(super) accessed: u64,
    pub(super) modified: u64,
    pub(super) changed: u64,
    pub(super) mode: u16,
    pub(super) owner: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dirent {
    pub(super) next: u64,
    pub(super) number: u64,
    pub(super) file_type: u8,
    pub(super) name: String,
}

impl Guest {
    pub(super) fn new() -> Self {
        Self::with_quota(QUOTA)
    }

    pub(super) fn with_quota(quota: FilesQuota) -> Self {
        Self::on(&Base::bare(), quota)
    }

    pub(super) fn on(base: &Base, quota: FilesQuota) -> Self {
        let tree = SharedTree::new(base.tree(quota, 1));
        Self::with_descriptors(Descriptors::new(&tree, USER))
    }

    pub(super) fn with_descriptors(descriptors: Descriptors) -> Self {
        Self { descriptors, memory: vec![0; MEMORY], pipes: Pipes::default(), attempts: Attempts::default(), now: 100 }
    }

    pub(super) fn tree(&self) -> SharedTree {
        self.descriptors.tree().clone()
    }

    pub(super) fn usage(&self) -> (u64, u64) {
        let usage = lock(self.descriptors.tree()).usage();
        (usage.bytes, usage.count)
    }

    pub(super) fn call<T>(&mut self, run: impl FnOnce(&mut Descriptors, &mut Call<'_>) -> T) -> T {
        let mut call = Call {
            memory: &mut self.memory,
            stdio: &mut self.pipes,
            attempts: &mut self.attempts,
            now: self.now,
            part: Part::WHOLE,
        };
        run(&mut self.descriptors, &mut call)
    }

    fn put(&mut self, address: u32, bytes: &[u8]) {
        self.memory[address as usize..address as usize + bytes.len()].copy_from_slice(bytes);
    }

    fn path(&mut self, fd: u32, path: &str) -> PathAt {
        self.path_at(PATH, fd, path)
    }

    fn path_at(&mut self, address: u32, fd: u32, path: &str) -> PathAt {
        self.put(address, path.as_bytes());
        PathAt { fd, address, length: path.len() as u32 }
    }

    fn u32_result(&self) -> u32 {
        let bytes = &self.memory[RESULT as usize..RESULT as usize + 4];
        u32::from_le_bytes(bytes.try_into().expect("four bytes"))
    }

    pub(super) fn u64_at(&self, address: u32) -> u64 {
        let bytes = &self.memory[address as usize..address as usize + 8];
        u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
    }

    fn one_buffer(&mut self, length: usize) {
        self.put(RESULT + 16, &DATA.to_le_bytes());
        self.put(RESULT + 20, &(length as u32).to_le_bytes());
    }

    pub(super) fn open_how(&mut self, fd: u32, path: &str, how: OpenHow) -> Result<u32, Errno> {
        let at = self.path(fd, path);
        self.call(|descriptors, call| descriptors.path_open(call, at, how, RESULT))?;
        Ok(self.u32_result())
    }

    /// Opens the way Python's `open` does; `d` opens a directory to list it.
    pub(super) fn open_in(&mut self, fd: u32, path: &str, mode: &str) -> Result<u32, Errno> {
        let (open_flags, without, descriptor_flags) = match mode {
            "r" => (0, WRITING, 0),
            "d" => (2, WRITING, 4),
            "w" => (1 | 8, READING, 0),
            "x" => (1 | 4, READING, 0),
            "a" => (1, READING, 1),
            "r+" => (0, 0, 0),
            "w+" => (1 | 8, 0, 0),
            _ => panic!("no such mode: {mode}"),
        };
        let how = OpenHow {
            lookup_flags: FOLLOW,
            open_flags,
            rights: Rights::ALL.0 & !without,
            inheriting: Rights::ALL.0,
            descriptor_flags,
        };
        self.open_how(fd, path, how)
    }

    pub(super) fn open(&mut self, path: &str, mode: &str) -> Result<u32, Errno> {
        self.open_in(3, path, mode)
    }

    pub(super) fn close(&mut self, fd: u32) -> Result<(), Errno> {
        self.descriptors.fd_close(fd)
    }

    pub(super) fn write(&mut self, fd: u32, bytes: &[u8]) -> Result<u32, Errno> {
        self.put(DATA, bytes);
        self.one_buffer(bytes.len());
        self.call(|descriptors, call| descriptors.fd_write(call, fd, RESULT + 16, 1, RESULT))?;
        Ok(self.u32_result())
    }

    pub(super) fn pwrite(&mut self, fd: u32, bytes: &[u8], offset: u64) -> Result<u32, Errno> {
        self.put(DATA, bytes);
        self.one_buffer(bytes.len());
        self.call(|descriptors, call| descriptors.fd_pwrite(call, fd, RESULT + 16, 1, offset, RESULT))?;
        Ok(self.u32_result())
    }

    pub(super) fn read(&mut self, fd: u32, length: usize) -> Result<Vec<u8>, Errno> {
        self.one_buffer(length);
        self.call(|descriptors, call| descriptors.fd_read(call, fd, RESULT + 16, 1, RESULT))?;
        Ok(self.data())
    }

    pub(super) fn pread(&mut self, fd: u32, length: usize, offset: u64) -> Result<Vec<u8>, Errno> {
        self.one_buffer(length);
        self.call(|descriptors, call| descriptors.fd_pread(call, fd, RESULT + 16, 1, offset, RESULT))?;
        Ok(self.data())
    }

    fn data(&self) -> Vec<u8> {
        let start = DATA as usize;
        self.memory[start..start + self.u32_result() as usize].to_vec()
    }

    pub(super) fn seek(&mut self, fd: u32, offset: i64, whence: u32) -> Result<u64, Errno> {
        self.call(|descriptors, call| descriptors.fd_seek(call, fd, offset, whence, RESULT))?;
        Ok(self.u64_at(RESULT))
    }

    pub(super) fn truncate(&mut self, fd: u32, size: u64) -> Result<(), Errno> {
        self.call(|descriptors, call| descriptors.fd_filestat_set_size(call, fd, size))
    }

    pub(super) fn stat_with(&mut self, path: &str, flags: u32) -> Result<Filestat, Errno> {
        let at = self.path(3, path);
        self.call(|descriptors, call| descriptors.path_filestat_get(call, at, flags, RESULT))?;
        Ok(self.filestat())
    }

    pub(super) fn stat(&mut self, path: &str) -> Result<Filestat, Errno> {
        self.stat_with(path, FOLLOW)
    }

    pub(super) fn fstat(&mut self, fd: u32) -> Result<Filestat, Errno> {
        self.call(|descriptors, call| descriptors.fd_filestat_get(call, fd, RESULT))?;
        Ok(self.filestat())
    }

    fn filestat(&self) -> Filestat {
        let field = |index: u32| self.u64_at(RESULT + 8 * index);
        Filestat {
            number: field(1),
            file_type: self.memory[RESULT as usize + 16],
            links: field(3),
            size: field(4),
            accessed: field(5),
            modified: field(6),
            changed: field(7),
            mode: (field(2) >> 16) as u16,
            owner: (field(2) >> 32) as u32,
        }
    }

    pub(super) fn mkdir(&mut self, path: &str) -> Result<(), Errno> {
        let at = self.path(3, path);
        self.call(|descriptors, call| descriptors.path_create_directory(call, at))
    }

    pub(super) fn rmdir(&mut self, path: &str) -> Result<(), Errno> {
        let at = self.path(3, path);
        self.call(|descriptors, call| descriptors.path_remove_directory(call, at))
    }

    pub(super) fn unlink(&mut self, path: &str) -> Result<(), Errno> {
        let at = self.path(3, path);
        self.call(|descriptors, call| descriptors.path_unlink_file(call, at))
    }

    pub(super) fn rename(&mut self, old: &str, new: &str) -> Result<(), Errno> {
        let old = self.path(3, old);
        let new = self.path_at(SECOND_PATH, 3, new);
        self.call(|descriptors, call| descriptors.path_rename(call, old, new))
    }

    pub(super) fn link(&mut self, old: &str, new: &str) -> Result<(), Errno> {
        let old = self.path(3, old);
        let new = self.path_at(SECOND_PATH, 3, new);
        self.call(|descriptors, call| descriptors.path_link(call, old, 0, new))
    }

    pub(super) fn symlink(&mut self, text: &str, new: &str) -> Result<(), Errno> {
        let text = self.path(3, text);
        let new = self.path_at(SECOND_PATH, 3, new);
        self.call(|descriptors, call| descriptors.path_symlink(call, text.address, text.length, new))
    }

    pub(super) fn readlink(&mut self, path: &str, length: u32) -> Result<String, Errno> {
        let at = self.path(3, path);
        self.call(|descriptors, call| descriptors.path_readlink(call, at, DATA, length, RESULT))?;
        Ok(String::from_utf8(self.data()).expect("texts are UTF-8"))
    }

    pub(super) fn utime(&mut self, path: &str, times: (u64, u64), flags: u32) -> Result<(), Errno> {
        let at = self.path(3, path);
        self.call(|descriptors, call| descriptors.path_filestat_set_times(call, at, FOLLOW, times, flags))
    }

    pub(super) fn set_mode(&mut self, path: &str, mode: u32) -> Result<(), Errno> {
        let at = self.path(3, path);
        self.call(|descriptors, call| descriptors.path_set_mode(call, at, FOLLOW, mode))
    }

    pub(super) fn set_owner(&mut self, path: &str, owner: u32) -> Result<(), Errno> {
        let at = self.path(3, path);
        self.call(|descriptors, call| descriptors.path_set_owner(call, at, FOLLOW, owner))
    }

    pub(super) fn set_descriptor_mode(&mut self, fd: u32, mode: u32) -> Result<(), Errno> {
        self.call(|descriptors, call| descriptors.fd_set_mode(call, fd, mode))
    }

    /// Calls `fd_readdir` once; returns the raw bytes.
    pub(super) fn readdir(&mut self, fd: u32, length: u32, cookie: u64) -> Result<Vec<u8>, Errno> {
        self.call(|descriptors, call| descriptors.fd_readdir(call, fd, DATA, length, cookie, RESULT))?;
        Ok(self.data())
    }

    /// Reads a directory to its end through a buffer of `length` bytes, growing it when an entry does not fit.
    pub(super) fn list(&mut self, fd: u32, mut length: u32) -> Result<Vec<Dirent>, Errno> {
        let mut entries: Vec<Dirent> = Vec::new();
        loop {
            let cookie = entries.last().map_or(0, |entry| entry.next);
            let bytes = self.readdir(fd, length, cookie)?;
            let whole = parse_dirents(&bytes);
            let stuck = whole.is_empty();
            entries.extend(whole);
            if bytes.len() < length as usize {
                return Ok(entries);
            }
            if stuck {
                length += 1;
            }
        }
    }

    pub(super) fn names(&mut self, path: &str) -> Result<Vec<String>, Errno> {
        let fd = self.open(path, "d")?;
        let names = self.list(fd, 4096)?.into_iter().map(|entry| entry.name).collect();
        self.close(fd)?;
        Ok(names)
    }
}

/// The whole entries at the start of `bytes`.
pub(super) fn parse_dirents(mut bytes: &[u8]) -> Vec<Dirent> {
    let mut entries = Vec::new();
    while bytes.len() >= 24 {
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let length = u32::from_le_bytes(bytes[16..20].try_into().expect("four bytes")) as usize;
        let Some(name) = bytes.get(24..24 + length) else {
            break;
        };
        entries.push(Dirent {
            next: number(0),
            number: number(8),
            file_type: bytes[20],
            name: str::from_utf8(name).expect("names are UTF-8").to_owned(),
        });
        bytes = &bytes[24 + length..];
    }
    entries
}

/// Returns the fault for which the tree refused.
pub(super) fn fault<T: std::fmt::Debug>(result: Result<T, FilesError>) -> Fault {
    match result {
        Err(FilesError::Refused { fault, .. }) => fault,
        other => panic!("not refused: {other:?}"),
    }
}

/// A small generator of its own: the same numbers on every machine, so a failure can be repeated from its seed.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn seeded(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }

    pub(super) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// Recounts what is used from the inodes themselves.
pub(super) fn audit(guest: &Guest) {
    let tree = lock(guest.descriptors.tree());
    let (mut bytes, mut count, mut directories) = (0, 0, 0);
    for inode in tree.inodes.iter().filter(|inode| !inode.fixed) {
        bytes += inode.kind.bytes();
        count += u64::from(inode.names.max(1));
        directories += 1;
    }
    assert_eq!((tree.usage().bytes, tree.usage().count), (bytes, count), "{directories}");
    assert!(bytes <= tree.quota().bytes && count <= tree.quota().count);
    for entry in tree.listed_after(NodeId::Own(0), 0) {
        assert_ne!(entry.number, 0);
    }
}
