//! Who asks: by the key that a request shows, or because it may come without one.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Shared;
use super::error::ApiError;
use crate::domain::caller::Caller;
use crate::service::{Busy, OverQuota, Recognised};
use crate::telemetry;

/// Why a request is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// It shows no key, and may not come without one.
    #[error("show a key: `Authorization: Bearer KEY` or `X-API-Key: KEY`; `proofbox keys create` makes one")]
    NoKey,
    /// It shows one that never was.
    #[error("this key is not known here")]
    UnknownKey,
    /// It shows one that is not in force any more.
    #[error("this key is revoked")]
    RevokedKey,
    /// A page of another site sends it, through somebody's browser.
    #[error("pages of other sites may not use this service without a key")]
    OtherSite,
    /// The key sends too many.
    #[error(transparent)]
    OverQuota(#[from] OverQuota),
}

/// The key that a request shows.
fn shown(headers: &HeaderMap) -> Option<&str> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    text("x-api-key").or_else(|| {
        let (scheme, key) = text(header::AUTHORIZATION.as_str())?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    })
}

/// Whether a page on another machine's site sends it. Browsers say whose page it is; other clients say nothing.
fn is_of_other_site(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return false };
    let host = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok()?.host().map(str::to_owned));
    !host.is_some_and(|host| matches!(host.as_str(), "localhost" | "127.0.0.1" | "[::1]"))
}

impl Shared {
    /// Who sends this. Where requests without a key are served and `any_key` will do, a key that is not known is none.
    pub fn caller(&self, headers: &HeaderMap, any_key: bool) -> Result<Caller, Denied> {
        let caller = match shown(headers).map(|text| self.service.keys().recognise(text)) {
            Some(Recognised::Caller(caller)) => caller,
            Some(Recognised::Revoked) => return Err(Denied::RevokedKey),
            Some(Recognised::Unknown) if !(any_key && self.keyless) => return Err(Denied::UnknownKey),
            _ if !self.keyless => return Err(Denied::NoKey),
            _ if is_of_other_site(headers) => return Err(Denied::OtherSite),
            _ => Caller::keyless(),
        };
        telemetry::name_key(caller.name());
        self.service.count_request(&caller)?;
        Ok(caller)
    }
}

/// Lets requests pass that may, and notes who sends them.
pub async fn authenticate(State(shared): State<Shared>, mut request: Request, next: Next) -> Response {
    match shared.caller(request.headers(), false) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(denied) => ApiError::from(denied).into_response(),
    }
}

/// There is room for one more submission: told before its body is read.
pub struct Room;

impl FromRequestParts<Shared> for Room {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, ApiError> {
        let caller = parts.extensions.get::<Caller>().ok_or_else(ApiError::internal)?;
        shared.service.has_room(caller).map(|()| Self).map_err(|busy: Busy| ApiError::busy(&busy))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

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
    fn only_pages_of_this_machine_do_without_a_key() {
        for own in ["http://localhost:3000", "http://127.0.0.1", "http://[::1]:8080"] {
            assert!(!is_of_other_site(&headers(&[("origin", own)])), "{own}");
        }
        for other in ["https://example.com", "null", "http://localhost.example.com", ""] {
            assert!(is_of_other_site(&headers(&[("origin", other)])), "{other}");
        }
        assert!(!is_of_other_site(&headers(&[])));
    }
}
