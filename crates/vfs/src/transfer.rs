//! Whole directories as plain data: what is copied into a sandbox, and out of it again.

use super::error::{Fault, FilesError};
use super::inodes::NodeId;
use super::names::Name;
use super::path::{HostPath, is_within};
use super::requests::refused;
use super::tree::{FileKind, Tree};
use super::walk::{LastLink, Reached};
use proofbox_types::session::{TreeEntry, TreeNode};

impl Tree {
    /// Makes a directory whose whole content is `entries`, and those above it that are missing. An existing directory
    /// is emptied first. Each entry comes after the directory that it lies in.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, something else in the directory's place, an entry of the sandbox's own in it, or
    /// the quota. What was done until then stays.
    pub fn import(&mut self, path: &str, entries: Vec<TreeEntry>, now: u64) -> Result<(), FilesError> {
        const ATTEMPTED: &str = "import into";
        let top = HostPath::parse(ATTEMPTED, path)?;
        match self.find(&top, LastLink::Keep) {
            Ok(node_id) if self.is_directory(node_id) => {
                let children: Vec<String> = self.children_of(top.as_str(), node_id).map(|(path, _)| path).collect();
                for child in children {
                    self.remove(&child, now)?;
                }
            }
            Ok(_) => return Err(refused(ATTEMPTED, &top, Fault::NotADirectory)),
            Err(Fault::NotFound) => self.make_directory(top.as_str(), now)?,
            Err(fault) => return Err(refused(ATTEMPTED, &top, fault)),
        }
        let mut set = Vec::with_capacity(entries.len());
        for TreeEntry { path, node, mode, owner, modified } in entries {
            let path = HostPath::parse(ATTEMPTED, &format!("{}/{path}", top.as_str()))?;
            if path == top || !is_within(path.as_str(), top.as_str()) {
                return Err(refused(ATTEMPTED, &path, Fault::Escapes));
            }
            let failed = |fault| refused(ATTEMPTED, &path, fault);
            let is_link = matches!(node, TreeNode::Link(_));
            let reached = self.reach(&path, LastLink::Never);
            let at = reached.and_then(|reached| self.new_name(&path, &reached)).map_err(failed)?;
            let made = match node {
                TreeNode::Directory => self.make_directory_at(at, now),
                TreeNode::Link(text) => self.make_link(at, &text, now),
                TreeNode::File(bytes) => self.check_bytes(bytes.len() as u64).and_then(|()| {
                    let node_id = self.make_file(at, now)?;
                    self.write(node_id, 0, &bytes, now)?;
                    Ok(node_id)
                }),
            };
            let node_id = made.map_err(failed)?;
            if !is_link {
                self.set_mode_at(node_id, mode, now).map_err(failed)?;
            }
            self.set_owner_at(node_id, owner, now).map_err(failed)?;
            set.push((node_id, modified));
        }
        // A directory's own time moves with every entry that is made in it.
        for (node_id, modified) in set {
            self.set_times(node_id, None, Some(modified), now).map_err(|fault| refused(ATTEMPTED, &top, fault))?;
        }
        Ok(())
    }

    /// The free name that a path leads to without any link.
    fn new_name(&self, path: &HostPath, reached: &Reached<'_>) -> Result<Name, Fault> {
        if let Reached::Missing { parent, .. } = reached {
            let above = path.as_str().rsplit_once('/').map_or("", |(above, _)| above);
            if self.path_of(*parent).trim_end_matches('/') != above {
                return Err(Fault::Escapes);
            }
        }
        self.free_name(reached)
    }

