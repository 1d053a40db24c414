//! Sessions on disk: those that make room for others, those that are paused; checkpoints, and what goes on from them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::OwnedRwLockWriteGuard;

use super::error::store_failed;
use super::{
    CheckpointInfo, LifecycleChange, Residency, SavedState, Session, SessionAsked, SessionError, SessionInfo,
    SessionManager, SessionSpec, Setup, TaggedCheckpoint, persistence,
};
use crate::sandbox::{JobsAtSave, RequestError, SessionHandle};
use crate::service::ExecuteError;
use crate::service::execution::requested_image;
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
/// Time after which a paused session is tried again to be moved to disk whose calls have left jobs.
const SETTLE_AGAIN: Duration = Duration::from_secs(1);
/// Time after which it is tried again when that has failed.
const SETTLE_AGAIN_AFTER_ERROR: Duration = Duration::from_secs(10);
/// Forks of one call.
pub(super) const MAX_FORKS: usize = 64;

/// Properties that a session needs beside its memory and files to continue elsewhere.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CheckpointMeta {
    policy: String,
    limits: Limits,
    labels: std::collections::BTreeMap<String, String>,
    template: String,
    calls: u64,
    pub(super) setup: Setup,
}

/// Purpose for which the state of a session is saved.
pub(super) enum Saving {
    /// The session goes to disk.
    Evicted {
        /// Treatment of its background jobs.
        jobs: JobsAtSave,
    },
    /// The session goes to disk until a client resumes it.
    Paused {
        /// Treatment of its background jobs.
        jobs: JobsAtSave,
    },
    /// A client asked for a checkpoint.
    Named {
        /// Name of the checkpoint.
        name: Option<String>,
    },
    /// A client asked for a checkpoint with tags.
    Tagged {
        /// The checkpoint.
        asked: TaggedCheckpoint,
        /// Number of tags that its owner may have.
        most: usize,
    },
}

impl Saving {
    fn kind(&self) -> CheckpointKind {
        match self {
            Self::Evicted { .. } => CheckpointKind::Evicted,
            Self::Paused { .. } => CheckpointKind::Paused,
            Self::Named { .. } | Self::Tagged { .. } => CheckpointKind::Named,
        }
    }
}

/// A checkpoint that was taken from the store.
struct LoadedCheckpoint {
    row: CheckpointRow,
    meta: CheckpointMeta,
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
    fn checkpoint_meta(&self, setup: Setup) -> CheckpointMeta {
        CheckpointMeta {
            setup,
            policy: self.spec.policy.clone(),
            limits: *self.spec.grant.limits(),
            labels: self.spec.labels.clone(),
            template: self.spec.template.clone(),
            calls: self.calls.load(Ordering::Relaxed),
        }
    }

    /// Returns the setup of sessions that continue from this one: its environment is in its state, and what runs in it
    /// is not.
    fn setup(&self) -> Setup {
        Setup { commands: self.spec.commands.clone(), ..Setup::default() }
    }

    /// Pauses the session in its worker, where its commands go on.
    async fn pause_in_worker(&self) -> Result<(), SessionError> {
        match *self.residency.read().await {
            Residency::Closed => Err(SessionError::NotFound),
            Residency::Paused { .. } => Err(SessionError::Paused),
            Residency::Resident(_) | Residency::Evicted { .. } => {
                self.end_watches();
                self.times().paused = true;
                Ok(())
            }
        }
    }
}

/// An owner in the store.
pub(in crate::service) fn owner_name(owner: Option<KeyId>) -> String {
    owner.map_or_else(|| Caller::keyless().name().to_owned(), |key| key.to_string())
}

/// Returns whether a checkpoint is one that this caller asked for.
pub(super) fn is_own(row: &CheckpointRow, caller: &Caller) -> bool {
    row.kind == CheckpointKind::Named && row.owner.as_ref().is_some_and(|owner| *owner == owner_name(caller.owner()))
}

