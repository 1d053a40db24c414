//! Admission of runs: permits for runs, and a queue before them that is fair between keys, and between interactive and
//! background submissions.
//!
//! Each key has a lane. A free permit goes to the lane that holds the fewest permits (max-min fairness), among those to
//! the one that has held permits for the least time; within a lane to an interactive submission, and every fourth time
//! to a background one. The last eighth of the permits is reserved for lanes that hold few, so that a newcomer finds
//! one, however many long runs another key has begun. The last quarter of the permits is never held by background
//! submissions, so that interactive ones of the same key find a permit, and a share of the processors, beside long jobs.
//! The queue is bounded in length and in time: a submission that would wait longer than is allowed is refused at once,
//! with the time after which there should be room.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::metrics::Metrics;
use proofbox_types::caller::{Caller, Urgency};
use proofbox_types::ids::KeyId;

/// Refusal of a submission: the queue is full, or would take too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("all places are taken and the queue is full; try again in {} s", retry_after.as_secs())]
pub struct Busy {
    /// Time after which to try again, in whole seconds.
    pub retry_after: Duration,
}

/// Every so many of a lane's permits go to background submissions, if there are any.
const BATCH_TURN: u32 = 4;
/// Divisor of the number of permits that gives the part reserved for lanes that hold few.
const RESERVED: usize = 8;
/// Divisor of the number of permits that gives the part reserved for interactive submissions.
const INTERACTIVE: usize = 4;
/// Time for which a run is assumed to hold a permit before anything has been measured.
const FIRST_GUESS: Duration = Duration::from_millis(5);
/// Weight of a new measurement in the mean.
const SMOOTHING: f64 = 1.0 / 32.0;
/// Longest time after which a refused submission is told to try again.
const MAX_RETRY: Duration = Duration::from_secs(60);

/// Bounds on runs and on the queue.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionSettings {
    /// Number of runs at once.
    pub capacity: usize,
    /// Submissions that may wait; those in the background are not counted.
    pub most_queued: usize,
    /// Longest time that a submission may wait.
    pub max_wait: Duration,
}

/// Permits for runs, and the queue before them.
pub struct Admission {
    settings: AdmissionSettings,
    state: Arc<Mutex<State>>,
    metrics: Arc<Metrics>,
}

struct State {
    free: usize,
    capacity: usize,
    /// Permits that background submissions hold.
    batch_running: usize,
    lanes: HashMap<Option<KeyId>, Lane>,
    /// Number of interactive submissions that wait.
    interactive: usize,
    batch: usize,
    next: u64,
    /// Mean time between two releases of permits while submissions wait.
    interval: Duration,
    freed: Option<Instant>,
}

/// Runs and waiting submissions of one key.
#[derive(Default)]
struct Lane {
    running: usize,
    /// Maximum number of permits that the lane may hold at once.
    most: Option<usize>,
    /// Time for which the lane's runs that have ended held permits. A new lane starts with the smallest time of all
    /// lanes.
    had: Duration,
    interactive: VecDeque<Waiter>,
    batch: VecDeque<Waiter>,
    /// Permits given to interactive submissions since one was given to a background one.
    turns: u32,
}

struct Waiter {
    number: u64,
    wake: oneshot::Sender<()>,
}

impl Lane {
    fn waits(&self) -> bool {
        !(self.interactive.is_empty() && self.batch.is_empty())
    }

    /// Returns whether a submission waits that a permit could be given to; `batch` is whether background ones may.
    fn has_next(&self, batch: BatchTurn) -> bool {
        !self.interactive.is_empty() || (batch == BatchTurn::Allowed && !self.batch.is_empty())
    }

    fn may_run(&self, state_free: usize, capacity: usize) -> bool {
        let reserved = capacity / RESERVED;
        self.most.is_none_or(|most| self.running < most) && (state_free > reserved || self.running < reserved.max(1))
    }

    /// Takes the next submission from the lane, with its urgency.
    fn take(&mut self, batch: BatchTurn) -> Option<(Waiter, Urgency)> {
        let due = self.interactive.is_empty() || (self.turns + 1 >= BATCH_TURN && !self.batch.is_empty());
        if due && batch == BatchTurn::Allowed {
            self.turns = 0;
            return self.batch.pop_front().map(|waiter| (waiter, Urgency::Batch));
        }
        self.turns += 1;
        self.interactive.pop_front().map(|waiter| (waiter, Urgency::Interactive))
    }
}

/// Whether a background submission may have the next permit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BatchTurn {
    Allowed,
    Held,
}

