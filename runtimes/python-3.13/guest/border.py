"""The border between the candidate's interpreter (C) and the tests' (G): all that may cross it, in tables.

What is in no table is refused in G, leaves a signal, and the case that was open has not passed. docs/reference/border.md
says what follows from each table, and names the rows by these names. The code that reads the tables: `proxies.py` (handles),
`marshal.py` (values), `grader.py` (what C may ask), `bridge.py` (messages)."""

import asyncio
import collections
import concurrent.futures
import datetime
import decimal
import fractions
import ipaddress
import pathlib
import re
import sys
import threading
import types
from abc import ABC
from collections import abc

# ---------------------------------------------------------------- 1. requests of G to C, and the shape of the reply
# Anything that can cross is an answer where the shape is None.

REPLIES = {
    "load": "names",  # the snippet's global names, once it has run
    "global": None,  # a global of the snippet
    "set_global": None,
    "delete_global": None,
    "import": "number",  # a module of the candidate's own files
    "module_names": "names",  # what `import *` of it would bring
    "call": None,
    "get": None,
    "set": None,
    "del": None,
    "dir": "names",
    "index": None,  # Class[item]
    "is": "truth",  # isinstance or issubclass, by a class whose metaclass decides
    "special": None,  # by SPECIALS
    "spawn": "number",  # makes a task of a coroutine
    "turn": "turn",  # lets the candidate's event loop run until it waits
    "cancel": None,
    "seed": None,
    "seed_numpy": None,
    "file": None,  # a data file of the tests that they have told the path of
    "lend": None,  # what the tests have imported of the library
    "patch": None,  # what the tests replace in the library is replaced in C, too
    "unpatch": None,
    "environ": None,
    "chdir": None,
    "argv": None,
    "output": None,  # what the tests have put in the place of `sys.stdout` or `sys.stderr`
    "settings": None,  # of decimal and numpy, and others that both sides have (settings.py)
    "recursion": None,
    "dialect": None,  # of csv
    "place": None,  # the task of the tests that asks from now on
    "in_thread": "step",  # a request of a thread of the tests
    "go_on": "step",  # lets the candidate's threads go on with such a request
    "beside": None,  # whether the tests have other threads
    "rest": None,  # lets what goes on there go on while the tests sleep
    "watch": None,  # warnings, log records and what else the tests look at are to be told
    "loggers": None,  # levels and switches of the tests' loggers
    "generator": None,  # the state of a generator of the tests that goes on
    "begin_case": None,  # what is altered now is no fault of the next case
    "signature": "parameters",
    "release": None,  # objects that the tests have dropped
    "unheld": "numbers",  # objects of the tests that nobody holds there any more: those that nobody holds here, either
    "collect": None,  # gc.collect()
    "copy": None,  # an object of the class of the one that is copied
    "pickle": "octets",  # of an object
    "unpickle": None,  # an object of the class of the one that was pickled
    "own": "number",  # the candidate's own class, function or module of the library
}

# ---------------------------------------------------------------- 2. attributes of a handle whose names begin with "_"
# All others are asked of C. Libraries look protocols up by such names (`__array_interface__`, `__copy__`, `_sympy_`): those
# would be the candidate's word inside a comparison of the tests.

READABLE = {
    "__name__": "how functions and classes are told apart in messages",
    "__qualname__": "the same",
    "__module__": "the same",
    "__doc__": "tests of documentation",
    "__annotations__": "tests of type hints",
    "__dict__": "vars()",
    "__slots__": "tests that a class has them",
    "__wrapped__": "tests of decorators",
    "__signature__": "inspect.signature; made of plain parameters",
    "__dataclass_fields__": "dataclasses.fields and asdict; names only",
    "__match_args__": "match statements",
    "__members__": "members of an Enum",
    "__abstractmethods__": "tests of abstract classes",
    "__required_keys__": "tests of TypedDict",
    "__optional_keys__": "the same",
    "__total__": "the same",
    "__supertype__": "tests of NewType",
    "__origin__": "forms of typing that are objects: tests of type hints",
    "__args__": "the same",
    "__metadata__": "the same",
    "__parameters__": "the same",
    "__type_params__": "the same",
    "__bound__": "the same",
    "__constraints__": "the same",
    "__version__": "modules",
    "__author__": "modules",
    "__all__": "modules",
    "__init__": "called by tests of classes, which look at its parameters, too",
    "__post_init__": "the same",
    "__cause__": "exceptions",
    "__context__": "exceptions",
    "__notes__": "exceptions",
    "__func__": "methods",
    "__self__": "methods",
    "__code__": "inspect.iscoroutinefunction, which mock asks of what it replaces",
    "__defaults__": "functions",
    "__kwdefaults__": "functions",
    "__closure__": "the same: tests of closures",
    "__isabstractmethod__": "tests of abstract classes",
    "__dataclass_params__": "tests of dataclasses",
    "__orig_bases__": "tests of generic classes",
    "__final__": "tests of such marks",
    "__deprecated__": "the same",
    "__setstate__": "called by tests of classes",
    "__getnewargs__": "the same",
    "__del__": "the same",
    "__replace__": "copy.replace",
}
# Other names with one underscore are asked for by the tests' own code only, never by a library's.

