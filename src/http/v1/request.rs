//! Requests of the contract, and their translation to the domain's types.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value as Json;
use utoipa::ToSchema;

use super::completion::{Snippet, entry_points};
use super::files::{FileContent, candidates_file};
use super::tests::tests_of;
use crate::http::error::ApiError;
use crate::http::extract::Object;
use proofbox_grading::receipt::sha256;
use proofbox_types::canary::Canary;
use proofbox_types::canonical_json::to_canonical_json;
use proofbox_types::grant::AskedLimits;
use proofbox_types::program::{CommandAccess, Deterministic, Program, PythonTests, ReportUse, ResultWanted};
use proofbox_types::submission::{Complexity, Grading, ReceiptAsked, Submission, Tests};

/// Body of `POST /v1/execute`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExecuteRequest {
    /// Python source. Required unless `completion` is given.
    code: Option<String>,
    /// A model's answer: the code is taken out of it (fenced, tagged, bare, inline).
    completion: Option<String>,
    /// Python source that stands before the snippet, as the imports that a benchmark's harness puts there.
    #[serde(default)]
    prelude: String,
    #[serde(default)]
    stdin: String,
    /// Arguments of the program, `sys.argv[1:]`.
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
    /// Tests, parsed later: their kind decides how.
    #[schema(value_type = Option<super::tests::TestsRequest>)]
    tests: Option<Json>,
    /// Grading of Python tests; if absent, the policy's default.
    grading: Option<GradingRequest>,
    /// Level of detail of the answer; if absent, the policy's default.
    visibility: Option<Visibility>,
    /// Name of a policy pack.
    #[serde(default = "default_policy")]
    policy: String,
    /// Name or hash of an image; `GET /v1/runtime` lists them. `auto`, or absent: the smallest image that has all modules
    /// which the code, its files and its tests import.
    image: Option<String>,
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
    /// Set to have Ruff's default rules check the snippet.
    #[serde(default)]
    lint: bool,
    /// Set to have the verdict signed.
    #[serde(default)]
    receipt: bool,
    result: Option<ResultRequest>,
    /// Uses that are to be counted in `boundary.attempts`.
    #[serde(default)]
    report_use: Vec<UseRequest>,
    /// Strings that must not appear in any output. Parsed later, so that errors do not quote them.
    #[schema(value_type = Vec<String>, max_items = 32)]
    canaries: Option<Json>,
    /// Labels, returned with the answer.
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

/// Body of `POST /v1/sessions/{id}/grade`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GradeRequest {
    /// Path of the file under test, relative to `/home/user`.
    #[serde(default = "default_path")]
    path: String,
    /// Tests, parsed later: their kind decides how. Required.
    #[schema(value_type = Option<super::tests::TestsRequest>)]
    tests: Option<Json>,
    /// Grading of Python tests; if absent, the policy's default.
    grading: Option<GradingRequest>,
    /// Level of detail of the answer; if absent, the policy's default.
    visibility: Option<Visibility>,
    /// Name of a policy pack; if absent, the session's.
    policy: Option<String>,
    #[serde(default)]
    #[schema(value_type = LimitsRequest)]
    limits: Object<LimitsRequest>,
    #[schema(value_type = Option<DeterministicRequest>)]
    deterministic: Option<Object<DeterministicRequest>>,
    /// Set to have Ruff's default rules check the file.
    #[serde(default)]
    lint: bool,
    /// Set to have the verdict signed.
    #[serde(default)]
    receipt: bool,
    /// Labels, returned with the answer.
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

fn default_path() -> String {
    "solution.py".to_owned()
}

/// Grading of a session's file: its path, and the submission without code and files; its policy is empty where the
/// session's is meant.
pub(super) struct GradeAsked {
    /// Path of the file under test, relative to the working directory.
    pub path: String,
    /// Submission without code and files.
    pub submission: Submission,
}

