"""The two users of the sandbox, as its /etc/passwd has them, so that `~`, getpass.getuser and Path.owner have an answer."""

from collections import namedtuple

__all__ = ["getpwall", "getpwnam", "getpwuid", "struct_passwd"]

struct_passwd = namedtuple("struct_passwd", "pw_name pw_passwd pw_uid pw_gid pw_gecos pw_dir pw_shell", module="pwd")

_USERS = (
    struct_passwd("root", "x", 0, 0, "", "/root", "/bin/bash"),
    struct_passwd("user", "x", 1000, 1000, "", "/home/user", "/bin/bash"),
)


def getpwall():
    return list(_USERS)


def getpwnam(name, /):
    for user in _USERS:
        if user.pw_name == name:
            return user
    raise KeyError(f"getpwnam(): name not found: {name!r}")


def getpwuid(uid, /):
    for user in _USERS:
        if user.pw_uid == uid:
            return user
    raise KeyError(f"getpwuid(): uid not found: {uid}")
