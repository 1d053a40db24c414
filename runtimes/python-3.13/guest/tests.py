"""Test plans: what the cases are, and how they are run.

The same plans serve both ways of grading. Run in the tests' own interpreter (`isolated`) they see the candidate through
the bridge (grader.py); run in the candidate's (`in_process`) they see it as it is: fast, compatible, and forgeable."""

import builtins
import sys
import types

import _proofbox
import _proofbox_test_kinds as test_kinds
import _proofbox_report as report
import _proofbox_threads as threads
import _proofbox_values as values

TESTS = "/tests.py"
NO_CODE = compile("", TESTS, "exec")
NAME_LIMIT = 200


def plan(request):
    """The plan for the request's `tests`, or None when the snippet is only run."""
    if request is None:
        return None
    kind = request["kind"]
    return PLANS[kind](request) if kind in PLANS else test_kinds.KINDS[kind](request)


def shorten(name):
    name = " ".join(name.split())
    return name if len(name) <= NAME_LIMIT else name[: NAME_LIMIT - 1] + "…"


class InProcess:
    """The candidate as tests in its own interpreter see it."""

    def __init__(self, main, module=None):
        self.main = main
        self.module = sys.modules[module or "__main__"]

    def namespace(self, code=None, entry_point=None):
        return self.main

    def bind(self, namespace, code, entry_point=None):
        """Names are what they are."""

    def choose_entry_point(self, codes):
        """Chooses none: names are what they are."""

    def lend(self, namespace):
        """Lends nothing: there is one namespace."""

    def fetch(self, name):
        try:
            return self.main[name]
        except KeyError:
            raise AttributeError(name) from None

    def gone(self):
        return None

    def meant(self, error, name):
        return error

    def fresh(self):
        """Does nothing: there is one interpreter."""


class Cases:
    """Begins and ends cases; what it says is what the host counts."""

    def __init__(self):
        self.open = None
        self.failures = 0
        self.planned = False
        self.candidate = None  # in an interpreter of its own
        self.charged = False  # whether a case has failed for the candidate's end
        self.charge_next = None

    def plan(self, names):
        """Tells the host which cases there are, once: some plans know it from the start, some when tests are loaded."""
        if not self.planned:
            self.planned = True
            _proofbox.post(("plan", names))

    def charge(self, candidate):
        """Lets the next case fail if the candidate has ended where no case was open, whatever the tests have caught."""
        self.charge_next = candidate.gone()

    def begin(self, index):
        self.open, self.charged = index, False
        _proofbox.post(("case_begin", index))

    def skip(self, reason):
        index, self.open = self.open, None
        self.failures += 1  # it is no pass
        reason = report.text_of(reason)
        _proofbox.post(("case_end", index, "skipped", ("exception", "Skipped", reason, None, [])))

    def end(self, error=None):
        """Ends the open case, and says whether it failed."""
        index, self.open = self.open, None
        if self.candidate:
            # The candidate's end counts for more than what the test makes of it; so does what the border has refused.
            objection = self.candidate.objection(error is None)
            gone = self.candidate.gone() or self.charge_next
            self.charged, self.charge_next = gone is not None, None
            error = gone or error or objection
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:
                pass
        if error is None:
            _proofbox.post(("case_end", index, "passed", None))
            return False
        self.failures += 1
        status = "failed" if isinstance(error, AssertionError) else "error"
        _proofbox.post(("case_end", index, status, report.describe(error)))
        return True


def _executor(*sources):
    """Returns what executes code of the tests: threads that they start may be in calls from C."""
    return threads.execute if threads.may_start("\n".join(sources)) else exec


