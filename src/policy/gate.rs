//! The gate: every scanner that a pack turns on looks at a snippet, and the pack decides.

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse_unchecked};
use ruff_python_stdlib::sys::is_known_standard_library;
use ruff_text_size::{Ranged, TextRange};

use super::excerpt::Places;
use super::names::NamePattern;
use super::report::{Action, Decision, Finding, ScanReport, ScannerReport};
use super::scan::fragment::{Fragment, FragmentKind, Match};
use super::scan::patterns::Patterns;
use super::scan::tree::{self, Reading};
use super::scan::urls::Urls;
use super::scan::{Capability, Scanner, injection, invisible, secrets};
use crate::syntax;

/// Findings that are told.
const MOST_FINDINGS: usize = 200;
/// Findings of one scanner that are looked at.
const MOST_MATCHES: usize = 5000;
/// Longest source that is scanned.
const MOST_BYTES: usize = 16 << 20;

/// The scanners of one pack, ready to look.
#[derive(Clone, Debug)]
pub struct Gate {
    /// Of the pack.
    pub name: String,
    /// What each scanner does about what it finds.
    pub rules: BTreeMap<Scanner, ScannerRules>,
    /// Which modules may be imported.
    pub imports: Imports,
    /// Names that may not be used, with reasons.
    pub calls: Vec<(NamePattern, String)>,
    /// What is done about each capability, and why.
    pub capabilities: BTreeMap<Capability, (Action, String)>,
    /// Addresses.
    pub urls: Arc<Urls>,
    /// The operator's patterns.
    pub patterns: Arc<Patterns>,
    /// How the scanners' votes become a decision.
    pub aggregation: Aggregation,
}

/// What a pack says of a scanner.
#[derive(Clone, Debug)]
pub struct ScannerRules {
    /// What is done about its findings. (`capabilities` has one for each.)
    pub action: Action,
    /// Findings of less confidence are left out.
    pub threshold: f64,
    /// Of its vote.
    pub weight: f64,
}

/// Which modules may be imported.
#[derive(Clone, Debug)]
pub enum Imports {
    /// These only.
    Allow(Vec<NamePattern>),
    /// All but these.
    Deny(Vec<NamePattern>),
}

/// How the votes of those scanners that may block become a decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aggregation {
    /// One is enough.
    Any,
    /// All of them.
    All,
    /// More than half.
    Majority,
    /// The weighted mean of their scores reaches this.
    Weighted(f64),
}

/// What is scanned.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The text.
    pub text: &'a str,
    /// Its name among the files of the request; none for the snippet.
    pub file: Option<&'a str>,
}

/// A report, with what it was made of.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// For the client.
    pub report: ScanReport,
    /// The snippet with what was found replaced, where the pack wants that. Files are not changed.
    pub redacted: Option<String>,
    /// What points at tampering with a grader or at looking behind the language: rule words.
    pub signs: Vec<&'static str>,
}

/// The gate failed; nothing was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the policy gate failed")]
pub struct GateFailed;

/// One finding before the pack has looked at it.
struct Raw {
    scanner: Scanner,
    category: String,
    rule: String,
    capability: Option<Capability>,
    /// Where the rule has one of its own.
    action: Option<Action>,
    confidence: f64,
    file: usize,
    range: Range<usize>,
    matched: String,
    reason: String,
    /// Whether the range is just what was found, and can be replaced.
    exact: bool,
}

impl Gate {
    /// Whether something in the tree of a snippet can block it.
    pub fn guards_tree(&self) -> bool {
        let tree = [Scanner::Imports, Scanner::Calls];
        tree.iter().any(|scanner| self.rules[scanner].action == Action::Block)
            || self.capabilities.values().any(|(action, _)| *action == Action::Block)
    }

