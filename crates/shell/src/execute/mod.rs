//! Running what has been parsed.

mod assign;
mod compound;
mod conditional;
mod executor;
mod jobs;
mod redirect;
mod simple;
mod substitute;
mod turn;

pub(crate) use conditional::Operands;
pub(crate) use jobs::Waited;
pub(crate) use redirect::WriteAt;
pub(crate) use turn::Turn;

use super::bounds::{MAX_LEVELS, STEPS_OF_SUBSHELL, Use};
use super::processes::{KILL, Start, bit};
use super::state::{BROKEN_PIPE, Done, Shared, Shell, Stop, Streams};
use super::streams::{Reader, Writer, pipe};
use super::syntax::{Chain, Command, Kind, List, ListOp, Parser, Pipeline, SyntaxError};
use super::terminal::{Terminal, TerminalSize, interact};
use super::{Host, PIPE_BYTES, Script};
use executor::Paced;
use futures_util::future::{BoxFuture, join_all};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

pub(super) use conditional::{Comparison, file_test};

/// Runs a script; see [`run_with_jobs`](super::run_with_jobs).
pub(super) async fn run(
    host: &dyn Host,
    mut script: Script,
    size: Option<TerminalSize>,
    on_exit: impl FnOnce(i32) + Send,
) -> i32 {
    let (beside, asked) = tokio::sync::mpsc::unbounded_channel();
    let now = host.now();
    let processes = host.processes();
    let command = format!("bash -c {}", script.text);
    let start = Start { number: script.number, parent: None, command: &command, now };
    let Some(entry) = processes.start(start) else {
        // There is nobody else to tell.
        let _ = script.stderr.write_all(format!("bash: {NO_PROCESS}\n").as_bytes()).await;
        drop(script);
        on_exit(NO_PROCESS_CODE);
        return NO_PROCESS_CODE;
    };
    let time = Arc::new(AtomicU64::new(now));
    let turn = Turn::new();
    let terminal = size.map(|size| Terminal::new(size, script.stdout.clone()));
    let mut keys = Reader::empty();
    if let Some(terminal) = &terminal {
        keys = std::mem::replace(&mut script.stdin, Reader::terminal(Arc::clone(terminal)));
        script.stdout = Writer::terminal(Arc::clone(terminal));
        script.stderr = script.stdout.clone();
    }
    let shared = Arc::new(Shared {
        terminal: terminal.clone(),
        used: Use::new(processes.used()),
        processes: Arc::clone(processes),
        beside,
        next_file: AtomicU32::new(1),
        random: Arc::new(AtomicU64::new(now)),
        job_ended: tokio::sync::Notify::new(),
        started: now,
        time: Arc::clone(&time),
        turn: Arc::clone(&turn),
    });
    let text = std::mem::take(&mut script.text);
    let outputs = [script.stdout.observe(), script.stderr.observe()];
    let mut shell = Shell::new(shared, host.tree(), Arc::clone(&entry.process), script);
    let main = async move {
        if let Some(terminal) = &terminal {
            let listen = async {
                terminal.listen(keys).await;
                std::future::pending().await
            };
            return tokio::select! {
                code = interact(&mut shell, terminal) => code,
                never = listen => never,
            };
        }
        let done = shell.run_process(&text, "-c").await;
        drop(entry);
        shell.code_of(done)
    };
    executor::drive(host, time, turn, main, asked, outputs, on_exit).await
}

/// Message for a process that can't be started, and the exit code then.
pub(crate) const NO_PROCESS: &str = "fork: retry: Resource temporarily unavailable";
pub(crate) const NO_PROCESS_CODE: i32 = 254;

/// Position of a pipeline among those that `&&` and `||` join.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InChain {
    /// Pipeline whose status decides about the next one.
    Earlier,
    /// Last pipeline of the chain.
    Last,
}

impl InChain {
    fn of(index: usize, last: usize) -> Self {
        if index == last { Self::Last } else { Self::Earlier }
    }
}

impl Shell {
    /// The exit code of a shell that has come to its end.
    pub(super) fn code_of(&self, done: Done) -> i32 {
        match done {
            Ok(code) | Err(Stop::Exit(code) | Stop::Return(code) | Stop::Failed(code)) => code & 255,
            Err(Stop::Break(_) | Stop::Continue(_)) => 0,
            Err(Stop::Spent) => 137,
            Err(Stop::Broken) => BROKEN_PIPE,
        }
    }

