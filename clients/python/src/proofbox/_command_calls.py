"""Requests of a session's commands, and readers of their answers and streams."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from ._calls import NDJSON, Call, _json_call, _nothing, _record, _records, _session
from .errors import ConnectionFailed, DeadlineExceeded, error_within
from .options import CommandOptions
from .types import CommandInfo, CommandResult

OnText = Callable[[str], object]


def _body(command: str | Sequence[str], options: CommandOptions, background: bool) -> dict[str, Any]:
    what = {"command": command} if isinstance(command, str) else {"argv": list(command)}
    return {**what, **options, "background": background}


def run_command(session_id: str, command: str | Sequence[str], options: CommandOptions) -> Call[None]:
    """Runs a command; the answer comes in lines, as the command writes."""
    body = _body(command, options, background=False)
    call = _json_call("POST", _session(session_id, "/commands"), _nothing, body, repeatable=False)
    return dataclasses.replace(call, accept=NDJSON)


def start_command(session_id: str, command: str | Sequence[str], options: CommandOptions) -> Call[CommandInfo]:
    body = _body(command, options, background=True)
    return _json_call("POST", _session(session_id, "/commands"), _record(CommandInfo), body, repeatable=False)


def list_commands(session_id: str) -> Call[list[CommandInfo]]:
    return Call("GET", _session(session_id, "/commands"), _records(CommandInfo, "commands"), True)


def _command(session_id: str, command_id: str, rest: str = "") -> str:
    return _session(session_id, f"/commands/{quote(command_id, safe='')}{rest}")


def get_command(session_id: str, command_id: str) -> Call[CommandResult]:
    return Call("GET", _command(session_id, command_id), _record(CommandResult), True)


def follow_command(session_id: str, command_id: str) -> Call[None]:
    """Answered in lines, from the start of the output."""
    return Call("GET", _command(session_id, command_id, "/output"), _nothing, True, accept=NDJSON)


def command_input(session_id: str, command_id: str, data: str, close: bool) -> Call[None]:
    body = {"data": data, "close": close}
    return _json_call("POST", _command(session_id, command_id, "/input"), _nothing, body, repeatable=False)


def signal_command(session_id: str, command_id: str, signal: str) -> Call[None]:
    """To end a command twice is as good as once."""
    body = {"signal": signal}
    return _json_call("POST", _command(session_id, command_id, "/signal"), _nothing, body, repeatable=True)


def delete_command(session_id: str, command_id: str) -> Call[None]:
    return Call("DELETE", _command(session_id, command_id), _nothing, True)


class CommandLines:
    """Reads the lines of a command's stream, with a deadline and callbacks."""

    def __init__(self, on_stdout: OnText | None, on_stderr: OnText | None, timeout: float | None) -> None:
        self._callbacks = {"stdout": on_stdout, "stderr": on_stderr}
        self._timeout = timeout
        self._deadline = None if timeout is None else time.monotonic() + timeout

    def take(self, line: dict[str, Any]) -> CommandResult | None:
        """The result, where this line is the last."""
        kind = line.get("type")
        if kind == "end":
            return CommandResult.of(line.get("answer"))
        if kind == "failed":
            raise error_within(line.get("error"))
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise DeadlineExceeded(f"the command was not done within {self._timeout:g} seconds")
        callback = self._callbacks.get(str(kind))
        if callback is not None:
            callback(str(line.get("text", "")))
        return None

    def cut_off(self) -> ConnectionFailed:
        """The error for a stream without a last line."""
        return ConnectionFailed("the service's answer ended before the command did", may_have_run=True)
