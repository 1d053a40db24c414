//! A submission with its result, and its fields.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::base64::{self, Texts};
use super::error::Judge0Error;
use super::request::NewSubmission;
use crate::http::programs::{Ending, Failure, stderr_with_reason};
use crate::service::Execution;
use proofbox_types::outcome::Captured;

/// Descriptions of the statuses, whose ids begin with 1.
pub(super) const STATUSES: [&str; 14] = [
    "In Queue",
    "Processing",
    "Accepted",
    "Wrong Answer",
    "Time Limit Exceeded",
    "Compilation Error",
    "Runtime Error (SIGSEGV)",
    "Runtime Error (SIGXFSZ)",
    "Runtime Error (SIGFPE)",
    "Runtime Error (SIGABRT)",
    "Runtime Error (NZEC)",
    "Runtime Error (Other)",
    "Internal Error",
    "Exec Format Error",
];
/// Ids of the statuses that there are here.
const IN_QUEUE: usize = 1;
const ACCEPTED: usize = 3;
const WRONG_ANSWER: usize = 4;
const TIME_LIMIT: usize = 5;
const SEGMENTATION_FAULT: usize = 7;
const FILE_SIZE: usize = 8;
const FLOATING_POINT: usize = 9;
const ABORTED: usize = 10;
const NONZERO_EXIT: usize = 11;
const OTHER: usize = 12;
const INTERNAL_ERROR: usize = 13;

/// Fields of an answer whose request names none.
const DEFAULT_FIELDS: &str = "token,time,memory,stdout,stderr,compile_output,message,status";

/// Renders a status.
pub(super) fn status_json(id: usize) -> Value {
    json!({"id": id, "description": id.checked_sub(1).and_then(|index| STATUSES.get(index))})
}

/// Result of a submission.
pub(super) struct Done {
    status: usize,
    stdout: Option<Vec<u8>>,
    stderr: Option<Vec<u8>>,
    message: Option<String>,
    exit_code: Option<i32>,
    exit_signal: Option<i32>,
    cpu: Option<Duration>,
    wall: Option<Duration>,
    /// In bytes.
    memory: Option<u64>,
    finished: Timestamp,
}

impl Done {
    /// Makes the result of a run.
    pub(super) fn of(asked: &NewSubmission, execution: &Execution) -> Self {
        let ending = Ending::of(execution, asked.limits().time);
        let mut stdout = bytes(&execution.stdout);
        let mut stderr = match execution.stderr.is_truncated() || execution.verdict.error.is_some() {
            true => stderr_with_reason(execution).into_bytes(),
            false => bytes(&execution.stderr),
        };
        if asked.redirect_stderr_to_stdout {
            stdout.append(&mut stderr);
        }
        let (status, message, exit_signal) = match ending {
            Ending::Exited(0) => match &asked.expected_output {
                Some(expected) if !is_same_output(expected, &stdout) => (WRONG_ANSWER, None, None),
                _ => (ACCEPTED, None, None),
            },
            Ending::Exited(code) => (NONZERO_EXIT, Some(format!("Exited with error status {code}")), None),
            Ending::Signalled(signal) => {
                let status = match signal {
                    11 => SEGMENTATION_FAULT,
                    8 => FLOATING_POINT,
                    6 => ABORTED,
                    _ => OTHER,
                };
                (status, Some(format!("Caught fatal signal {signal}")), Some(signal))
            }
            Ending::OutOfTime => (TIME_LIMIT, Some("Time limit exceeded".to_owned()), None),
            Ending::OutOfMemory => (OTHER, Some("Caught fatal signal 9".to_owned()), Some(9)),
            Ending::TooMuchOutput => (FILE_SIZE, Some("Caught fatal signal 25".to_owned()), Some(25)),
        };
        Self {
            status,
            stdout: Some(stdout).filter(|text| !text.is_empty()),
            stderr: Some(stderr).filter(|text| !text.is_empty()),
            message,
            exit_code: Some(if let Ending::Exited(code) = ending { code } else { 0 }),
            exit_signal,
            cpu: Some(execution.cost.cpu),
            wall: Some(execution.cost.execution),
            memory: Some(execution.cost.peak_memory_bytes),
            finished: Timestamp::now(),
        }
    }

