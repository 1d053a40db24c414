"""Reports of a failed step to a language model: class, line, message, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .types import Execution, SnippetError

_HINTS = {
    "no_code": "write the program itself, in a block that begins with ```python",
    "other_language": "write it in Python, in a block that begins with ```python",
    "syntax_error": "correct the syntax; nothing of the code was run",
    "permission_denied": "the sandbox has files of its own only: use relative paths, or /tmp",
    "unsafe_operation": "the sandbox has no network and no processes: use Python alone, or a tool",
    "unsupported_operation": "the sandbox has no threads and no processes: do it in one thread",
    "timeout": "it took too long; do less in a step",
    "fuel_exhausted": "it computed for too long; use a faster way, or do less in a step",
    "memory_limit": "it needed too much memory; work on smaller parts",
    "output_limit": "it printed too much; print less",
    "recursion_limit": "it nested too deeply; use a loop",
    "serialization_error": "the value can't leave the sandbox; make plain data of it, or str(value)",
    "policy_blocked": "nothing of the code was run; do it without what is named above",
    "infrastructure_error": "the service failed, not the code; try the step again",
}

# Longest list of packages in a hint.
_MAX_PACKAGES = 60


def for_the_model(done: Execution, code: str, packages: Iterable[str] | None = None) -> str:
    """The message. `packages` are those that the sandbox has beyond the standard library, where they are known."""
    error = done.error
    if error is None:
        return f"Code execution ended with status {done.status} ({done.stderr_class}).{_hint(done.stderr_class)}"
    what = ": ".join(part for part in (error.type, error.message) if part) or error.class_
    return f"Code execution failed{_place(error, code)}:\n{what}{_frames(error)}{_hint_for(error, packages)}"


def _place(error: SnippetError, code: str) -> str:
    """The line of the step itself, also where what it called failed: a tool, or a function of an earlier step."""
    line = error.line
    if error.traceback:
        step = error.traceback[0].file
        line = [frame.line for frame in error.traceback if frame.file == step][-1]
    if line is None:
        return ""
    lines = code.splitlines()
    source = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return f" at line {line}" + (f", `{source}`" if source else "")


def _frames(error: SnippetError) -> str:
    """Returns the traceback of an error, where that did not come from a line of the step itself, else ""."""
    if len(error.traceback) < 2:
        return ""
    frames = error.traceback if len(error.traceback) <= 6 else error.traceback[-6:]
    return "\nTraceback, innermost last:" + "".join(
        f"\n  {frame.file}, line {frame.line}, in {frame.function}" + (f": {frame.source}" if frame.source else "")
        for frame in frames
    )


def _hint_for(error: SnippetError, packages: Iterable[str] | None) -> str:
    if error.class_ == "missing_dependency":
        module = re.search(r"No module named '([^']+)'", error.message)
        name = f"module {module[1]!r}" if module else "that module"
        there = "the standard library"
        if packages is None:
            there += " or packages that are there"
        elif names := sorted(packages, key=str.lower):
            more = f" and {len(names) - _MAX_PACKAGES} more" if len(names) > _MAX_PACKAGES else ""
            there += f", or of packages: {', '.join(names[:_MAX_PACKAGES])}{more}"
        return f"\nHint: {name} is not in the sandbox and can't be installed; use {there}."
    return _hint(error.class_)


def _hint(kind: str) -> str:
    hint = _HINTS.get(kind)
    return f"\nHint: {hint}." if hint else ""
