//! The vocabulary that every floor shares. Depends on nothing of ours and does no I/O.

pub mod caller;
pub mod canary;
pub mod canonical_json;
pub mod failure;
pub mod figures;
pub mod grant;
pub mod hardening;
pub mod harmless;
pub mod ids;
pub mod run;
pub mod session;
pub mod submission;
pub mod token;
pub mod value;
pub mod verdict;
mod wire_enum;
