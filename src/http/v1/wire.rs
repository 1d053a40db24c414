//! The shapes of the contract, and how they become the domain's words and back.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use utoipa::ToSchema;

use super::tests::tests_of;
use crate::domain::canary::Canary;
use crate::domain::canonical_json::canonical;
use crate::domain::grant::{AskedLimits, Limits};
use crate::domain::run::{
    Attempt, Deterministic, ErrorReport, File, GraderOutcome, Program, PythonTests, ReportUse, ResultWanted,
    TESTS_DIRECTORY,
};
use crate::domain::submission::{Complexity, Grading, ReceiptAsked, Submission, Tests};
use crate::domain::verdict::CaseResult;
use crate::grader::canaries::CanaryFound;
use crate::grader::complexity::ComplexityReport;
use crate::grader::lint::LintReport;
use crate::grader::receipt::{Receipt, sha256};
use crate::http::error::ApiError;
use crate::http::extract::Object;
use crate::policy::ScanReport;
use crate::runtime::image::Image;
use crate::service::{Executed, code_of_completion};

/// `POST /v1/execute`
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecuteRequest {
    /// Python source. Required unless `completion` is given.
    code: Option<String>,
    /// A model's answer: the code is taken out of it (fenced, unfinished fence, bare).
    completion: Option<String>,
    #[serde(default)]
    stdin: String,
    /// `sys.argv[1:]`
    #[serde(default)]
    args: Vec<String>,
    /// The whole environment: it is empty but for these.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Files of the working directory, by relative path.
    #[serde(default)]
    files: BTreeMap<String, FileContent>,
    /// Globs of the files to return.
    #[serde(default)]
    fetch_files: Vec<String>,
    /// Kept as it came: its kind says how it is to be read.
    #[schema(value_type = Option<super::tests::TestsRequest>)]
    tests: Option<Json>,
    /// Where Python tests run; the policy's default where it is left out.
    grading: Option<GradingRequest>,
    /// How much is told; the policy's default where it is left out.
    visibility: Option<Visibility>,
    /// Name of a policy pack.
    #[serde(default = "default_policy")]
    policy: String,
    #[serde(default)]
    #[schema(value_type = LimitsRequest)]
    limits: Object<LimitsRequest>,
    #[schema(value_type = Option<DeterministicRequest>)]
    deterministic: Option<Object<DeterministicRequest>>,
    #[serde(default = "one")]
    #[schema(minimum = 1, maximum = 100)]
    repeat: u32,
    #[schema(value_type = Option<ComplexityRequest>)]
    complexity: Option<Object<ComplexityRequest>>,
    /// Have Ruff's default rules look at the snippet.
    #[serde(default)]
    lint: bool,
    /// Sign the verdict.
    #[serde(default)]
    receipt: bool,
    result: Option<ResultRequest>,
    /// Uses that are to be counted in `boundary.attempts`.
    #[serde(default)]
    report_use: Vec<UseRequest>,
    /// Strings that must not appear in any output. Kept as they came: what is wrong with them is told without them.
    #[schema(value_type = Vec<String>, max_items = 32)]
    canaries: Option<Json>,
    /// Given back with the answer.
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

/// The pack of a request that names none.
pub fn default_policy() -> String {
    "default".to_owned()
}

fn one() -> u32 {
    1
}

/// Text, or bytes in base64.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(untagged, expecting = "a file is a string, or {\"base64\": string}")]
pub enum FileContent {
    /// UTF-8
    Text(String),
    /// Any bytes
    Bytes(Base64Content),
}

/// Bytes in base64.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Base64Content {
    base64: String,
}

/// Where Python tests run: in an interpreter of their own; in the candidate's; or the first, and the second where the
/// tests want what the first can't give (mocking inside the candidate, for example).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum GradingRequest {
    Isolated,
    InProcess,
    Auto,
}

