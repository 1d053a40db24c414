//! `/volumecontent/{id}`: files of a volume, for clients with its token.

use std::io;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};

use super::body::{self, parameter, whole};
use super::error::{E2bError, Kind};
use super::{E2b, secrets_equal, time};
use crate::service::{SessionError, VolumeAnswer, VolumeAsk, VolumeError, VolumeInfo, VolumePath, VolumeStat};
use crate::telemetry;
use proofbox_store::{VolumeAttributes, VolumeChange, VolumeConflict};
use proofbox_types::ids::VolumeId;
use proofbox_types::session::EntryKind;

/// Maximum depth of a listing.
const MAX_DEPTH: u32 = 256;
/// A download comes in pieces of this size.
const PIECE: u64 = 1 << 20;
/// Permission bits that a mode may have.
const MODE_BITS: u32 = 0o7777;

/// Path in a volume, with the right to use it.
struct Target {
    e2b: E2b,
    volume: VolumeInfo,
    path: VolumePath,
}

impl Target {
    async fn of(e2b: E2b, id: &str, headers: &HeaderMap, uri: &Uri) -> Result<Self, E2bError> {
        let refused = || E2bError::new(Kind::Unauthenticated, "this is not the token of the volume");
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.split_once(' '));
        let token = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
        let (Some(id), Some(token)) = (VolumeId::parse(id), token) else { return Err(refused()) };
        // Who has no token does not hear which volumes there are.
        let volume = match e2b.shared.service.volumes.find(id).await {
            Ok(volume) if secrets_equal(volume.token.as_bytes(), token.as_bytes()) => volume,
            Ok(_) | Err(VolumeError::NotFound) => return Err(refused()),
            Err(error) => return Err(error.into()),
        };
        let caller = e2b.shared.service.keys.caller_of(volume.owner);
        let caller = caller.ok_or_else(|| E2bError::new(Kind::Unauthenticated, "the key of the volume is revoked"))?;
        telemetry::name_key(caller.name());
        e2b.shared.service.keys.count_request(&caller)?;
        let path = VolumePath::parse(&parameter(uri, "path").unwrap_or_default())?;
        Ok(Self { e2b, volume, path })
    }

    async fn ask(&self, ask: VolumeAsk) -> Result<VolumeAnswer, SessionError> {
        self.e2b.shared.service.sessions.volume_content(&self.volume, &self.path, ask).await
    }

    /// Looks at the content. What is there as something else is not found, as with E2B's servers.
    async fn look(&self, ask: VolumeAsk) -> Result<VolumeAnswer, E2bError> {
        self.ask(ask).await.map_err(|error| match error {
            SessionError::Volume(VolumeError::Path { .. }) => E2bError::from(error).with_kind(Kind::NotFound),
            other => other.into(),
        })
    }

    async fn change(&self, change: VolumeChange) -> Result<Value, E2bError> {
        match self.ask(VolumeAsk::Change(change)).await? {
            VolumeAnswer::Entry(stat) => Ok(stat_json(&stat)),
            _ => Err(E2bError::internal()),
        }
    }

    async fn piece(&self, offset: u64) -> Result<(Bytes, u64), E2bError> {
        match self.look(VolumeAsk::Read { offset, length: PIECE }).await? {
            VolumeAnswer::Bytes(bytes, whole) => Ok((bytes, whole)),
            _ => Err(E2bError::internal()),
        }
    }

    /// The rest, as it was when it is read. A file whose length changes meanwhile breaks the answer off.
    fn pieces(self, first: Bytes, whole: u64) -> impl stream::Stream<Item = Result<Bytes, io::Error>> {
        stream::unfold((self, Some(first), 0), move |(target, first, at)| async move {
            if at >= whole {
                return None;
            }
            let piece = match first {
                Some(first) => Ok(first),
                None => match target.piece(at).await {
                    Ok((bytes, now)) if now == whole && !bytes.is_empty() => Ok(bytes),
                    Ok(_) => Err(io::Error::other("the file has changed")),
                    Err(error) => Err(io::Error::other(error.message())),
                },
            };
            let at = piece.as_ref().map_or(whole, |bytes| at + bytes.len() as u64);
            Some((piece, (target, None, at)))
        })
    }
}

