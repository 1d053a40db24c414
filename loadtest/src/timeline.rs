//! What happened in each second of a run, for plots.

use std::time::{Duration, Instant};

/// An answer, as far as a plot knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Moment {
    /// And how long it took.
    Right(Duration),
    Refused,
    /// A wrong answer, or none.
    Bad,
}

/// Seconds of one or several runs, one after another.
pub(crate) struct Timeline {
    begin: Instant,
    seconds: Vec<Second>,
}

/// Counts of a single second.
#[derive(Clone, Debug, Default)]
pub(crate) struct Second {
    pub refused: u64,
    pub bad: u64,
    /// Of the right answers, in milliseconds.
    latencies: Vec<f32>,
}

/// A day: longer runs are not made.
const MAX_SECONDS: usize = 86_400;

impl Timeline {
    /// Counts a request; one before `begin` is left out.
    pub(crate) fn new(begin: Instant) -> Self {
        Self { begin, seconds: Vec::new() }
    }

    pub(crate) fn note(&mut self, arrived: Instant, moment: Moment) {
        let Some(since) = arrived.checked_duration_since(self.begin) else { return };
        let index = (since.as_secs() as usize).min(MAX_SECONDS);
        if self.seconds.len() <= index {
            self.seconds.resize_with(index + 1, Second::default);
        }
        let second = &mut self.seconds[index];
        match moment {
            Moment::Right(latency) => second.latencies.push(latency.as_secs_f32() * 1e3),
            Moment::Refused => second.refused += 1,
            Moment::Bad => second.bad += 1,
        }
    }

    /// Puts another after this one, where its own beginning puts it.
    pub(crate) fn absorb(&mut self, other: Self) {
        let offset = other.begin.saturating_duration_since(self.begin).as_secs() as usize;
        for (index, second) in other.seconds.into_iter().enumerate() {
            let index = (offset + index).min(MAX_SECONDS);
            if self.seconds.len() <= index {
                self.seconds.resize_with(index + 1, Second::default);
            }
            let own = &mut self.seconds[index];
            own.refused += second.refused;
            own.bad += second.bad;
            own.latencies.extend(second.latencies);
        }
    }

    /// A value of each of the first `count` seconds that has one, with its middle.
    pub(crate) fn points(&self, count: u64, value: impl Fn(&Second) -> Option<f64>) -> Vec<(f64, f64)> {
        let seconds = self.seconds.iter().take(count as usize).enumerate();
        seconds.filter_map(|(index, second)| Some((index as f64 + 0.5, value(second)?))).collect()
    }
}

impl Second {
    pub(crate) fn right(&self) -> u64 {
        self.latencies.len() as u64
    }

    /// In milliseconds; none when there was no right answer.
    pub(crate) fn quantile(&self, quantile: f64) -> Option<f64> {
        let mut latencies = self.latencies.clone();
        latencies.sort_unstable_by(f32::total_cmp);
        let last = latencies.len().checked_sub(1)?;
        Some(latencies[(last as f64 * quantile).round() as usize].into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_stand_in_the_second_in_which_they_came() {
        let begin = Instant::now();
        let mut timeline = Timeline::new(begin);
        for milliseconds in [100, 200, 1500] {
            let moment = Moment::Right(Duration::from_millis(milliseconds));
            timeline.note(begin + Duration::from_millis(milliseconds), moment);
        }
        timeline.note(begin + Duration::from_millis(1700), Moment::Refused);
        assert_eq!(timeline.points(10, |second| Some(second.right() as f64)), [(0.5, 2.0), (1.5, 1.0)]);
        assert_eq!(timeline.points(1, |second| second.quantile(1.0).map(f64::round)), [(0.5, 200.0)]);
        let mut later = Timeline::new(begin + Duration::from_secs(2));
        later.note(begin + Duration::from_millis(2100), Moment::Bad);
        timeline.absorb(later);
        assert_eq!(timeline.points(10, |second| Some(second.bad as f64)).len(), 3);
    }
}
