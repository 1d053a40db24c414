//! Sessions on disk: those that make room for others, those that are paused; checkpoints, and what goes on from them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::room::Need;
use super::{Place, Session, SessionAsked, SessionError, SessionInfo, remembered};
use crate::sandbox::{AskError, Kept, KeptError};
use crate::service::{ExecuteError, Service};
use proofbox_policy::Refusal;
use proofbox_runtime::image::Image;
use proofbox_store::{
    Bounds, CheckpointFilter, CheckpointKind, CheckpointRow, Quota, Store, StoreError, StoredCheckpoint,
};
use proofbox_types::caller::Caller;
use proofbox_types::grant::{AskedLimits, Limits};
use proofbox_types::ids::{CheckpointId, KeyId, SessionId};
use proofbox_types::session::Footprint;

/// Memory of a session in a worker beside its pages, in bytes: tables, stacks, its slot in the pool.
const OVERHEAD: u64 = 96 << 10;
/// Time for which a checkpoint is stored.
const CHECKPOINT_TTL: Duration = Duration::from_secs(30 * 24 * 3600);
/// Forks of one call.
pub const MAX_FORKS: usize = 64;

/// A checkpoint as clients see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointInfo {
    /// Id of the checkpoint.
    pub id: CheckpointId,
    /// The session that it was made of.
    pub session: Option<SessionId>,
    /// Name that the client gave.
    pub name: Option<String>,
    /// Time at which the checkpoint was made.
    pub created: Timestamp,
    /// Size on disk, in bytes.
    pub bytes: u64,
    /// The image that it belongs to.
    pub image_hash: String,
}

/// Properties that a session needs beside its memory and files to continue elsewhere.
#[derive(Debug, Serialize, Deserialize)]
struct About {
    policy: String,
    limits: Limits,
    labels: std::collections::BTreeMap<String, String>,
    template: String,
    calls: u64,
}

/// A checkpoint that was taken from the store.
struct Taken {
    row: CheckpointRow,
    about: About,
    /// Image that the checkpoint was made in.
    image: Arc<Image>,
    bytes: Vec<u8>,
}

/// Checks that a checkpoint belongs to the image that it is wanted in.
///
/// # Errors
/// Returns an error when it belongs to another image.
fn same_image(theirs: &Image, ours: &Image) -> Result<(), SessionError> {
    if theirs.image_hash == ours.image_hash {
        return Ok(());
    }
    Err(SessionError::OtherImage { theirs: theirs.image_hash.clone(), ours: ours.image_hash.clone() })
}

impl Session {
    fn about(&self) -> About {
        About {
            policy: self.policy.clone(),
            limits: *self.grant.limits(),
            labels: self.labels.clone(),
            template: self.template.clone(),
            calls: self.calls.load(Ordering::Relaxed),
        }
    }
}

pub(super) fn failed(error: StoreError) -> SessionError {
    match error {
        StoreError::Damaged { what } => {
            SessionError::Refused(AskError::Checkpoint(format!("{what} is damaged, and can't be used any more")))
        }
        StoreError::Full => SessionError::StoreFull,
        StoreError::NoRoom => SessionError::NoStoreRoom,
        StoreError::OverQuota { asked, allowed } => SessionError::DiskQuota { asked, allowed },
        error => {
            tracing::error!(%error, "the store failed");
            SessionError::Store
        }
    }
}

/// An owner in the store.
fn word_of(owner: Option<KeyId>) -> String {
    owner.map_or_else(|| Caller::keyless().name().to_owned(), |key| key.to_string())
}

/// Returns whether a checkpoint is one that this caller asked for.
fn is_own(row: &CheckpointRow, caller: &Caller) -> bool {
    row.kind == CheckpointKind::Named && row.owner.as_ref().is_some_and(|owner| *owner == word_of(caller.owner()))
}

fn info_of(StoredCheckpoint { row, bytes, .. }: StoredCheckpoint) -> CheckpointInfo {
    CheckpointInfo {
        id: row.id.into(),
        session: row.session.map(Into::into),
        name: Some(row.name).filter(|name| !name.is_empty()),
        created: Timestamp::from_millisecond(row.created_at).unwrap_or(Timestamp::UNIX_EPOCH),
        bytes,
        image_hash: row.image_hash,
    }
}

impl Service {
    fn store(&self) -> Result<&Store, SessionError> {
        self.store.as_ref().ok_or(SessionError::NoStore)
    }

