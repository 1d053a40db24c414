//! Did it pass? The words of the answer.

use std::time::Duration;

use super::run::ErrorReport;
use crate::wire_enum;

wire_enum! {
    /// `stderr_class`: the closed list of ways in which a run fails.
    FailureClass {
        /// No failure at all.
        None = "none",
        /// The snippet does not parse.
        SyntaxError = "syntax_error",
        /// An assertion did not hold.
        AssertionFailure = "assertion_failure",
        /// Exception without a class of its own; its Python type is given beside it.
        Exception = "exception",
        /// A module that is not in the image.
        MissingDependency = "missing_dependency",
        /// A file that may not be touched.
        PermissionDenied = "permission_denied",
        /// Refused at the boundary.
        UnsafeOperation = "unsafe_operation",
        /// Threads, processes, sockets: what WebAssembly does not have.
        UnsupportedOperation = "unsupported_operation",
        /// CPU time and sleep are used up.
        Timeout = "timeout",
        /// Instructions are used up.
        FuelExhausted = "fuel_exhausted",
        /// More memory than allowed.
        MemoryLimit = "memory_limit",
        /// Far more output than is kept.
        OutputLimit = "output_limit",
        /// Recursion that exceeded the stack.
        RecursionLimit = "recursion_limit",
        /// The policy refused the snippet.
        PolicyBlocked = "policy_blocked",
        /// The result could not leave the sandbox.
        SerializationError = "serialization_error",
        /// Exit of the program with a code other than 0.
        NonzeroExit = "nonzero_exit",
        /// We failed; retry. Never graded.
        InfrastructureError = "infrastructure_error",
    }
}

wire_enum! {
    /// Status of a case. Only `passed` counts as passed.
    CaseStatus {
        /// Success of the case.
        Passed = "passed",
        /// An assertion did not hold.
        Failed = "failed",
        /// Failure other than a failed assertion.
        Error = "error",
        /// The test skipped itself.
        Skipped = "skipped",
        /// Case that was never started.
        NotRun = "not_run",
    }
}

wire_enum! {
    /// Status of a submission.
    Status {
        /// Every planned case passed.
        Passed = "passed",
        /// At least one planned case did not pass.
        Failed = "failed",
        /// Without tests: it ran to its end.
        Ok = "ok",
        /// Without tests: it did not.
        Error = "error",
        /// The policy refused it; nothing was run.
        Blocked = "blocked",
        /// Failure of the service itself.
        InfrastructureError = "infrastructure_error",
    }
}

wire_enum! {
    /// Degree to which the verdict can be trusted.
    IntegrityLevel {
        /// Expected values and verdict were never where the candidate runs.
        Isolated = "isolated",
        /// Tests ran in the candidate's own interpreter: it could have forged them.
        InProcess = "in_process",
        /// No tests, so nothing was graded.
        None = "none",
    }
}

/// Result of one graded case.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseResult {
    /// Name that the test gives the case.
    pub name: String,
    /// Status of the case.
    pub status: CaseStatus,
    /// CPU time and sleep.
    pub execution: Duration,
    /// Instructions, in wasmtime's fuel units.
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
    pub fn passed(&self) -> usize {
        self.cases.iter().filter(|case| case.status == CaseStatus::Passed).count()
    }
}