impl From<GradingRequest> for Grading {
    fn from(asked: GradingRequest) -> Self {
        match asked {
            GradingRequest::Isolated => Self::Isolated,
            GradingRequest::InProcess => Self::InProcess,
            GradingRequest::Auto => Self::Auto,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Visibility {
    Full,
    /// Cases come back without names and messages, the rest without what was printed and returned.
    Hidden,
}

/// What every program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum UseRequest {
    /// Clocks and sleep.
    Time,
    /// Random bytes.
    Entropy,
}

/// How fuel grows with the size of the input.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ComplexityRequest {
    /// Defines `generate(n)`, which returns the function's arguments for size n, as a tuple.
    generator: String,
    entry_point: String,
    /// Ascending sizes, or one, of which n, 2n and 4n are taken.
    sizes: Vec<u64>,
}

const MOST_REPEATS: u32 = 100;
const MOST_SIZES: usize = 16;
const LARGEST_SIZE: u64 = 1_000_000_000;

fn complexity_of(Object(request): Object<ComplexityRequest>) -> Result<Complexity, ApiError> {
    let mut sizes = request.sizes;
    if let [n] = sizes[..] {
        sizes = vec![n, n.saturating_mul(2), n.saturating_mul(4)];
    }
    let fine = (1..=MOST_SIZES).contains(&sizes.len())
        && sizes.iter().all(|size| (1..=LARGEST_SIZE).contains(size))
        && sizes.is_sorted_by(|a, b| a < b);
    if !fine {
        let message = format!("1 to {MOST_SIZES} ascending sizes from 1 to {LARGEST_SIZE}");
        return Err(ApiError::meaningless("complexity.sizes", message));
    }
    Ok(Complexity { generator: request.generator, entry_point: request.entry_point, sizes })
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LimitsRequest {
    fuel: Option<u64>,
    wall_seconds: Option<f64>,
    memory_bytes: Option<u64>,
    output_bytes: Option<u64>,
    files_bytes: Option<u64>,
    files_count: Option<u64>,
}

/// Seeded randomness, and a clock that runs on fuel: sleep costs no wall time.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct DeterministicRequest {
    #[serde(default)]
    seed: u64,
    /// RFC 3339
    #[serde(default = "default_start_time")]
    #[schema(format = DateTime)]
    start_time: String,
}

fn default_start_time() -> String {
    "2026-01-01T00:00:00Z".to_owned()
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "result is \"last_expression\" or {\"variable\": name}")]
enum ResultRequest {
    Word(ResultWord),
    Variable(ResultVariable),
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ResultWord {
    LastExpression,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ResultVariable {
    variable: String,
}

/// What a request asks, in the service's words.
///
/// # Errors
/// The first field that has no meaning.
pub fn submission_of(request: ExecuteRequest) -> Result<Submission, ApiError> {
    if !(1..=MOST_REPEATS).contains(&request.repeat) {
        return Err(ApiError::meaningless("repeat", format!("it must be from 1 to {MOST_REPEATS}")));
    }
    let receipt = request.receipt.then(|| ReceiptAsked {
        tests_sha256: request.tests.as_ref().map(|tests| sha256(canonical(tests).as_bytes())),
    });
    let tests = request.tests.map(tests_of).transpose()?;
    let entry_point = match &tests {
        Some(Tests::Python { tests: PythonTests::CheckFunction { entry_point, .. }, .. }) => Some(entry_point.as_str()),
        _ => None,
    };
    let (code, code_field) = match (request.code, request.completion) {
        (Some(code), None) => (code, "code"),
        (None, Some(completion)) => (code_of_completion(&completion, entry_point), "completion"),
        (Some(_), Some(_)) => {
            return Err(ApiError::meaningless("completion", "give either `code` or `completion`, not both"));
        }
        // An evaluator may have nothing to do with code.
        (None, None) if matches!(tests, Some(Tests::Python { tests: PythonTests::Evaluator(_), .. })) => {
            (String::new(), "code")
        }
        (None, None) => {
            return Err(ApiError::malformed(Some("code".to_owned()), "missing field `code` (or `completion`)"));
        }
    };
    for (name, value) in &request.env {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(ApiError::meaningless(
                format!("env.{name}"),
                "a name is not empty and has no `=`; neither name nor value has a NUL",
            ));
        }
    }
    let result = request.result.map(|result| match result {
        ResultRequest::Word(ResultWord::LastExpression) => ResultWanted::LastExpression,
        ResultRequest::Variable(wanted) => ResultWanted::Variable(wanted.variable),
    });
    let Object(limits) = request.limits;
    Ok(Submission {
        code_field,
        program: Program {
            code,
            args: request.args,
            stdin: request.stdin.into_bytes(),
            env: request.env.into_iter().collect(),
            files: request.files.into_iter().map(candidates_file).collect::<Result<_, _>>()?,
            fetch_files: request.fetch_files,
            result,
            tests: None,
            isolated: false,
            module: None,
            test_files: Vec::new(),
            deterministic: request.deterministic.map(|Object(wanted)| deterministic_of(wanted)).transpose()?,
            report_use: ReportUse {
                time: request.report_use.contains(&UseRequest::Time),
                entropy: request.report_use.contains(&UseRequest::Entropy),
            },
        },
        tests,
        grading: request.grading.map(Grading::from),
        hidden: request.visibility.map(|visibility| visibility == Visibility::Hidden),
        repeat: request.repeat,
        complexity: request.complexity.map(complexity_of).transpose()?,
        policy: request.policy,
        limits: AskedLimits {
            fuel: limits.fuel,
            wall_seconds: limits.wall_seconds,
            memory_bytes: limits.memory_bytes,
            output_bytes: limits.output_bytes,
            files_bytes: limits.files_bytes,
            files_count: limits.files_count,
        },
        labels: request.labels,
        lint: request.lint,
        receipt,
        canaries: request.canaries.map_or(Ok(Vec::new()), canaries_of)?,
    })
}

fn canaries_of(list: Json) -> Result<Vec<Canary>, ApiError> {
    let Json::Array(list) = list else {
        return Err(ApiError::malformed(Some("canaries".to_owned()), "it must be a list of strings"));
    };
    if list.len() > Canary::MOST {
        return Err(ApiError::meaningless("canaries", format!("there may be at most {}", Canary::MOST)));
    }
    let canary = |(index, text)| {
        let field = format!("canaries[{index}]");
        let Json::String(text) = text else { return Err(ApiError::malformed(Some(field), "it must be a string")) };
        let lengths = format!("it must have {} to {} bytes", Canary::SHORTEST, Canary::LONGEST);
        Canary::new(text).ok_or_else(|| ApiError::meaningless(field, lengths))
    };
    list.into_iter().enumerate().map(canary).collect()
}

/// A file of the candidate's: not where the tests import their own from.
fn candidates_file(file: (String, FileContent)) -> Result<File, ApiError> {
    let mut place = vec!["home", "user"];
    if file.0.starts_with('/') {
        place.clear();
    }
    for part in file.0.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            place.pop();
        } else {
            place.push(part);
        }
    }
    if place.first() == Some(&TESTS_DIRECTORY) {
        return Err(ApiError::meaningless(format!("files.{}", file.0), "this directory belongs to the tests"));
    }
    file_of("files", file)
}

