"""The tests' side of the bridge: what is asked of the candidate, and what tests ask of their own interpreter."""

import asyncio
import builtins
import contextlib
import importlib.machinery
import opcode
import os
import re
import struct
import sys
import types

import _proofbox
import _proofbox_border as border
import _proofbox_bridge as bridge
import _proofbox_candidate_module as candidate_module
import _proofbox_commands as commands
import _proofbox_foreign_files as foreign_files
import _proofbox_grading as grading
import _proofbox_kind_pytest  # noqa: F401: it imports pytest as it must be imported here
import _proofbox_names as code_names
import _proofbox_operators as operators
import _proofbox_origins as origins
import _proofbox_outputs as outputs
import _proofbox_packages as packages
import _proofbox_places as places
import _proofbox_proxies as proxies
import _proofbox_released as released
import _proofbox_served as served
import _proofbox_settings as settings
import _proofbox_side as side
import _proofbox_states as states
import _proofbox_theirs as theirs
import _proofbox_threads as threads

set_recursion_limit = sys.setrecursionlimit


def _carry_recursion_limit():
    def setrecursionlimit(limit):
        set_recursion_limit(limit)
        side.state.candidate.replaces("recursion", (limit,))
        if not side.state.candidate.lost:
            side.state.ask("recursion", limit)

    sys.setrecursionlimit = setrecursionlimit


