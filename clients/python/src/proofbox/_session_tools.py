"""The tools that agents of several frameworks have in a session. What they return is for a model to read."""

from __future__ import annotations

from collections.abc import Callable

from . import _reports
from .errors import Conflict, InvalidRequest, NotAllowed, NotFound, SessionNotFound
from .session import Session
from .types import Execution

# Longest text that a tool returns, in characters; what is longer loses its middle.
MAX_TEXT = 20_000
# What a path that a model chose may be refused with.
_REFUSALS = (Conflict, InvalidRequest, NotAllowed, NotFound, ValueError)


class SessionTools:
    """The tools over a session, which its caller opens and closes. Docstrings are descriptions for the model."""

    def __init__(self, session: Session | None) -> None:
        self._given = session

    @property
    def _session(self) -> Session:
        if self._given is None:
            raise RuntimeError("these tools are for a model's list only: they have no session")
        return self._given

    def all(self) -> list[Callable[..., str]]:
        """Returns the four tools: `run_python`, `run_command`, `write_file`, `read_file`."""
        return [self.run_python, self.run_command, self.write_file, self.read_file]

    def run_python(self, code: str) -> str:
        """Runs Python in an interpreter that keeps its variables, and returns what it prints and its last expression.

        Args:
            code: Python source. There is no network, and nothing can be installed.
        """
        try:
            done = self._session.run(code, result="last_expression")
        except InvalidRequest as error:
            return f"the code can't be run: {error.message}"
        return _cut(_python_text(done, code))

    def run_command(self, command: str, timeout_seconds: float = 60.0) -> str:
        """Runs a shell command, such as `python -m pytest -q`, and returns its exit code and output.

        Args:
            command: a script for the shell; it starts in the directory of the files
            timeout_seconds: time after which it is ended
        """
        ceiling = float(self._session.info.limits.get("wall_seconds", timeout_seconds))
        seconds = min(timeout_seconds, ceiling)
        try:
            done = self._session.commands.run(command, timeout_seconds=seconds)
        except InvalidRequest as error:
            return f"the command can't be run: {error.message}"
        late = f"the command was ended after {seconds:g} seconds\n" if done.timed_out else ""
        return _cut(f"exit code {done.exit_code}\n{late}{done.stdout}{done.stderr}")

    def write_file(self, path: str, content: str) -> str:
        """Writes a text file, with the directories above it. A file that is there is replaced.

        Args:
            path: path of the file, from the working directory
            content: the whole text
        """
        try:
            self._session.files.write(path, content)
        except _REFUSALS as error:
            return _file_error(error, path)
        return f"{path} is written"

    def read_file(self, path: str) -> str:
        """Reads a text file.

        Args:
            path: path of the file, from the working directory
        """
        try:
            return _cut(self._session.files.read_text(path))
        except UnicodeDecodeError:
            return f"{path} is no text: read it with Python"
        except _REFUSALS as error:
            return _file_error(error, path)


def _python_text(done: Execution, code: str) -> str:
    """Output, then the value or the error."""
    parts = [done.stdout, done.stderr]
    if not done.ok:
        parts.append(_reports.for_the_model(done, code))
    elif done.raw.get("result") is not None:
        parts.append(repr(done.result))
    text = "".join(part if part.endswith("\n") else f"{part}\n" for part in parts if part)
    return text or "it printed nothing"


def _file_error(error: Exception, path: str) -> str:
    """A sentence for the model; that the session has ended is for the caller."""
    if isinstance(error, SessionNotFound):
        raise error
    return f"{path}: {getattr(error, 'message', None) or error}"


def _cut(text: str) -> str:
    """The text without its middle, where it is too long."""
    if len(text) <= MAX_TEXT:
        return text
    half = MAX_TEXT // 2
    return f"{text[:half]}\n[{len(text) - MAX_TEXT} characters are left out]\n{text[-half:]}"