/// A file of the request, which stands in the field `of`.
///
/// # Errors
/// When it is not base64.
pub fn file_of(of: &str, (path, content): (String, FileContent)) -> Result<File, ApiError> {
    let content = match content {
        FileContent::Text(text) => text.into_bytes(),
        FileContent::Bytes(bytes) => BASE64.decode(&bytes.base64).map_err(|error| {
            ApiError::malformed(Some(format!("{of}.{path}.base64")), format!("not base64: {error}"))
        })?,
    };
    Ok(File { path, content })
}

fn deterministic_of(request: DeterministicRequest) -> Result<Deterministic, ApiError> {
    let field = "deterministic.start_time";
    let time: jiff::Timestamp = request
        .start_time
        .parse()
        .map_err(|error| ApiError::malformed(Some(field.to_owned()), format!("not an RFC 3339 time: {error}")))?;
    let nanoseconds = u64::try_from(time.as_nanosecond())
        .map_err(|_| ApiError::meaningless(field, "it must lie between 1970 and 2554"))?;
    Ok(Deterministic { seed: request.seed, start_time_nanoseconds: nanoseconds })
}

/// The answer to `POST /v1/execute`.
#[derive(Debug, Serialize, ToSchema)]
pub struct Answer {
    id: String,
    #[schema(example = "passed")]
    status: &'static str,
    /// What a shell would see.
    exit_code: i32,
    #[schema(example = "none")]
    stderr_class: &'static str,
    tests_passed: usize,
    tests_total: usize,
    /// CPU time and sleep of the guest.
    execution_seconds: f64,
    /// Waiting for a place and for a core; never counts against the snippet.
    queue_seconds: f64,
    /// CPU time of the guest.
    cpu_seconds: f64,
    fuel_used: u64,
    peak_memory_bytes: u64,
    stdout: String,
    stderr: String,
    /// Written in all, kept or not.
    stdout_bytes: u64,
    stderr_bytes: u64,
    stdout_truncated: bool,
    stderr_truncated: bool,
    /// Tagged JSON: docs/API.md.
    result: Json,
    error: Option<ErrorAnswer>,
    /// The snippet parsed and imported.
    compiled: bool,
    cases: Vec<CaseAnswer>,
    /// What the policy's gate says of the snippet.
    policy: ScanReport,
    boundary: BoundaryAnswer,
    integrity: IntegrityAnswer,
    /// Where it was asked for.
    lint: Option<LintReport>,
    /// Cases that did not always end the same, when the grading is repeated.
    flaky: Vec<String>,
    /// Where that was asked.
    complexity: Option<ComplexityReport>,
    /// What an evaluator found: score, passed, reason. Tagged JSON.
    evaluation: Json,
    /// The interpreter of the tests, where they had one of their own; all other figures are the candidate's.
    grader: Option<GraderAnswer>,
    files: BTreeMap<String, Base64Content>,
    /// Why the files could not be returned, where they could not.
    files_error: Option<String>,
    limits: LimitsInForce,
    runtime: RuntimeAnswer,
    labels: BTreeMap<String, String>,
    /// The signed verdict, where one was asked for.
    receipt: Option<Receipt>,
}

