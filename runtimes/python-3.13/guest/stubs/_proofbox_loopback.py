"""Sockets whose both ends are in this interpreter. What would leave it is refused as if there were no network.

A connection is two pipes (sockets.c), and each socket has a descriptor. Here are addresses, listening sockets, datagrams,
and all waiting: what waits, waits in `threads.wait`, so that other threads run meanwhile."""

import errno
import os
import time
from collections import deque
from operator import index

import _proofbox
import _proofbox_threads as threads
from _thread import get_ident as _get_ident
from _proofbox_unsupported import refusal, text

__all__ = ["local_address", "readiness", "resolve", "socket", "socketpair", "wait"]

AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10
SOCK_STREAM, SOCK_DGRAM = 1, 2
SOCK_NONBLOCK, SOCK_CLOEXEC = 2048, 524288
SOL_SOCKET, SO_REUSEADDR, SO_TYPE, SO_ERROR, SO_SNDBUF, SO_RCVBUF, SO_LINGER, SO_REUSEPORT, SO_ACCEPTCONN = 1, 2, 3, 4, 7, 8, 13, 15, 30
SO_PEERCRED, SO_PROTOCOL, SO_DOMAIN = 17, 38, 39
IPPROTO_IPV6, IPV6_V6ONLY = 41, 26
MSG_PEEK, MSG_CTRUNC, MSG_TRUNC, MSG_DONTWAIT, MSG_WAITALL = 2, 8, 32, 64, 256
SCM_RIGHTS = 1
# As on Linux.
BUFFER_BYTES = 212992
MAX_DATAGRAM = 65507
MAX_PATH = 108
FIRST_PORT, LAST_PORT = 32768, 60999
# Seconds, as natively.
MAX_TIMEOUT = 9223372036.0

# What sockets.c tells of a descriptor.
READS, WRITES, HAS_ENDED, IS_HUNG_UP, HAS_FAILED, IS_UNCONNECTED, IS_OTHER = 1, 2, 4, 8, 16, 32, 64

_TEXTS = {
    errno.EACCES: "Permission denied", errno.EADDRINUSE: "Address already in use",
    errno.EADDRNOTAVAIL: "Cannot assign requested address", errno.EAFNOSUPPORT: "Address family not supported by protocol",
    errno.EAGAIN: "Resource temporarily unavailable", errno.EALREADY: "Operation already in progress",
    errno.EBADF: "Bad file descriptor", errno.ECONNREFUSED: "Connection refused", errno.ECONNRESET: "Connection reset by peer",
    errno.EDESTADDRREQ: "Destination address required", errno.EINPROGRESS: "Operation now in progress",
    errno.EINVAL: "Invalid argument", errno.EISCONN: "Transport endpoint is already connected",
    errno.EMFILE: "Too many open files", errno.EMSGSIZE: "Message too long", errno.ENOBUFS: "No buffer space available",
    errno.ENOPROTOOPT: "Protocol not available",
    errno.ENOTCONN: "Transport endpoint is not connected", errno.ENOTSOCK: "Socket operation on non-socket",
    errno.EOPNOTSUPP: "Operation not supported", errno.EPIPE: "Broken pipe", errno.EPROTONOSUPPORT: "Protocol not supported",
    errno.EPROTOTYPE: "Protocol wrong type for socket",
}  # fmt: skip


def failure(number):
    """The exception for an error number, in Linux's words."""
    return OSError(number, _TEXTS.get(number) or os.strerror(number))


# ---------------------------------------------------------------- waiting


in_callbacks = set()  # idents of threads whose event loop is at work


def pause():
    """Lets others run, as they may be about to do what is asked for. Not in a callback of an event loop, which lets others
    run between them: it is a call from C, and others could get into calls of their own above it."""
    if _get_ident() not in in_callbacks:
        threads.pause()


def wait(attempt, timeout, what):
    """Returns whether `attempt()` has become true within `timeout` seconds. Others run meanwhile."""
    if attempt():
        return True
    if timeout is not None and timeout <= 0:
        pause()
        return attempt()
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        try:
            if threads.wait(attempt, timeout, what) or attempt():
                return True
        except RuntimeError as error:
            message = str(error)
            if not message.startswith("deadlock"):
                raise
        else:
            if deadline is None:
                continue  # interrupted, and the handler of the signal has returned
            if (timeout := deadline - time.monotonic()) <= 0:
                return False
            continue
        if message == threads.ALONE:
            message = f"deadlock: nobody is left who could end the wait for {what}"
        raise OSError(errno.EDEADLK, message)


# ---------------------------------------------------------------- addresses

LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"})
_ANY = {AF_INET: "0.0.0.0", AF_INET6: "::"}
_LOOPBACK = {AF_INET: "127.0.0.1", AF_INET6: "::1"}
_MAPPED = "::ffff:"


