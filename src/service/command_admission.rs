//! Admission of interpreters that commands start: they count to the concurrency of the key as runs and calls do.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{Admission, Keys};
use crate::sandbox::{InterpreterAdmission, InterpreterPermit, Payer};

/// Admission of interpreters that commands start.
pub struct CommandAdmission {
    /// Permits for runs, and the queue before them.
    pub admission: Arc<Admission>,
    /// Keys of the clients.
    pub keys: Arc<Keys>,
}

impl InterpreterAdmission for CommandAdmission {
    fn admit(&self, payer: Payer) -> BoxFuture<'static, Option<InterpreterPermit>> {
        let (admission, caller) = (Arc::clone(&self.admission), self.keys.caller_of(payer.owner));
        Box::pin(async move {
            // A key that is revoked starts nothing more.
            let permit = admission.acquire(&caller?, payer.urgency).await.ok()?;
            Some(Box::new(permit) as InterpreterPermit)
        })
    }
}
