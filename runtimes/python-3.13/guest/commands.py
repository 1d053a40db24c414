"""Commands of the sandbox's shell: `subprocess`, `os.system`, `asyncio.create_subprocess_*`.

The host runs a command from its start to its end while this interpreter waits, so a process runs when its end is first
asked for: by `wait`, `poll`, `communicate`, by reading what it writes, or when nobody can ask any more. Its input is what
was written until then. Where there is no shell (deterministic runs), starting one is refused."""

import asyncio
import atexit
import errno
import io
import os
import shlex
import signal
import subprocess
import sys
import weakref

import _proofbox
from _proofbox_unsupported import refusal

# Of a message to the host and of its answer: a command for the sandbox's shell, and how that ended.
COMMAND, ENDED = 16, 17
# Exit codes of a shell for programs that a signal has ended.
_SIGNALLED = {128 + number: -number for number in (signal.SIGABRT, signal.SIGFPE, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM)}
_READ_BYTES = 1 << 16

# In the tests' interpreter (grader.py): takes the environment of each command, and returns what the command gets of it.
environment_of = None


def run(text, cwd, env, stdin=b"", capture=True, timeout=None):
    """(exit code, stdout, stderr, whether the time was up); RuntimeError where there is no shell."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, ValueError):
            pass
    if environment_of is not None:
        env = environment_of(env)
    timeout = None if timeout is None else max(float(timeout), 0.0)
    # The host shares no containers with its guest.
    nothing_shared = [], {}, {}, [0], []
    command = text, cwd, env, stdin, capture, timeout
    kind, answer, *_ = _proofbox.exchange(COMMAND, command, None, [], None, None, None, None, nothing_shared)
    if kind != ENDED:
        raise RuntimeError("the sandbox's shell gave no answer")
    return answer


def variables():
    """The environment as text."""
    environ = os.environ
    return {environ.decodekey(name): environ.decodevalue(value) for name, value in environ._data.items()}


def _write_all(descriptor, content):
    while content:
        content = content[os.write(descriptor, content) :]


def _read_all(descriptor):
    pieces = []
    while piece := os.read(descriptor, _READ_BYTES):
        pieces.append(piece)
    return b"".join(pieces)


# ---------------------------------------------------------------- what is run


def _word(argument):
    word = os.fsdecode(argument)
    if "\0" in word:
        raise ValueError("embedded null byte")
    return word


def _script(args, shell, executable):
    """(the text for the shell, the name of the program or None)"""
    if isinstance(args, (str, bytes, os.PathLike)):
        words = [_word(args)]
    else:
        words = [_word(each) for each in args]
    if not words:
        raise IndexError("list index out of range")
    if shell:
        text = words[0]
        return (text if len(words) == 1 else f"set -- {shlex.join(words[2:])}\n{text}"), None
    if executable is not None:
        words[0] = _word(executable)
    return shlex.join(words), words[0]


def _environment(env):
    if env is None:
        return variables()
    found = {}
    for name, value in env.items():
        name, value = _word(name), _word(value)
        if "=" in name:
            raise ValueError("illegal environment variable name")
        found[name] = value
    return found


def _directory(cwd):
    path = os.getcwd() if cwd is None else os.path.join(os.getcwd(), os.fsdecode(cwd))
    if not os.path.isdir(path):
        number = errno.ENOTDIR if os.path.exists(path) else errno.ENOENT
        raise OSError(number, os.strerror(number), cwd)
    return path


def find(name, env=None, cwd=None):
    """The path of a program as the shell finds it, or None."""
    found = run(f"command -v -- {shlex.quote(name)}", _directory(cwd), variables() if env is None else env)
    return found[1].decode("utf-8", "surrogateescape").strip() or None if found[0] == 0 else None


# ---------------------------------------------------------------- subprocess


class _Input(io.BytesIO):
    """Standard input of a process, written before it runs."""

    content = None

    def close(self):
        if not self.closed:
            self.content = self.getvalue()
        super().close()

    def taken(self):
        return self.content if self.closed else self.getvalue()


class _Output(io.RawIOBase):
    """Output of a process, which runs when that is read."""

    def __init__(self, process, index):
        self._process, self._index, self._at = process, index, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        self._process._run()
        content = self._process._written[self._index]
        piece = content[self._at : self._at + len(buffer)]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)


_waiting = weakref.WeakSet()
_number = 1


def __init__(
    self, args, bufsize=-1, executable=None, stdin=None, stdout=None, stderr=None, preexec_fn=None, close_fds=True, shell=False,
    cwd=None, env=None, universal_newlines=None, startupinfo=None, creationflags=0, restore_signals=True,
    start_new_session=False, pass_fds=(), *, user=None, group=None, extra_groups=None, encoding=None, errors=None, text=None,
    umask=-1, pipesize=-1, process_group=None,
):  # fmt: skip
    """Create new Popen instance."""
    global _number
    self.args, self.stdin, self.stdout, self.stderr, self.pid, self.returncode = args, None, None, None, None, None
    self._state, self._written = "failed", (b"", b"")
    if stdout is subprocess.STDOUT:
        raise ValueError("STDOUT can only be used for stderr")
    if not isinstance(-1 if bufsize is None else bufsize, int):
        raise TypeError("bufsize must be an integer")
    if startupinfo is not None or creationflags != 0:
        raise ValueError(f"{'startupinfo' if startupinfo is not None else 'creationflags'} is only supported on Windows platforms")
    if text is not None and universal_newlines is not None and bool(universal_newlines) != bool(text):
        raise subprocess.SubprocessError(
            "Cannot disambiguate when both text and universal_newlines are supplied but different. Pass one or the other."
        )
    self.text_mode = bool(encoding or errors or text or universal_newlines)
    self.encoding, self.errors = encoding or ("utf-8" if self.text_mode else None), errors
    if preexec_fn is not None:
        raise refusal("process", "preexec_fn", args)
    script, program = _script(args, shell, executable)
    self._cwd, self._env = _directory(cwd), _environment(env)
    try:
        missing = program is not None and find(program, self._env, self._cwd) is None
    except RuntimeError:
        raise refusal("process", "spawn", args) from None
    if missing:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)
    self._script = f"{{ {script}\n}} 2>&1" if stderr == subprocess.STDOUT else script
    self._targets = tuple(None if each == subprocess.PIPE else each for each in (stdout, stderr))
    self._input = _input_of(stdin)
    if stdin == subprocess.PIPE:
        self.stdin = self._input if not self.text_mode else io.TextIOWrapper(self._input, self.encoding, errors, write_through=True)
    for name, index, target in (("stdout", 0, stdout), ("stderr", 1, stderr)):
        if target == subprocess.PIPE:
            stream = io.BufferedReader(_Output(self, index))
            setattr(self, name, io.TextIOWrapper(stream, self.encoding, errors) if self.text_mode else stream)
    if not _waiting:
        atexit.register(_run_all)
    _number += 1
    self.pid, self._state = os.getpid() + _number, "ready"
    _waiting.add(self)


def _input_of(stdin):
    """Returns the source of a process's input, with a method `taken`."""
    made = _Input()
    if isinstance(stdin, int) and stdin >= 0:
        made.write(_read_all(stdin))
    elif stdin is not None and not isinstance(stdin, int):
        try:
            descriptor = stdin.fileno()
        except (AttributeError, OSError):
            # What another process writes.
            content = stdin.read()
            made.write(content.encode() if isinstance(content, str) else content)
        else:
            made.write(_read_all(descriptor))
    return made


