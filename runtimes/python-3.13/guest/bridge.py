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
the contents of containers that the other side has copies of: `(whose, number, content)`. Lists and their like that are
held on both sides are kept in step (sharing.py)."""

import collections
import sys

import _proofbox
import _proofbox_border as border
import _proofbox_incoming as incoming
import _proofbox_marshal as marshal
import _proofbox_outgoing as outgoing
import _proofbox_report as report
import _proofbox_sharing as sharing
import _proofbox_side as side
import _proofbox_threads as threads

READY, REQUEST, REPLY, GONE = range(4)


class CandidateGone(BaseException):
    """The candidate's interpreter has ended: it exited, broke, or met a limit. No `except Exception` of a test holds it."""

    def __init__(self, failure_class, type_name, message):
        super().__init__(message)
        self.failure_class, self.type_name, self.message = failure_class, type_name, message


def ask(*request):
    """The other side's answer; what it raises is raised here. (Of the candidate's side.)"""
    shared = side.state.shared
    if shared.taken:
        shared.keep_taken(side.state)
    return converse(request, True)


def converse(request, takes=False):
    """Sends a request, one tuple, as `ask` does. `takes`: what the reply gives is looked at when the next message
    goes."""
    sent = []
    state = side.state
    given = None if state.open is None else state.shared.keep_open(state)
    before = state.touched, state.calls_served
    if not state.grader:
        # What it has printed so far stands before what the tests print meanwhile.
        _proofbox.flush()
        if state.before_message:
            state.before_message()
    try:
        kind, message, received, more = _exchange(REQUEST, request, None, sent, given, sent)
        while kind == REQUEST:
            kind, message, received, more = answer(message, received, more, sent, request)
            if not more:
                state.replied = ()
    except SystemError:
        state.on_protocol_error()
    if kind == GONE:
        raise CandidateGone(*message)
    try:
        succeeded, value, changes = message
        if succeeded is not True or changes or more or state.altered or request[0] in SHAPED:
            _take_reply(request, message, more, sent, *before)
    except BaseException:
        state.on_protocol_error()
    if takes and changes is not False and len(received) > 1:
        state.shared.take_up(state, received)
    if succeeded:
        return value
    if isinstance(value, BaseException):
        raise value
    raise marshal.CannotCross(f"the result can't leave its interpreter: {value[:200]}")


def pass_nowhere(request):
    """Does what passing a request costs both sides, on this side alone: how much that is must not be the candidate's word."""
    own = side.state
    try:
        side.state = here = side.State()
        # Objects of the candidate among the arguments have their numbers, and mean nothing there.
        here.homes, here.generation, here.proxy_types, here.refresh = own.homes, own.generation, own.proxy_types, own.refresh
        data = _proofbox.encode(REQUEST, request, None, [], None, marshal.reduce, here.link)
        side.state = there = side.State()
        there.shared.next[0] = there.shared.sent = 1
        there.objects = collections.defaultdict(object)
        _, received, _ = _proofbox.decode(data, None, marshal.restore, there.link)
        # As `answer` of a call.
        there.shared.keep(there, received, marshal.snapshots(received), (True, None))
    finally:
        side.state = own


# Requests whose reply has a shape.
SHAPED = frozenset(operation for operation, shape in border.REPLIES.items() if shape)


def _take_reply(request, message, more, sent, touched, served):
    """Checks a reply, and carries out what it says beside its value. `touched`, `served`: as they were before the request."""
    state = side.state
    succeeded, value, changes = message
    if not succeeded and type(value) is not str and not isinstance(value, BaseException):
        raise ValueError("a failure that says nothing")
    if state.altered:
        side.note_reuse(request, sent, touched)
    if changes:
        marshal.apply(changes, sent)
        if state.grader:
            for index, _ in changes:
                state.note_altered(sent[index])
                if type(sent[index]) in marshal.ARRAYS:
                    _note_overlap(sent[index], sent)
    if more:
        incoming.take_contents(more, _handed(request, sent))
        state.replied = ()
    # Last of all: what came behind the message may have altered what is in it.
    shape = border.REPLIES[request[0]] if state.grader else None
    if type(succeeded) is not bool or (shape and succeeded and not border.SHAPES[shape](value)):
        raise ValueError("a reply of the wrong shape")
    if state.grader and (state.touched != touched or state.altering):
        _note_change(state, request, value if succeeded else _NOTHING, sent, state.touched != touched, state.calls_served != served)
    if state.seen:
        _note_seen(state, request, value)


def _note_overlap(altered, sent):
    """An array that the candidate has altered shares memory with another one that it was given: there they are apart."""
    import numpy

    if any(type(each) in marshal.ARRAYS and each is not altered and numpy.may_share_memory(each, altered) for each in sent):
        side.signal("aliasing_lost")


def _note_change(state, request, value, sent, has_changed, has_called):
    """Signals changes to a value by its giver, who rarely means to alter it: what the tests expect may be computed of
    that. `value`: `_NOTHING` of a request that has failed; `has_called`: whether functions of the tests were called."""
    operation = request[0]
    if operation in _IN_PARTS and value is not _NOTHING:
        part = operation == "turn", request[1]
        done, succeeded, value = value[:3]
        if not done:
            if has_changed:
                state.altering.add(part)
            return
        has_changed = has_changed or part in state.altering
        state.altering.discard(part)
        operation, value = "call", value if succeeded else _NOTHING
    if not has_changed:
        return
    is_step = operation == "special" and request[2] in _STEPS
    if is_step or operation in _GIVING and value is not _NOTHING and (value is not None or _alters_beside(state, request, sent, has_called)):
        side.signal("argument_changed")
    state.altered_now.clear()


