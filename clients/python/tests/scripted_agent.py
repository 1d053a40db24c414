"""A real `CodeAgent` whose model says what a test has written down, and tools for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smolagents import CodeAgent, Tool, tool
from smolagents.memory import ActionStep
from smolagents.models import ChatMessage, MessageRole, Model


class ScriptedModel(Model):  # type: ignore[misc]
    """Answers the nth question with the nth piece of code, as a model does, and keeps what it was asked."""

    def __init__(self, steps: Sequence[str]) -> None:
        super().__init__(model_id="scripted")
        self.steps = list(steps)
        self.asked: list[list[Any]] = []

    def generate(self, messages: list[Any], *arguments: Any, **options: Any) -> ChatMessage:
        self.asked.append(list(messages))
        if not self.steps:
            raise AssertionError("the agent asked for a step more than the script has")
        code = self.steps.pop(0)
        return ChatMessage(role=MessageRole.ASSISTANT, content=f"Thought: next.\n<code>\n{code}\n</code>")


def agent_with(executor: Any, steps: Sequence[str], tools: Sequence[Tool] = (), **options: Any) -> CodeAgent:
    """An agent that works through these steps."""
    return CodeAgent(
        tools=list(tools),
        model=ScriptedModel(steps),
        executor=executor,
        max_steps=len(steps),
        verbosity_level=0,
        **options,
    )


def steps_of(agent: CodeAgent) -> list[ActionStep]:
    """Returns the action steps in the agent's memory."""
    return [step for step in agent.memory.steps if isinstance(step, ActionStep)]


@tool
def area(width: float, height: float = 2.0) -> float:
    """The area of a rectangle.

    Args:
        width: its width
        height: its height
    """
    return width * height


@tool
def longest(words: list, least: int = 0) -> dict:
    """The longest of some words.

    Args:
        words: the words
        least: how long it has to be
    """
    import collections

    by_length = collections.defaultdict(list)
    for word in words:
        if len(word) >= least:
            by_length[len(word)].append(word)
    return {"words": by_length[max(by_length)], "length": max(by_length)}


class Till(Tool):  # type: ignore[misc]
    name = "till"
    description = "Takes an amount, and gives what it has taken so far."
    inputs = {"amount": {"type": "integer", "description": "what is paid"}}  # noqa: RUF012
    output_type = "integer"

    def __init__(self) -> None:
        super().__init__()
        self.taken = 0

    def forward(self, amount: int) -> int:
        self.taken = self._sum(amount)
        return self.taken

    def _sum(self, amount: int) -> int:
        return self.taken + amount


class Broken(Tool):  # type: ignore[misc]
    name = "broken"
    description = "Fails."
    inputs = {"word": {"type": "string", "description": "any"}}  # noqa: RUF012
    output_type = "string"

    def forward(self, word: str) -> str:
        raise LookupError(f"no {word} here")
