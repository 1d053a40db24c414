//! Python values as plain data: the host's half of the guest's codec (`runtimes/*/guest/codec.c` has the format).
//!
//! What comes from a guest is hostile: [`Value::decode`] allocates no more than a small multiple of the bytes it is
//! given, and bounds the depth.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use num_bigint::{BigInt, Sign};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// Deepest nesting that crosses. Deeper values are given by their `repr`.
pub const MAX_DEPTH: usize = 200;

/// CPython's own limit for `str(int)`; longer ints are given in hexadecimal, which takes linear time.
const MAX_DECIMAL_DIGITS: u64 = 4300;

/// A Python value that crossed the boundary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// Value `None` of Python.
    None,
    /// Value of type `bool`.
    Bool(bool),
    /// `int` within 64 bits
    Int(i64),
    /// Value of type `int` beyond 64 bits, in little-endian two's complement.
    BigInt(#[serde(with = "serde_bytes")] Vec<u8>),
    /// Value of type `float`.
    Float(f64),
    /// Value of type `complex`: real and imaginary part.
    Complex(f64, f64),
    /// Value of type `str` without lone surrogates.
    Str(String),
    /// `str` with lone surrogates, in UTF-8 with "surrogatepass"
    Surrogates(#[serde(with = "serde_bytes")] Vec<u8>),
    /// Value of type `bytes`.
    Bytes(#[serde(with = "serde_bytes")] Vec<u8>),
    /// Value of type `bytearray`.
    ByteArray(#[serde(with = "serde_bytes")] Vec<u8>),
    /// Value of type `tuple`.
    Tuple(Vec<Value>),
    /// Value of type `list`.
    List(Vec<Value>),
    /// Value of type `set`.
    Set(Vec<Value>),
    /// Value of type `frozenset`.
    FrozenSet(Vec<Value>),
    /// `dict`, in insertion order
    Dict(Vec<(Value, Value)>),
    /// A container that came before, by the number of its beginning
    Reference(u32),
    /// A richer type, reduced to a name and plain payload
    Extended(String, Box<Value>),
    /// A value that can't cross
    Opaque {
        /// Qualified name of its type
        type_name: String,
        /// `repr()` of it
        repr: String,
    },
}

/// Bytes that are not a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed value at byte {at}: {what}")]
pub struct Malformed {
    /// Offset into the message.
    pub at: usize,
    /// Description of the error.
    pub what: &'static str,
}

/// Types beyond the builtin ones that cross whole: the names that the guest's `values.py` gives them.
const EXTENDED: [&str; 14] = [
    "range",
    "slice",
    "ellipsis",
    "not_implemented",
    "decimal",
    "fraction",
    "date",
    "time",
    "datetime",
    "timedelta",
    "deque",
    "counter",
    "ordered_dict",
    "default_dict",
];

/// JSON that is not a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct NotAValue {
    what: String,
}

impl Value {
    /// Makes a `str` of this text.
    pub fn str(text: impl Into<String>) -> Self {
        Self::Str(text.into())
    }

    /// Returns the bytes of the texts in it and some for each value, roughly: it looks at a few thousand values.
    pub fn text_bytes(&self) -> usize {
        const EACH: usize = 8;
        const MAX_VALUES: usize = 1 << 14;
        let (mut bytes, mut left, mut waiting) = (0_usize, MAX_VALUES, vec![self]);
        while let Some(value) = waiting.pop() {
            if left == 0 {
                break;
            }
            left -= 1;
            bytes = bytes.saturating_add(EACH);
            match value {
                Self::Str(text) => bytes = bytes.saturating_add(text.len()),
                Self::BigInt(content) | Self::Surrogates(content) | Self::Bytes(content) | Self::ByteArray(content) => {
                    bytes = bytes.saturating_add(content.len());
                }
                Self::Opaque { type_name, repr } => bytes = bytes.saturating_add(type_name.len() + repr.len()),
                Self::Tuple(items) | Self::List(items) | Self::Set(items) | Self::FrozenSet(items) => {
                    waiting.extend(items.iter().take(left));
                }
                Self::Dict(pairs) => waiting.extend(pairs.iter().take(left).flat_map(|(key, value)| [key, value])),
                Self::Extended(_, payload) => waiting.push(payload),
                Self::None | Self::Bool(_) | Self::Int(_) | Self::Float(_) | Self::Complex(..) | Self::Reference(_) => {
                }
            }
        }
        bytes
    }

    /// Parses one message of a guest.
    ///
    /// # Errors
    /// [`Malformed`] when it is not exactly one value, or nests deeper than [`MAX_DEPTH`].
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader { bytes, at: 0, containers: 0 };
        let value = reader.value(0)?;
        if reader.at == bytes.len() { Ok(value) } else { Err(reader.wrong("bytes after the value")) }
    }

    /// The bytes from which the guest's decoder makes this value. Richer types are not sent to guests.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::None => out.push(b'N'),
            Self::Bool(true) => out.push(b'T'),
            Self::Bool(false) => out.push(b'F'),
            Self::Int(v) => {
                out.push(b'i');
                number(((v << 1) ^ (v >> 63)).cast_unsigned(), out);
            }
            Self::BigInt(bytes) => tagged(b'I', bytes, out),
            Self::Float(v) => {
                out.push(b'f');
                out.extend_from_slice(&v.to_le_bytes());
            }
            Self::Complex(re, im) => {
                out.push(b'c');
                out.extend_from_slice(&re.to_le_bytes());
                out.extend_from_slice(&im.to_le_bytes());
            }
            Self::Str(text) => tagged(b's', text.as_bytes(), out),
            Self::Surrogates(bytes) => tagged(b'u', bytes, out),
            Self::Bytes(bytes) => tagged(b'b', bytes, out),
            Self::ByteArray(bytes) => tagged(b'B', bytes, out),
            Self::Tuple(items) => sequence(b't', items, out),
            Self::List(items) => sequence(b'l', items, out),
            Self::Set(items) => sequence(b'S', items, out),
            Self::FrozenSet(items) => sequence(b'Z', items, out),
            Self::Dict(pairs) => {
                out.push(b'd');
                number(pairs.len() as u64, out);
                for (key, value) in pairs {
                    key.encode(out);
                    value.encode(out);
                }
            }
            Self::Reference(index) => {
                out.push(b'r');
                number(u64::from(*index), out);
            }
            Self::Extended(name, payload) => {
                out.push(b'x');
                tagged(b's', name.as_bytes(), out);
                payload.encode(out);
            }
            Self::Opaque { type_name, repr } => {
                out.push(b'o');
                tagged(b's', type_name.as_bytes(), out);
                tagged(b's', repr.as_bytes(), out);
            }
        }
    }

    /// Takes `by` off the number that each reference names: what was part of a message now stands alone.
    pub fn renumber_references(&mut self, by: u32) {
        match self {
            Self::Reference(number) => *number = number.saturating_sub(by),
            Self::Tuple(items) | Self::List(items) | Self::Set(items) | Self::FrozenSet(items) => {
                items.iter_mut().for_each(|item| item.renumber_references(by));
            }
            Self::Dict(pairs) => pairs.iter_mut().for_each(|(key, value)| {
                key.renumber_references(by);
                value.renumber_references(by);
            }),
            Self::Extended(_, payload) => payload.renumber_references(by),
            Self::None | Self::Bool(_) | Self::Int(_) | Self::BigInt(_) | Self::Float(_) | Self::Complex(..) => {}
            Self::Str(_) | Self::Surrogates(_) | Self::Bytes(_) | Self::ByteArray(_) | Self::Opaque { .. } => {}
        }
    }

    /// The value as tagged JSON: plain JSON where JSON has it, `{"$type": …}` where it has not, and
    /// `{"type", "repr"}` for what could not cross.
    pub fn to_json(&self) -> Json {
        match self {
            Self::None => Json::Null,
            Self::Bool(v) => Json::Bool(*v),
            Self::Int(v) if v.unsigned_abs() <= 1 << 53 => json!(v),
            Self::Int(v) => json!({"$type": "int", "value": v.to_string()}),
            Self::BigInt(bytes) => json!({"$type": "int", "value": decimal_or_hex(bytes)}),
            Self::Float(v) => float_json(*v),
            Self::Complex(re, im) => json!({"$type": "complex", "real": float_json(*re), "imag": float_json(*im)}),
            Self::Str(text) => json!(text),
            Self::Surrogates(bytes) => json!({"$type": "str", "surrogatepass_base64": BASE64.encode(bytes)}),
            Self::Bytes(bytes) => json!({"$type": "bytes", "base64": BASE64.encode(bytes)}),
            Self::ByteArray(bytes) => json!({"$type": "bytearray", "base64": BASE64.encode(bytes)}),
            Self::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Self::Tuple(items) => items_json("tuple", items),
            Self::Set(items) => items_json("set", items),
            Self::FrozenSet(items) => items_json("frozenset", items),
            Self::Dict(pairs) => dict_json(pairs),
            Self::Reference(index) => json!({"$type": "reference", "container": index}),
            Self::Extended(name, payload) => json!({"$type": name, "value": payload.to_json()}),
            Self::Opaque { type_name, repr } => json!({"type": type_name, "repr": repr}),
        }
    }

    /// The value that [`Self::to_json`] gives as this JSON. A number without a fraction is an `int`, an array is a
    /// `list`.
    ///
    /// # Errors
    /// [`NotAValue`] for a `$type` that does not exist or lacks its members, and for what nests deeper than
    /// [`MAX_DEPTH`].
    pub fn from_json(json: &Json) -> Result<Self, NotAValue> {
        from_json(json, 0)
    }

    /// Plain JSON as Python's `json` reads it: no member of an object has a meaning of its own.
    ///
    /// # Errors
    /// [`NotAValue`] for what nests deeper than [`MAX_DEPTH`].
    pub fn from_plain_json(json: &Json) -> Result<Self, NotAValue> {
        plain_from_json(json, 0)
    }

    /// Returns whether the value consists of plain builtin types, so that a guest's decoder can make it.
    pub fn is_plain(&self) -> bool {
        match self {
            Self::Extended(..) | Self::Opaque { .. } => false,
            Self::Tuple(items) | Self::List(items) | Self::Set(items) | Self::FrozenSet(items) => {
                items.iter().all(Self::is_plain)
            }
            Self::Dict(pairs) => pairs.iter().all(|(key, value)| key.is_plain() && value.is_plain()),
            _ => true,
        }
    }

    /// An `int`, however large.
    pub fn int(value: &BigInt) -> Self {
        i64::try_from(value).map_or_else(|_| Self::BigInt(value.to_signed_bytes_le()), Self::Int)
    }
}

