//! Text of JSON values.

use super::value::{Failure, MAX_DEPTH, Memory, Names, Value, sorted_names};
use std::sync::Arc;

/// Shape of values that are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    /// Blanks of one level; none: all in one line.
    pub(super) indent: Option<Indent>,
    pub(super) names: NameOrder,
    pub(super) characters: Characters,
}

/// Indentation of one level.
#[derive(Debug, Clone, Copy)]
pub(super) enum Indent {
    Blanks(usize),
    Tab,
}

/// Order of the names of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameOrder {
    Kept,
    Sorted,
}

/// Characters that are written as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Characters {
    All,
    Ascii,
}

/// Values in one line, as filters write them.
pub(super) const COMPACT: Style = Style { indent: None, names: NameOrder::Kept, characters: Characters::All };

/// Returns whether the text of a value has room in `left` bytes, about, and takes it from there.
pub(super) fn measure(value: &Value, style: Style, left: &mut usize) -> bool {
    measure_at(value, style, 1, left)
}

fn measure_at(value: &Value, style: Style, level: usize, left: &mut usize) -> bool {
    let indent = match style.indent {
        None => 0,
        Some(Indent::Blanks(count)) => 1 + count * level,
        Some(Indent::Tab) => 1 + level,
    };
    let text_bytes = |text: &str| {
        let long =
            |byte: &&u8| **byte < 32 || **byte == 127 || (**byte >= 128 && style.characters == Characters::Ascii);
        let twice = |byte: &&u8| matches!(**byte, b'"' | b'\\');
        let bytes = text.as_bytes();
        3 + bytes.len() + 5 * bytes.iter().filter(long).count() + bytes.iter().filter(twice).count()
    };
    let mut take = |count: usize| match left.checked_sub(count) {
        Some(rest) => {
            *left = rest;
            true
        }
        None => false,
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => take(24),
        Value::String(text) => take(text_bytes(&text.content)),
        Value::Array(array) => {
            take(2 + indent)
                && array.content.iter().all(|value| {
                    left.checked_sub(1 + indent).inspect(|rest| *left = *rest).is_some()
                        && measure_at(value, style, level + 1, left)
                })
        }
        Value::Object(object) => {
            take(2 + indent)
                && object.content.iter().all(|(name, value)| {
                    let bytes = 4 + indent + text_bytes(name);
                    left.checked_sub(bytes).inspect(|rest| *left = *rest).is_some()
                        && measure_at(value, style, level + 1, left)
                })
        }
    }
}

/// Appends the text of a value.
pub(super) fn write(value: &Value, style: Style, level: usize, out: &mut String) {
    let line = |level: usize, out: &mut String| match style.indent {
        None => {}
        Some(Indent::Blanks(count)) => {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', count * level));
        }
        Some(Indent::Tab) => {
            out.push('\n');
            out.extend(std::iter::repeat_n('\t', level));
        }
    };
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => write_number(*number, out),
        Value::String(text) => write_string(&text.content, style.characters, out),
        Value::Array(array) if array.content.is_empty() => out.push_str("[]"),
        Value::Array(array) => {
            out.push('[');
            for (at, value) in array.content.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                line(level + 1, out);
                write(value, style, level + 1, out);
            }
            line(level, out);
            out.push(']');
        }
        Value::Object(object) if object.content.is_empty() => out.push_str("{}"),
        Value::Object(object) => {
            out.push('{');
            let names: Vec<Arc<str>> = match style.names {
                NameOrder::Sorted => sorted_names(&object.content),
                NameOrder::Kept => object.content.keys().cloned().collect(),
            };
            for (at, name) in names.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                line(level + 1, out);
                write_string(name, style.characters, out);
                out.push(':');
                if style.indent.is_some() {
                    out.push(' ');
                }
                write(&object.content[&**name], style, level + 1, out);
            }
            line(level, out);
            out.push('}');
        }
    }
}

/// The text of a value in one line.
pub(super) fn compact(value: &Value) -> String {
    let mut out = String::new();
    write(value, COMPACT, 0, &mut out);
    out
}

