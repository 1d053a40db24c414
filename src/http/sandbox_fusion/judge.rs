//! Online judge: prompts of rows that come with the request, and verdicts on answers to them.

use axum::extract::{Request, State};
use axum::response::Response;
use axum::{Extension, Json};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::rows::{Case, Class, Row, TestConfig, is_same_output, without_main};
use super::run_code::{RunCodeAnswer, unsupported};
use crate::http::AppState;
use crate::http::body::BodyReader;
use crate::http::programs::{DetailError, Failure, ProgramLimits, ReadBody, Run, TimeLimit, answer, part, read};
use crate::service::{Execution, RequestDigest};
use proofbox_completion::names_tested;
use proofbox_types::caller::Caller;
use proofbox_types::program::{File, Program, PythonTests};
use proofbox_types::status::IntegrityLevel;
use proofbox_types::submission::{Grading, Tests};

/// Time limit of a request that names none, in seconds.
const DEFAULT_TIMEOUT: f64 = 20.0;
/// Cases of a row that run at once: one request must not fill the queue by itself.
const CASES_AT_ONCE: usize = 4;
/// Maximum number of cases of a row.
const MAX_CASES: usize = 10_000;

#[derive(Deserialize)]
pub(super) struct DatasetRequest {
    #[serde(default)]
    config: TestConfig,
}

#[derive(Deserialize)]
pub(super) struct SubmitRequest {
    #[serde(default)]
    id: Value,
    completion: String,
    #[serde(default)]
    config: TestConfig,
}

/// Grading that a request asks for in `config.extra.grading`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GradingAsked {
    /// Apart from the answer's code, where the row lets it.
    Auto,
    /// Apart from the answer's code, or not at all.
    Isolated,
    /// By the exit code of one program, as SandboxFusion does.
    ExitCode,
}

impl GradingAsked {
    fn of(config: &TestConfig) -> Result<Self, Failure> {
        match config.extra("grading") {
            None | Some(Value::Null) => Ok(Self::Auto),
            Some(Value::String(word)) if word == "auto" => Ok(Self::Auto),
            Some(Value::String(word)) if word == "isolated" => Ok(Self::Isolated),
            Some(Value::String(word)) if word == "exit_code" => Ok(Self::ExitCode),
            Some(_) => Err(Failure::Invalid("`config.extra.grading` is one of auto, isolated, exit_code".to_owned())),
        }
    }
}

/// Returns the names of the data sets: there are none but those that requests bring.
pub(super) async fn list_datasets() -> Json<Value> {
    Json(json!([]))
}

/// Returns the ids of rows.
pub(super) async fn list_ids(request: Request) -> Result<Json<Value>, DetailError> {
    let mut asked: ReadBody<DatasetRequest> = read(request).await?;
    Class::of(&asked.body.config)?;
    Ok(Json(Row::all(&mut asked.body.config)?.iter().map(Row::id).collect()))
}

/// Returns the prompts of rows.
pub(super) async fn get_prompts(request: Request) -> Result<Json<Value>, DetailError> {
    let mut asked: ReadBody<DatasetRequest> = read(request).await?;
    let class = Class::of(&asked.body.config)?;
    let rows = Row::all(&mut asked.body.config)?;
    let prompts = rows.iter().map(|row| row.prompt(class, &asked.body.config));
    Ok(Json(prompts.collect::<Result<_, _>>()?))
}

/// Returns the prompt of a row.
pub(super) async fn get_prompt_by_id(request: Request) -> Result<Json<Value>, DetailError> {
    let mut asked: ReadBody<DatasetRequest> = read(request).await?;
    let class = Class::of(&asked.body.config)?;
    let row = Row::only(&mut asked.body.config)?;
    Ok(Json(row.prompt(class, &asked.body.config)?))
}

/// Returns no metrics: those of data sets that requests bring are their owners' own.
pub(super) async fn get_metrics() -> Json<Value> {
    Json(json!({}))
}

