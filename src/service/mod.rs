//! What the product does, one method for each thing that a client can ask. Dialects of HTTP translate to it.

mod capacity;
mod completion;
mod execute;
mod receipts;
mod submit;
mod suite;

use std::sync::Arc;

pub use capacity::{Busy, Capacity};
pub use completion::code_of_completion;
pub use execute::{ExecuteError, Executed};
pub use receipts::{KeyError, Receipts};
pub use suite::{Failed, Finished, SuiteItem};

use crate::grader::lint::Linter;
use crate::metrics::Metrics;
use crate::policy::Policies;
use crate::runtime::image::Image;
use crate::sandbox::Sandbox;

/// Snippets that are linted at once: it takes a millisecond or so, beside a run.
const LINTING_THREADS: usize = 2;

/// The service behind every dialect.
pub struct Service {
    sandbox: Sandbox,
    policies: Policies,
    capacity: Capacity,
    image: Image,
    metrics: Arc<Metrics>,
    receipts: Receipts,
    linter: Linter,
}

impl Service {
    /// Wires the parts.
    pub fn new(
        sandbox: Sandbox,
        policies: Policies,
        capacity: Capacity,
        image: Image,
        metrics: Arc<Metrics>,
        receipts: Receipts,
    ) -> Self {
        Self { sandbox, policies, capacity, image, metrics, receipts, linter: Linter::new(LINTING_THREADS) }
    }

    /// The image that guests start from.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// The key that receipts are signed with.
    pub fn receipts(&self) -> &Receipts {
        &self.receipts
    }

    /// The packs in force.
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// The counters, with those that are read when they are asked for.
    pub fn metrics(&self) -> &Metrics {
        self.metrics.instances_live.set(i64::from(self.sandbox.workers().live()));
        self.metrics.queue_length.set(i64::try_from(self.capacity.queued()).unwrap_or(i64::MAX));
        &self.metrics
    }

    /// The sandbox, for those who watch over its workers.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }
}
