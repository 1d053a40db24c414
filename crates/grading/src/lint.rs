//! Linting of a snippet by Ruff's default rules. The snippet is hostile: it is read, never run, and bounded in size,
//! depth and time.
//!
//! Ruff walks the syntax tree recursively, and a stack that overflows ends the process. So a snippet that nests too
//! deep is refused before the walk: roughly by its tokens before it is parsed (Ruff's parser takes more memory for more
//! depth), then exactly by its tree, texts that could be annotations included. The walk has a thread with a stack that
//! is far larger than so much depth needs.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ruff_diagnostics::Applicability;
use ruff_linter::linter::{ParseSource, lint_only};
use ruff_linter::registry::Rule;
use ruff_linter::settings::LinterSettings;
use ruff_linter::settings::flags::Noqa;
use ruff_linter::source_kind::SourceKind;
use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal};
use ruff_python_ast::{AnyNodeRef, Mod, PySourceType, PythonVersion};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use serde::Serialize;
use tokio::sync::{Semaphore, oneshot};
use utoipa::ToSchema;

use proofbox_syntax::{LARGE_STACK_BYTES, tokens_nest_too_deep};

/// Longest snippet that is linted. Some rules take quadratic time.
const MAX_BYTES: usize = 256 << 10;
/// Deepest syntax tree that is walked; CPython itself gives up on expressions of a few hundred.
const MAX_DEPTH: usize = 1000;
/// Depth of tokens from which on parsing is pointless. Ruff's parser takes some 5 KiB for a level.
const MAX_TOKEN_DEPTH: usize = 20_000;
/// From asking to answering.
const PATIENCE: Duration = Duration::from_secs(10);
/// Findings that are told.
const MAX_DIAGNOSTICS: usize = 1000;
/// Characters of a message: they quote the snippet.
const MAX_MESSAGE: usize = 500;

/// Findings of the linter on a snippet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct LintReport {
    /// True when there is no finding; null when the snippet was not linted.
    pub clean: Option<bool>,
    /// In the order of the snippet.
    pub diagnostics: Vec<LintDiagnostic>,
    /// Number of findings beyond those.
    pub dropped: usize,
    /// Reason why the snippet was not linted.
    pub error: Option<String>,
}

/// Finding of the linter. Lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct LintDiagnostic {
    /// Of the rule, as `F401`; `invalid-syntax` where the snippet does not parse.
    pub code: String,
    /// Message of the rule, in words.
    pub message: String,
    /// Line of the first character.
    pub line: usize,
    /// Column of the first character.
    pub column: usize,
    /// Line in which the finding ends.
    pub end_line: usize,
    /// Column at which the finding ends.
    pub end_column: usize,
    /// True when Ruff has a fix that it calls safe.
    pub fixable: bool,
}

/// Reason why a snippet was not linted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum LintError {
    #[error("the linter takes at most {MAX_BYTES} bytes")]
    TooLarge,
    #[error("the snippet nests too deep for the linter")]
    TooDeep,
    #[error("the linter took too long")]
    TooLong,
    #[error("the linter failed")]
    Failed,
}

/// Lints a few snippets at a time.
pub struct Linter {
    settings: Arc<LinterSettings>,
    /// Semaphore for linting threads. A thread has a permit until it ends, also when nobody waits for it any more.
    threads: Arc<Semaphore>,
}

impl Linter {
    /// With Ruff's default rules, `threads` snippets at a time.
    pub fn new(threads: usize) -> Self {
        let mut settings = LinterSettings::new(Path::new("/")).with_target_version(PythonVersion::PY313);
        // The snippet is no file on this machine: neither its mode nor what lies beside it is asked for.
        settings.rules.disable(Rule::ShebangNotExecutable);
        settings.rules.disable(Rule::ShebangMissingExecutableFile);
        settings.src = Vec::new();
        Self { settings: Arc::new(settings), threads: Arc::new(Semaphore::new(threads.max(1))) }
    }

    /// Lints `code`. What can't be linted is told in the report.
    pub async fn lint(&self, code: &str) -> LintReport {
        let linted = tokio::time::timeout(PATIENCE, self.in_thread(code)).await.unwrap_or(Err(LintError::TooLong));
        linted.unwrap_or_else(|error| LintReport { error: Some(error.to_string()), ..LintReport::default() })
    }

    async fn in_thread(&self, code: &str) -> Result<LintReport, LintError> {
        if code.len() > MAX_BYTES {
            return Err(LintError::TooLarge);
        }
        let thread = Arc::clone(&self.threads).acquire_owned().await.expect("the semaphore is never closed");
        let (settings, code) = (Arc::clone(&self.settings), code.to_owned());
        let (answer, answered) = oneshot::channel();
        let work = move || {
            let linted = std::panic::catch_unwind(AssertUnwindSafe(|| lint(&settings, code)));
            drop(thread);
            // Nobody may be waiting any more.
            let _ = answer.send(linted.unwrap_or(Err(LintError::Failed)));
        };
        let spawned = std::thread::Builder::new().name("lint".to_owned()).stack_size(LARGE_STACK_BYTES).spawn(work);
        spawned.map_err(|_| LintError::Failed)?;
        answered.await.unwrap_or(Err(LintError::Failed))
    }
}

