//! Work that host calls do in a guest's name: bytes they move cost fuel, and the guest yields between parts of it.
//!
//! A guest yields by fuel, which host functions do not use. Without this a loop of large writes would keep the core for
//! as long as its fuel lasts for the calls alone, and nobody would look at its wall limit.

/// Bytes that one unit of fuel moves.
const BYTES_PER_FUEL: u64 = 8;
/// Bytes moved between two yields: about a millisecond, like a time slice of compiled code. Larger calls are carried
/// out in parts of this size.
pub(crate) const BYTES_A_TIME_SLICE: u32 = 4 << 20;
/// Quick calls between two looks at the clock, which takes as long as the quickest of them.
const CALLS_A_LOOK: u8 = 16;

/// Work of host calls: bytes since the last that were charged, and quick calls since the last look at the clock.
#[derive(Debug, Default)]
pub(crate) struct HostWork {
    bytes: u64,
    quick_calls: u8,
}

impl HostWork {
    /// Counts bytes that were copied or zeroed.
    pub(crate) fn count_bytes(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }

    /// Counts a quick call; returns whether to look at the clock after it.
    pub(crate) fn count_quick_call(&mut self) -> bool {
        self.quick_calls = (self.quick_calls + 1) % CALLS_A_LOOK;
        self.quick_calls == 0
    }

    /// Takes the fuel that is due, with a yield, for the bytes counted so far.
    pub(crate) fn take_due_fuel(&mut self) -> Option<u64> {
        let is_due = self.bytes >= u64::from(BYTES_A_TIME_SLICE);
        is_due.then(|| std::mem::take(&mut self.bytes) / BYTES_PER_FUEL)
    }
}
