//! Making a sandbox of its saved files. What was kept may have been damaged or made up: nothing is believed that can be
//! checked, and what can be counted is counted.

use super::base::Base;
use super::content::Content;
use super::descriptors::{Descriptors, MAX_DESCRIPTORS, Open, What, count_opens};
use super::inodes::{Directory, Inode, Inodes, Kind, NodeId};
use super::layer::LAYER_ROOT;
use super::path::{MAX_DEPTH, MAX_NAME, check_link_text};
use super::permissions::{Credentials, MODE_BITS, User};
use super::records::{DescriptorFlags, Rights};
use super::saved::{Page, SandboxFiles, SavedEntry, SavedInode, SavedKind, SavedOpen, SavedTable};
use super::stdio::Output;
use super::tree::{FilesQuota, FilesUsage, SharedTree, Tree};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The most bytes a saved quota may allow. A file's holes take room in its list of pages; this keeps that bounded.
const MAX_BYTES: u64 = 1 << 40;
/// Numbers that are counted upwards end far below the last one.
const MAX_NUMBER: u64 = 1 << 62;
/// The descriptor that is `/`.
const PREOPEN: usize = 3;
/// Positions are signed in the guest's C library.
const MAX_OFFSET: u64 = i64::MAX as u64;

const OVER_QUOTA: &str = "they take more than their quota";

/// Reason for which saved files make no sandbox.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DamagedFiles {
    /// The files were saved over other read-only layers.
    #[error("the saved files lie over {saved} read-only layers, and here are {here}")]
    OtherLayers {
        /// Number of layers under the saved files.
        saved: usize,
        /// Number of layers here.
        here: usize,
    },
    /// A quota no sandbox has, or more files than it allows.
    #[error("the saved files: {wrong}")]
    Whole {
        /// Description of the damage.
        wrong: &'static str,
    },
    /// A file, directory or link that cannot be.
    #[error("saved file {index}: {wrong}")]
    File {
        /// Index in the table of files.
        index: usize,
        /// Description of the damage.
        wrong: &'static str,
    },
    /// A descriptor that cannot be.
    #[error("descriptor {number} of saved interpreter {table}: {wrong}")]
    Descriptor {
        /// Index of the interpreter.
        table: usize,
        /// Number of the descriptor.
        number: usize,
        /// Description of the damage.
        wrong: &'static str,
    },
}

impl SandboxFiles {
    /// Returns the quota that the files claim. The caller compares it with what is granted.
    #[must_use]
    pub fn quota(&self) -> FilesQuota {
        self.quota
    }

    /// Makes a sandbox of them over `base`, the layers of which must be those they were saved over. The descriptors are
    /// in the order in which they were saved.
    ///
    /// # Errors
    ///
    /// Returns an error for anything no sandbox could have been: see [`DamagedFiles`].
    pub fn load(self, base: &Base) -> Result<(SharedTree, Vec<Descriptors>), DamagedFiles> {
        self.check_frame(base)?;
        let leads = Leads::count(&self.inodes)?;
        let mut tables = Vec::with_capacity(self.tables.len());
        for (number, table) in self.tables.iter().enumerate() {
            tables.push((table, self.open_table(table, number, base)?));
        }
        let opens = count_opens(tables.iter().flat_map(|(_, table)| table.iter().flatten()).filter_map(Open::held));
        let fixed = base.inodes.len();
        let mut slots = Vec::with_capacity(self.inodes.len());
        let mut numbers = BTreeSet::new();
        for (index, saved) in self.inodes.iter().enumerate() {
            let inode = match saved {
                Some(saved) => {
                    let wrong = |wrong| DamagedFiles::File { index, wrong };
                    if !numbers.insert(saved.number) || saved.number == 0 || saved.number >= self.next_number {
                        return Err(wrong("its number is taken or out of range"));
                    }
                    let names = leads.names[index];
                    if names == 0 && index != 0 && !opens.contains_key(&(index as u32)) {
                        return Err(wrong("nothing leads to it"));
                    }
                    if saved.mode & !MODE_BITS != 0 {
                        return Err(wrong("it has permission bits that there are not"));
                    }
                    let kind = self.kind(&leads, index, &saved.kind, base).map_err(wrong)?;
                    Some(Arc::new(Inode {
                        number: saved.number,
                        names: if index == 0 { 1 } else { names },
                        fixed: index < fixed,
                        times: saved.times,
                        mode: saved.mode,
                        owner: saved.owner,
                        kind,
                    }))
                }
                None => None,
            };
            slots.push(inode);
        }
        let inodes = Inodes::from_slots(slots, self.next_number);
        check_own(&inodes, base)?;
        check_reachable(&inodes)?;
        let usage = count_usage(&inodes, self.quota)?;
        let tree = Tree::restored(base.tree(self.quota, self.born), inodes, usage, opens);
        let tree = SharedTree::new(tree);
        let restore = |(saved, table): (&SavedTable, _)| {
            let credentials = Credentials::of(User::User).with_mask(saved.mask);
            Descriptors::restored(tree.with_view(saved.view).with_credentials(credentials), table)
        };
        let tables = tables.into_iter().map(restore).collect();
        Ok((tree, tables))
    }

