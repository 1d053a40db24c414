//! Runs what jobs ask, a few items at a time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;

use super::scheduler::{LiveJob, Progress, Turn};
use super::{JobError, JobManager, now};
use crate::service::stats::Tallied;
use crate::service::suites::run_item;
use crate::service::{ExecuteError, Failed, Finished};
use proofbox_memory::{JsonCost, MAX_VALUES, count_values};
use proofbox_store::{JobItem, JobPhase, NewResult, OpenItem, ResultEffect, StoreError, UnfinishedJob};
use proofbox_types::histogram::OUTCOMES;
use proofbox_types::outcome::ErrorReport;
use proofbox_types::status::Status;

/// Items that are read from the store at once.
const PAGE: usize = 32;
/// Times that an item is run, where the service fails at it.
const ATTEMPTS: u32 = 3;
/// Workers that an item may end; after that its result is that it is quarantined.
const WORKERS_ENDED: u32 = 2;
const QUARANTINED: &str = "quarantined: two worker processes ended at this item's turn, so it is not run again";
/// Delay before an item is tried again after a failure of the service: first, and at most.
const BACKOFF: Duration = Duration::from_millis(200);
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// Maximum time between two checks whether a job's owner may use more: the operator may have raised the quota.
const MAX_PAUSE: Duration = Duration::from_secs(60);
const KEY_GONE: &str = "the key that it was accepted with is revoked";
/// Interval at which jobs that are too old or too many are removed.
const HOUSEKEEPING: Duration = Duration::from_secs(60);

/// State that the items of one job share.
struct SharedJob {
    job: Arc<LiveJob>,
    /// Time to pause, when the job's owner may use no more for now.
    pause: Mutex<Option<Duration>>,
    /// Fields that the items share; none where the store has lost them.
    head: Option<Vec<u8>>,
    /// Number of JSON values in `head`.
    head_values: usize,
}

impl JobManager {
    /// Resumes the jobs that an earlier service has left in the store, and starts the tasks that look after all jobs.
    ///
    /// # Errors
    /// Returns an error when the store can't be read.
    pub async fn take_up(self: &Arc<Self>) -> Result<(), JobError> {
        let Some(store) = &self.store else { return Ok(()) };
        let unfinished = store.unfinished_jobs().await?;
        if !unfinished.is_empty() {
            tracing::info!(jobs = unfinished.len(), "jobs are taken up again");
        }
        for UnfinishedJob { id, owner } in unfinished {
            self.queue.live.add(id.into(), owner.map(Into::into));
        }
        self.start_waiting();
        let manager = Arc::clone(self);
        self.background.spawn(async move {
            let stopping = manager.background.stopping().clone();
            tokio::join!(
                stopping.run_until_cancelled(manager.keep_house()),
                stopping.run_until_cancelled(manager.deliver_callbacks()),
            );
        });
        Ok(())
    }

    /// Ends the items that run: they will be run again by the next service.
    pub async fn halt(&self) {
        self.queue.halted.cancel();
        self.background.stopped().await;
    }

    async fn keep_house(&self) {
        let Some(store) = &self.store else { return };
        loop {
            match store.prune_jobs(now(), self.queue.bounds(None)).await {
                Ok(pruned) if pruned.expired + pruned.for_room > 0 => {
                    tracing::info!(expired = pruned.expired, for_room = pruned.for_room, "jobs were removed");
                    // There may be more.
                    tokio::time::sleep(BACKOFF).await;
                    continue;
                }
                Ok(_) => {}
                Err(error) => tracing::error!(%error, "old jobs could not be removed"),
            }
            tokio::time::sleep(HOUSEKEEPING).await;
        }
    }

    /// Starts the jobs whose turn it is.
    pub(super) fn start_waiting(self: &Arc<Self>) {
        while !self.background.stopping().is_cancelled()
            && let Some(turn) = self.queue.live.next()
        {
            let manager = Arc::clone(self);
            self.background.spawn(async move {
                let job = Arc::clone(&turn.job);
                let ran = job.cancelled.run_until_cancelled(manager.run_job(turn));
                if let Some(Some(Err(error))) = manager.queue.halted.run_until_cancelled(ran).await {
                    tracing::error!(job = %job.id, %error, "a job can't go on before the service starts again");
                }
                manager.queue.live.end(&job);
                job.progress.send_modify(|progress| progress.has_ended = true);
                manager.metrics.jobs_unfinished.set(i64::try_from(manager.queue.live.len()).unwrap_or(i64::MAX));
                manager.start_waiting();
            });
        }
        self.metrics.jobs_unfinished.set(i64::try_from(self.queue.live.len()).unwrap_or(i64::MAX));
    }

