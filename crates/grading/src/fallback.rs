//! Decides whether `grading: auto` may grade in process: by what the tests' own text says, never by what a candidate
//! did.
//!
//! The tests' interpreter notes what can't be had apart from the candidate. A note counts only if the tests' text has
//! the construct that the note is about, so a candidate can't bring a note about. Names are followed through imports
//! and plain assignments; what the text does not tell is taken to be the candidate's.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ExprCall, FStringPart, InterpolatedStringElement, Operator, Stmt, StmtClassDef};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use ruff_python_stdlib::builtins::is_python_builtin;
use ruff_python_stdlib::sys::is_known_standard_library;

use proofbox_types::program::{File, Program, PythonTests};

/// Maximum size of all test sources that are analysed, in bytes; beyond it there is no fallback.
const MAX_BYTES: usize = 4 << 20;
/// Maximum number of meanings that are kept of a name.
const MAX_MEANINGS: usize = 4;
/// Maximum length of a dotted path, in bytes.
const MAX_PATH_BYTES: usize = 200;
/// Minor version of Python whose library and builtins are meant.
const PYTHON_MINOR: u8 = 13;

/// Constructs of tests that only work in the candidate's own interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Construct {
    /// `mock.patch` of something in a library; `mock.patch.dict`.
    MockPatch,
    /// `monkeypatch` of something in a library, of the environment, of the directory.
    Monkeypatch,
    /// A class that derives from one of the candidate's.
    DerivedClass,
    /// Assignment to an attribute or an item of a library module.
    LibraryAssignment,
}

/// Beginnings of notes of the tests' interpreter, with the construct that each is about. Notes that are not listed
/// never lead to a fallback: that the snippet uses a name of the tests, for one, is the candidate's doing.
const NOTES: &[(&str, Construct)] = &[
    ("mock.patch", Construct::MockPatch),
    ("monkeypatch.", Construct::Monkeypatch),
    ("a class of the tests derives from", Construct::DerivedClass),
    ("an assignment to ", Construct::LibraryAssignment),
];

/// Ends of notes that are about a word of the tests' text, which they begin with.
const WORD_NOTE: &str = " in the tests' own interpreter";

/// Source texts of tests, and the names that are the candidate's.
#[derive(Debug, Default)]
pub struct TestText {
    sources: Vec<String>,
    /// True when a source or file is not text.
    unreadable: bool,
    /// Dotted name under which tests import the snippet.
    module: Option<String>,
    /// Top-level names of the candidate's other modules.
    other_modules: BTreeSet<String>,
}

impl TestText {
    /// Collects the sources of the tests of a program.
    pub fn of(program: &Program) -> Self {
        let mut text = Self {
            module: program.module.clone(),
            other_modules: program.files.iter().filter_map(top_level_module).collect(),
            ..Self::default()
        };
        match &program.tests {
            Some(PythonTests::Asserts { setup, asserts }) => {
                text.sources.push(std::iter::once(setup).chain(asserts).map(|part| format!("{part}\n")).collect());
            }
            Some(PythonTests::CheckFunction { source, .. } | PythonTests::Script { source }) => {
                text.sources.push(source.clone());
            }
            Some(PythonTests::Evaluator(evaluator)) => text.sources.push(evaluator.source.clone()),
            Some(PythonTests::Unittest(files) | PythonTests::Pytest(files)) => {
                text.sources.extend(files.source.clone());
            }
            // Doctests are the candidate's own text, calls have none.
            Some(PythonTests::Doctest | PythonTests::FunctionCases { .. } | PythonTests::Complexity { .. }) | None => {}
        }
        for file in program.test_files.iter().filter(|file| file.path.ends_with(".py")) {
            match std::str::from_utf8(&file.content) {
                Ok(source) => text.sources.push(source.to_owned()),
                Err(_) => text.unreadable = true,
            }
        }
        text
    }

