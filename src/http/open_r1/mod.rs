//! API flavour of open-r1's routers, as its clients for E2B and for MorphCloud call them:
//! docs/how-to/reward-with-trainers.md.
//!
//! - `execute_batch`: a batch of scripts, each a cell in a session of its own;
//! - `error`: errors, and their status codes.

mod error;
mod execute_batch;

use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::AppState;
use super::programs::identify;
use error::OpenR1Error;

/// Builds the routes of this API flavour.
pub fn routes(shared: &AppState) -> Router<AppState> {
    Router::new()
        .route("/execute_batch", post(execute_batch::execute_batch))
        .route_layer(from_fn_with_state(shared.clone(), admit))
        .route("/health", get(health))
}

/// Lets requests in: those of callers who may, while the service is up.
async fn admit(State(shared): State<AppState>, mut request: Request, next: Next) -> Response {
    match identify(&shared, &mut request) {
        Ok(()) => next.run(request).await,
        Err(failure) => OpenR1Error::from(failure).into_response(),
    }
}

async fn health() -> Json<Value> {
    Json(json!({"status": "ok"}))
}
