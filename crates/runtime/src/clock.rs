//! Clocks of the guest, real or virtual.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Preview 1's clock numbers.
pub(crate) const REALTIME: u32 = 0;
const PROCESS_CPU: u32 = 2;
const THREAD_CPU: u32 = 3;

/// The clocks of one guest.
#[derive(Debug)]
pub(crate) enum Clock {
    /// Clocks of the machine itself.
    Real {
        /// Time at which the guest was made.
        started: Instant,
        /// Monotonic clock of the guest at that time.
        before: Duration,
        /// Time slept so far.
        slept: Duration,
    },
    /// Runs on fuel and sleep alone: a fuel unit is a nanosecond, and sleeping costs nothing.
    Virtual {
        /// Wall clock at the start, in nanoseconds since 1970.
        start_time: u64,
        /// Time slept so far.
        slept: Duration,
    },
}

impl Clock {
    /// The machine's, its monotonic clock at its beginning.
    pub(crate) fn real() -> Self {
        Self::real_since(Duration::ZERO)
    }

    /// The machine's, its monotonic clock at `uptime`.
    pub(crate) fn real_since(uptime: Duration) -> Self {
        Self::Real { started: Instant::now(), before: uptime, slept: Duration::ZERO }
    }

    /// Adds time in which the guest slept: it is none of its CPU time.
    pub(crate) fn count_sleep(&mut self, duration: Duration) {
        let (Self::Real { slept, .. } | Self::Virtual { slept, .. }) = self;
        *slept = slept.saturating_add(duration);
    }

    /// Returns the monotonic clock; without the fuel that counts as time on a virtual one.
    pub(crate) fn uptime(&self) -> Duration {
        match self {
            Self::Real { started, before, .. } => *before + started.elapsed(),
            Self::Virtual { slept, .. } => *slept,
        }
    }

    /// The time on clock `id` in nanoseconds, when `fuel_used` has been used.
    pub(crate) fn now(&self, id: u32, fuel_used: u64) -> u64 {
        let is_cpu_time = matches!(id, PROCESS_CPU | THREAD_CPU);
        match self {
            Self::Real { slept, .. } if is_cpu_time => nanoseconds(self.uptime().saturating_sub(*slept)),
            Self::Virtual { .. } if is_cpu_time => fuel_used,
            Self::Real { .. } if id != REALTIME => nanoseconds(self.uptime()),
            Self::Real { .. } => nanoseconds(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()),
            Self::Virtual { start_time, slept } => {
                let running = fuel_used.saturating_add(nanoseconds(*slept));
                if id == REALTIME { start_time.saturating_add(running) } else { running }
            }
        }
    }
}

/// Returns the wall clock, in nanoseconds since 1970.
pub fn now() -> u64 {
    Clock::real().now(REALTIME, 0)
}

/// Saturates after 584 years.
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_is_no_cpu_time() {
        let mut clock = Clock::Virtual { start_time: 0, slept: Duration::ZERO };
        clock.count_sleep(Duration::from_secs(1));
        assert_eq!((clock.now(1, 5), clock.now(PROCESS_CPU, 5), clock.now(THREAD_CPU, 5)), (1_000_000_005, 5, 5));

        let mut clock = Clock::real_since(Duration::from_secs(10));
        clock.count_sleep(Duration::from_secs(9));
        assert!(clock.now(1, 0) >= 10_000_000_000);
        assert!((1_000_000_000..9_000_000_000).contains(&clock.now(PROCESS_CPU, 0)));
    }
}
