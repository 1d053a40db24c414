//! Paths: what a name may be, and how a path is made absolute and plain.

use super::error::{FilesError, PathFault};

/// Directory in which a sandbox's program starts and relative paths of the service begin.
pub const HOME: &str = "/home/user";
/// Directory for files that need not last.
pub const TEMPORARY: &str = "/tmp";

/// Longest name of one entry, bytes: what Linux allows.
pub const MAX_NAME: usize = 255;
/// Longest path, bytes: what Linux allows.
pub const MAX_PATH: usize = 4096;
/// Directories inside each other, the root not counted. Keeps every climb and every rebuilt path short; a path of the
/// longest length could otherwise hold 2048 of them, and renames could stack more.
pub const MAX_DEPTH: usize = 128;

/// An absolute path without `.`, `..` or doubled slashes: what a request of the service is parsed into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostPath(String);

impl HostPath {
    /// Reads a path from a request; a relative one starts at [`HOME`]. `attempted` is for the error's message.
    pub(super) fn parse(attempted: &'static str, path: &str) -> Result<Self, FilesError> {
        Self::check(path).map_err(|reason| FilesError::BadPath { attempted, path: path.to_owned(), reason })
    }

    fn check(path: &str) -> Result<Self, PathFault> {
        if path.is_empty() {
            return Err(PathFault::Empty);
        }
        if path.contains('\0') {
            return Err(PathFault::Nul);
        }
        let start = if path.starts_with('/') { "" } else { HOME };
        if start.len() + path.len() > MAX_PATH {
            return Err(PathFault::TooLong);
        }
        let mut plain = start.to_owned();
        for name in path.split('/') {
            match name {
                "" | "." => {}
                ".." => match plain.rfind('/') {
                    Some(slash) => plain.truncate(slash),
                    None => return Err(PathFault::AboveRoot),
                },
                _ if name.len() > MAX_NAME => return Err(PathFault::NameTooLong),
                _ => {
                    plain.push('/');
                    plain.push_str(name);
                }
            }
        }
        if plain.is_empty() {
            plain.push('/');
        }
        Ok(Self(plain))
    }

    /// The path, starting with `/`.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The path as the tree walks it from its root.
    pub(super) fn relative_to_root(&self) -> &str {
        match &self.0[1..] {
            "" => ".",
            relative => relative,
        }
    }
}

/// Checks that a symbolic link may have this text. Its target is checked when it is followed.
pub(super) fn check_link_text(text: &str) -> Result<(), PathFault> {
    match text {
        "" => Err(PathFault::Empty),
        _ if text.contains('\0') => Err(PathFault::Nul),
        _ if text.len() > MAX_PATH => Err(PathFault::TooLong),
        _ => Ok(()),
    }
}

/// The absolute, plain path that `path` means to a program in the directory `cwd`: `~` is [`HOME`], and `..` goes up by
/// name, never above the root. `cwd` is absolute, or relative to [`HOME`].
///
/// # Errors
///
/// Returns an error for a path or directory that is empty, too long, holds a NUL byte or climbs above the root.
pub fn absolute_path(cwd: &str, path: &str) -> Result<String, FilesError> {
    let from = match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{HOME}{rest}"),
        Some(_) | None if path.is_empty() || path.starts_with('/') => path.to_owned(),
        Some(_) | None => format!("{}/{path}", HostPath::parse("work in", cwd)?.as_str()),
    };
    HostPath::check(&from).map(|absolute| absolute.0).map_err(|reason| FilesError::BadPath {
        attempted: "find",
        path: path.to_owned(),
        reason,
    })
}

/// A path made absolute and plain for a report: `..` at the root stays there, as it does for the guest.
pub(super) fn plain(path: &str) -> String {
    let mut plain = String::with_capacity(path.len() + 1);
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => plain.truncate(plain.rfind('/').unwrap_or(0)),
            _ => {
                plain.push('/');
                plain.push_str(name);
            }
        }
    }
    if plain.is_empty() {
        plain.push('/');
    }
    plain
}

/// Returns whether `path` is `directory` or lies below it; both absolute and plain.
pub(super) fn is_within(path: &str, directory: &str) -> bool {
    match path.strip_prefix(directory) {
        Some(rest) => rest.is_empty() || rest.starts_with('/') || directory == "/",
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(path: &str) -> Result<String, PathFault> {
        HostPath::check(path).map(|path| path.as_str().to_owned())
    }

    #[test]
    fn a_relative_path_starts_at_home_and_an_absolute_one_at_the_root() {
        assert_eq!(host("a//./b/"), Ok("/home/user/a/b".to_owned()));
        assert_eq!(host("/tmp/../x"), Ok("/x".to_owned()));
        assert_eq!(host("../.."), Ok("/".to_owned()));
    }

    #[test]
    fn a_path_starts_where_the_program_is() {
        let found = |cwd: &str, path: &str| absolute_path(cwd, path).map_err(|error| error.to_string());
        let expected = [
            ("/tmp", "a/./b", "/tmp/a/b"),
            ("/tmp/x", "..", "/tmp"),
            ("/", "a", "/a"),
            ("work", "a", "/home/user/work/a"),
            ("/tmp", "/etc/../x", "/x"),
            ("/tmp", "~", "/home/user"),
            ("/tmp", "~/a", "/home/user/a"),
            ("/tmp", "~a", "/tmp/~a"),
        ];
        for (cwd, path, absolute) in expected {
            assert_eq!(found(cwd, path), Ok(absolute.to_owned()), "{cwd} {path}");
        }
        let climbs = "could not find \"../../a\": the path climbs above the root".to_owned();
        assert_eq!(found("/tmp", "../../a"), Err(climbs));
        assert_eq!(found("/tmp", ""), Err("could not find \"\": the path is empty".to_owned()));
        assert_eq!(
            found("/../tmp", "a"),
            Err("could not work in \"/../tmp\": the path climbs above the root".to_owned())
        );
        assert!(found("/tmp", "~/../../..").is_err() && found("/tmp", "a\0").is_err());
    }

    #[test]
    fn a_path_that_climbs_above_the_root_is_refused_by_name() {
        let refusal = HostPath::parse("read", "../../../etc/passwd").map_err(|e| e.to_string());
        assert_eq!(refusal, Err("could not read \"../../../etc/passwd\": the path climbs above the root".to_owned()));
    }

    #[test]
    fn empty_paths_nuls_and_long_names_are_refused() {
        assert_eq!(host(""), Err(PathFault::Empty));
        assert_eq!(host("a\0b"), Err(PathFault::Nul));
        assert_eq!(host(&"n".repeat(256)), Err(PathFault::NameTooLong));
        assert_eq!(host(&"n/".repeat(2048)), Err(PathFault::TooLong));
    }

    #[test]
    fn a_reported_path_stays_at_the_root_when_it_climbs_too_far() {
        assert_eq!(plain("/home/user/../../../etc/./passwd"), "/etc/passwd".to_owned());
        assert_eq!(plain("/.."), "/");
    }

    #[test]
    fn a_directory_holds_itself_and_what_is_below_but_not_its_namesakes() {
        assert!(is_within("/tmp", "/tmp") && is_within("/tmp/a", "/tmp"));
        assert!(!is_within("/tmpfile", "/tmp") && is_within("/x", "/"));
    }
}