def numeric_address(host, family):
    """A host's numeric address in its usual form, or None for a name."""
    import _socket
    import ipaddress

    if family != AF_INET6:
        try:
            return ".".join(map(str, _socket.inet_aton(host)))
        except OSError:
            pass
    if family != AF_INET and ":" in host:
        try:
            address = ipaddress.IPv6Address(host.partition("%")[0])
        except ValueError:
            return None
        return f"{_MAPPED}{address.ipv4_mapped}" if address.ipv4_mapped else str(address)
    return None


def is_local(address):
    """Returns whether a numeric address is this machine's."""
    address = address.removeprefix(_MAPPED)
    return address.startswith("127.") or address in ("0.0.0.0", "::", "::1")


def local_address(host, family):
    """The numeric address of a host of this machine; None for others."""
    if host == "":
        return _ANY[family]
    if host.lower() in LOCAL_NAMES:
        return _LOOPBACK[family]
    address = numeric_address(host, family)
    return address if address is not None and is_local(address) else None


def resolve(host, port, family, operation):
    """`local_address`, or the refusal to reach anything else."""
    if isinstance(host, (bytes, bytearray)):
        host = bytes(host).decode("ascii")
    address = local_address(host, family)
    if address is None:
        if numeric_address(host, AF_INET6 if family == AF_INET else AF_INET) is not None:
            from _socket import EAI_ADDRFAMILY, gaierror

            raise gaierror(EAI_ADDRFAMILY, "Address family for hostname not supported")
        raise refusal("network", operation, f"{text(host)}:{text(port)}")
    return address


def _parse(family, address, operation):
    """(host, port) of an address as programs write it, or a path."""
    if family == AF_UNIX:
        if isinstance(address, str):
            address = os.fsencode(address)
        elif not isinstance(address, (bytes, bytearray, memoryview)):
            raise TypeError(f"a bytes-like object is required, not '{type(address).__name__}'")
        address = bytes(address)
        if len(address) > MAX_PATH - (not address.startswith(b"\0")):
            raise OSError("AF_UNIX path too long")
        return address
    name = "AF_INET" if family == AF_INET else "AF_INET6"
    if not isinstance(address, tuple):
        raise TypeError(f"{operation}(): {name} address must be tuple, not {type(address).__name__}")
    if family == AF_INET and len(address) != 2:
        raise TypeError("AF_INET address must be a pair (host, port)")
    if not 2 <= len(address) <= 4:
        raise TypeError("AF_INET6 address must be a tuple (host, port[, flowinfo[, scopeid]])")
    host, port = address[:2]
    if not isinstance(host, (str, bytes, bytearray)):
        raise TypeError(f"str, bytes or bytearray expected, not {type(host).__name__}")
    port = index(port)
    if not 0 <= port <= 65535:
        raise OverflowError(f"{operation}(): port must be 0-65535.")
    if len(address) > 2 and not 0 <= index(address[2]) <= 0xFFFFF:
        raise OverflowError(f"{operation}(): flowinfo must be 0-1048575.")
    return resolve(host, port, family, operation), port


def _shown(family, address):
    """An address as programs see it."""
    if family == AF_UNIX:
        if not address:
            return ""
        return address if address.startswith(b"\0") else os.fsdecode(address)
    host, port = address
    if family == AF_INET6:
        return (_MAPPED + host if "." in host and not host.startswith(_MAPPED) else host), port, 0, 0
    return host, port


# ---------------------------------------------------------------- what is open

_endpoints = {}  # by number, what has a descriptor
_bound = {}  # by (type, port), or by (type, file) of AF_UNIX, endpoints
_files = set()  # numbers of the files that sockets were bound to
_last_number = 0
_last_port = FIRST_PORT - 1


