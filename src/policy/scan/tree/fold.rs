//! Operators, methods and pure functions on constants, as CPython computes them. What would be too long is not made.

use std::rc::Rc;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use num_bigint::{BigInt, Sign};
use num_traits::Num;
use ruff_python_ast::{CmpOp, Operator, UnaryOp};

use super::known::{Known, LONGEST};

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// `left op right`.
pub fn binary<'a>(op: Operator, left: &Known<'a>, right: &Known<'a>) -> Known<'a> {
    use Known::{Bytes, Int, Sequence, Text};
    match (op, left, right) {
        (Operator::Add, Text(a), Text(b)) if a.len() + b.len() <= LONGEST => Known::text(&[&**a, b].concat()),
        (Operator::Add, Bytes(a), Bytes(b)) if a.len() + b.len() <= LONGEST => Known::bytes(&[&**a, b].concat()),
        (Operator::Add, Sequence(a), Sequence(b)) => Known::sequence(a.iter().chain(b.iter()).cloned().collect()),
        (Operator::Mult, value, Int(times)) | (Operator::Mult, Int(times), value) if value.as_int().is_none() => {
            repeat(value, *times)
        }
        (Operator::Mod, Text(template), value) => percent(template, value),
        (Operator::Div, Known::Instance(path), _) if path.starts_with("pathlib.") => left.clone(),
        (Operator::BitOr, Known::Dict(a), Known::Dict(b)) => Known::dict(a.iter().chain(b.iter()).cloned().collect()),
        _ => match (left.as_int(), right.as_int()) {
            (Some(a), Some(b)) => integer(op, a, b).map_or(Known::Unknown, Int),
            _ => Known::Unknown,
        },
    }
}

fn repeat<'a>(value: &Known<'a>, times: i128) -> Known<'a> {
    let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
    let fits = |length: usize| length.saturating_mul(times) <= LONGEST;
    match value {
        Known::Text(text) if fits(text.len()) => Known::text(&text.repeat(times)),
        Known::Bytes(bytes) if fits(bytes.len()) => Known::bytes(&bytes.repeat(times)),
        Known::Sequence(items) if fits(items.len() * 16) => {
            Known::sequence(std::iter::repeat_n(items.iter().cloned(), times).flatten().collect())
        }
        _ => Known::Unknown,
    }
}

fn integer(op: Operator, a: i128, b: i128) -> Option<i128> {
    match op {
        Operator::Add => a.checked_add(b),
        Operator::Sub => a.checked_sub(b),
        Operator::Mult => a.checked_mul(b),
        Operator::FloorDiv => (b != 0).then(|| a.checked_div_euclid(b)).flatten().filter(|_| b > 0),
        Operator::Mod => (b > 0).then(|| a.rem_euclid(b)),
        Operator::Pow => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
        Operator::LShift => u32::try_from(b).ok().filter(|b| *b < 64).and_then(|b| a.checked_mul(1 << b)),
        Operator::RShift => u32::try_from(b).ok().map(|b| a >> b.min(127)),
        Operator::BitAnd => Some(a & b),
        Operator::BitOr => Some(a | b),
        Operator::BitXor => Some(a ^ b),
        Operator::Div | Operator::MatMult => None,
    }
}

/// `op value`.
pub fn unary<'a>(op: UnaryOp, value: &Known<'a>) -> Known<'a> {
    match (op, value.as_int()) {
        (UnaryOp::Not, _) => value.truth().map_or(Known::Unknown, |truth| Known::Bool(!truth)),
        (UnaryOp::USub, Some(value)) => value.checked_neg().map_or(Known::Unknown, Known::Int),
        (UnaryOp::UAdd, Some(value)) => Known::Int(value),
        (UnaryOp::Invert, Some(value)) => Known::Int(!value),
        _ => Known::Unknown,
    }
}

