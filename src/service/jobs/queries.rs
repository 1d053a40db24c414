//! Queries and commands of clients on jobs: each sees the jobs of its own key only.

use std::sync::Arc;

use tokio::sync::watch;

use super::runner::broken;
use super::scheduler::Progress;
use super::{JobError, JobInfo, JobManager, MAX_UNFINISHED, now};
use proofbox_store::{Accepted, Cancelled, JobFilter, JobItem, JobPhase, JobResult, JobRow, NewJob, Store};
use proofbox_types::caller::Caller;
use proofbox_types::ids::JobId;

/// A job that a client wants.
#[derive(Debug)]
pub struct JobAsked {
    /// Id for the job.
    pub id: JobId,
    /// Description of the job, written and read by its `JobWire`: short.
    pub about: Vec<u8>,
    /// Fields that its items share, in the same format.
    pub head: Vec<u8>,
    /// Items to run, in the same format.
    pub items: Vec<JobItem>,
    /// Idempotency key that the client gives the request.
    pub idempotency_key: Option<String>,
    /// SHA-256 of the request: tells whether the same idempotency key comes with the same request.
    pub request_sha256: [u8; 32],
    /// URL to notify when the job ends; admitted by [`JobManager::admit_callback`].
    pub callback_url: Option<String>,
}

/// Job that was accepted and stored.
#[derive(Debug)]
pub struct JobAccepted {
    /// State of the job.
    pub job: JobInfo,
    /// True when the job was accepted before: the client repeats its request.
    pub replayed: bool,
}

/// Filter for a list of jobs.
#[derive(Clone, Debug, Default)]
pub struct JobsAsked {
    /// Phase of the jobs to list; none for every phase.
    pub phase: Option<JobPhase>,
    /// Job after which the list begins: older jobs follow.
    pub after: Option<JobId>,
    /// Maximum number of jobs.
    pub limit: usize,
}

/// Result of an item.
#[derive(Debug)]
pub struct JobLine {
    /// Number of the result in the job, from 1.
    pub sequence: u32,
    /// Number of the item in the job.
    pub item: u32,
    /// Result as the job's format has it, without a newline.
    pub line: Vec<u8>,
}

impl JobManager {
    fn store(&self) -> Result<&Store, JobError> {
        self.store.as_deref().ok_or(JobError::NoStore)
    }

    pub(super) fn info(&self, row: JobRow) -> JobInfo {
        JobInfo::of(row, self.queue.settings.age)
    }

    /// Stores a job, which is run when its turn comes.
    ///
    /// # Errors
    /// Returns an error when there is no room for it, or its idempotency key means another.
    pub async fn accept(self: &Arc<Self>, caller: &Caller, asked: JobAsked) -> Result<JobAccepted, JobError> {
        // The client may go away: what is in the store must be known here.
        let (manager, owner) = (Arc::clone(self), caller.owner());
        let accept = async move {
            let store = manager.store()?;
            let id = asked.id;
            let job = NewJob {
                id: id.uuid(),
                owner: owner.map(|owner| owner.uuid()),
                created_at: now(),
                about: asked.about,
                head: asked.head,
                items: asked.items,
                idempotency_key: asked.idempotency_key,
                request_sha256: asked.request_sha256,
                callback_url: asked.callback_url,
            };
            let refused = || manager.metrics.refused.with_label_values(&["storage"]).inc();
            let bounds = manager.queue.bounds(manager.keys.disk_bytes(owner));
            let accepted = store.accept_job(job, bounds).await.inspect_err(|error| {
                if error.is_want_of_room() {
                    refused();
                }
            });
            let (id, replayed) = match accepted? {
                Accepted::New => (id, false),
                Accepted::Same(id) => (id.into(), true),
                Accepted::OtherRequest => return Err(JobError::OtherRequest),
                Accepted::TooMany => return Err(JobError::TooMany { allowed: MAX_UNFINISHED }),
                Accepted::NoRoom => {
                    refused();
                    return Err(JobError::NoRoom);
                }
                Accepted::OverQuota { asked, allowed } => {
                    refused();
                    return Err(JobError::OverQuota { asked, allowed });
                }
            };
            // As it was accepted: its client need not look whether it was fast enough.
            let row = store.find_job(id.uuid()).await;
            if !replayed {
                manager.metrics.jobs.with_label_values(&["accepted"]).inc();
                manager.queue.live.add(id, owner);
                manager.start_waiting();
            }
            let row = row?.ok_or(JobError::NotFound)?;
            Ok(JobAccepted { job: manager.info(row), replayed })
        };
        self.background.spawn(accept).await.map_err(|_| JobError::Store)?
    }

