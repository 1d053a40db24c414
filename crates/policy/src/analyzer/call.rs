//! Calls: of builtins and of the standard library, of methods of constants, of the snippet's own functions.

use std::rc::Rc;

use ruff_python_ast::{Expr, ExprCall, Parameters, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};

use super::abstract_value::AbstractValue;
use super::arguments::{Arguments, FirstParameter, borrowed};
use super::eval::name_of;
use super::names::ScopeKind;
use super::{Frame, Interpreter, fold, heuristics};

/// Calls in calls that are evaluated.
const MAX_CALL_DEPTH: usize = 4;

impl<'a> Interpreter<'a> {
    /// A call in the source.
    pub(super) fn call(&mut self, call: &'a ExprCall) -> AbstractValue<'a> {
        let function = self.eval(&call.func);
        let mut arguments = Arguments::default();
        for arg in &call.arguments.args {
            let value = self.eval(arg);
            if !arg.is_starred_expr() {
                arguments.args.push(value);
                continue;
            }
            match self.items(&value) {
                Some(more) => arguments.args.extend(more.into_iter().take(4096)),
                None => arguments.args.push(AbstractValue::Unknown),
            }
        }
        for keyword in &call.arguments.keywords {
            self.binding_hint = keyword.arg.as_ref().map(|name| name.as_str().into());
            let value = self.eval(&keyword.value);
            match (&keyword.arg, &value) {
                (Some(name), _) => arguments.keywords.push((name.as_str().into(), value)),
                (None, AbstractValue::Dict(items)) => {
                    let named = items.iter().filter_map(|(key, value)| Some((key.as_text()?.into(), value.clone())));
                    arguments.keywords.extend(named);
                }
                (None, _) => {}
            }
        }
        self.binding_hint = None;
        self.changed_in_place(call, &arguments);
        let range = call.range();
        // A loader's methods import what they are told, whatever loader it is.
        if let (Expr::Attribute(method), Some(AbstractValue::Text(_))) = (&*call.func, arguments.args.first())
            && matches!(
                method.attr.as_str(),
                "load_module" | "find_module" | "find_spec" | "import_module" | "create_module"
            )
            && !matches!(function, AbstractValue::Function(..))
        {
            return self.call_import(&method.attr, &arguments, range);
        }
        // A class of the snippet: what it does with its arguments is read where it is made.
        if let (AbstractValue::Unknown, Expr::Name(name)) = (&function, &*call.func)
            && !arguments.args.is_empty()
            && self.classes.contains(name.id.as_str())
            && let Some(init) = self.attributes.get("__init__").cloned()
        {
            self.apply(&init, &arguments, range);
        }
        if let (AbstractValue::Unknown, Expr::Call(made)) = (&function, &*call.func)
            && let Expr::Name(name) = &*made.func
            && self.classes.contains(name.id.as_str())
            && let Some(body) = self.attributes.get("__call__").cloned()
        {
            return self.apply(&body, &arguments, range);
        }
        self.apply(&function, &arguments, range)
    }

    /// `name.append(value)` and the like.
    fn changed_in_place(&mut self, call: &'a ExprCall, arguments: &Arguments<'a>) {
        let Expr::Attribute(method) = &*call.func else { return };
        let Expr::Name(name) = &*method.value else { return };
        let [.., last] = arguments.args.as_slice() else { return };
        let old = self.lookup(&name.id, call.range());
        let new = match (&old, method.attr.as_str()) {
            (AbstractValue::Sequence(items), "append" | "add" | "appendleft") if items.len() < 256 => {
                AbstractValue::sequence(items.iter().chain([last]).cloned().collect())
            }
            (AbstractValue::Sequence(items), "insert") if items.len() < 256 => {
                let mut items = items.to_vec();
                let at = arguments.args[0].as_int().and_then(|at| usize::try_from(at).ok()).unwrap_or(items.len());
                items.insert(at.min(items.len()), last.clone());
                AbstractValue::sequence(items)
            }
            (AbstractValue::Sequence(items), "extend") if items.len() < 256 => match last.items() {
                Some(more) => AbstractValue::sequence(items.iter().cloned().chain(more).collect()),
                None => AbstractValue::Unknown,
            },
            (AbstractValue::Sequence(items), "reverse") => {
                AbstractValue::sequence(items.iter().rev().cloned().collect())
            }
            (AbstractValue::Dict(items), "update") if items.len() < 256 => match last {
                AbstractValue::Dict(more) => AbstractValue::dict(items.iter().chain(more.iter()).cloned().collect()),
                _ => return,
            },
            (AbstractValue::Dict(items), "setdefault" | "__setitem__")
                if items.len() < 256 && arguments.args.len() == 2 =>
            {
                AbstractValue::dict(items.iter().cloned().chain([(arguments.args[0].clone(), last.clone())]).collect())
            }
            _ => return,
        };
        let new = self.made(new);
        self.bind(name.id.as_str(), new);
    }

    /// Evaluates a call of `function`.
    pub(super) fn apply(
        &mut self,
        function: &AbstractValue<'a>,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> AbstractValue<'a> {
        let mut result = AbstractValue::Unknown;
        for function in function.possibilities() {
            let value = match function {
                AbstractValue::Object(name) => self.call_object(&Rc::clone(name), arguments, range),
                AbstractValue::Method(method) => self.call_method(&method.0, &method.1, arguments, range),
                AbstractValue::Function(function, scope) => self.call_own(function, *scope, arguments),
                AbstractValue::Lambda(lambda, scope) => {
                    let id = std::ptr::from_ref(*lambda) as usize;
                    self.enter_call(id, *scope, |interpreter| {
                        if let Some(parameters) = &lambda.parameters {
                            interpreter.parameters(
                                parameters,
                                &arguments.args,
                                &arguments.keywords,
                                FirstParameter::Argument,
                            );
                        }
                        interpreter.eval(&lambda.body)
                    })
                }
                AbstractValue::Partial(partial) => {
                    let args = partial.1.iter().chain(&arguments.args).cloned().collect();
                    let keywords = partial.2.iter().chain(&arguments.keywords).cloned().collect();
                    self.apply(&partial.0, &Arguments { args, keywords }, range)
                }
                AbstractValue::Getter(path, given) => match arguments.args.first() {
                    Some(value) => {
                        let value = value.clone();
                        let mut found: Vec<AbstractValue<'a>> = Vec::new();
                        for path in path.split(',') {
                            let names = path.split('.');
                            found.push(names.fold(value.clone(), |value, name| self.attribute(&value, name, range)));
                        }
                        let found = if found.len() == 1 {
                            found.pop().unwrap_or_default()
                        } else {
                            AbstractValue::sequence(found)
                        };
                        match given {
                            None => found,
                            Some(args) => {
                                let arguments = Arguments::of(args.to_vec());
                                self.apply(&found, &arguments, range)
                            }
                        }
                    }
                    None => AbstractValue::Unknown,
                },
                AbstractValue::ItemGetter(index) => match arguments.args.first() {
                    Some(value) => self.item(value, index, range),
                    None => AbstractValue::Unknown,
                },
                _ => AbstractValue::Unknown,
            };
            result = result.or(value);
        }
        result
    }

    fn call_method(
        &mut self,
        of: &AbstractValue<'a>,
        name: &str,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> AbstractValue<'a> {
        let args = &arguments.args;
        match (of, name) {
            (AbstractValue::Object(_) | AbstractValue::Namespace(_), "__getattribute__" | "__getattr__") => {
                match args.first() {
                    Some(AbstractValue::Text(name)) => self.attribute(of, name, range),
                    _ => self.some_attribute(of, range),
                }
            }
            (AbstractValue::Namespace(_), "get" | "pop" | "__getitem__" | "setdefault") => match args.first() {
                Some(key) => self.item(of, key, range),
                None => AbstractValue::Unknown,
            },
            (AbstractValue::Namespace(_), "update" | "__setitem__" | "clear") => {
                self.replaced(of, args.first().and_then(AbstractValue::as_text), range);
                AbstractValue::Unknown
            }
            (AbstractValue::Namespace(_), "copy" | "items") => of.clone(),
            (AbstractValue::Namespace(of), "values") => self.some_attribute(of, range),
            (AbstractValue::Text(template), "format" | "format_map") => {
                heuristics::format_walk(self, template, args, range);
                fold::method(of, name, args, &borrowed(&arguments.keywords))
            }
            _ if !self.affords(std::slice::from_ref(of)) || !self.affords(args) => AbstractValue::Unknown,
            _ => fold::method(of, name, args, &borrowed(&arguments.keywords)),
        }
    }

    /// A function of the snippet, with these arguments.
    fn call_own(
        &mut self,
        function: &'a StmtFunctionDef,
        scope: usize,
        arguments: &Arguments<'a>,
    ) -> AbstractValue<'a> {
        let parameters = &function.parameters;
        let known = |value: &AbstractValue| !value.is_unknown();
        let worth = parameters.is_empty()
            || arguments.args.iter().any(known)
            || arguments.keywords.iter().any(|(_, value)| known(value))
            || arguments.args.is_empty();
        if !worth {
            return AbstractValue::Unknown;
        }
        let id = std::ptr::from_ref(function) as usize;
        self.enter_call(id, scope, |interpreter| {
            interpreter.function_body(function, &arguments.args, &arguments.keywords);
            AbstractValue::Unknown
        })
    }

    /// Evaluates a call, unless that goes too deep or has taken too long.
    fn enter_call(
        &mut self,
        id: usize,
        scope: usize,
        body: impl FnOnce(&mut Self) -> AbstractValue<'a>,
    ) -> AbstractValue<'a> {
        let recursive = self.frames.iter().any(|frame| frame.function == id);
        if recursive || self.frames.len() >= MAX_CALL_DEPTH || !self.may_repeat() {
            return AbstractValue::Unknown;
        }
        self.replay_depth += 1;
        self.frames.push(Frame { function: id, ..Frame::default() });
        let branches = std::mem::take(&mut self.branches);
        let back = self.enter(scope, ScopeKind::Function);
        let value = body(self);
        self.leave(back);
        self.branches = branches;
        self.replay_depth -= 1;
        let frame = self.frames.pop().unwrap_or_default();
        if !frame.yields.is_empty() {
            return AbstractValue::sequence(frame.yields);
        }
        value.or(frame.returns)
    }