/// `left op right`, as a truth.
pub fn compare<'a>(op: CmpOp, left: &Known<'a>, right: &Known<'a>) -> Known<'a> {
    let constants = |a: &Known, b: &Known| {
        let constant = |value: &Known| {
            matches!(value, Known::Int(_) | Known::Text(_) | Known::Bytes(_) | Known::Bool(_) | Known::Nothing)
        };
        constant(a) && constant(b)
    };
    let truth = match op {
        CmpOp::Eq | CmpOp::Is if constants(left, right) => left.same(right),
        CmpOp::NotEq | CmpOp::IsNot if constants(left, right) => !left.same(right),
        CmpOp::In | CmpOp::NotIn => {
            let found = match (left, right) {
                (Known::Text(part), Known::Text(whole)) => whole.contains(&**part),
                (part, whole) => match whole.items() {
                    Some(items) if items.iter().all(|item| constants(part, item)) => {
                        items.iter().any(|item| item.same(part))
                    }
                    _ => return Known::Unknown,
                },
            };
            found == (op == CmpOp::In)
        }
        _ => match (left.as_int(), right.as_int()) {
            (Some(a), Some(b)) => match op {
                CmpOp::Lt => a < b,
                CmpOp::LtE => a <= b,
                CmpOp::Gt => a > b,
                CmpOp::GtE => a >= b,
                _ => return Known::Unknown,
            },
            _ => return Known::Unknown,
        },
    };
    Known::Bool(truth)
}

/// `value[index]`.
pub fn item<'a>(value: &Known<'a>, index: &Known<'a>) -> Known<'a> {
    match value {
        Known::Dict(items) => {
            // The last one stored counts; where the key is not known, any.
            let found = items.iter().rev().find(|(key, _)| key.same(index)).map(|(_, value)| value.clone());
            match found {
                Some(value) => value,
                None if index.is_unknown() => {
                    items.iter().map(|(_, value)| value.clone()).fold(Known::Unknown, Known::or)
                }
                None => Known::Unknown,
            }
        }
        Known::Sequence(items) => match index.as_int() {
            Some(index) => at(index, items.len()).map_or(Known::Unknown, |index| items[index].clone()),
            None if index.is_unknown() => items.iter().take(16).cloned().fold(Known::Unknown, Known::or),
            None => Known::Unknown,
        },
        Known::Bytes(bytes) => index
            .as_int()
            .and_then(|index| at(index, bytes.len()))
            .map_or(Known::Unknown, |index| Known::Int(i128::from(bytes[index]))),
        Known::Text(text) => {
            let Some(index) = index.as_int() else { return Known::Unknown };
            // Most are ASCII, and need not be counted.
            let length = if text.is_ascii() { text.len() } else { text.chars().count() };
            at(index, length)
                .and_then(|index| {
                    if text.is_ascii() {
                        text.get(index..=index).map(Known::text)
                    } else {
                        text.chars().nth(index).map(|char| Known::text(char.encode_utf8(&mut [0; 4])))
                    }
                })
                .unwrap_or_default()
        }
        _ => Known::Unknown,
    }
}

fn at(index: i128, length: usize) -> Option<usize> {
    let index = if index < 0 { index + length as i128 } else { index };
    usize::try_from(index).ok().filter(|index| *index < length)
}

/// `value[lower:upper:step]`.
pub fn slice<'a>(value: &Known<'a>, lower: Option<i128>, upper: Option<i128>, step: Option<i128>) -> Known<'a> {
    match value {
        Known::Text(text) => {
            let chars: Vec<char> = text.chars().collect();
            Known::text(&sliced(&chars, lower, upper, step).into_iter().collect::<String>())
        }
        Known::Bytes(bytes) => Known::bytes(&sliced(bytes, lower, upper, step)),
        Known::Sequence(items) => Known::sequence(sliced(items, lower, upper, step)),
        _ => Known::Unknown,
    }
}

fn sliced<T: Clone>(items: &[T], lower: Option<i128>, upper: Option<i128>, step: Option<i128>) -> Vec<T> {
    let length = items.len() as i128;
    let step = step.unwrap_or(1);
    let (least, most) = if step < 0 { (-1, length - 1) } else { (0, length) };
    let bound = |bound: Option<i128>, default: i128| match bound {
        None => default,
        Some(bound) => (if bound < 0 { bound.saturating_add(length) } else { bound }).clamp(least, most),
    };
    let (start, stop) = if step < 0 { (most, least) } else { (least, most) };
    let (mut index, stop) = (bound(lower, start), bound(upper, stop));
    let mut taken = Vec::new();
    while step != 0 && (if step > 0 { index < stop } else { index > stop }) {
        taken.extend(usize::try_from(index).ok().and_then(|index| items.get(index)).cloned());
        index = index.saturating_add(step);
    }
    taken
}

/// `str(value)`.
pub fn shown(value: &Known) -> Option<String> {
    match value {
        Known::Text(text) => Some(text.to_string()),
        Known::Int(value) => Some(value.to_string()),
        Known::Large(value) => Some(value.to_string()),
        Known::Bool(value) => Some(if *value { "True" } else { "False" }.to_owned()),
        Known::Nothing => Some("None".to_owned()),
        _ => None,
    }
}

