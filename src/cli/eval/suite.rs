//! Suites: our own, and benchmarks' problems with a model's samples.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, bail};
use proofbox_completion::extract;
use proofbox_types::completion::BlockForm;
use serde_json::{Map, Value as Json, json};

use super::benchmarks::{Benchmark, Problem};
use super::files::{self, Content, Line};

/// Longest value of a sample's field that becomes a label, in bytes.
const MAX_LABEL: usize = 200;
/// Number of labels that a sample's fields become.
const MAX_LABELS: usize = 32;
/// Fields of samples that have a meaning of their own, or are no label.
const NO_LABELS: &[&str] =
    &["task_id", "question_id", "problem_id", "solution", "completion", "code_list", "output_list", "prompt"];

/// Suite of items to grade.
#[derive(Debug, Default)]
pub(super) struct Suite {
    /// Name of the file, and its format.
    pub title: String,
    /// Fields that every item has unless it says otherwise.
    pub defaults: Map<String, Json>,
    /// Items, as `POST /v1/suites` takes them.
    pub items: Vec<Item>,
    /// The k of pass@k that the file asks for.
    pub ks: Option<Vec<u32>>,
    /// Notes that a reader of the results must know.
    pub warnings: Vec<String>,
}

/// Item, and where it comes from.
#[derive(Debug)]
pub(super) struct Item {
    /// Id of the item, unique in the suite.
    pub id: String,
    /// File and line that the item comes from.
    pub origin: String,
    /// Fields, as `POST /v1/suites` takes them.
    pub fields: Map<String, Json>,
}

/// Program or answer of a model.
enum Answer {
    /// Whole program.
    Solution(String),
    /// What follows the prompt, or an answer with the program in it.
    Completion(String),
}

/// Attempt at a problem.
struct Sample {
    origin: String,
    task: String,
    answer: Answer,
    labels: Map<String, Json>,
}

/// Reads the suite at `path`, with the samples at `samples` instead of the canonical solutions.
///
/// # Errors
/// Returns an error that names file and line of the first mistake.
pub(super) fn read(path: &Path, samples: Option<&Path>) -> anyhow::Result<Suite> {
    let Content::Objects(lines) = files::read(path)? else {
        bail!("{}: these are samples; name the problems first, and this file with --samples", path.display())
    };
    let first = lines.first().with_context(|| format!("{} has no items", path.display()))?;
    let benchmark = benchmark_of(first)?;
    let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    let mut suite = match benchmark {
        None if samples.is_some() => {
            bail!("--samples goes with problems of a benchmark, and {} has items", path.display())
        }
        None => own(lines, name)?,
        Some(benchmark) => problems(&lines, benchmark, samples, &format!("{name} ({})", benchmark.name()))?,
    };
    let mut seen: HashMap<String, String> = HashMap::new();
    for item in &suite.items {
        if let Some(first) = seen.insert(item.id.clone(), item.origin.clone()) {
            bail!("{}: the id {:?} is that of {first} already", item.origin, item.id);
        }
    }
    if suite.items.is_empty() {
        bail!("{} has no items", path.display());
    }
    suite.warnings.dedup();
    Ok(suite)
}

fn is_head(fields: &Map<String, Json>) -> bool {
    !fields.is_empty() && fields.keys().all(|key| matches!(key.as_str(), "defaults" | "k"))
}

/// Returns the benchmark that a file's first object is a problem of; none for a suite of our own.
fn benchmark_of(first: &Line) -> anyhow::Result<Option<Benchmark>> {
    let has = |name: &str| first.has(name);
    if is_head(&first.fields) || (has("id") && (has("code") || has("completion") || has("tests"))) {
        return Ok(None);
    }
    if let Some(benchmark) = Benchmark::of(first) {
        return Ok(Some(benchmark));
    }
    if has("solution") || has("completion") || has("code_list") {
        bail!("{}: these are samples; name the problems first, and this file with --samples", first.origin)
    }
    if has("task_id") {
        bail!(
            "{}: a problem of HumanEval has `test` and `entry_point`, one of MBPP `test_list`, one of EvalPlus \
             `base_input` and `canonical_solution`; this has none of them",
            first.origin
        )
    }
    bail!(
        "{}: an item has `id` and `code` (or `completion`), a problem `task_id`, `question_id` or `input_output`; this has {}",
        first.origin,
        first.fields.keys().take(8).map(|key| format!("`{}`", key.escape_debug())).collect::<Vec<_>>().join(", ")
    )
}

