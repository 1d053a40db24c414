"""Tasks and threads of the tests that ask: on the candidate's side each has a context or a thread of its own.

A *place* is a task of the tests' event loop. Before its first request it is told, with the place that it was made in: the
candidate then has a running loop, and the context variables that belong there.

A request of a thread is carried out by a thread of the candidate's side. Where that one waits for a lock or for time to
pass, the reply says so, and the tests' other threads go on; so what one thread of the tests waits for another one can do,
and their time limits pass. While the candidate's main thread waits, it lets the tests' threads go on."""

import asyncio
import contextvars
import threading
from weakref import WeakKeyDictionary

import _proofbox_border as border
import _proofbox_bridge as bridge
import _proofbox_side as side
import _proofbox_threads as threads

# ---------------------------------------------------------------- the tests' side

_place = contextvars.ContextVar("place", default=0)
# Requests that may have to wait for another thread.
BLOCKING = frozenset({"call", "special", "get", "set", "del", "index"})


def _calls():
    """The requests that are being carried out: from the first thread on they are kept."""
    state = side.state
    if state.calls is None:
        state.calls = []
    return state.calls


class Places:
    """State of the candidate's side: the tests' tasks and threads."""

    are_contexts_told = False  # whether the tests copy contexts, to run what they ask in them

    def __init__(self):
        self.present = self.last = 0
        self.numbers = None  # of tasks, and of loops for what runs in no task
        self.idents = set()  # of threads that have asked
        self.beside = False  # whether there are threads that can go on while the main one asks
        self.resting = False  # whether they do
        self.upcoming = None  # the next turn of the candidate's own tasks: the loop, and its handle there

    def tell(self, loop):
        """Says where the next request comes from."""
        number = _place.get() if loop is None and self.are_contexts_told else 0
        if loop is not None:
            if self.numbers is None:
                self.numbers = WeakKeyDictionary()
            key = asyncio.current_task(loop) or loop
            number = self.numbers.get(key)
            if number is None:
                self.last += 1
                number = self.numbers[key] = self.last
        if number != self.present:
            self.present, parent = number, _place.get()
            if number:
                _place.set(number)
            bridge.converse(("place", number, parent, loop is not None))

    def start(self, coroutine, place, kept):
        """Starts a coroutine of the tests for a task of the candidate: in the context of the tests' task to which that one belongs,
        or in a copy of it, which belongs to a context that the candidate has kept."""
        loop = asyncio.get_running_loop()
        asker = next((task for task, number in (self.numbers or {}).items() if number == place), None) if place else None
        context = asker.get_context() if isinstance(asker, asyncio.Task) else None
        if context is not None and not kept:
            task = loop.create_task(coroutine, context=context)
            self.numbers[task] = place
            return task
        if kept:
            # Of a task without a place, which has a context that nobody has given it.
            context = context.copy() if context is not None else contextvars.Context() if not place else contextvars.copy_context()
            context.run(_place.set, kept)
        return loop.create_task(coroutine, context=context)

    def copy_context(self, copy):
        """A copy of the present context, with one of the candidate's beside it: a place of its own."""
        context = copy()
        if side.state.candidate.lost is None:
            self.tell(asyncio._get_running_loop())
            self.last += 1
            context.run(_place.set, self.last)
            present, self.present = self.present, self.last
            bridge.converse(("place", self.last, present, False))
        return context

    def ask(self, request):
        """Sends a request as `bridge.converse` does, if there are or were threads."""
        _calls()
        if threads.is_main():
            beside = threads.has_others()
            if beside != self.beside:
                self.beside = beside
                bridge.converse(("beside", beside))
            return bridge.converse(request)
        return self._ask_from_thread(request) if request[0] in BLOCKING else bridge.converse(request)

    def _ask_from_thread(self, request):
        state, ident = side.state, threading.get_ident()
        alive = None
        if not self.beside:
            self.beside = True
            bridge.converse(("beside", True))
        if ident not in self.idents:
            alive = threads.idents()
            self.idents.intersection_update(alive)
            self.idents.add(ident)
        done, succeeded, value, wait = bridge.converse(("in_thread", ident, alive, _place.get(), request))
        while not done:
            changes = state.changes
            threads.wait(lambda: state.changes != changes, wait, "the candidate")
            done, succeeded, value, wait = bridge.converse(("go_on", ident))
        shape = border.REPLIES[request[0]]
        if succeeded and shape and not border.SHAPES[shape](value):
            state.on_protocol_error()
        if succeeded:
            return value
        raise value

    def rest(self, seconds):
        """Lets threads go on while the candidate's main thread waits; whether one of them has asked something, or will be able
        to go on later."""
        state = side.state
        changes = state.changes
        self.resting = True
        try:
            asked = threads.wait(lambda: state.changes != changes, seconds, "the candidate", is_patient=True)
            return bool(asked) or threads.seconds_left() is not None
        finally:
            self.resting = False

    def stirred(self):
        """The candidate has made tasks that nobody awaits: they have their turns with the tests'."""
        loop = asyncio._get_running_loop()
        if loop is not None:
            self._let_turn(loop, 0)

    def _let_turn(self, loop, seconds):
        if self.upcoming is not None and self.upcoming[0] is loop:
            self.upcoming[1].cancel()
        self.upcoming = loop, loop.call_later(seconds, self._turn, loop) if seconds else loop.call_soon(self._turn, loop)

    def _turn(self, loop):
        state, self.upcoming = side.state, None
        candidate = state.candidate
        if candidate.lost is None:
            settled, candidate.settled = candidate.settled, []
            _, _, _, wait, ended = state.ask("turn", 0, False, settled)
            candidate.wake({number: future for number, future in candidate.waiting.items() if number in ended})
            if wait is not None:
                self._let_turn(loop, wait)


