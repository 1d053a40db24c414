//! Objects of modules: their attributes, their items, and what naming them tells.

use std::rc::Rc;

use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::TextRange;

use super::known::Known;
use super::{MAX_REFERENCES, Reader, fold, table};
use crate::scan::Capability;

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

impl<'a> Reader<'a> {
    /// An object is named.
    pub fn touch(&mut self, name: &Rc<str>, range: TextRange) {
        self.tell_all(table::of_name(name), "name", name, range);
        if self.reading.references.len() < MAX_REFERENCES && self.again == 0 {
            let range = self.place.unwrap_or(range);
            self.reading.references.push((Rc::clone(name), range));
        }
    }

    /// Evaluates the attribute `value.name`.
    pub fn attribute(&mut self, value: &Known<'a>, name: &str, range: TextRange) -> Known<'a> {
        self.tell_all(table::of_attribute(name), "attribute", name, range);
        let mut result = Known::Unknown;
        for value in value.possibilities() {
            result = result.or(self.attribute_of(value, name, range));
        }
        result
    }

    fn attribute_of(&mut self, value: &Known<'a>, name: &str, range: TextRange) -> Known<'a> {
        match (value, name) {
            // Of a function of any kind: the names of a module that is not known, with builtins among them.
            (_, "__globals__" | "f_globals" | "f_locals" | "func_globals") => namespace("?"),
            (_, "__builtins__" | "f_builtins") => Known::object("builtins"),
            (Known::Object(_), "__dict__") => Known::Namespace(Rc::new(value.clone())),
            (Known::Object(of), "__self__") if of.starts_with("builtins.") => Known::object("builtins"),
            (Known::Object(of), "__getattribute__" | "__getattr__")
                if matches!(&**of, "builtins.object" | "builtins.type" | "types.ModuleType") =>
            {
                Known::object("builtins.object.__getattribute__")
            }
            (Known::Object(_) | Known::Namespace(_), "__getattribute__" | "__getattr__" | "__getitem__") => {
                Known::Method(Rc::new((value.clone(), name.into())))
            }
            (Known::Object(_), "__call__") => value.clone(),
            (Known::Object(of), _) => self.object_attribute(of, name, range),
            (Known::Instance(of), "parent" | "absolute" | "resolve" | "__enter__") if of.starts_with("pathlib.") => {
                if name == "parent" {
                    value.clone()
                } else {
                    Known::object(&format!("{of}().{name}"))
                }
            }
            (Known::Instance(of), _) => {
                let full: Rc<str> = format!("{of}().{name}").into();
                if full.len() > MAX_NAME {
                    return Known::Unknown;
                }
                self.tell_all(table::of_method(name), "method", name, range);
                self.touch(&full, range);
                Known::Object(full)
            }
            (
                Known::Text(_)
                | Known::Bytes(_)
                | Known::Int(_)
                | Known::Large(_)
                | Known::Sequence(_)
                | Known::Dict(_)
                | Known::Namespace(_),
                _,
            ) => Known::Method(Rc::new((value.clone(), name.into()))),
            (Known::Function(..) | Known::Lambda(..) | Known::Partial(_), "__call__") => value.clone(),
            (Known::Function(function, _), "__name__" | "__qualname__") => Known::text(function.name.as_str()),
            (Known::Function(function, _), "__doc__") => document(&function.body),
            _ => match self.attributes.get(name) {
                Some(known) => known.clone(),
                None => {
                    self.tell_all(table::of_method(name), "method", name, range);
                    Known::Unknown
                }
            },
        }
    }

    fn object_attribute(&mut self, of: &Rc<str>, name: &str, range: TextRange) -> Known<'a> {
        let module = !of.contains('(');
        // `shutil.os` is `os`.
        if module
            && table::is_held(name)
            && !of.starts_with("builtins")
            && table::of_name(&format!("{of}.{name}")).is_empty()
        {
            return Known::object(&table::canonical(name));
        }
        let full = format!("{of}.{name}");
        if full.len() > MAX_NAME {
            return Known::Unknown;
        }
        let full: Rc<str> = (&*table::canonical(&full)).into();
        self.touch(&full, range);
        Known::Object(full)
    }

    /// `getattr(value, name)` where the name is not known.
    pub fn some_attribute(&mut self, value: &Known<'a>, range: TextRange) -> Known<'a> {
        for value in value.possibilities() {
            let Known::Object(of) = value else { continue };
            let Some((_, worst)) = WIDE.iter().find(|(module, _)| **of == **module) else { continue };
            self.tell(Capability::DynamicCode, "computed_attribute", of, 0.7, range);
            self.tell(*worst, "computed_attribute", of, 0.5, range);
        }
        Known::Unknown
    }

    /// Evaluates the subscript `value[index]`.
    pub fn item(&mut self, value: &Known<'a>, index: &Known<'a>, range: TextRange) -> Known<'a> {
        let mut result = Known::Unknown;
        for value in value.possibilities() {
            for index in index.possibilities() {
                result = result.or(self.item_of(value, index, range));
            }
        }
        result
    }

    fn item_of(&mut self, value: &Known<'a>, index: &Known<'a>, range: TextRange) -> Known<'a> {
        match (value, index) {
            (Known::Namespace(of), Known::Text(name)) => match of.as_object() {
                Some("") => self.lookup(name, range),
                Some("?") => self.anything(name, range),
                _ => self.attribute(of, name, range),
            },
            (Known::Namespace(of), Known::Unknown) => self.some_attribute(of, range),
            (Known::Object(of), Known::Text(name)) => match &**of {
                "sys.modules" => {
                    self.import(name, range, false);
                    Known::object(&table::canonical(name))
                }
                "builtins" => self.attribute(value, name, range),
                "?" => self.anything(name, range),
                _ => Known::Unknown,
            },
            (Known::Object(of), Known::Unknown) => match &**of {
                "sys.modules" => {
                    self.tell(Capability::DynamicCode, "computed_import", of, 0.7, range);
                    Known::object("?")
                }
                _ => self.some_attribute(value, range),
            },
            (Known::Unknown, Known::Text(name)) if matches!(&**name, "__builtins__" | "__import__") => {
                self.anything(name, range)
            }
            _ => fold::item(value, index),
        }
    }

    /// A name in the globals of some module.
    fn anything(&mut self, name: &str, range: TextRange) -> Known<'a> {
        match name {
            "__builtins__" | "builtins" => Known::object("builtins"),
            name if table::is_builtin(name) => self.attribute(&Known::object("builtins"), name, range),
            name if table::is_held(name) => Known::object(&table::canonical(name)),
            name => self.attribute(&Known::object("?"), name, range),
        }
    }

    /// Something of a module is replaced: `value.name = …`, by whatever way.
    pub fn replaced(&mut self, value: &Known<'a>, name: Option<&str>, range: TextRange) {
        for value in value.possibilities() {
            let of: &str = match value {
                Known::Object(of) => of,
                Known::Namespace(of) => of.as_object().unwrap_or(""),
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
pub fn document<'a>(body: &[Stmt]) -> Known<'a> {
    match body.first() {
        Some(Stmt::Expr(text)) => match &*text.value {
            Expr::StringLiteral(literal) => Known::text(literal.value.to_str()),
            _ => Known::Nothing,
        },
        _ => Known::Nothing,
    }
}

/// `vars()` of an object.
pub fn namespace<'a>(of: &str) -> Known<'a> {
    Known::Namespace(Rc::new(Known::object(of)))
}
