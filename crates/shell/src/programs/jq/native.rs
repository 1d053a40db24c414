//! Functions of values alone, and operators.

use super::json::{COMPACT, Parser, compact, measure};
use super::operator::Binary;
use super::path::{delete_paths, set_path};
use super::shown::{described, shortened};
use super::value::{Failure, Memory, Names, Value, sorted_names};
use crate::bounds::MAX_TEXT;
use crate::regular::{Case, Regular};
use crate::state::Shell;
use base64::Engine as _;
use regex::bytes::Captures;
use std::sync::Arc;

/// Weight of a value beyond which nothing goes through all of it: its parts may be the same one many times.
const MAX_WEIGHT: usize = 1 << 22;

/// A function that is no filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Native {
    Empty,
    Range,
    GetPath,
    Match,
    Input,
    Join,
    ToString,
    Env,
    Format(Format),
    Function(&'static str),
}

/// Format of `@name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Html,
    Uri,
    Csv,
    Tsv,
    Sh,
    Base64,
    Base64d,
}

/// Functions by name and number of arguments.
const FUNCTIONS: &[(&str, usize)] = &[
    ("error", 0),
    ("error", 1),
    ("length", 0),
    ("utf8bytelength", 0),
    ("not", 0),
    ("keys", 0),
    ("keys_unsorted", 0),
    ("has", 1),
    ("contains", 1),
    ("flatten", 1),
    ("floor", 0),
    ("ceil", 0),
    ("round", 0),
    ("trunc", 0),
    ("fabs", 0),
    ("sqrt", 0),
    ("pow", 2),
    ("log", 0),
    ("log2", 0),
    ("log10", 0),
    ("exp", 0),
    ("exp2", 0),
    ("exp10", 0),
    ("infinite", 0),
    ("nan", 0),
    ("isinfinite", 0),
    ("isnan", 0),
    ("isnormal", 0),
    ("type", 0),
    ("sort", 0),
    ("_sort_by", 1),
    ("_group_by", 1),
    ("_unique_by", 1),
    ("_min_by", 1),
    ("_max_by", 1),
    ("reverse", 0),
    ("tonumber", 0),
    ("tojson", 0),
    ("fromjson", 0),
    ("startswith", 1),
    ("endswith", 1),
    ("ltrimstr", 1),
    ("rtrimstr", 1),
    ("trim", 0),
    ("ltrim", 0),
    ("rtrim", 0),
    ("explode", 0),
    ("implode", 0),
    ("split", 1),
    ("ascii_downcase", 0),
    ("ascii_upcase", 0),
    ("test", 2),
    ("setpath", 2),
    ("delpaths", 1),
    ("_indices", 1),
    ("transpose", 0),
    ("env", 0),
    ("now", 0),
    ("todate", 0),
    ("fromdate", 0),
    ("strftime", 1),
    ("strptime", 1),
    ("mktime", 0),
    ("gmtime", 0),
];

impl Native {
    /// Returns the format of `@name`.
    pub(super) fn format(name: &str) -> Option<Self> {
        Some(Self::Format(match name {
            "text" => return Some(Self::ToString),
            "json" => Format::Json,
            "html" => Format::Html,
            "uri" => Format::Uri,
            "csv" => Format::Csv,
            "tsv" => Format::Tsv,
            "sh" => Format::Sh,
            "base64" => Format::Base64,
            "base64d" => Format::Base64d,
            _ => return None,
        }))
    }

    /// Returns the function of this name with so many arguments.
    pub(super) fn named(name: &str, count: usize) -> Option<Self> {
        match (name, count) {
            ("empty", 0) => Some(Self::Empty),
            ("range", 3) => Some(Self::Range),
            ("getpath", 1) => Some(Self::GetPath),
            ("match", 2) => Some(Self::Match),
            ("input", 0) => Some(Self::Input),
            ("tostring", 0) => Some(Self::ToString),
            ("env", 0) => Some(Self::Env),
            _ => FUNCTIONS.iter().find(|known| **known == (name, count)).map(|(name, _)| Self::Function(name)),
        }
    }

    /// Returns the work that the function does on a value, in pieces.
    pub(super) fn weight(self, value: &Value, most: usize) -> usize {
        match self {
            Self::Function("length" | "type" | "not" | "has" | "error") => 1,
            Self::Function("sort" | "_sort_by" | "_group_by" | "_unique_by" | "flatten") => {
                16 * value.weight(most / 16)
            }
            _ => 2 * value.weight(most / 2),
        }
    }
}