/// Renders a `VolumeEntryStat` of the API.
fn stat_json(stat: &VolumeStat) -> Value {
    let moment = |nanoseconds: i64| {
        time(jiff::Timestamp::from_nanosecond(i128::from(nanoseconds)).unwrap_or(jiff::Timestamp::UNIX_EPOCH))
    };
    let kind = match stat.kind {
        EntryKind::File => "file",
        EntryKind::Directory => "directory",
        EntryKind::Link => "symlink",
        EntryKind::Device => "unknown",
    };
    let name = stat.path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("/");
    let mut entry = json!({
        "name": name, "type": kind, "path": stat.path, "size": stat.size,
        "mode": stat.mode, "uid": stat.uid, "gid": stat.gid,
        // Reading is not noted.
        "atime": moment(stat.modified), "mtime": moment(stat.modified), "ctime": moment(stat.changed),
    });
    if let Some(target) = &stat.target {
        entry["target"] = json!(target);
    }
    entry
}

fn number(uri: &Uri, name: &str, most: u32) -> Result<Option<u32>, E2bError> {
    match parameter(uri, name).filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => match text.parse() {
            Ok(number) if number <= most => Ok(Some(number)),
            _ => Err(E2bError::new(Kind::Bad, format!("{name} is a number from 0 to {most}"))),
        },
    }
}

fn attributes_of(uri: &Uri) -> Result<VolumeAttributes, E2bError> {
    let mode = number(uri, "mode", MODE_BITS)?.and_then(|mode| u16::try_from(mode).ok());
    Ok(VolumeAttributes { mode, uid: number(uri, "uid", u32::MAX)?, gid: number(uri, "gid", u32::MAX)? })
}

fn conflict_of(uri: &Uri) -> Result<VolumeConflict, E2bError> {
    match parameter(uri, "force").as_deref() {
        None | Some("" | "false" | "False") => Ok(VolumeConflict::Refuse),
        Some("true" | "True") => Ok(VolumeConflict::Resolve),
        Some(_) => Err(E2bError::new(Kind::Bad, "force is true or false")),
    }
}

