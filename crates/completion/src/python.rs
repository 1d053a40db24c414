//! Evidence that a text is Python: what its statements are, and for broken code how its lines begin.

use std::sync::LazyLock;

use proofbox_syntax::{MAX_DEPTH_INLINE, nests_too_deep};
use regex::bytes::{RegexSet, RegexSetBuilder};
use ruff_python_ast::{Expr, Stmt};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use ruff_python_stdlib::sys::is_known_standard_library;

use super::prose::{is_prose, is_sentence};

/// Longest line that is parsed by itself, in bytes.
const MAX_LINE: usize = 2000;
/// Longest text that is parsed as a whole, in bytes.
pub(crate) const MAX_PARSED: usize = 256 << 10;

/// Minor version of Python whose standard library counts.
const MINOR_VERSION: u8 = 13;
/// Packages besides the standard library whose import is a sure sign.
const PACKAGES: &[&str] = &[
    "numpy",
    "pandas",
    "requests",
    "torch",
    "tensorflow",
    "sklearn",
    "scipy",
    "matplotlib",
    "seaborn",
    "flask",
    "fastapi",
    "django",
    "pytest",
    "yaml",
    "bs4",
    "sympy",
    "networkx",
    "pydantic",
    "sqlalchemy",
    "httpx",
    "tqdm",
    "cv2",
];
/// Functions whose call is a sure sign.
const FUNCTIONS: &[&str] = &["print", "input", "open", "isinstance", "setattr", "super"];
/// Functions whose call is a sure sign around one that iterates.
const CONVERSIONS: &[&str] =
    &["list", "dict", "set", "tuple", "sorted", "sum", "any", "all", "len", "str", "int", "enumerate", "reversed"];
/// Functions that iterate.
const ITERATIONS: &[&str] = &["zip", "map", "filter", "range", "enumerate", "reversed", "sorted", "set", "list", "str"];
/// Names that stand for those of modules.
const PLACEHOLDERS: &[&str] = &["foo", "bar", "module", "my_module", "mymodule", "package", "something", "name"];
/// Names that annotate.
const TYPES: &[&str] = &["int", "str", "float", "bool", "list", "dict", "set", "tuple", "bytes", "object", "Any"];

/// Degree to which a text is evidence of Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Evidence {
    /// It does not parse.
    None,
    /// It parses, as prose and data may.
    Neutral,
    /// Rare in prose.
    Weak,
    /// Python, or something very like it.
    Strong,
}

/// Weight of evidence: a text with 2 or more, some of it strong, is Python.
pub(crate) fn weight(evidence: Evidence) -> usize {
    match evidence {
        Evidence::None | Evidence::Neutral => 0,
        Evidence::Weak => 1,
        Evidence::Strong => 2,
    }
}

/// Statements of a text that parses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// Evidence of the strongest statement.
    pub strongest: Evidence,
    /// Number of statements that are evidence at all.
    pub weighty: usize,
    /// True for a text that is nothing but `pass`.
    pub is_pass: bool,
}

/// Parses a text as statements; none where it is not Python, too long or too deep.
pub(crate) fn parse(source: &str) -> Option<Parsed> {
    if source.len() > MAX_PARSED || nests_too_deep(source, MAX_DEPTH_INLINE) {
        return None;
    }
    let parsed = parse_unchecked(source, ParseOptions::from(Mode::Module)).try_into_module()?;
    if parsed.has_invalid_syntax() {
        return None;
    }
    let body = &parsed.syntax().body;
    let evidence: Vec<Evidence> = body.iter().map(statement_evidence).collect();
    Some(Parsed {
        strongest: evidence.iter().copied().max().unwrap_or(Evidence::Neutral),
        weighty: evidence.iter().filter(|evidence| **evidence >= Evidence::Weak).count(),
        is_pass: matches!(body.first(), Some(Stmt::Pass(_))) && body.len() == 1,
    })
}

/// Parses a text whose first line is indented, as the body of a function.
pub(crate) fn parse_body(source: &str) -> Option<Parsed> {
    let indented = source.starts_with([' ', '\t']);
    let wrapped = indented.then(|| format!("if 1:\n{source}\n"))?;
    if wrapped.len() > MAX_PARSED || nests_too_deep(&wrapped, MAX_DEPTH_INLINE) {
        return None;
    }
    let parsed = parse_unchecked(&wrapped, ParseOptions::from(Mode::Module)).try_into_module()?;
    let [Stmt::If(first), rest @ ..] = &parsed.syntax().body[..] else { return None };
    if parsed.has_invalid_syntax() {
        return None;
    }
    let evidence: Vec<Evidence> = first.body.iter().chain(rest).map(statement_evidence).collect();
    Some(Parsed {
        strongest: evidence.iter().copied().max().unwrap_or(Evidence::Neutral),
        weighty: evidence.iter().filter(|evidence| **evidence >= Evidence::Weak).count(),
        is_pass: false,
    })
}

