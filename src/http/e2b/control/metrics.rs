//! Resource usage of sandboxes.

use axum::extract::{Path, State};
use axum::http::Uri;
use axum::{Extension, Json};
use serde_json::{Map, Value, json};

use super::super::body::parameter;
use super::super::error::E2bError;
use super::super::{E2b, time};
use crate::service::{SessionInfo, SessionState};
use proofbox_types::caller::Caller;

/// Sandboxes in one question.
const MAX_COUNT: usize = 100;

fn metric(info: &SessionInfo) -> Value {
    let now = jiff::Timestamp::now();
    json!({
        "timestamp": time(now),
        "timestampUnix": now.as_second(),
        "cpuCount": 1,
        // An interpreter has one thread: it works, or it does not.
        "cpuUsedPct": if info.state == SessionState::Busy { 100.0 } else { 0.0 },
        "memUsed": info.footprint.memory_bytes,
        "memTotal": info.spec.grant.limits().memory_bytes,
        "memCache": 0,
        "diskUsed": info.footprint.files_bytes,
        "diskTotal": info.spec.grant.limits().files_bytes,
    })
}

/// Returns the current usage of a sandbox; past usage is not stored.
pub async fn of_one(
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
    Ok(Json(if is_asked_for && is_alive { vec![metric(&info)] } else { Vec::new() }))
}

/// Returns the current usage of several sandboxes, without those that do not exist.
pub async fn of_many(
    State(e2b): State<E2b>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
) -> Result<Json<Value>, E2bError> {
    let ids = parameter(&uri, "sandbox_ids").unwrap_or_default();
    let found = ids.split(',').take(MAX_COUNT).filter_map(|id| e2b.own(&caller, id).ok());
    let found = found.filter_map(|id| e2b.shared.service.sessions.info(id).ok());
    let sandboxes: Map<String, Value> = found.map(|info| (info.id.simple(), metric(&info))).collect();
    Ok(Json(json!({"sandboxes": sandboxes})))
}
