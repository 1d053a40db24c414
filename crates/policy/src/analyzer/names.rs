//! Names and what they are bound to.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use ruff_text_size::TextRange;

use super::abstract_value::AbstractValue;
use super::{Interpreter, capability_table};
use crate::scanners::Capability;

/// The names of a module, a class or a function.
#[derive(Default)]
pub(super) struct Scope<'a> {
    names: HashMap<Cow<'a, str>, AbstractValue<'a>>,
    parent: Option<usize>,
    /// Names of a class are not seen by the functions in it.
    class: bool,
    /// Declared `global` or `nonlocal`.
    elsewhere: HashSet<&'a str>,
    /// Modules of which everything was imported.
    stars: Vec<Rc<str>>,
}

impl Scope<'_> {
    /// Scope of a module.
    pub(super) fn module() -> Self {
        Self::default()
    }
}

/// Kind of a scope, which decides who sees its names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ScopeKind {
    /// Body of a class: functions in it do not see its names.
    Class,
    /// Body of a function, a lambda or a comprehension.
    Function,
}

impl<'a> Interpreter<'a> {
    /// A scope in `parent`; what is done with it stands between this and [`Self::leave`].
    pub(super) fn enter(&mut self, parent: usize, kind: ScopeKind) -> usize {
        self.scopes.push(Scope { parent: Some(parent), class: kind == ScopeKind::Class, ..Scope::default() });
        std::mem::replace(&mut self.here, self.scopes.len() - 1)
    }

    /// Back to the scope that was left. Its names are kept: functions in it still see them.
    pub(super) fn leave(&mut self, back: usize) {
        self.here = back;
    }

    /// The names of a class body that was just read.
    pub(super) fn names_of(&self, scope: usize) -> Vec<(Rc<str>, AbstractValue<'a>)> {
        self.scopes[scope].names.iter().map(|(name, value)| (Rc::from(&**name), value.clone())).collect()
    }

    /// `from module import *`.
    pub(super) fn star(&mut self, module: &str) {
        let stars = &mut self.scopes[self.here].stars;
        if stars.len() < 32 {
            stars.push(module.into());
        }
    }

    /// `global name` or `nonlocal name`.
    pub(super) fn elsewhere(&mut self, name: &'a str) {
        self.scopes[self.here].elsewhere.insert(name);
    }

    /// Looks up the value of a name.
    pub(super) fn lookup(&mut self, name: &str, range: TextRange) -> AbstractValue<'a> {
        let mut scope = Some(self.here);
        let mut first = true;
        while let Some(index) = scope {
            let at = &self.scopes[index];
            if (first || !at.class)
                && let Some(value) = at.names.get(name)
            {
                return value.clone();
            }
            first = false;
            if let Some(module) = at.stars.iter().find(|module| capability_table::has(module, name)) {
                let module = Rc::clone(module);
                return self.attribute(&AbstractValue::Object(module), name, range);
            }
            scope = at.parent;
        }
        match name {
            "__builtins__" => {
                self.tell(Capability::Introspection, "builtins_namespace", name, 0.7, range);
                AbstractValue::object("builtins")
            }
            "__loader__" | "__spec__" => {
                self.tell(Capability::DynamicCode, "import_machinery", name, 0.7, range);
                AbstractValue::object("?")
            }
            "__name__" => AbstractValue::text("__main__"),
            name if capability_table::is_builtin(name) => {
                let object: Rc<str> = format!("builtins.{name}").into();
                self.touch(&object, range);
                AbstractValue::Object(object)
            }
            _ => AbstractValue::Unknown,
        }
    }

    /// Binds a name. In a branch the old value may remain.
    pub(super) fn bind(&mut self, name: impl Into<Cow<'a, str>>, value: AbstractValue<'a>) {
        let name = name.into();
        let mut scope = self.here;
        if self.scopes[scope].elsewhere.contains(&*name) {
            // Where it is bound, or else the module.
            let mut up = self.scopes[scope].parent;
            scope = 0;
            while let Some(index) = up {
                if self.scopes[index].names.contains_key(&*name) {
                    scope = index;
                    break;
                }
                up = self.scopes[index].parent;
            }
        }
        let weak = self.branches > 0 || scope != self.here;
        let value = value.bounded();
        let names = &mut self.scopes[scope].names;
        match names.get_mut(&*name) {
            Some(old) if weak => *old = std::mem::take(old).or(value),
            Some(old) => *old = value,
            None => {
                names.insert(name, value);
            }
        }
    }

    /// Binds a name of the module, whatever the scope.
    pub(super) fn bind_global(&mut self, name: &str, value: AbstractValue<'a>) {
        let here = std::mem::replace(&mut self.here, 0);
        self.branches += 1;
        self.bind(name.to_owned(), value);
        self.branches -= 1;
        self.here = here;
    }

    /// Notes that some object of the snippet's own has this under that name.
    pub(super) fn note_attribute(&mut self, name: &str, value: AbstractValue<'a>) {
        if value.is_unknown() {
            return;
        }
        let value = value.bounded();
        match self.attributes.get_mut(name) {
            Some(old) => *old = std::mem::take(old).or(value),
            None => {
                self.attributes.insert(name.into(), value);
            }
        }
    }

    /// The names of the scope, to be put back by [`Self::scopes_then`].
    pub(super) fn scopes_now(&mut self) -> Option<HashMap<Cow<'a, str>, AbstractValue<'a>>> {
        let names = &self.scopes[self.here].names;
        // Copying takes time as evaluating does.
        self.steps = self.steps.saturating_sub(names.len() as u32 / 8);
        (names.len() <= 256).then(|| names.clone())
    }

    /// Puts names back as they were.
    pub(super) fn scopes_then(&mut self, names: Option<HashMap<Cow<'a, str>, AbstractValue<'a>>>) {
        if let Some(names) = names {
            self.scopes[self.here].names = names;
        }
    }
}