    /// Returns whether one of these notes is about a construct that the tests' text has. Tests that can't be parsed
    /// have no construct. Needs a large stack ([`proofbox_syntax::on_large_stack`]).
    pub fn accounts_for(&self, notes: &[String]) -> bool {
        let noted: BTreeSet<Construct> = notes.iter().filter_map(|note| construct_noted(note)).collect();
        let words: Vec<&str> = notes.iter().filter_map(|note| note.strip_suffix(WORD_NOTE)).collect();
        if noted.is_empty() && words.is_empty() {
            return false;
        }
        let has_word = || words.iter().any(|word| self.sources.iter().any(|source| source.contains(word)));
        self.constructs().is_some_and(|found| !found.is_disjoint(&noted) || has_word())
    }

    /// The constructs of all sources; `None` when one can't be parsed.
    fn constructs(&self) -> Option<BTreeSet<Construct>> {
        if self.unreadable || self.sources.iter().map(String::len).sum::<usize>() > MAX_BYTES {
            return None;
        }
        let mut found = BTreeSet::new();
        for source in &self.sources {
            if proofbox_syntax::nests_too_deep(source, proofbox_syntax::MAX_DEPTH) {
                return None;
            }
            let parsed = parse_unchecked(source, ParseOptions::from(Mode::Module)).try_into_module()?;
            if !parsed.has_valid_syntax() {
                return None;
            }
            let mut names = Names::new(self);
            parsed.suite().iter().for_each(|statement| names.visit_stmt(statement));
            let mut search = Search { names: &names, found: &mut found };
            parsed.suite().iter().for_each(|statement| search.visit_stmt(statement));
        }
        Some(found)
    }

    /// The rest of a dotted path after the name of one of the candidate's modules; `None` when it begins otherwise.
    fn within_candidate<'p>(&self, path: &'p str) -> Option<&'p str> {
        let below_module = self.module.as_deref().and_then(|module| path.strip_prefix(module));
        if let Some(rest) = below_module.filter(|rest| rest.is_empty() || rest.starts_with('.')) {
            return Some(rest.trim_start_matches('.'));
        }
        let (top, rest) = path.split_once('.').unwrap_or((path, ""));
        self.other_modules.contains(top).then_some(rest)
    }

    /// Returns whether a dotted path names something of a library. A library module that is reached through the
    /// candidate's (`solution.time`) is the library's, whoever imported it.
    fn is_library(&self, path: &str) -> bool {
        match self.within_candidate(path) {
            Some(rest) => is_known_standard_library(PYTHON_MINOR, rest.split('.').next().unwrap_or(rest)),
            None => !path.is_empty(),
        }
    }

    /// Returns whether a dotted path names an attribute of something of a library.
    fn is_in_library(&self, path: &str) -> bool {
        // Replaced streams are carried over.
        let is_stream = matches!(path, "sys.stdout" | "sys.stderr");
        !is_stream && path.rsplit_once('.').is_some_and(|(target, _)| self.is_library(target))
    }
}

fn construct_noted(note: &str) -> Option<Construct> {
    NOTES.iter().find(|(beginning, _)| note.starts_with(beginning)).map(|(_, construct)| *construct)
}

/// The module that a file of the candidate's is, or belongs to.
fn top_level_module(file: &File) -> Option<String> {
    let path = file.path.strip_prefix("/home/user/").unwrap_or(&file.path);
    let path = path.trim_start_matches("./");
    let (top, below) = path.split_once('/').map_or((path, false), |(top, _)| (top, true));
    if below { Some(top.to_owned()) } else { top.strip_suffix(".py").map(str::to_owned) }
}

/// Meanings of the names of one source, wherever in it they are bound.
struct Names<'t> {
    text: &'t TestText,
    /// Dotted paths by name: of imports, and of what is assigned from such.
    paths: BTreeMap<String, Vec<String>>,
    /// Values of string variables, by name.
    strings: BTreeMap<String, String>,
    /// Names of `MonkeyPatch` objects.
    monkeypatches: BTreeSet<String>,
    /// Every name that the source binds itself.
    bound: BTreeSet<String>,
}

impl<'t> Names<'t> {
    fn new(text: &'t TestText) -> Self {
        Self {
            text,
            paths: BTreeMap::new(),
            strings: BTreeMap::new(),
            monkeypatches: BTreeSet::new(),
            bound: BTreeSet::new(),
        }
    }

