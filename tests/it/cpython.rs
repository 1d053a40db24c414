//! The interpreter beside the same Python on this machine: what its parser makes of sources, what regular expressions find,
//! and a sample of CPython's own tests (`docs/reference/cpython-differences.md`).

use std::path::PathBuf;
use std::process::Command;

use crate::harness::Server;
use crate::tools::{cache, root, succeed};

/// The Python of the recipe for this machine.
fn native_python() -> PathBuf {
    let python = cache().join("build/native/python");
    assert!(
        python.exists(),
        "{} is not there: `proofbox runtime build` makes it (delete the image from the cache first)",
        python.display()
    );
    python
}

#[test]
fn the_parser_makes_of_sources_what_cpythons_own_makes() {
    let server = Server::start(&[]);
    let mut command = Command::new("python3");
    command.arg("-B").arg(root().join("tests/parser/compare.py")).args(["--server", &server.url]);
    command.arg("--python").arg(native_python()).args(["--files", "100", "--mutants", "10000"]);
    let said = succeed("both parsers", &mut command);
    assert!(said.contains("10100 sources, ") && said.contains(", 0 different"), "{said}");
}

#[test]
fn regular_expressions_find_what_cpythons_own_find() {
    let server = Server::start(&[]);
    let mut command = Command::new("python3");
    command.arg("-B").arg(root().join("tests/regex/compare.py")).args(["--server", &server.url]);
    command.arg("--python").arg(native_python()).args(["--patterns", "20000"]);
    let said = succeed("regular expressions in both", &mut command);
    assert!(said.contains("20000 patterns, ") && said.contains(", 0 different"), "{said}");
}

#[test]
fn the_sample_of_cpythons_tests_differs_from_native_only_as_listed() {
    let python = native_python();
    let server = Server::start(&[]);
    let mut command = Command::new("python3");
    command.arg("-B").arg(root().join("tests/cpython/run.py")).args(["--server", &server.url, "--sample"]);
    command.arg("--python").arg(&python).arg("--tree").arg(cache().join("build/trees/python"));
    let said = succeed("CPython's own tests, a sample", &mut command);
    // The runner prints its result on stdout, which comes before the progress on stderr.
    let result = said.lines().find(|line| line.contains(" tests that pass natively pass in the sandbox "));
    let result = result.unwrap_or_else(|| panic!("no result: {said}"));
    assert!(result.ends_with(", 0 not listed") && !result.starts_with("0 of "), "{said}");
}
