//! A program goes in, an outcome comes out.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::value::Value;
use super::verdict::{CaseStatus, FailureClass};
use super::words::words;

/// The directory at the root of the sandbox where the tests of a submission lie; to the candidate it does not exist.
pub const TESTS_DIRECTORY: &str = "tests";

/// What one interpreter is to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Python source.
    pub code: String,
    /// `sys.argv[1:]`.
    pub args: Vec<String>,
    /// What `sys.stdin` gives.
    #[serde(with = "serde_bytes")]
    pub stdin: Vec<u8>,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    /// Written to the working directory before the start.
    pub files: Vec<File>,
    /// Globs of the files to return.
    pub fetch_files: Vec<String>,
    /// The value to return.
    pub result: Option<ResultWanted>,
    /// What it is graded by.
    pub tests: Option<PythonTests>,
    /// Whether its tests are run in an interpreter of their own.
    pub isolated: bool,
    /// The name under which tests import the snippet; without one it runs as `__main__`.
    pub module: Option<String>,
    /// Files of the tests: where the candidate is not.
    pub test_files: Vec<File>,
    /// Seed and start time of a run that must be repeatable.
    pub deterministic: Option<Deterministic>,
    /// What it uses that is to be reported.
    pub report_use: ReportUse,
    /// Hash of the image that it runs in; without one, the default image.
    pub image: Option<String>,
}

/// Which use of what every program may have is reported among its attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportUse {
    /// Clocks and sleep.
    pub time: bool,
    /// Random bytes.
    pub entropy: bool,
}

impl ReportUse {
    /// Whether any is.
    pub fn any(self) -> bool {
        self.time || self.entropy
    }
}

/// One file of the sandbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct File {
    /// Relative to the working directory, or absolute in the sandbox.
    pub path: String,
    /// Its content.
    #[serde(with = "serde_bytes")]
    pub content: Vec<u8>,
}

/// Which value of the snippet is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResultWanted {
    /// The value of the last statement, when it is an expression.
    LastExpression,
    /// A global variable.
    Variable(String),
}

/// What makes a run repeatable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deterministic {
    /// Seeds everything random.
    pub seed: u64,
    /// What the clock shows at the start, in nanoseconds since 1970; from there it runs on fuel and sleep.
    pub start_time_nanoseconds: u64,
}

/// Tests that Python runs: in an interpreter of their own, or in the candidate's, where they are no stronger than the
/// candidate is honest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PythonTests {
    /// Each statement a case (MBPP).
    Asserts {
        /// Run once before them.
        setup: String,
        /// The statements.
        asserts: Vec<String>,
    },
    /// Each asserting statement of `check` a case (HumanEval).
    CheckFunction {
        /// Defines `check(candidate)`.
        source: String,
        /// The candidate's name in the snippet.
        entry_point: String,
    },
    /// One case: running to the end.
    Script {
        /// Python source.
        source: String,
    },
    /// Each call a case; what it returns is compared on the host.
    FunctionCases {
        /// What is called: a name, or `Class().method`.
        entry_point: String,
        /// The calls.
        calls: Vec<Call>,
    },
    /// Each test method a case.
    Unittest(TestFiles),
    /// Each item that pytest collects a case.
    Pytest(TestFiles),
    /// Each example of the snippet's docstrings a case.
    Doctest,
    /// One case: a function that scores.
    Evaluator(Evaluator),
    /// For each size two cases: passing the arguments alone, and the call.
    Complexity {
        /// Defines `generate(n)`.
        generator: String,
        /// The function.
        entry_point: String,
        /// The sizes.
        sizes: Vec<u64>,
    },
}

impl PythonTests {
    /// How many cases are planned, where that can be told before the run.
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

/// One call of a function of the snippet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// By position.
    pub args: Vec<Value>,
    /// By name.
    pub kwargs: Vec<(String, Value)>,
    /// Name of the exception that it must raise.
    pub raises: Option<String>,
    /// For people.
    pub name: Option<String>,
}

/// Tests in files of their own; the files stand in [`Program::test_files`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestFiles {
    /// One file of tests, where there is but one.
    pub source: Option<String>,
    /// Which of the files to load.
    pub test_module: Option<String>,
    /// Whether each case has a fresh interpreter of the candidate.
    pub fresh_per_case: bool,
    /// Seed of the order of the cases, where it is not to be the usual one.
    pub shuffle: Option<u64>,
}

/// A function that scores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluator {
    /// Python source.
    pub source: String,
    /// Which parameters the function has, or `auto`.
    pub interface: String,
    /// What a score must reach.
    pub threshold: Option<f64>,
    /// What it is given, by name.
    pub arguments: Vec<(String, Value)>,
}

