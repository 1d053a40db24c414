//! Frames that wait to leave a worker. A session may write faster than the front process reads, and an answer may have a
//! hundred megabytes: what others wait for must not stand behind all that. So requests take turns, a frame each; the frames
//! of one keep their order. Large answers leave in pieces, one answer after the other, in turn with all else.

use std::collections::{HashMap, VecDeque};

use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::bytes::Bytes;

use super::protocol::{FromWorker, PART_BYTES, RunId, encode};

/// Receiver of answers that gives requests to sessions their turns. All that is no such request's waits in one line.
pub(crate) struct Answers {
    incoming: UnboundedReceiver<FromWorker>,
    waiting: HashMap<Option<RunId>, VecDeque<FromWorker>>,
    /// Keys of `waiting`, the next one first.
    turns: VecDeque<Option<RunId>>,
    /// Large answers that wait, and what is left of the one that leaves.
    large: VecDeque<(RunId, FromWorker)>,
    leaving: Option<(RunId, Bytes)>,
    /// True when a piece of a large answer is next.
    part_is_next: bool,
}

impl Answers {
    pub(crate) fn new(incoming: UnboundedReceiver<FromWorker>) -> Self {
        Self {
            incoming,
            waiting: HashMap::new(),
            turns: VecDeque::new(),
            large: VecDeque::new(),
            leaving: None,
            part_is_next: false,
        }
    }

    /// Returns the next frame; none once all senders are gone and all has been taken.
    pub(crate) async fn recv(&mut self) -> Option<FromWorker> {
        if self.has_none_waiting() {
            let answer = self.incoming.recv().await?;
            if self.incoming.is_empty() && answer.large_answer().is_none() {
                return Some(answer);
            }
            self.put(answer);
        }
        while let Ok(answer) = self.incoming.try_recv() {
            self.put(answer);
        }
        if std::mem::take(&mut self.part_is_next) || self.turns.is_empty() {
            return self.take_part().or_else(|| self.take());
        }
        self.part_is_next = true;
        self.take()
    }

    /// Returns whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.has_none_waiting() && self.incoming.is_empty()
    }

    fn has_none_waiting(&self) -> bool {
        self.turns.is_empty() && self.large.is_empty() && self.leaving.is_none()
    }

    fn put(&mut self, answer: FromWorker) {
        if let Some(id) = answer.large_answer() {
            self.large.push_back((id, answer));
            return;
        }
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

    fn take_part(&mut self) -> Option<FromWorker> {
        let (id, mut rest) = match self.leaving.take() {
            Some(leaving) => leaving,
            // What happened during the request goes before its answer.
            None => {
                let at = self.large.iter().position(|(id, _)| !self.waiting.contains_key(&Some(*id)))?;
                let (id, answer) = self.large.remove(at)?;
                (id, encode(&answer))
            }
        };
        let bytes = rest.split_to(rest.len().min(PART_BYTES)).to_vec();
        let left = rest.len();
        self.leaving = (left > 0).then_some((id, rest));
        Some(FromWorker::Part { id, bytes, left })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Parts, decode};
    use crate::rpc::{RequestError, SessionEvent, SessionResponse};
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

    fn saved(id: RunId, bytes: Vec<u8>) -> FromWorker {
        FromWorker::Answered { id, result: Ok(SessionResponse::Saved(bytes)) }
    }

    #[tokio::test]
    async fn large_answers_leave_in_pieces_between_all_else() {
        const LARGE: usize = 3 * PART_BYTES;
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut answers = Answers::new(receiver);
        let contents = [1, 2].map(|byte| vec![byte; LARGE]);
        sender.send(event(1)).expect("it is there");
        for (id, content) in (1..).zip(&contents) {
            sender.send(saved(id, content.clone())).expect("it is there");
        }
        for _ in 0..3 {
            sender.send(FromWorker::Pong { live: 0 }).expect("it is there");
        }
        sender.send(saved(3, vec![3; PART_BYTES / 2])).expect("it is there");
        drop(sender);
        let (mut order, mut parts, mut whole) = (Vec::new(), Parts::default(), Vec::new());
        while let Some(answer) = answers.recv().await {
            let encoded = encode(&answer).len();
            assert!(encoded < PART_BYTES + 100, "{encoded}");
            match answer {
                FromWorker::Event { .. } => order.push('e'),
                FromWorker::Pong { .. } => order.push('p'),
                FromWorker::Part { id, bytes, left } => {
                    order.push(if id == 1 { '1' } else { '2' });
                    whole.extend(parts.take(id, &bytes, left).expect("it is the next one"));
                }
                _ => order.push('3'),
            }
        }
        assert!(answers.is_empty());
        // What happened during a request goes before its answer, and one large answer follows another.
        assert_eq!(String::from_iter(order), "e1p131p1p2222");
        for (content, encoded) in contents.iter().zip(whole) {
            let message: FromWorker = decode(&encoded).expect("a message");
            assert!(
                matches!(message, FromWorker::Answered { result: Ok(SessionResponse::Saved(bytes)), .. } if bytes == *content)
            );
        }
    }

    #[test]
    fn pieces_of_two_answers_or_of_one_too_large_are_refused() {
        let mut parts = Parts::default();
        assert!(parts.take(1, b"a", 1).is_ok_and(|whole| whole.is_none()));
        assert!(parts.take(2, b"b", 0).is_err());
        let mut parts = Parts::default();
        assert!(parts.take(1, b"a", 1 << 30).is_err());
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
