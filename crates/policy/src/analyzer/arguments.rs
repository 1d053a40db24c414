//! Arguments of calls.

use std::rc::Rc;

use super::abstract_value::{AbstractValue, Keywords};

/// Meaning of the first parameter of a function that is called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstParameter {
    /// The object whose method is called: no argument is for it.
    Receiver,
    /// Parameter that takes an argument.
    Argument,
}

/// The arguments of a call.
#[derive(Default)]
pub(super) struct Arguments<'a> {
    /// Positional arguments of the call.
    pub args: Vec<AbstractValue<'a>>,
    /// Keyword arguments of the call.
    pub keywords: Keywords<'a>,
}

impl<'a> Arguments<'a> {
    /// Makes arguments that are positional only.
    pub(super) fn of(args: Vec<AbstractValue<'a>>) -> Self {
        Self { args, keywords: Vec::new() }
    }

    /// The argument at that place or of that name.
    pub(super) fn get(&self, index: usize, name: &str) -> Option<&AbstractValue<'a>> {
        self.args.get(index).or_else(|| self.keyword(name))
    }

    /// The keyword argument of that name.
    pub(super) fn keyword(&self, name: &str) -> Option<&AbstractValue<'a>> {
        self.keywords.iter().find(|(known, _)| **known == *name).map(|(_, value)| value)
    }
}

/// Keyword arguments, as folding takes them.
pub(super) fn borrowed<'k, 'a>(keywords: &'k [(Rc<str>, AbstractValue<'a>)]) -> Vec<(&'k str, AbstractValue<'a>)> {
    keywords.iter().map(|(name, value)| (&**name, value.clone())).collect()
}
