//! State of this API flavour beside the sessions: metadata of files, watches, keys of requests that were answered, builds
//! of templates and their files.
//! Every part is bounded, and is removed with its session.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::control::builds::table::Builds;
use super::control::builds::uploads::Uploads;
use super::watchers::Watches;
use crate::service::SessionManager;
use proofbox_types::ids::SessionId;

/// Keys of requests that are remembered, and how long.
const MAX_KEYS: usize = 4096;
const KEYS_AGE: Duration = Duration::from_secs(24 * 3600);
/// Metadata of all files in one sandbox, in bytes, names of files included.
const MAX_METADATA: usize = 1 << 20;
/// Number of sandboxes with state from which on those that have ended are removed.
const TIDY_FROM: usize = 64;

/// Metadata that clients give a file, by name.
pub(super) type Metadata = BTreeMap<String, String>;

/// State of all sandboxes, and idempotency keys: see the module.
#[derive(Default)]
pub(super) struct E2bState {
    sandboxes: Mutex<HashMap<SessionId, Own>>,
    keys: Mutex<HashMap<String, Key>>,
    /// Number of sandboxes from which on those that have ended are removed.
    tidy_at: AtomicUsize,
    /// Builds of templates.
    pub builds: Builds,
    /// Files for builds.
    pub uploads: Uploads,
}

/// State of one sandbox.
#[derive(Default)]
struct Own {
    /// Metadata of files by absolute path.
    metadata: BTreeMap<String, Metadata>,
    watches: Arc<Watches>,
    /// Time on the core when it was last asked for, and when that was.
    cpu: Option<(Duration, Instant)>,
}

/// A request that may come again: who holds the lock answers it.
#[derive(Clone)]
struct Key {
    since: Instant,
    made: Arc<tokio::sync::Mutex<Option<SessionId>>>,
}

impl E2bState {
    fn sandboxes(&self) -> MutexGuard<'_, HashMap<SessionId, Own>> {
        self.sandboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the state of a sandbox.
    pub(super) fn forget(&self, id: SessionId) {
        self.sandboxes().remove(&id);
    }

    /// Forgets sandboxes that have ended by themselves.
    pub(super) fn tidy(&self, sessions: &SessionManager) {
        let mut sandboxes = self.sandboxes();
        // So each is looked at about once for every one that comes.
        if sandboxes.len() >= self.tidy_at.load(Ordering::Relaxed).max(TIDY_FROM) {
            sandboxes.retain(|id, _| sessions.info(*id).is_ok());
            self.tidy_at.store(2 * sandboxes.len(), Ordering::Relaxed);
        }
    }

    /// Returns the share of the time since this was last asked, or since the sandbox is `age` old, in which it had the
    /// core; `cpu` is the time that it had it in all.
    pub(super) fn cpu_share(&self, id: SessionId, cpu: Duration, age: Duration) -> f64 {
        let now = Instant::now();
        let mut sandboxes = self.sandboxes();
        let before = sandboxes.entry(id).or_default().cpu.replace((cpu, now));
        let (used, passed) = match before {
            // In another worker it begins anew.
            Some((before, since)) => (cpu.checked_sub(before).unwrap_or(cpu), now - since),
            None => (cpu, age),
        };
        if passed.is_zero() { 0.0 } else { (used.as_secs_f64() / passed.as_secs_f64()).min(1.0) }
    }

    /// Returns the metadata of a file.
    pub(super) fn metadata(&self, id: SessionId, path: &str) -> Option<Metadata> {
        self.sandboxes().get(&id)?.metadata.get(path).cloned()
    }

    /// Replaces the metadata of a file by that of its upload, and returns whether there was room for it.
    pub(super) fn describe(&self, id: SessionId, path: &str, metadata: Metadata) -> bool {
        let mut sandboxes = self.sandboxes();
        if metadata.is_empty() {
            if let Some(own) = sandboxes.get_mut(&id) {
                own.metadata.remove(path);
            }
            return true;
        }
        let described = &mut sandboxes.entry(id).or_default().metadata;
        let others = described.iter().filter(|(other, _)| *other != path);
        let taken: usize = others.map(|(path, metadata)| bytes_of(path, metadata)).sum();
        let fits = taken + bytes_of(path, &metadata) <= MAX_METADATA;
        if fits {
            described.insert(path.to_owned(), metadata);
        } else {
            described.remove(path);
        }
        fits
    }

