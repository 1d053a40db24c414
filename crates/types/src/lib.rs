//! The vocabulary that every layer shares. Depends on nothing of ours and does no I/O.

pub mod caller;
pub mod canary;
pub mod canonical_json;
pub mod completion;
pub mod failure;
pub mod grant;
pub mod hardening;
pub mod histogram;
pub mod ids;
pub mod large_integers;
pub mod outcome;
pub mod program;
pub mod sanitize;
pub mod session;
pub mod status;
pub mod submission;
pub mod token;
pub mod user;
pub mod value;
pub mod verdict;
mod wire_enum;
