//! Aggregation of a suite's results. Pure: samples in, a report out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use proofbox_types::status::{FailureClass, Status};

/// Ending of a suite's item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Verdict of the item.
    Verdict(Status),
    /// Refusal when the item's turn came: nothing was run.
    Refused,
}

/// Item of a suite, reduced to what the report needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Id of the item in the suite.
    pub id: String,
    /// The problem that it is an attempt at: samples of one task are counted together in pass@k.
    pub task: String,
    /// Labels of the client for the item.
    pub labels: BTreeMap<String, String>,
    /// Ending of the item.
    pub ending: Ending,
    /// Failure class; `None` where nothing was run.
    pub class: Option<FailureClass>,
    /// Number of cases that passed.
    pub tests_passed: u64,
    /// Cases that were planned.
    pub tests_total: u64,
    /// CPU time and sleep, where something was run.
    pub execution_seconds: Option<f64>,
    /// Instructions, where something was run.
    pub fuel_used: Option<u64>,
    /// Verdict of the linter: true when it had no finding, `None` where it was not asked.
    pub lint_clean: Option<bool>,
    /// True when the verdict differed between repetitions.
    pub flaky: bool,
}

/// Report on a suite's results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Report {
    /// Number of items: the sum of the next seven counts.
    pub items: u64,
    /// Graded: every case passed.
    pub passed: u64,
    /// Graded: some case did not.
    pub failed: u64,
    /// Without tests: ran to its end.
    pub ok: u64,
    /// Without tests: did not.
    pub errors: u64,
    /// Not run, because the policy says so.
    pub blocked: u64,
    /// Not run, because it was too large or has a file that can't be written.
    pub refused: u64,
    /// The service failed. In no rate, and in no pass@k.
    pub infrastructure_errors: u64,
    /// passed and failed, and of blocked and refused those with tests: what the rates are of.
    pub graded: u64,
    /// passed of graded; null when nothing was graded.
    pub pass_rate: Option<f64>,
    /// Cases, over all items.
    pub tests_passed: u64,
    /// Cases, over all items.
    pub tests_total: u64,
    /// Ratio of `tests_passed` to `tests_total`.
    pub tests_pass_rate: Option<f64>,
    /// Different tasks among what was graded.
    pub tasks: u64,
    /// k -> pass@k: for each task 1 - C(n-c, k) / C(n, k) with n graded samples of which c passed, averaged over tasks
    /// (Chen et al. 2021). null when a task has fewer than k samples.
    // The names of a JSON object's members are strings.
    #[schema(value_type = BTreeMap<String, Option<f64>>)]
    pub pass_at_k: BTreeMap<u32, Option<f64>>,
    /// Answers without code; nothing was run.
    pub no_code: u64,
    /// Ratio of `no_code` to the items that the service did not fail at.
    pub no_code_rate: Option<f64>,
    /// Label -> value -> counts.
    pub by_label: BTreeMap<String, BTreeMap<String, Share>>,
    /// Number of items by failure class (`stderr_class`).
    pub by_class: BTreeMap<String, u64>,
    /// Share of clean snippets, where the linter was asked.
    pub lint: Option<LintShare>,
    /// CPU time and sleep of what was run.
    pub execution_seconds: Option<Spread>,
    /// Fuel of what was run.
    pub fuel_used: Option<Spread>,
    /// Ids of items whose verdict differed between repetitions.
    pub flaky: Vec<String>,
}

/// Rates within a group of items.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Share {
    /// Number of items in the group.
    pub items: u64,
    /// Number of items that were graded.
    pub graded: u64,
    /// Number of graded items that passed.
    pub passed: u64,
    /// Ratio of `passed` to `graded`.
    pub pass_rate: Option<f64>,
    /// Number of answers without code.
    #[serde(default)]
    pub no_code: u64,
    /// Ratio of `no_code` to the items that the service did not fail at.
    #[serde(default)]
    pub no_code_rate: Option<f64>,
    /// Number of items that the service failed at.
    #[serde(skip)]
    pub failed_at: u64,
}

/// Share of linted snippets that are clean.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LintShare {
    /// Items that the linter could read.
    pub linted: u64,
    /// Number of snippets without a finding.
    pub clean: u64,
    /// Ratio of `clean` to `linted`.
    pub clean_rate: Option<f64>,
}

/// A distribution in a few numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Spread {
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// 99 % are not above it (nearest rank).
    pub p99: f64,
    /// Maximum of the values.
    pub max: f64,
    /// Sum of the values.
    pub total: f64,
}

