//! What the guest takes for time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Preview 1's clock numbers.
pub const REALTIME: u32 = 0;

/// The clocks of one guest.
#[derive(Debug)]
pub enum Clock {
    /// The machine's.
    Real {
        /// When the guest was made.
        started: Instant,
        /// What its monotonic clock showed then.
        before: Duration,
    },
    /// Runs on fuel and sleep alone: a fuel unit is a nanosecond, and sleeping costs nothing.
    Virtual {
        /// What the wall clock shows at the start, in nanoseconds since 1970.
        start_time: u64,
        /// Slept so far.
        slept: Duration,
    },
}

impl Clock {
    /// The machine's, its monotonic clock at its beginning.
    pub fn real() -> Self {
        Self::Real { started: Instant::now(), before: Duration::ZERO }
    }

    /// What the monotonic clock shows, but for a virtual one's fuel.
    pub fn uptime(&self) -> Duration {
        match self {
            Self::Real { started, before } => *before + started.elapsed(),
            Self::Virtual { slept, .. } => *slept,
        }
    }

    /// The time on clock `id` in nanoseconds, when `fuel_used` has been used.
    pub fn now(&self, id: u32, fuel_used: u64) -> u64 {
        match self {
            Self::Real { .. } if id != REALTIME => nanoseconds(self.uptime()),
            Self::Real { .. } => nanoseconds(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()),
            Self::Virtual { start_time, slept } => {
                let running = fuel_used.saturating_add(nanoseconds(*slept));
                if id == REALTIME { start_time.saturating_add(running) } else { running }
            }
        }
    }
}

/// Saturates after 584 years.
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
