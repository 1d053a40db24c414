//! Words of programs.

use super::code::Function;

/// One word.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Number(f64),
    Text(Vec<u8>),
    Name(String),
    /// A name right before a parenthesis.
    Called(String),
    Function(Function),
    /// A word with a meaning of its own.
    Keyword(&'static str),
    Operator(&'static str),
    Newline,
    End,
}

const KEYWORDS: [&str; 31] = [
    "BEGIN", "END", "function", "func", "if", "else", "while", "for", "do", "break", "continue", "next", "nextfile",
    "exit", "return", "delete", "in", "getline", "print", "printf", "length", "split", "sub", "gsub", "gensub",
    "match", "system", "close", "fflush", "asort", "asorti",
];
const FUNCTIONS: [(&str, Function); 24] = [
    ("and", Function::And),
    ("atan2", Function::Atan2),
    ("compl", Function::Compl),
    ("cos", Function::Cos),
    ("exp", Function::Exp),
    ("index", Function::Index),
    ("int", Function::Int),
    ("log", Function::Log),
    ("lshift", Function::Lshift),
    ("mktime", Function::Mktime),
    ("or", Function::Or),
    ("rand", Function::Rand),
    ("rshift", Function::Rshift),
    ("sin", Function::Sin),
    ("sprintf", Function::Sprintf),
    ("sqrt", Function::Sqrt),
    ("srand", Function::Srand),
    ("strftime", Function::Strftime),
    ("strtonum", Function::Strtonum),
    ("substr", Function::Substr),
    ("systime", Function::Systime),
    ("tolower", Function::Tolower),
    ("toupper", Function::Toupper),
    ("xor", Function::Xor),
];
/// Operators, the longest first.
const OPERATORS: [&str; 45] = [
    "**=", "&&", "||", "==", "<=", ">=", "!=", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "**", "!~", ">>", "{",
    "}", "(", ")", "[", "]", ";", ",", "+", "-", "*", "/", "%", "^", "!", ">", "<", "|", "?", ":", "~", "$", "=", "&",
    "@", "`", "'",
];

/// Words of a text, one after the other.
#[derive(Debug, Clone)]
pub(super) struct Lexer<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text: text.as_bytes(), at: 0 }
    }

    /// The number of the line, from 1.
    pub(super) fn line(&self) -> usize {
        1 + self.text[..self.at].iter().filter(|byte| **byte == b'\n').count()
    }

    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.text[self.at..] {
                [b' ' | b'\t' | b'\r', ..] => self.at += 1,
                [b'\\', b'\n', ..] => self.at += 2,
                [b'\\', b'\r', b'\n', ..] => self.at += 3,
                [b'#', ..] => {
                    while self.at < self.text.len() && self.peek() != b'\n' {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// Returns whether the next word is this one.
    pub(super) fn is_before(&mut self, word: &str) -> bool {
        self.skip_blanks();
        self.text[self.at..].starts_with(word.as_bytes())
    }

    /// Returns whether a parenthesis follows at once.
    pub(super) fn is_before_parenthesis(&self) -> bool {
        self.peek() == b'('
    }

    pub(super) fn next(&mut self) -> Result<Token, String> {
        self.skip_blanks();
        if self.at >= self.text.len() {
            return Ok(Token::End);
        }
        let start = self.at;
        match self.peek() {
            b'\n' => {
                self.at += 1;
                Ok(Token::Newline)
            }
            b'"' => self.string(),
            b'0'..=b'9' | b'.' => {
                let (value, length) = super::value::number_prefix(&self.text[start..]);
                if length == 0 {
                    return Err("syntax error at or near .".to_owned());
                }
                self.at += length;
                Ok(Token::Number(value))
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                while self.peek().is_ascii_alphanumeric() || self.peek() == b'_' {
                    self.at += 1;
                }
                let name = String::from_utf8_lossy(&self.text[start..self.at]).into_owned();
                if let Some(word) = KEYWORDS.into_iter().find(|word| *word == name) {
                    return Ok(Token::Keyword(if word == "func" { "function" } else { word }));
                }
                if let Some((_, function)) = FUNCTIONS.into_iter().find(|(known, _)| *known == name) {
                    return Ok(Token::Function(function));
                }
                Ok(if self.is_before_parenthesis() { Token::Called(name) } else { Token::Name(name) })
            }
            _ => {
                let rest = &self.text[start..];
                match OPERATORS.into_iter().find(|operator| rest.starts_with(operator.as_bytes())) {
                    Some(operator) => {
                        self.at += operator.len();
                        Ok(Token::Operator(match operator {
                            "**" => "^",
                            "**=" => "^=",
                            operator => operator,
                        }))
                    }
                    None => {
                        let c = String::from_utf8_lossy(rest).chars().next().unwrap_or(' ');
                        Err(format!("unexpected character '{c}'"))
                    }
                }
            }
        }
    }

    fn string(&mut self) -> Result<Token, String> {
        let start = self.at + 1;
        let mut end = start;
        while self.text.get(end).is_some_and(|byte| *byte != b'"') {
            match self.text[end] {
                b'\n' => return Err("unterminated string".to_owned()),
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        let Some(inner) = self.text.get(start..end).filter(|_| end < self.text.len()) else {
            return Err("unterminated string".to_owned());
        };
        self.at = end + 1;
        Ok(Token::Text(unescape(inner)))
    }

    /// Reads an expression after its first slash.
    pub(super) fn regex(&mut self) -> Result<String, String> {
        let start = self.at;
        let mut in_class = false;
        loop {
            match (self.peek(), in_class) {
                (0 | b'\n', _) => return Err("unterminated regular expression".to_owned()),
                (b'\\', _) => self.at += 2,
                (b'/', false) => break,
                (b'[', false) => {
                    in_class = true;
                    self.at += 1;
                    // A bracket at the start of a class is one of its characters.
                    self.at += usize::from(self.peek() == b'^');
                    self.at += usize::from(self.peek() == b']');
                }
                (b'[', true) if self.text.get(self.at + 1) == Some(&b':') => {
                    let rest = &self.text[self.at..];
                    self.at += rest.windows(2).position(|pair| pair == b":]").map_or(1, |end| end + 2);
                }
                (b']', true) => {
                    in_class = false;
                    self.at += 1;
                }
                _ => self.at += 1,
            }
        }
        let text = String::from_utf8_lossy(&self.text[start..self.at]).into_owned();
        self.at += 1;
        Ok(text)
    }
}

/// A text with its escapes carried out.
pub(super) fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        at += 1;
        if byte != b'\\' || at == text.len() {
            out.push(byte);
            continue;
        }
        let escaped = text[at];
        at += 1;
        match escaped {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'a' => out.push(7),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'v' => out.push(11),
            b'"' | b'\\' | b'/' => out.push(escaped),
            b'\n' => {}
            b'0'..=b'7' => {
                let mut value = u32::from(escaped - b'0');
                for _ in 0..2 {
                    match text.get(at) {
                        Some(digit @ b'0'..=b'7') => value = value * 8 + u32::from(digit - b'0'),
                        _ => break,
                    }
                    at += 1;
                }
                out.push(value as u8);
            }
            // It is meant for a regular expression.
            escaped => out.extend([b'\\', escaped]),
        }
    }
    out
}
