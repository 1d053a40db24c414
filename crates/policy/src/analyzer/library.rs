//! Calls of builtins and of the standard library: those that reach for names, modules, code and files, and those that
//! call what they are given. The rest only computes ([`fold`]).

use std::rc::Rc;

use ruff_text_size::TextRange;

use super::abstract_value::AbstractValue;
use super::arguments::{Arguments, borrowed};
use super::eval::own_names;
use super::{ImportForm, Interpreter, fold, heuristics};
use crate::scanners::Capability;

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

impl<'a> Interpreter<'a> {
    /// A call of something that has a name in a module.
    pub(super) fn call_object(
        &mut self,
        name: &Rc<str>,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> AbstractValue<'a> {
        if let Some(value) = self.reaches_for_names(name, arguments, range) {
            return value;
        }
        if let Some(value) = self.reaches_outside(name, arguments, range) {
            return value;
        }
        if let Some(value) = self.calls_what_it_is_given(name, arguments, range) {
            return value;
        }
        let args = arguments.args.as_slice();
        let keywords = borrowed(&arguments.keywords);
        match (&**name, args) {
            ("builtins.dict", []) => AbstractValue::dict(
                arguments.keywords.iter().map(|(key, value)| (AbstractValue::text(key), value.clone())).collect(),
            ),
            ("builtins.list" | "builtins.tuple" | "builtins.set" | "collections.deque", []) => {
                AbstractValue::sequence(Vec::new())
            }
            ("builtins.str", []) => AbstractValue::text(""),
            ("builtins.bytearray" | "builtins.bytes", []) => AbstractValue::bytes(b""),
            ("builtins.print" | "builtins.isinstance" | "builtins.super" | "builtins.object", _) => {
                AbstractValue::Unknown
            }
            _ if !self.affords(args) => AbstractValue::Unknown,
            _ => match fold::function(name, args, &keywords) {
                Some(value) => self.made(value),
                None if name.starts_with("builtins.") => AbstractValue::Unknown,
                // Of something that is not known nothing is known.
                None if &**name == "?" => AbstractValue::Unknown,
                None => AbstractValue::Instance(Rc::clone(name)),
            },
        }
    }

