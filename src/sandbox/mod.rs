//! Runs a program, contained: the one way from a [`Program`] and a [`Grant`] to an [`Outcome`]. Sessions live here,
//! too.

mod session;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub use session::{JobsAtSave, RequestError, SessionCallError, SessionEvent, SessionHandle};

use proofbox_types::grant::Grant;
use proofbox_types::outcome::Outcome;
use proofbox_types::program::Program;
pub use proofbox_vfs::FilesError;
pub use proofbox_worker::{InterpreterPermit, Payer, PayerAccounts};
use proofbox_worker::{WorkerError, WorkerPool};

/// Failure of the sandbox itself; the program is not to blame and is not graded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sandbox failed: {0}")]
pub struct SandboxError(#[from] WorkerError);

impl SandboxError {
    /// Returns whether a worker process ended during a time slice of this program. Another worker may end, too.
    pub fn blames_program(&self) -> bool {
        self.0 == WorkerError::Blamed
    }
}

/// Checks the files of a program before it is run: where they lie, and whether they fit the grant.
///
/// # Errors
/// Returns an error that a client can correct, with the field that it is in.
pub fn check_files(program: &Program, grant: &Grant) -> Result<(), (&'static str, FilesError)> {
    proofbox_runtime::check_files(program, grant.limits())
}

/// Interpreters for whoever holds a grant.
pub struct Sandbox {
    workers: WorkerPool,
    next_session: AtomicU64,
}

impl Sandbox {
    /// Guests run in these workers.
    pub fn new(workers: WorkerPool) -> Self {
        Self { workers, next_session: AtomicU64::new(0) }
    }

    /// The workers, for those who watch over them.
    pub fn workers(&self) -> &WorkerPool {
        &self.workers
    }

    /// Runs a program in a fresh interpreter. Dropping the future stops the guest. Interpreters that its commands start
    /// count to `payer`.
    ///
    /// # Errors
    /// Returns an error when we fail. However the guest ends, that is an [`Outcome`].
    pub async fn run(&self, program: Arc<Program>, grant: &Grant, payer: Payer) -> Result<Outcome, SandboxError> {
        Ok(self.workers.run(program, grant, payer).await?)
    }
}