# ---------------------------------------------------------------- 3. special methods of a handle
# (who decides, type of the answer). "asked": C, since it gets nothing of the tests, or only keys. "objects": C, if the
# other operand is one of its objects as well; with plain data it is decided in G. "named": as "objects", and with plain data
# C is asked only if the tests name the class, and an object must come back.

ANY = object()
SPECIALS = {
    **dict.fromkeys(("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"), ("objects", ANY)),
    **{
        f"__{prefix}{name}__": ("named", ANY)
        for name in "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or".split()
        for prefix in ("", "r", "i")
        if (prefix, name) != ("i", "divmod")
    },
    **dict.fromkeys(("__abs__", "__neg__", "__pos__", "__invert__", "__round__", "__trunc__", "__floor__", "__ceil__"), ("asked", ANY)),
    **dict.fromkeys(("__int__", "__index__", "__len__", "__length_hint__", "__hash__"), ("asked", int)),
    "__float__": ("asked", float),
    "__complex__": ("asked", complex),
    "__bool__": ("asked", bool),
    **dict.fromkeys(("__str__", "__repr__", "__format__"), ("asked", str)),
    "__bytes__": ("asked", bytes),
    "__fspath__": ("asked", str),
    "__contains__": ("named", ANY),
    **dict.fromkeys(("__iter__", "__next__", "__reversed__", "__getitem__", "__setitem__", "__delitem__", "__missing__"), ("asked", ANY)),
    **dict.fromkeys(("__enter__", "__exit__", "__aiter__", "__anext__", "__aenter__", "__aexit__", "__await__"), ("asked", ANY)),
    "__call__": ("asked", ANY),
    **dict.fromkeys(("__get__", "__set__", "__delete__", "__set_name__"), ("asked", ANY)),  # in classes of the tests
    "__array__": ("asked", ANY),  # an ndarray that crosses as a value; not of what has met a value of the tests
}
REFLECTED = frozenset(name for name in SPECIALS if SPECIALS[name][0] == "named" and name[2] == "r" and name != "__rshift__")
# Marks of a class beside its special methods: what it has set to None, and what it has itself though a base of it has that.
MARKS = frozenset({*(f"no {name}" for name in SPECIALS), *(f"own {name}" for name in REFLECTED)})
# ... and what the class itself can do by its metaclass (`len(Color)`, `A | B`). Between a class and plain data there are no
# operators.
OPERATORS_OF_METACLASSES = frozenset({
    *(name for name in SPECIALS if SPECIALS[name][0] == "named" and name[2] != "i" and name != "__contains__"),
    "__lt__", "__le__", "__gt__", "__ge__",
})  # fmt: skip
OF_METACLASSES = OPERATORS_OF_METACLASSES | {"__len__", "__iter__", "__reversed__", "__contains__", "__getitem__"}
MARKS_OF_METACLASSES = frozenset(f"class {name}" for name in OF_METACLASSES)
DESCRIPTORS = frozenset({"__get__", "__set__", "__delete__", "__set_name__"})
# Of generators, both ways; nothing else has them.
GENERATOR_METHODS = ("send", "throw", "close", "asend", "athrow", "aclose")
# Never answered by objects that have no plain content: with these numpy would have C compare.
# ... and asyncio would take a task of C for one of its own, which it schedules.
NEVER = {"__array_ufunc__": None, "__array_priority__": 0.0, "_asyncio_future_blocking": None}

