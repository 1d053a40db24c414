//! `list_files`, `read_file` and `write_file`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rmcp::model::ContentBlock;
use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Answer;
use crate::http::mcp::call::{Call, Doing, ToolError};
use proofbox_types::program::{File, TESTS_DIRECTORY};
use proofbox_types::session::{Entry, FileAnswer, FileAsk, FilePart};

/// Entries in one list.
const MAX_ENTRIES: usize = 1000;
/// Levels of directories in one list.
pub(crate) const MAX_DEPTH: u32 = 64;
/// Bytes of a file that are read where the model does not say, and at most.
const DEFAULT_READ_BYTES: u64 = 48 << 10;
pub(crate) const MAX_READ_BYTES: u64 = 1 << 20;
/// Size of an image that is shown, in bytes.
const MAX_IMAGE_BYTES: u64 = 4 << 20;
/// Bytes at the beginning of a file by which an image is known.
const IMAGE_HEAD_BYTES: u64 = 16;

/// Arguments of `list_files`.
#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(crate) struct ListArguments {
    /// Id from open_session.
    session: String,
    /// Directory; /home/user if absent.
    path: Option<String>,
    /// Levels of directories to list; 1 if absent.
    depth: Option<u32>,
}

/// Result of `list_files`.
#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct ListResult {
    entries: Vec<ListEntry>,
    /// Number of entries that are left out.
    entries_left_out: usize,
}

/// Entry of a directory.
#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct ListEntry {
    path: String,
    /// `file`, `directory`, `link` or `device`.
    kind: &'static str,
    size: u64,
}

/// Arguments of `read_file`.
#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadArguments {
    /// Id from open_session.
    session: String,
    /// Path, absolute or relative to /home/user.
    path: String,
    /// Offset of the first byte; 0 if absent.
    #[serde(default)]
    offset: u64,
    /// Maximum number of bytes, up to 1048576; 49152 if absent.
    max_bytes: Option<u64>,
}

/// Result of `read_file`.
#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct ReadResult {
    /// Size of the whole file, in bytes.
    size: u64,
    /// Text, where it is UTF-8.
    text: Option<String>,
    /// Bytes in base64, where they are no text and no image.
    base64: Option<String>,
    /// Type of the image that follows as content.
    image: Option<&'static str>,
    /// Offset to go on from, where there is more.
    next_offset: Option<u64>,
}

/// Arguments of `write_file`.
#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteArguments {
    /// Id from open_session.
    session: String,
    /// Path, absolute or relative to /home/user.
    path: String,
    /// Content as text. Give this or `base64`.
    text: Option<String>,
    /// Content in base64.
    base64: Option<String>,
}

/// Result of `write_file`.
#[derive(Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct WriteResult {
    /// Absolute path.
    path: String,
    size: u64,
    /// True when the file is new.
    created: bool,
}

/// Returns the type of the image that these bytes begin.
pub(crate) fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Lists a directory.
pub(crate) async fn list(call: &Call, arguments: ListArguments) -> Result<Answer, ToolError> {
    let id = call.session(&arguments.session)?;
    let depth = arguments.depth.unwrap_or(1);
    if !(1..=MAX_DEPTH).contains(&depth) {
        return Err(ToolError::new(format!("`depth` must be from 1 to {MAX_DEPTH}")));
    }
    let path = arguments.path.filter(|path| !path.is_empty()).unwrap_or_else(|| ".".to_owned());
    let listed = call.service.sessions.files(id, FileAsk::List { path, depth });
    let FileAnswer::Entries(entries) = call.run(listed, &Doing::new("listing")).await? else {
        return Err(ToolError::new("the directory can't be listed"));
    };
    let left_out = entries.len().saturating_sub(MAX_ENTRIES);
    let entry = |entry: Entry| ListEntry { path: entry.path, kind: entry.kind.as_str(), size: entry.size };
    let entries = entries.into_iter().take(MAX_ENTRIES).map(entry).collect();
    Answer::new(ListResult { entries, entries_left_out: left_out })
}

/// Reads a file.
pub(crate) async fn read(call: &Call, arguments: ReadArguments) -> Result<Answer, ToolError> {
    let ReadArguments { session, path, offset, max_bytes } = arguments;
    let id = call.session(&session)?;
    let most = max_bytes.unwrap_or(DEFAULT_READ_BYTES);
    if !(1..=MAX_READ_BYTES).contains(&most) {
        return Err(ToolError::new(format!("`max_bytes` must be from 1 to {MAX_READ_BYTES}")));
    }
    let doing = Doing::new("reading");
    let part = |offset, length| call.run(call.service.sessions.read_file(id, path.clone(), offset, length), &doing);
    if offset == 0 {
        let head = part(0, IMAGE_HEAD_BYTES).await?;
        if let Some(mime) = image_type(&head.bytes)
            && head.whole <= MAX_IMAGE_BYTES
        {
            let FilePart { bytes, whole, .. } = part(0, MAX_IMAGE_BYTES).await?;
            let result = ReadResult { size: whole, text: None, base64: None, image: Some(mime), next_offset: None };
            return Answer::with_content(result, vec![ContentBlock::image(BASE64.encode(bytes), mime)]);
        }
    }
    let FilePart { mut bytes, whole: size, .. } = part(offset, most).await?;
    let end = offset.saturating_add(bytes.len() as u64);
    if end < size {
        // The next part begins with a whole character.
        let whole = proofbox_types::outcome::without_partial_end(&bytes).len();
        if whole > 0 {
            bytes.truncate(whole);
        }
    }
    let end = offset.saturating_add(bytes.len() as u64);
    let (text, base64) = match String::from_utf8(bytes) {
        Ok(text) => (Some(text), None),
        Err(error) => (None, Some(BASE64.encode(error.into_bytes()))),
    };
    Answer::new(ReadResult { size, text, base64, image: None, next_offset: (end < size).then_some(end) })
}

/// Writes a file.
pub(crate) async fn write(call: &Call, arguments: WriteArguments) -> Result<Answer, ToolError> {
    let WriteArguments { session, path, text, base64 } = arguments;
    let id = call.session(&session)?;
    let content = match (text, base64) {
        (Some(text), None) => text.into_bytes(),
        (None, Some(base64)) => {
            BASE64.decode(base64).map_err(|error| ToolError::new(format!("`base64` can't be read: {error}")))?
        }
        _ => return Err(ToolError::new("give either `text` or `base64`")),
    };
    let rest = path.strip_prefix('/').and_then(|path| path.strip_prefix(TESTS_DIRECTORY));
    if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
        return Err(ToolError::new("`path`: this directory belongs to tests"));
    }
    let written = call.service.sessions.files(id, FileAsk::Write(File { path, content }));
    match call.run(written, &Doing::new("writing")).await? {
        FileAnswer::Entry(entry, created) => Answer::new(WriteResult { path: entry.path, size: entry.size, created }),
        _ => Err(ToolError::new("the file can't be written")),
    }
}
