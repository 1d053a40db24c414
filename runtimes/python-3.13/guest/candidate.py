"""The candidate's side of the bridge: does with the candidate's objects what the tests' side asks."""

import asyncio
import collections
import gc
import importlib
import os
import random
import sys
import time
import types

import _proofbox
import _proofbox_border as border
import _proofbox_bridge as bridge
import _proofbox_faces as faces
import _proofbox_marshal as marshal
import _proofbox_origins as origins
import _proofbox_outgoing as outgoing
import _proofbox_outputs as outputs
import _proofbox_places as places
import _proofbox_proxies as proxies
import _proofbox_released as released
import _proofbox_report as report
import _proofbox_settings as settings
import _proofbox_side as side
import _proofbox_states as states
import _proofbox_threads as threads


def serve(main):
    """Answers the tests' side until the host ends this interpreter."""
    begin(main)
    upcoming = bridge.serve()
    # Since the tests have threads, too.
    threads.guarded(bridge.serve, upcoming)


def begin(main):
    side.state = state = side.State()
    state.ask, state.perform, state.namespace, state.finished = bridge.ask, perform, main, await_theirs
    state.shared.next[0] = state.shared.sent = 1


def perform(operation, *arguments):
    return OPERATIONS[operation](*arguments)


def _call(number, arguments, keywords):
    called = side.state.objects[number]
    # Most calls have no keywords: nothing is made for them.
    return called(*arguments, **keywords) if keywords else called(*arguments)


def _load():
    """Returns the snippet's names, without special ones, but for the one that says that it has warned."""
    return [
        name for name in side.state.namespace
        if type(name) is str and (not (name.startswith("__") and name.endswith("__")) or name == "__warningregistry__")
    ]  # fmt: skip


def _global(name):
    namespace = side.state.namespace
    if name not in namespace and "__getattr__" in namespace:
        return namespace["__getattr__"](name)
    return namespace[name]


def _import(name, anew=False):
    """A module of the candidate's, by its name; `anew`: the snippet, which the tests have forgotten."""
    if anew:
        module = sys.modules[name] = types.ModuleType(name)
        module.__file__ = report.SNIPPET
        exec(compile(report.snippet, report.SNIPPET, "exec", dont_inherit=True), module.__dict__)
    __import__(name)
    return outgoing.number_of(sys.modules[name])


def _own(module, name):
    """Returns the number of the library's object of that name on this side."""
    found = importlib.import_module(module)
    for part in name.split(".") if name else ():
        found = getattr(found, part)
    return outgoing.number_of(found)


def _module_names(number, are_all=False):
    """Returns what `import *` of a module brings, in the language's own way; or all names in it but special ones."""
    names = vars(side.state.objects[number])
    if are_all:
        return [name for name in names if type(name) is str and name[:2] != "__"]
    told = names.get("__all__")
    if isinstance(told, (list, tuple)):
        return [name for name in told if type(name) is str]
    return [name for name in names if type(name) is str and name[:1] != "_"]


def _special(number, name, arguments):
    target = side.state.objects[number]
    return getattr(type(target), name)(target, *arguments)


def _get(number, name):
    target = side.state.objects[number]
    if name in outgoing.PLACES and isinstance(target, type):
        # Whatever its metaclass says.
        return outgoing.PLACES[name](target)
    return getattr(target, name)


def _is(number, what, value):
    cls = side.state.objects[number]
    return isinstance(value, cls) if what == "instance" else issubclass(value, cls)


# ---------------------------------------------------------------- data files of the tests

# Where copies of them are read.
_COPIES = "/tmp/.proofbox"
# The tests may replace them in their module.
_make_directory, _open, _write, _close = os.mkdir, os.open, os.write, os.close


def _file(path, content):
    """Keeps a copy of a data file of the tests. It is read where theirs lies, as if it were there."""
    place = _COPIES + path
    for end in range(len(_COPIES), len(place)):
        if place[end] != "/":
            continue
        try:
            _make_directory(place[:end])
        except FileExistsError:
            pass
    file = _open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        while content:
            content = content[_write(file, content) :]
    finally:
        _close(file)
    folder = border.TESTS_FOLDER[1:]
    _proofbox.read_elsewhere(folder.encode(), f"{_COPIES[1:]}/{folder}".encode())


# ---------------------------------------------------------------- coroutines


