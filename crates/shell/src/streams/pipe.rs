//! A bounded pipe of bytes between two futures.

use super::channel::{Channel, ReadEnd, WriteEnd};
use super::{Reader, Writer};
use crate::bounds::Held;
use std::sync::{Arc, Weak};

/// A pipe that holds up to `capacity` bytes. It ends for the reader when all writers are dropped, and breaks for the
/// writers when all readers are.
#[must_use]
pub fn pipe(capacity: usize) -> (Writer, Reader) {
    let channel = Arc::new(Channel::new(capacity.max(1), None));
    (Writer::pipe(WriteEnd::new(Arc::clone(&channel), None)), Reader::pipe(ReadEnd::new(channel, None)))
}

/// Named pipe, which is opened at each end as often as is asked for.
pub(crate) struct Fifo(Arc<Channel>);

/// Place of a named pipe, which is there as long as one of its ends is open.
#[derive(Debug)]
pub(crate) struct FifoPlace(Weak<Channel>);

impl FifoPlace {
    pub(crate) fn get(&self) -> Option<Fifo> {
        self.0.upgrade().map(Fifo)
    }
}

impl Fifo {
    /// Makes a channel in memory that its opener has taken.
    pub(crate) fn new(capacity: usize, held: Held) -> Self {
        Self(Arc::new(Channel::new(capacity, Some(held))))
    }

    pub(crate) fn place(&self) -> FifoPlace {
        FifoPlace(Arc::downgrade(&self.0))
    }

    /// Opens both ends at once.
    pub(crate) fn open_both(&self) -> (Reader, Writer) {
        let reader = self.open_to_read();
        let writer = self.open_to_write();
        (reader, writer)
    }

    /// Opens the read end. Reading waits for the first writer.
    pub(crate) fn open_to_read(&self) -> Reader {
        let mut state = self.0.lock();
        state.readers_opened += 1;
        let seen = if state.writers > 0 { None } else { Some(state.writers_opened) };
        state.wake_all();
        drop(state);
        Reader::pipe(ReadEnd::new(Arc::clone(&self.0), seen))
    }

    /// Opens the write end. Writing waits for the first reader.
    pub(crate) fn open_to_write(&self) -> Writer {
        let mut state = self.0.lock();
        state.writers_opened += 1;
        let seen = if state.readers > 0 { None } else { Some(state.readers_opened) };
        state.wake_all();
        drop(state);
        Writer::pipe(WriteEnd::new(Arc::clone(&self.0), seen))
    }
}
