"""Calls each tool of agno's unmodified E2BTools, and lets an agent with a scripted model call some.

  pip install --require-hashes --no-deps -r tests/adapters/agno.txt
  E2B_API_URL=http://127.0.0.1:8080 E2B_SANDBOX_URL=http://127.0.0.1:8080 E2B_API_KEY=e2b_<40 hex> \
    python3 tests/adapters/agno_suite.py [pytest option ...]
"""

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.tools.e2b import E2BTools

# A picture of one pixel.
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PICTURE = f"""
import base64
class Picture:
    def _repr_png_(self):
        return base64.b64decode({PNG!r})
Picture()
"""


@pytest.fixture
def tools() -> Iterator[E2BTools]:
    tools = E2BTools(timeout=600)
    yield tools
    tools.sandbox.kill()


def test_code_runs_and_its_state_stays(tools: E2BTools) -> None:
    tools.run_python_code("x = 20; print('printed')")
    logs, result = json.loads(tools.run_python_code("print('more')\nx + 1"))
    assert "more" in logs
    assert result == "Result 1: 21"


def test_errors_of_code_are_told(tools: E2BTools) -> None:
    told = tools.run_python_code("1 / 0")
    assert told.startswith("Error: ZeroDivisionError\ndivision by zero\n")
    assert "line 1" in told


def test_pictures_are_results(tools: E2BTools, tmp_path: Path) -> None:
    tools.run_python_code(PICTURE)
    result = tools.download_png_result(Agent(), 0, str(tmp_path / "picture.png"))
    assert result.images, result.content
    assert (tmp_path / "picture.png").read_bytes() == base64.b64decode(PNG)


def test_files_are_uploaded_and_read(tools: E2BTools, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    assert tools.upload_file(str(tmp_path / "data.csv")) == "/home/user/data.csv"
    assert tools.read_file_content("data.csv") == "a,b\n1,2\n"
    assert "Result 1: 1,2" in tools.run_python_code("open('data.csv').read().split()[1]")


def test_files_are_written_and_listed(tools: E2BTools) -> None:
    assert tools.write_file_content("/home/user/notes/one.txt", "text") == "/home/user/notes/one.txt"
    assert "- one.txt (File, 4 bytes)" in tools.list_files("/home/user/notes")
    assert "- home (" in tools.list_files()


def test_missing_files_are_told(tools: E2BTools) -> None:
    for told in (tools.read_file_content("missing.txt"), tools.list_files("/missing")):
        assert json.loads(told)["status"] == "error"
        assert "missing" in told


def test_commands_tell_both_streams(tools: E2BTools) -> None:
    assert json.loads(tools.run_command("echo out; echo err >&2")) == ["STDOUT:\nout\n", "STDERR:\nerr\n"]
    assert json.loads(tools.stream_command("echo one; echo two >&2")) == ["STDOUT: one\n", "STDERR: two\n"]
    assert "exited with code 3" in tools.run_command("exit 3")


def test_commands_in_the_background_are_killed(tools: E2BTools) -> None:
    command = tools.run_background_command("echo begun > begun; sleep 60; echo late > late")
    assert tools.kill_background_command(command) == "Background command terminated successfully."
    assert json.loads(tools.run_command("ls"))[0] == "STDOUT:\nbegun\n"


def test_servers_have_addresses(tools: E2BTools) -> None:
    assert tools.get_public_url(8000).startswith("http://8000-")


def test_sandboxes_are_managed(tools: E2BTools) -> None:
    assert tools.set_sandbox_timeout(900) == "900"
    assert json.loads(tools.shutdown_sandbox()) == {
        "status": "success",
        "message": "Sandbox shut down successfully",
        "content": True,
    }
    assert json.loads(tools.run_command("true"))["status"] == "error"


class ScriptedModel(Model):
    """Calls tools in turn, and then answers with what they told."""

    def __init__(self, calls: list[tuple[str, dict[str, object]]]) -> None:
        super().__init__(id="scripted")
        self.calls = iter(calls)

    def invoke(self, messages, *_, **__) -> ModelResponse:
        if call := next(self.calls, None):
            name, arguments = call
            function = {"name": name, "arguments": json.dumps(arguments)}
            return ModelResponse(role="assistant", tool_calls=[{"id": name, "type": "function", "function": function}])
        told = [message.content for message in messages if message.role == "tool"]
        return ModelResponse(role="assistant", content=json.dumps(told))

    async def ainvoke(self, *arguments, **more) -> ModelResponse:
        return self.invoke(*arguments, **more)

    def invoke_stream(self, *_, **__):
        raise NotImplementedError

    ainvoke_stream = invoke_stream

    def _parse_provider_response(self, response, **__) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response) -> ModelResponse:
        return response


def test_an_agent_calls_its_tools(tools: E2BTools) -> None:
    calls: list[tuple[str, dict[str, object]]] = [
        ("write_file_content", {"file_path": "numbers.txt", "content": "1\n2\n3\n"}),
        ("run_python_code", {"code": "sum(map(int, open('numbers.txt')))"}),
        ("run_command", {"command": "sort -r numbers.txt | head -1"}),
    ]
    agent = Agent(model=ScriptedModel(calls), tools=[tools], telemetry=False)
    written, summed, sorted_ = json.loads(agent.run("go").content)
    assert written == "/home/user/numbers.txt"
    assert "Result 1: 6" in summed
    assert json.loads(sorted_) == ["STDOUT:\n3\n"]


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "--disable-warnings", "-p", "no:cacheprovider", *sys.argv[1:]]))
