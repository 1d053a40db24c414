//! Statistics of everything that was run, by label and by time.
//!
//! Each submission is counted in memory, under its minute, its owner and its labels, and written once a second; the
//! submissions of jobs are written with their results instead. Labels are a client's words, of any number: labels that
//! have too many values are reported as [`OTHER`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::{BackgroundTasks, Execution};
use proofbox_store::{Recorded, StatBounds, Store, StoreError};
use proofbox_types::caller::Caller;
use proofbox_types::histogram::Figures;
use proofbox_types::ids::KeyId;
use proofbox_types::status::Status;

/// Value that stands for the others of a label that has too many.
pub(super) const OTHER: &str = "(other)";
/// Values of one label that are counted apart, of one owner.
const MAX_VALUES: usize = 200;
/// Labels that are counted apart, of one owner.
const MAX_NAMES: usize = 32;
/// Sets of labels that are counted apart, of one owner; as many again where the label with the most values is left out.
const MAX_SETS: usize = 1000;
/// Bytes of a label and of its value.
const MAX_NAME: usize = 64;
const MAX_VALUE: usize = 128;
/// Interval at which statistics are written.
const FLUSH: Duration = Duration::from_secs(1);
/// Age up to which statistics are stored, in minutes.
const KEPT_MINUTES: i64 = 90 * 24 * 60;
/// Maximum number of stored rows: some hundred bytes each.
const KEPT_ROWS: u64 = 2_000_000;
/// Interval at which old statistics are removed.
const HOUSEKEEPING: Duration = Duration::from_secs(600);

/// Figures of a run for the statistics.
#[derive(Debug)]
pub(super) struct Tallied {
    labels: BTreeMap<String, String>,
    figures: Figures,
}

impl Tallied {
    pub(super) fn of(execution: &Execution, labels: &BTreeMap<String, String>) -> Self {
        let verdict = &execution.verdict;
        let mut figures = Figures::default();
        figures.outcomes[index_of(verdict.status)] = 1;
        let total = verdict.total() as u64;
        figures.graded = match verdict.status {
            Status::Passed | Status::Failed => 1,
            Status::Blocked => u64::from(total > 0),
            Status::Ok | Status::Error | Status::InfrastructureError => 0,
        };
        figures.classes.insert(verdict.class.as_str().to_owned(), 1);
        match verdict.status {
            Status::Blocked => figures.tests_total = total,
            Status::InfrastructureError => {}
            Status::Passed | Status::Failed | Status::Ok | Status::Error => {
                (figures.tests_passed, figures.tests_total) = (verdict.count_passed() as u64, total);
                let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
                figures.fuel.count(execution.cost.fuel);
                figures.execution.count(micros(execution.cost.execution));
                figures.queue.count(micros(execution.cost.queue));
            }
        }
        Self { labels: labels.clone(), figures }
    }
}

/// Returns the index of a status in [`proofbox_types::histogram::OUTCOMES`].
pub(super) fn index_of(status: Status) -> usize {
    match status {
        Status::Passed => 0,
        Status::Failed => 1,
        Status::Ok => 2,
        Status::Error => 3,
        Status::Blocked => 4,
        Status::InfrastructureError => 6,
    }
}

/// Labels of one owner that have been seen.
#[derive(Default)]
struct Known {
    values: BTreeMap<String, HashSet<String>>,
    sets: HashSet<String>,
}

impl Known {
    /// Returns the labels under which a run is counted, as JSON: labels beyond the bounds are left out, or reported as
    /// [`OTHER`].
    fn fit(&mut self, labels: &BTreeMap<String, String>) -> String {
        let mut fitted: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, value) in labels {
            if name.len() > MAX_NAME || (!self.values.contains_key(name) && self.values.len() >= MAX_NAMES) {
                continue;
            }
            let values = self.values.entry(name.clone()).or_default();
            let fits = value.len() <= MAX_VALUE && (values.contains(value) || values.len() < MAX_VALUES);
            if fits && !values.contains(value) {
                values.insert(value.clone());
            }
            fitted.insert(name, if fits { value } else { OTHER });
        }
        let mut most = MAX_SETS;
        loop {
            let text = serde_json::to_string(&fitted).expect("strings");
            if self.sets.contains(&text) || self.sets.len() < most {
                self.sets.insert(text.clone());
                return text;
            }
            // The label that takes the most room; with none left there is one set, which always fits.
            let widest = fitted.iter().filter(|(_, value)| **value != OTHER);
            let widest =
                widest.map(|(name, _)| *name).max_by_key(|name| self.values.get(*name).map_or(0, HashSet::len));
            match widest {
                Some(name) => _ = fitted.insert(name, OTHER),
                None => return text,
            }
            most = 2 * MAX_SETS;
        }
    }

    /// Adds a set of labels that is in the store.
    fn know(&mut self, text: String) {
        let labels: BTreeMap<String, String> = serde_json::from_str(&text).unwrap_or_default();
        for (name, value) in labels {
            self.values.entry(name).or_default().insert(value);
        }
        self.sets.insert(text);
    }
}

