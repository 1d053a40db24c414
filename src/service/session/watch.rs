//! Changes of a session's files, reported as they happen.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::{Session, SessionError};
use crate::sandbox::AskEvent;
use crate::service::Service;
use proofbox_memory::{Next, queue};
use proofbox_types::ids::SessionId;
use proofbox_types::session::Change;

/// Messages that wait for their reader. Further changes wait in the session's tree, which bounds them.
const PIECES: usize = 1;

/// Event of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEvent {
    /// Change of an entry.
    Change(Change),
    /// Loss of changes, because they were read too slowly: the reader must look at the directory again.
    Overflow,
}

/// Message with changes that are reported together.
enum Told {
    Changes(Vec<Change>),
    Overflow,
}

/// Watch of a directory, ended on drop.
#[derive(Debug)]
pub struct Watch {
    told: mpsc::Receiver<Told>,
    changes: std::vec::IntoIter<Change>,
}

impl Watch {
    fn new(told: mpsc::Receiver<Told>) -> Self {
        Self { told, changes: Vec::new().into_iter() }
    }

    /// Waits for the next event; none when the session has ended, or the directory is gone.
    pub async fn next(&mut self) -> Option<WatchEvent> {
        loop {
            if let Some(change) = self.changes.next() {
                return Some(WatchEvent::Change(change));
            }
            match self.told.recv().await? {
                Told::Changes(changes) => self.changes = changes.into_iter(),
                Told::Overflow => return Some(WatchEvent::Overflow),
            }
        }
    }
}

impl Service {
    /// Watches a directory of a session, from when this returns; with all below it, where `recursive`.
    ///
    /// # Errors
    /// Returns an error when there is no such session or directory.
    pub async fn watch_files(
        self: &Arc<Self>,
        id: SessionId,
        path: String,
        recursive: bool,
    ) -> Result<Watch, SessionError> {
        let session = self.sessions.get(id)?;
        let (tell, told) = mpsc::channel(PIECES);
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
            Ok(Ok(())) => Ok(Watch::new(told)),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(SessionError::Lost),
        }
    }

    /// Passes on changes, until the reader goes away and no faster than it reads. Meanwhile the session is not moved.
    async fn watch_for(
        &self,
        session: &Arc<Session>,
        path: String,
        recursive: bool,
        tell: mpsc::Sender<Told>,
        begun: oneshot::Sender<Result<(), SessionError>>,
    ) {
        let place = match self.enter(session).await {
            Ok(place) => place,
            Err(error) => return drop(begun.send(Err(error))),
        };
        let (sender, mut told) = queue(self.unread.account(session.owner).lease());
        let watch = self.sandbox.watch(place.kept, path, recursive, sender);
        let mut watch = std::pin::pin!(watch);
        let mut begun = Some(begun);
        let ended = loop {
            tokio::select! {
                biased;
                () = tell.closed() => return,
                Some(next) = told.recv() => {
                    let piece = match next {
                        Next::Piece(AskEvent::Watching) => {
                            drop(begun.take().map(|begun| begun.send(Ok(()))));
                            continue;
                        }
                        Next::Piece(AskEvent::Changes(changes)) => Told::Changes(changes),
                        Next::Piece(AskEvent::ChangesMissed) | Next::Overflow(_) => Told::Overflow,
                        Next::Piece(AskEvent::Cell(_) | AskEvent::Stdout(_) | AskEvent::Stderr(_)) => continue,
                    };
                    // The worker hears that there is room for more only when this is taken.
                    if tell.send(piece).await.is_err() {
                        return;
                    }
                }
                ended = &mut watch => break ended,
            }
        };
        if let (Some(begun), Err(error)) = (begun.take(), self.kept(&place, ended)) {
            let _ = begun.send(Err(error));
        }
    }
}
