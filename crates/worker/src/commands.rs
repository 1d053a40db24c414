//! Commands of sessions and runs: the shell over their files, and what it starts.
//!
//! A command has ended for its client when its script has, and nothing holds its output any more. Jobs that it left in
//! the background go on: those of a session's commands within the request that runs the command, those of scripts from
//! a call or run in [`SessionCommands`]. All end when the command's time is over, and with the session or run.
//!
//! Each interpreter that a command starts has a permit of the front process, as a run or a call has. A guest that waits
//! for its script lends the script its own ([`Loan`]): one interpreter of the script needs no other, so that programs
//! that start programs one by one never wait for a permit.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::admission::{Admitted, WorkerAdmission};
use super::protocol::CommandSource;
use super::rpc::{CommandNumber, Events, RequestError, SessionEvent, SessionNumber};
use proofbox_memory::Piece;
use proofbox_runtime::COMMAND_SLOTS;
use proofbox_runtime::session::{
    CommandRunner, Input, OutputSink, Pipes, Program, ScriptOutput, SessionContext, ShellScript, now,
};
use proofbox_shell::{Broken, Host, PIPE_BYTES, Processes, PythonStart, Reader, Script, Writer, pipe, run_with_jobs};
use proofbox_types::session::{CellLimits, Command, CommandOutcome, Stdin, TerminalSize};
use proofbox_types::status::FailureClass;
use proofbox_vfs::{Credentials, Output, SharedTree, absolute_path};

/// Time to wait for an interpreter for a command: those of one pipeline may wait for each other.
const NO_SLOT: Duration = Duration::from_secs(10);
/// Exit code of a command whose time is over, as `timeout` has it.
const TIMED_OUT: i32 = 124;
/// Exit code of a program that is killed.
const KILLED: i32 = 137;
/// Exit code of a script that ended without one, which does not happen.
const LOST: i32 = 255;

/// Names a command of this worker.
type Name = (SessionNumber, CommandNumber);

/// The commands of one worker.
#[derive(Clone)]
pub(crate) struct Commands {
    /// Permits for the interpreters that commands have at once.
    free: Arc<Semaphore>,
    admission: WorkerAdmission,
    /// Standard input of each running command that takes any.
    inputs: Arc<Mutex<HashMap<Name, Writer>>>,
}

/// Commands of one session or run.
pub(crate) struct SessionCommands {
    worker: Commands,
    source: CommandSource,
    processes: Arc<Processes>,
    /// Background jobs that scripts of calls have left; none when the session has ended.
    left: Mutex<Option<JoinSet<()>>>,
}

/// Owner of the commands of a session or run, which end when it is dropped.
pub(crate) struct CommandsOwner(Arc<SessionCommands>);

impl CommandsOwner {
    /// Returns the commands.
    pub(crate) fn commands(&self) -> Arc<SessionCommands> {
        Arc::clone(&self.0)
    }
}

impl Drop for CommandsOwner {
    fn drop(&mut self) {
        // Jobs hold the commands that hold them: somebody must let go.
        self.0.left().take();
    }
}

impl Commands {
    /// Makes an empty set of commands, for whose interpreters `admission` has permits.
    pub(crate) fn new(admission: WorkerAdmission) -> Self {
        Self { free: Arc::new(Semaphore::new(COMMAND_SLOTS as usize)), admission, inputs: Arc::default() }
    }

    fn inputs(&self) -> MutexGuard<'_, HashMap<Name, Writer>> {
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the commands of a session or run, which end with what is returned.
    pub(crate) fn of(&self, source: CommandSource) -> CommandsOwner {
        let left = Mutex::new(Some(JoinSet::new()));
        CommandsOwner(Arc::new(SessionCommands { worker: self.clone(), source, processes: Arc::default(), left }))
    }

    /// Gives a command input; none: there will be no more.
    ///
    /// # Errors
    /// Returns an error when there is no such command, or it takes none.
    pub(crate) async fn input(&self, name: Name, bytes: Option<Vec<u8>>) -> Result<(), RequestError> {
        let Some(bytes) = bytes else {
            return self.inputs().remove(&name).map(drop).ok_or(RequestError::NoCommand(name.1));
        };
        let writer = self.inputs().get(&name).cloned().ok_or(RequestError::NoCommand(name.1))?;
        // What nobody reads any more is lost, as with a pipe.
        let _: Result<(), Broken> = writer.write_all(&bytes).await;
        Ok(())
    }
}

