"""The cells of a session: one interpreter, one namespace, requests one after the other.

As in a notebook: the value of a last expression is shown, top-level `await` waits on one loop that stays, whatever a cell
raises is told and survived. IPython with ipykernel is the reference; tests/sessions compares with it.

What is told to the host, besides what cells write to stdout and stderr:

    ("display", {mime: text}, main)     a rich result; `main` for the value of the last expression (display.py)
    ("result", value)                   that value as data, where it is asked for
    ("raised", class, name, value, traceback, line or None, frames)     perhaps with paths that it is about (report.py)"""

import ast
import asyncio
import builtins
import getpass
import os
import pathlib
import sys
import types
from asyncio import events

import _proofbox
import _proofbox_display as display
import _proofbox_environment as environment
import _proofbox_figures as figures
import _proofbox_packages as packages
import _proofbox_report as report
import _proofbox_threads as threads
import _proofbox_tracebacks as tracebacks
import _proofbox_values as values

# Values that `Out` and `_1`, `_2`, ... hold.
OUT_LIMIT = 200
# Of the loop, at the end of a cell, with tasks that are ready: enough for what a cell has begun, and not for ever.
TURNS = 100
AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
PARSE = ast.PyCF_ONLY_AST | AWAIT
COROUTINE = 0x80  # inspect.CO_COROUTINE
FUTURES = 0x1FE0000  # the flags of __future__: what a cell imports from there holds for the later ones
# One of these is in every line that is no Python but means something in a notebook.
NOTATION = "%!?"

main = None  # the namespace; None before the first cell
shell = None  # what get_ipython() gives
history, results = [""], {}
loop = None
_home = None  # the directory where cells begin
_futures = 0
_lasts = ["", "", ""]  # what `_`, `__` and `___` were made
_inputs = ["", "", ""]
_borrowed = []  # variables of this cell alone, with what they were before
written = (history, _lasts, _inputs)
_notebook_modules = {}


def prepare():
    """Once, when the image is made: the loop is there, and what a first cell would import."""
    global loop, _home
    known = set(sys.modules)
    import _proofbox_kernel  # noqa: F401
    import _proofbox_magics  # noqa: F401
    import _proofbox_ipython_syntax  # noqa: F401
    import IPython.display  # noqa: F401

    # Outside of sessions nobody has imported these.
    for name in [name for name in sys.modules if name not in known and name.partition(".")[0] == "IPython"]:
        _notebook_modules[name] = sys.modules.pop(name)
    loop = asyncio.new_event_loop()
    _home = pathlib.Path.cwd()


def cell(request):
    """Runs a cell; 1 when it raised. It never ends the interpreter."""
    try:
        try:
            if _borrowed or display.capturing:
                _tidy_up()
            if main is None:
                _begin(request)
            if request["env"]:
                environment.start(request["env"], None)
            if request["cell_env"]:
                _set_variables(request["cell_env"])
            try:
                _run(str(request["cell"], "utf-8", "replace"), request["number"], request["value"])
            except Exception:
                figures.flush()
                raise
            figures.flush()
        finally:
            if _borrowed or display.capturing:
                _tidy_up()
            display.flush()
    except BaseException as error:
        # Where an interrupt came in between; or else at the next cell's beginning.
        if _borrowed or display.capturing:
            _tidy_up()
        _tell(error)
        return 1
    return 0


def _tidy_up():
    """Ends what was meant for one cell."""
    while display.capturing:
        display.end_capture()
    _restore_variables()


def _begin(request):
    """Makes the interpreter a session's."""
    global main, shell
    from _proofbox_kernel import ZMQInteractiveShell

    sys.stdout.reconfigure(line_buffering=True)
    sys.stderr.reconfigure(line_buffering=True)
    environment.start({}, request["seed"])
    sys.argv[:] = [""]
    sys.path[:] = ["", packages.user_directory(), packages.DIRECTORY]
    namespace = sys.modules["__main__"].__dict__
    namespace.pop("__file__", None)
    namespace.pop("__cached__", None)
    sys.modules.update(_notebook_modules)
    display.session = True
    figures.prepare()
    shell = ZMQInteractiveShell(namespace, sys.modules[__name__])
    builtins.display, builtins.get_ipython, builtins.__IPYTHON__ = display.display, shell.get, True
    builtins.input, getpass.getpass = _input, _getpass
    sys.ps1, sys.ps2, sys.ps3 = "In : ", "...: ", "Out: "
    sys.displayhook = displayhook
    namespace.update(
        {"In": history, "Out": results, "_ih": history, "_oh": results, "_": "", "__": "", "___": "", "_i": "", "_ii": "", "_iii": ""}
    )
    namespace["get_ipython"] = shell.get
    namespace["__doc__"] = "Automatically created module for IPython interactive environment"
    shell.began = frozenset(namespace)
    main = namespace
    folder = _home
    if request["cwd"] is not None:
        os.chdir(request["cwd"])
        folder = pathlib.Path.cwd()
    namespace["_dh"] = [folder]


