//! The red-team corpus (`tests/redteam`): programs that try to pass without being right. Graded where the candidate is
//! not, none may pass a single case, and every right program must pass. Its README says what there is, and which of
//! them fool grading in the candidate's own interpreter; the tests here hold it to that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::cases::rows;
use crate::harness::Server;

/// Kinds whose grading in process the README's table does not speak of.
const NOT_IN_THE_TABLE: &[&str] = &["function_cases", "unittest", "pytest", "evaluator"];

/// Files in `kinds` of whose cases some hold for wrong programs, too: adding a number to a text raises what it should.
const TRUE_OF_WRONG_CODE: &[&str] = &["function_cases_raises"];

/// Files in `kinds` whose tests can't be said when they run apart from the candidate: right programs fail there too.
const NOT_TO_BE_SAID_APART: &[&str] = &["class_derived"];

/// A run that meets a limit may be followed by three more in fresh interpreters, and there is one that runs the tests.
const RUNS_OF_ONE_SUBMISSION: u64 = 5;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/redteam")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Name and content of the files of a directory that end so, by name.
fn files(directory: &str, extension: &str) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(corpus().join(directory)).expect("the corpus is checked in");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let named = paths.filter_map(|path| {
        let name = path.file_name()?.to_str()?.strip_suffix(extension)?.to_owned();
        (!name.contains('.')).then(|| (name, read(&path)))
    });
    named.collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Grading {
    Isolated,
    InProcess,
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Right,
    Wrong,
    Cheat,
}

struct Candidate {
    role: Role,
    name: String,
    code: String,
}

impl Candidate {
    /// Some are right for a few inputs before they cheat, or by chance.
    fn is_right_in_part(&self) -> bool {
        self.code.lines().nth(1).is_some_and(|line| line.starts_with("# Right in part:"))
    }

    fn has_class(&self) -> bool {
        self.code.contains("class Calculator")
    }

    /// Its program for tests of this kind, or `None` where it has nothing to be tested.
    fn program(&self, kind: &Kind) -> Option<String> {
        let is_only_a_class = self.has_class() && !self.code.contains("\ndef add(");
        match kind.suffix() {
            Some(Suffix::Class) if self.has_class() => Some(self.code.clone()),
            _ if is_only_a_class => None,
            None => Some(self.code.clone()),
            Some(Suffix::Class) => Some(format!("{}{}", self.code, read(&corpus().join("kinds/class.suffix.py")))),
            Some(Suffix::Program) => {
                Some(format!("{}{}", self.code, read(&corpus().join("kinds/stdin_stdout.suffix.py"))))
            }
        }
    }
}

/// What makes a function something else.
enum Suffix {
    /// A class with a method that calls it.
    Class,
    /// A program that reads two numbers and prints what it gives.
    Program,
}

struct Kind {
    name: String,
    /// Without `code` and `grading`.
    request: Value,
}

impl Kind {
    fn suffix(&self) -> Option<Suffix> {
        if self.name.starts_with("class_") {
            Some(Suffix::Class)
        } else if self.name.starts_with("stdin_stdout") {
            Some(Suffix::Program)
        } else {
            None
        }
    }

    /// As the API names it.
    fn word(&self) -> &str {
        self.request["tests"]["kind"].as_str().expect("every request has tests of a kind")
    }

    fn limit(&self, name: &str) -> f64 {
        self.request["limits"][name].as_f64().expect("every request has this limit")
    }
}

fn candidates() -> Vec<Candidate> {
    let of = |directory, role: fn(&str) -> Role| {
        files(directory, ".py").into_iter().map(move |(name, code)| Candidate { role: role(&name), name, code })
    };
    let control = |name: &str| if name.starts_with("correct") { Role::Right } else { Role::Wrong };
    of("controls", control).chain(of("cheats", |_| Role::Cheat)).collect()
}

fn kinds() -> Vec<Kind> {
    let named = files("kinds", ".json").into_iter();
    named.map(|(name, text)| Kind { name, request: serde_json::from_str(&text).expect("each is JSON") }).collect()
}

struct Graded {
    candidate: Arc<Candidate>,
    kind: Arc<Kind>,
    status: u16,
    answer: Value,
}

impl Graded {
    fn is_fooled(&self) -> bool {
        self.answer["status"] == "passed"
    }

    fn passed_cases(&self) -> u64 {
        self.answer["tests_passed"].as_u64().unwrap_or(0)
    }

    /// `always_equal x unittest: …`
    fn says(&self, what: &str) -> String {
        let answer: String = self.answer.to_string().chars().take(600).collect();
        format!("{} x {}: {what}: {answer}", self.candidate.name, self.kind.name)
    }

