//! Resource usage of sandboxes.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::Uri;
use axum::{Extension, Json};
use futures_util::{StreamExt, stream};
use serde_json::{Map, Value, json};

use super::super::body::parameter;
use super::super::error::E2bError;
use super::super::{E2b, time};
use crate::service::{SessionInfo, SessionState};
use proofbox_types::caller::Caller;

/// Sandboxes in one question.
const MAX_COUNT: usize = 100;
/// Sandboxes that are measured at once.
const MEASURED_AT_ONCE: usize = 8;

/// Measures a sandbox: the share of the processor is that since the last measurement, or since the sandbox began.
async fn metric(e2b: &E2b, info: &SessionInfo) -> Value {
    let now = jiff::Timestamp::now();
    let cpu = e2b.shared.service.sessions.cpu_time(info.id).await.unwrap_or_default();
    let age = Duration::try_from(now.duration_since(info.spec.created)).unwrap_or_default();
    json!({
        "timestamp": time(now),
        "timestampUnix": now.as_second(),
        "cpuCount": 1,
        "cpuUsedPct": (e2b.state.cpu_share(info.id, cpu, age) * 10_000.0).round() / 100.0,
        "memUsed": info.footprint.memory_bytes,
        "memTotal": info.spec.grant.limits().memory_bytes,
        "memCache": 0,
        "diskUsed": info.footprint.files_bytes,
        "diskTotal": info.spec.grant.limits().files_bytes,
    })
}

/// Returns the current usage of a sandbox; past usage is not stored.
pub(crate) async fn of_one(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Json<Vec<Value>>, E2bError> {
    let info = e2b.shared.service.sessions.measure(e2b.own(&caller, &id)?).await?;
    let now = jiff::Timestamp::now().as_second();
    let seconds = |name| parameter(&uri, name).and_then(|text| text.parse::<i64>().ok());
    let is_asked_for = seconds("start").is_none_or(|start| start <= now) && seconds("end").is_none_or(|end| end >= now);
    let is_alive = info.state != SessionState::Paused;
    Ok(Json(if is_asked_for && is_alive { vec![metric(&e2b, &info).await] } else { Vec::new() }))
}

/// Returns the current usage of several sandboxes, without those that do not exist.
pub(crate) async fn of_many(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
) -> Result<Json<Value>, E2bError> {
    let ids = parameter(&uri, "sandbox_ids").unwrap_or_default();
    let found: Vec<_> = ids.split(',').take(MAX_COUNT).filter_map(|id| e2b.own(&caller, id).ok()).collect();
    let measured = stream::iter(found).map(|id| {
        let e2b = &e2b;
        async move {
            let info = e2b.shared.service.sessions.measure(id).await.ok()?;
            Some((info.id.simple(), metric(e2b, &info).await))
        }
    });
    let measured: Vec<_> = measured.buffer_unordered(MEASURED_AT_ONCE).collect().await;
    let sandboxes: Map<String, Value> = measured.into_iter().flatten().collect();
    Ok(Json(json!({"sandboxes": sandboxes})))
}
