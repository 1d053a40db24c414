//! Copying files and directories within a sandbox. What is copied shares its pages with the copy until one is written.

use super::content::Content;
use super::error::{Fault, FilesError};
use super::inodes::{Kind, Place};
use super::names::Name;
use super::path::{HostPath, MAXIMUM_DEPTH, is_within};
use super::requests::refused;
use super::tree::{FileKind, Tree};
use super::walk::LastLink;

/// Something to be copied, and where to.
struct Copying {
    from: Place,
    /// Index in the plan of the directory it goes into; the first has none.
    into: usize,
    name: String,
    depth: usize,
}

impl Tree {
    /// Copies the content of a file, replacing that of another; directories on the way are made. A symbolic link is
    /// followed on both sides.
    ///
    /// # Errors
    ///
    /// A bad path, nothing to copy, a directory on either side, a read-only layer, or the quota; then nothing changed.
    pub fn copy_file(&mut self, from: &str, to: &str, now: u64) -> Result<(), FilesError> {
        let (from, to) = (HostPath::parse("copy", from)?, HostPath::parse("copy to", to)?);
        let source = self
            .find(&from, LastLink::Follow)
            .and_then(|place| match self.is_directory(place) {
                true => Err(Fault::IsADirectory),
                false => Ok(place),
            })
            .map_err(|fault| refused("copy", &from, fault))?;
        self.copy_content_to(source, &to, now).map_err(|fault| refused("copy to", &to, fault))
    }

    fn copy_content_to(&mut self, source: Place, to: &HostPath, now: u64) -> Result<(), Fault> {
        let existing = self.existing_file(to)?;
        if existing == Some(source) {
            return Ok(());
        }
        let old = existing.map_or(0, |place| self.length(place));
        self.check_bytes(self.length(source).saturating_sub(old))?;
        let place = match existing {
            Some(place) => place,
            None => self.make_empty_file(to, now)?,
        };
        self.copy_content(source, place, now)
    }

    /// Copies a file, a symbolic link itself, or a directory with all it holds, to a path where nothing is yet;
    /// directories on the way are made. What has several names is copied for each.
    ///
    /// # Errors
    ///
    /// A bad path, nothing to copy, something there already, a directory into itself, a read-only layer, nesting too
    /// deep, or the quota; then nothing changed but for directories made on the way.
    pub fn copy_tree(&mut self, from: &str, to: &str, now: u64) -> Result<(), FilesError> {
        let (from, to) = (HostPath::parse("copy", from)?, HostPath::parse("copy to", to)?);
        let source = self.find(&from, LastLink::Keep).map_err(|fault| refused("copy", &from, fault))?;
        if self.is_directory(source) && is_within(to.as_str(), from.as_str()) {
            return Err(refused("copy to", &to, Fault::IntoItself));
        }
        self.copy_all(source, &to, now).map_err(|fault| refused("copy to", &to, fault))
    }

    fn copy_all(&mut self, source: Place, to: &HostPath, now: u64) -> Result<(), Fault> {
        match self.find(to, LastLink::Keep) {
            Ok(_) => return Err(Fault::Exists),
            Err(Fault::NotFound) => {}
            Err(fault) => return Err(fault),
        }
        // Made before anything is: a directory can be copied below itself through a link, and must not meet the copy.
        let plan = self.plan_copy(source)?;
        let bytes = plan.iter().map(|copying| self.taken_bytes(copying.from)).fold(0, u64::saturating_add);
        self.check_bytes(bytes)?;
        self.make_parents(to, plan.len() as u64, now)?;
        self.check_entries(plan.len() as u64)?;
        let top = self.free_name(&self.reach(to, LastLink::Never)?)?;
        let deepest = plan.iter().filter(|copying| self.is_directory(copying.from)).map(|copying| copying.depth).max();
        if self.depth(top.parent()) + deepest.unwrap_or(0) > MAXIMUM_DEPTH {
            return Err(Fault::TooDeep);
        }
        let mut made: Vec<Place> = Vec::with_capacity(plan.len());
        for copying in &plan {
            let name = match made.get(copying.into) {
                Some(directory) => self.free_name_in(*directory, &copying.name)?,
                None => top.clone(),
            };
            made.push(self.copy_one(copying.from, name, now)?);
        }
        Ok(())
    }

    /// All below `source` and itself, directories before what they hold.
    fn plan_copy(&self, source: Place) -> Result<Vec<Copying>, Fault> {
        let mut plan = vec![Copying { from: source, into: usize::MAX, name: String::new(), depth: 1 }];
        let mut next = 0;
        while let Some(directory) = plan.get(next) {
            let (from, depth) = (directory.from, directory.depth + 1);
            if self.is_directory(from) {
                let below = self.listed_after(from, super::inodes::PARENT_POSITION).map(|entry| Copying {
                    from: entry.place,
                    into: next,
                    name: entry.name.to_owned(),
                    depth,
                });
                plan.extend(below);
                // Layers do not count against the quota, so what can be copied is bounded here.
                self.check_entries(plan.len() as u64)?;
            }
            next += 1;
        }
        Ok(plan)
    }

