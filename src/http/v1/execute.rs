//! `POST /v1/execute`

use axum::Json;
use axum::extract::State;

use super::answer::{Answer, ErrorBody, answer_of};
use super::request::{ExecuteRequest, submission_of};
use crate::http::Shared;
use crate::http::error::ApiError;
use crate::http::extract::JsonBody;

/// Run a snippet, and grade it when there are tests.
#[utoipa::path(
    post,
    path = "/v1/execute",
    request_body = ExecuteRequest,
    responses(
        (status = 200, description = "The service did its work, whatever the snippet did", body = Answer),
        (status = 400, description = "Malformed, or a limit outside the policy's range", body = ErrorBody),
        (status = 413, description = "Too large", body = ErrorBody),
        (status = 415, description = "Not JSON", body = ErrorBody),
        (status = 422, description = "Well formed, but meaningless", body = ErrorBody),
        (status = 429, description = "Busy: try again after Retry-After seconds", body = ErrorBody),
        (status = 503, description = "Going down", body = ErrorBody),
    )
)]
pub async fn execute(
    State(shared): State<Shared>,
    JsonBody(request): JsonBody<ExecuteRequest>,
) -> Result<Json<Answer>, ApiError> {
    let submission = submission_of(request)?;
    let labels = submission.labels.clone();
    let executed = shared.service.submit(submission).await?;
    Ok(Json(answer_of(executed, shared.service.image(), labels)))
}
