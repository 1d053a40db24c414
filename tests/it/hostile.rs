//! Programs that attack the sandbox, its limits or the interpreter get what they should, and harm nobody else.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use crate::cases::rows;
use crate::harness::{Server, assert_shows};

/// Programs whose text (`want`) allows that all goes well, while the list of outcomes beside it knows only failures:
/// nothing breaks in this interpreter, so 3 of 3 is the right answer.
const MAY_GO_WELL: [&str; 2] = ["hostile/crash/iter_mutation", "hostile/crash/exception_in_del_at_shutdown"];

/// Programs that do in the sandbox's own shell and files what they may not do to the host.
const IN_THE_SANDBOX: [&str; 1] = ["hostile/escape/system"];

/// Programs that only a limit ends, outside the category of that name.
const ENDLESS: [&str; 2] = ["hostile/crash/marshal_garbage", "hostile/escape/signal_ignore"];

/// The outcomes of the cases' own vocabulary that this answer stands for.
fn outcomes(status: u16, answer: &Value) -> BTreeSet<String> {
    if status != 200 {
        return BTreeSet::from([if (400..500).contains(&status) { "bad_request" } else { "broken" }.to_owned()]);
    }
    let class = answer["stderr_class"].as_str().expect("a word");
    let kind = answer["error"]["type"].as_str().unwrap_or("");
    let mut words = vec![class.to_owned()];
    match class {
        "none" => words.push("ok".into()),
        "timeout" | "fuel_exhausted" => words.push("timeout".into()),
        "memory_limit" => words.extend(["memory".into(), "MemoryError".into()]),
        "assertion_failure" => words.push("assertion".into()),
        // The stack of the compiled code was used up, and there was no Python left to say so.
        "recursion_limit" if kind.is_empty() => words.push("crash".into()),
        _ => {}
    }
    match kind {
        "" => {}
        "InterpreterCrash" => words.push("crash".into()),
        "SystemExit" if class == "exception" => words.extend(["exit".into(), "exit:0".into(), "exception".into()]),
        "SystemExit" => words.push("exit".into()),
        kind => words.extend(["exception".into(), format!("exception:{kind}")]),
    }
    words.into_iter().collect()
}

/// The program as JSON; what is not UTF-8 becomes lone surrogates, as in Python.
fn source(row: &Value) -> String {
    if let Some(code) = row["code"].as_str().filter(|code| !code.is_empty()) {
        return json!(code).to_string();
    }
    let bytes = BASE64.decode(row["code_b64"].as_str().expect("code or code_b64")).expect("base64");
    let escaped: String = bytes
        .iter()
        .map(|byte| if *byte < 0x80 { format!("\\u00{byte:02x}") } else { format!("\\udc{byte:02x}") })
        .collect();
    format!("\"{escaped}\"")
}

