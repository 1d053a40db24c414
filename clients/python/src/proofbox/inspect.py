"""Runs the samples of Inspect's evaluations in proofbox sessions, and grades what they leave by hidden tests.

The sandbox is named `proofbox`: `inspect eval task.py --sandbox proofbox`, or `Task(sandbox="proofbox")`.

>>> from inspect_ai import Task
>>> from proofbox.inspect import hidden_tests
>>> task = Task(dataset=dataset, solver=solver, scorer=hidden_tests(path="solution.py"), sandbox="proofbox")
"""

from __future__ import annotations

import contextlib
import shlex
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Literal, cast, overload

from . import types
from .async_client import AsyncClient
from .async_session import AsyncSession
from .errors import ConnectionFailed, InvalidRequest, NotFound, ServiceError, SessionNotFound, Unavailable
from .options import Limits, SessionOptions

try:
    from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer, stderr
    from inspect_ai.solver import TaskState
    from inspect_ai.util import (
        ExecResult,
        OutputLimitExceededError,
        SandboxEnvironment,
        SandboxEnvironmentConfigType,
        SandboxEnvironmentLimits,
        SandboxUnavailableError,
        SandboxUserUnsupportedError,
        sandbox,
        sandboxenv,
    )
    from pydantic import BaseModel, ConfigDict
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("install inspect-ai with it: pip install 'proofbox[inspect]'", name=error.name) from None

__all__ = ["ProofboxSandboxConfig", "ProofboxSandboxEnvironment", "hidden_tests"]

# The one user of a sandbox, by name and number.
_USERS = ("user", "1000")
# Size of the parts that a larger file is sent in: a request's body has room for one.
_PART_BYTES = 16 << 20
# Longest input that goes along with a command; a longer one is read from a file.
_MAX_STDIN_BYTES = 1 << 20
# Limits that are the highest of the policy where the configuration is silent, as Inspect has limits of its own.
_RAISED = ("fuel", "wall_seconds", "output_bytes", "files_bytes", "files_count")
# Label of a session, which tells `inspect sandbox cleanup` that it is Inspect's.
_LABEL = "inspect_task"


class ProofboxSandboxConfig(BaseModel):
    """Configuration of a sandbox: `SandboxEnvironmentSpec("proofbox", ProofboxSandboxConfig(image="science"))`.

    `limits` are the policy's highest where they are silent, but for `memory_bytes`. `url` defaults to the variable
    `PROOFBOX_URL`; the key is that of `PROOFBOX_API_KEY`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str | None = None
    policy: str = "default"
    image: str = "default"
    limits: dict[str, int | float] = {}
    env: dict[str, str] = {}
    ttl_seconds: float = 24 * 3600

    def __hash__(self) -> int:
        """Returns a hash for Inspect, which keeps configurations in sets."""
        return hash(self.model_dump_json())


@sandboxenv(name="proofbox")
class ProofboxSandboxEnvironment(SandboxEnvironment):
    """A sandbox of Inspect that is a session: a sample has one, from its start to its end."""

    def __init__(self, client: AsyncClient, session: AsyncSession) -> None:
        super().__init__()
        self.client = client
        #: The session behind it.
        self.session = session

    @classmethod
    async def open(
        cls, config: SandboxEnvironmentConfigType | None = None, *, task_name: str = ""
    ) -> ProofboxSandboxEnvironment:
        """Opens a session with the limits that Inspect's sandboxes have."""
        settings = ProofboxSandboxConfig() if config is None else config
        if not isinstance(settings, ProofboxSandboxConfig):
            raise ValueError(f"a proofbox sandbox is configured by a ProofboxSandboxConfig, not by {config!r}")
        client = AsyncClient(settings.url)
        try:
            highest = {policy.name: policy.most for policy in await client.policies()}.get(settings.policy, {})
            limits = {name: highest[name] for name in _RAISED if name in highest} | settings.limits
            options = SessionOptions(
                policy=settings.policy,
                image=settings.image,
                limits=cast(Limits, limits),
                env=settings.env,
                ttl_seconds=settings.ttl_seconds,
                labels={_LABEL: task_name[:64]},
            )
            return cls(client, await client.session(**options))
        except BaseException:
            await client.close()
            raise

    async def close(self) -> None:
        """Deletes the session, and closes the client."""
        try:
            await self.session.close()
        finally:
            await self.client.close()

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        """Reads a configuration from a log."""
        return ProofboxSandboxConfig(**config)

    @classmethod
    async def sample_init(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        """Opens a sample's session."""
        return {"default": await cls.open(config, task_name=task_name)}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        """Deletes a sample's session."""
        for environment in environments.values():
            await environment.as_type(ProofboxSandboxEnvironment).close()

    @classmethod
    async def cli_cleanup(cls, id: str | None) -> None:
        """Deletes a session by its id, or all sessions that evaluations have left."""
        async with AsyncClient() as client:
            if id is not None:
                await client.delete_session(id)
                return
            for info in [info async for info in client.sessions()]:
                if _LABEL in info.labels:
                    with contextlib.suppress(NotFound):
                        await client.delete_session(info.id)

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
        """Runs a program of the sandbox. It ends at the session's `wall_seconds` where `timeout` is longer or none."""
        if user is not None and user not in _USERS:
            raise SandboxUserUnsupportedError(f"there is one user, {_USERS[0]}, not {user!r}")
        ceiling = self.session.info.limits.get("wall_seconds")
        seconds = min((bound for bound in (timeout, ceiling) if bound is not None), default=None)
        data = input.encode() if isinstance(input, str) else input or b""
        try:
            with _translated(cmd[0] if cmd else ""):
                if len(data) <= _MAX_STDIN_BYTES and _is_text(data):
                    done = await self._run(cmd, data.decode(), cwd, env, seconds)
                else:
                    path = f"/tmp/.input-{uuid.uuid4().hex}"
                    await self._write(path, data)
                    try:
                        done = await self._run(f"{shlex.join(cmd)} < {path}", "", cwd, env, seconds)
                    finally:
                        await self.session.files.remove(path)
        except InvalidRequest as error:
            # A command that no shell would take is the model's mistake, and not the evaluation's.
            return ExecResult(False, 126, "", error.message)
        if done.timed_out:
            raise TimeoutError(f"{shlex.join(cmd)[:100]!r} took longer than {seconds:g} seconds")
        if done.exit_code is None or done.state == "session_ended":
            raise SandboxUnavailableError(f"the command could not go on: {done.error or done.state}")
        if done.exit_code == 126 and "Permission denied" in done.stderr:
            raise PermissionError(done.stderr.strip())
        if max(done.stdout_bytes, done.stderr_bytes) > SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, done.stdout)
        return ExecResult(done.ok, done.exit_code, done.stdout, done.stderr)

    async def _run(
        self, command: str | list[str], stdin: str, cwd: str | None, env: dict[str, str] | None, seconds: float | None
    ) -> types.CommandResult:
        return await self.session.commands.run(command, stdin=stdin, cwd=cwd, env=env or {}, timeout_seconds=seconds)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Writes a file, and creates the directories above it."""
        with _translated(file):
            await self._require(file, "w")
            await self._write(file, contents.encode() if isinstance(contents, str) else contents)

    async def _require(self, file: str, permission: Literal["r", "w"]) -> None:
        """Raises what a program of the sandbox would: the service's calls for files have permissions that it lacks."""
        name = shlex.quote(file)
        done = await self.session.commands.run(f"[ ! -e {name} ] || [ -{permission} {name} ]")
        if not done.ok:
            raise PermissionError(f"{file}: Permission denied")

    async def _write(self, file: str, data: bytes) -> None:
        await self.session.files.write(file, data[:_PART_BYTES])
        for start in range(_PART_BYTES, len(data), _PART_BYTES):
            part = f"/tmp/.part-{uuid.uuid4().hex}"
            await self.session.files.write(part, data[start : start + _PART_BYTES])
            words = shlex.quote(part), shlex.quote(file)
            await self.session.commands.run("cat {0} >> {1}; rm {0}".format(*words), check=True)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        """Reads a file, as text or as bytes. Raises the errors that inspect expects."""
        with _translated(file):
            await self._require(file, "r")
            entry = await self.session.files.stat(file)
            if entry.size > SandboxEnvironmentLimits.MAX_READ_FILE_SIZE:
                raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
            data = await self.session.files.read(file)
        return data.decode() if text else data


