//! Durations, kept in an HDR histogram: any number of them in a fixed amount of memory, each exact to 0.1 %.

use std::time::Duration;

use anyhow::Context;
use hdrhistogram::Histogram;
use serde::Serialize;

/// Longer ones are kept as this.
const MAX_LENGTH: Duration = Duration::from_secs(3600);
const SIGNIFICANT_DIGITS: u8 = 3;

/// Durations, from which percentiles are read.
pub(crate) struct Latencies {
    nanoseconds: Histogram<u64>,
}

impl Latencies {
    /// Makes a record without latencies.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let longest = u64::try_from(MAX_LENGTH.as_nanos()).context("an hour in nanoseconds")?;
        Ok(Self {
            nanoseconds: Histogram::new_with_bounds(1, longest, SIGNIFICANT_DIGITS).context("making a histogram")?,
        })
    }

    pub(crate) fn record(&mut self, duration: Duration) {
        self.nanoseconds.saturating_record(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Takes over what another has recorded.
    pub(crate) fn absorb(&mut self, other: &Self) {
        // The bounds are the same, so nothing is out of range.
        let _ = self.nanoseconds.add(&other.nanoseconds);
    }

    /// Returns the percentiles, or `None` when nothing was recorded.
    pub(crate) fn percentiles(&self) -> Option<Percentiles> {
        let at = |quantile: f64| milliseconds(self.nanoseconds.value_at_quantile(quantile));
        (!self.nanoseconds.is_empty()).then(|| Percentiles {
            min: milliseconds(self.nanoseconds.min()),
            mean: self.nanoseconds.mean() / 1e6,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: milliseconds(self.nanoseconds.max()),
        })
    }
}

fn milliseconds(nanoseconds: u64) -> f64 {
    Duration::from_nanos(nanoseconds).as_secs_f64() * 1e3
}

/// In milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Percentiles {
    pub min: f64,
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    #[serde(rename = "p99.9")]
    pub p999: f64,
    pub max: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_read_in_milliseconds() {
        let mut latencies = Latencies::new().expect("the bounds are valid");
        assert_eq!(latencies.percentiles(), None);
        for milliseconds in 1..=1000 {
            latencies.record(Duration::from_millis(milliseconds));
        }
        latencies.record(Duration::from_secs(100_000));
        let percentiles = latencies.percentiles().expect("there are some");
        for (found, meant) in [
            (percentiles.min, 1.0),
            (percentiles.p50, 501.0),
            (percentiles.p99, 991.0),
            (percentiles.p999, 1000.0),
            (percentiles.max, 3.6e6),
        ] {
            assert!((found / meant - 1.0).abs() < 0.002, "{found} is not {meant}");
        }
    }
}
