//! Work that runs beside a script within the same future: background jobs, and the host's interpreters.

use super::turn::Turn;
use crate::state::{BackgroundTask, Shell};
use crate::streams::WriterObserver;
use crate::{Host, PythonStart};
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

/// Turns without time left that one of them lets pass at most.
const MAX_MISSED: u8 = 8;

/// Future that is polled while its script's turn has time left: many of them that never rest are not one long turn.
pub(super) struct Paced<F> {
    work: F,
    turn: Arc<Turn>,
    missed: u8,
}

impl<F> Paced<F> {
    pub(super) fn new(work: F, turn: Arc<Turn>) -> Self {
        Self { work, turn, missed: 0 }
    }
}

impl<F: Future + Unpin> Future for Paced<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        if self.missed < MAX_MISSED && self.turn.is_over() {
            self.missed += 1;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.missed = 0;
        self.work.poll_unpin(context)
    }
}

/// Runs a script, and all that runs beside it, until all have ended; the script's exit code. Calls `on_exit` with it when
/// the script has ended and `outputs` are closed.
pub(super) async fn drive(
    host: &dyn Host,
    time: Arc<AtomicU64>,
    turn: Arc<Turn>,
    main: impl Future<Output = i32>,
    mut asked: UnboundedReceiver<BackgroundTask>,
    outputs: [WriterObserver; 2],
    on_exit: impl FnOnce(i32) + Send,
) -> i32 {
    let mut main = pin!(main);
    let mut on_exit = Some(on_exit);
    let mut running: FuturesUnordered<Paced<BoxFuture<'_, ()>>> = FuturesUnordered::new();
    let mut code = None;
    poll_fn(|context| {
        time.store(host.now(), Ordering::Relaxed);
        turn.begin();
        while let Poll::Ready(Some(beside)) = asked.poll_recv(context) {
            match beside {
                BackgroundTask::Job(job) => running.push(Paced::new(job, Arc::clone(&turn))),
                BackgroundTask::Python { start, ended, registration } => {
                    let work: BoxFuture<'_, ()> = Box::pin(async move {
                        if let Ok(code) = Abortable::new(host.python(start), registration).await {
                            // The one who waited may be gone.
                            let _ = ended.send(code);
                        }
                    });
                    running.push(Paced::new(work, Arc::clone(&turn)));
                }
            }
        }
        while let Poll::Ready(Some(())) = running.poll_next_unpin(context) {}
        if code.is_none()
            && let Poll::Ready(ended) = main.as_mut().poll(context)
        {
            code = Some(ended);
        }
        if let Some(code) = code
            && !outputs.iter().any(WriterObserver::is_open)
            && let Some(on_exit) = on_exit.take()
        {
            on_exit(code);
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
