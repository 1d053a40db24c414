//! Sessions: interpreters that keep their state from call to call, and what is asked of them.
//!
//! A session has a tree of files, shared by its interpreters: those that are kept, its *contexts*, and those of the
//! commands that run in it. Context 0 is there from the start.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::grant::Limits;
use super::run::{File, Frame, Outcome, ResultWanted};
use super::verdict::FailureClass;
use super::words::words;

/// Names a context among those of its session.
pub type ContextNumber = u32;

/// The context that every session starts with.
pub const DEFAULT_CONTEXT: ContextNumber = 0;

/// What a new session starts with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// Of each interpreter, but for files: these limit the tree.
    pub limits: Limits,
    /// Of every context and command.
    pub env: Vec<(String, String)>,
    /// Written before anything runs.
    pub files: Vec<File>,
    /// Hash of the image that it runs in; without one, the default image.
    pub image: Option<String>,
}

/// One call's code.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Python, with what notebooks allow beside it.
    pub source: String,
    /// Set before, and put back after it.
    pub env: Vec<(String, String)>,
    /// The value that is wanted as a value, not only as a display.
    pub value: Option<ResultWanted>,
    /// Whether what happens is told as it happens.
    pub stream: bool,
}

/// How far one call may go.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellLimits {
    /// See [`Limits::fuel`].
    pub fuel: u64,
    /// See [`Limits::wall`].
    pub wall: Duration,
    /// See [`Limits::output_bytes`].
    pub output_bytes: u64,
}

impl From<&Limits> for CellLimits {
    fn from(limits: &Limits) -> Self {
        Self { fuel: limits.fuel, wall: limits.wall, output_bytes: limits.output_bytes }
    }
}

/// A value as notebooks show it: the same in several formats.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Display {
    /// MIME type and content: base64 for binary formats, JSON as its text.
    pub data: Vec<(String, String)>,
    /// It is the value of the last expression, not shown by `display`.
    pub is_main_result: bool,
}

/// The exception that ended a call, as notebooks show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raised {
    /// Its class.
    pub class: FailureClass,
    /// Name of its type.
    pub name: String,
    /// `str()` of it, whole.
    pub value: String,
    /// What would be printed of it.
    pub traceback: String,
    /// The innermost line of a cell.
    pub line: Option<u32>,
    /// The user's frames, outermost first.
    pub frames: Vec<Frame>,
}

/// What happens while a call runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CellEvent {
    /// It runs now: so many calls its context has served, this one included.
    Began(u64),
    /// Text written to standard output.
    Stdout(String),
    /// Text written to standard error.
    Stderr(String),
    /// Something was shown.
    Display(Display),
    /// It ended by an exception.
    Raised(Raised),
}

impl CellEvent {
    /// Bytes of its content.
    pub fn size(&self) -> usize {
        match self {
            Self::Began(_) => 0,
            Self::Stdout(text) | Self::Stderr(text) => text.len(),
            Self::Display(display) => display.data.iter().map(|(mime, content)| mime.len() + content.len()).sum(),
            Self::Raised(raised) => raised.value.len() + raised.traceback.len(),
        }
    }
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellOutcome {
    /// As of a run. A limit that ended the call does not end the interpreter, unless it is [`lost`](Self::lost).
    pub outcome: Outcome,
    /// How many calls the context has served, this one included.
    pub number: u64,
    /// What was shown.
    pub displays: Vec<Display>,
    /// The exception that ended it, whole.
    pub raised: Option<Raised>,
    /// It was ended because somebody asked for that.
    pub interrupted: bool,
    /// The interpreter did not survive it: the next call finds a fresh one. The files are kept.
    pub lost: bool,
}

words! {
    /// What a place in a session's tree is.
    EntryKind {
        /// A regular file.
        File = "file",
        /// A directory.
        Directory = "directory",
        /// A symbolic link.
        Link = "link",
        /// `/dev/null`.
        Device = "device",
    }
}

/// One place in a session's tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Absolute.
    pub path: String,
    /// The last part of it.
    pub name: String,
    /// What it is; links are not followed.
    pub kind: EntryKind,
    /// In bytes.
    pub size: u64,
    /// When its content last changed, nanoseconds since 1970.
    pub modified: u64,
    /// Where a link leads.
    pub link_target: Option<String>,
}

/// Something to do with a session's files. Paths are absolute, or relative to the working directory that all start in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FileAsk {
    /// What is there?
    Stat {
        /// Where.
        path: String,
    },
    /// What is in this directory?
    List {
        /// Which.
        path: String,
        /// 1: its own entries; more: those of its directories, too.
        depth: u32,
    },
    /// Bytes of a file.
    Read {
        /// Which.
        path: String,
        /// The first.
        offset: u64,
        /// How many at most.
        length: u64,
    },
    /// Replace or make a file, and the directories above it.
    Write(File),
    /// Make a directory, and those above it.
    MakeDirectory {
        /// Where.
        path: String,
    },
    /// Give another name, replacing the file that has it.
    Move {
        /// The old one.
        from: String,
        /// The new one.
        to: String,
    },
    /// Remove it.
    Remove {
        /// Which.
        path: String,
        /// With all that is in it.
        recursive: bool,
    },
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FileAnswer {
    /// The place that was asked for, made or moved to; and whether it is new.
    Entry(Entry, bool),
    /// What is in a directory.
    Entries(Vec<Entry>),
    /// The bytes asked for, and the length of the whole file.
    Bytes(#[serde(with = "serde_bytes")] Vec<u8>, u64),
    /// Done.
    Removed,
}

words! {
    /// What kind of thing went wrong with a file.
    FileTrouble {
        /// Nothing is there.
        NotFound = "not_found",
        /// A directory where a file is needed.
        IsADirectory = "is_a_directory",
        /// A file where a directory is needed.
        NotADirectory = "not_a_directory",
        /// Something is there already.
        Exists = "already_exists",
        /// A directory that is not empty.
        NotEmpty = "not_empty",
        /// The quota is used up.
        NoSpace = "no_space",
        /// The path can't be used.
        BadPath = "bad_path",
        /// It belongs to the sandbox.
        ReadOnly = "read_only",
        /// Anything else.
        Other = "file_error",
    }
}

/// A file call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct FileRefused {
    /// What kind.
    pub trouble: FileTrouble,
    /// For people.
    pub message: String,
}

words! {
    /// How a place in a session's tree changed.
    ChangeKind {
        /// It is new.
        Create = "create",
        /// Its content changed.
        Write = "write",
        /// It is gone.
        Remove = "remove",
        /// It has another name now.
        Rename = "rename",
        /// Its times changed.
        Attributes = "chmod",
    }
}

/// One change below a directory that is watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// How.
    pub kind: ChangeKind,
    /// Relative to the directory.
    pub path: String,
}

/// A command: a script for the shell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// In the shell's language.
    pub script: String,
    /// `$1` and so on.
    pub args: Vec<String>,
    /// Absolute, or relative to the working directory that all start in; none for that.
    pub cwd: Option<String>,
    /// Over the session's own.
    pub env: Vec<(String, String)>,
    /// Whether input will come; else it has ended.
    pub stdin: bool,
}

/// What a session takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    /// Memory of its contexts beyond what all share.
    pub memory_bytes: u64,
    /// Bytes of its files.
    pub files_bytes: u64,
    /// Files and directories.
    pub files_count: u64,
    /// Its contexts.
    pub contexts: u32,
}
