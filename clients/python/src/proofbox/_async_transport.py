"""Sends calls, with retries and a deadline: what _transport.py does, for asyncio and trio."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Any, TypeVar

import anyio
import httpx

from . import _tracing
from ._calls import Answer, Call
from ._lines import LineReader
from ._retries import Attempts, Retries, base_url, broken, headers, refusal
from ._transport import broken_stream

T = TypeVar("T")

Body = Callable[[], AsyncIterable[bytes]]


class AsyncTransport:
    """A pool of connections to one service."""

    def __init__(
        self,
        url: str | None,
        api_key: str | None,
        timeout: float,
        retries: Retries,
        http: httpx.AsyncClient | None,
        traceparent: str | None = None,
    ) -> None:
        self.url = base_url(url)
        self.timeout = timeout
        self._retries = retries
        self._headers = headers(api_key)
        self.traceparent = _tracing.checked(traceparent)
        self._owned = http is None
        self._http = http or httpx.AsyncClient()

    async def close(self) -> None:
        """Closes the connections, unless they belong to the caller."""
        if self._owned:
            await self._http.aclose()

    async def send(self, call: Call[T], timeout: float | None = None) -> T:
        """Carries out a call and reads its answer."""
        attempts = self._attempts(call, timeout)
        while True:
            try:
                response = await self._open(call, attempts, call.body, attempts.remaining)
                try:
                    body = await self._read(response, attempts)
                finally:
                    await response.aclose()
            except httpx.TransportError as error:
                await anyio.sleep(attempts.after_failure(error))
                continue
            if response.is_success:
                return call.read(Answer(response.status_code, response.headers, body))
            await anyio.sleep(attempts.after_refusal(refusal(response, body)))

    async def stream(
        self, call: Call[Any], *, body: Body | None = None, once: bool = False, silence: float
    ) -> AsyncLineStream:
        """Begins a call whose answer comes in lines. With `once` its body can't be made again, so it is tried once.

        `silence` is how long nothing may come, in seconds.
        """
        attempts = self._attempts(call, None, once)
        while True:
            try:
                content = call.body if body is None else body()
                response = await self._open(call, attempts, content, silence)
                if response.is_success:
                    return AsyncLineStream(response, f"{call.method} {call.path}")
                try:
                    refused = refusal(response, await self._read(response, attempts))
                finally:
                    await response.aclose()
            except httpx.TransportError as error:
                await anyio.sleep(attempts.after_failure(error))
                continue
            await anyio.sleep(attempts.after_refusal(refused))

    def _attempts(self, call: Call[Any], timeout: float | None, once: bool = False) -> Attempts:
        lasting = timeout if timeout is not None else max(self.timeout, call.least_timeout)
        return Attempts(call, self._retries, lasting, once)

    async def _open(
        self, call: Call[Any], attempts: Attempts, body: bytes | AsyncIterable[bytes] | None, read_timeout: float
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
        return await self._http.send(request, stream=True, follow_redirects=False)

    async def _read(self, response: httpx.Response, attempts: Attempts) -> bytes:
        """The body; a service that sends it drop by drop is held to the deadline, too."""
        parts = []
        async for chunk in response.aiter_bytes():
            parts.append(chunk)
            attempts.check()
        return b"".join(parts)


class AsyncLineStream:
    """The lines of an answer, as they come."""

    def __init__(self, response: httpx.Response, what: str) -> None:
        self._response = response
        self._what = what

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        reader = LineReader()
        try:
            async for chunk in self._response.aiter_bytes():
                for line in reader.feed(chunk):
                    yield line
            for line in reader.end():
                yield line
        except httpx.TransportError as error:
            raise broken(error, self._what, may_have_run=True) from error
        except httpx.StreamError as error:
            raise broken_stream(self._what) from error
        finally:
            await self.close()

    async def close(self) -> None:
        """Leaves; what runs for this answer is stopped by the service."""
        await self._response.aclose()
