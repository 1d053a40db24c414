//! Tasks: calls of tools that go on when their request has been answered, for their client to ask for later.
//!
//! A task lives until its time is over, and belongs to the key that began it. Its result is kept in memory.

use std::collections::BTreeMap;
use std::ops::Bound::{self, Excluded, Included};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use jiff::Timestamp;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, DetailedTask, JsonObject, Task as TaskState, TaskPayload, TaskStatus};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

use crate::telemetry;
use proofbox_memory::{Budget, Lease};
use proofbox_types::ids::KeyId;

/// Lifetime of a task whose client asks for none, and the longest that one can ask for.
pub(super) const DEFAULT_TTL: Duration = Duration::from_secs(1800);
pub(super) const MAX_TTL: Duration = Duration::from_secs(3600);
/// Interval at which clients are to ask for the state of a task.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Tasks of one key, and of all: those that have ended count until their time is over, as clients may still ask for them.
const MAX_OWN: usize = 128;
const MAX_ALL: usize = 2048;
/// Memory for the arguments of tasks that run and the results of those that have ended. One key has half of it.
const MEMORY: usize = 512 << 20;
/// Memory that is held for the result of a task that runs: more than any tool answers.
const MAX_RESULT: usize = 8 << 20;
/// Result of a task that was cancelled.
const CANCELLED: &str = "the task was cancelled";

/// Key of a task in the table: tasks of one owner are together, the oldest first.
type TaskKey = (Option<KeyId>, Uuid);

/// All tasks.
pub(super) struct Tasks(Arc<Table>);

struct Table {
    tasks: Mutex<BTreeMap<TaskKey, Arc<Task>>>,
    memory: Budget,
}

impl Default for Tasks {
    fn default() -> Self {
        Self(Arc::new(Table { tasks: Mutex::default(), memory: Budget::new(MEMORY) }))
    }
}

/// A task.
pub(super) struct Task {
    key: TaskKey,
    created: Timestamp,
    ttl: Duration,
    cancelled: CancellationToken,
    /// Ends what waits for the end of the lifetime, once the task is no longer in the table.
    _removed: DropGuard,
    progress: watch::Sender<Progress>,
}

/// State of a task that changes.
struct Progress {
    phase: Phase,
    /// Progress of the work, in words.
    doing: String,
    updated: Timestamp,
}

enum Phase {
    Working,
    Ended {
        result: Arc<CallToolResult>,
        /// Memory that is held as long as the result is kept.
        _memory: Lease,
    },
    Cancelled,
}

impl Phase {
    fn is_working(&self) -> bool {
        match self {
            Self::Working => true,
            Self::Ended { .. } | Self::Cancelled => false,
        }
    }
}

/// Reason why a call can't become a task.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoRoom {
    /// Too many tasks.
    #[error("there are too many tasks: wait until the time of some is over, and ask for a shorter one")]
    Tasks,
    /// Memory that is held by other tasks.
    #[error("tasks hold all the memory that they may: wait until some of them are over")]
    Memory,
}

/// State of a task, as the revisions of the protocol tell it in their own forms.
pub(super) struct Snapshot {
    pub status: Status,
    pub message: Option<String>,
    pub created: Timestamp,
    pub updated: Timestamp,
    pub ttl: Duration,
}

/// Phase of a task, and its result once it has ended.
pub(super) enum Status {
    Working,
    Ended(Arc<CallToolResult>),
    Cancelled,
}

impl Task {
    /// Returns the id by which clients ask for it.
    pub(super) fn id(&self) -> String {
        self.key.1.to_string()
    }

    /// Returns the token that is cancelled when the work is to end.
    pub(super) fn cancelled(&self) -> &CancellationToken {
        &self.cancelled
    }

    /// Notes what the work does.
    pub(super) fn note(&self, doing: &str) {
        self.progress.send_if_modified(|progress| {
            let is_news = progress.phase.is_working() && progress.doing != doing;
            if is_news {
                doing.clone_into(&mut progress.doing);
                progress.updated = Timestamp::now();
            }
            is_news
        });
    }

