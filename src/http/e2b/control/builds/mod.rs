//! Builds of templates: steps are carried out in a session, whose state is then stored under the template's name.
//!
//! - here: announcing and starting a build, its status and log;
//! - `names`: names and tags of templates;
//! - `uploads`: files for builds;
//! - `table`: builds that are remembered;
//! - `plan`: what a client wants built;
//! - `carry_out`: carrying it out.

mod carry_out;
pub(crate) mod names;
mod plan;
pub(crate) mod table;
pub(crate) mod uploads;

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::{Extension, Json};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::body::parameter;
use super::super::error::{E2bError, Kind};
use super::super::{E2b, body};
use super::templates;
use crate::http::Scheme;
use crate::telemetry;
use names::{DEFAULT_TAG, Target, parse_tags};
use plan::{BuildRequest, Plan};
use proofbox_types::caller::Caller;
use proofbox_types::ids::CheckpointId;
use table::{Build, Level, Status};

/// Entries of a log in one answer.
const MAX_ENTRIES: usize = 100;

#[derive(Deserialize)]
struct NewBuild {
    #[serde(default)]
    name: Option<String>,
    /// The older word for the name.
    #[serde(default)]
    alias: Option<String>,
    #[serde(default)]
    tags: Option<Vec<String>>,
}

