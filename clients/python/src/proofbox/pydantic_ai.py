"""Gives agents of Pydantic AI Python, a shell and files of a proofbox session.

>>> from pydantic_ai import Agent
>>> from proofbox.pydantic_ai import ProofboxToolset
>>> with client.session(limits={"wall_seconds": 600}) as session:
...     agent = Agent("openai:gpt-5.1", toolsets=[ProofboxToolset(session)])
...     agent.run_sync("Write stats.py with median(numbers), and test it.")
"""

from __future__ import annotations

from ._session_tools import SessionTools
from .session import Session

try:
    from pydantic_ai.toolsets import FunctionToolset
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "install pydantic-ai with it: pip install 'proofbox[pydantic-ai]'", name=error.name
    ) from None

__all__ = ["ProofboxToolset"]


class ProofboxToolset(FunctionToolset[object]):
    """The tools `run_python`, `run_command`, `write_file`, `read_file` over a session, which its caller closes.

    Calls of one step of the model are carried out one after the other, in its order. Code that fails is an answer to
    the model. A service that can't be reached, or a session that has ended, raises and ends the run.
    """

    def __init__(self, session: Session, *, id: str | None = None) -> None:
        super().__init__(SessionTools(session).all(), docstring_format="google", sequential=True, id=id)
        #: The session behind it.
        self.session = session
