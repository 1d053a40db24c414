//! Sessions on disk survive the service: what must be known of them lies beside their checkpoints.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use super::{
    CommandDefaults, Mount, OnExpiry, Residency, SavedState, Session, SessionError, SessionManager, SessionSpec, Times,
};
use crate::sandbox::JobsAtSave;
use proofbox_store::{SessionRow, Store};
use proofbox_types::grant::{AskedLimits, Limits};
use proofbox_types::ids::{KeyId, SessionId};
use proofbox_types::session::Footprint;
use proofbox_types::token::Token;

/// Sessions that are read from the store at once, when the service starts.
const AT_ONCE: usize = 500;
/// Sessions that are saved at once, when the service ends.
const SAVED_AT_ONCE: usize = 16;
/// Time in which the commands of a session end, when the service ends.
const COMMANDS_END: Duration = Duration::from_secs(1);

/// Stored description of a session: everything but its memory and files.
#[derive(Debug, Serialize, Deserialize)]
struct PersistedSession {
    owner: Option<KeyId>,
    created: i64,
    policy: String,
    image: String,
    limits: Limits,
    labels: Vec<(String, String)>,
    on_expiry: PersistedExpiry,
    auto_resume: bool,
    template: String,
    command_defaults: CommandDefaults,
    token: Token,
    expires: i64,
    ttl: Duration,
    idle: Option<Duration>,
    last_used: i64,
    paused: bool,
    calls: u64,
    footprint: Footprint,
}

/// Stored action at the end of a session. Its bytes are those of earlier versions, which wrote whether to pause.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum PersistedExpiry {
    End,
    PauseWhole,
    PauseFiles,
}

impl From<OnExpiry> for PersistedExpiry {
    fn from(on_expiry: OnExpiry) -> Self {
        match on_expiry {
            OnExpiry::End => Self::End,
            OnExpiry::Pause(SavedState::Whole) => Self::PauseWhole,
            OnExpiry::Pause(SavedState::Files) => Self::PauseFiles,
        }
    }
}

impl From<PersistedExpiry> for OnExpiry {
    fn from(persisted: PersistedExpiry) -> Self {
        match persisted {
            PersistedExpiry::End => Self::End,
            PersistedExpiry::PauseWhole => Self::Pause(SavedState::Whole),
            PersistedExpiry::PauseFiles => Self::Pause(SavedState::Files),
        }
    }
}

impl Session {
    /// Returns the session's row in the store; none for a session that is not on disk.
    pub(super) fn row(&self, residency: Residency) -> Option<SessionRow> {
        let (checkpoint, paused) = (residency.checkpoint()?, residency.is_paused());
        let (spec, times) = (&*self.spec, *self.times());
        let persisted = PersistedSession {
            owner: spec.owner,
            created: spec.created.as_millisecond(),
            policy: spec.policy.clone(),
            image: spec.image.image_hash.clone(),
            limits: *spec.grant.limits(),
            labels: spec.labels.clone().into_iter().collect(),
            on_expiry: spec.on_expiry.into(),
            auto_resume: spec.auto_resume,
            template: spec.template.clone(),
            command_defaults: spec.commands.clone(),
            token: spec.token.clone(),
            expires: times.expires.as_millisecond(),
            ttl: times.ttl,
            idle: times.idle,
            last_used: times.last_used.as_millisecond(),
            paused,
            calls: self.calls.load(Ordering::Relaxed),
            footprint: self.footprint(),
        };
        let idle = times.idle.map_or(Timestamp::MAX, |idle| super::after(times.last_used, idle));
        // One that is paused, or will be, waits for whoever resumes it.
        let stays = paused || spec.on_expiry != OnExpiry::End;
        let mut meta = postcard::to_stdvec(&persisted).expect("plain data");
        // Behind the rest, where earlier versions do not look: a session without any is stored as by them.
        if !spec.mounts.is_empty() {
            meta.extend(postcard::to_stdvec(&spec.mounts).expect("plain data"));
        }
        Some(SessionRow {
            id: self.id.uuid(),
            meta,
            expires_at: if stays { i64::MAX } else { times.expires.min(idle).as_millisecond() },
            checkpoint: Some(checkpoint.uuid()),
        })
    }
}

