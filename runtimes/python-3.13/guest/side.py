"""State that all modules of the bridge share: what one side knows of the other, and what it has noticed; signals, and
refusals."""

import array
import cmath
import collections
import datetime
import decimal
import itertools
import types

import _proofbox_border as border
import _proofbox_sharing as sharing


class State:
    """Knowledge of one side about the other. Made anew at the start, so that a run writes to little of the image."""

    __slots__ = (
        "grader", "objects", "numbers", "proxies", "proxy_types", "homes", "described", "generation", "signals", "named", "paths",
        "ask", "perform", "on_protocol_error", "refresh", "check_may_leave", "inexpressible", "candidate", "streams", "noted", "namespace",
        "runner", "altered", "finished", "tracked", "pending", "dirty", "violation", "before_reply", "values", "handles", "failed",
        "on_mocks", "measured", "changes", "copies", "copied", "shared", "link", "open", "unequal", "read", "calls", "theirs", "make_handles",
        "altering", "tells_seeds", "pickled", "before_message", "printing", "lent", "replied", "seen", "touched", "made", "makers",
        "watch", "loggers",
        "stand_ins", "has_stand_ins", "cut_names", "altered_now", "calls_served", "settings",
    )  # fmt: skip

    def __init__(self):
        self.grader = False  # whether this is the tests' side
        self.signals = {}  # what was seen that an honest candidate does not need (grader only)
        self.named = {}  # proxy types that the tests name
        self.paths = {}  # by which name proxy types were found
        self.altered = {}  # by id, arguments that the other side has changed, and the count of changes then
        self.generation = 0  # of which interpreter of the candidate: each fresh one begins with no objects
        self.violation = None  # what the open case can't pass for, whatever its test makes of it
        self.values = self.handles = 0  # results that crossed as values; requests that the candidate's objects answered
        self.theirs = self.watch = self.loggers = None
        self.make_handles = dict
        self.namespace = self.runner = self.candidate = self.refresh = self.check_may_leave = self.inexpressible = None
        self.before_reply = self.before_message = self.finished = None
        self.printing = None  # what the candidate has put in the place of its `sys.stdout`
        self.failed = None  # an assertion that failed in a call by the candidate, which has not told yet what it makes of it
        self.copies = 0  # deep copies that this side has begun
        self.replied = ()  # the containers of the reply that was sent last, while the next message is taken in (grader only)
        self.seen = set()  # what the message that came last has among its values, by words of sharing.py
        self.touched = 0  # how often the candidate has altered what is the tests'
        self.open = None  # the containers of the request that is being carried out, and what they were (candidate's side)
        self.copied = None  # of the other's last one: its number, and what is copied already
        self.calls = None  # requests of the other side that are being carried out, where there are threads
        self.unequal = []  # objects of the candidate and what the open case has found them to differ from
        self.tells_seeds = False  # whether seeds are to be told (candidate's side)
        self.pickled = {}  # pickles that the candidate has made of its objects, and their proxy types
        self.altering = set()  # tasks of the candidate's that have altered what they were given, and are not done
        self.changes = 0  # requests that may have changed an object of the candidate's
        self.lent = {}  # functions of the library that the tests have handed over, by module and name; on the other side the names by id
        self.stand_ins, self.has_stand_ins = {}, False  # of functions and modules of the library that the candidate has named, by name (theirs.py)
        self.cut_names = {}  # of what is defined in functions of the tests: the names as they are, by those that the candidate is told
        self.altered_now = []  # containers of the tests that the candidate has altered since the last reply that told of such
        self.calls_served = 0  # calls of the candidate's to the tests' functions
        self.on_mocks = {}  # ids of handles that the candidate has set on mocks
        self.clear()

    def clear(self):
        self.objects = []  # this side's objects that the other knows, by number
        self.numbers = {}  # and the numbers, by id
        self.proxies = self.make_handles()  # the other side's objects, by number
        self.proxy_types = {}  # and those of its classes
        self.homes = {}  # number of each proxy type
        self.described = {}  # classes of this side that the other has had described
        self.tracked = {}  # containers of this side that the other has a copy of: number -> (container, content)
        self.shared = sharing.Shared()  # containers that both sides have
        self.pending = []  # contents that go with the next message
        # What codec.c needs for each message.
        self.link = self.pending, self.shared, self.shared.numbers, self.shared.next, self.shared.taken
        self.dirty = {}  # handles of containers whose content this side has changed, by number
        self.makers = set()  # numbers of what the tests call to make objects
        self.made = {}  # by these, of what values they have made which last
        self.read = {}  # plain attributes of objects of the other side, and the changes until they were read
        self.measured = {}  # how many items an object of the other side has said to have or has given, and the changes until then

    def note_altered(self, target):
        """The candidate has altered an argument, or what an object of the tests gave it."""
        self.touched += 1
        self.altered.setdefault(id(target), (target, self.touched))
        self.altered_now.append(target)

    def note_touched(self):
        """The candidate has altered an object of the tests that is no container: streams and trees are given again and again."""
        self.touched += 1
        self.altered.setdefault(0, (None, 0))

    def reset(self):
        """A fresh interpreter on the other side: nothing that it knew of is there."""
        self.generation += 1
        if self.calls:
            self.calls.clear()
        self.clear()


