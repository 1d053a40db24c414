//! Users that clients act as.

use axum::http::{HeaderMap, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::error::{E2bError, Kind};
use proofbox_types::user::User;

/// Returns the user of a name; none where there is no name, which is the sandbox's own default.
///
/// # Errors
/// Returns an error for a name that no user has.
pub(super) fn user_named(name: &str) -> Result<Option<User>, E2bError> {
    if name.is_empty() {
        return Ok(None);
    }
    User::parse(name)
        .map(Some)
        .ok_or_else(|| E2bError::new(Kind::Unauthenticated, format!("invalid username: '{name}'")))
}

/// Returns the user that an RPC is made as: the name in its basic authorization, whose password is empty; none where it
/// names none.
///
/// # Errors
/// Returns an error for a name that no user has.
pub(super) fn user_of(headers: &HeaderMap) -> Result<Option<User>, E2bError> {
    let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let encoded = value.and_then(|value| value.strip_prefix("Basic "));
    let decoded = encoded.and_then(|encoded| BASE64.decode(encoded.trim()).ok());
    let pair = decoded.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    user_named(pair.split(':').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn the_user_of_an_rpc_is_in_its_basic_authorization() {
        let user = |value: &'static str| {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(value))]);
            user_of(&headers).map_err(|error| error.message())
        };
        assert_eq!(user("Basic dXNlcjo="), Ok(Some(User::User)));
        assert_eq!(user("Basic cm9vdDo="), Ok(Some(User::Root)));
        assert_eq!(user("Basic bm9ib2R5Og=="), Err("invalid username: 'nobody'".to_owned()));
        assert_eq!(user("Bearer x"), Ok(None));
        assert_eq!(user_of(&HeaderMap::new()).map_err(|error| error.message()), Ok(None));
    }
}
