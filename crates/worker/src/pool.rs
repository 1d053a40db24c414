//! Starts workers, gives them runs, and replaces those that die or hang.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::process::{Child, Command};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::codec::{FramedRead, FramedWrite};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::admission::{Payer, PayerAccounts};
use super::protocol::{CommandSource, FromWorker, Parts, RunId, Ticket, ToWorker, decode, encode, framing};
use super::rpc::{RequestError, SessionEvent, SessionNumber, SessionRequest, SessionResponse};
use super::socket;
use super::stderr_log::pass_on;
use super::turns::{Turn, Turns};
use proofbox_memory::Sender;
use proofbox_runtime::image::Image;
use proofbox_runtime::session::SessionContext;
use proofbox_types::caller::Urgency;
use proofbox_types::grant::Grant;
use proofbox_types::hardening::{Hardened, Hardening};
use proofbox_types::ids::KeyId;
use proofbox_types::outcome::{End, Limit, LimitHit, Outcome, Usage};
use proofbox_types::program::Program;

/// Unanswered pings after which a worker counts as hung: guests yield every millisecond. Pings are counted, not
/// seconds: where the front process itself had no core, no worker has left any unanswered.
const UNANSWERED: u32 = 7;
const PING_EVERY: Duration = Duration::from_secs(2);
/// Maximum number of workers that one run is given, where those before it died during another run's time slice. Nothing
/// of a run can be observed before it ends.
const WORKERS_A_RUN: u32 = 3;
/// Large answers of a worker that are decoded at once: more are not read, whatever it sends.
const DECODED_AT_ONCE: usize = 2;
/// Loading the image and reserving the pool's address space takes a fraction of this.
const START: Duration = Duration::from_secs(30);
/// Time that a run waits for a worker when all are being replaced.
const NO_WORKER: Duration = Duration::from_secs(10);
/// Time to wait for the standard error of an ended worker.
const STDERR_WAIT: Duration = Duration::from_secs(1);
const IMPOSSIBLE: &str = "it tells of a run what no run can come to";
/// Minimum time between two attempts to start a worker that fails at once.
const RETRY: Duration = Duration::from_millis(200);

/// Settings that workers are started with.
#[derive(Clone, Debug)]
pub struct WorkerSettings {
    /// The binary that has the `worker` command: this one.
    pub binary: PathBuf,
    /// Images that guests are made from.
    pub images: Vec<Image>,
    /// Packed file of the wheels that sessions may install.
    pub wheels: Option<PathBuf>,
    /// Number of worker processes.
    pub count: usize,
    /// Runs at once in each.
    pub slots: u32,
    /// Interpreters of sessions at once in each.
    pub session_slots: u32,
    /// The largest linear memory of any guest.
    pub memory_bytes: u64,
    /// Hardening of workers, applied before the first guest.
    pub hardening: Hardening,
}

/// Readiness of the workers.
#[derive(Debug, Default)]
struct Readiness {
    /// Workers that are ready.
    count: usize,
    /// Reason of the last worker that failed at its start.
    unfit: Option<String>,
    /// Layers that are in force in the worker that became ready last.
    hardened: Hardened,
}

/// Failure of the sandbox itself, not of the program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkerError {
    /// The worker ended while the run was in it, during another's time slice.
    #[error("the worker process ended while it ran this")]
    Lost,
    /// The worker ended, or fell silent, during the run's own time slice. The run is not repeated automatically.
    #[error("the worker process ended at this run's turn")]
    Blamed,
    /// No worker could be started.
    #[error("no worker process is available")]
    Unavailable,
    /// A worker can't be one.
    #[error("no worker process can be started: {0}")]
    Unfit(String),
    /// The worker could not run it.
    #[error("the worker failed: {0}")]
    Failed(String),
}

