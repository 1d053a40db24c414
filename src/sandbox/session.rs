//! Sessions: persistent interpreters and files in a worker.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Sandbox;
use proofbox_memory::Sender;
use proofbox_types::grant::Limits;
use proofbox_types::ids::KeyId;
use proofbox_types::session::{
    Cell, CellLimits, CellOutcome, Command, CommandOutcome, ContextNumber, FileAnswer, FileAsk, Footprint, Opening,
};
use proofbox_vfs::WatchDepth;
use proofbox_worker::rpc::{CommandNumber, SessionNumber, SessionRequest, SessionResponse};
pub use proofbox_worker::rpc::{JobsAtSave, RequestError, SessionEvent};
use proofbox_worker::{CallError, SessionLocation, SessionRef, WorkerError};

/// A session that lives in a worker. It ends with the worker, or by [`Sandbox::close`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionHandle {
    location: SessionLocation,
    session: SessionRef,
}

/// Error of a request to a session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionCallError {
    /// The session refused the request.
    #[error(transparent)]
    Refused(RequestError),
    /// The worker that it lived in is gone, and it with it.
    #[error("the worker process of the session ended, and the session with it")]
    Lost,
    /// Failure of the sandbox itself.
    #[error("the sandbox failed: {0}")]
    Failed(WorkerError),
}

impl From<CallError> for SessionCallError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(RequestError::NoSession)
            | CallError::Worker(WorkerError::Lost | WorkerError::Blamed) => Self::Lost,
            CallError::Refused(RequestError::Failed(reason)) => Self::Failed(WorkerError::Failed(reason)),
            CallError::Refused(refused) => Self::Refused(refused),
            CallError::Worker(error) => Self::Failed(error),
        }
    }
}

impl From<WorkerError> for SessionCallError {
    fn from(error: WorkerError) -> Self {
        CallError::Worker(error).into()
    }
}

impl Sandbox {
    fn number(&self) -> SessionNumber {
        self.next_session.fetch_add(1, Ordering::Relaxed)
    }

    async fn handle(&self, owner: Option<KeyId>) -> Result<SessionHandle, WorkerError> {
        let location = self.workers.pick_worker().await?;
        Ok(SessionHandle { location, session: SessionRef { number: self.number(), owner } })
    }

    /// A new session of this owner. Its interpreter is made at its first call.
    ///
    /// # Errors
    /// Returns an error when a file can't be put into it, or there is no worker.
    pub async fn open(&self, owner: Option<KeyId>, opening: Opening) -> Result<SessionHandle, SessionCallError> {
        let session = self.handle(owner).await?;
        self.request(session, SessionRequest::Open(Box::new(opening)), None).await?;
        Ok(session)
    }

    /// A session of this owner from a checkpoint, with more variables in its environment; `image` is the hash of the image that it was
    /// made in, none for the default one.
    ///
    /// # Errors
    /// Returns an error when the checkpoint is damaged, or there is no room.
    pub async fn load(
        &self,
        owner: Option<KeyId>,
        bytes: Vec<u8>,
        image: Option<String>,
        limits: &Limits,
        new_env: Vec<(String, String)>,
    ) -> Result<(SessionHandle, Footprint), SessionCallError> {
        let session = self.handle(owner).await?;
        let request = SessionRequest::Load { bytes, image, limits: *limits, new_env };
        let footprint = self.footprint_of(session, request).await?;
        Ok((session, footprint))
    }

    /// Ends a session.
    ///
    /// # Errors
    /// Returns an error when it is gone already.
    pub async fn close(&self, session: SessionHandle) -> Result<(), SessionCallError> {
        self.request(session, SessionRequest::Close, None).await.map(drop)
    }

    /// Carries out a call, after those that came before it. `left` interrupts it, and so does dropping the future.
    ///
    /// # Errors
    /// Returns an error when it could not be carried out; however it ends, that is a [`CellOutcome`].
    pub async fn call(
        &self,
        session: SessionHandle,
        context: ContextNumber,
        cell: Cell,
        limits: CellLimits,
        events: Option<Sender<SessionEvent>>,
        left: &CancellationToken,
    ) -> Result<(CellOutcome, Footprint), SessionCallError> {
        let ask = SessionRequest::Call { context, cell: Box::new(cell), limits };
        match self.workers.request(session.location, session.session, ask, events, Some(left)).await? {
            SessionResponse::Called(outcome, footprint) => Ok((*outcome, footprint)),
            _ => Err(strange()),
        }
    }

    /// Interrupts the call that a context serves; whether there was one.
    ///
    /// # Errors
    /// Returns an error when there is no such context.
    pub async fn interrupt(&self, session: SessionHandle, context: ContextNumber) -> Result<bool, SessionCallError> {
        match self.request(session, SessionRequest::Interrupt { context }, None).await? {
            SessionResponse::Interrupted(there_was) => Ok(there_was),
            _ => Err(strange()),
        }
    }

    /// Adds a context that starts in `cwd`.
    ///
    /// # Errors
    /// Returns an error when there are too many.
    pub async fn add_context(
        &self,
        session: SessionHandle,
        context: ContextNumber,
        cwd: Option<String>,
    ) -> Result<(), SessionCallError> {
        self.request(session, SessionRequest::AddContext { context, cwd }, None).await.map(drop)
    }

    /// Removes a context from the session.
    ///
    /// # Errors
    /// Returns an error when there is no such context.
    pub async fn remove_context(&self, session: SessionHandle, context: ContextNumber) -> Result<(), SessionCallError> {
        self.request(session, SessionRequest::RemoveContext { context }, None).await.map(drop)
    }

