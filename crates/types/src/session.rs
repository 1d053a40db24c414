//! Sessions: interpreters that keep their state from call to call, and what is asked of them.
//!
//! A session has a tree of files, shared by its interpreters: those that are kept, its *contexts*, and those of the
//! commands that run in it. Context 0 is there from the start.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::grant::Limits;
use super::outcome::{Frame, Outcome};
use super::program::{File, ResultWanted};
use super::status::FailureClass;
use super::user::User;
use crate::wire_enum;

/// Names a context among those of its session.
pub type ContextNumber = u32;

/// Number of a command in its session.
pub type CommandNumber = u32;

/// The context that every session starts with.
pub const DEFAULT_CONTEXT: ContextNumber = 0;

/// Initial state of a new session.
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

/// Code of one call of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Python, with what notebooks allow beside it.
    pub source: String,
    /// Set before, and put back after it.
    pub env: Vec<(String, String)>,
    /// The value that is wanted as a value, not only as a display.
    pub value: Option<ResultWanted>,
    /// True when events are sent while the call runs.
    pub stream: bool,
}

/// Limits of one call of a session.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellLimits {
    /// Fuel of the call; see [`Limits::fuel`].
    pub fuel: u64,
    /// CPU time and sleep of the call; see [`Limits::wall`].
    pub wall: Duration,
    /// Output of the call, in bytes; see [`Limits::output_bytes`].
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
    /// True for the value of the last expression, false for values shown by `display`.
    pub is_main_result: bool,
}

impl Display {
    /// Bytes of its content.
    pub fn size(&self) -> usize {
        self.data.iter().map(|(mime, content)| mime.len() + content.len()).sum()
    }
}

/// The exception that ended a call, as notebooks show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raised {
    /// Failure class of the exception.
    pub class: FailureClass,
    /// Name of its type.
    pub name: String,
    /// `str()` of it, whole.
    pub value: String,
    /// Traceback as Python would print it.
    pub traceback: String,
    /// The innermost line of a cell.
    pub line: Option<u32>,
    /// The user's frames, outermost first.
    pub frames: Vec<Frame>,
}

impl Raised {
    /// Bytes of its message and traceback.
    pub fn size(&self) -> usize {
        self.value.len() + self.traceback.len()
    }
}

/// Event while a call runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CellEvent {
    /// Start of the call, with the number of calls of its context so far, this one included.
    Began(u64),
    /// Text written to standard output.
    Stdout(String),
    /// Text written to standard error.
    Stderr(String),
    /// Value that was displayed.
    Display(Display),
    /// Exception that ended the call.
    Raised(Raised),
}

impl CellEvent {
    /// Bytes of its content.
    pub fn size(&self) -> usize {
        match self {
            Self::Began(_) => 0,
            Self::Stdout(text) | Self::Stderr(text) => text.len(),
            Self::Display(display) => display.size(),
            Self::Raised(raised) => raised.size(),
        }
    }
}

/// End of a call, with its output and displays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellOutcome {
    /// Outcome, as of a run. A limit that ended the call does not end the interpreter, unless it is
    /// [`lost`](Self::lost).
    pub outcome: Outcome,
    /// Number of calls that the context has served, this one included.
    pub number: u64,
    /// Values that were displayed, in order.
    pub displays: Vec<Display>,
    /// The exception that ended it, whole.
    pub raised: Option<Raised>,
    /// True when the call ended because of a request to interrupt it.
    pub interrupted: bool,
    /// The interpreter did not survive it: the next call finds a fresh one. The files are kept.
    pub lost: bool,
}

impl CellOutcome {
    /// Returns the bytes of its displays, output and values, roughly.
    pub fn content_bytes(&self) -> usize {
        let raised = self.raised.as_ref().map_or(0, Raised::size);
        self.outcome.content_bytes() + self.displays.iter().map(Display::size).sum::<usize>() + raised
    }
}

wire_enum! {
    /// Type of an entry in a session's tree.
    EntryKind {
        /// Regular file with content.
        File = "file",
        /// Directory of other entries.
        Directory = "directory",
        /// Symbolic link, which is not followed.
        Link = "link",
        /// Device file `/dev/null` of the sandbox.
        Device = "device",
    }
}