/// The report on `samples`, with pass@k for each of `ks`.
pub fn report(samples: &[Sample], ks: &[u32]) -> Report {
    let mut report = Report { items: samples.len() as u64, ..Report::default() };
    let mut tasks: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut lint = LintShare::default();
    for sample in samples {
        count(&mut report, sample);
        report.graded += u64::from(is_graded(sample));
        if is_graded(sample) {
            let (n, c) = tasks.entry(&sample.task).or_default();
            *n += 1;
            *c += u64::from(has_passed(sample.ending));
        }
        if let Some(clean) = sample.lint_clean {
            lint.linted += 1;
            lint.clean += u64::from(clean);
        }
    }
    report.pass_rate = rate(report.passed, report.graded);
    report.no_code_rate = rate(report.no_code, report.items - report.infrastructure_errors);
    report.tests_pass_rate = rate(report.tests_passed, report.tests_total);
    report.tasks = tasks.len() as u64;
    report.pass_at_k = ks.iter().map(|k| (*k, mean_pass_at_k(tasks.values().copied(), *k))).collect();
    for share in report.by_label.values_mut().flat_map(BTreeMap::values_mut) {
        share.pass_rate = rate(share.passed, share.graded);
        share.no_code_rate = rate(share.no_code, share.items - share.failed_at);
    }
    lint.clean_rate = rate(lint.clean, lint.linted);
    report.lint = (lint.linted > 0).then_some(lint);
    report.execution_seconds = spread(samples.iter().filter_map(|sample| sample.execution_seconds).collect());
    report.fuel_used = spread(samples.iter().filter_map(|sample| sample.fuel_used).map(|fuel| fuel as f64).collect());
    report
}

fn count(report: &mut Report, sample: &Sample) {
    *match sample.ending {
        Ending::Verdict(Status::Passed) => &mut report.passed,
        Ending::Verdict(Status::Failed) => &mut report.failed,
        Ending::Verdict(Status::Ok) => &mut report.ok,
        Ending::Verdict(Status::Error) => &mut report.errors,
        Ending::Verdict(Status::Blocked) => &mut report.blocked,
        Ending::Verdict(Status::InfrastructureError) => &mut report.infrastructure_errors,
        Ending::Refused => &mut report.refused,
    } += 1;
    if sample.ending != Ending::Verdict(Status::InfrastructureError) {
        report.tests_passed += sample.tests_passed;
        report.tests_total += sample.tests_total;
    }
    if let Some(class) = sample.class {
        *report.by_class.entry(class.as_str().to_owned()).or_default() += 1;
    }
    let has_no_code = sample.class == Some(FailureClass::NoCode);
    let has_failed_at = sample.ending == Ending::Verdict(Status::InfrastructureError);
    report.no_code += u64::from(has_no_code);
    for (label, value) in &sample.labels {
        let share = report.by_label.entry(label.clone()).or_default().entry(value.clone()).or_default();
        share.items += 1;
        share.graded += u64::from(is_graded(sample));
        share.passed += u64::from(has_passed(sample.ending));
        share.no_code += u64::from(has_no_code);
        share.failed_at += u64::from(has_failed_at);
    }
    if sample.flaky {
        report.flaky.push(sample.id.clone());
    }
}

/// Returns whether a sample counts in the rates. A sample with tests that is not run counts as not passed: it must not
/// raise a rate.
fn is_graded(sample: &Sample) -> bool {
    match sample.ending {
        Ending::Verdict(Status::Passed | Status::Failed) => true,
        Ending::Verdict(Status::Blocked) | Ending::Refused => sample.tests_total > 0,
        Ending::Verdict(Status::Ok | Status::Error | Status::InfrastructureError) => false,
    }
}

fn has_passed(ending: Ending) -> bool {
    ending == Ending::Verdict(Status::Passed)
}

fn rate(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The mean over tasks, each `(samples, of which passed)`; none when one of them has too few samples, or there is none.
fn mean_pass_at_k(tasks: impl ExactSizeIterator<Item = (u64, u64)>, k: u32) -> Option<f64> {
    let count = tasks.len();
    let sum: Option<f64> = tasks.map(|(n, c)| pass_at_k(n, c, u64::from(k))).sum();
    sum.filter(|_| count > 0).map(|sum| sum / count as f64)
}

/// The unbiased estimate of "at least one of k samples passes" from n samples of which c passed:
/// 1 - C(n-c, k) / C(n, k), as the product of Chen et al. 2021, which does not overflow.
fn pass_at_k(n: u64, c: u64, k: u64) -> Option<f64> {
    if k == 0 || n < k {
        return None;
    }
    if n - c < k {
        return Some(1.0);
    }
    Some(1.0 - (n - c + 1..=n).map(|i| 1.0 - k as f64 / i as f64).product::<f64>())
}

/// The middle one, or the mean of the two in the middle. `sorted` is, and not empty.
pub fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
}

/// `99.94 %`; never rounded up to 100, nor down to 0.
pub fn percent(rate: f64) -> String {
    let tenths = (rate * 1000.0).round() / 10.0;
    if (tenths == 100.0 && rate < 1.0) || (tenths == 0.0 && rate > 0.0) {
        return format!("{:.3} %", (rate * 1e5).clamp(1.0, 99_999.0).round() / 1e3);
    }
    format!("{tenths:.1} %")
}

