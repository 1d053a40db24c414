"""Refusals of what this platform hasn't: the one place that words, reports and marks them.

A refusal has the built-in type a program would meet elsewhere, so its `except` clauses work; a mark on the instance
tells the runner that the sandbox, and not the program, is the cause, and of which class the failure is."""

import errno
import os

import _proofbox

__all__ = ["MARKS", "UNSUPPORTED", "class_of_refusal", "marks_of", "paths_of", "refusal", "text"]

_REASONS = {
    "network": "the network is not available in this sandbox",
    "process": "processes are not available in this sandbox",
    "thread": "can't start new thread: threads are not available in this sandbox",
}
UNSAFE, UNSUPPORTED, DENIED = "unsafe_operation", "unsupported_operation", "permission_denied"
# What would have reached beyond the sandbox is unsafe; what would have stayed inside is only not there.
_CLASSES = {"network": UNSAFE, "process": UNSAFE, "thread": UNSUPPORTED}
_MARK, _PATHS = MARKS = "_proofbox_refused", "_proofbox_paths"
_TARGET_LIMIT = 1000  # characters; `attempt` passes over what exceeds 4096 bytes
_CHAIN_LIMIT = 64  # exceptions may refer to each other in circles


def refusal(kind, operation, target="", *, type=OSError, reason=None, failure=None):
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
    error.__dict__[_MARK] = failure or _CLASSES[kind]
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


def _causes(error):
    """`error`, what it was raised from or wraps, and so on."""
    for _ in range(_CHAIN_LIMIT):
        if not isinstance(error, BaseException):
            return
        yield error
        # `raise X from refusal`, or urllib's URLError(refusal). A mere __context__ is no cause: it is also there
        # when a program's handler fails for reasons of its own.
        error = _cause(error) or next((item for item in _arguments(error) if isinstance(item, BaseException)), None)


def class_of_refusal(error):
    """The class of the refusal that caused `error`: that it is, or wraps, or that all in its group are; else None."""
    for link in _causes(error):
        mark = _attributes(link).get(_MARK)
        if type(mark) is str and mark in _BY_WEIGHT:
            return mark
        if isinstance(link, BaseExceptionGroup):
            classes = list(map(class_of_refusal, _members(link)))
            return None if None in classes else min(classes, key=_BY_WEIGHT.index)
        if isinstance(link, OSError) and (isinstance(link, PermissionError) or _errno(link) == errno.EROFS):
            return DENIED
    return None


def paths_of(error):
    """The absolute paths that are not there, by the OSError that `error` is or wraps: the host knows whether they may be."""
    for link in _causes(error):
        paths = _attributes(link).get(_PATHS)
        if type(paths) is list and all(type(path) is str for path in paths):
            return paths[:2]
        if isinstance(link, OSError) and _errno(link) in _NOT_THERE:
            names = [name for name in (_filename(link), _filename2(link)) if isinstance(name, (str, bytes))]
            if names:
                return [_absolute(text(name)) for name in names]
    return []


def marks_of(error):
    """Returns what another interpreter must be told of `error`, but for its causes, to find the same."""
    marks = {name: value for name, value in _attributes(error).items() if name == _MARK and type(value) is str}
    if isinstance(error, OSError) and (paths := paths_of(error)):
        marks[_PATHS] = paths
    return marks


def _absolute(path):
    try:
        return path if path.startswith("/") else f"{_working_directory()}/{path}"
    except OSError:
        return path


_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR})
_BY_WEIGHT = (UNSAFE, DENIED, UNSUPPORTED)
# Read past whatever the program's own exception classes define under these names.
_attributes = BaseException.__dict__["__dict__"].__get__
_cause = BaseException.__cause__.__get__
_arguments = BaseException.args.__get__
_members = BaseExceptionGroup.exceptions.__get__
_errno = OSError.errno.__get__
_filename, _filename2 = OSError.filename.__get__, OSError.filename2.__get__
_working_directory = os.getcwd
