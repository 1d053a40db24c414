"""Stands in for psutil, which asks a kernel: here there is one process, the interpreter, with one processor and files in memory.

What can be told of it is told: its time, memory, threads, the room for files. What a sandbox has none of (batteries, sensors,
networks, other processes) is empty."""

import collections
import datetime
import os
import resource
import shutil
import sys
import threading
import time

__version__ = "7.2.2"
version_info = tuple(map(int, __version__.split(".")))

POSIX = LINUX = True
WINDOWS = MACOS = OSX = FREEBSD = OPENBSD = NETBSD = BSD = SUNOS = AIX = False

STATUS_RUNNING, STATUS_SLEEPING, STATUS_DISK_SLEEP, STATUS_STOPPED = "running", "sleeping", "disk-sleep", "stopped"
STATUS_TRACING_STOP, STATUS_ZOMBIE, STATUS_DEAD, STATUS_WAKE_KILL = "tracing-stop", "zombie", "dead", "wake-kill"
STATUS_WAKING, STATUS_IDLE, STATUS_LOCKED, STATUS_WAITING, STATUS_PARKED = "waking", "idle", "locked", "waiting", "parked"
CONN_ESTABLISHED, CONN_SYN_SENT, CONN_SYN_RECV, CONN_FIN_WAIT1 = "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1"
CONN_FIN_WAIT2, CONN_TIME_WAIT, CONN_CLOSE, CONN_CLOSE_WAIT = "FIN_WAIT2", "TIME_WAIT", "CLOSE", "CLOSE_WAIT"
CONN_LAST_ACK, CONN_LISTEN, CONN_CLOSING, CONN_NONE = "LAST_ACK", "LISTEN", "CLOSING", "NONE"
NIC_DUPLEX_FULL, NIC_DUPLEX_HALF, NIC_DUPLEX_UNKNOWN = 2, 1, 0
POWER_TIME_UNKNOWN, POWER_TIME_UNLIMITED = -1, -2
AF_LINK = 17
RLIM_INFINITY = resource.RLIM_INFINITY
globals().update({name: value for name, value in vars(resource).items() if name.startswith("RLIMIT_")})

# All that WebAssembly could address: the limit of the run is the host's, and less.
_MEMORY = 4 << 30


# ---------------------------------------------------------------- errors


class Error(Exception):
    __module__ = "psutil"

    def __init__(self, pid=None, name=None, msg=""):
        self.pid, self.name, self.msg = pid, name, msg
        about = ", ".join(f"{key}={value!r}" for key, value in (("pid", pid), ("name", name)) if value is not None)
        super().__init__(f"{msg} ({about})".strip() if about else msg)


class NoSuchProcess(Error):
    __module__ = "psutil"

    def __init__(self, pid, name=None, msg=None):
        super().__init__(pid, name, msg or "process no longer exists")


class ZombieProcess(NoSuchProcess):
    __module__ = "psutil"

    def __init__(self, pid, name=None, ppid=None, msg=None):
        self.ppid = ppid
        super().__init__(pid, name, msg or "PID still exists but it's a zombie")


class AccessDenied(Error):
    __module__ = "psutil"

    def __init__(self, pid=None, name=None, msg=None):
        super().__init__(pid, name, msg or "")


class TimeoutExpired(Error):
    __module__ = "psutil"

    def __init__(self, seconds, pid=None, name=None):
        self.seconds = seconds
        super().__init__(pid, name, f"timeout after {seconds} seconds")


# ---------------------------------------------------------------- the machine


def _tuple(name, fields):
    return collections.namedtuple(name, fields, module="psutil")


_cpu_times = _tuple("scputimes", "user nice system idle iowait irq softirq steal guest guest_nice")
_cpu_stats = _tuple("scpustats", "ctx_switches interrupts soft_interrupts syscalls")
_cpu_freq = _tuple("scpufreq", "current min max")
_memory = _tuple("svmem", "total available percent used free active inactive buffers cached shared slab")
_swap = _tuple("sswap", "total used free percent sin sout")
_usage = _tuple("sdiskusage", "total used free percent")
_partition = _tuple("sdiskpart", "device mountpoint fstype opts")
_disk_io = _tuple("sdiskio", "read_count write_count read_bytes write_bytes read_time write_time read_merged_count write_merged_count busy_time")
_net_io = _tuple("snetio", "bytes_sent bytes_recv packets_sent packets_recv errin errout dropin dropout")
_process_times = _tuple("pcputimes", "user system children_user children_system iowait")
_process_memory = _tuple("pmem", "rss vms shared text lib data dirty")
_process_full_memory = _tuple("pfullmem", "rss vms shared text lib data dirty uss pss swap")
_process_thread = _tuple("pthread", "id user_time system_time")
_ids = _tuple("puids", "real effective saved")
_group_ids = _tuple("pgids", "real effective saved")
_switches = _tuple("pctxsw", "voluntary involuntary")
_process_io = _tuple("pio", "read_count write_count read_bytes write_bytes read_chars write_chars")
_open_file = _tuple("popenfile", "path fd position mode flags")

