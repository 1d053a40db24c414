//! Calls of sessions as streams: their events while they run, and last their outcome.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{CellAsked, CellExecution, SessionError, SessionManager};
use crate::sandbox::SessionEvent;
use proofbox_memory::{Next, Receiver, queue};
use proofbox_types::ids::SessionId;
use proofbox_types::session::CellEvent;

/// Event of a call that runs.
pub type CallEvent = Next<CellEvent>;

/// Item of a call's stream.
pub enum CallItem {
    /// Event of the call.
    Event(CallEvent),
    /// End of the call, with its outcome; nothing follows.
    Ended(Box<Result<CellExecution, SessionError>>),
}

/// Call of a session that is under way. Events that a client reads too slowly are bounded by the limits of the call, and
/// by what all clients of a key may leave unread. Dropping the stream interrupts the code.
pub struct CallStream {
    /// The call; none once it has ended.
    call: Option<BoxFuture<'static, Result<CellExecution, SessionError>>>,
    events: Receiver<SessionEvent>,
    /// Outcome that follows the events that are left.
    ended: Option<Box<Result<CellExecution, SessionError>>>,
}

impl CallStream {
    /// Waits for the next item; none after the end. The call goes on only while somebody waits, and dropping the future
    /// loses nothing.
    pub async fn next(&mut self) -> Option<CallItem> {
        while let Some(call) = &mut self.call {
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => {
                    if let Some(event) = cell_event(event) {
                        return Some(CallItem::Event(event));
                    }
                }
                ended = call => {
                    self.call = None;
                    self.ended = Some(Box::new(ended));
                }
            }
        }
        // What was told before the end, first: it is there already.
        while let Some(event) = self.events.try_recv() {
            if let Some(event) = cell_event(event) {
                return Some(CallItem::Event(event));
            }
        }
        self.ended.take().map(CallItem::Ended)
    }
}

fn cell_event(next: Next<SessionEvent>) -> Option<CallEvent> {
    match next {
        Next::Piece(SessionEvent::Cell(event)) => Some(Next::Piece(event)),
        Next::Piece(_) => None,
        Next::Overflow(bytes) => Some(Next::Overflow(bytes)),
    }
}

impl SessionManager {
    /// Runs code in a session as [`Self::call`] does, with its events.
    ///
    /// # Errors
    /// Returns an error when there is no such session.
    pub fn call_stream(self: &Arc<Self>, id: SessionId, asked: CellAsked) -> Result<CallStream, SessionError> {
        let session = self.table.get(id)?;
        let (sender, events) = queue(self.budgets.unread.account(session.spec.owner).lease());
        let manager = Arc::clone(self);
        let call = async move { manager.call_with_events(id, asked, Some(sender)).await }.boxed();
        Ok(CallStream { call: Some(call), events, ended: None })
    }
}
