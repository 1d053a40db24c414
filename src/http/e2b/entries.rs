//! Entries of a sandbox's tree of files, as clients name and see them.

use serde_json::{Value, json};

use super::error::E2bError;
use super::{E2b, time};
use crate::service::{CommandDefaults, SessionInfo};
use proofbox_types::ids::SessionId;
use proofbox_types::session::{Entry, EntryKind, FileAnswer, FileAsk};
use proofbox_types::user::User;

/// Directories that a client's paths begin in.
#[derive(Clone, Debug)]
pub(super) struct PathBase {
    /// Home directory of the user that the client names, or of the sandbox's default one.
    home: &'static str,
    /// Working directory of commands that name none.
    directory: String,
}

impl PathBase {
    /// The directories of a sandbox for a user.
    pub(super) fn of(info: &SessionInfo, user: Option<User>) -> Self {
        Self::with(&info.spec.commands, user)
    }

    /// The directories of these defaults for a user.
    pub(super) fn with(defaults: &CommandDefaults, user: Option<User>) -> Self {
        let home = user.unwrap_or(defaults.user).home();
        Self { home, directory: defaults.cwd.clone().unwrap_or_else(|| home.to_owned()) }
    }

    /// A path as the session takes it: relative ones lie in the working directory, `~` is the user's home directory.
    pub(super) fn resolve(&self, path: &str) -> String {
        let (base, relative) = match path.strip_prefix('~') {
            Some("") => (self.home, ""),
            Some(rest) if rest.starts_with('/') => (self.home, rest.trim_start_matches('/')),
            _ if path.starts_with('/') => return path.to_owned(),
            _ => (self.directory.as_str(), path),
        };
        if relative.is_empty() { base.to_owned() } else { format!("{}/{relative}", base.trim_end_matches('/')) }
    }
}

impl E2b {
    /// Performs an operation on a sandbox's files.
    pub(super) async fn files(&self, id: SessionId, ask: FileAsk) -> Result<FileAnswer, E2bError> {
        let answer = self.shared.service.sessions.files(id, ask).await;
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
        // As E2B has it, a link has the type and mode of what it leads to, and the permissions of its own.
        let (kind, mode) = match (entry.kind, &entry.link_end) {
            (EntryKind::Link, Some(end)) => (end.kind, end.mode),
            (kind, _) => (kind, entry.mode),
        };
        let kind = match kind {
            EntryKind::File | EntryKind::Device => "FILE_TYPE_FILE",
            EntryKind::Directory => "FILE_TYPE_DIRECTORY",
            // It leads nowhere. Entries of no type are left out of lists by E2B's SDKs.
            EntryKind::Link => "FILE_TYPE_SYMLINK",
        };
        let letter = match entry.kind {
            EntryKind::File => "-",
            EntryKind::Directory => "d",
            EntryKind::Link => "L",
            EntryKind::Device => "Dc",
        };
        let owner = entry.owner.name();
        let modified = jiff::Timestamp::from_nanosecond(i128::from(entry.modified)).unwrap_or_default();
        let mut info = json!({
            "name": entry.name,
            "type": kind,
            "path": entry.path,
            // As proto3's JSON has 64 bits.
            "size": entry.size.to_string(),
            "mode": mode & 0o777,
            "permissions": permissions(letter, entry.mode),
            "owner": owner,
            "group": owner,
            "modifiedTime": time(modified),
        });
        if entry.kind == EntryKind::Link {
            let target = entry.link_end.as_ref().map_or(&entry.path, |end| &end.path);
            info["symlinkTarget"] = json!(target);
        }
        if let Some(metadata) = self.state.metadata(id, &entry.path) {
            info["metadata"] = json!(metadata);
        }
        info
    }
}

/// Renders permissions as Go does, in which E2B's server is written: special bits stand before the others, and a
/// regular file without them has a dash.
fn permissions(kind: &str, mode: u16) -> String {
    let special = [(0o4000, 'u'), (0o2000, 'g'), (0o1000, 't')];
    let special: String = special.into_iter().filter(|(bit, _)| mode & bit != 0).map(|(_, letter)| letter).collect();
    let kind = if kind == "-" && !special.is_empty() { "" } else { kind };
    let bit = |position: usize| if mode >> position & 1 == 1 { ['x', 'w', 'r'][position % 3] } else { '-' };
    format!("{kind}{special}{}", (0..9).rev().map(bit).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lie_at_home_unless_they_say_otherwise() {
        for (path, expected) in [
            ("", "/home/user"),
            ("~", "/home/user"),
            ("~/a", "/home/user/a"),
            ("a/b", "/home/user/a/b"),
            ("/tmp", "/tmp"),
            ("~x", "/home/user/~x"),
        ] {
            assert_eq!(PathBase::with(&CommandDefaults::default(), None).resolve(path), expected);
        }
        let all = |defaults: CommandDefaults, user: Option<User>| {
            ["", "~/a", "b", "/c"].map(|path| PathBase::with(&defaults, user).resolve(path))
        };
        let root = CommandDefaults { cwd: None, user: User::Root };
        assert_eq!(all(root.clone(), None), ["/root", "/root/a", "/root/b", "/c"]);
        assert_eq!(all(CommandDefaults::default(), Some(User::Root)), all(root.clone(), None));
        let app = CommandDefaults { cwd: Some("/app".to_owned()), ..root };
        assert_eq!(all(app.clone(), None), ["/app", "/root/a", "/app/b", "/c"]);
        assert_eq!(all(app, Some(User::User)), ["/app", "/home/user/a", "/app/b", "/c"]);
        let slash = CommandDefaults { cwd: Some("/".to_owned()), ..CommandDefaults::default() };
        assert_eq!(all(slash, None), ["/", "/home/user/a", "/b", "/c"]);
    }

    #[test]
    fn permissions_read_as_go_shows_them() {
        assert_eq!(permissions("-", 0o644), "-rw-r--r--");
        assert_eq!(permissions("-", 0o4755), "urwxr-xr-x");
        assert_eq!(permissions("d", 0o1777), "dtrwxrwxrwx");
        assert_eq!(permissions("L", 0o777), "Lrwxrwxrwx");
    }
}
