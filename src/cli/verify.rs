//! `proofbox verify RECEIPT.json`: what a receipt proves.

#![expect(clippy::print_stdout, reason = "standard output is where a command answers")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use clap::Args;
use ed25519_dalek::VerifyingKey;
use ed25519_dalek::pkcs8::DecodePublicKey;
use serde_json::Value as Json;

use proofbox_grading::receipt::{Receipt, public_key, sha256};
use proofbox_types::sanitize::sanitize_line;

/// Receipt to verify, and what to compare it with.
#[derive(Args)]
pub(super) struct VerifyArguments {
    /// A receipt, or a whole answer that has one
    #[arg(value_name = "RECEIPT.json")]
    receipt: PathBuf,
    /// The public key that it must be signed with: in base64, or a file that has it so, in PEM, or as
    /// GET /v1/receipts/key gives it
    #[arg(long, value_name = "PUBLIC")]
    key: Option<String>,
    /// The program that it must be about
    #[arg(long, value_name = "FILE")]
    code: Option<PathBuf>,
}

/// Checks the receipt; exit code 0 when all that was to be checked holds, else 1.
pub(super) fn verify(arguments: &VerifyArguments) -> anyhow::Result<ExitCode> {
    let bytes = read(&arguments.receipt)?;
    let expected = arguments.key.as_deref().map(key_of).transpose()?;
    let code = arguments.code.as_deref().map(read).transpose()?;
    Ok(match check(&bytes, expected.as_ref(), code.as_deref()) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(said) => {
            println!("NOT VALID: {said}");
            ExitCode::FAILURE
        }
    })
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("reading {}", path.display()))
}

fn key_of(text: &str) -> anyhow::Result<VerifyingKey> {
    if let Some(key) = public_key(text) {
        return Ok(key);
    }
    let path = Path::new(text);
    if !path.exists() {
        bail!("--key {}: neither 32 bytes in base64 nor a file", sanitize_line(text, 80));
    }
    let content = String::from_utf8_lossy(&read(path)?).into_owned();
    let of_answer = || {
        let answer: Json = serde_json::from_str(&content).ok()?;
        public_key(answer["public_key"].as_str()?)
    };
    let key =
        public_key(&content).or_else(|| VerifyingKey::from_public_key_pem(content.trim()).ok()).or_else(of_answer);
    key.with_context(|| format!("--key {text}: there is no Ed25519 public key in it"))
}

/// Checks a receipt, and returns what it proves in words.
///
/// # Errors
/// Returns an error that says which check fails.
fn check(bytes: &[u8], expected: Option<&VerifyingKey>, code: Option<&[u8]>) -> Result<String, String> {
    let receipt = receipt_of(bytes)?;
    let key = receipt.verify().map_err(|invalid| invalid.to_string())?;
    if let Some(expected) = expected.filter(|expected| **expected != key) {
        return Err(format!(
            "it is signed with another key: {}, and not {}",
            BASE64.encode(key.as_bytes()),
            BASE64.encode(expected.as_bytes())
        ));
    }
    let field = |name: &str| match receipt.payload.get(name) {
        Some(Json::String(text)) => sanitize_line(text, 200),
        Some(value) => sanitize_line(&value.to_string(), 200),
        None => "-".to_owned(),
    };
    if let Some(code) = code {
        let hash = sha256(code);
        if hash != field("code_sha256") {
            return Err(format!(
                "it is about another program: SHA-256 {}, and the file has {hash}",
                field("code_sha256")
            ));
        }
    }
    let mut lines = vec![format!("VALID: signed with the key {}", BASE64.encode(key.as_bytes()))];
    lines.push(match expected {
        Some(_) => {
            "  That is the key you named: its holder states what follows, and nothing of it was changed.".to_owned()
        }
        None => "  Nothing was changed since. Whose key it is, is not known: compare it with --key.".to_owned(),
    });
    lines.push(match code {
        Some(_) => "  It is about the program in the file.".to_owned(),
        None => "  Which program it is about was not checked: name it with --code.".to_owned(),
    });
    lines.push(String::new());
    for (name, shown) in [
        ("id", "execution"),
        ("time", "time"),
        ("status", "status"),
        ("stderr_class", "class"),
        ("tests_passed", "tests passed"),
        ("tests_total", "of"),
        ("fuel_used", "fuel"),
        ("integrity", "grading"),
        ("code_sha256", "code"),
        ("tests_sha256", "tests"),
        ("files_sha256", "files"),
        ("image_hash", "interpreter"),
        ("policy", "policy"),
        ("limits", "limits"),
    ] {
        lines.push(format!("  {shown:14} {}", field(name)));
    }
    lines.push(String::new());
    lines.push(match receipt.payload.get("integrity").and_then(Json::as_str) {
        Some("isolated") => "The verdict was made where the program was not.".to_owned(),
        Some("in_process") => {
            "The tests ran in the program's own interpreter: it could have forged the verdict, and the signature does not \
             change that."
                .to_owned()
        }
        _ => "Nothing was graded.".to_owned(),
    });
    Ok(lines.join("\n"))
}

/// The receipt in `bytes`, alone or in an answer.
fn receipt_of(bytes: &[u8]) -> Result<Receipt, String> {
    let mut value: Json = serde_json::from_slice(bytes).map_err(|error| format!("it is not JSON: {error}"))?;
    if value.get("signature").is_none()
        && let Some(inner) = value.get_mut("receipt")
    {
        value = inner.take();
        if value.is_null() {
            return Err("the answer has no receipt".to_owned());
        }
    }
    serde_json::from_value(value)
        .map_err(|error| format!("it is no receipt: {}", sanitize_line(&error.to_string(), 200)))
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::SigningKey;
    use serde_json::json;

    use super::*;

    fn receipt(integrity: &str) -> Receipt {
        let payload = json!({"code_sha256": sha256(b"1"), "integrity": integrity, "policy": "\x1b[2J"});
        let Json::Object(payload) = payload else { unreachable!("an object") };
        Receipt::sign(payload, &SigningKey::from_bytes(&[1; 32]))
    }

    #[test]
    fn it_says_what_is_proved_and_what_is_not() {
        let bytes = serde_json::to_vec(&json!({"id": "x", "receipt": receipt("in_process")})).expect("JSON");
        let key = SigningKey::from_bytes(&[1; 32]).verifying_key();
        let said = check(&bytes, None, None).expect("it is valid");
        assert!(said.contains("Whose key it is, is not known") && said.contains("could have forged"), "{said}");
        assert!(said.contains("was not checked") && !said.contains('\x1b'), "{said}");
        let said = check(&bytes, Some(&key), Some(b"1")).expect("it is valid");
        assert!(said.contains("the key you named") && said.contains("the program in the file"), "{said}");
    }

    #[test]
    fn another_key_another_program_or_no_receipt_is_not_valid() {
        let bytes = serde_json::to_vec(&receipt("isolated")).expect("JSON");
        let other = SigningKey::from_bytes(&[2; 32]).verifying_key();
        assert!(check(&bytes, Some(&other), None).is_err_and(|said| said.contains("another key")));
        assert!(check(&bytes, None, Some(b"2")).is_err_and(|said| said.contains("another program")));
        for bytes in [&b"{}"[..], b"", b"[]", b"{\"receipt\": null}", b"{\"receipt\": 1}"] {
            assert!(check(bytes, None, None).is_err());
        }
    }
}
