"""Texts that may become code of the tests' interpreter: the tests' own, and expressions that only make values."""

import ast
import builtins
import enum
import keyword
import logging
import pathlib
import re
import sys
import types

import _proofbox_border as border
import _proofbox_candidate_module as candidate_module
import _proofbox_origins as origins
import _proofbox_packages as packages
import _proofbox_proxies as proxies
import _proofbox_served as served
import _proofbox_side as side

_PROMPT = re.compile(r"^\s*(?:>>>|\.\.\.) ?")
_HOLE = re.compile(r"\{[^{}]*\}|%[sdrif]")
# What may fill the holes of a template of the tests, but for literals.
_FILLING = re.compile(r"[\w\s.,:;+\-]*")
_WORD = re.compile(r"[^\W\d]\w*")
# Text of one line that only names things.
_NAMES = re.compile(r"\s*[^\W\d][\w.]*(?:\s*,\s*[\w.]+)*\s*")
# How long a part of a text must be to count as the tests', wherever it stands.
_PIECE = 4
_MAX_HOLES, _MAX_PIECES, _MAX_TEMPLATES = 16, 2_000, 500
_MAX_TEMPLATE_TEXT = 20_000
_COOKIE = re.compile(r"[ \t\f]*#.*?coding[:=]")
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def as_text(source):
    return source if isinstance(source, str) else bytes(source).decode("utf-8", "replace")


