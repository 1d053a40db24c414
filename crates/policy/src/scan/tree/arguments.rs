//! Arguments of calls.

use std::rc::Rc;

use super::known::{Keywords, Known};

/// The arguments of a call.
#[derive(Default)]
pub struct Arguments<'a> {
    /// Positional arguments of the call.
    pub args: Vec<Known<'a>>,
    /// Keyword arguments of the call.
    pub keywords: Keywords<'a>,
}

impl<'a> Arguments<'a> {
    /// Makes arguments that are positional only.
    pub fn of(args: Vec<Known<'a>>) -> Self {
        Self { args, keywords: Vec::new() }
    }

    /// The argument at that place or of that name.
    pub fn get(&self, index: usize, name: &str) -> Option<&Known<'a>> {
        self.args.get(index).or_else(|| self.keyword(name))
    }

    /// The keyword argument of that name.
    pub fn keyword(&self, name: &str) -> Option<&Known<'a>> {
        self.keywords.iter().find(|(known, _)| **known == *name).map(|(_, value)| value)
    }
}

/// Keyword arguments, as folding takes them.
pub fn borrowed<'k, 'a>(keywords: &'k [(Rc<str>, Known<'a>)]) -> Vec<(&'k str, Known<'a>)> {
    keywords.iter().map(|(name, value)| (&**name, value.clone())).collect()
}
