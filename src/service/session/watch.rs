//! Changes of a session's files, told as they happen.

use tokio::sync::mpsc::UnboundedReceiver;

use super::SessionError;
use crate::domain::ids::SessionId;
use crate::domain::session::Change;
use crate::service::Service;

/// Somebody watches a directory, for as long as this is kept.
#[derive(Debug)]
pub struct Watch {
    changes: UnboundedReceiver<Change>,
}

impl Watch {
    /// What is told here.
    pub fn new(changes: UnboundedReceiver<Change>) -> Self {
        Self { changes }
    }

    /// The next change; none when the session has ended, or the directory is gone.
    pub async fn next(&mut self) -> Option<Change> {
        self.changes.recv().await
    }
}

impl Service {
    /// Watches a directory of a session, from when this returns; with all below it, where `recursive`.
    ///
    /// # Errors
    /// When there is no such session or directory.
    #[expect(clippy::unused_async, reason = "it asks a worker")]
    pub async fn watch_files(&self, id: SessionId, _path: String, _recursive: bool) -> Result<Watch, SessionError> {
        self.sessions.get(id)?;
        Err(SessionError::NotYet("watches"))
    }
}
