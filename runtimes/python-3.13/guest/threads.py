"""Threads that take turns: one runs until it waits or ends, then the next.

A thread is a fiber: its frames are kept while it waits (threads.c). All that waits in Python (`join`, locks, conditions
and what is made of them, `time.sleep`) comes to `wait`, which chooses who goes on: threads in the order in which they
began to wait, of those whose wait is over. So a program's threads run in the same order each time.

Nothing of this is at work before a program starts a thread, but for calls that would block."""

import functools
import os
import sys
import threading
import time
from functools import partial
from types import FunctionType, MethodType

import _proofbox
import _thread
from _proofbox_unsupported import refusal

__all__ = ["can_go_on", "end", "idents", "is_main", "seconds_left", "execute", "guarded", "guarding", "install", "may_start", "pause", "plain", "run_in_context", "settle", "shut_down", "sleep_in_loop", "wait", "work_in_pools"]

MAX_THREADS = 256
# Of a sleep while the main thread waits: between two of them it hears of interrupts. In seconds.
SLICE = 0.2
# Longest time that a cell waits at its end for threads, in seconds.
SETTLING = 1.0
# Threads that the text of a deadlock names.
NAMED = 8
DEADLOCK = "deadlock: "
# What a thread of the candidate is told that waits for what is the tests': it may try again.
NOT_YET = "deadlock: nobody is about to release what is the tests'"
ALONE = "deadlock: no other thread exists that could release this lock"
TAKE_TURNS = "deadlock: threads run one after the other here, and none of them can go on"

_begin, _end = _proofbox.threads_begin, _proofbox.threads_end
_can_run = _proofbox.threads_can_run
_is_free = _proofbox.threads_is_free
_interrupted = _proofbox.threads_interrupted
_monotonic, _idle = time.monotonic, time.sleep
_get_ident = _thread.get_ident

rest = None  # rests in the place of this interpreter: for seconds, and whether within an event loop
beside = None  # lets what runs beside this interpreter go on, for seconds at most; whether anything was asked meanwhile
started = False  # whether there was ever a thread besides the main one
_ending = False


class _Fiber:
    __slots__ = ("attempt", "call", "deadline", "error", "handle", "ident", "is_patient", "is_returning", "number", "outcome", "what")

    def __init__(self, ident, call, handle, number=None):
        self.ident = ident
        self.call = call  # function, arguments, keywords
        self.handle = handle
        self.number = number  # of its stack; None before it has run
        self.attempt = self.deadline = self.error = self.outcome = None
        self.is_patient = self.is_returning = False
        self.what = ""


_main = _Fiber(_get_ident(), None, None, 0)
_running = _main
_waiting = []  # in the order in which they began to wait, or were started
_spare = []  # numbers of stacks whose threads have ended
_alive = set()  # handles of threads that have not ended, but for the main one
_last_ident = _main.ident


# ---------------------------------------------------------------- waiting


def wait(attempt, timeout, what, *, is_returning=False, is_patient=False):
    """Lets other threads run until `attempt()` is true, or `timeout` seconds have passed (then the result is False). It is
    called from other threads too, and must change nothing. Where nobody can go on, a RuntimeError comes, or False if
    `is_patient`."""
    global _running
    fiber = _running
    deadline = None if timeout is None else _monotonic() + timeout
    if not _begin(is_returning):
        return _wait_alone(attempt, deadline)
    fiber.attempt, fiber.deadline, fiber.what = attempt, deadline, what
    fiber.is_returning, fiber.is_patient = is_returning, is_patient
    fiber.outcome = fiber.error = None
    _waiting.append(fiber)
    try:
        chosen = _choose()
    except BaseException:
        _waiting.remove(fiber)
        _end()
        raise
    _waiting.remove(chosen)
    if chosen is not fiber:
        _running, failure = chosen, None
        try:
            if chosen.number is None and _spare:
                chosen.number = _spare.pop()
            if chosen.number is None:
                chosen.number = _proofbox.threads_open()
                _run_threads()
            else:
                _leave(chosen.number)
        except BaseException as error:
            failure = error
        if not _proofbox.threads_arrive():
            # As when there is no memory for another stack.
            _running = fiber
            _waiting.remove(fiber)
            _waiting.insert(0, chosen)
            _end()
            raise failure or SystemError("threads can't be changed here")
        # Here a thread goes on that another one has chosen.
    _end()
    if fiber.error is not None:
        error, fiber.error = fiber.error, None
        raise error
    return fiber.outcome


