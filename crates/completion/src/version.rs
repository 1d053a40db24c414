//! Versions of a program: what the text says of a block, and what a block defines.

/// Judgement of the text about a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// Nothing about its worth.
    None,
    /// Wrong, or to be replaced by a later one.
    Wrong,
    /// Right, or a replacement of an earlier one.
    Right,
}

/// Words that tell, in any line.
const WRONG: &[&str] = &[
    "wrong",
    "incorrect",
    "buggy",
    "faulty",
    "original",
    "falsch",
    "falsche",
    "fehlerhaft",
    "fehlerhafte",
    "faux",
    "fausse",
    "incorrecte",
    "incorrecto",
    "incorrecta",
    "erróneo",
    "errónea",
];
const RIGHT: &[&str] = &[
    "correct",
    "corrected",
    "correction",
    "fix",
    "fixed",
    "final",
    "revised",
    "mistake",
    "oops",
    "richtig",
    "richtige",
    "korrekt",
    "korrekte",
    "korrigiert",
    "korrigierte",
    "correcte",
    "corrigé",
    "corrigée",
    "finale",
    "correcto",
    "correcta",
    "corregido",
    "corregida",
    "corrección",
];
/// Words that tell in a short line only.
const WRONG_ALONE: &[&str] = &["bad", "broken", "before", "avoid", "don't", "mal", "vorher", "avant", "antes"];
const RIGHT_ALONE: &[&str] = &["right", "good", "after", "do", "gut", "bien", "nachher", "après", "después", "bueno"];
/// Marks, and words of scripts without spaces.
const WRONG_PARTS: &[&str] = &["❌", "错误", "錯誤", "誤り", "間違", "悪い例", "誤った"];
const RIGHT_PARTS: &[&str] = &["✅", "正确", "正確", "修正", "改正", "最终", "最終", "正しい", "良い例"];
/// Most words of a short line.
const SHORT: usize = 3;
/// Longest line that is read, in bytes.
const MAX_LINE: usize = 400;

impl Label {
    /// Reads a line of text: the last word that tells counts.
    pub(crate) fn of(line: &str) -> Self {
        if line.len() > MAX_LINE {
            return Self::None;
        }
        let line = line.to_lowercase().replace('’', "'");
        let mut label = (0, Self::None);
        let words: Vec<(usize, &str)> = words(&line).collect();
        for (at, word) in &words {
            let is_short = words.len() <= SHORT;
            if WRONG.contains(word) || (is_short && WRONG_ALONE.contains(word)) {
                label = (*at, Self::Wrong);
            } else if RIGHT.contains(word) || (is_short && RIGHT_ALONE.contains(word)) {
                label = (*at, Self::Right);
            }
        }
        for (parts, of) in [(WRONG_PARTS, Self::Wrong), (RIGHT_PARTS, Self::Right)] {
            let last = parts.iter().filter_map(|part| line.rfind(part)).max();
            if let Some(at) = last.filter(|at| label.1 == Self::None || *at > label.0) {
                label = (at, of);
            }
        }
        label.1
    }

    /// Reads the comment that code begins with.
    pub(crate) fn of_code(code: &str) -> Self {
        let first = code.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
        first.trim_start().strip_prefix('#').map_or(Self::None, Self::of)
    }
}

fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |char: char| char.is_alphanumeric() || char == '\'';
    let start = line.as_ptr().addr();
    line.split(move |char| !is_word(char))
        .filter(|word| !word.is_empty())
        .map(move |word| (word.as_ptr().addr() - start, word))
}

/// Most definitions of a program that are compared.
const MAX_DEFINITIONS: usize = 32;

/// Returns the names of the functions and classes of a program, as far as its text tells.
pub(crate) fn definitions(code: &str) -> Vec<&str> {
    let name = |line: &'_ str| -> Option<(usize, usize)> {
        let rest = line.strip_prefix("async ").unwrap_or(line);
        let rest = rest.strip_prefix("def ").or_else(|| rest.strip_prefix("class "))?;
        let length = rest.find(|char: char| !(char.is_alphanumeric() || char == '_')).unwrap_or(rest.len());
        let start = line.len() - rest.len();
        (length > 0).then_some((start, start + length))
    };
    code.lines().filter_map(|line| name(line).map(|(start, end)| &line[start..end])).take(MAX_DEFINITIONS).collect()
}

/// Returns whether a program reads its standard input, as far as its text tells.
pub(crate) fn reads_input(code: &str) -> bool {
    code.contains("input(") || code.contains("sys.stdin")
}

/// Returns whether code does nothing but import.
pub(crate) fn only_imports(code: &str) -> bool {
    let mut lines = code.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.all(|line| line.starts_with("import ") || (line.starts_with("from ") && line.contains(" import ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_tells_which_version_is_right() {
        for line in ["Wrong:", "### Buggy version", "Your original code:", "# BAD", "Falsch:", "错误的写法："] {
            assert_eq!(Label::of(line), Label::Wrong, "{line}");
        }
        for line in ["Right:", "Here is the corrected version:", "The wrong line is fixed:", "Richtig:", "正しい例："]
        {
            assert_eq!(Label::of(line), Label::Right, "{line}");
        }
        for line in ["", "Now for the right subtree of it:", "Before we start, some imports:", "Usage:"] {
            assert_eq!(Label::of(line), Label::None, "{line}");
        }
    }

    #[test]
    fn definitions_are_read_off_the_lines() {
        assert_eq!(definitions("def f(x):\n  def g(): pass\nasync def h(\nclass A:\n"), ["f", "h", "A"]);
        assert!(only_imports("import os\n\nfrom a import b\n") && !only_imports("import os\nx = 1\n"));
    }
}
