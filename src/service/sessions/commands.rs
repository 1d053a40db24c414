//! Scripts for the shell of a session, and their listeners. A command goes on when nobody listens; it ends with its
//! session. It counts as running until the jobs that it has left in the background have ended, too.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::access::InUse;
use super::{LogEvent, LoggedEnd, Session, SessionError, SessionManager};
use crate::sandbox::{RequestError, SessionCallError, SessionEvent};
use crate::service::ExecuteError;
use crate::telemetry;
use proofbox_memory::{Account, Lease, Next, Piece, Receiver, Sender, queue};
use proofbox_types::grant::AskedLimits;
use proofbox_types::ids::SessionId;
use proofbox_types::outcome::Captured;
use proofbox_types::session::{
    CellLimits, Command, CommandNumber, CommandOutcome, EntryKind, FileAnswer, FileAsk, Signal, Stdin,
};
use proofbox_types::user::User;

/// Commands that one session may run at once, those among them that have ended and whose background jobs go on.
const MAX_COMMANDS: usize = 32;
/// Commands that a session keeps after their end; beyond it the one that ended first is forgotten.
const MAX_ENDED: usize = 16;
/// Size of a command's script, arguments and environment together, in bytes.
const MAX_COMMAND_BYTES: usize = 2 << 20;
/// Size of one piece of input, in bytes.
const MAX_INPUT_BYTES: usize = 1 << 20;
/// Pieces of input that wait at once until one command reads them.
const MAX_INPUTS: usize = 4;
/// Output of every command that no budget is asked for, in bytes.
const OUTPUT_RESERVE: usize = 16 << 10;
/// The number of a session's first command.
const FIRST_NUMBER: CommandNumber = 1000;

/// Request to start a command.
#[derive(Clone, Debug, Default)]
pub struct CommandAsked {
    /// Command to start; its user is `user`, and it starts in the session's own default directory where it names none.
    pub command: Command,
    /// Time that it may take, in seconds; none for that of the session's calls.
    pub timeout_seconds: Option<f64>,
    /// User that runs it; none for the session's own default.
    pub user: Option<User>,
    /// Name that the client gives it.
    pub tag: Option<String>,
    /// Time for which its output is kept.
    pub retention: OutputRetention,
}

/// Time for which the service keeps the output of a command, beside sending it to listeners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputRetention {
    /// No time at all.
    #[default]
    None,
    /// Time until somebody who holds the command has read its end.
    UntilEnd,
    /// Time after its end, among the last commands of the session.
    AfterEnd,
}

/// Event of a running command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEvent {
    /// Bytes written to standard output.
    Stdout(Bytes),
    /// Bytes written to standard error.
    Stderr(Bytes),
    /// End of the command; no event follows.
    Ended(CommandEnd),
}

impl Piece for CommandEvent {
    fn size(&self) -> usize {
        match self {
            Self::Stdout(bytes) | Self::Stderr(bytes) => bytes.len(),
            Self::Ended(_) => 0,
        }
    }

    /// Joins nothing: events come joined, and listeners share them.
    fn join(&mut self, next: Self) -> Option<Self> {
        Some(next)
    }

    fn is_optional(&self) -> bool {
        !matches!(self, Self::Ended(_))
    }
}

/// Events of a command.
pub type CommandEvents = Receiver<CommandEvent>;

/// End of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// End by itself, or at a limit.
    Exited(CommandOutcome),
    /// End by a client's signal.
    Killed(Signal),
    /// End with its session, or by its pause.
    SessionEnded,
    /// Failure, with its message: the command could not go on.
    Failed(String),
}

impl From<&CommandEnd> for LoggedEnd {
    fn from(end: &CommandEnd) -> Self {
        match end {
            CommandEnd::Exited(outcome) => Self::Exited(outcome.exit_code),
            CommandEnd::Killed(signal) => Self::Killed(*signal),
            CommandEnd::SessionEnded => Self::SessionEnded,
            CommandEnd::Failed(_) => Self::Failed,
        }
    }
}