/// `POST /v3/templates` announces a build.
pub(crate) async fn announce(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<(StatusCode, Json<Value>), E2bError> {
    let NewBuild { name, alias, tags } = body::json(request).await?;
    let name = name.or(alias).filter(|name| !name.is_empty());
    let target = Target::parse(&name.ok_or_else(|| E2bError::new(Kind::Bad, "name is missing"))?)?;
    let tags = tags.unwrap_or_default();
    let mut tags = parse_tags(tags.iter().map(String::as_str).chain(target.tag.as_deref()))?;
    if tags.is_empty() {
        tags.push(DEFAULT_TAG.to_owned());
    }
    if templates::is_reserved(&e2b, &target.name) {
        let message = format!("'{}' is a template of this service: choose another name", target.name);
        return Err(E2bError::new(Kind::Forbidden, message));
    }
    // A service without a store says so before files are uploaded.
    e2b.shared.service.sessions.tags(&caller, Some(&target.name)).await?;
    let build = e2b.state.builds.announce(caller.owner(), target.name, tags)?;
    let answer = json!({
        "templateID": build.name, "buildID": build.id, "public": false,
        "names": [build.name], "aliases": [build.name], "tags": build.tags,
    });
    Ok((StatusCode::ACCEPTED, Json(answer)))
}

/// `GET /templates/{id}/files/{hash}` tells whether files are here, and where to upload them.
pub(crate) async fn upload_link(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path((_, hash)): Path<(String, String)>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<(StatusCode, Json<Value>), E2bError> {
    let (present, token) = e2b.state.uploads.reserve(caller.owner(), &hash)?;
    let url = format!("{}/templates/uploads/{token}", origin(e2b.shared.scheme, &headers, &uri));
    Ok((StatusCode::CREATED, Json(json!({"present": present, "url": url}))))
}

/// Returns the address under which the client reaches this service, as far as its request tells.
fn origin(scheme: Scheme, headers: &HeaderMap, uri: &Uri) -> String {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(header::HOST.as_str()).or_else(|| uri.authority().map(|authority| authority.as_str()));
    let behind_tls = text("x-forwarded-proto") == Some("https");
    let scheme = if scheme == Scheme::Https || behind_tls { "https" } else { "http" };
    format!("{scheme}://{}", host.unwrap_or("localhost"))
}

/// `PUT /templates/uploads/{token}` takes an archive. The address is the secret: clients send no key here.
pub(crate) async fn upload(
    State(e2b): State<E2b>,
    Path(token): Path<String>,
    request: Request,
) -> Result<StatusCode, E2bError> {
    let name = e2b.state.uploads.find(&token)?;
    let bytes = body::whole(request).await?;
    e2b.state.uploads.keep(&name, bytes)?;
    Ok(StatusCode::OK)
}

/// `POST /v2/templates/{id}/builds/{build}` starts a build.
pub(crate) async fn start(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path((template, id)): Path<(String, String)>,
    request: Request,
) -> Result<StatusCode, E2bError> {
    let build = e2b.build(&caller, &template, &id)?;
    let request: BuildRequest = body::json(request).await?;
    let archive = |hash: &str| e2b.state.uploads.archive(caller.owner(), hash);
    let plan = Plan::of(request, archive)?;
    e2b.state.builds.start(&build)?;
    let e2b = e2b.clone();
    tokio::spawn(telemetry::carry(async move { carry_out::carry_out(e2b, caller, build, plan).await }));
    Ok(StatusCode::ACCEPTED)
}

fn unknown_build() -> E2bError {
    E2bError::new(Kind::NotFound, "there is no such build of this template")
}

impl E2b {
    fn build(&self, caller: &Caller, template: &str, id: &str) -> Result<Arc<Build>, E2bError> {
        self.state.builds.find(caller.owner(), template, id).ok_or_else(unknown_build)
    }

    /// Returns whether a build that is not remembered has made what the template's tags mean.
    async fn has_made(&self, caller: &Caller, template: &str, id: &str) -> Result<bool, E2bError> {
        let Some(id) = CheckpointId::parse(id) else { return Ok(false) };
        let tags = self.shared.service.sessions.tags(caller, Some(template)).await?;
        Ok(tags.iter().any(|tag| tag.checkpoint == id))
    }
}

/// Part of a log that a client asks for.
struct Part {
    least: Level,
    limit: usize,
}

impl Part {
    fn of(uri: &Uri) -> Result<Self, E2bError> {
        let bad = |message: String| E2bError::new(Kind::Bad, message);
        let given = |name| parameter(uri, name).filter(|text| !text.is_empty());
        let least = given("level").map(|word| Level::parse(&word).ok_or(word)).transpose();
        let limit = given("limit").map(|text| text.parse::<usize>()).transpose();
        Ok(Self {
            least: least.map_err(|_| bad("level is debug, info, warn or error".to_owned()))?.unwrap_or(Level::Debug),
            limit: match limit {
                Ok(limit) if limit.unwrap_or(0) <= MAX_ENTRIES => limit.unwrap_or(MAX_ENTRIES),
                _ => return Err(bad(format!("limit is a number up to {MAX_ENTRIES}"))),
            },
        })
    }
}

/// `GET …/status` tells how far a build is, with its log from an entry on.
pub(crate) async fn status(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path((template, id)): Path<(String, String)>,
    uri: Uri,
) -> Result<Json<Value>, E2bError> {
    let part = Part::of(&uri)?;
    let offset = parameter(&uri, "logsOffset").filter(|text| !text.is_empty());
    let offset: Result<usize, _> = offset.map_or(Ok(0), |text| text.parse());
    let offset = offset.map_err(|_| E2bError::new(Kind::Bad, "logsOffset is a number"))?;
    let (status, failure, log) = match e2b.build(&caller, &template, &id) {
        Ok(build) => {
            // The status first: what is logged before its end is in the log then.
            let (status, failure) = (build.status().0, build.failure());
            (status, failure, build.log(part.least))
        }
        Err(_) if e2b.has_made(&caller, &template, &id).await? => (Status::Ready, None, Vec::new()),
        Err(error) => return Err(error),
    };
    let entries: Vec<_> = log.iter().skip(offset).take(part.limit).collect();
    let mut answer = json!({
        "templateID": template, "buildID": id, "status": status.word(),
        "logs": entries.iter().map(|entry| entry.message.as_str()).collect::<Vec<_>>(),
        "logEntries": entries.iter().map(|entry| entry.json()).collect::<Vec<_>>(),
    });
    if let Some(failure) = failure {
        answer["reason"] = json!({"message": failure.message, "step": failure.step, "logEntries": []});
    }
    Ok(Json(answer))
}

/// `GET …/logs` tells the log of a build from a time on, forward or backward.
pub(crate) async fn logs(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path((template, id)): Path<(String, String)>,
    uri: Uri,
) -> Result<Json<Value>, E2bError> {
    let part = Part::of(&uri)?;
    let bad = |message| E2bError::new(Kind::Bad, message);
    let cursor = parameter(&uri, "cursor").filter(|text| !text.is_empty());
    let cursor =
        cursor.map(|text| text.parse().ok().and_then(|time| Timestamp::from_millisecond(time).ok()).ok_or(text));
    let cursor = cursor.transpose().map_err(|_| bad("cursor is a time in milliseconds since 1970"))?;
    let mut log = match e2b.build(&caller, &template, &id) {
        Ok(build) => build.log(part.least),
        Err(_) if e2b.has_made(&caller, &template, &id).await? => Vec::new(),
        Err(error) => return Err(error),
    };
    match parameter(&uri, "direction").as_deref() {
        None | Some("" | "forward") => log.retain(|entry| cursor.is_none_or(|cursor| entry.time >= cursor)),
        Some("backward") => {
            log.retain(|entry| cursor.is_none_or(|cursor| entry.time <= cursor));
            log.reverse();
        }
        Some(_) => return Err(bad("direction is forward or backward")),
    }
    let entries: Vec<Value> = log.iter().take(part.limit).map(table::Entry::json).collect();
    Ok(Json(json!({"logs": entries})))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_go_where_the_client_reaches_this_service() {
        let headers = |pairs: &[(&'static str, &'static str)]| -> HeaderMap {
            let pair = |(name, value): &(&'static str, &'static str)| {
                (header::HeaderName::from_static(name), header::HeaderValue::from_static(value))
            };
            pairs.iter().map(pair).collect()
        };
        let uri = Uri::from_static("/templates/a/files/b");
        assert_eq!(origin(Scheme::Http, &headers(&[("host", "127.0.0.1:8080")]), &uri), "http://127.0.0.1:8080");
        let behind_a_proxy = headers(&[("host", "api.example.org"), ("x-forwarded-proto", "https")]);
        assert_eq!(origin(Scheme::Http, &behind_a_proxy, &uri), "https://api.example.org");
        assert_eq!(origin(Scheme::Http, &headers(&[("host", "a"), ("x-forwarded-proto", "file")]), &uri), "http://a");
    }

    #[test]
    fn a_part_of_a_log_is_bounded() {
        let limit = |query: &str| Part::of(&format!("/x?{query}").parse().expect("a path")).map(|part| part.limit);
        assert_eq!((limit(""), limit("limit=7"), limit("limit=0")), (Ok(100), Ok(7), Ok(0)));
        assert!(limit("limit=101").is_err() && limit("limit=x").is_err() && limit("level=loud").is_err());
    }
}