    /// Notes what a session takes now; 0 bytes when it is in no worker.
    pub(super) fn note_footprint(&self, session: &Session, footprint: Option<Footprint>) {
        let bytes = footprint.map_or(0, |footprint| footprint.memory_bytes + footprint.files_bytes + OVERHEAD);
        if let Some(footprint) = footprint {
            session.set_footprint(footprint);
        }
        let before = session.live_bytes.swap(bytes, Ordering::Relaxed);
        let sessions = &self.sessions;
        sessions.live_bytes.fetch_add(bytes, Ordering::Relaxed);
        let total = sessions.live_bytes.fetch_sub(before, Ordering::Relaxed) - before;
        self.metrics.sessions_memory_bytes.set(i64::try_from(total).unwrap_or(i64::MAX));
        if total > sessions.memory_bytes {
            sessions.grew.notify_one();
        }
    }

    /// A session and what it takes now, where it is in a worker and nobody moves it; else what it took last.
    ///
    /// # Errors
    /// Returns an error when there is no such session.
    pub async fn measure_session(&self, id: SessionId) -> Result<SessionInfo, SessionError> {
        let session = self.sessions.get(id)?;
        if let Ok(place) = Arc::clone(&session.place).try_read_owned()
            && let Place::Live(kept) = *place
            && let Ok(footprint) = self.sandbox.footprint(kept).await
        {
            self.note_footprint(&session, Some(footprint));
        }
        Ok(session.info())
    }

    /// Moves a session to disk, unless it is used.
    pub(super) async fn evict(&self, session: &Arc<Session>) -> Result<bool, SessionError> {
        let Ok(mut place) = Arc::clone(&session.place).try_write_owned() else { return Ok(false) };
        let Place::Live(kept) = *place else { return Ok(false) };
        let checkpoint = self.put(session, kept, CheckpointKind::Evicted, None).await?;
        let _ = self.sandbox.close(kept).await;
        *place = Place::Stored { checkpoint: checkpoint.id, paused: false };
        self.note_footprint(session, None);
        self.metrics.sessions_evicted.inc();
        Ok(true)
    }

    /// Saves a session to the store.
    async fn put(
        &self,
        session: &Session,
        kept: Kept,
        kind: CheckpointKind,
        name: Option<String>,
    ) -> Result<CheckpointInfo, SessionError> {
        let store = self.store()?;
        let bytes = self.sandbox.save(kept).await?;
        let created = Timestamp::now();
        let info = CheckpointInfo {
            id: CheckpointId::generate(),
            session: Some(session.id),
            name,
            created,
            bytes: bytes.len() as u64,
            image_hash: session.image.image_hash.clone(),
        };
        let row = CheckpointRow {
            id: info.id.uuid(),
            session: Some(session.id.uuid()),
            name: info.name.clone().unwrap_or_default(),
            kind,
            created_at: created.as_millisecond(),
            expires_at: match kind {
                CheckpointKind::Named => Some(super::after(created, CHECKPOINT_TTL).as_millisecond()),
                CheckpointKind::Evicted | CheckpointKind::Paused => None,
            },
            image_hash: info.image_hash.clone(),
            owner: Some(word_of(session.owner)),
            meta: postcard::to_stdvec(&session.about()).expect("plain data"),
        };
        let bytes = bytes.into();
        let owner_bytes = self.keys.disk_bytes(session.owner);
        let quota = Quota { total_bytes: self.sessions.store_bytes, owner_bytes };
        let put = match kind {
            CheckpointKind::Named => store.put_checkpoint(row, bytes, quota).await,
            // With what must be known of the session: it is on disk, whatever becomes of this process.
            CheckpointKind::Evicted | CheckpointKind::Paused => {
                store.put_session_with(session.row(info.id, kind == CheckpointKind::Paused), row, bytes, quota).await
            }
        };
        let displaced = put.map_err(|error| {
            // An eviction is nobody's request.
            if error.is_want_of_room() && kind != CheckpointKind::Evicted {
                self.metrics.refused.with_label_values(&["storage"]).inc();
            }
            failed(error)
        })?;
        if displaced.checkpoints > 0 {
            tracing::info!(checkpoints = displaced.checkpoints, "checkpoints were removed for others");
        }
        self.end_displaced(displaced.sessions);
        Ok(info)
    }

