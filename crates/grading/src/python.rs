//! Grades tests that ran in Python, by what their runner reported: its own interpreter's word where the tests had one,
//! the candidate's where they ran in process.

use std::time::Duration;

use super::compiled;
use super::values::{self, Budget};
use proofbox_types::failure;
use proofbox_types::outcome::{End, ErrorReport, Outcome};
use proofbox_types::status::{CaseStatus, FailureClass, IntegrityLevel, Status};
use proofbox_types::submission::Expected;
use proofbox_types::value::Value;
use proofbox_types::verdict::{Basis, CaseResult, Integrity, Verdict};

/// Host's knowledge of the cases before they run.
#[derive(Debug, Default)]
pub struct Planned {
    /// Number of cases. Where the host can't tell, the runner's plan is taken, which it makes before the candidate
    /// runs.
    pub cases: Option<usize>,
    /// Expected value of each case, where the host compares.
    pub expected: Vec<Option<Expected>>,
}

/// Makes the verdict of an outcome.
pub fn grade(outcome: &Outcome, known: &Planned) -> Verdict {
    let report = &outcome.report;
    let planned = known.cases.unwrap_or(report.plan.len());
    let whole = failure::classify(outcome);
    // The tests' own interpreter, where they have one: what stops it fails them, whoever is to blame.
    let runner_end = outcome.grader.as_ref().map_or(&outcome.end, |grader| &grader.end);
    let broken = outcome.grader.as_ref().and_then(|grader| failure::stop_error(&grader.end));
    let mut cases: Vec<CaseResult> =
        (0..planned).map(|index| not_run(report.plan.get(index).cloned().unwrap_or_default())).collect();
    let mut first: Option<ErrorReport> = None;
    let (mut budget, mut compared) = (Budget::default(), 0);
    for reported in &report.cases {
        let Some(case) = cases.get_mut(reported.index) else { continue };
        case.execution = reported.execution;
        case.fuel_used = reported.fuel_used;
        case.peak_memory_bytes = reported.peak_memory_bytes;
        case.stdout.clone_from(&reported.printed);
        // A case that was begun and not ended is the one in which the run ended.
        case.status = reported.status.unwrap_or(CaseStatus::Error);
        let difference = match (case.status, known.expected.get(reported.index)) {
            (CaseStatus::Passed, Some(Some(expected))) => {
                compared += u64::from(reported.value.is_some());
                difference(expected, reported.value.as_ref(), &mut budget)
            }
            _ => None,
        };
        if difference.is_some() {
            case.status = CaseStatus::Failed;
        }
        let error = match (case.status, difference.as_ref().or(reported.error.as_ref())) {
            (CaseStatus::Passed, None) => continue,
            (CaseStatus::Skipped, reason) => {
                case.message = reason.map(|reason| reason.message.clone());
                continue;
            }
            (_, Some(error)) => error.clone(),
            (_, None) => failure::stop_error(runner_end).unwrap_or_else(|| failure::exit_error(runner_end)),
        };
        case.class = error.class;
        case.message = Some(message(&error));
        first.get_or_insert(error);
    }
    let reported = report.cases.iter().filter(|case| case.status.is_some()).count();
    let level = if outcome.grader.is_some() { IntegrityLevel::Isolated } else { IntegrityLevel::InProcess };
    // Only an interpreter of the tests' own has something to tell; in process it would be the candidate's word.
    let (mut signals, mut basis) = (Vec::new(), Basis::default());
    if level == IntegrityLevel::Isolated {
        signals.clone_from(&report.signals);
        signals.extend(report.inexpressible.iter().map(|what| format!("inexpressible: {what}")));
        basis.notes = report.inexpressible.len() as u64;
        if let Some(told) = report.basis {
            (basis.values_compared, basis.handles_asked) = (told.values, told.handles);
        }
    }
    if known.expected.iter().any(Option::is_some) {
        basis.values_compared = compared;
    }
    if report.odd_messages > 0 {
        signals.push(format!("{} messages that an honest runner does not send", report.odd_messages));
    }
    let all_passed = !cases.is_empty() && cases.iter().all(|case| case.status == CaseStatus::Passed);
    let sound = match &outcome.grader {
        // Cases that a lost interpreter of the candidate was in have failed already.
        Some(grader) => matches!(grader.end, End::Exited(0)),
        None => whole.class == FailureClass::None,
    };
    let passed = all_passed && reported == planned && sound && report.odd_messages == 0;
    let skipped = cases.iter().filter(|case| case.status == CaseStatus::Skipped).count();
    let first = first.or_else(|| (skipped > 0).then(|| only_skipped(skipped)));
    // The first thing that went wrong.
    let error = if passed {
        None
    } else {
        Some(first.or(whole.error).or(broken).unwrap_or_else(|| failure::exit_error(runner_end)))
    };
    let class = error.as_ref().map_or(FailureClass::None, |error| error.class);
    Verdict {
        status: if passed { Status::Passed } else { Status::Failed },
        exit_code: failure::exit_code(&outcome.end, class),
        class,
        error,
        compiled: compiled(outcome),
        cases,
        integrity: Integrity { level, planned, reported, signals, basis },
    }
}

/// Returns an error that describes how the value that a call returned differs from the expected one.
fn difference(expected: &Expected, got: Option<&Value>, budget: &mut Budget) -> Option<ErrorReport> {
    let words = match got {
        Some(got) => values::compare_within(&expected.value, got, expected.compare, budget).err()?,
        None => "the call told of no value".to_owned(),
    };
    Some(ErrorReport {
        class: FailureClass::AssertionFailure,
        type_name: String::new(),
        message: words,
        line: None,
        traceback: Vec::new(),
    })
}

fn only_skipped(cases: usize) -> ErrorReport {
    ErrorReport {
        class: FailureClass::AssertionFailure,
        type_name: String::new(),
        message: format!("{cases} cases skipped themselves: that is no pass"),
        line: None,
        traceback: Vec::new(),
    }
}

fn not_run(name: String) -> CaseResult {
    CaseResult {
        name,
        status: CaseStatus::NotRun,
        execution: Duration::ZERO,
        fuel_used: 0,
        class: FailureClass::None,
        message: None,
        peak_memory_bytes: 0,
        stdout: String::new(),
    }
}

/// An exception in one line.
pub(crate) fn message(error: &ErrorReport) -> String {
    match (error.type_name.as_str(), error.message.as_str()) {
        ("", message) => message.to_owned(),
        (name, "") => name.to_owned(),
        (name, message) => format!("{name}: {message}"),
    }
}
