//! `POST /v1/sessions/{id}/grade`: a verdict on what a session has made.

use axum::extract::{Path, Request, State};
use axum::{Extension, Json};

use super::super::answer::{Answer, ErrorBody, answer_of};
use super::super::request::{GradeAsked, GradeRequest, grade_of};
use super::own_session;
use crate::http::AppState;
use crate::http::auth::AdmissionCheck;
use crate::http::error::ApiError;
use crate::http::extract::read_json;
use proofbox_types::caller::{Caller, Urgency};
use proofbox_types::session::{FileAnswer, FileAsk};

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
pub async fn grade(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    _admission: AdmissionCheck,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<Answer>, ApiError> {
    let id = own_session(&shared, &caller, &id)?;
    let GradeAsked { path, mut submission } = read_json(request, grade_of).await?;
    let info = shared.service.session_info(id)?;
    let ask = FileAsk::Collect { patterns: vec!["**".to_owned()], most_bytes: info.limits.files_bytes };
    let FileAnswer::Files(mut files) = shared.service.session_files(id, ask).await? else {
        return Err(ApiError::internal());
    };
    files.retain(|file| !file.path.starts_with('/'));
    let Some(file) = files.iter().find(|file| file.path == path) else {
        return Err(ApiError::meaningless("path", format!("the session has no file `{path}` in /home/user")));
    };
    submission.program.code = String::from_utf8(file.content.clone())
        .map_err(|_| ApiError::meaningless("path", format!("`{path}` is not UTF-8")))?;
    submission.program.files = files;
    submission.code_field = "path";
    submission.image = Some(info.image.image_hash.clone());
    if submission.policy.is_empty() {
        submission.policy = info.policy;
    }
    let labels = submission.labels.clone();
    let execution = shared.service.submit(&caller, Urgency::Interactive, submission).await?;
    shared.service.note_run(&caller, &execution, &labels);
    Ok(Json(answer_of(execution, labels)))
}