class Candidate:
    """The candidate as the tests see it, in whichever interpreter it lives now."""

    # What the text of the tests says of them. Few instances have these: with more than 30 attributes, each is slower.
    looks_at_loops = False  # whether they ask of their event loops what happens there
    parses = ()  # what they make of texts and bytes: "json", "bytes"
    compares_arrays = False  # whether they compare arrays by operators, which broadcast
    loggers = None  # as both sides have them, if the tests speak of logging
    followed = None  # states of the interpreter that the tests look at (states.py)
    in_force = ()  # requests by which they have changed the candidate's interpreter, for a fresh one
    started = {}  # by their numbers, tasks for awaitables of the tests that the candidate awaits
    reads_by_name = False  # whether they read attributes by names
    decorators = ()  # names by which they decorate functions, or that they call with such
    entry_point = None  # a builtin's name that is the snippet's function all the same
    builtins = None  # as they were, if the tests speak of them
    assigned = None  # attributes of the library that the tests assign to (assignments.py)
    settings = None  # those that both sides have, if a text alters them (settings.py)
    filters = None  # of warnings, that the candidate has added
    tells_signatures = False  # whether the candidate gets constant defaults of the tests' functions that are not decorated
    lent_objects = None  # objects of the tests, where the snippet speaks of weak references
    rebound = frozenset()  # globals that functions of the snippet bind
    own_interpreter = None  # what the tests ask of their own interpreter, and can't be told
    unseen = None  # by stream, what the snippet printed while it was loaded, until the tests import it
    warned_at_import = False

    def __init__(self, module, modules):
        self.names = None
        self.given = {}  # by name, what the tests were given
        self.stored = set()  # names that the tests have bound themselves
        self.lost = None
        self.settled = []  # what has become of awaitables that the candidate awaits
        self.waiting = {}  # tests' futures that wait for the candidate's tasks, by their numbers
        self.runners = []
        self.watched = ()
        self.attends = False  # whether requests need more than to be sent
        self.places = places.Places()
        self.own_attributes = {}  # by id, instances of the tests and names that the candidate has set on them
        self.looked_at = {}  # by what the candidate tells if it alters it, the word by which the tests look at theirs
        self.lent = {}
        self.copies = []  # dicts of the candidate's that the tests have copies of, by name
        self.used = {}  # by code, the names in it
        self.carried = set()  # builtins that are replaced on both sides
        self.changed = set()  # of the tests' surroundings, what the candidate is to be told
        self.arguments = list(sys.argv)  # as the candidate has them
        self.input = self.own_input = sys.stdin
        self.outputs = outputs.Told()
        self.dialects = set()  # names of csv's dialects that are the candidate's
        self.told_dialects = {}  # those of the tests, and None for what they have no more
        self.mocks = {}  # by name, mocks that the tests have put into the snippet
        self.module = candidate_module.ProxyModule(module)
        self.roots = {module, *modules}
        types.ModuleType.__setattr__(self.module, "_proofbox_loaded", True)
        sys.modules[module] = self.module
        # The last of all: what the tests, the library and the packages have is theirs.
        sys.meta_path.append(self)

    def lose(self, error):
        self.lost = error
        raise error

    def gone(self):
        return self.lost

    def meant(self, error, name):
        """Returns `meant` for an exception that is expected by its name."""
        expected = getattr(builtins, name or "", None)
        return meant(error, (expected,) if isinstance(expected, type) else ())

    def objection(self, has_passed):
        """Returns why the open case has not passed, whatever its test says; asked once a case."""
        state = side.state
        if state.unequal:
            if has_passed and not self.lost:
                with contextlib.suppress(bridge.CandidateGone):
                    operators.bear_out()
            state.unequal.clear()
        if self.followed is not None and self.followed.altered:
            side.signal("altered_interpreter")
            fail_case(f"the candidate has altered {min(self.followed.altered)} in its interpreter")
            self.followed.altered.clear()
            if not self.lost:
                with contextlib.suppress(bridge.CandidateGone):
                    ask("begin_case")
        violation, state.violation = state.violation, None
        return violation or self.own_interpreter

    def load(self):
        """Imports the snippet. It may fail; then nothing can be asked."""
        # The first interpreter has run it already, but for what it has not written yet; a fresh one does so now.
        printed = _all_printed() if self.names is None else {}
        try:
            self.names = set(ask("load"))
            self.warned_at_import = _WARNINGS in self.names
            self.names.discard(_WARNINGS)
            later = _all_printed()
            self.unseen = {stream: printed.get(stream, b"") + later.get(stream, b"") for stream in (*printed, *later)}
            if self.unseen or self.warned_at_import:
                self.await_import(self.module.__name__)
            if self.watched:
                ask("watch", list(self.watched))
                if self.loggers is not None:
                    # Handlers of the one before are gone with it.
                    states.forget_handlers(proxies.is_remote)
                    self.loggers = self.loggers_at_first
            for name, settings in self.told_dialects.items():
                if settings is not None:
                    ask("dialect", name, settings)
            if self.settings is not None:
                ask("settings", self.settings.first, True)
            if self.lent:
                ask("lend", dict(self.lent))
            for request in self.in_force:
                ask(*request)
            if self.followed is not None:
                self.followed.begin()
        except bridge.CandidateGone:
            self.names = self.names or set()
        except (Exception, bridge.marshal.CannotCross) as error:
            self.names = self.names or set()
            side.state.violation = side.state.violation or error

    def await_import(self, name):
        """Has the tests see what the snippet printed while it was loaded when they import it by that name."""
        sys.modules.pop(name, None)
        sys.meta_path[:] = [_FirstImport(self, name), *(each for each in sys.meta_path if type(each) is not _FirstImport)]

    def show_import(self):
        unseen, self.unseen = self.unseen, None
        for stream, text in unseen.items():
            _show(side.state, *stream, text)
        if self.warned_at_import and "warnings" in self.watched or "logs" in self.watched and any(name == "stderr" for name, _ in unseen):
            side.signal("warned_at_import")

    def keeps(self, *request):
        """Keeps a request that a fresh interpreter is to be asked, too."""
        if not any(map(proxies.is_remote, request)):
            # What was the candidate's is gone with it.
            self.in_force = *self.in_force, request

    def replaces(self, operation, arguments, key=()):
        """Keeps a request in force as `keeps` does, where only the last one counts; `key`: the arguments that it is
        for."""
        self.in_force = tuple(each for each in self.in_force if each[0] != operation or each[1 : 1 + len(key)] != key)
        if arguments is not None:
            self.keeps(operation, *arguments)

    def is_over(self, operation, key):
        """Forgets the last request of those that begin so."""
        for at in reversed(range(len(self.in_force))):
            if self.in_force[at][0] == operation and self.in_force[at][1 : 1 + len(key)] == key:
                self.in_force = self.in_force[:at] + self.in_force[at + 1 :]
                return

    def tell_loggers(self):
        """The candidate's loggers have the levels of the tests'."""
        present = states.loggers(proxies.is_remote)
        if present != self.loggers:
            changed, self.loggers = states.changed_loggers(self.loggers, present), present
            bridge.converse(("loggers", changed))

    def replaces_global(self, name, operation, *value):
        """Keeps what the tests have made of a name of the snippet; what it has itself by that name, it has anew."""
        self.mocks.pop(name, None)
        self.replaces("set_global", None, (name,))
        self.replaces("delete_global", None, (name,))
        if not self.lost:
            self.keeps(operation, name, *value)

    def fresh(self):
        """A fresh interpreter for the candidate, if there is one to be had."""
        if _proofbox.renew():
            self.lost = None
            told, self.places = self.places.are_contexts_told, places.Places()
            self.places.are_contexts_told = told
            self.settled.clear()
            self.started = {}
            if self.lent_objects is not None:
                self.lent_objects = released.Given()
            side.state.reset()
            self._forget_told()
            side.state.printing = None
            self.load()

    def _forget_told(self):
        """A fresh interpreter has been told nothing of what the tests have changed around it."""
        if self.assigned is not None:
            self.assigned.forget_told()
        for name in self.dialects:
            sys.modules["_csv"].unregister_dialect(name)
        self.dialects.clear()
        self.changed |= {"environ", "chdir"}
        self.arguments = None
        self.input = self.own_input
        self.outputs.forget()
        if self.settings is not None:
            self.settings.forget()
        if self.filters is not None:
            self.filters.take(0, [])
            self.filters.levels.clear()

    def watch(self, text):
        """Has the candidate's warnings and log records told if the tests speak of such; and it the signatures of their functions."""
        self.tells_signatures = "annotations" in text or "defaults" in text
        if parses := [kind for word, kind in _PARSING if word in text]:
            self.parses = parses
        if "numpy" in text and _COMPARES_ARRAYS.search(text):
            self.compares_arrays = True
        if "getattr" in text:
            self.reads_by_name = True
        if "@" in text or "test_" in text:
            self.decorators = frozenset(name for names in _DECORATORS.findall(text) for name in names)
        if ".__" in text:
            proxies.watch(text)
        if "loop" in text and any(word in text for word in _OF_LOOPS):
            self.looks_at_loops = True
        if looked_at := states.looked_at(text):
            self.followed = states.Followed(looked_at)
            self.watched = looked_at
        if not _proofbox.has_any(text, _LOOKED_AT):
            return
        text = _COMMENT.sub("", text)
        found = {word for word in _ALL_WORDS if word in text}
        self.watched = [what for what, words in _WATCHED.items() if not found.isdisjoint(words)] + looked_at
        for what, words in _LOOKED_AT_LATER.items():
            if used := [word for word in words if word in found]:
                self.watched.append(what)
                self.looked_at[what] = used[0].strip("([:]=<> ")
        for word in found.intersection(_OF_ONE_INTERPRETER):
            if "sys.modules" in word and not re.search(_OF_MODULES % {"own": "|".join(map(re.escape, self.roots))}, text):
                # Of the snippet alone, which is imported anew.
                continue
            note_inexpressible(f"{word.strip('([), ')} in the tests' own interpreter")
            self.own_interpreter = side.state.violation
        match = _CONNECTS.search(text) or _SPEAKS_OF_SOCKETS.search(text) and _CONNECTS_BY_NAME.search(text)
        if match and not _MOCKS_SOCKETS.search(text):
            note_inexpressible(f"{next(filter(None, match.groups()))} in the tests' own interpreter")
            self.own_interpreter = side.state.violation
        if "logs" in self.watched:
            self.loggers = self.loggers_at_first = states.loggers(proxies.is_remote)
        if "builtins" in found:
            self.builtins = dict(vars(builtins))
        if "recursionlimit" in found:
            _carry_recursion_limit()

    def watch_snippet(self, text, code):
        """Has what the snippet alters of its interpreter altered here, too, if it says so."""
        more = []
        if names := settings.named(text, code):
            if "surroundings" in self.watched:
                names = [name for name in names if name not in settings.OF_CANDIDATE]
            self.settings = settings.Shared(names)
            self.settings.begin()
        if "warnings" in self.watched and ("filter" in code or "resetwarnings" in code):
            self.filters = settings.Filters()
            more.append("filters")
        if settings.registers(code):
            more.append("registries")
        if "sys.path" in code and "sys.path" not in self.watched and ("find_spec" in text or "import_module" in text):
            more.append("sys.path")
            self.looked_at["sys.path"] = None
        if "seed(" in code and (drawn := states.drawn_from(text)):
            followed = self.followed.names if self.followed is not None else []
            more += [name for name in drawn if name not in followed]
            self.followed = states.Followed([*followed, *(name for name in drawn if name not in followed)])
        if more:
            self.watched = [*self.watched, *more]

    def fetch(self, name):
        """Returns what the snippet calls by that name."""
        try:
            value = theirs.as_own(ask("global", name))
        except (KeyError, AttributeError):
            raise AttributeError(f"module {self.module.__name__!r} has no attribute {name!r}") from None
        if (name in sys.stdlib_module_names or name in border.ALIASES) and type(value) is not types.ModuleType:
            if not isinstance(value, type) or type(value) is proxies.ProxyType:
                side.signal("library_name_by_candidate")
        if type(value) is type:
            if name in self.decorators:
                # A class of the library in the place of a decorator: what it makes of a test may be none.
                side.signal("decorated_by_candidate")
            if value in _OF_FEW_VALUES and name != value.__name__:
                side.signal("equal_instances")
        if name in self.mocks and value is not self.mocks[name]:
            side.refuse("altered_the_tests", f"the candidate has replaced the mock {name!r}")
        if type(value) is dict:
            self.copies.append(value)
        return candidate_module.as_found(value, (None, name))

    def namespace(self, code=None, entry_point=None):
        """The snippet's names, for tests to be executed in: those that `code` mentions, or all, looked up when used."""
        if code is None:
            return candidate_module.Names(self)
        namespace = dict(candidate_module.NAMESPACE)
        self.bind(namespace, code, entry_point)
        return namespace

    def choose_entry_point(self, codes):
        """Chooses the builtin's name that means the snippet's function: the one name of the snippet that all these
        tests use.

        Only where nothing of the snippet can be reached otherwise, lest the snippet decide what the tests compare."""
        names = set().union(*map(self.names_in, codes), *map(code_names.words_of, codes)) if codes else set()
        ours = names & self.names
        if len(ours) == 1 and ours <= candidate_module.BUILTINS and not names & _REACHING and all(ours & self.names_in(code) for code in codes):
            (self.entry_point,) = ours

    def names_in(self, code):
        """Names that the code uses, looked for once."""
        known = self.used.get(id(code))
        if known is None:
            known = self.used[id(code)] = code_names.names_of(code), code
        return known[0]

    def mentioned(self, code, entry_point):
        """The snippet's names among those that `code` uses. A builtin's name is the builtin, lest the snippet decide
        what the tests compare, but for the entry point."""
        names = self.names_in(code) & self.names
        shadowing = names & candidate_module.BUILTINS
        if shadowing:
            names -= shadowing
            entry_point = entry_point or self.entry_point
            if entry_point in shadowing:
                names.add(entry_point)
            if shadowing - {entry_point}:
                side.signal("shadowed_builtin")
        if len(names) > 1:
            # One of them may decide about the other.
            side.state.signals["several_names"] = True
        return names

    def bind(self, namespace, code, entry_point=None):
        """Brings up to date what `code` mentions, but for what the tests have bound."""
        for name in self.mentioned(code, entry_point):
            if name in self.rebound and name not in candidate_module.BUILTINS:
                self._look_up_each_time(namespace)
                continue
            known = namespace.get(name, self)
            # Functions and classes stay what they are. What the tests only seem to bind is not there.
            if known is self or name not in self.stored and known is self.given.get(name) and not proxies.is_remote(known):
                namespace[name] = self.given[name] = self.fetch(name)
        self.stored |= code_names.stored_names(code)

    def _look_up_each_time(self, namespace):
        """Has globals that functions of the snippet bind be what they are when the tests use them. What the tests bind comes first."""
        if type(namespace["__builtins__"]) is not grading.Names:
            namespace["__builtins__"] = grading.Names(candidate_module.Rebound(self))

    def check_builtins(self):
        """Notes a builtin that the tests have replaced by assignment: the candidate still has the language's."""
        for name, value in self.builtins.items():
            if vars(builtins).get(name) is not value and name not in self.carried:
                note_inexpressible(f"an assignment to builtins.{name}")

    def lend(self, namespace):
        """Gives the snippet what the tests have imported of the library, as if both were one file."""
        for name, value in namespace.items():
            of_library = type(value) is types.ModuleType and origins.is_library_module(value)
            of_library = of_library or isinstance(value, type) and type(value) is not proxies.ProxyType and origins.library_name(value)
            if of_library and name not in self.names and not name.startswith("_"):
                self.lent[name] = value
        if self.lent and not self.lost:
            ask("lend", dict(self.lent))

    def attend(self, request):
        """Sends a request as `bridge.converse` does, for tests whose text says that they do more than ask."""
        state = side.state
        if self.assigned is not None:
            self.assigned.carry()
        if self.builtins is not None:
            self.check_builtins()
        if self.followed is not None and self.followed.states:
            self.followed.tell(bridge.converse)
        if self.loggers is not None:
            self.tell_loggers()
        if state.make_handles is not dict and request[0] != "release":
            state.proxies.tell()
        if self.lent_objects is not None and request[0] not in _FOR_HANDLES:
            self.lent_objects.tell(bridge.converse)
        if (loop := asyncio._get_running_loop()) is not None or self.places.present or self.places.are_contexts_told:
            self.places.tell(loop)
        return self.places.ask(request) if threads.started else bridge.converse(request)

    # Coroutines of the candidate's.

    def finished(self, handle):
        """Awaits an awaitable of the candidate's: its loop has its turn whenever ours has nothing else to do."""
        task = ask("spawn", proxies.remote_id(handle))
        cancelled, wait = None, 0.0
        try:
            while True:
                alone = False
                try:
                    alone = yield from self._pause(task, wait)
                except asyncio.CancelledError as error:
                    # So is theirs, which may still do something about it.
                    cancelled = error
                    ask("cancel", task)
                except BaseException:
                    ask("cancel", task)
                    raise
                settled, self.settled = self.settled, []
                done, succeeded, value, wait, ended = ask("turn", task, alone, settled)
                self.wake({number: future for number, future in self.waiting.items() if number in ended})
                if done:
                    break
        finally:
            # Somebody else must see now how long there is to wait.
            self.wake(self.waiting)
        if side.state.failed is not None:
            side.note_swallowed(succeeded)
        meant = getattr(handle, "_proofbox_ends_loop", False)
        if succeeded:
            if meant:
                proxies.note_item(handle, True)
                proxies.forgive(handle._proofbox_thrown)
            else:
                side.note_empty(value)
                if self.parses:
                    note_texts(self.parses, value)
            return value
        if cancelled and isinstance(value, asyncio.CancelledError):
            raise cancelled
        if isinstance(value, MemoryError):
            side.state.violation = side.state.violation or value
        # What `__anext__` gives may end a loop; nothing else does.
        if meant and isinstance(value, StopAsyncIteration):
            proxies.note_item(handle, False)
            proxies.forgive(handle._proofbox_thrown)
        elif meant:
            proxies.not_replaced(handle._proofbox_thrown, value)
        raise _at_border(value, ("special", task, "__anext__") if meant else None)

    def _pause(self, task, wait):
        """Gives way to our loop until the candidate's may go on; whether there is nothing else to do before `wait`."""
        loop = asyncio._get_running_loop()
        if loop is None:
            return True
        yield
        if wait == 0:
            return False
        ours = min((timer._when for timer in getattr(loop, "_scheduled", ()) if not timer._cancelled), default=None)
        if wait is not None and not getattr(loop, "_ready", True) and not self.settled and (ours is None or ours - loop.time() > wait):
            return True
        future = self.waiting[task] = loop.create_future()
        timer = loop.call_later(wait, _wake, future) if wait is not None else None
        try:
            yield from future
        finally:
            self.waiting.pop(task, None)
            if timer:
                timer.cancel()
        return False

    def wake(self, waiting):
        for future in list(waiting.values()):
            _wake(future)

    # A finder of modules.

    def find_spec(self, name, path=None, target=None):
        root = name.partition(".")[0]
        if root not in self.roots or root in sys.stdlib_module_names or packages.is_known(root):
            return None
        if origins.importing():
            # What the library looks for while it is imported is not the candidate's: it may execute what it finds.
            return None
        parent = sys.modules.get(name.rpartition(".")[0])
        if parent is not None and type(parent) is not candidate_module.ProxyModule and parent.__spec__ is not None:
            # Within a package of the tests (one that was made up for the candidate's module has no spec).
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = candidate_module.ProxyModule(spec.name)
        if side.state.candidate.lost:
            return module
        # The snippet is loaded at first: who imports it again has taken it out of `sys.modules`.
        object.__setattr__(module, "_proofbox_number", ask("import", spec.name, spec.name == side.state.candidate.module.__name__))
        return module

    def exec_module(self, module):
        if candidate_module.OWN_NAMESPACE.__get__(module).get("_proofbox_loaded"):
            note_inexpressible("importlib.reload")
        types.ModuleType.__setattr__(module, "_proofbox_loaded", True)


