"""The guest's side of sessions in a native Python: a process that answers cells, a line of JSON each.

For work on the guest's Python without an image; what WebAssembly and the host add is not in it."""

import builtins
import importlib.machinery
import io
import json
import os
import pathlib
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


def serve():
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    events = []
    host = types.ModuleType("_proofbox")
    host.post = lambda message, reduce=None: events.append(message)
    host.attempt = lambda *told: None
    host.exchange = _exchange
    sys.modules["_proofbox"] = host
    sys.meta_path.insert(0, _Guest)
    sys.meta_path.append(_Library)
    # Of the environment, which is WebAssembly's, only what sessions ask of it.
    environment = types.ModuleType("_proofbox_environment")
    environment.start = lambda variables, seed: os.environ.update(variables)
    sys.modules["_proofbox_environment"] = environment
    sys.stdin = open(os.devnull)
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(io.BufferedWriter(_Stream("stdout", events)), "utf-8", "backslashreplace", write_through=True)
    sys.stderr = sys.__stderr__ = io.TextIOWrapper(io.BufferedWriter(_Stream("stderr", events)), "utf-8", "backslashreplace", write_through=True)
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.modules["__main__"].__builtins__ = builtins

    import _proofbox_session as session

    session.prepare()
    first = True
    for number, line in enumerate(requests, 1):
        asked = json.loads(line)
        request = {"cell": asked["code"].encode("utf-8", "surrogatepass"), "number": number, "env": {}, "cell_env": asked.get("env", {})}
        request |= {"cwd": asked.get("cwd") if first else None, "seed": None, "value": False}
        first = False
        code = session.cell(request)
        answers.write(json.dumps({"code": code, "events": events}, default=repr) + "\n")
        answers.flush()
        events.clear()


if __name__ == "__main__":
    serve()