# ---------------------------------------------------------------- the candidate's side

# Contexts that are kept.
_MAX_CONTEXTS = 1024
_WAITING = "the tests"


class Theirs:
    """The tests' tasks and threads, as the candidate's side follows them."""

    def __init__(self, operations, tasks):
        self.operations, self.tasks = operations, tasks
        self.contexts = {}  # by place
        self.present = self.kept = 0
        self.entered = []
        self.workers = {}  # by ident of the tests' thread
        self.stirred = False

    # Tasks.

    def place(self, number, parent, in_loop):
        if number in self.contexts:
            # The one that was used last is the last to go.
            self.contexts[number] = self.contexts.pop(number)
        elif number:
            while len(self.contexts) >= _MAX_CONTEXTS:
                del self.contexts[next(iter(self.contexts))]
            within = self.contexts.pop(parent, None)
            if within is not None:
                self.contexts[parent] = within
            context = self.contexts[number] = within.copy() if within else contextvars.copy_context()
            context.run(_place.set, number)
        self.present = number
        asyncio._set_running_loop(self.tasks().loop if in_loop else None)
        side.state.perform = self.perform

    def awaiting(self):
        """The place to which the task of the candidate belongs that awaits something of the tests, and a place of its own if it is
        none that the tests have made: then its context is a copy."""
        place = _place.get()
        task = asyncio.current_task()
        if not self.contexts or task is None or task.get_context() is self.contexts.get(place):
            return place, 0
        self.kept -= 1
        while len(self.contexts) >= _MAX_CONTEXTS:
            del self.contexts[next(iter(self.contexts))]
        self.contexts[self.kept] = contextvars.copy_context()
        return place, self.kept

    @property
    def context(self):
        return self.contexts.get(self.present)

    def perform(self, operation, *arguments):
        """Carries out a request in the context of the task that asks."""
        context, function = self.context, self.operations[operation]
        if context is None or operation not in BLOCKING or any(each is context for each in self.entered) or _is_entered(context):
            return function(*arguments)
        self.entered.append(context)
        try:
            return threads.run_in_context(context, function, arguments, {})
        finally:
            self.entered[:] = [each for each in self.entered if each is not context]
            loop = self.tasks().loop
            if not self.stirred and (loop._ready or loop._scheduled):
                self.stirred = True
                side.state.ask("stirred")

    # Threads.

    def in_thread(self, ident, alive, place, request):
        if alive is not None:
            for other in self.workers.keys() - set(alive):
                self.workers.pop(other).end()
        worker = self.workers.get(ident)
        if worker is None:
            worker = self.workers[ident] = Worker(self.operations)
        # Of `asyncio.to_thread`: it runs in the context of the task that waits for it.
        context = self.contexts.get(place)
        worker.job, worker.outcome = (context and context.copy(), request), None
        return self.go_on(ident)

    def go_on(self, ident):
        """Lets threads go on until this one's request is carried out, or all of them wait."""
        worker, calls = self.workers[ident], _calls()
        call = calls[-1] if calls else None
        while worker.outcome is None and threads.can_go_on(_WAITING):
            threads.wait(lambda: (calls[-1] if calls else None) is call, None, _WAITING, is_patient=True)
        if worker.outcome is None:
            return False, True, None, threads.seconds_left()
        succeeded, value = worker.outcome
        worker.outcome = None
        return True, succeeded, value, None

    def beside(self, are_there):
        _calls()
        threads.beside = (lambda seconds: side.state.ask("rest", seconds)) if are_there else None


def _is_entered(context):
    """Returns whether a task of the candidate that runs in this place has called back, and is asked something now."""
    try:
        context.run(int)
    except RuntimeError:
        return True
    return False


class Worker:
    """A thread that carries out what a thread of the tests asks for."""

    def __init__(self, operations):
        self.operations = operations
        self.job = self.outcome = None
        self.over = False
        threading.Thread(target=self._run, daemon=True).start()

    def end(self):
        self.over = True

    def _has_job(self):
        return self.over or self.job is not None

    def _run(self):
        while True:
            while not self._has_job():
                threads.wait(self._has_job, None, _WAITING, is_patient=True)
            if self.over:
                return
            (context, (operation, *arguments)), self.job = self.job, None
            keywords = {}
            try:
                function = self.operations[operation]
                if operation == "call":
                    # Without a call from C in between, below which no other thread could go on.
                    number, arguments, keywords = arguments
                    function, arguments, keywords = threads.plain(side.state.objects[number], arguments, keywords)
                outcome = True, threads.run_in_context(context, function, arguments, keywords) if context else function(*arguments, **keywords)
            except BaseException as error:
                outcome = False, error
            self.outcome = outcome
            operation = arguments = keywords = function = outcome = context = None