_started = time.time()
_started_monotonic = time.monotonic()


def _percent(part, whole):
    return round(100 * part / whole, 1) if whole else 0.0


def _used_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def boot_time():
    return _started


def cpu_count(logical=True):
    return 1


def cpu_times(percpu=False):
    used = time.process_time()
    idle = max(0.0, time.monotonic() - _started_monotonic - used)
    times = _cpu_times(round(used, 2), 0.0, 0.0, round(idle, 2), *[0.0] * 6)
    return [times] if percpu else times


class _Meter:
    """Share of the time since it was last asked that the interpreter was at work."""

    def __init__(self):
        self.last = self.now()

    @staticmethod
    def now():
        return time.monotonic(), time.process_time()

    def percent(self, interval=None):
        if interval is not None and interval > 0:
            self.last = self.now()
            time.sleep(interval)
        now = self.now()
        wall, used = (after - before for after, before in zip(now, self.last))
        self.last = now
        return min(100.0, _percent(used, wall)) if wall > 0 else 0.0


_meter = _Meter()


def cpu_percent(interval=None, percpu=False):
    if interval is not None and interval < 0:
        raise ValueError(f"interval is not positive (got {interval})")
    used = _meter.percent(interval)
    return [used] if percpu else used


def cpu_times_percent(interval=None, percpu=False):
    used = cpu_percent(interval)
    times = _cpu_times(used, 0.0, 0.0, round(100.0 - used, 1), *[0.0] * 6)
    return [times] if percpu else times


def cpu_stats():
    return _cpu_stats(0, 0, 0, 0)


def cpu_freq(percpu=False):
    return [] if percpu else None


def getloadavg():
    return os.getloadavg()


def virtual_memory():
    used = _used_memory()
    free = max(0, _MEMORY - used)
    return _memory(_MEMORY, free, _percent(used, _MEMORY), used, free, used, 0, 0, 0, 0, 0)


def swap_memory():
    return _swap(0, 0, 0, 0.0, 0, 0)


def disk_usage(path):
    room = shutil.disk_usage(path)
    return _usage(room.total, room.used, room.free, _percent(room.used, room.used + room.free))


def disk_partitions(all=False):
    return [_partition("sandbox", "/", "tmpfs", "rw")]


def disk_io_counters(perdisk=False, nowrap=True):
    return {} if perdisk else None


def net_io_counters(pernic=False, nowrap=True):
    return {} if pernic else _net_io(*[0] * 8)


def net_connections(kind="inet"):
    return []


def net_if_addrs():
    return {}


def net_if_stats():
    return {}


def sensors_temperatures(fahrenheit=False):
    return {}


def sensors_fans():
    return {}


def sensors_battery():
    return None


def users():
    return []


# ---------------------------------------------------------------- processes


def pids():
    return [os.getpid()]


def pid_exists(pid):
    return pid == os.getpid()


