//! The command line, without a server.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::harness::{assert_shows, proofbox};

/// A directory with these files.
fn files(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, content) in files {
        std::fs::write(directory.path().join(name), content).expect("a file");
    }
    directory
}

/// Runs the command in `directory` with this input.
fn run_with(directory: &tempfile::TempDir, arguments: &[&str], stdin: &str) -> Output {
    let mut command = proofbox(arguments);
    command.current_dir(directory.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary was built for this test");
    let mut pipe = child.stdin.take().expect("it was asked to be piped");
    // It may not read it.
    let _ = pipe.write_all(stdin.as_bytes());
    drop(pipe);
    child.wait_with_output().expect("it ends")
}

fn run(directory: &tempfile::TempDir, arguments: &[&str]) -> Output {
    run_with(directory, arguments, "")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Exit code, stdout and stderr.
fn picture(output: &Output) -> (Option<i32>, String, String) {
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn run_grades_by_the_frameworks_too() {
    let folder = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("it can be written");
        path
    };
    let code = write("code.py", "def add(a, b):\n    \"\"\"\n    >>> add(1, 2)\n    3\n    \"\"\"\n    return a + b\n");
    let code = code.to_str().expect("UTF-8");
    let unit = write(
        "unit.py",
        "import unittest\nfrom code_ import add\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(add(1, 2), 3)\n",
    );
    let py = write("py.py", "from code_ import add\ndef test_a():\n    assert add(1, 2) == 3\n");
    for (kind, tests) in [("unittest", Some(unit)), ("pytest", Some(py)), ("doctest", None)] {
        let mut arguments = vec!["run", code, "--kind", kind, "--module", "code_"];
        let tests = tests.map(|path| path.to_str().expect("UTF-8").to_owned());
        if let Some(tests) = &tests {
            arguments.extend(["--tests", tests]);
        }
        let output = crate::harness::proofbox(&arguments).output().expect("it can be started");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("1 of 1 passed"), "{kind}: {said}");
    }
}

#[test]
fn a_file_runs_as_under_python() {
    let code = "import sys\nprint('out', input(), sys.argv[1:])\nprint('err', file=sys.stderr)\nsys.exit(3)\n";
    let directory = files(&[("a.py", code)]);
    let (exit_code, stdout, stderr) = picture(&run_with(&directory, &["run", "a.py", "x", "-y"], "in\n"));
    assert_eq!((exit_code, stdout.as_str()), (Some(3), "out in ['x', '-y']\n"));
    assert!(stderr.starts_with("err\n"), "{stderr}");
}

#[test]
fn what_ends_well_prints_nothing_of_its_own() {
    let directory = files(&[("a.py", "print(1 + 1)")]);
    assert_eq!(picture(&run(&directory, &["run", "a.py"])), (Some(0), "2\n".to_owned(), String::new()));
    assert_eq!(
        picture(&run_with(&directory, &["run", "-"], "print(6 * 7)")),
        (Some(0), "42\n".to_owned(), String::new())
    );
}

#[test]
fn a_failure_shows_pythons_traceback_and_its_class() {
    let directory = files(&[("a.py", "def f():\n    return 1 / 0\nf()\n"), ("loop.py", "while True: pass")]);
    let (exit_code, _, stderr) = picture(&run(&directory, &["run", "a.py"]));
    assert_eq!(exit_code, Some(1));
    assert!(
        stderr.contains("line 2, in f") && stderr.contains("ZeroDivisionError") && stderr.contains("exception"),
        "{stderr}"
    );
    let (exit_code, _, stderr) = picture(&run(&directory, &["run", "--fuel", "100000000", "loop.py"]));
    assert!(exit_code == Some(124) && stderr.contains("fuel_exhausted") && stderr.contains("limits.fuel"), "{stderr}");
    let (exit_code, _, stderr) = picture(&run(&directory, &["run", "--wall-seconds", "0.1", "loop.py"]));
    assert!(exit_code == Some(124) && stderr.contains("timeout"), "{stderr}");
}

#[test]
fn tests_are_graded_and_each_case_is_shown() {
    let add = ("add.py", "def add(a, b):\n    return a + b\n");
    let check =
        ("check.py", "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(1, 2) == 4\n");
    let directory = files(&[
        add,
        check,
        ("asserts.py", "assert add(1, 2) == 3\n"),
        ("script.py", "x = 1\nassert add(x, x) == 2\n"),
    ]);
    let (exit_code, _, stderr) = picture(&run(&directory, &["run", "--tests", "check.py", "add.py"]));
    assert_eq!(exit_code, Some(1));
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines[0], "passed assert candidate(1, 2) == 3");
    assert!(lines[1].starts_with("failed assert candidate(1, 2) == 4") && stderr.contains("1 of 2 passed"), "{stderr}");
    for arguments in [["--tests", "asserts.py", "--kind", "asserts"], ["--tests", "script.py", "--kind", "script"]] {
        let (exit_code, _, stderr) = picture(&run(&directory, &[&["run"], &arguments[..], &["add.py"]].concat()));
        assert!(exit_code == Some(0) && stderr.contains("1 of 1 passed"), "{stderr}");
    }
}

