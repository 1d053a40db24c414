"""asyncio without I/O: tasks, timers, queues, locks and timeouts work; sockets, pipes and processes are refused.

What waits, waits in `time.sleep`, which the host answers without spending CPU."""

import asyncio
import time
from asyncio import events, unix_events
from contextvars import Context

from _proofbox_unsupported import refusal, text

__all__ = ["SandboxEventLoop", "install"]


def install():
    """Makes every way to a new loop lead to ours. No policy is set: programs may still set their own."""
    for module in (asyncio, unix_events):
        module.SelectorEventLoop = module.EventLoop = SandboxEventLoop
    unix_events._UnixDefaultEventLoopPolicy._loop_factory = SandboxEventLoop


class _TimeOnly:
    """A selector for which time is the only event."""

    @staticmethod
    def select(timeout):
        if timeout is None:
            raise RuntimeError(f"deadlock: the event loop has nothing left to wait for{_waiting_tasks()}")
        if timeout > 0:
            time.sleep(timeout)
        return ()


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
        self._selector = _TimeOnly

    def _process_events(self, event_list):
        pass

    def _write_to_self(self):  # nobody else could be asleep: there is one thread
        pass

    def run_in_executor(self, executor, func, *args):
        """Without an executor of the caller's own (asyncio.to_thread, too), `func` runs here and now: right in
        everything but that the other tasks stand still meanwhile."""
        if executor is not None:
            return super().run_in_executor(executor, func, *args)
        self._check_closed()
        self._check_default_executor()
        future = self.create_future()
        # `func` expects to be in another thread: one with no running loop, that may run one, and no context variables.
        running = events._get_running_loop()
        events._set_running_loop(None)
        try:
            deliver, outcome = future.set_result, Context().run(func, *args)
        except BaseException as error:
            deliver, outcome = future.set_exception, error
        finally:
            events._set_running_loop(running)
        # Not before the loop's next round, so that to wait for it still lets other tasks go on.
        self.call_soon(lambda: future.cancelled() or deliver(outcome))
        return future

    async def shutdown_default_executor(self, timeout=None):
        """As inherited, without the helper thread."""
        self._executor_shutdown_called = True
        if self._default_executor is not None:
            self._default_executor.shutdown(wait=False)

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
