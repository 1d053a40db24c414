//! Texts and bytes that stand for others.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::analyzer::abstract_value::AbstractValue;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);

pub(super) const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);

pub(super) const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// The text or bytes that `value` stands for in an encoding.
pub(super) fn decode<'a>(value: &AbstractValue<'a>, codec: &str) -> AbstractValue<'a> {
    let bytes: &[u8] = match value {
        AbstractValue::Bytes(bytes) => bytes,
        AbstractValue::Text(text) => text.as_bytes(),
        _ => return AbstractValue::Unknown,
    };
    let codec = codec.to_ascii_lowercase().replace(['-', ' '], "_");
    match codec.as_str() {
        "rot13" | "rot_13" => AbstractValue::text(&rot13(&String::from_utf8_lossy(bytes))),
        "base64" | "base64_codec" | "base_64" => unbase64(value, &STANDARD),
        "hex" | "hex_codec" => unhex(value),
        "latin_1" | "latin1" | "iso_8859_1" => {
            AbstractValue::text(&bytes.iter().map(|byte| char::from(*byte)).collect::<String>())
        }
        "utf_16" | "utf_16_le" | "utf_16le" => AbstractValue::text(&utf16(bytes, u16::from_le_bytes)),
        "utf_16_be" | "utf_16be" => AbstractValue::text(&utf16(bytes, u16::from_be_bytes)),
        "unicode_escape" | "raw_unicode_escape" => unescape(&String::from_utf8_lossy(bytes)),
        "zlib" | "zip" | "bz2" | "utf_7" => AbstractValue::Unknown,
        _ => AbstractValue::text(&String::from_utf8_lossy(bytes)),
    }
}

pub(super) fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|char| char.unwrap_or('\u{fffd}')).filter(|char| *char != '\u{feff}').collect()
}

pub(super) fn rot13(text: &str) -> String {
    let turned = |char: char, base: u8| char::from((char as u8 - base + 13) % 26 + base);
    text.chars()
        .map(|char| match char {
            'a'..='z' => turned(char, b'a'),
            'A'..='Z' => turned(char, b'A'),
            _ => char,
        })
        .collect()
}

/// `\x6f`, `\157`, `\u006f` in a text that holds them as they are written.
pub(super) fn unescape<'a>(text: &str) -> AbstractValue<'a> {
    let mut made = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        made.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let digits = |from: usize, count: usize, radix: u32| {
            let digits = rest.get(from..from + count)?;
            u32::from_str_radix(digits, radix).ok().and_then(char::from_u32).map(|char| (char, from + count))
        };
        let found = match rest.chars().next() {
            Some('x') => digits(1, 2, 16),
            Some('u') => digits(1, 4, 16),
            Some('U') => digits(1, 8, 16),
            Some('0'..='7') => (1..=3).rev().find_map(|count| digits(0, count, 8)),
            Some('n') => Some(('\n', 1)),
            Some('\\') => Some(('\\', 1)),
            _ => None,
        };
        let Some((char, length)) = found else { return AbstractValue::Unknown };
        made.push(char);
        rest = &rest[length..];
    }
    made.push_str(rest);
    AbstractValue::text(&made)
}

pub(super) fn unhex<'a>(value: &AbstractValue<'a>) -> AbstractValue<'a> {
    let text = match value {
        AbstractValue::Text(text) => text.to_string(),
        AbstractValue::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => return AbstractValue::Unknown,
    };
    let digits: Vec<u32> =
        text.chars().filter(|char| !char.is_whitespace()).filter_map(|char| char.to_digit(16)).collect();
    if digits.len() % 2 == 1 {
        return AbstractValue::Unknown;
    }
    AbstractValue::bytes(&digits.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect::<Vec<u8>>())
}

pub(super) fn unbase64<'a>(value: &AbstractValue<'a>, engine: &GeneralPurpose) -> AbstractValue<'a> {
    let bytes: &[u8] = match value {
        AbstractValue::Bytes(bytes) => bytes,
        AbstractValue::Text(text) => text.as_bytes(),
        _ => return AbstractValue::Unknown,
    };
    let compact: Vec<u8> = bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    engine.decode(compact).map_or(AbstractValue::Unknown, |bytes| AbstractValue::bytes(&bytes))
}

pub(super) const ALPHABET_85: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

