//! Host state of a session's call.

use std::sync::Arc;
use std::time::Duration;

use super::cell::CellReporter;
use super::interrupt::Interrupt;
use super::script::RunScript;
use proofbox_types::session::CellLimits;

/// CPU time and sleep that a guest has to heed an interrupt.
pub(crate) const GRACE: Duration = Duration::from_secs(2);
/// The host's side of the call under way.
pub(crate) struct CallState {
    pub(crate) reporter: CellReporter,
    pub(crate) interrupt: Arc<Interrupt>,
    pub(crate) limits: CellLimits,
    pub(crate) run_script: RunScript,
    /// CPU time and sleep after which it is interrupted.
    pub(crate) wall: Duration,
}

impl CallState {
    /// Returns how long the guest may sleep now: to its limit; after an interrupt, as long as it has to heed that.
    pub(crate) fn longest_sleep(&self, execution: Duration) -> Duration {
        match self.interrupt.reason() {
            Some(_) => GRACE,
            None => self.wall.saturating_sub(execution),
        }
    }
}
