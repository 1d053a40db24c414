//! The sessions of one worker, and what is asked of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::ask::{Answer, Ask, AskError, AskEvent, SessionNumber};
use super::commands::Commands;
use proofbox_runtime::Interpreters;
use proofbox_runtime::session::{Commander, Noticed, Session, SessionError, Sink, file_refused};
use proofbox_types::grant::Limits;
use proofbox_types::session::Change;

/// Takes what happens while something is done.
pub type Events = Arc<dyn Fn(AskEvent) + Send + Sync>;

/// Events that the front process has room for.
pub type Room = Arc<Semaphore>;

/// Listener to what happens while something is done.
pub struct Listener {
    /// Function that takes each event.
    pub events: Events,
    /// Room for changes of files, which nothing else bounds. Output is bounded by the limits of its call.
    pub room: Room,
}

/// Maximum number of changes in one event.
const CHANGES_AT_ONCE: usize = 256;
/// Bytes of their paths, at least one of them whole.
const CHANGES_BYTES: usize = 64 << 10;

/// The sessions of one worker.
#[derive(Clone)]
pub struct Sessions {
    interpreters: Arc<Interpreters>,
    commands: Commands,
    all: Arc<Mutex<HashMap<SessionNumber, Arc<Session>>>>,
}

impl Sessions {
    /// Makes an empty set of sessions.
    pub fn new(interpreters: Arc<Interpreters>) -> Self {
        Self { interpreters, commands: Commands::new(), all: Arc::default() }
    }

    /// Returns the runner of commands that calls start.
    fn commander(&self) -> Arc<dyn Commander> {
        Arc::new(self.commands.clone())
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<SessionNumber, Arc<Session>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, number: SessionNumber) -> Result<Arc<Session>, AskError> {
        self.all().get(&number).cloned().ok_or(AskError::NoSession)
    }

    /// Does what is asked. What must not be dropped half way ends early when it is `cancelled`; all else may be
    /// dropped.
    pub async fn answer(
        &self,
        number: SessionNumber,
        ask: Ask,
        listener: Listener,
        cancelled: CancellationToken,
    ) -> Result<Answer, AskError> {
        let Listener { events, room } = listener;
        match ask {
            Ask::Open(opening) => {
                let session = Session::open(Arc::clone(&self.interpreters), self.commander(), *opening)?;
                self.all().insert(number, Arc::new(session));
                Ok(Answer::Done)
            }
            Ask::Load { bytes, image, limits } => {
                let session = self.loaded(bytes, image, limits).await?;
                let footprint = session.footprint();
                let replaced = self.all().insert(number, Arc::new(session));
                if let Some(replaced) = replaced {
                    replaced.close();
                }
                Ok(Answer::Footprint(footprint))
            }
            Ask::Close => {
                let closed = self.all().remove(&number).ok_or(AskError::NoSession)?;
                closed.close();
                Ok(Answer::Done)
            }
            Ask::Call { context, cell, limits } => {
                let session = self.get(number)?;
                let sink = cell.stream.then(|| Arc::new(move |event| events(AskEvent::Cell(event))) as Sink);
                let mut outcome = session.call(context, &cell, &limits, sink, &cancelled).await?;
                outcome.outcome.usage.fuel += session.premises().take_command_fuel();
                Ok(Answer::Called(Box::new(outcome), session.footprint()))
            }
            Ask::Interrupt { context } => Ok(Answer::Interrupted(self.get(number)?.interrupt(context)?)),
            Ask::AddContext { context, cwd } => {
                self.get(number)?.add_context(context, cwd)?;
                Ok(Answer::Done)
            }
            Ask::RemoveContext { context } => {
                self.get(number)?.remove_context(context)?;
                Ok(Answer::Done)
            }
            Ask::Contexts => Ok(Answer::Contexts(self.get(number)?.list_contexts())),
            Ask::Restart { context } => {
                self.get(number)?.restart(context).await?;
                Ok(Answer::Done)
            }
            Ask::Files(ask) => Ok(Answer::File(self.get(number)?.files(ask)?)),
            Ask::Save => Ok(Answer::Saved(self.get(number)?.save().await?)),
            Ask::Fork { into } => self.fork(number, into).await,
            Ask::Run { number: command_number, command, limits } => {
                let premises = self.get(number)?.premises().clone();
                let name = (number, command_number);
                let run = self.commands.run_as(name, premises.clone(), *command, limits, events);
                tokio::select! {
                    code = run => Ok(Answer::Exited { code, fuel: premises.take_command_fuel() }),
                    () = cancelled.cancelled() => Err(AskError::Cancelled),
                }
            }
            Ask::Input { number: command_number, bytes } => {
                self.commands.input((number, command_number), bytes).await?;
                Ok(Answer::Done)
            }
            Ask::Watch { path, recursive } => {
                let mut watch = self.get(number)?.watch(&path, recursive)?;
                events(AskEvent::Watching);
                let tell = async {
                    while let Some(Noticed { changes, overflowed }) = watch.next().await {
                        for piece in pieces(changes) {
                            let Ok(permit) = room.acquire().await else { return };
                            permit.forget();
                            events(AskEvent::Changes(piece));
                        }
                        if overflowed {
                            let Ok(permit) = room.acquire().await else { return };
                            permit.forget();
                            events(AskEvent::ChangesMissed);
                        }
                    }
                };
                tokio::select! {
                    () = tell => Ok(Answer::Done),
                    () = cancelled.cancelled() => Err(AskError::Cancelled),
                }
            }
            Ask::Footprint => Ok(Answer::Footprint(self.get(number)?.footprint())),
        }
    }

