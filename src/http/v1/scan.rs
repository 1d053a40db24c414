//! `POST /v1/scan`: scan of a snippet that is not run.

use axum::extract::{Request, State};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::answer::ErrorBody;
use super::completion::{CompletionAnswer, Snippet};
use super::request::default_policy;
use crate::http::AppState;
use crate::http::error::ApiError;
use crate::http::extract::read_json;
use proofbox_completion::contains_code;
use proofbox_policy::ScanReport;
use proofbox_types::caller::Caller;

/// Snippet to scan, and the policy.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScanRequest {
    /// Python source. Required unless `completion` is given.
    code: Option<String>,
    /// A model's answer: the code is taken out of it.
    completion: Option<String>,
    /// Name of a policy pack.
    #[serde(default = "default_policy")]
    policy: String,
}

/// Report of the gate.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ScanAnswer {
    /// Report of the gate, as in the answer of an execution.
    policy: ScanReport,
    /// True when the answer has code in any language; of `code`, when it has more than white space, comments and prose.
    contains_code: bool,
    /// Report on the answer that came as `completion`.
    completion: Option<CompletionAnswer>,
    /// True when the snippet parses.
    syntax_ok: bool,
    /// The snippet as it would run, where the policy blanks something out of it.
    redacted: Option<String>,
}

/// Scans a snippet with the policy's gate; nothing is run.
#[utoipa::path(
    post,
    path = "/v1/scan",
    request_body = ScanRequest,
    responses(
        (status = 200, description = "The snippet was scanned, whatever was found", body = ScanAnswer),
        (status = 400, description = "Malformed", body = ErrorBody),
        (status = 403, description = "The policy is for certain keys", body = ErrorBody),
        (status = 413, description = "Too large", body = ErrorBody),
        (status = 415, description = "Not JSON", body = ErrorBody),
        (status = 422, description = "Well formed, but meaningless", body = ErrorBody),
        (status = 503, description = "Going down", body = ErrorBody),
    )
)]
pub(crate) async fn scan(
    State(shared): State<AppState>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Json<ScanAnswer>, ApiError> {
    let (policy, snippet, contains_code) = read_json(request, |asked: ScanRequest| {
        let snippet = Snippet::of(asked.code, asked.completion.as_deref(), &[])?.ok_or_else(Snippet::missing)?;
        let report = snippet.completion.as_ref();
        let contains_code = report.map_or_else(|| contains_code(&snippet.code), |report| report.contains_code);
        Ok((asked.policy, snippet, contains_code))
    })
    .await?;
    let scanned = shared.service.policy_check.scan(&caller, &policy, &snippet.code, snippet.field).await?;
    Ok(Json(ScanAnswer {
        contains_code,
        completion: snippet.completion.map(CompletionAnswer::from),
        syntax_ok: scanned.report.syntax_ok,
        redacted: scanned.redacted,
        policy: scanned.report,
    }))
}
