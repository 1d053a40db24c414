//! Shapes of code that say something whatever it names: objects that equal everything, tables of known answers, format
//! strings that walk attributes, paths that only a host has.

use ruff_python_ast::{CmpOp, Expr, ExprCompare, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};

use super::Interpreter;
use super::abstract_value::AbstractValue;
use crate::scanners::Capability;

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
/// Minimum number of `if x == literal: return literal` that look like a table of known answers.
const KNOWN_INPUTS: usize = 3;
/// Paths where hosts keep what programs have no business with.
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
const HOST_PARTS: &[&str] = &["/.ssh", "/.aws", "docker.sock", "/.kube", "/.git-credentials", "/.netrc", "../../"];

/// An object's own answer to a comparison that is always the same, given under that name.
pub(super) fn constant_answer<'a>(
    interpreter: &mut Interpreter<'a>,
    name: &str,
    value: &AbstractValue<'a>,
    range: TextRange,
) {
    if name == "__class__" {
        interpreter.tell(Capability::GraderTampering, "object_changed", name, 0.7, range);
    }
    if !ANSWERS.contains(&name) {
        return;
    }
    let constant = match value {
        AbstractValue::Lambda(lambda, _) => is_constant(&lambda.body),
        AbstractValue::Function(function, _) => answers_alike(function, name),
        // Equal to everything by its nature.
        AbstractValue::Object(of) | AbstractValue::Instance(of) => of.starts_with("unittest.mock."),
        _ => false,
    };
    if constant {
        interpreter.tell(Capability::GraderTampering, "constant_equality", name, 0.8, range);
    }
}

/// The shapes of a function.
pub(super) fn function<'a>(interpreter: &mut Interpreter<'a>, function: &'a StmtFunctionDef) {
    let name = function.name.as_str();
    let documented = matches!(function.body.first(), Some(Stmt::Expr(text)) if text.value.is_string_literal_expr());
    let body = &function.body[usize::from(documented)..];
    let range = function.name.range();
    if ANSWERS.contains(&name) && answers_alike(function, name) {
        interpreter.tell(Capability::GraderTampering, "constant_equality", name, 0.8, range);
    }
    if name.starts_with("pytest_") {
        interpreter.tell(Capability::GraderTampering, "test_hook", name, 0.8, range);
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
        interpreter.tell(Capability::GraderTampering, "known_answers", name, 0.5, range);
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
        interpreter.tell(Capability::GraderTampering, "answers_in_turn", name, 0.5, range);
    }
}

/// Returns whether a comparison method never looks at what it is compared with, and answers other than that it can't
/// tell.
fn answers_alike(function: &StmtFunctionDef, name: &str) -> bool {
    let documented = matches!(function.body.first(), Some(Stmt::Expr(text)) if text.value.is_string_literal_expr());
    let body = &function.body[usize::from(documented)..];
    // An empty container of its own kind is false.
    if matches!(name, "__len__" | "__bool__") {
        return name == "__bool__"
            && matches!(body, [Stmt::Return(given)] if given.value.as_ref().is_some_and(|value| is_constant(value) && !is_false(value)));
    }
    let Some(Stmt::Return(last)) = body.last() else { return false };
    let Some(value) = &last.value else { return false };
    if is_constant(value) {
        return body
            .iter()
            .all(|statement| statement.is_return_stmt() || statement.is_assign_stmt() || statement.is_expr_stmt());
    }
    let other = function.parameters.iter_non_variadic_params().nth(1).map(|other| other.parameter.name.as_str());
    match (body, &**value) {
        // `return not None`, `return bool("yes")`: it names neither itself nor the other.
        ([..], Expr::UnaryOp(op)) if body.len() <= 2 => op.operand.is_literal_expr(),
        ([_], Expr::Call(call)) => {
            other.is_some() && call.arguments.args.iter().all(Expr::is_literal_expr) && call.func.is_name_expr()
        }
        _ => false,
    }
}