# Methods of plain values by which tests ask whether one is what they expect. Of an object whose class they do not name that
# leaves a signal.
METHODS_OF_VALUES = frozenset(
    name
    for kind in (
        str, bytes, list, dict, set, int, float, collections.deque, collections.Counter, decimal.Decimal, fractions.Fraction,
        datetime.datetime, datetime.timedelta, pathlib.PosixPath, ipaddress.IPv4Address, re.Match,
    )
    for name in dir(kind) if name[:1] != "_"
) | {"all", "any", "equals", "tolist", "item", "eq", "ne", "lt", "le", "gt", "ge", "isin"}
# Classes of the library whose keys may be written in several ways: `in` asks them if the key is not among their items.
KEYED_BY_LIBRARY = frozenset({"email.message.Message", "configparser.RawConfigParser", "configparser.SectionProxy"})

# ---------------------------------------------------------------- 4. exceptions of C that steer G's loops and tasks
# Raised by anything but the request that means them they become RuntimeError, as at the border of a generator (PEP 479).

STEERING = (StopIteration, StopAsyncIteration, GeneratorExit, asyncio.CancelledError)
# In a thread of a pool this one does, too: asyncio takes it for a cancellation of its own.
STEERING_IN_THREADS = (concurrent.futures.CancelledError,)
MEANS_IT = {
    "__next__": StopIteration,
    "__anext__": StopAsyncIteration,
    "send": StopIteration,
    "throw": (StopIteration, GeneratorExit),
    "close": GeneratorExit,
    "asend": StopAsyncIteration,
    "athrow": (StopAsyncIteration, GeneratorExit),
}
# What a failed test says may be what it expects: such exceptions cross to C without arguments, text and notes, and no
# `__exit__` of C swallows them. (pytest's are added by kind_pytest.py.)
TELLING = (AssertionError,)
# A class of exceptions that is more builtin ones at once matches `Exception` only: this many branches below Exception, and
# this many classes of which none derives from another (`FileNotFoundError` and `PermissionError` are one branch).
MAX_EXCEPTION_BRANCHES = 2
MAX_EXCEPTION_KINDS = 2

# ---------------------------------------------------------------- 5. objects of the tests that C is given
# Values cross as values, classes and modules of the library by name. These do not leave G at all: what is of these modules ...

