//! The format of archives: entries, and the directory of them at the end.

use jiff::civil::DateTime;
use proofbox_vfs::MODE_BITS;

/// System that archives are made by.
const UNIX: u8 = 3;

/// Signature of an entry.
const LOCAL: u32 = 0x0403_4b50;
/// Signature of an entry of the directory.
const CENTRAL: u32 = 0x0201_4b50;
/// Signature of the end of the directory.
const END: u32 = 0x0605_4b50;
/// Bytes of an entry before its name.
const LOCAL_BYTES: usize = 30;
/// Bytes of an entry of the directory before its name.
const CENTRAL_BYTES: usize = 46;
/// Bytes of the end without its comment.
const END_BYTES: usize = 22;
/// Longest comment of an archive, in bytes.
const MAX_COMMENT: usize = 0xffff;

/// Way in which the bytes of an entry are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Stored,
    Deflated,
    Unknown(u16),
}

impl Method {
    fn number(self) -> u16 {
        match self {
            Self::Stored => 0,
            Self::Deflated => 8,
            Self::Unknown(number) => number,
        }
    }
}

/// An entry of an archive.
#[derive(Debug, Clone)]
pub(super) struct Entry<'a> {
    pub(super) name: String,
    pub(super) method: Method,
    pub(super) is_encrypted: bool,
    pub(super) checksum: u32,
    pub(super) size: u32,
    /// The bytes as they are kept.
    pub(super) packed: std::borrow::Cow<'a, [u8]>,
    /// Date and time as DOS has them.
    pub(super) time: u32,
    /// Permission bits, if the archive was made where there are such.
    pub(super) mode: Option<u16>,
}

impl Entry<'_> {
    pub(super) fn is_directory(&self) -> bool {
        self.name.ends_with('/')
    }

    /// The time of the entry, if it is one.
    pub(super) fn modified(&self) -> Option<DateTime> {
        let part = |shift: u32, bits: u32| ((self.time >> shift) & ((1 << bits) - 1)) as i8;
        let year = 1980 + i16::from(part(25, 7));
        DateTime::new(year, part(21, 4), part(16, 5), part(11, 5), part(5, 6), part(0, 5).saturating_mul(2), 0).ok()
    }
}

/// Returns a time as DOS has it.
pub(super) fn dos_time(time: DateTime) -> u32 {
    let year = u32::try_from(time.year() - 1980).unwrap_or(0).min(127);
    let part = |value: i8, shift: u32| u32::from(value.unsigned_abs()) << shift;
    (year << 25)
        | part(time.month(), 21)
        | part(time.day(), 16)
        | part(time.hour(), 11)
        | part(time.minute(), 5)
        | part(time.second() / 2, 0)
}

fn number16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Reads the directory of an archive. None: it is none.
pub(super) fn read(bytes: &[u8]) -> Option<Vec<Entry<'_>>> {
    let last = bytes.len().checked_sub(END_BYTES)?;
    let end = (last.saturating_sub(MAX_COMMENT)..=last).rev().find(|at| number32(bytes, *at) == Some(END))?;
    let count = number16(bytes, end + 10)?;
    let mut at = number32(bytes, end + 16)? as usize;
    let mut entries = Vec::new();
    for _ in 0..count {
        if number32(bytes, at)? != CENTRAL {
            return None;
        }
        let lengths = [28, 30, 32].map(|offset| number16(bytes, at + offset));
        let [Some(name), Some(extra), Some(comment)] = lengths.map(|length| length.map(usize::from)) else {
            return None;
        };
        let method = match number16(bytes, at + 10)? {
            0 => Method::Stored,
            8 => Method::Deflated,
            other => Method::Unknown(other),
        };
        let packed = number32(bytes, at + 20)? as usize;
        let local = number32(bytes, at + 42)? as usize;
        if number32(bytes, local)? != LOCAL {
            return None;
        }
        let content =
            local + LOCAL_BYTES + usize::from(number16(bytes, local + 26)?) + usize::from(number16(bytes, local + 28)?);
        entries.push(Entry {
            name: String::from_utf8_lossy(bytes.get(at + CENTRAL_BYTES..at + CENTRAL_BYTES + name)?).into_owned(),
            method,
            is_encrypted: number16(bytes, at + 8)? & 1 != 0,
            checksum: number32(bytes, at + 16)?,
            size: number32(bytes, at + 24)?,
            packed: bytes.get(content..content.checked_add(packed)?)?.into(),
            time: number32(bytes, at + 12)?,
            mode: (*bytes.get(at + 5)? == UNIX)
                .then_some(number16(bytes, at + 40)? & MODE_BITS)
                .filter(|mode| *mode != 0),
        });
        at += CENTRAL_BYTES + name + extra + comment;
    }
    Some(entries)
}

/// Writes entries and their directory.
pub(super) fn write(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let offset = out.len() as u32;
        let mut common = Vec::new();
        // Version 2.0; names are in UTF-8.
        common.extend(20_u16.to_le_bytes());
        common.extend(if entry.name.is_ascii() { 0_u16 } else { 1 << 11 }.to_le_bytes());
        common.extend(entry.method.number().to_le_bytes());
        common.extend(entry.time.to_le_bytes());
        common.extend(entry.checksum.to_le_bytes());
        common.extend((entry.packed.len() as u32).to_le_bytes());
        common.extend(entry.size.to_le_bytes());
        common.extend((entry.name.len() as u16).to_le_bytes());
        common.extend(0_u16.to_le_bytes());
        out.extend(LOCAL.to_le_bytes());
        out.extend_from_slice(&common);
        out.extend_from_slice(entry.name.as_bytes());
        out.extend_from_slice(&entry.packed);
        directory.extend(CENTRAL.to_le_bytes());
        // Version 3.0.
        directory.extend([30, UNIX]);
        directory.extend_from_slice(&common);
        directory.extend([0; 6]);
        let (kind, default, flag) = if entry.is_directory() { (0o040_000, 0o755, 0x10) } else { (0o100_000, 0o644, 0) };
        let mode: u32 = (kind | u32::from(entry.mode.unwrap_or(default))) << 16 | flag;
        directory.extend(mode.to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend_from_slice(entry.name.as_bytes());
    }
    let (start, length, count) = (out.len() as u32, directory.len() as u32, entries.len() as u16);
    out.append(&mut directory);
    out.extend(END.to_le_bytes());
    out.extend([0; 4]);
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend(length.to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0; 2]);
    out
}
