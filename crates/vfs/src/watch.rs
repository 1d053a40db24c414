//! Watching directories: what guests and the service change in them waits until the watcher fetches it.
//!
//! While nobody watches, a change costs one look at an empty list. What waits is bounded; past that the watcher learns
//! only that it has missed something.

use super::error::{Fault, FilesError};
use super::inodes::{Inodes, NodeId};
use super::path::HostPath;
use super::requests::refused;
use super::tree::Tree;
use super::walk::LastLink;
use super::watches::{ChangeKind, Changes, MAX_WATCHES, Watch, WatchDepth, WatchId};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::Notify;

/// Maximum number of names of one file that a write to it is reported under. Guests can give a file as many as their
/// quota allows.
const MAX_REPORTED_NAMES: usize = 16;

impl Tree {
    /// Watches a directory. `wake` is notified when something waits after nothing did.
    ///
    /// # Errors
    ///
    /// Returns an error for a bad path, a missing entry, an entry that is no directory, or more than [`MAX_WATCHES`].
    pub fn watch(&mut self, path: &str, depth: WatchDepth, wake: Arc<Notify>) -> Result<WatchId, FilesError> {
        let path = HostPath::parse("watch", path)?;
        let directory = self
            .find(&path, LastLink::Follow)
            .and_then(|node_id| match self.is_directory(node_id) {
                true => Ok(node_id),
                false => Err(Fault::NotADirectory),
            })
            .map_err(|fault| refused("watch", &path, fault))?;
        if self.watches.by_id.len() >= MAX_WATCHES {
            return Err(FilesError::TooManyWatches { path: path.as_str().to_owned(), allowed: MAX_WATCHES });
        }
        if self.watches.by_id.is_empty() {
            self.watches.names = file_names(&self.inodes);
        }
        let id = WatchId(self.watches.next);
        self.watches.next += 1;
        let watch = Watch { directory, depth, waiting: Changes::default(), waiting_bytes: 0, wake };
        self.watches.by_id.insert(id, watch);
        Ok(id)
    }

    /// Takes the changes since the last call; none for a watch that is not or no longer there.
    pub fn drain(&mut self, id: WatchId) -> Option<Changes> {
        let watch = self.watches.by_id.get_mut(&id)?;
        watch.waiting_bytes = 0;
        let ended = watch.waiting.ended;
        let waiting = std::mem::take(&mut watch.waiting);
        watch.waiting.ended = ended;
        Some(waiting)
    }

    /// Ends a watch; says whether there was one.
    pub fn unwatch(&mut self, id: WatchId) -> bool {
        let known = self.watches.by_id.remove(&id).is_some();
        if self.watches.by_id.is_empty() {
            self.watches.names.clear();
        }
        known
    }

    fn is_watched(&self) -> bool {
        !self.watches.by_id.is_empty()
    }

    /// Tells watchers what happens to an entry; called while its directory is still where it was.
    pub(super) fn tell(&mut self, kind: ChangeKind, parent: u32, name: &str) {
        for watch in self.watches.by_id.values_mut() {
            if watch.waiting.overflowed {
                continue;
            }
            if let Some(path) = watch.path(&self.inodes, parent, name) {
                watch.tell(kind, path);
            }
        }
    }

    /// Tells watchers what happens to an inode, under its names.
    pub(super) fn tell_of(&mut self, kind: ChangeKind, index: u32) {
        if !self.is_watched() {
            return;
        }
        let names: Vec<(u32, Arc<str>)> = match self.inodes.directory(index) {
            Some(_) if self.inodes.get(index).is_some_and(|inode| inode.names == 0) => return,
            Some(directory) => vec![(directory.parent, Arc::clone(&directory.name))],
            None => self
                .watches
                .names
                .range((index, 0, Arc::from(""))..)
                .take_while(|(of, _, _)| *of == index)
                .take(MAX_REPORTED_NAMES)
                .map(|(_, parent, name)| (*parent, Arc::clone(name)))
                .collect(),
        };
        for (parent, name) in names {
            self.tell(kind, parent, &name);
        }
    }

