"""Common parts of the kinds of tests: how tests are loaded and import the snippet, and how a case ends."""

import builtins
import importlib
import importlib.machinery
import importlib.util
import linecache
import sys
import types

import _proofbox
import _proofbox_border as border
import _proofbox_proxies as proxies
import _proofbox_report as report
import _proofbox_side as side
import _proofbox_threads as threads

# Where tracebacks say the tests are. Below the folder they are real files where the host has put them.
SOURCE = "/tests.py"
FOLDER = "/tests"
NAME_LIMIT = 200


class NoTests(Exception):
    """The tests were loaded, and there was no test in them."""


def shorten(name):
    name = " ".join(name.split())
    return name if len(name) <= NAME_LIMIT else name[: NAME_LIMIT - 1] + "…"


def unique(names):
    """The names, made different by a number where they are not."""
    seen, out = set(), []
    for name in names:
        name, number = shorten(name), 1
        while (told := name if number == 1 else f"{name} ({number})") in seen:
            number += 1
        seen.add(told)
        out.append(told)
    return out


def is_candidates(candidate, name, value):
    """Returns whether what the tests call by this name is the snippet's own, imported: then it is no test of the
    grader's."""
    if type(value).__module__.startswith("_proofbox"):
        return True
    if type(value) is proxies.ProxyType or type(type(value)) is proxies.ProxyType:
        # What a decorator of the snippet has made of a test was found under no name.
        return proxies.name_of(value) == name
    namespace = candidate.namespace()
    return type(namespace) is dict and name in namespace and namespace[name] is value


def without_candidates_runners(module):
    """The module, without names by which a runner of tests asks what to run, where the candidate has them."""
    for name in [name for name in border.RUNNER_NAMES if name in vars(module)]:
        if type(type(vars(module)[name])) is proxies.ProxyType:
            side.signal("runner_by_candidate")
            delattr(module, name)
    return module


def failed_to_load(candidate, cases, name, error):
    """The one case of tests that could not be loaded: how many there are can't be told."""
    gone = candidate.gone()
    error = error if gone is None else gone
    cases.plan([shorten(name)])
    cases.begin(0)
    _proofbox.post(("error", report.describe(error)))
    cases.end(error)
    return 1


def text(source):
    return source if type(source) is str else bytes(source).decode("utf-8")


def quotable(filename, source):
    """Makes tracebacks quote the file, wherever it is."""
    linecache.cache[filename] = len(source), None, source.splitlines(keepends=True), filename


# The builtins that tests may have: those of the interpreter, and each `Names`.
all_builtins = [vars(builtins)]


class Names(dict):
    """Builtins for code that may use the snippet's names as its own: they come after all others.

    (As globals, a dict with `__missing__` would not be asked by the bodies of classes.) A builtin's name is the
    builtin: a snippet with a `set` or `len` of its own must not decide what the tests compare. But for the entry point,
    which the tests are about."""

    def __init__(self, namespace, entry_point=None):
        super().__init__(vars(builtins))
        self.namespace = namespace
        all_builtins.append(self)
        if entry_point in self and not entry_point.startswith("__"):
            del self[entry_point]

    def __missing__(self, name):
        return self.namespace[name]


def namespace_of(candidate, entry_point=None):
    """A dict to run code in that may use the snippet's names: the snippet's own where it runs in this interpreter."""
    namespace = candidate.namespace()
    return namespace if type(namespace) is dict else {"__builtins__": Names(namespace, entry_point)}


def execute(source, namespace, name):
    """Runs the source of the tests in the namespace, and gives what it bound there.

    Called `name` meanwhile: by `__main__` tests know that they are a program, and run themselves."""
    quotable(SOURCE, source)
    code = compile(source, SOURCE, "exec", dont_inherit=True)
    before = dict(namespace)
    namespace["__name__"] = name
    try:
        exec(code, namespace)
    finally:
        if "__name__" in before:
            namespace["__name__"] = before["__name__"]
    missing = object()
    return {key: value for key, value in namespace.items() if value is not before.get(key, missing)}


def guard_test_methods():
    """Has frames of unittest's tests go on above calls from C of threads that they start."""
    import unittest

    call = unittest.TestCase._callTestMethod
    unittest.TestCase._callTestMethod = lambda self, method: call(self, threads.guarding(method))