def _input(prompt="", /):
    _nobody_answers("raw_input")


def _getpass(prompt="", stream=None):
    _nobody_answers("getpass")


def _nobody_answers(name):
    from IPython.core.error import StdinNotImplementedError

    raise StdinNotImplementedError(f"{name} was called, but this frontend does not support input requests.")


# ---------------------------------------------------------------- one cell


def _run(source, number, wanted):
    if "\r" in source:
        source = source.replace("\r\n", "\n").replace("\r", "\n")
    name = tracebacks.name_of_cell(number)
    # A module that a cell has written since is found, and a warning of this cell is no repetition of another's.
    packages.look_again()
    main.pop("__warningregistry__", None)
    shell.execution_count = number
    # As notebooks have it: a loop runs while a cell does, and tasks that it left go on.
    _enter_loop()
    try:
        if loop._scheduled or loop.can_go_on():
            _turn(1)
        body, last = _compile(source, name, number)
        if body:
            _execute(body)
        if last:
            value = _execute(last)
            if value is not None:
                sys.displayhook(value)
            if wanted is True:
                display.flush()
                values.post(value)
        if type(wanted) is str:
            display.flush()
            values.post(main[wanted] if wanted in main else _missing(wanted))
        if loop.can_go_on():
            _turn(TURNS)
        threads.settle()
    finally:
        sys.displayhook = displayhook
        _leave_loop()


def _missing(name):
    raise NameError(f"name {name!r} is not defined", name=name)


def _compile(source, name, number):
    """The code of the cell, and that of its last expression, if its value is to be shown."""
    flags = AWAIT | _futures
    for forgotten in tracebacks.keep(name, source):
        _forget_input(int(forgotten[len(report.CELL) : -1]))
    python = source
    try:
        # In these a notebook sees more than Python would: `ls -l` is no subtraction, a prompt no annotation.
        if "\n" not in source and source and _is_magic_word(source) or source.startswith("In ["):
            raise SyntaxError
        tree = compile(source, name, "exec", PARSE | _futures, dont_inherit=True)
    except SyntaxError:
        import _proofbox_ipython_syntax as ipython_syntax

        python = ipython_syntax.as_python(source, shell)
        if python == source:
            raise
        tree = compile(python, name, "exec", PARSE | _futures, dont_inherit=True)
    finally:
        _remember(number, python)
    body = tree.body
    last = None
    if shell.ast_node_interactivity == "all":
        # Each expression is shown, as at Python's own prompt.
        tree = ast.Interactive(body)
        return compile(tree, name, "single", flags, dont_inherit=True) if body else None, None
    if body and type(body[-1]) is ast.Expr and not (";" in python and _is_silenced(python, body[-1])):
        last = compile(ast.Expression(body.pop().value), name, "eval", flags, dont_inherit=True)
    code = compile(tree, name, "exec", flags, dont_inherit=True) if body else None
    if code and code.co_flags & FUTURES:
        _learn(code.co_flags & FUTURES)
    return code, last


def _learn(flags):
    global _futures
    _futures |= flags


def _is_magic_word(line):
    """Returns whether a cell of one line begins with a magic's name, as in `ls` or `cd folder`."""
    word = line.split(None, 1)[0] if line[0] != " " and not line.isspace() else ""
    if word not in shell.automagics or word in main or hasattr(builtins, word):
        return False
    return not line[len(word) :].lstrip().startswith(("=", "(", ".", ","))