class _FirstImport:
    """Finder and loader of the snippet for the tests' first import of it: what it does then, it has done before."""

    def __init__(self, candidate, name):
        self.candidate, self.name = candidate, name

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == self.name else None

    def create_module(self, spec):
        return self.candidate.module

    def exec_module(self, module):
        sys.meta_path.remove(self)
        self.candidate.show_import()


_COMPARES_ARRAYS = re.compile(
    r"\)\.(?:all|any|max|sum|mean)\(|\b(?:np|numpy)\.(?:all|any|max|sum|mean|count_nonzero|linalg\.norm)\("
    r"|\)\s*(?:-|!=|==)\s*(?:np|numpy)\.(?:array|asarray|zeros|ones|full|arange|linspace|eye)\("
)
_SCALARS = frozenset({int, float, complex})
# Decorators, and what is called with a function of the tests.
_DECORATORS = re.compile(r"(?m)^\s*@\s*(?:\w+\.)*(\w+)|\b(\w+)\(\s*test_\w+\s*\)")
# Classes whose instances are mostly equal, whatever they are made of.
_OF_FEW_VALUES = frozenset({bool, type(None)})


def _wake(future):
    if not future.done():
        future.set_result(None)


_DECLARES_GLOBALS = re.compile(r"(?m)(?:^|[:;])[ \t]*global[ \t]+(\w+(?:[ \t]*,[ \t]*\w+)*)")


