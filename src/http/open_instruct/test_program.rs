//! `POST /test_program` and `POST /test_program_stdio`: verdicts on a program, test by test. Every test is a run of its
//! own, with a time limit of its own.

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::test_list::{case, list, source};
use crate::http::AppState;
use crate::http::body::BodyReader;
use crate::http::programs::{
    DetailError, Failure, ProgramLimits, ReadBody, Run, TimeLimit, answer, part, read, time_used,
};
use proofbox_types::caller::Caller;
use proofbox_types::program::{Program, PythonTests};
use proofbox_types::status::{FailureClass, IntegrityLevel, Status};
use proofbox_types::submission::{Compare, Grading, Tests};

/// Time limit of a request that names none, in seconds.
const DEFAULT_TIME: f64 = 1.0;
/// Tests of a request that run at once: one request must not fill the queue by itself.
const TESTS_AT_ONCE: usize = 4;
/// Runtime of a test that has not run to its end, in seconds.
const NO_RUNTIME: f64 = -1.0;
/// Imports that open-instruct puts before programs that read standard input.
const PRELUDE: &str = include_str!("prelude.py");

#[derive(Deserialize)]
struct TestRequest {
    program: String,
    #[serde(default)]
    tests: Value,
    #[serde(default)]
    max_execution_time: Option<f64>,
}

/// Answer to both requests.
#[derive(Debug, Serialize)]
struct TestAnswer {
    /// 1 for each test that passed, else 0.
    results: Vec<u8>,
    /// Time that each test took, in seconds; [`NO_RUNTIME`] for those that have not run to their end.
    runtimes: Vec<f64>,
    /// Facts that open-instruct's protocol has no field for.
    proofbox: Facts,
}

#[derive(Debug, Serialize)]
struct Facts {
    /// Weakest separation of a test from the program.
    grading: &'static str,
    /// Whether the program could have forged a result.
    forgeable: bool,
    /// Signals of all runs, once each.
    signals: Vec<String>,
    /// Failure class of each test.
    stderr_classes: Vec<&'static str>,
}

/// Result of a test.
struct Tested {
    passed: bool,
    runtime: f64,
    level: IntegrityLevel,
    signals: Vec<String>,
    class: &'static str,
}

/// Kind of the tests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Python statements on the program's names.
    Statements,
    /// Input and expected output.
    InputOutput,
}

/// Runs Python statements on the names of a program.
pub(super) async fn test_program(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    answer_as(Kind::Statements, shared, caller, request).await
}

/// Compares the output of a program with the expected one.
pub(super) async fn test_program_stdio(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    answer_as(Kind::InputOutput, shared, caller, request).await
}

async fn answer_as(kind: Kind, shared: AppState, caller: Caller, request: Request) -> Response {
    let work = async move { graded(kind, &shared, &caller, request).await.map_err(DetailError::from) };
    // That is no result, so nobody takes it for one.
    answer(work, |error| error.to_json()).await
}

async fn graded(kind: Kind, shared: &AppState, caller: &Caller, request: Request) -> Result<TestAnswer, Failure> {
    let reader = BodyReader::of(request.extensions())?;
    let ReadBody { body: TestRequest { program, tests, max_execution_time }, digest, arrived } = read(request).await?;
    let seconds = max_execution_time.unwrap_or(DEFAULT_TIME);
    let (code, seconds) = match kind {
        Kind::Statements => (program, seconds),
        // As open-instruct rounds it.
        Kind::InputOutput => (format!("{PRELUDE}\n{program}"), seconds.ceil()),
    };
    let time = TimeLimit::seconds(seconds);
    let tests: Vec<_> =
        list(tests, &reader).await?.into_iter().map(|test| kind.tests(test)).collect::<Result<_, _>>()?;
    let runs = tests.into_iter().enumerate().map(|(index, tests)| {
        let run = Run {
            program: Program { code: code.clone(), ..Program::default() },
            tests: Some((tests, Grading::Auto)),
            limits: ProgramLimits { time, cpu: None, memory_bytes: None },
            request: part(digest, index),
            arrived,
        };
        tested(run, shared, caller)
    });
    let tested: Vec<_> = stream::iter(runs).buffered(TESTS_AT_ONCE).try_collect().await?;
    Ok(TestAnswer::of(kind, tested))
}

async fn tested(run: Run, shared: &AppState, caller: &Caller) -> Result<Tested, Failure> {
    let time = run.limits.time;
    let execution = run.execute(shared, caller).await?;
    let is_late = time.is_exceeded_by(&execution);
    let verdict = &execution.verdict;
    let passed = verdict.status == Status::Passed && !is_late;
    // What was compared has run to its end, whatever it printed.
    let has_ended = passed || (verdict.class == FailureClass::AssertionFailure && !is_late);
    Ok(Tested {
        passed,
        runtime: if has_ended { time_used(&execution).as_secs_f64() } else { NO_RUNTIME },
        level: verdict.integrity.level,
        signals: verdict.integrity.signals.clone(),
        class: if is_late { FailureClass::Timeout.as_str() } else { verdict.class.as_str() },
    })
}

impl Kind {
    fn tests(self, test: Value) -> Result<Tests, Failure> {
        Ok(match self {
            Self::Statements => Tests::Python {
                tests: PythonTests::Script { source: source(test)? },
                module: None,
                files: Vec::new(),
                expected: Vec::new(),
            },
            Self::InputOutput => Tests::StdinStdout { cases: vec![case(test)?], compare: Compare::DecimalLines },
        })
    }
}

impl TestAnswer {
    fn of(kind: Kind, tested: Vec<Tested>) -> Self {
        let forgeable = tested.iter().any(|test| test.level != IntegrityLevel::Isolated);
        let mut signals: Vec<String> = tested.iter().flat_map(|test| test.signals.iter().cloned()).collect();
        signals.sort_unstable();
        signals.dedup();
        let grading = match (kind, forgeable) {
            (Kind::InputOutput, _) => "outputs_compared",
            (Kind::Statements, false) => "isolated",
            (Kind::Statements, true) => "in_process",
        };
        Self {
            results: tested.iter().map(|test| u8::from(test.passed)).collect(),
            runtimes: tested
                .iter()
                // Python statements that fail have no runtime.
                .map(|test| if test.passed || kind == Kind::InputOutput { test.runtime } else { NO_RUNTIME })
                .collect(),
            proofbox: Facts {
                grading,
                forgeable,
                signals,
                stderr_classes: tested.iter().map(|test| test.class).collect(),
            },
        }
    }
}
