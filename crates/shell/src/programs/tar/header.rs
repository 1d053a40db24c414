//! The records of an archive: GNU's, and those of POSIX where they are read.

use proofbox_vfs::{MODE_BITS, User};

/// The unit that archives are made of, bytes.
pub(super) const BLOCK: usize = 512;
/// Longest name that fits in a header.
const NAME_BYTES: usize = 100;
/// Range of the checksum in the header, in bytes.
const CHECKSUM: std::ops::Range<usize> = 148..156;

/// Type of an entry in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    HardLink,
    SymbolicLink,
    Directory,
    /// The name, or where it leads to, of the entry that follows.
    LongName,
    LongTarget,
    /// Attributes of the entry that follows.
    Extended,
    /// Attributes of all that follow.
    Global,
    /// Devices, pipes, and what is not known.
    Other,
}

impl Kind {
    const FLAGS: [(Self, u8); 8] = [
        (Self::File, b'0'),
        (Self::HardLink, b'1'),
        (Self::SymbolicLink, b'2'),
        (Self::Directory, b'5'),
        (Self::LongName, b'L'),
        (Self::LongTarget, b'K'),
        (Self::Extended, b'x'),
        (Self::Global, b'g'),
    ];

    fn of(flag: u8) -> Self {
        match flag {
            0 | b'7' => Self::File,
            flag => Self::FLAGS.iter().find(|(_, known)| *known == flag).map_or(Self::Other, |(kind, _)| *kind),
        }
    }

    fn flag(self) -> u8 {
        Self::FLAGS.iter().find(|(kind, _)| *kind == self).map_or(b'0', |(_, flag)| *flag)
    }
}

/// Header of an entry, before its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) name: Vec<u8>,
    /// Target of a link.
    pub(super) target: Vec<u8>,
    /// Size of the content, in bytes.
    pub(super) size: u64,
    /// Time of the last change, in seconds since 1970.
    pub(super) modified: u64,
    /// Permission bits.
    pub(super) mode: u16,
    pub(super) owner: User,
}

impl Header {
    /// Appends the header, after those of a name or target that is too long for it.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        for (kind, text) in [(Kind::LongName, &self.name), (Kind::LongTarget, &self.target)] {
            if text.len() > NAME_BYTES {
                let size = text.len() as u64 + 1;
                let name = b"././@LongLink".to_vec();
                let target = Vec::new();
                Self { kind, name, target, size, modified: 0, mode: 0o644, owner: User::Root }.write_block(out);
                out.extend_from_slice(text);
                out.extend(std::iter::repeat_n(0, 1 + padding(size)));
            }
        }
        self.write_block(out);
    }

    fn write_block(&self, out: &mut Vec<u8>) {
        let mut block = [0; BLOCK];
        let name = &self.name[..self.name.len().min(NAME_BYTES)];
        block[..name.len()].copy_from_slice(name);
        let owner = match self.owner {
            User::User => b"user",
            User::Root => b"root",
        };
        put_number(&mut block[100..108], u64::from(self.mode));
        put_number(&mut block[108..116], u64::from(self.owner.id()));
        put_number(&mut block[116..124], u64::from(self.owner.id()));
        put_number(&mut block[124..136], self.size);
        put_number(&mut block[136..148], self.modified);
        block[156] = self.kind.flag();
        let target = &self.target[..self.target.len().min(NAME_BYTES)];
        block[157..157 + target.len()].copy_from_slice(target);
        block[257..265].copy_from_slice(b"ustar  \0");
        block[265..269].copy_from_slice(owner);
        block[297..301].copy_from_slice(owner);
        let sum = checksum(&block);
        put_number(&mut block[148..155], sum);
        block[155] = b' ';
        out.extend_from_slice(&block);
    }

    /// None: it is no header.
    pub(super) fn parse(block: &[u8; BLOCK]) -> Option<Self> {
        if number(&block[CHECKSUM])? != checksum(block) {
            return None;
        }
        let mut name = text(&block[..NAME_BYTES]).to_vec();
        // POSIX has a second part of the name; GNU has other things there.
        let prefix = text(&block[345..500]);
        if block[257..263] == *b"ustar\0" && !prefix.is_empty() {
            name = [prefix, &b"/"[..], &name[..]].concat();
        }
        let mut kind = Kind::of(block[156]);
        if kind == Kind::File && name.ends_with(b"/") {
            kind = Kind::Directory;
        }
        let size = match kind {
            // Theirs says nothing of what follows.
            Kind::HardLink | Kind::SymbolicLink | Kind::Directory => 0,
            _ => number(&block[124..136])?,
        };
        let modified = number(&block[136..148]).unwrap_or(0);
        let mode = (number(&block[100..108]).unwrap_or(0o644) & u64::from(MODE_BITS)) as u16;
        let owner = if text(&block[265..297]) == b"root" { User::Root } else { User::User };
        Some(Self { kind, name, target: text(&block[157..257]).to_vec(), size, modified, mode, owner })
    }
}

