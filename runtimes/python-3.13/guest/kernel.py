"""The object that `get_ipython()` gives: what programs ask of a notebook's shell, as far as there is something to give."""

import builtins
import os
import re
import string
import sys

import _proofbox_commands as commands
import _proofbox_display as display
import _proofbox_packages as packages
import _proofbox_pretty as pretty

PIP = re.compile(r"\s*(?:pip3?|python3? +-m +pip|uv +pip|conda|mamba)\b(.*)", re.DOTALL)
# What makes a command worth a look for `{expression}` and `$variable`.
EXPANDED = re.compile(r"[{$]")


class _Events:
    """Takes functions that are to be called around cells. They are not."""

    def register(self, event, function):
        pass

    def unregister(self, event, function):
        pass


class _Formatter:
    """Functions that a user has registered for one format."""

    def __init__(self, mime):
        self._mime = mime

    def for_type(self, cls, function=None):
        if self._mime == display.TEXT:
            return pretty.for_type(cls, function)
        functions = display.registered.get(self._mime, {})
        previous = functions.get(cls)
        if function is not None:
            display.registered.setdefault(self._mime, {})[cls] = function
        return previous

    def for_type_by_name(self, module, name, function=None):
        if self._mime == display.TEXT:
            return pretty.for_type_by_name(module, name, function)
        known = getattr(sys.modules.get(module), name, None)
        return self.for_type(known, function) if isinstance(known, type) else None

    def pop(self, cls, default=None):
        functions = pretty.type_printers if self._mime == display.TEXT else display.registered.get(self._mime, {})
        return functions.pop(cls, default)


class _Formatters(dict):
    def __missing__(self, mime):
        return self.setdefault(mime, _Formatter(mime))


class _DisplayFormatter:
    def __init__(self):
        self.formatters = _Formatters()

    def format(self, value, include=None, exclude=None):
        return display.bundle_of(value, include, exclude) or {}, {}


class _Publisher:
    def publish(self, data, metadata=None, **options):
        display.post({mime: display.as_text(mime, value) for mime, value in data.items()})

    def clear_output(self, wait=False):
        pass


