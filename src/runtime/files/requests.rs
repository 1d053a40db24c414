//! What the service asks of a sandbox's files: by path, relative to the working directory, never through a descriptor.

use super::error::{Fault, FilesError};
use super::inodes::{Place, ROOT};
use super::path::{HOME, HostPath, MAXIMUM_DEPTH, is_within};
use super::tree::{FileKind, Tree};
use super::walk::{LastLink, Reached};
use bytes::Bytes;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// A file or directory as the service shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Absolute path.
    pub path: String,
    /// Last part of the path; empty for the root.
    pub name: String,
    /// What it is; links are shown, not followed.
    pub kind: FileKind,
    /// Length in bytes.
    pub size: u64,
    /// When it was last read, nanoseconds since 1970; moved as seldom as on Linux.
    pub accessed: u64,
    /// When its content last changed, nanoseconds since 1970.
    pub modified: u64,
    /// When its content, names or times last changed, nanoseconds since 1970.
    pub changed: u64,
    /// Where a symbolic link leads, as it was written.
    pub link_target: Option<String>,
    /// It lies in a read-only layer.
    pub read_only: bool,
}

impl Tree {
    /// Writes a whole file, replacing its content; directories on the way are made. `now`: nanoseconds since 1970.
    ///
    /// # Errors
    ///
    /// A bad path, a directory in its place, a read-only layer, or a quota that would be passed; then nothing changed.
    pub fn write_file(&mut self, path: &str, bytes: &[u8], now: u64) -> Result<(), FilesError> {
        let path = HostPath::parse("write", path)?;
        self.write_at(&path, bytes, now)
            .map_err(|fault| refused("write", &path, fault))
    }

    fn write_at(&mut self, path: &HostPath, bytes: &[u8], now: u64) -> Result<(), Fault> {
        let existing = match self.reach(path, LastLink::Follow) {
            Ok(Reached::Entry { place, .. } | Reached::Itself { place }) => Some(place),
            Ok(Reached::Missing { .. }) | Err(Fault::NotFound) => None,
            Err(fault) => return Err(fault),
        };
        let old = match existing {
            Some(place) if self.is_directory(place) => return Err(Fault::IsADirectory),
            Some(place) => self.length(place),
            None => 0,
        };
        self.check_bytes((bytes.len() as u64).saturating_sub(old))?;
        let place = match existing {
            Some(place) => place,
            None => {
                self.make_parents(path, 1, now)?;
                let name = self.free_name(&self.reach(path, LastLink::Follow)?)?;
                self.make_file(name, now)?
            }
        };
        self.resize(place, 0, now)?;
        self.write(place, 0, bytes, now)?;
        Ok(())
    }

    /// Makes the directories above `path` that are missing, if they and `more` entries fit into the quota.
    fn make_parents(&mut self, path: &HostPath, more: u64, now: u64) -> Result<(), Fault> {
        let Some((above, _)) = path.relative_to_root().rsplit_once('/') else {
            return Ok(());
        };
        let ends = || {
            above
                .match_indices('/')
                .map(|(end, _)| end)
                .chain([above.len()])
        };
        let mut missing = 0;
        let mut depth = 0;
        for end in ends() {
            match self.walk(ROOT, &above[..end], LastLink::Follow) {
                Ok(Reached::Missing { parent, .. }) => {
                    missing += 1;
                    depth = self.depth_of(parent);
                }
                Ok(Reached::Entry { place, .. } | Reached::Itself { place }) => {
                    if !self.is_directory(place) {
                        return Err(Fault::NotADirectory);
                    }
                }
                Err(stuck) if stuck.fault == Fault::NotFound => missing += 1,
                Err(stuck) => return Err(stuck.fault),
            }
        }
        if missing == 0 {
            return Ok(());
        }
        self.check_entries(missing + more)?;
        if depth as u64 + missing > MAXIMUM_DEPTH as u64 {
            return Err(Fault::TooDeep);
        }
        for end in ends() {
            let reached = self
                .walk(ROOT, &above[..end], LastLink::Follow)
                .map_err(|stuck| stuck.fault)?;
            match reached {
                Reached::Missing { .. } => {
                    let name = self.free_name(&reached)?;
                    self.make_directory_at(name, now)?;
                }
                Reached::Entry { .. } | Reached::Itself { .. } => {}
            }
        }
        Ok(())
    }

    /// The whole content of a file. A file of a layer is not copied.
    ///
    /// # Errors
    ///
    /// A bad path, nothing there, or a directory.
    pub fn read_file(&self, path: &str) -> Result<Bytes, FilesError> {
        self.read_range(path, 0, u64::MAX)
    }