fn own(lines: Vec<Line>, title: String) -> anyhow::Result<Suite> {
    let mut suite = Suite { title, ..Suite::default() };
    for (index, mut line) in lines.into_iter().enumerate() {
        if index == 0 && is_head(&line.fields) {
            match line.fields.shift_remove("defaults") {
                None | Some(Json::Null) => {}
                Some(Json::Object(defaults)) => suite.defaults = defaults,
                Some(_) => bail!("{}: `defaults` must be an object", line.origin),
            }
            if let Some(ks) = line.fields.shift_remove("k") {
                suite.ks = Some(serde_json::from_value(ks).with_context(|| format!("{}: `k`", line.origin))?);
            }
            continue;
        }
        let id = line.text("id")?;
        suite.items.push(Item { id, origin: line.origin, fields: line.fields });
    }
    Ok(suite)
}

fn problems(lines: &[Line], benchmark: Benchmark, samples: Option<&Path>, title: &str) -> anyhow::Result<Suite> {
    // The numbers of generations are those of all problems, with tests or without.
    let problems: Vec<Option<Problem>> =
        lines.iter().map(|line| benchmark.problem(line)).collect::<anyhow::Result<_>>()?;
    let mut warnings = Vec::new();
    let without_tests = problems.iter().filter(|problem| problem.is_none()).count();
    if without_tests > 0 {
        warnings.push(format!("{without_tests} of {} problems have no tests and are left out", problems.len()));
    }
    let Some(path) = samples else {
        let items = problems.iter().flatten().map(|problem| {
            let code = problem.canonical.clone();
            let code =
                code.with_context(|| format!("{}: there is no canonical solution; give --samples", problem.origin))?;
            let (id, answer) = (problem.task.clone(), Answer::Solution(code));
            Ok(item(
                problem,
                id,
                Sample { origin: problem.origin.clone(), task: String::new(), answer, labels: Map::new() },
            ))
        });
        let items = items.collect::<anyhow::Result<_>>()?;
        return Ok(Suite { title: format!("{title}, canonical solutions"), items, warnings, ..Suite::default() });
    };
    let by_task: HashMap<String, Option<&Problem>> = lines
        .iter()
        .zip(&problems)
        .map(|(line, problem)| {
            (normal(&problem.as_ref().map_or_else(|| id_of(line), |problem| problem.task.clone())), problem.as_ref())
        })
        .collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut items = Vec::new();
    for sample in read_samples(path, lines)? {
        let problem = by_task
            .get(&normal(&sample.task))
            .with_context(|| format!("{}: there is no problem {:?} in {title}", sample.origin, sample.task))?;
        let Some(problem) = problem else { continue };
        let count = counts.entry(&problem.task).or_default();
        items.push(item(problem, format!("{}#{count}", problem.task), sample));
        *count += 1;
    }
    let all = problems.iter().flatten().count();
    let without: Vec<&str> = problems
        .iter()
        .flatten()
        .map(|problem| problem.task.as_str())
        .filter(|task| !counts.contains_key(task))
        .collect();
    if !without.is_empty() {
        let more = if without.len() > 3 { ", …" } else { "" };
        warnings.push(format!(
            "{} of {all} problems have no sample and are not counted: {}{more}",
            without.len(),
            without[..without.len().min(3)].join(", ")
        ));
    }
    Ok(Suite { title: format!("{title}, {}", path.display()), items, warnings, ..Suite::default() })
}

