//! What the service changes in a sandbox's files besides writing them whole: a part of one, directories, names, times.

use super::error::{Fault, FilesError};
use super::inodes::Place;
use super::path::{HostPath, check_link_text};
use super::requests::refused;
use super::tree::Tree;
use super::walk::{LastLink, Reached};

/// Whether something had to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// It is new.
    New,
    /// It was there before, and nothing changed.
    Existed,
}

impl Tree {
    /// Writes a part of a file from `offset` on, all of it or nothing; the file and the directories on the way are made.
    /// For content that comes in pieces: [`Tree::write_file`] with none of it, then piece by piece.
    ///
    /// # Errors
    ///
    /// As [`Tree::write_file`]. Space before `offset` that was never written counts against the quota too.
    pub fn write_at(&mut self, path: &str, offset: u64, bytes: &[u8], now: u64) -> Result<(), FilesError> {
        let path = HostPath::parse("write", path)?;
        self.write_part(&path, offset, bytes, now).map_err(|fault| refused("write", &path, fault))
    }

    fn write_part(&mut self, path: &HostPath, offset: u64, bytes: &[u8], now: u64) -> Result<(), Fault> {
        let existing = self.existing_file(path)?;
        let end = offset.saturating_add(bytes.len() as u64);
        let old = existing.map_or(0, |place| self.length(place));
        if !bytes.is_empty() {
            self.check_bytes(end.saturating_sub(old))?;
        }
        let place = match existing {
            Some(place) => place,
            None => self.make_empty_file(path, now)?,
        };
        self.write(place, offset, bytes, now)?;
        Ok(())
    }

