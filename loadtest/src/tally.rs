//! What came back, counted.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hyper::StatusCode;

use crate::answer::Answer;
use crate::connection::{ConnectionError, Reply};
use crate::latencies::Latencies;
use crate::request::ExecuteRequest;
use crate::timeline::{Moment, Timeline};

/// Wrong answers and errors that are told in words; the others are only counted.
const MAX_EXAMPLES: usize = 5;
/// More different classes than the service has; the rest is counted together.
const MAX_CLASSES: usize = 64;

/// The time in which answers count towards the rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub begin: Instant,
    pub end: Instant,
}

/// Part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not counted.
    Warmup,
    Counted,
}

/// A request whose wait is over.
pub(crate) struct Sent<'a> {
    pub request: &'a ExecuteRequest,
    /// In which it was due.
    pub phase: Phase,
    /// Time at which the schedule would have had it sent; in the closed loop, when it was.
    pub due: Instant,
    pub sent: Instant,
    pub arrived: Instant,
}

/// Next action of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The service did some work.
    Answered,
    /// The request was refused, or could not be reached: trying again at once would be a busy loop.
    TurnedAway,
}

/// Counts and times of a whole run.
pub(crate) struct Tally {
    window: Window,
    /// From due to arrived. Answers of status 200; and, with the time they waited, requests that timed out or were
    /// never sent.
    pub latency: Latencies,
    /// From sent to arrived, of the same answers.
    pub service_time: Latencies,
    /// From due to sent.
    pub start_delay: Latencies,
    /// Time as the service reports it.
    pub execution: Latencies,
    /// Time as the service reports it.
    pub queue: Latencies,
    pub sent: u64,
    pub right: u64,
    pub wrong: u64,
    /// 429 and 503: busy, over quota, draining.
    pub refused: u64,
    /// Of the schedule, when the service is slower than it.
    pub unsent: u64,
    /// By kind: no answer came.
    pub errors: BTreeMap<&'static str, u64>,
    pub statuses: BTreeMap<u16, u64>,
    pub classes: BTreeMap<String, u64>,
    /// 429 that do not say when to try again.
    pub without_retry_after: u64,
    /// The longest that one told to wait, in seconds.
    pub longest_retry_after: u64,
    pub examples: Vec<String>,
    pub timeline: Timeline,
    /// From due to arrived, of the answers of status 200 alone.
    pub accepted: Latencies,
    right_in_window: u64,
    last_in_window: Option<Instant>,
}

impl Tally {
    pub(crate) fn new(window: Window) -> anyhow::Result<Self> {
        Ok(Self {
            window,
            latency: Latencies::new()?,
            service_time: Latencies::new()?,
            start_delay: Latencies::new()?,
            execution: Latencies::new()?,
            queue: Latencies::new()?,
            sent: 0,
            right: 0,
            wrong: 0,
            refused: 0,
            unsent: 0,
            errors: BTreeMap::new(),
            statuses: BTreeMap::new(),
            classes: BTreeMap::new(),
            without_retry_after: 0,
            longest_retry_after: 0,
            examples: Vec::new(),
            timeline: Timeline::new(window.begin),
            accepted: Latencies::new()?,
            right_in_window: 0,
            last_in_window: None,
        })
    }

    /// Counts one request.
    pub(crate) fn record(&mut self, sent: &Sent<'_>, result: Result<Reply, ConnectionError>) -> Arrival {
        let verdict = Verdict::of(sent.request, result);
        let in_window = self.window.begin <= sent.arrived && sent.arrived < self.window.end;
        if in_window {
            self.last_in_window = Some(sent.arrived);
            self.right_in_window += u64::from(matches!(verdict, Verdict::Right(..)));
        }
        let (arrival, moment) = match &verdict {
            Verdict::Right(..) => (Arrival::Answered, Moment::Right(sent.arrived - sent.due)),
            Verdict::Wrong { .. } => (Arrival::Answered, Moment::Bad),
            Verdict::Refused { .. } => (Arrival::TurnedAway, Moment::Refused),
            Verdict::Error(_) => (Arrival::TurnedAway, Moment::Bad),
        };
        self.timeline.note(sent.arrived, moment);
        match sent.phase {
            Phase::Counted => self.count(sent, verdict),
            Phase::Warmup => {}
        }
        arrival
    }