/// Judges a logical line.
pub(crate) fn line_evidence(line: &str) -> Evidence {
    /// Beginnings of lines, whatever is wrong behind them.
    static STRONG: LazyLock<RegexSet> = LazyLock::new(|| {
        set(&[
            r"^(async\s+)?def\s+\w+\s*\(",
            r"^class\s+\w+\s*(\([^)]*\))?\s*:",
            r"^(async\s+)?for\s+\w+(\s*,\s*\w+)*\s+in\s+\w+\(",
            r"^from\s+[\w.]+\s+import\s",
            r#"^print\s*["'(]"#,
            r"^\w+(\.\w+)*\s*=\s*([A-Za-z_]\w*(\.\w+)+|[A-Za-z_]\w+)\(",
            r"^(self|cls)\.\w+",
        ])
    });
    static WEAK: LazyLock<RegexSet> = LazyLock::new(|| {
        set(&[
            r"^(if|elif|while)\s+\S+\s*(==|!=|<=|>=|<|>|%)\s*\S+$",
            r"^return\s+\S*[\[({]",
            r"^(match|case)\s.*:$",
            r"^[%!][a-z]\w+",
            r"^\w+(\.\w+)*\s*[-+*/]?=\s*[\w\[({]",
        ])
    });
    let text = line.trim();
    if text.is_empty() || text.starts_with('#') {
        return Evidence::Neutral;
    }
    // Other languages end statements so.
    if text.ends_with(';') || text.len() > MAX_LINE {
        return Evidence::None;
    }
    if let Some(parsed) = parse(text) {
        return parsed.strongest;
    }
    if text.contains(':')
        && let Some(parsed) = parse(&with_body(text))
    {
        // Their headers alone may be words.
        let is_word = text.starts_with("match ") || text.starts_with("case ");
        return if is_word { parsed.strongest.min(Evidence::Weak) } else { parsed.strongest };
    }
    match () {
        () if is_sentence(text) => Evidence::None,
        () if STRONG.is_match(text.as_bytes()) => Evidence::Strong,
        () if !is_prose(text) && WEAK.is_match(text.as_bytes()) => Evidence::Weak,
        () => Evidence::None,
    }
}

fn set(patterns: &[&str]) -> RegexSet {
    RegexSetBuilder::new(patterns).unicode(false).build().expect("the patterns are constants")
}

/// Completes the header of a compound statement.
fn with_body(line: &str) -> String {
    let rest = |word: &str| line.strip_prefix(word).filter(|rest| rest.starts_with([' ', ':']));
    if rest("else").is_some() || rest("finally").is_some() && line.ends_with(':') {
        return format!("try:\n pass\nexcept E: pass\n{line}\n pass");
    }
    if rest("except").is_some() {
        return format!("try:\n pass\n{line}\n pass");
    }
    if rest("match").is_some() {
        return format!("{line}\n case _: pass");
    }
    if rest("case").is_some() {
        return format!("match x:\n {line}\n  pass");
    }
    match rest("elif") {
        Some(rest) => format!("if{rest}\n pass"),
        None => format!("{line}\n pass"),
    }
}

fn at_least(evidence: Evidence, condition: bool) -> Evidence {
    if condition { Evidence::Strong } else { evidence }
}

