//! A shell's state: variables, functions, options, where it stands, what it reads and writes. A subshell is a copy.

use super::bounds::{Held, Pace, Pieces, TIME_BEFORE_NOTICE, Use};
use super::execute::Turn;
use super::processes::{Process, Processes};
use super::streams::{Fifo, NotWritten, Reader, Writer};
use super::syntax::Command;
use super::terminal::Terminal;
use super::{PythonStart, Script};
use futures_util::future::{AbortRegistration, BoxFuture};
use proofbox_vfs::{Fault, FileEntry, FileKind, FilesError, OpenFile, SharedTree, lock};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

/// Reason why a command ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// `break`, out of so many loops.
    Break(usize),
    /// `continue`, of so many loops.
    Continue(usize),
    /// Return from a function or script, `return`, with its exit code.
    Return(i32),
    /// `exit`, and what ends a shell.
    Exit(i32),
    /// The script has used all it may.
    Spent,
    /// The reader of what is written is gone.
    Broken,
    /// Failure of a command with this code; the error has been reported.
    Failed(i32),
}

/// A command's exit code, or what ended it.
pub(super) type Done = Result<i32, Stop>;

/// The value of a variable.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(Arc<str>),
    List(Arc<BTreeMap<u64, Arc<str>>>),
}

/// A variable; copies in subshells share what it holds.
#[derive(Debug, Clone)]
pub(super) struct Variable {
    /// None: it has attributes, but no value.
    pub(super) value: Option<Value>,
    pub(super) exported: bool,
    pub(super) read_only: bool,
    /// Memory of the value, held until the last copy is gone.
    pub(super) _held: Option<Arc<Held>>,
}

/// A function, and what its tree takes.
#[derive(Clone)]
pub(super) struct Function {
    pub(super) body: Arc<Command>,
    pub(super) _held: Option<Arc<Held>>,
}

/// Options that `set` changes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Options {
    pub(super) exit_on_error: bool,
    /// Whether command substitutions have `exit_on_error` as well, as in a POSIX shell.
    pub(super) passes_exit_on_error: bool,
    pub(super) unset_is_error: bool,
    pub(super) trace: bool,
    pub(super) pipe_fail: bool,
    pub(super) no_glob: bool,
    pub(super) no_clobber: bool,
    pub(super) null_glob: bool,
}

/// Open streams, by descriptor.
#[derive(Clone)]
pub(super) struct Streams {
    pub(super) stdin: Reader,
    pub(super) stdout: Writer,
    pub(super) stderr: Writer,
    /// Descriptors from 3 on.
    pub(super) more: BTreeMap<u32, Stream>,
}

impl Streams {
    /// Returns whether a descriptor, given by its number, is a terminal.
    pub(super) fn is_terminal(&self, number: &str) -> bool {
        match number.trim().parse::<u32>() {
            Ok(0) => self.stdin.is_terminal(),
            Ok(1) => self.stdout.is_terminal(),
            Ok(2) => self.stderr.is_terminal(),
            Ok(number) => match self.more.get(&number) {
                Some(Stream::Read(reader) | Stream::Both(reader, _)) => reader.is_terminal(),
                Some(Stream::Write(writer)) => writer.is_terminal(),
                None => false,
            },
            Err(_) => false,
        }
    }

    /// Returns streams that are all closed.
    pub(super) fn closed() -> Self {
        let (stdout, stderr) = (Writer::closed(), Writer::closed());
        Self { stdin: Reader::empty(), stdout, stderr, more: BTreeMap::new() }
    }
}

/// A descriptor from 3 on.
#[derive(Clone)]
pub(super) enum Stream {
    Read(Reader),
    Write(Writer),
    /// Ends of a named pipe, as `<>` opens them.
    Both(Reader, Writer),
}

/// Background job of the shell.
pub(super) struct Job {
    pub(super) id: u32,
    pub(super) ended: Arc<AtomicI32>,
}

/// Exit code of a command whose reader is gone.
pub(super) const BROKEN_PIPE: i32 = 141;
/// No exit code yet.
pub(super) const RUNNING: i32 = -1;