state = None


def _read(cls, names):
    descriptors = [vars(cls)[name].__get__ for name in names]
    return lambda value: [get(value) for get in descriptors]


_of_date = _read(datetime.date, ("year", "month", "day"))
_of_moment = _read(datetime.datetime, ("hour", "minute", "second", "microsecond", "tzinfo"))
_of_timedelta = _read(datetime.timedelta, ("days", "seconds", "microseconds"))


# Tests may replace them in their module.
_date, _datetime, _timedelta = datetime.date, datetime.datetime, datetime.timedelta
_fold = _datetime.fold.__get__


def _make_date(cls, value):
    return _date.__new__(cls, *_of_date(value))


def _make_datetime(cls, value):
    return _datetime.__new__(cls, *_of_date(value), *_of_moment(value), fold=_fold(value))


def _make_timedelta(cls, value):
    return _timedelta.__new__(cls, *_of_timedelta(value))


# Values whose subclasses carry the plain one. Of those of the library: how an instance of a class is made of it, and it of an
# instance, past what the class overrides.
OF_LIBRARY = {
    decimal.Decimal: (decimal.Decimal.__new__, decimal.Decimal),
    datetime.datetime: (_make_datetime, lambda value: _make_datetime(_datetime, value)),
    datetime.date: (_make_date, lambda value: _make_date(_date, value)),
    datetime.timedelta: (_make_timedelta, lambda value: _make_timedelta(_timedelta, value)),
}
VALUE_TYPES = (int, float, complex, str, bytes, tuple, frozenset, *OF_LIBRARY)
# Containers whose subclasses carry their content: how it is read and set past what a subclass overrides. Derived ones first.
def _dict_content(value):
    return dict(dict.items(value))


def _fill_dict(handle, content):
    dict.clear(handle)
    dict.update(handle, content)


def _fill_ordered(handle, content):
    collections.OrderedDict.clear(handle)
    for key, value in content.items():
        collections.OrderedDict.__setitem__(handle, key, value)


def _fill_set(handle, content):
    set.clear(handle)
    set.update(handle, content)


def _fill_deque(handle, content):
    collections.deque.clear(handle)
    collections.deque.extend(handle, content)


CONTAINERS = {
    collections.Counter: (dict, _dict_content, _fill_dict),
    collections.OrderedDict: (dict, lambda value: dict(collections.OrderedDict.items(value)), _fill_ordered),
    collections.defaultdict: (dict, _dict_content, _fill_dict),
    collections.deque: (list, lambda value: list(collections.deque.__iter__(value)), _fill_deque),
    list: (list, lambda value: list(list.__iter__(value)), lambda handle, content: list.__setitem__(handle, slice(None), content)),
    dict: (dict, _dict_content, _fill_dict),
    set: (set, lambda value: set(set.__iter__(value)), _fill_set),
    bytearray: (bytes, lambda value: bytes(bytearray.__iter__(value)), lambda handle, content: bytearray.__setitem__(handle, slice(None), content)),
}


# All that carry their content.
BASES = frozenset({*VALUE_TYPES, *CONTAINERS})


def signal(name):
    state.signals[name] = True


class Refused(TypeError):
    """Something that is in no table of border.py."""


