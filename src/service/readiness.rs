//! Readiness: a snippet of the service's own, run at most once a second however many clients ask.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use super::PolicyStore;
use crate::metrics::Metrics;
use crate::sandbox::{Payer, Sandbox};
use proofbox_types::caller::{Caller, Urgency};
use proofbox_types::grant::AskedLimits;
use proofbox_types::outcome::End;
use proofbox_types::program::Program;

/// Age up to which a result is reported again. Orchestrators ask every few seconds, and so never see an older one.
const MAX_AGE: Duration = Duration::from_secs(1);

/// Self-test of the service, with the result of the last one. Whoever asks during a run waits for its result.
pub struct Readiness {
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) policies: Arc<PolicyStore>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) last: Mutex<Option<Tested>>,
}

pub(super) struct Tested {
    at: Instant,
    result: Result<(), String>,
}

impl Readiness {
    /// Checks that guests run, as of the last second.
    ///
    /// # Errors
    /// Returns the failure when they do not.
    pub async fn check(self: &Arc<Self>) -> Result<(), String> {
        let readiness = Arc::clone(self);
        // In a task of its own: a client that goes away does not end the run that others wait for.
        let tested = tokio::spawn(async move { readiness.tested().await }).await;
        tested.unwrap_or_else(|panicked| Err(panicked.to_string()))
    }

    async fn tested(&self) -> Result<(), String> {
        let mut last = self.last.lock().await;
        if let Some(tested) = last.as_ref().filter(|tested| tested.at.elapsed() < MAX_AGE) {
            return tested.result.clone();
        }
        let result = self.self_test().await;
        *last = Some(Tested { at: Instant::now(), result: result.clone() });
        result
    }

    /// Runs a snippet of our own, to see that everything works.
    async fn self_test(&self) -> Result<(), String> {
        self.metrics.self_tests.inc();
        let grant = self
            .policies
            .current()
            .admit(&Caller::keyless(), "default", &AskedLimits::default())
            .map_err(|error| error.to_string())?;
        let program = Program { code: "print(6 * 7)".to_owned(), ..Program::default() };
        // It takes no place in the queue: it must tell whether guests run, not whether there is much to do.
        let payer = Payer { owner: None, urgency: Urgency::Interactive };
        let outcome = self.sandbox.run(program.into(), &grant, payer).await.map_err(|error| error.to_string())?;
        match (&outcome.end, outcome.stdout.text().as_str()) {
            (End::Exited(0), "42\n") => Ok(()),
            (end, _) => Err(format!("the test snippet ended with {end:?}")),
        }
    }
}