    fn bind_path(&mut self, name: &str, path: String) {
        self.bound.insert(name.to_owned());
        let paths = self.paths.entry(name.to_owned()).or_default();
        if path.len() <= MAX_PATH_BYTES && paths.len() < MAX_MEANINGS && !paths.contains(&path) {
            paths.push(path);
        }
    }

    fn bind(&mut self, target: &Expr, value: &Expr) {
        let Expr::Name(name) = target else { return };
        for path in self.paths_to(value) {
            self.bind_path(&name.id, path);
        }
        if let Some(text) = self.string(value) {
            self.strings.insert(name.id.to_string(), text);
        }
        if self.is_monkeypatch(value) {
            self.monkeypatches.insert(name.id.to_string());
        }
    }

    /// Dotted paths that an expression may stand for.
    fn paths_to(&self, expression: &Expr) -> Vec<String> {
        match expression {
            Expr::Name(name) => self.paths.get(name.id.as_str()).cloned().unwrap_or_default(),
            Expr::Attribute(attribute) => {
                let of = self.paths_to(&attribute.value);
                of.into_iter()
                    .map(|path| format!("{path}.{}", attribute.attr))
                    .filter(|path| path.len() <= MAX_PATH_BYTES)
                    .collect()
            }
            Expr::Call(call) if self.calls(call, &["importlib.import_module", "importlib.__import__"]) => {
                call.arguments.find_argument_value("name", 0).and_then(|name| self.string(name)).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// The string that an expression stands for, where the text tells it.
    fn string(&self, expression: &Expr) -> Option<String> {
        let text = match expression {
            Expr::StringLiteral(literal) => literal.value.to_str().to_owned(),
            Expr::Name(name) if name.id.as_str() == "__name__" => "__name__".to_owned(),
            Expr::Name(name) => self.strings.get(name.id.as_str())?.clone(),
            Expr::Attribute(attribute) if attribute.attr.as_str() == "__name__" => {
                self.paths_to(&attribute.value).into_iter().next()?
            }
            Expr::BinOp(operation) if operation.op == Operator::Add => {
                self.string(&operation.left)? + &self.string(&operation.right)?
            }
            Expr::FString(text) => {
                let mut whole = String::new();
                for part in &text.value {
                    match part {
                        FStringPart::Literal(literal) => whole.push_str(literal.as_str()),
                        FStringPart::FString(part) => {
                            for element in &part.elements {
                                match element {
                                    InterpolatedStringElement::Literal(literal) => whole.push_str(&literal.value),
                                    InterpolatedStringElement::Interpolation(value) => {
                                        whole.push_str(&self.string(&value.expression)?);
                                    }
                                }
                            }
                        }
                    }
                }
                whole
            }
            _ => return None,
        };
        (text.len() <= MAX_PATH_BYTES).then_some(text)
    }

    fn calls(&self, call: &ExprCall, functions: &[&str]) -> bool {
        self.paths_to(&call.func).iter().any(|path| functions.contains(&path.as_str()))
    }

    /// Returns whether an expression is pytest's fixture, or an object of its class.
    fn is_monkeypatch(&self, expression: &Expr) -> bool {
        const CLASSES: &[&str] = &["pytest.MonkeyPatch", "_pytest.monkeypatch.MonkeyPatch"];
        match expression {
            Expr::Name(name) => name.id.as_str() == "monkeypatch" || self.monkeypatches.contains(name.id.as_str()),
            Expr::Attribute(attribute) => attribute.attr.as_str() == "monkeypatch",
            Expr::Call(call) => {
                let made = self.calls(call, CLASSES);
                let context = matches!(&*call.func, Expr::Attribute(method) if method.attr.as_str() == "context"
                    && (self.is_monkeypatch(&method.value)
                        || self.paths_to(&method.value).iter().any(|path| CLASSES.contains(&path.as_str()))));
                made || context
            }
            _ => false,
        }
    }

    /// Returns whether an expression stands for something of a library.
    fn is_library(&self, expression: &Expr) -> bool {
        self.paths_to(expression).iter().any(|path| self.text.is_library(path))
    }

    /// Returns whether an expression, or a string that ends in an attribute's name, means something of a library.
    fn targets_library(&self, target: &Expr) -> bool {
        match self.string(target) {
            Some(path) => self.text.is_in_library(&path),
            None => self.is_library(target),
        }
    }

    /// Returns whether an expression uses a name of the candidate's, or a name that the source does not bind.
    fn uses_candidate(&self, expression: &Expr) -> bool {
        struct Uses<'n, 't> {
            names: &'n Names<'t>,
            found: bool,
        }
        impl<'a> Visitor<'a> for Uses<'_, '_> {
            fn visit_expr(&mut self, expression: &'a Expr) {
                if let Expr::Name(name) = expression {
                    let name = name.id.as_str();
                    let paths = self.names.paths.get(name);
                    self.found |= match paths {
                        Some(paths) => paths.iter().any(|path| self.names.text.within_candidate(path).is_some()),
                        None => !self.names.bound.contains(name) && !is_python_builtin(name, PYTHON_MINOR, false),
                    };
                }
                walk_expr(self, expression);
            }
        }
        let mut uses = Uses { names: self, found: false };
        uses.visit_expr(expression);
        uses.found
    }
}

impl<'a> Visitor<'a> for Names<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let path = alias.name.as_str();
                    match &alias.asname {
                        Some(name) => self.bind_path(name, path.to_owned()),
                        None => {
                            let top = path.split('.').next().unwrap_or(path);
                            self.bind_path(top, top.to_owned());
                        }
                    }
                }
            }
            Stmt::ImportFrom(import) if import.level == 0 => {
                let module = import.module.as_deref().unwrap_or_default();
                for alias in import.names.iter().filter(|alias| alias.name.as_str() != "*") {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.bind_path(name, format!("{module}.{}", alias.name));
                }
            }
            Stmt::ImportFrom(import) => {
                let names = import.names.iter().map(|alias| alias.asname.as_ref().unwrap_or(&alias.name).to_string());
                self.bound.extend(names);
            }
            Stmt::Assign(assignment) => {
                assignment.targets.iter().for_each(|target| self.bind(target, &assignment.value));
            }
            Stmt::AnnAssign(assignment) => {
                if let Some(value) = &assignment.value {
                    self.bind(&assignment.target, value);
                }
            }
            Stmt::With(with) => {
                for item in &with.items {
                    if let Some(target) = &item.optional_vars {
                        self.bind(target, &item.context_expr);
                    }
                }
            }
            Stmt::ClassDef(class) => _ = self.bound.insert(class.name.to_string()),
            Stmt::FunctionDef(function) => {
                self.bound.insert(function.name.to_string());
                let parameters = function.parameters.iter().map(|parameter| parameter.name().to_string());
                self.bound.extend(parameters);
            }
            _ => {}
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Name(name) = expression
            && name.ctx.is_store()
        {
            self.bound.insert(name.id.to_string());
        }
        walk_expr(self, expression);
    }
}

