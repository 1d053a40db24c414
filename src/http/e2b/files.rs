//! `/files`: up- and download.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequest, Multipart, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::E2b;
use super::body::{parameter, whole};
use super::entries::PathBase;
use super::error::{E2bError, Kind};
use super::signature::{Access, Operation};
use super::state::Metadata;
use super::users::user_named;

use crate::http::body::BodyReader;
use crate::http::download::Download;
use crate::service::SessionInfo;
use proofbox_types::program::File;
use proofbox_types::session::{Entry, FileAnswer, FileAsk};

/// Files in one upload.
const MAX_FILES: usize = 1000;
/// Bytes of an upload that was compressed.
const MAX_UNPACKED: u64 = 64 << 20;
/// Metadata of one file, in bytes.
const MAX_METADATA: usize = 16 << 10;

/// The query of `/files`.
struct Query {
    path: Option<String>,
    username: String,
    signature: Option<String>,
    expiration: Option<String>,
}

impl Query {
    fn of(uri: &Uri) -> Self {
        Self {
            path: parameter(uri, "path"),
            username: parameter(uri, "username").unwrap_or_default(),
            signature: parameter(uri, "signature"),
            expiration: parameter(uri, "signature_expiration"),
        }
    }

    fn access(&self, operation: Operation) -> Access<'_> {
        Access {
            operation,
            path: self.path.as_deref().unwrap_or(""),
            username: &self.username,
            signature: self.signature.as_deref(),
            expiration: self.expiration.as_deref(),
        }
    }
}

