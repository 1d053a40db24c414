"""Requests of each call, and readers of the answers. Nothing here does input or output: both clients send these."""

from __future__ import annotations

import base64
import dataclasses
import json
import posixpath
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from .errors import ProtocolError
from .types import (
    Checkpoint,
    Entry,
    EvaluatorPreset,
    Execution,
    Policy,
    ReceiptsKey,
    Record,
    Runtime,
    Scan,
    SessionInfo,
)

T = TypeVar("T")
R = TypeVar("R", bound=Record)

NDJSON = "application/x-ndjson"

# Where relative paths of a sandbox begin.
HOME = "/home/user"


@dataclasses.dataclass(frozen=True)
class Answer:
    """Successful answer of the service: status, headers and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Parses the body. Raises `ProtocolError` where it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise ProtocolError(f"the service's answer is not JSON: {error}") from None


@dataclasses.dataclass(frozen=True)
class Call(Generic[T]):
    """A request. `repeatable`: it may be sent again though it may have been carried out."""

    method: str
    path: str
    read: Callable[[Answer], T]
    repeatable: bool
    params: Mapping[str, str] = dataclasses.field(default_factory=dict)
    body: bytes | None = None
    content_type: str | None = None
    accept: str = "application/json"
    extra_headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    # What the snippet itself may take, above what a call may take otherwise.
    least_timeout: float = 0.0

    def headers(self) -> dict[str, str]:
        """Headers of the request: `Accept`, `Content-Type` and those of the call."""
        headers = {"Accept": self.accept, **self.extra_headers}
        if self.content_type is not None:
            headers["Content-Type"] = self.content_type
        return headers


def _json_call(
    method: str, path: str, read: Callable[[Answer], T], body: Any, *, repeatable: bool, least_timeout: float = 0.0
) -> Call[T]:
    return Call(
        method,
        path,
        read,
        repeatable,
        body=to_json(body),
        content_type="application/json",
        least_timeout=least_timeout,
    )


def to_json(body: Any) -> bytes:
    """A body; bytes in it become `{"base64": …}`, as the contract has it for files."""
    return json.dumps(body, ensure_ascii=True, allow_nan=False, default=_not_json).encode()


def _not_json(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(f"a {type(value).__name__} can't be sent as JSON; proofbox.encode makes tagged JSON of values")


def _record(kind: type[R]) -> Callable[[Answer], R]:
    return lambda answer: kind.of(answer.json())


def _records(kind: type[R], member: str | None) -> Callable[[Answer], list[R]]:
    def read(answer: Answer) -> list[R]:
        parsed = answer.json()
        items = parsed if member is None else parsed.get(member) if isinstance(parsed, dict) else None
        if not isinstance(items, list):
            raise ProtocolError(f"the service should have answered a list of {kind.__name__}")
        return [kind.of(item) for item in items]

    return read


def _nothing(_: Answer) -> None:
    return None


def _word(name: str) -> Callable[[Answer], str]:
    return lambda answer: str(answer.json().get(name))


def _wall(options: Mapping[str, Any]) -> float:
    """A call must not end before what it runs: with room for the queue."""
    limits = options.get("limits") or {}
    return float(limits.get("wall_seconds", 0)) + 30.0


def source(code: str | None, completion: str | None) -> dict[str, str]:
    """Exactly one of the two, as fields; neither is possible with an evaluator."""
    if code is not None and completion is not None:
        raise ValueError("give `code` or `completion`, not both")
    if code is not None:
        return {"code": code}
    return {} if completion is None else {"completion": completion}


def execute(code: str | None, completion: str | None, options: Mapping[str, Any]) -> Call[Execution]:
    """A run in a fresh interpreter leaves nothing behind: it can be repeated."""
    body = {**source(code, completion), **options}
    return _json_call("POST", "/v1/execute", _record(Execution), body, repeatable=True, least_timeout=_wall(options))


def scan(code: str | None, completion: str | None, policy: str | None) -> Call[Scan]:
    body: dict[str, Any] = dict(source(code, completion))
    if policy is not None:
        body["policy"] = policy
    return _json_call("POST", "/v1/scan", _record(Scan), body, repeatable=True)


def suite_lines(items: Iterable[Mapping[str, Any]], head: Mapping[str, Any]) -> Iterable[bytes]:
    """The body of a suite, line by line."""
    if head:
        yield to_json(head) + b"\n"
    for item in items:
        yield to_json(item) + b"\n"


def suite_head(defaults: Mapping[str, Any] | None, k: Iterable[int] | None) -> dict[str, Any]:
    head: dict[str, Any] = {}
    if defaults is not None:
        head["defaults"] = defaults
    if k is not None:
        head["k"] = list(k)
    return head


def suite() -> Call[None]:
    """Without its body, which is streamed."""
    return Call("POST", "/v1/suites", _nothing, True, content_type=NDJSON, accept=NDJSON)


def runtime() -> Call[Runtime]:
    return Call("GET", "/v1/runtime", _record(Runtime), True)


def policies() -> Call[list[Policy]]:
    return Call("GET", "/v1/policies", _records(Policy, None), True)


def receipts_key() -> Call[ReceiptsKey]:
    return Call("GET", "/v1/receipts/key", _record(ReceiptsKey), True)


def presets() -> Call[list[EvaluatorPreset]]:
    return Call("GET", "/v1/evaluators/presets", _records(EvaluatorPreset, "presets"), True)


def health() -> Call[str]:
    return Call("GET", "/healthz", _word("status"), True)


def ready() -> Call[str]:
    return Call("GET", "/readyz", _word("status"), True)


# Sessions. What changes one is never repeated when it may have been carried out, but where twice is as good as once.


def create_session(options: Mapping[str, Any]) -> Call[SessionInfo]:
    return _json_call("POST", "/v1/sessions", _record(SessionInfo), dict(options), repeatable=False)


def list_sessions(limit: int | None, after: str | None) -> Call[tuple[list[SessionInfo], str | None]]:
    params = {"limit": str(limit)} if limit is not None else {}
    if after is not None:
        params["next"] = after

    def read(answer: Answer) -> tuple[list[SessionInfo], str | None]:
        return _records(SessionInfo, "sessions")(answer), answer.json().get("next")

    return Call("GET", "/v1/sessions", read, True, params=params)


def _session(session_id: str, rest: str = "") -> str:
    return f"/v1/sessions/{quote(session_id, safe='')}{rest}"


def get_session(session_id: str) -> Call[SessionInfo]:
    return Call("GET", _session(session_id), _record(SessionInfo), True)


def delete_session(session_id: str) -> Call[None]:
    return Call("DELETE", _session(session_id), _nothing, True)


def set_ttl(session_id: str, ttl_seconds: float) -> Call[SessionInfo]:
    body = {"ttl_seconds": ttl_seconds}
    return _json_call("PATCH", _session(session_id), _record(SessionInfo), body, repeatable=True)


def run_cell(
    session_id: str, code: str | None, completion: str | None, options: Mapping[str, Any], *, stream: bool
) -> Call[Execution]:
    call = _json_call(
        "POST",
        _session(session_id, "/execute"),
        _record(Execution),
        {**source(code, completion), **options},
        repeatable=False,
        least_timeout=_wall(options),
    )
    return dataclasses.replace(call, accept=NDJSON) if stream else call


def interrupt(session_id: str) -> Call[bool]:
    def read(answer: Answer) -> bool:
        return bool(answer.json().get("interrupted"))

    return Call("POST", _session(session_id, "/interrupt"), read, False)


def restart(session_id: str) -> Call[SessionInfo]:
    return Call("POST", _session(session_id, "/restart"), _record(SessionInfo), False)


def fork(session_id: str, count: int, ttl_seconds: float | None) -> Call[list[SessionInfo]]:
    body: dict[str, Any] = {"count": count}
    if ttl_seconds is not None:
        body["ttl_seconds"] = ttl_seconds
    return _json_call("POST", _session(session_id, "/fork"), _records(SessionInfo, "sessions"), body, repeatable=False)


def checkpoint(session_id: str, name: str | None) -> Call[Checkpoint]:
    body = {} if name is None else {"name": name}
    return _json_call("POST", _session(session_id, "/checkpoints"), _record(Checkpoint), body, repeatable=False)


def restore(session_id: str, checkpoint_id: str) -> Call[SessionInfo]:
    body = {"checkpoint": checkpoint_id}
    return _json_call("POST", _session(session_id, "/restore"), _record(SessionInfo), body, repeatable=False)


def grade(session_id: str, path: str, tests: Mapping[str, Any], options: Mapping[str, Any]) -> Call[Execution]:
    """Grading leaves the session as it is: it can be repeated."""
    body = {"path": path, "tests": tests, **options}
    route = _session(session_id, "/grade")
    return _json_call("POST", route, _record(Execution), body, repeatable=True, least_timeout=_wall(options))


def list_checkpoints() -> Call[list[Checkpoint]]:
    return Call("GET", "/v1/checkpoints", _records(Checkpoint, "checkpoints"), True)


def delete_checkpoint(checkpoint_id: str) -> Call[None]:
    return Call("DELETE", f"/v1/checkpoints/{quote(checkpoint_id, safe='')}", _nothing, True)


# Files of a session.


def _file(session_id: str, path: str) -> str:
    """A path with `..` must not change which resource the address names, so it is resolved here."""
    if not path:
        raise ValueError("the path is empty")
    if path.startswith("/") or any(part in (".", "..", "") for part in path.split("/")):
        path = posixpath.normpath(posixpath.join(HOME, path))
        path = "/" + path.lstrip("/")
    return _session(session_id, f"/files/{quote(path, safe='/')}")


def read_file(session_id: str, path: str, start: int | None, length: int | None) -> Call[bytes]:
    headers = {}
    if start is not None or length is not None:
        first = start or 0
        if first < 0 or (length is not None and length < 1):
            raise ValueError("start must be at least 0, and length at least 1")
        headers["Range"] = f"bytes={first}-" + ("" if length is None else str(first + length - 1))
    return Call("GET", _file(session_id, path), lambda answer: answer.body, True, accept="*/*", extra_headers=headers)


def write_file(session_id: str, path: str, data: bytes) -> Call[Entry]:
    return Call(
        "PUT",
        _file(session_id, path),
        _record(Entry),
        True,
        body=data,
        content_type="application/octet-stream",
    )


def stat_file(session_id: str, path: str) -> Call[Entry]:
    return Call("GET", _file(session_id, path), _record(Entry), True, params={"stat": ""})


def remove_file(session_id: str, path: str, recursive: bool) -> Call[None]:
    params = {"recursive": "true"} if recursive else {}
    return Call("DELETE", _file(session_id, path), _nothing, True, params=params)


def list_files(session_id: str, path: str, depth: int | None) -> Call[list[Entry]]:
    params = {"list": "", "path": path}
    if depth is not None:
        params["depth"] = str(depth)
    return Call("GET", _session(session_id, "/files"), _records(Entry, "entries"), True, params=params)


def change_files(session_id: str, change: Mapping[str, Any]) -> Call[Entry]:
    return _json_call("POST", _session(session_id, "/files"), _record(Entry), change, repeatable=False)


def watch_files(session_id: str, path: str, recursive: bool) -> Call[None]:
    params = {"watch": "", "path": path}
    if recursive:
        params["recursive"] = "true"
    return Call("GET", _session(session_id, "/files"), _nothing, True, params=params, accept=NDJSON)
