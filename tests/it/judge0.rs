//! Judge0's SDK as people have it, unmodified.

use std::sync::PoisonError;

use crate::access::create;
use crate::clients::{TURN, python};
use crate::harness::Server;
use crate::tools::succeed;

#[test]
fn judge0s_sdk_works() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let data = tempfile::tempdir().expect("a temporary directory");
    let (key, other) = (create(data.path(), &["judge"]), create(data.path(), &["other"]));
    let server = Server::start_with(&[], |command| {
        command.args(["--keyless", "never"]).env("PROOFBOX_DATA_DIR", data.path());
    });
    let mut command = python("judge0", "clients.py", &server);
    command.env("PROOFBOX_KEY", key).env("PROOFBOX_OTHER_KEY", other);
    let said = succeed("tests/judge0", &mut command);
    assert!(said.contains(" passed, 0 failed"), "{said}");
}
