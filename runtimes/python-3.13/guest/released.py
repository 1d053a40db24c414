"""Objects of the candidate that the tests have dropped: their interpreter is told, so that they end there as they would in
one interpreter (`__del__`, weak references). For tests that speak of that; others drop objects without looking back."""

import gc
import re
import weakref

import _proofbox
import _proofbox_side as side

_DELETES = re.compile(r"(?m)^[ \t]*del [\w, ]+$")


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


def watch(text):
    """Begins to look at what is dropped, if the tests speak of it."""
    state = side.state
    if not ("gc.collect" in text or "weakref" in text or "__del__" in text or "del " in text and _DELETES.search(text)):
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


# ---------------------------------------------------------------- the candidate's side


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