/// Progress of a command.
#[derive(Clone, Debug)]
pub struct CommandProgress {
    /// End of the command; none while it runs.
    pub end: Option<CommandEnd>,
    /// Time of the end.
    pub ended: Option<Timestamp>,
    /// Time from its start to its end, or until now.
    pub duration: Duration,
}

/// A command of a session.
#[derive(Debug)]
pub struct SessionCommand {
    number: CommandNumber,
    /// Command that was started, without its input.
    command: Command,
    tag: Option<String>,
    retention: OutputRetention,
    started: Timestamp,
    begun: Instant,
    state: Mutex<State>,
    killed: CancellationToken,
    /// End of a command that is killed.
    kill_reason: OnceLock<CommandEnd>,
    /// Permits for input that waits.
    inputs: Semaphore,
    /// Budget for what listeners have not read yet.
    unread: Account,
}

#[derive(Debug)]
struct State {
    listeners: Vec<Sender<CommandEvent>>,
    stdout: Capture,
    stderr: Capture,
    /// Memory of the captured output.
    lease: Lease,
    end: Option<(CommandEnd, Timestamp, Duration)>,
}

/// Beginning of a stream: as much of it as there is memory for.
#[derive(Debug, Default)]
struct Capture {
    bytes: Vec<u8>,
    /// Bytes of the whole stream.
    total: u64,
}

impl Capture {
    fn captured(&self) -> Captured {
        Captured { head: self.bytes.clone(), tail: Vec::new(), total_bytes: self.total }
    }
}

impl State {
    /// Keeps output if there is memory for it. Nothing is kept behind a gap.
    fn capture(&mut self, stream: fn(&mut Self) -> &mut Capture, bytes: &[u8]) {
        let kept = self.stdout.bytes.len() + self.stderr.bytes.len() + bytes.len();
        let capture = stream(self);
        let is_whole = capture.total == capture.bytes.len() as u64;
        capture.total += bytes.len() as u64;
        if is_whole && (kept <= OUTPUT_RESERVE || self.lease.try_grow(kept - OUTPUT_RESERVE).is_ok()) {
            stream(self).bytes.extend_from_slice(bytes);
        }
    }
}

impl SessionCommand {
    /// A command that is about to begin. Its listeners and its output take their memory from these budgets.
    pub fn new(number: CommandNumber, asked: CommandAsked, unread: Account, kept: &Account) -> Self {
        let CommandAsked { mut command, tag, retention, .. } = asked;
        if let Stdin::Given(bytes) = &mut command.stdin {
            *bytes = Vec::new();
        }
        let state = State {
            listeners: Vec::new(),
            stdout: Capture::default(),
            stderr: Capture::default(),
            lease: kept.lease(),
            end: None,
        };
        Self {
            number,
            command,
            tag,
            retention,
            started: Timestamp::now(),
            begun: Instant::now(),
            state: Mutex::new(state),
            killed: CancellationToken::new(),
            kill_reason: OnceLock::new(),
            inputs: Semaphore::new(MAX_INPUTS),
            unread,
        }
    }

    /// Returns the command's number in its session.
    pub fn number(&self) -> CommandNumber {
        self.number
    }

    /// Returns the command that was started, without its input.
    pub fn command(&self) -> &Command {
        &self.command
    }

    /// The name that a client gave it.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Returns the time at which the command was started.
    pub fn started(&self) -> Timestamp {
        self.started
    }

    /// Returns whether the command has not ended.
    pub fn is_running(&self) -> bool {
        self.state().end.is_none()
    }

    /// Returns how far the command is.
    pub fn progress(&self) -> CommandProgress {
        match &self.state().end {
            Some((end, ended, duration)) => {
                CommandProgress { end: Some(end.clone()), ended: Some(*ended), duration: *duration }
            }
            None => CommandProgress { end: None, ended: None, duration: self.begun.elapsed() },
        }
    }