fn body(row: &Value, limits: &Value) -> Vec<u8> {
    let tests = json!({"kind": "asserts", "asserts": row["tests"]});
    format!(r#"{{"code": {}, "tests": {tests}, "grading": "in_process", "limits": {limits}}}"#, source(row))
        .into_bytes()
}

/// Rows of a category that can be graded here.
fn category(name: &str) -> Vec<Value> {
    let rows = rows("hostile").unwrap_or_default();
    rows.into_iter().filter(|row| row["category"] == name && row["kind"] == "asserts").collect()
}

fn limits_of(row: &Value) -> Vec<Value> {
    let endless = row["category"] == "time" || ENDLESS.contains(&row["id"].as_str().expect("a name"));
    if endless { vec![json!({"fuel": 4_000_000_000u64}), json!({"wall_seconds": 0.3})] } else { vec![json!({})] }
}

/// What is wrong with an answer, if anything.
fn difference(row: &Value, status: u16, answer: &Value) -> Option<String> {
    let want = &row["want_check"];
    let list = |value: &Value| {
        if value.is_array() { value.as_array().expect("just seen").clone() } else { vec![value.clone()] }
    };
    let passed = if status == 200 { answer["tests_passed"].clone() } else { json!(0) };
    let mut wanted: BTreeSet<String> =
        list(&want["outcome_any"]).iter().filter_map(|word| Some(word.as_str()?.to_owned())).collect();
    if MAY_GO_WELL.contains(&row["id"].as_str().expect("a name")) {
        wanted.insert("ok".to_owned());
    }
    let seen = outcomes(status, answer);
    let counts = list(&want["passed"]).contains(&passed) && (status != 200 || answer["tests_total"] == want["total"]);
    let stdout = answer["stdout"].as_str().unwrap_or("");
    let id = row["id"].as_str().expect("a name");
    let forbidden = !IN_THE_SANDBOX.contains(&id)
        && list(&row["forbid_stdout"]).iter().filter_map(Value::as_str).any(|text| stdout.contains(text));
    if counts && !forbidden && !wanted.is_disjoint(&seen) {
        return None;
    }
    let error = &answer["error"];
    Some(format!(
        "{id}: {passed}/{} {seen:?}, wanted {want}{}: {error}",
        answer["tests_total"],
        if forbidden { ", ESCAPED" } else { "" }
    ))
}

async fn all_as_wanted(name: &str) {
    let server = Server::shared();
    let mut differences = Vec::new();
    for row in category(name) {
        for limits in limits_of(&row) {
            let (status, answer) = server.post_bytes("/v1/execute", body(&row, &limits)).await;
            differences.extend(difference(&row, status, &answer));
            let next = server.execute(json!({"code": "print(6 * 7)"})).await;
            assert_shows(&next, json!({"status": "ok", "stdout": "42\n"}));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[tokio::test]
async fn no_program_escapes() {
    all_as_wanted("escape").await;
}

#[tokio::test]
async fn no_program_takes_longer_than_it_may() {
    all_as_wanted("time").await;
}

#[tokio::test]
async fn no_program_takes_more_memory_than_it_may() {
    all_as_wanted("memory").await;
}

#[tokio::test]
async fn no_program_overflows_the_stack() {
    all_as_wanted("stack").await;
}

#[tokio::test]
async fn no_output_is_too_much_or_too_odd() {
    all_as_wanted("output").await;
}

#[tokio::test]
async fn a_crash_of_the_interpreter_stays_inside() {
    all_as_wanted("crash").await;
}

#[tokio::test]
async fn odd_sources_are_read_as_python_reads_them() {
    all_as_wanted("source").await;
}

#[tokio::test]
async fn disguise_gains_nothing() {
    all_as_wanted("obfuscated").await;
}

#[tokio::test]
async fn harmless_programs_that_look_odd_work() {
    all_as_wanted("benign").await;
}

/// In the candidate's own interpreter some cheats succeed; what the answer owes is to say where the tests ran.
#[tokio::test]
async fn a_verdict_that_could_be_forged_says_so() {
    for row in category("cheat") {
        let (status, answer) = Server::shared().post_bytes("/v1/execute", body(&row, &json!({}))).await;
        assert_eq!((status, &answer["integrity"]["level"]), (200, &json!("in_process")), "{}", row["id"]);
        assert_ne!(answer["error"]["type"], "InterpreterCrash", "{}", row["id"]);
        assert_eq!(answer["integrity"]["planned"], json!(row["tests"].as_array().map_or(0, Vec::len)), "{}", row["id"]);
    }
}

/// Bytes by which the service may have grown after every attack was made twice over: what the allocator keeps, and a
/// few pages of each place that was used for the first time.
const GROWTH: u64 = 24 << 20;

#[tokio::test]
async fn memory_returns_to_where_it_was() {
    let attacks: Vec<Value> =
        ["memory", "output", "escape", "crash", "stack", "source"].into_iter().flat_map(category).collect();
    if attacks.is_empty() {
        return;
    }
    let server = Server::start(&["--workers", "2", "--slots", "2"]);
    // Every place has been used, by something harmless.
    let warm_up = (0..16).map(|_| server.execute(json!({"code": "x = bytes(8 << 20)\nprint(1)"})));
    futures_util::future::join_all(warm_up).await;
    let before = server.resident_bytes();
    for row in attacks.iter().chain(&attacks) {
        server.post_bytes("/v1/execute", body(row, &limits_of(row)[0])).await;
    }
    let after = server.resident_bytes();
    eprintln!("{} MiB before, {} MiB after", before >> 20, after >> 20);
    assert!(after < before + GROWTH, "{} MiB before, {} MiB after", before >> 20, after >> 20);
    assert_eq!(server.metric("proofbox_worker_restarts_total").await, 0.0);
}
