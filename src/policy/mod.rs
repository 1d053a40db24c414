//! May it run? What the operator lets a request use.
//!
//! Scanners that look at the snippet come beside `admit`; today a pack gives limits.

mod admit;
mod file;

pub use admit::{Policies, Refusal};
pub use file::{Pack, PackError, RequestLimits};