#[derive(Default)]
struct Tables {
    known: HashMap<Option<Uuid>, Known>,
    pending: HashMap<(Option<Uuid>, i64, String), Figures>,
}

/// Statistics that are counted, and not yet written.
#[derive(Default)]
pub(super) struct Counted {
    tables: Mutex<Tables>,
    /// True once a task writes what is counted to the store.
    kept: AtomicBool,
}

impl Counted {
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Vec<Recorded> {
        let pending = std::mem::take(&mut self.tables().pending);
        let recorded = |((owner, minute, labels), figures)| Recorded { owner, minute, labels, figures };
        pending.into_iter().map(recorded).collect()
    }
}

fn minute() -> i64 {
    Timestamp::now().as_second().div_euclid(60)
}

/// Request for statistics: time, grouping and filter.
#[derive(Clone, Debug, Default)]
pub struct StatsAsked {
    /// The first minute, counted since 1970.
    pub since: i64,
    /// Last minute, counted since 1970.
    pub until: i64,
    /// Minutes of one step of the series; none: all in one.
    pub step: Option<i64>,
    /// Labels by which the statistics are grouped.
    pub group_by: Vec<String>,
    /// Labels that must have this value.
    pub labels: BTreeMap<String, String>,
    /// Groups, over all steps, that the answer may have.
    pub most_groups: usize,
}

/// Statistics that match a request.
#[derive(Clone, Debug, Default)]
pub struct StatsFound {
    /// Groups, sorted by step, then by values.
    pub groups: Vec<StatsGroup>,
    /// Number of runs with a label that is reported as `(other)`.
    pub with_other_labels: u64,
}

/// The figures of one group in one step.
#[derive(Clone, Debug)]
pub struct StatsGroup {
    /// First minute of the step.
    pub start: i64,
    /// Values of the labels by which it is grouped; none where a run had no such label.
    pub values: Vec<Option<String>>,
    /// Sums and distributions of the group's runs.
    pub figures: Figures,
}

/// Reason why there are no statistics.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatsError {
    /// The service keeps nothing.
    #[error("this service has no store, and so no statistics: set PROOFBOX_DATA_DIR")]
    NoStore,
    /// Number of groups beyond what an answer may have.
    #[error("there are more than {allowed} groups: ask for fewer labels, a larger interval or a shorter time")]
    TooMany {
        /// Maximum number of groups.
        allowed: usize,
    },
    /// The store failed: the cause is in the log.
    #[error("the store failed")]
    Store,
}

impl From<StoreError> for StatsError {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "the store failed at statistics");
        Self::Store
    }
}

/// Sums over the rows of the store.
#[derive(Default)]
struct Sum {
    /// Figures by step and values.
    groups: BTreeMap<(i64, Vec<Option<String>>), Figures>,
    with_other_labels: u64,
    too_many: bool,
}

/// The statistics of a service.
pub struct StatsCollector {
    pub(super) store: Option<Arc<Store>>,
    pub(super) background: BackgroundTasks,
    pub(super) counted: Counted,
}

impl StatsCollector {
    /// Counts a submission that was run for a client who waits for it.
    pub fn note(&self, caller: &Caller, execution: &Execution, labels: &BTreeMap<String, String>) {
        if self.counted.kept.load(Ordering::Relaxed) {
            let recorded = self.recorded(caller.owner(), Tallied::of(execution, labels));
            let Recorded { owner, minute, labels, figures } = recorded;
            self.counted.tables().pending.entry((owner, minute, labels)).or_default().add(&figures);
        }
    }

    /// Makes the record that is written with a job's result.
    pub(super) fn recorded(&self, owner: Option<KeyId>, tallied: Tallied) -> Recorded {
        let owner = owner.map(|owner| owner.uuid());
        let labels = self.counted.tables().known.entry(owner).or_default().fit(&tallied.labels);
        Recorded { owner, minute: minute(), labels, figures: tallied.figures }
    }

