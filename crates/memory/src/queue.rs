//! Output of a guest until its client reads it: pieces in order, no more of them than there is memory for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::Lease;

/// Bytes of every queue that no budget is asked for: who reads along loses nothing, whatever others hold.
const RESERVE: usize = 64 << 10;
/// Leases grow and shrink by this much.
const STEP: usize = 64 << 10;
/// A part of what is said.
pub trait Piece: Sized {
    /// Bytes of its content.
    fn size(&self) -> usize;

    /// Appends what follows it, where both read as one; else gives that back.
    fn join(&mut self, next: Self) -> Option<Self>;

    /// Tells whether it may be left out where there is no memory for it. Few may not.
    fn is_optional(&self) -> bool;
}

/// Bytes that a piece takes beside its content: in a list that has grown to twice what it holds, and in the allocator.
const fn overhead<T>() -> usize {
    2 * size_of::<Next<T>>() + 64
}

/// Next part of what is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next<T> {
    /// A piece of it.
    Piece(T),
    /// Count of bytes that are left out here, because they were read too slowly.
    Overflow(u64),
}

#[derive(Debug)]
struct Waiting<T> {
    pieces: VecDeque<Next<T>>,
    /// Bytes of all that waits, with overhead.
    bytes: usize,
    lease: Lease,
    senders: usize,
    /// The reader is gone.
    is_closed: bool,
}

#[derive(Debug)]
struct Queue<T> {
    waiting: Mutex<Waiting<T>>,
    arrived: Notify,
    taken: Notify,
}

impl<T> Queue<T> {
    fn waiting(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a queue that asks `lease` for what it holds.
pub fn queue<T: Piece>(lease: Lease) -> (Sender<T>, Receiver<T>) {
    let waiting = Waiting { pieces: VecDeque::new(), bytes: 0, lease, senders: 1, is_closed: false };
    let queue = Arc::new(Queue { waiting: Mutex::new(waiting), arrived: Notify::new(), taken: Notify::new() });
    (Sender(Arc::clone(&queue)), Receiver(queue))
}

/// The end that is spoken into. It never waits: what nobody has room for is left out.
#[derive(Debug)]
pub struct Sender<T: Piece>(Arc<Queue<T>>);

impl<T: Piece> Sender<T> {
    /// Takes a piece, and tells whether somebody may still read it.
    pub fn send(&self, piece: T) -> bool {
        let mut waiting = self.0.waiting();
        if waiting.is_closed {
            return false;
        }
        waiting.push(piece);
        drop(waiting);
        self.0.arrived.notify_one();
        true
    }

    /// Waits until a piece has been taken since this was last waited for.
    pub async fn wait_taken(&self) {
        self.0.taken.notified().await;
    }
}

impl<T: Piece> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.waiting().senders += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T: Piece> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut waiting = self.0.waiting();
        waiting.senders -= 1;
        let is_last = waiting.senders == 0;
        drop(waiting);
        if is_last {
            self.0.arrived.notify_one();
        }
    }
}

impl<T: Piece> Waiting<T> {
    fn push(&mut self, piece: T) {
        let size = piece.size();
        if piece.is_optional() && !self.has_room_for(size + overhead::<T>()) {
            match self.pieces.back_mut() {
                Some(Next::Overflow(bytes)) => *bytes += size as u64,
                _ => self.pieces.push_back(Next::Overflow(size as u64)),
            }
            return;
        }
        let piece = match self.pieces.back_mut() {
            Some(Next::Piece(last)) => last.join(piece),
            _ => Some(piece),
        };
        self.bytes += size;
        if let Some(piece) = piece {
            self.bytes += overhead::<T>();
            self.pieces.push_back(Next::Piece(piece));
        }
    }

    fn has_room_for(&mut self, more: usize) -> bool {
        let beyond = (self.bytes + more).saturating_sub(RESERVE);
        beyond == 0 || self.lease.try_grow(beyond.next_multiple_of(STEP)).is_ok()
    }

    fn pop(&mut self) -> Option<Next<T>> {
        let next = self.pieces.pop_front()?;
        if let Next::Piece(piece) = &next {
            self.bytes = self.bytes.saturating_sub(piece.size() + overhead::<T>());
        }
        self.lease.shrink(self.bytes.saturating_sub(RESERVE).next_multiple_of(STEP));
        Some(next)
    }
}

