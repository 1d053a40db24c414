//! Regular expressions and patterns, bounded: what they are matched against is no longer than the time allows.

use regex::bytes::{Captures, Regex, RegexBuilder};
use std::ops::Range;

/// Maximum length of an expression, in bytes.
const MAX_LENGTH: usize = 64 << 10;
/// Sizes that compiled expressions are tried with, bytes.
const SIZES: [usize; 3] = [4 << 10, 32 << 10, 256 << 10];
/// Size times length of a text, at most: matching takes no longer than in proportion to this: a second or two.
const MAX_WORK: usize = 1 << 33;
/// Memory of what a search keeps for the next one, in bytes.
const MAX_CACHE: usize = 256 << 10;
/// Groups within each other.
const MAX_NESTING: u32 = 50;

/// Treatment of upper and lower case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    /// Upper and lower case differ.
    Sensitive,
    /// Upper and lower case are the same.
    Insensitive,
}

/// Reason why an expression can't be used.
#[derive(Debug)]
pub(super) enum RegularError {
    /// Length or memory beyond the bounds.
    TooBig,
    /// Mistake, in the words of the `regex` crate.
    Syntax(String),
}

/// An expression, ready to be matched.
#[derive(Debug)]
pub(super) struct Regular {
    regex: Regex,
    size: usize,
}

impl Regular {
    /// Compiles an expression of the `regex` crate. Err: what is wrong with it, in the words of C's library.
    pub(super) fn new(text: &str, case: Case) -> Result<Self, String> {
        Self::compile(text, case).map_err(|error| match error {
            RegularError::TooBig => "Regular expression too big".to_owned(),
            RegularError::Syntax(why) => complaint(&why).to_owned(),
        })
    }

    /// Compiles an expression of the `regex` crate.
    pub(super) fn compile(text: &str, case: Case) -> Result<Self, RegularError> {
        if text.len() > MAX_LENGTH {
            return Err(RegularError::TooBig);
        }
        for size in SIZES {
            let built = RegexBuilder::new(text)
                .case_insensitive(case == Case::Insensitive)
                .multi_line(false)
                .nest_limit(MAX_NESTING)
                .size_limit(size)
                .dfa_size_limit(MAX_CACHE)
                .build();
            match built {
                Ok(regex) => return Ok(Self { regex, size }),
                Err(regex::Error::CompiledTooBig(_)) => {}
                Err(error) => return Err(RegularError::Syntax(error.to_string())),
            }
        }
        Err(RegularError::TooBig)
    }

    /// Returns the memory that the expression takes, about, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.size + MAX_CACHE
    }

    /// Returns whether a text of this length can be matched within the bound on work.
    pub(super) fn takes(&self, length: usize) -> bool {
        length.saturating_mul(self.size) <= MAX_WORK
    }

    /// Returns the cost of matching a text of this length, in steps.
    pub(super) fn steps(&self, length: usize) -> u64 {
        1 + (length as u64).saturating_mul(self.size as u64) / (1 << 20)
    }

    pub(super) fn is_match(&self, text: &[u8]) -> bool {
        self.takes(text.len()) && self.regex.is_match(text)
    }

    pub(super) fn find_at(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        if !self.takes(text.len()) || from > text.len() {
            return None;
        }
        self.regex.find_at(text, from).map(|found| found.range())
    }

    pub(super) fn captures_at<'t>(&self, text: &'t [u8], from: usize) -> Option<Captures<'t>> {
        if !self.takes(text.len()) || from > text.len() {
            return None;
        }
        self.regex.captures_at(text, from)
    }
}

/// Translates the error of an expression into the words of C's library.
fn complaint(error: &str) -> &'static str {
    let known = [
        ("unclosed group", "Unmatched ( or \\("),
        ("unopened group", "Unmatched ) or \\)"),
        ("unclosed character class", "Unmatched [, [^, [:, [., or [="),
        ("invalid character class range", "Invalid range end"),
        ("look-around", "look-around is not supported"),
        ("backreferences", "back-references are not supported"),
    ];
    known.iter().find(|(part, _)| error.contains(part)).map_or("Invalid regular expression", |(_, text)| text)
}

