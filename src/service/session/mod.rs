//! Sessions: their owners, lifetimes and locations.
//!
//! - here: the list of sessions, making and ending them;
//! - `execution`: code for them;
//! - `access`: a session while it is used;
//! - `grade`: verdicts on their files;
//! - `commands`: scripts for their shell;
//! - `watch`: changes of their files;
//! - `persistence`: sessions on disk, restored when the service starts;
//! - `eviction`: sessions that wait on disk, checkpoints and forks;
//! - `tags`: checkpoints by name, and what sessions that are made from them begin with;
//! - `room`: eviction to disk when workers hold too much, and closing where the disk is full;
//! - `mounts`: volumes that sessions have mounted;
//! - `logs`: what the service did with sessions, as lines for their owners;
//! - `lifecycle`: what has become of sessions, as events;
//! - `expiry`: the end of sessions and of their lifetime;
//! - `error`: errors that clients see.

mod access;
mod commands;
mod error;
mod eviction;
mod execution;
mod expiry;
mod grade;
mod lifecycle;
mod logs;
mod mounts;
mod persistence;
mod room;
mod tags;
mod watch;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

use super::volumes::{Mount, MountAsked, VolumeError};
use super::{ExecuteError, Service};
use crate::sandbox::SessionHandle;
use crate::telemetry;
pub use commands::{
    CommandAsked, CommandEnd, CommandEvent, CommandEvents, CommandNumber, CommandProgress, OutputRetention,
    SessionCommand, overflow_note, script_of_words,
};
pub use error::SessionError;
pub(super) use eviction::owner_name;
pub use eviction::{CheckpointInfo, SavedState};
pub use execution::{CallEvent, CallEvents, CellAsked, CellExecution};
pub use grade::GradeError;
pub use lifecycle::{LifecycleChange, LifecycleEvent, LifecycleKind};
pub use logs::{LogEvent, LogLine, LoggedEnd};
use proofbox_policy::Refusal;
use proofbox_runtime::image::Image;
use proofbox_types::caller::Caller;
use proofbox_types::grant::{AskedLimits, Grant, Limits};
use proofbox_types::ids::{CheckpointId, KeyId, SessionId};
use proofbox_types::program::File;
use proofbox_types::session::{ContextNumber, Footprint, Opening};
use proofbox_types::token::Token;
pub use tags::{CheckpointTag, CommandDefaults, Setup, TaggedCheckpoint};
pub use watch::{Watch, WatchEvent};

/// Lifetime of a session where the client gives none.
pub const DEFAULT_TTL: Duration = Duration::from_secs(3600);
/// The longest that it may live from any call that sets its end: 30 days.
pub const MAX_TTL: Duration = Duration::from_secs(30 * 24 * 3600);

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
    /// Lifetime, counted from now.
    pub ttl: Option<Duration>,
    /// Lifetime without being used.
    pub idle: Option<Duration>,
    /// Labels, returned with the session.
    pub labels: BTreeMap<String, String>,
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