    /// Attributes, namespaces, modules and code, by name or as text.
    fn reaches_for_names(
        &mut self,
        name: &Rc<str>,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> Option<AbstractValue<'a>> {
        let args = arguments.args.as_slice();
        let keywords = borrowed(&arguments.keywords);
        Some(match (&**name, args) {
            (
                "builtins.getattr"
                | "inspect.getattr_static"
                | "builtins.object.__getattribute__"
                | "builtins.type.__getattribute__",
                [of, attr, ..],
            ) => {
                let mut result = AbstractValue::Unknown;
                for attr in attr.possibilities() {
                    result = result.or(match attr {
                        AbstractValue::Text(attr) => self.attribute(of, attr, range),
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
                    heuristics::constant_answer(self, attr, value, range);
                    self.note_attribute(attr, value.clone());
                }
                AbstractValue::Nothing
            }
            ("builtins.delattr", [of, attr, ..]) => {
                self.replaced(of, attr.as_text(), range);
                AbstractValue::Nothing
            }
            ("unittest.mock.patch" | "unittest.mock.patch.object", _) => AbstractValue::Unknown,
            ("builtins.globals" | "builtins.locals" | "builtins.vars", []) => own_names(),
            ("builtins.vars", [of, ..]) => AbstractValue::Namespace(Rc::new(of.clone())),
            ("inspect.getmembers" | "inspect.getmembers_static", [of @ AbstractValue::Object(_), ..]) => {
                AbstractValue::Namespace(Rc::new(of.clone()))
            }
            (
                "builtins.dict"
                | "collections.ChainMap"
                | "types.MappingProxyType"
                | "copy.copy"
                | "collections.OrderedDict"
                | "types.SimpleNamespace"
                | "collections.UserDict",
                [space @ AbstractValue::Namespace(_), ..],
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
                    self.replaced(&AbstractValue::object("sys.modules"), key.as_text(), range);
                }
                self.item(&AbstractValue::object("sys.modules"), key, range)
            }
            ("builtins.get" | "builtins.__getitem__" | "builtins.pop", [AbstractValue::Text(key), ..]) => {
                self.attribute(&AbstractValue::object("builtins"), key, range)
            }
            (name, _) if RUNS_SOURCE.contains(&name) => self.call_source(name, arguments, range),
            ("sys.modules.update" | "sys.modules.clear" | "sys.modules.__setitem__" | "sys.modules.__delitem__", _) => {
                self.replaced(
                    &AbstractValue::object("sys.modules"),
                    args.first().and_then(AbstractValue::as_text),
                    range,
                );
                AbstractValue::Nothing
            }
            ("builtins.type", [AbstractValue::Object(of)]) if !of.contains("()") => {
                AbstractValue::object("types.ModuleType")
            }
            ("builtins.type", [AbstractValue::Function(..) | AbstractValue::Lambda(..)]) => {
                self.touch(&"types.FunctionType".into(), range);
                AbstractValue::object("types.FunctionType")
            }
            ("builtins.type", [_, _, AbstractValue::Dict(items)]) => {
                for (key, value) in items.iter() {
                    if let Some(key) = key.as_text() {
                        self.note_attribute(key, value.clone());
                    }
                }
                AbstractValue::Unknown
            }
            (
                "string.Formatter().format" | "string.Formatter().vformat" | "builtins.str.format",
                [AbstractValue::Text(template), rest @ ..],
            ) => {
                heuristics::format_walk(self, template, rest, range);
                fold::method(&args[0], "format", rest, &keywords)
            }
            ("string.Formatter().get_field", [AbstractValue::Text(path), ..]) => {
                heuristics::format_walk(self, &format!("{{{path}}}"), &args[1..], range);
                AbstractValue::Unknown
            }
            _ => return None,
        })
    }

    /// Files, descriptors, addresses, timers.
    fn reaches_outside(
        &mut self,
        name: &Rc<str>,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> Option<AbstractValue<'a>> {
        let args = arguments.args.as_slice();
        Some(match (&**name, args) {
            ("os.write" | "os.close" | "os.dup" | "os.dup2" | "os.pwrite", [descriptor, ..]) => {
                // Standard output is a program's own; the rest was given to somebody else.
                if !matches!(descriptor, AbstractValue::Int(1 | 2)) || name.ends_with("close") || name.contains("dup") {
                    self.tell(Capability::GraderTampering, "descriptor", name, 0.6, range);
                }
                AbstractValue::Unknown
            }
            ("signal.alarm", [AbstractValue::Int(0)]) | ("signal.setitimer", [_, AbstractValue::Int(0), ..]) => {
                self.tell(Capability::GraderTampering, "timer_off", name, 0.7, range);
                AbstractValue::Unknown
            }
            ("fileinput.input", _) => {
                if arguments.keyword("inplace").is_some_and(|inplace| inplace.truth() != Some(false)) {
                    self.tell(Capability::FileWrite, "open_to_write", name, 0.9, range);
                }
                AbstractValue::Unknown
            }
            ("pathlib.Path().iterdir" | "pathlib.Path().glob" | "pathlib.Path().rglob", _) => {
                AbstractValue::sequence(vec![AbstractValue::Instance("pathlib.Path".into())])
            }
            (_, [AbstractValue::Text(address), ..])
                if address.starts_with("file:")
                    && super::capability_table::of_name(name)
                        .iter()
                        .any(|entry| entry.capability == Capability::Network) =>
            {
                self.tell(Capability::FileRead, "read_address", name, 0.8, range);
                AbstractValue::Instance(Rc::clone(name))
            }
            (reader, [AbstractValue::Text(address), ..])
                if address.contains("://")
                    && reader.rsplit('.').next().is_some_and(|last| READ_ADDRESSES.contains(&last)) =>
            {
                self.tell(Capability::Network, "read_address", name, 0.8, range);
                AbstractValue::Instance(Rc::clone(name))
            }
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
                AbstractValue::Instance(Rc::clone(name))
            }
            ("os.open", _) => {
                let reads = match args.get(1) {
                    Some(AbstractValue::Int(0)) => true,
                    Some(AbstractValue::Object(flag)) => &**flag == "os.O_RDONLY",
                    _ => false,
                };
                if !reads {
                    self.tell(Capability::FileWrite, "open_to_write", name, 0.8, range);
                }
                AbstractValue::Unknown
            }
            ("sqlite3.connect", _) => {
                let path = arguments.get(0, "database").and_then(AbstractValue::as_text);
                if !matches!(path, Some("" | ":memory:")) {
                    self.tell(Capability::FileWrite, "open_to_write", name, 0.7, range);
                }
                AbstractValue::object("sqlite3.Connection()")
            }
            ("logging.basicConfig", _) => {
                if arguments.keyword("filename").is_some() {
                    self.tell(Capability::FileWrite, "open_to_write", name, 0.7, range);
                }
                AbstractValue::Nothing
            }
            (path, _) if path.starts_with("pathlib.") && !path.contains("()") => match path {
                "pathlib.PurePath"
                | "pathlib.Path"
                | "pathlib.PosixPath"
                | "pathlib.WindowsPath"
                | "pathlib.Path.cwd"
                | "pathlib.Path.home" => AbstractValue::Instance("pathlib.Path".into()),
                _ => AbstractValue::Unknown,
            },
            (path, _) if path.starts_with("pathlib.Path().") => match path.rsplit('.').next() {
                Some(
                    "absolute" | "resolve" | "joinpath" | "with_name" | "with_suffix" | "expanduser" | "relative_to"
                    | "__enter__",
                ) => AbstractValue::Instance("pathlib.Path".into()),
                _ => AbstractValue::Unknown,
            },
            _ => return None,
        })
    }