/// Translates a request to grade a session's file.
///
/// # Errors
/// Returns an error that names the first field that has no meaning.
pub(super) fn grade_of(request: GradeRequest) -> Result<GradeAsked, ApiError> {
    let path = request.path.strip_prefix("/home/user/").unwrap_or(&request.path).trim_start_matches("./").to_owned();
    let Some(mut tests) = request.tests else {
        return Err(ApiError::malformed(Some("tests".to_owned()), "missing field `tests`"));
    };
    // Tests import the file by its own name.
    if let Some(module) = path.strip_suffix(".py").map(|path| path.replace('/', "."))
        && let Json::Object(fields) = &mut tests
        && fields.get("kind").is_some_and(|kind| kind == "pytest" || kind == "unittest")
    {
        fields.entry("module").or_insert(Json::String(module));
    }
    let submission = submission_of(ExecuteRequest {
        code: Some(String::new()),
        completion: None,
        prelude: String::new(),
        stdin: String::new(),
        args: Vec::new(),
        env: BTreeMap::new(),
        files: BTreeMap::new(),
        fetch_files: Vec::new(),
        tests: Some(tests),
        grading: request.grading,
        visibility: request.visibility,
        policy: request.policy.unwrap_or_default(),
        image: None,
        limits: request.limits,
        deterministic: request.deterministic,
        repeat: one(),
        complexity: None,
        lint: request.lint,
        receipt: request.receipt,
        result: None,
        report_use: Vec::new(),
        canaries: None,
        labels: request.labels,
    })?;
    Ok(GradeAsked { path, submission })
}

/// The pack of a request that names none.
pub(super) fn default_policy() -> String {
    "default".to_owned()
}

fn one() -> u32 {
    1
}

/// Interpreter of Python tests: one of their own (`isolated`); the candidate's (`in_process`); or `auto`, the first,
/// and the second where the tests need what the first can't give (mocking inside the candidate, for example).
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

/// Facility that every program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum UseRequest {
    /// Reading of clocks, and sleep.
    Time,
    /// Reading of random bytes.
    Entropy,
}

/// Measurement of how fuel grows with the size of the input.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ComplexityRequest {
    /// Defines `generate(n)`, which returns the function's arguments for size n, as a tuple.
    generator: String,
    entry_point: String,
    /// Ascending sizes, or one, of which n, 2n and 4n are taken.
    sizes: Vec<u64>,
}

const MAX_REPEATS: u32 = 100;
const MAX_SIZES: usize = 16;
const LARGEST_SIZE: u64 = 1_000_000_000;

fn complexity_of(Object(request): Object<ComplexityRequest>) -> Result<Complexity, ApiError> {
    let mut sizes = request.sizes;
    if let [n] = sizes[..] {
        sizes = vec![n, n.saturating_mul(2), n.saturating_mul(4)];
    }
    let fine = (1..=MAX_SIZES).contains(&sizes.len())
        && sizes.iter().all(|size| (1..=LARGEST_SIZE).contains(size))
        && sizes.is_sorted_by(|a, b| a < b);
    if !fine {
        let message = format!("1 to {MAX_SIZES} ascending sizes from 1 to {LARGEST_SIZE}");
        return Err(ApiError::meaningless("complexity.sizes", message));
    }
    Ok(Complexity { generator: request.generator, entry_point: request.entry_point, sizes })
}

/// Limits other than the policy's.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitsRequest {
    pub(super) fuel: Option<u64>,
    pub(super) wall_seconds: Option<f64>,
    pub(super) memory_bytes: Option<u64>,
    pub(super) output_bytes: Option<u64>,
    pub(super) files_bytes: Option<u64>,
    pub(super) files_count: Option<u64>,
}

impl From<LimitsRequest> for AskedLimits {
    fn from(asked: LimitsRequest) -> Self {
        Self {
            fuel: asked.fuel,
            wall_seconds: asked.wall_seconds,
            memory_bytes: asked.memory_bytes,
            output_bytes: asked.output_bytes,
            files_bytes: asked.files_bytes,
            files_count: asked.files_count,
        }
    }
}

/// Seeded randomness, and a clock that runs on fuel: sleep costs no wall time.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct DeterministicRequest {
    #[serde(default)]
    seed: u64,
    /// Start of the clock, RFC 3339.
    #[serde(default = "default_start_time")]
    #[schema(format = DateTime)]
    start_time: String,
}

