//! Builtins of the shell, by what they do.

pub(super) mod cd;
pub(super) mod control;
pub(super) mod echo;
pub(super) mod jobs;
pub(super) mod printf;
pub(super) mod read;
pub(super) mod test;
pub(super) mod trap;
pub(super) mod ulimit;
pub(super) mod variables;