STAYS = (
    "unittest.case", "unittest.result", "unittest.runner", "unittest.loader", "unittest.suite", "unittest.main", "unittest.async_case",
    "_pytest", "pluggy", "hypothesis", "doctest", "_proofbox",
)  # fmt: skip
# ... and instances of these classes. (`may_leave` below.)
MACHINERY = (types.ModuleType, types.FrameType, types.TracebackType, types.CodeType, types.CellType)
# With all others C may do what SERVED says, and reads attributes that do not begin with "_" but for these:
METADATA = frozenset({"__name__", "__qualname__", "__doc__"})
# What it is told of a function of the tests (faces.py), beside that: how it is called, its annotations, where it is from, what
# it has been marked with.
OF_FUNCTIONS = frozenset({"__annotations__", "__code__", "__dict__", "__func__", "__module__"})
# ... and of their classes. (The tests' side leaves out what can't leave it.)
OF_CLASSES = frozenset({"__annotations__", "__dataclass_fields__", "__dict__", "__init__"})
# Attributes by which a runner knows what it runs begin so: functions of the tests neither show nor get them.
MARKS_OF_RUNNERS = ("pytest", "_pytest", "hypothesis", "_hypothesis", "is_hypothesis", "_mock", "patchings", "parametrize", "unittest")
# Special methods that a decorator of C may set of the class of the tests that it decorates, while it does: none that says what is
# equal, is in it, or is forgiven.
ORDER = frozenset({"__lt__", "__le__", "__gt__", "__ge__"})
OF_DECORATED = ORDER | {
    "__init__", "__post_init__", "__repr__", "__str__", "__format__", "__len__", "__iter__", "__getitem__", "__setitem__", "__delitem__", "__call__",
    "__add__", "__sub__", "__mul__", "__neg__",
}  # fmt: skip
# What a named tuple of the tests shows of itself: its content.
OF_NAMED_TUPLES = frozenset({"_fields", "_asdict", "_replace", "_make"})
# Attributes without an underscore that lead to code, frames and what they hold.
INNARDS = ("gi_", "cr_", "ag_", "tb_", "f_", "co_", "func_")
# Of objects of the library that the tests hand over: what they hold for the tests themselves, and what would tell the candidate
# of all that the tests do with them.
HELD = {
    "threading.Timer": frozenset({"args", "kwargs", "function"}),
    "_io.BytesIO": frozenset({"getbuffer"}),
    "sqlite3.Connection": frozenset({"set_trace_callback", "set_authorizer", "set_progress_handler"}),
}
# Requests of C: which objects they are for. An attribute can be set or deleted on instances only, and not where a library's
# class keeps its records: mocks, which are asserted on.
SERVED = {
    "call": "anything that can be called",
    "get": "public attributes",
    "set": "public attributes of instances of the tests' own classes",
    "del": "the same",
    "dir": "public names",
    "index": "a class of the tests",
    "special": "by SPECIALS",
    "copy": "instances of the tests' own classes",
    "pickle": "the same: the tests keep the pickle, and tell its number",
    "unpickle": "a number that was told so: another object, made of that pickle",
    "weakly": "a method of an object: a weak reference to it, which only gives that method",
    "is": "a class whose metaclass decides what is an instance or subclass of it (`abc.ABC.register`)",
    "signature": "names and kinds of parameters, annotations that are types; defaults that say nothing of what is expected",
    "spawn": "an awaitable: starts it",
    "cancel": "an awaitable that it has started, and that what awaited it does not await any more",
    "warned": "a warning: raised or shown as the tests' own filters say",
    "logged": "a log record: given to the handlers of the tests",
    "stirred": "it has made tasks that nobody awaits: lets them have their turns",
    "rest": "lets the tests' threads go on while it waits",
    "altered": "what the tests look at in their own interpreter has been altered in the candidate's",
    "loggers": "levels, switches and handlers of loggers that it has changed",
    "settings": "settings that it has altered, by their names (settings.py)",
    "filters": "filters of warnings that it has added, or left",
    "registered": "what it has registered with the library, by REGISTERED of settings.py",
    "state": "what it has altered of the states that the tests look at (states.py)",
    "surroundings": "environment and working directory, once the candidate has changed them",
    "seeded": "a seed that the candidate has set, while the tests call a function of its with `seed` in its name",
    "printing": "what has the place of its `sys.stdout`: what the tests print in a function that it calls, and in its `with`, goes there",
    "dialects": "dialects of csv that the candidate has registered, by names that the tests do not have",
}
# What a dialect of csv consists of, and the types of that.
DIALECT = {
    "delimiter": (str,), "quotechar": (str, type(None)), "doublequote": (int, bool), "escapechar": (str, type(None)),
    "lineterminator": (str,), "quoting": (int,), "skipinitialspace": (int, bool), "strict": (int, bool),
}  # fmt: skip
# Abstract classes that a handle is an instance of where its own class derives from them: libraries choose by them how they
# compare, and a mapping taken for a sequence is compared by its keys alone.
# abc.ABC is for tests that ask for it by name.
ABSTRACT = (ABC, abc.Mapping, abc.MutableMapping, abc.Sequence, abc.MutableSequence, abc.Set, abc.MutableSet)
# What a mock keeps of its calls, and how it is told to answer.
MOCK_RECORDS = (
    "assert_", "call_", "called", "mock_calls", "method_calls", "return_value", "side_effect", "await_", "awaited", "reset_mock",
    "configure_mock", "attach_mock", "mock_add_spec",
)  # fmt: skip
# Assertions of mocks. No object of C has them: in the place of a mock it would say that all is as expected.
MOCK_ASSERTIONS = frozenset(
    "assert_called assert_called_with assert_called_once assert_called_once_with assert_any_call assert_has_calls assert_not_called "
    "assert_awaited assert_awaited_with assert_awaited_once assert_awaited_once_with assert_any_await assert_has_awaits "
    "assert_not_awaited".split()
)

