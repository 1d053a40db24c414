//! Files of sessions as resources.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};

use super::call::{Call, Doing, ToolError};
use super::tools::files::{MAX_DEPTH, MAX_READ_BYTES, image_type};
use crate::service::{SessionInfo, SessionState};
use proofbox_types::ids::SessionId;
use proofbox_types::session::{Entry, EntryKind, FileAnswer, FileAsk, FilePart};

/// Scheme and beginning of the addresses.
const BEGINNING: &str = "proofbox://sessions/";
/// Directory whose files are listed; their addresses are relative to it.
const HOME: &str = "/home/user/";
/// Files on a page of the list.
const PAGE: usize = 100;
/// Sessions that are looked into for a page of the list, which is shorter where they have few files.
const MAX_SESSIONS: usize = 32;
/// Characters of a path that are escaped in an address.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Describes the addresses of files.
pub(super) fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{BEGINNING}{{session}}/files/{{+path}}"), "session file").with_description(
        "A file of a session. `path` is relative to /home/user; an absolute path begins with a second slash.",
    )
}

/// End of a page of the list: the last session that was looked into, and its last file on the page.
#[derive(Debug, PartialEq, Eq)]
struct Cursor {
    session: SessionId,
    /// Relative path; none when the session has no further files.
    path: Option<String>,
}

impl Cursor {
    fn parse(text: &str) -> Option<Self> {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        let (session, path) = text.split_once('/').map_or((&*text, None), |(session, path)| (session, Some(path)));
        Some(Self { session: SessionId::parse(session)?, path: path.map(str::to_owned) })
    }

    fn to_text(&self) -> String {
        let Self { session, path } = self;
        URL_SAFE_NO_PAD.encode(path.as_ref().map_or_else(|| session.to_string(), |path| format!("{session}/{path}")))
    }
}

/// Lists files of the caller's sessions that are in memory, one page at a time: by session, and by path.
///
/// # Errors
/// Returns an error when the cursor is none of a page before.
pub(super) async fn list(call: &Call, cursor: Option<&str>) -> Result<ListResourcesResult, ToolError> {
    let cursor = match cursor {
        Some(text) => Some(Cursor::parse(text).ok_or_else(|| ToolError::new("`cursor` is none of an earlier page"))?),
        None => None,
    };
    let sessions = &call.service.sessions;
    let begun = match &cursor {
        Some(Cursor { session, path: Some(_) }) if sessions.is_own(&call.caller, *session) => {
            sessions.info(*session).ok()
        }
        _ => None,
    };
    let after = cursor.as_ref().map(|cursor| cursor.session);
    let further = sessions.list(&call.caller, after, MAX_SESSIONS);
    let last = (further.len() == MAX_SESSIONS).then(|| further.last().map(|info| info.id)).flatten();
    let mut page = ListResourcesResult::with_all_items(Vec::new());
    for info in begun.into_iter().chain(further) {
        let past = cursor.as_ref().filter(|cursor| cursor.session == info.id).and_then(|cursor| cursor.path.as_deref());
        let mut files = session_files(call, &info).await?;
        files.retain(|(path, _)| past.is_none_or(|past| path.as_str() > past));
        let has_more = files.len() > PAGE - page.resources.len();
        files.truncate(PAGE - page.resources.len());
        page.resources.extend(files.iter().map(|(path, size)| resource(info.id, path, *size)));
        if has_more {
            let path = files.pop().map(|(path, _)| path).or_else(|| past.map(str::to_owned)).unwrap_or_default();
            page.next_cursor = Some(Cursor { session: info.id, path: Some(path) }.to_text());
            return Ok(page);
        }
    }
    page.next_cursor = last.map(|session| Cursor { session, path: None }.to_text());
    Ok(page)
}

/// Returns paths and sizes of a session's files, sorted; none of a session that would have to be brought back for it, or
/// has ended meanwhile.
async fn session_files(call: &Call, info: &SessionInfo) -> Result<Vec<(String, u64)>, ToolError> {
    match info.state {
        SessionState::Busy | SessionState::Idle => {}
        SessionState::Stored | SessionState::Paused => return Ok(Vec::new()),
    }
    let ask = FileAsk::List { path: ".".to_owned(), depth: MAX_DEPTH };
    let listed = async { Ok::<_, ToolError>(call.service.sessions.files(info.id, ask).await) };
    let Ok(FileAnswer::Entries(entries)) = call.run(listed, &Doing::new("listing")).await? else {
        return Ok(Vec::new());
    };
    let file = |Entry { path, kind, size, .. }: Entry| {
        Some((path.strip_prefix(HOME)?.to_owned(), size)).filter(|_| kind == EntryKind::File)
    };
    let mut files: Vec<_> = entries.into_iter().filter_map(file).collect();
    files.sort_unstable();
    Ok(files)
}

fn resource(session: SessionId, path: &str, size: u64) -> Resource {
    let uri = format!("{BEGINNING}{session}/files/{}", utf8_percent_encode(path, ESCAPED));
    let mut resource = Resource::new(uri, path);
    resource.size = Some(size);
    resource
}

/// Reads the file at an address.
///
/// # Errors
/// Returns an error when there is no such file, or it is too large.
pub(super) async fn read(call: &Call, uri: &str) -> Result<ReadResourceResult, ToolError> {
    let parts = uri.strip_prefix(BEGINNING).and_then(|rest| rest.split_once("/files/"));
    let (session, path) = parts.ok_or_else(|| ToolError::new("there is no resource at this address"))?;
    let path = percent_decode_str(path).decode_utf8().map_err(|_| ToolError::new("the path is not UTF-8"))?;
    let id = call.session(session)?;
    let read = call.service.sessions.read_file(id, path.into_owned(), 0, MAX_READ_BYTES + 1);
    let FilePart { bytes, whole, .. } = call.run(read, &Doing::new("reading")).await?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_read_as_they_are_written() {
        let session = SessionId::generate();
        for path in [None, Some(String::new()), Some("a/ä b".to_owned())] {
            let cursor = Cursor { session, path };
            assert_eq!(Cursor::parse(&cursor.to_text()), Some(cursor));
        }
        for text in ["", "!", "YQ", &URL_SAFE_NO_PAD.encode("a/b")] {
            assert_eq!(Cursor::parse(text), None, "{text}");
        }
    }

    #[test]
    fn addresses_have_no_characters_with_a_meaning_of_their_own() {
        let session = SessionId::generate();
        let resource = resource(session, "a b/ä?#%.py", 7);
        assert_eq!(resource.uri, format!("proofbox://sessions/{session}/files/a%20b/%C3%A4%3F%23%25.py"));
        assert_eq!((resource.name.as_str(), resource.size), ("a b/ä?#%.py", Some(7)));
    }
}
