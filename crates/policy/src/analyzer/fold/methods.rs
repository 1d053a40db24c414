//! Evaluation of methods of constants.

use num_bigint::{BigInt, Sign};
use ruff_python_ast::Operator;

use super::encodings::decode;
use super::{binary, formatted, item, shown};
use crate::analyzer::abstract_value::{AbstractValue, MAX_LENGTH};

/// Evaluates `template % dict`.
fn percent_of_names<'a>(template: &str, items: &[(AbstractValue<'a>, AbstractValue<'a>)]) -> AbstractValue<'a> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("%(") {
        text.push_str(before);
        let Some((name, after)) = after.split_once(')') else { return AbstractValue::Unknown };
        let value = items.iter().rev().find(|(key, _)| key.as_text() == Some(name)).and_then(|(_, value)| shown(value));
        let (Some(value), Some(after)) = (value, after.strip_prefix(['s', 'd'])) else { return AbstractValue::Unknown };
        text.push_str(&value);
        if text.len() > MAX_LENGTH {
            return AbstractValue::Unknown;
        }
        rest = after;
    }
    text.push_str(rest);
    AbstractValue::text(&text)
}

/// Evaluates `template % value`.
pub(super) fn percent<'a>(template: &str, value: &AbstractValue<'a>) -> AbstractValue<'a> {
    if let AbstractValue::Dict(items) = value {
        return percent_of_names(template, items);
    }
    let mut values = match value {
        AbstractValue::Sequence(items) => items.to_vec(),
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
                    AbstractValue::Text(text) => Some(text.to_string()),
                    value => formatted(&value, &spec.to_string()),
                })
            }
            _ => None,
        };
        match made {
            Some(made) if text.len() + made.len() <= MAX_LENGTH => text.push_str(&made),
            _ => return AbstractValue::Unknown,
        }
    }
    AbstractValue::text(&text)
}

/// `template.format(*args, **keywords)`, with plain names and numbers in its braces.
fn format<'a>(template: &str, args: &[AbstractValue<'a>], keywords: &[(&str, AbstractValue<'a>)]) -> AbstractValue<'a> {
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
        let Some((field, after)) = rest.split_once('}').filter(|_| brace == "{") else { return AbstractValue::Unknown };
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
            Some(made) if text.len() + made.len() <= MAX_LENGTH => text.push_str(&made),
            _ => return AbstractValue::Unknown,
        }
    }
    text.push_str(rest);
    AbstractValue::text(&text)
}

