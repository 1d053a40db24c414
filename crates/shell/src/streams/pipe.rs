//! A bounded pipe of bytes between two futures.

use super::{Broken, Reader, Writer};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// A pipe that holds up to `capacity` bytes. It ends for the reader when all writers are dropped, and breaks for the
/// writers when all readers are.
#[must_use]
pub fn pipe(capacity: usize) -> (Writer, Reader) {
    let channel = Arc::new(Channel { capacity: capacity.max(1), state: Mutex::default() });
    (Writer::pipe(WriteEnd::new(Arc::clone(&channel))), Reader::pipe(ReadEnd::new(channel)))
}

struct Channel {
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    bytes: VecDeque<u8>,
    readers: usize,
    writers: usize,
    waiting: Vec<Waker>,
}

impl State {
    fn wake_all(&mut self) {
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
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Read end of a pipe.
pub(super) struct ReadEnd(Arc<Channel>);

impl ReadEnd {
    fn new(channel: Arc<Channel>) -> Self {
        channel.lock().readers += 1;
        Self(channel)
    }

    /// Takes up to `most` bytes, through the first `stop` if one is given; none at the end.
    pub(super) fn poll_read(
        &self,
        context: &Context<'_>,
        out: &mut Vec<u8>,
        most: usize,
        stop: Option<u8>,
    ) -> Poll<usize> {
        let mut state = self.0.lock();
        if state.bytes.is_empty() {
            if state.writers == 0 {
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
        Self::new(Arc::clone(&self.0))
    }
}

impl Drop for ReadEnd {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.readers -= 1;
        if state.readers == 0 {
            state.bytes = VecDeque::new();
            state.wake_all();
        }
    }
}

/// Write end of a pipe.
pub(super) struct WriteEnd(Arc<Channel>);

/// Observer of a pipe's writers, which is none of them.
pub(crate) struct PipeObserver(Arc<Channel>);

impl PipeObserver {
    pub(crate) fn has_writers(&self) -> bool {
        self.0.lock().writers > 0
    }
}

impl WriteEnd {
    pub(super) fn observe(&self) -> PipeObserver {
        PipeObserver(Arc::clone(&self.0))
    }

    fn new(channel: Arc<Channel>) -> Self {
        channel.lock().writers += 1;
        Self(channel)
    }

    /// Puts in as many bytes as there is room for.
    pub(super) fn poll_write(&self, context: &Context<'_>, bytes: &[u8]) -> Poll<Result<usize, Broken>> {
        let mut state = self.0.lock();
        if state.readers == 0 {
            return Poll::Ready(Err(Broken));
        }
        let room = self.0.capacity.saturating_sub(state.bytes.len());
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
        Self::new(Arc::clone(&self.0))
    }
}

impl Drop for WriteEnd {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.writers -= 1;
        if state.writers == 0 {
            state.wake_all();
        }
    }
}