/// Receiver of the result of what is under way in a worker.
enum Waiting {
    /// Receiver of a run's outcome, with its wall limit and the payer of its commands.
    Run { answer: oneshot::Sender<Result<Outcome, WorkerError>>, wall: Duration, payer: Payer },
    /// Receiver of a session's response, and of its events.
    Request {
        answer: oneshot::Sender<Result<SessionResponse, CallError>>,
        events: Option<Sender<SessionEvent>>,
        owner: Option<KeyId>,
    },
}

impl Waiting {
    /// Key that pays.
    fn owner(&self) -> Option<KeyId> {
        match self {
            Self::Run { payer, .. } => payer.owner,
            Self::Request { owner, .. } => *owner,
        }
    }

    /// Reports that the worker is gone. `turn` is how long the time slice of this one had lasted, if it had the core.
    fn lose(self, turn: Option<Duration>) {
        let error = if turn.is_some() { WorkerError::Blamed } else { WorkerError::Lost };
        match self {
            // The receivers may have gone this moment; then nobody is interested.
            Self::Run { answer, wall, .. } => {
                // Whatever kept it there, it ran for longer than it may.
                let result = turn.filter(|turn| *turn >= wall).map(|turn| timed_out(wall, turn)).ok_or(error);
                drop(answer.send(result));
            }
            Self::Request { answer, .. } => drop(answer.send(Err(error.into()))),
        }
    }
}

/// Makes the outcome of a run that met its wall limit in a time slice that it never ended.
fn timed_out(wall: Duration, turn: Duration) -> Outcome {
    let allowed = u64::try_from(wall.as_millis()).unwrap_or(u64::MAX);
    let usage = Usage { cpu: turn, execution: turn, ..Usage::default() };
    Outcome::of_end(End::Limited(LimitHit { limit: Limit::Wall, allowed }), usage)
}

/// Error of a request to a session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The session refused the request.
    #[error(transparent)]
    Refused(#[from] RequestError),
    /// Failure of the worker.
    #[error(transparent)]
    Worker(#[from] WorkerError),
}

/// Slot of the pool for a worker process, whichever fills it now.
struct WorkerSlot {
    link: Mutex<Option<Link>>,
    process: AtomicU32,
    live: AtomicU32,
    /// Sessions placed there since the worker last reported how many interpreters are alive.
    sessions: AtomicU32,
}

/// Location of a session: a worker process, for as long as that lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionLocation {
    slot: usize,
    process: u32,
}

/// A session as requests name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionRef {
    /// Number of the session.
    pub number: SessionNumber,
    /// Key that owns the session, to which interpreters of its commands count.
    pub owner: Option<KeyId>,
}

/// Answers about permits that a worker may leave unread.
const MAX_UNREAD_ANSWERS: usize = 4096;

/// The way to a worker that is ready.
struct Link {
    frames: mpsc::UnboundedSender<ToWorker>,
    /// Number of answers about permits among the frames.
    unread: Arc<AtomicUsize>,
    waiting: HashMap<RunId, Waiting>,
    /// Runs and requests that the worker has been told to cancel, with the keys that pay for what they have used.
    cancelled: HashMap<RunId, Option<KeyId>>,
    /// Owners of the sessions that have been asked to run something.
    owners: HashMap<SessionNumber, Option<KeyId>>,
    /// Interpreters of commands that have a permit, or wait for one.
    interpreters: HashMap<Ticket, Interpreter>,
    /// Counts the processes that have filled the slot: sessions end with theirs.
    process: u32,
}

/// Interpreter of a command, as the front process knows it.
struct Interpreter {
    source: CommandSource,
    /// Task that waits for the permit, then holds it.
    _permit: AbortOnDropHandle<()>,
}

impl Link {
    /// Removes a run or request that nobody waits for any more, and gives back the permits of a run's commands.
    fn remove(&mut self, id: RunId) -> Option<Waiting> {
        let waiting = self.waiting.remove(&id)?;
        if matches!(waiting, Waiting::Run { .. }) {
            self.give_back(CommandSource::Run(id));
        }
        Some(waiting)
    }

