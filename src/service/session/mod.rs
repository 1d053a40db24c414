//! Sessions: who has one, how long, and where it is now.
//!
//! - here: the list of them, making and ending them;
//! - `call`: code for them;
//! - `using`: a session while it is used;
//! - `commands`: scripts for their shell;
//! - `watch`: changes of their files;
//! - `remembered`: those on disk, known again when the service starts anew;
//! - `keeping`: those that wait on disk, checkpoints and forks;
//! - `room`: who goes to disk when there is too little, and who is closed where that is full;
//! - `ending`: their end, and that of their time;
//! - `error`: what a client can be told.

mod call;
mod commands;
mod ending;
mod error;
mod keeping;
mod remembered;
mod room;
mod using;
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

use super::{ExecuteError, Service};
use crate::domain::caller::Caller;
use crate::domain::grant::{AskedLimits, Grant, Limits};
use crate::domain::ids::{CheckpointId, KeyId, SessionId};
use crate::domain::run::File;
use crate::domain::session::{ContextNumber, Footprint, Opening};
use crate::domain::token::Token;
use crate::policy::Refusal;
use crate::runtime::image::Image;
use crate::sandbox::Kept;
use crate::telemetry;
pub use call::{CellAsked, CellExecuted, SessionEvent, SessionEvents};
pub use commands::{CommandEnd, CommandEvent, CommandEvents, RunningCommand, overflow_note};
pub use error::SessionError;
pub use keeping::CheckpointInfo;
pub use watch::{Watch, WatchEvent};

/// How long a session lives where the client does not say.
pub const DEFAULT_TTL: Duration = Duration::from_secs(3600);
/// The longest that it may live from any call that sets its end: 30 days.
pub const LONGEST_TTL: Duration = Duration::from_secs(30 * 24 * 3600);

/// How many sessions, and how much of them in memory.
#[derive(Clone, Copy, Debug)]
pub struct SessionSettings {
    /// Sessions at once, in memory and on disk.
    pub most: usize,
    /// What those in workers may take together, in bytes; beyond it those that were used least recently go to disk.
    pub memory_bytes: u64,
    /// What checkpoints and sessions on disk may take together, in bytes; beyond it the oldest go, of the owner who holds
    /// most.
    pub store_bytes: u64,
}

/// What becomes of a session when its time is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnExpiry {
    /// It is gone.
    #[default]
    End,
    /// It is kept on disk until somebody resumes or ends it.
    Pause,
}

/// What a client asks of a new session.
#[derive(Clone, Debug, Default)]
pub struct SessionAsked {
    /// Whose it is.
    pub caller: Caller,
    /// Name of the policy; none for that of the checkpoint, or `default`.
    pub policy: Option<String>,
    /// Name or hash of the image; none for that of the checkpoint, or the default one.
    pub image: Option<String>,
    /// Limits other than the policy's.
    pub limits: AskedLimits,
    /// The whole environment of its interpreters.
    pub env: Vec<(String, String)>,
    /// Its files.
    pub files: Vec<File>,
    /// How long it lives, from now.
    pub ttl: Option<Duration>,
    /// How long it lives without being used.
    pub idle: Option<Duration>,
    /// Given back with it.
    pub labels: BTreeMap<String, String>,
    /// What it goes on from.
    pub from_checkpoint: Option<CheckpointId>,
    /// What becomes of it in the end.
    pub on_expiry: OnExpiry,
    /// Whether a call resumes it when it is paused.
    pub auto_resume: bool,
    /// A name for what it was made from, for dialects that have such.
    pub template: String,
}

