//! Traces of executions and cells.

use super::session::CellExecuted;
use super::{ExecuteError, Executed, SessionError};
use crate::telemetry::{Ended, Execution};

/// Runs `work` under the span of an execution, where its request is traced.
pub(super) async fn observed<F, T, E>(execution: Option<Execution>, work: F) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
    T: Observed,
    E: Refused,
{
    let Some(execution) = execution else { return work.await };
    let done = execution.within(work).await;
    match &done {
        Ok(done) => {
            let executed = done.executed();
            execution.end(&Ended {
                id: executed.id,
                verdict: &executed.verdict,
                fuel: executed.cost.fuel,
                peak_memory_bytes: executed.cost.peak_memory_bytes,
            });
        }
        Err(error) => execution.refused(error.reason()),
    }
    done
}

/// Result that has an execution in it.
pub(super) trait Observed {
    /// Returns the execution's result.
    fn executed(&self) -> &Executed;
}

impl Observed for Executed {
    fn executed(&self) -> &Executed {
        self
    }
}

impl Observed for CellExecuted {
    fn executed(&self) -> &Executed {
        &self.executed
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
