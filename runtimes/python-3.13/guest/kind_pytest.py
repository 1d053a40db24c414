"""Tests of the real pytest: a case is an item that it collects.

Nothing but the grader's files below /tests configures it: no ini file, conftest or environment variable of the
candidate's. An interpreter that has ended takes the test modules with it that hold its objects, so the cases left over
are collected again, and run in a session of their own."""

import functools
import inspect
import io
import os
import re
import sys
import types

import _proofbox_grading as grading
import _proofbox_report as report
import _proofbox_side as side
import _proofbox_threads as threads


def _import_pytest():
    """pytest colours with pygments, which is no part of the image: names suffice to import it, and `_highlight` brings the
    real ones where something is to be coloured."""
    names = ("pygments", "formatters", "formatters.terminal", "lexer", "lexers", "lexers.diff", "lexers.python", "util")
    stand_ins = {"pygments": types.ModuleType("pygments")}
    for name in names[1:]:
        module = stand_ins[f"pygments.{name}"] = types.ModuleType(f"pygments.{name}")
        parent, _, child = module.__name__.rpartition(".")
        setattr(stand_ins[parent], child, module)
    stand_ins["pygments.formatters.terminal"].TerminalFormatter = None
    stand_ins["pygments.lexer"].Lexer = None
    stand_ins["pygments.lexers.diff"].DiffLexer = None
    stand_ins["pygments.lexers.python"].PythonLexer = None
    sys.modules.update(stand_ins)
    try:
        import pytest

        return pytest
    finally:
        for name in stand_ins:
            del sys.modules[name]


pytest = _import_pytest()
import _proofbox_border as border  # noqa: E402
import _proofbox_outputs as outputs  # noqa: E402
from _pytest import capture, outcomes, runner, tmpdir  # noqa: E402
from _pytest._io import TerminalWriter, terminalwriter  # noqa: E402
from _pytest.assertion.rewrite import AssertionRewritingHook  # noqa: E402
from _pytest.config import ConftestImportFailure, _prepareconfig  # noqa: E402

border.TELLING += (outcomes.OutcomeException,)
_WRITER = TerminalWriter(io.StringIO())
FILE = "test_solution.py"
TEMPORARY = "/tmp/pytest"
# What each does, costs, or needs of a system, is no use here: caches, descriptors, threads, and collections of garbage
# at the end of each session.
WITHOUT = ("cacheprovider", "faulthandler", "pastebin")
# Nor these, unless the tests' settings may make errors of what they warn of.
WITHOUT_WARNINGS = ("threadexception", "unraisableexception")
# Nor these, but for their options, which the grader's settings may have.
WITHOUT_SETTINGS = ("doctest", "junitxml", "setuponly", "setupplan", "terminal")
OPTIONS = ["--disable-plugin-autoload", "--continue-on-collection-errors", "--capture=no"]
INI_FILES = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")

# ---------------------------------------------------------------- pytest as programs call it


def _highlight(self, source, lexer="python"):
    if not source or not self.hasmarkup or not self.code_highlight:
        return source
    try:
        import pygments
        from pygments.formatters.terminal import TerminalFormatter
        from pygments.lexers.diff import DiffLexer
        from pygments.lexers.python import PythonLexer
    except ImportError:  # an image without it
        return source
    vars(terminalwriter).update(
        pygments=pygments, TerminalFormatter=TerminalFormatter, DiffLexer=DiffLexer, PythonLexer=PythonLexer
    )
    TerminalWriter._highlight = _highlight_with_pygments
    return self._highlight(source, lexer)


_highlight_with_pygments = TerminalWriter._highlight
TerminalWriter._highlight = _highlight
def _make_temporary(request, factory):
    """The directory of `tmp_path`, named after the function alone: parameters may be what is expected."""
    return factory.mktemp(re.sub(r"\W", "_", getattr(request.node, "originalname", None) or request.node.name.partition("[")[0])[:30])


def _tell_of_current_test(item, when):
    """The environment's word for which test runs, without its parameters."""
    if when is None:
        os.environ.pop("PYTEST_CURRENT_TEST", None)
    else:
        os.environ["PYTEST_CURRENT_TEST"] = f"{item.nodeid.partition('[')[0]} ({when})".replace("\0", "(null)")


