"""NDJSON, line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .errors import ProtocolError


class LineReader:
    """Puts chunks of bytes together to lines. A line ends at a line feed alone: JSON may hold the other separators."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any]]:
        """The objects that end in this chunk."""
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            self._parts.append(line)
            whole = b"".join(self._parts)
            self._parts.clear()
            if whole.strip():
                yield _parse(whole)
        if rest:
            self._parts.append(rest)

    def end(self) -> Iterator[dict[str, Any]]:
        """The last line, where it has no line feed."""
        yield from self.feed(b"\n")


def _parse(line: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a line of the service's answer is not JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise ProtocolError("a line of the service's answer is not an object")
    return parsed
