//! Sessions: their owners, lifetimes and locations.
//!
//! - here: the list of sessions, making and ending them;
//! - `execution`: code for them;
//! - `call_stream`: the same with events while it runs;
//! - `access`: a session while it is used;
//! - `grade`: verdicts on their files;
//! - `commands`: scripts for their shell;
//! - `watch`: changes of their files;
//! - `packages`: what `pip` installs in them at their start;
//! - `persistence`: sessions on disk, restored when the service starts;
//! - `eviction`: sessions that wait on disk, checkpoints and forks;
//! - `checkpoint`: what checkpoints are, and what sessions that are made from them begin with;
//! - `tags`: checkpoints by name;
//! - `room`: eviction to disk when workers hold too much, and closing where the disk is full;
//! - `mounts`: volumes that sessions have mounted;
//! - `logs`: what the service did with sessions, as lines for their owners;
//! - `lifecycle`, `lifecycle_change`: what has become of sessions, as events;
//! - `expiry`: the end of sessions and of their lifetime;
//! - `error`: errors that clients see.

mod access;
mod call_stream;
mod checkpoint;
mod commands;
mod error;
mod eviction;
mod execution;
mod expiry;
mod grade;
mod lifecycle;
mod lifecycle_change;
mod logs;
mod mounts;
mod owned;
mod packages;
mod persistence;
mod room;
mod tags;
mod watch;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

use super::execution::requested_image;
use super::policy_check::admit_upload;
use super::volumes::{Mount, MountAsked, VolumeError, VolumeManager};
use super::{Admission, ExecuteError, Executor, Keys, PolicyCheck, PolicyStore, WebhookManager};
use crate::metrics::Metrics;
use crate::sandbox::{Sandbox, SessionHandle};
use crate::telemetry;
pub use call_stream::{CallEvent, CallItem, CallStream};
pub use checkpoint::{CheckpointInfo, CommandDefaults, SavedState, Setup, TaggedCheckpoint};
pub use commands::{
    CommandAsked, CommandEnd, CommandEvent, CommandEvents, CommandProgress, OutputRetention, SessionCommand,
    overflow_note, script_of_words,
};
pub use error::SessionError;
pub(super) use eviction::owner_name;
pub use execution::{CellAsked, CellExecution};
pub use grade::GradeError;
pub use lifecycle::LifecycleEvent;
pub use lifecycle_change::{LifecycleChange, LifecycleKind};
pub use logs::{LogEvent, LogLine, LoggedEnd};
pub use owned::OwnedSession;
pub use packages::{MAX_PACKAGES, MAX_REQUIREMENT_BYTES};
use proofbox_memory::Budget;
use proofbox_policy::Refusal;
use proofbox_runtime::image::Image;
use proofbox_runtime::images::Images;
use proofbox_store::Store;
use proofbox_types::caller::Caller;
use proofbox_types::grant::{AskedLimits, Grant};
use proofbox_types::ids::{CheckpointId, KeyId, SessionId};
use proofbox_types::program::File;
use proofbox_types::session::{ContextNumber, Footprint, Opening};
use proofbox_types::token::Token;
pub use tags::CheckpointTag;
pub use watch::{Watch, WatchEvent};

/// Lifetime of a session where the client gives none.
pub const DEFAULT_TTL: Duration = Duration::from_secs(3600);
/// The longest that it may live from any call that sets its end: 30 days.
pub const MAX_TTL: Duration = Duration::from_secs(30 * 24 * 3600);

/// Output and changes that all clients together may leave unread.
const UNREAD_BYTES: usize = 512 << 20;
/// Output of commands that is kept for all clients together, beside what every command has for itself.
const COMMAND_OUTPUT_BYTES: usize = 256 << 20;

/// Bounds on the number of sessions, and on their memory.
#[derive(Clone, Copy, Debug)]
pub struct SessionSettings {
    /// Sessions at once, in memory and on disk.
    pub most: usize,
    /// Memory that sessions in workers may take together, in bytes; beyond it those that were used least recently go to
    /// disk.
    pub memory_bytes: u64,
    /// Size that checkpoints and sessions on disk may have together, in bytes; beyond it the oldest go, of the owner
    /// who holds most.
    pub store_bytes: u64,
}

/// Action when a session expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnExpiry {
    /// Removes the session and its files.
    #[default]
    End,
    /// Stores this of the session on disk until a client resumes or ends it.
    Pause(SavedState),
}

