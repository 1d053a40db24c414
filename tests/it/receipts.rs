//! Signed verdicts.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Server, assert_shows, proofbox};

/// A server whose key lies in `directory`.
fn server(directory: &Path) -> Server {
    Server::start_with(&["--workers", "1"], |command| {
        command.arg("--receipt-key").arg(directory.join("keys/receipts.pem"));
    })
}

fn request() -> Value {
    json!({
        "code": "def f(): return 1\n", "grading": "in_process", "receipt": true,
        "tests": {"kind": "asserts", "asserts": ["assert f() == 1"]}, "limits": {"wall_seconds": 5},
    })
}

async fn key(server: &Server) -> Value {
    let (status, text) = server.get("/v1/receipts/key").await;
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).expect("JSON")
}

/// Exit code and what is said.
fn verify(directory: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = proofbox(&["verify"]).args(arguments).current_dir(directory).output().expect("the binary was built");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).expect("UTF-8"))
}

#[tokio::test]
async fn a_verdict_can_be_carried_away_and_checked() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let server = server(at);
    let answer = server.execute(request()).await;
    let receipt = &answer["receipt"];
    assert_shows(
        &receipt["payload"],
        json!({
            "kind": "proofbox.receipt.v1", "id": answer["id"], "status": "passed", "tests_passed": 1, "tests_total": 1,
            "fuel_used": answer["fuel_used"], "image_hash": answer["runtime"]["image_hash"], "integrity": "in_process",
            "limits": answer["limits"], "policy": "default",
            // printf 'def f(): return 1\n' | sha256sum
            "code_sha256": "c773bb8b335e654bcfde86abbfb483a947b5728d0b7fedafb422e1332d5a34ec",
        }),
    );
    let key = key(&server).await;
    assert_eq!(key["public_key"], receipt["public_key"]);

    let write = |name: &str, content: &str| std::fs::write(at.join(name), content).expect("a file");
    write("receipt.json", &receipt.to_string());
    write("answer.json", &answer.to_string());
    write("key.json", &key.to_string());
    write("key.pem", key["pem"].as_str().expect("a string"));
    write("code.py", "def f(): return 1\n");
    write("other.py", "def f(): return 2\n");
    let public = key["public_key"].as_str().expect("a string");
    for arguments in [
        &["receipt.json"][..],
        &["answer.json", "--key", public, "--code", "code.py"],
        &["receipt.json", "--key", "key.json"],
        &["receipt.json", "--key", "key.pem"],
    ] {
        let (code, said) = verify(at, arguments);
        assert!(code == Some(0) && said.starts_with("VALID"), "{arguments:?}: {said}");
        assert!(said.contains("could have forged the verdict"), "{said}");
    }
    let (code, said) = verify(at, &["receipt.json", "--code", "other.py"]);
    assert!(code == Some(1) && said.contains("another program"), "{said}");

    write("forged.json", &receipt.to_string().replace("\"in_process\"", "\"isolated\""));
    let (code, said) = verify(at, &["forged.json"]);
    assert!(code == Some(1) && said.contains("the receipt was changed"), "{said}");
    assert_eq!(verify(at, &["missing.json"]).0, Some(125));
    assert_eq!(verify(at, &["receipt.json", "--key", "AAAA"]).0, Some(125));
}

#[tokio::test]
async fn the_key_is_made_once_and_kept_for_its_owner() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("keys/receipts.pem");
    let first = server(directory.path());
    assert!(!path.exists(), "nobody has asked yet");
    let key_before = key(&first).await;
    let mode = std::fs::metadata(&path).expect("it was made").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(first);
    assert_eq!(key(&server(directory.path())).await, key_before);
}

#[tokio::test]
async fn without_a_key_nothing_is_run() {
    // A file is where the directory would have to be.
    let directory = tempfile::tempdir().expect("a directory");
    let server = server(directory.path());
    std::fs::remove_dir(directory.path().join("keys")).expect("made at the start");
    std::fs::write(directory.path().join("keys"), "").expect("a file");
    let (status, answer) = server.post("/v1/execute", &request()).await;
    assert_eq!(status, 503, "{answer}");
    assert_shows(&answer["error"], json!({"code": "no_receipt_key", "field": "receipt"}));
    assert!(!answer.to_string().contains("keys"), "where the key lies is nobody's business: {answer}");
    assert_eq!(server.metric("proofbox_fuel_total").await, 0.0);
}

#[tokio::test]
async fn only_who_asks_gets_one() {
    let answer = Server::shared().execute(json!({"code": "1"})).await;
    assert_eq!(answer["receipt"], Value::Null);
}

#[test]
fn a_file_that_is_no_key_stops_the_start() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("key.pem"), "x").expect("a file");
    let mut command = proofbox(&["serve", "--listen", "127.0.0.1:0", "--receipt-key", "key.pem"]);
    let output = command.current_dir(directory.path()).output().expect("the binary was built for this test");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.status.code() == Some(125) && stderr.contains("key.pem"), "{stderr}");
}
