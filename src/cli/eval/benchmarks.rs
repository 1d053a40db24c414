//! Problems of benchmarks, as they are published.

use std::io::Read;

use anyhow::{Context, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::read::ZlibDecoder;
use serde_json::{Map, Value as Json, json};

use super::files::Line;
use proofbox_types::large_integers::tag_large_integers;

/// Tests of EvalPlus' own form, but for the problem's values.
const EVALPLUS: &str = include_str!("evalplus.py");
/// Imports that LiveCodeBench's harness puts before a program.
const LIVE_CODE_BENCH_PRELUDE: &str = include_str!("livecodebench_prelude.py");
/// Maximum size of a problem's private tests, in bytes.
const MAX_PRIVATE_BYTES: u64 = 1 << 30;

/// Form in which a benchmark publishes its problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Benchmark {
    HumanEval,
    Mbpp,
    /// EvalPlus' own form: inputs, and the canonical solution.
    EvalPlus,
    BigCodeBench,
    LiveCodeBench,
    Apps,
}

/// Problem of a benchmark.
pub(super) struct Problem {
    /// Id of the problem.
    pub task: String,
    /// File and line that the problem comes from.
    pub origin: String,
    /// Code that a completion continues.
    pub prompt: String,
    /// Function that the tests call.
    pub entry_point: Option<String>,
    /// Program of the benchmark itself.
    pub canonical: Option<String>,
    /// Tests, as `POST /v1/execute` takes them.
    pub tests: Tests,
    /// Further fields of the item.
    pub fields: Map<String, Json>,
    /// Labels of the item.
    pub labels: Map<String, Json>,
}

/// Tests of a problem.
pub(super) enum Tests {
    /// The same for every sample.
    Fixed(Json),
    /// Calls of a method of `Solution`, or of a function where a sample has no such class.
    Calls { function: String, cases: Vec<Json>, compare: Json },
}

impl Tests {
    /// Returns the tests of a sample.
    pub(super) fn of(&self, code: &str) -> Json {
        match self {
            Self::Fixed(tests) => tests.clone(),
            Self::Calls { function, cases, compare } => {
                let has_class = code.lines().any(|line| line.trim_start().starts_with("class Solution"));
                let entry_point = if has_class { format!("Solution().{function}") } else { function.clone() };
                json!({"kind": "function_cases", "entry_point": entry_point, "cases": cases, "compare": compare})
            }
        }
    }
}

impl Benchmark {
    /// Recognises the form of a problem by its fields; none where it is no problem.
    pub(super) fn of(line: &Line) -> Option<Self> {
        let has = |name: &str| line.has(name);
        match () {
            () if has("question_id") && (has("public_test_cases") || has("input_output")) => Some(Self::LiveCodeBench),
            () if has("input_output") => Some(Self::Apps),
            () if !has("task_id") => None,
            // As it is published, HumanEval+ has the tests of HumanEval as well.
            () if has("base_input") && has("plus_input") && has("canonical_solution") => Some(Self::EvalPlus),
            () if has("test_list") => Some(Self::Mbpp),
            () if has("complete_prompt") && has("test") => Some(Self::BigCodeBench),
            () if has("test") && has("entry_point") => Some(Self::HumanEval),
            () if has("base_input") && has("canonical_solution") => Some(Self::EvalPlus),
            () => None,
        }
    }

    /// Name of the benchmark.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::HumanEval => "HumanEval",
            Self::Mbpp => "MBPP",
            Self::EvalPlus => "EvalPlus",
            Self::BigCodeBench => "BigCodeBench",
            Self::LiveCodeBench => "LiveCodeBench",
            Self::Apps => "APPS",
        }
    }

    /// Reads a problem; none where it has no tests.
    ///
    /// # Errors
    /// Returns an error that names the field.
    pub(super) fn problem(self, line: &Line) -> anyhow::Result<Option<Problem>> {
        match self {
            Self::HumanEval => human_eval(line).map(Some),
            Self::Mbpp => mbpp(line).map(Some),
            Self::EvalPlus => evalplus(line).map(Some),
            Self::BigCodeBench => big_code_bench(line).map(Some),
            Self::LiveCodeBench => live_code_bench(line),
            Self::Apps => apps(line),
        }
    }
}

