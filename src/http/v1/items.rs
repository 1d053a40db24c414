//! Items of suites and jobs: parsing, and the lines of their answers.

use serde_json::{Map, Value as Json, json};

use super::answer::answer_of;
use super::request::{ExecuteRequest, submission_of};
use crate::http::body::BodyError;
use crate::http::error::ApiError;
use crate::http::extract::parse_part;
use crate::service::{Executor, Failed, Finished, SuiteItem};
use proofbox_grading::report::{Ending, Sample};
use proofbox_memory::{JsonCost, MAX_VALUES, count_values};
use proofbox_types::caller::Caller;
use proofbox_types::status::{FailureClass, Status};

/// Maximum size of all copies of the defaults, in bytes: they are copied into every item.
const MAX_COPIED_BYTES: usize = 256 << 20;
const MAX_COPIED_VALUES: usize = 2 * MAX_VALUES;
/// Longest id and task, in bytes: they stand in every line and in the report.
const MAX_NAME: usize = 512;

/// Returns the fields that every item has unless it says otherwise, and the cost of all their copies.
pub(super) fn defaults_of(
    defaults: Option<Json>,
    items: usize,
) -> Result<(Map<String, Json>, Option<JsonCost>), ApiError> {
    let defaults = match defaults {
        None | Some(Json::Null) => return Ok((Map::new(), None)),
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
    let text = Json::Object(defaults.clone()).to_string();
    let copied = text.len().saturating_mul(items);
    if copied > MAX_COPIED_BYTES {
        let message = format!(
            "copied into {items} items they are {copied} bytes, and at most {MAX_COPIED_BYTES} are possible: send several suites"
        );
        return Err(ApiError::too_large("defaults", message, copied, MAX_COPIED_BYTES));
    }
    let values = count_values(text.as_bytes()).map_err(BodyError::from)?.saturating_mul(items);
    if values > MAX_COPIED_VALUES {
        let message = format!(
            "copied into {items} items they are {values} JSON values, and at most {MAX_COPIED_VALUES} are possible: send several suites"
        );
        return Err(ApiError::too_large("defaults", message, values, MAX_COPIED_VALUES));
    }
    Ok((defaults, Some(JsonCost::new(copied, values))))
}

/// Parses an item and checks that it may be run; `at` is its place in the request.
pub(super) fn item_of(
    executor: &Executor,
    caller: &Caller,
    defaults: &Map<String, Json>,
    item: Json,
    at: &str,
) -> Result<SuiteItem, ApiError> {
    let item = parsed_item(defaults, item, at)?;
    let under = |error: ApiError| if at.is_empty() { error } else { error.under(at) };
    executor.check(caller, &item.submission).map_err(|error| under(error.into()))?;
    Ok(item)
}

/// Parses an item without checking that it may be run.
pub(super) fn parsed_item(defaults: &Map<String, Json>, item: Json, at: &str) -> Result<SuiteItem, ApiError> {
    let field = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    let under = |error: ApiError| if at.is_empty() { error } else { error.under(at) };
    let Json::Object(mut item) = item else {
        return Err(ApiError::malformed(Some(at.to_owned()).filter(|at| !at.is_empty()), "expected an object"));
    };
    let mut name = |name: &str| match item.remove(name) {
        None => Ok(None),
        Some(Json::String(text)) if !text.is_empty() && text.len() <= MAX_NAME => Ok(Some(text)),
        Some(Json::String(_)) => Err(ApiError::meaningless(field(name), format!("it must have 1 to {MAX_NAME} bytes"))),
        Some(_) => Err(ApiError::malformed(Some(field(name)), "expected a string")),
    };
    let (id, task) = (name("id")?, name("task")?);
    let id = id.ok_or_else(|| ApiError::malformed(Some(field("id")), "missing field `id`"))?;
    let request = parse_part(at, Json::Object(merged(defaults, item)))?;
    let submission = submission_of(request).map_err(under)?;
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

/// Renders the line of an item that is done.
pub(super) fn line_of(finished: Finished) -> Json {
    let Finished { id, task, labels, planned, execution } = finished;
    let mut line = Map::from_iter([("id".to_owned(), json!(id)), ("task".to_owned(), json!(task))]);
    match execution {
        Ok(execution) => {
            let answer = json!(answer_of(*execution, labels));
            let Json::Object(answer) = answer else { unreachable!("an answer is an object") };
            for (key, value) in answer {
                let key = if key == "id" { "execution_id".to_owned() } else { key };
                line.insert(key, value);
            }
        }
        Err(failed) => {
            let (status, error) = match failed {
                Failed::Refused(error) => ("refused", ApiError::from(error)),
                Failed::Panicked => (Status::InfrastructureError.as_str(), ApiError::internal()),
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

/// Reads a line of a suite's answer for the report; none for a line that is not an item's.
pub fn sample_of(line: &Json) -> Option<Sample> {
    let text = |field: &str| line[field].as_str();
    let ending = match text("status")? {
        "refused" => Ending::Refused,
        status => Ending::Verdict(Status::parse(status)?),
    };
    let class = text("stderr_class").and_then(FailureClass::parse);
    let was_run = !matches!(ending, Ending::Refused | Ending::Verdict(Status::Blocked | Status::InfrastructureError))
        && !matches!(class, Some(FailureClass::NoCode | FailureClass::OtherLanguage));
    let labels = line["labels"].as_object().into_iter().flatten();
    Some(Sample {
        id: text("id")?.to_owned(),
        task: text("task")?.to_owned(),
        labels: labels.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect(),
        ending,
        class,
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