/// The end that is read.
#[derive(Debug)]
pub struct Receiver<T>(Arc<Queue<T>>);

impl<T: Piece> Receiver<T> {
    /// Waits for what comes next; none when nobody speaks any more.
    pub async fn recv(&mut self) -> Option<Next<T>> {
        loop {
            if let Some(next) = self.try_recv() {
                return Some(next);
            }
            if self.0.waiting().senders == 0 {
                // It may have said something before it left.
                return self.try_recv();
            }
            self.0.arrived.notified().await;
        }
    }

    /// Takes what has come already.
    pub fn try_recv(&mut self) -> Option<Next<T>> {
        let next = self.0.waiting().pop()?;
        self.0.taken.notify_one();
        Some(next)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut waiting = self.0.waiting();
        waiting.is_closed = true;
        waiting.pieces.clear();
        waiting.bytes = 0;
        waiting.lease.shrink(0);
        drop(waiting);
        self.0.taken.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::super::Budget;
    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq)]
    enum Said {
        Text(String),
        End,
    }

    impl Piece for Said {
        fn size(&self) -> usize {
            match self {
                Self::Text(text) => text.len(),
                Self::End => 0,
            }
        }

        fn join(&mut self, next: Self) -> Option<Self> {
            match (self, next) {
                (Self::Text(text), Self::Text(more)) => {
                    text.push_str(&more);
                    None
                }
                (_, next) => Some(next),
            }
        }

        fn is_optional(&self) -> bool {
            matches!(self, Self::Text(_))
        }
    }

    fn text(length: usize) -> Said {
        Said::Text("x".repeat(length))
    }

    fn all(receiver: &mut Receiver<Said>) -> Vec<Next<Said>> {
        std::iter::from_fn(|| receiver.try_recv()).collect()
    }

    #[test]
    fn short_pieces_become_one() {
        let (sender, mut receiver) = queue(Budget::new(0).account(None).lease());
        for _ in 0..1000 {
            assert!(sender.send(text(1)));
        }
        assert!(sender.send(Said::End));
        assert_eq!(all(&mut receiver), [Next::Piece(text(1000)), Next::Piece(Said::End)]);
    }

    #[test]
    fn what_there_is_no_memory_for_is_left_out_where_it_was_and_the_end_is_told() {
        let budget = Budget::new(2 << 20);
        let (sender, mut receiver) = queue(budget.account(None).lease());
        for _ in 0..50 {
            sender.send(text(100 << 10));
        }
        sender.send(Said::End);
        let pieces = all(&mut receiver);
        let [Next::Piece(Said::Text(kept)), Next::Overflow(dropped), Next::Piece(Said::End)] = &pieces[..] else {
            panic!("{} pieces", pieces.len())
        };
        assert_eq!(kept.len() as u64 + dropped, 50 * (100 << 10));
        assert!(kept.len() > 900 << 10 && kept.len() < 1200 << 10, "{}", kept.len());
        // All is given back, and it goes on.
        assert_eq!(budget.account(None).lease().try_grow(1 << 20), Ok(()));
        sender.send(text(1));
        assert_eq!(all(&mut receiver), [Next::Piece(text(1))]);
    }

    #[test]
    fn every_queue_has_something_of_its_own() {
        let budget = Budget::new(0);
        let (sender, mut receiver) = queue(budget.account(None).lease());
        sender.send(text(RESERVE - 1000));
        sender.send(text(RESERVE));
        let expected = [Next::Piece(text(RESERVE - 1000)), Next::Overflow(RESERVE as u64)];
        assert_eq!(all(&mut receiver), expected);
    }

    #[tokio::test]
    async fn who_reads_hears_when_nobody_speaks_any_more_and_the_other_way_round() {
        let (sender, mut receiver) = queue(Budget::new(0).account(None).lease());
        let other = sender.clone();
        drop(sender);
        let speak = async {
            tokio::task::yield_now().await;
            other.send(Said::End);
            other.wait_taken().await;
            drop(other);
        };
        let read = async { (receiver.recv().await, receiver.recv().await) };
        assert_eq!(tokio::join!(read, speak).0, (Some(Next::Piece(Said::End)), None));
        let (sender, receiver) = queue(Budget::new(0).account(None).lease());
        drop(receiver);
        assert!(!sender.send(Said::End));
    }
}
