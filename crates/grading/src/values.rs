//! Compares a value that a candidate gave with what is expected of it, as Python's `==` compares plain data.
//!
//! Both values are data on the host: nothing of the candidate's has a say. Still they are hostile in size and shape:
//! containers may be shared or hold themselves, so the work, the depth and the words about it are bounded.
//!
//! Python's rules: `1 == 1.0 == True`, ints and floats compare exactly, `set == frozenset`, `bytes == bytearray`, a
//! dict equals a `Counter`, `OrderedDict` or `defaultdict` of the same items. Three are ours: NaN equals NaN; an
//! expected `list`, which is how JSON writes any sequence, equals a tuple too (an expected `tuple` only a tuple); and a
//! richer value (`Decimal`, `datetime`, …) equals only its own type with equal parts, so that `Decimal("1.10")` is not
//! `Decimal("1.1")`. What could not cross equals nothing.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use num_bigint::BigInt;
use serde_json::Value as Json;

use super::compare;
use super::number::{Number, Tolerance};
use proofbox_types::submission::Compare;
use proofbox_types::value::{NotAValue, Value};

/// Maximum number of steps of all comparisons of a submission: some seconds of work. All results that one run can send
/// take about a tenth.
const MAX_STEPS: u64 = 100_000_000;

/// Values within values, with references followed. Twice what a message can nest without them.
const MAX_DEPTH: usize = 400;

/// Characters of a value, and of the path to it, that a difference shows.
const EXCERPT: usize = 120;

/// Steps of one comparison that are left.
#[derive(Debug)]
pub struct Budget(u64);

impl Default for Budget {
    fn default() -> Self {
        Self(MAX_STEPS)
    }
}

/// Reads a value of a request, which is tagged JSON. Nobody sends what could not cross: `{"type": …, "repr": …}` is the
/// dict that it looks like.
///
/// # Errors
/// Returns an error when the JSON is not a value.
pub fn parse_value(json: &Json) -> Result<Value, NotAValue> {
    let mut value = Value::from_json(json)?;
    opaque_is_a_dict(&mut value);
    Ok(value)
}

/// Compares `got` with `expected`, which is tagged JSON.
///
/// Two strs are compared as output is (`compare::output`). [`Compare::Unordered`] takes the items of two sequences in
/// any order; [`Compare::Close`] lets every number differ, however deep; for all else each `how` is exact.
///
/// # Errors
/// The first difference with its place: `[3]["a"]: expected 4, got 5`.
pub fn compare(expected: &Json, got: &Value, how: Compare) -> Result<(), String> {
    let expected = parse_value(expected).map_err(|error| format!("the expected value can't be read: {error}"))?;
    compare_values(&expected, got, how)
}

/// Compares a value that was read before.
///
/// # Errors
/// Returns the same errors as [`compare()`].
pub fn compare_values(expected: &Value, got: &Value, how: Compare) -> Result<(), String> {
    compare_within(expected, got, how, &mut Budget::default())
}

/// Compares within a budget that several comparisons share.
///
/// # Errors
/// Returns the same errors as [`compare()`], and an error when the budget is used up.
pub fn compare_within(expected: &Value, got: &Value, how: Compare, budget: &mut Budget) -> Result<(), String> {
    if let (Value::Str(expected), Value::Str(got)) = (expected, got) {
        return compare::output(expected, got, how);
    }
    let numbers = match how {
        Compare::Close { rtol, atol } => Numbers::Close(Tolerance { rtol, atol }),
        Compare::Exact | Compare::Trimmed | Compare::Tokens | Compare::Unordered | Compare::DecimalLines => {
            Numbers::Exact
        }
    };
    let mut comparison = Comparison {
        expected: Containers::of(expected),
        got: Containers::of(got),
        numbers,
        steps: budget.0,
        path: Vec::new(),
        met: HashSet::new(),
    };
    let result = match (how, sequence(expected), sequence(got)) {
        (Compare::Unordered, Some(wanted), Some(items)) if !strict_tuple(expected, got) => {
            comparison.in_any_order(&wanted.iter().collect::<Vec<_>>(), items, 0)
        }
        _ => comparison.value(expected, got, 0),
    };
    budget.0 = comparison.steps;
    result.map_err(|stopped| comparison.words(stopped))
}

fn opaque_is_a_dict(value: &mut Value) {
    match value {
        Value::Opaque { type_name, repr } => {
            let member = |key, text: &mut String| (Value::str(key), Value::Str(std::mem::take(text)));
            *value = Value::Dict(vec![member("type", type_name), member("repr", repr)]);
        }
        Value::Tuple(items) | Value::List(items) | Value::Set(items) | Value::FrozenSet(items) => {
            items.iter_mut().for_each(opaque_is_a_dict);
        }
        Value::Dict(pairs) => pairs.iter_mut().for_each(|(key, value)| {
            opaque_is_a_dict(key);
            opaque_is_a_dict(value);
        }),
        Value::Extended(_, payload) => opaque_is_a_dict(payload),
        Value::None | Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_) | Value::Complex(..) => {}
        Value::Str(_) | Value::Surrogates(_) | Value::Bytes(_) | Value::ByteArray(_) | Value::Reference(_) => {}
    }
}

fn sequence(value: &Value) -> Option<&[Value]> {
    match value {
        Value::List(items) | Value::Tuple(items) => Some(items),
        _ => None,
    }
}

/// Returns whether a tuple is asked for where there is none.
fn strict_tuple(expected: &Value, got: &Value) -> bool {
    matches!((expected, got), (Value::Tuple(_), Value::List(_)))
}

/// Rule by which two numbers are compared.
#[derive(Clone, Copy)]
enum Numbers {
    Exact,
    Close(Tolerance),
}

/// The containers of a message by number: what its references name.
struct Containers<'a>(Vec<&'a Value>);

impl<'a> Containers<'a> {
    fn of(value: &'a Value) -> Self {
        let mut found = Self(Vec::new());
        found.add(value);
        found
    }

