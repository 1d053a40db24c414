//! Sessions: persistent interpreters and files in a worker.

use std::sync::atomic::Ordering;

use super::Sandbox;
use proofbox_memory::Sender;
use proofbox_types::grant::Limits;
use proofbox_types::session::{
    Cell, CellLimits, CellOutcome, Command, ContextNumber, FileAnswer, FileAsk, Footprint, Opening,
};
use proofbox_worker::ask::{Answer, Ask, CommandNumber, SessionNumber};
pub use proofbox_worker::ask::{AskError, AskEvent};
use proofbox_worker::{Asked, Home, WorkerError};

/// A session that lives in a worker. It ends with the worker, or by [`Sandbox::close`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kept {
    home: Home,
    number: SessionNumber,
}

/// Error of a request to a session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeptError {
    /// The session refused the request.
    #[error(transparent)]
    Refused(AskError),
    /// The worker that it lived in is gone, and it with it.
    #[error("the worker process of the session ended, and the session with it")]
    Lost,
    /// Failure of the sandbox itself.
    #[error("the sandbox failed: {0}")]
    Failed(WorkerError),
}

impl From<Asked> for KeptError {
    fn from(error: Asked) -> Self {
        match error {
            Asked::Refused(AskError::NoSession) | Asked::Worker(WorkerError::Lost | WorkerError::Blamed) => Self::Lost,
            Asked::Refused(AskError::Failed(reason)) => Self::Failed(WorkerError::Failed(reason)),
            Asked::Refused(refused) => Self::Refused(refused),
            Asked::Worker(error) => Self::Failed(error),
        }
    }
}

impl From<WorkerError> for KeptError {
    fn from(error: WorkerError) -> Self {
        Asked::Worker(error).into()
    }
}

impl Sandbox {
    fn number(&self) -> SessionNumber {
        self.next_session.fetch_add(1, Ordering::Relaxed)
    }

    /// A new session. Its interpreter is made at its first call.
    ///
    /// # Errors
    /// Returns an error when a file can't be put into it, or there is no worker.
    pub async fn open(&self, opening: Opening) -> Result<Kept, KeptError> {
        let kept = Kept { home: self.workers.place().await?, number: self.number() };
        self.ask(kept, Ask::Open(Box::new(opening)), None).await?;
        Ok(kept)
    }

    /// A session from a checkpoint; `image` is the hash of the image that it was made in, none for the default one.
    ///
    /// # Errors
    /// Returns an error when the checkpoint is damaged, or there is no room.
    pub async fn load(
        &self,
        bytes: Vec<u8>,
        image: Option<String>,
        limits: &Limits,
    ) -> Result<(Kept, Footprint), KeptError> {
        let kept = Kept { home: self.workers.place().await?, number: self.number() };
        let footprint = self.footprint_of(kept, Ask::Load { bytes, image, limits: *limits }).await?;
        Ok((kept, footprint))
    }

    /// Ends a session.
    ///
    /// # Errors
    /// Returns an error when it is gone already.
    pub async fn close(&self, kept: Kept) -> Result<(), KeptError> {
        self.ask(kept, Ask::Close, None).await.map(drop)
    }

    /// Carries out a call, after those that came before it. Dropping the future interrupts it.
    ///
    /// # Errors
    /// Returns an error when it could not be carried out; however it ends, that is a [`CellOutcome`].
    pub async fn call(
        &self,
        kept: Kept,
        context: ContextNumber,
        cell: Cell,
        limits: CellLimits,
        events: Option<Sender<AskEvent>>,
    ) -> Result<(CellOutcome, Footprint), KeptError> {
        match self.ask(kept, Ask::Call { context, cell: Box::new(cell), limits }, events).await? {
            Answer::Called(outcome, footprint) => Ok((*outcome, footprint)),
            _ => Err(strange()),
        }
    }

    /// Interrupts the call that a context serves; whether there was one.
    ///
    /// # Errors
    /// Returns an error when there is no such context.
    pub async fn interrupt(&self, kept: Kept, context: ContextNumber) -> Result<bool, KeptError> {
        match self.ask(kept, Ask::Interrupt { context }, None).await? {
            Answer::Interrupted(there_was) => Ok(there_was),
            _ => Err(strange()),
        }
    }

    /// Adds a context that starts in `cwd`.
    ///
    /// # Errors
    /// Returns an error when there are too many.
    pub async fn add_context(&self, kept: Kept, context: ContextNumber, cwd: Option<String>) -> Result<(), KeptError> {
        self.ask(kept, Ask::AddContext { context, cwd }, None).await.map(drop)
    }

    /// Removes a context from the session.
    ///
    /// # Errors
    /// Returns an error when there is no such context.
    pub async fn remove_context(&self, kept: Kept, context: ContextNumber) -> Result<(), KeptError> {
        self.ask(kept, Ask::RemoveContext { context }, None).await.map(drop)
    }