#[test]
fn json_is_the_whole_answer() {
    let directory = files(&[("a.py", "print('\\x1b[31m')\nraise SystemExit(4)")]);
    let output = run(&directory, &["run", "--json", "a.py"]);
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_shows(
        &answer,
        json!({"status": "error", "exit_code": 4, "stdout": "\u{1b}[31m\n", "stderr_class": "nonzero_exit"}),
    );
    assert_eq!((output.status.code(), answer["runtime"]["python"].is_string()), (Some(4), true));
    // Of a control character nothing raw reaches the terminal.
    assert!(!output.stdout.contains(&0x1b));
}

#[test]
fn control_characters_are_shown_and_not_obeyed() {
    let code = "import sys\nfor stream in sys.stdout, sys.stderr:\n    print('\\x1b]0;owned\\x07\\x9b31m\\x7f\\rä\\t\\0', file=stream)\nraise ValueError('\\x1b[2J')";
    let directory = files(&[("a.py", code), ("t.py", "assert False, '\\x1b[2J'")]);
    let (_, stdout, stderr) = picture(&run(&directory, &["run", "a.py"]));
    assert_eq!(stdout, "^[]0;owned^G\\x9b31m^?^Mä\t^@\n");
    let graded = run(&directory, &["run", "--tests", "t.py", "a.py"]);
    for shown in [stderr, text(&graded.stderr)] {
        assert!(!shown.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{shown:?}");
    }
}

#[test]
fn our_own_errors_are_told_apart_from_those_of_the_snippet() {
    let directory = files(&[("a.py", "print(1)")]);
    std::fs::write(directory.path().join("latin.py"), b"# \xe9").expect("a file");
    let errors: [(&[&str], &str); 6] = [
        (&["run", "missing.py"], "missing.py"),
        (&["run", "latin.py"], "latin.py"),
        (&["run", "--fuel", "0", "a.py"], "limits.fuel"),
        (&["run", "--policy", "nope", "a.py"], "nope"),
        (&["run", "--tests", "missing.py", "a.py"], "missing.py"),
        (&["run", "--fuel", "x", "a.py"], "--fuel"),
    ];
    for (arguments, named) in errors {
        let (exit_code, stdout, stderr) = picture(&run(&directory, arguments));
        assert_eq!((exit_code, stdout.as_str()), (Some(125), ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(named), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_reader_that_leaves_is_no_reason_to_panic() {
    let directory = files(&[("a.py", "print('x' * 1_000_000)")]);
    for arguments in
        [&["run", "a.py"][..], &["run", "--json", "a.py"], &["runtime", "info"], &["runtime", "info", "--json"]]
    {
        let mut command = proofbox(arguments);
        let mut child = command
            .current_dir(directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it was built");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert!(!text(&output.stderr).contains("panicked"), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn the_runtime_is_described() {
    let directory = files(&[]);
    let (exit_code, stdout, _) = picture(&run(&directory, &["runtime", "info"]));
    assert!(exit_code == Some(0) && stdout.contains("sha256:") && stdout.contains("python    3.13"), "{stdout}");
    let (_, json, _) = picture(&run(&directory, &["runtime", "info", "--json"]));
    let image: Value = serde_json::from_str(&json).expect("JSON");
    assert!(stdout.contains(image["image_hash"].as_str().expect("a hash")), "{json}");
    let empty = directory.path().to_str().expect("UTF-8");
    let (exit_code, _, stderr) = picture(&run(&directory, &["--cache-dir", empty, "runtime", "info"]));
    assert!(exit_code == Some(1) && stderr.contains("proofbox runtime build"), "{stderr}");
}

#[test]
fn help_names_every_setting_with_its_variable() {
    let directory = files(&[]);
    let help = text(&run(&directory, &["--help"]).stdout) + &text(&run(&directory, &["serve", "--help"]).stdout);
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let settings = [
        "config",
        "cache-dir",
        "image",
        "sources-dir",
        "workers",
        "slots",
        "queue",
        "policies-dir",
        "listen",
        "body-bytes",
        "drain-seconds",
        "log",
    ];
    for setting in settings {
        let variable = format!("PROOFBOX_{}", setting.to_uppercase().replace('-', "_"));
        assert!(
            words.contains(&format!("--{setting} <")) && words.contains(&format!("[env: {variable}=")),
            "{setting}: {help}"
        );
    }
}

/// Arguments, variables, and what the message has to name.
type Unusable = (&'static [&'static str], &'static [(&'static str, &'static str)], [&'static str; 2]);

#[test]
fn a_setting_that_cannot_be_used_stops_the_start_and_is_named() {
    let directory = files(&[]);
    let settings: [Unusable; 11] = [
        (&["--workers", "0", "serve"], &[], ["PROOFBOX_WORKERS", "is 0"]),
        (&["--workers", "many", "serve"], &[], ["--workers", "many"]),
        (&["--slots", "5000", "serve"], &[], ["PROOFBOX_SLOTS", "5000"]),
        (&["serve", "--body-bytes", "1"], &[], ["PROOFBOX_BODY_BYTES", "is 1"]),
        (&["serve", "--listen", "nowhere"], &[], ["--listen", "nowhere"]),
        (&["serve", "--log", "x=y=z"], &[], ["PROOFBOX_LOG", "x=y=z"]),
        (&["--policies-dir", "missing", "serve"], &[], ["missing", "No such file"]),
        (&["--config", "missing.toml", "serve"], &[], ["missing.toml", "No such file"]),
        (&["serve"], &[("PROOFBOX_WORKERS", "0")], ["PROOFBOX_WORKERS", "is 0"]),
        (&["serve"], &[("PROOFBOX_QUEUE", "x")], ["--queue", "'x'"]),
        (&["serve"], &[("PROOFBOX_LISTEN", "x")], ["--listen", "'x'"]),
    ];
    for (arguments, variables, named) in settings {
        let output = proofbox(arguments)
            .envs(variables.iter().copied())
            .current_dir(directory.path())
            .output()
            .expect("it was built");
        let (exit_code, _, stderr) = picture(&output);
        assert!(exit_code.is_some_and(|code| code != 0), "{arguments:?}: {stderr}");
        assert!(named.iter().all(|word| stderr.contains(word)), "{arguments:?} {variables:?}: {stderr}");
    }
}

#[test]
fn a_settings_file_is_read_strictly() {
    let directory = files(&[
        ("unknown.toml", "[sandbox]\nworkrs = 2\n"),
        ("section.toml", "[sandbx]\nworkers = 2\n"),
        ("type.toml", "[server]\nlisten = 8080\n"),
        ("value.toml", "[sandbox]\nslots = 0\n"),
        ("syntax.toml", "[sandbox\n"),
    ]);
    let files = [
        ("unknown", "workrs"),
        ("section", "sandbx"),
        ("type", "listen"),
        ("value", "PROOFBOX_SLOTS"),
        ("syntax", "line 1"),
    ];
    for (name, named) in files {
        let (exit_code, _, stderr) = picture(&run(&directory, &["--config", &format!("{name}.toml"), "serve"]));
        assert!(exit_code == Some(125) && stderr.contains(named), "{name}: {stderr}");
        // Said once.
        assert_eq!(stderr.matches("TOML parse error").count(), usize::from(name != "value"), "{stderr}");
    }
}

#[test]
fn a_flag_goes_before_a_variable_and_a_variable_before_the_file() {
    let directory = files(&[("settings.toml", "[sandbox]\nslots = 0\n")]);
    let try_slots = |flag: Option<&str>, variable: Option<&str>| {
        let mut arguments = vec!["--config", "settings.toml"];
        arguments.extend(flag.iter().flat_map(|value| ["--slots", value]));
        arguments.push("serve");
        let mut command = proofbox(&arguments);
        command.current_dir(directory.path());
        if let Some(value) = variable {
            command.env("PROOFBOX_SLOTS", value);
        }
        text(&command.output().expect("it was built").stderr)
    };
    assert!(try_slots(Some("7001"), Some("7002")).contains("is 7001"));
    assert!(try_slots(None, Some("7002")).contains("is 7002"));
    assert!(try_slots(None, None).contains("is 0"));
}

fn policies(change: impl Fn(String) -> String) -> tempfile::TempDir {
    let default = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("policies/default.toml");
    let text = std::fs::read_to_string(default).expect("the built-in policy");
    files(&[("mine.toml", &change(text)), ("a.py", "print(1)"), ("README", "not a policy")])
}

#[test]
fn a_policy_of_ones_own_is_used_by_name() {
    let directory = policies(|text| text.replacen("least = 1", "least = 1000", 1));
    let run_under = |policy: &str| {
        picture(&run(&directory, &["--policies-dir", ".", "run", "--policy", policy, "--fuel", "999", "a.py"]))
    };
    let (exit_code, _, stderr) = run_under("mine");
    assert!(exit_code == Some(125) && stderr.contains("at least 1000"), "{stderr}");
    assert_eq!(run_under("default").0, Some(124));
}

#[test]
fn a_policy_that_makes_no_sense_stops_the_start() {
    type Change = fn(String) -> String;
    let changes: [(Change, &str); 4] = [
        (|text| text.replace("[limits.fuel]", "[limits.fule]"), "fule"),
        (|text| text.replacen("default = 30.0", "default = 3000.0", 1), "limits.wall_seconds"),
        (|text| text.replace("code_bytes", "code_byts"), "code_byts"),
        (|_| "nonsense".to_owned(), "line 1"),
    ];
    for (change, named) in changes {
        let directory = policies(change);
        let (exit_code, _, stderr) = picture(&run(&directory, &["--policies-dir", ".", "serve"]));
        assert!(exit_code == Some(125) && stderr.contains("mine.toml") && stderr.contains(named), "{stderr}");
    }
}
