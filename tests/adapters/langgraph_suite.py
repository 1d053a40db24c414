"""Lets a graph of LangGraph, with a model that is scripted, work in a sandbox that is a part of the graph's state.

  pip install --require-hashes --no-deps -r tests/adapters/langgraph.txt
  PROOFBOX_URL=http://127.0.0.1:8080 PYTHONPATH=clients/python/src \
    python3 tests/adapters/langgraph_suite.py [pytest option ...]
"""

import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import create_react_agent, tools_condition
from langgraph.types import Command
from pages import follow

import proofbox
from proofbox.langgraph import SandboxNode, SandboxState, session_tools

LABELS = {"suite": uuid.uuid4().hex}
Call = tuple[str, dict[str, object]]

WRONG = "def median(numbers):\n    return sorted(numbers)[len(numbers) // 2]\n"
RIGHT = "import statistics\n\ndef median(numbers):\n    return statistics.median(numbers)\n"
TESTS = "from stats import median\n\ndef test_even():\n    assert median([4, 1, 3, 2]) == 2.5\n"
HIDDEN = {"kind": "pytest", "source": TESTS + "\ndef test_one():\n    assert median([7]) == 7\n"}


class ScriptedModel(BaseChatModel):
    """After the nth output of a tool since the last message of the user, makes the nth of these messages."""

    script: list[list[Call]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> "ScriptedModel":
        return self

    def _generate(self, messages: list[BaseMessage], *arguments: Any, **options: Any) -> ChatResult:
        last = max(number for number, message in enumerate(messages) if isinstance(message, HumanMessage))
        turn = sum(isinstance(message, AIMessage) for message in messages[last:])
        calls = self.script[turn] if turn < len(self.script) else []
        made = [{"name": name, "args": args, "id": f"{last}.{turn}.{n}"} for n, (name, args) in enumerate(calls)]
        return ChatResult(generations=[ChatGeneration(message=AIMessage("" if made else "done", tool_calls=made))])


def graph(node: SandboxNode, saver: InMemorySaver, script: list[list[Call]]) -> CompiledStateGraph:
    model = ScriptedModel(script=script).bind_tools(node.tools)
    builder = StateGraph(SandboxState)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_node("tools", node)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=saver)