class _Endpoint:
    """Socket that several descriptors may share."""

    __slots__ = (
        "error", "family", "has_ended", "is_connecting", "key", "messages", "name", "number", "options", "peer", "peer_number",
        "pending", "proto", "queued", "rights", "type",
    )  # fmt: skip

    def __init__(self, family, type, proto):
        global _last_number
        _last_number += 1
        self.number = _last_number
        self.family, self.type, self.proto = family, type, proto
        self.name = self.peer = self.peer_number = self.key = None  # key: under which it is bound
        self.pending = None  # of a listening socket: descriptors that nobody has accepted
        self.messages, self.queued = deque(), 0  # datagrams with their senders, and their bytes
        self.rights = None  # descriptors that came along
        self.options = {}
        self.error = 0
        self.has_ended = self.is_connecting = False

    def open(self):
        """Opens the first descriptor."""
        if len(_endpoints) > 64:
            for endpoint in list(_endpoints.values()):
                endpoint.is_open()
        try:
            fd = _proofbox.sockets_open(self.number)
        except OSError as error:
            raise failure(error.errno) from None
        _endpoints[self.number] = self
        return fd

    def is_open(self):
        """Returns whether the socket has a descriptor; if it no longer has, it is forgotten."""
        if _proofbox.sockets_count(self.number):
            return True
        self.release()
        return False

    def release(self):
        """Releases the socket when its last descriptor is gone."""
        _endpoints.pop(self.number, None)
        self.unbind()
        self.stop_listening()
        self.messages.clear()
        rights, self.rights = self.rights, None
        for fd in rights or ():
            close(fd)

    def stop_listening(self):
        pending, self.pending = self.pending, None
        for fd in pending or ():
            _proofbox.sockets_abort(fd)
            close(fd)

    def unbind(self):
        if self.key is not None:
            others = _bound.get(self.key, [])
            if self in others:
                others.remove(self)
            if not others:
                _bound.pop(self.key, None)
            self.key = None

    # Internet addresses.

    def host(self):
        return self.name[0].removeprefix(_MAPPED)

    def takes(self, host):
        """Returns how well what is sent to a host fits the address that the socket is bound to, from 1 to 3; 0 for not
        at all."""
        own = self.host()
        if own == host:
            return 3
        if own == "0.0.0.0" and "." in host or own == "::" and ":" in host:
            return 2
        return 1 if own == "::" and not self.options.get((IPPROTO_IPV6, IPV6_V6ONLY)) else 0

    def collides(self, host, other):
        """Returns whether `other` has an address that it may not share with this one, which wants `host`."""
        own, theirs = host.removeprefix(_MAPPED), other.host()
        if own != theirs:
            any_own, any_theirs = own in ("0.0.0.0", "::"), theirs in ("0.0.0.0", "::")
            if not any_own and not any_theirs:
                return False
            if ("." in own) != ("." in theirs):
                # Of two families only one that takes both.
                wide = self if own == "::" else other if theirs == "::" else None
                if wide is None or wide.options.get((IPPROTO_IPV6, IPV6_V6ONLY)):
                    return False
        if self.options.get((SOL_SOCKET, SO_REUSEPORT)) and other.options.get((SOL_SOCKET, SO_REUSEPORT)):
            return False
        both = self.options.get((SOL_SOCKET, SO_REUSEADDR)) and other.options.get((SOL_SOCKET, SO_REUSEADDR))
        return not (both and (self.type != SOCK_STREAM or other.pending is None))

    def bind(self, host, port):
        if not port:
            port = self.free_port()
        elif any(self.collides(host, other) for other in _open_at((self.type, port))):
            raise failure(errno.EADDRINUSE)
        self.name, self.key = (host, port), (self.type, port)
        _bound.setdefault(self.key, []).append(self)

    def free_port(self):
        global _last_port
        for _ in range(LAST_PORT - FIRST_PORT + 1):
            _last_port = FIRST_PORT if _last_port >= LAST_PORT else _last_port + 1
            if not _open_at((self.type, _last_port)):
                return _last_port
        raise failure(errno.EADDRINUSE)

    def bind_path(self, path):
        if not path:  # a name of the system's choice
            path = b"\0%05x" % self.number
        if path.startswith(b"\0"):
            key = self.type, path
            if _open_at(key):
                raise failure(errno.EADDRINUSE)
        else:
            try:
                fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o777)
            except FileExistsError:
                raise failure(errno.EADDRINUSE) from None
            key = self.type, os.fstat(fd).st_ino
            os.close(fd)
            _files.add(key[1])
            for other in _open_at(key):  # whose file is gone
                other.unbind()
        self.name, self.key = path, key
        _bound.setdefault(key, []).append(self)


def _open_at(key):
    """Returns the open sockets that are bound there."""
    return [endpoint for endpoint in list(_bound.get(key, ())) if endpoint.is_open()]


def _find(type, host, port):
    """Returns the socket that gets what is sent to an address, or None."""
    best, rank = None, 0
    for endpoint in _open_at((type, port)):
        fits = endpoint.takes(host.removeprefix(_MAPPED))
        if fits > rank and (type != SOCK_STREAM or endpoint.pending is not None):
            best, rank = endpoint, fits
    return best


def _find_path(type, path):
    key = path
    if not path.startswith(b"\0"):
        key = os.stat(path).st_ino
    for endpoint in _open_at((type, key)):
        if type == SOCK_DGRAM or endpoint.pending is not None:
            return endpoint
    if any(_open_at((other, key)) for other in (SOCK_STREAM, SOCK_DGRAM) if other != type):
        raise failure(errno.EPROTOTYPE)
    return None


