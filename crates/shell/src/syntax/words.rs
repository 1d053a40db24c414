//! Words: quotes, substitutions, arithmetic.

use super::reader::{Parser, SyntaxError};
use super::tree::{Form, List, Name, Parameter, Piece, Quoting, Word};
use std::sync::Arc;

/// Characters that end a word.
const METACHARACTERS: [char; 10] = [' ', '\t', '\n', '\r', ';', '&', '|', '<', '>', '('];

impl Parser {
    /// A word; something must stand here.
    pub(super) fn word(&mut self) -> Result<Word, SyntaxError> {
        let start = self.at;
        let word = self.word_or_nothing()?;
        match self.at == start {
            true => Err(self.unexpected()),
            false => Ok(word),
        }
    }

    /// A word, or nothing.
    pub(super) fn word_or_nothing(&mut self) -> Result<Word, SyntaxError> {
        self.count()?;
        let mut pieces = Vec::new();
        let mut plain = String::new();
        while let Some(c) = self.peek() {
            if self.at_process() {
                flush(&mut plain, &mut pieces);
                pieces.push(self.process()?);
                continue;
            }
            if METACHARACTERS.contains(&c) || c == ')' {
                break;
            }
            self.word_piece(c, &mut plain, &mut pieces)?;
        }
        flush(&mut plain, &mut pieces);
        Ok(Word(pieces))
    }

    /// A word that goes on up to one of `ends`, blanks included.
    pub(super) fn word_until(&mut self, ends: &[char]) -> Result<Word, SyntaxError> {
        self.quoted(Quoting::Unquoted, |parser| parser.open_word(ends))
    }

    fn open_word(&mut self, ends: &[char]) -> Result<Word, SyntaxError> {
        self.count()?;
        let line = self.line;
        let mut pieces = Vec::new();
        let mut plain = String::new();
        loop {
            match self.peek() {
                None => return Err(self.unclosed(line, ends.last().copied().unwrap_or('}'))),
                Some(c) if ends.contains(&c) => break,
                Some(c) => self.word_piece(c, &mut plain, &mut pieces)?,
            }
        }
        flush(&mut plain, &mut pieces);
        Ok(Word(pieces))
    }

    /// Parses the piece that begins with `c`, outside double quotes.
    fn word_piece(&mut self, c: char, plain: &mut String, pieces: &mut Vec<Piece>) -> Result<(), SyntaxError> {
        match c {
            '\\' => {
                self.next();
                match self.next() {
                    Some('\n') => {}
                    Some(escaped) => {
                        flush(plain, pieces);
                        push_quoted(escaped, pieces);
                    }
                    None => plain.push('\\'),
                }
            }
            '\'' => {
                flush(plain, pieces);
                pieces.push(Piece::Quoted(self.single_quoted()?));
            }
            '"' => {
                flush(plain, pieces);
                self.count()?;
                pieces.push(Piece::Double(self.double_quoted()?));
            }
            '$' if self.peek_second() == Some('\'') => {
                flush(plain, pieces);
                self.at += 1;
                pieces.push(Piece::Quoted(self.escaped_text()?));
            }
            '$' if self.peek_second() == Some('"') => self.at += 1,
            '$' | '`' => match self.expansion()? {
                Some(piece) => {
                    flush(plain, pieces);
                    pieces.push(piece);
                }
                None => plain.push('$'),
            },
            c => {
                self.next();
                plain.push(c);
            }
        }
        Ok(())
    }

    fn single_quoted(&mut self) -> Result<String, SyntaxError> {
        let line = self.line;
        self.at += 1;
        let Some(length) = self.rest().find('\'') else { return Err(self.unclosed(line, '\'')) };
        let text = self.rest()[..length].to_owned();
        self.line += text.matches('\n').count();
        self.at += length + 1;
        Ok(text)
    }