    /// Evaluates higher-order functions of the standard library.
    fn calls_what_it_is_given(
        &mut self,
        name: &Rc<str>,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> Option<AbstractValue<'a>> {
        let args = arguments.args.as_slice();
        Some(match (&**name, args) {
            ("functools.partial" | "functools.partialmethod", [of, rest @ ..]) => {
                AbstractValue::Partial(Rc::new((of.clone(), rest.to_vec(), arguments.keywords.clone()))).bounded()
            }
            ("functools.reduce", [of, over, rest @ ..]) => {
                let Some(items) = self.items(over).filter(|items| items.len() <= 64) else {
                    return Some(AbstractValue::Unknown);
                };
                let mut items = rest.first().cloned().into_iter().chain(items);
                let mut value = items.next().unwrap_or_default();
                for item in items {
                    value = self.apply(of, &Arguments::of(vec![value, item]), range);
                }
                value
            }
            ("operator.attrgetter", [AbstractValue::Text(path)]) => AbstractValue::Getter(Rc::clone(path), None),
            ("operator.attrgetter", [_, _, ..]) => {
                let paths: Option<Vec<&str>> = args.iter().map(AbstractValue::as_text).collect();
                paths.map_or(AbstractValue::Unknown, |paths| AbstractValue::Getter(paths.join(",").into(), None))
            }
            ("operator.methodcaller", [AbstractValue::Text(path), rest @ ..]) => {
                AbstractValue::Getter(Rc::clone(path), Some(Rc::new(rest.to_vec())))
            }
            ("operator.itemgetter", [index]) => AbstractValue::ItemGetter(Rc::new(index.clone())).bounded(),
            ("operator.call" | "builtins.map" | "itertools.starmap" | "builtins.filter", [of, rest @ ..]) => {
                self.call_each(name, of, rest, range)
            }
            ("types.SimpleNamespace", _) => {
                for (key, value) in &arguments.keywords {
                    self.note_attribute(key, value.clone());
                }
                AbstractValue::Unknown
            }
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
                let given = arguments.keyword("args").and_then(AbstractValue::items).unwrap_or_default();
                if let Some(target) = target {
                    self.apply(&target, &Arguments::of(given), range);
                }
                AbstractValue::Instance(Rc::clone(name))
            }
            _ => return None,
        })
    }

    /// A function that imports what it is told.
    pub(super) fn call_import(
        &mut self,
        function: &str,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> AbstractValue<'a> {
        let Some(name) = arguments.get(0, "name") else { return AbstractValue::object("?") };
        let package = arguments.get(1, "package").and_then(AbstractValue::as_text).unwrap_or("").to_owned();
        let name = name.each(|name| match name.as_text() {
            // Relative to a package that is named beside it.
            Some(text) if text.starts_with('.') && !package.is_empty() => {
                AbstractValue::text(&format!("{package}{text}"))
            }
            _ => name.clone(),
        });
        let mut result = AbstractValue::Unknown;
        for name in name.possibilities() {
            let Some(name) = name.as_text() else {
                self.tell(Capability::DynamicCode, "computed_import", function, 0.8, range);
                result = result.or(AbstractValue::object("?"));
                continue;
            };
            let dotted = name.replace(':', ".");
            self.import(&dotted, range, ImportForm::Call);
            // With a list of names it is the module itself, otherwise the package that it is in.
            let whole = !function.ends_with("__import__")
                || arguments.get(3, "fromlist").is_some_and(|names| names.truth() != Some(false));
            let bound = if whole { dotted.as_str() } else { dotted.split('.').next().unwrap_or(&dotted) };
            let object: Rc<str> = (&*super::capability_table::canonical(bound)).into();
            self.touch(&object, range);
            result = result.or(AbstractValue::Object(object));
        }
        result
    }

    /// A function that runs a text as code.
    fn call_source(&mut self, function: &str, arguments: &Arguments<'a>, range: TextRange) -> AbstractValue<'a> {
        let timed = function.starts_with("timeit");
        let source = arguments.get(0, if timed { "stmt" } else { "source" }).cloned().unwrap_or_default();
        if function == "ast.parse" {
            // A tree: run by whoever compiles it.
            return if let AbstractValue::Text(_) = source { source } else { AbstractValue::Unknown };
        }
        let mut result = AbstractValue::Unknown;
        for source in source.possibilities() {
            let text = match source {
                AbstractValue::Text(text) => Some(Rc::clone(text)),
                AbstractValue::Bytes(bytes) => Some(Rc::from(String::from_utf8_lossy(bytes))),
                AbstractValue::Function(..) | AbstractValue::Lambda(..) if timed => continue,
                _ => None,
            };
            match text {
                Some(text) => {
                    self.tell(Capability::DynamicCode, "constant_source", function, 0.5, range);
                    let value = self.source(&text, range);
                    result = result.or(match function {
                        "builtins.compile" | "code.compile_command" | "codeop.compile_command" => {
                            AbstractValue::Text(text)
                        }
                        "builtins.eval" => value,
                        _ => AbstractValue::Nothing,
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
        if let Some(descriptor) = path.and_then(AbstractValue::as_int) {
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
    fn call_each(
        &mut self,
        name: &str,
        of: &AbstractValue<'a>,
        rest: &[AbstractValue<'a>],
        range: TextRange,
    ) -> AbstractValue<'a> {
        if name == "operator.call" {
            return self.apply(of, &Arguments::of(rest.to_vec()), range);
        }
        if name == "builtins.filter" {
            return rest.first().cloned().unwrap_or_default();
        }
        let columns: Option<Vec<Vec<AbstractValue<'a>>>> = rest.iter().map(|column| self.items(column)).collect();
        let Some(columns) = columns.filter(|columns| !columns.is_empty()) else {
            self.apply(of, &Arguments::of(vec![AbstractValue::Unknown; rest.len().max(1)]), range);
            return AbstractValue::Unknown;
        };
        let rows = columns.iter().map(Vec::len).min().unwrap_or(0).min(4096);
        let mut made = Vec::with_capacity(rows);
        for row in 0..rows {
            if self.steps == 0 {
                return AbstractValue::Unknown;
            }
            self.steps -= 1;
            let args = match (name, columns.as_slice()) {
                ("itertools.starmap", [only]) => only[row].items().unwrap_or_default(),
                _ => columns.iter().map(|column| column[row].clone()).collect(),
            };
            made.push(self.apply(of, &Arguments { args, keywords: Vec::new() }, range));
        }
        AbstractValue::sequence(made)
    }
}
