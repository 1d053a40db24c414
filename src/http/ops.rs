//! Operation: health, readiness, metrics, the contract.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Shared;
use super::error::ApiError;

/// The process answers.
pub async fn healthz() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// A snippet runs.
pub async fn readyz(State(shared): State<Shared>) -> Result<Json<Value>, ApiError> {
    if shared.draining.has_begun() {
        return Err(ApiError::draining());
    }
    match shared.service.self_test().await {
        Ok(()) => Ok(Json(json!({"status": "ready"}))),
        Err(reason) => {
            tracing::warn!(%reason, "not ready");
            Err(ApiError::not_ready())
        }
    }
}

/// Prometheus, text format 0.0.4.
pub async fn metrics(State(shared): State<Shared>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], shared.service.measured().await.render())
        .into_response()
}

/// OpenAPI 3.1, made from the types.
pub async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], super::openapi()).into_response()
}
