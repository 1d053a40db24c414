//! Attackers: clients that each make one attack after another.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use hyper::body::Bytes;
use hyper::header::HeaderValue;
use hyper::{Method, StatusCode};
use serde_json::Value as Json;

use crate::attacks::{Attack, Ends, Kind, Request, Resource, Step, Verdict};
use crate::connection::{Connection, ConnectionError, Reply, UnreadStream};
use crate::latencies::Latencies;
use crate::target::Target;

/// Pause of an attacker after a refusal or a broken connection, which cost the service next to nothing.
const REST: Duration = Duration::from_millis(20);

/// Clients that go through the same attacks, round and round.
pub(crate) struct Attackers {
    pub target: Target,
    pub count: usize,
    /// Limit of one request.
    pub timeout: Duration,
    pub key: Option<HeaderValue>,
    pub attacks: Vec<Attack>,
    /// Number of the next attack, over all rounds.
    pub next: Cell<usize>,
}

/// Reason for which an attack was not made, or ended as it must not.
enum AttackFailure {
    Refused(String),
    Wrong(String),
    Unanswered(ConnectionError),
}

impl From<ConnectionError> for AttackFailure {
    fn from(error: ConnectionError) -> Self {
        Self::Unanswered(error)
    }
}

impl Attackers {
    /// Attacks for so long, and finishes the attacks under way then. The next call goes on with the next attack.
    ///
    /// # Errors
    /// When there is no memory for the histograms.
    pub(crate) async fn run(&self, duration: Duration) -> anyhow::Result<AttackTally> {
        let end = Instant::now() + duration;
        let mut all = AttackTally::new()?;
        for tally in join_all((0..self.count).map(|_| self.attack_until(end))).await {
            all.absorb(tally?);
        }
        Ok(all)
    }

    async fn attack_until(&self, end: Instant) -> anyhow::Result<AttackTally> {
        let mut tally = AttackTally::new()?;
        while Instant::now() < end {
            let number = self.next.replace(self.next.get() + 1);
            let attack = &self.attacks[number % self.attacks.len()];
            let began = Instant::now();
            let outcome = self.attack(attack).await;
            let is_over_at_once = matches!(outcome, Err(AttackFailure::Refused(_) | AttackFailure::Unanswered(_)));
            tally.record(attack, began.elapsed(), outcome);
            if is_over_at_once {
                tokio::time::sleep(REST).await;
            }
        }
        Ok(tally)
    }

    /// Makes one attack; returns the words that its requests ended with.
    async fn attack(&self, attack: &Attack) -> Result<Vec<String>, AttackFailure> {
        let Some(Resource { collection, body }) = &attack.resource else { return self.take_steps(attack, "").await };
        let created = self.connection().post(collection, body.clone()).await?;
        check(&Ends::done(), &created)?;
        let id = id_of(&created)?;
        let outcome = self.take_steps(attack, &id).await;
        let deleted = self.connection().call(Method::DELETE, &format!("{collection}/{id}"), Bytes::new()).await;
        let words = outcome?;
        check(&Ends::done(), &deleted?)?;
        Ok(words)
    }

    async fn take_steps(&self, attack: &Attack, id: &str) -> Result<Vec<String>, AttackFailure> {
        let mut words = Vec::new();
        let mut streams = Vec::new();
        for step in &attack.steps {
            match step {
                Step::Send { request, copies, ends } => {
                    let replies = join_all((0..*copies).map(|_| self.send(request, id))).await;
                    words.extend(check_all(ends, replies)?);
                }
                Step::Stream { request, copies } => {
                    for stream in join_all((0..*copies).map(|_| self.open_stream(request, id))).await {
                        streams.push(stream?);
                    }
                }
            }
        }
        Ok(words)
    }

    async fn send(&self, request: &Request, id: &str) -> Result<Reply, ConnectionError> {
        let path = request.path.replace(Resource::ID, id);
        self.connection().call(request.method.clone(), &path, request.body.clone()).await
    }

    async fn open_stream(&self, request: &Request, id: &str) -> Result<UnreadStream, AttackFailure> {
        let path = request.path.replace(Resource::ID, id);
        let stream = self.connection().open_stream(request.method.clone(), &path, request.body.clone()).await?;
        match stream.status {
            StatusCode::OK => Ok(stream),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                Err(AttackFailure::Refused(stream.status.as_u16().to_string()))
            }
            status => Err(AttackFailure::Wrong(format!("a stream of {path} has status {status}"))),
        }
    }

    fn connection(&self) -> Connection {
        Connection::new(self.target, self.timeout).with_key(self.key.clone())
    }
}

fn check(ends: &Ends, reply: &Reply) -> Result<String, AttackFailure> {
    match ends.check(reply) {
        Verdict::Right(word) => Ok(word),
        Verdict::Refused(code) => Err(AttackFailure::Refused(code)),
        Verdict::Wrong(why) => Err(AttackFailure::Wrong(why)),
    }
}

/// Checks the answers to requests that were sent at once. The attack was made unless all of them are refused.
fn check_all(ends: &Ends, replies: Vec<Result<Reply, ConnectionError>>) -> Result<Vec<String>, AttackFailure> {
    let (mut words, mut refused) = (Vec::new(), None);
    for reply in replies {
        match check(ends, &reply?) {
            Ok(word) => words.push(word),
            Err(AttackFailure::Refused(code)) => refused = Some(code),
            Err(failure) => return Err(failure),
        }
    }
    match refused {
        Some(code) if words.is_empty() => Err(AttackFailure::Refused(code)),
        _ => Ok(words),
    }
}

