//! Metering and scheduling of guests: CPU time, sleep, waiting for a core, and the wall limit.
//!
//! Guests of one worker run in time slices of about a millisecond. Those that have run for long run one at a time, in
//! rotation, and leave most of the core to others where there are such: however many of them there are, whoever comes
//! is slowed down by a fifth. (A multilevel feedback queue of two levels: Corbató, Daggett, Daley, "An experimental
//! time-sharing system", 1962.)
//!
//! The limit counts CPU time and sleep. Time in which the guest was ready but something else had the core is not its
//! fault and does not count, so that a verdict does not depend on load.

use std::cell::Cell;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;
use tokio_util::sync::PollSemaphore;

/// Time after which a host call ends the time slice that its guest has. What computes alone ends it by its fuel.
const TIME_SLICE: Duration = Duration::from_millis(1);
/// CpuScheduler time after which a guest counts as long-running.
const LONG: Duration = Duration::from_millis(10);
/// Age up to which a reading of the thread's CPU clock is carried on by the time that has passed. To read it is a call of
/// the kernel, which costs a tenth of a short turn in a conversation of two guests; what else can have had the core for
/// part of so short a time is next to nothing, and counts as sleep or as waiting besides.
const RECENT: Duration = Duration::from_micros(20);
/// Multiple of the core time used by long-running guests that they leave to others, while others want the core.
const LEFT_TO_OTHERS: u32 = 4;

/// Scheduler by which the guests of one worker share its core.
#[derive(Clone, Debug)]
pub(crate) struct CpuScheduler(Arc<SchedulerState>);

#[derive(Debug)]
struct SchedulerState {
    /// Permit of long-running guests: one at a time has it.
    long_turn: Arc<Semaphore>,
    /// Number of guests that are not long-running and want the core now.
    short: AtomicUsize,
    began: Instant,
    /// Time at which the next long-running guest may continue while others want the core; in nanoseconds since `began`.
    next_long: AtomicU64,
}

impl Default for CpuScheduler {
    fn default() -> Self {
        Self(Arc::new(SchedulerState {
            long_turn: Arc::new(Semaphore::new(1)),
            short: AtomicUsize::new(0),
            began: Instant::now(),
            next_long: AtomicU64::new(0),
        }))
    }
}

impl CpuScheduler {
    fn since_began(&self, at: Instant) -> u64 {
        u64::try_from(at.duration_since(self.0.began).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Returns whether the core is left to the others at `now`.
    fn is_left_to_others(&self, now: Instant) -> bool {
        self.0.short.load(Ordering::Relaxed) > 0 && self.since_began(now) < self.0.next_long.load(Ordering::Relaxed)
    }

    fn charge_long(&self, from: Instant, to: Instant) {
        let next = to + (to - from) * LEFT_TO_OTHERS;
        self.0.next_long.store(self.since_began(next), Ordering::Relaxed);
    }
}

/// A guest that does not run for long, counted while it wants the core.
struct Short<'a> {
    core: &'a CpuScheduler,
    counted: bool,
}

impl Short<'_> {
    fn want_turn(&mut self) {
        if !self.counted {
            self.core.0.short.fetch_add(1, Ordering::Relaxed);
            self.counted = true;
        }
    }

    fn leave(&mut self) {
        if self.counted {
            self.core.0.short.fetch_sub(1, Ordering::Relaxed);
            self.counted = false;
        }
    }
}

impl Drop for Short<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Shared between the future that is metered and the host functions that it calls. All on one thread at a time.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    made: Instant,
    /// Start of the time slice under way, in nanoseconds since `made`; the largest number before the first.
    slice_began: AtomicU64,
    /// Set by a host function while it sleeps for the guest.
    sleeping: AtomicBool,
    /// True while it is another guest's turn in a conversation; set by a host function.
    idle: AtomicBool,
    /// CPU time and sleep before the poll under way, in nanoseconds.
    before: AtomicU64,
    /// The thread's CPU clock when the poll under way began, in nanoseconds.
    poll_began: AtomicU64,
    /// Fuel used when a host function yielded, plus one; 0 where none did since it was last asked.
    fuel_at_yield: AtomicU64,
}

impl Default for Stopwatch {
    fn default() -> Self {
        Self {
            made: Instant::now(),
            slice_began: AtomicU64::new(u64::MAX),
            sleeping: AtomicBool::default(),
            idle: AtomicBool::default(),
            before: AtomicU64::default(),
            poll_began: AtomicU64::default(),
            fuel_at_yield: AtomicU64::default(),
        }
    }
}