/// Shortest time between two pieces of a command's output.
const MIN_OUTPUT_INTERVAL: Duration = Duration::from_millis(5);

/// Output of a command that is not reported yet: at most what its limits allow.
#[derive(Default)]
struct Written {
    pieces: Mutex<Vec<SessionEvent>>,
    more: Notify,
}

impl Written {
    fn pieces(&self) -> MutexGuard<'_, Vec<SessionEvent>> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a writer whose first `most` bytes are reported by `report`, and the count of all that is written to it.
    fn stream(self: &Arc<Self>, most: u64, report: fn(Vec<u8>) -> SessionEvent) -> (Writer, Arc<AtomicU64>) {
        let (written, count) = (Arc::clone(self), Arc::new(AtomicU64::new(0)));
        let counted = Arc::clone(&count);
        let writer = Writer::sink(Arc::new(move |bytes: &[u8]| {
            // What nobody can hold is only counted; the command goes on.
            let before = counted.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            let left = usize::try_from(most.saturating_sub(before)).unwrap_or(usize::MAX);
            let taken = bytes.len().min(left);
            if taken > 0 {
                written.push(report(bytes[..taken].to_vec()));
            }
        }));
        (writer, count)
    }

    /// Takes output. A byte at a time would cost a hundred times its length, here and in the front process.
    fn push(&self, piece: SessionEvent) {
        let mut pieces = self.pieces();
        let piece = match pieces.last_mut() {
            Some(last) => last.join(piece),
            None => Some(piece),
        };
        pieces.extend(piece);
        drop(pieces);
        self.more.notify_one();
    }

    fn flush(&self, events: &Events) {
        let pieces = std::mem::take(&mut *self.pieces());
        pieces.into_iter().for_each(|piece| events(piece));
    }

    /// Reports output as it comes.
    async fn tell(&self, events: &Events) -> Infallible {
        loop {
            self.more.notified().await;
            self.flush(events);
            tokio::time::sleep(MIN_OUTPUT_INTERVAL).await;
        }
    }
}

/// Closes a command's input at its end.
struct Open<'a> {
    commands: &'a Commands,
    name: Name,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.commands.inputs().remove(&self.name);
    }
}

impl SessionCommands {
    fn left(&self) -> MutexGuard<'_, Option<JoinSet<()>>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether jobs go on that scripts of calls have left in the background.
    pub(crate) fn has_jobs(&self) -> bool {
        self.left().as_mut().is_some_and(|left| {
            while left.try_join_next().is_some() {}
            !left.is_empty()
        })
    }

    /// Runs a command to its end, and to that of its background jobs. Dropping the future kills all of them. `events`
    /// receives the outcome as soon as it is known.
    pub(crate) async fn run_as(
        &self,
        name: Name,
        session_context: SessionContext,
        command: Command,
        limits: CellLimits,
        events: Events,
    ) -> CommandOutcome {
        let begun = Instant::now();
        let Command { script, args, cwd, env, stdin, user, terminal } = command;
        let terminal = terminal.map(|TerminalSize { columns, rows }| proofbox_shell::TerminalSize { columns, rows });
        let stdin = match stdin {
            Stdin::Given(bytes) => Reader::from_bytes(bytes),
            Stdin::Open => {
                let (writer, reader) = pipe(PIPE_BYTES);
                self.worker.inputs().insert(name, writer);
                reader
            }
        };
        let open = Mutex::new(Some(Open { commands: &self.worker, name }));
        let written = Arc::new(Written::default());
        let (stdout, stdout_bytes) = written.stream(limits.output_bytes, SessionEvent::Stdout);
        let (stderr, stderr_bytes) = written.stream(limits.output_bytes, SessionEvent::Stderr);
        let mut all = session_context.env().to_vec();
        all.extend(env);
        let script = Script {
            number: Some(name.1),
            text: script,
            args,
            cwd: cwd.and_then(|cwd| absolute_path(user.home(), &cwd).ok()).unwrap_or_else(|| user.home().to_owned()),
            env: all,
            credentials: Credentials::of(user),
            stdin,
            stdout,
            stderr,
        };
        let spent = Arc::new(AtomicU64::new(0));
        let (outcome, exited) = (OnceLock::new(), Notify::new());
        let exit = |exit_code: i32| {
            outcome.get_or_init(|| {
                open.lock().unwrap_or_else(PoisonError::into_inner).take();
                written.flush(&events);
                let fuel = spent.load(Ordering::Relaxed);
                let class = match exit_code {
                    0 => FailureClass::None,
                    // Its last interpreter may notice a moment before the clock here does.
                    TIMED_OUT if begun.elapsed() >= limits.wall => FailureClass::Timeout,
                    _ if fuel >= limits.fuel => FailureClass::FuelExhausted,
                    _ => FailureClass::NonzeroExit,
                };
                let [stdout_bytes, stderr_bytes] =
                    [&stdout_bytes, &stderr_bytes].map(|count| count.load(Ordering::Relaxed));
                exited.notify_one();
                CommandOutcome { exit_code, class, fuel, stdout_bytes, stderr_bytes }
            });
        };
        let host = self.host(session_context, limits, Arc::clone(&spent), None);
        let run = timeout(limits.wall, run_with_jobs(&host, script, terminal, exit));
        let tell_exit = async {
            exited.notified().await;
            // Not when it has left no jobs: then the answer is next.
            if let Some(outcome) = outcome.get() {
                events(SessionEvent::Exited(*outcome));
            }
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            biased;
            _ = run => {}
            never = tell_exit => match never {},
            never = written.tell(&events) => match never {},
        }
        exit(TIMED_OUT);
        outcome.into_inner().expect("it has just been set, if it was not")
    }