    /// Bytes of a checkpoint of an image that is there, and what goes with them.
    async fn take(&self, id: CheckpointId) -> Result<Taken, SessionError> {
        let found = self.store()?.get_checkpoint(id.uuid()).await.map_err(failed)?;
        let (StoredCheckpoint { row, .. }, bytes) = found.ok_or(SessionError::NoCheckpoint)?;
        let Some(image) = self.images.find(&row.image_hash).map(Arc::clone) else {
            let ours = self.images.default().image_hash.clone();
            return Err(SessionError::OtherImage { theirs: row.image_hash, ours });
        };
        let about = postcard::from_bytes(&row.meta)
            .map_err(|_| failed(StoreError::Damaged { what: format!("checkpoint {id}") }))?;
        Ok(Taken { row, about, image, bytes: bytes.to_vec() })
    }

    /// Loads a checkpoint into a worker; where there is no room, others are moved to disk first.
    async fn load(
        &self,
        owner: Option<KeyId>,
        bytes: Vec<u8>,
        image: &Image,
        limits: &Limits,
    ) -> Result<(Kept, Footprint), SessionError> {
        let image = self.images.worker_hash(image);
        match self.sandbox.load(bytes.clone(), image.clone(), limits).await {
            Err(KeptError::Refused(AskError::NoRoom(_))) => {
                self.make_room_apart(Need::Slot { owner }).await;
                Ok(self.sandbox.load(bytes, image, limits).await?)
            }
            other => Ok(other?),
        }
    }

    /// Brings a session back from disk, if it is still there.
    pub(super) async fn bring_back(&self, session: &Session) -> Result<(), SessionError> {
        let mut place = session.place.write().await;
        let Place::Stored { checkpoint, paused } = *place else { return Ok(()) };
        let Taken { bytes, image, .. } = match self.take(checkpoint).await {
            // Its state made room for others a moment ago; its end is on its way.
            Err(SessionError::NoCheckpoint) => return Err(SessionError::NotFound),
            taken => taken?,
        };
        let (kept, footprint) = self.load(session.owner, bytes, &image, session.grant.limits()).await?;
        *place = Place::Live(kept);
        self.note_footprint(session, Some(footprint));
        self.metrics.sessions_restored.inc();
        if paused {
            session.resumed();
        }
        self.forget_stored(session).await;
        drop(place);
        Ok(())
    }

    /// Removes the stored state of a session which is elsewhere now, or has ended.
    pub(super) async fn forget_stored(&self, session: &Session) {
        if let Some(store) = &self.store {
            remembered::forget(store, session.id).await;
        }
    }

    /// Notes what has changed of a session on disk.
    pub(super) async fn note_row(
        &self,
        session: &Session,
        checkpoint: CheckpointId,
        paused: bool,
    ) -> Result<(), SessionError> {
        self.store()?.put_session(session.row(checkpoint, paused)).await.map_err(failed)
    }

    /// Stores a session on disk until a client resumes it; without its `memory`, its files only.
    ///
    /// # Errors
    /// Returns an error when the session is paused already ([`SessionError::Paused`]), or can't be saved.
    pub async fn pause_session(&self, id: SessionId, memory: bool) -> Result<(), SessionError> {
        let session = self.sessions.get(id)?;
        self.whole(|me| async move { me.pause(&session, memory).await }).await
    }

    pub(super) async fn pause(&self, session: &Session, memory: bool) -> Result<(), SessionError> {
        // What a command does can't be kept.
        session.detach();
        let mut place = session.place.write().await;
        match *place {
            Place::Gone => Err(SessionError::NotFound),
            Place::Stored { paused: true, .. } => Err(SessionError::Paused),
            Place::Stored { checkpoint, paused: false } if memory => {
                session.times().paused = true;
                self.note_row(session, checkpoint, true).await?;
                *place = Place::Stored { checkpoint, paused: true };
                Ok(())
            }
            Place::Stored { checkpoint, .. } => {
                let Taken { bytes, image, .. } = self.take(checkpoint).await?;
                let (kept, _) = self.load(session.owner, bytes, &image, session.grant.limits()).await?;
                self.forget_stored(session).await;
                *place = Place::Live(kept);
                self.pause_live(session, kept, &mut place, memory).await
            }
            Place::Live(kept) => self.pause_live(session, kept, &mut place, memory).await,
        }
    }

