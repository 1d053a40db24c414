//! Operators, methods and pure functions on constants, as CPython computes them. What would be too long is not made.

mod encodings;
mod functions;
mod methods;

use ruff_python_ast::{CmpOp, Operator, UnaryOp};

pub use functions::function;
pub use methods::method;

use super::known::{Known, MAX_LENGTH};
use methods::percent;

/// Evaluates `left op right`.
pub fn binary<'a>(op: Operator, left: &Known<'a>, right: &Known<'a>) -> Known<'a> {
    use Known::{Bytes, Int, Sequence, Text};
    match (op, left, right) {
        (Operator::Add, Text(a), Text(b)) if a.len() + b.len() <= MAX_LENGTH => Known::text(&[&**a, b].concat()),
        (Operator::Add, Bytes(a), Bytes(b)) if a.len() + b.len() <= MAX_LENGTH => Known::bytes(&[&**a, b].concat()),
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
    let fits = |length: usize| length.saturating_mul(times) <= MAX_LENGTH;
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

/// Evaluates the unary `op value`.
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

/// Evaluates the subscript `value[index]`.
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

/// Evaluates the slice `value[lower:upper:step]`.
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

/// Evaluates `str(value)`, where the value is known.
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
