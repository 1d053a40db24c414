//! API flavour of open-r1's routers, as its clients for E2B and for MorphCloud call them:
//! docs/how-to/reward-with-trainers.md.
//!
//! - `execute_batch`: a batch of scripts, each a cell in a session of its own.

mod execute_batch;

use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::AppState;
use super::programs::{DetailError, admit};

/// Builds the routes of this API flavour.
pub(super) fn routes(shared: &AppState) -> Router<AppState> {
    Router::new()
        .route("/execute_batch", post(execute_batch::execute_batch))
        .route_layer(from_fn_with_state(shared.clone(), admit::<DetailError>))
        .route("/health", get(health))
}

async fn health() -> Json<Value> {
    Json(json!({"status": "ok"}))
}