/// Work that runs beside a script, or that its host is asked for: see `execute::beside`.
pub(super) enum BackgroundTask {
    Job(BoxFuture<'static, ()>),
    Python { start: PythonStart, ended: oneshot::Sender<i32>, registration: AbortRegistration },
}

/// File of a process substitution; removed when dropped.
pub(super) struct TemporaryFile {
    pub(super) tree: SharedTree,
    pub(super) time: Arc<AtomicU64>,
    pub(super) path: String,
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let mut tree = lock(&self.tree);
        // What the script has put in its place is the script's.
        if tree.stat(&self.path).is_ok_and(|entry| entry.kind == FileKind::File) {
            // It was there, and can be removed.
            let _ = tree.remove(&self.path, self.time.load(Ordering::Relaxed));
        }
    }
}

/// State that every shell of one script shares.
pub(super) struct Shared {
    pub(super) used: Arc<Use>,
    /// Takes what runs beside the script to where it runs.
    pub(super) beside: UnboundedSender<BackgroundTask>,
    /// Processes of the session.
    pub(super) processes: Arc<Processes>,
    /// Number of the next file of a process substitution.
    pub(super) next_file: AtomicU32,
    /// State of `/dev/urandom`.
    pub(super) random: Arc<AtomicU64>,
    pub(super) job_ended: tokio::sync::Notify,
    /// Terminal that the script reads and writes; none for one without.
    pub(super) terminal: Option<Arc<Terminal>>,
    /// Start time of the script, in nanoseconds since 1970.
    pub(super) started: u64,
    /// The host's time as of this turn, ns since 1970.
    pub(super) time: Arc<AtomicU64>,
    pub(super) turn: Arc<Turn>,
}

/// Shell with its variables, functions and streams.
#[derive(Clone)]
pub(super) struct Shell {
    pub(super) shared: Arc<Shared>,
    /// The files, as the user of this shell may use them.
    pub(super) tree: SharedTree,
    pub(super) variables: Arc<BTreeMap<String, Variable>>,
    pub(super) functions: Arc<BTreeMap<String, Function>>,
    pub(super) positional: Arc<Vec<String>>,
    pub(super) name: String,
    pub(super) cwd: String,
    pub(super) options: Options,
    pub(super) streams: Streams,
    /// Streams as they were before the redirections of the commands around.
    pub(super) saved: Vec<Streams>,
    pub(super) status: i32,
    /// Exit code of the last command substitution within this command.
    pub(super) substituted: Option<i32>,
    pub(super) line: usize,
    /// Functions, subshells and substitutions around it.
    pub(super) level: usize,
    pub(super) loops: usize,
    pub(super) in_subshell: bool,
    /// Functions and sourced files around it.
    pub(super) calls: usize,
    /// Number of enclosing conditions, where `set -e` does not count.
    pub(super) unchecked: usize,
    /// Variables that `local` hid, one map for each function around it.
    pub(super) hidden: Vec<BTreeMap<String, Option<Variable>>>,
    pub(super) own_jobs: Arc<Mutex<Vec<Job>>>,
    pub(super) last_job: Option<u32>,
    /// Files of process substitutions that the commands around have in their words.
    pub(super) substituted_files: Vec<Arc<TemporaryFile>>,
    /// Memory of the tree of the script that is being read.
    pub(super) tree_held: Option<Arc<Held>>,
    pub(super) random: u64,
    /// Offset of `getopts` within a word.
    pub(super) option_offset: usize,
    /// Commands of `trap … EXIT`.
    pub(super) at_exit: Option<Arc<str>>,
    /// Commands of `trap` for signals, by their numbers; none for those that are ignored.
    pub(super) traps: Arc<BTreeMap<i32, Arc<str>>>,
    /// Set of signals that were ignored when the shell began: they stay so.
    pub(super) ignored: u32,
    /// True while such a command runs: others wait.
    pub(super) in_trap: bool,
    /// Process that the shell runs in.
    pub(super) process: Arc<Process>,
    /// Value of `$$`: the process of the shell around all subshells.
    pub(super) pid: u32,
    /// True when the process is the shell's own, not that of a shell around it.
    pub(super) owns_process: bool,
    /// True when the next program takes the place of this shell, as after `exec`.
    pub(super) becomes_next: bool,
    /// True when the next shell leads a group of its own.
    pub(super) leads_group: bool,
    /// True when the shell ends with its next command: what that redirects is closed.
    pub(super) ends_with_next: bool,
}

