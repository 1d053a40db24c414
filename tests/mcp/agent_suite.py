"""Scripted agents that solve a task over MCP, by the Python SDK's client and FastMCP's, unmodified.

  pip install --require-hashes --no-deps -r tests/mcp/requirements.txt
  PROOFBOX_URL=http://127.0.0.1:8080 PROOFBOX_BINARY=target/release/proofbox python3 tests/mcp/agent_suite.py [pytest option ...]
"""

import asyncio
import base64
import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from mcp import Client, MCPError, StdioServerParameters

URL = os.environ["PROOFBOX_URL"].rstrip("/") + "/mcp"
BINARY = os.environ["PROOFBOX_BINARY"]
ARGUMENTS = ["--workers", "1", "mcp"]

TOOLS = {
    "run_python", "run_command", "run_tests", "scan_code", "open_session", "fork_session", "checkpoint_session",
    "close_session", "list_files", "read_file", "write_file",
}  # fmt: skip

# A PNG of one red pixel, made without an image library.
PIXEL = """
import struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
png = (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
       + chunk(b"IDAT", zlib.compress(b"\\0\\xff\\0\\0")) + chunk(b"IEND", b""))
"""
FIGURE = """
class Figure:
    def _repr_png_(self):
        return png
Figure()
"""
TESTS = "from solution import add\n\ndef test_small():\n    assert add(1, 2) == 3\n\ndef test_none():\n    assert add(0, 0) == 0\n"


def parameters() -> StdioServerParameters:
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PROOFBOX_", "XDG_"))}
    return StdioServerParameters(command=BINARY, args=ARGUMENTS, env=kept)


WAYS = {
    "http-2026-07-28": lambda: Client(URL, mode="2026-07-28"),
    "http-auto": lambda: Client(URL, mode="auto"),
    "http-handshake": lambda: Client(URL, mode="legacy"),
    "stdio-2026-07-28": lambda: Client(parameters(), mode="2026-07-28"),
    "stdio-auto": lambda: Client(parameters(), mode="auto"),
    "stdio-handshake": lambda: Client(parameters(), mode="legacy"),
}
EVERY_WAY = pytest.mark.parametrize("way", WAYS)