def _run(self, timeout=None):
    """Runs the process, unless it has been run."""
    if self._state != "ready":
        return
    self._state = "running"
    _waiting.discard(self)
    code, out, err, late = run(self._script, self._cwd, self._env, self._input.taken(), timeout=timeout)
    self._written = out, err
    for descriptor, target, stream, content in ((1, self._targets[0], self.stdout, out), (2, self._targets[1], self.stderr, err)):
        if stream is None and content and target != subprocess.DEVNULL and target != subprocess.STDOUT:
            _write_all(descriptor if target is None else target if isinstance(target, int) else target.fileno(), content)
    if late:
        self._state = "late"
        raise subprocess.TimeoutExpired(self.args, timeout, output=out or None, stderr=err or None)
    self._state, self.returncode = "ended", _SIGNALLED.get(code, code)


def poll(self):
    """Check if child process has terminated. Set and return returncode attribute."""
    if self._state == "late":
        return None
    self._run()
    return self.returncode


def wait(self, timeout=None):
    """Wait for child process to terminate; returns self.returncode."""
    self._run(timeout)
    if self._state == "late":
        # It was ended when its time was up.
        self._state, self.returncode = "ended", -signal.SIGKILL
    return self.returncode


def communicate(self, input=None, timeout=None):
    """Interact with process: Send data to stdin and close it. Read data from stdout and stderr, until end-of-file is reached.
    Wait for process to terminate."""
    if input is not None and self._state == "ready":
        if self.stdin is None:
            raise ValueError("Cannot send input to a process without stdin=PIPE")
        self.stdin.write(input)
    if self.stdin is not None and not self.stdin.closed:
        self.stdin.close()
    self.wait(timeout)
    found = []
    for stream in (self.stdout, self.stderr):
        found.append(None if stream is None else stream.read())
        if stream is not None:
            stream.close()
    return tuple(found)