fn spread(mut values: Vec<f64>) -> Option<Spread> {
    values.sort_by(f64::total_cmp);
    let max = *values.last()?;
    let p99 = values[(values.len() * 99).div_ceil(100) - 1];
    Some(Spread { median: median(&values), p99, max, total: values.iter().sum() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(task: &str, ending: Ending) -> Sample {
        Sample {
            id: task.to_owned(),
            task: task.to_owned(),
            labels: BTreeMap::from([("model".to_owned(), "m".to_owned())]),
            ending,
            class: None,
            tests_passed: 1,
            tests_total: 2,
            execution_seconds: Some(1.0),
            fuel_used: Some(10),
            lint_clean: None,
            flaky: false,
        }
    }

    const PASSED: Ending = Ending::Verdict(Status::Passed);
    const FAILED: Ending = Ending::Verdict(Status::Failed);
    const INFRASTRUCTURE: Ending = Ending::Verdict(Status::InfrastructureError);

    fn choose(n: u64, k: u64) -> f64 {
        (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product()
    }

    #[test]
    fn pass_at_k_is_the_estimator_of_the_humaneval_paper() {
        for (n, c, k) in [(1, 0, 1), (1, 1, 1), (10, 3, 1), (10, 3, 5), (200, 17, 100), (5, 0, 5), (5, 5, 1)] {
            let expected = 1.0 - if n - c < k { 0.0 } else { choose(n - c, k) / choose(n, k) };
            let seen = pass_at_k(n, c, k).expect("there are enough samples");
            assert!((seen - expected).abs() < 1e-12, "{n} {c} {k}: {seen} {expected}");
        }
    }

    #[test]
    fn pass_at_k_is_a_mean_over_tasks_and_not_over_samples() {
        let samples: Vec<Sample> = [("a", PASSED), ("a", PASSED), ("a", FAILED), ("a", FAILED), ("b", PASSED)]
            .map(|(task, ending)| sample(task, ending))
            .into();
        let report = report(&samples, &[1, 2]);
        assert_eq!((report.pass_rate, report.tasks), (Some(0.6), 2));
        assert_eq!(report.pass_at_k, BTreeMap::from([(1, Some(0.75)), (2, None)]));
    }

    #[test]
    fn what_the_service_failed_at_is_in_no_rate() {
        let with = [sample("a", PASSED), sample("a", FAILED), sample("a", INFRASTRUCTURE), sample("b", INFRASTRUCTURE)];
        let (with, without) = (report(&with, &[1]), report(&with[..2], &[1]));
        assert_eq!((with.items, with.infrastructure_errors, with.graded), (4, 2, 2));
        assert_eq!((with.pass_rate, &with.pass_at_k), (without.pass_rate, &without.pass_at_k));
        assert_eq!((with.tests_passed, with.tests_total), (without.tests_passed, without.tests_total));
        assert_eq!(
            with.by_label["model"]["m"],
            Share {
                items: 4,
                graded: 2,
                passed: 1,
                pass_rate: Some(0.5),
                no_code: 0,
                no_code_rate: Some(0.0),
                failed_at: 2,
            }
        );
    }

    #[test]
    fn what_has_tests_and_is_refused_counts_as_not_passed() {
        let without = Sample { tests_total: 0, ..sample("a", Ending::Refused) };
        let refused = report(&[without], &[1]);
        assert_eq!((refused.refused, refused.pass_rate), (1, None));
        let report = report(&[sample("a", PASSED), sample("a", Ending::Refused)], &[1]);
        assert_eq!((report.refused, report.pass_rate, report.pass_at_k[&1]), (1, Some(0.5), Some(0.5)));
    }

    #[test]
    fn answers_without_code_are_a_rate_of_what_came_to_an_end() {
        let without = Sample { class: Some(FailureClass::NoCode), ..sample("a", FAILED) };
        let report = report(&[without, sample("a", PASSED), sample("a", INFRASTRUCTURE)], &[1]);
        assert_eq!((report.no_code, report.no_code_rate), (1, Some(0.5)));
        let share = &report.by_label["model"]["m"];
        assert_eq!((share.no_code, share.no_code_rate), (1, Some(0.5)));
        assert_eq!(report.by_class["no_code"], 1);
    }

    #[test]
    fn nothing_has_no_rates() {
        let report = report(&[], &[1]);
        assert_eq!(report, Report { pass_at_k: BTreeMap::from([(1, None)]), ..Report::default() });
    }

    #[test]
    fn nearly_all_is_not_all() {
        assert_eq!(
            [1.0, 0.99999, 0.9, 0.00001, 0.0].map(percent),
            ["100.0 %", "99.999 %", "90.0 %", "0.001 %", "0.0 %"]
        );
    }

    #[test]
    fn the_middle_and_the_tail_of_a_distribution() {
        let hundred = spread((1..=100).map(f64::from).collect()).expect("there are values");
        assert_eq!((hundred.median, hundred.p99, hundred.max, hundred.total), (50.5, 99.0, 100.0, 5050.0));
        let one = spread(vec![3.0]).expect("there is one");
        assert_eq!((one.median, one.p99), (3.0, 3.0));
    }
}