    /// In the order in which they begin, as the codec numbers them.
    fn add(&mut self, value: &'a Value) {
        match value {
            Value::Tuple(items) | Value::List(items) | Value::Set(items) | Value::FrozenSet(items) => {
                self.0.push(value);
                items.iter().for_each(|item| self.add(item));
            }
            Value::Dict(pairs) => {
                self.0.push(value);
                for (key, value) in pairs {
                    self.add(key);
                    self.add(value);
                }
            }
            Value::Extended(_, payload) => {
                self.0.push(value);
                self.add(payload);
            }
            Value::ByteArray(_) => self.0.push(value),
            Value::None | Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_) | Value::Complex(..) => {}
            Value::Str(_) | Value::Surrogates(_) | Value::Bytes(_) | Value::Reference(_) | Value::Opaque { .. } => {}
        }
    }

    /// The value itself, where it is a reference to one that came before.
    fn resolve(&self, value: &'a Value) -> &'a Value {
        match value {
            Value::Reference(number) => self.0.get(*number as usize).copied().unwrap_or(value),
            _ => value,
        }
    }
}

/// Reason why two values are not equal, or why that can't be decided.
enum Stopped {
    /// Description of the first difference.
    Differs(String),
    /// Comparison that would take too long.
    TooMuch,
    /// Values that nest deeper than [`MAX_DEPTH`].
    TooDeep,
}

type Compared = Result<(), Stopped>;

fn differs(words: impl Into<String>) -> Compared {
    Err(Stopped::Differs(words.into()))
}

struct Comparison<'a> {
    expected: Containers<'a>,
    got: Containers<'a>,
    numbers: Numbers,
    /// Number of steps that are left.
    steps: u64,
    /// Path to the difference, innermost part first; empty until there is one.
    path: Vec<String>,
    /// Pairs of containers whose comparison has begun. Met again, they need no second look: either they are equal,
    /// or the difference ends it all. So neither cycles nor containers that are shared take long.
    met: HashSet<(*const Value, *const Value)>,
}

impl<'a> Comparison<'a> {
    fn words(mut self, stopped: Stopped) -> String {
        match stopped {
            Stopped::TooMuch => "the values take too long to compare".to_owned(),
            Stopped::TooDeep => format!("the values nest deeper than {MAX_DEPTH}"),
            Stopped::Differs(words) if self.path.is_empty() => words,
            Stopped::Differs(words) => {
                self.path.reverse();
                format!("{}: {words}", shortened(&self.path.concat()))
            }
        }
    }

    fn step(&mut self, count: usize) -> Compared {
        let left = self.steps.checked_sub(count as u64);
        self.steps = left.unwrap_or(0);
        left.map(|_| ()).ok_or(Stopped::TooMuch)
    }

    /// `step` is what leads from the container to this item of it.
    fn item(&mut self, expected: &'a Value, got: &'a Value, depth: usize, step: impl FnOnce() -> String) -> Compared {
        self.value(expected, got, depth + 1).inspect_err(|_| self.path.push(step()))
    }

    fn value(&mut self, expected: &'a Value, got: &'a Value, depth: usize) -> Compared {
        self.step(1)?;
        if depth > MAX_DEPTH {
            return Err(Stopped::TooDeep);
        }
        let (expected, got) =
            (self.expected.resolve(expected), as_plain(self.expected.resolve(expected), self.got.resolve(got)));
        if is_container(expected) && is_container(got) && !self.met.insert((expected, got)) {
            return Ok(());
        }
        match (expected, got) {
            (Value::None, Value::None) => Ok(()),
            (Value::Str(_) | Value::Surrogates(_), Value::Str(_) | Value::Surrogates(_)) => {
                let (expected_text, got_text) = (text(expected), text(got));
                self.step(expected_text.len().min(got_text.len()) / 64)?;
                if expected_text == got_text { Ok(()) } else { self.unequal(expected, got) }
            }
            (Value::Bytes(a) | Value::ByteArray(a), Value::Bytes(b) | Value::ByteArray(b)) if a == b => Ok(()),
            (Value::List(wanted), Value::List(items) | Value::Tuple(items))
            | (Value::Tuple(wanted), Value::Tuple(items)) => self.sequence(wanted, items, depth),
            (Value::Set(wanted) | Value::FrozenSet(wanted), Value::Set(items) | Value::FrozenSet(items)) => {
                let wanted = self.distinct(wanted, depth)?;
                self.in_any_order(&wanted, items, depth)
            }
            (Value::Dict(wanted), Value::Dict(pairs)) => self.dict(wanted, pairs, depth),
            (Value::Extended(a, wanted), Value::Extended(b, payload)) if a == b => {
                self.item(wanted, payload, depth, || format!(".{a}"))
            }
            _ => match (Number::of(expected), Number::of(got)) {
                (Some(a), Some(b)) if self.equal_numbers(&a, &b) => Ok(()),
                _ => self.unequal(expected, got),
            },
        }
    }

    fn unequal(&self, expected: &'a Value, got: &'a Value) -> Compared {
        differs(format!("expected {}, got {}", shown(expected), shown(got)))
    }

    fn equal_numbers(&self, expected: &Number, got: &Number) -> bool {
        match self.numbers {
            Numbers::Exact => expected.equals(got),
            Numbers::Close(tolerance) => expected.is_close(got, tolerance),
        }
    }

    fn sequence(&mut self, wanted: &'a [Value], items: &'a [Value], depth: usize) -> Compared {
        for (index, (expected, got)) in wanted.iter().zip(items).enumerate() {
            self.item(expected, got, depth, || format!("[{index}]"))?;
        }
        same_length(wanted.len(), items.len())
    }

    fn dict(&mut self, wanted: &'a [(Value, Value)], pairs: &'a [(Value, Value)], depth: usize) -> Compared {
        let mut by_key: HashMap<Vec<u8>, (&'a Value, &'a Value)> = HashMap::new();
        for (key, value) in pairs {
            by_key.insert(self.key(key, Side::Got, depth)?, (key, value));
        }
        // Of keys that are equal the last one's value counts, as in Python.
        let mut last = HashMap::new();
        for (index, (key, _)) in wanted.iter().enumerate() {
            last.insert(self.key(key, Side::Expected, depth)?, index);
        }
        let mut order: Vec<(usize, Vec<u8>)> = last.into_iter().map(|(key, index)| (index, key)).collect();
        order.sort_unstable();
        let mut seen = 0;
        for (index, written) in order {
            let (key, value) = &wanted[index];
            let Some((got_key, got)) = by_key.remove(&written) else {
                return differs(format!("there is no key {}", shown(key)));
            };
            self.item(key, got_key, depth, || format!(" key {}", shown(key)))?;
            self.item(value, got, depth, || format!("[{}]", shown(key)))?;
            seen += 1;
        }
        if let Some((key, _)) = by_key.into_values().next() {
            return differs(format!("there is a key {} too many", shown(key)));
        }
        // A real dict has no key twice; a forged one may.
        same_length(seen, pairs.len())
    }

