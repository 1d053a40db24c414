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

# In the sandbox; not below /home/user, where a program looks at its own files.
DIRECTORY = "/tmp/.proofbox"


@functools.cache
def modules() -> dict[str, str]:
    """What is put into the sandbox, by path."""
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


# Each cell that uses the modules begins so: after a restart the path is as it was. Python remembers of a directory that
# is not there that it is not there, so it is not looked into before.
PRELUDE = f"""\
import os, sys
if {DIRECTORY!r} not in sys.path and os.path.isdir({DIRECTORY!r}):
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


def answered(done: Execution) -> tuple[str, str | None]:
    """What such a cell gave: a text, or the path of a file that has it. Raises `CodeFailed`."""
    given = done.check().result
    if not isinstance(given, tuple) or len(given) != 2 or not all(isinstance(part, str) for part in given):
        raise ProtocolError("the sandbox gave something else for a variable")
    text, path = given
    return text, path or None


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
    """Whether a cell failed because the modules are not there (yet, or any more)."""
    error = execution.error
    return error is not None and error.type == "ModuleNotFoundError" and "proofbox_" in error.message
