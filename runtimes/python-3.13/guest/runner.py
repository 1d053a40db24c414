"""Carries out one request in a fresh interpreter (or, in a session, the next one).

The host hands over a dict (crates/runtime/src/guest.rs); what happens is told to it by messages, as it happens, so that
nothing is lost when the guest is stopped:

    ("plan", [names])                    the cases that will be run
    ("started",)                         the snippet begins; only where the use of time or entropy is asked for
    ("compiled", bool)                   the snippet parsed, and ran to its end
    ("case_begin", index), ("case_end", index, status, error or None)
    ("signals", [names]), ("inexpressible", what)   of the tests' own interpreter (grader.py)
    ("basis", values, handles)           results that crossed as values, and requests that objects answered
    ("result", value)
    ("error", (class, type, message, line, frames))   the exception that ended the snippet, or the tests as a whole;
                                         perhaps with a sixth field: paths that it is about (report.py)

Status and error of a case as the candidate's own interpreter tells them are the candidate's word (`in_process`)."""

import atexit
import builtins
import gc
import linecache
import logging
import os
import re
import sys
import types
import weakref

import _proofbox
import _proofbox_assignments as assignments
import _proofbox_bridge_warmup as bridge_warmup
import _proofbox_candidate as candidate
import _proofbox_carried as carried
import _proofbox_class_checks as class_checks
import _proofbox_comparisons as comparisons
import _proofbox_environment as environment
import _proofbox_foreign_code as foreign_code
import _proofbox_foreign_files as foreign_files
import _proofbox_grader as grader
import _proofbox_marshal as marshal
import _proofbox_packages as packages
import _proofbox_plotting as plotting
import _proofbox_program as program
import _proofbox_released as released
import _proofbox_report as report
import _proofbox_session as session
import _proofbox_settings as settings
import _proofbox_side as side
import _proofbox_test_kinds as test_kinds
import _proofbox_tests as tests
import _proofbox_threads as threads
import _proofbox_values as values

SNIPPET = report.SNIPPET
TESTS = "/tests"


def prepare():
    """Run once, when the image is made."""
    environment.prepare()
    marshal.know_numpy()
    sys.path[:] = ["/home/user", packages.DIRECTORY]
    # Text goes straight to the byte buffers, where the host finds it when it stops the guest (pending.c).
    sys.stdout.reconfigure(write_through=True)
    sys.stderr.reconfigure(write_through=True)
    main = sys.modules["__main__"].__dict__
    hot = _hot_functions()
    _proofbox.gather(lambda: _copy_code(hot))
    test_kinds.prepare()
    comparisons.prepare()
    carried.prepare()
    class_checks.prepare()
    session.prepare()
    environment.leave_nothing_random()
    vars(builtins).pop("_", None)  # what a display hook leaves
    warm_up(main)
    sys.path_importer_cache.clear()
    _settle_code()
    gc.collect()
    _proofbox.immortalise(gc.get_objects())
    _proofbox.set_interned_aside()
    gc.freeze()
    written.extend(vars(sys.modules[name]) for name in WRITTEN_MODULES)
    written.extend((sys.modules, sys.argv, sys.path, os.environ._data, *session.written))


# Modules that every run, or every session, sets something in, and what else they write to.
WRITTEN_MODULES = (
    "sys", "builtins", "logging", "getpass",
    "_proofbox_environment", "_proofbox_report", "_proofbox_session", "_proofbox_display", "_proofbox_tracebacks",
)  # fmt: skip
written = []

# Modules whose functions run in every run.
HOT_MODULES = ("_proofbox", "os", "linecache", "codecs", "posixpath", "genericpath")
# What of these runs only when something is refused, or only in sessions.
COLD_MODULES = (
    "_proofbox_assignments", "_proofbox_carried", "_proofbox_class_checks", "_proofbox_comparisons", "_proofbox_foreign_code", "_proofbox_foreign_files", "_proofbox_foreign_pickles", "_proofbox_foreign_templates",
    "_proofbox_foreign_text", "_proofbox_loop", "_proofbox_packages", "_proofbox_places", "_proofbox_plotting", "_proofbox_processes", "_proofbox_program",
    "_proofbox_attributes", "_proofbox_faces", "_proofbox_released", "_proofbox_states", "_proofbox_threads", "_proofbox_unsupported",
)  # fmt: skip
SESSION_MODULES = ("_proofbox_session", "_proofbox_display", "_proofbox_pretty", "_proofbox_tracebacks")


def _hot_functions():
    """Functions that run in every run; behind them, those that run in every cell."""
    functions = [each for each in gc.get_objects() if type(each) is types.FunctionType]
    hot = [each for each in functions if str(each.__module__).startswith(HOT_MODULES) and not str(each.__module__).startswith(COLD_MODULES)]
    return sorted(hot, key=lambda function: str(function.__module__).startswith(SESSION_MODULES))


def _copy_code(hot):
    """Makes the code of functions anew, in one place."""
    for function in hot:
        function.__code__ = _copied(function.__code__)
        _proofbox.give_version(function)
    # What was made and is free again must not wait in a free list for other uses.
    gc.collect()


