"""The groups of the sandbox's two users: see pwd.py."""

from collections import namedtuple

__all__ = ["getgrall", "getgrgid", "getgrnam", "struct_group"]

struct_group = namedtuple("struct_group", "gr_name gr_passwd gr_gid gr_mem", module="grp")

_GROUPS = (struct_group("user", "x", 1000, []), struct_group("root", "x", 0, []))


def getgrall():
    return list(_GROUPS)


def getgrnam(name):
    for group in _GROUPS:
        if group.gr_name == name:
            return group
    raise KeyError(f"getgrnam(): name not found: {name!r}")


def getgrgid(id):
    for group in _GROUPS:
        if group.gr_gid == id:
            return group
    raise KeyError(f"getgrgid(): gid not found: {id}")
