//! Reads suites: our own, and HumanEval's, MBPP's and EvalPlus' files as they are published.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, bail};
use serde_json::{Map, Value as Json, json};

/// Suite of items to grade.
#[derive(Debug, Default)]
pub struct Suite {
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
pub struct Item {
    /// Id of the item, unique in the suite.
    pub id: String,
    /// File and line that the item comes from.
    pub origin: String,
    /// Fields, as `POST /v1/suites` takes them.
    pub fields: Map<String, Json>,
}

/// A line of a file.
struct Line {
    origin: String,
    fields: Map<String, Json>,
}

/// A problem of HumanEval or MBPP.
struct Problem {
    task: String,
    origin: String,
    /// Code that a completion continues.
    prompt: String,
    canonical: Option<String>,
    tests: Json,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Own,
    HumanEval,
    Mbpp,
}

/// Reads the suite at `path`, with the samples at `samples` instead of the canonical solutions.
///
/// # Errors
/// Returns an error that names file and line of the first mistake.
pub fn read(path: &Path, samples: Option<&Path>) -> anyhow::Result<Suite> {
    let lines = lines(path)?;
    let first = lines.first().with_context(|| format!("{} has no items", path.display()))?;
    let kind = kind_of(first)?;
    let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    let mut suite = match kind {
        Kind::Own if samples.is_some() => {
            bail!("--samples goes with problems in the form of HumanEval or MBPP, and {} has items", path.display())
        }
        Kind::Own => own(lines, name)?,
        Kind::HumanEval => problems(lines, human_eval, samples, &format!("{name} (HumanEval)"))?,
        Kind::Mbpp => problems(lines, mbpp, samples, &format!("{name} (MBPP)"))?,
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

/// The objects of a file: one a line, or one JSON document as `POST /v1/suites` takes it.
fn lines(path: &Path) -> anyhow::Result<Vec<Line>> {
    let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    let text = String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8", path.display()))?;
    if path.extension().is_some_and(|extension| extension == "json") {
        return document(path, &text);
    }
    let numbered = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    numbered
        .map(|(index, line)| {
            let origin = format!("{}:{}", path.display(), index + 1);
            let value = serde_json::from_str(line).map_err(|error| {
                anyhow::anyhow!("{origin}: not JSON: {}", error.to_string().replace(" at line 1", ""))
            })?;
            match value {
                Json::Object(fields) => Ok(Line { origin, fields }),
                _ => bail!("{origin}: expected an object"),
            }
        })
        .collect()
}

fn document(path: &Path, text: &str) -> anyhow::Result<Vec<Line>> {
    let value: Json = serde_json::from_str(text).with_context(|| format!("{} is not JSON", path.display()))?;
    let (head, items) = match value {
        Json::Array(items) => (Map::new(), items),
        Json::Object(mut fields) => match fields.shift_remove("items") {
            Some(Json::Array(items)) => (fields, items),
            _ => bail!("{}: `items` must be a list", path.display()),
        },
        _ => bail!("{}: expected a list of items, or an object with `items`", path.display()),
    };
    let mut lines = Vec::with_capacity(items.len() + 1);
    if !head.is_empty() {
        lines.push(Line { origin: path.display().to_string(), fields: head });
    }
    for (index, item) in items.into_iter().enumerate() {
        let origin = format!("{}: items[{index}]", path.display());
        let Json::Object(fields) = item else { bail!("{origin}: expected an object") };
        lines.push(Line { origin, fields });
    }
    Ok(lines)
}

fn is_head(fields: &Map<String, Json>) -> bool {
    !fields.is_empty() && fields.keys().all(|key| matches!(key.as_str(), "defaults" | "k"))
}

fn kind_of(first: &Line) -> anyhow::Result<Kind> {
    let fields = &first.fields;
    let has = |name: &str| fields.contains_key(name);
    if is_head(fields) || (has("id") && (has("code") || has("completion") || has("tests"))) {
        return Ok(Kind::Own);
    }
    match (has("task_id"), has("test_list"), has("test"), has("entry_point")) {
        (true, true, ..) => Ok(Kind::Mbpp),
        (true, _, true, true) => Ok(Kind::HumanEval),
        (true, ..) if has("base_input") || has("plus_input") => bail!(
            "{}: this is EvalPlus' own form, with inputs instead of tests; take its files with `test` (as on Hugging Face)",
            first.origin
        ),
        (true, ..) if has("solution") || has("completion") => {
            bail!("{}: these are samples; name the problems first, and this file with --samples", first.origin)
        }
        (true, ..) => bail!(
            "{}: a problem of HumanEval has `test` and `entry_point`, one of MBPP `test_list`; this has neither",
            first.origin
        ),
        _ => bail!(
            "{}: an item has `id` and `code` (or `completion`), a problem of HumanEval or MBPP `task_id`; this has {}",
            first.origin,
            fields.keys().take(8).map(|key| format!("`{}`", key.escape_debug())).collect::<Vec<_>>().join(", ")
        ),
    }
}

fn own(lines: Vec<Line>, title: String) -> anyhow::Result<Suite> {
    let mut suite = Suite { title, ..Suite::default() };
    for (index, Line { origin, mut fields }) in lines.into_iter().enumerate() {
        if index == 0 && is_head(&fields) {
            match fields.shift_remove("defaults") {
                None | Some(Json::Null) => {}
                Some(Json::Object(defaults)) => suite.defaults = defaults,
                Some(_) => bail!("{origin}: `defaults` must be an object"),
            }
            if let Some(ks) = fields.shift_remove("k") {
                suite.ks = Some(serde_json::from_value(ks).with_context(|| format!("{origin}: `k`"))?);
            }
            continue;
        }
        let id = text(&fields, "id", &origin)?;
        suite.items.push(Item { id, origin, fields });
    }
    Ok(suite)
}

fn text(fields: &Map<String, Json>, name: &str, origin: &str) -> anyhow::Result<String> {
    match fields.get(name) {
        Some(Json::String(text)) => Ok(text.clone()),
        Some(_) => bail!("{origin}: `{name}` must be a string"),
        None => bail!("{origin}: the field `{name}` is missing"),
    }
}

fn optional_text(fields: &Map<String, Json>, name: &str, origin: &str) -> anyhow::Result<Option<String>> {
    match fields.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(_) => text(fields, name, origin).map(Some),
    }
}

/// A list of strings; none where the field is missing.
fn texts(fields: &Map<String, Json>, name: &str, origin: &str) -> anyhow::Result<Vec<String>> {
    match fields.get(name) {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(list) => serde_json::from_value(list.clone())
            .map_err(|_| anyhow::anyhow!("{origin}: `{name}` must be a list of strings")),
    }
}

/// `{task_id, prompt, entry_point, canonical_solution, test}`
fn human_eval(line: &Line) -> anyhow::Result<Problem> {
    let Line { origin, fields } = line;
    let prompt = text(fields, "prompt", origin)?;
    let tests = json!({
        "kind": "check_function", "source": text(fields, "test", origin)?, "entry_point": text(fields, "entry_point", origin)?,
    });
    let canonical = optional_text(fields, "canonical_solution", origin)?.map(|solution| format!("{prompt}{solution}"));
    Ok(Problem { task: text(fields, "task_id", origin)?, origin: origin.clone(), prompt, canonical, tests })
}

/// `{task_id, text | prompt, code, test_list, test_setup_code | test_imports, challenge_test_list}`
fn mbpp(line: &Line) -> anyhow::Result<Problem> {
    let Line { origin, fields } = line;
    let task = match fields.get("task_id") {
        Some(Json::Number(number)) => format!("MBPP/{number}"),
        Some(Json::String(text)) => text.clone(),
        _ => bail!("{origin}: `task_id` must be a number or a string"),
    };
    let mut asserts = texts(fields, "test_list", origin)?;
    if asserts.is_empty() {
        bail!("{origin}: `test_list` has no tests");
    }
    asserts.extend(texts(fields, "challenge_test_list", origin)?);
    let mut setup = texts(fields, "test_imports", origin)?;
    setup.extend(optional_text(fields, "test_setup_code", origin)?.filter(|code| !code.trim().is_empty()));
    let tests = json!({"kind": "asserts", "asserts": asserts, "setup": setup.join("\n")});
    let canonical = optional_text(fields, "code", origin)?;
    // A solution of MBPP does not go on from its prompt, which is prose.
    Ok(Problem { task, origin: origin.clone(), prompt: String::new(), canonical, tests })
}

fn problems(
    lines: Vec<Line>,
    problem: fn(&Line) -> anyhow::Result<Problem>,
    samples: Option<&Path>,
    title: &str,
) -> anyhow::Result<Suite> {
    let problems: Vec<Problem> = lines.iter().map(problem).collect::<anyhow::Result<_>>()?;
    let item = |problem: &Problem, id: String, origin: &str, code: String| {
        let fields = json!({"id": id, "task": problem.task, "code": code, "tests": problem.tests});
        let Json::Object(fields) = fields else { unreachable!("it is written as an object") };
        Item { id, origin: origin.to_owned(), fields }
    };
    let Some(path) = samples else {
        let items = problems.iter().map(|problem| {
            let code = problem.canonical.clone();
            let code =
                code.with_context(|| format!("{}: there is no canonical solution; give --samples", problem.origin))?;
            Ok(item(problem, problem.task.clone(), &problem.origin, code))
        });
        let items = items.collect::<anyhow::Result<_>>()?;
        return Ok(Suite { title: format!("{title}, canonical solutions"), items, ..Suite::default() });
    };
    let by_task: HashMap<String, &Problem> = problems.iter().map(|problem| (normal(&problem.task), problem)).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut items = Vec::new();
    for Line { origin, fields } in self::lines(path)? {
        let task = match fields.get("task_id") {
            Some(Json::String(task)) => task.clone(),
            Some(Json::Number(number)) => number.to_string(),
            _ => bail!("{origin}: a sample has a `task_id`"),
        };
        let problem = by_task
            .get(&normal(&task))
            .with_context(|| format!("{origin}: there is no problem {task:?} in {title}"))?;
        let code = match (optional_text(&fields, "solution", &origin)?, optional_text(&fields, "completion", &origin)?)
        {
            (Some(solution), _) => solution,
            (None, Some(completion)) => format!("{}{completion}", problem.prompt),
            (None, None) => {
                bail!("{origin}: a sample has `solution` (a whole program) or `completion` (what follows the prompt)")
            }
        };
        let count = counts.entry(&problem.task).or_default();
        items.push(item(problem, format!("{}#{count}", problem.task), &origin, code));
        *count += 1;
    }
    let without: Vec<&str> =
        problems.iter().map(|problem| problem.task.as_str()).filter(|task| !counts.contains_key(task)).collect();
    let mut warnings = Vec::new();
    if !without.is_empty() {
        let more = if without.len() > 3 { ", …" } else { "" };
        warnings.push(format!(
            "{} of {} problems have no sample and are not counted: {}{more}",
            without.len(),
            problems.len(),
            without[..without.len().min(3)].join(", ")
        ));
    }
    Ok(Suite { title: format!("{title}, {}", path.display()), items, warnings, ..Suite::default() })
}

/// `Mbpp/2`, `MBPP/2` and `2` are the same task.
fn normal(task: &str) -> String {
    let task = task.to_lowercase();
    if task.parse::<u64>().is_ok() { format!("mbpp/{task}") } else { task }
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
            assert_eq!(code(&read_text(MBPP, Some(&samples)).expect(id)), [("MBPP/2#0", "x")]);
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
