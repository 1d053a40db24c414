//! Scripts for the shell of a session, and their listeners. A command goes on when nobody listens; it ends with its
//! session.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use super::{Session, SessionError};
use crate::sandbox::{RequestError, SessionEvent};
use crate::service::{ExecuteError, Service};
use crate::telemetry;
use proofbox_memory::{Account, Next, Piece, Receiver, Sender, queue};
use proofbox_types::ids::SessionId;
use proofbox_types::session::{CellLimits, Command};

/// Number of a command in its session.
pub type CommandNumber = u32;

/// Commands that one session may run at once.
const MAX_COMMANDS: usize = 32;
/// The number of a session's first command.
const FIRST_NUMBER: CommandNumber = 1000;

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
    /// Exit code, as a shell would see it.
    Exited(i32),
    /// End by a kill, from a client or with the session.
    Killed,
    /// Failure, with its message: the command could not go on.
    Failed(String),
}

/// A command of a session.
#[derive(Debug)]
pub struct RunningCommand {
    number: CommandNumber,
    command: Command,
    tag: Option<String>,
    heard: Mutex<Heard>,
    killed: CancellationToken,
    /// Budget for what listeners have not read yet.
    unread: Account,
}

#[derive(Debug, Default)]
struct Heard {
    listeners: Vec<Sender<CommandEvent>>,
    end: Option<CommandEnd>,
}

impl RunningCommand {
    /// A command that is about to begin.
    pub fn new(number: CommandNumber, command: Command, tag: Option<String>, unread: Account) -> Self {
        Self { number, command, tag, heard: Mutex::default(), killed: CancellationToken::new(), unread }
    }

    /// Returns the command's number in its session.
    pub fn number(&self) -> CommandNumber {
        self.number
    }

    /// Returns the command that was started.
    pub fn command(&self) -> &Command {
        &self.command
    }

    /// The name that a client gave it.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Subscribes to the events from now on; of a command that has ended, to its end. Unread events are bounded by the
    /// output that the command may write, and by what all clients of its key may leave unread.
    pub fn listen(&self) -> CommandEvents {
        let (sender, events) = queue(self.unread.lease());
        let mut heard = self.heard();
        match &heard.end {
            Some(end) => {
                sender.send(CommandEvent::Ended(end.clone()));
            }
            None => heard.listeners.push(sender),
        }
        events
    }

    /// Sends an event to the listeners. Events after the command's end are dropped.
    pub fn tell(&self, event: CommandEvent) {
        let mut heard = self.heard();
        if heard.end.is_some() {
            return;
        }
        heard.listeners.retain(|listener| listener.send(event.clone()));
        if let CommandEvent::Ended(end) = event {
            heard.listeners.clear();
            heard.end = Some(end);
        }
    }
}

/// Line that stands in the output of a command for what was left out.
pub fn overflow_note(bytes: u64) -> String {
    format!("\n[{bytes} bytes of output are left out: they were read too slowly]\n")
}

/// The commands of a session that run now.
#[derive(Default)]
pub(super) struct Commands {
    running: Mutex<BTreeMap<CommandNumber, Arc<RunningCommand>>>,
    last: AtomicU32,
}