fn problem(line: &Line, task: String, tests: Tests) -> Problem {
    Problem {
        task,
        origin: line.origin.clone(),
        prompt: String::new(),
        entry_point: None,
        canonical: None,
        tests,
        fields: Map::new(),
        labels: labels(line, &["difficulty", "platform"]),
    }
}

fn labels(line: &Line, names: &[&str]) -> Map<String, Json> {
    let label = |name: &&str| Some(((*name).to_owned(), json!(line.fields.get(*name)?.as_str()?)));
    names.iter().filter_map(label).collect()
}

/// `{task_id, prompt, entry_point, canonical_solution, test}`
fn human_eval(line: &Line) -> anyhow::Result<Problem> {
    let prompt = line.text("prompt")?;
    let entry_point = line.text("entry_point")?;
    let tests = json!({"kind": "check_function", "source": line.text("test")?, "entry_point": entry_point});
    let canonical = line.optional_text("canonical_solution")?.map(|solution| format!("{prompt}{solution}"));
    let problem = problem(line, line.text("task_id")?, Tests::Fixed(tests));
    Ok(Problem { prompt, entry_point: Some(entry_point), canonical, ..problem })
}

/// `{task_id, text | prompt, code, test_list, test_setup_code | test_imports, challenge_test_list, test}`
fn mbpp(line: &Line) -> anyhow::Result<Problem> {
    let task = match line.fields.get("task_id") {
        Some(Json::Number(number)) => format!("MBPP/{number}"),
        Some(Json::String(text)) => text.clone(),
        _ => bail!("{}: `task_id` must be a number or a string", line.origin),
    };
    let mut asserts = line.texts("test_list")?;
    if asserts.is_empty() {
        bail!("{}: `test_list` has no tests", line.origin);
    }
    asserts.extend(line.texts("challenge_test_list")?);
    let mut setup = line.texts("test_imports")?;
    setup.extend(line.optional_text("test_setup_code")?.filter(|code| !code.trim().is_empty()));
    // MBPP+ as its data set has it: a program with the inputs of MBPP and its own.
    if let Some(test) = line.optional_text("test")? {
        asserts.push(test);
    }
    let tests = json!({"kind": "asserts", "asserts": asserts, "setup": setup.join("\n")});
    // A solution of MBPP does not go on from its prompt, which is prose.
    Ok(Problem { canonical: line.optional_text("code")?, ..problem(line, task, Tests::Fixed(tests)) })
}

/// `{task_id, prompt, entry_point, canonical_solution, base_input, plus_input, atol}`
fn evalplus(line: &Line) -> anyhow::Result<Problem> {
    let (task, prompt, entry_point) = (line.text("task_id")?, line.text("prompt")?, line.text("entry_point")?);
    let canonical = format!("{prompt}{}", line.text("canonical_solution")?);
    let is_mbpp = task.to_lowercase().starts_with("mbpp/");
    let number = task.rsplit('/').next().and_then(|number| number.parse::<u64>().ok()).filter(|_| is_mbpp);
    let atol = line.fields.get("atol").and_then(Json::as_f64).unwrap_or(0.0);
    // JSON within a string of Python: what is JSON's is not Python's (`true`, `NaN`). A string of JSON is one of Python, and
    // tests in isolated grading execute what is a constant of their own.
    let quoted = |name: &str| line.list_text(name).map(|text| json!(text).to_string());
    let head = format!(
        "import json\n_CANONICAL = {}\n_ENTRY_POINT = {}\n_NUMBER = {}\n_ATOL = {atol:?}\n\
         _BASE = json.loads({})\n_PLUS = json.loads({})\n",
        json!(canonical),
        json!(entry_point),
        number.map_or_else(|| "None".to_owned(), |number| number.to_string()),
        quoted("base_input")?,
        quoted("plus_input")?,
    );
    let tests = json!({"kind": "check_function", "source": format!("{head}{EVALPLUS}"), "entry_point": entry_point});
    let problem = problem(line, task, Tests::Fixed(tests));
    Ok(Problem { prompt, entry_point: Some(entry_point), canonical: Some(canonical), ..problem })
}

