//! Background jobs: futures beside that of the script.

use crate::processes::Start;
use crate::state::{BackgroundTask, Done, Job, RUNNING, Shell};
use crate::streams::Reader;
use crate::syntax::Chain;
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};

/// Ended jobs that are remembered for `wait`.
const REMEMBERED: usize = 200;

/// Reason for the end of `wait`.
pub(crate) enum Waited {
    /// End of the job, with its exit code.
    Ended(i32),
    /// Arrival of this signal.
    Interrupted(i32),
}

impl Shell {
    fn jobs(&self) -> MutexGuard<'_, Vec<Job>> {
        self.own_jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts what stands before `&`.
    pub(super) async fn start_job(&mut self, chain: Arc<Chain>) -> Done {
        let Some(permit) = self.shared.used.process() else { return Err(self.no_process().await) };
        let mut shell = self.subshell().await?;
        let start = Start { number: None, parent: Some(&self.process), command: "bash", now: self.now() };
        let Some(entry) = self.shared.processes.start(start) else { return Err(self.no_process().await) };
        shell.process = Arc::clone(&entry.process);
        shell.owns_process = true;
        shell.streams.stdin = Reader::empty();
        // Jobs are polled beside the script, not within it.
        shell.level = 1;
        // A job of one command is that command.
        shell.becomes_next = chain.is_simple();
        shell.ends_with_next = chain.rest.is_empty();
        shell.catch_signals();
        let ended = Arc::new(AtomicI32::new(RUNNING));
        let id = entry.process.number;
        let shared = Arc::clone(&self.shared);
        let result = Arc::clone(&ended);
        let job = Box::pin(async move {
            let code = match entry.process.signals.over(shell.run_chain(&chain)).await {
                Ok(done) => shell.code_of(done),
                Err(signal) => 128 + signal,
            };
            // What it has open is closed before anybody hears of its end.
            drop((shell, entry, permit));
            result.store(code, Ordering::Relaxed);
            shared.job_ended.notify_waiters();
        });
        let mut jobs = self.jobs();
        if jobs.len() >= REMEMBERED {
            jobs.retain(|job| job.ended.load(Ordering::Relaxed) == RUNNING);
        }
        jobs.push(Job { id, ended });
        drop(jobs);
        self.last_job = Some(id);
        // The receiver lives as long as the script.
        let _ = self.shared.beside.send(BackgroundTask::Job(job));
        Ok(0)
    }

    /// Waits for a job, or for a signal that has a handler; the exit code, or none if there is no such job.
    pub(crate) async fn wait_for(&mut self, id: u32) -> Option<Waited> {
        loop {
            let shared = Arc::clone(&self.shared);
            let mut notified = pin!(shared.job_ended.notified());
            notified.as_mut().enable();
            let code = self.jobs().iter().find(|job| job.id == id)?.ended.load(Ordering::Relaxed);
            if code != RUNNING {
                self.jobs().retain(|job| job.id != id);
                return Some(Waited::Ended(code));
            }
            if self.traps.is_empty() || self.in_trap {
                notified.await;
            } else if let Either::Left((signal, _)) = select(pin!(self.process.signals.caught()), notified).await {
                return Some(Waited::Interrupted(signal));
            }
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
}