/// `format(value, spec)`, for the few formats that build text.
pub fn formatted(value: &Known, spec: &str) -> Option<String> {
    match (spec, value) {
        ("" | "s" | "d", value) => shown(value),
        ("c", Known::Int(value)) => u32::try_from(*value).ok().and_then(char::from_u32).map(String::from),
        ("x", Known::Int(value)) => Some(format!("{value:x}")),
        ("x", Known::Large(value)) => Some(value.to_str_radix(16)),
        ("02x", Known::Int(value)) => Some(format!("{value:02x}")),
        _ => None,
    }
}

/// `template % value`.
fn percent<'a>(template: &str, value: &Known<'a>) -> Known<'a> {
    let mut values = match value {
        Known::Sequence(items) => items.to_vec(),
        one => vec![one.clone()],
    }
    .into_iter();
    let mut text = String::new();
    let mut chars = template.chars();
    while let Some(char) = chars.next() {
        if char != '%' {
            text.push(char);
            continue;
        }
        let made = match chars.next() {
            Some('%') => Some("%".to_owned()),
            Some('s' | 'd') => values.next().and_then(|value| shown(&value)),
            Some(spec @ ('c' | 'x')) => {
                let value = values.next();
                value.and_then(|value| match value {
                    Known::Text(text) => Some(text.to_string()),
                    value => formatted(&value, &spec.to_string()),
                })
            }
            _ => None,
        };
        match made {
            Some(made) if text.len() + made.len() <= LONGEST => text.push_str(&made),
            _ => return Known::Unknown,
        }
    }
    Known::text(&text)
}

/// `template.format(*args, **keywords)`, with plain names and numbers in its braces.
fn format<'a>(template: &str, args: &[Known<'a>], keywords: &[(&str, Known<'a>)]) -> Known<'a> {
    let mut text = String::new();
    let mut next = 0;
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if rest.starts_with(brace) {
            text.push_str(brace);
            rest = &rest[1..];
            continue;
        }
        let Some((field, after)) = rest.split_once('}').filter(|_| brace == "{") else { return Known::Unknown };
        rest = after;
        let (field, spec) = field.split_once(':').unwrap_or((field, ""));
        let field = field.strip_suffix("!s").unwrap_or(field);
        let value = if field.is_empty() {
            next += 1;
            args.get(next - 1)
        } else if let Ok(index) = field.parse::<usize>() {
            args.get(index)
        } else {
            keywords.iter().find(|(name, _)| *name == field).map(|(_, value)| value)
        };
        match value.and_then(|value| formatted(value, spec)) {
            Some(made) if text.len() + made.len() <= LONGEST => text.push_str(&made),
            _ => return Known::Unknown,
        }
    }
    text.push_str(rest);
    Known::text(&text)
}

/// `value.name(*args, **keywords)` of a constant.
pub fn method<'a>(value: &Known<'a>, name: &str, args: &[Known<'a>], keywords: &[(&str, Known<'a>)]) -> Known<'a> {
    match value {
        Known::Text(text) => of_text(text, name, args, keywords).unwrap_or_default(),
        Known::Bytes(bytes) => of_bytes(bytes, name, args).unwrap_or_default(),
        Known::Int(_) | Known::Large(_) if name == "to_bytes" => to_bytes(value, args, keywords),
        Known::Dict(items) => match (name, args) {
            ("get" | "pop" | "setdefault" | "__getitem__", [key, rest @ ..]) => {
                let found = item(value, key);
                if found.is_unknown() { rest.first().cloned().unwrap_or_default() } else { found }
            }
            ("values", []) => Known::sequence(items.iter().map(|(_, value)| value.clone()).collect()),
            ("keys", []) => Known::sequence(items.iter().map(|(key, _)| key.clone()).collect()),
            ("items", []) => Known::sequence(
                items.iter().map(|(key, value)| Known::sequence(vec![key.clone(), value.clone()])).collect(),
            ),
            ("copy", []) => value.clone(),
            _ => Known::Unknown,
        },
        Known::Sequence(items) => match (name, args) {
            ("pop" | "__getitem__", [index]) => item(value, index),
            ("pop", []) => items.last().cloned().unwrap_or_default(),
            ("copy" | "__iter__", []) => value.clone(),
            _ => Known::Unknown,
        },
        _ => Known::Unknown,
    }
}