class Asserts:
    """Tests of which each statement is a case, run on its own in a namespace with the snippet's names (MBPP)."""

    def __init__(self, request):
        self.setup = request["setup"]
        self.sources = request["asserts"]
        self.names = [shorten(source) for source in self.sources]

    def run(self, candidate, cases):
        execute = _executor(self.setup, *self.sources)
        try:
            setup = compile(self.setup, "/setup.py", "exec", dont_inherit=True) if self.setup else None
            codes = [self._compiled(index) for index in range(len(self.sources))]
            candidate.choose_entry_point([code for code in (setup, *codes) if type(code) is types.CodeType])
            namespace = candidate.namespace(setup or NO_CODE)
            if setup:
                execute(setup, namespace)
                cases.charge(candidate)
        except BaseException as error:
            _proofbox.post(("error", report.describe(error)))
            return
        for index, code in enumerate(codes):
            if candidate.gone():
                candidate.fresh()
            cases.begin(index)
            try:
                if type(code) is not types.CodeType:
                    raise code
                candidate.bind(namespace, code)
                execute(code, namespace)
            except BaseException as error:
                cases.end(error)
            else:
                cases.end()

    def _compiled(self, index):
        """The code of an assert, or the exception that it can't be compiled for."""
        try:
            return compile(self.sources[index], f"/tests/{index}.py", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return error


class Checks:
    """Calls of the instrumented `check`."""

    def __init__(self, cases, candidate):
        self.cases, self.candidate = cases, candidate
        self.end = cases.end

    def begin(self, index):
        if self.candidate.gone():
            # After a case that has failed for it, or between two.
            if not self.cases.charged:
                self.cases.charge(self.candidate)
            self.candidate.fresh()
        self.cases.begin(index)


def segment(lines, place):
    """The source of a statement; columns count bytes."""
    first, first_column, last, last_column = place
    if first == last:
        return lines[first - 1][first_column:last_column].decode("utf-8", "replace")
    parts = [lines[first - 1][first_column:], *lines[first : last - 1], lines[last - 1][:last_column]]
    return b"\n".join(parts).decode("utf-8", "replace")


class CheckFunction:
    """`check(candidate)`: each top-level statement of its body that asserts is a case, the rest runs as written
    (HumanEval). Without such a statement the whole call is the one case."""

    def __init__(self, request):
        self.entry_point = request["entry_point"]
        self.code = self.error = None
        source, places = request["source"], []
        self.source = source
        try:
            # Each asserting statement S becomes: begin(i); try: S; except BaseException as e: end(e); else: end().
            self.code = _proofbox.compile_check(source, TESTS, places)
        except BaseException as error:
            self.error = error
        self.split = bool(places)
        lines = source.replace("\r\n", "\n").replace("\r", "\n").encode().split(b"\n") if places else None
        self.names = [shorten(segment(lines, place)) for place in places] or ["check"]

    def run(self, candidate, cases):
        try:
            if self.error:
                raise self.error
            namespace = candidate.namespace(self.code, self.entry_point)
            namespace["__proofbox_cases__"] = Checks(cases, candidate)
            argument = self.entry_point
            if argument == "check":
                # The tests' function takes the name.
                code = compile(argument, TESTS, "eval", dont_inherit=True)
                candidate.bind(namespace, code, argument)
                argument = "__proofbox_candidate__"
                namespace[argument] = eval(code, namespace)
            exec(self.code, namespace)
            if not self.split:
                cases.begin(0)
            call = compile(f"check({argument})", TESTS, "exec", dont_inherit=True)
            candidate.bind(namespace, call, self.entry_point)
            _executor(self.source)(call, namespace)
            if cases.open is not None:
                cases.end()
            elif candidate.gone() and not cases.charged:
                # After the last case.
                raise candidate.gone()
        except BaseException as error:
            if cases.open is not None:
                cases.end(error)
            else:
                cases.failures += 1
            _proofbox.post(("error", report.describe(error)))


class Script:
    """The script running to its end without an exception is the one case."""

    def __init__(self, request):
        self.source = request["source"]
        self.names = ["script"]

    def run(self, candidate, cases):
        cases.begin(0)
        try:
            code = compile(self.source, TESTS, "exec", dont_inherit=True)
            candidate.choose_entry_point([code])
            namespace = candidate.namespace(code)
            if "unittest" in self.source and candidate.gone() is None and cases.candidate:
                # `unittest.main()` looks for its tests in the main module.
                sys.modules["__main__"] = test_kinds.grading.NamespaceModule("__main__", namespace)
            _executor(self.source)(code, namespace)
        except BaseException as error:
            cases.end(None if cases.candidate and _is_good_end(error) else error)
        else:
            cases.end()


def _is_good_end(error):
    """Returns whether a script has ended itself as a program that succeeds does: the script, and no function of its for
    the candidate."""
    if type(error) is not SystemExit or error.code not in (None, 0) or type(error.code) not in (type(None), int, bool):
        return False
    trace = error.__traceback__
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__"))
        if module.startswith("_proofbox") and not module.startswith(("_proofbox_tests", "_proofbox_threads")):
            return False
        trace = trace.tb_next
    return not hasattr(error, "_proofbox_text")


def is_named(error, name):
    """Returns whether the exception is of the class of that name: the builtin, where there is one, else one of the
    snippet's."""
    builtin = getattr(builtins, name or "", None)
    if isinstance(builtin, type):
        return isinstance(error, builtin)
    return name in [cls.__name__ for cls in type(error).__mro__]


class FunctionCases:
    """Calls of a function, each a case. What a call returns is told to the host, which compares."""

    def __init__(self, request):
        self.entry_point = request["entry_point"]
        self.calls = request["calls"]
        self.names = [shorten(name or self.text(args, kwargs)) for args, kwargs, _, name in self.calls]

    def text(self, args, kwargs):
        arguments = [repr(each) for each in args] + [f"{name}={each!r}" for name, each in kwargs.items()]
        return f"{self.entry_point}({', '.join(arguments)})"

    def run(self, candidate, cases):
        code = compile(self.entry_point, TESTS, "eval", dont_inherit=True)
        candidate.choose_entry_point([code])
        namespace = candidate.namespace(code)
        for index, (args, kwargs, raises, _) in enumerate(self.calls):
            if candidate.gone():
                candidate.fresh()
            cases.begin(index)
            try:
                candidate.bind(namespace, code)
                value = eval(code, namespace)(*args, **kwargs)
            except BaseException as error:
                error = candidate.meant(error, raises)
                cases.end(None if is_named(error, raises) and not candidate.gone() else error)
                continue
            if raises:
                cases.end(AssertionError(f"{raises} was not raised"))
                continue
            _proofbox.post(("case_value", index, value), values.reduce)
            cases.end()


class Complexity:
    """For each size n two cases: what it costs to pass the arguments that `generate(n)` gives is spent here, without the
    candidate, then the function is called with them. What the second costs beyond the first is the function's own."""

    def __init__(self, request):
        self.generator, self.entry_point, self.sizes = request["generator"], request["entry_point"], request["sizes"]
        self.names = [f"{what}({size})" for size in self.sizes for what in ("pass", "call")]

    def run(self, candidate, cases):
        code = compile(self.generator, TESTS, "exec", dont_inherit=True)
        namespace = {"__name__": "tests"}
        for index, size in enumerate(self.sizes):
            try:
                if not index:
                    exec(code, namespace)
                    function = candidate.fetch(self.entry_point)
                arguments = namespace["generate"](size)
                arguments = arguments if type(arguments) is tuple else (arguments,)
            except BaseException as error:
                _proofbox.post(("error", report.describe(error)))
                return
            for number, call in ((2 * index, _pass_nowhere), (2 * index + 1, function)):
                cases.begin(number)
                try:
                    call(*arguments)
                except BaseException as error:
                    cases.end(error)
                    return
                cases.end()


def _pass_nowhere(*arguments):
    # Imported here: in process there is no bridge.
    import _proofbox_bridge as bridge

    bridge.pass_nowhere(("call", 0, arguments, {}))


PLANS = {"asserts": Asserts, "check_function": CheckFunction, "function_cases": FunctionCases, "script": Script, "complexity": Complexity}
