"""Commands of a session: scripts for the shell over its files."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from . import _command_calls as calls
from ._transport import LineStream, Transport
from .errors import Conflict
from .options import CommandOptions, Signal, Unpack
from .types import CommandInfo, CommandResult

__all__ = ["Command", "SessionCommands"]


class SessionCommands:
    """The commands of a session."""

    def __init__(self, transport: Transport, session_id: str) -> None:
        self._transport = transport
        self._id = session_id

    def run(
        self,
        command: str | Sequence[str],
        *,
        on_stdout: calls.OnText | None = None,
        on_stderr: calls.OnText | None = None,
        check: bool = False,
        timeout: float | None = None,
        silence: float = 60.0,
        **options: Unpack[CommandOptions],
    ) -> CommandResult:
        """Runs a script, or a program with its arguments, to its end. Callbacks are given output while it runs.

        An exit code other than 0 is a result like others; with `check` it raises `CommandFailed`. Leaving before the
        end, as `timeout` does, kills the command; `timeout_seconds` is the limit that the service keeps.
        """
        call = calls.run_command(self._id, command, options)
        lines = calls.CommandLines(on_stdout, on_stderr, timeout)
        result = _read(self._transport.stream(call, silence=silence), lines)
        return result.check() if check else result

    def start(self, command: str | Sequence[str], **options: Unpack[CommandOptions]) -> Command:
        """Starts a command that goes on in the background. Without `stdin` it takes input."""
        info = self._transport.send(calls.start_command(self._id, command, options))
        return Command(self._transport, self._id, info)

    def get(self, command_id: str) -> Command:
        """A command that was started before."""
        return Command(self._transport, self._id, self._transport.send(calls.get_command(self._id, command_id)))

    def list(self) -> list[CommandInfo]:
        """The commands that run, and the last background commands that have ended."""
        return self._transport.send(calls.list_commands(self._id))


class Command:
    """A command in the background."""

    def __init__(self, transport: Transport, session_id: str, info: CommandInfo) -> None:
        self._transport = transport
        self._session_id = session_id
        self.info = info

    @property
    def id(self) -> str:
        """The command's id in its session."""
        return self.info.id

    def __repr__(self) -> str:
        return f"<proofbox command {self.id} of session {self._session_id}>"

    def output(self) -> CommandResult:
        """Returns the command's state and its output so far, without waiting for its end."""
        result = self._transport.send(calls.get_command(self._session_id, self.id))
        self.info = result
        return result

    def wait(
        self,
        *,
        on_stdout: calls.OnText | None = None,
        on_stderr: calls.OnText | None = None,
        check: bool = False,
        timeout: float | None = None,
        silence: float = 60.0,
    ) -> CommandResult:
        """Waits for its end. Callbacks are given all of its output, from the start. `timeout` leaves it running."""
        call = calls.follow_command(self._session_id, self.id)
        lines = calls.CommandLines(on_stdout, on_stderr, timeout)
        result = _read(self._transport.stream(call, silence=silence), lines)
        self.info = result
        return result.check() if check else result

    def send_input(self, data: str = "", *, close: bool = False) -> None:
        """Writes to its standard input; with `close` nothing follows."""
        self._transport.send(calls.command_input(self._session_id, self.id, data, close))

    def kill(self, signal: Signal = "SIGKILL") -> None:
        """Ends it at once, whichever the signal. One that has ended is no error."""
        try:
            self._transport.send(calls.signal_command(self._session_id, self.id, signal))
        except Conflict as error:
            if error.code != "command_ended":
                raise

    def remove(self) -> None:
        """Kills it if it runs, and has the service forget it."""
        self._transport.send(calls.delete_command(self._session_id, self.id))


def _read(stream: LineStream, lines: calls.CommandLines) -> CommandResult:
    with contextlib.closing(stream):
        for line in stream:
            result = lines.take(line)
            if result is not None:
                return result
    raise lines.cut_off()