    /// Makes the result of a submission that could not be run.
    pub(super) fn failed(failure: &Failure) -> Self {
        Self {
            status: INTERNAL_ERROR,
            stdout: None,
            stderr: None,
            message: Some(failure.message().to_owned()),
            exit_code: None,
            exit_signal: None,
            cpu: None,
            wall: None,
            memory: None,
            finished: Timestamp::now(),
        }
    }

    /// Returns the memory that the result itself takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let optional = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, Vec::len);
        optional(&self.stdout) + optional(&self.stderr)
    }
}

fn bytes(stream: &Captured) -> Vec<u8> {
    match stream.is_truncated() {
        true => stream.text().into_bytes(),
        false => [&*stream.head, &stream.tail].concat(),
    }
}

/// Returns whether texts are the same but for white space at the end of lines, and of the whole.
fn is_same_output(left: &[u8], right: &[u8]) -> bool {
    // Line by line: lists of all lines may be larger than the texts by far.
    let lines = |text| without_end(text).split(|byte: &u8| *byte == b'\n').map(without_end);
    lines(left).eq(lines(right))
}

/// Cuts white space at the end, as Ruby's `rstrip` does.
fn without_end(text: &[u8]) -> &[u8] {
    let is_white = |byte: &u8| matches!(byte, b'\0' | b'\t'..=b'\r' | b' ');
    text.iter().rposition(|byte| !is_white(byte)).map_or(&[], |last| &text[..=last])
}

/// Fields that a request wants, each once.
#[derive(Clone)]
pub(super) struct Fields(Vec<String>);

impl Fields {
    /// Reads the names of fields, which commas separate.
    ///
    /// # Errors
    /// Returns an error that names those which do not exist.
    pub(super) fn read(names: Option<&str>) -> Result<Self, Judge0Error> {
        let names = names.map_or(DEFAULT_FIELDS, str::trim);
        let names = if names.is_empty() { DEFAULT_FIELDS } else { names };
        let names: Vec<&str> = names.split(',').map(str::trim).collect();
        let wrong: Vec<&str> = names.iter().copied().filter(|name| *name != "*" && !FIELDS.contains(name)).collect();
        if !wrong.is_empty() {
            let shown: String = wrong.join(", ").chars().take(200).collect();
            return Err(Judge0Error::bad(format!("invalid fields: [{shown}]")));
        }
        let mut names = if names.contains(&"*") { FIELDS.to_vec() } else { names };
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(*name));
        Ok(Self(names.into_iter().map(str::to_owned).collect()))
    }
}

/// All fields of a submission.
const FIELDS: [&str; 35] = [
    "source_code",
    "language_id",
    "compiler_options",
    "command_line_arguments",
    "stdin",
    "expected_output",
    "cpu_time_limit",
    "cpu_extra_time",
    "wall_time_limit",
    "memory_limit",
    "stack_limit",
    "max_processes_and_or_threads",
    "enable_per_process_and_thread_time_limit",
    "enable_per_process_and_thread_memory_limit",
    "max_file_size",
    "redirect_stderr_to_stdout",
    "enable_network",
    "number_of_runs",
    "additional_files",
    "callback_url",
    "stdout",
    "stderr",
    "compile_output",
    "message",
    "exit_code",
    "exit_signal",
    "status",
    "status_id",
    "language",
    "created_at",
    "finished_at",
    "token",
    "time",
    "wall_time",
    "memory",
];

/// A submission, as it is shown.
pub(super) struct View<'a> {
    pub token: &'a str,
    pub asked: &'a NewSubmission,
    pub created: Timestamp,
    /// Result; none before there is one.
    pub done: Option<&'a Done>,
    pub language: &'a str,
}