    /// Parses `$'…'`, and returns the text.
    fn escaped_text(&mut self) -> Result<String, SyntaxError> {
        let line = self.line;
        self.at += 1;
        let mut raw = String::new();
        loop {
            match self.next() {
                None => return Err(self.unclosed(line, '\'')),
                Some('\'') => break,
                Some('\\') => {
                    raw.push('\\');
                    raw.extend(self.next());
                }
                Some(c) => raw.push(c),
            }
        }
        let (bytes, _) = crate::escapes::unescape(&raw, crate::escapes::Kind::Quoted);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn double_quoted(&mut self) -> Result<Vec<Piece>, SyntaxError> {
        let line = self.line;
        self.at += 1;
        let pieces =
            self.deeper(|parser| parser.quoted(Quoting::Quoted, |parser| parser.quoted_text(Some('"'), line)))?;
        self.at += 1;
        Ok(pieces)
    }

    /// The body of a here-document.
    pub(super) fn here_text(&mut self) -> Result<Vec<Piece>, SyntaxError> {
        let line = self.line;
        self.quoted(Quoting::Quoted, |parser| parser.quoted_text(None, line))
    }

    /// Text in which only `$`, `` ` `` and `\` mean something, up to `end`.
    fn quoted_text(&mut self, end: Option<char>, line: usize) -> Result<Vec<Piece>, SyntaxError> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        loop {
            match self.peek() {
                None if end.is_none() => break,
                None => return Err(self.unclosed(line, end.unwrap_or('"'))),
                c if c == end => break,
                Some('\\') => {
                    self.next();
                    match self.peek() {
                        Some('\n') => {
                            self.next();
                        }
                        Some(c @ ('$' | '`' | '\\')) => {
                            self.next();
                            text.push(c);
                        }
                        Some(c @ ('"' | '}')) if end == Some(c) => {
                            self.next();
                            text.push(c);
                        }
                        Some('"') if end.is_some() => {
                            self.next();
                            text.push('"');
                        }
                        Some(_) | None => text.push('\\'),
                    }
                }
                // Within `"${name:-…}"` quotes may stand again.
                Some('"') if end == Some('}') => {
                    flush_quoted(&mut text, &mut pieces);
                    self.count()?;
                    let inner = self.double_quoted()?;
                    pieces.extend(inner);
                }
                Some('$' | '`') => match self.expansion()? {
                    Some(piece) => {
                        flush_quoted(&mut text, &mut pieces);
                        pieces.push(piece);
                    }
                    None => text.push('$'),
                },
                Some(c) => {
                    self.next();
                    text.push(c);
                }
            }
        }
        flush_quoted(&mut text, &mut pieces);
        Ok(pieces)
    }

    /// The word of `${name:-word}` within double quotes.
    pub(super) fn quoted_word(&mut self) -> Result<Word, SyntaxError> {
        let line = self.line;
        self.count()?;
        Ok(Word(vec![Piece::Double(self.quoted_text(Some('}'), line)?)]))
    }

    /// Parses an expansion, which begins with `$` or a backquote; `None` for a `$` that is just that, which is taken.
    pub(super) fn expansion(&mut self) -> Result<Option<Piece>, SyntaxError> {
        self.count()?;
        let line = self.line;
        if self.peek() == Some('`') {
            return self.backquoted().map(Some);
        }
        self.at += 1;
        if self.looking_at("((")
            && let Some(expression) = self.arithmetic_body(2)?
        {
            return Ok(Some(Piece::Arithmetic(Arc::new(expression))));
        }
        match self.peek() {
            Some('(') => Ok(Some(Piece::Command(Arc::new(self.parenthesized()?)))),
            // An older way to write `$((…))`.
            Some('[') => {
                self.at += 1;
                let expression = self.deeper(|parser| parser.arithmetic_until(&[']'], line))?;
                self.at += 1;
                Ok(Some(Piece::Arithmetic(Arc::new(expression))))
            }
            Some('{') => {
                self.at += 1;
                self.deeper(|parser| parser.braced_parameter(line)).map(Some)
            }
            Some(c) if c == '_' || c.is_ascii_alphabetic() => {
                let rest = self.rest();
                let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
                let name = Name::Variable(rest[..length].to_owned());
                self.at += length;
                Ok(Some(value_of(name)))
            }
            Some(c) if c.is_ascii_digit() => {
                self.at += 1;
                Ok(Some(value_of(Name::Positional(c as usize - '0' as usize))))
            }
            Some(c @ ('@' | '*' | '#' | '?' | '-' | '$' | '!')) => {
                self.at += 1;
                Ok(Some(value_of(Name::Special(c))))
            }
            Some(_) | None => Ok(None),
        }
    }

    /// Parses a process substitution.
    fn process(&mut self) -> Result<Piece, SyntaxError> {
        self.count()?;
        if self.peek() == Some('>') {
            return Err(self.refuse("process substitution for output is not supported".to_owned()));
        }
        self.at += 1;
        Ok(Piece::Process(Arc::new(self.parenthesized()?)))
    }

    /// Parses the commands of a substitution, from its opening parenthesis to its closing one.
    fn parenthesized(&mut self) -> Result<List, SyntaxError> {
        let line = self.line;
        self.at += 1;
        let list = self.deeper(|parser| parser.quoted(Quoting::Unquoted, Self::commands_within))?;
        self.skip_newlines()?;
        match self.peek() {
            Some(')') => self.at += 1,
            None => return Err(self.unclosed(line, ')')),
            Some(_) => return Err(self.unexpected()),
        }
        Ok(list)
    }