/// Syntax of POSIX regular expressions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// Basic syntax, in which `+` and `(` are plain characters.
    Basic,
    /// Extended syntax, as with `-E`.
    Extended,
}

/// Returns a class or an edge of words that GNU's programs write as a letter or sign behind a backslash, as the `regex`
/// crate reads it.
pub(super) fn gnu_escape(escaped: char) -> Option<&'static str> {
    Some(match escaped {
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        's' => "[ \\t\\n\\r\\x0b\\x0c]",
        'S' => "[^ \\t\\n\\r\\x0b\\x0c]",
        '<' => "\\b{start}",
        '>' => "\\b{end}",
        _ => return None,
    })
}

/// A POSIX regular expression, basic or extended, as the `regex` crate reads it.
pub(super) fn posix(text: &str, syntax: Syntax) -> String {
    let extended = syntax == Syntax::Extended;
    let characters: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len() + 8);
    let mut at = 0;
    // Where a basic expression begins, `*` and `^` mean other things than within.
    let mut start = true;
    while let Some(&c) = characters.get(at) {
        at += 1;
        let began = std::mem::replace(&mut start, false);
        match c {
            '\\' => {
                let Some(&escaped) = characters.get(at) else {
                    out.push_str("\\\\");
                    break;
                };
                at += 1;
                match escaped {
                    '(' | '|' if !extended => {
                        out.push(escaped);
                        start = true;
                    }
                    ')' | '{' | '}' | '+' | '?' if !extended => out.push(escaped),
                    'd' => out.push_str("[0-9]"),
                    'D' => out.push_str("[^0-9]"),
                    'b' | 'B' => out.extend(['\\', escaped]),
                    'n' => out.push_str("\\n"),
                    't' => out.push_str("\\t"),
                    escaped => match gnu_escape(escaped) {
                        Some(text) => out.push_str(text),
                        None => out.push_str(&regex::escape(escaped.encode_utf8(&mut [0; 4]))),
                    },
                }
            }
            '[' => at = class(&characters, at, &mut out),
            '*' if began && !extended => out.push_str("\\*"),
            '^' if !began && !extended => out.push_str("\\^"),
            '^' => {
                out.push('^');
                start = true;
            }
            '$' if !extended && !ends(&characters[at..]) => out.push_str("\\$"),
            '(' | ')' | '{' | '}' | '+' | '?' | '|' if !extended => out.extend(['\\', c]),
            // A brace that begins no count is just that.
            '{' if !characters.get(at).is_some_and(char::is_ascii_digit) => out.push_str("\\{"),
            c => out.push(c),
        }
    }
    out
}

/// Returns whether a basic expression, or a group in it, ends at this point.
fn ends(rest: &[char]) -> bool {
    matches!(rest, [] | ['\\', ')' | '|', ..])
}

/// A class in brackets, after the opening one; where it ends. Without an end it is a bracket.
pub(super) fn class(characters: &[char], from: usize, out: &mut String) -> usize {
    let mut at = from;
    let mut inner = String::from("[");
    if matches!(characters.get(at), Some('^' | '!')) {
        inner.push('^');
        at += 1;
    }
    let first = at;
    while let Some(&c) = characters.get(at) {
        match c {
            ']' if at > first => {
                inner.push(']');
                out.push_str(&inner);
                return at + 1;
            }
            '[' if characters.get(at + 1) == Some(&':') => {
                let end = characters[at + 2..].iter().position(|c| *c == ':').map(|length| at + 2 + length);
                match end {
                    Some(end) if characters.get(end + 1) == Some(&']') => {
                        inner.extend(&characters[at..end + 2]);
                        at = end + 2;
                        continue;
                    }
                    _ => inner.push_str("\\["),
                }
            }
            '-' if at > first && !matches!(characters.get(at + 1), Some(']') | None) => inner.push('-'),
            c if c.is_alphanumeric() => inner.push(c),
            c => {
                if c.is_ascii_punctuation() {
                    inner.push('\\');
                }
                inner.push(c);
            }
        }
        at += 1;
    }
    out.push_str("\\[");
    from
}