    /// Gives back the permits of a run's or session's commands: it is gone.
    fn give_back(&mut self, gone: CommandSource) {
        self.interpreters.retain(|_, interpreter| interpreter.source != gone);
    }

    /// Notes whose session is asked for something; one that is closed has no owner.
    fn note_owner(&mut self, session: SessionRef, request: &SessionRequest) {
        match request {
            SessionRequest::Call { .. } | SessionRequest::Run { .. } => {
                self.owners.insert(session.number, session.owner);
            }
            SessionRequest::Close => {
                self.owners.remove(&session.number);
                self.give_back(CommandSource::Session(session.number));
            }
            _ => {}
        }
    }

    fn payer(&self, source: CommandSource) -> Option<Payer> {
        match source {
            CommandSource::Session(number) => {
                Some(Payer { owner: *self.owners.get(&number)?, urgency: Urgency::Interactive })
            }
            CommandSource::Run(id) => match self.waiting.get(&id)? {
                Waiting::Run { payer, .. } => Some(*payer),
                Waiting::Request { .. } => None,
            },
        }
    }

    /// Waits for a permit for an interpreter, in a task of its own, and tells the worker whether it has one.
    ///
    /// # Errors
    /// Returns an error when the worker asks for more than it may start.
    fn admit(&mut self, ticket: Ticket, source: CommandSource, accounts: &dyn PayerAccounts) -> anyhow::Result<()> {
        let before = self.interpreters.values().filter(|interpreter| interpreter.source == source).count();
        let allowed = before < SessionContext::MAX_COMMAND_INTERPRETERS && !self.interpreters.contains_key(&ticket);
        anyhow::ensure!(allowed, "it starts more interpreters than it may");
        let (frames, unread) = (self.frames.clone(), Arc::clone(&self.unread));
        anyhow::ensure!(unread.load(Ordering::Relaxed) < MAX_UNREAD_ANSWERS, "it does not read what it asks for");
        let tell = move |admitted| {
            unread.fetch_add(1, Ordering::Relaxed);
            drop(frames.send(ToWorker::InterpreterAdmitted { ticket, admitted }));
        };
        let Some(payer) = self.payer(source) else {
            tell(false);
            return Ok(());
        };
        let admit = accounts.admit(payer);
        let task = tokio::spawn(async move {
            let permit = admit.await;
            tell(permit.is_some());
            if permit.is_some() {
                // Until it is given back.
                std::future::pending::<()>().await;
            }
        });
        self.interpreters.insert(ticket, Interpreter { source, _permit: AbortOnDropHandle::new(task) });
        Ok(())
    }
}

/// Counts what happens to the workers of a pool.
pub trait PoolObserver: Send + Sync {
    /// A run is repeated, because its worker ended during another's time slice.
    fn run_repeated(&self);
    /// A worker has ended, and another is started in its slot.
    fn worker_replaced(&self);
    /// A worker has started, with these layers of hardening in force.
    fn worker_hardened(&self, hardened: &Hardened);
}

/// The workers of one service.
pub struct WorkerPool {
    worker_slots: Arc<Vec<WorkerSlot>>,
    changed: Arc<Notify>,
    next: AtomicU64,
    observer: Arc<dyn PoolObserver>,
    /// Ends the supervisors, and with them the workers, when it is dropped.
    _supervisors: JoinSet<()>,
    ready: watch::Receiver<Readiness>,
}