class Tasks:
    """The candidate's coroutines that the tests await: one loop for all, which runs while the tests' loop lets it."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.tasks = {}  # by number
        self.spawned = 0
        self.ended = {}  # those that have ended, which the tests do not know yet
        self.awaited = {}  # of awaitables of the tests: number -> futures
        self.running = False
        self.theirs = _theirs()

    def spawn(self, number):
        async def whole(awaitable):
            return await awaitable

        self.spawned += 1
        task = self.spawned
        self.tasks[task] = self.loop.create_task(whole(side.state.objects[number]), context=self.theirs.context)
        self.tasks[task].add_done_callback(lambda _: self.ended.setdefault(task))
        return task

    def turn(self, task, alone, settled):
        """Lets the tasks go on. `alone`: nobody else has anything to do before the next timer, so it may be waited for."""
        for number, succeeded, value in settled:
            for future in self.awaited.pop(number, ()):
                if not future.done():
                    future.set_result(value) if succeeded else future.set_exception(value)
        running, outer = self.running, asyncio._get_running_loop()
        self.running = True
        asyncio._set_running_loop(None)
        try:
            self._run(alone, task)
        finally:
            self.running = running
            asyncio._set_running_loop(outer)
        if task not in self.ended:
            return False, True, None, self._wait(), list(self.ended)
        del self.ended[task]
        done = self.tasks.pop(task)
        if done.cancelled():
            return True, False, asyncio.CancelledError(), None, list(self.ended)
        error = done.exception()
        return True, error is None, done.result() if error is None else error, None, list(self.ended)

    def _run(self, alone, task):
        """Runs one round of the loop, so that the tests' own tasks go on beside the candidate's."""
        self.theirs.stirred = False
        wait = self._wait()
        if alone and wait:
            self.loop.call_later(wait, self.loop.stop)
        else:
            self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()

    def _wait(self):
        """Seconds until something can go on, or None."""
        if self.loop._ready or hasattr(self.loop, "can_go_on") and self.loop.can_go_on():
            return 0.0
        timers = [timer._when for timer in self.loop._scheduled if not timer._cancelled]
        return max(0.0, min(timers) - self.loop.time()) if timers else None

    def cancel(self, task):
        if task in self.tasks:
            self.tasks[task].cancel()

    def rest(self, seconds):
        """Lets the tasks go on for some seconds."""
        self.theirs.stirred = False
        outer = asyncio._get_running_loop()
        self.running = True
        asyncio._set_running_loop(None)
        timer = self.loop.call_later(seconds, self.loop.stop)
        try:
            self.loop.run_forever()
        finally:
            timer.cancel()
            self.running = False
            asyncio._set_running_loop(outer)


def tasks():
    state = side.state
    if state.runner is None:
        state.runner = Tasks()
    return state.runner


outgoing.candidate_loop = lambda: tasks().loop


def _theirs():
    """The tests' tasks and threads."""
    state = side.state
    if state.theirs is None:
        state.theirs = places.Theirs(OPERATIONS, tasks)
    return state.theirs


def _rest(seconds, in_loop):
    """Lets threads go on while the tests sleep, and tasks if it is their loop that sleeps."""
    runner = side.state.runner
    if in_loop and runner is not None and not runner.running and (asyncio.all_tasks(runner.loop) or runner.loop._scheduled):
        runner.rest(seconds)
    else:
        time.sleep(seconds)


def await_theirs(handle):
    """Awaits an object of the tests, from a coroutine of the candidate's."""
    ours = side.state.runner
    driven = ours is not None and ours.running
    place = _theirs().awaiting() if driven else (0, 0)
    number, done, succeeded, value = side.state.ask("spawn", proxies.remote_id(handle), not driven, *place)
    if not done:
        return (yield from _until_settled(ours, number))
    if succeeded:
        return value
    raise value


def _until_settled(ours, number):
    """Waits for an awaitable of the tests that they have started. What ends the wait ends it there, and it has the last word."""
    while True:
        future = ours.loop.create_future()
        ours.awaited.setdefault(number, []).append(future)
        try:
            return (yield from future)
        except asyncio.CancelledError:
            if not future.cancelled():
                raise
            side.state.ask("cancel", number)
        except GeneratorExit:
            side.state.ask("cancel", number)
            raise


# ---------------------------------------------------------------- what the tests do to the interpreter


_replaced = {}


def _owner(module, path):
    """The module or class at a path; the snippet, without a module."""
    if module is None:
        return sys.modules["__main__"]
    found = importlib.import_module(module)
    for part in path:
        found = getattr(found, part)
    return found


def _patch(module, path, name, value):
    """Replaces an attribute of a module, or of a class in one, as the tests have replaced theirs."""
    owner = _owner(module, path)
    before = vars(owner).get(name, _replaced)
    _replaced.setdefault((module, path, name), []).append(before)
    if module is not None:
        origins.note_replaced(module, path, name, before, True)
    setattr(owner, name, value)
    _rebase()


