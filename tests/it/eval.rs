//! `proofbox eval`: suites from files, graded here or by a server.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::harness::{Server, assert_shows, proofbox};

/// Two problems in the form of HumanEval.
const HUMAN_EVAL: &str = concat!(
    r#"{"task_id": "HumanEval/0", "prompt": "def double(x):\n    \"\"\" Twice x. \"\"\"\n", "entry_point": "double", "#,
    r#""canonical_solution": "    return 2 * x\n", "test": "METADATA = {}\n\ndef check(candidate):\n    assert candidate(1) == 2\n    assert candidate('a') == 'aa'\n"}"#,
    "\n",
    r#"{"task_id": "HumanEval/1", "prompt": "def half(x):\n", "entry_point": "half", "#,
    r#""canonical_solution": "    return x // 2\n", "test": "def check(candidate):\n    assert candidate(4) == 2\n"}"#,
    "\n",
);

/// Two problems in the form of MBPP: the full and the sanitized set.
const MBPP: &str = concat!(
    r#"{"task_id": 1, "text": "Add.", "code": "def add(a, b):\n    return a + b", "test_setup_code": "", "test_list": ["assert add(1, 2) == 3", "assert add(0, 0) == 0"], "challenge_test_list": ["assert add(-1, 1) == 0"]}"#,
    "\n",
    r#"{"task_id": 2, "prompt": "Root.", "code": "import math\ndef root(x):\n    return math.sqrt(x)", "test_imports": ["import math"], "test_list": ["assert math.isclose(root(4), 2)"]}"#,
    "\n",
);

struct Eval {
    directory: tempfile::TempDir,
}

impl Eval {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        for (name, content) in files {
            std::fs::write(directory.path().join(name), content).expect("a file");
        }
        Self { directory }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = proofbox(&["--workers", "1", "eval"]);
        command.args(arguments).current_dir(self.directory.path()).output().expect("the binary was built for this test")
    }

    /// Exit code, stdout and stderr.
    fn picture(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let output = self.run(arguments);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.path(name)).expect("it was written")).expect("it is JSON")
    }
}

#[test]
fn canonical_solutions_of_humaneval_and_mbpp_pass() {
    let eval = Eval::new(&[("he.jsonl", HUMAN_EVAL), ("mbpp.jsonl", MBPP)]);
    for (file, cases) in [("he.jsonl", 3), ("mbpp.jsonl", 4)] {
        let (code, stdout, stderr) = eval.picture(&[file, "--grading", "in_process", "--json", "out.json"]);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stdout.contains("2 of 2 graded, 100.0 %"), "{stdout}");
        assert_shows(
            &eval.json("out.json")["report"],
            json!({"passed": 2, "tests_passed": cases, "pass_at_k": {"1": 1.0}}),
        );
    }
}

#[test]
fn samples_are_graded_and_counted_by_task() {
    let samples = concat!(
        "{\"task_id\": \"HumanEval/0\", \"completion\": \"    return x + x\\n\"}\n",
        "{\"task_id\": \"HumanEval/0\", \"completion\": \"    return 2\\n\"}\n",
        "{\"task_id\": \"HumanEval/1\", \"solution\": \"def half(x): return x / 2\"}\n",
        "{\"task_id\": \"HumanEval/1\", \"solution\": \"def half(x):\"}\n",
    );
    let eval = Eval::new(&[("he.jsonl", HUMAN_EVAL), ("s.jsonl", samples)]);
    let arguments = ["he.jsonl", "--samples", "s.jsonl", "--grading", "in_process", "--k", "1,2", "--json", "out.json"];
    let (code, stdout, stderr) = eval.picture(&arguments);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("HumanEval/1#1") && stdout.contains("syntax_error"), "{stdout}");
    let out = eval.json("out.json");
    assert_shows(&out["report"], json!({"passed": 2, "failed": 2, "tasks": 2, "pass_at_k": {"1": 0.5, "2": 1.0}}));
    let ids: Vec<&str> =
        out["results"].as_array().expect("a list").iter().filter_map(|line| line["id"].as_str()).collect();
    assert_eq!(ids, ["HumanEval/0#0", "HumanEval/0#1", "HumanEval/1#0", "HumanEval/1#1"]);
}