    /// Runs a text as the process that this shell is: to its end, or to that by a signal.
    pub(super) fn run_process<'a>(&'a mut self, text: &'a str, from: &'a str) -> BoxFuture<'a, Done> {
        Box::pin(async move {
            let process = Arc::clone(&self.process);
            let level = self.level;
            let done = match process.signals.over(self.run_text(text, from)).await {
                Ok(Err(Stop::Spent)) => return Err(Stop::Spent),
                Ok(done) => done,
                Err(KILL) => return Ok(128 + KILL),
                Err(signal) => {
                    // As they are between commands, whichever it was in.
                    self.unwind_streams(0);
                    self.level = level;
                    Err(Stop::Exit(128 + signal))
                }
            };
            let ended = process.signals.over(self.ended(done)).await;
            Ok(ended.unwrap_or_else(|signal| 128 + signal))
        })
    }

    /// Tells the process which signals have handlers here; returns the set of those that are ignored.
    pub(super) fn catch_signals(&self) -> u32 {
        let (mut caught, mut ignored) = (0, 0);
        for (signal, action) in self.traps.iter() {
            caught |= bit(*signal);
            if action.is_empty() {
                ignored |= bit(*signal);
            }
        }
        self.process.signals.catch(caught, ignored);
        ignored
    }

    /// Puts the streams back that were there when so many were saved, whatever was dropped within.
    pub(super) fn unwind_streams(&mut self, depth: usize) {
        self.saved.truncate(depth + 1);
        if self.saved.len() > depth
            && let Some(before) = self.saved.pop()
        {
            self.streams = before;
        }
    }

    /// Runs the handlers of signals that have arrived.
    async fn run_traps(&mut self) -> Result<(), Stop> {
        let process = Arc::clone(&self.process);
        while let Some(signal) = process.signals.take_pending() {
            let Some(action) = self.traps.get(&signal).cloned() else { continue };
            let status = self.status;
            self.step(STEPS_OF_SUBSHELL).await?;
            self.deeper().await?;
            self.in_trap = true;
            let done = self.run_text(&action, "trap").await;
            self.in_trap = false;
            self.level -= 1;
            done?;
            self.status = status;
        }
        Ok(())
    }

    /// The exit code of a shell that has come to its end, after what it left to do then.
    pub(super) async fn ended(&mut self, done: Done) -> i32 {
        let code = self.code_of(done);
        let Some(action) = self.at_exit.take() else { return code };
        self.status = code;
        match self.run_text(&action, "exit trap").await {
            Err(Stop::Exit(code)) => code,
            Ok(_) | Err(_) => code,
        }
    }

    /// Runs a text, a line at a time. `from`: what bash calls it when it can't be read.
    pub(super) fn run_text<'a>(&'a mut self, text: &'a str, from: &'a str) -> BoxFuture<'a, Done> {
        Box::pin(async move {
            let mut parser = match Parser::new(text) {
                Ok(parser) => parser,
                Err(error) => return self.tell(error, from).await,
            };
            let mut status = 0;
            let mut weight = 0;
            let before = self.tree_held.take();
            loop {
                let list = match parser.next_line() {
                    Ok(Some(list)) => list,
                    Ok(None) => break,
                    Err(error) => {
                        status = self.tell(error, from).await?;
                        break;
                    }
                };
                let Some(held) = self.shared.used.hold(parser.weight() - weight) else {
                    return Err(self.too_large("script").await);
                };
                weight = parser.weight();
                self.tree_held = Some(Arc::new(held));
                status = self.run_list(&list).await?;
            }
            self.tree_held = before;
            Ok(status)
        })
    }

    async fn tell(&mut self, error: SyntaxError, from: &str) -> Done {
        let SyntaxError { line, message, shown } = error;
        let mut text = format!("bash: {from}: line {line}: {message}\n");
        if let Some(shown) = shown {
            text.push_str(&format!("bash: {from}: line {line}: `{shown}'\n"));
        }
        // There is nobody else to tell.
        let _ = self.streams.stderr.write(text.as_bytes()).await;
        self.status = 2;
        Ok(2)
    }

    /// A copy for a subshell; none deeper than the stack allows.
    pub(super) async fn subshell(&self) -> Result<Shell, Stop> {
        self.step(STEPS_OF_SUBSHELL).await?;
        let mut shell = self.clone();
        shell.level += 1;
        shell.loops = 0;
        shell.in_subshell = true;
        shell.own_jobs = Arc::default();
        shell.at_exit = None;
        if !shell.traps.is_empty() {
            // What is ignored stays so.
            Arc::make_mut(&mut shell.traps).retain(|_, action| action.is_empty());
        }
        shell.in_trap = false;
        shell.saved = Vec::new();
        shell.owns_process = false;
        shell.becomes_next = false;
        shell.leads_group = false;
        shell.ends_with_next = false;
        match shell.level > MAX_LEVELS {
            true => {
                self.error("", "subshells are nested too deeply").await;
                Err(Stop::Exit(1))
            }
            false => Ok(shell),
        }
    }

    /// Runs commands one after the other.
    pub(super) fn run_list<'a>(&'a mut self, list: &'a List) -> BoxFuture<'a, Done> {
        Box::pin(async move {
            let mut status = 0;
            for item in list {
                self.step(1).await?;
                status = match item.background {
                    true => self.start_job(Arc::clone(&item.chain)).await?,
                    false => self.run_chain(&item.chain).await?,
                };
                self.status = status;
                if !self.traps.is_empty() && !self.in_trap && self.process.signals.is_pending() {
                    self.run_traps().await?;
                }
            }
            Ok(status)
        })
    }

    /// Runs a list like [`Shell::run_list`], where a failure does not end the script.
    pub(super) async fn run_condition(&mut self, list: &List) -> Done {
        self.unchecked += 1;
        let done = self.run_list(list).await;
        self.unchecked -= 1;
        done
    }

    pub(super) async fn run_chain(&mut self, chain: &Chain) -> Done {
        let last = chain.rest.len();
        let mut status = self.run_pipeline(&chain.first, InChain::of(0, last)).await?;
        for (at, (joint, pipeline)) in chain.rest.iter().enumerate() {
            self.status = status;
            let goes_on = match joint {
                ListOp::And => status == 0,
                ListOp::Or => status != 0,
            };
            if goes_on {
                status = self.run_pipeline(pipeline, InChain::of(at + 1, last)).await?;
            }
        }
        Ok(status)
    }

    async fn run_pipeline(&mut self, pipeline: &Pipeline, position: InChain) -> Done {
        let unchecked = pipeline.negated || position == InChain::Earlier;
        self.unchecked += usize::from(unchecked);
        let started = self.now();
        let done = match pipeline.commands.as_slice() {
            [command] => self.run_command(command).await,
            commands => self.run_piped(commands).await,
        };
        self.unchecked -= usize::from(unchecked);
        let status = done?;
        if pipeline.timed {
            let seconds = (self.now().saturating_sub(started)) as f64 / 1e9;
            let text = format!("\nreal\t0m{seconds:.3}s\nuser\t0m0.000s\nsys\t0m0.000s\n");
            self.write(&self.streams.stderr, "time", text.as_bytes()).await?;
        }
        self.status = status;
        let checked = match pipeline.commands.as_slice() {
            [command] => !matches!(
                command.kind,
                Kind::Group(_)
                    | Kind::If { .. }
                    | Kind::While { .. }
                    | Kind::For { .. }
                    | Kind::CountingFor { .. }
                    | Kind::Case { .. }
            ),
            _ => true,
        };
        if status != 0 && self.options.exit_on_error && self.unchecked == 0 && !unchecked && checked {
            return Err(Stop::Exit(status));
        }
        Ok(if pipeline.negated { i32::from(status == 0) } else { status })
    }

    /// Runs commands at once, each reading what the one before it writes.
    async fn run_piped(&mut self, commands: &[Command]) -> Done {
        let mut stages = Vec::with_capacity(commands.len());
        let mut input = None;
        for (at, command) in commands.iter().enumerate() {
            let Some(process) = self.shared.used.process() else {
                return Err(self.no_process().await);
            };
            let mut shell = self.subshell().await?;
            shell.ends_with_next = true;
            if let Some(input) = input.take() {
                shell.streams.stdin = input;
            }
            if at + 1 < commands.len() {
                let (writer, reader) = pipe(PIPE_BYTES);
                shell.streams.stdout = writer;
                input = Some(reader);
            }
            let stage = Box::pin(async move {
                let _process = process;
                let done = shell.run_command(command).await;
                match done {
                    Err(Stop::Spent) => Err(Stop::Spent),
                    done => Ok(shell.code_of(done)),
                }
            });
            stages.push(Paced::new(stage, Arc::clone(&self.shared.turn)));
        }
        if std::mem::take(&mut self.ends_with_next) {
            self.streams = Streams::closed();
        }
        let mut status = 0;
        for done in join_all(stages).await {
            let code = done?;
            if code != 0 || !self.options.pipe_fail {
                status = code;
            }
        }
        Ok(status)
    }

    /// Runs one command with its redirections; the files of its process substitutions are gone afterwards.
    pub(super) fn run_command<'a>(&'a mut self, command: &'a Command) -> BoxFuture<'a, Done> {
        let files = self.substituted_files.len();
        Box::pin(async move {
            let done = self.run_redirected(command).await;
            self.substituted_files.truncate(files);
            // An endless input ends when no steps are left, which its reader does not notice.
            if done.is_ok() {
                self.step(0).await?;
            }
            done
        })
    }

    fn run_redirected<'a>(&'a mut self, command: &'a Command) -> BoxFuture<'a, Done> {
        Box::pin(async move {
            self.line = command.line;
            if let Kind::Simple { assignments, words } = &command.kind {
                return self.run_simple(assignments, words, &command.redirections).await;
            }
            let ends = std::mem::take(&mut self.ends_with_next);
            if command.redirections.is_empty() {
                self.ends_with_next = ends && matches!(command.kind, Kind::Subshell(_));
                return self.run_compound(&command.kind).await;
            }
            let depth = self.saved.len();
            if !ends {
                self.saved.push(self.streams.clone());
            }
            let done = match self.redirect(&command.redirections).await {
                Ok(()) => {
                    self.ends_with_next = ends && matches!(command.kind, Kind::Subshell(_));
                    self.run_compound(&command.kind).await
                }
                Err(Stop::Failed(code)) => Ok(code),
                Err(stop) => Err(stop),
            };
            self.unwind_streams(depth);
            done
        })
    }
}
