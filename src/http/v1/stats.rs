//! `GET /v1/stats`: statistics of submissions.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::Uri;
use axum::{Extension, Json};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::answer::ErrorBody;
use crate::http::AppState;
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::service::{StatsAsked, StatsGroup};
use proofbox_types::caller::Caller;
use proofbox_types::histogram::{Histogram, OUTCOMES};

/// Time that the answer covers where the client gives none, in minutes.
const WINDOW: i64 = 7 * 24 * 60;
/// Labels by which one answer is grouped.
const MAX_LABELS: usize = 8;
/// Groups of one answer.
const MAX_GROUPS: usize = 10_000;

/// Statistics of submissions, by label and time.
#[derive(Serialize, ToSchema)]
pub(crate) struct StatsAnswer {
    /// First minute of the statistics.
    #[schema(format = DateTime)]
    since: String,
    /// End of the last minute of the statistics.
    #[schema(format = DateTime)]
    until: String,
    /// `minute`, `hour` or `day`, where the answer is a series.
    interval: Option<String>,
    /// Groups, sorted by time, then by label.
    groups: Vec<StatsGroupAnswer>,
    /// Submissions with a label that has too many values to be counted apart: such values are `(other)`.
    with_other_labels: u64,
}

/// The submissions of one group.
#[derive(Serialize, ToSchema)]
struct StatsGroupAnswer {
    /// Start of the group's interval, where the answer is a series.
    #[schema(format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<String>,
    /// Label -> value, of those by which it is grouped; null where a submission has no such label.
    labels: BTreeMap<String, Option<String>>,
    submissions: u64,
    /// passed and failed, and of the blocked those with tests.
    graded: u64,
    passed: u64,
    /// passed of graded; null when nothing was graded.
    pass_rate: Option<f64>,
    by_status: BTreeMap<&'static str, u64>,
    /// Number of submissions by `stderr_class`.
    by_class: BTreeMap<String, u64>,
    tests_passed: u64,
    tests_total: u64,
    tests_pass_rate: Option<f64>,
    /// Fuel of the submissions that were run.
    fuel_used: Option<Distribution>,
    execution_seconds: Option<Distribution>,
    queue_seconds: Option<Distribution>,
}

/// A distribution: percentiles are right to one part in eight, the others exact.
#[derive(Serialize, ToSchema)]
struct Distribution {
    mean: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
    total: f64,
}

/// Returns statistics of the caller's submissions: pass rate, classes, fuel and durations.
#[utoipa::path(get, path = "/v1/stats", params(
    ("since" = Option<String>, Query, description = "From this minute on, RFC 3339 [default: 7 days before `until`]"),
    ("until" = Option<String>, Query, description = "Up to this minute, RFC 3339 [default: now]"),
    ("group_by" = Option<String>, Query, description = "Labels, with commas between them"),
    ("interval" = Option<String>, Query, description = "`minute`, `hour` or `day`: a series"),
    ("label.NAME" = Option<String>, Query, description = "Only submissions whose label NAME has this value"),
), responses(
    (status = 200, body = StatsAnswer),
    (status = 400, description = "Malformed", body = ErrorBody),
    (status = 422, description = "Well formed, but meaningless, or more than 10000 groups", body = ErrorBody),
    (status = 503, description = "Going down, or there is no store", body = ErrorBody),
))]
pub(crate) async fn stats(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
) -> Result<Json<StatsAnswer>, ApiError> {
    let query = Query::of(&uri, &["since", "until", "group_by", "interval", "label."])?;
    let until = minute(&query, "until")?.unwrap_or_else(|| Timestamp::now().as_second().div_euclid(60));
    let since = minute(&query, "since")?.unwrap_or(until - WINDOW);
    if since > until {
        return Err(ApiError::meaningless("since", "it must not lie after `until`"));
    }
    let interval = query.text("interval");
    let step = match interval {
        None => None,
        Some("minute") => Some(1),
        Some("hour") => Some(60),
        Some("day") => Some(24 * 60),
        Some(_) => return Err(ApiError::meaningless("interval", "it must be minute, hour or day")),
    };
    let names = query.text("group_by").unwrap_or("");
    let mut group_by: Vec<String> = names.split(',').map(str::trim).map(str::to_owned).collect();
    group_by.retain(|name| !name.is_empty());
    if group_by.len() > MAX_LABELS {
        return Err(ApiError::meaningless("group_by", format!("at most {MAX_LABELS} labels")));
    }
    let labels = query.under("label.").map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let asked = StatsAsked { since, until, step, group_by: group_by.clone(), labels, most_groups: MAX_GROUPS };
    let found = shared.service.stats.query(&caller, asked).await?;
    Ok(Json(StatsAnswer {
        since: time(since),
        until: time(until + 1),
        interval: interval.map(str::to_owned),
        with_other_labels: found.with_other_labels,
        groups: found.groups.into_iter().map(|group| group_answer(group, &group_by, step)).collect(),
    }))
}

fn minute(query: &Query<'_>, name: &str) -> Result<Option<i64>, ApiError> {
    let Some(text) = query.text(name) else { return Ok(None) };
    let time: Timestamp = text
        .parse()
        .map_err(|error| ApiError::malformed(Some(name.to_owned()), format!("not an RFC 3339 time: {error}")))?;
    Ok(Some(time.as_second().div_euclid(60)))
}

fn time(minute: i64) -> String {
    let time = Timestamp::from_second(minute.saturating_mul(60)).unwrap_or(Timestamp::MAX);
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn group_answer(group: StatsGroup, group_by: &[String], step: Option<i64>) -> StatsGroupAnswer {
    let StatsGroup { start, values, figures } = group;
    let rate = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    let passed = figures.outcomes[0];
    let by_status = OUTCOMES.into_iter().zip(figures.outcomes).filter(|(_, count)| *count > 0);
    StatsGroupAnswer {
        start: step.map(|_| time(start)),
        labels: group_by.iter().cloned().zip(values).collect(),
        submissions: figures.runs(),
        graded: figures.graded,
        passed,
        pass_rate: rate(passed, figures.graded),
        by_status: by_status.collect(),
        tests_passed: figures.tests_passed,
        tests_total: figures.tests_total,
        tests_pass_rate: rate(figures.tests_passed, figures.tests_total),
        fuel_used: distribution(&figures.fuel, 1.0),
        execution_seconds: distribution(&figures.execution, 1e-6),
        queue_seconds: distribution(&figures.queue, 1e-6),
        by_class: figures.classes,
    }
}

fn distribution(histogram: &Histogram, unit: f64) -> Option<Distribution> {
    let percentile = |percent| histogram.percentile(percent).map(|value| value * unit);
    Some(Distribution {
        mean: histogram.mean()? * unit,
        p50: percentile(50)?,
        p90: percentile(90)?,
        p99: percentile(99)?,
        max: histogram.largest() as f64 * unit,
        total: histogram.sum() as f64 * unit,
    })
}
