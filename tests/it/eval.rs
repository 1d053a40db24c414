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