    /// What is wrong with this answer of isolated grading.
    fn objection(&self) -> Option<String> {
        let answer = &self.answer;
        let limit = |name| self.kind.limit(name) * (RUNS_OF_ONE_SUBMISSION * self.runs()) as f64;
        let used = |name: &str| answer[name].as_f64().unwrap_or(f64::INFINITY);
        let objection = if self.status != 200 {
            "no answer"
        } else if self.candidate.role == Role::Right {
            if self.is_fooled() || NOT_TO_BE_SAID_APART.contains(&self.kind.name.as_str()) {
                return None;
            }
            "right, and does not pass"
        } else if self.is_fooled() {
            "FOOLED"
        } else if answer["status"] != "failed" || answer["stderr_class"] == "infrastructure_error" {
            "the service failed, not the candidate"
        } else if self.passed_cases() > 0
            && !self.candidate.is_right_in_part()
            && !TRUE_OF_WRONG_CODE.contains(&self.kind.name.as_str())
        {
            "passes a case"
        } else if answer["tests_total"] == 0 {
            "nothing was planned"
        } else if answer["integrity"]["level"] != "isolated" {
            "not isolated"
        } else if used("execution_seconds") > limit("wall_seconds") || used("fuel_used") > limit("fuel") {
            "takes more than its limits"
        } else {
            return None;
        };
        Some(self.says(objection))
    }

    /// Each case is a run with limits of its own.
    fn runs(&self) -> u64 {
        let cases = self.kind.request["tests"]["cases"].as_array().map_or(1, Vec::len);
        cases as u64
    }
}

/// Every candidate with every kind that is not in `not_yet`; those must be refused.
async fn grade_all(grading: Grading, without: &[&str]) -> Vec<Graded> {
    let server = Server::shared();
    let at_once = Arc::new(Semaphore::new(4));
    let mut running = JoinSet::new();
    let kinds: Vec<Arc<Kind>> = kinds().into_iter().map(Arc::new).collect();
    for candidate in candidates().into_iter().map(Arc::new) {
        for kind in &kinds {
            let Some(code) = candidate.program(kind) else { continue };
            if without.contains(&kind.word()) {
                continue;
            }
            let mut request = kind.request.clone();
            request["code"] = json!(code);
            // What is compared on the host is isolated whatever is asked for.
            let in_process = grading == Grading::InProcess && kind.word() != "stdin_stdout";
            request["grading"] = json!(if in_process { "in_process" } else { "isolated" });
            let (at_once, candidate, kind) = (Arc::clone(&at_once), Arc::clone(&candidate), Arc::clone(kind));
            running.spawn(async move {
                let _place = at_once.acquire_owned().await;
                let (status, answer) = server.post("/v1/execute", &request).await;
                Graded { candidate, kind, status, answer }
            });
        }
    }
    let mut graded = Vec::new();
    while let Some(done) = running.join_next().await {
        graded.push(done.expect("no request panics"));
    }
    graded.sort_by(|a, b| (&a.candidate.name, &a.kind.name).cmp(&(&b.candidate.name, &b.kind.name)));
    graded
}

