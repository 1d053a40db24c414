//! Address of the sandbox that a request is for: in its headers, its host's name, or the secret that it brings.

use axum::http::{HeaderMap, Uri, header};
use sha2::{Digest, Sha256};

use super::error::E2bError;
use super::signature::{self, Access};
use super::{E2b, secrets_equal};
use crate::service::{SessionInfo, SessionState};
use proofbox_types::ids::SessionId;

/// The port of files, processes and health.
pub(super) const ENVD: u16 = 49983;
/// The port of the interpreter.
pub(super) const INTERPRETER: u16 = 49999;

/// A sandbox as a request names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// Text of the name, as the client wrote it.
    pub text: String,
    /// The port, where one is given: a hint, for paths tell more.
    pub port: Option<u16>,
}

impl Named {
    /// The sandbox that the headers name, or the host.
    pub(super) fn of(headers: &HeaderMap, uri: &Uri) -> Option<Self> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        if let Some(id) = text("e2b-sandbox-id").filter(|id| !id.is_empty()) {
            let port = text("e2b-sandbox-port").and_then(|port| port.parse().ok());
            return Some(Self { text: id.to_owned(), port });
        }
        let host = text(header::HOST.as_str()).or_else(|| uri.host())?;
        Self::in_host(host)
    }

    /// Parses `PORT-ID.domain`, the form of a host's name.
    fn in_host(host: &str) -> Option<Self> {
        let (first, domain) = host.split_once('.')?;
        let (port, id) = first.split_once('-')?;
        let port = port.parse().ok()?;
        let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        (is_id && !domain.is_empty()).then(|| Self { text: id.to_ascii_lowercase(), port: Some(port) })
    }
}

/// The header with a sandbox's traffic token.
const TRAFFIC_TOKEN: &str = "e2b-traffic-access-token";