    /// Items of an expected set, each once: what a request writes twice is one item, as in Python.
    fn distinct(&mut self, wanted: &'a [Value], depth: usize) -> Result<Vec<&'a Value>, Stopped> {
        let mut known = HashSet::new();
        let mut items = Vec::new();
        for value in wanted {
            if known.insert(self.key(value, Side::Expected, depth)?) {
                items.push(value);
            }
        }
        Ok(items)
    }

    /// Compares two sequences as multisets. Items are found by their keys, so that it takes no more than linear time;
    /// then they are compared, since keys don't tell lists from tuples.
    fn in_any_order(&mut self, wanted: &[&'a Value], items: &'a [Value], depth: usize) -> Compared {
        let mut left: HashMap<Vec<u8>, Vec<&'a Value>> = HashMap::new();
        for got in items {
            left.entry(self.key(got, Side::Got, depth)?).or_default().push(got);
        }
        // Those that ask for tuples choose first.
        for asks_for_tuples in [true, false] {
            for expected in wanted.iter().copied().filter(|value| has_tuple(value) == asks_for_tuples) {
                let alike = left.entry(self.key(expected, Side::Expected, depth)?).or_default();
                let mut found = None;
                for (index, got) in alike.iter().enumerate().rev() {
                    if self.alike(expected, got, depth)? {
                        found = Some(index);
                        break;
                    }
                }
                let Some(found) = found else { return differs(format!("there is no {}", shown(expected))) };
                alike.swap_remove(found);
            }
        }
        match left.into_values().flatten().next() {
            Some(got) => differs(format!("there is {} too many", shown(got))),
            None => Ok(()),
        }
    }

    /// Returns whether two items are equal, when a difference is not yet an error.
    fn alike(&mut self, expected: &'a Value, got: &'a Value, depth: usize) -> Result<bool, Stopped> {
        let (met, path) = (std::mem::take(&mut self.met), self.path.len());
        let result = self.value(expected, got, depth + 1);
        self.met = met;
        self.path.truncate(path);
        match result {
            Ok(()) => Ok(true),
            Err(Stopped::Differs(_)) => Ok(false),
            Err(stopped) => Err(stopped),
        }
    }

    /// Bytes that are the same for values that are equal; tuples and lists have the same.
    fn key(&mut self, value: &'a Value, side: Side, depth: usize) -> Result<Vec<u8>, Stopped> {
        let mut out = Vec::new();
        self.write_key(value, side, depth + 1, &mut out)?;
        Ok(out)
    }

    fn write_key(&mut self, value: &'a Value, side: Side, depth: usize, out: &mut Vec<u8>) -> Compared {
        if depth > MAX_DEPTH {
            return Err(Stopped::TooDeep);
        }
        let value = match side {
            Side::Expected => self.expected.resolve(value),
            Side::Got => self.got.resolve(value),
        };
        let before = out.len();
        match value {
            Value::None => out.push(b'N'),
            Value::Str(_) | Value::Surrogates(_) => counted(b's', &text(value), out),
            Value::Bytes(bytes) | Value::ByteArray(bytes) => counted(b'b', bytes, out),
            Value::List(items) | Value::Tuple(items) => {
                counted(b'l', &items.len().to_le_bytes(), out);
                for item in items {
                    self.write_key(item, side, depth + 1, out)?;
                }
            }
            Value::Set(items) | Value::FrozenSet(items) => {
                let keys = items.iter().map(|item| self.key(item, side, depth)).collect::<Result<_, _>>()?;
                sorted(b'S', keys, out);
            }
            Value::Dict(pairs) => {
                let mut keys = Vec::new();
                for (key, value) in pairs {
                    let mut both = self.key(key, side, depth)?;
                    self.write_key(value, side, depth + 1, &mut both)?;
                    keys.push(both);
                }
                sorted(b'd', keys, out);
            }
            Value::Extended(name, payload) if is_dict_type(name) => self.write_key(payload, side, depth + 1, out)?,
            Value::Extended(name, payload) => {
                counted(b'x', name.as_bytes(), out);
                self.write_key(payload, side, depth + 1, out)?;
            }
            // Never equal; whoever has this key is told so when they are compared.
            Value::Opaque { .. } | Value::Reference(_) => out.push(b'o'),
            Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_) | Value::Complex(..) => {
                if let Some(number) = Number::of(value) {
                    write_number_key(&number, out);
                }
            }
        }
        self.step(1 + (out.len() - before))
    }
}

fn write_number_key(number: &Number, out: &mut Vec<u8>) {
    let float = |v: f64| if v.is_nan() { f64::NAN.to_bits() } else { (v + 0.0).to_bits() }.to_le_bytes();
    match number {
        Number::Int(v) => counted(b'i', &v.to_signed_bytes_le(), out),
        Number::Float(v) => counted(b'f', &float(*v), out),
        Number::Complex(re, im) => counted(b'c', &[float(*re), float(*im)].concat(), out),
    }
}

/// Side to which a reference belongs.
#[derive(Clone, Copy)]
enum Side {
    Expected,
    Got,
}

fn same_length(expected: usize, got: usize) -> Compared {
    if expected == got { Ok(()) } else { differs(format!("expected {expected} items, got {got}")) }
}

fn counted(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(&bytes.len().to_le_bytes());
    out.extend_from_slice(bytes);
}

fn sorted(tag: u8, mut keys: Vec<Vec<u8>>, out: &mut Vec<u8>) {
    keys.sort_unstable();
    counted(tag, &keys.len().to_le_bytes(), out);
    keys.iter().for_each(|key| counted(b'k', key, out));
}

fn is_container(value: &Value) -> bool {
    matches!(
        value,
        Value::List(_) | Value::Tuple(_) | Value::Set(_) | Value::FrozenSet(_) | Value::Dict(_) | Value::Extended(..)
    )
}

/// Returns whether a tuple is asked for by its tag, at any depth. References are left out: nobody writes them by hand.
fn has_tuple(value: &Value) -> bool {
    match value {
        Value::Tuple(_) => true,
        Value::List(items) | Value::Set(items) | Value::FrozenSet(items) => items.iter().any(has_tuple),
        Value::Dict(pairs) => pairs.iter().any(|(key, value)| has_tuple(key) || has_tuple(value)),
        Value::Extended(_, payload) => has_tuple(payload),
        Value::None | Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_) | Value::Complex(..) => false,
        Value::Str(_) | Value::Surrogates(_) | Value::Bytes(_) | Value::ByteArray(_) => false,
        Value::Reference(_) | Value::Opaque { .. } => false,
    }
}