fn write_number(number: f64, out: &mut String) {
    if number.is_nan() {
        out.push_str("null");
    } else if number.is_infinite() {
        out.push_str(if number > 0.0 { "1.7976931348623157e+308" } else { "-1.7976931348623157e+308" });
    } else if number == number.trunc() && number.abs() < 1e17 {
        out.push_str(&(number as i64).to_string());
    } else {
        let text = format!("{number:e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let power: i32 = power.parse().unwrap_or(0);
        if (-5..17).contains(&power) {
            out.push_str(&number.to_string());
        } else {
            let sign = if power < 0 { '-' } else { '+' };
            out.push_str(&format!("{digits}e{sign}{:02}", power.abs()));
        }
    }
}

fn write_string(text: &str, characters: Characters, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..=' ' | '\u{7f}' if c != ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c if !c.is_ascii() && characters == Characters::Ascii => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Values of a text, one after the other.
pub(super) struct Parser<'t> {
    memory: Memory,
    text: &'t [u8],
    pub(super) at: usize,
}

impl<'t> Parser<'t> {
    pub(super) fn new(memory: &Memory, text: &'t [u8], at: usize) -> Self {
        Self { memory: memory.clone(), text, at }
    }

    fn skip(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r' | 0x1e)) {
            self.at += 1;
        }
        if self.at == 0 && self.text.starts_with(b"\xef\xbb\xbf") {
            self.at = 3;
            self.skip();
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn wrong(&self, what: &str) -> Failure {
        let before = &self.text[..self.at.min(self.text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count();
        self.memory.error(format!("{what} at line {line}, column {column}"))
    }

    /// The next value; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<Value>, Failure> {
        self.skip();
        match self.peek() {
            None => Ok(None),
            Some(_) => self.value(0).map(Some),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Failure> {
        if depth > MAX_DEPTH {
            return Err(self.wrong("Exceeds depth limit for parsing"));
        }
        self.skip();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => {
                let text = self.string()?;
                self.memory.string(text)
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => {
                for (word, value) in [
                    ("null", Value::Null),
                    ("true", Value::Bool(true)),
                    ("false", Value::Bool(false)),
                    ("nan", Value::Number(f64::NAN)),
                    ("NaN", Value::Number(f64::NAN)),
                ] {
                    let end = self.at + word.len();
                    let ends = !self.text.get(end).is_some_and(u8::is_ascii_alphanumeric);
                    if self.text[self.at..].starts_with(word.as_bytes()) && ends {
                        self.at = end;
                        return Ok(value);
                    }
                }
                Err(self.wrong("Invalid literal"))
            }
            None => Err(self.wrong("Unfinished JSON term")),
        }
    }

    fn number(&mut self) -> Result<Value, Failure> {
        let start = self.at;
        while matches!(self.peek(), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.at += 1;
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        match text.parse::<f64>() {
            Ok(number) => Ok(Value::Number(number)),
            Err(_) => Err(self.wrong("Invalid numeric literal")),
        }
    }

    fn string(&mut self) -> Result<String, Failure> {
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            let plain = self.text[self.at..].iter().position(|byte| matches!(byte, b'"' | b'\\'));
            let Some(plain) = plain else {
                self.at = self.text.len();
                return Err(self.wrong("Unfinished string"));
            };
            bytes.extend_from_slice(&self.text[self.at..self.at + plain]);
            self.at += plain + 1;
            if self.text[self.at - 1] == b'"' {
                return Ok(String::from_utf8(bytes)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()));
            }
            let escaped = self.peek();
            self.at += 1;
            match escaped {
                Some(b'n') => bytes.push(b'\n'),
                Some(b't') => bytes.push(b'\t'),
                Some(b'r') => bytes.push(b'\r'),
                Some(b'b') => bytes.push(8),
                Some(b'f') => bytes.push(12),
                Some(byte @ (b'"' | b'\\' | b'/')) => bytes.push(byte),
                Some(b'u') => {
                    let first = self.unit()?;
                    let mut c = char::from_u32(first);
                    if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with(b"\\u") {
                        self.at += 2;
                        let second = self.unit()?;
                        let units = [first as u16, second as u16];
                        c = char::decode_utf16(units).next().and_then(Result::ok);
                    }
                    let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
                    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Some(_) | None => return Err(self.wrong("Invalid escape")),
            }
        }
    }

    fn unit(&mut self) -> Result<u32, Failure> {
        let digits = self.text.get(self.at..self.at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
            Some(unit) => {
                self.at += 4;
                Ok(unit)
            }
            None => Err(self.wrong("Invalid escape")),
        }
    }

    /// Goes past a comma. False: the end is there instead.
    fn goes_on(&mut self, end: u8) -> Result<bool, Failure> {
        self.skip();
        let byte = self.peek();
        self.at += 1;
        match byte {
            Some(b',') => Ok(true),
            Some(byte) if byte == end => Ok(false),
            Some(_) => Err(self.wrong("Expected separator between values")),
            None => Err(self.wrong("Unfinished JSON term")),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, Failure> {
        self.at += 1;
        let mut values = Vec::new();
        let mut held = self.memory.hold(0)?;
        self.skip();
        if self.peek() == Some(b']') {
            self.at += 1;
            return self.memory.array(values);
        }
        loop {
            values.push(self.value(depth + 1)?);
            if !held.grow(40) {
                return Err(Failure::Memory);
            }
            if !self.goes_on(b']')? {
                drop(held);
                values.shrink_to_fit();
                return self.memory.array(values);
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Failure> {
        self.at += 1;
        let mut names = Names::new();
        let mut held = self.memory.hold(0)?;
        self.skip();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return self.memory.object(names);
        }
        loop {
            self.skip();
            if self.peek() != Some(b'"') {
                return Err(self.wrong("Object keys must be strings"));
            }
            let name: Arc<str> = self.string()?.into();
            self.skip();
            if self.peek() != Some(b':') {
                return Err(self.wrong("Objects must consist of key:value pairs"));
            }
            self.at += 1;
            if !held.grow(name.len() + 140) {
                return Err(Failure::Memory);
            }
            let value = self.value(depth + 1)?;
            names.insert(name, value);
            if !self.goes_on(b'}')? {
                drop(held);
                return self.memory.object(names);
            }
        }
    }
}
