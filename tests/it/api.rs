//! The service keeps to its contract: schemathesis makes requests from `/openapi.json`, right ones and wrong ones, and holds
//! every answer against it.

use std::path::Path;
use std::process::Command;

use crate::harness::Server;
use crate::scratch;
use crate::tools::{packages, root, succeed};

/// What every answer is held against. Left out: that whatever fits the schema is accepted, since a schema can't say that
/// two fields exclude each other, or which policies there are.
const CHECKS: &str = "nothing_failed,status_code_conformance,content_type_conformance,response_headers_conformance,\
    response_schema_conformance,unsupported_method,allow_header_conformance,every_line_fits";

fn schemathesis(server: &Server, site: &Path) -> Command {
    let mut command = Command::new("python3");
    command.args(["-B", "-m", "schemathesis.cli", "run"]).arg(format!("{}/openapi.json", server.url));
    command.args(["--seed", "1", "--generation-deterministic", "--no-shrink"]);
    command.args(["--suppress-health-check", "all", "--warnings", "off", "--request-timeout", "60", "--no-color"]);
    let path = std::env::join_paths([site, &root().join("tests/api")]).expect("no colon in it");
    command.env("PYTHONPATH", path).env("SCHEMATHESIS_HOOKS", "hooks").current_dir(scratch::directory());
    command
}

#[test]
fn every_answer_is_in_the_contract() {
    let site = packages("schemathesis", "python3", &root().join("tests/api/requirements.txt"), &[]);
    let server = Server::start(&[]);
    let phases = ["--phases", "examples,coverage,fuzzing,stateful", "-n", "50", "--checks"];
    let checks = format!("{CHECKS},negative_data_rejection");
    succeed("requests from the contract", schemathesis(&server, &site).args(phases).arg(checks));
    let checks = format!("{CHECKS},use_after_free,EveryRouteIsReached");
    let mut earnest = schemathesis(&server, &site);
    earnest.env("IN_EARNEST", "1").args(phases).arg(checks).args(["--mode", "positive"]);
    succeed("requests in earnest", &mut earnest);
    // Without a key, where one is wanted.
    let locked = Server::start_with(&[], |command| {
        command.args(["--keyless", "never"]);
    });
    let mut keyless = schemathesis(&locked, &site);
    succeed("requests without a key", keyless.args(["--phases", "coverage", "-n", "5", "--checks", CHECKS]));
}
