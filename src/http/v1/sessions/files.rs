//! `/v1/sessions/{id}/files`

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures_util::{Stream, stream};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::super::answer::ErrorBody;
use super::own_session;
use super::stream::KEEP_ALIVE;
use crate::http::AppState;
use crate::http::body::WholeBody;
use crate::http::download::Download;
use crate::http::error::ApiError;
use crate::http::extract::JsonBody;
use crate::service::{Watch, WatchEvent};
use proofbox_types::caller::Caller;
use proofbox_types::ids::SessionId;
use proofbox_types::program::{File, TESTS_DIRECTORY};
use proofbox_types::session::{Entry, FileAnswer, FileAsk};
use proofbox_vfs::WatchDepth;

/// Levels of directories that one list shows.
const DEEPEST: u32 = 64;

/// Entry of a session's tree of files.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EntryAnswer {
    /// Absolute path in the tree.
    path: String,
    name: String,
    /// `file`, `directory`, `link`, `device`
    #[schema(example = "file")]
    kind: &'static str,
    size: u64,
    #[schema(format = DateTime)]
    modified_at: String,
    /// Permission bits, in octal.
    #[schema(example = "644")]
    mode: String,
    /// `user` or `root`
    #[schema(example = "user")]
    owner: &'static str,
    link_target: Option<String>,
}

impl From<Entry> for EntryAnswer {
    fn from(entry: Entry) -> Self {
        let modified =
            jiff::Timestamp::from_nanosecond(i128::from(entry.modified)).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        Self {
            path: entry.path,
            name: entry.name,
            kind: entry.kind.as_str(),
            size: entry.size,
            modified_at: super::time(modified),
            mode: format!("{:o}", entry.mode),
            owner: entry.owner.name(),
            link_target: entry.link_target,
        }
    }
}

/// Entries of a directory.
#[derive(Serialize, ToSchema)]
pub(crate) struct EntriesAnswer {
    /// Entries, sorted by path.
    entries: Vec<EntryAnswer>,
}

/// Parameters for a path.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileQuery {
    /// Flag: the entry is shown, not the content.
    stat: Option<String>,
    /// Set to remove a directory with everything in it.
    #[serde(default)]
    recursive: bool,
}

/// Parameters for a directory.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListQuery {
    /// Flag: the entries of the directory are listed. `list` or `watch` is required.
    list: Option<String>,
    /// Flag: changes in the directory are streamed.
    watch: Option<String>,
    /// Set to watch the directories below, too.
    #[serde(default)]
    recursive: bool,
    /// Path of the directory; if absent, the working directory.
    path: Option<String>,
    /// Number of levels [default: 1]
    depth: Option<u32>,
}

/// Operation on a session's files.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileRequest {
    /// Directory to make, with those above it.
    make_directory: Option<String>,
    /// File or directory to move.
    #[serde(rename = "move")]
    move_: Option<MoveRequest>,
}

/// Paths to move from and to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct MoveRequest {
    from: String,
    to: String,
}

/// Reads a file, or shows its entry. A large file comes in pieces, as the client takes them: each as it is at that time.
#[utoipa::path(get, path = "/v1/sessions/{id}/files/{path}", params(
    ("stat" = Option<String>, Query, description = "Show the entry, not the content"),
), responses(
    (status = 200, description = "The bytes, or with `?stat` the entry", content(
        (Vec<u8> = "application/octet-stream"), (EntryAnswer = "application/json"))),
    (status = 206, description = "A part: `Range` was given", body = Vec<u8>, content_type = "application/octet-stream"),
    (status = 404, description = "Nothing is there", body = ErrorBody),
    (status = 416, description = "`Range` lies outside the file"),
))]
pub(crate) async fn file(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((id, path)): Path<(String, String)>,
    query: Result<Query<FileQuery>, QueryRejection>,
    request: Request,
) -> Result<Response, ApiError> {
    let id = own_session(&shared, &caller, &id)?;
    let query = asked_of(&path, query)?;
    if query.stat.is_some() && request.method() == Method::GET {
        return asked(&shared, id, FileAsk::Stat { path }).await;
    }
    let download = Download { sessions: Arc::clone(&shared.service.sessions), session: id, path };
    Ok(download.response(request.method(), request.headers()).await?)
}

/// Writes a file in the session.
#[utoipa::path(put, path = "/v1/sessions/{id}/files/{path}",
    request_body(content = Option<Vec<u8>>, content_type = "application/octet-stream", description = "Of any type; without one the file is empty"),
    responses(
        (status = 200, description = "It was there, and has this content now", body = EntryAnswer),
        (status = 201, description = "It is new", body = EntryAnswer),
    ))]
pub(crate) async fn write(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((id, path)): Path<(String, String)>,
    query: Result<Query<FileQuery>, QueryRejection>,
    request: Request,
) -> Result<Response, ApiError> {
    let id = own_session(&shared, &caller, &id)?;
    asked_of(&path, query)?;
    let content = WholeBody::read(request).await?.bytes.to_vec();
    asked(&shared, id, FileAsk::Write(File { path, content })).await
}

/// Removes a file or a directory.
#[utoipa::path(delete, path = "/v1/sessions/{id}/files/{path}", params(
    ("recursive" = Option<bool>, Query, description = "Remove a directory with all that is in it"),
), responses((status = 204, description = "It is gone")))]
pub(crate) async fn remove(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path((id, path)): Path<(String, String)>,
    query: Result<Query<FileQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let id = own_session(&shared, &caller, &id)?;
    let query = asked_of(&path, query)?;
    asked(&shared, id, FileAsk::Remove { path, recursive: query.recursive }).await
}