fn of_text<'a>(text: &str, name: &str, args: &[Known<'a>], keywords: &[(&str, Known<'a>)]) -> Option<Known<'a>> {
    let arg = |index: usize| args.get(index).and_then(Known::as_text);
    let chars = |index: usize| arg(index).map(|set| set.chars().collect::<Vec<_>>());
    Some(match (name, args.len()) {
        ("join", 1) => {
            let mut joined = String::new();
            for (index, item) in args[0].items()?.iter().enumerate() {
                if index > 0 {
                    joined.push_str(text);
                }
                joined.push_str(item.as_text()?);
                if joined.len() > LONGEST {
                    return None;
                }
            }
            Known::text(&joined)
        }
        ("replace", 2) => {
            let (from, to) = (arg(0)?, arg(1)?);
            // Each character can become as long as `to`.
            if (text.len() + 1) * (to.len() + 1) > 16 * LONGEST {
                return None;
            }
            Known::text(&text.replace(from, to))
        }
        ("lower" | "casefold", 0) => Known::text(&text.to_lowercase()),
        ("upper", 0) => Known::text(&text.to_uppercase()),
        ("swapcase", 0) => Known::text(
            &text
                .chars()
                .flat_map(|char| -> Vec<char> {
                    if char.is_lowercase() { char.to_uppercase().collect() } else { char.to_lowercase().collect() }
                })
                .collect::<String>(),
        ),
        ("capitalize" | "title", 0) => {
            let mut chars = text.chars();
            let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
            Known::text(&(first + &chars.as_str().to_lowercase()))
        }
        ("strip", 0) => Known::text(text.trim()),
        ("lstrip", 0) => Known::text(text.trim_start()),
        ("rstrip", 0) => Known::text(text.trim_end()),
        ("strip", 1) => Known::text(text.trim_matches(&*chars(0)?)),
        ("lstrip", 1) => Known::text(text.trim_start_matches(&*chars(0)?)),
        ("rstrip", 1) => Known::text(text.trim_end_matches(&*chars(0)?)),
        ("removeprefix", 1) => Known::text(text.strip_prefix(arg(0)?).unwrap_or(text)),
        ("removesuffix", 1) => Known::text(text.strip_suffix(arg(0)?).unwrap_or(text)),
        ("split" | "rsplit", 0) => Known::sequence(text.split_whitespace().map(Known::text).collect()),
        ("split" | "rsplit", 1) if !arg(0)?.is_empty() => {
            Known::sequence(text.split(arg(0)?).map(Known::text).collect())
        }
        ("partition", 1) => {
            let (before, after) = text.split_once(arg(0)?)?;
            Known::sequence(vec![Known::text(before), args[0].clone(), Known::text(after)])
        }
        ("splitlines", 0) => Known::sequence(text.lines().map(Known::text).collect()),
        ("format", _) => format(text, args, keywords),
        ("format_map", 1) => {
            let Known::Dict(items) = &args[0] else { return None };
            let named: Vec<(&str, Known)> =
                items.iter().filter_map(|(key, value)| Some((key.as_text()?, value.clone()))).collect();
            format(text, &[], &named)
        }
        ("encode", 0..=2) => match arg(0) {
            Some(codec) if codec.contains("rot") => return None,
            _ => Known::bytes(text.as_bytes()),
        },
        ("translate", 1) => {
            let table = &args[0];
            let mut made = String::new();
            for char in text.chars() {
                match item(table, &Known::Int(char as i128)) {
                    Known::Int(code) => made.push(u32::try_from(code).ok().and_then(char::from_u32)?),
                    Known::Text(text) => made.push_str(&text),
                    Known::Nothing => {}
                    _ => made.push(char),
                }
            }
            Known::text(&made)
        }
        ("find" | "index", 1) => Known::Int(text.find(arg(0)?).map(|at| text[..at].chars().count() as i128)?),
        ("startswith", 1) => Known::Bool(text.starts_with(arg(0)?)),
        ("endswith", 1) => Known::Bool(text.ends_with(arg(0)?)),
        ("__add__", 1) => binary(Operator::Add, &Known::text(text), &args[0]),
        ("__mod__", 1) => percent(text, &args[0]),
        ("__getitem__", 1) => item(&Known::text(text), &args[0]),
        ("__str__" | "__iter__" | "expandtabs", 0) => Known::text(text),
        ("zfill" | "ljust" | "rjust" | "center", _) => return None,
        _ => return None,
    })
}

fn of_bytes<'a>(bytes: &[u8], name: &str, args: &[Known<'a>]) -> Option<Known<'a>> {
    Some(match (name, args) {
        ("decode", []) => Known::text(&String::from_utf8_lossy(bytes)),
        ("decode", [codec, ..]) => decode(&Known::bytes(bytes), codec.as_text().unwrap_or("utf-8")),
        ("hex", []) => Known::text(&bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        ("replace", [Known::Bytes(from), Known::Bytes(to)]) if from.len() == 1 && to.len() <= 1 => Known::bytes(
            &bytes
                .iter()
                .filter_map(|byte| if *byte == from[0] { to.first().copied() } else { Some(*byte) })
                .collect::<Vec<u8>>(),
        ),
        ("join", [items]) => {
            let mut joined = Vec::new();
            for (index, item) in items.items()?.iter().enumerate() {
                let Known::Bytes(item) = item else { return None };
                if index > 0 {
                    joined.extend_from_slice(bytes);
                }
                joined.extend_from_slice(item);
                if joined.len() > LONGEST {
                    return None;
                }
            }
            Known::bytes(&joined)
        }
        ("translate", [Known::Bytes(table)]) if table.len() == 256 => {
            Known::bytes(&bytes.iter().map(|byte| table[usize::from(*byte)]).collect::<Vec<u8>>())
        }
        ("lower", []) => Known::bytes(&bytes.to_ascii_lowercase()),
        ("upper", []) => Known::bytes(&bytes.to_ascii_uppercase()),
        ("strip", []) => Known::bytes(bytes.trim_ascii()),
        _ => return None,
    })
}

