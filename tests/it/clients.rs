//! Clients as people have them, unmodified: E2B's SDKs, smolagents, and our own Python client; and a real IPython kernel
//! beside our sessions. What they need is installed below the cache directory, pinned, once for each set of versions.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::control_plane::KEY;
use crate::harness::Server;
use crate::tools::{cache, installed, packages, root, succeed};

/// One at a time: each is busy enough by itself.
pub(crate) static TURN: Mutex<()> = Mutex::new(());

/// Points a client of E2B at a server.
pub(crate) fn e2b(command: &mut Command, server: &Server) {
    command.env("E2B_API_URL", &server.url).env("E2B_SANDBOX_URL", &server.url).env("E2B_API_KEY", KEY);
    command.env("E2B_VOLUME_API_URL", &server.url);
}

/// A program of `tests/{folder}`, with the packages that its `requirements.txt` pins, for a client of a server.
pub(crate) fn python(folder: &str, program: &str, server: &Server) -> Command {
    let source = root().join("tests").join(folder);
    let site = packages(folder, "python3", &source.join("requirements.txt"), &[]);
    let mut command = Command::new("python3");
    let path = std::env::join_paths([site, root().join("tests/clients")]).expect("no colons");
    command.arg("-B").arg(source.join(program)).env("PYTHONPATH", path).env("PROOFBOX_URL", &server.url);
    command
}

/// A directory with the packages that `package-lock.json` in `source` pins; settings of npm are in its `.npmrc`.
pub(crate) fn node_packages(name: &str, source: &Path) -> PathBuf {
    let mut files = vec!["package.json", "package-lock.json", ".npmrc"];
    files.retain(|file| source.join(file).exists());
    let content: Vec<u8> =
        files.iter().flat_map(|file| std::fs::read(source.join(file)).expect("it is there")).collect();
    installed(name, &content, |place| {
        for file in &files {
            std::fs::copy(source.join(file), place.join(file)).expect("the cache directory can be written");
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]).current_dir(place);
        succeed(&format!("installing {name} (needs Node.js 20 and npm)"), &mut npm);
    })
}

#[test]
fn e2bs_unmodified_python_sdk_passes_the_conformance_program() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let site = packages("e2b", "python3", &root().join("tests/e2b/requirements.txt"), &[]);
    let server = Server::start(&[]);
    let mut command = Command::new("python3");
    command.arg("-B").arg(root().join("tests/e2b/conformance.py")).env("PYTHONPATH", site).env("CONF_SKIP", "network");
    e2b(&mut command, &server);
    let said = succeed("the conformance program", &mut command);
    assert!(said.contains(" passed, 0 failed") && !said.contains("\n0 passed"), "{said}");
}

#[test]
fn e2bs_unmodified_python_sdk_has_volumes() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Server::start(&[]);
    let mut command = python("e2b", "volumes.py", &server);
    e2b(&mut command, &server);
    let said = succeed("the program for volumes", &mut command);
    assert!(said.contains(" passed, 0 failed") && !said.contains("\n0 passed"), "{said}");
}

#[test]
fn e2bs_unmodified_javascript_sdk_does_the_essentials() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let source = root().join("tests/e2b");
    let place = node_packages("e2b-js", &source);
    std::fs::copy(source.join("essentials.mjs"), place.join("essentials.mjs"))
        .expect("the cache directory can be written");
    let server = Server::start(&[]);
    let mut command = Command::new("node");
    command.arg(place.join("essentials.mjs"));
    e2b(&mut command, &server);
    let said = succeed("the essentials in JavaScript", &mut command);
    assert!(said.contains("all passed"), "{said}");
}

#[test]
fn the_python_client_and_agents_of_smolagents_work() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let client = root().join("clients/python");
    let site = packages("python-client", "python3", &client.join("tests/requirements.txt"), &[]);
    let server = Server::start(&[]);
    let mut command = Command::new("python3");
    let path = std::env::join_paths([client.join("src"), site]).expect("no colon in it");
    command.args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]).arg(client.join("tests"));
    command.env("PYTHONPATH", path).env("PROOFBOX_URL", &server.url).current_dir(&client);
    e2b(&mut command, &server);
    succeed("the client's tests", &mut command);
}

#[test]
fn cells_mean_what_they_mean_to_a_real_ipython_kernel() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // Of the image's own version: what differs between versions of Python is no difference.
    let server = Server::start(&[]);
    let python = cache().join("build/native/python");
    assert!(
        python.exists(),
        "{} is not there: `proofbox runtime build` makes it (delete the image from the cache first)",
        python.display()
    );
    let python = python.to_str().expect("UTF-8");
    let for_313 = "--python-version 3.13 --implementation cp --abi cp313 --abi abi3 --abi none --only-binary=:all:";
    let for_313: Vec<&str> = for_313.split(' ').collect();
    let site = packages("ipython", python, &root().join("tests/sessions/requirements.txt"), &for_313);
    let mut command = Command::new(python);
    command.arg("-B").arg(root().join("tests/sessions/oracle.py")).args(["--server", &server.url]);
    succeed("the cells beside a kernel", command.env("PYTHONPATH", site));
}

#[test]
fn the_guests_own_rules_of_sessions_hold_natively() {
    let file = root().join("tests/sessions/test_session.py");
    succeed("the guest's sessions, natively", Command::new("python3").arg("-B").arg(file));
}
