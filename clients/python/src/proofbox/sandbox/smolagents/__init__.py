"""Stands for smolagents where tools run: what the source of a tool may import of it, and no more."""

from .tools import Tool, tool

__all__ = ["Tool", "tool"]


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError(
        f"smolagents.{name} is not available in the sandbox: the source of a tool can use smolagents.Tool and "
        "smolagents.tool there"
    )
