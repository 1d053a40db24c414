//! Growth of a function's cost with the size of its input: counted in fuel, so that it holds on a busy machine.

use serde::Serialize;
use utoipa::ToSchema;

use proofbox_types::outcome::Outcome;
use proofbox_types::status::CaseStatus;

/// Result of a measurement of complexity.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ComplexityReport {
    /// Points of the measurement, by size.
    pub points: Vec<ComplexityPoint>,
    /// The k of n^k that fits best (least squares on the logarithms): about 1 for linear, 2 for quadratic growth. Null
    /// with fewer than two points.
    pub exponent: Option<f64>,
    /// Reason why sizes are missing.
    pub error: Option<String>,
}

/// The cost of one call.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct ComplexityPoint {
    /// Size of the input.
    pub n: u64,
    /// Instructions of the call, without those that pass the arguments.
    pub fuel: u64,
}

/// Reads the measurement from a run's cases: of each two the first is the passing of the arguments, the second the
/// call.
pub fn report(outcome: &Outcome, sizes: &[u64]) -> ComplexityReport {
    let mut points = Vec::new();
    let mut error = outcome.report.error.as_ref().map(super::python::message);
    for (pair, n) in outcome.report.cases.chunks(2).zip(sizes) {
        match pair {
            [passed, called] if called.status == Some(CaseStatus::Passed) => {
                points.push(ComplexityPoint { n: *n, fuel: called.fuel_used.saturating_sub(passed.fuel_used).max(1) });
            }
            _ => {
                let failed = pair.iter().find_map(|case| case.error.as_ref());
                error = failed.map(super::python::message).or(error).or(Some("it did not come to its end".to_owned()));
            }
        }
    }
    ComplexityReport { exponent: exponent(&points), points, error }
}

fn exponent(points: &[ComplexityPoint]) -> Option<f64> {
    if points.len() < 2 {
        return None;
    }
    let logs: Vec<(f64, f64)> = points.iter().map(|point| ((point.n as f64).ln(), (point.fuel as f64).ln())).collect();
    let count = logs.len() as f64;
    let (mean_x, mean_y) =
        (logs.iter().map(|(x, _)| x).sum::<f64>() / count, logs.iter().map(|(_, y)| y).sum::<f64>() / count);
    let spread = logs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>();
    let slope = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>() / spread;
    slope.is_finite().then_some((slope * 1000.0).round() / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(fuel: impl Fn(u64) -> u64) -> Vec<ComplexityPoint> {
        [100, 200, 400].map(|n| ComplexityPoint { n, fuel: fuel(n) }).to_vec()
    }

    #[test]
    fn growth_is_told_by_its_exponent() {
        assert_eq!(exponent(&points(|n| 7 * n)), Some(1.0));
        assert_eq!(exponent(&points(|n| n * n)), Some(2.0));
        assert_eq!(exponent(&points(|_| 5)), Some(0.0));
        assert_eq!(exponent(&[]), None);
    }
}
