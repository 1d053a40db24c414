//! proofbox runs untrusted Python in CPython compiled to WebAssembly, under fuel and memory limits, and grades it.
//!
//! Each module is a layer; imports go down only (`tests/floors.rs` holds it):
//!
//! ```text
//! cli                         arguments in, exit code out
//!   app                       builds every part once, wires them, drains them
//!     http                    bytes <-> types, one folder an API flavour
//!       service               what the product does
//!         policy grader sandbox store
//!                       worker       the process wall
//!                       shell        commands over a sandbox's files
//!                         runtime    the only layer that names wasmtime
//!           telemetry         log and traces of requests
//!             config metrics  settings | counters
//!             memory          budgets of what clients make the front process hold
//!             jail            what processes give up
//!               domain        vocabulary
//! ```
//!
//! A request's journey: `http::v1::execute` parses it into a `Submission`; `service::submit` has `policy` grant its
//! limits and turns it into one or more `Program`s; `sandbox` hands each to a `worker` process, where `runtime` runs
//! it in a fresh interpreter; the `Outcome` comes back the same way, `grader` makes the `Verdict` of it, and `http`
//! writes the answer.

pub mod app;
pub mod cli;
pub mod config;
pub mod domain;
pub mod grader;
pub mod http;
pub mod jail;
pub mod memory;
pub mod metrics;
pub mod policy;
pub mod runtime;
pub mod sandbox;
pub mod service;
pub mod shell;
pub mod store;
pub mod syntax;
pub mod telemetry;
pub mod worker;
