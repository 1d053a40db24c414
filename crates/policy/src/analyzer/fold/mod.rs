//! Operators, methods and pure functions on constants, as CPython computes them. What would be too long is not made.

mod encodings;
mod functions;
mod methods;

use ruff_python_ast::{CmpOp, Operator, UnaryOp};

pub(super) use functions::function;
pub(super) use methods::method;

use super::abstract_value::{AbstractValue, MAX_LENGTH};
use methods::percent;

/// Evaluates `left op right`.
pub(super) fn binary<'a>(op: Operator, left: &AbstractValue<'a>, right: &AbstractValue<'a>) -> AbstractValue<'a> {
    use AbstractValue::{Bytes, Int, Sequence, Text};
    match (op, left, right) {
        (Operator::Add, Text(a), Text(b)) if a.len() + b.len() <= MAX_LENGTH => {
            AbstractValue::text(&[&**a, b].concat())
        }
        (Operator::Add, Bytes(a), Bytes(b)) if a.len() + b.len() <= MAX_LENGTH => {
            AbstractValue::bytes(&[&**a, b].concat())
        }
        (Operator::Add, Sequence(a), Sequence(b)) => {
            AbstractValue::sequence(a.iter().chain(b.iter()).cloned().collect())
        }
        (Operator::Mult, value, Int(times)) | (Operator::Mult, Int(times), value) if value.as_int().is_none() => {
            repeat(value, *times)
        }
        (Operator::Mod, Text(template), value) => percent(template, value),
        (Operator::Div, AbstractValue::Instance(path), _) if path.starts_with("pathlib.") => left.clone(),
        (Operator::BitOr, AbstractValue::Dict(a), AbstractValue::Dict(b)) => {
            AbstractValue::dict(a.iter().chain(b.iter()).cloned().collect())
        }
        _ => match (left.as_int(), right.as_int()) {
            (Some(a), Some(b)) => integer(op, a, b).map_or(AbstractValue::Unknown, Int),
            _ => AbstractValue::Unknown,
        },
    }
}

fn repeat<'a>(value: &AbstractValue<'a>, times: i128) -> AbstractValue<'a> {
    let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
    let fits = |length: usize| length.saturating_mul(times) <= MAX_LENGTH;
    match value {
        AbstractValue::Text(text) if fits(text.len()) => AbstractValue::text(&text.repeat(times)),
        AbstractValue::Bytes(bytes) if fits(bytes.len()) => AbstractValue::bytes(&bytes.repeat(times)),
        AbstractValue::Sequence(items) if fits(items.len() * 16) => {
            AbstractValue::sequence(std::iter::repeat_n(items.iter().cloned(), times).flatten().collect())
        }
        _ => AbstractValue::Unknown,
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
pub(super) fn unary<'a>(op: UnaryOp, value: &AbstractValue<'a>) -> AbstractValue<'a> {
    match (op, value.as_int()) {
        (UnaryOp::Not, _) => value.truth().map_or(AbstractValue::Unknown, |truth| AbstractValue::Bool(!truth)),
        (UnaryOp::USub, Some(value)) => value.checked_neg().map_or(AbstractValue::Unknown, AbstractValue::Int),
        (UnaryOp::UAdd, Some(value)) => AbstractValue::Int(value),
        (UnaryOp::Invert, Some(value)) => AbstractValue::Int(!value),
        _ => AbstractValue::Unknown,
    }
}

