//! The sessions of one worker, and what is asked of them.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::admission::WorkerAdmission;
use super::commands::{Commands, CommandsOwner, SessionCommands};
use super::protocol::{CommandSource, RunId};
use super::rpc::{Events, JobsAtSave, RequestError, SessionEvent, SessionNumber, SessionRequest, SessionResponse};
use proofbox_runtime::session::{CommandRunner as _, Noticed, Session, SessionError, Sink, file_refused};
use proofbox_runtime::{InterpreterPool, RunError};
use proofbox_types::session::Change;
use proofbox_vfs::WatchDepth;

/// Permits for events that the front process has room for.
pub(crate) type EventPermits = Arc<Semaphore>;

/// Listener to what happens while something is done.
pub(crate) struct Listener {
    /// Function that takes each event.
    pub events: Events,
    /// Room for changes of files, which nothing else bounds. Output is bounded by the limits of its call.
    pub permits: EventPermits,
}

/// Maximum number of changes in one event.
const CHANGES_AT_ONCE: usize = 256;
/// Bytes of their paths, at least one of them whole.
const CHANGES_BYTES: usize = 64 << 10;
/// Time for each change that a session's watches tell: whoever changes files as fast as it can would make the worker and
/// the front process spend more on what is told than on the changes themselves.
const CHANGE_TIME: Duration = Duration::from_micros(12);

/// The sessions of one worker.
#[derive(Clone)]
pub(crate) struct Sessions {
    pool: Arc<InterpreterPool>,
    commands: Commands,
    all: Arc<Mutex<HashMap<SessionNumber, Resident>>>,
}

/// Session with its commands, which end when it leaves the worker.
struct Resident {
    session: Arc<Session>,
    commands: CommandsOwner,
    /// Time that its requests have had the core, in nanoseconds.
    cpu: Arc<AtomicU64>,
    pace: Arc<Pace>,
}

/// Pace at which all watches of a session tell changes.
#[derive(Default)]
struct Pace(Mutex<Option<tokio::time::Instant>>);

impl Pace {
    /// Waits until there is time for `count` changes more, after those that others have told.
    async fn told(&self, count: usize) {
        let until = {
            let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let now = tokio::time::Instant::now();
            let until = free.unwrap_or(now).max(now) + CHANGE_TIME * count as u32;
            *free = Some(until);
            until
        };
        tokio::time::sleep_until(until).await;
    }
}

impl Resident {
    fn new(session: Session, commands: CommandsOwner) -> Self {
        Self { session: Arc::new(session), commands, cpu: Arc::default(), pace: Arc::default() }
    }
}

impl Sessions {
    /// Makes an empty set of sessions, for whose commands' interpreters `admission` has permits.
    pub(crate) fn new(pool: Arc<InterpreterPool>, admission: WorkerAdmission) -> Self {
        Self { pool, commands: Commands::new(admission), all: Arc::default() }
    }

    /// Makes the commands of a run.
    pub(crate) fn commands_of_run(&self, id: RunId) -> CommandsOwner {
        self.commands.of(CommandSource::Run(id))
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<SessionNumber, Resident>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, number: SessionNumber) -> Result<Arc<Session>, RequestError> {
        self.all().get(&number).map(|resident| Arc::clone(&resident.session)).ok_or(RequestError::NoSession)
    }

    fn commands_of(&self, number: SessionNumber) -> Result<Arc<SessionCommands>, RequestError> {
        self.all().get(&number).map(|resident| resident.commands.commands()).ok_or(RequestError::NoSession)
    }

    fn pace_of(&self, number: SessionNumber) -> Result<Arc<Pace>, RequestError> {
        self.all().get(&number).map(|resident| Arc::clone(&resident.pace)).ok_or(RequestError::NoSession)
    }

    fn cpu_of(&self, number: SessionNumber) -> Option<Arc<AtomicU64>> {
        self.all().get(&number).map(|resident| Arc::clone(&resident.cpu))
    }