    /// Up to `length` bytes of a file from `offset` on; fewer where it ends. Copies no more than that.
    ///
    /// # Errors
    ///
    /// As [`Tree::read_file`].
    pub fn read_range(&self, path: &str, offset: u64, length: u64) -> Result<Bytes, FilesError> {
        let path = HostPath::parse("read", path)?;
        self.find(&path, LastLink::Follow)
            .and_then(|place| self.content_of(place, offset, length))
            .map_err(|fault| refused("read", &path, fault))
    }

    fn content_of(&self, place: Place, offset: u64, length: u64) -> Result<Bytes, Fault> {
        if self.is_directory(place) {
            return Err(Fault::IsADirectory);
        }
        let size = self.length(place);
        let start = offset.min(size);
        let taken = (size - start).min(length) as usize;
        match place {
            Place::Layer { mount, node } => {
                let start = start as usize;
                Ok(self.layer_bytes(mount, node)?.slice(start..start + taken))
            }
            Place::Own(_) => {
                let mut bytes = vec![0; taken];
                self.read(place, start, &mut bytes)?;
                Ok(Bytes::from(bytes))
            }
        }
    }

    /// What is at a path. A symbolic link is shown itself.
    ///
    /// # Errors
    ///
    /// A bad path, or nothing there.
    pub fn stat(&self, path: &str) -> Result<FileEntry, FilesError> {
        let path = HostPath::parse("look at", path)?;
        self.find(&path, LastLink::Keep)
            .and_then(|place| self.entry(path.as_str().to_owned(), place))
            .map_err(|fault| refused("look at", &path, fault))
    }

    /// What a directory holds, down to `depth` levels (1: its own entries), in the order of their paths. Links to
    /// directories are not entered.
    ///
    /// # Errors
    ///
    /// A bad path, nothing there, or no directory.
    pub fn list(&self, path: &str, depth: usize) -> Result<Vec<FileEntry>, FilesError> {
        let path = HostPath::parse("list", path)?;
        self.list_at(&path, depth)
            .map_err(|fault| refused("list", &path, fault))
    }

