//! `run_tests` and `scan_code`.

use std::collections::BTreeMap;

use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, files_of, relative};
use crate::http::error::ApiError;
use crate::http::mcp::call::{Call, Doing, ToolError};
use crate::http::mcp::text::{MAX_MESSAGE_BYTES, cut, stream};
use crate::service::{Execution, GradeError};
use proofbox_completion::contains_code;
use proofbox_types::caller::Urgency;
use proofbox_types::grant::AskedLimits;
use proofbox_types::program::{File, Program, PythonTests, TestFiles};
use proofbox_types::status::{CaseStatus, Status};
use proofbox_types::submission::{Grading, Submission, Tests};
use proofbox_types::verdict::CaseResult;

/// Cases in one result; beyond it those that passed are left out first.
const MAX_CASES: usize = 100;
/// Findings in one result.
const MAX_FINDINGS: usize = 50;
/// Module under which tests import `code`.
const MODULE: &str = "solution";

/// Arguments of `run_tests`.
#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct TestsArguments {
    /// Python source under test; tests import it as `solution`. Give this or `session`.
    code: Option<String>,
    /// Id from open_session: the file at `path` is graded, beside copies of the session's other files.
    session: Option<String>,
    /// File under test in the session, relative to /home/user; tests import it by its own name. `solution.py` if absent.
    path: Option<String>,
    /// Source of the tests; for `asserts` one assert statement a line. Not needed for `doctest`.
    #[serde(default)]
    tests: String,
    /// Kind of the tests.
    #[serde(default)]
    kind: Kind,
    /// Text files beside `code`, by path relative to /home/user.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// Limit on CPU time and sleep, in seconds.
    timeout: Option<f64>,
}

/// Kind of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
    Pytest,
    Unittest,
    Asserts,
    Doctest,
}

/// Result of `run_tests`.
#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct TestsResult {
    /// `passed` only if every case passed; `failed`; `blocked` when the service's policy refused to run the code.
    status: &'static str,
    /// Number of cases that passed.
    passed: usize,
    /// Number of all cases.
    total: usize,
    /// Kind of the first failure, `none` without one.
    failure_class: &'static str,
    /// Cases; where there are too many, those that failed.
    cases: Vec<TestCase>,
    /// Number of cases that are left out.
    cases_left_out: usize,
    /// Reason why the code or the tests could not be loaded.
    error: Option<String>,
    stdout: String,
    stderr: String,
    /// Signs that the code tries to pass without being right.
    signals: Vec<String>,
    execution_seconds: f64,
}

/// Case of tests.
#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct TestCase {
    name: String,
    /// `passed`, `failed`, `error`, `skipped` or `not_run`.
    status: &'static str,
    /// Reason why it did not pass.
    message: Option<String>,
}

/// Arguments of `scan_code`.
#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct ScanArguments {
    /// Python source.
    code: String,
    /// Name of the service's policy; `default` if absent.
    policy: Option<String>,
}

/// Result of `scan_code`.
#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ScanResult {
    /// `allow`, or `block` when the service would not run it.
    decision: &'static str,
    /// True when it parses.
    syntax_ok: bool,
    /// True when there is more than comments and prose.
    contains_code: bool,
    /// Capability that the code reaches for: `network`, `process`, `file_write` and so on.
    capabilities: Vec<String>,
    findings: Vec<ScanFinding>,
    /// Number of findings that are left out.
    findings_left_out: usize,
}

/// Finding of a scan.
#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct ScanFinding {
    scanner: String,
    category: String,
    line: usize,
    /// `flag`, `redact` or `block`.
    action: &'static str,
    /// Matched text, secrets masked.
    matched: String,
    reason: String,
}

fn tests_of(kind: Kind, source: String, module: String) -> Result<Tests, ToolError> {
    if source.trim().is_empty() && kind != Kind::Doctest {
        return Err(ToolError::new("`tests` is empty: give the source of the tests"));
    }
    let files = |source| TestFiles { source: Some(source), test_module: None, fresh_per_case: false, shuffle: None };
    let (tests, module) = match kind {
        Kind::Pytest => (PythonTests::Pytest(files(source)), Some(module)),
        Kind::Unittest => (PythonTests::Unittest(files(source)), Some(module)),
        Kind::Doctest => (PythonTests::Doctest, Some(module)),
        Kind::Asserts => {
            let lines = source.lines().filter(|line| !line.trim().is_empty());
            let asserts = lines.map(str::to_owned).collect();
            (PythonTests::Asserts { setup: String::new(), asserts }, None)
        }
    };
    Ok(Tests::Python { tests, module, files: Vec::new(), expected: Vec::new() })
}