runner._update_current_test_var = _tell_of_current_test
tmpdir._mk_tmp = _make_temporary
# Files are nobody's here, and the directories of `tmp_path` no less the user's for that.
tmpdir.get_user_id = lambda: None


# ---------------------------------------------------------------- tests of a run


class PyTests:
    def __init__(self, request):
        self.source = request.get("source")
        self.files = request.get("files") or {}
        self.module = request.get("module") or "solution"
        self.entry_point = request.get("entry_point")
        self.fresh_per_case = request.get("fresh_per_case")
        self.names = None

    def run(self, candidate, cases):
        path, environment, no_bytecode = list(sys.path), _take_options(), sys.dont_write_bytecode
        sys.dont_write_bytecode = True
        sys.path.insert(0, grading.FOLDER)
        try:
            self._write()
            with grading.Imports(self.module) as imports:
                return self._run(candidate, cases, imports)
        finally:
            _forget_modules()
            sys.path[:], sys.dont_write_bytecode = path, no_bytecode
            os.environ.update(environment)

    def _write(self):
        """The tests' files, unless the host has put them there."""
        files = self.files if self.source is None else {**self.files, FILE: self.source}
        for name, content in files.items():
            path = os.path.join(grading.FOLDER, name)
            if not os.path.exists(path):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as file:
                    file.write(content.encode() if type(content) is str else content)

    def _run(self, candidate, cases, imports):
        run = Run(candidate, cases, self.fresh_per_case, self._text())
        self._session(candidate, run, imports)
        if run.names is None:
            error = run.error or grading.NoTests("pytest has collected no test")
            return grading.failed_to_load(candidate, cases, FILE if self.source is not None else "pytest", error)
        self.names = run.names
        while run.is_left():
            _forget_modules()
            try:
                candidate.fresh()
            except BaseException as error:
                run.fail_next(error)
            else:
                self._session(candidate, run, imports)
        return 1 if run.failures or run.next < len(run.names) else 0

    def _session(self, candidate, run, imports):
        try:
            imports.provide(candidate)
            _take_options()
            config = self._config(run)
            try:
                run.start()
                config.hook.pytest_cmdline_main(config=config)
            finally:
                config._ensure_unconfigure()
            run.finish()
        except ConftestImportFailure as failure:
            run.stop(failure.cause)
        except BaseException as error:
            run.stop(error)

    def _config(self, run):
        """Returns the configuration that pytest.main makes of its arguments."""
        ini = next((name for name in INI_FILES if name in self.files), None)
        warns = self._warns()
        if _prepared and ini is None and "conftest.py" not in self.files and not warns:
            config, hook = _prepared.pop()
            sys.meta_path.insert(0, hook)
        else:
            config, hook = _configure(_arguments(ini, run.unusable, warns))
        if self.source is not None:
            _offer(grading.Names(run.candidate.namespace(), self.entry_point), hook)
        config.pluginmanager.register(run)
        return config


    def _warns(self):
        """Returns whether exceptions in threads and finalizers of the tests are to become warnings of pytest's."""
        text = self._text()
        return any(word in text for word in _WARNING)

    def _text(self):
        texts = (self.source or "", *self.files.values())
        return "\n".join([text if type(text) is str else bytes(text).decode("utf-8", "replace") for text in texts])


_WARNING = ("filterwarnings", "PytestUnhandled", "PytestUnraisable")


def _take_options():
    """Takes pytest's options out of the environment, and returns them."""
    return {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("PYTEST_")}


def _arguments(ini=None, ignored=(), warns=False):
    without = WITHOUT + WITHOUT_WARNINGS * (not warns) + WITHOUT_SETTINGS * (not ini)
    # The file's folder is the root of all names, also if there is no such file.
    return [
        *OPTIONS,
        *(f"-pno:{name}" for name in without),
        *(f"--ignore={grading.FOLDER}/{name}" for name in ignored),
        f"-c{grading.FOLDER}/{ini or 'none'}",
        f"--confcutdir={grading.FOLDER}",
        f"--basetemp={TEMPORARY}",
        grading.FOLDER,
    ]


