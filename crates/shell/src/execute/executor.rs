//! Work that runs beside a script within the same future: background jobs, and the host's interpreters.

use crate::state::{BackgroundTask, Shell};
use crate::{Host, PythonStart};
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::FuturesUnordered;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

/// Runs a script, and all that runs beside it, until all have ended; the script's exit code.
pub(super) async fn drive(
    host: &dyn Host,
    time: Arc<AtomicU64>,
    main: impl Future<Output = i32>,
    mut asked: UnboundedReceiver<BackgroundTask>,
) -> i32 {
    let mut main = pin!(main);
    let mut running: FuturesUnordered<BoxFuture<'_, ()>> = FuturesUnordered::new();
    let mut code = None;
    poll_fn(|context| {
        time.store(host.now(), Ordering::Relaxed);
        while let Poll::Ready(Some(beside)) = asked.poll_recv(context) {
            match beside {
                BackgroundTask::Job(job) => running.push(job),
                BackgroundTask::Python { start, ended, registration } => running.push(Box::pin(async move {
                    if let Ok(code) = Abortable::new(host.python(start), registration).await {
                        // The one who waited may be gone.
                        let _ = ended.send(code);
                    }
                })),
            }
        }
        while let Poll::Ready(Some(())) = running.poll_next_unpin(context) {}
        if code.is_none()
            && let Poll::Ready(ended) = main.as_mut().poll(context)
        {
            code = Some(ended);
        }
        // What has just been asked for is looked at in the next turn: within this one tokio may give no more.
        if !asked.is_empty() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        match code {
            Some(code) if running.is_empty() => Poll::Ready(code),
            Some(_) | None => Poll::Pending,
        }
    })
    .await
}

/// Ends an interpreter when nobody waits for it any more.
struct Ends(AbortHandle);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Shell {
    /// Runs `python3` to its end; its exit code.
    pub(crate) async fn run_python(&self, start: PythonStart) -> i32 {
        let (handle, registration) = AbortHandle::new_pair();
        let (ended, code) = oneshot::channel();
        let _ends = Ends(handle);
        // Who takes it lives as long as the script.
        let _ = self.shared.beside.send(BackgroundTask::Python { start, ended, registration });
        code.await.unwrap_or(1)
    }
}