    /// Ends the work; returns whether it had not ended yet.
    pub(super) fn cancel(&self) -> bool {
        let was_working = self.settle(Phase::Cancelled);
        self.cancelled.cancel();
        was_working
    }

    /// Ends the phase in which the work goes on, if it does.
    fn settle(&self, phase: Phase) -> bool {
        self.progress.send_if_modified(|progress| {
            let was_working = progress.phase.is_working();
            if was_working {
                progress.phase = phase;
                progress.updated = Timestamp::now();
            }
            was_working
        })
    }

    /// Waits for the end of the work, and returns its result.
    pub(super) async fn result(&self) -> CallToolResult {
        let mut progress = self.progress.subscribe();
        let ended = progress.wait_for(|progress| !progress.phase.is_working()).await;
        match ended.as_ref().map(|progress| &progress.phase) {
            Ok(Phase::Ended { result, .. }) => result.as_ref().clone(),
            Ok(Phase::Cancelled | Phase::Working) | Err(_) => failed(CANCELLED),
        }
    }

    /// Returns the state.
    pub(super) fn snapshot(&self) -> Snapshot {
        let progress = self.progress.borrow();
        let (status, message) = match &progress.phase {
            Phase::Working => (Status::Working, Some(progress.doing.clone()).filter(|doing| !doing.is_empty())),
            Phase::Ended { result, .. } => (Status::Ended(Arc::clone(result)), None),
            Phase::Cancelled => (Status::Cancelled, Some(CANCELLED.to_owned())),
        };
        Snapshot { status, message, created: self.created, updated: progress.updated, ttl: self.ttl }
    }

    /// Returns the state in the form of the extension for tasks, of revision 2026-07-28.
    pub(super) fn state(&self) -> TaskState {
        self.state_of(&self.snapshot())
    }

    fn state_of(&self, snapshot: &Snapshot) -> TaskState {
        let Snapshot { status, message, created, updated, ttl } = snapshot;
        let status = match status {
            Status::Working => TaskStatus::Working,
            Status::Ended(_) => TaskStatus::Completed,
            Status::Cancelled => TaskStatus::Cancelled,
        };
        let mut state = TaskState::new(self.id(), status, time(*created), time(*updated));
        state.status_message.clone_from(message);
        state.with_ttl_ms(milliseconds(*ttl)).with_poll_interval_ms(milliseconds(POLL_INTERVAL))
    }

    /// Returns the state with the result, in the same form.
    pub(super) fn detailed(&self) -> DetailedTask {
        let snapshot = self.snapshot();
        let state = self.state_of(&snapshot);
        let payload = match snapshot.status {
            Status::Working => TaskPayload::Working,
            Status::Ended(result) => TaskPayload::Completed { result: object(&result) },
            Status::Cancelled => TaskPayload::Cancelled,
        };
        DetailedTask::new(state, payload)
    }
}

/// Renders a time as the protocol has it.
pub(super) fn time(time: Timestamp) -> String {
    format!("{time:.3}")
}

/// Returns a duration in milliseconds.
pub(super) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Renders a result as an object.
pub(super) fn object(result: &CallToolResult) -> JsonObject {
    match serde_json::to_value(result) {
        Ok(serde_json::Value::Object(object)) => object,
        _ => JsonObject::new(),
    }
}

fn failed(sentence: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(sentence)])
}

impl Table {
    fn tasks(&self) -> MutexGuard<'_, BTreeMap<TaskKey, Arc<Task>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a task, if there are not too many.
    fn insert(&self, task: &Arc<Task>) -> Result<(), NoRoom> {
        let mut tasks = self.tasks();
        let own = tasks.range(own(task.key.0, Included(Uuid::nil()))).count();
        if own >= MAX_OWN || tasks.len() >= MAX_ALL {
            return Err(NoRoom::Tasks);
        }
        tasks.insert(task.key, Arc::clone(task));
        Ok(())
    }
}

/// Returns the range of an owner's tasks from this one.
fn own(owner: Option<KeyId>, first: Bound<Uuid>) -> (Bound<TaskKey>, Bound<TaskKey>) {
    (first.map(|first| (owner, first)), Included((owner, Uuid::max())))
}

