//! Turns of scripts on their threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time that jobs and pipelines of a script have, before other tasks of the thread get their turn.
const TIME_OF_TURN: Duration = Duration::from_millis(2);
/// Turn of a script on its thread.
#[derive(Debug)]
pub(crate) struct Turn {
    epoch: Instant,
    /// End of the turn, in microseconds since the epoch.
    end: AtomicU64,
}

impl Turn {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { epoch: Instant::now(), end: AtomicU64::new(0) })
    }

    fn microseconds(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    pub(super) fn begin(&self) {
        let length = u64::try_from(TIME_OF_TURN.as_micros()).unwrap_or(u64::MAX);
        self.end.store(self.microseconds().saturating_add(length), Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.microseconds() > self.end.load(Ordering::Relaxed)
    }
}
