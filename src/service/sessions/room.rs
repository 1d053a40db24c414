//! Room for sessions: eviction to disk when workers hold too much, and closing where the disk holds too much, too.
//!
//! A session that was not used lately goes to disk, whoever its owner is: its client does not notice. Where the disk
//! has no room for its state it stays, and the next one goes. Only when every session that can go has gone and workers
//! still hold too much, idle sessions are closed, those that were not used lately first, of the owner who holds most.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::future::join_all;
use uuid::Uuid;

use super::{LifecycleChange, Residency, Session, SessionError, SessionManager};
use crate::sandbox::{RequestError, SessionCallError};
use proofbox_types::ids::KeyId;

/// Percentage of the budget down to which room is made: each time for more than one session.
const DOWN_TO: u64 = 90;
/// Percentage of the budget beyond which calls wait for room.
const UP_TO: u64 = 105;
/// Sessions that are moved to disk at once.
const EVICTED_AT_ONCE: usize = 4;
/// Sessions that are moved to disk where a worker has no slot for one more interpreter.
const EVICTED_FOR_SLOTS: usize = 8;
/// Attempts at what takes a slot, as long as some are made free: others may be faster to take them.
const ATTEMPTS_AT_SLOT: usize = 4;

/// Resource that there is too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// Memory of workers, by the budget of all sessions.
    Memory,
    /// Slot in a worker for one more interpreter.
    Slot {
        /// Owner of the session that needs the slot.
        owner: Option<KeyId>,
        /// Whether a session of who holds most may be closed where none can go to disk.
        may_close: bool,
    },
}

/// Way in which room was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// None was.
    None,
    /// Sessions were moved to disk.
    Moved,
    /// A session was closed.
    Closed,
}

/// Outcome of an attempt to move a session to disk.
enum Eviction {
    /// Session that is on disk now.
    Done,
    /// Session that is in use, or was moved by another task.
    InUse,
    /// Store without room for the session's state.
    NoRoom,
    Failed,
}

impl SessionError {
    fn is_want_of_room(&self) -> bool {
        match self {
            Self::StoreFull | Self::NoStoreRoom | Self::DiskQuota { .. } => true,
            Self::Volume(error) => error.is_want_of_room(),
            _ => false,
        }
    }
}

impl SessionManager {
    /// Makes room before more is used, where what is done beside calls does not keep up.
    pub(super) async fn keep_within_budget(&self) {
        let sessions = &self.table;
        if sessions.live_bytes.load(Ordering::Relaxed) > sessions.memory_bytes / 100 * UP_TO {
            self.make_room_apart(Need::Memory).await;
        }
    }

    /// Asks workers for what takes a slot. Where there is none, sessions are moved to disk and it is asked again; several
    /// times, while that makes slots free, since others' requests may take them. At most one session is closed for it.
    pub(super) async fn with_slot<T, F>(&self, owner: Option<KeyId>, ask: impl Fn() -> F) -> Result<T, SessionCallError>
    where
        F: Future<Output = Result<T, SessionCallError>>,
    {
        let mut may_close = true;
        for _ in 1..ATTEMPTS_AT_SLOT {
            match ask().await {
                Err(SessionCallError::Refused(RequestError::NoRoom(_))) => {}
                answer => return answer,
            }
            match self.make_room_apart(Need::Slot { owner, may_close }).await {
                Room::None => break,
                Room::Moved => {}
                Room::Closed => may_close = false,
            }
        }
        ask().await
    }

    /// Makes room, and goes on with that when the client who needs it goes away.
    async fn make_room_apart(&self, need: Need) -> Room {
        let made = self.spawn_uncancellable(move |manager| async move { Ok(manager.make_room(need).await) });
        // Whether there is room now, the next attempt will tell.
        made.await.unwrap_or(Room::None)
    }

    /// Moves the sessions that were used least recently to disk, until those in workers fit the budget; at least a few,
    /// where a slot is missing. Closes some where that is not enough.
    pub(super) async fn make_room(&self, need: Need) -> Room {
        if self.store.is_none() {
            return Room::None;
        }
        let _alone = self.table.making_room.lock().await;
        let live_bytes = || self.table.live_bytes.load(Ordering::Relaxed);
        let budget = self.table.memory_bytes;
        let mut wanted = match need {
            Need::Memory if live_bytes() <= budget => return Room::None,
            Need::Memory => 0,
            Need::Slot { .. } => EVICTED_FOR_SLOTS,
        };
        let weigh: fn(&Session) -> u64 = match need {
            Need::Memory => live_bytes_of,
            Need::Slot { .. } => has_interpreter,
        };
        let mut candidates = self.least_recently_used(weigh).into_iter();
        let (mut room, mut stuck, mut full) = (Room::None, Vec::new(), HashSet::new());
        while wanted > 0 || live_bytes() > budget / 100 * DOWN_TO {
            let mut some = Vec::with_capacity(EVICTED_AT_ONCE);
            while some.len() < EVICTED_AT_ONCE
                && let Some(session) = candidates.next()
            {
                // Saving one takes time, and where there is no room for one of an owner there is hardly for another.
                if full.contains(&session.spec.owner) {
                    stuck.push(session);
                } else {
                    some.push(session);
                }
            }
            if some.is_empty() {
                break;
            }
            let some = some.into_iter().map(|session| async move {
                let eviction = self.try_to_evict(&session).await;
                (session, eviction)
            });
            for (session, eviction) in join_all(some).await {
                match eviction {
                    Eviction::Done => {
                        room = Room::Moved;
                        wanted = wanted.saturating_sub(1);
                    }
                    Eviction::NoRoom => {
                        full.insert(session.spec.owner);
                        stuck.push(session);
                    }
                    Eviction::InUse | Eviction::Failed => {}
                }
            }
        }
        match need {
            Need::Memory => {
                while live_bytes() > budget
                    && let Some(session) = self.take_of_largest(&mut stuck, weigh, None)
                {
                    if self.close_for_room(&session).await {
                        room = Room::Closed;
                    }
                }
            }
            // One is enough for who needs it. Who holds most loses none for one more of its own: it is refused.
            Need::Slot { owner, may_close: true } if room == Room::None => {
                while let Some(session) = self.take_of_largest(&mut stuck, weigh, Some(owner)) {
                    if self.close_for_room(&session).await {
                        room = Room::Closed;
                        break;
                    }
                }
            }
            Need::Slot { .. } => {}
        }
        room
    }

