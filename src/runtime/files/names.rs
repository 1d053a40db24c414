//! Changing names in the tree: making, linking, removing, renaming. Every change keeps counts and quota exact.

use super::content::Content;
use super::error::Fault;
use super::inodes::{Directory, Inode, Kind, Place, Times};
use super::path::{MAXIMUM_DEPTH, MAXIMUM_PATH};
use super::tree::Tree;
use super::walk::Reached;
use std::sync::Arc;

/// A name in a directory of the tree's own: where an entry may be made or removed.
#[derive(Debug, Clone)]
pub(super) struct Name {
    parent: u32,
    name: Arc<str>,
}

/// An entry that may be removed or renamed.
#[derive(Debug, Clone)]
pub(super) struct Named {
    at: Name,
    index: u32,
}

impl Tree {
    /// The free name a path leads to.
    pub(super) fn free_name(&self, reached: &Reached<'_>) -> Result<Name, Fault> {
        match reached {
            Reached::Missing { parent, name, .. } => self.own_name(*parent, name),
            Reached::Entry { .. } | Reached::Itself { .. } => Err(Fault::Exists),
        }
    }

    /// The existing entry a path leads to, if the program may take it away.
    pub(super) fn taken_name(&self, reached: &Reached<'_>) -> Result<Named, Fault> {
        let (parent, name, place) = match reached {
            Reached::Entry {
                parent,
                name,
                place,
            } => (*parent, *name, *place),
            Reached::Missing { .. } => return Err(Fault::NotFound),
            Reached::Itself { .. } => return Err(Fault::NoName),
        };
        let at = self.own_name(parent, name)?;
        match place {
            Place::Own(index) => Ok(Named { at, index }),
            Place::Layer { .. } => Err(Fault::ReadOnly),
        }
    }

    fn own_name(&self, parent: Place, name: &str) -> Result<Name, Fault> {
        let index = match parent {
            Place::Own(index) => index,
            Place::Layer { .. } => return Err(Fault::ReadOnly),
        };
        let alive = self.inodes.get(index).is_some_and(|inode| inode.names > 0);
        if !alive {
            return Err(Fault::NotFound);
        }
        Ok(Name {
            parent: index,
            name: Arc::from(name),
        })
    }

    pub(super) fn make_file(&mut self, at: Name, now: u64) -> Result<Place, Fault> {
        self.take_entry()?;
        Ok(self.attach_new(at, Kind::File(Content::default()), now))
    }

    pub(super) fn make_directory_at(&mut self, at: Name, now: u64) -> Result<Place, Fault> {
        if self.depth(at.parent) >= MAXIMUM_DEPTH {
            return Err(Fault::TooDeep);
        }
        self.take_entry()?;
        let directory = Directory::new(at.parent, Arc::clone(&at.name));
        Ok(self.attach_new(at, Kind::Directory(directory), now))
    }

    pub(super) fn make_link(&mut self, at: Name, text: &str, now: u64) -> Result<Place, Fault> {
        if text.is_empty() {
            return Err(Fault::NotFound);
        }
        if text.len() > MAXIMUM_PATH {
            return Err(Fault::NameTooLong);
        }
        self.check_entries(1)?;
        self.take_bytes(text.len() as u64)?;
        self.take_entry()?;
        Ok(self.attach_new(at, Kind::Link(Arc::from(text)), now))
    }

    /// Gives an existing file one more name.
    pub(super) fn add_name(&mut self, at: Name, place: Place, now: u64) -> Result<(), Fault> {
        let index = match place {
            Place::Own(index) => index,
            Place::Layer { .. } => return Err(Fault::CrossLayer),
        };
        let inode = self.inodes.get(index).ok_or(Fault::NotFound)?;
        match inode.kind {
            Kind::Directory(_) => return Err(Fault::DirectoryLink),
            Kind::Null => return Err(Fault::Protected),
            Kind::File(_) | Kind::Link(_) => {}
        }
        self.take_entry()?;
        if let Some(inode) = self.table().get_mut(index) {
            inode.names += 1;
            inode.times.changed = now;
        }
        self.attach(at, index, now);
        Ok(())
    }