    async fn pause_live(
        &self,
        session: &Session,
        kept: Kept,
        place: &mut Place,
        memory: bool,
    ) -> Result<(), SessionError> {
        if !memory {
            for (context, _) in self.sandbox.contexts(kept).await? {
                self.sandbox.restart(kept, context).await?;
            }
        }
        let checkpoint = self.put(session, kept, CheckpointKind::Paused, None).await?;
        let _ = self.sandbox.close(kept).await;
        *place = Place::Stored { checkpoint: checkpoint.id, paused: true };
        session.times().paused = true;
        self.note_footprint(session, None);
        Ok(())
    }

    /// Resumes a session, and returns whether it was paused.
    ///
    /// # Errors
    /// Returns an error when there is no such session.
    pub async fn resume_session(&self, id: SessionId) -> Result<bool, SessionError> {
        let session = self.sessions.get(id)?;
        let mut place = session.place.write().await;
        match *place {
            Place::Stored { checkpoint, paused: true } => {
                session.resumed();
                self.note_row(&session, checkpoint, false).await?;
                *place = Place::Stored { checkpoint, paused: false };
                Ok(true)
            }
            Place::Gone => Err(SessionError::NotFound),
            _ => Ok(false),
        }
    }

    /// Stores the state of a session as a checkpoint, when its calls have ended.
    ///
    /// # Errors
    /// Returns an error when there is no such session, or its state can't be saved.
    pub async fn checkpoint_session(
        &self,
        id: SessionId,
        name: Option<String>,
    ) -> Result<CheckpointInfo, SessionError> {
        let session = self.sessions.get(id)?;
        let place = self.enter_anyway(&session).await?;
        self.put(&session, place.kept, CheckpointKind::Named, name).await
    }

