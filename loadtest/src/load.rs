//! Sends a scenario to the service, at the clients' own pace or on a schedule, and tallies what comes back.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use hyper::header::HeaderValue;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::connection::Connection;
use crate::scenario::Scenario;
use crate::tally::{Arrival, Phase, Sent, Tally, Window};
use crate::target::Target;

const EXECUTE: &str = "/v1/execute";
/// A connection rests so long after a refusal or a broken connection, which cost the service next to nothing.
const REST: Duration = Duration::from_millis(20);
/// Requests of the schedule that are late are still sent for so long after its end.
const BACKLOG_GRACE: Duration = Duration::from_secs(1);
/// The pacing thread looks so often whether it is still wanted.
const MAX_SLEEP: Duration = Duration::from_millis(50);

/// Plan of a load: the amount and the times of requests.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub target: Target,
    pub connections: usize,
    pub pace: Pace,
    /// Not counted.
    pub warmup: Duration,
    /// After the warm-up.
    pub duration: Duration,
    /// After the warm-up.
    pub most_requests: u64,
    /// For one request.
    pub timeout: Duration,
    /// Value of the `Authorization` header, if there is one.
    pub key: Option<HeaderValue>,
}

/// Time at which the next request is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pace {
    /// Closed loop: when the answer to the last one on the connection is there.
    ClosedLoop,
    /// On a schedule that does not wait for answers.
    OpenLoop { requests_per_second: f64 },
}

