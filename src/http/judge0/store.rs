//! Submissions that clients can ask for by their tokens: in memory, bounded in number, bytes and time.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use super::error::Judge0Error;
use super::record::Done;
use super::request::NewSubmission;
use crate::telemetry;
use proofbox_memory::{Budget, Lease, Owner};

/// Maximum number of submissions of one key that have not ended.
pub(super) const MAX_UNFINISHED: usize = 1024;
/// Memory for submissions and their results, in bytes. A key has at most half of it.
const BUDGET: usize = 256 << 20;
/// Memory that a submission takes beside its texts, in bytes.
const OVERHEAD: usize = 2 << 10;
/// Time for which a result is kept.
const MAX_AGE: Duration = Duration::from_secs(3600);

/// A submission.
pub(super) struct Submission {
    pub token: String,
    pub asked: NewSubmission,
    pub created: Timestamp,
    done: watch::Sender<Option<Ended>>,
    lease: Mutex<Lease>,
}

/// Result, and the time since which it is kept.
#[derive(Clone)]
struct Ended {
    done: Arc<Done>,
    since: Instant,
}

impl Submission {
    /// Returns the result; none before there is one.
    pub(super) fn done(&self) -> Option<Arc<Done>> {
        self.done.borrow().as_ref().map(|ended| Arc::clone(&ended.done))
    }

    /// Waits for the result.
    pub(super) async fn wait(&self) -> Option<Arc<Done>> {
        let mut done = self.done.subscribe();
        let ended = done.wait_for(Option::is_some).await.ok()?;
        ended.as_ref().map(|ended| Arc::clone(&ended.done))
    }

    fn end(&self, done: Done) {
        let bytes = OVERHEAD + self.asked.bytes() + done.bytes();
        self.lease.lock().unwrap_or_else(PoisonError::into_inner).shrink(bytes);
        self.done.send_replace(Some(Ended { done: Arc::new(done), since: Instant::now() }));
    }

    /// Returns the memory that it takes, in bytes.
    fn held(&self) -> usize {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner).bytes()
    }

    fn ended_since(&self) -> Option<Instant> {
        self.done.borrow().as_ref().map(|ended| ended.since)
    }
}

/// Submissions of all keys.
pub(super) struct Store {
    budget: Budget,
    next: AtomicU64,
    owners: Mutex<HashMap<Owner, Owned>>,
}

/// Submissions of a key, in the order of their arrival.
#[derive(Default)]
struct Owned {
    numbers: HashMap<String, u64>,
    submissions: BTreeMap<u64, Held>,
}

/// A submission with the task that runs it, which ends with this.
struct Held {
    submission: Arc<Submission>,
    _task: AbortOnDropHandle<()>,
}

impl Owned {
    fn remove(&mut self, number: u64) {
        if let Some(held) = self.submissions.remove(&number) {
            self.numbers.remove(&held.submission.token);
        }
    }

    /// Removes results that are older than they may be.
    fn expire(&mut self, now: Instant) {
        let is_old = |held: &Held| held.submission.ended_since().is_some_and(|since| now - since > MAX_AGE);
        let old: Vec<u64> =
            self.submissions.iter().take_while(|(_, held)| is_old(held)).map(|(number, _)| *number).collect();
        old.into_iter().for_each(|number| self.remove(number));
    }

    /// Removes the oldest result, and returns whether there was one.
    fn evict(&mut self) -> bool {
        let has_ended = |held: &Held| held.submission.ended_since().is_some();
        let oldest = self.submissions.iter().find(|(_, held)| has_ended(held)).map(|(number, _)| *number);
        oldest.inspect(|number| self.remove(*number)).is_some()
    }

    /// Returns the memory of all submissions, in bytes.
    fn held(&self) -> usize {
        self.submissions.values().map(|held| held.submission.held()).sum()
    }

    fn count_unfinished(&self) -> usize {
        self.submissions.values().filter(|held| held.submission.ended_since().is_none()).count()
    }
}

/// Returns the key that has most, or `owner` where no other has more than it would have with `bytes` in addition.
fn largest(owners: &HashMap<Owner, Owned>, owner: Owner, bytes: usize) -> Owner {
    let own = owners.get(&owner).map_or(0, Owned::held).saturating_add(bytes);
    let others = owners.iter().filter(|(other, _)| **other != owner).map(|(other, owned)| (*other, owned.held()));
    others.filter(|(_, held)| *held > own).max_by_key(|(_, held)| *held).map_or(owner, |(other, _)| other)
}

impl Store {
    /// Makes an empty store.
    pub(super) fn new() -> Self {
        Self { budget: Budget::new(BUDGET), next: AtomicU64::new(0), owners: Mutex::default() }
    }