/// `{task_id, complete_prompt, instruct_prompt, canonical_solution, test, entry_point}`
fn big_code_bench(line: &Line) -> anyhow::Result<Problem> {
    let prompt = line.text("complete_prompt")?;
    let entry_point = line.text("entry_point")?;
    // Its tests stand in one module with the program.
    let source = format!("from solution import *\nfrom solution import {entry_point}\n{}", line.text("test")?);
    let tests = json!({"kind": "unittest", "source": source});
    let canonical = line.optional_text("canonical_solution")?.map(|solution| format!("{prompt}\n{solution}"));
    let problem = problem(line, line.text("task_id")?, Tests::Fixed(tests));
    Ok(Problem { prompt, entry_point: Some(entry_point), canonical, ..problem })
}

/// `{question_id, input_output}`, as its harness has it, or `{question_id, public_test_cases, private_test_cases,
/// metadata}`, as it is published.
fn live_code_bench(line: &Line) -> anyhow::Result<Option<Problem>> {
    let (inputs, outputs, function) = match line.json("input_output")? {
        Some(value) => input_output(line, &value)?,
        None => test_cases(line)?,
    };
    if inputs.is_empty() {
        return Ok(None);
    }
    let tests = match function {
        Some(function) => {
            let case = |(input, output): (&Json, &Json)| {
                let (input, output) = (as_text(line, input)?, as_text(line, output)?);
                let value = |text: &str| {
                    serde_json::from_str::<Json>(&tag_large_integers(text))
                        .with_context(|| format!("{}: a test's argument is not JSON: {text}", line.origin))
                };
                let args = input
                    .lines()
                    .filter(|text| !text.trim().is_empty())
                    .map(value)
                    .collect::<anyhow::Result<Vec<_>>>()?;
                Ok(json!({"args": args, "expected": value(&output)?}))
            };
            let cases = inputs.iter().zip(&outputs).map(case).collect::<anyhow::Result<_>>()?;
            Tests::Calls { function, cases, compare: json!("exact") }
        }
        None => Tests::Fixed(stdin_stdout(line, &inputs, &outputs, &json!("decimal_lines"))?),
    };
    let mut problem = problem(line, line.text("question_id")?, tests);
    problem.fields.insert("prelude".to_owned(), json!(LIVE_CODE_BENCH_PRELUDE));
    Ok(Some(problem))
}

/// `{problem_id | id, input_output, solutions}`
fn apps(line: &Line) -> anyhow::Result<Option<Problem>> {
    let id = ["problem_id", "task_id", "id"].iter().find_map(|name| line.fields.get(*name));
    let task = match id {
        Some(Json::Number(number)) => format!("APPS/{number}"),
        Some(Json::String(text)) => text.clone(),
        _ => bail!("{}: a problem of APPS has `problem_id`", line.origin),
    };
    let Some(mut value) = line.json("input_output")? else { return Ok(None) };
    // Arguments and results of calls are values; those of programs are text.
    if value["fn_name"].is_string() {
        value = line.tagged_json("input_output")?.unwrap_or(value);
    }
    let (inputs, outputs, function) = input_output(line, &value)?;
    if inputs.is_empty() {
        return Ok(None);
    }
    let compare = json!({"close": {"rtol": 1e-5, "atol": 1e-8}});
    let tests = match function {
        Some(function) => {
            let case = |(input, output): (&Json, &Json)| {
                let Json::Array(args) = input else {
                    bail!("{}: the inputs of a function must be lists of arguments", line.origin)
                };
                // A result is published in a list of its own.
                let expected = match output {
                    Json::Array(outputs) if outputs.len() == 1 => &outputs[0],
                    output => output,
                };
                Ok(json!({"args": args, "expected": expected}))
            };
            let cases = inputs.iter().zip(&outputs).map(case).collect::<anyhow::Result<_>>()?;
            Tests::Calls { function, cases, compare }
        }
        None => Tests::Fixed(stdin_stdout(line, &inputs, &outputs, &compare)?),
    };
    let solutions = line.json("solutions")?;
    let canonical = solutions.as_ref().and_then(|solutions| solutions.get(0)?.as_str()).map(str::to_owned);
    Ok(Some(Problem { canonical, ..problem(line, task, tests) }))
}

/// Inputs, outputs, and the function that is called, if one is.
type InputOutput = (Vec<Json>, Vec<Json>, Option<String>);

