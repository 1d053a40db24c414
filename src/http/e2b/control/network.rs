//! Network options of sandboxes. There is no network, so that denials hold by themselves.

use std::net::IpAddr;

use axum::Extension;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use serde::Deserialize;

use super::super::error::{E2bError, Kind};
use super::super::{E2b, body};
use proofbox_types::caller::Caller;

/// Maximum number of addresses in one list.
const MAX_ADDRESSES: usize = 1000;
/// Address that stands for all.
const ALL: &str = "0.0.0.0/0";

/// Network options as clients give them; other fields have no meaning here.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NetworkOptions {
    #[serde(default)]
    allow_out: Option<Vec<String>>,
    #[serde(default)]
    deny_out: Option<Vec<String>>,
    #[serde(default)]
    allow_public_traffic: Option<bool>,
    #[serde(default)]
    mask_request_host: Option<String>,
}

impl NetworkOptions {
    /// Checks that the options mean something.
    pub(crate) fn check(&self) -> Result<(), E2bError> {
        let bad = |message: String| Err(E2bError::new(Kind::Bad, message));
        let (allowed, denied) =
            (self.allow_out.as_deref().unwrap_or_default(), self.deny_out.as_deref().unwrap_or_default());
        if allowed.len().max(denied.len()) > MAX_ADDRESSES {
            return bad(format!("a list of addresses has at most {MAX_ADDRESSES}"));
        }
        if let Some(wrong) = allowed.iter().find(|address| !is_network(address) && !is_host(address)) {
            return bad(format!("allowOut: {:?} is no address, network or domain", shorten(wrong)));
        }
        if let Some(wrong) = denied.iter().find(|address| !is_network(address)) {
            return bad(format!("denyOut: {:?} is no address or network", shorten(wrong)));
        }
        let has_domain = allowed.iter().any(|address| !is_network(address));
        if has_domain && !denied.iter().any(|address| address == ALL) {
            return bad(format!("allowOut with domains needs {ALL} in denyOut"));
        }
        match &self.mask_request_host {
            Some(host) if !is_masked_host(host) => bad(format!("maskRequestHost: {:?} is no host", shorten(host))),
            _ => Ok(()),
        }
    }

    /// Returns whether the sandbox is to serve nobody without a token.
    pub(crate) fn forbids_public_traffic(&self) -> bool {
        self.allow_public_traffic == Some(false)
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(100).collect()
}

/// Returns whether this is an address, or a network such as `10.0.0.0/8`.
fn is_network(text: &str) -> bool {
    let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
    let Ok(address) = address.parse::<IpAddr>() else { return false };
    let most = if address.is_ipv4() { 32 } else { 128 };
    bits.is_none_or(|bits| bits.parse::<u8>().is_ok_and(|bits| bits <= most))
}

/// Returns whether this is the name of a host, whose first part may be `*`.
fn is_host(text: &str) -> bool {
    let name = text.strip_prefix("*.").unwrap_or(text);
    let is_part = |part: &str| {
        let inner = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        inner && (1..=63).contains(&part.len()) && !part.starts_with('-') && !part.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_part)
}

/// Returns whether this can stand in a `Host` header: a host and a port, either of which may contain `${PORT}`.
fn is_masked_host(text: &str) -> bool {
    let text = text.replace("${PORT}", "1");
    let (host, port) = text.split_once(':').map_or((text.as_str(), None), |(host, port)| (host, Some(port)));
    (is_host(host) || host.parse::<IpAddr>().is_ok()) && port.is_none_or(|port| port.parse::<u16>().is_ok())
}

/// Replaces the network options of a sandbox. Denials hold already; nothing can be allowed.
pub(crate) async fn update(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request,
) -> Result<StatusCode, E2bError> {
    e2b.shared.service.sessions.info(e2b.own(&caller, &id)?)?;
    let options: NetworkOptions = body::json(request).await?;
    options.check()?;
    if options.allow_out.is_some_and(|allowed| !allowed.is_empty()) {
        return Err(E2bError::new(Kind::Unimplemented, "sandboxes of this service have no network to allow"));
    }
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_accepted(options: serde_json::Value) -> bool {
        serde_json::from_value::<NetworkOptions>(options).expect("options").check().is_ok()
    }

    #[test]
    fn options_that_mean_nothing_are_refused() {
        assert!(is_accepted(json!({})));
        assert!(is_accepted(json!({"allowOut": ["1.1.1.1", "8.8.8.0/24"], "denyOut": [ALL, "::/0"]})));
        assert!(is_accepted(json!({"allowOut": ["*.example.org"], "denyOut": [ALL]})));
        assert!(is_accepted(json!({"maskRequestHost": "custom.example.org:${PORT}"})));
        for wrong in [
            json!({"allowOut": ["not an ip!"]}),
            json!({"allowOut": ["example.org"]}),
            json!({"denyOut": ["example.org"]}),
            json!({"denyOut": ["10.0.0.0/33"]}),
            json!({"denyOut": vec!["1.1.1.1"; MAX_ADDRESSES + 1]}),
            json!({"maskRequestHost": "a b"}),
            json!({"maskRequestHost": "host:99999"}),
        ] {
            assert!(!is_accepted(wrong.clone()), "{wrong}");
        }
    }
}