fn to_bytes<'a>(value: &Known<'a>, args: &[Known<'a>], keywords: &[(&str, Known<'a>)]) -> Known<'a> {
    let argument = |index: usize, name: &str| {
        args.get(index).or_else(|| keywords.iter().find(|(known, _)| *known == name).map(|(_, value)| value))
    };
    let length = argument(0, "length").map_or(Some(1), |length| length.as_int().and_then(|n| usize::try_from(n).ok()));
    let big = argument(1, "byteorder").and_then(Known::as_text).is_none_or(|order| order == "big");
    let value = match value {
        Known::Int(value) => BigInt::from(*value),
        Known::Large(value) => (**value).clone(),
        _ => return Known::Unknown,
    };
    let (sign, mut bytes) = value.to_bytes_le();
    match length {
        Some(length) if sign != Sign::Minus && length <= LONGEST && bytes.len() <= length.max(1) => {
            bytes.resize(length, 0);
        }
        // The length may be computed; the bytes are what they are.
        None => {}
        Some(_) => return Known::Unknown,
    }
    if big {
        bytes.reverse();
    }
    Known::bytes(&bytes)
}

/// The text or bytes that `value` stands for in an encoding.
fn decode<'a>(value: &Known<'a>, codec: &str) -> Known<'a> {
    let bytes: &[u8] = match value {
        Known::Bytes(bytes) => bytes,
        Known::Text(text) => text.as_bytes(),
        _ => return Known::Unknown,
    };
    let codec = codec.to_ascii_lowercase().replace(['-', ' '], "_");
    match codec.as_str() {
        "rot13" | "rot_13" => Known::text(&rot13(&String::from_utf8_lossy(bytes))),
        "base64" | "base64_codec" | "base_64" => unbase64(value, &STANDARD),
        "hex" | "hex_codec" => unhex(value),
        "latin_1" | "latin1" | "iso_8859_1" => {
            Known::text(&bytes.iter().map(|byte| char::from(*byte)).collect::<String>())
        }
        "utf_16" | "utf_16_le" | "utf_16le" => Known::text(&utf16(bytes, u16::from_le_bytes)),
        "utf_16_be" | "utf_16be" => Known::text(&utf16(bytes, u16::from_be_bytes)),
        "unicode_escape" | "raw_unicode_escape" => unescape(&String::from_utf8_lossy(bytes)),
        "zlib" | "zip" | "bz2" | "utf_7" => Known::Unknown,
        _ => Known::text(&String::from_utf8_lossy(bytes)),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|char| char.unwrap_or('\u{fffd}')).filter(|char| *char != '\u{feff}').collect()
}