    fn commands_within(&mut self) -> Result<List, SyntaxError> {
        self.skip_newlines()?;
        match self.peek() {
            Some(')') => Ok(List::new()),
            Some(_) | None => self.list(),
        }
    }

    fn backquoted(&mut self) -> Result<Piece, SyntaxError> {
        let line = self.line;
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.next() {
                None => return Err(self.unclosed(line, '`')),
                Some('`') => break,
                Some('\\') => match self.next() {
                    Some(c @ ('`' | '\\' | '$')) => text.push(c),
                    Some(c) => text.extend(['\\', c]),
                    None => return Err(self.unclosed(line, '`')),
                },
                Some(c) => text.push(c),
            }
        }
        let nodes = self.nodes;
        let (list, nodes) = self.deeper(|parser| {
            let mut inner = Self::within(&text, line, parser.depth)?;
            inner.nodes = nodes;
            let mut list = Vec::new();
            while let Some(more) = inner.next_line()? {
                list.extend(more);
            }
            Ok((list, inner.nodes))
        })?;
        self.nodes = nodes;
        Ok(Piece::Command(Arc::new(list)))
    }

    /// Parses the body of `((…))`; `None` when two parentheses do not close it, and then it is a subshell in
    /// parentheses.
    pub(super) fn arithmetic_body(&mut self, opening: usize) -> Result<Option<Vec<Piece>>, SyntaxError> {
        let Some(length) = closing_pair(&self.rest()[opening..]) else { return Ok(None) };
        let end = self.at + opening + length;
        let line = self.line;
        self.at += opening;
        let pieces = self.deeper(|parser| parser.arithmetic_text(end, line))?;
        self.at += 2;
        Ok(Some(pieces))
    }

    fn arithmetic_text(&mut self, end: usize, line: usize) -> Result<Vec<Piece>, SyntaxError> {
        let mut pieces = Vec::new();
        while self.at < end {
            self.arithmetic_piece(&mut pieces)?;
        }
        match self.at == end {
            true => Ok(pieces),
            false => Err(self.unclosed(line, ')')),
        }
    }

    /// An expression up to one of `ends` outside parentheses.
    pub(super) fn arithmetic_until(&mut self, ends: &[char], line: usize) -> Result<Vec<Piece>, SyntaxError> {
        let mut pieces = Vec::new();
        let mut open = 0_usize;
        loop {
            match self.peek() {
                None => return Err(self.unclosed(line, ends.last().copied().unwrap_or(')'))),
                Some(c) if open == 0 && ends.contains(&c) => return Ok(pieces),
                Some('(') => open += 1,
                Some(')') => open = open.saturating_sub(1),
                Some(_) => {}
            }
            self.arithmetic_piece(&mut pieces)?;
        }
    }

    fn arithmetic_piece(&mut self, pieces: &mut Vec<Piece>) -> Result<(), SyntaxError> {
        let mut text = String::new();
        match self.peek() {
            Some('$' | '`') => match self.expansion()? {
                Some(piece) => pieces.push(piece),
                None => text.push('$'),
            },
            Some('"') => self.at += 1,
            Some('\\') => {
                self.next();
                if self.peek() == Some('\n') {
                    self.next();
                }
            }
            Some(_) => text.extend(self.next()),
            None => {}
        }
        match pieces.last_mut() {
            Some(Piece::Quoted(before)) => before.push_str(&text),
            _ if text.is_empty() => {}
            _ => pieces.push(Piece::Quoted(text)),
        }
        Ok(())
    }
}

/// Returns the distance to the `))` that closes what has been opened; `None` when a single `)` does.
fn closing_pair(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut open = 0_usize;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'(' => open += 1,
            b')' if open > 0 => open -= 1,
            b')' => return (bytes.get(at + 1) == Some(&b')')).then_some(at),
            // What stands in quotes closes nothing.
            b'\'' | b'"' => at += bytes[at + 1..].iter().position(|other| other == byte)? + 1,
            _ => {}
        }
        at += 1;
    }
    None
}

pub(super) fn value_of(name: Name) -> Piece {
    Piece::Parameter(Arc::new(Parameter { name, index: None, form: Form::Value }))
}

fn flush(plain: &mut String, pieces: &mut Vec<Piece>) {
    if !plain.is_empty() {
        pieces.push(Piece::Plain(std::mem::take(plain)));
    }
}

fn flush_quoted(text: &mut String, pieces: &mut Vec<Piece>) {
    if !text.is_empty() {
        pieces.push(Piece::Quoted(std::mem::take(text)));
    }
}

/// Escaped characters that follow each other are one piece.
fn push_quoted(c: char, pieces: &mut Vec<Piece>) {
    match pieces.last_mut() {
        Some(Piece::Quoted(text)) => text.push(c),
        _ => pieces.push(Piece::Quoted(c.to_string())),
    }
}
