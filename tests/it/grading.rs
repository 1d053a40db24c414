//! Tests of each kind that run in the candidate's own interpreter or compare what it prints.

use serde_json::{Value, json};

use crate::harness::{Server, assert_shows};

const ADD: &str = "def add(a, b):\n    return a + b\n";

async fn grade(code: &str, tests: Value) -> Value {
    let mut request = json!({"code": code, "tests": tests});
    if tests["kind"] != "stdin_stdout" {
        request["grading"] = json!("in_process");
    }
    Server::shared().execute(request).await
}

async fn asserts(code: &str, asserts: &[&str]) -> Value {
    grade(code, json!({"kind": "asserts", "asserts": asserts})).await
}

async fn check(code: &str, source: &str) -> Value {
    grade(code, json!({"kind": "check_function", "source": source, "entry_point": "add"})).await
}

async fn script(code: &str, source: &str) -> Value {
    grade(code, json!({"kind": "script", "source": source})).await
}

/// Each case as `status class`.
fn cases(answer: &Value) -> Vec<String> {
    let cases = answer["cases"].as_array().expect("cases");
    let word = |value: &Value| value.as_str().expect("a word").to_owned();
    cases.iter().map(|case| format!("{} {}", word(&case["status"]), word(&case["stderr_class"]))).collect()
}

#[tokio::test]
async fn each_assert_is_a_case_of_its_own() {
    let answer = asserts(
        ADD,
        &["assert add(1, 2) == 3", "assert add(1, 2) == 4, 'four'", "1 / 0", "x =", "assert add(2, 2) == 4"],
    )
    .await;
    assert_shows(
        &answer,
        json!({
            "status": "failed", "exit_code": 1, "stderr_class": "assertion_failure", "tests_passed": 2, "tests_total": 5,
            "compiled": true, "error": {"type": "AssertionError", "message": "four"},
            "integrity": {"level": "in_process", "planned": 5, "reported": 5, "signals": []},
        }),
    );
    assert_eq!(
        cases(&answer),
        ["passed none", "failed assertion_failure", "error exception", "error syntax_error", "passed none"]
    );
    assert_shows(
        &answer["cases"][1],
        json!({"name": "assert add(1, 2) == 4, 'four'", "message": "AssertionError: four"}),
    );
    assert!(answer["cases"][0]["fuel_used"].as_u64() > Some(0), "{answer}");
}

#[tokio::test]
async fn setup_comes_before_the_asserts() {
    let with = |setup: &str| json!({"kind": "asserts", "setup": setup, "asserts": ["assert add(1, 2) == y"]});
    assert_shows(&grade(ADD, with("y = 3")).await, json!({"status": "passed", "tests_passed": 1}));
    let failing = grade(ADD, with("y = 1 / 0")).await;
    assert_shows(
        &failing,
        json!({"status": "failed", "tests_passed": 0, "tests_total": 1, "stderr_class": "exception", "exit_code": 1}),
    );
    assert_eq!(cases(&failing), ["not_run none"]);
    assert_shows(
        &grade(ADD, with("y =")).await,
        json!({"status": "failed", "stderr_class": "syntax_error", "compiled": true}),
    );
}

#[tokio::test]
async fn check_is_split_into_its_asserting_statements() {
    let source = "\
def helper(x):
    assert True
def check(candidate):
    assert candidate(1, 2) == 3
    for i in range(3):
        assert candidate(i, i) == 2 * i
    helper(1)
    x = 5
    assert candidate(x, 1) == 7, 'six'
    with open('missing'):
        assert True
    assert candidate(0, 0) == 0
";
    let answer = check(ADD, source).await;
    assert_shows(
        &answer,
        json!({"status": "failed", "tests_passed": 3, "tests_total": 5, "error": {"type": "AssertionError", "message": "six"}}),
    );
    assert_eq!(
        cases(&answer),
        ["passed none", "passed none", "failed assertion_failure", "error exception", "passed none"]
    );
    assert_eq!(answer["cases"][1]["name"], "for i in range(3): assert candidate(i, i) == 2 * i");
}

#[tokio::test]
async fn a_statement_that_asserts_somewhere_inside_is_a_case() {
    let source = "\
def check(candidate):
    'Not a case.'
    if False:
        pass
    elif True:
        assert True
    while True:
        break
    else:
        assert True
    for _ in ():
        pass
    else:
        assert True
    try:
        1 / 0
    except ZeroDivisionError:
        assert True
    try:
        pass
    finally:
        assert True
    try:
        raise ExceptionGroup('', [ValueError()])
    except* ValueError:
        assert True
    match candidate(1, 2):
        case 3:
            pass
        case _:
            assert True
    def inner():
        assert False
    class Inner:
        assert True
    assert True; assert candidate('é', '') == 'é'
";
    let answer = check(ADD, source).await;
    assert_shows(&answer, json!({"status": "passed", "tests_passed": 9, "tests_total": 9}));
    assert_eq!(answer["cases"][0]["name"], "if False: pass elif True: assert True");
    assert_eq!(answer["cases"][8]["name"], "assert candidate('é', '') == 'é'");
}