/// Returns the token that SDKs send back where they send no access token. It is derived from the access token, which it
/// does not reveal.
pub(super) fn traffic_token(access_token: &str) -> String {
    let digest = Sha256::digest(format!("proofbox traffic {access_token}").as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The secret that a request brings.
fn token(headers: &HeaderMap) -> Option<&str> {
    headers.get("x-access-token").and_then(|value| value.to_str().ok())
}

impl E2b {
    /// Returns the live sandbox that a request is for, without checking who asks.
    pub(super) fn sandbox(&self, headers: &HeaderMap, uri: &Uri) -> Result<SessionInfo, E2bError> {
        let Some(named) = Named::of(headers, uri) else {
            // Clients of one version send nothing but the token.
            let found = token(headers).and_then(|token| {
                self.shared.service.sessions.find(|_, secret| secrets_equal(secret.as_bytes(), token.as_bytes()))
            });
            return match found {
                Some(id) => self.alive(&id.simple()),
                None => Err(E2bError::new(
                    super::error::Kind::Bad,
                    "which sandbox? There is no E2b-Sandbox-Id header, and the host is no PORT-ID.domain",
                )),
            };
        };
        match named.port {
            None | Some(ENVD | INTERPRETER) => self.alive(&named.text),
            Some(port) => {
                let sandbox = self.alive(&named.text)?.id.simple();
                Err(E2bError::Closed { sandbox, port })
            }
        }
    }

    /// Returns the sandbox that a request is for, when it brings the sandbox's token.
    pub(super) fn own_sandbox(&self, headers: &HeaderMap, uri: &Uri) -> Result<SessionInfo, E2bError> {
        let info = self.sandbox(headers, uri)?;
        match token(headers) {
            Some(token) if secrets_equal(info.spec.token.as_bytes(), token.as_bytes()) => Ok(info),
            Some(_) => Err(refused("this is not the access token of the sandbox")),
            None => Err(refused("the access token of the sandbox is missing: X-Access-Token")),
        }
    }

    /// Returns the sandbox that a request to the interpreter is for, when it brings a token of the sandbox or a key of
    /// its owner.
    ///
    /// # Errors
    /// Returns an error when the request brings neither, or there is no such sandbox.
    pub(super) fn interpreter_sandbox(&self, headers: &HeaderMap, uri: &Uri) -> Result<SessionInfo, E2bError> {
        let info = self.sandbox(headers, uri)?;
        let equal = |shown: &str, secret: &str| secrets_equal(shown.as_bytes(), secret.as_bytes());
        let traffic = headers.get(TRAFFIC_TOKEN).and_then(|value| value.to_str().ok());
        if token(headers).is_some_and(|shown| equal(shown, &info.spec.token))
            || traffic.is_some_and(|shown| equal(shown, &traffic_token(&info.spec.token)))
        {
            return Ok(info);
        }
        // Where requests without a key are served any key will do, as for the control plane; but there is one.
        let caller =
            headers.contains_key("x-api-key").then(|| self.shared.caller_with_any_key(headers)).and_then(Result::ok);
        if caller.is_some_and(|caller| self.shared.service.sessions.is_own(&caller, info.id)) {
            return Ok(info);
        }
        Err(refused("a token of the sandbox is missing: E2B-Traffic-Access-Token or X-Access-Token"))
    }

    /// Returns the sandbox of a request for `/files`, where a signature in the address can replace the token.
    pub(super) fn signed_sandbox(
        &self,
        headers: &HeaderMap,
        uri: &Uri,
        access: &Access<'_>,
    ) -> Result<SessionInfo, E2bError> {
        if access.signature.is_none() {
            return self.own_sandbox(headers, uri);
        }
        access.check_expiration(jiff::Timestamp::now().as_second()).map_err(refused)?;
        let info = match Named::of(headers, uri) {
            Some(_) => self.sandbox(headers, uri)?,
            // The address says nothing of the sandbox but this.
            None => {
                let found = self.shared.service.sessions.find(|_, secret| access.is_signed_with(secret));
                self.alive(&found.ok_or_else(|| refused(signature::WRONG))?.simple())?
            }
        };
        if access.is_signed_with(&info.spec.token) { Ok(info) } else { Err(refused(signature::WRONG)) }
    }

    /// Returns the sandbox of this name, if it serves calls.
    fn alive(&self, text: &str) -> Result<SessionInfo, E2bError> {
        let id = SessionId::parse(text).ok_or_else(|| E2bError::dead(text))?;
        let info = self.shared.service.sessions.info(id).map_err(|error| E2bError::of_sandbox(text, error))?;
        if info.state == SessionState::Paused && !info.spec.auto_resume {
            return Err(E2bError::dead(text));
        }
        Ok(info)
    }
}

fn refused(message: impl Into<String>) -> E2bError {
    E2bError::new(super::error::Kind::Unauthenticated, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(pairs: &[(&str, &str)]) -> Option<(String, Option<u16>)> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name: axum::http::HeaderName = name.parse().expect("a name");
            headers.insert(name, value.parse().expect("a value"));
        }
        Named::of(&headers, &Uri::from_static("/files")).map(|named| (named.text, named.port))
    }

    #[test]
    fn headers_come_before_the_host() {
        let both = [("E2b-Sandbox-Id", "abc"), ("E2b-Sandbox-Port", "49999"), ("Host", "49983-def.example.org")];
        assert_eq!(named(&both), Some(("abc".to_owned(), Some(49999))));
        assert_eq!(named(&both[2..]), Some(("def".to_owned(), Some(49983))));
    }

    #[test]
    fn a_host_of_another_form_names_no_sandbox() {
        for host in
            ["127.0.0.1:8080", "localhost", "api.example.org", "49983-.example.org", "x-abc.example.org", "1-a_b.c"]
        {
            assert_eq!(named(&[("Host", host)]), None, "{host}");
        }
        assert_eq!(named(&[("E2b-Sandbox-Id", " ")]), None);
    }
}
