"""The guest's side of sessions in a native Python: a process that answers cells, a line of JSON each.

For work on the guest's Python without an image; what WebAssembly and the host add is not in it."""

import asyncio
import builtins
import importlib
import importlib.machinery
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import types

GUEST = pathlib.Path(__file__).resolve().parents[2] / "runtimes/python-3.13/guest"


class _Guest:
    """Finds the guest's modules by the names that they are frozen by."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        file, package = _Guest.file(name)
        if not file:
            return None
        spec = importlib.machinery.ModuleSpec(name, _Guest, origin=str(file), is_package=package)
        spec.submodule_search_locations = [] if package else None
        return spec

    @staticmethod
    def file(name):
        below = GUEST / "stubs" / name.replace(".", "/")
        own = GUEST / f"{name.removeprefix('_proofbox_')}.py" if name.startswith("_proofbox_") else None
        for file, package in ((below.with_suffix(".py"), False), (below / "__init__.py", True), (own, False)):
            if file and file.exists() and (name.startswith("_proofbox_") or name.partition(".")[0] == "IPython"):
                return file, package
        return None, False

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        file, _ = _Guest.file(module.__name__)
        name = "<proofbox>" if file.parent == GUEST else f"/lib/python3.13/{file.name}"
        exec(compile(file.read_bytes(), name, "exec", dont_inherit=True), module.__dict__)


class _Library:
    """Python's own, which is no matter of sys.path in the guest."""

    path = [entry for entry in sys.path if entry != str(pathlib.Path(__file__).parent)]

    @staticmethod
    def find_spec(name, path=None, target=None):
        return importlib.machinery.PathFinder.find_spec(name, _Library.path) if path is None else None


class _Stream(io.RawIOBase):
    """Takes what is written down, in its order among the messages."""

    def __init__(self, kind, events):
        self._kind, self._events = kind, events

    def writable(self):
        return True

    def write(self, data):
        self._events.append((self._kind, bytes(data).decode("utf-8", "surrogateescape")))
        return len(data)


def _exchange(kind, message, *rest):
    text, folder, variables, capture = message
    sys.__stdout__.flush()
    done = subprocess.run(["bash", "-c", text], cwd=folder, env=variables, capture_output=True)
    if not capture:
        sys.__stdout__.write(done.stdout.decode())
        sys.__stderr__.write(done.stderr.decode())
        return 17, (done.returncode, b"", b""), []
    return 17, (done.returncode, done.stdout, done.stderr), []


def _set_up(events):
    """A host, and of the environment, which is WebAssembly's, only what sessions and programs ask of it."""
    host = types.ModuleType("_proofbox")
    host.post = lambda message, reduce=None: events.append(message)
    host.attempt = lambda *told: None
    host.exchange = _exchange
    sys.modules["_proofbox"] = host
    sys.meta_path.insert(0, _Guest)
    sys.meta_path.append(_Library)
    # Frozen into the image; on this machine, where pip is, a copy of it is.
    for name in ("packaging", "packaging.requirements", "packaging.utils"):
        sys.modules.setdefault(name, importlib.import_module(f"pip._vendor.{name}"))
    environment = types.ModuleType("_proofbox_environment")
    environment.start = lambda variables, seed: os.environ.update(variables)
    sys.modules["_proofbox_environment"] = environment
    threads = types.ModuleType("_proofbox_threads")
    # No traceback shows frames of the guest's own.
    exec(compile("def guarded(function): return function()\ndef settle(): pass", "<proofbox>", "exec"), vars(threads))
    sys.modules["_proofbox_threads"] = threads
    # The guest's loop (stubs/_proofbox_loop.py) tells it of its sockets too.
    asyncio.BaseEventLoop.can_go_on = lambda loop: bool(loop._ready)
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.modules["__main__"].__builtins__ = builtins


def _streams(events):
    sys.stdin = open(os.devnull)
    for name in ("stdout", "stderr"):
        stream = io.TextIOWrapper(io.BufferedWriter(_Stream(name, events)), "utf-8", "backslashreplace", write_through=True)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


class _Interrupts:
    """Raises KeyboardInterrupt in a cell, some time after its beginning, but not within `one_step`, which is C in the guest."""

    def __init__(self, one_step):
        self._armed = False
        self._whole = {one_step.__code__, self._fire.__code__}
        signal.signal(signal.SIGALRM, self._fire)

    def _fire(self, number, frame):
        if frame.f_code in self._whole:
            signal.setitimer(signal.ITIMER_REAL, 1e-4)
        elif self._armed:
            self._armed = False
            raise KeyboardInterrupt

    def during(self, seconds, function, *arguments):
        """-1 when it came before the cell's first line or after its last one, as the guest's C has it."""
        try:
            self._armed = True
            signal.setitimer(signal.ITIMER_REAL, seconds)
            ended = function(*arguments)
            self._armed = False
        except KeyboardInterrupt:
            ended = -1
        signal.setitimer(signal.ITIMER_REAL, 0)
        return ended


def serve():
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    events = []
    _set_up(events)
    _streams(events)
    interrupts = _Interrupts(sys.modules["_proofbox"].post)

    import _proofbox_session as session

    session.prepare()
    defaults = {"env": {}, "cell_env": {}, "cwd": None, "seed": None, "value": False}
    for number, line in enumerate(requests, 1):
        asked = json.loads(line)
        after, code = asked.pop("interrupt_after", None), asked.pop("code")
        request = {"cell": code.encode("utf-8", "surrogatepass"), "number": number, **defaults, **asked}
        ended = session.cell(request) if after is None else interrupts.during(after, session.cell, request)
        answers.write(json.dumps({"code": ended, "events": events}, default=repr) + "\n")
        answers.flush()
        events.clear()


def run_program(arguments):
    """Runs a program as `python3 ARGUMENTS` would, with this process's own streams."""
    _set_up([])

    import _proofbox_program as program

    set_up = program._set_up
    program._set_up = lambda line, words: (set_up(line, words), sys.path.extend(_Library.path))
    code = program.run({"program": arguments, "env": {}, "cwd": None, "seed": None})
    if not sys.stdout.closed:
        sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    if sys.argv[1:2] == ["program"]:
        run_program(sys.argv[2:])
    try:
        serve()
    except BaseException:
        import traceback

        os.write(2, traceback.format_exc().encode())
