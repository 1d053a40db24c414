//! Authentication of requests: by the key that a request shows, or by the rules for requests without a key.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::connections::Peer;
use super::error::{ApiError, Denied};
use super::{AppState, KeylessRequests};
use crate::config::MetricsAccess;
use crate::service::{Busy, Recognised};
use crate::telemetry;
use proofbox_types::caller::Caller;

/// Returns the key that a request shows.
fn shown(headers: &HeaderMap) -> Option<&str> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    text("x-api-key").or_else(|| {
        let (scheme, key) = text(header::AUTHORIZATION.as_str())?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    })
}

/// Returns whether a page on another machine's site sends the request. Browsers name the page's site in `Origin` or
/// `Sec-Fetch-Site`; other clients send neither.
fn is_of_other_site(headers: &HeaderMap) -> bool {
    let is_other = |origin: &HeaderValue| {
        let host = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok()?.host().map(str::to_owned));
        !host.is_some_and(|host| is_own_name(&host))
    };
    headers.get_all(header::ORIGIN).iter().any(is_other)
        || headers.get_all("sec-fetch-site").iter().any(|site| site == "cross-site")
}

/// Returns whether a request's `Host` names another machine. A page does so after DNS rebinding, when its own name was
/// made to resolve to this machine: browsers take the service for the page's own site and send no `Origin`.
fn is_for_other_host(headers: &HeaderMap) -> bool {
    let is_other = |host: &HeaderValue| {
        let authority = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
        !authority.is_some_and(|authority| is_own_name(authority.host()))
    };
    headers.get_all(header::HOST).iter().any(is_other)
}

/// Returns whether a name always means this machine, whichever resolver is used: names below `localhost` are resolved
/// locally (RFC 6761).
fn is_own_name(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    matches!(host.as_str(), "localhost" | "127.0.0.1" | "[::1]") || host.ends_with(".localhost")
}

/// Treatment of keys that this service never issued.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UnknownKeys {
    Refused,
    Ignored,
}

impl AppState {
    /// Returns whether a request's `Host` names another machine, where requests without a key must be for this one.
    fn is_misnamed(&self, headers: &HeaderMap) -> bool {
        self.keyless == KeylessRequests::ToThisMachine && is_for_other_host(headers)
    }

    /// Identifies the sender of a request.
    pub(super) fn caller(&self, headers: &HeaderMap) -> Result<Caller, Denied> {
        self.identify(headers, UnknownKeys::Refused)
    }

    /// Identifies the sender of a request. Where requests without a key are served, an unknown key counts as no key.
    pub(super) fn caller_with_any_key(&self, headers: &HeaderMap) -> Result<Caller, Denied> {
        self.identify(headers, UnknownKeys::Ignored)
    }

    fn identify(&self, headers: &HeaderMap, unknown: UnknownKeys) -> Result<Caller, Denied> {
        let caller = match shown(headers).map(|text| self.service.keys.recognise(text)) {
            Some(Recognised::Caller(caller)) => caller,
            Some(Recognised::Revoked) => return Err(Denied::RevokedKey),
            Some(Recognised::Unknown)
                if unknown == UnknownKeys::Refused || self.keyless == KeylessRequests::Refused =>
            {
                return Err(Denied::UnknownKey);
            }
            _ if self.keyless == KeylessRequests::Refused => return Err(Denied::NoKey),
            _ if is_of_other_site(headers) || self.is_misnamed(headers) => return Err(Denied::OtherSite),
            _ => Caller::keyless(),
        };
        telemetry::name_key(caller.name());
        self.service.keys.count_request(&caller)?;
        Ok(caller)
    }

    /// Checks that the sender may read the metrics, by the operator's setting. `peer` is unknown where no connection of
    /// this server brought the request; such a request counts as another machine's.
    pub(super) fn admit_to_metrics(&self, peer: Option<Peer>, headers: &HeaderMap) -> Result<(), Denied> {
        if reads_without_key(self.metrics_access, peer) {
            return Ok(());
        }
        let caller = match shown(headers).map(|text| self.service.keys.recognise(text)) {
            Some(Recognised::Caller(caller)) => caller,
            Some(Recognised::Revoked) => return Err(Denied::RevokedKey),
            Some(Recognised::Unknown) => return Err(Denied::UnknownKey),
            None => return Err(Denied::NoKey),
        };
        telemetry::name_key(caller.name());
        self.service.keys.count_request(&caller)?;
        Ok(())
    }
}