fn id_of(created: &Reply) -> Result<String, AttackFailure> {
    let answer: Json = serde_json::from_slice(&created.body).unwrap_or_default();
    answer["id"]
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| AttackFailure::Wrong("what was created has no id".to_owned()))
}

/// Counts of attacks of one kind.
#[derive(Default)]
pub(crate) struct AttackCounts {
    pub right: u64,
    pub wrong: u64,
    /// Attacks that were not made: busy, over quota.
    pub refused: u64,
    pub unanswered: u64,
    /// Words that right and refused requests ended with.
    pub ends: BTreeMap<String, u64>,
}

/// Counts and times of attacks.
pub(crate) struct AttackTally {
    /// Time that whole attacks took, right or wrong.
    pub latency: Latencies,
    pub by_kind: BTreeMap<Kind, AttackCounts>,
    /// Names of attacks that ended, rightly or not.
    pub made: BTreeSet<String>,
    /// First wrong or missing answer of each attack, by its name.
    pub examples: BTreeMap<String, String>,
}

impl AttackTally {
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self {
            latency: Latencies::new()?,
            by_kind: BTreeMap::new(),
            made: BTreeSet::new(),
            examples: BTreeMap::new(),
        })
    }

    /// Attacks that ended as they must not, or without an answer.
    pub(crate) fn wrong(&self) -> u64 {
        self.by_kind.values().map(|counts| counts.wrong + counts.unanswered).sum()
    }

    pub(crate) fn absorb(&mut self, other: Self) {
        self.latency.absorb(&other.latency);
        for (kind, counts) in other.by_kind {
            let own = self.by_kind.entry(kind).or_default();
            own.right += counts.right;
            own.wrong += counts.wrong;
            own.refused += counts.refused;
            own.unanswered += counts.unanswered;
            for (word, count) in counts.ends {
                *own.ends.entry(word).or_default() += count;
            }
        }
        self.made.extend(other.made);
        for (name, why) in other.examples {
            self.examples.entry(name).or_insert(why);
        }
    }

    fn record(&mut self, attack: &Attack, time: Duration, outcome: Result<Vec<String>, AttackFailure>) {
        let counts = self.by_kind.entry(attack.kind).or_default();
        let why = match outcome {
            Ok(words) => {
                counts.right += 1;
                for word in words {
                    *counts.ends.entry(word).or_default() += 1;
                }
                None
            }
            Err(AttackFailure::Refused(code)) => {
                counts.refused += 1;
                *counts.ends.entry(code).or_default() += 1;
                return;
            }
            Err(AttackFailure::Wrong(why)) => {
                counts.wrong += 1;
                Some(why)
            }
            Err(AttackFailure::Unanswered(error)) => {
                counts.unanswered += 1;
                Some(error.to_string())
            }
        };
        self.latency.record(time);
        self.made.insert(attack.name.clone());
        if let Some(why) = why {
            self.examples.entry(attack.name.clone()).or_insert(why);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reply(status: u16, body: &Json) -> Result<Reply, ConnectionError> {
        let status = StatusCode::from_u16(status).expect("it is a status");
        Ok(Reply { status, retry_after: Some(1), body: body.to_string().into() })
    }

    fn attack() -> Attack {
        Attack::execute("a".to_owned(), Kind::Bodies, Bytes::new(), Ends::done())
    }

    #[test]
    fn of_requests_at_once_one_wrong_answer_counts_and_a_refusal_only_where_all_are() {
        let (right, busy) = (|| reply(200, &json!({})), || reply(429, &json!({"error": {"code": "busy"}})));
        assert!(check_all(&Ends::done(), vec![busy(), right()]).is_ok_and(|words| words == ["done"]));
        assert!(
            matches!(check_all(&Ends::done(), vec![busy(), busy()]), Err(AttackFailure::Refused(code)) if code == "busy")
        );
        let broken = reply(500, &json!({}));
        assert!(matches!(check_all(&Ends::done(), vec![right(), broken]), Err(AttackFailure::Wrong(_))));
    }

    #[test]
    fn every_attack_is_counted_as_one_thing() {
        let mut tally = AttackTally::new().expect("there is memory");
        let timed_out = ConnectionError::TimedOut(Duration::from_secs(1));
        for outcome in [
            Ok(vec!["done".to_owned(), "done".to_owned()]),
            Err(AttackFailure::Refused("busy".to_owned())),
            Err(AttackFailure::Wrong("first".to_owned())),
            Err(AttackFailure::Wrong("second".to_owned())),
            Err(timed_out.into()),
        ] {
            tally.record(&attack(), Duration::from_millis(1), outcome);
        }
        let counts = &tally.by_kind[&Kind::Bodies];
        assert_eq!((counts.right, counts.wrong, counts.refused, counts.unanswered), (1, 2, 1, 1));
        assert_eq!(counts.ends, BTreeMap::from([("busy".to_owned(), 1), ("done".to_owned(), 2)]));
        assert_eq!(tally.wrong(), 3);
        assert_eq!(tally.examples, BTreeMap::from([("a".to_owned(), "first".to_owned())]));
    }

    #[test]
    fn an_attack_that_was_only_refused_was_not_made() {
        let mut tally = AttackTally::new().expect("there is memory");
        tally.record(&attack(), Duration::from_millis(1), Err(AttackFailure::Refused("busy".to_owned())));
        assert!(tally.made.is_empty());
    }
}