    async fn loaded(&self, bytes: Vec<u8>, image: Option<String>, limits: Limits) -> Result<Session, AskError> {
        Ok(Session::load(Arc::clone(&self.interpreters), self.commander(), bytes, image.as_deref(), limits).await?)
    }

    /// Makes all copies of a session, or none.
    async fn fork(&self, number: SessionNumber, into: Vec<SessionNumber>) -> Result<Answer, AskError> {
        let original = self.get(number)?;
        let mut forks = Vec::with_capacity(into.len());
        for number in into {
            forks.push((number, Arc::new(original.fork().await?)));
        }
        let footprint = forks.first().map(|(_, fork)| fork.footprint()).unwrap_or_default();
        self.all().extend(forks);
        Ok(Answer::Footprint(footprint))
    }
}

/// Splits changes into pieces that fit one event.
fn pieces(changes: Vec<Change>) -> Vec<Vec<Change>> {
    let (mut pieces, mut piece, mut bytes) = (Vec::new(), Vec::new(), 0);
    for change in changes {
        bytes += change.path.len();
        if !piece.is_empty() && (piece.len() == CHANGES_AT_ONCE || bytes > CHANGES_BYTES) {
            bytes = change.path.len();
            pieces.push(std::mem::take(&mut piece));
        }
        piece.push(change);
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

impl From<SessionError> for AskError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::NoContext(number) => Self::NoContext(number),
            SessionError::TooMany(what) => Self::TooMany(what),
            SessionError::Files(error) => Self::File(file_refused(&error)),
            SessionError::Checkpoint(error) => Self::Checkpoint(error.to_string()),
            SessionError::Run(error) => Self::NoRoom(error.to_string()),
            SessionError::Cancelled => Self::Cancelled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofbox_types::session::ChangeKind;

    #[test]
    fn changes_are_told_in_pieces_that_are_bounded() {
        let changes = |count: usize, length: usize| {
            let change = Change { kind: ChangeKind::Write, path: "x".repeat(length) };
            pieces(vec![change; count]).iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!(changes(0, 1), [0; 0]);
        assert_eq!(changes(CHANGES_AT_ONCE + 1, 1), [CHANGES_AT_ONCE, 1]);
        assert_eq!(changes(3, CHANGES_BYTES / 2), [2, 1]);
        assert_eq!(changes(2, 2 * CHANGES_BYTES), [1, 1]);
    }
}
