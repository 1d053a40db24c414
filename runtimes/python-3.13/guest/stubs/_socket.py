"""Sockets work between ends in this interpreter (_proofbox_loopback.py); whatever would leave it is refused.

Constants are Linux's. What is only arithmetic (addresses, byte order) or about this machine itself is answered."""

import _proofbox_loopback as loopback
from _proofbox_loopback import LOCAL_NAMES, close, dup, local_address, numeric_address, socket, socketpair
from _proofbox_unsupported import refusal, text

AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET = 0, 1, 2, 10, 16, 17
SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_RDM, SOCK_SEQPACKET, SOCK_NONBLOCK, SOCK_CLOEXEC = 1, 2, 3, 4, 5, 2048, 524288
SOL_IP, SOL_SOCKET, SOL_TCP, SOL_UDP = 0, 1, 6, 17
SO_DEBUG, SO_REUSEADDR, SO_TYPE, SO_ERROR, SO_DONTROUTE, SO_BROADCAST, SO_SNDBUF, SO_RCVBUF = 1, 2, 3, 4, 5, 6, 7, 8
SO_KEEPALIVE, SO_OOBINLINE, SO_PRIORITY, SO_LINGER, SO_REUSEPORT, SO_PASSCRED, SO_PEERCRED = 9, 10, 12, 13, 15, 16, 17
SO_RCVLOWAT, SO_SNDLOWAT, SO_RCVTIMEO, SO_SNDTIMEO, SO_BINDTODEVICE, SO_ACCEPTCONN, SO_MARK = 18, 19, 20, 21, 25, 30, 36
SO_PROTOCOL, SO_DOMAIN = 38, 39
IPPROTO_IP, IPPROTO_ICMP, IPPROTO_IGMP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_IPV6, IPPROTO_ICMPV6, IPPROTO_RAW = (
    0, 1, 2, 6, 17, 41, 58, 255,
)
TCP_NODELAY, TCP_MAXSEG, TCP_CORK, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, TCP_SYNCNT, TCP_LINGER2 = 1, 2, 3, 4, 5, 6, 7, 8
TCP_DEFER_ACCEPT, TCP_WINDOW_CLAMP, TCP_INFO, TCP_QUICKACK, TCP_USER_TIMEOUT, TCP_FASTOPEN = 9, 10, 11, 12, 18, 23
IP_TOS, IP_TTL, IP_HDRINCL, IP_MULTICAST_IF, IP_MULTICAST_TTL, IP_MULTICAST_LOOP, IP_ADD_MEMBERSHIP, IP_DROP_MEMBERSHIP = (
    1, 2, 3, 32, 33, 34, 35, 36,
)
IPV6_UNICAST_HOPS, IPV6_MULTICAST_IF, IPV6_MULTICAST_HOPS, IPV6_MULTICAST_LOOP, IPV6_JOIN_GROUP, IPV6_LEAVE_GROUP, IPV6_V6ONLY = (
    16, 17, 18, 19, 20, 21, 26,
)
MSG_OOB, MSG_PEEK, MSG_DONTROUTE, MSG_CTRUNC, MSG_TRUNC, MSG_DONTWAIT, MSG_EOR, MSG_WAITALL, MSG_NOSIGNAL, MSG_MORE = (
    1, 2, 4, 8, 32, 64, 128, 256, 16384, 32768,
)
AI_PASSIVE, AI_CANONNAME, AI_NUMERICHOST, AI_V4MAPPED, AI_ALL, AI_ADDRCONFIG, AI_NUMERICSERV = 1, 2, 4, 8, 16, 32, 1024
NI_NUMERICHOST, NI_NUMERICSERV, NI_NOFQDN, NI_NAMEREQD, NI_DGRAM, NI_MAXHOST, NI_MAXSERV = 1, 2, 4, 8, 16, 1025, 32
EAI_BADFLAGS, EAI_NONAME, EAI_AGAIN, EAI_FAIL, EAI_NODATA, EAI_FAMILY, EAI_SOCKTYPE, EAI_SERVICE = -1, -2, -3, -4, -5, -6, -7, -8
EAI_ADDRFAMILY, EAI_MEMORY, EAI_SYSTEM, EAI_OVERFLOW = -9, -10, -11, -12
SHUT_RD, SHUT_WR, SHUT_RDWR, SOMAXCONN, SCM_RIGHTS, SCM_CREDENTIALS = 0, 1, 2, 4096, 1, 2
INADDR_ANY, INADDR_LOOPBACK, INADDR_BROADCAST, INADDR_NONE = 0, 0x7F000001, 0xFFFFFFFF, 0xFFFFFFFF
IPPORT_RESERVED, IPPORT_USERRESERVED = 1024, 5000

CAPI = None
has_ipv6 = True
error = OSError
timeout = TimeoutError