def declared_globals(code):
    """Returns the names that functions of a snippet declare as global."""
    return frozenset(re.findall(r"\w+", ",".join(_DECLARES_GLOBALS.findall(code))))


# What tests look at in their own interpreter, by words of their source: told by the candidate's ...
_WATCHED = {
    "warnings": ("warn", "Warn", "deprecated_call"),
    "logs": ("caplog", "Logs(", "logging", "getLogger("),
    "surroundings": ("environ", "getenv", "getcwd", "Path.cwd", "recursionlimit", "chdir", "abspath", ".resolve()", "expandvars", "expanduser"),
    "seeds": ("seed",),
    "dialects": ("dialect",),
    "printing": ("print(", "stdout"),
}
# ... what is told of if the candidate alters it, and then can't be seen ...
_LOOKED_AT_LATER = {
    "threads": ("current_thread(", "main_thread(", "get_ident(", "get_native_id(", "threading.local", "import local", "ContextVar("),
    "sys.path": ("sys.path ==", "== sys.path", "list(sys.path)", "tuple(sys.path)", "sys.path[:]", "sys.path.copy()", "len(sys.path)"),
}
# ... and what can't be.
_OF_ONE_INTERPRETER = (
    "tracemalloc", "random.getstate", "get_state(", "gc.get_", "sys.settrace", "sys.setprofile",
    "sys.modules[", "sys.modules.pop", ", sys.path)", " in sys.path", "addaudithook", "meta_path", "cProfile",
    "sys.monitoring", " in sys.modules", "active_count(", "threading.enumerate(", "all_tasks(", "setlocale(",
)  # fmt: skip
# An entry of `sys.modules` that is none of the candidate's.
_OF_MODULES = r"""sys\.modules(?:\[|\.pop\()(?!\s*["'](?:%(own)s)["'])|["'](?!(?:%(own)s)["'])[\w.]+["']\s+(?:not\s+)?in\s+sys\.modules"""
# What a loop of the tests is told, and asked of it, is not the candidate's loop's.
_OF_LOOPS = ("exception_handler", "task_factory", ".set_debug", ".get_debug", ".is_closed", ".is_running")
# Sockets connect within one interpreter. Tests that make, take or serve connections have the candidate at the other end.
_CONNECTS = re.compile(
    r"(\basyncio\.open_connection|\basyncio\.start_server|\bServerProxy)\(|(\b\w*(?:HTTP|TCP|UDP|XMLRPC)Server)\(\s*\(|(\burlopen|\brequests\.\w+|\bHTTPConnection)\(\s*f?['\"](?:http://)?(?:localhost|127\.0\.0\.1)"
)
# Others have methods and functions of these names too: they count where the tests speak of sockets.
_SPEAKS_OF_SOCKETS = re.compile(r"\b(?:socket|asyncio)\b")
_CONNECTS_BY_NAME = re.compile(
    r"(\.connect(?:_ex)?|\bcreate_connection|\bcreate_server)\(\s*\(|(\.accept)\(\)|(\.sendto)\("
    r"|(?<!def )(\bopen_connection|\bstart_server|\bcreate_datagram_endpoint)\("
)
_SOCKET_WORDS = (
    ".connect", "create_connection(", "create_server(", ".accept()", ".sendto(", "open_connection(", "start_server(", "ServerProxy(",
    "create_datagram_endpoint(", "Server(", "urlopen(", "requests.", "HTTPConnection(",
)  # fmt: skip
_MOCKS_SOCKETS = re.compile(r"(?:patch(?:\.object)?|setattr)\(\s*['\"]?[\w.]*\bsocket\b")
_COMMENT = re.compile(r"(?m)(?:^|(?<=\s))#.*$")
# Requests that alternate with others, and those whose answer is an object's.
_OF_TASKS = frozenset({"turn", "spawn", "cancel"})
_OF_OBJECTS = frozenset({"call", "get", "index", "special", "global"})
_WATCHED_WORDS = tuple(word for words in _WATCHED.values() for word in words)
_LATER_WORDS = tuple(word for words in _LOOKED_AT_LATER.values() for word in words)
_ALL_WORDS = (*_OF_ONE_INTERPRETER, *_WATCHED_WORDS, *_LATER_WORDS, "builtins")
# A text without these has none of those.
_LOOKED_AT = (*(word for word in (*_OF_ONE_INTERPRETER, *_LATER_WORDS) if "sys.path" not in word), *_WATCHED_WORDS, *_SOCKET_WORDS, "sys.path", "builtins")
# By these a function can be reached without its name.
_REACHING = frozenset({"getattr", "globals", "vars", "locals", "eval", "exec", "__import__", "import_module", "modules", "__dict__", "solution"})


