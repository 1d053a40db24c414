"""Lets the agents of LangChain's Deep Agents work in a proofbox session.

>>> from deepagents import create_deep_agent
>>> from proofbox.deepagents import ProofboxSandbox
>>> with client.session(limits={"wall_seconds": 600}) as session:
...     agent = create_deep_agent(model="openai:gpt-5.1", backend=ProofboxSandbox(session))
"""

from __future__ import annotations

from .errors import InvalidRequest, NotFound, ServiceError, SessionNotFound
from .session import Session

try:
    from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
    from deepagents.backends.sandbox import BaseSandbox
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "install deepagents with it: pip install 'proofbox[deepagents]'", name=error.name
    ) from None

__all__ = ["ProofboxSandbox"]


class ProofboxSandbox(BaseSandbox):
    """A backend for `create_deep_agent(backend=…)` over a session, which its caller opens and closes.

    A command without a timeout, or with a longer one, ends at the session's `wall_seconds`.
    """

    # The shell can run the wrapper that leaves large output in a file of the sandbox.
    enable_capture_offload = True

    def __init__(self, session: Session) -> None:
        #: The session behind it.
        self.session = session

    @property
    def id(self) -> str:
        """Identifier of the session."""
        return self.session.id

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Runs a command in the session's shell; both streams are in its output, as they came."""
        ceiling: float | None = self.session.info.limits.get("wall_seconds")
        seconds = min((bound for bound in (timeout, ceiling) if bound), default=None)
        parts: list[str] = []
        try:
            done = self.session.commands.run(
                command, on_stdout=parts.append, on_stderr=parts.append, timeout_seconds=seconds
            )
        except InvalidRequest as error:
            return ExecuteResponse(output=error.message, exit_code=126)
        output = "".join(parts)
        if len(output) != len(done.stdout) + len(done.stderr):
            # A part of the stream was left out.
            output = done.stdout + done.stderr
        if done.timed_out:
            output += f"\nthe command took longer than {seconds:g} seconds"
        return ExecuteResponse(output, done.exit_code, done.stdout_truncated or done.stderr_truncated)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Writes files, and creates the directories above them."""
        return [FileUploadResponse(path, self._write(path, content)) for path, content in files]

    def _write(self, path: str, content: bytes) -> str | None:
        """Writes a file, and returns the error if that fails."""
        if not path.startswith("/"):
            return "invalid_path"
        try:
            self.session.files.write(path, content)
        except ServiceError as error:
            return _file_error(error)
        return None

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Reads the files at `paths`, each with its content or its error."""
        return [self._read(path) for path in paths]

    def _read(self, path: str) -> FileDownloadResponse:
        if not path.startswith("/"):
            return FileDownloadResponse(path, error="invalid_path")
        try:
            return FileDownloadResponse(path, self.session.files.read(path))
        except ServiceError as error:
            return FileDownloadResponse(path, error=_file_error(error))


def _file_error(error: ServiceError) -> str:
    """Returns the word of Deep Agents for an error of a file; other errors are raised."""
    if isinstance(error, SessionNotFound):
        raise error
    if isinstance(error, NotFound):
        return "file_not_found"
    if error.code == "is_a_directory":
        return "is_directory"
    if "permission" in error.code or "permission" in error.message.lower():
        return "permission_denied"
    if isinstance(error, InvalidRequest):
        return "invalid_path"
    raise error