/// Grades a file of problems with samples, and returns the status of each item.
fn statuses(files: &[(&str, &str)], arguments: &[&str]) -> Vec<(String, String)> {
    let eval = Eval::new(files);
    let (code, _, stderr) = eval.picture(&[arguments, &["--json", "out.json"]].concat());
    assert_eq!(code, Some(0), "{stderr}");
    let out = eval.json("out.json");
    let text = |line: &Value, field: &str| line[field].as_str().unwrap_or_default().to_owned();
    let results = out["results"].as_array().expect("a list");
    results
        .iter()
        .map(|line| (text(line, "id"), format!("{} {}", text(line, "status"), text(line, "stderr_class"))))
        .collect()
}

fn named(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(id, status)| ((*id).to_owned(), (*status).to_owned())).collect()
}

#[test]
fn live_code_bench_is_read_as_it_is_published() {
    let private = json!([{"input": "5\n", "output": "10\n", "testtype": "stdin"}]).to_string();
    // As Python's pickle has a string, compressed with zlib.
    let length = u32::try_from(private.len()).expect("it is short").to_le_bytes();
    let pickle = [&[0x80, 4, b'X'][..], &length, private.as_bytes(), b"\x94."].concat();
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, &pickle).expect("it is memory");
    let packed =
        base64::Engine::encode(&base64::engine::general_purpose::STANDARD, encoder.finish().expect("it is memory"));
    let public = json!([{"input": "2\n", "output": "4\n", "testtype": "stdin"}]).to_string();
    let calls = json!({"inputs": ["[3, 1, 2]\n2"], "outputs": ["[3, 2]"], "fn_name": "largest"}).to_string();
    let large = json!({"inputs": ["36893488147419103233"], "outputs": ["36893488147419103234"], "fn_name": "after"});
    let lines = json!([{"input": "2\n", "output": "2.0 1\na b\n", "testtype": "stdin"}]).to_string();
    let problems = [
        json!({"question_id": "a", "difficulty": "easy", "public_test_cases": public, "private_test_cases": packed, "metadata": "{}"}),
        json!({"question_id": "b", "input_output": calls}),
        json!({"question_id": "c", "input_output": large.to_string()}),
        json!({"question_id": "d", "public_test_cases": lines, "private_test_cases": "[]", "metadata": "{}"}),
    ];
    let problems: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
    // `List` and `nlargest` come from the prelude.
    let method =
        "class Solution:\n    def largest(self, xs: List[int], n: int) -> List[int]:\n        return nlargest(n, xs)\n";
    let samples = json!([
        {"question_id": "a", "code_list": ["print(2 * int(input()))", "print(4)"]},
        {"question_id": "b", "output_list": [format!("Like this:\n```python\n{method}```\n"), "I can't do that."]},
        {"question_id": "c", "code_list": ["def after(n): return n + 1", "def after(n): return float(n + 1)"]},
        {"question_id": "d", "code_list": ["print('2 1.00 ')\nprint('a b')", "print('2.0 1 a b')", "print('2.0 1')\nprint('a  b')"]},
    ]);
    let seen =
        statuses(&[("p.jsonl", &problems), ("s.json", &samples.to_string())], &["p.jsonl", "--samples", "s.json"]);
    let expected = [
        ("a#0", "passed none"),
        ("a#1", "failed assertion_failure"),
        ("b#0", "passed none"),
        ("b#1", "failed no_code"),
        ("c#0", "passed none"),
        ("c#1", "failed assertion_failure"),
        // Lines of numbers are compared as numbers, others as text.
        ("d#0", "passed none"),
        ("d#1", "failed assertion_failure"),
        ("d#2", "failed assertion_failure"),
    ];
    assert_eq!(seen, named(&expected));
}

