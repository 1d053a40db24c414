//! API flavour of promptfoo's assertion `webhook`: docs/reference/promptfoo.md. One route, which grades an
//! output as `POST /v1/execute` would.
//!
//! - `request`: promptfoo's request, as one of `/v1/execute`;
//! - `answer`: the verdict, as promptfoo reads it.

mod answer;
mod request;

use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Json, Router};

use super::AppState;
use super::auth::AdmissionCheck;
use super::error::ApiError;
use super::extract::read_json;
use super::programs::move_key_of_url;
use answer::GradingResult;
use proofbox_types::caller::{Caller, Urgency};
use request::{Defaults, submission_of};

/// Builds the route of this API flavour.
pub(super) fn routes(shared: &AppState) -> Router<AppState> {
    Router::new()
        .route("/v1/promptfoo/webhook", post(webhook))
        .route_layer(from_fn_with_state(shared.clone(), authenticate))
}

/// Authenticates a request. Its key may be the password of the URL: promptfoo's assertion has no headers.
async fn authenticate(State(shared): State<AppState>, mut request: Request, next: Next) -> Response {
    move_key_of_url(request.headers_mut());
    match shared.caller(request.headers()) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(denied) => ApiError::from(denied).into_response(),
    }
}

/// Grades an output by the tests of its row. What the output does wrong is a result; everything else is an error.
async fn webhook(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    _admission: AdmissionCheck,
    request: Request,
) -> Result<Json<GradingResult>, ApiError> {
    let defaults = Defaults::of(request.uri())?;
    let submission = read_json(request, move |asked| submission_of(asked, defaults)).await?;
    let labels = submission.labels.clone();
    let execution = shared.service.executor.submit(&caller, Urgency::Interactive, submission).await?;
    shared.service.stats.note(&caller, &execution, &labels);
    Ok(Json(GradingResult::of(execution)?))
}
