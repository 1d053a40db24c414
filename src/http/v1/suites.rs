//! `POST /v1/suites`

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

use super::answer::{Answer, ErrorBody, answer_of};
use super::request::{ExecuteRequest, submission_of};
use crate::domain::caller::Caller;
use crate::domain::verdict::{FailureClass, Status};
use crate::grader::report::{Ending, Report, Sample, report};
use crate::http::Shared;
use crate::http::error::ApiError;
use crate::http::extract::{parse, parse_part, text_of, whole_body};
use crate::service::{Failed, Finished, Service, SuiteItem};

/// More would take too much memory before anything runs.
const MOST_ITEMS: usize = 100_000;
/// Defaults are copied into every item: so much in all.
const MOST_COPIED_BYTES: usize = 256 << 20;
/// Values of k in one report.
const MOST_KS: usize = 32;
/// Longest id and task, in bytes: they stand in every line and in the report.
const LONGEST_NAME: usize = 512;

/// Many submissions at once.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteRequest {
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
}

/// One submission of a suite.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the contract's description; items are merged with the defaults before they are parsed")]
struct SuiteItemRequest {
    /// Unique in the suite.
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
enum SuiteLine {
    /// An item that was run.
    Answer(Box<SuiteAnswer>),
    /// An item that was not.
    Refused(SuiteRefusal),
    /// The last line.
    Report {
        /// On all items.
        report: Box<Report>,
    },
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "the contract's description")]
struct SuiteAnswer {
    /// Of the item.
    id: String,
    task: String,
    /// The answer's own id.
    execution_id: String,
    #[serde(flatten)]
    answer: Answer,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "the contract's description")]
struct SuiteRefusal {
    id: String,
    task: String,
    /// `refused`, or `infrastructure_error`
    status: String,
    tests_passed: usize,
    tests_total: usize,
    #[schema(value_type = Object)]
    error: Json,
    labels: std::collections::BTreeMap<String, String>,
}

/// Parsed, checked, and ready to run.
struct Suite {
    items: Vec<SuiteItem>,
    ks: Vec<u32>,
}

/// Run many submissions, and report on them together.
#[utoipa::path(
    post,
    path = "/v1/suites",
    params(("async" = Option<bool>, Query, description = "Only false is possible in this version")),
    request_body(content((SuiteRequest = "application/json"), (String = "application/x-ndjson"))),
    responses(
        (status = 200, description = "A line for each item as it finishes, then `{\"report\": …}`", body = SuiteLine,
         content_type = "application/x-ndjson"),
        (status = 400, description = "An item is malformed; nothing was run", body = ErrorBody),
        (status = 413, description = "Too large", body = ErrorBody),
        (status = 415, description = "Neither JSON nor NDJSON", body = ErrorBody),
        (status = 422, description = "Well formed, but meaningless; nothing was run", body = ErrorBody),
        (status = 503, description = "Going down", body = ErrorBody),
    )
)]
pub async fn suites(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, ApiError> {
    check_query(request.uri().query().unwrap_or(""))?;
    let format = format_of(&request)?;
    let body = whole_body(request, &()).await?;
    let (service, asks) = (Arc::clone(&shared.service), caller.clone());
    // Merging and parsing may take a while, and other requests are waiting.
    let suite = tokio::task::spawn_blocking(move || suite_of(&service, &asks, &body, format))
        .await
        .map_err(|_| ApiError::internal())??;
    let body = Body::from_stream(answer(shared.service, caller, suite).map(Ok::<_, Infallible>));
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response())
}

#[derive(Clone, Copy)]
enum Format {
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

fn check_query(query: &str) -> Result<(), ApiError> {
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=').unwrap_or((pair, "true")) {
            ("async", "false" | "0") => {}
            ("async", _) => {
                return Err(ApiError::meaningless(
                    "async",
                    "suites in the background are not available in this version; leave `async` out and read the answer \
                     as it comes",
                ));
            }
            (name, _) => {
                return Err(ApiError::malformed(
                    Some(name.to_owned()),
                    "unknown parameter; there is only `async`".to_owned(),
                ));
            }
        }
    }
    Ok(())
}

