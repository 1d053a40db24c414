//! Names that tests use of the program.

use std::collections::BTreeSet;

use proofbox_syntax::{MAX_DEPTH_INLINE, nests_too_deep};
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ExprContext, Parameter, Stmt};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};

use super::python::{MAX_PARSED, is_known_module};

/// Most names that are told.
const MAX_NAMES: usize = 64;

/// Returns the names that tests in Python use and don't define themselves, in the order of their use: an entry point of
/// the program is among them. What tests import from modules that are no known packages belongs to the program too.
pub fn names_tested(source: &str) -> Vec<String> {
    if source.len() > MAX_PARSED || nests_too_deep(source, MAX_DEPTH_INLINE) {
        return Vec::new();
    }
    let parsed = parse_unchecked(source, ParseOptions::from(Mode::Module)).try_into_module();
    let mut names = Names::default();
    if let Some(parsed) = parsed {
        names.visit_body(&parsed.syntax().body);
    }
    let Names { used, own } = names;
    used.into_iter().filter(|name| !own.contains(name)).take(MAX_NAMES).collect()
}

#[derive(Default)]
struct Names {
    used: Vec<String>,
    own: BTreeSet<String>,
}

impl Names {
    fn note(&mut self, name: &str) {
        if self.used.len() < MAX_NAMES * 2 && !self.used.iter().any(|other| other == name) {
            self.used.push(name.to_owned());
        }
    }
}

impl<'a> Visitor<'a> for Names {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(part) => {
                self.own.insert(part.name.to_string());
            }
            Stmt::ClassDef(part) => {
                self.own.insert(part.name.to_string());
            }
            Stmt::Import(part) => {
                self.own
                    .extend(part.names.iter().map(|alias| alias.asname.as_ref().unwrap_or(&alias.name).to_string()));
            }
            Stmt::ImportFrom(part) => {
                let is_known = part.module.as_ref().is_some_and(|module| is_known_module(module));
                for alias in &part.names {
                    if is_known {
                        self.own.insert(alias.asname.as_ref().unwrap_or(&alias.name).to_string());
                    } else {
                        self.note(&alias.name);
                    }
                }
            }
            _ => {}
        }
        walk_stmt(self, statement);
    }

    fn visit_parameter(&mut self, parameter: &'a Parameter) {
        self.own.insert(parameter.name.to_string());
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) if name.ctx == ExprContext::Load => self.note(&name.id),
            Expr::Name(name) => {
                self.own.insert(name.id.to_string());
            }
            // `import solution`, and its function.
            Expr::Attribute(part) if matches!(&*part.value, Expr::Name(name) if !is_known_module(&name.id)) => {
                self.note(&part.attr);
            }
            _ => {}
        }
        walk_expr(self, expression);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_program_are_told() {
        assert_eq!(names_tested("xs = [1]\nassert f(xs) == g(2)"), ["f", "g"]);
        assert_eq!(names_tested("from solution import f as h\nimport math\ndef test():\n    assert h(1)"), ["f", "h"]);
        assert_eq!(names_tested("assert (lambda x: f(x))(1)"), ["f"]);
        assert!(names_tested("assert f(").len() <= 1 && names_tested("").is_empty());
    }
}
