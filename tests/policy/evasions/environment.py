"""Environment variables, read or changed, under all names that Python has for them."""

#: environ_get -> environment
import os
print(os.environ.get("AWS_SECRET_ACCESS_KEY"))

#: environ_imported -> environment
from os import environ
print(environ["HOME"])

#: environ_imported_as -> environment
from os import environ as settings, path
print(settings)

#: environ_star -> environment
from os import *
print(environ)

#: environ_iterated -> environment
import os
for key, value in os.environ.items():
    print(key, value)

#: environ_copied -> environment
import os
print({**os.environ})

#: environ_in_fstring -> environment
import os
print(f"{os.environ!r}")

#: environ_contains -> environment
import os
print("CI" in os.environ)

#: environ_set -> environment
import os
os.environ["PATH"] = "/tmp"

#: environ_deleted -> environment
import os
del os.environ["HOME"]

#: environ_setdefault -> environment
import os
os.environ.setdefault("PYTHONHASHSEED", "0")

#: environ_updated -> environment
import os
os.environ |= {"LD_PRELOAD": "/tmp/x.so"}

#: getenv_imported -> environment
from os import getenv as setting
print(setting("TOKEN", ""))

#: getenvb -> environment
import os
print(os.getenvb(b"HOME"))

#: environb -> environment
import os
print(os.environb)

#: putenv -> environment
import os
os.putenv("LD_PRELOAD", "/tmp/x.so")

#: unsetenv -> environment
from os import unsetenv
unsetenv("HOME")

#: posix_environ -> environment
import posix
print(posix.environ)

#: environ_by_getattr -> environment
import os
print(getattr(os, "environ"))

#: environ_by_vars -> environment
import os
print(vars(os)["environ"])

#: environ_by_import -> environment
print(__import__("os").environ)

#: environ_by_modules -> environment
import sys
print(sys.modules["os"].environ)

#: environ_through_library -> environment
import subprocess
print(subprocess.os.environ)

#: environ_matched -> environment
import os
match os:
    case object(environ=e):
        print(dict(e))

#: environ_aliased_module -> environment
import os
o = os
e = o.environ
print(e.copy())

#: environ_default_argument -> environment
import os
def load(source=os.environ):
    return dict(source)
print(load())

#: environ_data -> environment
import os
print(os.environ._data)

#: expandvars -> environment
import os.path
print(os.path.expandvars("$HOME/${TOKEN}"))

#: expandvars_imported -> environment
from posixpath import expandvars
print(expandvars("$TOKEN"))

#: proc_environ -> environment, file_read
print(open("/proc/self/environ", "rb").read())

#: proc_parent_environ -> environment, file_read
import pathlib
print(pathlib.Path("/proc/1/environ").read_bytes())

#: proxies_from_environment -> environment
import urllib.request
print(urllib.request.getproxies_environment())

#: libc_getenv -> environment
import ctypes
libc = ctypes.CDLL(None)
libc.getenv.restype = ctypes.c_char_p
print(libc.getenv(b"HOME"))

#: environment_by_shell -> process
import os
print(os.popen("env").read())

#: environ_under_mock -> environment
import os
from unittest import mock
with mock.patch.dict(os.environ, {"HOME": "/tmp"}):
    print("changed")

#: environ_by_attrgetter -> environment
import operator, os
print(operator.attrgetter("environ")(os))

#: dotenv_file -> environment, file_read
import os
for line in open(".env"):
    key, _, value = line.partition("=")
    os.environ[key] = value

#: exec_path -> environment
import os
print(os.get_exec_path())