# Requests that leave an honest object as it is, so that it has as many items after them as before.
_READING = frozenset({"get", "dir", "index", "is", "signature", "copy", "pickle", "release", "collect"})
_FOR_HANDLES = frozenset({"release", "load", "watch"})
_MEASURING = frozenset({"__len__", "__length_hint__", "__bool__", "__iter__", "__next__", "__reversed__", "__getitem__", "__contains__", "__eq__", "__str__", "__repr__"})


def _tell_of_changes(candidate):
    """Tells the candidate what the tests have changed around it since the last request."""
    while candidate.changed:
        what = candidate.changed.pop()
        if what == "environ":
            bridge.converse(("environ", {name: value for name, value in os.environ.items() if not name.startswith(border.PRIVATE_VARIABLES)}))
        else:
            with contextlib.suppress(OSError):  # a directory of the tests' own
                bridge.converse(("chdir", os.getcwd()))
    if sys.argv != candidate.arguments:
        candidate.arguments = [str(each) for each in sys.argv]
        bridge.converse(("argv", candidate.arguments))
    told = candidate.outputs
    if sys.stdout is not told.stdout or sys.stderr is not told.stderr:
        told.tell()
    if sys.stdin is not candidate.input:
        if candidate.input is not candidate.own_input:
            bridge.converse(("unpatch", "sys", (), "stdin"))
        candidate.input = sys.stdin
        if sys.stdin is not candidate.own_input:
            bridge.converse(("patch", "sys", (), "stdin", sys.stdin))
    if candidate.settings is not None:
        candidate.settings.tell()