    /// Notes that a file has a name more.
    pub(super) fn note_name(&mut self, index: u32, parent: u32, name: &Arc<str>) {
        if self.is_watched() && self.inodes.directory(index).is_none() {
            self.watches.names.insert((index, parent, Arc::clone(name)));
        }
    }

    /// Notes that a file has a name less.
    pub(super) fn note_lost_name(&mut self, index: u32, parent: u32, name: &Arc<str>) {
        if self.is_watched() {
            self.watches.names.remove(&(index, parent, Arc::clone(name)));
        }
    }

    /// Tells that all below a directory is about to be removed, what lies deepest first.
    pub(super) fn tell_removal_below(&mut self, directory: u32) {
        if !self.is_watched() {
            return;
        }
        let mut doomed: Vec<(u32, Arc<str>, u32)> = Vec::new();
        let mut open = vec![directory];
        while let Some(parent) = open.pop() {
            let entries = self.inodes.directory(parent).into_iter().flat_map(super::inodes::Directory::entries);
            for (_, name, node_id) in entries {
                if let NodeId::Own(index) = node_id {
                    open.extend(self.inodes.directory(index).map(|_| index));
                    doomed.push((parent, name, index));
                }
            }
        }
        for (parent, name, index) in doomed.into_iter().rev() {
            self.tell(ChangeKind::Remove, parent, &name);
            self.note_lost_name(index, parent, &name);
        }
    }

    /// Ends the watches on a directory that has lost its name.
    pub(super) fn end_watches(&mut self, index: u32) {
        for watch in self.watches.by_id.values_mut().filter(|watch| watch.directory == NodeId::Own(index)) {
            watch.tell(ChangeKind::Remove, String::new());
            watch.waiting.ended = true;
            // Another may get its number; the root cannot be told from inside a layer.
            watch.directory = NOWHERE;
        }
    }
}

/// Node in which the watch of a removed directory looks: no file has it.
const NOWHERE: NodeId = NodeId::Layer { mount: u16::MAX, node: u32::MAX };

