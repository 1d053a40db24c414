"""Containers that both sides have, kept in step: who gives away an internal list, keeps the caller's, or yields one list
again and again, is seen to do so, as in one interpreter.

Which these are, says the candidate's side, for it knows who holds its containers. What of a reply or of the arguments of
its call is held beside the message becomes shared (codec.c: `K`); so does what it holds of the containers of a request
when it replies or calls back (`held`, below). From then on the container has a number: it crosses as that, and before
each message either side tells of what it has changed. Neither needs to be told of what it does not hold any more:
that is forgotten, now and then.

Entries behind a message, beside those of `incoming.take_contents`:

    ("held", number, index)         the container of that index in the request is shared: from the candidate's side only
    ("shared", number, content)     what a shared container holds now
    ("spliced", number, content)    the same of a list: (begin, end, items), what has become of the items `begin:end`
    ("forgotten", 0, [number])      these are not shared any more
    ("taken", number, index)        as "held", of the containers of the reply that the message follows
    ("altered", index, content)     one of those has been altered, and is not shared
    ("error", number, content)      what the candidate has made of its copy of an exception of the tests (outgoing.py)
    ("stale", 0, None)              a set or dict has keys that it would not find: the case has not passed
    ("lost", 0, None)               one that should be shared is not: a signal
    ("nan", 0, None)                there is a number among the values that is none: a signal
    ("infinite", 0, None)           one that is infinite
    ("empty", 0, None)              a container or text without items, within another container
    ("classes", 0, None)            a class of the library

What the candidate is given by the tests' objects (attributes, items, results of calls) is looked at when its next message
goes: what it holds by then is shared, and what it has altered is told.
"""

import _proofbox
import _proofbox_marshal as marshal

# Tests may replace it.
_sorted = sorted

# As in codec.c.
MAX_CONTAINERS, MAX_ITEMS = 256, 2000
# When it is looked for what can be forgotten: at so many containers, or when a large one has come.
FEW = 6
ENTRIES = frozenset({"held", "shared", "spliced", "forgotten", "lost", "nan", "taken", "altered", "infinite", "empty", "classes"})
# Those that say what was seen in a message.
SEEN = frozenset({"infinite", "empty", "classes"})
# Requests by which the tests hand containers to the candidate.
HANDING = frozenset({"call", "special", "set", "set_global", "in_thread"})
# How many containers a request has if none of them is of the tests: its tuple, arguments, keywords.
BARE = {"call": 3, "special": 2}


