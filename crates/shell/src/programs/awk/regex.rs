//! Regular expressions of programs.

use crate::regular::{Case, Regular, gnu_escape};

/// Compiles an expression. Err: what is wrong with it.
pub(super) fn compile(text: &str) -> Result<Regular, String> {
    Regular::new(&translate(text), Case::Sensitive)
}

/// An expression as the `regex` crate reads it.
fn translate(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    // A point is any character, the end of a line too.
    let mut out = String::from("(?s)");
    let mut at = 0;
    // Where an expression begins, there is nothing to be repeated.
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
                    'n' | 't' | 'r' | 'f' | 'v' | 'B' => out.extend(['\\', escaped]),
                    'y' => out.push_str("\\b"),
                    '`' => out.push_str("\\A"),
                    '\'' => out.push_str("\\z"),
                    escaped => match gnu_escape(escaped) {
                        Some(text) => out.push_str(text),
                        None => push_literal(escaped, &mut out),
                    },
                }
            }
            '[' => match class(&characters, at) {
                Some((class, end)) => {
                    out.push_str(&class);
                    at = end;
                }
                None => out.push_str("\\["),
            },
            '(' | '|' | '^' => {
                out.push(c);
                start = true;
            }
            '*' | '+' | '?' if began => push_literal(c, &mut out),
            // A repetition of a repetition is the same.
            '*' | '+' | '?' if out.ends_with(['*', '+', '?']) && characters.get(at.wrapping_sub(2)) != Some(&'\\') => {
                let inner = std::mem::take(&mut out);
                let cut = inner.strip_prefix("(?s)").unwrap_or(&inner);
                match cut.ends_with(['*', '+', '?'])
                    && !cut.ends_with("\\*")
                    && !cut.ends_with("\\+")
                    && !cut.ends_with("\\?")
                {
                    true => {
                        out.push_str(&inner[..inner.len() - 1]);
                        out.push('*');
                    }
                    false => {
                        out.push_str(&inner);
                        out.push(c);
                    }
                }
            }
            '{' if began || !characters.get(at).is_some_and(char::is_ascii_digit) => out.push_str("\\{"),
            '.' | '$' | ')' | '*' | '+' | '?' | '{' | '}' => out.push(c),
            c => push_literal(c, &mut out),
        }
    }
    out
}

fn push_literal(c: char, out: &mut String) {
    out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
}

/// A class in brackets after the opening one, and where it ends; none without an end.
fn class(characters: &[char], from: usize) -> Option<(String, usize)> {
    let mut out = String::from("[");
    let mut at = from;
    if characters.get(at) == Some(&'^') {
        out.push('^');
        at += 1;
    }
    let first = at;
    loop {
        let c = *characters.get(at)?;
        at += 1;
        match c {
            ']' if at > first + 1 => {
                out.push(']');
                return Some((out, at));
            }
            '[' if characters.get(at) == Some(&':') => {
                let end = at + characters[at..].iter().skip(1).position(|c| *c == ':')? + 1;
                if characters.get(end + 1) != Some(&']') {
                    out.push_str("\\[");
                    continue;
                }
                out.push('[');
                out.extend(&characters[at..=end]);
                out.push(']');
                at = end + 2;
            }
            '-' if at > first + 1 && characters.get(at).is_some_and(|next| *next != ']') => out.push('-'),
            '\\' => {
                let escaped = *characters.get(at)?;
                at += 1;
                match escaped {
                    'n' | 't' | 'r' | 'f' | 'v' => out.extend(['\\', escaped]),
                    'w' | 's' | 'd' | 'W' | 'S' | 'D' => out.push(escaped),
                    escaped => push_escaped(escaped, &mut out),
                }
            }
            c => push_escaped(c, &mut out),
        }
    }
}

fn push_escaped(c: char, out: &mut String) {
    if c.is_ascii_punctuation() {
        out.push('\\');
    }
    out.push(c);
}
