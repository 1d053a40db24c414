"""Values as a notebook shows them: `repr`, but containers are broken over lines, sets sorted, functions with signatures.

The layout is Oppen's: what does not fit on a line is broken at its outermost group first, and a group that is broken is
broken everywhere. Classes take part by `_repr_pretty_(self, printer, cycle)`."""

import collections
import contextlib
import datetime
import inspect
import os
import re
import types

WIDTH = 79
LONGEST_SEQUENCE = 1000
BUILTIN = (None, "builtins", "__builtin__", "exceptions")
RE_FLAGS = ("IGNORECASE", "LOCALE", "MULTILINE", "DOTALL", "UNICODE", "VERBOSE", "DEBUG")


class _Group:
    """Group of texts that are broken into lines together."""

    __slots__ = ("broken", "depth", "pending")

    def __init__(self, depth):
        self.depth = depth
        self.pending = 0  # places to break at that are not decided yet
        self.broken = False


class Layout:
    """Takes text and places where it may be broken; `value()` is the result."""

    def __init__(self, max_width=WIDTH, newline="\n"):
        self.max_width, self.newline, self.indentation = max_width, newline, 0
        self._written, self._column = [], 0
        self._held, self._held_width = collections.deque(), 0
        root = _Group(0)
        self._open, self._undecided = [root], [[root]]

    def text(self, text):
        if self._held:
            self._held.append(text)
            self._held_width += len(text)
            self._fit()
        else:
            self._written.append(text)
            self._column += len(text)

    def breakable(self, separator=" "):
        """A line may end here; where it does not, `separator` stands."""
        group = self._open[-1]
        if group.broken:
            self.flush()
            self._new_line()
        else:
            group.pending += 1
            self._held.append((separator, self.indentation, group))
            self._held_width += len(separator)
            self._fit()

    def break_(self):
        """A line ends here."""
        group = self._outermost()
        if group:
            self._break(group)
        self.flush()
        self._new_line()

    def begin_group(self, indent=0, open=""):
        if open:
            self.text(open)
        group = _Group(self._open[-1].depth + 1)
        self._open.append(group)
        while len(self._undecided) <= group.depth:
            self._undecided.append([])
        self._undecided[group.depth].append(group)
        self.indentation += indent

    def end_group(self, dedent=0, close=""):
        self.indentation -= dedent
        group = self._open.pop()
        if not group.pending:
            self._decide(group)
        if close:
            self.text(close)

    @contextlib.contextmanager
    def group(self, indent=0, open="", close=""):
        self.begin_group(indent, open)
        try:
            yield
        finally:
            self.end_group(indent, close)

    @contextlib.contextmanager
    def indent(self, indent):
        self.indentation += indent
        try:
            yield
        finally:
            self.indentation -= indent

    def flush(self):
        while self._held:
            self._write(self._held.popleft())

    def value(self):
        self.flush()
        return "".join(self._written)

    def _new_line(self):
        self._written.append(self.newline + " " * self.indentation)
        self._column = self.indentation

    def _fit(self):
        while self._column + self._held_width > self.max_width:
            group = self._outermost()
            if group is None:
                return
            self._break(group)

    def _outermost(self):
        """The outermost group that can still be broken, from now on broken."""
        for groups in self._undecided:
            for group in reversed(groups):
                if group.pending:
                    groups.remove(group)
                    group.broken = True
                    return group
            for group in groups:
                group.broken = True
            groups.clear()
        return None

    def _break(self, group):
        while group.pending:
            self._write(self._held.popleft())
        while self._held and type(self._held[0]) is str:
            self._write(self._held.popleft())

    def _write(self, item):
        if type(item) is str:
            self._held_width -= len(item)
            self._written.append(item)
            self._column += len(item)
            return
        separator, indentation, group = item
        self._held_width -= len(separator)
        group.pending -= 1
        if group.broken:
            self._written.append(self.newline + " " * indentation)
            self._column = indentation
        else:
            if not group.pending:
                self._decide(group)
            self._written.append(separator)
            self._column += len(separator)

    def _decide(self, group):
        groups = self._undecided[group.depth]
        if group in groups:
            groups.remove(group)


