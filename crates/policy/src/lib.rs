//! May it run? What the operator lets a request use, and what is said of a snippet before it runs.
//!
//! A [`Pack`] is one file of an operator's: limits, and what the gate's scanners do about what they find. [`Policies`]
//! holds those of a service. The gate ([`Gate`]) reads a snippet as Python and as text; it is what the operator wants
//! to hear about or refuse, and not what contains a program: that is the sandbox.

mod admit;
mod analyzer;
mod engine;
mod excerpt;
mod file;
mod names;
mod report;
mod scanners;

pub use admit::{Policies, Refusal};
pub use engine::{Aggregation, Gate, GateFailed, Imports, Scanned, ScannerRules, Source};
pub use file::{BoundaryRule, Defaults, FileRules, Pack, PackError, RequestLimits};
pub use names::{NamePattern, NamePatternError};
pub use report::{Action, Decision, Finding, ScanReport, ScannerReport};
pub use scanners::{Capability, Scanner};
