"""Errors of calls. All are a `ProofboxError`; a snippet that fails is no error but an answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .types import CommandResult, Execution

__all__ = [
    "Busy",
    "CodeFailed",
    "CommandFailed",
    "Conflict",
    "ConnectionFailed",
    "DeadlineExceeded",
    "InternalError",
    "InvalidRequest",
    "NotAllowed",
    "NotFound",
    "ProofboxError",
    "ProtocolError",
    "ServiceError",
    "SessionNotFound",
    "TooLarge",
    "Unauthenticated",
    "Unavailable",
    "VariableError",
]


class ProofboxError(Exception):
    """Anything that this package raises of itself."""


class ConnectionFailed(ProofboxError):
    """The service was not reached, or the connection broke. `may_have_run`: the call may have been carried out."""

    def __init__(self, message: str, *, may_have_run: bool) -> None:
        super().__init__(message)
        self.may_have_run = may_have_run


class DeadlineExceeded(ProofboxError, TimeoutError):
    """The call was not done within its `timeout`."""


class ProtocolError(ProofboxError):
    """Answer that breaks the contract: perhaps another service answers at this address."""


class VariableError(ProofboxError, TypeError):
    """A value that can't be sent. `name` is the variable."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"variable {name!r} can't be sent: {why}")
        self.name = name


class CodeFailed(ProofboxError):
    """Raised by `Execution.check()`. `execution` is the whole answer."""

    def __init__(self, message: str, execution: Execution) -> None:
        super().__init__(message)
        self.execution = execution


class CommandFailed(ProofboxError):
    """Raised by `CommandResult.check()`. `result` is the whole result."""

    def __init__(self, message: str, result: CommandResult) -> None:
        super().__init__(message)
        self.result = result


class ServiceError(ProofboxError):
    """The service refused. `code` is stable; `field` names what it is about, `asked` and `allowed` the range."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str,
        field: str | None = None,
        asked: Any = None,
        allowed: Any = None,
        retry_after: float | None = None,
        raw: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{message} ({code})")
        self.message = message
        self.status = status
        self.code = code
        self.field = field
        self.asked = asked
        self.allowed = allowed
        self.retry_after = retry_after
        self.raw = raw or {}


class InvalidRequest(ServiceError):
    """400, 405, 411, 415, 416, 422: the request is malformed, or without meaning."""


class TooLarge(InvalidRequest):
    """413: the request exceeds a limit on sizes."""


class Unauthenticated(ServiceError):
    """401: no key, or one that the service does not know."""


class NotAllowed(ServiceError):
    """403: the key may not do this."""


class NotFound(ServiceError):
    """404: no such session, job, file or route."""


class SessionNotFound(NotFound):
    """404: the session was deleted, or has expired."""


class Conflict(ServiceError):
    """409: the state of the resource does not allow this."""


class Busy(ServiceError):
    """429: all places are taken, or a quota is used up. `retry_after` says when to come back, in seconds."""


class Unavailable(ServiceError):
    """503: going down, not up yet, or without what the request needs."""


class InternalError(ServiceError):
    """5xx but those above: a fault of the service."""


_BY_STATUS: dict[int, type[ServiceError]] = {
    401: Unauthenticated,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    429: Busy,
    503: Unavailable,
}


# An error that comes within an answer has no status of its own.
_BY_CODE: dict[str, type[ServiceError]] = {
    "session_not_found": SessionNotFound,
    "not_found": NotFound,
    "busy": Busy,
    "too_large": TooLarge,
    "draining": Unavailable,
    "not_ready": Unavailable,
    "internal_error": InternalError,
}


def error_within(fields: Any) -> ServiceError:
    """The error that the service tells of in the middle of an answer."""
    known = fields if isinstance(fields, dict) else {}
    code = str(known.get("code", "failed"))
    kind = _BY_CODE.get(code, InvalidRequest if known.get("field") else ServiceError)
    return _made(kind, known, code, str(known.get("message") or "the service failed"), 200, known.get("retry_after"))


def _made(
    kind: type[ServiceError], fields: dict[str, Any], code: str, message: str, status: int, retry_after: float | None
) -> ServiceError:
    return kind(
        message,
        status=status,
        code=code,
        field=fields.get("field"),
        asked=fields.get("asked"),
        allowed=fields.get("allowed"),
        retry_after=retry_after,
        raw=fields,
    )


def service_error(status: int, body: bytes, retry_after: float | None) -> ServiceError:
    """The error that an answer of this status stands for, also where its body is not the service's."""
    try:
        parsed = json.loads(body)
        fields = parsed["error"] if isinstance(parsed["error"], dict) else {}
    except (ValueError, KeyError, TypeError, RecursionError):
        fields = {}
    code = str(fields.get("code", f"http_{status}"))
    message = str(fields.get("message") or f"the service answered {status}")
    kind = _BY_STATUS.get(status, InternalError if status >= 500 else InvalidRequest)
    if code == "session_not_found":
        kind = SessionNotFound
    return _made(kind, fields, code, message, status, retry_after)