    fn list_at(&self, path: &HostPath, depth: usize) -> Result<Vec<FileEntry>, Fault> {
        let top = self.find(path, LastLink::Follow)?;
        if !self.is_directory(top) {
            return Err(Fault::NotADirectory);
        }
        let mut found = Vec::new();
        let mut open = vec![(path.as_str().to_owned(), top, 1)];
        while let Some((above, directory, level)) = open.pop() {
            if level > depth {
                continue;
            }
            for (path, place) in self.children_of(&above, directory) {
                if self.is_directory(place) {
                    open.push((path.clone(), place, level + 1));
                }
                found.push(self.entry(path, place)?);
            }
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }

    /// Removes a file, or a directory with all it holds. A symbolic link is removed itself.
    ///
    /// # Errors
    ///
    /// A bad path, nothing there, a read-only layer, or a directory of the sandbox's own.
    pub fn remove(&mut self, path: &str, now: u64) -> Result<(), FilesError> {
        let path = HostPath::parse("remove", path)?;
        self.reach(&path, LastLink::Never)
            .and_then(|reached| self.taken_name(&reached))
            .and_then(|named| self.remove_all(&named, now))
            .map_err(|fault| refused("remove", &path, fault))
    }

    /// Moves a file or directory, replacing a file or an empty directory; directories on the way are made.
    ///
    /// # Errors
    ///
    /// A bad path, nothing to move, a full directory or one of the sandbox's own in its place, a read-only layer, a
    /// directory into itself.
    pub fn rename(&mut self, from: &str, to: &str, now: u64) -> Result<(), FilesError> {
        let from = HostPath::parse("move", from)?;
        let to = HostPath::parse("move to", to)?;
        let named = self
            .reach(&from, LastLink::Never)
            .and_then(|reached| self.taken_name(&reached))
            .map_err(|fault| refused("move", &from, fault))?;
        if to != from && is_within(to.as_str(), from.as_str()) {
            return Err(refused("move to", &to, Fault::IntoItself));
        }
        self.make_parents(&to, 0, now)
            .and_then(|()| self.destination(&self.reach(&to, LastLink::Never)?))
            .and_then(|destination| self.rename_entry(&named, destination, now))
            .map_err(|fault| refused("move to", &to, fault))
    }

    /// Makes a directory, and those above it that are missing.
    ///
    /// # Errors
    ///
    /// A bad path, something there already, a file on the way, a read-only layer, or the quota.
    pub fn make_directory(&mut self, path: &str, now: u64) -> Result<(), FilesError> {
        let path = HostPath::parse("make directory", path)?;
        self.make_parents(&path, 1, now)
            .and_then(|()| self.free_name(&self.reach(&path, LastLink::Never)?))
            .and_then(|name| self.make_directory_at(name, now))
            .map_err(|fault| refused("make directory", &path, fault))?;
        Ok(())
    }

    /// The files that match any of the patterns, with their content, in the order of their paths. A relative pattern
    /// starts at the working directory; `*` and `?` stop at a slash, `**` does not. Paths below the working directory
    /// are given relative to it. Links to files are read, links to directories are not entered, layers are left out.
    ///
    /// # Errors
    ///
    /// A pattern that cannot be read, or more than `maximum_bytes` of content: a file with a thousand names is cheap for
    /// the guest and dear for the caller.
    pub fn glob<P: AsRef<str>>(
        &self,
        patterns: &[P],
        maximum_bytes: u64,
    ) -> Result<Vec<(String, Bytes)>, FilesError> {
        let wanted = compile(patterns)?;
        let mut matching = Vec::new();
        let mut open = vec![("/".to_owned(), ROOT)];
        while let Some((above, directory)) = open.pop() {
            for (path, place) in self.children_of(&above, directory) {
                match (place, self.kind(place)) {
                    (Place::Layer { .. }, _) | (Place::Own(_), FileKind::Device) => {}
                    (Place::Own(_), FileKind::Directory) => open.push((path, place)),
                    (Place::Own(_), FileKind::File | FileKind::Link) => {
                        if wanted.is_match(&path)
                            && let Some(place) = self.regular_file(&path)
                        {
                            matching.push((path, place));
                        }
                    }
                }
            }
        }
        matching.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut left = maximum_bytes;
        let mut files = Vec::with_capacity(matching.len());
        for (path, place) in matching {
            left = left
                .checked_sub(self.length(place))
                .ok_or_else(|| FilesError::TooLarge {
                    path: path.clone(),
                    allowed: maximum_bytes,
                })?;
            let bytes =
                self.content_of(place, 0, u64::MAX)
                    .map_err(|fault| FilesError::Refused {
                        attempted: "read",
                        path: path.clone(),
                        fault,
                    })?;
            files.push((relative_to_home(&path).to_owned(), bytes));
        }
        Ok(files)
    }

    fn regular_file(&self, path: &str) -> Option<Place> {
        match self.walk(ROOT, &path[1..], LastLink::Follow) {
            Ok(Reached::Entry { place, .. }) if self.kind(place) == FileKind::File => Some(place),
            Ok(Reached::Entry { .. } | Reached::Missing { .. } | Reached::Itself { .. })
            | Err(_) => None,
        }
    }

    fn children_of<'a>(
        &'a self,
        above: &str,
        directory: Place,
    ) -> impl Iterator<Item = (String, Place)> + use<'a> {
        let prefix = if above == "/" {
            "/".to_owned()
        } else {
            format!("{above}/")
        };
        self.listed_after(directory, super::inodes::PARENT_POSITION)
            .map(move |listed| (format!("{prefix}{}", listed.name), listed.place))
    }

    fn entry(&self, path: String, place: Place) -> Result<FileEntry, Fault> {
        let stat = self.attributes(place)?;
        Ok(FileEntry {
            name: path.rsplit('/').next().unwrap_or_default().to_owned(),
            path,
            kind: stat.kind,
            size: stat.size,
            accessed: stat.times.accessed,
            modified: stat.times.modified,
            changed: stat.times.changed,
            link_target: self.link_text(place).map(|text| text.to_string()),
            read_only: match place {
                Place::Own(_) => false,
                Place::Layer { .. } => true,
            },
        })
    }

    fn reach<'a>(&'a self, path: &'a HostPath, last: LastLink) -> Result<Reached<'a>, Fault> {
        self.walk(ROOT, path.relative_to_root(), last)
            .map_err(|stuck| stuck.fault)
    }

    fn find(&self, path: &HostPath, last: LastLink) -> Result<Place, Fault> {
        match self.reach(path, last)? {
            Reached::Entry { place, .. } | Reached::Itself { place } => Ok(place),
            Reached::Missing { .. } => Err(Fault::NotFound),
        }
    }
}

fn refused(attempted: &'static str, path: &HostPath, fault: Fault) -> FilesError {
    FilesError::Refused {
        attempted,
        path: path.as_str().to_owned(),
        fault,
    }
}

fn relative_to_home(path: &str) -> &str {
    path.strip_prefix(HOME)
        .and_then(|rest| rest.strip_prefix('/'))
        .unwrap_or(path)
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
    set.build()
        .map_err(|error| bad_pattern(&all.join(", "), &error))
}

fn bad_pattern(pattern: &str, error: &globset::Error) -> FilesError {
    FilesError::BadPattern {
        pattern: pattern.to_owned(),
        reason: error.kind().to_string(),
    }
}
