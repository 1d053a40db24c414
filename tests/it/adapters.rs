//! Adapters of agent frameworks over E2B's SDKs, as people have them, unmodified, by suites of their own where they have
//! one. Adapters of our own, in their frameworks. Pages of docs whose programs need a framework.

use std::process::Command;
use std::sync::PoisonError;

use crate::clients::{TURN, e2b, node_packages};
use crate::harness::Server;
use crate::tools::{packages, root, succeed};

/// Runs a suite of `tests/adapters`, which ends with an error when a check fails, or one that is known to fail holds.
fn passes(name: &str) {
    passes_with(name, |_| Server::start(&[]));
}

/// The same; `prepare` starts the server, and gives the suite what else it is to have.
fn passes_with(name: &str, prepare: impl FnOnce(&mut Command) -> Server) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let suites = root().join("tests/adapters");
    let site = packages(name, "python3", &suites.join(format!("{name}.txt")), &[]);
    let mut command = Command::new("python3");
    let server = prepare(&mut command);
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

#[test]
fn graphs_of_langgraph_have_sandboxes() {
    passes("langgraph");
}

#[test]
fn the_metric_code_eval_is_that_of_evaluate() {
    passes("code_eval");
}

#[test]
fn evaluators_of_agenta_score_as_in_its_own_runner() {
    passes("agenta");
}

#[test]
fn guardrails_of_futureagi_have_a_scanner_that_fails_closed() {
    passes("futureagi");
}

/// Starts a server whose spans go where the suite listens.
fn traced(suite: &mut Command) -> Server {
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let endpoint = format!("http://{}", free.expect("a free port"));
    suite.env("OTLP_ENDPOINT", &endpoint);
    Server::start_with(&[], |server| {
        server.env("PROOFBOX_OTLP_ENDPOINT", &endpoint).env("OTEL_BSP_SCHEDULE_DELAY", "50");
    })
}

#[test]
fn assertions_of_promptfoo_grade_programs_and_count_their_runs() {
    passes_with("promptfoo", |suite| {
        suite.env("NODE_PACKAGES", node_packages("node22", &root().join("tests/node22")));
        traced(suite)
    });
}

#[test]
fn calls_and_steps_of_agents_are_in_the_trace_of_their_caller() {
    passes_with("traces", traced);
}
