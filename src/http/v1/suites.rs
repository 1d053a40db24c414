//! `POST /v1/suites`: many submissions with one report.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use utoipa::ToSchema;

use super::answer::{Answer, ErrorBody};
use super::items::{defaults_of, item_of, line_of, sample_of};
use super::jobs::{JobAnswer, ParsedJob, accept};
use super::request::ExecuteRequest;
use crate::http::AppState;
use crate::http::body::{BodyError, WholeBody};
use crate::http::error::ApiError;
use crate::http::extract::{parse, parse_part, text_of};
use crate::http::query::Query;
use crate::service::{Finished, SuiteItem, SuiteRunner};
use proofbox_grading::report::{Report, Sample, report};
use proofbox_memory::JsonCost;
use proofbox_store::JobItem;
use proofbox_types::caller::Caller;
use proofbox_types::ids::JobId;
use proofbox_types::large_integers::tag_large_integers_of_cases;

/// Maximum number of items: more would take too much memory before anything runs.
const MAX_ITEMS: usize = 100_000;
/// Values of k in one report.
const MAX_KS: usize = 32;

/// Suite of submissions to run together.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuiteRequest {
    /// Fields that every item has unless it says otherwise; `limits` and `labels` are merged by field.
    #[serde(default)]
    #[schema(value_type = Option<ExecuteRequest>)]
    defaults: Option<Json>,
    #[schema(value_type = Vec<SuiteItemRequest>)]
    items: Vec<Json>,
    /// The k of pass@k.
    #[serde(default)]
    #[schema(example = json!([1, 10]))]
    k: Option<Vec<u32>>,
    /// URL to notify when the suite ends, with `async=true`. Its host must be one of those that the operator allows.
    #[serde(default)]
    callback_url: Option<String>,
}

/// Submission of a suite.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the contract's description; items are merged with the defaults before they are parsed")]
struct SuiteItemRequest {
    /// Id, unique in the suite.
    id: String,
    /// The problem that it is an attempt at; if absent the label `task`, else the id up to its last `#`.
    task: Option<String>,
    #[schema(inline = false)]
    #[serde(flatten)]
    request: ExecuteRequest,
}

/// A line of the answer.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "the contract's description; lines are made from the answer's JSON")]
pub(super) enum SuiteLine {
    /// An item that was run.
    Answer(Box<SuiteAnswer>),
    /// Item that was not run.
    Refused(SuiteRefusal),
    /// Last line of the answer.
    Report {
        /// Report on all items.
        report: Box<Report>,
    },
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "the contract's description")]
pub(super) struct SuiteAnswer {
    /// Id of the item.
    id: String,
    task: String,
    /// The answer's own id.
    execution_id: String,
    #[serde(flatten)]
    answer: Answer,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "the contract's description")]
pub(super) struct SuiteRefusal {
    id: String,
    task: String,
    /// Status of the item: `refused` or `infrastructure_error`.
    status: String,
    tests_passed: usize,
    tests_total: usize,
    #[schema(value_type = Object)]
    error: Json,
    labels: std::collections::BTreeMap<String, String>,
}

/// Suite that is parsed, checked, and ready to run.
struct Suite {
    items: Items,
    defaults: Map<String, Json>,
    ks: Vec<u32>,
    callback_url: Option<String>,
}

/// Mode in which a suite is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// In the foreground, while its client reads the answer.
    Now,
    /// In the background, as a job.
    Background,
}

/// Items in the form that the mode needs: a job's items are parsed again when their turn comes.
enum Items {
    Now(Vec<SuiteItem>),
    Background(Vec<JobItem>),
}

