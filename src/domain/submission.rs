//! What a client asks: a snippet, its tests, and how to treat them.

use std::collections::BTreeMap;

use super::canary::Canary;
use super::grant::AskedLimits;
use super::run::{File, Program, PythonTests};
use super::value::Value;

/// One submission, parsed and not yet admitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// The snippet with its surroundings; its tests stand apart.
    pub program: Program,
    /// The field of the request that the snippet came in.
    pub code_field: &'static str,
    /// What it is graded by; without it the snippet is only run.
    pub tests: Option<Tests>,
    /// Where the tests run; otherwise as the policy has it.
    pub grading: Option<Grading>,
    /// Whether the answer must give nothing of the tests away; otherwise as the policy has it.
    pub hidden: Option<bool>,
    /// How often the whole grading is run, to find what does not always end the same.
    pub repeat: u32,
    /// How fuel grows with the size of the input, where that is asked.
    pub complexity: Option<Complexity>,
    /// Name of the policy.
    pub policy: String,
    /// Name or hash of the image; none for the default one.
    pub image: Option<String>,
    /// Limits other than the policy's.
    pub limits: AskedLimits,
    /// Given back with the answer.
    pub labels: BTreeMap<String, String>,
    /// Whether a linter is asked, beside the run.
    pub lint: bool,
    /// Where the verdict is to be signed.
    pub receipt: Option<ReceiptAsked>,
    /// Strings that must not come out.
    pub canaries: Vec<Canary>,
}

/// A verdict that is to be signed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiptAsked {
    /// SHA-256 of the tests as they were sent, in canonical JSON.
    pub tests_sha256: Option<String>,
}

/// A measurement of how the cost of a function grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complexity {
    /// Defines `generate(n)`, which returns the arguments for size n: a tuple.
    pub generator: String,
    /// The function.
    pub entry_point: String,
    /// The sizes, ascending.
    pub sizes: Vec<u64>,
}

/// Where Python tests run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grading {
    /// In an interpreter of their own, which the candidate can't reach.
    #[default]
    Isolated,
    /// In the candidate's own: compatible with everything, and forgeable.
    InProcess,
    /// Isolated; in process where their own text wants what can't be had so, and they have not passed.
    Auto,
}

/// What a snippet is graded by.
#[derive(Clone, Debug, PartialEq)]
pub enum Tests {
    /// Python.
    Python {
        /// The tests.
        tests: PythonTests,
        /// The name under which they import the snippet.
        module: Option<String>,
        /// Their files.
        files: Vec<File>,
        /// What each case must return, where the host compares; empty where it does not.
        expected: Vec<Option<Expected>>,
    },
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
            Self::Python { tests, .. } => tests.known_cases(),
            Self::StdinStdout { cases, .. } => Some(cases.len()),
        }
    }
}

/// What a call must return.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// The value.
    pub value: Value,
    /// How it is compared.
    pub compare: Compare,
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