def _wait_alone(attempt, deadline):
    """While a thread is chosen no other one can run: a finalizer wants to wait, or a tracer."""
    if attempt is not None and attempt():
        return True
    if deadline is None:
        raise RuntimeError(ALONE)
    _sleep(max(0, deadline - _monotonic()))
    return attempt is not None and attempt()


def _leave(number):
    _proofbox.threads_leave(number)


def _choose():
    """Chooses who goes on; perhaps who asks."""
    while True:
        if _interrupted() and _main in _waiting and _can_run(0):
            _main.outcome = False
            return _main
        now = None
        for fiber in _waiting:
            if fiber.number is None:
                return fiber
            if not _can_run(fiber.number):
                continue
            if fiber.attempt is not None and fiber.attempt():
                fiber.outcome = True
                return fiber
            if fiber.deadline is not None:
                if now is None:
                    now = _monotonic()
                if fiber.deadline <= now:
                    return _most_overdue()
        deadlines = [fiber.deadline for fiber in _waiting if fiber.deadline is not None and _can_run(fiber.number)]
        if not deadlines:
            if beside is not None and _running is _main and not _main.is_returning and _let_others(beside, SLICE):
                continue
            return _break_deadlock()
        _pause(min(deadlines) - _monotonic())


def _most_overdue():
    """Of those whose time is up the one whose time was up first, as if all had been woken at once."""
    first = min((fiber for fiber in _waiting if fiber.deadline is not None and _can_run(fiber.number)), key=_deadline_of)
    first.outcome = first.attempt is not None and bool(first.attempt())
    return first


def _deadline_of(fiber):
    return fiber.deadline


def _sleep(seconds, in_loop=False):
    if beside is not None and _running is _main and type(seconds) in (int, float) and seconds > 0:
        end = _monotonic() + seconds
        while (left := end - _monotonic()) > 0:
            beside(left)
        return None
    if rest is None or type(seconds) not in (int, float) or seconds <= 0:
        return _idle(seconds)
    end = _monotonic() + seconds
    rest(seconds, in_loop)
    _idle(max(0, end - _monotonic()))


def sleep_in_loop(seconds):
    """The sleep of an event loop that has nothing else to do."""
    _sleep(seconds, True)


def _pause(seconds):
    if seconds <= 0:
        return
    if _running is _main and not _main.is_returning:
        _let_others(_sleep if beside is None else beside, seconds)
    else:
        _sleep(min(seconds, SLICE))


def _let_others(function, seconds):
    """Calls `function(seconds)` in the main thread, which may be asked to do other things meanwhile, and to wait."""
    waited = _main.attempt, _main.deadline, _main.what, _main.is_patient, _main.outcome, _main.error
    place = _waiting.index(_main)
    del _waiting[place]
    _end()  # from here on an interrupt is raised
    try:
        return function(seconds)
    finally:
        _begin(False)
        _main.attempt, _main.deadline, _main.what, _main.is_patient, _main.outcome, _main.error = waited
        _waiting.insert(place, _main)


