//! What the gate says of a snippet.

use serde::Serialize;
use utoipa::ToSchema;

use super::scan::{Capability, Scanner};
use crate::domain::words::words;

words! {
    /// What a pack does about a finding.
    #[derive(ToSchema)]
    Action {
        /// The scanner does not look.
        Off = "off",
        /// The finding is told.
        Flag = "flag",
        /// What was found is replaced by asterisks before the snippet runs.
        Redact = "redact",
        /// The snippet does not run, if the pack's aggregation agrees.
        Block = "block",
    }
}

words! {
    /// May the snippet run?
    #[derive(ToSchema)]
    Decision {
        /// It may.
        Allow = "allow",
        /// It may not.
        Block = "block",
    }
}

/// What the gate says of a snippet.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ScanReport {
    /// Of the pack.
    pub name: String,
    /// May it run?
    pub decision: Decision,
    /// The scanners on whose findings it may not.
    pub blocked_by: Vec<Scanner>,
    /// What the program can do with what it names.
    pub capabilities: Vec<Capability>,
    /// In the order of the source, those that block first where there are too many.
    pub findings: Vec<Finding>,
    /// Findings beyond those.
    pub findings_dropped: usize,
    /// Each scanner that looked.
    pub scanners: Vec<ScannerReport>,
    /// Whether the snippet parses. Where it does not, what can be made of it was scanned.
    pub syntax_ok: bool,
    /// Time that all of it took.
    pub scan_seconds: f64,
}

impl ScanReport {
    /// Of a snippet that no scanner was asked about.
    pub fn nothing(name: String) -> Self {
        Self {
            name,
            decision: Decision::Allow,
            blocked_by: Vec::new(),
            capabilities: Vec::new(),
            findings: Vec::new(),
            findings_dropped: 0,
            scanners: Vec::new(),
            syntax_ok: true,
            scan_seconds: 0.0,
        }
    }
}

/// Something that a scanner found.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Finding {
    /// Which.
    pub scanner: Scanner,
    /// What kind of thing: a capability, `credential`, `bidirectional` …
    pub category: String,
    /// By which of its rules.
    pub rule: String,
    /// The capability, where it is one.
    pub capability: Option<Capability>,
    /// What the pack does about it.
    pub action: Action,
    /// How surely it is what it seems, from 0 to 1.
    pub confidence: f64,
    /// The file of the request that it is in; null for the snippet.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: usize,
    /// Character of the line, from 0.
    pub column: usize,
    /// Character of the source where it begins, from 0.
    pub start: usize,
    /// Character after its end.
    pub end: usize,
    /// Its line, or what is around it; secrets are masked, and what can't be seen is escaped.
    pub excerpt: String,
    /// What was recognised: the qualified name, the address, the masked secret.
    pub matched: String,
    /// In words.
    pub reason: String,
}

/// What one scanner says.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ScannerReport {
    /// Which.
    pub scanner: Scanner,
    /// Whether it found something.
    pub matched: bool,
    /// The highest confidence of its findings; 0 without any.
    pub score: f64,
    /// The gravest action among its findings; without any, what it would do.
    pub action: Action,
    /// How many.
    pub findings: usize,
    /// Time that it took.
    pub latency_seconds: f64,
}