def _at_border(error, request):
    """Returns what a steering exception becomes; if that is another one, it is not what the tests may have expected."""
    become = border.at_border(error, request)
    if become is not error:
        side.signal("steering_exception")
        become._proofbox_refused = side.Refused(f"{become} outside of what it means (grading: isolated)")
        side.state.violation = side.state.violation or become._proofbox_refused
    return become


def meant(error, expected):
    """The steering exception that a RuntimeError stands for, if the tests expect that one and nothing else can come of it."""
    given = getattr(error, "_proofbox_meant", None)
    steering = (*border.STEERING, *border.STEERING_IN_THREADS)
    if given is None or not any(issubclass(each, steering) and isinstance(given, each) for each in expected):
        return error
    if side.state.violation is error._proofbox_refused:
        side.state.violation = None
    return given


# What hears of all requests, and all answers, if somebody must (foreign_files.py).
asked = answered = None


def ask(*request):
    """Sends a request as `bridge.ask` does; what the candidate prints meanwhile is shown where the tests have it
    shown."""
    state = side.state
    candidate = state.candidate
    if candidate.lost:
        raise candidate.lost
    operation = request[0]
    if operation not in _READING and not (operation == "special" and request[2] in _MEASURING):
        state.changes += 1
    try:
        # Nothing comes before that: what is printed meanwhile is what the snippet prints when it is loaded.
        loads = operation == "load"
        if not loads:
            _tell_of_changes(candidate)
        before = asked(request) if asked is not None else None
        value = candidate.attend(request) if candidate.attends and not loads else bridge.converse(request)
        if state.has_stand_ins and (operation == "signature" or operation == "get" and request[2] in border.LOOKED_AT_ONLY) and not foreign_files.serving.get():
            value = theirs.as_named(value)
        if state.cut_names and operation == "get" and request[2] == "__qualname__" and type(value) is str:
            value = state.cut_names.get(value, value)
        if answered is not None:
            answered(value, request, before)
        kind = type(value)
        if state.failed is not None and operation not in _OF_TASKS:
            side.note_swallowed(True)
        if kind in side.MAY_BE_EMPTY and operation in _OF_OBJECTS and not (operation == "get" and request[2][:2] == "__"):
            if not value or kind in side.TEXTS and value.isspace():
                # A loop over it checks nothing.
                state.signals["empty_result"] = True
            elif candidate.parses:
                note_texts(candidate.parses, value)
        called = operation == "call"
        if state.makers and called and request[1] in state.makers:
            operators.note_made(request[1], (*request[2], *request[3].values()), value)
        if called and request[2] and type(request[2][0]) in _DECORATED:
            _note_decorated(request[2][0], value)
        if candidate.compares_arrays and operation in _OF_OBJECTS and (kind in _SCALARS or kind is tuple and not _SCALARS.isdisjoint(map(type, value))):
            side.signal("broadcast_comparison")
        if called and type(kind) is not proxies.ProxyType:
            state.values += 1
        elif candidate.waiting and operation not in _OF_TASKS:
            # It may have given one of its tasks something to do.
            candidate.wake(candidate.waiting)
        return value
    except bridge.CandidateGone as error:
        candidate.lost = error
        if error.type_name == "SystemExit" and candidate.names is not None:
            # It has ended its interpreter, by whatever means.
            side.signal("interpreter_ended")
        raise
    except bridge.marshal.CannotCross as error:
        state.violation = state.violation or error
        raise
    except NameError as error:
        # In one interpreter the snippet would find what the tests have imported.
        if type(error.name) is str and hasattr(sys.modules.get("tests"), error.name):
            note_inexpressible(f"the snippet uses {error.name!r}, a name of the tests")
        raise
    except MemoryError as error:
        state.violation = state.violation or error
        raise
    except (*border.STEERING, *border.STEERING_IN_THREADS) as error:
        become = _at_border(error, request)
        if become is error:
            raise
        raise become from None
    except Exception as error:
        if answered is not None:
            answered([*error.args, getattr(error, "filename", None)])
        if error.__context__ is not None and side.tells_of_failure(error.__context__) and operation != "special":
            # `with raises(Closed): with closing(x): assert ...`
            side.signal("suppressed_assertion")
        raise
    finally:
        if state.failed is not None and operation not in _OF_TASKS:
            side.note_swallowed(False)
        show_printed(state)


