//! What a client asks: a snippet, its tests, and how to treat them.

use std::collections::BTreeMap;

use super::grant::AskedLimits;
use super::run::{InProcessTests, Program};

/// One submission, parsed and not yet admitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// The snippet with its surroundings; its tests stand apart.
    pub program: Program,
    /// The field of the request that the snippet came in.
    pub code_field: &'static str,
    /// What it is graded by; without it the snippet is only run.
    pub tests: Option<Tests>,
    /// Name of the policy.
    pub policy: String,
    /// Limits other than the policy's.
    pub limits: AskedLimits,
    /// Given back with the answer.
    pub labels: BTreeMap<String, String>,
}

/// What a snippet is graded by.
#[derive(Clone, Debug, PartialEq)]
pub enum Tests {
    /// Python, run where the candidate runs.
    InProcess(InProcessTests),
    /// Input and expected output; compared on the host.
    StdinStdout {
        /// Each is one fresh run.
        cases: Vec<StdinCase>,
        /// How output is compared.
        compare: Compare,
    },
}

impl Tests {
    /// How many cases are planned, where the host can tell before the run.
    pub fn known_cases(&self) -> Option<usize> {
        match self {
            Self::InProcess(InProcessTests::Asserts { asserts, .. }) => Some(asserts.len()),
            Self::InProcess(InProcessTests::Script { .. }) => Some(1),
            Self::InProcess(InProcessTests::CheckFunction { .. }) => None,
            Self::StdinStdout { cases, .. } => Some(cases.len()),
        }
    }
}

/// One run of a program with its input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StdinCase {
    /// Standard input.
    pub stdin: String,
    /// What standard output must be.
    pub expected_stdout: String,
    /// `sys.argv[1:]`, instead of the request's.
    pub args: Option<Vec<String>>,
    /// For people.
    pub name: Option<String>,
}

/// How output is compared with what is expected.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Compare {
    /// Byte for byte.
    Exact,
    /// Line by line without trailing white space, trailing blank lines left out.
    #[default]
    Trimmed,
    /// White space only separates.
    Tokens,
    /// Trimmed lines in any order.
    Unordered,
    /// Tokens; those that are numbers on both sides may differ a little.
    Close {
        /// Relative tolerance.
        rtol: f64,
        /// Absolute tolerance.
        atol: f64,
    },
}
