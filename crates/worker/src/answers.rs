//! Frames that wait to leave a worker. A session may write faster than the front process reads: what others wait for must
//! not stand behind all that. So requests take turns, a frame each; the frames of one keep their order.

use std::collections::{HashMap, VecDeque};

use tokio::sync::mpsc::UnboundedReceiver;

use super::protocol::{FromWorker, RunId};

/// Receiver of answers that gives requests to sessions their turns. All that is no such request's waits in one line.
pub(crate) struct Answers {
    incoming: UnboundedReceiver<FromWorker>,
    waiting: HashMap<Option<RunId>, VecDeque<FromWorker>>,
    /// Keys of `waiting`, the next one first.
    turns: VecDeque<Option<RunId>>,
}

impl Answers {
    pub(crate) fn new(incoming: UnboundedReceiver<FromWorker>) -> Self {
        Self { incoming, waiting: HashMap::new(), turns: VecDeque::new() }
    }

    /// Returns the next frame; none once all senders are gone and all has been taken.
    pub(crate) async fn recv(&mut self) -> Option<FromWorker> {
        if self.turns.is_empty() {
            let answer = self.incoming.recv().await?;
            if self.incoming.is_empty() {
                return Some(answer);
            }
            self.put(answer);
        }
        while let Ok(answer) = self.incoming.try_recv() {
            self.put(answer);
        }
        self.take()
    }

    /// Returns whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.turns.is_empty() && self.incoming.is_empty()
    }

    fn put(&mut self, answer: FromWorker) {
        let whose = match &answer {
            FromWorker::Event { id, .. } | FromWorker::Answered { id, .. } => Some(*id),
            _ => None,
        };
        let waiting = self.waiting.entry(whose).or_default();
        if waiting.is_empty() {
            self.turns.push_back(whose);
        }
        waiting.push_back(answer);
    }

    fn take(&mut self) -> Option<FromWorker> {
        let whose = self.turns.pop_front()?;
        let waiting = self.waiting.get_mut(&whose)?;
        let answer = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(&whose);
        } else {
            self.turns.push_back(whose);
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::{RequestError, SessionEvent};
    use tokio::sync::mpsc;

    fn event(id: RunId) -> FromWorker {
        FromWorker::Event { id, event: SessionEvent::Watching }
    }

    #[tokio::test]
    async fn one_request_that_says_much_keeps_no_other_waiting() {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut answers = Answers::new(receiver);
        for _ in 0..1000 {
            sender.send(event(1)).expect("it is there");
        }
        sender.send(event(2)).expect("it is there");
        sender.send(FromWorker::Pong { live: 3 }).expect("it is there");
        drop(sender);
        let mut taken = Vec::new();
        while let Some(answer) = answers.recv().await {
            taken.push(match answer {
                FromWorker::Event { id, .. } => Some(id),
                _ => None,
            });
        }
        assert!(answers.is_empty());
        assert_eq!(taken[..4], [Some(1), Some(2), None, Some(1)]);
        assert_eq!(taken.len(), 1002);
    }

    #[tokio::test]
    async fn frames_of_one_request_keep_their_order() {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut answers = Answers::new(receiver);
        for round in 0..100 {
            sender.send(FromWorker::Pong { live: round }).expect("it is there");
            sender.send(event(1)).expect("it is there");
        }
        sender.send(FromWorker::Answered { id: 1, result: Err(RequestError::NoSession) }).expect("it is there");
        drop(sender);
        let (mut rounds, mut last) = (Vec::new(), None);
        while let Some(answer) = answers.recv().await {
            match answer {
                FromWorker::Pong { live } => rounds.push(live),
                of_request => last = Some(of_request),
            }
        }
        assert_eq!(rounds, (0..100).collect::<Vec<_>>());
        assert!(matches!(last, Some(FromWorker::Answered { id: 1, .. })));
    }
}