# Classes, functions and modules of the library that C names in any message are its own, as if the code that uses them were C's:
# G's would do in G what C wants. But for those of PLAIN_CLASSES, those whose instances cross as values, those that can't be called,
# exceptions, and the classes of these modules, which do nothing. What a module of C has under a name that the tests use is G's, too.
ABSTRACT_MODULES = frozenset({"abc", "collections.abc", "numbers"})
# ... and for these, of which libraries of the tests ask what no handle answers.
SAME_CLASSES = frozenset(
    "sqlite3.Row sqlite3.Cursor io.StringIO io.BytesIO _io.StringIO _io.BytesIO json.encoder.JSONEncoder json.decoder.JSONDecoder "
    "typing.Any typing.Generic typing.Protocol typing.SupportsInt typing.SupportsFloat typing.SupportsComplex typing.SupportsBytes "
    "typing.SupportsIndex typing.SupportsAbs typing.SupportsRound typing.IO typing.TextIO typing.BinaryIO "
    "csv.Dialect csv.excel csv.excel_tab csv.unix_dialect string.Template argparse.Namespace argparse.HelpFormatter "
    "argparse.RawDescriptionHelpFormatter argparse.RawTextHelpFormatter argparse.ArgumentDefaultsHelpFormatter "
    "argparse.MetavarTypeHelpFormatter argparse.BooleanOptionalAction".split()
)
# Functions that are G's own if C names them, beside those of PURE_MODULES and, where the tests have handed them over, the methods of
# PLAIN_CLASSES of the language: they compute. Of those methods, these read attributes.
COMPUTING = frozenset(
    f"builtins.{name}" for name in "abs all any ascii bin callable chr divmod hash hex len max min oct ord pow repr round sorted sum".split()
) | frozenset(
    f"_operator.{name}"
    for name in (
        "abs add and_ concat contains countOf eq floordiv ge gt index indexOf inv invert is_ is_not le lshift lt matmul mod mul ne neg not_ "
        "or_ pos pow rshift sub truediv truth xor"
    ).split()
)
# ... and functions of the library that are written in Python, as parts of objects (`self.dumps = json.dumps`).
COMPUTING_IN_PYTHON = frozenset(
    "json.dumps json.loads html.escape html.unescape textwrap.dedent textwrap.indent textwrap.fill textwrap.shorten textwrap.wrap "
    "statistics.mean statistics.fmean statistics.median statistics.mode statistics.stdev statistics.pstdev statistics.variance "
    "statistics.pvariance posixpath.join posixpath.basename posixpath.dirname posixpath.split posixpath.splitext posixpath.normpath "
    "posixpath.isabs posixpath.commonprefix urllib.parse.quote urllib.parse.unquote urllib.parse.quote_plus urllib.parse.unquote_plus "
    "re.escape string.capwords".split()
)
FORMATTING = frozenset({"format", "format_map"})
# Attributes by which the tests look at what an object of C is made of: what these name of the library is G's, unless C is served.
LOOKED_AT_ONLY = frozenset(
    "__annotations__ __bases__ __base__ __mro__ __orig_bases__ __args__ __origin__ __wrapped__ __supertype__ __bound__ __constraints__".split()
)
# Names by which a function of the tests that reads attributes (`reduce(getattr, path.split("."), target)`) would lead to code.
LEADING = frozenset(
    "__globals__ __code__ __closure__ __builtins__ __defaults__ __kwdefaults__ __subclasses__ __traceback__ __loader__ gi_frame gi_code "
    "cr_frame cr_code ag_frame ag_code tb_frame f_back f_globals f_locals f_code co_consts func_globals".split()
)
# The requests that hand something over.
HANDING_OVER = frozenset({"call", "set", "special", "index"})