class Texts:
    """The tests' own sources, and what they say of a text."""

    def __init__(self, texts):
        self.sources = texts
        self.whole = None  # constants and files, gathered when first asked for
        self.lines = set()
        self.words = set()
        self.templates = []
        self.pieces = set()
        self.between = None  # splits a text at what is in constants
        self.bound = {}  # by id of a namespace of doctest's, names that examples have bound

    def mention(self, word):
        return any(word in text for text in self.sources)

    def is_own(self, text, frame=None):
        """Returns whether the text is a constant or a file of the tests, or put together of such with names and
        numbers."""
        if type(text) is not str:
            return False
        if self.whole is None:
            self._gather()
        if text.strip() in self.whole or all(self._is_own_line(line.strip(), frame) for line in text.splitlines()):
            return True
        if len(text) > _MAX_TEMPLATE_TEXT:
            return False
        return any(self._fits(each, text, frame) for each in self.templates) or self._is_composed(text, frame)

    def _is_own_line(self, line, frame):
        if not line or line in self.lines:
            return True
        return len(line) <= _MAX_TEMPLATE_TEXT and any(self._fits(template, line, frame) for template in self.templates)

    def _gather(self):
        self.whole = set()
        for source in self.sources:
            self.whole.add(source.strip())
            try:
                tree = ast.parse(source)
            except _UNREADABLE:
                self._add(source)
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
                    text = as_text(node.value)
                    self._add(text)
                    self._add_template(_HOLE.split(text))
                elif isinstance(node, ast.JoinedStr):
                    parts = [""]
                    for part in node.values:
                        if isinstance(part, ast.Constant):
                            parts[-1] += part.value
                        else:
                            parts.append("")
                    self._add_template(parts)
                    self.words.update(_WORD.findall(" ".join(parts)))
        if "timeit" in sys.modules:
            for more in ("", ", _setup=_setup", ", _stmt=_stmt", ", _setup=_setup, _stmt=_stmt"):
                self._add(sys.modules["timeit"].template.format(stmt="_stmt()", setup="_setup()", init=more))
        pieces = sorted(self.pieces, key=len, reverse=True)[:_MAX_PIECES]
        self.between = re.compile("|".join(map(re.escape, pieces))) if pieces else None

    def _add(self, text):
        self.whole.add(text.strip())
        self.words.update(_WORD.findall(text[:_MAX_TEMPLATE_TEXT]))
        for line in text.splitlines():
            self.lines.add(line.strip())
            self.lines.add(_PROMPT.sub("", line).strip())

    def _add_template(self, parts):
        self.pieces.update(part for part in parts if len(part.strip()) >= _PIECE)
        if 1 < len(parts) <= _MAX_HOLES and len(self.templates) < _MAX_TEMPLATES:
            for text in {"\0".join(parts), *"\0".join(parts).splitlines()}:
                pieces = text.strip().split("\0")
                if any(piece.strip(" .,:()") for piece in pieces):
                    self.templates.append(pieces)

    def _fits(self, template, text, frame):
        """Returns whether a text is a template with fillings. Each piece is where it first can be: no other way is
        tried."""
        text = text.strip()
        if len(template) == 1:
            return [text] == template
        first, *between, last = template
        end = len(text) - len(last)
        if not (text.startswith(first) and text.endswith(last) and len(first) <= end):
            return False
        at, fillings = len(first), []
        for piece in between:
            found = text.find(piece, at, end)
            if found < 0:
                return False
            fillings.append(text[at:found])
            at = found + len(piece)
        return all(self._is_filling(each, frame) for each in (*fillings, text[at:end]))

    def _is_composed(self, text, frame):
        gaps = self.between.split(text) if self.between else ()
        return len(gaps) > 1 and all(self._is_filling(each, frame) for each in gaps)

    def _is_filling(self, text, frame):
        """Returns whether a text within a template is a literal, or words that mean nothing here but the candidate's
        functions."""
        if _FILLING.fullmatch(text):
            return all(self._is_harmless_word(word, frame) for word in _WORD.findall(text))
        try:
            ast.literal_eval(text.strip())
        except (*_UNREADABLE, TypeError):
            return False
        return True

    def _is_harmless_word(self, word, frame):
        candidate = side.state.candidate
        if keyword.iskeyword(word) or word[:2] == "__":
            return False
        for names in (frame.f_locals, frame.f_globals) if frame else ():
            if word in names:
                value = names[word]
                return proxies.is_remote(value) or word in self.whole and (callable(value) or type(value) is types.ModuleType)
        if word in (candidate.names or ()) or word in candidate.roots or word in self.whole:
            return True
        return word not in BUILTINS and word not in sys.stdlib_module_names and not packages.is_known(word)

    # ------------------------------------------------ what a text may do

    def allows(self, source, maker, frame):
        """Returns whether code of this text or tree may be executed; also if it is no code at all. `VALUES` if it is
        not the tests'."""
        if isinstance(source, ast.AST):
            return Expression(frame, self).is_harmless(source) and VALUES
        if maker in border.LOOKED_AT:
            return makes_values(source, frame.f_locals.get("namespace") or {})
        code = frame.f_code
        # `expected` is a text of tests that have a parameter of this name; they do not say that it is code.
        if not _NAMES.fullmatch(source) and self.is_own(source, frame) or code.co_filename.startswith("/lib/") and source in code.co_consts:
            return True
        if maker == "doctest":
            return self._allows_example(source, frame)
        # Of a text that can't be read here nothing is known, not even that it is no code. Bytes may say how they are to be read.
        if any(map(_COOKIE.match, source.split("\n", 2)[:2])):
            return False
        try:
            tree = ast.parse(source.strip(), mode="eval")
        except _UNREADABLE:
            try:
                tree = ast.parse(source)
            except _UNREADABLE:
                return False
        if maker in ("typing", "inspect", "typing_extensions"):
            return is_annotation(tree)
        return Expression(frame, self).is_harmless(tree) and VALUES

    def _allows_example(self, source, frame):
        """An example of a docstring that is not the tests': what it binds stays in the namespace of the examples."""
        test = frame.f_locals.get("test")
        try:
            tree = ast.parse(source)
        except _UNREADABLE:
            return False
        namespace = getattr(test, "globs", {})
        bound = self.bound.setdefault(id(namespace), set())
        expression = Expression(frame, self, namespace, bound)
        return expression.is_harmless(tree) and VALUES