/// Request for a new session.
#[derive(Clone, Debug, Default)]
pub struct SessionAsked {
    /// Caller who will own the session.
    pub caller: Caller,
    /// Name of the policy; none for that of the checkpoint, or `default`.
    pub policy: Option<String>,
    /// Name or hash of the image; none for that of the checkpoint, or the default one.
    pub image: Option<String>,
    /// Limits other than the policy's.
    pub limits: AskedLimits,
    /// The whole environment of its interpreters; with a checkpoint, variables that are added to its environment.
    pub env: Vec<(String, String)>,
    /// Files of the working directory.
    pub files: Vec<File>,
    /// Packages that are installed before the session is answered, as requirements of `pip`.
    pub packages: Vec<String>,
    /// Lifetime, counted from now.
    pub ttl: Option<Duration>,
    /// Lifetime without being used.
    pub idle: Option<Duration>,
    /// Labels, returned with the session.
    pub labels: Option<BTreeMap<String, String>>,
    /// Checkpoint from which the session continues.
    pub from_checkpoint: Option<CheckpointId>,
    /// True when the script that sessions from the checkpoint begin with is not started.
    pub without_start: bool,
    /// Defaults of its commands; with a checkpoint, it has its own.
    pub commands: CommandDefaults,
    /// Action when the session expires.
    pub on_expiry: OnExpiry,
    /// True when a call resumes the session from a pause.
    pub auto_resume: bool,
    /// Name of the template that the session is made from, for API flavours that have templates.
    pub template: String,
    /// Volumes that it mounts.
    pub mounts: Vec<MountAsked>,
}

/// Properties of a session that do not change.
#[derive(Clone, Debug)]
pub struct SessionSpec {
    /// Key that owns the session.
    pub owner: Option<KeyId>,
    /// Time at which the session was made.
    pub created: Timestamp,
    /// Name of its policy.
    pub policy: String,
    /// Image that the session runs in.
    pub image: Arc<Image>,
    /// Limits of each of its interpreters and of its files.
    pub grant: Grant,
    /// Labels that the client gave.
    pub labels: BTreeMap<String, String>,
    /// Action when the session expires.
    pub on_expiry: OnExpiry,
    /// True when a call resumes the session from a pause.
    pub auto_resume: bool,
    /// Name of the template that the session was made from, for API flavours that have templates.
    pub template: String,
    /// Defaults of its commands.
    pub commands: CommandDefaults,
    /// Volumes that the session has mounted. Its forks have not.
    pub mounts: Vec<Mount>,
    /// Secret that gives access to the session, for API flavours that have such tokens.
    pub token: Token,
}

impl SessionSpec {
    /// Specifies a new session.
    fn new(asked: &SessionAsked, policy: String, image: Arc<Image>, grant: Grant) -> Result<Self, SessionError> {
        Ok(Self {
            owner: asked.caller.owner(),
            created: Timestamp::now(),
            policy,
            image,
            grant,
            labels: asked.labels.clone().unwrap_or_default(),
            on_expiry: asked.on_expiry,
            auto_resume: asked.auto_resume,
            template: asked.template.clone(),
            commands: asked.commands.clone(),
            // Until they are claimed.
            mounts: Vec::new(),
            token: token()?,
        })
    }

    /// Specifies a session that is like this one.
    fn fork(&self) -> Result<Self, SessionError> {
        Ok(Self { created: Timestamp::now(), mounts: Vec::new(), token: token()?, ..self.clone() })
    }
}

/// A session as clients see it.
#[derive(Clone, Debug)]
pub struct SessionInfo {
    /// Id of the session.
    pub id: SessionId,
    /// Properties of the session that never change.
    pub spec: Arc<SessionSpec>,
    /// State of the session.
    pub state: SessionState,
    /// Time at which the session expires.
    pub expires: Timestamp,
    /// Time of the last use.
    pub last_used: Timestamp,
    /// Lifetime, from when it was last set.
    pub ttl: Duration,
    /// Lifetime without being used.
    pub idle: Option<Duration>,
    /// Calls that it has served.
    pub calls: u64,
    /// Memory and files that the session takes.
    pub footprint: Footprint,
}

/// State of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// Session that serves a call.
    Busy,
    /// Session in a worker that waits for a call.
    Idle,
    /// Session on disk that waits for a call, which brings it back.
    Stored,
    /// Session that waits until a client resumes it: on disk, or in its worker until its commands have ended.
    Paused,
}