    /// Checks everything that does not depend on single files.
    fn check_frame(&self, base: &Base) -> Result<(), DamagedFiles> {
        let (saved, here) = (usize::from(self.mounts), base.mounts.len());
        if saved != here {
            return Err(DamagedFiles::OtherLayers { saved, here });
        }
        let wrong = |wrong| Err(DamagedFiles::Whole { wrong });
        if self.quota.bytes > MAX_BYTES {
            return wrong("their quota is more than any sandbox has");
        }
        if self.next_number > MAX_NUMBER || self.inodes.len() > u32::MAX as usize / 2 {
            return wrong("more files than can be numbered");
        }
        // Places of removed files are used again, so there are never more than once were files.
        if self.inodes.len() as u64 > self.quota.count.saturating_add(base.inodes.len() as u64) {
            return wrong(OVER_QUOTA);
        }
        // Before any file is made: its list of pages is as long as its length says.
        let lengths = self.inodes.iter().flatten().map(|inode| length(&inode.kind));
        if lengths.fold(0, u64::saturating_add) > self.quota.bytes {
            return wrong(OVER_QUOTA);
        }
        let entries = self.inodes.iter().flatten().flat_map(|inode| entries(&inode.kind));
        if entries.filter(|entry| matches!(entry.node_id, NodeId::Layer { .. })).count() != here {
            return wrong("a read-only layer is not where it belongs");
        }
        Ok(())
    }

    fn saved_kind(&self, index: u32) -> Option<&SavedKind> {
        Some(&self.inodes.get(index as usize)?.as_ref()?.kind)
    }