impl WorkerPool {
    /// Starts the workers; they become ready in their own time.
    pub fn start(settings: WorkerSettings, observer: Arc<dyn PoolObserver>, accounts: Arc<dyn PayerAccounts>) -> Self {
        let new_slot = || WorkerSlot {
            link: Mutex::new(None),
            process: AtomicU32::new(0),
            live: AtomicU32::new(0),
            sessions: AtomicU32::new(0),
        };
        let worker_slots: Arc<Vec<WorkerSlot>> =
            Arc::new(std::iter::repeat_with(new_slot).take(settings.count).collect());
        let changed = Arc::new(Notify::new());
        let (announce, ready) = watch::channel(Readiness::default());
        let announce = Arc::new(announce);
        let settings = Arc::new(settings);
        let mut supervisors = JoinSet::new();
        for index in 0..settings.count {
            let supervisor = Supervisor {
                index,
                settings: Arc::clone(&settings),
                worker_slots: Arc::clone(&worker_slots),
                changed: Arc::clone(&changed),
                ready: Arc::clone(&announce),
                observer: Arc::clone(&observer),
                accounts: Arc::clone(&accounts),
            };
            supervisors.spawn(supervisor.keep());
        }
        Self { worker_slots, changed, next: AtomicU64::new(0), observer, _supervisors: supervisors, ready }
    }

    /// Waits until the first worker is ready.
    ///
    /// # Errors
    /// Returns an error when none has become ready in the time that a start may take.
    pub async fn wait_ready(&self) -> Result<(), WorkerError> {
        let mut ready = self.ready.clone();
        match timeout(START, ready.wait_for(|ready| ready.count > 0 || ready.unfit.is_some())).await {
            Ok(Ok(ready)) if ready.count > 0 => Ok(()),
            Ok(Ok(ready)) => Err(WorkerError::Unfit(ready.unfit.clone().unwrap_or_default())),
            _ => Err(WorkerError::Unavailable),
        }
    }

    /// Returns the layers that are in force in the workers.
    pub fn hardened(&self) -> Hardened {
        self.ready.borrow().hardened.clone()
    }

    /// Process ids of the workers that are ready.
    pub fn processes(&self) -> Vec<u32> {
        self.worker_slots.iter().map(|slot| slot.process.load(Ordering::Relaxed)).filter(|id| *id != 0).collect()
    }

    /// Returns the number of interpreters alive in all workers, as they last reported.
    pub fn live(&self) -> u32 {
        self.worker_slots.iter().map(|slot| slot.live.load(Ordering::Relaxed)).sum()
    }

    /// Runs a program in the worker that has the least to do, and in another one where that died during another run's
    /// time slice. Dropping the future stops the guest. Interpreters that its commands start count to `payer`.
    ///
    /// # Errors
    /// Returns an error when we fail; see [`WorkerError`].
    pub async fn run(&self, program: Arc<Program>, grant: &Grant, payer: Payer) -> Result<Outcome, WorkerError> {
        for _ in 1..WORKERS_A_RUN {
            match self.run_once(&program, grant, payer).await {
                Err(WorkerError::Lost) => self.observer.run_repeated(),
                result => return result,
            }
        }
        self.run_once(&program, grant, payer).await
    }

    async fn run_once(&self, program: &Arc<Program>, grant: &Grant, payer: Payer) -> Result<Outcome, WorkerError> {
        let (answer, answered) = oneshot::channel();
        let (slot, id) =
            timeout(NO_WORKER, self.send(program, grant, payer, answer)).await.map_err(|_| WorkerError::Unavailable)?;
        let cancel = CancelOnDrop { slot, id };
        let result = answered.await.unwrap_or(Err(WorkerError::Lost));
        std::mem::forget(cancel);
        result
    }

