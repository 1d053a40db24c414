//! The names of files that match a pattern.

use super::pattern::{Lies, Pattern, is_pattern};
use crate::bounds::MAX_FIELDS;
use crate::state::{Shell, Stop};
use proofbox_vfs::{FileKind, lock};

impl Shell {
    /// The paths that match, sorted; none if none do.
    pub(crate) async fn names_matching(&mut self, pattern: &str) -> Result<Vec<String>, Stop> {
        let (start, relative) = match pattern.strip_prefix('/') {
            Some(rest) => ("/", rest.trim_start_matches('/')),
            None => ("", pattern),
        };
        let mut paths = vec![start.to_owned()];
        let parts: Vec<&str> = relative.split('/').filter(|part| !part.is_empty()).collect();
        for (at, part) in parts.iter().enumerate() {
            let last = at + 1 == parts.len();
            let mut next = Vec::new();
            if !is_unescaped_pattern(part) {
                let name = unescape(part);
                for path in paths {
                    self.step(1).await?;
                    let path = format!("{path}{name}");
                    if lock(&self.tree).stat(&self.path(&path)).is_ok() {
                        next.push(if last { path } else { format!("{path}/") });
                    }
                }
                paths = next;
                continue;
            }
            let Ok(matcher) = Pattern::new(part, Lies::Whole) else { return Ok(Vec::new()) };
            let dotted = part.starts_with('.') || part.starts_with("\\.");
            for path in paths {
                let entries = lock(&self.tree).list(&self.path(&path), 1).unwrap_or_default();
                self.step(1 + entries.len() as u64 / 16).await?;
                for entry in entries {
                    let hidden = entry.name.starts_with('.') && !dotted;
                    if hidden || !matcher.is(&entry.name) {
                        continue;
                    }
                    let found = format!("{path}{}", entry.name);
                    if last {
                        next.push(found);
                    } else if matches!(entry.kind, FileKind::Directory | FileKind::Link) {
                        next.push(format!("{found}/"));
                    }
                }
                if next.len() > MAX_FIELDS {
                    return Err(self.too_large("file names").await);
                }
            }
            paths = next;
        }
        if relative.ends_with('/') {
            let directories = paths.into_iter().filter(|path| {
                let entry = lock(&self.tree).stat_followed(&self.path(path));
                entry.is_ok_and(|entry| entry.kind == FileKind::Directory)
            });
            paths = directories.map(|path| format!("{path}/")).collect();
        }
        paths.sort();
        Ok(paths)
    }
}

fn is_unescaped_pattern(part: &str) -> bool {
    let mut plain = String::new();
    let mut characters = part.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => {
                characters.next();
            }
            c => plain.push(c),
        }
    }
    is_pattern(&plain)
}

fn unescape(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    let mut characters = part.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => text.extend(characters.next()),
            c => text.push(c),
        }
    }
    text
}
