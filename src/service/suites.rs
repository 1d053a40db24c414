//! Suites: many submissions at once, each answered as it finishes.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::{FutureExt, Stream, stream};
use tokio::task::JoinSet;

use super::stats::index_of;
use super::{ExecuteError, Execution, Executor, StatsCollector};
use crate::telemetry;
use proofbox_types::caller::{Caller, Urgency};
use proofbox_types::submission::Submission;

/// Submission of a suite.
#[derive(Clone, Debug)]
pub struct SuiteItem {
    /// Id of the item, unique in the suite.
    pub id: String,
    /// The problem that it is an attempt at.
    pub task: String,
    /// Submission of the item.
    pub submission: Submission,
}

/// Item that is done.
#[derive(Debug)]
pub struct Finished {
    /// Id of the item.
    pub id: String,
    /// Problem that the item is an attempt at.
    pub task: String,
    /// Labels of the submission.
    pub labels: std::collections::BTreeMap<String, String>,
    /// Cases that were to be run, as far as the host can tell; 0 without tests.
    pub planned: usize,
    /// Result of the submission.
    pub execution: Result<Box<Execution>, Failed>,
}

impl Finished {
    /// Returns the index of the item's outcome in [`proofbox_types::histogram::OUTCOMES`].
    pub(super) fn outcome(&self) -> usize {
        match &self.execution {
            Ok(execution) => index_of(execution.verdict.status),
            Err(Failed::Refused(_)) => 5,
            Err(Failed::Panicked) => 6,
        }
    }
}

/// An item that has no verdict.
#[derive(Debug)]
pub enum Failed {
    /// Submission that was refused; nothing was run.
    Refused(ExecuteError),
    /// Internal failure (panic) of the service.
    Panicked,
}

/// Runs of many submissions at once.
pub struct SuiteRunner {
    pub(super) executor: Arc<Executor>,
    pub(super) stats: Arc<StatsCollector>,
    /// Number of runs that the service does at once.
    pub(super) capacity: usize,
}

impl SuiteRunner {
    /// Runs all `items`, a few at a time, and gives each as it finishes. Dropping the stream stops what runs.
    pub fn run(&self, caller: Caller, items: Vec<SuiteItem>) -> impl Stream<Item = Finished> + Send + use<> {
        // Enough to keep the workers busy, and few enough that others have their turn, too.
        let at_once = (self.capacity / 8).clamp(self.capacity.min(2), self.capacity);
        let (executor, stats) = (Arc::clone(&self.executor), Arc::clone(&self.stats));
        // Tasks of their own: an item gives its place back even while the client does not read.
        let state = (items.into_iter(), JoinSet::new());
        stream::unfold(state, move |(mut items, mut running)| {
            let (executor, stats, caller) = (Arc::clone(&executor), Arc::clone(&stats), caller.clone());
            async move {
                while running.len() < at_once
                    && let Some(item) = items.next()
                {
                    let (executor, stats, caller) = (Arc::clone(&executor), Arc::clone(&stats), caller.clone());
                    running.spawn(telemetry::carry(async move {
                        let finished = run_item(&executor, &caller, item).await;
                        if let Ok(execution) = &finished.execution {
                            stats.note(&caller, execution, &finished.labels);
                        }
                        finished
                    }));
                }
                let Ok(finished) = running.join_next().await? else {
                    // Items catch their panics: the process is ending, and a report would be of less than all.
                    return std::future::pending().await;
                };
                Some((finished, (items, running)))
            }
        })
    }
}

/// Runs an item of a suite.
pub(super) async fn run_item(executor: &Executor, caller: &Caller, item: SuiteItem) -> Finished {
    let SuiteItem { id, task, submission } = item;
    let labels = submission.labels.clone();
    let planned = submission.tests.as_ref().map_or(0, |tests| tests.known_cases().unwrap_or(1));
    let execution = match AssertUnwindSafe(executor.submit(caller, Urgency::Batch, submission)).catch_unwind().await {
        Ok(execution) => execution.map(Box::new).map_err(Failed::Refused),
        Err(_) => {
            tracing::error!(item = ?id, "an item of a suite panicked");
            Err(Failed::Panicked)
        }
    };
    Finished { id, task, labels, planned, execution }
}
