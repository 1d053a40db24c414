//! Answers of the contract, made from the domain's types.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value as Json, json};
use utoipa::ToSchema;

use super::completion::CompletionAnswer;
use super::files::{Base64Content, EncodedContent};
use crate::service::{Execution, ImageReason};
use proofbox_grading::canaries::CanaryFound;
use proofbox_grading::complexity::ComplexityReport;
use proofbox_grading::lint::LintReport;
use proofbox_grading::receipt::Receipt;
use proofbox_policy::ScanReport;
use proofbox_runtime::image::Image;
use proofbox_types::grant::Limits;
use proofbox_types::outcome::{Attempt, Captured, ErrorReport, GraderOutcome};
use proofbox_types::program::File;
use proofbox_types::session::Raised;
use proofbox_types::value::Value;
use proofbox_types::verdict::CaseResult;

/// The answer to `POST /v1/execute`.
#[derive(Debug, Serialize, ToSchema)]
pub struct Answer {
    id: String,
    #[schema(example = "passed")]
    status: &'static str,
    /// Exit code that a shell would see.
    exit_code: i32,
    #[schema(example = "none")]
    stderr_class: &'static str,
    tests_passed: usize,
    tests_total: usize,
    /// CPU time and sleep of the guest.
    execution_seconds: f64,
    /// Time of waiting for an admission permit and for a core; never counts against the snippet.
    queue_seconds: f64,
    /// CPU time of the guest.
    cpu_seconds: f64,
    fuel_used: u64,
    peak_memory_bytes: u64,
    stdout: String,
    stderr: String,
    /// Bytes written in all, including those that `stdout` leaves out.
    stdout_bytes: u64,
    stderr_bytes: u64,
    stdout_truncated: bool,
    stderr_truncated: bool,
    /// Tagged JSON: docs/reference/execute.md.
    result: Json,
    error: Option<ErrorAnswer>,
    /// The snippet parsed and imported.
    compiled: bool,
    cases: Vec<CaseAnswer>,
    /// Report on the code in the model's answer, where the request has `completion`.
    completion: Option<CompletionAnswer>,
    /// Report of the policy's gate on the snippet.
    policy: ScanReport,
    boundary: BoundaryAnswer,
    integrity: IntegrityAnswer,
    /// Report of the linter, where it was asked for.
    lint: Option<LintReport>,
    /// Cases that did not always end the same, when the grading is repeated.
    flaky: Vec<String>,
    /// Measured growth of fuel with the input's size, where it was asked for.
    complexity: Option<ComplexityReport>,
    /// Result of an evaluator: score, passed, reason. Tagged JSON.
    evaluation: Json,
    /// The interpreter of the tests, where they had one of their own; all other figures are the candidate's.
    grader: Option<GraderAnswer>,
    #[schema(value_type = BTreeMap<String, Base64Content>)]
    files: BTreeMap<String, EncodedContent>,
    /// Reason why the files could not be returned, if they could not.
    files_error: Option<String>,
    limits: LimitsInForce,
    runtime: RuntimeAnswer,
    labels: BTreeMap<String, String>,
    /// The signed verdict, where one was asked for.
    receipt: Option<Receipt>,
}

/// An exception, or what ended a run.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ErrorAnswer {
    class: &'static str,
    /// Name of the Python type.
    #[serde(rename = "type")]
    type_name: String,
    message: String,
    /// Hash that is equal for equal failures, whatever values are in the message: a loop of one error shows.
    fingerprint: String,
    /// Line of the snippet.
    line: Option<u32>,
    traceback: Vec<FrameAnswer>,
    /// Traceback as Python would have printed it (in sessions).
    #[serde(skip_serializing_if = "Option::is_none")]
    traceback_text: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct FrameAnswer {
    file: String,
    line: u32,
    function: String,
    source: String,
}

/// Cost and output of the tests.
#[derive(Debug, Serialize, ToSchema)]
struct GraderAnswer {
    fuel_used: u64,
    execution_seconds: f64,
    peak_memory_bytes: u64,
    stdout: String,
    stderr: String,
    /// Interpreters that the candidate had: one more for each that it lost.
    candidates: usize,
}

