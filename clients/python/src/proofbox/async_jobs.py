"""Asynchronous client of jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence

import anyio

from . import _job_calls
from ._async_transport import AsyncTransport
from .errors import ConnectionFailed, DeadlineExceeded
from .options import ExecuteOptions, SuiteItem, Unpack
from .types import Execution, JobInfo, SuiteReport

__all__ = ["AsyncJob", "AsyncJobs"]

# How long to wait before a stream that broke off is taken up again, in seconds.
_BREATHER = 1.0


class AsyncJobs:
    """The jobs of a key."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def submit(
        self,
        code: str | None = None,
        *,
        completion: str | None = None,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[ExecuteOptions],
    ) -> AsyncJob:
        """Has a snippet run in the background. Sent again with the same `idempotency_key`, it is the same job."""
        call = _job_calls.submit(code, completion, options, callback_url, idempotency_key)
        return AsyncJob(self._transport, await self._transport.send(call))

    async def submit_suite(
        self,
        items: Iterable[SuiteItem],
        *,
        defaults: ExecuteOptions | None = None,
        k: Sequence[int] | None = None,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncJob:
        """Has many run in the background."""
        call = _job_calls.submit_suite(items, defaults, k, callback_url, idempotency_key)
        return AsyncJob(self._transport, await self._transport.send(call))

    async def get(self, job_id: str) -> AsyncJob:
        """A job that exists."""
        return AsyncJob(self._transport, await self._transport.send(_job_calls.get(job_id)))

    async def list(self, *, state: str | None = None, page: int | None = None) -> AsyncIterator[JobInfo]:
        """Iterates over all jobs, the newest first, and asks for `page` of them at a time."""
        after: str | None = None
        while True:
            found, after = await self._transport.send(_job_calls.list_jobs(state, page, after))
            for job in found:
                yield job
            if after is None:
                return


class AsyncJob:
    """A job. `info` is how it stood when it was last looked at."""

    def __init__(self, transport: AsyncTransport, info: JobInfo) -> None:
        self._transport = transport
        self.info = info

    @property
    def id(self) -> str:
        """Identifier of the job."""
        return self.info.id

    async def refresh(self) -> JobInfo:
        """Looks at it again."""
        self.info = await self._transport.send(_job_calls.get(self.id))
        return self.info

    async def wait(self, timeout: float | None = None, *, every: float = 0.5) -> JobInfo:
        """Waits for its end; raises `DeadlineExceeded` after `timeout` seconds."""
        end = None if timeout is None else anyio.current_time() + timeout
        while not (await self.refresh()).has_ended:
            if end is not None and anyio.current_time() + every > end:
                raise DeadlineExceeded(f"the job has not ended within {timeout} s")
            await anyio.sleep(every)
        return self.info

    async def results(self, *, follow: bool = True, after: int = 0, silence: float = 900.0) -> AsyncIterator[Execution]:
        """Iterates over the results in the order in which they came, without the first `after`; with `follow`, as they
        come until the job ends. A stream that breaks off is taken up where it was. `silence`: longest time without a
        result, in seconds.
        """
        while True:
            try:
                stream = await self._transport.stream(_job_calls.results(self.id, after, follow), silence=silence)
                async for line in stream:
                    after += 1
                    yield Execution.of(line)
            except ConnectionFailed:
                if not follow:
                    raise
                await anyio.sleep(_BREATHER)
                continue
            if not follow or ((await self.refresh()).has_ended and self.info.done <= after):
                return

    async def report(self) -> SuiteReport:
        """Returns the report on the results that are there so far."""
        return await self._transport.send(_job_calls.report(self.id))

    async def report_page(self) -> str:
        """The same as a page of HTML."""
        return await self._transport.send(_job_calls.page(self.id))

    async def cancel(self) -> JobInfo:
        """Ends it: what runs is stopped, what is done stays."""
        self.info = await self._transport.send(_job_calls.cancel(self.id))
        return self.info

    async def purge(self) -> None:
        """Ends it, and removes it with its results."""
        await self._transport.send(_job_calls.purge(self.id))