/// Reads the samples at `path` of the problems in `lines`.
fn read_samples(path: &Path, lines: &[Line]) -> anyhow::Result<Vec<Sample>> {
    let objects = match files::read(path)? {
        Content::Objects(objects) => objects,
        Content::Generations(generations) => {
            if generations.len() > lines.len() {
                bail!("{} is of {} problems, and there are {}", path.display(), generations.len(), lines.len());
            }
            let samples = generations.into_iter().zip(lines).enumerate().flat_map(|(index, (programs, line))| {
                programs.into_iter().map(move |program| Sample {
                    origin: format!("{}[{index}]", path.display()),
                    task: id_of(line),
                    answer: Answer::Solution(program),
                    labels: Map::new(),
                })
            });
            return Ok(samples.collect());
        }
    };
    let mut samples = Vec::new();
    for line in objects {
        let task = id_of(&line);
        if task.is_empty() {
            bail!("{}: a sample has a `task_id`", line.origin);
        }
        let labels = labels(&line.fields);
        let answers: Vec<Answer> = match (line.optional_text("solution")?, line.optional_text("completion")?) {
            (Some(solution), _) => vec![Answer::Solution(solution)],
            (None, Some(completion)) => vec![Answer::Completion(completion)],
            // LiveCodeBench's: programs that are taken out, else answers.
            (None, None) if line.has("code_list") => {
                line.texts("code_list")?.into_iter().map(Answer::Solution).collect()
            }
            (None, None) if line.has("output_list") => {
                line.texts("output_list")?.into_iter().map(Answer::Completion).collect()
            }
            (None, None) => bail!(
                "{}: a sample has `solution` (a whole program) or `completion` (what follows the prompt, or an answer)",
                line.origin
            ),
        };
        samples.extend(answers.into_iter().map(|answer| Sample {
            origin: line.origin.clone(),
            task: task.clone(),
            answer,
            labels: labels.clone(),
        }));
    }
    Ok(samples)
}

