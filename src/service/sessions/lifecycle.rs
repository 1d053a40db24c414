//! Lifecycle of sessions, as a list of events for those who ask afterwards: in memory, bounded for each owner.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use uuid::Uuid;

use super::{LifecycleChange, LogEvent, Session, SessionManager};
use proofbox_types::caller::Caller;
use proofbox_types::ids::{KeyId, SessionId};

/// Events of an owner that are kept; the oldest go.
const MAX_EVENTS: usize = 1000;

/// Event in the life of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct LifecycleEvent {
    /// Id of the event, version 7: ids sort by time.
    pub id: Uuid,
    /// Time of the change.
    pub at: Timestamp,
    /// Session that has changed.
    pub session: SessionId,
    /// Name of the template that the session was made from.
    pub template: String,
    /// Change of the session.
    pub change: LifecycleChange,
}

/// Events of all owners.
#[derive(Default)]
pub(super) struct Lifecycle(Mutex<HashMap<Option<KeyId>, VecDeque<LifecycleEvent>>>);

impl Lifecycle {
    fn note(&self, owner: Option<KeyId>, event: LifecycleEvent) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let events = all.entry(owner).or_default();
        if events.len() >= MAX_EVENTS {
            events.pop_front();
        }
        events.push_back(event);
    }

    fn list(&self, owner: Option<KeyId>, is_wanted: impl FnMut(&&LifecycleEvent) -> bool) -> Vec<LifecycleEvent> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&owner).into_iter().flatten().filter(is_wanted).cloned().collect()
    }
}

impl SessionManager {
    /// Notes a change in the life of a session.
    pub(super) fn note_lifecycle(&self, session: &Session, change: LifecycleChange) {
        let (at, template) = (Timestamp::now(), session.spec.template.clone());
        let event = LifecycleEvent { id: Uuid::now_v7(), at, session: session.id, template, change };
        self.webhooks.note(session.spec.owner, &event);
        self.table.lifecycle.note(session.spec.owner, event);
        self.table.logs.note(session.spec.owner, session.id, LogEvent::Lifecycle(change));
    }

    /// Lists the events in the life of the caller's sessions that are kept and wanted, the oldest first.
    pub fn lifecycle_events(
        &self,
        caller: &Caller,
        is_wanted: impl FnMut(&&LifecycleEvent) -> bool,
    ) -> Vec<LifecycleEvent> {
        self.table.lifecycle.list(caller.owner(), is_wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_bounded_and_their_owners() {
        let lifecycle = Lifecycle::default();
        let (one, two) = (Some(KeyId::generate()), Some(KeyId::generate()));
        let event = |number: usize| LifecycleEvent {
            id: Uuid::now_v7(),
            at: Timestamp::now(),
            session: SessionId::generate(),
            template: number.to_string(),
            change: LifecycleChange::Created,
        };
        (0..MAX_EVENTS + 5).for_each(|number| lifecycle.note(one, event(number)));
        lifecycle.note(two, event(7));
        let of = |owner| lifecycle.list(owner, |_| true);
        assert_eq!((of(one).len(), of(one)[0].template.as_str()), (MAX_EVENTS, "5"));
        assert_eq!((of(two).len(), of(None).len()), (1, 0));
    }
}
