"""Descriptors and file locks. A process has the sandbox's files for itself: a lock is always free."""

import errno
import os

__all__ = ["fcntl", "flock", "ioctl", "lockf"]

# Numbers as on Linux.
F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW = range(8)
F_RDLCK, F_WRLCK, F_UNLCK = range(3)
F_DUPFD_CLOEXEC = 1030
FD_CLOEXEC = 1
LOCK_SH, LOCK_EX, LOCK_NB, LOCK_UN = 1, 2, 4, 8


def _descriptor(fd):
    number = fd if isinstance(fd, int) else fd.fileno()
    os.fstat(number)
    return number


def fcntl(fd, cmd, arg=0, /):
    number = _descriptor(fd)
    if cmd in (F_DUPFD, F_DUPFD_CLOEXEC):
        return os.dup(number)
    if cmd == F_GETFD:
        return FD_CLOEXEC
    if cmd == F_GETFL:
        return os.O_RDWR | (0 if os.get_blocking(number) else os.O_NONBLOCK)
    if cmd == F_SETFL:
        os.set_blocking(number, not arg & os.O_NONBLOCK)
        return 0
    if cmd == F_SETFD:
        return 0
    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def ioctl(fd, request, arg=0, mutate_flag=True, /):
    _descriptor(fd)
    raise OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))


def flock(fd, operation, /):
    _descriptor(fd)
    if operation & ~LOCK_NB not in (LOCK_SH, LOCK_EX, LOCK_UN):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def lockf(fd, cmd, len=0, start=0, whence=0, /):
    _descriptor(fd)
    if cmd & ~LOCK_NB not in (LOCK_SH, LOCK_EX, LOCK_UN):
        raise ValueError("unrecognized lockf argument")