    /// Picks a worker for a new session: the one that has the least to do, and of these the one with the fewest interpreters.
    ///
    /// # Errors
    /// Returns an error when there is none.
    pub async fn pick_worker(&self) -> Result<SessionLocation, WorkerError> {
        timeout(NO_WORKER, async {
            loop {
                let changed = self.changed.notified();
                let ready = self.worker_slots.iter().enumerate().filter_map(|(index, slot)| {
                    let link = slot.link.lock().expect("no holder panics");
                    let link = link.as_ref()?;
                    let live = slot.live.load(Ordering::Relaxed) + slot.sessions.load(Ordering::Relaxed);
                    Some((link.waiting.len(), live, SessionLocation { slot: index, process: link.process }))
                });
                if let Some((.., location)) = ready.min_by_key(|(waiting, live, _)| (*waiting, *live)) {
                    self.worker_slots[location.slot].sessions.fetch_add(1, Ordering::Relaxed);
                    return location;
                }
                changed.await;
            }
        })
        .await
        .map_err(|_| WorkerError::Unavailable)
    }

    /// Sends a request to a session. Dropping the future cancels it, and so does `left`: then the answer is that of a
    /// request that was cut short. `events` receives what happens meanwhile.
    ///
    /// # Errors
    /// Returns an error when the session refuses, or its worker is gone.
    pub async fn request(
        &self,
        location: SessionLocation,
        session: SessionRef,
        request: SessionRequest,
        events: Option<Sender<SessionEvent>>,
        left: Option<&CancellationToken>,
    ) -> Result<SessionResponse, CallError> {
        // A watch tells more only when what it has told was taken.
        let reader = events.clone().filter(|_| matches!(request, SessionRequest::Watch { .. }));
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, mut answered) = oneshot::channel();
        let slot = self.worker_slots.get(location.slot).ok_or(WorkerError::Lost)?;
        {
            let mut link = slot.link.lock().expect("no holder panics");
            let link = link.as_mut().filter(|link| link.process == location.process).ok_or(WorkerError::Lost)?;
            link.waiting.insert(id, Waiting::Request { answer, events, owner: session.owner });
            link.note_owner(session, &request);
            let _ = link.frames.send(ToWorker::Request { id, session: session.number, request });
        }
        let cancel = CancelOnDrop { slot, id };
        let mut left = left;
        let result = loop {
            let taken = async {
                match &reader {
                    Some(reader) => reader.wait_taken().await,
                    None => std::future::pending().await,
                }
            };
            let leave = async {
                match left {
                    Some(left) => left.cancelled().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                result = &mut answered => break result.unwrap_or(Err(WorkerError::Lost.into())),
                () = leave => {
                    left = None;
                    if let Some(link) = slot.link.lock().expect("no holder panics").as_ref() {
                        let _ = link.frames.send(ToWorker::Cancel { id });
                    }
                }
                () = taken => {
                    if let Some(link) = slot.link.lock().expect("no holder panics").as_ref() {
                        let _ = link.frames.send(ToWorker::More { id });
                    }
                }
            }
        };
        std::mem::forget(cancel);
        result
    }

    async fn send(
        &self,
        program: &Arc<Program>,
        grant: &Grant,
        payer: Payer,
        answer: oneshot::Sender<Result<Outcome, WorkerError>>,
    ) -> (&WorkerSlot, RunId) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        loop {
            // Registered before looking, so that no change is missed in between.
            let changed = self.changed.notified();
            let least = self
                .worker_slots
                .iter()
                .filter_map(|slot| Some((slot.link.lock().expect("no holder panics").as_ref()?.waiting.len(), slot)));
            if let Some((_, slot)) = least.min_by_key(|(waiting, _)| *waiting)
                && let Some(link) = slot.link.lock().expect("no holder panics").as_mut()
            {
                link.waiting.insert(id, Waiting::Run { answer, wall: grant.limits().wall, payer });
                // A worker that is going has its waiting runs ended by its supervisor, this one among them.
                let _ = link.frames.send(ToWorker::Run { id, program: Arc::clone(program), limits: *grant.limits() });
                return (slot, id);
            }
            changed.await;
        }
    }
}