/// Needs [`LARGE_STACK_BYTES`] of stack.
fn lint(settings: &LinterSettings, code: String) -> Result<LintReport, LintError> {
    if nests_too_deep(&code, Mode::Module) {
        return Err(LintError::TooDeep);
    }
    let source = SourceKind::Python { code, is_stub: false };
    let path = Path::new("solution.py");
    let result = lint_only(path, None, settings, Noqa::Enabled, &source, PySourceType::Python, ParseSource::None);
    let mut found = result.diagnostics;
    found.sort_by(|a, b| a.ruff_start_ordering(b));
    let dropped = found.len().saturating_sub(MAX_DIAGNOSTICS);
    found.truncate(MAX_DIAGNOSTICS);
    let diagnostics: Vec<LintDiagnostic> = found
        .iter()
        .map(|one| {
            let place = |place: Option<ruff_source_file::LineColumn>| {
                place.map_or((1, 1), |place| (place.line.get(), place.column.get()))
            };
            let (line, column) = place(one.ruff_start_location());
            let (end_line, end_column) = place(one.ruff_end_location());
            LintDiagnostic {
                code: one.secondary_code_or_id().to_owned(),
                message: one.concise_message().to_string().chars().take(MAX_MESSAGE).collect(),
                line,
                column,
                end_line,
                end_column,
                fixable: one.has_applicable_fix(Applicability::Safe),
            }
        })
        .collect();
    Ok(LintReport { clean: Some(diagnostics.is_empty()), diagnostics, dropped, error: None })
}

/// Returns whether the tree of `source`, or of a text in it that could be read as an annotation, is too deep to be
/// walked.
fn nests_too_deep(source: &str, mode: Mode) -> bool {
    if tokens_nest_too_deep(source, mode, MAX_TOKEN_DEPTH) {
        return true;
    }
    let parsed = parse_unchecked(source, ParseOptions::from(mode));
    // What is no expression is no annotation, and is not walked.
    if mode != Mode::Module && !parsed.has_valid_syntax() {
        return false;
    }
    let mut depth = Depth { now: 0, too_deep: false };
    match parsed.syntax() {
        module @ (Mod::Module(_) | Mod::Expression(_)) => depth.visit_mod(module),
    }
    depth.too_deep
}

/// Measures a tree; goes no deeper than is allowed.
struct Depth {
    now: usize,
    too_deep: bool,
}