# What `allows` says of text that is not the tests': it may make values, and gets nothing of the library while it does.
VALUES = "values"


def is_annotation(tree):
    nodes = list(ast.walk(tree))
    # Classes have names with dots; what has been looked up by an index is somebody's object.
    hidden = any(type(node) is ast.Attribute and (node.attr[:1] == "_" or type(node.value) not in (ast.Name, ast.Attribute)) for node in nodes)
    return not hidden and all(isinstance(node, _OF_ANNOTATIONS) for node in nodes)


_OF_ANNOTATIONS = (
    ast.Expression, ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Constant, ast.Starred, ast.BinOp, ast.BitOr,
    ast.UnaryOp, ast.USub, ast.expr_context,
)  # fmt: skip
_OF_VALUES = (
    ast.Module, ast.Expression, ast.Interactive, ast.Expr, ast.Assign, ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.UnaryOp, ast.BinOp,
    ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.keyword, ast.Starred, ast.Name, ast.Attribute, ast.Subscript, ast.Slice,
    ast.JoinedStr, ast.FormattedValue, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension,
    ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip
_OF_EXAMPLES = (*_OF_VALUES, ast.AugAssign, ast.For, ast.If, ast.Import, ast.ImportFrom, ast.alias, ast.Pass)


class Expression:
    """Looks whether code makes values only, of literals, of objects of the candidate, and of what border.py lists.

    What the candidate's functions give may be a class or module of the library, so nothing is called that is not known."""

    def __init__(self, frame, texts, namespace=None, bound=None):
        self.frame = frame
        self.namespace = namespace
        self.examples = namespace is not None
        self.known = set() if bound is None else bound  # names that earlier examples have bound
        self.bound = set()
        self.local = set()  # ids of names that a comprehension around them binds
        self.plain_formats = set()  # ids of `"...".format` that reads no attributes
        self.texts = texts
        module = str(frame.f_globals.get("__name__"))
        self.of_sympy = module.startswith("sympy.")
        self.of_logging = module == "logging.config"
        self.resolved = {}

    def is_harmless(self, tree):
        allowed = _OF_EXAMPLES if self.examples else _OF_VALUES
        nodes = list(ast.walk(tree))
        if not all(isinstance(node, allowed) for node in nodes):
            return False
        for node in nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                if not self._is_harmless_import(node):
                    return False
            elif isinstance(node, ast.Assign) and not self.examples and not self._is_harmless_assignment(node):
                return False
            elif isinstance(node, ast.Call) and _is_plain_format(node.func):
                self.plain_formats.add(id(node.func))
        self._bind(tree, frozenset())
        bases = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        ends = {id(node.value if isinstance(node, ast.Expr) else node.body) for node in nodes if isinstance(node, (ast.Expr, ast.Expression))}
        harmless = all(self._is_harmless_node(node, id(node) in bases, id(node) in ends) for node in nodes)
        if harmless:
            self.known |= self.bound
        return harmless

    def _bind(self, node, scope):
        """Finds out what each name is bound by: `scope` has those of the comprehensions around it."""
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                if node.id not in scope:
                    self.bound.add(node.id)
            elif node.id in scope:
                self.local.add(id(node))
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            targets = (name for each in node.generators for name in ast.walk(each.target) if isinstance(name, ast.Name))
            first = node.generators[0].iter
            self._bind(first, scope)
            scope |= {name.id for name in targets}
            for child in ast.iter_child_nodes(node):
                for part in ast.iter_child_nodes(child) if isinstance(child, ast.comprehension) else (child,):
                    if part is not first:
                        self._bind(part, scope)
        else:
            for child in ast.iter_child_nodes(node):
                self._bind(child, scope)

    def _is_bound(self, name):
        return id(name) in self.local or name.id in self.bound

    def _is_harmless_node(self, node, is_base, is_end):
        if isinstance(node, ast.Call):
            return self._may_be_called(node.func) and not (self.of_sympy and self._makes_a_class(node))
        if isinstance(node, ast.Attribute):
            if node.attr[:1] == "_" or not isinstance(node.ctx, ast.Load):
                return False
            if node.attr in _FORMATS:
                return id(node) in self.plain_formats
            found = self._resolve(node)
            if found is _UNKNOWN:
                return is_end or self._has_harmless_method(node.value, node.attr)
            return self._is_harmless_object(found) or is_base and type(found) is types.ModuleType
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found = self._resolve(node)
            if found is _UNKNOWN:
                return self._is_bound(node)
            if node.id in self.known and type(found) is not types.ModuleType and not isinstance(found, type):
                return True
            if not self.of_sympy and node.id not in _NUMBERS and not _is_definition(found):
                # What the tests have stored may be what they expect.
                return False
            return self._is_harmless_object(found) or is_base and type(found) is types.ModuleType
        return True

    def _may_be_called(self, function):
        found = self._resolve(function)
        if found is not _UNKNOWN:
            return self._is_harmless_object(found)
        return isinstance(function, ast.Attribute) and self._has_harmless_method(function.value, function.attr)

    def _makes_a_class(self, call):
        """Returns whether a call of sympy's `Function` gives the class that it makes more than a name and assumptions:
        methods."""
        found = self._resolve(call.func)
        if getattr(found, "__module__", None) not in ("sympy.core.function", "sympy.core.symbol") or found.__name__ not in ("Function", "symbols"):
            return False
        plain = all(each.arg == "cls" or each.arg and each.arg[:1] != "_" and isinstance(each.value, ast.Constant) for each in call.keywords)
        return not plain or len(call.args) != 1 or isinstance(call.args[0], ast.Starred)

    def _has_harmless_method(self, node, name):
        """Returns whether an expression gives a plain value, and the method of this name touches no file."""
        if isinstance(node, (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set)):
            return True
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, (ast.Constant, ast.JoinedStr)):
                return True
            found = self._resolve(node.func)
            if isinstance(found, type) and is_plain_class(found):
                return not touches_files(found, name)
            return self.of_sympy
        return False

    def _resolve(self, node):
        """The object that a name or a chain of attributes stands for; `_UNKNOWN` of others."""
        if id(node) not in self.resolved:
            self.resolved[id(node)] = self._looked_up(node)
        return self.resolved[id(node)]

    def _looked_up(self, node):
        if isinstance(node, ast.Name):
            if self._is_bound(node):
                return _UNKNOWN
            for names in self._namespaces():
                if node.id in names:
                    return names[node.id]
            candidate = side.state.candidate
            if node.id in BUILTINS or node.id in sys.stdlib_module_names or packages.is_known(node.id):
                return vars(builtins).get(node.id, _UNKNOWN)
            # In a namespace that was made for it.
            if node.id in candidate.roots:
                return sys.modules.get(node.id, _UNKNOWN)
            return candidate.fetch(node.id) if node.id in (candidate.names or ()) else _UNKNOWN
        if isinstance(node, ast.Attribute) and node.attr[:1] != "_":
            base = self._resolve(node.value)
            if type(base) in (types.ModuleType, candidate_module.ProxyModule) or isinstance(base, type) or proxies.is_remote(base):
                try:
                    return getattr(base, node.attr)
                except AttributeError:
                    pass
        return _UNKNOWN

    def _namespaces(self):
        if self.examples:
            yield self.namespace
            return
        if self.of_sympy:
            for name in ("local_dict", "global_dict"):
                names = self.frame.f_locals.get(name)
                if type(names) is dict:
                    yield names
        if self.of_logging:
            yield vars(logging)
        yield self.frame.f_locals
        yield self.frame.f_globals

    def _is_harmless_object(self, found):
        if proxies.is_remote(found) or type(found) in (candidate_module.ProxyModule, candidate_module.Lost):
            return True
        if found is None or type(found) is float and (found != found or found in (float("inf"), float("-inf"))):
            return True
        if self.of_sympy and is_mathematical(found):
            return True
        if self.of_logging and (found is sys.stdout or found is sys.stderr or _is_class_of_logging(found)):
            return True
        if isinstance(found, type):
            return is_plain_class(found) or not origins.is_of_library(found) and not any(map(served.stays, found.__mro__))
        module, name = getattr(found, "__module__", None), getattr(found, "__qualname__", None)
        if isinstance(found, types.BuiltinFunctionType):
            if isinstance(found.__self__, type):
                return is_plain_class(found.__self__) and not touches_files(found.__self__, name.rpartition(".")[2])
            return module in border.PURE_MODULES or f"{module}.{name}" in border.PURE_FUNCTIONS
        if isinstance(found, types.FunctionType):
            return f"{module}.{name}" in border.PURE_FUNCTIONS
        # A method or constant of a plain class (`str.upper`, `date.min`), a member of an enumeration of the tests.
        kind = type(found)
        if isinstance(found, (types.MethodDescriptorType, types.ClassMethodDescriptorType)):
            return not touches_files(found.__objclass__, found.__name__)
        if isinstance(found, enum.Enum):
            return True
        return is_plain_class(kind) and kind not in _INPUTS

    def _is_harmless_assignment(self, node):
        """Returns whether a statement binds a name that a text of the tests has, and their code does not."""
        target, *more = node.targets
        if more or type(target) is not ast.Name or any(target.id in names for names in self._namespaces()):
            return False
        return target.id in self.texts.words and target.id not in BUILTINS

    def _is_harmless_import(self, node):
        if isinstance(node, ast.ImportFrom):
            self.bound.update(alias.asname or alias.name for alias in node.names)
            return node.level == 0 and self._is_harmless_module(node.module) and all(alias.name[:1] != "_" for alias in node.names)
        for alias in node.names:
            self.bound.add(alias.asname or alias.name.partition(".")[0])
        return all(self._is_harmless_module(alias.name) for alias in node.names)

    def _is_harmless_module(self, name):
        root = name.partition(".")[0]
        if name in border.PURE_MODULES:
            return True
        return root in side.state.candidate.roots and root not in sys.stdlib_module_names and not packages.is_known(root)


