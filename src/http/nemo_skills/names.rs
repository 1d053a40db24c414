//! Sessions that clients name: each name of a key's client leads to a session, which is opened when it is first used.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::service::SessionManager;
use proofbox_types::ids::{KeyId, SessionId};

/// Maximum number of names.
const MAX_NAMES: usize = 20_000;
/// Maximum length of a name, in bytes.
pub const MAX_NAME_BYTES: usize = 256;

type Name = (Option<KeyId>, String);

/// Names in use.
#[derive(Default)]
pub struct Names(Mutex<HashMap<Name, Arc<Named>>>);

/// What a name leads to.
pub struct Named {
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
pub struct InUse(Arc<Named>);

impl std::ops::Deref for InUse {
    type Target = Named;

    fn deref(&self) -> &Named {
        &self.0
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::Relaxed);
        *lock(&self.0.last_used) = Instant::now();
    }
}

impl InUse {
    /// Notes the session that the name leads to.
    pub fn note(&self, session: SessionId) {
        *lock(&self.0.known) = Some(session);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Names {
    /// Returns what a name leads to, for a call. When there are too many names, the one that was used least recently is
    /// forgotten: its session ends when it has been idle.
    pub fn take(&self, owner: Option<KeyId>, name: &str) -> InUse {
        let mut names = lock(&self.0);
        let key = (owner, name.to_owned());
        if names.len() >= MAX_NAMES && !names.contains_key(&key) {
            let oldest = least_used(&names, |_| true);
            oldest.and_then(|oldest| names.remove(&oldest));
        }
        let named = names.entry(key).or_insert_with(|| {
            Arc::new(Named {
                session: tokio::sync::Mutex::default(),
                known: Mutex::default(),
                is_restarted: AtomicBool::new(false),
                calls: AtomicUsize::new(0),
                last_used: Mutex::new(Instant::now()),
            })
        });
        named.calls.fetch_add(1, Ordering::Relaxed);
        InUse(Arc::clone(named))
    }

    /// Forgets a name, and returns its session.
    pub fn remove(&self, owner: Option<KeyId>, name: &str) -> Option<SessionId> {
        let named = lock(&self.0).remove(&(owner, name.to_owned()))?;
        *lock(&named.known)
    }

    /// Forgets the name of an owner that was used least recently, of those that no call uses, and returns its session.
    pub fn remove_oldest(&self, owner: Option<KeyId>) -> Option<SessionId> {
        let mut names = lock(&self.0);
        let oldest = least_used(&names, |(other, _)| *other == owner)?;
        let named = names.remove(&oldest)?;
        *lock(&named.known)
    }

    /// Lists the sessions of an owner that are alive.
    pub fn list(&self, sessions: &SessionManager, owner: Option<KeyId>) -> Value {
        let names = lock(&self.0);
        let of_owner = names.iter().filter(|((other, _), _)| *other == owner);
        let list = of_owner.filter_map(|((_, name), named)| {
            let info = sessions.info((*lock(&named.known))?).ok()?;
            let seconds = |time: jiff::Timestamp| time.as_millisecond() as f64 / 1000.0;
            let (created, last_used) = (seconds(info.spec.created), seconds(info.last_used));
            let fields = json!({"backend": "ipython", "created": created, "last_used": last_used, "alive": true});
            Some((name.clone(), fields))
        });
        Value::Object(list.collect::<Map<_, _>>())
    }
}

fn least_used(names: &HashMap<Name, Arc<Named>>, matches: impl Fn(&Name) -> bool) -> Option<Name> {
    let unused = names.iter().filter(|(name, named)| {
        matches(name) && named.calls.load(Ordering::Relaxed) == 0 && lock(&named.known).is_some()
    });
    unused.min_by_key(|(_, named)| *lock(&named.last_used)).map(|(name, _)| name.clone())
}
