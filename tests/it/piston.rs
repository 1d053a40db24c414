//! Piston's clients as people have them, unmodified.

use std::process::Command;
use std::sync::PoisonError;

use serde_json::{Value, json};

use crate::access::create;
use crate::clients::{TURN, node_packages, python};
use crate::harness::{Server, http};
use crate::tools::{root, succeed};

#[test]
fn pistons_clients_work() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Server::start(&[]);
    let said = succeed("tests/piston", &mut python("piston", "clients.py", &server));
    assert!(said.contains(" passed, 0 failed"), "{said}");
    let source = root().join("tests/piston");
    let place = node_packages("piston-js", &source);
    std::fs::copy(source.join("client.mjs"), place.join("client.mjs")).expect("the cache directory can be written");
    let mut command = Command::new("node");
    command.arg(place.join("client.mjs")).env("PROOFBOX_URL", &server.url);
    let said = succeed("npm's piston-client", &mut command);
    assert!(said.contains("all passed"), "{said}");
}

#[tokio::test]
async fn a_key_stands_alone_in_the_header() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let key = create(data.path(), &["bot"]);
    let server = Server::start_with(&[], |command| {
        command.args(["--keyless", "never"]).env("PROOFBOX_DATA_DIR", data.path());
    });
    let get = |key: &str| {
        http().get(format!("{}/piston/api/v2/runtimes", server.url)).header("Authorization", key.to_owned()).send()
    };
    assert_eq!(get(&key).await.expect("the server answers").status(), 200);
    let refused = get("wrong").await.expect("the server answers");
    assert_eq!(refused.status(), 401);
    let said: Value = refused.json().await.expect("JSON");
    assert_eq!(said, json!({"message": "this key is not known here"}));
}