    fn kind(&self, leads: &Leads, index: usize, kind: &SavedKind, base: &Base) -> Result<Kind, &'static str> {
        let fixed = base.inodes.len();
        let names = leads.names[index];
        match kind {
            SavedKind::Directory { next_position, entries } => {
                let (parent, name) = match &leads.above[index] {
                    _ if index == 0 => (0, Arc::from("")),
                    Some((parent, name)) if names == 1 => (*parent, Arc::clone(name)),
                    Some(_) | None => return Err("a directory has one name"),
                };
                self.directory(parent, name, *next_position, entries, base).map(Kind::Directory)
            }
            SavedKind::RemovedDirectory { parent, name } => {
                let above = self.saved_kind(*parent);
                if names > 0 || !is_name(name) || !above.is_some_and(is_directory) {
                    return Err("a removed directory has no name, and once had a parent");
                }
                Ok(Kind::Directory(Directory::new(*parent, Arc::clone(name))))
            }
            SavedKind::File { length, pages } => {
                let pages = pages.iter().map(|(number, Page(page))| (*number, Arc::clone(page)));
                Content::from_pages(*length, pages).map(Kind::File).ok_or("its pages do not fit together")
            }
            SavedKind::Link(text) => {
                let can_be = names > 0 && check_link_text(text).is_ok();
                can_be.then(|| Kind::Link(Arc::clone(text))).ok_or("not the text of a link")
            }
            SavedKind::Null if index < fixed => Ok(Kind::Null),
            SavedKind::Null => Err("a device"),
            SavedKind::NamedPipe if names > 0 => Ok(Kind::NamedPipe),
            SavedKind::NamedPipe => Err("a named pipe without a name"),
        }
    }

    fn directory(
        &self,
        parent: u32,
        name: Arc<str>,
        next_position: u64,
        entries: &[SavedEntry],
        base: &Base,
    ) -> Result<Directory, &'static str> {
        if next_position > MAX_NUMBER {
            return Err("its positions are out of range");
        }
        let kept = entries.iter().map(|entry| (entry.position, Arc::clone(&entry.name), entry.node_id));
        let mut directory = Directory::from_entries(parent, name, next_position, kept)
            .ok_or("two entries have one name or position, or a position is out of range")?;
        let below = entries.iter().filter(|entry| match entry.node_id {
            NodeId::Own(index) => self.saved_kind(index).is_some_and(is_directory),
            NodeId::Layer { mount, .. } => base.is_directory_mount(mount),
        });
        directory.subdirectories = u32::try_from(below.count()).map_err(|_| "too many entries")?;
        Ok(directory)
    }

    fn open_table(&self, table: &SavedTable, of: usize, base: &Base) -> Result<Vec<Option<Open>>, DamagedFiles> {
        let damaged = |number, wrong| DamagedFiles::Descriptor { table: of, number, wrong };
        if table.open.len() > MAX_DESCRIPTORS {
            return Err(damaged(table.open.len(), "more descriptors than an interpreter may have"));
        }
        if !matches!(table.open.get(PREOPEN), Some(Some(SavedOpen { what: What::Preopen, .. }))) {
            return Err(damaged(PREOPEN, "not the root directory"));
        }
        let mut opens = Vec::with_capacity(table.open.len());
        for (number, saved) in table.open.iter().enumerate() {
            let open = saved.as_ref().map(|saved| self.open(saved, number, base));
            opens.push(open.transpose().map_err(|wrong| damaged(number, wrong))?);
        }
        Ok(opens)
    }

    fn open(&self, saved: &SavedOpen, number: usize, base: &Base) -> Result<Open, &'static str> {
        let flags = DescriptorFlags::parse(u32::from(saved.flags)).map_err(|_| "unknown flags")?;
        let (rights, inheriting) = (Rights(saved.rights), Rights(saved.inheriting));
        let stdio = |mask: Rights| (mask.with(Rights::STAT).with(Rights::POLL), Rights::NONE);
        let (most, most_inherited) = match &saved.what {
            What::Stdin => stdio(Rights::READ),
            What::Output(Output::Stdout | Output::Stderr) => stdio(Rights::WRITE),
            What::File { offset, .. } if *offset > MAX_OFFSET => return Err("its position is out of range"),
            What::File { node_id, .. } if self.is_open_as(*node_id, base, FileOrDirectory::File) => {
                (Rights::FILE, Rights::ALL)
            }
            What::Directory { node_id } if self.is_open_as(*node_id, base, FileOrDirectory::Directory) => {
                (Rights::DIRECTORY, Rights::ALL)
            }
            What::File { .. } | What::Directory { .. } => return Err("what it has open is not there"),
            What::Preopen if number != PREOPEN => return Err("a second root directory"),
            What::Preopen if rights != Rights::DIRECTORY || inheriting != Rights::ALL => {
                return Err("the root directory has other rights");
            }
            What::Preopen => (Rights::DIRECTORY, Rights::ALL),
        };
        if !most.contains(rights) || !most_inherited.contains(inheriting) {
            return Err("it has rights that it cannot have");
        }
        Ok(Open { what: saved.what.clone(), flags, rights, inheriting })
    }

    fn is_open_as(&self, node_id: NodeId, base: &Base, wanted: FileOrDirectory) -> bool {
        let found = match node_id {
            NodeId::Own(index) => match self.saved_kind(index) {
                Some(SavedKind::Directory { .. } | SavedKind::RemovedDirectory { .. }) => FileOrDirectory::Directory,
                Some(SavedKind::File { .. } | SavedKind::Null) => FileOrDirectory::File,
                Some(SavedKind::Link(_) | SavedKind::NamedPipe) | None => return false,
            },
            NodeId::Layer { mount, node } => match base.mounts.get(usize::from(mount)) {
                Some(mount) if mount.layer.is_directory(node) => FileOrDirectory::Directory,
                Some(mount) if mount.layer.has(node) => FileOrDirectory::File,
                Some(_) | None => return false,
            },
        };
        found == wanted
    }
}

#[derive(PartialEq, Eq)]
enum FileOrDirectory {
    File,
    Directory,
}

/// Links to each inode from the entries of all directories, by index.
struct Leads {
    names: Vec<u32>,
    /// The last directory that has it, and its name there.
    above: Vec<Option<(u32, Arc<str>)>>,
}

impl Leads {
    fn count(inodes: &[Option<Box<SavedInode>>]) -> Result<Self, DamagedFiles> {
        let mut leads = Self { names: vec![0; inodes.len()], above: vec![None; inodes.len()] };
        for (index, inode) in inodes.iter().enumerate() {
            let wrong = |wrong| DamagedFiles::File { index, wrong };
            for entry in inode.iter().flat_map(|inode| entries(&inode.kind)) {
                if !is_name(&entry.name) {
                    return Err(wrong("an entry has a name that cannot be"));
                }
                let to = match entry.node_id {
                    NodeId::Own(to) if to > 0 => to as usize,
                    NodeId::Own(_) => return Err(wrong("an entry leads back to the root")),
                    NodeId::Layer { node: LAYER_ROOT, .. } => continue,
                    NodeId::Layer { .. } => return Err(wrong("an entry leads into a layer")),
                };
                match inodes.get(to) {
                    Some(Some(_)) => {}
                    Some(None) | None => return Err(wrong("an entry leads nowhere")),
                }
                leads.names[to] = leads.names[to].checked_add(1).ok_or_else(|| wrong("too many names"))?;
                leads.above[to] = Some((index as u32, Arc::clone(&entry.name)));
            }
        }
        Ok(leads)
    }
}