impl State {
    /// Grants free permits to the next submissions.
    fn dispatch(&mut self) {
        while self.free > 0 {
            let (free, capacity) = (self.free, self.capacity);
            let batch = self.batch_turn();
            let next = self
                .lanes
                .values_mut()
                .filter(|lane| lane.has_next(batch) && lane.may_run(free, capacity))
                .min_by_key(|lane| (lane.running, lane.had));
            let Some(lane) = next else { return };
            let Some((waiter, urgency)) = lane.take(batch) else { return };
            match urgency {
                Urgency::Interactive => self.interactive -= 1,
                Urgency::Batch => self.batch -= 1,
            }
            // Who has gone leaves the permit to the next.
            if waiter.wake.send(()).is_ok() {
                lane.running += 1;
                self.free -= 1;
                self.batch_running += usize::from(urgency == Urgency::Batch);
            }
        }
    }

    fn batch_turn(&self) -> BatchTurn {
        let most = self.capacity - self.capacity / INTERACTIVE;
        if self.batch_running < most { BatchTurn::Allowed } else { BatchTurn::Held }
    }

    fn lane(&mut self, caller: &Caller) -> &mut Lane {
        let owner = caller.owner();
        let least = self.lanes.values().map(|lane| lane.had).min().unwrap_or_default();
        let lane = self.lanes.entry(owner).or_insert_with(|| Lane { had: least, ..Lane::default() });
        lane.most = caller.key().and_then(|key| key.concurrency).map(|most| most as usize);
        lane
    }

    /// Removes the lane of an owner who neither runs nor waits.
    fn tidy(&mut self, owner: Option<KeyId>) {
        if self.lanes.get(&owner).is_some_and(|lane| lane.running == 0 && !lane.waits()) {
            self.lanes.remove(&owner);
        }
    }

    /// Estimates how long a submission that came now would wait: for those before it in its own lane, and as many of
    /// each other lane.
    fn expected_wait(&self, owner: Option<KeyId>) -> Duration {
        let own = self.lanes.get(&owner).map_or(0, |lane| lane.interactive.len() + 1);
        let others = self.lanes.iter().filter(|(other, _)| **other != owner);
        let before: usize = others.map(|(_, lane)| lane.interactive.len().min(own)).sum::<usize>() + own;
        self.interval.saturating_mul(u32::try_from(before).unwrap_or(u32::MAX))
    }

    fn note_freed(&mut self) {
        let now = Instant::now();
        let waits = self.interactive + self.batch > 0;
        if let (Some(before), true) = (self.freed, waits) {
            let measured = now.duration_since(before).as_secs_f64();
            let mean = self.interval.as_secs_f64();
            self.interval = Duration::from_secs_f64(mean + (measured - mean) * SMOOTHING);
        }
        // Only between two that became free while somebody waited is the time a measure of what can be done.
        self.freed = waits.then_some(now);
    }
}

