//! Code between backquotes within a line.

use proofbox_types::completion::{Block, BlockContent, BlockForm};

use super::languages::{self, PYTHON};
use super::prose::{Extent, Prose};
use super::python::{self, Evidence};
use super::version::Label;
use super::{Found, MAX_BLOCKS};

/// Runs of backquotes among which the end of a span is looked for.
const MAX_RUNS: usize = 8;
/// Number of spans that are looked at.
const MAX_SPANS: usize = 5000;

/// Finds code within lines: whole statements, queries and commands, and not the names of things.
pub(crate) fn find(prose: &Prose<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    let mut looked_at = 0;
    let is_one_line = prose.lines.iter().filter(|line| !line.trim().is_empty()).take(2).count() == 1;
    for (index, line) in prose.lines.iter().enumerate() {
        for span in spans(line) {
            looked_at += 1;
            if looked_at > MAX_SPANS || found.len() > MAX_BLOCKS {
                return found;
            }
            let is_alone = is_one_line && line.trim().trim_matches('`').trim() == span;
            let extent = if is_alone { prose.extent } else { Extent::Part };
            let Some(language) = language_of(span, extent) else { continue };
            let number = prose.first_line + index;
            let block = Block {
                form: BlockForm::Inline,
                content: BlockContent::Code,
                language: Some(language.to_owned()),
                declared: None,
                first_line: number,
                last_line: number,
                complete: true,
            };
            found.push(Found { block, code: span.to_owned(), label: Label::None });
        }
    }
    found
}

/// Returns the language of a span that is code.
fn language_of(span: &str, extent: Extent) -> Option<&'static str> {
    let is_python =
        python::is_inline_code(span) || (extent == Extent::Whole && python::line_evidence(span) >= Evidence::Weak);
    if is_python { Some(PYTHON) } else { languages::recognise_inline(span) }
}

/// The texts between runs of backquotes of the same length (CommonMark 0.31, 6.1).
fn spans(line: &str) -> Vec<&str> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut rest = 0;
    while let Some(start) = line[rest..].find('`').map(|start| start + rest) {
        let length = line[start..].bytes().take_while(|byte| *byte == b'`').count();
        runs.push((start, length));
        rest = start + length;
    }
    let mut spans = Vec::new();
    let mut open = 0;
    while open < runs.len() {
        let (start, length) = runs[open];
        let close = runs[open + 1..].iter().take(MAX_RUNS).position(|(_, other)| *other == length);
        let Some(close) = close else {
            open += 1;
            continue;
        };
        let mut span = line[start + length..runs[open + 1 + close].0].trim();
        // A fence on one line may have its language.
        if length >= 3
            && let Some((tag, code)) = span.split_once(' ')
            && languages::is_known(tag)
        {
            span = code.trim();
        }
        spans.push(span);
        open += close + 2;
    }
    spans.retain(|span| !span.is_empty());
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_ends_of_their_length() {
        assert_eq!(spans("a `b` ``c ` d`` `e"), ["b", "c ` d"]);
        assert_eq!(spans("```python x = 1``` `"), ["x = 1"]);
    }

    #[test]
    fn names_of_things_are_no_code() {
        for span in [
            "sorted",
            "dict.get()",
            "O(n)",
            "key=len",
            "x = 5",
            "if x is None",
            "list[int]",
            "<div>",
            "git",
            "import x",
            "from x import y",
        ] {
            assert_eq!(language_of(span, Extent::Part), None, "{span}");
        }
        for span in ["import os", "ys = [x for x in xs]", "lambda x: x", "return a + b", "total = sum(xs)"] {
            assert_eq!(language_of(span, Extent::Part), Some(PYTHON), "{span}");
        }
        assert_eq!(language_of("SELECT a FROM b", Extent::Part), Some("sql"));
        assert_eq!(language_of("pip install numpy", Extent::Part), Some("shell"));
    }
}
