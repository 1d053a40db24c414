//! Programs: what one interpreter runs, with its input, files and tests.

use serde::{Deserialize, Serialize};

use super::value::Value;

/// The directory at the root of the sandbox where the tests of a submission lie; to the candidate it does not exist.
pub const TESTS_DIRECTORY: &str = "tests";

/// Program of one interpreter, with its input, files and tests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Python source of the program.
    pub code: String,
    /// Arguments of the program, `sys.argv[1:]`.
    pub args: Vec<String>,
    /// Content of standard input, `sys.stdin`.
    #[serde(with = "serde_bytes")]
    pub stdin: Vec<u8>,
    /// Environment of the program; nothing is inherited.
    pub env: Vec<(String, String)>,
    /// Written to the working directory before the start.
    pub files: Vec<File>,
    /// Globs of the files to return.
    pub fetch_files: Vec<String>,
    /// The value to return.
    pub result: Option<ResultWanted>,
    /// Tests that grade the program; `None` when it is only run.
    pub tests: Option<PythonTests>,
    /// True when the tests run in an interpreter of their own.
    pub isolated: bool,
    /// The name under which tests import the snippet; without one it runs as `__main__`.
    pub module: Option<String>,
    /// Files of the tests: where the candidate is not.
    pub test_files: Vec<File>,
    /// Seed and start time of a run that must be repeatable.
    pub deterministic: Option<Deterministic>,
    /// Uses of clocks and random bytes that are reported among the attempts.
    pub report_use: ReportUse,
    /// Permission to start commands of the sandbox's shell.
    pub commands: CommandAccess,
    /// Hash of the image that it runs in; without one, the default image.
    pub image: Option<String>,
}

/// Permission to start commands of the sandbox's shell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandAccess {
    /// Starting one is refused, as all processes are.
    #[default]
    Refused,
    /// Commands run over the program's own files, and within what is left of its limits.
    Granted,
}

/// Selection of uses, allowed to every program, that are reported among its attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportUse {
    /// True when clocks and sleep are reported.
    pub time: bool,
    /// True when random bytes are reported.
    pub entropy: bool,
}

impl ReportUse {
    /// Returns whether any use is reported.
    pub fn any(self) -> bool {
        self.time || self.entropy
    }
}

/// File of the sandbox, with its path and content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct File {
    /// Relative to the working directory, or absolute in the sandbox.
    pub path: String,
    /// Content of the file.
    #[serde(with = "serde_bytes")]
    pub content: Vec<u8>,
}

/// Value of the snippet that the request wants back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResultWanted {
    /// The value of the last statement, when it is an expression.
    LastExpression,
    /// Value of a global variable, by its name.
    Variable(String),
}

/// Seed and clock that make a run repeatable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deterministic {
    /// Seed of every source of randomness.
    pub seed: u64,
    /// Time that the clock shows at the start, in nanoseconds since 1970; from there it advances with fuel and sleep.
    pub start_time_nanoseconds: u64,
}

/// Tests that Python runs: in an interpreter of their own, or in the candidate's, where they are no stronger than the
/// candidate is honest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PythonTests {
    /// Assert statements; every statement is a case (MBPP).
    Asserts {
        /// Run once before them.
        setup: String,
        /// Source of the assert statements.
        asserts: Vec<String>,
    },
    /// Function `check`; every asserting statement in it is a case (HumanEval).
    CheckFunction {
        /// Defines `check(candidate)`.
        source: String,
        /// The candidate's name in the snippet.
        entry_point: String,
    },
    /// Script that is a single case, passed when it runs to its end.
    Script {
        /// Python source of the script.
        source: String,
    },
    /// Calls of a function; every call is a case, and the host compares what it returns.
    FunctionCases {
        /// Callable under test: a name, or `Class().method`.
        entry_point: String,
        /// Calls of the entry point, in order.
        calls: Vec<Call>,
    },
    /// Test classes of unittest; every test method is a case.
    Unittest(TestFiles),
    /// Tests for pytest; every collected item is a case.
    Pytest(TestFiles),
    /// Docstrings of the snippet; every example in them is a case.
    Doctest,
    /// Function that scores the output, as a single case.
    Evaluator(Evaluator),
    /// For each size two cases: passing the arguments alone, and the call.
    Complexity {
        /// Defines `generate(n)`.
        generator: String,
        /// Name of the function that is measured.
        entry_point: String,
        /// Sizes of input that are measured.
        sizes: Vec<u64>,
    },
}

impl PythonTests {
    /// Returns the number of planned cases, or `None` where only the run can tell.
    pub fn known_cases(&self) -> Option<usize> {
        match self {
            Self::Asserts { asserts, .. } => Some(asserts.len()),
            Self::FunctionCases { calls, .. } => Some(calls.len()),
            Self::Script { .. } | Self::Evaluator(_) => Some(1),
            Self::Complexity { sizes, .. } => Some(2 * sizes.len()),
            Self::CheckFunction { .. } | Self::Unittest(_) | Self::Pytest(_) | Self::Doctest => None,
        }
    }

    /// Length of their source, but for files.
    pub fn source_bytes(&self) -> usize {
        match self {
            Self::Asserts { setup, asserts } => setup.len() + asserts.iter().map(String::len).sum::<usize>(),
            Self::CheckFunction { source, .. } | Self::Script { source } => source.len(),
            Self::Unittest(files) | Self::Pytest(files) => files.source.as_ref().map_or(0, String::len),
            Self::Evaluator(evaluator) => evaluator.source.len(),
            Self::Complexity { generator, .. } => generator.len(),
            // Their number is limited, and the request's length.
            Self::FunctionCases { .. } | Self::Doctest => 0,
        }
    }
}

/// Call of a function of the snippet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Positional arguments of the call.
    pub args: Vec<Value>,
    /// Keyword arguments of the call, with their names.
    pub kwargs: Vec<(String, Value)>,
    /// Name of the exception that it must raise.
    pub raises: Option<String>,
    /// Name of the case, for people only.
    pub name: Option<String>,
}

/// Tests in files of their own; the files stand in [`Program::test_files`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestFiles {
    /// Source of the only file of tests, where there is just one.
    pub source: Option<String>,
    /// Name of the file to load, where there are several.
    pub test_module: Option<String>,
    /// True when each case has a fresh interpreter of the candidate.
    pub fresh_per_case: bool,
    /// Seed of the order of the cases, where it is not to be the usual one.
    pub shuffle: Option<u64>,
}

/// A function that scores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluator {
    /// Python source that defines the function.
    pub source: String,
    /// Parameters of the function, by the name of an interface or `auto`.
    pub interface: String,
    /// Minimum score that passes, where the request names one.
    pub threshold: Option<f64>,
    /// Arguments of the function, by name.
    pub arguments: Vec<(String, Value)>,
}
