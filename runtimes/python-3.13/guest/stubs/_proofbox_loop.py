"""asyncio without I/O: tasks, timers, queues, locks and timeouts work; sockets, pipes and processes are refused.

What waits, waits in `threads.wait`: other threads run meanwhile, or the host sleeps without spending CPU."""

import asyncio
from asyncio import events, unix_events
from asyncio import threads as threads_of_asyncio
from contextvars import copy_context

import _proofbox_threads as threads
from _proofbox_unsupported import refusal, text

__all__ = ["SandboxEventLoop", "install"]


def install():
    """Makes every way to a new loop lead to ours. No policy is set: programs may still set their own."""
    for module in (asyncio, unix_events):
        module.SelectorEventLoop = module.EventLoop = SandboxEventLoop
    unix_events._UnixDefaultEventLoopPolicy._loop_factory = SandboxEventLoop
    to_thread.__module__, to_thread.__doc__ = asyncio.to_thread.__module__, asyncio.to_thread.__doc__
    asyncio.to_thread = threads_of_asyncio.to_thread = to_thread


async def to_thread(func, /, *args, **kwargs):
    loop = events.get_running_loop()
    return await loop.run_in_executor(None, threads.run_in_context, copy_context(), func, args, kwargs)


class _TimeOnly:
    """A selector for which time is the only event, and another thread's call to `call_soon_threadsafe`."""

    def __init__(self):
        self.is_woken = False

    def select(self, timeout):
        if timeout is not None and timeout <= 0:
            threads.pause()
        elif threads.has_others():
            threads.wait(self._get_woken, timeout, "an event of its loop")
        elif timeout is None:
            raise RuntimeError(f"deadlock: the event loop has nothing left to wait for{_waiting_tasks()}")
        else:
            threads.sleep_in_loop(timeout)
        self.is_woken = False
        return ()

    def _get_woken(self):
        return self.is_woken


def _waiting_tasks():
    """Where the first few tasks stand, for someone who wonders what hangs."""
    places = []
    for task in sorted(asyncio.all_tasks(), key=lambda task: task.get_name())[:3]:
        for frame in task.get_stack(limit=1):
            places.append(f"{task.get_name()} waits in {frame.f_code.co_name}, line {frame.f_lineno}")
    return f" ({'; '.join(places)})" if places else ""


def _address(host, port=None):
    return f"{host or ''}:{port}" if port is not None else str(host or "")


class SandboxEventLoop(asyncio.BaseEventLoop):
    def __init__(self, selector=None):  # asyncio.SelectorEventLoop's signature
        super().__init__()
        self._selector = _TimeOnly()

    def _process_events(self, event_list):
        pass

    def _write_to_self(self):
        self._selector.is_woken = True

    async def create_connection(self, protocol_factory, host=None, port=None, **options):
        raise refusal("network", "connect", _address(host, port))

    async def create_server(self, protocol_factory, host=None, port=None, **options):
        raise refusal("network", "listen", _address(host, port))

    async def create_datagram_endpoint(self, protocol_factory, local_addr=None, remote_addr=None, **options):
        raise refusal("network", "datagram", _address(*(remote_addr or local_addr or ("",))[:2]))

    async def sock_connect(self, sock, address):
        raise refusal("network", "connect", _address(*address[:2]) if isinstance(address, tuple) else text(address))

    async def create_unix_connection(self, protocol_factory, path=None, **options):
        raise refusal("network", "connect", path or "")

    async def create_unix_server(self, protocol_factory, path=None, **options):
        raise refusal("network", "listen", path or "")

    async def _make_subprocess_transport(self, protocol, args, shell, *rest, **options):
        from _proofbox_commands import ProcessTransport

        return ProcessTransport(self, protocol, args, shell, *rest, **options)

    def _no_watching(operation):
        reason = f"{operation}: waiting for files is not available in this sandbox"

        def refused(self, file, *args, **options):
            raise NotImplementedError(reason)

        return refused

    # As on Windows, where loops know neither these nor signals.
    add_reader = _no_watching("add_reader")
    add_writer = _no_watching("add_writer")
    _make_read_pipe_transport = _no_watching("connect_read_pipe")
    _make_write_pipe_transport = _no_watching("connect_write_pipe")
    del _no_watching

    def add_signal_handler(self, sig, callback, *args):
        raise NotImplementedError("signals do not reach this sandbox")