/// Bytes of a file.
pub(super) async fn download(
    State(e2b): State<E2b>,
    method: Method,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, E2bError> {
    let query = Query::of(&uri);
    let info = e2b.signed_sandbox(&headers, &uri, &query.access(Operation::Read))?;
    let base = PathBase::of(&info, user_named(&query.username)?);
    let path = base.resolve(query.path.as_deref().unwrap_or(""));
    let download =
        Download { sessions: Arc::clone(&e2b.shared.service.sessions), session: info.id, path: path.clone() };
    let response = download.response(&method, &headers).await;
    let mut response = response.map_err(|error| match E2bError::of_sandbox(&info.id.simple(), error) {
        // In the words of E2B's own servers.
        error if error.kind() == Kind::NotFound => {
            E2bError::new(Kind::NotFound, format!("path '{path}' does not exist"))
        }
        error => error,
    })?;
    if response.status() == StatusCode::RANGE_NOT_SATISFIABLE {
        let message = E2bError::new(Kind::NoRange, "the file has no such range").into_response();
        let (parts, body) = message.into_parts();
        response.headers_mut().extend(parts.headers);
        *response.body_mut() = body;
        return Ok(response);
    }
    response.headers_mut().insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    Ok(response)
}

/// Writes the files of an upload.
pub(super) async fn upload(State(e2b): State<E2b>, request: Request) -> Result<Json<Value>, E2bError> {
    let query = Query::of(request.uri());
    let info = e2b.signed_sandbox(request.headers(), request.uri(), &query.access(Operation::Write))?;
    let base = PathBase::of(&info, user_named(&query.username)?);
    let metadata = metadata_of(request.headers())?;
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let path = query.path.as_deref().filter(|path| !path.is_empty());
    let files = if kind.to_ascii_lowercase().starts_with("multipart/form-data") {
        parts(request, path, &base).await?
    } else {
        let path = path.ok_or_else(|| E2bError::new(Kind::Bad, "path is missing"))?;
        let packed = is_packed(request.headers())?;
        let reader = BodyReader::of(request.extensions())?;
        let bytes = whole(request).await?;
        let content = if packed {
            reader.hold(bytes.len() + MAX_UNPACKED as usize / 2).await?;
            // It may take a while, and other requests are waiting.
            tokio::task::spawn_blocking(move || unpacked(&bytes)).await.map_err(|_| E2bError::internal())??
        } else {
            bytes.to_vec()
        };
        vec![File { path: base.resolve(path), content }]
    };
    let mut written = Vec::with_capacity(files.len());
    for file in files {
        written.push(write(&e2b, &info, file, &metadata).await?);
    }
    Ok(Json(Value::Array(written)))
}

async fn write(e2b: &E2b, info: &SessionInfo, file: File, metadata: &Metadata) -> Result<Value, E2bError> {
    let FileAnswer::Entry(Entry { path, name, .. }, _) = e2b.files(info.id, FileAsk::Write(file)).await? else {
        return Err(E2bError::internal());
    };
    if !e2b.state.describe(info.id, &path, metadata.clone()) {
        return Err(E2bError::new(Kind::NoSpace, "the file is written, but there is no room for more metadata"));
    }
    let mut written = json!({"path": path, "name": name, "type": "file"});
    if !metadata.is_empty() {
        written["metadata"] = json!(metadata);
    }
    Ok(written)
}

/// The files of a form. Where the query has a path there is one, and its name is of no account.
async fn parts(request: Request, path: Option<&str>, base: &PathBase) -> Result<Vec<File>, E2bError> {
    let broken = |error: axum::extract::multipart::MultipartError| {
        let kind = if error.status() == StatusCode::PAYLOAD_TOO_LARGE { Kind::TooLarge } else { Kind::Bad };
        E2bError::new(kind, error.body_text())
    };
    // Held as a whole, and its files beside it.
    let (head, body) = request.into_parts();
    let bytes = whole(Request::from_parts(head.clone(), body)).await?;
    let request = Request::from_parts(head, Body::from(bytes));
    let mut form =
        Multipart::from_request(request, &()).await.map_err(|error| E2bError::new(Kind::Bad, error.body_text()))?;
    let mut files = Vec::new();
    while let Some(part) = form.next_field().await.map_err(broken)? {
        if part.name() != Some("file") {
            continue;
        }
        if files.len() == MAX_FILES || (path.is_some() && !files.is_empty()) {
            return Err(E2bError::new(Kind::Bad, "there are too many files in the form"));
        }
        let path = match (path, part.file_name()) {
            (Some(path), _) => base.resolve(path),
            // The only character that is encoded there.
            (None, Some(name)) => base.resolve(&name.replace("%22", "\"")),
            (None, None) => return Err(E2bError::new(Kind::Bad, "a file of the form has no name")),
        };
        files.push(File { path, content: part.bytes().await.map_err(broken)?.to_vec() });
    }
    Ok(files)
}

fn is_packed(headers: &HeaderMap) -> Result<bool, E2bError> {
    match headers.get(header::CONTENT_ENCODING).map(|value| value.to_str().unwrap_or("").to_ascii_lowercase()) {
        None => Ok(false),
        Some(encoding) if encoding.is_empty() || encoding == "identity" => Ok(false),
        Some(encoding) if encoding == "gzip" => Ok(true),
        Some(_) => Err(E2bError::new(Kind::NotThatType, "Content-Encoding is gzip or identity")),
    }
}

pub(crate) fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, E2bError> {
    let mut content = Vec::new();
    let mut unpacking = flate2::read::MultiGzDecoder::new(bytes).take(MAX_UNPACKED + 1);
    unpacking.read_to_end(&mut content).map_err(|_| E2bError::new(Kind::Bad, "the body is not gzip"))?;
    if content.len() as u64 > MAX_UNPACKED {
        return Err(E2bError::new(Kind::TooLarge, "the unpacked body is larger than this service accepts"));
    }
    Ok(content)
}

/// Reads metadata from the headers `X-Metadata-<name>`.
fn metadata_of(headers: &HeaderMap) -> Result<Metadata, E2bError> {
    let mut metadata = BTreeMap::new();
    for (name, value) in headers {
        let Some(name) = name.as_str().strip_prefix("x-metadata-").filter(|name| !name.is_empty()) else { continue };
        let value = std::str::from_utf8(value.as_bytes());
        let value = value.map_err(|_| E2bError::new(Kind::Bad, "metadata is not UTF-8"))?;
        metadata.insert(name.to_owned(), value.to_owned());
    }
    let bytes: usize = metadata.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > MAX_METADATA {
        return Err(E2bError::new(Kind::Bad, format!("metadata of a file has at most {MAX_METADATA} bytes")));
    }
    Ok(metadata)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::service::CommandDefaults;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut packing = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packing.write_all(bytes).expect("memory");
        packing.finish().expect("memory")
    }

    #[test]
    fn an_upload_is_unpacked_up_to_a_limit() {
        assert_eq!(unpacked(&packed(b"zip zip")), Ok(b"zip zip".to_vec()));
        assert_eq!(unpacked(b"no gzip").expect_err("junk").kind(), Kind::Bad);
        let zeros = packed(&vec![0; (MAX_UNPACKED + 1) as usize]);
        assert_eq!(unpacked(&zeros).expect_err("too many").kind(), Kind::TooLarge);
    }

    #[tokio::test]
    async fn names_of_a_form_are_paths_as_they_are() {
        let body = "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a %22b%22 ü%20.txt\"\r\n\r\none\r\n\
            --B\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nx\r\n\
            --B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"d/c\"\r\n\r\ntwo\r\n--B--\r\n";
        let request = || {
            Request::builder()
                .header(header::CONTENT_TYPE, "multipart/form-data; boundary=B")
                .body(Body::from(body))
                .expect("a request")
        };
        let base = PathBase::with(&CommandDefaults::default(), None);
        let files = parts(request(), None, &base).await.expect("a form");
        let files: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.content.as_slice())).collect();
        assert_eq!(files, [("/home/user/a \"b\" ü%20.txt", &b"one"[..]), ("/home/user/d/c", b"two")]);
        assert!(parts(request(), Some("x"), &base).await.is_err());
    }

    #[test]
    fn metadata_stands_in_headers() {
        let headers = |value: &str| {
            HeaderMap::from_iter([(
                header::HeaderName::from_static("x-metadata-origin"),
                value.parse().expect("a value"),
            )])
        };
        assert_eq!(metadata_of(&headers("conf")), Ok(BTreeMap::from([("origin".to_owned(), "conf".to_owned())])));
        assert!(metadata_of(&headers(&"x".repeat(MAX_METADATA))).is_err());
        assert_eq!(metadata_of(&HeaderMap::new()), Ok(BTreeMap::new()));
    }
}
