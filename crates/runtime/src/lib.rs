//! The only layer that names wasmtime: makes the image, and runs one program in one fresh interpreter.
//!
//! - [`image::Image`] finds, verifies, or makes the image;
//! - [`Interpreters`] instantiates it and runs a [`Program`](proofbox_types::program::Program) to its
//!   [`Outcome`](proofbox_types::outcome::Outcome).

mod bridge;
mod bridge_calls;
mod capture;
mod clock;
mod engine;
mod entropy;
mod graded;
mod guest;
mod host_work;
pub mod hostile;
pub mod image;
pub mod images;
mod limiter;
mod metered;
pub mod packaged;
mod packages;
mod page_reset;
mod preview1;
mod recipe;
mod refusals;
mod report;
pub mod session;
mod snapshot;
mod state;
mod uses;

pub use guest::{COMMAND_SLOTS, Interpreters, RunError, check_files};
