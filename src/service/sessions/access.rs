//! Use of a session: bringing it to a worker, holding it there, measuring it, finding it lost.

use std::sync::Arc;

use tokio::sync::OwnedRwLockReadGuard;

use super::{LifecycleChange, Residency, Session, SessionError, SessionManager};
use crate::sandbox::{SessionCallError, SessionHandle};
use crate::service::policy_check::admit_fetch;
use proofbox_policy::Refusal;
use proofbox_types::ids::SessionId;
use proofbox_types::session::{FileAnswer, FileAsk, FilePart};

/// Treatment of a paused session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WhenPaused {
    Resume,
    Refuse,
}

/// A session that is used: meanwhile nobody moves it.
pub(super) struct InUse<'a> {
    pub(super) session: &'a Session,
    pub(super) handle: SessionHandle,
    /// Guard that prevents moving the session.
    _residency: OwnedRwLockReadGuard<Residency>,
}

impl SessionManager {
    /// Performs an operation on the files of a session.
    ///
    /// # Errors
    /// Returns an error when the operation fails for a reason that a client can put right.
    pub async fn files(&self, id: SessionId, ask: FileAsk) -> Result<FileAnswer, SessionError> {
        let session = self.table.get(id)?;
        let policies = self.policies.current();
        let caller = self.keys.caller_of(session.spec.owner).ok_or(SessionError::KeyRevoked)?;
        let pack = policies.pack(&caller, &session.spec.policy)?;
        let inner = match &ask {
            FileAsk::Within { ask, .. } => ask,
            ask => ask,
        };
        if let FileAsk::Write(file) = inner
            && !pack.files.upload.is_match(file.path.trim_start_matches('/'))
        {
            let message = format!("the policy lets no file `{}` in", file.path.chars().take(100).collect::<String>());
            return Err(Refusal::File { field: "path", message }.into());
        }
        if matches!(inner, FileAsk::Read { .. }) {
            admit_fetch(pack, "path")?;
        }
        let in_use = self.enter(&session).await?;
        let writes = matches!(inner, FileAsk::Write(_));
        let answer = self.sandbox.files(in_use.handle, ask).await;
        let answer = self.check_lost(&in_use, answer)?;
        if writes {
            self.measure_in_use(&in_use).await;
        }
        Ok(answer)
    }

    /// Reads at most `length` bytes of a file, from `offset` on.
    ///
    /// # Errors
    /// Returns an error when there is no such file.
    pub async fn read_file(
        &self,
        id: SessionId,
        path: String,
        offset: u64,
        length: u64,
    ) -> Result<FilePart, SessionError> {
        match self.files(id, FileAsk::Read { path, offset, length }).await? {
            FileAnswer::Bytes(part) => Ok(part),
            _ => Err(SessionError::Failed("a file was read, and no bytes came".to_owned())),
        }
    }

    /// Brings the session to a worker, from disk if need be, and holds it there until the guard is dropped.
    pub(super) async fn enter<'a>(&self, session: &'a Arc<Session>) -> Result<InUse<'a>, SessionError> {
        let when_paused = if session.spec.auto_resume { WhenPaused::Resume } else { WhenPaused::Refuse };
        self.enter_if(session, when_paused).await
    }

    /// Brings the session to a worker even where it is paused, which resumes it.
    pub(super) async fn enter_anyway<'a>(&self, session: &'a Arc<Session>) -> Result<InUse<'a>, SessionError> {
        self.enter_if(session, WhenPaused::Resume).await
    }

    async fn enter_if<'a>(
        &self,
        session: &'a Arc<Session>,
        when_paused: WhenPaused,
    ) -> Result<InUse<'a>, SessionError> {
        self.keep_within_budget().await;
        loop {
            let residency = Arc::clone(&session.residency).read_owned().await;
            match *residency {
                Residency::Resident(handle) => {
                    if session.times().paused {
                        match when_paused {
                            WhenPaused::Refuse => return Err(SessionError::Paused),
                            WhenPaused::Resume => self.resume_one(session),
                        }
                    }
                    session.used();
                    return Ok(InUse { session, handle, _residency: residency });
                }
                Residency::Closed => return Err(SessionError::Lost),
                Residency::Paused { .. } if when_paused == WhenPaused::Refuse => return Err(SessionError::Paused),
                Residency::Evicted { .. } | Residency::Paused { .. } => {
                    drop(residency);
                    let session = Arc::clone(session);
                    self.spawn_uncancellable(|manager| async move { manager.bring_back(&session).await }).await?;
                }
            }
        }
    }

    /// Notes what a session takes after something that was no call.
    pub(super) async fn measure_in_use(&self, in_use: &InUse<'_>) {
        if let Ok(footprint) = self.sandbox.footprint(in_use.handle).await {
            self.note_footprint(in_use.session, Some(footprint));
        }
    }

    /// Translates the answer of a worker, and removes the session when its worker is gone.
    pub(super) fn check_lost<T>(
        &self,
        in_use: &InUse<'_>,
        answer: Result<T, SessionCallError>,
    ) -> Result<T, SessionError> {
        if let Err(SessionCallError::Lost) = &answer {
            let session = in_use.session;
            tracing::warn!(session = %session.id, "a session is lost: its worker ended");
            self.table.all().remove(&session.id);
            self.volumes.release(session.id);
            self.note_footprint(session, None);
            self.metrics.sessions_ended.inc();
            self.note_lifecycle(session, LifecycleChange::Ended);
        }
        Ok(answer?)
    }
}
