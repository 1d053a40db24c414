//! The policy gate: what it says before a snippet runs, and what packs make of it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Server, assert_shows, proofbox};
use crate::process;

async fn scan(policy: &str, code: &str) -> Value {
    let (status, answer) = Server::shared().post("/v1/scan", &json!({"code": code, "policy": policy})).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

async fn execute(policy: &str, code: &str) -> Value {
    Server::shared().execute(json!({"code": code, "policy": policy})).await
}

/// The default pack with changes to its text.
fn pack(changes: &[(&str, &str)]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/default.toml");
    let mut text = std::fs::read_to_string(path).expect("it is in the repository");
    for (from, to) in changes {
        assert!(text.contains(from), "the default pack has no {from:?}");
        text = text.replacen(from, to, 1);
    }
    text
}

fn packs(packs: &[(&str, String)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in packs {
        std::fs::write(directory.path().join(format!("{name}.toml")), text).expect("a file");
    }
    directory
}

fn server(directory: &tempfile::TempDir) -> Server {
    Server::start(&["--workers", "1", "--policies-dir", directory.path().to_str().expect("UTF-8")])
}

#[tokio::test]
async fn a_scan_names_capability_place_and_reason_and_runs_nothing() {
    let answer = scan("strict", "import os\nx = 'é'; getattr(os, 'sys' + 'tem')('id')\n").await;
    assert_shows(&answer, json!({"syntax_ok": true, "contains_code": true, "redacted": null}));
    let policy = &answer["policy"];
    assert_shows(
        policy,
        json!({"name": "strict", "decision": "block", "blocked_by": ["imports", "capabilities"], "capabilities": ["process"]}),
    );
    let finding = policy["findings"].as_array().expect("a list").iter().find(|one| one["capability"] == "process");
    assert_shows(
        finding.expect("os.system is found"),
        json!({"scanner": "capabilities", "category": "process", "action": "block", "line": 2, "column": 9, "start": 19,
            "end": 45, "matched": "os.system", "excerpt": "x = 'é'; getattr(os, 'sys' + 'tem')('id')", "file": null}),
    );
    assert!(policy["scan_seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{policy}");
}

#[tokio::test]
async fn what_is_blocked_is_not_run() {
    let answer = execute("strict", "print('ran')\nimport subprocess\nsubprocess.run(['id'])\n").await;
    assert_shows(
        &answer,
        json!({"status": "blocked", "stderr_class": "policy_blocked", "exit_code": 126, "stdout": "", "fuel_used": 0,
            "tests_passed": 0, "compiled": false, "error": {"class": "policy_blocked", "line": 2},
            "policy": {"decision": "block", "blocked_by": ["imports", "capabilities"]}}),
    );
}

#[tokio::test]
async fn blocked_work_is_never_graded_as_passed() {
    let request = json!({"code": "import socket\ndef add(a, b):\n    return a + b\n", "policy": "eval",
        "tests": {"kind": "asserts", "asserts": ["assert add(1, 2) == 3"]}});
    let answer = Server::shared().execute(request).await;
    assert_shows(&answer, json!({"status": "blocked", "tests_passed": 0, "integrity": {"planned": 1, "reported": 0}}));
}

#[tokio::test]
async fn a_block_is_counted_by_scanner_and_rule() {
    let blocks = "proofbox_policy_blocks_total{rule=\"bidi_control\",scanner=\"invisible_characters\"}";
    let scans = "proofbox_scans_total{decision=\"block\",policy=\"eval\"}";
    let server = Server::shared();
    let answer = execute("eval", "access = 'user\u{202e} \u{2066}# admin\u{2069} \u{2066}'\n").await;
    assert_shows(&answer, json!({"status": "blocked", "policy": {"blocked_by": ["invisible_characters"]}}));
    assert!(server.metric(blocks).await >= 1.0 && server.metric(scans).await >= 1.0);
    assert!(answer["policy"]["findings"][0]["excerpt"].as_str().is_some_and(|text| !text.contains('\u{202e}')));
}

#[tokio::test]
async fn honest_programs_pass_the_default_gate() {
    for code in [
        "import sys\nprint(sum(map(int, sys.stdin.read().split())))",
        "import time\ntime.sleep(0)",
        "x = 1\nprint(f'{{{x}}}')",
        "import re\nprint(re.compile('a').match('a'))",
        "class Box:\n    def system(self): return 1\nprint(Box().system())",
    ] {
        assert_shows(&execute("default", code).await, json!({"status": "ok", "policy": {"decision": "allow"}}));
    }
}

#[tokio::test]
async fn python_that_comes_as_a_file_is_scanned_too() {
    let request = |policy: &str| json!({"code": "import helper", "files": {"helper.py": "import os\nos.system('id')\n"}, "policy": policy});
    let answer = Server::shared().execute(request("eval")).await;
    assert_shows(&answer, json!({"status": "blocked", "policy": {"findings": [{"file": "helper.py", "line": 2}]}}));
    let bytecode = json!({"code": "import helper", "files": {"helper.pyc": {"base64": "AAAA"}}, "policy": "strict"});
    let answer = Server::shared().execute(bytecode).await;
    assert!(answer["policy"]["findings"].to_string().contains("unreadable"), "{answer}");
}

#[tokio::test]
async fn code_that_does_not_parse_is_not_waved_through() {
    let answer = scan("strict", "def f(:\n    token = 'http://169.254.169.254/latest'\n").await;
    assert_shows(
        &answer,
        json!({"syntax_ok": false, "policy": {"decision": "block", "blocked_by": ["malicious_url"]}}),
    );
    let answer = execute("strict", "def f(:\n").await;
    assert_shows(&answer, json!({"status": "error", "stderr_class": "syntax_error"}));
}

#[tokio::test]
async fn an_encoding_that_hides_the_source_is_found() {
    // UTF-7: what is run is `import os`.
    let answer = scan("strict", "# coding: utf-7\n+AGkAbQBwAG8AcgB0ACAAbwBz-\n").await;
    assert!(answer["policy"]["findings"].to_string().contains("source_encoding"), "{answer}");
    let answer = scan("default", "# -*- coding: utf-8 -*-\nx = 1\n").await;
    assert_shows(&answer, json!({"policy": {"findings": []}}));
}

#[tokio::test]
async fn secrets_are_blanked_out_before_the_snippet_runs() {
    let key = format!("AKIA{}", "Q3EGRBEXAMPL7XY2");
    let code = format!("key = '{key}'\nprint(key, len(key))\n");
    let answer = execute("agent", &code).await;
    assert_shows(
        &answer,
        json!({"status": "ok", "stdout": "******************** 20\n", "policy": {"decision": "allow"}}),
    );
    let told = answer.to_string();
    assert!(told.contains("redact") && !told.contains(&key), "{told}");
    assert_shows(
        &scan("agent", &code).await,
        json!({"redacted": "key = '********************'\nprint(key, len(key))\n"}),
    );
}

#[tokio::test]
async fn a_completion_is_scanned_as_its_code() {
    let request = json!({"completion": "Sure!\n```python\nimport socket\n```\n", "policy": "eval"});
    let (_, answer) = Server::shared().post("/v1/scan", &request).await;
    assert_shows(&answer, json!({"policy": {"decision": "block", "capabilities": ["network"]}}));
    let (_, answer) = Server::shared().post("/v1/scan", &json!({"code": "# nothing\n\n"})).await;
    assert_shows(&answer, json!({"contains_code": false, "syntax_ok": true}));
}

#[tokio::test]
async fn what_is_malformed_is_told_by_field() {
    for (request, status, field) in [
        (json!({}), 400, "code"),
        (json!({"code": "1", "completion": "1"}), 422, "completion"),
        (json!({"code": "1", "policy": "nothing"}), 422, "policy"),
        (json!({"code": "1", "polcy": "strict"}), 400, "polcy"),
        (json!({"code": "x".repeat((1 << 20) + 1)}), 413, "code"),
    ] {
        let (told, answer) = Server::shared().post("/v1/scan", &request).await;
        assert_eq!((told, answer["error"]["field"].as_str()), (status, Some(field)), "{answer}");
    }
}

#[tokio::test]
async fn hidden_is_the_default_of_the_pack_for_evaluations() {
    let request = json!({"code": "def add(a, b):\n    return a - b\n", "policy": "eval",
        "tests": {"kind": "asserts", "asserts": ["assert add(1, 2) == 3"]}});
    let answer = Server::shared().execute(request.clone()).await;
    assert_shows(&answer, json!({"status": "failed", "cases": [{"name": "case 1", "message": null}]}));
    let mut request = request;
    request["visibility"] = json!("full");
    let answer = Server::shared().execute(request).await;
    assert_shows(&answer, json!({"cases": [{"name": "assert add(1, 2) == 3"}]}));
}

#[tokio::test]
async fn packs_of_ones_own_say_what_may_be_imported_and_called() {
    let own = pack(&[
        ("[scanners.imports]\naction = \"off\"", "[scanners.imports]\naction = \"block\""),
        (
            "deny = []\n\n[scanners.calls]\naction = \"off\"",
            "allow = [\"math\", \"json.*\"]\n\n[scanners.calls]\naction = \"block\"",
        ),
        ("deny = {}", "deny = { \"math.fact*\" = \"it takes too long\" }"),
    ]);
    let directory = packs(&[("own", own)]);
    let server = server(&directory);
    for (code, blocked_by) in [
        ("import math, json.decoder\nprint(math.pi)", json!([])),
        ("def f():\n    from os import path", json!(["imports"])),
        ("__import__('js' + 'on')\n__import__('o' + 's')", json!(["imports"])),
        ("import math as m\nf = m.factorial\n", json!(["calls"])),
    ] {
        let (_, answer) = server.post("/v1/scan", &json!({"code": code, "policy": "own"})).await;
        assert_eq!(answer["policy"]["blocked_by"], blocked_by, "{code}: {answer}");
    }
}

#[tokio::test]
async fn votes_are_added_up_as_the_pack_says() {
    let blocks = [
        ("[scanners.secrets]\naction = \"flag\"", "[scanners.secrets]\naction = \"block\""),
        ("[scanners.malicious_url]\naction = \"flag\"", "[scanners.malicious_url]\naction = \"block\""),
        ("[scanners.invisible_characters]\naction = \"flag\"", "[scanners.invisible_characters]\naction = \"off\""),
    ];
    let with = |mode: &str| {
        let mut changes = blocks.to_vec();
        changes.push(("mode = \"any\"", mode));
        pack(&changes)
    };
    let directory = packs(&[
        ("any", with("mode = \"any\"")),
        ("all", with("mode = \"all\"")),
        ("majority", with("mode = \"majority\"")),
        ("light", with("mode = \"weighted\"\nthreshold = 0.4")),
        ("heavy", with("mode = \"weighted\"\nthreshold = 0.6")),
    ]);
    let server = server(&directory);
    let url = "'http://169.254.169.254/latest/meta-data/'";
    let key = format!("'AKIA{}'", "Q3EGRBEXAMPL7XY2");
    for (policy, one, both) in [
        ("any", "block", "block"),
        ("all", "allow", "block"),
        ("majority", "allow", "block"),
        ("light", "block", "block"),
        ("heavy", "allow", "block"),
    ] {
        for (code, decision) in [(url.to_owned(), one), (format!("{url}, {key}"), both), ("1".to_owned(), "allow")] {
            let (_, answer) = server.post("/v1/scan", &json!({"code": code, "policy": policy})).await;
            assert_eq!(answer["policy"]["decision"], decision, "{policy} {answer}");
        }
    }
}

#[tokio::test]
async fn an_attempt_that_the_gate_did_not_see_fails_the_run_where_the_pack_says_so() {
    // The name is made of what only comes with the request.
    let code = "import sys\ntry:\n    __import__(sys.argv[1]).create_connection(('example.com', 80))\nexcept OSError:\n    pass\nprint('went on')";
    let request = |policy: &str| json!({"code": code, "args": ["socket"], "policy": policy});
    let answer = Server::shared().execute(request("eval")).await;
    assert_shows(&answer, json!({"status": "error", "stderr_class": "unsafe_operation", "exit_code": 1}));
    let answer = Server::shared().execute(request("default")).await;
    assert_shows(&answer, json!({"status": "ok", "stdout": "went on\n"}));
}

#[tokio::test]
async fn files_go_in_and_out_as_the_pack_says() {
    let directory =
        packs(&[("own", pack(&[("upload = [\"**\"]", "upload = [\"*.csv\"]"), ("fetch = true", "fetch = false")]))]);
    let server = server(&directory);
    let (status, answer) =
        server.post("/v1/execute", &json!({"code": "1", "policy": "own", "files": {"a.txt": ""}})).await;
    assert_eq!((status, answer["error"]["code"].as_str()), (403, Some("file_not_allowed")), "{answer}");
    let (status, answer) =
        server.post("/v1/execute", &json!({"code": "1", "policy": "own", "fetch_files": ["*"]})).await;
    assert_eq!((status, answer["error"]["field"].as_str()), (403, Some("fetch_files")), "{answer}");
    let answer = server.execute(json!({"code": "1", "policy": "own", "files": {"a.csv": ""}})).await;
    assert_shows(&answer, json!({"status": "ok"}));
}

#[tokio::test]
async fn a_pack_for_certain_keys_is_for_nobody_else() {
    let directory = packs(&[("own", pack(&[("keys = \"everybody\"", "keys = [\"ci\"]")]))]);
    let (status, answer) = server(&directory).post("/v1/execute", &json!({"code": "1", "policy": "own"})).await;
    assert_eq!((status, answer["error"]["code"].as_str()), (403, Some("policy_not_allowed")), "{answer}");
}

#[tokio::test]
async fn packs_are_read_again_on_sighup_and_stay_when_they_are_wrong() {
    let directory = packs(&[("own", pack(&[]))]);
    let server = server(&directory);
    let description = async || {
        let (_, text) = server.get("/v1/policies").await;
        let packs: Vec<Value> = serde_json::from_str(&text).expect("JSON");
        let own = packs.into_iter().find(|pack| pack["name"] == "own").expect("it is there");
        own["description"].as_str().expect("text").to_owned()
    };
    let write = |text: &str| std::fs::write(directory.path().join("own.toml"), text).expect("a file");
    let hangup = || {
        let done = Command::new("kill").args(["-HUP", &server.pid().to_string()]).status().expect("kill is there");
        assert!(done.success());
    };
    write(&pack(&[("description = \"", "description = \"Second. ")]));
    hangup();
    for _ in 0..200 {
        if description().await.starts_with("Second. ") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(description().await.starts_with("Second. "));
    write("nonsense");
    hangup();
    let answer = server.execute(json!({"code": "print(1)", "policy": "own"})).await;
    assert_shows(&answer, json!({"status": "ok"}));
    assert!(description().await.starts_with("Second. "));
    assert!(process::children(server.pid()).len() == 1);
}

#[test]
fn a_mistake_in_a_pack_stops_the_start_with_a_message_to_act_on() {
    for (changes, expected) in [
        (vec![("[limits.fuel]", "[limits.fule]")], vec!["own.toml", "line", "fule", "did you mean `fuel`?"]),
        (vec![("process = {", "proces = {")], vec!["proces", "did you mean `process`?"]),
        (
            vec![("action = \"flag\"", "action = \"flog\"")],
            vec!["unknown variant `flog`", "did you mean `flag`?", "line"],
        ),
        (vec![("threshold = 0.6", "threshold = 6")], vec!["scanners.capabilities.threshold", "between 0 and 1"]),
        (
            vec![(
                "rules = []",
                "rules = [{ name = \"x\", pattern = \"(\", category = \"c\", confidence = 1.0, reason = \"r\" }]",
            )],
            vec!["scanners.regex.rules", "x"],
        ),
        (vec![("deny = {}", "deny = { \"os system\" = \"no\" }")], vec!["scanners.calls.deny", "os system"]),
        (vec![("mode = \"any\"", "mode = \"weighted\"")], vec!["aggregation", "threshold"]),
        (vec![("network = \"report\"", "network = \"ignore\"")], vec!["ignore", "report"]),
        (vec![("deny = []\n\n[scanners.calls]", "[scanners.calls]")], vec!["scanners.imports", "allow"]),
    ] {
        let directory = packs(&[("own", pack(&changes))]);
        let path = directory.path().to_str().expect("UTF-8");
        let output = proofbox(&["--policies-dir", path, "serve", "--listen", "127.0.0.1:0"]).output().expect("it ends");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && expected.iter().all(|part| told.contains(part)), "{expected:?}\n{told}");
        let output = proofbox(&["policy", "check", path]).output().expect("it ends");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(1));
        assert!(expected.iter().all(|part| told.contains(part)), "{expected:?}\n{told}");
    }
}

#[test]
fn the_packs_of_the_repository_are_sound() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies");
    let output = proofbox(&["policy", "check", path.to_str().expect("UTF-8")]).output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!((output.status.code(), told.lines().count()), (Some(0), 5), "{told}");
}

#[test]
fn files_are_scanned_on_the_command_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str, code: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, code).expect("a file");
        path.to_str().expect("UTF-8").to_owned()
    };
    let (good, bad) = (file("good.py", "print(1)\n"), file("bad.py", "import os\nos.system('id')\n"));
    let output = proofbox(&["scan", &good, "--policy", "strict"]).output().expect("it ends");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    let output = proofbox(&["scan", &good, &bad, "--policy", "strict"]).output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(told.contains("bad.py:2:1: block [capabilities/name] process: use of os.system"), "{told}");
    assert!(told.contains("blocked by imports, capabilities"), "{told}");
    let output = proofbox(&["scan", &bad, "--policy", "strict", "--json"]).output().expect("it ends");
    let line: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_shows(&line, json!({"syntax_ok": true, "policy": {"decision": "block"}}));
    let output = proofbox(&["scan", &bad]).output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "default flags it only");
    let output = proofbox(&["scan", "no such file"]).output().expect("it ends");
    assert_eq!(output.status.code(), Some(125));
}