#[derive(Debug, Serialize, ToSchema)]
struct CaseAnswer {
    name: String,
    status: &'static str,
    execution_seconds: f64,
    fuel_used: u64,
    stderr_class: &'static str,
    message: Option<String>,
    /// The largest linear memory of the candidate so far.
    peak_memory_bytes: u64,
    /// The beginning of what the candidate printed in it (isolated grading).
    stdout: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct BoundaryAnswer {
    attempts: Vec<AttemptAnswer>,
    /// Number of attempts beyond those that are listed.
    dropped: u64,
    /// The canaries that were found.
    canaries: Vec<CanaryFound>,
}

#[derive(Debug, Serialize, ToSchema)]
struct AttemptAnswer {
    kind: Json,
    operation: String,
    target: String,
    allowed: bool,
    count: u64,
}

#[derive(Debug, Serialize, ToSchema)]
struct IntegrityAnswer {
    /// `isolated`, `in_process`; `none` when there was nothing to grade.
    level: &'static str,
    planned: usize,
    reported: usize,
    signals: Vec<String>,
    /// Counts of what the verdict rests on.
    basis: BasisAnswer,
}

#[derive(Debug, Serialize, ToSchema)]
struct BasisAnswer {
    /// Results of the candidate that crossed as plain values, or were compared on the host.
    values_compared: u64,
    /// Requests that objects of the candidate answered by their own methods and operators.
    handles_asked: u64,
    /// Notes on what can't be had apart from the candidate: the `inexpressible` signals.
    notes: u64,
}

/// Limits, each in its unit.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LimitsInForce {
    fuel: u64,
    wall_seconds: f64,
    memory_bytes: u64,
    output_bytes: u64,
    files_bytes: u64,
    files_count: u64,
}

impl From<&Limits> for LimitsInForce {
    fn from(limits: &Limits) -> Self {
        Self {
            fuel: limits.fuel,
            wall_seconds: limits.wall.as_secs_f64(),
            memory_bytes: limits.memory_bytes,
            output_bytes: limits.output_bytes,
            files_bytes: limits.files_bytes,
            files_count: limits.files_count,
        }
    }
}

/// Image that the code ran on.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RuntimeAnswer {
    /// Name of the image, or its hash where it has none.
    image: String,
    /// Reason for which the image was taken: `requested`, `default`, `imports: …` with modules that the default image
    /// lacks, `missing at run time: …` where a first run in another image failed for that import, or
    /// `default: … is in the image …, which was not built`. None for a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    image_reason: Option<String>,
    image_hash: String,
    python: String,
    packages_hash: String,
}

impl RuntimeAnswer {
    /// Describes an image by its name and hashes.
    pub(super) fn of(image: &Image, name: String, reason: Option<&ImageReason>) -> Self {
        Self {
            image: name,
            image_reason: reason.map(ToString::to_string),
            image_hash: image.image_hash.clone(),
            python: image.python.clone(),
            packages_hash: image.packages_hash.clone(),
        }
    }
}

impl Answer {
    /// Adds the traceback that Python would have printed to the error, if there is one.
    #[must_use]
    pub fn with_traceback(mut self, text: Option<String>) -> Self {
        if let Some(error) = &mut self.error {
            error.traceback_text = text;
        }
        self
    }
}

/// An error of the service itself.
#[derive(Serialize, ToSchema)]
pub(super) struct ErrorBody {
    error: ErrorFields,
}

#[derive(Serialize, ToSchema)]
struct ErrorFields {
    /// Stable name of the error.
    code: String,
    message: String,
    /// The field of the request that it is about.
    field: Option<String>,
    asked: Option<f64>,
    allowed: Option<f64>,
}

/// Returns the length of the texts in the answer on the wire, in bytes, roughly.
pub(super) fn size_of(execution: &Execution) -> usize {
    let grader = execution.grader.iter().flat_map(|grader| [&grader.stdout, &grader.stderr]);
    let streams = [&execution.stdout, &execution.stderr].into_iter().chain(grader);
    let values = [&execution.result, &execution.evaluation].into_iter().flatten();
    let case = |case: &CaseResult| case.name.len() + case.stdout.len() + case.message.as_ref().map_or(0, String::len);
    let file = |file: &File| file.path.len() + file.content.len().div_ceil(3) * 4;
    streams.map(Captured::kept_bytes).sum::<usize>()
        + values.map(Value::text_bytes).sum::<usize>()
        + execution.verdict.cases.iter().map(case).sum::<usize>()
        + execution.verdict.error.as_ref().map_or(0, |error| error.message.len())
        + execution.files.iter().map(file).sum::<usize>()
}

