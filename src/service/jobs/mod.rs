//! Jobs: submissions that are stored and run in the background.
//!
//! - here: the type of a job, and errors;
//! - `queries`: queries and commands of clients;
//! - `scheduler`: jobs that have not ended, and their order;
//! - `runner`: starts jobs, runs their items, and stops;
//! - `callbacks`: notifies others of the end of jobs.
//!
//! An accepted job is stored before its client gets the answer, and an item's result before it counts: items without a
//! stored result when the process dies are run again by the next one, and no others are.

mod callbacks;
mod queries;
mod runner;
mod scheduler;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{BackgroundTasks, Executor, Finished, Keys, StatsCollector, SuiteItem};
use crate::metrics::Metrics;
use proofbox_memory::Budget;
use proofbox_store::{Callback, JobBounds, JobItem, JobPhase, JobRow, Store, StoreError};
use proofbox_types::caller::Caller;
use proofbox_types::histogram::OUTCOME_COUNT;
use proofbox_types::ids::JobId;

pub use callbacks::{CallbackRefused, CallbackSecret, CallbackSettings, SecretError};
pub(super) use callbacks::{DELAYS, http_client, jittered, request_failure};
pub use queries::{JobAccepted, JobAsked, JobLine, JobsAsked};
pub use scheduler::Progress;

/// Jobs of one owner that have not ended.
const MAX_UNFINISHED: u64 = 10_000;

/// Format of stored jobs. The service does not interpret the contents of jobs and of their results.
pub trait JobWire: Send + Sync {
    /// Parses an item as it was stored, ready to run; otherwise returns the line with the reason why it can't be run.
    ///
    /// # Errors
    /// Returns an error when it is refused now, although it was not when the job was accepted.
    fn item(&self, executor: &Executor, caller: &Caller, head: &[u8], item: &JobItem) -> Result<SuiteItem, Vec<u8>>;

    /// Renders the result of an item, without a newline.
    fn line(&self, finished: Finished) -> Vec<u8>;

    /// Renders the state of a job.
    fn document(&self, job: &JobInfo) -> Vec<u8>;
}

/// Settings for jobs and their callbacks.
pub struct JobSettings {
    /// Format in which jobs are stored.
    pub wire: Arc<dyn JobWire>,
    /// Time for which a job is stored after its end.
    pub age: Duration,
    /// Bytes that all jobs may take in the store.
    pub bytes: u64,
    /// Settings for callbacks; none where callbacks are not allowed.
    pub callbacks: Option<Arc<CallbackSettings>>,
}

/// State of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// No item has been started.
    Queued,
    /// At least one item has been started.
    Running {
        /// Time at which the first item was started.
        started: Timestamp,
    },
    /// Every item has its result.
    Finished {
        /// Time at which the first item was started.
        started: Timestamp,
        /// Time of the last result.
        ended: Timestamp,
    },
    /// Job that was ended before every item had its result.
    Cancelled {
        /// Time at which the first item was started, if any was.
        started: Option<Timestamp>,
        /// Time at which the job was ended.
        ended: Timestamp,
        /// Reason for the end.
        reason: String,
    },
}

impl JobState {
    /// Returns the word for the state.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running { .. } => "running",
            Self::Finished { .. } => "finished",
            Self::Cancelled { .. } => "cancelled",
        }
    }

    /// Returns whether no item of the job will be run any more.
    pub fn has_ended(&self) -> bool {
        match self {
            Self::Queued | Self::Running { .. } => false,
            Self::Finished { .. } | Self::Cancelled { .. } => true,
        }
    }
}

/// A job as clients see it.
#[derive(Clone, Debug)]
pub struct JobInfo {
    /// Id of the job.
    pub id: JobId,
    /// State of the job.
    pub state: JobState,
    /// Time at which the job was accepted.
    pub created: Timestamp,
    /// Time at which the job is removed, if it has ended.
    pub expires: Option<Timestamp>,
    /// Description of the job, written by its `JobWire`.
    pub about: Vec<u8>,
    /// Number of items in the job.
    pub items: u32,
    /// Number of items that are done, by outcome.
    pub tally: [u32; OUTCOME_COUNT],
    /// Size in the store, in bytes.
    pub bytes: u64,
    /// Callback at the job's end.
    pub callback: Option<Callback>,
}

