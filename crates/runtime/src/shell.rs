//! Shell of a guest that is no session's call: its commands run within what is left of the guest's limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::session::script::RunScript;
use proofbox_types::session::CellLimits;

/// Shell of a run, or of a program that a command has started.
pub(crate) struct Shell {
    run_script: RunScript,
    fuel: Arc<AtomicU64>,
    wall: Duration,
    output_bytes: u64,
}

impl Shell {
    /// Makes the shell of a guest with these limits. The interpreters of its scripts add their fuel to `fuel`.
    pub(crate) fn new(run_script: RunScript, fuel: Arc<AtomicU64>, wall: Duration, output_bytes: u64) -> Self {
        Self { run_script, fuel, wall, output_bytes }
    }

    /// Returns the runner of scripts.
    pub(crate) fn run_script(&self) -> RunScript {
        Arc::clone(&self.run_script)
    }

    /// Takes the fuel that interpreters of scripts have used since this was last called.
    pub(crate) fn take_fuel(&self) -> u64 {
        self.fuel.swap(0, Ordering::Relaxed)
    }

    /// Returns the limits of a command, for a guest that has so much fuel left and has run so long.
    pub(crate) fn limits(&self, fuel: u64, execution: Duration) -> CellLimits {
        CellLimits { fuel, wall: self.wall.saturating_sub(execution), output_bytes: self.output_bytes }
    }
}