fn checked(value: &Value) -> Result<(), Failure> {
    match value.weight(MAX_WEIGHT) >= MAX_WEIGHT {
        true => Err(Failure::Memory),
        false => Ok(()),
    }
}

/// The text of a value in one line, if it is not too long.
pub(super) fn json_text(value: &Value) -> Result<String, Failure> {
    match measure(value, COMPACT, &mut { MAX_TEXT }) {
        true => Ok(compact(value)),
        false => Err(Failure::Memory),
    }
}

fn text_or_json(value: &Value) -> Result<String, Failure> {
    match value.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => json_text(value),
    }
}

/// Carries out an operator.
pub(super) fn binary(memory: &Memory, operator: Binary, left: &Value, right: &Value) -> Result<Value, Failure> {
    let wrong = |verb: &str| memory.error(format!("{} and {} cannot be {verb}", described(left), described(right)));
    let compared = || {
        checked(left)?;
        checked(right)?;
        Ok::<_, Failure>(left.order(right))
    };
    Ok(match (operator, left, right) {
        (Binary::Equal, ..) => Value::Bool(compared()?.is_eq()),
        (Binary::NotEqual, ..) => Value::Bool(compared()?.is_ne()),
        (Binary::Less, ..) => Value::Bool(compared()?.is_lt()),
        (Binary::LessOrEqual, ..) => Value::Bool(compared()?.is_le()),
        (Binary::Greater, ..) => Value::Bool(compared()?.is_gt()),
        (Binary::GreaterOrEqual, ..) => Value::Bool(compared()?.is_ge()),
        (Binary::Add, Value::Null, value) | (Binary::Add, value, Value::Null) => value.clone(),
        (Binary::Add, Value::Number(x), Value::Number(y)) => Value::Number(x + y),
        (Binary::Add, Value::String(x), Value::String(y)) => {
            if x.content.len() + y.content.len() > MAX_TEXT {
                return Err(Failure::Memory);
            }
            memory.string(format!("{}{}", x.content, y.content))?
        }
        (Binary::Add, Value::Array(x), Value::Array(y)) => {
            let _held = memory.hold(40 * (x.content.len() + y.content.len()))?;
            memory.array([x.content.as_slice(), &y.content].concat())?
        }
        (Binary::Add, Value::Object(x), Value::Object(y)) => {
            let _held = memory.hold(136 * (x.content.len() + y.content.len()))?;
            let mut names = x.content.clone();
            names.extend(y.content.iter().map(|(name, value)| (Arc::clone(name), value.clone())));
            memory.object(names)?
        }
        (Binary::Add, ..) => return Err(wrong("added")),
        (Binary::Subtract, Value::Number(x), Value::Number(y)) => Value::Number(x - y),
        (Binary::Subtract, Value::Array(x), Value::Array(y)) => {
            checked(left)?;
            checked(right)?;
            let mut removed = y.content.clone();
            removed.sort_by(Value::order);
            let kept = |value: &&Value| removed.binary_search_by(|other| other.order(value)).is_err();
            memory.array(x.content.iter().filter(kept).cloned().collect())?
        }
        (Binary::Subtract, ..) => return Err(wrong("subtracted")),
        (Binary::Multiply, Value::Number(x), Value::Number(y)) => Value::Number(x * y),
        (Binary::Multiply, Value::String(text), Value::Number(count))
        | (Binary::Multiply, Value::Number(count), Value::String(text)) => {
            if *count <= 0.0 {
                return Ok(Value::Null);
            }
            let count = count.max(1.0).round() as usize;
            if text.content.len().saturating_mul(count) > MAX_TEXT {
                return Err(Failure::Memory);
            }
            memory.string(text.content.repeat(count))?
        }
        (Binary::Multiply, Value::Object(_), Value::Object(_)) => {
            checked(left)?;
            checked(right)?;
            merged(memory, left, right)?
        }
        (Binary::Multiply, ..) => return Err(wrong("multiplied")),
        (Binary::Divide | Binary::Modulo, Value::Number(_), Value::Number(y))
            if *y == 0.0 || (operator == Binary::Modulo && y.trunc() == 0.0) =>
        {
            return Err(wrong("divided because the divisor is zero"));
        }
        (Binary::Divide, Value::Number(x), Value::Number(y)) => Value::Number(x / y),
        (Binary::Divide, Value::String(x), Value::String(y)) => split(memory, &x.content, &y.content)?,
        (Binary::Divide, ..) => return Err(wrong("divided")),
        (Binary::Modulo, Value::Number(x), Value::Number(y)) => {
            Value::Number((*x as i64).wrapping_rem((*y as i64).saturating_abs()) as f64)
        }
        (Binary::Modulo, ..) => return Err(wrong("divided")),
    })
}

