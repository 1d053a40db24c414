//! Values: numbers, texts whose memory is counted, and the conversions between them.

use crate::bounds::{Held, MAX_TEXT, Use};
use crate::builtins::printf::{MAX_WIDTH, Shape, Sign, exponent, general};
use std::cmp::Ordering;
use std::sync::Arc;

/// Memory that a text takes beside its bytes, about: with an element of an array whose subscript it is.
const BYTES_A_TEXT: usize = 160;

/// Reason for which a program ends early.
#[derive(Debug)]
pub(super) struct RuntimeError(pub(super) String);

impl RuntimeError {
    pub(super) fn memory() -> Self {
        Self("memory exhausted".to_owned())
    }
}

/// Bytes of a text, in memory that is counted until the last copy is gone.
#[derive(Debug)]
pub(super) struct Text {
    bytes: Vec<u8>,
    _held: Held,
}

impl std::ops::Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl std::borrow::Borrow<[u8]> for Subscript {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

/// A text as the subscript of an array.
#[derive(Debug, Clone)]
pub(super) struct Subscript(pub(super) Arc<Text>);

impl PartialEq for Subscript {
    fn eq(&self, other: &Self) -> bool {
        self.0.bytes == other.0.bytes
    }
}

impl Eq for Subscript {}

impl std::hash::Hash for Subscript {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self.0).hash(state);
    }
}

/// Makes a text of bytes.
pub(super) fn text(used: &Arc<Use>, bytes: Vec<u8>) -> Result<Arc<Text>, RuntimeError> {
    if bytes.len() > MAX_TEXT {
        return Err(RuntimeError::memory());
    }
    match used.hold(bytes.capacity() + BYTES_A_TEXT) {
        Some(held) => Ok(Arc::new(Text { bytes, _held: held })),
        None => Err(RuntimeError::memory()),
    }
}

/// A value.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Unset,
    Number(f64),
    Text(Arc<Text>),
    /// Text from outside, which is a number if it looks like one.
    Input(Arc<Text>),
    /// Number of a regular expression.
    Regex(usize),
    /// Number of an array.
    Array(usize),
}

impl Value {
    pub(super) fn number(&self) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Text(text) | Self::Input(text) => number_prefix(text).0,
            Self::Unset | Self::Regex(_) | Self::Array(_) => 0.0,
        }
    }

    /// Returns the number that a value is, if it is one.
    fn numeric(&self) -> Option<f64> {
        match self {
            Self::Unset => Some(0.0),
            Self::Number(number) => Some(*number),
            Self::Input(text) => looks_numeric(text),
            Self::Text(_) | Self::Regex(_) | Self::Array(_) => None,
        }
    }

    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Unset => false,
            Self::Number(number) => *number != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Input(text) => looks_numeric(text).map_or(!text.is_empty(), |number| number != 0.0),
            Self::Regex(_) | Self::Array(_) => true,
        }
    }

    /// The bytes of a value; numbers are written as `format` says.
    pub(super) fn bytes(&self, format: &[u8]) -> std::borrow::Cow<'_, [u8]> {
        use std::borrow::Cow;
        match self {
            Self::Unset | Self::Regex(_) | Self::Array(_) => Cow::Borrowed(b""),
            Self::Text(text) | Self::Input(text) => Cow::Borrowed(text),
            Self::Number(number) => Cow::Owned(number_text(*number, format)),
        }
    }

    /// Order of two values when an array is sorted: numbers come before texts.
    pub(super) fn sort_order(&self, other: &Self) -> Ordering {
        match (self.numeric(), other.numeric()) {
            (Some(left), Some(right)) => left.total_cmp(&right),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => self.bytes(b"").cmp(&other.bytes(b"")),
        }
    }

    /// Compares two values: as numbers if both are, else as texts.
    pub(super) fn compare(&self, other: &Self, format: &[u8]) -> Option<Ordering> {
        match (self.numeric(), other.numeric()) {
            (Some(left), Some(right)) => left.partial_cmp(&right),
            _ => Some(self.bytes(format).cmp(&other.bytes(format))),
        }
    }
}

/// A number as text.
fn number_text(number: f64, format: &[u8]) -> Vec<u8> {
    if number.is_nan() {
        return if number.is_sign_negative() { b"-nan".to_vec() } else { b"nan".to_vec() };
    }
    if number.is_infinite() {
        return if number < 0.0 { b"-inf".to_vec() } else { b"inf".to_vec() };
    }
    if number == number.trunc() && number.abs() < 1e18 {
        return (number as i64).to_string().into_bytes();
    }
    // A number in many digits would cost more than its instruction.
    let is_long = format.len() > 16 || format.windows(4).any(|four| four.iter().all(u8::is_ascii_digit));
    if format == b"%.6g" || is_long {
        let sign = if number < 0.0 { "-" } else { "" };
        return format!("{sign}{}", general(number.abs(), 6)).into_bytes();
    }
    let mut out = Vec::new();
    // The format is the program's own: what is wrong with it shows.
    let _ = format_values(format, &[Value::Number(number)], b"%.6g", &mut out);
    out
}

/// Longest text that is read as a number, in bytes.
const MAX_NUMBER: usize = 1024;