/// Returns what a checkpoint's row says of its session.
///
/// # Errors
/// Returns an error when it was written by another version.
pub(super) fn meta_of(row: &CheckpointRow) -> Result<CheckpointMeta, SessionError> {
    postcard::from_bytes(&row.meta)
        .map_err(|_| store_failed(StoreError::Damaged { what: format!("checkpoint {}", CheckpointId::from(row.id)) }))
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

impl SessionManager {
    pub(super) fn store(&self) -> Result<&Store, SessionError> {
        self.store.as_deref().ok_or(SessionError::NoStore)
    }

    /// Notes what a session takes now; 0 bytes when it is in no worker.
    pub(super) fn note_footprint(&self, session: &Session, footprint: Option<Footprint>) {
        let bytes = footprint.map_or(0, |footprint| footprint.memory_bytes + footprint.files_bytes + OVERHEAD);
        if let Some(footprint) = footprint {
            session.set_footprint(footprint);
        }
        let before = session.live_bytes.swap(bytes, Ordering::Relaxed);
        let sessions = &self.table;
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
    pub async fn measure(&self, id: SessionId) -> Result<SessionInfo, SessionError> {
        let session = self.table.get(id)?;
        if let Ok(residency) = Arc::clone(&session.residency).try_read_owned()
            && let Residency::Resident(handle) = *residency
            && let Ok(footprint) = self.sandbox.footprint(handle).await
        {
            self.note_footprint(&session, Some(footprint));
        }
        Ok(session.info())
    }

    /// Returns the time that a session has had the core since it came to its worker; none where it is in no worker.
    pub async fn cpu_time(&self, id: SessionId) -> Option<Duration> {
        let session = self.table.get(id).ok()?;
        let residency = Arc::clone(&session.residency).try_read_owned().ok()?;
        let Residency::Resident(handle) = *residency else { return None };
        self.sandbox.cpu_time(handle).await.ok()
    }

    /// Moves a session to disk, unless it is used.
    pub(super) async fn evict(&self, session: &Arc<Session>) -> Result<bool, SessionError> {
        let Ok(residency) = Arc::clone(&session.residency).try_write_owned() else { return Ok(false) };
        match self.move_to_disk(session, residency, JobsAtSave::Refuse).await {
            Err(SessionError::Refused(RequestError::CommandsRun)) => Ok(false),
            other => other,
        }
    }

    /// Moves a session to disk, where it is paused if it was; returns whether it was in a worker.
    pub(super) async fn move_to_disk(
        &self,
        session: &Session,
        mut residency: OwnedRwLockWriteGuard<Residency>,
        jobs: JobsAtSave,
    ) -> Result<bool, SessionError> {
        let Residency::Resident(handle) = *residency else { return Ok(false) };
        let paused = session.times().paused;
        let saving = if paused { Saving::Paused { jobs } } else { Saving::Evicted { jobs } };
        let checkpoint = self.put(session, handle, saving).await?.id;
        let _ = self.sandbox.close(handle).await;
        *residency = if paused { Residency::Paused { checkpoint } } else { Residency::Evicted { checkpoint } };
        self.note_footprint(session, None);
        self.metrics.sessions_evicted.inc();
        Ok(true)
    }

    /// Moves a session to disk that was paused while its commands ran, when those have ended.
    pub(super) async fn settle(&self, session: &Arc<Session>) {
        let Ok(residency) = Arc::clone(&session.residency).try_write_owned() else { return };
        if !session.times().paused {
            return;
        }
        session.times().settles = super::after(Timestamp::now(), SETTLE_AGAIN);
        match self.move_to_disk(session, residency, JobsAtSave::Refuse).await {
            Ok(_) | Err(SessionError::Refused(RequestError::CommandsRun)) => {}
            Err(error) => {
                tracing::warn!(session = %session.id, %error, "a paused session could not be moved to disk");
                session.times().settles = super::after(Timestamp::now(), SETTLE_AGAIN_AFTER_ERROR);
            }
        }
    }

    /// Saves a session to the store.
    pub(super) async fn put(
        &self,
        session: &Session,
        handle: SessionHandle,
        saving: Saving,
    ) -> Result<CheckpointInfo, SessionError> {
        let store = self.store()?;
        let jobs = match saving {
            Saving::Evicted { jobs } | Saving::Paused { jobs } => jobs,
            Saving::Named { .. } | Saving::Tagged { .. } => JobsAtSave::LeaveOut,
        };
        let bytes = self.sandbox.save(handle, jobs).await?;
        // Only of a session that can go: one whose jobs go on is asked again and again.
        match saving {
            Saving::Evicted { .. } | Saving::Paused { .. } => self.write_back(session, handle).await?,
            Saving::Named { .. } | Saving::Tagged { .. } => {}
        }
        let created = Timestamp::now();
        let kind = saving.kind();
        let (id, name) = match &saving {
            Saving::Tagged { asked, .. } => (asked.id, Some(asked.name.clone())),
            Saving::Named { name } => (CheckpointId::generate(), name.clone()),
            Saving::Evicted { .. } | Saving::Paused { .. } => (CheckpointId::generate(), None),
        };
        let (setup, expires) = match &saving {
            Saving::Tagged { asked, .. } => (asked.setup.clone(), None),
            Saving::Named { .. } => (session.setup(), Some(super::after(created, CHECKPOINT_TTL))),
            Saving::Evicted { .. } | Saving::Paused { .. } => (session.setup(), None),
        };
        let info = CheckpointInfo {
            id,
            session: Some(session.id),
            name,
            created,
            bytes: bytes.len() as u64,
            image_hash: session.spec.image.image_hash.clone(),
        };
        let row = CheckpointRow {
            id: info.id.uuid(),
            session: Some(session.id.uuid()),
            name: info.name.clone().unwrap_or_default(),
            kind,
            created_at: created.as_millisecond(),
            expires_at: expires.map(Timestamp::as_millisecond),
            image_hash: info.image_hash.clone(),
            owner: Some(owner_name(session.spec.owner)),
            meta: postcard::to_stdvec(&session.checkpoint_meta(setup)).expect("plain data"),
        };
        let bytes = bytes.into();
        let owner_bytes = self.keys.disk_bytes(session.spec.owner);
        let quota = Quota { total_bytes: self.table.store_bytes, owner_bytes };
        let checkpoint = info.id;
        // With what must be known of the session: it is on disk, whatever becomes of this process.
        let session_row = |residency| session.row(residency).expect("it is on disk");
        let put = match saving {
            Saving::Named { .. } => store.put_checkpoint(row, bytes, quota).await,
            Saving::Tagged { asked, most } => {
                let tags = asked.rows(&owner_name(session.spec.owner), created);
                store.put_tagged_checkpoint(row, bytes, quota, tags, most).await
            }
            Saving::Paused { .. } => {
                store.put_session_with(session_row(Residency::Paused { checkpoint }), row, bytes, quota).await
            }
            Saving::Evicted { .. } => {
                store.put_session_with(session_row(Residency::Evicted { checkpoint }), row, bytes, quota).await
            }
        };
        let displaced = put.map_err(|error| {
            // An eviction is nobody's request.
            if error.is_want_of_room() && kind != CheckpointKind::Evicted {
                self.metrics.refused.with_label_values(&["storage"]).inc();
            }
            store_failed(error)
        })?;
        if displaced.checkpoints > 0 {
            tracing::info!(checkpoints = displaced.checkpoints, "checkpoints were removed for others");
        }
        self.end_displaced(displaced.sessions);
        Ok(info)
    }

    /// Bytes of a checkpoint of an image that is there, and what goes with them.
    async fn load_checkpoint(&self, id: CheckpointId) -> Result<LoadedCheckpoint, SessionError> {
        let found = self.store()?.get_checkpoint(id.uuid()).await.map_err(store_failed)?;
        let (StoredCheckpoint { row, .. }, bytes) = found.ok_or(SessionError::NoCheckpoint)?;
        let Some(image) = self.images.find(&row.image_hash).map(Arc::clone) else {
            let ours = self.images.default().image_hash.clone();
            return Err(SessionError::OtherImage { theirs: row.image_hash, ours });
        };
        let meta = meta_of(&row)?;
        Ok(LoadedCheckpoint { row, meta, image, bytes: bytes.to_vec() })
    }

    /// Loads a checkpoint into a worker, with more variables in its environment; where there is no room, others are moved to disk first.
    async fn load(
        &self,
        owner: Option<KeyId>,
        bytes: Vec<u8>,
        image: &Image,
        limits: &Limits,
        new_env: Vec<(String, String)>,
    ) -> Result<(SessionHandle, Footprint), SessionError> {
        let image = self.images.worker_hash(image);
        let ask = || self.sandbox.load(owner, bytes.clone(), image.clone(), limits, new_env.clone());
        Ok(self.with_slot(owner, ask).await?)
    }

    /// Brings a session back from disk, if it is still there.
    pub(super) async fn bring_back(&self, session: &Session) -> Result<(), SessionError> {
        let mut residency = session.residency.write().await;
        let (Some(checkpoint), paused) = (residency.checkpoint(), residency.is_paused()) else { return Ok(()) };
        let LoadedCheckpoint { bytes, image, .. } = match self.load_checkpoint(checkpoint).await {
            // Its state made room for others a moment ago; its end is on its way.
            Err(SessionError::NoCheckpoint) => return Err(SessionError::NotFound),
            taken => taken?,
        };
        let (handle, footprint) =
            self.load(session.spec.owner, bytes, &image, session.spec.grant.limits(), Vec::new()).await?;
        *residency = Residency::Resident(handle);
        self.note_footprint(session, Some(footprint));
        self.metrics.sessions_restored.inc();
        if paused {
            self.resume_one(session);
        }
        self.forget_stored(session).await;
        drop(residency);
        Ok(())
    }

    /// Removes the stored state of a session which is elsewhere now, or has ended.
    pub(super) async fn forget_stored(&self, session: &Session) {
        if let Some(store) = &self.store {
            persistence::forget(store, session.id).await;
        }
    }

    /// Notes what has changed of a session on disk.
    pub(super) async fn note_row(&self, session: &Session, residency: Residency) -> Result<(), SessionError> {
        let Some(row) = session.row(residency) else { return Ok(()) };
        self.store()?.put_session(row).await.map_err(store_failed)
    }

    /// Stores a session on disk until a client resumes it; or only its files. Commands go on in the worker while they
    /// run, and then the session goes to disk; those of a session of which only files are stored end.
    ///
    /// # Errors
    /// Returns an error when the session is paused already ([`SessionError::Paused`]), or can't be saved.
    pub async fn pause(&self, id: SessionId, saved: SavedState) -> Result<(), SessionError> {
        let session = self.table.get(id)?;
        if session.times().paused {
            return Err(SessionError::Paused);
        }
        self.spawn_uncancellable(|manager| async move { manager.pause_one(&session, saved).await }).await
    }

    pub(super) async fn pause_one(&self, session: &Session, saved: SavedState) -> Result<(), SessionError> {
        self.pause_quietly(session, saved).await?;
        self.note_lifecycle(session, LifecycleChange::Paused);
        Ok(())
    }

    /// Restarts the time of a session after a pause.
    pub(super) fn resume_one(&self, session: &Session) {
        session.resumed();
        self.note_lifecycle(session, LifecycleChange::Resumed);
    }

    async fn pause_quietly(&self, session: &Session, saved: SavedState) -> Result<(), SessionError> {
        self.store()?;
        match saved {
            // What a command does can't be stored.
            SavedState::Whole if session.commands.any() => return session.pause_in_worker().await,
            SavedState::Whole => session.end_watches(),
            SavedState::Files => session.detach(),
        }
        let mut residency = session.residency.write().await;
        match *residency {
            Residency::Closed => Err(SessionError::NotFound),
            Residency::Paused { .. } => Err(SessionError::Paused),
            Residency::Evicted { checkpoint } if saved == SavedState::Whole => {
                session.times().paused = true;
                self.note_row(session, Residency::Paused { checkpoint }).await?;
                *residency = Residency::Paused { checkpoint };
                Ok(())
            }
            Residency::Evicted { checkpoint } => {
                let LoadedCheckpoint { bytes, image, .. } = self.load_checkpoint(checkpoint).await?;
                let (handle, _) =
                    self.load(session.spec.owner, bytes, &image, session.spec.grant.limits(), Vec::new()).await?;
                self.forget_stored(session).await;
                *residency = Residency::Resident(handle);
                self.pause_live(session, handle, &mut residency, saved).await
            }
            Residency::Resident(handle) => self.pause_live(session, handle, &mut residency, saved).await,
        }
    }

    async fn pause_live(
        &self,
        session: &Session,
        handle: SessionHandle,
        residency: &mut Residency,
        saved: SavedState,
    ) -> Result<(), SessionError> {
        if saved == SavedState::Files {
            self.sandbox.reboot(handle).await?;
        }
        let jobs = if saved == SavedState::Files { JobsAtSave::LeaveOut } else { JobsAtSave::Refuse };
        match self.put(session, handle, Saving::Paused { jobs }).await {
            Ok(checkpoint) => {
                let _ = self.sandbox.close(handle).await;
                *residency = Residency::Paused { checkpoint: checkpoint.id };
                self.note_footprint(session, None);
            }
            // It follows when they have ended.
            Err(SessionError::Refused(RequestError::CommandsRun)) => {}
            Err(error) => return Err(error),
        }
        session.times().paused = true;
        Ok(())
    }

    /// Resumes a session, and returns whether it was paused.
    ///
    /// # Errors
    /// Returns an error when there is no such session.
    pub async fn resume(&self, id: SessionId) -> Result<bool, SessionError> {
        let session = self.table.get(id)?;
        if matches!(*session.residency.read().await, Residency::Resident(_)) && session.times().paused {
            self.resume_one(&session);
            return Ok(true);
        }
        let mut residency = session.residency.write().await;
        match *residency {
            Residency::Paused { checkpoint } => {
                self.resume_one(&session);
                self.note_row(&session, Residency::Evicted { checkpoint }).await?;
                *residency = Residency::Evicted { checkpoint };
                Ok(true)
            }
            Residency::Closed => Err(SessionError::NotFound),
            _ => Ok(false),
        }
    }

    /// Stores the state of a session as a checkpoint, when its calls have ended.
    ///
    /// # Errors
    /// Returns an error when there is no such session, or its state can't be saved.
    pub async fn checkpoint(&self, id: SessionId, name: Option<String>) -> Result<CheckpointInfo, SessionError> {
        let session = self.table.get(id)?;
        let in_use = self.enter_anyway(&session).await?;
        self.put(&session, in_use.handle, Saving::Named { name }).await
    }

    /// Checkpoints that this caller asked for, the newest first, as many as one list of the store has.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub async fn checkpoints(&self, caller: &Caller) -> Result<Vec<CheckpointInfo>, SessionError> {
        let owner = Some(owner_name(caller.owner()));
        let filter = CheckpointFilter { kind: Some(CheckpointKind::Named), owner, ..CheckpointFilter::default() };
        let found = self.store()?.list_checkpoints(filter, usize::MAX, None).await.map_err(store_failed)?;
        Ok(found.into_iter().map(info_of).collect())
    }

    /// Removes a checkpoint of the caller.
    ///
    /// # Errors
    /// Returns an error when there is no such checkpoint.
    pub async fn delete_checkpoint(&self, caller: &Caller, id: CheckpointId) -> Result<(), SessionError> {
        let found = self.store()?.find_checkpoint(id.uuid()).await.map_err(store_failed)?;
        // What is kept of a session that waits is no client's to remove.
        if found.is_none_or(|found| !is_own(&found.row, caller)) {
            return Err(SessionError::NoCheckpoint);
        }
        self.store()?.delete_checkpoint(id.uuid()).await.map_err(store_failed)?;
        Ok(())
    }

    /// Removes from the store what is too old or too much.
    pub(super) async fn prune_store(&self) {
        let Some(store) = &self.store else { return };
        let bounds = Bounds { total_bytes: self.table.store_bytes, named_age: CHECKPOINT_TTL };
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
        let LoadedCheckpoint { row, meta, image, bytes } = self.load_checkpoint(id).await?;
        if !is_own(&row, &asked.caller) {
            return Err(SessionError::NoCheckpoint);
        }
        if let Some(wanted) = &asked.image {
            same_image(&image, &*requested_image(&self.images, Some(wanted))?)?;
        }
        self.keys.has_fuel(&asked.caller).map_err(ExecuteError::from)?;
        let policy = asked.policy.clone().unwrap_or_else(|| meta.policy.clone());
        let policies = self.policies.current();
        let pack = policies.pack(&asked.caller, &policy)?;
        let limits = asked.limits.or(AskedLimits::from(&meta.limits));
        let grant = pack.ceiling.grant(&limits).map_err(Refusal::from)?;
        let mut asked = asked;
        asked.labels.get_or_insert(meta.labels);
        if asked.template.is_empty() {
            asked.template = meta.template;
        }
        let Setup { env: mut new_env, commands, start } = meta.setup;
        asked.commands = commands;
        new_env.retain(|(name, _)| asked.env.iter().all(|(other, _)| other != name));
        new_env.append(&mut asked.env);
        let limits = *grant.limits();
        let spec = SessionSpec::new(&asked, policy, Arc::clone(&image), grant)?;
        let mut session = self.session(&asked.caller, spec, asked.ttl, asked.idle)?;
        session.calls.store(meta.calls, Ordering::Relaxed);
        let claim = self.claim_mounts(&mut session, &asked, pack).await?;
        let (handle, footprint) = self.load(session.spec.owner, bytes, &image, &limits, new_env).await?;
        let footprint = self.fill_mounts(&session, handle, pack).await?.unwrap_or(footprint);
        let info = self.enlist(&asked.caller, session, handle, footprint).await?;
        claim.keep();
        if let Some(script) = start.filter(|_| !asked.without_start) {
            self.start_script(info.id, script).await;
        }
        Ok(info)
    }

    /// Restores a session to the state of a checkpoint.
    ///
    /// # Errors
    /// Returns an error when there is no such session or checkpoint, or the checkpoint does not fit its limits.
    pub async fn restore(
        &self,
        caller: &Caller,
        id: SessionId,
        checkpoint: CheckpointId,
    ) -> Result<SessionInfo, SessionError> {
        let caller = caller.clone();
        self.spawn_uncancellable(|manager| async move { manager.restore_inner(&caller, id, checkpoint).await }).await
    }

    async fn restore_inner(
        &self,
        caller: &Caller,
        id: SessionId,
        checkpoint: CheckpointId,
    ) -> Result<SessionInfo, SessionError> {
        let session = self.table.get(id)?;
        let LoadedCheckpoint { row, meta, image, bytes } = self.load_checkpoint(checkpoint).await?;
        if !is_own(&row, caller) {
            return Err(SessionError::NoCheckpoint);
        }
        same_image(&image, &session.spec.image)?;
        // What runs in it would have its session taken away under it.
        self.enter_anyway(&session).await?;
        let mut residency = session.residency.write().await;
        let Residency::Resident(old) = *residency else { return Err(SessionError::NotFound) };
        let policies = self.policies.current();
        let pack = policies.pack(caller, &session.spec.policy)?;
        // What it has mounted is not part of what it is restored to.
        self.write_back(&session, old).await?;
        let (handle, footprint) =
            self.load(session.spec.owner, bytes, &image, session.spec.grant.limits(), Vec::new()).await?;
        let footprint = self.fill_mounts(&session, handle, pack).await?.unwrap_or(footprint);
        *residency = Residency::Resident(handle);
        let _ = self.sandbox.close(old).await;
        session.calls.store(meta.calls, Ordering::Relaxed);
        self.note_footprint(&session, Some(footprint));
        drop(residency);
        session.used();
        Ok(session.info())
    }

    /// Forks `count` sessions from this one, when its calls have ended: all or none.
    ///
    /// # Errors
    /// Returns an error when there is no such session, or no room.
    pub async fn fork(
        &self,
        id: SessionId,
        count: usize,
        ttl: Option<Duration>,
    ) -> Result<Vec<SessionInfo>, SessionError> {
        self.spawn_uncancellable(|manager| async move { manager.fork_inner(id, count, ttl).await }).await
    }

    async fn fork_inner(
        &self,
        id: SessionId,
        count: usize,
        ttl: Option<Duration>,
    ) -> Result<Vec<SessionInfo>, SessionError> {
        if count == 0 || count > MAX_FORKS {
            return Err(SessionError::Forks { asked: count, allowed: MAX_FORKS });
        }
        let original = self.table.get(id)?;
        let (idle, left) = {
            let times = *original.times();
            (times.idle, ttl.unwrap_or(times.ttl))
        };
        let caller = self.keys.caller_of(original.spec.owner).ok_or(SessionError::KeyRevoked)?;
        let sessions = std::iter::repeat_with(|| self.session(&caller, original.spec.fork()?, Some(left), idle));
        let sessions: Vec<Session> = sessions.take(count).collect::<Result<_, _>>()?;
        let in_use = self.enter_anyway(&original).await?;
        let ask = || self.sandbox.fork(in_use.handle, count);
        let forked = self.with_slot(original.spec.owner, ask).await;
        let (forks, footprint) = self.check_lost(&in_use, forked)?;
        drop(in_use);
        let mut made = Vec::with_capacity(count);
        for (session, handle) in sessions.into_iter().zip(forks) {
            session.calls.store(original.calls.load(Ordering::Relaxed), Ordering::Relaxed);
            made.push(self.enlist(&caller, session, handle, footprint).await?);
        }
        Ok(made)
    }
}
