//! Real programs with known outcomes (`data/README.md` beside the cases). Every difference is listed with its reason.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::harness::Server;

/// Where the cases are; the variable is for those who keep them elsewhere.
fn directory() -> PathBuf {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data/cases");
    std::env::var_os("PROOFBOX_CASES").map_or(beside, PathBuf::from)
}

/// The rows of one file, or `None` with a note where the cases are not at hand.
pub(crate) fn rows(file: &str) -> Option<Vec<Value>> {
    let path = directory().join(file).with_extension("jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("{} is not there: its cases are not run (set PROOFBOX_CASES)", path.display());
        return None;
    };
    Some(text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect())
}

/// The request for a case, or `None` for kinds that have no tests.
fn request(row: &Value, grading: &str) -> Option<Value> {
    let mut files = json!({});
    let mut code = row["code"].clone();
    let tests = match row["kind"].as_str()? {
        "asserts" => json!({"kind": "asserts", "asserts": row["tests"], "setup": row["setup"].as_str().unwrap_or("")}),
        "check_function" => {
            json!({"kind": "check_function", "source": row["tests"], "entry_point": row["entry_point"]})
        }
        "stdin_stdout" => json!({"kind": "stdin_stdout", "cases": row["tests"]}),
        "doctest" => json!({"kind": "doctest"}),
        // Of the files of an exercise one is the tests' module and one the solution, which the tests import by its name.
        kind @ "unittest" if row["test_module"].is_string() => {
            let (module, solution) = (row["test_module"].as_str()?, row["entry_point"].as_str()?);
            let mut tests = json!({});
            for (path, content) in row["files"].as_object()? {
                if path.trim_end_matches(".py").replace('/', ".") == module {
                    tests[path] = content.clone();
                } else if path == solution {
                    code = content.clone();
                } else {
                    files[path] = content.clone();
                }
            }
            json!({"kind": kind, "files": tests, "test_module": module, "module": solution.trim_end_matches(".py")})
        }
        kind @ ("unittest" | "pytest") => {
            files = if row["files"].is_object() { row["files"].clone() } else { files };
            json!({"kind": kind, "source": row["tests"]})
        }
        _ => return None,
    };
    Some(json!({"code": code, "files": files, "tests": tests, "grading": grading}))
}

/// What the harness that measured the case saw, in the words of `stderr_class`.
fn native_class(row: &Value) -> Option<&'static str> {
    let native = &row["native"];
    Some(match native["load_exc"].as_str().or(native["exc"].as_str()) {
        None => "none",
        Some("SyntaxError" | "IndentationError" | "TabError") => "syntax_error",
        Some("AssertionError") => "assertion_failure",
        Some("ModuleNotFoundError") => "missing_dependency",
        Some("RecursionError") => "recursion_limit",
        Some("MemoryError") => "memory_limit",
        Some("Timeout") => "timeout",
        Some("SystemExit") => return None,
        Some(_) => "exception",
    })
}

struct Seen {
    counts: usize,
    classes: usize,
    total: usize,
    differences: Vec<String>,
}

/// Programs that never end should not take all the fuel of the default; the slowest right one needs a fifth of this.
const ENDLESS_FUEL: u64 = 20_000_000_000;

async fn run_all(file: &str, grading: &str, fuel: Option<u64>) -> Option<Seen> {
    let server = Server::shared();
    let at_once = Arc::new(Semaphore::new(4));
    let mut running = JoinSet::new();
    for row in rows(file)? {
        let Some(mut request) = request(&row, grading) else { continue };
        if let Some(fuel) = fuel {
            request["limits"] = json!({"fuel": fuel});
        }
        let at_once = Arc::clone(&at_once);
        running.spawn(async move {
            let _place = at_once.acquire_owned().await;
            let answer = server.execute(request).await;
            (row, answer)
        });
    }
    let mut seen = Seen { counts: 0, classes: 0, total: 0, differences: Vec::new() };
    while let Some(done) = running.join_next().await {
        let (row, answer) = done.expect("no request panics");
        seen.total += 1;
        let expect = (&row["expect"]["passed"], &row["expect"]["total"]);
        let counts = (&answer["tests_passed"], &answer["tests_total"]) == expect;
        let class = answer["stderr_class"].as_str().unwrap_or_default();
        let expected_class = native_class(&row);
        let same_class = expected_class
            .is_none_or(|expected| expected == class || (expected == "timeout" && class == "fuel_exhausted"));
        seen.counts += usize::from(counts);
        seen.classes += usize::from(same_class);
        if !counts || !same_class {
            seen.differences.push(format!(
                "{}: {}/{} {class} ({}), expected {}/{} {expected_class:?}",
                row["id"],
                answer["tests_passed"],
                answer["tests_total"],
                answer["error"]["message"],
                expect.0,
                expect.1
            ));
        }
    }
    seen.differences.sort();
    eprintln!("{file} {grading}: {} of {} counts, {} classes", seen.counts, seen.total, seen.classes);
    for difference in &seen.differences {
        eprintln!("  {difference}");
    }
    Some(seen)
}