def _alters_beside(state, request, sent, has_called):
    """Returns whether a request that gives nothing has altered more than the one argument that it may be for: another one, or what it
    was given by an earlier request, or one beside what it has told a function of the tests."""
    altered = {id(each) for each in state.altered_now}
    handed = {id(each) for each in (*sent, *side.within(request[2:]))}
    return len(altered) > 1 or bool(altered) and has_called or not altered <= handed


_NOTHING = object()
# Requests that are answered in parts.
_IN_PARTS = frozenset({"turn", "in_thread", "go_on"})
# What goes on with something that has begun: generators, iterators, contexts.
_STEPS = frozenset({"__next__", "__anext__", "__exit__", "__aexit__", *border.GENERATOR_METHODS})


def _note_seen(state, request, value):
    """Notes what is among the values of a reply, or of a request of the candidate."""
    seen = set(state.seen)
    state.seen.clear()
    operation = request[0]
    if operation not in _VALUED or operation == "get" and type(request[2]) is str and request[2][:2] == "__":
        return
    if "empty" in seen and operation != "turn":
        side.signal("empty_result")
    if "infinite" in seen:
        side.signal("infinite")
    if "classes" in seen:
        side.note_classes(value)


# Requests whose answer, or arguments, are values.
_VALUED = frozenset({"global", "call", "get", "index", "special", "turn", "in_thread", "go_on"})
# Requests whose answer is something of the candidate's own.
_GIVING = frozenset({"call", "get", "index", "special", "turn"})


def _handed(request, sent):
    """Containers of a request that the candidate may make known as shared."""
    return sent if request is not None and request[0] in sharing.HANDING else ()


def _exchange(kind, message, changes, sent, given, asked):
    state = side.state
    shared = state.shared
    described, tracked, violation = len(state.described), len(state.tracked), state.violation
    signals = len(state.signals) if shared else 0
    try:
        if tracked:
            outgoing.note_contents()
        if shared:
            shared.note(state)
        answer = _proofbox.exchange(kind, message, changes, sent, given, asked, marshal.reduce, marshal.restore, state.link)
    except SystemError:
        raise
    except BaseException:
        # It was not sent, nor the descriptions and contents in it.
        while len(state.described) > described:
            state.described.popitem()
        while len(state.tracked) > tracked:
            state.tracked.popitem()
        # What was printed, was.
        state.pending[:] = [entry for entry in state.pending if entry[0] == "printed"]
        shared.taken.clear()
        if not shared.take_back():
            raise
        # What a shared container holds now may be what can't cross; nobody has tried to pass it.
        state.violation = violation
        while len(state.signals) > signals:
            state.signals.popitem()
        if state.grader:
            side.signal("aliasing_lost")
        else:
            state.pending.append(("lost", 0, None))
        sent.clear()
        return _exchange(kind, message, changes, sent, given, asked)
    if shared:
        shared.crossed()
    return answer


def serve(upcoming=None):
    """The candidate's side: answers until the host ends it, or, without a message that has come, until there are threads."""
    state = side.state
    _, message, received, more = upcoming or _exchange(READY, None, None, [], None, None)
    while upcoming is not None or state.calls is None:
        _, message, received, more = answer(message, received, more, None, None)
    return None, message, received, more


def answer(request, received, more, asked, asking):
    """Carries out a request and sends the reply; what comes next. `asking`: this side's request that still waits for its
    reply, if there is one, and `asked` its containers."""
    state = side.state
    if state.calls is not None:
        state.calls.append(received)
    if more:
        _take_contents(state, more, _handed(asking, asked))
        if state.seen:
            _note_seen(state, request, request)
        state.replied = ()
    # Of the candidate's side, whether there are containers of the tests in it.
    bare = not state.grader and len(received) <= sharing.BARE.get(request[0], 1)
    if not bare:
        before = marshal.snapshots(received)
        if not state.grader and request[0] in sharing.HANDING:
            state.open = received, before
    # Nothing else may refer to the result: by that is seen whether somebody holds it.
    try:
        reply = True, state.perform(*request)
    except CandidateGone:
        raise
    except BaseException as error:
        reply = False, error
        if state.grader:
            side.note_failed_assertion(error)
    keeps, state.open = state.open, None
    if state.before_reply:
        state.before_reply()
    if state.before_message:
        state.before_message()
    _proofbox.flush()
    if bare:
        changes = None
    elif keeps and reply[0]:
        changes = state.shared.keep(state, received, before, reply)
    else:
        changes = marshal.changes(received, before)
        if changes and state.shared:
            changes = state.shared.unknown(received, changes)
    if state.calls is not None:
        _await_turn(state.calls, received)
    sent = []
    if asked is not None and state.grader:
        state.replied = sent
    try:
        return _exchange(REPLY, reply, changes, sent, received, asked)
    except SystemError:
        raise
    except BaseException as error:
        # Too large, too deep, or altered by its own encoding: the reply is no exception then, but a text.
        state.replied = ()
        return _exchange(REPLY, (False, report.text_of(error, 200)), None, [], None, asked)


def _await_turn(calls, received):
    """Among threads that are asked something, who was asked last answers first. (One that was asked before there were
    threads is not in the list.)"""
    of_old = not any(each is received for each in calls)
    if not (not calls if of_old else calls[-1] is received):
        threads.wait(lambda: not calls if of_old else calls[-1] is received, None, "its turn to answer")
    if not of_old:
        calls.pop()


def _take_contents(state, more, handed):
    """Carries out what came behind a request."""
    try:
        incoming.take_contents(more, handed)
    except BaseException:
        if not state.grader:
            raise
        state.on_protocol_error()
    more.clear()