fn statement_evidence(statement: &Stmt) -> Evidence {
    use Evidence::{Neutral, Strong, Weak};
    match statement {
        Stmt::FunctionDef(_)
        | Stmt::ClassDef(_)
        | Stmt::ImportFrom(_)
        | Stmt::AugAssign(_)
        | Stmt::For(_)
        | Stmt::Try(_) => Strong,
        Stmt::Import(import) => {
            let is_sure = import.names.iter().any(|alias| {
                let name = alias.name.as_str();
                alias.asname.is_some()
                    || name.contains('.')
                    || PACKAGES.contains(&name)
                    || is_known_standard_library(MINOR_VERSION, name)
            });
            at_least(Weak, is_sure)
        }
        Stmt::Return(part) => at_least(Weak, part.value.as_deref().is_some_and(|value| !is_plain(value))),
        Stmt::While(part) => at_least(Weak, !matches!(*part.test, Expr::Name(_))),
        Stmt::If(part) => at_least(Weak, !matches!(*part.test, Expr::Name(_))),
        Stmt::With(part) => at_least(
            Weak,
            part.items.iter().any(|item| item.optional_vars.is_some() || matches!(item.context_expr, Expr::Call(_))),
        ),
        Stmt::Assert(part) => at_least(Weak, !is_plain(&part.test)),
        Stmt::Raise(part) => at_least(
            Weak,
            match part.exc.as_deref() {
                Some(Expr::Call(_)) => true,
                Some(Expr::Name(name)) => name.id.as_str().starts_with(char::is_uppercase),
                _ => false,
            },
        ),
        Stmt::Assign(assign) => {
            let stores = assign.targets.iter().any(|target| matches!(target, Expr::Attribute(_) | Expr::Subscript(_)));
            at_least(Weak, stores || value_evidence(&assign.value) == Strong)
        }
        Stmt::AnnAssign(part) => {
            let is_type = match &*part.annotation {
                Expr::Name(name) => TYPES.contains(&name.id.as_str()),
                Expr::Subscript(_) => true,
                _ => false,
            };
            match &part.value {
                Some(value) => at_least(Weak, is_type || value_evidence(value) == Strong),
                None if is_type => Weak,
                None => Neutral,
            }
        }
        Stmt::Expr(part) => expression_evidence(&part.value),
        Stmt::Match(_) => Strong,
        Stmt::Delete(_)
        | Stmt::TypeAlias(_)
        | Stmt::Global(_)
        | Stmt::Nonlocal(_)
        | Stmt::Pass(_)
        | Stmt::Break(_)
        | Stmt::Continue(_)
        | Stmt::IpyEscapeCommand(_) => Weak,
    }
}

/// Returns whether a module is one of the standard library, or of a package that is known.
pub(crate) fn is_known_module(name: &str) -> bool {
    let root = name.split('.').next().unwrap_or(name);
    PACKAGES.contains(&root) || is_known_standard_library(MINOR_VERSION, root)
}

/// Returns whether an expression is a name, a literal, or a few of them.
fn is_plain(expression: &Expr) -> bool {
    match expression {
        Expr::Name(_)
        | Expr::NumberLiteral(_)
        | Expr::StringLiteral(_)
        | Expr::BooleanLiteral(_)
        | Expr::NoneLiteral(_)
        | Expr::EllipsisLiteral(_) => true,
        Expr::UnaryOp(part) => is_plain_leaf(&part.operand),
        Expr::Tuple(part) => part.elts.iter().all(is_plain_leaf),
        Expr::List(part) => part.elts.iter().all(is_plain_leaf),
        _ => false,
    }
}

fn is_plain_leaf(expression: &Expr) -> bool {
    matches!(
        expression,
        Expr::Name(_)
            | Expr::NumberLiteral(_)
            | Expr::StringLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
    )
}

/// Judges what is assigned: equations have numbers, names, and functions of one letter.
fn value_evidence(value: &Expr) -> Evidence {
    match value {
        Expr::Call(call) => match &*call.func {
            Expr::Name(name) if name.id.chars().count() == 1 => Evidence::Weak,
            _ => Evidence::Strong,
        },
        Expr::BinOp(part) => value_evidence_leaf(&part.left).max(value_evidence_leaf(&part.right)),
        Expr::Tuple(part) => part.elts.iter().map(value_evidence_leaf).max().unwrap_or(Evidence::Weak),
        Expr::Dict(_)
        | Expr::Set(_)
        | Expr::Lambda(_)
        | Expr::If(_)
        | Expr::ListComp(_)
        | Expr::SetComp(_)
        | Expr::DictComp(_)
        | Expr::Generator(_)
        | Expr::Await(_)
        | Expr::Yield(_)
        | Expr::YieldFrom(_)
        | Expr::FString(_)
        | Expr::BytesLiteral(_)
        | Expr::Subscript(_)
        | Expr::Attribute(_)
        | Expr::Compare(_)
        | Expr::BoolOp(_) => Evidence::Strong,
        _ => Evidence::Weak,
    }
}

fn value_evidence_leaf(value: &Expr) -> Evidence {
    match value {
        Expr::BinOp(_) | Expr::Tuple(_) => Evidence::Weak,
        value => value_evidence(value),
    }
}

