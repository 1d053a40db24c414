//! Counts of a snippet's use of time and entropy, taken where the host serves them.

use super::clock::REALTIME;
use proofbox_types::outcome::{Attempt, AttemptKind};
use proofbox_types::program::ReportUse;

/// Names of preview 1's clocks, by number from [`REALTIME`]; all others are counted together.
const CLOCKS: [&str; 5] = ["realtime", "monotonic", "process_cputime", "thread_cputime", "other"];

/// Counted from when the snippet starts; what is not asked for is not counted.
#[derive(Debug, Default)]
pub(crate) struct UsageEvents {
    wanted: ReportUse,
    started: bool,
    clocks: [u64; CLOCKS.len()],
    sleeps: u64,
    entropy: u64,
}

impl UsageEvents {
    /// Makes counters of what is wanted.
    pub(crate) fn new(wanted: ReportUse) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// The snippet starts: what was used before was the runner's.
    pub(crate) fn start(&mut self) {
        self.started = true;
    }

    /// A clock was read.
    pub(crate) fn clock(&mut self, id: u32) {
        if self.started && self.wanted.time {
            let index = ((id - REALTIME) as usize).min(CLOCKS.len() - 1);
            self.clocks[index] += 1;
        }
    }

    /// Counts a wait for a clock.
    pub(crate) fn sleep(&mut self) {
        self.sleeps += u64::from(self.started && self.wanted.time);
    }

    /// Random bytes were drawn.
    pub(crate) fn entropy(&mut self) {
        self.entropy += u64::from(self.started && self.wanted.entropy);
    }

    /// Returns the counts as attempts, separate from the record of attempts, which has a bound of its own.
    pub(crate) fn attempts(&self) -> impl Iterator<Item = Attempt> {
        let clocks = CLOCKS.into_iter().zip(self.clocks);
        let clocks = clocks.map(|(clock, count)| (AttemptKind::Time, "clock_time_get", clock, count));
        let others = [
            (AttemptKind::Time, "poll_oneoff", "sleep", self.sleeps),
            (AttemptKind::Entropy, "random_get", "", self.entropy),
        ];
        clocks.chain(others).filter(|(.., count)| *count > 0).map(|(kind, operation, target, count)| Attempt {
            kind,
            operation: operation.to_owned(),
            target: target.to_owned(),
            allowed: true,
            count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(wanted: ReportUse) -> Vec<(AttemptKind, String, u64)> {
        let mut usage_events = UsageEvents::new(wanted);
        for _before_and_after_the_start in 0..2 {
            for clock in [0, 1, 1, 7, u32::MAX] {
                usage_events.clock(clock);
            }
            usage_events.sleep();
            usage_events.entropy();
            usage_events.start();
        }
        usage_events.attempts().map(|attempt| (attempt.kind, attempt.target, attempt.count)).collect()
    }

    #[test]
    fn only_what_is_wanted_is_counted_and_only_from_the_start_on() {
        let time = [("realtime", 1), ("monotonic", 2), ("other", 2), ("sleep", 1)];
        let time: Vec<_> =
            time.into_iter().map(|(target, count)| (AttemptKind::Time, target.to_owned(), count)).collect();
        assert_eq!(counted(ReportUse { time: true, entropy: false }), time);
        let entropy = [(AttemptKind::Entropy, String::new(), 1)];
        assert_eq!(counted(ReportUse { time: false, entropy: true }), entropy);
        assert_eq!(counted(ReportUse::default()), []);
    }
}