def _break_deadlock():
    """The thread that hears of it: the main one, if it can go on, else the one whose call from C is in the way of others."""
    ranks = [(_can_run(fiber.number), fiber) for fiber in _waiting]
    if _main in _waiting and _can_run(0) and not _main.is_returning:
        victim = _main
    else:
        victim = max(ranks, key=lambda ranked: (not ranked[1].is_returning, ranked[0]))[1]
    victim.outcome = False
    if not victim.is_patient:
        if _ending and victim.handle is not None and victim.handle.is_daemon:
            victim.error = SystemExit()
        else:
            victim.error = RuntimeError(_describe())
    return victim


def _describe():
    if len(_waiting) == 1 and not _alive:
        return ALONE
    texts = []
    for fiber in _waiting[:NAMED]:
        what = fiber.what
        text = f"{_name_of(fiber)} waits for {what() if callable(what) else what}"
        if not _can_run(fiber.number):
            ready = fiber.is_returning or fiber.attempt is not None and fiber.attempt()
            text += ", and could go on" * ready + " below another thread's call from C"
        texts.append(text)
    if len(_waiting) > NAMED:
        texts.append(f"{len(_waiting) - NAMED} more wait")
    return f"{TAKE_TURNS}: {'; '.join(texts)}"


def _name_of(fiber):
    thread = threading._active.get(fiber.ident)
    return thread.name if thread is not None else f"thread {fiber.ident}"


def pause():
    """Lets those run that can."""
    if _waiting:
        wait(_at_once, None, "its turn")


def _at_once():
    return True


def end(ident):
    """Has a thread end where it waits, as by SystemExit."""
    for fiber in _waiting:
        if fiber.ident == ident and fiber.number is None:
            fiber.call = _at_once, (), {}
        elif fiber.ident == ident:
            fiber.attempt, fiber.error = _at_once, SystemExit()


def is_main():
    """Returns whether the main thread asks."""
    return _running is _main


def idents():
    """Idents of all threads besides the main one."""
    return [handle.ident for handle in _alive]


def can_go_on(*but):
    """Returns whether a thread that waits could go on now; not of those that wait for what is named."""
    now = _monotonic()
    for fiber in _waiting:
        if fiber.number is None:
            return True
        if fiber.what in but and not (fiber.handle is not None and fiber.attempt()) or not _can_run(fiber.number):
            continue
        if fiber.attempt is not None and fiber.attempt() or fiber.deadline is not None and fiber.deadline <= now:
            return True
    return False


def seconds_left():
    """Seconds until the first of those that wait for a time can go on, or None."""
    deadlines = [fiber.deadline for fiber in _waiting if fiber.deadline is not None]
    return max(0.0, min(deadlines) - _monotonic()) if deadlines else None


def has_others():
    """Returns whether there are threads besides the one that asks."""
    return _running is not _main or bool(_alive)


# ---------------------------------------------------------------- threads


def _run_threads():
    """The first frame of a stack. Threads run on it one after the other, and it never returns."""
    global _running
    _proofbox.threads_adopt()
    while True:
        fiber = _running
        try:
            _end()
            _run(fiber)
        except BaseException:
            pass
        try:
            _proofbox.threads_forget()
        except BaseException:
            pass
        _begin(False)
        fiber.handle.state = DONE
        _alive.discard(fiber.handle)
        number = fiber.number
        while True:
            try:
                chosen = _choose()
                _waiting.remove(chosen)
                break
            except BaseException:
                continue
        _running, fiber = chosen, None
        if chosen.number is None:
            chosen.number = number
            continue
        _spare.append(number)
        try:
            _leave(chosen.number)
        except BaseException:
            pass
        _proofbox.threads_arrive()


def _run(fiber):
    _proofbox.threads_identify(fiber.ident)
    function, arguments, keywords = fiber.call
    fiber.call = None
    try:
        function(*arguments, **keywords)
    except SystemExit:
        pass
    except BaseException as error:
        _report(error, function)
    finally:
        if sys.gettrace():
            sys.settrace(None)
        if sys.getprofile():
            sys.setprofile(None)


