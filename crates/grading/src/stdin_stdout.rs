//! Grades programs by what they print. The candidate never sees what is expected of it.

use super::compare;
use super::python::message;
use proofbox_types::failure;
use proofbox_types::outcome::Outcome;
use proofbox_types::status::{CaseStatus, FailureClass, IntegrityLevel, Status};
use proofbox_types::submission::{Compare, StdinCase};
use proofbox_types::verdict::{Basis, CaseResult, Integrity, Verdict};

/// The result of one case.
pub fn case(index: usize, case: &StdinCase, compare: Compare, outcome: &Outcome) -> CaseResult {
    let failed = failure::classify(outcome);
    let (status, class, message) = if failed.class != FailureClass::None {
        (CaseStatus::Error, failed.class, failed.error.as_ref().map(message))
    } else if outcome.stdout.is_truncated() {
        let words = "more output than is kept (limits.output_bytes): it can't be compared";
        (CaseStatus::Failed, FailureClass::OutputLimit, Some(words.to_owned()))
    } else {
        let text = outcome.stdout.text();
        let compared = compare::output(&case.expected_stdout, &text, compare);
        // A replacement character in the text may stand for any byte.
        let compared = compared.and_then(|()| match text.contains('\u{fffd}') && !outcome.stdout.is_utf8() {
            true => Err("the output is not UTF-8".to_owned()),
            false => Ok(()),
        });
        match compared {
            Ok(()) => (CaseStatus::Passed, FailureClass::None, None),
            Err(difference) => (CaseStatus::Failed, FailureClass::AssertionFailure, Some(difference)),
        }
    };
    CaseResult {
        name: case.name.clone().unwrap_or_else(|| format!("case {}", index + 1)),
        status,
        execution: outcome.usage.execution,
        fuel_used: outcome.usage.fuel,
        class,
        message,
        peak_memory_bytes: outcome.usage.peak_memory_bytes,
        stdout: String::new(),
    }
}

/// Returns whether there was too much output to compare.
fn is_cut(case: &CaseResult) -> bool {
    case.class == FailureClass::OutputLimit
}

/// The verdict on all of them; `outcomes` in the order of the cases.
pub fn grade(cases: Vec<CaseResult>, outcomes: &[Outcome]) -> Verdict {
    let first_failure = cases.iter().position(|case| case.status != CaseStatus::Passed);
    let passed = !cases.is_empty() && first_failure.is_none();
    let class = first_failure.map_or(FailureClass::None, |index| cases[index].class);
    let failed = first_failure.and_then(|index| outcomes.get(index));
    let planned = cases.len();
    let compared = cases.iter().filter(|case| case.status != CaseStatus::Error && !is_cut(case)).count();
    Verdict {
        status: if passed { Status::Passed } else { Status::Failed },
        exit_code: failed.map_or(i32::from(!passed), |outcome| failure::exit_code(&outcome.end, class)),
        class,
        error: failed.and_then(|outcome| failure::classify(outcome).error),
        compiled: outcomes.iter().all(|outcome| outcome.report.compiled.is_some() || super::compiled(outcome))
            && !matches!(class, FailureClass::SyntaxError),
        cases,
        integrity: Integrity {
            level: IntegrityLevel::Isolated,
            planned,
            reported: outcomes.len(),
            signals: Vec::new(),
            basis: Basis { values_compared: compared as u64, ..Basis::default() },
        },
    }
}
