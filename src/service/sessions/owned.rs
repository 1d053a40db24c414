//! Sessions that end with what uses them.

use std::sync::Arc;

use super::{SessionAsked, SessionError, SessionManager};
use proofbox_types::ids::SessionId;

/// Session that ends when this is dropped: also when whoever opens it has gone before it is open.
pub struct OwnedSession {
    manager: Arc<SessionManager>,
    /// The session; none once it ends, or has been let go.
    id: Option<SessionId>,
}

impl OwnedSession {
    /// Returns the id of the session.
    pub fn id(&self) -> SessionId {
        self.id.expect("it is taken only when this is consumed")
    }

    /// Lets the session live on.
    pub fn release(mut self) -> SessionId {
        self.id.take().expect("it is taken only when this is consumed")
    }

    /// Ends the session. What can't be ended now ends when it has been idle.
    pub async fn end(mut self) {
        if let Some(id) = self.id.take() {
            let _ = self.manager.end(id).await;
        }
    }
}

impl Drop for OwnedSession {
    fn drop(&mut self) {
        // Without a runtime the process ends, and its sessions with it.
        if let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) {
            let manager = Arc::clone(&self.manager);
            runtime.spawn(async move { manager.end(id).await });
        }
    }
}

impl SessionManager {
    /// Opens a new session for a use with which it ends.
    ///
    /// # Errors
    /// Returns an error when it is refused; see [`SessionError`].
    pub async fn open_owned(&self, asked: SessionAsked) -> Result<OwnedSession, SessionError> {
        // When nobody waits for it any more, the session is dropped as soon as it is open.
        self.spawn_uncancellable(|manager| async move {
            let id = manager.open_whole(asked).await?.id;
            Ok(OwnedSession { manager, id: Some(id) })
        })
        .await
    }
}