def _is_silenced(source, statement):
    """Returns whether a semicolon follows the last statement."""
    line = source.split("\n")[statement.end_lineno - 1].encode()
    return line[statement.end_col_offset :].lstrip().startswith(b";")


def _remember(number, python):
    """`In` and `_i` have the cell as the Python that it is."""
    while len(history) < number:
        history.append("")
    history.append(python)
    main["_iii"], main["_ii"], main["_i"] = _inputs
    _inputs[:] = _inputs[1], _inputs[2], python


def _forget_input(number):
    if number < len(history):
        history[number] = ""


def _execute(code):
    value = threads.guarded(types.FunctionType(code, main))
    return _wait_for(value) if code.co_flags & COROUTINE else value


def compile_nested(source, offset):
    """Compiles what a magic is to run, `offset` lines into the cell: its code, and that of its last expression."""
    import _proofbox_ipython_syntax as ipython_syntax

    name = tracebacks.name_of_cell(shell.execution_count)
    source = "\n" * offset + source
    try:
        tree = compile(source, name, "exec", PARSE | _futures, dont_inherit=True)
    except SyntaxError:
        tree = compile(ipython_syntax.as_python(source, shell), name, "exec", PARSE | _futures, dont_inherit=True)
    last = None
    if tree.body and type(tree.body[-1]) is ast.Expr:
        silenced = _is_silenced(source, tree.body[-1])
        last = compile(ast.Expression(tree.body.pop().value), name, "eval", AWAIT | _futures, dont_inherit=True), silenced
    return compile(tree, name, "exec", AWAIT | _futures, dont_inherit=True), last


def run_nested(codes):
    """The value of the last expression, if there is one that no semicolon follows."""
    code, last = codes
    _execute(code)
    if last is None:
        return None
    value = _execute(last[0])
    return None if last[1] else value


def nested(source):
    """Runs a cell within a cell, as `get_ipython().run_cell()`."""
    from types import SimpleNamespace

    try:
        value, error = run_nested(compile_nested(source, 0)), None
        sys.displayhook(value)
    except Exception as raised:
        value, error = None, raised
        display.complain(raised)
    return SimpleNamespace(result=value, error_in_exec=error, error_before_exec=None, success=error is None)


def forget_results():
    results.clear()
    _lasts[:] = "", "", ""
    main["_"], main["__"], main["___"] = _lasts


# ---------------------------------------------------------------- the loop


def _enter_loop():
    events._set_running_loop(loop)
    loop._thread_id = 1


def _leave_loop():
    loop._thread_id = None
    events._set_running_loop(None)


def _wait_for(coroutine):
    _leave_loop()
    try:
        task = loop.create_task(coroutine, name="cell")
        try:
            return loop.run_until_complete(task)
        except BaseException:
            if not task.done():
                _cancel(task)
            elif not task.cancelled():
                task.exception()  # is known, and need not be logged
            raise
    finally:
        _enter_loop()


def _cancel(task):
    """Cancels a task that waited when it was interrupted, so that it gets to its `finally` clauses."""
    task.cancel()
    try:
        loop.run_until_complete(asyncio.wait([task], timeout=5))
        if task.done() and not task.cancelled():
            task.exception()
    except Exception:
        pass


def _turn(rounds):
    """Lets tasks go on that need not wait."""
    _leave_loop()
    try:
        for _ in range(rounds):
            loop.call_soon(loop.stop)
            loop.run_forever()
            if not loop.can_go_on():
                break
    finally:
        _enter_loop()


# ---------------------------------------------------------------- what comes out


def displayhook(value):
    """Shows the value of a last expression, and keeps it as `_`."""
    if value is None:
        return
    bundle = display.bundle_of(value)
    _keep(value)
    if bundle:
        display.post(bundle, True)


def _keep(value):
    # A name of these that the user has set stays his, and theirs stay as they are then.
    if value is not results:
        a, b, c = _lasts
        if main.get("_", a) is a and main.get("__", b) is b and main.get("___", c) is c:
            _lasts[:] = value, _lasts[0], _lasts[1]
            main["_"], main["__"], main["___"] = _lasts
    number = shell.execution_count
    main[f"_{number}"] = results[number] = value
    if len(results) > OUT_LIMIT:
        oldest = next(iter(results))
        del results[oldest]
        main.pop(f"_{oldest}", None)


