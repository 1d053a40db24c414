//! Patterns of `case`, `${…#…}` and file names: `*`, `?`, `[…]`; a backslash makes the next character plain.

use crate::regular::{Case, Regular, class};
use std::ops::Range;

/// Returns whether a pattern has a wildcard.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Text made a pattern that matches just it.
pub(crate) fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
}

/// A pattern, ready to be matched.
#[derive(Debug)]
pub(crate) enum Pattern {
    /// Pattern without wildcards, which matches just this text.
    Text(String),
    /// Regular expression, anchored as asked for.
    Regular(Regular),
}

/// Anchoring of a pattern in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lies {
    /// Match of the whole text.
    Whole,
    Start {
        longest: bool,
    },
    End {
        longest: bool,
    },
    Anywhere,
}

impl Pattern {
    /// Err: what is wrong with it.
    pub(crate) fn new(text: &str, lies: Lies) -> Result<Self, String> {
        let characters: Vec<char> = text.chars().collect();
        let (mut expression, mut plain, mut only_plain) = (String::new(), String::new(), true);
        let lazy = matches!(lies, Lies::Start { longest: false });
        let mut at = 0;
        while let Some(&c) = characters.get(at) {
            at += 1;
            let literal = match c {
                '\\' => {
                    let escaped = characters.get(at).copied().unwrap_or('\\');
                    at += 1;
                    escaped
                }
                '*' => {
                    only_plain = false;
                    if !expression.ends_with(".*") && !expression.ends_with(".*?") {
                        expression.push_str(if lazy { ".*?" } else { ".*" });
                    }
                    continue;
                }
                '?' => {
                    only_plain = false;
                    expression.push('.');
                    continue;
                }
                '[' => {
                    let before = expression.len();
                    let end = class(&characters, at, &mut expression);
                    if end > at {
                        at = end;
                        only_plain = false;
                        continue;
                    }
                    expression.truncate(before);
                    '['
                }
                c => c,
            };
            plain.push(literal);
            expression.push_str(&regex::escape(literal.encode_utf8(&mut [0; 4])));
        }
        if only_plain {
            return Ok(Self::Text(plain));
        }
        let expression = match lies {
            Lies::Whole => format!("(?s)^(?:{expression})$"),
            Lies::Start { .. } => format!("(?s)^(?:{expression})"),
            Lies::End { longest: true } => format!("(?s)^.*?({expression})$"),
            Lies::End { longest: false } => format!("(?s)^.*({expression})$"),
            Lies::Anywhere => format!("(?s){expression}"),
        };
        Regular::new(&expression, Case::Sensitive).map(Self::Regular)
    }

    /// Returns whether a text of this length can be matched.
    pub(crate) fn takes(&self, length: usize) -> bool {
        match self {
            Self::Text(_) => true,
            Self::Regular(regular) => regular.takes(length),
        }
    }

    /// Returns whether a pattern made for [`Lies::Whole`] matches the text.
    pub(crate) fn is(&self, text: &str) -> bool {
        match self {
            Self::Text(plain) => plain == text,
            Self::Regular(regular) => regular.is_match(text.as_bytes()),
        }
    }

    /// Finds the first match from the byte offset `from` on.
    pub(crate) fn find(&self, text: &str, from: usize, lies: Lies) -> Option<Range<usize>> {
        match self {
            Self::Text(plain) => match lies {
                Lies::Whole => (plain == text).then_some(0..text.len()),
                Lies::Start { .. } => text.starts_with(plain.as_str()).then_some(0..plain.len()),
                Lies::End { .. } => text.ends_with(plain.as_str()).then(|| text.len() - plain.len()..text.len()),
                Lies::Anywhere => {
                    let start = from + text.get(from..)?.find(plain.as_str())?;
                    Some(start..start + plain.len())
                }
            },
            Self::Regular(regular) => match lies {
                Lies::End { .. } => regular.captures_at(text.as_bytes(), 0)?.get(1).map(|found| found.range()),
                Lies::Whole | Lies::Start { .. } | Lies::Anywhere => regular.find_at(text.as_bytes(), from),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trimmed<'a>(text: &'a str, pattern: &str, lies: Lies) -> &'a str {
        let found = Pattern::new(pattern, lies).expect("a pattern").find(text, 0, lies);
        match (found, lies) {
            (None, _) => text,
            (Some(found), Lies::End { .. }) => &text[..found.start],
            (Some(found), _) => &text[found.end..],
        }
    }

    #[test]
    fn what_is_trimmed_is_the_shortest_or_the_longest() {
        let start = |longest| Lies::Start { longest };
        let end = |longest| Lies::End { longest };
        assert_eq!(trimmed("a/b/c", "*/", start(false)), "b/c");
        assert_eq!(trimmed("a/b/c", "*/", start(true)), "c");
        assert_eq!(trimmed("a.b.c", ".*", end(false)), "a.b");
        assert_eq!(trimmed("a.b.c", ".*", end(true)), "a");
        assert_eq!(trimmed("file[1]", "\\[1\\]", end(true)), "file");
        assert_eq!(trimmed("éa", "?", start(false)), "a");
    }

    #[test]
    fn classes_are_those_of_bash() {
        let is = |pattern, text: &str| Pattern::new(pattern, Lies::Whole).expect("a pattern").is(text);
        assert!(is("[a-c]x", "bx") && !is("[!a-c]x", "bx") && is("[^a-c]x", "dx"));
        assert!(is("[[:digit:]_-]", "-") && is("[]]", "]") && is("[", "[") && is("a[b", "a[b"));
        assert!(is("[.&~^]", "&") && is("*\n*", "a\nb") && is("\\*", "*") && !is("\\*", "x"));
    }

    #[test]
    fn a_text_too_long_for_its_pattern_is_not_matched() {
        let pattern = Pattern::new(&"?*[a-z]".repeat(60), Lies::Whole).expect("a pattern");
        assert!(pattern.takes(1000) && !pattern.takes(16 << 20));
        assert!(Pattern::new(&"*[a-z]".repeat(20_000), Lies::Whole).is_err());
    }
}