    /// Counts a request of the schedule that was never sent, and had waited so long when sending ended.
    pub(crate) fn unsent(&mut self, waited: Duration) {
        self.unsent += 1;
        self.latency.record(waited);
    }

    /// Right answers within the window.
    pub(crate) fn right_within(&self) -> u64 {
        self.right_in_window
    }

    /// Adds another part of the same run, whose window came later.
    pub(crate) fn absorb(&mut self, other: Self) {
        let pairs = [
            (&mut self.latency, &other.latency),
            (&mut self.service_time, &other.service_time),
            (&mut self.start_delay, &other.start_delay),
            (&mut self.execution, &other.execution),
            (&mut self.queue, &other.queue),
            (&mut self.accepted, &other.accepted),
        ];
        for (own, other) in pairs {
            own.absorb(other);
        }
        self.sent += other.sent;
        self.right += other.right;
        self.wrong += other.wrong;
        self.refused += other.refused;
        self.unsent += other.unsent;
        self.without_retry_after += other.without_retry_after;
        self.longest_retry_after = self.longest_retry_after.max(other.longest_retry_after);
        for (kind, count) in other.errors {
            *self.errors.entry(kind).or_default() += count;
        }
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        for (class, count) in other.classes {
            *self.classes.entry(class).or_default() += count;
        }
        self.examples.extend(other.examples);
        self.examples.truncate(MAX_EXAMPLES);
        self.timeline.absorb(other.timeline);
        self.right_in_window += other.right_in_window;
    }

    /// Right answers a second, from the end of the warm-up to the end of the window, or to the last answer of a run
    /// that `most_requests` ended; answers to requests of the warm-up are among them, those after the end are not.
    pub(crate) fn right_per_second(&self, most_requests: u64) -> f64 {
        let by_count = self.sent + self.unsent >= most_requests;
        let end = self.last_in_window.filter(|_| by_count).unwrap_or(self.window.end);
        self.right_in_window as f64
            / end.saturating_duration_since(self.window.begin).as_secs_f64().max(f64::MIN_POSITIVE)
    }

    fn count(&mut self, sent: &Sent<'_>, verdict: Verdict) {
        self.sent += 1;
        self.start_delay.record(sent.sent - sent.due);
        match verdict {
            Verdict::Right(status, answer) => {
                self.right += 1;
                self.count_status(status);
                self.count_answer(sent, &answer);
            }
            Verdict::Wrong { status, answer, why } => {
                self.wrong += 1;
                self.count_status(status);
                if let Some(answer) = answer {
                    self.count_answer(sent, &answer);
                }
                self.show(sent, &why);
            }
            Verdict::Refused { status, retry_after } => {
                self.refused += 1;
                self.count_status(status);
                self.without_retry_after += u64::from(retry_after.is_none());
                self.longest_retry_after = self.longest_retry_after.max(retry_after.unwrap_or(0));
            }
            Verdict::Error(error) => {
                *self.errors.entry(error.kind()).or_default() += 1;
                if matches!(error, ConnectionError::TimedOut(_)) {
                    self.latency.record(sent.arrived - sent.due);
                }
                self.show(sent, &error.to_string());
            }
        }
    }

    fn count_status(&mut self, status: StatusCode) {
        *self.statuses.entry(status.as_u16()).or_default() += 1;
    }

    fn count_answer(&mut self, sent: &Sent<'_>, answer: &Answer) {
        self.latency.record(sent.arrived - sent.due);
        self.accepted.record(sent.arrived - sent.due);
        self.service_time.record(sent.arrived - sent.sent);
        let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        self.execution.record(seconds(answer.execution_seconds));
        self.queue.record(seconds(answer.queue_seconds));
        let known = self.classes.contains_key(&answer.stderr_class) || self.classes.len() < MAX_CLASSES;
        let class = if known { answer.stderr_class.clone() } else { "(others)".to_owned() };
        *self.classes.entry(class).or_default() += 1;
    }

    fn show(&mut self, sent: &Sent<'_>, why: &str) {
        if self.examples.len() < MAX_EXAMPLES {
            self.examples.push(format!("{}: {why}", sent.request.name.escape_debug()));
        }
    }
}

