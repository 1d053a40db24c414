"""What tests put in the place of `sys.stdout` and `sys.stderr`: the candidate has an output of its own there, too.

As in one interpreter only what it writes to the present output is captured, not what goes to the one that it has bound before, to
`sys.__stdout__`, or to the descriptor. That goes to `capfd`."""

import contextlib
import io
import sys
import weakref

import _proofbox
import _proofbox_bridge as bridge
import _proofbox_marshal as marshal
import _proofbox_proxies as proxies
import _proofbox_side as side

NAMES = ("stdout", "stderr")
# Of what is written between two messages, as much as the host keeps.
_MAX_BYTES = 1 << 20
# Whoever runs the program does not see this much of a candidate that is stopped.
_BUFFER_BYTES = 256

# ---------------------------------------------------------------- the tests' side


class Told:
    """Outputs of the tests, as the candidate knows them."""

    __slots__ = ("stdout", "stderr", "own", "present", "streams", "numbers", "written", "fixture")

    def __init__(self):
        self.own = self.present = {name: getattr(sys, name) for name in NAMES}
        self.stdout, self.stderr = sys.stdout, sys.stderr  # as they were when the candidate was told last
        self.streams = []  # by number, weakly
        self.numbers = {}  # by id
        self.written = []  # what the candidate has written, which is not shown yet: numbers and bytes
        self.fixture = None  # `capfd`, while there is one

    def forget(self):
        """A fresh interpreter has its own outputs."""
        self.present, self.stdout, self.stderr = self.own, self.own["stdout"], self.own["stderr"]
        self.written.clear()

    def tell(self):
        """Tells the candidate which outputs are others than before."""
        for name in NAMES:
            stream = getattr(sys, name)
            setattr(self, name, stream)
            stream = proxies.under(stream)
            if stream is not self.present[name]:
                self.present = self.present | {name: stream}
                bridge.converse(("output", name, *self._number_of(name, stream)))

    def _number_of(self, name, stream):
        """The number of an output, and whether it says that it is a terminal; None for one that takes what is written to the
        descriptor."""
        if stream is self.own[name] or any(stream is capture.tmpfile for capture in self._captures()):
            return None, False
        number = self.numbers.get(id(stream))
        if number is None or self.streams[number]() is not stream:
            number = self.numbers[id(stream)] = len(self.streams)
            try:
                self.streams.append(weakref.ref(stream))
            except TypeError:
                self.streams.append(lambda: stream)
        is_terminal = False
        if isinstance(stream, io.TextIOBase):
            with contextlib.suppress(ValueError):
                is_terminal = bool(stream.isatty())
        return number, is_terminal

    def _captures(self):
        """What pytest puts in the place of the descriptors, in their order. It makes others for each phase of a test."""
        captures = self.fixture and self.fixture._capture
        return (captures.out, captures.err) if captures else ()

    def take(self, number, written):
        """Takes what the candidate says that it has written to an output."""
        if type(number) is not int or not 0 <= number < len(self.streams) or type(written) is not bytes or len(written) > _MAX_BYTES:
            raise marshal.CannotCross("an output that is none")
        self.written.append((number, written))

    def taken(self):
        """Iterates over the streams of the tests and what the candidate has written there."""
        by_descriptor = [] if self.written else [(capture, number) for number, capture in enumerate(self._captures(), 1)]
        written, self.written = self.written, []
        for number, content in written:
            stream = self.streams[number]()
            # Nobody sees what is written to another.
            if stream is not None and getattr(stream, "closed", False) is not True:
                yield stream, content
        for capture, number in by_descriptor:
            if capture._state == "started" and (content := _proofbox.printed(number)):
                yield capture.tmpfile, content


@contextlib.contextmanager
def by_descriptor(fixture):
    """What the candidate writes to its descriptors meanwhile is captured by a fixture of pytest's."""
    state = side.state
    if state is None or not state.grader:
        yield
        return
    told = state.candidate.outputs
    told.fixture = fixture
    try:
        yield
    finally:
        told.fixture = None


# ---------------------------------------------------------------- the candidate's side


class _Raw(io.RawIOBase):
    """Notes what is written to it, and passes it on to this interpreter's own output: whoever runs the program sees it."""

    mode = "wb"

    def __init__(self, name, number, is_terminal):
        self.name, self.number, self.is_terminal = f"<{name}>", number, is_terminal
        self.own = getattr(sys, f"__{name}__")

    def writable(self):
        return True

    def isatty(self):
        return self.is_terminal

    def fileno(self):
        return self.own.fileno()

    def write(self, data):
        data = bytes(data)
        kept = _written.setdefault(self.number, bytearray())
        kept += data[: _MAX_BYTES - len(kept)]
        with contextlib.suppress(ValueError):  # it has closed it
            self.own.buffer.write(data)
        return len(data)


_before = {}  # by name, what it was before the tests replaced theirs
_outputs = weakref.WeakValueDictionary()  # by number
_written = {}  # by number, what the tests have not been told of
_state = None  # of the bridge, with which they are told


def replace(name, number, is_terminal):
    """Puts an output in the place of `sys.stdout` or `sys.stderr`, or what was there before."""
    global _state
    if _state is not side.state:
        _state = side.state
        _tell_from_now_on(_state)
    if number is None:
        if name in _before:
            setattr(sys, name, _before.pop(name))
        return
    _before.setdefault(name, getattr(sys, name))
    output = _outputs.get(number)
    if output is None:
        buffer = io.BufferedWriter(_Raw(name, number, is_terminal), _BUFFER_BYTES)
        output = _outputs[number] = io.TextIOWrapper(buffer, encoding="utf-8", errors=getattr(sys, f"__{name}__").errors, write_through=True)
    setattr(sys, name, output)


def is_of_tests(stream):
    """Returns whether an output stands for one of the tests'."""
    return any(stream is output for output in _outputs.values())


def _tell_from_now_on(state):
    before = state.before_message

    def before_message():
        if before:
            before()
        _tell(state)

    state.before_message = before_message


def _tell(state):
    """Puts what was written to outputs of the tests into the next message."""
    for output in list(_outputs.values()):
        with contextlib.suppress(Exception):  # it has closed it
            output.flush()
    if _written:
        state.pending.extend(("printed", number, bytes(content)) for number, content in _written.items())
        _written.clear()
