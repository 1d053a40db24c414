//! A program goes in, an outcome comes out.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::value::Value;
use super::verdict::{CaseStatus, FailureClass};
use crate::wire_enum;

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
    /// Hash of the image that it runs in; without one, the default image.
    pub image: Option<String>,
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

/// End of a guest, with its report, output, cost and files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Reason why the guest is no longer running.
    pub end: End,
    /// Report that the guest made of itself.
    pub report: Report,
    /// Captured standard output of the guest.
    pub stdout: Captured,
    /// Captured standard error of the guest.
    pub stderr: Captured,
    /// Cost of the run, measured by the host.
    pub usage: Usage,
    /// Attempts to reach something outside the sandbox.
    pub attempts: Vec<Attempt>,
    /// Attempts that were not kept because there were too many.
    pub attempts_dropped: u64,
    /// The interpreter of the tests, where they had one of their own; all else here is the candidate's, but for the
    /// cases, which the tests report.
    pub grader: Option<Box<GraderOutcome>>,
    /// The files asked for.
    pub files: Vec<File>,
    /// Reason why the files could not be returned.
    pub files_error: Option<String>,
}

/// End of the interpreter of the tests, and its cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraderOutcome {
    /// Reason why the interpreter is no longer running.
    pub end: End,
    /// Cost of the tests, measured by the host.
    pub usage: Usage,
    /// Standard output of the tests.
    pub stdout: Captured,
    /// Standard error of the tests.
    pub stderr: Captured,
    /// Interpreters that the candidate had: one more for each that it lost.
    pub candidates: usize,
}

/// Reason why a guest is no longer running.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum End {
    /// By itself: the code a shell would see.
    Exited(i32),
    /// Exceeded limit that stopped the guest.
    Limited(LimitHit),
    /// The interpreter broke: `os.abort()`, memory corrupted by the guest, and the like.
    Trapped(String),
}

/// A limit that stopped a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitHit {
    /// Limit that was met.
    pub limit: Limit,
    /// Value of the limit in its own unit: fuel, milliseconds or bytes.
    pub allowed: u64,
}

/// The limits that can stop a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// Instructions, in wasmtime's fuel units.
    Fuel,
    /// CPU time and sleep.
    Wall,
    /// Size of the linear memory.
    Memory,
    /// The stack of the compiled code.
    Stack,
    /// Far more output than is kept.
    Output,
}

/// Report of the guest's runner. Parsed from hostile bytes: a candidate in the same interpreter can forge it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Names of the planned cases.
    pub plan: Vec<String>,
    /// True when the snippet parsed and ran to its end; `None` when the run never got that far.
    pub compiled: Option<bool>,
    /// The cases that were begun, in order.
    pub cases: Vec<CaseReport>,
    /// The value asked for.
    pub result: Option<Value>,
    /// The exception that ended the snippet or the tests.
    pub error: Option<ErrorReport>,
    /// Messages that an honest runner does not send.
    pub odd_messages: u64,
    /// Signals that the tests' interpreter saw: behaviour that an honest candidate does not need.
    pub signals: Vec<String>,
    /// Value that the evaluator returned.
    pub evaluation: Option<Value>,
    /// Constructs of the tests that are inexpressible when they run apart from the candidate.
    pub inexpressible: Vec<String>,
    /// Counts of the tests' interpreter, where it has sent them.
    pub basis: Option<ReportedBasis>,
    /// Paths that an error is about: that of a case, by its index, or the one above.
    pub error_paths: Vec<(Option<usize>, Vec<String>)>,
}

/// Counts of the candidate's answers, kept by the tests' interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedBasis {
    /// Results of calls that crossed as plain values.
    pub values: u64,
    /// Requests that objects of the candidate answered by their own methods and operators.
    pub handles: u64,
}

/// Case as the guest's runner reported it, with the host's measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseReport {
    /// Index of the case in the plan.
    pub index: usize,
    /// Status, or `None` while the case runs: a guest that was stopped leaves it so.
    pub status: Option<CaseStatus>,
    /// Error of a case that did not pass.
    pub error: Option<ErrorReport>,
    /// Return value of the call, where the host compares.
    pub value: Option<Value>,
    /// Measured by the host.
    pub fuel_used: u64,
    /// Measured by the host.
    pub execution: Duration,
    /// The largest linear memory of the candidate so far, in bytes.
    pub peak_memory_bytes: u64,
    /// The beginning of what the candidate printed meanwhile.
    pub printed: String,
}

/// Python exception, as the guest reported it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorReport {
    /// Failure class of the exception.
    pub class: FailureClass,
    /// Name of the Python type.
    pub type_name: String,
    /// `str()` of it, cut to a few thousand characters.
    pub message: String,
    /// Line of the snippet.
    pub line: Option<u32>,
    /// The user's frames, outermost first.
    pub traceback: Vec<Frame>,
}

impl ErrorReport {
    /// A failure of the service itself.
    pub fn of_ours(message: String) -> Self {
        Self {
            class: FailureClass::InfrastructureError,
            type_name: "InfrastructureError".to_owned(),
            message,
            line: None,
            traceback: Vec::new(),
        }
    }
}

/// Frame of a Python traceback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// Relative to the working directory where it lies there.
    pub file: String,
    /// Line number, counted from 1.
    pub line: u32,
    /// Name of the function, or `<module>`.
    pub function: String,
    /// The source line, where it is known.
    pub source: String,
}

/// A stream's captured bytes: all of them, or the first and the last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// Captured bytes from the start of the stream.
    #[serde(with = "serde_bytes")]
    pub head: Vec<u8>,
    /// The end, where something was cut between.
    #[serde(with = "serde_bytes")]
    pub tail: Vec<u8>,
    /// Number of bytes written, the dropped ones included.
    pub total_bytes: u64,
}

