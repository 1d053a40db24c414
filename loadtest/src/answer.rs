//! What an answer of the service must say.

use serde::Deserialize;

/// Of a wrong output.
const MAX_SHOWN_CHARACTERS: usize = 100;

/// The part of an execute answer that is looked at.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    pub status: String,
    pub stderr_class: String,
    pub tests_passed: u64,
    pub tests_total: u64,
    pub execution_seconds: f64,
    pub queue_seconds: f64,
    pub stdout: String,
    pub error: Option<ErrorOfAnswer>,
}

/// Failure class that ended the snippet.
#[derive(Debug, Deserialize)]
pub(crate) struct ErrorOfAnswer {
    /// A Python type, or a word of the service.
    #[serde(rename = "type")]
    pub kind: Option<String>,
}

/// The right answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// A snippet that is only run, and what it writes.
    Prints(&'static str),
    /// A graded snippet, and how many of its tests pass.
    Grades { passed: u64, total: u64 },
}

impl Expected {
    /// # Errors
    /// Description of the fault, with untrusted text escaped.
    pub(crate) fn check(&self, answer: &Answer) -> Result<(), String> {
        let Answer { status, stderr_class, tests_passed, tests_total, stdout, .. } = answer;
        match self {
            Self::Prints(expected) if status == "ok" && stdout == expected => Ok(()),
            Self::Prints(expected) => {
                let stdout: String = stdout.chars().take(MAX_SHOWN_CHARACTERS).collect();
                Err(format!(
                    "status {status:?}, class {stderr_class:?}, stdout {stdout:?}; expected \"ok\" with {expected:?}"
                ))
            }
            Self::Grades { passed, total } => {
                let right_status = (status == "passed") == (passed == total);
                if right_status && tests_passed == passed && tests_total == total {
                    return Ok(());
                }
                Err(format!(
                    "status {status:?}, class {stderr_class:?}, {tests_passed}/{tests_total}; expected {passed}/{total}"
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: &str, stdout: &str, tests_passed: u64, tests_total: u64) -> Answer {
        let (status, stderr_class, stdout) = (status.to_owned(), "none".to_owned(), stdout.to_owned());
        let (execution_seconds, queue_seconds, error) = (0.0, 0.0, None);
        Answer { status, stderr_class, tests_passed, tests_total, execution_seconds, queue_seconds, stdout, error }
    }

    #[test]
    fn only_the_expected_output_of_a_good_run_is_right() {
        let expected = Expected::Prints("2\n");
        expected.check(&answer("ok", "2\n", 0, 0)).expect("it is right");
        expected.check(&answer("ok", "2", 0, 0)).expect_err("the line end is missing");
        expected.check(&answer("error", "2\n", 0, 0)).expect_err("it ended badly");
    }

    #[test]
    fn a_pass_needs_every_test_and_the_word() {
        let all = Expected::Grades { passed: 10, total: 10 };
        all.check(&answer("passed", "", 10, 10)).expect("it is right");
        all.check(&answer("failed", "", 10, 10)).expect_err("the status contradicts");
        all.check(&answer("passed", "", 9, 9)).expect_err("a test is missing");
        let some = Expected::Grades { passed: 1, total: 3 };
        some.check(&answer("failed", "", 1, 3)).expect("it is right");
        some.check(&answer("passed", "", 1, 3)).expect_err("the status contradicts");
    }

    #[test]
    fn what_the_guest_wrote_is_escaped_and_cut() {
        let error =
            Expected::Prints("2\n").check(&answer("ok", &"\x1b[2J".repeat(1000), 0, 0)).expect_err("it is wrong");
        assert!(!error.contains('\x1b') && error.len() < 1000, "{error}");
    }
}