impl<'a> SourceOrderVisitor<'a> for Depth {
    fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
        self.now += 1;
        if let AnyNodeRef::ExprStringLiteral(literal) = node {
            let text = literal.value.to_str();
            // A level takes a character at least.
            self.too_deep |= text.len() > MAX_DEPTH && nests_too_deep(text, Mode::ParenthesizedExpression);
        }
        self.too_deep |= self.now > MAX_DEPTH;
        if self.too_deep { TraversalSignal::Skip } else { TraversalSignal::Traverse }
    }

    fn leave_node(&mut self, _: AnyNodeRef<'a>) {
        self.now -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn report(code: &str) -> LintReport {
        Linter::new(1).lint(code).await
    }

    async fn codes(code: &str) -> Vec<String> {
        report(code).await.diagnostics.into_iter().map(|one| one.code).collect()
    }

    #[tokio::test]
    async fn findings_have_a_code_and_a_place() {
        let report = report("import os\n\nprint('é', x)\n").await;
        assert_eq!((report.clean, report.error), (Some(false), None));
        let first = &report.diagnostics[0];
        assert_eq!((first.code.as_str(), first.line, first.column, first.end_column), ("F401", 1, 8, 10));
        assert!(first.fixable && first.message.contains("`os` imported but unused"), "{first:?}");
        let name = report.diagnostics.iter().find(|one| one.code == "F821").expect("x is not defined");
        assert_eq!((name.line, name.column), (3, 12));
    }

    #[tokio::test]
    async fn what_is_clean_is_called_so() {
        assert_eq!(
            report("def add(a, b):\n    return a + b\n").await,
            LintReport { clean: Some(true), ..LintReport::default() }
        );
    }

    #[tokio::test]
    async fn what_does_not_parse_is_a_finding() {
        assert_eq!(codes("def f(:\n").await.first().map(String::as_str), Some("invalid-syntax"));
    }

    /// `count` levels of it.
    fn nested(count: usize) -> Vec<(&'static str, String)> {
        let around = |open: &str, middle: &str, close: &str| {
            format!("x = {}{middle}{}\n", open.repeat(count), close.repeat(count))
        };
        let annotation = |text: String| format!("y: {text:?} = 1\n");
        let blocks: String = (0..count.min(300)).map(|n| format!("{}if x:\n", " ".repeat(n))).collect();
        vec![
            ("parentheses", around("(", "1", ")")),
            ("lists", around("[", "1", "]")),
            ("tuples", around("(", "1", ",)")),
            ("dicts", around("{1: ", "1", "}")),
            ("calls inside", around("f(", "1", ")")),
            ("calls after", around("", "f", "()")),
            ("attributes", around("", "a", ".a")),
            ("subscripts", around("", "a", "[0]")),
            ("minus", around("-", "1", "")),
            ("not", around("not ", "1", "")),
            ("sums", around("", "1", "+1")),
            ("powers", around("1**", "1", "")),
            ("strings", around("", "'a'", "+'a'")),
            ("lambdas", around("lambda: ", "1", "")),
            ("lambdas with commas", around("lambda a, b: ", "1", "")),
            ("conditions", around("1 if x else ", "1", "")),
            ("comprehensions", around("[x for x in ", "y", "]")),
            ("walrus", around("(z := ", "1", ")")),
            ("awaits", format!("async def f():\n    x = {}y\n", "await ".repeat(count))),
            ("f-strings", around("f'{", "x", "}'")),
            ("annotations", annotation(around("list[", "int", "]")[4..].trim().to_owned())),
            ("unions", annotation(around("int|", "int", "")[4..].trim().to_owned())),
            ("patterns", format!("match x:\n    case {}1{}:\n        pass\n", "[".repeat(count), "]".repeat(count))),
            ("blocks", format!("{blocks}{}pass\n", " ".repeat(count.min(300)))),
            ("subscript annotations", format!("def f(a: {}int{}): ...\n", "list[".repeat(count), "]".repeat(count))),
            ("unclosed", format!("x = {}\n", "(".repeat(count))),
            ("decorators", format!("{}def f(): ...\n", "@a\n".repeat(count))),
            ("elif", format!("if x: pass\n{}", "elif x: pass\n".repeat(count))),
        ]
    }

    #[tokio::test]
    async fn nesting_ends_no_process() {
        // At what is allowed (nodes of a level differ), far beyond, and as much as fits.
        for count in [300, 480, 990, 5_000, 30_000] {
            for (what, code) in nested(count) {
                if code.len() <= MAX_BYTES {
                    let report = report(&code).await;
                    let told = report.error.as_deref();
                    assert!(
                        matches!(told, None | Some("the snippet nests too deep for the linter")),
                        "{what} {count}: {told:?}"
                    );
                    if count == 300 {
                        assert_eq!(told, None, "{what}");
                    }
                    let nests =
                        ["lists", "calls after", "minus", "sums", "lambdas", "f-strings", "annotations", "patterns"];
                    if count >= 5_000 && nests.contains(&what) {
                        assert!(told.is_some(), "{what} {count}");
                    }
                }
            }
        }
        let most = MAX_BYTES - 100;
        for character in ["(", "[", "-", "~", "{", "f'{", "a.", "a+", "not ", "lambda:", "\t"] {
            report(&format!("x = {}", character.repeat(most / character.len()))).await;
        }
    }

    #[tokio::test]
    async fn long_and_flat_is_not_deep() {
        let list: String = (0..20_000).map(|n| format!("-{n}, ")).collect();
        let text = "a.b - c. ".repeat(5_000);
        let lines: String = (0..5_000).map(|n| format!("x{n} = a.b({n}) + c[-{n}]\n")).collect();
        for code in [
            format!("x = [{list}]\n"),
            format!("x = {text:?}\n"),
            format!("'''{text}'''\n"),
            format!("a = b = c = 1\n{lines}"),
        ] {
            assert_eq!(report(&code).await.error, None);
        }
    }

    #[tokio::test]
    async fn size_is_bounded() {
        let report = report(&"#".repeat(MAX_BYTES + 1)).await;
        assert_eq!((report.clean, report.error.as_deref()), (None, Some("the linter takes at most 262144 bytes")));
    }

    #[tokio::test]
    async fn findings_and_their_words_are_bounded() {
        let report = report(&format!("import {}\n{}", "a".repeat(5000), "print(undefined)\n".repeat(3000))).await;
        assert_eq!((report.diagnostics.len(), report.dropped), (MAX_DIAGNOSTICS, 2002));
        assert!(report.diagnostics.iter().all(|one| one.message.chars().count() <= MAX_MESSAGE));
    }

    #[tokio::test]
    async fn odd_bytes_are_no_problem() {
        let mut state = 1_u64;
        let pieces = [
            "(", ")", "[", "]", "{", "}", "'", "\"", "'''", "\\", "\n", " ", "\t", ":", "def f", "class ", "@", "f'",
            "{", "é", "\0", "\u{feff}", "#", "lambda ", "if ", "0x", "1_", "match x", "\r", "\x0c", "import ",
            "from . ", "*", "=", "->", "async ", "type X",
        ];
        for _ in 0..500 {
            let code: String = (0..60)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    pieces[(state >> 33) as usize % pieces.len()]
                })
                .collect();
            assert_eq!(report(&code).await.error, None, "{code:?}");
        }
    }
}
