//! JSON values whose memory is counted.

use crate::bounds::{Held, Use};
use indexmap::IndexMap;
use std::cmp::Ordering;
use std::sync::Arc;

/// Arrays and objects within each other.
pub(super) const MAX_DEPTH: usize = 512;
/// Memory that a value takes in an array or object, about, in bytes.
pub(super) const BYTES_A_VALUE: usize = 40;
/// Memory that a name takes in an object, about, in bytes.
const BYTES_A_NAME: usize = 96;
/// Memory that an array, an object or a string takes beside its content, about, in bytes.
const BYTES_A_HEADER: usize = 96;

/// Reason for which a filter ends early.
#[derive(Debug)]
pub(super) enum Failure {
    /// An error that `try` catches, with its value.
    Error(Value),
    Memory,
}

/// Content in memory that is counted.
#[derive(Debug)]
pub(super) struct Counted<T> {
    pub(super) content: T,
    /// Levels of arrays and objects, itself included.
    depth: usize,
    held: Held,
}

/// Parts of an array or an object.
pub(super) trait Content: Clone {
    /// Memory of the parts without their names, about, in bytes.
    fn bytes(&self) -> usize;
    /// Bytes of all names.
    fn name_bytes(&self) -> usize;
    fn into_value(counted: Arc<Counted<Self>>) -> Value;
}

impl Content for Vec<Value> {
    fn bytes(&self) -> usize {
        self.capacity() * BYTES_A_VALUE
    }

    fn name_bytes(&self) -> usize {
        0
    }

    fn into_value(counted: Arc<Counted<Self>>) -> Value {
        Value::Array(counted)
    }
}

impl Content for Names {
    fn bytes(&self) -> usize {
        self.len() * (BYTES_A_NAME + BYTES_A_VALUE)
    }

    fn name_bytes(&self) -> usize {
        self.keys().map(|name| name.len()).sum()
    }

    fn into_value(counted: Arc<Counted<Self>>) -> Value {
        Value::Object(counted)
    }
}

pub(super) type Names = IndexMap<Arc<str>, Value>;

/// A JSON value.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(f64),
    String(Arc<Counted<String>>),
    Array(Arc<Counted<Vec<Value>>>),
    Object(Arc<Counted<Names>>),
}

/// Maker of values.
#[derive(Debug, Clone)]
pub(super) struct Memory(pub(super) Arc<Use>);

impl Memory {
    pub(super) fn hold(&self, bytes: usize) -> Result<Held, Failure> {
        self.0.hold(bytes).ok_or(Failure::Memory)
    }

    pub(super) fn string(&self, content: impl Into<String>) -> Result<Value, Failure> {
        let content = content.into();
        let held = self.hold(content.capacity() + BYTES_A_HEADER)?;
        Ok(Value::String(Arc::new(Counted { content, depth: 0, held })))
    }

    pub(super) fn array(&self, content: Vec<Value>) -> Result<Value, Failure> {
        let held = self.hold(content.capacity() * BYTES_A_VALUE + BYTES_A_HEADER)?;
        let depth = 1 + content.iter().map(Value::depth).max().unwrap_or(0);
        self.check(depth)?;
        Ok(Value::Array(Arc::new(Counted { content, depth, held })))
    }

    pub(super) fn object(&self, content: Names) -> Result<Value, Failure> {
        let names: usize = content.keys().map(|name| name.len() + BYTES_A_NAME).sum();
        let held = self.hold(names + content.len() * BYTES_A_VALUE + BYTES_A_HEADER)?;
        let depth = 1 + content.values().map(Value::depth).max().unwrap_or(0);
        self.check(depth)?;
        Ok(Value::Object(Arc::new(Counted { content, depth, held })))
    }

