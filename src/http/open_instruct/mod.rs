//! API flavour of open-instruct's service for code rewards, as its verifiers `code` and `code_stdio` call it:
//! docs/how-to/reward-with-trainers.md.
//!
//! - `test_program`: verdicts on a program, test by test;
//! - `test_list`: the tests of a request, in the forms that data sets have;
//! - `pickle`: data in Python's pickle format, one of those forms;
//! - `error`: errors, and their status codes.

mod error;
mod pickle;
mod test_list;
mod test_program;

use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::AppState;
use super::programs::identify;
use error::OpenInstructError;

/// Builds the routes of this API flavour.
pub fn routes(shared: &AppState) -> Router<AppState> {
    Router::new()
        .route("/test_program", post(test_program::test_program))
        .route("/test_program_stdio", post(test_program::test_program_stdio))
        .route_layer(from_fn_with_state(shared.clone(), admit))
        .route("/health", get(health))
}

/// Returns whether a pickle has data alone.
pub(super) fn is_data(pickled: &[u8]) -> bool {
    pickle::read(pickled).is_ok()
}

/// Lets requests in: those of callers who may, while the service is up.
async fn admit(State(shared): State<AppState>, mut request: Request, next: Next) -> Response {
    match identify(&shared, &mut request) {
        Ok(()) => next.run(request).await,
        Err(failure) => OpenInstructError::from(failure).into_response(),
    }
}

async fn health() -> Json<Value> {
    Json(json!({"status": "healthy"}))
}
