"""Options of calls, as keyword arguments. docs/reference/execute.md says what each means."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

if sys.version_info >= (3, 11):
    from typing import NotRequired, Unpack
else:
    from typing_extensions import NotRequired, Unpack

__all__ = [
    "CellOptions",
    "CommandOptions",
    "ExecuteOptions",
    "Files",
    "GradeOptions",
    "Limits",
    "NotRequired",
    "SessionOptions",
    "Signal",
    "SuiteItem",
    "Unpack",
]

# Signals that a command can be ended with.
Signal = Literal["SIGINT", "SIGTERM", "SIGKILL"]

# Contents of files by path: text, bytes, or {"base64": …}.
Files = Mapping[str, "str | bytes | Mapping[str, str]"]


class Limits(TypedDict, total=False):
    """Limits of a run; the policy's where they are silent."""

    fuel: int
    wall_seconds: float
    memory_bytes: int
    output_bytes: int
    files_bytes: int
    files_count: int


class ExecuteOptions(TypedDict, total=False):
    """Fields of `POST /v1/execute`, but for the code."""

    stdin: str
    args: Sequence[str]
    env: Mapping[str, str]
    files: Files
    fetch_files: Sequence[str]
    tests: Mapping[str, Any]
    grading: Literal["isolated", "in_process", "auto"]
    visibility: Literal["full", "hidden"]
    policy: str
    image: str
    limits: Limits
    deterministic: Mapping[str, Any]
    result: Literal["last_expression"] | Mapping[str, str] | None
    labels: Mapping[str, str]
    repeat: int
    complexity: Mapping[str, Any]
    lint: bool
    receipt: bool
    report_use: Sequence[Literal["time", "entropy"]]
    canaries: Sequence[str]


class GradeOptions(TypedDict, total=False):
    """Fields of `POST /v1/sessions/{id}/grade`, but for path and tests."""

    grading: Literal["isolated", "in_process", "auto"]
    visibility: Literal["full", "hidden"]
    policy: str
    limits: Limits
    deterministic: Mapping[str, Any]
    lint: bool
    receipt: bool
    labels: Mapping[str, str]


class SuiteItem(ExecuteOptions, total=False):
    """An item of a suite: the fields of an execution, and a name."""

    id: str
    task: str
    code: str
    completion: str


class SessionOptions(TypedDict, total=False):
    """Fields of `POST /v1/sessions`."""

    policy: str
    image: str
    limits: Limits
    env: Mapping[str, str]
    files: Files
    ttl_seconds: float
    idle_seconds: float
    labels: Mapping[str, str]
    from_checkpoint: str


class CellOptions(TypedDict, total=False):
    """Fields of `POST /v1/sessions/{id}/execute`, but for the code."""

    env: Mapping[str, str]
    limits: Limits
    result: Literal["last_expression"] | None
    labels: Mapping[str, str]


class CommandOptions(TypedDict, total=False):
    """Fields of `POST /v1/sessions/{id}/commands`, but for the command."""

    stdin: str | None
    cwd: str | None
    env: Mapping[str, str]
    timeout_seconds: float | None
