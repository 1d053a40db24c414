"""multiprocessing, with processes that are threads of this interpreter.

A process gets copies of its target and its arguments, as after a fork; what passes through queues, pipes, pools and managers is
pickled. Locks, queues and shared values are the library's own, over `_multiprocessing` (stubs) and the pipes below. Modules are
not copied: what a process does to a global, all see."""

import collections
import copy
import io
import itertools
import os
import queue
import sys
import threading
import traceback
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import process as process_pools
from multiprocessing import connection, context, heap, managers, pool, process, queues, reduction, synchronize, util

import _proofbox_threads as threads

_processes = {}  # by the thread that each is
_numbers = itertools.count(1)  # of processes, and of what can be waited for
_getpid = os.getpid


def _current():
    return _processes.get(threading.get_ident())


def getpid():
    current = _current()
    return _getpid() if current is None else current._popen.pid


def current_process():
    return _current() or process._current_process


def parent_process():
    current = _current()
    return None if current is None else current._popen.parent


def _as_sent(value):
    """A value as the other process gets it."""
    return reduction.ForkingPickler.loads(reduction.ForkingPickler.dumps(value))


# ---------------------------------------------------------------- copies as after a fork

# Of a process object: between it and its parent.
_KEPT = frozenset({"_identity", "_config", "_parent_pid", "_parent_name", "_popen", "_closed", "_name", "_sentinel", "_start_method"})
_forking = False


def _itself(shared, memo):
    return shared


def _copy_for_child(values):
    """Deep copies in which what processes share stays itself; what can't be copied is shared too."""
    global _forking
    _forking = True
    try:
        return copy.deepcopy(values)
    except Exception:
        return {name: _copied_alone(value) for name, value in values.items()}
    finally:
        _forking = False


def _copied_alone(value):
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def _child_of(parent, popen):
    child = object.__new__(type(parent))
    state = vars(parent)
    vars(child).update(_copy_for_child({name: value for name, value in state.items() if name not in _KEPT}))
    vars(child).update({name: value for name, value in state.items() if name in _KEPT}, _popen=popen)
    return child


# ---------------------------------------------------------------- processes


class Popen:
    """A process that has been started."""

    method = "fork"

    def __init__(self, process_object):
        util._flush_std_streams()
        number = next(_numbers)
        self.pid, self.sentinel, self.returncode, self.parent = _getpid() + number, -1 - number, None, current_process()
        _sentinels[self.sentinel] = self
        child = _child_of(process_object, self)
        self._thread = threading.Thread(target=self._run, args=(child,), name=process_object.name, daemon=process_object.daemon)
        self._thread.start()

    def _run(self, child):
        _processes[threading.get_ident()] = child
        code = 1
        try:
            code = _run_to_its_code(child)
        finally:
            del _processes[threading.get_ident()]
            if self.returncode is None:
                self.returncode = code

    def has_ended(self):
        return self.returncode is not None

    def poll(self, flag=None):
        return self.returncode

    def wait(self, timeout=None):
        if self.returncode is None:
            threads.wait(self.has_ended, None if timeout is None else max(timeout, 0), "the end of a process")
        return self.returncode

    def _end(self, signal):
        if self.returncode is None:
            self.returncode = -signal
            threads.end(self._thread.ident)

    def terminate(self):
        self._end(15)

    def kill(self):
        self._end(9)

    def close(self):
        """Does nothing: no resource is held."""


_sentinels = weakref.WeakValueDictionary()


_is_alive = process.BaseProcess.is_alive


def is_alive(self):
    """Returns whether a process has not ended. Others have their turn before, as programs ask until it has."""
    threads.pause()
    return _is_alive(self)


def _run_to_its_code(child):
    try:
        child.run()
        return 0
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        print(error.code, file=sys.stderr)
        return 1
    except BaseException:
        print(f"Process {child.name}:", file=sys.stderr)
        traceback.print_exc()
        return 1
    finally:
        util._flush_std_streams()


# ---------------------------------------------------------------- pipes


class _Channel:
    """Direction of a pipe, with its messages and numbers of open ends."""

    __slots__ = ("messages", "readers", "writers")

    def __init__(self):
        self.messages, self.readers, self.writers = collections.deque(), 0, 0

    def is_ready(self):
        return bool(self.messages) or not self.writers


class Connection(connection._ConnectionBase):
    """End of a pipe, as multiprocessing has it."""

    def __init__(self, incoming, outgoing):
        super().__init__(next(_numbers), incoming is not None, outgoing is not None)
        self._incoming, self._outgoing = incoming, outgoing
        if incoming:
            incoming.readers += 1
        if outgoing:
            outgoing.writers += 1

    def __deepcopy__(self, memo):
        self._check_closed()
        return Connection(self._incoming, self._outgoing)

    def is_ready(self):
        return self._incoming.is_ready()

    def _close(self):
        if self._incoming:
            self._incoming.readers -= 1
        if self._outgoing:
            self._outgoing.writers -= 1

    def _send_bytes(self, buffer):
        if not self._outgoing.readers:
            raise BrokenPipeError(32, "Broken pipe")
        self._outgoing.messages.append(bytes(buffer))

    def _recv_bytes(self, maxsize=None):
        self._poll(None)
        if not self._incoming.messages:
            raise EOFError
        message = self._incoming.messages.popleft()
        return None if maxsize is not None and len(message) > maxsize else io.BytesIO(message)

    def _poll(self, timeout):
        if self.is_ready():
            return True
        if timeout is not None and timeout <= 0:
            threads.pause()
            return self.is_ready()
        return threads.wait(self.is_ready, timeout, "a message of another process")


