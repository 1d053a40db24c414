//! The records preview 1 puts into guest memory, laid out as in its witx, and the rights and flags in them.

use super::errno::Errno;
use super::guest_memory::GuestMemory;
use super::tree::{Attributes, FileKind};

/// Rights of a descriptor: what may be done through it. Bits as in the witx.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rights(pub(super) u64);

impl Rights {
    pub(super) const NONE: Self = Self(0);
    pub(super) const DATASYNC: Self = Self(1);
    pub(super) const READ: Self = Self(1 << 1);
    pub(super) const SEEK: Self = Self(1 << 2);
    pub(super) const SET_FLAGS: Self = Self(1 << 3);
    pub(super) const SYNC: Self = Self(1 << 4);
    pub(super) const TELL: Self = Self(1 << 5);
    pub(super) const WRITE: Self = Self(1 << 6);
    pub(super) const ADVISE: Self = Self(1 << 7);
    pub(super) const ALLOCATE: Self = Self(1 << 8);
    pub(super) const CREATE_DIRECTORY: Self = Self(1 << 9);
    pub(super) const CREATE_FILE: Self = Self(1 << 10);
    pub(super) const LINK_SOURCE: Self = Self(1 << 11);
    pub(super) const LINK_TARGET: Self = Self(1 << 12);
    pub(super) const OPEN: Self = Self(1 << 13);
    pub(super) const READ_DIRECTORY: Self = Self(1 << 14);
    pub(super) const READ_LINK: Self = Self(1 << 15);
    pub(super) const RENAME_SOURCE: Self = Self(1 << 16);
    pub(super) const RENAME_TARGET: Self = Self(1 << 17);
    pub(super) const PATH_STAT: Self = Self(1 << 18);
    pub(super) const PATH_SET_SIZE: Self = Self(1 << 19);
    pub(super) const PATH_SET_TIMES: Self = Self(1 << 20);
    pub(super) const STAT: Self = Self(1 << 21);
    pub(super) const SET_SIZE: Self = Self(1 << 22);
    pub(super) const SET_TIMES: Self = Self(1 << 23);
    pub(super) const SYMLINK: Self = Self(1 << 24);
    pub(super) const REMOVE_DIRECTORY: Self = Self(1 << 25);
    pub(super) const UNLINK_FILE: Self = Self(1 << 26);
    pub(super) const POLL: Self = Self(1 << 27);

    /// Rights that apply to a file.
    pub(super) const FILE: Self = Self::DATASYNC
        .with(Self::READ)
        .with(Self::SEEK)
        .with(Self::SET_FLAGS)
        .with(Self::SYNC)
        .with(Self::TELL)
        .with(Self::WRITE)
        .with(Self::ADVISE)
        .with(Self::ALLOCATE)
        .with(Self::STAT)
        .with(Self::SET_SIZE)
        .with(Self::SET_TIMES)
        .with(Self::POLL);

    /// Rights that apply to a directory.
    pub(super) const DIRECTORY: Self = Self::DATASYNC
        .with(Self::SET_FLAGS)
        .with(Self::SYNC)
        .with(Self::CREATE_DIRECTORY)
        .with(Self::CREATE_FILE)
        .with(Self::LINK_SOURCE)
        .with(Self::LINK_TARGET)
        .with(Self::OPEN)
        .with(Self::READ_DIRECTORY)
        .with(Self::READ_LINK)
        .with(Self::RENAME_SOURCE)
        .with(Self::RENAME_TARGET)
        .with(Self::PATH_STAT)
        .with(Self::PATH_SET_SIZE)
        .with(Self::PATH_SET_TIMES)
        .with(Self::STAT)
        .with(Self::SET_TIMES)
        .with(Self::SYMLINK)
        .with(Self::REMOVE_DIRECTORY)
        .with(Self::UNLINK_FILE);

    /// Rights that a descriptor opened in the tree may have at most.
    pub(super) const ALL: Self = Self::FILE.with(Self::DIRECTORY);

    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn only(self, mask: Self) -> Self {
        Self(self.0 & mask.0)
    }