class _Unraisable:
    """Argument of sys.unraisablehook; its own type can't be made in Python."""

    def __init__(self, error, text):
        self.exc_type, self.exc_value, self.exc_traceback = type(error), error, error.__traceback__
        self.err_msg, self.object = text, None


def _report(error, function):
    try:
        unraisable = _Unraisable(error, f"Exception ignored in thread started by {function!r}")
        if sys.unraisablehook is sys.__unraisablehook__:
            import traceback

            print(f"{unraisable.err_msg}: ", file=sys.stderr)
            traceback.print_exception(error, file=sys.stderr)
        else:
            sys.unraisablehook(unraisable)
    except BaseException:
        pass


NOT_STARTED, RUNNING, DONE = range(3)


class _ThreadHandle:
    __slots__ = ("__weakref__", "_ident", "is_daemon", "state")

    def __init__(self):
        self._ident, self.state, self.is_daemon = 0, NOT_STARTED, True

    @property
    def ident(self):
        return self._ident

    def __repr__(self):
        return f"<_thread._ThreadHandle object: ident={self._ident}>"

    def _check_started(self):
        if self.state == NOT_STARTED:
            raise RuntimeError("thread not started")

    def join(self, timeout=None, /):
        self._check_started()
        if self.state == DONE:
            return
        if self._ident == _get_ident():
            raise RuntimeError("Cannot join current thread")
        if timeout is not None:
            timeout = _seconds(timeout)
            if timeout < 0:
                timeout = None
        if timeout != 0:
            wait(self.is_done, timeout, self._describe_end)

    def _describe_end(self):
        thread = threading._active.get(self._ident)
        return f"the end of {thread.name if thread is not None else 'a thread'}"

    def is_done(self):
        return self.state == DONE

    def _set_done(self):
        self._check_started()
        self.state = DONE


_ThreadHandle.__module__ = "_thread"


def _make_thread_handle(ident):
    handle = _ThreadHandle()
    handle._ident, handle.state = ident, RUNNING
    return handle


def _start(function, arguments, keywords, handle):
    global started, _last_ident
    if len(_alive) >= MAX_THREADS:
        thread = getattr(function, "__self__", None)
        name = getattr(thread, "name", "") or getattr(function, "__qualname__", "")
        reason = f"can't start new thread: {MAX_THREADS} are alive, which is the limit in this sandbox"
        raise refusal("thread", "start", name, type=RuntimeError, reason=reason)
    if not started:
        started = True
        _acquire_in_python()
    _last_ident += 1
    handle._ident, handle.state = _last_ident, RUNNING
    _alive.add(handle)
    _waiting.append(_Fiber(_last_ident, plain(function, arguments, keywords), handle))


def start_new_thread(function, args, kwargs=None, /):
    if not callable(function):
        raise TypeError("first arg must be callable")
    if not isinstance(args, tuple):
        raise TypeError("2nd arg must be a tuple")
    if kwargs is not None and not isinstance(kwargs, dict):
        raise TypeError("optional 3rd arg must be a dictionary")
    handle = _ThreadHandle()
    _start(function, args, kwargs or {}, handle)
    return handle.ident


def start_joinable_thread(function, handle=None, daemon=True):
    if not callable(function):
        raise TypeError("thread function must be callable")
    if handle is None:
        handle = _ThreadHandle()
    elif type(handle) is not _ThreadHandle:
        raise TypeError("'handle' must be a _ThreadHandle")
    if handle.state != NOT_STARTED:
        raise RuntimeError("thread already started")
    handle.is_daemon = bool(daemon)
    try:
        _start(function, (), {}, handle)
    except BaseException:
        handle.state = DONE
        raise
    return handle


def _count():
    return len(_alive)


def _regulars():
    """Handles of the threads that the interpreter waits for at its end."""
    return [handle for handle in _alive if not handle.is_daemon and handle.ident != _get_ident()]


def _no_regulars():
    return not _regulars()