impl Tasks {
    /// Begins a task: `work` goes on until it ends, the task is cancelled or its lifetime is over. `bytes` is the size
    /// of what the work was given.
    ///
    /// # Errors
    /// Returns an error when there is no room for another task.
    pub(super) fn begin<F>(
        &self,
        owner: Option<KeyId>,
        ttl: Duration,
        bytes: usize,
        work: impl FnOnce(Arc<Task>) -> F,
    ) -> Result<Arc<Task>, NoRoom>
    where
        F: Future<Output = CallToolResult> + Send + 'static,
    {
        let mut lease = self.0.memory.account(owner).lease();
        lease.try_grow(bytes.saturating_add(MAX_RESULT)).map_err(|_| NoRoom::Memory)?;
        let (now, removed) = (Timestamp::now(), CancellationToken::new());
        let progress = Progress { phase: Phase::Working, doing: String::new(), updated: now };
        let task = Arc::new(Task {
            key: (owner, Uuid::now_v7()),
            created: now,
            ttl,
            cancelled: CancellationToken::new(),
            _removed: removed.clone().drop_guard(),
            progress: watch::Sender::new(progress),
        });
        self.0.insert(&task)?;
        let work = telemetry::carry(work(Arc::clone(&task)));
        let life = Life { table: Arc::downgrade(&self.0), task: Arc::downgrade(&task), key: task.key };
        drop(tokio::spawn(life.live(work, lease, Instant::now() + ttl, removed)));
        Ok(task)
    }

    /// Returns an owner's task of this id.
    ///
    /// # Errors
    /// Returns an error when the owner has no such task.
    pub(super) fn get(&self, owner: Option<KeyId>, id: &str) -> Result<Arc<Task>, ErrorData> {
        let task = Uuid::try_parse(id).ok().and_then(|id| self.0.tasks().get(&(owner, id)).cloned());
        task.ok_or_else(|| ErrorData::invalid_params("there is no such task: its time may be over", None))
    }

    /// Lists at most `most` tasks of an owner, the oldest first, beginning after the task of this id.
    pub(super) fn list(&self, owner: Option<KeyId>, after: Option<Uuid>, most: usize) -> Vec<Arc<Task>> {
        let tasks = self.0.tasks();
        let range = own(owner, after.map_or(Included(Uuid::nil()), Excluded));
        tasks.range(range).take(most).map(|(_, task)| Arc::clone(task)).collect()
    }

    /// Removes a task whose client was never told of it, and ends its work.
    pub(super) fn remove(&self, task: &Task) {
        self.0.tasks().remove(&task.key);
        task.cancel();
    }
}

/// Life of a task from its beginning to the end of its lifetime. It holds neither the task nor the table: a task that has
/// been removed is gone.
struct Life {
    table: Weak<Table>,
    task: Weak<Task>,
    key: TaskKey,
}

impl Life {
    async fn live(
        self,
        work: impl Future<Output = CallToolResult>,
        mut lease: Lease,
        expires: Instant,
        removed: CancellationToken,
    ) {
        let mut work = std::pin::pin!(work);
        // Work that is cancelled ends by itself, with what it has opened.
        let ended = match timeout_at(expires, &mut work).await {
            Ok(result) => Some(result),
            Err(_) => {
                if let Some(task) = self.task.upgrade() {
                    task.cancel();
                }
                work.await;
                None
            }
        };
        if let (Some(result), Some(task)) = (ended, self.task.upgrade()) {
            lease.shrink(size(&result));
            task.settle(Phase::Ended { result: Arc::new(result), _memory: lease });
        } else {
            drop(lease);
        }
        let _ = timeout_at(expires, removed.cancelled()).await;
        if let Some(table) = self.table.upgrade() {
            table.tasks().remove(&self.key);
        }
    }
}

