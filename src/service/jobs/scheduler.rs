//! Scheduler of the jobs that have not ended.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use proofbox_types::ids::{JobId, KeyId};

/// Jobs that are run at once, and of each owner; the others wait. Most only wait for permits for their items.
const RUNNING: usize = 1024;
const RUNNING_OF_OWNER: usize = 16;

/// Progress of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of results so far.
    pub done: u32,
    /// True when no more results will come.
    pub has_ended: bool,
}

impl Progress {
    /// Takes over what was reported after a result was stored. Reports of results that were stored at the same time come
    /// in any order, so an older one takes nothing back.
    pub(super) fn advance(&mut self, reported: Self) {
        self.done = self.done.max(reported.done);
        self.has_ended |= reported.has_ended;
    }
}

/// A job that has not ended.
pub(super) struct LiveJob {
    pub(super) id: JobId,
    pub(super) owner: Option<KeyId>,
    pub(super) progress: watch::Sender<Progress>,
    /// Cancelled when the job is: none of its results is wanted any more.
    pub(super) cancelled: CancellationToken,
}

/// State that all jobs of one owner share.
struct Owner {
    waiting: VecDeque<Arc<LiveJob>>,
    running: usize,
    /// Items at once: so each of the owner's jobs has its turn.
    items: Arc<Semaphore>,
}

struct All {
    jobs: HashMap<JobId, Arc<LiveJob>>,
    owners: HashMap<Option<KeyId>, Owner>,
    running: usize,
}

pub(super) struct Live {
    all: Mutex<All>,
    /// Items of all jobs at once.
    pub(super) items: Arc<Semaphore>,
    items_of_owner: usize,
}

/// A job whose turn it is.
pub(super) struct Turn {
    pub(super) job: Arc<LiveJob>,
    /// Items of its owner at once.
    pub(super) items: Arc<Semaphore>,
}

impl Live {
    /// Creates the scheduler of a service that has `capacity` permits for runs.
    pub(super) fn new(capacity: usize) -> Self {
        let all = All { jobs: HashMap::new(), owners: HashMap::new(), running: 0 };
        Self {
            all: Mutex::new(all),
            items: Arc::new(Semaphore::new(capacity.max(1))),
            items_of_owner: (capacity / 4).clamp(capacity.clamp(1, 2), capacity.max(1)),
        }
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, id: JobId) -> Option<Arc<LiveJob>> {
        self.all().jobs.get(&id).cloned()
    }

    pub(super) fn len(&self) -> usize {
        self.all().jobs.len()
    }

    /// Adds a job, which waits for its turn.
    pub(super) fn add(&self, id: JobId, owner: Option<KeyId>) {
        let (progress, cancelled) = (watch::Sender::new(Progress::default()), CancellationToken::new());
        let job = Arc::new(LiveJob { id, owner, progress, cancelled });
        let mut all = self.all();
        if all.jobs.insert(id, Arc::clone(&job)).is_none() {
            self.owner(&mut all, owner).waiting.push_back(job);
        }
    }

    fn owner<'a>(&self, all: &'a mut All, owner: Option<KeyId>) -> &'a mut Owner {
        let fresh =
            || Owner { waiting: VecDeque::new(), running: 0, items: Arc::new(Semaphore::new(self.items_of_owner)) };
        all.owners.entry(owner).or_insert_with(fresh)
    }

    /// The job whose turn it is, if there is room for one: the oldest of the owner with the fewest that run.
    pub(super) fn next(&self) -> Option<Turn> {
        let mut all = self.all();
        if all.running >= RUNNING {
            return None;
        }
        let ready =
            all.owners.values_mut().filter(|owner| owner.running < RUNNING_OF_OWNER && !owner.waiting.is_empty());
        let owner = ready.min_by_key(|owner| owner.running)?;
        let job = owner.waiting.pop_front()?;
        owner.running += 1;
        let items = Arc::clone(&owner.items);
        all.running += 1;
        Some(Turn { job, items })
    }

    /// A job that ran has ended, or does not go on in this process.
    pub(super) fn end(&self, job: &LiveJob) {
        let mut all = self.all();
        all.jobs.remove(&job.id);
        all.running = all.running.saturating_sub(1);
        if let Some(owner) = all.owners.get_mut(&job.owner) {
            owner.running = owner.running.saturating_sub(1);
            if owner.running == 0 && owner.waiting.is_empty() {
                all.owners.remove(&job.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u128) -> Option<KeyId> {
        Some(uuid::Uuid::from_u128(number).into())
    }

    fn add(live: &Live, owner: Option<KeyId>, count: usize) {
        (0..count).for_each(|_| live.add(JobId::generate(), owner));
    }

    #[test]
    fn an_older_report_takes_nothing_back() {
        let mut progress = Progress::default();
        progress.advance(Progress { done: 20, has_ended: true });
        progress.advance(Progress { done: 19, has_ended: false });
        assert_eq!(progress, Progress { done: 20, has_ended: true });
    }

    #[test]
    fn one_owner_does_not_keep_another_from_its_turn() {
        let live = Live::new(8);
        add(&live, key(1), 100);
        while live.next().is_some() {}
        add(&live, key(2), 1);
        assert_eq!(live.next().map(|turn| turn.job.owner), Some(key(2)));
        assert!(live.next().is_none());
    }

    #[test]
    fn what_ends_makes_room_and_leaves_nothing() {
        let live = Live::new(8);
        add(&live, None, RUNNING_OF_OWNER + 1);
        let turns: Vec<Turn> = std::iter::from_fn(|| live.next()).collect();
        assert_eq!(turns.len(), RUNNING_OF_OWNER);
        turns.iter().for_each(|turn| live.end(&turn.job));
        let last = live.next().expect("one waited");
        live.end(&last.job);
        assert_eq!(live.len(), 0);
        let all = live.all();
        assert_eq!((all.owners.len(), all.running), (0, 0));
    }
}