/// The subclasses of dict that compare as a dict does.
fn is_dict_type(name: &str) -> bool {
    matches!(name, "counter" | "ordered_dict" | "default_dict")
}

/// `got` as the dict that it is, where a plain dict is expected.
fn as_plain<'a>(expected: &Value, got: &'a Value) -> &'a Value {
    match (expected, got) {
        (Value::Dict(_), Value::Extended(name, payload)) if is_dict_type(name) => payload,
        _ => got,
    }
}

fn text(value: &Value) -> Cow<'_, [u8]> {
    match value {
        Value::Str(text) => Cow::Borrowed(text.as_bytes()),
        Value::Surrogates(bytes) => Cow::Borrowed(bytes),
        _ => Cow::Borrowed(&[]),
    }
}

/// A value as Python would write it, shortened.
fn shown(value: &Value) -> String {
    let mut out = String::new();
    show(value, &mut out);
    shortened(&out)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Stops when there is more than will be shown. Control characters are escaped: the words end in logs and terminals.
fn show(value: &Value, out: &mut String) {
    if out.len() > EXCERPT * 4 {
        return;
    }
    let start = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(EXCERPT * 4)]).into_owned();
    // Writing to a String can't fail.
    let _ = match value {
        Value::None => write!(out, "None"),
        Value::Bool(v) => write!(out, "{}", if *v { "True" } else { "False" }),
        Value::Int(v) => write!(out, "{v}"),
        Value::BigInt(bytes) if bytes.len() > 64 => {
            write!(out, "an int of {} bits", BigInt::from_signed_bytes_le(bytes).bits())
        }
        Value::BigInt(bytes) => write!(out, "{}", BigInt::from_signed_bytes_le(bytes)),
        Value::Float(v) if v.is_nan() => write!(out, "nan"),
        Value::Float(v) => write!(out, "{v:?}"),
        Value::Complex(re, im) => write!(out, "complex({re:?}, {im:?})"),
        Value::Str(text) => write!(out, "{:?}", start(text.as_bytes())),
        Value::Surrogates(bytes) => write!(out, "{:?}", start(bytes)),
        Value::Bytes(bytes) => write!(out, "b\"{}\"", bytes[..bytes.len().min(EXCERPT)].escape_ascii()),
        Value::ByteArray(bytes) => write!(out, "bytearray(b\"{}\")", bytes[..bytes.len().min(EXCERPT)].escape_ascii()),
        Value::List(items) => return show_items("[", items, "]", out),
        Value::Tuple(items) if items.len() == 1 => return show_items("(", items, ",)", out),
        Value::Tuple(items) => return show_items("(", items, ")", out),
        Value::Set(items) if !items.is_empty() => return show_items("{", items, "}", out),
        Value::Set(items) => return show_items("set(", items, ")", out),
        Value::FrozenSet(items) => return show_items("frozenset(", items, ")", out),
        Value::Dict(pairs) => {
            out.push('{');
            for (index, (key, value)) in pairs.iter().enumerate().take(EXCERPT) {
                out.push_str(if index > 0 { ", " } else { "" });
                show(key, out);
                out.push_str(": ");
                show(value, out);
            }
            write!(out, "}}")
        }
        Value::Reference(_) => write!(out, "..."),
        Value::Extended(name, payload) => {
            out.push_str(&shortened(&start(name.as_bytes()).escape_debug().to_string()));
            return show_items("(", std::slice::from_ref(payload), ")", out);
        }
        Value::Opaque { type_name, repr } => {
            let (type_name, repr) = (start(type_name.as_bytes()), start(repr.as_bytes()));
            write!(
                out,
                "an object of type {} ({})",
                shortened(&type_name.escape_debug().to_string()),
                repr.escape_debug()
            )
        }
    };
}

