//! Submissions of clients that know neither a queue nor 429: they wait among the background submissions as long as it
//! takes. When the client has stopped waiting, the submission goes on unattended for a while, so that the same request,
//! sent again, keeps its place in the queue and gets the result.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinError;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use super::{ExecuteError, Execution, Executor, StatsCollector};
use crate::metrics::Metrics;
use crate::telemetry;
use proofbox_types::caller::{Caller, Urgency};
use proofbox_types::ids::KeyId;
use proofbox_types::outcome::Captured;
use proofbox_types::program::{File, Program};
use proofbox_types::status::Status;
use proofbox_types::submission::Submission;

/// Maximum number of submissions that go on unattended.
const MAX_UNATTENDED: usize = 1024;
/// Longest time that a submission goes on unattended, and that its result is kept: clients wait longer and longer
/// before they try again.
const MAX_UNATTENDED_TIME: Duration = Duration::from_secs(20);
/// Largest submission that goes on unattended, in bytes of its program's source, input and files.
const MAX_UNATTENDED_BYTES: usize = 256 << 10;
/// Most output of a result that is kept, files included, in bytes.
const MAX_UNATTENDED_OUTPUT: usize = 256 << 10;
/// Times that a submission is run which fails for reasons of the service's own.
const MAX_RUNS: usize = 3;

/// Identity of a request, by which it is recognised when it is sent again: a digest of all that it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestDigest(pub [u8; 32]);

/// Reason why a submission has no result.
#[derive(Debug, thiserror::Error)]
pub enum UnansweredError {
    /// Submission that was refused; nothing was run.
    #[error(transparent)]
    Refused(ExecuteError),
    /// Submission that has not ended by its deadline.
    #[error("the service is busy, and this has not ended in time; send it again")]
    Late,
    /// Failure of the service itself.
    #[error("the service failed; send this again")]
    Failed,
}

/// Name of a request that may be sent again: its sender, and what it says.
type Name = (Option<KeyId>, RequestDigest);

/// Submissions that go on without anybody waiting for them.
#[derive(Default)]
pub(super) struct LeftWork(Mutex<HashMap<Name, Vec<Work>>>);

/// Result of a submission that has ended.
type Ended = Result<Execution, ExecuteError>;

/// Submission that runs in a task of its own, which ends with this.
struct Work {
    task: AbortOnDropHandle<Option<Ended>>,
    /// End of the time without anybody waiting; none while somebody does.
    expires: watch::Sender<Option<Instant>>,
}

impl LeftWork {
    fn all(&self) -> MutexGuard<'_, HashMap<Name, Vec<Work>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over the work for a request that was sent before.
    fn claim(&self, name: Name) -> Option<Work> {
        let mut all = self.all();
        let Entry::Occupied(mut same) = all.entry(name) else { return None };
        let work = same.get_mut().pop();
        if same.get().is_empty() {
            same.remove();
        }
        drop(all);
        let work = work.filter(|work| (*work.expires.borrow()).is_some_and(|expires| expires > Instant::now()))?;
        work.expires.send_replace(None);
        Some(work)
    }

    /// Lets work go on for a while, if there is room; else it ends.
    fn leave(&self, name: Name, work: Work) {
        let now = Instant::now();
        work.expires.send_replace(Some(now + MAX_UNATTENDED_TIME));
        let mut all = self.all();
        if all.len() >= MAX_UNATTENDED {
            all.retain(|_, same| {
                same.retain(|work| work.expires.borrow().is_some_and(|expires| expires > now));
                !same.is_empty()
            });
        }
        if all.values().map(Vec::len).sum::<usize>() < MAX_UNATTENDED {
            all.entry(name).or_default().push(work);
        }
    }
}

/// Submission that somebody waits for. When nobody does any more, it is left.
struct Attended<'a> {
    left: &'a LeftWork,
    name: Name,
    may_be_left: bool,
    /// The work; none once it has ended.
    work: Option<Work>,
}

impl Attended<'_> {
    /// Waits for the end of the work.
    async fn ended(&mut self, deadline: Instant) -> Result<Result<Option<Ended>, JoinError>, Elapsed> {
        let Some(work) = &mut self.work else { return Ok(Ok(None)) };
        let ended = timeout_at(deadline, &mut work.task).await?;
        self.work = None;
        Ok(ended)
    }
}