/// Tells the worker that nobody waits any more.
struct CancelOnDrop<'a> {
    slot: &'a WorkerSlot,
    id: RunId,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(link) = self.slot.link.lock().expect("no holder panics").as_mut()
            && let Some(waiting) = link.remove(self.id)
        {
            link.cancelled.insert(self.id, waiting.owner());
            let _ = link.frames.send(ToWorker::Cancel { id: self.id });
        }
    }
}

/// Supervisor of one slot, which it keeps filled.
struct Supervisor {
    index: usize,
    settings: Arc<WorkerSettings>,
    worker_slots: Arc<Vec<WorkerSlot>>,
    changed: Arc<Notify>,
    ready: Arc<watch::Sender<Readiness>>,
    observer: Arc<dyn PoolObserver>,
    accounts: Arc<dyn PayerAccounts>,
}

impl Supervisor {
    fn slot(&self) -> &WorkerSlot {
        &self.worker_slots[self.index]
    }

    async fn keep(self) {
        loop {
            let started = Instant::now();
            match self.one_worker().await {
                Ok(status) => tracing::warn!(worker = self.index, %status, "a worker ended; starting another"),
                Err(error) => tracing::error!(worker = self.index, %error, "a worker failed; starting another"),
            }
            self.observer.worker_replaced();
            if started.elapsed() < RETRY {
                tokio::time::sleep(RETRY).await;
            }
        }
    }

