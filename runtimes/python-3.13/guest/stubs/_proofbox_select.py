"""`select`, where nobody but this interpreter's own threads makes anything ready: pipes and sockets are asked, files always are."""

import errno
import importlib
import os
import select as module
import selectors
import subprocess
import time

import _proofbox
import _proofbox_loopback as loopback
from _proofbox_loopback import HAS_ENDED, HAS_FAILED, IS_HUNG_UP, IS_OTHER, READS, WRITES, readiness

__all__ = ["install"]

POLLIN, POLLPRI, POLLOUT, POLLERR, POLLHUP, POLLNVAL, POLLRDNORM, POLLRDBAND, POLLWRNORM, POLLWRBAND, POLLRDHUP = (
    1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 8192,
)  # fmt: skip
EPOLLONESHOT, EPOLLET, EPOLL_CLOEXEC = 1 << 30, 1 << 31, 524288
FD_SETSIZE = 1024


def _number(file):
    """Returns the descriptor of a file or its number."""
    if isinstance(file, int):
        fd = int(file)
    else:
        try:
            fd = file.fileno()
        except AttributeError:
            raise TypeError("argument must be an int, or have a fileno() method.") from None
        if not isinstance(fd, int):
            raise TypeError("fileno() returned a non-integer")
    if fd < 0:
        raise ValueError(f"file descriptor cannot be a negative integer ({fd})")
    return fd


def _check(fd):
    if _proofbox.sockets_readiness(fd) & IS_OTHER:
        os.fstat(fd)  # fails if it is not open


def _numbered(files):
    """(file, descriptor) of each. A list may change while its files are asked."""
    try:
        files = iter(files)
    except TypeError:
        raise TypeError("arguments 1-3 must be sequences") from None
    pairs = [(file, _number(file)) for file in files]
    if any(fd >= FD_SETSIZE for _, fd in pairs):
        raise ValueError("filedescriptor out of range in select()")
    return pairs


def select(rlist, wlist, xlist, timeout=None, /):
    if timeout is not None:
        if not isinstance(timeout, (int, float)):
            raise TypeError("timeout must be a float or None")
        if timeout < 0:
            raise ValueError("timeout must be non-negative")
    reading, writing, others = _numbered(rlist), _numbered(wlist), _numbered(xlist)
    for _, fd in (*reading, *writing, *others):
        _check(fd)

    def is_any_ready():
        for _, fd in reading:
            if readiness(fd) & (READS | IS_HUNG_UP):
                return True
        for _, fd in writing:
            if readiness(fd) & (WRITES | HAS_FAILED):
                return True
        return False

    if not reading and not writing and timeout is not None:
        time.sleep(timeout)
    else:
        loopback.wait(is_any_ready, timeout, "a file that is ready")
    return (
        [file for file, fd in reading if readiness(fd) & (READS | IS_HUNG_UP)],
        [file for file, fd in writing if readiness(fd) & (WRITES | HAS_FAILED)],
        [],
    )


def _events(fd, wanted):
    """Returns the events that `poll` tells of a descriptor."""
    found = readiness(fd)
    events = 0
    if found & READS:
        events |= POLLIN | POLLRDNORM
    if found & WRITES:
        events |= POLLOUT | POLLWRNORM
    if found & HAS_ENDED:
        events |= POLLRDHUP
    events &= wanted
    if found & IS_HUNG_UP:
        events |= POLLHUP
    if found & HAS_FAILED:
        events |= POLLERR
    return events


class _Registered:
    """Descriptors, and the events that are wanted of each."""

    __slots__ = ("_wanted",)

    def __init__(self):
        self._wanted = {}

    def _is_any_ready(self):
        return any(_events(fd, wanted) for fd, wanted in self._wanted.items())

    def _found(self):
        return [(fd, events) for fd, wanted in self._wanted.items() if (events := _events(fd, wanted))]


