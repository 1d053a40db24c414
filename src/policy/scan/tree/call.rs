//! Calls: of builtins and of the standard library, of methods of constants, of the snippet's own functions.

use std::rc::Rc;

use ruff_python_ast::{Expr, ExprCall, Parameters, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};

use super::eval::{name_of, own_names};
use super::known::Known;
use super::{Frame, Reader, fold, shapes};
use crate::policy::scan::Capability;

/// Functions that run a text as code, or make of it what is run.
const RUNS_SOURCE: &[&str] = &[
    "builtins.exec",
    "builtins.eval",
    "builtins.compile",
    "timeit.timeit",
    "timeit.repeat",
    "timeit.Timer",
    "cProfile.run",
    "cProfile.runctx",
    "cProfile.Profile().run",
    "profile.run",
    "profile.runctx",
    "pdb.run",
    "pdb.runeval",
    "bdb.Bdb().run",
    "trace.Trace().run",
    "code.InteractiveConsole().push",
    "code.InteractiveConsole().runsource",
    "code.InteractiveInterpreter().runsource",
    "code.InteractiveInterpreter().runcode",
    "code.compile_command",
    "codeop.compile_command",
    "ast.parse",
    "ctypes.pythonapi.PyRun_SimpleString",
    "_testcapi.run_in_subinterp",
    "doctest.debug_src",
];
/// Functions of packages that read from an address as well as from a file.
const READ_ADDRESSES: &[&str] = &[
    "read_csv",
    "read_json",
    "read_html",
    "read_table",
    "read_excel",
    "read_parquet",
    "read_xml",
    "read_feather",
    "imread",
    "load_dataset",
    "loadtxt",
    "genfromtxt",
    "from_url",
    "parse",
    "make_parser",
];
/// Calls in calls that are evaluated.
const DEEPEST_CALL: usize = 4;

/// Keyword arguments.
pub type Keywords<'a> = Vec<(Rc<str>, Known<'a>)>;

/// The arguments of a call.
#[derive(Default)]
pub struct Arguments<'a> {
    args: Vec<Known<'a>>,
    keywords: Keywords<'a>,
}

impl<'a> Arguments<'a> {
    /// Positional ones only.
    fn of(args: Vec<Known<'a>>) -> Self {
        Self { args, keywords: Vec::new() }
    }