def _is_text(data: bytes) -> bool:
    """Returns whether a command can be given the content as text."""
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


@contextlib.contextmanager
def _translated(file: str) -> Iterator[None]:
    """Raises the client's errors as those that Inspect expects; `file` is what they are about."""
    try:
        yield
    except (SessionNotFound, ConnectionFailed, Unavailable) as error:
        raise SandboxUnavailableError(str(error)) from error
    except ServiceError as error:
        message = f"{file}: {error.message}"
        if isinstance(error, NotFound):
            raise FileNotFoundError(message) from error
        if error.code == "is_a_directory":
            raise IsADirectoryError(message) from error
        if "permission" in error.code or "permission" in error.message.lower():
            raise PermissionError(message) from error
        raise


@scorer(metrics=[accuracy(), stderr()])
def hidden_tests(
    tests: str | Mapping[str, Any] | None = None,
    *,
    path: str = "solution.py",
    grading: Literal["isolated", "in_process", "auto"] = "isolated",
    sandbox_name: str | None = None,
) -> Scorer:
    """Grades a file that the sample has left in its sandbox by tests that the sandbox never sees.

    `tests` is the source of a pytest module, or an object as docs/reference/tests.md has them; without it, each
    sample has its own in `metadata["tests"]`. The score is correct when all tests pass. They run isolated from the
    file, and from all that the session has run: see docs/reference/isolated-grading.md.
    """

    async def score(state: TaskState, target: Target) -> Score:
        wanted = tests if tests is not None else state.metadata.get("tests")
        if wanted is None:
            raise ValueError(f"sample {state.sample_id} has no metadata['tests'], and hidden_tests() was given none")
        session = sandbox(sandbox_name).as_type(ProofboxSandboxEnvironment).session
        try:
            verdict = await session.grade(
                {"kind": "pytest", "source": wanted} if isinstance(wanted, str) else wanted,
                path=path,
                grading=grading,
                visibility="hidden",
            )
        except InvalidRequest as error:
            if error.field != "path":
                raise
            return Score(value=INCORRECT, explanation=error.message)
        if verdict.stderr_class == "infrastructure_error":
            raise RuntimeError(f"the service could not grade sample {state.sample_id}: request {verdict.id}")
        return Score(
            value=CORRECT if verdict.status == "passed" else INCORRECT,
            answer=await session.files.read_text(path),
            explanation=f"{verdict.tests_passed} of {verdict.tests_total} hidden tests passed ({verdict.stderr_class})",
            metadata={
                "execution_id": verdict.id,
                "status": verdict.status,
                "stderr_class": verdict.stderr_class,
                "tests_passed": verdict.tests_passed,
                "tests_total": verdict.tests_total,
                "integrity": dict(verdict.integrity),
            },
        )

    return score