fn not_a_value(what: impl Into<String>) -> NotAValue {
    NotAValue { what: what.into() }
}

fn plain_from_json(json: &Json, depth: usize) -> Result<Value, NotAValue> {
    if depth > MAX_DEPTH {
        return Err(not_a_value(format!("a value nests deeper than {MAX_DEPTH}")));
    }
    Ok(match json {
        Json::Array(items) => {
            Value::List(items.iter().map(|item| plain_from_json(item, depth + 1)).collect::<Result<_, _>>()?)
        }
        Json::Object(members) => {
            let pairs = members.iter().map(|(key, value)| Ok((Value::str(key), plain_from_json(value, depth + 1)?)));
            Value::Dict(pairs.collect::<Result<_, _>>()?)
        }
        scalar => from_json(scalar, depth)?,
    })
}

fn from_json(json: &Json, depth: usize) -> Result<Value, NotAValue> {
    if depth > MAX_DEPTH {
        return Err(not_a_value(format!("a value nests deeper than {MAX_DEPTH}")));
    }
    Ok(match json {
        Json::Null => Value::None,
        Json::Bool(v) => Value::Bool(*v),
        Json::Number(number) => number_from_json(number)?,
        Json::String(text) => Value::str(text),
        Json::Array(items) => Value::List(items_from_json(items, depth)?),
        Json::Object(members) => match (members.get("$type"), members.get("type"), members.get("repr")) {
            (Some(name), ..) => tagged_from_json(name, members, depth)?,
            (None, Some(Json::String(type_name)), Some(Json::String(repr))) if members.len() == 2 => {
                Value::Opaque { type_name: type_name.clone(), repr: repr.clone() }
            }
            _ => {
                let pairs = members.iter().map(|(key, value)| Ok((Value::str(key), from_json(value, depth + 1)?)));
                Value::Dict(pairs.collect::<Result<_, _>>()?)
            }
        },
    })
}