    /// Returns what is kept of its standard output and standard error.
    pub fn output(&self) -> (Captured, Captured) {
        let state = self.state();
        (state.stdout.captured(), state.stderr.captured())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Subscribes to the events from now on; of a command that has ended, to its end. Unread events are bounded by the
    /// output that the command may write, and by what all clients of its key may leave unread.
    pub fn listen(&self) -> CommandEvents {
        self.listen_in(&mut self.state())
    }

    /// Subscribes to the events from now on, and returns the output that is kept of what was before.
    pub fn follow(&self) -> (Captured, Captured, CommandEvents) {
        let mut state = self.state();
        let events = self.listen_in(&mut state);
        (state.stdout.captured(), state.stderr.captured(), events)
    }

    fn listen_in(&self, state: &mut State) -> CommandEvents {
        let (sender, events) = queue(self.unread.lease());
        match &state.end {
            Some((end, ..)) => {
                sender.send(CommandEvent::Ended(end.clone()));
            }
            None => state.listeners.push(sender),
        }
        events
    }

    /// Sends an event to the listeners. Events after the command's end are dropped.
    pub fn tell(&self, event: CommandEvent) {
        let mut state = self.state();
        if state.end.is_some() {
            return;
        }
        if self.retention != OutputRetention::None {
            match &event {
                CommandEvent::Stdout(bytes) => state.capture(|state| &mut state.stdout, bytes),
                CommandEvent::Stderr(bytes) => state.capture(|state| &mut state.stderr, bytes),
                CommandEvent::Ended(_) => {}
            }
        }
        state.listeners.retain(|listener| listener.send(event.clone()));
        if let CommandEvent::Ended(end) = event {
            state.listeners = Vec::new();
            if let CommandEnd::Exited(CommandOutcome { stdout_bytes, stderr_bytes, .. }) = end {
                state.stdout.total = state.stdout.total.max(stdout_bytes);
                state.stderr.total = state.stderr.total.max(stderr_bytes);
            }
            state.stdout.bytes.shrink_to_fit();
            state.stderr.bytes.shrink_to_fit();
            state.end = Some((end, Timestamp::now(), self.begun.elapsed()));
        }
    }

    /// Ends the command at once, if it has not ended.
    pub fn kill(&self, signal: Signal) {
        // Jobs of one that has ended are not the command.
        if self.is_running() {
            self.end_with(CommandEnd::Killed(signal));
        }
    }

    fn end_with(&self, end: CommandEnd) {
        // The first who ends it says how.
        let _ = self.kill_reason.set(end);
        self.killed.cancel();
    }

    /// Waits until somebody ends the command.
    pub async fn killed(&self) -> CommandEnd {
        self.killed.cancelled().await;
        self.kill_reason.get().cloned().unwrap_or(CommandEnd::SessionEnded)
    }
}

/// Line that stands in the output of a command for what was left out.
pub fn overflow_note(bytes: u64) -> String {
    format!("\n[{bytes} bytes of output are left out: they were read too slowly]\n")
}

/// Quotes words for the shell: a script that runs the program that the first one names with the others as arguments.
pub fn script_of_words<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let quoted = words.into_iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    quoted.collect::<Vec<_>>().join(" ")
}

/// The commands of a session.
#[derive(Default)]
pub(super) struct Commands {
    table: Mutex<Table>,
    last: AtomicU32,
}

#[derive(Default)]
struct Table {
    running: BTreeMap<CommandNumber, Arc<SessionCommand>>,
    /// The last commands that have ended, in this order.
    ended: VecDeque<Arc<SessionCommand>>,
}

impl Commands {
    /// Returns whether any command runs, or any of its background jobs.
    pub(super) fn any(&self) -> bool {
        !self.table().running.is_empty()
    }