    /// The file or device a path leads to, if there is one.
    pub(super) fn existing_file(&self, path: &HostPath) -> Result<Option<Place>, Fault> {
        match self.reach(path, LastLink::Follow) {
            Ok(Reached::Entry { place, .. } | Reached::Itself { place }) if self.is_directory(place) => {
                Err(Fault::IsADirectory)
            }
            Ok(Reached::Entry { place, .. } | Reached::Itself { place }) => Ok(Some(place)),
            Ok(Reached::Missing { .. }) | Err(Fault::NotFound) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Makes a file that is not there, and the directories above it.
    pub(super) fn make_empty_file(&mut self, path: &HostPath, now: u64) -> Result<Place, Fault> {
        self.make_parents(path, 1, now)?;
        let name = self.free_name(&self.reach(path, LastLink::Follow)?)?;
        self.make_file(name, now)
    }

    /// Cuts a file or lengthens it with zeros.
    ///
    /// # Errors
    ///
    /// A bad path, nothing there, a directory, a read-only layer, or the quota.
    pub fn truncate(&mut self, path: &str, size: u64, now: u64) -> Result<(), FilesError> {
        let path = HostPath::parse("truncate", path)?;
        self.find(&path, LastLink::Follow)
            .and_then(|place| self.resize(place, size, now))
            .map_err(|fault| refused("truncate", &path, fault))
    }

    /// Makes sure that there is a directory, with those above it.
    ///
    /// # Errors
    ///
    /// A bad path, a file in its place or on the way, a read-only layer, or the quota.
    pub fn ensure_directory(&mut self, path: &str, now: u64) -> Result<Made, FilesError> {
        let host = HostPath::parse("make directory", path)?;
        match self.find(&host, LastLink::Follow) {
            Ok(place) if self.is_directory(place) => Ok(Made::Existed),
            Ok(_) => Err(refused("make directory", &host, Fault::NotADirectory)),
            Err(_) => self.make_directory(path, now).map(|()| Made::New),
        }
    }

    /// Removes a file, a symbolic link or an empty directory; [`Tree::remove`] also takes a full one.
    ///
    /// # Errors
    ///
    /// A bad path, nothing there, a directory that holds something, a read-only layer, or what is the sandbox's own.
    pub fn remove_single(&mut self, path: &str, now: u64) -> Result<(), FilesError> {
        let path = HostPath::parse("remove", path)?;
        self.reach(&path, LastLink::Never)
            .and_then(|reached| Ok((self.is_directory(reached.place()?), self.taken_name(&reached)?)))
            .and_then(|(directory, named)| match directory {
                true => self.remove_directory_at(&named, now),
                false => self.remove_file(&named, now),
            })
            .map_err(|fault| refused("remove", &path, fault))
    }

    /// Makes a symbolic link that leads to `text`, which may be any path; directories on the way to it are made.
    ///
    /// # Errors
    ///
    /// A bad path, something there already, a text that is empty, too long or holds a NUL byte, a read-only layer, or
    /// the quota.
    pub fn make_symlink(&mut self, text: &str, path: &str, now: u64) -> Result<(), FilesError> {
        check_link_text(text).map_err(|reason| FilesError::BadPath {
            attempted: "link to",
            path: text.to_owned(),
            reason,
        })?;
        let path = HostPath::parse("make link", path)?;
        self.check_bytes(text.len() as u64)
            .and_then(|()| self.make_parents(&path, 1, now))
            .and_then(|()| self.free_name(&self.reach(&path, LastLink::Never)?))
            .and_then(|name| self.make_link(name, text, now))
            .map_err(|fault| refused("make link", &path, fault))?;
        Ok(())
    }

    /// Sets the times that are given of what a path leads to; nanoseconds since 1970.
    ///
    /// # Errors
    ///
    /// A bad path, nothing there, or a read-only layer.
    pub fn change_times(
        &mut self,
        path: &str,
        accessed: Option<u64>,
        modified: Option<u64>,
        now: u64,
    ) -> Result<(), FilesError> {
        let path = HostPath::parse("set times of", path)?;
        self.find(&path, LastLink::Follow)
            .and_then(|place| self.set_times(place, accessed, modified, now))
            .map_err(|fault| refused("set times of", &path, fault))
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_guest::fault;
    use super::super::{FileKind, FilesQuota, FilesUsage};
    use super::*;

    const QUOTA: FilesQuota = FilesQuota { bytes: 100, count: 10 };

    #[test]
    fn content_that_comes_in_pieces_is_put_together() {
        let mut tree = Tree::new(QUOTA, 1);
        tree.write_at("up/f", 0, b"one ", 2).expect("room");
        tree.write_at("up/f", 4, b"two", 3).expect("room");
        tree.write_at("up/f", 9, b"!", 4).expect("room");
        assert_eq!(tree.read_file("up/f").as_deref(), Ok(&b"one two\0\0!"[..]));
        assert_eq!(tree.stat("up/f").map(|entry| entry.modified), Ok(4));
        assert_eq!(fault(tree.write_at("up", 0, b"x", 5)), Fault::IsADirectory);
        assert_eq!(fault(tree.write_at("up/f/g", 0, b"x", 5)), Fault::NotADirectory);
    }

    #[test]
    fn a_piece_that_does_not_fit_leaves_nothing_behind() {
        let mut tree = Tree::new(QUOTA, 1);
        tree.write_at("f", 0, &[1; 90], 2).expect("room");
        assert_eq!(fault(tree.write_at("f", 85, &[2; 16], 3)), Fault::NoSpace { allowed: 100 });
        assert_eq!(fault(tree.write_at("new/g", 50, b"x", 3)), Fault::NoSpace { allowed: 100 });
        assert_eq!(fault(tree.write_at("f", u64::MAX, b"x", 3)), Fault::NoSpace { allowed: 100 });
        assert_eq!(fault(tree.write_at("1/2/3/4/5/6/7/8/9/f", 0, b"", 3)), Fault::TooManyEntries { allowed: 10 });
        assert_eq!(tree.read_file("f").as_deref(), Ok(&[1; 90][..]));
        assert_eq!(tree.usage(), FilesUsage { bytes: 90, count: 1 });
        tree.write_at("f", 90, &[2; 10], 3).expect("the last room");
    }

    #[test]
    fn a_file_is_cut_and_lengthened_within_the_quota() {
        let mut tree = Tree::new(QUOTA, 1);
        tree.write_file("f", b"0123456789", 2).expect("room");
        tree.truncate("f", 3, 3).expect("there");
        tree.truncate("f", 5, 3).expect("room");
        assert_eq!(tree.read_file("f").as_deref(), Ok(&b"012\0\0"[..]));
        assert_eq!(fault(tree.truncate("f", 101, 3)), Fault::NoSpace { allowed: 100 });
        assert_eq!(fault(tree.truncate("none", 0, 3)), Fault::NotFound);
        assert_eq!(fault(tree.truncate(".", 0, 3)), Fault::IsADirectory);
    }

    #[test]
    fn a_directory_is_made_once_and_then_was_there() {
        let mut tree = Tree::new(QUOTA, 1);
        assert_eq!(tree.ensure_directory("a/b", 2), Ok(Made::New));
        assert_eq!(tree.ensure_directory("a/b", 3), Ok(Made::Existed));
        assert_eq!(tree.ensure_directory("/", 3), Ok(Made::Existed));
        assert_eq!(tree.stat("a/b").map(|entry| entry.modified), Ok(2));
        tree.write_file("f", b"", 2).expect("room");
        assert_eq!(fault(tree.ensure_directory("f", 3)), Fault::NotADirectory);
        assert_eq!(fault(tree.ensure_directory("f/g", 3)), Fault::NotADirectory);
        assert_eq!(tree.usage().count, 3);
    }

    #[test]
    fn only_an_empty_directory_is_removed_alone() {
        let mut tree = Tree::new(QUOTA, 1);
        tree.write_file("d/f", b"", 2).expect("room");
        tree.make_symlink("d", "l", 2).expect("free");
        assert_eq!(fault(tree.remove_single("d", 3)), Fault::NotEmpty);
        tree.remove_single("l", 3).expect("the link, not what it leads to");
        tree.remove_single("d/f", 3).expect("a file");
        tree.remove_single("d", 3).expect("empty now");
        assert_eq!(fault(tree.remove_single("d", 3)), Fault::NotFound);
        assert_eq!(fault(tree.remove_single("/tmp", 3)), Fault::Protected);
        assert_eq!(fault(tree.remove_single("/", 3)), Fault::NoName);
        assert_eq!(tree.usage(), FilesUsage::default());
    }

    #[test]
    fn a_link_is_shown_itself_or_where_it_leads() {
        let mut tree = Tree::new(QUOTA, 1);
        tree.write_file("d/f", b"12345", 2).expect("room");
        tree.make_symlink("../d/f", "links/l", 3).expect("free");
        tree.make_symlink("/nowhere", "links/lost", 3).expect("leads nowhere yet");
        let shown = tree.stat("links/l").expect("there");
        assert_eq!((shown.kind, shown.link_target.as_deref()), (FileKind::Link, Some("../d/f")));
        let target = tree.stat_target("links/l").expect("there");
        assert_eq!((target.kind, target.size, &*target.path), (FileKind::File, 5, "/home/user/links/l"));
        assert_eq!(fault(tree.stat_target("links/lost")), Fault::NotFound);
        assert_eq!(fault(tree.make_symlink("x", "links/l", 3)), Fault::Exists);
        assert!(tree.make_symlink("", "n", 3).is_err() && tree.make_symlink("a\0", "n", 3).is_err());
        assert_eq!(fault(tree.make_symlink(&"x".repeat(99), "new/n", 3)), Fault::NoSpace { allowed: 100 });
        assert!(tree.stat("new").is_err());
    }

    #[test]
    fn only_the_times_given_are_set() {
        let mut tree = Tree::new(QUOTA, 1);
        tree.write_file("f", b"", 2).expect("room");
        tree.change_times("f", None, Some(7), 9).expect("there");
        let entry = tree.stat("f").expect("there");
        assert_eq!((entry.accessed, entry.modified, entry.changed), (2, 7, 9));
        assert_eq!(fault(tree.change_times("g", None, None, 9)), Fault::NotFound);
    }

    #[test]
    fn a_listing_stops_at_its_bound() {
        let mut tree = Tree::new(QUOTA, 1);
        for name in ["a", "b", "c"] {
            tree.write_file(name, b"", 2).expect("room");
        }
        assert_eq!(tree.list_at_most(".", 1, 3).map(|entries| entries.len()), Ok(3));
        let refused = tree.list_at_most(".", 1, 2).map_err(|error| error.to_string());
        let expected = "could not list \"/home/user\": it holds more than 2 files and directories";
        assert_eq!(refused, Err(expected.to_owned()));
    }
}