def show_printed(state):
    """Shows what the candidate has printed where the tests have it shown."""
    told = state.candidate.outputs
    if not told.written and told.fixture is None:
        return
    for stream, content in told.taken():
        _write(state, stream, content)


def _write(state, stream, content):
    text = content.decode("utf-8", "replace")
    if answered is not None:
        answered(text)
    if state.candidate.parses:
        note_texts(state.candidate.parses, text)
    stream.write(text)


def _show(state, name, own, content):
    stream = proxies.under(getattr(sys, name))
    if stream is not own:
        _write(state, stream, content)


# A name that a module has once it has warned.
_WARNINGS = "__warningregistry__"


def _all_printed():
    """Returns by stream what the candidate has printed since it was last asked something."""
    return {(name, own): text for number, name, own in side.state.streams if (text := _proofbox.printed(number))}


# By words of the tests' text: what they make of texts and bytes.
_PARSING = (("json", "json"), ("struct", "bytes"), ("frombuffer", "bytes"), ("frombytes", "bytes"), ("float(", "number"), ("Decimal(", "number"))
_NO_NUMBER = re.compile(r"(?<![^\s:;,=(\[])[+-]?(?:(s?nan)|inf(?:inity)?)(?![^\s:;,)\]])", re.IGNORECASE)
_EMPTY_JSON = re.compile(r'\[\s*\]|\{\s*\}|"\s*"')
# ... or too large: of an exponent of 150 on, as of numbers.
_INFINITE_JSON = re.compile(r"Infinity|\d[eE]\+?0*(?:1[5-9]\d|[2-9]\d\d|[1-9]\d{3,})(?!\d)")
# How much of binary data is looked at.
_MAX_BINARY = 1 << 16


