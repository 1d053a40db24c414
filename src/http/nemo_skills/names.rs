//! Sessions that clients name: each name of a key's client leads to a session, which is opened when it is first used.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::service::SessionManager;
use proofbox_types::ids::{KeyId, SessionId};

/// Maximum number of names of one key.
const MAX_NAMES: usize = 2000;
/// Maximum length of a name, in bytes.
pub(super) const MAX_NAME_BYTES: usize = 256;

/// Names of one key.
type Own = HashMap<String, Arc<Named>>;
type All = HashMap<Option<KeyId>, Own>;

/// Names in use.
#[derive(Default)]
pub(super) struct Names(Arc<Mutex<All>>);

/// What a name leads to.
pub(super) struct Named {
    /// Session; none before it has been opened. Locked while it is looked up or opened.
    pub session: tokio::sync::Mutex<Option<SessionId>>,
    /// Session, as the last look-up found it.
    known: Mutex<Option<SessionId>>,
    /// True when its interpreter was lost in a call that could not say so.
    pub is_restarted: AtomicBool,
    /// Calls under way.
    calls: AtomicUsize,
    last_used: Mutex<Instant>,
}

/// A name that a call uses.
pub(super) struct InUse {
    all: Arc<Mutex<All>>,
    owner: Option<KeyId>,
    name: String,
    named: Arc<Named>,
}

impl std::ops::Deref for InUse {
    type Target = Named;

    fn deref(&self) -> &Named {
        &self.named
    }
}

impl Drop for InUse {
    /// Forgets the name when it leads to no session, and no other call uses it.
    fn drop(&mut self) {
        let mut all = lock(&self.all);
        *lock(&self.named.last_used) = Instant::now();
        let calls = self.named.calls.fetch_sub(1, Ordering::Relaxed) - 1;
        if calls > 0 || lock(&self.named.known).is_some() {
            return;
        }
        let Some(own) = all.get_mut(&self.owner) else { return };
        if own.get(&self.name).is_some_and(|named| Arc::ptr_eq(named, &self.named)) {
            own.remove(&self.name);
        }
        if own.is_empty() {
            all.remove(&self.owner);
        }
    }
}

impl InUse {
    /// Notes the session that the name leads to.
    pub(super) fn note(&self, session: SessionId) {
        *lock(&self.named.known) = Some(session);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Names {
    /// Returns what a name leads to, for a call. When its owner has too many names, the one that was used least recently is
    /// forgotten: its session ends when it has been idle.
    pub(super) fn take(&self, owner: Option<KeyId>, name: &str) -> InUse {
        let mut all = lock(&self.0);
        let own = all.entry(owner).or_default();
        if own.len() >= MAX_NAMES && !own.contains_key(name) {
            let oldest = least_used(own);
            oldest.and_then(|oldest| own.remove(&oldest));
        }
        let named = own.entry(name.to_owned()).or_insert_with(|| {
            Arc::new(Named {
                session: tokio::sync::Mutex::default(),
                known: Mutex::default(),
                is_restarted: AtomicBool::new(false),
                calls: AtomicUsize::new(0),
                last_used: Mutex::new(Instant::now()),
            })
        });
        named.calls.fetch_add(1, Ordering::Relaxed);
        let named = Arc::clone(named);
        InUse { all: Arc::clone(&self.0), owner, name: name.to_owned(), named }
    }

    /// Forgets a name, and returns its session.
    pub(super) fn remove(&self, owner: Option<KeyId>, name: &str) -> Option<SessionId> {
        let named = lock(&self.0).get_mut(&owner)?.remove(name)?;
        *lock(&named.known)
    }

    /// Forgets the name of an owner that was used least recently, of those that no call uses, and returns its session.
    pub(super) fn remove_oldest(&self, owner: Option<KeyId>) -> Option<SessionId> {
        let mut all = lock(&self.0);
        let own = all.get_mut(&owner)?;
        let named = own.remove(&least_used(own)?)?;
        *lock(&named.known)
    }

    /// Lists the sessions of an owner that are alive.
    pub(super) fn list(&self, sessions: &SessionManager, owner: Option<KeyId>) -> Value {
        let all = lock(&self.0);
        let list = all.get(&owner).into_iter().flatten().filter_map(|(name, named)| {
            let info = sessions.info((*lock(&named.known))?).ok()?;
            let seconds = |time: jiff::Timestamp| time.as_millisecond() as f64 / 1000.0;
            let (created, last_used) = (seconds(info.spec.created), seconds(info.last_used));
            let fields = json!({"backend": "ipython", "created": created, "last_used": last_used, "alive": true});
            Some((name.clone(), fields))
        });
        Value::Object(list.collect::<Map<_, _>>())
    }
}

fn least_used(own: &Own) -> Option<String> {
    let unused =
        own.iter().filter(|(_, named)| named.calls.load(Ordering::Relaxed) == 0 && lock(&named.known).is_some());
    unused.min_by_key(|(_, named)| *lock(&named.last_used)).map(|(name, _)| name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_a_session_are_forgotten() {
        let names = Names::default();
        for number in 0..10 {
            drop(names.take(None, &number.to_string()));
        }
        assert!(lock(&names.0).is_empty());
        let first = names.take(None, "a");
        drop(names.take(None, "a"));
        assert_eq!(lock(&names.0)[&None].len(), 1, "it is in use");
        first.note(SessionId::generate());
        drop(first);
        assert!(names.remove(None, "a").is_some());
    }

    #[test]
    fn names_of_one_key_push_out_their_own_only() {
        let names = Names::default();
        let other = Some(KeyId::from(uuid::Uuid::from_u128(7)));
        let take = |owner, name: &str| names.take(owner, name).note(SessionId::generate());
        take(other, "kept");
        for number in 0..MAX_NAMES + 5 {
            take(None, &number.to_string());
        }
        let all = lock(&names.0);
        assert_eq!((all[&None].len(), all[&other].len()), (MAX_NAMES, 1));
    }
}
