//! A session's files, as they are asked for from outside.

use super::{Session, SessionError};
use crate::clock::now;
use proofbox_types::program::File;
use proofbox_types::session::{Entry, EntryKind, FileAnswer, FileAsk, FilePart, FileRefused, FileTrouble, LinkEnd};
use proofbox_vfs::{Fault, FileEntry, FileKind, FilesError, MODE_BITS, Tree, lock};

/// Maximum number of symbolic links that one list follows: each may lead through thousands of names.
const MAX_LINKS_FOLLOWED: usize = 1000;

impl Session {
    /// Does something with its files.
    ///
    /// # Errors
    /// Returns an error that a client can correct.
    pub fn files(&self, ask: FileAsk) -> Result<FileAnswer, SessionError> {
        Ok(carry_out(&mut lock(&self.session_context.tree), ask)?)
    }
}

fn carry_out(tree: &mut Tree, ask: FileAsk) -> Result<FileAnswer, FilesError> {
    let now = now();
    let entry = |tree: &Tree, path: &str, new| Ok(FileAnswer::Entry(entry_of(tree, tree.stat(path)?), new));
    match ask {
        FileAsk::Stat { path } => entry(tree, &path, false),
        FileAsk::List { path, depth } => {
            let found = tree.list(&path, depth as usize)?;
            let mut left = MAX_LINKS_FOLLOWED;
            let follow = |entry: FileEntry| match entry.kind {
                FileKind::Link if left == 0 => entry_with_end(entry, None),
                FileKind::Link => {
                    left -= 1;
                    entry_of(tree, entry)
                }
                FileKind::File | FileKind::Directory | FileKind::Device | FileKind::NamedPipe => entry_of(tree, entry),
            };
            Ok(FileAnswer::Entries(found.into_iter().map(follow).collect()))
        }
        FileAsk::Read { path, offset, length } => {
            let bytes = tree.read_range(&path, offset, length)?;
            let whole = tree.file_length(&path)?;
            Ok(FileAnswer::Bytes(FilePart { bytes: bytes.to_vec(), whole, inode: tree.real_entry(&path)?.inode }))
        }
        FileAsk::Collect { patterns, most_bytes } => {
            let found = tree.glob(&patterns, most_bytes)?;
            Ok(FileAnswer::Files(
                found.into_iter().map(|(path, content)| File { path, content: content.to_vec() }).collect(),
            ))
        }
        FileAsk::Write(file) => {
            let new = tree.stat(&file.path).is_err();
            tree.write_file(&file.path, &file.content, now)?;
            entry(tree, &file.path, new)
        }
        FileAsk::MakeDirectory { path } => {
            tree.make_directory(&path, now)?;
            entry(tree, &path, true)
        }
        FileAsk::Move { from, to } => {
            tree.rename(&from, &to, now)?;
            entry(tree, &to, true)
        }
        FileAsk::Remove { path, recursive } => {
            let full = || {
                Ok::<_, FilesError>(tree.stat(&path)?.kind == FileKind::Directory && !tree.list(&path, 1)?.is_empty())
            };
            if !recursive && full()? {
                let fault = Fault::NotEmpty;
                return Err(FilesError::Refused { attempted: "remove", path, fault });
            }
            tree.remove(&path, now)?;
            Ok(FileAnswer::Removed)
        }
        FileAsk::SetAttributes { path, mode, owner } => {
            if let Some(mode) = mode {
                tree.set_mode(&path, mode & MODE_BITS, now)?;
            }
            if let Some(owner) = owner {
                tree.set_owner(&path, owner, now)?;
            }
            entry(tree, &path, false)
        }
        FileAsk::ImportTree { path, entries } => {
            tree.import(&path, entries, now)?;
            entry(tree, &path, true)
        }
        FileAsk::ExportTree { path, most_bytes, most_entries } => {
            Ok(FileAnswer::Tree(tree.export(&path, most_bytes, most_entries)?))
        }
        FileAsk::Within { directory, ask } => {
            check_within(tree, &directory, &ask)?;
            carry_out(tree, *ask)
        }
    }
}