fn suite_of(service: &Service, caller: &Caller, body: &Bytes, format: Format) -> Result<Suite, ApiError> {
    let text = text_of(body)?;
    let SuiteRequest { defaults, items, k } = match format {
        Format::Json => parse(text)?,
        Format::Lines => lines_of(text)?,
    };
    let ks = k.unwrap_or_else(|| vec![1]);
    if ks.len() > MOST_KS || ks.contains(&0) {
        return Err(ApiError::meaningless("k", format!("at most {MOST_KS} numbers, from 1")));
    }
    if items.is_empty() {
        return Err(ApiError::meaningless("items", "there must be at least one"));
    }
    if items.len() > MOST_ITEMS {
        let message = format!("at most {MOST_ITEMS} items in one suite");
        return Err(ApiError::too_large("items", message, items.len(), MOST_ITEMS));
    }
    let defaults = defaults_of(defaults, items.len())?;
    let mut places = HashMap::with_capacity(items.len());
    let mut parsed = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let at = format!("items[{index}]");
        let item = item_of(service, caller, &defaults, item, &at)?;
        if let Some(first) = places.insert(item.id.clone(), index) {
            let message = format!("items[{first}] has this id already: ids tell the answer's lines apart");
            return Err(ApiError::meaningless(format!("{at}.id"), message));
        }
        parsed.push(item);
    }
    Ok(Suite { items: parsed, ks })
}

/// NDJSON: an item a line, before them perhaps a line with `defaults` and `k`.
fn lines_of(text: &str) -> Result<SuiteRequest, ApiError> {
    let mut suite = SuiteRequest { defaults: None, items: Vec::new(), k: None };
    let mut begun = false;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let at = format!("items[{}]", suite.items.len());
        let value: Json = serde_json::from_str(line).map_err(|error| {
            ApiError::malformed(
                Some(at),
                format!("line {} is not JSON: {}", number + 1, error.to_string().replace(" at line 1", "")),
            )
        })?;
        let is_head = !begun
            && value.as_object().is_some_and(|object| {
                !object.is_empty() && object.keys().all(|key| matches!(key.as_str(), "defaults" | "k"))
            });
        begun = true;
        if is_head {
            #[derive(Deserialize)]
            struct Head {
                defaults: Option<Json>,
                k: Option<Vec<u32>>,
            }
            let head: Head = parse_part("", value)?;
            (suite.defaults, suite.k) = (head.defaults, head.k);
        } else {
            suite.items.push(value);
        }
    }
    Ok(suite)
}

fn defaults_of(defaults: Option<Json>, items: usize) -> Result<Map<String, Json>, ApiError> {
    let defaults = match defaults {
        None | Some(Json::Null) => return Ok(Map::new()),
        Some(Json::Object(defaults)) => defaults,
        Some(_) => return Err(ApiError::malformed(Some("defaults".to_owned()), "expected an object")),
    };
    for field in ["id", "task"] {
        if defaults.contains_key(field) {
            return Err(ApiError::malformed(Some(format!("defaults.{field}")), "each item has its own"));
        }
    }
    // What is wrong in the defaults is told of them, and not of the first item.
    parse_part::<ExecuteRequest>("defaults", Json::Object(defaults.clone()))?;
    let copied = Json::Object(defaults.clone()).to_string().len().saturating_mul(items);
    if copied > MOST_COPIED_BYTES {
        let message = format!(
            "copied into {items} items they are {copied} bytes, and at most {MOST_COPIED_BYTES} are possible: send several suites"
        );
        return Err(ApiError::too_large("defaults", message, copied, MOST_COPIED_BYTES));
    }
    Ok(defaults)
}

