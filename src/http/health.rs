//! Operation: health, readiness, metrics, the contract.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::{Value, json};

use super::AppState;
use super::connections::Peer;
use super::error::ApiError;

/// Answers while the process is alive.
pub(super) async fn healthz() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// Answers 200 if a snippet ran within the last second.
pub(super) async fn readyz(State(shared): State<AppState>) -> Result<Json<Value>, ApiError> {
    if shared.draining.has_begun() {
        return Err(ApiError::draining());
    }
    match shared.service.readiness.check().await {
        Ok(()) => Ok(Json(json!({"status": "ready"}))),
        Err(reason) => {
            tracing::warn!(%reason, "not ready");
            Err(ApiError::not_ready())
        }
    }
}

/// Serves metrics in Prometheus' text format 0.0.4.
pub(super) async fn metrics(
    State(shared): State<AppState>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    shared.admit_to_metrics(peer.map(|Extension(peer)| peer), &headers)?;
    let text = shared.service.measured().await.render();
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}

/// Serves the contract as OpenAPI 3.1.
pub(super) async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], super::openapi()).into_response()
}
