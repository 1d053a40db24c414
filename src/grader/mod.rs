//! Did it pass? From what a run left to a [`Verdict`].
//!
//! A verdict needs as many explicit passes as cases were planned; exit codes and printed text are never evidence.
//! `python` grades tests that ran in Python: in an interpreter of their own, or in the candidate's. `stdin_stdout`
//! compares on the host, where the candidate is not.

mod compare;
pub mod lint;
pub mod preset;
mod python;
pub mod receipt;
pub mod report;
pub mod signals;
mod stdin_stdout;
pub mod values;

use crate::domain::failure;
use crate::domain::run::{End, Outcome};
use crate::domain::verdict::{FailureClass, Integrity, IntegrityLevel, Status, Verdict};

pub use python::{Planned, grade as python};
pub use stdin_stdout::{case as stdin_case, grade as stdin_stdout};

/// The verdict on a snippet that was only run.
pub fn run_only(outcome: &Outcome) -> Verdict {
    let failure = failure::of(outcome);
    let class = failure.class;
    Verdict {
        status: if class == FailureClass::None { Status::Ok } else { Status::Error },
        exit_code: failure::exit_code(&outcome.end, class),
        class,
        error: failure.error,
        compiled: compiled(outcome),
        cases: Vec::new(),
        integrity: Integrity { level: IntegrityLevel::None, planned: 0, reported: 0, signals: Vec::new() },
    }
}

/// Whether the snippet parsed and ran to its end.
fn compiled(outcome: &Outcome) -> bool {
    // A snippet that ends itself with `os._exit(0)` reports nothing, and has run.
    outcome.report.compiled.unwrap_or(matches!(outcome.end, End::Exited(0)))
}