impl Admission {
    /// Creates an admission without runs.
    pub fn new(settings: AdmissionSettings, metrics: Arc<Metrics>) -> Self {
        let state = State {
            free: settings.capacity,
            capacity: settings.capacity,
            batch_running: 0,
            lanes: HashMap::new(),
            interactive: 0,
            batch: 0,
            next: 0,
            interval: FIRST_GUESS / u32::try_from(settings.capacity).unwrap_or(u32::MAX).max(1),
            freed: None,
        };
        Self { settings, state: Arc::new(Mutex::new(state)), metrics }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Returns the numbers of waiting submissions: interactive ones, and background ones.
    pub fn queued(&self) -> (usize, usize) {
        let state = self.state();
        (state.interactive, state.batch)
    }

    /// Returns the number of runs at once.
    pub fn capacity(&self) -> usize {
        self.settings.capacity
    }

    /// Checks that a submission that came now would be admitted to the queue; otherwise it need not be read.
    ///
    /// # Errors
    /// Returns an error when it would be refused.
    pub fn has_room(&self, caller: &Caller) -> Result<(), Busy> {
        let state = self.state();
        let is_free = state.free > 0 && state.interactive == 0;
        let room = if is_free { Ok(()) } else { self.room_to_wait(&state, caller.owner()) };
        room.inspect_err(|_| self.count_refused())
    }

    fn count_refused(&self) {
        self.metrics.refused.with_label_values(&["busy"]).inc();
    }

    fn room_to_wait(&self, state: &State, owner: Option<KeyId>) -> Result<(), Busy> {
        let expected = state.expected_wait(owner);
        if state.interactive < self.settings.most_queued && expected <= self.settings.max_wait {
            return Ok(());
        }
        Err(busy(expected / 2))
    }

    /// Acquires a permit, at once or after waiting in the queue. Dropping the permit releases it.
    ///
    /// # Errors
    /// Returns an error when it would take too long or has taken too long; never for background submissions.
    pub async fn acquire(&self, caller: &Caller, urgency: Urgency) -> Result<RunPermit, Busy> {
        self.wait_for_permit(caller, urgency).await.inspect_err(|_| self.count_refused())
    }

    async fn wait_for_permit(&self, caller: &Caller, urgency: Urgency) -> Result<RunPermit, Busy> {
        let owner = caller.owner();
        let (number, granted) = {
            let mut state = self.state();
            let (free, capacity, batch) = (state.free, state.capacity, state.batch_turn());
            let lane = state.lane(caller);
            let is_next = match urgency {
                Urgency::Interactive => lane.interactive.is_empty(),
                Urgency::Batch => !lane.waits() && batch == BatchTurn::Allowed,
            };
            if free > 0 && is_next && lane.may_run(free, capacity) {
                lane.running += 1;
                state.free -= 1;
                state.batch_running += usize::from(urgency == Urgency::Batch);
                return Ok(self.permit(owner, urgency));
            }
            if urgency == Urgency::Interactive
                && let Err(busy) = self.room_to_wait(&state, owner)
            {
                state.tidy(owner);
                return Err(busy);
            }
            let (wake, granted) = oneshot::channel();
            let number = state.next;
            state.next += 1;
            let lane = state.lane(caller);
            let waiter = Waiter { number, wake };
            match urgency {
                Urgency::Interactive => {
                    lane.interactive.push_back(waiter);
                    state.interactive += 1;
                }
                Urgency::Batch => {
                    lane.batch.push_back(waiter);
                    state.batch += 1;
                }
            }
            (number, granted)
        };
        let mut waiting = Waiting { admission: self, owner, urgency, number, granted: Some(granted) };
        let granted = waiting.granted.as_mut().expect("it waits");
        let done = match urgency {
            Urgency::Interactive => tokio::time::timeout(self.settings.max_wait, granted).await.is_ok(),
            Urgency::Batch => granted.await.is_ok(),
        };
        if done {
            waiting.granted = None;
            return Ok(self.permit(owner, urgency));
        }
        let expected = self.state().expected_wait(owner);
        Err(busy(expected / 2))
    }

    fn permit(&self, owner: Option<KeyId>, urgency: Urgency) -> RunPermit {
        RunPermit { state: Arc::clone(&self.state), owner, urgency, since: Instant::now() }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn busy(after: Duration) -> Busy {
    let seconds = after.as_secs_f64().ceil().clamp(1.0, MAX_RETRY.as_secs_f64());
    Busy { retry_after: Duration::from_secs_f64(seconds) }
}

/// Permit for one run, released on drop.
pub struct RunPermit {
    state: Arc<Mutex<State>>,
    owner: Option<KeyId>,
    urgency: Urgency,
    since: Instant,
}

impl Drop for RunPermit {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        state.note_freed();
        give_back(&mut state, self.owner, self.urgency, self.since.elapsed());
    }
}

fn give_back(state: &mut State, owner: Option<KeyId>, urgency: Urgency, held: Duration) {
    state.free += 1;
    state.batch_running -= usize::from(urgency == Urgency::Batch);
    if let Some(lane) = state.lanes.get_mut(&owner) {
        lane.running -= 1;
        lane.had += held;
    }
    state.dispatch();
    state.tidy(owner);
}

/// Position in the queue. Dropping it leaves the queue, or releases the permit that was granted meanwhile.
struct Waiting<'a> {
    admission: &'a Admission,
    owner: Option<KeyId>,
    urgency: Urgency,
    number: u64,
    /// Receiver of the permit; none once the permit has been taken.
    granted: Option<oneshot::Receiver<()>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(mut granted) = self.granted.take() else { return };
        let mut state = self.admission.state();
        if granted.try_recv().is_ok() {
            return give_back(&mut state, self.owner, self.urgency, Duration::ZERO);
        }
        if let Some(lane) = state.lanes.get_mut(&self.owner) {
            let before = (lane.interactive.len(), lane.batch.len());
            lane.interactive.retain(|waiter| waiter.number != self.number);
            lane.batch.retain(|waiter| waiter.number != self.number);
            let gone = (before.0 - lane.interactive.len(), before.1 - lane.batch.len());
            state.interactive -= gone.0;
            state.batch -= gone.1;
        }
        state.tidy(self.owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofbox_types::caller::Key;

    fn admission(capacity: usize, most_queued: usize) -> Arc<Admission> {
        let max_wait = Duration::from_secs(5);
        let settings = AdmissionSettings { capacity, most_queued, max_wait };
        Arc::new(Admission::new(settings, Arc::default()))
    }

    fn caller(number: u128, concurrency: Option<u32>) -> Caller {
        Caller::of(Arc::new(Key {
            id: uuid::Uuid::from_u128(number).into(),
            name: number.to_string(),
            policies: None,
            requests_per_minute: None,
            concurrency,
            sessions: None,
            fuel_per_day: None,
            disk_bytes: None,
        }))
    }

    /// Acquires a permit in a task of its own, which has begun to wait when this returns, and tells of its turn.
    async fn waiter(
        admission: &Arc<Admission>,
        caller: &Caller,
        urgency: Urgency,
        turns: &tokio::sync::mpsc::UnboundedSender<(&'static str, RunPermit)>,
        name: &'static str,
    ) {
        let (admission, caller, turns) = (Arc::clone(admission), caller.clone(), turns.clone());
        tokio::spawn(async move {
            let permit = admission.acquire(&caller, urgency).await.expect("it waits for its permit");
            let _ = turns.send((name, permit));
        });
        tokio::task::yield_now().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_queue_refuses_at_once() {
        let admission = admission(1, 0);
        let nobody = Caller::keyless();
        let first = admission.acquire(&nobody, Urgency::Interactive).await.expect("there is a place");
        let refused = admission.acquire(&nobody, Urgency::Interactive).await.err().expect("there is none");
        assert_eq!(refused.retry_after, Duration::from_secs(1));
        assert!(admission.has_room(&nobody).is_err());
        drop(first);
        assert!(admission.has_room(&nobody).is_ok());
        assert!(admission.acquire(&nobody, Urgency::Interactive).await.is_ok());
        assert_eq!(admission.queued(), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn background_submissions_leave_permits_to_interactive_ones_of_their_key() {
        let admission = admission(8, 10);
        let nobody = Caller::keyless();
        let (turns, mut turn) = tokio::sync::mpsc::unbounded_channel();
        for _ in 0..20 {
            waiter(&admission, &nobody, Urgency::Batch, &turns, "batch").await;
        }
        let mut held = Vec::new();
        while let Ok((_, permit)) = turn.try_recv() {
            held.push(permit);
        }
        assert_eq!((held.len(), admission.queued()), (6, (0, 14)));
        for _ in 0..100 {
            let at_once = tokio::time::timeout(Duration::ZERO, admission.acquire(&nobody, Urgency::Interactive)).await;
            assert!(at_once.expect("it does not wait").is_ok());
        }
        assert_eq!(admission.queued(), (0, 14));
        held.pop();
        let next = turn.recv().await.expect("the next");
        assert_eq!((next.0, admission.queued()), ("batch", (0, 13)));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_longer_than_is_granted_but_who_has_time() {
        let admission = admission(1, 10);
        let nobody = Caller::keyless();
        let (turns, mut turn) = tokio::sync::mpsc::unbounded_channel();
        let first = admission.acquire(&nobody, Urgency::Interactive).await.expect("there is a place");
        waiter(&admission, &nobody, Urgency::Batch, &turns, "batch").await;
        let began = Instant::now();
        assert!(admission.acquire(&nobody, Urgency::Interactive).await.is_err());
        assert_eq!(began.elapsed(), Duration::from_secs(5));
        assert_eq!(admission.queued(), (0, 1));
        drop(first);
        assert_eq!(turn.recv().await.expect("its turn comes").0, "batch");
    }

    #[tokio::test(start_paused = true)]
    async fn keys_take_turns_however_much_one_has_waiting() {
        let admission = admission(1, 100);
        let (greedy, modest) = (caller(1, None), caller(2, None));
        let (turns, mut turn) = tokio::sync::mpsc::unbounded_channel();
        let first = admission.acquire(&greedy, Urgency::Interactive).await.expect("there is a place");
        for _ in 0..20 {
            waiter(&admission, &greedy, Urgency::Interactive, &turns, "greedy").await;
        }
        waiter(&admission, &modest, Urgency::Interactive, &turns, "modest").await;
        tokio::time::advance(Duration::from_millis(10)).await;
        drop(first);
        assert_eq!(turn.recv().await.expect("a turn").0, "modest", "it has had nothing yet");
    }

    #[tokio::test(start_paused = true)]
    async fn one_key_never_holds_all_places() {
        let admission = admission(16, 100);
        let (greedy, modest) = (caller(1, None), caller(2, None));
        let (turns, mut turn) = tokio::sync::mpsc::unbounded_channel();
        for _ in 0..16 {
            waiter(&admission, &greedy, Urgency::Interactive, &turns, "greedy").await;
        }
        let mut held = Vec::new();
        while let Ok(turn) = turn.try_recv() {
            held.push(turn);
        }
        assert_eq!(held.len(), 14);
        assert!(tokio::time::timeout(Duration::ZERO, admission.acquire(&modest, Urgency::Interactive)).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_runs_no_more_than_it_may_at_once() {
        let admission = admission(16, 100);
        let key = caller(1, Some(2));
        let (turns, mut turn) = tokio::sync::mpsc::unbounded_channel();
        for _ in 0..5 {
            waiter(&admission, &key, Urgency::Interactive, &turns, "its").await;
        }
        let mut held: Vec<_> = std::iter::from_fn(|| turn.try_recv().ok()).collect();
        assert_eq!((held.len(), admission.queued()), (2, (3, 0)));
        held.pop();
        tokio::task::yield_now().await;
        assert_eq!(admission.queued(), (2, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_waits_for_has_every_fourth_turn() {
        let admission = admission(1, 100);
        let nobody = Caller::keyless();
        let (turns, mut turn) = tokio::sync::mpsc::unbounded_channel();
        let first = admission.acquire(&nobody, Urgency::Interactive).await.expect("there is a place");
        for _ in 0..6 {
            waiter(&admission, &nobody, Urgency::Batch, &turns, "batch").await;
            waiter(&admission, &nobody, Urgency::Interactive, &turns, "interactive").await;
        }
        drop(first);
        let mut order = Vec::new();
        for _ in 0..8 {
            let (name, permit) = turn.recv().await.expect("a turn");
            order.push(name);
            drop(permit);
        }
        let batch: Vec<usize> =
            order.iter().enumerate().filter(|(_, name)| **name == "batch").map(|(at, _)| at).collect();
        assert_eq!(batch, [3, 7], "{order:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_goes_away_leaves_nothing_behind() {
        let admission = admission(1, 100);
        let nobody = Caller::keyless();
        let first = admission.acquire(&nobody, Urgency::Interactive).await.expect("there is a place");
        let waits = admission.acquire(&nobody, Urgency::Interactive);
        assert!(tokio::time::timeout(Duration::from_millis(1), waits).await.is_err());
        assert_eq!(admission.queued(), (0, 0));
        // Given the place, and gone before it knew.
        let mut waits = Box::pin(admission.acquire(&nobody, Urgency::Interactive));
        assert!(futures_util::poll!(waits.as_mut()).is_pending());
        drop(first);
        drop(waits);
        assert!(tokio::time::timeout(Duration::ZERO, admission.acquire(&nobody, Urgency::Interactive)).await.is_ok());
        assert!(admission.state().lanes.len() <= 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_to_come_back_is_how_long_the_queue_takes() {
        let admission = admission(1, 40);
        let nobody = Caller::keyless();
        let (turns, mut turn) = tokio::sync::mpsc::unbounded_channel();
        let first = admission.acquire(&nobody, Urgency::Interactive).await.expect("there is a place");
        for _ in 0..40 {
            waiter(&admission, &nobody, Urgency::Batch, &turns, "it").await;
        }
        drop(first);
        // Each takes 300 ms: after a while that is known.
        for _ in 0..40 {
            let (_, permit) = turn.recv().await.expect("a turn");
            tokio::time::advance(Duration::from_millis(300)).await;
            drop(permit);
        }
        let interval = admission.state().interval;
        assert!(interval > Duration::from_millis(150), "{interval:?}");
        let _held = admission.acquire(&nobody, Urgency::Interactive).await.expect("a turn");
        let mut waiting = 0;
        while admission.has_room(&nobody).is_ok() {
            waiter(&admission, &nobody, Urgency::Interactive, &turns, "it").await;
            waiting += 1;
        }
        let allowed = Duration::from_secs(5).div_duration_f64(interval);
        assert!((f64::from(waiting) - allowed).abs() <= 1.0, "{waiting} may wait, {allowed} have time");
        let refused = admission.has_room(&nobody).expect_err("there is no time");
        assert_eq!(refused.retry_after, Duration::from_secs(3), "half the queue");
    }
}