def note_texts(parses, value):
    """Does as `_note_parsed` with a text and with all in a container."""
    for each in side.within(value):
        if type(each) in side.TEXTS and each:
            _note_parsed(parses, each)


def _note_parsed(parses, value):
    """Signals that what tests read in a text or bytes of the candidate may be no number, or nothing."""
    if "json" in parses:
        text = value if type(value) is str else value.decode("utf-8", "replace")
        if "NaN" in text:
            side.signal("not_a_number")
        if _INFINITE_JSON.search(text):
            side.signal("infinite")
        if _EMPTY_JSON.search(text):
            side.signal("empty_result")
    if "number" in parses and (found := _NO_NUMBER.search(value if type(value) is str else value.decode("utf-8", "replace"))):
        side.signal("not_a_number" if found[1] else "infinite")
    if "bytes" in parses and type(value) is bytes:
        data = value[: min(len(value), _MAX_BINARY) // 8 * 8]
        if any(number != number for order in "<>" for (number,) in struct.iter_unpack(order + "d", data)):
            side.signal("not_a_number")


_DECORATED = (types.FunctionType, type)


def _note_decorated(given, value):
    """The candidate has given something else for a function or class of the tests: what theirs asserts may be gone."""
    if value is given or type(given) is type and origins.is_of_library(given):
        return
    frame = sys._getframe(2)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("_proofbox"):
        frame = frame.f_back
    if proxies.is_remote(value) or frame is None or _replaces(value, frame):
        side.signal("decorated_by_candidate")


def _replaces(value, frame):
    """Returns whether the value of a call stands where its argument did: that of a decorator always does, that of
    another call if it can be called, or gets a name in a module or class."""
    code, at = frame.f_code.co_code, frame.f_lasti
    if code[at] != _CALL:
        return callable(value)
    # Python calls a decorator as if its argument were its object.
    return code[at + 1] == 0 or callable(value) or code[at + _SIZE_OF_CALL] in _NAMES


_CALL, _SIZE_OF_CALL = opcode.opmap["CALL"], 2 + 2 * sum(opcode._cache_format["CALL"].values())
_NAMES = frozenset(opcode.opmap[name] for name in ("STORE_NAME", "STORE_GLOBAL", "STORE_ATTR"))


def _rest(seconds, in_loop):
    """Time passes for the candidate while the tests sleep."""
    candidate = side.state.candidate
    if not candidate.lost and not candidate.places.resting:
        ask("rest", float(seconds), in_loop)


def connect(module, modules):
    """Makes the candidate known to the tests as `module`."""
    side.state = state = side.State()
    state.grader = True
    state.ask, state.perform, state.on_protocol_error = ask, served.perform, served.on_protocol_error
    state.refresh, state.check_may_leave, state.inexpressible = candidate_module.refresh, served.check_may_leave, note_inexpressible
    state.finished = lambda handle: state.candidate.finished(handle)
    state.streams = (1, "stdout", sys.stdout), (2, "stderr", sys.stderr)
    state.noted = []
    state.candidate = Candidate(module, modules)
    threads.rest = _rest
    commands.environment_of = _environment_of_command
    return state.candidate


def _environment_of_command(environment):
    """Of the environment of a command of the tests, what the candidate may see. The command runs where the candidate's own do,
    among its files, so that what it answers is the candidate's to decide."""
    side.signal("command_by_tests")
    return {name: value for name, value in environment.items() if not name.startswith(border.PRIVATE_VARIABLES)}


def fail_case(what):
    """The open case has not passed, for what the candidate has done: that brings about no other grading."""
    if side.state.violation is None:
        side.state.violation = side.Refused(f"{what} (grading: isolated)")


def note_not_carried(error, what):
    """Something that the tests have replaced, and the candidate has not. Only a value of theirs that can't cross is for the
    tests to be known by; what C raises is its own."""
    side.state.violation = side.state.violation or error
    if isinstance(error, TypeError) and not hasattr(error, "_proofbox_text"):
        note_inexpressible(what)


def note_inexpressible(what):
    """Something that can't be said when the tests run apart from the candidate: the open case has not passed."""
    state = side.state
    if state and state.grader:
        if what not in state.noted:
            state.noted.append(what)
            _proofbox.post(("inexpressible", what))
        if state.violation is None:
            state.violation = side.Refused(f"{what}: that can't be said when tests run apart from the candidate (grading: isolated)")
