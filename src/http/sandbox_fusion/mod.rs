//! API flavour of SandboxFusion, as trainers of models call it: docs/how-to/reward-with-sandbox-fusion.md.
//!
//! - `run_code`: a program with its input;
//! - `jupyter`: cells of a notebook, in a session that ends with the request;
//! - `judge`: rows of data sets that come with the request: their prompts, and verdicts on answers to them;
//! - `rows`: what is read of the rows.

mod judge;
mod jupyter;
mod rows;
mod run_code;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

use super::AppState;
use super::programs::{DetailError, admit};

/// Builds the routes of this API flavour.
pub(super) fn routes(shared: &AppState) -> Router<AppState> {
    Router::new()
        .route("/run_code", post(run_code::run_code))
        .route("/run_jupyter", post(jupyter::run_jupyter))
        .route("/list_datasets", get(judge::list_datasets))
        .route("/list_ids", post(judge::list_ids))
        .route("/get_prompts", post(judge::get_prompts))
        .route("/get_prompt_by_id", post(judge::get_prompt_by_id))
        .route("/submit", post(judge::submit))
        .route("/get_metrics", post(judge::get_metrics))
        .route("/get_metrics_function", post(judge::get_metrics_function))
        .route("/v1/ping", get(ping))
        .route_layer(from_fn_with_state(shared.clone(), admit::<DetailError>))
}

async fn ping() -> &'static str {
    "pong"
}