/// Returns whether `access` lets `peer` read the metrics without a key.
fn reads_without_key(access: MetricsAccess, peer: Option<Peer>) -> bool {
    match access {
        MetricsAccess::Open => true,
        MetricsAccess::Loopback => peer.is_some_and(|Peer(address)| address.ip().to_canonical().is_loopback()),
        MetricsAccess::Key => false,
    }
}

/// Authenticates a request, and adds its caller to the extensions.
pub(super) async fn authenticate(State(shared): State<AppState>, mut request: Request, next: Next) -> Response {
    match shared.caller(request.headers()) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(denied) => ApiError::from(denied).into_response(),
    }
}

/// Extractor that checks, before the body is read, that the queue has room for one more submission.
pub(super) struct AdmissionCheck;

impl FromRequestParts<AppState> for AdmissionCheck {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, shared: &AppState) -> Result<Self, ApiError> {
        let caller = parts.extensions.get::<Caller>().ok_or_else(ApiError::internal)?;
        shared.service.admission.has_room(caller).map(|()| Self).map_err(|busy: Busy| ApiError::busy(&busy))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn a_key_is_shown_in_either_header() {
        assert_eq!(shown(&headers(&[("authorization", "Bearer abc")])), Some("abc"));
        assert_eq!(shown(&headers(&[("authorization", "bearer  abc ")])), Some("abc"));
        assert_eq!(shown(&headers(&[("x-api-key", "abc"), ("authorization", "Bearer def")])), Some("abc"));
        // A user of E2B's sandboxes.
        assert_eq!(shown(&headers(&[("authorization", "Basic dXNlcjo=")])), None);
        assert_eq!(shown(&headers(&[])), None);
    }

    #[test]
    fn metrics_are_read_without_a_key_by_whom_the_operator_chose() {
        let peer = |text: &str| Some(Peer(text.parse().expect("an address")));
        for own in ["127.0.0.1:1", "127.8.8.8:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(reads_without_key(MetricsAccess::Open, peer(own)), "{own}");
            assert!(reads_without_key(MetricsAccess::Loopback, peer(own)), "{own}");
            assert!(!reads_without_key(MetricsAccess::Key, peer(own)), "{own}");
        }
        for other in ["10.0.0.1:1", "[::ffff:10.0.0.1]:1", "[fe80::1]:1"] {
            assert!(reads_without_key(MetricsAccess::Open, peer(other)), "{other}");
            assert!(!reads_without_key(MetricsAccess::Loopback, peer(other)), "{other}");
            assert!(!reads_without_key(MetricsAccess::Key, peer(other)), "{other}");
        }
        assert!(!reads_without_key(MetricsAccess::Loopback, None));
    }

    #[test]
    fn only_pages_of_this_machine_do_without_a_key() {
        for own in ["http://localhost:3000", "http://127.0.0.1", "http://[::1]:8080"] {
            assert!(!is_of_other_site(&headers(&[("origin", own)])), "{own}");
        }
        for other in ["https://example.com", "null", "http://localhost.example.com", ""] {
            assert!(is_of_other_site(&headers(&[("origin", other)])), "{other}");
        }
        assert!(!is_of_other_site(&headers(&[])));
        let mut two = headers(&[("origin", "http://localhost")]);
        two.append("origin", HeaderValue::from_static("https://example.com"));
        assert!(is_of_other_site(&two));
        assert!(is_of_other_site(&headers(&[("sec-fetch-site", "cross-site")])));
        for own in ["same-origin", "same-site", "none"] {
            assert!(!is_of_other_site(&headers(&[("sec-fetch-site", own)])), "{own}");
        }
    }

    #[test]
    fn a_name_that_was_made_to_lead_here_is_not_our_own() {
        for own in ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:8080", "[::1]", "49999-abc.localhost:80"] {
            assert!(!is_for_other_host(&headers(&[("host", own)])), "{own}");
        }
        for other in ["evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.nip.io", "10.0.0.1", ""]
        {
            assert!(is_for_other_host(&headers(&[("host", other)])), "{other}");
        }
        assert!(!is_for_other_host(&headers(&[])));
    }
}
