"""Runs the guest's kinds of tests in this very Python: the guest's modules under the names that they are frozen by, and
what the host would hear in a list."""

import importlib.machinery
import pathlib
import sys
import types

GUEST = pathlib.Path(__file__).resolve().parents[2] / "runtimes/python-3.13/guest"
SOLUTION = "/home/user/solution.py"


class _Guest:
    """Finds `_proofbox_<stem>` in guest/<stem>.py, or in guest/stubs."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.startswith("_proofbox_") and _Guest.file(name).exists():
            return importlib.machinery.ModuleSpec(name, _Guest)
        return None

    @staticmethod
    def file(name):
        stub = GUEST / f"stubs/{name}.py"
        return stub if stub.exists() else GUEST / f"{name.removeprefix('_proofbox_')}.py"

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        source = _Guest.file(module.__name__).read_bytes()
        exec(compile(source, "<proofbox>", "exec", dont_inherit=True), module.__dict__)


posts = []
host = types.ModuleType("_proofbox")
host.post = lambda message, reduce=None: posts.append(message)
host.attempt = lambda *told: None
host.mirrors_prepare = lambda metaclass: None
sys.modules["_proofbox"] = host
# Threads are this Python's own, and need no guard.
threads = types.ModuleType("_proofbox_threads")
threads.may_start = lambda text: False
sys.modules["_proofbox_threads"] = threads
sys.meta_path.insert(0, _Guest)

import _proofbox_report as report  # noqa: E402


class Cases:
    """Reads case messages as the host does: each at most once, in the order of the plan, one open at a time."""

    def __init__(self):
        self.names = None
        self.results = []
        self.open = None
        self.candidate = None

    def plan(self, names):
        assert self.names is None and type(names) is list and all(type(name) is str for name in names), names
        assert len(set(names)) == len(names), names
        self.names = names
        self.results = [(name, "not_run", None) for name in names]

    def begin(self, index):
        assert self.open is None and all(status == "not_run" for _, status, _ in self.results[index:])
        self.open = index
        self.results[index] = self.names[index], "open", None

    def end(self, error=None):
        error = self.candidate.gone() or error
        if error is None:
            self._close("passed", None)
            return False
        described = report.describe(error)
        self._close("failed" if isinstance(error, AssertionError) else "error", f"{described[1]}: {described[2]}")
        return True

    def skip(self, reason):
        assert type(reason) is str, reason
        self._close("skipped", reason)

    def _close(self, status, message):
        self.results[self.open] = self.names[self.open], status, message
        self.open = None

    @property
    def statuses(self):
        return {name: status for name, status, _ in self.results}

    @property
    def messages(self):
        return {name: message for name, _, message in self.results}


class Candidate:
    """The snippet in this interpreter; `die()`, which it may call, does what the end of its own one does to G."""

    class Gone(BaseException):
        pass

    def __init__(self, code):
        self.code = code
        self.interpreters = 0
        self.fresh()

    def fresh(self):
        self.error = None
        self.interpreters += 1
        self.module = types.ModuleType("__main__")
        self.module.__file__ = SOLUTION
        self.module.die = self._die
        report.snippet = self.code.encode()
        exec(compile(self.code, SOLUTION, "exec", dont_inherit=True), self.module.__dict__)

    def namespace(self):
        return self.module.__dict__

    def lend(self, namespace):
        pass

    def gone(self):
        return self.error

    def apart(self):
        """Sets the snippet apart, as if in another interpreter: its names are there for who asks."""
        self.namespace = lambda: _Elsewhere(self.module)
        return self

    def _die(self):
        self.error = Candidate.Gone("the candidate's interpreter ended")
        raise self.error


class _Elsewhere(dict):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def __missing__(self, name):
        return self.module.__dict__[name]


def grade(kind, request, code="", apart=False):
    """The cases and the candidate of a run."""
    posts.clear()
    cases, candidate = Cases(), Candidate(code)
    cases.candidate = candidate
    if apart:
        candidate.apart()
    main, modules = sys.modules["__main__"], set(sys.modules)
    sys.modules["__main__"] = candidate.module
    try:
        exit_code = kind(request).run(candidate, cases)
    finally:
        sys.modules["__main__"] = main
    assert cases.open is None
    left = [name for name in set(sys.modules) - modules if name in ("tests", "solution", request.get("module"))]
    assert not left, left
    assert exit_code == (1 if any(status not in ("passed", "skipped") for _, status, _ in cases.results) else 0)
    return cases, candidate
