"""Limits and usage of the process, which here is one interpreter. Limits that a program sets are remembered and not
enforced: the host has limits of its own, which no program can raise."""

import time
from collections import namedtuple

__all__ = ["error", "getpagesize", "getrlimit", "getrusage", "prlimit", "setrlimit", "struct_rusage"]

error = OSError
RLIM_INFINITY = -1
RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD = 0, -1, 1
# Numbers as on Linux.
_NAMES = (
    "CPU", "FSIZE", "DATA", "STACK", "CORE", "RSS", "NPROC", "NOFILE", "MEMLOCK", "AS", "_LOCKS", "SIGPENDING", "MSGQUEUE",
    "NICE", "RTPRIO", "RTTIME",
)  # fmt: skip
globals().update({f"RLIMIT_{name}": number for number, name in enumerate(_NAMES) if name != "_LOCKS"})
__all__ += ["RLIM_INFINITY", *(name for name in list(globals()) if name.startswith(("RLIMIT_", "RUSAGE_")))]

_limits = {}

struct_rusage = namedtuple(
    "struct_rusage",
    "ru_utime ru_stime ru_maxrss ru_ixrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock ru_oublock ru_msgsnd ru_msgrcv "
    "ru_nsignals ru_nvcsw ru_nivcsw",
    module="resource",
)


def _check(resource):
    number = resource.__index__()
    if not 0 <= number < len(_NAMES):
        raise ValueError("invalid resource specified")
    return number


def getrlimit(resource, /):
    return _limits.get(_check(resource), (RLIM_INFINITY, RLIM_INFINITY))


def setrlimit(resource, limits, /):
    number = _check(resource)
    limits = tuple(limits)
    if len(limits) != 2:
        raise ValueError("expected a tuple of 2 integers")
    soft, hard = (limit.__index__() for limit in limits)
    before = getrlimit(number)[1]
    if hard != RLIM_INFINITY and (soft == RLIM_INFINITY or soft > hard):
        raise ValueError("current limit exceeds maximum limit")
    if before != RLIM_INFINITY and (hard == RLIM_INFINITY or hard > before):
        raise ValueError("not allowed to raise maximum limit")
    _limits[number] = (soft, hard)


def prlimit(pid, resource, limits=None, /):
    import os

    if pid not in (0, os.getpid()):
        raise ProcessLookupError(3, "No such process")
    before = getrlimit(resource)
    if limits is not None:
        setrlimit(resource, limits)
    return before


def getrusage(who, /):
    if who not in (RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD):
        raise ValueError("invalid who parameter")
    import _proofbox

    used = 0.0 if who == RUSAGE_CHILDREN else time.process_time()
    memory = 0 if who == RUSAGE_CHILDREN else _proofbox.memory_bytes() >> 10
    return struct_rusage(used, 0.0, memory, *[0] * 13)


def getpagesize():
    return 4096