pub(super) const ALPHABET_ASCII85: &[u8; 85] =
    b"!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstu";

pub(super) fn unbase85<'a>(value: &AbstractValue<'a>, alphabet: &[u8; 85]) -> AbstractValue<'a> {
    let bytes: &[u8] = match value {
        AbstractValue::Bytes(bytes) => bytes,
        AbstractValue::Text(text) => text.as_bytes(),
        _ => return AbstractValue::Unknown,
    };
    let mut made = Vec::new();
    for group in bytes.chunks(5) {
        let mut number = 0_u64;
        for at in 0..5 {
            // What is missing at the end stands for the highest.
            let digit = match group.get(at) {
                Some(byte) => alphabet.iter().position(|letter| letter == byte),
                None => Some(84),
            };
            let Some(digit) = digit else { return AbstractValue::Unknown };
            number = number * 85 + digit as u64;
        }
        let Ok(number) = u32::try_from(number) else { return AbstractValue::Unknown };
        made.extend_from_slice(&number.to_be_bytes()[..group.len() - 1]);
    }
    AbstractValue::bytes(&made)
}

pub(super) fn inflated<'a>(bytes: Option<Vec<u8>>) -> AbstractValue<'a> {
    bytes.map_or(AbstractValue::Unknown, |bytes| AbstractValue::bytes(&bytes))
}

/// Numeric references, and the few names that quote.
pub(super) fn unescape_html<'a>(text: &str) -> AbstractValue<'a> {
    let mut made = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        made.push_str(before);
        let Some((name, after)) = after.split_once(';') else { return AbstractValue::Unknown };
        let code = name.strip_prefix('#').and_then(|digits| match digits.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => digits.parse().ok(),
        });
        match (code.and_then(char::from_u32), name) {
            (Some(char), _) => made.push(char),
            (None, "amp") => made.push('&'),
            (None, "lt") => made.push('<'),
            (None, "gt") => made.push('>'),
            (None, "quot") => made.push('"'),
            (None, "period") => made.push('.'),
            (None, "lowbar") => made.push('_'),
            _ => return AbstractValue::Unknown,
        }
        rest = after;
    }
    made.push_str(rest);
    AbstractValue::text(&made)
}

pub(super) fn unbase32<'a>(value: &AbstractValue<'a>) -> AbstractValue<'a> {
    let bytes: &[u8] = match value {
        AbstractValue::Bytes(bytes) => bytes,
        AbstractValue::Text(text) => text.as_bytes(),
        _ => return AbstractValue::Unknown,
    };
    let (mut buffer, mut bits, mut made) = (0_u64, 0, Vec::new());
    for byte in bytes.iter().take_while(|byte| **byte != b'=') {
        let value = match byte.to_ascii_uppercase() {
            letter @ b'A'..=b'Z' => letter - b'A',
            digit @ b'2'..=b'7' => digit - b'2' + 26,
            _ => return AbstractValue::Unknown,
        };
        buffer = (buffer << 5 | u64::from(value)) & 0xffff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            made.push((buffer >> bits) as u8);
        }
    }
    AbstractValue::bytes(&made)
}

pub(super) fn unquote(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut made = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let digits = text.get(index + 1..index + 3).filter(|_| bytes[index] == b'%');
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                made.push(byte);
                index += 3;
            }
            None => {
                made.push(bytes[index]);
                index += 1;
            }
        }
    }
    String::from_utf8_lossy(&made).into_owned()
}

pub(super) fn from_json<'a>(value: &serde_json::Value, depth: usize) -> AbstractValue<'a> {
    use serde_json::Value;
    match value {
        _ if depth > 4 => AbstractValue::Unknown,
        Value::Null => AbstractValue::Nothing,
        Value::Bool(value) => AbstractValue::Bool(*value),
        Value::Number(number) => {
            number.as_i64().map_or(AbstractValue::Unknown, |value| AbstractValue::Int(value.into()))
        }
        Value::String(text) => AbstractValue::text(text),
        Value::Array(items) => AbstractValue::sequence(items.iter().map(|item| from_json(item, depth + 1)).collect()),
        Value::Object(items) => AbstractValue::dict(
            items.iter().map(|(key, value)| (AbstractValue::text(key), from_json(value, depth + 1))).collect(),
        ),
    }
}
