//! Outcomes: how a guest ended, its report of itself, and the cost that the host measured.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::program::File;
use super::status::{CaseStatus, FailureClass};
use super::value::Value;
use crate::wire_enum;

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

impl Outcome {
    /// Returns the bytes of its files, output and values, roughly.
    pub fn content_bytes(&self) -> usize {
        let values = [&self.report.result, &self.report.evaluation].into_iter().flatten();
        let grader = self.grader.iter().flat_map(|grader| [&grader.stdout, &grader.stderr]);
        let streams = [&self.stdout, &self.stderr].into_iter().chain(grader);
        self.files.iter().map(|file| file.content.len()).sum::<usize>()
            + streams.map(Captured::kept_bytes).sum::<usize>()
            + values.map(Value::text_bytes).sum::<usize>()
    }
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
    /// Instructions, as `proofbox_metering` estimates them, in units of fuel.
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
    /// Returns the number of bytes that were kept.
    pub fn kept_bytes(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// Returns whether bytes were dropped.
    pub fn is_truncated(&self) -> bool {
        self.total_bytes > self.kept_bytes() as u64
    }

    /// Returns whether the stream was captured in full and is UTF-8.
    pub fn is_utf8(&self) -> bool {
        !self.is_truncated() && String::from_utf8([&*self.head, &self.tail].concat()).is_ok()
    }

    /// The text, with replacement characters for what is not UTF-8 and a note where something was cut.
    /// A cut never leaves half a character.
    pub fn text(&self) -> String {
        if !self.is_truncated() {
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

/// Returns the bytes without the character of UTF-8 at their end that is not whole.
pub fn without_partial_end(bytes: &[u8]) -> &[u8] {
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
    /// Instructions, as `proofbox_metering` estimates them, in units of fuel.
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
