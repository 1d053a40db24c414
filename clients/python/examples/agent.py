"""An agent whose code runs in proofbox. Run it as it is, with a model that follows a script, or with a real one:

    python agent.py
    HF_TOKEN=hf_… python agent.py "How many primes are there below 10000?"

The service's address is taken from PROOFBOX_URL (default: http://127.0.0.1:8080).
"""

from __future__ import annotations

import os
import sys
from typing import Any

from smolagents import CodeAgent, InferenceClientModel, LogLevel, tool
from smolagents.models import ChatMessage, MessageRole, Model

from proofbox.smolagents import ProofboxExecutor


@tool
def exchange_rate(currency: str) -> float:
    """Returns what one euro is worth.

    Args:
        currency: the currency's code, as USD
    """
    return {"USD": 1.25, "JPY": 160.0}[currency]


STEPS = [
    "prices = {'book': 20.0, 'lamp': 45.5}\nrate = exchange_rate('USD')\nprint(rate)",
    "total = sum(price * rates for price in prices.values())",  # A mistake: the name is wrong.
    "total = sum(price * rate for price in prices.values())",
    "final_answer({'total in USD': round(total, 2), 'items': sorted(prices)})",
]


class ScriptedModel(Model):  # type: ignore[misc]
    """Says the steps above, one after the other. It needs no key."""

    def __init__(self) -> None:
        super().__init__(model_id="scripted")
        self.steps = iter(STEPS)

    def generate(self, messages: list[Any], *arguments: Any, **options: Any) -> ChatMessage:
        return ChatMessage(role=MessageRole.ASSISTANT, content=f"Next.\n<code>\n{next(self.steps)}\n</code>")


def main() -> None:
    task = " ".join(sys.argv[1:]) or "What do a book and a lamp cost in dollars?"
    # Any model of smolagents will do: OpenAIModel, LiteLLMModel, TransformersModel …
    model = InferenceClientModel() if os.environ.get("HF_TOKEN") else ScriptedModel()
    executor = ProofboxExecutor(additional_imports=["statistics"], step_limits={"wall_seconds": 20})
    with CodeAgent(tools=[exchange_rate], model=model, executor=executor, verbosity_level=LogLevel.OFF) as agent:
        answer = agent.run(task)
        for step in agent.memory.get_succinct_steps():
            if "step_number" in step:
                told = step["error"]["message"] if step["error"] else step["observations"]
                print(f"step {step['step_number']}: {told.strip()}\n")
    print("answer:", answer)


if __name__ == "__main__":
    main()