class Process:
    def __init__(self, pid=None):
        if pid is None:
            pid = os.getpid()
        if not isinstance(pid, int):
            raise TypeError(f"pid must be an integer (got {pid!r})")
        if pid < 0:
            raise ValueError(f"pid must be a positive integer (got {pid})")
        if not pid_exists(pid):
            raise NoSuchProcess(pid, msg="process PID not found")
        self._pid, self._meter = pid, _Meter()

    pid = property(lambda self: self._pid)

    def __repr__(self):
        started = datetime.datetime.fromtimestamp(_started).strftime("%H:%M:%S")
        return f"psutil.Process(pid={self.pid}, name={self.name()!r}, status={self.status()!r}, started={started!r})"

    def __eq__(self, other):
        return self.pid == other.pid if isinstance(other, Process) else NotImplemented

    def __hash__(self):
        return hash(self.pid)

    def is_running(self):
        return True

    def oneshot(self):
        import contextlib

        return contextlib.nullcontext(self)

    def as_dict(self, attrs=None, ad_value=None):
        wanted = _ATTRIBUTES if attrs is None else list(attrs)
        unknown = set(wanted) - set(_ATTRIBUTES)
        if unknown:
            raise ValueError(f"invalid attr name{'s' if len(unknown) > 1 else ''} {', '.join(map(repr, unknown))}")
        return {name: self.pid if name == "pid" else getattr(self, name)() for name in wanted}

    def name(self):
        return "python3"

    def exe(self):
        return sys.executable

    def cmdline(self):
        return [sys.executable or "python3", *sys.argv]

    def cwd(self):
        return os.getcwd()

    def environ(self):
        return dict(os.environ)

    def status(self):
        return STATUS_RUNNING

    def username(self):
        import getpass

        return getpass.getuser()

    def create_time(self):
        return _started

    def ppid(self):
        return 0

    def parent(self):
        return None

    def parents(self):
        return []

    def children(self, recursive=False):
        return []

    def uids(self):
        return _ids(*[os.getuid()] * 3)

    def gids(self):
        return _group_ids(*[os.getgid()] * 3)

    def terminal(self):
        return None

    def nice(self, value=None):
        if value is not None:
            raise AccessDenied(self.pid, self.name())
        return 0

    def cpu_affinity(self, cpus=None):
        return [0] if cpus is None else None

    def cpu_num(self):
        return 0

    def cpu_times(self):
        return _process_times(round(time.process_time(), 2), 0.0, 0.0, 0.0, 0.0)

    def cpu_percent(self, interval=None):
        return self._meter.percent(interval)

    def memory_info(self):
        used = _used_memory()
        return _process_memory(used, used, 0, 0, 0, used, 0)

    def memory_full_info(self):
        used = _used_memory()
        return _process_full_memory(*self.memory_info(), used, used, 0)

    def memory_percent(self, memtype="rss"):
        return 100 * getattr(self.memory_full_info(), memtype) / _MEMORY

    def num_threads(self):
        return threading.active_count()

    def threads(self):
        return [_process_thread(thread.ident, 0.0, 0.0) for thread in threading.enumerate()]

    def num_fds(self):
        return 3

    def open_files(self):
        return []

    def net_connections(self, kind="inet"):
        return []

    connections = net_connections

    def io_counters(self):
        return _process_io(0, 0, 0, 0, 0, 0)

    def num_ctx_switches(self):
        return _switches(0, 0)

    def rlimit(self, number, limits=None):
        return resource.prlimit(self.pid, number, limits)

    def send_signal(self, sig):
        os.kill(self.pid, sig)

    def terminate(self):
        import signal

        self.send_signal(signal.SIGTERM)

    def kill(self):
        import signal

        self.send_signal(signal.SIGKILL)

    def suspend(self):
        raise AccessDenied(self.pid, self.name())

    resume = suspend

    def wait(self, timeout=None):
        raise TimeoutExpired(timeout, self.pid, self.name())


_ATTRIBUTES = (
    "cmdline", "connections", "cpu_affinity", "cpu_num", "cpu_percent", "cpu_times", "create_time", "cwd", "environ", "exe", "gids",
    "io_counters", "memory_full_info", "memory_info", "memory_percent", "name", "net_connections", "nice", "num_ctx_switches", "num_fds",
    "num_threads", "open_files", "pid", "ppid", "status", "terminal", "threads", "uids", "username",
)  # fmt: skip


class Popen(Process):
    """A program of the sandbox, by `subprocess`; what else psutil says of a process it says of this interpreter."""

    def __init__(self, *args, **kwargs):
        import subprocess

        self._process = subprocess.Popen(*args, **kwargs)
        self._pid, self._meter = self._process.pid, _Meter()

    def __getattr__(self, name):
        return getattr(self._process, name)

    def __enter__(self):
        self._process.__enter__()
        return self

    def __exit__(self, *args):
        return self._process.__exit__(*args)

    def send_signal(self, sig):
        self._process.send_signal(sig)

    def wait(self, timeout=None):
        return self._process.wait(timeout)

    def is_running(self):
        return self._process.poll() is None


def process_iter(attrs=None, ad_value=None):
    process = Process()
    if attrs is not None:
        process.info = process.as_dict(attrs or None, ad_value)
    yield process


def wait_procs(procs, timeout=None, callback=None):
    procs = list(procs)
    gone = [process for process in procs if not process.is_running()]
    for process in gone if callback else ():
        callback(process)
    return gone, [process for process in procs if process not in gone]