impl SessionManager {
    /// Restores the sessions that an earlier service has left in the store.
    ///
    /// # Errors
    /// Returns an error when the store can't be read.
    pub async fn recall(&self) -> Result<(), SessionError> {
        let Some(store) = &self.store else { return Ok(()) };
        let (mut after, mut taken_up) = (None, 0);
        loop {
            let rows = store.list_sessions(AT_ONCE, after).await.map_err(super::error::store_failed)?;
            let Some(last) = rows.last() else { break };
            after = Some(last.id);
            for row in rows {
                let session = self.recall_one(&row).map(Arc::new);
                let is_taken_up =
                    session.as_ref().is_some_and(|session| self.table.insert(Arc::clone(session), None).is_ok());
                if let Some(session) = session.filter(|_| is_taken_up) {
                    self.volumes.reclaim(session.id, &session.spec.mounts);
                    taken_up += 1;
                } else {
                    // Its policy is gone or allows less, or it was written by another version.
                    forget(store, row.id.into()).await;
                }
            }
        }
        if taken_up > 0 {
            tracing::info!(sessions = taken_up, "sessions on disk are taken up again");
        }
        Ok(())
    }

    fn recall_one(&self, row: &SessionRow) -> Option<Session> {
        let (persisted, rest): (PersistedSession, _) = postcard::take_from_bytes(&row.meta).ok()?;
        let mounts: Vec<Mount> = if rest.is_empty() { Vec::new() } else { postcard::from_bytes(rest).ok()? };
        let policies = self.policies.current();
        // One whose key is revoked meanwhile is nobody's.
        let caller = self.keys.caller_of(persisted.owner)?;
        let pack = policies.pack(&caller, &persisted.policy).ok()?;
        let grant = pack.ceiling.grant(&AskedLimits::from(&persisted.limits)).ok()?;
        let time = |milliseconds| Timestamp::from_millisecond(milliseconds).ok();
        let times = Times {
            expires: time(persisted.expires)?,
            ttl: persisted.ttl,
            idle: persisted.idle,
            last_used: time(persisted.last_used)?,
            paused: persisted.paused,
            settles: Timestamp::UNIX_EPOCH,
        };
        let checkpoint = row.checkpoint?.into();
        let residency =
            if persisted.paused { Residency::Paused { checkpoint } } else { Residency::Evicted { checkpoint } };
        let spec = SessionSpec {
            owner: persisted.owner,
            created: time(persisted.created)?,
            policy: persisted.policy,
            // Where it is gone, the session's state can't be loaded, which is told to whoever uses it.
            image: Arc::clone(self.images.find(&persisted.image).unwrap_or_else(|| self.images.default())),
            grant,
            labels: persisted.labels.into_iter().collect(),
            on_expiry: persisted.on_expiry.into(),
            auto_resume: persisted.auto_resume,
            template: persisted.template,
            commands: persisted.command_defaults,
            mounts,
            token: persisted.token,
        };
        let session = Session::new(SessionId::from(row.id), spec, times, residency);
        session.calls.store(persisted.calls, Ordering::Relaxed);
        session.set_footprint(persisted.footprint);
        Some(session)
    }

    /// Moves all sessions to disk when the service ends. Sessions that are in use then are lost.
    pub async fn store_all(self: &Arc<Self>) {
        if self.store.is_none() {
            return;
        }
        let all: Vec<Arc<Session>> = self.table.all().values().cloned().collect();
        let mut saving = JoinSet::new();
        for session in all {
            if saving.len() >= SAVED_AT_ONCE {
                saving.join_next().await;
            }
            let manager = Arc::clone(self);
            saving.spawn(async move {
                session.detach();
                // Its commands let go of it at once.
                let residency = Arc::clone(&session.residency).write_owned();
                let Ok(residency) = tokio::time::timeout(COMMANDS_END, residency).await else {
                    // What it does is lost, but for its volumes.
                    if let Ok(residency) = session.residency.try_read()
                        && let Residency::Resident(handle) = *residency
                    {
                        manager.write_back_at_end(&session, handle).await;
                    }
                    return;
                };
                if let Err(error) = manager.move_to_disk(&session, residency, JobsAtSave::LeaveOut).await {
                    tracing::warn!(session = %session.id, %error, "a session could not be moved to disk, and is lost");
                }
            });
        }
        while saving.join_next().await.is_some() {}
    }
}

/// Removes a session and its state from the store.
pub(super) async fn forget(store: &Store, id: SessionId) {
    if let Err(error) = store.delete_session(id.uuid()).await {
        tracing::warn!(%error, "the store failed to remove a session");
    }
}
