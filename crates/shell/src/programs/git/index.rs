//! The index: the files of the next commit.

use super::object::{Entry, Files, Id};
use super::objects::is_file_path;
use super::repository::{MAX_FILE, Repository};
use super::{Failure, Outcome, fatal};
use proofbox_vfs::MAX_PATH;
use sha1::{Digest, Sha1};
use std::collections::BTreeMap;

/// Bytes of an entry before its name.
const FIXED: usize = 62;

impl Repository<'_> {
    pub(super) async fn read_index(&self) -> Outcome<Files> {
        let mut files = Files::new(self.hold(0)?);
        let Some(content) = self.read_bytes(&format!("{}/index", self.git_dir), MAX_FILE).await? else {
            return Ok(files);
        };
        let bytes = &content.bytes;
        let bad = || Failure::Fatal("index file corrupt".to_owned());
        let number = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
        if bytes.get(..4) != Some(b"DIRC") || !matches!(number(4), Some(2 | 3)) {
            return fatal("this version of the index is not read here");
        }
        let mut at = 12;
        for _ in 0..number(8).ok_or_else(bad)? {
            self.shell.step(1).await?;
            let fixed = bytes.get(at..at + FIXED).ok_or_else(bad)?;
            let mode = number(at + 24).ok_or_else(bad)?;
            let id = Id(fixed[40..60].try_into().map_err(|_| bad())?);
            let is_extended = fixed[60] & 0x40 != 0;
            let name_at = at + FIXED + if is_extended { 2 } else { 0 };
            let rest = bytes.get(name_at..).ok_or_else(bad)?;
            let length = rest.iter().take(MAX_PATH + 1).position(|byte| *byte == 0).ok_or_else(bad)?;
            let name = std::str::from_utf8(&rest[..length]).map_err(|_| bad())?;
            if !is_file_path(name) {
                return Err(bad());
            }
            files.insert(name.to_owned(), Entry { mode, id })?;
            // One to eight null bytes follow.
            at += (name_at - at + length) / 8 * 8 + 8;
        }
        Ok(files)
    }

    pub(super) async fn write_index(&self, files: &BTreeMap<String, Entry>) -> Outcome<()> {
        let _held = self.hold(files.keys().map(|path| path.len() + 80).sum())?;
        let mut bytes = b"DIRC\0\0\0\x02".to_vec();
        bytes.extend_from_slice(&u32::try_from(files.len()).unwrap_or(u32::MAX).to_be_bytes());
        for (path, entry) in files {
            self.shell.step(1).await?;
            let start = bytes.len();
            // Times and sizes of zero: the content decides.
            bytes.extend_from_slice(&[0; 24]);
            bytes.extend_from_slice(&entry.mode.to_be_bytes());
            bytes.extend_from_slice(&[0; 12]);
            bytes.extend_from_slice(&entry.id.0);
            bytes.extend_from_slice(&u16::try_from(path.len()).unwrap_or(0xfff).min(0xfff).to_be_bytes());
            bytes.extend_from_slice(path.as_bytes());
            let length = bytes.len() - start;
            bytes.resize(start + length / 8 * 8 + 8, 0);
        }
        let sum = Sha1::digest(&bytes);
        bytes.extend_from_slice(&sum);
        self.write_bytes(&format!("{}/index", self.git_dir), &bytes).await
    }
}
