"""Objects of the candidate that the tests have dropped: their interpreter is told, so that they end there as they would in
one interpreter (`__del__`, weak references). For tests that speak of that; others drop objects without looking back."""

import gc
import re
import sys
import types
import weakref

import _proofbox
import _proofbox_proxies as proxies
import _proofbox_side as side

_DELETES = re.compile(r"(?m)^[ \t]*del [\w, ]+$")
# What a generator does when it is closed, and how a loop is left before it is at its end.
_ENDS = re.compile(rb"(?m)^[ \t]+(?:async )?(?:finally:|with |except GeneratorExit|except BaseException|except:)")
_LEAVES = re.compile(r"(?m)^[ \t]+(?:break|return)\b|: break\b|\bnext\(|\bzip\(|\bislice\(")


class Handles:
    """Handles by number, as long as the tests hold them."""

    def __init__(self):
        self.weak, self.kept = {}, {}
        self.dropped = []  # numbers that the candidate is to be told of
        self.busy = 0  # whether nothing can be told now

    def get(self, number):
        found = self.weak.get(number)
        return self.kept.get(number) if found is None else found()

    def __setitem__(self, number, handle):
        kind = type(handle)
        if isinstance(handle, BaseException) or kind._proofbox_container or kind._proofbox_value_base:
            self.kept[number] = handle
            return
        try:
            self.weak[number] = weakref.ref(handle, lambda dropped: self._drop(number, dropped))
            if number in self.dropped:
                # It has come again before the candidate was told.
                self.dropped.remove(number)
        except TypeError:
            self.kept[number] = handle

    def keep(self, number, handle):
        """Keeps a handle of which something is known that must not be forgotten with it."""
        self.kept[number] = handle

    def _drop(self, number, dropped):
        if self.weak.get(number) is not dropped:
            return
        del self.weak[number]
        self.dropped.append(number)
        if not self.busy:
            self.tell()

    def tell(self):
        state = side.state
        while self.dropped and not self.busy and state.candidate.lost is None:
            numbers, self.dropped = self.dropped, []
            state.ask("release", numbers)


def watch(text, code):
    """Begins to look at what is dropped, if the tests speak of it, or may leave a generator of the candidate that ends by more
    than that."""
    state = side.state
    speaks = "gc.collect" in text or "weakref" in text or "__del__" in text or "del " in text and _DELETES.search(text)
    if not speaks and not (b"yield" in code and _ENDS.search(code) and _LEAVES.search(text)):
        return
    state.make_handles, state.proxies = Handles, Handles()
    exchange, collect_ = _proofbox.exchange, gc.collect

    def guarded(*arguments):
        handles = state.proxies
        handles.busy += 1
        try:
            return exchange(*arguments)
        finally:
            handles.busy -= 1

    def collect(generation=2):
        found = collect_(generation)
        if state.candidate.lost is None:
            state.proxies.tell()
            state.ask("collect")
        return found

    _proofbox.exchange = guarded
    collect.__module__ = "gc"
    gc.collect = collect


class Given:
    """Objects of the tests that the candidate has, where its snippet speaks of weak references: those that nobody holds any more
    but for this list are told, so that they are gone there unless the candidate holds them, and here if it does not."""

    def __init__(self):
        self.told = set()

    def tell(self, ask):
        state = side.state
        while True:
            gone = []
            for number in range(min(len(state.objects), _MAX_GIVEN)):
                # References: of the list, and the argument.
                if sys.getrefcount(state.objects[number]) > 2:
                    self.told.discard(number)
                elif number not in self.told:
                    gone.append(number)
            if not gone:
                return
            self.told.update(gone)
            for number in ask(("unheld", gone)):
                if number in self.told:
                    # Nobody has it there, either. A method of it may be what has held another one.
                    state.numbers.pop(id(state.objects[number]), None)
                    state.objects[number] = None


_MAX_GIVEN = 1_000


# ---------------------------------------------------------------- the candidate's side


class Weakly:
    """Handles by number: those that the tests hold, and those that somebody holds here."""

    def __init__(self, handles=()):
        self.weak, self.held = {}, {}
        for number, handle in dict(handles).items():
            self[number] = handle

    def get(self, number):
        found = self.held.get(number)
        if found is None and number in self.weak and (found := self.weak[number]()) is not None:
            self.held[number] = found
        return found

    def __setitem__(self, number, handle):
        self.held[number] = handle
        try:
            self.weak[number] = weakref.ref(handle)
        except TypeError:
            self.weak.pop(number, None)

    def let_go(self, numbers):
        """Does not hold these any more; which of them nobody else holds."""
        gone = []
        for number in numbers:
            if number in self.weak:
                self.held.pop(number, None)
                if self.weak[number]() is None:
                    del self.weak[number]
                    gone.append(number)
        return gone


def watch_handles():
    """Has handles live as long as what they are handles of, or as somebody here holds them."""
    state = side.state
    state.proxies, state.make_handles = Weakly(state.proxies), Weakly
    make = weakref.WeakMethod.__new__

    def __new__(cls, method, callback=None):
        if cls is weakref.WeakMethod and callback is None and isinstance(type(method), proxies.ProxyType) and method.__class__ is types.MethodType:
            # Only the tests can tell whether its object is there.
            return side.state.ask("weakly", proxies.remote_id(method))
        return make(cls, method, callback)

    weakref.WeakMethod.__new__ = __new__


def unheld(numbers):
    return side.state.proxies.let_go(numbers)


def release(numbers):
    """Forgets objects that the tests do not know any more."""
    state = side.state
    ended = []
    for number in numbers:
        ended.append(state.objects[number])
        state.objects[number] = None
        state.numbers.pop(id(ended[-1]), None)
        state.tracked.pop(number, None)
    # Last of all: their finalizers may ask something.
    while ended:
        ended.pop()
