//! The process wall: guests live in worker processes, and a worker that dies takes only its own runs with it.
//!
//! - [`WorkerPool`] starts one worker a core, watches over them, and replaces those that die or hang;
//! - [`process::main`] is the worker's own loop (`proofbox worker`, started by the pool alone);
//! - [`ask`] is what can be asked of a session, which lives in one of them;
//! - `protocol` is what they say to each other over a Unix socket.

pub mod ask;
mod commands;
pub mod hostile;
pub mod jail;
mod last_words;
mod pool;
pub mod process;
mod protocol;
mod sessions;
mod turns;

pub use pool::{Asked, Home, PoolObserver, WorkerError, WorkerPool, WorkerSettings};
