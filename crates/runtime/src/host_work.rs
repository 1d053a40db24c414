//! Work that host calls do in a guest's name: bytes they move cost fuel, and the guest yields between parts of it.
//!
//! A guest yields by fuel, which host functions do not use. Without this a loop of large writes would keep the core for
//! as long as its fuel lasts for the calls alone, and nobody would look at its wall limit.

use std::time::{Duration, Instant};

/// Bytes that one unit of fuel moves.
const BYTES_PER_FUEL: u64 = 8;
/// Bytes moved between two yields: about a millisecond, like a time slice of compiled code. Larger calls are carried
/// out in parts of this size.
pub(crate) const BYTES_A_TIME_SLICE: u32 = 4 << 20;
/// Time spent in calls that are slow without moving many bytes (long paths, large directories) between two yields.
const TIME_SLICE: Duration = Duration::from_millis(1);

/// What a guest owes for work done in its name.
pub(crate) enum Due {
    /// Nothing yet.
    Nothing,
    /// A yield.
    Yield,
    /// A yield, and fuel.
    Fuel(u64),
}

/// Work of host calls since the last yield on its account.
#[derive(Debug, Default)]
pub(crate) struct HostWork {
    bytes: u64,
    time: Duration,
}

impl HostWork {
    /// Counts bytes that were copied or zeroed.
    pub(crate) fn count_bytes(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }

    /// Counts the time since `began`. It leads to yields, never to fuel: that depends on nothing but the program.
    pub(crate) fn count_time(&mut self, began: Instant) {
        self.time = self.time.saturating_add(began.elapsed());
    }

    /// Takes what is due for the bytes and the time counted so far.
    pub(crate) fn take_due(&mut self) -> Due {
        if self.bytes >= u64::from(BYTES_A_TIME_SLICE) {
            Due::Fuel(std::mem::take(&mut self.bytes) / BYTES_PER_FUEL)
        } else if self.time < TIME_SLICE {
            Due::Nothing
        } else {
            Due::Yield
        }
    }

    /// Forgets the time: the guest yields.
    pub(crate) fn forget_time(&mut self) {
        self.time = Duration::ZERO;
    }
}