    fn taken_bytes(&self, place: Place) -> u64 {
        match self.kind(place) {
            FileKind::File | FileKind::Link => self.length(place),
            FileKind::Directory | FileKind::Device => 0,
        }
    }

    fn copy_one(&mut self, from: Place, name: Name, now: u64) -> Result<Place, Fault> {
        if let Some(text) = self.link_text(from).cloned() {
            return self.make_link(name, &text, now);
        }
        if self.is_directory(from) {
            return self.make_directory_at(name, now);
        }
        let file = self.make_file(name, now)?;
        self.copy_content(from, file, now)?;
        Ok(file)
    }

    /// Gives `to` the content of `from`. The caller has checked the quota.
    fn copy_content(&mut self, from: Place, to: Place, now: u64) -> Result<(), Fault> {
        let content = match from {
            Place::Own(index) => match self.inodes.get(index).map(|inode| &inode.kind) {
                Some(Kind::File(content)) => content.clone(),
                Some(Kind::Null) => Content::default(),
                Some(Kind::Directory(_) | Kind::Link(_)) | None => return Err(Fault::WrongKind),
            },
            Place::Layer { mount, node } => {
                let mut content = Content::default();
                content.write(0, self.layer_bytes(mount, node)?);
                content
            }
        };
        self.replace(to, content, now)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_guest::{Guest, Random, audit, fault};
    use super::super::test_saved::reloaded;
    use super::super::{Base, FilesQuota, FilesUsage, Layer, lock};
    use super::*;
    use bytes::Bytes;

    const QUOTA: FilesQuota = FilesQuota { bytes: 100, count: 12 };

    fn paths(tree: &Tree, below: &str) -> Vec<String> {
        let entries = tree.list(below, 9).expect("a directory");
        entries.into_iter().map(|entry| entry.path[below.len()..].to_owned()).collect()
    }

    #[test]
    fn a_copied_file_is_independent_of_the_original() {
        let mut tree = Tree::new(QUOTA, 1);
        tree.write_file("f", b"12345", 2).expect("room");
        tree.copy_file("f", "d/g", 3).expect("room");
        tree.write_at("f", 0, b"x", 4).expect("room");
        assert_eq!(tree.read_file("d/g").as_deref(), Ok(&b"12345"[..]));
        assert_eq!(tree.usage(), FilesUsage { bytes: 10, count: 3 });
        tree.copy_file("f", "d/g", 5).expect("replaces it");
        assert_eq!(tree.read_file("d/g").as_deref(), Ok(&b"x2345"[..]));
        tree.copy_file("f", "f", 5).expect("nothing to do");
        assert_eq!(tree.usage(), FilesUsage { bytes: 10, count: 3 });
        tree.copy_file("f", "/dev/null", 5).expect("takes anything");
        tree.copy_file("/dev/null", "f", 5).expect("is empty");
        assert_eq!(tree.usage().bytes, 5);
        assert_eq!(fault(tree.copy_file("d", "e", 5)), Fault::IsADirectory);
        assert_eq!(fault(tree.copy_file("f", "d", 5)), Fault::IsADirectory);
        assert_eq!(fault(tree.copy_file("none", "e", 5)), Fault::NotFound);
    }

    #[test]
    fn a_copy_that_does_not_fit_changes_nothing() {
        let mut tree = Tree::new(QUOTA, 1);
        tree.write_file("f", &[1; 60], 2).expect("room");
        tree.write_file("g", &[2; 30], 2).expect("room");
        assert_eq!(fault(tree.copy_file("f", "d/new", 3)), Fault::NoSpace { allowed: 100 });
        assert_eq!(fault(tree.copy_tree("f", "d/new", 3)), Fault::NoSpace { allowed: 100 });
        assert_eq!(tree.usage(), FilesUsage { bytes: 90, count: 2 });
        for name in 0..6 {
            tree.write_file(&format!("many/{name}"), b"", 2).expect("room");
        }
        assert_eq!(fault(tree.copy_tree("many", "more", 3)), Fault::TooManyEntries { allowed: 12 });
        assert_eq!(tree.usage().count, 9);
    }

    #[test]
    fn a_directory_is_copied_with_all_it_holds() {
        let mut tree = Tree::new(QUOTA, 1);
        tree.write_file("a/b/f", b"123", 2).expect("room");
        tree.write_file("a/g", b"45", 2).expect("room");
        tree.make_symlink("b/f", "a/l", 2).expect("free");
        tree.copy_tree("a", "x/y", 3).expect("room");
        assert_eq!(paths(&tree, "/home/user/x/y"), ["/b", "/b/f", "/g", "/l"]);
        assert_eq!(tree.read_file("x/y/l").as_deref(), Ok(&b"123"[..]));
        assert_eq!(tree.usage(), FilesUsage { bytes: 16, count: 11 });
        assert_eq!(fault(tree.copy_tree("a", "x", 3)), Fault::Exists);
        assert_eq!(fault(tree.copy_tree("a", "a/c", 3)), Fault::IntoItself);
        assert_eq!(fault(tree.copy_tree("/", "/tmp/all", 3)), Fault::IntoItself);
        assert_eq!(fault(tree.copy_tree("a", "a/g/h", 3)), Fault::IntoItself);
        assert_eq!(fault(tree.copy_tree("x/y/g", "a/g/h", 3)), Fault::NotADirectory);
    }

    #[test]
    fn a_copy_into_itself_through_a_link_ends() {
        let mut tree = Tree::new(QUOTA, 1);
        tree.write_file("a/f", b"1", 2).expect("room");
        tree.make_symlink("a", "l", 2).expect("free");
        tree.copy_tree("a", "l/copy", 3).expect("what was there before");
        assert_eq!(paths(&tree, "/home/user/a"), ["/copy", "/copy/f", "/f"]);
    }

    #[test]
    fn nesting_is_bounded_for_copies_too() {
        let mut tree = Tree::new(FilesQuota { bytes: 0, count: 400 }, 1);
        let deep = |count: usize| vec!["d"; count].join("/");
        tree.make_directory(&format!("a/{}", deep(70)), 2).expect("room");
        tree.make_directory(&format!("b/{}", deep(60)), 2).expect("room");
        assert_eq!(fault(tree.copy_tree("a", &format!("b/{}/c", deep(60)), 3)), Fault::TooDeep);
        tree.copy_tree("a", &format!("b/{}/c", deep(53)), 3).expect("as deep as it gets");
    }

    #[test]
    fn files_of_a_layer_are_copied_out_of_it_and_not_into_it() {
        let files = [("d/m.py", Bytes::from_static(b"x = 1")), ("n.py", Bytes::from_static(b"y"))];
        let layer = Layer::new(files, 7).expect("paths agree");
        let base = Base::with_layers([("/usr/lib".to_owned(), layer)]).expect("free");
        let mut tree = base.tree(QUOTA, 1);
        tree.copy_tree("/usr/lib", "lib", 2).expect("room");
        assert_eq!(paths(&tree, "/home/user/lib"), ["/d", "/d/m.py", "/n.py"]);
        tree.write_file("lib/n.py", b"z", 3).expect("its own now");
        assert_eq!(tree.usage(), FilesUsage { bytes: 6, count: 4 });
        assert_eq!(fault(tree.copy_file("lib/n.py", "/usr/lib/n.py", 3)), Fault::ReadOnly);
        assert_eq!(fault(tree.copy_tree("lib/d", "/usr/lib/e", 3)), Fault::ReadOnly);
    }

    #[test]
    fn requests_at_random_keep_the_books() {
        const PATHS: [&str; 9] = ["a", "b", "a/b", "a/b/c", "b/a", "b/l/c", "l", "/usr/lib/n.py", "/usr/lib"];
        let files = [("d/m.py", Bytes::from_static(b"x = 1")), ("n.py", Bytes::from_static(b"y"))];
        let layer = Layer::new(files, 7).expect("paths agree");
        let base = Base::with_layers([("/usr/lib".to_owned(), layer)]).expect("free");
        let mut done = [0; 9];
        for seed in 1..=30 {
            let mut random = Random::seeded(seed);
            let mut guest = Guest::on(&base, QUOTA);
            for _ in 0..400 {
                let (path, other) = (random.of(&PATHS), random.of(&PATHS));
                let (size, what) = (random.below(40), random.below(9));
                let tree = guest.tree();
                let before = lock(&tree).usage();
                let mut tree = lock(&tree);
                let outcome = match what {
                    0 => tree.write_file(path, &[1; 40][..size as usize], 2),
                    1 => tree.write_at(path, size, b"0123456789", 2),
                    2 => tree.truncate(path, size, 2),
                    3 => tree.ensure_directory(path, 2).map(|_| ()),
                    4 => tree.remove_single(path, 2),
                    5 => tree.make_symlink(other, path, 2),
                    6 => tree.copy_file(path, other, 2),
                    7 => tree.copy_tree(path, other, 2),
                    _ => tree.rename(path, other, 2),
                };
                // A move or copy may have made directories on the way before it failed.
                let whole = tree.usage().bytes == before.bytes && (what > 6 || tree.usage() == before);
                assert!(outcome.is_ok() || whole, "{what} {path} {other} {outcome:?}");
                done[what as usize] += u32::from(outcome.is_ok());
                drop(tree);
                audit(&guest);
                if random.below(30) == 0 {
                    lock(&guest.tree()).remove("a", 2).unwrap_or_default();
                    guest = reloaded(&guest, &base);
                }
            }
        }
        assert!(done.iter().all(|count| *count > 50), "{done:?}");
    }
}
