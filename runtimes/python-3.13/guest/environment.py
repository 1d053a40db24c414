"""Makes what WASI lacks behave as a program expects: `prepare` while the image is made, `start` in each fresh copy.

What can't be had (processes, other machines) fails at the call, with the built-in exception of elsewhere; the
host hears of every such attempt and of every environment variable that was looked for in vain. What is paid for in
`prepare` is free at run time, so nothing is done here that could be done there."""

import codecs
import errno
import importlib
import logging
import os
import posix
import sys
import time

import _proofbox
import _proofbox_randomness as randomness
import _proofbox_threads as threads
from _proofbox_unsupported import UNSUPPORTED, refusal, text

__all__ = ["PRELOAD", "prepare", "start"]

# Imported into the image, where an import costs nothing. All of the public library but what nobody runs here:
# interpreters within the interpreter, installers, modules for other systems. And numpy.
PRELOAD = """
    __future__ abc argparse array ast asyncio atexit base64 bdb binascii bisect builtins bz2 cProfile calendar cmath cmd
    code codecs codeop collections collections.abc colorsys concurrent.futures concurrent.futures.process
    concurrent.futures.thread configparser contextlib contextvars copy copyreg csv ctypes ctypes.util dataclasses datetime dbm dbm.dumb
    decimal difflib dis doctest email email.headerregistry email.message email.mime.application email.mime.audio
    email.mime.base email.mime.image email.mime.multipart email.mime.text email.parser email.policy email.utils encodings
    enum errno faulthandler filecmp fileinput fnmatch fractions ftplib functools gc getopt getpass gettext glob graphlib
    gzip hashlib heapq hmac html html.entities html.parser http http.client http.cookiejar http.cookies http.server
    imaplib importlib importlib.abc importlib.machinery importlib.metadata importlib.resources importlib.util inspect io
    ipaddress itertools json json.tool keyword linecache locale logging logging.config logging.handlers lzma mailbox
    marshal math mimetypes modulefinder multiprocessing multiprocessing.dummy multiprocessing.managers
    multiprocessing.pool multiprocessing.queues multiprocessing.sharedctypes multiprocessing.synchronize netrc ntpath numbers opcode operator optparse os os.path pathlib pdb
    pickle pickletools pkgutil platform plistlib poplib posixpath pprint profile pstats pwd py_compile pyclbr pydoc queue
    quopri random re reprlib rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtplib
    socket socketserver sqlite3 stat statistics string stringprep struct subprocess symtable sys sysconfig tarfile
    tempfile textwrap threading time timeit token tokenize tomllib trace traceback tracemalloc types typing unicodedata
    unittest unittest.mock urllib.error urllib.parse urllib.request urllib.response urllib.robotparser uuid warnings wave
    weakref webbrowser wsgiref.simple_server wsgiref.util xml.dom.minidom xml.etree.ElementTree xml.parsers.expat xml.sax
    xml.sax.handler xml.sax.saxutils xmlrpc.client zipfile zipimport zlib zoneinfo
    _strptime
    numpy numpy.fft numpy.lib.stride_tricks numpy.linalg numpy.ma numpy.polynomial numpy.random numpy.testing
""".split()
ENCODINGS = """
    ascii base64 big5 charmap cp1250 cp1251 cp1252 cp437 gb18030 gbk hex idna iso8859-15 iso8859-2 latin-1 mac-roman
    punycode raw_unicode_escape rot13 shift_jis unicode_escape utf-16 utf-16-be utf-16-le utf-32 utf-32-be utf-32-le
    utf-7 utf-8 utf-8-sig zlib
""".split()


