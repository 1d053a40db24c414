//! `/v1/jobs`: submissions that are run in the background.
//!
//! - here: accepting, showing, listing and cancelling jobs;
//! - `results`: their results, as they come;
//! - `report`: a report on the results;
//! - `wire`: the format in which jobs are stored.

pub(super) mod report;
pub(super) mod results;
mod wire;

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use super::answer::ErrorBody;
use super::items::item_of;
use super::request::ExecuteRequest;
use crate::http::AppState;
use crate::http::body::WholeBody;
use crate::http::error::ApiError;
use crate::http::extract::{check_json, parse, text_of};
use crate::http::query::Query;
use crate::service::{Executor, JobAsked, JobInfo, JobManager, JobsAsked};
use proofbox_store::{JobItem, JobPhase};
use proofbox_types::caller::Caller;
use proofbox_types::ids::JobId;

pub(crate) use wire::Wire;
use wire::{About, document_of};

/// The routes of jobs.
pub(crate) fn routes() -> Router<AppState> {
    Router::new()
        .route("/v1/jobs", post(submit).get(list))
        .route("/v1/jobs/{id}", get(show).delete(cancel))
        .route("/v1/jobs/{id}/results", get(results::results))
        .route("/v1/jobs/{id}/report", get(report::report))
}

/// Jobs on one page of the list, where the client does not say; and at most.
const PAGE: u32 = 100;
const LARGEST_PAGE: u32 = 1000;
/// Bytes of an `Idempotency-Key`.
const MAX_KEY: usize = 255;

/// Body of `POST /v1/jobs`.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the contract's description; what is not its own is parsed as an item of a suite")]
pub(super) struct JobRequest {
    /// Id of the one item; if absent, the job's id.
    id: Option<String>,
    /// Task of the item, as in a suite.
    task: Option<String>,
    /// URL to notify when the job ends. Its host must be one of those that the operator allows.
    callback_url: Option<String>,
    #[schema(inline = false)]
    #[serde(flatten)]
    request: ExecuteRequest,
}

/// State of a job.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct JobAnswer {
    id: String,
    /// Kind of the job: `execute` or `suite`.
    #[schema(example = "suite")]
    kind: String,
    /// State of the job: `queued`, `running`, `finished` or `cancelled`.
    #[schema(example = "running")]
    state: &'static str,
    /// Reason why the job was cancelled.
    reason: Option<String>,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    started_at: Option<String>,
    #[schema(format = DateTime)]
    ended_at: Option<String>,
    /// Time at which the job is removed with its results; earlier if there is no room for it.
    #[schema(format = DateTime)]
    expires_at: Option<String>,
    /// Number of submissions in the job.
    items: u32,
    /// Number of submissions that have a result.
    done: u32,
    /// Number of results by status.
    by_status: BTreeMap<&'static str, u32>,
    /// Size on disk, in bytes.
    bytes: u64,
    callback: Option<CallbackAnswer>,
    results_url: String,
    report_url: String,
}

/// Callback at a job's end.
#[derive(Debug, Serialize, ToSchema)]
struct CallbackAnswer {
    url: String,
    /// State of the callback: `waiting`, `delivered` or `given_up`.
    state: &'static str,
    attempts: u32,
    #[schema(format = DateTime)]
    next_at: Option<String>,
    /// Reason why the last attempt failed.
    error: Option<String>,
}

/// A page of jobs.
#[derive(Serialize, ToSchema)]
pub(super) struct JobList {
    /// Jobs, the newest first.
    jobs: Vec<JobAnswer>,
    /// Cursor of the next page, if there is one.
    next: Option<String>,
}

/// Request for a job, parsed.
pub(super) struct ParsedJob {
    pub(super) id: JobId,
    pub(super) kind: &'static str,
    pub(super) ks: Vec<u32>,
    /// Fields that its items share.
    pub(super) head: Value,
    pub(super) items: Vec<JobItem>,
    pub(super) callback_url: Option<String>,
}