class Printer(Layout):
    """Writes values; what `_repr_pretty_` is handed."""

    def __init__(self, max_width=WIDTH, newline="\n", max_seq_length=LONGEST_SEQUENCE, verbose=False):
        super().__init__(max_width, newline)
        self.max_seq_length, self.verbose = max_seq_length, verbose
        self.stack = []

    def pretty(self, value):
        identity = id(value)
        cycle = identity in self.stack
        self.stack.append(identity)
        self.begin_group()
        try:
            if value is None or value is True or value is False or value is ... or value is NotImplemented:
                return self.text(repr(value))
            cls = _attribute(value, "__class__") or type(value)
            for base in cls.__mro__:
                write = type_printers.get(base) or _named_printer(base)
                if write:
                    return write(value, self, cycle)
                own = vars(base)
                if "_repr_pretty_" in own and callable(base._repr_pretty_):
                    return base._repr_pretty_(value, self, cycle)
                if base is not object and "__repr__" in own and callable(_attribute(base, "__repr__")):
                    return write_repr(value, self, cycle)
            self._write_plain(value, cls, cycle)
        finally:
            self.end_group()
            self.stack.pop()

    def call(self, name, arguments, keywords=()):
        """`name(argument, keyword=value)`."""
        first = True
        with self.group(len(name) + 1, name + "(", ")"):
            for argument in arguments:
                if not first:
                    self.text(",")
                    self.breakable()
                first = False
                self.pretty(argument)
            for keyword, value in keywords:
                if not first:
                    self.text(",")
                    self.breakable()
                first = False
                with self.group(len(keyword) + 1, keyword + "="):
                    self.pretty(value)

    def items(self, items):
        """With commas between them, and no more than are worth looking at."""
        for index, item in enumerate(items):
            if index:
                self.text(",")
                self.breakable()
            if self.max_seq_length and index >= self.max_seq_length:
                self.text("...")
                return
            yield item

    def _write_plain(self, value, cls, cycle):
        with self.group(1, "<", ">"):
            self.pretty(cls)
            self.text(f" at 0x{id(value):x}" + (" ..." if cycle else ""))


class Raw:
    """Stands for its text."""

    def __init__(self, text):
        self._text = text

    def _repr_pretty_(self, printer, cycle):
        printer.text(self._text)


def pretty(value, verbose=False, max_width=WIDTH, newline="\n", max_seq_length=LONGEST_SEQUENCE):
    printer = Printer(max_width, newline, max_seq_length, verbose)
    printer.pretty(value)
    return printer.value()


def _attribute(value, name):
    try:
        return getattr(value, name, None)
    except Exception:
        return None


def write_repr(value, printer, cycle):
    lines = repr(value).split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    with printer.group():
        for index, line in enumerate(lines):
            if index:
                printer.break_()
            printer.text(line)


def _sequence(start, end):
    def write(value, printer, cycle):
        if cycle:
            return printer.text(f"{start}...{end}")
        with printer.group(len(start), start, ""):
            for item in printer.items(value):
                printer.pretty(item)
            if len(value) == 1 and isinstance(value, tuple):
                printer.text(",")
        printer.text(end)

    return write


def _set(start, end):
    def write(value, printer, cycle):
        if cycle:
            return printer.text(f"{start}...{end}")
        if not value:
            return printer.text(f"{type(value).__name__}()")
        items = value
        if not printer.max_seq_length or len(value) < printer.max_seq_length:
            try:
                items = sorted(value)
            except Exception:
                items = list(value)
        with printer.group(len(start), start, ""):
            for item in printer.items(items):
                printer.pretty(item)
        printer.text(end)

    return write


def _mapping(start, end):
    def write(value, printer, cycle):
        if cycle:
            return printer.text("{...}")
        with printer.group(len(start), start, ""):
            for key in printer.items(value.keys()):
                printer.pretty(key)
                printer.text(": ")
                printer.pretty(value[key])
        printer.text(end)

    return write


