"""Two interpreters, one conversation: how tests reach a candidate that is not where they are (`grading: isolated`).

Either side asks the other to do something with one of its objects, and waits; while it waits it may be asked in turn,
so calls nest as in one interpreter. Values of plain types cross as values (codec.c, and the tables here); all else
stays where it is and is known to the other side by a number. There it is a proxy (proxies.py), whose class mirrors
the object's.

A request is `(operation, ...)`, a reply `(True, value, changes)` or `(False, exception, changes)`; `changes` says how
the containers of the request were altered while it was carried out, so that an argument sorted in place is sorted for
the caller too.

The side of the tests (`grader`) takes nothing from the other on trust: what comes is data, checked as such, and what
the candidate may do with objects of the tests that it was given is listed in `serving.py`."""

import sys

import _proofbox
import _proofbox_crossing as crossing
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
    sent = []
    try:
        kind, message, received = _exchange(REQUEST, request, sent, None, sent)
        while kind == REQUEST:
            kind, message, received = _answer(message, received, sent)
        if kind == GONE:
            raise CandidateGone(*message)
        succeeded, value, changes = message
    except SystemError:
        proxies.state.nonsense()
    if proxies.state.altered:
        proxies.note_reuse(sent)
    if changes:
        crossing.apply(changes, sent)
        proxies.state.altered.extend(sent[index] for index, _ in changes)
    if succeeded is True:
        return value
    if isinstance(value, BaseException):
        raise value
    if type(value) is str:
        raise crossing.CannotCross(f"the result can't leave its interpreter: {value[:200]}")
    proxies.state.nonsense()


def _exchange(kind, message, sent, given, asked):
    described = len(proxies.state.described)
    try:
        return _proofbox.exchange(kind, message, crossing.reduce, crossing.restore, sent, given, asked)
    except SystemError:
        raise
    except BaseException:
        # It was not sent, nor the descriptions in it.
        while len(proxies.state.described) > described:
            proxies.state.described.popitem()
        raise


def serve():
    """The candidate's side: answers until the host ends it."""
    kind, message, received = _exchange(READY, None, [], None, None)
    while True:
        kind, message, received = _answer(message, received, None)


def _answer(request, received, asked):
    """Carries out a request and sends the reply; what comes next."""
    before = crossing.snapshots(received)
    try:
        reply = True, proxies.state.perform(*request)
    except CandidateGone:
        raise
    except BaseException as error:
        reply = False, error
    changes = crossing.changes(received, before)
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
