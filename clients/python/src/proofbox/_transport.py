"""Sends calls, with retries and a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import httpx

from . import _tracing
from ._calls import Answer, Call
from ._lines import LineReader
from ._retries import Attempts, Retries, base_url, broken, headers, refusal

T = TypeVar("T")

Body = Callable[[], Iterable[bytes]]


class Transport:
    """A pool of connections to one service."""

    def __init__(
        self,
        url: str | None,
        api_key: str | None,
        timeout: float,
        retries: Retries,
        http: httpx.Client | None,
        traceparent: str | None = None,
    ) -> None:
        self.url = base_url(url)
        self.timeout = timeout
        self._retries = retries
        self._headers = headers(api_key)
        self.traceparent = _tracing.checked(traceparent)
        self._owned = http is None
        self._http = http or httpx.Client()

    def close(self) -> None:
        """Closes the connections, unless they belong to the caller."""
        if self._owned:
            self._http.close()

    def send(self, call: Call[T], timeout: float | None = None) -> T:
        """Carries out a call and reads its answer."""
        attempts = self._attempts(call, timeout)
        while True:
            try:
                response = self._open(call, attempts, call.body, attempts.remaining)
                try:
                    body = self._read(response, attempts)
                finally:
                    response.close()
            except httpx.TransportError as error:
                time.sleep(attempts.after_failure(error))
                continue
            if response.is_success:
                return call.read(Answer(response.status_code, response.headers, body))
            time.sleep(attempts.after_refusal(refusal(response, body)))

    def stream(self, call: Call[Any], *, body: Body | None = None, once: bool = False, silence: float) -> LineStream:
        """Begins a call whose answer comes in lines. With `once` its body can't be made again, so it is tried once.

        `silence` is how long nothing may come, in seconds.
        """
        attempts = self._attempts(call, None, once)
        while True:
            try:
                response = self._open(call, attempts, call.body if body is None else body(), silence)
                if response.is_success:
                    return LineStream(response, f"{call.method} {call.path}")
                try:
                    refused = refusal(response, self._read(response, attempts))
                finally:
                    response.close()
            except httpx.TransportError as error:
                time.sleep(attempts.after_failure(error))
                continue
            time.sleep(attempts.after_refusal(refused))

    def _attempts(self, call: Call[Any], timeout: float | None, once: bool = False) -> Attempts:
        lasting = timeout if timeout is not None else max(self.timeout, call.least_timeout)
        return Attempts(call, self._retries, lasting, once)

    def _open(
        self, call: Call[Any], attempts: Attempts, body: bytes | Iterable[bytes] | None, read_timeout: float
    ) -> httpx.Response:
        attempts.check()
        connect = min(10.0, attempts.remaining)
        request = self._http.build_request(
            call.method,
            self.url + call.path,
            params=dict(call.params) or None,
            content=body,
            headers={**self._headers, **_tracing.headers(self.traceparent), **call.headers()},
            timeout=httpx.Timeout(read_timeout, connect=connect, pool=connect),
        )
        return self._http.send(request, stream=True, follow_redirects=False)

    def _read(self, response: httpx.Response, attempts: Attempts) -> bytes:
        """The body; a service that sends it drop by drop is held to the deadline, too."""
        parts = []
        for chunk in response.iter_bytes():
            parts.append(chunk)
            attempts.check()
        return b"".join(parts)


class LineStream:
    """The lines of an answer, as they come."""

    def __init__(self, response: httpx.Response, what: str) -> None:
        self._response = response
        self._what = what

    def __iter__(self) -> Iterator[dict[str, Any]]:
        reader = LineReader()
        try:
            for chunk in self._response.iter_bytes():
                yield from reader.feed(chunk)
            yield from reader.end()
        except httpx.TransportError as error:
            raise broken(error, self._what, may_have_run=True) from error
        except httpx.StreamError as error:
            raise broken_stream(self._what) from error
        finally:
            self.close()

    def close(self) -> None:
        """Leaves; what runs for this answer is stopped by the service."""
        self._response.close()


def broken_stream(what: str) -> Exception:
    """The error for a stream that is read after its end."""
    return broken(httpx.HTTPError("it is closed"), what, may_have_run=True)