/// Runs many submissions, and reports on them together.
#[utoipa::path(
    post,
    path = "/v1/suites",
    params(
        ("async" = Option<bool>, Query, description = "Run it in the background, as a job"),
        ("idempotency-key" = Option<String>, Header, description = "With `async=true`: the same key and body is the same job"),
    ),
    request_body(content((SuiteRequest = "application/json"), (String = "application/x-ndjson"))),
    responses(
        (status = 200, description = "A line for each item as it finishes, then `{\"report\": …}`", body = SuiteLine,
         content_type = "application/x-ndjson"),
        (status = 202, description = "With `async=true`: a job", body = JobAnswer,
         headers(("location" = String, description = "Of the job"))),
        (status = 400, description = "An item is malformed; nothing was run", body = ErrorBody),
        (status = 413, description = "Too large", body = ErrorBody),
        (status = 415, description = "Neither JSON nor NDJSON", body = ErrorBody),
        (status = 422, description = "Well formed, but meaningless; nothing was run", body = ErrorBody),
        (status = 429, description = "With `async=true`: the key has too many jobs that have not ended", body = ErrorBody),
        (status = 503, description = "Going down; with `async=true`: there is no store", body = ErrorBody),
        (status = 507, description = "With `async=true`: there is no room for it", body = ErrorBody),
    )
)]
pub(crate) async fn suites(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, ApiError> {
    let is_async = Query::of(request.uri(), &["async"])?.flag("async")?;
    let way = if is_async { Way::Background } else { Way::Now };
    let format = format_of(&request)?;
    let headers = request.headers().clone();
    let body = WholeBody::read(request).await?;
    let bytes = body.bytes.clone();
    let (executor, asks, reader) = (Arc::clone(&shared.service.executor), caller.clone(), body.reader().clone());
    let item = move |defaults: &_, item, at: &_| item_of(&executor, &asks, defaults, item, at);
    // Merging may take a while, however short the body is.
    let suite = body.parse_apart(move |text| suite_of(text, format, way, |copies| reader.hold_copies(copies), item));
    let suite = suite.await?;
    let Suite { items, defaults, ks, callback_url } = suite;
    match items {
        Items::Now(_) if callback_url.is_some() => {
            Err(ApiError::meaningless("callback_url", "only with `async=true` is somebody told of the end"))
        }
        Items::Now(items) => {
            let body = Body::from_stream(answer(&shared.service.suites, caller, items, ks).map(Ok::<_, Infallible>));
            Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response())
        }
        Items::Background(items) => {
            let head = json!({"defaults": defaults});
            let asked = ParsedJob { id: JobId::generate(), kind: "suite", ks, head, items, callback_url };
            accept(&shared.service.jobs, &caller, &headers, &bytes, asked).await
        }
    }
}

/// Format of a suite's body.
#[derive(Clone, Copy)]
pub(crate) enum Format {
    Json,
    Lines,
}

fn format_of(request: &Request) -> Result<Format, ApiError> {
    let kind = request.headers().get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap_or("").to_lowercase());
    match kind.as_deref().map(|kind| kind.split(';').next().unwrap_or("").trim()) {
        Some("application/x-ndjson" | "application/ndjson" | "application/jsonl" | "application/x-jsonlines") => {
            Ok(Format::Lines)
        }
        None | Some("application/x-www-form-urlencoded") => Ok(Format::Json),
        Some(kind) if kind.ends_with("json") => Ok(Format::Json),
        Some(_) => Err(ApiError::neither_json_nor_lines()),
    }
}

/// Parses the body of a suite, whether its items may be run or not.
pub(crate) fn suite_request(body: &[u8], format: Format) -> Result<(), ApiError> {
    suite_of(body, format, Way::Background, |_| Ok(()), super::items::parsed_item).map(drop)
}

