"""Runs pydantic-ai's conformance suite for workspaces over pydantic-ai-harness' unmodified E2BSandboxBackend, and lets
agents with a scripted model use the harness' tools in it, and the tools of our own toolset.

  pip install --require-hashes --no-deps -r tests/adapters/pydantic_ai.txt
  export PROOFBOX_URL=http://127.0.0.1:8080 PYTHONPATH=clients/python/src
  E2B_API_URL=http://127.0.0.1:8080 E2B_SANDBOX_URL=http://127.0.0.1:8080 E2B_API_KEY=e2b_<40 hex> \
    python3 tests/adapters/pydantic_ai_suite.py [pytest option ...]
"""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.workspaces import WorkspaceBackend, WorkspaceRef
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite
from pydantic_ai_harness.coder import Coder
from pydantic_ai_harness.e2b_sandbox import E2BSandbox, E2BSandboxBackend
from pydantic_ai_harness.e2b_sandbox._backend import kill_sandbox

import proofbox
from proofbox.pydantic_ai import ProofboxToolset


async def kill(backend: WorkspaceBackend) -> None:
    if backend.ref is not None:
        await kill_sandbox(backend.ref.id)


class TestE2BSandboxBackend(WorkspaceBackendSuite):
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


def outputs(calls: list[Call], **options: object) -> list[str]:
    """Returns the answers of the tools of an agent made with these options to these calls, in turn."""
    answers: list[str] = []

    def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        answers.extend(str(part.content) for part in messages[-1].parts if isinstance(part, ToolReturnPart))
        if len(answers) < len(calls):
            return ModelResponse(parts=[ToolCallPart(*calls[len(answers)])])
        return ModelResponse(parts=[TextPart("done")])

    async def streamed(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        [part] = model(messages, info).parts
        if isinstance(part, ToolCallPart):
            yield {0: DeltaToolCall(name=part.tool_name, json_args=part.args_as_json_str())}
        else:
            yield "done"

    Agent(FunctionModel(model, stream_function=streamed), **options).run_sync("go")
    return answers


def coder(calls: list[Call]) -> list[str]:
    """Returns the answers of the tools of the harness' coder."""
    return outputs(calls, capabilities=[E2BSandbox(sandbox_timeout=600), Coder()])


def test_a_coder_edits_and_searches_files() -> None:
    written, listed, found, edited, read = coder(
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
    printed, failed, both = coder(
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


TESTS = "from calc import add\n\ndef test_add():\n    assert add(2, 3) == 5\n"


def test_an_agent_mends_a_file_with_the_tools_of_a_session_and_is_graded() -> None:
    calls: list[Call] = [
        ("write_file", {"path": "calc.py", "content": "def add(a, b):\n    return a * b\n"}),
        ("run_command", {"command": "python -m pytest -q"}),
        ("write_file", {"path": "calc.py", "content": "def add(a, b):\n    return a + b\n"}),
        ("run_command", {"command": "python -m pytest -q"}),
        ("run_python", {"code": "import calc\n{'sum': calc.add(2, 3)}"}),
        ("read_file", {"path": "missing.py"}),
    ]
    with proofbox.Client() as client, client.session(files={"test_calc.py": TESTS}) as session:
        _, failed, _, passed, ran, missing = outputs(calls, toolsets=[ProofboxToolset(session)])
        assert failed.startswith("exit code 1\n") and "assert 6 == 5" in failed
        assert passed.startswith("exit code 0\n") and "1 passed" in passed
        assert ran == "{'sum': 5}\n" and missing.startswith("missing.py: ")
        verdict = session.grade({"kind": "pytest", "source": TESTS}, path="calc.py", visibility="hidden")
        assert (verdict.status, verdict.tests_total, verdict.integrity.level) == ("passed", 1, "isolated")
        session.close()
        with pytest.raises(proofbox.SessionNotFound):
            outputs(calls, toolsets=[ProofboxToolset(session)])


def test_calls_of_one_message_are_carried_out_in_its_order() -> None:
    def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        if len(messages) > 1:
            return ModelResponse(parts=[TextPart("done")])
        codes = [f"print({number}, file=open('order', 'a'))" for number in range(8)]
        return ModelResponse(parts=[ToolCallPart("run_python", {"code": code}) for code in codes])

    with proofbox.Client() as client, client.session() as session:
        Agent(FunctionModel(model), toolsets=[ProofboxToolset(session)]).run_sync("go")
        assert session.files.read_text("order").split() == [str(number) for number in range(8)]


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "--disable-warnings", "-p", "no:cacheprovider", *sys.argv[1:]]))
