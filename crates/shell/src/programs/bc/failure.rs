//! Reasons why code of bc ends early.

use super::number::TooLong;
use crate::state::Stop;

/// Reason why code ends early.
#[derive(Debug)]
pub(super) enum Failure {
    /// Mistake that was told, behind which the next line is run.
    Told,
    TooLong,
    Halt,
    Stop(Stop),
}

impl From<TooLong> for Failure {
    fn from(_: TooLong) -> Self {
        Self::TooLong
    }
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}
