"""Magics about code and variables: time, capture, run, list, describe, forget."""

import inspect
import math
import os
import sys
import time

import _proofbox_session as session
from _proofbox_magics import CELL, LINE, _words, cell, line, options

# As long as a measurement of %timeit takes at least; a notebook's are ten times as long, but that is fuel here.
MEASURED_SECONDS = 0.02
HIDDEN = frozenset({"In", "Out", "exit", "quit", "get_ipython"})
SHOWN = 50  # characters of a value in %whos


# ---------------------------------------------------------------- time


def in_words(seconds, digits=3):
    """A duration for people."""
    if seconds >= 60:
        parts = []
        for suffix, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
            count, seconds = divmod(seconds, length)
            if count:
                parts.append(f"{int(count)}{suffix}")
            if seconds < 1:
                break
        return " ".join(parts)
    order = min(-int(math.floor(math.log10(seconds)) // 3), 3) if seconds > 0 else 3
    return f"{seconds * 1000**order:.{digits}g} {('s', 'ms', 'μs', 'ns')[order]}"


@line("time", expand=False)
def time_line(shell, text):
    return _timed(text, 0)


@cell("time", expand=False)
def time_cell(shell, text, body):
    if text.strip() and body:
        raise shell.usage_error("Can't use statement directly after '%%time'!")
    return _timed(body or text, 1)


def _timed(source, offset):
    code = session.compile_nested(source, offset)
    wall, cpu = time.time(), time.process_time()
    try:
        return session.run_nested(code)
    finally:
        cpu, wall = in_words(time.process_time() - cpu), in_words(time.time() - wall)
        print(f"CPU times: user {cpu}, sys: 0 ns, total: {cpu}\nWall time: {wall}")


class TimeitResult:
    """Measurements of %timeit, in seconds."""

    def __init__(self, loops, runs, precision):
        self.loops, self.repeat, self.all_runs, self._precision = loops, len(runs), runs, precision
        self.timings = [seconds / loops for seconds in runs]
        self.best, self.worst = min(self.timings), max(self.timings)
        self.compile_time = 0.0

    @property
    def average(self):
        return math.fsum(self.timings) / len(self.timings)

    @property
    def stdev(self):
        mean = self.average
        return math.sqrt(math.fsum((each - mean) ** 2 for each in self.timings) / len(self.timings))

    def __str__(self):
        mean, deviation = in_words(self.average, self._precision), in_words(self.stdev, self._precision)
        runs = f"{self.repeat} run{'s' * (self.repeat != 1)}, {self.loops:,} loop{'s' * (self.loops != 1)} each"
        return f"{mean} ± {deviation} per loop (mean ± std. dev. of {runs})"

    def _repr_pretty_(self, printer, cycle):
        printer.text(f"<TimeitResult : {self}>")


@line("timeit", expand=False)
def timeit_line(shell, text):
    found, statement = options(shell, text, "n:r:p:tcqov:", "timeit")
    return _measured(shell, found, statement, "pass")


@cell("timeit", expand=False)
def timeit_cell(shell, text, body):
    found, setup = options(shell, text, "n:r:p:tcqov:", "timeit")
    return _measured(shell, found, body, setup or "pass")


def _measured(shell, found, statement, setup):
    import timeit

    if not statement.strip():
        return None
    timer = timeit.Timer(statement, setup, time.process_time if "c" in found else time.perf_counter, shell.user_ns)
    loops = int(found.get("n", 0))
    if loops < 1:
        for power in range(10):
            loops = 10**power
            if timer.timeit(loops) >= MEASURED_SECONDS:
                break
    result = TimeitResult(loops, timer.repeat(int(found.get("r", 7)), loops), int(found.get("p", 3)))
    if "q" not in found:
        if result.worst > 4 * result.best > 0 and result.worst > 1e-6:
            print(
                f"The slowest run took {result.worst / result.best:0.2f} times longer than the fastest. "
                "This could mean that an intermediate result is being cached."
            )
        print(result)
    return result if "o" in found else None


@line("prun", expand=False)
def prun(shell, text):
    _profiled(text, 0)


@cell("prun", expand=False)
def prun_cell(shell, text, body):
    _profiled(body, 1)


def _profiled(source, offset):
    import cProfile
    import pstats

    code, profile = session.compile_nested(source, offset), cProfile.Profile()
    try:
        profile.runcall(session.run_nested, code)
    finally:
        pstats.Stats(profile).sort_stats("time").print_stats(30)


# ---------------------------------------------------------------- running


@cell("capture", expand=False)
def capture(shell, text, body):
    from _proofbox_capture import capture_output

    words = _words(text)
    wanted = [f"--no-{what}" not in words for what in ("stdout", "stderr", "display")]
    names = [word for word in words if not word.startswith("--")]
    code = session.compile_nested(body, 1)
    with capture_output(*wanted) as captured:
        if names:
            shell.user_ns[names[0]] = captured
        value = session.run_nested(code)
        if value is not None:
            sys.displayhook(value)


@line("run")
def run(shell, text):
    found, rest = options(shell, text, "inetm:pdG", "run")
    words = _words(rest)
    if "m" in found:
        import runpy

        return _run_with(shell, [found["m"], *words], lambda: runpy.run_module(found["m"], run_name="__main__"))
    if not words:
        raise shell.usage_error("%run needs the name of a file.")
    path = os.path.expanduser(words[0])
    if not os.path.exists(path) and os.path.exists(path + ".py"):
        path += ".py"
    try:
        with open(path, "rb") as file:
            source = file.read()
    except FileNotFoundError:
        raise Exception(f"File `{words[0]!r}` not found.") from None
    return _run_with(shell, [path, *words[1:]], lambda: _run_file(shell, path, source, found))


def _run_with(shell, arguments, action):
    """Runs `action` as a program with these arguments; its variables are then the session's."""
    before = sys.argv[:], sys.path[:]
    sys.argv[:] = arguments
    sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
    try:
        names = action()
    except SystemExit as error:
        if error.code not in (None, 0):
            raise
        names = {}
    finally:
        sys.argv[:], sys.path[:] = before
    shell.user_ns.update({name: value for name, value in (names or {}).items() if not name.startswith("__")})


def _run_file(shell, path, source, found):
    import types

    code = compile(source, path, "exec", dont_inherit=True)
    if "i" in found:
        exec(code, shell.user_ns)
        return {}
    module = types.ModuleType("__main__" if "n" not in found else os.path.splitext(os.path.basename(path))[0])
    names = vars(module)
    names["__file__"] = path
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        exec(code, names)
    finally:
        sys.modules["__main__"] = before
        # The functions that stay need their names for as long as they are there.
        shell._modules_run = [*getattr(shell, "_modules_run", ())[-9:], module]
    return names


# ---------------------------------------------------------------- variables


def _variables(shell, text):
    kinds = set(text.split())
    names = (name for name in shell.user_ns if not name.startswith("_") and name not in HIDDEN)
    return sorted(name for name in names if not kinds or type(shell.user_ns[name]).__name__ in kinds)


def _said_that_there_are_none(names, text):
    if not names:
        print("No variables match your requested type." if text.strip() else "Interactive namespace is empty.")
    return not names


@line("who_ls")
def who_ls(shell, text):
    return _variables(shell, text)


@line("who")
def who(shell, text):
    names = _variables(shell, text)
    if _said_that_there_are_none(names, text):
        return
    for count, name in enumerate(names, 1):
        print(f"{name}\t", end=" ")
        if count % 9 == 0:
            print()
    print()


@line("whos")
def whos(shell, text):
    names = _variables(shell, text)
    if _said_that_there_are_none(names, text):
        return
    rows = [(name, type(shell.user_ns[name]).__name__, shell.user_ns[name]) for name in names]
    wide = max(len("Variable"), *(len(name) for name, _, _ in rows)) + 3
    kinds = max(len("Type"), *(len(kind) for _, kind, _ in rows)) + 3
    print(f"{'Variable':<{wide}}{'Type':<{kinds}} Data/Info\n{'-' * (wide + kinds + 10)}")
    for name, kind, value in rows:
        print(f"{name:<{wide}}{kind:<{kinds}} {_summary(kind, value)}")


def _summary(kind, value):
    if kind in ("dict", "list", "tuple"):
        return f"n={len(value)}"
    if kind in ("DataFrame", "Series"):
        return f"Shape: {value.shape}"
    try:
        text = str(value).replace("\n", "\\n")
    except Exception:
        return f"<object with id {id(value)} (str() failed)>"
    return text if len(text) < SHOWN else f"{text[:25]}<...>{text[-25:]}"


@line("reset")
def reset(shell, text):
    if "-f" not in text.split():
        # It would ask, and there is nobody to answer.
        from IPython.core.error import StdinNotImplementedError

        raise StdinNotImplementedError("raw_input was called, but this frontend does not support input requests.")
    shell.reset()
    session.forget_results()


@line("reset_selective")
def reset_selective(shell, text):
    import re

    pattern = next((word for word in text.split() if not word.startswith("-")), "")
    for name in [name for name in _variables(shell, "") if re.search(pattern, name)]:
        del shell.user_ns[name]


@line("xdel")
def xdel(shell, text):
    shell.user_ns.pop(text.split()[-1], None)


@line("history", "hist", "recall")
def history(shell, text):
    print("\n".join(source for source in session.history[1:-1] if source))


@line("precision")
def precision(shell, text):
    form = text.strip()
    form = f"%.{form}f" if form.isdigit() else form or "%r"

    def write(value, printer, cycle):
        printer.text(form % value)

    shell.display_formatter.formatters["text/plain"].for_type(float, write)
    return form


# ---------------------------------------------------------------- help


@line("pinfo", expand=False)
def pinfo(shell, text):
    _describe(shell, text, False)


@line("pinfo2", expand=False)
def pinfo2(shell, text):
    _describe(shell, text, True)


@line("psearch", expand=False)
def psearch(shell, text):
    import builtins
    import fnmatch

    prefix, _, pattern = text.strip().rpartition(".")
    names = dir(eval(prefix, shell.user_ns)) if prefix else {*shell.user_ns, *vars(builtins)}
    found = sorted(fnmatch.filter(names, pattern))
    print("\n".join(f"{prefix}.{name}" if prefix else name for name in found))


@line("pdoc", "pdef", "psource", "pfile", expand=False)
def pdoc(shell, text):
    _describe(shell, text, True)


def _describe(shell, name, with_source):
    name = name.strip()
    if not name:
        return
    if name.startswith("%"):
        function = LINE.get(name.lstrip("%")) or CELL.get(name.lstrip("%"))
        print(inspect.getdoc(function) or name if function else f"Object `{name}` not found.")
        return
    try:
        value = eval(name, shell.user_ns)
    except Exception:
        print(f"Object `{name}` not found.")
        return
    rows = []
    is_class = isinstance(value, type)
    if callable(value):
        try:
            rows.append(("Init signature:" if is_class else "Signature:", f"{name.rpartition('.')[2]}{inspect.signature(value)}"))
        except (TypeError, ValueError):
            pass
    if not is_class and not callable(value):
        rows += [("Type:", type(value).__name__), ("String form:", _summary("", value))]
        if hasattr(value, "__len__"):
            rows.append(("Length:", str(len(value))))
    source = _source(value) if with_source else None
    if source:
        rows.append(("Source:", "\n" + source.rstrip()))
    else:
        document = inspect.getdoc(value)
        rows.append(("Docstring:", f"\n{document}" if document and "\n" in document else document or "<no docstring>"))
    if callable(value):
        rows.append(("Type:", type(value).__name__))
    wide = max(len(title) for title, _ in rows) + 1
    print("\n".join(f"{title}{text}" if text.startswith("\n") else f"{title:<{wide}}{text}" for title, text in rows))


def _source(value):
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        return None
