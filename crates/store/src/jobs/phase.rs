//! State of a job, and its number in the store.

/// State of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobPhase {
    /// No item has been run.
    Queued,
    /// At least one item has been run, or will be as soon as the service continues.
    Running,
    /// Every item has its result.
    Finished,
    /// The job was ended before it finished.
    Cancelled,
}

impl JobPhase {
    pub(super) fn number(self) -> i64 {
        match self {
            JobPhase::Queued => 0,
            JobPhase::Running => 1,
            JobPhase::Finished => 2,
            JobPhase::Cancelled => 3,
        }
    }

    pub(super) fn from_number(number: i64) -> Option<Self> {
        match number {
            0 => Some(JobPhase::Queued),
            1 => Some(JobPhase::Running),
            2 => Some(JobPhase::Finished),
            3 => Some(JobPhase::Cancelled),
            _ => None,
        }
    }
}
