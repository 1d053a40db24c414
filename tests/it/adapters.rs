//! Adapters of agent frameworks over E2B's SDKs, as people have them, unmodified, by suites of their own where they have
//! one. Pages of docs whose programs need a framework.

use std::process::Command;
use std::sync::PoisonError;

use crate::clients::{TURN, e2b};
use crate::harness::Server;
use crate::tools::{packages, root, succeed};

/// Runs a suite of `tests/adapters`, which ends with an error when a check fails, or one that is known to fail holds.
fn passes(name: &str) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let suites = root().join("tests/adapters");
    let site = packages(name, "python3", &suites.join(format!("{name}.txt")), &[]);
    let server = Server::start(&[]);
    let mut command = Command::new("python3");
    let path = std::env::join_paths([root().join("clients/python/src"), site]).expect("no colon in it");
    command.arg("-B").arg(suites.join(format!("{name}_suite.py")));
    command.env("PYTHONPATH", path).env("PROOFBOX_URL", &server.url);
    e2b(&mut command, &server);
    let said = succeed(&format!("the suite of {name}"), &mut command);
    assert!(said.contains(" passed"), "{said}");
}

#[test]
fn langchains_standard_suite_for_sandboxes_passes() {
    passes("langchain_e2b");
}

#[test]
fn deep_agents_work_in_sessions() {
    passes("deepagents");
}

#[test]
fn pydantic_ais_conformance_suite_for_workspaces_passes() {
    passes("pydantic_ai");
}

#[test]
fn openai_agents_sessions_and_agents_work() {
    passes("openai_agents");
}

#[test]
fn inspect_ais_checks_of_sandboxes_pass() {
    passes("inspect_ai");
}

#[test]
fn the_tutorials_coding_agents_print_what_it_shows() {
    passes("coding_agent");
}

#[test]
fn smolagents_tests_of_remote_executors_pass() {
    passes("smolagents");
}

#[test]
fn agnos_tools_work() {
    passes("agno");
}