    /// Returns the state of a job.
    ///
    /// # Errors
    /// Returns an error when there is no such job, or it belongs to another key.
    pub async fn find(&self, caller: &Caller, id: JobId) -> Result<JobInfo, JobError> {
        let row = self.store()?.find_job(id.uuid()).await?.ok_or(JobError::NotFound)?;
        if row.owner != caller.owner().map(|owner| owner.uuid()) {
            return Err(JobError::NotFound);
        }
        Ok(self.info(row))
    }

    /// The caller's jobs, the newest first.
    ///
    /// # Errors
    /// Returns an error when the store can't be read.
    pub async fn list(&self, caller: &Caller, asked: JobsAsked) -> Result<Vec<JobInfo>, JobError> {
        let filter = JobFilter {
            owner: caller.owner().map(|owner| owner.uuid()),
            phase: asked.phase,
            after: asked.after.map(|after| after.uuid()),
        };
        let rows = self.store()?.list_jobs(filter, asked.limit).await?;
        Ok(rows.into_iter().map(|row| self.info(row)).collect())
    }

    /// Cancels a job: running items are stopped, results stay. A job that has ended stays as it is.
    ///
    /// # Errors
    /// Returns an error when there is no such job, or it belongs to another key.
    pub async fn cancel(&self, caller: &Caller, id: JobId) -> Result<JobInfo, JobError> {
        self.find(caller, id).await?;
        let done = self.store()?.cancel_job(id.uuid(), "its owner cancelled it".to_owned(), now()).await?;
        if done == Cancelled::Now {
            self.metrics.jobs.with_label_values(&["cancelled"]).inc();
            self.queue.ended.notify_one();
        }
        if let Some(live) = self.queue.live.find(id) {
            live.cancelled.cancel();
            live.progress.send_modify(|progress| progress.has_ended = true);
        }
        self.find(caller, id).await
    }

    /// Ends a job, and removes it with its results.
    ///
    /// # Errors
    /// Returns an error when there is no such job, or it belongs to another key.
    pub async fn delete(&self, caller: &Caller, id: JobId) -> Result<(), JobError> {
        self.cancel(caller, id).await?;
        self.store()?.delete_job(id.uuid()).await?;
        Ok(())
    }

    /// Returns up to `limit` results of a job in the order in which they came, after the `after`th.
    ///
    /// # Errors
    /// Returns an error when the store can't be read.
    pub async fn lines(&self, id: JobId, after: u32, limit: usize) -> Result<Vec<JobLine>, JobError> {
        let results = self.store()?.job_results(id.uuid(), after, limit).await?;
        let told = |result: JobResult| {
            let JobResult { sequence, item, line } = result;
            // What the store has lost is told as such, and never made up.
            let line = line.unwrap_or_else(|| self.queue.wire().line(broken(item)));
            JobLine { sequence, item, line }
        };
        Ok(results.into_iter().map(told).collect())
    }

    /// Returns items of a job as they were asked, by their numbers in it, without those that the store has lost.
    ///
    /// # Errors
    /// Returns an error when the store can't be read.
    pub async fn items(&self, id: JobId, numbers: Vec<u32>) -> Result<Vec<(u32, JobItem)>, JobError> {
        let items = self.store()?.job_items(id.uuid(), numbers).await?;
        Ok(items.into_iter().filter_map(|open| Some((open.number, open.item?))).collect())
    }

    /// Returns a receiver of a job's progress; none where the job does not run in this process.
    pub fn follow(&self, id: JobId) -> Option<watch::Receiver<Progress>> {
        self.queue.live.find(id).map(|live| live.progress.subscribe())
    }
}