    /// Reads the body of a function that nobody has called, in a scope of its own.
    pub(super) fn uncalled_function(&mut self, function: &'a StmtFunctionDef) {
        let back = self.enter(self.here, ScopeKind::Function);
        self.function_body(function, &[], &[]);
        self.leave(back);
    }

    /// Reads the body of a function, in the scope that has been entered for it.
    pub(super) fn function_body(
        &mut self,
        function: &'a StmtFunctionDef,
        args: &[AbstractValue<'a>],
        keywords: &[(Rc<str>, AbstractValue<'a>)],
    ) {
        let method = function.parameters.iter_non_variadic_params().next().is_some_and(|first| {
            matches!(first.parameter.name.as_str(), "self" | "cls") && args.len() < function.parameters.len()
        });
        let first = if method { FirstParameter::Receiver } else { FirstParameter::Argument };
        self.parameters(&function.parameters, args, keywords, first);
        self.body(&function.body);
    }

    /// Binds parameters to arguments, or to their defaults.
    pub(super) fn parameters(
        &mut self,
        parameters: &'a Parameters,
        args: &[AbstractValue<'a>],
        keywords: &[(Rc<str>, AbstractValue<'a>)],
        first: FirstParameter,
    ) {
        let positional = parameters.posonlyargs.iter().chain(&parameters.args);
        let mut args = args.iter();
        for (index, parameter) in positional.enumerate() {
            let name = parameter.parameter.name.as_str();
            let given = if first == FirstParameter::Receiver && index == 0 { None } else { args.next() };
            let given = given.or_else(|| keywords.iter().find(|(known, _)| **known == *name).map(|(_, value)| value));
            let value = match (given, &parameter.default) {
                (Some(value), _) => value.clone(),
                (None, Some(default)) => {
                    self.binding_hint = Some(name.into());
                    self.eval(default)
                }
                (None, None) => AbstractValue::Unknown,
            };
            self.bind(name, value);
        }
        for parameter in &parameters.kwonlyargs {
            let name = parameter.parameter.name.as_str();
            let value = match (keywords.iter().find(|(known, _)| **known == *name), &parameter.default) {
                (Some((_, value)), _) => value.clone(),
                (None, Some(default)) => self.eval(default),
                (None, None) => AbstractValue::Unknown,
            };
            self.bind(name, value);
        }
        if let Some(rest) = &parameters.vararg {
            let rest_args: Vec<AbstractValue<'a>> = args.cloned().collect();
            let value = if rest_args.is_empty() { AbstractValue::Unknown } else { AbstractValue::sequence(rest_args) };
            self.bind(rest.name.as_str(), value);
        }
        if let Some(rest) = &parameters.kwarg {
            let items =
                keywords.iter().map(|(name, value)| (AbstractValue::text(name), value.clone())).collect::<Vec<_>>();
            let value = if items.is_empty() { AbstractValue::Unknown } else { AbstractValue::dict(items) };
            self.bind(rest.name.as_str(), value);
        }
    }

    /// Evaluates a decorated function; what the decorator returns may be the function itself.
    pub(super) fn decorated(
        &mut self,
        decorator: &AbstractValue<'a>,
        function: AbstractValue<'a>,
        range: TextRange,
    ) -> AbstractValue<'a> {
        let arguments = Arguments::of(vec![function.clone()]);
        self.apply(decorator, &arguments, range).or(function)
    }

    /// Names the next string as the target of its assignment.
    pub(super) fn named_as(&mut self, target: &Expr) {
        self.binding_hint = name_of(target);
    }
}
