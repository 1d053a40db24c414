//! Scan of one source after the other, by every scanner.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Instant;

use ruff_python_ast::ModModule;
use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse_unchecked};
use ruff_python_stdlib::sys::is_known_standard_library;
use ruff_text_size::{Ranged, TextRange};

use super::messages::{SIGN, describe, sign};
use super::{Gate, Imports, Source};
use crate::analyzer::{self, Analysis, Use};
use crate::excerpt::shown;
use crate::report::Action;
use crate::scanners::fragment::{Fragment, FragmentKind, Match};
use crate::scanners::{Capability, Scanner, injection, secrets, unicode};

/// Findings of one scanner that are looked at.
const MAX_MATCHES: usize = 5000;
/// Longest source that is scanned.
const MAX_BYTES: usize = 16 << 20;

/// Finding before the pack has judged it.
pub(super) struct RawFinding {
    pub scanner: Scanner,
    pub category: String,
    pub rule: String,
    pub capability: Option<Capability>,
    /// Action of the rule, where it has its own.
    pub action: Option<Action>,
    pub confidence: f64,
    pub file: usize,
    pub range: Range<usize>,
    pub matched: String,
    pub reason: String,
    /// True when the range is exactly what was found, and can be replaced.
    pub exact: bool,
}

/// Relation of a finding's range to what was found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Span {
    /// Range of exactly what was found: it can be replaced.
    Exact,
    /// Range of an expression that contains what was found, or makes it.
    Enclosing,
}

/// Scanner of one fragment, which appends its matches.
type TextScanner = fn(&Gate, &Fragment<'_>, &mut Vec<Match>);

/// Knowledge about how deep the sources nest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Depth that was checked: the sources do not nest deep.
    Shallow,
    /// Depth that was not checked.
    Unknown,
}

/// Looks at the sources of one submission.
pub(super) struct Scan<'g> {
    gate: &'g Gate,
    /// Modules that come with the request.
    own: Vec<&'g str>,
    /// Findings of every scanner so far.
    pub found: Vec<RawFinding>,
    /// Seconds that each scanner took.
    pub spent: BTreeMap<Scanner, f64>,
    /// Signs for the verdict.
    pub signs: Vec<&'static str>,
}

