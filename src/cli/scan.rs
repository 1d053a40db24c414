//! `proofbox scan FILE…`: the gate on the command line.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::run::read;
use crate::config::{self, Config};
use proofbox_completion::contains_code;
use proofbox_policy::{Action, Decision, Policies, ScanReport, Source};
use proofbox_types::caller::Caller;
use proofbox_types::sanitize::sanitize;

/// Files to scan, and the form of the report.
#[derive(Args)]
pub(super) struct ScanArguments {
    /// Python files; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Policy pack
    #[arg(long, default_value = "default", value_name = "NAME")]
    policy: String,
    /// Print one JSON object a line, with the file and what POST /v1/scan would say
    #[arg(long)]
    json: bool,
    /// Tell nothing but what blocks
    #[arg(long, short)]
    quiet: bool,
}

/// Scans each file; exit code 0 when all may run, 1 when one may not.
pub(super) fn scan(arguments: &ScanArguments, config: &Config) -> anyhow::Result<ExitCode> {
    let policies = Policies::load(config.policies_dir.as_deref())?;
    let pack = policies.pack(&Caller::keyless(), &arguments.policy)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let shown = if arguments.quiet { Shown::Blocking } else { Shown::All };
    let mut blocked = false;
    let mut out = std::io::stdout().lock();
    for path in &arguments.files {
        let text = read(path)?;
        let scanned = runtime.block_on(pack.gate.scan(&[Source { text: &text, file: None }]))?;
        let report = scanned.report;
        blocked |= report.decision == Decision::Block;
        let told = if arguments.json {
            let line = json!({
                "file": path, "policy": report, "contains_code": contains_code(&text), "syntax_ok": report.syntax_ok,
                "redacted": scanned.redacted,
            });
            format!("{line}\n")
        } else {
            render(path, &report, shown)
        };
        // Whoever reads may have seen enough (`| head`).
        if out.write_all(told.as_bytes()).is_err() {
            break;
        }
    }
    Ok(if blocked { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Findings to show.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    All,
    Blocking,
}

/// Renders a report as compilers do: file, line, column, finding, reason.
fn render(path: &Path, report: &ScanReport, shown: Shown) -> String {
    let colours = config::colours();
    let paint = |text: &str, colour: u8| if colours { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() };
    let mut text = String::new();
    for finding in report.findings.iter().filter(|finding| shown == Shown::All || finding.action == Action::Block) {
        let colour = if finding.action == Action::Block { 31 } else { 33 };
        let (line, column) = (finding.line, finding.column + 1);
        let action = paint(finding.action.as_str(), colour);
        let (scanner, rule) = (finding.scanner.as_str(), &finding.rule);
        let (reason, excerpt) = (sanitize(&finding.reason), sanitize(&finding.excerpt));
        text += &format!("{}:{line}:{column}: {action} [{scanner}/{rule}] {reason}\n", path.display());
        if !excerpt.is_empty() {
            text += &format!("    {excerpt}\n");
        }
    }
    if report.findings_dropped > 0 && shown == Shown::All {
        text += &format!("{}: and {} more\n", path.display(), report.findings_dropped);
    }
    if !report.syntax_ok && shown == Shown::All {
        text += &format!("{}: it does not parse; what can be made of it was scanned\n", path.display());
    }
    if report.decision == Decision::Block {
        let by: Vec<&str> = report.blocked_by.iter().map(|scanner| scanner.as_str()).collect();
        text += &format!("{}: {} by {}\n", path.display(), paint("blocked", 31), by.join(", "));
    }
    text
}