    /// Returns the session's contexts, each with its start directory where that is not the default.
    ///
    /// # Errors
    /// Returns an error when it is gone.
    pub async fn contexts(
        &self,
        session: SessionHandle,
    ) -> Result<Vec<(ContextNumber, Option<String>)>, SessionCallError> {
        match self.request(session, SessionRequest::Contexts, None).await? {
            SessionResponse::Contexts(contexts) => Ok(contexts),
            _ => Err(strange()),
        }
    }

    /// Gives a context a fresh interpreter; the files stay.
    ///
    /// # Errors
    /// Returns an error when there is no such context.
    pub async fn restart(&self, session: SessionHandle, context: ContextNumber) -> Result<(), SessionCallError> {
        self.request(session, SessionRequest::Restart { context }, None).await.map(drop)
    }

    /// Gives all contexts fresh interpreters, and the sandbox another boot; the files stay.
    ///
    /// # Errors
    /// Returns an error when the session is lost.
    pub async fn reboot(&self, session: SessionHandle) -> Result<(), SessionCallError> {
        self.request(session, SessionRequest::Reboot, None).await.map(drop)
    }

    /// Does something with the files of a session.
    ///
    /// # Errors
    /// Returns an error that a client can correct.
    pub async fn files(&self, session: SessionHandle, ask: FileAsk) -> Result<FileAnswer, SessionCallError> {
        match self.request(session, SessionRequest::Files(ask), None).await? {
            SessionResponse::File(answer) => Ok(answer),
            _ => Err(strange()),
        }
    }

    /// The session as bytes, when its calls have ended.
    ///
    /// # Errors
    /// Returns an error when it can't be read, or jobs of its calls go on and may not be left out.
    pub async fn save(&self, session: SessionHandle, jobs: JobsAtSave) -> Result<Vec<u8>, SessionCallError> {
        match self.request(session, SessionRequest::Save { jobs }, None).await? {
            SessionResponse::Saved(bytes) => Ok(bytes),
            _ => Err(strange()),
        }
    }

    /// `count` sessions in the state of this one, when its calls have ended; and what each takes. All or none.
    ///
    /// # Errors
    /// Returns an error when there is no room for them.
    pub async fn fork(
        &self,
        session: SessionHandle,
        count: usize,
    ) -> Result<(Vec<SessionHandle>, Footprint), SessionCallError> {
        let into: Vec<SessionNumber> = std::iter::repeat_with(|| self.number()).take(count).collect();
        let footprint = self.footprint_of(session, SessionRequest::Fork { into: into.clone() }).await?;
        let SessionHandle { location, session: SessionRef { owner, .. } } = session;
        let forks = into.into_iter().map(|number| SessionHandle { location, session: SessionRef { number, owner } });
        Ok((forks.collect(), footprint))
    }

    /// Runs a command to its end, and to that of its background jobs; its outcome, and the fuel of its interpreters and of those of commands killed
    /// before. Dropping the future kills it. `events` hears what it writes.
    ///
    /// # Errors
    /// Returns an error when it could not be run.
    pub async fn run_command(
        &self,
        session: SessionHandle,
        number: CommandNumber,
        command: Command,
        limits: CellLimits,
        events: Sender<SessionEvent>,
    ) -> Result<(CommandOutcome, u64), SessionCallError> {
        match self
            .request(session, SessionRequest::Run { number, command: Box::new(command), limits }, Some(events))
            .await?
        {
            SessionResponse::Exited { outcome, fuel } => Ok((outcome, fuel)),
            _ => Err(strange()),
        }
    }

    /// Input for a command; none: there will be no more.
    ///
    /// # Errors
    /// Returns an error when there is no such command, or it takes none.
    pub async fn command_input(
        &self,
        session: SessionHandle,
        number: CommandNumber,
        bytes: Option<Vec<u8>>,
    ) -> Result<(), SessionCallError> {
        self.request(session, SessionRequest::Input { number, bytes }, None).await.map(drop)
    }

    /// Watches a directory until it is gone, or the future is dropped. `events` hears when that begins, and what
    /// changes.
    ///
    /// # Errors
    /// Returns an error when there is no such directory, or too many watch already.
    pub async fn watch(
        &self,
        session: SessionHandle,
        path: String,
        depth: WatchDepth,
        events: Sender<SessionEvent>,
    ) -> Result<(), SessionCallError> {
        self.request(session, SessionRequest::Watch { path, recursive: depth == WatchDepth::All }, Some(events))
            .await
            .map(drop)
    }

    /// Returns the memory and files that a session takes.
    ///
    /// # Errors
    /// Returns an error when it is gone.
    pub async fn footprint(&self, session: SessionHandle) -> Result<Footprint, SessionCallError> {
        self.footprint_of(session, SessionRequest::Footprint).await
    }

    /// Returns the time that a session has had the core, since it came to its worker.
    ///
    /// # Errors
    /// Returns an error when it is gone.
    pub async fn cpu_time(&self, session: SessionHandle) -> Result<Duration, SessionCallError> {
        match self.request(session, SessionRequest::CpuTime, None).await? {
            SessionResponse::CpuTime(time) => Ok(time),
            _ => Err(strange()),
        }
    }

    async fn footprint_of(&self, session: SessionHandle, ask: SessionRequest) -> Result<Footprint, SessionCallError> {
        match self.request(session, ask, None).await? {
            SessionResponse::Footprint(footprint) => Ok(footprint),
            _ => Err(strange()),
        }
    }

    async fn request(
        &self,
        session: SessionHandle,
        ask: SessionRequest,
        events: Option<Sender<SessionEvent>>,
    ) -> Result<SessionResponse, SessionCallError> {
        Ok(self.workers.request(session.location, session.session, ask, events, None).await?)
    }
}

/// An answer to another question.
fn strange() -> SessionCallError {
    SessionCallError::Failed(WorkerError::Failed("it answered what it was not asked".to_owned()))
}