/// Bytes after so many of content, up to the next block.
pub(super) fn padding(size: u64) -> usize {
    let over = (size % BLOCK as u64) as usize;
    (BLOCK - over) % BLOCK
}

/// Attributes of an entry, as POSIX writes them: `LENGTH NAME=VALUE` in lines. None: they are not so written.
pub(super) fn attributes(mut bytes: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|byte| *byte == b' ')?;
        let length: usize = std::str::from_utf8(&bytes[..space]).ok()?.parse().ok()?;
        let line = bytes.get(space + 1..length)?.strip_suffix(b"\n")?;
        let equals = line.iter().position(|byte| *byte == b'=')?;
        found.push((&line[..equals], &line[equals + 1..]));
        bytes = &bytes[length..];
    }
    Some(found)
}

/// The sum of all bytes, those of the sum taken for spaces.
fn checksum(block: &[u8; BLOCK]) -> u64 {
    let bytes = block.iter().enumerate();
    bytes.map(|(at, byte)| u64::from(if CHECKSUM.contains(&at) { b' ' } else { *byte })).sum()
}

/// A field up to its first zero byte.
fn text(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// A number in octal, or in GNU's binary form.
fn number(field: &[u8]) -> Option<u64> {
    if let Some((first, rest)) = field.split_first()
        && first & 0x80 != 0
    {
        let first = u64::from(first & 0x7f);
        return rest.iter().try_fold(first, |value, byte| value.checked_mul(256)?.checked_add(u64::from(*byte)));
    }
    let digits = field.iter().skip_while(|byte| **byte == b' ').take_while(|byte| !matches!(byte, 0 | b' '));
    digits.copied().try_fold(0_u64, |value, byte| match byte {
        b'0'..=b'7' => value.checked_mul(8)?.checked_add(u64::from(byte - b'0')),
        _ => None,
    })
}

/// Writes a number in octal, with a zero byte after it; the largest that fits, if it is larger.
fn put_number(field: &mut [u8], value: u64) {
    let width = field.len() - 1;
    let most = (1 << (3 * width)) - 1;
    field[..width].copy_from_slice(format!("{:0width$o}", value.min(most)).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Header, Kind, User, attributes, number, padding};

    fn header(name: &str) -> Header {
        let (name, target) = (name.as_bytes().to_vec(), Vec::new());
        Header { kind: Kind::File, name, target, size: 12_345, modified: 1_700_000_000, mode: 0o750, owner: User::User }
    }

    #[test]
    fn a_header_is_read_as_it_was_written() {
        for kind in [Kind::File, Kind::HardLink, Kind::SymbolicLink, Kind::Directory, Kind::Extended] {
            let mut out = Vec::new();
            let size = if matches!(kind, Kind::File | Kind::Extended) { 12_345 } else { 0 };
            let written = Header { kind, target: b"to".to_vec(), size, ..header("a/b") };
            written.write(&mut out);
            let mut block: [u8; BLOCK] = out.try_into().expect("one block");
            assert_eq!(Header::parse(&block), Some(written));
            block[0] ^= 1;
            assert_eq!(Header::parse(&block), None);
        }
        assert_eq!(Header::parse(&[0; BLOCK]), None);
    }

    #[test]
    fn a_long_name_comes_before_its_header() {
        let mut out = Vec::new();
        header(&"n".repeat(600)).write(&mut out);
        assert_eq!(out.len(), 4 * BLOCK);
        let first: &[u8; BLOCK] = out.first_chunk().expect("a block");
        let first = Header::parse(first).expect("a header");
        assert_eq!((first.kind, first.size), (Kind::LongName, 601));
    }

    #[test]
    fn numbers_are_octal_or_binary_and_never_too_large() {
        assert_eq!(number(b"0000644\0"), Some(0o644));
        assert_eq!(number(b"  644 \0\0"), Some(0o644));
        assert_eq!(number(b"\x80\0\0\0\0\0\0\0\0\x01\0\0"), Some(1 << 16));
        assert_eq!(number(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), None);
        assert_eq!((number(b"9\0"), number(b"\0\0")), (None, Some(0)));
        assert_eq!([0, 1, 511, 512, 513].map(padding), [0, 511, 1, 0, 511]);
    }

    #[test]
    fn attributes_are_lines_of_the_length_that_they_say() {
        let found = attributes(b"11 path=ab\n9 size=7\n").expect("lines");
        assert_eq!(found, [(&b"path"[..], &b"ab"[..]), (&b"size"[..], &b"7"[..])]);
        for wrong in ["", "x", "11 path=ab", "0 a=b\n", "1 \n", "99999999999999999999 a=b\n", "12 path=ab\n"] {
            assert!(attributes(wrong.as_bytes()).is_none_or(|found| found.is_empty()), "{wrong}");
        }
    }
}
