//! Request bodies: JSON that says which of its fields is wrong.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;

use super::error::ApiError;

/// A body of type `T`.
pub struct JsonBody<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let kind = request.headers().get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap_or("").to_ascii_lowercase());
        // A client that says nothing (curl -T) is taken at its body.
        if kind.is_some_and(|kind| !kind.contains("json") && !kind.starts_with("application/x-www-form-urlencoded")) {
            return Err(ApiError::not_json());
        }
        let bytes = Bytes::from_request(request, state).await.map_err(|rejection| match &rejection {
            BytesRejection::FailedToBufferBody(failed) if failed.status() == StatusCode::PAYLOAD_TOO_LARGE => ApiError::body_too_large(),
            _ => ApiError::malformed(None, "the request body could not be read"),
        })?;
        parse(&bytes).map(JsonBody)
    }
}

/// Parses a whole body.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let text = std::str::from_utf8(bytes).map_err(|error| ApiError::malformed(None, format!("the body is not UTF-8 (at byte {})", error.valid_up_to())))?;
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let message = error.into_inner().to_string();
        // An unknown field is named in the message, its parent in the path.
        let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
        let field = match (path.as_str(), unknown) {
            (".", None) => None,
            (".", Some(unknown)) => Some(unknown.to_owned()),
            (path, Some(unknown)) if !path.ends_with(unknown) => Some(format!("{path}.{unknown}")),
            (path, _) => Some(path.to_owned()),
        };
        ApiError::malformed(field, message)
    })?;
    json.end().map_err(|error| ApiError::malformed(None, format!("there is more after the JSON value: {error}")))?;
    Ok(value)
}
