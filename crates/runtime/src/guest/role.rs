//! Roles of interpreters in a run.

use crate::grading::channel::Endpoint;

/// Role of an interpreter in a run.
pub(crate) enum Role {
    /// Interpreter of the program, and of its tests where they run in process.
    Alone,
    /// Interpreter of the code under test, which serves the requests of the other.
    Candidate(Endpoint),
    /// Interpreter of the tests.
    Grader(Endpoint),
}

impl Role {
    /// Returns the endpoint of an interpreter that talks to another.
    pub fn endpoint(self) -> Option<Endpoint> {
        match self {
            Self::Alone => None,
            Self::Candidate(endpoint) | Self::Grader(endpoint) => Some(endpoint),
        }
    }
}
