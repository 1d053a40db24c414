//! Traces of executions and cells.

use std::pin::Pin;

use super::{ExecuteError, Execution, SessionError};
use crate::telemetry::{Ended, ExecutionSpan};

/// Runs `work` under the span of an execution, where its request is traced. (Each future that awaits one which it was given
/// has room for it several times, and is copied with that.)
pub(super) async fn traced<F, T, E>(span: Option<ExecutionSpan>, work: Pin<Box<F>>) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
    T: HasExecution,
    E: Refused,
{
    let Some(span) = span else { return work.await };
    let done = span.within(work).await;
    match &done {
        Ok(done) => {
            let execution = done.execution();
            span.end(&Ended {
                id: execution.id,
                verdict: &execution.verdict,
                fuel: execution.cost.fuel,
                peak_memory_bytes: execution.cost.peak_memory_bytes,
            });
        }
        Err(error) => span.refused(error.reason()),
    }
    done
}

/// Result that has an execution in it.
pub(super) trait HasExecution {
    /// Returns the execution's result.
    fn execution(&self) -> &Execution;
}

impl HasExecution for Execution {
    fn execution(&self) -> &Execution {
        self
    }
}

/// Error of an execution that was not run.
pub(super) trait Refused {
    /// Returns the reason, in a word.
    fn reason(&self) -> &'static str;
}

impl Refused for ExecuteError {
    fn reason(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::UnknownImage { .. } => "unknown_image",
            Self::TooLarge { .. } => "too_large",
            Self::Files { .. } => "bad_file",
            Self::Gate => "internal_error",
            Self::NoKey(_) => "no_receipt_key",
            Self::Busy(_) => "busy",
            Self::OverQuota(_) => "over_quota",
        }
    }
}

impl Refused for SessionError {
    fn reason(&self) -> &'static str {
        match self {
            Self::Execute(error) => error.reason(),
            _ => "session",
        }
    }
}