    /// Scans a snippet, and the Python files that come with it.
    ///
    /// # Errors
    /// When a scanner panics: our own failure.
    pub async fn scan(&self, sources: &[Source<'_>]) -> Result<Scanned, GateFailed> {
        let shallow = |source: &Source| {
            source.text.len() <= INLINE_BYTES && !syntax::nests_too_deep(source.text, syntax::MOST_DEPTH_INLINE)
        };
        if sources.iter().map(|source| source.text.len()).sum::<usize>() <= INLINE_BYTES && sources.iter().all(shallow)
        {
            return std::panic::catch_unwind(AssertUnwindSafe(|| self.scan_here(sources))).map_err(|_| GateFailed);
        }
        let gate = self.clone();
        let owned: Vec<(String, Option<String>)> =
            sources.iter().map(|source| (source.text.to_owned(), source.file.map(str::to_owned))).collect();
        syntax::on_large_stack(move || {
            let sources: Vec<Source> =
                owned.iter().map(|(text, file)| Source { text, file: file.as_deref() }).collect();
            gate.scan_here(&sources)
        })
        .await
        .ok_or(GateFailed)
    }

    /// As [`Self::scan`], on this stack: it must be large, or the sources shallow.
    pub fn scan_here(&self, sources: &[Source<'_>]) -> Scanned {
        let begun = Instant::now();
        let own = sources.iter().filter_map(|source| source.file).filter_map(own_module).collect();
        let mut scan = Scan { gate: self, own, found: Vec::new(), spent: BTreeMap::new(), signs: Vec::new() };
        let mut syntax_ok = true;
        let mut places: Vec<Places> = Vec::new();
        for (file, source) in sources.iter().enumerate() {
            syntax_ok &= scan.source(file, source) || source.file.is_some();
            places.push(Places::new(source.text));
        }
        let Scan { found, spent, signs, .. } = scan;
        let mut scanned = self.decide(sources, &mut places, found, &spent);
        scanned.signs = signs;
        scanned.report.syntax_ok = syntax_ok;
        scanned.report.scan_seconds = begun.elapsed().as_secs_f64();
        scanned
    }

    /// Adds to a report that there is something that the gate can't read, in that file or in the snippet.
    pub fn unreadable(&self, scanned: &mut Scanned, file: Option<&str>) {
        let capability = Capability::DynamicCode;
        let why = &self.capabilities[&capability].1;
        let action = self.action_on_unread();
        if action == Action::Off {
            return;
        }
        let report = &mut scanned.report;
        report.findings.push(Finding {
            scanner: Scanner::Capabilities,
            category: capability.word().to_owned(),
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

    /// What is done about what can't be read: a pack that refuses something refuses what may be that.
    fn action_on_unread(&self) -> Action {
        let action = self.capabilities[&Capability::DynamicCode].0;
        if self.guards_tree() { Action::Block } else { action }
    }

    fn decide(
        &self,
        sources: &[Source<'_>],
        places: &mut [Places],
        found: Vec<Raw>,
        spent: &BTreeMap<Scanner, f64>,
    ) -> Scanned {
        let mut capabilities: Vec<Capability> = found.iter().filter_map(|raw| raw.capability).collect();
        capabilities.sort_unstable();
        capabilities.dedup();
        // Secrets are masked in everything that is told.
        for raw in found.iter().filter(|raw| raw.scanner == Scanner::Secrets) {
            places[raw.file].mask(raw.range.clone());
        }
        let mut cuts: Vec<Range<usize>> = Vec::new();
        let mut found: Vec<(Action, Raw)> = found
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
        let findings_dropped = found.len().saturating_sub(MOST_FINDINGS);
        found.truncate(MOST_FINDINGS);
        found.sort_by_key(|(_, raw)| (raw.file, raw.range.start, raw.range.end));
        let findings = found
            .into_iter()
            .map(|(action, raw)| {
                let place = places[raw.file].place(raw.range.clone());
                Finding {
                    scanner: raw.scanner,
                    category: raw.category,
                    rule: raw.rule,
                    capability: raw.capability,
                    action,
                    confidence: raw.confidence,
                    file: sources[raw.file].file.map(str::to_owned),
                    line: place.line,
                    column: place.column,
                    start: place.start,
                    end: place.end,
                    excerpt: place.excerpt,
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

/// Sources of so many bytes, that do not nest deep, are scanned where the request is served.
const INLINE_BYTES: usize = 64 << 10;

struct Scan<'g> {
    gate: &'g Gate,
    /// Modules that come with the request.
    own: Vec<&'g str>,
    found: Vec<Raw>,
    spent: BTreeMap<Scanner, f64>,
    signs: Vec<&'static str>,
}

impl<'g> Scan<'g> {
    /// Scans one source; whether it parses.
    fn source(&mut self, file: usize, source: &Source<'_>) -> bool {
        let text = source.text;
        if text.len() > MOST_BYTES || syntax::nests_too_deep(text, syntax::MOST_DEPTH) {
            self.unreadable(file, "unreadable", "it nests too deep, or is too long, to be read");
            self.whole(file, text);
            return false;
        }
        if let Some(range) = encoding(text) {
            self.capability(
                file,
                Capability::DynamicCode,
                "source_encoding",
                0.9,
                range,
                "",
                "an encoding that may make the source another than it looks",
            );
        }
        let parsed = parse_unchecked(text, ParseOptions::from(Mode::Module)).try_into_module();
        let Some(parsed) = parsed else { return false };
        let tree = [Scanner::Imports, Scanner::Calls, Scanner::Capabilities];
        let begun = Instant::now();
        let reading = tree::read(parsed.syntax(), text.len());
        if tree.iter().any(|scanner| self.gate.looks(*scanner)) {
            self.tree(file, &reading);
        }
        self.spend(Scanner::Capabilities, begun);
        let sound = parsed.has_valid_syntax();
        if sound {
            self.timed(Scanner::Regex, |scan| {
                let mut found = Vec::new();
                scan.gate.patterns.scan(&Fragment { kind: FragmentKind::Source, text, name: None }, &mut found);
                for one in found {
                    let range = one.range.clone();
                    let exact = in_text(&parsed, &range);
                    scan.matched(Scanner::Regex, file, one, range, text, exact);
                }
            });
        }
        if sound {
            self.texts(file, text, &parsed, &reading);
        } else {
            self.whole(file, text);
        }
        self.timed(Scanner::InvisibleCharacters, |scan| {
            let mut found = Vec::new();
            invisible::in_source(text, &mut found);
            for one in found {
                let range = one.range.clone();
                let exact = sound && in_text(&parsed, &range);
                scan.matched(Scanner::InvisibleCharacters, file, one, range, text, exact);
            }
        });
        sound
    }

    /// Whether a module comes with the request, where it is scanned, and hides none of the standard library's.
    fn comes_along(&self, module: &str) -> bool {
        let top = module.split('.').next().unwrap_or(module);
        self.own.contains(&top) && !is_known_standard_library(13, top)
    }

    fn timed(&mut self, scanner: Scanner, look: impl FnOnce(&mut Self)) {
        if self.gate.looks(scanner) {
            let begun = Instant::now();
            look(self);
            self.spend(scanner, begun);
        }
    }

    fn spend(&mut self, scanner: Scanner, begun: Instant) {
        *self.spent.entry(scanner).or_default() += begun.elapsed().as_secs_f64();
    }

    fn unreadable(&mut self, file: usize, rule: &'static str, reason: &str) {
        self.capability(file, Capability::DynamicCode, rule, 0.9, 0..0, "", reason);
    }

    fn capability(
        &mut self,
        file: usize,
        capability: Capability,
        rule: &'static str,
        confidence: f64,
        range: Range<usize>,
        matched: &str,
        reason: &str,
    ) {
        let (action, why) = &self.gate.capabilities[&capability];
        let unread = matches!(rule, "unreadable" | "source_encoding");
        let action = if unread { &self.gate.action_on_unread() } else { action };
        if *action == Action::Off || confidence < self.gate.rules[&Scanner::Capabilities].threshold {
            return;
        }
        let reason = if why.is_empty() { reason.to_owned() } else { format!("{reason}; {why}") };
        self.push(Raw {
            scanner: Scanner::Capabilities,
            category: capability.word().to_owned(),
            rule: rule.to_owned(),
            capability: Some(capability),
            action: Some(*action),
            confidence,
            file,
            range,
            matched: matched.to_owned(),
            reason,
            exact: false,
        });
    }

    fn push(&mut self, raw: Raw) {
        if self.found.len() < MOST_MATCHES {
            self.found.push(raw);
        }
    }

    /// What the tree says.
    fn tree(&mut self, file: usize, reading: &Reading) {
        for one in &reading.uses {
            let reason = format!("{}: {}", one.capability.word(), describe(one.rule, &one.name));
            if matches!(one.capability, Capability::GraderTampering | Capability::Introspection)
                && one.confidence >= SIGN
                && let Some(sign) = sign(one.rule, &one.name)
                && !self.signs.contains(&sign)
            {
                self.signs.push(sign);
            }
            self.capability(file, one.capability, one.rule, one.confidence, bytes(one.range), &one.name, &reason);
        }
        if self.gate.looks(Scanner::Imports) {
            for import in &reading.imports {
                let refused = match &self.gate.imports {
                    Imports::Allow(names) => {
                        let own = import.module.starts_with('.') || self.comes_along(&import.module);
                        let allowed = own || names.iter().any(|name| name.authorizes(&import.module));
                        (!allowed).then_some(("not_authorized", "it is not among the imports that the policy allows"))
                    }
                    Imports::Deny(names) => {
                        let denied = names.iter().any(|name| name.covers(&import.module));
                        denied.then_some(("denied", "the policy does not allow this import"))
                    }
                };
                if let Some((rule, why)) = refused {
                    self.push(Raw {
                        scanner: Scanner::Imports,
                        category: "import".to_owned(),
                        rule: rule.to_owned(),
                        capability: None,
                        action: None,
                        confidence: 1.0,
                        file,
                        range: bytes(import.range),
                        matched: import.module.clone(),
                        reason: format!("import of {}: {why}", import.module),
                        exact: false,
                    });
                }
            }
        }
        if self.gate.looks(Scanner::Calls) && !self.gate.calls.is_empty() {
            for (name, range) in &reading.references {
                if let Some((pattern, why)) = self.gate.calls.iter().find(|(pattern, _)| pattern.matches(name)) {
                    self.push(Raw {
                        scanner: Scanner::Calls,
                        category: "call".to_owned(),
                        rule: pattern.text().to_owned(),
                        capability: None,
                        action: None,
                        confidence: 1.0,
                        file,
                        range: bytes(*range),
                        matched: name.to_string(),
                        reason: format!("use of {name}: {why}"),
                        exact: false,
                    });
                }
            }
        }
    }

    /// Literals, what folding gives, comments, names.
    fn texts(&mut self, file: usize, source: &str, parsed: &Parsed<ruff_python_ast::ModModule>, reading: &Reading) {
        for text in &reading.texts {
            let kind = if text.folded { FragmentKind::Folded } else { FragmentKind::Literal };
            let fragment = Fragment { kind, text: &text.text, name: text.name.as_deref() };
            self.fragment(file, source, &fragment, bytes(text.range));
        }
        for token in parsed.tokens().iter() {
            match token.kind() {
                TokenKind::Comment => {
                    let range = bytes(token.range());
                    let fragment = Fragment { kind: FragmentKind::Comment, text: &source[range.clone()], name: None };
                    self.fragment(file, source, &fragment, range);
                }
                TokenKind::Name => {
                    let range = bytes(token.range());
                    let name = &source[range.clone()];
                    if !name.is_ascii() && self.gate.looks(Scanner::InvisibleCharacters) {
                        let mut found = Vec::new();
                        invisible::in_identifier(name, &mut found);
                        for one in found {
                            let at = range.start + one.range.start..range.start + one.range.end;
                            self.matched(Scanner::InvisibleCharacters, file, one, at, source, false);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// A source that can't be read as Python: as one text.
    fn whole(&mut self, file: usize, text: &str) {
        let fragment = Fragment { kind: FragmentKind::Source, text, name: None };
        self.fragment(file, text, &fragment, 0..text.len());
    }

    fn fragment(&mut self, file: usize, source: &str, fragment: &Fragment<'_>, at: Range<usize>) {
        let gate = self.gate;
        let looks: [(Scanner, &dyn Fn(&mut Vec<Match>)); 4] = [
            (Scanner::Secrets, &|found| secrets::scan(fragment, found)),
            (Scanner::MaliciousUrl, &|found| gate.urls.scan(fragment, found)),
            (Scanner::Injection, &|found| injection::scan(fragment, found)),
            (Scanner::Regex, &|found| gate.patterns.scan(fragment, found)),
        ];
        for (scanner, look) in looks {
            // The operator's patterns have seen the source as it stands.
            if scanner == Scanner::Regex && !matches!(fragment.kind, FragmentKind::Folded | FragmentKind::Source) {
                continue;
            }
            self.timed(scanner, |scan| {
                let mut found = Vec::new();
                look(&mut found);
                if found.is_empty() {
                    return;
                }
                // Where the text stands as it is, a finding is where it is in it; otherwise it is the expression.
                let offset = match fragment.kind {
                    FragmentKind::Folded => None,
                    _ => source[at.clone()].find(fragment.text).map(|offset| at.start + offset),
                };
                for one in found {
                    let range = match offset {
                        Some(offset) => offset + one.range.start..offset + one.range.end,
                        None => at.clone(),
                    };
                    let exact = offset.is_some() && fragment.kind != FragmentKind::Source;
                    scan.matched(scanner, file, one, range, fragment.text, exact);
                }
            });
        }
    }

    /// Takes over what a text scanner found; its range is in `text`, `range` in the source.
    fn matched(&mut self, scanner: Scanner, file: usize, one: Match, range: Range<usize>, text: &str, exact: bool) {
        if one.confidence < self.gate.rules[&scanner].threshold {
            return;
        }
        let found = text.get(one.range.clone()).unwrap_or_default();
        let matched = if scanner == Scanner::Secrets { secrets::mask(found) } else { super::excerpt::shown(found, 80) };
        let again = |raw: &Raw| {
            raw.scanner == scanner && raw.file == file && raw.range == range && raw.rule == one.rule.as_ref()
        };
        if self.found.iter().rev().take(16).any(again) {
            return;
        }
        self.push(Raw {
            scanner,
            category: one.category.into_owned(),
            rule: one.rule.into_owned(),
            capability: None,
            action: None,
            confidence: one.confidence,
            file,
            range,
            matched,
            reason: one.reason.into_owned(),
            exact,
        });
    }
}

/// From this confidence on a finding is told with the verdict's integrity.
const SIGN: f64 = 0.5;

/// The word for a sign of tampering, as `integrity.signals` has it.
fn sign(rule: &str, name: &str) -> Option<&'static str> {
    let last = name.rsplit('.').next().unwrap_or(name);
    Some(match (rule, last) {
        ("constant_equality", _) => "constant_equality",
        ("known_answers", _) => "branches_on_known_inputs",
        ("answers_in_turn", _) => "answers_in_turn",
        ("looks_for_tests", _) => "looks_for_tests",
        ("test_hook", _) => "test_library",
        ("replaced" | "object_changed", _) => "patches",
        ("module_names", _) => "module_names",
        (_, "_exit" | "abort") => "process_exit",
        (_, "register" | "_run_exitfuncs" | "_clear" | "unregister" | "atexit" | "excepthook" | "unraisablehook") => {
            "exit_hook"
        }
        (_, "settrace" | "setprofile" | "monitoring" | "settrace_all_threads" | "setprofile_all_threads") => "tracing",
        (_, "get_objects" | "get_referrers" | "get_referents") => "gc_scan",
        (_, name) if name.starts_with("_proofbox") => "sandbox_internals",
        (_, "linecache" | "co_consts" | "co_code" | "cache") => "linecache",
        (_, "SystemExit") => "process_exit",
        (_, "unittest" | "pytest" | "_pytest" | "SkipTest" | "skip" | "exit") => "test_library",
        (
            _,
            "_getframe" | "f_back" | "f_globals" | "f_locals" | "f_builtins" | "f_code" | "tb_frame" | "gi_frame"
            | "cr_frame" | "ag_frame" | "currentframe" | "stack" | "_current_frames" | "getouterframes" | "trace",
        ) => "frame_walk",
        ("attribute", _) => "introspection",
        _ => return None,
    })
}

fn describe(rule: &str, name: &str) -> String {
    match rule {
        "import" => format!("import of {name}"),
        "name" | "method" => format!("use of {name}"),
        "attribute" => format!("attribute {name}"),
        "builtins_namespace" => "the builtins as a namespace".to_owned(),
        "import_machinery" => format!("the import machinery, by {name}"),
        "computed_import" => "a module whose name is computed".to_owned(),
        "computed_attribute" => format!("an attribute of {name} whose name is computed"),
        "computed_source" => format!("{name} of a computed text"),
        "constant_source" => format!("{name} of a text"),
        "computed_mode" => format!("{name} with a computed mode"),
        "open_to_write" => format!("{name} for writing"),
        "open_to_read" => format!("{name} for reading"),
        "descriptor" => "a file opened by its descriptor".to_owned(),
        "host_path" => format!("the path {name}"),
        "replaced" => format!("{name} is replaced"),
        "object_changed" => format!("{name} of an object is replaced"),
        "module_names" => format!("{name} of the module is replaced"),
        "constant_equality" => format!("{name} always answers the same"),
        "known_answers" => format!("{name} has a table of answers"),
        "answers_in_turn" => format!("{name} gives answers in turn, whatever it is asked"),
        "uncatchable_exception" => "an exception that no test catches".to_owned(),
        "unread" => "constants that are too large to be followed further".to_owned(),
        "looks_for_tests" => format!("code is searched for in what {name} gives"),
        "test_hook" => format!("{name} is what a test runner would load or call"),
        "named_in_text" => format!("a text that names {name}"),
        "read_address" => format!("{name} of an address"),
        "timer_off" => format!("{name} turns a time limit off"),
        "format_walk" => "a format that walks attributes".to_owned(),
        _ => name.to_owned(),
    }
}

/// Where a source declares an encoding in which it may be another text than it seems (PEP 263).
fn encoding(text: &str) -> Option<Range<usize>> {
    let mut start = 0;
    for line in text.split_inclusive(['\n', '\r']).take(3) {
        let comment = line.trim_start_matches([' ', '\t', '\x0c', '\u{feff}']);
        if let Some(rest) = comment.strip_prefix('#')
            && let Some(at) = rest.find("coding")
        {
            let name = rest[at + 6..].trim_start_matches([':', '=', ' ', '\t']);
            let name: String = name
                .chars()
                .take_while(|char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.'))
                .collect();
            let plain = name.to_ascii_lowercase().replace(['-', '.'], "_");
            // Where all is ASCII these are the same text.
            let same = plain.is_empty()
                || plain.starts_with("utf_8")
                || plain.starts_with("utf8")
                || (text.is_ascii()
                    && (plain.starts_with("latin")
                        || plain.starts_with("iso_8859")
                        || plain.contains("ascii")
                        || plain.starts_with("cp125")));
            if !same {
                return Some(start..start + line.trim_end().len());
            }
        } else if !comment.trim().is_empty() && !comment.starts_with('#') {
            return None;
        }
        start += line.len();
    }
    None
}

/// The module that a file of the request is in: `a` of `a.py`, and of `a/b.py`.
fn own_module(path: &str) -> Option<&str> {
    let path = path.strip_prefix("./").unwrap_or(path);
    match path.split_once('/') {
        Some((package, _)) => Some(package),
        None => path.strip_suffix(".py"),
    }
}

/// Whether there is anything but white space and comments.
pub fn contains_code(source: &str) -> bool {
    source.lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
}

fn bytes(range: TextRange) -> Range<usize> {
    range.start().to_usize()..range.end().to_usize()
}

/// Whether a range lies in a string or a comment.
fn in_text(parsed: &Parsed<ruff_python_ast::ModModule>, range: &Range<usize>) -> bool {
    let tokens = parsed.tokens();
    let at = tokens.partition_point(|token| token.range().end().to_usize() <= range.start);
    tokens.get(at).is_some_and(|token| {
        matches!(token.kind(), TokenKind::String | TokenKind::FStringMiddle | TokenKind::Comment)
            && token.range().start().to_usize() <= range.start
            && range.end <= token.range().end().to_usize()
    })
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