def _is_definition(found):
    """Returns whether an object is the candidate's, or a class, function or module: none that the tests compute."""
    if proxies.is_remote(found) or type(found) in (candidate_module.ProxyModule, candidate_module.Lost):
        return True
    return isinstance(found, (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType))


def is_mathematical(found):
    """Returns whether an object of sympy is a value, a class of such, or a function that computes, and none that makes
    code."""
    if isinstance(found, type):
        return str(found.__module__).startswith("sympy.") and any(map(_is_of_expressions, found.__mro__))
    if isinstance(found, types.FunctionType):
        return str(found.__module__).startswith("sympy.") and found.__name__ in border.SYMPY_FUNCTIONS
    return str(type(found).__module__).startswith("sympy.")


def _is_of_expressions(kind):
    return f"{kind.__module__}.{kind.__qualname__}" in border.SYMPY_VALUES


def _is_class_of_logging(found):
    return isinstance(found, type) and found.__module__.startswith("logging") and issubclass(found, (logging.Handler, logging.Formatter))


# ---------------------------------------------------------------- functions that sympy makes of expressions


def makes_values(source, namespace):
    """Returns whether what `lambdify` has made is one function that computes. Names of symbols and texts are in it as
    they are."""
    try:
        tree = ast.parse(source)
    except _UNREADABLE:
        return False
    nodes = list(ast.walk(tree))
    if not (len(tree.body) == 1 and type(tree.body[0]) is ast.FunctionDef and all(isinstance(node, _OF_FORMULAS) for node in nodes)):
        return False
    arguments = {node.arg for node in ast.walk(tree.body[0].args) if isinstance(node, ast.arg)}
    bases = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}

    def resolve(node):
        if isinstance(node, ast.Name):
            return _UNKNOWN if node.id in arguments else namespace.get(node.id, vars(builtins).get(node.id, _UNKNOWN))
        base = resolve(node.value) if isinstance(node, ast.Attribute) else _UNKNOWN
        return vars(base).get(node.attr, _UNKNOWN) if type(base) is types.ModuleType else _UNKNOWN

    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)) and node.value not in _NUMBERS:
            return False
        if isinstance(node, ast.FunctionDef) and (node is not tree.body[0] or node.decorator_list):
            return False
        if isinstance(node, (ast.Name, ast.Attribute)):
            is_stored, name = not isinstance(node.ctx, ast.Load), node.id if isinstance(node, ast.Name) else node.attr
            found = resolve(node)
            if name[:2] == "__" or isinstance(node, ast.Attribute) and (is_stored or found is _UNKNOWN and name not in border.FORMULA_METHODS):
                return False
            if found is not _UNKNOWN and not is_stored and not _is_of_formulas(found):
                if not (id(node) in bases and type(found) is types.ModuleType):
                    return False
    return True


