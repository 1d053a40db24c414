//! Addresses of files that need no headers: the token's holder has signed them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use sha2::{Digest, Sha256};

use super::secrets_equal;

/// Message for a signature that is not the sandbox's.
pub(super) const WRONG: &str = "invalid signature";

/// Operation that an address is signed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// Download of a file, by `GET`.
    Read,
    /// Upload of files, by `POST`.
    Write,
}

/// Parameters of an address of `/files` that determine who may use it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access<'a> {
    /// Operation that the address permits.
    pub operation: Operation,
    /// Path as the client gave it.
    pub path: &'a str,
    /// Name of the user, as the client gave it.
    pub username: &'a str,
    /// Signature of the other fields.
    pub signature: Option<&'a str>,
    /// End of validity in seconds since 1970, as the client gave it.
    pub expiration: Option<&'a str>,
}

impl Access<'_> {
    /// Returns whether the address is signed with this token.
    pub(super) fn is_signed_with(&self, token: &str) -> bool {
        self.signature.is_some_and(|signature| secrets_equal(signature.as_bytes(), self.sign(token).as_bytes()))
    }

    fn sign(&self, token: &str) -> String {
        let operation = match self.operation {
            Operation::Read => "read",
            Operation::Write => "write",
        };
        let mut text = format!("{}:{operation}:{}:{token}", self.path, self.username);
        if let Some(expiration) = self.expiration {
            text.push(':');
            text.push_str(expiration);
        }
        format!("v1_{}", STANDARD_NO_PAD.encode(Sha256::digest(text.as_bytes())))
    }

    /// Checks that the address is still valid at `now`, in seconds since 1970.
    ///
    /// # Errors
    /// Returns an error when it has expired, or the end is not a number.
    pub(super) fn check_expiration(&self, now: i64) -> Result<(), &'static str> {
        match self.expiration.map(str::parse::<i64>) {
            None => Ok(()),
            Some(Ok(end)) if now <= end => Ok(()),
            Some(Ok(_)) => Err("signature is already expired"),
            Some(Err(_)) => Err("signature_expiration is no number of seconds"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // sha256("a b.txt:read::secret:1700000000"), computed with another implementation.
    const SIGNED: Access<'static> = Access {
        operation: Operation::Read,
        path: "a b.txt",
        username: "",
        signature: Some("v1_sIh3SRACj3wwVj95XdsHI9HMGpaPwaR6eWgR+sJCDpo"),
        expiration: Some("1700000000"),
    };

    #[test]
    fn a_signature_holds_for_its_token_path_operation_and_time() {
        assert!(SIGNED.is_signed_with("secret"));
        assert!(!SIGNED.is_signed_with("secret2"));
        assert!(!Access { path: "b.txt", ..SIGNED }.is_signed_with("secret"));
        assert!(!Access { operation: Operation::Write, ..SIGNED }.is_signed_with("secret"));
        assert!(!Access { expiration: Some("1700000001"), ..SIGNED }.is_signed_with("secret"));
        assert!(!Access { expiration: None, ..SIGNED }.is_signed_with("secret"));
        assert!(!Access { signature: None, ..SIGNED }.is_signed_with("secret"));
        let plain =
            Access { signature: Some("v1_Gk6cWCXRmLTuyDNAlEdRt7XOm/LMmqNtWmWvLKaw5eE"), expiration: None, ..SIGNED };
        assert!(plain.is_signed_with("secret"));
    }

    #[test]
    fn a_signature_ends_at_its_time() {
        assert_eq!(SIGNED.check_expiration(1_700_000_000), Ok(()));
        assert!(SIGNED.check_expiration(1_700_000_001).is_err());
        assert!(Access { expiration: Some("soon"), ..SIGNED }.check_expiration(0).is_err());
    }
}
