"""Long calls as tasks of revision 2026-07-28, by FastMCP's client and the Python SDK's, unmodified.

  pip install --require-hashes --no-deps -r tests/mcp/requirements.txt
  PROOFBOX_URL=http://127.0.0.1:8080 PROOFBOX_BINARY=target/release/proofbox python3 tests/mcp/task_suite.py [pytest option ...]
"""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from fastmcp_tasks import call_tool_task
from fastmcp_tasks.client import TasksClientExtension
from mcp import Client, MCPError

URL = os.environ["PROOFBOX_URL"].rstrip("/") + "/mcp"
ENVIRONMENT = {name: value for name, value in os.environ.items() if name.startswith(("PROOFBOX_", "XDG_"))}


def over_stdio() -> StdioTransport:
    arguments = ["--workers", "1", "mcp"]
    return StdioTransport(command=os.environ["PROOFBOX_BINARY"], args=arguments, env=ENVIRONMENT, keep_alive=False)


# With `fastmcp_tasks` there, its client says that it knows tasks.
WAYS = {"http": lambda: FastClient(URL), "stdio": lambda: FastClient(over_stdio())}
EVERY_WAY = pytest.mark.parametrize("way", WAYS)

SLOW = "import time\nfor step in range(4):\n    print('step', step)\n    time.sleep(0.8)\n6 * 7"
FIGURE = """
import base64, time
class Figure:
    def _repr_png_(self):
        return base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
time.sleep(2)
Figure()
"""
TESTS = "import time\n\ndef test_slow():\n    from solution import add\n    time.sleep(2)\n    assert add(1, 2) == 3\n"


def play(way: str, scene: Callable[[Any], Awaitable[None]]) -> None:
    async def run() -> None:
        async with WAYS[way]() as client:
            # The first call waits for the service to start.
            await client.call_tool("run_python", {"code": "1"})
            await scene(client)

    asyncio.run(run())


@EVERY_WAY
def test_a_long_call_is_a_task_that_tells_what_it_does(way: str) -> None:
    async def scene(client: Any) -> None:
        task = await call_tool_task(client, "run_python", {"code": SLOW})
        first = await task.status()
        assert (first.status, first.ttl_ms) == ("working", 1_800_000), first
        await asyncio.sleep(1.2)
        told = await task.status()
        assert told.status == "working" and told.status_message.startswith("step "), told
        assert told.last_updated_at > told.created_at, told
        result = await task.result()
        assert (result.data.result, result.data.stdout) == ("42", "step 0\nstep 1\nstep 2\nstep 3\n")
        ended = await task.status()
        assert ended.status == "completed" and ended.result["structuredContent"]["result"] == "42", ended

    play(way, scene)


@EVERY_WAY
def test_a_client_need_not_know_that_its_call_was_a_task(way: str) -> None:
    async def scene(client: Any) -> None:
        result = await client.call_tool("run_python", {"code": FIGURE})
        assert result.content[1].type == "image"
        graded = await client.call_tool("run_tests", {"code": "def add(a, b): return a + b", "tests": TESTS})
        assert (graded.data.status, graded.data.passed) == ("passed", 1)
        failed = await client.call_tool("run_python", {"code": "import time; time.sleep(2); 1 / 0"})
        assert (failed.data.status, failed.data.error.type) == ("error", "ZeroDivisionError")

    play(way, scene)


@EVERY_WAY
def test_a_short_call_is_answered_at_once(way: str) -> None:
    async def scene(client: Any) -> None:
        with pytest.raises(ToolError, match="did not run as a task"):
            await call_tool_task(client, "run_python", {"code": "6 * 7"})
        with pytest.raises(ToolError, match="open_session"):
            await client.call_tool("run_python", {"session": "none", "code": "1"})

    play(way, scene)


@EVERY_WAY
def test_a_task_is_cancelled(way: str) -> None:
    async def scene(client: Any) -> None:
        session = (await client.call_tool("open_session", {})).data.session
        task = await call_tool_task(client, "run_python", {"session": session, "code": "x = 1\nwhile True: pass", "timeout": 60})
        await task.cancel()
        assert (await task.status()).status == "cancelled"
        with pytest.raises(ToolError, match="cancelled"):
            await task.result()
        began = time.monotonic()
        assert (await client.call_tool("run_python", {"session": session, "code": "x"})).data.result == "1"
        assert time.monotonic() - began < 5

    play(way, scene)


@EVERY_WAY
def test_a_task_that_is_none_is_refused(way: str) -> None:
    async def scene(client: Any) -> None:
        task = await call_tool_task(client, "run_python", {"code": "import time; time.sleep(3)"})
        task._create_result.task_id = "01999999-9999-7999-8999-999999999999"
        for ask in (task.status, task.cancel):
            with pytest.raises(MCPError, match="there is no such task"):
                await ask()

    play(way, scene)


def test_the_sdks_client_takes_tasks_by_an_extension() -> None:
    async def run() -> None:
        async with Client(URL, mode="2026-07-28", extensions=[TasksClientExtension()]) as client:
            result = await client.call_tool("run_python", {"code": SLOW})
            assert result.structured_content["result"] == "42"
        # Without it, the same call waits for its result.
        async with Client(URL, mode="2026-07-28") as client:
            result = await client.call_tool("run_python", {"code": SLOW})
            assert result.structured_content["result"] == "42"

    asyncio.run(run())


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