# ---------------------------------------------------------------- 6. names
# `import *` of the candidate brings none of these, nor builtins, nor what the importing module has bound: by them a test
# runner finds what it runs.
RUNNER_NAMES = frozenset(
    "load_tests setUpModule tearDownModule setup_module teardown_module setup_function teardown_function setup_method "
    "teardown_method setup teardown pytest_plugins pytestmark collect_ignore collect_ignore_glob".split()
)
# Variables that steer the tests' own interpreter: they are neither told nor taken.
PRIVATE_VARIABLES = ("PYTEST_", "HYPOTHESIS_", "PYTHON")
# What tests call the library by without importing it themselves: then it is the snippet's word, and leaves a signal.
ALIASES = frozenset(
    "np pd plt sp nx sns tf pytest mock isclose isnan isinf allclose array_equal assert_allclose assert_array_equal deepcopy Counter "
    "defaultdict OrderedDict namedtuple reduce approx raises patch Mock MagicMock ANY TestCase Decimal Fraction StringIO".split()
)
# Modules whose import alone does something.
NOT_IMPORTED = frozenset({"this", "antigravity", "idlelib", "turtledemo", "lib2to3", "ensurepip", "venv", "__phello__"})
# Classes of the library are known on both sides by name, but for those by which tests are told of their outcome.
# ... and those that reach into memory.
NOT_SHARED = frozenset({"unittest", "doctest", "bdb", "__main__", "ctypes", "_ctypes"})

# Classes of packages are known on both sides by name, too, so that `isinstance(ax, plt.Axes)` holds of an object of the
# candidate. Of these packages only the exceptions are: their objects are compared with others of C, where all of them are.
NOT_NAMED = frozenset({"mpmath", "sympy"})
# State of the interpreter in which the candidate draws: functions of this module that the tests call are called there.
DRAWING = "matplotlib.pyplot"

# ---------------------------------------------------------------- 7. what becomes code of the tests' interpreter
# Text, bytes and files of the candidate never do (foreign_code.py). Tests in whose text no such word is execute nothing.