/// A session as clients see it.
#[derive(Clone, Debug)]
pub struct SessionInfo {
    /// Its name.
    pub id: SessionId,
    /// Where it is.
    pub state: SessionState,
    /// When it was made.
    pub created: Timestamp,
    /// When it ends.
    pub expires: Timestamp,
    /// When it was last used.
    pub last_used: Timestamp,
    /// How long it lives from when that was last set.
    pub ttl: Duration,
    /// How long it lives without being used.
    pub idle: Option<Duration>,
    /// Name of its policy.
    pub policy: String,
    /// What it runs in.
    pub image: Arc<Image>,
    /// Of each of its interpreters and of its files.
    pub limits: Limits,
    /// Calls that it has served.
    pub calls: u64,
    /// What it takes.
    pub footprint: Footprint,
    /// As they were given.
    pub labels: BTreeMap<String, String>,
    /// What becomes of it in the end.
    pub on_expiry: OnExpiry,
    /// Whether a call resumes it when it is paused.
    pub auto_resume: bool,
    /// What it was made from.
    pub template: String,
    /// A secret that opens this session, for dialects that have such.
    pub token: Token,
}

/// Where a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// It serves a call.
    Busy,
    /// It waits for one.
    Idle,
    /// It waits for one on disk: the next call brings it back.
    Stored,
    /// It is on disk until somebody resumes it.
    Paused,
}

/// One session.
pub struct Session {
    id: SessionId,
    /// The key whose it is.
    owner: Option<KeyId>,
    created: Timestamp,
    policy: String,
    image: Arc<Image>,
    grant: Grant,
    labels: BTreeMap<String, String>,
    on_expiry: OnExpiry,
    auto_resume: bool,
    template: String,
    token: Token,
    times: Mutex<Times>,
    calls: AtomicU64,
    /// Calls that are served or wait.
    waiting: AtomicU32,
    footprint: Mutex<Footprint>,
    /// What it counts for among those in workers, in bytes.
    live_bytes: AtomicU64,
    /// Calls of one context are served one by one, in order.
    order: Mutex<HashMap<ContextNumber, Arc<tokio::sync::Mutex<()>>>>,
    commands: commands::Commands,
    /// Ends those who watch its files.
    detached: Mutex<CancellationToken>,
    /// Read by whoever uses it; written by whoever moves it.
    place: Arc<RwLock<Place>>,
}

/// What a session is, from its beginning to its end.
struct Nature {
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
    token: Token,
}

#[derive(Clone, Copy, Debug)]
struct Times {
    expires: Timestamp,
    ttl: Duration,
    idle: Option<Duration>,
    last_used: Timestamp,
    /// Until somebody resumes it, its time stands still.
    paused: bool,
}

/// Where a session is.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// In a worker.
    Live(Kept),
    /// On disk; `paused` when only a client may bring it back.
    Stored { checkpoint: CheckpointId, paused: bool },
    /// Its worker ended, or it did.
    Gone,
}

/// All sessions of a service.
#[derive(Default)]
pub(super) struct Sessions {
    all: Mutex<BTreeMap<SessionId, Arc<Session>>>,
    /// How many there may be.
    most: usize,
    /// What those in workers may take together, in bytes.
    memory_bytes: u64,
    /// What checkpoints and sessions on disk may take together, in bytes.
    store_bytes: u64,
    /// What they take.
    live_bytes: AtomicU64,
    /// They take more than that.
    grew: tokio::sync::Notify,
    /// Somebody is making room.
    making_room: tokio::sync::Mutex<()>,
}

impl Sessions {
    /// None yet.
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

    /// How many are in workers, and how many on disk.
    pub fn places(&self) -> (u64, u64) {
        let all = self.all();
        let live = all.values().filter(|session| session.live_bytes.load(Ordering::Relaxed) > 0).count() as u64;
        (live, all.len() as u64 - live)
    }

    /// One whose time is not over: it is gone then, whenever it is looked for.
    fn get(&self, id: SessionId) -> Result<Arc<Session>, SessionError> {
        let session = self.all().get(&id).cloned().ok_or(SessionError::NotFound)?;
        let gone = session.on_expiry == OnExpiry::End && session.is_over(Timestamp::now());
        if gone { Err(SessionError::NotFound) } else { Ok(session) }
    }