fn merged(memory: &Memory, left: &Value, right: &Value) -> Result<Value, Failure> {
    let (Value::Object(x), Value::Object(y)) = (left, right) else { return Ok(right.clone()) };
    let mut names = x.content.clone();
    for (name, value) in &y.content {
        let value = match names.get(name) {
            Some(before) => merged(memory, before, value)?,
            None => value.clone(),
        };
        names.insert(Arc::clone(name), value);
    }
    memory.object(names)
}

fn split(memory: &Memory, text: &str, by: &str) -> Result<Value, Failure> {
    // Parts take more than their text.
    let parts = if by.is_empty() { text.len() } else { text.matches(by).count() + 1 };
    let _held = memory.hold(parts.saturating_mul(40))?;
    if text.is_empty() {
        return memory.array(Vec::new());
    }
    let strings = match by.is_empty() {
        true => text.chars().map(|c| memory.string(c)).collect::<Result<Vec<_>, _>>()?,
        false => text.split(by).map(|part| memory.string(part)).collect::<Result<Vec<_>, _>>()?,
    };
    memory.array(strings)
}

/// An expression with what its flags ask for.
pub(super) struct Expression {
    pub(super) regular: Regular,
    /// True when all matches are wanted.
    pub(super) all: bool,
    /// True when matches of nothing count.
    pub(super) empty: bool,
    pub(super) names: Vec<Option<String>>,
}

/// Reads the arguments of `match` and `test`.
pub(super) fn search(memory: &Memory, input: &Value, values: &[Value]) -> Result<Expression, Failure> {
    let Some(text) = input.as_str() else {
        return Err(memory.error(format!("{} cannot be matched, as it is not a string", described(input))));
    };
    let Some(pattern) = values.first().and_then(Value::as_str) else {
        let what = values.first().map(described).unwrap_or_default();
        return Err(memory.error(format!("{what} cannot be matched, as it is not a string")));
    };
    let flags = match values.get(1) {
        None | Some(Value::Null) => "",
        Some(Value::String(flags)) => flags.content.as_str(),
        Some(other) => return Err(memory.error(format!("{} is not a string", described(other)))),
    };
    if let Some(unknown) = flags.chars().find(|flag| !"gimnpslx".contains(*flag)) {
        return Err(memory.error(format!("{flags} is not a valid modifier string: {unknown}")));
    }
    let has = |flag: char| flags.contains(flag);
    let mut prefix = String::new();
    if has('x') {
        prefix.push_str("(?x)");
    }
    if has('s') || has('p') {
        prefix.push_str("(?s)");
    }
    let case = if has('i') { Case::Insensitive } else { Case::Sensitive };
    let regular = Regular::new(&format!("{prefix}{pattern}"), case)
        .map_err(|why| memory.error(format!("{pattern} (at offset 0) is not a valid regex: {why}")))?;
    if !regular.takes(text.len()) {
        return Err(memory.error("the text is too long for this expression"));
    }
    Ok(Expression { regular, all: has('g'), empty: !has('n'), names: group_names(pattern) })
}

/// Names of the groups of an expression, in order.
fn group_names(pattern: &str) -> Vec<Option<String>> {
    let mut names = Vec::new();
    let (mut rest, mut in_class) = (pattern, false);
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' => rest = rest.chars().next().map_or("", |escaped| &rest[escaped.len_utf8()..]),
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => {
                let named = rest.strip_prefix("?<").or_else(|| rest.strip_prefix("?P<"));
                match named.and_then(|named| named.split_once('>')) {
                    Some((name, _)) => names.push(Some(name.to_owned())),
                    None if !rest.starts_with('?') => names.push(None),
                    None => {}
                }
            }
            _ => {}
        }
    }
    names
}

