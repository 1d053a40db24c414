//! Abstract values: what is known of a value without running anything.

use std::rc::Rc;

use num_bigint::BigInt;
use ruff_python_ast::{ExprLambda, StmtFunctionDef};

/// Most values that one expression is taken to have.
const MAX_POSSIBILITIES: usize = 6;
/// Longest text, in bytes, and longest sequence that is made by folding.
pub(super) const MAX_LENGTH: usize = 64 << 10;
/// Items that are looked at one by one.
const MAX_ITEMS: usize = 8192;
/// Deepest sequence in a sequence.
const MAX_VALUE_DEPTH: u32 = 8;

/// Keyword arguments, with their values.
pub(super) type Keywords<'a> = Vec<(Rc<str>, AbstractValue<'a>)>;

/// A value, as far as it can be told. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) enum AbstractValue<'a> {
    /// Nothing can be told.
    #[default]
    Unknown,
    /// Constant `None` of Python.
    Nothing,
    /// Constant `True` or `False`.
    Bool(bool),
    /// Integer within 128 bits.
    Int(i128),
    /// Integer beyond 128 bits.
    Large(Rc<BigInt>),
    /// String, in UTF-8.
    Text(Rc<str>),
    /// Bytes, or a bytearray.
    Bytes(Rc<[u8]>),
    /// A list, a tuple, a set, or what iterates like one.
    Sequence(Rc<Vec<Self>>),
    /// Dict, as its pairs of key and value.
    Dict(Rc<Vec<(Self, Self)>>),
    /// Something that has a name in the standard library or a package: `os.system`, `builtins.getattr`. What an import
    /// of an unknown name gives is `?`.
    Object(Rc<str>),
    /// Result of a call of the object of that name: an instance, or another value.
    Instance(Rc<str>),
    /// `vars(x)` or `x.__dict__`.
    Namespace(Rc<Self>),
    /// A method of a constant: `"".join`.
    Method(Rc<(Self, Rc<str>)>),
    /// A function of the snippet, with the scope that it was made in.
    Function(&'a StmtFunctionDef, usize),
    /// A lambda of the snippet, likewise.
    Lambda(&'a ExprLambda, usize),
    /// Result of `functools.partial`.
    Partial(Rc<(Self, Vec<Self>, Keywords<'a>)>),
    /// `operator.attrgetter` (no arguments; several paths with commas between) or `methodcaller`.
    Getter(Rc<str>, Option<Rc<Vec<Self>>>),
    /// Result of `operator.itemgetter`.
    ItemGetter(Rc<Self>),
    /// Several possible values, at least two.
    OneOf(Rc<Vec<Self>>),
}

impl AbstractValue<'_> {
    /// The object of that name.
    pub(super) fn object(name: &str) -> Self {
        Self::Object(name.into())
    }

    /// A string, unless it is too long.
    pub(super) fn text(text: &str) -> Self {
        if text.len() > MAX_LENGTH { Self::Unknown } else { Self::Text(text.into()) }
    }

    /// Bytes, unless they are too many.
    pub(super) fn bytes(bytes: &[u8]) -> Self {
        if bytes.len() > MAX_LENGTH { Self::Unknown } else { Self::Bytes(bytes.into()) }
    }

    /// A sequence, unless it is too long or too deep.
    pub(super) fn sequence(items: Vec<Self>) -> Self {
        if items.len() > MAX_LENGTH / 16 || items.iter().any(|item| item.depth() >= MAX_VALUE_DEPTH) {
            Self::Unknown
        } else {
            Self::Sequence(Rc::new(items))
        }
    }

    /// A dict, unless it is too long or too deep.
    pub(super) fn dict(items: Vec<(Self, Self)>) -> Self {
        if items.len() > MAX_LENGTH / 16 || items.iter().any(|(_, value)| value.depth() >= MAX_VALUE_DEPTH) {
            Self::Unknown
        } else {
            Self::Dict(Rc::new(items))
        }
    }

    /// Containers in containers; so that no chain of assignments makes values that take long to walk or to drop.
    fn depth(&self) -> u32 {
        match self {
            Self::Sequence(items) => 1 + items.iter().take(4).map(Self::depth).max().unwrap_or(0),
            Self::Dict(items) => 1 + items.iter().take(4).map(|(_, value)| value.depth()).max().unwrap_or(0),
            Self::OneOf(items) => items.iter().map(Self::depth).max().unwrap_or(0),
            Self::Namespace(of) | Self::ItemGetter(of) => 1 + of.depth(),
            Self::Method(method) => 1 + method.0.depth(),
            Self::Partial(partial) => 1 + partial.0.depth(),
            _ => 0,
        }
    }

    /// Returns whether nothing is known.
    pub(super) fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }

    /// Itself, unless it is a chain that grew too deep.
    pub(super) fn bounded(self) -> Self {
        if self.depth() > MAX_VALUE_DEPTH { Self::Unknown } else { self }
    }

    /// Returns the possible values.
    pub(super) fn possibilities(&self) -> &[Self] {
        match self {
            Self::OneOf(items) => items,
            one => std::slice::from_ref(one),
        }
    }

    /// Joins two values that are both possible.
    pub(super) fn or(self, other: Self) -> Self {
        if self.is_unknown() || self.same(&other) {
            return other;
        }
        if other.is_unknown() {
            return self;
        }
        let mut items = self.possibilities().to_vec();
        for item in other.possibilities() {
            if items.len() < MAX_POSSIBILITIES && !items.iter().any(|known| known.same(item)) {
                items.push(item.clone());
            }
        }
        Self::OneOf(Rc::new(items))
    }

    /// The result of `f` on each value that it may be.
    pub(super) fn each(&self, mut f: impl FnMut(&Self) -> Self) -> Self {
        match self {
            Self::OneOf(items) => items.iter().map(f).fold(Self::Unknown, Self::or),
            one => f(one),
        }
    }

    /// Returns whether two values are certainly the same constant or object.
    pub(super) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nothing, Self::Nothing) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Large(a), Self::Large(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Object(a), Self::Object(b)) | (Self::Instance(a), Self::Instance(b)) => a == b,
            (Self::Function(a, _), Self::Function(b, _)) => std::ptr::eq(*a, *b),
            (Self::Lambda(a, _), Self::Lambda(b, _)) => std::ptr::eq(*a, *b),
            _ => false,
        }
    }

    /// Returns the truth of the value, where that is certain.
    pub(super) fn truth(&self) -> Option<bool> {
        match self {
            Self::Nothing => Some(false),
            Self::Bool(value) => Some(*value),
            Self::Int(value) => Some(*value != 0),
            Self::Text(text) => Some(!text.is_empty()),
            Self::Bytes(bytes) => Some(!bytes.is_empty()),
            Self::Sequence(items) => Some(!items.is_empty()),
            Self::Dict(items) => Some(!items.is_empty()),
            Self::Object(_) | Self::Function(..) | Self::Lambda(..) => Some(true),
            _ => None,
        }
    }

    /// Returns the length, in bytes of text or in items.
    pub(super) fn length(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Sequence(items) => items.len(),
            Self::Dict(items) => items.len(),
            Self::OneOf(items) => items.iter().map(Self::length).sum(),
            _ => 0,
        }
    }

    /// The items that iterating over it gives.
    pub(super) fn items(&self) -> Option<Vec<Self>> {
        match self {
            _ if self.length() > MAX_ITEMS => None,
            Self::Text(text) => {
                let mut buffer = [0; 4];
                Some(text.chars().map(|char| Self::text(char.encode_utf8(&mut buffer))).collect())
            }
            Self::Bytes(bytes) => Some(bytes.iter().map(|byte| Self::Int(i128::from(*byte))).collect()),
            Self::Sequence(items) => Some(items.to_vec()),
            Self::Dict(items) => Some(items.iter().map(|(key, _)| key.clone()).collect()),
            _ => None,
        }
    }

    /// Returns the text of a string.
    pub(super) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Returns the value of an integer.
    pub(super) fn as_int(&self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Bool(value) => Some(i128::from(*value)),
            _ => None,
        }
    }

    /// The name of the object, if it is one.
    pub(super) fn as_object(&self) -> Option<&str> {
        if let Self::Object(name) = self { Some(name) } else { None }
    }
}