def _tell(error):
    """Tells what a cell raised. An interrupt that comes meanwhile is what it raised then."""
    message = None
    for _ in range(3):
        try:
            display.flush()
            message = _told(error)
            break
        except BaseException as another:
            error = another
    # In one step of the interpreter's, so that it is known whether an interrupt came before or after.
    told = []
    while not told:
        try:
            told.extend(map(_proofbox.post, (message or _in_short(error),)))
        except KeyboardInterrupt:
            pass
        except BaseException:
            if message is None:
                return
            message = None  # something in it is no plain data


def _in_short(error):
    name = display.exact(tracebacks.name_of(error))
    value = report.text_of(error, report.ANY_LENGTH)
    return ("raised", "exception", name, value, f"{name}: {value}", None, [])


def _told(error):
    name = display.exact(tracebacks.name_of(error))
    tracebacks.realise(error)
    try:
        failure, _, _, line, frames, *paths = report.describe(error)
    except Exception:  # its class answers with errors of its own
        failure, line, frames, paths = "exception", None, [], []
    try:
        text = tracebacks.text_of(error)
    except Exception as another:
        text = f"{name}: (its traceback can't be shown: {type(another).__name__})"
    if name == "UsageError" and type(error).__module__ == "IPython.core.error":
        print(text, file=sys.stderr)
        display.flush()
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, tracebacks.traceback_of(error)
    sys.last_exc = error
    return ("raised", failure, name, report.text_of(error, report.ANY_LENGTH), text, line, frames, *paths)


# ---------------------------------------------------------------- variables of one cell


def _set_variables(variables):
    environ = os.environ
    for name, value in variables.items():
        _borrowed.append((name, environ._data.get(environ.encodekey(name))))
        environ[name] = value


def _restore_variables():
    environ = os.environ
    for name, value in _borrowed:
        if value is not None:
            environ[name] = environ.decodevalue(value)
        elif environ.encodekey(name) in environ._data:
            del environ[name]
    _borrowed.clear()


# ---------------------------------------------------------------- when the image is made


REHEARSED = (
    "x = 1",
    "x + 1",
    "import math\ndef area(r):\n    return math.pi * r**2\nprint(area(2))\narea(3)",
    "class P:\n    def __init__(self, v):\n        self.v = v\n    def _repr_html_(self):\n        return f'<b>{self.v}</b>'\ndisplay(P(1))\nP(2)",
    "[1, 'a', {'b': [None, 2.5]}]",
    "{'a': list(range(40)), 'b': {'c': {3, 1, 2}}}",
    "'text';",
    "import asyncio\nawait asyncio.sleep(0)\n_",
    "for i in range(3): print(i)",
    "area('a')",
    "missing",
    "def broken(:",
    "    a = 2\n    a * 21",
    "%pwd",
)


def rehearse(run):
    """Runs one round of cells, for the interpreter to specialise what every cell does. Leaves nothing behind."""
    post, _proofbox.post = _proofbox.post, lambda *message: None
    before = sys.argv[:], sys.path[:], dict(vars(builtins)), sys.displayhook
    reads = getpass.getpass
    for number, source in enumerate(REHEARSED, 1):
        variables = {"REHEARSED": "1"} if number % 2 else {}
        run({"cell": source.encode(), "number": number, "env": {}, "cell_env": variables, "cwd": None, "seed": None, "value": True})
    _proofbox.post = post
    sys.argv[:], sys.path[:], own, sys.displayhook = before
    for name in vars(builtins).keys() - own.keys():
        delattr(builtins, name)
    builtins.input, getpass.getpass = own["input"], reads
    # As Python has them where they lead to no terminal.
    sys.stdout.reconfigure(line_buffering=False)
    sys.stderr.reconfigure(line_buffering=True)
    _forget()


def _forget():
    global main, shell, _futures
    main = shell = None
    _futures = 0
    history[:] = [""]
    results.clear()
    _lasts[:] = _inputs[:] = "", "", ""
    tracebacks.forget()
    display.session = False
    for name in _notebook_modules:
        sys.modules.pop(name, None)
    for name in ("last_type", "last_value", "last_traceback", "last_exc", "ps1", "ps2", "ps3"):
        vars(sys).pop(name, None)
