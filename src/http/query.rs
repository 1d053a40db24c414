//! Parameters of a path: errors name the parameter that is unknown or wrong.

use std::borrow::Cow;

use axum::http::{HeaderMap, Uri, header};
use url::form_urlencoded;

use super::error::ApiError;

/// The parameters of one request.
#[derive(Debug)]
pub(super) struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    /// Parses the parameters of a path that has `known` ones. A known name that ends with a dot stands for all names
    /// that begin with it.
    ///
    /// # Errors
    /// Returns an error that names the first parameter that is not known.
    pub(super) fn of(uri: &'a Uri, known: &[&str]) -> Result<Self, ApiError> {
        let pairs: Vec<_> = form_urlencoded::parse(uri.query().unwrap_or("").as_bytes()).collect();
        let is_known =
            |name: &str| known.iter().any(|one| *one == name || (one.ends_with('.') && name.starts_with(one)));
        match pairs.iter().find(|(name, _)| !is_known(name)) {
            None => Ok(Self(pairs)),
            Some((name, _)) => {
                let known = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                Err(ApiError::malformed(
                    Some(name.clone().into_owned()),
                    format!("unknown parameter; there is {known}"),
                ))
            }
        }
    }

    /// Returns the last value of this name.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_ref())
    }

    /// Returns the parameters whose names begin with `prefix`, with the rest of the name.
    pub(super) fn under<'b>(&'b self, prefix: &'b str) -> impl Iterator<Item = (&'b str, &'b str)> {
        self.0.iter().filter_map(move |(name, value)| Some((name.strip_prefix(prefix)?, value.as_ref())))
    }

    /// Returns whether a flag is set: `true`, or without a value.
    pub(super) fn flag(&self, name: &str) -> Result<bool, ApiError> {
        match self.text(name) {
            None | Some("false" | "0") => Ok(false),
            Some("" | "true" | "1") => Ok(true),
            Some(_) => Err(ApiError::meaningless(name, "it must be true or false")),
        }
    }

    /// Parses a whole number in this range.
    pub(super) fn number(&self, name: &str, range: std::ops::RangeInclusive<u32>) -> Result<Option<u32>, ApiError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| range.contains(number));
        let wrong = || ApiError::meaningless(name, format!("it must be from {} to {}", range.start(), range.end()));
        number.map(Some).ok_or_else(wrong)
    }
}

/// Returns whether a client prefers HTML to JSON.
pub(super) fn wants_html(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("");
    let kinds = accept.split(',').filter_map(|kind| kind.split(';').next().map(str::trim));
    let mut kinds = kinds.filter(|kind| matches!(*kind, "text/html" | "application/json" | "*/*"));
    kinds.next() == Some("text/html")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &'static str) -> Uri {
        Uri::from_static(text)
    }

    #[test]
    fn parameters_are_read_and_unknown_ones_named() {
        let uri = uri("/a?limit=7&label.model=x%20y&label.task=&follow&limit=9");
        let query = Query::of(&uri, &["limit", "label.", "follow"]).expect("all are known");
        assert_eq!(query.number("limit", 1..=9).expect("in range"), Some(9));
        assert!(query.number("limit", 1..=8).is_err());
        assert!(query.flag("follow").expect("a flag"));
        assert_eq!(query.under("label.").collect::<Vec<_>>(), [("model", "x y"), ("task", "")]);
        assert!(Query::of(&uri, &["limit"]).is_err());
    }

    #[test]
    fn a_browser_wants_html_and_curl_does_not() {
        let accept =
            |text: &'static str| HeaderMap::from_iter([(header::ACCEPT, axum::http::HeaderValue::from_static(text))]);
        assert!(wants_html(&accept("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")));
        for other in ["*/*", "application/json", "application/json, text/html", ""] {
            assert!(!wants_html(&accept(other)), "{other}");
        }
    }
}
