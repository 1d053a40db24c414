"""What this platform hasn't: the one place that words, reports and marks a refusal.

A refusal has the built-in type a program would meet elsewhere, so its `except` clauses work; a mark on the instance
tells the runner that the sandbox, and not the program, is the cause."""

import errno
import os

import _proofbox

__all__ = ["is_unsupported", "refusal", "text"]

_REASONS = {
    "network": "the network is not available in this sandbox",
    "process": "processes are not available in this sandbox",
    "thread": "can't start new thread: threads are not available in this sandbox",
}
_MARK = "_proofbox_unsupported"
_TARGET_LIMIT = 1000  # characters; `attempt` passes over what exceeds 4096 bytes
_CHAIN_LIMIT = 64  # exceptions may refer to each other in circles


def refusal(kind, operation, target="", *, type=OSError, reason=None):
    """The exception to raise for `operation` on `target`; the host has heard of the attempt when this returns."""
    target = text(target)
    _proofbox.attempt(kind, operation, target)
    reason = reason or _REASONS[kind]
    if not issubclass(type, OSError):
        error = type(reason)
    elif target:
        error = type(errno.ENOTSUP, reason, target)
    else:
        error = type(errno.ENOTSUP, reason)
    error.__dict__[_MARK] = True
    return error


def text(value):
    """`value` as a target: short, and never an error, whatever a program passed."""
    if isinstance(value, (list, tuple)):  # an argument vector: the program is its first item
        value = value[0] if value else ""
    try:
        value = int.__repr__(value) if isinstance(value, int) else os.fsdecode(value)
        return str.__getitem__(value, slice(_TARGET_LIMIT))
    except Exception:
        return type(value).__name__


def is_unsupported(error):
    """Did a refusal of ours cause `error`: is it one, does it wrap one, or are there only such in its group?"""
    for _ in range(_CHAIN_LIMIT):
        if not isinstance(error, BaseException):
            return False
        if _attributes(error).get(_MARK):
            return True
        if isinstance(error, BaseExceptionGroup):
            return all(map(is_unsupported, _members(error)))
        # `raise X from refusal`, or urllib's URLError(refusal). A mere __context__ is no cause: it is also there
        # when a program's handler fails for reasons of its own.
        error = _cause(error) or next((item for item in _arguments(error) if isinstance(item, BaseException)), None)
    return False


# Read past whatever the program's own exception classes define under these names.
_attributes = BaseException.__dict__["__dict__"].__get__
_cause = BaseException.__cause__.__get__
_arguments = BaseException.args.__get__
_members = BaseExceptionGroup.exceptions.__get__
