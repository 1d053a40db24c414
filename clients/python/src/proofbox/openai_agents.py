"""Gives agents of the OpenAI Agents SDK Python, a shell and files of a proofbox session.

>>> from agents import Agent, Runner
>>> from proofbox.openai_agents import session_tools
>>> with client.session(limits={"wall_seconds": 600}) as session:
...     agent = Agent(name="coder", model="gpt-5.1", tools=session_tools(session))
...     Runner.run_sync(agent, "Write stats.py with median(numbers), and test it.")
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ._session_tools import SessionTools
from .session import Session

try:
    from agents import RunContextWrapper, Tool, function_tool
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "install openai-agents with it: pip install 'proofbox[openai-agents]'", name=error.name
    ) from None

__all__ = ["session_tools"]


def session_tools(session: Session) -> list[Tool]:
    """The tools `run_python`, `run_command`, `write_file`, `read_file` over a session, which its caller closes.

    Calls of one message of the model are carried out one after the other, in its order. Code that fails is an answer
    to the model. A service that can't be reached, or a session that has ended, raises and ends the run.
    """
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="proofbox")
    tools = [_in_order(tool, thread) for tool in SessionTools(session).all()]
    return [function_tool(tool, failure_error_function=_raise) for tool in tools]


def _in_order(tool: Callable[..., str], thread: ThreadPoolExecutor) -> Callable[..., Coroutine[Any, Any, str]]:
    """Runs a tool after those that were called before it: the framework starts all calls of a message at once."""

    @functools.wraps(tool)
    async def call(*arguments: Any, **named: Any) -> str:
        work = functools.partial(contextvars.copy_context().run, tool, *arguments, **named)
        return await asyncio.get_running_loop().run_in_executor(thread, work)

    return call


def _raise(context: RunContextWrapper[object], error: Exception) -> str:
    """Ends the run: the model could do nothing about it."""
    raise error
