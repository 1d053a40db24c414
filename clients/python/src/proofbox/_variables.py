"""Variables of a session, in and out, without pickle.

What is sent goes in as files below `DIRECTORY`: the JSON of the values, and the module that reads it there.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
import keyword
import secrets
from collections.abc import Mapping
from typing import Any

from . import values
from .errors import ProtocolError, VariableError
from .types import Execution

# A text from a sandbox is not longer, in characters.
LONGEST_TEXT = 1 << 28

# In the sandbox; not below /home/user, where a program looks at its own files.
DIRECTORY = "/tmp/.proofbox"


@functools.cache
def modules() -> dict[str, str]:
    """Returns the modules that are put into the sandbox, by path."""
    root = importlib.resources.files(__package__)
    sandbox = root / "sandbox"
    return {
        f"{DIRECTORY}/proofbox_values.py": (root / "values.py").read_text("utf-8"),
        f"{DIRECTORY}/proofbox_session.py": (sandbox / "proofbox_session.py").read_text("utf-8"),
        f"{DIRECTORY}/smolagents/__init__.py": (sandbox / "smolagents" / "__init__.py").read_text("utf-8"),
        f"{DIRECTORY}/smolagents/tools.py": (sandbox / "smolagents" / "tools.py").read_text("utf-8"),
    }


def encoded(variables: Mapping[str, Any]) -> bytes:
    """The variables as a JSON text. Raises `VariableError`, which names the one that can't be sent."""
    tagged = {}
    for name, value in variables.items():
        check_name(name)
        try:
            tagged[name] = values.encode(value)
        except values.EncodeError as error:
            where = f"in {name}{error.path}, " if error.path else ""
            raise VariableError(name, f"{where}{error.what}") from None
        except RecursionError:
            raise VariableError(name, f"nests deeper than {values.MAX_DEPTH}") from None
    return json.dumps(tagged, ensure_ascii=False, allow_nan=False).encode()


def check_name(name: str) -> None:
    """Raises `VariableError` unless it can be a variable's name: names become part of a program."""
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise VariableError(str(name), "this is no name for a variable")


# Each cell that uses the modules begins so: the path is new after a restart. A policy must allow these two imports.
PRELUDE = f"""\
import sys
if {DIRECTORY!r} not in sys.path:
    sys.path.append({DIRECTORY!r})
import proofbox_session as _proofbox
"""


def sending(variables: Mapping[str, Any]) -> tuple[str, bytes, str]:
    """A file to write, its content, and the cell that then sets the variables and removes the file."""
    path = f"{DIRECTORY}/in-{secrets.token_hex(8)}.json"
    return path, encoded(variables), f"{PRELUDE}_proofbox.receive({path!r})\n"


def asking(name: str) -> str:
    """The cell that gives a variable's value."""
    check_name(name)
    return f"{PRELUDE}_proofbox.give({name!r})\n"


class Held:
    """A text that the sandbox gives in parts. What the sandbox says of it is not to be trusted."""

    def __init__(self, begun: str, token: Any, length: Any) -> None:
        if not isinstance(token, str) or type(length) is not int or not 0 <= length <= LONGEST_TEXT:
            raise ProtocolError("the sandbox gave something else for a value")
        self._parts = [begun]
        self._token = token
        self._left = length - len(begun)
        self._taken = len(begun)

    @classmethod
    def of(cls, done: Execution) -> Held:
        """Reads the answer to the code of `asking`. Raises `CodeFailed` where that failed."""
        given = done.check().result
        if not isinstance(given, tuple) or len(given) != 3 or not isinstance(given[0], str):
            raise ProtocolError("the sandbox gave something else for a value")
        return cls(*given)

    def asking(self) -> str | None:
        """The cell that gives the next part; `None` when all is there."""
        if self._left <= 0:
            return None
        return f"{PRELUDE}_proofbox.take({self._token!r}, {self._taken})\n"

    def add(self, done: Execution) -> None:
        """Takes what that cell gave."""
        part = done.check().result
        if not isinstance(part, str) or not part:
            raise ProtocolError("the sandbox gave something else for a part of a value")
        self._parts.append(part)
        self._taken += len(part)
        self._left -= len(part)

    def text(self) -> str:
        """Returns all pieces joined."""
        return "".join(self._parts)


def decoded(text: str | bytes) -> Any:
    """The value that a text from the sandbox stands for."""
    try:
        return values.loads(text)
    except values.DecodeError as error:
        raise ProtocolError(f"a value from the sandbox can't be read: {error}") from None


def check_sent(done: Execution) -> None:
    """Raises `VariableError` where the sandbox can't take a value, `CodeFailed` where setting fails otherwise."""
    if done.error is not None and done.error.type == "VariableRefused":
        try:
            name, why = json.loads(done.error.message)
        except ValueError:
            done.check()
        raise VariableError(str(name), str(why))
    done.check()


def lacks_modules(execution: Execution) -> bool:
    """Returns whether a cell failed because the modules are not there (yet, or any more)."""
    error = execution.error
    return error is not None and error.type == "ModuleNotFoundError" and "proofbox_" in error.message