def _shutdown():
    wait(_no_regulars, None, "the end of all threads")


def shut_down():
    """At the interpreter's end: waits for threads that are no daemons. The error, if that can't be."""
    global _ending
    _ending = True
    try:
        threading._shutdown()
    except BaseException as error:
        return error


def settle():
    """At the end of a cell: lets threads that are no daemons run until they have ended, or wait for something that may
    never come. Those that are busy longer go on in later cells."""
    if _alive:
        end = _monotonic() + SETTLING
        wait(partial(_all_idle, end), SETTLING, "the end of all threads", is_patient=True)


def _all_idle(end):
    return not any(fiber.handle is not None and not fiber.handle.is_daemon and _is_busy(fiber, end) for fiber in _waiting)


def _is_busy(fiber, end):
    if fiber.number is None or fiber.attempt is not None and fiber.attempt():
        return True
    return fiber.attempt is None if fiber.deadline is None else fiber.deadline <= end


# ---------------------------------------------------------------- calls


def plain(function, arguments, keywords):
    """The same call, of the function behind methods and partial objects: one of Python then needs no C to be called."""
    while True:
        if type(function) is MethodType:
            function, arguments = function.__func__, (function.__self__, *arguments)
        elif type(function) is partial:
            arguments = (*function.args, *arguments)
            keywords = {**function.keywords, **keywords}
            function = function.func
        else:
            return function, arguments, keywords


def guarded(function, *arguments, **keywords):
    """Calls a function of Python. Until it returns, its frames may go on above calls from C of other threads."""
    place = _proofbox.threads_guard(None)
    try:
        return function(*arguments, **keywords)
    finally:
        if not _proofbox.threads_at_home():
            _come_home()
        _proofbox.threads_guard(place)


def may_start(text):
    """Returns whether a program of this text may start threads."""
    return "hread" in text or "concurrent" in text or "run_in_executor" in text


def guarding(function):
    """Returns the function, guarded."""

    @functools.wraps(function)
    def called(*arguments, **keywords):
        inner, arguments, keywords = plain(function, arguments, keywords)
        return guarded(inner, *arguments, **keywords)

    return called


def execute(code, namespace):
    """Executes code as `exec` does, guarded."""
    guarded(FunctionType(code, namespace))


def _come_home():
    """Waits until no other thread's call from C is in the way."""
    while True:
        try:
            wait(_at_once, None, "its return", is_returning=True)
            return
        except BaseException:
            continue


def run_in_context(context, function, arguments, keywords):
    """`context.run` without a call from C."""
    function, arguments, keywords = plain(function, arguments, keywords)
    _proofbox.threads_enter_context(context)
    try:
        return function(*arguments, **keywords)
    finally:
        _proofbox.threads_exit_context(context)


# ---------------------------------------------------------------- what waits


def _seconds(timeout):
    """A number of seconds as C takes it."""
    if not isinstance(timeout, (int, float)):
        timeout = timeout.__index__()
    if timeout != timeout:
        raise ValueError("Invalid value NaN (not a number)")
    if timeout > threading.TIMEOUT_MAX:
        raise OverflowError("timeout value is too large")
    return timeout


def _acquire_taken(lock, blocking=True, timeout=-1):
    """`acquire` of a lock that another thread has, or this one."""
    timeout = _seconds(timeout)
    if not blocking:
        if timeout != -1:
            raise ValueError("can't specify a timeout for a non-blocking call")
        return False
    if timeout == -1:
        timeout = None
    elif timeout < 0:
        raise ValueError("timeout value must be a non-negative number")
    elif timeout == 0:
        return False
    return wait(partial(_is_free, lock), timeout, "a lock") and lock.acquire(False)