    /// One more, if there may be.
    fn insert(&self, session: Arc<Session>, most_of_owner: Option<u32>) -> Result<(), SessionError> {
        let mut all = self.all();
        self.room(&all, session.owner, most_of_owner)?;
        all.insert(session.id, session);
        Ok(())
    }

    /// Whether there may be one more, of all and of this owner's.
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
    /// One that has served no call.
    fn new(nature: Nature, times: Times, place: Place) -> Self {
        let Nature { id, owner, created, policy, image, grant, labels, on_expiry, auto_resume, template, token } =
            nature;
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
            token,
            times: Mutex::new(times),
            calls: AtomicU64::new(0),
            waiting: AtomicU32::new(0),
            footprint: Mutex::default(),
            live_bytes: AtomicU64::new(0),
            order: Mutex::default(),
            commands: commands::Commands::default(),
            detached: Mutex::default(),
            place: Arc::new(RwLock::new(place)),
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

    /// When those who watch its files are to stop.
    fn detached(&self) -> CancellationToken {
        self.detached.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends what goes on beside calls: it ends or is paused.
    fn detach(&self) {
        self.commands.kill_all();
        std::mem::take(&mut *self.detached.lock().unwrap_or_else(PoisonError::into_inner)).cancel();
    }

    /// It is not paused any more: it has its time again.
    fn resumed(&self) {
        let mut times = self.times();
        times.paused = false;
        times.last_used = Timestamp::now();
        times.expires = after(times.last_used, times.ttl);
    }

    fn used(&self) {
        self.times().last_used = Timestamp::now();
    }

    /// Whether its time is over.
    fn is_over(&self, now: Timestamp) -> bool {
        let times = *self.times();
        let idle_over = times.idle.is_some_and(|idle| now >= after(times.last_used, idle));
        let busy = self.waiting.load(Ordering::Relaxed) > 0 || self.commands.any();
        !times.paused && (now >= times.expires || (idle_over && !busy))
    }

    fn info(&self) -> SessionInfo {
        let Times { expires, ttl, idle, last_used, .. } = *self.times();
        let state = match self.place.try_read().as_deref() {
            Ok(Place::Stored { paused: true, .. }) => SessionState::Paused,
            Ok(Place::Stored { paused: false, .. }) => SessionState::Stored,
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
            token: self.token.clone(),
        }
    }
}

/// A time that much later; the last there is, where there is none.
fn after(time: Timestamp, duration: Duration) -> Timestamp {
    time.checked_add(duration).unwrap_or(Timestamp::MAX)
}

fn most_sessions(caller: &Caller) -> Option<u32> {
    caller.key().and_then(|key| key.sessions)
}

/// A secret nobody guesses.
fn token() -> Result<Token, SessionError> {
    let mut bytes = Zeroizing::new([0; 24]);
    getrandom::fill(bytes.as_mut_slice()).map_err(|_| SessionError::NoRandomness)?;
    // With room for all of it: what grows leaves copies behind.
    let mut text = String::with_capacity(2 * bytes.len());
    bytes.iter().for_each(|byte| write!(text, "{byte:02x}").expect("writing to a String never fails"));
    Ok(Token::new(text))
}

impl Service {
    /// Does what must not be left half done, whether or not the client who asked for it waits: a session whose place
    /// nobody knows would stay in its worker for ever.
    async fn whole<T: Send + 'static, F: Future<Output = Result<T, SessionError>> + Send + 'static>(
        &self,
        work: impl FnOnce(Arc<Self>) -> F,
    ) -> Result<T, SessionError> {
        let Some(me) = self.me.upgrade() else { return Err(SessionError::Lost) };
        let done = tokio::spawn(telemetry::carry(work(me))).await;
        done.unwrap_or_else(|panicked| Err(SessionError::Failed(panicked.to_string())))
    }

    /// A new session.
    ///
    /// # Errors
    /// When it is refused; see [`SessionError`].
    pub async fn open_session(&self, asked: SessionAsked) -> Result<SessionInfo, SessionError> {
        self.whole(|me| async move { me.opened(asked).await }).await
    }

    async fn opened(&self, asked: SessionAsked) -> Result<SessionInfo, SessionError> {
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
        let session = self.session(&asked, policy, image, grant.clone())?;
        let SessionAsked { env, files, .. } = asked;
        let opening = Opening { limits: *grant.limits(), env, files, image: hash };
        let kept = self.sandbox.open(opening).await?;
        self.enlist(&asked.caller, session, kept, Footprint::default()).await
    }

    /// A session in this worker, from now on.
    async fn enlist(
        &self,
        caller: &Caller,
        session: Session,
        kept: Kept,
        footprint: Footprint,
    ) -> Result<SessionInfo, SessionError> {
        let session = Arc::new(session);
        *session.place.write().await = Place::Live(kept);
        if let Err(error) = self.sessions.insert(Arc::clone(&session), most_sessions(caller)) {
            let _ = self.sandbox.close(kept).await;
            return Err(error);
        }
        self.note_footprint(&session, Some(footprint));
        self.metrics.sessions_opened.inc();
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
            if let Some(asked) = asked.filter(|asked| *asked > LONGEST_TTL) {
                return Err(SessionError::TtlTooLong { field, asked, allowed: LONGEST_TTL });
            }
        }
        // Told before anything is made; `insert` looks again.
        let owner = asked.caller.owner();
        self.sessions
            .room(&self.sessions.all(), owner, most_sessions(&asked.caller))
            .inspect_err(|_| self.metrics.refused.with_label_values(&["sessions"]).inc())?;
        let now = Timestamp::now();
        let times = Times { expires: after(now, ttl), ttl, idle: asked.idle, last_used: now, paused: false };
        let nature = Nature {
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
            token: token()?,
        };
        Ok(Session::new(nature, times, Place::Gone))
    }

    /// One session.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn session_info(&self, id: SessionId) -> Result<SessionInfo, SessionError> {
        Ok(self.sessions.get(id)?.info())
    }