fn expression_evidence(expression: &Expr) -> Evidence {
    use Evidence::{Neutral, Strong, Weak};
    match expression {
        Expr::Call(call) => match &*call.func {
            Expr::Name(name) => at_least(
                Weak,
                FUNCTIONS.contains(&name.id.as_str())
                    || !call.arguments.keywords.is_empty()
                    || call.arguments.args.iter().any(is_comprehension)
                    || (CONVERSIONS.contains(&name.id.as_str()) && call.arguments.args.iter().any(is_iteration)),
            ),
            Expr::Attribute(_) | Expr::Call(_) | Expr::Subscript(_) => Strong,
            _ => Weak,
        },
        Expr::Lambda(_) | Expr::Await(_) | Expr::Yield(_) | Expr::YieldFrom(_) | Expr::Named(_) => Strong,
        expression if is_comprehension(expression) => Strong,
        Expr::Subscript(part) => expression_evidence(&part.value).max(Weak),
        Expr::BinOp(part) => computed(&part.left).max(computed(&part.right)),
        Expr::FString(_) | Expr::If(_) => Weak,
        _ => Neutral,
    }
}

/// Judges an operand: only what is sure by itself counts.
fn computed(operand: &Expr) -> Evidence {
    match operand {
        Expr::Call(_) => match expression_evidence(operand) {
            Evidence::Strong => Evidence::Strong,
            _ => Evidence::Neutral,
        },
        _ => Evidence::Neutral,
    }
}

fn is_iteration(expression: &Expr) -> bool {
    matches!(expression, Expr::Call(call)
        if matches!(&*call.func, Expr::Name(name) if ITERATIONS.contains(&name.id.as_str())))
}

fn is_comprehension(expression: &Expr) -> bool {
    matches!(expression, Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_))
}

fn is_placeholder(module: &str) -> bool {
    PLACEHOLDERS.contains(&module) || module.chars().count() == 1
}

/// Returns whether text within a line is code of its own, and not only the name of something: a definition, an import,
/// an assignment of a computed value, a comprehension, a function.
pub(crate) fn is_inline_code(span: &str) -> bool {
    if span.len() > MAX_LINE || nests_too_deep(span, MAX_DEPTH_INLINE) {
        return false;
    }
    let Some(parsed) = parse_unchecked(span, ParseOptions::from(Mode::Module)).try_into_module() else { return false };
    if parsed.has_invalid_syntax() {
        return false;
    }
    let computes = |value: &Expr| match value {
        Expr::Lambda(_) => true,
        Expr::Call(call) => {
            let arguments = || call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|pair| &pair.value));
            arguments().any(|argument| is_comprehension(argument) || matches!(argument, Expr::Lambda(_)))
        }
        value => is_comprehension(value),
    };
    parsed.syntax().body.iter().any(|statement| match statement {
        Stmt::FunctionDef(_) | Stmt::ClassDef(_) | Stmt::For(_) => true,
        // `import x` is a form of words.
        Stmt::Import(part) => {
            statement_evidence(statement) == Evidence::Strong
                && part.names.iter().all(|alias| !is_placeholder(&alias.name))
        }
        Stmt::ImportFrom(part) => part.module.as_ref().is_some_and(|module| !is_placeholder(module)),
        // Without spaces it is the argument of a call.
        Stmt::Assign(assign) => span.contains(" = ") && value_evidence(&assign.value) == Evidence::Strong,
        Stmt::Return(part) => part.value.as_deref().is_some_and(|value| !is_plain(value)),
        Stmt::Expr(part) => computes(&part.value),
        Stmt::If(part) => part.body.iter().any(does_something),
        Stmt::While(part) => part.body.iter().any(does_something),
        Stmt::With(part) => part.body.iter().any(does_something),
        _ => false,
    })
}

/// Returns whether a statement is more than a placeholder.
fn does_something(statement: &Stmt) -> bool {
    match statement {
        Stmt::Pass(_) => false,
        Stmt::Expr(part) => !is_plain(&part.value),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_evidence() {
        for line in [
            "def f(x):",
            "import os",
            "x += 1",
            "for x in xs:",
            "elif x > 1:",
            "except ValueError as error:",
            "print(x)",
            "xs.sort()",
            "return a + b",
            "raise ValueError(\"x\")",
            "d[k] = 1",
            "def f(x)",
            "y = f.g(",
        ] {
            assert_eq!(line_evidence(line), Evidence::Strong, "{line}");
        }
    }

    #[test]
    fn prose_and_mathematics_are_not() {
        for line in [
            "I can't do that.",
            "Paris, France",
            "Answer: B",
            "x = 5",
            "E = mc^2",
            "O(1)",
            "42",
            "[1, 2]",
            "yes",
            "return home",
            "Note: this",
            "for example:",
            "with that said:",
            "Hello!",
            "y = f(x)",
            "{\"a\": 1}",
        ] {
            assert!(line_evidence(line) < Evidence::Strong, "{line}");
        }
    }
}