    /// Runs one worker process from start to end.
    async fn one_worker(&self) -> anyhow::Result<ExitStatus> {
        let (ours, theirs) = UnixStream::pair()?;
        let (turns, page) = Turns::create()?;
        let mut child = Command::new(&self.settings.binary)
            .arg0("proofbox")
            .arg("worker")
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(page))
            .stderr(Stdio::piped())
            // A signal to our process group (Ctrl-C) is for us: we drain, and end the workers when they are done.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let said = child.stderr.take().map(|stderr| AbortOnDropHandle::new(tokio::spawn(pass_on(self.index, stderr))));
        let mut watch = Watch::new(turns);
        let served = self.serve(ours, &child, &mut watch).await;
        // Whose turn it is, it can't tell any more when it has ended.
        let blamed = watch.blamed();
        self.unlink(blamed);
        let status = end(&mut child).await?;
        if let Some(said) = said {
            let _ = timeout(STDERR_WAIT, said).await;
        }
        served.map(|()| status)
    }

    /// Talks to a worker until it is gone or silent.
    async fn serve(&self, socket: UnixStream, child: &Child, watch: &mut Watch) -> anyhow::Result<()> {
        let (reader, writer) = socket::split(socket)?;
        let mut incoming = FramedRead::new(reader, framing());
        let mut outgoing = FramedWrite::new(writer, framing());
        let settings = &self.settings;
        let start = ToWorker::Start {
            images: settings.images.clone(),
            wheels: settings.wheels.clone(),
            slots: settings.slots,
            session_slots: settings.session_slots,
            memory_bytes: settings.memory_bytes,
            hardening: settings.hardening,
        };
        outgoing.send(encode(&start)).await?;
        let Some(first) = timeout(START, incoming.next()).await? else { return Ok(()) };
        let hardened = match decode(&first?)? {
            FromWorker::Ready { hardened } => hardened,
            FromWorker::Unfit { reason } => {
                self.ready.send_modify(|ready| ready.unfit = Some(reason.clone()));
                anyhow::bail!("it can't start: {reason}");
            }
            _ => anyhow::bail!("the worker's first frame is not Ready"),
        };
        self.observer.worker_hardened(&hardened);

        let (frames, mut queue) = mpsc::unbounded_channel();
        let ping = frames.clone();
        let unread = Arc::new(AtomicUsize::new(0));
        let process = child.id().unwrap_or(0);
        *self.slot().link.lock().expect("no holder panics") = Some(Link {
            frames,
            unread: Arc::clone(&unread),
            waiting: HashMap::new(),
            cancelled: HashMap::new(),
            owners: HashMap::new(),
            interpreters: HashMap::new(),
            process,
        });
        self.slot().process.store(process, Ordering::Relaxed);
        self.ready.send_modify(|ready| {
            ready.count += 1;
            if ready.hardened != hardened {
                tracing::info!(%hardened, "what workers have given up");
                ready.hardened = hardened;
            }
        });
        self.changed.notify_waiters();

        let write = async {
            while let Some(frame) = queue.recv().await {
                if matches!(frame, ToWorker::InterpreterAdmitted { .. }) {
                    unread.fetch_sub(1, Ordering::Relaxed);
                }
                outgoing.send(encode(&frame)).await?;
            }
            anyhow::Ok(())
        };
        let mut whole = JoinSet::new();
        let read = async {
            let mut pings = interval(PING_EVERY);
            pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut parts = Parts::default();
            loop {
                let has_room = whole.len() < DECODED_AT_ONCE;
                tokio::select! {
                    // What it has said is heard before it is judged.
                    biased;
                    Some(message) = whole.join_next() => self.answer(message??)?,
                    frame = incoming.next(), if has_room => {
                        let Some(frame) = frame else { return anyhow::Ok(()) };
                        watch.heard();
                        match decode(&frame?)? {
                            FromWorker::Part { id, bytes, left } => {
                                if let Some(bytes) = parts.take(id, &bytes, left)? {
                                    // That takes long, and other answers must not stand behind it.
                                    whole.spawn_blocking(move || decode::<FromWorker>(&bytes));
                                }
                            }
                            message => self.answer(message)?,
                        }
                    }
                    // Who does not listen does not ask.
                    _ = pings.tick(), if has_room => {
                        watch.pinged()?;
                        let _ = ping.send(ToWorker::Ping);
                    }
                }
            }
        };
        let ended = tokio::select! {
            ended = read => ended,
            ended = write => ended,
        };
        // These have come, whatever became of the worker since.
        while let Some(message) = whole.join_next().await {
            self.answer(message??)?;
        }
        ended
    }

    /// Passes on what a worker says. It may have been taken over: what nobody waits for is dropped.
    fn answer(&self, message: FromWorker) -> anyhow::Result<()> {
        match message {
            FromWorker::Ready { .. } | FromWorker::Unfit { .. } => anyhow::bail!("it starts twice"),
            FromWorker::Part { .. } => anyhow::bail!("it sends a piece of a piece"),
            FromWorker::Pong { live } => {
                self.slot().live.store(live, Ordering::Relaxed);
                self.slot().sessions.store(0, Ordering::Relaxed);
            }
            FromWorker::InterpreterWanted { ticket, source } => {
                if let Some(link) = self.slot().link.lock().expect("no holder panics").as_mut() {
                    link.admit(ticket, source, &*self.accounts)?;
                }
            }
            FromWorker::InterpreterEnded { ticket } => {
                if let Some(link) = self.slot().link.lock().expect("no holder panics").as_mut() {
                    link.interpreters.remove(&ticket);
                }
            }
            // The receivers may have gone this moment; then nobody is interested.
            FromWorker::Done { id, result } => {
                if let Ok(outcome) = &result {
                    anyhow::ensure!(outcome.is_possible(), IMPOSSIBLE);
                }
                if let Some(Waiting::Run { answer, .. }) = self.no_longer_waiting(id) {
                    let _ = answer.send(result.map(|outcome| *outcome).map_err(WorkerError::Failed));
                } else {
                    self.charge_cancelled(id, result.map_or(0, |outcome| outcome.usage.fuel));
                }
            }
            FromWorker::Cancelled { id, fuel } => {
                anyhow::ensure!(fuel < Usage::MAX_FUEL, IMPOSSIBLE);
                self.charge_cancelled(id, fuel);
            }
            FromWorker::Answered { id, result } => {
                if let Ok(SessionResponse::Called(called, _)) = &result {
                    anyhow::ensure!(called.outcome.is_possible(), IMPOSSIBLE);
                }
                if let Ok(SessionResponse::Exited { outcome, .. }) = &result {
                    anyhow::ensure!(outcome.fuel < Usage::MAX_FUEL, IMPOSSIBLE);
                }
                let fuel = result.as_ref().map_or(0, SessionResponse::fuel);
                anyhow::ensure!(fuel < Usage::MAX_FUEL, IMPOSSIBLE);
                if let Some(Waiting::Request { answer, owner, .. }) = self.no_longer_waiting(id) {
                    if matches!(result, Ok(SessionResponse::Stopped { .. })) {
                        self.accounts.charge(owner, fuel);
                    }
                    let _ = answer.send(result.map_err(CallError::Refused));
                } else {
                    self.charge_cancelled(id, fuel);
                }
            }
            FromWorker::Event { id, event } => {
                let link = self.slot().link.lock().expect("no holder panics");
                if let Some(Waiting::Request { events: Some(events), .. }) =
                    link.as_ref().and_then(|link| link.waiting.get(&id))
                {
                    // It never waits: others share the socket.
                    let _ = events.send(event);
                }
            }
        }
        Ok(())
    }

    /// Charges what was cancelled for what it has used until then.
    fn charge_cancelled(&self, id: RunId, fuel: u64) {
        let owner =
            self.slot().link.lock().expect("no holder panics").as_mut().and_then(|link| link.cancelled.remove(&id));
        if let Some(owner) = owner {
            self.accounts.charge(owner, fuel);
        }
    }

    fn no_longer_waiting(&self, id: RunId) -> Option<Waiting> {
        self.slot().link.lock().expect("no holder panics").as_mut()?.remove(id)
    }

    /// Takes the worker out of the pool. Its runs are lost; `blamed` names the one that had the time slice.
    fn unlink(&self, blamed: Option<(RunId, Duration)>) {
        let slot = self.slot();
        let link = slot.link.lock().expect("no holder panics").take();
        slot.process.store(0, Ordering::Relaxed);
        slot.live.store(0, Ordering::Relaxed);
        let Some(link) = link else { return };
        self.ready.send_modify(|ready| ready.count -= 1);
        for (id, waiting) in link.waiting {
            waiting.lose(blamed.filter(|(blamed, _)| *blamed == id).map(|(_, turn)| turn));
        }
    }
}