fn number_from_json(number: &serde_json::Number) -> Result<Value, NotAValue> {
    match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(v), ..) => Ok(Value::Int(v)),
        (None, Some(v), _) => Ok(Value::int(&v.into())),
        (None, None, Some(v)) => Ok(Value::Float(v)),
        (None, None, None) => Err(not_a_value(format!("{number} is no number"))),
    }
}

fn items_from_json(items: &[Json], depth: usize) -> Result<Vec<Value>, NotAValue> {
    items.iter().map(|item| from_json(item, depth + 1)).collect()
}

/// `{"$type": …}`
fn tagged_from_json(name: &Json, members: &serde_json::Map<String, Json>, depth: usize) -> Result<Value, NotAValue> {
    let Json::String(name) = name else { return Err(not_a_value("$type is not a string")) };
    let member = |key: &str| {
        members.get(key).ok_or_else(|| not_a_value(format!("a value of {{\"$type\": {name:?}}} has no {key:?}")))
    };
    let text = |key: &str| {
        let wrong = || not_a_value(format!("{key:?} of {{\"$type\": {name:?}}} is not a string"));
        member(key)?.as_str().ok_or_else(wrong)
    };
    let items = |key: &str| {
        let wrong = || not_a_value(format!("{key:?} of {{\"$type\": {name:?}}} is not a list"));
        member(key)?.as_array().ok_or_else(wrong)
    };
    let bytes = |key: &str| {
        let wrong = |_| not_a_value(format!("{key:?} of {{\"$type\": {name:?}}} is not base64"));
        BASE64.decode(text(key)?).map_err(wrong)
    };
    // A member too many is a misunderstanding; said now, it is not looked for in vain later.
    let only = |known: &[&str]| match members.keys().find(|key| *key != "$type" && !known.contains(&key.as_str())) {
        Some(key) => Err(not_a_value(format!("a value of {{\"$type\": {name:?}}} has a member {key:?}"))),
        None => Ok(()),
    };
    let float = |key: &str| match from_json(member(key)?, depth + 1)? {
        Value::Float(v) => Ok(v),
        // A float written without its fraction.
        Value::Int(v) => Ok(v as f64),
        _ => Err(not_a_value(format!("{key:?} of {{\"$type\": {name:?}}} is not a number"))),
    };
    Ok(match name.as_str() {
        "int" => {
            only(&["value"])?;
            Value::int(&int_from_text(text("value")?)?)
        }
        "float" => {
            only(&["value"])?;
            Value::Float(match text("value")? {
                "nan" => f64::NAN,
                "inf" => f64::INFINITY,
                "-inf" => f64::NEG_INFINITY,
                other => return Err(not_a_value(format!("{other:?} is not \"nan\", \"inf\" or \"-inf\""))),
            })
        }
        "complex" => {
            only(&["real", "imag"])?;
            Value::Complex(float("real")?, float("imag")?)
        }
        "str" => {
            only(&["surrogatepass_base64"])?;
            Value::Surrogates(bytes("surrogatepass_base64")?)
        }
        "bytes" => {
            only(&["base64"])?;
            Value::Bytes(bytes("base64")?)
        }
        "bytearray" => {
            only(&["base64"])?;
            Value::ByteArray(bytes("base64")?)
        }
        "tuple" | "set" | "frozenset" => {
            only(&["items"])?;
            let items = items_from_json(items("items")?, depth)?;
            match name.as_str() {
                "tuple" => Value::Tuple(items),
                "set" => Value::Set(items),
                _ => Value::FrozenSet(items),
            }
        }
        "dict" => {
            only(&["items"])?;
            let pairs = items("items")?.iter().map(|pair| match pair.as_array().map(Vec::as_slice) {
                Some([key, value]) => Ok((from_json(key, depth + 1)?, from_json(value, depth + 1)?)),
                _ => Err(not_a_value("an item of {\"$type\": \"dict\"} is not [key, value]")),
            });
            Value::Dict(pairs.collect::<Result<_, _>>()?)
        }
        "reference" => {
            only(&["container"])?;
            let index = member("container")?.as_u64().and_then(|index| u32::try_from(index).ok());
            Value::Reference(index.ok_or_else(|| not_a_value("\"container\" is not the number of a container"))?)
        }
        name if EXTENDED.contains(&name) => {
            only(&["value"])?;
            Value::Extended(name.to_owned(), Box::new(from_json(member("value")?, depth + 1)?))
        }
        unknown => return Err(not_a_value(format!("there is no {{\"$type\": {unknown:?}}}"))),
    })
}

