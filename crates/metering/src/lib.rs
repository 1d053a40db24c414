//! Metering: a pass over a WebAssembly module that makes it count its own work.
//!
//! A counter, a global that nothing else in the module can name, is charged at every loop head, before every indirect
//! call, at the entries of functions that together cut every cycle of direct calls, before calls at the end of long paths,
//! and for the bytes of bulk memory operations. So there is no way round the charges: every cycle of control passes one. When the counter is below zero,
//! the module calls the import [`PAUSE`] and goes on when that returns.
//!
//! What a charge costs is an estimate of the operators up to the next one (`model.rs`). It is fixed here, so that a
//! program costs the same wherever it runs.
//!
//! The counter is no part of the linear memory: nothing that goes wrong there reaches it.

mod branches;
mod call_graph;
mod count;
mod model;
mod reset;
mod rewrite;
mod sections;
mod verify;

pub use branches::{BranchProfile, Hint, ProfileError};
pub use count::{COUNTS, Thresholds, count_branches, note_short_runs, profile};
pub use reset::{Lasting, STACK_POINTER, check_resettable};
pub use verify::{Violation, verify};

/// Module and name of the import that is called when the counter is below zero.
pub const PAUSE: (&str, &str) = ("proofbox", "pause");

/// Name under which the counter is exported, a mutable `i64`.
pub const COUNTER: &str = "proofbox_fuel";

/// Version of the charges: another one charges programs otherwise.
pub const VERSION: u32 = 1;

/// Version of the order in which modules are written. Another one changes neither what they do nor what they are charged, but
/// they have to be compiled anew.
pub const LAYOUT: u32 = 1;

/// Operators that may be carried out between two charges, or after a return to a function until its next charge.
pub const MAX_UNCHARGED: u64 = 1 << 20;

/// Error of metering a module.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The module is not WebAssembly.
    #[error("the module can't be read: {0}")]
    Parse(#[from] wasmparser::BinaryReaderError),
    /// The module can't be written anew.
    #[error("the module can't be written anew: {0}")]
    Encode(String),
    /// The module uses something that the pass does not follow.
    #[error("metering does not follow {0}")]
    Unsupported(String),
    /// The module has one of the names of the counter and its import already.
    #[error("the module has a {0:?} already")]
    Taken(&'static str),
    /// Too much can be carried out between two charges.
    #[error("function {function} can carry out {operators} operators without being charged, more than {MAX_UNCHARGED}")]
    Unbounded {
        /// Index of the function among those that the module defines.
        function: usize,
        /// Longest path without a charge, in operators.
        operators: u64,
    },
    /// The result is not what it has to be.
    #[error(transparent)]
    Violation(#[from] Violation),
    /// An instance would not be as good as new after a run.
    #[error(transparent)]
    Lasting(#[from] Lasting),
}

impl From<wasm_encoder::reencode::Error> for Error {
    fn from(error: wasm_encoder::reencode::Error) -> Self {
        Self::Encode(error.to_string())
    }
}

/// A metered module, and what the pass has found.
#[derive(Debug)]
pub struct Metered {
    /// The module.
    pub module: Vec<u8>,
    /// Counts of the charges.
    pub report: Report,
}

/// Counts of the charges in a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Functions that the module defines.
    pub functions: usize,
    /// Functions that are charged at their entry.
    pub entries: usize,
    /// Loop heads.
    pub loops: usize,
    /// Indirect calls.
    pub indirect_calls: usize,
    /// Bulk memory operations whose length is not known beforehand.
    pub bulk_operations: usize,
    /// Calls that are charged because the path to them is long.
    pub long_paths: usize,
    /// Longest path between two charges, in operators.
    pub longest_uncharged: u64,
    /// Functions that the profile of branches knows.
    pub hinted: usize,
    /// Branches that have a hint by it.
    pub hints: usize,
}

/// Meters a module. Its custom sections are left out, except for the names of functions.
///
/// # Errors
/// Returns an error when the module can't be read, has exceptions or tail calls, or can't be bounded.
pub fn meter(module: &[u8]) -> Result<Metered, Error> {
    meter_with_hints(module, &BranchProfile::default())
}

/// Meters a module, and tells the compiler what a profile knows of its branches. Hints change where code is laid, and
/// neither what it does nor what it is charged.
///
/// # Errors
/// Returns the errors of [`meter`].
pub fn meter_with_hints(module: &[u8], profile: &BranchProfile) -> Result<Metered, Error> {
    let sections = sections::Sections::read(module)?;
    let graph = call_graph::CallGraph::of(&sections)?;
    let plan = model::plan(&sections, &graph)?;
    let (module, report) = rewrite::rewrite(&sections, &plan, profile)?;
    verify(&module)?;
    Ok(Metered { module, report })
}