/// Describes an entry.
pub(super) async fn stat(
    State(e2b): State<E2b>,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Json<Value>, E2bError> {
    let target = Target::of(e2b, &id, &headers, &uri).await?;
    match target.look(VolumeAsk::Stat).await? {
        VolumeAnswer::Entry(stat) => Ok(Json(stat_json(&stat))),
        _ => Err(E2bError::internal()),
    }
}

/// Lists a directory.
pub(super) async fn list(
    State(e2b): State<E2b>,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Json<Vec<Value>>, E2bError> {
    let target = Target::of(e2b, &id, &headers, &uri).await?;
    let depth = number(&uri, "depth", u32::MAX)?.unwrap_or(1).clamp(1, MAX_DEPTH);
    match target.look(VolumeAsk::List { depth }).await? {
        VolumeAnswer::Entries(entries) => Ok(Json(entries.iter().map(stat_json).collect())),
        _ => Err(E2bError::internal()),
    }
}

/// Bytes of a file.
pub(super) async fn read(
    State(e2b): State<E2b>,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, E2bError> {
    let target = Target::of(e2b, &id, &headers, &uri).await?;
    let (first, whole) = target.piece(0).await?;
    let body =
        if first.len() as u64 >= whole { Body::from(first) } else { Body::from_stream(target.pieces(first, whole)) };
    let mut response = (StatusCode::OK, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(whole));
    // What a guest wrote is shown by no browser as a page of ours.
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    Ok(response)
}

/// Writes a whole file.
pub(super) async fn write(
    State(e2b): State<E2b>,
    Path(id): Path<String>,
    mut request: Request,
) -> Result<(StatusCode, Json<Value>), E2bError> {
    let uri = request.uri().clone();
    let target = Target::of(e2b, &id, request.headers(), &uri).await?;
    let (attributes, conflict) = (attributes_of(&uri)?, conflict_of(&uri)?);
    // The body takes its memory from the share of the volume's owner.
    if let Some(caller) = target.e2b.shared.service.keys.caller_of(target.volume.owner) {
        request.extensions_mut().insert(caller);
    }
    let content = whole(request).await?;
    let written = target.change(VolumeChange::Write { content, attributes, conflict }).await?;
    Ok((StatusCode::CREATED, Json(written)))
}

/// Makes a directory.
pub(super) async fn make_directory(
    State(e2b): State<E2b>,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<(StatusCode, Json<Value>), E2bError> {
    let target = Target::of(e2b, &id, &headers, &uri).await?;
    let (attributes, conflict) = (attributes_of(&uri)?, conflict_of(&uri)?);
    let made = target.change(VolumeChange::MakeDirectory { attributes, conflict }).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

/// New attributes of an entry.
#[derive(Deserialize)]
struct Update {
    #[serde(default)]
    uid: Option<u32>,
    #[serde(default)]
    gid: Option<u32>,
    #[serde(default)]
    mode: Option<u32>,
}

/// Sets attributes of an entry.
pub(super) async fn set_attributes(
    State(e2b): State<E2b>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<Value>, E2bError> {
    let target = Target::of(e2b, &id, request.headers(), request.uri()).await?;
    let Update { uid, gid, mode } = body::json(request).await?;
    let mode = match mode {
        None => None,
        Some(mode) if mode <= MODE_BITS => u16::try_from(mode).ok(),
        Some(_) => return Err(E2bError::new(Kind::Bad, format!("mode is a number from 0 to {MODE_BITS}"))),
    };
    Ok(Json(target.change(VolumeChange::SetAttributes(VolumeAttributes { mode, uid, gid })).await?))
}

/// Removes an entry, a directory with all that is in it.
pub(super) async fn remove(
    State(e2b): State<E2b>,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<StatusCode, E2bError> {
    let target = Target::of(e2b, &id, &headers, &uri).await?;
    match target.ask(VolumeAsk::Change(VolumeChange::Remove)).await? {
        VolumeAnswer::Removed => Ok(StatusCode::NO_CONTENT),
        _ => Err(E2bError::internal()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(query: &str) -> Uri {
        format!("/volumecontent/x/file?{query}").parse().expect("a query")
    }

    #[test]
    fn an_entry_is_rendered_as_the_sdks_read_it() {
        let stat = VolumeStat {
            path: "/a/l".to_owned(),
            kind: EntryKind::Link,
            size: 3,
            mode: 0o777,
            uid: 1000,
            gid: 7,
            modified: 1_000_000_000,
            changed: 2_000_000_000,
            target: Some("../x".to_owned()),
        };
        let rendered = stat_json(&stat);
        assert_eq!(
            rendered,
            json!({"name": "l", "type": "symlink", "path": "/a/l", "size": 3, "mode": 511, "uid": 1000, "gid": 7,
                "atime": "1970-01-01T00:00:01.000000Z", "mtime": "1970-01-01T00:00:01.000000Z",
                "ctime": "1970-01-01T00:00:02.000000Z", "target": "../x"})
        );
        assert_eq!(stat_json(&VolumeStat { path: "/".to_owned(), ..stat })["name"], "/");
    }

    #[test]
    fn attributes_and_force_are_in_the_query() {
        let found = attributes_of(&uri("mode=420&uid=0&gid=4294967295")).expect("right");
        assert_eq!(found, VolumeAttributes { mode: Some(0o644), uid: Some(0), gid: Some(u32::MAX) });
        assert_eq!(attributes_of(&uri("path=x")), Ok(VolumeAttributes::default()));
        for wrong in ["mode=4096", "mode=-1", "uid=4294967296", "gid=x"] {
            assert_eq!(attributes_of(&uri(wrong)).expect_err(wrong).kind(), Kind::Bad);
        }
        assert_eq!(conflict_of(&uri("force=true")), Ok(VolumeConflict::Resolve));
        assert_eq!(conflict_of(&uri("force=false")), Ok(VolumeConflict::Refuse));
        assert_eq!(conflict_of(&uri("path=x")), Ok(VolumeConflict::Refuse));
        assert!(conflict_of(&uri("force=maybe")).is_err());
    }
}