    /// Moves the metadata of a file, or of all files in a directory, to the path `to`; removes it where there is none.
    pub(super) fn moved(&self, id: SessionId, from: &str, to: Option<&str>) {
        let mut sandboxes = self.sandboxes();
        let Some(own) = sandboxes.get_mut(&id) else { return };
        let below = format!("{from}/");
        let gone: Vec<String> =
            own.metadata.keys().filter(|path| *path == from || path.starts_with(&below)).cloned().collect();
        if let Some(to) = to {
            own.metadata.remove(to);
        }
        for path in gone {
            let metadata = own.metadata.remove(&path).unwrap_or_default();
            if let Some(to) = to {
                own.metadata.insert(format!("{to}{}", &path[from.len()..]), metadata);
            }
        }
    }

    /// The watches of a sandbox.
    pub(super) fn watches(&self, id: SessionId) -> Arc<Watches> {
        Arc::clone(&self.sandboxes().entry(id).or_default().watches)
    }

    /// Returns the slot for the sandbox that was made for the request with this key. Whoever finds the slot empty makes
    /// the sandbox under its lock, and others wait meanwhile.
    pub(super) fn made_for(&self, key: String) -> Arc<tokio::sync::Mutex<Option<SessionId>>> {
        let now = Instant::now();
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= MAX_KEYS {
            keys.retain(|_, key| now.duration_since(key.since) < KEYS_AGE);
            if keys.len() >= MAX_KEYS
                && let Some(oldest) = keys.iter().min_by_key(|(_, key)| key.since).map(|(name, _)| name.clone())
            {
                keys.remove(&oldest);
            }
        }
        let fresh = || Key { since: now, made: Arc::default() };
        let key = keys.entry(key).or_insert_with(fresh);
        if now.duration_since(key.since) >= KEYS_AGE {
            *key = fresh();
        }
        Arc::clone(&key.made)
    }
}

fn bytes_of(path: &str, metadata: &Metadata) -> usize {
    path.len() + metadata.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Metadata {
        BTreeMap::from([("k".to_owned(), text.to_owned())])
    }

    #[test]
    fn metadata_goes_with_its_file() {
        let (memory, id) = (E2bState::default(), SessionId::generate());
        memory.describe(id, "/d/a", said("1"));
        memory.describe(id, "/d/b/c", said("2"));
        memory.describe(id, "/dx", said("3"));
        memory.moved(id, "/d", Some("/e"));
        assert_eq!(memory.metadata(id, "/d/a"), None);
        assert_eq!(memory.metadata(id, "/e/a"), Some(said("1")));
        assert_eq!(memory.metadata(id, "/e/b/c"), Some(said("2")));
        assert_eq!(memory.metadata(id, "/dx"), Some(said("3")));
        memory.moved(id, "/e/b", None);
        assert_eq!(memory.metadata(id, "/e/b/c"), None);
        memory.describe(id, "/dx", Metadata::new());
        assert_eq!(memory.metadata(id, "/dx"), None);
    }

    #[test]
    fn metadata_of_a_sandbox_is_bounded() {
        let (memory, id) = (E2bState::default(), SessionId::generate());
        let half = || said(&"x".repeat(MAX_METADATA / 2));
        assert!(memory.describe(id, "/a", half()));
        assert!(memory.describe(id, "/a", half()), "it takes its own place");
        assert!(!memory.describe(id, "/b", half()));
        assert_eq!(memory.metadata(id, "/b"), None);
        assert!(memory.describe(id, "/a", Metadata::new()));
        assert!(memory.describe(id, "/b", half()));
    }

    #[test]
    fn a_key_finds_what_was_made_for_it_and_they_are_bounded() {
        let (memory, id) = (E2bState::default(), SessionId::generate());
        *memory.made_for("one".to_owned()).try_lock().expect("nobody else has it") = Some(id);
        assert_eq!(*memory.made_for("one".to_owned()).try_lock().expect("nobody has it"), Some(id));
        for number in 0..2 * MAX_KEYS {
            memory.made_for(format!("{number}"));
        }
        assert_eq!(memory.keys.lock().expect("no panic").len(), MAX_KEYS);
        assert_eq!(*memory.made_for("one".to_owned()).try_lock().expect("nobody has it"), None);
    }
}
