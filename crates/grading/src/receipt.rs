//! A verdict that can be carried elsewhere: signed, so that whoever has the public key knows that it was not changed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use proofbox_types::canonical_json::to_canonical_json;

/// In every payload: a signature of something else is no receipt.
pub const KIND: &str = "proofbox.receipt.v1";
const ALGORITHM: &str = "ed25519";

/// Signed statement of a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// Version of the receipt's shape; always 1.
    pub version: u32,
    /// Statement that is signed.
    #[schema(value_type = Object)]
    pub payload: Map<String, Json>,
    /// Signature algorithm, always `ed25519`.
    pub algorithm: String,
    /// 32 bytes in base64.
    pub public_key: String,
    /// 64 bytes in base64, over the payload's canonical JSON (RFC 8785) in UTF-8.
    pub signature: String,
}

/// Reason why a receipt is worth nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// Made by something newer, or not by us.
    #[error("it is not of version 1, signed with ed25519")]
    Version,
    /// A signature of something else.
    #[error("what is signed is no receipt of proofbox")]
    Kind,
    /// Public key that can't be parsed.
    #[error("its public key is not 32 bytes in base64 that are a point of the curve")]
    Key,
    /// Signature that can't be parsed.
    #[error("its signature is not 64 bytes in base64")]
    Signature,
    /// Something was changed, or another key was used.
    #[error("the signature does not fit: the receipt was changed, or was signed with another key")]
    Forged,
}

impl Receipt {
    /// Signs what `payload` states.
    pub fn sign(mut payload: Map<String, Json>, key: &SigningKey) -> Self {
        payload.insert("kind".to_owned(), KIND.into());
        let payload = Json::Object(payload);
        let signature = key.sign(to_canonical_json(&payload).as_bytes());
        let Json::Object(payload) = payload else { unreachable!("it was made one line above") };
        Self {
            version: 1,
            payload,
            algorithm: ALGORITHM.to_owned(),
            public_key: BASE64.encode(key.verifying_key().as_bytes()),
            signature: BASE64.encode(signature.to_bytes()),
        }
    }

    /// Verifies the signature against the receipt's own key, and returns that key.
    ///
    /// # Errors
    /// Returns an [`Invalid`] when the version, the kind, the key or the signature is wrong.
    pub fn verify(&self) -> Result<VerifyingKey, Invalid> {
        if self.version != 1 || self.algorithm != ALGORITHM {
            return Err(Invalid::Version);
        }
        if self.payload.get("kind").and_then(Json::as_str) != Some(KIND) {
            return Err(Invalid::Kind);
        }
        let key = public_key(&self.public_key).ok_or(Invalid::Key)?;
        let signature = BASE64.decode(&self.signature).ok().and_then(|bytes| Signature::from_slice(&bytes).ok());
        let signature = signature.ok_or(Invalid::Signature)?;
        let signed = to_canonical_json(&Json::Object(self.payload.clone()));
        key.verify_strict(signed.as_bytes(), &signature).map_err(|_| Invalid::Forged)?;
        Ok(key)
    }
}

/// A public key in base64.
pub fn public_key(base64: &str) -> Option<VerifyingKey> {
    let bytes = BASE64.decode(base64.trim()).ok()?;
    VerifyingKey::from_bytes(&bytes.try_into().ok()?).ok().filter(|key| !key.is_weak())
}

/// SHA-256 in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_bytes(&[seed; 32])
    }

    fn receipt() -> Receipt {
        let Json::Object(payload) = json!({"status": "failed", "limits": {"wall_seconds": 30.0, "fuel": 1}}) else {
            unreachable!("an object")
        };
        Receipt::sign(payload, &key(1))
    }

    #[test]
    fn what_was_signed_is_valid_also_after_json_has_changed_its_order_and_numbers() {
        let mut receipt = receipt();
        assert_eq!(receipt.verify(), Ok(key(1).verifying_key()));
        let limits = receipt.payload.remove("limits").expect("it has limits");
        receipt.payload.insert("limits".to_owned(), limits);
        receipt.payload["limits"]["wall_seconds"] = json!(30);
        assert!(receipt.verify().is_ok());
    }

    #[test]
    fn every_change_is_found() {
        type Change = fn(&mut Receipt);
        let changes: [(Change, Invalid); 8] = [
            (|receipt| receipt.payload["status"] = json!("passed"), Invalid::Forged),
            (|receipt| receipt.payload["limits"]["fuel"] = json!(2), Invalid::Forged),
            (|receipt| drop(receipt.payload.insert("more".to_owned(), json!(1))), Invalid::Forged),
            (|receipt| receipt.public_key = BASE64.encode(key(2).verifying_key().as_bytes()), Invalid::Forged),
            (|receipt| receipt.public_key = BASE64.encode([0; 32]), Invalid::Key),
            (|receipt| receipt.signature.truncate(10), Invalid::Signature),
            (|receipt| receipt.version = 2, Invalid::Version),
            (|receipt| receipt.payload["kind"] = json!("other"), Invalid::Kind),
        ];
        for (index, (change, expected)) in changes.into_iter().enumerate() {
            let mut changed = receipt();
            change(&mut changed);
            assert_eq!(changed.verify(), Err(expected), "{index}");
        }
    }

    #[test]
    fn a_hash_is_that_of_sha256sum() {
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