EXECUTES = (
    "import", "eval", "exec", "compile", "getattr", "globals", "vars(", "__", "builtins", "pickle", "load", "doctest", "runpy", "jinja", "sympy",
)  # fmt: skip
# Words without which tests fill no template that reads attributes.
FORMATS = ("format", "style", "Formatter")
# Where the tests and the library are; files elsewhere are the candidate's.
OWN_FOLDERS = ("/tests/", "/lib/")
# The tests' own folder: while a request of C is carried out, nothing of it is opened on C's behalf (foreign_files.py).
TESTS_FOLDER = "/tests"
# Files of the tests that tracebacks quote, besides.
QUOTED_FILES = frozenset({"/tests.py", "/setup.py", "/evaluator.py"})
# Methods by which instances of the classes below read or write files: text of the candidate may call none. Of paths it may call
# those of `PurePath`.
FILE_METHODS = frozenset({"tofile", "fromfile", "dump", "dumps", "from_file", "memmap"})
# Modules of the library that make code of their own, of names that they have checked.
MAKERS = {
    "dataclasses": "methods of fields, whose names are identifiers",
    "collections": "namedtuple, likewise",
    "attr._make": "methods of attrs' classes",
    "unittest.mock": "signatures of autospecced functions",
    "_pytest.assertion.rewrite": "the tests' files",
    "_pytest.mark.expression": "-k and -m of the tests",
    "_pytest.outcomes": "importorskip, which only compiles",
    "hypothesis.internal.reflection": "functions of the tests with other arguments",
    "ast": "syntax trees",
    "gettext": "plural forms, which it parses itself",
    "jinja2.environment": "templates; those of the candidate in a sandbox (foreign_templates.py)",
    "networkx.utils.decorators": "functions of the library with other arguments",
    "sympy.utilities.lambdify": "imports of modules; functions of expressions are looked at, see below",
    "mpmath.libmp.backend": "methods of numbers",
    "mpmath.ctx_mp_python": "the same",
    "hypothesis.internal.lambda_sources": "lambdas of the tests, by their source",
    "jinja2.debug": "tracebacks of templates",
    "sympy.polys.monomials": "functions on tuples",
    "numpy.f2py.auxfuncs": "conjunctions of functions",
    "multiprocessing.managers": "proxies of the library's own",
    "multiprocessing.sharedctypes": "the same",
    "werkzeug.routing.rules": "builders of URLs",
}
# Modules of the library that make code of code that there is.
CODE_MAKERS = frozenset({*MAKERS, "types"})
# Modules of the grader that execute the tests. Not among them: what carries out requests of C.
GRADER_MAKERS = frozenset(
    f"_proofbox_{name}" for name in (
        "foreign_text", "grading", "kind_doctest", "kind_evaluator", "kind_pytest", "kind_unittest", "names", "runner", "test_kinds", "tests", "threads",
    )
)  # fmt: skip
# Code that a maker makes of texts and of names that it has not checked: looked at by its file name (foreign_text.makes_values).
LOOKED_AT = {"sympy.utilities.lambdify": "<lambdifygenerated-"}
# Classes from which all derive that text of the candidate may call where sympy reads it, and functions of sympy that it may.
SYMPY_VALUES = frozenset({"sympy.core.basic.Basic", "sympy.matrices.matrixbase.MatrixBase", "sympy.matrices.common.MatrixCommon"})
SYMPY_FUNCTIONS = frozenset(
    "sqrt cbrt root real_root symbols sympify nsimplify expand expand_mul expand_log expand_trig expand_func expand_power_base "
    "expand_power_exp expand_complex factor factor_list factor_terms simplify together apart cancel collect trigsimp powsimp powdenest "
    "radsimp rcollect ratsimp logcombine gammasimp combsimp fraction numer denom diff integrate limit series summation product solve "
    "solveset linsolve nonlinsolve solve_linear_system roots real_roots nroots rsolve dsolve poly gcd lcm gcd_list lcm_list div quo rem "
    "degree resultant discriminant isprime prime nextprime prevprime primepi factorint primefactors divisors divisor_count "
    "mod_inverse N eye zeros ones diag hessian wronskian det trace transpose vandermonde interpolate laplace_transform "
    "inverse_laplace_transform fourier_transform residue minimum maximum periodicity continued_fraction".split()
)
# What a function that sympy makes of an expression may name of numpy, and methods of its values.
NUMPY_FORMULAS = frozenset(
    "array asarray select where piecewise amin amax min max sum prod any all zeros ones eye identity full diag block vstack hstack concatenate "
    "stack transpose dot inner outer cross einsum tensordot kron trace det inv solve pinv norm matrix_power real imag conj angle sinc i0 round "
    "clip cumsum cumprod array_equal logical_and logical_or".split()
)
FORMULA_METHODS = frozenset("T transpose dot reduce real imag conj conjugate copy".split())
# Classes that text of the candidate (`eval(repr(x))`) and pickles of it may call: they hold plain values, and nothing else.
PLAIN_CLASSES = frozenset(
    "builtins.set builtins.frozenset builtins.complex builtins.bytearray builtins.bytes builtins.range builtins.slice builtins.list "
    "builtins.dict builtins.tuple builtins.int builtins.float builtins.str builtins.bool builtins.object "
    "collections.OrderedDict collections.deque collections.Counter collections.defaultdict "
    "datetime.date datetime.time datetime.datetime datetime.timedelta datetime.timezone zoneinfo.ZoneInfo "
    "decimal.Decimal fractions.Fraction uuid.UUID uuid.SafeUUID types.SimpleNamespace array.array "
    "pathlib.Path pathlib.PurePath pathlib.PosixPath pathlib.PurePosixPath pathlib._local.Path pathlib._local.PurePath "
    "pathlib._local.PosixPath pathlib._local.PurePosixPath "
    "ipaddress.IPv4Address ipaddress.IPv6Address ipaddress.IPv4Network ipaddress.IPv6Network "
    "numpy.ndarray numpy.dtype".split()
)
# Functions that text of the candidate may call, and modules whose builtin functions it may.
PURE_FUNCTIONS = frozenset(
    f"builtins.{name}"
    for name in (
        "abs all any ascii bin chr divmod format hash hex isinstance issubclass len max min oct ord pow print repr round sorted sum".split()
    )
) | {"numpy.array", "numpy.arange", "numpy.zeros", "numpy.ones", "_functools.reduce", "ipaddress.ip_address", "ipaddress.ip_network"}
PURE_MODULES = frozenset({"math", "cmath"})
# Functions by which pickles make values, and names that they have been known by. Those of numpy are ours (foreign_pickles.py).
PICKLE_MAKERS = frozenset(
    "copyreg._reconstructor _codecs.encode array._array_reconstructor zoneinfo.ZoneInfo._unpickle re._compile "
    "numpy._core.multiarray._reconstruct numpy.core.multiarray._reconstruct numpy._core.multiarray.scalar numpy.core.multiarray.scalar "
    "numpy._core.numeric._frombuffer numpy.core.numeric._frombuffer".split()
)

# ---------------------------------------------------------------- what stays


