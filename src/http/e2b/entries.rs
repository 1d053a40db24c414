//! Entries of a sandbox's tree of files, as clients name and see them.

use serde_json::{Value, json};

use super::error::E2bError;
use super::{E2b, HOME, time};
use proofbox_types::ids::SessionId;
use proofbox_types::session::{Entry, EntryKind, FileAnswer, FileAsk};

/// Owner of all files, as clients see it.
const OWNER: &str = "user";

/// A path as the session takes it: relative ones and `~` lie at home.
pub fn resolve_path(path: &str) -> String {
    let path = match path.strip_prefix('~') {
        Some("") => HOME.to_owned(),
        Some(rest) if rest.starts_with('/') => format!("{HOME}{rest}"),
        _ => path.to_owned(),
    };
    if path.is_empty() { HOME.to_owned() } else { path }
}

impl E2b {
    /// Performs an operation on a sandbox's files.
    pub(super) async fn files(&self, id: SessionId, ask: FileAsk) -> Result<FileAnswer, E2bError> {
        let answer = self.shared.service.session_files(id, ask).await;
        answer.map_err(|error| E2bError::of_sandbox(&id.simple(), error))
    }

    /// Performs an operation on a sandbox's files that returns an entry.
    pub(super) async fn entry(&self, id: SessionId, ask: FileAsk) -> Result<Entry, E2bError> {
        match self.files(id, ask).await? {
            FileAnswer::Entry(entry, _) => Ok(entry),
            _ => Err(E2bError::internal()),
        }
    }

    /// Renders an `EntryInfo` of the API.
    pub(super) fn entry_json(&self, id: SessionId, entry: &Entry) -> Value {
        let (kind, letter, mode) = match entry.kind {
            EntryKind::File => ("FILE_TYPE_FILE", '-', 0o644),
            EntryKind::Directory => ("FILE_TYPE_DIRECTORY", 'd', 0o755),
            EntryKind::Link => ("FILE_TYPE_SYMLINK", 'l', 0o777),
            EntryKind::Device => ("FILE_TYPE_FILE", 'c', 0o666),
        };
        let modified = jiff::Timestamp::from_nanosecond(i128::from(entry.modified)).unwrap_or_default();
        let mut info = json!({
            "name": entry.name,
            "type": kind,
            "path": entry.path,
            // As proto3's JSON has 64 bits.
            "size": entry.size.to_string(),
            "mode": mode,
            "permissions": permissions(letter, mode),
            "owner": OWNER,
            "group": OWNER,
            "modifiedTime": time(modified),
        });
        if let Some(target) = &entry.link_target {
            info["symlinkTarget"] = json!(target);
        }
        if let Some(metadata) = self.state.metadata(id, &entry.path) {
            info["metadata"] = json!(metadata);
        }
        info
    }
}

/// Renders permissions as `-rw-r--r--`.
fn permissions(letter: char, mode: u32) -> String {
    let bit = |position: u32| if mode >> position & 1 == 1 { ['x', 'w', 'r'][position as usize % 3] } else { '-' };
    std::iter::once(letter).chain((0..9).rev().map(bit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lie_at_home_unless_they_say_otherwise() {
        for (path, expected) in
            [("", HOME), ("~", HOME), ("~/a", "/home/user/a"), ("a/b", "a/b"), ("/tmp", "/tmp"), ("~x", "~x")]
        {
            assert_eq!(resolve_path(path), expected);
        }
    }

    #[test]
    fn permissions_read_as_ls_shows_them() {
        assert_eq!(permissions('-', 0o644), "-rw-r--r--");
        assert_eq!(permissions('d', 0o755), "drwxr-xr-x");
        assert_eq!(permissions('l', 0o777), "lrwxrwxrwx");
    }
}
