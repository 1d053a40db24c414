//! Files of requests, and their translation to the domain's.

use base64::Engine as _;
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

use crate::http::error::ApiError;
use proofbox_types::program::{File, TESTS_DIRECTORY};

/// Text, or bytes in base64.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(untagged, expecting = "a file is a string, or {\"base64\": string}")]
pub(super) enum FileContent {
    /// Text, encoded as UTF-8.
    Text(String),
    /// Bytes of any kind.
    Bytes(Base64Content),
}

/// Bytes, encoded in base64.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Base64Content {
    /// Content, encoded in base64.
    pub base64: String,
}

/// Bytes that are encoded in base64 as they are written, a [`Base64Content`].
#[derive(Debug)]
pub(super) struct EncodedContent(pub Vec<u8>);

impl Serialize for EncodedContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut content = serializer.serialize_struct("Base64Content", 1)?;
        content.serialize_field("base64", &format_args!("{}", Base64Display::new(&self.0, &BASE64)))?;
        content.end()
    }
}

/// A file of the candidate's: not where the tests import their own from.
///
/// # Errors
/// Returns an error when it lies there, or is not base64.
pub(super) fn candidates_file(file: (String, FileContent)) -> Result<File, ApiError> {
    let mut place = vec!["home", "user"];
    if file.0.starts_with('/') {
        place.clear();
    }
    for part in file.0.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            place.pop();
        } else {
            place.push(part);
        }
    }
    if place.first() == Some(&TESTS_DIRECTORY) {
        return Err(ApiError::meaningless(format!("files.{}", file.0), "this directory belongs to the tests"));
    }
    file_of("files", file)
}

/// A file of the request, which stands in the field `of`.
///
/// # Errors
/// Returns an error when it is not base64.
pub(super) fn file_of(of: &str, (path, content): (String, FileContent)) -> Result<File, ApiError> {
    let content = match content {
        FileContent::Text(text) => text.into_bytes(),
        FileContent::Bytes(bytes) => BASE64.decode(&bytes.base64).map_err(|error| {
            ApiError::malformed(Some(format!("{of}.{path}.base64")), format!("not base64: {error}"))
        })?,
    };
    Ok(File { path, content })
}
