"""Exceptions as plain data: class, type, message, line, and the frames that are the user's own."""

import linecache

HOME = "/home/user/"
SNIPPET = HOME + "solution.py"
MESSAGE_LIMIT = 4000
ANY_LENGTH = 1 << 62
FRAMES_LIMIT = 40
# Frames of these are ours or the standard library's.
NOT_THE_USERS = ("<proofbox>", "/lib/python3.13/", "<frozen ")
# How the names of cells begin (tracebacks.py).
CELL = "Cell In["


# Source of the snippet that runs, for tracebacks to quote without reading its file.
snippet = b""


def text_of(value, limit=MESSAGE_LIMIT):
    """`str(value)`, whatever the value does."""
    try:
        text = str(value)
        text = text if type(text) is str else ""
    except BaseException as error:
        text = f"<message could not be made: {type(error).__name__}>"
    return text if len(text) <= limit else text[:limit] + "…"


def class_of(error):
    """The `stderr_class` of an exception that ended the snippet or a case."""
    from _proofbox_unsupported import class_of_refusal

    if type(error).__name__ == "CannotCross":
        return "serialization_error"
    # The candidate's interpreter ended, and the host has said how (bridge.py).
    if type(error).__name__ == "CandidateGone":
        return error.failure_class
    if isinstance(error, SyntaxError):
        return "syntax_error"
    if isinstance(error, AssertionError):
        return "assertion_failure"
    if isinstance(error, RecursionError):
        return "recursion_limit"
    # A frame that there was no memory for: CPython raises nothing then, and finds that out later (ceval.c).
    if isinstance(error, SystemError) and str(error) == "error return without exception set":
        return "memory_limit"
    if isinstance(error, MemoryError):
        return "recursion_limit" if str(error).startswith("Parser stack overflowed") else "memory_limit"
    if isinstance(error, SystemExit):
        return "nonzero_exit" if exit_code_of(error) else "exception"
    refused = class_of_refusal(error)
    if refused:
        return refused
    if isinstance(error, ModuleNotFoundError):
        return "missing_dependency"
    return "exception"


def exit_code_of(error):
    """Returns the exit code that a shell would see of a SystemExit."""
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code) & 0xFF
    return 1


def _candidates_frames(error):
    """Returns the frames in which the candidate raised an exception that came over the bridge, as its interpreter tells
    them."""
    frames = getattr(error, "_proofbox_frames", None)
    if type(frames) is not list:
        return []
    kinds = (str, int, str, str)
    return [frame for frame in frames[:FRAMES_LIMIT] if type(frame) is tuple and tuple(map(type, frame)) == kinds]


def users_traceback(error):
    """The traceback without the frames of the runner that lie above the user's."""
    tb = error.__traceback__
    while tb is not None and tb.tb_frame.f_code.co_filename == "<proofbox>":
        tb = tb.tb_next
    return tb


def notes(error):
    """Returns the notes that `add_note` has added, as tracebacks show them."""
    added = error.__dict__.get("__notes__") if type(error.__dict__) is dict else None
    return [note for note in added[:FRAMES_LIMIT] if type(note) is str] if type(added) is list else []


def _frames(error):
    frames = []
    tb = error.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        if not code.co_filename.startswith(NOT_THE_USERS):
            frames.append((code.co_filename, tb.tb_lineno, code.co_name))
        tb = tb.tb_next
    if len(frames) > FRAMES_LIMIT:
        # The first frames say where it began, the last ones where it broke.
        frames = frames[:10] + frames[10 - FRAMES_LIMIT :]
    return frames


def _file(name):
    return name.removeprefix(HOME)


def describe(error):
    """The exception as the wire's `error` object: (class, type, message, line, [(file, line, function, source)]).

    After these perhaps paths that it is about: if they were refused, which the host knows, it is `permission_denied`."""
    # An entry that is a tuple of one function is lazy: nothing is split into lines unless it is quoted.
    linecache.cache.setdefault(SNIPPET, (lambda: snippet.decode("utf-8", "replace"),))
    try:
        return _describe(error)
    except BaseException:
        # No memory left, most likely: without the frames then.
        return (class_of(error), type(error).__name__[:200], text_of(error), None, [])


def frames_as_data(error):
    """The user's frames as the wire has them."""
    linecache.cache.setdefault(SNIPPET, (lambda: snippet.decode("utf-8", "replace"),))
    return [
        (_file(name)[:300], line, function[:300], linecache.getline(name, line).strip()[:300]) for name, line, function in _frames(error)
    ]


def _describe(error):
    from _proofbox_unsupported import paths_of

    if type(error).__name__ == "CandidateGone":
        return (error.failure_class, error.type_name, error.message, None, [])
    frames = frames_as_data(error) + _candidates_frames(error)
    if isinstance(error, SyntaxError):
        message, line = text_of(error.msg), error.lineno if type(error.lineno) is int else None
        if type(error.filename) is str and line is not None:
            source = error.text.strip()[:300] if type(error.text) is str else ""
            frames.append((_file(error.filename)[:300], line, "<module>", source))
    else:
        message = "\n".join([text_of(error), *notes(error)])[:MESSAGE_LIMIT]
        if isinstance(error, ModuleNotFoundError) and type(error.name) is str:
            from _proofbox_packages import hint

            message += hint(error.name)
        own = (frame[1] for frame in reversed(frames) if frame[0].endswith("solution.py") or frame[0].startswith(CELL))
        line = next(own, frames[-1][1] if frames else None)
    described = (class_of(error), type(error).__name__[:200], message, line, frames)
    paths = paths_of(error) if described[0] == "exception" else None
    return (*described, paths) if paths else described
