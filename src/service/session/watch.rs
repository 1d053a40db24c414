//! Changes of a session's files, told as they happen.

use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::{Session, SessionError};
use crate::domain::ids::SessionId;
use crate::domain::session::Change;
use crate::sandbox::AskEvent;
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
    pub async fn watch_files(
        self: &Arc<Self>,
        id: SessionId,
        path: String,
        recursive: bool,
    ) -> Result<Watch, SessionError> {
        let session = self.sessions.get(id)?;
        let (tell, changes) = unbounded_channel();
        let (begun, begins) = oneshot::channel();
        let (service, detached) = (Arc::clone(self), session.detached());
        tokio::spawn(async move {
            let watch = service.watch_for(&session, path, recursive, tell, begun);
            tokio::select! {
                () = watch => {}
                () = detached.cancelled() => {}
            }
        });
        match begins.await {
            Ok(Ok(())) => Ok(Watch::new(changes)),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(SessionError::Lost),
        }
    }

    /// Passes on what changes, for as long as somebody listens. Meanwhile nobody moves the session.
    async fn watch_for(
        &self,
        session: &Arc<Session>,
        path: String,
        recursive: bool,
        tell: UnboundedSender<Change>,
        begun: oneshot::Sender<Result<(), SessionError>>,
    ) {
        let place = match self.enter(session).await {
            Ok(place) => place,
            Err(error) => return drop(begun.send(Err(error))),
        };
        let (sender, mut told) = unbounded_channel();
        let watch = self.sandbox.watch(place.kept, path, recursive, sender);
        let mut watch = std::pin::pin!(watch);
        let mut begun = Some(begun);
        let ended = loop {
            tokio::select! {
                biased;
                () = tell.closed() => return,
                Some(event) = told.recv() => match event {
                    AskEvent::Watching => drop(begun.take().map(|begun| begun.send(Ok(())))),
                    AskEvent::Changes(changes) => {
                        for change in changes {
                            let _ = tell.send(change);
                        }
                    }
                    AskEvent::Cell(_) | AskEvent::Stdout(_) | AskEvent::Stderr(_) => {}
                },
                ended = &mut watch => break ended,
            }
        };
        if let (Some(begun), Err(error)) = (begun.take(), self.kept(&place, ended)) {
            let _ = begun.send(Err(error));
        }
    }
}