    fn owners(&self) -> MutexGuard<'_, HashMap<Owner, Owned>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a submission, and starts `work`, which makes its result. `output` is the most that is kept of each stream of
    /// its output, in bytes. The oldest results of the key that has most make room.
    ///
    /// # Errors
    /// Returns an error when there is no room.
    pub(super) fn add<F: Future<Output = Done> + Send + 'static>(
        &self,
        owner: Owner,
        asked: NewSubmission,
        output: usize,
        work: impl FnOnce(Arc<Submission>) -> F,
    ) -> Result<Arc<Submission>, Judge0Error> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|_| Judge0Error::queue_full())?;
        let token = uuid::Builder::from_random_bytes(random).into_uuid().to_string();
        let mut owners = self.owners();
        let now = Instant::now();
        // Keys that are used no more give back what they hold, too.
        owners.values_mut().for_each(|owned| owned.expire(now));
        owners.retain(|_, owned| !owned.submissions.is_empty());
        if owners.get(&owner).is_some_and(|owned| owned.count_unfinished() >= MAX_UNFINISHED) {
            return Err(Judge0Error::queue_full());
        }
        let bytes = output.saturating_mul(2).saturating_add(OVERHEAD + asked.bytes());
        let mut lease = self.budget.account(owner).lease();
        let mut from = None;
        while lease.try_grow(bytes).is_err() {
            let from = *from.get_or_insert_with(|| largest(&owners, owner, bytes));
            if ![from, owner].iter().any(|from| owners.get_mut(from).is_some_and(Owned::evict)) {
                return Err(Judge0Error::queue_full());
            }
        }
        let (done, _) = watch::channel(None);
        let created = Timestamp::now();
        let submission = Arc::new(Submission { token: token.clone(), asked, created, done, lease: Mutex::new(lease) });
        let (work, ending) = (work(Arc::clone(&submission)), Arc::clone(&submission));
        let task = tokio::spawn(telemetry::carry(async move { ending.end(work.await) }));
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let owned = owners.entry(owner).or_default();
        owned.numbers.insert(token, number);
        let held = Held { submission: Arc::clone(&submission), _task: AbortOnDropHandle::new(task) };
        owned.submissions.insert(number, held);
        Ok(submission)
    }

    /// Returns a submission of a key.
    pub(super) fn find(&self, owner: Owner, token: &str) -> Option<Arc<Submission>> {
        let token = Uuid::try_parse(token).ok()?.to_string();
        let owners = self.owners();
        let owned = owners.get(&owner)?;
        Some(Arc::clone(&owned.submissions.get(owned.numbers.get(&token)?)?.submission))
    }

    /// Removes a submission of a key.
    pub(super) fn remove(&self, owner: Owner, token: &str) {
        if let Some(owned) = self.owners().get_mut(&owner)
            && let Some(number) = owned.numbers.get(token).copied()
        {
            owned.remove(number);
        }
    }

    /// Returns a part of the submissions of a key, the newest first, and how many there are in all.
    pub(super) fn list(&self, owner: Owner, skip: usize, count: usize) -> (Vec<Arc<Submission>>, usize) {
        let owners = self.owners();
        let Some(owned) = owners.get(&owner) else { return (Vec::new(), 0) };
        let part = owned.submissions.values().rev().skip(skip).take(count);
        (part.map(|held| Arc::clone(&held.submission)).collect(), owned.submissions.len())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::http::judge0::base64::Texts;
    use crate::http::judge0::request::Ranges;
    use crate::http::programs::Failure;
    use proofbox_types::ids::KeyId;

    fn asked() -> NewSubmission {
        let ranges = Ranges { time: 30.0, memory: 1e6, output: 0 };
        let fields = json!({"source_code": "1", "language_id": 71});
        NewSubmission::read(fields.as_object().expect("an object"), Texts::Plain, &ranges).expect("it is right")
    }

    /// Adds a submission that asks for `bytes`, and waits for its result, which takes as much.
    async fn add(store: &Store, owner: Owner, bytes: usize) {
        let failed = |_| async { Done::failed(&Failure::draining()) };
        let submission = store.add(owner, asked(), bytes / 2, failed).expect("there is room");
        submission.wait().await;
        submission.lease.lock().expect("nobody panicked").try_grow(bytes).expect("there is room");
    }

    fn count(store: &Store, owner: Owner) -> usize {
        store.list(owner, 0, 0).1
    }

    #[tokio::test]
    async fn keys_with_much_make_room_for_keys_with_little() {
        let (store, part) = (Store::new(), BUDGET / 8);
        let [first, second, third] = [(); 3].map(|()| Some(KeyId::generate()));
        for owner in [first, second] {
            for _ in 0..4 {
                add(&store, owner, part).await;
            }
            // A fourth is more than the half that a key may have: its own first one makes room.
            assert_eq!(count(&store, owner), 3);
        }
        add(&store, third, part).await;
        add(&store, third, part).await;
        // One of them made room, and is left with as much as the other.
        let mut others = [first, second].map(|owner| count(&store, owner));
        others.sort_unstable();
        assert_eq!((others, count(&store, third)), ([2, 3], 2));
    }

    #[tokio::test(start_paused = true)]
    async fn results_of_keys_that_are_used_no_more_go_too() {
        let store = Store::new();
        let [idle, busy] = [(); 2].map(|()| Some(KeyId::generate()));
        add(&store, idle, OVERHEAD).await;
        tokio::time::advance(MAX_AGE + Duration::from_secs(1)).await;
        assert_eq!(count(&store, idle), 1);
        add(&store, busy, OVERHEAD).await;
        assert_eq!((count(&store, idle), count(&store, busy)), (0, 1));
    }
}
