//! Verdicts, as promptfoo's assertion `webhook` reads them.

use serde::Serialize;

use crate::http::error::ApiError;
use crate::service::Execution;
use proofbox_types::status::{CaseStatus, Status};
use proofbox_types::value::Value;
use proofbox_types::verdict::Verdict;

/// Size of the longest reason, in bytes: promptfoo shows it in a cell of a table.
const MAX_REASON: usize = 2000;

/// promptfoo's `GradingResult`.
#[derive(Debug, Serialize, PartialEq)]
pub(super) struct GradingResult {
    pass: bool,
    /// Score of an evaluator, else the part of the cases that passed.
    score: f64,
    reason: String,
}

impl GradingResult {
    /// Translates a verdict.
    ///
    /// # Errors
    /// Returns an error where there is none: the service failed, and not the output.
    pub(super) fn of(execution: Execution) -> Result<Self, ApiError> {
        let verdict = &execution.verdict;
        let pass = match verdict.status {
            Status::InfrastructureError => return Err(ApiError::internal()),
            Status::Passed | Status::Ok => true,
            Status::Failed | Status::Error | Status::Blocked => false,
        };
        let (passed, total) = (verdict.count_passed(), verdict.total());
        let part = if total == 0 { 0.0 } else { passed as f64 / total as f64 };
        let score = execution.evaluation.as_ref().and_then(score_of).unwrap_or(part);
        let mut reason = format!("{passed} of {total} tests passed");
        if !pass {
            reason = match first_failure(verdict) {
                Some(first) => format!("{}: {reason}; {first}", verdict.class.as_str()),
                None => format!("{}: {reason}", verdict.class.as_str()),
            };
        }
        Ok(Self { pass, score, reason: shortened(reason) })
    }
}

/// Returns the score in the result of an evaluator.
fn score_of(evaluation: &Value) -> Option<f64> {
    evaluation.to_json().get("score")?.as_f64()
}

/// Describes the first thing that went wrong, as far as the verdict tells.
fn first_failure(verdict: &Verdict) -> Option<String> {
    let failed = |status| !matches!(status, CaseStatus::Passed | CaseStatus::NotRun | CaseStatus::Skipped);
    if let Some(case) = verdict.cases.iter().find(|case| failed(case.status) && !case.name.is_empty()) {
        return Some(match &case.message {
            Some(message) => format!("{}: {message}", case.name),
            None => case.name.clone(),
        });
    }
    verdict.error.as_ref().map(|error| match error.type_name.as_str() {
        "" => error.message.clone(),
        name => format!("{name}: {}", error.message),
    })
}

fn shortened(mut text: String) -> String {
    if text.len() > MAX_REASON {
        text.truncate(text.floor_char_boundary(MAX_REASON));
        text.push('…');
    }
    text
}