fn suite_of(
    body: &[u8],
    format: Format,
    way: Way,
    hold_copies: impl Fn(JsonCost) -> Result<(), BodyError>,
    item_of: impl Fn(&Map<String, Json>, Json, &str) -> Result<SuiteItem, ApiError>,
) -> Result<Suite, ApiError> {
    let text = text_of(body)?;
    let SuiteRequest { defaults, items, k, callback_url } = match format {
        Format::Json => parse(text)?,
        Format::Lines => lines_of(text)?,
    };
    let ks = k.unwrap_or_else(|| vec![1]);
    if ks.len() > MAX_KS || ks.contains(&0) {
        return Err(ApiError::meaningless("k", format!("at most {MAX_KS} numbers, from 1")));
    }
    if items.is_empty() {
        return Err(ApiError::meaningless("items", "there must be at least one"));
    }
    if items.len() > MAX_ITEMS {
        let message = format!("at most {MAX_ITEMS} items in one suite");
        return Err(ApiError::too_large("items", message, items.len(), MAX_ITEMS));
    }
    let (defaults, copies) = defaults_of(defaults, items.len())?;
    // A job's items are merged with them one by one, when it is their turn.
    if let Some(copies) = copies
        && way == Way::Now
    {
        hold_copies(copies)?;
    }
    let mut places = HashMap::with_capacity(items.len());
    let mut ready = match way {
        Way::Now => Items::Now(Vec::with_capacity(items.len())),
        Way::Background => Items::Background(Vec::with_capacity(items.len())),
    };
    for (index, item) in items.into_iter().enumerate() {
        let at = format!("items[{index}]");
        let request = if way == Way::Background { item.to_string().into_bytes() } else { Vec::new() };
        let item = item_of(&defaults, item, &at)?;
        if let Some(first) = places.insert(item.id.clone(), index) {
            let message = format!("items[{first}] has this id already: ids tell the answer's lines apart");
            return Err(ApiError::meaningless(format!("{at}.id"), message));
        }
        match &mut ready {
            Items::Now(items) => items.push(item),
            Items::Background(items) => items.push(JobItem { name: item.id, request }),
        }
    }
    Ok(Suite { items: ready, defaults, ks, callback_url })
}

/// NDJSON: an item a line, before them perhaps a line with `defaults`, `k` and `callback_url`.
fn lines_of(text: &str) -> Result<SuiteRequest, ApiError> {
    let mut suite = SuiteRequest { defaults: None, items: Vec::new(), k: None, callback_url: None };
    let mut begun = false;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let at = format!("items[{}]", suite.items.len());
        let value: Json = serde_json::from_str(&tag_large_integers_of_cases(line)).map_err(|error| {
            ApiError::malformed(
                Some(at),
                format!("line {} is not JSON: {}", number + 1, error.to_string().replace(" at line 1", "")),
            )
        })?;
        let is_head = !begun
            && value.as_object().is_some_and(|object| {
                !object.is_empty() && object.keys().all(|key| matches!(key.as_str(), "defaults" | "k" | "callback_url"))
            });
        begun = true;
        if is_head {
            #[derive(Deserialize)]
            struct Head {
                defaults: Option<Json>,
                k: Option<Vec<u32>>,
                callback_url: Option<String>,
            }
            let head: Head = parse_part("", value)?;
            (suite.defaults, suite.k, suite.callback_url) = (head.defaults, head.k, head.callback_url);
        } else {
            suite.items.push(value);
        }
    }
    Ok(suite)
}

struct Answering {
    finished: Pin<Box<dyn Stream<Item = Finished> + Send>>,
    samples: Vec<Sample>,
    ks: Vec<u32>,
}

/// The answer's lines; dropping it stops what runs.
fn answer(
    suites: &SuiteRunner,
    caller: Caller,
    items: Vec<SuiteItem>,
    ks: Vec<u32>,
) -> impl Stream<Item = Bytes> + Send + use<> {
    let samples = Vec::with_capacity(items.len());
    let answering = Answering { finished: Box::pin(suites.run(caller, items)), samples, ks };
    stream::unfold(Some(answering), move |answering| async move {
        let mut answering = answering?;
        match answering.finished.next().await {
            Some(finished) => {
                let line = line_of(finished);
                answering.samples.extend(sample_of(&line));
                Some((bytes_of(&line), Some(answering)))
            }
            None => {
                let report = report(&answering.samples, &answering.ks);
                Some((bytes_of(&json!({"report": report})), None))
            }
        }
    })
}

fn bytes_of(line: &impl Serialize) -> Bytes {
    let mut bytes = serde_json::to_vec(line).expect("JSON values have string keys");
    bytes.push(b'\n');
    bytes.into()
}