    /// Changes the content of an array or object: where it is if nobody else has it, else in a copy. `by` returns the
    /// levels of the part that it puts in, and the bytes of its name.
    pub(super) fn change<T: Content>(
        &self,
        mut whole: Arc<Counted<T>>,
        by: impl FnOnce(&mut T) -> Result<(usize, usize), Failure>,
    ) -> Result<Value, Failure> {
        if Arc::get_mut(&mut whole).is_none() {
            let held = self.hold(whole.content.bytes() + whole.content.name_bytes() + BYTES_A_HEADER)?;
            whole = Arc::new(Counted { content: whole.content.clone(), depth: whole.depth, held });
        }
        if let Some(counted) = Arc::get_mut(&mut whole) {
            let before = counted.content.bytes();
            let (depth, name) = by(&mut counted.content)?;
            let more = counted.content.bytes().saturating_sub(before);
            if more > 0 && !counted.held.grow(more + name) {
                return Err(Failure::Memory);
            }
            counted.depth = counted.depth.max(1 + depth);
            self.check(counted.depth)?;
        }
        Ok(T::into_value(whole))
    }

    fn check(&self, depth: usize) -> Result<(), Failure> {
        match depth > MAX_DEPTH {
            true => Err(self.error("Exceeds depth limit")),
            false => Ok(()),
        }
    }

    /// Makes an error with a message.
    pub(super) fn error(&self, message: impl Into<String>) -> Failure {
        self.string(message).map_or_else(|failure| failure, Failure::Error)
    }
}

impl Value {
    /// Levels of arrays and objects.
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::Array(array) => array.depth,
            Self::Object(object) => object.depth,
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => 0,
        }
    }

    pub(super) fn is_true(&self) -> bool {
        !matches!(self, Self::Null | Self::Bool(false))
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(&text.content),
            _ => None,
        }
    }

    /// Elements or names that a value has.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::String(text) => text.content.len(),
            Self::Array(array) => array.content.len(),
            Self::Object(object) => object.content.len(),
            Self::Null | Self::Bool(_) | Self::Number(_) => 0,
        }
    }

    /// Compares two values in jq's order: null, false, true, numbers, strings, arrays, objects.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let rank = |value: &Self| match value {
            Self::Null => 0,
            Self::Bool(false) => 1,
            Self::Bool(true) => 2,
            Self::Number(_) => 3,
            Self::String(_) => 4,
            Self::Array(_) => 5,
            Self::Object(_) => 6,
        };
        match (self, other) {
            // What is no number is less than all that are.
            (Self::Number(left), Self::Number(right)) => left.partial_cmp(right).unwrap_or(match left.is_nan() {
                true => Ordering::Less,
                false => Ordering::Greater,
            }),
            (Self::String(left), Self::String(right)) => left.content.cmp(&right.content),
            (Self::Array(left), Self::Array(right)) => {
                let pairs = left.content.iter().zip(&right.content);
                let unequal = pairs.map(|(one, two)| one.order(two)).find(|order| order.is_ne());
                unequal.unwrap_or_else(|| left.content.len().cmp(&right.content.len()))
            }
            (Self::Object(left), Self::Object(right)) => {
                let (one, two) = (sorted_names(&left.content), sorted_names(&right.content));
                let values = || one.iter().map(|name| left.content[&**name].order(&right.content[&**name]));
                one.cmp(&two).then_with(|| values().find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
            }
            (left, right) => rank(left).cmp(&rank(right)),
        }
    }

    /// The work of going through all of a value, in pieces, at most `most`.
    pub(super) fn weight(&self, most: usize) -> usize {
        let mut total = 1 + if let Self::String(text) = self { text.content.len() / 16 } else { 0 };
        let mut add = |values: &mut dyn Iterator<Item = &Value>| {
            for value in values {
                if total >= most {
                    break;
                }
                total += value.weight(most - total);
            }
        };
        match self {
            Self::Array(array) => add(&mut array.content.iter()),
            Self::Object(object) => add(&mut object.content.values()),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => {}
        }
        total
    }
}

/// The names of an object in their order.
pub(super) fn sorted_names(names: &Names) -> Vec<Arc<str>> {
    let mut sorted: Vec<Arc<str>> = names.keys().cloned().collect();
    sorted.sort_unstable();
    sorted
}
