//! The gate: every scanner that a pack turns on looks at a snippet, and the pack decides.

mod messages;
mod scan;

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use super::excerpt::SourceLocator;
use super::names::NamePattern;
use super::report::{Action, Decision, Finding, ScanReport, ScannerReport};
use super::scanners::patterns::Patterns;
use super::scanners::urls::Urls;
use super::scanners::{Capability, Scanner};
use scan::{Depth, RawFinding, Scan};

/// Findings that are told.
const MAX_FINDINGS: usize = 200;
/// Sources of so many bytes, that do not nest deep, are scanned where the request is served.
const INLINE_BYTES: usize = 64 << 10;

/// The scanners of one pack, ready to look.
#[derive(Clone, Debug)]
pub struct Gate {
    /// Name of the pack.
    pub name: String,
    /// Rules of each scanner for its findings.
    pub rules: BTreeMap<Scanner, ScannerRules>,
    /// Rule on the modules that may be imported.
    pub imports: Imports,
    /// Names that may not be used, with reasons.
    pub calls: Vec<(NamePattern, String)>,
    /// Action and reason for each capability.
    pub capabilities: BTreeMap<Capability, (Action, String)>,
    /// Rules on addresses and hosts.
    pub urls: Arc<Urls>,
    /// Patterns of the operator.
    pub patterns: Arc<Patterns>,
    /// Rule by which the scanners' votes become a decision.
    pub aggregation: Aggregation,
}

/// Rules of a pack for one scanner.
#[derive(Clone, Debug)]
pub struct ScannerRules {
    /// Action on its findings. (`capabilities` has an action for each.)
    pub action: Action,
    /// Findings of less confidence are left out.
    pub threshold: f64,
    /// Weight of the vote.
    pub weight: f64,
}

/// Rule on the modules that may be imported.
#[derive(Clone, Debug)]
pub enum Imports {
    /// Modules that may be imported, and no others.
    Allow(Vec<NamePattern>),
    /// Modules that may not be imported.
    Deny(Vec<NamePattern>),
}

/// Rule by which the votes of scanners that may block become a decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aggregation {
    /// Blocks when at least one scanner votes to.
    Any,
    /// Blocks when every such scanner votes to.
    All,
    /// Blocks when more than half of them vote to.
    Majority,
    /// The weighted mean of their scores reaches this.
    Weighted(f64),
}

/// Text that is scanned, and its name.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Python source to scan.
    pub text: &'a str,
    /// Name among the files of the request; `None` for the snippet.
    pub file: Option<&'a str>,
}

/// A report, with what it was made of.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// Report for the client.
    pub report: ScanReport,
    /// The snippet with what was found replaced, where the pack wants that. Files are not changed.
    pub redacted: Option<String>,
    /// Signs of tampering with a grader or of looking behind the language, as rule words.
    pub signs: Vec<&'static str>,
}

/// The gate failed; nothing was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the policy gate failed")]
pub struct GateFailed;

impl Gate {
    /// Returns whether something in the tree of a snippet can block it.
    pub fn guards_tree(&self) -> bool {
        let tree = [Scanner::Imports, Scanner::Calls];
        tree.iter().any(|scanner| self.rules[scanner].action == Action::Block)
            || self.capabilities.values().any(|(action, _)| *action == Action::Block)
    }

