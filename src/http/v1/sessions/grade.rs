//! `POST /v1/sessions/{id}/grade`: a verdict on what a session has made.

use axum::Extension;
use axum::extract::{Path, Request, State};
use axum::response::Response;

use super::super::answer::{Answer, ErrorBody, answer_of, size_of};
use super::super::request::{GradeAsked, GradeRequest, grade_of};
use super::own_session;
use crate::http::AppState;
use crate::http::auth::AdmissionCheck;
use crate::http::body::BodyReader;
use crate::http::error::ApiError;
use crate::http::extract::{read_json, write_json};
use proofbox_types::caller::Caller;

/// Grades a file of the session, beside copies of the session's other files, in fresh interpreters. The session is left
/// as it is.
#[utoipa::path(post, path = "/v1/sessions/{id}/grade", request_body = GradeRequest, responses(
    (status = 200, description = "The service did its work, whatever the verdict", body = Answer),
    (status = 400, description = "Malformed, or a limit outside the policy's range", body = ErrorBody),
    (status = 403, description = "The policy is for certain keys, or lets a file not in", body = ErrorBody),
    (status = 404, description = "There is none of this name", body = ErrorBody),
    (status = 409, description = "It is paused", body = ErrorBody),
    (status = 413, description = "Too large, or too many JSON values", body = ErrorBody),
    (status = 415, description = "Not JSON", body = ErrorBody),
    (status = 422, description = "Well formed, but meaningless: there is no such file", body = ErrorBody),
    (status = 429, description = "Busy: try again after Retry-After seconds", body = ErrorBody),
    (status = 503, description = "Going down, or no memory for the body now", body = ErrorBody),
))]
pub(crate) async fn grade(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    _admission: AdmissionCheck,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let id = own_session(&shared, &caller, &id)?;
    let reader = BodyReader::of(request.extensions())?;
    let GradeAsked { path, submission } = read_json(request, grade_of).await?;
    let labels = submission.labels.clone();
    let execution = shared.service.sessions.grade(&caller, id, &path, submission).await?;
    shared.service.stats.note(&caller, &execution, &labels);
    write_json(&reader, size_of(&execution), move || answer_of(execution, labels)).await
}