fn entries(kind: &SavedKind) -> &[SavedEntry] {
    match kind {
        SavedKind::Directory { entries, .. } => entries,
        SavedKind::RemovedDirectory { .. }
        | SavedKind::File { .. }
        | SavedKind::Link(_)
        | SavedKind::Null
        | SavedKind::NamedPipe => &[],
    }
}

fn length(kind: &SavedKind) -> u64 {
    match kind {
        SavedKind::File { length, .. } => *length,
        SavedKind::Directory { .. }
        | SavedKind::RemovedDirectory { .. }
        | SavedKind::Link(_)
        | SavedKind::Null
        | SavedKind::NamedPipe => 0,
    }
}

fn is_directory(kind: &SavedKind) -> bool {
    match kind {
        SavedKind::Directory { .. } | SavedKind::RemovedDirectory { .. } => true,
        SavedKind::File { .. } | SavedKind::Link(_) | SavedKind::Null | SavedKind::NamedPipe => false,
    }
}

fn is_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && name.len() <= MAX_NAME && !name.contains(['/', '\0'])
}

/// Checks that the sandbox's own directories, its device and the layers are where every sandbox has them.
fn check_own(inodes: &Inodes, base: &Base) -> Result<(), DamagedFiles> {
    for index in 0..base.inodes.len() {
        let wrong = |wrong| DamagedFiles::File { index, wrong };
        let of = |inodes: &Inodes| inodes.get(index as u32).map(|inode| (inode.number, inode.names));
        if of(inodes) != of(&base.inodes) {
            return Err(wrong("one of the sandbox's own is missing"));
        }
        match (inodes.directory(index as u32), base.inodes.directory(index as u32)) {
            (Some(here), Some(initial)) => {
                if initial.entries().any(|(_, name, node_id)| here.get(&name) != Some(node_id)) {
                    return Err(wrong("an entry of the sandbox's own is missing"));
                }
            }
            (None, None) if is_same(inodes, &base.inodes, index as u32) => {}
            (Some(_) | None, Some(_) | None) => return Err(wrong("one of the sandbox's own is something else")),
        }
    }
    Ok(())
}

/// Returns whether a device or link of the sandbox's own is what every sandbox has there.
fn is_same(inodes: &Inodes, initial: &Inodes, index: u32) -> bool {
    match (inodes.get(index).map(|inode| &inode.kind), initial.get(index).map(|inode| &inode.kind)) {
        (Some(Kind::Null), Some(Kind::Null)) => true,
        (Some(Kind::Link(here)), Some(Kind::Link(there))) => here == there,
        (Some(_) | None, Some(_) | None) => false,
    }
}

/// Checks that every directory with a name is reachable from the root, and none too deep.
fn check_reachable(inodes: &Inodes) -> Result<(), DamagedFiles> {
    let mut found = 0;
    let mut level = vec![0];
    // No directory has two names and none leads to the root, so this meets each at most once.
    for _ in 0..=MAX_DEPTH {
        found += level.len();
        level = level
            .into_iter()
            .filter_map(|index| inodes.directory(index))
            .filter(|directory| directory.subdirectories > 0)
            .flat_map(Directory::node_ids)
            .filter_map(|node_id| match node_id {
                NodeId::Own(index) => inodes.directory(index).map(|_| index),
                NodeId::Layer { .. } => None,
            })
            .collect();
    }
    let named = |index: &u32| inodes.get(*index).is_some_and(|inode| inode.names > 0);
    let all = (0..inodes.len() as u32).filter(named).filter(|index| inodes.directory(*index).is_some()).count();
    match found == all {
        true => Ok(()),
        false => Err(DamagedFiles::Whole { wrong: "directories do not hang on the root, or are nested too deeply" }),
    }
}

/// Returns the usage of the files, if that is within the quota.
fn count_usage(inodes: &Inodes, quota: FilesQuota) -> Result<FilesUsage, DamagedFiles> {
    let mut usage = FilesUsage::default();
    for inode in (0..inodes.len() as u32).filter_map(|index| inodes.get(index)).filter(|inode| !inode.fixed) {
        usage.bytes = usage.bytes.saturating_add(inode.kind.bytes());
        usage.count = usage.count.saturating_add(u64::from(inode.names.max(1)));
    }
    match usage.bytes <= quota.bytes && usage.count <= quota.count {
        true => Ok(usage),
        false => Err(DamagedFiles::Whole { wrong: OVER_QUOTA }),
    }
}