    /// Whether this session is the caller's own.
    pub fn is_own_session(&self, caller: &Caller, id: SessionId) -> bool {
        self.sessions.all().get(&id).is_some_and(|session| session.owner == caller.owner())
    }

    /// At most `limit` sessions of the caller's own, the oldest first, those `after` the one of that name only.
    pub fn session_list(&self, caller: &Caller, after: Option<SessionId>, limit: usize) -> Vec<SessionInfo> {
        use std::ops::Bound::{Excluded, Unbounded};
        let all = self.sessions.all();
        let range = all.range((after.map_or(Unbounded, Excluded), Unbounded));
        let own = range.map(|(_, session)| session).filter(|session| session.owner == caller.owner());
        own.take(limit).map(|session| session.info()).collect()
    }

    /// A session that is told by its name and its token.
    pub fn find_session(&self, mut is_it: impl FnMut(SessionId, &str) -> bool) -> Option<SessionId> {
        let all: Vec<Arc<Session>> = self.sessions.all().values().cloned().collect();
        all.into_iter().find(|session| is_it(session.id, &session.token)).map(|session| session.id)
    }

    /// Lets a session end that long from now; only later than it would, where it is to be `extended`.
    ///
    /// # Errors
    /// When there is none of that name, or that is too long.
    pub async fn keep_session(
        &self,
        id: SessionId,
        ttl: Duration,
        extended: bool,
    ) -> Result<SessionInfo, SessionError> {
        if ttl > LONGEST_TTL {
            return Err(SessionError::TtlTooLong { field: "ttl_seconds", asked: ttl, allowed: LONGEST_TTL });
        }
        let session = self.sessions.get(id)?;
        {
            let mut times = session.times();
            let expires = after(Timestamp::now(), ttl);
            if !extended || expires > times.expires {
                times.expires = expires;
                times.ttl = ttl;
            }
        }
        // Nobody moves it meanwhile.
        let place = session.place.read().await;
        if let Place::Stored { checkpoint, paused } = *place {
            self.note_row(&session, checkpoint, paused).await?;
        }
        drop(place);
        Ok(session.info())
    }
}