    /// Removes a name that leads to anything but a directory.
    pub(super) fn remove_file(&mut self, named: &Named, now: u64) -> Result<(), Fault> {
        if self.is_directory(Place::Own(named.index)) {
            return Err(Fault::IsADirectory);
        }
        self.check_unfixed(named.index)?;
        self.detach(&named.at, now);
        self.drop_name(named.index, now);
        Ok(())
    }

    /// Removes an empty directory.
    pub(super) fn remove_directory_at(&mut self, named: &Named, now: u64) -> Result<(), Fault> {
        let directory = self
            .inodes
            .directory(named.index)
            .ok_or(Fault::NotADirectory)?;
        if !directory.is_empty() {
            return Err(Fault::NotEmpty);
        }
        self.check_unfixed(named.index)?;
        self.detach(&named.at, now);
        self.drop_name(named.index, now);
        Ok(())
    }

    /// Removes anything, a directory with all it holds.
    pub(super) fn remove_all(&mut self, named: &Named, now: u64) -> Result<(), Fault> {
        // Whatever holds something of the sandbox's own is its own too, so this one check covers all below.
        self.check_unfixed(named.index)?;
        self.detach(&named.at, now);
        let mut doomed = vec![named.index];
        while let Some(index) = doomed.pop() {
            if let Some(directory) = self.table().directory_mut(index) {
                doomed.extend(
                    directory
                        .clear()
                        .into_iter()
                        .filter_map(|place| match place {
                            Place::Own(index) => Some(index),
                            Place::Layer { .. } => None,
                        }),
                );
            }
            self.drop_name(index, now);
        }
        Ok(())
    }

    /// Where a renamed entry may go.
    pub(super) fn destination(&self, reached: &Reached<'_>) -> Result<Destination, Fault> {
        match reached {
            Reached::Entry { .. } => Ok(Destination::Taken(self.taken_name(reached)?)),
            Reached::Missing { slash, .. } => Ok(Destination::Free {
                at: self.free_name(reached)?,
                for_directory: *slash,
            }),
            Reached::Itself { .. } => Err(Fault::NoName),
        }
    }

    /// Gives an entry another name, replacing what had it.
    pub(super) fn rename_entry(
        &mut self,
        from: &Named,
        to: Destination,
        now: u64,
    ) -> Result<(), Fault> {
        self.check_unfixed(from.index)?;
        let moves_directory = self.is_directory(Place::Own(from.index));
        let at = match &to {
            Destination::Taken(taken) if taken.index == from.index => return Ok(()),
            Destination::Taken(taken) => {
                self.check_replaceable(moves_directory, taken.index)?;
                &taken.at
            }
            Destination::Free {
                for_directory: true,
                ..
            } if !moves_directory => {
                return Err(Fault::NotADirectory);
            }
            Destination::Free { at, .. } => at,
        };
        if moves_directory {
            self.check_nesting(from.index, at.parent)?;
        }
        match &to {
            Destination::Taken(taken) => {
                self.detach(&taken.at, now);
                self.drop_name(taken.index, now);
            }
            Destination::Free { .. } => {}
        }
        self.detach(&from.at, now);
        if let Some(inode) = self.table().get_mut(from.index) {
            inode.times.changed = now;
            match &mut inode.kind {
                Kind::Directory(directory) => {
                    directory.parent = at.parent;
                    directory.name = Arc::clone(&at.name);
                }
                Kind::File(_) | Kind::Link(_) | Kind::Null => {}
            }
        }
        self.attach(at.clone(), from.index, now);
        Ok(())
    }

    /// Whether what is at `replaced` may make way for a file or a directory.
    fn check_replaceable(&self, by_directory: bool, replaced: u32) -> Result<(), Fault> {
        match (by_directory, self.inodes.directory(replaced)) {
            (true, None) => return Err(Fault::NotADirectory),
            (false, Some(_)) => return Err(Fault::IsADirectory),
            (true, Some(directory)) if !directory.is_empty() => return Err(Fault::NotEmpty),
            (true, Some(_)) | (false, None) => {}
        }
        self.check_unfixed(replaced)
    }

