//! Rules of `.gitignore` and files like it.

mod pattern;

pub(super) use pattern::{MAX_PATTERN, matches_name, matches_path};

use proofbox_vfs::{FileKind, MAX_PATH};

/// Rules of one `.gitignore`, and the number of all that are looked at for a path.
pub(super) const MAX_RULES: usize = 500;
/// Largest `.gitignore`, in bytes.
pub(super) const MAX_RULE_BYTES: u64 = 1 << 20;
/// Memory that the rules take at most, in bytes.
pub(super) const RULE_MEMORY: usize = MAX_RULES * (MAX_PATTERN + MAX_PATH);

/// Line of a `.gitignore`.
#[derive(Debug)]
pub(super) struct Rule {
    pattern: String,
    /// Directory that the file is in: empty, or ending in a slash.
    pub(super) directory: String,
    pub(super) is_negated: bool,
    needs_directory: bool,
    /// True for a pattern of a whole path, false for one of a name.
    is_path: bool,
}

impl Rule {
    /// Parses a line of a `.gitignore`. None: it has no rule, or one that is too long.
    pub(super) fn parse(line: &str, directory: &str) -> Option<Self> {
        let line = line.trim_end();
        let (is_negated, line) = line.strip_prefix('!').map_or((false, line), |line| (true, line));
        let (needs_directory, line) = line.strip_suffix('/').map_or((false, line), |line| (true, line));
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let is_path = line.contains('/');
        let line = line.strip_prefix('/').unwrap_or(line);
        // Behind `**/` any name will do.
        let (is_path, line) = match line.strip_prefix("**/") {
            Some(rest) if !rest.contains('/') => (false, rest),
            _ => (is_path, line),
        };
        if line.len() > MAX_PATTERN {
            return None;
        }
        Some(Self { pattern: line.to_owned(), directory: directory.to_owned(), is_negated, needs_directory, is_path })
    }

    /// Returns whether the rule is about a path.
    pub(super) fn is_about(&self, path: &str, kind: FileKind) -> bool {
        let Some(inner) = path.strip_prefix(self.directory.as_str()) else { return false };
        let name = path.rsplit('/').next().unwrap_or(path);
        (kind == FileKind::Directory || !self.needs_directory)
            && match self.is_path {
                true => matches_path(&self.pattern, inner),
                false => matches_name(self.pattern.as_bytes(), name.as_bytes()),
            }
    }
}
