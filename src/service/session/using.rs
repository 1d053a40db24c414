//! Use of a session: bringing it to a worker, holding it there, measuring it, finding it lost.

use std::sync::Arc;

use tokio::sync::OwnedRwLockReadGuard;

use super::{Place, Session, SessionError};
use crate::sandbox::{Kept, KeptError};
use crate::service::Service;
use proofbox_policy::Refusal;
use proofbox_types::ids::SessionId;
use proofbox_types::session::{FileAnswer, FileAsk};

/// A session that is used: meanwhile nobody moves it.
pub(super) struct InUse<'a> {
    pub(super) session: &'a Session,
    pub(super) kept: Kept,
    /// Guard that prevents moving the session.
    _place: OwnedRwLockReadGuard<Place>,
}

impl Service {
    /// Performs an operation on the files of a session.
    ///
    /// # Errors
    /// Returns an error when the operation fails for a reason that a client can put right.
    pub async fn session_files(&self, id: SessionId, ask: FileAsk) -> Result<FileAnswer, SessionError> {
        let session = self.sessions.get(id)?;
        let policies = self.policies();
        let caller = self.keys.caller_of(session.owner).ok_or(SessionError::KeyRevoked)?;
        let pack = policies.pack(&caller, &session.policy)?;
        if let FileAsk::Write(file) = &ask
            && !pack.files.upload.is_match(file.path.trim_start_matches('/'))
        {
            let message = format!("the policy lets no file `{}` in", file.path.chars().take(100).collect::<String>());
            return Err(Refusal::File { field: "path", message }.into());
        }
        if matches!(ask, FileAsk::Read { .. }) && !pack.files.fetch {
            return Err(Refusal::File { field: "path", message: "the policy lets no files out".to_owned() }.into());
        }
        let place = self.enter(&session).await?;
        let writes = matches!(ask, FileAsk::Write(_));
        let answer = self.sandbox.files(place.kept, ask).await;
        let answer = self.kept(&place, answer)?;
        if writes {
            self.measure_place(&place).await;
        }
        Ok(answer)
    }

    /// Brings the session to a worker, from disk if need be, and holds it there until the guard is dropped.
    pub(super) async fn enter<'a>(&self, session: &'a Arc<Session>) -> Result<InUse<'a>, SessionError> {
        self.enter_if(session, session.auto_resume).await
    }

    /// Brings the session to a worker even where it is paused, which resumes it.
    pub(super) async fn enter_anyway<'a>(&self, session: &'a Arc<Session>) -> Result<InUse<'a>, SessionError> {
        self.enter_if(session, true).await
    }

    async fn enter_if<'a>(&self, session: &'a Arc<Session>, paused_too: bool) -> Result<InUse<'a>, SessionError> {
        self.keep_within_budget().await;
        loop {
            let place = Arc::clone(&session.place).read_owned().await;
            match *place {
                Place::Live(kept) => {
                    session.used();
                    return Ok(InUse { session, kept, _place: place });
                }
                Place::Gone => return Err(SessionError::Lost),
                Place::Stored { paused: true, .. } if !paused_too => return Err(SessionError::Paused),
                Place::Stored { .. } => {
                    drop(place);
                    let session = Arc::clone(session);
                    self.whole(|me| async move { me.bring_back(&session).await }).await?;
                }
            }
        }
    }

    /// Notes what a session takes after something that was no call.
    pub(super) async fn measure_place(&self, place: &InUse<'_>) {
        if let Ok(footprint) = self.sandbox.footprint(place.kept).await {
            self.note_footprint(place.session, Some(footprint));
        }
    }

    /// Translates the answer of a worker, and removes the session when its worker is gone.
    pub(super) fn kept<T>(&self, place: &InUse<'_>, answer: Result<T, KeptError>) -> Result<T, SessionError> {
        if let Err(KeptError::Lost) = &answer {
            let session = place.session;
            tracing::warn!(session = %session.id, "a session is lost: its worker ended");
            self.sessions.all().remove(&session.id);
            self.note_footprint(session, None);
            self.metrics.sessions_ended.inc();
        }
        Ok(answer?)
    }
}