/// Candidate by candidate: where it passes, where it passes some cases, and of how many kinds.
fn table(graded: &[Graded]) -> String {
    let mut lines = BTreeMap::new();
    for one in graded {
        let (fooled, partly, of) = lines.entry(&one.candidate.name).or_insert((Vec::new(), Vec::new(), 0));
        *of += 1;
        if one.is_fooled() {
            fooled.push(one.kind.name.clone());
        } else if one.passed_cases() > 0 {
            partly.push(format!("{} {}/{}", one.kind.name, one.passed_cases(), one.answer["tests_total"]));
        }
    }
    let line = |(name, (fooled, partly, of)): (&String, (Vec<String>, Vec<String>, u32))| {
        format!("{name:32} passes {:2} of {of}: {} | in part: {}", fooled.len(), fooled.join(" "), partly.join(", "))
    };
    lines.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn no_cheat_passes_a_case_where_the_candidate_is_not() {
    let graded = grade_all(Grading::Isolated, &[]).await;
    eprintln!("{}", table(&graded));
    let cheats: BTreeSet<&str> =
        graded.iter().filter(|one| one.candidate.role == Role::Cheat).map(|one| one.candidate.name.as_str()).collect();
    let fooling: BTreeSet<&str> = graded
        .iter()
        .filter(|one| one.candidate.role == Role::Cheat && one.is_fooled())
        .map(|one| one.candidate.name.as_str())
        .collect();
    eprintln!("isolated: {} gradings; {} of {} cheats fool it", graded.len(), fooling.len(), cheats.len());
    let objections: Vec<String> = graded.iter().filter_map(Graded::objection).collect();
    assert!(objections.is_empty(), "{} objections\n{}", objections.len(), objections.join("\n"));
}

/// Name of the cheat -> what its row in the README says of grading in process.
fn rows_of_the_readme() -> BTreeMap<String, String> {
    let readme = read(&corpus().join("README.md"));
    let rows = readme.lines().filter(|line| line.starts_with("| `") && line.contains(" | "));
    let cells = rows.map(|row| row.trim_matches('|').split(" | ").map(|cell| cell.trim().replace('`', "")).collect());
    let rows = cells.filter(|cells: &Vec<String>| cells.len() >= 4).map(|cells: Vec<String>| {
        assert_eq!(cells[cells.len() - 1], "-", "the column of isolated grading: {cells:?}");
        (cells[0].clone(), cells[cells.len() - 2].clone())
    });
    rows.collect()
}

#[tokio::test]
async fn the_readme_of_the_corpus_says_which_cheats_fool_grading_in_process() {
    let graded = grade_all(Grading::InProcess, NOT_IN_THE_TABLE).await;
    eprintln!("{}", table(&graded));
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let mut objections = Vec::new();
    for one in &graded {
        match one.candidate.role {
            Role::Right if !one.is_fooled() => objections.push(one.says("right, and does not pass")),
            Role::Wrong if one.is_fooled() => objections.push(one.says("wrong, and passes")),
            Role::Right | Role::Wrong => {}
            Role::Cheat => {
                let cell = seen.entry(one.candidate.name.clone()).or_insert_with(|| "-".to_owned());
                if one.is_fooled() {
                    "FOOLED".clone_into(cell);
                } else if one.passed_cases() > 0 && !one.candidate.is_right_in_part() && cell == "-" {
                    "in part".clone_into(cell);
                }
            }
        }
    }
    let fooling = seen.values().filter(|cell| *cell == "FOOLED").count();
    eprintln!("in process: {} gradings; {fooling} of {} cheats fool it", graded.len(), seen.len());
    assert!(objections.is_empty(), "{}", objections.join("\n"));
    assert_eq!(rows_of_the_readme(), seen);
}

/// Rows of which more cases pass here than where they were measured, and why that fools nobody.
const RIGHT_IN_PART: &[(&str, u64, &str)] = &[
    ("hostile/cheat/os_exit_after_one", 2, "the case after the exit has a fresh interpreter, which answers it rightly"),
    ("hostile/cheat/unittest_skip_all", 1, "its patch of unittest does not reach the tests, one of which holds for it"),
];

/// The rows of the measuring set that cheat.
#[tokio::test]
async fn cheats_of_the_measuring_set_fool_nobody() {
    let rows = rows("hostile").unwrap_or_default();
    let mut objections = Vec::new();
    for row in rows.iter().filter(|row| row["category"] == "cheat") {
        let tests = match row["kind"].as_str().expect("a kind") {
            "asserts" => json!({"kind": "asserts", "asserts": row["tests"]}),
            kind => {
                let source = row["tests"].as_str().expect("source");
                json!({"kind": kind, "source": format!("from solution import add\n{source}")})
            }
        };
        let (status, answer) = Server::shared()
            .post("/v1/execute", &json!({"code": row["code"], "tests": tests, "grading": "isolated"}))
            .await;
        let passed = &answer["tests_passed"];
        let mut allowed = match &row["want_check"]["passed"] {
            Value::Array(numbers) => numbers.clone(),
            number => vec![number.clone()],
        };
        // Where the set allows for a grader that is fooled, and for one that is not, this is one that is not.
        if allowed.contains(&json!(0)) {
            allowed.retain(|number| *number != row["want_check"]["total"]);
        }
        allowed.extend(RIGHT_IN_PART.iter().filter(|(id, ..)| row["id"] == *id).map(|(_, passed, _)| json!(passed)));
        let stdout = answer["stdout"].as_str().unwrap_or("");
        let tells = row["forbid_stdout"].as_str().is_some_and(|text| stdout.contains(text));
        if status != 200 || !allowed.contains(passed) || answer["status"] == "infrastructure_error" || tells {
            objections.push(format!("{}: {allowed:?} may pass\n{answer}", row["id"]));
        }
    }
    assert!(objections.is_empty(), "{}", objections.join("\n"));
}

#[test]
fn every_cheat_says_what_it_tries() {
    for candidate in candidates() {
        let first = candidate.code.lines().next().unwrap_or("").trim_matches('"');
        assert!(first.starts_with("# ") && first.ends_with('.'), "{}: {first}", candidate.name);
    }
}
