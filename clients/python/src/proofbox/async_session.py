"""A session for asyncio and trio: what session.py does, awaited."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Literal

from . import _calls, _variables
from ._async_transport import AsyncLineStream, AsyncTransport
from ._opening import Opening
from .async_commands import AsyncSessionCommands
from .errors import ConnectionFailed, DeadlineExceeded, NotFound, error_within
from .options import CellOptions, GradeOptions, Unpack
from .types import Checkpoint, Display, Entry, Event, Execution, FileEvent, SessionInfo

__all__ = ["AsyncCellStream", "AsyncFileWatch", "AsyncSession", "AsyncSessionFiles"]


class AsyncSession:
    """An interpreter on the service. Calls to one session are served one after the other."""

    def __init__(self, transport: AsyncTransport, info: SessionInfo) -> None:
        self._transport = transport
        self.info = info
        self.files = AsyncSessionFiles(transport, info.id)
        self.commands = AsyncSessionCommands(transport, info.id)

    @property
    def id(self) -> str:
        """Identifier of the session."""
        return self.info.id

    def __repr__(self) -> str:
        return f"<proofbox session {self.id}>"

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Deletes the session. One that is gone already is no error."""
        with contextlib.suppress(NotFound):
            await self._transport.send(_calls.delete_session(self.id))

    async def refresh(self) -> SessionInfo:
        """Asks the service for the session's present state, and keeps it as `info`."""
        self.info = await self._transport.send(_calls.get_session(self.id))
        return self.info

    async def set_ttl(self, seconds: float) -> SessionInfo:
        """Sets how long the session lives from now."""
        self.info = await self._transport.send(_calls.set_ttl(self.id, seconds))
        return self.info

    async def run(
        self,
        code: str | None = None,
        *,
        completion: str | None = None,
        on_stdout: Callable[[str], object] | None = None,
        on_stderr: Callable[[str], object] | None = None,
        on_display: Callable[[Display], object] | None = None,
        timeout: float | None = None,
        **options: Unpack[CellOptions],
    ) -> Execution:
        """Runs code. With callbacks, they are given output while it runs.

        Code that fails is an answer like others; `.check()` raises. A call that may have been carried out is never
        repeated.
        """
        if on_stdout is None and on_stderr is None and on_display is None:
            call = _calls.run_cell(self.id, code, completion, options, stream=False)
            return await self._transport.send(call, timeout)
        async with self.stream(code, completion=completion, timeout=timeout, **options) as events:
            async for event in events:
                if event.type == "stdout" and on_stdout is not None:
                    on_stdout(event.text)
                elif event.type == "stderr" and on_stderr is not None:
                    on_stderr(event.text)
                elif event.type == "display" and on_display is not None:
                    on_display(event.display)
            return events.answer

    def stream(
        self,
        code: str | None = None,
        *,
        completion: str | None = None,
        timeout: float | None = None,
        silence: float = 60.0,
        **options: Unpack[CellOptions],
    ) -> Opening[AsyncCellStream]:
        """Runs code and gives what it does as it happens. Leaving before the end interrupts the code.

        The service sends something every few seconds: after `silence` seconds without, the connection counts as broken.
        """
        call = _calls.run_cell(self.id, code, completion, options, stream=True)

        async def begin() -> AsyncCellStream:
            return AsyncCellStream(await self._transport.stream(call, silence=silence), timeout)

        return Opening(begin)

    async def get(self, name: str) -> Any:
        """The value of a variable; raises `CodeFailed` where there is none, or one that is no data."""
        done = await self.run_with_modules(_variables.asking(name), "last_expression")
        return _variables.decoded(await self.take(_variables.Held.of(done)))

    async def take(self, held: _variables.Held) -> str:
        """A text that the sandbox holds ready, however long it is."""
        while (code := held.asking()) is not None:
            held.add(await self.run(code, result="last_expression"))
        return held.text()

    async def set(self, **variables: Any) -> None:
        """Sets variables. Raises `VariableError` for what can't be sent."""
        path, data, code = _variables.sending(variables)
        await self.files.write(path, data)
        _variables.check_sent(await self.run_with_modules(code))

    async def run_with_modules(self, code: str, result: Literal["last_expression"] | None = None) -> Execution:
        """Runs a cell that uses the modules of `_variables`, which are put into the sandbox when they are not there."""
        done = await self.run(code, result=result)
        if not _variables.lacks_modules(done):
            return done
        for path, source in _variables.modules().items():
            await self.files.write(path, source)
        # Python may have looked before.
        return await self.run(f"import importlib\nimportlib.invalidate_caches()\n{code}", result=result)

    async def interrupt(self) -> bool:
        """Raises `KeyboardInterrupt` in what runs; the session lives on. `False` when nothing runs."""
        return await self._transport.send(_calls.interrupt(self.id))

    async def restart(self) -> SessionInfo:
        """Begins anew with an empty namespace; files are kept."""
        self.info = await self._transport.send(_calls.restart(self.id))
        return self.info

    async def grade(
        self,
        tests: Mapping[str, Any],
        *,
        path: str = "solution.py",
        timeout: float | None = None,
        **options: Unpack[GradeOptions],
    ) -> Execution:
        """Grades a file of the session with tests, in fresh interpreters beside copies of its other files."""
        return await self._transport.send(_calls.grade(self.id, path, tests, options), timeout)

    async def fork(self, count: int = 1, *, ttl_seconds: float | None = None) -> list[AsyncSession]:
        """Copies of the session as it is now, with variables and files."""
        forks = await self._transport.send(_calls.fork(self.id, count, ttl_seconds))
        return [AsyncSession(self._transport, info) for info in forks]

    async def checkpoint(self, name: str | None = None) -> Checkpoint:
        """Saves the session's state. `Client.session(from_checkpoint=…)` starts another one from it."""
        return await self._transport.send(_calls.checkpoint(self.id, name))

    async def restore(self, checkpoint: Checkpoint | str) -> SessionInfo:
        """Goes back to a checkpoint."""
        wanted = checkpoint if isinstance(checkpoint, str) else checkpoint.id
        self.info = await self._transport.send(_calls.restore(self.id, wanted))
        return self.info