/// A match as a value.
pub(super) fn matched(
    memory: &Memory,
    text: &str,
    found: &Captures<'_>,
    names: &[Option<String>],
) -> Result<Value, Failure> {
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let start = found.get(0).map_or(0, |whole| whole.start());
    let before = part(0, start).chars().count();
    let object = |group: Option<regex::bytes::Match<'_>>, name: Option<&Option<String>>| {
        let mut names = Names::new();
        let (offset, length, string) = match group {
            Some(group) => {
                let content = part(group.start(), group.end());
                let offset = before + part(start, group.start()).chars().count();
                (offset as f64, content.chars().count() as f64, memory.string(content)?)
            }
            None => (-1.0, 0.0, Value::Null),
        };
        names.insert("offset".into(), Value::Number(offset));
        names.insert("length".into(), Value::Number(length));
        names.insert("string".into(), string);
        if let Some(name) = name {
            let name = name.as_ref().map_or(Ok(Value::Null), |name| memory.string(name.as_str()))?;
            names.insert("name".into(), name);
        }
        Ok::<Names, Failure>(names)
    };
    let mut whole = object(found.get(0), None)?;
    let mut captures = Vec::new();
    for at in 1..found.len() {
        captures.push(memory.object(object(found.get(at), Some(names.get(at - 1).unwrap_or(&None)))?)?);
    }
    whole.insert("captures".into(), memory.array(captures)?);
    memory.object(whole)
}

/// Calls a function.
pub(super) fn call(
    shell: &Shell,
    memory: &Memory,
    native: Native,
    input: &Value,
    values: &[Value],
) -> Result<Value, Failure> {
    match native {
        Native::Join => {
            let texts: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            if texts.iter().map(|text| text.len()).sum::<usize>() > MAX_TEXT {
                return Err(Failure::Memory);
            }
            memory.string(texts.concat())
        }
        Native::ToString => match input {
            Value::String(_) => Ok(input.clone()),
            value => memory.string(json_text(value)?),
        },
        Native::Env => {
            let mut names = Names::new();
            for (name, value) in shell.environment() {
                names.insert(name.into(), memory.string(value)?);
            }
            memory.object(names)
        }
        Native::Format(format) => formatted(memory, format, input),
        Native::Function(name) => {
            if !matches!(
                name,
                "length" | "type" | "not" | "has" | "error" | "setpath" | "reverse" | "keys" | "keys_unsorted"
            ) {
                checked(input)?;
                values.iter().try_for_each(checked)?;
            }
            function(shell, memory, name, input, values)
        }
        Native::Empty | Native::Range | Native::GetPath | Native::Match | Native::Input => Ok(Value::Null),
    }
}

