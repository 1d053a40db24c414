//! The only layer that names wasmtime: makes the image, and runs one program in one fresh interpreter.
//!
//! - [`image::Image`] finds, verifies, or makes the image;
//! - [`InterpreterPool`] instantiates it;
//! - [`run`](run()) runs a [`Program`](proofbox_types::program::Program) to its
//!   [`Outcome`](proofbox_types::outcome::Outcome), in one or two of its interpreters.

#[doc(hidden)]
pub mod branch_counts;
mod capture;
mod clock;
mod denials;
mod engine;
mod entropy;
mod error;
mod fuel;
mod fuel_meter;
mod fuel_spent;
#[doc(hidden)]
pub mod fuzz_targets;
mod grading;
mod guest;
mod hashing;
mod host_work;
mod idle;
pub mod image;
mod image_error;
pub mod images;
mod limiter;
mod native_stack;
mod package_runs;
pub mod packaged;
mod packages;
mod page_reset;
mod pagemap;
mod pool;
mod preview1;
mod recipe;
mod report;
mod reuse;
mod run;
mod scheduler;
pub mod session;
mod shell;
mod snapshot;
mod state;
mod time_slice;
mod trusted;
mod usage_events;
#[doc(hidden)]
pub mod wasi_probe;
pub mod wheels;

pub use error::RunError;
pub use fuel_spent::FuelSpent;
pub use guest::{check_files, open_all};
pub use image_error::ImageError;
pub use pagemap::map_small_pages_only;
pub use pool::{COMMAND_SLOTS, ImageFiles, InterpreterPool};
pub use run::{run, run_with_commands};