#[test]
fn evalplus_own_form_is_graded_by_its_canonical_solution() {
    let problems = concat!(
        r#"{"task_id": "HumanEval/0", "prompt": "def half(x):\n", "entry_point": "half", "canonical_solution": "    return x / 2\n", "base_input": [[4]], "plus_input": [[0.3], [1e308]], "atol": 0, "contract": ""}"#,
        "\n",
        r#"{"task_id": "Mbpp/2", "prompt": "\"\"\"Common items.\"\"\"\n", "entry_point": "similar_elements", "canonical_solution": "def similar_elements(a, b):\n    return tuple(set(a) & set(b))\n", "base_input": [[[3, 4], [4, 5]]], "plus_input": [], "atol": 0}"#,
        "\n",
        // As Python writes numbers that JSON does not have.
        r#"{"task_id": "Mbpp/3", "prompt": "\"\"\"Is it Infinity?\"\"\"\n", "entry_point": "least", "canonical_solution": "def least(xs):\n    return min(xs)\n", "base_input": [[[1, 2]]], "plus_input": [[[1, NaN]], [[-Infinity, 0]], [["NaN", "-Infinity\""]]], "atol": 0}"#,
        "\n",
    );
    assert_eq!(
        statuses(&[("p.jsonl", problems)], &["p.jsonl"]),
        named(&[("HumanEval/0", "passed none"), ("Mbpp/2", "passed none"), ("Mbpp/3", "passed none")])
    );
    let samples = concat!(
        r#"{"task_id": "HumanEval/0", "completion": "    return x // 2\n"}"#,
        "\n",
        r#"{"task_id": "Mbpp/2", "solution": "def similar_elements(a, b):\n    assert isinstance(a, tuple)\n    return [x for x in a if x in b]\n"}"#,
        "\n",
        r#"{"task_id": "Mbpp/3", "solution": "def least(xs):\n    return min(xs, default=0) if xs[0] != float('-inf') else 0\n"}"#,
        "\n",
    );
    let seen = statuses(&[("p.jsonl", problems), ("s.jsonl", samples)], &["p.jsonl", "--samples", "s.jsonl"]);
    let expected = [
        ("HumanEval/0#0", "failed assertion_failure"),
        ("Mbpp/2#0", "passed none"),
        ("Mbpp/3#0", "failed assertion_failure"),
    ];
    assert_eq!(seen, named(&expected));
}

#[test]
fn the_data_set_of_mbpp_plus_has_tests_of_its_own() {
    let problem = r#"{"task_id": 4, "prompt": "Twice.", "code": "def twice(x):\n    return 2 * x", "test_imports": [], "test_list": ["assert twice(1) == 2"], "test": "inputs = [[1], [2]]\nresults = [2, 4]\nfor inp, exp in zip(inputs, results):\n    assert twice(*inp) == exp"}"#;
    assert_eq!(statuses(&[("p.jsonl", problem)], &["p.jsonl"]), named(&[("MBPP/4", "passed none")]));
    let sample = r#"{"task_id": "MBPP/4", "solution": "def twice(x):\n    return 2\n"}"#;
    let seen = statuses(&[("p.jsonl", problem), ("s.jsonl", sample)], &["p.jsonl", "--samples", "s.jsonl"]);
    assert_eq!(seen, named(&[("MBPP/4#0", "failed assertion_failure")]));
}