    /// The argument at that place or of that name.
    fn get(&self, index: usize, name: &str) -> Option<&Known<'a>> {
        self.args.get(index).or_else(|| self.keyword(name))
    }

    fn keyword(&self, name: &str) -> Option<&Known<'a>> {
        self.keywords.iter().find(|(known, _)| **known == *name).map(|(_, value)| value)
    }
}

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

    /// What calling `function` gives.
    fn apply(&mut self, function: &Known<'a>, arguments: &Arguments<'a>, range: TextRange) -> Known<'a> {
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

    /// A call of something that has a name in a module.
    fn call_object(&mut self, name: &Rc<str>, arguments: &Arguments<'a>, range: TextRange) -> Known<'a> {
        let args = arguments.args.as_slice();
        let keywords = borrowed(&arguments.keywords);
        match (&**name, args) {
            (
                "builtins.getattr"
                | "inspect.getattr_static"
                | "builtins.object.__getattribute__"
                | "builtins.type.__getattribute__",
                [of, attr, ..],
            ) => {
                let mut result = Known::Unknown;
                for attr in attr.possibilities() {
                    result = result.or(match attr {
                        Known::Text(attr) => self.attribute(of, attr, range),
                        _ => self.some_attribute(of, range),
                    });
                }
                result
            }
            (
                "builtins.setattr" | "builtins.object.__setattr__" | "builtins.type.__setattr__",
                [of, attr, value, ..],
            ) => {
                let attr_text = attr.as_text();
                self.replaced(of, attr_text, range);
                if let Some(attr) = attr_text {
                    shapes::constant_answer(self, attr, value, range);
                    self.note_attribute(attr, value.clone());
                }
                Known::Nothing
            }
            ("builtins.delattr", [of, attr, ..]) => {
                self.replaced(of, attr.as_text(), range);
                Known::Nothing
            }
            ("unittest.mock.patch" | "unittest.mock.patch.object", _) => Known::Unknown,
            ("os.write" | "os.close" | "os.dup" | "os.dup2" | "os.pwrite", [descriptor, ..]) => {
                // Standard output is a program's own; the rest was given to somebody else.
                if !matches!(descriptor, Known::Int(1 | 2)) || name.ends_with("close") || name.contains("dup") {
                    self.tell(Capability::GraderTampering, "descriptor", name, 0.6, range);
                }
                Known::Unknown
            }
            ("signal.alarm", [Known::Int(0)]) | ("signal.setitimer", [_, Known::Int(0), ..]) => {
                self.tell(Capability::GraderTampering, "timer_off", name, 0.7, range);
                Known::Unknown
            }
            ("fileinput.input", _) => {
                if arguments.keyword("inplace").is_some_and(|inplace| inplace.truth() != Some(false)) {
                    self.tell(Capability::FileWrite, "open_to_write", name, 0.9, range);
                }
                Known::Unknown
            }
            ("pathlib.Path().iterdir" | "pathlib.Path().glob" | "pathlib.Path().rglob", _) => {
                Known::sequence(vec![Known::Instance("pathlib.Path".into())])
            }
            (_, [Known::Text(address), ..])
                if address.starts_with("file:")
                    && super::table::of_name(name).iter().any(|entry| entry.capability == Capability::Network) =>
            {
                self.tell(Capability::FileRead, "read_address", name, 0.8, range);
                Known::Instance(Rc::clone(name))
            }
            (reader, [Known::Text(address), ..])
                if address.contains("://")
                    && reader.rsplit('.').next().is_some_and(|last| READ_ADDRESSES.contains(&last)) =>
            {
                self.tell(Capability::Network, "read_address", name, 0.8, range);
                Known::Instance(Rc::clone(name))
            }
            ("builtins.globals" | "builtins.locals" | "builtins.vars", []) => own_names(),
            ("builtins.vars", [of, ..]) => Known::Namespace(Rc::new(of.clone())),
            ("inspect.getmembers" | "inspect.getmembers_static", [of @ Known::Object(_), ..]) => {
                Known::Namespace(Rc::new(of.clone()))
            }
            (
                "builtins.dict"
                | "collections.ChainMap"
                | "types.MappingProxyType"
                | "copy.copy"
                | "collections.OrderedDict"
                | "types.SimpleNamespace"
                | "collections.UserDict",
                [space @ Known::Namespace(_), ..],
            ) => space.clone(),
            (
                "builtins.__import__"
                | "importlib.import_module"
                | "importlib.__import__"
                | "importlib._bootstrap._gcd_import"
                | "pydoc.locate"
                | "pkgutil.resolve_name"
                | "test.support.import_helper.import_module"
                | "?.import_module"
                | "?.load_module"
                | "importlib.util.find_spec"
                | "pydoc.safeimport",
                _,
            ) => self.call_import(name, arguments, range),
            (
                "sys.modules.get" | "sys.modules.pop" | "sys.modules.__getitem__" | "sys.modules.setdefault",
                [key, ..],
            ) => {
                if name.ends_with("pop") || name.ends_with("setdefault") {
                    self.replaced(&Known::object("sys.modules"), key.as_text(), range);
                }
                self.item(&Known::object("sys.modules"), key, range)
            }
            ("builtins.get" | "builtins.__getitem__" | "builtins.pop", [Known::Text(key), ..]) => {
                self.attribute(&Known::object("builtins"), key, range)
            }
            (name, _) if RUNS_SOURCE.contains(&name) => self.call_source(name, arguments, range),
            (
                "builtins.open"
                | "io.FileIO"
                | "gzip.open"
                | "bz2.open"
                | "lzma.open"
                | "tarfile.open"
                | "zipfile.ZipFile"
                | "tarfile.TarFile"
                | "gzip.GzipFile"
                | "bz2.BZ2File"
                | "lzma.LZMAFile"
                | "wave.open"
                | "pathlib.Path().open"
                | "os.fdopen"
                | "io.open_code"
                | "aiofiles.open"
                | "?.open",
                _,
            ) => {
                self.call_open(name, arguments, range);
                Known::Instance(Rc::clone(name))
            }
            ("os.open", _) => {
                let reads = match args.get(1) {
                    Some(Known::Int(0)) => true,
                    Some(Known::Object(flag)) => &**flag == "os.O_RDONLY",
                    _ => false,
                };
                if !reads {
                    self.tell(Capability::FileWrite, "open_to_write", name, 0.8, range);
                }
                Known::Unknown
            }
            ("sqlite3.connect", _) => {
                let path = arguments.get(0, "database").and_then(Known::as_text);
                if !matches!(path, Some("" | ":memory:")) {
                    self.tell(Capability::FileWrite, "open_to_write", name, 0.7, range);
                }
                Known::object("sqlite3.Connection()")
            }
            ("logging.basicConfig", _) => {
                if arguments.keyword("filename").is_some() {
                    self.tell(Capability::FileWrite, "open_to_write", name, 0.7, range);
                }
                Known::Nothing
            }
            ("functools.partial" | "functools.partialmethod", [of, rest @ ..]) => {
                Known::Partial(Rc::new((of.clone(), rest.to_vec(), arguments.keywords.clone()))).bounded()
            }
            ("functools.reduce", [of, over, rest @ ..]) => {
                let Some(items) = over.items().filter(|items| items.len() <= 64) else { return Known::Unknown };
                let mut items = rest.first().cloned().into_iter().chain(items);
                let mut value = items.next().unwrap_or_default();
                for item in items {
                    value = self.apply(of, &Arguments::of(vec![value, item]), range);
                }
                value
            }
            ("operator.attrgetter", [Known::Text(path)]) => Known::Getter(Rc::clone(path), None),
            ("operator.attrgetter", [_, _, ..]) => {
                let paths: Option<Vec<&str>> = args.iter().map(Known::as_text).collect();
                paths.map_or(Known::Unknown, |paths| Known::Getter(paths.join(",").into(), None))
            }
            ("operator.methodcaller", [Known::Text(path), rest @ ..]) => {
                Known::Getter(Rc::clone(path), Some(Rc::new(rest.to_vec())))
            }
            ("operator.itemgetter", [index]) => Known::ItemGetter(Rc::new(index.clone())).bounded(),
            ("operator.call" | "builtins.map" | "itertools.starmap" | "builtins.filter", [of, rest @ ..]) => {
                self.call_each(name, of, rest, range)
            }
            ("builtins.type", [Known::Object(of)]) if !of.contains("()") => Known::object("types.ModuleType"),
            ("builtins.type", [Known::Function(..) | Known::Lambda(..)]) => {
                self.touch(&"types.FunctionType".into(), range);
                Known::object("types.FunctionType")
            }
            ("builtins.type", [_, _, Known::Dict(items)]) => {
                for (key, value) in items.iter() {
                    if let Some(key) = key.as_text() {
                        self.note_attribute(key, value.clone());
                    }
                }
                Known::Unknown
            }
            ("types.SimpleNamespace", _) => {
                for (key, value) in &arguments.keywords {
                    self.note_attribute(key, value.clone());
                }
                Known::Unknown
            }
            ("builtins.dict", []) => {
                Known::dict(arguments.keywords.iter().map(|(key, value)| (Known::text(key), value.clone())).collect())
            }
            ("builtins.list" | "builtins.tuple" | "builtins.set" | "collections.deque", []) => {
                Known::sequence(Vec::new())
            }
            ("builtins.str", []) => Known::text(""),
            ("builtins.bytearray" | "builtins.bytes", []) => Known::bytes(b""),
            (
                "builtins.staticmethod"
                | "builtins.classmethod"
                | "builtins.property"
                | "functools.cache"
                | "functools.wraps()"
                | "functools.lru_cache"
                | "contextlib.nullcontext"
                | "builtins.iter"
                | "copy.copy"
                | "functools.wraps"
                | "types.coroutine"
                | "contextlib.contextmanager"
                | "asyncio.run",
                [value],
            ) if fold::function(name, args, &[]).is_none() => value.clone(),
            ("threading.Thread" | "threading.Timer", _) => {
                let target = arguments.keyword("target").or(args.get(1)).cloned();
                let given = arguments.keyword("args").and_then(Known::items).unwrap_or_default();
                if let Some(target) = target {
                    self.apply(&target, &Arguments::of(given), range);
                }
                Known::Instance(Rc::clone(name))
            }
            (
                "string.Formatter().format" | "string.Formatter().vformat" | "builtins.str.format",
                [Known::Text(template), rest @ ..],
            ) => {
                shapes::format_walk(self, template, rest, range);
                fold::method(&args[0], "format", rest, &keywords)
            }
            ("string.Formatter().get_field", [Known::Text(path), ..]) => {
                shapes::format_walk(self, &format!("{{{path}}}"), &args[1..], range);
                Known::Unknown
            }
            (path, _) if path.starts_with("pathlib.") && !path.contains("()") => match path {
                "pathlib.PurePath"
                | "pathlib.Path"
                | "pathlib.PosixPath"
                | "pathlib.WindowsPath"
                | "pathlib.Path.cwd"
                | "pathlib.Path.home" => Known::Instance("pathlib.Path".into()),
                _ => Known::Unknown,
            },
            (path, _) if path.starts_with("pathlib.Path().") => match path.rsplit('.').next() {
                Some(
                    "absolute" | "resolve" | "joinpath" | "with_name" | "with_suffix" | "expanduser" | "relative_to"
                    | "__enter__",
                ) => Known::Instance("pathlib.Path".into()),
                _ => Known::Unknown,
            },
            ("builtins.print" | "builtins.isinstance" | "builtins.super" | "builtins.object", _) => Known::Unknown,
            _ if !self.affords(args) => Known::Unknown,
            _ => match fold::function(name, args, &keywords) {
                Some(value) => self.made(value),
                None if name.starts_with("builtins.") => Known::Unknown,
                // Of something that is not known nothing is known.
                None if &**name == "?" => Known::Unknown,
                None => Known::Instance(Rc::clone(name)),
            },
        }
    }

    /// A function that imports what it is told.
    fn call_import(&mut self, function: &str, arguments: &Arguments<'a>, range: TextRange) -> Known<'a> {
        let Some(name) = arguments.get(0, "name") else { return Known::object("?") };
        let package = arguments.get(1, "package").and_then(Known::as_text).unwrap_or("").to_owned();
        let name = name.each(|name| match name.as_text() {
            // Relative to a package that is named beside it.
            Some(text) if text.starts_with('.') && !package.is_empty() => Known::text(&format!("{package}{text}")),
            _ => name.clone(),
        });
        let mut result = Known::Unknown;
        for name in name.possibilities() {
            let Some(name) = name.as_text() else {
                self.tell(Capability::DynamicCode, "computed_import", function, 0.8, range);
                result = result.or(Known::object("?"));
                continue;
            };
            let dotted = name.replace(':', ".");
            self.import(&dotted, range, false);
            // With a list of names it is the module itself, otherwise the package that it is in.
            let whole = !function.ends_with("__import__")
                || arguments.get(3, "fromlist").is_some_and(|names| names.truth() != Some(false));
            let bound = if whole { dotted.as_str() } else { dotted.split('.').next().unwrap_or(&dotted) };
            let object: Rc<str> = (&*super::table::canonical(bound)).into();
            self.touch(&object, range);
            result = result.or(Known::Object(object));
        }
        result
    }

    /// A function that runs a text as code.
    fn call_source(&mut self, function: &str, arguments: &Arguments<'a>, range: TextRange) -> Known<'a> {
        let timed = function.starts_with("timeit");
        let source = arguments.get(0, if timed { "stmt" } else { "source" }).cloned().unwrap_or_default();
        if function == "ast.parse" {
            // A tree: run by whoever compiles it.
            return if let Known::Text(_) = source { source } else { Known::Unknown };
        }
        let mut result = Known::Unknown;
        for source in source.possibilities() {
            let text = match source {
                Known::Text(text) => Some(Rc::clone(text)),
                Known::Bytes(bytes) => Some(Rc::from(String::from_utf8_lossy(bytes))),
                Known::Function(..) | Known::Lambda(..) if timed => continue,
                _ => None,
            };
            match text {
                Some(text) => {
                    self.tell(Capability::DynamicCode, "constant_source", function, 0.5, range);
                    let value = self.source(&text, range);
                    result = result.or(match function {
                        "builtins.compile" | "code.compile_command" | "codeop.compile_command" => Known::Text(text),
                        "builtins.eval" => value,
                        _ => Known::Nothing,
                    });
                }
                None if timed => {}
                None => {
                    let confidence = if function == "builtins.compile" { 0.7 } else { 0.9 };
                    self.tell(Capability::DynamicCode, "computed_source", function, confidence, range);
                }
            }
        }
        result
    }

    /// A function that opens a file.
    fn call_open(&mut self, function: &str, arguments: &Arguments<'a>, range: TextRange) {
        let (at, default) = match function {
            "pathlib.Path().open" => (0, "r"),
            _ => (1, "r"),
        };
        let path = if at == 0 { None } else { arguments.args.first() };
        // A file descriptor: standard input is read so by programs that read much of it.
        if let Some(descriptor) = path.and_then(Known::as_int) {
            if descriptor != 0 {
                self.tell(Capability::GraderTampering, "descriptor", function, 0.7, range);
                self.tell(Capability::FileRead, "descriptor", function, 0.5, range);
            }
            return;
        }
        let mode = match arguments.get(at, "mode") {
            None => Some(default.to_owned()),
            Some(mode) => mode.as_text().map(str::to_owned),
        };
        match mode {
            Some(mode) if mode.contains(['w', 'a', 'x', '+']) => {
                self.tell(Capability::FileWrite, "open_to_write", function, 0.9, range);
            }
            Some(_) => self.tell(Capability::FileRead, "open_to_read", function, 0.5, range),
            None => self.tell(Capability::FileWrite, "computed_mode", function, 0.6, range),
        }
    }

    /// `map(f, …)` and its like.
    fn call_each(&mut self, name: &str, of: &Known<'a>, rest: &[Known<'a>], range: TextRange) -> Known<'a> {
        if name == "operator.call" {
            return self.apply(of, &Arguments::of(rest.to_vec()), range);
        }
        if name == "builtins.filter" {
            return rest.first().cloned().unwrap_or_default();
        }
        let columns: Option<Vec<Vec<Known<'a>>>> = rest.iter().map(|column| self.items(column)).collect();
        let Some(columns) = columns.filter(|columns| !columns.is_empty()) else {
            self.apply(of, &Arguments::of(vec![Known::Unknown; rest.len().max(1)]), range);
            return Known::Unknown;
        };
        let rows = columns.iter().map(Vec::len).min().unwrap_or(0).min(4096);
        let mut made = Vec::with_capacity(rows);
        for row in 0..rows {
            if self.steps == 0 {
                return Known::Unknown;
            }
            self.steps -= 1;
            let args = match (name, columns.as_slice()) {
                ("itertools.starmap", [only]) => only[row].items().unwrap_or_default(),
                _ => columns.iter().map(|column| column[row].clone()).collect(),
            };
            made.push(self.apply(of, &Arguments { args, keywords: Vec::new() }, range));
        }
        Known::sequence(made)
    }

    /// What a decorated function is.
    pub fn decorated(&mut self, decorator: &Known<'a>, function: Known<'a>, range: TextRange) -> Known<'a> {
        let arguments = Arguments::of(vec![function.clone()]);
        self.apply(decorator, &arguments, range).or(function)
    }

    /// Names the next string as the target of its assignment.
    pub fn named_as(&mut self, target: &Expr) {
        self.naming = name_of(target);
    }
}

fn borrowed<'k, 'a>(keywords: &'k [(Rc<str>, Known<'a>)]) -> Vec<(&'k str, Known<'a>)> {
    keywords.iter().map(|(name, value)| (&**name, value.clone())).collect()
}
