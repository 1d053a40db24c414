//! Builds and their logs, as far as they are remembered: they are gone with the service. What a build has made is in
//! the store.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::super::error::{E2bError, Kind};
use super::super::super::time;
use proofbox_types::ids::{CheckpointId, KeyId, SessionId};

/// Builds that are remembered for one owner, and for all together.
const MAX_OF_OWNER: usize = 32;
const MAX_ALL: usize = 512;
/// Builds of one owner that are carried out at once.
const MAX_RUNNING: usize = 8;
/// Time within which a build must be started.
const MAX_WAIT: Duration = Duration::from_secs(3600);
/// Text of one build's log, in bytes.
const MAX_LOG_BYTES: usize = 128 << 10;
/// Memory of an entry beside its text, in bytes.
const ENTRY_BYTES: usize = 96;
/// Longest line of a log, in bytes.
const MAX_LINE: usize = 4 << 10;

/// State of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Build that was announced, and waits to be started.
    Waiting,
    /// Build that is carried out.
    Building,
    /// Build whose template can be used.
    Ready,
    /// Build that has failed.
    Failed,
}

impl Status {
    /// Returns the word of the API.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Building => "building",
            Self::Ready => "ready",
            Self::Failed => "error",
        }
    }
}

/// Weight of an entry of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Detail.
    Debug,
    /// Step, or line of its output.
    Info,
    /// Something that is not as it was asked for.
    Warn,
    /// Reason of a failure.
    Error,
}

impl Level {
    /// Returns the level of a word of the API.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        [Self::Debug, Self::Info, Self::Warn, Self::Error].into_iter().find(|level| level.word() == word)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// Entry of a log.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Time of the entry.
    pub time: Timestamp,
    /// Weight of the entry.
    pub level: Level,
    /// Line of text.
    pub message: String,
    /// Step that the entry belongs to.
    pub step: Option<String>,
}

impl Entry {
    /// Renders a `BuildLogEntry` of the API.
    pub(crate) fn json(&self) -> Value {
        let mut entry = json!({"timestamp": time(self.time), "level": self.level.word(), "message": self.message});
        if let Some(step) = &self.step {
            entry["step"] = json!(step);
        }
        entry
    }
}

/// Failure of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Step that failed: its number from 1, `base` or `finalize`.
    pub step: String,
    /// Reason, for people.
    pub message: String,
}

/// Build of a template.
#[derive(Debug)]
pub(crate) struct Build {
    /// Id of the build, and of the checkpoint that it makes.
    pub id: CheckpointId,
    /// Name of the template.
    pub name: String,
    /// Tags that the build gets.
    pub tags: Vec<String>,
    /// Time at which the build was announced.
    pub created: Timestamp,
    owner: Option<KeyId>,
    announced: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    status: Status,
    failure: Option<Failure>,
    updated: Timestamp,
    log: Vec<Entry>,
    log_bytes: usize,
    /// Session that the build is carried out in.
    session: Option<SessionId>,
}

impl Build {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state of the build, and the time of its last change.
    pub(crate) fn status(&self) -> (Status, Timestamp) {
        let state = self.state();
        (state.status, state.updated)
    }

    /// Returns why the build failed.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.state().failure.clone()
    }

    /// Returns the entries of the log from a level on.
    pub(crate) fn log(&self, least: Level) -> Vec<Entry> {
        self.state().log.iter().filter(|entry| entry.level >= least).cloned().collect()
    }

    /// Adds an entry to the log, as far as there is room.
    pub(crate) fn tell(&self, level: Level, step: Option<&str>, message: &str) {
        let mut state = self.state();
        if state.log_bytes >= MAX_LOG_BYTES {
            return;
        }
        let mut message = line(message);
        state.log_bytes += ENTRY_BYTES + message.len();
        if state.log_bytes >= MAX_LOG_BYTES {
            message = format!("[the log ends here: it has {} KiB]", MAX_LOG_BYTES >> 10);
        }
        state.log.push(Entry { time: Timestamp::now(), level, message, step: step.map(str::to_owned) });
    }

    /// Says in which session the build is carried out.
    pub(crate) fn in_session(&self, session: SessionId) {
        self.state().session = Some(session);
    }

    /// Ends the build.
    pub(crate) fn end(&self, result: Result<(), Failure>) {
        if let Err(Failure { step, message }) = &result {
            self.tell(Level::Error, Some(step), message);
        }
        let mut state = self.state();
        state.status = if result.is_ok() { Status::Ready } else { Status::Failed };
        state.failure = result.err().map(|Failure { step, message }| Failure { step, message: line(&message) });
        state.updated = Timestamp::now();
        state.session = None;
    }
}

/// Cuts a text to the length of a line.
fn line(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_LINE);
    let mut line = text[..end].to_owned();
    if end < text.len() {
        line.push('…');
    }
    line
}

/// Builds of a service.
#[derive(Default)]
pub(crate) struct Builds {
    all: Mutex<BTreeMap<CheckpointId, Arc<Build>>>,
}

