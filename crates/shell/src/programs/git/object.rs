//! Names, modes and files of objects.

use super::{Outcome, grow};
use crate::bounds::Held;
use std::collections::BTreeMap;

/// Mode of a directory in a tree.
pub(super) const DIRECTORY: u32 = 0o40000;
/// Mode of a file.
pub(super) const FILE: u32 = 0o100_644;
/// Mode of a file that can be run.
pub(super) const EXECUTABLE: u32 = 0o100_755;
/// Mode of a symbolic link.
pub(super) const LINK: u32 = 0o120_000;

/// Name of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id(pub(super) [u8; 20]);

impl Id {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 40 {
            return None;
        }
        let mut id = [0; 20];
        for (byte, pair) in id.iter_mut().zip(digits.chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(id))
    }

    pub(super) fn short(self) -> String {
        self.to_string()[..7].to_owned()
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// Object that was read, in memory that is counted.
pub(super) struct Object {
    pub(super) kind: String,
    pub(super) data: Vec<u8>,
    pub(super) held: Held,
}

/// File in a tree or in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) mode: u32,
    pub(super) id: Id,
}

/// Files by their paths, in memory that is counted.
pub(super) struct Files {
    pub(super) entries: BTreeMap<String, Entry>,
    held: Held,
}

impl Files {
    pub(super) fn new(held: Held) -> Self {
        Self { entries: BTreeMap::new(), held }
    }

    pub(super) fn insert(&mut self, path: String, entry: Entry) -> Outcome<()> {
        grow(&mut self.held, path.len() + 150)?;
        self.entries.insert(path, entry);
        Ok(())
    }
}