#[tokio::test]
async fn a_check_without_asserts_is_one_case() {
    assert_shows(
        &check(ADD, "def check(candidate):\n    candidate(1, 2)\n").await,
        json!({"status": "passed", "tests_passed": 1, "tests_total": 1}),
    );
    let failing =
        check(ADD, "def check(candidate):\n    if candidate(1, 2) != 4:\n        raise ValueError('four')\n").await;
    assert_shows(
        &failing,
        json!({"status": "failed", "tests_total": 1, "cases": [{"status": "error", "message": "ValueError: four"}]}),
    );
}

#[tokio::test]
async fn what_fails_between_the_asserts_leaves_the_rest_unrun() {
    let answer = check(
        ADD,
        "def check(candidate):\n    assert candidate(1, 2) == 3\n    1 / 0\n    assert candidate(1, 2) == 3\n",
    )
    .await;
    assert_shows(
        &answer,
        json!({"status": "failed", "tests_passed": 1, "tests_total": 2, "error": {"type": "ZeroDivisionError"}}),
    );
    assert_eq!(cases(&answer), ["passed none", "not_run none"]);
}

#[tokio::test]
async fn a_missing_entry_point_or_check_is_named() {
    let missing =
        check("def sub(a, b):\n    return a - b\n", "def check(candidate):\n    assert candidate(1, 2) == 3\n").await;
    assert_shows(
        &missing,
        json!({"status": "failed", "tests_passed": 0, "tests_total": 1, "error": {"type": "NameError", "message": "name 'add' is not defined"}}),
    );
    let unchecked = check(ADD, "x = 1").await;
    assert_shows(
        &unchecked,
        json!({"status": "failed", "tests_passed": 0, "tests_total": 1, "error": {"type": "NameError", "message": "name 'check' is not defined"}}),
    );
    assert_shows(
        &check(ADD, "def check(candidate:").await,
        json!({"status": "failed", "tests_passed": 0, "stderr_class": "syntax_error"}),
    );
    assert_shows(
        &check(ADD, "def check(candidate):\n    assert candidate(1, 2) == 3\nreturn\n").await,
        json!({
            "status": "failed", "tests_passed": 0, "stderr_class": "syntax_error",
            "cases": [{"name": "assert candidate(1, 2) == 3", "status": "not_run"}],
        }),
    );
}

#[tokio::test]
async fn a_script_passes_when_it_comes_to_its_end() {
    assert_shows(
        &script(ADD, "assert add(1, 2) == 3").await,
        json!({"status": "passed", "tests_passed": 1, "tests_total": 1}),
    );
    assert_shows(&script(ADD, "from solution import add\nassert add(1, 2) == 3").await, json!({"status": "passed"}));
    let failing = script(ADD, "assert add(1, 2) == 4, 'four'").await;
    assert_shows(
        &failing,
        json!({"status": "failed", "stderr_class": "assertion_failure", "cases": [{"name": "script", "status": "failed"}]}),
    );
}

#[tokio::test]
async fn leaving_early_is_no_pass() {
    let left = |case: Option<&str>| {
        let cases: Vec<Value> = case.into_iter().map(|status| json!({"status": status})).collect();
        let mut expected =
            json!({"status": "failed", "tests_passed": 0, "exit_code": 1, "error": {"type": "SystemExit"}});
        if !cases.is_empty() {
            expected["cases"] = json!(cases);
        }
        expected
    };
    for leave in ["raise SystemExit", "import sys; sys.exit(0)", "exit()", "import os; os._exit(0)"] {
        assert_shows(&asserts(&format!("{ADD}{leave}"), &["assert add(1, 2) == 3"]).await, left(Some("not_run")));
        assert_shows(&script(ADD, leave).await, left(Some("error")));
        let in_function = format!("def add(a, b):\n    {leave}\n");
        assert_shows(&asserts(&in_function, &["assert add(1, 2) == 3"]).await, left(Some("error")));
        assert_shows(
            &check(&in_function, "def check(candidate):\n    assert candidate(1, 2) == 3\n").await,
            left(Some("error")),
        );
    }
}

#[tokio::test]
async fn a_limit_met_in_a_case_leaves_the_rest_unrun() {
    let tests =
        json!({"kind": "asserts", "asserts": ["assert add(1, 2) == 3", "while True: pass", "assert add(1, 2) == 3"]});
    let request = json!({"code": ADD, "tests": tests, "grading": "in_process", "limits": {"fuel": 200_000_000}});
    let answer = Server::shared().execute(request).await;
    assert_shows(
        &answer,
        json!({"status": "failed", "exit_code": 124, "stderr_class": "fuel_exhausted", "tests_passed": 1, "tests_total": 3}),
    );
    assert_eq!(cases(&answer), ["passed none", "error fuel_exhausted", "not_run none"]);
}