class herror(OSError):
    __module__ = "socket"


class gaierror(OSError):
    __module__ = "socket"


def _refused(operation, error=OSError):
    """A function for `operation`, whose first arguments are a host and perhaps a port, or an address of both."""

    def function(host=None, port=None, *args, **kwargs):
        if isinstance(host, tuple):
            host, port = (*host, None, None)[:2]
        target = "" if host is None else text(host)
        raise refusal("network", operation, target if port is None else f"{target}:{text(port)}", type=error)

    function.__name__ = function.__qualname__ = operation
    return function


SocketType = socket

_refuse_addresses = _refused("getaddrinfo", gaierror)
_refuse_names = _refused("getnameinfo", gaierror)
_find_name = _refused("gethostbyname", gaierror)
_find_address = _refused("gethostbyaddr", herror)
sethostname = _refused("sethostname")


def _port_of(service, protocol, flags):
    if service is None:
        return 0
    if isinstance(service, (bytes, bytearray)):
        service = bytes(service).decode("ascii")
    if isinstance(service, int):
        return int(service) & 0xFFFF
    if not isinstance(service, str):
        raise OSError("Int or String expected")
    if service.isascii() and service.strip().isdigit():
        return int(service) & 0xFFFF
    if flags & AI_NUMERICSERV:
        raise gaierror(EAI_NONAME, "Name or service not known")
    try:
        return getservbyname(service, protocol)
    except OSError:
        raise gaierror(EAI_SERVICE, "Servname not supported for ai_socktype") from None


def getaddrinfo(host, port, family=AF_UNSPEC, type=0, proto=0, flags=0):
    if host is not None and not isinstance(host, (str, bytes, bytearray)):
        raise TypeError("getaddrinfo() argument 1 must be string or None")
    if family not in (AF_UNSPEC, AF_INET, AF_INET6):
        raise gaierror(EAI_FAMILY, "ai_family not supported")
    name = host if host is None or isinstance(host, str) else bytes(host).decode("ascii")
    if name is None and port is None or name == "":
        if name is None or port is None:
            raise gaierror(EAI_NONAME, "Name or service not known")
        name = None  # glibc has no address for it; Python's callers mean this machine
    hosts = _hosts(name, family, flags)
    if hosts is None:
        _refuse_addresses(host, port)
    kinds = [
        (kind, number)
        for kind, number in ((SOCK_STREAM, IPPROTO_TCP), (SOCK_DGRAM, IPPROTO_UDP), (SOCK_RAW, 0))
        if type in (0, kind) and proto in (0, number) or kind == SOCK_RAW == type
    ]
    if not kinds:
        raise gaierror(EAI_SOCKTYPE, "ai_socktype not supported")
    number = _port_of(port, None, flags)
    canonical = (name or "localhost") if flags & AI_CANONNAME else ""
    return [
        (kind, socket_type, protocol, canonical, (address, number, 0, 0) if kind == AF_INET6 else (address, number))
        for kind, address in hosts
        for socket_type, protocol in kinds
    ]


def _hosts(name, family, flags):
    """(family, address) of a host of this machine, or None of another one."""
    if name is None:
        both = ((AF_INET, "0.0.0.0"), (AF_INET6, "::")) if flags & AI_PASSIVE else ((AF_INET, "127.0.0.1"), (AF_INET6, "::1"))
        return [each for each in both if family in (AF_UNSPEC, each[0])]
    if name.lower() in LOCAL_NAMES:
        if flags & AI_NUMERICHOST:
            raise gaierror(EAI_NONAME, "Name or service not known")
        # Programs that take the first one serve on IPv4.
        return [(AF_INET6, "::1")] if family == AF_INET6 else [(AF_INET, "127.0.0.1")]
    for kind in (AF_INET, AF_INET6):
        address = local_address(name, kind)
        if address is not None:
            if family not in (AF_UNSPEC, kind):
                raise gaierror(EAI_ADDRFAMILY, "Address family for hostname not supported")
            return [(kind, address)]
    if flags & AI_NUMERICHOST and numeric_address(name, AF_UNSPEC) is None:
        raise gaierror(EAI_NONAME, "Name or service not known")
    return None


def getnameinfo(sockaddr, flags, /):
    if not isinstance(sockaddr, tuple):
        raise TypeError("getnameinfo() argument 1 must be a tuple")
    if len(sockaddr) > 2 and not 0 <= sockaddr[2] <= 0xFFFFF:
        raise OverflowError("getnameinfo(): flowinfo must be 0-1048575.")
    host, port = sockaddr[:2]
    address = local_address(host, AF_INET6 if ":" in host else AF_INET) if host else None
    if address is None:
        _refuse_names(sockaddr)
    name = address if flags & NI_NUMERICHOST or not address.endswith(("127.0.0.1", "::1")) else "localhost"
    service = str(port)
    if not flags & NI_NUMERICSERV:
        try:
            service = getservbyport(port)
        except OSError:
            pass
    return name, service


