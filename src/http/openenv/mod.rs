//! API flavour of OpenEnv's coding environment, as its clients call it: docs/how-to/reward-with-trainers.md.
//!
//! - `environment`: an environment, and the messages of its client.

mod environment;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};

use super::AppState;
use super::programs::identify;

/// Builds the routes of this API flavour.
pub(super) fn routes(shared: &AppState) -> Router<AppState> {
    Router::new()
        .route("/ws", get(environment::connect))
        .route_layer(from_fn_with_state(shared.clone(), admit))
        .route("/health", get(health))
}

/// Lets requests in: those of callers who may, while the service is up.
async fn admit(State(shared): State<AppState>, mut request: Request, next: Next) -> Response {
    let Err(failure) = identify(&shared, &mut request) else { return next.run(request).await };
    let status = failure.status(StatusCode::BAD_REQUEST, StatusCode::SERVICE_UNAVAILABLE);
    let mut response = (status, Json(json!({"detail": failure.message()}))).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(1));
    }
    response
}

async fn health() -> Json<Value> {
    Json(json!({"status": "healthy"}))
}