def _copied(code):
    """The code object and those in it, made anew."""
    return code.replace(co_consts=tuple(_copied(each) if type(each) is types.CodeType else each for each in code.co_consts))


def _settle_code():
    """Ends the adaptation of what is in the image: our own code to what the rehearsals have made of it, other code where it
    can't be specialised anyway. The rest of the library goes on to adapt to each program."""
    for function in gc.get_objects():
        if type(function) is types.FunctionType:
            _settle(function.__code__, str(function.__module__).startswith("_proofbox"))


def _settle(code, specialised):
    _proofbox.settle(code, specialised)
    for each in code.co_consts:
        if type(each) is types.CodeType:
            _settle(each, specialised)


WARM_UP = """
import sys
def add(a, b):
    total = a + b
    return total
class Point:
    def __init__(self, x):
        self.x = x
print(add(1, 2), f"{Point(3).x}", [i for i in range(3)])
"""
WARM_UP_TESTS = (
    None,
    {"kind": "asserts", "setup": "", "asserts": ["assert add(1, 2) == 3", "assert add(1, 1) == 3"]},
    {"kind": "check_function", "source": "def check(f):\n    assert f(1, 2) == 3\n    for i in range(2):\n        assert f(i, i) == 2 * i\n", "entry_point": "add"},
    {"kind": "script", "source": "assert add(1, 2) == 3\n"},
)


def warm_up(main):
    """Runs what every run runs until the interpreter has specialised it (PEP 659): bytecode that still adapts writes to
    itself, and so to the image."""
    clean = dict(main)
    for round in range(32):
        for wanted in WARM_UP_TESTS:
            code = WARM_UP + ("1 / 0\n" if wanted is None and round % 2 else "")
            run({"code": code.encode(), "args": [], "env": {}, "result": None, "tests": wanted, "seed": None, "role": None, "module": None})
            main.clear()
            main.update(clean)
        bridge_warmup.play(run, main)
        main.clear()
        main.update(clean)
        session.rehearse(run)
        main.clear()
        main.update(clean)
        environment._started = False
    linecache.clearcache()
    # The library registers again what it needs (weakref.finalize), or has nothing to end (multiprocessing); logging is
    # seen to by _finish.
    atexit._clear()
    weakref.finalize._registered_with_atexit = False


def run(request):
    """Returns the exit code that a shell would see."""
    if "cell" in request:
        return session.cell(request)
    if "program" in request:
        return _finish(program.run(request))
    role = request["role"]
    environment.start(request["env"], request["seed"])
    report.snippet = request["code"]
    if role == "grader":
        return _grade(request)
    sys.argv[:] = [SNIPPET, *request["args"]]
    main = sys.modules["__main__"].__dict__
    main["__file__"] = SNIPPET
    main["__cached__"] = None
    if request["module"]:
        main["__name__"] = request["module"]
        sys.modules[request["module"]] = sys.modules["__main__"]
    plan = tests.plan(request["tests"])
    cases = tests.Cases()
    if plan and plan.names:
        cases.plan(plan.names)
    if "report_use" in request:
        _proofbox.post(("started",))
    if role == "candidate" and settings.registers(snippet := request["code"].decode("utf-8", "replace")):
        settings.record(snippet)
    exit_code = _snippet(request, main)
    if exit_code is None and role == "candidate":
        candidate.serve(main)
    if plan and exit_code is None:
        plan.run(tests.InProcess(main, request["module"]), cases)
        exit_code = 1 if cases.failures else 0
    return _finish(exit_code or 0)


_ASKS_IDENTITY = re.compile(r"(?<![\w.])id\(")


def _grade(request):
    """In the tests' own interpreter: the candidate is in another one (bridge.py)."""
    sys.path[:] = [TESTS, packages.DIRECTORY]
    sys.argv[:] = [TESTS]
    plan = tests.plan(request["tests"])
    cases = tests.Cases()
    if plan.names:
        cases.plan(plan.names)
    other = grader.connect(request["module"] or "solution", request["modules"])
    cases.candidate = other
    texts = list(_texts(request["tests"]))
    text = "\n".join(texts)
    other.watch(text)
    plotting.watch(text)
    _keep_from_candidate(text)
    foreign_files.watch(request["tests"], text)
    foreign_code.watch(request["tests"]["kind"], texts)
    assignments.watch(other, text)
    class_checks.watch(text)
    carried.watch(text)
    released.watch(text, request["code"])
    # In bytes, `in` costs an exception each time.
    snippet = request["code"].decode("utf-8", "replace")
    other.watch_snippet(text, snippet)
    if "weakref" in snippet or "weakref" in text:
        other.lent_objects, other.watched = released.Given(), [*other.watched, "weak"]
    if "global" in snippet:
        other.rebound = grader.declared_globals(snippet)
    if "id(" in snippet and _ASKS_IDENTITY.search(snippet):
        other.watched = [*other.watched, "identity"]
    other.attends = (
        threads.may_start(text) or "async" in text or other.assigned is not None or other.builtins is not None
        or side.state.make_handles is not dict or other.places.are_contexts_told or other.followed is not None or other.loggers is not None
        or other.lent_objects is not None
    )  # fmt: skip
    other.load()
    # A snippet that can't be imported has no tests to pass; how it failed the host knows from itself. But how many
    # there are may be known only when they are loaded.
    if not other.gone() or not plan.names:
        try:
            plan.run(other, cases)
        except BaseException as error:
            cases.failures += 1
            _proofbox.post(("error", report.describe(error)))
    if foreign_code.is_rewritten(request["code"], text):
        side.signal("source_rewritten")
    _proofbox.post(("basis", side.state.values, side.state.handles))
    if side.state.signals:
        _proofbox.post(("signals", list(side.state.signals)))
    return 1 if cases.failures else 0