    pub(super) const fn is_none(self) -> bool {
        self.0 == 0
    }

    pub(super) const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Flags of a descriptor; bits as in the witx. All but APPEND change nothing here: memory is never slow or
/// unsynchronised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DescriptorFlags(u16);

impl DescriptorFlags {
    pub(super) const NONE: Self = Self(0);
    const APPEND: u16 = 1;
    const ALL: u16 = 0b1_1111;

    pub(super) fn parse(bits: u32) -> Result<Self, Errno> {
        match u16::try_from(bits) {
            Ok(bits) if bits & !Self::ALL == 0 => Ok(Self(bits)),
            Ok(_) | Err(_) => Err(Errno::Inval),
        }
    }

    pub(super) fn bits(self) -> u16 {
        self.0
    }

    pub(super) fn append(self) -> bool {
        self.0 & Self::APPEND != 0
    }
}

/// Flags for opening a file; bits as in the witx.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenFlags {
    pub(super) create: bool,
    pub(super) directory: bool,
    pub(super) exclusive: bool,
    pub(super) truncate: bool,
}

impl OpenFlags {
    pub(super) fn parse(bits: u32) -> Result<Self, Errno> {
        if bits & !0b1111 != 0 {
            return Err(Errno::Inval);
        }
        Ok(Self { create: bits & 1 != 0, directory: bits & 2 != 0, exclusive: bits & 4 != 0, truncate: bits & 8 != 0 })
    }
}

/// Returns the access and modification times to set, in nanoseconds since 1970; none: the time stays.
pub(super) fn times_to_set(
    accessed: u64,
    modified: u64,
    flags: u32,
    now: u64,
) -> Result<(Option<u64>, Option<u64>), Errno> {
    if flags & !0b1111 != 0 {
        return Err(Errno::Inval);
    }
    let one = |given, flags| match flags & 0b11 {
        0 => Ok(None),
        1 => Ok(Some(given)),
        2 => Ok(Some(now)),
        _ => Err(Errno::Inval),
    };
    Ok((one(accessed, flags)?, one(modified, flags >> 2)?))
}

/// Type of a descriptor or entry, as the guest reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum FileType {
    /// Standard input and output: no terminal, no seeking.
    Unknown = 0,
    CharacterDevice = 2,
    Directory = 3,
    RegularFile = 4,
    /// A named pipe: preview 1 has no number for one, and what has this one is opened by no call either.
    SocketStream = 6,
    SymbolicLink = 7,
}

impl From<FileKind> for FileType {
    fn from(kind: FileKind) -> Self {
        match kind {
            FileKind::File => FileType::RegularFile,
            FileKind::Directory => FileType::Directory,
            FileKind::Link => FileType::SymbolicLink,
            FileKind::Device => FileType::CharacterDevice,
            FileKind::NamedPipe => FileType::SocketStream,
        }
    }
}

/// Bytes of a `filestat` record.
pub(super) const FILESTAT: u32 = 64;
/// Bytes of an `fdstat` record.
pub(super) const FDSTAT: u32 = 24;
/// Bytes of a `dirent` record, without the name after it.
pub(super) const DIRENT: usize = 24;
/// Bytes of a `prestat` record.
pub(super) const PRESTAT: u32 = 8;

/// The device all files of a sandbox are on.
const DEVICE: u64 = 1;

pub(super) fn write_filestat(memory: &mut GuestMemory<'_>, address: u32, attributes: &Attributes) -> Result<(), Errno> {
    let mut record = [0; FILESTAT as usize];
    record[0..8].copy_from_slice(&DEVICE.to_le_bytes());
    record[8..16].copy_from_slice(&attributes.number.to_le_bytes());
    record[16] = FileType::from(attributes.kind) as u8;
    // The witx leaves these bytes free; guest/attributes.c reads them.
    record[18..20].copy_from_slice(&attributes.mode.to_le_bytes());
    record[20..24].copy_from_slice(&attributes.owner.id().to_le_bytes());
    record[24..32].copy_from_slice(&attributes.links.to_le_bytes());
    record[32..40].copy_from_slice(&attributes.size.to_le_bytes());
    record[40..48].copy_from_slice(&attributes.times.accessed.to_le_bytes());
    record[48..56].copy_from_slice(&attributes.times.modified.to_le_bytes());
    record[56..64].copy_from_slice(&attributes.times.changed.to_le_bytes());
    memory.write(address, &record)
}

