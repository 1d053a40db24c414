//! Fetching the files whose paths match patterns.

use super::error::{Fault, FilesError};
use super::inodes::{NodeId, ROOT};
use super::path::{HOME, HostPath};
use super::permissions::Permission;
use super::tree::{FileKind, Tree};
use super::walk::{LastLink, Reached};
use bytes::Bytes;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

fn unreadable(path: &str, fault: Fault) -> FilesError {
    FilesError::Refused { attempted: "read", path: path.to_owned(), fault }
}

impl Tree {
    /// The files that match any of the patterns, with their content, in the order of their paths. A relative pattern
    /// starts at the working directory; `*` and `?` stop at a slash, `**` does not. Paths below the working directory
    /// are given relative to it. Links to files are read, links to directories are not entered, layers are left out.
    ///
    /// # Errors
    ///
    /// Returns an error for a pattern that cannot be read, or more than `maximum_bytes` of content: a file with a
    /// thousand names is cheap for the guest and dear for the caller.
    pub fn glob<P: AsRef<str>>(&self, patterns: &[P], maximum_bytes: u64) -> Result<Vec<(String, Bytes)>, FilesError> {
        let read = |(path, node_id): (String, NodeId)| {
            let bytes = self.content_of(node_id, 0, u64::MAX).map_err(|fault| unreadable(&path, fault))?;
            Ok((relative_to_home(&path).to_owned(), bytes))
        };
        self.matching(patterns, maximum_bytes)?.into_iter().map(read).collect()
    }

    /// Checks that the files which match any of the patterns can be read, as [`Tree::glob`] reads them.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Tree::glob`].
    pub fn check_glob<P: AsRef<str>>(&self, patterns: &[P], maximum_bytes: u64) -> Result<(), FilesError> {
        self.matching(patterns, maximum_bytes).map(drop)
    }

    /// The readable files that match any of the patterns, in the order of their paths.
    fn matching<P: AsRef<str>>(&self, patterns: &[P], maximum_bytes: u64) -> Result<Vec<(String, NodeId)>, FilesError> {
        if patterns.is_empty() {
            return Ok(Vec::new());
        }
        let wanted = compile(patterns)?;
        let mut matching = Vec::new();
        let mut open = vec![("/".to_owned(), ROOT)];
        while let Some((above, directory)) = open.pop() {
            for (path, node_id) in self.children_of(&above, directory) {
                match (node_id, self.kind(node_id)) {
                    (NodeId::Layer { .. }, _) | (NodeId::Own(_), FileKind::Device | FileKind::NamedPipe) => {}
                    (NodeId::Own(_), FileKind::Directory) => open.push((path, node_id)),
                    (NodeId::Own(_), FileKind::File | FileKind::Link) => {
                        if wanted.is_match(&path)
                            && let Some(node_id) = self.regular_file(&path)
                        {
                            matching.push((path, node_id));
                        }
                    }
                }
            }
        }
        matching.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut left = maximum_bytes;
        for (path, node_id) in &matching {
            left = left
                .checked_sub(self.length(*node_id))
                .ok_or_else(|| FilesError::TooLarge { path: path.clone(), allowed: maximum_bytes })?;
            self.check(*node_id, Permission::Read).map_err(|fault| unreadable(path, fault))?;
        }
        Ok(matching)
    }

    fn regular_file(&self, path: &str) -> Option<NodeId> {
        match self.walk(ROOT, &path[1..], LastLink::Follow) {
            Ok(Reached::Entry { node_id, .. }) if self.kind(node_id) == FileKind::File => Some(node_id),
            Ok(Reached::Entry { .. } | Reached::Missing { .. } | Reached::Itself { .. }) | Err(_) => None,
        }
    }
}

fn relative_to_home(path: &str) -> &str {
    path.strip_prefix(HOME).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path)
}

fn compile<P: AsRef<str>>(patterns: &[P]) -> Result<GlobSet, FilesError> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let pattern = pattern.as_ref();
        let absolute = HostPath::parse("look for files matching", pattern)?;
        let glob = GlobBuilder::new(absolute.as_str())
            .literal_separator(true)
            .build()
            .map_err(|error| bad_pattern(pattern, &error))?;
        set.add(glob);
    }
    let all = patterns.iter().map(AsRef::as_ref).collect::<Vec<_>>();
    set.build().map_err(|error| bad_pattern(&all.join(", "), &error))
}

fn bad_pattern(pattern: &str, error: &globset::Error) -> FilesError {
    FilesError::BadPattern { pattern: pattern.to_owned(), reason: error.kind().to_string() }
}

#[cfg(test)]
mod tests {
    use super::super::FilesQuota;
    use super::*;

    const QUOTA: FilesQuota = FilesQuota { bytes: 1000, count: 10 };

    #[test]
    fn patterns_stop_at_slashes_and_start_at_home() {
        let mut tree = Tree::new(QUOTA, 1);
        for path in ["out/a.png", "out/b.txt", "out/deep/c.png", "top.png", "/tmp/t.png"] {
            tree.write_file(path, path.as_bytes(), 2).expect("room");
        }
        let matching = |patterns: &[&str]| -> Vec<String> {
            let files = tree.glob(patterns, 1000).expect("readable");
            files.into_iter().map(|(path, _)| path).collect()
        };
        assert_eq!(matching(&["out/*.png"]), ["out/a.png"]);
        assert_eq!(matching(&["./out/**"]), ["out/a.png", "out/b.txt", "out/deep/c.png"]);
        assert_eq!(matching(&["*.png", "/tmp/*"]), ["top.png", "/tmp/t.png"]);
        assert_eq!(matching(&["none", "*"]), ["top.png"]);
        let content = tree.glob(&["top.png"], 7).expect("it fits");
        assert_eq!(content[0].1, Bytes::from_static(b"top.png"));
    }

    #[test]
    fn a_file_with_many_names_cannot_make_the_caller_hold_more_than_it_wants() {
        let mut tree = Tree::new(QUOTA, 1);
        tree.write_file("f0", &[1; 100], 2).expect("room");
        let node_id = tree.walk(ROOT, "home/user/f0", LastLink::Keep).map(|r| match r {
            Reached::Entry { node_id, .. } => node_id,
            other => panic!("{other:?}"),
        });
        let node_id = node_id.expect("there");
        for number in 1..5 {
            let path = format!("home/user/f{number}");
            let reached = tree.walk(ROOT, &path, LastLink::Keep).expect("free");
            let name = tree.free_name(&reached).expect("free");
            tree.add_name(name, node_id, 3).expect("room");
        }
        let refused = tree.glob(&["f*"], 450).map_err(|error| error.to_string());
        assert_eq!(
            refused.map(|_| ()),
            Err("could not fetch \"/home/user/f4\": the files asked for are together larger than 450 bytes".to_owned())
        );
    }

    #[test]
    fn a_pattern_that_cannot_be_read_is_named() {
        let tree = Tree::new(QUOTA, 1);
        let refused = tree.glob(&["ok", "a[b"], 9).map(|_| ()).map_err(|error| error.to_string());
        let message = refused.expect_err("no such pattern");
        assert!(message.starts_with("could not look for files matching \"a[b\":"), "{message}");
        assert!(tree.glob(&["../../../*"], 9).is_err());
        assert_eq!(tree.glob::<&str>(&[], 9), Ok(vec![]));
    }
}
