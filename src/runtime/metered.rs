//! How long a guest ran, slept, and waited for a core; and its wall limit.
//!
//! The limit counts CPU time and sleep. Time in which the guest was ready but something else had the core is not its
//! fault and does not count, so that a verdict does not depend on load.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::time::Sleep;

/// Shared between the future that is metered and the host functions that it calls. All on one thread at a time.
#[derive(Debug, Default)]
pub struct Stopwatch {
    /// Set by a host function while it sleeps for the guest.
    sleeping: AtomicBool,
    /// Set by a host function while it is another guest's turn.
    idle: AtomicBool,
    /// CPU time and sleep before the poll under way, in nanoseconds.
    before: AtomicU64,
    /// The thread's CPU clock when the poll under way began, in nanoseconds.
    poll_began: AtomicU64,
}

impl Stopwatch {
    /// CPU time and sleep so far; to be called from within a poll.
    pub fn execution(&self) -> Duration {
        let running = thread_cpu().saturating_sub(self.poll_began.load(Ordering::Relaxed));
        Duration::from_nanos(self.before.load(Ordering::Relaxed) + running)
    }

    /// Says whether it is another guest's turn: time that nobody counts.
    pub fn set_idle(&self, idle: bool) {
        self.idle.store(idle, Ordering::Relaxed);
    }

    /// Whether the guest sleeps, or waits for another.
    pub fn rests(&self) -> bool {
        self.sleeping.load(Ordering::Relaxed) || self.idle.load(Ordering::Relaxed)
    }

    /// Waits in the guest's name, so long at most: none when that time is over.
    pub async fn wait_for<T>(&self, duration: Duration, what: impl Future<Output = T>) -> Option<T> {
        self.sleeping.store(true, Ordering::Relaxed);
        let waited = tokio::time::timeout(duration, what).await;
        self.sleeping.store(false, Ordering::Relaxed);
        waited.ok()
    }

    /// Sleeps in the guest's name.
    pub async fn sleep(&self, duration: Duration) {
        self.sleeping.store(true, Ordering::Relaxed);
        tokio::time::sleep(duration).await;
        self.sleeping.store(false, Ordering::Relaxed);
    }
}

/// Where the time of a guest went.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// On a core.
    pub cpu: Duration,
    /// Asleep.
    pub slept: Duration,
    /// Ready, without a core.
    pub waiting: Duration,
}

impl Times {
    /// What the wall limit counts.
    pub fn execution(&self) -> Duration {
        self.cpu + self.slept
    }
}

/// Runs `future` until it is done (`Some`) or its wall limit is met (`None`).
pub async fn metered<F: Future>(future: F, stopwatch: Arc<Stopwatch>, wall: Duration) -> (Option<F::Output>, Times) {
    let mut future = pin!(future);
    let mut times = Times::default();
    let mut left: Option<Instant> = None;
    let mut alarm: Option<Pin<Box<Sleep>>> = None;
    let output = std::future::poll_fn(|context| {
        let entered = Instant::now();
        if let Some(left) = left {
            let gap = entered - left;
            if alarm.take().is_some() {
                times.slept += gap;
            } else if !stopwatch.idle.load(Ordering::Relaxed) {
                times.waiting += gap;
            }
        }
        if times.execution() >= wall {
            return Poll::Ready(None);
        }
        let began = thread_cpu();
        stopwatch.before.store(u64::try_from(times.execution().as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        stopwatch.poll_began.store(began, Ordering::Relaxed);
        let polled = future.as_mut().poll(context);
        times.cpu += Duration::from_nanos(thread_cpu().saturating_sub(began));
        if let Poll::Ready(output) = polled {
            return Poll::Ready(Some(output));
        }
        if times.execution() >= wall {
            return Poll::Ready(None);
        }
        if stopwatch.sleeping.load(Ordering::Relaxed) {
            let mut sleep = Box::pin(tokio::time::sleep(wall - times.execution()));
            if sleep.as_mut().poll(context).is_ready() {
                context.waker().wake_by_ref();
            }
            alarm = Some(sleep);
        }
        left = Some(Instant::now());
        Poll::Pending
    })
    .await;
    (output, times)
}

/// CPU time of this thread, in nanoseconds.
fn thread_cpu() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the kernel to write to, and outlives the call.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } != 0;
    if failed { 0 } else { time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_cpu_clock_counts_work_and_not_sleep() {
        let began = thread_cpu();
        std::thread::sleep(Duration::from_millis(30));
        let slept = thread_cpu() - began;
        let mut x = 1u64;
        while thread_cpu() - began < slept + 5_000_000 {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        assert!(slept < 20_000_000, "{slept} ns of CPU for a sleep");
    }

    #[tokio::test(start_paused = true)]
    async fn sleep_counts_and_ends_at_the_limit() {
        let stopwatch = Arc::new(Stopwatch::default());
        let inner = Arc::clone(&stopwatch);
        let began = tokio::time::Instant::now();
        let (output, _) =
            metered(async move { inner.sleep(Duration::from_secs(3600)).await }, stopwatch, Duration::from_secs(2))
                .await;
        // The alarm runs on tokio's clock, which is paused here; the gap is measured on the real one.
        assert!(output.is_none() || began.elapsed() >= Duration::from_secs(2));
    }
}