impl Shell {
    pub(super) fn new(shared: Arc<Shared>, tree: &SharedTree, process: Arc<Process>, script: Script) -> Self {
        let user = script.credentials.user;
        let mut arguments = script.args.into_iter();
        let name = arguments.next().unwrap_or_else(|| "bash".to_owned());
        let cwd = if script.cwd.is_empty() { user.home().to_owned() } else { absolute("/", &script.cwd) };
        let random = shared.started | 1;
        let mut shell = Self {
            shared,
            tree: tree.with_credentials(script.credentials),
            variables: Arc::default(),
            functions: Arc::default(),
            positional: Arc::new(arguments.collect()),
            name,
            cwd,
            options: Options::default(),
            streams: Streams {
                stdin: script.stdin,
                stdout: script.stdout,
                stderr: script.stderr,
                more: BTreeMap::new(),
            },
            saved: Vec::new(),
            status: 0,
            substituted: None,
            line: 1,
            level: 0,
            loops: 0,
            in_subshell: false,
            calls: 0,
            unchecked: 0,
            hidden: Vec::new(),
            own_jobs: Arc::default(),
            last_job: None,
            substituted_files: Vec::new(),
            tree_held: None,
            random,
            option_offset: 0,
            at_exit: None,
            traps: Arc::default(),
            ignored: 0,
            in_trap: false,
            pid: process.number,
            process,
            owns_process: true,
            becomes_next: false,
            leads_group: false,
            ends_with_next: false,
        };
        let defaults = [
            ("HOME", user.home()),
            ("USER", user.name()),
            ("LOGNAME", user.name()),
            ("SHELL", "/bin/bash"),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("LANG", "C.UTF-8"),
            ("SHLVL", "1"),
        ];
        let defaults = defaults.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        for (name, value) in defaults.chain(script.env) {
            shell.set_environment(name, value);
        }
        shell.set_environment("PWD".to_owned(), shell.cwd.clone());
        shell
    }

    pub(super) fn set_environment(&mut self, name: String, value: String) {
        let variable =
            Variable { value: Some(Value::Text(value.into())), exported: true, read_only: false, _held: None };
        Arc::make_mut(&mut self.variables).insert(name, variable);
    }

    pub(super) fn now(&self) -> u64 {
        self.shared.time.load(Ordering::Relaxed)
    }

    /// The text of a variable; of an array, that of its first element.
    pub(super) fn text_of(&self, name: &str) -> Option<Arc<str>> {
        match self.variables.get(name)?.value.as_ref()? {
            Value::Text(text) => Some(Arc::clone(text)),
            Value::List(list) => list.get(&0).cloned(),
        }
    }

    /// Changes a variable. Err: why it cannot be.
    pub(super) fn set_value(&mut self, name: &str, value: Value) -> Result<(), String> {
        let known = self.variables.get(name);
        if known.is_some_and(|variable| variable.read_only) {
            return Err(format!("{name}: readonly variable"));
        }
        let exported = known.is_some_and(|variable| variable.exported);
        let bytes = match &value {
            Value::Text(text) => text.len(),
            Value::List(list) => list.values().map(|text| text.len() + 64).sum(),
        };
        let Some(held) = self.shared.used.hold(bytes + name.len() + 200) else {
            return Err(format!("{name}: cannot allocate memory"));
        };
        let variable = Variable { value: Some(value), exported, read_only: false, _held: Some(Arc::new(held)) };
        Arc::make_mut(&mut self.variables).insert(name.to_owned(), variable);
        Ok(())
    }