impl JobInfo {
    fn of(row: JobRow, age: Duration) -> Self {
        let time = |milliseconds| Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::UNIX_EPOCH);
        let created = time(row.created_at);
        let started = row.started_at.map(time);
        let ended = row.ended_at.map_or(created, time);
        let state = match row.phase {
            JobPhase::Queued => JobState::Queued,
            JobPhase::Running => JobState::Running { started: started.unwrap_or(created) },
            JobPhase::Finished => JobState::Finished { started: started.unwrap_or(created), ended },
            JobPhase::Cancelled => JobState::Cancelled { started, ended, reason: row.reason.unwrap_or_default() },
        };
        let expires = state.has_ended().then(|| ended.saturating_add(age).unwrap_or(Timestamp::MAX));
        Self {
            id: row.id.into(),
            state,
            created,
            expires,
            about: row.about,
            items: row.items,
            tally: row.tally,
            bytes: row.bytes,
            callback: row.callback,
        }
    }

    /// Items that are done.
    pub fn done(&self) -> u32 {
        self.tally.iter().sum()
    }
}

/// Reason why a request about a job fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// Job that does not exist, or belongs to another key.
    #[error("there is no such job")]
    NotFound,
    /// Service without a store.
    #[error("this service has no store, and so no jobs: set PROOFBOX_DATA_DIR")]
    NoStore,
    /// Owner who has too many unfinished jobs.
    #[error("{allowed} jobs have not ended yet: wait for some of them, or cancel them")]
    TooMany {
        /// Maximum number of unfinished jobs.
        allowed: u64,
    },
    /// Store that is full of jobs which may not be removed.
    #[error("there is no room for this job: wait for some of yours, or delete them")]
    NoRoom,
    /// Owner whose quota on disk is used up.
    #[error(
        "this key would keep {asked} bytes on disk, and may keep {allowed}: delete some of its jobs or checkpoints"
    )]
    OverQuota {
        /// Bytes that the owner would hold.
        asked: u64,
        /// Bytes that the owner may hold.
        allowed: u64,
    },
    /// The idempotency key came with another request before.
    #[error("this Idempotency-Key came with another request before; take a new key for a new request")]
    OtherRequest,
    /// Record of the job that is damaged.
    #[error("the record of this job is damaged")]
    Damaged,
    /// Disk of the store that is full.
    #[error("no room is left on the disk of the store")]
    DiskFull,
    /// The store failed: the cause is in the log.
    #[error("the store failed")]
    Store,
}

impl From<StoreError> for JobError {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "the store failed at a job");
        match error {
            StoreError::Damaged { .. } => Self::Damaged,
            StoreError::Full => Self::DiskFull,
            StoreError::NoRoom => Self::NoRoom,
            StoreError::OverQuota { asked, allowed } => Self::OverQuota { asked, allowed },
            _ => Self::Store,
        }
    }
}

/// Stores jobs, runs them in the background, and answers for them.
pub struct JobManager {
    pub(super) executor: Arc<Executor>,
    pub(super) keys: Arc<Keys>,
    pub(super) stats: Arc<StatsCollector>,
    pub(super) store: Option<Arc<Store>>,
    pub(super) background: BackgroundTasks,
    pub(super) metrics: Arc<Metrics>,
    pub(super) queue: JobQueue,
}

/// The jobs that have not ended, and what they share.
pub(super) struct JobQueue {
    settings: JobSettings,
    live: scheduler::Live,
    /// Cancelled when running items are to be ended.
    halted: CancellationToken,
    /// Notified when a job has ended, which may have a callback.
    ended: tokio::sync::Notify,
    /// Budget for the items that run.
    memory: Budget,
}

/// Memory of the items that run: what clients wait for has its own.
const ITEMS_BYTES: usize = 512 << 20;

impl JobQueue {
    pub(super) fn new(settings: JobSettings, capacity: usize) -> Self {
        Self {
            settings,
            live: scheduler::Live::new(capacity),
            halted: CancellationToken::new(),
            ended: tokio::sync::Notify::new(),
            memory: Budget::new(ITEMS_BYTES),
        }
    }

    /// Returns the format of stored jobs.
    fn wire(&self) -> &dyn JobWire {
        &*self.settings.wire
    }

    /// Bounds where something is written for an owner who may hold `owner_bytes`.
    fn bounds(&self, owner_bytes: Option<u64>) -> JobBounds {
        let JobSettings { age, bytes, .. } = self.settings;
        JobBounds { age, bytes, owner_bytes, unfinished: MAX_UNFINISHED }
    }
}

fn now() -> i64 {
    Timestamp::now().as_millisecond()
}