    /// Scans a snippet, and the Python files that come with it.
    ///
    /// # Errors
    /// Returns an error when a scanner panics: a failure of the service.
    pub async fn scan(&self, sources: &[Source<'_>]) -> Result<Scanned, GateFailed> {
        let shallow = |source: &Source| {
            source.text.len() <= INLINE_BYTES
                && !proofbox_syntax::nests_too_deep(source.text, proofbox_syntax::MAX_DEPTH_INLINE)
        };
        if sources.iter().map(|source| source.text.len()).sum::<usize>() <= INLINE_BYTES && sources.iter().all(shallow)
        {
            return std::panic::catch_unwind(AssertUnwindSafe(|| self.scan_all(sources, Depth::Shallow)))
                .map_err(|_| GateFailed);
        }
        let gate = self.clone();
        let owned: Vec<(String, Option<String>)> =
            sources.iter().map(|source| (source.text.to_owned(), source.file.map(str::to_owned))).collect();
        proofbox_syntax::on_large_stack(move || {
            let sources: Vec<Source> =
                owned.iter().map(|(text, file)| Source { text, file: file.as_deref() }).collect();
            gate.scan_here(&sources)
        })
        .await
        .ok_or(GateFailed)
    }

    /// Scans like [`Self::scan`], on this stack: it must be large, or the sources shallow.
    pub fn scan_here(&self, sources: &[Source<'_>]) -> Scanned {
        self.scan_all(sources, Depth::Unknown)
    }

    fn scan_all(&self, sources: &[Source<'_>], depth: Depth) -> Scanned {
        let begun = Instant::now();
        let mut scan = Scan::new(self, sources);
        let mut syntax_ok = true;
        let mut locators: Vec<SourceLocator> = Vec::new();
        for (file, source) in sources.iter().enumerate() {
            syntax_ok &= scan.source(file, source, depth) || source.file.is_some();
            locators.push(SourceLocator::new(source.text));
        }
        let Scan { found, spent, signs, .. } = scan;
        let mut scanned = self.decide(sources, &mut locators, found, &spent);
        scanned.signs = signs;
        scanned.report.syntax_ok = syntax_ok;
        scanned.report.scan_seconds = begun.elapsed().as_secs_f64();
        scanned
    }

    /// Adds to a report that there is something that the gate can't read, in that file or in the snippet.
    pub fn unreadable(&self, scanned: &mut Scanned, file: Option<&str>) {
        let capability = Capability::DynamicCode;
        let why = &self.capabilities[&capability].1;
        let action = self.unscannable_action();
        if action == Action::Off {
            return;
        }
        let report = &mut scanned.report;
        report.findings.push(Finding {
            scanner: Scanner::Capabilities,
            category: capability.as_str().to_owned(),
            rule: "unreadable".to_owned(),
            capability: Some(capability),
            action,
            confidence: 0.9,
            file: file.map(str::to_owned),
            line: 1,
            column: 0,
            start: 0,
            end: 0,
            excerpt: String::new(),
            matched: String::new(),
            reason: format!("Python that the gate can't read; {why}"),
        });
        if !report.capabilities.contains(&capability) {
            report.capabilities.push(capability);
        }
        // It is no vote among others: nothing else of it could be looked at.
        if let Some(row) = report.scanners.iter_mut().find(|row| row.scanner == Scanner::Capabilities) {
            *row = ScannerReport {
                matched: true,
                score: row.score.max(0.9),
                action: row.action.max(action),
                findings: row.findings + 1,
                ..row.clone()
            };
        }
        if action == Action::Block {
            report.decision = Decision::Block;
            if !report.blocked_by.contains(&Scanner::Capabilities) {
                report.blocked_by.push(Scanner::Capabilities);
            }
        }
    }

    /// Returns the action on a source that can't be read: a pack that refuses something refuses what may hide it.
    fn unscannable_action(&self) -> Action {
        let action = self.capabilities[&Capability::DynamicCode].0;
        if self.guards_tree() { Action::Block } else { action }
    }

    fn decide(
        &self,
        sources: &[Source<'_>],
        locators: &mut [SourceLocator],
        found: Vec<RawFinding>,
        spent: &BTreeMap<Scanner, f64>,
    ) -> Scanned {
        let mut capabilities: Vec<Capability> = found.iter().filter_map(|raw| raw.capability).collect();
        capabilities.sort_unstable();
        capabilities.dedup();
        // Secrets are masked in everything that is told.
        for raw in found.iter().filter(|raw| raw.scanner == Scanner::Secrets) {
            locators[raw.file].mask(raw.range.clone());
        }
        let mut cuts: Vec<Range<usize>> = Vec::new();
        let mut found: Vec<(Action, RawFinding)> = found
            .into_iter()
            .map(|raw| {
                let action = raw.action.unwrap_or(self.rules[&raw.scanner].action);
                if action != Action::Redact {
                    return (action, raw);
                }
                // What can't be cut out without changing the program can't be redacted.
                if !raw.exact || sources[raw.file].file.is_some() {
                    return (Action::Block, raw);
                }
                cuts.push(raw.range.clone());
                (action, raw)
            })
            .collect();
        let scanners: Vec<ScannerReport> = self
            .rules
            .iter()
            .filter(|(scanner, _)| self.looks(**scanner))
            .map(|(scanner, rules)| {
                let own = || found.iter().filter(|(_, raw)| raw.scanner == *scanner);
                ScannerReport {
                    scanner: *scanner,
                    matched: own().next().is_some(),
                    score: own().map(|(_, raw)| raw.confidence).fold(0.0, f64::max),
                    action: own().map(|(action, _)| *action).max().unwrap_or(
                        match scanner {
                            Scanner::Capabilities => self.capabilities.values().map(|(action, _)| *action).max(),
                            _ => None,
                        }
                        .unwrap_or(rules.action),
                    ),
                    findings: own().count(),
                    latency_seconds: spent.get(scanner).copied().unwrap_or(0.0),
                }
            })
            .collect();
        let blocking =
            |scanner: Scanner| found.iter().any(|(action, raw)| raw.scanner == scanner && *action == Action::Block);
        let votes: Vec<Scanner> = Scanner::ALL.iter().copied().filter(|scanner| blocking(*scanner)).collect();
        let blocked = self.blocked(&votes, &scanners);
        let redacted = if blocked { None } else { redact(sources, cuts) };
        // Those that block come first where there are too many; what is told stays in order.
        found.sort_by_key(|(action, _)| std::cmp::Reverse(*action));
        let findings_dropped = found.len().saturating_sub(MAX_FINDINGS);
        found.truncate(MAX_FINDINGS);
        found.sort_by_key(|(_, raw)| (raw.file, raw.range.start, raw.range.end));
        let findings = found
            .into_iter()
            .map(|(action, raw)| {
                let location = locators[raw.file].locate(raw.range.clone());
                Finding {
                    scanner: raw.scanner,
                    category: raw.category,
                    rule: raw.rule,
                    capability: raw.capability,
                    action,
                    confidence: raw.confidence,
                    file: sources[raw.file].file.map(str::to_owned),
                    line: location.line,
                    column: location.column,
                    start: location.start,
                    end: location.end,
                    excerpt: location.excerpt,
                    matched: raw.matched,
                    reason: raw.reason,
                }
            })
            .collect();
        let report = ScanReport {
            name: self.name.clone(),
            decision: if blocked { Decision::Block } else { Decision::Allow },
            blocked_by: if blocked { votes } else { Vec::new() },
            capabilities,
            findings,
            findings_dropped,
            scanners,
            syntax_ok: true,
            scan_seconds: 0.0,
        };
        Scanned { report, redacted, signs: Vec::new() }
    }

    fn blocked(&self, votes: &[Scanner], scanners: &[ScannerReport]) -> bool {
        let voters: Vec<Scanner> = Scanner::ALL.iter().copied().filter(|scanner| self.may_block(*scanner)).collect();
        match self.aggregation {
            Aggregation::Any => !votes.is_empty(),
            Aggregation::All => !votes.is_empty() && voters.iter().all(|voter| votes.contains(voter)),
            Aggregation::Majority => 2 * votes.len() > voters.len(),
            Aggregation::Weighted(threshold) => {
                let weight = |scanner: &Scanner| self.rules[scanner].weight;
                let score = |scanner: &Scanner| {
                    let report = scanners.iter().find(|report| report.scanner == *scanner);
                    report.map_or(0.0, |report| report.score)
                };
                let whole: f64 = voters.iter().map(weight).sum();
                let sum: f64 = votes.iter().map(|vote| weight(vote) * score(vote)).sum();
                !votes.is_empty() && whole > 0.0 && sum / whole >= threshold
            }
        }
    }

    fn may_block(&self, scanner: Scanner) -> bool {
        match scanner {
            Scanner::Capabilities => self.capabilities.values().any(|(action, _)| *action == Action::Block),
            scanner => matches!(self.rules[&scanner].action, Action::Block | Action::Redact),
        }
    }

    fn looks(&self, scanner: Scanner) -> bool {
        match scanner {
            Scanner::Capabilities => self.capabilities.values().any(|(action, _)| *action != Action::Off),
            scanner => self.rules[&scanner].action != Action::Off,
        }
    }
}

/// The snippet with what is to be cut out replaced, character by character.
fn redact(sources: &[Source<'_>], mut cuts: Vec<Range<usize>>) -> Option<String> {
    let source = sources.iter().find(|source| source.file.is_none()).filter(|_| !cuts.is_empty())?;
    cuts.sort_by_key(|cut| cut.start);
    let mut text = String::with_capacity(source.text.len());
    let mut done = 0;
    for cut in cuts {
        let start = cut.start.max(done);
        if start >= cut.end {
            continue;
        }
        text.push_str(&source.text[done..start]);
        text.extend(source.text[start..cut.end].chars().map(|char| if char == '\n' { '\n' } else { '*' }));
        done = cut.end;
    }
    text.push_str(&source.text[done..]);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policies;
    use proofbox_types::caller::Caller;

    fn scan(policy: &str, code: &str) -> Scanned {
        let policies = Policies::load(None).expect("the packs of the repository are sound");
        policies
            .pack(&Caller::keyless(), policy)
            .expect("it is one of them")
            .gate
            .scan_here(&[Source { text: code, file: None }])
    }

    #[test]
    fn places_are_told_in_lines_and_characters() {
        let report = scan("strict", "é = 1\nété = __import__('os').system\n").report;
        let finding = report.findings.iter().find(|one| one.matched == "os.system").expect("it is found");
        assert_eq!((finding.line, finding.column, finding.start, finding.end), (2, 6, 12, 35));
        assert_eq!(finding.excerpt, "été = __import__('os').system");
    }

    #[test]
    fn secrets_are_shown_nowhere() {
        let secret = format!("AKIA{}", "Q3EGRBEXAMPL7XY2");
        let code = format!("import os; os.system('{secret}')  # {secret}\n");
        for policy in ["strict", "default", "agent"] {
            let scanned = scan(policy, &code);
            let told = format!("{:?}", scanned.report);
            assert!(!told.contains(&secret), "{policy}: {told}");
        }
    }

    #[test]
    fn what_cannot_be_cut_out_is_blocked_instead() {
        let exact = scan("agent", &format!("k = 'AKIA{}'", "Q3EGRBEXAMPL7XY2"));
        assert_eq!(exact.redacted.as_deref(), Some("k = '********************'"));
        let folded = scan("agent", &format!("k = 'AKIA' + '{}'", "Q3EGRBEXAMPL7XY2"));
        assert_eq!((folded.report.decision, folded.redacted), (Decision::Block, None));
    }

    #[test]
    fn findings_are_bounded_and_those_that_block_come_first() {
        let code = "print('/etc/passwd')\n".repeat(400) + "import socket\n";
        let report = scan("eval", &code).report;
        assert_eq!(report.decision, Decision::Block);
        assert!(report.findings.len() <= MAX_FINDINGS);
        assert!(report.findings.iter().any(|one| one.action == Action::Block));
    }

    #[test]
    fn encodings_that_hide_the_source_are_refused_where_something_is() {
        for (code, decision) in [
            ("# coding: utf-7\n", Decision::Block),
            ("\n# vim: set fileencoding=rot13 :\n", Decision::Block),
            ("# coding: latin-1\nx = 1\n", Decision::Allow),
            ("# -*- coding: UTF-8 -*-\n", Decision::Allow),
            ("x = 1\n\n# coding: utf-7\n", Decision::Allow),
        ] {
            assert_eq!(scan("eval", code).report.decision, decision, "{code:?}");
        }
    }

    #[test]
    fn modules_of_the_request_may_be_imported_unless_they_hide_the_librarys() {
        let policies = Policies::load(None).expect("the packs of the repository are sound");
        let gate = &policies.pack(&Caller::keyless(), "strict").expect("it is one of them").gate;
        for (name, decision) in [("helper", Decision::Allow), ("os", Decision::Block)] {
            let (code, file) = (format!("import {name}\n"), format!("{name}.py"));
            let sources = [Source { text: &code, file: None }, Source { text: "x = 1\n", file: Some(&file) }];
            assert_eq!(gate.scan_here(&sources).report.decision, decision, "{name}");
        }
    }

    #[tokio::test]
    async fn nesting_ends_no_process() {
        let policies = Policies::load(None).expect("the packs of the repository are sound");
        let gate = &policies.pack(&Caller::keyless(), "strict").expect("it is one of them").gate;
        for count in [90, 1_900, 5_000, 100_000] {
            for (open, middle, close) in [
                ("(", "1", ")"),
                ("[", "1", "]"),
                ("-", "1", ""),
                ("", "f", "()"),
                ("", "a", ".a"),
                ("lambda: ", "1", ""),
                ("f(", "1", ")"),
                ("1+", "1", ""),
                ("f'{", "x", "}'"),
            ] {
                let code = format!("x = {}{middle}{}\n", open.repeat(count), close.repeat(count));
                let scanned = gate.scan(&[Source { text: &code, file: None }]).await.expect("no scanner panics");
                let unreadable = scanned.report.findings.iter().any(|one| one.rule == "unreadable");
                // What the tokens of a level count for differs.
                assert!(unreadable || count < 5_000, "{open}{close} {count}");
                assert!(!unreadable || count > 90, "{open}{close} {count}");
            }
        }
    }
}