/// Looks for constructs in one source.
struct Search<'n, 't> {
    names: &'n Names<'t>,
    found: &'n mut BTreeSet<Construct>,
}

impl Search<'_, '_> {
    fn add(&mut self, construct: Construct, is_there: bool) {
        if is_there {
            self.found.insert(construct);
        }
    }

    fn call(&mut self, call: &ExprCall) {
        let names = self.names;
        let first = call.arguments.find_argument_value("target", 0);
        for path in names.paths_to(&call.func) {
            let patch = ["unittest.mock.patch", "mock.patch"].iter().find_map(|patch| path.strip_prefix(patch));
            match patch {
                Some("" | ".object") => {
                    self.add(Construct::MockPatch, first.is_some_and(|target| names.targets_library(target)));
                }
                Some(".multiple") => {
                    let named = first.and_then(|target| names.string(target));
                    let is_library = named.is_some_and(|path| names.text.is_library(&path));
                    self.add(Construct::MockPatch, is_library || first.is_some_and(|target| names.is_library(target)));
                }
                Some(".dict") => {
                    let dict = call.arguments.find_argument_value("in_dict", 0);
                    let is_named = |dict| names.string(dict).is_some() || !names.paths_to(dict).is_empty();
                    self.add(Construct::MockPatch, dict.is_some_and(is_named));
                }
                _ => {}
            }
        }
        match &*call.func {
            Expr::Attribute(method) if names.is_monkeypatch(&method.value) => match method.attr.as_str() {
                "setenv" | "delenv" | "chdir" | "syspath_prepend" => self.add(Construct::Monkeypatch, true),
                "setattr" | "delattr" => {
                    self.add(Construct::Monkeypatch, first.is_some_and(|target| names.targets_library(target)));
                }
                "setitem" | "delitem" => {
                    let dict = call.arguments.find_argument_value("dic", 0);
                    self.add(Construct::Monkeypatch, dict.is_some_and(|dict| names.is_library(dict)));
                }
                _ => {}
            },
            Expr::Name(name) if matches!(name.id.as_str(), "setattr" | "delattr") => {
                let target = call.arguments.find_positional(0);
                self.add(Construct::LibraryAssignment, target.is_some_and(|target| names.is_library(target)));
            }
            _ => {}
        }
    }

