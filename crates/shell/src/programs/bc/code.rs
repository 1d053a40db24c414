//! Code of bc: instructions for a machine with a stack.

use super::number::Number;
use std::sync::Arc;

/// Variable, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Variable {
    InputBase,
    OutputBase,
    Scale,
    Last,
    History,
    Plain(usize),
}

/// Destination or source of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Variable(Variable),
    /// Element of an array; its index is on the stack.
    Element(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    GreaterOrEqual,
    Greater,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Up,
    Down,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Builtin {
    Length,
    Scale,
    SquareRoot,
    Read,
    Random,
}

/// Argument of a call: a value on the stack, or an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Argument {
    Value,
    Array(usize),
}

#[derive(Debug, Clone)]
pub(super) enum Op {
    /// A number as it is written, and its value when it was read in base ten.
    Constant(Arc<str>, Number),
    Load(Target),
    /// Loads an element and keeps its index below.
    LoadKeepingIndex(usize),
    /// Stores the value, which stays on the stack.
    Store(Target),
    /// Changes a value by one, and leaves the new one.
    StepFirst(Target, Step),
    /// Changes a value by one, and leaves the old one.
    StepAfter(Target, Step),
    Binary(Binary),
    Compare(Comparison),
    Negate,
    Not,
    Builtin(Builtin),
    Duplicate,
    Pop,
    Jump(usize),
    JumpIfZero(usize),
    JumpUnlessZero(usize),
    /// Shows a value and a newline.
    Show,
    /// Shows a value.
    Print,
    /// Shows a text, with escapes or without.
    Text {
        text: Arc<str>,
        escapes: bool,
    },
    Call(usize, Arc<[Argument]>),
    Return,
    Halt,
}

/// Parameter or local variable of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Local {
    Variable(usize),
    Array(usize),
    /// Array of the caller.
    Reference(usize),
}

/// Instructions, each with the offset that GNU's code has behind it: messages name that.
#[derive(Debug, Clone, Default)]
pub(super) struct Code {
    pub(super) ops: Vec<Op>,
    pub(super) offsets: Vec<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) parameters: Vec<Local>,
    pub(super) locals: Vec<Local>,
    pub(super) code: Arc<Code>,
}