/// Returns about how many bytes a result takes.
fn size(result: &CallToolResult) -> usize {
    let block = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => text.text.len(),
        ContentBlock::Image(image) => image.data.len(),
        // Tools answer nothing else.
        _ => 0,
    };
    let content: usize = result.content.iter().map(block).sum();
    // The structured content is the first text once more.
    content + result.content.first().map_or(0, block)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn done(text: String) -> CallToolResult {
        CallToolResult::success(vec![ContentBlock::text(text)])
    }

    fn endless(tasks: &Tasks, owner: Option<KeyId>, ttl: Duration) -> Result<Arc<Task>, NoRoom> {
        tasks.begin(owner, ttl, 0, |task| async move {
            task.cancelled().cancelled().await;
            failed("ended")
        })
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_has_its_result_until_its_time_is_over() {
        let tasks = Tasks::default();
        let owner = Some(KeyId::generate());
        let task = tasks.begin(owner, Duration::from_secs(10), 7, |_| done("hello".to_owned())).expect("there is room");
        assert_eq!(task.result().await.content[0].as_text().map(|text| text.text.as_str()), Some("hello"));
        assert!(tasks.get(owner, &task.id()).is_ok() && tasks.get(None, &task.id()).is_err());
        assert!(!task.cancel(), "it has ended");
        let id = task.id();
        drop(task);
        tokio::time::sleep(Duration::from_secs(9)).await;
        assert!(tasks.get(owner, &id).is_ok());
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(tasks.get(owner, &id).is_err() && tasks.0.tasks().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn work_ends_with_its_time_and_when_it_is_cancelled() {
        let tasks = Tasks::default();
        let (one, two) = (endless(&tasks, None, MAX_TTL), endless(&tasks, None, Duration::from_secs(5)));
        let (one, two) = (one.expect("there is room"), two.expect("there is room"));
        assert!(one.cancel() && !one.cancel());
        assert!(matches!(one.snapshot().status, Status::Cancelled));
        assert_eq!(one.result().await.is_error, Some(true));
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert!(two.cancelled().is_cancelled());
        assert_eq!(tasks.list(None, None, 9).len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn tasks_of_an_owner_are_bounded_until_their_time_is_over() {
        let tasks = Tasks::default();
        let owner = Some(KeyId::generate());
        let mut all = Vec::new();
        for _ in 0..MAX_OWN {
            let task = tasks.begin(owner, MAX_TTL, 0, |_| done(String::new())).expect("there is room");
            task.result().await;
            all.push(task);
        }
        assert_eq!(endless(&tasks, owner, MAX_TTL).err(), Some(NoRoom::Tasks));
        assert!(endless(&tasks, None, MAX_TTL).is_ok(), "another owner's");
        assert_eq!(tasks.list(owner, Some(all[MAX_OWN - 2].key.1), 9).len(), 1);
        tokio::time::sleep(MAX_TTL + Duration::from_secs(1)).await;
        assert!(endless(&tasks, owner, MAX_TTL).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn results_and_arguments_are_bounded_in_memory() {
        let tasks = Tasks::default();
        assert_eq!(tasks.begin(None, MAX_TTL, MEMORY, |_| done(String::new())).err(), Some(NoRoom::Memory));
        let most = MEMORY / 2 / MAX_RESULT;
        let running: Vec<_> = (0..most).map(|_| endless(&tasks, None, MAX_TTL).expect("there is room")).collect();
        assert_eq!(endless(&tasks, None, MAX_TTL).err(), Some(NoRoom::Memory));
        // Of those that have ended, only the results are kept.
        running.iter().for_each(|task| assert!(task.cancel()));
        tokio::time::sleep(Duration::from_secs(1)).await;
        let ended: Vec<_> =
            (0..most).map(|_| tasks.begin(None, MAX_TTL, 0, |_| done("x".repeat(MAX_RESULT / 4)))).collect();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(ended.iter().all(Result::is_ok));
        assert!(tasks.begin(None, MAX_TTL, MEMORY / 8, |_| done(String::new())).is_ok());
        assert_eq!(tasks.begin(None, MAX_TTL, MEMORY / 4, |_| done(String::new())).err(), Some(NoRoom::Memory));
    }
}