Connection.__module__ = "multiprocessing.connection"


def Pipe(duplex=True):
    """Two ends; without `duplex` the first one receives and the other one sends."""
    there, back = _Channel(), _Channel() if duplex else None
    return Connection(there, back), Connection(back, there)


def wait(object_list, timeout=None):
    """Returns those that are ready: ends of pipes with a message or without another end, and sentinels of processes
    that have ended."""
    waited = [(each, _readiness(each)) for each in object_list]

    def ready():
        return any(is_ready() for _, is_ready in waited)

    if not ready() and (timeout is None or timeout > 0):
        threads.wait(ready, timeout, "one of several processes")
    return [each for each, is_ready in waited if is_ready()]


def _readiness(waited):
    if isinstance(waited, Connection):
        return waited.is_ready
    if waited in _sentinels:
        return _sentinels[waited].has_ended
    raise TypeError(f"{type(waited).__name__} can't be waited for in this sandbox")


# ---------------------------------------------------------------- queues and memory


def _send(waiting, item):
    """Puts an item into a queue, which has room; nobody else has to run for that."""
    try:
        message = reduction.ForkingPickler.dumps(item)
    except Exception as error:
        waiting._sem.release()
        waiting._on_queue_feeder_error(error, item)
    else:
        waiting._writer.send_bytes(message)


def _put(self, obj, block=True, timeout=None):
    if self._closed:
        raise ValueError(f"Queue {self!r} is closed")
    if not self._sem.acquire(block, timeout):
        raise queue.Full
    _send(self, obj)


def _put_and_count(self, obj, block=True, timeout=None):
    if self._closed:
        raise ValueError(f"Queue {self!r} is closed")
    if not self._sem.acquire(block, timeout):
        raise queue.Full
    self._unfinished_tasks.release()
    _send(self, obj)


class _Arena:
    """Memory for shared values."""

    def __init__(self, size, fd=-1):
        self.size, self.fd, self.name = size, fd, None
        self.buffer = bytearray(size)


# ---------------------------------------------------------------- pools


class _PickledQueue:
    """A queue of a pool."""

    def __init__(self):
        self._messages = queue.SimpleQueue()
        self.empty, self.qsize = self._messages.empty, self._messages.qsize

    def put(self, item):
        self._messages.put(bytes(reduction.ForkingPickler.dumps(item)))

    def get(self, block=True):
        return reduction.ForkingPickler.loads(self._messages.get(block))


class _Worker(threading.Thread):
    """A process of a pool."""

    exitcode = property(lambda self: 0 if self._handle.is_done() else None)
    terminate = kill = close = lambda self: None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.process = process.BaseProcess(name=f"ForkPoolWorker-{next(_numbers)}")
        self.process._popen = self
        self.parent = current_process()
        self.pid = _getpid() + next(_numbers)
        self.name = self.process.name

    def poll(self, flag=None):
        return self.exitcode

    def run(self):
        _processes[threading.get_ident()] = self.process
        try:
            self._target(*self._args, **self._kwargs)
        finally:
            del _processes[threading.get_ident()]


class Pool(pool.ThreadPool):
    """multiprocessing.Pool: tasks and results are pickled."""

    _wrap_exception = True
    # The library's threads of all pools ask this class, by its name.
    _wait_for_updates = staticmethod(pool.Pool._wait_for_updates)

    def __init__(self, processes=None, initializer=None, initargs=(), maxtasksperchild=None, context=None):

        _Pool.__init__(self, processes, initializer, initargs, maxtasksperchild, context=_PoolContext)

    def _setup_queues(self):
        self._inqueue, self._outqueue = _PickledQueue(), _PickledQueue()
        self._quick_put, self._quick_get = self._inqueue.put, self._outqueue.get

    @staticmethod
    def Process(ctx, *args, **kwargs):
        return _Worker(*args, **kwargs)


_Pool = pool.Pool
Pool.__module__ = "multiprocessing.pool"


class _PoolContext:
    SimpleQueue = queue.SimpleQueue


class ProcessPoolExecutor(ThreadPoolExecutor):
    """concurrent.futures.ProcessPoolExecutor: calls and results are pickled."""

    def __init__(self, max_workers=None, mp_context=None, initializer=None, initargs=(), *, max_tasks_per_child=None):
        if max_tasks_per_child is not None and (not isinstance(max_tasks_per_child, int) or max_tasks_per_child <= 0):
            raise ValueError("max_tasks_per_child must be >= 1")

        super().__init__(max_workers or os.process_cpu_count() or 1, "ForkProcess", initializer, initargs)
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")

    def submit(self, fn, /, *args, **kwargs):
        try:
            call = bytes(reduction.ForkingPickler.dumps((fn, args, kwargs)))
        except Exception as error:
            future = Future()
            future.set_exception(error)
            return future
        return super().submit(_call_pickled, call)

    def map(self, fn, *iterables, timeout=None, chunksize=1):
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        chunks = itertools.batched(zip(*iterables), chunksize)
        results = super().map(_call_chunk, itertools.repeat(fn), chunks, timeout=timeout)
        return process_pools._chain_from_iterable_of_lists(results)


