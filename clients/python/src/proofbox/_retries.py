"""Rules for sending a call again. Both clients use them; no input or output here, and no clock but its own."""

from __future__ import annotations

import dataclasses
import email.utils
import os
import random
import time
from typing import Any, NoReturn

import httpx

from ._calls import Call
from .errors import Busy, ConnectionFailed, DeadlineExceeded, ServiceError, Unavailable, service_error

DEFAULT_URL = "http://127.0.0.1:8080"

# Errors of httpx that come before anything of a request was sent.
_BEFORE_SENDING = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)

# Answers 503 that waiting does not change.
_LASTING = frozenset({"no_receipt_key"})


@dataclasses.dataclass(frozen=True)
class Retries:
    """Number of attempts and waits between them: a call is tried again while its `timeout` lasts.

    A call is repeated when the service refused it for now (429, 503) or could not be reached. One that changes
    something is never repeated once it may have been carried out.
    """

    attempts: int = 8
    first_wait: float = 0.1
    longest_wait: float = 10.0


class Attempts:
    """The tries of one call."""

    def __init__(self, call: Call[Any], retries: Retries, timeout: float, once: bool = False) -> None:
        self._call = call
        self._retries = dataclasses.replace(retries, attempts=1) if once else retries
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._made = 1

    @property
    def remaining(self) -> float:
        """Returns the seconds left until the deadline."""
        return self._deadline - time.monotonic()

    def check(self) -> None:
        """Raises when the time is up."""
        if self.remaining <= 0:
            self.out_of_time(None)

    def out_of_time(self, cause: BaseException | None) -> NoReturn:
        """Raises `DeadlineExceeded` from `cause`, with a text that says whether the call may have been carried out."""
        text = f"{self._call.method} {self._call.path} was not done within {self._timeout:g} seconds"
        if not self._call.repeatable:
            text += "; it may have been carried out"
        raise DeadlineExceeded(text) from cause

    def after_failure(self, error: httpx.TransportError) -> float:
        """Seconds to wait before the next try; raises when there is none."""
        if isinstance(error, httpx.TimeoutException) and self.remaining <= 0.05:
            self.out_of_time(error)
        before = isinstance(error, _BEFORE_SENDING)
        wait = self._wait(None)
        if wait is not None and (before or self._call.repeatable) and not isinstance(error, httpx.UnsupportedProtocol):
            return wait
        failed = broken(error, f"{self._call.method} {self._call.path}", may_have_run=not before)
        # Where nothing was sent, httpx's own story adds nothing.
        raise failed from (None if before else error)

    def after_refusal(self, error: ServiceError) -> float:
        """Seconds to wait before the next try; raises the refusal when there is none."""
        refused = isinstance(error, Busy) or (isinstance(error, Unavailable) and error.retry_after is not None)
        passing = isinstance(error, Unavailable) or error.status in (502, 504)
        if error.code not in _LASTING and (refused or (passing and self._call.repeatable)):
            wait = self._wait(error.retry_after)
            if wait is not None:
                return wait
        raise error

    def _wait(self, asked: float | None) -> float | None:
        if self._made >= self._retries.attempts:
            return None
        wait: float = min(self._retries.first_wait * 2 ** (self._made - 1), self._retries.longest_wait)
        # Clients that were refused together should not come back together.
        wait = max(wait * random.uniform(0.5, 1.0), asked or 0.0)
        if wait >= self.remaining:
            return None
        self._made += 1
        return wait


def broken(error: httpx.HTTPError, what: str, *, may_have_run: bool) -> ConnectionFailed:
    """The error for a connection that failed."""
    if may_have_run:
        text = f"the connection broke during {what}: {_words(error)}"
    else:
        where = f" at {error.request.url.copy_with(path='/', query=None)}" if _has_request(error) else ""
        text = f"{what}: the service{where} can't be reached: {_words(error)}"
    return ConnectionFailed(text, may_have_run=may_have_run)


def _has_request(error: httpx.HTTPError) -> bool:
    try:
        return error.request is not None
    except RuntimeError:
        return False


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


def refusal(response: httpx.Response, body: bytes) -> ServiceError:
    """The error that an answer stands for."""
    return service_error(response.status_code, body, retry_after(response.headers))


def retry_after(headers: httpx.Headers) -> float | None:
    """`Retry-After` in seconds: a number, or a date."""
    text: str | None = headers.get("retry-after")
    if text is None:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None


def base_url(url: str | None) -> str:
    """The given address, else that of `PROOFBOX_URL`, else the service's default on this machine."""
    chosen = url or os.environ.get("PROOFBOX_URL") or DEFAULT_URL
    return chosen.rstrip("/")


def headers(api_key: str | None) -> dict[str, str]:
    """Returns the headers of every request: `Authorization`, where there is a key."""
    key = api_key or os.environ.get("PROOFBOX_API_KEY")
    return {"Authorization": f"Bearer {key}"} if key else {}