fn function(shell: &Shell, memory: &Memory, name: &str, input: &Value, values: &[Value]) -> Result<Value, Failure> {
    let null = Value::Null;
    let first = values.first().unwrap_or(&null);
    let wrong = |what: &str| memory.error(format!("{} {what}", described(input)));
    let number = || match input {
        Value::Number(number) => Ok(*number),
        _ => Err(wrong("number required")),
    };
    let mapped = |map: fn(f64) -> f64| number().map(|number| Value::Number(map(number)));
    let array = || match input {
        Value::Array(array) => Ok(&array.content),
        _ => Err(wrong("cannot be sorted, as it is not an array")),
    };
    let keyed = || -> Result<Vec<(&Value, &Value)>, Failure> {
        let keys = match first {
            Value::Array(keys) => keys.content.as_slice(),
            _ => &[],
        };
        Ok(keys.iter().zip(array()?).collect())
    };
    let sorted = || {
        keyed().map(|mut pairs| {
            pairs.sort_by(|one, other| one.0.order(other.0));
            pairs
        })
    };
    let text = |what: &str| input.as_str().ok_or_else(|| wrong(what));
    let both = |what: &str| match (input.as_str(), first.as_str()) {
        (Some(text), Some(part)) => Ok((text, part)),
        _ => Err(memory.error(format!("{name}() requires {what}"))),
    };
    match name {
        "error" => Err(Failure::Error(values.first().unwrap_or(input).clone())),
        "length" => Ok(Value::Number(match input {
            Value::Null => 0.0,
            Value::Bool(_) => return Err(wrong("has no length")),
            Value::Number(number) => number.abs(),
            Value::String(text) => text.content.chars().count() as f64,
            value => value.len() as f64,
        })),
        "utf8bytelength" => Ok(Value::Number(text("only strings have UTF-8 byte length")?.len() as f64)),
        "not" => Ok(Value::Bool(!input.is_true())),
        "keys" | "keys_unsorted" => match input {
            Value::Array(array) => memory.array((0..array.content.len()).map(|at| Value::Number(at as f64)).collect()),
            Value::Object(object) => {
                let names = match name {
                    "keys" => sorted_names(&object.content),
                    _ => object.content.keys().cloned().collect(),
                };
                let names: Result<Vec<_>, _> = names.iter().map(|name| memory.string(&**name)).collect();
                memory.array(names?)
            }
            _ => Err(wrong("has no keys")),
        },
        "has" => match (input, first) {
            (Value::Object(object), Value::String(name)) => {
                Ok(Value::Bool(object.content.contains_key(name.content.as_str())))
            }
            (Value::Array(array), Value::Number(at)) => {
                Ok(Value::Bool(*at >= 0.0 && (*at as usize) < array.content.len()))
            }
            (value, key) => {
                Err(memory.error(format!("Cannot check whether {} has a {} key", value.kind(), key.kind())))
            }
        },
        "contains" => match (input, first) {
            (one, other) if one.kind() == other.kind() || matches!((one, other), (Value::Bool(_), Value::Bool(_))) => {
                Ok(Value::Bool(contains(memory, one, other, &mut 0)?))
            }
            (one, other) => Err(memory.error(format!(
                "{} and {} cannot have their containment checked",
                described(one),
                described(other)
            ))),
        },
        "flatten" => {
            let depth = match first {
                Value::Number(depth) if *depth < 0.0 => {
                    return Err(memory.error("flatten depth must not be negative"));
                }
                Value::Number(depth) => *depth,
                _ => 1e9,
            };
            let Value::Array(array) = input else { return Err(wrong("cannot be flattened")) };
            let _held = memory.hold(input.weight(MAX_WEIGHT) * 40)?;
            let mut out = Vec::new();
            flatten(&array.content, depth, &mut out);
            memory.array(out)
        }
        "floor" => mapped(f64::floor),
        "ceil" => mapped(f64::ceil),
        "round" => mapped(f64::round),
        "trunc" => mapped(f64::trunc),
        "fabs" => mapped(f64::abs),
        "sqrt" => mapped(f64::sqrt),
        "log" => mapped(f64::ln),
        "log2" => mapped(f64::log2),
        "log10" => mapped(f64::log10),
        "exp" => mapped(f64::exp),
        "exp2" => mapped(f64::exp2),
        "exp10" => mapped(|number| 10_f64.powf(number)),
        "pow" => match values {
            [Value::Number(x), Value::Number(y)] => Ok(Value::Number(x.powf(*y))),
            _ => Err(wrong("number required")),
        },
        "infinite" => Ok(Value::Number(f64::INFINITY)),
        "nan" => Ok(Value::Number(f64::NAN)),
        "isinfinite" => Ok(Value::Bool(number()?.is_infinite())),
        "isnan" => Ok(Value::Bool(number()?.is_nan())),
        "isnormal" => Ok(Value::Bool(number()?.is_normal())),
        "type" => memory.string(input.kind()),
        "sort" => {
            let mut all = array()?.clone();
            all.sort_by(Value::order);
            memory.array(all)
        }
        "_sort_by" => memory.array(sorted()?.into_iter().map(|(_, value)| value.clone()).collect()),
        "_group_by" | "_unique_by" => {
            let pairs = sorted()?;
            let groups = pairs.chunk_by(|one, other| one.0.order(other.0).is_eq());
            let values: Result<Vec<Value>, Failure> = groups
                .map(|group| match name {
                    "_unique_by" => Ok(group[0].1.clone()),
                    _ => memory.array(group.iter().map(|(_, value)| (*value).clone()).collect()),
                })
                .collect();
            memory.array(values?)
        }
        "_min_by" => {
            let least =
                keyed()?.into_iter().reduce(|one, other| if other.0.order(one.0).is_lt() { other } else { one });
            Ok(least.map_or(Value::Null, |(_, value)| value.clone()))
        }
        "_max_by" => {
            let most = keyed()?.into_iter().reduce(|one, other| if other.0.order(one.0).is_ge() { other } else { one });
            Ok(most.map_or(Value::Null, |(_, value)| value.clone()))
        }
        "reverse" => match input {
            Value::Null => memory.array(Vec::new()),
            Value::Array(array) => memory.array(array.content.iter().rev().cloned().collect()),
            Value::String(text) => memory.string(text.content.chars().rev().collect::<String>()),
            _ => Err(wrong("cannot be reversed, as it is not an array")),
        },
        "tonumber" => match input {
            Value::Number(_) => Ok(input.clone()),
            Value::String(text) => {
                let trimmed = text.content.trim();
                let number = trimmed
                    .parse::<f64>()
                    .ok()
                    .filter(|_| trimmed.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.')));
                number.map(Value::Number).ok_or_else(|| wrong("cannot be parsed as a number"))
            }
            _ => Err(wrong("cannot be parsed as a number")),
        },
        "tojson" => memory.string(json_text(input)?),
        "fromjson" => {
            let content = text("only strings can be parsed")?;
            let shown = shortened(input);
            let mut parser = Parser::new(memory, content.as_bytes(), 0);
            let parsed = parser.next().and_then(|value| match parser.next() {
                Ok(None) => Ok(value.unwrap_or(Value::Null)),
                Ok(Some(_)) => Err(memory.error("Unexpected extra JSON values")),
                Err(failure) => Err(failure),
            });
            parsed.map_err(|failure| match failure {
                Failure::Error(Value::String(why)) => {
                    memory.error(format!("{} (while parsing '{}')", why.content, shown.trim_matches('"')))
                }
                failure => failure,
            })
        }
        "startswith" => both("string inputs").map(|(text, part)| Value::Bool(text.starts_with(part))),
        "endswith" => both("string inputs").map(|(text, part)| Value::Bool(text.ends_with(part))),
        "ltrimstr" | "rtrimstr" => match (input.as_str(), first.as_str()) {
            (Some(text), Some(part)) => {
                let rest = if name == "ltrimstr" { text.strip_prefix(part) } else { text.strip_suffix(part) };
                rest.map_or(Ok(input.clone()), |rest| memory.string(rest))
            }
            _ => Ok(input.clone()),
        },
        "trim" => memory.string(text("cannot be trimmed")?.trim()),
        "ltrim" => memory.string(text("cannot be trimmed")?.trim_start()),
        "rtrim" => memory.string(text("cannot be trimmed")?.trim_end()),
        "explode" => {
            let text = text("cannot be exploded")?;
            let _held = memory.hold(40 * text.len())?;
            memory.array(text.chars().map(|c| Value::Number(f64::from(u32::from(c)))).collect())
        }
        "implode" => {
            let codes = array()?.iter().map(|code| match code {
                Value::Number(code) => char::from_u32(*code as u32),
                _ => None,
            });
            match codes.collect::<Option<String>>() {
                Some(text) => memory.string(text),
                None => Err(memory.error("Unicode codepoint must be numeric")),
            }
        }
        "split" => match (input.as_str(), first.as_str()) {
            (Some(text), Some(by)) => split(memory, text, by),
            _ => Err(memory.error("split input and separator must be strings")),
        },
        "ascii_downcase" => memory.string(text("cannot be lowercased")?.to_ascii_lowercase()),
        "ascii_upcase" => memory.string(text("cannot be uppercased")?.to_ascii_uppercase()),
        "test" => {
            let search = search(memory, input, values)?;
            let text = input.as_str().unwrap_or_default();
            Ok(Value::Bool(search.regular.is_match(text.as_bytes())))
        }
        "setpath" => match values {
            [Value::Array(path), value] => set_path(memory, input.clone(), &path.content, value.clone()),
            _ => Err(memory.error("Path must be specified as an array")),
        },
        "delpaths" => match first {
            Value::Array(paths) => delete_paths(memory, input.clone(), paths.content.clone()),
            _ => Err(memory.error("Paths must be specified as an array")),
        },
        "_indices" => indices(memory, input, first),
        "transpose" => {
            let rows = array()?;
            let width = rows.iter().map(Value::len).max().unwrap_or(0);
            let _held = memory.hold(40 * width.saturating_mul(rows.len()))?;
            let columns = (0..width).map(|at| {
                let cells = rows.iter().map(|row| match row {
                    Value::Array(row) => row.content.get(at).cloned().unwrap_or(Value::Null),
                    _ => Value::Null,
                });
                memory.array(cells.collect())
            });
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            memory.array(columns)
        }
        _ => date(shell, memory, name, input, first),
    }
}

/// Comparisons of parts, or of bytes of texts, that one call may make before it is refused: some tens of milliseconds.
const MAX_COMPARED: usize = 1 << 22;

/// Counts comparisons of one call.
fn compare(memory: &Memory, compared: &mut usize, count: usize) -> Result<(), Failure> {
    *compared = compared.saturating_add(count);
    match *compared > MAX_COMPARED {
        true => Err(memory.error("too much to compare")),
        false => Ok(()),
    }
}

fn contains(memory: &Memory, one: &Value, other: &Value, compared: &mut usize) -> Result<bool, Failure> {
    compare(memory, compared, 1)?;
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            for (name, value) in &other.content {
                match one.content.get(name) {
                    Some(found) if contains(memory, found, value, compared)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (Value::Array(one), Value::Array(other)) => {
            for value in &other.content {
                let mut is_there = false;
                for found in &one.content {
                    if contains(memory, found, value, compared)? {
                        is_there = true;
                        break;
                    }
                }
                if !is_there {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::String(one), Value::String(other)) => {
            compare(memory, compared, (one.content.len() + other.content.len()) / 16)?;
            Ok(one.content.contains(other.content.as_str()))
        }
        (one, other) => Ok(one.order(other).is_eq()),
    }
}

fn flatten(values: &[Value], depth: f64, out: &mut Vec<Value>) {
    for value in values {
        match value {
            Value::Array(array) if depth > 0.0 => flatten(&array.content, depth - 1.0, out),
            value => out.push(value.clone()),
        }
    }
}

fn indices(memory: &Memory, input: &Value, wanted: &Value) -> Result<Value, Failure> {
    let places: Vec<usize> = match (input, wanted) {
        (Value::Null, _) => return Ok(Value::Null),
        (Value::String(text), Value::String(wanted)) if !wanted.content.is_empty() => {
            let _held = memory.hold(16 * text.content.len())?;
            let (text, wanted) = (text.content.as_str(), wanted.content.as_str());
            let (mut places, mut at, mut counted, mut characters, mut compared) = (Vec::new(), 0, 0, 0, 0);
            while let Some(found) = text[at..].find(wanted) {
                compare(memory, &mut compared, (found + wanted.len()) / 16)?;
                let start = at + found;
                characters += text[counted..start].chars().count();
                counted = start;
                places.push(characters);
                at = start + text[start..].chars().next().map_or(1, char::len_utf8);
            }
            places
        }
        (Value::Array(values), Value::Array(wanted)) => {
            let wanted = &wanted.content;
            if wanted.is_empty() {
                return Ok(Value::Null);
            }
            let (mut places, mut compared) = (Vec::new(), 0);
            for (at, window) in values.content.windows(wanted.len()).enumerate() {
                let alike = window.iter().zip(wanted).take_while(|(one, other)| one.order(other).is_eq()).count();
                compare(memory, &mut compared, alike + 1)?;
                if alike == wanted.len() {
                    places.push(at);
                }
            }
            places
        }
        (Value::Array(values), wanted) => {
            let found = values.content.iter().enumerate().filter(|(_, value)| value.order(wanted).is_eq());
            found.map(|(at, _)| at).collect()
        }
        _ => return Ok(Value::Null),
    };
    memory.array(places.into_iter().map(|at| Value::Number(at as f64)).collect())
}

fn formatted(memory: &Memory, format: Format, input: &Value) -> Result<Value, Failure> {
    let row = |what: &str, show: &dyn Fn(&str) -> String, between: &str| match input {
        Value::Array(array) => {
            let mut cells = Vec::new();
            for value in &array.content {
                cells.push(match value {
                    Value::Null => String::new(),
                    Value::Bool(_) | Value::Number(_) => compact(value),
                    Value::String(text) => show(&text.content),
                    value => return Err(memory.error(format!("{} is not valid in a {what} row", described(value)))),
                });
            }
            memory.string(cells.join(between))
        }
        value => Err(memory.error(format!("{} cannot be {what}-formatted, only an array can be", described(value)))),
    };
    checked(input)?;
    match format {
        Format::Json => memory.string(json_text(input)?),
        Format::Html => {
            let text = text_or_json(input)?;
            let _held = memory.hold(6 * text.len())?;
            let mut out = String::new();
            for c in text.chars() {
                match c {
                    '<' => out.push_str("&lt;"),
                    '>' => out.push_str("&gt;"),
                    '&' => out.push_str("&amp;"),
                    '\'' => out.push_str("&#39;"),
                    '"' => out.push_str("&quot;"),
                    c => out.push(c),
                }
            }
            memory.string(out)
        }
        Format::Uri => {
            let text = text_or_json(input)?;
            let _held = memory.hold(3 * text.len())?;
            let mut out = String::new();
            for byte in text.bytes() {
                match byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
                    true => out.push(char::from(byte)),
                    false => out.push_str(&format!("%{byte:02X}")),
                }
            }
            memory.string(out)
        }
        Format::Csv => row("csv", &|text| format!("\"{}\"", text.replace('"', "\"\"")), ","),
        Format::Tsv => {
            let escape =
                |text: &str| text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r");
            row("tsv", &escape, "\t")
        }
        Format::Sh => {
            let quoted = |value: &Value| match value {
                Value::String(text) => Ok(format!("'{}'", text.content.replace('\'', "'\\''"))),
                Value::Array(_) | Value::Object(_) => {
                    Err(memory.error(format!("{} can not be escaped for shell", described(value))))
                }
                value => Ok(compact(value)),
            };
            match input {
                Value::Array(array) => {
                    let words = array.content.iter().map(quoted).collect::<Result<Vec<_>, _>>()?;
                    memory.string(words.join(" "))
                }
                value => memory.string(quoted(value)?),
            }
        }
        Format::Base64 => memory.string(base64::engine::general_purpose::STANDARD.encode(text_or_json(input)?)),
        Format::Base64d => {
            let text = text_or_json(input)?;
            let digits = text.trim_end_matches('=');
            match base64::engine::general_purpose::STANDARD_NO_PAD.decode(digits) {
                Ok(bytes) => memory.string(String::from_utf8_lossy(&bytes)),
                Err(_) => Err(memory.error(format!("{} is not valid base64 data", described(input)))),
            }
        }
    }
}

fn date(shell: &Shell, memory: &Memory, name: &str, input: &Value, first: &Value) -> Result<Value, Failure> {
    use jiff::civil::DateTime;
    use jiff::{Timestamp, tz::TimeZone};
    const ISO: &str = "%Y-%m-%dT%H:%M:%SZ";
    let wrong = |what: &str| memory.error(format!("{name} {what}"));
    let broken = |seconds: f64| -> Result<DateTime, Failure> {
        let stamp = Timestamp::from_second(seconds.floor() as i64).map_err(|_| wrong("is out of range"))?;
        Ok(stamp.to_zoned(TimeZone::UTC).datetime())
    };
    let parts = |value: &Value| -> Result<DateTime, Failure> {
        match value {
            Value::Number(seconds) => broken(*seconds),
            Value::Array(parts) => {
                let part = |at: usize| match parts.content.get(at) {
                    Some(Value::Number(number)) => Ok(*number),
                    _ => Err(wrong("requires parsed datetime inputs")),
                };
                let narrow = |at: usize, plus: f64| part(at).map(|number| (number + plus) as i8);
                DateTime::new(
                    part(0)? as i16,
                    narrow(1, 1.0)?,
                    narrow(2, 0.0)?,
                    narrow(3, 0.0)?,
                    narrow(4, 0.0)?,
                    narrow(5, 0.0)?,
                    0,
                )
                .map_err(|_| wrong("requires parsed datetime inputs"))
            }
            _ => Err(wrong("requires parsed datetime inputs")),
        }
    };
    let seconds =
        |time: DateTime| time.to_zoned(TimeZone::UTC).map(|zoned| Value::Number(zoned.timestamp().as_second() as f64));
    let listed = |time: DateTime, fraction: f64| {
        let weekday = time.weekday().to_sunday_zero_offset();
        let numbers = [
            f64::from(time.year()),
            f64::from(time.month() - 1),
            f64::from(time.day()),
            f64::from(time.hour()),
            f64::from(time.minute()),
            f64::from(time.second()) + fraction,
            f64::from(weekday),
            f64::from(time.day_of_year() - 1),
        ];
        memory.array(numbers.into_iter().map(Value::Number).collect())
    };
    let read = |format: &str| -> Result<DateTime, Failure> {
        let text = input.as_str().ok_or_else(|| wrong("requires string inputs"))?;
        let parsed = jiff::fmt::strtime::parse(format, text);
        let unread = || {
            memory.error(format!("date \"{}\" does not match format \"{format}\"", shortened(input).trim_matches('"')))
        };
        let parsed = parsed.map_err(|_| unread())?;
        match parsed.to_datetime() {
            Ok(time) => Ok(time),
            Err(_) => parsed.to_date().map(|date| date.at(0, 0, 0, 0)).map_err(|_| unread()),
        }
    };
    match name {
        "now" => Ok(Value::Number(shell.now() as f64 / 1e9)),
        "gmtime" => match input {
            Value::Number(number) => listed(broken(*number)?, number - number.floor()),
            _ => Err(wrong("requires a number")),
        },
        "mktime" => match input {
            Value::Array(_) => seconds(parts(input)?).map_err(|_| wrong("is out of range")),
            _ => Err(wrong("requires array of 6 numbers")),
        },
        "strptime" => listed(read(first.as_str().ok_or_else(|| wrong("requires string inputs"))?)?, 0.0),
        "fromdate" => seconds(read(ISO)?).map_err(|_| wrong("is out of range")),
        "todate" | "strftime" => {
            let format =
                if name == "todate" { ISO } else { first.as_str().ok_or_else(|| wrong("requires a string format"))? };
            let zoned = parts(input)?.to_zoned(TimeZone::UTC).map_err(|_| wrong("is out of range"))?;
            memory.string(jiff::fmt::strtime::format(format, &zoned).map_err(|_| wrong("has an unknown format"))?)
        }
        _ => Err(wrong("is not defined")),
    }
}
