//! Aggregated figures of many runs, in a form in which two of them can be added.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Ways in which an item can end, as [`Figures::outcomes`] counts them: in the order of [`OUTCOMES`].
pub const OUTCOME_COUNT: usize = 8;
/// Names of the outcomes on the wire; the last is reserved for outcomes that a later version adds.
pub const OUTCOMES: [&str; OUTCOME_COUNT] =
    ["passed", "failed", "ok", "error", "blocked", "refused", "infrastructure_error", "other"];

/// Counts and sums over runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Runs by how they ended.
    pub outcomes: [u64; OUTCOME_COUNT],
    /// passed and failed, and of blocked and refused those with tests.
    pub graded: u64,
    /// Number of cases that passed.
    pub tests_passed: u64,
    /// Cases that were planned.
    pub tests_total: u64,
    /// Runs by failure class (`stderr_class`).
    pub classes: BTreeMap<String, u64>,
    /// Fuel of each run, in wasmtime's units.
    pub fuel: Histogram,
    /// CPU time and sleep of each, in microseconds.
    pub execution: Histogram,
    /// Waiting of each, in microseconds.
    pub queue: Histogram,
}

impl Figures {
    /// Adds what another has counted.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.outcomes.iter_mut().zip(other.outcomes) {
            *mine += theirs;
        }
        self.graded += other.graded;
        self.tests_passed += other.tests_passed;
        self.tests_total += other.tests_total;
        for (class, count) in &other.classes {
            *self.classes.entry(class.clone()).or_default() += count;
        }
        self.fuel.add(&other.fuel);
        self.execution.add(&other.execution);
        self.queue.add(&other.queue);
    }

    /// Everything that was counted.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.outcomes.iter().sum()
    }
}

/// Buckets of one doubling: a value is known to one part in eight or better.
const STEPS: u32 = 3;

/// Histogram with a resolution of one part in eight, and the exact sum and maximum of its values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Bucket -> values in it; only those that have any.
    buckets: BTreeMap<u16, u64>,
    sum: u128,
    largest: u64,
}

impl Histogram {
    /// Counts one value in its bucket.
    pub fn count(&mut self, value: u64) {
        *self.buckets.entry(bucket_of(value)).or_default() += 1;
        self.sum += u128::from(value);
        self.largest = self.largest.max(value);
    }

    /// Adds what another has counted.
    pub fn add(&mut self, other: &Self) {
        for (bucket, count) in &other.buckets {
            *self.buckets.entry(*bucket).or_default() += count;
        }
        self.sum += other.sum;
        self.largest = self.largest.max(other.largest);
    }

    /// Returns the number of values counted.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.buckets.values().sum()
    }

    /// Returns whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Returns the exact sum of the values.
    #[must_use]
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Returns the largest value, or 0 when nothing was counted.
    #[must_use]
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// Returns the mean, or `None` when nothing was counted.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum as f64 / self.len() as f64)
    }

    /// The value that so many of a hundred are not above (nearest rank), to one part in eight: the middle of its
    /// bucket. None of nothing.
    #[must_use]
    pub fn percentile(&self, percent: u64) -> Option<f64> {
        let rank = (self.len() * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let bucket = self.buckets.iter().find(|(_, count)| {
            seen += **count;
            seen >= rank
        });
        let (lowest, highest) = range_of(*bucket?.0);
        Some(f64::midpoint(lowest as f64, highest as f64).min(self.largest as f64))
    }
}

/// Small values have a bucket each; from there on each doubling has [`STEPS`] bits of buckets.
fn bucket_of(value: u64) -> u16 {
    let small = 1 << STEPS;
    if value < small {
        return value as u16;
    }
    let exponent = value.ilog2();
    let within = (value >> (exponent - STEPS)) - small;
    (((exponent - STEPS + 1) << STEPS) as u16) + within as u16
}

/// Returns the smallest and the largest value of a bucket.
fn range_of(bucket: u16) -> (u64, u64) {
    let small = 1_u64 << STEPS;
    let bucket = u64::from(bucket);
    if bucket < small {
        return (bucket, bucket);
    }
    let shift = ((bucket >> STEPS) - 1).min(60);
    let lowest = (small + (bucket & (small - 1))) << shift;
    (lowest, lowest + ((1 << shift) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket() {
        for value in
            (0..100).chain((3..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1])).chain([u64::MAX])
        {
            let (lowest, highest) = range_of(bucket_of(value));
            assert!(lowest <= value && value <= highest, "{value} {lowest} {highest}");
            assert!(highest - lowest <= value / 8, "{value} {lowest} {highest}");
        }
    }

    #[test]
    fn percentiles_are_right_to_one_part_in_eight() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|value| histogram.count(value));
        for percent in [50, 90, 99] {
            let seen = histogram.percentile(percent).expect("there are values");
            let right = 10.0 * percent as f64;
            assert!((seen - right).abs() <= right / 8.0, "{percent} {seen}");
        }
        assert_eq!((histogram.mean(), histogram.largest(), histogram.len()), (Some(500.5), 1000, 1000));
        assert_eq!(Histogram::default().percentile(50), None);
    }

    #[test]
    fn added_is_as_counted_together() {
        let (mut a, mut b, mut both) = (Histogram::default(), Histogram::default(), Histogram::default());
        for value in 0..500 {
            if value % 3 == 0 { &mut a } else { &mut b }.count(value * value);
            both.count(value * value);
        }
        a.add(&b);
        assert_eq!(a, both);
    }

    #[test]
    fn a_single_value_is_its_own_percentile() {
        let mut one = Histogram::default();
        one.count(1_000_001);
        assert!(one.percentile(99).is_some_and(|value| value <= 1_000_001.0 && value > 900_000.0));
    }
}