    /// Returns the statistics of the caller's runs.
    ///
    /// # Errors
    /// Returns an error when there are too many groups, or the store can't be read.
    pub async fn query(&self, caller: &Caller, asked: StatsAsked) -> Result<StatsFound, StatsError> {
        let store = self.store.as_ref().ok_or(StatsError::NoStore)?;
        self.write().await?;
        let owner = caller.owner().map(|owner| owner.uuid());
        let (minutes, most_groups) = (asked.since..=asked.until, asked.most_groups);
        let add = move |sum: &mut Sum, minute: i64, labels: &str, figures: &Figures| {
            let labels: BTreeMap<String, String> = serde_json::from_str(labels).unwrap_or_default();
            if asked.labels.iter().any(|(name, value)| labels.get(name) != Some(value)) || sum.too_many {
                return;
            }
            if labels.values().any(|value| value == OTHER) {
                sum.with_other_labels += figures.runs();
            }
            let start = asked.step.map_or(asked.since, |step| minute.div_euclid(step) * step);
            let values = asked.group_by.iter().map(|name| labels.get(name).cloned()).collect();
            sum.groups.entry((start, values)).or_default().add(figures);
            sum.too_many = sum.groups.len() > asked.most_groups;
        };
        let sum = store.fold_stats(owner, minutes, Sum::default(), add).await?;
        if sum.too_many {
            return Err(StatsError::TooMany { allowed: most_groups });
        }
        let group = |((start, values), figures)| StatsGroup { start, values, figures };
        let groups = sum.groups.into_iter().map(group).collect();
        Ok(StatsFound { groups, with_other_labels: sum.with_other_labels })
    }

    /// Writes what was counted since the last time.
    async fn write(&self) -> Result<(), StoreError> {
        let Some(store) = &self.store else { return Ok(()) };
        let recorded = self.counted.take();
        if recorded.is_empty() {
            return Ok(());
        }
        store.record_stats(recorded).await
    }

    /// Reads the known labels, and writes what is counted from now on, until the service stops.
    ///
    /// # Errors
    /// Returns an error when the store can't be read.
    pub async fn keep(self: &Arc<Self>) -> Result<(), StatsError> {
        let Some(store) = &self.store else { return Ok(()) };
        let sets = store.stat_labels().await?;
        {
            let mut counted = self.counted.tables();
            for (owner, labels) in sets {
                counted.known.entry(owner).or_default().know(labels);
            }
        }
        self.counted.kept.store(true, Ordering::Relaxed);
        let collector = Arc::clone(self);
        let stopping = self.background.stopping().clone();
        self.background.spawn(async move {
            let work = async { tokio::join!(collector.write_often(), collector.prune_often()) };
            stopping.run_until_cancelled(work).await;
        });
        Ok(())
    }

    /// Writes what was counted last: the service ends.
    pub async fn flush(&self) {
        if let Err(error) = self.write().await {
            tracing::error!(%error, "the last statistics are lost");
        }
    }

    async fn write_often(&self) {
        loop {
            tokio::time::sleep(FLUSH).await;
            if let Err(error) = self.write().await {
                tracing::error!(%error, "statistics of the last second are lost");
            }
        }
    }

    async fn prune_often(&self) {
        let Some(store) = &self.store else { return };
        loop {
            let bounds = StatBounds { oldest: minute() - KEPT_MINUTES, rows: KEPT_ROWS };
            if let Err(error) = store.prune_stats(bounds).await {
                tracing::error!(%error, "old statistics could not be removed");
            }
            tokio::time::sleep(HOUSEKEEPING).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_label_with_too_many_values_does_not_cost_the_others() {
        let mut known = Known::default();
        for number in 0..5000 {
            known.fit(&labels(&[("model", "m"), ("task", &number.to_string())]));
        }
        assert_eq!(known.fit(&labels(&[("model", "m"), ("task", "5000")])), r#"{"model":"m","task":"(other)"}"#);
        assert_eq!(known.fit(&labels(&[("model", "m"), ("task", "7")])), r#"{"model":"m","task":"7"}"#);
        assert!(known.sets.len() <= MAX_VALUES + 1);
    }

    #[test]
    fn sets_of_labels_are_bounded_whatever_comes() {
        let mut known = Known::default();
        for number in 0..20_000 {
            let [a, b, c] = [number % 190, number % 101, number / 7].map(|value| value.to_string());
            known.fit(&labels(&[("a", &a), ("b", &b), ("c", &c), (&format!("n{number}"), "x")]));
        }
        assert!(known.sets.len() <= 2 * MAX_SETS && known.values.len() <= MAX_NAMES);
        assert!(known.values.values().all(|values| values.len() <= MAX_VALUES));
    }

    #[test]
    fn what_was_in_the_store_is_known_again() {
        let (mut before, mut after) = (Known::default(), Known::default());
        for number in 0..3000 {
            let text = before.fit(&labels(&[("task", &number.to_string())]));
            after.know(text);
        }
        let asked = labels(&[("task", "2999")]);
        assert_eq!(before.fit(&asked), after.fit(&asked));
    }
}