    /// Polls the work of a request, and counts its time on the core as the session's.
    pub(crate) async fn counted<F: Future>(&self, number: SessionNumber, work: F) -> F::Output {
        let Some(cpu) = self.cpu_of(number) else { return work.await };
        let mut work = pin!(work);
        poll_fn(|context| {
            let began = Instant::now();
            let polled = work.as_mut().poll(context);
            cpu.fetch_add(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
            polled
        })
        .await
    }

    /// Carries out a request. What must not be dropped half way ends early when it is `cancelled`; all else may be
    /// dropped.
    pub(crate) async fn handle(
        &self,
        number: SessionNumber,
        request: SessionRequest,
        listener: Listener,
        cancelled: CancellationToken,
    ) -> Result<SessionResponse, RequestError> {
        let Listener { events, permits } = listener;
        match request {
            SessionRequest::Open(opening) => {
                let commands = self.commands.of(CommandSource::Session(number));
                let session = Session::open(Arc::clone(&self.pool), commands.commands(), *opening)?;
                self.all().insert(number, Resident::new(session, commands));
                Ok(SessionResponse::Done)
            }
            SessionRequest::Load { bytes, image, limits, new_env } => {
                let commands = self.commands.of(CommandSource::Session(number));
                let pool = Arc::clone(&self.pool);
                let (runner, image) = (commands.commands(), image.as_deref());
                let session = Session::load(pool, runner, bytes, image, limits, new_env).await?;
                let footprint = session.footprint();
                let replaced = self.all().insert(number, Resident::new(session, commands));
                if let Some(replaced) = replaced {
                    replaced.session.close();
                }
                Ok(SessionResponse::Footprint(footprint))
            }
            SessionRequest::Close => {
                let closed = self.all().remove(&number).ok_or(RequestError::NoSession)?;
                closed.session.close();
                closed.commands.commands().end_jobs().await;
                Ok(SessionResponse::Stopped { fuel: closed.session.session_context().take_command_fuel() })
            }
            SessionRequest::Call { context, cell, limits } => {
                let session = self.get(number)?;
                let sink = cell.stream.then(|| Arc::new(move |event| events(SessionEvent::Cell(event))) as Sink);
                let mut outcome = session.call(context, &cell, &limits, sink, &cancelled).await?;
                outcome.outcome.usage.fuel += session.session_context().take_command_fuel();
                Ok(SessionResponse::Called(Box::new(outcome), session.footprint()))
            }
            SessionRequest::Interrupt { context } => {
                Ok(SessionResponse::Interrupted(self.get(number)?.interrupt(context)?))
            }
            SessionRequest::AddContext { context, cwd } => {
                self.get(number)?.add_context(context, cwd)?;
                Ok(SessionResponse::Done)
            }
            SessionRequest::RemoveContext { context } => {
                self.get(number)?.remove_context(context)?;
                Ok(SessionResponse::Done)
            }
            SessionRequest::Contexts => Ok(SessionResponse::Contexts(self.get(number)?.list_contexts())),
            SessionRequest::Restart { context } => {
                self.get(number)?.restart(context).await?;
                Ok(SessionResponse::Done)
            }
            SessionRequest::Reboot => {
                self.get(number)?.reboot().await?;
                Ok(SessionResponse::Done)
            }
            SessionRequest::Files(ask) => Ok(SessionResponse::File(self.get(number)?.files(ask)?)),
            SessionRequest::Save { jobs } => {
                if jobs == JobsAtSave::Refuse && self.commands_of(number)?.has_jobs() {
                    return Err(RequestError::CommandsRun);
                }
                Ok(SessionResponse::Saved(self.get(number)?.save().await?))
            }
            SessionRequest::Fork { into } => self.fork(number, into).await,
            SessionRequest::Run { number: command_number, command, limits } => {
                let session_context = self.get(number)?.session_context().clone();
                let name = (number, command_number);
                let commands = self.commands_of(number)?;
                let run = commands.run_as(name, session_context.clone(), *command, limits, events);
                tokio::select! {
                    outcome = run => Ok(SessionResponse::Exited { outcome, fuel: session_context.take_command_fuel() }),
                    () = cancelled.cancelled() => Ok(SessionResponse::Stopped { fuel: session_context.take_command_fuel() }),
                }
            }
            SessionRequest::Input { number: command_number, bytes } => {
                self.commands.input((number, command_number), bytes).await?;
                Ok(SessionResponse::Done)
            }
            SessionRequest::Watch { path, recursive } => {
                let mut watch =
                    self.get(number)?.watch(&path, if recursive { WatchDepth::All } else { WatchDepth::Entries })?;
                let pace = self.pace_of(number)?;
                events(SessionEvent::Watching);
                let tell = async {
                    while let Some(Noticed { changes, overflowed }) = watch.next().await {
                        for piece in pieces(changes) {
                            let Ok(permit) = permits.acquire().await else { return };
                            permit.forget();
                            let count = piece.len();
                            events(SessionEvent::Changes(piece));
                            pace.told(count).await;
                        }
                        if overflowed {
                            let Ok(permit) = permits.acquire().await else { return };
                            permit.forget();
                            events(SessionEvent::ChangesMissed);
                        }
                    }
                };
                tokio::select! {
                    () = tell => Ok(SessionResponse::Done),
                    () = cancelled.cancelled() => Err(RequestError::Cancelled),
                }
            }
            SessionRequest::Footprint => Ok(SessionResponse::Footprint(self.get(number)?.footprint())),
            SessionRequest::CpuTime => {
                let cpu = self.cpu_of(number).ok_or(RequestError::NoSession)?;
                Ok(SessionResponse::CpuTime(Duration::from_nanos(cpu.load(Ordering::Relaxed))))
            }
        }
    }

    /// Makes all copies of a session, or none.
    async fn fork(&self, number: SessionNumber, into: Vec<SessionNumber>) -> Result<SessionResponse, RequestError> {
        let original = self.get(number)?;
        let mut forks = Vec::with_capacity(into.len());
        for number in into {
            let commands = self.commands.of(CommandSource::Session(number));
            forks.push((number, Resident::new(original.fork(commands.commands()).await?, commands)));
        }
        let footprint = forks.first().map(|(_, fork)| fork.session.footprint()).unwrap_or_default();
        self.all().extend(forks);
        Ok(SessionResponse::Footprint(footprint))
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

impl From<SessionError> for RequestError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::NoContext(number) => Self::NoContext(number),
            SessionError::TooMany(what) => Self::TooMany(what),
            SessionError::Files(error) | SessionError::Run(RunError::Files(error)) => Self::File(file_refused(&error)),
            SessionError::Checkpoint(error) => Self::Checkpoint(error.to_string()),
            SessionError::Run(error @ RunError::NoSlot) => Self::NoRoom(error.to_string()),
            SessionError::Run(error) => Self::Failed(error.to_string()),
            SessionError::Cancelled => Self::Cancelled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofbox_types::session::ChangeKind;

    /// A client may watch a directory a hundred times.
    #[tokio::test(start_paused = true)]
    async fn watches_of_a_session_share_its_pace() {
        let (pace, began) = (Pace::default(), tokio::time::Instant::now());
        tokio::join!(pace.told(1000), pace.told(1000));
        let both = began.elapsed();
        assert!(both >= CHANGE_TIME * 2000, "{both:?}");
        // What was not used is not saved up.
        tokio::time::sleep(Duration::from_secs(60)).await;
        let later = tokio::time::Instant::now();
        pace.told(1000).await;
        assert!(later.elapsed() >= CHANGE_TIME * 1000, "{:?}", later.elapsed());
    }

    #[test]
    fn only_a_missing_slot_is_a_matter_of_room() {
        let refused = |error| RequestError::from(SessionError::Run(error));
        assert!(matches!(refused(RunError::NoSlot), RequestError::NoRoom(_)));
        let engine = RunError::Engine { what: "making an interpreter", reason: "a broken image".to_owned() };
        assert!(matches!(refused(engine), RequestError::Failed(_)));
    }

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