class NamespaceModule(types.ModuleType):
    """A namespace that code runs in, seen as a module: `mock.patch("tests.name")` reaches what the tests use."""

    def __init__(self, name, namespace):
        super().__init__(name)
        object.__setattr__(self, "_namespace", namespace)

    def __getattr__(self, name):
        names = self._namespace.get("__builtins__")
        try:
            return names.namespace[name] if type(names) is Names and name not in self._namespace else self._namespace[name]
        except KeyError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None

    def __setattr__(self, name, value):
        self._namespace[name] = value

    def __delattr__(self, name):
        try:
            del self._namespace[name]
        except KeyError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None

    def __dir__(self):
        return list(self._namespace)


class Imports:
    """Modules that the tests can import besides the library: the snippet under its name, and the tests' own files, of
    which those that end in .py are modules. To be used with `with`: afterwards all is as it was."""

    def __init__(self, name, files=None):
        self.name = name
        self.files = {}
        self.modules = {}
        self.made_up = []
        for path, source in (files or {}).items():
            path = path.removeprefix("./")
            if path.endswith(".py"):
                self.files[path] = text(source)
                self.modules[path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")] = path

    def __enter__(self):
        self.before = dict(sys.modules)
        self.quoted = set(linecache.cache)
        sys.meta_path.insert(0, self)
        return self

    def __exit__(self, *exception):
        sys.meta_path.remove(self)
        for name in sys.modules.keys() - self.before.keys():
            # What the library has loaded for itself stays.
            if name in (self.name, *self.modules, *self.made_up) or type(sys.modules[name]) is NamespaceModule:
                del sys.modules[name]
        for name in (self.name, *self.modules):
            if name in self.before:
                sys.modules[name] = self.before[name]
        for filename in linecache.cache.keys() - self.quoted:
            if filename.startswith((SOURCE, FOLDER + "/")):
                del linecache.cache[filename]

    def provide(self, candidate):
        """Makes the candidate as it is now what `import` finds, and forgets the tests' modules that knew it before."""
        for name in self.modules:
            sys.modules.pop(name, None)
        parent, _, child = self.name.rpartition(".")
        sys.modules[self.name] = candidate.module
        if parent:
            setattr(self._package(parent), child, candidate.module)
        if getattr(candidate, "unseen", None) or getattr(candidate, "warned_at_import", False):
            candidate.await_import(self.name)
            if parent:
                delattr(self._package(parent), child)

    def _package(self, name):
        """The package, made up unless the tests have it or its parent does."""
        if name in self.modules:
            return importlib.import_module(name)
        if name not in sys.modules:
            package = sys.modules[name] = types.ModuleType(name)
            package.__path__ = []
            self.made_up.append(name)
            parent, _, child = name.rpartition(".")
            if parent:
                setattr(self._package(parent), child, package)
        return sys.modules[name]

    def test_modules(self):
        """Returns the names of the modules that test discovery would find."""
        found = []
        for name, path in sorted(self.modules.items()):
            file = path.rpartition("/")[2]
            if file.startswith("test") or file.endswith("_test.py"):
                found.append(name)
        return found

    # The finder and loader of the tests' modules.

    def find_spec(self, name, path=None, target=None):
        file = self.modules.get(name)
        if file is not None:
            filename = f"{FOLDER}/{file}"
            package = file.endswith("__init__.py")
            spec = importlib.util.spec_from_loader(name, self, origin=filename, is_package=package)
            spec.has_location = True
            if package:
                spec.submodule_search_locations = [filename.removesuffix("/__init__.py")]
            return spec
        if any(known.startswith(name + ".") for known in self.modules):
            # A folder without __init__.py.
            spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [f"{FOLDER}/{name.replace('.', '/')}"]
            return spec
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(self.get_code(module.__name__), module.__dict__)

    def get_code(self, name):
        filename = f"{FOLDER}/{self.modules[name]}"
        source = self.get_source(name)
        quotable(filename, source)
        return compile(source, filename, "exec", dont_inherit=True)

    def get_source(self, name):
        return self.files[self.modules[name]]

    def is_package(self, name):
        return self.modules[name].endswith("__init__.py")