/// Returns no function that makes metrics; see [`get_metrics`].
pub(super) async fn get_metrics_function() -> Json<Value> {
    Json(json!({"function": null}))
}

/// Grades an answer.
pub(super) async fn submit(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let work = async move { graded(&shared, &caller, request).await.map_err(DetailError::from) };
    // That is no result, so nobody takes it for one.
    answer(work, |error| error.to_json()).await
}

async fn graded(shared: &AppState, caller: &Caller, request: Request) -> Result<Value, Failure> {
    let reader = BodyReader::of(request.extensions())?;
    let ReadBody { body: SubmitRequest { id, completion, mut config }, digest, arrived } = read(request).await?;
    let class = Class::of(&config)?;
    let grading = GradingAsked::of(&config)?;
    let row = Row::only(&mut config)?;
    if config.custom_extract_logic.is_some() {
        return Err(Failure::Unsupported("`config.custom_extract_logic` is not supported here".to_owned()));
    }
    if let Some(message) = unsupported(config.language.as_deref()) {
        return Err(Failure::Unsupported(message));
    }
    let judge = Judge {
        shared,
        caller,
        time: TimeLimit::seconds(config.run_timeout.unwrap_or(DEFAULT_TIMEOUT)),
        request: digest,
        arrived,
        grading,
        reader,
    };
    let mut result = match class {
        Class::CommonOj => judge.outputs(&row, &completion, &config).await?,
        Class::AutoEval => judge.script(&row, &completion, &config).await?,
        Class::HumanEval => judge.check(&row, &completion).await?,
        Class::Mbpp => judge.asserts(&row, &completion, &config).await?,
    };
    result.insert("id".to_owned(), if id.is_null() { row.id() } else { id });
    result.insert("extracted_type".to_owned(), json!(extracted_type(&completion)));
    Ok(Value::Object(result))
}

/// Returns how code stands in an answer, by SandboxFusion's words.
fn extracted_type(completion: &str) -> &'static str {
    match completion.matches("```").count() {
        0 if completion.trim().is_empty() => "empty",
        0 => "heuristic",
        fences if fences % 2 == 0 => "fenced",
        _ => "incomplete_fenced",
    }
}

/// Returns the program of an answer; none where it has none. Of several blocks the one is taken that defines what
/// `entry_points` names.
async fn code_of(reader: &BodyReader, completion: &str, entry_points: Vec<String>) -> Result<Option<String>, Failure> {
    let answer = completion.to_owned();
    let extract = move || {
        let names: Vec<&str> = entry_points.iter().map(String::as_str).collect();
        proofbox_completion::extract(&answer, &names).code
    };
    Ok(reader.make(completion.len(), extract).await?)
}

/// Makes the result of an answer without code: nothing is run, as an empty program might pass.
fn without_code() -> Map<String, Value> {
    let info = RunCodeAnswer::unanswered("the answer has no code".to_owned());
    let mut result = Map::new();
    result.insert("accepted".to_owned(), json!(false));
    result.insert("extracted_code".to_owned(), json!(""));
    result.insert("full_code".to_owned(), json!(""));
    result.insert("test_code".to_owned(), json!(""));
    result.insert("tests".to_owned(), json!([{"passed": false, "exec_info": info, "test_info": null}]));
    result.insert("extra".to_owned(), json!({"grading": "no_code", "forgeable": false, "signals": []}));
    result
}

/// Answer whose tests can stand apart from it.
struct Answer {
    code: String,
    /// Tests that stand apart; none where they are part of the program.
    tests: Option<PythonTests>,
    /// The whole program, with its tests.
    joined: String,
    test_code: String,
    files: Vec<File>,
}

struct Judge<'a> {
    shared: &'a AppState,
    caller: &'a Caller,
    time: TimeLimit,
    request: RequestDigest,
    arrived: Instant,
    grading: GradingAsked,
    /// Reader of the request, in whose memory code is taken out of the answer.
    reader: BodyReader,
}