impl Stopwatch {
    fn since_made(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.made).as_nanos()).unwrap_or(u64::MAX)
    }

    fn begin_slice(&self, now: Instant) {
        self.slice_began.store(self.since_made(now), Ordering::Relaxed);
    }

    /// Returns whether the guest has had the core for a time slice.
    pub(crate) fn is_slice_over(&self) -> bool {
        let lasted = self.since_made(Instant::now()).saturating_sub(self.slice_began.load(Ordering::Relaxed));
        lasted >= TIME_SLICE.as_nanos() as u64
    }

    /// CPU time and sleep so far; to be called from within a poll.
    pub(crate) fn execution(&self) -> Duration {
        let running = thread_cpu_at(Instant::now()).saturating_sub(self.poll_began.load(Ordering::Relaxed));
        Duration::from_nanos(self.before.load(Ordering::Relaxed) + running)
    }

    /// Notes how much fuel the guest has used, where a host function yields in its name.
    pub(crate) fn note_fuel(&self, used: u64) {
        self.fuel_at_yield.store(used.saturating_add(1), Ordering::Relaxed);
    }

    /// Returns the fuel that was noted since the last call of this.
    pub(crate) fn take_noted_fuel(&self) -> Option<u64> {
        self.fuel_at_yield.swap(0, Ordering::Relaxed).checked_sub(1)
    }

    /// Notes that it is another guest's time slice in a conversation: time that nobody counts.
    pub(crate) fn begin_idle(&self) {
        self.idle.store(true, Ordering::Relaxed);
    }

    /// Notes that time counts again.
    pub(crate) fn end_idle(&self) {
        self.idle.store(false, Ordering::Relaxed);
    }

    /// Returns whether the guest sleeps, or waits for another.
    pub(crate) fn is_idle(&self) -> bool {
        self.sleeping.load(Ordering::Relaxed) || self.idle.load(Ordering::Relaxed)
    }

    /// Waits in the guest's name, at most `duration`: none when that time is over.
    pub(crate) async fn wait_for<T>(&self, duration: Duration, what: impl Future<Output = T>) -> Option<T> {
        self.sleeping.store(true, Ordering::Relaxed);
        let waited = tokio::time::timeout(duration, what).await;
        self.sleeping.store(false, Ordering::Relaxed);
        waited.ok()
    }

    /// Sleeps in the guest's name.
    pub(crate) async fn sleep(&self, duration: Duration) {
        self.sleeping.store(true, Ordering::Relaxed);
        tokio::time::sleep(duration).await;
        self.sleeping.store(false, Ordering::Relaxed);
    }
}

/// Breakdown of a guest's time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    /// Time on a core.
    pub cpu: Duration,
    /// Time that the guest slept.
    pub slept: Duration,
    /// Ready, without a core.
    pub waiting: Duration,
}

impl Times {
    /// Returns the time that the wall limit counts: CPU time and sleep.
    pub(crate) fn execution(&self) -> Duration {
        self.cpu + self.slept
    }
}

