"""State of the interpreter that tests look at in theirs, though it is the candidate's that alters its own.

Which of these states are looked at at all, the text of the tests says; the candidate's side compares those before and after
each request. What can be said is then so in G, too: handlers of signals, hooks, draws of a generator, simple settings. Of the
others, the open case has not passed if they are altered at its end."""

import os
import re
import sys
import zlib

import _proofbox
import _proofbox_proxies as proxies
import _proofbox_side as side

# How many words a generator may have drawn in one request, to be followed.
_MAX_DRAWN = 100_000
_NUMBERS = (1 << 60) - 1


def _module(name):
    __import__(name)
    return sys.modules[name]


# ---------------------------------------------------------------- generators: they go on as many draws further


def _random_state():
    return _module("random")._inst.getstate()[1]


def _numpy_state():
    state = _module("numpy.random").mtrand._rand.get_state(legacy=False)["state"]
    return *state["key"].tolist(), int(state["pos"])


def drawn(before, after):
    """Returns how many words were drawn between two states of a Mersenne Twister; if it was set, a negative number for the state."""
    import _random

    at, there = before[-1], after[-1]
    if there >= at and before[:-1] == after[:-1]:
        return there - at
    size, first = len(before) - 1, _tempered(after[0])
    twister, count = _random.Random(0), size - at
    twister.setstate(before)
    if count:
        twister.getrandbits(32 * count)
    while count < _MAX_DRAWN:
        if twister.getrandbits(32) == first and twister.getstate()[:-1] == after[:-1]:
            return count + there
        twister.getrandbits(32 * (size - 1))
        count += size
    return _number_of(after)


def _number_of(state):
    return -1 - (hash(state) & _NUMBERS)


def _tempered(word):
    """The number that a Mersenne Twister gives for a word of its state."""
    word ^= word >> 11
    word ^= word << 7 & 0x9D2C5680
    word ^= word << 15 & 0xEFC60000
    return word ^ word >> 18


# Of this interpreter alone: what a seed of the candidate's makes of the tests' draws is the same for the same seed, and not to
# be foretold.
_secret = []


def _seed_for(number):
    if not _secret:
        _secret.append(os.urandom(16).hex())
    return f"{_secret[0]} {number}"


def _advance_random(count):
    generator = _module("random")._inst
    if count < 0:
        type(generator).seed(generator, _seed_for(count))
    elif count:
        generator.getrandbits(32 * count)


def _advance_numpy(count):
    generator = _module("numpy.random").mtrand._rand
    if count < 0:
        generator.seed(zlib.crc32(_seed_for(count).encode()))
    elif count:
        generator.bytes(4 * count)


def _set_random(state):
    generator = _module("random")._inst
    generator.setstate((3, state, None))


def _set_numpy(state):
    generator = _module("numpy.random").mtrand._rand
    generator.set_state(("MT19937", list(state[:-1]), state[-1]))


# By name: how the state is read, how it goes on, and how it is set.
GENERATORS = {
    "random": (_random_state, _advance_random, _set_random),
    "numpy.random": (_numpy_state, _advance_numpy, _set_numpy),
}

# ---------------------------------------------------------------- handlers and hooks: they are the candidate's objects

_HOOKS = ("sys.excepthook", "sys.displayhook", "sys.unraisablehook", "threading.excepthook")


def _handlers():
    import signal

    return {int(number): signal.getsignal(number) for number in signal.Signals}


def _hooks():
    return {name: getattr(_module(name.partition(".")[0]), name.partition(".")[2]) for name in _HOOKS}


class _Handler:
    """A function of the candidate's that handles a signal: it gets no frame of the tests."""

    def __init__(self, function):
        self.function = function

    def __call__(self, number, frame):
        return self.function(number, None)

    def __eq__(self, other):
        return self.function == (other.function if type(other) is _Handler else other)

    __hash__ = None


def _get_handler(key):
    import signal

    return signal.getsignal(key)


def _set_handler(key, value):
    import signal

    signal.signal(key, _Handler(value) if proxies.is_remote(value) else value)