fn show_items(open: &str, items: &[Value], close: &str, out: &mut String) {
    out.push_str(open);
    for (index, item) in items.iter().enumerate().take(EXCERPT) {
        out.push_str(if index > 0 { ", " } else { "" });
        show(item, out);
    }
    out.push_str(close);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CLOSE: Compare = Compare::Close { rtol: 1e-6, atol: 1e-9 };

    fn read(json: Json) -> Value {
        Value::from_json(&json).expect("it is a value")
    }

    fn tuple(items: Json) -> Json {
        json!({"$type": "tuple", "items": items})
    }

    fn set(items: Json) -> Json {
        json!({"$type": "set", "items": items})
    }

    fn int(text: &str) -> Json {
        json!({"$type": "int", "value": text})
    }

    fn how(expected: Json, got: Json, how: Compare) -> Result<(), String> {
        compare(&expected, &read(got), how)
    }

    fn exact(expected: Json, got: Json) -> Result<(), String> {
        how(expected, got, Compare::Exact)
    }

    #[track_caller]
    fn equal(expected: Json, got: Json) {
        assert_eq!(exact(expected, got), Ok(()));
    }

    #[track_caller]
    fn unequal(expected: Json, got: Json) -> String {
        exact(expected, got).expect_err("they differ")
    }

    #[test]
    fn numbers_are_equal_as_in_python() {
        equal(json!(1), json!(1.0));
        equal(json!(1.0), json!(true));
        equal(json!(false), json!(0));
        equal(json!(-0.0), json!(0));
        equal(json!(2), json!({"$type": "complex", "real": 2.0, "imag": 0.0}));
        equal(json!(1.5), json!({"$type": "complex", "real": 1.5, "imag": 0.0}));
        unequal(json!(1), json!("1"));
        unequal(json!(0), json!(null));
        unequal(json!(1), json!(1.0000001));
        unequal(json!({"$type": "complex", "real": 0.0, "imag": 1.0}), json!(0));
    }

    #[test]
    fn ints_and_floats_are_compared_exactly() {
        // 2**53 + 1 is no float.
        equal(json!(9007199254740992i64), json!(9007199254740992.0));
        unequal(json!(9007199254740993i64), json!(9007199254740992.0));
        equal(int("0x10000000000000000"), json!(18446744073709551616.0));
        unequal(int("18446744073709551617"), json!(18446744073709551616.0));
        equal(int("-0x100000000000000000000"), int("-1208925819614629174706176"));
        unequal(int(&format!("0x{}", "f".repeat(4000))), json!({"$type": "float", "value": "inf"}));
    }

    #[test]
    fn not_a_number_equals_itself_here() {
        let nan = || json!({"$type": "float", "value": "nan"});
        equal(nan(), nan());
        equal(json!([set(json!([nan()])), 1]), json!([set(json!([nan()])), 1]));
        unequal(nan(), json!(0.0));
        assert!(how(nan(), nan(), CLOSE).is_ok());
        assert!(how(json!(1), nan(), CLOSE).is_err());
    }

    #[test]
    fn an_array_is_a_list_or_a_tuple_and_a_tuple_only_a_tuple() {
        equal(json!([1, [2]]), tuple(json!([1, tuple(json!([2]))])));
        equal(tuple(json!([1])), tuple(json!([1])));
        assert_eq!(unequal(tuple(json!([1])), json!([1])), "expected (1,), got [1]");
        assert_eq!(unequal(json!([1]), set(json!([1]))), "expected [1], got {1}");
        equal(set(json!([[1, 2]])), set(json!([tuple(json!([1, 2]))])));
    }

    #[test]
    fn sets_and_dicts_have_no_order() {
        equal(set(json!([1, 2, "a"])), json!({"$type": "frozenset", "items": ["a", 2.0, true]}));
        equal(json!({"a": 1, "b": [2]}), json!({"b": [2], "a": 1}));
        let pairs = |items: Json| json!({"$type": "dict", "items": items});
        equal(pairs(json!([[1, "x"], [[1, 2], "y"]])), pairs(json!([[tuple(json!([1, 2])), "y"], [true, "x"]])));
        assert_eq!(unequal(set(json!([1, 2])), set(json!([1, 3]))), "there is no 2");
        assert_eq!(unequal(set(json!([1])), set(json!([1, 3]))), "there is 3 too many");
        assert_eq!(unequal(json!({"a": 1, "b": 2}), json!({"a": 1})), "there is no key \"b\"");
        assert_eq!(unequal(json!({"a": 1}), json!({"a": 1, "b": 2})), "there is a key \"b\" too many");
        unequal(json!({"1": 1}), pairs(json!([[1, 1]])));
    }

    #[test]
    fn a_forged_dict_or_set_with_a_key_twice_equals_nothing() {
        let twice = Value::Dict(vec![(Value::str("a"), Value::Int(2)), (Value::str("a"), Value::Int(1))]);
        assert!(compare(&json!({"a": 1}), &twice, Compare::Exact).is_err());
        let twice = Value::Set(vec![Value::Int(1), Value::Bool(true)]);
        assert!(compare(&set(json!([1])), &twice, Compare::Exact).is_err());
        assert!(compare(&set(json!([1, 2])), &twice, Compare::Exact).is_err());
    }

    #[test]
    fn richer_values_equal_their_own_type_only() {
        let decimal = |text: &str| json!({"$type": "decimal", "value": text});
        equal(decimal("1.10"), decimal("1.10"));
        unequal(decimal("1.10"), decimal("1.1"));
        unequal(json!(1.1), decimal("1.1"));
        equal(
            json!({"$type": "fraction", "value": [1, 3]}),
            json!({"$type": "fraction", "value": tuple(json!([1, 3]))}),
        );
        // These are dicts.
        let counter = || json!({"$type": "counter", "value": {"a": 2}});
        equal(json!({"a": 2}), counter());
        equal(json!([{"a": 2}]), json!([{"$type": "default_dict", "value": {"a": 2}}]));
        equal(counter(), counter());
        unequal(counter(), json!({"a": 2}));
        unequal(json!([1]), json!({"$type": "deque", "value": tuple(json!([[1], null]))}));
    }

    #[test]
    fn what_could_not_cross_equals_nothing() {
        let opaque = Value::Opaque { type_name: "Liar".into(), repr: "3\u{1b}[2J".into() };
        let words = compare(&json!(3), &opaque, Compare::Exact).expect_err("it equals nothing");
        assert_eq!(words, "expected 3, got an object of type Liar (3\\u{1b}[2J)");
        let seen = || json!({"type": "Liar", "repr": "3\u{1b}[2J"});
        assert!(compare(&seen(), &opaque, Compare::Exact).is_err());
        assert!(compare(&json!([seen()]), &Value::List(vec![opaque.clone()]), Compare::Unordered).is_err());
        assert!(compare(&set(json!([seen()])), &Value::Set(vec![opaque.clone()]), CLOSE).is_err());
        // Expected, it is a dict like any other.
        let dict =
            Value::Dict(vec![(Value::str("type"), Value::str("Liar")), (Value::str("repr"), Value::str("3\u{1b}[2J"))]);
        assert!(compare(&seen(), &dict, Compare::Exact).is_ok());
        assert!(compare_values(&opaque, &opaque, Compare::Exact).is_err());
        assert!(compare_values(&Value::Reference(7), &Value::Reference(7), Compare::Exact).is_err());
    }

    #[test]
    fn the_place_of_the_difference_is_told() {
        assert_eq!(unequal(json!([0, 1, 2, {"a": 4}]), json!([0, 1, 2, {"a": 5}])), "[3][\"a\"]: expected 4, got 5");
        assert_eq!(unequal(json!([[1, 2]]), json!([[1]])), "[0]: expected 2 items, got 1");
        assert_eq!(
            unequal(json!({"k": set(json!([[1]]))}), json!({"k": set(json!([[2]]))})),
            "[\"k\"]: there is no [1]"
        );
        assert_eq!(unequal(json!("a"), json!(["a"])), "expected \"a\", got [\"a\"]");
        assert_eq!(unequal(json!([null]), json!([false])), "[0]: expected None, got False");
        assert_eq!(
            unequal(json!({"$type": "date", "value": "2026-01-02"}), json!({"$type": "date", "value": "2026-01-03"})),
            ".date: expected \"2026-01-02\", got \"2026-01-03\""
        );
    }

    #[test]
    fn words_are_bounded_and_escaped() {
        let long = "x".repeat(100_000);
        let wide: Vec<u32> = (0..100_000).collect();
        for (expected, got) in [
            (json!([long]), json!([1])),
            (json!({ &long: { &long: 1 } }), json!({ &long: { &long: 2 } })),
            (json!([wide]), json!(["x"])),
            (json!([int(&format!("0x{}", "f".repeat(90_000)))]), json!([0])),
        ] {
            let words = unequal(expected, got);
            assert!(words.chars().count() < 500, "{words}");
        }
        assert_eq!(unequal(json!(["\u{1b}]52;\n"]), json!([1])), "[0]: expected \"\\u{1b}]52;\\n\", got 1");
    }

    #[test]
    fn texts_are_compared_as_output_is() {
        assert!(how(json!("a\nb"), json!("a  \nb\n\n"), Compare::Trimmed).is_ok());
        assert!(exact(json!("a"), json!("a ")).is_err());
        assert!(how(json!("1 2"), json!("1\n2"), Compare::Tokens).is_ok());
        assert!(how(json!("a\nb"), json!("b\na"), Compare::Unordered).is_ok());
        assert!(how(json!("x 1.0"), json!("x 1.00000001"), CLOSE).is_ok());
        // Only as the whole result.
        assert!(how(json!(["a"]), json!(["a "]), Compare::Trimmed).is_err());
        // A lone surrogate is itself and no replacement character.
        let lone = || json!({"$type": "str", "surrogatepass_base64": "7aCA"});
        equal(lone(), lone());
        unequal(json!("\u{fffd}"), lone());
    }

    #[test]
    fn unordered_takes_the_items_of_a_sequence_in_any_order() {
        let unordered = |expected, got| how(expected, got, Compare::Unordered);
        assert!(unordered(json!([3, 1, 2]), json!([1, 2, 3])).is_ok());
        assert!(unordered(json!([1, 1, 2]), tuple(json!([2, 1, true]))).is_ok());
        assert!(unordered(json!([{"a": [1]}, [2]]), json!([[2], {"a": [1.0]}])).is_ok());
        assert_eq!(unordered(json!([1, 1, 2]), json!([1, 2, 2])), Err("there is no 1".to_owned()));
        assert_eq!(unordered(json!([1]), json!([1, 1])), Err("there is 1 too many".to_owned()));
        assert_eq!(unordered(tuple(json!([1])), json!([1])), Err("expected (1,), got [1]".to_owned()));
        // Only at the top.
        assert!(unordered(json!([[1, 2]]), json!([[2, 1]])).is_err());
        // The one that asks for a tuple gets it.
        assert!(unordered(json!([[1], tuple(json!([1]))]), json!([tuple(json!([1])), [1]])).is_ok());
        assert!(unordered(json!([[1], tuple(json!([1]))]), json!([[1], [1]])).is_err());
    }

    #[test]
    fn close_lets_numbers_differ_however_deep() {
        let close = |expected, got| how(expected, got, CLOSE);
        assert!(close(json!([1.0, {"a": [0.3]}]), json!([1, {"a": [0.1 + 0.2]}])).is_ok());
        assert_eq!(close(json!([0.3]), json!([0.31])), Err("[0]: expected 0.3, got 0.31".to_owned()));
        assert!(close(json!([1.0, "a"]), json!([1.0, "b"])).is_err());
        assert!(close(json!(1_000_000), json!(1_000_001)).is_ok());
        assert!(close(json!(0), json!(1e-10)).is_ok());
        assert!(close(json!(1.0), json!(null)).is_err());
        let infinite = |sign: &str| json!({"$type": "float", "value": format!("{sign}inf")});
        assert!(close(infinite(""), infinite("")).is_ok());
        assert!(close(infinite(""), infinite("-")).is_err());
        assert!(close(infinite(""), json!(1e308)).is_err());
        assert!(close(json!(1e308), infinite("")).is_err());
        let complex = |re: f64, im: f64| json!({"$type": "complex", "real": re, "imag": im});
        assert!(close(complex(1.0, 1.0), complex(1.0, 1.000_000_1)).is_ok());
        assert!(close(complex(1.0, 1.0), json!(1)).is_err());
        // Too large for a float: itself only.
        let (huge, other) = (format!("0x{}", "f".repeat(400)), format!("0x{}e", "f".repeat(399)));
        assert!(close(int(&huge), int(&huge)).is_ok());
        assert!(close(int(&huge), int(&other)).is_err());
        assert!(close(int(&huge), infinite("")).is_err());
        assert!(close(int("18446744073709551616"), int("18446744073709551617")).is_ok());
    }

    /// `[[last], [r, r], [r, r], …]`: each item holds the one before twice. `number` is that of the list itself.
    fn doubling(number: u32, last: Value) -> Value {
        let mut items = vec![Value::List(vec![last])];
        items.extend((number + 1..number + 60).map(|before| Value::List(vec![Value::Reference(before); 2])));
        Value::List(items)
    }

    #[test]
    fn what_is_expected_twice_in_a_set_or_as_a_key_is_expected_once() {
        equal(set(json!([1, 1, true, 2])), set(json!([2, 1])));
        assert_eq!(unequal(set(json!([1, 1])), set(json!([1, 2]))), "there is 2 too many");
        let dict = |items: Json| json!({"$type": "dict", "items": items});
        equal(dict(json!([[1, "a"], [true, "b"]])), dict(json!([[1, "b"]])));
        unequal(dict(json!([[1, "a"], [true, "b"]])), dict(json!([[1, "a"]])));
        // A result that holds an item twice is forged.
        let twice = Value::Set(vec![Value::Int(1), Value::Int(1)]);
        assert!(compare(&set(json!([1])), &twice, Compare::Exact).is_err());
        let twice = Value::Dict(vec![(Value::Int(1), Value::Int(1)), (Value::Int(1), Value::Int(1))]);
        assert!(compare(&dict(json!([[1, 1]])), &twice, Compare::Exact).is_err());
    }

    #[test]
    fn an_expected_dict_may_look_like_what_could_not_cross() {
        let looks = json!({"type": "int", "repr": "3"});
        let dict = Value::Dict(vec![(Value::str("type"), Value::str("int")), (Value::str("repr"), Value::str("3"))]);
        assert_eq!(parse_value(&looks), Ok(dict.clone()));
        assert_eq!(parse_value(&json!([looks])), Ok(Value::List(vec![dict])));
    }

    #[test]
    fn numbers_are_compared_by_value_alone() {
        let float = |word: &str| json!({"$type": "float", "value": word});
        let huge = int(&format!("0x1{}", "0".repeat(300)));
        let table = [
            (json!(0), json!(-0.0), true),
            (json!(0.0), json!(-0.0), true),
            (json!(true), json!(1.0), true),
            (float("nan"), float("nan"), true),
            (float("nan"), json!(0), false),
            (float("inf"), float("inf"), true),
            (float("inf"), float("-inf"), false),
            (float("inf"), huge.clone(), false),
            (huge.clone(), float("inf"), false),
            (huge.clone(), huge, true),
            (json!(1), json!("1"), false),
            (json!(0), json!(null), false),
            (json!(0), json!(""), false),
            (json!(0), json!([]), false),
            (json!([]), json!({}), false),
            (json!([]), set(json!([])), false),
            (json!([]), tuple(json!([])), true),
            (tuple(json!([])), json!([]), false),
            (json!(""), json!({"$type": "bytes", "base64": ""}), false),
        ];
        for how in [Compare::Exact, Compare::Trimmed, Compare::Tokens, Compare::Unordered, CLOSE] {
            let large = (json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992.0), how == CLOSE);
            for (expected, got, same) in table.iter().chain([&large]) {
                assert_eq!(compare(expected, &read(got.clone()), how).is_ok(), *same, "{how:?} {expected} {got}");
                let (expected, got) = (json!([expected]), json!([got]));
                assert_eq!(compare(&expected, &read(got.clone()), how).is_ok(), *same, "{how:?} {expected} {got}");
            }
        }
    }

    #[test]
    fn texts_in_values_are_never_normalised() {
        for (expected, got) in [("\u{e9}", "e\u{301}"), ("\u{212b}", "\u{c5}"), ("a", "\u{430}"), ("\u{fb01}", "fi")] {
            for wrap in [|text: &str| json!([text]), |text: &str| set(json!([text])), |text: &str| json!({ text: 1 })] {
                unequal(wrap(expected), wrap(got));
            }
        }
    }

    #[test]
    fn comparisons_of_one_submission_share_their_budget() {
        let bomb = Value::Set(vec![doubling(1, Value::None)]);
        let mut budget = Budget::default();
        assert!(compare_within(&bomb, &bomb, Compare::Exact, &mut budget).is_err());
        let one = || Value::List(vec![Value::Int(1)]);
        let rest = compare_within(&one(), &one(), Compare::Exact, &mut budget);
        assert_eq!(rest, Err("the values take too long to compare".to_owned()));
    }

    #[test]
    fn cycles_and_shared_containers_never_loop() {
        let cycle = || Value::List(vec![Value::Reference(0), Value::Int(1)]);
        assert_eq!(compare_values(&cycle(), &cycle(), Compare::Exact), Ok(()));
        assert!(
            compare_values(&Value::List(vec![Value::List(vec![]), Value::Int(1)]), &cycle(), Compare::Exact).is_err()
        );
        for how in [Compare::Exact, CLOSE, Compare::Unordered] {
            assert!(compare(&json!([[[[1]]], 1]), &cycle(), how).is_err());
        }
        // Cycles of different lengths that look the same from outside.
        let longer = Value::List(vec![Value::List(vec![Value::Reference(0), Value::Int(1)]), Value::Int(1)]);
        assert_eq!(compare_values(&cycle(), &longer, Compare::Exact), Ok(()));

        assert_eq!(compare_values(&doubling(0, Value::None), &doubling(0, Value::None), Compare::Exact), Ok(()));
        assert!(compare_values(&doubling(0, Value::None), &doubling(0, Value::Int(0)), Compare::Exact).is_err());
    }

    #[test]
    fn work_and_depth_are_bounded() {
        // Keys of shared containers would be written again and again.
        let bomb = doubling(1, Value::None);
        let words = compare_values(&Value::Set(vec![bomb.clone()]), &Value::Set(vec![bomb.clone()]), Compare::Exact);
        assert_eq!(words, Err("the values take too long to compare".to_owned()));
        let words = compare_values(&Value::List(vec![bomb.clone()]), &Value::List(vec![bomb]), Compare::Unordered);
        assert_eq!(words, Err("the values take too long to compare".to_owned()));
        // A chain of references goes deeper than any message nests.
        let chain = || {
            let mut items = vec![Value::List(vec![])];
            items.extend((1..100_000).map(|number| Value::List(vec![Value::Reference(number)])));
            Value::Tuple(vec![Value::Reference(100_000), Value::List(items)])
        };
        let reordered = |chain: Value| match chain {
            Value::Tuple(mut items) => {
                items.reverse();
                Value::Tuple(items)
            }
            other => other,
        };
        let deep = Value::Set(vec![reordered(chain())]);
        assert!(compare_values(&deep, &deep, Compare::Exact).is_err());
        assert_eq!(
            compare_values(&chain(), &chain(), Compare::Exact),
            Err(format!("the values nest deeper than {MAX_DEPTH}"))
        );
    }

    #[test]
    fn large_values_are_compared_fast() {
        let many: Vec<u32> = (0..200_000).collect();
        let reversed: Vec<u32> = many.iter().rev().copied().collect();
        assert_eq!(how(json!(many), json!(reversed), Compare::Unordered), Ok(()));
        assert_eq!(exact(set(json!(many)), set(json!(reversed))), Ok(()));
        let same = vec![7; 200_000];
        assert_eq!(how(json!(same), json!(same), Compare::Unordered), Ok(()));
        // All keys the same, no item what is asked for.
        let (lists, tuples) = (vec![json!([1]); 20_000], vec![tuple(json!([1])); 20_000]);
        assert!(how(json!(tuples), json!(lists), Compare::Unordered).is_err());
    }

    /// Numbers that are the same in each test run (Knuth's MMIX generator).
    struct Choices(u64);

    impl Choices {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) % bound
        }

        fn value(&mut self, depth: u32, hashable: bool) -> Value {
            let kinds = if depth == 0 { 9 } else { 14 };
            let items = |choices: &mut Self, hashable| {
                (0..choices.below(4)).map(|_| choices.value(depth - 1, hashable)).collect::<Vec<_>>()
            };
            match self.below(kinds) {
                0 => Value::None,
                1 => Value::Bool(self.below(2) == 0),
                2 | 3 => Value::Int(self.below(5).cast_signed() - 2),
                4 => Value::Float([0.5, 1.0, -2.0, 0.0, f64::NAN, f64::INFINITY][self.below(6) as usize]),
                5 => Value::BigInt(vec![0, 0, 0, 0, 0, 0, 0, 0, 1 + self.below(2) as u8]),
                6 => Value::Complex(self.below(2) as f64, self.below(2) as f64),
                7 => Value::str(["", "a", "1", "$type"][self.below(4) as usize]),
                8 => Value::Bytes(vec![b'a'; self.below(3) as usize]),
                9 | 10 => Value::Tuple(items(self, hashable)),
                11 if !hashable => Value::Set(unique(items(self, true))),
                12 if !hashable => {
                    let keys = unique(items(self, true));
                    Value::Dict(keys.into_iter().map(|key| (key, self.value(depth - 1, false))).collect())
                }
                _ if !hashable => Value::List(items(self, false)),
                _ => Value::FrozenSet(unique(items(self, true))),
            }
        }

        fn shuffled(&mut self, value: &Value) -> Value {
            let mut value = value.clone();
            match &mut value {
                Value::Set(items) | Value::FrozenSet(items) => {
                    (1..items.len()).for_each(|end| items.swap(end, self.below(end as u64 + 1) as usize));
                    items.iter_mut().for_each(|item| *item = self.shuffled(item));
                }
                Value::Dict(pairs) => {
                    (1..pairs.len()).for_each(|end| pairs.swap(end, self.below(end as u64 + 1) as usize));
                    pairs.iter_mut().for_each(|(_, value)| *value = self.shuffled(value));
                }
                Value::List(items) | Value::Tuple(items) => {
                    items.iter_mut().for_each(|item| *item = self.shuffled(item));
                }
                _ => {}
            }
            value
        }
    }

    /// Removes duplicates, as a Python set does.
    fn unique(items: Vec<Value>) -> Vec<Value> {
        let mut kept: Vec<Value> = Vec::new();
        for item in items {
            if !kept.iter().any(|other| same(other, &item)) {
                kept.push(item);
            }
        }
        kept
    }

    /// The same rules, written without care for time: quadratic, and without references.
    fn same(expected: &Value, got: &Value) -> bool {
        let subset = |a: &[Value], b: &[Value]| a.iter().all(|a| b.iter().any(|b| same(a, b)));
        match (expected, got) {
            (Value::List(a), Value::List(b) | Value::Tuple(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
            }
            (Value::Set(a) | Value::FrozenSet(a), Value::Set(b) | Value::FrozenSet(b)) => {
                a.len() == b.len() && subset(a, b)
            }
            (Value::Dict(a), Value::Dict(b)) => {
                let has = |key: &Value, value: &Value| b.iter().any(|(k, v)| same(key, k) && same(value, v));
                a.len() == b.len() && a.iter().all(|(key, value)| has(key, value))
            }
            (Value::None, Value::None) => true,
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::Bytes(a), Value::Bytes(b)) => a == b,
            (a, b) => matches!((Number::of(a), Number::of(b)), (Some(a), Some(b)) if a.equals(&b)),
        }
    }

    #[test]
    fn any_two_values_are_compared_as_the_slow_way_does() {
        let mut choices = Choices(1);
        let mut found_equal = 0;
        for _ in 0..20_000 {
            let depth = choices.below(4) as u32;
            let expected = choices.value(depth, false);
            let got = if choices.below(3) == 0 { choices.shuffled(&expected) } else { choices.value(depth, false) };
            let is_equal = compare_values(&expected, &got, Compare::Exact).is_ok();
            // Texts at the top are compared as output is, which is the same when exact.
            assert_eq!(is_equal, same(&expected, &got), "{expected:?} {got:?}");
            found_equal += usize::from(is_equal);
            if is_equal {
                assert!(compare_values(&expected, &got, Compare::Unordered).is_ok(), "{expected:?} {got:?}");
                assert!(compare_values(&expected, &got, CLOSE).is_ok(), "{expected:?} {got:?}");
            }
        }
        assert!((5_000..15_000).contains(&found_equal), "{found_equal}");
    }

    #[test]
    fn every_value_equals_itself_through_json() {
        let mut choices = Choices(2);
        for _ in 0..5_000 {
            let value = choices.value(3, false);
            for how in [Compare::Exact, Compare::Trimmed, Compare::Tokens, Compare::Unordered, CLOSE] {
                assert_eq!(compare(&value.to_json(), &value, how), Ok(()), "{value:?}");
            }
        }
    }

    #[test]
    fn no_message_of_a_guest_makes_it_loop_or_panic() {
        let mut choices = Choices(3);
        let mut decoded = Vec::new();
        for _ in 0..200_000 {
            let bytes: Vec<u8> =
                (0..12).map(|_| b"NTFilStdZrxoslr\x00\x01\x02\x03"[choices.below(19) as usize]).collect();
            for end in 1..=bytes.len() {
                decoded.extend(Value::decode(&bytes[..end]));
            }
        }
        assert!(decoded.len() > 10_000, "{}", decoded.len());
        for pair in decoded.windows(2) {
            for how in [Compare::Exact, Compare::Unordered, CLOSE] {
                let _ = compare_values(&pair[0], &pair[1], how);
                let _ = compare_values(&pair[0], &pair[0], how);
            }
        }
    }
}
