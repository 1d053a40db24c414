//! API flavour of SandboxFusion, as trainers of models call it: docs/how-to/reward-with-sandbox-fusion.md.
//!
//! - `run_code`: a program with its input;
//! - `jupyter`: cells of a notebook, in a session that ends with the request;
//! - `judge`: rows of data sets that come with the request: their prompts, and verdicts on answers to them;
//! - `rows`: what is read of the rows;
//! - `error`: errors, and their status codes.

mod error;
mod judge;
mod jupyter;
mod rows;
mod run_code;

use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::AppState;
use super::body::WholeBody;
use super::extract::Object;
use super::programs::{digest, identify};
use crate::service::RequestDigest;
use error::FusionError;

/// Longest time that a request waits whose client does not say how long it waits itself.
const MAX_WAIT: Duration = Duration::from_secs(600);

/// Builds the routes of this API flavour.
pub fn routes(shared: &AppState) -> Router<AppState> {
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
        .route_layer(from_fn_with_state(shared.clone(), admit))
}

/// Lets requests in: those of callers who may, while the service is up.
async fn admit(State(shared): State<AppState>, mut request: Request, next: Next) -> Response {
    if shared.draining.has_begun() {
        return FusionError::Late("the service is going down; send it again".to_owned()).into_response();
    }
    match identify(&shared, &mut request) {
        Ok(()) => next.run(request).await,
        Err(denied) => FusionError::from(denied).into_response(),
    }
}

async fn ping() -> &'static str {
    "pong"
}

/// A request that was read.
struct Asked<T> {
    body: T,
    digest: RequestDigest,
    /// Arrival of the request.
    arrived: Instant,
}

/// Reads a JSON body; unknown fields are ignored, as SandboxFusion does.
async fn read<T: DeserializeOwned + Send + 'static>(request: Request) -> Result<Asked<T>, FusionError> {
    let arrived = Instant::now();
    let path = request.uri().path().to_owned();
    let body = WholeBody::read(request).await?;
    body.parse(move |bytes| {
        let Object(body) = serde_json::from_slice(bytes).map_err(|error| FusionError::Invalid(error.to_string()))?;
        Ok(Asked { body, digest: digest(&path, bytes), arrived })
    })
    .await
}