def _keep_from_candidate(text):
    """Moves what libraries of tests keep on disk to where the candidate does not write."""
    if "hypothesis" in text:
        # Without the tests' folder, whose files are not all there yet, and would be remembered so.
        path, sys.path[:] = sys.path[:], [packages.DIRECTORY]
        from hypothesis import configuration

        configuration.set_hypothesis_home_dir(TESTS + "/.hypothesis")
        sys.path[:] = path


def _texts(tests):
    """Iterates over all text in the description of tests: which of their interpreter's state they look at shows in
    it."""
    if type(tests) is str:
        yield tests
    elif type(tests) is bytes:
        yield tests.decode("utf-8", "replace")
    elif type(tests) is list:
        for each in tests:
            yield from _texts(each)
    elif type(tests) is dict:
        for key, each in tests.items():
            if key not in ("calls",):
                yield from _texts(each)


def _snippet(request, main):
    """Runs the snippet. Returns None when it ran to its end, else the exit code."""
    result = request["result"]
    try:
        code, last = _compile(request["code"], result == "last_expression")
        threads.guarded(types.FunctionType(code, main))
        value = threads.guarded(types.FunctionType(last, main)) if last else None
    except BaseException as error:
        if isinstance(error, MemoryError):
            # To tell of it takes memory: without any, CPython looks for the handler of an error forever, as it can't make
            # the number of the instruction.
            main.clear()
            main.update(__name__="__main__", __builtins__=builtins)
        _proofbox.post(("compiled", False))
        return _ended(error, graded=request["tests"] is not None or request["role"] is not None)
    _proofbox.post(("compiled", True))
    if last:
        values.post(value)
    elif type(result) is dict:
        name = result["variable"]
        if name in main:
            values.post(main[name])
        else:
            _proofbox.post(("error", ("serialization_error", "NameError", f"name {name!r} is not defined", None, [])))
    return None


def _compile(source, split):
    """The snippet's code, and that of its last expression when it is asked for and there is one."""
    if not split:
        return compile(source, SNIPPET, "exec", dont_inherit=True), None
    import ast

    tree = compile(source, SNIPPET, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        return compile(tree, SNIPPET, "exec", dont_inherit=True), None
    last = ast.Expression(tree.body.pop().value)
    return compile(tree, SNIPPET, "exec", dont_inherit=True), compile(last, SNIPPET, "eval", dont_inherit=True)


def _ended(error, graded):
    """Tells the host of the exception that ended the snippet, and stderr as `python3 solution.py` would."""
    if isinstance(error, SystemExit):
        exit_code = report.exit_code_of(error)
        if error.code is not None and not isinstance(error.code, int):
            print(report.text_of(error.code), file=sys.stderr)
        if exit_code or graded:
            _proofbox.post(("error", report.describe(error)))
        # A candidate that leaves before its tests has not passed them.
        return exit_code or (1 if graded else 0)
    described = report.describe(error)
    _proofbox.post(("error", described))
    try:
        sys.excepthook(type(error), error.with_traceback(report.users_traceback(error)), error.__traceback__)
    except BaseException as second:
        try:
            print(f"Error in sys.excepthook: {type(second).__name__}", file=sys.stderr)
            sys.__excepthook__(type(error), error, error.__traceback__)
        except BaseException:
            pass
    return 1


def _stuck(error, exit_code):
    """Tells of threads that never end. Elsewhere the program would not end either."""
    if exit_code == 0:
        _proofbox.post(("error", report.describe(error)))
    try:
        print(f"Threads are left that can't end: {report.text_of(error)}", file=sys.stderr)
    except BaseException:
        pass
    return exit_code or 1


def _finish(exit_code):
    """Ends an interpreter: waits for threads, calls exit functions, and writes out the buffers."""
    if threads.started:
        error = threads.shut_down()
        if error is not None:
            exit_code = _stuck(error, exit_code)
    try:
        atexit._run_exitfuncs()
        # The one handler that is always there writes to stderr at once.
        if len(logging._handlerList) > 1:
            logging.shutdown()
    except SystemExit:
        pass
    except BaseException:
        pass
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    return exit_code