class Shared(dict):
    """Containers that both sides have, by number, with what one side knows of them."""

    __slots__ = ("numbers", "copies", "rich", "handed", "next", "sent", "limit", "told", "silent", "forgotten", "taken", "before", "hooked", "hook")

    def __init__(self):
        self.numbers = {}  # by id
        self.copies = {}  # snapshots, by number in the same order: what the other side knows
        self.rich = set()  # numbers of those that Python code must look at
        self.handed = set()  # numbers of those that were arguments (tests' side)
        self.next = [0]  # the next number; 0: the other side gives them
        self.sent = 0  # from this number on, the other side has not heard of them
        self.limit = FEW
        self.told = {}  # snapshots, by number, of those whose contents go with the next message
        self.silent = False  # whether contents can't go with the next message
        self.forgotten = ()  # numbers that are forgotten with it
        self.taken = []  # containers of the reply that came last, until the next message has gone (candidate's side)
        self.before = None  # what they were
        self.hooked, self.hook = False, None  # whether that is seen to before a reply; what else is done then

    def note(self, state):
        """Puts what has changed since the last message into the next one, and forgets what only the other side holds."""
        if self.silent:
            return
        for number in _proofbox.altered(self, self.copies):
            self._tell(state, number)
        for number in self.rich:
            if marshal.is_changed(self[number], self.copies[number]):
                self._tell(state, number)
        if len(self) > self.limit:
            numbers = list(self)
            held = _proofbox.held(list(self.values()), list(self.copies.values()), (), marshal.HOLDING, 2, 0)
            self.limit = max(min(2 * len(held), MAX_CONTAINERS - FEW), len(held) + FEW)
            if len(held) < len(numbers):
                if held:
                    held = {numbers[index] for index in held}
                    numbers = [number for number in numbers if number not in held]
                self.forgotten = numbers
                state.pending.append(("forgotten", 0, numbers))

    def _tell(self, state, number):
        value, known = self[number], self.copies[number]
        self.told[number] = known
        self.copies[number] = marshal.snapshot(value)
        if type(value) is list:
            state.pending.append(("spliced", number, _proofbox.spliced(value, known)))
        else:
            state.pending.append(("shared", number, marshal.told_of(value, known)))

    def _begin(self):
        """Begins to look at the containers that are new."""
        for number in _proofbox.begin(self, self.copies):
            value = self[number]
            if marshal.is_rich(value):
                self.rich.add(number)
                self.copies[number] = marshal.snapshot(value)
            else:
                self.limit = 0

    def _forget(self, numbers):
        _proofbox.forget(numbers, self, self.numbers, self.copies)
        self.rich.difference_update(numbers)
        self.handed.difference_update(numbers)

    def _share(self, value):
        """Gives a container a number, by which both sides know it from now on."""
        (number,) = self.next
        self.next[0] = number + 1
        self[number] = value
        self.numbers[id(value)] = number
        return number

    def crossed(self):
        """The message has been sent, and its answer is there."""
        if self.forgotten:
            self._forget(self.forgotten)
            self.forgotten = ()
        if self.taken:
            self.taken.clear()
        if len(self) != len(self.copies):
            self._begin()
        self.sent = self.next[0]
        if self.told or self.silent:
            self.told, self.silent = {}, False

    def take_back(self):
        """The message could not be sent; whether it is to be sent without the contents that were to go with it."""
        if self.sent:
            self._forget([number for number in self if number >= self.sent])
            self.next[0] = self.sent
        for number in self.told.keys() & self.keys():
            self.copies[number] = self.told[number]
        self.silent = bool(self.told)
        self.told, self.forgotten = {}, ()
        return self.silent

    def keep(self, state, received, before, reply):
        """Shares what this side holds of the containers of a request beside it and the reply to be; returns what else of
        them has changed."""
        copies, rich = before
        held = _proofbox.held(received, [*copies, *rich.values()] if rich else copies, reply, marshal.HOLDING, 1, 1)
        changes = marshal.changes(received, before)
        if not held:
            return self.unknown(received, changes) if changes else None
        changed = dict(changes or ())
        request = received[0] if received[0][0] != "in_thread" else received[0][4]
        keywords = request[3] if request[0] == "call" else None
        for index in held:
            value = received[index]
            if type(value) not in marshal.CHANGEABLE or id(value) in self.numbers or value is keywords:
                if type(value) in marshal.ALTERABLE and type(value) not in marshal.CHANGEABLE:
                    state.pending.append(("lost", 0, None))
                continue
            if not _proofbox.has_room(self, value):
                state.pending.append(("lost", 0, None))
                continue
            number = self._share(value)
            state.pending.append(("held", number, index))
            if index in changed:
                state.pending.append(("shared", number, changed[index]))
        if len(self) != len(self.copies):
            self._begin()
        return self.unknown(received, changes) if changes else None

    def unknown(self, received, changes):
        """Of the changes of a request's containers, those that are not told otherwise."""
        return [(index, content) for index, content in changes if id(received[index]) not in self.numbers] or None

    def take_up(self, state, received):
        """A reply has come. What this side holds and alters of its containers is seen when the next message goes."""
        if marshal.ALTERABLE.isdisjoint(map(type, received)):
            return
        self.taken[:] = received
        self.before = marshal.snapshots(received)
        if not self.hooked:
            self.hooked, self.hook, state.before_reply = True, state.before_reply, lambda: self._keep_before_reply(state)

    def _keep_before_reply(self, state):
        """Calls `keep_taken` before a reply, after the hook that stood there, which is then put back."""
        self.hooked, state.before_reply = False, self.hook
        if state.before_reply:
            state.before_reply()
        if self.taken:
            self.keep_taken(state)

    def keep_taken(self, state):
        """Keeps the containers of the reply that this side has had last, as `keep` does: also those that it has
        altered, and holds no more."""
        taken, (copies, rich) = self.taken, self.before
        held = set(_proofbox.held(taken, [*copies, *rich.values()] if rich else copies, (), marshal.HOLDING, 1, 1))
        changed = dict(marshal.changes(taken, self.before) or ())
        known = len(self)
        for index in _sorted(held | changed.keys()):
            value = taken[index]
            if id(value) in self.numbers:
                continue
            can_be_shared = type(value) in marshal.CHANGEABLE
            if not can_be_shared or not _proofbox.has_room(self, value):
                if index in changed:
                    state.pending.append(("altered", index, changed[index]))
                if index in held and type(value) in marshal.ALTERABLE:
                    state.pending.append(("lost", 0, None))
                continue
            number = self._share(value)
            state.pending.append(("taken", number, index))
            # What the other side knows of it. What has changed since goes behind this.
            if rich and index in rich:
                self.rich.add(number)
                self.copies[number] = rich[index]
            else:
                self.copies[number] = copies[index]
            self.limit = 0
        if len(self) == known:
            # None of them can be in the message that goes.
            taken.clear()

    def keep_open(self, state):
        """Keeps the containers of the request that is being carried out, and calls back; returns them: the other side
        does not know them by numbers yet."""
        (received, before), state.open = state.open, None
        self.keep(state, received, before, ())
        return received

    def take(self, state, whose, number, content, handed):
        """Carries out an entry of the other side's. On the tests' side it may be anything. `handed`: what it may share of
        the containers of the request that it answers, or calls back for."""
        if whose == "shared" or whose == "spliced":
            target = self[number]
            try:
                self._alter(target, whose, content, number not in self.handed)
            except BufferError:
                # Somebody looks at its memory.
                state.signals["aliasing_lost"] = True
            self.copies[number] = marshal.snapshot(target)
            if number in self.handed:
                state.note_altered(target)
            if not (target.nbytes if type(target) in marshal.ARRAYS else target):
                # A loop over it checks nothing.
                state.signals["empty_result"] = True
        elif whose in ("held", "taken") and state.grader:
            handed = state.replied if whose == "taken" else handed
            if type(number) is not int or number < 1 or number in self or len(self) >= MAX_CONTAINERS:
                raise marshal.CannotCross("a number that there is")
            if type(content) is not int or not 0 <= content < len(handed):
                raise marshal.CannotCross("a container that was not handed over")
            target = handed[content]
            if type(target) not in marshal.CHANGEABLE or id(target) in self.numbers:
                raise marshal.CannotCross("what can't be shared")
            self[number] = target
            self.numbers[id(target)] = number
            self.handed.add(number)
            self._begin()
        elif whose == "altered" and state.grader:
            if type(number) is not int or not 0 <= number < len(state.replied):
                raise marshal.CannotCross("a change to what was not sent")
            marshal.alter(state.replied[number], content)
            state.note_altered(state.replied[number])
        elif whose in SEEN:
            state.seen.add(whose)
        elif whose == "forgotten":
            self._forget([number for number in content if type(number) is int])
        elif whose == "lost":
            state.signals["aliasing_lost"] = True
        elif whose == "nan":
            state.signals["not_a_number"] = True
        else:
            raise marshal.CannotCross("an entry that there is not")

    @staticmethod
    def _alter(target, whose, content, is_theirs):
        if whose == "shared":
            marshal.alter(target, content, is_theirs)
            return
        if type(target) is not list or not marshal.fits((int, int, tuple), content):
            raise marshal.CannotCross("a change to what can't be changed")
        begin, end, items = content
        if not 0 <= begin <= end <= len(target):
            raise marshal.CannotCross("a change beyond the end")
        target[begin:end] = items