    pub(super) fn set_text(&mut self, name: &str, text: &str) -> Result<(), String> {
        // An array keeps its other elements.
        if let Some(Value::List(list)) = self.variables.get(name).and_then(|variable| variable.value.clone()) {
            let mut list = list;
            Arc::make_mut(&mut list).insert(0, Arc::from(text));
            return self.set_value(name, Value::List(list));
        }
        self.set_value(name, Value::Text(Arc::from(text)))
    }

    /// The variables that programs get.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        let exported = self.variables.iter().filter(|(_, variable)| variable.exported);
        let texts = exported.filter_map(|(name, variable)| match variable.value.as_ref()? {
            Value::Text(text) => Some((name.clone(), text.to_string())),
            Value::List(_) => None,
        });
        texts.collect()
    }

    /// A path as the shell means it: from where it stands, without `.` and `..`.
    pub(super) fn path(&self, path: &str) -> String {
        absolute(&self.cwd, path)
    }

    /// Counts steps of work, and ends the script when there are too many.
    pub(super) async fn step(&self, count: u64) -> Result<(), Stop> {
        if self.shared.used.step(count).await {
            return Ok(());
        }
        if self.shared.used.tell() {
            let max_steps = self.shared.used.max_steps();
            let text = format!("bash: the script was ended: more than {max_steps} steps\n");
            // It ends whether or not anybody hears why.
            let _ = self.streams.stderr.write(text.as_bytes()).await;
        }
        Err(Stop::Spent)
    }

    /// Counts the work that was measured since `pace` began or was last counted, when that took a turn's time.
    pub(super) async fn count_paced(&self, pace: &mut Pace) -> Result<(), Stop> {
        if let Some(steps) = pace.due_steps() {
            self.step(steps).await?;
            *pace = Pace::new();
        }
        Ok(())
    }

    /// Counts small pieces of work, as steps when they are many.
    pub(super) async fn count_pieces(&self, pieces: &mut Pieces, count: u64) -> Result<(), Stop> {
        match pieces.add(count) {
            Some(steps) => self.step(steps).await,
            None => Ok(()),
        }
    }

    /// Writes to standard output.
    pub(super) async fn out(&self, who: &str, bytes: &[u8]) -> Result<(), Stop> {
        self.write(&self.streams.stdout, who, bytes).await
    }

    /// Writes to a stream; what a command does when it cannot, is to end.
    pub(super) async fn write(&self, writer: &Writer, who: &str, bytes: &[u8]) -> Result<(), Stop> {
        self.step(1 + bytes.len() as u64 / 4096).await?;
        match writer.write(bytes).await {
            Ok(()) => Ok(()),
            Err(NotWritten::Broken) => Err(Stop::Broken),
            Err(NotWritten::Closed) => Err(self.fails(who, "write error: Bad file descriptor").await),
            Err(NotWritten::Refused(fault)) => Err(self.fails(who, &format!("write error: {}", describe(fault))).await),
        }
    }

    /// Says on standard error what is wrong, as a program does.
    pub(super) async fn error(&self, who: &str, what: &str) {
        let who = match who {
            "" => format!("bash: line {}", self.line),
            // What is built into bash says so.
            name if super::programs::names::is_builtin(name) => format!("bash: line {}: {name}", self.line),
            name => name.to_owned(),
        };
        // What has run out is noticed at the next step.
        self.shared.used.step(1).await;
        // There is nobody else to tell.
        let _ = self.streams.stderr.write(format!("{who}: {what}\n").as_bytes()).await;
    }

    /// Says that no process can be started; the shell ends.
    pub(super) async fn no_process(&self) -> Stop {
        self.error("", super::execute::NO_PROCESS).await;
        Stop::Exit(super::execute::NO_PROCESS_CODE)
    }

    /// Says on standard error just this.
    pub(super) async fn say(&self, text: &str) {
        // There is nobody else to tell.
        let _ = self.streams.stderr.write(text.as_bytes()).await;
    }

    /// Says what is wrong; the program ends with 1.
    pub(super) async fn fails(&self, who: &str, what: &str) -> Stop {
        self.error(who, what).await;
        Stop::Failed(1)
    }
}