    /// Copies all that lies below a directory, in the order of the paths. Links are not followed; devices, named pipes
    /// and read-only layers are left out. A file with several names is copied for each.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, something else than a directory at it, or more than so many entries or bytes: a
    /// file with a thousand names is cheap for the guest and dear for the caller.
    pub fn export(&self, path: &str, most_bytes: u64, most_entries: u64) -> Result<Vec<TreeEntry>, FilesError> {
        const ATTEMPTED: &str = "export";
        let top = HostPath::parse(ATTEMPTED, path)?;
        let failed = |fault| refused(ATTEMPTED, &top, fault);
        let node_id = self.find(&top, LastLink::Keep).map_err(failed)?;
        if !self.is_directory(node_id) {
            return Err(failed(Fault::NotADirectory));
        }
        let prefix = top.as_str().trim_end_matches('/').len() + 1;
        let mut left = most_bytes;
        let mut entries = Vec::new();
        let mut open = vec![(top.as_str().to_owned(), node_id)];
        while let Some((above, directory)) = open.pop() {
            for (path, node_id) in self.children_of(&above, directory) {
                let attributes = self.attributes(node_id).map_err(failed)?;
                let (is_own, relative) = (matches!(node_id, NodeId::Own(_)), path[prefix..].to_owned());
                if !is_own || matches!(attributes.kind, FileKind::Device | FileKind::NamedPipe) {
                    continue;
                }
                let content = if attributes.kind == FileKind::Directory { 0 } else { self.length(node_id) };
                let rest = left.checked_sub(TreeEntry::cost(relative.len(), content));
                left = rest.ok_or_else(|| FilesError::TooLarge { path: path.clone(), allowed: most_bytes })?;
                if entries.len() as u64 >= most_entries {
                    return Err(failed(Fault::TooManyEntries { allowed: most_entries }));
                }
                let node = match self.link_text(node_id) {
                    Some(text) => TreeNode::Link(text.to_string()),
                    None if attributes.kind == FileKind::Directory => TreeNode::Directory,
                    None => TreeNode::File(self.content_of(node_id, 0, u64::MAX).map_err(failed)?.to_vec()),
                };
                entries.push(TreeEntry {
                    path: relative,
                    node,
                    mode: attributes.mode,
                    owner: attributes.owner,
                    modified: attributes.times.modified,
                });
                if attributes.kind == FileKind::Directory {
                    open.push((path, node_id));
                }
            }
        }
        entries.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        Ok(entries)
    }