/// Session of persistent interpreters with one tree of files.
pub(super) struct Session {
    id: SessionId,
    spec: Arc<SessionSpec>,
    times: Mutex<Times>,
    calls: AtomicU64,
    /// Calls that are served or wait.
    waiting: AtomicU32,
    footprint: Mutex<Footprint>,
    /// Part of the budget of sessions in workers that the session takes, in bytes.
    live_bytes: AtomicU64,
    /// Calls of one context are served one by one, in order.
    order: Mutex<HashMap<ContextNumber, Arc<tokio::sync::Mutex<()>>>>,
    commands: commands::Commands,
    /// Token that ends watches of the session's files.
    detached: Mutex<CancellationToken>,
    /// Residency of the session: read by tasks that use it; written by tasks that move it.
    residency: Arc<RwLock<Residency>>,
}

#[derive(Clone, Copy, Debug)]
struct Times {
    expires: Timestamp,
    ttl: Duration,
    idle: Option<Duration>,
    last_used: Timestamp,
    /// True while the session's time stands still, until a client resumes it.
    paused: bool,
    /// Time before which a session that was paused while its commands ran is not moved to disk.
    settles: Timestamp,
}

/// Residency of a session.
#[derive(Clone, Copy, Debug)]
enum Residency {
    /// Live interpreters in a worker.
    Resident(SessionHandle),
    /// State on disk, which the next use brings back.
    Evicted { checkpoint: CheckpointId },
    /// State on disk until a client resumes it.
    Paused { checkpoint: CheckpointId },
    /// No state anywhere: the session or its worker has ended.
    Closed,
}

impl Residency {
    /// Returns the checkpoint that is the state of a session on disk.
    fn checkpoint(self) -> Option<CheckpointId> {
        match self {
            Self::Evicted { checkpoint } | Self::Paused { checkpoint } => Some(checkpoint),
            Self::Resident(_) | Self::Closed => None,
        }
    }

    /// Returns whether the session waits on disk for a client who resumes it.
    fn is_paused(self) -> bool {
        matches!(self, Self::Paused { .. })
    }
}

/// Opens, uses, moves and ends sessions.
pub struct SessionManager {
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) executor: Arc<Executor>,
    pub(super) policies: Arc<PolicyStore>,
    pub(super) policy_check: Arc<PolicyCheck>,
    pub(super) admission: Arc<Admission>,
    pub(super) keys: Arc<Keys>,
    pub(super) images: Arc<Images>,
    pub(super) volumes: Arc<VolumeManager>,
    pub(super) webhooks: Arc<WebhookManager>,
    pub(super) store: Option<Arc<Store>>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) table: Arc<SessionTable>,
    pub(super) budgets: OutputBudgets,
    /// Weak reference to the manager itself, for work that goes on when the client who asked for it disconnects.
    pub(super) weak_self: Weak<Self>,
}

/// Budgets for what guests say.
pub(super) struct OutputBudgets {
    /// Output that clients have not read yet.
    unread: Budget,
    /// Output of commands that is kept.
    command_output: Budget,
}

impl Default for OutputBudgets {
    fn default() -> Self {
        Self { unread: Budget::new(UNREAD_BYTES), command_output: Budget::new(COMMAND_OUTPUT_BYTES) }
    }
}

/// Sessions of a service.
#[derive(Default)]
pub(super) struct SessionTable {
    all: Mutex<BTreeMap<SessionId, Arc<Session>>>,
    /// Maximum number of sessions.
    most: usize,
    /// Memory that sessions in workers may take together, in bytes.
    memory_bytes: u64,
    /// Size that checkpoints and sessions on disk may have together, in bytes.
    store_bytes: u64,
    /// Memory that sessions in workers take now, in bytes.
    live_bytes: AtomicU64,
    /// Notified when sessions take more than their budget.
    grew: tokio::sync::Notify,
    /// Held by the task that is making room.
    making_room: tokio::sync::Mutex<()>,
    /// Events in the life of sessions.
    lifecycle: lifecycle::Lifecycle,
    /// Log of each session.
    logs: logs::Logs,
}

