//! Did it pass? From what a run left to a [`Verdict`].
//!
//! A verdict needs as many explicit passes as cases were planned; exit codes and printed text are never evidence.
//! `python` grades tests that ran in Python: in an interpreter of their own, or in the candidate's. `stdin_stdout`
//! compares on the host, where the candidate is not.

pub mod canaries;
mod compare;
pub mod complexity;
pub mod fallback;
pub mod lint;
mod number;
pub mod page;
pub mod preset;
mod python;
pub mod receipt;
pub mod report;
mod stdin_stdout;
pub mod values;

use proofbox_types::failure;
use proofbox_types::outcome::{End, ErrorReport, Outcome};
use proofbox_types::status::{FailureClass, IntegrityLevel, Status};
use proofbox_types::verdict::{Basis, Integrity, Verdict};

pub use python::{Planned, grade as python};
pub use stdin_stdout::{case as stdin_case, grade as stdin_stdout};

/// The verdict on a snippet that was only run.
pub fn run_only(outcome: &Outcome) -> Verdict {
    let failure = failure::classify(outcome);
    let class = failure.class;
    Verdict {
        status: if class == FailureClass::None { Status::Ok } else { Status::Error },
        exit_code: failure::exit_code(&outcome.end, class),
        class,
        error: failure.error,
        compiled: compiled(outcome),
        cases: Vec::new(),
        integrity: Integrity {
            level: IntegrityLevel::None,
            planned: 0,
            reported: 0,
            signals: Vec::new(),
            basis: Basis::default(),
        },
    }
}

/// Returns whether the snippet parsed and ran to its end.
fn compiled(outcome: &Outcome) -> bool {
    // A snippet that ends itself with `os._exit(0)` reports nothing, and has run.
    outcome.report.compiled.unwrap_or(matches!(outcome.end, End::Exited(0)))
}

/// Returns a fingerprint that is the same when a failure comes again with other values: the first 16 hexadecimal digits
/// of a SHA-256 over class, type, innermost frame, and the message without its numbers and quoted texts.
pub fn fingerprint(error: &ErrorReport) -> String {
    use sha2::{Digest, Sha256};
    let mut words = String::new();
    let mut quoted = None;
    for c in error.message.chars() {
        match (quoted, c) {
            (Some(quote), _) if c == quote => quoted = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quoted = Some(c),
            (None, _) if c.is_ascii_digit() => {}
            (None, _) => words.push(c),
        }
    }
    let place = error.traceback.last();
    let mut hash = Sha256::new();
    for part in [error.class.as_str(), &error.type_name, &words] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    if let Some(frame) = place {
        hash.update(format!("{}\0{}\0{}", frame.file, frame.function, frame.source).as_bytes());
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(message: &str) -> ErrorReport {
        ErrorReport {
            class: FailureClass::Exception,
            type_name: "KeyError".to_owned(),
            message: message.to_owned(),
            line: None,
            traceback: Vec::new(),
        }
    }

    #[test]
    fn a_fingerprint_tells_failures_apart_and_not_their_values() {
        assert_eq!(fingerprint(&error("no 'a' at 3")), fingerprint(&error("no 'b' at 44")));
        assert_ne!(fingerprint(&error("no 'a' at 3")), fingerprint(&error("not 'a' at 3")));
    }
}