def prepare():
    """Once, when the image is made. Fails if a module of the list can't be imported."""
    os.environ._data.clear()
    threads.install()

    import _proofbox_select as select

    select.install()
    for name in PRELOAD:
        importlib.import_module(name)
    for name in ENCODINGS:
        codecs.lookup(name)

    import _proofbox_loop as loop

    loop.install()
    threads.work_in_pools()

    import _proofbox_socket_files as socket_files

    socket_files.install()

    import _proofbox_processes as processes

    processes.install()
    _refuse_processes()
    _refuse_signals()
    _refuse_native_code()
    _size_longs_as_on_64_bits()
    _derive_keys()
    _copy_descriptors()
    _answer_about_the_system()
    _answer_about_the_user()
    _answer_about_files()
    _name_the_type_of_capsules()
    _write_no_colours()
    _read_library_sources_when_asked()
    _restore_site_builtins()
    _count_as_on_64_bits()
    _know_the_time_zones()
    _watch_environment()
    sys.meta_path.append(_MissingLibrary)

    import _proofbox_warmup as warmup

    warmup.walk()


_started = False


def start(env, seed):
    """At the start of each run, before anything of the user's. In a session the later ones go on with what is there."""
    global _started
    if env:
        os.environ.update(env)
    if seed is not None:
        randomness.set_seed(seed)
    if not _started:
        _started = True
        logging._startTime = time.time_ns()  # what %(relativeCreated)d counts from


def _install(function, *modules, name=None):
    """Makes `function` one of these modules, and looks like it."""
    function.__name__ = function.__qualname__ = name or function.__name__
    function.__module__ = modules[0].__name__
    builtin = getattr(modules[0], function.__name__, None)
    if hasattr(builtin, "__text_signature__"):
        function.__text_signature__ = builtin.__text_signature__
    for module in modules:
        setattr(module, function.__name__, function)


# ---------------------------------------------------------------- what is refused


# Function of `os` -> which of its arguments says what was to be run, ended or waited for.
_PROCESS_FUNCTIONS = {
    "fork": None, "forkpty": None, "kill": 0, "killpg": 0,
    "execv": 0, "execve": 0, "execvp": 0, "execvpe": 0, "execl": 0, "execle": 0, "execlp": 0, "execlpe": 0,
    "posix_spawn": 0, "posix_spawnp": 0,
    "spawnv": 1, "spawnve": 1, "spawnvp": 1, "spawnvpe": 1, "spawnl": 1, "spawnle": 1, "spawnlp": 1, "spawnlpe": 1,
    "wait": None, "wait3": None, "wait4": 0, "waitid": 1, "waitpid": 0,
}  # fmt: skip
# Of these, what would not reach another process.
_WITHIN_THE_PROCESS = {"wait", "wait3", "wait4", "waitid", "waitpid"}
# Arguments of theirs, without which a call would end in an AttributeError first.
_PROCESS_CONSTANTS = {
    "P_WAIT": 0, "P_NOWAIT": 1, "P_NOWAITO": 1, "P_ALL": 0, "P_PID": 1, "P_PGID": 2,
    "WNOHANG": 1, "WUNTRACED": 2, "WEXITED": 4, "WCONTINUED": 8,
}  # fmt: skip


def _refuse_processes():
    """Refuses all processes but commands of the sandbox's shell."""

    def refused(operation, target_at):
        failure = UNSUPPORTED if operation in _WITHIN_THE_PROCESS else None

        def function(*args, **kwargs):
            args += tuple(kwargs.values())
            target = args[target_at] if target_at is not None and target_at < len(args) else ""
            raise refusal("process", operation, target, failure=failure)

        return function

    for name, target_at in _PROCESS_FUNCTIONS.items():
        _install(refused(name, target_at), os, posix, name=name)
    vars(os).update(_PROCESS_CONSTANTS)
    _signal_only_itself()

    def register_at_fork(*, before=None, after_in_child=None, after_in_parent=None):
        """Nothing to do, as no fork will happen; library code that finds os.fork relies on this."""

    _install(register_at_fork, os, posix)

    import _proofbox_commands as commands

    commands.install()
    _install(commands.system, os, posix)

    import socketserver

    class ForkingMixIn:
        """Mix-in of socketserver that fails as `os.fork` does."""

        def process_request(self, request, client_address):
            os.fork()

    _install(ForkingMixIn, socketserver)


