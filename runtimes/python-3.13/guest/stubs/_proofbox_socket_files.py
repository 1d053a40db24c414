"""Files of sockets that wait in Python. Who waits in a call from C, as in `readline` of `io.BufferedReader`, keeps threads
that wait below it from going on (threads.c); servers and clients of one program would do that to each other."""

import _pyio
import io
import socket
import socketserver
import types

import _proofbox_threads as threads

__all__ = ["install"]


class SocketReader(io.BufferedReader):
    """BufferedReader of a socket."""

    def __init__(self, raw, buffer_size=io.DEFAULT_BUFFER_SIZE):
        super().__init__(raw, buffer_size)
        self._source, self._size, self._ahead = raw, buffer_size, bytearray()

    def __repr__(self):
        return f"<_io.BufferedReader name={self.name!r}>"

    def _fill(self, size=0):
        """Reads once: False at the end, None if that would wait."""
        chunk = bytearray(max(self._size, size))
        count = self._source.readinto(chunk)
        if not count:
            return None if count is None else False
        del chunk[count:]
        self._ahead += chunk
        return True

    def _take(self, size):
        ahead = self._ahead
        if size >= len(ahead):
            self._ahead = bytearray()
            return bytes(ahead)
        found = bytes(ahead[:size])
        del ahead[:size]
        return found

    def _check(self):
        if self.closed:
            raise ValueError("read of closed file")

    def read(self, size=-1, /):
        self._check()
        if size is None or size == -1:
            size = float("inf")
        elif size < 0:
            raise ValueError("read length must be non-negative or -1")
        more = True
        while len(self._ahead) < size and (more := self._fill(min(size - len(self._ahead), 1 << 16))):
            pass
        if more is None and not self._ahead and size:
            return None
        return self._take(size)

    def read1(self, size=-1, /):
        self._check()
        if size < 0:
            size = self._size
        if size and not self._ahead and self._fill() is None:
            return None
        return self._take(size)

    def readinto(self, buffer, /):
        return self._read_into(buffer, self.read)

    def readinto1(self, buffer, /):
        return self._read_into(buffer, self.read1)

    def _read_into(self, buffer, read):
        view = memoryview(buffer).cast("B")
        data = read(len(view))
        if data is None:
            return None
        view[: len(data)] = data
        return len(data)

    def peek(self, size=0, /):
        self._check()
        if not self._ahead:
            self._fill()
        return bytes(self._ahead)

    def readline(self, size=-1, /):
        self._check()
        if size is None:
            size = -1
        at = 0
        while True:
            end = self._ahead.find(b"\n", at) + 1
            if end:
                return self._take(end if size < 0 else min(end, size))
            at = len(self._ahead)
            if 0 <= size <= at:
                return self._take(size)
            if not self._fill():
                return self._take(at)

    def readlines(self, hint=-1, /):
        lines, total = [], 0
        while line := self.readline():
            lines.append(line)
            total += len(line)
            if hint is not None and 0 < hint <= total:
                break
        return lines

    def __iter__(self):
        # `next` of a generator needs no C once the loop has warmed up.
        while line := self.readline():
            yield line

    def __next__(self):
        if line := self.readline():
            return line
        raise StopIteration

    def detach(self):
        raw = super().detach()
        self._source = None
        return raw


class SocketReaderWriter(io.BufferedRWPair):
    """BufferedRWPair of a socket."""

    def __init__(self, reader, writer, buffer_size=io.DEFAULT_BUFFER_SIZE):
        super().__init__(reader, writer, buffer_size)
        self._reader = SocketReader(reader, buffer_size)

    def read(self, size=-1, /):
        return self._reader.read(size)

    def read1(self, size=-1, /):
        return self._reader.read1(size)

    def readinto(self, buffer, /):
        return self._reader.readinto(buffer)

    def readinto1(self, buffer, /):
        return self._reader.readinto1(buffer)

    def peek(self, size=0, /):
        return self._reader.peek(size)

    def readline(self, size=-1, /):
        return self._reader.readline(size)

    def readlines(self, hint=-1, /):
        return self._reader.readlines(hint)

    def __iter__(self):
        return iter(self._reader)

    def __next__(self):
        return next(self._reader)


def _text(buffer, encoding=None, errors=None, newline=None):
    if isinstance(buffer, (SocketReader, SocketReaderWriter)):
        return _pyio.TextIOWrapper(buffer, encoding, errors, newline)
    return io.TextIOWrapper(buffer, encoding, errors, newline)


class _BaseServer:
    """Methods of socketserver.BaseServer."""

    def finish_request(self, request, client_address):
        """Finish one request by instantiating RequestHandlerClass."""
        # A handler works, and waits, in its `__init__`, which the call of a class reaches through C.
        kind, arguments, keywords = threads.plain(self.RequestHandlerClass, (request, client_address, self), {})
        if type(kind) is type and kind.__new__ is object.__new__ and type(kind.__init__) is types.FunctionType:
            kind.__init__(object.__new__(kind), *arguments, **keywords)
        else:
            kind(*arguments, **keywords)


def install():
    """For `socket.makefile`, and servers."""
    files = types.ModuleType("io")
    vars(files).update(vars(io))
    vars(files).update(BufferedReader=SocketReader, BufferedRWPair=SocketReaderWriter, TextIOWrapper=_text)
    socket.io = files
    finish_request = _BaseServer.finish_request
    finish_request.__qualname__, finish_request.__module__ = "BaseServer.finish_request", socketserver.__name__
    socketserver.BaseServer.finish_request = finish_request