/// A session as clients see it.
#[derive(Clone, Debug)]
pub struct SessionInfo {
    /// Id of the session.
    pub id: SessionId,
    /// State of the session.
    pub state: SessionState,
    /// Time at which the session was made.
    pub created: Timestamp,
    /// Time at which the session expires.
    pub expires: Timestamp,
    /// Time of the last use.
    pub last_used: Timestamp,
    /// Lifetime, from when it was last set.
    pub ttl: Duration,
    /// Lifetime without being used.
    pub idle: Option<Duration>,
    /// Name of its policy.
    pub policy: String,
    /// Image that the session runs in.
    pub image: Arc<Image>,
    /// Limits of each of its interpreters and of its files.
    pub limits: Limits,
    /// Calls that it has served.
    pub calls: u64,
    /// Memory and files that the session takes.
    pub footprint: Footprint,
    /// Labels that the client gave.
    pub labels: BTreeMap<String, String>,
    /// Action when the session expires.
    pub on_expiry: OnExpiry,
    /// True when a call resumes the session from a pause.
    pub auto_resume: bool,
    /// Name of the template that the session was made from.
    pub template: String,
    /// Defaults of its commands.
    pub commands: CommandDefaults,
    /// Volumes that it has mounted.
    pub mounts: Vec<Mount>,
    /// Secret that gives access to the session, for API flavours that have such tokens.
    pub token: Token,
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
pub struct Session {
    id: SessionId,
    /// Key that owns the session.
    owner: Option<KeyId>,
    created: Timestamp,
    policy: String,
    image: Arc<Image>,
    grant: Grant,
    labels: BTreeMap<String, String>,
    on_expiry: OnExpiry,
    auto_resume: bool,
    template: String,
    command_defaults: CommandDefaults,
    token: Token,
    /// Volumes that the session has mounted. Its forks have not.
    mounts: Vec<Mount>,
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

/// Properties of a session that do not change.
struct SessionSpec {
    id: SessionId,
    owner: Option<KeyId>,
    created: Timestamp,
    policy: String,
    image: Arc<Image>,
    grant: Grant,
    labels: BTreeMap<String, String>,
    on_expiry: OnExpiry,
    auto_resume: bool,
    template: String,
    command_defaults: CommandDefaults,
    token: Token,
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

/// Sessions of a service.
#[derive(Default)]
pub(super) struct Sessions {
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

impl Sessions {
    /// Creates a table without sessions.
    pub fn new(settings: SessionSettings) -> Self {
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

    /// Returns the number of sessions in workers, and the number on disk.
    pub fn count_residency(&self) -> (u64, u64) {
        let all = self.all();
        let live = all.values().filter(|session| session.live_bytes.load(Ordering::Relaxed) > 0).count() as u64;
        (live, all.len() as u64 - live)
    }

    /// Finds a session that has not expired: an expired one counts as gone, even before it is removed.
    fn get(&self, id: SessionId) -> Result<Arc<Session>, SessionError> {
        let session = self.all().get(&id).cloned().ok_or(SessionError::NotFound)?;
        let gone = session.on_expiry == OnExpiry::End && session.is_over(Timestamp::now());
        if gone { Err(SessionError::NotFound) } else { Ok(session) }
    }

    /// Inserts a session, if the maximum is not reached.
    fn insert(&self, session: Arc<Session>, most_of_owner: Option<u32>) -> Result<(), SessionError> {
        let mut all = self.all();
        self.room(&all, session.owner, most_of_owner)?;
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
            && all.values().filter(|session| session.owner == owner).count() >= most
        {
            return Err(SessionError::TooMany { allowed: most });
        }
        Ok(())
    }
}

impl Session {
    /// Creates a session that has served no call.
    fn new(spec: SessionSpec, times: Times, residency: Residency) -> Self {
        let SessionSpec { id, owner, created, policy, image, grant, labels, .. } = spec;
        let SessionSpec { on_expiry, auto_resume, template, command_defaults, token, .. } = spec;
        Self {
            id,
            owner,
            created,
            policy,
            image,
            grant,
            labels,
            on_expiry,
            auto_resume,
            template,
            command_defaults,
            token,
            mounts: Vec::new(),
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
            state,
            created: self.created,
            expires,
            last_used,
            ttl,
            idle,
            policy: self.policy.clone(),
            image: Arc::clone(&self.image),
            limits: *self.grant.limits(),
            calls: self.calls.load(Ordering::Relaxed),
            footprint: self.footprint(),
            labels: self.labels.clone(),
            on_expiry: self.on_expiry,
            auto_resume: self.auto_resume,
            template: self.template.clone(),
            commands: self.command_defaults.clone(),
            mounts: self.mounts.clone(),
            token: self.token.clone(),
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

impl Service {
    /// Runs work that must not be left half done in a task of its own, whether or not the client who asked for it
    /// waits: a session whose location is lost would stay in its worker for ever.
    async fn spawn_uncancellable<T: Send + 'static, F: Future<Output = Result<T, SessionError>> + Send + 'static>(
        &self,
        work: impl FnOnce(Arc<Self>) -> F,
    ) -> Result<T, SessionError> {
        let Some(service) = self.weak_self.upgrade() else { return Err(SessionError::Lost) };
        let done = tokio::spawn(telemetry::carry(work(service))).await;
        done.unwrap_or_else(|panicked| Err(SessionError::Failed(panicked.to_string())))
    }

    /// Opens a new session.
    ///
    /// # Errors
    /// Returns an error when it is refused; see [`SessionError`].
    pub async fn open_session(&self, asked: SessionAsked) -> Result<SessionInfo, SessionError> {
        self.spawn_uncancellable(|service| async move { service.open(asked).await }).await
    }

    async fn open(&self, asked: SessionAsked) -> Result<SessionInfo, SessionError> {
        if let Some(id) = asked.from_checkpoint {
            return self.open_from(id, asked).await;
        }
        let policy = asked.policy.clone().unwrap_or_else(|| "default".to_owned());
        let policies = self.policies();
        let pack = policies.pack(&asked.caller, &policy)?;
        self.has_fuel(&asked.caller).map_err(ExecuteError::from)?;
        let grant = pack.ceiling.grant(&asked.limits).map_err(Refusal::from)?;
        if let Some(file) = asked.files.iter().find(|file| !pack.files.upload.is_match(&file.path)) {
            let message = format!("the policy lets no file `{}` in", file.path.chars().take(100).collect::<String>());
            return Err(Refusal::File { field: "files", message }.into());
        }
        let image = self.image_asked(asked.image.as_deref())?;
        let hash = self.images.worker_hash(&image);
        let mut session = self.session(&asked, policy, image, grant.clone())?;
        let claim = self.claim_mounts(&mut session, &asked, pack).await?;
        let SessionAsked { env, files, .. } = asked;
        let opening = Opening { limits: *grant.limits(), env, files, image: hash };
        let handle = self.sandbox.open(opening).await?;
        let footprint = self.fill_mounts(&session, handle, pack).await?.unwrap_or_default();
        let info = self.enlist(&asked.caller, session, handle, footprint).await?;
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
        if let Err(error) = self.sessions.insert(Arc::clone(&session), most_sessions(caller)) {
            let _ = self.sandbox.close(handle).await;
            return Err(error);
        }
        self.note_footprint(&session, Some(footprint));
        self.metrics.sessions_opened.inc();
        self.note_lifecycle(&session, LifecycleChange::Created);
        Ok(session.info())
    }

    fn session(
        &self,
        asked: &SessionAsked,
        policy: String,
        image: Arc<Image>,
        grant: Grant,
    ) -> Result<Session, SessionError> {
        let ttl = asked.ttl.unwrap_or(DEFAULT_TTL);
        for (field, asked) in [("ttl_seconds", Some(ttl)), ("idle_seconds", asked.idle)] {
            if let Some(asked) = asked.filter(|asked| *asked > MAX_TTL) {
                return Err(SessionError::TtlTooLong { field, asked, allowed: MAX_TTL });
            }
        }
        // Told before anything is made; `insert` looks again.
        let owner = asked.caller.owner();
        self.sessions
            .room(&self.sessions.all(), owner, most_sessions(&asked.caller))
            .inspect_err(|_| self.metrics.refused.with_label_values(&["sessions"]).inc())?;
        let now = Timestamp::now();
        let expires = after(now, ttl);
        let times = Times { expires, ttl, idle: asked.idle, last_used: now, paused: false, settles: now };
        let spec = SessionSpec {
            id: SessionId::generate(),
            owner,
            created: now,
            policy,
            image,
            grant,
            labels: asked.labels.clone(),
            on_expiry: asked.on_expiry,
            auto_resume: asked.auto_resume,
            template: asked.template.clone(),
            command_defaults: asked.commands.clone(),
            token: token()?,
        };
        Ok(Session::new(spec, times, Residency::Closed))
    }

    /// Describes a session.
    ///
    /// # Errors
    /// Returns an error when there is no such session.
    pub fn session_info(&self, id: SessionId) -> Result<SessionInfo, SessionError> {
        Ok(self.sessions.get(id)?.info())
    }

    /// Returns whether the session belongs to the caller.
    pub fn is_own_session(&self, caller: &Caller, id: SessionId) -> bool {
        self.sessions.all().get(&id).is_some_and(|session| session.owner == caller.owner())
    }

    /// Lists at most `limit` sessions of the caller, the oldest first, beginning after the session `after`.
    pub fn session_list(&self, caller: &Caller, after: Option<SessionId>, limit: usize) -> Vec<SessionInfo> {
        use std::ops::Bound::{Excluded, Unbounded};
        let all = self.sessions.all();
        let range = all.range((after.map_or(Unbounded, Excluded), Unbounded));
        let own = range.map(|(_, session)| session).filter(|session| session.owner == caller.owner());
        own.take(limit).map(|session| session.info()).collect()
    }

    /// Finds a session by its id and its token.
    pub fn find_session(&self, mut is_it: impl FnMut(SessionId, &str) -> bool) -> Option<SessionId> {
        let all: Vec<Arc<Session>> = self.sessions.all().values().cloned().collect();
        all.into_iter().find(|session| is_it(session.id, &session.token)).map(|session| session.id)
    }

    /// Sets a session's lifetime from now.
    ///
    /// # Errors
    /// Returns an error when there is no such session, or the lifetime is too long.
    pub async fn keep_session(&self, id: SessionId, ttl: Duration) -> Result<SessionInfo, SessionError> {
        self.set_ttl(id, ttl, |_, _| true).await
    }

    /// Sets a session's lifetime from now, if it ends later than so far.
    ///
    /// # Errors
    /// Returns an error when there is no such session, or the lifetime is too long.
    pub async fn extend_session(&self, id: SessionId, ttl: Duration) -> Result<SessionInfo, SessionError> {
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
        let session = self.sessions.get(id)?;
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
