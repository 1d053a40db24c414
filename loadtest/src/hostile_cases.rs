//! Programs that attack the service, and how they may end.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::attacks::{Attack, Ends, Kind};
use crate::cases::read_lines;
use crate::want::{OneOrMore, Want};

/// Cases whose text allows that all goes well, while the list of outcomes beside it knows only failures: nothing breaks in
/// this interpreter.
const MAY_GO_WELL: [&str; 2] = ["hostile/crash/iter_mutation", "hostile/crash/exception_in_del_at_shutdown"];

/// More cases pass than where they were measured, and it fools nobody: the case after an exit has a fresh interpreter,
/// which answers it rightly; a patch of unittest does not reach the tests, one of which holds.
const RIGHT_IN_PART: [(&str, u64); 2] =
    [("hostile/cheat/os_exit_after_one", 2), ("hostile/cheat/unittest_skip_all", 1)];

/// Cases that do in the sandbox's own shell and files what they may not do to the host.
const IN_THE_SANDBOX: [&str; 1] = ["hostile/escape/system"];

#[derive(Deserialize)]
struct HostileCase {
    id: String,
    kind: String,
    code: Option<String>,
    /// Source in base64, if it is not text.
    code_b64: Option<String>,
    tests: Json,
    want_check: Want,
    forbid_stdout: Option<OneOrMoreTexts>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMoreTexts {
    One(String),
    More(Vec<String>),
}

/// Reads the programs.
///
/// # Errors
/// When the file cannot be read, or a line of it is not a case.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<Attack>> {
    let cases: Vec<HostileCase> =
        read_lines(path).with_context(|| format!("reading hostile programs from {}", path.display()))?;
    cases.into_iter().map(attack_of).collect()
}

fn attack_of(case: HostileCase) -> anyhow::Result<Attack> {
    let tests = match case.kind.as_str() {
        "asserts" => json!({"kind": "asserts", "asserts": case.tests}),
        kind => json!({"kind": kind, "source": case.tests}),
    };
    let body = format!(r#"{{"code":{},"tests":{tests}}}"#, source(&case)?);
    let mut want = case.want_check;
    if MAY_GO_WELL.contains(&case.id.as_str()) {
        want.outcome_any.push("ok".to_owned());
    }
    if let Some((_, passed)) = RIGHT_IN_PART.iter().find(|(id, _)| *id == case.id) {
        want.passed = OneOrMore::One(*passed);
    }
    want.forbidden = match case.forbid_stdout {
        _ if IN_THE_SANDBOX.contains(&case.id.as_str()) => Vec::new(),
        None => Vec::new(),
        Some(OneOrMoreTexts::One(text)) => vec![text],
        Some(OneOrMoreTexts::More(texts)) => texts,
    };
    Ok(Attack::execute(case.id, Kind::Programs, body.into(), Ends::Case(Arc::new(want))))
}

/// The program as JSON; what is not UTF-8 becomes lone surrogates, as in Python.
fn source(case: &HostileCase) -> anyhow::Result<String> {
    if let Some(code) = &case.code {
        return Ok(json!(code).to_string());
    }
    let encoded = case.code_b64.as_ref().with_context(|| format!("{} has no code", case.id))?;
    let bytes = BASE64.decode(encoded).with_context(|| format!("code_b64 of {}", case.id))?;
    let characters = bytes.iter().map(|byte| {
        let page = if byte.is_ascii() { "00" } else { "dc" };
        format!("\\u{page}{byte:02x}")
    });
    Ok(format!("\"{}\"", characters.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use hyper::body::Bytes;

    use super::*;
    use crate::answer::Answer;
    use crate::attacks::Step;

    fn answer(class: &str, kind: Option<&str>, passed: u64) -> Answer {
        let error = kind.map(|kind| json!({"type": kind}));
        let answer = json!({"status": "failed", "stderr_class": class, "tests_passed": passed, "tests_total": 3,
            "execution_seconds": 0.1, "queue_seconds": 0.0, "stdout": "x ESCAPED", "error": error});
        serde_json::from_value(answer).expect("it is an answer")
    }

    /// The body that is sent, and how it may end.
    fn sent(case: Json) -> (Bytes, Arc<Want>) {
        let attack = attack_of(serde_json::from_value(case).expect("it is a case")).expect("it is an attack");
        match attack.steps.into_iter().next() {
            Some(Step::Send { request, ends: Ends::Case(want), .. }) => (request.body, want),
            _ => panic!("it sends no program"),
        }
    }

    #[test]
    fn a_program_may_end_in_each_of_the_ways_wanted() {
        let case = json!({"id": "a", "kind": "asserts", "code": "1", "tests": ["assert 1"],
            "want_check": {"passed": [0, 3], "total": 3, "outcome_any": ["timeout", "exception:OSError", "ok"]}});
        let check = |class, kind, passed| sent(case.clone()).1.check(&answer(class, kind, passed)).is_ok();
        assert!(check("fuel_exhausted", None, 0));
        assert!(check("exception", Some("OSError"), 0));
        assert!(check("none", None, 3));
        assert!(!check("none", None, 1));
        assert!(!check("exception", Some("ValueError"), 0));
        assert!(!check("infrastructure_error", None, 0));
    }

    #[test]
    fn what_it_must_not_write_is_seen() {
        let case = json!({"id": "a", "kind": "asserts", "code": "1", "tests": [], "forbid_stdout": "ESCAPED",
            "want_check": {"passed": 0, "total": 3, "outcome_any": ["exception"]}});
        sent(case).1.check(&answer("exception", Some("OSError"), 0)).expect_err("it escaped");
    }

    #[test]
    fn a_source_that_is_no_text_is_sent_as_python_reads_it() {
        let case = json!({"id": "a", "kind": "asserts", "code": null, "code_b64": "/mE=", "tests": [],
            "want_check": {"passed": 0, "total": 0, "outcome_any": ["bad_request"]}});
        let (body, want) = sent(case);
        assert!(want.may_be_refused());
        assert!(body.starts_with(br#"{"code":"\udcfe\u0061","#), "{body:?}");
    }
}