def is_socket_file(path):
    """Returns whether a socket was bound to a path: its file is a regular one, and empty."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    return status.st_ino in _files and not status.st_size


def close(fd):
    number = _proofbox.sockets_number(fd)
    os.close(fd)
    if number >= 0 and (endpoint := _endpoints.get(number)) is not None:
        endpoint.is_open()


def readiness(fd):
    """Returns the readiness of a descriptor, as sockets.c tells it. Files never make wait; nor does what is not
    open."""
    found = _proofbox.sockets_readiness(fd)
    if not found & IS_UNCONNECTED:
        return READS | WRITES if found & IS_OTHER else found
    endpoint = _endpoints[_proofbox.sockets_number(fd)]
    if endpoint.pending is not None:
        return READS if endpoint.pending else 0
    if endpoint.type == SOCK_DGRAM:
        return WRITES | (READS if endpoint.messages or endpoint.error or endpoint.has_ended else 0) | (HAS_FAILED if endpoint.error else 0)
    if endpoint.error:
        return READS | WRITES | IS_HUNG_UP | HAS_FAILED
    return READS | WRITES | IS_HUNG_UP


# ---------------------------------------------------------------- sockets

default_timeout = None


def checked_timeout(value):
    if value is None:
        return None
    if not isinstance(value, (int, float)):
        value = index(value)
    if value != value:
        raise ValueError("Invalid value NaN (not a number)")
    if value < 0:
        raise ValueError("Timeout value out of range")
    if value > MAX_TIMEOUT:
        raise OverflowError("timestamp out of range for platform time_t")
    return float(value)


def _is_inet(family):
    return family == AF_INET or family == AF_INET6


def _view(data):
    try:
        return memoryview(data).cast("B")
    except TypeError:
        raise TypeError(f"a bytes-like object is required, not '{type(data).__name__}'") from None


class socket:
    """socket(family=AF_INET, type=SOCK_STREAM, proto=0) -> socket object
socket(family=-1, type=-1, proto=-1, fileno=None) -> socket object