/// Runs `future` until it is done (`Some`) or its wall limit is met (`None`).
pub(crate) async fn run_metered<F: Future>(
    future: F,
    stopwatch: Arc<Stopwatch>,
    wall: Duration,
    core: &CpuScheduler,
) -> (Option<F::Output>, Times) {
    let mut future = pin!(future);
    let mut long_turn = PollSemaphore::new(Arc::clone(&core.0.long_turn));
    let mut turn: Option<OwnedSemaphorePermit> = None;
    let mut short = Short { core, counted: false };
    let mut times = Times::default();
    let mut left: Option<Instant> = None;
    let mut wanted: Option<Instant> = None;
    let mut alarm: Option<Pin<Box<Sleep>>> = None;
    let output = std::future::poll_fn(|context| {
        let now = Instant::now();
        let is_long = times.cpu >= LONG;
        if is_long {
            short.leave();
        } else {
            short.want_turn();
        }
        // One that rests waits for something that may itself be a guest, polled within this poll: that one takes its turn.
        if is_long && !stopwatch.is_idle() {
            if turn.is_none() {
                turn = match long_turn.poll_acquire(context) {
                    Poll::Ready(turn) => turn,
                    Poll::Pending => {
                        wanted.get_or_insert(now);
                        return Poll::Pending;
                    }
                };
            }
            if core.is_left_to_others(now) {
                wanted.get_or_insert(now);
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        // Held for this one turn.
        let _turn = turn.take();
        let wanted = wanted.take().unwrap_or(now);
        times.waiting += now - wanted;
        if let Some(left) = left {
            let gap = wanted - left;
            if alarm.take().is_some() {
                times.slept += gap;
            } else if !stopwatch.idle.load(Ordering::Relaxed) {
                times.waiting += gap;
            }
        }
        if times.execution() >= wall {
            return Poll::Ready(None);
        }
        let began = thread_cpu_at(now);
        stopwatch.before.store(u64::try_from(times.execution().as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        stopwatch.poll_began.store(began, Ordering::Relaxed);
        stopwatch.begin_slice(now);
        let polled = future.as_mut().poll(context);
        let entered = now;
        let now = Instant::now();
        times.cpu += Duration::from_nanos(thread_cpu_at(now).saturating_sub(began));
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
        left = Some(now);
        if is_long {
            core.charge_long(entered, now);
        } else if stopwatch.is_idle() {
            short.leave();
        } else {
            short.want_turn();
        }
        Poll::Pending
    })
    .await;
    (output, times)
}

/// CPU time of this thread, in nanoseconds.
fn thread_cpu() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// CPU time of this thread at `now`, in nanoseconds: read, or carried on from a reading that is younger than [`RECENT`].
fn thread_cpu_at(now: Instant) -> u64 {
    thread_local! {
        static LAST: Cell<Option<(Instant, u64)>> = const { Cell::new(None) };
    }
    let age = |read: Instant| now.saturating_duration_since(read);
    match LAST.get() {
        Some((read, cpu)) if age(read) < RECENT => cpu + u64::try_from(age(read).as_nanos()).unwrap_or(u64::MAX),
        _ => {
            let cpu = thread_cpu();
            LAST.set(Some((now, cpu)));
            cpu
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recent_reading_of_the_clock_is_carried_on_and_an_old_one_is_not() {
        let read = Instant::now();
        let cpu = thread_cpu_at(read);
        assert_eq!(thread_cpu_at(read + Duration::from_micros(7)), cpu + 7_000);
        std::thread::sleep(Duration::from_millis(30));
        let later = thread_cpu_at(Instant::now());
        assert!(later - cpu < 20_000_000, "{} ns of CPU for a sleep", later - cpu);
    }

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
        let (output, _) = run_metered(
            async move { inner.sleep(Duration::from_secs(3600)).await },
            stopwatch,
            Duration::from_secs(2),
            &CpuScheduler::default(),
        )
        .await;
        // The alarm runs on tokio's clock, which is paused here; the gap is measured on the real one.
        assert!(output.is_none() || began.elapsed() >= Duration::from_secs(2));
    }

    /// Guest that has `turns` time slices of 2 ms each.
    async fn turns(turns: usize) {
        for _ in 0..turns {
            let began = thread_cpu();
            while thread_cpu() - began < 2_000_000 {
                std::hint::spin_loop();
            }
            tokio::task::yield_now().await;
        }
    }

    /// Returns how long a guest of two time slices takes beside `others` that run for long.
    async fn beside(others: usize) -> Duration {
        let core = CpuScheduler::default();
        let guest = |count| {
            let (core, stopwatch) = (core.clone(), Arc::new(Stopwatch::default()));
            async move { run_metered(turns(count), stopwatch, Duration::from_secs(60), &core).await }
        };
        let others: Vec<_> = (0..others).map(|_| tokio::spawn(guest(usize::MAX))).collect();
        // All have become such that run for long.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        while core.0.short.load(Ordering::Relaxed) > 0 {
            tokio::task::yield_now().await;
        }
        let began = thread_cpu();
        let (done, _) = guest(2).await;
        assert!(done.is_some());
        for other in others {
            other.abort();
        }
        Duration::from_nanos(thread_cpu() - began)
    }

    #[tokio::test]
    async fn whoever_comes_waits_for_one_of_those_that_run_for_long() {
        // On one thread: its CPU time is that of all of them, whatever else the machine does.
        let (few, many) = (beside(2).await, beside(12).await);
        assert!(many < few * 2, "beside two {few:?}, beside twelve {many:?}");
    }
}
