//! Forged verdicts (`docs/reference/border.md`): the corpus by family, and for a short time each the programs that compose cheats,
//! compare with a plain interpreter, and speak the bridge's protocol from the candidate's side.

use std::path::Path;
use std::process::Command;

use crate::harness::Server;
use crate::tools::{root, succeed};

/// How long each of the adversary's programs goes on here, in seconds. By hand it goes on for hours.
const SECONDS: &str = "30";

/// Runs a program of the tests against a server of its own; it must have tried something, and found nothing.
fn finds_nothing(program: &str, options: &[&str]) {
    let server = Server::start(&[]);
    let path = root().join("tests").join(program);
    let mut command = Command::new("python3");
    command.arg("-B").arg(&path).args(["--server", &server.url]).args(options);
    let said = succeed(program, &mut command);
    let last = said.lines().last().unwrap_or_default();
    assert!(last.ends_with(" passed, 0 failed") && !last.starts_with("0 "), "{}: {said}", Path::new(program).display());
}

#[test]
fn no_forgery_of_the_corpus_passes_and_every_honest_candidate_does() {
    finds_nothing("forgeries/run.py", &[]);
}

#[test]
fn no_composed_cheat_passes() {
    finds_nothing("adversary/attack.py", &["--seconds", SECONDS, "--seed", "1"]);
}

#[test]
fn verdicts_are_those_of_a_plain_interpreter() {
    finds_nothing("adversary/differential.py", &["--seconds", SECONDS, "--seed", "1"]);
}

#[test]
fn nothing_said_over_the_bridge_is_a_verdict() {
    finds_nothing("adversary/protocol.py", &["--seconds", SECONDS, "--seed", "1"]);
    // A candidate that answers the request for its names by what can't cross.
    finds_nothing("adversary/protocol.py", &["--seed", "1273", "--first", "126", "--programs", "1"]);
}
