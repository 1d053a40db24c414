"""The client: all calls of the service, one method each."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence

import httpx

from . import _calls, _job_calls
from ._retries import Retries
from ._transport import LineStream, Transport
from .errors import ConnectionFailed
from .jobs import Jobs
from .options import ExecuteOptions, SessionOptions, SuiteItem, Unpack
from .session import Session
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

__all__ = ["Client", "SuiteRun"]


class Client:
    """A proofbox service.

    `url` defaults to the variable `PROOFBOX_URL`, else `http://127.0.0.1:8080`; `api_key` to `PROOFBOX_API_KEY`.
    `timeout` is what a call may take in all, its retries included, in seconds; a call that runs code gets at least its
    `wall_seconds` and 30 more. Safe to use from several threads.

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
        http: httpx.Client | None = None,
        traceparent: str | None = None,
    ) -> None:
        self.api_key = api_key
        self._transport = Transport(url, api_key, timeout, retries or Retries(), http, traceparent)
        #: What is run in the background.
        self.jobs = Jobs(self._transport)

    @property
    def url(self) -> str:
        """Base address of the service."""
        return self._transport.url

    def close(self) -> None:
        """Closes the connections. Sessions live on."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def execute(
        self,
        code: str | None = None,
        *,
        completion: str | None = None,
        timeout: float | None = None,
        **options: Unpack[ExecuteOptions],
    ) -> Execution:
        """Runs a snippet in a fresh interpreter, and grades it when there are `tests`."""
        return self._transport.send(_calls.execute(code, completion, options), timeout)

    def scan(self, code: str | None = None, *, completion: str | None = None, policy: str | None = None) -> Scan:
        """Looks at a snippet with the gate of a policy, and runs nothing."""
        return self._transport.send(_calls.scan(code, completion, policy))

    def suite(
        self,
        items: Iterable[SuiteItem],
        *,
        defaults: ExecuteOptions | None = None,
        k: Sequence[int] | None = None,
        silence: float = 900.0,
    ) -> SuiteRun:
        """Runs many. Items are sent as they come from `items`, and answers come as they finish.

        An iterator can be read only once: then the call is not retried. `silence`: how long no answer may come.
        """
        head = _calls.suite_head(defaults, k)
        stream = self._transport.stream(
            _calls.suite(),
            body=lambda: _calls.suite_lines(items, head),
            once=not isinstance(items, Sequence),
            silence=silence,
        )
        return SuiteRun(stream)

    def stats(
        self,
        *group_by: str,
        labels: Mapping[str, str] | None = None,
        since: datetime.datetime | None = None,
        until: datetime.datetime | None = None,
        interval: str | None = None,
    ) -> Stats:
        """Returns statistics of submissions: of those with these `labels`, grouped by labels, by `interval` of time
        (`minute`, `hour`, `day`)."""
        return self._transport.send(_job_calls.stats(group_by, labels or {}, since, until, interval))

    def runtime(self) -> Runtime:
        """Describes the interpreter that runs snippets, and the packages that they can import."""
        return self._transport.send(_calls.runtime())

    def policies(self) -> list[Policy]:
        """Returns the policy packs, each with its limits and rules."""
        return self._transport.send(_calls.policies())

    def receipts_key(self) -> ReceiptsKey:
        """The key that receipts are verified with."""
        return self._transport.send(_calls.receipts_key())

    def evaluator_presets(self) -> list[EvaluatorPreset]:
        """The evaluators that `tests.preset` can name."""
        return self._transport.send(_calls.presets())

    def health(self) -> str:
        """`"ok"` when the process answers."""
        return self._transport.send(_calls.health())

    def ready(self) -> str:
        """`"ready"` when a snippet runs; raises `Unavailable` otherwise."""
        return self._transport.send(_calls.ready())

    def session(self, **options: Unpack[SessionOptions]) -> Session:
        """Starts a session: an interpreter that keeps its state. Used with `with`, it is deleted at the end."""
        return Session(self._transport, self._transport.send(_calls.create_session(options)))

    def get_session(self, session_id: str) -> Session:
        """A session that exists. Leaving a `with` over it deletes it, too."""
        return Session(self._transport, self._transport.send(_calls.get_session(session_id)))

    def sessions(self, *, page: int | None = None) -> Iterator[SessionInfo]:
        """Iterates over all sessions, and asks for `page` of them at a time."""
        after: str | None = None
        while True:
            found, after = self._transport.send(_calls.list_sessions(page, after))
            yield from found
            if after is None:
                return

    def delete_session(self, session_id: str) -> None:
        """Ends the session with this id."""
        self._transport.send(_calls.delete_session(session_id))

    def checkpoints(self) -> list[Checkpoint]:
        """Returns all checkpoints of this key."""
        return self._transport.send(_calls.list_checkpoints())

    def delete_checkpoint(self, checkpoint_id: str) -> None:
        """Deletes the checkpoint with this id."""
        self._transport.send(_calls.delete_checkpoint(checkpoint_id))


class SuiteRun:
    """The answers of a suite as they finish: iterate, then look at `report`."""

    def __init__(self, stream: LineStream) -> None:
        self._stream = stream
        self._lines = iter(stream)
        self.report: SuiteReport | None = None

    def __iter__(self) -> Iterator[Execution]:
        for line in self._lines:
            if "report" in line and "id" not in line:
                self.report = SuiteReport.of(line["report"])
            else:
                yield Execution.of(line)
        if self.report is None:
            raise ConnectionFailed("the service's answer ended before the suite did", may_have_run=True)

    def collect(self) -> tuple[list[Execution], SuiteReport]:
        """Waits for all answers, and returns them with the report."""
        answers = list(self)
        assert self.report is not None
        return answers, self.report

    def close(self) -> None:
        """Leaves before the end; the service stops the suite."""
        self._stream.close()

    def __enter__(self) -> SuiteRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