async fn all_pass(file: &str, grading: &str) {
    let Some(seen) = run_all(file, grading, None).await else { return };
    assert!(seen.counts == seen.total, "{}", seen.differences.join("\n"));
}

async fn nearly_all_as_expected(file: &str, grading: &str) {
    let Some(seen) = run_all(file, grading, Some(ENDLESS_FUEL)).await else { return };
    assert!(seen.counts * 100 >= seen.total * 99, "{}", seen.differences.join("\n"));
    assert!(seen.classes * 100 >= seen.total * 97, "{}", seen.differences.join("\n"));
}

/// Tests for files of cases, in one way of grading or the other.
macro_rules! cases {
    ($($name:ident: $check:ident($file:literal, $grading:literal);)*) => {$(
        #[tokio::test]
        async fn $name() {
            $check($file, $grading).await;
        }
    )*};
}

cases! {
    correct_humaneval_programs_pass: all_pass("humaneval", "isolated");
    correct_humaneval_plus_programs_pass: all_pass("humaneval_plus", "isolated");
    correct_mbpp_programs_pass: all_pass("mbpp", "isolated");
    correct_mbpp_sanitized_programs_pass: all_pass("mbpp_sanitized", "isolated");
    correct_mbpp_plus_programs_pass: all_pass("mbpp_plus", "isolated");
    correct_stdin_programs_pass: all_pass("stdin_gcj", "isolated");
    correct_exercises_pass: all_pass("exercism", "isolated");
    documented_examples_hold: all_pass("doctest", "isolated");
    wrong_mutants_fail_as_expected: nearly_all_as_expected("wrong_mutants", "isolated");
    wrong_completions_fail_as_expected: nearly_all_as_expected("wrong_llm_humaneval", "isolated");
    quixbugs_programs_behave_as_expected: nearly_all_as_expected("quixbugs", "isolated");

    correct_humaneval_programs_pass_in_process: all_pass("humaneval", "in_process");
    correct_mbpp_programs_pass_in_process: all_pass("mbpp", "in_process");
    correct_mbpp_sanitized_programs_pass_in_process: all_pass("mbpp_sanitized", "in_process");
    correct_exercises_pass_in_process: all_pass("exercism", "in_process");
    wrong_mutants_fail_as_expected_in_process: nearly_all_as_expected("wrong_mutants", "in_process");
    wrong_completions_fail_as_expected_in_process: nearly_all_as_expected("wrong_llm_humaneval", "in_process");
    quixbugs_programs_behave_as_expected_in_process: nearly_all_as_expected("quixbugs", "in_process");
}

/// Programs of BigCodeBench that can't do here what they do elsewhere, whoever grades them.
const NOT_POSSIBLE_HERE: &[(&str, &str)] = &[
    ("BigCodeBench/195", "sleeps for 40 s, 30 are the default limit"),
    ("BigCodeBench/273", "the module cgi left Python with 3.13"),
    ("BigCodeBench/274", "the module cgi left Python with 3.13"),
    ("BigCodeBench/566", "reads annotations and defaults of the tests' functions, which are the tests' own"),
    ("BigCodeBench/812", "expects root, or no file modes"),
    ("BigCodeBench/1103", "starts `python`, which the recorded machine lacked"),
];

#[tokio::test]
async fn programs_with_the_standard_library_pass_where_they_can() {
    let Some(seen) = run_all("bigcodebench_stdlib", "auto", None).await else { return };
    let unexplained: Vec<&String> = seen
        .differences
        .iter()
        .filter(|difference| !NOT_POSSIBLE_HERE.iter().any(|(id, _)| difference.starts_with(&format!("\"{id}\""))))
        .collect();
    let possible = seen.total - NOT_POSSIBLE_HERE.len();
    assert!(unexplained.len() * 100 <= possible * 3, "{unexplained:#?}");
}