fn default_start_time() -> String {
    "2026-01-01T00:00:00Z".to_owned()
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "result is \"last_expression\" or {\"variable\": name}")]
/// Value to return.
pub enum ResultRequest {
    /// Value of the last statement, when it is an expression.
    Word(ResultWord),
    /// Value of a global variable.
    Variable(ResultVariable),
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
/// Keyword for the value to return.
pub enum ResultWord {
    /// Value of the last statement.
    LastExpression,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
/// Name of a global variable.
pub struct ResultVariable {
    variable: String,
}

impl From<ResultRequest> for ResultWanted {
    fn from(asked: ResultRequest) -> Self {
        match asked {
            ResultRequest::Word(ResultWord::LastExpression) => Self::LastExpression,
            ResultRequest::Variable(wanted) => Self::Variable(wanted.variable),
        }
    }
}

/// Translates a request to a submission.
///
/// # Errors
/// Returns an error that names the first field that has no meaning.
pub(crate) fn submission_of(request: ExecuteRequest) -> Result<Submission, ApiError> {
    if !(1..=MAX_REPEATS).contains(&request.repeat) {
        return Err(ApiError::meaningless("repeat", format!("it must be from 1 to {MAX_REPEATS}")));
    }
    let receipt = request.receipt.then(|| ReceiptAsked {
        tests_sha256: request.tests.as_ref().map(|tests| sha256(to_canonical_json(tests).as_bytes())),
    });
    let tests = request.tests.map(tests_of).transpose()?;
    let entry_points = match (&tests, &request.completion) {
        (Some(tests), Some(_)) => entry_points(tests),
        _ => Vec::new(),
    };
    let snippet = match Snippet::of(request.code, request.completion.as_deref(), &entry_points)? {
        Some(snippet) => snippet,
        // An evaluator may have nothing to do with code.
        None if matches!(tests, Some(Tests::Python { tests: PythonTests::Evaluator(_), .. })) => {
            Snippet { code: String::new(), field: "code", completion: None }
        }
        None => return Err(Snippet::missing()),
    };
    let code = match request.prelude.as_str() {
        "" => snippet.code,
        prelude => format!("{prelude}\n{}", snippet.code),
    };
    checked_env(&request.env)?;
    let result = request.result.map(ResultWanted::from);
    let Object(limits) = request.limits;
    Ok(Submission {
        code_field: snippet.field,
        completion: snippet.completion,
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
            commands: CommandAccess::default(),
            image: None,
        },
        tests,
        grading: request.grading.map(Grading::from),
        hidden: request.visibility.map(|visibility| visibility == Visibility::Hidden),
        repeat: request.repeat,
        complexity: request.complexity.map(complexity_of).transpose()?,
        policy: request.policy,
        image: request.image,
        limits: limits.into(),
        labels: request.labels,
        lint: request.lint,
        receipt,
        canaries: request.canaries.map_or(Ok(Vec::new()), canaries_of)?,
    })
}

/// Variables that an environment can have.
///
/// # Errors
/// Returns an error that names the first that can't be one.
pub(super) fn checked_env(env: &BTreeMap<String, String>) -> Result<(), ApiError> {
    for (name, value) in env {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(ApiError::meaningless(
                format!("env.{name}"),
                "a name is not empty and has no `=`; neither name nor value has a NUL",
            ));
        }
    }
    Ok(())
}

fn canaries_of(list: Json) -> Result<Vec<Canary>, ApiError> {
    let Json::Array(list) = list else {
        return Err(ApiError::malformed(Some("canaries".to_owned()), "it must be a list of strings"));
    };
    if list.len() > Canary::MAX_COUNT {
        return Err(ApiError::meaningless("canaries", format!("there may be at most {}", Canary::MAX_COUNT)));
    }
    let canary = |(index, text)| {
        let field = format!("canaries[{index}]");
        let Json::String(text) = text else { return Err(ApiError::malformed(Some(field), "it must be a string")) };
        let lengths = format!("it must have {} to {} bytes", Canary::SHORTEST, Canary::MAX_LENGTH);
        Canary::new(text).ok_or_else(|| ApiError::meaningless(field, lengths))
    };
    list.into_iter().enumerate().map(canary).collect()
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
