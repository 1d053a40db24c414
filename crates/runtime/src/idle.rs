//! The interpreters of a worker that wait for the next run or session (`reuse`), and the kinds of runs that they wait for.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wasmtime::{Instance, Store};

use super::state::HostState;

/// Kind of a run, by which pages stay in memory after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunKind {
    /// A program that is only run.
    Plain,
    /// A program with its tests.
    InProcess,
    /// A program whose tests run elsewhere.
    Candidate,
    /// Tests whose program runs elsewhere.
    Grader,
    /// Life of a session's interpreter.
    Session,
}

impl RunKind {
    /// Number of kinds.
    pub(super) const COUNT: usize = 5;
}

/// Number of interpreters that wait, at most; the pool has slots for so many more.
pub(super) const MAX_IDLE: u32 = 16;

/// Number of them that wait for a session: many sessions end at once where they expire, and runs come all the time.
const MAX_IDLE_OF_SESSIONS: usize = 8;

/// Interpreters that wait, the one that was used or reset last at the end.
pub(super) struct IdleInterpreters<M>(Mutex<Vec<Idle<M>>>);

/// Interpreter that waits.
pub(super) struct Idle<M> {
    /// Module that it is an instance of.
    pub module: Arc<M>,
    /// Kind of its runs.
    pub kind: RunKind,
    /// Store of the instance alone.
    pub store: Store<HostState>,
    /// The instance.
    pub instance: Instance,
    /// State of its memory.
    pub memory: IdleMemory,
}

impl<M> Idle<M> {
    /// Returns whether its memory is to be reset.
    pub(super) fn is_used(&self) -> bool {
        matches!(self.memory, IdleMemory::Used(_))
    }
}

/// Memory of an interpreter that waits.
pub(super) enum IdleMemory {
    /// Equal to the image's.
    Reset,
    /// As its last run has left it, with the pages that are its own where they are known.
    Used(Option<Vec<Range<usize>>>),
}

impl<M> Default for IdleInterpreters<M> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<M> IdleInterpreters<M> {
    /// Waiting interpreters, the one that was used or reset last at the end.
    pub(super) fn all(&self) -> MutexGuard<'_, Vec<Idle<M>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the last one of an image that had a run of the same kind: its hot pages are those.
    pub(super) fn take(&self, module: &Arc<M>, kind: RunKind) -> Option<Idle<M>> {
        let mut all = self.all();
        let found = all.iter().rposition(|idle| Arc::ptr_eq(&idle.module, module) && idle.kind == kind);
        found.map(|index| all.remove(index))
    }

    /// Takes the one that has waited longest of those that are not reset yet.
    pub(super) fn take_used(&self) -> Option<Idle<M>> {
        let mut all = self.all();
        let found = all.iter().position(Idle::is_used);
        found.map(|index| all.remove(index))
    }

    /// Lets one wait. Returns the one that has waited longest, where there are too many: of those for sessions, where there are
    /// too many of them.
    pub(super) fn put(&self, idle: Idle<M>) -> Option<Idle<M>> {
        let mut all = self.all();
        let of_sessions = |idle: &Idle<M>| idle.kind == RunKind::Session;
        let oldest =
            if of_sessions(&idle) && all.iter().filter(|idle| of_sessions(idle)).count() >= MAX_IDLE_OF_SESSIONS {
                all.iter().position(of_sessions)
            } else {
                (all.len() >= MAX_IDLE as usize).then_some(0)
            };
        let oldest = oldest.map(|index| all.remove(index));
        all.push(idle);
        oldest
    }
}
