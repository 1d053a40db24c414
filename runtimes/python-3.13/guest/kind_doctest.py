"""Examples in the snippet's docstrings: each is a case.

Both the examples and what they are to print are the candidate's own words: a pass says that its documentation is true
of its code, not that the code does what somebody else asked for. The docstrings are read from the source text, so that
what the code does to its `__doc__` changes nothing. The examples themselves run in the interpreter of the tests, which
holds nothing in this kind that their author did not write."""

import __future__
import ast
import doctest
import io
import sys
import traceback

import _proofbox_grading as grading
import _proofbox_report as report


class Doctests:
    def __init__(self, request):
        code = request.get("code")
        self.source = report.snippet if code is None else code
        self.names = None

    def run(self, candidate, cases):
        try:
            tree = ast.parse(self.source)
            examples = list(_examples(tree))
            if not examples:
                raise grading.NoTests("there is no example in the docstrings")
        except BaseException as error:
            self.names = ["doctest"]
            return grading.failed_to_load(candidate, cases, "doctest", error)
        self.names = grading.unique(f"{name}:{line}" for name, line, _ in examples)
        cases.plan(self.names)

        flags = _future_flags(tree)
        failures, docstring, stale = 0, None, False
        for index, (name, _, example) in enumerate(examples):
            cases.begin(index)
            error = None
            try:
                if stale:
                    candidate.fresh()
                if stale or name != docstring:
                    namespace, docstring = dict(grading.namespace_of(candidate)), name
                    namespace.setdefault("__name__", "__main__")
                if isinstance(example, Exception):
                    raise example
                options = _options(example)
                if options & doctest.SKIP:
                    cases.skip("the example is marked with SKIP")
                    continue
                _run(example, f"<doctest {self.names[index]}>", namespace, options, flags)
            except BaseException as caught:
                error = caught
            stale = candidate.gone() is not None
            failures += cases.end(error)
        return 1 if failures else 0


# ---------------------------------------------------------------- which examples there are


def _examples(tree):
    """(name, line, example, or the exception that its docstring can't be read for)"""
    for name, docstring in sorted(_docstrings(tree)):
        text, line = docstring.value, docstring.lineno
        try:
            examples = doctest.DocTestParser().get_examples(text, name)
        except ValueError as error:
            yield name, line, error
            continue
        for example in examples:
            yield name, line + example.lineno, example


def _docstrings(tree):
    """By name, those that doctest would find in the module once it has run: of equal names the last one."""
    found = {"<module>": tree}
    found.update(_definitions(tree.body, ""))
    for name, node in found.items():
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str:
            yield name, first.value


def _definitions(body, prefix):
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            # A property's docstring is its getter's.
            if not any(isinstance(d, ast.Attribute) and d.attr in ("setter", "deleter") for d in node.decorator_list):
                yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield prefix + node.name, node
            yield from _definitions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
            for field in ("body", "handlers", "orelse", "finalbody"):
                for part in getattr(node, field, ()):
                    yield from _definitions(part.body if isinstance(part, ast.ExceptHandler) else [part], prefix)


def _future_flags(tree):
    names = [
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for alias in node.names
    ]
    flags = 0
    for name in names:
        flags |= getattr(__future__, name).compiler_flag
    return flags


# ---------------------------------------------------------------- one example


class _Output(io.StringIO):
    def getvalue(self):
        """Returns the output, ended by a newline: without that it could not be said in a docstring."""
        text = super().getvalue()
        return text if not text or text.endswith("\n") else text + "\n"


def _options(example):
    options = 0
    for flag, on in example.options.items():
        options = options | flag if on else options & ~flag
    return options


def _run(example, filename, namespace, options, flags):
    """Returns if the example did what it says; else raises what it raised, or an AssertionError with the difference."""
    grading.quotable(filename, example.source)
    checker, raised = doctest.OutputChecker(), None
    stdout, displayhook, sys.stdout, sys.displayhook = sys.stdout, sys.displayhook, _Output(), sys.__displayhook__
    output = sys.stdout
    try:
        exec(compile(example.source, filename, "single", flags, dont_inherit=True), namespace)
    except BaseException as error:
        raised = error
    finally:
        sys.stdout, sys.displayhook = stdout, displayhook
    got = output.getvalue()
    if raised is None:
        agrees = checker.check_output(example.want, got, options)
    elif example.exc_msg is None:
        raise raised
    else:
        message = _message(raised)
        got += "Traceback (most recent call last):\n    ...\n" + message
        agrees = checker.check_output(example.exc_msg, message, options) or (
            options & doctest.IGNORE_EXCEPTION_DETAIL
            and checker.check_output(_without_details(example.exc_msg), _without_details(message), options)
        )
    if not agrees:
        raise AssertionError(f"{example.source}{checker.output_difference(example, got, options)}".rstrip())


def _message(error):
    """The last lines of a traceback, which are what is compared."""
    lines = traceback.format_exception_only(error)
    if isinstance(error, SyntaxError):
        # Where in the source it was comes before.
        kind = type(error)
        prefixes = (f"{kind.__qualname__}:", f"{kind.__module__}.{kind.__qualname__}:")
        start = next((at for at, line in enumerate(lines) if line.startswith(prefixes)), 0)
        lines = lines[start:]
    return "".join(lines)


def _without_details(message):
    """The name of the exception's class, without module and message."""
    return message.partition("\n")[0].partition(":")[0].rpartition(".")[2]