impl Drop for Attended<'_> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take().filter(|_| self.may_be_left) {
            self.left.leave(self.name, work);
        }
    }
}

/// Runs of submissions that may go on without anybody waiting for them.
pub struct UnattendedRunner {
    pub(super) executor: Arc<Executor>,
    pub(super) stats: Arc<StatsCollector>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) left: LeftWork,
}

impl UnattendedRunner {
    /// Runs a submission as background work, which waits in the queue as long as it takes, and returns its result if it
    /// ends before `deadline`. `request` recognises the request when it is sent again after [`UnansweredError::Late`], or
    /// after the future has been dropped.
    ///
    /// # Errors
    /// Returns an error when it is refused, has not ended in time, or the service fails. The result is never of status
    /// `infrastructure_error`.
    pub async fn submit_until(
        &self,
        caller: &Caller,
        submission: Submission,
        request: RequestDigest,
        deadline: Instant,
    ) -> Result<Execution, UnansweredError> {
        let name = (caller.owner(), request);
        let may_be_left = input_bytes(&submission.program) <= MAX_UNATTENDED_BYTES;
        let work = match self.left.claim(name) {
            Some(work) => work,
            None => self.begin(caller, submission),
        };
        let mut attended = Attended { left: &self.left, name, may_be_left, work: Some(work) };
        match attended.ended(deadline).await {
            Ok(Ok(Some(Ok(execution)))) if execution.verdict.status == Status::InfrastructureError => {
                Err(UnansweredError::Failed)
            }
            Ok(Ok(Some(Ok(execution)))) => Ok(execution),
            Ok(Ok(Some(Err(ExecuteError::Busy(_))))) => Err(UnansweredError::Late),
            Ok(Ok(Some(Err(refused)))) => Err(UnansweredError::Refused(refused)),
            // It panicked, or expired in the moment when it was claimed.
            Ok(Ok(None) | Err(_)) => Err(UnansweredError::Failed),
            Err(_) => {
                self.metrics.refused.with_label_values(&["busy"]).inc();
                Err(UnansweredError::Late)
            }
        }
    }

    fn begin(&self, caller: &Caller, submission: Submission) -> Work {
        let (executor, stats, caller) = (Arc::clone(&self.executor), Arc::clone(&self.stats), caller.clone());
        let (expires, mut watched) = watch::channel(None);
        let task = async move {
            let mut work = std::pin::pin!(submit_persistently(&executor, &stats, &caller, submission));
            loop {
                let expires: Option<Instant> = *watched.borrow_and_update();
                tokio::select! {
                    result = &mut work => {
                        let is_left = watched.borrow().is_some();
                        let too_large = |result: &Execution| output_bytes(result) > MAX_UNATTENDED_OUTPUT;
                        return Some(result).filter(|result| !(is_left && result.as_ref().is_ok_and(too_large)));
                    }
                    changed = watched.changed() => changed.ok()?,
                    () = sleep_until(expires.unwrap_or_else(Instant::now)), if expires.is_some() => return None,
                }
            }
        };
        Work { task: AbortOnDropHandle::new(tokio::spawn(telemetry::carry(task))), expires }
    }
}

/// Runs a submission, again if the service itself fails; not one that ended a worker.
async fn submit_persistently(
    executor: &Executor,
    stats: &StatsCollector,
    caller: &Caller,
    submission: Submission,
) -> Result<Execution, ExecuteError> {
    let labels = submission.labels.clone();
    for _ in 1..MAX_RUNS {
        let execution = executor.submit(caller, Urgency::Batch, submission.clone()).await?;
        if execution.verdict.status != Status::InfrastructureError || execution.is_blamed {
            stats.note(caller, &execution, &labels);
            return Ok(execution);
        }
    }
    let execution = executor.submit(caller, Urgency::Batch, submission).await?;
    stats.note(caller, &execution, &labels);
    Ok(execution)
}

fn input_bytes(program: &Program) -> usize {
    let files = |files: &[File]| files.iter().map(|file| file.content.len()).sum::<usize>();
    program.code.len() + program.stdin.len() + files(&program.files) + files(&program.test_files)
}

fn output_bytes(execution: &Execution) -> usize {
    let streams = [&execution.stdout, &execution.stderr];
    streams.into_iter().map(Captured::kept_bytes).sum::<usize>()
        + execution.files.iter().map(|file| file.content.len()).sum::<usize>()
}