    /// Checkpoints that this caller asked for, the newest first, as many as one list of the store has.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub async fn checkpoints(&self, caller: &Caller) -> Result<Vec<CheckpointInfo>, SessionError> {
        let owner = Some(word_of(caller.owner()));
        let filter = CheckpointFilter { kind: Some(CheckpointKind::Named), owner, ..CheckpointFilter::default() };
        let found = self.store()?.list_checkpoints(filter, usize::MAX, None).await.map_err(failed)?;
        Ok(found.into_iter().map(info_of).collect())
    }

    /// Removes a checkpoint of the caller.
    ///
    /// # Errors
    /// Returns an error when there is no such checkpoint.
    pub async fn delete_checkpoint(&self, caller: &Caller, id: CheckpointId) -> Result<(), SessionError> {
        let found = self.store()?.find_checkpoint(id.uuid()).await.map_err(failed)?;
        // What is kept of a session that waits is no client's to remove.
        if found.is_none_or(|found| !is_own(&found.row, caller)) {
            return Err(SessionError::NoCheckpoint);
        }
        self.store()?.delete_checkpoint(id.uuid()).await.map_err(failed)?;
        Ok(())
    }

    /// Removes from the store what is too old or too much.
    pub(super) async fn prune_store(&self) {
        let Some(store) = &self.store else { return };
        let bounds = Bounds { total_bytes: self.sessions.store_bytes, named_age: CHECKPOINT_TTL };
        match store.prune(Timestamp::now().as_millisecond(), bounds).await {
            Ok(pruned) => {
                if pruned.expired + pruned.for_room > 0 {
                    tracing::info!(expired = pruned.expired, for_room = pruned.for_room, "checkpoints were removed");
                }
                self.end_displaced(pruned.displaced);
            }
            Err(error) => tracing::warn!(%error, "the store could not be pruned"),
        }
    }

    /// Opens a session that continues from a checkpoint.
    pub(super) async fn open_from(&self, id: CheckpointId, asked: SessionAsked) -> Result<SessionInfo, SessionError> {
        let Taken { row, about, image, bytes } = self.take(id).await?;
        if !is_own(&row, &asked.caller) {
            return Err(SessionError::NoCheckpoint);
        }
        if let Some(wanted) = &asked.image {
            same_image(&image, &*self.image_asked(Some(wanted))?)?;
        }
        self.has_fuel(&asked.caller).map_err(ExecuteError::from)?;
        let policy = asked.policy.clone().unwrap_or_else(|| about.policy.clone());
        let policies = self.policies();
        let pack = policies.pack(&asked.caller, &policy)?;
        let (own, theirs) = (asked.limits, remembered::asked(&about.limits));
        let limits = AskedLimits {
            fuel: own.fuel.or(theirs.fuel),
            wall_seconds: own.wall_seconds.or(theirs.wall_seconds),
            memory_bytes: own.memory_bytes.or(theirs.memory_bytes),
            output_bytes: own.output_bytes.or(theirs.output_bytes),
            files_bytes: own.files_bytes.or(theirs.files_bytes),
            files_count: own.files_count.or(theirs.files_count),
        };
        let grant = pack.ceiling.grant(&limits).map_err(Refusal::from)?;
        let mut asked = asked;
        if asked.labels.is_empty() {
            asked.labels = about.labels;
        }
        if asked.template.is_empty() {
            asked.template = about.template;
        }
        let session = self.session(&asked, policy, Arc::clone(&image), grant.clone())?;
        session.calls.store(about.calls, Ordering::Relaxed);
        let (kept, footprint) = self.load(session.owner, bytes, &image, grant.limits()).await?;
        self.enlist(&asked.caller, session, kept, footprint).await
    }

    /// Restores a session to the state of a checkpoint.
    ///
    /// # Errors
    /// Returns an error when there is no such session or checkpoint, or the checkpoint does not fit its limits.
    pub async fn restore_session(
        &self,
        caller: &Caller,
        id: SessionId,
        checkpoint: CheckpointId,
    ) -> Result<SessionInfo, SessionError> {
        let caller = caller.clone();
        self.whole(|me| async move { me.restored(&caller, id, checkpoint).await }).await
    }

    async fn restored(
        &self,
        caller: &Caller,
        id: SessionId,
        checkpoint: CheckpointId,
    ) -> Result<SessionInfo, SessionError> {
        let session = self.sessions.get(id)?;
        let Taken { row, about, image, bytes } = self.take(checkpoint).await?;
        if !is_own(&row, caller) {
            return Err(SessionError::NoCheckpoint);
        }
        same_image(&image, &session.image)?;
        // What runs in it would have its session taken away under it.
        self.enter_anyway(&session).await?;
        let mut place = session.place.write().await;
        let Place::Live(old) = *place else { return Err(SessionError::NotFound) };
        let (kept, footprint) = self.load(session.owner, bytes, &image, session.grant.limits()).await?;
        *place = Place::Live(kept);
        let _ = self.sandbox.close(old).await;
        session.calls.store(about.calls, Ordering::Relaxed);
        self.note_footprint(&session, Some(footprint));
        drop(place);
        session.used();
        Ok(session.info())
    }

    /// Forks `count` sessions from this one, when its calls have ended: all or none.
    ///
    /// # Errors
    /// Returns an error when there is no such session, or no room.
    pub async fn fork_session(
        &self,
        id: SessionId,
        count: usize,
        ttl: Option<Duration>,
    ) -> Result<Vec<SessionInfo>, SessionError> {
        self.whole(|me| async move { me.forked(id, count, ttl).await }).await
    }

    async fn forked(
        &self,
        id: SessionId,
        count: usize,
        ttl: Option<Duration>,
    ) -> Result<Vec<SessionInfo>, SessionError> {
        if count == 0 || count > MAX_FORKS {
            return Err(SessionError::Forks { asked: count, allowed: MAX_FORKS });
        }
        let original = self.sessions.get(id)?;
        let (idle, left) = {
            let times = *original.times();
            (times.idle, ttl.unwrap_or(times.ttl))
        };
        let caller = self.keys.caller_of(original.owner).ok_or(SessionError::KeyRevoked)?;
        let asked = SessionAsked {
            caller,
            ttl: Some(left),
            idle,
            labels: original.labels.clone(),
            on_expiry: original.on_expiry,
            auto_resume: original.auto_resume,
            template: original.template.clone(),
            ..SessionAsked::default()
        };
        let sessions = std::iter::repeat_with(|| {
            self.session(&asked, original.policy.clone(), Arc::clone(&original.image), original.grant.clone())
        });
        let sessions: Vec<Session> = sessions.take(count).collect::<Result<_, _>>()?;
        let place = self.enter_anyway(&original).await?;
        let forked = match self.sandbox.fork(place.kept, count).await {
            Err(KeptError::Refused(AskError::NoRoom(_))) => {
                self.make_room_apart(Need::Slot { owner: original.owner }).await;
                self.sandbox.fork(place.kept, count).await
            }
            other => other,
        };
        let (forks, footprint) = self.kept(&place, forked)?;
        drop(place);
        let mut made = Vec::with_capacity(count);
        for (session, kept) in sessions.into_iter().zip(forks) {
            session.calls.store(original.calls.load(Ordering::Relaxed), Ordering::Relaxed);
            made.push(self.enlist(&asked.caller, session, kept, footprint).await?);
        }
        Ok(made)
    }
}
