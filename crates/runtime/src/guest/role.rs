//! Roles of interpreters in a run.

use crate::grading::channel::Endpoint;
use crate::shell::Shell;

/// Role of an interpreter in a run.
pub(crate) enum Role {
    /// Interpreter of the program, and of its tests where they run in process; with its shell, if it may have one.
    Alone(Option<Shell>),
    /// Interpreter of the code under test, which serves the requests of the other; with its shell, if it may have one.
    Candidate(Endpoint, Option<Shell>),
    /// Interpreter of the tests; with a shell that sees what the candidate sees, if it may have one.
    Grader(Endpoint, Option<Shell>),
}
