//! The process wall: guests live in worker processes, and a worker that dies takes only its own runs with it.
//!
//! - [`WorkerPool`] starts one worker a core, watches over them, and replaces those that die or hang;
//! - [`process::main`] is the worker's own loop (`proofbox worker`, started by the pool alone);
//! - [`rpc`] is what can be asked of a session, which lives in one of them;
//! - `admission` asks the front process for permits, for the interpreters of commands;
//! - `answers` gives requests their turns at the socket;
//! - `protocol` is what they say to each other over a Unix socket.

mod admission;
mod answers;
mod commands;
#[doc(hidden)]
pub mod fuzz_targets;
pub mod jail;
mod pool;
pub mod process;
mod protocol;
pub mod rpc;
mod sessions;
mod socket;
mod stderr_log;
mod turns;

pub use admission::{InterpreterPermit, Payer, PayerAccounts};
pub use pool::{CallError, PoolObserver, SessionLocation, SessionRef, WorkerError, WorkerPool, WorkerSettings};