#[derive(Debug, Serialize, ToSchema)]
struct ErrorAnswer {
    class: &'static str,
    /// Name of the Python type.
    #[serde(rename = "type")]
    type_name: String,
    message: String,
    /// The same for the same failure, whatever values are in its message: a loop of one error shows.
    fingerprint: String,
    /// Line of the snippet.
    line: Option<u32>,
    traceback: Vec<FrameAnswer>,
}

#[derive(Debug, Serialize, ToSchema)]
struct FrameAnswer {
    file: String,
    line: u32,
    function: String,
    source: String,
}

/// What the tests cost and printed.
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
    /// Attempts beyond those that are kept.
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
}

/// Limits, each in its unit.
#[derive(Debug, Serialize, ToSchema)]
pub struct LimitsInForce {
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

#[derive(Debug, Serialize, ToSchema)]
struct RuntimeAnswer {
    image_hash: String,
    python: String,
    packages_hash: String,
}

/// An error of the service itself.
#[derive(Serialize, ToSchema)]
pub struct ErrorBody {
    error: ErrorFields,
}

#[derive(Serialize, ToSchema)]
struct ErrorFields {
    /// Stable.
    code: String,
    message: String,
    /// The field of the request that it is about.
    field: Option<String>,
    asked: Option<f64>,
    allowed: Option<f64>,
}

/// The answer on the wire.
pub fn answer_of(executed: Executed, image: &Image, labels: BTreeMap<String, String>) -> Answer {
    let Executed {
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
        scan,
        flaky,
        complexity,
        evaluation,
        grader,
        lint,
        receipt,
    } = executed;
    let passed = verdict.passed();
    Answer {
        id: id.to_string(),
        status: verdict.status.word(),
        exit_code: verdict.exit_code,
        stderr_class: verdict.class.word(),
        tests_passed: passed,
        tests_total: verdict.total(),
        execution_seconds: cost.execution.as_secs_f64(),
        queue_seconds: cost.queue.as_secs_f64(),
        cpu_seconds: cost.cpu.as_secs_f64(),
        fuel_used: cost.fuel,
        peak_memory_bytes: cost.peak_memory_bytes,
        stdout_bytes: stdout.total_bytes,
        stderr_bytes: stderr.total_bytes,
        stdout_truncated: stdout.truncated(),
        stderr_truncated: stderr.truncated(),
        stdout: stdout.text(),
        stderr: stderr.text(),
        result: result.map_or(Json::Null, |value| value.to_json()),
        error: verdict.error.map(error_answer),
        compiled: verdict.compiled,
        cases: verdict.cases.into_iter().map(case_answer).collect(),
        policy: scan.unwrap_or_else(|| ScanReport::nothing(policy)),
        boundary: BoundaryAnswer {
            attempts: attempts.into_iter().map(attempt_answer).collect(),
            dropped: attempts_dropped,
            canaries,
        },
        integrity: IntegrityAnswer {
            level: verdict.integrity.level.word(),
            planned: verdict.integrity.planned,
            reported: verdict.integrity.reported,
            signals: verdict.integrity.signals,
        },
        lint,
        flaky,
        complexity,
        evaluation: evaluation.map_or(Json::Null, |value| value.to_json()),
        grader: grader.map(grader_answer),
        files: files
            .into_iter()
            .map(|file| (file.path, Base64Content { base64: BASE64.encode(file.content) }))
            .collect(),
        files_error,
        limits: (&limits).into(),
        runtime: RuntimeAnswer {
            image_hash: image.image_hash.clone(),
            python: image.python.clone(),
            packages_hash: image.packages_hash.clone(),
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
    let frame = |frame: crate::domain::run::Frame| FrameAnswer {
        file: frame.file,
        line: frame.line,
        function: frame.function,
        source: frame.source,
    };
    ErrorAnswer {
        fingerprint: crate::grader::fingerprint(&error),
        class: error.class.word(),
        type_name: error.type_name,
        message: error.message,
        line: error.line,
        traceback: error.traceback.into_iter().map(frame).collect(),
    }
}

fn case_answer(case: CaseResult) -> CaseAnswer {
    CaseAnswer {
        name: case.name,
        status: case.status.word(),
        execution_seconds: case.execution.as_secs_f64(),
        fuel_used: case.fuel_used,
        stderr_class: case.class.word(),
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