impl Judge<'_> {
    async fn run(&self, index: usize, program: Program, tests: Option<(Tests, Grading)>) -> Result<Execution, Failure> {
        let run = Run {
            program,
            tests,
            limits: ProgramLimits { time: self.time, cpu: None, memory_bytes: None },
            request: part(self.request, index),
            arrived: self.arrived,
        };
        Ok(run.execute(self.shared, self.caller).await?)
    }

    /// Grades a program by its output for each input: the expected one is never where the program runs.
    async fn outputs(&self, row: &Row, completion: &str, config: &TestConfig) -> Result<Map<String, Value>, Failure> {
        if config.language.is_none() {
            return Err(Failure::Unsupported("`config.language` is required for CommonOJDataset".to_owned()));
        }
        let cases = row.cases()?;
        if cases.len() > MAX_CASES {
            return Err(Failure::Invalid(format!("the row has {} cases; at most {MAX_CASES} are run", cases.len())));
        }
        let Some(code) = code_of(&self.reader, completion, Vec::new()).await? else { return Ok(without_code()) };
        let runs_all = config.flag("run_all_cases");
        let total = cases.len();
        let runs = cases.into_iter().enumerate().map(|(index, case)| self.output(index, &code, case));
        let mut runs = stream::iter(runs).buffered(CASES_AT_ONCE);
        let (mut tests, mut passed) = (Vec::new(), 0);
        while let Some(test) = runs.next().await {
            let (test, has_passed) = test?;
            tests.push(test);
            passed += usize::from(has_passed);
            if !has_passed && !runs_all {
                break;
            }
        }
        drop(runs);
        let mut result = Map::new();
        result.insert("accepted".to_owned(), json!(passed == total && total > 0));
        result.insert("extracted_code".to_owned(), json!(code));
        result.insert("tests".to_owned(), Value::Array(tests));
        result.insert("extra".to_owned(), json!({"grading": "outputs_compared", "forgeable": false, "signals": []}));
        Ok(result)
    }

    async fn output(&self, index: usize, code: &str, case: Case) -> Result<(Value, bool), Failure> {
        let stdin = case.input.get("stdin").cloned().unwrap_or_default();
        let program = Program { code: code.to_owned(), stdin: stdin.into_bytes(), ..Program::default() };
        let answer = RunCodeAnswer::of(self.run(index, program, None).await?, self.time);
        let expected = case.output.get("stdout").map_or("", String::as_str);
        let actual = answer.run_result.as_ref().map_or("", |result| &result.stdout);
        let passed = answer.is_success() && is_same_output(actual, expected);
        Ok((json!({"passed": passed, "exec_info": answer, "test_info": null}), passed))
    }

    async fn script(&self, row: &Row, completion: &str, config: &TestConfig) -> Result<Map<String, Value>, Failure> {
        let labels = row.labels()?;
        let language = |field: &str| labels.get(field).and_then(Value::as_str);
        for field in ["programming_language", "execution_language"] {
            if let Some(message) = unsupported(language(field)) {
                return Err(Failure::Unsupported(message));
            }
        }
        if config.flag("repr_code") {
            return Err(Failure::Unsupported("`config.extra.repr_code` is not supported here".to_owned()));
        }
        let script = row.script()?;
        let names = names_tested(&script.code);
        let Some(code) = code_of(&self.reader, completion, names).await? else { return Ok(without_code()) };
        let code = without_main(&code).to_owned();
        let joined = script.joined(&code);
        let tests = script.is_apart().then(|| PythonTests::Script { source: script.code.clone() });
        let test_code = script.code;
        self.answer(Answer { code, tests, joined, test_code, files: script.files }).await
    }

    async fn check(&self, row: &Row, completion: &str) -> Result<Map<String, Value>, Failure> {
        let (entry_point, source, prompt) = (row.text("entry_point")?, row.text("test")?, row.text("prompt")?);
        let Some(extracted) = code_of(&self.reader, completion, vec![entry_point.to_owned()]).await? else {
            return Ok(without_code());
        };
        // A completion of the prompt goes on where that ends; other answers have the whole function.
        let is_whole = extracted.contains(&format!("def {entry_point}("));
        let code = if is_whole { extracted } else { format!("{prompt}{extracted}") };
        let joined = format!("{code}\n{source}\ncheck({entry_point})\n");
        let tests = PythonTests::CheckFunction { source: source.to_owned(), entry_point: entry_point.to_owned() };
        self.answer(Answer { code, tests: Some(tests), joined, test_code: source.to_owned(), files: Vec::new() }).await
    }

    async fn asserts(&self, row: &Row, completion: &str, config: &TestConfig) -> Result<Map<String, Value>, Failure> {
        let labels = row.labels()?;
        let setup = labels.get("test_setup_code").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut asserts = row.texts("test_list")?;
        if config.is_fewshot == Some(true) {
            asserts.drain(..asserts.len().saturating_sub(1));
        }
        let completion = completion.split("[DONE]").next().unwrap_or_default();
        let test_code = asserts.join("\n");
        let names = names_tested(&format!("{setup}\n{test_code}"));
        let Some(code) = code_of(&self.reader, completion, names).await? else { return Ok(without_code()) };
        let code = without_main(&code).to_owned();
        let joined = format!("{setup}\n{code}\n{test_code}\n");
        let tests = PythonTests::Asserts { setup, asserts };
        self.answer(Answer { code, tests: Some(tests), joined, test_code, files: Vec::new() }).await
    }

    /// Grades an answer by its tests.
    async fn answer(&self, answer: Answer) -> Result<Map<String, Value>, Failure> {
        let Answer { code, tests, joined, test_code, files } = answer;
        let apart = tests.filter(|_| self.grading != GradingAsked::ExitCode);
        let execution = match (apart, self.grading) {
            (Some(tests), _) => {
                let grading = if self.grading == GradingAsked::Isolated { Grading::Isolated } else { Grading::Auto };
                let tests = Tests::Python { tests, module: None, files: Vec::new(), expected: Vec::new() };
                let program = Program { code: code.clone(), files, ..Program::default() };
                self.run(0, program, Some((tests, grading))).await?
            }
            (None, GradingAsked::Isolated) => {
                return Err(Failure::Unsupported(
                    "the row's test has `#<INSERT>`: it can't be graded isolated".to_owned(),
                ));
            }
            (None, GradingAsked::Auto | GradingAsked::ExitCode) => {
                let program = Program { code: joined.clone(), files, ..Program::default() };
                self.run(0, program, None).await?
            }
        };
        let grading = match execution.verdict.integrity.level {
            IntegrityLevel::Isolated => "isolated",
            IntegrityLevel::InProcess => "in_process",
            IntegrityLevel::None => "exit_code",
        };
        let extra = json!({
            "grading": grading,
            "forgeable": grading != "isolated",
            "signals": execution.verdict.integrity.signals,
        });
        let info = RunCodeAnswer::of(execution, self.time);
        let accepted = info.is_success();
        let mut result = Map::new();
        result.insert("accepted".to_owned(), json!(accepted));
        result.insert("extracted_code".to_owned(), json!(code));
        result.insert("full_code".to_owned(), json!(joined));
        result.insert("test_code".to_owned(), json!(test_code));
        result.insert("tests".to_owned(), json!([{"passed": accepted, "exec_info": info, "test_info": null}]));
        result.insert("extra".to_owned(), extra);
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_code_have_sandbox_fusions_words() {
        for (completion, expected) in [
            ("```python\nx\n```", "fenced"),
            ("```python\nx", "incomplete_fenced"),
            ("x = 1", "heuristic"),
            (" \n", "empty"),
        ] {
            assert_eq!(extracted_type(completion), expected);
        }
    }
}