def _configure(arguments):
    """The configuration, and what imports tests with their asserts rewritten."""
    config = _prepareconfig(arguments, [])
    config.option.tbstyle = "value"
    # Asked for when differences are explained.
    config.get_terminal_writer = lambda: _WRITER
    (hook,) = [finder for finder in sys.meta_path if type(finder) is AssertionRewritingHook]
    return config, hook


_prepared = []


def prepare():
    """Once, when the image is made: the configuration of the first session, if the tests do not bring their own."""
    os.makedirs(grading.FOLDER, exist_ok=True)  # which only a file system of the image's making has
    config, hook = _configure(_arguments())
    sys.meta_path.remove(hook)
    _prepared.append((config, hook))


def _forget_modules():
    """The test modules, which hold objects of the interpreter they were imported with."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) if type(module) is types.ModuleType else None
        if type(file) is str and file.startswith(grading.FOLDER + "/"):
            del sys.modules[name]


def _offer(names, hook):
    """Tests given as one source may use the snippet's names without importing them."""

    def create_module(spec):
        module = types.ModuleType(spec.name)
        module.__builtins__ = names
        return module

    hook.create_module = create_module


class Run:
    """The plugin that tells of the cases, through as many sessions as it takes."""

    def __init__(self, candidate, cases, fresh_per_case, text):
        self.candidate = candidate
        self.has_threads = threads.may_start(text)
        if self.has_threads:
            grading.guard_test_methods()
        if "readouterr" in text and _LOOP.search(text):
            capture.CaptureFixture.readouterr = _noting_nothing(capture.CaptureFixture.readouterr)
        self.cases = cases
        self.fresh_per_case = fresh_per_case
        self.names = None
        self.next = 0  # the first case that has not begun
        self.open = False
        self.failures = 0
        self.error = None
        self.over = False
        # Files that could not be imported; each was a case.
        self.unusable = []

    # ------------------------------------------------ sessions

    def start(self):
        self.began_with = self.next
        self.uncollected = []
        # Whether what is left needs a session with a fresh candidate.
        self.again = False

    def finish(self):
        if self.error is not None or not self.again:
            self.stop(self.error)
        elif self.next == self.began_with:
            # Its file could be imported once.
            self.fail_next(self.uncollected[0][2] if self.uncollected else grading.NoTests("not collected again"))

    def stop(self, error):
        """No session comes after this one. Cases that have not begun are not run."""
        self.error, self.over = self.error or error, True
        if self.open:
            self._end(error, None)

    def is_left(self):
        return not self.over and self.next < len(self.names)

    def fail_next(self, error):
        self._begin(self.next)
        self._end(error, None)

    def _begin(self, index):
        self.cases.begin(index)
        self.next, self.open = index + 1, True

    def _end(self, error, skip):
        self.open = False
        if error is None and skip is not None and self.candidate.gone() is None:
            self.cases.skip(skip)
        else:
            self.failures += self.cases.end(error)

    def pytest_internalerror(self, excrepr, excinfo):
        self.error = excinfo.value
        return True  # told

    def pytest_keyboard_interrupt(self, excinfo):
        if not isinstance(excinfo.value, pytest.Session.Interrupted):  # which `shouldstop` leads to
            self.error = excinfo.value

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config):
        if config.pluginmanager.has_plugin("terminalreporter"):
            config.pluginmanager.unregister(name="terminalreporter")

    # ------------------------------------------------ collection

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector):
        report = yield
        if report.outcome != "passed":
            error = report.call.excinfo.value
            if isinstance(error, collector.CollectError):
                error = error.__cause__ or error
            nodeid = collector.nodeid or "pytest"
            # A file may be collected twice, for its functions and for its docstrings.
            if nodeid not in [told for told, _, _ in self.uncollected]:
                self.uncollected.append((nodeid, report.outcome, error))
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self, collector, name, obj):
        return [] if grading.is_candidates(self.candidate, name, obj) else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        ids = [nodeid for nodeid, _, _ in self.uncollected] + [item.nodeid for item in session.items]
        if self.names is None:
            if not ids:
                return None
            self.names = grading.unique(ids)
            self.cases.plan(self.names)
            for index, (nodeid, outcome, error) in enumerate(self.uncollected):
                self._begin(index)
                self._end(error if outcome == "failed" else None, _reason(error))
                if "::" not in nodeid:
                    self.unusable.append(nodeid)
            self.index = dict(zip(session.items, range(len(self.uncollected), len(ids))))
        else:
            known = {name: index for index, name in enumerate(self.names)}
            names = zip(session.items, grading.unique(item.nodeid for item in session.items))
            self.index = {item: known[name] for item, name in names if known.get(name, -1) >= self.next}
            session.items[:] = sorted(self.index, key=self.index.get)
        if self.candidate.gone() is not None:
            # What was imported holds objects of an interpreter that is no more.
            self.again, session.items[:] = True, []
        return None

    # ------------------------------------------------ cases

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        self._begin(self.index[item])
        self.case_passed, self.case_error, self.case_skip = False, None, None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        try:
            runner.runtestprotocol(item, nextitem=None if self.fresh_per_case else nextitem)
        except BaseException as error:
            # KeyboardInterrupt, which is the case's failure here, and pytest.exit, which is the end of the tests, too.
            self.case_error = self.case_error or error
            self._tear_down(item, nextitem)
            if isinstance(error, outcomes.Exit):
                item.session.shouldstop = str(error)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        if self.candidate.gone() is not None or self.fresh_per_case:
            self._tear_down(item, None)
            self.again = True
            item.session.shouldstop = item.session.shouldstop or "a fresh interpreter is next"
        if not self.case_passed and self.case_error is None and self.case_skip is None:
            self.case_error = AssertionError("the test told of no outcome")
        self._end(self.case_error, self.case_skip)
        return True

    def _tear_down(self, item, nextitem):
        try:
            item.session._setupstate.teardown_exact(nextitem)
        except BaseException as error:
            self.case_error = self.case_error or error

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        error = call.excinfo.value if call.excinfo else None
        if report.failed:
            self.case_error = self.case_error or _failure(error, report)
        elif report.skipped and not hasattr(report, "wasxfail"):
            self.case_skip = _reason(error)
        elif report.skipped and isinstance(error, outcomes.XFailed):
            # Said while the test ran, or instead of running it, and not by a mark that a failure has borne out.
            self.case_skip = f"xfail: {_reason(error)}"
        elif report.skipped and not isinstance(error, Exception):
            # To end the interpreter is no failure that anybody expects.
            self.case_error = self.case_error or error
        elif report.skipped or report.when == "call":
            if report.skipped and side.state is not None and any(mark.args or "condition" in mark.kwargs for mark in item.iter_markers("xfail")):
                # The condition may be the candidate's word.
                side.signal("expected_failure")
            self.case_passed = True
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        if not self.has_threads or inspect.iscoroutinefunction(pyfuncitem.obj):
            return (yield)
        test = pyfuncitem.obj
        pyfuncitem.obj = threads.guarding(test)
        try:
            return (yield)
        finally:
            pyfuncitem.obj = test

    # The tests' own output has no descriptor that could be another.

    @pytest.fixture
    def capfd(self, capsys):
        with outputs.by_descriptor(capsys):
            yield capsys

    @pytest.fixture
    def capfdbinary(self, capsysbinary):
        with outputs.by_descriptor(capsysbinary):
            yield capsysbinary


_LOOP = re.compile(r"\bfor\b[^\n]+\bin\b")


def _noting_nothing(readouterr):
    @functools.wraps(readouterr)
    def noting(self):
        result = readouterr(self)
        if not result.out:
            # A loop over its lines checks nothing.
            side.signal("empty_result")
        return result

    return noting


def _reason(error):
    message = getattr(error, "msg", None)
    return message if type(message) is str else report.text_of(error)


def _failure(error, told):
    """The exception that the case ended with; an AssertionError where pytest has found something wrong itself."""
    if error is None:
        return AssertionError(report.text_of(told.longrepr))  # [XPASS(strict)]
    if isinstance(error, outcomes.Failed):
        return AssertionError(_reason(error)).with_traceback(error.__traceback__)
    if isinstance(error, pytest.FixtureLookupError):
        return LookupError(error.formatrepr().errorstring)
    return error
