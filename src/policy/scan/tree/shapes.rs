//! Shapes of code that say something whatever it names: objects that equal everything, tables of known answers, format strings
//! that walk attributes, paths that only a host has.

use ruff_python_ast::{Expr, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};

use super::Reader;
use super::known::Known;
use crate::policy::scan::Capability;

/// Methods by which an object answers for itself when it is compared.
const ANSWERS: &[&str] = &[
    "__eq__",
    "__ne__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__bool__",
    "__contains__",
    "__len__",
    "__instancecheck__",
];
/// So many `if x == literal: return literal` look like a table of known answers.
const KNOWN_INPUTS: usize = 3;
/// Where hosts keep what programs have no business with.
const HOST_PATHS: &[&str] = &[
    "/etc/",
    "/proc/",
    "/root",
    "/sys/",
    "/dev/mem",
    "/dev/kmem",
    "/dev/sd",
    "/dev/tcp/",
    "/var/run/",
    "/run/secrets",
    "/var/log/",
    "/boot/",
    "~/.ssh",
    "~/.aws",
    "~/.netrc",
    "~/.kube",
    "~/.docker",
    "~/.bash",
    "~/.config",
    "C:\\Windows",
];
const HOST_PARTS: &[&str] = &["/.ssh/", "/.aws/", "docker.sock", "/.kube/", "/.git-credentials", "/.netrc", "../../"];

/// An object's own answer to a comparison that is always the same, given under that name.
pub fn constant_answer<'a>(reader: &mut Reader<'a>, name: &str, value: &Known<'a>, range: TextRange) {
    if let (true, Known::Lambda(lambda, _)) = (ANSWERS.contains(&name), value)
        && is_constant(&lambda.body)
    {
        reader.tell(Capability::GraderTampering, "constant_equality", name, 0.8, range);
    }
}

/// The shapes of a function.
pub fn function<'a>(reader: &mut Reader<'a>, function: &'a StmtFunctionDef) {
    let name = function.name.as_str();
    let documented = matches!(function.body.first(), Some(Stmt::Expr(text)) if text.value.is_string_literal_expr());
    let body = &function.body[usize::from(documented)..];
    let range = function.name.range();
    if ANSWERS.contains(&name)
        && let [Stmt::Return(given)] = body
        && given.value.as_ref().is_some_and(|value| is_constant(value))
        // An empty container of its own kind is false.
        && !(name == "__len__" || name == "__bool__" && given.value.as_ref().is_some_and(|value| value.is_boolean_literal_expr() && is_false(value)))
    {
        reader.tell(Capability::GraderTampering, "constant_equality", name, 0.8, range);
    }
    let answers = body.iter().filter(|statement| is_known_answer(statement)).count()
        + body
            .iter()
            .filter_map(|statement| statement.as_if_stmt())
            .map(|choice| {
                choice
                    .elif_else_clauses
                    .iter()
                    .filter(|clause| clause.test.as_ref().is_some_and(is_literal_test) && returns_literal(&clause.body))
                    .count()
            })
            .sum::<usize>();
    if answers >= KNOWN_INPUTS {
        reader.tell(Capability::GraderTampering, "known_answers", name, 0.5, range);
    }
    // What it returns has nothing to do with what it is asked.
    if let [Stmt::Return(given)] = body
        && let Some(Expr::Call(call)) = given.value.as_deref()
        && let (Expr::Name(called), [Expr::Name(over)]) = (&*call.func, &*call.arguments.args)
        && called.id.as_str() == "next"
        && function
            .parameters
            .iter_non_variadic_params()
            .next()
            .is_some_and(|first| first.parameter.name.as_str() != "self")
        && !function.parameters.iter().any(|parameter| parameter.name().as_str() == over.id.as_str())
    {
        reader.tell(Capability::GraderTampering, "answers_in_turn", name, 0.5, range);
    }
}

fn is_constant(value: &Expr) -> bool {
    value.is_literal_expr() || matches!(value, Expr::Name(name) if name.id.as_str() == "self")
}

fn is_false(value: &Expr) -> bool {
    matches!(value, Expr::BooleanLiteral(literal) if !literal.value)
}

fn is_known_answer(statement: &Stmt) -> bool {
    matches!(statement, Stmt::If(choice) if is_literal_test(&choice.test) && returns_literal(&choice.body))
}

/// A comparison of a name with what only a literal can be: numbers of one digit are cases of a definition.
fn is_literal_test(test: &Expr) -> bool {
    let Expr::Compare(compare) = test else { return false };
    matches!(&*compare.left, Expr::Name(_))
        && compare.comparators.iter().all(|value| match value {
            Expr::NumberLiteral(number) => !matches!(&number.value, ruff_python_ast::Number::Int(value) if value.as_i64().is_some_and(|value| (-1..=3).contains(&value))),
            Expr::List(list) => !list.elts.is_empty(),
            value => value.is_string_literal_expr() && value.range().len() > 3.into(),
        })
}

fn returns_literal(body: &[Stmt]) -> bool {
    matches!(body, [Stmt::Return(given)] if given.value.as_ref().is_some_and(|value| match &**value {
        Expr::List(list) => !list.elts.is_empty() && list.elts.iter().all(Expr::is_literal_expr),
        value => value.is_number_literal_expr() || value.is_string_literal_expr(),
    }))
}

/// A string that says something by itself.
pub fn telling_text<'a>(reader: &mut Reader<'a>, text: &str, range: TextRange) {
    if text.len() < 300 && !text.contains([' ', '\n']) {
        let of_a_host =
            HOST_PATHS.iter().any(|start| text.starts_with(start)) || HOST_PARTS.iter().any(|part| text.contains(part));
        if of_a_host {
            reader.tell(Capability::FileRead, "host_path", text, 0.6, range);
        }
    }
    if walks(text) {
        reader.tell(Capability::Introspection, "format_walk", "", 0.85, range);
    }
}

/// Whether a template reaches for attributes that are not a value's own: `{0.__class__.__init__.__globals__}`.
fn walks(template: &str) -> bool {
    if !template.contains(".__") && !template.contains("[__") {
        return false;
    }
    template.split('{').skip(1).filter_map(|field| field.split_once('}')).any(|(field, _)| {
        let path = field.split([':', '!']).next().unwrap_or("");
        !path.contains([' ', '('])
            && (path.contains(".__") || path.contains("[__"))
            && !path.ends_with(".__name__")
            && !path.ends_with(".__doc__")
    })
}

/// A template that is filled in: what its fields walk to is named.
pub fn format_walk<'a>(reader: &mut Reader<'a>, template: &str, args: &[Known<'a>], range: TextRange) {
    let mut next = 0;
    for (field, _) in template.split('{').skip(1).filter_map(|field| field.split_once('}')).take(64) {
        let path = field.split([':', '!']).next().unwrap_or("");
        let mut parts = path.split(['.', '[']);
        let first = parts.next().unwrap_or("");
        let index = first.parse::<usize>().unwrap_or(next);
        next += 1;
        let mut value = args.get(index).cloned().unwrap_or_default();
        for part in parts.take(32) {
            value = match part.strip_suffix(']') {
                Some(key) => reader.item(&value, &Known::text(key), range),
                None => reader.attribute(&value, part, range),
            };
        }
    }
}
