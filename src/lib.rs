//! proofbox runs untrusted Python in CPython compiled to WebAssembly, under fuel and memory limits, and grades it.
//!
//! The package is the service itself; what it stands on are the crates below `crates/`, which Cargo keeps apart:
//!
//! ```text
//! cli                         arguments in, exit code out
//!   app                       builds every part once, wires them, drains them
//!     http                    bytes <-> types, one folder an API flavour
//!       service sandbox       what the product does
//!         policy grading store
//!                worker       the process wall, and what processes give up
//!                  shell      commands over a sandbox's files
//!                  runtime    the only crate that names wasmtime
//!                    vfs      files in memory
//!         memory syntax       budgets of clients' bytes | nesting of sources
//!           types             vocabulary
//! ```
//!
//! A request's journey: `http::v1::execute` parses it into a `Submission`; `service::submit` has `policy` grant its
//! limits and turns it into one or more `Program`s; `sandbox` hands each to a `worker` process, where `runtime` runs
//! it in a fresh interpreter; the `Outcome` comes back the same way, `grading` makes the `Verdict` of it, and `http`
//! writes the answer.

pub mod app;
pub mod cli;
pub mod config;
pub mod http;
pub mod metrics;
pub mod sandbox;
pub mod service;
pub mod telemetry;