#[test]
fn big_code_bench_and_apps_are_read_as_they_are_published() {
    let big = json!({
        "task_id": "BigCodeBench/0", "entry_point": "task_func", "complete_prompt": "import math\ndef task_func(x):\n",
        "instruct_prompt": "Root.", "canonical_solution": "    return math.sqrt(x)\n",
        "test": "import unittest\nclass TestCases(unittest.TestCase):\n    def test_root(self):\n        self.assertEqual(task_func(4), math.sqrt(4))\n",
    });
    assert_eq!(
        statuses(&[("b.jsonl", &format!("{big}\n"))], &["b.jsonl"]),
        named(&[("BigCodeBench/0", "passed none")])
    );
    let apps = [
        json!({"problem_id": 7, "input_output": r#"{"inputs": ["1 2\n"], "outputs": ["3\n"]}"#, "solutions": r#"["print(sum(map(int, input().split())))"]"#}),
        json!({"problem_id": 8, "input_output": r#"{"fn_name": "add", "inputs": [[1, 2], [36893488147419103232, 1]], "outputs": [[3], [36893488147419103233]]}"#, "solutions": r#"["def add(a, b): return a + b"]"#}),
        json!({"problem_id": 9, "input_output": "", "solutions": ""}),
    ];
    let apps: String = apps.iter().map(|problem| format!("{problem}\n")).collect();
    assert_eq!(
        statuses(&[("a.jsonl", &apps)], &["a.jsonl"]),
        named(&[("APPS/7", "passed none"), ("APPS/8", "passed none")])
    );
}

#[test]
fn generations_and_compressed_problems_are_read() {
    let eval = Eval::new(&[(
        "g.json",
        r#"[["def double(x): return 2 * x", "def double(x): return x"], ["def half(x): return x // 2"]]"#,
    )]);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, HUMAN_EVAL.as_bytes()).expect("it is memory");
    std::fs::write(eval.path("he.jsonl.gz"), encoder.finish().expect("it is memory")).expect("a file");
    let (code, _, stderr) = eval.picture(&["he.jsonl.gz", "--samples", "g.json", "--json", "out.json"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert_shows(&eval.json("out.json")["report"], json!({"passed": 2, "failed": 1, "tasks": 2}));
}

#[test]
fn answers_of_prose_are_no_syntax_errors_and_are_gated_by_label() {
    let prose =
        ["I can't do that.", "Sort the list first, then take the middle element.", "42", "Das geht leider nicht."];
    let tests = json!({"kind": "asserts", "asserts": ["assert f() == 1"]});
    let mut lines = vec![json!({"defaults": {"tests": tests}}).to_string()];
    for (index, text) in prose.iter().enumerate() {
        lines.push(json!({"id": format!("p{index}"), "completion": text, "labels": {"model": "small"}}).to_string());
    }
    lines.push(json!({"id": "js", "completion": "```js\nlet a = 1;\n```", "labels": {"model": "small"}}).to_string());
    lines.push(
        json!({"id": "ok", "completion": "```\ndef f(): return 1\n```", "labels": {"model": "large"}}).to_string(),
    );
    let eval = Eval::new(&[("s.jsonl", &lines.join("\n"))]);
    let gates = ["--require", "model=large:no_code_rate==0", "--require", "model=small:no_code_rate<=50%"];
    let (code, stdout, stderr) = eval.picture(&[&["s.jsonl", "--json", "out.json"][..], &gates].concat());
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stdout.contains("FAILS   model=small:no_code_rate<=50%: it is 0.8"), "{stdout}");
    let report = &eval.json("out.json")["report"];
    assert_shows(
        report,
        json!({"no_code": 4, "by_class": {"no_code": 4, "other_language": 1, "none": 1}, "failed": 5, "passed": 1}),
    );
    assert!(report["by_class"].get("syntax_error").is_none());
}

fn suite(wrong: bool) -> String {
    let defaults = json!({"grading": "in_process", "tests": {"kind": "asserts", "asserts": ["assert f() == 1"]}});
    let second = if wrong { "def f(): return 2" } else { "def f(): return 1" };
    format!(
        "{}\n{}\n{}\n",
        json!({"defaults": defaults}),
        json!({"id": "a", "code": "def f(): return 1", "labels": {"model": "m"}}),
        json!({"id": "b", "code": second, "labels": {"model": "n"}}),
    )
}

#[test]
fn a_requirement_that_does_not_hold_fails_the_command_by_name() {
    let eval = Eval::new(&[("s.jsonl", &suite(true))]);
    let (code, stdout, _) =
        eval.picture(&["s.jsonl", "--lint", "--require", "pass_rate>=0.9", "--require", "failed<=1"]);
    assert_eq!(code, Some(1));
    assert!(stdout.contains("lint clean             2 of 2, 100.0 %"), "{stdout}");
    assert!(stdout.contains("FAILS   pass_rate>=0.9: it is 0.5") && stdout.contains("holds   failed<=1"), "{stdout}");
    assert_eq!(eval.picture(&["s.jsonl", "--require", "pass_rate>=50%"]).0, Some(0));
}

#[test]
fn a_baseline_tells_what_changed() {
    let eval = Eval::new(&[("good.jsonl", &suite(false)), ("bad.jsonl", &suite(true))]);
    assert_eq!(eval.picture(&["good.jsonl", "--json", "good.json"]).0, Some(0));
    let compared = ["bad.jsonl", "--baseline", "good.json", "--json", "bad.json", "--require", "newly_failing==0"];
    let (code, stdout, stderr) = eval.picture(&compared);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stdout.contains("newly failing          1: b"), "{stdout}");
    assert_shows(
        &eval.json("bad.json")["changes"],
        json!({"newly_failing": ["b"], "newly_passing": [], "fuel_change": 0.0, "same_image": true}),
    );
    let (_, stdout, _) = eval.picture(&["good.jsonl", "--baseline", "bad.json", "--require", "pass_rate_change>0"]);
    assert!(stdout.contains("newly passing          1: b") && stdout.contains("holds"), "{stdout}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_can_do_the_grading() {
    let server = Server::start(&["--workers", "1"]);
    let url = server.url.clone();
    let eval = Eval::new(&[("s.jsonl", &suite(true))]);
    let run = move || (eval.picture(&["s.jsonl", "--server", &url, "--json", "out.json"]), eval.json("out.json"));
    let ((code, _, stderr), out) = tokio::task::spawn_blocking(run).await.expect("it does not panic");
    assert_eq!(code, Some(0), "{stderr}");
    assert_shows(&out["report"], json!({"passed": 1, "failed": 1, "by_label": {"model": {"m": {"pass_rate": 1.0}}}}));
    assert_eq!(server.metric("proofbox_http_requests_total{route=\"/v1/suites\",status=\"200\"}").await, 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_request_can_not_hold_is_sent_in_several() {
    let server = Server::start_with(&["--workers", "1"], |command| {
        command.args(["--body-bytes", "4096"]);
    });
    let lines: String =
        (0..50).map(|n| format!("{}\n", json!({"id": n.to_string(), "code": "#".repeat(500)}))).collect();
    let eval = Eval::new(&[("s.jsonl", &lines)]);
    let url = server.url.clone();
    let run = move || (eval.picture(&["s.jsonl", "--server", &url, "--json", "out.json"]), eval.json("out.json"));
    let ((code, _, stderr), out) = tokio::task::spawn_blocking(run).await.expect("it does not panic");
    assert_eq!(code, Some(0), "{stderr}");
    assert_shows(&out["report"], json!({"items": 50, "ok": 50}));
}

#[test]
fn the_report_is_one_page() {
    let hostile = "def f():\n    raise ValueError('</script><img src=x onerror=alert(1)>')";
    let line = json!({"id": "<b>x</b>", "code": hostile, "grading": "in_process",
                      "tests": {"kind": "asserts", "asserts": ["assert f() == '</script>'"]}});
    let eval = Eval::new(&[("s.jsonl", &line.to_string())]);
    let (code, stdout, stderr) = eval.picture(&["s.jsonl", "--report", "out.html"]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    let page = std::fs::read_to_string(eval.path("out.html")).expect("it was written");
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert!(!page.contains("<img") && !page.contains("<b>x"));
    assert_eq!(page.matches("</script>").count(), 2);
}

#[test]
fn mistakes_are_told_with_their_place() {
    let limits = json!({"id": "a", "code": "1", "limits": {"fuel": 0}});
    let eval = Eval::new(&[
        ("ok.jsonl", "{\"id\": \"a\", \"code\": \"1\"}\n"),
        ("limits.jsonl", &format!("{}\n\n{limits}\n", json!({"id": "b", "code": "1"}))),
        ("broken.jsonl", "{\"id\": \"a\", \"code\": \"1\"}\n{\n"),
        ("no.json", "{}"),
    ]);
    let cases: [(&[&str], &str); 8] = [
        (&["none.jsonl"], "none.jsonl"),
        (&["broken.jsonl"], "broken.jsonl:2: not JSON"),
        (&["limits.jsonl"], "limits.jsonl:3: limits.fuel"),
        (&["ok.jsonl", "--require", "pas_rate>1"], "there is no `pas_rate`"),
        (&["ok.jsonl", "--require", "newly_failing==0"], "--baseline"),
        (&["ok.jsonl", "--baseline", "no.json"], "no.json is no file of `proofbox eval --json`"),
        (&["ok.jsonl", "--report", "no/such/place.html"], "no/such/place.html"),
        (&["ok.jsonl", "--server", "127.0.0.1:1"], "http://127.0.0.1:1/v1/suites"),
    ];
    for (arguments, expected) in cases {
        let (code, _, stderr) = eval.picture(arguments);
        assert!(code == Some(125) && stderr.contains(expected), "{arguments:?}: {code:?} {stderr}");
    }
    assert!(!Path::new(&eval.path("no")).exists());
}

#[test]
fn help_lists_what_can_be_required() {
    let (_, stdout, _) = Eval::new(&[]).picture(&["--help"]);
    for name in ["pass@K", "pass_rate", "newly_failing", "fuel_change", "lint_clean_rate"] {
        assert!(stdout.contains(name), "{name}\n{stdout}");
    }
}