_OF_FORMULAS = (
    ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.Expr, ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.UnaryOp,
    ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.keyword, ast.Starred, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Lambda,
    ast.ListComp, ast.GeneratorExp, ast.comprehension, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip


def _is_of_formulas(found):
    """Returns whether an object may be named in a function that sympy has made."""
    if found is None or proxies.is_remote(found) or isinstance(found, (int, float, complex)) or is_mathematical(found):
        return True
    kind = found if isinstance(found, type) else type(found)
    module, name = str(getattr(found, "__module__", None)), getattr(found, "__name__", None)
    root = str(kind.__module__).partition(".")[0]
    if isinstance(found, type) and is_plain_class(found) or root == "numpy" and (kind.__name__ == "ufunc" or name in border.NUMPY_FORMULAS):
        return True
    if isinstance(found, types.BuiltinFunctionType):
        return module in border.PURE_MODULES or f"{module}.{name}" in border.PURE_FUNCTIONS or module == "numpy" and name in border.NUMPY_FORMULAS
    if isinstance(found, types.MethodType):
        return str(type(found.__self__).__module__).startswith("mpmath.")
    if isinstance(found, types.FunctionType):
        if module.startswith("numpy"):
            return name in border.NUMPY_FORMULAS
        if module.startswith("mpmath."):
            return module != "mpmath.usertools"
        return module.startswith(("scipy.special.", "scipy.integrate.")) or not origins.is_of_library(found)
    return root == "mpmath" or not origins.is_of_library(kind)


def _is_plain_format(function):
    """Returns whether a method is that of a literal whose fields read neither attributes nor items."""
    if not isinstance(function, ast.Attribute) or function.attr != "format" or not isinstance(function.value, ast.Constant):
        return False
    text = function.value.value
    return type(text) is str and not any("." in field.partition(":")[0] or "[" in field or "{" in field for field in text.split("{")[1:])


_UNKNOWN = object()
# Methods whose text reads attributes of what it is given.
_FORMATS = frozenset({"format", "format_map"})
# Numbers that the library has under these names.
_NUMBERS = frozenset({"inf", "nan", "pi", "e", "tau"})
BUILTINS = frozenset(vars(builtins))
# Types whose instances hold what the tests know: by a name text could choose among expected values.
_INPUTS = frozenset({int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, bool})


def touches_files(kind, name):
    return not hasattr(pathlib.PurePath, name) if issubclass(kind, pathlib.PurePath) else name in border.FILE_METHODS


def is_plain_class(kind):
    if proxies.is_remote(kind):
        # Its name is the candidate's to choose.
        return False
    name = f"{kind.__module__}.{kind.__qualname__}"
    if name in border.PLAIN_CLASSES:
        return True
    if kind.__module__ == "builtins":
        return issubclass(kind, BaseException)
    return kind.__module__ == "numpy" and any(base.__qualname__ == "generic" and base.__module__ == "numpy" for base in kind.__mro__)
