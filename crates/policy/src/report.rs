//! Report of the gate on a snippet.

use serde::Serialize;
use utoipa::ToSchema;

use super::scanners::{Capability, Scanner};
use proofbox_types::wire_enum;

wire_enum! {
    /// Action of a pack on a finding.
    #[derive(ToSchema)]
    Action {
        /// The scanner does not look.
        Off = "off",
        /// The finding is told.
        Flag = "flag",
        /// Replacement of the finding by asterisks before the snippet runs.
        Redact = "redact",
        /// The snippet does not run, if the pack's aggregation agrees.
        Block = "block",
    }
}

wire_enum! {
    /// May the snippet run?
    #[derive(ToSchema)]
    Decision {
        /// Permission to run the snippet.
        Allow = "allow",
        /// Refusal to run the snippet.
        Block = "block",
    }
}

/// Report of the gate on a snippet.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ScanReport {
    /// Name of the pack.
    pub name: String,
    /// Decision on whether the snippet may run.
    pub decision: Decision,
    /// The scanners on whose findings it may not.
    pub blocked_by: Vec<Scanner>,
    /// Capabilities of the program, by the names that it uses.
    pub capabilities: Vec<Capability>,
    /// In the order of the source, those that block first where there are too many.
    pub findings: Vec<Finding>,
    /// Number of findings beyond those.
    pub findings_dropped: usize,
    /// Summaries of the scanners that ran.
    pub scanners: Vec<ScannerReport>,
    /// True when the snippet parses. A snippet that does not is scanned as far as the parser got.
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
    /// Scanner that made the finding.
    pub scanner: Scanner,
    /// Category of the finding: a capability, `credential`, `bidirectional` …
    pub category: String,
    /// By which of its rules.
    pub rule: String,
    /// The capability, where it is one.
    pub capability: Option<Capability>,
    /// Action of the pack on the finding.
    pub action: Action,
    /// Confidence that the finding is what it seems, from 0 to 1.
    pub confidence: f64,
    /// The file of the request that it is in; null for the snippet.
    pub file: Option<String>,
    /// Line number, counted from 1.
    pub line: usize,
    /// Character of the line, from 0.
    pub column: usize,
    /// Character of the source where it begins, from 0.
    pub start: usize,
    /// Character after its end.
    pub end: usize,
    /// Line of the finding, or what is around it; secrets are masked and invisible characters escaped.
    pub excerpt: String,
    /// Matched text: the qualified name, the address, or the masked secret.
    pub matched: String,
    /// Reason for the finding, in words.
    pub reason: String,
}

/// Report of one scanner.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ScannerReport {
    /// Scanner that the report is about.
    pub scanner: Scanner,
    /// True when the scanner found something.
    pub matched: bool,
    /// The highest confidence of its findings; 0 without any.
    pub score: f64,
    /// The gravest action among its findings; without any, what it would do.
    pub action: Action,
    /// Number of its findings.
    pub findings: usize,
    /// Time that it took.
    pub latency_seconds: f64,
}
