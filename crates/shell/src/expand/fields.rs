//! Fields of words, split where expansions left blanks.

use super::pattern::escape;
use crate::syntax::Quoting;
use std::collections::HashSet;

/// Form in which a word is expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Fields, as for arguments.
    Fields,
    /// Single text, as in assignments.
    Text,
    /// Single pattern: quoted text in it is escaped.
    Pattern,
}

/// Field of an expanded word.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) text: String,
    /// The same with quoted text escaped, if something in it is not quoted and could match names.
    pub(super) pattern: Option<String>,
}

/// The characters that separate fields, to be asked about each character of a text.
#[derive(Debug, Clone, Default)]
pub(super) struct Separators {
    /// Bit set of the ASCII separators.
    ascii: u128,
    /// Separators beyond ASCII.
    others: HashSet<char>,
}

impl Separators {
    pub(super) fn new(text: &str) -> Self {
        let mut separators = Self::default();
        for c in text.chars() {
            if c.is_ascii() {
                separators.ascii |= 1 << u32::from(c);
            } else {
                separators.others.insert(c);
            }
        }
        separators
    }

    fn is_empty(&self) -> bool {
        self.ascii == 0 && self.others.is_empty()
    }

    fn contains(&self, c: char) -> bool {
        if c.is_ascii() { self.ascii >> u32::from(c) & 1 == 1 } else { self.others.contains(&c) }
    }
}

/// Fields as they grow.
#[derive(Debug)]
pub(super) struct Fields {
    pub(super) wanted: Wanted,
    separators: Separators,
    done: Vec<Field>,
    text: String,
    pattern: Option<String>,
    started: bool,
    /// A blank has just ended a field: a separator that follows belongs to it.
    after_blank: bool,
    pub(super) bytes: usize,
}

impl Fields {
    pub(super) fn new(wanted: Wanted, separators: Separators) -> Self {
        Self {
            wanted,
            separators,
            done: Vec::new(),
            text: String::new(),
            pattern: None,
            started: false,
            after_blank: false,
            bytes: 0,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.done.len()
    }

    /// Text without quotes in the script.
    pub(super) fn plain(&mut self, text: &str) {
        self.add(text, Quoting::Unquoted);
    }

    /// Text in quotes; an empty one makes a field too.
    pub(super) fn quoted(&mut self, text: &str) {
        self.started = true;
        self.add(text, Quoting::Quoted);
    }

    fn add(&mut self, text: &str, quoting: Quoting) {
        if text.is_empty() {
            return;
        }
        self.started = true;
        self.after_blank = false;
        self.bytes += text.len();
        if self.wanted == Wanted::Pattern {
            match quoting {
                Quoting::Quoted => escape(text, &mut self.text),
                Quoting::Unquoted => self.text.push_str(text),
            }
            return;
        }
        if self.wanted == Wanted::Fields {
            if quoting == Quoting::Unquoted && self.pattern.is_none() && text.contains(['*', '?', '[']) {
                let mut escaped = String::with_capacity(self.text.len() + text.len());
                escape(&self.text, &mut escaped);
                self.pattern = Some(escaped);
            }
            match &mut self.pattern {
                Some(pattern) if quoting == Quoting::Quoted => escape(text, pattern),
                Some(pattern) => pattern.push_str(text),
                None => {}
            }
        }
        self.text.push_str(text);
    }

    /// Appends the result of an expansion without quotes, split at separators.
    pub(super) fn split(&mut self, text: &str) {
        if self.wanted != Wanted::Fields || self.separators.is_empty() {
            self.plain(text);
            return;
        }
        let separators = std::mem::take(&mut self.separators);
        let mut rest = text;
        while let Some(at) = rest.find(|c| separators.contains(c)) {
            self.plain(&rest[..at]);
            let separator = rest[at..].chars().next().unwrap_or(' ');
            if matches!(separator, ' ' | '\t' | '\n') {
                if self.started {
                    self.finish();
                    self.after_blank = true;
                }
            } else if self.started || !self.after_blank {
                self.started = true;
                self.finish();
            } else {
                self.after_blank = false;
            }
            rest = &rest[at + separator.len_utf8()..];
        }
        self.plain(rest);
        self.separators = separators;
    }

    /// Ends a field, if one has begun.
    pub(super) fn finish(&mut self) {
        if self.started {
            self.bytes += 32;
            self.done.push(Field { text: std::mem::take(&mut self.text), pattern: self.pattern.take() });
            self.started = false;
        }
        self.after_blank = false;
    }

    /// Ends the last field and returns every field.
    pub(super) fn into_fields(mut self) -> Vec<Field> {
        self.finish();
        self.done
    }

    /// Returns the text that was collected.
    pub(super) fn into_text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(separators: &str, text: &str) -> Vec<String> {
        let mut fields = Fields::new(Wanted::Fields, Separators::new(separators));
        fields.split(text);
        fields.into_fields().into_iter().map(|field| field.text).collect()
    }

    #[test]
    fn blanks_run_together_and_other_separators_do_not() {
        assert_eq!(fields(" \t\n", "  a  b\nc "), ["a", "b", "c"]);
        assert_eq!(fields(":", "a::b:"), ["a", "", "b"]);
        assert_eq!(fields(": ", " a : b:c "), ["a", "b", "c"]);
        assert_eq!(fields(":", ":a"), ["", "a"]);
        assert_eq!(fields("", "a b"), ["a b"]);
        assert_eq!(fields("é:", "aéb:c"), ["a", "b", "c"]);
        assert_eq!(fields(" ", ""), [""; 0]);
    }
}