/// Stores a job, unless it exists already. `body` is the whole request: the same key must not mean another.
pub(super) async fn accept(
    jobs: &std::sync::Arc<JobManager>,
    caller: &Caller,
    headers: &HeaderMap,
    body: &Bytes,
    asked: ParsedJob,
) -> Result<Response, ApiError> {
    let ParsedJob { id, kind, ks, head, items, callback_url } = asked;
    if let Some(url) = &callback_url {
        jobs.admit_callback(url).map_err(|error| ApiError::meaningless("callback_url", error.to_string()))?;
    }
    let idempotency_key = idempotency_key(headers)?;
    let mut request_sha256 = Sha256::new_with_prefix(kind);
    request_sha256.update([0]);
    request_sha256.update(body);
    let asked = JobAsked {
        id,
        about: serde_json::to_vec(&About { kind: kind.to_owned(), k: ks }).map_err(|_| ApiError::internal())?,
        head: head.to_string().into_bytes(),
        items,
        idempotency_key,
        request_sha256: request_sha256.finalize().into(),
        callback_url,
    };
    let accepted = jobs.accept(caller, asked).await?;
    let location = format!("/v1/jobs/{}", accepted.job.id);
    let mut response = (StatusCode::ACCEPTED, Json(document_of(&accepted.job))).into_response();
    let headers = response.headers_mut();
    headers.insert(header::LOCATION, HeaderValue::try_from(location).map_err(|_| ApiError::internal())?);
    if accepted.replayed {
        headers.insert(HeaderName::from_static("idempotent-replayed"), HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// The name that a client gives a request, so that it may be sent again: a string of structured fields (RFC 8941), or
/// that without its quotes.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let wrong = || {
        ApiError::malformed(
            Some("Idempotency-Key".to_owned()),
            format!("it must have 1 to {MAX_KEY} visible ASCII characters"),
        )
    };
    let text = value.to_str().map_err(|_| wrong())?.trim();
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let fits = (1..=MAX_KEY).contains(&inner.len()) && inner.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if fits { Ok(Some(inner.to_owned())) } else { Err(wrong()) }
}

/// The job that a path names.
fn job_id(text: &str) -> Result<JobId, ApiError> {
    JobId::parse(text).ok_or_else(ApiError::no_job)
}

/// Runs a submission in the background.
#[utoipa::path(
    post,
    path = "/v1/jobs",
    request_body = JobRequest,
    params(("idempotency-key" = Option<String>, Header, description = "The same key and body is the same job")),
    responses(
        (status = 202, description = "It is kept, and will be run", body = JobAnswer,
         headers(("location" = String, description = "Of the job"))),
        (status = 400, description = "Malformed, or a limit outside the policy's range", body = ErrorBody),
        (status = 413, description = "Too large", body = ErrorBody),
        (status = 415, description = "Not JSON", body = ErrorBody),
        (status = 422, description = "Well formed, but meaningless; or the Idempotency-Key of another request", body = ErrorBody),
        (status = 429, description = "The key has too many jobs that have not ended", body = ErrorBody),
        (status = 503, description = "Going down, or there is no store", body = ErrorBody),
        (status = 507, description = "There is no room for it", body = ErrorBody),
    )
)]
pub(super) async fn submit(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, ApiError> {
    check_json(&request)?;
    let headers = request.headers().clone();
    let body = WholeBody::read(request).await?;
    let bytes = body.bytes.clone();
    let (executor, asks) = (std::sync::Arc::clone(&shared.service.executor), caller.clone());
    let asked = body.parse(move |bytes| asked_of(&executor, &asks, bytes)).await?;
    accept(&shared.service.jobs, &caller, &headers, &bytes, asked).await
}

fn asked_of(executor: &Executor, caller: &Caller, body: &[u8]) -> Result<ParsedJob, ApiError> {
    let mut item: Map<String, Value> = parse(text_of(body)?)?;
    let callback_url = match item.remove("callback_url") {
        None | Some(Value::Null) => None,
        Some(Value::String(url)) => Some(url),
        Some(_) => return Err(ApiError::malformed(Some("callback_url".to_owned()), "expected a string")),
    };
    let id = JobId::generate();
    item.entry("id").or_insert_with(|| json!(id.to_string()));
    let item = Value::Object(item);
    let request = item.to_string().into_bytes();
    let name = item_of(executor, caller, &Map::new(), item, "")?.id;
    let items = vec![JobItem { name, request }];
    Ok(ParsedJob { id, kind: "execute", ks: vec![1], head: json!({"defaults": {}}), items, callback_url })
}

/// Lists the caller's jobs, the newest first.
#[utoipa::path(get, path = "/v1/jobs", params(
    ("state" = Option<String>, Query, description = "Those that are `queued`, `running`, `finished` or `cancelled`"),
    ("limit" = Option<u32>, Query, description = "Jobs on a page [default: 100]", minimum = 1, maximum = 1000),
    ("next" = Option<String>, Query, description = "Where the page begins: `next` of the page before"),
), responses(
    (status = 200, body = JobList),
    (status = 400, description = "A parameter that does not exist", body = ErrorBody),
    (status = 422, description = "A parameter without meaning", body = ErrorBody),
    (status = 503, description = "Going down, or there is no store", body = ErrorBody),
))]
pub(super) async fn list(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
) -> Result<Json<JobList>, ApiError> {
    let query = Query::of(&uri, &["state", "limit", "next"])?;
    let phase = match query.text("state") {
        None => None,
        Some("queued") => Some(JobPhase::Queued),
        Some("running") => Some(JobPhase::Running),
        Some("finished") => Some(JobPhase::Finished),
        Some("cancelled") => Some(JobPhase::Cancelled),
        Some(_) => return Err(ApiError::meaningless("state", "it must be queued, running, finished or cancelled")),
    };
    let limit = query.number("limit", 1..=LARGEST_PAGE)?.unwrap_or(PAGE) as usize;
    let after = match query.text("next") {
        None => None,
        Some(next) => {
            Some(JobId::parse(next).ok_or_else(|| ApiError::meaningless("next", "this is no `next` of a page"))?)
        }
    };
    let mut infos = shared.service.jobs.list(&caller, JobsAsked { phase, after, limit: limit + 1 }).await?;
    let next = (infos.len() > limit).then(|| infos[limit - 1].id.to_string());
    infos.truncate(limit);
    Ok(Json(JobList { jobs: infos.iter().map(document_of).collect(), next }))
}

