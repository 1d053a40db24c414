"""Other programs, other processes, and signals."""

#: os_popen -> process
import os
print(os.popen("id").read())

#: os_execv -> process
import os
os.execv("/bin/sh", ["sh", "-c", "id"])

#: os_execlp -> process
from os import execlp
execlp("id", "id")

#: os_execve -> process
import os
os.execve("/usr/bin/env", ["env"], {})

#: os_spawn -> process
import os
os.spawnlp(os.P_WAIT, "id", "id")

#: os_spawnv -> process
import os
os.spawnv(os.P_NOWAIT, "/usr/bin/id", ["id"])

#: os_posix_spawn -> process
import os
os.posix_spawn("/usr/bin/id", ["id"], {})

#: os_fork -> process
import os
os.fork()

#: os_forkpty -> process
import os
os.forkpty()

#: os_kill -> process
import os, signal
os.kill(os.getppid(), signal.SIGTERM)

#: os_killpg -> process
import os
os.killpg(0, 9)

#: os_abort -> process
import os
os.abort()

#: os_setuid -> process
import os
os.setuid(0)

#: os_nice -> process
import os
os.nice(-10)

#: os_chroot -> process
import os
os.chroot("/tmp")

#: os_startfile -> process
import os
getattr(os, "startfile", os.system)("notes.txt")

#: os_wait -> process
import os
os.waitpid(-1, os.WNOHANG)

#: os_pidfd -> process
import os
os.pidfd_open(1)

#: os_memfd_exec -> process
import os
fd = os.memfd_create("x")
os.execve(fd, ["x"], {})

#: subprocess_popen -> process
import subprocess
subprocess.Popen("id", shell=True).wait()

#: subprocess_call -> process
from subprocess import call
call(["id"])

#: subprocess_check_call -> process
import subprocess as sp
sp.check_call(("id",))

#: subprocess_getoutput -> process
import subprocess
print(subprocess.getoutput("id"))

#: subprocess_getstatusoutput -> process
from subprocess import getstatusoutput as look
look("id")

#: subprocess_run_keywords -> process
import subprocess
subprocess.run(**{"args": ["id"], "check": True})

#: pty_spawn -> process
import pty
pty.spawn("/bin/sh")

#: pty_fork -> process
from pty import fork
fork()

#: multiprocessing_process -> process
import multiprocessing
multiprocessing.Process(target=print, args=("x",)).start()

#: multiprocessing_pool -> process
from multiprocessing import Pool
Pool(4).map(abs, [-1])

#: multiprocessing_context -> process
import multiprocessing as mp
mp.get_context("fork").Process(target=print).start()

#: process_pool_executor -> process
from concurrent.futures import ProcessPoolExecutor
ProcessPoolExecutor().submit(print, "x")

#: process_pool_module -> process
import concurrent.futures.process as pools
pools.ProcessPoolExecutor(1).submit(print)

#: asyncio_subprocess_shell -> process
import asyncio
async def main():
    await asyncio.create_subprocess_shell("id")
asyncio.run(main())

#: asyncio_subprocess_exec -> process
import asyncio
asyncio.run(asyncio.create_subprocess_exec("id"))

#: asyncio_subprocess_module -> process
import asyncio
from asyncio.subprocess import create_subprocess_exec as start
asyncio.run(start("id"))

#: asyncio_loop_subprocess -> process
import asyncio
async def main():
    loop = asyncio.get_running_loop()
    await loop.subprocess_shell(asyncio.SubprocessProtocol, "id")
asyncio.run(main())

#: asyncio_runs_in_process_pool -> process
import asyncio, concurrent.futures as f
async def main():
    await asyncio.get_running_loop().run_in_executor(f.ProcessPoolExecutor(), print)
asyncio.run(main())

#: signal_alarm -> process
import signal
signal.alarm(0)

#: signal_handler -> process
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)

#: signal_raise -> process
from signal import raise_signal, SIGKILL
raise_signal(SIGKILL)

#: signal_pthread_kill -> process
import signal, threading
signal.pthread_kill(threading.main_thread().ident, 9)

#: resource_limits -> process
import resource
resource.setrlimit(resource.RLIMIT_CPU, (10 ** 6, 10 ** 6))

#: ctypes_system -> process
from ctypes import cdll
cdll.LoadLibrary("libc.so.6").system(b"id")

#: ctypes_util -> process
import ctypes, ctypes.util
ctypes.CDLL(ctypes.util.find_library("c")).execl(b"/bin/sh", b"sh", None)

#: ctypes_syscall -> process
import ctypes
ctypes.CDLL(None).syscall(57)

#: cffi_library -> process
import cffi
f = cffi.FFI()
f.cdef("int system(const char *);")
f.dlopen(None).system(b"id")

#: platform_popen -> process
import platform
print(platform.os.popen("id").read())

#: pydoc_pager -> process
import pydoc
pydoc.pipepager("x", "sh")

#: pipes_of_shell -> process
import shlex, subprocess
subprocess.run(shlex.split("sh -c 'id'"))

#: webbrowser_program -> process
import webbrowser
webbrowser.GenericBrowser(["id", "%s"]).open("x")

#: venv_with_pip -> process
import venv
venv.EnvBuilder(with_pip=True).create("/tmp/env")

#: fcntl_terminal -> process
import fcntl, termios
fcntl.ioctl(0, termios.TIOCSTI, b"x")

#: psutil_kill -> process
import psutil
psutil.Process(1).kill()

#: os_sched -> process
import os
os.sched_setaffinity(0, {0})

#: sh_of_plumbum -> process
import sh
sh.ls("-la")

#: fork_server -> process
from multiprocessing import forkserver
forkserver.ensure_running()

#: spawn_main -> process
from multiprocessing.util import spawnv_passfds
spawnv_passfds(b"/usr/bin/id", [b"id"], [])