def send_signal(self, sig):
    """Send a signal to the process."""
    if self._state in ("ready", "late"):
        _waiting.discard(self)
        self._state, self.returncode = "ended", -int(sig)


def __exit__(self, exc_type, value, traceback):
    for stream in (self.stdin, self.stdout, self.stderr):
        if stream is not None:
            if stream is not self.stdin:
                # Closing a pipe does not end a process that has something to do.
                self._run()
            stream.close()
    self.wait()


def __del__(self, _warn=None):
    if getattr(self, "_state", None) == "ready":
        try:
            self._run()
        except Exception:
            pass


def _run_all():
    atexit.unregister(_run_all)
    for process in list(_waiting):
        process.__del__()


def system(command):
    """Execute the command in a subshell."""
    text = _word(command)
    try:
        code, out, err, _ = run(text, os.getcwd(), variables())
    except RuntimeError:
        raise refusal("process", "system", text) from None
    _write_all(1, out)
    _write_all(2, err)
    number = -_SIGNALLED.get(code, 0)
    return number or code << 8


# ---------------------------------------------------------------- asyncio


class _PipeTransport(asyncio.Transport):
    """End of a pipe to a process, as asyncio's streams want it."""

    def __init__(self, owner, stream):
        super().__init__()
        self._owner, self._stream = owner, stream

    def write(self, data):
        self._stream.write(data)

    def writelines(self, pieces):
        self._stream.write(b"".join(pieces))

    def can_write_eof(self):
        return True

    def write_eof(self):
        self.close()

    def is_closing(self):
        return self._stream is None or self._stream.closed

    def close(self):
        if self._stream is not None and not self._stream.closed:
            self._stream.close()
            self._owner.schedule()

    abort = close

    def get_write_buffer_size(self):
        return 0

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass

    def is_reading(self):
        return True


class ProcessTransport(asyncio.SubprocessTransport):
    """A process of an event loop: it runs in a callback of its own, once its input is complete."""

    def __init__(self, loop, protocol, args, shell, stdin, stdout, stderr, bufsize=0, **options):
        super().__init__()
        self._loop, self._protocol, self._scheduled, self._waiters = loop, protocol, False, []
        self._process = subprocess.Popen(args, shell=shell, stdin=stdin, stdout=stdout, stderr=stderr, **options)
        streams = self._process.stdin, self._process.stdout, self._process.stderr
        self._pipes = {
            number: _PipeTransport(self, stream if number == 0 else None) for number, stream in enumerate(streams) if stream is not None
        }
        protocol.connection_made(self)
        if 0 not in self._pipes:
            self.schedule()

    def schedule(self):
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._finish)

    def _finish(self):
        process = self._process
        process.wait()
        for number, stream in ((1, process.stdout), (2, process.stderr)):
            if stream is not None:
                if content := stream.read():
                    self._protocol.pipe_data_received(number, content)
                self._protocol.pipe_connection_lost(number, None)
        if 0 in self._pipes:
            self._protocol.pipe_connection_lost(0, None)
        self._protocol.process_exited()
        for waiter in self._waiters:
            if not waiter.cancelled():
                waiter.set_result(process.returncode)
        self._protocol.connection_lost(None)

    async def _wait(self):
        if self._process.returncode is None:
            self.schedule()
            self._waiters.append(waiter := self._loop.create_future())
            await waiter
        return self._process.returncode

    def get_pid(self):
        return self._process.pid

    def get_returncode(self):
        return self._process.returncode

    def get_pipe_transport(self, fd):
        return self._pipes.get(fd)

    def send_signal(self, signal):
        self._process.send_signal(signal)
        self.schedule()

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def is_closing(self):
        return self._process.returncode is not None

    def close(self):
        if self._process.returncode is None:
            self.kill()


# ---------------------------------------------------------------- when the image is made


def install():
    import shutil

    Popen = subprocess.Popen
    for function in (__init__, _run, poll, wait, communicate, send_signal, __exit__, __del__):
        function.__qualname__ = f"Popen.{function.__name__}"
        function.__module__ = "subprocess"
        setattr(Popen, function.__name__, function)
    subprocess._can_fork_exec = True
    which = shutil.which

    def _which(cmd, mode=os.F_OK | os.X_OK, path=None):
        found = which(cmd, mode, path)
        if found is None and path is None and isinstance(cmd, str) and cmd and not os.path.dirname(cmd):
            try:
                return find(cmd)
            except RuntimeError:
                return None
        return found

    _which.__name__ = _which.__qualname__ = "which"
    _which.__module__, _which.__doc__ = "shutil", which.__doc__
    shutil.which = _which
