//! Calls: of builtins and of the standard library, of methods of constants, of the snippet's own functions.

use std::rc::Rc;

use ruff_python_ast::{Expr, ExprCall, Parameters, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};

use super::arguments::{Arguments, borrowed};
use super::eval::name_of;
use super::known::Known;
use super::{Frame, Reader, fold, shapes};

/// Calls in calls that are evaluated.
const DEEPEST_CALL: usize = 4;

impl<'a> Reader<'a> {
    /// A call in the source.
    pub fn call(&mut self, call: &'a ExprCall) -> Known<'a> {
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
                None => arguments.args.push(Known::Unknown),
            }
        }
        for keyword in &call.arguments.keywords {
            self.naming = keyword.arg.as_ref().map(|name| name.as_str().into());
            let value = self.eval(&keyword.value);
            match (&keyword.arg, &value) {
                (Some(name), _) => arguments.keywords.push((name.as_str().into(), value)),
                (None, Known::Dict(items)) => {
                    let named = items.iter().filter_map(|(key, value)| Some((key.as_text()?.into(), value.clone())));
                    arguments.keywords.extend(named);
                }
                (None, _) => {}
            }
        }
        self.naming = None;
        self.changed_in_place(call, &arguments);
        let range = call.range();
        // A loader's methods import what they are told, whatever loader it is.
        if let (Expr::Attribute(method), Some(Known::Text(_))) = (&*call.func, arguments.args.first())
            && matches!(
                method.attr.as_str(),
                "load_module" | "find_module" | "find_spec" | "import_module" | "create_module"
            )
            && !matches!(function, Known::Function(..))
        {
            return self.call_import(&method.attr, &arguments, range);
        }
        // A class of the snippet: what it does with its arguments is read where it is made.
        if let (Known::Unknown, Expr::Name(name)) = (&function, &*call.func)
            && !arguments.args.is_empty()
            && self.classes.contains(name.id.as_str())
            && let Some(init) = self.attributes.get("__init__").cloned()
        {
            self.apply(&init, &arguments, range);
        }
        if let (Known::Unknown, Expr::Call(made)) = (&function, &*call.func)
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
            (Known::Sequence(items), "append" | "add" | "appendleft") if items.len() < 256 => {
                Known::sequence(items.iter().chain([last]).cloned().collect())
            }
            (Known::Sequence(items), "insert") if items.len() < 256 => {
                let mut items = items.to_vec();
                let at = arguments.args[0].as_int().and_then(|at| usize::try_from(at).ok()).unwrap_or(items.len());
                items.insert(at.min(items.len()), last.clone());
                Known::sequence(items)
            }
            (Known::Sequence(items), "extend") if items.len() < 256 => match last.items() {
                Some(more) => Known::sequence(items.iter().cloned().chain(more).collect()),
                None => Known::Unknown,
            },
            (Known::Sequence(items), "reverse") => Known::sequence(items.iter().rev().cloned().collect()),
            (Known::Dict(items), "update") if items.len() < 256 => match last {
                Known::Dict(more) => Known::dict(items.iter().chain(more.iter()).cloned().collect()),
                _ => return,
            },
            (Known::Dict(items), "setdefault" | "__setitem__") if items.len() < 256 && arguments.args.len() == 2 => {
                Known::dict(items.iter().cloned().chain([(arguments.args[0].clone(), last.clone())]).collect())
            }
            _ => return,
        };
        let new = self.made(new);
        self.bind(name.id.as_str(), new);
    }

    /// Evaluates a call of `function`.
    pub fn apply(&mut self, function: &Known<'a>, arguments: &Arguments<'a>, range: TextRange) -> Known<'a> {
        let mut result = Known::Unknown;
        for function in function.possibilities() {
            let value = match function {
                Known::Object(name) => self.call_object(&Rc::clone(name), arguments, range),
                Known::Method(method) => self.call_method(&method.0, &method.1, arguments, range),
                Known::Function(function, scope) => self.call_own(function, *scope, arguments),
                Known::Lambda(lambda, scope) => {
                    let id = std::ptr::from_ref(*lambda) as usize;
                    self.enter_call(id, *scope, |reader| {
                        if let Some(parameters) = &lambda.parameters {
                            reader.parameters(parameters, &arguments.args, &arguments.keywords, false);
                        }
                        reader.eval(&lambda.body)
                    })
                }
                Known::Partial(partial) => {
                    let args = partial.1.iter().chain(&arguments.args).cloned().collect();
                    let keywords = partial.2.iter().chain(&arguments.keywords).cloned().collect();
                    self.apply(&partial.0, &Arguments { args, keywords }, range)
                }
                Known::Getter(path, given) => match arguments.args.first() {
                    Some(value) => {
                        let value = value.clone();
                        let mut found: Vec<Known<'a>> = Vec::new();
                        for path in path.split(',') {
                            let names = path.split('.');
                            found.push(names.fold(value.clone(), |value, name| self.attribute(&value, name, range)));
                        }
                        let found =
                            if found.len() == 1 { found.pop().unwrap_or_default() } else { Known::sequence(found) };
                        match given {
                            None => found,
                            Some(args) => {
                                let arguments = Arguments::of(args.to_vec());
                                self.apply(&found, &arguments, range)
                            }
                        }
                    }
                    None => Known::Unknown,
                },
                Known::ItemGetter(index) => match arguments.args.first() {
                    Some(value) => self.item(value, index, range),
                    None => Known::Unknown,
                },
                _ => Known::Unknown,
            };
            result = result.or(value);
        }
        result
    }

    fn call_method(&mut self, of: &Known<'a>, name: &str, arguments: &Arguments<'a>, range: TextRange) -> Known<'a> {
        let args = &arguments.args;
        match (of, name) {
            (Known::Object(_) | Known::Namespace(_), "__getattribute__" | "__getattr__") => match args.first() {
                Some(Known::Text(name)) => self.attribute(of, name, range),
                _ => self.some_attribute(of, range),
            },
            (Known::Namespace(_), "get" | "pop" | "__getitem__" | "setdefault") => match args.first() {
                Some(key) => self.item(of, key, range),
                None => Known::Unknown,
            },
            (Known::Namespace(_), "update" | "__setitem__" | "clear") => {
                self.replaced(of, args.first().and_then(Known::as_text), range);
                Known::Unknown
            }
            (Known::Namespace(_), "copy" | "items") => of.clone(),
            (Known::Namespace(of), "values") => self.some_attribute(of, range),
            (Known::Text(template), "format" | "format_map") => {
                shapes::format_walk(self, template, args, range);
                fold::method(of, name, args, &borrowed(&arguments.keywords))
            }
            _ if !self.affords(std::slice::from_ref(of)) || !self.affords(args) => Known::Unknown,
            _ => fold::method(of, name, args, &borrowed(&arguments.keywords)),
        }
    }

    /// A function of the snippet, with these arguments.
    fn call_own(&mut self, function: &'a StmtFunctionDef, scope: usize, arguments: &Arguments<'a>) -> Known<'a> {
        let parameters = &function.parameters;
        let known = |value: &Known| !value.is_unknown();
        let worth = parameters.is_empty()
            || arguments.args.iter().any(known)
            || arguments.keywords.iter().any(|(_, value)| known(value))
            || arguments.args.is_empty();
        if !worth {
            return Known::Unknown;
        }
        let id = std::ptr::from_ref(function) as usize;
        self.enter_call(id, scope, |reader| {
            reader.function_body(function, &arguments.args, &arguments.keywords, true);
            Known::Unknown
        })
    }

    /// Evaluates a call, unless that goes too deep or has taken too long.
    fn enter_call(&mut self, id: usize, scope: usize, body: impl FnOnce(&mut Self) -> Known<'a>) -> Known<'a> {
        let recursive = self.frames.iter().any(|frame| frame.function == id);
        if recursive || self.frames.len() >= DEEPEST_CALL || !self.may_repeat() {
            return Known::Unknown;
        }
        self.again += 1;
        self.frames.push(Frame { function: id, ..Frame::default() });
        let branches = std::mem::take(&mut self.branches);
        let back = self.enter(scope, false);
        let value = body(self);
        self.leave(back);
        self.branches = branches;
        self.again -= 1;
        let frame = self.frames.pop().unwrap_or_default();
        if !frame.yields.is_empty() {
            return Known::sequence(frame.yields);
        }
        value.or(frame.returns)
    }

    /// The body of a function. `called`: its scope has been entered, and its names are for this call alone.
    pub fn function_body(
        &mut self,
        function: &'a StmtFunctionDef,
        args: &[Known<'a>],
        keywords: &[(Rc<str>, Known<'a>)],
        called: bool,
    ) {
        let back = (!called).then(|| self.enter(self.here, false));
        let method = function.parameters.iter_non_variadic_params().next().is_some_and(|first| {
            matches!(first.parameter.name.as_str(), "self" | "cls") && args.len() < function.parameters.len()
        });
        self.parameters(&function.parameters, args, keywords, method);
        self.body(&function.body);
        if let Some(back) = back {
            self.leave(back);
        }
    }

    /// Binds parameters to arguments, or to their defaults. `skip`: the first one is the object itself.
    pub fn parameters(
        &mut self,
        parameters: &'a Parameters,
        args: &[Known<'a>],
        keywords: &[(Rc<str>, Known<'a>)],
        skip: bool,
    ) {
        let positional = parameters.posonlyargs.iter().chain(&parameters.args);
        let mut args = args.iter();
        for (index, parameter) in positional.enumerate() {
            let name = parameter.parameter.name.as_str();
            let given = if skip && index == 0 { None } else { args.next() };
            let given = given.or_else(|| keywords.iter().find(|(known, _)| **known == *name).map(|(_, value)| value));
            let value = match (given, &parameter.default) {
                (Some(value), _) => value.clone(),
                (None, Some(default)) => {
                    self.naming = Some(name.into());
                    self.eval(default)
                }
                (None, None) => Known::Unknown,
            };
            self.bind(name, value);
        }
        for parameter in &parameters.kwonlyargs {
            let name = parameter.parameter.name.as_str();
            let value = match (keywords.iter().find(|(known, _)| **known == *name), &parameter.default) {
                (Some((_, value)), _) => value.clone(),
                (None, Some(default)) => self.eval(default),
                (None, None) => Known::Unknown,
            };
            self.bind(name, value);
        }
        if let Some(rest) = &parameters.vararg {
            let rest_args: Vec<Known<'a>> = args.cloned().collect();
            let value = if rest_args.is_empty() { Known::Unknown } else { Known::sequence(rest_args) };
            self.bind(rest.name.as_str(), value);
        }
        if let Some(rest) = &parameters.kwarg {
            let items = keywords.iter().map(|(name, value)| (Known::text(name), value.clone())).collect::<Vec<_>>();
            let value = if items.is_empty() { Known::Unknown } else { Known::dict(items) };
            self.bind(rest.name.as_str(), value);
        }
    }

    /// Evaluates a decorated function; what the decorator returns may be the function itself.
    pub fn decorated(&mut self, decorator: &Known<'a>, function: Known<'a>, range: TextRange) -> Known<'a> {
        let arguments = Arguments::of(vec![function.clone()]);
        self.apply(decorator, &arguments, range).or(function)
    }

    /// Names the next string as the target of its assignment.
    pub fn named_as(&mut self, target: &Expr) {
        self.naming = name_of(target);
    }
}