    /// Returns the session's contexts, each with its start directory where that is not the default.
    ///
    /// # Errors
    /// Returns an error when it is gone.
    pub async fn contexts(&self, kept: Kept) -> Result<Vec<(ContextNumber, Option<String>)>, KeptError> {
        match self.ask(kept, Ask::Contexts, None).await? {
            Answer::Contexts(contexts) => Ok(contexts),
            _ => Err(strange()),
        }
    }

    /// Gives a context a fresh interpreter; the files stay.
    ///
    /// # Errors
    /// Returns an error when there is no such context.
    pub async fn restart(&self, kept: Kept, context: ContextNumber) -> Result<(), KeptError> {
        self.ask(kept, Ask::Restart { context }, None).await.map(drop)
    }

    /// Does something with the files of a session.
    ///
    /// # Errors
    /// Returns an error that a client can correct.
    pub async fn files(&self, kept: Kept, ask: FileAsk) -> Result<FileAnswer, KeptError> {
        match self.ask(kept, Ask::Files(ask), None).await? {
            Answer::File(answer) => Ok(answer),
            _ => Err(strange()),
        }
    }

    /// The session as bytes, when its calls have ended.
    ///
    /// # Errors
    /// Returns an error when it can't be read.
    pub async fn save(&self, kept: Kept) -> Result<Vec<u8>, KeptError> {
        match self.ask(kept, Ask::Save, None).await? {
            Answer::Saved(bytes) => Ok(bytes),
            _ => Err(strange()),
        }
    }

    /// `count` sessions in the state of this one, when its calls have ended; and what each takes. All or none.
    ///
    /// # Errors
    /// Returns an error when there is no room for them.
    pub async fn fork(&self, kept: Kept, count: usize) -> Result<(Vec<Kept>, Footprint), KeptError> {
        let into: Vec<SessionNumber> = std::iter::repeat_with(|| self.number()).take(count).collect();
        let footprint = self.footprint_of(kept, Ask::Fork { into: into.clone() }).await?;
        Ok((into.into_iter().map(|number| Kept { home: kept.home, number }).collect(), footprint))
    }

    /// Runs a command to its end; its exit code, and the fuel of its interpreters and of those of commands killed
    /// before. Dropping the future kills it. `events` hears what it writes.
    ///
    /// # Errors
    /// Returns an error when it could not be run.
    pub async fn run_command(
        &self,
        kept: Kept,
        number: CommandNumber,
        command: Command,
        limits: CellLimits,
        events: Sender<AskEvent>,
    ) -> Result<(i32, u64), KeptError> {
        match self.ask(kept, Ask::Run { number, command: Box::new(command), limits }, Some(events)).await? {
            Answer::Exited { code, fuel } => Ok((code, fuel)),
            _ => Err(strange()),
        }
    }

    /// Input for a command; none: there will be no more.
    ///
    /// # Errors
    /// Returns an error when there is no such command, or it takes none.
    pub async fn command_input(
        &self,
        kept: Kept,
        number: CommandNumber,
        bytes: Option<Vec<u8>>,
    ) -> Result<(), KeptError> {
        self.ask(kept, Ask::Input { number, bytes }, None).await.map(drop)
    }

    /// Watches a directory until it is gone, or the future is dropped. `events` hears when that begins, and what
    /// changes.
    ///
    /// # Errors
    /// Returns an error when there is no such directory, or too many watch already.
    pub async fn watch(
        &self,
        kept: Kept,
        path: String,
        recursive: bool,
        events: Sender<AskEvent>,
    ) -> Result<(), KeptError> {
        self.ask(kept, Ask::Watch { path, recursive }, Some(events)).await.map(drop)
    }

    /// Returns the memory and files that a session takes.
    ///
    /// # Errors
    /// Returns an error when it is gone.
    pub async fn footprint(&self, kept: Kept) -> Result<Footprint, KeptError> {
        self.footprint_of(kept, Ask::Footprint).await
    }

    async fn footprint_of(&self, kept: Kept, ask: Ask) -> Result<Footprint, KeptError> {
        match self.ask(kept, ask, None).await? {
            Answer::Footprint(footprint) => Ok(footprint),
            _ => Err(strange()),
        }
    }

    async fn ask(&self, kept: Kept, ask: Ask, events: Option<Sender<AskEvent>>) -> Result<Answer, KeptError> {
        Ok(self.workers.ask(kept.home, kept.number, ask, events).await?)
    }
}

/// An answer to another question.
fn strange() -> KeptError {
    KeptError::Failed(WorkerError::Failed("it answered what it was not asked".to_owned()))
}