    /// Runs a job to its end, or until the service stops. Dropping it ends what runs.
    async fn run_job(self: &Arc<Self>, turn: Turn) -> Result<(), StoreError> {
        let Some(store) = &self.store else { return Ok(()) };
        let Turn { job, items: owners_items } = turn;
        let id = job.id.uuid();
        let Some(row) = store.find_job(id).await? else { return Ok(()) };
        match row.phase {
            JobPhase::Queued | JobPhase::Running => {}
            JobPhase::Finished | JobPhase::Cancelled => return Ok(()),
        }
        if self.keys.caller_of(job.owner).is_none() {
            return self.cancel_for(&job, KEY_GONE).await;
        }
        store.start_job(id, now()).await?;
        job.progress.send_modify(|progress| progress.done = row.done());
        let head = match store.job_head(id).await {
            Ok(head) => head,
            // Its items can't be known: each is told as such, below.
            Err(StoreError::Damaged { .. }) => None,
            Err(error) => return Err(error),
        };
        let head_values = values_of(head.as_deref().unwrap_or_default());
        let shared = Arc::new(SharedJob { job: Arc::clone(&job), pause: Mutex::default(), head, head_values });
        // Again, where the service failed at an item, or its owner had to wait.
        let mut backoff = BACKOFF;
        while !self.background.stopping().is_cancelled() && !job.progress.borrow().has_ended {
            let mut running = JoinSet::new();
            let mut after = None;
            loop {
                let page = store.open_items(id, after, PAGE).await?;
                let Some(last) = page.last() else { break };
                after = Some(last.number);
                for item in page {
                    // Its owner's turn first: who waits for that keeps nobody else waiting.
                    let permits = async {
                        let own = Arc::clone(&owners_items).acquire_owned().await;
                        (own, Arc::clone(&self.queue.live.items).acquire_owned().await)
                    };
                    let Some(permits) = self.background.stopping().run_until_cancelled(permits).await else { break };
                    let (manager, shared) = (Arc::clone(self), Arc::clone(&shared));
                    running.spawn(async move {
                        manager.run_item(&shared, item).await;
                        drop(permits);
                    });
                    while running.try_join_next().is_some() {}
                }
                if self.background.stopping().is_cancelled() || shared.pause().is_some() {
                    break;
                }
            }
            while running.join_next().await.is_some() {}
            if !job.progress.borrow().has_ended {
                let pause = shared.pause().take();
                let pause = pause.map_or(backoff, |pause| pause.min(MAX_PAUSE));
                let _ = self.background.stopping().run_until_cancelled(tokio::time::sleep(pause)).await;
                backoff = (backoff * 2).min(MAX_BACKOFF);
            }
        }
        Ok(())
    }

    /// Runs an item, and stores its result. Without a stored result it will be run again.
    async fn run_item(self: &Arc<Self>, shared: &Arc<SharedJob>, open: OpenItem) {
        let number = open.number;
        let (line, outcome, tallied) = match open.item.filter(|_| shared.head.is_some()) {
            Some(item) => match self.line_of(shared, item).await {
                Some(told) => told,
                // Not now.
                None => return,
            },
            None => {
                let finished = broken(number);
                let outcome = finished.outcome();
                (self.queue.wire().line(finished), outcome, None)
            }
        };
        let recorded = tallied.map(|tallied| self.stats.recorded(shared.job.owner, tallied));
        let mut backoff = BACKOFF;
        while let Some(store) = &self.store {
            let result = NewResult {
                job: shared.job.id.uuid(),
                item: number,
                line: line.clone(),
                outcome,
                recorded: recorded.iter().cloned().collect(),
            };
            let bounds = self.queue.bounds(self.keys.disk_bytes(shared.job.owner));
            match store.put_result(result, bounds, now()).await {
                Ok(ResultEffect::Written(row)) => {
                    self.metrics.job_items.with_label_values(&[OUTCOMES[outcome]]).inc();
                    let has_ended = row.phase == JobPhase::Finished;
                    if has_ended {
                        self.metrics.jobs.with_label_values(&["finished"]).inc();
                        self.queue.ended.notify_one();
                    }
                    let reported = Progress { done: row.done(), has_ended };
                    shared.job.progress.send_modify(|progress| progress.advance(reported));
                    return;
                }
                Ok(ResultEffect::Duplicate) => return,
                Ok(ResultEffect::NotWanted) => {
                    shared.job.progress.send_modify(|progress| progress.has_ended = true);
                    return;
                }
                Ok(ResultEffect::NoRoom) => {
                    tracing::warn!(job = %shared.job.id, "a job is ended: there is no room for its results");
                    self.metrics.jobs.with_label_values(&["cancelled"]).inc();
                    self.queue.ended.notify_one();
                    shared.job.progress.send_modify(|progress| progress.has_ended = true);
                    return;
                }
                // Room may be made, and a lock be given back: the work is not to be done again for that.
                Err(error) => {
                    tracing::error!(job = %shared.job.id, number, %error, "a result could not be written");
                    tokio::time::sleep(backoff).await;
                    backoff = (backoff * 2).min(MAX_BACKOFF);
                }
            }
        }
    }

