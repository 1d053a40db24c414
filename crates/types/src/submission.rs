//! Submission of a client: a snippet, its tests, and options for both.

use std::collections::BTreeMap;

use super::canary::Canary;
use super::completion::CompletionReport;
use super::grant::AskedLimits;
use super::program::{File, Program, PythonTests};
use super::value::Value;

/// Submission that is parsed and not yet admitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// The snippet with its surroundings; its tests stand apart.
    pub program: Program,
    /// The field of the request that the snippet came in.
    pub code_field: &'static str,
    /// Report on the model's answer that the snippet was taken out of; none where it came as it is.
    pub completion: Option<CompletionReport>,
    /// Tests that grade the snippet; without them it is only run.
    pub tests: Option<Tests>,
    /// Interpreter in which the tests run; `None` for the policy's default.
    pub grading: Option<Grading>,
    /// True when the answer must reveal nothing of the tests; `None` for the policy's default.
    pub hidden: Option<bool>,
    /// Number of times that the whole grading runs, to find unstable verdicts.
    pub repeat: u32,
    /// Measurement of how fuel grows with the size of the input, where the request asks for it.
    pub complexity: Option<Complexity>,
    /// Name of the policy.
    pub policy: String,
    /// Name or hash of the image; none for the default one.
    pub image: Option<String>,
    /// Limits other than the policy's.
    pub limits: AskedLimits,
    /// Given back with the answer.
    pub labels: BTreeMap<String, String>,
    /// True when a linter checks the snippet beside the run.
    pub lint: bool,
    /// Request for a signed verdict.
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
    /// Name of the function that is measured.
    pub entry_point: String,
    /// Sizes of input to measure, ascending.
    pub sizes: Vec<u64>,
}

/// Interpreter in which Python tests run.
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

/// Tests of a snippet.
#[derive(Clone, Debug, PartialEq)]
pub enum Tests {
    /// Tests that Python runs.
    Python {
        /// Tests in their style.
        tests: PythonTests,
        /// The name under which they import the snippet.
        module: Option<String>,
        /// Files that the tests need.
        files: Vec<File>,
        /// Expected value of each case, where the host compares; otherwise empty.
        expected: Vec<Option<Expected>>,
    },
    /// Input and expected output; compared on the host.
    StdinStdout {
        /// Cases, each of which is a fresh run.
        cases: Vec<StdinCase>,
        /// Comparison of actual and expected output.
        compare: Compare,
    },
}

impl Tests {
    /// Returns the number of planned cases, or `None` where only the run can tell.
    pub fn known_cases(&self) -> Option<usize> {
        match self {
            Self::Python { tests, .. } => tests.known_cases(),
            Self::StdinStdout { cases, .. } => Some(cases.len()),
        }
    }
}

/// Expected return value of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// Value that the call must return.
    pub value: Value,
    /// Comparison of actual and expected value.
    pub compare: Compare,
}

/// Run of a program with one input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StdinCase {
    /// Content of standard input.
    pub stdin: String,
    /// Expected content of standard output.
    pub expected_stdout: String,
    /// `sys.argv[1:]`, instead of the request's.
    pub args: Option<Vec<String>>,
    /// Name of the case, for people only.
    pub name: Option<String>,
}

/// Rule by which output is compared with the expected output.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Compare {
    /// Equality byte for byte.
    Exact,
    /// Line by line without trailing white space, trailing blank lines left out.
    #[default]
    Trimmed,
    /// White space only separates.
    Tokens,
    /// Trimmed lines in any order.
    Unordered,
    /// Line by line, without white space around lines and around all; a line is equal as text, or as decimal numbers.
    DecimalLines,
    /// Tokens; those that are numbers on both sides may differ a little.
    Close {
        /// Relative tolerance of numbers.
        rtol: f64,
        /// Absolute tolerance of numbers.
        atol: f64,
    },
}