def _call_chunk(fn, chunk):
    return [fn(*args) for args in chunk]


def _call_pickled(call):
    fn, args, kwargs = reduction.ForkingPickler.loads(call)
    try:
        result = fn(*args, **kwargs)
    except BaseException as error:
        raise _as_sent(process_pools._ExceptionWithTraceback(error, error.__traceback__))
    return _as_sent(result)


ProcessPoolExecutor.__module__ = "concurrent.futures.process"
_call_chunk.__module__ = _call_pickled.__module__ = "_proofbox_processes"


# ---------------------------------------------------------------- managers


_shared = weakref.WeakValueDictionary()


def _find_shared(number):
    return _shared[number]


def _make_proxy(manager, typeid, referent, proxytype, exposed, methods):
    if proxytype in (None, managers.AutoProxy):
        proxytype = managers.MakeProxyType(f"AutoProxy[{typeid}]", exposed or managers.public_methods(referent))
    proxy = object.__new__(proxytype)
    number = next(_numbers)
    proxy._id, proxy._token, proxy._referent, proxy._manager = number, managers.Token(typeid, None, f"{number:x}"), referent, manager
    proxy._methods = methods or {}
    _shared[number] = proxy
    return proxy


def _call_method(self, methodname, args=(), kwds={}):
    referent = self._referent
    if methodname == "#GETVALUE":
        return _as_sent(referent)
    arguments, keywords = _as_sent((args, kwds))
    result = getattr(referent, methodname)(*arguments, **keywords)
    if methodname in self._methods:
        return result
    return _as_sent(result)


def _copy_proxy(self, memo):
    return self if _forking else self._getvalue()


def _start_manager(self, initializer=None, initargs=()):
    if self._state.value != managers.State.INITIAL:
        raise process.ProcessError("Already started server")

    if initializer is not None:
        initializer(*initargs)
    self._state.value = managers.State.STARTED


def _shut_manager_down(self):
    self._state.value = managers.State.SHUTDOWN


def _register(cls, typeid, callable=None, proxytype=None, exposed=None, method_to_typeid=None, create_method=True):
    if "_registry" not in cls.__dict__:
        cls._registry = cls._registry.copy()
    exposed = exposed or getattr(proxytype, "_exposed_", None)
    methods = method_to_typeid or getattr(proxytype, "_method_to_typeid_", None)
    cls._registry[typeid] = callable, exposed, methods, proxytype
    if create_method:

        def create(self, /, *args, **kwargs):
            if self._state.value != managers.State.STARTED:
                raise AssertionError("server not yet started")
            # Without a callable the only argument is what is shared.
            referent = args[0] if callable is None else callable(*args, **kwargs)
            return _make_proxy(self, typeid, referent, proxytype, exposed, methods)

        create.__name__ = typeid
        setattr(cls, typeid, create)


# ---------------------------------------------------------------- when the image is made


def install():
    import multiprocessing
    from multiprocessing import sharedctypes

    os.getpid = getpid
    getpid.__module__ = "posix"
    for kind in (context.ForkProcess, context.SpawnProcess, context.ForkServerProcess):
        kind._Popen = staticmethod(Popen)
    process.BaseProcess.is_alive = is_alive
    for function in (current_process, parent_process):
        function.__module__ = "multiprocessing.process"
        for owner in (process, multiprocessing):
            setattr(owner, function.__name__, function)
        setattr(context.BaseContext, function.__name__, staticmethod(function))
    connection.Connection, connection.Pipe, connection.wait = Connection, Pipe, wait
    for kind in (synchronize.SemLock, synchronize.Condition, synchronize.Event, synchronize.Barrier, queues.Queue, queues.SimpleQueue,
                 sharedctypes.SynchronizedBase):  # fmt: skip
        kind.__deepcopy__ = _itself
    queues.Queue.put, queues.JoinableQueue.put = _put, _put_and_count
    heap.Arena = _Arena
    pool.Pool = Pool
    process_pools.ProcessPoolExecutor = ProcessPoolExecutor
    base, proxy = managers.BaseManager, managers.BaseProxy
    base.start, base.shutdown, base.register = _start_manager, _shut_manager_down, classmethod(_register)
    proxy._callmethod, proxy.__deepcopy__ = _call_method, _copy_proxy
    proxy.__reduce__ = lambda self: (_find_shared, (self._id,))
    for typeid, (function, exposed, methods, proxytype) in dict(managers.SyncManager._registry).items():
        made = hasattr(managers.SyncManager, typeid)
        managers.SyncManager.register(typeid, function, proxytype, exposed, methods, create_method=made)