/// The `filestat` of standard input or output: nothing but its type.
pub(super) fn write_stdio_filestat(memory: &mut GuestMemory<'_>, address: u32) -> Result<(), Errno> {
    let mut record = [0; FILESTAT as usize];
    record[16] = FileType::Unknown as u8;
    memory.write(address, &record)
}

pub(super) fn write_fdstat(
    memory: &mut GuestMemory<'_>,
    address: u32,
    file_type: FileType,
    flags: DescriptorFlags,
    rights: Rights,
    inheriting: Rights,
) -> Result<(), Errno> {
    let mut record = [0; FDSTAT as usize];
    record[0] = file_type as u8;
    record[2..4].copy_from_slice(&flags.0.to_le_bytes());
    record[8..16].copy_from_slice(&rights.0.to_le_bytes());
    record[16..24].copy_from_slice(&inheriting.0.to_le_bytes());
    memory.write(address, &record)
}

pub(super) fn dirent(position: u64, number: u64, name: &str, kind: FileKind) -> [u8; DIRENT] {
    let mut record = [0; DIRENT];
    record[0..8].copy_from_slice(&position.to_le_bytes());
    record[8..16].copy_from_slice(&number.to_le_bytes());
    // Names are at most 255 bytes long.
    record[16..20].copy_from_slice(&(name.len() as u32).to_le_bytes());
    record[20] = FileType::from(kind) as u8;
    record
}

/// The `prestat` of the one directory that is open from the start.
pub(super) fn write_prestat(memory: &mut GuestMemory<'_>, address: u32, name: &str) -> Result<(), Errno> {
    let mut record = [0; PRESTAT as usize];
    record[4..8].copy_from_slice(&(name.len() as u32).to_le_bytes());
    memory.write(address, &record)
}

#[cfg(test)]
mod tests {
    use super::super::inodes::Times;
    use super::super::permissions::User;
    use super::*;

    #[test]
    fn a_filestat_is_laid_out_as_the_witx_says() {
        let mut bytes = [0xaa; 64];
        let attributes = Attributes {
            number: 2,
            kind: FileKind::File,
            links: 3,
            size: 4,
            times: Times { accessed: 5, modified: 6, changed: 7 },
            mode: 0o640,
            owner: User::User,
        };
        write_filestat(&mut GuestMemory::new(&mut bytes), 0, &attributes).expect("it fits");
        let fields: Vec<u64> =
            bytes.chunks(8).map(|field| u64::from_le_bytes(field.try_into().expect("eight bytes"))).collect();
        assert_eq!(fields, [1, 2, 4 | 0o640 << 16 | 1000 << 32, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn an_fdstat_is_laid_out_as_the_witx_says() {
        let mut bytes = [0xaa; 24];
        let mut memory = GuestMemory::new(&mut bytes);
        let flags = DescriptorFlags::parse(5).expect("append and nonblock");
        write_fdstat(&mut memory, 0, FileType::RegularFile, flags, Rights(9), Rights(10)).expect("it fits");
        let expected = [[4, 0, 5, 0, 0, 0, 0, 0], [9, 0, 0, 0, 0, 0, 0, 0], [10, 0, 0, 0, 0, 0, 0, 0]];
        assert_eq!(bytes, *expected.as_flattened());
    }

    #[test]
    fn a_time_cannot_be_set_to_a_value_and_to_now_at_once() {
        assert_eq!(times_to_set(1, 2, 0b0110, 9), Ok((Some(9), Some(2))));
        assert_eq!(times_to_set(1, 2, 0b0011, 9), Err(Errno::Inval));
        assert_eq!(times_to_set(1, 2, 0b1100, 9), Err(Errno::Inval));
        assert_eq!(times_to_set(1, 2, 0, 9), Ok((None, None)));
    }
}
