//! Scripts for the shell of a session, and who listens to them. A command goes on when nobody listens; it ends with its
//! session.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::SessionError;
use crate::domain::ids::SessionId;
use crate::domain::session::Command;
use crate::sandbox::AskError;
use crate::service::Service;

/// Names a command among those of its session.
pub type CommandNumber = u32;

/// What happens while a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEvent {
    /// It wrote to standard output.
    Stdout(Bytes),
    /// It wrote to standard error.
    Stderr(Bytes),
    /// It has ended; nothing follows.
    Ended(CommandEnd),
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// By itself: the code that a shell would see.
    Exited(i32),
    /// Somebody killed it.
    Killed,
    /// It could not go on.
    Failed(String),
}

/// A command of a session.
#[derive(Debug)]
pub struct RunningCommand {
    number: CommandNumber,
    command: Command,
    tag: Option<String>,
    heard: Mutex<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    listeners: Vec<UnboundedSender<CommandEvent>>,
    end: Option<CommandEnd>,
}

impl RunningCommand {
    /// A command that is about to begin.
    pub fn new(number: CommandNumber, command: Command, tag: Option<String>) -> Self {
        Self { number, command, tag, heard: Mutex::default() }
    }

    /// Its name.
    pub fn number(&self) -> CommandNumber {
        self.number
    }

    /// What it is.
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

    /// What happens from now on; of a command that has ended, that it has. What is not read yet is bounded by the output
    /// that the command may write.
    pub fn listen(&self) -> UnboundedReceiver<CommandEvent> {
        let (sender, events) = unbounded_channel();
        let mut heard = self.heard();
        match &heard.end {
            Some(end) => drop(sender.send(CommandEvent::Ended(end.clone()))),
            None => heard.listeners.push(sender),
        }
        events
    }

    /// Tells those who listen. What follows its end is not told.
    pub fn tell(&self, event: CommandEvent) {
        let mut heard = self.heard();
        if heard.end.is_some() {
            return;
        }
        heard.listeners.retain(|listener| listener.send(event.clone()).is_ok());
        if let CommandEvent::Ended(end) = event {
            heard.listeners.clear();
            heard.end = Some(end);
        }
    }
}

/// The commands of a session that run now.
#[derive(Default)]
pub(super) struct Commands(Mutex<BTreeMap<CommandNumber, Arc<RunningCommand>>>);

impl Commands {
    fn all(&self) -> MutexGuard<'_, BTreeMap<CommandNumber, Arc<RunningCommand>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service {
    /// Begins a command; what it does is heard from its first byte.
    ///
    /// # Errors
    /// When it could not begin; see [`SessionError`].
    #[expect(clippy::unused_async, reason = "it asks a worker")]
    pub async fn run_command(
        &self,
        id: SessionId,
        _command: Command,
        _tag: Option<String>,
    ) -> Result<(Arc<RunningCommand>, UnboundedReceiver<CommandEvent>), SessionError> {
        self.sessions.get(id)?;
        Err(SessionError::NotYet("commands"))
    }

    /// The commands of a session that run now.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn commands(&self, id: SessionId) -> Result<Vec<Arc<RunningCommand>>, SessionError> {
        Ok(self.sessions.get(id)?.commands.all().values().cloned().collect())
    }

    /// One of them.
    ///
    /// # Errors
    /// When there is no such session, or it runs no such command.
    pub fn command(&self, id: SessionId, number: CommandNumber) -> Result<Arc<RunningCommand>, SessionError> {
        let session = self.sessions.get(id)?;
        let command = session.commands.all().get(&number).cloned();
        command.ok_or(SessionError::Refused(AskError::NoCommand(number)))
    }

    /// Input for a command; none: there will be no more.
    ///
    /// # Errors
    /// When there is no such session or command, or it takes none.
    #[expect(clippy::unused_async, reason = "it asks a worker")]
    pub async fn command_input(
        &self,
        id: SessionId,
        number: CommandNumber,
        _input: Option<Bytes>,
    ) -> Result<(), SessionError> {
        self.command(id, number)?;
        Err(SessionError::NotYet("commands"))
    }

    /// Ends a command, whatever it does.
    ///
    /// # Errors
    /// When there is no such session or command.
    #[expect(clippy::unused_async, reason = "it asks a worker")]
    pub async fn kill_command(&self, id: SessionId, number: CommandNumber) -> Result<(), SessionError> {
        self.command(id, number)?;
        Err(SessionError::NotYet("commands"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_hears_what_happens_from_then_on_and_always_the_end() {
        let command = RunningCommand::new(1, Command::default(), None);
        let mut first = command.listen();
        command.tell(CommandEvent::Stdout(Bytes::from_static(b"a")));
        let mut second = command.listen();
        command.tell(CommandEvent::Ended(CommandEnd::Exited(3)));
        command.tell(CommandEvent::Stdout(Bytes::from_static(b"b")));
        let mut late = command.listen();
        let all = |events: &mut UnboundedReceiver<CommandEvent>| {
            std::iter::from_fn(|| events.try_recv().ok()).collect::<Vec<_>>()
        };
        let end = CommandEvent::Ended(CommandEnd::Exited(3));
        assert_eq!(all(&mut first), [CommandEvent::Stdout(Bytes::from_static(b"a")), end.clone()]);
        assert_eq!(all(&mut second), [end.clone()]);
        assert_eq!(all(&mut late), [end]);
    }
}
