//! Isolated grading: the candidate in one guest, its tests in another.

pub(super) mod channel;
pub(super) mod host_calls;
pub(super) mod isolated;
