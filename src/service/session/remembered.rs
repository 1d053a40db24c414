//! Sessions on disk survive the service: what must be known of them lies beside their checkpoints.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use super::{Nature, OnExpiry, Place, Session, SessionError, Times};
use crate::service::Service;
use proofbox_store::{SessionRow, Store};
use proofbox_types::grant::{AskedLimits, Limits};
use proofbox_types::ids::{CheckpointId, KeyId, SessionId};
use proofbox_types::session::Footprint;
use proofbox_types::token::Token;

/// Sessions that are read from the store at once, when the service starts.
const AT_ONCE: usize = 500;
/// Sessions that are saved at once, when the service ends.
const SAVED_AT_ONCE: usize = 16;

/// Stored description of a session: everything but its memory and files.
#[derive(Debug, Serialize, Deserialize)]
struct Remembered {
    owner: Option<KeyId>,
    created: i64,
    policy: String,
    image: String,
    limits: Limits,
    labels: Vec<(String, String)>,
    pause_on_expiry: bool,
    auto_resume: bool,
    template: String,
    token: Token,
    expires: i64,
    ttl: Duration,
    idle: Option<Duration>,
    last_used: i64,
    paused: bool,
    calls: u64,
    footprint: Footprint,
}

/// Limits, asked for one by one.
pub(super) fn asked(limits: &Limits) -> AskedLimits {
    AskedLimits {
        fuel: Some(limits.fuel),
        wall_seconds: Some(limits.wall.as_secs_f64()),
        memory_bytes: Some(limits.memory_bytes),
        output_bytes: Some(limits.output_bytes),
        files_bytes: Some(limits.files_bytes),
        files_count: Some(limits.files_count),
    }
}

impl Session {
    /// Returns the session's row in the store, where `checkpoint` is its state.
    pub(super) fn row(&self, checkpoint: CheckpointId, paused: bool) -> SessionRow {
        let times = *self.times();
        let remembered = Remembered {
            owner: self.owner,
            created: self.created.as_millisecond(),
            policy: self.policy.clone(),
            image: self.image.image_hash.clone(),
            limits: *self.grant.limits(),
            labels: self.labels.clone().into_iter().collect(),
            pause_on_expiry: self.on_expiry == OnExpiry::Pause,
            auto_resume: self.auto_resume,
            template: self.template.clone(),
            token: self.token.clone(),
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
        let stays = paused || self.on_expiry == OnExpiry::Pause;
        SessionRow {
            id: self.id.uuid(),
            meta: postcard::to_stdvec(&remembered).expect("plain data"),
            expires_at: if stays { i64::MAX } else { times.expires.min(idle).as_millisecond() },
            checkpoint: Some(checkpoint.uuid()),
        }
    }
}

impl Service {
    /// Restores the sessions that an earlier service has left in the store.
    ///
    /// # Errors
    /// Returns an error when the store can't be read.
    pub async fn recall_sessions(&self) -> Result<(), SessionError> {
        let Some(store) = &self.store else { return Ok(()) };
        let (mut after, mut taken_up) = (None, 0);
        loop {
            let rows = store.list_sessions(AT_ONCE, after).await.map_err(super::keeping::failed)?;
            let Some(last) = rows.last() else { break };
            after = Some(last.id);
            for row in rows {
                let session = self.recalled(&row).map(Arc::new);
                if session.is_some_and(|session| self.sessions.insert(session, None).is_ok()) {
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

    fn recalled(&self, row: &SessionRow) -> Option<Session> {
        let remembered: Remembered = postcard::from_bytes(&row.meta).ok()?;
        let policies = self.policies();
        // One whose key is revoked meanwhile is nobody's.
        let caller = self.keys.caller_of(remembered.owner)?;
        let pack = policies.pack(&caller, &remembered.policy).ok()?;
        let grant = pack.ceiling.grant(&asked(&remembered.limits)).ok()?;
        let time = |milliseconds| Timestamp::from_millisecond(milliseconds).ok();
        let times = Times {
            expires: time(remembered.expires)?,
            ttl: remembered.ttl,
            idle: remembered.idle,
            last_used: time(remembered.last_used)?,
            paused: remembered.paused,
        };
        let on_expiry = if remembered.pause_on_expiry { OnExpiry::Pause } else { OnExpiry::End };
        let place = Place::Stored { checkpoint: row.checkpoint?.into(), paused: remembered.paused };
        let nature = Nature {
            id: SessionId::from(row.id),
            owner: remembered.owner,
            created: time(remembered.created)?,
            policy: remembered.policy,
            // Where it is gone, the session's state can't be loaded, which is told to whoever uses it.
            image: self.image_of(Some(&remembered.image)),
            grant,
            labels: remembered.labels.into_iter().collect(),
            on_expiry,
            auto_resume: remembered.auto_resume,
            template: remembered.template,
            token: remembered.token,
        };
        let session = Session::new(nature, times, place);
        session.calls.store(remembered.calls, Ordering::Relaxed);
        session.set_footprint(remembered.footprint);
        Some(session)
    }

    /// Moves all sessions to disk when the service ends. Sessions that are in use then are lost.
    pub async fn store_sessions(self: &Arc<Self>) {
        if self.store.is_none() {
            return;
        }
        let all: Vec<Arc<Session>> = self.sessions.all().values().cloned().collect();
        let mut saving = JoinSet::new();
        for session in all {
            if saving.len() >= SAVED_AT_ONCE {
                saving.join_next().await;
            }
            let service = Arc::clone(self);
            saving.spawn(async move {
                session.detach();
                if let Err(error) = service.evict(&session).await {
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
