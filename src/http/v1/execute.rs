//! `POST /v1/execute`: execution of one snippet.

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;

use super::answer::{Answer, ErrorBody, answer_of, size_of};
use super::request::{ExecuteRequest, submission_of};
use crate::http::AppState;
use crate::http::auth::AdmissionCheck;
use crate::http::body::BodyReader;
use crate::http::error::ApiError;
use crate::http::extract::{read_json, write_json};
use proofbox_types::caller::{Caller, Urgency};

/// Runs a snippet, and grades it when there are tests.
#[utoipa::path(
    post,
    path = "/v1/execute",
    request_body = ExecuteRequest,
    responses(
        (status = 200, description = "The service did its work, whatever the snippet did", body = Answer),
        (status = 400, description = "Malformed, or a limit outside the policy's range", body = ErrorBody),
        (status = 401, description = "No key in force", body = ErrorBody),
        (status = 403, description = "The policy is for certain keys, or lets a file not in or out", body = ErrorBody),
        (status = 413, description = "Too large, or too many JSON values", body = ErrorBody),
        (status = 415, description = "Not JSON", body = ErrorBody),
        (status = 422, description = "Well formed, but meaningless", body = ErrorBody),
        (status = 429, description = "Busy: try again after Retry-After seconds", body = ErrorBody),
        (status = 503, description = "Going down, or no memory for the body now", body = ErrorBody),
    )
)]
pub(crate) async fn execute(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    _admission: AdmissionCheck,
    request: Request,
) -> Result<Response, ApiError> {
    let reader = BodyReader::of(request.extensions())?;
    let submission = read_json(request, submission_of).await?;
    let labels = submission.labels.clone();
    let execution = shared.service.executor.submit(&caller, Urgency::Interactive, submission).await?;
    shared.service.stats.note(&caller, &execution, &labels);
    write_json(&reader, size_of(&execution), move || answer_of(execution, labels)).await
}
