"""Runs inspect-ai's checks of sandboxes (`self_check`) over a small provider on proofbox's own Python client, and calls its
tools in it.

  pip install --require-hashes --no-deps -r tests/adapters/inspect_ai.txt
  PROOFBOX_URL=http://127.0.0.1:8080 PYTHONPATH=clients/python/src \
    python3 tests/adapters/inspect_ai_suite.py [pytest option ...]
"""

import shlex
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import PurePosixPath

import pytest
from inspect_ai.tool import ToolError, bash, grep, list_files, python, read_file
from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    SandboxUserUnsupportedError,
)
from inspect_ai.util._sandbox.context import sandbox_default_context_var, sandbox_environments_context_var
from inspect_ai.util._sandbox.self_check import *  # noqa: F403

from proofbox import AsyncClient, AsyncSession
from proofbox.errors import InvalidRequest, NotFound

pytestmark = pytest.mark.anyio

USERS = ("user", "1000")
# Parts that a request's body has room for.
PART = 16 << 20
# Longest input of a command that goes along with it.
MAX_STDIN = 1 << 20
LIMITS = {"files_bytes": 192 << 20, "output_bytes": 12 << 20}


class ProofboxSandboxEnvironment(SandboxEnvironment):
    """A session, as inspect-ai wants its sandboxes."""

    def __init__(self, session: AsyncSession) -> None:
        super().__init__()
        self.session = session

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        for environment in environments.values():
            await environment.as_type(cls).session.close()

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        if user is not None and user not in USERS:
            raise SandboxUserUnsupportedError(f"there is one user, {USERS[0]}, not {user!r}")
        data = input.encode() if isinstance(input, str) else input
        path = f"/tmp/.input-{uuid.uuid4().hex}" if data and (len(data) > MAX_STDIN or not is_text(data)) else None
        command: str | list[str] = cmd
        if path is not None:
            await self._write(path, data or b"")
            command = f"{shlex.join(cmd)} < {path}"
        try:
            done = await self.session.commands.run(
                command,
                stdin=data.decode() if data is not None and path is None else "",
                cwd=cwd,
                env=env or {},
                timeout_seconds=timeout,
            )
        finally:
            if path is not None:
                await self.session.files.remove(path)
        if done.timed_out:
            raise TimeoutError(f"{shlex.join(cmd)[:100]!r} took longer than {timeout} seconds")
        if done.exit_code is None:
            raise RuntimeError(f"the command could not go on: {done.error}")
        if done.exit_code == 126 and "Permission denied" in done.stderr:
            raise PermissionError(done.stderr.strip())
        for size in (done.stdout_bytes, done.stderr_bytes):
            if size > SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE:
                raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, done.stdout)
        return ExecResult(done.exit_code == 0, done.exit_code, done.stdout, done.stderr)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        try:
            await self._write(file, contents.encode() if isinstance(contents, str) else contents)
        except InvalidRequest as error:
            raise path_error(error, file) from error

    async def _write(self, file: str, data: bytes) -> None:
        await self.session.files.write(file, data[:PART])
        for start in range(PART, len(data), PART):
            part = f"/tmp/.part-{uuid.uuid4().hex}"
            await self.session.files.write(part, data[start : start + PART])
            words = shlex.quote(part), shlex.quote(file)
            await self.session.commands.run("cat {0} >> {1}; rm {0}".format(*words), check=True)

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        try:
            entry = await self.session.files.stat(file)
            if entry.size > SandboxEnvironmentLimits.MAX_READ_FILE_SIZE:
                raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
            data = await self.session.files.read(file)
        except NotFound as error:
            raise FileNotFoundError(f"{file}: {error.message}") from error
        except InvalidRequest as error:
            raise path_error(error, file) from error
        return data.decode() if text else data


def is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


def path_error(error: InvalidRequest, file: str) -> Exception:
    message = f"{PurePosixPath(file)}: {error.message}"
    if "is a directory" in error.message:
        return IsADirectoryError(message)
    return PermissionError(message) if "permission" in error.message else error


# Checks that can't hold yet, and why.
NO_BITS = "files keep no permission bits"
NO_SYSTEM = "there is no /etc and no /usr/bin"
KNOWN = {
    "test_read_file_not_allowed": NO_BITS,
    "test_write_text_file_without_permissions": NO_BITS,
    "test_write_binary_file_without_permissions": NO_BITS,
    "test_read_file_is_directory": NO_SYSTEM,
    "test_exec_permission_error": NO_SYSTEM,
    "test_cwd_custom": NO_SYSTEM,
    "test_exec_as_user": "there is one user",
    "test_exec_large_command": "a command has at most 1 MiB",
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def sandbox_env(request: pytest.FixtureRequest) -> AsyncIterator[ProofboxSandboxEnvironment]:
    if reason := KNOWN.get(request.node.originalname):
        request.node.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    async with AsyncClient() as client, await client.session(limits=LIMITS) as session:
        yield ProofboxSandboxEnvironment(session)


async def test_tools_work(sandbox_env: ProofboxSandboxEnvironment) -> None:
    sandbox_environments_context_var.set({"default": sandbox_env})
    sandbox_default_context_var.set("default")
    assert await bash()(command="mkdir -p a/b; seq 30 > a/n.txt; echo hi > a/b/x.py; echo done") == "done\n"
    assert await python()(code="print(sum(map(int, open('a/n.txt'))))") == "465\n"
    assert await read_file()(file_path="a/n.txt", offset=5, limit=2) == "6\t6\n7\t7"
    assert await grep()(pattern="^1[0-1]", path="a") == "a/n.txt:10:10\na/n.txt:11:11"
    assert sorted((await list_files()(path="a", depth=2)).split()) == ["a/b", "a/b/x.py", "a/n.txt"]
    with pytest.raises(ToolError):
        await read_file()(file_path="missing")


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "--disable-warnings", "-p", "no:cacheprovider", *sys.argv[1:]]))
