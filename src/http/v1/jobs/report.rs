//! `GET /v1/jobs/{id}/report`

use std::collections::HashMap;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use axum::{Extension, Json};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use utoipa::ToSchema;

use super::super::answer::ErrorBody;
use super::super::items::sample_of;
use super::job_id;
use super::wire::About;
use crate::http::AppState;
use crate::http::error::ApiError;
use crate::http::query::{Query, wants_html};
use crate::service::{JobInfo, JobLine, JobManager};
use proofbox_grading::page::{Page, page, row};
use proofbox_grading::report::{Report, Sample, report as report_on};
use proofbox_types::caller::Caller;

/// Results that are read from the store at once.
const PAGE: usize = 256;
/// Items that a page shows, and bytes of them: a browser must be able to.
const MAX_SHOWN: usize = 5000;
const MAX_SHOWN_BYTES: usize = 32 << 20;
/// Reports made at once: each reads all results of a job.
static PLACES: Semaphore = Semaphore::const_new(2);

/// Report on a job's results.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobReport {
    id: String,
    /// State of the job: unless it is `finished`, the report covers a part of it.
    #[schema(example = "finished")]
    state: &'static str,
    items: u32,
    /// Number of items that the report covers.
    done: u32,
    report: Report,
}

/// Reports on the results that a job has so far.
#[utoipa::path(get, path = "/v1/jobs/{id}/report", params(
    ("format" = Option<String>, Query, description = "`json` or `html`; without it, as `Accept` says"),
), responses(
    (status = 200, content((JobReport = "application/json"), (String = "text/html"))),
    (status = 400, description = "A parameter that does not exist", body = ErrorBody),
    (status = 404, description = "There is none of this name", body = ErrorBody),
    (status = 422, description = "A parameter without meaning", body = ErrorBody),
    (status = 503, description = "Going down, or there is no store", body = ErrorBody),
))]
pub(crate) async fn report(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let id = job_id(&id)?;
    let form = match Query::of(&uri, &["format"])?.text("format") {
        None if wants_html(&headers) => Form::Html,
        None | Some("json") => Form::Json,
        Some("html") => Form::Html,
        Some(_) => return Err(ApiError::meaningless("format", "it must be json or html")),
    };
    let info = shared.service.jobs.find(&caller, id).await?;
    let _place = PLACES.acquire().await.map_err(|_| ApiError::internal())?;
    let read = read(&shared.service.jobs, &info, form).await?;
    let report = report_on(&read.samples, &About::of(&info).k);
    if form == Form::Json {
        let (state, done) = (info.state.as_str(), u32::try_from(read.samples.len()).unwrap_or(u32::MAX));
        return Ok(Json(JobReport { id: info.id.to_string(), state, items: info.items, done, report }).into_response());
    }
    let text =
        tokio::task::spawn_blocking(move || html_of(&info, read, &report)).await.map_err(|_| ApiError::internal())?;
    let nosniff = (HeaderName::from_static("x-content-type-options"), "nosniff");
    Ok(([nosniff, (header::CACHE_CONTROL, "no-store")], Html(text)).into_response())
}

/// Form of a report.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Html,
}

/// Results of a job, as read from the store.
#[derive(Default)]
struct Read {
    samples: Vec<Sample>,
    runtime: Option<Value>,
    rows: Vec<Value>,
    bytes: usize,
}

async fn read(jobs: &JobManager, info: &JobInfo, form: Form) -> Result<Read, ApiError> {
    let (mut read, mut after) = (Read::default(), 0);
    loop {
        let lines = jobs.lines(info.id, after, PAGE).await?;
        let Some(last) = lines.last() else { return Ok(read) };
        after = last.sequence;
        let items = if form == Form::Html && read.has_room() {
            jobs.items(info.id, lines.iter().map(|line| line.item).collect()).await?
        } else {
            Vec::new()
        };
        let add = move || {
            let parse = |item: proofbox_store::JobItem| serde_json::from_slice(&item.request).unwrap_or_default();
            let asked: HashMap<u32, Map<String, Value>> =
                items.into_iter().map(|(number, item)| (number, parse(item))).collect();
            lines.iter().for_each(|line| read.add(line, &asked, form));
            read
        };
        read = tokio::task::spawn_blocking(add).await.map_err(|_| ApiError::internal())?;
    }
}

impl Read {
    fn has_room(&self) -> bool {
        self.rows.len() < MAX_SHOWN && self.bytes < MAX_SHOWN_BYTES
    }

    fn add(&mut self, line: &JobLine, asked: &HashMap<u32, Map<String, Value>>, form: Form) {
        let Ok(answer) = serde_json::from_slice::<Value>(&line.line) else { return };
        self.samples.extend(sample_of(&answer));
        if form == Form::Html && self.has_room() {
            let none = Map::new();
            let row = row(asked.get(&line.item).unwrap_or(&none), &answer);
            self.bytes += row.to_string().len();
            self.rows.push(row);
            if self.runtime.is_none() {
                self.runtime = answer.get("runtime").cloned();
            }
        }
    }
}

fn html_of(info: &JobInfo, read: Read, report: &Report) -> String {
    let done = read.samples.len();
    let mut warnings = Vec::new();
    if done < info.items as usize {
        warnings.push(format!("The job is {}: {done} of {} items are done.", info.state.as_str(), info.items));
    }
    if read.rows.len() < done {
        let shown = read.rows.len();
        warnings.push(format!("Only the first {shown} of {done} results are shown; the figures are of all."));
    }
    page(&Page {
        title: &format!("Job {}", info.id),
        runtime: read.runtime,
        report,
        changes: Value::Null,
        warnings: &warnings,
        required: Vec::new(),
        items: read.rows,
    })
}