    fn host(
        &self,
        session_context: SessionContext,
        limits: CellLimits,
        spent: Arc<AtomicU64>,
        loan: Option<Loan>,
    ) -> Sandboxed {
        let (worker, source, processes) = (self.worker.clone(), self.source, Arc::clone(&self.processes));
        Sandboxed { session_context, worker, source, loan, processes, limits, spent }
    }
}

impl CommandRunner for SessionCommands {
    fn run(
        &self,
        session_context: SessionContext,
        script: ShellScript,
        limits: CellLimits,
        out: ScriptOutput,
    ) -> BoxFuture<'_, i32> {
        let writer = |output: Output| {
            let out = Arc::clone(&out);
            Writer::sink(Arc::new(move |bytes: &[u8]| out(output, bytes)))
        };
        let (stdout, stderr) = (writer(Output::Stdout), writer(Output::Stderr));
        let ShellScript { text, cwd, env, stdin, credentials } = script;
        let stdin = Reader::from_bytes(stdin);
        let script = Script { number: None, text, args: Vec::new(), cwd, env, credentials, stdin, stdout, stderr };
        let over = Instant::now().checked_add(limits.wall);
        let loan = Loan::default();
        // Until its end is known, or nobody waits for it any more.
        let lent = loan.over.clone().drop_guard();
        // Its fuel is that of the call or run.
        let host = self.host(session_context, limits, Arc::default(), Some(loan));
        let (exit, exited) = oneshot::channel();
        let mut run = Box::pin(async move {
            let exit = |code| {
                // Who waited for it may be gone.
                let _ = exit.send(code);
            };
            run_with_jobs(&host, script, None, exit).await;
        });
        Box::pin(async move {
            // How long the script may take, the call sees to.
            let code = match select(exited, run.as_mut()).await {
                Either::Left((code, _)) => code,
                Either::Right(((), mut exited)) => return exited.try_recv().unwrap_or(LOST),
            };
            drop(lent);
            if run.as_mut().now_or_never().is_none() {
                let jobs = async move {
                    match over {
                        Some(over) => drop(tokio::time::timeout_at(over, run).await),
                        None => run.await,
                    }
                };
                // Without a session there is nobody for whom they could go on.
                self.left().as_mut().map(|left| left.spawn(jobs));
            }
            code.unwrap_or(LOST)
        })
    }

    fn end_jobs(&self) -> BoxFuture<'_, ()> {
        let jobs = self.left().as_mut().map(std::mem::take);
        Box::pin(async {
            if let Some(mut jobs) = jobs {
                jobs.shutdown().await;
            }
        })
    }
}

/// Permit of a guest that waits for its script. One interpreter of the script at a time uses it, until the guest goes
/// on; then one that still uses it needs a permit of its own, and runs without one for [`NO_SLOT`] at most.
#[derive(Clone)]
struct Loan {
    free: Arc<Semaphore>,
    over: CancellationToken,
}

impl Default for Loan {
    fn default() -> Self {
        Self { free: Arc::new(Semaphore::new(1)), over: CancellationToken::new() }
    }
}

impl Loan {
    fn take(&self) -> Option<Borrowed> {
        let permit = Arc::clone(&self.free).try_acquire_owned().ok().filter(|_| !self.over.is_cancelled())?;
        Some(Borrowed { over: self.over.clone(), _permit: permit })
    }
}