Open a socket of the given type, between ends of this interpreter."""

    __slots__ = ("_endpoint", "_family", "_fd", "_timeout", "_type", "proto")

    def __init__(self, family=-1, type=-1, proto=-1, fileno=None):
        self._fd = -1
        self._timeout = default_timeout
        if fileno is not None:
            self._adopt(family, type, proto, fileno)
            return
        family = AF_INET if family == -1 else int(family)
        type = SOCK_STREAM if type == -1 else int(type)
        if type & SOCK_NONBLOCK:
            self._timeout = 0.0
        type &= ~(SOCK_NONBLOCK | SOCK_CLOEXEC)
        proto = 0 if proto == -1 else int(proto)
        if type not in (SOCK_STREAM, SOCK_DGRAM) or family not in (AF_UNIX, AF_INET, AF_INET6):
            if family == AF_UNIX:
                raise failure(errno.EPROTONOSUPPORT)
            raise refusal("network", "socket", _FAMILIES.get(family, family))
        if proto and proto != ({SOCK_STREAM: 6, SOCK_DGRAM: 17}.get(type) if _is_inet(family) else 1):
            raise failure(errno.EPROTONOSUPPORT)
        self._family, self._type, self.proto = family, type, proto
        self._endpoint = _Endpoint(family, type, proto)
        self._fd = self._endpoint.open()
        if self._timeout is not None:
            os.set_blocking(self._fd, False)

    def _adopt(self, family, type, proto, fileno):
        """A socket that is there."""
        if isinstance(fileno, float):
            raise TypeError("integer argument expected, got float")
        fileno = index(fileno)
        if fileno < 0:
            raise ValueError("negative file descriptor")
        number = _proofbox.sockets_number(fileno)
        if number < 0:
            os.fstat(fileno)
            raise failure(errno.ENOTSOCK)
        self._endpoint = endpoint = _endpoints[number]
        self._family = endpoint.family if family == -1 else int(family)
        self._type = endpoint.type if type == -1 else int(type) & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)
        self.proto = endpoint.proto if proto == -1 else int(proto)
        self._fd = fileno

    def __repr__(self):
        return f"<socket object, fd={self.fileno()}, family={self._family}, type={self._type}, proto={self.proto}>"

    def __del__(self):
        try:
            if self._fd == -1:
                return
        except AttributeError:
            return
        import warnings

        try:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, stacklevel=2, source=self)
        finally:
            socket.close(self)

    @property
    def family(self):
        return self._family

    @property
    def type(self):
        return self._type

    @property
    def timeout(self):
        return self._timeout

    def fileno(self):
        return self._fd

    def close(self):
        fd, self._fd = self._fd, -1
        if fd == -1:
            return
        linger = self._endpoint.options.get((SOL_SOCKET, SO_LINGER))
        if isinstance(linger, bytes) and linger[:1] != b"\0" and not any(linger[4:]):
            _proofbox.sockets_abort(fd)
        close(fd)

    def detach(self):
        fd, self._fd = self._fd, -1
        return fd

    def gettimeout(self):
        return self._timeout

    def settimeout(self, value, /):
        self._set_timeout(checked_timeout(value))

    def getblocking(self):
        return self._timeout != 0

    def setblocking(self, flag, /):
        self._set_timeout(None if flag else 0.0)

    def _set_timeout(self, value):
        if self._fd != -1 and (self._timeout is None) != (value is None):
            os.set_blocking(self._fd, value is None)
        self._timeout = value

    # Waiting.

    def _check(self, flags=0):
        """The flags of a call on a socket that is open."""
        if self._fd == -1 or _proofbox.sockets_number(self._fd) != self._endpoint.number:
            raise failure(errno.EBADF)
        return index(flags)

    def _until(self, attempt, what, flags=0, timeout=-1):
        """Waits as the socket's timeout says."""
        timeout = 0.0 if flags & MSG_DONTWAIT else self._timeout if timeout == -1 else timeout
        if not wait(lambda: self._fd == -1 or attempt(), timeout, what):
            if timeout == 0 and (self._timeout == 0 or flags & MSG_DONTWAIT):
                raise failure(errno.EAGAIN)
            raise TimeoutError("timed out")
        if self._fd == -1:
            raise failure(errno.EBADF)

    def _is_readable(self):
        return readiness(self._fd) & READS

    def _is_writable(self):
        return readiness(self._fd) & WRITES

    # Addresses.

    def bind(self, address, /):
        self._check()
        endpoint = self._endpoint
        parsed = _parse(endpoint.family, address, "bind")
        if endpoint.name is not None:
            raise failure(errno.EINVAL)
        if endpoint.family == AF_UNIX:
            endpoint.bind_path(parsed)
        else:
            endpoint.bind(*parsed)

    def getsockname(self):
        self._check()
        endpoint = self._endpoint
        unbound = b"" if endpoint.family == AF_UNIX else (_ANY[endpoint.family], 0)
        return _shown(endpoint.family, endpoint.name if endpoint.name is not None else unbound)

    def getpeername(self):
        self._check()
        if self._endpoint.peer is None:
            raise failure(errno.ENOTCONN)
        return _shown(self._endpoint.family, self._endpoint.peer)

    # Connections.

    def listen(self, backlog=128, /):
        self._check()
        index(backlog)
        endpoint = self._endpoint
        if endpoint.type == SOCK_DGRAM:
            raise failure(errno.EOPNOTSUPP)
        if endpoint.peer is not None:
            raise failure(errno.EINVAL)
        if endpoint.name is None:
            if endpoint.family == AF_UNIX:
                raise failure(errno.EINVAL)
            endpoint.bind(_ANY[endpoint.family], 0)
        if endpoint.pending is None:
            if endpoint.family != AF_UNIX:
                for other in _open_at(endpoint.key):
                    if other is not endpoint and other.pending is not None and endpoint.collides(endpoint.name[0], other):
                        raise failure(errno.EADDRINUSE)
            endpoint.pending = deque()

    def _accept(self):
        self._check()
        endpoint = self._endpoint
        if endpoint.type == SOCK_DGRAM:
            raise failure(errno.EOPNOTSUPP)
        if endpoint.pending is None:
            raise failure(errno.EINVAL)
        self._until(lambda: endpoint.pending is None or endpoint.pending, "a connection")
        if not endpoint.pending:
            raise failure(errno.EINVAL)
        fd = endpoint.pending.popleft()
        peer = _endpoints[_proofbox.sockets_number(fd)].peer
        return fd, _shown(endpoint.family, peer)

    def connect(self, address, /):
        if error := self._connect(address):
            raise failure(error)

    def connect_ex(self, address, /):
        try:
            return self._connect(address)
        except TimeoutError:
            return errno.EAGAIN

    def _connect(self, address):
        """Connects the socket. Returns the error number, 0 for success."""
        self._check()
        endpoint = self._endpoint
        parsed = _parse(endpoint.family, address, "connect")
        if endpoint.type == SOCK_DGRAM:
            return self._connect_datagrams(parsed)
        if endpoint.is_connecting:
            error, endpoint.error, endpoint.is_connecting = endpoint.error, 0, False
            if error or endpoint.peer is not None:
                return error
        if endpoint.peer is not None or endpoint.pending is not None:
            return errno.EISCONN
        listener = self._find_listener(parsed)
        if listener is None:
            pause()  # it may be about to listen
            listener = self._find_listener(parsed)
        waits = self._timeout == 0 and endpoint.family != AF_UNIX
        if listener is None:
            if not waits:
                return errno.ECONNREFUSED
            endpoint.error, endpoint.is_connecting = errno.ECONNREFUSED, True
            return errno.EINPROGRESS
        _join(self._fd, endpoint, listener, parsed)
        endpoint.is_connecting = waits
        return errno.EINPROGRESS if waits else 0

    def _find_listener(self, parsed):
        if self._endpoint.family == AF_UNIX:
            return _find_path(self._endpoint.type, parsed)
        host, port = parsed
        return _find(SOCK_STREAM, _LOOPBACK[self._endpoint.family] if host in ("0.0.0.0", "::") else host, port)

    def _connect_datagrams(self, parsed):
        endpoint = self._endpoint
        if endpoint.family == AF_UNIX:
            if _find_path(SOCK_DGRAM, parsed) is None:
                return errno.ECONNREFUSED
        else:
            host, port = parsed
            parsed = (_LOOPBACK[endpoint.family] if host in ("0.0.0.0", "::") else host), port
            if endpoint.name is None:
                endpoint.bind(_LOOPBACK[endpoint.family], 0)
            elif endpoint.name[0] in ("0.0.0.0", "::"):
                endpoint.name = _LOOPBACK[endpoint.family], endpoint.name[1]
        endpoint.peer = parsed
        return 0

    def shutdown(self, how, /):
        self._check()
        how = index(how)
        if how not in (0, 1, 2):
            raise failure(errno.EINVAL)
        endpoint = self._endpoint
        if endpoint.pending is not None:
            if how != 1:
                endpoint.stop_listening()
            return
        if endpoint.type == SOCK_DGRAM:
            if endpoint.peer is None:
                raise failure(errno.ENOTCONN)
            endpoint.has_ended = endpoint.has_ended or how != 1
            return
        if error := _proofbox.sockets_shutdown(self._fd, how != 1, how != 0):
            raise failure(-error)

    # Receiving.

    def _receive(self, flags, take, *arguments):
        """Returns what `take(*arguments)` answers when it would not wait: of a connection's bytes."""
        while (found := take(*arguments)) is None:
            self._until(self._is_readable, "data on a socket", flags)
        if type(found) is int and found < 0:
            raise failure(-found)
        return found

    def _receive_into(self, buffer, nbytes, flags, name, too_many):
        """Receives into a buffer. Returns how many bytes there were, and who sent them."""
        flags = self._check(flags)
        view = memoryview(buffer).cast("B")
        if nbytes < 0:
            raise ValueError(f"negative buffersize in {name}")
        if nbytes > len(view):
            raise ValueError(too_many)
        nbytes = nbytes or len(view)
        if self._endpoint.type == SOCK_STREAM:
            return self._receive(flags, _proofbox.sockets_recv_into, self._fd, view, nbytes, bool(flags & MSG_PEEK)), None
        data, sender = self._next_message(flags)
        data = data[:nbytes]
        view[: len(data)] = data
        return len(data), sender

    def _next_message(self, flags):
        """A datagram, and who sent it."""
        endpoint = self._endpoint
        if not endpoint.messages:
            self._until(lambda: endpoint.messages or endpoint.error or endpoint.has_ended, "a datagram", flags)
        if not endpoint.messages:
            error, endpoint.error = endpoint.error, 0
            if error:
                raise failure(error)
            return b"", None
        if flags & MSG_PEEK:
            return endpoint.messages[0]
        message = endpoint.messages.popleft()
        endpoint.queued -= len(message[0])
        return message

    def recv(self, bufsize, flags=0, /):
        flags = self._check(flags)
        if bufsize < 0:
            raise ValueError("negative buffersize in recv")
        if self._endpoint.type != SOCK_STREAM:
            return self._next_message(flags)[0][:bufsize]
        peeks = bool(flags & MSG_PEEK)
        found = self._receive(flags, _proofbox.sockets_recv, self._fd, bufsize, peeks)
        if flags & MSG_WAITALL and not peeks:
            while found and len(found) < bufsize:
                more = self.recv(bufsize - len(found), flags & ~MSG_WAITALL)
                if not more:
                    break
                found += more
        return found

    def recv_into(self, buffer, nbytes=0, flags=0):
        return self._receive_into(buffer, nbytes, flags, "recv_into", "buffer too small for requested bytes")[0]

    def recvfrom(self, bufsize, flags=0, /):
        flags = self._check(flags)
        if bufsize < 0:
            raise ValueError("negative buffersize in recvfrom")
        if self._endpoint.type == SOCK_STREAM:
            return socket.recv(self, bufsize, flags), None
        data, sender = self._next_message(flags)
        return data[:bufsize], self._sender(sender)

    def recvfrom_into(self, buffer, nbytes=0, flags=0):
        too_many = "nbytes is greater than the length of the buffer"
        count, sender = self._receive_into(buffer, nbytes, flags, "recvfrom_into", too_many)
        return count, self._sender(sender)

    def _sender(self, sender):
        return None if sender is None else _shown(self._endpoint.family, sender)

    def recvmsg(self, bufsize, ancbufsize=0, flags=0, /):
        if bufsize < 0:
            raise ValueError("negative buffer size in recvmsg()")
        if ancbufsize < 0:
            raise ValueError("invalid ancillary data buffer length")
        flags = self._check(flags)
        seen, sender = 0, None
        if self._endpoint.type == SOCK_STREAM:
            data = socket.recv(self, bufsize, flags)
        else:
            data, sender = self._next_message(flags)
            if len(data) > bufsize:
                data, seen = data[:bufsize], MSG_TRUNC
        ancillary, truncated = self._ancillary(ancbufsize)
        return data, ancillary, seen | truncated, self._sender(sender)

    def recvmsg_into(self, buffers, ancbufsize=0, flags=0, /):
        views = [memoryview(buffer).cast("B") for buffer in buffers]
        if any(view.readonly for view in views):
            raise TypeError("recvmsg_into() argument 1 must be an iterable of single-segment read-write buffers")
        data, ancillary, seen, sender = socket.recvmsg(self, sum(map(len, views)), ancbufsize, flags)
        at = 0
        for view in views:
            part = data[at : at + len(view)]
            view[: len(part)] = part
            at += len(part)
        return at, ancillary, seen, sender

    def _ancillary(self, size):
        """Descriptors that were sent along, as far as there is room for them, and the flag that tells of others."""
        rights, self._endpoint.rights = self._endpoint.rights, None
        if not rights:
            return [], 0
        count = max(0, size - 16) // 4
        fds, more = rights[:count], rights[count:]
        for fd in more:
            os.close(fd)
        content = b"".join(fd.to_bytes(4, "little") for fd in fds)
        return [(SOL_SOCKET, SCM_RIGHTS, content)] if fds else [], MSG_CTRUNC if more else 0

    # Sending.

    def _send(self, data, start, flags, timeout=-1):
        """Sends bytes on a connection. Returns how many it has taken."""
        while True:
            sent = _proofbox.sockets_send(self._fd, data, start)
            if sent is None:
                self._until(self._is_writable, "room for data on a socket", flags, timeout)
            elif sent < 0:
                raise failure(-sent)
            else:
                return sent

    def send(self, data, flags=0, /):
        flags = self._check(flags)
        if self._endpoint.type != SOCK_STREAM:
            return self._send_message(data, None, flags)
        return self._send(data, 0, flags)

    def sendall(self, data, flags=0, /):
        flags = self._check(flags)
        if self._endpoint.type != SOCK_STREAM:
            self._send_message(data, None, flags)
            return
        data = _view(data)  # held, so that nobody shortens it meanwhile
        timeout = self._timeout
        deadline = time.monotonic() + timeout if timeout else None
        at = 0
        while True:
            at += self._send(data, at, flags, timeout if deadline is None else max(0, deadline - time.monotonic()))
            if at >= data.nbytes:
                return

    def sendto(self, data, *rest):
        if not 1 <= len(rest) <= 2:
            raise TypeError(f"sendto() takes 2 or 3 arguments ({1 + len(rest)} given)")
        flags, address = rest if len(rest) == 2 else (0, rest[0])
        data, flags = _view(data), self._check(flags)
        if self._endpoint.type == SOCK_STREAM:
            return self._send(data, 0, flags)
        return self._send_message(data, _parse(self._endpoint.family, address, "sendto"), flags)

    def sendmsg(self, buffers, ancdata=(), flags=0, address=None, /):
        flags = self._check(flags)
        endpoint = self._endpoint
        data = b"".join(_view(buffer) for buffer in buffers)
        fds = []
        for item in ancdata:
            if not isinstance(item, tuple) or len(item) != 3:
                raise TypeError("sendmsg() argument 2 must be an iterable of 3-tuples")
            level, kind, content = index(item[0]), index(item[1]), bytes(_view(item[2]))
            if level == SOL_SOCKET and kind == SCM_RIGHTS and endpoint.family == AF_UNIX:
                fds += [int.from_bytes(content[at : at + 4], "little") for at in range(0, len(content) // 4 * 4, 4)]
        if endpoint.type == SOCK_STREAM:
            sent = self._send(data, 0, flags)
        else:
            sent = self._send_message(data, None if address is None else _parse(endpoint.family, address, "sendmsg"), flags)
        if fds and (peer := _endpoints.get(endpoint.peer_number)) is not None:
            peer.rights = (peer.rights or []) + [_proofbox.dup(fd) for fd in fds]
        return sent

    def _send_message(self, data, to, flags):
        """Sends a datagram, and returns its size."""
        endpoint = self._endpoint
        data = bytes(_view(data))
        if endpoint.error:
            error, endpoint.error = endpoint.error, 0
            raise failure(error)
        connected = to is None
        if connected:
            to = endpoint.peer
            if to is None and endpoint.peer_number is None:
                raise failure(errno.EDESTADDRREQ if endpoint.family != AF_UNIX else errno.ENOTCONN)
        if endpoint.family == AF_UNIX:
            receiver = _endpoints.get(endpoint.peer_number) if connected and endpoint.peer_number is not None else _find_path(endpoint.type, to)
            if receiver is None:
                raise failure(errno.ECONNREFUSED)
            if len(data) > BUFFER_BYTES:
                raise failure(errno.EMSGSIZE)
            self._until(lambda: _has_room(receiver, data) or _endpoints.get(receiver.number) is None, "room for a datagram", flags)
            _deliver(receiver, data, endpoint.name)
            return len(data)
        if len(data) > MAX_DATAGRAM:
            raise failure(errno.EMSGSIZE)
        host, port = to
        host = _LOOPBACK[endpoint.family] if host in ("0.0.0.0", "::") else host
        if not port:
            raise failure(errno.EINVAL)
        if endpoint.name is None:
            endpoint.bind(_ANY[endpoint.family], 0)
        receiver = _find(SOCK_DGRAM, host, port)
        source = endpoint.name[0], endpoint.name[1]
        if source[0] in ("0.0.0.0", "::"):
            source = ("127.0.0.1" if "." in host else "::1"), source[1]
        if receiver is None:
            if connected:
                endpoint.error = errno.ECONNREFUSED
        elif receiver.peer is None or receiver.peer == source:
            if not _has_room(receiver, data):
                pause()
            if _has_room(receiver, data):
                _deliver(receiver, data, source)
        return len(data)

    # Options.

    def setsockopt(self, level, optname, value, optlen=None, /):
        self._check()
        level, optname = int(level), int(optname)
        if value is None:
            value = bytes(optlen)
        elif isinstance(value, int):
            value = int(value)
            if not -(1 << 31) <= value < 1 << 31:
                raise OverflowError("signed integer is greater than maximum" if value > 0 else "signed integer is less than minimum")
            if level == SOL_SOCKET and optname in (SO_RCVBUF, SO_SNDBUF):
                value = max(2 * value, 2304)
        else:
            value = bytes(memoryview(value).cast("B"))
            if len(value) == 4:
                value = int.from_bytes(value, "little", signed=True)
        if len(self._endpoint.options) < 64 or (level, optname) in self._endpoint.options:
            self._endpoint.options[level, optname] = value if isinstance(value, int) else value[:256]

    def getsockopt(self, level, optname, buflen=0, /):
        self._check()
        level, optname = int(level), int(optname)
        if not 0 <= buflen <= 1024:
            raise OSError("getsockopt buflen out of range")
        value = self._option(level, optname)
        if buflen:
            value = value.to_bytes(4, "little", signed=True) if isinstance(value, int) else value
            return value[:buflen]
        return value if isinstance(value, int) else int.from_bytes(value[:4], "little", signed=True)

    def _option(self, level, name):
        endpoint = self._endpoint
        if level == SOL_SOCKET:
            if name == SO_ERROR:
                error, endpoint.error = endpoint.error, 0
                if not error:
                    endpoint.is_connecting = False
                return error or _proofbox.sockets_take_error(self._fd)
            known = {SO_TYPE: endpoint.type, SO_DOMAIN: endpoint.family, SO_ACCEPTCONN: int(endpoint.pending is not None)}
            if name in known:
                return known[name]
            if name == SO_PROTOCOL:
                return endpoint.proto or ({SOCK_STREAM: 6, SOCK_DGRAM: 17}[endpoint.type] if endpoint.family != AF_UNIX else 0)
            if name == SO_PEERCRED:
                return b"".join(each.to_bytes(4, "little") for each in (os.getpid(), os.getuid(), os.getgid()))
            if name == SO_LINGER:
                return endpoint.options.get((level, name), bytes(8))
            if name in (SO_RCVBUF, SO_SNDBUF):
                return endpoint.options.get((level, name), BUFFER_BYTES)
        return endpoint.options.get((level, name), 0)


socket.__module__ = "_socket"
_FAMILIES = {16: "AF_NETLINK", 17: "AF_PACKET", AF_INET: "AF_INET", AF_INET6: "AF_INET6"}


def _join(fd, endpoint, listener, to):
    """Makes a connection, whose other end waits to be accepted."""
    other = _Endpoint(listener.family, listener.type, listener.proto)
    if endpoint.family != AF_UNIX:
        host = _LOOPBACK[endpoint.family] if to[0] in ("0.0.0.0", "::") else to[0]
        if endpoint.name is None:
            endpoint.bind(_MAPPED + "127.0.0.1" if host.startswith(_MAPPED) else _LOOPBACK[endpoint.family], 0)
        elif endpoint.name[0] in ("0.0.0.0", "::"):
            endpoint.name = _LOOPBACK[endpoint.family], endpoint.name[1]
        to = host, to[1]
        other.name, other.peer = to, endpoint.name
    else:
        other.name, other.peer = listener.name, endpoint.name or b""
        to = listener.name
    there = other.open()
    try:
        _proofbox.sockets_connect(fd, there, endpoint.family == AF_UNIX)
    except BaseException:
        close(there)
        raise
    other.options.update({key: value for key, value in listener.options.items() if key[1] != SO_REUSEPORT})
    endpoint.peer, endpoint.peer_number, other.peer_number = to, other.number, endpoint.number
    listener.pending.append(there)


def _has_room(receiver, data):
    return receiver.queued + len(data) <= BUFFER_BYTES and len(receiver.messages) < 1024


def _deliver(receiver, data, sender):
    receiver.messages.append((data, sender))
    receiver.queued += len(data)


def socketpair(family=AF_UNIX, type=SOCK_STREAM, proto=0, /):
    if family != AF_UNIX:
        raise failure(errno.EOPNOTSUPP if _is_inet(family) else errno.EAFNOSUPPORT)
    one = socket(family, type, proto)
    try:
        other = socket(family, type, proto)
    except BaseException:
        one.close()
        raise
    if one.type == SOCK_STREAM:
        _proofbox.sockets_connect(one._fd, other._fd, True)
    for own, theirs in ((one, other), (other, one)):
        own._endpoint.name, own._endpoint.peer, own._endpoint.peer_number = b"", b"", theirs._endpoint.number
    return one, other


def dup(fd, /):
    if _proofbox.sockets_number(fd) < 0:
        os.fstat(fd)
        raise failure(errno.ENOTSOCK)
    return _proofbox.dup(fd)
