//! Objects of modules: their attributes, their items, and what naming them tells.

use std::rc::Rc;

use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::TextRange;

use super::abstract_value::AbstractValue;
use super::{ImportForm, Interpreter, MAX_REFERENCES, capability_table, fold};
use crate::scanners::Capability;

/// Longest qualified name that is followed.
const MAX_NAME: usize = 200;
/// Of these something could be had that matters, so a name that is not known does; with the worst of it.
const WIDE: &[(&str, Capability)] = &[
    ("os", Capability::Process),
    ("subprocess", Capability::Process),
    ("sys", Capability::Introspection),
    ("builtins", Capability::DynamicCode),
    ("importlib", Capability::DynamicCode),
    ("socket", Capability::Network),
    ("shutil", Capability::FileWrite),
    ("?", Capability::DynamicCode),
];

impl<'a> Interpreter<'a> {
    /// An object is named.
    pub(super) fn touch(&mut self, name: &Rc<str>, range: TextRange) {
        self.tell_all(capability_table::of_name(name), "name", name, range);
        if self.analysis.references.len() < MAX_REFERENCES && self.replay_depth == 0 {
            let range = self.place.unwrap_or(range);
            self.analysis.references.push((Rc::clone(name), range));
        }
    }

    /// Evaluates the attribute `value.name`.
    pub(super) fn attribute(&mut self, value: &AbstractValue<'a>, name: &str, range: TextRange) -> AbstractValue<'a> {
        self.tell_all(capability_table::of_attribute(name), "attribute", name, range);
        let mut result = AbstractValue::Unknown;
        for value in value.possibilities() {
            result = result.or(self.attribute_of(value, name, range));
        }
        result
    }

    fn attribute_of(&mut self, value: &AbstractValue<'a>, name: &str, range: TextRange) -> AbstractValue<'a> {
        match (value, name) {
            // Of a function of any kind: the names of a module that is not known, with builtins among them.
            (_, "__globals__" | "f_globals" | "f_locals" | "func_globals") => namespace("?"),
            (_, "__builtins__" | "f_builtins") => AbstractValue::object("builtins"),
            (AbstractValue::Object(_), "__dict__") => AbstractValue::Namespace(Rc::new(value.clone())),
            (AbstractValue::Object(of), "__self__") if of.starts_with("builtins.") => AbstractValue::object("builtins"),
            (AbstractValue::Object(of), "__getattribute__" | "__getattr__")
                if matches!(&**of, "builtins.object" | "builtins.type" | "types.ModuleType") =>
            {
                AbstractValue::object("builtins.object.__getattribute__")
            }
            (
                AbstractValue::Object(_) | AbstractValue::Namespace(_),
                "__getattribute__" | "__getattr__" | "__getitem__",
            ) => AbstractValue::Method(Rc::new((value.clone(), name.into()))),
            (AbstractValue::Object(_), "__call__") => value.clone(),
            (AbstractValue::Object(of), _) => self.object_attribute(of, name, range),
            (AbstractValue::Instance(of), "parent" | "absolute" | "resolve" | "__enter__")
                if of.starts_with("pathlib.") =>
            {
                if name == "parent" {
                    value.clone()
                } else {
                    AbstractValue::object(&format!("{of}().{name}"))
                }
            }
            (AbstractValue::Instance(of), _) => {
                let full: Rc<str> = format!("{of}().{name}").into();
                if full.len() > MAX_NAME {
                    return AbstractValue::Unknown;
                }
                self.tell_all(capability_table::of_method(name), "method", name, range);
                self.touch(&full, range);
                AbstractValue::Object(full)
            }
            (
                AbstractValue::Text(_)
                | AbstractValue::Bytes(_)
                | AbstractValue::Int(_)
                | AbstractValue::Large(_)
                | AbstractValue::Sequence(_)
                | AbstractValue::Dict(_)
                | AbstractValue::Namespace(_),
                _,
            ) => AbstractValue::Method(Rc::new((value.clone(), name.into()))),
            (AbstractValue::Function(..) | AbstractValue::Lambda(..) | AbstractValue::Partial(_), "__call__") => {
                value.clone()
            }
            (AbstractValue::Function(function, _), "__name__" | "__qualname__") => {
                AbstractValue::text(function.name.as_str())
            }
            (AbstractValue::Function(function, _), "__doc__") => document(&function.body),
            _ => match self.attributes.get(name) {
                Some(known) => known.clone(),
                None => {
                    self.tell_all(capability_table::of_method(name), "method", name, range);
                    AbstractValue::Unknown
                }
            },
        }
    }

    fn object_attribute(&mut self, of: &Rc<str>, name: &str, range: TextRange) -> AbstractValue<'a> {
        let module = !of.contains('(');
        // `shutil.os` is `os`.
        if module
            && capability_table::is_held(name)
            && !of.starts_with("builtins")
            && capability_table::of_name(&format!("{of}.{name}")).is_empty()
        {
            return AbstractValue::object(&capability_table::canonical(name));
        }
        let full = format!("{of}.{name}");
        if full.len() > MAX_NAME {
            return AbstractValue::Unknown;
        }
        let full: Rc<str> = (&*capability_table::canonical(&full)).into();
        self.touch(&full, range);
        AbstractValue::Object(full)
    }

    /// `getattr(value, name)` where the name is not known.
    pub(super) fn some_attribute(&mut self, value: &AbstractValue<'a>, range: TextRange) -> AbstractValue<'a> {
        for value in value.possibilities() {
            let AbstractValue::Object(of) = value else { continue };
            let Some((_, worst)) = WIDE.iter().find(|(module, _)| **of == **module) else { continue };
            self.tell(Capability::DynamicCode, "computed_attribute", of, 0.7, range);
            self.tell(*worst, "computed_attribute", of, 0.5, range);
        }
        AbstractValue::Unknown
    }

    /// Evaluates the subscript `value[index]`.
    pub(super) fn item(
        &mut self,
        value: &AbstractValue<'a>,
        index: &AbstractValue<'a>,
        range: TextRange,
    ) -> AbstractValue<'a> {
        let mut result = AbstractValue::Unknown;
        for value in value.possibilities() {
            for index in index.possibilities() {
                result = result.or(self.item_of(value, index, range));
            }
        }
        result
    }

    fn item_of(&mut self, value: &AbstractValue<'a>, index: &AbstractValue<'a>, range: TextRange) -> AbstractValue<'a> {
        match (value, index) {
            (AbstractValue::Namespace(of), AbstractValue::Text(name)) => match of.as_object() {
                Some("") => self.lookup(name, range),
                Some("?") => self.anything(name, range),
                _ => self.attribute(of, name, range),
            },
            (AbstractValue::Namespace(of), AbstractValue::Unknown) => self.some_attribute(of, range),
            (AbstractValue::Object(of), AbstractValue::Text(name)) => match &**of {
                "sys.modules" => {
                    self.import(name, range, ImportForm::Call);
                    AbstractValue::object(&capability_table::canonical(name))
                }
                "builtins" => self.attribute(value, name, range),
                "?" => self.anything(name, range),
                _ => AbstractValue::Unknown,
            },
            (AbstractValue::Object(of), AbstractValue::Unknown) => match &**of {
                "sys.modules" => {
                    self.tell(Capability::DynamicCode, "computed_import", of, 0.7, range);
                    AbstractValue::object("?")
                }
                _ => self.some_attribute(value, range),
            },
            (AbstractValue::Unknown, AbstractValue::Text(name)) if matches!(&**name, "__builtins__" | "__import__") => {
                self.anything(name, range)
            }
            _ => fold::item(value, index),
        }
    }

