//! Words of bc's language.

use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Number(Arc<str>),
    Name(Arc<str>),
    Text(Arc<str>),
    /// Reserved word.
    Word(&'static str),
    /// Operator or other sign.
    Sign(&'static str),
    /// Operator of an assignment, without its `=`.
    Assign(&'static str),
    Newline,
    End,
}

const WORDS: &[&str] = &[
    "auto", "break", "continue", "define", "else", "for", "halt", "history", "ibase", "if", "last", "length", "limits",
    "obase", "print", "quit", "random", "read", "return", "scale", "sqrt", "void", "warranty", "while",
];
/// Longer ones first.
const SIGNS: &[&str] = &[
    "&&", "||", "==", "!=", "<=", ">=", "++", "--", "<", ">", "!", "+", "-", "*", "/", "%", "^", "(", ")", "[", "]",
    "{", "}", ",", ";",
];
const ASSIGNMENTS: &[(&str, &str)] =
    &[("+=", "+"), ("-=", "-"), ("*=", "*"), ("/=", "/"), ("%=", "%"), ("^=", "^"), ("=", "")];

/// Error of a text that ends within a word: the rest may follow.
pub(super) struct Unfinished;

/// Part of a source that has been read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// The rest of it: no more text follows.
    Whole,
    /// A beginning: more text may follow.
    Beginning,
}

/// Reader of words.
pub(super) struct Lexer<'t> {
    text: &'t str,
    pub(super) at: usize,
    /// Line that is being read.
    pub(super) line: i64,
    extent: Extent,
    /// Mistakes so far, each with its line.
    pub(super) mistakes: Vec<(Option<i64>, String)>,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str, line: i64, extent: Extent) -> Self {
        Self { text, at: 0, line, extent, mistakes: Vec::new() }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Returns the next word. Err: it may go on in what has not been read yet.
    pub(super) fn next(&mut self) -> Result<Token, Unfinished> {
        loop {
            let rest = self.rest();
            let Some(first) = rest.chars().next() else {
                return match self.extent {
                    Extent::Whole => Ok(Token::End),
                    Extent::Beginning => Err(Unfinished),
                };
            };
            match first {
                '\n' => {
                    self.at += 1;
                    self.line += 1;
                    return Ok(Token::Newline);
                }
                ' ' | '\t' | '\r' => self.at += 1,
                '\\' if rest[1..].starts_with('\n') => {
                    self.at += 2;
                    self.line += 1;
                }
                '\\' if rest.len() == 1 && self.extent == Extent::Beginning => return Err(Unfinished),
                '#' => self.at += rest.find('\n').unwrap_or(rest.len()),
                '/' if rest.starts_with("/*") => match rest[2..].find("*/") {
                    Some(end) => self.advance(end + 4),
                    None if self.extent == Extent::Whole => {
                        self.mistakes.push((None, "EOF encountered in a comment.".to_owned()));
                        self.at = self.text.len();
                    }
                    None => return Err(Unfinished),
                },
                '"' => match rest[1..].find('"') {
                    Some(end) => {
                        let text = Token::Text(Arc::from(&rest[1..=end]));
                        self.advance(end + 2);
                        return Ok(text);
                    }
                    None if self.extent == Extent::Whole => self.refuse(first),
                    None => return Err(Unfinished),
                },
                '0'..='9' | 'A'..='Z' | '.' => return self.number(),
                'a'..='z' => {
                    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
                    let name = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
                    self.at += name.len();
                    return Ok(match WORDS.iter().find(|word| **word == name) {
                        Some(word) => Token::Word(word),
                        None => Token::Name(Arc::from(name)),
                    });
                }
                _ => {
                    // `==` is no assignment.
                    if !rest.starts_with("==")
                        && let Some((sign, operator)) = ASSIGNMENTS.iter().find(|(sign, _)| rest.starts_with(sign))
                    {
                        self.at += sign.len();
                        return Ok(Token::Assign(operator));
                    }
                    if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                        self.at += sign.len();
                        return Ok(Token::Sign(sign));
                    }
                    self.refuse(first);
                }
            }
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.line += self.text[self.at..self.at + bytes].matches('\n').count() as i64;
        self.at += bytes;
    }

    fn refuse(&mut self, c: char) {
        self.at += c.len_utf8();
        let mut bytes = [0; 4];
        for byte in c.encode_utf8(&mut bytes).bytes() {
            let shown = if c.is_ascii() { c.to_string() } else { format!("\\{byte:03o}") };
            self.mistakes.push((Some(self.line), format!("illegal character: {shown}")));
        }
    }

    /// Reads a number, which may go on behind a backslash at the end of a line.
    fn number(&mut self) -> Result<Token, Unfinished> {
        let mut number = String::new();
        loop {
            let rest = self.rest();
            match rest.chars().next() {
                Some(c @ ('0'..='9' | 'A'..='Z')) => {
                    number.push(c);
                    self.at += 1;
                }
                Some('.') if !number.contains('.') => {
                    number.push('.');
                    self.at += 1;
                }
                Some('\\') if rest.starts_with("\\\n") => {
                    self.at += 2;
                    self.line += 1;
                }
                None if self.extent == Extent::Beginning => return Err(Unfinished),
                _ => break,
            }
        }
        // `.` is the last number that was shown.
        if number == "." {
            return Ok(Token::Word("last"));
        }
        let significant = number.trim_start_matches('0');
        Ok(Token::Number(Arc::from(if significant.is_empty() { "0" } else { significant })))
    }
}