impl Commands {
    /// Returns the next number. Like process ids, numbers begin above those of a system's own.
    fn number(&self) -> CommandNumber {
        FIRST_NUMBER + self.last.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns whether any command runs.
    pub(super) fn any(&self) -> bool {
        !self.all().is_empty()
    }

    /// Kills all commands.
    pub(super) fn kill_all(&self) {
        for command in self.all().values() {
            command.killed.cancel();
        }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<CommandNumber, Arc<RunningCommand>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service {
    /// Starts a command, whose events are received from its first byte. The command goes on when nobody listens.
    ///
    /// # Errors
    /// Returns an error when it could not start; see [`SessionError`].
    pub async fn run_command(
        self: &Arc<Self>,
        id: SessionId,
        command: Command,
        limits: CellLimits,
        tag: Option<String>,
    ) -> Result<(Arc<RunningCommand>, CommandEvents), SessionError> {
        let session = self.sessions.get(id)?;
        let caller = self.keys.caller_of(session.owner).ok_or(SessionError::KeyRevoked)?;
        self.has_fuel(&caller).map_err(ExecuteError::from)?;
        // Before anything is told: a session that is paused or lost has no commands.
        drop(self.enter(&session).await?);
        let running = {
            let mut all = session.commands.all();
            if all.len() >= MAX_COMMANDS {
                let what = format!("a session runs at most {MAX_COMMANDS} commands at once");
                return Err(SessionError::Refused(RequestError::TooMany(what)));
            }
            let number = session.commands.number();
            let running =
                Arc::new(RunningCommand::new(number, command.clone(), tag, self.unread.account(session.owner)));
            all.insert(number, Arc::clone(&running));
            running
        };
        let events = running.listen();
        tokio::spawn({
            let (service, running) = (Arc::clone(self), Arc::clone(&running));
            telemetry::carry(async move {
                let end = service.carry_out(&session, &running, command, limits).await;
                session.commands.all().remove(&running.number);
                session.used();
                running.tell(CommandEvent::Ended(end));
            })
        });
        Ok((running, events))
    }

    async fn carry_out(
        &self,
        session: &Arc<Session>,
        running: &RunningCommand,
        command: Command,
        limits: CellLimits,
    ) -> CommandEnd {
        // While it runs the session is busy: its idle time does not count, and nobody moves it.
        let in_use = match self.enter(session).await {
            Ok(in_use) => in_use,
            Err(error) => return CommandEnd::Failed(error.to_string()),
        };
        let (sender, mut told) = queue(self.unread.account(session.owner).lease());
        let run = self.sandbox.run_command(in_use.handle, running.number, command, limits, sender);
        let mut run = std::pin::pin!(run);
        let pass_on = |next| match next {
            Next::Piece(SessionEvent::Stdout(bytes)) => running.tell(CommandEvent::Stdout(bytes.into())),
            Next::Piece(SessionEvent::Stderr(bytes)) => running.tell(CommandEvent::Stderr(bytes.into())),
            Next::Piece(_) => {}
            Next::Overflow(bytes) => running.tell(CommandEvent::Stderr(overflow_note(bytes).into())),
        };
        let answer = loop {
            tokio::select! {
                biased;
                () = running.killed.cancelled() => return CommandEnd::Killed,
                Some(event) = told.recv() => pass_on(event),
                answer = &mut run => break answer,
            }
        };
        while let Some(event) = told.try_recv() {
            pass_on(event);
        }
        self.measure_in_use(&in_use).await;
        match self.check_lost(&in_use, answer) {
            Ok((code, fuel)) => {
                self.keys.use_fuel(session.owner, fuel);
                self.metrics.fuel.inc_by(fuel);
                CommandEnd::Exited(code)
            }
            Err(error) => CommandEnd::Failed(error.to_string()),
        }
    }

    /// The commands of a session that run now.
    ///
    /// # Errors
    /// Returns an error when there is no such session.
    pub fn commands(&self, id: SessionId) -> Result<Vec<Arc<RunningCommand>>, SessionError> {
        Ok(self.sessions.get(id)?.commands.all().values().cloned().collect())
    }

    /// Returns a running command of a session.
    ///
    /// # Errors
    /// Returns an error when there is no such session, or it runs no such command.
    pub fn command(&self, id: SessionId, number: CommandNumber) -> Result<Arc<RunningCommand>, SessionError> {
        let session = self.sessions.get(id)?;
        let command = session.commands.all().get(&number).cloned();
        command.ok_or(SessionError::Refused(RequestError::NoCommand(number)))
    }

    /// Input for a command; none: there will be no more.
    ///
    /// # Errors
    /// Returns an error when there is no such session or command, or it takes none.
    pub async fn command_input(
        &self,
        id: SessionId,
        number: CommandNumber,
        input: Option<Bytes>,
    ) -> Result<(), SessionError> {
        self.command(id, number)?;
        let session = self.sessions.get(id)?;
        let in_use = self.enter(&session).await?;
        let answer = self.sandbox.command_input(in_use.handle, number, input.map(|input| input.to_vec())).await;
        self.check_lost(&in_use, answer)
    }

    /// Ends a command, whatever it does.
    ///
    /// # Errors
    /// Returns an error when there is no such session or command.
    pub fn kill_command(&self, id: SessionId, number: CommandNumber) -> Result<(), SessionError> {
        self.command(id, number)?.killed.cancel();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofbox_memory::Budget;

    #[test]
    fn who_listens_hears_what_happens_from_then_on_and_always_the_end() {
        let command = RunningCommand::new(1, Command::default(), None, Budget::new(0).account(None));
        let mut first = command.listen();
        command.tell(CommandEvent::Stdout(Bytes::from_static(b"a")));
        let mut second = command.listen();
        command.tell(CommandEvent::Ended(CommandEnd::Exited(3)));
        command.tell(CommandEvent::Stdout(Bytes::from_static(b"b")));
        let mut late = command.listen();
        let all = |events: &mut CommandEvents| std::iter::from_fn(|| events.try_recv()).collect::<Vec<_>>();
        let end = Next::Piece(CommandEvent::Ended(CommandEnd::Exited(3)));
        assert_eq!(all(&mut first), [Next::Piece(CommandEvent::Stdout(Bytes::from_static(b"a"))), end.clone()]);
        assert_eq!(all(&mut second), std::slice::from_ref(&end));
        assert_eq!(all(&mut late), [end]);
    }
}
