//! End of sessions: by a client's request, or because they have expired.

use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;

use super::room::Need;
use super::{LifecycleChange, OnExpiry, Residency, Session, SessionError, SessionManager, after};
use proofbox_types::ids::SessionId;

/// Time for which a session lives on that could not be paused at its end.
const PAUSE_AGAIN: Duration = Duration::from_secs(10);
/// Interval at which sessions are checked for their end.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Interval at which the store is pruned of what is too old or too much.
const PRUNE_EVERY: Duration = Duration::from_secs(60);

impl SessionManager {
    /// Ends a session, with what it runs.
    ///
    /// # Errors
    /// Returns an error when there is no such session.
    pub async fn end(&self, id: SessionId) -> Result<(), SessionError> {
        let session = self.table.all().remove(&id).ok_or(SessionError::NotFound)?;
        self.spawn_uncancellable(|manager| async move {
            manager.end_one(&session).await;
            Ok(())
        })
        .await
    }

    /// Ends a session that is no longer on the list.
    async fn end_one(&self, session: &Session) {
        session.detach();
        // What runs in it is interrupted first: who uses it holds its residency.
        let handle = match *session.residency.read().await {
            Residency::Resident(handle) => Some(handle),
            _ => None,
        };
        if let Some(handle) = handle {
            self.write_back_at_end(session, handle).await;
            let _ = self.sandbox.close(handle).await;
        }
        let residency = std::mem::replace(&mut *session.residency.write().await, Residency::Closed);
        match residency {
            // It was brought back, or moved, meanwhile.
            Residency::Resident(now) if Some(now) != handle => {
                self.write_back_at_end(session, now).await;
                drop(self.sandbox.close(now).await);
            }
            Residency::Evicted { .. } | Residency::Paused { .. } => self.forget_stored(session).await,
            _ => {}
        }
        self.volumes.release(session.id);
        self.note_footprint(session, None);
        self.metrics.sessions_ended.inc();
        self.note_lifecycle(session, LifecycleChange::Ended);
    }

    /// Ends or pauses sessions whose time is over, for as long as the service lives.
    pub fn look_after(self: &Arc<Self>) {
        let manager: Weak<Self> = Arc::downgrade(self);
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(LOOK_EVERY);
            let mut prunes = tokio::time::interval(PRUNE_EVERY);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                let Some(strong) = manager.upgrade() else { return };
                let sessions = Arc::clone(&strong.table);
                drop(strong);
                tokio::select! {
                    _ = ticks.tick() => {
                        let Some(manager) = manager.upgrade() else { return };
                        manager.end_what_is_over();
                    }
                    _ = prunes.tick() => {
                        let Some(manager) = manager.upgrade() else { return };
                        manager.prune_store().await;
                    }
                    () = sessions.grew.notified() => {
                        let Some(manager) = manager.upgrade() else { return };
                        // Meanwhile others end.
                        tokio::spawn(async move { manager.make_room(Need::Memory).await });
                    }
                }
            }
        });
    }

    fn end_what_is_over(self: &Arc<Self>) {
        let now = Timestamp::now();
        let settling: Vec<Arc<Session>> =
            self.table.all().values().filter(|session| session.is_settling(now)).cloned().collect();
        for session in settling {
            let manager = Arc::clone(self);
            tokio::spawn(async move { manager.settle(&session).await });
        }
        let over: Vec<Arc<Session>> =
            self.table.all().values().filter(|session| session.is_over(now)).cloned().collect();
        for session in over {
            if let OnExpiry::Pause(saved) = session.spec.on_expiry {
                session.times().paused = true;
                let manager = Arc::clone(self);
                tokio::spawn(async move {
                    if let Err(error) = manager.pause_one(&session, saved).await {
                        tracing::warn!(session = %session.id, %error, "a session could not be paused at its end");
                        let mut times = session.times();
                        times.paused = false;
                        times.expires = after(Timestamp::now(), PAUSE_AGAIN);
                    }
                });
            } else if self.table.all().remove(&session.id).is_some() {
                let manager = Arc::clone(self);
                tokio::spawn(async move { manager.end_one(&session).await });
            }
        }
    }
}