/// The names of all files.
fn file_names(inodes: &Inodes) -> BTreeSet<(u32, u32, Arc<str>)> {
    let directories = (0..inodes.len() as u32).filter_map(|index| Some((index, inodes.directory(index)?)));
    let entries = directories.flat_map(|(parent, directory)| directory.entries().map(move |entry| (parent, entry)));
    entries
        .filter_map(|(parent, (_, name, node_id))| match node_id {
            NodeId::Own(index) if inodes.directory(index).is_none() => Some((index, parent, name)),
            NodeId::Own(_) | NodeId::Layer { .. } => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::test_guest::{Guest, QUOTA, Random, fault};
    use super::super::test_nonsense::{fill_with_small_numbers, odd_call};
    use super::super::{Base, Change, FilesQuota, MAX_CHANGES, lock};
    use super::*;

    fn watch(guest: &Guest, path: &str, depth: WatchDepth) -> WatchId {
        lock(&guest.tree()).watch(path, depth, Arc::default()).expect("a directory")
    }

    fn seen(guest: &Guest, id: WatchId) -> Vec<String> {
        let waiting = lock(&guest.tree()).drain(id).expect("still watching");
        waiting.changes.into_iter().map(|change| format!("{:?} {}", change.kind, change.path)).collect()
    }

    #[test]
    fn all_that_a_guest_does_to_entries_is_seen() {
        let mut guest = Guest::new();
        let fd = guest.open("tmp/old", "w").expect("created");
        let id = watch(&guest, "/tmp", WatchDepth::Entries);
        guest.write(fd, b"1").expect("room");
        guest.write(fd, b"2").expect("room");
        guest.open("tmp/new", "w").expect("created");
        guest.mkdir("tmp/d").expect("free");
        guest.open("tmp/d/below", "w").expect("created");
        guest.open("home/user/elsewhere", "w").expect("created");
        assert_eq!(seen(&guest, id), ["Write old", "Create new", "Create d"]);
        guest.utime("tmp/old", (1, 2), 0b0101).expect("there");
        guest.truncate(fd, 0).expect("open for writing");
        guest.rename("tmp/old", "tmp/renamed").expect("there");
        guest.write(fd, b"3").expect("room");
        guest.link("tmp/renamed", "tmp/twice").expect("free");
        guest.write(fd, b"4").expect("room");
        let expected = ["Attributes old", "Write old", "Rename old", "Create renamed", "Write renamed", "Create twice"];
        assert_eq!(seen(&guest, id), [&expected[..], &["Write renamed", "Write twice"]].concat());
        guest.rename("tmp/twice", "home/user/out").expect("there");
        guest.rename("home/user/elsewhere", "tmp/new").expect("replaces it");
        guest.symlink("x", "tmp/l").expect("free");
        guest.unlink("tmp/l").expect("there");
        guest.unlink("tmp/d/below").expect("there");
        guest.rmdir("tmp/d").expect("empty");
        guest.open("tmp/new", "w").expect("was empty already");
        assert_eq!(seen(&guest, id), ["Rename twice", "Create new", "Create l", "Remove l", "Remove d"]);
        guest.unlink("tmp/renamed").expect("there");
        guest.unlink("home/user/out").expect("there");
        guest.write(fd, b"5").expect("still open");
        assert_eq!(seen(&guest, id), ["Remove renamed"]);
    }

    #[test]
    fn all_that_requests_do_below_is_seen() {
        let guest = Guest::new();
        let tree = guest.tree();
        lock(&tree).make_directory("d", 1).expect("free");
        let id = watch(&guest, "d", WatchDepth::All);
        lock(&tree).write_file("d/a/b/f", b"1", 2).expect("room");
        lock(&tree).write_file("d/a/b/f", b"2", 2).expect("room");
        lock(&tree).write_file("d/g", b"2", 2).expect("room");
        // As E2B's server has it, which gives what it has made to the user.
        let made = [
            "Create a",
            "Create a/b",
            "Create a/b/f",
            "Attributes a/b/f",
            "Write a/b/f",
            "Create g",
            "Attributes g",
            "Write g",
        ];
        assert_eq!(seen(&guest, id), made);
        lock(&tree).rename("d/a", "d/c", 3).expect("free");
        lock(&tree).write_file("d/c/b/f", b"", 3).expect("there");
        lock(&tree).set_file_times("d/c", None, Some(1), 3).expect("there");
        lock(&tree).remove("d/c", 4).expect("there");
        let expected =
            ["Rename a", "Create c", "Write c/b/f", "Attributes c", "Remove c/b/f", "Remove c/b", "Remove c"];
        assert_eq!(seen(&guest, id), expected);
        assert!(lock(&tree).unwatch(id) && !lock(&tree).unwatch(id));
        assert_eq!(lock(&tree).drain(id), None);
        assert!(lock(&tree).watches.names.is_empty());
    }

    #[test]
    fn a_watch_follows_its_directory_and_ends_with_it() {
        let guest = Guest::new();
        let tree = guest.tree();
        lock(&tree).write_file("d/e/f", b"1", 1).expect("room");
        let id = watch(&guest, "d/e", WatchDepth::Entries);
        lock(&tree).rename("d", "moved", 2).expect("free");
        lock(&tree).write_file("moved/e/f", b"2", 2).expect("room");
        assert_eq!(seen(&guest, id), ["Write f"]);
        lock(&tree).remove("moved", 3).expect("there");
        let last = lock(&tree).drain(id).expect("still watching");
        let path = |path: &str| Change { kind: ChangeKind::Remove, path: path.to_owned() };
        assert_eq!(last, Changes { changes: vec![path("f"), path("")], overflowed: false, ended: true });
        for name in ["d", "d/e", "d/e/f"] {
            // One of them gets the number the directory had.
            lock(&tree).make_directory(name, 4).expect("free");
        }
        assert_eq!(lock(&tree).drain(id), Some(Changes { ended: true, ..Changes::default() }));
        assert_eq!(fault(lock(&tree).watch("moved", WatchDepth::All, Arc::default())), Fault::NotFound);
        lock(&tree).write_file("g", b"", 4).expect("room");
        assert_eq!(fault(lock(&tree).watch("g", WatchDepth::All, Arc::default())), Fault::NotADirectory);
    }

    #[tokio::test]
    async fn a_watcher_is_woken_once_for_what_waits() {
        let wake = Arc::new(Notify::new());
        let mut tree = Tree::new(QUOTA, 1);
        let id = tree.watch(".", WatchDepth::All, Arc::clone(&wake)).expect("a directory");
        let is_woken = || futures_now(wake.notified());
        assert!(!is_woken());
        tree.write_file("a", b"1", 2).expect("room");
        tree.write_file("b", b"1", 2).expect("room");
        assert!(is_woken() && !is_woken());
        assert_eq!(tree.drain(id).map(|changes| changes.changes.len()), Some(6));
        tree.write_file("b", b"2", 2).expect("room");
        assert!(is_woken());
    }

    /// Polls a future once; returns whether it is ready.
    fn futures_now(future: impl Future) -> bool {
        let future = std::pin::pin!(future);
        future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop())).is_ready()
    }

    #[test]
    fn what_waits_is_bounded_and_what_was_missed_is_said() {
        let mut tree = Tree::new(FilesQuota { bytes: 0, count: 20_000 }, 1);
        let id = tree.watch("/tmp", WatchDepth::All, Arc::default()).expect("a directory");
        let deep = tree.watch("/tmp", WatchDepth::All, Arc::default()).expect("a directory");
        for number in 0..MAX_CHANGES {
            tree.make_directory(&format!("/tmp/{number}"), 2).expect("room");
        }
        let full = tree.drain(id).expect("watching");
        assert_eq!((full.changes.len(), full.overflowed), (MAX_CHANGES, false));
        tree.write_file("/tmp/more", b"", 2).expect("room");
        let over = tree.drain(deep).expect("watching");
        assert_eq!((over.changes.len(), over.overflowed), (MAX_CHANGES, true));
        let long = vec!["n".repeat(255); 15].join("/");
        for number in 0..400 {
            tree.write_file(&format!("/tmp/{long}/{number}"), b"", 2).expect("room");
        }
        let over = tree.drain(deep).expect("watching");
        assert!(over.overflowed && over.changes.len() < 300, "{}", over.changes.len());
        let mut watches = 2;
        while tree.watch("/", WatchDepth::All, Arc::default()).is_ok() {
            watches += 1;
        }
        assert_eq!(watches, MAX_WATCHES);
    }

    #[test]
    fn copies_are_not_watched() {
        let guest = Guest::new();
        let id = watch(&guest, "/", WatchDepth::All);
        let mut fork = lock(&guest.tree()).fork();
        fork.write_file("f", b"", 2).expect("room");
        assert_eq!((fork.drain(id), seen(&guest, id)), (None, vec![]));
    }

    #[test]
    fn whatever_happens_the_names_of_files_are_known() {
        for seed in 1..=10 {
            let mut random = Random::seeded(seed);
            let mut guest = Guest::on(&Base::bare(), FilesQuota { bytes: 3000, count: 20 });
            fill_with_small_numbers(&mut random, &mut guest);
            let id = watch(&guest, "/", WatchDepth::All);
            for number in 0..3000 {
                odd_call(&mut random, &mut guest).unwrap_or_default();
                let tree = guest.tree();
                let tree = &mut *lock(&tree);
                if number % 40 == 0 {
                    // What is there is seldom, so most of this fails.
                    tree.remove(random.of(&["/tmp/a", "/tmp/b", "/tmp/link"]), 5).unwrap_or_default();
                }
                assert!(tree.watches.names == file_names(&tree.inodes));
                tree.drain(id).expect("watching");
            }
        }
    }
}
