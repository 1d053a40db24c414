//! Filters as they are read. Names are places: how many bindings out a variable or a function was made.

use super::native::Native;
use super::operator::Binary;
use super::value::Value;
use std::sync::Arc;

pub(super) type Filter = Arc<Node>;

/// Logical operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Logical {
    And,
    Or,
}

/// Pattern of `as`: each variable is a binding, in their order.
#[derive(Debug, Clone)]
pub(super) enum Pattern {
    Variable,
    Array(Vec<Pattern>),
    Object(Vec<Entry>),
}

/// Entry of a pattern of an object.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) name: Value,
    /// True when the value is a binding of the name of the entry, too.
    pub(super) binds: bool,
    pub(super) pattern: Option<Pattern>,
}

/// A function: its body has a binding for the function itself, then one for each parameter.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) body: Filter,
}

#[derive(Debug)]
pub(super) enum Node {
    Identity,
    Literal(Value),
    Index(Filter, Filter),
    Slice(Filter, Option<Filter>, Option<Filter>),
    Iterate(Filter),
    Try(Filter, Option<Filter>),
    Array(Option<Filter>),
    Object(Arc<[(Filter, Filter)]>),
    Negate(Filter),
    Pipe(Filter, Filter),
    Comma(Filter, Filter),
    Binary(Binary, Filter, Filter),
    Logical(Logical, Filter, Filter),
    Alternative(Filter, Filter),
    If(Filter, Filter, Filter),
    Reduce { source: Filter, pattern: Arc<Pattern>, start: Filter, update: Filter },
    Foreach { source: Filter, pattern: Arc<Pattern>, start: Filter, update: Filter, extract: Filter },
    Define(Arc<Definition>, Filter),
    Bind { source: Filter, pattern: Arc<Pattern>, body: Filter },
    Label(Filter),
    Break(usize),
    Variable(usize),
    Call { out: usize, arguments: Arc<[Filter]> },
    Native(Native, Arc<[Filter]>),
    Path(Filter),
    Modify(Filter, Filter),
}