def _signal_only_itself():
    """A signal that the process sends itself is delivered at once."""
    import signal

    kill_others, kill_groups = os.kill, os.killpg

    def kill(pid, signal_number, /):
        if type(pid) is not int or pid != os.getpid():
            return kill_others(pid, signal_number)
        if signal_number:  # 0 asks whether there is such a process
            signal.raise_signal(signal_number)

    def killpg(pgid, signal_number, /):
        if type(pgid) is not int or pgid != os.getpid():
            return kill_groups(pgid, signal_number)
        return kill(pgid, signal_number)

    _install(kill, os, posix)
    _install(killpg, os, posix)


# What TZ may be for UTC, in capitals.
_UTC = frozenset(b" UTC UTC0 UCT GMT GMT0 Z ZULU UNIVERSAL GREENWICH ETC/UTC ETC/UCT ETC/GMT ETC/ZULU ETC/UNIVERSAL".split(b" "))


def _refuse_signals():
    import signal

    def refused(operation, reason="signals do not reach this sandbox"):
        def function(*args):
            raise refusal("process", operation, reason=reason, failure=UNSUPPORTED)

        return function

    for name in ("alarm", "getitimer", "pause", "pthread_kill", "setitimer", "siginterrupt", "sigwait"):
        _install(refused(name), signal, name=name)
    signal.ItimerError = OSError
    signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF = 0, 1, 2

    def tzset():
        """Elsewhere it makes os.environ["TZ"] the local time. For another zone than UTC that would give wrong hours: it is
        missing then, as where CPython has no tzset at all (`_strptime` goes on without)."""
        zone = os.environ._data.get(b"TZ", b"").removeprefix(b":").upper()
        if zone not in _UTC:
            reason = "local time is always UTC in this sandbox"
            raise refusal("process", "tzset", type=AttributeError, reason=reason, failure=UNSUPPORTED)

    _install(tzset, time)


def _refuse_native_code():
    import _imp

    def create_dynamic(spec, file=None, /):
        raise refusal("process", "load", spec.origin, type=ImportError, reason="native code can't be loaded in this sandbox")

    _install(create_dynamic, _imp)

    import ctypes
    from ctypes import util

    load = ctypes._dlopen

    def dlopen(name, flag=ctypes.DEFAULT_MODE, /):
        if name is None:
            return load(name, flag)
        raise refusal("process", "load", name, reason="native libraries can't be loaded in this sandbox")

    class Function:
        """A function of the interpreter's API: programs say while they are imported how it is called, and few call it."""

        argtypes = restype = errcheck = None

        def __init__(self, name):
            self.__name__ = name

        def __call__(self, *arguments):
            raise refusal("process", "call", self.__name__, reason="functions of the interpreter can't be called in this sandbox")

    class PythonAPI(ctypes.PyDLL):
        def __getitem__(self, name):
            return Function(name) if name.startswith(("Py", "_Py")) else super().__getitem__(name)

    ctypes._dlopen = dlopen
    ctypes.pythonapi = PythonAPI(None)
    util.find_library = lambda name: None


def _size_longs_as_on_64_bits():
    """ctypes' `long`, as structures and files of other programs have it on Linux. Pointers are as large as they are here."""
    import ctypes

    ctypes.c_long, ctypes.c_ulong = ctypes.c_longlong, ctypes.c_ulonglong
    for kind, name in ((ctypes.c_longlong, "c_long"), (ctypes.c_ulonglong, "c_ulong")):
        kind.__name__ = kind.__qualname__ = name