    fn class(&mut self, class: &StmtClassDef) {
        let Some(arguments) = &class.arguments else { return };
        let mut parts = arguments.args.iter().chain(arguments.keywords.iter().map(|keyword| &keyword.value));
        self.add(Construct::DerivedClass, parts.any(|part| self.names.uses_candidate(part)));
    }
}

impl<'a> Visitor<'a> for Search<'_, '_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::ClassDef(class) = statement {
            self.class(class);
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Call(call) => self.call(call),
            Expr::Attribute(attribute) if !attribute.ctx.is_load() => {
                let paths = self.names.paths_to(expression);
                let is_library = paths.iter().any(|path| self.names.text.is_in_library(path));
                self.add(Construct::LibraryAssignment, is_library);
            }
            Expr::Subscript(item) if !item.ctx.is_load() => {
                self.add(Construct::LibraryAssignment, self.names.is_library(&item.value));
            }
            _ => {}
        }
        walk_expr(self, expression);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str) -> TestText {
        TestText {
            sources: vec![source.to_owned()],
            unreadable: false,
            module: Some("solution".to_owned()),
            other_modules: BTreeSet::from(["helper".to_owned()]),
        }
    }

    #[track_caller]
    fn has(source: &str, constructs: &[Construct]) {
        let found = text(source).constructs().expect("it parses");
        assert_eq!(found.into_iter().collect::<Vec<_>>(), constructs, "{source}");
    }

    #[test]
    fn patches_of_libraries_are_found() {
        let imports = "import os, random, time, unittest.mock\nimport os.path as p\nfrom unittest import mock\n\
            from unittest.mock import patch\nfrom unittest.mock import patch as swap\nfrom pathlib import Path\n\
            import importlib, solution, helper\nT = 'os.path.exists'\nother = time\nobj = patch.object\n";
        for call in [
            "@patch('random.randint')\ndef test(m): pass",
            "with mock.patch(\"builtins.input\", side_effect=['a']): pass",
            "unittest.mock.patch('os.listdir').start()",
            "@swap(target='os.listdir')\ndef test(m): pass",
            "@patch(T)\ndef test(m): pass",
            "patch(f'{os.__name__}.remove')",
            "patch('os' + '.remove')",
            "patch(__name__ + '.choice')",
            "patch('requests.get')",
            "patch.object(time, 'sleep')",
            "patch.object(other, 'sleep')",
            "obj(Path, 'exists')",
            "patch.object(p, 'exists')",
            "patch.object(importlib.import_module('time'), 'sleep')",
            "patch.multiple('os', remove=1)",
            "patch.dict(os.environ, {'A': 'b'})",
            "patch.dict('os.environ', A='b')",
            "patch.dict(solution.CONFIG, a=1)",
            "patch.multiple(os, remove=1)",
            "patch('solution.time.sleep')",
            "patch.object(solution.random, 'randint')",
            "patch('helper.os.remove')",
            "class T:\n    def test(self):\n        with patch('os.remove') as r, patch('os.rename'): pass",
            "async def test():\n    async with patch('os.remove'): pass",
            "x = [patch('os.remove') for _ in ()]",
        ] {
            has(&format!("{imports}{call}"), &[Construct::MockPatch]);
        }
    }

    #[test]
    fn patches_of_the_candidate_are_none() {
        let imports = "import solution, helper, sys\nfrom solution import roll, Game, config\nfrom unittest import mock\n\
            from unittest.mock import patch\n";
        for call in [
            "@patch('solution.roll')\ndef test(m): pass",
            "patch('solution.Game.play')",
            "patch('helper.roll')",
            "patch.object(solution, 'roll')",
            "patch.object(Game, 'play')",
            "patch.object(solution.Game, 'play')",
            "patch('sys.stdout')",
            // Whatever the candidate gives is the candidate's.
            "patch.object(roll(), 'x')",
            "game = Game()\npatch.object(game, 'play')",
            "patch.object(time, 'sleep')",
            "patch(config['target'])",
            "patch(roll())",
            "patch(f'{roll()}.x')",
            // Text that is no code, and names that are others'.
            "'''patch('os.remove')'''",
            "# patch('os.remove')",
            "class C:\n    def patch(self, x): pass\nC().patch('os.remove')",
        ] {
            has(&format!("{imports}{call}"), &[]);
        }
        has("patch('os.remove')", &[]);
        has("from solution import patch\npatch('os.remove')", &[]);
    }

    #[test]
    fn monkeypatches_are_found_by_what_they_replace() {
        let test = "import os, sys, time, random, pytest, solution\ndef test(monkeypatch):\n    ";
        for call in [
            "monkeypatch.setattr(time, 'sleep', print)",
            "monkeypatch.setattr('time.sleep', print)",
            "monkeypatch.delattr(target=os, name='remove')",
            "monkeypatch.setattr(solution.time, 'sleep', print)",
            "monkeypatch.setenv('A', 'b')",
            "monkeypatch.delenv('A')",
            "monkeypatch.chdir('/tmp')",
            "monkeypatch.syspath_prepend('/tmp')",
            "monkeypatch.setitem(os.environ, 'A', 'b')",
            "monkeypatch.setitem(sys.modules, 'x', None)",
            "with monkeypatch.context() as m: m.setenv('A', 'b')",
            "with pytest.MonkeyPatch.context() as mp: mp.chdir('/')",
            "mp = pytest.MonkeyPatch(); mp.setenv('A', 'b')",
        ] {
            has(&format!("{test}{call}"), &[Construct::Monkeypatch]);
        }
        for call in [
            "monkeypatch.setattr(solution, 'roll', print)",
            "monkeypatch.setattr('solution.roll', print)",
            "monkeypatch.setattr(solution.roll(), 'x', 1)",
            "monkeypatch.setitem(solution.CONFIG, 'a', 1)",
            "monkeypatch.undo()",
            "solution.setenv('A', 'b')",
        ] {
            has(&format!("{test}{call}"), &[]);
        }
    }

    #[test]
    fn classes_that_derive_from_the_candidate_are_found() {
        for source in [
            "import solution\nclass T(solution.Base): pass",
            "from solution import Base\nclass T(Base): pass",
            "from solution import Base as B\nclass T(object, B): pass",
            "from helper import Base\nclass T(Base): pass",
            "import solution\nB = solution.Base\nclass T(B): pass",
            "import solution\nclass T(solution.make()): pass",
            "class T(Base): pass",
            "from solution import *\nclass T(Base): pass",
            "import solution\nclass T(metaclass=solution.Meta): pass",
            "def test():\n    class T(Base): pass",
        ] {
            has(source, &[Construct::DerivedClass]);
        }
        for source in [
            "import unittest\nclass T(unittest.TestCase): pass",
            "from unittest import TestCase\nclass T(TestCase): pass",
            "class A: pass\nclass T(A): pass",
            "class T(Exception, metaclass=type): pass",
            "from collections import namedtuple\nclass T(namedtuple('P', 'x y')): pass",
            "import solution\nclass T: base = solution.Base",
            "from enum import Enum\nclass T(str, Enum): A = 'a'",
            "from typing import Generic, TypeVar\nK = TypeVar('K')\nclass T(Generic[K]): pass",
        ] {
            has(source, &[]);
        }
    }

    #[test]
    fn assignments_to_libraries_are_found() {
        let imports = "import builtins, os, random, solution, sys, io\nfrom pathlib import Path\n";
        for statement in [
            "random.randint = lambda a, b: 4",
            "builtins.input = print",
            "os.environ['A'] = 'b'",
            "del os.environ['A']",
            "Path.exists = print",
            "x, os.sep = 1, 2",
            "for random.seed in (): pass",
            "random.x += 1",
            "setattr(random, 'randint', print)",
            "solution.random.randint = print",
        ] {
            has(&format!("{imports}{statement}"), &[Construct::LibraryAssignment]);
        }
        for statement in [
            "sys.stdout = io.StringIO()",
            "solution.roll = print",
            "solution.CONFIG['a'] = 1",
            "x = random.randint",
            "x = os.environ['A']",
            "p = Path('.')\np.x = 1",
            "time.sleep = print",
            "setattr(solution, 'x', 1)",
        ] {
            has(&format!("{imports}{statement}"), &[]);
        }
    }

    #[test]
    fn a_note_needs_its_construct_in_the_text() {
        let patch = "from unittest.mock import patch\npatch('os.remove')";
        let note = |what: &str| vec![what.to_owned()];
        assert!(text(patch).accounts_for(&note("mock.patch of os.remove")));
        assert!(!text(patch).accounts_for(&note("monkeypatch.setenv")));
        assert!(!text(patch).accounts_for(&note("the snippet uses 'total', a name of the tests")));
        assert!(!text(patch).accounts_for(&note("something new")));
        assert!(!text(patch).accounts_for(&[]));
        assert!(!text("assert f() == 1").accounts_for(&note("mock.patch of os.remove")));
        let both = ["the snippet uses 'x', a name of the tests", "mock.patch of os.remove"].map(str::to_owned);
        assert!(text(patch).accounts_for(&both));
        let word = note("tracemalloc in the tests' own interpreter");
        assert!(text("import tracemalloc").accounts_for(&word));
        assert!(!text(patch).accounts_for(&word));
        assert!(!text("import tracemalloc\ndef f(:").accounts_for(&word));
    }

    #[test]
    fn text_that_cannot_be_read_has_nothing() {
        let patch = "from unittest.mock import patch\npatch('os.remove')\n";
        let note = ["mock.patch of os.remove".to_owned()];
        for broken in [
            format!("{patch}def f(:\n"),
            format!("{patch}x = {}1{}", "(".repeat(5000), ")".repeat(5000)),
            format!("{patch}{}", "#".repeat(MAX_BYTES)),
        ] {
            assert!(!text(&broken).accounts_for(&note));
        }
        let binary = File { path: "test_x.py".to_owned(), content: vec![0xff] };
        let mut program = Program { test_files: vec![binary], ..Program::default() };
        program.tests = Some(PythonTests::Script { source: patch.to_owned() });
        assert!(!TestText::of(&program).accounts_for(&note));
        program.test_files.clear();
        assert!(TestText::of(&program).accounts_for(&note));
        // Of the candidate's own text nothing counts.
        (program.code, program.tests) = (patch.to_owned(), Some(PythonTests::Doctest));
        assert!(!TestText::of(&program).accounts_for(&note));
    }

    #[test]
    fn names_that_grow_are_bounded() {
        let mut source = "import a\n".to_owned();
        (0..2000).for_each(|_| source.push_str("a = a.b\nb = a\na = b.c\n"));
        let mut text = text(&source);
        assert_eq!(text.constructs(), Some(BTreeSet::new()));
        text.sources = vec!["x = 'a'\n".to_owned() + &"x = x + x\n".repeat(1000)];
        assert_eq!(text.constructs(), Some(BTreeSet::new()));
    }
}