/// Shows a job and its progress.
#[utoipa::path(get, path = "/v1/jobs/{id}", responses(
    (status = 200, body = JobAnswer),
    (status = 404, description = "There is none of this name", body = ErrorBody),
    (status = 503, description = "Going down, or there is no store", body = ErrorBody),
))]
pub(super) async fn show(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<JobAnswer>, ApiError> {
    let info: JobInfo = shared.service.jobs.find(&caller, job_id(&id)?).await?;
    Ok(Json(document_of(&info)))
}

/// Cancels a job: running items are stopped, results stay. A job that has ended stays as it is.
#[utoipa::path(delete, path = "/v1/jobs/{id}", params(
    ("purge" = Option<bool>, Query, description = "Remove it with its results, too"),
), responses(
    (status = 200, description = "It has ended", body = JobAnswer),
    (status = 204, description = "With `purge=true`: it is gone"),
    (status = 400, description = "A parameter that does not exist", body = ErrorBody),
    (status = 404, description = "There is none of this name", body = ErrorBody),
    (status = 422, description = "A parameter without meaning", body = ErrorBody),
    (status = 503, description = "Going down, or there is no store", body = ErrorBody),
))]
pub(super) async fn cancel(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, ApiError> {
    let id = job_id(&id)?;
    if Query::of(&uri, &["purge"])?.flag("purge")? {
        shared.service.jobs.delete(&caller, id).await?;
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let info = shared.service.jobs.cancel(&caller, id).await?;
    Ok(Json(document_of(&info)).into_response())
}