impl<'g> Scan<'g> {
    /// Before the first source.
    pub(super) fn new(gate: &'g Gate, sources: &[Source<'g>]) -> Self {
        let own = sources.iter().filter_map(|source| source.file).filter_map(own_module).collect();
        Self { gate, own, found: Vec::new(), spent: BTreeMap::new(), signs: Vec::new() }
    }

    /// Scans one source; whether it parses.
    pub(super) fn source(&mut self, file: usize, source: &Source<'_>, depth: Depth) -> bool {
        let text = source.text;
        let deep = depth == Depth::Unknown && proofbox_syntax::nests_too_deep(text, proofbox_syntax::MAX_DEPTH);
        if text.len() > MAX_BYTES || deep {
            self.unscannable(file, "unreadable", 0..0, "it nests too deep, or is too long, to be read");
            self.whole(file, text);
            return false;
        }
        if let Some(range) = encoding(text) {
            self.unscannable(
                file,
                "source_encoding",
                range,
                "an encoding that may make the source another than it looks",
            );
        }
        let parsed = parse_unchecked(text, ParseOptions::from(Mode::Module)).try_into_module();
        let Some(parsed) = parsed else { return false };
        let tree = [Scanner::Imports, Scanner::Calls, Scanner::Capabilities];
        let begun = Instant::now();
        let analysis = analyzer::analyze(parsed.syntax(), text.len());
        if tree.iter().any(|scanner| self.gate.looks(*scanner)) {
            self.tree(file, &analysis);
        }
        self.spend(Scanner::Capabilities, begun);
        let sound = parsed.has_valid_syntax();
        if sound {
            self.timed(Scanner::Regex, |scan| {
                let mut found = Vec::new();
                scan.gate.patterns.scan(&Fragment { kind: FragmentKind::Source, text, name: None }, &mut found);
                for one in found {
                    let range = one.range.clone();
                    let span = if in_text(&parsed, &range) { Span::Exact } else { Span::Enclosing };
                    scan.matched(Scanner::Regex, file, one, range, text, span);
                }
            });
        }
        if sound {
            self.texts(file, text, &parsed, &analysis);
        } else {
            self.whole(file, text);
        }
        self.timed(Scanner::InvisibleCharacters, |scan| {
            let mut found = Vec::new();
            unicode::in_source(text, &mut found);
            for one in found {
                let range = one.range.clone();
                let span = if sound && in_text(&parsed, &range) { Span::Exact } else { Span::Enclosing };
                scan.matched(Scanner::InvisibleCharacters, file, one, range, text, span);
            }
        });
        sound
    }

    /// Returns whether a module comes with the request, where it is scanned, and shadows none of the standard library.
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

    /// Something of a source can't be read as it stands.
    fn unscannable(&mut self, file: usize, rule: &'static str, range: Range<usize>, reason: &str) {
        let action = self.gate.unscannable_action();
        let one = Use {
            capability: Capability::DynamicCode,
            rule,
            name: String::new(),
            confidence: 0.9,
            range: TextRange::default(),
        };
        self.capability(file, one, range, action, reason);
    }

    fn capability(&mut self, file: usize, one: Use, range: Range<usize>, action: Action, reason: &str) {
        if action == Action::Off || one.confidence < self.gate.rules[&Scanner::Capabilities].threshold {
            return;
        }
        let why = &self.gate.capabilities[&one.capability].1;
        let reason = if why.is_empty() { reason.to_owned() } else { format!("{reason}; {why}") };
        self.push(RawFinding {
            scanner: Scanner::Capabilities,
            category: one.capability.as_str().to_owned(),
            rule: one.rule.to_owned(),
            capability: Some(one.capability),
            action: Some(action),
            confidence: one.confidence,
            file,
            range,
            matched: one.name,
            reason,
            exact: false,
        });
    }

    fn push(&mut self, raw: RawFinding) {
        if self.found.len() < MAX_MATCHES {
            self.found.push(raw);
        }
    }

    /// Records the findings of the syntax tree.
    fn tree(&mut self, file: usize, analysis: &Analysis) {
        for one in &analysis.uses {
            let reason = format!("{}: {}", one.capability.as_str(), describe(one.rule, &one.name));
            if matches!(one.capability, Capability::GraderTampering | Capability::Introspection)
                && one.confidence >= SIGN
                && let Some(sign) = sign(one.rule, &one.name)
                && !self.signs.contains(&sign)
            {
                self.signs.push(sign);
            }
            let action = self.gate.capabilities[&one.capability].0;
            self.capability(file, one.clone(), bytes(one.range), action, &reason);
        }
        if self.gate.looks(Scanner::Imports) {
            for import in &analysis.imports {
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
                    self.push(RawFinding {
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
            for (name, range) in &analysis.references {
                if let Some((pattern, why)) = self.gate.calls.iter().find(|(pattern, _)| pattern.matches(name)) {
                    self.push(RawFinding {
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
    fn texts(&mut self, file: usize, source: &str, parsed: &Parsed<ModModule>, analysis: &Analysis) {
        for text in &analysis.texts {
            let kind = if text.folded { FragmentKind::Folded } else { FragmentKind::Literal };
            let fragment = Fragment { kind, text: &text.text, name: text.name.as_deref() };
            self.fragment(file, source, &fragment, bytes(text.range));
        }
        for token in parsed.tokens() {
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
                        unicode::in_identifier(name, &mut found);
                        for one in found {
                            let at = range.start + one.range.start..range.start + one.range.end;
                            self.matched(Scanner::InvisibleCharacters, file, one, at, source, Span::Enclosing);
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
        let looks: [(Scanner, TextScanner); 4] = [
            (Scanner::Secrets, |_, fragment, found| secrets::scan(fragment, found)),
            (Scanner::MaliciousUrl, |gate, fragment, found| gate.urls.scan(fragment, found)),
            (Scanner::Injection, |_, fragment, found| injection::scan(fragment, found)),
            (Scanner::Regex, |gate, fragment, found| gate.patterns.scan(fragment, found)),
        ];
        for (scanner, look) in looks {
            // The operator's patterns have seen the source as it stands.
            if scanner == Scanner::Regex && !matches!(fragment.kind, FragmentKind::Folded | FragmentKind::Source) {
                continue;
            }
            self.timed(scanner, |scan| {
                let mut found = Vec::new();
                look(gate, fragment, &mut found);
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
                    let span = if offset.is_some() && fragment.kind != FragmentKind::Source {
                        Span::Exact
                    } else {
                        Span::Enclosing
                    };
                    scan.matched(scanner, file, one, range, fragment.text, span);
                }
            });
        }
    }

    /// Takes over what a text scanner found; its range is in `text`, `range` in the source.
    fn matched(&mut self, scanner: Scanner, file: usize, one: Match, range: Range<usize>, text: &str, span: Span) {
        if one.confidence < self.gate.rules[&scanner].threshold {
            return;
        }
        let found = text.get(one.range.clone()).unwrap_or_default();
        let matched = if scanner == Scanner::Secrets { secrets::mask(found) } else { shown(found, 80) };
        let again = |raw: &RawFinding| {
            raw.scanner == scanner && raw.file == file && raw.range == range && raw.rule == one.rule.as_ref()
        };
        if self.found.iter().rev().take(16).any(again) {
            return;
        }
        self.push(RawFinding {
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
            exact: span == Span::Exact,
        });
    }
}

/// Finds a declaration of an encoding in which the source may be another text than it seems (PEP 263).
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

fn bytes(range: TextRange) -> Range<usize> {
    range.start().to_usize()..range.end().to_usize()
}

/// Returns whether a range lies in a string or a comment.
fn in_text(parsed: &Parsed<ModModule>, range: &Range<usize>) -> bool {
    let tokens = parsed.tokens();
    let at = tokens.partition_point(|token| token.range().end().to_usize() <= range.start);
    tokens.get(at).is_some_and(|token| {
        matches!(token.kind(), TokenKind::String | TokenKind::FStringMiddle | TokenKind::Comment)
            && token.range().start().to_usize() <= range.start
            && range.end <= token.range().end().to_usize()
    })
}