class poll(_Registered):
    __slots__ = ()

    def register(self, fd, eventmask=POLLIN | POLLPRI | POLLOUT, /):
        self._wanted[_number(fd)] = _mask(eventmask)

    def modify(self, fd, eventmask, /):
        fd = _number(fd)
        if fd not in self._wanted:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        self._wanted[fd] = _mask(eventmask)

    def unregister(self, fd, /):
        del self._wanted[_number(fd)]

    def poll(self, timeout=None, /):
        """Waits for events, for at most `timeout` milliseconds."""
        if timeout is not None:
            if not isinstance(timeout, (int, float)):
                raise TypeError("timeout must be an integer or None")
            timeout = timeout / 1000 if timeout >= 0 else None
        closed = []
        for fd in self._wanted:
            try:
                _check(fd)
            except OSError:
                closed.append((fd, POLLNVAL))
        if closed:
            return closed + [each for each in self._found() if (each[0], POLLNVAL) not in closed]
        if not self._wanted and timeout is not None:
            time.sleep(timeout)
            return []
        loopback.wait(self._is_any_ready, timeout, "a file that is ready")
        return self._found()


def _mask(eventmask):
    if not isinstance(eventmask, int):
        raise TypeError(f"'{type(eventmask).__name__}' object cannot be interpreted as an integer")
    if eventmask < 0:
        raise ValueError("value must be positive")
    if eventmask > 0xFFFF:
        raise OverflowError("Python int too large for C unsigned short")
    return int(eventmask)


class epoll(_Registered):
    """Edges are told as levels: again, as long as something is ready."""

    __slots__ = ("__weakref__", "_fd")

    def __init__(self, sizehint=-1, flags=0):
        if sizehint != -1 and sizehint <= 0:
            raise ValueError("negative sizehint")
        super().__init__()
        self._fd = os.open("/dev/null", os.O_RDONLY)

    @classmethod
    def fromfd(cls, fd, /):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    @property
    def closed(self):
        return self._fd < 0

    def _check(self):
        if self._fd < 0:
            raise ValueError("I/O operation on closed epoll object")

    def fileno(self):
        self._check()
        return self._fd

    def close(self):
        fd, self._fd = self._fd, -1
        if fd >= 0:
            self._wanted.clear()
            os.close(fd)

    def __del__(self):
        if getattr(self, "_fd", -1) >= 0:
            self.close()

    def __enter__(self):
        self._check()
        return self

    def __exit__(self, exc_type=None, exc_value=None, exc_tb=None, /):
        self.close()

    def register(self, fd, eventmask=POLLIN | POLLPRI | POLLOUT):
        self._check()
        fd = _number(fd)
        _check(fd)
        if fd in self._wanted:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        if _proofbox.sockets_readiness(fd) & IS_OTHER:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        self._wanted[fd] = int(eventmask)

    def modify(self, fd, eventmask):
        self._check()
        fd = _number(fd)
        if fd not in self._wanted:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        self._wanted[fd] = int(eventmask)

    def unregister(self, fd):
        self._check()
        fd = _number(fd)
        _check(fd)
        if self._wanted.pop(fd, None) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    def poll(self, timeout=None, maxevents=-1):
        """Waits for events, for at most `timeout` seconds."""
        self._check()
        if timeout is not None and timeout < 0:
            timeout = None
        if maxevents != -1 and maxevents <= 0:
            raise ValueError(f"maxevents must be greater than 0, got {maxevents}")
        for fd in [fd for fd in self._wanted if _proofbox.sockets_readiness(fd) & IS_OTHER]:
            del self._wanted[fd]  # it has been closed
        if not self._wanted and timeout is not None:
            time.sleep(timeout)
            return []
        loopback.wait(self._is_any_ready, timeout, "a file that is ready")
        found = self._found()[: maxevents if maxevents > 0 else FD_SETSIZE - 1]
        for fd, _ in found:
            if self._wanted[fd] & EPOLLONESHOT:
                self._wanted[fd] = 0
        return found


def install():
    """For `select`, and for `selectors`, which has chosen among what there was."""
    for function in (select, poll, epoll):
        function.__module__ = "select"
        setattr(module, function.__name__, function)
    known = {name: value for name, value in globals().items() if name.startswith("POLL")}
    known |= {f"E{name}": value for name, value in known.items() if name != "POLLNVAL"}
    known |= {"EPOLLONESHOT": EPOLLONESHOT, "EPOLLET": EPOLLET, "EPOLLEXCLUSIVE": 1 << 28, "EPOLLMSG": 1024, "EPOLL_CLOEXEC": EPOLL_CLOEXEC, "PIPE_BUF": 4096}
    vars(module).update(known)
    importlib.reload(selectors)
    selectors.SelectSelector._select = staticmethod(select)
    subprocess._PopenSelector = selectors.PollSelector