impl Builds {
    fn all(&self) -> MutexGuard<'_, BTreeMap<CheckpointId, Arc<Build>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces a build. The oldest that is not carried out makes room for it.
    ///
    /// # Errors
    /// Returns an error when there is no room.
    pub(crate) fn announce(
        &self,
        owner: Option<KeyId>,
        name: String,
        tags: Vec<String>,
    ) -> Result<Arc<Build>, E2bError> {
        let mut all = self.all();
        all.retain(|_, build| build.status().0 != Status::Waiting || build.announced.elapsed() < MAX_WAIT);
        let is_own = |build: &Build| build.owner == owner;
        let oldest = |all: &BTreeMap<CheckpointId, Arc<Build>>, is_meant: &dyn Fn(&Build) -> bool| {
            let mut idle = all.values().filter(|build| is_meant(build) && build.status().0 != Status::Building);
            idle.next().map(|build| build.id).ok_or_else(|| {
                E2bError::new(Kind::Busy, "there are too many builds; wait until some of them have ended")
            })
        };
        if all.values().filter(|build| is_own(build)).count() >= MAX_OF_OWNER {
            let oldest = oldest(&all, &is_own)?;
            all.remove(&oldest);
        }
        if all.len() >= MAX_ALL {
            let oldest = oldest(&all, &|_| true)?;
            all.remove(&oldest);
        }
        let created = Timestamp::now();
        let state = State {
            status: Status::Waiting,
            failure: None,
            updated: created,
            log: Vec::new(),
            log_bytes: 0,
            session: None,
        };
        let build = Arc::new(Build {
            id: CheckpointId::generate(),
            name,
            tags,
            created,
            owner,
            announced: Instant::now(),
            state: Mutex::new(state),
        });
        all.insert(build.id, Arc::clone(&build));
        Ok(build)
    }

    /// Marks a build as carried out, once.
    ///
    /// # Errors
    /// Returns an error when it was started before, or too many of its owner's are carried out.
    pub(crate) fn start(&self, build: &Build) -> Result<(), E2bError> {
        let all = self.all();
        let is_running = |other: &&Arc<Build>| other.owner == build.owner && other.status().0 == Status::Building;
        if all.values().filter(is_running).count() >= MAX_RUNNING {
            let message = format!("there are {MAX_RUNNING} builds at once already, as many as there may be");
            return Err(E2bError::new(Kind::Busy, message));
        }
        let mut state = build.state();
        if state.status != Status::Waiting {
            return Err(E2bError::new(Kind::Bad, "the build has been started already"));
        }
        state.status = Status::Building;
        state.updated = Timestamp::now();
        Ok(())
    }

    /// Finds a build of an owner.
    pub(crate) fn find(&self, owner: Option<KeyId>, template: &str, id: &str) -> Option<Arc<Build>> {
        let build = self.all().get(&CheckpointId::parse(id)?).cloned()?;
        (build.owner == owner && build.name == template).then_some(build)
    }

    /// Lists the builds of one template of an owner, the oldest first.
    pub(crate) fn of_template(&self, owner: Option<KeyId>, name: &str) -> Vec<Arc<Build>> {
        self.all().values().filter(|build| build.owner == owner && build.name == name).cloned().collect()
    }

    /// Returns the sessions that builds are carried out in.
    pub(crate) fn sessions(&self) -> HashSet<SessionId> {
        self.all().values().filter_map(|build| build.state().session).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announced(builds: &Builds, owner: Option<KeyId>) -> Arc<Build> {
        builds.announce(owner, "env".to_owned(), vec!["default".to_owned()]).expect("there is room")
    }

    #[test]
    fn builds_of_an_owner_are_bounded_and_the_oldest_that_has_ended_makes_room() {
        let (builds, key) = (Builds::default(), Some(KeyId::from(uuid::Uuid::from_u128(1))));
        let other = announced(&builds, None);
        let first = announced(&builds, key);
        builds.start(&first).expect("it waits");
        let second = announced(&builds, key);
        for _ in 2..=MAX_OF_OWNER {
            announced(&builds, key);
        }
        let found = |build: &Build| builds.find(build.owner, "env", &build.id.to_string()).is_some();
        assert!(found(&first) && !found(&second) && found(&other));
        assert_eq!(builds.of_template(key, "env").len(), MAX_OF_OWNER);
    }

    #[test]
    fn a_build_starts_once_and_only_so_many_at_a_time() {
        let builds = Builds::default();
        let all: Vec<_> = (0..=MAX_RUNNING).map(|_| announced(&builds, None)).collect();
        for build in &all[1..] {
            builds.start(build).expect("it waits");
        }
        assert_eq!(builds.start(&all[0]).expect_err("too many").kind(), Kind::Busy);
        all[1].end(Ok(()));
        assert_eq!(builds.start(&all[1]).expect_err("it has ended").kind(), Kind::Bad);
        assert_eq!(builds.start(&all[0]), Ok(()));
    }

    #[test]
    fn only_its_owner_finds_a_build() {
        let (builds, key) = (Builds::default(), Some(KeyId::from(uuid::Uuid::from_u128(1))));
        let build = announced(&builds, key);
        let id = build.id.to_string();
        assert!(builds.find(key, "env", &id).is_some());
        assert!(builds.find(None, "env", &id).is_none() && builds.find(key, "other", &id).is_none());
        assert!(builds.find(key, "env", "no id").is_none());
    }

    #[test]
    fn a_log_is_cut_with_a_note_and_the_failure_is_kept() {
        let builds = Builds::default();
        let build = announced(&builds, None);
        for _ in 0..100 {
            build.tell(Level::Info, Some("1"), &"x".repeat(2 * MAX_LINE));
        }
        let failure = Failure { step: "1".to_owned(), message: "n".repeat(2 * MAX_LINE) };
        build.end(Err(failure));
        let log = build.log(Level::Debug);
        let bytes: usize = log.iter().map(|entry| entry.message.len()).sum();
        assert!(bytes <= MAX_LOG_BYTES && log.last().is_some_and(|last| last.message.contains("the log ends here")));
        let message = build.failure().expect("it failed").message;
        assert_eq!((message.chars().count(), build.status().0), (MAX_LINE + 1, Status::Failed));
    }
}
