//! The service keeps to its contract: schemathesis makes requests from `/openapi.json`, right ones and wrong ones, and holds
//! every answer against it.

use std::path::PathBuf;
use std::process::Command;

use crate::harness::Server;
use crate::tools::{packages, root, succeed};

/// What every answer is held against. Left out: that whatever fits the schema is accepted, since a schema can't say that
/// two fields exclude each other, or which policies there are.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
    response_schema_conformance,negative_data_rejection,unsupported_method,allow_header_conformance,use_after_free";

fn schemathesis(server: &Server, site: &PathBuf, arguments: &[&str]) -> Command {
    let mut command = Command::new("python3");
    command.args(["-B", "-m", "schemathesis.cli", "run"]).arg(format!("{}/openapi.json", server.url));
    command.args(["--seed", "1", "--generation-deterministic", "--generation-database", "none", "--no-shrink"]);
    command.args(["--suppress-health-check", "all", "--warnings", "off", "--request-timeout", "60", "--no-color"]);
    command
        .args(arguments)
        .env("PYTHONPATH", std::env::join_paths([site, &root().join("tests/api")]).expect("no colon"));
    command.env("SCHEMATHESIS_HOOKS", "hooks").current_dir(std::env::temp_dir());
    command
}

#[test]
fn every_answer_is_in_the_contract() {
    let site = packages("schemathesis", "python3", &root().join("tests/api/requirements.txt"), &[]);
    let server = Server::start(&[]);
    let checks = format!("{CHECKS},every_line_fits,EveryRouteIsReached");
    let arguments = ["--phases", "examples,coverage,fuzzing,stateful", "--checks", &checks, "-n", "25"];
    succeed("requests from the contract", &mut schemathesis(&server, &site, &arguments));
    // Without a key, where one is wanted.
    let locked = Server::start_with(&[], |command| {
        command.args(["--keyless", "never"]);
    });
    let arguments = ["--phases", "coverage", "--checks", CHECKS, "-n", "5"];
    succeed("requests without a key", &mut schemathesis(&locked, &site, &arguments));
}