/// `value.name(*args, **keywords)` of a constant.
pub(crate) fn method<'a>(
    value: &AbstractValue<'a>,
    name: &str,
    args: &[AbstractValue<'a>],
    keywords: &[(&str, AbstractValue<'a>)],
) -> AbstractValue<'a> {
    match value {
        AbstractValue::Text(text) => of_text(text, name, args, keywords).unwrap_or_default(),
        AbstractValue::Bytes(bytes) => of_bytes(bytes, name, args).unwrap_or_default(),
        AbstractValue::Int(_) | AbstractValue::Large(_) if name == "to_bytes" => to_bytes(value, args, keywords),
        AbstractValue::Dict(items) => match (name, args) {
            ("get" | "pop" | "setdefault" | "__getitem__", [key, rest @ ..]) => {
                let found = item(value, key);
                if found.is_unknown() { rest.first().cloned().unwrap_or_default() } else { found }
            }
            ("values", []) => AbstractValue::sequence(items.iter().map(|(_, value)| value.clone()).collect()),
            ("keys", []) => AbstractValue::sequence(items.iter().map(|(key, _)| key.clone()).collect()),
            ("items", []) => AbstractValue::sequence(
                items.iter().map(|(key, value)| AbstractValue::sequence(vec![key.clone(), value.clone()])).collect(),
            ),
            ("copy", []) => value.clone(),
            _ => AbstractValue::Unknown,
        },
        AbstractValue::Sequence(items) => match (name, args) {
            ("pop" | "__getitem__", [index]) => item(value, index),
            ("pop", []) => items.last().cloned().unwrap_or_default(),
            ("copy" | "__iter__", []) => value.clone(),
            _ => AbstractValue::Unknown,
        },
        _ => AbstractValue::Unknown,
    }
}

fn of_text<'a>(
    text: &str,
    name: &str,
    args: &[AbstractValue<'a>],
    keywords: &[(&str, AbstractValue<'a>)],
) -> Option<AbstractValue<'a>> {
    let arg = |index: usize| args.get(index).and_then(AbstractValue::as_text);
    let chars = |index: usize| arg(index).map(|set| set.chars().collect::<Vec<_>>());
    Some(match (name, args.len()) {
        ("join", 1) => {
            let mut joined = String::new();
            for (index, item) in args[0].items()?.iter().enumerate() {
                if index > 0 {
                    joined.push_str(text);
                }
                joined.push_str(item.as_text()?);
                if joined.len() > MAX_LENGTH {
                    return None;
                }
            }
            AbstractValue::text(&joined)
        }
        ("replace", 2) => {
            let (from, to) = (arg(0)?, arg(1)?);
            // Each character can become as long as `to`.
            if (text.len() + 1) * (to.len() + 1) > 16 * MAX_LENGTH {
                return None;
            }
            AbstractValue::text(&text.replace(from, to))
        }
        ("lower" | "casefold", 0) => AbstractValue::text(&text.to_lowercase()),
        ("upper", 0) => AbstractValue::text(&text.to_uppercase()),
        ("swapcase", 0) => AbstractValue::text(
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
            AbstractValue::text(&(first + &chars.as_str().to_lowercase()))
        }
        ("strip", 0) => AbstractValue::text(text.trim()),
        ("lstrip", 0) => AbstractValue::text(text.trim_start()),
        ("rstrip", 0) => AbstractValue::text(text.trim_end()),
        ("strip", 1) => AbstractValue::text(text.trim_matches(&*chars(0)?)),
        ("lstrip", 1) => AbstractValue::text(text.trim_start_matches(&*chars(0)?)),
        ("rstrip", 1) => AbstractValue::text(text.trim_end_matches(&*chars(0)?)),
        ("removeprefix", 1) => AbstractValue::text(text.strip_prefix(arg(0)?).unwrap_or(text)),
        ("removesuffix", 1) => AbstractValue::text(text.strip_suffix(arg(0)?).unwrap_or(text)),
        ("split" | "rsplit", 0) => AbstractValue::sequence(text.split_whitespace().map(AbstractValue::text).collect()),
        ("split" | "rsplit", 1) if !arg(0)?.is_empty() => {
            AbstractValue::sequence(text.split(arg(0)?).map(AbstractValue::text).collect())
        }
        ("partition", 1) => {
            let (before, after) = text.split_once(arg(0)?)?;
            AbstractValue::sequence(vec![AbstractValue::text(before), args[0].clone(), AbstractValue::text(after)])
        }
        ("splitlines", 0) => AbstractValue::sequence(text.lines().map(AbstractValue::text).collect()),
        ("format", _) => format(text, args, keywords),
        ("substitute" | "safe_substitute", _) => {
            let named: Vec<(&str, AbstractValue)> = match args {
                [AbstractValue::Dict(items)] => {
                    items.iter().filter_map(|(key, value)| Some((key.as_text()?, value.clone()))).collect()
                }
                _ => keywords.to_vec(),
            };
            let mut made = text.to_owned();
            for (name, value) in named.iter().take(32) {
                let value = shown(value)?;
                if made.len() * (value.len() + 1) > 16 * MAX_LENGTH {
                    return None;
                }
                made = made.replace(&format!("${{{name}}}"), &value).replace(&format!("${name}"), &value);
            }
            AbstractValue::text(&made)
        }
        ("format_map", 1) => {
            let AbstractValue::Dict(items) = &args[0] else { return None };
            let named: Vec<(&str, AbstractValue)> =
                items.iter().filter_map(|(key, value)| Some((key.as_text()?, value.clone()))).collect();
            format(text, &[], &named)
        }
        ("encode", 0..=2) => match arg(0) {
            Some(codec) if codec.contains("rot") => return None,
            _ => AbstractValue::bytes(text.as_bytes()),
        },
        ("translate", 1) => {
            let table = &args[0];
            let mut made = String::new();
            for char in text.chars() {
                match item(table, &AbstractValue::Int(char as i128)) {
                    AbstractValue::Int(code) => made.push(u32::try_from(code).ok().and_then(char::from_u32)?),
                    AbstractValue::Text(text) => made.push_str(&text),
                    AbstractValue::Nothing => {}
                    _ => made.push(char),
                }
            }
            AbstractValue::text(&made)
        }
        ("find" | "index", 1) => AbstractValue::Int(text.find(arg(0)?).map(|at| text[..at].chars().count() as i128)?),
        ("startswith", 1) => AbstractValue::Bool(text.starts_with(arg(0)?)),
        ("endswith", 1) => AbstractValue::Bool(text.ends_with(arg(0)?)),
        ("__add__", 1) => binary(Operator::Add, &AbstractValue::text(text), &args[0]),
        ("__mod__", 1) => percent(text, &args[0]),
        ("__getitem__", 1) => item(&AbstractValue::text(text), &args[0]),
        ("__str__" | "__iter__" | "expandtabs", 0) => AbstractValue::text(text),
        ("zfill" | "ljust" | "rjust" | "center", 1 | 2) => {
            let width =
                args[0].as_int().and_then(|width| usize::try_from(width).ok()).filter(|width| *width <= MAX_LENGTH)?;
            let fill = if name == "zfill" { "0" } else { args.get(1).map_or(Some(" "), AbstractValue::as_text)? };
            let missing = width.saturating_sub(text.chars().count());
            let before = match name {
                "ljust" => 0,
                "center" => missing / 2 + (missing & width & 1),
                _ => missing,
            };
            AbstractValue::text(&[&fill.repeat(before), text, &fill.repeat(missing - before)].concat())
        }
        _ => return None,
    })
}

fn of_bytes<'a>(bytes: &[u8], name: &str, args: &[AbstractValue<'a>]) -> Option<AbstractValue<'a>> {
    Some(match (name, args) {
        ("decode", []) => AbstractValue::text(&String::from_utf8_lossy(bytes)),
        ("decode", [codec, ..]) => decode(&AbstractValue::bytes(bytes), codec.as_text().unwrap_or("utf-8")),
        ("hex", []) => AbstractValue::text(&bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        ("replace", [AbstractValue::Bytes(from), AbstractValue::Bytes(to)]) if from.len() == 1 && to.len() <= 1 => {
            AbstractValue::bytes(
                &bytes
                    .iter()
                    .filter_map(|byte| if *byte == from[0] { to.first().copied() } else { Some(*byte) })
                    .collect::<Vec<u8>>(),
            )
        }
        ("join", [items]) => {
            let mut joined = Vec::new();
            for (index, item) in items.items()?.iter().enumerate() {
                let AbstractValue::Bytes(item) = item else { return None };
                if index > 0 {
                    joined.extend_from_slice(bytes);
                }
                joined.extend_from_slice(item);
                if joined.len() > MAX_LENGTH {
                    return None;
                }
            }
            AbstractValue::bytes(&joined)
        }
        ("translate", [AbstractValue::Bytes(table)]) if table.len() == 256 => {
            AbstractValue::bytes(&bytes.iter().map(|byte| table[usize::from(*byte)]).collect::<Vec<u8>>())
        }
        ("lower", []) => AbstractValue::bytes(&bytes.to_ascii_lowercase()),
        ("upper", []) => AbstractValue::bytes(&bytes.to_ascii_uppercase()),
        ("strip", []) => AbstractValue::bytes(bytes.trim_ascii()),
        _ => return None,
    })
}

pub(super) fn to_bytes<'a>(
    value: &AbstractValue<'a>,
    args: &[AbstractValue<'a>],
    keywords: &[(&str, AbstractValue<'a>)],
) -> AbstractValue<'a> {
    let argument = |index: usize, name: &str| {
        args.get(index).or_else(|| keywords.iter().find(|(known, _)| *known == name).map(|(_, value)| value))
    };
    let length = argument(0, "length").map_or(Some(1), |length| length.as_int().and_then(|n| usize::try_from(n).ok()));
    let big = argument(1, "byteorder").and_then(AbstractValue::as_text).is_none_or(|order| order == "big");
    let value = match value {
        AbstractValue::Int(value) => BigInt::from(*value),
        AbstractValue::Large(value) => (**value).clone(),
        _ => return AbstractValue::Unknown,
    };
    let (sign, mut bytes) = value.to_bytes_le();
    match length {
        Some(length) if sign != Sign::Minus && length <= MAX_LENGTH && bytes.len() <= length.max(1) => {
            bytes.resize(length, 0);
        }
        // The length may be computed; the bytes are what they are.
        None => {}
        Some(_) => return AbstractValue::Unknown,
    }
    if big {
        bytes.reverse();
    }
    AbstractValue::bytes(&bytes)
}
