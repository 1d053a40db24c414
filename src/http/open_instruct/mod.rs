//! API flavour of open-instruct's service for code rewards, as its verifiers `code` and `code_stdio` call it:
//! docs/how-to/reward-with-trainers.md.
//!
//! - `test_program`: verdicts on a program, test by test;
//! - `test_list`: the tests of a request, in the forms that data sets have;
//! - `pickle`: data in Python's pickle format, one of those forms.

mod pickle;
mod test_list;
mod test_program;

use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::AppState;
use super::programs::{DetailError, admit};

/// Builds the routes of this API flavour.
pub(super) fn routes(shared: &AppState) -> Router<AppState> {
    Router::new()
        .route("/test_program", post(test_program::test_program))
        .route("/test_program_stdio", post(test_program::test_program_stdio))
        .route_layer(from_fn_with_state(shared.clone(), admit::<DetailError>))
        .route("/health", get(health))
}

/// Returns whether a pickle has data alone.
pub(super) fn is_data(pickled: &[u8]) -> bool {
    pickle::read(pickled).is_ok()
}

async fn health() -> Json<Value> {
    Json(json!({"status": "healthy"}))
}