fn item_of(
    service: &Service,
    caller: &Caller,
    defaults: &Map<String, Json>,
    item: Json,
    at: &str,
) -> Result<SuiteItem, ApiError> {
    let field = |name: &str| Some(format!("{at}.{name}"));
    let Json::Object(mut item) = item else {
        return Err(ApiError::malformed(Some(at.to_owned()), "expected an object"));
    };
    let mut name = |name: &str| match item.remove(name) {
        None => Ok(None),
        Some(Json::String(text)) if !text.is_empty() && text.len() <= LONGEST_NAME => Ok(Some(text)),
        Some(Json::String(_)) => {
            Err(ApiError::meaningless(format!("{at}.{name}"), format!("it must have 1 to {LONGEST_NAME} bytes")))
        }
        Some(_) => Err(ApiError::malformed(field(name), "expected a string")),
    };
    let (id, task) = (name("id")?, name("task")?);
    let id = id.ok_or_else(|| ApiError::malformed(field("id"), "missing field `id`"))?;
    let request = parse_part(at, Json::Object(merged(defaults, item)))?;
    let submission = submission_of(request).map_err(|error| error.under(at))?;
    service.check(caller, &submission).map_err(|error| ApiError::from(error).under(at))?;
    let task = task.or_else(|| submission.labels.get("task").cloned()).unwrap_or_else(|| task_of(&id).to_owned());
    Ok(SuiteItem { id, task, submission })
}

/// `HumanEval/3#7`, the eighth sample of `HumanEval/3`.
fn task_of(id: &str) -> &str {
    id.rsplit_once('#').map(|(task, _)| task).filter(|task| !task.is_empty()).unwrap_or(id)
}

/// The item's fields over the defaults.
fn merged(defaults: &Map<String, Json>, item: Map<String, Json>) -> Map<String, Json> {
    let mut merged = defaults.clone();
    // Either of them is the program: the item's own displaces the default's.
    for (own, other) in [("code", "completion"), ("completion", "code")] {
        if item.contains_key(own) {
            merged.shift_remove(other);
        }
    }
    for (key, value) in item {
        match (merged.get_mut(&key), value) {
            (Some(Json::Object(under)), Json::Object(over)) if matches!(key.as_str(), "limits" | "labels") => {
                under.extend(over);
            }
            (_, value) => {
                merged.insert(key, value);
            }
        }
    }
    merged
}

struct Answering {
    finished: Pin<Box<dyn Stream<Item = Finished> + Send>>,
    samples: Vec<Sample>,
    ks: Vec<u32>,
}

/// The answer's lines; dropping it stops what runs.
fn answer(service: Arc<Service>, caller: Caller, suite: Suite) -> impl Stream<Item = Bytes> + Send + 'static {
    let Suite { items, ks } = suite;
    let samples = Vec::with_capacity(items.len());
    let answering = Answering { finished: Box::pin(service.suite(caller, items)), samples, ks };
    stream::unfold(Some(answering), move |answering| {
        let service = Arc::clone(&service);
        async move {
            let mut answering = answering?;
            match answering.finished.next().await {
                Some(finished) => {
                    let line = line_of(finished, &service);
                    answering.samples.extend(sample_of(&line));
                    Some((bytes_of(&line), Some(answering)))
                }
                None => {
                    let report = report(&answering.samples, &answering.ks);
                    Some((bytes_of(&json!({"report": report})), None))
                }
            }
        }
    })
}

fn bytes_of(line: &impl Serialize) -> Bytes {
    let mut bytes = serde_json::to_vec(line).expect("JSON values have string keys");
    bytes.push(b'\n');
    bytes.into()
}