def _get_hook(key):
    module, _, name = key.partition(".")
    return getattr(_module(module), name)


def _set_hook(key, value):
    module, _, name = key.partition(".")
    setattr(_module(module), name, value)


# By name: how all are read, and how one is read and set.
HANDLERS = {"signals": (_handlers, _get_handler, _set_handler), "hooks": (_hooks, _get_hook, _set_hook)}

# ---------------------------------------------------------------- loggers: levels, switches and the candidate's handlers

_MADE = (0, False, True, ())


def loggers(is_kept):
    """By name, what loggers are that are not as they are made; `is_kept`: which handlers count. "" stands for all."""
    logging = _module("logging")
    manager = logging.root.manager
    found = {"": (manager.disable, False, True, ())}
    for logger in (logging.root, *manager.loggerDict.values()):
        if isinstance(logger, logging.Logger):
            state = logger.level, logger.disabled, logger.propagate, tuple(filter(is_kept, logger.handlers))
            if state != _MADE:
                found[logger.name] = state
    return found


def changed_loggers(before, after):
    return {name: after.get(name, _MADE) for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def set_loggers(told, is_kept):
    """Makes loggers what the other side says. Handlers that do not count stay."""
    logging = _module("logging")
    for name, (level, disabled, propagate, handlers) in told.items():
        if not name:
            logging.disable(level)
            continue
        logger = logging.getLogger(name) if name != "root" else logging.root
        logger.disabled, logger.propagate = disabled, propagate
        logger.handlers[:] = [*(each for each in logger.handlers if not is_kept(each)), *handlers]
        logger.setLevel(level)


def forget_handlers(is_forgotten):
    set_loggers({name: (*state[:3], ()) for name, state in loggers(is_forgotten).items() if state[3]}, is_forgotten)


# As an interpreter has them where nothing is set.
NO_LOGGERS = {"": _MADE, "root": (30, False, True, ())}


def are_loggers(told):
    return type(told) is dict and all(
        type(name) is str and type(state) is tuple and len(state) == 4 and type(state[0]) is int and type(state[1]) is bool
        and type(state[2]) is bool and type(state[3]) is tuple and all(map(proxies.is_remote, state[3])) for name, state in told.items()
    )


# ---------------------------------------------------------------- simple settings, and what can't be said


def _decimal_flags():
    """Returns the flags that have been raised, and clears them: they are told once."""
    import decimal

    flags = decimal.getcontext().flags
    raised = [flag.__name__ for flag, is_raised in flags.items() if is_raised]
    for flag in flags:
        flags[flag] = False
    return raised


def _raise_flags(names):
    import decimal

    flags = decimal.getcontext().flags
    for flag in flags:
        if flag.__name__ in names:
            flags[flag] = True


# By name: how it is read and set. Values are plain.
SETTINGS = {
    "collector": (lambda: _module("gc").isenabled(), lambda value: _module("gc").enable() if value else _module("gc").disable()),
}


def _policy():
    policy = _module("asyncio.events")._event_loop_policy
    return None if policy is None or type(policy) is _module("asyncio").DefaultEventLoopPolicy else id(policy)


def _attribute(module, name):
    return lambda: id(getattr(_module(module), name))


ALTERED = {
    "warnings.filters": lambda: [*_module("warnings").filters],
    "locale": lambda: _module("locale").setlocale(_module("locale").LC_ALL),
    "event_loop_policy": _policy,
    "sys.stdout": _attribute("sys", "stdout"),
    "sys.stderr": _attribute("sys", "stderr"),
    "sys.stdin": _attribute("sys", "stdin"),
    "sys.argv": lambda: [*sys.argv],
    "builtins.print": _attribute("builtins", "print"),
    "builtins.input": _attribute("builtins", "input"),
    "builtins.open": _attribute("builtins", "open"),
    "sys.gettrace": lambda: (id(sys.gettrace()), id(sys.getprofile())),
    "time zone": lambda: _module("time").tzname,
    "tempdir": lambda: _module("tempfile").tempdir,
}

STATES = frozenset({*GENERATORS, *HANDLERS, *SETTINGS, *ALTERED, "decimal flags"})
# By words of the tests' text, what they look at.
_WORDS = {
    "getsignal": "signals", "raise_signal": "signals", "signal.signal(": "signals", "os.kill(": "signals",
    "excepthook": "hooks", "displayhook": "hooks", "unraisablehook": "hooks",
    "gc.isenabled": "collector",
    ".flags[": "decimal flags", "clear_flags": "decimal flags",
    "warnings.filters": "warnings.filters",
    "getlocale": "locale", "localeconv": "locale", "event_loop_policy": "event_loop_policy",
    "= sys.stdout": "sys.stdout", "is sys.stdout": "sys.stdout", "(sys.stdout,": "sys.stdout",
    "= sys.stderr": "sys.stderr", "is sys.stderr": "sys.stderr", "(sys.stderr,": "sys.stderr",
    "= sys.stdin": "sys.stdin", "is sys.stdin": "sys.stdin", "(sys.stdin,": "sys.stdin",
    **dict.fromkeys(("sys.argv ==", "sys.argv==", "= sys.argv", "=sys.argv", "(sys.argv", " in sys.argv", "sys.argv[", "sys.argv.", "sys.argv !="), "sys.argv"),
    "builtins.print": "builtins.print", "builtins.input": "builtins.input", "builtins.open": "builtins.open",
    "sys.gettrace": "sys.gettrace", "sys.getprofile": "sys.gettrace",
    "tzname": "time zone", "time.timezone": "time zone", "tempdir": "tempdir",
}  # fmt: skip
# A text without these has none of those.
_HINTS = (
    "sys.", "signal", "hook", "isenabled", "flags", "filters", "locale", "policy", "builtins", "tzname", "timezone",
    "seed(", "tempdir", "kill(",
)  # fmt: skip
assert all(any(map(word.__contains__, _HINTS)) for word in _WORDS)
_ASSIGNED = re.compile(r"\b(sys\.(?:std(?:out|err|in)|argv))\s*=(?!=)")


def looked_at(text):
    """Returns the names of the states that a text of tests looks at."""
    if not _proofbox.has_any(text, _HINTS):
        return []
    found = {state: None for word, state in _WORDS.items() if word in text}
    # Tests that set these themselves mean theirs.
    for name in _ASSIGNED.findall(text) if "sys." in text else ():
        found.pop(name, None)
    if "seed(" in text:
        found |= {"random": None} if "random" in text else {}
        found |= {"numpy.random": None} if "np.random" in text or "numpy" in text else {}
    return list(found)


_DRAWS = {
    "random": re.compile(r"(?<!np\.)(?<!numpy\.)\brandom\.(?:random|randint|randrange|choice|choices|shuffle|sample|uniform|gauss|getrandbits)\(|\bfrom random import\b"),
    "numpy.random": re.compile(r"\b(?:np|numpy)\.random\.(?:rand|randn|randint|random|choice|permutation|shuffle|normal|uniform|standard_normal)\("),
}


def drawn_from(text):
    """Returns the names of the generators of the interpreter that a text of tests draws from."""
    return [name for name, draws in _DRAWS.items() if draws.search(text)] if "random" in text else []


# ---------------------------------------------------------------- the candidate's side


class Watch:
    """Compares what the tests look at, after each request."""

    def __init__(self, names):
        self.known = {name: self._read(name) for name in names}
        self.first = dict(self.known)
        self.seeded = set()  # generators that were, and may be in the state in which they were before

    def _read(self, name):
        if name == "decimal flags":
            return _decimal_flags()
        return (GENERATORS.get(name) or HANDLERS.get(name) or SETTINGS.get(name) or (ALTERED.get(name),))[0]()

    def rebase(self):
        """Something was altered for the tests."""
        for name in self.known:
            if name in ALTERED or name in HANDLERS:
                self.known[name] = self.first[name] = self._read(name)

    def begin_case(self):
        """Begins a case: what was altered before is no fault of the next one."""
        self.first |= {name: value for name, value in self.known.items() if name in ALTERED}

    def set(self, name, state):
        """The generator of the tests has gone on."""
        GENERATORS[name][2](state)
        self.known[name] = self._read(name)

    def settle(self, name):
        """Takes the state as it is: the tests have set it, or have been told of the seed."""
        if name in self.known:
            self.known[name] = self._read(name)
            self.seeded.discard(name)

    def note_seeded(self, name):
        if name in self.known:
            self.seeded.add(name)

    def tell(self):
        """Tells the tests what has been altered since the last request."""
        for name, before in self.known.items():
            present = self._read(name)
            if name == "decimal flags":
                if present:
                    side.state.ask("state", name, present)
            elif present != before or name in self.seeded:
                self.known[name] = present
                side.state.ask("state", name, self._told(name, before, present))

    def _told(self, name, before, present):
        if name in GENERATORS:
            if name in self.seeded:
                self.seeded.discard(name)
                return _number_of(present)
            return drawn(before, present)
        first = self.first[name]
        if name in HANDLERS:
            changed = [key for key in present if present[key] is not before.get(key) and present[key] != before.get(key)]
            return {key: (present[key] == first[key], None if present[key] == first[key] else present[key]) for key in changed}
        return present if name in SETTINGS else present != first


# ---------------------------------------------------------------- the tests' side


class Followed:
    """States that the tests look at, and what the candidate has told of them."""

    def __init__(self, names):
        self.names = names
        self.own = {}  # by name and key, what the tests had before
        self.altered = set()
        self.generators = [name for name in names if name in GENERATORS]
        self.states = {}  # of generators, as both sides have them

    def begin(self):
        """The candidate's interpreter is a fresh one, or the first."""
        for (name, key), value in self.own.items():
            HANDLERS[name][2](key, value)
        self.own.clear()
        self.altered.clear()
        # Its generators follow those of the tests from where these are.
        self.states = dict.fromkeys(self.states)

    def tell(self, converse):
        """Has the candidate's generators follow those of the tests, once these have seeded them."""
        for name, known in self.states.items():
            state = GENERATORS[name][0]()
            if state != known:
                self.states[name] = state
                converse(("generator", name, state))

    def settle(self, name):
        """Takes the state as it is after both sides have been seeded."""
        if name in self.generators:
            self.states[name] = GENERATORS[name][0]()

    def take(self, name, told):
        """Takes what the candidate has altered. Returns whether it can be meant."""
        if name not in self.names:
            return False
        if name in GENERATORS:
            if type(told) is not int or not -1 - _NUMBERS <= told <= 2 * _MAX_DRAWN:
                return False
            if told < 0:
                side.signal("seeded_by_candidate")
            if name in self.states or told < 0:
                GENERATORS[name][1](told)
            if name in self.states:
                self.states[name] = GENERATORS[name][0]()
            return True
        if name == "decimal flags":
            if type(told) is not list or not all(type(each) is str for each in told):
                return False
            _raise_flags(told)
            return True
        if name in SETTINGS:
            if type(told) not in (int, float, bool, type(None)):
                return False
            SETTINGS[name][1](told)
            return True
        if name in HANDLERS:
            return type(told) is dict and all(self._take_handler(name, key, entry) for key, entry in told.items())
        if type(told) is not bool:
            return False
        (self.altered.add if told else self.altered.discard)(name)
        return True

    def _take_handler(self, name, key, entry):
        if type(entry) is not tuple or len(entry) != 2 or key not in HANDLERS[name][0]():
            return False
        is_first, value = entry
        _, get, set_ = HANDLERS[name]
        if is_first:
            if (name, key) in self.own:
                set_(key, self.own.pop((name, key)))
            return True
        if not (proxies.is_remote(value) or name == "signals" and isinstance(value, int)):
            # A function of the library, say: what is called in G is not the candidate's to choose.
            self.altered.add(name)
            return True
        self.own.setdefault((name, key), get(key))
        set_(key, value)
        return True