/// `left op right`, as a truth.
pub(super) fn compare<'a>(op: CmpOp, left: &AbstractValue<'a>, right: &AbstractValue<'a>) -> AbstractValue<'a> {
    let constants = |a: &AbstractValue, b: &AbstractValue| {
        let constant = |value: &AbstractValue| {
            matches!(
                value,
                AbstractValue::Int(_)
                    | AbstractValue::Text(_)
                    | AbstractValue::Bytes(_)
                    | AbstractValue::Bool(_)
                    | AbstractValue::Nothing
            )
        };
        constant(a) && constant(b)
    };
    let truth = match op {
        CmpOp::Eq | CmpOp::Is if constants(left, right) => left.same(right),
        CmpOp::NotEq | CmpOp::IsNot if constants(left, right) => !left.same(right),
        CmpOp::In | CmpOp::NotIn => {
            let found = match (left, right) {
                (AbstractValue::Text(part), AbstractValue::Text(whole)) => whole.contains(&**part),
                (part, whole) => match whole.items() {
                    Some(items) if items.iter().all(|item| constants(part, item)) => {
                        items.iter().any(|item| item.same(part))
                    }
                    _ => return AbstractValue::Unknown,
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
                _ => return AbstractValue::Unknown,
            },
            _ => return AbstractValue::Unknown,
        },
    };
    AbstractValue::Bool(truth)
}

/// Evaluates the subscript `value[index]`.
pub(super) fn item<'a>(value: &AbstractValue<'a>, index: &AbstractValue<'a>) -> AbstractValue<'a> {
    match value {
        AbstractValue::Dict(items) => {
            // The last one stored counts; where the key is not known, any.
            let found = items.iter().rev().find(|(key, _)| key.same(index)).map(|(_, value)| value.clone());
            match found {
                Some(value) => value,
                None if index.is_unknown() => {
                    items.iter().map(|(_, value)| value.clone()).fold(AbstractValue::Unknown, AbstractValue::or)
                }
                None => AbstractValue::Unknown,
            }
        }
        AbstractValue::Sequence(items) => match index.as_int() {
            Some(index) => at(index, items.len()).map_or(AbstractValue::Unknown, |index| items[index].clone()),
            None if index.is_unknown() => {
                items.iter().take(16).cloned().fold(AbstractValue::Unknown, AbstractValue::or)
            }
            None => AbstractValue::Unknown,
        },
        AbstractValue::Bytes(bytes) => index
            .as_int()
            .and_then(|index| at(index, bytes.len()))
            .map_or(AbstractValue::Unknown, |index| AbstractValue::Int(i128::from(bytes[index]))),
        AbstractValue::Text(text) => {
            let Some(index) = index.as_int() else { return AbstractValue::Unknown };
            // Most are ASCII, and need not be counted.
            let length = if text.is_ascii() { text.len() } else { text.chars().count() };
            at(index, length)
                .and_then(|index| {
                    if text.is_ascii() {
                        text.get(index..=index).map(AbstractValue::text)
                    } else {
                        text.chars().nth(index).map(|char| AbstractValue::text(char.encode_utf8(&mut [0; 4])))
                    }
                })
                .unwrap_or_default()
        }
        _ => AbstractValue::Unknown,
    }
}

fn at(index: i128, length: usize) -> Option<usize> {
    let index = if index < 0 { index + length as i128 } else { index };
    usize::try_from(index).ok().filter(|index| *index < length)
}

/// Evaluates the slice `value[lower:upper:step]`.
pub(super) fn slice<'a>(
    value: &AbstractValue<'a>,
    lower: Option<i128>,
    upper: Option<i128>,
    step: Option<i128>,
) -> AbstractValue<'a> {
    match value {
        AbstractValue::Text(text) => {
            let chars: Vec<char> = text.chars().collect();
            AbstractValue::text(&sliced(&chars, lower, upper, step).into_iter().collect::<String>())
        }
        AbstractValue::Bytes(bytes) => AbstractValue::bytes(&sliced(bytes, lower, upper, step)),
        AbstractValue::Sequence(items) => AbstractValue::sequence(sliced(items, lower, upper, step)),
        _ => AbstractValue::Unknown,
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
pub(super) fn shown(value: &AbstractValue) -> Option<String> {
    match value {
        AbstractValue::Text(text) => Some(text.to_string()),
        AbstractValue::Int(value) => Some(value.to_string()),
        AbstractValue::Large(value) => Some(value.to_string()),
        AbstractValue::Bool(value) => Some(if *value { "True" } else { "False" }.to_owned()),
        AbstractValue::Nothing => Some("None".to_owned()),
        _ => None,
    }
}

/// `format(value, spec)`, for the few formats that build text.
pub(super) fn formatted(value: &AbstractValue, spec: &str) -> Option<String> {
    match (spec, value) {
        ("" | "s" | "d", value) => shown(value),
        ("c", AbstractValue::Int(value)) => u32::try_from(*value).ok().and_then(char::from_u32).map(String::from),
        ("x", AbstractValue::Int(value)) => Some(format!("{value:x}")),
        ("x", AbstractValue::Large(value)) => Some(value.to_str_radix(16)),
        ("02x", AbstractValue::Int(value)) => Some(format!("{value:02x}")),
        _ => None,
    }
}