/// How a guest ended, and all that it left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Why it is no longer running.
    pub end: End,
    /// What the guest said of itself.
    pub report: Report,
    /// Captured standard output.
    pub stdout: Captured,
    /// Captured standard error.
    pub stderr: Captured,
    /// What it cost.
    pub usage: Usage,
    /// What it tried to reach.
    pub attempts: Vec<Attempt>,
    /// Attempts that were not kept because there were too many.
    pub attempts_dropped: u64,
    /// The interpreter of the tests, where they had one of their own; all else here is the candidate's, but for the
    /// cases, which the tests report.
    pub grader: Option<Box<GraderOutcome>>,
    /// The files asked for.
    pub files: Vec<File>,
    /// Why they could not be had.
    pub files_error: Option<String>,
}

/// How the interpreter of the tests ended, and what it cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraderOutcome {
    /// Why it is no longer running.
    pub end: End,
    /// What it cost.
    pub usage: Usage,
    /// What the tests printed.
    pub stdout: Captured,
    /// Likewise.
    pub stderr: Captured,
    /// Interpreters that the candidate had: one more for each that it lost.
    pub candidates: usize,
}

/// Why a guest is no longer running.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum End {
    /// By itself: the code a shell would see.
    Exited(i32),
    /// It met a limit.
    Limited(LimitHit),
    /// The interpreter broke: `os.abort()`, memory corrupted by the guest, and the like.
    Trapped(String),
}

/// A limit that stopped a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitHit {
    /// Which.
    pub limit: Limit,
    /// Its value, in the limit's unit (fuel, milliseconds, bytes).
    pub allowed: u64,
}

/// The limits that can stop a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// Instructions.
    Fuel,
    /// CPU time and sleep.
    Wall,
    /// Linear memory.
    Memory,
    /// The stack of the compiled code.
    Stack,
    /// Far more output than is kept.
    Output,
}

/// What the guest's runner reported. Parsed from hostile bytes: a candidate in the same interpreter can forge it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Names of the planned cases.
    pub plan: Vec<String>,
    /// Whether the snippet parsed and ran to its end; `None` when it never came so far.
    pub compiled: Option<bool>,
    /// The cases that were begun, in order.
    pub cases: Vec<CaseReport>,
    /// The value asked for.
    pub result: Option<Value>,
    /// The exception that ended the snippet or the tests.
    pub error: Option<ErrorReport>,
    /// Messages that an honest runner does not send.
    pub odd_messages: u64,
    /// What the tests' interpreter saw that an honest candidate does not need.
    pub signals: Vec<String>,
    /// What an evaluator found.
    pub evaluation: Option<Value>,
    /// What the tests wanted that can't be had when they run apart from the candidate.
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

/// One case as the guest's runner reported it, with what the host measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseReport {
    /// Its place in the plan.
    pub index: usize,
    /// `None` while it runs: a guest that was stopped leaves its case so.
    pub status: Option<CaseStatus>,
    /// Why it did not pass.
    pub error: Option<ErrorReport>,
    /// What the call returned, where the host compares.
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

/// A Python exception.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorReport {
    /// Its class.
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

/// One frame of a traceback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// Relative to the working directory where it lies there.
    pub file: String,
    /// One-based.
    pub line: u32,
    /// Name of the function, or `<module>`.
    pub function: String,
    /// The source line, where it is known.
    pub source: String,
}

/// A stream's captured bytes: all of them, or the first and the last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// From the start.
    #[serde(with = "serde_bytes")]
    pub head: Vec<u8>,
    /// The end, where something was cut between.
    #[serde(with = "serde_bytes")]
    pub tail: Vec<u8>,
    /// Written in all.
    pub total_bytes: u64,
}

impl Captured {
    /// Whether something was cut.
    pub fn truncated(&self) -> bool {
        self.total_bytes > (self.head.len() + self.tail.len()) as u64
    }

    /// Whether all of it is kept, and UTF-8.
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

/// What a run cost, measured by the host.
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
    /// Making the interpreter.
    pub start: Duration,
    /// Largest size of the linear memory.
    pub peak_memory_bytes: u64,
    /// Whether memory was refused at the limit.
    pub memory_refused: bool,
}

impl Usage {
    /// More than any guest can use.
    pub const MAX_FUEL: u64 = 1 << 56;

    /// Whether anything can have cost so much: what a worker tells is added up, and it may have been taken over.
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

    /// Whether a run can have come to this.
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
    /// `open`, `connect`, `spawn` …
    pub operation: String,
    /// Path, host, name.
    pub target: String,
    /// Whether it got it.
    pub allowed: bool,
    /// How often.
    pub count: u64,
}

words! {
    /// What kind of thing was tried.
    AttemptKind {
        /// A path.
        File = "file",
        /// A host or socket.
        Network = "network",
        /// An environment variable.
        Environment = "environment",
        /// A process.
        Process = "process",
        /// A thread.
        Thread = "thread",
        /// A clock, or sleep. Counted by the host, and where that is asked for only; likewise the next.
        Time = "time",
        /// Random bytes.
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
