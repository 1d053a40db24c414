//! Kinds of tests that are frameworks of their own: unittest, pytest, doctest, evaluators.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Server, assert_shows};

/// The guest's own tests of its kinds, which need a Python and nothing else.
#[test]
fn the_guests_tests_of_its_kinds_pass() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for kind in ["unittest", "doctest", "evaluator"] {
        let file = root.join(format!("tests/guest/test_kind_{kind}.py"));
        let output = Command::new("python3").arg("-B").arg(file).output().expect("python3 can be started");
        assert!(output.status.success(), "{kind}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// `name: status` of each case, graded both ways, which must agree.
async fn pytest(code: &str, files: Value) -> Vec<String> {
    let mut seen = Vec::new();
    for grading in ["isolated", "in_process"] {
        let request = json!({"code": code, "grading": grading, "tests": {"kind": "pytest", "files": files.clone()}});
        let answer = Server::shared().execute(request).await;
        assert_shows(&answer, json!({"integrity": {"level": grading}}));
        let cases = answer["cases"].as_array().expect("cases");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        seen.push(cases.iter().map(|case| format!("{}: {}", text(&case["name"]), text(&case["status"]))).collect());
    }
    assert_eq!(seen[0], seen[1]);
    seen.swap_remove(0)
}

const ADD: &str = "def add(a, b):\n    return a + b\n";

#[tokio::test]
async fn pytest_collects_and_counts_as_it_does_elsewhere() {
    let test = "import pytest\nfrom solution import add\n\
                @pytest.mark.parametrize('a, b', [(1, 2), (3, 4)])\ndef test_sum(a, b, three):\n    assert add(a, b) >= three\n\
                class TestMore:\n    def test_raises(self):\n        with pytest.raises(TypeError, match='operand'):\n            add(1, 'a')\n\
                \x20   def test_approx(self):\n        assert add(0.1, 0.2) == pytest.approx(0.3)\n\
                def test_wrong():\n    assert add(1, 1) == 3\n\
                @pytest.mark.skip(reason='not now')\ndef test_skipped():\n    pass\n\
                @pytest.mark.xfail\ndef test_expected():\n    assert add(1, 1) == 3\n\
                @pytest.mark.xfail(strict=True)\ndef test_unexpected():\n    assert add(1, 1) == 2\n\
                def test_tmp(tmp_path, monkeypatch, capsys):\n    (tmp_path / 'x').write_text('y')\n    print('hi')\n    assert capsys.readouterr().out == 'hi\\n'\n";
    let files =
        json!({"conftest.py": "import pytest\n@pytest.fixture\ndef three():\n    yield 3\n", "test_it.py": test});
    assert_eq!(
        pytest(ADD, files).await,
        [
            "test_it.py::test_sum[1-2]: passed",
            "test_it.py::test_sum[3-4]: passed",
            "test_it.py::TestMore::test_raises: passed",
            "test_it.py::TestMore::test_approx: passed",
            "test_it.py::test_wrong: failed",
            "test_it.py::test_skipped: skipped",
            "test_it.py::test_expected: passed",
            "test_it.py::test_unexpected: failed",
            "test_it.py::test_tmp: passed",
        ]
    );
}

#[tokio::test]
async fn pytest_says_what_differs() {
    let source = "from solution import add\ndef test_it():\n    assert [add(1, 1), 5] == [3, 5]\n";
    let request = json!({"code": ADD, "tests": {"kind": "pytest", "source": source}});
    let answer = Server::shared().execute(request).await;
    let message = answer["cases"][0]["message"].as_str().expect("a message");
    assert!(message.contains("assert [2, 5] == [3, 5]") && message.contains("At index 0 diff: 2 != 3"), "{message}");
}

#[tokio::test]
async fn nothing_of_the_candidate_configures_pytest() {
    let files = json!({
        "conftest.py": "def pytest_collection_modifyitems(items):\n    items.clear()\n",
        "pytest.ini": "[pytest]\npython_functions = nothing_*\n",
        "setup.cfg": "[tool:pytest]\naddopts = --collect-only\n",
    });
    let request = json!({
        "code": ADD, "files": files, "env": {"PYTEST_ADDOPTS": "--collect-only"},
        "tests": {"kind": "pytest", "source": "from solution import add\ndef test_it():\n    assert add(1, 1) == 3\n"},
    });
    assert_shows(
        &Server::shared().execute(request).await,
        json!({"status": "failed", "tests_total": 1, "tests_passed": 0}),
    );
}

#[tokio::test]
async fn a_case_that_ends_the_session_fails_and_hides_no_pass() {
    let source =
        "import pytest, solution\ndef test_a():\n    pytest.exit('enough', returncode=0)\ndef test_b():\n    pass\n";
    let request = json!({"code": ADD, "tests": {"kind": "pytest", "source": source}});
    assert_shows(
        &Server::shared().execute(request).await,
        json!({"status": "failed", "tests_total": 2, "tests_passed": 0}),
    );
}

#[tokio::test]
async fn the_candidates_death_fails_its_case_and_the_next_has_a_fresh_one() {
    let code = "import os\ndef f(x):\n    if x: os._exit(0)\n    return 1\n";
    for kind in ["unittest", "pytest"] {
        let source = "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(0), 1)\n\
                      \x20   def test_b(self):\n        f(1)\n    def test_c(self):\n        self.assertEqual(f(0), 1)\n";
        let answer = Server::shared().execute(json!({"code": code, "tests": {"kind": kind, "source": source}})).await;
        let statuses: Vec<&Value> =
            answer["cases"].as_array().expect("cases").iter().map(|case| &case["status"]).collect();
        assert_eq!(statuses, ["passed", "error", "passed"], "{kind}");
    }
}

#[tokio::test]
async fn a_shuffled_order_is_the_seeds() {
    let methods: String = (0..8).map(|i| format!("    def test_{i}(self):\n        pass\n")).collect();
    let source = format!("import unittest\nclass T(unittest.TestCase):\n{methods}");
    let order = async |seed: u64| {
        let tests = json!({"kind": "unittest", "source": source, "shuffle": seed});
        Server::shared().execute(json!({"code": ADD, "tests": tests})).await["cases"]
            .clone()
            .as_array()
            .expect("cases")
            .iter()
            .map(|case| case["name"].clone())
            .collect::<Vec<_>>()
    };
    let (zero, one) = (order(0).await, order(1).await);
    assert_ne!(zero, one);
    assert_eq!(zero, order(0).await);
}

/// Agenta's third interface: any JSON value, and scalars of the image's own numpy.
#[tokio::test]
async fn an_evaluator_of_agentas_v3_returns_any_json() {
    let evaluate = async |interface: &str, value: &str| {
        let source = format!("import numpy as np\ndef evaluate(inputs, outputs, trace): return {value}");
        let tests = json!({"kind": "evaluator", "interface": interface, "outputs": "x", "source": source});
        Server::shared().execute(json!({"code": ADD, "tests": tests})).await
    };
    let several = json!({"accuracy": 0.9, "length": 12});
    let answer = evaluate("v3", "{'accuracy': np.float64(0.9), 'length': 12}").await;
    let named = json!({"accuracy": 0.9, "length": 12.0});
    let evaluation = json!({"score": null, "passed": true, "named_scores": named, "value": several});
    assert_shows(&answer, json!({"status": "passed", "evaluation": evaluation}));
    let answer = evaluate("v3", "{'score': 0.2, 'label': 'bad', 'meta': {'why': [1, None]}}").await;
    let value = json!({"score": 0.2, "label": "bad", "meta": {"why": [1, null]}});
    assert_shows(&answer, json!({"status": "failed", "evaluation": {"score": 0.2, "passed": false, "value": value}}));
    for interface in ["v2", "v3"] {
        let answer = evaluate(interface, "np.float64(0.8)").await;
        assert_shows(&answer, json!({"status": "passed", "evaluation": {"score": 0.8, "passed": true}}));
    }
}
