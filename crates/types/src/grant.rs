//! Limits of a run. A [`Grant`] is made only by [`Ceiling::grant`], so nothing unchecked reaches the sandbox.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Every limit of one run. None is optional: "unlimited" can't be written.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Instructions, as `proofbox_metering` estimates them: the deterministic limit.
    pub fuel: u64,
    /// CPU time and sleep together; time spent waiting for a core does not count.
    pub wall: Duration,
    /// Size of the guest's linear memory, the image included.
    pub memory_bytes: u64,
    /// Bytes kept of stdout, and as many of stderr.
    pub output_bytes: u64,
    /// Bytes in the sandbox's file tree.
    pub files_bytes: u64,
    /// Files and directories in the sandbox's tree.
    pub files_count: u64,
}

/// The limits that a request asks for; what it leaves out is the policy's default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AskedLimits {
    /// Fuel; see [`Limits::fuel`].
    pub fuel: Option<u64>,
    /// See [`Limits::wall`], in seconds.
    pub wall_seconds: Option<f64>,
    /// Memory, in bytes; see [`Limits::memory_bytes`].
    pub memory_bytes: Option<u64>,
    /// Output, in bytes; see [`Limits::output_bytes`].
    pub output_bytes: Option<u64>,
    /// Size of files, in bytes; see [`Limits::files_bytes`].
    pub files_bytes: Option<u64>,
    /// Number of files; see [`Limits::files_count`].
    pub files_count: Option<u64>,
}

impl AskedLimits {
    /// Returns these limits, and where they are silent the others.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            fuel: self.fuel.or(others.fuel),
            wall_seconds: self.wall_seconds.or(others.wall_seconds),
            memory_bytes: self.memory_bytes.or(others.memory_bytes),
            output_bytes: self.output_bytes.or(others.output_bytes),
            files_bytes: self.files_bytes.or(others.files_bytes),
            files_count: self.files_count.or(others.files_count),
        }
    }
}

impl From<&Limits> for AskedLimits {
    fn from(limits: &Limits) -> Self {
        let Limits { fuel, wall, memory_bytes, output_bytes, files_bytes, files_count } = *limits;
        Self {
            fuel: Some(fuel),
            wall_seconds: Some(wall.as_secs_f64()),
            memory_bytes: Some(memory_bytes),
            output_bytes: Some(output_bytes),
            files_bytes: Some(files_bytes),
            files_count: Some(files_count),
        }
    }
}

/// Limits of a policy: the default of a run that asks for none, and the range that may be asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceiling {
    /// In force where the request is silent.
    pub default: Limits,
    /// The smallest that works at all.
    pub least: Limits,
    /// The most that may be asked for.
    pub most: Limits,
}

/// A limit that was asked for and lies outside the policy's range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("limits.{field} is {asked}; this policy allows {} {allowed}", if *.above { "at most" } else { "at least" })]
pub struct LimitRefused {
    /// The field of `limits`.
    pub field: &'static str,
    /// Value that the request asked for.
    pub asked: f64,
    /// The nearest value that would be granted.
    pub allowed: f64,
    /// True when the value is too large, false when it is too small.
    pub above: bool,
}

/// The right to run under certain limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    limits: Limits,
}

impl Grant {
    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}

impl Ceiling {
    /// Checks what is asked for against the range.
    ///
    /// # Errors
    /// The first limit that lies outside it; nothing is clamped.
    pub fn grant(&self, asked: &AskedLimits) -> Result<Grant, LimitRefused> {
        let Self { default, least, most } = self;
        let within = |field, asked: Option<u64>, of: fn(&Limits) -> u64| match asked {
            None => Ok(of(default)),
            Some(asked) => range(field, asked as f64, of(least) as f64, of(most) as f64).map(|()| asked),
        };
        let wall = match asked.wall_seconds {
            None => default.wall,
            Some(seconds) => {
                range("wall_seconds", seconds, least.wall.as_secs_f64(), most.wall.as_secs_f64())?;
                Duration::from_secs_f64(seconds)
            }
        };
        let fuel = within("fuel", asked.fuel, |limits| limits.fuel)?;
        let memory_bytes = within("memory_bytes", asked.memory_bytes, |limits| limits.memory_bytes)?;
        let output_bytes = within("output_bytes", asked.output_bytes, |limits| limits.output_bytes)?;
        let files_bytes = within("files_bytes", asked.files_bytes, |limits| limits.files_bytes)?;
        let files_count = within("files_count", asked.files_count, |limits| limits.files_count)?;
        Ok(Grant { limits: Limits { fuel, wall, memory_bytes, output_bytes, files_bytes, files_count } })
    }
}

fn range(field: &'static str, asked: f64, least: f64, most: f64) -> Result<(), LimitRefused> {
    // Written so that NaN is refused.
    if asked >= least && asked <= most {
        return Ok(());
    }
    let above = asked > most;
    Err(LimitRefused { field, asked, allowed: if above { most } else { least }, above })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(n: u64) -> Limits {
        Limits {
            fuel: n,
            wall: Duration::from_secs(n),
            memory_bytes: n,
            output_bytes: n,
            files_bytes: n,
            files_count: n,
        }
    }

    fn ceiling() -> Ceiling {
        Ceiling { default: limits(5), least: limits(1), most: limits(10) }
    }

    #[test]
    fn silence_means_the_default() {
        let grant = ceiling().grant(&AskedLimits::default()).expect("defaults lie in the range");
        assert_eq!(*grant.limits(), limits(5));
    }

    #[test]
    fn above_the_ceiling_is_refused_never_clamped() {
        let refused =
            ceiling().grant(&AskedLimits { fuel: Some(11), ..AskedLimits::default() }).expect_err("11 is above 10");
        assert_eq!((refused.field, refused.asked, refused.allowed), ("fuel", 11.0, 10.0));
    }

    #[test]
    fn nan_and_negative_times_are_refused() {
        for seconds in [f64::NAN, -1.0, f64::INFINITY, 0.0] {
            assert!(
                ceiling().grant(&AskedLimits { wall_seconds: Some(seconds), ..AskedLimits::default() }).is_err(),
                "{seconds}"
            );
        }
    }
}
