"""The client for asyncio and trio: what client.py does, awaited."""

from __future__ import annotations

import datetime
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

import httpx

from . import _calls, _job_calls
from ._async_transport import AsyncLineStream, AsyncTransport
from ._opening import Opening
from ._retries import Retries
from .async_jobs import AsyncJobs
from .async_session import AsyncSession
from .errors import ConnectionFailed
from .options import ExecuteOptions, SessionOptions, SuiteItem, Unpack
from .types import (
    Checkpoint,
    EvaluatorPreset,
    Execution,
    Policy,
    ReceiptsKey,
    Runtime,
    Scan,
    SessionInfo,
    Stats,
    SuiteReport,
)

__all__ = ["AsyncClient", "AsyncSuiteRun"]


class AsyncClient:
    """A proofbox service.

    `url` defaults to the variable `PROOFBOX_URL`, else `http://127.0.0.1:8080`; `api_key` to `PROOFBOX_API_KEY`.
    `timeout` is what a call may take in all, its retries included, in seconds; a call that runs code gets at least its
    `wall_seconds` and 30 more. For one event loop.

    Calls carry the caller's trace context (W3C): `traceparent` where it is given, else OpenTelemetry's current span
    where `opentelemetry-api` is installed.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout: float = 120.0,
        retries: Retries | None = None,
        http: httpx.AsyncClient | None = None,
        traceparent: str | None = None,
    ) -> None:
        self.api_key = api_key
        self._transport = AsyncTransport(url, api_key, timeout, retries or Retries(), http, traceparent)
        #: What is run in the background.
        self.jobs = AsyncJobs(self._transport)

    @property
    def url(self) -> str:
        """Base address of the service."""
        return self._transport.url

    async def close(self) -> None:
        """Closes the connections. Sessions live on."""
        await self._transport.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def execute(
        self,
        code: str | None = None,
        *,
        completion: str | None = None,
        timeout: float | None = None,
        **options: Unpack[ExecuteOptions],
    ) -> Execution:
        """Runs a snippet in a fresh interpreter, and grades it when there are `tests`."""
        return await self._transport.send(_calls.execute(code, completion, options), timeout)

    async def scan(self, code: str | None = None, *, completion: str | None = None, policy: str | None = None) -> Scan:
        """Looks at a snippet with the gate of a policy, and runs nothing."""
        return await self._transport.send(_calls.scan(code, completion, policy))

    def suite(
        self,
        items: Iterable[SuiteItem] | AsyncIterable[SuiteItem],
        *,
        defaults: ExecuteOptions | None = None,
        k: Sequence[int] | None = None,
        silence: float = 900.0,
    ) -> Opening[AsyncSuiteRun]:
        """Runs many. Items are sent as they come from `items`, and answers come as they finish.

        An iterator can be read only once: then the call is not retried. `silence`: how long no answer may come.
        """
        head = _calls.suite_head(defaults, k)

        async def begin() -> AsyncSuiteRun:
            stream = await self._transport.stream(
                _calls.suite(),
                body=lambda: _suite_lines(items, head),
                once=not isinstance(items, Sequence),
                silence=silence,
            )
            return AsyncSuiteRun(stream)

        return Opening(begin)

    async def stats(
        self,
        *group_by: str,
        labels: Mapping[str, str] | None = None,
        since: datetime.datetime | None = None,
        until: datetime.datetime | None = None,
        interval: str | None = None,
    ) -> Stats:
        """Returns statistics of submissions: of those with these `labels`, grouped by labels, by `interval` of time
        (`minute`, `hour`, `day`)."""
        return await self._transport.send(_job_calls.stats(group_by, labels or {}, since, until, interval))

    async def runtime(self) -> Runtime:
        """Describes the interpreter that runs snippets, and the packages that they can import."""
        return await self._transport.send(_calls.runtime())

    async def policies(self) -> list[Policy]:
        """Returns the policy packs, each with its limits and rules."""
        return await self._transport.send(_calls.policies())

    async def receipts_key(self) -> ReceiptsKey:
        """The key that receipts are verified with."""
        return await self._transport.send(_calls.receipts_key())

    async def evaluator_presets(self) -> list[EvaluatorPreset]:
        """The evaluators that `tests.preset` can name."""
        return await self._transport.send(_calls.presets())

    async def health(self) -> str:
        """`"ok"` when the process answers."""
        return await self._transport.send(_calls.health())

    async def ready(self) -> str:
        """`"ready"` when a snippet runs; raises `Unavailable` otherwise."""
        return await self._transport.send(_calls.ready())

    def session(self, **options: Unpack[SessionOptions]) -> Opening[AsyncSession]:
        """Starts a session: an interpreter that keeps its state.

        `async with client.session() as session:` deletes it at the end, `await client.session()` does not.
        """

        async def begin() -> AsyncSession:
            return AsyncSession(self._transport, await self._transport.send(_calls.create_session(options)))

        return Opening(begin)

    async def get_session(self, session_id: str) -> AsyncSession:
        """A session that exists. Leaving an `async with` over it deletes it, too."""
        return AsyncSession(self._transport, await self._transport.send(_calls.get_session(session_id)))

    async def sessions(self, *, page: int | None = None) -> AsyncIterator[SessionInfo]:
        """Iterates over all sessions, and asks for `page` of them at a time."""
        after: str | None = None
        while True:
            found, after = await self._transport.send(_calls.list_sessions(page, after))
            for session in found:
                yield session
            if after is None:
                return

    async def delete_session(self, session_id: str) -> None:
        """Ends the session with this id."""
        await self._transport.send(_calls.delete_session(session_id))

    async def checkpoints(self) -> list[Checkpoint]:
        """Returns all checkpoints of this key."""
        return await self._transport.send(_calls.list_checkpoints())

    async def delete_checkpoint(self, checkpoint_id: str) -> None:
        """Deletes the checkpoint with this id."""
        await self._transport.send(_calls.delete_checkpoint(checkpoint_id))


async def _suite_lines(
    items: Iterable[SuiteItem] | AsyncIterable[SuiteItem], head: Mapping[str, Any]
) -> AsyncIterator[bytes]:
    if not isinstance(items, AsyncIterable):
        for line in _calls.suite_lines(items, head):
            yield line
        return
    for line in _calls.suite_lines((), head):
        yield line
    async for item in items:
        for line in _calls.suite_lines((item,), {}):
            yield line


class AsyncSuiteRun:
    """The answers of a suite as they finish: iterate, then look at `report`."""

    def __init__(self, stream: AsyncLineStream) -> None:
        self._stream = stream
        self._lines = stream.__aiter__()
        self.report: SuiteReport | None = None

    async def __aiter__(self) -> AsyncIterator[Execution]:
        async for line in self._lines:
            if "report" in line and "id" not in line:
                self.report = SuiteReport.of(line["report"])
            else:
                yield Execution.of(line)
        if self.report is None:
            raise ConnectionFailed("the service's answer ended before the suite did", may_have_run=True)

    async def collect(self) -> tuple[list[Execution], SuiteReport]:
        """Awaits all answers, and returns them with the report."""
        answers = [answer async for answer in self]
        assert self.report is not None
        return answers, self.report

    async def close(self) -> None:
        """Leaves before the end; the service stops the suite."""
        await self._stream.close()

    async def __aenter__(self) -> AsyncSuiteRun:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
