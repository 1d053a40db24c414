"""Jobs: submissions that the service runs without waiting for anybody."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

from . import _job_calls
from ._transport import Transport
from .errors import ConnectionFailed, DeadlineExceeded
from .options import ExecuteOptions, SuiteItem, Unpack
from .types import Execution, JobInfo, SuiteReport

__all__ = ["Job", "Jobs"]

# How long to wait before a stream that broke off is taken up again, in seconds.
_BREATHER = 1.0


class Jobs:
    """The jobs of a key."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def submit(
        self,
        code: str | None = None,
        *,
        completion: str | None = None,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[ExecuteOptions],
    ) -> Job:
        """Has a snippet run in the background. Sent again with the same `idempotency_key`, it is the same job."""
        call = _job_calls.submit(code, completion, options, callback_url, idempotency_key)
        return Job(self._transport, self._transport.send(call))

    def submit_suite(
        self,
        items: Iterable[SuiteItem],
        *,
        defaults: ExecuteOptions | None = None,
        k: Sequence[int] | None = None,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> Job:
        """Has many run in the background."""
        call = _job_calls.submit_suite(items, defaults, k, callback_url, idempotency_key)
        return Job(self._transport, self._transport.send(call))

    def get(self, job_id: str) -> Job:
        """A job that exists."""
        return Job(self._transport, self._transport.send(_job_calls.get(job_id)))

    def list(self, *, state: str | None = None, page: int | None = None) -> Iterator[JobInfo]:
        """Iterates over all jobs, the newest first, and asks for `page` of them at a time."""
        after: str | None = None
        while True:
            found, after = self._transport.send(_job_calls.list_jobs(state, page, after))
            yield from found
            if after is None:
                return


class Job:
    """A job. `info` is how it stood when it was last looked at."""

    def __init__(self, transport: Transport, info: JobInfo) -> None:
        self._transport = transport
        self.info = info

    @property
    def id(self) -> str:
        """Identifier of the job."""
        return self.info.id

    def refresh(self) -> JobInfo:
        """Looks at it again."""
        self.info = self._transport.send(_job_calls.get(self.id))
        return self.info

    def wait(self, timeout: float | None = None, *, every: float = 0.5) -> JobInfo:
        """Waits for its end; raises `DeadlineExceeded` after `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while not self.refresh().has_ended:
            if end is not None and time.monotonic() + every > end:
                raise DeadlineExceeded(f"the job has not ended within {timeout} s")
            time.sleep(every)
        return self.info

    def results(self, *, follow: bool = True, after: int = 0, silence: float = 900.0) -> Iterator[Execution]:
        """Iterates over the results in the order in which they came, without the first `after`; with `follow`, as they
        come until the job ends. A stream that breaks off is taken up where it was. `silence`: longest time without a
        result, in seconds.
        """
        while True:
            try:
                for line in self._transport.stream(_job_calls.results(self.id, after, follow), silence=silence):
                    after += 1
                    yield Execution.of(line)
            except ConnectionFailed:
                if not follow:
                    raise
                time.sleep(_BREATHER)
                continue
            if not follow or (self.refresh().has_ended and self.info.done <= after):
                return

    def report(self) -> SuiteReport:
        """Returns the report on the results that are there so far."""
        return self._transport.send(_job_calls.report(self.id))

    def report_page(self) -> str:
        """The same as a page of HTML."""
        return self._transport.send(_job_calls.page(self.id))

    def cancel(self) -> JobInfo:
        """Ends it: what runs is stopped, what is done stays."""
        self.info = self._transport.send(_job_calls.cancel(self.id))
        return self.info

    def purge(self) -> None:
        """Ends it, and removes it with its results."""
        self._transport.send(_job_calls.purge(self.id))
