//! Changes of a session's files, reported as they happen.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::{Session, SessionError, SessionManager};
use crate::sandbox::SessionEvent;
use proofbox_memory::{Next, queue};
use proofbox_types::ids::SessionId;
use proofbox_types::session::Change;
use proofbox_vfs::WatchDepth;

/// Messages that wait for their reader. Further changes wait in the session's tree, which bounds them.
const PIECES: usize = 1;

/// Event of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEvent {
    /// Change of an entry.
    Change(Change),
    /// Loss of changes, because they were too many or read too slowly: the reader must look at the directory again.
    Overflow,
}

/// Message with changes that are reported together.
enum Report {
    Changes(Vec<Change>),
    Overflow,
}

/// Watch of a directory, ended on drop.
#[derive(Debug)]
pub struct Watch {
    reports: mpsc::Receiver<Report>,
    changes: std::vec::IntoIter<Change>,
}

impl Watch {
    fn new(reports: mpsc::Receiver<Report>) -> Self {
        Self { reports, changes: Vec::new().into_iter() }
    }

    /// Returns the next change, if it has come already with the last event.
    pub fn next_of_last(&mut self) -> Option<Change> {
        self.changes.next()
    }

    /// Waits for the next event; none when the session has ended, or the directory is gone.
    pub async fn next(&mut self) -> Option<WatchEvent> {
        loop {
            if let Some(change) = self.next_of_last() {
                return Some(WatchEvent::Change(change));
            }
            match self.reports.recv().await? {
                Report::Changes(changes) => self.changes = changes.into_iter(),
                Report::Overflow => return Some(WatchEvent::Overflow),
            }
        }
    }
}

impl SessionManager {
    /// Watches a directory of a session, from when this returns; to this depth.
    ///
    /// # Errors
    /// Returns an error when there is no such session or directory.
    pub async fn watch(
        self: &Arc<Self>,
        id: SessionId,
        path: String,
        depth: WatchDepth,
    ) -> Result<Watch, SessionError> {
        let session = self.table.get(id)?;
        let (tell, reports) = mpsc::channel(PIECES);
        let (begun, begins) = oneshot::channel();
        let (manager, detached) = (Arc::clone(self), session.detached());
        tokio::spawn(async move {
            let watch = manager.watch_for(&session, path, depth, tell, begun);
            tokio::select! {
                () = watch => {}
                () = detached.cancelled() => {}
            }
        });
        match begins.await {
            Ok(Ok(())) => Ok(Watch::new(reports)),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(SessionError::Lost),
        }
    }

    /// Passes on changes, until the reader goes away and no faster than it reads. Meanwhile the session is not moved.
    async fn watch_for(
        &self,
        session: &Arc<Session>,
        path: String,
        depth: WatchDepth,
        tell: mpsc::Sender<Report>,
        begun: oneshot::Sender<Result<(), SessionError>>,
    ) {
        let in_use = match self.enter(session).await {
            Ok(in_use) => in_use,
            Err(error) => return drop(begun.send(Err(error))),
        };
        let (sender, mut reports) = queue(self.budgets.unread.account(session.spec.owner).lease());
        let watch = self.sandbox.watch(in_use.handle, path, depth, sender);
        let mut watch = std::pin::pin!(watch);
        let mut begun = Some(begun);
        let ended = loop {
            tokio::select! {
                biased;
                () = tell.closed() => return,
                Some(next) = reports.recv() => {
                    let piece = match next {
                        Next::Piece(SessionEvent::Watching) => {
                            drop(begun.take().map(|begun| begun.send(Ok(()))));
                            continue;
                        }
                        Next::Piece(SessionEvent::Changes(changes)) => Report::Changes(changes),
                        Next::Piece(SessionEvent::ChangesMissed) | Next::Overflow(_) => Report::Overflow,
                        Next::Piece(
                            SessionEvent::Cell(_)
                            | SessionEvent::Stdout(_)
                            | SessionEvent::Stderr(_)
                            | SessionEvent::Exited(_),
                        ) => continue,
                    };
                    // The worker hears that there is room for more only when this is taken.
                    if tell.send(piece).await.is_err() {
                        return;
                    }
                }
                ended = &mut watch => break ended,
            }
        };
        if let (Some(begun), Err(error)) = (begun.take(), self.check_lost(&in_use, ended)) {
            let _ = begun.send(Err(error));
        }
    }
}
