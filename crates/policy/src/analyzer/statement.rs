//! Statements, in the order in which they stand.

use std::rc::Rc;

use ruff_python_ast::{
    ExceptHandler, Expr, Pattern, Stmt, StmtClassDef, StmtFor, StmtFunctionDef, StmtImportFrom, StmtWhile,
};
use ruff_text_size::{Ranged, TextRange};

use super::abstract_value::AbstractValue;
use super::names::ScopeKind;
use super::{ImportForm, Interpreter, fold, heuristics};
use crate::scanners::Capability;

/// Rounds of a loop over constants.
const MAX_ROUNDS: usize = 512;

impl<'a> Interpreter<'a> {
    /// Evaluates the statements of a body, in order.
    pub(super) fn body(&mut self, body: &'a [Stmt]) {
        for statement in body {
            if self.replay_depth > 0 && self.steps == 0 {
                return;
            }
            self.statement(statement);
        }
    }

    /// Statements that may not run.
    fn branch(&mut self, body: &'a [Stmt]) {
        self.branches += 1;
        self.body(body);
        self.branches -= 1;
    }

    fn statement(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let module = alias.name.as_str();
                    self.import(module, alias.range(), ImportForm::Statement);
                    match &alias.asname {
                        Some(name) => self.bind_module(name.as_str(), module, alias.range()),
                        None => {
                            let top = module.split('.').next().unwrap_or(module);
                            self.bind_module(top, top, alias.range());
                        }
                    }
                }
            }
            Stmt::ImportFrom(import) => self.import_from(import),
            Stmt::Assign(assign) => {
                if let Some(target) = assign.targets.first() {
                    self.named_as(target);
                }
                let value = self.eval(&assign.value);
                self.binding_hint = None;
                for target in &assign.targets {
                    self.assign(target, &value);
                }
            }
            Stmt::AnnAssign(assign) => {
                self.eval(&assign.annotation);
                if let Some(value) = &assign.value {
                    self.named_as(&assign.target);
                    let value = self.eval(value);
                    self.binding_hint = None;
                    self.assign(&assign.target, &value);
                }
            }
            Stmt::AugAssign(assign) => {
                self.named_as(&assign.target);
                let more = self.eval(&assign.value);
                self.binding_hint = None;
                let old = self.eval(&assign.target);
                let value = old.each(|old| more.each(|more| fold::binary(assign.op, old, more)));
                let value = self.made(value);
                if let Expr::Name(name) = &*assign.target {
                    self.bind(name.id.as_str(), value);
                } else {
                    self.assign(&assign.target, &value);
                }
            }
            Stmt::FunctionDef(function) => self.function(function),
            Stmt::ClassDef(class) => self.class(class),
            Stmt::Return(given) => {
                let value = given.value.as_ref().map_or(AbstractValue::Nothing, |value| self.eval(value));
                if let Some(frame) = self.frames.last_mut() {
                    frame.returns = std::mem::take(&mut frame.returns).or(value);
                }
            }
            Stmt::Delete(delete) => {
                for target in &delete.targets {
                    if let Expr::Attribute(attribute) = target {
                        let of = self.eval(&attribute.value);
                        self.replaced(&of, Some(&attribute.attr), target.range());
                    } else if let Expr::Subscript(subscript) = target {
                        let of = self.eval(&subscript.value);
                        let index = self.eval(&subscript.slice);
                        self.replaced(&of, index.as_text(), target.range());
                    }
                }
            }
            Stmt::For(round) => self.rounds(round),
            Stmt::While(round) => self.rounds_while(round),
            Stmt::If(choice) => {
                let test = self.eval(&choice.test);
                // Read before: now only what happens counts.
                if self.replay_depth > 0
                    && let Some(truth) = test.truth()
                    && choice.elif_else_clauses.len() <= 1
                {
                    if truth {
                        self.body(&choice.body);
                    } else if let Some(clause) = choice.elif_else_clauses.first().filter(|clause| clause.test.is_none())
                    {
                        self.body(&clause.body);
                    }
                    return;
                }
                self.branch(&choice.body);
                for clause in &choice.elif_else_clauses {
                    if let Some(test) = &clause.test {
                        self.eval(test);
                    }
                    self.branch(&clause.body);
                }
            }
            Stmt::With(with) => {
                for item in &with.items {
                    let value = self.eval(&item.context_expr);
                    if let Some(target) = &item.optional_vars {
                        self.assign(target, &value);
                    }
                }
                self.body(&with.body);
            }
            Stmt::Match(choice) => {
                let subject = self.eval(&choice.subject);
                for case in &choice.cases {
                    self.pattern(&case.pattern, &subject);
                    if let Some(guard) = &case.guard {
                        self.eval(guard);
                    }
                    self.branch(&case.body);
                }
            }
            Stmt::Raise(raise) => {
                for part in [&raise.exc, &raise.cause].into_iter().flatten() {
                    self.eval(part);
                }
            }
            Stmt::Try(attempt) => {
                self.body(&attempt.body);
                for ExceptHandler::ExceptHandler(handler) in &attempt.handlers {
                    if let Some(class) = &handler.type_ {
                        self.eval(class);
                    }
                    if let Some(name) = &handler.name {
                        self.bind(name.as_str(), AbstractValue::Unknown);
                    }
                    self.branch(&handler.body);
                }
                self.branch(&attempt.orelse);
                self.body(&attempt.finalbody);
            }
            Stmt::Assert(assert) => {
                self.eval(&assert.test);
                if let Some(message) = &assert.msg {
                    self.eval(message);
                }
            }
            Stmt::Global(global) => global.names.iter().for_each(|name| self.elsewhere(name)),
            Stmt::Nonlocal(nonlocal) => nonlocal.names.iter().for_each(|name| self.elsewhere(name)),
            Stmt::Expr(expr) => {
                self.eval(&expr.value);
            }
            Stmt::TypeAlias(alias) => {
                self.eval(&alias.value);
            }
            Stmt::Pass(_) | Stmt::Break(_) | Stmt::Continue(_) | Stmt::IpyEscapeCommand(_) => {}
        }
    }

    fn bind_module(&mut self, name: &'a str, module: &str, range: TextRange) {
        let object: Rc<str> = (&*super::capability_table::canonical(module)).into();
        self.touch(&object, range);
        self.bind(name, AbstractValue::Object(object));
    }

    fn import_from(&mut self, import: &'a StmtImportFrom) {
        let dots = ".".repeat(import.level.min(16) as usize);
        let module = format!("{dots}{}", import.module.as_ref().map_or("", |module| module.as_str()));
        self.import(&module, import.range(), ImportForm::Statement);
        for alias in &import.names {
            let name = alias.name.as_str();
            if name == "*" {
                self.star(&module);
                continue;
            }
            let full = if module.ends_with('.') { format!("{module}{name}") } else { format!("{module}.{name}") };
            // It may be a module of the package.
            self.tell_all(super::capability_table::of_module(&full), "import", &full, alias.range());
            let value = self.attribute(
                &AbstractValue::object(&super::capability_table::canonical(&module)),
                name,
                alias.range(),
            );
            let bound = alias.asname.as_ref().map_or(name, |name| name.as_str());
            self.bind(bound, value);
        }
    }

    fn rounds(&mut self, round: &'a StmtFor) {
        let over = self.eval(&round.iter);
        // Once for everything that is in it, where nothing is known of the item.
        self.branches += 1;
        self.assign(&round.target, &AbstractValue::Unknown);
        let items =
            over.items().filter(|items| items.len() <= MAX_ROUNDS && self.may_repeat() && self.frames.len() < 4);
        let Some(items) = items else {
            self.body(&round.body);
            self.body(&round.orelse);
            self.branches -= 1;
            return;
        };
        // What the loop makes is not to be mixed with what it makes of something unknown.
        let before = self.scopes_now();
        self.body(&round.body);
        self.branches -= 1;
        self.scopes_then(before);
        self.replay_depth += 1;
        for item in items {
            if !self.may_repeat() {
                break;
            }
            self.assign(&round.target, &item);
            self.body(&round.body);
        }
        self.replay_depth -= 1;
        self.branch(&round.orelse);
    }

    fn rounds_while(&mut self, round: &'a StmtWhile) {
        let test = self.eval(&round.test);
        let before = self.scopes_now();
        self.branch(&round.body);
        // `break` and `return` would have to be followed.
        let simple =
            round.body.iter().all(|one| one.is_assign_stmt() || one.is_aug_assign_stmt() || one.is_expr_stmt());
        if simple && test.truth() == Some(true) && before.is_some() {
            self.scopes_then(before);
            self.replay_depth += 1;
            for _ in 0..MAX_ROUNDS {
                if !self.may_repeat() || self.eval(&round.test).truth() != Some(true) {
                    break;
                }
                self.body(&round.body);
            }
            self.replay_depth -= 1;
        }
        self.branch(&round.orelse);
    }

    fn pattern(&mut self, pattern: &'a Pattern, subject: &AbstractValue<'a>) {
        match pattern {
            Pattern::MatchValue(value) => {
                self.eval(&value.value);
            }
            Pattern::MatchAs(named) => {
                if let Some(pattern) = &named.pattern {
                    self.pattern(pattern, subject);
                }
                if let Some(name) = &named.name {
                    self.bind(name.as_str(), subject.clone());
                }
            }
            Pattern::MatchOr(any) => any.patterns.iter().for_each(|pattern| self.pattern(pattern, subject)),
            Pattern::MatchSequence(sequence) => {
                let items = subject.items().filter(|items| items.len() == sequence.patterns.len());
                for (index, pattern) in sequence.patterns.iter().enumerate() {
                    let item = items.as_ref().map_or(AbstractValue::Unknown, |items| items[index].clone());
                    self.pattern(pattern, &item);
                }
            }
            Pattern::MatchMapping(mapping) => {
                for (key, pattern) in mapping.keys.iter().zip(&mapping.patterns) {
                    let key = self.eval(key);
                    let value = self.item(subject, &key, pattern.range());
                    self.pattern(pattern, &value);
                }
            }
            Pattern::MatchClass(class) => {
                self.eval(&class.cls);
                let parts = class.arguments.patterns.iter();
                for pattern in parts {
                    self.pattern(pattern, &AbstractValue::Unknown);
                }
                for keyword in &class.arguments.keywords {
                    let value = self.attribute(subject, &keyword.attr, keyword.range());
                    self.pattern(&keyword.pattern, &value);
                }
            }
            Pattern::MatchSingleton(_) | Pattern::MatchStar(_) => {}
        }
    }

    fn function(&mut self, function: &'a StmtFunctionDef) {
        let name = function.name.as_str();
        let mut value = AbstractValue::Function(function, self.here);
        for decorator in function.decorator_list.iter().rev() {
            let decorator_value = self.eval(&decorator.expression);
            value = self.decorated(&decorator_value, value, decorator.range());
        }
        if let Some(annotation) = &function.returns {
            self.eval(annotation);
        }
        for parameter in &function.parameters {
            if let Some(annotation) = parameter.annotation() {
                self.eval(annotation);
            }
        }
        heuristics::function(self, function);
        self.bind(name, value);
        if self.replay_depth == 0 {
            if self.place.is_some() {
                // The text is read on the spot.
                self.uncalled_function(function);
            } else {
                self.later.push_back((function, self.here));
            }
        }
    }

    fn class(&mut self, class: &'a StmtClassDef) {
        for decorator in &class.decorator_list {
            self.eval(&decorator.expression);
        }
        if let Some(arguments) = &class.arguments {
            for base in &arguments.args {
                let base_value = self.eval(base);
                match base_value.as_object() {
                    Some("builtins.SystemExit" | "builtins.KeyboardInterrupt" | "builtins.BaseException") => {
                        self.tell(
                            Capability::GraderTampering,
                            "uncatchable_exception",
                            "SystemExit",
                            0.7,
                            base.range(),
                        );
                    }
                    Some("importlib.abc.Loader" | "importlib.abc.MetaPathFinder" | "importlib.abc.SourceLoader") => {
                        self.tell(Capability::DynamicCode, "import_machinery", "importlib.abc", 0.9, base.range());
                    }
                    _ => {}
                }
            }
            for keyword in &arguments.keywords {
                self.eval(&keyword.value);
            }
        }
        self.classes.insert(class.name.as_str());
        let back = self.enter(self.here, ScopeKind::Class);
        self.body(&class.body);
        let names = self.names_of(self.here);
        self.leave(back);
        for (name, value) in names {
            heuristics::constant_answer(self, &name, &value, class.name.range());
            self.note_attribute(&name, value);
        }
        self.bind(class.name.as_str(), AbstractValue::Unknown);
    }
}
