"""Two interpreters, one conversation: how tests reach a candidate that is not where they are (`grading: isolated`).

Either side asks the other to do something with one of its objects, and waits; while it waits it may be asked in turn,
so calls nest as in one interpreter. Values of plain types cross as values (codec.c, with the tables of border.py and
marshal.py); all else stays where it is and is known to the other side by a number. There it is a proxy (proxies.py),
whose class mirrors the object's.

A request is `(operation, ...)`, a reply `(True, value, changes)` or `(False, exception, changes)`; `changes` says how
the containers of the request were altered while it was carried out, so that an argument sorted in place is sorted for
the caller too.

The side of the tests (`grader`) takes nothing from the other on trust: what comes is data, checked as such; that, and what
the candidate may do with objects of the tests that it was given, is listed in `border.py`. Behind a message may come
the contents of containers that the other side has copies of: `(whose, number, content)`."""

import sys

import _proofbox
import _proofbox_border as border
import _proofbox_marshal as marshal
import _proofbox_proxies as proxies
import _proofbox_report as report

READY, REQUEST, REPLY, GONE = range(4)


class CandidateGone(BaseException):
    """The candidate's interpreter has ended: it exited, broke, or met a limit. No `except Exception` of a test holds it."""

    def __init__(self, failure_class, type_name, message):
        super().__init__(message)
        self.failure_class, self.type_name, self.message = failure_class, type_name, message


def ask(*request):
    """The other side's answer; what it raises is raised here."""
    return converse(request)


def converse(request):
    """As `ask`, of a request that is one tuple."""
    sent = []
    state = proxies.state
    try:
        kind, message, received, more = _exchange(REQUEST, request, sent, None, sent)
        while kind == REQUEST:
            kind, message, received, more = _answer(message, received, more, sent)
    except SystemError:
        state.on_protocol_error()
    if kind == GONE:
        raise CandidateGone(*message)
    try:
        succeeded, value, changes = message
        if succeeded is not True or changes or more or state.altered or request[0] in SHAPED:
            _take_reply(request[0], message, more, sent)
    except BaseException:
        state.on_protocol_error()
    if succeeded:
        return value
    if isinstance(value, BaseException):
        raise value
    raise marshal.CannotCross(f"the result can't leave its interpreter: {value[:200]}")


# Requests whose reply has a shape.
SHAPED = frozenset(operation for operation, shape in border.REPLIES.items() if shape)


def _take_reply(operation, message, more, sent):
    """Checks a reply, and carries out what it says beside its value."""
    state = proxies.state
    succeeded, value, changes = message
    shape = border.REPLIES[operation] if state.grader else None
    if type(succeeded) is not bool or (shape and succeeded and not border.SHAPES[shape](value)):
        raise ValueError("a reply of the wrong shape")
    if not succeeded and type(value) is not str and not isinstance(value, BaseException):
        raise ValueError("a failure that says nothing")
    if more:
        proxies.take_contents(more)
    if state.altered:
        proxies.note_reuse(sent)
    if changes:
        marshal.apply(changes, sent)
        state.altered.extend(sent[index] for index, _ in changes)


def _exchange(kind, message, sent, given, asked):
    state = proxies.state
    described, tracked = len(state.described), len(state.tracked)
    try:
        if tracked:
            proxies.note_contents()
        return _proofbox.exchange(kind, message, marshal.reduce, marshal.restore, sent, given, asked, state.pending)
    except SystemError:
        raise
    except BaseException:
        # It was not sent, nor the descriptions and contents in it.
        while len(state.described) > described:
            state.described.popitem()
        while len(state.tracked) > tracked:
            state.tracked.popitem()
        state.pending.clear()
        raise


def serve():
    """The candidate's side: answers until the host ends it."""
    kind, message, received, more = _exchange(READY, None, [], None, None)
    while True:
        kind, message, received, more = _answer(message, received, more, None)


def _answer(request, received, more, asked):
    """Carries out a request and sends the reply; what comes next."""
    if more:
        proxies.take_contents(more)
    before = marshal.snapshots(received)
    try:
        reply = True, proxies.state.perform(*request)
    except CandidateGone:
        raise
    except BaseException as error:
        reply = False, error
        if proxies.state.grader:
            proxies.note_failed_assertion(error)
    changes = marshal.changes(received, before)
    if proxies.state.before_reply:
        proxies.state.before_reply()
    for stream in (sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except BaseException:
            pass  # it has closed it
    try:
        return _exchange(REPLY, (*reply, changes), [], received, asked)
    except SystemError:
        raise
    except BaseException as error:
        # Too large, too deep, or altered by its own encoding: the reply is no exception then, but a text.
        return _exchange(REPLY, (False, report.text_of(error, 200), None), [], None, asked)