def _acquire_in_python():
    """From the first thread on `lock.acquire()` is a function of Python, so that who waits there is in no call from C."""
    acquire_lock = acquire_rlock = None

    def acquire(self, blocking=True, timeout=-1):
        # Conditions ask so whether they have their lock, and must not be left meanwhile.
        if not blocking and _waiting and not _is_free(self) and sys._getframe(1).f_globals is not _THREADING:
            pause()
        if _is_free(self) or blocking is False:
            return acquire_lock(self, blocking, timeout)
        return _acquire_taken(self, blocking, timeout)

    def acquire_again(self, blocking=True, timeout=-1):
        if _is_free(self) or self._is_owned() or blocking is False:
            return acquire_rlock(self, blocking, timeout)
        return _acquire_taken(self, blocking, timeout)

    acquire_again.__name__ = "acquire"
    acquire.__qualname__, acquire_again.__qualname__ = "lock.acquire", "RLock.acquire"
    acquire.__module__ = acquire_again.__module__ = "_thread"
    acquire_lock = _proofbox.threads_replace_method(_thread.lock, "acquire", acquire)
    acquire_rlock = _proofbox.threads_replace_method(_thread.RLock, "acquire", acquire_again)


def sleep(seconds, /):
    if not _waiting or not isinstance(seconds, (int, float)) or not 0 <= seconds < 1e9:
        _sleep(seconds)
    else:
        wait(None, seconds, "the end of a sleep")


class _Condition:
    """Methods of threading.Condition."""

    def wait(self, timeout=None):
        if not self._is_owned():
            raise RuntimeError("cannot wait on un-acquired lock")
        waiter = _thread.allocate_lock()
        waiter.acquire()
        self._waiters.append(waiter)
        saved_state = self._release_save()
        gotit = False
        try:
            if timeout is None:
                gotit = wait(partial(_is_free, waiter), None, "a condition")
            elif timeout > 0:
                gotit = wait(partial(_is_free, waiter), _seconds(timeout), "a condition")
            else:
                gotit = _is_free(waiter)
            return gotit
        finally:
            if _is_free(self._lock) is False:
                wait(partial(_is_free, self._lock), None, "the lock of a condition")
            self._acquire_restore(saved_state)
            if not gotit:
                try:
                    self._waiters.remove(waiter)
                except ValueError:
                    pass


class _Semaphore:
    """Methods of threading.Semaphore. Who waits is not woken by number: of several that wait in calls from C, only the
    last one can go on."""

    def acquire(self, blocking=True, timeout=None):
        if not blocking and timeout is not None:
            raise ValueError("can't specify timeout for non-blocking acquire")
        if self._value == 0:
            if not blocking or timeout is not None and timeout <= 0:
                return False
            if not wait(self._has_room, timeout, "a semaphore"):
                return False
        with self._cond:
            self._value -= 1
        return True

    def _has_room(self):
        return self._value > 0


# Who asks again and again, without waiting, lets others run: nothing interrupts a thread.


class _Event:
    """Methods of threading.Event."""

    def is_set(self):
        if not self._flag and _waiting and sys._getframe(1).f_globals is not _THREADING:
            pause()
        return self._flag


class _Queue:
    """Methods of queue.Queue."""

    def get(self, block=True, timeout=None):
        if not block and _waiting and not self._qsize():
            pause()
        return _get(self, block, timeout)

    def put(self, item, block=True, timeout=None):
        if not block and _waiting and 0 < self.maxsize <= self._qsize():
            pause()
        return _put(self, item, block, timeout)

    def empty(self):
        if _waiting and not self._qsize():
            pause()
        with self.mutex:
            return not self._qsize()


class _Future:
    """Methods of concurrent.futures.Future."""

    def done(self):
        if _waiting and self._state in ("PENDING", "RUNNING"):
            pause()
        with self._condition:
            return self._state in ("CANCELLED", "CANCELLED_AND_NOTIFIED", "FINISHED")


_THREADING = vars(threading)

# The lines of these are those that stand in the library, so that tracebacks look the same.


