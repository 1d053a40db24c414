"""Something that is opened when it is awaited, or entered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, Protocol, TypeVar


class Closeable(Protocol):
    """Resource that `async with` closes."""

    async def close(self) -> None:
        """Releases what was opened."""


C = TypeVar("C", bound=Closeable)


class Opening(Generic[C]):
    """`await opening` gives what is opened; `async with opening as it:` also closes it at the end."""

    def __init__(self, open_it: Callable[[], Awaitable[C]]) -> None:
        self._open_it = open_it
        self._opened: C | None = None

    def __await__(self) -> Generator[Any, Any, C]:
        return self._open_it().__await__()

    async def __aenter__(self) -> C:
        self._opened = await self._open_it()
        return self._opened

    async def __aexit__(self, *_: object) -> None:
        if self._opened is not None:
            await self._opened.close()
