//! Request bodies: JSON that says which of its fields is wrong.

use std::marker::PhantomData;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::body::{BodyReader, WholeBody};
use super::error::ApiError;
use proofbox_types::large_integers::tag_large_integers_of_cases;

/// A body of type `T`.
pub(super) struct JsonBody<T>(pub T);

/// Checks that the request's `Content-Type`, if any, admits JSON.
///
/// # Errors
/// Returns an error when it names another type.
pub(super) fn check_json(request: &Request) -> Result<(), ApiError> {
    let kind =
        request.headers().get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap_or("").to_ascii_lowercase());
    // A client that says nothing (curl -T) is taken at its body.
    if kind.is_some_and(|kind| !kind.contains("json") && !kind.starts_with("application/x-www-form-urlencoded")) {
        return Err(ApiError::not_json());
    }
    Ok(())
}

impl<S: Send + Sync, T: DeserializeOwned + Send + 'static> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        read_json(request, Ok).await.map(JsonBody)
    }
}

/// Reads a JSON body of type `T`, and makes of it what `convert` does. Both are done apart from the threads that serve
/// everybody, where the body is large.
///
/// # Errors
/// Returns an error when the body can't be taken, is no `T`, or `convert` says so.
pub(super) async fn read_json<T: DeserializeOwned, R: Send + 'static>(
    request: Request,
    convert: impl FnOnce(T) -> Result<R, ApiError> + Send + 'static,
) -> Result<R, ApiError> {
    check_json(&request)?;
    let body = WholeBody::read(request).await?;
    body.parse(move |bytes| convert(parse(text_of(bytes)?)?)).await
}

/// Memory that an answer has to begin with, in bytes: enough for most of them.
const ANSWER_BYTES: usize = 4 << 10;

/// Answers with a value in JSON; `bytes` is the length of the texts in it. A large one is made apart from the threads
/// that serve everybody.
///
/// # Errors
/// Returns an error when the service fails.
pub(super) async fn write_json<T: Serialize>(
    reader: &BodyReader,
    bytes: usize,
    make: impl FnOnce() -> T + Send + 'static,
) -> Result<Response, ApiError> {
    let render = move || {
        let mut text = Vec::with_capacity(bytes.max(ANSWER_BYTES));
        serde_json::to_writer(&mut text, &make()).map(|()| Bytes::from(text))
    };
    let text = reader.answer(bytes, render).await?.map_err(|_| ApiError::internal())?;
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response())
}

/// A body as text.
pub(super) fn text_of(bytes: &[u8]) -> Result<&str, ApiError> {
    std::str::from_utf8(bytes)
        .map_err(|error| ApiError::malformed(None, format!("the body is not UTF-8 (at byte {})", error.valid_up_to())))
}

/// Parses a whole body. Integers of any size among the cases of tests keep their digits.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, ApiError> {
    let text = tag_large_integers_of_cases(text);
    let mut json = serde_json::Deserializer::from_str(&text);
    let Object(value) = serde_path_to_error::deserialize(&mut json).map_err(|error| malformed("", error))?;
    json.end().map_err(|error| ApiError::malformed(None, format!("there is more after the JSON value: {error}")))?;
    Ok(value)
}

/// Parses a part of a body that was not parsed yet, `below` this field.
pub(super) fn parse_part<T: DeserializeOwned>(below: &str, part: serde_json::Value) -> Result<T, ApiError> {
    serde_path_to_error::deserialize(part).map(|Object(value)| value).map_err(|error| malformed(below, error))
}

fn malformed(below: &str, error: serde_path_to_error::Error<serde_json::Error>) -> ApiError {
    let path = error.path().to_string();
    let message = error.into_inner().to_string();
    // An unknown or missing field is named in the message, its parent in the path.
    let named = ["unknown field `", "missing field `"]
        .into_iter()
        .find_map(|start| message.strip_prefix(start)?.split('`').next());
    let mut parts = vec![below];
    // Where the text is no JSON, the path may say nothing.
    if !matches!(path.as_str(), "." | "?") {
        parts.push(&path);
    }
    if let Some(named) = named
        && path.split('.').next_back().is_none_or(|last| last != named)
    {
        parts.push(named);
    }
    let field = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
    ApiError::malformed(Some(field).filter(|field| !field.is_empty()), message)
}

/// A JSON object, and not an array of its fields in order, which serde would take as well.
#[derive(Debug, Default)]
pub(super) struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfMap<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for OfMap<T> {
            type Value = T;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_map(OfMap(PhantomData)).map(Object)
    }
}
