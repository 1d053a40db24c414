//! From text to a tree: bash's grammar, read in one pass.
//!
//! The text comes from guests and models. Every step goes forward, so the time is that of the length; what nests is
//! counted, and refused at [`MAX_NESTING`]; what a tree may hold is bounded by [`MAX_NODES`]. Crates were looked at:
//! `brush-parser` 0.4 panics at `~` or a redirection with a long number, recurses without a bound, and keeps texts in
//! caches of the process; the licence of `yash-syntax` is not one that ours can take in.

mod commands;
mod compound;
mod conditional;
mod parameters;
mod reader;
mod tree;
mod words;

pub(super) use reader::{Parser, SyntaxError};
pub(super) use tree::*;

/// Commands and expansions inside each other. Each level takes some KiB of the stack, here and where it is run.
pub(super) const MAX_NESTING: usize = 50;
/// Parts of one script: each takes some hundred bytes.
pub(super) const MAX_NODES: usize = 100_000;
/// Maximum length of a script, in bytes.
pub(super) const MAX_SCRIPT: usize = 2 << 20;
