//! `GET /v1/jobs/{id}/results`

use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use tokio::sync::watch;

use super::super::answer::ErrorBody;
use super::super::suites::SuiteLine;
use super::job_id;
use crate::http::AppState;
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::service::{JobError, Progress, Service};
use proofbox_types::caller::Caller;
use proofbox_types::ids::JobId;

/// Results that are read from the store at once.
const PAGE: usize = 256;

/// Reads a job's results, one a line in the order in which they came.
#[utoipa::path(get, path = "/v1/jobs/{id}/results", params(
    ("after" = Option<u32>, Query, description = "Leave out the first so many lines: those that were read before"),
    ("follow" = Option<bool>, Query, description = "Go on as results come, until the job ends or the service goes down"),
), responses(
    (status = 200, description = "Lines as a suite has them, without the report", body = SuiteLine,
     content_type = "application/x-ndjson"),
    (status = 400, description = "A parameter that does not exist", body = ErrorBody),
    (status = 404, description = "There is none of this name", body = ErrorBody),
    (status = 422, description = "A parameter without meaning", body = ErrorBody),
    (status = 503, description = "Going down, or there is no store", body = ErrorBody),
))]
pub(crate) async fn results(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, ApiError> {
    let id = job_id(&id)?;
    let query = Query::of(&uri, &["after", "follow"])?;
    let after = query.number("after", 0..=u32::MAX)?.unwrap_or(0);
    let follow = query.flag("follow")?;
    shared.service.jobs.find(&caller, id).await?;
    // Before the first look: nothing may come between the two.
    let progress = if follow { shared.service.jobs.follow(id) } else { None };
    let lines = lines(Arc::clone(&shared.service), id, after, progress);
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}

struct Reading {
    service: Arc<Service>,
    id: JobId,
    after: u32,
    /// Progress to wait for; none where only the results so far are wanted.
    progress: Option<watch::Receiver<Progress>>,
}

/// Streams pages of lines; breaks off where the store fails, so that the client sees that there is more.
fn lines(
    service: Arc<Service>,
    id: JobId,
    after: u32,
    progress: Option<watch::Receiver<Progress>>,
) -> impl Stream<Item = Result<Bytes, JobError>> + Send + 'static {
    let reading = Reading { service, id, after, progress };
    stream::unfold(Some(reading), async move |reading| {
        let mut reading = reading?;
        match reading.next().await {
            Ok(Some(page)) => Some((Ok(page), Some(reading))),
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    })
}

impl Reading {
    async fn next(&mut self) -> Result<Option<Bytes>, JobError> {
        loop {
            let seen = self.progress.as_mut().map(|progress| *progress.borrow_and_update());
            let lines = self.service.jobs.lines(self.id, self.after, PAGE).await?;
            if let Some(last) = lines.last() {
                self.after = last.sequence;
                let mut page = Vec::with_capacity(lines.iter().map(|line| line.line.len() + 1).sum());
                for line in lines {
                    page.extend_from_slice(&line.line);
                    page.push(b'\n');
                }
                return Ok(Some(page.into()));
            }
            let (Some(progress), Some(Progress { has_ended: false, .. })) = (&mut self.progress, seen) else {
                return Ok(None);
            };
            // Its client goes on elsewhere, or later, after the lines that it has.
            let stopping = self.service.background.stopping();
            match stopping.run_until_cancelled(progress.changed()).await {
                Some(Ok(())) => {}
                Some(Err(_)) => self.progress = None,
                None => return Ok(None),
            }
        }
    }
}