def _super(value, printer, cycle):
    with printer.group(8, "<super: ", ">"):
        printer.pretty(value.__thisclass__)
        printer.text(",")
        printer.breakable()
        printer.pretty(value.__self__)


def _pattern(value, printer, cycle):
    text = "r" + repr(value.pattern).replace("\\\\", "\\")
    flags = "|".join(f"re.{name}" for name in RE_FLAGS if value.flags & getattr(re, name))
    printer.call("re.compile", [Raw(text), Raw(flags)] if value.flags else [Raw(text)])


def _namespace(value, printer, cycle):
    printer.call("namespace", [Raw("...")] if cycle else [], () if cycle else vars(value).items())


def _class(value, printer, cycle):
    if next((base for base in type(value).__mro__ if "__repr__" in vars(base)), type) is not type:
        return write_repr(value, printer, cycle)
    module, name = _attribute(value, "__module__"), _attribute(value, "__qualname__")
    name = name if isinstance(name, str) else type.__dict__["__name__"].__get__(value)
    printer.text(name if module in BUILTIN else f"{module}.{name}")


def _function(value, printer, cycle):
    name = _attribute(value, "__qualname__") or value.__name__
    if value.__module__ not in BUILTIN:
        name = f"{value.__module__}.{name}"
    try:
        name += str(inspect.signature(value))
    except ValueError:
        pass
    printer.text(f"<function {name}>")


def _exception(value, printer, cycle):
    cls = value.__class__
    name = cls.__qualname__ if cls.__module__ in BUILTIN else f"{cls.__module__}.{cls.__qualname__}"
    printer.call(name, getattr(value, "args", ()))


def _constructed(arguments):
    """Writes a call of the value's class with what `arguments` makes of the value: positional ones, then named ones."""

    def write(value, printer, cycle):
        positional, named = ([Raw("...")], ()) if cycle else arguments(value)
        printer.call(type(value).__name__, positional, named)

    return write


# Whose repr is what is shown, in whatever width; and what holds nothing else is shown as its repr if that fits a line.
plain = {int, float, str, bool, complex, bytes, type(None), range, slice}
containers = {list, tuple, dict}
# Of these and their subclasses, unless a class nearer to the value has a say.
type_printers = {
    int: write_repr, float: write_repr, str: write_repr, bytes: write_repr, range: write_repr, slice: write_repr,
    types.MethodType: write_repr, datetime.datetime: write_repr, datetime.timedelta: write_repr,
    tuple: _sequence("(", ")"), list: _sequence("[", "]"), dict: _mapping("{", "}"),
    set: _set("{", "}"), frozenset: _set("frozenset({", "})"),
    types.MappingProxyType: _mapping("mappingproxy({", "})"), type(os.environ): _mapping("environ{", "}"),
    types.SimpleNamespace: _namespace, super: _super, re.Pattern: _pattern, type: _class, BaseException: _exception,
    types.FunctionType: _function, types.BuiltinFunctionType: _function,
    collections.defaultdict: _constructed(lambda v: ([v.default_factory, dict(v)], ())),
    collections.OrderedDict: _constructed(lambda v: ([list(v.items())] if v else [], ())),
    collections.deque: _constructed(lambda v: ([list(v)], () if v.maxlen is None else [("maxlen", v.maxlen)])),
    collections.Counter: _constructed(lambda v: ([dict(v.most_common())] if v else [], ())),
    collections.UserList: _constructed(lambda v: ([v.data], ())),
}  # fmt: skip
# The same by (module, name), for classes that are not imported yet.
named_printers = {}


def _named_printer(cls):
    return named_printers.get((cls.__module__, cls.__name__)) if named_printers else None


def for_type(cls, function):
    previous = type_printers.get(cls)
    if function is not None:
        type_printers[cls] = function
        plain.discard(cls)
        containers.discard(cls)
    return previous


def for_type_by_name(module, name, function):
    previous = named_printers.get((module, name))
    if function is not None:
        named_printers[module, name] = function
    return previous