/// The permit of a [`Loan`], in use.
struct Borrowed {
    over: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

/// Permit of the front process for an interpreter.
enum FrontPermit {
    Borrowed(Borrowed),
    Own { _permit: Admitted },
}

/// Permits for one interpreter. That of the front process is given back first: it counts those of a session.
struct Permits {
    front: FrontPermit,
    _session: OwnedSemaphorePermit,
    _worker: OwnedSemaphorePermit,
}

/// A session as the shell has it.
struct Sandboxed {
    session_context: SessionContext,
    worker: Commands,
    source: CommandSource,
    /// Permit of the guest that waits for the script; none where a client has started it.
    loan: Option<Loan>,
    processes: Arc<Processes>,
    limits: CellLimits,
    /// Fuel of the script's interpreters so far.
    spent: Arc<AtomicU64>,
}

impl Sandboxed {
    /// Acquires permits for one interpreter: of the session first, so that one session keeps no other waiting, and of
    /// the worker last, so that a key without permits keeps no other key waiting.
    async fn acquire_interpreter(&self) -> Option<Permits> {
        let permits = async {
            let session = Arc::clone(self.session_context.command_permits()).acquire_owned().await.ok()?;
            let front = match self.loan.as_ref().and_then(Loan::take) {
                Some(borrowed) => FrontPermit::Borrowed(borrowed),
                None => FrontPermit::Own { _permit: self.admit().await? },
            };
            let worker = Arc::clone(&self.worker.free).acquire_owned().await.ok()?;
            Some(Permits { front, _session: session, _worker: worker })
        };
        timeout(NO_SLOT, permits).await.ok().flatten()
    }

    async fn admit(&self) -> Option<Admitted> {
        self.worker.admission.acquire(self.source).await
    }

    /// Runs an interpreter with its permits: its result, or none where it has lost the permit that it had borrowed and
    /// finds no other in time.
    async fn with_permits<T>(&self, mut permits: Permits, run: impl Future<Output = T>) -> Option<T> {
        let mut run = pin!(run);
        if let FrontPermit::Borrowed(Borrowed { over, .. }) = &permits.front {
            tokio::select! {
                biased;
                result = &mut run => return Some(result),
                () = over.cancelled() => {}
            }
            tokio::select! {
                biased;
                result = &mut run => return Some(result),
                permit = timeout(NO_SLOT, self.admit()) => {
                    permits.front = FrontPermit::Own { _permit: permit.ok().flatten()? };
                }
            }
        }
        Some(run.await)
    }
}

impl Host for Sandboxed {
    fn tree(&self) -> &SharedTree {
        self.session_context.tree()
    }

    fn processes(&self) -> &Arc<Processes> {
        &self.processes
    }

    fn now(&self) -> u64 {
        now()
    }

    fn python(&self, start: PythonStart) -> BoxFuture<'_, i32> {
        Box::pin(async move {
            let PythonStart { args, env, cwd, credentials, stdin, stdout, stderr } = start;
            let Some(permits) = self.acquire_interpreter().await else {
                let _ = stderr.write_all(b"bash: fork: retry: Resource temporarily unavailable\n").await;
                return 254;
            };
            let said = stderr.clone();
            let pipes = Pipes {
                stdin: Box::new(ProgramInput(stdin)),
                stdout: Arc::new(ProgramOutput(stdout)),
                stderr: Arc::new(ProgramOutput(stderr)),
            };
            let program = Program { args, env, cwd, credentials, pipes };
            let run = self.session_context.python(program, &self.limits, &self.spent);
            match self.with_permits(permits, run).await {
                Some(Ok(code)) => code,
                None => {
                    let _ = said.write_all(b"python3: stopped: no permit of the key is free\n").await;
                    KILLED
                }
                Some(Err(error)) => {
                    tracing::warn!(%error, "a command had no interpreter");
                    let _ = said.write_all(b"python3: cannot start: Resource temporarily unavailable\n").await;
                    126
                }
            }
        })
    }
}

/// A reader of the shell's, as a program's input.
struct ProgramInput(Reader);

impl Input for ProgramInput {
    fn read<'a>(&'a mut self, out: &'a mut [u8]) -> BoxFuture<'a, usize> {
        Box::pin(self.0.read(out))
    }
}

/// A writer of the shell's, as a program's output.
struct ProgramOutput(Writer);

impl OutputSink for ProgramOutput {
    fn write<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, bool> {
        Box::pin(async move { self.0.write_all(bytes).await.is_ok() })
    }
}