    /// Ends all commands, because their session ends or is paused.
    pub(super) fn end_all(&self) {
        for command in self.table().running.values() {
            command.end_with(CommandEnd::SessionEnded);
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a command that is about to run, which `create` makes of its number. Like process ids, numbers begin above
    /// those of a system's own.
    fn add(&self, create: impl FnOnce(CommandNumber) -> SessionCommand) -> Result<Arc<SessionCommand>, SessionError> {
        let mut table = self.table();
        if table.running.len() >= MAX_COMMANDS {
            let what =
                format!("a session runs at most {MAX_COMMANDS} commands at once, with those that have left jobs");
            return Err(SessionError::Refused(RequestError::TooMany(what)));
        }
        let number = FIRST_NUMBER + self.last.fetch_add(1, Ordering::Relaxed);
        let command = Arc::new(create(number));
        table.running.insert(number, Arc::clone(&command));
        Ok(command)
    }

    /// Moves a command that has run to those that have ended, if it is kept.
    fn retire(&self, command: &Arc<SessionCommand>) {
        let mut table = self.table();
        let is_known = table.running.remove(&command.number).is_some();
        if is_known && command.retention == OutputRetention::AfterEnd {
            if table.ended.len() >= MAX_ENDED {
                table.ended.pop_front();
            }
            table.ended.push_back(Arc::clone(command));
        }
    }

    fn list(&self) -> Vec<Arc<SessionCommand>> {
        let table = self.table();
        let mut all: Vec<_> = table.ended.iter().chain(table.running.values()).cloned().collect();
        all.sort_unstable_by_key(|command| command.number);
        all
    }

    fn get(&self, number: CommandNumber) -> Option<Arc<SessionCommand>> {
        let table = self.table();
        let ended = || table.ended.iter().find(|command| command.number == number);
        table.running.get(&number).or_else(ended).cloned()
    }

    fn remove(&self, number: CommandNumber) -> Option<Arc<SessionCommand>> {
        let mut table = self.table();
        if let Some(running) = table.running.remove(&number) {
            return Some(running);
        }
        let at = table.ended.iter().position(|command| command.number == number)?;
        table.ended.remove(at)
    }
}

impl SessionManager {
    /// Starts a command, whose events are received from its first byte. The command goes on when nobody listens.
    ///
    /// # Errors
    /// Returns an error when it could not start; see [`SessionError`].
    pub async fn start_command(
        self: &Arc<Self>,
        id: SessionId,
        mut asked: CommandAsked,
    ) -> Result<(Arc<SessionCommand>, CommandEvents), SessionError> {
        let session = self.table.get(id)?;
        let defaults = &session.spec.commands;
        asked.command.user = asked.user.unwrap_or(defaults.user);
        asked.command.cwd = asked.command.cwd.or_else(|| defaults.cwd.clone());
        let caller = self.keys.caller_of(session.spec.owner).ok_or(SessionError::KeyRevoked)?;
        let policies = self.policies.current();
        let pack = policies.pack(&caller, &session.spec.policy)?;
        self.keys.has_fuel(&caller).map_err(ExecuteError::from)?;
        check_size(&asked.command)?;
        let mut limits = CellLimits::from(session.spec.grant.limits());
        if asked.timeout_seconds.is_some() {
            let wanted = AskedLimits { wall_seconds: asked.timeout_seconds, ..AskedLimits::default() };
            limits.wall = pack.ceiling.grant(&wanted).map_err(SessionError::CommandTimeout)?.limits().wall;
        }
        {
            // Before anything is told: a session that is paused or lost has no commands.
            let in_use = self.enter(&session).await?;
            if let Some(cwd) = &asked.command.cwd {
                self.check_directory(&in_use, cwd).await?;
            }
        }
        let command = asked.command.clone();
        let (unread, kept) =
            (self.budgets.unread.account(session.spec.owner), self.budgets.command_output.account(session.spec.owner));
        let running = session.commands.add(|number| SessionCommand::new(number, asked, unread, &kept))?;
        let events = running.listen();
        let (number, owner) = (running.number, session.spec.owner);
        self.table.logs.note(owner, id, LogEvent::CommandStarted { number });
        tokio::spawn({
            let (manager, running) = (Arc::clone(self), Arc::clone(&running));
            telemetry::carry(async move {
                let end = manager.carry_out(&session, &running, command, limits).await;
                session.commands.retire(&running);
                session.used();
                running.tell(CommandEvent::Ended(end));
                let CommandProgress { end: Some(end), duration, .. } = running.progress() else { return };
                let event = LogEvent::CommandEnded { number, end: (&end).into(), duration };
                manager.table.logs.note(owner, id, event);
            })
        });
        Ok((running, events))
    }

    async fn check_directory(&self, in_use: &InUse<'_>, path: &str) -> Result<(), SessionError> {
        let answer = self.sandbox.files(in_use.handle, FileAsk::Stat { path: path.to_owned() }).await;
        match answer {
            Ok(FileAnswer::Entry(entry, _)) if matches!(entry.kind, EntryKind::Directory | EntryKind::Link) => Ok(()),
            Ok(_) | Err(SessionCallError::Refused(RequestError::File(_))) => {
                Err(SessionError::NoDirectory { path: path.to_owned() })
            }
            other => self.check_lost(in_use, other).map(drop),
        }
    }

    async fn carry_out(
        &self,
        session: &Arc<Session>,
        running: &SessionCommand,
        command: Command,
        limits: CellLimits,
    ) -> CommandEnd {
        // While it runs the session is busy: its idle time does not count, and nobody moves it.
        let in_use = match self.enter(session).await {
            Ok(in_use) => in_use,
            Err(error) => return CommandEnd::Failed(error.to_string()),
        };
        let (sender, mut told) = queue(self.budgets.unread.account(session.spec.owner).lease());
        let run = self.sandbox.run_command(in_use.handle, running.number, command, limits, sender);
        let pass_on = |next| match next {
            Next::Piece(SessionEvent::Stdout(bytes)) => running.tell(CommandEvent::Stdout(bytes.into())),
            Next::Piece(SessionEvent::Stderr(bytes)) => running.tell(CommandEvent::Stderr(bytes.into())),
            Next::Piece(SessionEvent::Exited(outcome)) => {
                running.tell(CommandEvent::Ended(CommandEnd::Exited(outcome)));
            }
            Next::Piece(_) => {}
            Next::Overflow(bytes) => running.tell(CommandEvent::Stderr(overflow_note(bytes).into())),
        };
        let ended = {
            let mut run = std::pin::pin!(run);
            loop {
                tokio::select! {
                    biased;
                    end = running.killed() => break Err(end),
                    Some(event) = told.recv() => pass_on(event),
                    answer = &mut run => break Ok(answer),
                }
            }
        };
        let answer = match ended {
            Ok(answer) => answer,
            Err(killed) => {
                self.measure_in_use(&in_use).await;
                return killed;
            }
        };
        while let Some(event) = told.try_recv() {
            pass_on(event);
        }
        self.measure_in_use(&in_use).await;
        match self.check_lost(&in_use, answer) {
            Ok((outcome, fuel)) => {
                self.keys.use_fuel(session.spec.owner, fuel);
                self.metrics.fuel.inc_by(fuel);
                CommandEnd::Exited(outcome)
            }
            Err(error) => CommandEnd::Failed(error.to_string()),
        }
    }

    /// Lists the commands of a session that run or are kept, in the order of their start.
    ///
    /// # Errors
    /// Returns an error when there is no such session.
    pub fn commands(&self, id: SessionId) -> Result<Vec<Arc<SessionCommand>>, SessionError> {
        Ok(self.table.get(id)?.commands.list())
    }

    /// Returns a command of a session that runs or is kept.
    ///
    /// # Errors
    /// Returns an error when there is no such session or command.
    pub fn command(&self, id: SessionId, number: CommandNumber) -> Result<Arc<SessionCommand>, SessionError> {
        let command = self.table.get(id)?.commands.get(number);
        command.ok_or(SessionError::Refused(RequestError::NoCommand(number)))
    }

    /// Ends a command with its background jobs at once if any of them run, and forgets it.
    ///
    /// # Errors
    /// Returns an error when there is no such session or command.
    pub fn remove_command(&self, id: SessionId, number: CommandNumber) -> Result<(), SessionError> {
        let command = self.table.get(id)?.commands.remove(number);
        let command = command.ok_or(SessionError::Refused(RequestError::NoCommand(number)))?;
        command.end_with(CommandEnd::Killed(Signal::Kill));
        Ok(())
    }

    /// Writes to the standard input of a command, and waits until it is read, or closes it.
    ///
    /// # Errors
    /// Returns an error when there is no such session, the command has ended or takes no input, or too much waits.
    pub async fn command_input(
        &self,
        id: SessionId,
        command: &SessionCommand,
        input: Option<Bytes>,
    ) -> Result<(), SessionError> {
        if command.command.stdin != Stdin::Open {
            return Err(SessionError::NoInput);
        }
        if !command.is_running() {
            return Err(SessionError::CommandEnded);
        }
        let bytes = input.as_ref().map_or(0, Bytes::len);
        check_bytes("data", bytes, MAX_INPUT_BYTES)?;
        let _permit = command.inputs.try_acquire().map_err(|_| {
            let what = format!("{MAX_INPUTS} pieces of input wait already: the command does not read them");
            SessionError::Refused(RequestError::TooMany(what))
        })?;
        let session = self.table.get(id)?;
        let in_use = self.enter(&session).await?;
        let answer = self.sandbox.command_input(in_use.handle, command.number, input.map(|input| input.to_vec())).await;
        match self.check_lost(&in_use, answer) {
            // It has ended meanwhile, or its input is closed.
            Err(SessionError::Refused(RequestError::NoCommand(_))) => Err(SessionError::CommandEnded),
            other => other,
        }
    }
}

fn check_bytes(field: &'static str, asked: usize, allowed: usize) -> Result<(), SessionError> {
    if asked > allowed {
        return Err(ExecuteError::TooLarge { field, asked, allowed, unit: "bytes" }.into());
    }
    Ok(())
}

/// Checks what the front process and the worker hold of a command while it runs.
fn check_size(command: &Command) -> Result<(), SessionError> {
    let Command { script, args, cwd, env, stdin, user: _, terminal: _ } = command;
    let args = args.iter().map(String::len).sum::<usize>() + cwd.as_ref().map_or(0, String::len);
    let env: usize = env.iter().map(|(name, value)| name.len() + value.len()).sum();
    check_bytes("command", script.len() + args + env, MAX_COMMAND_BYTES)?;
    match stdin {
        Stdin::Given(bytes) => check_bytes("stdin", bytes.len(), MAX_INPUT_BYTES),
        Stdin::Open => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofbox_memory::Budget;
    use proofbox_types::status::FailureClass;

    fn command(retention: OutputRetention, kept: usize) -> SessionCommand {
        let account = Budget::new(kept).account(None);
        let asked = CommandAsked { retention, ..CommandAsked::default() };
        SessionCommand::new(1, asked, Budget::new(0).account(None), &account)
    }

    fn exited(exit_code: i32) -> CommandEnd {
        let outcome =
            CommandOutcome { exit_code, class: FailureClass::NonzeroExit, fuel: 0, stdout_bytes: 0, stderr_bytes: 0 };
        CommandEnd::Exited(outcome)
    }

    #[test]
    fn who_listens_hears_what_happens_from_then_on_and_always_the_end() {
        let command = command(OutputRetention::None, 0);
        let mut first = command.listen();
        command.tell(CommandEvent::Stdout(Bytes::from_static(b"a")));
        let mut second = command.listen();
        command.tell(CommandEvent::Ended(exited(3)));
        command.tell(CommandEvent::Stdout(Bytes::from_static(b"b")));
        let mut late = command.listen();
        let all = |events: &mut CommandEvents| std::iter::from_fn(|| events.try_recv()).collect::<Vec<_>>();
        let end = Next::Piece(CommandEvent::Ended(exited(3)));
        assert_eq!(all(&mut first), [Next::Piece(CommandEvent::Stdout(Bytes::from_static(b"a"))), end.clone()]);
        assert_eq!(all(&mut second), std::slice::from_ref(&end));
        assert_eq!(all(&mut late), [end]);
        assert_eq!(command.output().0.total_bytes, 0, "nothing is kept");
    }

    #[test]
    fn output_is_kept_as_far_as_there_is_memory_and_counted_beyond() {
        let command = command(OutputRetention::AfterEnd, 0);
        let (first, second) = (vec![b'a'; OUTPUT_RESERVE - 1], vec![b'b'; 1 << 20]);
        for bytes in [first, second, vec![b'c']] {
            command.tell(CommandEvent::Stdout(bytes.into()));
        }
        command.tell(CommandEvent::Stderr(Bytes::from_static(b"e")));
        let (stdout, stderr) = command.output();
        let whole = (OUTPUT_RESERVE + (1 << 20)) as u64;
        assert_eq!((stdout.head.len(), stdout.total_bytes), (OUTPUT_RESERVE - 1, whole), "nothing behind the gap");
        assert_eq!((stderr.head, stderr.total_bytes), (b"e".to_vec(), 1));
        let mut outcome = exited(0);
        if let CommandEnd::Exited(outcome) = &mut outcome {
            outcome.stderr_bytes = 9;
        }
        command.tell(CommandEvent::Ended(outcome));
        assert!(command.output().1.is_truncated(), "the worker has counted more");
    }

    #[test]
    fn the_first_who_ends_a_command_says_how() {
        let command = command(OutputRetention::None, 0);
        command.kill(Signal::Terminate);
        command.kill(Signal::Kill);
        assert_eq!(command.kill_reason.get(), Some(&CommandEnd::Killed(Signal::Terminate)));
        assert_eq!(Signal::ALL.iter().map(|signal| signal.exit_code()).collect::<Vec<_>>(), [130, 143, 137]);
    }

    #[test]
    fn jobs_of_a_command_that_has_ended_go_on_until_it_is_removed() {
        let commands = Commands::default();
        let budget = Budget::new(0).account(None);
        let new = |number| SessionCommand::new(number, CommandAsked::default(), budget.clone(), &budget);
        let command = commands.add(new).expect("there is room");
        command.tell(CommandEvent::Ended(exited(0)));
        command.kill(Signal::Kill);
        assert!(commands.any() && !command.is_running() && command.kill_reason.get().is_none());
        commands.end_all();
        assert_eq!(command.kill_reason.get(), Some(&CommandEnd::SessionEnded));
    }

    #[test]
    fn the_last_commands_that_ended_are_kept() {
        let commands = Commands::default();
        let add = |retention| {
            let asked = CommandAsked { retention, ..CommandAsked::default() };
            let budget = Budget::new(0).account(None);
            commands.add(|number| SessionCommand::new(number, asked, budget.clone(), &budget)).expect("there is room")
        };
        let all: Vec<_> = (0..MAX_ENDED + 2).map(|_| add(OutputRetention::AfterEnd)).collect();
        all.iter().for_each(|command| commands.retire(command));
        commands.retire(&add(OutputRetention::UntilEnd));
        let removed = add(OutputRetention::AfterEnd);
        assert!(commands.remove(removed.number).is_some());
        commands.retire(&removed);
        let kept: Vec<_> = commands.list().iter().map(|command| command.number).collect();
        assert_eq!(kept, all[2..].iter().map(|command| command.number).collect::<Vec<_>>());
        assert!(commands.get(all[1].number).is_none() && commands.get(all[2].number).is_some());
        for _ in 0..MAX_COMMANDS {
            add(OutputRetention::None);
        }
        let budget = Budget::new(0).account(None);
        let beyond =
            commands.add(|number| SessionCommand::new(number, CommandAsked::default(), budget.clone(), &budget));
        assert!(matches!(beyond, Err(SessionError::Refused(RequestError::TooMany(_)))));
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(script_of_words(["python3", "-c", "print('x')"]), r"'python3' '-c' 'print('\''x'\'')'");
    }

    #[test]
    fn commands_and_input_are_bounded() {
        let sized = |script: usize, env: usize, stdin: usize| {
            let env = vec![(String::new(), "x".repeat(env))];
            let stdin = Stdin::Given(vec![0; stdin]);
            check_size(&Command { script: "x".repeat(script), env, stdin, ..Command::default() }).is_ok()
        };
        assert!(sized(MAX_COMMAND_BYTES / 2, MAX_COMMAND_BYTES / 2, MAX_INPUT_BYTES));
        assert!(!sized(MAX_COMMAND_BYTES / 2, MAX_COMMAND_BYTES / 2 + 1, 0));
        assert!(!sized(0, 0, MAX_INPUT_BYTES + 1));
    }
}