/// The number that a text begins with, and how many bytes that takes; 0 bytes: there is none. No more is read than
/// [`MAX_NUMBER`] bytes.
pub(super) fn number_prefix(text: &[u8]) -> (f64, usize) {
    let text = &text[..text.len().min(MAX_NUMBER)];
    let start = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let mut at = start;
    at += usize::from(matches!(text.get(at), Some(b'+' | b'-')));
    let digits = |from: usize| text[from.min(text.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(at);
    at += whole;
    let mut fraction = 0;
    if text.get(at) == Some(&b'.') {
        fraction = digits(at + 1);
        if whole + fraction > 0 {
            at += 1 + fraction;
        }
    }
    if whole + fraction == 0 {
        return (0.0, 0);
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let power = digits(at + 1 + sign);
        if power > 0 {
            at += 1 + sign + power;
        }
    }
    let number = std::str::from_utf8(&text[start..at]).ok().and_then(|text| text.parse().ok());
    (number.unwrap_or(0.0), at)
}

fn looks_numeric(text: &[u8]) -> Option<f64> {
    let (number, length) = number_prefix(text);
    (length > 0 && text.len() <= MAX_NUMBER && text[length..].iter().all(u8::is_ascii_whitespace)).then_some(number)
}

/// Formats values as `printf` does.
pub(super) fn format_values(
    format: &[u8],
    values: &[Value],
    number_format: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), RuntimeError> {
    let mut values = values.iter();
    let mut rest = format;
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let end = rest.iter().position(|byte| !b"-+ #0123456789.*'".contains(byte)).unwrap_or(rest.len());
        let mut flags = String::new();
        for byte in &rest[..end] {
            match byte {
                b'*' => flags.push_str(&(values.next().map_or(0.0, Value::number) as i64).to_string()),
                b'\'' => {}
                byte => flags.push(char::from(*byte)),
            }
        }
        let length = rest[end..].iter().take_while(|byte| b"lhqLjz".contains(byte)).count();
        let Some(conversion) = rest.get(end + length).copied() else {
            out.push(b'%');
            out.extend_from_slice(rest);
            return Ok(());
        };
        let shown = &rest[..=(end + length)];
        rest = &rest[end + length + 1..];
        let shape = Shape::of(&flags);
        if out.len() + shape.width().max(shape.precision().unwrap_or(0)) > MAX_TEXT {
            return Err(RuntimeError::memory());
        }
        if conversion == b'%' {
            out.push(b'%');
            continue;
        }
        if !b"csdiouxXeEfFgG".contains(&conversion) {
            out.push(b'%');
            out.extend_from_slice(shown);
            continue;
        }
        let value = values.next().unwrap_or(&Value::Unset);
        format_one(conversion, shape, value, number_format, out);
        if out.len() > MAX_TEXT {
            return Err(RuntimeError::memory());
        }
    }
    out.extend_from_slice(rest);
    Ok(())
}

fn format_one(conversion: u8, shape: Shape, value: &Value, number_format: &[u8], out: &mut Vec<u8>) {
    let number = value.number();
    let sign = if number.is_sign_negative() && !number.is_nan() { Sign::Minus } else { Sign::Plus };
    match conversion {
        b's' => shape.text(&value.bytes(number_format), out),
        b'c' => match value {
            Value::Number(number) => {
                let code = *number as u32;
                let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                shape.text(c.encode_utf8(&mut [0; 4]).as_bytes(), out);
            }
            value => {
                let bytes = value.bytes(number_format);
                let length = first_character(&bytes);
                shape.text(&bytes[..length], out);
            }
        },
        _ if !number.is_finite() => {
            let name = if number.is_nan() { "nan" } else { "inf" };
            shape.without_zeros().number(name, sign, out);
        }
        b'd' | b'i' => shape.number(
            &format!("{:.0}", number.trunc().abs()),
            if number.trunc() == 0.0 { Sign::Plus } else { sign },
            out,
        ),
        b'o' => shape.number(&format!("{:o}", number as i64), Sign::Plus, out),
        b'x' => shape.number(&format!("{}{:x}", shape.prefix("0x"), number as i64), Sign::Plus, out),
        b'X' => shape.number(&format!("{}{:X}", shape.prefix("0X"), number as i64), Sign::Plus, out),
        b'u' => shape.number(&(number as i64 as u64).to_string(), Sign::Plus, out),
        _ => {
            let digits = shape.precision().unwrap_or(6).min(MAX_WIDTH);
            let text = match conversion {
                b'f' | b'F' => format!("{:.digits$}", number.abs()),
                b'e' | b'E' => exponent(number.abs(), digits),
                _ => general(number.abs(), digits),
            };
            let text = if conversion.is_ascii_uppercase() { text.to_uppercase() } else { text };
            shape.without_precision().number(&text, sign, out);
        }
    }
}

/// Bytes of the first character of a text.
fn first_character(text: &[u8]) -> usize {
    let length = match text.first() {
        None => 0,
        Some(0xc0..0xe0) => 2,
        Some(0xe0..0xf0) => 3,
        Some(0xf0..) => 4,
        Some(_) => 1,
    };
    match text.get(..length).is_some_and(|first| std::str::from_utf8(first).is_ok()) {
        true => length,
        false => text.len().min(1),
    }
}
