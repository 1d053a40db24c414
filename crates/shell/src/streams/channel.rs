//! Channel of a pipe, and its ends.

use crate::bounds::Held;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Error of a writer to which nothing more can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nobody reads what is written")]
pub struct Broken;

/// State that the ends of a pipe share.
pub(super) struct Channel {
    capacity: usize,
    state: Mutex<State>,
    _held: Option<Held>,
}

#[derive(Default)]
pub(super) struct State {
    bytes: VecDeque<u8>,
    pub(super) readers: usize,
    pub(super) writers: usize,
    /// Times that a named pipe was opened at this end.
    pub(super) readers_opened: u64,
    pub(super) writers_opened: u64,
    waiting: Vec<Waker>,
}

impl State {
    pub(super) fn wake_all(&mut self) {
        for waker in self.waiting.drain(..) {
            waker.wake();
        }
    }

    fn wait(&mut self, context: &Context<'_>) {
        if !self.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            self.waiting.push(context.waker().clone());
        }
    }
}

impl Channel {
    /// Makes one in memory that is held as long as it is there.
    pub(super) fn new(capacity: usize, held: Option<Held>) -> Self {
        Self { capacity, state: Mutex::default(), _held: held }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until one end was opened more often than `seen`; `opened` counts how often it was.
    fn poll_opened(&self, context: &Context<'_>, seen: Option<u64>, opened: fn(&State) -> u64) -> Poll<()> {
        let mut state = self.lock();
        if seen.is_none_or(|seen| opened(&state) > seen) {
            return Poll::Ready(());
        }
        state.wait(context);
        Poll::Pending
    }
}

/// Read end of a pipe.
pub(super) struct ReadEnd {
    channel: Arc<Channel>,
    /// Writers that a named pipe had had when this end was opened without one: there is no end before the next.
    seen: Option<u64>,
}

impl ReadEnd {
    pub(super) fn new(channel: Arc<Channel>, seen: Option<u64>) -> Self {
        channel.lock().readers += 1;
        Self { channel, seen }
    }

    /// Waits for the other end of a named pipe to be opened.
    pub(super) fn poll_opened(&self, context: &Context<'_>) -> Poll<()> {
        self.channel.poll_opened(context, self.seen, |state| state.writers_opened)
    }

    /// Takes up to `most` bytes, through the first `stop` if one is given; none at the end.
    pub(super) fn poll_read(
        &self,
        context: &Context<'_>,
        out: &mut Vec<u8>,
        most: usize,
        stop: Option<u8>,
    ) -> Poll<usize> {
        let mut state = self.channel.lock();
        if state.bytes.is_empty() {
            if state.writers == 0 && self.seen.is_none_or(|seen| state.writers_opened > seen) {
                return Poll::Ready(0);
            }
            state.wait(context);
            return Poll::Pending;
        }
        let most = most.min(state.bytes.len());
        let found = stop.and_then(|stop| state.bytes.iter().take(most).position(|byte| *byte == stop));
        let taken = found.map_or(most, |at| at + 1);
        out.extend(state.bytes.drain(..taken));
        state.wake_all();
        Poll::Ready(taken)
    }
}

impl Clone for ReadEnd {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.channel), self.seen)
    }
}

impl Drop for ReadEnd {
    fn drop(&mut self) {
        let mut state = self.channel.lock();
        state.readers -= 1;
        if state.readers == 0 {
            state.bytes = VecDeque::new();
            state.wake_all();
        }
    }
}

/// Write end of a pipe.
pub(super) struct WriteEnd {
    channel: Arc<Channel>,
    /// Readers that a named pipe had had when this end was opened without one: it is not broken before the next.
    seen: Option<u64>,
}

/// Observer of a pipe's writers, which is none of them.
pub(crate) struct PipeObserver(Arc<Channel>);

impl PipeObserver {
    pub(crate) fn has_writers(&self) -> bool {
        self.0.lock().writers > 0
    }
}

impl WriteEnd {
    pub(super) fn observe(&self) -> PipeObserver {
        PipeObserver(Arc::clone(&self.channel))
    }

    pub(super) fn new(channel: Arc<Channel>, seen: Option<u64>) -> Self {
        channel.lock().writers += 1;
        Self { channel, seen }
    }

    /// Waits for the other end of a named pipe to be opened.
    pub(super) fn poll_opened(&self, context: &Context<'_>) -> Poll<()> {
        self.channel.poll_opened(context, self.seen, |state| state.readers_opened)
    }

    /// Puts in as many bytes as there is room for.
    pub(super) fn poll_write(&self, context: &Context<'_>, bytes: &[u8]) -> Poll<Result<usize, Broken>> {
        let mut state = self.channel.lock();
        if state.readers == 0 {
            if self.seen.is_none_or(|seen| state.readers_opened > seen) {
                return Poll::Ready(Err(Broken));
            }
            state.wait(context);
            return Poll::Pending;
        }
        let room = self.channel.capacity.saturating_sub(state.bytes.len());
        if room == 0 {
            state.wait(context);
            return Poll::Pending;
        }
        let taken = room.min(bytes.len());
        state.bytes.extend(&bytes[..taken]);
        state.wake_all();
        Poll::Ready(Ok(taken))
    }
}

impl Clone for WriteEnd {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.channel), self.seen)
    }
}

impl Drop for WriteEnd {
    fn drop(&mut self) {
        let mut state = self.channel.lock();
        state.writers -= 1;
        if state.writers == 0 {
            state.wake_all();
        }
    }
}