/// Checks that no link leads the path of an operation out of a directory.
fn check_within(tree: &Tree, directory: &str, ask: &FileAsk) -> Result<(), FilesError> {
    match ask {
        FileAsk::List { path, .. }
        | FileAsk::Read { path, .. }
        | FileAsk::Write(File { path, .. })
        | FileAsk::MakeDirectory { path }
        | FileAsk::SetAttributes { path, .. } => tree.check_within(directory, path),
        // A link itself is looked at, or removed.
        FileAsk::Stat { path } | FileAsk::Remove { path, .. } => {
            let above = path.trim_end_matches('/').rsplit_once('/').map_or(path.as_str(), |(above, _)| above);
            tree.check_within(directory, if above.len() < directory.len() { path } else { above })
        }
        FileAsk::Collect { .. }
        | FileAsk::Move { .. }
        | FileAsk::ImportTree { .. }
        | FileAsk::ExportTree { .. }
        | FileAsk::Within { .. } => {
            let path = directory.to_owned();
            Err(FilesError::Refused { attempted: "work within", path, fault: Fault::WrongKind })
        }
    }
}

/// Converts an entry to the type that every layer shares.
fn entry_of(tree: &Tree, entry: FileEntry) -> Entry {
    let end = match entry.kind {
        FileKind::Link => tree.real_entry(&entry.path).ok(),
        FileKind::File | FileKind::Directory | FileKind::Device | FileKind::NamedPipe => None,
    };
    entry_with_end(entry, end)
}

fn entry_with_end(entry: FileEntry, end: Option<FileEntry>) -> Entry {
    let FileEntry { path, name, kind, size, modified, link_target, mode, owner, .. } = entry;
    let link_end = end.map(|end| LinkEnd { path: end.path, kind: kind_of(end.kind), mode: end.mode });
    Entry { path, name, kind: kind_of(kind), size, modified, mode, owner, link_target, link_end }
}

fn kind_of(kind: FileKind) -> EntryKind {
    match kind {
        FileKind::File => EntryKind::File,
        FileKind::Directory => EntryKind::Directory,
        FileKind::Link => EntryKind::Link,
        // To clients it is what has no content to be read.
        FileKind::Device | FileKind::NamedPipe => EntryKind::Device,
    }
}

/// Converts an error to the type that every layer shares.
pub fn file_refused(error: &FilesError) -> FileRefused {
    let trouble = match error {
        FilesError::BadPath { .. } | FilesError::BadPattern { .. } => FileTrouble::BadPath,
        FilesError::TooLarge { .. } => FileTrouble::NoSpace,
        FilesError::TooManyWatches { .. } => FileTrouble::Other,
        FilesError::Refused { fault, .. } => match fault {
            Fault::NotFound => FileTrouble::NotFound,
            Fault::NotADirectory => FileTrouble::NotADirectory,
            Fault::IsADirectory => FileTrouble::IsADirectory,
            Fault::Exists => FileTrouble::Exists,
            Fault::NotEmpty => FileTrouble::NotEmpty,
            Fault::NoSpace { .. } | Fault::TooManyEntries { .. } => FileTrouble::NoSpace,
            Fault::ReadOnly | Fault::Protected | Fault::Denied | Fault::NotOwner => FileTrouble::ReadOnly,
            Fault::NameTooLong | Fault::TooDeep | Fault::Escapes | Fault::NoName | Fault::LinkLoop => {
                FileTrouble::BadPath
            }
            Fault::IntoItself | Fault::WrongKind | Fault::NamedPipe | Fault::DirectoryLink | Fault::CrossLayer => {
                FileTrouble::Other
            }
        },
    };
    FileRefused { trouble, message: error.to_string() }
}