class Agent:
    """A client that is told what it needs of each answer."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.whole(tool, **arguments)
        assert not result.is_error, result
        assert json.loads(result.content[0].text) == result.structured_content
        return result.structured_content

    async def whole(self, tool: str, **arguments: Any) -> Any:
        return await self.client.call_tool(tool, arguments)

    async def refused(self, tool: str, **arguments: Any) -> str:
        result = await self.whole(tool, **arguments)
        assert result.is_error and result.structured_content is None, result
        return result.content[0].text


def agent(way: str, play: Callable[[Agent], Awaitable[None]]) -> None:
    async def run() -> None:
        async with WAYS[way]() as client:
            # Its client checks results against the schemas of tools that it has listed.
            assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
            await play(Agent(client))

    asyncio.run(run())


@EVERY_WAY
def test_an_agent_mends_its_code_until_the_tests_pass(way: str) -> None:
    async def play(agent: Agent) -> None:
        session = (await agent.call("open_session"))["session"]
        written = await agent.call("write_file", session=session, path="solution.py", text="def add(a, b):\n    return a - b\n")
        assert written == {"path": "/home/user/solution.py", "size": 32, "created": True}
        failed = await agent.call("run_tests", session=session, tests=TESTS)
        assert (failed["status"], failed["passed"], failed["total"]) == ("failed", 1, 2)
        wrong = next(case for case in failed["cases"] if case["status"] == "failed")
        assert "test_small" in wrong["name"] and "assert -1 == 3" in wrong["message"]
        mended = await agent.call("run_command", session=session, command="sed -i 's/a - b/a + b/' solution.py && cat solution.py")
        assert (mended["exit_code"], mended["stdout"]) == (0, "def add(a, b):\n    return a + b\n")
        passed = await agent.call("run_tests", session=session, tests=TESTS)
        assert (passed["status"], passed["passed"], passed["total"], passed["signals"]) == ("passed", 2, 2, [])
        used = await agent.call("run_python", session=session, code="from solution import add\nadd(40, 2)")
        assert (used["result"], used["status"]) == ("42", "ok")
        listed = await agent.call("list_files", session=session)
        assert {"path": "/home/user/solution.py", "kind": "file", "size": 32} in listed["entries"]
        assert await agent.call("close_session", session=session) == {"closed": True}
        assert "open_session" in await agent.refused("run_python", session=session, code="1")

    agent(way, play)


@EVERY_WAY
def test_figures_and_image_files_are_images(way: str) -> None:
    async def play(agent: Agent) -> None:
        for session in [None, (await agent.call("open_session"))["session"]]:
            arguments = {"session": session} if session else {}
            shown = await agent.whole("run_python", code=PIXEL + FIGURE, **arguments)
            assert shown.structured_content["images"] == 1
            image = shown.content[1]
            assert (image.type, image.mime_type) == ("image", "image/png")
            assert base64.b64decode(image.data).startswith(b"\x89PNG")
        await agent.call("run_python", session=session, code="open('a.png', 'wb').write(png)")
        read = await agent.whole("read_file", session=session, path="a.png")
        assert read.structured_content["image"] == "image/png" and read.content[1].data == image.data
        uri = f"proofbox://sessions/{session}/files/a.png"
        (contents,) = (await agent.client.read_resource(uri)).contents
        assert (contents.blob, contents.mime_type) == (image.data, "image/png")

    agent(way, play)


@EVERY_WAY
def test_a_cancelled_call_ends_its_run(way: str) -> None:
    async def play(agent: Agent) -> None:
        session = (await agent.call("open_session"))["session"]
        for tool, arguments in [
            ("run_python", {"code": "x = 1\nwhile True: pass", "timeout": 60}),
            ("run_command", {"command": "python3 -c 'while True: pass'", "timeout": 60}),
        ]:
            running = asyncio.create_task(agent.whole(tool, session=session, **arguments))
            await asyncio.sleep(1)
            assert not running.done()
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
            began = time.monotonic()
            # Calls of a session are served one after the other.
            after = await agent.call("run_python", session=session, code="x")
            assert after["result"] == "1" and time.monotonic() - began < 5

    agent(way, play)


@EVERY_WAY
def test_a_call_tells_what_it_prints(way: str) -> None:
    async def play(agent: Agent) -> None:
        told: list[tuple[float, str | None]] = []

        async def listen(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, message))

        code = "import time\nfor step in range(4):\n    print('step', step)\n    time.sleep(0.6)"
        result = await agent.client.call_tool("run_python", {"code": code}, progress_callback=listen)
        assert result.structured_content["stdout"].endswith("step 3\n")
        assert told and all(message.startswith("step ") for _, message in told), told
        assert [progress for progress, _ in told] == sorted({progress for progress, _ in told})

    agent(way, play)


@EVERY_WAY
def test_what_fails_is_a_result_and_what_is_wrong_is_told(way: str) -> None:
    async def play(agent: Agent) -> None:
        failed = await agent.call("run_python", code="print('before')\n1 / 0")
        assert (failed["status"], failed["failure_class"], failed["stdout"]) == ("error", "exception", "before\n")
        assert (failed["error"]["type"], failed["error"]["line"]) == ("ZeroDivisionError", 2)
        assert "ZeroDivisionError: division by zero" in failed["error"]["traceback"]
        slow = await agent.call("run_python", code="while True: pass", timeout=0.5)
        assert (slow["status"], slow["failure_class"]) == ("error", "timeout")
        loud = await agent.call("run_python", code="print('x' * 500_000, 'end')")
        assert loud["truncated"] and len(loud["stdout"]) < 50_000 and loud["stdout"].endswith("end\n")
        assert "code" in await agent.refused("run_python")
        assert "cod" in await agent.refused("run_python", cod="1")
        assert "wall_seconds" in await agent.refused("run_python", code="1", timeout=1e9)
        assert "`tests` is empty" in await agent.refused("run_tests", code="x = 1")
        assert "not both" in await agent.refused("run_tests", tests=TESTS)
        assert "no file" in await agent.refused(
            "run_tests", session=(await agent.call("open_session"))["session"], tests=TESTS
        )
        with pytest.raises(MCPError, match="no tool"):
            await agent.whole("format_disk")

    agent(way, play)


@EVERY_WAY
def test_sessions_fork_and_continue_from_checkpoints(way: str) -> None:
    async def play(agent: Agent) -> None:
        session = (await agent.call("open_session", files={"data/a.txt": "hello"}))["session"]
        await agent.call("run_python", session=session, code="x = open('data/a.txt').read()")
        saved = (await agent.call("checkpoint_session", session=session, name="start"))["checkpoint"]
        forks = (await agent.call("fork_session", session=session, count=2))["sessions"]
        for number, fork in enumerate(forks):
            ran = await agent.call("run_python", session=fork["session"], code=f"x += '{number}'\nx")
            assert ran["result"] == f"'hello{number}'"
        again = (await agent.call("open_session", from_checkpoint=saved))["session"]
        assert (await agent.call("run_python", session=again, code="x"))["result"] == "'hello'"
        part = await agent.call("read_file", session=again, path="data/a.txt", offset=1, max_bytes=3)
        assert part == {"size": 5, "text": "ell", "base64": None, "image": None, "next_offset": 4}
        assert "not_found" not in await agent.refused("read_file", session=again, path="none")

    agent(way, play)


@EVERY_WAY
def test_code_is_graded_and_scanned_alone(way: str) -> None:
    async def play(agent: Agent) -> None:
        cheat = "import os\nclass Equal:\n    def __eq__(self, other): return True\ndef add(a, b): return Equal()\n"
        graded = await agent.call("run_tests", code=cheat, tests="assert add(1, 2) == 3\nassert add(1, 1) == 2", kind="asserts")
        assert graded["total"] == 2 and graded["passed"] == 0
        scanned = await agent.call("scan_code", code="import socket\nsocket.create_connection(('a', 1))\n")
        assert scanned["syntax_ok"] and "network" in " ".join(scanned["capabilities"])
        assert (await agent.call("scan_code", code="def"))["syntax_ok"] is False

    agent(way, play)


FAST_WAYS = {
    "http": lambda: FastClient(URL),
    "stdio": lambda: FastClient(
        StdioTransport(command=BINARY, args=ARGUMENTS, env=parameters().env, keep_alive=False)
    ),
}


@pytest.mark.parametrize("way", FAST_WAYS)
def test_fastmcps_client_solves_the_task(way: str) -> None:
    async def play() -> None:
        async with FAST_WAYS[way]() as client:
            assert {tool.name for tool in await client.list_tools()} == TOOLS
            opened = await client.call_tool("open_session", {})
            session = opened.structured_content["session"]
            await client.call_tool("write_file", {"session": session, "path": "solution.py", "text": "def add(a, b): return 3"})
            failed = await client.call_tool("run_tests", {"session": session, "tests": TESTS})
            assert (failed.data.passed, failed.data.total) == (1, 2)
            await client.call_tool("write_file", {"session": session, "path": "solution.py", "text": "def add(a, b): return a + b"})
            passed = await client.call_tool("run_tests", {"session": session, "tests": TESTS})
            assert (passed.data.status, passed.data.passed) == ("passed", 2)
            shown = await client.call_tool("run_python", {"session": session, "code": PIXEL + FIGURE})
            assert shown.content[1].type == "image"
            with pytest.raises(ToolError, match="session"):
                await client.call_tool("run_python", {"session": "none", "code": "1"})

    asyncio.run(play())


if __name__ == "__main__":
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", __file__, *sys.argv[1:]]))
