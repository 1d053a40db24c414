//! Permits for the interpreters that commands start. The front process gives them, from those of the key.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::protocol::{CommandSource, FromWorker, Ticket};
use proofbox_types::caller::Urgency;
use proofbox_types::ids::KeyId;

/// Key that the interpreters of commands count against, and the urgency of the work that starts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payer {
    /// Key that owns the session or run.
    pub owner: Option<KeyId>,
    /// Urgency of the work.
    pub urgency: Urgency,
}

/// Permit for one interpreter, released on drop.
pub type InterpreterPermit = Box<dyn Send>;

/// Accounts of those who pay for what runs.
pub trait PayerAccounts: Send + Sync {
    /// Acquires a permit for one interpreter, at once or after waiting; none when there is none to be had. Dropping the
    /// future leaves the queue.
    fn admit(&self, payer: Payer) -> BoxFuture<'static, Option<InterpreterPermit>>;

    /// Charges a key for fuel that no outcome tells of: whoever waited for it has gone.
    fn charge(&self, owner: Option<KeyId>, fuel: u64);
}

/// Client side of the front process's admission, in a worker.
#[derive(Clone)]
pub(crate) struct WorkerAdmission(Arc<State>);

struct State {
    messages: mpsc::UnboundedSender<FromWorker>,
    waiting: Mutex<HashMap<Ticket, oneshot::Sender<bool>>>,
    next: AtomicU64,
}

impl WorkerAdmission {
    /// Makes the way over which `messages` go to the front process.
    pub(crate) fn new(messages: mpsc::UnboundedSender<FromWorker>) -> Self {
        Self(Arc::new(State { messages, waiting: Mutex::default(), next: AtomicU64::new(0) }))
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<Ticket, oneshot::Sender<bool>>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acquires a permit for an interpreter of a command of `source`; none when the front process refuses it.
    pub(crate) async fn acquire(&self, source: CommandSource) -> Option<Admitted> {
        let ticket = self.0.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.waiting().insert(ticket, answer);
        // Before anything can be dropped: whoever stops waiting says so.
        let admitted = Admitted { admission: self.clone(), ticket };
        self.send(FromWorker::InterpreterWanted { ticket, source });
        answered.await.unwrap_or(false).then_some(admitted)
    }

    /// Passes on an answer of the front process.
    pub(crate) fn answer(&self, ticket: Ticket, answer: bool) {
        let waiting = self.waiting().remove(&ticket);
        if let Some(waiting) = waiting {
            // Whoever has stopped waiting has said so.
            let _ = waiting.send(answer);
        }
    }

    fn send(&self, message: FromWorker) {
        // The front process is gone only when this process is about to end.
        let _ = self.0.messages.send(message);
    }
}

/// Permit of the front process, or the wait for one. Dropping it gives it back.
pub(crate) struct Admitted {
    admission: WorkerAdmission,
    ticket: Ticket,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.admission.waiting().remove(&self.ticket);
        self.admission.send(FromWorker::InterpreterEnded { ticket: self.ticket });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_permit_is_given_back_whatever_becomes_of_it() {
        let (messages, mut sent) = mpsc::unbounded_channel();
        let admission = WorkerAdmission::new(messages);
        let acquire = || Box::pin(admission.acquire(CommandSource::Session(7)));
        let wanted =
            |message| matches!(message, FromWorker::InterpreterWanted { source: CommandSource::Session(7), .. });
        let ended = |message, of| matches!(message, FromWorker::InterpreterEnded { ticket } if ticket == of);
        for (ticket, answer) in [(0, true), (1, false)] {
            let mut acquired = acquire();
            assert!(futures_util::poll!(&mut acquired).is_pending());
            assert!(wanted(sent.recv().await.expect("a message")));
            admission.answer(ticket, answer);
            let acquired = acquired.await;
            assert_eq!(acquired.is_some(), answer);
            assert_eq!(sent.is_empty(), answer, "a permit is held until it is dropped");
            drop(acquired);
            assert!(ended(sent.recv().await.expect("a message"), ticket));
        }
        let mut left = acquire();
        assert!(futures_util::poll!(&mut left).is_pending());
        drop(left);
        assert!(wanted(sent.recv().await.expect("a message")) && ended(sent.recv().await.expect("a message"), 2));
        admission.answer(2, true);
        assert!(sent.is_empty() && admission.waiting().is_empty());
    }
}