/// Watch over a worker: whether it keeps answering.
struct Watch {
    turns: Turns,
    unanswered: u32,
    /// Time slice that was seen at a ping, and since when.
    turn: Option<(Turn, Instant)>,
}

impl Watch {
    fn new(turns: Turns) -> Self {
        Self { turns, unanswered: 0, turn: None }
    }

    fn heard(&mut self) {
        self.unanswered = 0;
    }

    /// Counts one more ping that is to be sent.
    ///
    /// # Errors
    /// Returns an error when it has left too many unanswered.
    fn pinged(&mut self) -> anyhow::Result<()> {
        anyhow::ensure!(self.unanswered < UNANSWERED, "it has left {UNANSWERED} pings unanswered");
        self.unanswered += 1;
        self.see_turn();
        Ok(())
    }

    fn see_turn(&mut self) {
        let current = self.turns.current();
        let since = self.turn.filter(|(turn, _)| Some(*turn) == current).map_or_else(Instant::now, |(_, since)| since);
        self.turn = current.map(|turn| (turn, since));
    }

    /// Returns the run in whose time slice the worker ended or fell silent, and how long that took at least.
    fn blamed(&mut self) -> Option<(RunId, Duration)> {
        self.see_turn();
        self.turn.map(|(turn, since)| (turn.holder, since.elapsed()))
    }
}

async fn end(child: &mut Child) -> std::io::Result<ExitStatus> {
    // It is gone already, or hangs: there is nothing to wait for.
    child.start_kill()?;
    child.wait().await
}