def thread(name: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


def outputs(state: dict[str, Any]) -> list[str]:
    return [str(message.content) for message in state["messages"] if isinstance(message, ToolMessage)]


@pytest.fixture
def client() -> Iterator[proofbox.Client]:
    with proofbox.Client() as client:
        yield client
        # A session from a checkpoint has its labels.
        left = [info for info in client.sessions() if info.labels == LABELS]
        assert not left, "a session was left"


def test_an_agent_mends_a_file_and_its_sandbox_is_graded(client: proofbox.Client) -> None:
    pytest_run: Call = ("run_command", {"command": "python -m pytest -q --tb=short"})
    script: list[list[Call]] = [
        [("read_file", {"path": "test_stats.py"})],
        [("write_file", {"path": "stats.py", "content": WRONG}), pytest_run],
        [("write_file", {"path": "stats.py", "content": RIGHT}), pytest_run],
    ]
    node = SandboxNode(client, labels=LABELS, files={"test_stats.py": TESTS}, limits={"wall_seconds": 60})
    built = graph(node, InMemorySaver(), script)
    state = built.invoke({"messages": [("user", "go")]}, thread("a"))
    read, _, failed, _, passed = outputs(state)
    assert read == TESTS
    assert failed.startswith("exit code 1\n") and "assert 3 == 2.5" in failed
    assert passed.startswith("exit code 0\n") and "1 passed" in passed
    with client.session(from_checkpoint=state["sandbox"]) as session:
        assert session.info.limits["wall_seconds"] == 60
        verdict = session.grade(HIDDEN, path="stats.py", visibility="hidden")
    assert (verdict.status, verdict.tests_passed, verdict.integrity.level) == ("passed", 2, "isolated")
    node.forget(built, thread("a"))


def test_a_thread_goes_on_elsewhere_and_an_earlier_state_has_its_own_sandbox(client: proofbox.Client) -> None:
    saver = InMemorySaver()
    steps: list[list[Call]] = [[("run_python", {"code": f"x = {n}\nopen('n', 'w').write(str(x))"})] for n in (1, 2)]
    first = graph(SandboxNode(client, labels=LABELS), saver, steps)
    first.invoke({"messages": [("user", "go")]}, thread("a"))
    # Another process has another client and another node; the saver has the state.
    look: list[list[Call]] = [[("run_python", {"code": "x += 10\n(x, open('n').read())"})]]
    with proofbox.Client() as elsewhere:
        node = SandboxNode(elsewhere)
        second = graph(node, saver, look)
        assert outputs(second.invoke({"messages": [("user", "on")]}, thread("a")))[-1] == "(12, '2')\n"
        # The same question at an earlier time: after the first step of tools.
        history = [state for state in second.get_state_history(thread("a")) if state.values.get("sandbox")]
        earliest = history[-1]
        forked = second.update_state(earliest.config, {"messages": [("user", "again")]}, as_node="__start__")
        assert outputs(second.invoke(None, forked))[-1] == "(11, '1')\n"
        history = list(second.get_state_history(thread("a")))
        saved = {state.values["sandbox"] for state in history if "sandbox" in state.values}
        assert len(saved) == 4 and saved <= {checkpoint.id for checkpoint in client.checkpoints()}
        node.forget(second, thread("a"))
        assert saved.isdisjoint(checkpoint.id for checkpoint in client.checkpoints())


def test_further_tools_run_here_and_errors_are_answers(client: proofbox.Client) -> None:
    asked = []

    @tool
    def lookup(name: str) -> str:
        """Looks a name up."""
        asked.append(name)
        return name.upper()

    script: list[list[Call]] = [
        [("lookup", {"name": "a"}), ("run_python", {"code": "1 / 0"}), ("read_file", {"path": "missing"})],
        [
            ("run_command", {"command": "sleep 30", "timeout_seconds": 1}),
            ("run_python", {"code": "print('x' * 30000)"}),
        ],
        [("write_file", {"path": "d/b", "content": "b"}), ("run_command", {"command": "cat d/b; echo e >&2; exit 3"})],
    ]
    node = SandboxNode(client, labels=LABELS, tools=[lookup])
    assert sorted(tool.name for tool in node.tools) == [
        "lookup",
        "read_file",
        "run_command",
        "run_python",
        "write_file",
    ]
    built = graph(node, InMemorySaver(), script)
    said = outputs(built.invoke({"messages": [("user", "go")]}, thread("a")))
    assert (asked, said[0]) == (["a"], "A")
    assert "ZeroDivisionError: division by zero" in said[1]
    assert said[2].startswith("missing: ")
    assert "ended after 1 seconds" in said[3]
    assert len(said[4]) < 20_100 and "10001 characters are left out" in said[4]
    assert said[6] == "exit code 3\nbe\n"
    node.forget(built, thread("a"))


def test_a_further_tool_can_update_the_state(client: proofbox.Client) -> None:
    @tool
    def note(text: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Notes a text, and answers with it."""
        return Command(update={"messages": [ToolMessage(f"noted {text}", tool_call_id=tool_call_id)]})

    node = SandboxNode(client, labels=LABELS, tools=[note])
    script: list[list[Call]] = [
        [("run_python", {"code": "x = 1"}), ("note", {"text": "a"})],
        [("run_python", {"code": "x"})],
    ]
    built = graph(node, InMemorySaver(), script)
    said = outputs(built.invoke({"messages": [("user", "go")]}, thread("a")))
    assert sorted(said[:2]) == ["it printed nothing", "noted a"] and said[2] == "1\n"
    node.forget(built, thread("a"))


def test_a_prebuilt_agent_uses_a_session(client: proofbox.Client) -> None:
    with client.session(labels=LABELS) as session:
        model = ScriptedModel(script=[[("run_python", {"code": "6 * 7"})]])
        agent = create_react_agent(model, session_tools(session))
        assert outputs(agent.invoke({"messages": [("user", "go")]})) == ["42\n"]
        session.close()
        with pytest.raises(proofbox.SessionNotFound):
            agent.invoke({"messages": [("user", "go")]})


def test_the_guide_shows_what_its_program_prints(tmp_path: Path) -> None:
    assert follow("how-to/run-agents.md", tmp_path) == 1


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "--disable-warnings", "-p", "no:cacheprovider", *sys.argv[1:]]))
