//! Log of each session for its owner: what the service did with it, never what ran in it. In memory, bounded for each
//! session and each owner.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use super::SessionManager;
use super::lifecycle_change::LifecycleChange;
use proofbox_types::caller::Caller;
use proofbox_types::ids::{KeyId, SessionId, VolumeId};
use proofbox_types::session::{CommandNumber, Signal};
use proofbox_types::status::FailureClass;

/// Lines of a session that are kept; the oldest go.
const MAX_LINES: usize = 1000;
/// Lines of an owner that are kept; beyond it those of the owner's oldest session go.
const MAX_OWNER_LINES: usize = 20_000;

/// Line in the log of a session. It has no text of a client or of a guest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogLine {
    /// Time of the line.
    pub at: Timestamp,
    /// Event that the line tells of.
    pub event: LogEvent,
}

/// Event in the log of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LogEvent {
    /// Change in the life of the session.
    Lifecycle(LifecycleChange),
    /// Start of a command.
    CommandStarted {
        /// Number of the command.
        number: CommandNumber,
    },
    /// End of a command with its background jobs.
    CommandEnded {
        /// Number of the command.
        number: CommandNumber,
        /// End of the command itself.
        end: LoggedEnd,
        /// Time from its start to its end.
        duration: Duration,
    },
    /// End of a call.
    CallEnded {
        /// Number of the call in its context.
        number: u64,
        /// Failure class of the call.
        class: FailureClass,
        /// CPU time of the call.
        duration: Duration,
    },
    /// Volume that could not be brought back to the store at the session's end: it stays as it was.
    VolumeLost {
        /// Id of the volume.
        volume: VolumeId,
    },
}

/// End of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedEnd {
    /// End by itself, or at a limit.
    Exited(i32),
    /// End by a client's signal.
    Killed(Signal),
    /// End with its session, or by its pause.
    SessionEnded,
    /// Failure of the service.
    Failed,
}

/// Logs of all owners' sessions.
#[derive(Default)]
pub(super) struct Logs(Mutex<HashMap<Option<KeyId>, OwnerLogs>>);

/// Logs of an owner's sessions, those that have ended among them. Ids of sessions sort by time.
#[derive(Default)]
struct OwnerLogs {
    sessions: BTreeMap<SessionId, VecDeque<LogLine>>,
    lines: usize,
}

impl Logs {
    pub(super) fn note(&self, owner: Option<KeyId>, session: SessionId, event: LogEvent) {
        let line = LogLine { at: Timestamp::now(), event };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let logs = all.entry(owner).or_default();
        let own = logs.sessions.entry(session).or_default();
        own.push_back(line);
        if own.len() > MAX_LINES {
            own.pop_front();
        } else {
            logs.lines += 1;
        }
        while logs.lines > MAX_OWNER_LINES {
            let Some((_, gone)) = logs.sessions.pop_first() else { break };
            logs.lines -= gone.len();
        }
    }

    fn list(&self, owner: Option<KeyId>, session: SessionId) -> Option<Vec<LogLine>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&owner)?.sessions.get(&session).map(|lines| lines.iter().copied().collect())
    }
}

impl SessionManager {
    /// Lists what is kept of the log of a session of the caller, the oldest line first; the session may have ended. None
    /// where the caller never had it, or its lines are gone.
    pub fn log(&self, caller: &Caller, id: SessionId) -> Option<Vec<LogLine>> {
        let kept = self.table.logs.list(caller.owner(), id);
        kept.or_else(|| self.is_own(caller, id).then(Vec::new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_for_a_session_and_an_owner() {
        let logs = Logs::default();
        let (one, two) = (Some(KeyId::generate()), Some(KeyId::generate()));
        let sessions: Vec<SessionId> = (0..30).map(|_| SessionId::generate()).collect();
        let line = |number| LogEvent::CommandStarted { number };
        for session in &sessions {
            (0..MAX_LINES as u32 + 5).for_each(|number| logs.note(one, *session, line(number)));
        }
        logs.note(two, sessions[0], line(7));
        let of = |owner, session: usize| logs.list(owner, sessions[session]);
        let newest = of(one, 29).expect("kept");
        assert_eq!((newest.len(), newest[0].event), (MAX_LINES, line(5)));
        assert_eq!(of(one, 0), None, "the oldest session's lines are gone");
        assert_eq!(of(two, 0).map(|lines| lines.len()), Some(1));
        let held = logs.0.lock().expect("no panic");
        let total: usize = held[&one].sessions.values().map(VecDeque::len).sum();
        assert!(total == held[&one].lines && total <= MAX_OWNER_LINES, "{total}");
    }
}