def _unpatch(module, path, name):
    owner, before = _owner(module, path), _replaced[module, path, name].pop()
    if before is _replaced:
        delattr(owner, name)
    else:
        setattr(owner, name, before)
    if module is not None:
        origins.note_replaced(module, path, name, before, False)
    _rebase()


def _rebase():
    if side.state.watch is not None:
        side.state.watch.rebase()


def _settings(values, begins=False):
    """Sets what the tests have set, or begins to tell of such."""
    settings.take(values, begins)
    _rebase()


def _argv(values):
    sys.argv = values
    _rebase()


def _output(name, number, is_terminal):
    outputs.replace(name, number, is_terminal)
    _rebase()


def _seed(which, seed, *arguments):
    """Seeds a generator as the tests have seeded theirs."""
    state = side.state
    tells, state.tells_seeds = state.tells_seeds, False
    try:
        seed(*arguments)
    finally:
        state.tells_seeds = tells
    if state.watch is not None:
        state.watch.settle(which)


def _environ(values):
    os.environ.clear()
    os.environ.update(values)


def _watch(what):
    """Tells the tests of warnings and of log records, as they come about."""
    state = side.state
    if "warnings" in what:
        import warnings

        def showwarning(message, category, filename, lineno, file=None, line=None):
            state.ask("warned", message, category, filename, lineno)

        warnings.simplefilter("always")
        warnings.showwarning = showwarning
    if "logs" in what:
        _watch_logs(state)
    state.tells_seeds = "seeds" in what
    if "weak" in what:
        released.watch_handles()
    if "identity" in what:
        _keep_arguments()
    if "printing" in what:
        _watch_printing(state)
    if "threads" in what:
        _watch_threads(state)
    if "filters" in what:
        settings.watch_filters()
    if "registries" in what:
        settings.watch_registries()
    looked_at = [name for name in what if name in states.STATES]
    if looked_at:
        state.watch = states.Watch(looked_at)
    _watch_state(state, [name for name in what if name in _STATE])


# How many containers are kept for their identity.
_MAX_KEPT = 1_000


def _keep_arguments():
    """Holds the containers that calls are given, so that one which comes again has the `id()` that the snippet has seen."""
    kept = collections.deque(maxlen=_MAX_KEPT)

    def call(number, arguments, keywords):
        kept.extend(each for each in (*arguments, *keywords.values()) if type(each) in marshal.HOLDING)
        return side.state.objects[number](*arguments, **keywords)

    OPERATIONS["call"] = call


def _watch_state(state, names):
    """Tells of changes to this interpreter with the next message."""
    # What it has registered while it was loaded is told, too.
    known = {name: _STATE[name]() if name != "dialects" else None for name in names}
    before_names = state.before_message

    def tell_state():
        if before_names:
            before_names()
        for name, before in known.items():
            present = _STATE[name]()
            if present != before:
                known[name] = present
                state.ask(name, *present) if name in _TOLD else state.ask("altered", name)

    if names:
        state.before_message = tell_state
    if state.watch is not None:
        before = state.before_message

        def before_message():
            if before:
                before()
            state.watch.tell()

        state.before_message = before_message


def _watch_printing(state):
    """Tells what `sys.stdout` is while that is another than this interpreter's."""
    own = told = sys.stdout
    before = state.before_message

    def before_message():
        nonlocal told
        if before:
            before()
        present = sys.stdout
        if present is not told:
            told = present
            state.ask("printing", None if present is own or outputs.is_of_tests(present) else present)

    state.before_message = before_message


def _watch_threads(state):
    """Tells whether a thread of the candidate's asks the tests for something: they take it for their own."""
    before = state.before_message
    is_telling = False

    def before_message():
        nonlocal is_telling
        if before:
            before()
        if not is_telling and not threads.is_main():
            is_telling = True
            try:
                state.ask("altered", "threads")
            finally:
                is_telling = False

    state.before_message = before_message


def _dialects():
    import csv

    return {name: tuple(getattr(csv.get_dialect(name), each) for each in border.DIALECT) for name in csv.list_dialects()},


def _dialect(name, settings):
    """A dialect of the tests', or without settings one that they have no more."""
    import csv

    if settings is not None:
        csv.register_dialect(name, **dict(zip(border.DIALECT, settings)))
    elif name in csv.list_dialects():
        csv.unregister_dialect(name)


