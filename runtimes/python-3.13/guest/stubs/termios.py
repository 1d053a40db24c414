"""Settings of terminals. No descriptor is one, and each call says so."""

import errno
import os

# As on Linux.
B0, B9600, B19200, B38400, B57600, B115200 = 0, 13, 14, 15, 4097, 4098
VINTR, VQUIT, VERASE, VKILL, VEOF, VTIME, VMIN, VSWTC, VSTART, VSTOP, VSUSP, VEOL = range(12)
IGNBRK, BRKINT, IGNPAR, PARMRK, INPCK, ISTRIP, INLCR, IGNCR, ICRNL = (1 << bit for bit in range(9))
IXON, IXANY, IXOFF, IMAXBEL = 0x400, 0x800, 0x1000, 0x2000
OPOST, ONLCR = 1, 4
CSIZE, CS5, CS6, CS7, CS8, CSTOPB, CREAD, PARENB, PARODD, HUPCL, CLOCAL = 0x30, 0, 0x10, 0x20, 0x30, 0x40, 0x80, 0x100, 0x200, 0x400, 0x800
ISIG, ICANON, ECHO, ECHOE, ECHOK, ECHONL, NOFLSH, TOSTOP, IEXTEN = 1, 2, 8, 0x10, 0x20, 0x40, 0x80, 0x100, 0x8000
TCSANOW, TCSADRAIN, TCSAFLUSH = range(3)
TCIFLUSH, TCOFLUSH, TCIOFLUSH = range(3)
TCOOFF, TCOON, TCIOFF, TCION = range(4)
NCCS = 32
FIONREAD, TIOCGWINSZ, TIOCSWINSZ, TIOCGPGRP, TIOCSPGRP, TIOCSTI = 0x541B, 0x5413, 0x5414, 0x540F, 0x5410, 0x5412


class error(Exception):
    pass


error.__module__ = "termios"


def _no_terminal(fd):
    os.fstat(fd if isinstance(fd, int) else fd.fileno())
    raise error(errno.ENOTTY, "Inappropriate ioctl for device")


def tcgetattr(fd, /):
    _no_terminal(fd)


def tcsetattr(fd, when, attributes, /):
    _no_terminal(fd)


def tcsendbreak(fd, duration, /):
    _no_terminal(fd)


def tcdrain(fd, /):
    _no_terminal(fd)


def tcflush(fd, queue, /):
    _no_terminal(fd)


def tcflow(fd, action, /):
    _no_terminal(fd)


def tcgetwinsize(fd, /):
    _no_terminal(fd)


def tcsetwinsize(fd, winsize, /):
    _no_terminal(fd)
