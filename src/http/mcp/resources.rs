//! Files of sessions as resources.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use percent_encoding::percent_decode_str;
use rmcp::model::{ReadResourceResult, ResourceContents, ResourceTemplate};

use super::call::{Call, Doing, ToolError};
use super::tools::files::{MAX_READ_BYTES, image_type, read_bytes};

/// Scheme and beginning of the addresses.
const BEGINNING: &str = "proofbox://sessions/";

/// Describes the addresses of files.
pub fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{BEGINNING}{{session}}/files/{{+path}}"), "session file").with_description(
        "A file of a session. `path` is relative to /home/user; an absolute path begins with a second slash.",
    )
}

/// Reads the file at an address.
///
/// # Errors
/// Returns an error when there is no such file, or it is too large.
pub async fn read(call: &Call, uri: &str) -> Result<ReadResourceResult, ToolError> {
    let parts = uri.strip_prefix(BEGINNING).and_then(|rest| rest.split_once("/files/"));
    let (session, path) = parts.ok_or_else(|| ToolError::new("there is no resource at this address"))?;
    let path = percent_decode_str(path).decode_utf8().map_err(|_| ToolError::new("the path is not UTF-8"))?;
    let id = call.session(session)?;
    let read = read_bytes(&call.service.sessions, id, path.into_owned(), 0, MAX_READ_BYTES + 1);
    let (bytes, whole) = call.run(read, &Doing::new("reading")).await?;
    if whole > MAX_READ_BYTES {
        return Err(ToolError::new(format!(
            "the file has {whole} bytes; a resource may have {MAX_READ_BYTES}. Read parts of it with read_file."
        )));
    }
    let contents = match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::text(text, uri),
        Err(error) => {
            let bytes = error.into_bytes();
            let mime = image_type(&bytes).unwrap_or("application/octet-stream");
            ResourceContents::blob(BASE64.encode(bytes), uri).with_mime_type(mime)
        }
    };
    Ok(ReadResourceResult::new(vec![contents]))
}
