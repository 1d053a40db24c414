//! Bodies and queries of this API flavour: unknown fields are ignored, as E2B's servers do.

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::Uri;
use serde::de::DeserializeOwned;

use super::error::{E2bError, Kind};
use crate::http::body::{BodyError, WholeBody};
use crate::http::extract::Object;

/// A whole body, up to the service's limit.
pub(super) async fn whole(request: Request<Body>) -> Result<Bytes, E2bError> {
    Ok(WholeBody::read(request).await?.bytes)
}

/// Error for a body that is too large.
pub(super) fn too_large() -> E2bError {
    BodyError::TooLarge.into()
}

/// Reads a JSON object; a missing body counts as an empty object.
pub(super) async fn json<T: DeserializeOwned + Send + 'static>(request: Request<Body>) -> Result<T, E2bError> {
    WholeBody::read(request).await?.parse(parse).await
}

/// Parses a JSON body from its bytes, ignoring unknown fields.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, E2bError> {
    let bytes = if bytes.trim_ascii().is_empty() { b"{}" } else { bytes };
    let Object(value) = serde_json::from_slice(bytes)
        .map_err(|error| E2bError::new(Kind::Bad, format!("the request body is not what is expected: {error}")))?;
    Ok(value)
}

/// A parameter of the query, decoded.
pub(super) fn parameter(uri: &Uri, name: &str) -> Option<String> {
    let pairs = url::form_urlencoded::parse(uri.query().unwrap_or("").as_bytes());
    pairs.into_iter().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// The values of a parameter that may be there more than once, decoded.
pub(super) fn parameters(uri: &Uri, name: &str) -> Vec<String> {
    let pairs = url::form_urlencoded::parse(uri.query().unwrap_or("").as_bytes());
    pairs.into_iter().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned()).collect()
}