/// The programs of `tests/policy`, as its reader gives them.
fn corpus() -> Vec<Value> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/policy/corpus.py");
    let output = Command::new("python3").arg("-B").arg(script).arg("--json").output().expect("python3 is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Recall that is kept; docs/explanation/policy-gate.md has it by family.
const LEAST_RECALL: f64 = 0.95;

#[tokio::test]
async fn evasions_are_named_and_honest_programs_are_not_blocked() {
    let programs = corpus();
    let (mut named, mut evasions) = (0_usize, 0_usize);
    let mut missed = Vec::new();
    for program in &programs {
        let code = program["code"].as_str().expect("text");
        if program["benign"] == true {
            let answer = scan("default", code).await;
            assert_eq!(answer["policy"]["decision"], "allow", "{}: {answer}", program["name"]);
            continue;
        }
        let policy = &scan("strict", code).await["policy"];
        let mut words: Vec<&Value> = policy["capabilities"].as_array().expect("a list").iter().collect();
        words.extend(policy["findings"].as_array().expect("a list").iter().map(|finding| &finding["scanner"]));
        evasions += 1;
        if program["words"].as_array().expect("a list").iter().all(|word| words.contains(&word)) {
            named += 1;
        } else {
            missed.push(program["name"].to_string());
        }
    }
    assert!(evasions >= 150, "{evasions}");
    let recall = named as f64 / evasions as f64;
    assert!(recall >= LEAST_RECALL, "{recall}: {}", missed.join(" "));
}
