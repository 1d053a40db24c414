//! `tests`: tests in the contract's form, and their translation to the domain's types.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value as Json;
use utoipa::ToSchema;

use super::files::{FileContent, file_of};
use crate::http::error::ApiError;
use crate::http::extract::{Object, parse_part};
use proofbox_grading::preset;
use proofbox_grading::values::parse_value;
use proofbox_types::program::{Call, Evaluator, File, PythonTests, TestFiles};
use proofbox_types::submission::{Compare, Expected, StdinCase, Tests};
use proofbox_types::value::Value;

/// Tests that grade the snippet. Described here, read by `tests_of`.
#[derive(ToSchema)]
#[schema(as = Tests)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    dead_code,
    reason = "the contract's description; each kind is parsed by itself, so that errors name the field"
)]
pub(super) enum TestsRequest {
    /// Statements, each a case (MBPP).
    Asserts(AssertsRequest),
    /// Function `check(candidate)`, in which each asserting statement is a case (HumanEval).
    CheckFunction(CheckFunctionRequest),
    /// Script with one case: running to the end without an exception.
    Script(ScriptRequest),
    /// Fresh runs of the program, each a case; compared on the host.
    StdinStdout(StdinStdoutRequest),
    /// Calls, each a case; return values are compared on the host (EvalPlus, LiveCodeBench).
    FunctionCases(FunctionCasesRequest),
    /// Files of unittest, in which each test method is a case.
    Unittest(TestFilesRequest),
    /// Files of pytest, in which each collected item is a case.
    Pytest(TestFilesRequest),
    /// Examples in the snippet's docstrings, each a case.
    Doctest(DoctestRequest),
    /// Function that scores the output, as one case.
    Evaluator(EvaluatorRequest),
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AssertsRequest {
    asserts: Vec<String>,
    /// Code that is run once before the statements.
    #[serde(default)]
    setup: String,
    /// Modules and data of the tests, where the candidate is not.
    #[serde(default)]
    files: BTreeMap<String, FileContent>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckFunctionRequest {
    source: String,
    entry_point: String,
    /// Modules and data of the tests, where the candidate is not.
    #[serde(default)]
    files: BTreeMap<String, FileContent>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FunctionCasesRequest {
    /// A function of the snippet, or an expression that gives one: `Solution().add`.
    entry_point: String,
    #[schema(value_type = Vec<FunctionCaseRequest>)]
    cases: Vec<Object<FunctionCaseRequest>>,
    /// Comparison for the cases that give none.
    #[serde(default = "exact")]
    compare: CompareRequest,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FunctionCaseRequest {
    /// Tagged JSON: docs/reference/execute.md.
    #[serde(default)]
    args: Vec<Json>,
    #[serde(default)]
    kwargs: BTreeMap<String, Json>,
    /// Tagged JSON. One of `expected` and `raises` is given.
    #[serde(default, deserialize_with = "present")]
    expected: Option<Json>,
    /// Name of the exception's class, or of one that it derives from.
    raises: Option<String>,
    compare: Option<CompareRequest>,
    name: Option<String>,
}

/// Reads a field that is present: `null` is a value like any other.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

fn exact() -> CompareRequest {
    CompareRequest::Exact
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TestFilesRequest {
    /// Source of a single file of tests. `source` or `files` is given.
    source: Option<String>,
    /// Modules and data of the tests, by relative path, where the candidate is not.
    #[serde(default)]
    files: BTreeMap<String, FileContent>,
    /// Dotted name of the module to load from the files (unittest).
    test_module: Option<String>,
    /// The name under which tests import the snippet.
    #[serde(default = "solution")]
    module: String,
    /// A fresh interpreter of the candidate for each case.
    #[serde(default)]
    fresh_per_case: bool,
    /// Seed for the order of the cases (unittest).
    shuffle: Option<u64>,
}

fn solution() -> String {
    "solution".to_owned()
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DoctestRequest {}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EvaluatorRequest {
    /// Defines `evaluate` or `get_assert`. `source` or `preset` is given.
    source: Option<String>,
    /// Name of a preset, from `GET /v1/evaluators/presets`.
    preset: Option<String>,
    /// `auto`, `v1`, `v2`, `v3`, `testcase`, `get_assert`
    #[serde(default = "auto")]
    interface: String,
    inputs: Option<Json>,
    outputs: Option<Json>,
    output: Option<Json>,
    correct_answer: Option<Json>,
    app_params: Option<Json>,
    testcase: Option<Json>,
    trace: Option<Json>,
    context: Option<Json>,
    /// Score that must be reached to pass.
    threshold: Option<f64>,
}

fn auto() -> String {
    "auto".to_owned()
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptRequest {
    source: String,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StdinStdoutRequest {
    #[schema(value_type = Vec<StdinCaseRequest>)]
    cases: Vec<Object<StdinCaseRequest>>,
    #[serde(default)]
    compare: CompareRequest,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct StdinCaseRequest {
    #[serde(default)]
    stdin: String,
    expected_stdout: String,
    args: Option<Vec<String>>,
    name: Option<String>,
}

/// Comparison of output with what is expected.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum CompareRequest {
    Exact,
    #[default]
    Trimmed,
    Tokens,
    Unordered,
    DecimalLines,
    Close {
        #[serde(default = "default_rtol")]
        rtol: f64,
        #[serde(default = "default_atol")]
        atol: f64,
    },
}

fn default_rtol() -> f64 {
    1e-6
}

fn default_atol() -> f64 {
    1e-9
}

/// The tests of a request.
///
/// # Errors
/// Returns an error that names the first field that has no meaning.
pub(super) fn tests_of(tests: Json) -> Result<Tests, ApiError> {
    const KINDS: &str = "`asserts`, `check_function`, `function_cases`, `stdin_stdout`, `unittest`, `pytest`, `doctest`, `script`, `evaluator`";
    let Json::Object(mut fields) = tests else {
        return Err(ApiError::malformed(Some("tests".to_owned()), "expected an object"));
    };
    let wrong_kind = |message: String| ApiError::malformed(Some("tests.kind".to_owned()), message);
    let kind = match fields.remove("kind") {
        Some(Json::String(kind)) => kind,
        Some(_) => return Err(wrong_kind(format!("expected one of {KINDS}"))),
        None => return Err(wrong_kind(format!("missing field `kind`: one of {KINDS}"))),
    };
    let fields = Json::Object(fields);
    let none = |field: &str| ApiError::meaningless(field, "there must be at least one");
    Ok(match kind.as_str() {
        "asserts" => {
            let AssertsRequest { asserts, setup, files } = parse_part("tests", fields)?;
            if asserts.is_empty() {
                return Err(none("tests.asserts"));
            }
            python(PythonTests::Asserts { setup, asserts }, files)?
        }
        "check_function" => {
            let CheckFunctionRequest { source, entry_point, files } = parse_part("tests", fields)?;
            if !is_name(&entry_point) {
                return Err(ApiError::meaningless(
                    "tests.entry_point",
                    "it must be the name of a function of the snippet",
                ));
            }
            python(PythonTests::CheckFunction { source, entry_point }, files)?
        }
        "script" => {
            let ScriptRequest { source } = parse_part("tests", fields)?;
            python(PythonTests::Script { source }, BTreeMap::new())?
        }
        "stdin_stdout" => {
            let StdinStdoutRequest { cases, compare } = parse_part("tests", fields)?;
            if cases.is_empty() {
                return Err(none("tests.cases"));
            }
            let case = |Object(case): Object<StdinCaseRequest>| StdinCase {
                stdin: case.stdin,
                expected_stdout: case.expected_stdout,
                args: case.args,
                name: case.name,
            };
            Tests::StdinStdout {
                cases: cases.into_iter().map(case).collect(),
                compare: compare_of("tests.compare", compare)?,
            }
        }
        "function_cases" => function_cases(parse_part("tests", fields)?)?,
        "unittest" => test_files(parse_part("tests", fields)?, PythonTests::Unittest)?,
        "pytest" => test_files(parse_part("tests", fields)?, PythonTests::Pytest)?,
        "doctest" => {
            let DoctestRequest {} = parse_part("tests", fields)?;
            in_module(PythonTests::Doctest, solution(), Vec::new())
        }
        "evaluator" => evaluator(parse_part("tests", fields)?)?,
        other => return Err(wrong_kind(format!("unknown variant `{other}`, expected one of {KINDS}"))),
    })
}

fn is_tolerance(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

fn compare_of(field: &str, compare: CompareRequest) -> Result<Compare, ApiError> {
    Ok(match compare {
        CompareRequest::Exact => Compare::Exact,
        CompareRequest::Trimmed => Compare::Trimmed,
        CompareRequest::Tokens => Compare::Tokens,
        CompareRequest::Unordered => Compare::Unordered,
        CompareRequest::DecimalLines => Compare::DecimalLines,
        CompareRequest::Close { rtol, atol } if is_tolerance(rtol) && is_tolerance(atol) => {
            Compare::Close { rtol, atol }
        }
        CompareRequest::Close { .. } => {
            let message = "tolerances are finite and not negative";
            return Err(ApiError::meaningless(format!("{field}.close"), message));
        }
    })
}

fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && characters.all(|c| c.is_alphanumeric() || c == '_')
}

/// Names with dots between them, and calls without arguments: what can stand for a function.
fn is_path(text: &str) -> bool {
    text.split('.').all(|part| is_name(part.strip_suffix("()").unwrap_or(part)))
}

fn files_of(files: BTreeMap<String, FileContent>) -> Result<Vec<File>, ApiError> {
    if let Some(path) = files.keys().find(|path| path.starts_with('/') || path.split('/').any(|part| part == "..")) {
        return Err(ApiError::meaningless(format!("tests.files.{path}"), "a path of the tests' own, without `..`"));
    }
    files.into_iter().map(|file| file_of("tests.files", file)).collect()
}

fn python(tests: PythonTests, files: BTreeMap<String, FileContent>) -> Result<Tests, ApiError> {
    Ok(Tests::Python { tests, module: None, files: files_of(files)?, expected: Vec::new() })
}

fn in_module(tests: PythonTests, module: String, files: Vec<File>) -> Tests {
    Tests::Python { tests, module: Some(module), files, expected: Vec::new() }
}

fn test_files(request: TestFilesRequest, kind: fn(TestFiles) -> PythonTests) -> Result<Tests, ApiError> {
    let TestFilesRequest { source, files, test_module, module, fresh_per_case, shuffle } = request;
    match (&source, files.is_empty()) {
        (None, true) => return Err(ApiError::meaningless("tests.source", "give `source` or `files`")),
        (Some(_), false) if test_module.is_some() => {
            return Err(ApiError::meaningless("tests.test_module", "it names one of `files`: leave out `source`"));
        }
        _ => {}
    }
    for (field, name) in [("tests.module", Some(&module)), ("tests.test_module", test_module.as_ref())] {
        if name.is_some_and(|name| !name.split('.').all(is_name)) {
            return Err(ApiError::meaningless(field, "it must be the name of a module"));
        }
    }
    let files = files_of(files)?;
    Ok(in_module(kind(TestFiles { source, test_module, fresh_per_case, shuffle }), module, files))
}

fn function_cases(request: FunctionCasesRequest) -> Result<Tests, ApiError> {
    if !is_path(&request.entry_point) {
        return Err(ApiError::meaningless(
            "tests.entry_point",
            "it must be a function of the snippet: `name`, `Class().method`",
        ));
    }
    if request.cases.is_empty() {
        return Err(ApiError::meaningless("tests.cases", "there must be at least one"));
    }
    let default = compare_of("tests.compare", request.compare)?;
    let value =
        |field: String, json: &Json| parse_value(json).map_err(|error| ApiError::meaningless(field, error.to_string()));
    let argument = |field: String, json: &Json| match value(field.clone(), json)? {
        argument if argument.is_plain() => Ok(argument),
        _ => Err(ApiError::meaningless(field, "an argument is of a plain builtin type")),
    };
    let mut calls = Vec::new();
    let mut expected = Vec::new();
    for (index, Object(case)) in request.cases.into_iter().enumerate() {
        let at = |field: &str| format!("tests.cases[{index}].{field}");
        let args = case.args.iter().enumerate().map(|(i, json)| argument(at(&format!("args[{i}]")), json));
        let kwargs =
            case.kwargs.iter().map(|(name, json)| Ok((name.clone(), argument(at(&format!("kwargs.{name}")), json)?)));
        let (args, kwargs) = (args.collect::<Result<_, _>>()?, kwargs.collect::<Result<_, ApiError>>()?);
        let compare = case.compare.map(|compare| compare_of(&at("compare"), compare)).transpose()?.unwrap_or(default);
        expected.push(match (&case.expected, &case.raises) {
            (Some(json), None) => Some(Expected { value: value(at("expected"), json)?, compare }),
            (None, Some(_)) => None,
            _ => return Err(ApiError::meaningless(at("expected"), "give `expected` or `raises`")),
        });
        calls.push(Call { args, kwargs, raises: case.raises, name: case.name });
    }
    let tests = PythonTests::FunctionCases { entry_point: request.entry_point, calls };
    Ok(Tests::Python { tests, module: None, files: Vec::new(), expected })
}

fn evaluator(request: EvaluatorRequest) -> Result<Tests, ApiError> {
    const INTERFACES: [&str; 6] = ["auto", "v1", "v2", "v3", "testcase", "get_assert"];
    if !INTERFACES.contains(&request.interface.as_str()) {
        return Err(ApiError::meaningless("tests.interface", format!("it must be one of {}", INTERFACES.join(", "))));
    }
    if request.threshold.is_some_and(|threshold| !threshold.is_finite()) {
        return Err(ApiError::meaningless("tests.threshold", "it must be a finite number"));
    }
    let source = match (request.source, request.preset) {
        (Some(source), None) => source,
        (None, Some(name)) => preset::source(&name)
            .ok_or_else(|| ApiError::meaningless("tests.preset", "no such preset: see GET /v1/evaluators/presets"))?
            .to_owned(),
        _ => return Err(ApiError::meaningless("tests.source", "give `source` or `preset`")),
    };
    let given = [
        ("inputs", request.inputs),
        ("outputs", request.outputs),
        ("output", request.output),
        ("correct_answer", request.correct_answer),
        ("app_params", request.app_params),
        ("testcase", request.testcase),
        ("trace", request.trace),
        ("context", request.context),
    ];
    let mut arguments = Vec::new();
    for (name, json) in given {
        if let Some(json) = json {
            let value = Value::from_plain_json(&json)
                .map_err(|error| ApiError::meaningless(format!("tests.{name}"), error.to_string()))?;
            arguments.push((name.to_owned(), value));
        }
    }
    let tests = Evaluator { source, interface: request.interface, threshold: request.threshold, arguments };
    Ok(in_module(PythonTests::Evaluator(tests), solution(), Vec::new()))
}

#[cfg(test)]
mod parsing {
    use super::*;

    #[test]
    fn tolerances_are_finite_and_not_negative() {
        for (rtol, atol, is_one) in [
            (0.0, 0.0, true),
            (1e-6, 1e-9, true),
            (-0.0, 5.0, true),
            (-1e-9, 0.0, false),
            (0.0, -1.0, false),
            (f64::NAN, 0.0, false),
            (0.0, f64::NAN, false),
            (f64::INFINITY, 0.0, false),
            (0.0, f64::INFINITY, false),
            (0.0, f64::NEG_INFINITY, false),
        ] {
            let compared = compare_of("tests.compare", CompareRequest::Close { rtol, atol });
            assert_eq!(compared.is_ok(), is_one, "{rtol} {atol}");
        }
    }

    #[test]
    fn a_dict_that_looks_like_what_could_not_cross_may_be_sent() {
        let looks = serde_json::json!({"type": "int", "repr": "3"});
        let case = serde_json::json!({"args": [looks], "expected": looks});
        let tests = serde_json::json!({"kind": "function_cases", "entry_point": "f", "cases": [case]});
        let Ok(Tests::Python { expected, .. }) = tests_of(tests) else { panic!("it has a meaning") };
        assert!(matches!(&expected[0], Some(Expected { value: Value::Dict(_), .. })));
    }
}