/// Reads the parameters for a path, which must not be the tests'.
fn asked_of(path: &str, query: Result<Query<FileQuery>, QueryRejection>) -> Result<FileQuery, ApiError> {
    let Query(query) = query.map_err(|error| ApiError::malformed(None, error.body_text()))?;
    not_the_tests(path)?;
    Ok(query)
}

async fn asked(shared: &AppState, id: SessionId, ask: FileAsk) -> Result<Response, ApiError> {
    Ok(match shared.service.sessions.files(id, ask).await? {
        FileAnswer::Entry(entry, new) => {
            let status = if new { StatusCode::CREATED } else { StatusCode::OK };
            (status, Json(EntryAnswer::from(entry))).into_response()
        }
        _ => StatusCode::NO_CONTENT.into_response(),
    })
}

/// Refuses the directory in which the tests of a submission would lie: the same paths are possible everywhere.
fn not_the_tests(path: &str) -> Result<(), ApiError> {
    let rest = path.strip_prefix('/').and_then(|path| path.strip_prefix(TESTS_DIRECTORY));
    match rest {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            Err(ApiError::meaningless("path", "this directory belongs to tests"))
        }
        _ => Ok(()),
    }
}

/// Lists a directory, or watches it: then each change is a line of JSON, for as long as the client listens.
#[utoipa::path(get, path = "/v1/sessions/{id}/files", params(ListQuery), responses(
    (status = 200, body = EntriesAnswer),
    (status = 404, description = "Nothing is there", body = ErrorBody),
))]
pub(crate) async fn list(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(query) = query.map_err(|error| ApiError::malformed(None, error.body_text()))?;
    let id = own_session(&shared, &caller, &id)?;
    let path = query.path.unwrap_or_else(|| ".".to_owned());
    match (query.list, query.watch) {
        (Some(_), None) => {}
        (None, Some(_)) => {
            let depth = if query.recursive { WatchDepth::All } else { WatchDepth::Entries };
            let watch = shared.service.sessions.watch(id, path, depth).await?;
            let kind = [(header::CONTENT_TYPE, "application/x-ndjson"), (header::CACHE_CONTROL, "no-store")];
            return Ok((kind, Body::from_stream(changes(watch))).into_response());
        }
        _ => return Err(ApiError::malformed(Some("list".to_owned()), "say what is wanted: ?list or ?watch")),
    }
    let depth = query.depth.unwrap_or(1);
    if !(1..=DEEPEST).contains(&depth) {
        return Err(ApiError::meaningless("depth", format!("it must be from 1 to {DEEPEST}")));
    }
    match shared.service.sessions.files(id, FileAsk::List { path, depth }).await? {
        FileAnswer::Entries(entries) => {
            let entries = entries.into_iter().map(Into::into).collect();
            Ok(Json(EntriesAnswer { entries }).into_response())
        }
        _ => Err(ApiError::internal()),
    }
}

/// Line about a change, or about the watch itself.
#[derive(Serialize)]
struct WatchLine<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

impl WatchLine<'_> {
    fn append_to(&self, lines: &mut Vec<u8>) {
        serde_json::to_writer(&mut *lines, self).expect("strings in memory");
        lines.push(b'\n');
    }
}

/// Changes as lines, those that came together in one piece, and a sign of life where there are none.
fn changes(watch: Watch) -> impl Stream<Item = Result<Bytes, Infallible>> {
    const LEFT_OUT: &str = "changes are left out here: they were too many, or read too slowly; look anew";
    stream::unfold(watch, |mut watch| async move {
        let mut lines = Vec::new();
        match tokio::time::timeout(KEEP_ALIVE, watch.next()).await {
            Ok(event) => match event? {
                WatchEvent::Change(first) => {
                    let mut next = Some(first);
                    while let Some(change) = next {
                        let line = WatchLine { kind: change.kind.as_str(), path: Some(&change.path), message: None };
                        line.append_to(&mut lines);
                        next = watch.next_of_last();
                    }
                }
                WatchEvent::Overflow => {
                    WatchLine { kind: "overflow", path: None, message: Some(LEFT_OUT) }.append_to(&mut lines);
                }
            },
            Err(_) => WatchLine { kind: "keepalive", path: None, message: None }.append_to(&mut lines),
        }
        Some((Ok(lines.into()), watch))
    })
}

/// Makes a directory, or moves a file or a directory.
#[utoipa::path(post, path = "/v1/sessions/{id}/files", request_body = FileRequest, responses(
    (status = 200, body = EntryAnswer),
    (status = 404, description = "Nothing is there", body = ErrorBody),
    (status = 409, description = "Something is there already", body = ErrorBody),
))]
pub(crate) async fn change(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    JsonBody(request): JsonBody<FileRequest>,
) -> Result<Json<EntryAnswer>, ApiError> {
    let ask = match (request.make_directory, request.move_) {
        (Some(path), None) => {
            not_the_tests(&path)?;
            FileAsk::MakeDirectory { path }
        }
        (None, Some(MoveRequest { from, to })) => {
            not_the_tests(&to)?;
            FileAsk::Move { from, to }
        }
        _ => return Err(ApiError::malformed(None, "give either `make_directory` or `move`")),
    };
    match shared.service.sessions.files(own_session(&shared, &caller, &id)?, ask).await? {
        FileAnswer::Entry(entry, _) => Ok(Json(entry.into())),
        _ => Err(ApiError::internal()),
    }
}