class _Thread:
    def is_alive(self):
        assert self._initialized, "Thread.__init__() not called"
        if not self._started._flag:
            return False
        if not self._handle.is_done() and _waiting:
            pause()
        return not self._handle.is_done()

    def run(self):
        try:
            if self._target is not None:
                self._target, self._args, self._kwargs = plain(self._target, self._args, self._kwargs)
                self._target(*self._args, **self._kwargs)
        finally:
            del self._target, self._args, self._kwargs


class _WorkItem:
    def run(self):
        if not self.future.set_running_or_notify_cancel():
            return
        self.fn, self.args, self.kwargs = plain(self.fn, self.args, self.kwargs)
        try:
            result = self.fn(*self.args, **self.kwargs)
        except BaseException as exc:
            self.future.set_exception(exc)
            self = None
        else:
            self.future.set_result(result)


def _stand_in(owner, name, function):
    """Makes `function` that method of a class of the library."""
    import dis

    def line_of_call(code):
        return next(each.positions.lineno for each in dis.get_instructions(code) if each.opname == "CALL_FUNCTION_EX")

    original = vars(owner)[name]
    code = function.__code__.replace(co_filename=original.__code__.co_filename, co_qualname=original.__qualname__)
    try:
        lines = line_of_call(original.__code__) - line_of_call(code)
    except StopIteration:
        pass
    else:
        code = code.replace(co_firstlineno=code.co_firstlineno + lines)
        function.__code__ = code
    function.__qualname__, function.__module__, function.__doc__ = original.__qualname__, original.__module__, original.__doc__
    setattr(owner, name, function)


def _get_from_empty(queue, block=True, timeout=None):
    """`get` of a SimpleQueue that is empty."""
    if block:
        if timeout is not None and timeout < 0:
            raise ValueError("'timeout' must be a non-negative number")
        wait(lambda: not queue.empty(), None if timeout is None else _seconds(timeout), "an item of a queue")
    return queue.get(False)


def _simple_queue(pools):
    """A SimpleQueue of which who waits in Python is in no call from C."""
    import _queue

    get = _queue.SimpleQueue.get

    class SimpleQueue(_queue.SimpleQueue):
        __slots__ = ()
        __doc__ = _queue.SimpleQueue.__doc__

        def get(self, block=True, timeout=None):
            if self.empty():
                if block:
                    return _get_from_empty(self, True, timeout)
                pause()
            return get(self, False)

        def get_nowait(self):
            # A pool's thread asks before it says that it is idle.
            if sys._getframe(1).f_globals is not pools and self.empty():
                pause()
            return get(self, False)

    SimpleQueue.__qualname__, SimpleQueue.__module__ = "SimpleQueue", "_queue"
    return SimpleQueue


def work_in_pools():
    """multiprocessing.pool.ThreadPool, without pipes, and without calls from C between a thread and what it runs."""
    import queue
    from multiprocessing import pool

    Pool, ThreadPool = pool.Pool, pool.ThreadPool

    class Context:
        SimpleQueue = queue.SimpleQueue

    def __init__(self, processes=None, initializer=None, initargs=()):
        Pool.__init__(self, processes, initializer, initargs, context=Context)

    def apply_async(self, func, args=(), kwds={}, callback=None, error_callback=None):
        func, args, kwds = plain(func, tuple(args), kwds)
        return Pool.apply_async(self, func, args, kwds, callback, error_callback)

    def _get_sentinels(self):
        return []

    def _wait_for_updates(sentinels, change_notifier, timeout=None):
        change_notifier.get()
        while not change_notifier.empty():
            change_notifier.get()

    def mapstar(args):
        function, more, keywords = plain(args[0], (), {})
        return [function(*more, *each, **keywords) for each in zip(*args[1:])]

    def starmapstar(args):
        function, more, keywords = plain(args[0], (), {})
        return [function(*more, *each, **keywords) for each in args[1]]

    def _handle_tasks(taskqueue, put, outqueue, pool, cache):
        # The original waits in an iterator, and so in a call from C.
        thread = threading.current_thread()
        while (tasks := taskqueue.get()) is not None:
            sequence, set_length = tasks
            task, is_whole = None, True
            for task in sequence:
                if thread._state != RUN:
                    is_whole = False
                    break
                try:
                    put(task)
                except Exception as error:
                    cache[task[0]]._set(task[1], (False, error))
            if not is_whole:
                break
            if set_length:
                set_length(task[1] + 1 if task else 0)
            tasks = sequence = set_length = task = None
        outqueue.put(None)
        for _ in pool:
            put(None)

    for function in (mapstar, starmapstar):
        function.__module__, function.__qualname__ = pool.__name__, function.__name__
    RUN = pool.RUN
    for function in (__init__, apply_async, _get_sentinels):
        setattr(ThreadPool, function.__name__, function)
    Pool._wait_for_updates = staticmethod(_wait_for_updates)
    Pool._handle_tasks = staticmethod(_handle_tasks)
    pool.mapstar, pool.starmapstar = mapstar, starmapstar