    /// A name in the globals of some module.
    fn anything(&mut self, name: &str, range: TextRange) -> AbstractValue<'a> {
        match name {
            "__builtins__" | "builtins" => AbstractValue::object("builtins"),
            name if capability_table::is_builtin(name) => {
                self.attribute(&AbstractValue::object("builtins"), name, range)
            }
            name if capability_table::is_held(name) => AbstractValue::object(&capability_table::canonical(name)),
            name => self.attribute(&AbstractValue::object("?"), name, range),
        }
    }

    /// Something of a module is replaced: `value.name = …`, by whatever way.
    pub(super) fn replaced(&mut self, value: &AbstractValue<'a>, name: Option<&str>, range: TextRange) {
        for value in value.possibilities() {
            let of: &str = match value {
                AbstractValue::Object(of) => of,
                AbstractValue::Namespace(of) => of.as_object().unwrap_or(""),
                _ => continue,
            };
            let full = format!("{of}.{}", name.unwrap_or("?"));
            let confidence = match (of, name) {
                ("" | "os.environ", _) => continue,
                ("builtins" | "sys.modules", _) => 0.95,
                // Capturing what is printed is common, and harmless.
                ("sys", Some("stdout" | "stderr" | "stdin" | "argv" | "path")) => 0.5,
                ("sys", Some("tracebacklimit" | "dont_write_bytecode" | "ps1" | "ps2")) => continue,
                ("sys", _) => 0.9,
                _ if of.starts_with("unittest") || of.starts_with("pytest") || of.starts_with("_pytest") => 0.95,
                _ if of.contains('(') => continue,
                _ if STANDARD.split_whitespace().any(|module| module == of.split('.').next().unwrap_or(of)) => 0.8,
                _ => continue,
            };
            self.tell(Capability::GraderTampering, "replaced", &full, confidence, range);
        }
    }
}

/// Modules of the standard library that tests and graders rest on.
const STANDARD: &str = "
    ? __main__ abc ast asyncio atexit builtins codecs collections contextlib copy dataclasses datetime decimal
    doctest enum fractions functools gc hashlib importlib inspect io itertools json linecache logging math numbers
    operator os pathlib pickle pprint random re shutil signal site socket ssl statistics string struct subprocess
    sys tempfile textwrap threading time traceback types typing uuid warnings weakref
";

/// The docstring of a body.
pub(super) fn document<'a>(body: &[Stmt]) -> AbstractValue<'a> {
    match body.first() {
        Some(Stmt::Expr(text)) => match &*text.value {
            Expr::StringLiteral(literal) => AbstractValue::text(literal.value.to_str()),
            _ => AbstractValue::Nothing,
        },
        _ => AbstractValue::Nothing,
    }
}

/// `vars()` of an object.
pub(super) fn namespace<'a>(of: &str) -> AbstractValue<'a> {
    AbstractValue::Namespace(Rc::new(AbstractValue::object(of)))
}
