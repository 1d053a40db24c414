"""The shell's class, for those who look for it."""

from _proofbox_kernel import InteractiveShell

__all__ = ["InteractiveShell"]
