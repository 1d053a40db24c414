//! Verdicts: whether a submission passed, case by case, and how far that can be trusted.

use std::time::Duration;

use super::outcome::ErrorReport;
use super::status::{CaseStatus, FailureClass, IntegrityLevel, Status};

/// Result of one graded case.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseResult {
    /// Name that the test gives the case.
    pub name: String,
    /// Status of the case.
    pub status: CaseStatus,
    /// CPU time and sleep.
    pub execution: Duration,
    /// Instructions, as `proofbox_metering` estimates them, in units of fuel.
    pub fuel_used: u64,
    /// Failure class of a case that did not pass.
    pub class: FailureClass,
    /// The same in words.
    pub message: Option<String>,
    /// The largest linear memory so far, in bytes.
    pub peak_memory_bytes: u64,
    /// The beginning of what the candidate printed in it, where tests have an interpreter of their own.
    pub stdout: String,
}

/// Counts of what a verdict rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Basis {
    /// Results of the candidate that crossed as plain values, or were compared on the host.
    pub values_compared: u64,
    /// Requests that objects of the candidate answered by their own methods and operators.
    pub handles_asked: u64,
    /// Notes on what can't be had apart from the candidate.
    pub notes: u64,
}

/// Evidence behind a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integrity {
    /// Separation of the tests from the candidate.
    pub level: IntegrityLevel,
    /// Cases that were to be run.
    pub planned: usize,
    /// Cases whose end was reported.
    pub reported: usize,
    /// Things seen that an honest candidate does not do.
    pub signals: Vec<String>,
    /// Counts of what the verdict rests on.
    pub basis: Basis,
}

/// The answer to "did it pass?".
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Status of the submission.
    pub status: Status,
    /// Exit code that a shell would report.
    pub exit_code: i32,
    /// The first thing that went wrong.
    pub class: FailureClass,
    /// The exception behind it, where there is one.
    pub error: Option<ErrorReport>,
    /// True when the snippet parsed and ran to its end.
    pub compiled: bool,
    /// Results of every planned case.
    pub cases: Vec<CaseResult>,
    /// Evidence behind the verdict.
    pub integrity: Integrity,
}

impl Verdict {
    /// Cases that were planned.
    pub fn total(&self) -> usize {
        if self.integrity.level == IntegrityLevel::None { self.integrity.planned } else { self.cases.len() }
    }

    /// Returns the number of cases that passed.
    pub fn count_passed(&self) -> usize {
        self.cases.iter().filter(|case| case.status == CaseStatus::Passed).count()
    }
}