/// Returns the id of the problem that an object is, or is an attempt at; empty where it has none.
fn id_of(line: &Line) -> String {
    let id = ["task_id", "question_id", "problem_id", "id"].iter().find_map(|name| line.fields.get(*name));
    match id {
        Some(Json::String(task)) => task.clone(),
        Some(Json::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// Returns the further fields of a sample as labels: the model, the version of the prompt, and so on.
fn labels(fields: &Map<String, Json>) -> Map<String, Json> {
    let is_label = |name: &str| !NO_LABELS.contains(&name) && !name.starts_with('_');
    let label = |(name, value): (&String, &Json)| {
        let text = match value {
            Json::String(text) => text.clone(),
            Json::Number(_) | Json::Bool(_) => value.to_string(),
            _ => return None,
        };
        (text.len() <= MAX_LABEL && !text.contains('\n')).then(|| (name.clone(), json!(text)))
    };
    fields.iter().filter(|(name, _)| is_label(name)).filter_map(label).take(MAX_LABELS).collect()
}

/// Makes the item of a sample.
fn item(problem: &Problem, id: String, sample: Sample) -> Item {
    let (field, text) = match sample.answer {
        Answer::Solution(solution) => ("code", solution),
        Answer::Completion(completion) => program_of(problem, completion),
    };
    let tests = problem.tests.of(&text);
    let mut fields = problem.fields.clone();
    fields.insert("id".to_owned(), json!(id));
    fields.insert("task".to_owned(), json!(problem.task));
    fields.insert(field.to_owned(), json!(text));
    fields.insert("tests".to_owned(), tests);
    let mut labels = problem.labels.clone();
    labels.extend(sample.labels);
    if !labels.is_empty() {
        fields.insert("labels".to_owned(), Json::Object(labels));
    }
    Item { id, origin: sample.origin, fields }
}

/// Returns the field and the text of a completion: code that goes on from the prompt, or an answer from which the
/// service takes the code.
fn program_of(problem: &Problem, completion: String) -> (&'static str, String) {
    if problem.prompt.is_empty() {
        return ("completion", completion);
    }
    let extraction = extract(&completion, problem.entry_point.as_deref().as_slice());
    let is_marked =
        extraction.report.blocks.iter().any(|block| matches!(block.form, BlockForm::Fenced | BlockForm::Tagged));
    let is_prose = extraction.code.is_none() && !completion.trim().is_empty() && !completion.starts_with([' ', '\t']);
    match extraction.code {
        // The body alone: an answer that goes on from the prompt all the same.
        Some(code) if is_marked && code.starts_with([' ', '\t']) => ("code", format!("{}{code}", problem.prompt)),
        _ if is_marked || is_prose => ("completion", completion),
        _ => ("code", format!("{}{completion}", problem.prompt)),
    }
}

/// `Mbpp/2`, `MBPP/2` and `2` are the same task, as are `APPS/2` and `2`.
fn normal(task: &str) -> String {
    let task = task.to_lowercase();
    let number = task.strip_prefix("mbpp/").or_else(|| task.strip_prefix("apps/")).unwrap_or(&task);
    if number.parse::<u64>().is_ok() { number.to_owned() } else { task }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(problems: &str, samples: Option<&str>) -> Result<Suite, String> {
        let directory = tempfile::tempdir().expect("a directory");
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).expect("a file");
            path
        };
        let problems = file("p.jsonl", problems);
        let samples = samples.map(|samples| file("s.jsonl", samples));
        let place = format!("{}/", directory.path().display());
        read(&problems, samples.as_deref()).map_err(|error| format!("{error:#}").replace(&place, ""))
    }

    fn code(suite: &Suite) -> Vec<(&str, &str)> {
        suite.items.iter().map(|item| (item.id.as_str(), item.fields["code"].as_str().expect("a string"))).collect()
    }

    const HUMAN_EVAL: &str = r#"{"task_id": "HumanEval/0", "prompt": "def one():\n", "entry_point": "one", "canonical_solution": "    return 1\n", "test": "def check(candidate):\n    assert candidate() == 1\n"}"#;
    const MBPP: &str = r#"{"task_id": 2, "text": "Write one.", "code": "def one(): return 1", "test_list": ["assert one() == 1"], "test_setup_code": "import math", "challenge_test_list": ["assert one() < 2"]}"#;

    #[test]
    fn numbers_of_evalplus_are_pythons() {
        let problem = r#"{"task_id": "HumanEval/76", "prompt": "def odd(n):\n", "entry_point": "odd", "canonical_solution": "    return n & 1 == 1\n", "base_input": [[1267650600228229401496703205377]], "plus_input": {}, "atol": 0}"#;
        let suite = read_text(problem, None).expect("it is right");
        let source = suite.items[0].fields["tests"]["source"].as_str().expect("a string");
        assert!(source.contains(r#"_BASE = json.loads("[[1267650600228229401496703205377]]")"#), "{source}");
        assert!(source.contains(r#"_PLUS = json.loads("[]")"#), "{source}");
    }

    #[test]
    fn humaneval_plus_as_published_is_graded_with_its_inputs() {
        let inputs = r#""base_input": [[]], "plus_input": [[]], "atol": 0}"#;
        let problem = format!("{}, {inputs}", HUMAN_EVAL.strip_suffix('}').expect("an object"));
        let suite = read_text(&problem, None).expect("it is as published");
        let source = suite.items[0].fields["tests"]["source"].as_str().expect("a string");
        assert!(source.contains(r#"_PLUS = json.loads("[[]]")"#), "{source}");
    }

    #[test]
    fn humaneval_goes_on_from_its_prompt() {
        let suite = read_text(HUMAN_EVAL, None).expect("it is as published");
        assert_eq!(code(&suite), [("HumanEval/0", "def one():\n    return 1\n")]);
        let tests = json!({"kind": "check_function", "entry_point": "one",
                           "source": "def check(candidate):\n    assert candidate() == 1\n"});
        assert_eq!(suite.items[0].fields["tests"], tests);
    }

    #[test]
    fn mbpp_has_asserts_and_a_setup() {
        let suite = read_text(MBPP, None).expect("it is as published");
        assert_eq!(code(&suite), [("MBPP/2", "def one(): return 1")]);
        let tests =
            json!({"kind": "asserts", "setup": "import math", "asserts": ["assert one() == 1", "assert one() < 2"]});
        assert_eq!(suite.items[0].fields["tests"], tests);
    }

    #[test]
    fn samples_are_joined_by_task() {
        let samples = concat!(
            "{\"task_id\": \"HumanEval/0\", \"completion\": \"    return 2\"}\n",
            "{\"task_id\": \"HumanEval/0\", \"solution\": \"one = int\", \"model\": \"x\"}\n"
        );
        let suite = read_text(HUMAN_EVAL, Some(samples)).expect("they belong together");
        assert_eq!(code(&suite), [("HumanEval/0#0", "def one():\n    return 2"), ("HumanEval/0#1", "one = int")]);
        assert_eq!(suite.items[1].fields["task"], "HumanEval/0");
        for id in ["2", "\"2\"", "\"Mbpp/2\"", "\"MBPP/2\""] {
            let samples = format!("{{\"task_id\": {id}, \"completion\": \"x\"}}");
            let suite = read_text(MBPP, Some(&samples)).expect(id);
            // MBPP has no prompt to go on from: what is sampled is an answer.
            assert_eq!((suite.items[0].id.as_str(), &suite.items[0].fields["completion"]), ("MBPP/2#0", &json!("x")));
        }
    }

    #[test]
    fn problems_without_a_sample_are_told() {
        let two = format!("{HUMAN_EVAL}\n{}", HUMAN_EVAL.replace("HumanEval/0", "HumanEval/1"));
        let suite = read_text(&two, Some("{\"task_id\": \"HumanEval/1\", \"completion\": \"\"}")).expect("they match");
        assert_eq!(suite.warnings, ["1 of 2 problems have no sample and are not counted: HumanEval/0"]);
    }

    #[test]
    fn mistakes_are_told_with_file_and_line() {
        let cases = [
            (HUMAN_EVAL.replace("\"test\"", "\"tets\""), None, "p.jsonl:1: a problem of HumanEval has `test`"),
            (format!("{HUMAN_EVAL}\n\n{{\"task_id\": 3}}"), None, "p.jsonl:3: the field `prompt` is missing"),
            (format!("{HUMAN_EVAL}\n{{"), None, "p.jsonl:2: not JSON: EOF"),
            (format!("{HUMAN_EVAL}\n{HUMAN_EVAL}"), None, "p.jsonl:2: the id \"HumanEval/0\" is that of p.jsonl:1"),
            ("\n".to_owned(), None, "p.jsonl has no items"),
            ("{\"a\": 1}".to_owned(), None, "p.jsonl:1: an item has `id`"),
            ("{\"task_id\": \"x\", \"solution\": \"\"}".to_owned(), None, "p.jsonl:1: these are samples"),
            (
                MBPP.replace("[\"assert one() == 1\"]", "\"x\""),
                None,
                "p.jsonl:1: `test_list` must be a list of strings",
            ),
            (MBPP.to_owned(), Some("{\"task_id\": 3, \"solution\": \"\"}"), "s.jsonl:1: there is no problem \"3\""),
            (MBPP.to_owned(), Some("{\"task_id\": 2}"), "s.jsonl:1: a sample has `solution`"),
            ("{\"id\": \"a\", \"code\": \"1\"}".to_owned(), Some("{}"), "--samples goes with problems"),
        ];
        for (problems, samples, expected) in cases {
            let error = read_text(&problems, samples).expect_err(expected);
            assert!(error.contains(expected), "{error}\n{expected}");
        }
    }

    #[test]
    fn our_own_suites_have_a_head_line_or_none() {
        let suite =
            read_text("{\"defaults\": {\"lint\": true}, \"k\": [1, 2]}\n{\"id\": \"a\", \"code\": \"1\"}", None);
        let suite = suite.expect("it is a suite");
        assert_eq!((suite.ks, suite.defaults.len(), suite.items.len()), (Some(vec![1, 2]), 1, 1));
        assert_eq!(suite.items[0].origin.rsplit(':').next(), Some("2"));
    }
}
