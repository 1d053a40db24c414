//! The parser's place in its text, what it counts, and how it says that something is wrong.

use super::tree::{List, Quoting, Word};
use super::{MAX_NESTING, MAX_NODES, MAX_SCRIPT};
use std::sync::{Arc, OnceLock};

/// Reason why a text is not a valid script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) line: usize,
    /// Message in bash's words, without the line.
    pub(crate) message: String,
    /// The line in which it was found, which bash shows too.
    pub(crate) shown: Option<String>,
}

/// Beginning of the message for a text that ends where something must be closed.
const UNCLOSED: &str = "unexpected EOF while looking for matching";

/// A here-document whose body comes after the line.
pub(super) struct Pending {
    pub(super) end: String,
    pub(super) quoted: bool,
    pub(super) strip_tabs: bool,
    pub(super) body: Arc<OnceLock<Word>>,
}

/// Reads a script, one complete line at a time.
pub(crate) struct Parser {
    text: Arc<str>,
    pub(super) at: usize,
    pub(super) line: usize,
    pub(super) depth: usize,
    pub(super) nodes: usize,
    pub(super) pending: Vec<Pending>,
    /// True when double quotes are open at this position.
    pub(super) within_quotes: bool,
    /// True when the text ended within a here-document.
    pub(super) open_document: bool,
}

impl Parser {
    /// A parser at the start of `text`.
    pub(crate) fn new(text: &str) -> Result<Self, SyntaxError> {
        Self::within(text, 1, 0)
    }

    /// A parser for a text within another: its first line, and how deep it lies.
    pub(super) fn within(text: &str, line: usize, depth: usize) -> Result<Self, SyntaxError> {
        let parser = Self {
            text: Arc::from(text),
            at: 0,
            line,
            depth,
            nodes: 0,
            pending: Vec::new(),
            within_quotes: false,
            open_document: false,
        };
        if text.len() > MAX_SCRIPT {
            return Err(parser.refuse(format!("the script is longer than {MAX_SCRIPT} bytes")));
        }
        if text.contains('\0') {
            return Err(parser.refuse("cannot execute binary file".to_owned()));
        }
        Ok(parser)
    }

    /// The commands of the next line, which may go on over several; none at the end.
    pub(crate) fn next_line(&mut self) -> Result<Option<List>, SyntaxError> {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some('\n') => self.newline()?,
                None => return Ok(None),
                Some(_) => break,
            }
        }
        let list = self.list_of_line()?;
        match self.peek() {
            Some('\n') => self.newline()?,
            None => self.read_pending()?,
            Some(_) => return Err(self.unexpected()),
        }
        Ok(Some(list))
    }

    /// Returns whether a text is a whole script, so that no line has to follow. One that is wrong is whole.
    pub(crate) fn is_whole(text: &str) -> bool {
        // One backslash takes the end of the line with it; of two, the first makes the second plain.
        let line = text.strip_suffix('\n').unwrap_or(text);
        if line.len() < text.len() && (line.len() - line.trim_end_matches('\\').len()) % 2 == 1 {
            return false;
        }
        let Ok(mut parser) = Self::new(text) else { return true };
        loop {
            match parser.next_line() {
                Ok(Some(_)) => {}
                Ok(None) => return !parser.open_document,
                Err(error) => {
                    return !error.message.contains("unexpected end of file") && !error.message.starts_with(UNCLOSED);
                }
            }
        }
    }

    /// Returns the approximate memory of the trees so far, in bytes.
    pub(crate) fn weight(&self) -> usize {
        self.text.len() + self.nodes * 256
    }

    pub(super) fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    pub(super) fn slice(&self, from: usize, to: usize) -> &str {
        &self.text[from..to]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn peek_second(&self) -> Option<char> {
        self.rest().chars().nth(1)
    }

    pub(super) fn looking_at(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        self.line += usize::from(c == '\n');
        Some(c)
    }

    pub(super) fn take(&mut self, text: &str) -> bool {
        let found = self.looking_at(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Blanks, comments and continued lines.
    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t' | '\r') => self.at += 1,
                Some('\\') if self.looking_at("\\\n") => {
                    self.next();
                    self.next();
                }
                Some('#') => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                _ => return,
            }
        }
    }

    /// Takes a newline, and the here-documents that wait for it.
    pub(super) fn newline(&mut self) -> Result<(), SyntaxError> {
        self.next();
        self.read_pending()
    }

    /// Newlines, blanks and comments.
    pub(super) fn skip_newlines(&mut self) -> Result<(), SyntaxError> {
        loop {
            self.skip_blanks();
            if self.peek() != Some('\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// Counts a part of the tree.
    pub(super) fn count(&mut self) -> Result<(), SyntaxError> {
        self.nodes += 1;
        match self.nodes > MAX_NODES {
            true => Err(self.refuse(format!("the script has more than {MAX_NODES} parts"))),
            false => Ok(()),
        }
    }

    /// Reads something with double quotes open around it, or without.
    pub(super) fn quoted<T>(
        &mut self,
        quoting: Quoting,
        read: impl FnOnce(&mut Self) -> Result<T, SyntaxError>,
    ) -> Result<T, SyntaxError> {
        let before = std::mem::replace(&mut self.within_quotes, quoting == Quoting::Quoted);
        let found = read(self);
        self.within_quotes = before;
        found
    }

    /// Reads what lies one level deeper.
    pub(super) fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, SyntaxError>,
    ) -> Result<T, SyntaxError> {
        if self.depth >= MAX_NESTING {
            return Err(self.refuse(format!("commands are nested more than {MAX_NESTING} deep")));
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }

    pub(super) fn refuse(&self, message: String) -> SyntaxError {
        SyntaxError { line: self.line, message, shown: None }
    }

    /// The text ends where something must be closed.
    pub(super) fn unclosed(&self, line: usize, closing: char) -> SyntaxError {
        let message = format!("{UNCLOSED} `{closing}'");
        SyntaxError { line, message, shown: None }
    }

    /// Makes the error for a token that can't stand at this position.
    pub(super) fn unexpected(&self) -> SyntaxError {
        let token = match self.peek() {
            None => {
                let line = self.line + usize::from(!self.text.ends_with('\n'));
                return SyntaxError { line, message: "syntax error: unexpected end of file".to_owned(), shown: None };
            }
            Some('\n') => "newline".to_owned(),
            Some(_) => match self.operator() {
                Some(operator) => operator.to_owned(),
                None => {
                    let end = self.rest().find(|c: char| " \t\n;&|()<>".contains(c)).unwrap_or(self.rest().len());
                    self.rest()[..end].chars().take(100).collect()
                }
            },
        };
        let start = self.text[..self.at].rfind('\n').map_or(0, |newline| newline + 1);
        let shown = self.text[start..].lines().next().unwrap_or("").chars().take(1000).collect();
        let message = format!("syntax error near unexpected token `{token}'");
        SyntaxError { line: self.line, message, shown: Some(shown) }
    }

    /// Returns whether a process substitution begins here.
    pub(super) fn at_process(&self) -> bool {
        self.looking_at("<(") || self.looking_at(">(")
    }

    /// The operator that stands here.
    pub(super) fn operator(&self) -> Option<&'static str> {
        const OPERATORS: [&str; 24] = [
            ";;&", "<<-", "<<<", "&>>", "&&", "||", ";;", ";&", "|&", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "\n",
            "&", "|", ";", "<", ">", "(", ")",
        ];
        OPERATORS.into_iter().find(|operator| self.looking_at(operator))
    }
}
