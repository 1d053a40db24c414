//! Background jobs: futures beside that of the script.

use crate::state::{BackgroundTask, Done, Job, RUNNING, Shell, Stop};
use crate::streams::Reader;
use crate::syntax::Chain;
use futures_util::future::{AbortHandle, Abortable};
use std::pin::pin;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};

/// Ended jobs that are remembered for `wait`.
const REMEMBERED: usize = 200;
/// Exit code of a job that `kill` ends, 128 + SIGTERM as in bash.
const TERMINATED: i32 = 143;

impl Shell {
    fn jobs(&self) -> MutexGuard<'_, Vec<Job>> {
        self.own_jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts what stands before `&`.
    pub(super) async fn start_job(&mut self, chain: Arc<Chain>) -> Done {
        let Some(process) = self.shared.used.process() else {
            self.error("", "fork: retry: Resource temporarily unavailable").await;
            return Err(Stop::Exit(254));
        };
        let mut shell = self.subshell().await?;
        shell.streams.stdin = Reader::empty();
        // Jobs are polled beside the script, not within it.
        shell.level = 1;
        let ended = Arc::new(AtomicI32::new(RUNNING));
        let (abort, registration) = AbortHandle::new_pair();
        let id = self.shared.next_job.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(&self.shared);
        let result = Arc::clone(&ended);
        let work = async move {
            let done = shell.run_chain(&chain).await;
            shell.code_of(done)
        };
        let job = Box::pin(async move {
            let code = Abortable::new(work, registration).await.unwrap_or(TERMINATED);
            drop(process);
            result.store(code, Ordering::Relaxed);
            shared.job_ended.notify_waiters();
        });
        let mut jobs = self.jobs();
        if jobs.len() >= REMEMBERED {
            jobs.retain(|job| job.ended.load(Ordering::Relaxed) == RUNNING);
        }
        jobs.push(Job { id, ended, abort });
        drop(jobs);
        self.last_job = Some(id);
        // The receiver lives as long as the script.
        let _ = self.shared.beside.send(BackgroundTask::Job(job));
        Ok(0)
    }

    /// Waits for a job; its exit code, or none if there is no such job.
    pub(crate) async fn wait_for(&mut self, id: u32) -> Option<i32> {
        loop {
            let shared = Arc::clone(&self.shared);
            let mut notified = pin!(shared.job_ended.notified());
            notified.as_mut().enable();
            let code = self.jobs().iter().find(|job| job.id == id)?.ended.load(Ordering::Relaxed);
            if code != RUNNING {
                self.jobs().retain(|job| job.id != id);
                return Some(code);
            }
            notified.await;
        }
    }

    /// The ids of jobs started by this shell, oldest first.
    pub(crate) fn job_ids(&self) -> Vec<u32> {
        self.jobs().iter().map(|job| job.id).collect()
    }

    /// Returns the numbers of the jobs that still run.
    pub(crate) fn running_jobs(&self) -> Vec<u32> {
        self.jobs().iter().filter(|job| job.ended.load(Ordering::Relaxed) == RUNNING).map(|job| job.id).collect()
    }

    /// Ends a job. False: there is no such job running.
    pub(crate) fn end_job(&self, id: u32) -> bool {
        let jobs = self.jobs();
        let job = jobs.iter().find(|job| job.id == id && job.ended.load(Ordering::Relaxed) == RUNNING);
        if let Some(job) = job {
            job.abort.abort();
        }
        job.is_some()
    }
}