/// Entry in a session's tree: a file, directory, link or device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Absolute path of the entry.
    pub path: String,
    /// The last part of it.
    pub name: String,
    /// Type of the entry; links are not followed.
    pub kind: EntryKind,
    /// Size of the content, in bytes.
    pub size: u64,
    /// Time of the last change of its content, in nanoseconds since 1970.
    pub modified: u64,
    /// Permission bits.
    pub mode: u16,
    /// Owner of the entry.
    pub owner: User,
    /// Target of a symbolic link, as it was written.
    pub link_target: Option<String>,
    /// End of a symbolic link; none if it leads nowhere.
    pub link_end: Option<LinkEnd>,
}

/// File or directory that a symbolic link leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkEnd {
    /// Absolute path, without links.
    pub path: String,
    /// Type of what is there.
    pub kind: EntryKind,
    /// Permission bits.
    pub mode: u16,
}

/// Something to do with a session's files. Paths are absolute, or relative to the working directory that all start in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FileAsk {
    /// Describes the entry at a path.
    Stat {
        /// Path of the entry.
        path: String,
    },
    /// Lists the entries of a directory.
    List {
        /// Path of the directory.
        path: String,
        /// 1: its own entries; more: those of its directories, too.
        depth: u32,
    },
    /// Bytes of a file.
    Read {
        /// Path of the file.
        path: String,
        /// Offset of the first byte.
        offset: u64,
        /// Maximum number of bytes.
        length: u64,
    },
    /// Collects the files that match any of the patterns, with their content.
    Collect {
        /// Globs; a relative one starts at the working directory.
        patterns: Vec<String>,
        /// Maximum size of all content, in bytes.
        most_bytes: u64,
    },
    /// Replace or make a file, and the directories above it.
    Write(File),
    /// Make a directory, and those above it.
    MakeDirectory {
        /// Path of the new directory.
        path: String,
    },
    /// Give another name, replacing the file that has it.
    Move {
        /// Present path of the entry.
        from: String,
        /// New path of the entry.
        to: String,
    },
    /// Removes a file or directory.
    Remove {
        /// Path of the entry.
        path: String,
        /// With all that is in it.
        recursive: bool,
    },
    /// Sets permission bits and owner of an entry.
    SetAttributes {
        /// Path of the entry.
        path: String,
        /// New permission bits; none leaves them.
        mode: Option<u16>,
        /// New owner; none leaves it.
        owner: Option<User>,
    },
    /// Makes a directory whose whole content is this; what an existing one holds is removed.
    ImportTree {
        /// Path of the directory.
        path: String,
        /// Entries below it, each after the directory that it lies in.
        entries: Vec<TreeEntry>,
    },
    /// Collects all that lies below a directory, with its content.
    ExportTree {
        /// Path of the directory; a link in its place is not followed.
        path: String,
        /// Maximum size of all entries, in bytes, as [`TreeEntry::cost`] counts them.
        most_bytes: u64,
        /// Maximum number of entries.
        most_entries: u64,
    },
    /// Performs an operation on one path, if no link leads it out of a directory.
    Within {
        /// Directory that the path must not leave.
        directory: String,
        /// Operation on a path below the directory, or on the directory itself.
        ask: Box<FileAsk>,
    },
}

/// Entry of a tree that is copied into a session or out of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeEntry {
    /// Path relative to the top of the tree: names between slashes, without `.` and `..`.
    pub path: String,
    /// Type of the entry, with its content.
    pub node: TreeNode,
    /// Permission bits.
    pub mode: u16,
    /// Owner of the entry.
    pub owner: User,
    /// Time of the last change of its content, in nanoseconds since 1970.
    pub modified: u64,
}

/// Type of an entry with its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TreeNode {
    /// Regular file with these bytes.
    File(#[serde(with = "serde_bytes")] Vec<u8>),
    /// Directory of other entries.
    Directory,
    /// Symbolic link with this text.
    Link(String),
}

/// Bytes that an entry of a copied tree costs beside its path and content.
const ENTRY_COST: u64 = 256;

impl TreeEntry {
    /// Returns the size that an entry with a path and a content of these lengths counts with, in bytes.
    pub fn cost(path_bytes: usize, content_bytes: u64) -> u64 {
        content_bytes.saturating_add(path_bytes as u64).saturating_add(ENTRY_COST)
    }
}