def is_of_runners(module):
    """Returns whether what is of a module, by its name, never leaves G."""
    return str(module).startswith(STAYS)


def stays(kind):
    """Returns whether a class never leaves G, nor do its instances."""
    return is_of_runners(kind.__module__)


def derives_from_staying(kind):
    """Returns whether a class is one that stays, or a subclass of one: a test case of the tests."""
    return any(map(stays, kind.__mro__))


def may_leave(value):
    """Returns whether an object can leave G, whatever it holds."""
    return not isinstance(value, MACHINERY) and not stays(value if issubclass(type(value), type) else type(value))


# ---------------------------------------------------------------- shapes


def is_names(value):
    return type(value) is list and all(type(name) is str for name in value)


def is_number(value):
    return type(value) is int and value >= 0


def is_truth(value):
    return type(value) is bool


def is_parameters(value):
    """(name, kind, whether there is a default, the default, (annotation,) or ()); last of all what is returned. (To C, None
    in the place of whether there is one means that it is not told.)"""
    return value is None or type(value) is list and all(
        type(each) is tuple and len(each) == 5 and type(each[0]) is str and type(each[1]) is int and type(each[2]) is bool
        and type(each[4]) is tuple and len(each[4]) <= 1 for each in value
    )  # fmt: skip


def is_turn(value):
    """(done, succeeded, value, seconds until the next timer or None, tasks that have ended)"""
    return (
        type(value) is tuple and len(value) == 5 and type(value[0]) is bool and type(value[1]) is bool
        and (value[1] or isinstance(value[2], BaseException)) and (value[3] is None or type(value[3]) in (int, float))
        and type(value[4]) is list and all(map(is_number, value[4]))
    )  # fmt: skip


def is_step(value):
    """(done, succeeded, value, seconds until somebody can go on, or None)"""
    return (
        type(value) is tuple and len(value) == 4 and type(value[0]) is bool and type(value[1]) is bool
        and (value[1] or isinstance(value[2], BaseException)) and (value[3] is None or type(value[3]) in (int, float) and value[3] >= 0)
    )  # fmt: skip


def is_octets(value):
    return type(value) is bytes


def is_numbers(value):
    return type(value) is list and all(map(is_number, value))


SHAPES = {"numbers": is_numbers, "step": is_step, "octets": is_octets, "names": is_names, "number": is_number, "truth": is_truth, "parameters": is_parameters, "turn": is_turn}

# ---------------------------------------------------------------- steering exceptions


def at_border(error, request):
    """Returns the exception that an exception of C becomes when the request that it answers returns."""
    if not isinstance(error, STEERING):
        if not isinstance(error, STEERING_IN_THREADS) or threading.current_thread() is threading.main_thread():
            return error
    name = request[2] if request and request[0] == "special" else None
    if name in MEANS_IT and isinstance(error, MEANS_IT[name]):
        return error
    become = RuntimeError(f"the candidate raised {type(error).__name__}")
    become.__cause__ = become._proofbox_meant = error
    return become


# ---------------------------------------------------------------- whose code asks

_libraries = {}
_BORDERLESS = ("/lib/python3.13/", "<frozen ", "<proofbox>")
# Of the library, what compares: it asks for `difference` with the expected value in its hand.
COMPARING = frozenset({"unittest.case"})


def asked_by(depth):
    """Returns whose code runs `depth` frames above the caller: "tests", "library" (the standard one, pytest) or
    "package", which is also what compares for the tests."""
    module = sys._getframe(depth + 1).f_globals.get("__name__")
    found = _libraries.get(module)
    if found is None:
        found = _libraries[module] = _owner(module)
    return found


def is_of_tests(module):
    """Returns whether a module of that name is the tests' own."""
    return _owner(module) == "tests"


def _owner(module):
    if type(module) is not str:
        return "tests"
    root = module.partition(".")[0]
    file = getattr(sys.modules.get(module), "__file__", None)
    if root in ("__main__", "tests", "evaluator") or type(file) is str and not file.startswith(_BORDERLESS):
        return "tests"
    if root in ("_pytest", "pytest", "pluggy") or root.startswith("_proofbox"):
        return "library"
    if root in sys.stdlib_module_names:
        return "package" if module in COMPARING else "library"
    return "package" if type(file) is str else "tests"
