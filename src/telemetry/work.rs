//! State of an execution that is traced.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use opentelemetry::Context;

/// State of an execution that is under way.
#[derive(Default)]
pub(super) struct Work(Mutex<Shown>);

impl Work {
    /// Locks the state.
    pub(super) fn shown(&self) -> MutexGuard<'_, Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Spans of an execution so far.
#[derive(Default)]
pub(super) struct Shown {
    /// The last run, and when it ended.
    pub run: Option<(Context, SystemTime)>,
    /// Cases that are runs of their own, not judged yet.
    pub cases: BTreeMap<usize, Case>,
    /// True when its cases are runs of their own.
    pub runs_of_their_own: bool,
    /// Cases that were not shown, of all its runs.
    pub left_out: i64,
}

/// Span of a case that is a run of its own.
pub(super) struct Case {
    pub context: Context,
    pub ended: SystemTime,
}