/// Part of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilePart {
    /// The bytes asked for.
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
    /// Length of the whole file.
    pub whole: u64,
    /// Number of the file's inode: another file of the same name has another one.
    pub inode: u64,
}

/// Result of a [`FileAsk`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FileAnswer {
    /// The place that was asked for, made or moved to; and whether it is new.
    Entry(Entry, bool),
    /// Entries of a directory that was listed.
    Entries(Vec<Entry>),
    /// A part of a file.
    Bytes(FilePart),
    /// Files that were collected, in the order of their paths.
    Files(Vec<File>),
    /// Entries of a tree that was exported, in the order of their paths: each after its directory.
    Tree(Vec<TreeEntry>),
    /// Confirmation that the entry was removed.
    Removed,
}

wire_enum! {
    /// Reason why an operation on a file failed.
    FileTrouble {
        /// No entry at the path.
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
        /// Read-only part of the sandbox.
        ReadOnly = "read_only",
        /// Failure of another kind.
        Other = "file_error",
    }
}

/// A file call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct FileRefused {
    /// Reason for the refusal, for programs.
    pub trouble: FileTrouble,
    /// Reason for the refusal, for people.
    pub message: String,
}

wire_enum! {
    /// Kind of change to an entry in a session's tree.
    ChangeKind {
        /// New entry in a directory.
        Create = "create",
        /// New content of a file.
        Write = "write",
        /// Removal of an entry.
        Remove = "remove",
        /// New name of an entry.
        Rename = "rename",
        /// New timestamps of an entry.
        Attributes = "chmod",
    }
}

/// Change below a directory that is watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Kind of the change.
    pub kind: ChangeKind,
    /// Relative to the directory.
    pub path: String,
}

/// A command: a script for the shell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// In the shell's language.
    pub script: String,
    /// `$0`, `$1` and so on; empty for the shell's own name.
    pub args: Vec<String>,
    /// Absolute, or relative to the working directory that all start in; none for that.
    pub cwd: Option<String>,
    /// Over the session's own.
    pub env: Vec<(String, String)>,
    /// Standard input of the script.
    pub stdin: Stdin,
    /// User that the script runs as.
    pub user: User,
    /// Size of its terminal: the shell then runs what is typed, and no script. None for a command without one.
    pub terminal: Option<TerminalSize>,
}

/// Size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    /// Number of columns.
    pub columns: u16,
    /// Number of rows.
    pub rows: u16,
}

impl TerminalSize {
    /// Returns xterm's control sequence for this size: typed at a terminal, it changes the size.
    pub fn sequence(self) -> String {
        format!("\x1b[8;{};{}t", self.rows, self.columns)
    }
}

/// Standard input of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stdin {
    /// Bytes that are known when the command starts, and then its end.
    Given(#[serde(with = "serde_bytes")] Vec<u8>),
    /// Stream that the client writes to until it closes it.
    Open,
}

impl Default for Stdin {
    fn default() -> Self {
        Self::Given(Vec::new())
    }
}

/// Outcome of a command that ended by itself or at a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutcome {
    /// Exit code, as a shell would see it.
    pub exit_code: i32,
    /// Failure class; [`FailureClass::None`] where the exit code is 0.
    pub class: FailureClass,
    /// Fuel of the command's interpreters.
    pub fuel: u64,
    /// Bytes written to standard output, including those that were not reported.
    pub stdout_bytes: u64,
    /// Bytes written to standard error, including those that were not reported.
    pub stderr_bytes: u64,
}

wire_enum! {
    /// Signal that ends a command at once: it can't be caught or ignored.
    Signal {
        /// Interrupt, as by Ctrl-C.
        Interrupt = "SIGINT",
        /// Request to terminate.
        Terminate = "SIGTERM",
        /// Kill without delay.
        Kill = "SIGKILL",
    }
}

impl Signal {
    /// Returns the exit code of a command that the signal ended, as a shell would see it.
    pub fn exit_code(self) -> i32 {
        128 + match self {
            Self::Interrupt => 2,
            Self::Kill => 9,
            Self::Terminate => 15,
        }
    }
}

/// Resources that a session occupies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    /// Memory of its contexts beyond what all share.
    pub memory_bytes: u64,
    /// Bytes of its files.
    pub files_bytes: u64,
    /// Number of files and directories.
    pub files_count: u64,
    /// Number of its contexts.
    pub contexts: u32,
}