/// Resolves a path against `cwd` into an absolute one, by its text alone.
pub(super) fn absolute(cwd: &str, path: &str) -> String {
    let start = if path.starts_with('/') { "" } else { cwd };
    let mut plain = String::with_capacity(start.len() + path.len() + 1);
    for name in start.split('/').chain(path.split('/')) {
        match name {
            "" | "." => {}
            ".." => plain.truncate(plain.rfind('/').unwrap_or(0)),
            name => {
                plain.push('/');
                plain.push_str(name);
            }
        }
    }
    if plain.is_empty() {
        plain.push('/');
    }
    plain
}

/// Returns the message of C's library for a fault.
pub(super) fn describe(fault: Fault) -> &'static str {
    match fault {
        Fault::NotFound => "No such file or directory",
        Fault::NotADirectory => "Not a directory",
        Fault::IsADirectory => "Is a directory",
        Fault::Exists => "File exists",
        Fault::NotEmpty => "Directory not empty",
        Fault::ReadOnly => "Read-only file system",
        Fault::Protected | Fault::Denied => "Permission denied",
        Fault::NoSpace { .. } => "No space left on device",
        Fault::TooManyEntries { .. } => "Disk quota exceeded",
        Fault::LinkLoop => "Too many levels of symbolic links",
        Fault::NameTooLong | Fault::TooDeep => "File name too long",
        Fault::IntoItself | Fault::WrongKind => "Invalid argument",
        Fault::Escapes | Fault::NotOwner => "Operation not permitted",
        Fault::NamedPipe => "No such device or address",
        Fault::NoName => "Device or resource busy",
        Fault::DirectoryLink => "Operation not permitted",
        Fault::CrossLayer => "Invalid cross-device link",
    }
}

/// Returns the message of C's library for an error of the tree.
pub(super) fn reason(error: &FilesError) -> &'static str {
    match error {
        FilesError::Refused { fault, .. } => describe(*fault),
        FilesError::BadPath { .. } => "No such file or directory",
        FilesError::BadPattern { .. } => "Invalid argument",
        FilesError::TooLarge { .. } => "File too large",
        FilesError::TooManyWatches { .. } => "No space left on device",
    }
}

impl Shell {
    /// Goes one level deeper within this shell; the caller comes back up.
    pub(super) async fn deeper(&mut self) -> Result<(), Stop> {
        if self.level >= super::bounds::MAX_LEVELS {
            self.error("", "scripts are nested too deeply").await;
            return Err(Stop::Exit(1));
        }
        self.level += 1;
        Ok(())
    }

    /// Returns the channel of a named pipe. Err: why there is none.
    pub(super) fn fifo(&self, file: &OpenFile) -> Option<Result<Fifo, &'static str>> {
        let inode = file.named_pipe()?;
        Some(self.shared.processes.fifo(inode, &self.shared.used).ok_or("Cannot allocate memory"))
    }

    /// Waits for the other end of a named pipe to be opened, as opening this end does. What a script stands still for is
    /// told.
    pub(super) async fn wait_for_other_end(&self, opened: impl Future<Output = ()>, path: &str) {
        let mut opened = std::pin::pin!(opened);
        if tokio::time::timeout(TIME_BEFORE_NOTICE, &mut opened).await.is_err() {
            self.error("", &format!("{path}: waiting for the other end of the named pipe to be opened")).await;
            opened.await;
        }
    }

    /// Returns the entry that a path leads to.
    pub(super) fn stat(&self, path: &str) -> Result<FileEntry, FilesError> {
        let tree = lock(&self.tree);
        match path {
            "" => tree.stat(""),
            path => tree.stat_followed(&self.path(path)),
        }
    }

    /// Returns the entry at a path, which may be a link. A slash at the end asks for what the link leads to.
    pub(super) fn lstat(&self, path: &str) -> Result<FileEntry, FilesError> {
        match path {
            path if path.ends_with('/') => self.stat(path),
            "" => lock(&self.tree).stat(""),
            path => lock(&self.tree).stat(&self.path(path)),
        }
    }

    pub(super) fn is_directory(&self, path: &str) -> bool {
        self.stat(path).is_ok_and(|entry| entry.kind == FileKind::Directory)
    }
}
