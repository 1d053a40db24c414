//! Caller of a request, and the rights that the operator grants it.

use std::sync::Arc;

use super::ids::KeyId;

/// A key: its name, and what may be done with it. A limit that is absent does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Tells it from all others.
    pub id: KeyId,
    /// For people, policies and metrics; one key of those in force has it.
    pub name: String,
    /// The policies that it may name; none: all that are not for certain other keys.
    pub policies: Option<Vec<String>>,
    /// Requests in a minute.
    pub requests_per_minute: Option<u32>,
    /// Submissions that run at once; more wait for their turn.
    pub concurrency: Option<u32>,
    /// Maximum number of sessions that are open at once.
    pub sessions: Option<u32>,
    /// Fuel from midnight to midnight (UTC).
    pub fuel_per_day: Option<u64>,
    /// Bytes on disk: checkpoints, sessions, volumes and jobs.
    pub disk_bytes: Option<u64>,
}

/// Caller of a request: the holder of a key, or a client without one, on this machine or let in by the operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller(Option<Arc<Key>>);

impl Caller {
    /// Somebody without a key.
    pub fn keyless() -> Self {
        Self(None)
    }

    /// Makes the caller that holds this key.
    pub fn of(key: Arc<Key>) -> Self {
        Self(Some(key))
    }

    /// The key, where there is one.
    pub fn key(&self) -> Option<&Key> {
        self.0.as_deref()
    }

    /// Returns the owner of the caller's sessions, jobs and checkpoints: its key; `None` stands for all callers without
    /// one.
    pub fn owner(&self) -> Option<KeyId> {
        self.key().map(|key| key.id)
    }

    /// For logs and metrics.
    pub fn name(&self) -> &str {
        self.key().map_or("keyless", |key| &key.name)
    }

    /// Returns whether the key's own limits let it name this policy.
    pub fn may_use(&self, policy: &str) -> bool {
        let policies = self.key().and_then(|key| key.policies.as_ref());
        policies.is_none_or(|policies| policies.iter().any(|allowed| allowed == policy))
    }
}

/// Urgency of an answer, which decides how long a run may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// A client waits for it: it is refused rather than kept waiting for long.
    Interactive,
    /// Part of a larger piece of work, which waits as long as it takes.
    Batch,
}