/// `{inputs, outputs, fn_name}`
fn input_output(line: &Line, value: &Json) -> anyhow::Result<InputOutput> {
    let list = |name: &str| match &value[name] {
        Json::Array(list) => Ok(list.clone()),
        _ => bail!("{}: `input_output.{name}` must be a list", line.origin),
    };
    let (inputs, outputs) = (list("inputs")?, list("outputs")?);
    if inputs.len() != outputs.len() {
        bail!("{}: `input_output` has {} inputs and {} outputs", line.origin, inputs.len(), outputs.len());
    }
    Ok((inputs, outputs, value["fn_name"].as_str().filter(|name| !name.is_empty()).map(str::to_owned)))
}

/// Lists of `{input, output, testtype}`; the private one is usually pickled, compressed and in base64.
fn test_cases(line: &Line) -> anyhow::Result<InputOutput> {
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    let public = line.json("public_test_cases")?;
    let private = match line.fields.get("private_test_cases") {
        Some(Json::String(text)) if !text.trim().is_empty() && !text.trim_start().starts_with('[') => {
            let unpacked = unpack(text).with_context(|| format!("{}: `private_test_cases`", line.origin))?;
            Some(serde_json::from_str(&unpacked).with_context(|| format!("{}: `private_test_cases`", line.origin))?)
        }
        _ => line.json("private_test_cases")?,
    };
    for case in [public, private].into_iter().flatten().flat_map(|list| match list {
        Json::Array(cases) => cases,
        _ => Vec::new(),
    }) {
        inputs.push(case["input"].clone());
        outputs.push(case["output"].clone());
    }
    let metadata = line.json("metadata")?.unwrap_or_default();
    Ok((inputs, outputs, metadata["func_name"].as_str().filter(|name| !name.is_empty()).map(str::to_owned)))
}

/// Unpacks a pickled string that is compressed with zlib and encoded in base64. No other pickle is read.
fn unpack(text: &str) -> anyhow::Result<String> {
    let bytes = BASE64.decode(text.trim()).context("neither a list nor base64")?;
    let mut pickle = Vec::new();
    ZlibDecoder::new(&bytes[..])
        .take(MAX_PRIVATE_BYTES)
        .read_to_end(&mut pickle)
        .context("not compressed with zlib")?;
    let mut rest = &pickle[..];
    // PROTO and FRAME, from protocols 2 and 4 on.
    if let [0x80, _, after @ ..] = rest {
        rest = after;
    }
    if rest.first() == Some(&0x95) {
        rest = rest.get(9..).unwrap_or_default();
    }
    // SHORT_BINUNICODE, BINUNICODE, BINUNICODE8: the length in 1, 4 or 8 bytes.
    let width = match rest.first() {
        Some(0x8c) => 1,
        Some(b'X') => 4,
        Some(0x8d) => 8,
        _ => bail!("the pickle has something else than a string"),
    };
    let mut length = [0; 8];
    let head = rest.get(1..=width).context("the pickle is cut off")?;
    length[..width].copy_from_slice(head);
    let length = usize::try_from(u64::from_le_bytes(length)).context("the pickle is cut off")?;
    let string = rest[1 + width..].get(..length).context("the pickle is cut off")?;
    Ok(std::str::from_utf8(string).context("the pickled string is not UTF-8")?.to_owned())
}

fn stdin_stdout(line: &Line, inputs: &[Json], outputs: &[Json], compare: &Json) -> anyhow::Result<Json> {
    let case = |(input, output): (&Json, &Json)| {
        Ok(json!({"stdin": as_text(line, input)?, "expected_stdout": as_text(line, output)?}))
    };
    let cases = inputs.iter().zip(outputs).map(case).collect::<anyhow::Result<Vec<Json>>>()?;
    Ok(json!({"kind": "stdin_stdout", "cases": cases, "compare": compare}))
}

/// Returns the text of an input or output, which may be a list of lines.
fn as_text(line: &Line, value: &Json) -> anyhow::Result<String> {
    match value {
        Json::String(text) => Ok(text.clone()),
        Json::Array(lines) => Ok(lines
            .iter()
            .map(|line| line.as_str().map_or_else(|| line.to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join("\n")),
        _ => bail!("{}: an input or output must be a string", line.origin),
    }
}