/// The answer on the wire.
pub fn answer_of(execution: Execution, labels: BTreeMap<String, String>) -> Answer {
    let Execution {
        id,
        verdict,
        cost,
        stdout,
        stderr,
        result,
        files,
        files_error,
        attempts,
        attempts_dropped,
        canaries,
        limits,
        policy,
        image,
        image_choice,
        completion,
        scan,
        flaky,
        complexity,
        evaluation,
        grader,
        lint,
        receipt,
        is_blamed: _,
    } = execution;
    let passed = verdict.count_passed();
    Answer {
        id: id.to_string(),
        status: verdict.status.as_str(),
        exit_code: verdict.exit_code,
        stderr_class: verdict.class.as_str(),
        tests_passed: passed,
        tests_total: verdict.total(),
        execution_seconds: cost.execution.as_secs_f64(),
        queue_seconds: cost.queue.as_secs_f64(),
        cpu_seconds: cost.cpu.as_secs_f64(),
        fuel_used: cost.fuel,
        peak_memory_bytes: cost.peak_memory_bytes,
        stdout_bytes: stdout.total_bytes,
        stderr_bytes: stderr.total_bytes,
        stdout_truncated: stdout.is_truncated(),
        stderr_truncated: stderr.is_truncated(),
        stdout: stdout.text(),
        stderr: stderr.text(),
        result: result.map_or(Json::Null, |value| value.to_json()),
        error: verdict.error.map(error_answer),
        compiled: verdict.compiled,
        cases: verdict.cases.into_iter().map(case_answer).collect(),
        completion: completion.map(CompletionAnswer::from),
        policy: scan.unwrap_or_else(|| ScanReport::nothing(policy)),
        boundary: BoundaryAnswer {
            attempts: attempts.into_iter().map(attempt_answer).collect(),
            dropped: attempts_dropped,
            canaries,
        },
        integrity: IntegrityAnswer {
            level: verdict.integrity.level.as_str(),
            planned: verdict.integrity.planned,
            reported: verdict.integrity.reported,
            signals: verdict.integrity.signals,
            basis: BasisAnswer {
                values_compared: verdict.integrity.basis.values_compared,
                handles_asked: verdict.integrity.basis.handles_asked,
                notes: verdict.integrity.basis.notes,
            },
        },
        lint,
        flaky,
        complexity,
        evaluation: evaluation.map_or(Json::Null, |value| value.to_json()),
        grader: grader.map(grader_answer),
        files: files.into_iter().map(|file| (file.path, EncodedContent(file.content))).collect(),
        files_error,
        limits: (&limits).into(),
        runtime: match image_choice {
            Some((name, reason)) => RuntimeAnswer::of(&image, name, Some(&reason)),
            None => RuntimeAnswer::of(&image, image.image_hash.clone(), None),
        },
        labels,
        receipt,
    }
}

fn grader_answer(grader: GraderOutcome) -> GraderAnswer {
    GraderAnswer {
        fuel_used: grader.usage.fuel,
        execution_seconds: grader.usage.execution.as_secs_f64(),
        peak_memory_bytes: grader.usage.peak_memory_bytes,
        stdout: grader.stdout.text(),
        stderr: grader.stderr.text(),
        candidates: grader.candidates,
    }
}

fn error_answer(error: ErrorReport) -> ErrorAnswer {
    let frame = |frame: proofbox_types::outcome::Frame| FrameAnswer {
        file: frame.file,
        line: frame.line,
        function: frame.function,
        source: frame.source,
    };
    ErrorAnswer {
        fingerprint: proofbox_grading::fingerprint(&error),
        class: error.class.as_str(),
        type_name: error.type_name,
        message: error.message,
        line: error.line,
        traceback: error.traceback.into_iter().map(frame).collect(),
        traceback_text: None,
    }
}

/// The exception that ended a call of a session, whole.
pub(super) fn raised_answer(raised: Raised) -> ErrorAnswer {
    let Raised { class, name, value, traceback, line, frames } = raised;
    let report = ErrorReport { class, type_name: name, message: value, line, traceback: frames };
    ErrorAnswer { traceback_text: Some(traceback), ..error_answer(report) }
}

fn case_answer(case: CaseResult) -> CaseAnswer {
    CaseAnswer {
        name: case.name,
        status: case.status.as_str(),
        execution_seconds: case.execution.as_secs_f64(),
        fuel_used: case.fuel_used,
        stderr_class: case.class.as_str(),
        message: case.message,
        peak_memory_bytes: case.peak_memory_bytes,
        stdout: case.stdout,
    }
}

fn attempt_answer(attempt: Attempt) -> AttemptAnswer {
    AttemptAnswer {
        kind: json!(attempt.kind),
        operation: attempt.operation,
        target: attempt.target,
        allowed: attempt.allowed,
        count: attempt.count,
    }
}