def refuse(name, message):
    """Refuses something, so that the open case has not passed, whatever its test makes of the exception."""
    signal(name)
    if state.violation is None:
        state.violation = Refused(f"{message} (grading: isolated)")
    raise TypeError(f"{message} (grading: isolated)")


def tells_of_failure(error):
    """Returns whether an exception says that a test has failed."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(tells_of_failure, error.exceptions))
    return isinstance(error, border.TELLING)


def note_failed_assertion(error):
    """An assertion of the tests has failed in a function that the candidate called, and goes to it."""
    if tells_of_failure(error):
        state.failed = error


def note_swallowed(succeeded):
    """The request has an answer in which such an assertion failed: it should be an exception."""
    if succeeded:
        signal("suppressed_assertion")
    state.failed = None


# Values that nobody can alter, and that have no parts.
SCALARS = frozenset({int, float, complex, bool, str, bytes, type(None)})
# What a loop passes over if it is empty.
SIZED = frozenset({
    list, tuple, dict, set, frozenset, bytearray, range, memoryview, collections.deque, collections.Counter, collections.OrderedDict,
    collections.defaultdict, array.array, types.MappingProxyType, type({}.keys()), type({}.values()), type({}.items()),
})  # fmt: skip
TEXTS = frozenset({str, bytes})
NUMBERS = frozenset({float, complex, decimal.Decimal})
# Values of which a class of the candidate may derive, and that may have no items.
EMPTIABLE = frozenset({str, bytes, tuple, frozenset})
# Of containers, what may hold others, by items or by values.
_OF_ITEMS = frozenset({list, tuple, set, frozenset, collections.deque})
_OF_VALUES = frozenset({dict, collections.OrderedDict, collections.defaultdict})
MAY_BE_EMPTY = SIZED | TEXTS
# How many objects are looked at.
_MAX_WITHIN = 10_000


def within(value):
    """A value, and what is in its containers, at any depth; of very large ones not all."""
    waiting, left = [value], _MAX_WITHIN
    while waiting and left:
        left -= 1
        each = waiting.pop()
        yield each
        kind = type(each)
        if kind in _OF_ITEMS or kind in _OF_VALUES:
            waiting.extend(itertools.islice(each.values() if kind in _OF_VALUES else each, left))


def note_empty(value):
    """A container without items or text without words, or one that holds such: a loop over it checks nothing."""
    for each in within(value):
        if type(each) in MAY_BE_EMPTY and (not each or type(each) in TEXTS and each.isspace()):
            signal("empty_result")
            return


def note_number(value):
    """A number that is none is neither above nor below a bound; one that is infinite is within a tolerance that grows with it."""
    is_decimal = type(value) is decimal.Decimal
    if value.is_nan() if is_decimal else cmath.isnan(value):
        signal("not_a_number")
    elif value.is_infinite() if is_decimal else cmath.isinf(value):
        signal("infinite")


def note_plain(value):
    """Notes what an instance of a class of the candidate's holds, as that of a call."""
    kind = type(value)
    if kind in NUMBERS:
        note_number(value)
    elif not value and kind in EMPTIABLE:
        signal("empty_result")


def note_reuse(request, sent, touched):
    """An argument that one call has changed and the next one gets: few tests mean that. `touched`: before this request."""
    if request[0] == "call":
        # Shared ones cross by their numbers.
        sent = [*sent, *request[2], *request[3].values()]
    if any((known := state.altered.get(id(each))) is not None and known[1] <= touched for each in sent):
        signal("changed_argument_reused")
        state.altered.clear()


def note_classes(value):
    """A class of the language's that failed assertions belong to: an `except` of the tests for it catches them."""
    for each in within(value):
        if isinstance(each, type) and each is not object and type.__subclasscheck__(each, AssertionError):
            signal("exception_by_another_name")
            return
        if type(each) is tuple and sum(isinstance(kind, type) and type.__subclasscheck__(BaseException, kind) for kind in each) > 1:
            # Where the tests expect an exception of one class, it is any of these.
            signal("raises_by_multiple_bases")


# Of attributes that the library's exceptions have of their own (`JSONDecodeError.pos`).
PLAIN_TYPES = frozenset({*VALUE_TYPES, list, dict, set, bytearray, bool, type(None)})