    /// Whether a directory may move into `parent`: not into itself, and not so deep that what it holds is too deep.
    fn check_nesting(&self, directory: u32, parent: u32) -> Result<(), Fault> {
        let mut here = parent;
        for _ in 0..=MAXIMUM_DEPTH {
            if here == directory {
                return Err(Fault::IntoItself);
            }
            match self.inodes.directory(here) {
                Some(above) if above.parent != here => here = above.parent,
                Some(_) | None => break,
            }
        }
        if self.depth(parent) + self.height(directory) > MAXIMUM_DEPTH {
            return Err(Fault::TooDeep);
        }
        Ok(())
    }

    /// Directories from the root down to this one, the root not counted.
    pub(super) fn depth_of(&self, directory: Place) -> usize {
        match directory {
            Place::Own(index) => self.depth(index),
            Place::Layer { .. } => 0,
        }
    }

    fn depth(&self, directory: u32) -> usize {
        let mut here = directory;
        for depth in 0..=MAXIMUM_DEPTH {
            match self.inodes.directory(here) {
                Some(above) if above.parent != here => here = above.parent,
                Some(_) | None => return depth,
            }
        }
        MAXIMUM_DEPTH + 1
    }

    /// Directories inside each other from this one down, itself counted.
    fn height(&self, directory: u32) -> usize {
        let mut level = vec![directory];
        let mut height = 0;
        while !level.is_empty() && height <= MAXIMUM_DEPTH {
            height += 1;
            level = level
                .into_iter()
                .filter_map(|index| self.inodes.directory(index))
                .filter(|directory| directory.subdirectories > 0)
                .flat_map(Directory::places)
                .filter_map(|place| match place {
                    Place::Own(index) => self.inodes.directory(index).map(|_| index),
                    Place::Layer { .. } => None,
                })
                .collect();
        }
        height
    }

    fn check_unfixed(&self, index: u32) -> Result<(), Fault> {
        match self.inodes.get(index) {
            Some(inode) if inode.fixed => Err(Fault::Protected),
            Some(_) => Ok(()),
            None => Err(Fault::NotFound),
        }
    }

    fn attach_new(&mut self, at: Name, kind: Kind, now: u64) -> Place {
        let index = self.table().add(Inode {
            number: 0,
            names: 1,
            fixed: false,
            times: Times::all(now),
            kind,
        });
        self.attach(at, index, now);
        Place::Own(index)
    }

    fn attach(&mut self, at: Name, index: u32, now: u64) {
        let is_directory = self.is_directory(Place::Own(index));
        if let Some(parent) = self.changed_directory(at.parent, now) {
            parent.insert(at.name, Place::Own(index));
            parent.subdirectories += u32::from(is_directory);
        }
    }

    fn detach(&mut self, at: &Name, now: u64) {
        let Some(parent) = self.changed_directory(at.parent, now) else {
            return;
        };
        let removed = parent.remove(&at.name);
        if removed.is_some_and(|place| self.is_directory(place))
            && let Some(parent) = self.table().directory_mut(at.parent)
        {
            parent.subdirectories = parent.subdirectories.saturating_sub(1);
        }
    }

    fn changed_directory(&mut self, index: u32, now: u64) -> Option<&mut Directory> {
        let inode = self.table().get_mut(index)?;
        (inode.times.modified, inode.times.changed) = (now, now);
        match &mut inode.kind {
            Kind::Directory(directory) => Some(directory),
            Kind::File(_) | Kind::Link(_) | Kind::Null => None,
        }
    }

    /// Takes one name from an inode, already out of its directory; frees it if that was the last and nothing has it open.
    fn drop_name(&mut self, index: u32, now: u64) {
        let Some(inode) = self.table().get_mut(index) else {
            return;
        };
        inode.names = inode.names.saturating_sub(1);
        inode.times.changed = now;
        if inode.names == 0 {
            // The last name's entry in the quota goes with the inode, which may still be open.
            self.free_if_unused(index);
        } else {
            self.release_entry();
        }
    }
}

/// Where a renamed entry goes.
#[derive(Debug, Clone)]
pub(super) enum Destination {
    Free {
        at: Name,
        /// The path ends in a slash: only a directory may go there.
        for_directory: bool,
    },
    /// The entry that has the name now makes way.
    Taken(Named),
}