fn submission_of(code: String, files: Vec<File>, tests: Tests, timeout: Option<f64>) -> Submission {
    Submission {
        program: Program { code, files, ..Program::default() },
        code_field: "code",
        completion: None,
        tests: Some(tests),
        grading: Some(Grading::Isolated),
        hidden: None,
        repeat: 1,
        complexity: None,
        policy: String::new(),
        image: None,
        limits: AskedLimits { wall_seconds: timeout, ..AskedLimits::default() },
        labels: BTreeMap::new(),
        lint: false,
        receipt: None,
        canaries: Vec::new(),
    }
}

/// Grades code, or a session's file.
pub(super) async fn tests(call: &Call, arguments: TestsArguments) -> Result<Answer, ToolError> {
    let TestsArguments { code, session, path, tests, kind, files, timeout } = arguments;
    let doing = Doing::new("running the tests");
    let execution = match (code, session) {
        (Some(code), None) => {
            let tests = tests_of(kind, tests, MODULE.to_owned())?;
            let submission =
                Submission { policy: "default".to_owned(), ..submission_of(code, files_of(files)?, tests, timeout) };
            call.run(call.service.executor.submit(&call.caller, Urgency::Interactive, submission), &doing).await?
        }
        (None, Some(session)) => {
            if !files.is_empty() {
                return Err(ToolError::new("`files` goes with `code`: write a session's files with write_file"));
            }
            let id = call.session(&session)?;
            let path = relative(path.unwrap_or_else(|| format!("{MODULE}.py")))?;
            let module = path.strip_suffix(".py").unwrap_or(&path).replace('/', ".");
            let submission = submission_of(String::new(), Vec::new(), tests_of(kind, tests, module)?, timeout);
            let graded = call.service.sessions.grade(&call.caller, id, &path, submission);
            call.run(async { graded.await.map_err(|error: GradeError| ApiError::from(error)) }, &doing).await?
        }
        _ => return Err(ToolError::new("give `code`, or `session` and the `path` of the file under test, not both")),
    };
    call.service.stats.note(&call.caller, &execution, &BTreeMap::new());
    answer_of(execution)
}

fn answer_of(execution: Execution) -> Result<Answer, ToolError> {
    let verdict = execution.verdict;
    if verdict.status == Status::InfrastructureError {
        return Err(ApiError::internal().into());
    }
    let (passed, total) = (verdict.count_passed(), verdict.total());
    let mut cases = verdict.cases;
    let left_out = cases.len().saturating_sub(MAX_CASES);
    if left_out > 0 {
        cases.sort_by_key(|case| case.status == CaseStatus::Passed);
        cases.truncate(MAX_CASES);
    }
    let case = |case: CaseResult| TestCase {
        name: cut(case.name, MAX_MESSAGE_BYTES),
        status: case.status.as_str(),
        message: case.message.map(|message| cut(message, MAX_MESSAGE_BYTES)),
    };
    let error = verdict.error.map(|error| match error.type_name.as_str() {
        "" => cut(error.message, MAX_MESSAGE_BYTES),
        name => cut(format!("{name}: {}", error.message), MAX_MESSAGE_BYTES),
    });
    Answer::new(TestsResult {
        status: verdict.status.as_str(),
        passed,
        total,
        failure_class: verdict.class.as_str(),
        cases: cases.into_iter().map(case).collect(),
        cases_left_out: left_out,
        error,
        stdout: stream(&execution.stdout).0,
        stderr: stream(&execution.stderr).0,
        signals: verdict.integrity.signals,
        execution_seconds: execution.cost.execution.as_secs_f64(),
    })
}

/// Scans code, and runs nothing.
pub(super) async fn scan(call: &Call, arguments: ScanArguments) -> Result<Answer, ToolError> {
    let ScanArguments { code, policy } = arguments;
    let policy = policy.as_deref().unwrap_or("default");
    let scanned =
        call.run(call.service.policy_check.scan(&call.caller, policy, &code, "code"), &Doing::new("scanning")).await?;
    let report = scanned.report;
    let left_out = report.findings_dropped + report.findings.len().saturating_sub(MAX_FINDINGS);
    let findings = report.findings.into_iter().take(MAX_FINDINGS).map(|finding| ScanFinding {
        scanner: finding.scanner.as_str().to_owned(),
        category: finding.category,
        line: finding.line,
        action: finding.action.as_str(),
        matched: cut(finding.matched, MAX_MESSAGE_BYTES),
        reason: finding.reason,
    });
    Answer::new(ScanResult {
        decision: report.decision.as_str(),
        syntax_ok: report.syntax_ok,
        contains_code: contains_code(&code),
        capabilities: report.capabilities.iter().map(|capability| capability.as_str().to_owned()).collect(),
        findings: findings.collect(),
        findings_left_out: left_out,
    })
}