def _derive_keys():
    """hashlib's function for that comes from OpenSSL elsewhere."""
    import hashlib
    import hmac

    def pbkdf2_hmac(hash_name, password, salt, iterations, dklen=None):
        if iterations < 1:
            raise ValueError("iteration value must be greater than 0.")
        keyed = hmac.new(password, None, hash_name)
        length = keyed.digest_size if dklen is None else dklen
        if length < 1:
            raise ValueError("key length must be greater than 0.")

        def digest(message):
            copy = keyed.copy()
            copy.update(message)
            return copy.digest()

        key = b""
        for block in range(1, -(-length // keyed.digest_size) + 1):
            last = digest(bytes(salt) + block.to_bytes(4, "big"))
            mixed = int.from_bytes(last, "big")
            for _ in range(iterations - 1):
                last = digest(last)
                mixed ^= int.from_bytes(last, "big")
            key += mixed.to_bytes(keyed.digest_size, "big")
        return key[:length]

    if not hasattr(hashlib, "pbkdf2_hmac"):
        _install(pbkdf2_hmac, hashlib)


class _MissingLibrary:
    """Last of the finders: says why a part of the standard library is not there, instead of just that it isn't."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        # Only an import is told; importlib.util.find_spec wants None.
        asked_by = sys._getframe(2).f_code.co_name
        if asked_by == "_find_and_load_unlocked" and name in sys.stdlib_module_names:
            raise ModuleNotFoundError(f"No module named {name!r}: not available in this sandbox (WebAssembly)", name=name)


# ---------------------------------------------------------------- what is answered


def _copy_descriptors():
    """WASI has no copies of descriptors; descriptors.c has."""

    def dup(fd, /):
        return _proofbox.dup(fd)

    def dup2(fd, fd2, inheritable=True):
        return _proofbox.dup2(fd, fd2)

    for function in (dup, dup2):
        _install(function, os, posix)


# Room for files by default (`limits.files_bytes`); which a run really has, it is not told.
_FILES_BYTES = 64 << 20


def _tell_disk_usage():
    """WASI tells no sizes of file systems: here files are in memory, and few."""
    import collections
    import shutil

    usage = collections.namedtuple("usage", "total used free", module="shutil")

    def disk_usage(path):
        os.stat(path)
        used = 0
        for folder, folders, files in os.walk("/"):
            if folder == "/":
                # The image's own.
                folders[:] = [name for name in folders if name != "lib"]
            for name in files:
                try:
                    used += os.lstat(os.path.join(folder, name)).st_size
                except OSError:
                    pass  # it may not be looked at
        return usage(max(_FILES_BYTES, used), used, max(0, _FILES_BYTES - used))

    _install(disk_usage, shutil)


def _answer_about_the_system():
    import platform

    def umask(new, /):
        return _proofbox.set_mask(new & 0o777)

    def get_terminal_size(fd=1, /):
        raise OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))

    def sched_getaffinity(pid, /):
        return {0}

    def getrandom(size, flags=0):
        return os.urandom(size)

    def getloadavg():
        return 0.0, 0.0, 0.0

    for function in (umask, get_terminal_size, sched_getaffinity, getrandom, getloadavg):
        _install(function, os)
    os.GRND_NONBLOCK, os.GRND_RANDOM = 1, 2
    _tell_disk_usage()

    def times():
        return os.times_result((time.process_time(), 0.0, 0.0, 0.0, time.monotonic()))

    _install(times, os)
    time.thread_time, time.thread_time_ns = time.process_time, time.process_time_ns
    clock_info = time.get_clock_info

    def get_clock_info(name, /):
        return clock_info("process_time" if name == "thread_time" else name)

    _install(get_clock_info, time)

    # What these ask of other programs, or read from the interpreter's file, elsewhere.
    platform._syscmd_file = lambda target, default="": default
    platform.libc_ver = lambda executable=None, lib="", version="", chunksize=16384: (lib, version)
    platform._Processor.get_wasi = staticmethod(lambda: "")
    platform.uname()
    platform.platform()


def _answer_about_the_user():
    import pwd
    import tempfile
    import uuid

    # A user's group has the user's number.
    for name in ("getuid", "geteuid", "getgid", "getegid"):
        _install(lambda: _proofbox.user_number(), os, name=name)
    _install(lambda: [_proofbox.user_number()], os, name="getgroups")
    _install(lambda: pwd.getpwuid(_proofbox.user_number()).pw_name, os, name="getlogin")
    for name, answer in {"getppid": 1, "getpgrp": os.getpid()}.items():
        _install(lambda answer=answer: answer, os, name=name)

    # The host's network cards are none of ours: a random node, as uuid itself falls back to.
    uuid._GETTERS = []

    choose_directory = tempfile._get_default_tempdir

    def get_default_tempdir():
        """/tmp can be written to: no need to try with a file of random name in each of four directories."""
        if any(name in os.environ._data for name in (b"TMPDIR", b"TEMP", b"TMP")):
            return choose_directory()
        return "/tmp"

    tempfile._get_default_tempdir = get_default_tempdir


def _umask():
    mask = _proofbox.set_mask(0)
    _proofbox.set_mask(mask)
    return mask


def _succeeded(error, *paths):
    if error:
        raise OSError(error, os.strerror(error), *paths)


def _answer_about_files():
    """Permission bits, for which the host has calls of its own (attributes.c); and pipes within the process (pipe.c)."""
    access, make_directory, open_file = os.access, os.mkdir, os.open
    # Its descriptor is open from the start.
    root = 3

    def place(path, dir_fd):
        name = os.fsencode(path)
        if name and (dir_fd is None or name.startswith(b"/")):
            return root, os.path.join(os.getcwdb(), name).lstrip(b"/") or b"."
        return dir_fd or root, name

    def set_mode(path, mode, dir_fd=None):
        _succeeded(_proofbox.set_mode(*place(path, dir_fd), mode), path)

    def chown(path, uid, gid, *, dir_fd=None, follow_symlinks=True):
        if gid not in (-1, uid) and not (uid == -1 and gid == os.stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks).st_gid):
            raise PermissionError(errno.EPERM, "a user's group is the user's alone in this sandbox", path)
        if uid == -1:
            return
        _succeeded(_proofbox.set_owner(*place(path, dir_fd), uid, follow_symlinks), path)

    def lchown(path, uid, gid):
        chown(path, uid, gid, follow_symlinks=False)

    def mkdir(path, mode=0o777, *, dir_fd=None):
        make_directory(path, dir_fd=dir_fd)
        # The host makes them with 0o777, without the mask.
        if mode & 0o1777 != 0o777:
            set_mode(path, mode & 0o1777 & ~_umask(), dir_fd)

    def open(path, flags, mode=0o777, *, dir_fd=None):
        creates = flags & os.O_CREAT and not access(path, os.F_OK, dir_fd=dir_fd)
        fd = open_file(path, flags, mode, dir_fd=dir_fd)
        # The host makes them with 0o666, without the mask.
        if creates and mode & 0o7777 != 0o666:
            _succeeded(_proofbox.set_descriptor_mode(fd, mode & ~_umask()), path)
        return fd

    def chmod(path, mode, *, dir_fd=None, follow_symlinks=True):
        if isinstance(path, int):
            return fchmod(path, mode)
        if not follow_symlinks:
            raise NotImplementedError("chmod: follow_symlinks unavailable on this platform")
        set_mode(path, mode, dir_fd)

    def fchmod(fd, mode):
        _succeeded(_proofbox.set_descriptor_mode(fd, mode))

    def pipe():
        return _proofbox.open_pipe()

    def pipe2(flags, /):
        ends = _proofbox.open_pipe()
        for end in ends:
            os.set_blocking(end, not flags & os.O_NONBLOCK)
        return ends

    for function in (mkdir, open, chmod, fchmod, chown, lchown, pipe, pipe2):
        _install(function, os, posix)
    os.supports_dir_fd.update([os.chmod, os.chown])
    os.supports_follow_symlinks.add(os.chown)
    # As what they stand for, so that `shutil.rmtree` goes the same way as without them.
    os.supports_dir_fd.update(now for before, now in ((make_directory, os.mkdir), (open_file, os.open)) if before in os.supports_dir_fd)
    os.supports_fd.add(os.chmod)


def _name_the_type_of_capsules():
    """The library takes it from a constant of `_socket`, which is None here."""
    import types

    import _datetime

    types.CapsuleType = type(_datetime.datetime_CAPI)


def _write_no_colours():
    """Nobody watches a terminal, and each traceback would look for six environment variables to find that out. Where there
    are variables, they are asked."""
    import _colorize

    can_colorize_by_variables = _colorize.can_colorize

    def can_colorize(*, file=None):
        return bool(os.environ._data) and can_colorize_by_variables(file=file)

    _install(can_colorize, _colorize)


def _read_library_sources_when_asked():
    """The library is frozen. Its sources lie among the packages, where an import does not look for them."""
    import importlib.machinery
    import linecache
    import tokenize

    from _proofbox_packages import DIRECTORY, SOURCES

    library = os.path.dirname(os.__file__) + "/"
    updatecache = linecache.updatecache

    def updatecache_of_library(filename, module_globals=None):
        if not isinstance(filename, str) or not filename.startswith(library):
            return updatecache(filename, module_globals)
        linecache.cache.pop(filename, None)
        if filename.startswith(DIRECTORY):  # packages have no sources
            return []
        try:
            with tokenize.open(SOURCES + filename[len(library) :]) as file:
                lines = file.readlines()
        except (OSError, UnicodeDecodeError, SyntaxError):
            return []
        # Without a time, so that nobody looks whether the file has changed.
        linecache.cache[filename] = sum(map(len, lines)), None, lines, filename
        return lines

    def get_source(fullname):
        """The source of a frozen module, or None."""
        spec = importlib.machinery.FrozenImporter.find_spec(fullname)
        if spec is None:
            raise ImportError(f"{fullname!r} is not a frozen module", name=fullname)
        return "".join(linecache.getlines(spec.loader_state.filename)) or None

    linecache.updatecache = updatecache_of_library
    importlib.machinery.FrozenImporter.get_source = staticmethod(get_source)


def _restore_site_builtins():
    """exit, quit, help and their like, which `site` brings elsewhere."""
    import site

    site.setquit()
    site.setcopyright()
    site.sethelper()


def _count_as_on_64_bits():
    """Programs take sys.maxsize for infinity, and compare it with sums beyond 2**31. As a bound it is taken for the largest
    size that there is (python_patches.py)."""
    import _collections_abc
    import types

    # Its hash of a set is that of a frozenset, which has 32 bits.
    hash_of_set = _collections_abc.Set._hash
    known = {**hash_of_set.__globals__, "sys": types.SimpleNamespace(maxsize=sys.maxsize)}
    _collections_abc.Set._hash = types.FunctionType(hash_of_set.__code__, known, "_hash")
    _collections_abc.Set._hash.__qualname__, _collections_abc.Set._hash.__doc__ = "Set._hash", hash_of_set.__doc__
    sys.maxsize = 2**63 - 1


def _know_the_time_zones():
    """zoneinfo looks for files below TZPATH, then in package tzdata. Here the data is a module, imported when wanted; files
    there can be only below another TZPATH than that of the start."""
    import io
    import types
    import zoneinfo
    from zoneinfo import _common, _tzpath

    def is_blocked():
        """Returns whether the program says that there is no package tzdata, as CPython's own tests do."""
        return sys.modules.get("tzdata", _tzpath) is None

    def load_tzdata(key):
        from _proofbox_tzdata import ZONES

        try:
            return io.BytesIO(ZONES[key] if not is_blocked() else {}[key])
        except KeyError:
            raise _common.ZoneInfoNotFoundError(f"No time zone found with key {key}") from None

    nowhere, list_all = _tzpath.TZPATH, _tzpath.available_timezones

    def find_tzfile(key):
        _validate_tzfile_path(key)
        return None if TZPATH == _NOWHERE else _look_for_tzfile(key)

    def available_timezones():
        """The keys of all time zones."""
        from _proofbox_tzdata import ZONES

        zones = set() if is_blocked() else set(ZONES)
        return zones if _tzpath.TZPATH == nowhere else zones | list_all()

    _common.load_tzdata = load_tzdata
    # The module in C holds the function itself. What it does becomes what is above, with its own module's names.
    _tzpath._NOWHERE = nowhere
    _tzpath._look_for_tzfile = types.FunctionType(_tzpath.find_tzfile.__code__, vars(_tzpath), "find_tzfile")
    _tzpath.find_tzfile.__code__ = find_tzfile.__code__
    _install(available_timezones, zoneinfo, _tzpath)


# ---------------------------------------------------------------- environment variables

# These look for variables on their own account (LANG, COLUMNS, TMPDIR): that says nothing about the program.
_CURIOUS_MODULES = frozenset({
    "_colorize", "_proofbox_kind_pytest", "_pyrepl.pager", "_pytest._argcomplete", "_pytest._io.terminalwriter",
    "_pytest.assertion.util", "_pytest.compat", "_pytest.config", "_pytest.config.argparsing", "_pytest.pathlib",
    "_pytest.runner", "_pytest.tmpdir", "argparse", "asyncio.coroutines", "doctest", "getopt", "getpass", "gettext",
    "locale", "optparse", "pdb", "platform", "pydoc", "shutil", "site", "ssl", "subprocess", "sysconfig", "tempfile",
    "urllib.request", "uuid", "webbrowser", "wsgiref.handlers", "xml.dom.domreg", "xml.sax", "zoneinfo._tzpath",
})  # fmt: skip
# Frames between the lookup and who wants it; collections.abc is _collections_abc under its other name.
_ON_THE_WAY = frozenset({"os", "collections.abc", "posixpath", __name__})


def _watch_environment():
    """Tells the host which variables are looked for in vain, and when all are read. What is there is the user's own.

    The methods of the class are replaced, so that `os.environ` stays the object, of the class, that libraries hold."""
    cls = os._Environ
    iterate, represent = cls.__iter__, cls.__repr__

    def __getitem__(self, key):
        try:
            value = self._data[self.encodekey(key)]
        except KeyError:
            _attempted("get", key)
            raise KeyError(key) from None
        return self.decodevalue(value)

    def __iter__(self):
        _attempted("list", "*")
        return iterate(self)

    def __repr__(self):
        _attempted("list", "*")
        return represent(self)

    cls.__getitem__, cls.__iter__, cls.__repr__ = __getitem__, __iter__, __repr__


def _attempted(operation, name):
    frame = sys._getframe(1)
    while frame and frame.f_globals.get("__name__") in _ON_THE_WAY:
        frame = frame.f_back
    if frame is None or frame.f_globals.get("__name__") not in _CURIOUS_MODULES:
        _proofbox.attempt("environment", operation, text(name))


# ---------------------------------------------------------------- randomness


def leave_nothing_random():
    """Makes each generator and each secret of an import anew in the copy that uses it."""
    import random
    import tempfile
    import uuid
    from multiprocessing import process

    generator = random._inst
    randomness.seed_on_first_use(generator, [random], generator.seed)
    _reseed_numpy()
    tempfile._name_sequence = None
    uuid._node = uuid._last_timestamp = None
    current = process.current_process()
    current._config = _FreshKey(current._config)
    del current._config["authkey"]


def _reseed_numpy():
    """The generator behind `numpy.random`'s functions; generators that a program makes seed themselves."""
    import numpy.random

    generator = numpy.random.mtrand._rand
    others = ("get_bit_generator", "ranf", "sample", "seed", "set_bit_generator")

    def reseed(seed):
        generator.seed(None if seed is None else seed % 2**32)

    randomness.seed_on_first_use(generator, [numpy.random.mtrand, numpy.random], reseed, others)


class _FreshKey(dict):
    """A process's configuration, whose key is drawn when it is first asked for."""

    def __missing__(self, key):
        if key != "authkey":
            raise KeyError(key)
        from multiprocessing.process import AuthenticationString

        return self.setdefault(key, AuthenticationString(os.urandom(32)))

    def copy(self):
        """A new process's configuration, with the key that it shares with this one."""
        self["authkey"]
        return dict(self)