/// Decimal as far as CPython takes it, hexadecimal (`0x…`) without a bound: only that takes linear time.
fn int_from_text(text: &str) -> Result<BigInt, NotAValue> {
    let (sign, digits) = text.strip_prefix('-').map_or((Sign::Plus, text), |digits| (Sign::Minus, digits));
    let (digits, radix) = digits.strip_prefix("0x").map_or((digits, 10), |digits| (digits, 16));
    if radix == 10 && digits.len() as u64 > MAX_DECIMAL_DIGITS {
        return Err(not_a_value(format!("an int of more than {MAX_DECIMAL_DIGITS} digits has to be in hexadecimal")));
    }
    let valid = !digits.is_empty() && digits.bytes().all(|digit| char::from(digit).is_digit(radix));
    let magnitude = valid.then(|| num_bigint::BigUint::parse_bytes(digits.as_bytes(), radix)).flatten();
    let wrong = || not_a_value(format!("{:?} is not an int", text.chars().take(40).collect::<String>()));
    Ok(BigInt::from_biguint(sign, magnitude.ok_or_else(wrong)?))
}

fn number(mut n: u64, out: &mut Vec<u8>) {
    while n > 0x7f {
        out.push((n as u8) | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn tagged(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn sequence(tag: u8, items: &[Value], out: &mut Vec<u8>) {
    out.push(tag);
    number(items.len() as u64, out);
    for item in items {
        item.encode(out);
    }
}

fn float_json(v: f64) -> Json {
    if v.is_finite() {
        return json!(v);
    }
    let word = if v.is_nan() {
        "nan"
    } else if v > 0.0 {
        "inf"
    } else {
        "-inf"
    };
    json!({"$type": "float", "value": word})
}

fn items_json(name: &str, items: &[Value]) -> Json {
    json!({"$type": name, "items": items.iter().map(Value::to_json).collect::<Vec<_>>()})
}

/// A plain object when every key is a str that can't be mistaken for one of our tags, else a list of pairs.
fn dict_json(pairs: &[(Value, Value)]) -> Json {
    let plain = pairs.iter().all(|(key, _)| matches!(key, Value::Str(text) if !text.starts_with('$')))
        && !(pairs.len() == 2
            && pairs.iter().all(|(key, _)| matches!(key, Value::Str(text) if text == "type" || text == "repr")));
    if !plain {
        let items: Vec<Json> = pairs.iter().map(|(key, value)| json!([key.to_json(), value.to_json()])).collect();
        return json!({"$type": "dict", "items": items});
    }
    let members = pairs.iter().filter_map(|(key, value)| match key {
        Value::Str(text) => Some((text.clone(), value.to_json())),
        _ => None,
    });
    Json::Object(members.collect())
}

fn decimal_or_hex(bytes: &[u8]) -> String {
    let value = BigInt::from_signed_bytes_le(bytes);
    if value.bits() <= MAX_DECIMAL_DIGITS * 3 {
        return value.to_string();
    }
    let sign = if value.sign() == Sign::Minus { "-" } else { "" };
    format!("{sign}0x{}", value.magnitude().to_str_radix(16))
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Containers begun so far: the range of what a reference may name.
    containers: u32,
}

impl Reader<'_> {
    fn wrong(&self, what: &'static str) -> Malformed {
        Malformed { at: self.at, what }
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        let byte = *self.bytes.get(self.at).ok_or(self.wrong("it ends too early"))?;
        self.at += 1;
        Ok(byte)
    }

    fn number(&mut self) -> Result<u64, Malformed> {
        let mut n = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            n |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(n);
            }
        }
        Err(self.wrong("a number has more than 64 bits"))
    }

    fn take(&mut self, length: u64) -> Result<Vec<u8>, Malformed> {
        let length = usize::try_from(length).map_err(|_| self.wrong("a length is too large"))?;
        let end = self
            .at
            .checked_add(length)
            .filter(|end| *end <= self.bytes.len())
            .ok_or(self.wrong("a length goes past the end"))?;
        let taken = self.bytes[self.at..end].to_vec();
        self.at = end;
        Ok(taken)
    }

    fn counted_bytes(&mut self) -> Result<Vec<u8>, Malformed> {
        let length = self.number()?;
        self.take(length)
    }

    fn text(&mut self) -> Result<String, Malformed> {
        String::from_utf8(self.counted_bytes()?).map_err(|_| self.wrong("a str is not UTF-8"))
    }

    fn tagged_text(&mut self) -> Result<String, Malformed> {
        match self.byte()? {
            b's' => self.text(),
            b'u' => Ok(String::from_utf8_lossy(&self.counted_bytes()?).into_owned()),
            _ => Err(self.wrong("a str is expected")),
        }
    }

    fn float(&mut self) -> Result<f64, Malformed> {
        let bytes = self.take(8)?;
        let bytes: [u8; 8] = bytes.try_into().map_err(|_| self.wrong("a float needs 8 bytes"))?;
        Ok(f64::from_le_bytes(bytes))
    }

    /// Every item takes at least a byte, so a count beyond what is left is a lie.
    fn count(&mut self, bytes_each: usize) -> Result<usize, Malformed> {
        let count = self.number()?;
        usize::try_from(count)
            .ok()
            .filter(|count| *count <= (self.bytes.len() - self.at) / bytes_each)
            .ok_or(self.wrong("a count goes past the end"))
    }

    fn items(&mut self, depth: usize) -> Result<Vec<Value>, Malformed> {
        self.begin()?;
        let count = self.count(1)?;
        // Grown as items come: a count that is small in bytes may be large in memory.
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(self.value(depth + 1)?);
        }
        Ok(items)
    }

    fn begin(&mut self) -> Result<(), Malformed> {
        self.containers = self.containers.checked_add(1).ok_or(self.wrong("too many containers"))?;
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Value, Malformed> {
        if depth > MAX_DEPTH {
            return Err(self.wrong("nested too deep"));
        }
        Ok(match self.byte()? {
            b'N' => Value::None,
            b'T' => Value::Bool(true),
            b'F' => Value::Bool(false),
            b'i' => {
                let z = self.number()?;
                Value::Int((z >> 1).cast_signed() ^ -((z & 1).cast_signed()))
            }
            b'I' => Value::BigInt(self.counted_bytes()?),
            b'f' => Value::Float(self.float()?),
            b'c' => Value::Complex(self.float()?, self.float()?),
            b's' => Value::Str(self.text()?),
            b'u' => Value::Surrogates(self.counted_bytes()?),
            b'b' => Value::Bytes(self.counted_bytes()?),
            b'B' => {
                self.begin()?;
                Value::ByteArray(self.counted_bytes()?)
            }
            b't' => Value::Tuple(self.items(depth)?),
            b'l' => Value::List(self.items(depth)?),
            b'S' => Value::Set(self.items(depth)?),
            b'Z' => Value::FrozenSet(self.items(depth)?),
            b'd' => {
                self.begin()?;
                let count = self.count(2)?;
                let mut pairs = Vec::new();
                for _ in 0..count {
                    pairs.push((self.value(depth + 1)?, self.value(depth + 1)?));
                }
                Value::Dict(pairs)
            }
            b'r' => {
                let index = self.number()?;
                Value::Reference(
                    u32::try_from(index)
                        .ok()
                        .filter(|index| *index < self.containers)
                        .ok_or(self.wrong("a reference names nothing"))?,
                )
            }
            b'x' => {
                self.begin()?;
                Value::Extended(self.tagged_text()?, Box::new(self.value(depth + 1)?))
            }
            b'o' => Value::Opaque { type_name: self.tagged_text()?, repr: self.tagged_text()? },
            _ => return Err(self.wrong("an unknown tag")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(value: &Value) {
        let mut bytes = Vec::new();
        value.encode(&mut bytes);
        assert_eq!(Value::decode(&bytes).as_ref(), Ok(value));
    }

    #[test]
    fn texts_count_however_deep_and_millions_of_values_do_not_take_long() {
        let text = |length: usize| Value::str("x".repeat(length));
        let nested = Value::List(vec![Value::Tuple(vec![text(1000)]), Value::Dict(vec![(text(500), Value::None)])]);
        assert!((1500..1600).contains(&nested.text_bytes()), "{}", nested.text_bytes());
        let many = Value::List(vec![Value::Int(1); 1_000_000]);
        assert!((100_000..200_000).contains(&many.text_bytes()), "{}", many.text_bytes());
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for v in [0, 1, -1, 63, 64, -64, -65, i64::MAX, i64::MIN] {
            round_trip(&Value::Int(v));
        }
        round_trip(&Value::Dict(vec![(Value::str("k"), Value::List(vec![Value::Float(1.5), Value::Reference(0)]))]));
        round_trip(&Value::Extended("range".into(), Box::new(Value::Tuple(vec![Value::Int(0)]))));
    }

    #[test]
    fn short_messages_with_large_counts_are_refused() {
        assert!(Value::decode(&[b'l', 0xff, 0xff, 0xff, 0xff, 0x0f]).is_err());
        assert!(Value::decode(&[b's', 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]).is_err());
        assert!(Value::decode(&[b'i', 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]).is_err());
    }

    #[test]
    fn nesting_is_bounded() {
        let deep: Vec<u8> = std::iter::repeat_n([b'l', 1], 100_000).flatten().collect();
        assert!(Value::decode(&deep).is_err());
    }

    #[test]
    fn references_name_only_what_came_before() {
        assert!(Value::decode(&[b'l', 1, b'r', 0]).is_ok());
        assert!(Value::decode(&[b'l', 1, b'r', 1]).is_err());
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let mut state = 1u64;
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..24)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    b"NTFiIfcsubBtlSZdrxo\x01\x02\x03\x7f\xff"[(state >> 33) as usize % 24]
                })
                .collect();
            let _ = Value::decode(&bytes);
        }
    }

    #[test]
    fn json_keeps_what_json_has_and_tags_the_rest() {
        let value = Value::List(vec![
            Value::Int(1 << 60),
            Value::Float(f64::NAN),
            Value::Tuple(vec![Value::Int(1)]),
            Value::Dict(vec![(Value::Int(1), Value::None)]),
            Value::Dict(vec![(Value::str("$type"), Value::None)]),
            Value::Dict(vec![(Value::str("a"), Value::Bool(true))]),
            Value::BigInt(vec![0, 0, 0, 0, 0, 0, 0, 0, 1]),
        ]);
        assert_eq!(
            value.to_json(),
            json!([
                {"$type": "int", "value": "1152921504606846976"},
                {"$type": "float", "value": "nan"},
                {"$type": "tuple", "items": [1]},
                {"$type": "dict", "items": [[1, null]]},
                {"$type": "dict", "items": [["$type", null]]},
                {"a": true},
                {"$type": "int", "value": "18446744073709551616"}
            ])
        );
    }

    /// Containers, one in the other, of every type; what comes out is what JSON must give back.
    fn every_type() -> Value {
        Value::List(vec![
            Value::None,
            Value::Bool(true),
            Value::Int(i64::MIN),
            Value::BigInt(vec![0, 0, 0, 0, 0, 0, 0, 0, 1]),
            Value::BigInt([vec![7; 3000], vec![0x80]].concat()),
            Value::Float(-0.0),
            Value::Float(f64::NEG_INFINITY),
            Value::Complex(f64::INFINITY, 2.0),
            Value::str("$type"),
            Value::Surrogates(vec![0xed, 0xa0, 0x80]),
            Value::Bytes(vec![0, 255]),
            Value::ByteArray(vec![1]),
            Value::Tuple(vec![Value::Set(vec![Value::FrozenSet(vec![])])]),
            Value::Dict(vec![(Value::str("a"), Value::Reference(0)), (Value::str("b c"), Value::Dict(vec![]))]),
            Value::Dict(vec![(Value::Int(1), Value::None)]),
            Value::Dict(vec![(Value::str("$type"), Value::str("int"))]),
            Value::Dict(vec![(Value::str("type"), Value::str("x")), (Value::str("repr"), Value::str("y"))]),
            Value::Extended("decimal".into(), Box::new(Value::str("1.10"))),
            Value::Extended("fraction".into(), Box::new(Value::Tuple(vec![Value::Int(1), Value::Int(3)]))),
            Value::Opaque { type_name: "C".into(), repr: "<C>".into() },
        ])
    }

    #[test]
    fn what_is_given_as_json_is_read_back() {
        let value = every_type();
        assert_eq!(Value::from_json(&value.to_json()).as_ref(), Ok(&value));
        let through_text: Json = serde_json::from_str(&value.to_json().to_string()).expect("it is JSON");
        assert_eq!(Value::from_json(&through_text), Ok(value));
        let nan = Value::from_json(&Value::Float(f64::NAN).to_json());
        assert!(matches!(nan, Ok(Value::Float(v)) if v.is_nan()), "{nan:?}");
    }

    #[test]
    fn plain_json_is_plain_python() {
        let read = |json: Json| Value::from_json(&json).expect("it is a value");
        assert_eq!(read(json!(1)), Value::Int(1));
        assert_eq!(read(json!(1.0)), Value::Float(1.0));
        assert_eq!(read(json!(u64::MAX)), Value::BigInt(vec![255, 255, 255, 255, 255, 255, 255, 255, 0]));
        assert_eq!(read(json!({"$type": "int", "value": "-0x10"})), Value::Int(-16));
        assert_eq!(read(json!({"type": "x"})), Value::Dict(vec![(Value::str("type"), Value::str("x"))]));
        assert_eq!(read(json!({"$type": "complex", "real": 1, "imag": 0.5})), Value::Complex(1.0, 0.5));
    }

    #[test]
    fn tags_that_make_no_sense_are_refused_with_their_name() {
        let refused = |json: Json| Value::from_json(&json).expect_err("it is no value").to_string();
        assert_eq!(refused(json!([{"$type": "tupel", "items": []}])), r#"there is no {"$type": "tupel"}"#);
        assert_eq!(refused(json!({"$type": "tuple"})), r#"a value of {"$type": "tuple"} has no "items""#);
        assert_eq!(
            refused(json!({"$type": "tuple", "items": [], "x": 1})),
            r#"a value of {"$type": "tuple"} has a member "x""#
        );
        assert_eq!(refused(json!({"$type": "int", "value": "1_000"})), r#""1_000" is not an int"#);
        for json in [
            json!({"$type": 1}),
            json!({"$type": "int", "value": ""}),
            json!({"$type": "int", "value": "--1"}),
            json!({"$type": "int", "value": "0x"}),
            json!({"$type": "int", "value": "9".repeat(4301)}),
            json!({"$type": "float", "value": "1.5"}),
            json!({"$type": "bytes", "base64": "?"}),
            json!({"$type": "dict", "items": [[1]]}),
            json!({"$type": "reference", "container": -1}),
        ] {
            refused(json);
        }
        let deep = (0..=MAX_DEPTH).fold(json!(1), |inner, _| json!([inner]));
        refused(deep);
    }

    #[test]
    fn every_type_that_the_guest_reduces_is_known() {
        let source = include_str!("../../../runtimes/python-3.13/guest/values.py");
        let named = source.lines().filter_map(|line| line.split_once("lambda v: (\"")?.1.split_once('"'));
        let mut names: Vec<&str> = named.map(|(name, _)| name).collect();
        let mut known = EXTENDED.to_vec();
        names.sort_unstable();
        known.sort_unstable();
        assert_eq!(names, known);
    }
}