/// Answer with its verdict.
enum Verdict {
    Right(StatusCode, Answer),
    Wrong { status: StatusCode, answer: Option<Answer>, why: String },
    Refused { status: StatusCode, retry_after: Option<u64> },
    Error(ConnectionError),
}

impl Verdict {
    fn of(request: &ExecuteRequest, result: Result<Reply, ConnectionError>) -> Self {
        let Reply { status, retry_after, body } = match result {
            Ok(reply) => reply,
            Err(error) => return Self::Error(error),
        };
        match status {
            StatusCode::OK => {}
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                return Self::Refused { status, retry_after };
            }
            _ => {
                let body = String::from_utf8_lossy(&body[..body.len().min(300)]);
                return Self::Wrong { status, answer: None, why: format!("status {status}: {body:?}") };
            }
        }
        let answer: Answer = match serde_json::from_slice(&body) {
            Ok(answer) => answer,
            Err(error) => return Self::Wrong { status, answer: None, why: format!("not an execute answer: {error}") },
        };
        match request.expected.check(&answer) {
            Ok(()) => Self::Right(status, answer),
            Err(why) => Self::Wrong { status, answer: Some(answer), why },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Expected;

    const RIGHT: &str = r#"{"status":"ok","stderr_class":"none","tests_passed":0,"tests_total":0,"execution_seconds":0.001,"queue_seconds":0.0,"stdout":"2\n"}"#;

    fn reply(status: u16, body: &str) -> Result<Reply, ConnectionError> {
        let status = StatusCode::from_u16(status).expect("it is a status");
        Ok(Reply { status, retry_after: None, body: body.to_owned().into() })
    }

    fn tally_of(results: Vec<Result<Reply, ConnectionError>>) -> Tally {
        let begin = Instant::now();
        let mut tally = Tally::new(Window { begin, end: begin + Duration::from_secs(2) }).expect("there is memory");
        let request = ExecuteRequest { name: "print".to_owned(), body: "".into(), expected: Expected::Prints("2\n") };
        for result in results {
            let due = begin + Duration::from_millis(100);
            let sent = Sent {
                request: &request,
                phase: Phase::Counted,
                due,
                sent: due + Duration::from_millis(20),
                arrived: due + Duration::from_millis(50),
            };
            tally.record(&sent, result);
        }
        tally
    }

    #[test]
    fn every_result_is_counted_as_one_thing() {
        let timed_out = Err(ConnectionError::TimedOut(Duration::from_secs(1)));
        let results = vec![
            reply(200, RIGHT),
            reply(200, "{}"),
            reply(200, &RIGHT.replace('2', "3")),
            reply(400, "{}"),
            reply(429, "{}"),
            reply(503, ""),
            timed_out,
        ];
        let tally = tally_of(results);
        assert_eq!((tally.sent, tally.right, tally.wrong, tally.refused), (7, 1, 3, 2));
        assert_eq!(tally.errors, BTreeMap::from([("timed_out", 1)]));
        assert_eq!(tally.statuses, BTreeMap::from([(200, 3), (400, 1), (429, 1), (503, 1)]));
        assert_eq!(tally.classes, BTreeMap::from([("none".to_owned(), 2)]));
        assert_eq!(tally.examples.len(), 4);
    }

    #[test]
    fn only_right_answers_make_the_rate() {
        let tally = tally_of(vec![reply(200, RIGHT), reply(200, RIGHT), reply(429, "{}"), reply(200, "{}")]);
        assert_eq!(tally.right_per_second(u64::MAX), 1.0);
    }

    #[test]
    fn latency_begins_when_the_request_was_due() {
        let tally = tally_of(vec![reply(200, RIGHT)]);
        let p50 = |latencies: &Latencies| latencies.percentiles().expect("there is one").p50.round();
        assert_eq!((p50(&tally.latency), p50(&tally.service_time), p50(&tally.start_delay)), (50.0, 30.0, 20.0));
    }

    #[test]
    fn requests_that_were_never_sent_count_with_their_wait() {
        let mut tally = tally_of(vec![reply(200, RIGHT)]);
        for _ in 0..9 {
            tally.unsent(Duration::from_secs(1));
        }
        assert_eq!(tally.unsent, 9);
        assert_eq!(tally.latency.percentiles().expect("there are some").p50.round(), 1000.0);
    }
}