#[tokio::test]
async fn a_candidate_that_does_not_compile_passes_nothing() {
    for (code, class) in
        [("def add(a, b:", "syntax_error"), ("import pandas", "missing_dependency"), ("1 / 0", "exception")]
    {
        let answer = asserts(code, &["assert add(1, 2) == 3", "assert True"]).await;
        assert_shows(
            &answer,
            json!({"status": "failed", "compiled": false, "stderr_class": class, "tests_passed": 0, "tests_total": 2}),
        );
        assert_eq!(cases(&answer), ["not_run none", "not_run none"]);
    }
}

fn stdin_cases(cases: &[(&str, &str)]) -> Value {
    let cases: Vec<Value> =
        cases.iter().map(|(stdin, expected)| json!({"stdin": stdin, "expected_stdout": expected})).collect();
    json!({"kind": "stdin_stdout", "cases": cases})
}

#[tokio::test]
async fn programs_are_graded_by_what_they_print() {
    let answer = grade("print(int(input()) * 2)", stdin_cases(&[("2", "4"), ("3", "7"), ("x", "")])).await;
    assert_shows(
        &answer,
        json!({
            "status": "failed", "stderr_class": "assertion_failure", "tests_passed": 1, "tests_total": 3, "stdout": "6\n",
            "integrity": {"level": "isolated", "planned": 3, "reported": 3},
        }),
    );
    assert_eq!(cases(&answer), ["passed none", "failed assertion_failure", "error exception"]);
    assert_eq!(answer["cases"][1]["message"], "at 1: expected \"7\", got \"6\"");
}

#[tokio::test]
async fn each_case_is_a_fresh_run_with_its_own_arguments() {
    let code = "import sys\nopen('f', 'a').write('x')\nprint(sys.argv[1:], open('f').read())";
    let cases = json!([{"expected_stdout": "['a'] x", "args": ["a"], "name": "own"}, {"expected_stdout": "['q'] x"}]);
    let tests = json!({"kind": "stdin_stdout", "cases": cases});
    let answer = Server::shared().execute(json!({"code": code, "tests": tests, "args": ["q"]})).await;
    assert_shows(
        &answer,
        json!({"status": "passed", "tests_passed": 2, "cases": [{"name": "own"}, {"name": "case 2"}]}),
    );
}

#[tokio::test]
async fn output_is_compared_as_it_is_asked_for() {
    // What is printed, what is expected, and the ways of comparing under which they are equal.
    let close = json!({"close": {"rtol": 1e-3, "atol": 0.0}});
    let ways = [json!("exact"), json!("trimmed"), json!("tokens"), json!("unordered"), close];
    let pairs = [
        ("1 2\n", "1 2\n", [true, true, true, true, true]),
        ("1 \n2", "1\n2\n", [false, true, true, true, true]),
        ("1   2", "1 2", [false, false, true, false, true]),
        ("2\n1", "1\n2", [false, false, false, true, false]),
        ("1.0001 x", "1 x", [false, false, false, false, true]),
        ("1.01 x", "1 x", [false, false, false, false, false]),
        ("", "1", [false, false, false, false, false]),
        ("1", "", [false, false, false, false, false]),
    ];
    for (printed, expected, equal) in pairs {
        for (compare, equal) in ways.iter().zip(equal) {
            let mut tests = stdin_cases(&[(printed, expected)]);
            tests["compare"] = compare.clone();
            let answer = grade("import sys\nsys.stdout.write(sys.stdin.read())", tests).await;
            assert_eq!(answer["status"] == "passed", equal, "{printed:?} and {expected:?} by {compare}");
        }
    }
}

#[tokio::test]
async fn a_program_that_fails_after_printing_the_right_thing_has_failed() {
    for (end, class, exit_code) in
        [("sys.exit(3)", "nonzero_exit", 3), ("1 / 0", "exception", 1), ("sys.exit(0)", "none", 0)]
    {
        let answer = grade(&format!("import sys\nprint(4)\n{end}"), stdin_cases(&[("", "4")])).await;
        let status = if exit_code == 0 { "passed" } else { "failed" };
        assert_shows(&answer, json!({"status": status, "stderr_class": class, "exit_code": exit_code}));
    }
}

#[tokio::test]
async fn output_that_was_cut_is_never_taken_for_right() {
    let tests = stdin_cases(&[("", &"x".repeat(5000))]);
    let answer = Server::shared()
        .execute(json!({"code": "print('x' * 5000)", "tests": tests, "limits": {"output_bytes": 1000}}))
        .await;
    assert_shows(&answer, json!({"status": "failed", "tests_passed": 0, "stderr_class": "output_limit"}));
}
