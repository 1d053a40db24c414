//! Accounts of keys, as workers charge them: for interpreters that commands start, which count to the concurrency of the
//! key as runs and calls do, and for the fuel of what was cancelled.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{Admission, Keys};
use crate::metrics::Metrics;
use crate::sandbox::{InterpreterPermit, Payer, PayerAccounts};
use proofbox_types::ids::KeyId;

/// Accounts of keys, as workers charge them.
pub struct KeyAccounts {
    /// Permits for runs, and the queue before them.
    pub admission: Arc<Admission>,
    /// Keys of the clients.
    pub keys: Arc<Keys>,
    /// Counters of the service.
    pub metrics: Arc<Metrics>,
}

impl PayerAccounts for KeyAccounts {
    fn admit(&self, payer: Payer) -> BoxFuture<'static, Option<InterpreterPermit>> {
        let (admission, caller) = (Arc::clone(&self.admission), self.keys.caller_of(payer.owner));
        Box::pin(async move {
            // A key that is revoked starts nothing more.
            let permit = admission.acquire(&caller?, payer.urgency).await.ok()?;
            Some(Box::new(permit) as InterpreterPermit)
        })
    }

    fn charge(&self, owner: Option<KeyId>, fuel: u64) {
        self.keys.use_fuel(owner, fuel);
        self.metrics.fuel.inc_by(fuel);
    }
}