# ---------------------------------------------------------------- when the image is made


def _native_id(ident):
    """Returns the number that a system gives the thread with that identifier: the first one has the number of the
    process."""
    return os.getpid() + ident - _main.ident


def get_native_id():
    """Return a non-negative integer identifying the thread as reported by the OS (kernel)."""
    return _native_id(_get_ident())


def _name_natively():
    """Defines what `threading` has where the system's threads have numbers."""
    get_native_id.__module__ = "_thread"
    _thread.get_native_id = threading.get_native_id = get_native_id
    threading.Thread.native_id = property(lambda thread: None if thread._ident is None else _native_id(thread._ident))
    threading.__all__.append("get_native_id")


def install():
    """Before the library's modules take these functions over from each other."""
    global _get, _put
    import queue
    from concurrent.futures import _base
    from concurrent.futures import thread as thread_pools

    _proofbox.threads_prepare(_thread.lock, _thread.RLock, guarded, _acquire_taken, queue.SimpleQueue, _get_from_empty)
    time.sleep = sleep
    sleep.__module__ = "time"
    sleep.__text_signature__ = None
    for module, names in (
        (_thread, {"start_new": start_new_thread, "_shutdown": _shutdown}),
        (threading, {"_start_joinable_thread": start_joinable_thread, "_thread_shutdown": _shutdown}),
    ):
        vars(module).update(names)
    for function in (start_new_thread, start_joinable_thread, _ThreadHandle, _make_thread_handle, _count):
        function.__module__ = "_thread"
        setattr(_thread, function.__name__, function)
    _name_natively()
    threading._ThreadHandle, threading._make_thread_handle = _ThreadHandle, _make_thread_handle
    threading._main_thread._handle = _make_thread_handle(threading._main_thread._ident)
    _stand_in(threading.Condition, "wait", _Condition.wait)
    _stand_in(threading.Semaphore, "acquire", _Semaphore.acquire)
    threading.Semaphore.__enter__ = threading.Semaphore.acquire
    threading.BoundedSemaphore.__enter__ = threading.Semaphore.acquire
    threading.Semaphore._has_room = _Semaphore._has_room
    _stand_in(threading.Event, "is_set", _Event.is_set)
    _stand_in(threading.Thread, "is_alive", _Thread.is_alive)
    _stand_in(threading.Thread, "run", _Thread.run)
    _get, _put = queue.Queue.get, queue.Queue.put
    for name in ("empty", "get", "put"):
        _stand_in(queue.Queue, name, vars(_Queue)[name])
    _stand_in(_base.Future, "done", _Future.done)
    _stand_in(thread_pools._WorkItem, "run", _WorkItem.run)
    queue.SimpleQueue = _simple_queue(vars(thread_pools))