    /// Sessions that weigh anything, first the one that was not used for longest.
    fn least_recently_used(&self, weigh: fn(&Session) -> u64) -> Vec<Arc<Session>> {
        let mut live: Vec<_> = self
            .table
            .all()
            .values()
            .filter(|session| weigh(session) > 0)
            .map(|session| (session.times().last_used, Arc::clone(session)))
            .collect();
        live.sort_by_key(|(last_used, _)| *last_used);
        live.into_iter().map(|(_, session)| session).collect()
    }

    async fn try_to_evict(&self, session: &Arc<Session>) -> Eviction {
        match self.evict(session).await {
            Ok(true) => Eviction::Done,
            Ok(false) => Eviction::InUse,
            Err(error) if error.is_want_of_room() => {
                tracing::debug!(session = %session.id, %error, "a session could not be moved to disk");
                Eviction::NoRoom
            }
            Err(error) => {
                tracing::warn!(session = %session.id, %error, "a session could not be moved to disk");
                Eviction::Failed
            }
        }
    }

    /// Takes the first session of the owner who holds most, if that is more than an equal share of the total, and more
    /// than `claimant` holds.
    fn take_of_largest(
        &self,
        stuck: &mut Vec<Arc<Session>>,
        weigh: fn(&Session) -> u64,
        claimant: Option<Option<KeyId>>,
    ) -> Option<Arc<Session>> {
        let mut held: HashMap<Option<KeyId>, u64> = HashMap::new();
        for session in self.table.all().values() {
            *held.entry(session.spec.owner).or_default() += weigh(session);
        }
        held.retain(|_, weight| *weight > 0);
        let weight = |owner: Option<KeyId>| held.get(&owner).copied().unwrap_or(0);
        let total: u64 = held.values().sum();
        // Whoever is alone holds more than nothing.
        let share = if held.len() > 1 { total / held.len() as u64 } else { 0 };
        let least = share.max(claimant.map_or(0, weight));
        let largest = stuck.iter().map(|session| session.spec.owner).max_by_key(|owner| weight(*owner))?;
        if weight(largest) <= least {
            return None;
        }
        let at = stuck.iter().position(|session| session.spec.owner == largest)?;
        Some(stuck.remove(at))
    }

    /// Closes a session that is not in use, and returns whether it did.
    async fn close_for_room(&self, session: &Arc<Session>) -> bool {
        let Ok(mut residency) = Arc::clone(&session.residency).try_write_owned() else { return false };
        let Residency::Resident(handle) = *residency else { return false };
        self.write_back_at_end(session, handle).await;
        let _ = self.sandbox.close(handle).await;
        *residency = Residency::Closed;
        drop(residency);
        session.detach();
        self.table.all().remove(&session.id);
        self.note_footprint(session, None);
        self.count_displaced(session);
        true
    }

    /// Ends sessions whose state on disk has made room for others. They are given with the checkpoint that was it: one
    /// that is in a worker again, or has another state by now, goes on.
    pub(super) fn end_displaced(&self, displaced: Vec<(Uuid, Uuid)>) {
        let Some(manager) = self.weak_self.upgrade().filter(|_| !displaced.is_empty()) else { return };
        // Beside what is under way: who made room holds a session's residency, and may hold one that is waited for here.
        tokio::spawn(async move {
            for (id, checkpoint) in displaced {
                let Some(session) = manager.table.all().get(&id.into()).cloned() else { continue };
                let mut residency = session.residency.write().await;
                if residency.checkpoint().is_some_and(|state| state.uuid() == checkpoint) {
                    *residency = Residency::Closed;
                    drop(residency);
                    session.detach();
                    manager.table.all().remove(&session.id);
                    manager.count_displaced(&session);
                }
            }
        });
    }

    fn count_displaced(&self, session: &Session) {
        tracing::warn!(session = %session.id, "a session is closed: there is no room for it, and its key holds most");
        self.volumes.release(session.id);
        self.metrics.sessions_ended.inc();
        self.metrics.sessions_displaced.inc();
        self.note_lifecycle(session, LifecycleChange::Ended);
    }
}

/// Size of a session in its worker, in bytes.
fn live_bytes_of(session: &Session) -> u64 {
    session.live_bytes.load(Ordering::Relaxed)
}

/// 1 for a session that takes a slot: it is in a worker, and has run code there.
fn has_interpreter(session: &Session) -> u64 {
    u64::from(live_bytes_of(session) > 0 && session.footprint().memory_bytes > 0)
}