fn line_of(finished: Finished, service: &Service) -> Json {
    let Finished { id, task, labels, planned, executed } = finished;
    let mut line = Map::from_iter([("id".to_owned(), json!(id)), ("task".to_owned(), json!(task))]);
    match executed {
        Ok(executed) => {
            let answer = json!(answer_of(*executed, service.image(), labels));
            let Json::Object(answer) = answer else { unreachable!("an answer is an object") };
            for (key, value) in answer {
                let key = if key == "id" { "execution_id".to_owned() } else { key };
                line.insert(key, value);
            }
        }
        Err(failed) => {
            let (status, error) = match failed {
                Failed::Refused(error) => ("refused", ApiError::from(error)),
                Failed::Panicked => (Status::InfrastructureError.word(), ApiError::internal()),
            };
            line.insert("status".to_owned(), json!(status));
            line.insert("tests_passed".to_owned(), json!(0));
            line.insert("tests_total".to_owned(), json!(planned));
            line.insert("error".to_owned(), error.to_json());
            line.insert("labels".to_owned(), json!(labels));
        }
    }
    Json::Object(line)
}

/// What a line of a suite's answer says, for the report; none for a line that is no item's.
pub fn sample_of(line: &Json) -> Option<Sample> {
    let text = |field: &str| line[field].as_str();
    let ending = match text("status")? {
        "refused" => Ending::Refused,
        status => Ending::Verdict(Status::parse(status)?),
    };
    let was_run = !matches!(
        ending,
        Ending::Refused | Ending::Verdict(Status::Blocked) | Ending::Verdict(Status::InfrastructureError)
    );
    let labels = line["labels"].as_object().into_iter().flatten();
    Some(Sample {
        id: text("id")?.to_owned(),
        task: text("task")?.to_owned(),
        labels: labels.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect(),
        ending,
        class: text("stderr_class").and_then(FailureClass::parse),
        tests_passed: line["tests_passed"].as_u64().unwrap_or(0),
        tests_total: line["tests_total"].as_u64().unwrap_or(0),
        execution_seconds: line["execution_seconds"].as_f64().filter(|_| was_run),
        fuel_used: line["fuel_used"].as_u64().filter(|_| was_run),
        lint_clean: line["lint"]["clean"].as_bool(),
        flaky: line["flaky"].as_array().is_some_and(|cases| !cases.is_empty()),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn object(value: Json) -> Map<String, Json> {
        let Json::Object(object) = value else { panic!("an object") };
        object
    }

    #[test]
    fn an_item_goes_over_the_defaults_and_limits_and_labels_are_merged() {
        let defaults = json!({"code": "1", "limits": {"fuel": 1, "wall_seconds": 2}, "labels": {"a": "1"},
                              "env": {"A": "1"}});
        let item = json!({"completion": "2", "limits": {"fuel": 3}, "labels": {"b": "2"}, "env": {"B": "2"}});
        assert_eq!(
            Json::Object(merged(&object(defaults), object(item))),
            json!({"completion": "2", "limits": {"fuel": 3, "wall_seconds": 2}, "labels": {"a": "1", "b": "2"},
                   "env": {"B": "2"}})
        );
    }

    #[test]
    fn the_task_is_the_id_before_its_last_number_sign() {
        let tasks = ["HumanEval/3#7", "HumanEval/3", "a#b#0", "#1"].map(task_of);
        assert_eq!(tasks, ["HumanEval/3", "HumanEval/3", "a#b", "#1"]);
    }

    #[test]
    fn a_line_says_what_the_report_needs() {
        let line = json!({"id": "a#0", "task": "a", "status": "failed", "stderr_class": "timeout", "tests_passed": 1,
            "tests_total": 3, "execution_seconds": 0.5, "fuel_used": 7, "lint": {"clean": false}, "labels": {"m": "x"},
            "flaky": ["case"]});
        let expected = Sample {
            id: "a#0".to_owned(),
            task: "a".to_owned(),
            labels: BTreeMap::from([("m".to_owned(), "x".to_owned())]),
            ending: Ending::Verdict(Status::Failed),
            class: Some(FailureClass::Timeout),
            tests_passed: 1,
            tests_total: 3,
            execution_seconds: Some(0.5),
            fuel_used: Some(7),
            lint_clean: Some(false),
            flaky: true,
        };
        assert_eq!(sample_of(&line), Some(expected));
        assert_eq!(sample_of(&json!({"report": {}})), None);
    }
}