class AsyncSessionFiles:
    """The files of a session. Relative paths begin at /home/user."""

    def __init__(self, transport: AsyncTransport, session_id: str) -> None:
        self._transport = transport
        self._id = session_id

    async def read(self, path: str, *, start: int | None = None, length: int | None = None) -> bytes:
        """A file, or `length` bytes of it from `start`."""
        return await self._transport.send(_calls.read_file(self._id, path, start, length))

    async def read_text(self, path: str, encoding: str = "utf-8") -> str:
        """A file as text."""
        return (await self.read(path)).decode(encoding)

    async def write(self, path: str, content: str | bytes) -> Entry:
        """Writes a file; directories are made as needed."""
        data = content.encode() if isinstance(content, str) else bytes(content)
        return await self._transport.send(_calls.write_file(self._id, path, data))

    async def list(self, path: str = ".", *, depth: int | None = None) -> list[Entry]:
        """Lists a directory, and `depth` levels below it."""
        return await self._transport.send(_calls.list_files(self._id, path, depth))

    async def stat(self, path: str) -> Entry:
        """A file or directory."""
        return await self._transport.send(_calls.stat_file(self._id, path))

    async def exists(self, path: str) -> bool:
        """Returns whether there is a file or directory at this path."""
        try:
            await self.stat(path)
        except NotFound as error:
            if error.code == "session_not_found":
                raise
            return False
        return True

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        """Removes a file or a directory."""
        await self._transport.send(_calls.remove_file(self._id, path, recursive))

    async def make_dir(self, path: str) -> Entry:
        """Makes a directory, and returns its entry."""
        return await self._transport.send(_calls.change_files(self._id, {"make_directory": path}))

    async def move(self, source: str, target: str) -> Entry:
        """Moves or renames a file or directory, and returns its new entry."""
        return await self._transport.send(_calls.change_files(self._id, {"move": {"from": source, "to": target}}))

    def watch(self, path: str = ".", *, recursive: bool = False, silence: float = 60.0) -> Opening[AsyncFileWatch]:
        """Changes below a directory, from now on, until it is closed."""
        call = _calls.watch_files(self._id, path, recursive)

        async def begin() -> AsyncFileWatch:
            return AsyncFileWatch(await self._transport.stream(call, silence=silence))

        return Opening(begin)


class AsyncCellStream:
    """Events of a running cell: iterate over them, then look at `answer`."""

    def __init__(self, stream: AsyncLineStream, timeout: float | None = None) -> None:
        self._stream = stream
        self._lines = stream.__aiter__()
        self._timeout = timeout
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._answer: Execution | None = None

    @property
    def answer(self) -> Execution:
        """The whole answer, once all events were read."""
        if self._answer is None:
            raise RuntimeError("the code has not ended: iterate over its events first, or call finish()")
        return self._answer

    async def finish(self) -> Execution:
        """Waits for the end, and gives the whole answer."""
        async for _ in self:
            pass
        return self.answer

    async def __aiter__(self) -> AsyncIterator[Event]:
        if self._answer is not None:
            return
        async for line in self._lines:
            if self._deadline is not None and time.monotonic() > self._deadline:
                await self.close()
                raise DeadlineExceeded(f"the code was not done within {self._timeout:g} seconds, and is interrupted")
            if line.get("type") == "failed":
                await self.close()
                raise error_within(line.get("error"))
            event = Event.of(line)
            if event.type == "keepalive":
                continue
            if event.answer is not None:
                self._answer = event.answer
            yield event
        if self._answer is None:
            raise ConnectionFailed("the service's answer ended before the code did", may_have_run=True)

    async def close(self) -> None:
        """Leaves; code that still runs is interrupted."""
        await self._stream.close()

    async def __aenter__(self) -> AsyncCellStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncFileWatch:
    """Changes of files, as they happen."""

    def __init__(self, stream: AsyncLineStream) -> None:
        self._stream = stream
        self._lines = stream.__aiter__()

    async def __aiter__(self) -> AsyncIterator[FileEvent]:
        async for line in self._lines:
            if line.get("type") != "keepalive":
                yield FileEvent.of(line)

    async def close(self) -> None:
        """Stops watching for changes of files."""
        await self._stream.close()

    async def __aenter__(self) -> AsyncFileWatch:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