# Told as it is; of all else only that it has changed.
_TOLD = frozenset({"surroundings", "dialects"})
_STATE = {
    "dialects": _dialects,
    "surroundings": lambda: (dict(os.environ), os.getcwd(), sys.getrecursionlimit()),
    "sys.path": lambda: list(sys.path),
}


# How much of a traceback is told with a log record.
_MAX_TRACE = 10_000


def _watch_logs(state):
    """Tells of log records, and of levels and handlers of loggers."""
    import logging

    own = vars(logging.makeLogRecord({})).keys() | {"message", "asctime"}
    call_handlers = logging.Logger.callHandlers

    def tell(record):
        try:
            told = {
                "name": record.name, "levelno": record.levelno, "levelname": record.levelname, "msg": record.getMessage(),
                "pathname": record.pathname, "filename": record.filename, "module": record.module, "lineno": record.lineno,
                "funcName": record.funcName, "args": (),
                "extra": {
                    name: value
                    for name, value in vars(record).items()
                    if name not in own and name[:1] != "_" and type(value) in side.PLAIN_TYPES
                },
            }  # fmt: skip
            arguments = record.args
            if type(record.msg) is str and type(arguments) is tuple and all(type(each) in side.SCALARS for each in arguments):
                told["msg"], told["args"] = record.msg, arguments
            error = record.exc_info[1] if record.exc_info else None
            trace = logging.Formatter().formatException(record.exc_info)[:_MAX_TRACE] if error is not None else None
        except Exception:
            return False
        return state.ask("logged", told, error, trace)

    def callHandlers(self, record):
        shown = tell(record)
        if self.hasHandlers() or not shown:
            call_handlers(self, record)

    logging.Logger.callHandlers = callHandlers
    # What it has made of them while it was loaded is told, too.
    state.loggers = states.NO_LOGGERS
    before_message = state.before_message

    def tell_loggers():
        if before_message:
            before_message()
        present = states.loggers(_every)
        if present != state.loggers:
            changed, state.loggers = states.changed_loggers(state.loggers, present), present
            state.ask("loggers", changed)

    state.before_message = tell_loggers


def _every(handler):
    return True


def _set_loggers(told):
    """Sets the loggers as the tests have theirs."""
    states.set_loggers(told, _every)
    side.state.loggers = states.loggers(_every)


def _pickle():
    import pickle

    return pickle


OPERATIONS = {
    "load": _load,
    "global": _global,
    "set_global": lambda name, value: side.state.namespace.__setitem__(name, value),
    "delete_global": lambda name: side.state.namespace.__delitem__(name),
    "import": _import,
    "file": _file,
    "call": _call,
    "get": _get,
    "set": lambda number, name, value: setattr(side.state.objects[number], name, value),
    "del": lambda number, name: delattr(side.state.objects[number], name),
    "dir": lambda number: [name for name in dir(side.state.objects[number]) if type(name) is str],
    "index": lambda number, key: side.state.objects[number][key],
    "is": _is,
    "special": _special,
    "spawn": lambda number: tasks().spawn(number),
    "turn": lambda task, alone, settled: tasks().turn(task, alone, settled),
    "cancel": lambda task: tasks().cancel(task),
    "lend": lambda names: [side.state.namespace.setdefault(name, value) for name, value in names.items()] and None,
    "seed": lambda a, version: _seed("random", random.seed, a, version),
    "seed_numpy": lambda seed: _seed("numpy.random", sys.modules["numpy.random"].seed, seed),
    "loggers": _set_loggers,
    "generator": lambda name, state: side.state.watch.set(name, state),
    "begin_case": lambda: side.state.watch.begin_case(),
    "patch": _patch,
    "unpatch": _unpatch,
    "environ": _environ,
    "chdir": os.chdir,
    "argv": _argv,
    "output": _output,
    "settings": _settings,
    "recursion": sys.setrecursionlimit,
    "dialect": _dialect,
    "watch": _watch,
    "rest": _rest,
    "place": lambda number, parent, in_loop: _theirs().place(number, parent, in_loop),
    "in_thread": lambda ident, alive, place, request: _theirs().in_thread(ident, alive, place, request),
    "go_on": lambda ident: _theirs().go_on(ident),
    "beside": lambda are_there: _theirs().beside(are_there),
    "signature": lambda number: faces.signature_of(side.state.objects[number]),
    "release": released.release,
    "unheld": released.unheld,
    "collect": lambda: gc.collect() and None,
    "copy": lambda number, copy: proxies.copy_of(side.state.objects[number], copy),
    "pickle": lambda number, protocol: _pickle().dumps(side.state.objects[number], protocol),
    "unpickle": lambda data: _pickle().loads(data),
    "module_names": _module_names,
    "own": _own,
}
