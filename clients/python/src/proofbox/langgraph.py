"""Gives graphs of LangGraph Python, a shell and files of a sandbox whose state is a part of the graph's state.

>>> from langgraph.graph import START, StateGraph
>>> from langgraph.prebuilt import tools_condition
>>> from proofbox.langgraph import SandboxNode, SandboxState
>>> tools = SandboxNode(client, limits={"wall_seconds": 600})
>>> model = init_chat_model("openai:gpt-5.1").bind_tools(tools.tools)
>>> graph = StateGraph(SandboxState)
>>> graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
>>> graph.add_node("tools", tools)
>>> graph.add_edge(START, "model")
>>> graph.add_conditional_edges("model", tools_condition)
>>> graph.add_edge("tools", "model")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._session_tools import SessionTools
from .client import Client
from .errors import NotFound
from .options import NotRequired, SessionOptions, Unpack
from .session import Session

try:
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool, StructuredTool
    from langgraph.graph import MessagesState
    from langgraph.prebuilt import ToolNode
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("install langgraph with it: pip install 'proofbox[langgraph]'", name=error.name) from None

__all__ = ["SandboxNode", "SandboxState", "session_tools"]


def session_tools(session: Session) -> list[BaseTool]:
    """The tools `run_python`, `run_command`, `write_file`, `read_file` over a session, which its caller closes."""
    return _tools(SessionTools(session))


def _tools(tools: SessionTools) -> list[BaseTool]:
    return [StructuredTool.from_function(tool, parse_docstring=True) for tool in tools.all()]


class SandboxState(MessagesState):
    """State of a graph: its messages, and the checkpoint of its sandbox after the last step of tools."""

    sandbox: NotRequired[str]  # type: ignore[valid-type]


class SandboxNode:
    """A node that carries out the model's calls of tools in a sandbox, and puts its checkpoint into the state.

    Each step opens a session from the state's checkpoint and ends it, so the sandbox goes where the graph's state goes:
    a thread that is continued later or elsewhere has its files and variables, a replay or a fork of an earlier state
    those of that time. `tools` are further tools, which run on this machine. The options are those of
    `Client.session`, for the first step of a thread. Calls of one message are carried out in its order.
    """

    def __init__(
        self, client: Client, *, tools: Sequence[BaseTool | Callable[..., Any]] = (), **options: Unpack[SessionOptions]
    ) -> None:
        self._client = client
        self._more = list(tools)
        self._options = options

    @property
    def tools(self) -> list[BaseTool]:
        """Returns the tools of the session and further ones, for `bind_tools` of the model."""
        return list(ToolNode([*_tools(SessionTools(None)), *self._more]).tools_by_name.values())

    def __call__(self, state: SandboxState, config: RunnableConfig) -> dict[str, Any] | list[Any]:
        """Carries out the calls of the last message."""
        saved = state.get("sandbox")
        options: SessionOptions = {"from_checkpoint": saved} if saved else self._options
        with self._client.session(**options) as session:
            node = ToolNode([*session_tools(session), *self._more])
            update = node.invoke(state, {**config, "max_concurrency": 1})
            sandbox = {"sandbox": session.checkpoint().id}
            # Where a tool has returned a `Command`, there are several updates.
            return [*update, sandbox] if isinstance(update, list) else {**update, **sandbox}

    def forget(self, graph: Any, config: RunnableConfig) -> None:
        """Deletes the checkpoints of a thread's sandbox, which are kept until then."""
        for state in graph.get_state_history(config):
            if saved := state.values.get("sandbox"):
                try:
                    self._client.delete_checkpoint(saved)
                except NotFound:
                    continue