def gethostname():
    return "localhost"


def gethostbyname(hostname):
    if not isinstance(hostname, (str, bytes)):
        raise TypeError(f"str, bytes or bytearray expected, not {type(hostname).__name__}")
    name = text(hostname)
    if (address := local_address(name, AF_INET)) is not None:
        return address
    try:
        return inet_ntoa(inet_aton(name))
    except OSError:
        pass
    _find_name(name)


def gethostbyname_ex(hostname):
    return hostname, [], [gethostbyname(hostname)]


def gethostbyaddr(host):
    if isinstance(host, str) and host:
        for family in (AF_INET, AF_INET6):
            if (address := local_address(host, family)) is not None:
                return ("localhost" if address in ("127.0.0.1", "::1") else host), [], [address]
    _find_address(host)


# The services programs ask for by name; the full table is a file (/etc/services) elsewhere.
_SERVICES = {
    "ftp": 21, "ssh": 22, "telnet": 23, "smtp": 25, "domain": 53, "http": 80, "pop3": 110, "ntp": 123, "imap2": 143,
    "https": 443, "submission": 587, "imaps": 993, "pop3s": 995,
}


def getservbyname(servicename, protocolname=None):
    try:
        return _SERVICES[servicename]
    except KeyError:
        raise OSError("service/proto not found") from None


def getservbyport(port, protocolname=None):
    for name, known in _SERVICES.items():
        if known == port:
            return name
    raise OSError("port/proto not found")


def getprotobyname(protocolname):
    try:
        return {"ip": 0, "icmp": 1, "tcp": 6, "udp": 17, "ipv6": 41, "ipv6-icmp": 58}[protocolname]
    except KeyError:
        raise OSError("protocol not found") from None


def if_nameindex():
    return [(1, "lo")]


def if_nametoindex(name):
    if name == "lo":
        return 1
    raise OSError("no interface with this name")


def if_indextoname(index):
    if index == 1:
        return "lo"
    raise OSError("no interface with this index")


def getdefaulttimeout():
    return loopback.default_timeout


def setdefaulttimeout(timeout, /):
    loopback.default_timeout = loopback.checked_timeout(timeout)


def CMSG_LEN(length, /):
    if not 0 <= length <= 0x7FFFFFEF:
        raise OverflowError("CMSG_LEN() argument out of range")
    return 16 + length


def CMSG_SPACE(length, /):
    if not 0 <= length <= 0x7FFFFFE8:
        raise OverflowError("CMSG_SPACE() argument out of range")
    return 16 + (length + 7) // 8 * 8


def htons(x):
    return int.from_bytes(x.to_bytes(2, "little"), "big")


def htonl(x):
    return int.from_bytes(x.to_bytes(4, "little"), "big")


ntohs, ntohl = htons, htonl


def inet_aton(ip_string):
    """The classic forms, too: "127.1" is 127.0.0.1, and parts may be octal or hexadecimal."""
    parts = ip_string.split(".")
    try:
        numbers = [int(part, 16 if part[:2].lower() == "0x" else 8 if part[0] == "0" else 10) for part in parts]
        if len(numbers) > 4 or not ip_string.isascii() or not all(map(str.isalnum, parts)):
            raise ValueError
        return bytes(numbers[:-1]) + numbers[-1].to_bytes(5 - len(numbers), "big")
    except (ValueError, IndexError, OverflowError):
        raise OSError("illegal IP address string passed to inet_aton") from None


def inet_ntoa(packed_ip):
    if len(packed_ip) != 4:
        raise OSError("packed IP wrong length for inet_ntoa")
    return ".".join(map(str, packed_ip))


def inet_pton(address_family, ip_string):
    import ipaddress

    address = {AF_INET: ipaddress.IPv4Address, AF_INET6: ipaddress.IPv6Address}.get(address_family)
    if address is None:
        raise OSError(97, "Address family not supported by protocol")
    try:
        if type(ip_string) is not str or "%" in ip_string:
            raise ValueError
        return address(ip_string).packed
    except ValueError:
        raise OSError("illegal IP address string passed to inet_pton") from None


def inet_ntop(address_family, packed_ip):
    import ipaddress

    address, length = {AF_INET: (ipaddress.IPv4Address, 4), AF_INET6: (ipaddress.IPv6Address, 16)}.get(address_family, (None, 0))
    if address is None:
        raise ValueError(f"unknown address family {address_family}")
    if len(packed_ip) != length:
        raise ValueError("invalid length of packed IP address string")
    found = address(bytes(packed_ip))
    mapped = getattr(found, "ipv4_mapped", None)
    return f"::ffff:{mapped}" if mapped else str(found)