impl View<'_> {
    /// Returns the length of the texts in these fields, in bytes.
    pub(super) fn bytes(&self, fields: &Fields) -> usize {
        let length = |name: &String| self.text(name).map_or(0, <[u8]>::len);
        fields.0.iter().map(length).sum()
    }

    /// Returns the text of a field that has one.
    fn text(&self, name: &str) -> Option<&[u8]> {
        match name {
            "source_code" => Some(&self.asked.source_code),
            "stdin" => self.asked.stdin.as_deref(),
            "expected_output" => self.asked.expected_output.as_deref(),
            "stdout" => self.done?.stdout.as_deref(),
            "stderr" => self.done?.stderr.as_deref(),
            "message" => self.done?.message.as_deref().map(str::as_bytes),
            _ => None,
        }
    }

    /// Renders the fields.
    ///
    /// # Errors
    /// Returns an error when a text that is wanted plain is not UTF-8.
    pub(super) fn render(&self, fields: &Fields, texts: Texts) -> Result<Value, Judge0Error> {
        let pair = |name: &String| Ok((name.clone(), self.field(name, texts)?));
        Ok(Value::Object(fields.0.iter().map(pair).collect::<Result<Map<_, _>, Judge0Error>>()?))
    }

    fn field(&self, name: &str, texts: Texts) -> Result<Value, Judge0Error> {
        let text = || match (self.text(name), texts) {
            (None, _) => Ok(Value::Null),
            (Some(bytes), Texts::Base64) => Ok(json!(base64::encode(bytes))),
            (Some(bytes), Texts::Plain) => std::str::from_utf8(bytes).map(|text| json!(text)).map_err(|_| {
                Judge0Error::bad(
                    "some attributes for this submission cannot be converted to UTF-8, use base64_encoded=true query \
                     parameter",
                )
            }),
        };
        let asked = self.asked;
        let done = self.done;
        let decimal = |number: f64| json!(format!("{number:?}"));
        let seconds = |time: Option<Duration>| time.map(|time| format!("{:.3}", time.as_secs_f64()));
        let status = done.map_or(IN_QUEUE, |done| done.status);
        Ok(match name {
            "source_code" | "stdin" | "expected_output" | "stdout" | "stderr" | "message" => text()?,
            "language_id" => json!(asked.language),
            "language" => json!({"id": asked.language, "name": self.language}),
            "command_line_arguments" => json!(asked.command_line_arguments),
            "cpu_time_limit" => decimal(asked.cpu_time),
            "cpu_extra_time" => decimal(asked.cpu_extra_time),
            "wall_time_limit" => decimal(asked.wall_time),
            "memory_limit" => json!(asked.memory as u64),
            "stack_limit" => json!(asked.stack as u64),
            "max_processes_and_or_threads" => json!(asked.processes as u64),
            "max_file_size" => json!(asked.file_size as u64),
            "redirect_stderr_to_stdout" => json!(asked.redirect_stderr_to_stdout),
            "enable_per_process_and_thread_time_limit"
            | "enable_per_process_and_thread_memory_limit"
            | "enable_network" => json!(false),
            "number_of_runs" => json!(1),
            "exit_code" => json!(done.and_then(|done| done.exit_code)),
            "exit_signal" => json!(done.and_then(|done| done.exit_signal)),
            "status" => status_json(status),
            "status_id" => json!(status),
            "created_at" => json!(time(self.created)),
            "finished_at" => json!(done.map(|done| time(done.finished))),
            "token" => json!(self.token),
            "time" => json!(seconds(done.and_then(|done| done.cpu))),
            "wall_time" => json!(seconds(done.and_then(|done| done.wall))),
            "memory" => json!(done.and_then(|done| done.memory).map(|bytes| bytes / 1024)),
            // Compiling, callbacks and archives are not here.
            _ => Value::Null,
        })
    }
}

fn time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_compared_without_white_space_at_the_end_of_lines() {
        for (left, right) in
            [("a \nb\n\n", "a\nb"), ("", "\n"), ("", " \n\t\n"), ("a\r\n", "a"), ("a\x0b\nb\0", "a\nb")]
        {
            assert!(is_same_output(left.as_bytes(), right.as_bytes()), "{left:?} {right:?}");
        }
        for (left, right) in [("a", " a"), ("a\nb", "a b"), ("a\n\nb", "a\nb"), ("\na", "a"), ("a", "A"), ("a", "")] {
            assert!(!is_same_output(left.as_bytes(), right.as_bytes()), "{left:?} {right:?}");
        }
    }

    #[test]
    fn fields_that_do_not_exist_are_named() {
        assert_eq!(Fields::read(None).expect("they exist").0.len(), 8);
        assert_eq!(Fields::read(Some("stdout,status_id")).expect("they exist").0, ["stdout", "status_id"]);
        assert_eq!(Fields::read(Some("stdin,stdout,stdin")).expect("they exist").0, ["stdin", "stdout"]);
        assert!(Fields::read(Some("*")).expect("they exist").0.len() > 30);
        let said = Fields::read(Some("stdout,nothing,*")).err().map(Judge0Error::into_body);
        assert_eq!(said, Some(json!({"error": "invalid fields: [nothing]"})));
    }
}