impl Captured {
    /// Returns whether bytes were dropped.
    pub fn truncated(&self) -> bool {
        self.total_bytes > (self.head.len() + self.tail.len()) as u64
    }

    /// Returns whether the stream was captured in full and is UTF-8.
    pub fn is_utf8(&self) -> bool {
        !self.truncated() && String::from_utf8([&*self.head, &self.tail].concat()).is_ok()
    }

    /// The text, with replacement characters for what is not UTF-8 and a note where something was cut.
    /// A cut never leaves half a character.
    pub fn text(&self) -> String {
        if !self.truncated() {
            let mut all = self.head.clone();
            all.extend_from_slice(&self.tail);
            return String::from_utf8(all).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
        }
        let head = without_partial_end(&self.head);
        let tail = without_partial_start(&self.tail);
        let cut = self.total_bytes - (head.len() + tail.len()) as u64;
        format!("{}\n[... {cut} bytes cut ...]\n{}", String::from_utf8_lossy(head), String::from_utf8_lossy(tail))
    }
}

fn without_partial_end(bytes: &[u8]) -> &[u8] {
    // The last character begins at most 3 bytes before the end; longer runs of continuation bytes are not UTF-8.
    for back in 1..=bytes.len().min(3) {
        let b = bytes[bytes.len() - back];
        if b & 0xC0 == 0x80 {
            continue;
        }
        let length = match b {
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF7 => 4,
            _ => 1,
        };
        return if length > back { &bytes[..bytes.len() - back] } else { bytes };
    }
    bytes
}

fn without_partial_start(bytes: &[u8]) -> &[u8] {
    let partial = bytes.iter().take(3).take_while(|b| **b & 0xC0 == 0x80).count();
    &bytes[partial..]
}

/// Cost of a run, measured by the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Instructions, in wasmtime's fuel units.
    pub fuel: u64,
    /// CPU time of the guest.
    pub cpu: Duration,
    /// CPU time and sleep: what the wall limit counts.
    pub execution: Duration,
    /// Ready to run, waiting for a core.
    pub waiting: Duration,
    /// Time to make the interpreter.
    pub start: Duration,
    /// Largest size of the linear memory.
    pub peak_memory_bytes: u64,
    /// True when the guest asked for memory beyond the limit.
    pub memory_refused: bool,
}

impl Usage {
    /// More than any guest can use.
    pub const MAX_FUEL: u64 = 1 << 56;

    /// Returns whether a guest can use this much. Usage comes from a worker, which may have been taken over, and is
    /// summed.
    fn is_possible(&self) -> bool {
        const MAX_LENGTH: Duration = Duration::from_secs(365 * 24 * 60 * 60);
        let durations = [self.cpu, self.execution, self.waiting, self.start];
        self.fuel < Self::MAX_FUEL && durations.iter().all(|duration| *duration < MAX_LENGTH)
    }
}

impl Outcome {
    /// A run of which nothing is known but its end and its cost.
    pub fn of_end(end: End, usage: Usage) -> Self {
        Self {
            end,
            report: Report::default(),
            stdout: Captured::default(),
            stderr: Captured::default(),
            usage,
            attempts: Vec::new(),
            attempts_dropped: 0,
            grader: None,
            files: Vec::new(),
            files_error: None,
        }
    }

    /// Returns whether a run can have this cost. Values from a compromised worker may not.
    pub fn is_possible(&self) -> bool {
        self.usage.is_possible() && self.grader.as_ref().is_none_or(|grader| grader.usage.is_possible())
    }
}

impl Attempt {
    /// Adds the attempts of a further run: the same attempt in several runs is one attempt.
    pub fn merge(all: &mut Vec<Self>, more: Vec<Self>) {
        for attempt in more {
            let same = |known: &&mut Self| {
                (known.kind, known.allowed, &known.operation, &known.target)
                    == (attempt.kind, attempt.allowed, &attempt.operation, &attempt.target)
            };
            match all.iter_mut().find(same) {
                Some(known) => known.count = known.count.saturating_add(attempt.count),
                None => all.push(attempt),
            }
        }
    }
}

/// Something outside the sandbox that the guest tried to reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// `file`, `network`, `environment`, `process`, `thread`, `time`, `entropy`.
    pub kind: AttemptKind,
    /// Operation, such as `open`, `connect` or `spawn`.
    pub operation: String,
    /// Target of the operation: a path, host or name.
    pub target: String,
    /// True when the sandbox allowed the operation.
    pub allowed: bool,
    /// Number of times that it was tried.
    pub count: u64,
}

wire_enum! {
    /// Kind of resource that was tried.
    AttemptKind {
        /// Path in the file tree.
        File = "file",
        /// A host or socket.
        Network = "network",
        /// Variable of the environment.
        Environment = "environment",
        /// Start of a process.
        Process = "process",
        /// Start of a thread.
        Thread = "thread",
        /// A clock, or sleep. Counted by the host, and where that is asked for only; likewise the next.
        Time = "time",
        /// Use of random bytes.
        Entropy = "entropy",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_never_leaves_half_a_character() {
        let captured =
            Captured { head: "aé".as_bytes()[..2].to_vec(), tail: "éb".as_bytes()[1..].to_vec(), total_bytes: 100 };
        assert_eq!(captured.text(), "a\n[... 98 bytes cut ...]\nb");
    }

    #[test]
    fn bytes_that_are_not_utf8_are_replaced() {
        let captured = Captured { head: vec![b'a', 0xFF, 0], tail: vec![], total_bytes: 3 };
        assert_eq!(captured.text(), "a\u{FFFD}\0");
    }
}