    /// Checks that no link leads `path` out of `directory`: neither itself nor what is above it. What is missing lies
    /// where it would be made.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, a missing directory, or a path that leads elsewhere.
    pub fn check_within(&self, directory: &str, path: &str) -> Result<(), FilesError> {
        const ATTEMPTED: &str = "use";
        let path = HostPath::parse(ATTEMPTED, path)?;
        let top = self.real_path(directory)?;
        let mut above = path.as_str();
        loop {
            match self.real_path(above) {
                Ok(real) if real == top || is_within(&real, &top) => return Ok(()),
                // A link that leads nowhere: what is written through it would be made there.
                Err(_) if self.stat(above).is_ok() => break,
                Err(_) => {
                    above = above.rsplit_once('/').map_or("/", |(above, _)| if above.is_empty() { "/" } else { above });
                }
                Ok(_) => break,
            }
        }
        Err(refused(ATTEMPTED, &path, Fault::Escapes))
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_guest::fault;
    use super::super::{FilesQuota, User};
    use super::*;

    const QUOTA: FilesQuota = FilesQuota { bytes: 10_000, count: 50 };
    const PLENTY: u64 = u64::MAX;

    fn entry(path: &str, node: TreeNode) -> TreeEntry {
        TreeEntry { path: path.to_owned(), node, mode: 0o750, owner: User::Root, modified: 5 }
    }

    fn file(path: &str, content: &[u8]) -> TreeEntry {
        entry(path, TreeNode::File(content.to_vec()))
    }

    #[test]
    fn a_tree_that_is_imported_is_exported_as_it_was() {
        let mut tree = Tree::new(QUOTA, 1);
        let link = TreeEntry { mode: 0o777, ..entry("l", TreeNode::Link("../elsewhere".to_owned())) };
        let entries = vec![entry("d", TreeNode::Directory), file("d/f", b"content"), file("empty", b""), link];
        tree.import("/mnt/data", entries.clone(), 9).expect("room");
        assert_eq!(tree.export("/mnt/data", PLENTY, PLENTY), Ok(entries.clone()));
        assert_eq!(tree.read_file("/mnt/data/d/f").as_deref(), Ok(&b"content"[..]));
        // Again: nothing of what was there is left.
        tree.write_file("/mnt/data/d/other", b"x", 9).expect("room");
        tree.import("/mnt/data", entries[2..].to_vec(), 10).expect("room");
        assert_eq!(tree.export("/mnt/data", PLENTY, PLENTY), Ok(entries[2..].to_vec()));
    }

    #[test]
    fn what_is_no_directory_of_ones_own_is_neither_imported_into_nor_exported() {
        let mut tree = Tree::new(QUOTA, 1);
        tree.write_file("f", b"", 2).expect("room");
        tree.make_symbolic_link("l", "/home/user", 2).expect("free");
        for path in ["f", "l"] {
            assert_eq!(fault(tree.import(path, Vec::new(), 3)), Fault::NotADirectory, "{path}");
            assert_eq!(fault(tree.export(path, PLENTY, PLENTY)), Fault::NotADirectory, "{path}");
        }
        assert_eq!(fault(tree.export("none", PLENTY, PLENTY)), Fault::NotFound);
        assert_eq!(fault(tree.import("/", Vec::new(), 3)), Fault::Protected);
        for path in ["", ".", "..", "../x", "a/../../x"] {
            let imported = tree.import("/mnt", vec![file(path, b"")], 3);
            assert!(imported.is_err(), "{path}");
        }
        let through = vec![entry("l", TreeNode::Link("/home/user".to_owned())), file("l/x", b"")];
        assert_eq!(fault(tree.import("/mnt", through, 3)), Fault::Escapes);
        assert!(tree.stat("/x").is_err() && tree.stat("/home/user/x").is_err());
    }

    #[test]
    fn an_import_stays_within_the_quota_and_an_export_within_its_bounds() {
        let mut tree = Tree::new(QUOTA, 1);
        assert_eq!(fault(tree.import("/mnt", vec![file("f", &[1; 10_001])], 2)), Fault::NoSpace { allowed: 10_000 });
        let many = (0..50).map(|number| file(&number.to_string(), b"")).collect();
        assert_eq!(fault(tree.import("/mnt", many, 2)), Fault::TooManyEntries { allowed: 50 });
        tree.import("/mnt", vec![file("f", &[1; 1000])], 2).expect("room");
        for name in ["a", "b", "c"] {
            tree.make_hard_link(&format!("/mnt/{name}"), "/mnt/f", 3).expect("free");
        }
        let cost = 4 * TreeEntry::cost(1, 1000);
        assert_eq!(tree.export("/mnt", cost, 4).map(|entries| entries.len()), Ok(4));
        assert!(matches!(tree.export("/mnt", cost - 1, 4), Err(FilesError::TooLarge { .. })));
        assert_eq!(fault(tree.export("/mnt", cost, 3)), Fault::TooManyEntries { allowed: 3 });
    }

    #[test]
    fn links_lead_out_of_a_directory_by_no_way() {
        let mut tree = Tree::new(QUOTA, 1);
        tree.import("/mnt", vec![entry("d", TreeNode::Directory), file("d/f", b"1")], 2).expect("room");
        tree.write_file("/home/user/secret", b"2", 2).expect("room");
        let links = [("/home/user", "out"), ("/home/user/secret", "file"), ("/home/user/new", "dangling"), ("d", "in")];
        for (text, name) in links {
            tree.make_symbolic_link(&format!("/mnt/{name}"), text, 2).expect("free");
        }
        for path in ["/mnt", "/mnt/d/f", "/mnt/new", "/mnt/no/such/path", "/mnt/in/f", "/mnt/in/new"] {
            assert_eq!(tree.check_within("/mnt", path), Ok(()), "{path}");
        }
        for path in
            ["/mnt/out", "/mnt/out/secret", "/mnt/out/x/y", "/mnt/file", "/mnt/dangling", "/home/user/secret", "/mntx"]
        {
            assert_eq!(fault(tree.check_within("/mnt", path)), Fault::Escapes, "{path}");
        }
    }
}
