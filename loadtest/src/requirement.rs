//! Thresholds given on the command line, such as `p99<=5ms` and `rps>=1200`.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, bail, ensure};
use serde::{Serialize, Serializer};

/// A figure of a result that a threshold can be set for.
pub(crate) trait Figure: Copy + 'static {
    /// Every figure, with its name on the command line.
    const NAMES: &[(&str, Self)];

    fn unit(self) -> Unit;
}

/// Unit of a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// With a suffix on the command line: us, ms or s.
    Milliseconds,
    /// A bare number.
    Number,
}

/// A bound on a figure.
#[derive(Clone, Debug)]
pub(crate) struct Requirement<F> {
    text: String,
    figure: F,
    comparison: Comparison,
    bound: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    AtMost,
    AtLeast,
    Below,
    Above,
}

/// The longer signs first: `<` is also the beginning of `<=`.
const SIGNS: [(&str, Comparison); 4] =
    [("<=", Comparison::AtMost), (">=", Comparison::AtLeast), ("<", Comparison::Below), (">", Comparison::Above)];

impl<F: Figure> Requirement<F> {
    /// Holds it against a result, of which `value` gives the figures; a figure that is not there fails.
    pub(crate) fn check(&self, value: impl FnOnce(F) -> Option<f64>) -> CheckedRequirement {
        let value = value(self.figure);
        let holds = value.is_some_and(|value| match self.comparison {
            Comparison::AtMost => value <= self.bound,
            Comparison::AtLeast => value >= self.bound,
            Comparison::Below => value < self.bound,
            Comparison::Above => value > self.bound,
        });
        CheckedRequirement { requirement: self.text.clone(), value, holds }
    }
}

impl<F: Figure> FromStr for Requirement<F> {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let found = SIGNS.into_iter().find_map(|(sign, comparison)| {
            text.split_once(sign).map(|(name, bound)| (name.trim(), comparison, bound.trim()))
        });
        let (name, comparison, bound) = found.with_context(|| format!("{text:?} has none of <=, >=, <, >"))?;
        let names = || F::NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let figure = F::NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .with_context(|| format!("{name:?} is none of {}", names()))?
            .1;
        let bound = match figure.unit() {
            Unit::Milliseconds => milliseconds(bound)?,
            Unit::Number => number(bound)?,
        };
        Ok(Self { text: text.to_owned(), figure, comparison, bound })
    }
}

fn number(text: &str) -> anyhow::Result<f64> {
    let number: f64 = text.parse().with_context(|| format!("{text:?} is not a number"))?;
    ensure!(number.is_finite() && number >= 0.0, "{text:?} is not a number from 0 up");
    Ok(number)
}

fn milliseconds(text: &str) -> anyhow::Result<f64> {
    for (suffix, factor) in [("us", 1e-3), ("µs", 1e-3), ("ms", 1.0), ("s", 1e3)] {
        if let Some(number_text) = text.strip_suffix(suffix) {
            return Ok(number(number_text.trim())? * factor);
        }
    }
    bail!("{text:?} has no unit: us, ms or s")
}

/// A requirement beside what was measured.
#[derive(Debug, Serialize)]
pub(crate) struct CheckedRequirement {
    requirement: String,
    /// In milliseconds where it is a time.
    #[serde(serialize_with = "three_decimals")]
    value: Option<f64>,
    holds: bool,
}

impl CheckedRequirement {
    pub(crate) fn holds(&self) -> bool {
        self.holds
    }
}

impl fmt::Display for CheckedRequirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requirement, value, holds } = self;
        let verdict = if *holds { "holds" } else { "FAILS" };
        match value {
            Some(value) => write!(formatter, "{requirement} {verdict} ({value:.3})"),
            None => write!(formatter, "{requirement} {verdict} (nothing was measured)"),
        }
    }
}

#[expect(clippy::ref_option, reason = "serde calls it with a reference")]
fn three_decimals<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    value.map(|value| (value * 1e3).round() / 1e3).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Measured {
        P99,
        Rps,
    }

    impl Figure for Measured {
        const NAMES: &[(&str, Self)] = &[("p99", Self::P99), ("rps", Self::Rps)];

        fn unit(self) -> Unit {
            match self {
                Self::P99 => Unit::Milliseconds,
                Self::Rps => Unit::Number,
            }
        }
    }

    fn check(text: &str, value: Option<f64>) -> bool {
        text.parse::<Requirement<Measured>>().expect(text).check(|_| value).holds()
    }

    #[test]
    fn a_bound_is_held_against_the_figure() {
        assert!(check("p99<=5ms", Some(5.0)));
        assert!(!check("p99<5ms", Some(5.0)));
        assert!(!check("p99 <= 900us", Some(1.0)));
        assert!(check("p99<=1.5s", Some(1500.0)));
        assert!(check("rps>=1200", Some(1200.0)));
        assert!(!check("rps>1200", Some(1200.0)));
    }

    #[test]
    fn a_figure_that_was_not_measured_fails() {
        assert!(!check("rps>=0", None));
    }

    #[test]
    fn what_has_no_meaning_is_refused() {
        for text in ["p99", "p98<=5ms", "p99<=5", "p99<=", "rps>=many", "rps>=-1", "rps>=nan", "rps>=5ms"] {
            text.parse::<Requirement<Measured>>().expect_err(text);
        }
    }
}