impl SessionTable {
    /// Creates a table without sessions.
    pub(super) fn new(settings: SessionSettings) -> Self {
        Self {
            most: settings.most,
            memory_bytes: settings.memory_bytes,
            store_bytes: settings.store_bytes,
            ..Self::default()
        }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<SessionId, Arc<Session>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds a session that has not expired: an expired one counts as gone, even before it is removed.
    fn get(&self, id: SessionId) -> Result<Arc<Session>, SessionError> {
        let session = self.all().get(&id).cloned().ok_or(SessionError::NotFound)?;
        let gone = session.spec.on_expiry == OnExpiry::End && session.is_over(Timestamp::now());
        if gone { Err(SessionError::NotFound) } else { Ok(session) }
    }

    /// Inserts a session, if the maximum is not reached.
    fn insert(&self, session: Arc<Session>, most_of_owner: Option<u32>) -> Result<(), SessionError> {
        let mut all = self.all();
        self.room(&all, session.spec.owner, most_of_owner)?;
        all.insert(session.id, session);
        Ok(())
    }

    /// Checks that one more session is allowed, among all and among this owner's.
    fn room(
        &self,
        all: &BTreeMap<SessionId, Arc<Session>>,
        owner: Option<KeyId>,
        most_of_owner: Option<u32>,
    ) -> Result<(), SessionError> {
        if all.len() >= self.most {
            return Err(SessionError::TooMany { allowed: self.most });
        }
        if let Some(most) = most_of_owner.map(|most| most as usize)
            && all.values().filter(|session| session.spec.owner == owner).count() >= most
        {
            return Err(SessionError::TooMany { allowed: most });
        }
        Ok(())
    }
}

impl Session {
    /// Creates a session that has served no call.
    fn new(id: SessionId, spec: SessionSpec, times: Times, residency: Residency) -> Self {
        Self {
            id,
            spec: Arc::new(spec),
            times: Mutex::new(times),
            calls: AtomicU64::new(0),
            waiting: AtomicU32::new(0),
            footprint: Mutex::default(),
            live_bytes: AtomicU64::new(0),
            order: Mutex::default(),
            commands: commands::Commands::default(),
            detached: Mutex::default(),
            residency: Arc::new(RwLock::new(residency)),
        }
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn footprint(&self) -> Footprint {
        *self.footprint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_footprint(&self, footprint: Footprint) {
        *self.footprint.lock().unwrap_or_else(PoisonError::into_inner) = footprint;
    }

    /// Returns the token that is cancelled when watches of the session's files are to stop.
    fn detached(&self) -> CancellationToken {
        self.detached.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends commands and watches, when the session ends or is paused without them.
    fn detach(&self) {
        self.commands.end_all();
        self.end_watches();
    }

    fn end_watches(&self) {
        std::mem::take(&mut *self.detached.lock().unwrap_or_else(PoisonError::into_inner)).cancel();
    }

    /// Restarts the session's time after a pause.
    fn resumed(&self) {
        let mut times = self.times();
        times.paused = false;
        times.last_used = Timestamp::now();
        times.expires = after(times.last_used, times.ttl);
    }

    fn used(&self) {
        self.times().last_used = Timestamp::now();
    }

    /// Returns whether the session has expired.
    fn is_over(&self, now: Timestamp) -> bool {
        let times = *self.times();
        let idle_over = times.idle.is_some_and(|idle| now >= after(times.last_used, idle));
        let busy = self.waiting.load(Ordering::Relaxed) > 0 || self.commands.any();
        !times.paused && (now >= times.expires || (idle_over && !busy))
    }

    /// Returns whether the session was paused while its commands ran, and those have ended.
    fn is_settling(&self, now: Timestamp) -> bool {
        let times = *self.times();
        let is_resident = || matches!(self.residency.try_read().as_deref(), Ok(Residency::Resident(_)));
        times.paused && now >= times.settles && is_resident() && !self.commands.any()
    }

    fn info(&self) -> SessionInfo {
        let Times { expires, ttl, idle, last_used, paused, .. } = *self.times();
        let state = match self.residency.try_read().as_deref() {
            Ok(Residency::Paused { .. }) => SessionState::Paused,
            Ok(Residency::Resident(_)) if paused => SessionState::Paused,
            Ok(Residency::Evicted { .. }) => SessionState::Stored,
            Ok(_) if self.waiting.load(Ordering::Relaxed) == 0 => SessionState::Idle,
            Ok(_) => SessionState::Busy,
            // Somebody moves it.
            Err(_) => SessionState::Stored,
        };
        SessionInfo {
            id: self.id,
            spec: Arc::clone(&self.spec),
            state,
            expires,
            last_used,
            ttl,
            idle,
            calls: self.calls.load(Ordering::Relaxed),
            footprint: self.footprint(),
        }
    }
}

/// Returns the time `duration` later, at most the last that can be represented.
fn after(time: Timestamp, duration: Duration) -> Timestamp {
    time.checked_add(duration).unwrap_or(Timestamp::MAX)
}

fn most_sessions(caller: &Caller) -> Option<u32> {
    caller.key().and_then(|key| key.sessions)
}

/// Generates a token: 24 random bytes.
pub(super) fn token() -> Result<Token, SessionError> {
    let mut bytes = Zeroizing::new([0; 24]);
    getrandom::fill(bytes.as_mut_slice()).map_err(|_| SessionError::NoRandomness)?;
    // With room for all of it: what grows leaves copies behind.
    let mut text = String::with_capacity(2 * bytes.len());
    bytes.iter().for_each(|byte| write!(text, "{byte:02x}").expect("writing to a String never fails"));
    Ok(Token::new(text))
}

impl SessionManager {
    /// Runs work that must not be left half done in a task of its own, whether or not the client who asked for it
    /// waits: a session whose location is lost would stay in its worker for ever.
    async fn spawn_uncancellable<T: Send + 'static, F: Future<Output = Result<T, SessionError>> + Send + 'static>(
        &self,
        work: impl FnOnce(Arc<Self>) -> F,
    ) -> Result<T, SessionError> {
        let Some(manager) = self.weak_self.upgrade() else { return Err(SessionError::Lost) };
        let done = tokio::spawn(telemetry::carry(work(manager))).await;
        done.unwrap_or_else(|panicked| Err(SessionError::Failed(panicked.to_string())))
    }

    /// Opens a new session.
    ///
    /// # Errors
    /// Returns an error when it is refused; see [`SessionError`].
    pub async fn open(&self, asked: SessionAsked) -> Result<SessionInfo, SessionError> {
        self.spawn_uncancellable(|manager| async move { manager.open_whole(asked).await }).await
    }

    /// Opens a new session, with its packages.
    async fn open_whole(self: &Arc<Self>, asked: SessionAsked) -> Result<SessionInfo, SessionError> {
        let packages = asked.packages.clone();
        let info = self.open_inner(asked).await?;
        if packages.is_empty() {
            return Ok(info);
        }
        self.install_packages(info.id, &packages).await?;
        self.info(info.id)
    }

    async fn open_inner(&self, asked: SessionAsked) -> Result<SessionInfo, SessionError> {
        if let Some(id) = asked.from_checkpoint {
            return self.open_from(id, asked).await;
        }
        let policy = asked.policy.clone().unwrap_or_else(|| "default".to_owned());
        let policies = self.policies.current();
        let pack = policies.pack(&asked.caller, &policy)?;
        self.keys.has_fuel(&asked.caller).map_err(ExecuteError::from)?;
        let grant = pack.ceiling.grant(&asked.limits).map_err(Refusal::from)?;
        for file in &asked.files {
            admit_upload(pack, "files", &file.path)?;
        }
        let image = requested_image(&self.images, asked.image.as_deref())?;
        let hash = self.images.worker_hash(&image);
        let limits = *grant.limits();
        let spec = SessionSpec::new(&asked, policy, image, grant)?;
        let mut session = self.session(&asked.caller, spec, asked.ttl, asked.idle)?;
        let claim = self.claim_mounts(&mut session, &asked, pack).await?;
        let SessionAsked { caller, env, files, .. } = asked;
        let handle = self.sandbox.open(caller.owner(), Opening { limits, env, files, image: hash }).await?;
        let footprint = self.fill_mounts(&session, handle, pack).await?.unwrap_or_default();
        let info = self.enlist(&caller, session, handle, footprint).await?;
        claim.keep();
        Ok(info)
    }

    /// A session in this worker, from now on.
    async fn enlist(
        &self,
        caller: &Caller,
        session: Session,
        handle: SessionHandle,
        footprint: Footprint,
    ) -> Result<SessionInfo, SessionError> {
        let session = Arc::new(session);
        *session.residency.write().await = Residency::Resident(handle);
        if let Err(error) = self.table.insert(Arc::clone(&session), most_sessions(caller)) {
            let _ = self.sandbox.close(handle).await;
            return Err(error);
        }
        self.note_footprint(&session, Some(footprint));
        self.metrics.sessions_opened.inc();
        self.note_lifecycle(&session, LifecycleChange::Created);
        Ok(session.info())
    }

    /// A session of the caller that begins now, and is in no worker yet.
    fn session(
        &self,
        caller: &Caller,
        spec: SessionSpec,
        ttl: Option<Duration>,
        idle: Option<Duration>,
    ) -> Result<Session, SessionError> {
        let ttl = ttl.unwrap_or(DEFAULT_TTL);
        for (field, asked) in [("ttl_seconds", Some(ttl)), ("idle_seconds", idle)] {
            if let Some(asked) = asked.filter(|asked| *asked > MAX_TTL) {
                return Err(SessionError::TtlTooLong { field, asked, allowed: MAX_TTL });
            }
        }
        // Told before anything is made; `insert` looks again.
        self.table
            .room(&self.table.all(), spec.owner, most_sessions(caller))
            .inspect_err(|_| self.metrics.refused.with_label_values(&["sessions"]).inc())?;
        let now = spec.created;
        let times = Times { expires: after(now, ttl), ttl, idle, last_used: now, paused: false, settles: now };
        Ok(Session::new(SessionId::generate(), spec, times, Residency::Closed))
    }

    /// Returns the number of sessions in workers, and the number on disk.
    pub fn count_residency(&self) -> (u64, u64) {
        let all = self.table.all();
        let live = all.values().filter(|session| session.live_bytes.load(Ordering::Relaxed) > 0).count() as u64;
        (live, all.len() as u64 - live)
    }

    /// Describes a session.
    ///
    /// # Errors
    /// Returns an error when there is no such session.
    pub fn info(&self, id: SessionId) -> Result<SessionInfo, SessionError> {
        Ok(self.table.get(id)?.info())
    }

    /// Returns whether the session belongs to the caller.
    pub fn is_own(&self, caller: &Caller, id: SessionId) -> bool {
        self.table.all().get(&id).is_some_and(|session| session.spec.owner == caller.owner())
    }

    /// Lists at most `limit` sessions of the caller, the oldest first, beginning after the session `after`.
    pub fn list(&self, caller: &Caller, after: Option<SessionId>, limit: usize) -> Vec<SessionInfo> {
        use std::ops::Bound::{Excluded, Unbounded};
        let all = self.table.all();
        let range = all.range((after.map_or(Unbounded, Excluded), Unbounded));
        let own = range.map(|(_, session)| session).filter(|session| session.spec.owner == caller.owner());
        own.take(limit).map(|session| session.info()).collect()
    }

    /// Finds a session by its id and its token.
    pub fn find(&self, mut is_it: impl FnMut(SessionId, &str) -> bool) -> Option<SessionId> {
        let all: Vec<Arc<Session>> = self.table.all().values().cloned().collect();
        all.into_iter().find(|session| is_it(session.id, &session.spec.token)).map(|session| session.id)
    }

    /// Sets a session's lifetime from now.
    ///
    /// # Errors
    /// Returns an error when there is no such session, or the lifetime is too long.
    pub async fn keep(&self, id: SessionId, ttl: Duration) -> Result<SessionInfo, SessionError> {
        self.set_ttl(id, ttl, |_, _| true).await
    }

    /// Sets a session's lifetime from now, if it ends later than so far.
    ///
    /// # Errors
    /// Returns an error when there is no such session, or the lifetime is too long.
    pub async fn extend(&self, id: SessionId, ttl: Duration) -> Result<SessionInfo, SessionError> {
        self.set_ttl(id, ttl, |times, expires| expires > times.expires).await
    }

    /// Sets a session's lifetime from now, where `may_set` agrees to the new end.
    async fn set_ttl(
        &self,
        id: SessionId,
        ttl: Duration,
        may_set: fn(&Times, Timestamp) -> bool,
    ) -> Result<SessionInfo, SessionError> {
        if ttl > MAX_TTL {
            return Err(SessionError::TtlTooLong { field: "ttl_seconds", asked: ttl, allowed: MAX_TTL });
        }
        let session = self.table.get(id)?;
        let is_set = {
            let mut times = session.times();
            let expires = after(Timestamp::now(), ttl);
            let is_set = may_set(&times, expires);
            if is_set {
                times.expires = expires;
                times.ttl = ttl;
            }
            is_set
        };
        if is_set {
            self.note_lifecycle(&session, LifecycleChange::Updated(ttl));
        }
        // Nobody moves it meanwhile.
        let residency = session.residency.read().await;
        self.note_row(&session, *residency).await?;
        drop(residency);
        Ok(session.info())
    }
}
