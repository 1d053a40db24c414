"""Runs pydantic-ai's conformance suite for workspaces over pydantic-ai-harness' unmodified E2BSandboxBackend, and lets an
agent with a scripted model use the harness' tools in it.

  pip install --require-hashes --no-deps -r tests/adapters/pydantic_ai.txt
  E2B_API_URL=http://127.0.0.1:8080 E2B_SANDBOX_URL=http://127.0.0.1:8080 E2B_API_KEY=e2b_<40 hex> \
    python3 tests/adapters/pydantic_ai_suite.py [pytest option ...]
"""

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.workspaces import WorkspaceBackend, WorkspaceRef
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite
from pydantic_ai_harness.coder import Coder
from pydantic_ai_harness.e2b_sandbox import E2BSandbox, E2BSandboxBackend
from pydantic_ai_harness.e2b_sandbox._backend import kill_sandbox


async def kill(backend: WorkspaceBackend) -> None:
    if backend.ref is not None:
        await kill_sandbox(backend.ref.id)


# E2B gives a link that leads nowhere no type, and its SDK leaves entries without one out of lists.
NO_TYPE = "files.list of E2B's SDK has no links that lead nowhere"


class TestE2BSandboxBackend(WorkspaceBackendSuite):
    test_symlink_loop_does_not_break_listing = pytest.mark.xfail(strict=True, reason=NO_TYPE)(
        WorkspaceBackendSuite.test_symlink_loop_does_not_break_listing
    )

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    async def made(self) -> AsyncIterator[list[E2BSandboxBackend]]:
        """Every backend that a test has built; their sandboxes end with the test."""
        backends: list[E2BSandboxBackend] = []
        yield backends
        for backend in backends:
            await kill(backend)

    @pytest.fixture
    def fresh_backend(self, made: list[E2BSandboxBackend]) -> Callable[[], E2BSandboxBackend]:
        def build() -> E2BSandboxBackend:
            made.append(E2BSandboxBackend(sandbox_timeout=600))
            return made[-1]

        return build

    @pytest.fixture
    def backend(self, fresh_backend: Callable[[], E2BSandboxBackend]) -> E2BSandboxBackend:
        return fresh_backend()

    @pytest.fixture
    def attach_backend(self) -> Callable[[WorkspaceRef], E2BSandboxBackend]:
        return lambda ref: E2BSandboxBackend(ref=ref, sandbox_timeout=600)

    @pytest.fixture
    def destroy_environment(self) -> Callable[[WorkspaceBackend], Awaitable[None]]:
        return kill

    # As for E2B itself: its client waits for the end of the output, and its file API is not the user's.
    @pytest.fixture
    def can_detect_exit_with_inherited_output_pipes(self) -> bool:
        return False

    @pytest.fixture
    def filesystem_honors_shell_permissions(self) -> bool:
        return False


Call = tuple[str, dict[str, object]]


def outputs(capability: object, calls: list[Call]) -> list[str]:
    """What an agent's tools answer to these calls, in turn."""
    answers: list[str] = []

    async def model(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        answers.extend(str(part.content) for part in messages[-1].parts if isinstance(part, ToolReturnPart))
        if len(answers) < len(calls):
            name, arguments = calls[len(answers)]
            yield {0: DeltaToolCall(name=name, json_args=json.dumps(arguments))}
        else:
            yield "done"

    agent = Agent(FunctionModel(stream_function=model), capabilities=[E2BSandbox(sandbox_timeout=600), capability])
    agent.run_sync("go")
    return answers


def test_a_coder_edits_and_searches_files() -> None:
    written, listed, found, edited, read = outputs(
        Coder(),
        [
            ("write_file", {"path": "app.py", "content": "def add(a, b):\n    return a - b\n"}),
            ("list_files", {}),
            ("grep", {"pattern": "return +a"}),
            ("edit_file", {"path": "app.py", "old_text": "a - b", "new_text": "a + b"}),
            ("read_file", {"path": "app.py"}),
        ],
    )
    assert written.startswith("Wrote 32 chars")
    assert "app.py" in listed
    assert "app.py:2:" in found
    assert edited.startswith("Edited app.py")
    assert "return a + b" in read


def test_a_coder_runs_commands() -> None:
    printed, failed, both = outputs(
        Coder(),
        [
            ("shell", {"command": "for i in 1 2; do echo line $i; sleep 0.1; done"}),
            ("shell", {"command": "python3 -c 'raise SystemExit(3)'"}),
            ("shell", {"command": "echo out; echo err >&2"}),
        ],
    )
    assert printed.startswith("line 1\nline 2\nPID: ")
    assert '"exit_code": 0}' in printed
    assert '"exit_code": 3}' in failed
    assert both.startswith("out\nerr\n")


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "--disable-warnings", "-p", "no:cacheprovider", *sys.argv[1:]]))
