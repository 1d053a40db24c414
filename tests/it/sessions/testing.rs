//! Tests in a session, run as programs run them: pytest, unittest, doctest; and the descriptors that capturing copies.

use serde_json::{Value, json};

use super::Session;
use crate::harness::{Server, assert_shows};

async fn with_files(files: Value) -> Session<'static> {
    Session::open_on(Server::shared(), json!({ "files": files })).await
}

/// What commands write to standard output.
async fn output(session: &Session<'_>, commands: &str) -> String {
    let answer = session.call(&format!("!{commands}")).await;
    answer["stdout"].as_str().expect("a text").to_owned()
}

/// What a command writes, and its exit code.
async fn ended(session: &Session<'_>, command: &str) -> (String, String) {
    let text = output(session, &format!("{command}; echo $?")).await;
    let (text, code) = text.trim_end().rsplit_once('\n').unwrap_or(("", text.trim_end()));
    (text.to_owned(), code.to_owned())
}

#[tokio::test]
async fn pytest_runs_as_a_module_and_ends_as_it_does_natively() {
    let session = with_files(json!({
        "calc.py": "def add(a, b):\n    return a - b\n",
        "passes/test_a.py": "def test_a():\n    assert 1 + 1 == 2\n",
        "fails/test_b.py": "from calc import add\n\ndef test_b():\n    print('seen')\n    assert add(1, 2) == 3\n",
        "breaks/conftest.py": "def pytest_collection_modifyitems(items): raise ValueError('x')\n",
        "breaks/test_c.py": "def test_c(): pass\n",
        "stops/test_d.py": "import nothing_there\n",
        "none/data.txt": "",
    }))
    .await;
    let (text, code) = ended(&session, "python -m pytest passes -q").await;
    assert!(text.starts_with(".  ") && text.contains("[100%]\n1 passed in "), "{text}");
    assert_eq!(code, "0");
    let (text, code) = ended(&session, "python -m pytest fails -q --tb=short").await;
    for part in [
        "fails/test_b.py:5: in test_b\n    assert add(1, 2) == 3\nE   assert -1 == 3\nE    +  where -1 = add(1, 2)\n",
        "- Captured stdout call -----------------------------\nseen\n",
        "FAILED fails/test_b.py::test_b - assert -1 == 3\n1 failed in ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(code, "1");
    for (arguments, code) in [("stops", "2"), ("breaks", "3"), ("--no-such-option", "4"), ("none", "5")] {
        assert_eq!(ended(&session, &format!("python -m pytest -q {arguments} 2>&1")).await.1, code, "{arguments}");
    }
}

#[tokio::test]
async fn fixtures_of_pytest_have_what_they_need_of_a_system() {
    let test = "import os, sys\n\
        def test_directory(tmp_path, monkeypatch):\n\
        \x20   monkeypatch.chdir(tmp_path)\n\
        \x20   open('f', 'w').write('x')\n\
        \x20   assert (tmp_path / 'f').read_text() == 'x'\n\
        def test_streams(capsys):\n\
        \x20   print('out'); print('err', file=sys.stderr)\n\
        \x20   assert capsys.readouterr() == ('out\\n', 'err\\n')\n\
        def test_descriptors(capfd):\n\
        \x20   os.write(1, b'one\\n'); os.write(2, b'two\\n')\n\
        \x20   assert capfd.readouterr() == ('one\\n', 'two\\n')\n\
        def test_that_fails():\n\
        \x20   os.write(1, b'by its number\\n')\n\
        \x20   assert False\n";
    let session = with_files(json!({ "test_f.py": test })).await;
    let (text, code) =
        ended(&session, "python -m pytest -q --junitxml=report.xml -k 'directory or streams or fails'").await;
    assert!(text.contains("1 failed, 2 passed, 1 deselected in ") && text.contains("\nby its number\n"), "{text}");
    assert_eq!(code, "1");
    let report = session.value("open('report.xml').read()").await;
    assert!(
        report.as_str().is_some_and(|report| report.contains("failures=\"1\" skipped=\"0\" tests=\"3\"")),
        "{report}"
    );
    assert_eq!(ended(&session, "python -m pytest -q -x -p no:cacheprovider --color=yes").await.1, "1");
}

#[tokio::test]
async fn pytest_runs_within_a_cell() {
    let session =
        with_files(json!({ "test_a.py": "def test_a(capfd):\n    assert capfd.readouterr().out == 'x'\n" })).await;
    let answer = session.call("import pytest\ncode = pytest.main(['-q'])\nprint('after')\nint(code)").await;
    assert_shows(&answer, json!({"status": "ok", "result": 1}));
    let text = answer["stdout"].as_str().expect("a text");
    assert!(text.contains("1 failed in ") && text.ends_with("after\n"), "{text}");
}

#[tokio::test]
async fn unittest_and_doctest_run_as_modules_and_call_themselves_so() {
    let session = with_files(json!({
        "test_u.py": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(1, 2)\n",
        "d.py": "def f():\n    '''\n    >>> f()\n    2\n    '''\n    return 1\n",
    }))
    .await;
    let (text, code) = ended(&session, "python -m unittest 2>&1").await;
    assert!(text.contains("AssertionError: 1 != 2") && text.ends_with("FAILED (failures=1)"), "{text}");
    assert_eq!(code, "1");
    let (text, code) = ended(&session, "python -m doctest d.py").await;
    assert!(text.contains("Expected:\n    2\nGot:\n    1\n"), "{text}");
    assert_eq!(code, "1");
    for (module, name) in [("unittest", "python3 -m unittest"), ("doctest", "doctest.py"), ("pytest", "__main__.py")] {
        let text = output(&session, &format!("python -m {module} --help")).await;
        assert!(text.starts_with(&format!("usage: {name} ")), "{text}");
    }
}

#[tokio::test]
async fn pytest_is_a_program_that_imports_nothing_from_where_it_is_called() {
    let session = with_files(json!({"m.py": "", "t/test_m.py": "import m\ndef test_m(): pass\n"})).await;
    assert_eq!(ended(&session, "python -m pytest -q t").await.1, "0");
    let (text, code) = ended(&session, "pytest -q t").await;
    assert!(text.contains("ModuleNotFoundError: No module named 'm'"), "{text}");
    assert_eq!(code, "2");
    assert!(output(&session, "pytest --help").await.starts_with("usage: pytest "));
}

#[tokio::test]
async fn a_descriptor_can_be_copied_replaced_and_put_back() {
    let session = Session::open().await;
    let answer = session
        .call(
            "import os\n\
             f = open('f', 'w+')\n\
             kept = os.dup(1)\n\
             os.dup2(f.fileno(), 1)\n\
             os.write(1, b'to the file')\n\
             os.dup2(kept, 1)\n\
             os.close(kept)\n\
             os.write(1, b'to the caller\\n')\n\
             f.seek(0); f.read()",
        )
        .await;
    assert_shows(&answer, json!({"status": "ok", "stdout": "to the caller\n", "result": "to the file"}));
    let answer = session
        .call(
            "numbers = []\n\
             try:\n\
             \x20   while len(numbers) < 10_000: numbers.append(os.dup(0))\n\
             except OSError as error:\n\
             \x20   name = os.strerror(error.errno)\n\
             for number in numbers: os.close(number)\n\
             [len(numbers) < 256, name, os.dup2(0, 77), open('f').read()]",
        )
        .await;
    assert_shows(
        &answer,
        json!({"status": "ok", "result": [true, "No file descriptors available", 77, "to the file"]}),
    );
}