fn is_constant(value: &Expr) -> bool {
    let compared = |compare: &ExprCompare| is_constant(&compare.left) && compare.comparators.iter().all(is_constant);
    value.is_literal_expr()
        || matches!(value, Expr::Compare(compare) if compared(compare))
        || matches!(value, Expr::UnaryOp(op) if op.operand.is_literal_expr())
        || matches!(value, Expr::Name(name) if name.id.as_str() == "self")
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

/// A text that is searched for in what comes from outside: code in it is what a test would hold.
pub(super) fn search(
    interpreter: &mut Interpreter<'_>,
    part: &AbstractValue<'_>,
    op: CmpOp,
    whole: &AbstractValue<'_>,
    range: TextRange,
) {
    let (AbstractValue::Text(part), AbstractValue::Instance(from)) = (part, whole) else { return };
    let outside =
        matches!(&**from, "sys.stdin.read" | "sys.stdin.buffer.read" | "builtins.open().read" | "inspect.getsource")
            || from.ends_with(".read_text");
    let code = part.contains("assert") || part.find('(').is_some_and(|at| at > 0 && !part[..at].contains(' '));
    if matches!(op, CmpOp::In | CmpOp::NotIn) && outside && code {
        interpreter.tell(Capability::GraderTampering, "looks_for_tests", from, 0.6, range);
    }
}

/// A string that says something by itself.
pub(super) fn telling_text(interpreter: &mut Interpreter<'_>, text: &str, range: TextRange) {
    if text.len() < 300 && !text.contains([' ', '\n']) {
        let of_a_host =
            HOST_PATHS.iter().any(|start| text.starts_with(start)) || HOST_PARTS.iter().any(|part| text.contains(part));
        if of_a_host {
            interpreter.tell(Capability::FileRead, "host_path", text, 0.6, range);
        }
    }
    if text.starts_with("/proc/") && text.ends_with("/environ") {
        interpreter.tell(Capability::Environment, "host_path", text, 0.9, range);
    }
    let file = text.rsplit('/').next().unwrap_or(text);
    if matches!(file, "conftest.py" | "sitecustomize.py" | "usercustomize.py" | "pytest.ini" | "tox.ini")
        || (file.ends_with(".pth") && file.len() > 4)
    {
        interpreter.tell(Capability::GraderTampering, "test_hook", file, 0.7, range);
    }
    // By such a text many functions find what it names: mock.patch, pkgutil, logging, entry points.
    let dotted = text.strip_prefix("ext://").unwrap_or(text);
    if text.len() < 80
        && dotted.contains(['.', ':'])
        && dotted.chars().all(|char| char.is_alphanumeric() || matches!(char, '.' | '_' | ':'))
    {
        let name = dotted.replace(':', ".");
        for entry in super::capability_table::of_exact(&name) {
            interpreter.tell(entry.capability, "named_in_text", &name, 0.6 * entry.confidence, range);
        }
    }
    if walks(text) {
        interpreter.tell(Capability::Introspection, "format_walk", "", 0.85, range);
    }
}

/// Returns whether a template reaches for attributes that are not a value's own: `{0.__class__.__init__.__globals__}`.
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
pub(super) fn format_walk<'a>(
    interpreter: &mut Interpreter<'a>,
    template: &str,
    args: &[AbstractValue<'a>],
    range: TextRange,
) {
    let fields = template.split('{').skip(1).filter_map(|field| field.split_once('}')).take(64);
    for (next, (field, _)) in fields.enumerate() {
        let path = field.split([':', '!']).next().unwrap_or("");
        let mut parts = path.split(['.', '[']);
        let first = parts.next().unwrap_or("");
        let index = first.parse::<usize>().unwrap_or(next);
        let mut value = args.get(index).cloned().unwrap_or_default();
        for part in parts.take(32) {
            value = match part.strip_suffix(']') {
                Some(key) => interpreter.item(&value, &AbstractValue::text(key), range),
                None => interpreter.attribute(&value, part, range),
            };
        }
    }
}
