//! Cells in sessions, for clients that know neither a queue nor 429.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Failure;
use crate::service::{CellExecution, ExecuteError, SessionError};
use proofbox_types::status::{FailureClass, Status};

/// Wait before a session is asked for again that there is no room for.
const ROOM_PAUSE: Duration = Duration::from_secs(1);

/// Repeats what the service has no room for now until it has, or the deadline is over.
///
/// # Errors
/// Returns an error when it is refused, or there is no room in time.
pub(crate) async fn until<T, F: Future<Output = Result<T, SessionError>>>(
    deadline: Instant,
    work: impl Fn() -> F,
) -> Result<T, Failure> {
    loop {
        let wait = match work().await {
            Ok(done) => return Ok(done),
            Err(SessionError::Execute(ExecuteError::Busy(busy))) => busy.retry_after,
            Err(SessionError::TooMany { .. }) => ROOM_PAUSE,
            Err(error) => return Err(error.into()),
        };
        if Instant::now() + wait >= deadline {
            return Err(Failure::Late("the service is busy, and this could not start in time; send it again".into()));
        }
        sleep(wait).await;
    }
}

/// Returns whether a limit on time ended a cell.
pub(crate) fn is_out_of_time(ran: &CellExecution) -> bool {
    matches!(ran.execution.verdict.class, FailureClass::Timeout | FailureClass::FuelExhausted)
}

/// An exception or a limit that ended a cell, as a notebook shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CellError {
    /// Name of the exception's type, or of the failure class of a limit.
    pub name: String,
    pub value: String,
    pub traceback: String,
}

impl CellError {
    /// Returns the error of a cell, if it did not run to its end.
    pub(crate) fn of(ran: &CellExecution) -> Option<Self> {
        match (&ran.raised, &ran.execution.verdict.error) {
            (Some(raised), _) => Some(Self {
                name: raised.name.clone(),
                value: raised.value.clone(),
                traceback: raised.traceback.clone(),
            }),
            (None, Some(error)) if ran.execution.verdict.status != Status::Ok => {
                let name = match error.type_name.as_str() {
                    "" => error.class.as_str().to_owned(),
                    name => name.to_owned(),
                };
                Some(Self { name, value: error.message.clone(), traceback: error.message.clone() })
            }
            (None, _) => None,
        }
    }
}
