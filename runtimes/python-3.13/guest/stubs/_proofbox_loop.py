"""asyncio's event loop. What waits, waits in `threads.wait`: other threads run meanwhile, or the host sleeps without spending CPU."""

import asyncio
import os
import selectors
import socket
from asyncio import events, unix_events
from asyncio import threads as threads_of_asyncio
from contextvars import copy_context

import _proofbox
import _proofbox_loopback as loopback
import _proofbox_threads as threads
from _proofbox_unsupported import refusal
from _thread import get_ident as _get_ident

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


class EpollSelector(selectors._BaseSelectorImpl):
    """Waits for time, another thread's call to `call_soon_threadsafe`, and for pipes and sockets."""

    def __init__(self):
        super().__init__()
        self.is_woken = False

    def register(self, fileobj, events, data=None):
        key = super().register(fileobj, events, data)
        if _proofbox.sockets_readiness(key.fd) & loopback.IS_OTHER:
            super().unregister(fileobj)
            raise NotImplementedError("add_reader: waiting for files is not available in this sandbox")
        return key

    def select(self, timeout=None):
        ident = _get_ident()
        loopback.in_callbacks.discard(ident)
        try:
            return self._select(timeout)
        finally:
            loopback.in_callbacks.add(ident)

    def _select(self, timeout):
        files = self._fd_to_key
        attempt = self._is_any_event if files else self._get_woken
        if timeout is not None and timeout <= 0 or files and self.is_any_ready():
            threads.pause()
        elif threads.has_others():
            threads.wait(attempt, timeout, "an event of its loop")
        elif timeout is None:
            raise RuntimeError(f"deadlock: the event loop has nothing left to wait for{_waiting_tasks()}")
        else:
            threads.sleep_in_loop(timeout)
        self.is_woken = False
        return [(key, events) for key in list(files.values()) if (events := _events(key))] if files else ()

    def _get_woken(self):
        return self.is_woken

    def _is_any_event(self):
        return self.is_woken or self.is_any_ready()

    def is_any_ready(self):
        return any(map(_events, self._fd_to_key.values()))


def _events(key):
    """Returns the events that are wanted of a file, and are the case."""
    found = loopback.readiness(key.fd)
    events = selectors.EVENT_READ if found & (loopback.READS | loopback.IS_HUNG_UP | loopback.HAS_FAILED) else 0
    if found & (loopback.WRITES | loopback.IS_HUNG_UP | loopback.HAS_FAILED):
        events |= selectors.EVENT_WRITE
    return events & key.events


def _waiting_tasks():
    """Returns where the first few tasks wait, for someone who wonders what hangs."""
    places = []
    for task in sorted(asyncio.all_tasks(), key=lambda task: task.get_name())[:3]:
        for frame in task.get_stack(limit=1):
            places.append(f"{task.get_name()} waits in {frame.f_code.co_name}, line {frame.f_lineno}")
    return f" ({'; '.join(places)})" if places else ""


def _address(host, port=None):
    return f"{host or ''}:{port}" if port is not None else str(host or "")


def _check(operation, host, port=None):
    """Refuses what would leave this interpreter."""
    for each in host if isinstance(host, (list, tuple)) else (host,):
        if each is None or each == "":
            continue
        name = bytes(each).decode("ascii", "replace") if isinstance(each, (bytes, bytearray)) else each
        if isinstance(name, str) and not any(loopback.local_address(name, family) for family in (socket.AF_INET, socket.AF_INET6)):
            raise refusal("network", operation, _address(each, port))


class SandboxEventLoop(unix_events._UnixSelectorEventLoop):
    def __init__(self, selector=None):  # whatever a program chooses, ours is the one that lets others run
        super().__init__(EpollSelector())

    def can_go_on(self):
        """Returns whether the loop has something to do at once."""
        return bool(self._ready) or self._selector.is_any_ready()

    def run_forever(self):
        try:
            super().run_forever()
        finally:
            loopback.in_callbacks.discard(_get_ident())

    # Another thread wakes the selector itself.

    def _make_self_pipe(self):
        self._ssock = self._csock = None

    def _close_self_pipe(self):
        pass

    def _write_to_self(self):
        if self._selector is not None:
            self._selector.is_woken = True

    # Elsewhere threads look names up. What would leave this interpreter is refused as a whole.

    async def getaddrinfo(self, host, port, *, family=0, type=0, proto=0, flags=0):
        return socket.getaddrinfo(host, port, family, type, proto, flags)

    async def getnameinfo(self, sockaddr, flags=0):
        return socket.getnameinfo(sockaddr, flags)

    async def create_connection(self, protocol_factory, host=None, port=None, **options):
        _check("connect", host, port)
        return await super().create_connection(protocol_factory, host, port, **options)

    async def create_server(self, protocol_factory, host=None, port=None, **options):
        _check("listen", host, port)
        return await super().create_server(protocol_factory, host, port, **options)

    async def create_datagram_endpoint(self, protocol_factory, local_addr=None, remote_addr=None, **options):
        for address in (remote_addr, local_addr):
            if isinstance(address, tuple):
                _check("datagram", *address[:2])
        return await super().create_datagram_endpoint(protocol_factory, local_addr, remote_addr, **options)

    async def create_unix_server(self, protocol_factory, path=None, **options):
        # asyncio would know a file that a server has left by its kind.
        if isinstance(path, (str, bytes, os.PathLike)) and loopback.is_socket_file(path):
            os.remove(path)
        return await super().create_unix_server(protocol_factory, path, **options)

    async def sock_connect(self, sock, address):
        if isinstance(address, tuple):
            _check("connect", *address[:2])
        return await super().sock_connect(sock, address)

    async def _make_subprocess_transport(self, protocol, args, shell, *rest, **options):
        from _proofbox_commands import ProcessTransport

        return ProcessTransport(self, protocol, args, shell, *rest, **options)

    def add_signal_handler(self, sig, callback, *args):
        raise NotImplementedError("signals do not reach this sandbox")