/// Carries out the plan; ends at the latest one request's timeout after the last request.
///
/// # Errors
/// When there is no memory or thread to do it with; what goes wrong with requests is in the tally.
pub(crate) async fn run(plan: Plan, scenario: Arc<Scenario>) -> anyhow::Result<Tally> {
    let begin = Instant::now();
    let window = Window { begin: begin + plan.warmup, end: begin + plan.warmup + plan.duration };
    let tally = Arc::new(Mutex::new(Tally::new(window)?));
    match plan.pace {
        Pace::ClosedLoop => {
            let counter = Arc::new(Counter {
                warmup: AtomicU64::new(0),
                counted: AtomicU64::new(0),
                most_counted: plan.most_requests,
            });
            let mut clients = JoinSet::new();
            for _ in 0..plan.connections {
                let client = Client {
                    connection: Connection::new(plan.target, plan.timeout).with_key(plan.key.clone()),
                    scenario: Arc::clone(&scenario),
                    tally: Arc::clone(&tally),
                };
                clients.spawn(client.closed_loop(window, Arc::clone(&counter)));
            }
            all(clients).await?;
        }
        Pace::OpenLoop { requests_per_second } => {
            let schedule = Arc::new(Schedule::new(begin, requests_per_second, &plan));
            let pacer = Pacer::start(Arc::clone(&schedule), plan.connections)?;
            let mut clients = JoinSet::new();
            for _ in 0..plan.connections {
                let client = Client {
                    connection: Connection::new(plan.target, plan.timeout).with_key(plan.key.clone()),
                    scenario: Arc::clone(&scenario),
                    tally: Arc::clone(&tally),
                };
                clients.spawn(client.open_loop(Arc::clone(&schedule)));
            }
            all(clients).await?;
            drop(pacer);
            let mut tally = lock(&tally);
            for slot in schedule.unsent().filter(|slot| *slot >= schedule.warmup_slots) {
                tally.unsent(schedule.last_sending.saturating_duration_since(schedule.due(slot)));
            }
        }
    }
    let tally = Arc::into_inner(tally).context("a client outlived its work")?;
    Ok(tally.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

async fn all(mut clients: JoinSet<()>) -> anyhow::Result<()> {
    while let Some(ended) = clients.join_next().await {
        ended.context("a client panicked")?;
    }
    Ok(())
}

/// Everything runs on one thread: there is nobody to wait for, and never an `await` while it is held.
fn lock(tally: &Mutex<Tally>) -> MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Gives out the numbers of requests in the closed loop. The warm-up has its own, so that the counted requests begin
/// with the scenario's first.
struct Counter {
    warmup: AtomicU64,
    counted: AtomicU64,
    most_counted: u64,
}

impl Counter {
    fn next(&self, phase: Phase) -> Option<u64> {
        match phase {
            Phase::Warmup => Some(self.warmup.fetch_add(1, Ordering::Relaxed)),
            Phase::Counted => {
                Some(self.counted.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < self.most_counted)
            }
        }
    }
}

/// Times at which requests of the open loop are due. Requests are numbered from 0 by slot; those of the warm-up come first.
struct Schedule {
    begin: Instant,
    interval_seconds: f64,
    warmup_slots: u64,
    slots: u64,
    taken: AtomicU64,
    /// After this nothing is sent any more.
    last_sending: Instant,
    /// Permits, one for each slot that has come due.
    due: Semaphore,
}

impl Schedule {
    fn new(begin: Instant, requests_per_second: f64, plan: &Plan) -> Self {
        let slots_within = |time: Duration| (time.as_secs_f64() * requests_per_second).ceil() as u64;
        let warmup_slots = slots_within(plan.warmup);
        let counted_slots = (slots_within(plan.warmup + plan.duration) - warmup_slots).min(plan.most_requests);
        Self {
            begin,
            interval_seconds: 1.0 / requests_per_second,
            warmup_slots,
            slots: warmup_slots + counted_slots,
            taken: AtomicU64::new(0),
            last_sending: begin + plan.warmup + plan.duration + BACKLOG_GRACE,
            due: Semaphore::new(0),
        }
    }

    fn due(&self, slot: u64) -> Instant {
        self.begin + Duration::from_secs_f64(slot as f64 * self.interval_seconds)
    }

    /// Waits until the next slot that nobody has taken is due; `None` when there is none any more.
    async fn next(&self) -> Option<u64> {
        self.due.acquire().await.expect("the semaphore is never closed").forget();
        if Instant::now() >= self.last_sending {
            return None;
        }
        let slot = self.taken.fetch_add(1, Ordering::Relaxed);
        (slot < self.slots).then_some(slot)
    }

    /// Slots that nobody took.
    fn unsent(&self) -> std::ops::Range<u64> {
        self.taken.load(Ordering::Relaxed).min(self.slots)..self.slots
    }
}

/// The thread that lets slots come due: the runtime's own timers are exact to a millisecond only.
struct Pacer {
    stopped: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Pacer {
    fn start(schedule: Arc<Schedule>, connections: usize) -> anyhow::Result<Self> {
        let stopped = Arc::new(AtomicBool::new(false));
        let thread = thread::Builder::new().name("pacer".to_owned());
        let thread = thread.spawn({
            let stopped = Arc::clone(&stopped);
            move || {
                for slot in 0..schedule.slots {
                    if !sleep_until(schedule.due(slot), &stopped) {
                        return;
                    }
                    schedule.due.add_permits(1);
                }
                // Lets every client see that nothing is left.
                schedule.due.add_permits(connections);
            }
        });
        Ok(Self { stopped, thread: Some(thread.context("starting the pacing thread")?) })
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic in it has been printed, and shows as requests that were not sent.
            let _ = thread.join();
        }
    }
}

/// False when it was stopped.
fn sleep_until(moment: Instant, stopped: &AtomicBool) -> bool {
    loop {
        if stopped.load(Ordering::Relaxed) {
            return false;
        }
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        thread::sleep(left.min(MAX_SLEEP));
    }
}

/// Connection, with the requests that are sent on it.
struct Client {
    connection: Connection,
    scenario: Arc<Scenario>,
    tally: Arc<Mutex<Tally>>,
}

impl Client {
    async fn closed_loop(mut self, window: Window, counter: Arc<Counter>) {
        loop {
            let now = Instant::now();
            if now >= window.end {
                return;
            }
            let phase = if now < window.begin { Phase::Warmup } else { Phase::Counted };
            let Some(number) = counter.next(phase) else { return };
            match self.send(number, phase, now).await {
                Arrival::Answered => {}
                Arrival::TurnedAway => tokio::time::sleep(REST).await,
            }
        }
    }

    async fn open_loop(mut self, schedule: Arc<Schedule>) {
        while let Some(slot) = schedule.next().await {
            let (number, phase) = match slot.checked_sub(schedule.warmup_slots) {
                Some(number) => (number, Phase::Counted),
                None => (slot, Phase::Warmup),
            };
            // Whatever comes back: the schedule alone sets the pace.
            let _: Arrival = self.send(number, phase, schedule.due(slot)).await;
        }
    }

    async fn send(&mut self, number: u64, phase: Phase, due: Instant) -> Arrival {
        let request = self.scenario.request(number);
        let sent = Instant::now();
        let result = self.connection.post(EXECUTE, request.body.clone()).await;
        let arrived = Instant::now();
        let sent = Sent { request, phase, due, sent, arrived };
        lock(&self.tally).record(&sent, result)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::cases::Grading;
    use crate::snippets::Snippet;

    const ANSWER: &str = r#"{"status":"ok","stderr_class":"none","tests_passed":0,"tests_total":0,"execution_seconds":0.001,"queue_seconds":0.0,"stdout":"2\n"}"#;

    /// A service that answers at once, but stands still for `stall` before its answer number `stalled_answer`.
    struct StubService {
        target: Target,
        _accepting: JoinSet<()>,
    }

    impl StubService {
        async fn start(stalled_answer: u64, stall: Duration) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
            let address = listener.local_addr().expect("it is bound");
            let answered = Arc::new(AtomicU64::new(0));
            let mut accepting = JoinSet::new();
            accepting.spawn(async move {
                let mut connections = JoinSet::new();
                while let Ok((stream, _)) = listener.accept().await {
                    connections.spawn(answer_all(stream, Arc::clone(&answered), stalled_answer, stall));
                }
            });
            Self { target: format!("http://{address}").parse().expect("it is loopback"), _accepting: accepting }
        }
    }

    async fn answer_all(mut stream: TcpStream, answered: Arc<AtomicU64>, stalled_answer: u64, stall: Duration) {
        let mut request = Vec::new();
        // The load has no other `}` than the last byte of its body.
        while let Ok(1..) = stream.read_buf(&mut request).await {
            if !request.ends_with(b"}") {
                continue;
            }
            request.clear();
            if answered.fetch_add(1, Ordering::Relaxed) == stalled_answer {
                tokio::time::sleep(stall).await;
            }
            let reply = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{ANSWER}", ANSWER.len());
            stream.write_all(reply.as_bytes()).await.expect("the client is there");
        }
    }

    fn plan(target: Target, pace: Pace) -> Plan {
        let (warmup, duration, timeout) = (Duration::ZERO, Duration::from_secs(10), Duration::from_secs(5));
        Plan { target, connections: 1, pace, warmup, duration, most_requests: 100, timeout, key: None }
    }

    async fn load(plan: Plan) -> Tally {
        let scenario = Scenario::of_snippet(Snippet::Print, Grading::InProcess).expect("it is JSON");
        run(plan, Arc::new(scenario)).await.expect("it runs")
    }

    #[tokio::test]
    async fn the_closed_loop_ends_with_its_last_request() {
        let service = StubService::start(u64::MAX, Duration::ZERO).await;
        let tally = load(Plan { connections: 3, ..plan(service.target, Pace::ClosedLoop) }).await;
        assert_eq!((tally.sent, tally.right, tally.examples), (100, 100, vec![]));
    }

    #[tokio::test]
    async fn a_stall_counts_for_every_request_that_was_due_in_it() {
        let stall = Duration::from_millis(200);
        let service = StubService::start(10, stall).await;
        let pace = Pace::OpenLoop { requests_per_second: 400.0 };
        let tally = load(plan(service.target, pace)).await;
        assert_eq!((tally.right, tally.unsent), (100, 0));
        // 80 requests were due in 200 ms; the one connection could send a single one of them.
        let latency = tally.latency.percentiles().expect("there are some");
        let from_sending = tally.service_time.percentiles().expect("there are some");
        assert!(latency.p50 > 50.0 && latency.max >= 200.0, "{latency:?}");
        assert!(from_sending.p90 < 50.0, "{from_sending:?}");
    }

    #[tokio::test]
    async fn a_request_without_an_answer_is_an_error_in_time() {
        let service = StubService::start(0, Duration::from_secs(3600)).await;
        let plan =
            Plan { most_requests: 2, timeout: Duration::from_millis(50), ..plan(service.target, Pace::ClosedLoop) };
        let tally = load(plan).await;
        assert_eq!((tally.sent, tally.right, tally.errors.get("timed_out")), (2, 1, Some(&1)));
    }
}
