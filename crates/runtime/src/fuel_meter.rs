//! Fuel of a guest: where it is counted, and what is left beside the count.

use wasmtime::Global;

/// Fuel between two looks at the clock and at other guests: about a millisecond.
pub(super) const TIME_SLICE: u64 = 10_000_000;

/// Fuel of one guest.
#[derive(Debug)]
pub(crate) struct FuelMeter {
    /// Global that the guest counts in; none while an image is made, which nobody meters.
    pub(super) counter: Option<Global>,
    /// Fuel that the guest was granted.
    pub(super) granted: u64,
    /// Part of the grant that is not in the counter.
    pub(super) reserve: u64,
    /// Fuel left at which the guest pauses whatever its time slice: where the limit of a call lies.
    pub(super) pause_at: u64,
}

impl FuelMeter {
    /// Makes the meter of a guest that is granted so much.
    pub(crate) fn new(granted: u64) -> Self {
        Self { counter: None, granted, reserve: granted, pause_at: 0 }
    }
}