    /// Runs an item, and returns its line, its outcome, and its figures for the statistics.
    async fn line_of(
        self: &Arc<Self>,
        shared: &Arc<SharedJob>,
        item: JobItem,
    ) -> Option<(Vec<u8>, usize, Option<Tallied>)> {
        let Some(caller) = self.keys.caller_of(shared.job.owner) else {
            if let Err(error) = self.cancel_for(&shared.job, KEY_GONE).await {
                tracing::error!(job = %shared.job.id, %error, "a job could not be cancelled");
            }
            return None;
        };
        // It may be large, and others wait. Its memory is held until it has its result.
        let (head_bytes, head_values) = (shared.head.as_ref().map_or(0, Vec::len), shared.head_values);
        let weigh = move || {
            let cost = JsonCost::new(head_bytes + item.request.len(), head_values + values_of(&item.request));
            (item, cost)
        };
        let (item, cost) = tokio::task::spawn_blocking(weigh).await.ok()?;
        let mut lease = self.queue.memory.account(shared.job.owner).lease();
        lease.grow(cost.parsing()).await;
        let (manager, about, asks) = (Arc::clone(self), Arc::clone(shared), caller.clone());
        let parse = move || {
            manager.queue.wire().item(&manager.executor, &asks, about.head.as_deref().unwrap_or_default(), &item)
        };
        let parsed = match tokio::task::spawn_blocking(parse).await.ok()? {
            Ok(parsed) => parsed,
            Err(line) => return Some((line, REFUSED, None)),
        };
        lease.shrink(cost.parsed_bytes());
        let (mut attempt, mut ended) = (1, 0);
        let finished = loop {
            let mut finished = run_item(&self.executor, &caller, parsed.clone()).await;
            let has_failed = match &finished.execution {
                Ok(execution) => execution.verdict.status == Status::InfrastructureError,
                Err(Failed::Panicked) => true,
                // There is more tomorrow.
                Err(Failed::Refused(ExecuteError::OverQuota(over))) => {
                    *shared.pause() = Some(over.retry_after());
                    return None;
                }
                Err(Failed::Refused(_)) => false,
            };
            // It may have failed for that.
            if has_failed && self.background.stopping().is_cancelled() {
                return None;
            }
            if let Ok(execution) = &mut finished.execution
                && execution.is_blamed
            {
                ended += 1;
                if ended == WORKERS_ENDED {
                    execution.verdict.error = Some(ErrorReport::of_ours(QUARANTINED.to_owned()));
                    self.metrics.quarantined.inc();
                    break finished;
                }
            }
            if !has_failed || attempt == ATTEMPTS {
                break finished;
            }
            tokio::time::sleep(BACKOFF * attempt).await;
            attempt += 1;
        };
        let outcome = finished.outcome();
        let tallied = finished.execution.as_ref().ok().map(|execution| Tallied::of(execution, &finished.labels));
        let manager = Arc::clone(self);
        let render = move || manager.queue.wire().line(finished);
        Some((tokio::task::spawn_blocking(render).await.ok()?, outcome, tallied))
    }

    /// Ends a job, with a reason for its client.
    async fn cancel_for(&self, job: &LiveJob, reason: &str) -> Result<(), StoreError> {
        let Some(store) = &self.store else { return Ok(()) };
        job.progress.send_modify(|progress| progress.has_ended = true);
        if store.cancel_job(job.id.uuid(), reason.to_owned(), now()).await? == proofbox_store::Cancelled::Now {
            self.metrics.jobs.with_label_values(&["cancelled"]).inc();
            self.queue.ended.notify_one();
        }
        Ok(())
    }
}

impl SharedJob {
    fn pause(&self) -> MutexGuard<'_, Option<Duration>> {
        self.pause.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// JSON values of a part of a job.
fn values_of(text: &[u8]) -> usize {
    // The rest is not read.
    count_values(text).unwrap_or(MAX_VALUES)
}

/// Index of "refused" in the outcomes.
const REFUSED: usize = 5;

/// Makes the result of an item that the store has lost.
pub(super) fn broken(number: u32) -> Finished {
    let name = format!("items[{number}]");
    Finished { id: name.clone(), task: name, labels: BTreeMap::new(), planned: 0, execution: Err(Failed::Panicked) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refused_are_counted_as_such() {
        assert_eq!(OUTCOMES[REFUSED], "refused");
    }
}