class InteractiveShell:
    """Shell of a notebook, as `get_ipython()` returns it."""

    colors = "nocolor"
    ast_node_interactivity = "last_expr"  # or "all"
    events = _Events()
    config = {}

    def __init__(self, namespace, session):
        import _proofbox_magics as magics

        self.user_ns = self.user_global_ns = namespace
        self.user_module = sys.modules["__main__"]
        self.execution_count = 1
        self.began = frozenset()  # names that are the session's own
        self.display_formatter = _DisplayFormatter()
        self.display_pub = _Publisher()
        self.line_magics, self.cell_magics = dict(magics.LINE), dict(magics.CELL)
        self.automagics = magics.AUTOMATIC
        self._session = session

    def get(self):
        """Returns the shell itself."""
        return self

    # ------------------------------------------------------------ magics

    def run_line_magic(self, name, line, _stack_depth=1):
        function = self.line_magics.get(name)
        if function is None:
            hint = f" (But cell magic `%%{name}` exists, did you mean that instead?)" if name in self.cell_magics else ""
            raise self.usage_error(f"Line magic function `%{name}` not found{hint}.")
        if not getattr(function, "_no_expansion", False):
            line = self.var_expand(line)
        return self._called(function, line)

    def run_cell_magic(self, name, line, cell):
        function = self.cell_magics.get(name)
        if function is None:
            hint = f" (But line magic `%{name}` exists, did you mean that instead?)" if name in self.line_magics else ""
            raise self.usage_error(f"Cell magic `%%{name}` not found{hint}.")
        if not cell and name in self.line_magics:
            hint = f"Did you mean the line magic %{name} (single %)?"
            raise self.usage_error(f"%%{name} is a cell magic, but the cell body is empty. {hint}")
        if not getattr(function, "_no_expansion", False):
            line = self.var_expand(line)
        return self._called(function, line, cell)

    def _called(self, function, *arguments):
        own = getattr(function, "_of_the_shell", False)
        if getattr(function, "needs_local_scope", False):
            return function(*arguments, local_ns=self.user_ns)
        return function(self, *arguments) if own else function(*arguments)

    def magic(self, text):
        name, _, line = text.lstrip("%").partition(" ")
        return self.run_line_magic(name, line)

    def register_magic_function(self, function, magic_kind="line", magic_name=None):
        name = magic_name or function.__name__
        if "line" in magic_kind:
            self.line_magics[name] = function
        if "cell" in magic_kind:
            self.cell_magics[name] = function

    def register_magics(self, *objects):
        for each in objects:
            instance = each(self) if isinstance(each, type) else each
            for name in dir(instance):
                method = getattr(instance, name)
                if kind := getattr(method, "_magic", None):
                    self.register_magic_function(method, *kind)

    def find_line_magic(self, name):
        return self.line_magics.get(name)

    def find_cell_magic(self, name):
        return self.cell_magics.get(name)

    find_magic = find_line_magic

    @staticmethod
    def usage_error(text):
        from IPython.core.error import UsageError

        return UsageError(text)

    # ------------------------------------------------------------ commands

    def command(self, text, capture=False):
        """Runs it in the sandbox's shell: exit code, stdout and stderr, which are empty but for `capture`."""
        display.flush()
        code, out, err, _ = commands.run(text, os.getcwd(), commands.variables(), capture=capture)
        packages.look_again()
        self.user_ns["_exit_code"] = code
        return code, out, err

    def system(self, command):
        command = self.var_expand(command)
        asked = PIP.fullmatch(command)
        if asked:
            return self.run_line_magic("pip", asked[1].strip())
        self.command(command)
        return None

    system_piped = system_raw = system

    def getoutput(self, command, split=True, depth=0):
        command = self.var_expand(command)
        asked = PIP.fullmatch(command)
        if asked and not packages.may_install(asked[1].strip()):
            output = packages.answer(asked[1].strip())
        else:
            _, out, err = self.command(command, capture=True)
            output = (out + err).decode("utf-8", "replace")
        return Lines(output.splitlines()) if split else output

    def var_expand(self, command, depth=0, formatter=None):
        """`{expression}` and `$variable` replaced; as it is where that fails."""
        if not EXPANDED.search(command):
            return command
        try:
            return _Expander(self._names()).expand(command)
        except Exception:
            return command

    def _names(self):
        """Returns the names that the code that asks can see."""
        frame = sys._getframe(1)
        while frame and frame.f_code.co_filename == "<proofbox>":
            frame = frame.f_back
        if frame and frame.f_locals is not self.user_ns:
            return {**self.user_ns, **frame.f_locals}
        return self.user_ns

    # ------------------------------------------------------------ code and variables

    def run_cell(self, raw_cell, store_history=False, silent=False, shell_futures=True):
        """Runs code as a cell within the cell; what it raises is shown on stderr."""
        return self._session.nested(raw_cell)

    def ex(self, code):
        exec(code, self.user_ns)

    def ev(self, expression):
        return eval(expression, self.user_ns)

    def push(self, variables, interactive=True):
        self.user_ns.update(variables if isinstance(variables, dict) else {name: vars(builtins)[name] for name in variables})

    def drop_by_id(self, variables):
        for name, value in variables.items():
            if self.user_ns.get(name) is value:
                del self.user_ns[name]

    def reset(self, new_session=True, aggressive=False):
        for name in list(self.user_ns):
            if name not in self.began:
                del self.user_ns[name]

    def showtraceback(self, *options, **named):
        error = sys.exception()
        if error is not None:
            display.complain(error)

    def set_next_input(self, text, replace=False):
        pass

    def enable_gui(self, gui=None):
        pass

    def enable_matplotlib(self, gui=None):
        return "inline", "inline"

    def set_custom_exc(self, types, handler):
        pass

    def set_custom_completer(self, completer, pos=0):
        pass


class ZMQInteractiveShell(InteractiveShell):
    """Programs know a notebook by this name."""


class _Expander(string.Formatter):
    """`{expression}` as `str.format` has fields, `$name` and `${name}` as shells have variables; `$$` is a dollar."""

    DOLLAR = re.compile(r"\$(?:(\$)|(\w+(?:\.\w+)*)|\{([^{}]*)\})")

    def __init__(self, names):
        self._names = names

    def expand(self, text):
        out = []
        for literal, field, spec, conversion in self._parts(text):
            out.append(self.DOLLAR.sub(self._variable, literal))
            if field is not None:
                value = eval(field, self._names)
                out.append(format(self.convert_field(value, conversion), spec or ""))
        return "".join(out)

    def _parts(self, text):
        try:
            return list(self.parse(text))
        except ValueError:  # braces of the shell's own
            return [(text, None, None, None)]

    def _variable(self, found):
        if found[1]:
            return "$"
        try:
            return str(eval(found[2] or found[3], self._names))
        except Exception:
            return found[0]


class Lines(list):
    """Lines of a command's output, in the ways that notebooks offer them."""

    @property
    def l(self):  # noqa: E743
        return self

    list = get_list = l

    @property
    def n(self):
        return "\n".join(self)

    nlstr = get_nlstr = n

    @property
    def s(self):
        return " ".join(self)

    spstr = get_spstr = s

    @property
    def p(self):
        from pathlib import Path

        return [Path(line) for line in self if os.path.exists(line)]

    paths = get_paths = p

    def grep(self, pattern, prune=False, field=None):
        matches = pattern if callable(pattern) else lambda text: re.search(pattern, text, re.IGNORECASE)

        def text(line):
            if field is None:
                return line
            parts = line.split()
            return parts[field] if -len(parts) <= field < len(parts) else ""

        return Lines(line for line in self if bool(matches(text(line))) != prune)

    def fields(self, *numbers):
        lines = [line.split() for line in self]
        if not numbers:
            return lines
        return Lines(" ".join(line[at] for at in numbers if -len(line) <= at < len(line)) for line in lines)