fn rot13(text: &str) -> String {
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
fn unescape<'a>(text: &str) -> Known<'a> {
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
        let Some((char, length)) = found else { return Known::Unknown };
        made.push(char);
        rest = &rest[length..];
    }
    made.push_str(rest);
    Known::text(&made)
}

fn unhex<'a>(value: &Known<'a>) -> Known<'a> {
    let text = match value {
        Known::Text(text) => text.to_string(),
        Known::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => return Known::Unknown,
    };
    let digits: Vec<u32> =
        text.chars().filter(|char| !char.is_whitespace()).filter_map(|char| char.to_digit(16)).collect();
    if digits.len() % 2 == 1 {
        return Known::Unknown;
    }
    Known::bytes(&digits.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect::<Vec<u8>>())
}

fn unbase64<'a>(value: &Known<'a>, engine: &GeneralPurpose) -> Known<'a> {
    let bytes: &[u8] = match value {
        Known::Bytes(bytes) => bytes,
        Known::Text(text) => text.as_bytes(),
        _ => return Known::Unknown,
    };
    let compact: Vec<u8> = bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    engine.decode(compact).map_or(Known::Unknown, |bytes| Known::bytes(&bytes))
}

/// A function of the standard library that only computes. None when it is no such.
pub fn function<'a>(name: &str, args: &[Known<'a>], keywords: &[(&str, Known<'a>)]) -> Option<Known<'a>> {
    let first = args.first();
    Some(match (name, first?) {
        ("builtins.chr", value) => {
            let char = value.as_int().and_then(|code| u32::try_from(code).ok()).and_then(char::from_u32);
            char.map_or(Known::Unknown, |char| Known::text(char.encode_utf8(&mut [0; 4])))
        }
        ("builtins.ord", Known::Text(text)) => {
            let mut chars = text.chars();
            match (chars.next(), chars.next()) {
                (Some(char), None) => Known::Int(char as i128),
                _ => Known::Unknown,
            }
        }
        ("builtins.ord", Known::Bytes(bytes)) if bytes.len() == 1 => Known::Int(i128::from(bytes[0])),
        ("builtins.len", value) => value.items().map_or(Known::Unknown, |items| Known::Int(items.len() as i128)),
        ("builtins.str", Known::Bytes(_)) if args.len() > 1 || !keywords.is_empty() => {
            decode(first?, args.get(1).and_then(Known::as_text).unwrap_or("utf-8"))
        }
        ("builtins.str", value) => shown(value).map_or(Known::Unknown, |text| Known::text(&text)),
        ("builtins.repr" | "builtins.ascii", Known::Int(value)) => Known::text(&value.to_string()),
        ("builtins.format", value) => formatted(value, args.get(1).map_or(Some(""), Known::as_text)?)
            .map_or(Known::Unknown, |text| Known::text(&text)),
        ("builtins.hex", Known::Int(value)) if *value >= 0 => Known::text(&format!("{value:#x}")),
        ("builtins.hex", Known::Large(value)) => Known::text(&format!("0x{}", value.to_str_radix(16))),
        ("builtins.abs", Known::Int(value)) => value.checked_abs().map_or(Known::Unknown, Known::Int),
        ("builtins.int", Known::Text(text)) => {
            let base = args.get(1).or(keywords.first().map(|(_, value)| value)).and_then(Known::as_int).unwrap_or(10);
            number(text, base).unwrap_or_default()
        }
        ("builtins.int", value) => value.as_int().map_or(Known::Unknown, Known::Int),
        ("builtins.bool", value) => value.truth().map_or(Known::Unknown, Known::Bool),
        ("builtins.reversed", value) => {
            let mut items = value.items()?;
            items.reverse();
            Known::sequence(items)
        }
        ("builtins.list" | "builtins.tuple" | "builtins.iter" | "builtins.set" | "collections.deque", value) => {
            value.items().map_or(Known::Unknown, Known::sequence)
        }
        ("builtins.next", value) => value.items().and_then(|items| items.into_iter().next()).unwrap_or_default(),
        ("builtins.bytes" | "builtins.bytearray" | "builtins.memoryview", value) => match value {
            Known::Bytes(_) => value.clone(),
            Known::Text(text) => Known::bytes(text.as_bytes()),
            Known::Sequence(items) => {
                let bytes: Option<Vec<u8>> =
                    items.iter().map(|item| item.as_int().and_then(|byte| u8::try_from(byte).ok())).collect();
                bytes.map_or(Known::Unknown, |bytes| Known::bytes(&bytes))
            }
            _ => Known::Unknown,
        },
        (
            "builtins.bytes.fromhex" | "builtins.bytearray.fromhex" | "binascii.unhexlify" | "binascii.a2b_hex",
            value,
        ) => unhex(value),
        ("base64.b16decode", value) => unhex(value),
        ("base64.b64decode" | "base64.standard_b64decode" | "base64.decodebytes" | "binascii.a2b_base64", value) => {
            unbase64(value, &STANDARD)
        }
        ("base64.urlsafe_b64decode", value) => unbase64(value, &URL_SAFE),
        ("base64.b32decode", value) => unbase32(value),
        ("codecs.decode" | "codecs.encode", value) => {
            let codec = args.get(1).and_then(Known::as_text).unwrap_or("utf-8");
            if name == "codecs.encode" && !codec.contains("rot") {
                return Some(Known::Unknown);
            }
            decode(value, codec)
        }
        ("urllib.parse.unquote" | "urllib.parse.unquote_plus", Known::Text(text)) => Known::text(&unquote(text)),
        ("html.unescape", Known::Text(text)) if !text.contains('&') => Known::text(text),
        ("json.loads", Known::Text(text)) => match serde_json::from_str::<serde_json::Value>(text) {
            Ok(value) => from_json(&value, 0),
            Err(_) => Known::Unknown,
        },
        ("builtins.str.join", separator) => method(separator, "join", &args[1..], &[]),
        ("builtins.str.maketrans", Known::Text(from)) => {
            let to = args.get(1).and_then(Known::as_text)?;
            let code = |char: char| Known::Int(char as i128);
            let mut items: Vec<_> = from.chars().zip(to.chars()).map(|(from, to)| (code(from), code(to))).collect();
            let gone = args.get(2).and_then(Known::as_text).unwrap_or("");
            items.extend(gone.chars().map(|char| (code(char), Known::Nothing)));
            Known::dict(items)
        }
        ("builtins.str.maketrans", Known::Dict(items)) => Known::dict(
            items
                .iter()
                .map(|(key, value)| match key.as_text().and_then(|text| text.chars().next()) {
                    Some(char) => (Known::Int(char as i128), value.clone()),
                    None => (key.clone(), value.clone()),
                })
                .collect(),
        ),
        ("builtins.range", _) => {
            let bounds: Option<Vec<i128>> = args.iter().map(Known::as_int).collect();
            let (start, stop, step) = match bounds?.as_slice() {
                [stop] => (0, *stop, 1),
                [start, stop] => (*start, *stop, 1),
                [start, stop, step] if *step != 0 => (*start, *stop, *step),
                _ => return Some(Known::Unknown),
            };
            const LONGEST_RANGE: usize = 512;
            let numbers = std::iter::successors(Some(start), |n| n.checked_add(step))
                .take_while(|n| if step > 0 { *n < stop } else { *n > stop })
                .take(LONGEST_RANGE + 1)
                .map(Known::Int)
                .collect::<Vec<_>>();
            if numbers.len() > LONGEST_RANGE { Known::Unknown } else { Known::sequence(numbers) }
        }
        ("builtins.zip", _) => {
            let columns: Option<Vec<Vec<Known>>> = args.iter().map(Known::items).collect();
            let columns = columns?;
            let rows = columns.iter().map(Vec::len).min().unwrap_or(0);
            Known::sequence(
                (0..rows).map(|row| Known::sequence(columns.iter().map(|c| c[row].clone()).collect())).collect(),
            )
        }
        ("builtins.enumerate", value) => {
            let start = args.get(1).and_then(Known::as_int).unwrap_or(0);
            let items = value.items()?.into_iter().enumerate();
            Known::sequence(items.map(|(n, item)| Known::sequence(vec![Known::Int(start + n as i128), item])).collect())
        }
        ("builtins.sorted", value) if keywords.is_empty() => {
            let mut items = value.items()?;
            if items.iter().all(|item| item.as_int().is_some()) {
                items.sort_by_key(Known::as_int);
            } else if items.iter().all(|item| item.as_text().is_some()) {
                items.sort_by(|a, b| a.as_text().cmp(&b.as_text()));
            } else {
                return Some(Known::Unknown);
            }
            Known::sequence(items)
        }
        ("builtins.sum", value) => {
            let start = args.get(1).cloned().unwrap_or(Known::Int(0));
            value.items()?.iter().fold(start, |sum, item| binary(Operator::Add, &sum, item))
        }
        ("builtins.dict", value) => match value {
            Known::Dict(_) => value.clone(),
            Known::Sequence(items) => {
                let pairs: Option<Vec<(Known, Known)>> = items
                    .iter()
                    .map(|item| match item.items()?.as_slice() {
                        [key, value] => Some((key.clone(), value.clone())),
                        _ => None,
                    })
                    .collect();
                pairs.map_or(Known::Unknown, Known::dict)
            }
            _ => Known::Unknown,
        },
        ("builtins.int.to_bytes", value) => to_bytes(value, &args[1..], keywords),
        ("operator.add" | "operator.concat", left) => binary(Operator::Add, left, args.get(1)?),
        ("operator.xor", left) => binary(Operator::BitXor, left, args.get(1)?),
        ("operator.getitem", left) => item(left, args.get(1)?),
        ("itertools.chain", _) => {
            let items: Option<Vec<Vec<Known>>> = args.iter().map(Known::items).collect();
            Known::sequence(items?.concat())
        }
        ("os.path.join", Known::Text(_)) => {
            let parts: Option<Vec<&str>> = args.iter().map(Known::as_text).collect();
            parts.map_or(Known::Unknown, |parts| {
                let from = parts.iter().rposition(|part| part.starts_with('/')).unwrap_or(0);
                Known::text(&parts[from..].iter().map(|part| part.trim_end_matches('/')).collect::<Vec<_>>().join("/"))
            })
        }
        ("textwrap.dedent" | "inspect.cleandoc", Known::Text(text)) => Known::text(&dedent(text)),
        ("bytes.decode" | "builtins.bytes.decode", value) => method(value, "decode", &args[1..], keywords),
        ("copy.copy" | "copy.deepcopy", value) => value.clone(),
        _ => return None,
    })
}

/// As `textwrap.dedent`, for spaces.
fn dedent(text: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let least = text.lines().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    text.lines().map(|line| line.get(least..).unwrap_or("")).collect::<Vec<_>>().join("\n")
}

fn number<'a>(text: &str, base: i128) -> Option<Known<'a>> {
    let text = text.trim().replace('_', "").to_ascii_lowercase();
    let base = u32::try_from(base).ok().filter(|base| *base == 0 || (2..=36).contains(base))?;
    let prefixed = [("0x", 16), ("0o", 8), ("0b", 2)].into_iter().find_map(|(prefix, of)| {
        text.strip_prefix(prefix).filter(|_| base == 0 || base == of).map(|digits| (digits.to_owned(), of))
    });
    let (digits, base) = prefixed.unwrap_or((text, if base == 0 { 10 } else { base }));
    if digits.len() > 4096 {
        return None;
    }
    if let Ok(value) = i128::from_str_radix(&digits, base) {
        return Some(Known::Int(value));
    }
    BigInt::from_str_radix(&digits, base).ok().map(|value| Known::Large(Rc::new(value)))
}

fn unbase32<'a>(value: &Known<'a>) -> Known<'a> {
    let bytes: &[u8] = match value {
        Known::Bytes(bytes) => bytes,
        Known::Text(text) => text.as_bytes(),
        _ => return Known::Unknown,
    };
    let (mut buffer, mut bits, mut made) = (0_u64, 0, Vec::new());
    for byte in bytes.iter().take_while(|byte| **byte != b'=') {
        let value = match byte.to_ascii_uppercase() {
            letter @ b'A'..=b'Z' => letter - b'A',
            digit @ b'2'..=b'7' => digit - b'2' + 26,
            _ => return Known::Unknown,
        };
        buffer = (buffer << 5 | u64::from(value)) & 0xffff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            made.push((buffer >> bits) as u8);
        }
    }
    Known::bytes(&made)
}

fn unquote(text: &str) -> String {
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

fn from_json<'a>(value: &serde_json::Value, depth: usize) -> Known<'a> {
    use serde_json::Value;
    match value {
        _ if depth > 4 => Known::Unknown,
        Value::Null => Known::Nothing,
        Value::Bool(value) => Known::Bool(*value),
        Value::Number(number) => number.as_i64().map_or(Known::Unknown, |value| Known::Int(value.into())),
        Value::String(text) => Known::text(text),
        Value::Array(items) => Known::sequence(items.iter().map(|item| from_json(item, depth + 1)).collect()),
        Value::Object(items) => {
            Known::dict(items.iter().map(|(key, value)| (Known::text(key), from_json(value, depth + 1))).collect())
        }
    }
}
